"""Calls of the elementwise functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from array_api_calls.arguments import (
    Call,
    arrays,
    broadcastable,
    dtypes,
    elements,
    pairs,
    shapes,
    words,
)


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
        for name in words(
            "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh sqrt tan tanh"
        )
    },
    **{name: unary("numeric") for name in words("abs conj isfinite isinf isnan negative positive real sign square")},
    **{name: unary("real") for name in ("ceil", "floor", "trunc")},
    "bitwise_invert": unary("integer or bool"),
    "imag": unary("complex"),
    "logical_not": unary("bool"),
    "round": unary("numeric"),
    "signbit": unary("real float"),
    **{name: binary("numeric") for name in ("add", "multiply", "subtract")},
    **{name: binary("real") for name in words("greater greater_equal less less_equal maximum minimum")},
    **{name: binary("all") for name in ("equal", "not_equal")},
    **{name: binary("real float") for name in words("atan2 copysign hypot logaddexp nextafter")},
    **{name: binary("integer or bool") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: binary("integer", second=shifts) for name in ("bitwise_left_shift", "bitwise_right_shift")},
    **{name: binary("bool") for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: binary("real", second=divisors) for name in ("floor_divide", "remainder")},
    "divide": binary("float"),
    "pow": binary("numeric", second=exponents),
    "clip": clips(),
}
