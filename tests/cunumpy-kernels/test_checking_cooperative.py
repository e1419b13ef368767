"""Checked cooperative launches: blocks take turns, faults are found, clean kernels stay clean."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from cunumpy.errors import KernelError
from cunumpy.kernel_testing import emulate_cuda_kernel
from cunumpy.kernels import CudaKernel

SOURCE = """\
#include <cooperative_groups.h>
__device__ unsigned int arrived;
__device__ volatile unsigned int generation;

__device__ void wait_for_all() {  // without CUDA's grid barrier
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned int now = generation;
        if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
            arrived = 0;
            __threadfence();
            generation = now + 1;
        } else {
            while (generation == now) {}
        }
        __threadfence();
    }
    __syncthreads();
}

// The smoothing of a ring; its blocks also keep something in shared memory.
__global__ void smooth(double* a, double* b, int n, int steps, int fault) {
    auto grid = cooperative_groups::this_grid();
    __shared__ unsigned int own[32];
    own[threadIdx.x] = blockIdx.x;
    for (int step = 0; step < steps; ++step) {
        const double* from = step % 2 ? b : a;
        double* to = step % 2 ? a : b;
        for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size())
            to[i] = 0.25 * from[(i + n - 1) % n] + 0.5 * from[i] + 0.25 * from[(i + 1) % n];
        if (fault == 2 && blockIdx.x == 3) to[n + 5] = 1;
        if (fault == 3 && blockIdx.x == 3) __trap();
        if (fault == 4 && blockIdx.x == 1) return;
        if (fault == 7 && blockIdx.x == 2)
            while (clock64() != -1) {}
        if (fault == 5) own[(threadIdx.x + 1) % 32] = blockIdx.x + 1;
        if (fault == 6)
            wait_for_all();
        else if (fault != 1)
            grid.sync();
        if (own[threadIdx.x] != blockIdx.x) __trap();
    }
}

// Block 0 ends; then the others write behind x.
__global__ void ends(double* x, unsigned int* count, int n, int atomics) {
    for (int i = 0; blockIdx.x == 0 && i < atomics; ++i) atomicAdd(count, 1u);
    if (blockIdx.x == 0) return;
    while (*(volatile unsigned int*)count < atomics) {}
    x[n] = 1;
}
"""


def line(text: str) -> int:
    return next(n for n, one in enumerate(SOURCE.splitlines(), 1) if text in one)


@pytest.fixture(scope="module")
def smooth() -> CudaKernel:
    return CudaKernel(SOURCE, "smooth", cooperative=True)


def launch(smooth: CudaKernel, fault: int, grid: int) -> None:
    a = np.random.default_rng(1).random(1000)
    expected = a.copy()
    for _ in range(4):
        expected = 0.25 * np.roll(expected, 1) + 0.5 * expected + 0.25 * np.roll(expected, -1)
    emulate_cuda_kernel(smooth, a, np.zeros(1000), 1000, 4, fault, grid=grid, block=32)
    np.testing.assert_allclose(a, expected, rtol=1e-14)


@pytest.mark.parametrize(("fault", "grid"), [(0, 1), (0, 5), (0, 40), (6, 5)])
def test_clean_kernels_are_clean(smooth, fault, grid):
    launch(smooth, fault, grid)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (1, rf"race: .* by block \(\d, 0, 0\).*smooth\.cu:{line('to[i] =')} and .*smooth\.cu:{line('to[i] =')}"),
        (2, rf"write of 8 bytes at b\[1005\] by block \(3, 0, 0\), thread \(0, 0, 0\), smooth\.cu:{line('to[n + 5]')}"),
        (3, rf"__trap\(\) in block \(3, 0, 0\), thread \(0, 0, 0\) at smooth\.cu:{line('fault == 3')}; what"),
        (4, r"grid\.sync\(\), which a block that has ended does not reach"),
        (
            5,
            rf"race: .*own by .*smooth\.cu:{line('fault == 5')} and .*smooth\.cu:\d+; own is shared memory of 128",
        ),
    ],
)
def test_faults_are_found_and_the_next_launch_is_clean(smooth, fault, text):
    with pytest.raises(KernelError, match=text):
        launch(smooth, fault, 5)
    launch(smooth, 0, 5)


def test_without_checks_the_block_that_fails_is_told_not_those_that_wait_for_it(smooth, monkeypatch):
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "0")
    for _ in range(5):
        with pytest.raises(KernelError, match=r"__trap\(\) in block \(3, 0, 0\)"):
            launch(smooth, 3, 5)


def test_a_block_may_end_before_another_one_ends_the_launch():
    kernel = CudaKernel(SOURCE, "ends", cooperative=True, n_threads_from=None)
    for atomics in range(1, 40):  # the turns of blocks change at some of them
        with pytest.raises(KernelError, match=r"out of bounds: write of 8 bytes at x\[4\] by block \([1-4], 0, 0\)"):
            emulate_cuda_kernel(kernel, np.zeros(4), np.zeros(1, np.uint32), 4, atomics, grid=5, block=1)


def test_a_block_without_end_ends_after_the_limit_of_time(smooth, monkeypatch):
    monkeypatch.setenv("CUNUMPY_CPU_TIME_LIMIT", "1")
    with pytest.raises(KernelError, match=r"did not end within 1 s, the limit of time .* and was in block \(2, 0, 0\)"):
        launch(smooth, 7, 5)
    launch(smooth, 0, 5)


PROGRAM = f"""
import os, sys, threading, time
import numpy as np
from cunumpy.errors import KernelError
from cunumpy.kernel_testing import emulate_cuda_kernel
from cunumpy.kernels import CudaKernel
smooth = CudaKernel({SOURCE!r}, "smooth", cooperative=True)
def launch(fault):
    try:
        emulate_cuda_kernel(smooth, np.ones(1000), np.zeros(1000), 1000, 4, fault, grid=5, block=32)
    except KernelError as error:
        return str(error)
    return "fine"
launch(0)  # compiled
thread = threading.Thread(target=lambda: texts.append(launch(7)))
texts = []
thread.start()
time.sleep(0.5)
child = os.fork()
if child == 0:
    found = [launch(0), launch(2), launch(0)]
    os._exit(0 if found[::2] == ["fine", "fine"] and "b[1005]" in found[1] else 1)
status = os.waitpid(child, 0)[1]
thread.join()
print(status, "did not end within 2 s" in texts[0], launch(0))
"""


def test_a_process_that_is_forked_during_a_launch_launches_itself(monkeypatch):
    monkeypatch.setenv("CUNUMPY_CPU_TIME_LIMIT", "2")
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "0 True fine\n", done.stderr
