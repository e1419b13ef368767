"""What threads of kernels in Python syntax do together: shared memory, atomics, warps, groups, CUB."""

from __future__ import annotations

import numpy as np
import pytest

from cunumpy.kernels import jit, rawkernel
from python_kernels import run


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
