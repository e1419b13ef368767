"""What checked launches on the CPU find, NVIDIA's compute-sanitizer finds on the device, in the same kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from cunumpy.errors import KernelError
from cunumpy.kernel_testing import emulate_cuda_kernel, fake_cupy_active
from cunumpy.kernels import CudaKernel

# Of each function there is a faulty and a right form. 2 blocks of 64 threads; x and y have 128 elements.
SOURCE = """
extern "C" __global__ void write_behind(double* x, const double* y, int bad) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i + bad] = y[i];
}
extern "C" __global__ void read_before(double* x, const double* y, int bad) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = bad || i > 0 ? y[i - 1] : 0.0;
}
extern "C" __global__ void null_pointer(double* x, const double* y, int bad) {
    double* to = bad && threadIdx.x == 3 ? nullptr : x + blockIdx.x * blockDim.x;
    to[threadIdx.x] = y[threadIdx.x];
}
extern "C" __global__ void misaligned(double* x, const double* y, int bad) {
    char* bytes = (char*)x + (bad ? 4 : 8);
    if (blockIdx.x == 0 && threadIdx.x == 2) *(double*)bytes = y[0];
}
extern "C" __global__ void dynamic_behind(double* x, const double* y, int bad) {
    extern __shared__ double memory[];
    memory[threadIdx.x + bad] = y[threadIdx.x];
    __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = memory[threadIdx.x + bad];
}
extern "C" __global__ void no_barrier(double* x, const double* y, int bad) {
    __shared__ double part[64];
    part[threadIdx.x] = y[threadIdx.x];
    if (!bad) __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = part[63 - threadIdx.x];
}
extern "C" __global__ void no_second_barrier(double* x, const double* y, int bad) {
    __shared__ double part[64];
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
        part[threadIdx.x] = y[threadIdx.x] + k;
        __syncthreads();
        sum += part[63 - threadIdx.x];
        if (!bad) __syncthreads();
    }
    x[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void divergent_barrier(double* x, const double* y, int bad) {
    if (!bad || threadIdx.x < 40) __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = y[threadIdx.x];
}
"""

# The tool, what it says, and what the CPU device says.
FAULTS = {
    "write_behind": ("memcheck", "Invalid __global__ write of size 8", "out of bounds: write of 8 bytes at x[128]"),
    "read_before": ("memcheck", "Invalid __global__ read of size 8", "out of bounds: read of 8 bytes at y[-1]"),
    "null_pointer": ("memcheck", "Invalid __global__ write of size 8", "null pointer: "),
    "misaligned": ("memcheck", "is misaligned", "misaligned address: "),
    "dynamic_behind": ("memcheck", "Invalid __shared__ write of size 8", "at byte 512 of memory"),
    "no_barrier": ("racecheck", "Race reported between", "race: "),
    "no_second_barrier": ("racecheck", "Race reported between", "race: "),
    "divergent_barrier": ("synccheck", "Barrier error detected", "a barrier that some threads do not reach"),
}

PROGRAM = f"""
import sys
import cupy
cupy.cuda.set_allocator(None)  # each array has memory of its own
x, between, y = cupy.zeros(128), cupy.zeros(128), cupy.ones(128)
del between  # else what is beside an array may be the other one's
kernel = cupy.RawKernel({SOURCE!r}, sys.argv[1], options=("-lineinfo",))
kernel((2,), (64,), (x, y, int(sys.argv[2])), shared_mem=512)
cupy.cuda.Device().synchronize()
"""


@pytest.mark.parametrize("name", FAULTS)
def test_the_cpu_device_finds_the_fault(name, monkeypatch):
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "1")
    kernel, x, y = CudaKernel(SOURCE, name), np.zeros(128), np.ones(128)
    with pytest.raises(KernelError, match=re.escape(FAULTS[name][2])):
        emulate_cuda_kernel(kernel, x, y, 1, grid=2, block=64, shared_mem=512)
    emulate_cuda_kernel(kernel, x, y, 0, grid=2, block=64, shared_mem=512)


@pytest.mark.skipif(
    fake_cupy_active() or shutil.which("compute-sanitizer") is None,
    reason="needs a GPU and compute-sanitizer, which is part of the CUDA toolkit",
)
@pytest.mark.parametrize("name", FAULTS)
def test_compute_sanitizer_agrees(name):
    tool, text, _ = FAULTS[name]
    for bad in (1, 0):
        command = ["compute-sanitizer", "--tool", tool, sys.executable, "-c", PROGRAM, name, str(bad)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert (text in done.stdout + done.stderr) == bool(bad), done.stdout + done.stderr
        assert bad or done.returncode == 0, done.stdout + done.stderr
