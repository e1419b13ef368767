"""What kernels in Python syntax call: device functions, names from around them, mathematics."""

from __future__ import annotations

import enum
import math

import numpy as np
import pytest

from cunumpy.kernels import jit, rawkernel
from python_kernels import kernel_of, run, words


@rawkernel(device=True)
def both(x, y):
    x += 1
    y += 1
    return x + y, x * y


@rawkernel(device=True)
def bump(x, i):
    x[i] += 1
    return 1


@rawkernel(device=True)
def reset(row):
    for i in range(row.size):
        row[i] = 0


def adder(const):
    @rawkernel(device=True)
    def f(x, y):
        return x + y + const

    return f


def tree(step):
    @rawkernel(device=True)
    def f(x):
        if step < 16:
            tid = jit.threadIdx.x
            if tid % (step * 2) == 0:
                x[tid] += x[tid + step]
            jit.syncthreads()
            tree(step * 2)(x)

    return f


FACTORS = (2, 3)
double = np.float64
int32_t = 5


@rawkernel()
def calls(x, y, z, sums, matrix):
    tid = jit.threadIdx.x
    total, product = both(x[tid], y[tid])
    z[tid, 0] = total + product + x[tid]
    z[tid, 1] = adder(10)(x[tid], y[tid]) + adder(20)(x[tid], y[tid])
    z[tid, 2] = FACTORS[1] * x[tid] + int32_t
    register = both(1.5, 2.5)[1]  # a keyword of C++
    z[tid, 3] = double(register) + math.pi + np.float32(np.pi)
    tree(1)(sums)
    if tid == 0:
        sums[1 + bump(sums, 1)] += sums[1] * bump(sums, 1)
        reset(matrix[1])
        sums[3] = bump(sums, 4) + sums[4] * 10


@rawkernel(device=True)
def reciprocal(x):
    return 1.0 / x


@rawkernel(device=True)
def negated(flag):
    return ~flag


@rawkernel(mode="numpy")
def lookalikes(x):
    x[0] = reciprocal(0.0)
    x[1] = reciprocal(-0.0)
    x[2] = negated(1)
    x[3] = negated(True)
    x[4] = adder(1)(x[5], x[5]) + adder(2)(x[5], x[5]) + adder(3)(x[5], x[5]) + adder(4)(x[5], x[5])


def test_device_functions_are_told_apart_where_equal_values_differ_and_functions_die():
    x = np.zeros(6)
    run(lookalikes, 1, 1, x)
    np.testing.assert_array_equal(x, [np.inf, -np.inf, -2, 0, 10, 0])


class Level(enum.IntEnum):
    LOW = 3
    HIGH = 2**40


@rawkernel()
def stored(x, value):
    x[0] = value


def test_integers_of_classes_of_their_own():
    x = np.zeros(1, np.int64)
    for value in (Level.LOW, Level.HIGH, 2**40, -(2**62)):
        run(stored, 1, 1, x, value)
        assert x[0] == value
    for value in (2**64, -(2**64)):
        with pytest.raises(TypeError, match="argument 1"):
            stored(1, 1, (x, value))


def test_device_functions_and_names():
    x, y = np.arange(16, dtype="i"), np.arange(16, dtype="i")[::-1].copy()
    z, sums, matrix = np.zeros((16, 4)), np.arange(16, dtype="i"), np.ones((2, 3))
    before = sums.copy()
    run(calls, 1, 16, x, y, z, sums, matrix)
    total, product = both.__wrapped__(x.copy(), y.copy())
    np.testing.assert_array_equal(z[:, 0], total + product + x)
    np.testing.assert_array_equal(z[:, 1], 2 * (x + y) + 30)
    np.testing.assert_array_equal(z[:, 2], 3 * x + 5)
    np.testing.assert_allclose(z[:, 3], 2.5 * 3.5 + np.pi + np.float32(np.pi), rtol=1e-7)
    np.testing.assert_array_equal(matrix, [[1, 1, 1], [0, 0, 0]])
    # In Python's order: the index is evaluated once and first, then the element is read, then the right-hand side.
    for step in (1, 2, 4, 8):
        before[:: 2 * step] += before[step :: 2 * step]
    before[1] += 1
    element = before[2]
    factor = before[1]
    before[1] += 1
    before[2] = element + factor
    before[4] += 1
    before[3] = 1 + before[4] * 10
    np.testing.assert_array_equal(sums, before)


@rawkernel(device=True)
def count(c, i):
    c[i] += 1
    return c[i]


@rawkernel()
def in_order(c, out):
    out[0] = count(c, 0) * 100 + count(c, 0) * 10 + count(c, 0)
    out[1] = c[0] + count(c, 0)
    out[2] = count(c, 0) + c[0]
    out[count(c, 1)] = count(c, 1)
    a, b = count(c, 2), count(c, 2) * 10
    out[5] = a + b
    out[6] = count(c, 3) if count(c, 3) == 1 else 50
    n = 0
    while count(c, 4) < 5:
        n += 1
    out[7] = n
    if count(c, 5) == 5 or count(c, 5) == 2:
        out[8] = c[5]
    out[9] = min(count(c, 6), count(c, 6) + 5) + max(c[6], count(c, 6))
    out[10] = count(c, 7) < count(c, 7) and count(c, 7) == 3
    for i in range(count(c, 8), count(c, 8) + 3):
        out[11] += i
    c[9] += count(c, 9)
    c[count(c, 10)] = c[10] + count(c, 10)
    out[12] = c[count(c, 1) - 1]


