"""Calls of every function of the array API standard, drawn by Hypothesis, and `array_api_strict` as their judge.

`CALLS` has a strategy for each function, with arguments of its whole domain as the standard gives it; `check` makes the
calls of one with `xp` and with the judge, and compares values, dtypes, shapes and the names of results. What is known
to differ stands in `EXCEPTIONS`, with its reason and with a call that shows it.

The judge is imported where it is used: the tests are skipped where it is not installed.
"""

from __future__ import annotations

import inspect
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cunumpy as xp


def _words(text: str) -> list[str]:
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

CONSTANTS = {"e", "inf", "nan", "newaxis", "pi"}
INSPECTION = {"__array_api_version__", "__array_namespace_info__"}
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
DTYPES = set(FAMILIES["all"])
# What `isdtype` and the inspection call kinds of dtypes; None is all of them.
KINDS = [
    None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
]  # fmt: skip
# Of the judge alone.
NOT_OF_THE_STANDARD = {
    "ArrayAPIStrictFlags", "Device", "__version__", "get_array_api_strict_flags", "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}  # fmt: skip
EXTENSIONS = ("fft", "linalg")


def judge() -> Any:
    """Return the module that follows the standard to the letter."""
    return import_module("array_api_strict")


def names_of_the_standard() -> set[str]:
    """Return the standard's names, dotted for those of the extensions."""
    strict = judge()
    names = set(strict.__all__) - NOT_OF_THE_STANDARD - set(EXTENSIONS)
    for extension in EXTENSIONS:
        module = getattr(strict, extension)
        for name, value in vars(module).items():  # its __all__ leaves the newest functions out
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                names.add(f"{extension}.{name}")
    return names


# ---- pieces of arguments ----


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


# ---- elementwise functions ----


@st.composite
def unary(draw: Any, family: str, values: Any = "any") -> Call:
    return Call((draw(arrays(draw(dtypes(family)), draw(shapes()), values)),), {})


@st.composite
def binary(draw: Any, family: str, first: Any = "any", second: Any = "any") -> Call:
    """Draw two arrays, or an array and a Python scalar."""
    form = draw(st.sampled_from(["arrays", "arrays", "scalar first", "scalar second"]))
    if form == "arrays":
        one, other = draw(pairs(family))
        shape, other_shape = draw(broadcastable(2))
        return Call((draw(arrays(one, shape, first)), draw(arrays(other, other_shape, second))), {})
    dtype, shape = draw(dtypes(family)), draw(shapes())

    def scalar(values: Any) -> Any:
        of = values(dtype) if callable(values) else elements(dtype, values)
        return draw(of | st.integers(-8, 8) if dtype.kind in "fc" else of)

    if form == "scalar first":
        return Call((scalar(first), draw(arrays(dtype, shape, second))), {})
    return Call((draw(arrays(dtype, shape, first)), scalar(second)), {})


def divisors(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    """Draw what integers may be divided by: not 0, and not -1, for which the smallest one has no quotient."""
    return elements(dtype).filter(lambda n: n not in (0, -1)) if dtype.kind in "iu" else elements(dtype)


def exponents(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 5) if dtype.kind in "iu" else elements(dtype)


def shifts(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 7)


@st.composite
def clips(draw: Any) -> Call:
    dtype, other = draw(pairs("real"))
    shape, bound_shape = draw(broadcastable(2))
    x = draw(arrays(dtype, shape))
    form = draw(st.sampled_from(["arrays", "scalars"]))
    if form == "arrays":
        low, high = np.sort(draw(arrays(other, (2, *bound_shape), "ordered")), axis=0)
        bounds: list[Any] = [np.asarray(low), np.asarray(high)]
    else:
        bounds = sorted(draw(st.lists(elements(dtype, "ordered"), min_size=2, max_size=2)))
    kept = draw(st.lists(st.booleans(), min_size=2, max_size=2))
    return Call((x, *(bound if keep else None for bound, keep in zip(bounds, kept, strict=True))), {})


ELEMENTWISE: dict[str, st.SearchStrategy[Call]] = {
    **{
        name: unary("float")
        for name in _words(
            "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh sqrt tan tanh"
        )
    },
    **{name: unary("numeric") for name in _words("abs conj isfinite isinf isnan negative positive real sign square")},
    **{name: unary("real") for name in ("ceil", "floor", "trunc")},
    "bitwise_invert": unary("integer or bool"),
    "imag": unary("complex"),
    "logical_not": unary("bool"),
    "round": unary("numeric"),
    "signbit": unary("real float"),
    **{name: binary("numeric") for name in ("add", "multiply", "subtract")},
    **{name: binary("real") for name in _words("greater greater_equal less less_equal maximum minimum")},
    **{name: binary("all") for name in ("equal", "not_equal")},
    **{name: binary("real float") for name in _words("atan2 copysign hypot logaddexp nextafter")},
    **{name: binary("integer or bool") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: binary("integer", second=shifts) for name in ("bitwise_left_shift", "bitwise_right_shift")},
    **{name: binary("bool") for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: binary("real", second=divisors) for name in ("floor_divide", "remainder")},
    "divide": binary("float"),
    "pow": binary("numeric", second=exponents),
    "clip": clips(),
}


# ---- creation, dtypes ----

made_shapes = st.integers(0, 3) | shapes()
defaults = st.sampled_from([np.dtype(name) for name in ("bool", "int64", "float64", "complex128")])


@st.composite
def made(draw: Any) -> Call:
    return Call((draw(made_shapes),), draw(some(dtype=dtypes("all"), device=device)))


@st.composite
def made_like(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes())))
    return Call((x,), draw(some(dtype=dtypes("all"), device=device)))


