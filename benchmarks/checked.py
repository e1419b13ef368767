"""Checked launches on the CPU device beside unchecked ones: the textbook programs of the tests.

Launches have sizes at which they take some 0.1 ms or more unchecked, on all cores, so that what a launch costs whatever
its size does not count for much. Kernels for a single block are left out, which can not have such a size. A row of the
table is a program; its figure is that of its kernel with the largest ratio.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._measure import Effort, Rounds, Timer, figures, measure
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu

FOLDER = Path(__file__).parent.parent / "tests" / "cunumpy-kernels" / "textbook"


class Launch(NamedTuple):
    """A kernel of a textbook program with arguments.

    Attributes
    ----------
    name : str
    args : tuple
    options : dict
        How it is launched, and `template_args` of the kernel.
    """

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]

    def timer(self, program: str, *, check: bool) -> Timer:
        """Return the timer of this launch, as it is, or checked."""
        options = dict(self.options)
        template_args = options.pop("template_args", None)
        kernel = CudaKernel.from_file(FOLDER / f"{program}.cu", self.name, template_args=template_args)

        def run(number: int) -> float:
            os.environ["CUNUMPY_CPU_CHECK"] = str(int(check))
            try:
                started = time.perf_counter()
                for _ in range(number):
                    run_on_cpu(kernel, self.args, **options)
                return time.perf_counter() - started
            finally:
                del os.environ["CUNUMPY_CPU_CHECK"]

        return run


def _launch(name: str, *args: Any, **options: Any) -> Launch:
    return Launch(name, args, options)


def _bitonic_sort(n: int) -> Iterator[Launch]:
    keys = np.random.default_rng(0).integers(0, 2**32, 256 * n, dtype=np.uint32)
    yield _launch("sort_step", keys, 512, 64, grid=n, block=256)


def _compaction(n: int) -> Iterator[Launch]:
    x = np.random.default_rng(0).integers(-5, 5, 96 * n).astype(np.int32)
    for name in ("by_warps", "by_groups", "in_order"):  # nothing is kept, so that counts stay as they are
        grid = 1 if name == "in_order" else n
        count = np.zeros(1, np.int32 if name == "in_order" else np.uint32)
        yield _launch(name, -abs(x), np.zeros_like(x), count, x.size, grid=grid, block=96)


def _convolution(n: int) -> Iterator[Launch]:
    x = np.random.default_rng(0).random((512, n), np.float32)
    for name in ("rows", "columns"):
        yield _launch(name, x, np.zeros_like(x), 512, n, grid=(n // 16, 32), block=(16, 16))


def _deposition(n: int) -> Iterator[Launch]:
    rng = np.random.default_rng(0)
    x, charge, density = rng.random(100 * n), rng.random(100 * n), np.zeros(400)
    args = x, charge, density, 0.0025, 400, x.size
    yield _launch("by_atomics", *args, block=128, n_threads=x.size)
    yield _launch("by_blocks", *args, block=128, grid=8, shared_mem=400 * 8)


def _fourier_transform(n: int) -> Iterator[Launch]:
    x = np.random.default_rng(0).random((n // 10, 1024), np.float32).view(np.complex64)
    yield _launch("transform", x, np.zeros_like(x), grid=len(x), block=256, shared_mem=8 * 512)


def _groups(n: int) -> Iterator[Launch]:
    x = np.random.default_rng(0).integers(-100, 100, 64 * n).astype(np.int32)
    yield _launch("sums_of_tiles", x, np.zeros(8 * n, np.int32), np.zeros(n, np.int32), x.size, grid=n, block=64)


def _histogram(n: int) -> Iterator[Launch]:
    text, counts = np.random.default_rng(0).integers(0, 256, 128 * n).astype(np.uint8), np.zeros(256, np.uint32)
    for name in ("global_counts", "private_counts"):
        yield _launch(name, text, counts, text.size, grid=n, block=128)


def _matrix_product(n: int) -> Iterator[Launch]:
    n = max(16, n // 64 * 16)
    a, b = np.random.default_rng(0).random((2, n, n))
    for kind in (("naive", "double"), ("tiled", "double", "8"), ("tiled", "float", "16")):
        dtype, side = {"double": np.float64, "float": np.float32}[kind[1]], int(kind[2]) if len(kind) > 2 else 16
        args = a.astype(dtype), b.astype(dtype), np.zeros((n, n), dtype), n, n, n
        grid = (n // side, n // side)
        yield _launch(kind[0], *args, template_args=kind[1:], grid=grid, block=(side, side))


def _monte_carlo(n: int) -> Iterator[Launch]:
    yield _launch("quarter", 5, np.zeros(1, np.uint64), 100 * n, grid=8, block=64)


def _n_body(n: int) -> Iterator[Launch]:
    bodies = np.random.default_rng(0).random((n, 4), np.float32)
    result = np.zeros((n, 3), np.float32)
    yield _launch("accelerations", bodies, result, 0.01, n, grid=-(-n // 64), block=64, shared_mem=64 * 16)


def _pixels(n: int) -> Iterator[Launch]:
    image = np.random.default_rng(0).integers(0, 256, (1000 * n, 4)).astype(np.uint8)
    yield _launch("grey", image, np.zeros(len(image), np.uint8), len(image), n_threads=len(image))
    yield _launch("mandelbrot", np.zeros((240, n), np.int32), n, 240, 100, grid=(n // 8, 30), block=(8, 8))


def _radix_sort(n: int) -> Iterator[Launch]:
    keys = np.random.default_rng(0).integers(0, 2**32, 256, dtype=np.uint32)
    yield _launch("sort_by_bits", keys, 256, grid=1, block=256)


def _reduction(n: int) -> Iterator[Launch]:
    x, sums = np.random.default_rng(0).random(256 * n), np.zeros(n)
    for name in ("sequential", "two_loads", "interleaved", "without_divergence", "last_warp"):
        grid = n // 2 if name == "two_loads" else n // 20 if name == "last_warp" else n  # which has stacks of threads
        yield _launch(name, x, sums, x.size, grid=grid, block=256, shared_mem=2048)
    yield _launch("grid_stride", x, np.zeros(1), x.size, grid=16, block=128)
    yield _launch("single_pass", x, np.zeros(16), np.zeros(1), x.size, grid=16, block=128)


def _scan(n: int) -> Iterator[Launch]:
    x = np.random.default_rng(0).random(1024 * n)
    totals = np.zeros(n)
    args = x, np.zeros_like(x), totals, x.size
    yield _launch("scan_blocks", *args, template_args=("double",), grid=n // 10, block=1024)
    yield _launch("add_offsets", x.copy(), totals, x.size, template_args=("double",), grid=n, block=1024)


def _shortest_paths(n: int) -> Iterator[Launch]:
    n = max(32, n // 64 * 16)
    distance = np.random.default_rng(0).integers(1, 1000, (n, n)).astype(np.int32)
    yield _launch("cross", distance, n, 0, grid=(n // 16, 2), block=(16, 16))
    yield _launch("others", distance, n, 0, grid=(n // 16, n // 16), block=(16, 16))


def _sparse_product(n: int) -> Iterator[Launch]:
    rng, rows, width = np.random.default_rng(0), 20 * n, 27
    starts, columns = np.arange(0, rows * width + 1, width, dtype=np.int32), rng.integers(0, rows, (rows, width))
    columns = np.sort((np.arange(rows)[:, None] + columns % 100) % rows, axis=1).astype(np.int32)
    values, x, y = rng.random((rows, width)), rng.random(rows), np.zeros(rows)
    csr = starts, columns.reshape(-1), values.reshape(-1), x, y, rows
    yield _launch("csr_scalar", *csr, n_threads=rows)
    yield _launch("csr_vector", *csr[:-1], rows // 20, n_threads=32 * (rows // 20))
    yield _launch("ell", columns.T.copy(), values.T.copy(), x, y, rows, width, n_threads=rows)


def _stencil(n: int) -> Iterator[Launch]:
    u = np.random.default_rng(0).random((n, n))
    yield _launch("moving_sum", u, np.zeros_like(u), u.size, grid=-(-u.size // 128), block=128)
    yield _launch("jacobi", u, np.zeros_like(u), n, n, grid=(-(-n // 16), -(-n // 8)), block=(16, 8))
    grid = u[:, : n // 32 * 32].astype(np.float32).reshape(32, n // 32, n)
    yield _launch(
        "laplace",
        grid,
        np.zeros_like(grid),
        *grid.shape[::-1],
        grid=(-(-n // 16), -(-grid.shape[1] // 8)),
        block=(16, 8),
    )


def _transpose(n: int) -> Iterator[Launch]:
    x = np.random.default_rng(0).random((n, n), np.float32)
    yield _launch("naive", x, np.zeros_like(x), n, n, grid=(-(-n // 32), -(-n // 8)), block=(32, 8))
    yield _launch("tiled", x, np.zeros_like(x), n, n, grid=(-(-n // 32), -(-n // 32)), block=(32, 8))


def _tridiagonal(n: int) -> Iterator[Launch]:
    d = np.random.default_rng(0).random((n, 128))
    a, b, c = np.zeros_like(d), np.ones_like(d), np.zeros_like(d)  # so that d stays as it is from launch to launch
    yield _launch("cyclic_reduction", a, b, c, d, np.zeros_like(d), grid=-(-n // 20), block=128, shared_mem=32 * 128)
    yield _launch("thomas", a, b, c, d, np.zeros_like(d), 128, n, n_threads=n)


PROGRAMS: dict[str, tuple[Callable[[int], Iterator[Launch]], int]] = {
    "bitonic_sort": (_bitonic_sort, 1000),
    "compaction": (_compaction, 200),
    "convolution": (_convolution, 320),
    "deposition": (_deposition, 1000),
    "fourier_transform": (_fourier_transform, 320),
    "groups": (_groups, 100),
    "histogram": (_histogram, 1000),
    "matrix_product": (_matrix_product, 512),
    "monte_carlo": (_monte_carlo, 200),
    "n_body": (_n_body, 512),
    "pixels": (_pixels, 200),
    "radix_sort": (_radix_sort, 1),
    "reduction": (_reduction, 1000),
    "scan": (_scan, 100),
    "shortest_paths": (_shortest_paths, 1000),
    "sparse_product": (_sparse_product, 1000),
    "stencil": (_stencil, 500),
    "transpose": (_transpose, 500),
    "tridiagonal": (_tridiagonal, 1000),
}
"""The programs, and how large they are."""


def launches(program: str, effort: Effort) -> Iterator[Launch]:
    """Yield the launches of a program."""
    make, size = PROGRAMS[program]
    if effort.entries >= 1_000_000:
        yield from make(size)
    else:
        yield next(make(min(size, 64)))


def program(name: str, effort: Effort) -> Rounds:
    """Measure that kernel of a program whose launch gets slowest when it is checked."""
    found = [
        measure(effort, one.timer(name, check=True), one.timer(name, check=False)) for one in launches(name, effort)
    ]
    return max(found, key=lambda rounds: statistics.median(figures(rounds, "")))
