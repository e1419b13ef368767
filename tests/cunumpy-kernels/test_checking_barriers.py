"""Barriers and functions of warps in checked launches: planted faults are found, their corrected twins are clean."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from cunumpy.errors import KernelError
from cunumpy.kernel_testing import emulate_cuda_kernel
from cunumpy.kernels import CudaKernel

# Of each function there is a faulty and a right form, all in one kernel, which is compiled once.
SOURCE = """\
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ void early_return(int* x, bool wrong) {
    if (wrong && threadIdx.x >= 40) return;
    __syncthreads();
    x[threadIdx.x] = 1;
}
__device__ void branches(int* x, bool wrong) {
    if (wrong && threadIdx.x < 16)
        __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 1;
}
__device__ void kinds(int* x, bool wrong) {
    if (wrong && threadIdx.x == 3)
        __syncthreads();
    else
        x[threadIdx.x] = __syncthreads_count(1);
}
__device__ void barrier_and_warp(int* x, bool wrong) {
    if (wrong && threadIdx.x < 32)
        __syncwarp();
    else if (wrong && threadIdx.x < 40)
        __shfl_sync(0xffffffffu, 1, 0);
    __syncthreads();
    x[threadIdx.x] = 1;
}
__device__ void functions(int* x, bool wrong) {
    if (wrong && threadIdx.x % 2)
        x[threadIdx.x] = __any_sync(0xffffffffu, 1);
    else
        x[threadIdx.x] = __ballot_sync(0xffffffffu, 1) != 0;
}
__device__ void masks(int* x, bool wrong) {
    const unsigned mask = wrong && threadIdx.x % 32 < 8 ? 0xfffu : wrong ? 0xfffffff0u : 0xffffffffu;
    x[threadIdx.x] = __all_sync(mask, 1);
}
__device__ void absent(int* x, bool wrong) {
    x[threadIdx.x] = __all_sync(wrong ? 0xffffffffu : __activemask(), 1);
}
__device__ void returned(int* x, bool wrong) {
    if (threadIdx.x == 7) return;
    x[threadIdx.x] = __any_sync(wrong ? 0xffffffffu : threadIdx.x < 32 ? 0xffffff7fu : 0xffffffffu, 1);
}
__device__ void not_in_mask(int* x, bool wrong) {
    x[threadIdx.x] = __any_sync(wrong ? 0xfffffffeu : 0xffffffffu, 1);
}
__device__ void foreign_lane(int* x, bool wrong) {
    if (threadIdx.x % 32 < 8) x[threadIdx.x] = __shfl_sync(0xffu, 1, wrong ? 20 : 2);
}
__device__ void groups(int* x, bool wrong) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    if (wrong && tile.thread_rank() == 2)
        tile.any(1);
    else
        tile.sync();
    block.sync();
    x[threadIdx.x] = 1;
}
__device__ void matches(int* x, bool wrong) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    tile.sync();
    if (wrong && tile.thread_rank() == 2)
        x[threadIdx.x] = tile.match_any(1);
    else
        x[threadIdx.x] = tile.any(1);
}
__device__ void loops(int* x, bool wrong) {
    for (int i = 0; i < (wrong ? 1 + (threadIdx.x == 5) : 2); ++i) __syncthreads();
    x[threadIdx.x] = 1;
}
__global__ void fault(int which, bool wrong, int* x) {
    switch (which) {
        case 0: return early_return(x, wrong);
        case 1: return branches(x, wrong);
        case 2: return kinds(x, wrong);
        case 3: return barrier_and_warp(x, wrong);
        case 4: return functions(x, wrong);
        case 5: return masks(x, wrong);
        case 6: return absent(x, wrong);
        case 7: return returned(x, wrong);
        case 8: return not_in_mask(x, wrong);
        case 9: return foreign_lane(x, wrong);
        case 10: return groups(x, wrong);
        case 11: return matches(x, wrong);
        case 12: return loops(x, wrong);
    }
}
"""

NAMES = re.findall(r"__device__ void (\w+)", SOURCE)
THREADS = 64

# kernel, what the text says, the threads of a block
FAULTS = [
    (
        "early_return",
        "a barrier that some threads do not reach in block (0, 0, 0): threads 0-39 wait at __syncthreads (fault.cu:6); "
        "threads 40-63 have returned",
        THREADS,
    ),
    (
        "branches",
        "threads come to different calls of a barrier in block (0, 0, 0): threads 0-15 wait at __syncthreads "
        "(fault.cu:11); threads 16-63 wait at __syncthreads (fault.cu:13)",
        THREADS,
    ),
    (
        "kinds",
        "threads come to different barriers in block (0, 0, 0): threads 0-2 wait at __syncthreads_count (fault.cu:20); "
        "thread 3 waits at __syncthreads (fault.cu:18)",
        THREADS,
    ),
    (
        "barrier_and_warp",
        "threads wait for each other for ever in block (0, 0, 0): threads 0-31, 40-63 wait at __syncthreads "
        "(fault.cu:27); threads 32-39 wait at __shfl_sync (fault.cu:26) with mask 0xffffffff",
        THREADS,
    ),
    (
        "functions",
        "lanes of a warp wait for each other in different functions in block (0, 0, 0): thread 0 waits at "
        "__ballot_sync (fault.cu:34) with mask 0xffffffff; thread 1 waits at __any_sync (fault.cu:32) with mask "
        "0xffffffff",
        THREADS,
    ),
    (
        "masks",
        "lanes of a warp wait for each other with different masks in block (0, 0, 0): threads 0-7 wait at __all_sync "
        "(fault.cu:38) with mask 0xfff; thread 8 waits at __all_sync (fault.cu:38) with mask 0xfffffff0",
        THREADS,
    ),
    (
        "absent",
        "a mask names lanes that are not there in block (0, 0, 0): thread 0 waits at __all_sync (fault.cu:41) with "
        "mask 0xffffffff, which names lanes 0xfff00000 that are not there",
        20,
    ),
    ("returned", "that are not there; thread 7 has returned", THREADS),
    (
        "not_in_mask",
        "__any_sync with mask 0xfffffffe, which does not name the calling lane, in block (0, 0, 0), thread (0,",
        64,
    ),
    ("foreign_lane", "a shuffle in block (0, 0, 0) at __shfl_sync (fault.cu:51): lane 0 reads lane 20, which is", 64),
    ("groups", "thread 2 waits at __any_sync (fault.cu:57) with mask 0xffff", THREADS),
    ("matches", "thread 2 waits at __match_any_sync (fault.cu:67) with mask 0xffff", THREADS),
    ("loops", "threads 0-4, 6-63 have returned", THREADS),
]


@cache
def kernel() -> CudaKernel:
    return CudaKernel(SOURCE, "fault")


def run(name: str, wrong: bool, threads: int) -> np.ndarray:
    x = np.zeros(threads, np.int32)
    emulate_cuda_kernel(kernel(), NAMES.index(name), wrong, x, grid=1, block=threads)
    return x


@pytest.mark.parametrize(("name", "text", "threads"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_the_fault_is_found_and_the_corrected_twin_is_clean(name, text, threads):
    with pytest.raises(KernelError, match=re.escape(text)):
        run(name, True, threads)
    x = run(name, False, threads)
    assert x.any()


def test_all_faults_are_planted():
    assert sorted(NAMES) == sorted(fault[0] for fault in FAULTS)


def test_waits_in_our_own_headers_name_the_line_that_calls_them():
    source = """\
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void sum(int* x) {
    __shared__ typename cub::BlockReduce<int, 64>::TempStorage memory;
    if (threadIdx.x < 40)
        x[threadIdx.x] = cub::BlockReduce<int, 64>(memory).Sum(1);  // here
}
"""
    text = "threads 0-39 wait at __syncthreads (in <cub/block/block_reduce.cuh>, sum.cu:5); threads 40-63 have returned"
    with pytest.raises(KernelError, match=re.escape(text)):
        emulate_cuda_kernel(CudaKernel(source, "sum"), np.zeros(64, np.int32), grid=1, block=64)