@st.composite
def filled(draw: Any, *, like: bool) -> Call:
    """Draw a value for an array; a dtype that is given has to hold it."""
    dtype = draw(dtypes("all"))
    shape = draw(shapes() if like else made_shapes)
    if like:
        return Call((np.zeros(shape, dtype), draw(elements(dtype))), draw(some(dtype=st.just(dtype), device=device)))
    keywords = draw(some(dtype=st.just(dtype), device=device))
    kind = (
        dtype if "dtype" in keywords else draw(st.sampled_from([np.dtype(t) for t in (bool, np.int64, float, complex)]))
    )
    return Call((shape, draw(elements(kind))), keywords)


@st.composite
def ranges(draw: Any) -> Call:
    if draw(st.booleans()):
        numbers: st.SearchStrategy[Any] = st.integers(-9, 9)
        family = "real"
    else:  # exact steps, so that the length is not a matter of rounding
        numbers = st.integers(-36, 36).map(lambda n: n / 4)
        family = "real float"
    start, stop, step = draw(numbers), draw(numbers), draw(numbers.filter(bool))
    keywords = draw(some(dtype=dtypes(family), device=device))
    if np.dtype(keywords.get("dtype", "int64")).kind == "u":
        start, stop, step = abs(start), abs(stop), abs(step)
    return Call(draw(st.sampled_from([(start,), (start, stop), (start, stop, step)])), keywords)


@st.composite
def spaces(draw: Any) -> Call:
    dtype = draw(dtypes("float"))
    ends = elements(dtype, "moderate") | st.integers(-8, 8)
    keywords = draw(some(endpoint=st.booleans(), dtype=st.just(dtype), device=device))
    return Call((draw(ends), draw(ends), draw(st.integers(0, 5))), keywords)


@st.composite
def eyes(draw: Any) -> Call:
    sides = st.integers(0, 4)
    shape = draw(st.tuples(sides) | st.tuples(sides, sides | st.none()))
    return Call(shape, draw(some(k=st.integers(-5, 5), dtype=dtypes("all"), device=device)))


@st.composite
def meshes(draw: Any) -> Call:
    dtype = draw(dtypes("numeric"))
    vectors = draw(st.lists(shapes(1, 1).flatmap(lambda shape: arrays(dtype, shape)), max_size=3))
    return Call(tuple(vectors), draw(some(indexing=st.sampled_from(["xy", "ij"]))))


@st.composite
def triangles(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes(2))))
    return Call((x,), draw(some(k=st.integers(-4, 4))))


@st.composite
def sources(draw: Any) -> Call:
    """Draw what arrays are made of: arrays, scalars, nested lists."""
    dtype = draw(dtypes("all"))
    form = draw(st.sampled_from(["array", "scalar", "list"]))
    keywords = draw(some(device=device))
    if form == "array":
        x = draw(arrays(dtype, draw(shapes())))
        return Call((x,), keywords | draw(some(dtype=st.just(dtype), copy=st.sampled_from([None, True, False]))))
    kind = draw(defaults)
    value = draw(arrays(kind, () if form == "scalar" else draw(shapes(1, 2)))).tolist()
    return Call((value,), keywords | draw(some(dtype=st.just(kind), copy=st.sampled_from([None, True]))))


@st.composite
def exchanged(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes(min_side=1))))
    return Call((x,), draw(some(device=device, copy=st.sampled_from([None, True, False]))))


CREATION = {
    **{name: made() for name in ("empty", "ones", "zeros")},
    **{name: made_like() for name in ("empty_like", "ones_like", "zeros_like")},
    "arange": ranges(),
    "asarray": sources(),
    "eye": eyes(),
    "from_dlpack": exchanged(),
    "full": filled(like=False),
    "full_like": filled(like=True),
    "linspace": spaces(),
    "meshgrid": meshes(),
    "tril": triangles(),
    "triu": triangles(),
}


@st.composite
def casts(draw: Any) -> Call:
    """Draw conversions that the standard defines: not of complex numbers to others, and to integers that hold them."""
    dtype = draw(dtypes("all"))
    to = draw(dtypes("complex" if dtype.kind == "c" else "all"))
    values: Any = "any"
    if to.kind in "iu" and dtype.kind in "iuf":
        low = 0 if to.kind == "u" or dtype.kind == "u" else -100
        values = lambda kind: st.integers(low, 100)  # noqa: E731
    x = draw(arrays(dtype, draw(shapes()), values))
    return Call((x, to), draw(some(copy=st.booleans(), device=device)))


@st.composite
def broadcasts(draw: Any) -> Call:
    found = draw(broadcastable(draw(st.integers(1, 3))))
    return Call(tuple(draw(arrays(draw(dtypes("all")), shape)) for shape in found), {})


@st.composite
def broadcasts_to(draw: Any) -> Call:
    shape, other = draw(broadcastable(2))
    return Call((draw(arrays(draw(dtypes("all")), shape)), np.broadcast_shapes(shape, other)), {})


@st.composite
def castable(draw: Any) -> Call:
    dtype = draw(dtypes("all"))
    return Call((draw(st.just(dtype) | arrays(dtype, (2,))), draw(dtypes("all"))), {})


@st.composite
def limits(draw: Any, family: str) -> Call:
    dtype = draw(dtypes(family))
    return Call((draw(st.just(dtype) | arrays(dtype, (2,))),), {})


@st.composite
def kinds(draw: Any) -> Call:
    names = st.sampled_from(KINDS[1:])
    kind = names | dtypes("all")
    return Call((draw(dtypes("all")), draw(kind | st.lists(kind, max_size=3).map(tuple))), {})


