"""Calls of the functions that take elements out, search, sort and make sets, and of reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from array_api_calls.arguments import (
    SIGNED,
    Call,
    arrays,
    axes,
    dtypes,
    elements,
    pairs,
    shapes,
    some,
)
from array_api_calls.elementwise import binary


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
