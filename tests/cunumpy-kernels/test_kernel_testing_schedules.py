"""Results compared over orders of blocks and threads: what depends on the order is found, what does not passes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernel_testing import assert_schedule_independent
from cunumpy.kernels import CudaKernel, Kernel

SOURCE = """
__global__ void order(int* place, int* next) {  // of blocks and threads
    place[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1);
}
__global__ void order_with_barrier(int* place, int* next) {
    __syncthreads();
    place[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1);
}
template <bool BARRIER> __global__ void neighbours(const double* x, double* y) {
    __shared__ double part[96];
    part[threadIdx.x] = x[threadIdx.x];
    if (BARRIER) __syncthreads(); else __syncwarp();
    y[threadIdx.x] = part[95 - threadIdx.x];
}
template <class T> __global__ void sum(const T* x, T* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
}
template <class T> __global__ void last(T* x) { x[0] = T(blockIdx.x); }
"""


def cuda(name: str, *template_args: Any) -> CudaKernel:
    return CudaKernel(SOURCE, name, template_args=template_args or None)


def places(backend: str, seed: int) -> tuple[Any, ...]:
    return np.zeros(120, np.int32), np.zeros(1, np.int32)


@pytest.mark.parametrize(
    ("name", "text"), [("order", "0 in order and 119 backwards, 120 of 120"), ("order_with_barrier", "backwards")]
)
def test_blocks_and_threads_run_in_several_orders(name, text):
    with pytest.raises(AssertionError, match=rf"'place' depends on the order of blocks and threads: at \[0\] .*{text}"):
        assert_schedule_independent(cuda(name), places, grid=3, block=40)


def test_every_thread_runs_once_in_each_order():
    def make_args(backend, seed):
        nonlocal made
        made = np.zeros(77 * 5, np.int32), np.zeros(1, np.int32)
        return made

    made: Any = None
    with pytest.raises(AssertionError):  # but the orders are all what they should be
        assert_schedule_independent(cuda("order"), make_args, grid=5, block=77)
    assert sorted(made[0]) == list(range(77 * 5))


def test_a_missing_barrier_is_found_and_the_barrier_suffices():
    def make_args(backend, seed):
        return np.random.default_rng(seed).random(96), np.zeros(96)

    assert_schedule_independent(cuda("neighbours", True), make_args, grid=1, block=96)
    with pytest.raises(AssertionError, match="'y' depends on the order of blocks and threads"):
        assert_schedule_independent(cuda("neighbours", False), make_args, grid=1, block=96)


@pytest.mark.parametrize(("kind", "rtol"), [(np.float32, 1e-7), (np.float64, 1e-16)])
def test_sums_may_be_rounded_in_another_order(kind, rtol):
    def make_args(backend, seed):
        return np.random.default_rng(seed).random(5000).astype(kind), np.zeros(1, kind), 5000

    kernel = cuda("sum", "float" if kind == np.float32 else "double")
    assert_schedule_independent(kernel, make_args, n_threads=5000)
    assert_schedule_independent(Kernel(None, kernel), make_args, n_threads=lambda args: args[2])
    with pytest.raises(AssertionError, match="1 of 1 elements differ"):
        assert_schedule_independent(kernel, make_args, n_threads=5000, rtol=rtol)


def test_wrong_arguments_are_refused():
    kernel = cuda("order")
    for call, error, text in (
        (lambda: assert_schedule_independent(3, places), ArgumentTypeError, "must be a CudaKernel, or a Kernel"),
        (lambda: assert_schedule_independent(kernel, 3), ArgumentTypeError, "'make_args' must be callable"),
        (lambda: assert_schedule_independent(kernel, places, schedules=1), ArgumentError, "from 2 on, got 1"),
    ):
        with pytest.raises(error, match=re.escape(text)):
            call()
    with pytest.raises(AssertionError, match="no element in any array"):
        assert_schedule_independent(
            kernel, lambda backend, seed: (np.zeros(0, np.int32), np.zeros(0, np.int32)), grid=0, block=1
        )
