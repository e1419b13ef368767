"""Races in checked launches: each planted one is found, with both lines, and its corrected twin is clean."""

from __future__ import annotations

import itertools
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
__device__ void sum_of_the_guide(double* x, double* y, unsigned* word, bool wrong) {
    unsigned long long* sum = (unsigned long long*)y;
    unsigned long long old = *sum, assumed;  // as old as it likes where atomicCAS follows
    if (wrong) {
        x[blockIdx.x * 64 + threadIdx.x] = old;
        atomicAdd(sum, 1ull);
        return;
    }
    do {
        assumed = old;
        old = atomicCAS(sum, assumed, __double_as_longlong(x[threadIdx.x] + __longlong_as_double(assumed)));
    } while (assumed != old);
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
        case 11: return sum_of_the_guide(x, y, word, wrong);
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
    "sum_of_the_guide": ("unsigned long long old = *sum", "atomicAdd(sum"),
    "values": ("if (x[threadIdx.x] > 10)", "if (x[threadIdx.x] > 10)"),
}


@cache
def kernel() -> CudaKernel:
    return CudaKernel(SOURCE, "race")


def run(name: str, wrong: bool) -> Any:
    x, y, word = np.arange(128.0), np.zeros(128), np.zeros(2, np.uint32)
    grid = 2 if name in ("plain_sum", "other_blocks", "last_block", "lock", "sum_of_the_guide") else 1
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


# Threads read and write 1, 2, 4 or 8 bytes of 64 in phases, between which there are barriers. A number of `todo` is
# 0, or 2 * (4 * place + log2 of the size) + 2, and 1 more for a write.
PHASES = """\
template <class T> __device__ void come(void* memory, int at, bool write, int value) {
    if (write)
        ((T*)memory)[at] = (T)(value * 0x0101010101010101ll);
    else if (((T*)memory)[at] == (T)0x1357246813572468ll)
        __trap();
}
__device__ void accesses(long long* memory, const int* todo, int phase) {
    for (int i = 0; i < 2; ++i) {
        const int one = todo[((blockIdx.x * 3 + phase) * 2 + i) * blockDim.x + threadIdx.x];
        if (one == 0) continue;
        const int size = (one / 2 - 1) % 4, at = (one / 2 - 1) / 4, value = 1 + threadIdx.x + 64 * (i + 2 * blockIdx.x);
        if (size == 0) come<char>(memory, at, one % 2, value);
        if (size == 1) come<short>(memory, at, one % 2, value);
        if (size == 2) come<int>(memory, at, one % 2, value);
        if (size == 3) come<long long>(memory, at, one % 2, value);
    }
}
extern "C" __global__ void in_shared_memory(long long* memory, const int* todo) {
    __shared__ long long own[8];
    if (threadIdx.x < 8) own[threadIdx.x] = 0;
    __syncthreads();
    for (int phase = 0; phase < 3; ++phase) {
        accesses(own, todo, phase);
        __syncthreads();
    }
}
extern "C" __global__ void in_global_memory(long long* memory, const int* todo) {
    for (int phase = 0; phase < 3; ++phase) {
        accesses(memory, todo, phase);
        __syncthreads();
    }
}
extern "C" __global__ void of_warps(long long* memory, const int* todo) {
    for (int phase = 0; phase < 3; ++phase) {
        accesses(memory, todo, phase);
        if (phase == 0) __syncwarp();
        if (phase == 1) __syncthreads();
    }
}
"""


@cache
def phases(name: str) -> CudaKernel:
    return CudaKernel(PHASES, name)


def is_race(name: str, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Tell whether nothing orders two accesses to the same byte: (block, phase, thread, whether it writes)."""
    (block, phase, thread, writes), (block2, phase2, thread2, writes2) = sorted((one, other))
    if not (writes or writes2) or (block, thread) == (block2, thread2):
        return False
    if block != block2:
        return name != "in_shared_memory"
    first, last = min(phase, phase2), max(phase, phase2)
    if name != "of_warps":
        return first == last
    return first == last or (last == 1 and thread // 32 != thread2 // 32)


@given(
    name=st.sampled_from(["in_shared_memory", "in_global_memory", "of_warps"]),
    blocks=st.integers(1, 2),
    accesses=st.lists(
        st.tuples(
            *(st.integers(0, most) for most in (1, 2, 1, 62)), st.integers(0, 3), st.integers(0, 63), st.booleans()
        ),
        max_size=8,
    ),
)
@settings(max_examples=100)
def test_a_race_is_found_where_there_is_one_and_only_there(name, blocks, accesses):
    todo = np.zeros((blocks, 3, 2, 64), np.int32)
    for block, phase, turn, thread, size, place, writes in accesses:
        todo[block % blocks, phase, turn, thread] = 2 * (4 * (place >> size) + size) + 2 + writes
    by_byte: dict[int, list[tuple[int, ...]]] = {}
    for block, phase, turn, thread in np.argwhere(todo).tolist():
        place, size = divmod(int(todo[block, phase, turn, thread]) // 2 - 1, 4)
        for byte in range(place << size, place + 1 << size):
            access = (block, phase, thread, todo[block, phase, turn, thread] % 2)
            by_byte.setdefault(byte, []).append(access)
    expected = any(
        is_race(name, one, other) for found in by_byte.values() for one, other in itertools.combinations(found, 2)
    )
    text = ""
    try:
        emulate_cuda_kernel(phases(name), np.zeros(8, np.int64), todo, grid=blocks, block=64)
    except KernelError as error:
        text = str(error)
    assert ("race: " in text) == expected, text
