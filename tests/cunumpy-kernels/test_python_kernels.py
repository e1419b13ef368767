"""Kernels in Python syntax on NumPy arrays; each translation is compiled by NVIDIA's compiler too."""

from __future__ import annotations

import itertools
import types

import numpy as np
import pytest

from cunumpy.kernels import jit, rawkernel
from python_kernels import DTYPES, kernel_of, run


@rawkernel()
def elementwise_copy(x, y, size):
    tid = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    ntid = jit.gridDim.x * jit.blockDim.x
    for i in range(tid, size, ntid):
        y[i] = x[i]


def test_copy_in_both_forms_of_a_launch():
    x = np.random.default_rng(1).normal(size=5000).astype("f")
    y, z = np.zeros_like(x), np.zeros_like(x)
    code = run(elementwise_copy, (4,), (128,), x, y, np.uint32(x.size))
    np.testing.assert_array_equal(y, x)
    elementwise_copy[3, 64](x, z, np.uint32(x.size))
    np.testing.assert_array_equal(z, x)
    assert elementwise_copy.cached_code == code
    assert list(elementwise_copy.cached_codes.values()) == [code]
    assert "for (unsigned int i = tid; i < size; i += ntid)" in code
    assert "CArray1D<const float> x, CArray1D<float> y, unsigned int size" in code


@jit.rawkernel()
def reduction(x, y, size):
    tid = jit.threadIdx.x
    ntid = jit.blockDim.x
    value = np.float32(0)
    for i in range(tid, size, ntid):
        value += x[i]
    smem = jit.shared_memory(np.float32, 1024)
    smem[tid] = value
    jit.syncthreads()
    if tid == np.uint32(0):
        value = np.float32(0)
        for i in range(ntid):
            value += smem[i]
        y[0] = value


@jit.rawkernel()
def reduction_by_atomics(x, y, size):
    tid = jit.grid(1)
    ntid = jit.gridsize(1)
    value = np.float32(0)
    for i in range(tid, size, ntid):
        value += x[i]
    jit.atomic_add(y, 0, value)


@jit.rawkernel()
def scaled(x, y, size):
    tid = jit.grid(1)
    if tid < size:
        y[tid] = x[tid] * 2.0


def test_reductions_and_scaling():
    x = np.random.default_rng(1).random(3000, np.float32)
    y = np.zeros(1, np.float32)
    run(reduction, 1, 1024, x, y, 3000)
    np.testing.assert_allclose(y, x.sum(dtype="d"), rtol=1e-6)
    y[0] = 0
    run(reduction_by_atomics, (4,), (64,), x, y, 3000)
    np.testing.assert_allclose(y, x.sum(dtype="d"), rtol=1e-5)
    z = np.zeros_like(x)
    run(scaled, 24, 128, x, z, x.size)
    np.testing.assert_array_equal(z, 2 * x)


# --- threads, blocks and arrays ---


@rawkernel()
def places(one, two, three, sizes, ids):
    i, j, k = jit.grid(3)
    n, m, o = jit.gridsize(3)
    one[jit.grid(1), j, k] = i + n * (j + m * k)
    x, y = jit.grid(2)
    two[x, y, k] = x * 100 + y
    three[i][j][k] = three.shape[0] * 10000 + len(three[i]) * 100 + three.ndim
    sizes[0], sizes[1], sizes[2] = jit.gridsize(1), jit.gridsize(2)[1], o
    ids[jit.threadIdx.x, jit.threadIdx.y, jit.threadIdx.z] = (
        jit.blockDim.x * 1000 + jit.blockDim.y * 100 + jit.blockDim.z * 10 + jit.gridDim.z
    )


def test_places_in_the_grid():
    shape = (6, 4, 4)
    one, two, three = (np.zeros(shape, "q") for _ in range(3))
    sizes, ids = np.zeros(3, "I"), np.zeros((3, 2, 2), "u4")
    run(places, (2, 2, 2), (3, 2, 2), one, two, three, sizes, ids)
    i, j, k = np.indices(shape)
    np.testing.assert_array_equal(one, i + 6 * (j + 4 * k))
    np.testing.assert_array_equal(two, 100 * i + j)
    assert (three == 60403).all()
    np.testing.assert_array_equal(sizes, shape)
    assert (ids == 3222).all()


@rawkernel()
def described(x, scalar, out):
    out[0] = x.ndim
    out[1] = x.size
    out[2], out[3] = x.shape
    out[4], out[5] = x.strides
    out[6] = x[1].shape[0]
    out[7] = len(x)
    row = x[2]
    out[8] = row[1]
    out[9] = row.size
    out[10] = row.strides[0]
    out[11] = x.itemsize
    scalar[()] = scalar[()] + x[(1, 2)]
    zero = x.dtype.type(7)
    row[0] = zero


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, 1)[:, ::2],
        lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
        lambda a: np.broadcast_to(a[:1], a.shape).copy(order="K"),
    ],
    ids=["C", "F", "strided", "reversed", "copied"],
)
def test_arrays_of_all_layouts(make):
    x = make(np.arange(12, dtype="h").reshape(4, 3))
    expected = [2, 12, 4, 3, *x.strides, 3, 4, x[2, 1], 3, x.strides[1], 2]
    total = x[1, 2]
    scalar, out = np.array(5.5), np.zeros(12, int)
    run(described, 1, 1, x, scalar, out)
    np.testing.assert_array_equal(out, expected)
    assert scalar == 5.5 + total
    assert x[2, 0] == 7


