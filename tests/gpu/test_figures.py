"""What the packages cost on a GPU, beside what CuPy and the hardware do; no time is asserted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np

import cunumpy as xp
from cunumpy import algorithms, cuda, kernels, rng
from cunumpy.kernel_testing import fake_cupy_active

Row = tuple[str, str, float, float]
"""What, against what, the figure, and its target."""


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the shortest time that the device takes for some work; once before it is compiled and allocated."""
    work()
    best = float("inf")
    for _ in range(repeats):
        start, stop = cuda.create_event(timing=True), cuda.create_event(timing=True)
        cuda.record_event(start)
        work()
        cuda.record_event(stop)
        best = min(best, cuda.elapsed(start, stop))
    return best


def bandwidth(n: int) -> float:
    """Return the bytes per second that a copy from device to device reads and writes."""
    source, target = cupy.zeros(n), cupy.empty(n)
    return 2 * source.nbytes / seconds(lambda: cupy.copyto(target, source))


def _wave(x: Any, y: Any) -> Any:
    return xp.sqrt(x * x + y) * xp.exp(-x)


def _cupy_wave(x: Any, y: Any) -> Any:
    return cupy.sqrt(x * x + y) * cupy.exp(-x)


def rows(n: int) -> Iterator[Row]:
    """Measure each row with `n` elements.

    Parameters
    ----------
    n : int
        The targets are for 10^8, which take about 10 GB of memory.

    Yields
    ------
    tuple
        One `Row`.
    """
    numbers, ids = cupy.random.RandomState(1), cupy.arange(n)
    generator = cupy.random.Generator(cupy.random.Philox4x3210(1))
    ratio = seconds(lambda: rng.philox_uniform(7, ids, 3)) / seconds(lambda: generator.random(n))
    yield "philox_uniform", "cupy.random, Philox", ratio, 1.1

    copied = bandwidth(n)
    values, segments = numbers.random_sample(n), numbers.randint(0, max(n // 100, 1), n)
    moved = values.nbytes + segments.nbytes + 8 * max(n // 100, 1)
    time = seconds(lambda: algorithms.segment_sum(values, segments, max(n // 100, 1)))
    yield "segment_sum", "bandwidth of a copy, at least", moved / time / copied, 0.7

    mask = values < 0.5
    moved = mask.nbytes + values.nbytes + int(mask.sum()) * values.itemsize
    time = seconds(lambda: algorithms.compact_by_mask(mask, values))
    yield "compact_by_mask", "bandwidth of a copy, at least", moved / time / copied, 0.7

    points = numbers.random_sample((n // 3 or 1, 3))
    time = seconds(lambda: algorithms.morton_keys(points, [0.0] * 3, [1.0] * 3, 21))
    yield "morton_keys", "bandwidth of a copy, at least", (points.nbytes + 8 * len(points)) / time / copied, 0.7

    keys = numbers.randint(0, 2**62, n)
    reference = seconds(lambda: cupy.take(values, cupy.argsort(keys)))
    yield (
        "sort_by_key, 64 bits",
        "cupy.argsort and take",
        seconds(lambda: algorithms.sort_by_key(keys, values)) / reference,
        1.0,
    )

    other = values + 1.0
    fused, theirs = kernels.fuse(_wave), cupy.fuse(_cupy_wave)
    yield "fuse", "cupy.fuse", seconds(lambda: fused(values, other)) / seconds(lambda: theirs(values, other)), 1.02

    staging, pinned = xp.memory.HostStaging((n,), np.float64, buffers=2), cuda.empty_pinned(n)
    reference = seconds(lambda: values.get(out=pinned, blocking=False))
    yield (
        "HostStaging.copy",
        "copy to page-locked memory",
        seconds(lambda: staging.copy(values).result()) / reference,
        1.05,
    )


def test_what_algorithms_cost(capsys):
    """Print each figure; each has to be measured."""
    n = 3000 if fake_cupy_active() else 100_000_000 if cuda.memory_info()[0] > 16 * 2**30 else 1_000_000
    found = list(rows(n))
    assert len(found) == 7
    assert all(figure > 0 for _, _, figure, _ in found)
    with capsys.disabled():
        print(f"\n\n| {n} elements | against | figure | target |\n|---|---|---|---|")
        for what, against, figure, target in found:
            print(f"| {what} | {against} | {figure:.2f} | {target} |")
