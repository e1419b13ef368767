"""Calls of the functions of linear algebra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from array_api_calls.arguments import (
    Call,
    arrays,
    axes,
    broadcastable,
    dtypes,
    pairs,
    shapes,
    some,
)
from array_api_calls.manipulation import manipulated


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
