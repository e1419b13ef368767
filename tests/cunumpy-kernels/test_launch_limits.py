"""Launches on the CPU that no GPU of the chosen compute capability takes are refused before anything runs."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, SettingError
from cunumpy.kernel_testing import emulate_cuda_kernel
from cunumpy.kernels._cpu_device.limits import DEFAULT_CAPABILITY, SHARED_BYTES, threads_for

SOURCE = """
#ifndef STATIC
#define STATIC 1000
#endif
__device__ double of_a_function(double x) {
    __shared__ double more[16];
    more[threadIdx.x % 16] = x;
    __syncthreads();
    return more[(threadIdx.x + 1) % blockDim.x % 16];
}
extern "C" __global__ void uses_shared(double* x) {
    extern __shared__ double dynamic[];
    __shared__ double fixed[STATIC];
    fixed[threadIdx.x] = of_a_function(1.0);
    dynamic[0] = 0.0;
    __syncthreads();
    x[threadIdx.x] = fixed[(threadIdx.x + 1) % blockDim.x];
}
"""
STATIC_BYTES = 8 * 1016

uses_shared = xp.kernels.CudaKernel(SOURCE, "uses_shared")


@pytest.mark.parametrize("prepared", [False, True])
def test_static_and_dynamic_shared_memory_count_together(prepared: bool) -> None:
    x = np.zeros(8)
    room = SHARED_BYTES["9.0"] - STATIC_BYTES
    text = (
        rf"CudaKernel 'uses_shared': {STATIC_BYTES} bytes of static and {room + 1} of dynamic shared memory are more "
        r"than the 232448 that a block can have on compute capability 9\.0 \(CUNUMPY_CPU_CAPABILITY\)\."
    )
    if prepared:
        uses_shared.prepare(x, grid=1, block=8, shared_mem=room)()
        launch = uses_shared.prepare(x, grid=1, block=8, shared_mem=room + 1)
        assert x.all()
        x[:] = 0
        with pytest.raises(ArgumentError, match=text):
            launch()
    else:
        emulate_cuda_kernel(uses_shared, x, grid=1, block=8, shared_mem=room)
        assert x.all()
        x[:] = 0
        with pytest.raises(ArgumentError, match=text):
            emulate_cuda_kernel(uses_shared, x, grid=1, block=8, shared_mem=room + 1)
        with pytest.raises(ArgumentError, match=text):  # the quick way
            emulate_cuda_kernel(uses_shared, x, n_threads=8, shared_mem=room + 1)
    assert not x.any()


def test_the_capability_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = xp.kernels.CudaKernel(SOURCE, "uses_shared")
    monkeypatch.setenv("CUNUMPY_CPU_CAPABILITY", "7.5")
    with pytest.raises(ArgumentError, match=r"more than the 65536 that a block can have on compute capability 7\.5"):
        emulate_cuda_kernel(kernel, np.zeros(8), grid=1, block=8, shared_mem=60000)
    monkeypatch.setenv("CUNUMPY_CPU_CAPABILITY", "1.3")
    with pytest.raises(SettingError, match=r"CUNUMPY_CPU_CAPABILITY='1\.3' means nothing; expected '7\.0' or"):
        emulate_cuda_kernel(xp.kernels.CudaKernel(SOURCE, "uses_shared"), np.zeros(8), grid=1, block=8)


def test_static_shared_memory_has_a_limit_of_its_own() -> None:
    kernel = xp.kernels.CudaKernel(SOURCE, "uses_shared", options=["-DSTATIC=6144"])
    with pytest.raises(ArgumentError, match=r"49280 bytes of static shared memory are more than the 49152 that a"):
        emulate_cuda_kernel(kernel, np.zeros(8), grid=1, block=8)


def test_every_capability_of_the_setting_has_limits() -> None:
    from cunumpy._environment import VARIABLES

    variable = VARIABLES["CUNUMPY_CPU_CAPABILITY"]
    assert variable.choices == tuple(SHARED_BYTES)
    assert variable.default == DEFAULT_CAPABILITY


# From the occupancy calculator of NVIDIA, for blocks on one multiprocessor.
@pytest.mark.parametrize(
    ("registers", "threads"),
    [(1, 1024), (32, 1024), (64, 1024), (65, 896), (72, 896), (73, 768), (128, 512), (255, 256)],
)
def test_threads_for_registers(registers: int, threads: int) -> None:
    assert threads_for(registers) == threads


HUNGRY = """
extern "C" __global__ void hungry(double* x, int n) {
    double a[64];
    int i = threadIdx.x;
#pragma unroll
    for (int k = 0; k < 64; ++k) a[k] = x[64 * i + k];
    for (int step = 0; step < n; ++step) {
#pragma unroll
        for (int k = 0; k < 64; ++k) a[k] = a[k] * a[(k + 1) % 64] + 1.0;
    }
#pragma unroll
    for (int k = 0; k < 64; ++k) x[64 * i + k] = a[k];
}
"""


def test_registers_limit_blocks_where_the_compiler_of_cuda_is_there() -> None:
    x = np.zeros(64 * 1024)
    kernel = xp.kernels.CudaKernel(HUNGRY, "hungry")
    registers = kernel.check_cuda(["sm_90"]).kernels[0].registers
    assert registers is not None
    assert registers > 128
    with pytest.raises(
        ArgumentError,
        match=rf"block \(1024,\) has 1024 threads of {registers} registers, and the 65536 registers of a block are "
        rf"enough for {threads_for(registers)} threads on compute capability 9\.0 .*__launch_bounds__\(1024\)",
    ):
        emulate_cuda_kernel(kernel, x, 1, grid=1, block=1024)
    assert not x.any()
    emulate_cuda_kernel(kernel, x, 1, grid=1, block=256)
    assert x.any()
