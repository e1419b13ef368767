"""Launches on the CPU that no GPU of the chosen compute capability takes are refused before anything runs."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cpu_device import compiled
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


EVERY_MODE = """
__device__ double of_a_function(double x) {
    __shared__ double q[100];
    q[threadIdx.x] = x;
    __syncwarp();
    return q[threadIdx.x ^ 1];
}
extern "C" {
__global__ void k(double* x) {  // another name begins like it
    __shared__ double EE1s[200], E4[300];
    EE1s[threadIdx.x] = E4[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = EE1s[threadIdx.x ^ 1] + E4[threadIdx.x ^ 1];
}
__global__ void k_in_fibers(double* x) {
    __shared__ double s[500];
    s[threadIdx.x] = of_a_function(x[threadIdx.x]);
    __syncwarp();
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void k_in_loops(double* x) {
    __shared__ double s[600];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
}
namespace inner {
template <int N> __global__ void of_size(double* x) {
    __shared__ double s[N];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
}
"""


@pytest.mark.parametrize("check", [False, True])
def test_static_shared_memory_counts_in_every_mode(check: bool) -> None:
    sizes = {
        "k": 500,
        "k_in_fibers": 500,
        "k_in_loops": 600,
        "inner::of_size<5000>": 5000,
        "inner::of_size<3000>": 5000,
    }
    found = compiled(EVERY_MODE, sizes, check=check)
    assert {name: library.static_shared for name, library in found.items()} == {n: 8 * k for n, k in sizes.items()}
    (alone,) = compiled(EVERY_MODE, ["k_in_fibers"], check=check).values()
    assert alone.static_shared == 8 * 600
    with pytest.raises(ArgumentError, match=r"56[08]00 bytes of static shared memory are more than the 49152"):
        compiled(EVERY_MODE, ["inner::of_size<7000>"], check=check)


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


def test_registers_limit_kernels_that_are_checked_by_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "1")
    x = np.zeros(64 * 1024)
    kernel, raw = xp.kernels.CudaKernel(HUNGRY, "hungry"), xp.kernels.RawKernel(HUNGRY, "hungry")
    with pytest.raises(ArgumentError, match=r"CudaKernel 'hungry': block \(1024,\) has 1024 threads of \d+ registers"):
        kernel.prepare(x, 1, grid=1, block=1024)()
    with pytest.raises(ArgumentError, match=r"kernel 'hungry': block \(1024.*\) has 1024 threads of \d+ registers"):
        raw((1,), (1024,), (x, np.int32(1)))
    assert not x.any()
    raw((1,), (256,), (x, np.int32(1)))
    assert x.any()
