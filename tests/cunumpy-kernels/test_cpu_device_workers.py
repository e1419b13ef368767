"""The workers of the CPU device: what they compute does not depend on their number, and how many there are."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from cpu_device import mode_of
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu

SOURCE = """
#include <cooperative_groups.h>
__device__ double chaos(double v) {
    for (int s = 0; s < 200; ++s) v = 3.9 * v * (1 - v);
    return v;
}
extern "C" __global__ void loops(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = chaos(x[i]);
}
extern "C" __global__ void strides(const double* x, double* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = chaos(x[i]);
}
extern "C" __global__ void split(const double* x, double* y, int n) {
    __shared__ double part[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    part[threadIdx.x] = i < n ? chaos(x[i]) : 0.0;
    __syncthreads();
    if (threadIdx.x < 32) part[threadIdx.x] += part[threadIdx.x + 32];
    __syncthreads();
    if (i < n) y[i] = part[threadIdx.x / 2] + i;
}
extern "C" __global__ void warps(const double* x, double* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = i < n ? chaos(x[i]) : 0.0;
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
    if (i < n) y[i] = v;
}
extern "C" __global__ void counts(const double* x, double* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&y[(int)(chaos(x[i]) * 100)], 1.0);
}
extern "C" __global__ void together(const double* x, double* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = i; j < n; j += gridDim.x * blockDim.x) y[j] = chaos(x[j]);
    cooperative_groups::this_grid().sync();
    double last = i < n ? y[n - 1 - i] : 0.0;
    cooperative_groups::this_grid().sync();
    if (i < n) y[i] = last;
}"""

MODES = {
    "loops": "merged loops",
    "strides": "grid-stride loops",
    "split": "loops between barriers",
    "warps": "fibers",
    "counts": "merged loops",
    "together": "fibers",
}


@pytest.mark.parametrize("name", MODES)
def test_results_do_not_depend_on_the_number_of_workers(name, monkeypatch):
    n = 20_000
    x = np.random.default_rng(1).random(n)
    grid = {"strides": 100, "together": 7}.get(name)
    kernel = CudaKernel(SOURCE, name, block_size=64, cooperative=name == "together")
    found = []
    for workers in ("1", "2", "5"):
        monkeypatch.setenv("CUNUMPY_NUM_THREADS", workers)
        y = np.zeros(n)
        for _ in range(3):
            y[:] = 0
            if grid is None:
                run_on_cpu(kernel, (x, y, n), n_threads=n)
            else:
                run_on_cpu(kernel, (x, y, n), grid=grid, block=64)
        found.append(y)
    assert mode_of(kernel) == MODES[name]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    logistic = x.copy()
    for _ in range(200):
        logistic = 3.9 * logistic * (1 - logistic)
    if name in ("loops", "strides"):  # a chaotic map: each rounding counts
        np.testing.assert_array_equal(found[0], logistic)
    if name == "counts":
        np.testing.assert_array_equal(found[0][:100], np.bincount((logistic * 100).astype(int), minlength=100))


HALVES = """
extern "C" __global__ void k(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int s = 0; s < 400; ++s) x[i] = x[i] * 0.5 + 1;
}"""

COUNTING = f"""
import os
import numpy as np
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu
kernel, x = CudaKernel({HALVES!r}, "k"), np.zeros(100_000)
before = len(os.listdir("/proc/self/task"))
for _ in range(5):
    run_on_cpu(kernel, (x, x.size), n_threads=x.size)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="this system does not list a process's threads")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CUNUMPY_NUM_THREADS": "1"}, 0),
        ({"CUNUMPY_NUM_THREADS": "4"}, 3),
        ({"CUNUMPY_NUM_THREADS": "3", "OMP_NUM_THREADS": "1"}, 2),  # OpenMP's setting is not ours
        # As many ranks on the node as processors: each has one, so no rank starts threads.
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "9999", "OMPI_COMM_WORLD_LOCAL_SIZE": "9999"}, 0),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "9999", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "9999"}, 0),
    ],
    ids=["one", "four", "beside OpenMP", "Open MPI", "Slurm"],
)
@pytest.mark.usefixtures("unchecked")  # what is checked takes one thread
def test_threads_of_the_process(environment, expected):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CUNUMPY_NUM", "OMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    looks_after_the_time = 1  # which sleeps but for launches that take long
    assert int(done.stdout) == expected + looks_after_the_time
