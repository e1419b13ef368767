"""CUDA kernels on the CPU device, beside the same loops in plain C.

Each function measures one row of the table in `benchmarks.rows`. The plain C side is compiled in the same process, by
the same compiler with ``-O3 -march=native``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Effort, Rounds, Timer, measure
from cunumpy.kernels import CudaKernel, ElementwiseKernel, Kernel, ReductionKernel, fuse
from cunumpy.kernels._cpu_device.compiler import find_compiler, run_compiler
from cunumpy.kernels._cpu_device.launch import cpu_kernel, run_on_cpu
from cunumpy.kernels._cpu_device.launcher import _Launch

PLAIN = """
extern "C" {
void axpy(double a, const double* x, double* y, int n) {
    for (int i = 0; i < n; ++i) y[i] += a * x[i];
}
void stencil(const double* u, double* v, int nx, int ny) {
    for (int j = 1; j < ny - 1; ++j)
        for (int i = 1; i < nx - 1; ++i)
            v[j * nx + i] = 0.25 * (u[j * nx + i - 1] + u[j * nx + i + 1] + u[(j - 1) * nx + i] + u[(j + 1) * nx + i]);
}
void repeat(int (*run)(void*, void**, unsigned long long, unsigned long long), void* launch, void** arguments,
            unsigned long long blocks, long number) {
    for (long i = 0; i < number; ++i) run(launch, arguments, 0, blocks);
}
}
"""

AXPY = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"""

GRID_STRIDE = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] += a * x[i];
}"""

STENCIL = """
extern "C" __global__ void stencil(const double* u, double* v, int nx, int ny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
        v[j * nx + i] = 0.25 * (u[j * nx + i - 1] + u[j * nx + i + 1] + u[(j - 1) * nx + i] + u[(j + 1) * nx + i]);
}"""

BLOCK_SUM = """
extern "C" __global__ void block_sum(const double* x, double* sums) {
    __shared__ double partial[256];
    int t = threadIdx.x;
    partial[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
        if (t < width) partial[t] += partial[t + width];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = partial[0];
}"""

SHUFFLES = """
extern "C" __global__ void shuffles(int* x) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < 100; ++i) v += __shfl_xor_sync(0xffffffff, v, i % 32);
    x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}"""

COMPUTE = """
extern "C" __global__ void logistic(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    for (int step = 0; step < 2000; ++step) v = 3.9 * v * (1 - v);
    x[i] = v;
}"""


@functools.cache
def plain() -> ctypes.CDLL:
    """Compile the plain C side."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.cpp"
        path.write_text(PLAIN)
        flags = ["-O3", "-march=native", "-fPIC", "-shared", str(path), "-o", str(path.with_suffix(".so"))]
        run_compiler(find_compiler(), flags, None, "benchmarks", Path(folder))
        return ctypes.CDLL(str(path.with_suffix(".so")))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _repeated(call: Any) -> Timer:
    def timer(number: int) -> float:
        started = time.perf_counter()
        for _ in range(number):
            call()
        return time.perf_counter() - started

    return timer


@contextlib.contextmanager
def _workers(count: int) -> Iterator[None]:
    os.environ["CUNUMPY_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        del os.environ["CUNUMPY_NUM_THREADS"]


def _axpy(effort: Effort, source: str, **launch: Any) -> Rounds:
    n = 10_000_000 if effort.entries >= 1_000_000 else 10_000
    kernel, x, y = CudaKernel(source, "axpy"), np.ones(n), np.ones(n)
    launch = launch or {"n_threads": n}
    arguments = (ctypes.c_double(1e-9), _pointer(x), _pointer(y), n)
    with _workers(1):
        return measure(
            effort,
            _repeated(lambda: run_on_cpu(kernel, (1e-9, x, y, n), **launch)),
            _repeated(lambda: plain().axpy(*arguments)),
        )


def axpy(effort: Effort) -> Rounds:
    """One thread for each element, one worker."""
    return _axpy(effort, AXPY)


def grid_stride(effort: Effort) -> Rounds:
    """Blocks that stride through the arrays."""
    return _axpy(effort, GRID_STRIDE, grid=64, block=256)


def stencil(effort: Effort) -> Rounds:
    """Five points in two dimensions, blocks of 16 by 16, one worker."""
    n = 3000 if effort.entries >= 1_000_000 else 100
    kernel, u, v = CudaKernel(STENCIL, "stencil", block_size=(16, 16)), np.ones((n, n)), np.zeros((n, n))
    with _workers(1):
        return measure(
            effort,
            _repeated(lambda: run_on_cpu(kernel, (u, v, n, n), n_threads=(n, n))),
            _repeated(lambda: plain().stencil(_pointer(u), _pointer(v), n, n)),
        )


def call(effort: Effort) -> Rounds:
    """A call of a `Kernel` with 256 threads and four arguments, against calls of the compiled function from C."""
    kernel, x, y = CudaKernel(AXPY, "axpy"), np.ones(256), np.ones(256)
    called = Kernel(None, kernel)
    library = cpu_kernel(kernel).library()
    values = (ctypes.c_double(1e-9), _pointer(x), _pointer(y), ctypes.c_int(256))
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(value) for value in values))
    message = ctypes.create_string_buffer(4096)
    slot = ctypes.c_void_p()
    info = _Launch(
        (2, 1, 1),
        (128, 1, 1),
        0,
        ctypes.cast(message, ctypes.c_void_p),
        len(message),
        0,
        ctypes.cast(ctypes.byref(slot), ctypes.c_void_p),
        None,
    )

    def raw(number: int) -> float:
        started = time.perf_counter()
        plain().repeat(library._library.cunumpy_cpu_run, ctypes.byref(info), pointers, ctypes.c_ulonglong(2), number)
        return time.perf_counter() - started

    return measure(effort, _repeated(lambda: called(1e-9, x, y, 256, n_threads=256)), raw)


