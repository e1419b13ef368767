"""Calls of the functions that change shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from array_api_calls.arguments import (
    Call,
    arrays,
    axes,
    dtypes,
    pairs,
    shapes,
    some,
)


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