def test_read_only_arrays_are_read_and_not_written():
    x, y = np.arange(4.0, dtype="f"), np.zeros(4, "f")
    x.flags.writeable = False
    scaled[1, 4](x, y, 4)
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(ValueError, match=r"kernel 'scaled': argument 'y'.*read-only"):
        scaled[1, 4](y, x, 4)


def test_every_dtype(tmp_path):
    dtypes = DTYPES[1:]
    parameters = [f"{name}{n}" for n in range(len(dtypes)) for name in ("x", "y", "number", "out")]
    lines = [f"def with_types({', '.join(parameters)}):", "    i = jit.threadIdx.x"]
    for n in range(len(dtypes)):
        lines += [
            f"    y{n}[i] = x{n}[i] + number{n}",
            f"    y{n}[i] = y{n}[i] * x{n}[i] - number{n}",
            f"    total{n} = number{n}",
            f"    total{n} += x{n}[i]",
            f"    out{n}[i] = x{n}[i] == number{n} and total{n} != x{n}[i]",
        ]
    arguments, expected = [], []
    for dtype in dtypes:
        x, number = np.array([1, 2, 3, 5], dtype), dtype.type(3)
        arguments += [x, np.zeros_like(x), number, np.zeros(4, bool)]
        expected += [(x + number) * x - number, x == 3]
    run(kernel_of(lines, tmp_path), 1, 4, *arguments)
    for got, values in zip([one for n, one in enumerate(arguments) if n % 2], expected, strict=True):
        np.testing.assert_array_equal(got, values)


@rawkernel()
def of_booleans(x, y, out):
    i = jit.threadIdx.x
    out[i, 0] = x[i] and y[i]
    out[i, 1] = x[i] or not y[i]
    out[i, 2] = x[i] & y[i]
    out[i, 3] = x[i] ^ True
    out[i, 4] = ~x[i]
    out[i, 5] = x[i] + y[i]
    out[i, 6] = x[i] * y[i]
    out[i, 7] = np.logical_xor(x[i], y[i])
    out[i, 8] = x[i] < y[i]
    out[i, 9] = x[i] if y[i] else False


def test_booleans():
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    out = np.zeros((4, 10), bool)
    run(of_booleans, 1, 4, x, y, out)
    expected = [x & y, x | ~y, x & y, ~x, ~x, x | y, x & y, x ^ y, ~x & y, x & y]
    np.testing.assert_array_equal(out, np.transpose(expected))


# --- statements, against the same function in Python ---


@rawkernel(mode="numpy", device=True)
def walk(a, b):
    """Whatever a program does."""
    total = 0
    steps = 0
    for i in range(a, b, 3):
        if i == 4:
            continue
        if i > 17:
            break
        total += i * 2
        for j in range(b, a, -2):
            total -= j
    for k in range(3):
        total += k
    n = a
    while n > 0 and steps < 20:
        n //= 2
        steps += 1
        if n % 5 == 3:
            break
    low, high = min(a, b, 7), max(a, b)
    low, high = high, low
    if low < a <= high or not (a < 3 or a > 3):
        total = -total
    kind = 1 if a > b else 2 if a == b else 3
    first = second = kind + 1
    total ^= first << 2
    total |= 1 if a % 2 == 0 and b % 2 == 0 else 0
    assert kind < 4
    pair = (a + 1, b)
    return total * 100 + steps * 10 + kind + second + abs(low - high) + a // b % 7 + pair[0] + len(pair) + last(a, b)


@rawkernel(mode="numpy", device=True)
def last(a, b):
    i = 0
    for i in range(a, b):
        if i % 7 == 6:
            return i
    while True:
        i += 1
        if i > 5:
            break
    return i


@rawkernel(mode="numpy")
def walks(a, b, out):
    i = jit.grid(1)
    if i < a.size:
        out[i] = walk(a[i], b[i])


def test_statements_do_what_they_do_in_python(monkeypatch):
    pairs = [(a, b) for a, b in itertools.product(range(-3, 24, 2), range(-5, 30, 3)) if b]
    a, b = np.array(pairs).T.copy()
    out = np.zeros(len(pairs), int)
    run(walks, 3, 128, a, b, out)
    function = walk.__wrapped__
    monkeypatch.setitem(function.__globals__, "last", last.__wrapped__)
    np.testing.assert_array_equal(out, [function(*pair) for pair in pairs])


@rawkernel(device=True)
def two(x):
    return x, x + 1