def _for_each(rounds: Rounds, count: int) -> Rounds:
    return [(ours / count, theirs / count) for ours, theirs in rounds]


def block_sum(effort: Effort) -> Rounds:
    """Sums of 256 elements with 9 barriers, time per thread, one worker."""
    return _block_sum(effort, BLOCK_SUM)


def block_sum_on_stacks(effort: Effort) -> Rounds:
    """The same, with the barrier in a function of its own, where kernels are not split."""
    wait = "__device__ void wait() { __syncthreads(); }\n"
    return _block_sum(effort, wait + BLOCK_SUM.replace("__syncthreads", "wait"))


def _block_sum(effort: Effort, source: str) -> Rounds:
    blocks = 2000 if effort.entries >= 1_000_000 else 10
    kernel, x, sums = CudaKernel(source, "block_sum", block_size=256), np.ones(256 * blocks), np.zeros(blocks)
    with _workers(1):
        rounds = measure(effort, _repeated(lambda: run_on_cpu(kernel, (x, sums), grid=blocks)))
    return _for_each(rounds, 256 * blocks)


def shuffle(effort: Effort) -> Rounds:
    """100 shuffles of each of 256 threads in a block, time per lane and shuffle, one worker."""
    blocks = 200 if effort.entries >= 1_000_000 else 2
    kernel, x = CudaKernel(SHUFFLES, "shuffles", block_size=256), np.ones(256 * blocks, np.int32)
    with _workers(1):
        rounds = measure(effort, _repeated(lambda: run_on_cpu(kernel, (x,), grid=blocks)))
    return _for_each(rounds, 256 * blocks * 100)


def workers(effort: Effort) -> Rounds:
    """A kernel that computes much and reads little, with two workers against one."""
    n = 100_000 if effort.entries >= 1_000_000 else 1000
    kernel, x = CudaKernel(COMPUTE, "logistic"), np.full(n, 0.5)

    def timer(count: int) -> Timer:
        def run(number: int) -> float:
            with _workers(count):
                return _repeated(lambda: run_on_cpu(kernel, (x, n), n_threads=n))(number)

        return run

    return measure(effort, timer(2), timer(1))


def elementwise(effort: Effort, workers: int = 1) -> Rounds:
    """Four operations as one loop, into a new array, beside NumPy's one after another."""
    n = 10_000_000 if effort.entries >= 1_000_000 else 10_000
    kernel = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y) + 2 * x", "combined")
    rng = np.random.default_rng(0)
    x, y = rng.random(n), rng.random(n)
    with _workers(workers):
        return measure(effort, _repeated(lambda: kernel(x, y)), _repeated(lambda: (x - y) * (x - y) + 2 * x))


def fused(effort: Effort, workers: int = 1) -> Rounds:
    """Five operations as one loop, beside the same function unfused."""
    n = 10_000_000 if effort.entries >= 1_000_000 else 10_000

    def distance(x: Any, y: Any) -> Any:
        return np.sqrt((x - y) ** 2 + 1.0) * x

    function = fuse(distance)
    rng = np.random.default_rng(0)
    x, y = rng.random(n), rng.random(n)
    with _workers(workers):
        return measure(effort, _repeated(lambda: function(x, y)), _repeated(lambda: distance(x, y)))


def reduction(effort: Effort) -> Rounds:
    """The Euclidean norm in one pass, one worker."""
    n = 10_000_000 if effort.entries >= 1_000_000 else 10_000
    kernel = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    x = np.random.default_rng(0).random(n)
    with _workers(1):
        return measure(effort, _repeated(lambda: kernel(x)), _repeated(lambda: np.sqrt((x * x).sum())))


def first_build(effort: Effort) -> Rounds:
    """Compile a kernel for the first time and run it."""
    return _builds(effort, fresh=True)


def cached_build(effort: Effort) -> Rounds:
    """Run a kernel for the first time in a process, compiled by an earlier one."""
    return _builds(effort, fresh=False)


def _builds(effort: Effort, *, fresh: bool) -> Rounds:
    rounds: Rounds = []
    x, y = np.ones(256), np.ones(256)

    def run(source: str) -> float:
        started = time.perf_counter()
        run_on_cpu(CudaKernel(source, "axpy"), (1.0, x, y, 256), n_threads=256)
        return time.perf_counter() - started

    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUNUMPY_EMULATION_CACHE"] = os.path.join(folder, "builds")
        try:
            run(AXPY)  # builds the launcher as well
            for number in range(effort.rounds):
                sources = [f"{AXPY}\n// {number} {turn}" if fresh else AXPY for turn in range(effort.tries)]
                rounds.append((min(map(run, sources)), 0.0))
        finally:
            del os.environ["CUNUMPY_EMULATION_CACHE"]
    return rounds
