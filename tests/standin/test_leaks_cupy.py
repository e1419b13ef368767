"""Device arrays, launches, switches, stagings and exchanges keep nothing; see `leaks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np

import cunumpy as xp
from cunumpy import cuda, kernels, memory, mpi, profiling
from leaks import FEW, assert_steady

SCALE = """
extern "C" __global__ void scale(int n, double a, double* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
"""


def activities() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give what goes to the device and back."""
    host, x = np.ones(64), cupy.ones(64)

    def switch() -> None:
        with xp.use_backend("numpy"):
            xp.set_backend("cupy")
            xp.zeros(3)

    yield "use_backend", switch
    yield "to_cupy and back", lambda: xp.to_numpy(xp.to_cupy(host))
    yield "array operations", lambda: (x + 1).sum()
    staging = memory.HostStaging(64, float)
    yield "HostStaging", lambda: staging.copy(x).result()
    mirror = memory.DeviceMirror(host)
    yield "DeviceMirror", lambda: mirror.to_device().to_host()
    yield "DeviceMirror, dropped", lambda: memory.DeviceMirror(host).to_device()
    yield "to_host_async", lambda: xp.to_host_async(x).result()
    scale = kernels.CudaKernel(SCALE, "scale")
    yield "CudaKernel", lambda: scale(64, 1.0, x)
    prepared = scale.prepare(64, 1.0, x)
    yield "PreparedLaunch", prepared
    yield "Kernel", lambda: kernels.Kernel(None, scale)(64, 1.0, x)
    raw = cupy.RawKernel(SCALE, "scale")
    yield "cupy.RawKernel", lambda: raw((1,), (64,), (np.int32(64), 1.0, x))

    def streams() -> None:
        with cuda.stream():
            cuda.record_event().synchronize()

    yield "stream", streams

    def counted() -> None:
        with profiling.count_transfers(), profiling.timed_region("a", clock="device"):
            xp.to_numpy(x)

    yield "count_transfers", counted
    comm, into = mpi.SerialComm(), cupy.zeros(64)
    yield "exchange", lambda: mpi.exchange(comm, sends=[(x, 0, 1)], receives=[(into, 0, 1)], cuda_aware=False)
    persistent = mpi.PersistentExchange(comm, sends=[(x, 0, 1)], receives=[(into, 0, 1)], cuda_aware=False)
    yield "PersistentExchange", persistent
    yield "host_call", lambda: xp.host_call(np.sum, x)


def test_nothing_is_kept(subtests: Any) -> None:
    for name, call in activities():
        with subtests.test(msg=name):
            used = cupy.get_default_memory_pool().used_bytes()
            assert_steady(call, FEW)
            assert cupy.get_default_memory_pool().used_bytes() - used < 10_000
