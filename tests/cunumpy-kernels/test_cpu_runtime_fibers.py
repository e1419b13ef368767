"""Threads as fibers on the CPU device: stacks, switches, orders of threads, grids in step, the checking mode."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

from cpu_runtime import CpuSource, cpu_source

LADDER = """
__device__ unsigned ticket;
template <class T> __device__ T warp_sum(T v) {
    for (int distance = 16; distance > 0; distance >>= 1) v += __shfl_down_sync(0xffffffffu, v, distance);
    return v;
}
template <class T> __device__ T block_sum(T v) {
    __shared__ T partial[32];
    __syncthreads();
    unsigned lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    v = warp_sum(v);
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    v = threadIdx.x < (blockDim.x + 31) / 32 ? partial[lane] : T(0);
    return warp == 0 ? warp_sum(v) : v;
}
__global__ void total(const double* x, long long n, double* partial, double* out) {  // the last block adds up
    __shared__ bool last;
    double v = 0;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        v += x[i];
    v = block_sum(v);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        v = block_sum(threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0);
        if (threadIdx.x == 0) *out = v;
    }
}
__global__ void deep(const int* x, int* out) {
    volatile int space[100000];  // 400 kB of each thread's stack
    for (int i = 0; i < 100000; i += 1000) space[i] = x[threadIdx.x] + i;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 100000; i += 1000) sum += space[i];
    out[threadIdx.x] = sum;
}
"""


def grid_sum(source: CpuSource) -> None:
    x = np.random.default_rng(0).integers(0, 100, 100_003).astype(float)
    for threads in (32, 96, 256, 1024):
        partial, out = np.zeros(20), np.zeros(1)
        source("total", 20, threads, x, np.int64(len(x)), partial, out)
        assert out[0] == x.sum()


def test_a_grid_adds_up_in_its_last_block():
    grid_sum(cpu_source(LADDER, "total", "deep"))


def test_the_portable_switch_does_the_same():
    grid_sum(cpu_source(LADDER, "total", options=("-DCUNUMPY_CPU_UCONTEXT",)))
    grid_sum(cpu_source(LADDER, "total", "deep"))  # the same worker's memory, with the other switch again


def test_the_size_of_stacks_can_be_set():
    x, out = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    cpu_source(LADDER, "total", "deep", options=("-DCUNUMPY_CPU_STACK_SHIFT=20",))("deep", 2, 100, x, out)
    assert np.array_equal(out, 100 * x + 4_950_000)
    grid_sum(cpu_source(LADDER, "total", "deep"))


GRID = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void steps(int* x, int n, int rounds) {  // each thread adds its left neighbour's number of the round before
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int round = 0; round < rounds; ++round) {
        int left = i > 0 ? x[round % 2 * n + i - 1] : 0;
        x[(round + 1) % 2 * n + i] = x[round % 2 * n + i] + left;
        grid.sync();
    }
}
__global__ void leaves(int* x, int n, int rounds) {
    if (blockIdx.x == 1) return;
    cg::this_grid().sync();
}
#ifdef CUNUMPY_CPU_DEVICE
struct Arguments { int* x; int n, rounds; };
extern "C" int run_block(int which, unsigned block, unsigned blocks, unsigned threads, void* barrier,
                         Arguments* arguments, char* message) {
    gridDim = dim3(blocks), blockDim = dim3(threads);
    return cunumpy_cpu::run_guarded([&] {
        cunumpy_cpu::Block one{};
        one.index = blockIdx = uint3{block, 0, 0}, one.shape = blockDim, one.grid_shape = gridDim;
        one.grid_barrier = (cunumpy_cpu::GridBarrier*)barrier;
        if (which == 0)
            cunumpy_cpu::run_block_fibers([](void* a) { steps(((Arguments*)a)->x, ((Arguments*)a)->n,
                                                              ((Arguments*)a)->rounds); }, arguments, one);
        else
            cunumpy_cpu::run_block_fibers([](void* a) { leaves(((Arguments*)a)->x, ((Arguments*)a)->n,
                                                               ((Arguments*)a)->rounds); }, arguments, one);
    }, message, 500);
}
#endif
"""


def run_grid(which: int, blocks: int, threads: int, x: np.ndarray, rounds: int) -> list[str]:
    """Run all blocks at the same time, each on its own thread; return what they failed with."""
    library = cpu_source(GRID, "steps", "leaves", checked=False)._library

    class Arguments(ctypes.Structure):
        _fields_ = (("x", ctypes.c_void_p), ("n", ctypes.c_int), ("rounds", ctypes.c_int))

    arguments = Arguments(x.ctypes.data, blocks * threads, rounds)
    barrier = (ctypes.c_uint * 5)(blocks)
    failed: list[str] = []

    def work(block: int) -> None:
        message = ctypes.create_string_buffer(500)
        if not library.run_block(which, block, blocks, threads, barrier, ctypes.byref(arguments), message):
            failed.append(message.value.decode())

    workers = [threading.Thread(target=work, args=(block,)) for block in range(blocks)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return failed


def test_a_cooperative_grid_is_in_step():
    x = np.zeros((2, 8 * 40), np.int32)
    x[0, 0] = 1
    assert run_grid(0, 8, 40, x, 12) == []
    binomials = [1]
    for k in range(12):
        binomials.append(binomials[-1] * (12 - k) // (k + 1))
    assert list(x[0, :13]) == binomials
    assert not x[0, 13:].any()


def test_a_grid_whose_block_ends_early_is_an_error():
    failed = run_grid(1, 3, 4, np.zeros(1, np.int32), 0)
    assert len(failed) == 2
    assert all("grid.sync(), which a block that has ended does not reach, in block" in text for text in failed)


CHECKED = """
extern "C" __global__ void early(int* out) {
    if (threadIdx.x == 5) return;
    __syncthreads();
    out[threadIdx.x] = 1;
}
extern "C" __global__ void absent(int* out) { out[threadIdx.x] = __any_sync(0xffffffffu, 1); }
extern "C" __global__ void foreign(int* out) {
    if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0xfu, (int)threadIdx.x, 9);
}
extern "C" __global__ void clean(int* out) {
    int v = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 1);
    __syncthreads();
    out[threadIdx.x] = v;
}
"""


@pytest.mark.parametrize(
    ("kernel", "threads", "text"),
    [
        (
            "early",
            8,
            "a barrier that some threads do not reach in block (0, 0, 0): threads 0-4, 6-7 wait at __syncthreads "
            "(kernel.cu:4); thread 5 has returned",
        ),
        ("absent", 20, "with mask 0xffffffff, which names lanes 0xfff00000 that are not there"),
        ("foreign", 32, ": lane 0 reads lane 9, which is not in the mask 0xf"),
    ],
)
def test_the_checking_mode_finds_what_runs_else(kernel, threads, text):
    kernels = ("early", "absent", "foreign", "clean")
    out = np.zeros(32, np.int32)
    assert cpu_source(CHECKED, *kernels, checked=False).error(kernel, 1, threads, out) is None
    checked = cpu_source(CHECKED, *kernels, options=("-DCUNUMPY_CPU_CHECK",), checked=False)
    assert text in str(checked.error(kernel, 1, threads, out))
    assert checked.error("clean", 1, 32, out) is None
    assert list(out) == [i ^ 1 for i in range(32)]