@st.composite
def common(draw: Any) -> Call:
    """Draw arrays and dtypes that have a common dtype, and Python scalars of that kind."""
    first, second = draw(pairs("all"))
    given = [first, draw(st.just(second) | shapes(0, 1).flatmap(lambda shape: arrays(second, shape)))]
    scalars = {"b": st.booleans(), "f": st.floats() | st.integers(-8, 8), "c": st.floats(-8, 8) | st.just(2j)}
    kind = max(first.kind, second.kind, key="buifc".index)
    given += draw(st.lists(scalars.get(kind, st.integers(0, 100)), max_size=1))
    return Call(tuple(draw(st.permutations(given))), {})


DATA_TYPES = {
    "astype": casts(),
    "broadcast_arrays": broadcasts(),
    "broadcast_shapes": st.integers(1, 3).flatmap(broadcastable).map(lambda found: Call(tuple(found), {})),
    "broadcast_to": broadcasts_to(),
    "can_cast": castable(),
    "finfo": limits("float"),
    "iinfo": limits("integer"),
    "isdtype": kinds(),
    "result_type": common(),
}


# ---- indexing, searching, sets, sorting ----


@st.composite
def taken(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes(1, min_side=1))))
    axis = draw(axes(x.ndim, none=x.ndim == 1, several=False))
    n = x.shape[axis or 0]
    index = np.array(draw(st.lists(st.integers(-n, n - 1), max_size=4)), draw(st.sampled_from(SIGNED)))
    return Call((x, index), {} if axis is None else {"axis": axis})


@st.composite
def taken_along(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes(1, min_side=1))))
    keywords = draw(some(axis=axes(x.ndim, none=False, several=False)))
    axis = keywords.get("axis", -1)
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 3))
    index = draw(arrays(np.int64, tuple(shape), lambda dtype: st.integers(-x.shape[axis], x.shape[axis] - 1)))
    return Call((x, index), keywords)


@st.composite
def extrema(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("real")), draw(shapes(min_side=1)), "ordered"))
    return Call((x,), draw(some(axis=axes(x.ndim, several=False), keepdims=st.booleans())))


@st.composite
def reduced(draw: Any, family: str, values: str = "any", min_side: int = 0, **keywords: Any) -> Call:
    x = draw(arrays(draw(dtypes(family)), draw(shapes(min_side=min_side)), values))
    return Call((x,), draw(some(axis=axes(x.ndim), keepdims=st.booleans(), **keywords)))


@st.composite
def searched(draw: Any) -> Call:
    dtype, other = draw(pairs("real"))
    x = draw(arrays(dtype, draw(shapes(1, 1)), "ordered"))
    keywords = draw(some(side=st.sampled_from(["left", "right"])))
    if draw(st.booleans()):
        keywords["sorter"] = np.argsort(x, kind="stable")
    else:
        x = np.sort(x)
    values = draw(shapes().flatmap(lambda shape: arrays(other, shape, "ordered")) | elements(dtype, "ordered"))
    return Call((x, values), keywords)


@st.composite
def choices(draw: Any) -> Call:
    call = draw(binary("all"))
    whole = np.broadcast_shapes(*map(np.shape, call.args))
    condition = draw(arrays(bool, tuple(draw(st.sampled_from([1, side])) for side in whole)))
    return Call((condition, *call.args), {})


@st.composite
def repeated_values(draw: Any) -> Call:
    """Draw arrays in which values occur several times, NaN and both zeros among them."""
    dtype = draw(dtypes("all"))
    few = draw(st.lists(elements(dtype), min_size=1, max_size=3))
    return Call((draw(arrays(dtype, draw(shapes()), lambda kind: st.sampled_from(few))),), {})


@st.composite
def members(draw: Any) -> Call:
    few = lambda dtype: st.integers(0, 5)  # noqa: E731
    return Call(draw(binary("integer", few, few)).args, draw(some(invert=st.booleans())))


@st.composite
def sorted_values(draw: Any) -> Call:
    dtype = draw(dtypes("real"))
    of: Any = draw(st.sampled_from(["ordered", lambda kind: st.integers(0, 3)]))
    x = draw(arrays(dtype, draw(shapes(1, max_side=5)), of))
    return Call(
        (x,),
        draw(some(axis=axes(x.ndim, none=False, several=False), descending=st.booleans(), stable=st.booleans())),
    )


SELECTING = {
    "take": taken(),
    "take_along_axis": taken_along(),
    "argmax": extrema(),
    "argmin": extrema(),
    "count_nonzero": reduced("all"),
    "nonzero": shapes(1).flatmap(lambda s: dtypes("all").flatmap(lambda t: arrays(t, s))).map(lambda x: Call((x,), {})),
    "searchsorted": searched(),
    "where": choices(),
    **{f"unique_{what}": repeated_values() for what in ("all", "counts", "inverse", "values")},
    "isin": members(),
    "argsort": sorted_values(),
    "sort": sorted_values(),
}


# ---- manipulation ----


@st.composite
def joined(draw: Any, *, new_axis: bool) -> Call:
    first, second = draw(pairs("all"))
    shape = draw(shapes(0 if new_axis else 1))
    ndim = len(shape) + new_axis
    keywords = draw(some(axis=axes(ndim, none=not new_axis, several=False)))
    axis = keywords.get("axis", 0)
    found = []
    for dtype in (first, *draw(st.lists(st.sampled_from([first, second]), max_size=2))):
        sides = list(shape)
        if not new_axis and axis is not None:
            sides[axis] = draw(st.integers(0, 3))
        found.append(draw(arrays(dtype, tuple(sides))))
    return Call((draw(st.sampled_from([list, tuple]))(found),), keywords)


@st.composite
def manipulated(draw: Any, arguments: Callable[..., tuple[tuple[Any, ...], dict[str, Any]]], **shape: Any) -> Call:
    """Draw an array, and with ``arguments(draw, x)`` what follows it."""
    x = draw(arrays(draw(dtypes("all")), draw(shapes(**shape))))
    args, kwargs = arguments(draw, x)
    return Call((x, *args), kwargs)


