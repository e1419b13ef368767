"""Arrays of more than 2^31 elements: places and numbers of elements that do not fit in 32 bits."""

from __future__ import annotations

import os

import numpy as np
import pytest

from cunumpy import algorithms, kernels, memory, mpi, rng

pytestmark = pytest.mark.long

N = 2**31 + 1000
GIGABYTES = 14


def _available() -> float:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = dict(line.split(":") for line in file)
        return int(found["MemAvailable"].split()[0]) / 2**20
    except (OSError, KeyError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


@pytest.fixture(autouse=True)
def _builds_of_this_run(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    if _available() < GIGABYTES:
        pytest.skip(f"needs {GIGABYTES} GB of memory")
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path_factory.getbasetemp() / "builds"))


PLACES = [0, 12345, 2**31 - 1, 2**31, 2**31 + 7, N - 1]


@pytest.fixture
def marked() -> np.ndarray:
    """Give zeros with a few ones, on both sides of 2^31."""
    x = np.zeros(N, np.int8)
    x[PLACES] = 1
    return x


def test_compaction(marked: np.ndarray) -> None:
    values = np.zeros(N, np.int8)
    values[PLACES] = [3, 1, 4, 1, 5, 9]
    assert algorithms.compact_by_mask(marked.view(bool), values) == 6
    assert values[:6].tolist() == [3, 1, 4, 1, 5, 9]


def test_counts_of_segments(marked: np.ndarray) -> None:
    assert algorithms.segment_count(marked, 2).tolist() == [N - 6, 6]


def test_offsets_of_cells() -> None:
    cells = np.zeros(N, np.int8)
    cells[2**31 + 5 :] = 1
    assert algorithms.cell_offsets(cells, 2).tolist() == [0, 2**31 + 5, N]


def test_boundaries() -> None:
    keys = np.zeros(N, np.int8)
    keys[2**31 + 5 :] = 1
    found, starts, ends = algorithms.segment_boundaries(keys)
    assert (found.tolist(), starts.tolist(), ends.tolist()) == ([0, 1], [0, 2**31 + 5], [2**31 + 5, N])


def test_elementwise_kernels_and_reductions(marked: np.ndarray) -> None:
    twice = kernels.ElementwiseKernel("T x", "T y", "y = x * 2", "twice")(marked)
    assert twice[PLACES].tolist() == [2] * 6
    total = kernels.ReductionKernel("T x", "int64 y", "x", "a + b", "y = a", "0", "total", reduce_type="int64")
    assert int(total(twice)) == 12


def test_fused_functions(marked: np.ndarray) -> None:
    found = kernels.fuse(lambda x: x * np.int8(3) + np.int8(1))(marked)
    assert found.dtype == np.int8
    assert found[PLACES].tolist() == [4] * 6
    assert (found[1], found[2**31 - 2], found[N - 2]) == (1, 1, 1)


def test_kernels_in_cuda(marked: np.ndarray) -> None:
    source = """
    extern "C" __global__ void add(long long n, signed char* x) {
        long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
        if (i < n) x[i] += 5;
    }
    extern "C" __global__ void stride(size_t n, signed char* x) {
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
            x[i] += 5;
    }
    """
    kernels.Kernel(None, kernels.CudaKernel(source, "add"))(N, marked, n_threads=N)
    assert marked[PLACES].tolist() == [6] * 6
    kernels.Kernel(None, kernels.CudaKernel(source, "stride"))(N, marked, grid=64, block=128)
    assert marked[PLACES].tolist() == [11] * 6
    assert (marked[1], marked[2**31 - 2], marked[N - 2]) == (10, 10, 10)


def test_random_integers() -> None:
    found = rng.PhiloxGenerator(3).integers(0, 7, size=N, dtype=np.int8)
    generator = rng.PhiloxGenerator(3)
    generator.advance((2**31 - 8) // 2)
    np.testing.assert_array_equal(found[2**31 - 8 : 2**31 + 8], generator.integers(0, 7, size=16, dtype=np.int8))


def test_messages(marked: np.ndarray) -> None:
    received = np.zeros(N, np.int8)
    mpi.exchange(mpi.SerialComm(), sends=[(marked, 0, 1)], receives=[(received, 0, 1)])
    assert received[PLACES].tolist() == [1] * 6
    assert mpi.allreduce(mpi.SerialComm(), marked)[PLACES].tolist() == [1] * 6


def test_stagings(marked: np.ndarray) -> None:
    copy = memory.HostStaging(N, np.int8, buffers=1).copy(marked).result()
    assert copy[PLACES].tolist() == [1] * 6
