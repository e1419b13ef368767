"""The same computation in each kind of kernel, on NumPy arrays: the table of ``docs/kernel_kinds.md``.

``python -m benchmarks.kernel_kinds`` measures and prints it; ``--quick`` tries everything once.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from benchmarks._measure import FULL, QUICK, Effort, Timer
from benchmarks._report import machine_text
from cunumpy import kernels

#: A kind's name, and what is called with the arrays of a computation.
Kind: TypeAlias = tuple[str, Callable[..., Any]]

COMBINED = """
extern "C" __global__ void combined(const double* x, const double* y, double* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = (x[i] - y[i]) * (x[i] - y[i]) + 2 * x[i];
}"""

NORM = """
extern "C" __global__ void squares(const double* x, double* sums, int n) {
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * x[i];
    __shared__ double of_all[256];
    of_all[threadIdx.x] = sum;
    __syncthreads();
    for (int width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) of_all[threadIdx.x] += of_all[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = of_all[0];
}"""


def combined() -> list[Kind]:
    """Return ``(x - y) * (x - y) + 2 * x`` in all kinds; each makes a new array."""

    def numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x - y) * (x - y) + 2 * x

    elementwise = kernels.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y) + 2 * x", "combined")
    raw = kernels.RawKernel(COMBINED, "combined")
    checked = kernels.Kernel(None, kernels.CudaKernel(COMBINED, "combined"))

    def launched(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        z = np.empty(x.size)
        raw((-(-x.size // 256),), (256,), (x, y, z, x.size))
        return z

    def called(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        z = np.empty(x.size)
        checked(x, y, z, x.size, n_threads=x.size)
        return z

    kinds: list[Kind] = [("NumPy", numpy)]
    kinds += _fused(numpy)
    kinds += [("`ElementwiseKernel`", elementwise), ("`RawKernel`", launched), ("`Kernel` of a `CudaKernel`", called)]
    return kinds + _in_python_syntax()


def norm() -> list[Kind]:
    """Return the Euclidean norm in the kinds that reduce."""

    def numpy(x: np.ndarray) -> Any:
        return np.sqrt((x * x).sum())

    reduction = kernels.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    raw = kernels.RawKernel(NORM, "squares")

    def launched(x: np.ndarray) -> Any:
        sums = np.empty(min(64, -(-x.size // 256)))
        raw((sums.size,), (256,), (x, sums, x.size))
        return np.sqrt(sums.sum())

    kinds: list[Kind] = [("NumPy", numpy)]
    return [*kinds, *_fused(numpy), ("`ReductionKernel`", reduction), ("`RawKernel`", launched)]


def _fused(function: Callable[..., Any]) -> list[Kind]:
    """Return the fused function, if `fuse` compiles on NumPy arrays."""
    fused = kernels.fuse(function)
    return [("`fuse`", fused)] if hasattr(fused, "source") else []


def _in_python_syntax() -> list[Kind]:
    if importlib.util.find_spec("cunumpy.kernels.jit") is None:
        return []
    jit: Any = importlib.import_module("cunumpy.kernels.jit")

    @jit.rawkernel()
    def combined_in_python(x: Any, y: Any, z: Any, n: Any) -> None:
        i = jit.grid(1)
        if i < n:
            z[i] = (x[i] - y[i]) * (x[i] - y[i]) + 2 * x[i]

    def launched(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        z = np.empty(x.size)
        combined_in_python((-(-x.size // 256),), (256,), (x, y, z, x.size))
        return z

    return [("`jit.rawkernel`", launched)]


@contextlib.contextmanager
def _workers(count: int) -> Iterator[None]:
    before = os.environ.get("CUNUMPY_NUM_THREADS")
    os.environ["CUNUMPY_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["CUNUMPY_NUM_THREADS"]
        else:
            os.environ["CUNUMPY_NUM_THREADS"] = before


def _repeated(call: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Timer:
    def timer(number: int) -> float:
        started = time.perf_counter()
        for _ in range(number):
            call(*arrays)
        return time.perf_counter() - started

    return timer


def seconds(effort: Effort, kinds: Sequence[Kind], arrays: Sequence[np.ndarray]) -> list[float]:
    """Return the seconds of a call of each kind: the fastest of all tries, which are made in turns."""
    timers = [_repeated(call, arrays) for _, call in kinds]
    numbers = []
    for timer in timers:
        timer(2)  # compiles, and measures what a thread costs
        numbers.append(max(1, int(effort.seconds / max(timer(1), 1e-9))))
    best = [float("inf")] * len(kinds)
    for _ in range(effort.rounds * effort.tries):
        for place, (timer, number) in enumerate(zip(timers, numbers, strict=True)):
            best[place] = min(best[place], timer(number) / number)
    return best


def table(effort: Effort, kinds: Sequence[Kind], count: int) -> list[str]:
    """Return the rows of a computation of `count` arrays: small, middle, large, and large by two workers."""
    large = 10_000_000 if effort.entries >= 1_000_000 else 10_000
    rng = np.random.default_rng(0)
    columns = []
    for size, workers in ((10, 1), (10_000, 1), (large, 1), (large, 2)):
        arrays = [rng.random(size) for _ in range(count)]
        with _workers(workers):
            columns.append(seconds(effort, kinds, arrays))
    rows = []
    for name, few, some, one, two in zip([name for name, _ in kinds], *columns, strict=True):
        rows.append(f"| {name} | {few * 1e6:.2g} | {some * 1e6:.2g} | {one * 1e3:.3g} | {two * 1e3:.3g} |")
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_kinds", description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="try everything once; the figures mean little")
    effort = QUICK if parser.parse_args(arguments).quick else FULL
    print(machine_text())
    for title, kinds, count in (("(x - y) * (x - y) + 2 * x", combined(), 2), ("norm of x", norm(), 1)):
        print(f"\n| `{title}` | 10, us | 10^4, us | 10^7, ms | 10^7, two workers, ms |")
        print("|---|---|---|---|---|", *table(effort, kinds, count), sep="\n")


if __name__ == "__main__":
    main()