def _new_axis(draw: Any, x: Any) -> Any:
    return (draw(axes(x.ndim + 1, none=False, several=False)),), {}


def _flip(draw: Any, x: Any) -> Any:
    return (), draw(some(axis=axes(x.ndim)))


def _moved(draw: Any, x: Any) -> Any:
    if draw(st.booleans()):
        one = axes(x.ndim, none=False, several=False)
        return (draw(one), draw(one)), {}
    count = draw(st.integers(1, x.ndim))
    return (
        tuple(draw(st.permutations(range(x.ndim)))[:count]),
        tuple(draw(st.permutations(range(x.ndim)))[:count]),
    ), {}


def _permuted(draw: Any, x: Any) -> Any:
    return (tuple(draw(st.permutations(range(x.ndim)))),), {}


def _repeated(draw: Any, x: Any) -> Any:
    keywords = draw(some(axis=axes(x.ndim, several=False)))
    axis = keywords.get("axis")
    n = x.size if axis is None else x.shape[axis]
    counts = st.integers(0, 3)
    length = draw(st.sampled_from([1, n]))
    several = arrays(draw(dtypes("integer")), (length,), lambda dtype: counts)
    return (draw(counts | several),), keywords


def _reshaped(draw: Any, x: Any) -> Any:
    divisors_of = [n for n in range(1, x.size + 1) if x.size % n == 0] or [0, 1, 2]
    n = draw(st.sampled_from(divisors_of))
    if x.size:
        options = [(x.size,), (-1,), (n, x.size // n), (n, -1), (1, x.size // n, n)]
    else:
        options = [(0,), (0, n), (n, 0), (-1,)]
    # The judge refuses to call an empty array the same memory.
    return (draw(st.sampled_from(options)),), draw(
        some(copy=st.sampled_from([None, True, False][: 3 if x.size else 2]))
    )


def _rolled(draw: Any, x: Any) -> Any:
    shift = st.integers(-4, 4)
    axis = draw(axes(x.ndim))
    if isinstance(axis, tuple):
        count = len(axis)
        return (draw(shift | st.lists(shift, min_size=count, max_size=count).map(tuple)),), {"axis": axis}
    return (draw(shift),), {} if axis is None else {"axis": axis}


def _unstacked(draw: Any, x: Any) -> Any:
    return (), draw(some(axis=axes(x.ndim, none=False, several=False)))


def _tiled(draw: Any, x: Any) -> Any:
    return (draw(shapes(max_dims=4)),), {}


@st.composite
def squeezed(draw: Any) -> Call:
    shape = draw(st.lists(st.sampled_from([1, 1, 2, 0]), min_size=1, max_size=3).filter(lambda sides: 1 in sides))
    ones = [axis for axis, side in enumerate(shape) if side == 1]
    options: list[Any] = [*ones, *(axis - len(shape) for axis in ones), tuple(ones)]
    return Call((draw(arrays(draw(dtypes("all")), tuple(shape))), draw(st.sampled_from(options))), {})


MANIPULATION = {
    "concat": joined(new_axis=False),
    "expand_dims": manipulated(_new_axis),
    "flip": manipulated(_flip),
    "moveaxis": manipulated(_moved, min_dims=1),
    "permute_dims": manipulated(_permuted),
    "repeat": manipulated(_repeated),
    "reshape": manipulated(_reshaped),
    "roll": manipulated(_rolled),
    "squeeze": squeezed(),
    "stack": joined(new_axis=True),
    "tile": manipulated(_tiled),
    "unstack": manipulated(_unstacked, min_dims=1),
}


# ---- reductions ----


@st.composite
def totals(draw: Any, *, running: bool) -> Call:
    """Draw sums and products, with dtypes that hold them."""
    dtype = draw(dtypes("numeric"))
    x = draw(arrays(dtype, draw(shapes(1 if running else 0)), "moderate"))
    wider = {"i": ["int64", "float64"], "u": ["uint64", "float64"], "f": ["float64"], "c": ["complex128"]}
    keywords = draw(some(dtype=st.none() | st.sampled_from([np.dtype(name) for name in wider[dtype.kind]])))
    if not running:
        return Call((x,), keywords | draw(some(axis=axes(x.ndim), keepdims=st.booleans())))
    keywords |= draw(some(include_initial=st.booleans()))
    axis = draw(axes(x.ndim, none=x.ndim == 1, several=False))
    return Call((x,), keywords if axis is None else keywords | {"axis": axis})


@st.composite
def differences(draw: Any) -> Call:
    dtype = draw(dtypes("numeric"))
    shape = draw(shapes(1))
    keywords = draw(some(axis=axes(len(shape), none=False, several=False), n=st.integers(0, 2)))
    axis = keywords.get("axis", -1)
    for name in ("prepend", "append"):
        if draw(st.booleans()):
            sides = list(shape)
            sides[axis] = draw(st.integers(1, 2))
            keywords[name] = draw(arrays(dtype, tuple(sides)))
    return Call((draw(arrays(dtype, shape)),), keywords)


spread = {"correction": st.sampled_from([0, 1, 0.5, 0.0, 1.0])}
REDUCTIONS = {
    "all": reduced("all"),
    "any": reduced("all"),
    "cumulative_prod": totals(running=True),
    "cumulative_sum": totals(running=True),
    "diff": differences(),
    "max": reduced("real", min_side=1),
    "mean": reduced("float", "moderate"),
    "min": reduced("real", min_side=1),
    "prod": totals(running=False),
    "std": reduced("real float", "moderate", **spread),
    "sum": totals(running=False),
    "var": reduced("real float", "moderate", **spread),
}


# ---- linear algebra ----


@st.composite
def products(draw: Any) -> Call:
    """Draw vectors and stacks of matrices that can be multiplied."""
    one, other = draw(pairs("numeric"))
    m, n, p = draw(st.tuples(*[st.integers(0, 3)] * 3))
    stack, other_stack = draw(broadcastable(2))
    first = draw(st.sampled_from([(n,), (*stack[-1:], m, n)]))
    second = draw(st.sampled_from([(n,), (*other_stack[-1:], n, p)]))
    return Call((draw(arrays(one, first, "moderate")), draw(arrays(other, second, "moderate"))), {})


@st.composite
def contractions(draw: Any) -> Call:
    one, other = draw(pairs("numeric"))
    count = draw(st.integers(0, 2))
    inner = draw(shapes(count, count))
    left, right = draw(shapes(max_dims=2)), draw(shapes(max_dims=2))
    if draw(st.booleans()):
        keywords: dict[str, Any] = {"axes": count} if count != 2 or draw(st.booleans()) else {}
        first, second = left + inner, inner + right
    else:
        order = draw(st.permutations(range(count)))
        first, second = inner + left, tuple(inner[i] for i in order) + right
        keywords = {"axes": (tuple(order), tuple(range(count)))}
    return Call((draw(arrays(one, first, "moderate")), draw(arrays(other, second, "moderate"))), keywords)


@st.composite
def vectors(draw: Any, side: int | None = None) -> Call:
    """Draw two arrays of vectors along the same axis from the end."""
    one, other = draw(pairs("numeric"))
    stack, other_stack = draw(broadcastable(2))
    axis = draw(st.integers(-1 - min(len(stack), len(other_stack)), -1))
    n = draw(st.integers(0, 3)) if side is None else side

    def with_axis(sides: tuple[int, ...]) -> tuple[int, ...]:
        place = len(sides) + 1 + axis
        return (*sides[:place], n, *sides[place:])

    args = draw(arrays(one, with_axis(stack), "moderate")), draw(arrays(other, with_axis(other_stack), "moderate"))
    return Call(args, {"axis": axis} if axis != -1 or draw(st.booleans()) else {})


@st.composite
def matrices(draw: Any, family: str = "float", form: str = "any", **keywords: Any) -> Call:
    """Draw stacks of matrices.

    ``"any"`` are any, ``"regular"`` have a large diagonal, ``"hermitian"`` are equal to their adjoint, and
    ``"positive"`` have positive eigenvalues as well; ``"low rank"`` have small integers.
    """
    dtype = draw(dtypes(family))
    stack = draw(shapes(0, 1, 1))
    rows = draw(st.integers(1, 3))
    square = form in ("regular", "hermitian", "positive")
    shape = (*stack, rows, rows if square else draw(st.integers(1, 3)))
    values: Any = (lambda kind: st.integers(-2, 2)) if form == "low rank" else "moderate"
    x = draw(arrays(dtype, shape, values))
    if form == "hermitian":
        x = (x + np.conj(np.swapaxes(x, -1, -2))) / dtype.type(2)
    elif form == "positive":
        x = x @ np.conj(np.swapaxes(x, -1, -2)) + 8 * np.eye(rows, dtype=dtype)
    elif form == "regular":
        x = x + 64 * np.eye(rows, dtype=dtype)
    return Call((x.astype(dtype),), draw(some(**keywords)))


@st.composite
def tolerances(draw: Any) -> Call:
    (x,), _ = draw(matrices(form="low rank"))
    of = arrays(np.dtype(x.real.dtype), x.shape[:-2], lambda dtype: st.sampled_from([0.125, 0.25]))
    return Call((x,), draw(some(rtol=st.none() | st.sampled_from([0.125, 0.25]) | of)))


@st.composite
def powers(draw: Any) -> Call:
    (x,), _ = draw(matrices(form="regular"))
    return Call((x, draw(st.integers(-3, 5))), {})


@st.composite
def systems(draw: Any) -> Call:
    (a,), _ = draw(matrices(form="regular"))
    n = a.shape[-1]
    shape = draw(st.sampled_from([(n,), (n, 2), (*a.shape[:-2], n, 1)]))
    dtype = draw(dtypes("float"))
    return Call((a, draw(arrays(dtype, shape, "moderate"))), {})


@st.composite
def outer_products(draw: Any) -> Call:
    one, other = draw(pairs("numeric"))
    shape, other_shape = draw(shapes(1, 1)), draw(shapes(1, 1))
    return Call((draw(arrays(one, shape, "moderate")), draw(arrays(other, other_shape, "moderate"))), {})


@st.composite
def vector_norms(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("float")), draw(shapes(min_side=1)), "moderate"))
    order = st.sampled_from([1, 2, 3, 0, math.inf, -math.inf, 0.5])
    return Call((x,), draw(some(axis=axes(x.ndim), keepdims=st.booleans(), ord=order)))


