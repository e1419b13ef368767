"""Arguments that functions of the array API standard take: dtypes, shapes, axes and arrays, drawn by Hypothesis."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st


def words(text: str) -> list[str]:
    return text.split()


class Call(NamedTuple):
    """Arguments in the host's terms: NumPy's arrays and dtypes stand for those of any library."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _DefaultDevice:
    """Stands for a library's default device."""

    def __repr__(self) -> str:
        return "DEVICE"


DEVICE = _DefaultDevice()

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
REAL_FLOATS, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
FAMILIES = {
    "bool": ["bool"],
    "integer": SIGNED + UNSIGNED,
    "integer or bool": [*SIGNED, *UNSIGNED, "bool"],
    "real float": REAL_FLOATS,
    "complex": COMPLEX,
    "float": REAL_FLOATS + COMPLEX,
    "real": SIGNED + UNSIGNED + REAL_FLOATS,
    "numeric": SIGNED + UNSIGNED + REAL_FLOATS + COMPLEX,
    "all": [*SIGNED, *UNSIGNED, *REAL_FLOATS, *COMPLEX, "bool"],
}
# What `isdtype` and the inspection call kinds of dtypes; None is all of them.
KINDS = [
    None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
]  # fmt: skip


def elements(dtype: np.dtype[Any], values: str = "any") -> st.SearchStrategy[Any]:
    """Draw Python scalars that the dtype holds.

    ``"any"`` is all of them, for real numbers NaN, infinities, -0.0 and denormal ones as well; ``"ordered"`` leaves NaN
    out; ``"moderate"`` are small numbers, whose sums and products stay finite.
    """
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if values == "moderate":
            return st.integers(max(info.min, -6), 6)
        return st.integers(info.min, info.max)
    if dtype.kind == "c":
        part = st.floats(-8, 8, width=32 if dtype.itemsize == 8 else 64)
        return st.builds(complex, part, part)
    if values == "moderate":
        return st.floats(-8, 8, width=dtype.itemsize * 8)
    return st.floats(width=dtype.itemsize * 8, allow_nan=values == "any")


@st.composite
def arrays(draw: Any, dtype: Any, shape: tuple[int, ...], values: Any = "any") -> np.ndarray[Any, Any]:
    dtype = np.dtype(dtype)
    of = values(dtype) if callable(values) else elements(dtype, values)
    size = math.prod(shape)
    return np.array(draw(st.lists(of, min_size=size, max_size=size)), dtype).reshape(shape)


def dtypes(family: str) -> st.SearchStrategy[np.dtype[Any]]:
    return st.sampled_from([np.dtype(name) for name in FAMILIES[family]])


def _promotes(one: str, other: str) -> bool:
    """Tell whether the standard defines the common dtype of two."""
    if one in SIGNED + UNSIGNED and other in SIGNED + UNSIGNED:
        return not ((one in SIGNED and other == "uint64") or (one == "uint64" and other in SIGNED))
    floats = FAMILIES["float"]
    return one == other or (one in floats and other in floats)


def pairs(family: str) -> st.SearchStrategy[tuple[np.dtype[Any], np.dtype[Any]]]:
    """Draw two dtypes that have a common one."""
    found = [(a, b) for a, b in itertools.product(FAMILIES[family], repeat=2) if _promotes(a, b)]
    return st.sampled_from([(np.dtype(a), np.dtype(b)) for a, b in found])


def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 3
) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def broadcastable(draw: Any, count: int) -> list[tuple[int, ...]]:
    """Draw shapes that can be broadcast against each other."""
    whole = draw(shapes())
    found = []
    for _ in range(count):
        rest = whole[draw(st.integers(0, len(whole))) :]
        ones = draw(st.lists(st.booleans(), min_size=len(rest), max_size=len(rest)))
        found.append(tuple(1 if one else side for one, side in zip(ones, rest, strict=True)))
    return found


def axes(ndim: int, *, none: bool = True, several: bool = True) -> st.SearchStrategy[Any]:
    """Draw an axis, several of them in a tuple, or None for all."""
    options: list[Any] = [None] if none else []
    options += range(-ndim, ndim)
    if several:
        chosen = [one for count in range(1, ndim + 1) for one in itertools.permutations(range(ndim), count)]
        options += chosen
        options += [tuple(axis - ndim for axis in one) for one in chosen]
    return st.sampled_from(options)


@st.composite
def some(draw: Any, **keywords: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Draw some of the keywords."""
    return {name: draw(values) for name, values in keywords.items() if draw(st.booleans())}


device = st.just(DEVICE)
