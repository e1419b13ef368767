"""Host kernels compared with their CUDA versions, on the device and on the CPU device."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.kernel_testing import assert_kernels_agree, device_function_kernel, emulated_launches, fake_cupy_active
from cunumpy.kernels import CudaKernel, Kernel

SOURCE = """
extern "C" __global__ void block_sums(const double* x, double* sums, int n) {
    __shared__ double part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0;
    for (int step = 32; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
"""


def block_sums(x, sums, n):
    for block in range(sums.size):
        sums[block] = x[64 * block : min(n, 64 * (block + 1))].sum()


def make_args(backend, seed, size):
    places.append(backend)
    x = np.random.default_rng(seed).random(size)
    return xp.asarray(x), xp.zeros(-(-size // 64)), size


places: list[str] = []


def test_all_that_there_is_agrees():
    kernel = Kernel(block_sums, CudaKernel(SOURCE, "block_sums", block_size=64))
    places.clear()
    assert_kernels_agree(kernel, make_args, outputs=["sums"], sizes="edges", seeds=range(2))
    if not fake_cupy_active():
        assert places[:3] == ["numpy", "cupy", "numpy"]


def test_a_wrong_kernel_is_found_on_the_device():
    kernel = Kernel(block_sums, CudaKernel(SOURCE.replace("step = 32", "step = 16"), "block_sums", block_size=64))
    emulate = "auto" if fake_cupy_active() else False
    with pytest.raises(AssertionError, match=r"argument 1 \(sums\) differs between the host and the"):
        assert_kernels_agree(kernel, make_args, outputs=["sums"], sizes=[200], emulate=emulate)


def test_device_functions_are_called_for_many_values():
    header = "__device__ inline double square(double x) { return x * x; }"
    x, out = xp.arange(1000.0), xp.empty(1000)
    device_function_kernel(header, "__device__ double square(double x)")(x, out, x.size)
    assert bool((out == x * x).all())


def test_emulated_launches_take_host_arrays_and_leave_the_device_alone():
    kernel = CudaKernel(SOURCE, "block_sums", block_size=64)
    x, sums = np.ones(100), np.zeros(2)
    with emulated_launches():
        kernel(x, sums, 100)
    assert sums.tolist() == [64, 36]
    on_device = cupy.zeros(2)
    kernel(cupy.ones(100), on_device, 100)
    assert on_device.get().tolist() == [64, 36]
