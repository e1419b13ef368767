"""Kernels in Python syntax on a GPU: those of CuNumpy, and the same ones of CuPy."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from cupyx import jit as cupy_jit

from cunumpy.kernels import jit as own_jit

MODULES = pytest.mark.parametrize("jit", [own_jit, cupy_jit], ids=["cunumpy", "cupyx"])


@MODULES
def test_grid_stride_loop_and_device_function(jit):
    @jit.rawkernel(device=True)
    def damped(x, rate):
        return x * (np.float32(1) - rate)

    @jit.rawkernel()
    def damp(x, y, size, rate):
        tid = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        ntid = jit.gridDim.x * jit.blockDim.x
        for i in range(tid, size, ntid):
            y[i] = damped(x[i], rate)

    x = cupy.arange(10_000, dtype=np.float32)
    y = cupy.zeros((10_000, 2), np.float32)[:, 1]
    damp[32, 128](x, y, np.uint32(x.size), np.float32(0.25))
    np.testing.assert_array_equal(cupy.asnumpy(y), np.arange(10_000, dtype="f") * np.float32(0.75))


@MODULES
def test_shared_memory_atomics_and_shuffles(jit):
    @jit.rawkernel()
    def sums(x, total, warps):
        tid = jit.threadIdx.x
        smem = jit.shared_memory(np.int32, 64)
        smem[tid] = x[tid + jit.blockIdx.x * 64]
        jit.syncthreads()
        value = smem[63 - tid]
        jit.atomic_add(total, 0, value)
        step = 16
        while step >= 1:
            value += jit.shfl_xor_sync(0xFFFFFFFF, value, step)
            step //= 2
        if tid % 32 == 0:
            warps[jit.blockIdx.x, tid // 32] = value

    x = np.arange(256, dtype=np.int32)
    total, warps = cupy.zeros(1, np.int32), cupy.zeros((4, 2), np.int32)
    sums[4, 64](cupy.asarray(x), total, warps)
    assert int(total[0]) == x.sum()
    np.testing.assert_array_equal(cupy.asnumpy(warps), x.reshape(4, 2, 32).sum(2)[:, ::-1])


@MODULES
def test_cub_and_groups(jit):
    @jit.rawkernel()
    def reduced(x, y):
        BlockReduce = jit.cub.BlockReduce[np.int32, 64]
        temp_storage = jit.shared_memory(dtype=BlockReduce.TempStorage, size=1)
        group = jit.cg.this_thread_block()
        i, j = jit.blockIdx.x, jit.threadIdx.x
        aggregate = BlockReduce(temp_storage[0]).Reduce(x[i, j], jit.cub.Max())
        group.sync()
        if j == 0:
            y[i] = aggregate

    x = np.random.default_rng(1).integers(-99, 99, (3, 64)).astype(np.int32)
    y = cupy.zeros(3, np.int32)
    reduced[3, 64](cupy.asarray(x), y)
    np.testing.assert_array_equal(cupy.asnumpy(y), x.max(1))


@own_jit.rawkernel()
def grid_total(x, parts, out):
    grid = own_jit.cg.this_grid()
    own_jit.atomic_add(parts, own_jit.blockIdx.x, x[own_jit.grid(1)])
    grid.sync()
    if grid.thread_rank() == 0:
        total = x.dtype.type(0)
        for i in range(parts.size):
            total += parts[i]
        out[()] = total


@own_jit.rawkernel(mode="numpy")
def arithmetic(x, z, h, out):
    i = own_jit.grid(1)
    if i < x.size:
        out[i] = x[i] // 3 * 10 + x[i] % 3 - x[i] ** 2
        z[i] = z[i] * 2 + 1j
        h[i] = np.sqrt(h[i]) + 1


@pytest.mark.parametrize("as_device", [False, True], ids=["cpu", "gpu"])
def test_the_cpu_and_the_gpu_give_the_same(as_device):
    take = cupy.asarray if as_device else np.asarray
    back = cupy.asnumpy if as_device else np.asarray
    x, parts, out = take(np.arange(128, dtype=np.float64)), take(np.zeros(4)), take(np.zeros(()))
    grid_total[4, 32](x, parts, out)
    assert float(back(out)) == 127 * 64
    n = np.arange(-8, 8)
    z, h = n + 1j * n, np.arange(16, dtype=np.float16)
    given = [take(one.copy()) for one in (n, z, h, np.zeros(16, int))]
    arithmetic[1, 32](*given)
    np.testing.assert_array_equal(back(given[3]), n // 3 * 10 + n % 3 - n**2)
    np.testing.assert_array_equal(back(given[1]), z * 2 + 1j)
    np.testing.assert_allclose(back(given[2]), np.sqrt(h) + 1, rtol=1e-3)