@rawkernel()
def statements(out, x):
    a, b = two(x[0])
    c, d = two(b)
    out[0], out[1] = out[1], out[0]
    out[2] = a + b * 10 + c * 100 + d * 1000
    for i in range(3):
        if i == 0:
            v = 5
        v += i
    out[3] = v
    t = x.shape
    m = (a, b)
    row = x
    out[4], out[5], out[6], out[7] = t[0], m[1], row[1], -x[0] - -x[1]
    out[8] = 2 - (3 - x[0])
    out[9] = 7 // 2 * x[1]
    out[10] = (x[1] + 1) % 3**2
    out[11] = not x[0] == 1  # noqa: SIM201
    out[12] = x[0] - (x[1] - 1) * 2 / 4
    out[13] = 1 << x[1] & 3 | 8
    out[14] = -(x[1] ** 2)
    i = 10
    for i in range(0):  # noqa: B007
        pass
    out[15] = i
    for k in range(4, 0, -1):
        out[16] = k
    z = 1 if x[0] == 2 else 2 if x[1] == 7 else 3
    out[17] = z
    out[18] = x[0] if (x[1] > 5 and x[0] == 1) or x[0] == 3 else -1
    out[19] += 5
    out[19] -= x[0]
    out[19] *= x[1]
    a, b = b, a + b
    x[0], x[1], a = x[1], a, x[0]
    out[20] = x[0] * 100 + x[1] * 10 + a
    int, float = 3, 4.5
    out[21] = int * float
    out[22] = 1 if x[0] > 0 != False else 0


def test_statements_of_all_kinds(monkeypatch):
    results = []
    for where in ("kernel", "python"):
        out, x = np.zeros(23), np.array([1, 7], "i4")
        out[:2] = 1, 2
        if where == "kernel":
            run(statements, 1, 1, out, x)
        else:
            function = statements.__wrapped__
            monkeypatch.setitem(function.__globals__, "two", two.__wrapped__)
            function(out, x)
        results.append((out.tolist(), x.tolist()))
    assert results[0] == results[1]


@rawkernel()
def loops(out, start, stop, step):
    n = 0
    for i in range(start, stop, step):
        out[n] = i
        n += 1
        i = 100
    for i in jit.range(2, unroll=True):
        out[n + i] = 50 + i
    for i in jit.range(2, unroll=2):
        out[n + 2 + i] = 60 + i
    out[n + 4] = n


@pytest.mark.parametrize("given", [(0, 5, 2), (5, 0, -2), (0, 0, 1), (3, -4, -1)])
def test_ranges(given):
    out = np.full(20, -1, "i")
    loops[1, 1](out, *given)
    expected = [*range(*given), 50, 51, 60, 61, len(range(*given))]
    np.testing.assert_array_equal(out[: len(expected)], expected)


@rawkernel()
def loops_with_operators_in_their_bounds(out, n, step):
    count = 0
    for i in range(n & 6):
        count += 1 + i
    out[0] = count
    count = 0
    for i in jit.range(n | 1, n ^ 32, n & 3):
        count += 1 + i
    out[1] = count
    count = 0
    for i in range(n & 1, n << 1, step & 3):
        count += 1 + i
    out[2] = count
    count = 0
    for i in range(n if n > 3 else 2, n & -8 if n > 3 else 1, step | -4):
        count += 1 + i
    out[3] = count


@pytest.mark.parametrize("mode", ["cuda", "numpy"])
def test_bounds_of_ranges_may_have_operators(mode):
    python = loops_with_operators_in_their_bounds.__wrapped__
    kernel = loops_with_operators_in_their_bounds if mode == "cuda" else rawkernel(mode="numpy")(python)
    for n, step in ((7, 1), (21, 3), (3, 2)):
        out, expected = np.zeros(4, "i"), np.zeros(4, "i")
        kernel[1, 1](out, n, step)
        for_python = types.FunctionType(python.__code__, {"jit": types.SimpleNamespace(range=range)})
        for_python(expected, n, step)
        np.testing.assert_array_equal(out, expected)


@rawkernel()
def loops_that_change_their_bounds(out, limits, n, step):
    count = 0
    for _ in range(n):
        n += 2
        count += 1
    out[0], out[1] = count, n
    count = 0
    for i in range(abs(n) % 7):
        n *= 3
        count += i
    out[2], out[3] = count, n
    count = 0
    for i in range(step, n % 11, step):
        step, n = 1, 50
        count += i
    out[4], out[5] = count, n
    count = 0
    for _ in range(limits[0]):
        limits[0] += 1
        count += 1
    for i in range(3):
        for _ in range(i + 1):
            count += i
    out[6], out[7] = count, limits[0]


@pytest.mark.parametrize("mode", ["cuda", "numpy"])
def test_ranges_are_evaluated_once(mode):
    python = loops_that_change_their_bounds.__wrapped__
    kernel = loops_that_change_their_bounds if mode == "cuda" else rawkernel(mode="numpy")(python)
    out, limits = np.zeros((2, 8), "q"), np.full((2, 1), 4, "q")
    kernel[1, 1](out[0], limits[0], 5, 2)
    python(out[1], limits[1], 5, 2)
    np.testing.assert_array_equal(out[0], out[1])