@st.composite
def traces(draw: Any) -> Call:
    dtype = draw(dtypes("numeric"))
    x = draw(arrays(dtype, draw(shapes(2)), "moderate"))
    wider = {"i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}[dtype.kind]
    return Call((x,), draw(some(offset=st.integers(-3, 3), dtype=st.sampled_from([None, np.dtype(wider)]))))


orders = st.sampled_from(["fro", "nuc", 1, 2, -1, -2, math.inf, -math.inf])
IN_BOTH = {
    "matmul": products(),
    "matrix_transpose": manipulated(lambda draw, x: ((), {}), min_dims=2),
    "tensordot": contractions(),
    "vecdot": vectors(),
}
LINALG = {
    **IN_BOTH,
    "cholesky": matrices(form="positive", upper=st.booleans()),
    "cross": vectors(3),
    "det": matrices(form="regular"),
    "diagonal": manipulated(lambda draw, x: ((), draw(some(offset=st.integers(-3, 3)))), min_dims=2),
    "eig": matrices(form="regular"),
    "eigh": matrices(form="hermitian"),
    "eigvals": matrices(form="regular"),
    "eigvalsh": matrices(form="hermitian"),
    "inv": matrices(form="regular"),
    "matrix_norm": matrices(keepdims=st.booleans(), ord=orders),
    "matrix_power": powers(),
    "matrix_rank": tolerances(),
    "outer": outer_products(),
    "pinv": tolerances(),
    "qr": matrices(mode=st.sampled_from(["reduced", "complete"])),
    "slogdet": matrices(form="regular"),
    "solve": systems(),
    "svd": matrices(full_matrices=st.booleans()),
    "svdvals": matrices(),
    "trace": traces(),
    "vector_norm": vector_norms(),
}


# ---- Fourier transforms ----

norms = st.sampled_from(["backward", "ortho", "forward"])


@st.composite
def transforms(draw: Any, family: str, *, real_result: bool = False) -> Call:
    x = draw(arrays(draw(dtypes(family)), draw(shapes(1, min_side=2 if real_result else 1)), "moderate"))
    return Call((x,), draw(some(n=st.integers(1, 5), axis=axes(x.ndim, none=False, several=False), norm=norms)))


@st.composite
def transforms_of_several(draw: Any, family: str, *, real_result: bool = False) -> Call:
    x = draw(arrays(draw(dtypes(family)), draw(shapes(1, min_side=2 if real_result else 1)), "moderate"))
    keywords = draw(some(norm=norms))
    chosen_axes = draw(axes(x.ndim).filter(lambda axis: not isinstance(axis, int)))
    if chosen_axes is not None:
        keywords["axes"] = chosen_axes
        sides = st.lists(st.integers(1, 4), min_size=len(chosen_axes), max_size=len(chosen_axes)).map(tuple)
        keywords |= draw(some(s=sides))
    return Call((x,), keywords)


@st.composite
def frequencies(draw: Any) -> Call:
    spacing = st.sampled_from([1.0, 0.5, 0.1, 3.0])
    return Call((draw(st.integers(1, 9)),), draw(some(d=spacing, dtype=dtypes("real float"), device=device)))


@st.composite
def shifted(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("float")), draw(shapes(1, min_side=1))))
    return Call((x,), draw(some(axes=axes(x.ndim))))


