"""Memory, objects, file descriptors, threads and modules stay steady over many calls; see `leaks`."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import algorithms, cuda, kernels, memory, mpi, optimize, profiling, rng
from cunumpy.errors import CuNumpyError
from cunumpy.kernel_testing import emulate_cuda_kernel
from cunumpy.kernels import jit
from leaks import FEW, MANY, OBJECTS, assert_steady

SCALE = """
extern "C" __global__ void scale(int n, double a, double* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
extern "C" __global__ void turn(int n, double* x) {
    __shared__ double part[64];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[63 - threadIdx.x];
}
"""


@pytest.fixture(autouse=True)
def _builds_of_this_run(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path_factory.getbasetemp() / "builds"))


def _x() -> np.ndarray:
    return np.ones(64)


def launches() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give what runs kernels of each kind."""
    x = _x()
    scale, turn = kernels.CudaKernel(SCALE, "scale"), kernels.CudaKernel(SCALE, "turn")
    kernel, barriers = kernels.Kernel(None, scale), kernels.Kernel(None, turn)
    yield "Kernel", lambda: kernel(64, 1.0, x, n_threads=64)
    yield "Kernel with barriers", lambda: barriers(64, x, n_threads=64, block=64)
    yield "emulate_cuda_kernel", lambda: emulate_cuda_kernel(scale, 64, 1.0, x, n_threads=64)
    sizes = itertools.cycle([1, 64, 3, 640, 17, 10_000, 200])

    def of_many_sizes() -> None:
        n = next(sizes)
        emulate_cuda_kernel(scale, n, 1.0, np.ones(n), n_threads=n)

    yield "checked launches of many sizes", of_many_sizes
    elementwise = kernels.ElementwiseKernel("T a, T b", "T c", "c = a + b")
    yield "ElementwiseKernel", lambda: elementwise(x, x)
    reduction = kernels.ReductionKernel("T v", "T w", "v", "a + b", "w = a", "0")
    yield "ReductionKernel", lambda: reduction(x)
    raw = kernels.RawKernel(SCALE, "scale")
    yield "RawKernel", lambda: raw((1,), (64,), (np.int32(64), 1.0, x))
    fused = kernels.fuse(lambda a: a * 2 + 1)
    yield "fuse", lambda: fused(x)
    python = kernels.PyccelKernel(lambda a: None)
    yield "PyccelKernel", lambda: python(x)


@kernels.rawkernel()
def _python_scale(x: Any) -> None:
    i = jit.threadIdx.x
    x[i] = x[i] * 2


def others() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give what switches, copies, sends, draws and sorts."""
    x, keys = _x(), np.arange(64) % 7

    def scopes() -> None:
        with xp.use_backend("numpy"), xp.use_backend("numpy"):
            xp.set_backend("numpy")

    yield "use_backend", scopes

    def refused() -> None:
        with contextlib.suppress(CuNumpyError):
            algorithms.segment_sum(x, keys, 3)

    yield "what is refused", refused

    def failing() -> None:
        with contextlib.suppress(ZeroDivisionError), xp.use_backend("numpy"), profiling.count_transfers():
            xp.host_call(lambda a: 1 / 0, x)

    yield "what fails in a scope", failing
    staging = memory.HostStaging(64, float)
    yield "HostStaging", lambda: staging.copy(x).result()
    yield "HostStaging, dropped", lambda: memory.HostStaging(64, float).copy(x).result()
    yield "DeviceMirror", lambda: memory.DeviceMirror(x).to_device().to_host()
    yield "to_host_async", lambda: xp.to_host_async(x).result()
    yield "host_call", lambda: xp.host_call(np.sum, x)

    def counted() -> None:
        with profiling.count_transfers(), profiling.timed_region("a"), profiling.nvtx_range("b"):
            xp.to_numpy(x)

    yield "count_transfers", counted
    comm, into = mpi.SerialComm(), np.zeros(64)
    yield "exchange", lambda: mpi.exchange(comm, sends=[(x, 0, 1)], receives=[(into, 0, 1)])
    persistent = mpi.PersistentExchange(comm, sends=[(x, 0, 1)], receives=[(into, 0, 1)])
    yield "PersistentExchange", persistent
    yield (
        "PersistentExchange, dropped",
        lambda: mpi.PersistentExchange(comm, sends=[(x, 0, 1)], receives=[(into, 0, 1)])(),
    )
    yield "allreduce", lambda: mpi.allreduce(comm, x)
    yield "migrate", lambda: mpi.migrate(comm, [x], np.zeros(64, int))
    yield "philox_uniform", lambda: rng.philox_uniform(1, 2, keys)
    generator = rng.PhiloxGenerator(1)
    yield "PhiloxGenerator", lambda: generator.normal(size=8)
    streams = rng.RandomStreams()
    yield "RandomStreams", lambda: streams.normal(0.0, x)
    yield "segment_sum", lambda: algorithms.segment_sum(x, keys, 7)
    yield "sort_by_key", lambda: algorithms.sort_by_key(x, keys)
    yield "morton_encode", lambda: algorithms.morton_encode(keys, keys)
    yield "stream", lambda: cuda.create_stream().synchronize()
    yield "scipy", lambda: xp.scipy.special.erf(x)


SLOW = {"checked launches of many sizes": 20, "newton": 20, "rawkernel": 5, "new kernel": 20, "threads": 20}
"""What is called so many times less."""


def slow() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give what takes longer."""
    x = _x()
    yield "newton", lambda: optimize.newton(lambda a: a * a - 2, x[:4])
    yield "rawkernel", lambda: _python_scale[(1,), (64,)](x)
    yield "new kernel", lambda: kernels.Kernel(None, kernels.CudaKernel(SCALE, "scale"))(64, 1.0, x, n_threads=64)

    def in_threads() -> None:
        def work() -> None:
            with xp.use_backend("numpy"), profiling.count_transfers():
                rng.random_streams.random(2)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    yield "threads", in_threads


@pytest.mark.parametrize("calls", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("activities", [launches, others, slow])
def test_nothing_is_kept(activities: Any, calls: int, subtests: Any) -> None:
    for name, call in activities():
        with subtests.test(msg=name):
            assert_steady(call, max(calls // SLOW.get(name, 1), OBJECTS))
