"""Races in checked launches: each planted one is found, with both lines, and its corrected twin is clean."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from cunumpy.errors import KernelError
from cunumpy.kernel_testing import emulate_cuda_kernel
from cunumpy.kernels import CudaKernel

# Of each function there is a faulty and a right form, all in one kernel, which is compiled once.
SOURCE = """\
__device__ void missing_barrier(double* x, double* y, unsigned* word, bool wrong) {
    __shared__ double part[64];
    part[threadIdx.x] = x[threadIdx.x];
    if (!wrong) __syncthreads();
    y[threadIdx.x] = part[63 - threadIdx.x];
}
__device__ void missing_second_barrier(double* x, double* y, unsigned* word, bool wrong) {
    __shared__ double part[64];
    for (int i = 0; i < 3; ++i) {
        part[threadIdx.x] = x[threadIdx.x] + i;
        __syncthreads();
        y[threadIdx.x] += part[63 - threadIdx.x];
        if (!wrong) __syncthreads();
    }
}
__device__ void plain_sum(double* x, double* y, unsigned* word, bool wrong) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (wrong)
        y[i % 3] += x[i];
    else
        atomicAdd(&y[i % 3], x[i]);
}
__device__ void other_blocks(double* x, double* y, unsigned* word, bool wrong) {
    const int i = blockIdx.x * 64 + threadIdx.x, other = (i + 64) % 128;
    (wrong ? x : y)[i] = x[wrong ? other : i];
}
__device__ void plain_after_atomic(double* x, double* y, unsigned* word, bool wrong) {
    __shared__ int counts[4];
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counts[threadIdx.x % 4], 1);
    if (!wrong) __syncthreads();
    y[threadIdx.x] = counts[threadIdx.x % 4];
}
__device__ void warp_in_step(double* x, double* y, unsigned* word, bool wrong) {  // no thread waits for the others
    __shared__ volatile double part[64];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int step = 32; step > 0; step /= 2) {
            const double other = part[threadIdx.x + step];
            if (!wrong) __syncwarp();
            part[threadIdx.x] = part[threadIdx.x] + other;
            if (!wrong) __syncwarp();
        }
        y[threadIdx.x] = part[0];
    }
}
__device__ void shuffle_is_no_barrier(double* x, double* y, unsigned* word, bool wrong) {
    __shared__ double part[64];
    part[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
    if (wrong)
        __ballot_sync(0xffffffffu, 1);
    else
        __syncwarp();
    y[threadIdx.x] = part[threadIdx.x ^ 5];
}
__device__ void half_a_warp(double* x, double* y, unsigned* word, bool wrong) {
    __shared__ double part[64];
    part[threadIdx.x] = x[threadIdx.x];
    __syncwarp(threadIdx.x % 32 < 16 ? 0xffffu : 0xffff0000u);
    y[threadIdx.x] = part[threadIdx.x ^ (wrong ? 16 : 8)];
}
__device__ void last_block(double* x, double* y, unsigned* word, bool wrong) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        x[blockIdx.x] = blockIdx.x;
        if (!wrong) __threadfence();
        last = atomicAdd(word, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) y[threadIdx.x] = x[threadIdx.x];
    if (last && threadIdx.x == 0) *word = 0;
}
__device__ void lock(double* x, double* y, unsigned* word, bool wrong) {
    for (bool done = false; !done;) {
        if (atomicCAS(word, 0u, 1u) != 0) continue;
        __threadfence();
        y[0] += 1;
        if (!wrong) __threadfence();
        atomicExch(wrong ? word + 1 : word, 0u);
        if (wrong) *(volatile unsigned*)word = 0;
        done = true;
    }
}
__device__ void values(double* x, double* y, unsigned* word, bool wrong) {
    if (x[threadIdx.x] > 10) y[0] = wrong ? threadIdx.x : 1;  // all say the same, or not
}
__global__ void race(int which, bool wrong, double* x, double* y, unsigned* word) {
    switch (which) {
        case 0: return missing_barrier(x, y, word, wrong);
        case 1: return missing_second_barrier(x, y, word, wrong);
        case 2: return plain_sum(x, y, word, wrong);
        case 3: return other_blocks(x, y, word, wrong);
        case 4: return plain_after_atomic(x, y, word, wrong);
        case 5: return warp_in_step(x, y, word, wrong);
        case 6: return shuffle_is_no_barrier(x, y, word, wrong);
        case 7: return half_a_warp(x, y, word, wrong);
        case 8: return last_block(x, y, word, wrong);
        case 9: return lock(x, y, word, wrong);
        case 10: return values(x, y, word, wrong);
    }
}
"""

NAMES = re.findall(r"__device__ void (\w+)", SOURCE)


def line(text: str) -> int:
    """Return the number of the line that begins so."""
    return next(n for n, one in enumerate(SOURCE.splitlines(), 1) if one.strip().startswith(text))


RACES = {  # the two lines, by their text
    "missing_barrier": ("part[threadIdx.x] = x[threadIdx.x];", "y[threadIdx.x] = part[63"),
    "missing_second_barrier": ("part[threadIdx.x] = x[threadIdx.x] + i", "y[threadIdx.x] += part[63"),
    "plain_sum": ("y[i % 3] += x[i]", "y[i % 3] += x[i]"),
    "other_blocks": ("(wrong ? x : y)[i]", "(wrong ? x : y)[i]"),
    "plain_after_atomic": ("atomicAdd(&counts", "y[threadIdx.x] = counts"),
    "warp_in_step": ("const double other", "part[threadIdx.x] = part[threadIdx.x] + other"),
    "shuffle_is_no_barrier": ("part[threadIdx.x] = __shfl_xor", "y[threadIdx.x] = part[threadIdx.x ^ 5]"),
    "half_a_warp": ("", "y[threadIdx.x] = part[threadIdx.x ^ (wrong"),
    "last_block": ("x[blockIdx.x] = blockIdx.x", "if (last && threadIdx.x < gridDim.x)"),
    "lock": ("y[0] += 1", "y[0] += 1"),
    "values": ("if (x[threadIdx.x] > 10)", "if (x[threadIdx.x] > 10)"),
}


@cache
def kernel() -> CudaKernel:
    return CudaKernel(SOURCE, "race")


def run(name: str, wrong: bool) -> Any:
    x, y, word = np.arange(128.0), np.zeros(128), np.zeros(2, np.uint32)
    grid = 2 if name in ("plain_sum", "other_blocks", "last_block", "lock") else 1
    emulate_cuda_kernel(kernel(), NAMES.index(name), wrong, x, y, word, grid=grid, block=64)
    return y


@pytest.mark.parametrize("name", NAMES)
def test_the_race_is_found_with_both_lines_and_the_corrected_twin_is_clean(name):
    with pytest.raises(KernelError) as raised:
        run(name, True)
    text = str(raised.value)
    races = [one for one in text.splitlines() if "race: " in one]
    assert races, text
    first, second = RACES[name]
    if first:
        lines = {line(first), line(second)}
        assert any({int(n) for n in re.findall(r"race\.cu:(\d+)", one)} == lines for one in races), text
    assert all(len(re.findall(r"thread \(\d+, 0, 0\)", one)) == 2 for one in races), text
    assert run(name, False).any()


def test_each_race_has_its_lines():
    assert sorted(NAMES) == sorted(RACES)
