"""Kernels in Python syntax on NumPy arrays; each translation is compiled by NVIDIA's compiler too."""

from __future__ import annotations

import enum
import itertools
import math
import types

import numpy as np
import pytest

from cunumpy.kernels import jit, rawkernel
from nvrtc import compile_cuda

DTYPES = [np.dtype(code) for code in "? b B h H i I q Q e f d F D".split()]  # noqa: SIM905


def words(text):
    return text.split()


def run(kernel, grid, block, *args, **options):
    """Launch a kernel, and let NVIDIA's compiler have the same code."""
    kernel(grid, block, args, **options)
    code = list(kernel.cached_codes.values())[-1]
    assert compile_cuda(code.replace("<cupy/complex.cuh>", "<cuda/std/complex>\nusing cuda::std::complex;"))
    return code


def kernel_of(lines, folder):
    """Return a kernel of generated code, which has to be in a file."""
    text = "\n".join(["@jit.rawkernel(mode='numpy')", *lines])
    path = folder / "generated.py"
    path.write_text(text)
    scope = {"jit": jit, "np": np}
    exec(compile(text, str(path), "exec"), scope)
    return next(value for value in scope.values() if isinstance(value, type(elementwise_copy)))


# --- CuPy's documented examples ---


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


# --- shared memory, atomics, warps ---


@rawkernel()
def reversed_in_blocks(x, y, z):
    tid = jit.threadIdx.x
    ntid = jit.blockDim.x
    i = tid + jit.blockIdx.x * ntid
    smem = jit.shared_memory(np.int32, 32)
    aligned = jit.shared_memory(x.dtype, size=32, alignment=16)
    dynamic = jit.shared_memory(dtype=np.int32, size=None)
    smem[tid] = x[i]
    aligned[tid] = x[i]
    dynamic[tid] = x[i] + len(smem)
    jit.syncthreads()
    y[i] = smem[ntid - tid - 1] + aligned[ntid - tid - 1]
    z[i] = dynamic[ntid - tid - 1]


def test_shared_memory():
    x = np.arange(128, dtype="i")
    y, z = np.zeros_like(x), np.zeros_like(x)
    run(reversed_in_blocks, (4,), (32,), x, y, z, shared_mem=128)
    expected = x.reshape(4, 32)[:, ::-1].ravel()
    np.testing.assert_array_equal(y, 2 * expected)
    np.testing.assert_array_equal(z, expected + 32)


@rawkernel()
def sums_by_atomics(x, index, out, old):
    tid = jit.grid(1)
    old[tid] = jit.atomic_add(out, index[tid], x[tid])


@rawkernel()
def differences_by_atomics(x, out):
    jit.atomic_sub(out, (0, 0), x[jit.grid(1)])


@pytest.mark.parametrize("dtype", ["i", "q", "e", "f", "d"])
def test_atomic_add_and_sub(dtype):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, 256).astype(dtype)
    index, out, old = rng.integers(0, 2, 256).astype("i"), np.zeros(2, dtype), np.zeros(256, dtype)
    run(sums_by_atomics, 8, 32, x, index, out, old)
    np.testing.assert_array_equal(out, [x[index == 0].sum(), x[index == 1].sum()])
    assert old.max() < out.max()
    if dtype != "e":
        left = np.full((1, 1), 5000, dtype)
        run(differences_by_atomics, 8, 32, x, left)
        assert left == 5000 - x.sum()


@rawkernel()
def other_atomics(x, out):
    i = jit.threadIdx.x
    jit.atomic_min(out, 0, x[i])
    jit.atomic_max(out, 1, x[i])
    jit.atomic_exch(out, 2, x[i])
    jit.atomic_and(out, 3, x[i])
    jit.atomic_or(out, 4, x[i])
    jit.atomic_xor(out, 5, x[i])
    old = jit.atomic_cas(out, 6, 1, 9)
    if old == 1:
        jit.atomic_add(out, 7, 1)