def test_calls_that_change_something_are_evaluated_in_the_order_of_python(monkeypatch):
    c, out = np.zeros(12, "i4"), np.zeros(13)
    run(in_order, 1, 1, c, out)
    expected_c, expected = np.zeros(12, "i4"), np.zeros(13)
    function = in_order.__wrapped__
    monkeypatch.setitem(function.__globals__, "count", count.__wrapped__)
    function(expected_c, expected)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(c, expected_c)


# --- mathematics ---

ONE = "arccos arcsin arctan arcsinh cos cosh exp sin sinh sqrt tan tanh log log10".split()  # noqa: SIM905
REAL = words(
    """
    arctanh cbrt exp2 expm1 log1p log2 rint floor ceil trunc deg2rad rad2deg absolute fabs sign square reciprocal
    negative isnan isinf isfinite signbit
    """
)
TWO = words(
    """
    add subtract multiply divide floor_divide remainder power minimum maximum fmin fmax arctan2 hypot copysign
    nextafter fmod less greater_equal not_equal logical_and logical_or
    """
)


def mathematical_kernel(names, two, folder):
    lines = ["def mathematics(x, y, out):", "    i = jit.threadIdx.x"]
    lines += [f"    out[{n}, i] = np.{name}(x[i]{', y[i]' if two else ''})" for n, name in enumerate(names)]
    return kernel_of(lines, folder)


@pytest.mark.parametrize("dtype", ["e", "f", "d", "D"])
def test_mathematical_functions(dtype, tmp_path):
    dtype = np.dtype(dtype)
    names = ONE if dtype.kind == "c" else ONE + REAL
    x = np.array([0.25, 0.5, 0.75, 0.1], dtype)
    if dtype.kind == "c":
        x += np.array([0.5j, -0.25j, 0.125j, 0], dtype)
    out = np.zeros((len(names), 4), dtype)
    run(mathematical_kernel(names, False, tmp_path), 1, 4, x, x, out)
    tolerance = {"e": 2e-3, "f": 1e-6, "F": 1e-6}.get(dtype.char, 1e-14)
    for name, row in zip(names, out, strict=True):
        np.testing.assert_allclose(row, getattr(np, name)(x).astype(dtype), rtol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_functions_of_two_numbers(dtype, tmp_path):
    names = [name for name in TWO if (name, dtype) != ("nextafter", "e")]
    x = np.array([0.25, -3.5, 7.75, np.nan, 2.0, -7.0, 0.0, np.inf], dtype)
    y = np.array([2.0, 2.0, -2.5, 1.0, 0.0, 3.0, 0.0, 2.0], dtype)
    out = np.zeros((len(names), 8), dtype)
    run(mathematical_kernel(names, True, tmp_path), 1, 8, x, y, out)
    tolerance = {"e": 2e-3, "f": 1e-6}.get(dtype, 1e-14)
    for name, row in zip(names, out, strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(row, getattr(np, name)(x, y), rtol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_of_two_zeros_the_second_one_is_the_smaller_and_the_larger(dtype, tmp_path):
    """As NumPy has it on most processors, and fused functions."""
    x, y, out = np.array([-0.0, 0.0], dtype), np.array([0.0, -0.0], dtype), np.zeros((2, 2), dtype)
    run(mathematical_kernel(["minimum", "maximum"], True, tmp_path), 1, 2, x, y, out)
    assert np.signbit(out).tolist() == [[False, True]] * 2


@rawkernel()
def of_math(x, out):
    i = jit.threadIdx.x
    out[i, 0] = math.sqrt(x[i]) + math.erf(x[i]) + math.atan2(x[i], 2.0) + math.pow(x[i], 3.0)
    out[i, 1] = math.lgamma(x[i]) + math.gamma(x[i]) + math.degrees(x[i]) + math.fabs(-x[i])
    quotient, rest = divmod(x[i], 2.0)
    out[i, 2] = quotient * 10.0 + rest
    out[i, 3] = pow(x[i], 2) + abs(-x[i])
    out[i, 4] = float(int(x[i] * 10.0)) + bool(x[i])
    out[i, 5] = x[i].real + x[i].imag + np.inf * 0.0 if np.isnan(x[i]) else x[i].real


def test_module_math_and_conversions():
    x = np.array([0.5, 1.5, 2.25, 5.0])
    out = np.zeros((4, 6))
    run(of_math, 1, 4, x, out)
    for value, row in zip(x, out, strict=True):
        expected = [
            math.sqrt(value) + math.erf(value) + math.atan2(value, 2) + value**3,
            math.lgamma(value) + math.gamma(value) + math.degrees(value) + value,
            value // 2 * 10 + value % 2,
            value**2 + value,
            int(value * 10) + 1,
            value,
        ]
        np.testing.assert_allclose(row, expected, rtol=1e-6)
