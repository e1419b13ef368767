"""Cooperative launches on the CPU device: all blocks of a grid at the same time, with barriers for all of them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from cunumpy.errors import ArgumentError, ArgumentTypeError, KernelError
from cunumpy.kernel_testing import emulate_cuda_kernel, emulated_launches
from cunumpy.kernels import CudaKernel, Kernel

# The smoothing of a ring, with all steps in one launch: each reads what other blocks wrote in the step before.
SOURCE = """
#include <cooperative_groups.h>
extern "C" __global__ void smooth(double* a, double* b, int n, int steps) {
    auto grid = cooperative_groups::this_grid();
    for (int step = 0; step < steps; ++step) {
        const double* from = step % 2 ? b : a;
        double* to = step % 2 ? a : b;
        for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size())
            to[i] = 0.25 * from[(i + n - 1) % n] + 0.5 * from[i] + 0.25 * from[(i + 1) % n];
        grid.sync();
    }
}

extern "C" __global__ void some_leave(int* x) {
    auto grid = cooperative_groups::this_grid();
    if (blockIdx.x == 1) return;
    grid.sync();
    x[blockIdx.x] = 1;
}
"""


def smoothed(a: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        a = 0.25 * np.roll(a, 1) + 0.5 * a + 0.25 * np.roll(a, -1)
    return a


@pytest.fixture
def smooth() -> CudaKernel:
    return CudaKernel(SOURCE, "smooth", cooperative=True)


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (3, 64), (7, 33), (64, 32)])
@pytest.mark.parametrize("workers", ["1", "2", "5"])
def test_all_blocks_wait_for_each_other(smooth, monkeypatch, grid, block, workers):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", workers)
    a = np.random.default_rng(1).random(5000)
    b, expected = np.zeros_like(a), smoothed(a, 20)
    emulate_cuda_kernel(smooth, a, b, a.size, 20, grid=grid, block=block, options=["-ffp-contract=off"])
    np.testing.assert_allclose(a, expected, rtol=1e-14)


def test_blocks_may_end_while_others_still_wake_at_the_last_barrier(smooth, monkeypatch):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", "5")
    a, b = np.ones(64), np.zeros(64)
    for _ in range(300):
        emulate_cuda_kernel(smooth, a, b, a.size, 1, grid=16, block=4)
    np.testing.assert_array_equal(b, 1)


def test_a_kernel_a_prepared_launch_and_the_raw_kernel_do_it(smooth):
    original = np.random.default_rng(2).random(100)
    for launch in (
        lambda a, b: Kernel(None, smooth)(a, b, a.size, 4, grid=4, block=32),
        lambda a, b: smooth.prepare(a, b, a.size, 4, grid=4, block=32)(),
    ):
        a = original.copy()
        launch(a, np.zeros_like(a))
        np.testing.assert_allclose(a, smoothed(original, 4), rtol=1e-14)
    a = original.copy()
    with emulated_launches():
        smooth(a, np.zeros_like(a), a.size, 4, grid=4, block=32)
    np.testing.assert_allclose(a, smoothed(original, 4), rtol=1e-14)


def test_more_blocks_than_can_run_are_refused(smooth):
    a = np.ones(10)
    with pytest.raises(ArgumentError, match=r"'smooth': a cooperative launch of 300 blocks; on the CPU .* 256 are the"):
        emulate_cuda_kernel(smooth, a, a, a.size, 1, grid=(100, 3), block=1)


def test_elsewhere_the_barrier_is_an_error():
    kernel = CudaKernel(SOURCE, "smooth")
    a = np.ones(10)
    with pytest.raises(KernelError, match=r"launch that is not cooperative \(CudaKernel takes cooperative=True"):
        emulate_cuda_kernel(kernel, a, np.zeros(10), a.size, 1, grid=2, block=32)
    emulate_cuda_kernel(
        kernel, a, np.zeros(10), a.size, 1, grid=1, block=32
    )  # of one block there is nothing to wait for


def test_a_block_that_leaves_is_not_waited_for_without_end():
    kernel = CudaKernel(SOURCE, "some_leave", cooperative=True)
    with pytest.raises(KernelError, match=r"grid\.sync\(\), which a block that has ended does not reach"):
        emulate_cuda_kernel(kernel, np.zeros(4, np.int32), grid=4, block=32)


def test_launches_of_several_threads_take_turns(smooth):
    failures = []

    def work(seed):
        a = np.random.default_rng(seed).random(200)
        expected = smoothed(a, 6)
        for _ in range(5):
            b = a.copy()
            emulate_cuda_kernel(smooth, b, np.zeros_like(b), b.size, 6, grid=5, block=32)
            if not np.allclose(b, expected, rtol=1e-14):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_setting_is_checked_and_kept():
    with pytest.raises(ArgumentTypeError, match="argument 'cooperative' must be"):
        CudaKernel(SOURCE, "smooth", cooperative="yes")
    assert CudaKernel(SOURCE, "smooth", cooperative=True).cooperative
    assert not CudaKernel(SOURCE, "smooth").cooperative