@rawkernel()
def counters(out):
    jit.atomic_inc(out, 0, 9)
    jit.atomic_dec(out, 1, 9)
    shared = jit.shared_memory(np.uint32, 1)
    shared[0] = 0
    jit.syncthreads()
    jit.atomic_add(shared, 0, jit.threadIdx.x)
    jit.syncthreads()
    out[2] = shared[0]


@pytest.mark.parametrize("dtype", ["I", "q"])
def test_other_atomics(dtype):
    x = np.array([12, 7, 30, 5, 26], dtype)
    out = np.array([100, 0, 0, 63, 0, 0, 1, 0], dtype)
    run(other_atomics, 1, 5, x, out)
    assert out[2] in x
    everything = [np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)]
    np.testing.assert_array_equal(np.delete(out, 2), [5, 30, *everything, 9, 1])


def test_counters_and_shared_atomics():
    out = np.array([0, 3, 0], np.uint32)
    run(counters, 1, 14, out)
    np.testing.assert_array_equal(out, [4, 9, 91])


@rawkernel()
def shuffles(a, n, w, out):
    i = jit.threadIdx.x
    lane = jit.laneid()
    out[0, i] = jit.shfl_sync(0xFFFFFFFF, a[i], 3)
    out[1, i] = jit.shfl_sync(0xFFFFFFFF, a[i], n, width=w)
    out[2, i] = jit.shfl_up_sync(0xFFFFFFFF, a[i], 5)
    out[3, i] = jit.shfl_down_sync(0xFFFFFFFF, a[i], n)
    value = a[i]
    step = 16
    while step >= 1:
        value += jit.shfl_xor_sync(0xFFFFFFFF, value, step)
        step //= 2
    out[4, i] = value
    if lane == 0:
        value = a[9]
    value = jit.shfl_sync(0xFFFFFFFF, value, 0)
    out[5, i] = value
    jit.syncwarp()


