"""Kernels in Python syntax on device arrays, and ``cupyx.jit`` of the stand-in for CuPy."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from cupyx import jit as cupy_jit

from cunumpy.errors import MixedBackendError
from cunumpy.kernel_testing import host_buffer
from cunumpy.kernels import jit


@jit.rawkernel()
def add_one(x, y, size):
    i = jit.grid(1)
    if i < size:
        y[i] = cupy.sqrt(x[i]) + cupy.float32(1)


@cupy_jit.rawkernel()
def elementwise_copy(x, y, size):
    tid = cupy_jit.blockIdx.x * cupy_jit.blockDim.x + cupy_jit.threadIdx.x
    ntid = cupy_jit.gridDim.x * cupy_jit.blockDim.x
    for i in range(tid, size, ntid):
        y[i] = square(x[i])


@cupy_jit.rawkernel(device=True)
def square(x):
    return x * x


@cupy_jit.rawkernel()
def block_sums(x, y):
    BlockReduce = cupy_jit.cub.BlockReduce[cupy.int32, 64]
    temp_storage = cupy_jit.shared_memory(dtype=BlockReduce.TempStorage, size=1)
    group = cupy_jit.cg.this_thread_block()
    total = BlockReduce(temp_storage[0]).Sum(x[cupy_jit.blockIdx.x, group.thread_rank()])
    if group.thread_rank() == 0:
        y[cupy_jit.blockIdx.x] = total


def test_device_arrays_go_to_the_gpu(raw_modules):
    x = cupy.arange(9, dtype=np.float32)
    y = cupy.zeros_like(x)
    add_one[3, 4](x, y, x.size)
    np.testing.assert_allclose(host_buffer(y), np.sqrt(np.arange(9)) + 1, rtol=1e-6)
    assert raw_modules == ["add_one"]
    strided = cupy.zeros((9, 2), np.float32)[:, 1]
    add_one((3,), (4,), (x, strided, np.int32(9)), stream=cupy.cuda.Stream())
    np.testing.assert_array_equal(host_buffer(strided), host_buffer(y))
    assert raw_modules == ["add_one", "add_one"]


def test_the_arguments_decide_and_are_of_one_kind(raw_modules):
    x = np.arange(9, dtype=np.float32)
    add_one[3, 4](x, x, x.size)
    assert raw_modules == []
    with pytest.raises(MixedBackendError, match="kernel 'add_one': argument 0 is a NumPy array and 1 a device array"):
        add_one[3, 4](x, cupy.zeros(9, np.float32), 9)


def test_cupyx_jit():
    size = cupy.uint32(1000)
    x = cupy.arange(size, dtype=cupy.float32)
    y = cupy.empty((size,), dtype=cupy.float32)
    elementwise_copy((4,), (32,), (x, y, size))
    np.testing.assert_array_equal(host_buffer(y), np.arange(1000, dtype="f") ** 2)
    elementwise_copy[4, 32](x, y, size)
    assert 'extern "C" __global__ void elementwise_copy' in elementwise_copy.cached_code
    values = cupy.arange(128, dtype=cupy.int32).reshape(2, 64)
    sums = cupy.zeros(2, dtype=cupy.int32)
    block_sums[2, 64](values, sums)
    np.testing.assert_array_equal(host_buffer(sums), host_buffer(values).sum(1))


def test_cupyx_jit_raises_what_cupy_raises():
    x = cupy.zeros(3, dtype=cupy.float32)
    with pytest.raises(TypeError, match="Unsupported type"):
        elementwise_copy[1, 1](np.zeros(3, "f"), x, 3)
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="INVALID_VALUE"):
        elementwise_copy[0, 1](x, x, 3)
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="INVALID_VALUE"):
        elementwise_copy[1, 2048](x, x, 3)

    @cupy_jit.rawkernel()
    def unbound(x):
        x[0] = unknown_var  # noqa: F821

    @cupy_jit.rawkernel()
    def unpacked():
        (_x,) = cupy_jit.grid(1)

    @cupy_jit.rawkernel()
    def failing(x):
        assert x[0] > 0

    with pytest.raises(NameError, match=r"'unknown_var' is not defined(.|\n)*x\[0\] = unknown_var"):
        unbound[1, 1](x)
    with pytest.raises(ValueError, match="only tuples can be unpacked"):
        unpacked((1,), (1,), ())
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match=r"test_python_kernels_cupy\.py:\d+"):
        failing[1, 1](x)
    with pytest.raises(ValueError, match="mode must be"):
        cupy_jit.rawkernel(mode="c")
