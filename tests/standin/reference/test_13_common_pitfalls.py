"""Reference, section 13: what programs do wrong can be seen in a test."""

import cupy as cp
import numpy as np
import pytest

import cunumpy as xp


def test_round_trips_are_counted():
    with xp.profiling.count_transfers() as counted:
        a = xp.to_cupy(np.arange(10.0))
        for _ in range(3):
            a = xp.to_cupy(xp.to_numpy(a) + 1)
    assert (counted.to_device, counted.to_host) == (4, 3)


def test_implicit_reads_are_found():
    a = cp.arange(3.0)
    for read in (lambda: float(a[0]), lambda: bool(a[0] == 0), lambda: a.sum().item(), lambda: str(a)):
        with xp.profiling.forbid_transfers(), pytest.raises(xp.errors.TransferError):
            read()


def test_freed_memory_stays_in_the_pool():
    mempool = cp.get_default_memory_pool()
    mempool.free_all_blocks()
    a = cp.zeros(1_000_000)
    total = mempool.total_bytes()
    del a
    assert mempool.total_bytes() == total
    mempool.free_all_blocks()
    assert mempool.total_bytes() <= total - 8_000_000


def test_raw_kernels_ignore_views(monkeypatch):
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "0")  # checks find it
    copy = cp.RawKernel(
        'extern "C" __global__ void copy(const double* x, double* y) { y[threadIdx.x] = x[threadIdx.x]; }', "copy"
    )
    x, y = cp.arange(10.0), cp.zeros(5)
    copy((1,), (5,), (x[::2], y))
    np.testing.assert_array_equal(y.get(), np.arange(5))
    copy((1,), (5,), (cp.ascontiguousarray(x[::2]), y))
    np.testing.assert_array_equal(y.get(), np.arange(0, 10, 2))