FFT = {
    **{name: transforms("complex") for name in ("fft", "ifft")},
    **{name: transforms("complex", real_result=True) for name in ("irfft", "hfft")},
    **{name: transforms("real float") for name in ("rfft", "ihfft")},
    **{name: transforms_of_several("complex") for name in ("fftn", "ifftn")},
    "irfftn": transforms_of_several("complex", real_result=True),
    "rfftn": transforms_of_several("real float"),
    "fftfreq": frequencies(),
    "rfftfreq": frequencies(),
    "fftshift": shifted(),
    "ifftshift": shifted(),
}

CALLS: dict[str, st.SearchStrategy[Call]] = {
    **ELEMENTWISE,
    **CREATION,
    **DATA_TYPES,
    **SELECTING,
    **MANIPULATION,
    **REDUCTIONS,
    **IN_BOTH,
    **{f"linalg.{name}": calls for name, calls in LINALG.items()},
    **{f"fft.{name}": calls for name, calls in FFT.items()},
}


# ---- what is compared, and how closely ----

SHAPE_ONLY = {"empty", "empty_like"}
# Rounded, and not always alike: within a few units in the last place.
ROUNDED = {
    *("acos", "acosh", "arange", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1", "hypot"),
    *("log", "log10", "log1p", "log2", "logaddexp", "pow", "reciprocal", "sin", "sinh", "tan", "tanh"),
}
# Sums, and what consists of them: within the rounding of the largest term.
SUMMED = {
    *("cumulative_prod", "cumulative_sum", "linspace", "matmul", "mean", "prod", "std", "sum", "tensordot", "var"),
    "vecdot",
    *(f"linalg.{name}" for name in LINALG.keys() - {"diagonal", "matrix_transpose", "matrix_rank"}),
    *(f"fft.{name}" for name in FFT.keys() - {"fftshift", "ifftshift"}),
}
# The standard leaves open which of two equal zeros is given.
EITHER_ZERO = {"clip", "max", "maximum", "min", "minimum", "sort"} | {name for name in CALLS if "unique" in name}


def _by_value(values: Any, others: Any) -> Any:
    return others[np.argsort(values, kind="stable")]


def _eigenpairs(call: Call, results: list[Any]) -> list[Any]:
    values, vectors = results
    return [np.sort(values, axis=-1), call.args[0] @ vectors - vectors * values[..., None, :]]


# Of results that the standard does not determine: what is determined in them.
DETERMINED: dict[str, Callable[[Call, list[Any]], list[Any]]] = {
    "argsort": lambda call, r: (
        r if call.kwargs.get("stable", True) else [np.take_along_axis(call.args[0], r[0], call.kwargs.get("axis", -1))]
    ),
    "linalg.eig": _eigenpairs,
    "linalg.eigh": _eigenpairs,
    "linalg.eigvals": lambda call, r: [np.sort(r[0], axis=-1)],
    "linalg.qr": lambda call, r: [r[0] @ r[1], np.abs(r[1])],
    "linalg.svd": lambda call, r: [
        r[1],
        (r[0][..., : r[1].shape[-1]] * r[1][..., None, :]) @ r[2][..., : r[1].shape[-1], :],
    ],
    "unique_all": lambda call, r: [np.sort(r[0]), _by_value(r[0], r[1]), r[0][r[2]], _by_value(r[0], r[3])],
    "unique_counts": lambda call, r: [np.sort(r[0]), _by_value(r[0], r[1])],
    "unique_inverse": lambda call, r: [np.sort(r[0]), r[0][r[1]]],
    "unique_values": lambda call, r: [np.sort(r[0])],
}


class KnownException(NamedTuple):
    """A difference from the standard that is meant to stay.

    Attributes
    ----------
    name : str
        The function.
    backends : tuple of str
        Where it differs.
    reason : str
        Why that is so.
    applies : callable
        Tells of a call whether it is concerned.
    example : Call
        A call whose result differs, so that an entry that is out of date is noticed.
    """

    name: str
    backends: tuple[str, ...]
    reason: str
    applies: Callable[[Call], bool]
    example: Call


def _bounds(call: Call) -> list[Any]:
    return [*call.args[1:], *(call.kwargs.get(name) for name in ("min", "max"))]


def _family(dtype: Any) -> str:
    kind = np.dtype(getattr(dtype, "dtype", dtype)).kind
    return {"u": "i", "c": "f"}.get(kind, kind)


_BOTH = ("numpy", "cupy")
EXCEPTIONS = [
    KnownException(
        "argsort",
        ("numpy",),
        "NumPy's default is not stable, the standard's is; stable=True is stable on both backends",
        lambda call: not call.kwargs.get("stable") and "descending" not in call.kwargs,
        Call((np.arange(1000) % 2,), {}),
    ),
    KnownException(
        "can_cast",
        _BOTH,
        "NumPy's rule: also from bools to numbers and from integers to floating-point numbers",
        lambda call: _family(call.args[0]) != _family(call.args[1]),
        Call((np.dtype(bool), np.dtype(np.int8)), {}),
    ),
    KnownException(
        "clip",
        _BOTH,
        "NumPy's promotion: limits of a wider dtype make the result wider",
        lambda call: any(
            np.result_type(call.args[0], bound) != call.args[0].dtype
            for bound in _bounds(call)
            if isinstance(bound, np.ndarray)
        ),
        Call((np.ones(2, np.int8), np.zeros(2, np.int16), None), {}),
    ),
    KnownException(
        "linalg.eig",
        _BOTH,
        "NumPy's eigenvalues of a real matrix are real where all of them are",
        lambda call: call.args[0].dtype.kind == "f",
        Call((np.eye(2),), {}),
    ),
    KnownException(
        "linalg.eigvals",
        _BOTH,
        "NumPy's eigenvalues of a real matrix are real where all of them are",
        lambda call: call.args[0].dtype.kind == "f",
        Call((np.eye(2),), {}),
    ),
    KnownException(
        "linalg.pinv",
        _BOTH,
        "NumPy's default tolerance is 1e-15 for every dtype; rtol=None is the standard's",
        lambda call: "rtol" not in call.kwargs,
        Call((np.diag([1.0, 1e-8]).astype(np.float32),), {}),
    ),
    KnownException(
        "repeat",
        ("numpy",),
        "NumPy refuses counts of uint64, as they may be beyond int64",
        lambda call: getattr(call.args[1], "dtype", None) == np.uint64,
        Call((np.ones(2), np.ones(2, np.uint64)), {}),
    ),
]


def exceptions(backend: str) -> list[KnownException]:
    return [one for one in EXCEPTIONS if backend in one.backends]


# ---- calling and comparing ----

SPELLINGS = ("as drawn", "all defaults", "by keyword")


def look_up(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def spelled(name: str, call: Call, spelling: str) -> Call:
    """Return the call with every default of the standard given, or with as few positions as the standard allows."""
    signature = inspect.signature(look_up(judge(), name))
    arguments = signature.bind(*call.args, **call.kwargs).arguments
    args, kwargs = list(call.args), dict(call.kwargs)
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in signature.parameters.values()):
        return call
    if spelling == "by keyword":
        kept = sum(p.kind == p.POSITIONAL_ONLY for p in signature.parameters.values())
        args = args[:kept]
        kwargs = {key: value for key, value in arguments.items() if signature.parameters[key].kind != 0}
    elif spelling == "all defaults":
        for parameter in signature.parameters.values():
            default = parameter.default
            is_new = parameter.name not in arguments and default is not parameter.empty
            if is_new and parameter.kind != parameter.POSITIONAL_ONLY and type(default).__name__ != "Undef":
                kwargs[parameter.name] = default
    return Call(tuple(args), kwargs)


def _in_terms_of(library: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return library.asarray(value.copy())
    if isinstance(value, np.dtype):
        return getattr(library, value.name)
    if value is DEVICE:
        return library.__array_namespace_info__().default_device()
    if type(value) in (list, tuple):
        return type(value)(_in_terms_of(library, one) for one in value)
    return value


@contextmanager
def _quiet() -> Iterator[None]:
    """Let overflows and empty slices go without a word: they are in the domain."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _called(library: Any, name: str, call: Call) -> Any:
    with _quiet():
        args = [_in_terms_of(library, value) for value in call.args]
        kwargs = {key: _in_terms_of(library, value) for key, value in call.kwargs.items()}
        return look_up(library, name)(*args, **kwargs)


def _verdict(name: str, call: Call) -> Any:
    result = _called(judge(), name, call)
    if name == "isin" and call.kwargs.get("invert"):  # which the judge forgets, in 2.6.1
        return judge().logical_not(result)
    if (
        name == "sign" and (x := np.asarray(call.args[0])).dtype.kind == "c"
    ):  # which overflows there for denormal numbers
        scaled = np.where(np.abs(x) < np.finfo(x.dtype).tiny, x * np.asarray(2**64, x.dtype), x)
        return _called(judge(), name, call._replace(args=(scaled.astype(x.dtype),)))
    return result


def assert_follows(name: str, call: Call) -> None:
    """Compare the result of one call with the standard's."""
    expected, got = _verdict(name, call), _called(xp, name, call)
    several = isinstance(expected, tuple) and not all(isinstance(one, int) for one in expected)
    if several:
        assert isinstance(got, tuple), f"a tuple, not {type(got)}"
        assert getattr(got, "_fields", None) == getattr(expected, "_fields", None)
        assert len(got) == len(expected)
    expected_arrays: list[Any] = []
    got_arrays: list[Any] = []
    for right, ours in zip(expected, got, strict=True) if several else [(expected, got)]:
        if not isinstance(right, type(judge().asarray(0))):
            _assert_same_value(right, ours)
            continue
        assert isinstance(ours, (type(xp.asarray(0)), np.generic) if xp.numpy_backend else type(xp.asarray(0)))
        right, ours = np.asarray(right), np.asarray(xp.to_numpy(ours))
        assert ours.dtype == right.dtype
        assert ours.shape == right.shape
        expected_arrays.append(right)
        got_arrays.append(ours)
    if not expected_arrays or name in SHAPE_ONLY:
        return
    with _quiet():
        determined = DETERMINED.get(name, lambda call, results: results)
        compared = zip(determined(call, expected_arrays), determined(call, got_arrays), strict=True)
        for right, ours in compared:
            _assert_same_numbers(name, call, right, ours)


def _assert_same_value(expected: Any, got: Any) -> None:
    """Compare what is no array: dtypes, bools, limits, shapes."""
    if repr(expected).startswith("array_api_strict."):
        assert f"array_api_strict.{np.dtype(got).name}" == repr(expected)
    elif type(expected).__name__ in ("finfo_object", "iinfo_object"):
        for field in vars(expected):
            _assert_same_value(getattr(expected, field), getattr(got, field))
    else:
        assert got == expected
        assert isinstance(got, type(expected)) or np.isscalar(got)


def _assert_same_numbers(name: str, call: Call, expected: Any, got: Any) -> None:
    rounded = name in ROUNDED | SUMMED or (name in ELEMENTWISE and expected.dtype.kind == "c")
    if expected.dtype.kind not in "fc" or not rounded:
        assert np.array_equal(expected, got, equal_nan=expected.dtype.kind in "fc"), (expected, got)
        if expected.dtype.kind == "f" and name not in EITHER_ZERO:
            numbers = ~np.isnan(expected)
            assert np.array_equal(np.signbit(expected[numbers]), np.signbit(got[numbers])), (expected, got)
        return
    finite = np.isfinite(expected)
    assert np.array_equal(finite, np.isfinite(got)), (expected, got)
    assert np.array_equal(expected[~finite], got[~finite], equal_nan=True), (expected, got)
    expected, got = expected[finite], got[finite]
    eps = np.finfo(expected.dtype).eps
    if name in SUMMED:
        sizes = [np.abs(one[np.isfinite(one)]) for one in (*_numbers_of(call), expected)]
        allowed: Any = 1000 * eps * max([1.0, *(float(size.max()) for size in sizes if size.size)])
    elif expected.dtype.kind == "f":
        allowed = 4 * np.spacing(np.abs(expected))
    else:
        allowed = 16 * eps * np.abs(expected) + np.finfo(expected.dtype).smallest_subnormal
    assert np.all(np.abs(expected - got) <= allowed), (expected, got)


def _numbers_of(call: Call) -> Iterator[Any]:
    for value in call.args:
        if isinstance(value, (np.ndarray, int, float, complex)):
            yield np.asarray(value).astype(complex)


def check(name: str, examples: int) -> None:
    """Make so many calls of a function and compare each with the standard's result."""
    known = [one for one in exceptions(xp.get_backend()) if one.name == name]

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(CALLS[name], st.sampled_from(SPELLINGS))
    def follows(drawn: Call, spelling: str) -> None:
        call = spelled(name, drawn, spelling)
        if not any(one.applies(call) for one in known):
            assert_follows(name, call)

    follows()


def check_constants_and_dtypes() -> None:
    for name in CONSTANTS:
        expected, got = getattr(judge(), name), getattr(xp, name)
        assert got == expected or (math.isnan(expected) and math.isnan(got)), name
        assert isinstance(got, type(expected)), name
    for name in DTYPES:
        dtype = getattr(xp, name)
        assert np.dtype(dtype).name == name
        assert xp.zeros(1, dtype=dtype).dtype == dtype


def check_inspection() -> None:
    """Compare what the namespace tells of itself."""
    assert xp.__array_api_version__ >= "2024.12"
    ours, expected = xp.__array_namespace_info__(), judge().__array_namespace_info__()
    assert ours.capabilities() == expected.capabilities()
    here = ours.default_device()
    assert isinstance(ours.devices(), tuple)
    assert here in ours.devices()

    def assert_same(got: dict[str, Any], right: dict[str, Any]) -> None:
        assert got.keys() == right.keys()
        for key, dtype in got.items():
            _assert_same_value(right[key], dtype)
            assert xp.zeros(1, dtype=dtype).dtype == dtype

    kinds: list[Any] = [*KINDS, ("bool", "real floating"), ("integral", "complex floating"), ()]
    for place in ({}, {"device": None}, {"device": here}):
        given = {} if not place else {"device": None}
        assert_same(ours.default_dtypes(**place), expected.default_dtypes(**given))
        assert_same(ours.dtypes(**place), expected.dtypes(**given))
        for kind in kinds:
            assert_same(ours.dtypes(kind=kind, **place), expected.dtypes(kind=kind, **given))
    with pytest.raises(ValueError, match="kind"):
        ours.dtypes(kind="float")
