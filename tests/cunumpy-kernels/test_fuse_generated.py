"""Generated programs of NumPy's functions: fused they give what they give unfused, bit for bit."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cunumpy as xp
from cunumpy.kernels import _fuse, fuse

DTYPES = ["float64", "float32", "int64", "int32", "int8", "uint8", "bool", "float16"]
SHAPES = [(4, 6), (4, 6), (4, 6), (6,), (4, 1), ()]


def with_sign_of(x, y):
    """NumPy's copysign, but for the sign of NaN, which IEEE 754 leaves open."""
    return np.copysign(x, np.where(np.isnan(y), x, y))


BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_),
    *(operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.le, operator.eq, operator.ne),
    *(np.add, np.subtract, np.multiply, np.fmod, with_sign_of, np.logical_and, np.logical_xor, np.greater),
]
UNARY = [
    *(
        operator.neg,
        operator.pos,
        operator.abs,
        operator.invert,
        np.square,
        np.sqrt,
        np.sign,
        np.floor,
        np.rint,
        np.isnan,
    ),
    *(
        np.logical_not,
        np.conjugate,
        np.zeros_like,
        np.ones_like,
        np.copy,
        lambda x: x**2,
        lambda x: x**0.5,
        np.isfinite,
    ),
]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.iand, operator.ifloordiv]
REDUCTIONS = [np.max, np.min, np.any, np.all, lambda x, **how: x.max(**how), np.minimum.reduce]
NUMBERS = [0, 1, 2, -3, 0.5, -2.0, 100, True, np.float32(1.5), np.int64(3), np.float64(0.25), 1e30, 300]


@st.composite
def programs(draw):
    """Dtypes and shapes of arguments, and steps: what is done with which values before."""
    arguments = draw(st.lists(st.tuples(st.sampled_from(DTYPES), st.sampled_from(SHAPES)), min_size=1, max_size=3))
    steps = []
    for number in range(draw(st.integers(2, 8))):
        value = st.integers(0, len(arguments) + number - 1)
        operand = st.one_of(value, value, st.sampled_from(NUMBERS).map(lambda one: (one,)))
        kind = draw(
            st.sampled_from(["binary"] * 5 + ["unary"] * 2 + ["in place", "reduction", "where", "float", "set"])
        )
        if kind == "unary":
            steps.append((kind, draw(st.sampled_from(UNARY)), draw(value)))
        elif kind == "reduction":
            steps.append(
                (
                    kind,
                    draw(st.sampled_from(REDUCTIONS)),
                    draw(value),
                    draw(st.sampled_from([0, -1])),
                    draw(st.booleans()),
                )
            )
        elif kind == "where":
            steps.append((kind, None, draw(value), draw(operand), draw(operand)))
        elif kind == "float":
            steps.append((kind, None, draw(value), draw(st.sampled_from(["float32", "float64"]))))
        elif kind == "set":
            steps.append((kind, None, draw(value), draw(operand)))
        elif kind == "in place":
            steps.append((kind, draw(st.sampled_from(IN_PLACE)), draw(value), draw(operand)))
        else:
            first, second = draw(value), draw(operand)
            steps.append(
                (kind, draw(st.sampled_from(BINARY)), *((first, second) if draw(st.booleans()) else (second, first)))
            )
    seed = draw(st.integers(0, 2**31))
    if draw(st.integers(0, 5)):  # what can't be done makes the whole run unfused: most programs are without
        failed = [-1]
        while failed:
            failed = []
            with np.errstate(all="ignore"):
                run(steps, *made(arguments, seed), failed=failed)
            steps = [("nothing", None) if number in failed else step for number, step in enumerate(steps)]
    return arguments, steps, seed


def run(steps, *arrays, failed=None):
    """Interpret a program; after an error of NumPy's comes the next step, and `failed` gets the number of this one."""
    values = list(arrays)

    def operand(one):
        return one[0] if isinstance(one, tuple) else values[one]

    for kind, function, *where in steps:
        try:
            if kind == "nothing":
                result = 1.0
            elif kind == "unary":
                result = function(values[where[0]])
            elif kind == "reduction":
                result = function(values[where[0]], axis=where[1], **({"keepdims": True} if where[2] else {}))
            elif kind == "where":
                result = xp.where(*map(operand, where))
            elif kind == "float":
                result = values[where[0]].astype(where[1])
            elif kind == "set":
                result = values[where[0]]
                result[...] = operand(where[1])
            else:
                result = function(*map(operand, where))
        except (TypeError, ValueError, ArithmeticError, IndexError, AttributeError):
            result = 1.0
            if failed is not None:
                failed.append(len(values) - len(arrays))
        values.append(result)
    return tuple(values[len(arrays) :])


def made(arguments, seed):
    rng = np.random.default_rng(seed)
    return [
        np.asarray(rng.integers(-4, 9, shape) * (0.5 if dtype[0] == "f" else 1)).astype(dtype)
        for dtype, shape in arguments
    ]


def described(value):
    value = np.asarray(value)
    bits = np.where(value != value, np.nan, value)
    return (
        value.dtype.str,
        value.shape,
        [step for step, n in zip(value.strides, value.shape, strict=True) if n > 1],
        bits.tolist(),
    )


@settings(max_examples=40, deadline=None)
@given(programs())
def test_programs(program):
    arguments, steps, seed = program
    mine, theirs = made(arguments, seed), made(arguments, seed)
    limit, _fuse.PAYS = _fuse.PAYS, 12
    try:
        with np.errstate(all="ignore"):
            expected = run(steps, *theirs)
            results = fuse(lambda *arrays: run(steps, *arrays))(*mine)
    finally:
        _fuse.PAYS = limit
    for one, other in zip([*results, *mine], [*expected, *theirs], strict=True):
        assert repr(described(one)) == repr(described(other))
        assert isinstance(one, np.ndarray) == isinstance(other, np.ndarray)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_program_by_hand(order):
    """The interpreter itself, and a case of each kind of step."""
    steps = [
        ("binary", operator.mul, 0, (2,)),
        ("reduction", np.max, 1, 0, True),
        ("in place", operator.iadd, 0, 2),
        ("where", None, 0, (1,), 1),
        ("set", None, 0, (7,)),
        ("float", None, 0, "float32"),
    ]
    results = run(steps, np.array([[1, 2], [3, 4]], order=order))
    assert [one.tolist() for one in results] == [
        *([[2, 4], [6, 8]], [[6, 8]], [[7, 7], [7, 7]], [[1, 1], [1, 1]], [[7, 7], [7, 7]], [[7.0, 7.0], [7.0, 7.0]]),
    ]