@pytest.mark.parametrize("dtype", ["b", "I", "q", "e", "d"])
def test_shuffles(dtype):
    a, out = np.arange(32).astype(dtype), np.zeros((6, 32), dtype)
    run(shuffles, 1, 32, a, 2, 8, out)
    lane = np.arange(32)
    with np.errstate(over="ignore"):
        total = a.sum(dtype=dtype)
    expected = [
        a[3],
        a[lane // 8 * 8 + 2],
        a[np.where(lane < 5, lane, lane - 5)],
        a[np.where(lane > 29, lane, lane + 2)],
    ]
    for row, values in zip(out, [*expected, total, a[9]], strict=True):
        np.testing.assert_array_equal(row, np.broadcast_to(values, 32))


@rawkernel()
def masks(x, out, m):
    lane = jit.threadIdx.x & 0x1F
    out[lane, 0] = jit.popc(x[lane])
    out[lane, 1] = jit.ffs(x[lane])
    out[lane, 2] = jit.match_any_sync(0xFFFFFFFF, lane // 8)
    mask, all_same = jit.match_all_sync(0xFFFFFFFF, x[5])
    out[lane, 3] = mask
    out[lane, 4] = all_same
    out[lane, 5] = jit.activemask()
    out[lane, 6] = jit.warpsize
    if lane < m:
        out[lane, 7] = 1
        jit.syncwarp(mask=(1 << m) - 1)


@pytest.mark.parametrize("dtype", ["I", "Q"])
def test_masks_of_warps(dtype):
    x, out = np.arange(32).astype(dtype) * 3, np.zeros((32, 8), "q")
    run(masks, 1, 32, x, out, 4)
    np.testing.assert_array_equal(out[:, 0], [int(value).bit_count() for value in x])
    np.testing.assert_array_equal(out[:, 1], [(int(value) & -int(value)).bit_length() for value in x])
    np.testing.assert_array_equal(out[:, 2], [0xFF << 8 * (lane // 8) for lane in range(32)])
    assert (out[:, 3:7] == [0xFFFFFFFF, 1, 0xFFFFFFFF, 32]).all()
    np.testing.assert_array_equal(out[:, 7], np.arange(32) < 4)


# --- cooperative groups, CUB ---


@rawkernel()
def of_the_block(x, out):
    g = jit.cg.this_thread_block()
    smem = jit.shared_memory(np.int32, 64)
    jit.cg.memcpy_async(g, smem, 0, x, 8, 4 * 32)
    jit.cg.memcpy_async(g, smem, 32, x, 40, 4 * 32, aligned_size=16)
    jit.cg.wait_prior(g, 1)
    jit.cg.wait(g)
    if g.thread_rank() == 3:
        out[0], out[1] = g.size(), g.num_threads()
        index = g.group_index()
        out[2], out[3], out[4] = index.x, index.y, index.z
        t_idx = g.thread_index()
        out[5], out[6] = t_idx.x, t_idx.y
        dim, threads = g.group_dim(), g.dim_threads()
        out[7], out[8], out[9] = dim.x, dim.y, threads.z
        out[10] = smem[1] + smem[63]
    g.sync()
    jit.cg.sync(g)


def test_thread_block():
    x, out = np.arange(100, dtype="i"), np.zeros(11, "q")
    run(of_the_block, 1, (16, 2), x, out)
    np.testing.assert_array_equal(out, [32, 32, 0, 0, 0, 3, 0, 16, 2, 1, 9 + 71])


@rawkernel()
def of_the_grid(x, out):
    g = jit.cg.this_grid()
    x[g.thread_rank()] = g.thread_rank() + 1
    g.sync()
    if g.thread_rank() == 33:
        out[0] = g.is_valid()
        out[1], out[2], out[3] = g.size(), g.num_threads(), g.num_blocks()
        dim, blocks, index = g.group_dim(), g.dim_blocks(), g.block_index()
        out[4], out[5], out[6], out[7] = dim.x, blocks.y, index.x, g.block_rank()
        total = np.uint64(0)
        for i in range(x.size):
            total += x[i]
        out[8] = total


def test_grid_group_launches_so_that_all_blocks_run():
    x, out = np.zeros(64, "Q"), np.zeros(9, "Q")
    run(of_the_grid, 2, 32, x, out)
    np.testing.assert_array_equal(out, [1, 64, 64, 2, 2, 1, 1, 1, 64 * 65 // 2])


@rawkernel()
def warp_reductions(x, y):
    WarpReduce = jit.cub.WarpReduce[x.dtype]
    temp_storage = jit.shared_memory(dtype=WarpReduce.TempStorage, size=1)
    i, j = jit.blockIdx.x, jit.threadIdx.x
    value = x[i, j]
    aggregator = WarpReduce(temp_storage[0])
    total = aggregator.Sum(value)
    largest = WarpReduce(temp_storage[0]).Reduce(value, jit.cub.Max())
    if j == 0:
        y[i, 0], y[i, 1] = total, largest


@rawkernel()
def block_reductions(x, y):
    BlockReduce = jit.cub.BlockReduce[x.dtype, 16, 4]
    temp_storage = jit.shared_memory(BlockReduce.TempStorage, 1)
    i, j = jit.blockIdx.x, jit.threadIdx.x + 16 * jit.threadIdx.y
    aggregator = BlockReduce(temp_storage[0])
    total = aggregator.Reduce(x[i, j], jit.cub.Sum())
    jit.syncthreads()
    least = aggregator.Reduce(x[i, j], jit.cub.Min())
    if j == 0:
        y[i, 0], y[i, 1] = total, least


@pytest.mark.parametrize("dtype", ["i", "d"])
def test_cub(dtype):
    x = np.random.default_rng(3).integers(-99, 99, (3, 64)).astype(dtype)
    y = np.zeros((3, 2), dtype)
    run(warp_reductions, 3, 32, np.ascontiguousarray(x[:, :32]), y)
    np.testing.assert_array_equal(y, np.stack([x[:, :32].sum(1), x[:, :32].max(1)], 1))
    run(block_reductions, 3, (16, 4), x, y)
    np.testing.assert_array_equal(y, np.stack([x.sum(1), x.min(1)], 1))


# --- device functions, names ---


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
