"""Local arrays of threads on the CPU device: as large as a GPU has them, whatever runs the threads."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_device import mode_of, run
from cunumpy.errors import KernelError

# Each thread fills an array of its own, waits as the test says, and adds it up in another order.
SOURCE = """
#ifndef SIZE
#define SIZE 64
#define WAIT
#endif
extern "C" __global__ void k(const long long* x, long long* sums, int n) {
    long long own[SIZE];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < SIZE; ++j) own[j] = x[i] * j;
    WAIT
    long long sum = 0;
    for (int j = 0; j < SIZE; ++j) sum += own[(j * 13) % SIZE] ^ n;
    sums[i] = sum;
}"""

WAITS = {
    "nobody waits": "",
    "a barrier": "__syncthreads();",
    "a barrier in a loop": "for (int round = 0; round < n; ++round) if (own[round % 3] > -1) __syncthreads();",
    "a warp": "__syncwarp(__activemask());",
}


def options(size: int, wait: str) -> list[str]:
    return [f"-DSIZE={size}", f"-DWAIT={WAITS[wait]}"]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("kib", [1, 260, 500])
def test_up_to_what_a_gpu_has(kib: int, wait: str) -> None:
    size = kib * 1024 // 8 - 64
    x = np.arange(1, 5, dtype=np.int64)
    sums = np.zeros_like(x)
    run(SOURCE, x, sums, 2, grid=2, block=2, options=options(size, wait))
    expected = [sum((int(a) * j) ^ 2 for j in range(size)) for a in x]
    assert sums.tolist() == expected


@pytest.mark.parametrize("wait", WAITS)
def test_more_is_refused_before_anything_runs(wait: str) -> None:
    sums = np.zeros(4, np.int64)
    with pytest.raises(KernelError, match=r"'k': a thread has 5\d{5} bytes of local arrays .* more than the 524288"):
        run(SOURCE, np.ones(4, np.int64), sums, 2, grid=2, block=2, options=options(70_000, wait))
    assert not sums.any()


def test_kernels_with_small_and_large_stacks_take_turns() -> None:
    x = np.arange(1, 129, dtype=np.int64)
    for size in (100, 40_000, 200, 40_002):
        sums = np.zeros_like(x)
        kernel = run(SOURCE, x, sums, 0, grid=2, block=64, options=options(size, "a warp"))
        assert mode_of(kernel) == "fibers"
        np.testing.assert_array_equal(sums, x * (size * (size - 1) // 2))
