"""Particle algorithms against NumPy's way to the same result.

Each function measures one row of the table in `benchmarks.rows`. What takes its arguments has random ones, as markers
have that were not sorted for long.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np

from benchmarks._measure import Effort, Rounds, measure, statement
from cunumpy import algorithms

SEGMENTS = 10_000

SORT = "order = keys.argsort(kind='stable'); keys.take(order)"


def morton_keys(effort: Effort) -> Rounds:
    """``morton_keys`` of 3-D positions with 21 levels against a copy of the positions."""
    return _measure(
        effort,
        "algorithms.morton_keys(positions, lower, upper, 21)",
        "positions.copy()",
        positions=_random().random((effort.entries, 3)),
        lower=np.zeros(3),
        upper=np.ones(3),
    )


def sort_wide(effort: Effort) -> Rounds:
    """``sort_by_key`` with keys of 63 bits and positions against a stable argsort and takes."""
    return _sort_with_positions(effort, 1 << 63)


def sort_narrow(effort: Effort) -> Rounds:
    """``sort_by_key`` with keys below 2^20 and positions against a stable argsort and takes."""
    return _sort_with_positions(effort, 1 << 20)


def _sort_with_positions(effort: Effort, largest: int) -> Rounds:
    return _measure(
        effort,
        "algorithms.sort_by_key(keys, positions)",
        f"{SORT}; positions.take(order, axis=0)",
        keys=_random().integers(0, largest, effort.entries, np.uint64),
        positions=_random().random((effort.entries, 3)),
    )


def sort_of(effort: Effort, *, entries: int, bits: int | None) -> Rounds:
    """``sort_by_key`` of keys alone, integers of so many bits or float64, against a stable argsort and a take.

    Each call has other keys, out of a hundred where they are few: a processor learns to foresee the branches of a merge
    sort that it has done before, which makes that several times as fast as programs see it.
    """
    entries = min(entries, effort.entries)
    random = _random()
    width = 64 if bits is None else next(width for width in (8, 16, 32, 64) if bits <= width)
    sets = [
        random.standard_normal(entries)
        if bits is None
        else random.integers(0, 1 << bits, entries, np.dtype(f"uint{width}"))
        for _ in range(100 if entries <= 10_000 else 1)
    ]
    return _measure(
        effort, "keys = next(sets); algorithms.sort_by_key(keys)", f"keys = next(sets); {SORT}", sets=cycle(sets)
    )


def sort_few(effort: Effort) -> Rounds:
    """``sort_by_key`` of 500 keys against a stable argsort and a take."""
    return sort_of(effort, entries=500, bits=64)


def segment_sum(effort: Effort) -> Rounds:
    """``segment_sum`` of a vector against a weighted ``numpy.bincount``."""
    return _measure(
        effort,
        "algorithms.segment_sum(values, keys, segments)",
        "numpy.bincount(keys, values, segments)",
        values=_random().random(effort.entries),
        keys=_random().integers(0, SEGMENTS, effort.entries),
        segments=SEGMENTS,
    )


def segment_sum_rows(effort: Effort) -> Rounds:
    """``segment_sum`` of rows of three against one weighted ``numpy.bincount`` per column."""
    return _measure(
        effort,
        "algorithms.segment_sum(values, keys, segments)",
        "numpy.stack([numpy.bincount(keys, column, segments) for column in values.T], axis=1)",
        values=_random().random((effort.entries, 3)),
        keys=_random().integers(0, SEGMENTS, effort.entries),
        segments=SEGMENTS,
    )


def cell_offsets(effort: Effort) -> Rounds:
    """``cell_offsets`` with as many cells as entries against ``numpy.bincount`` and ``numpy.cumsum``."""
    n = effort.entries
    return _measure(
        effort,
        "algorithms.cell_offsets(cells, n)",
        "numpy.cumsum(numpy.bincount(cells, minlength=n))",
        cells=np.sort(_random().integers(0, n, n)),
        n=n,
    )


def compact(effort: Effort) -> Rounds:
    """``compact_by_mask`` of rows of three against ``positions[mask]``."""
    return _measure(
        effort,
        "algorithms.compact_by_mask(mask, positions)",
        "positions[mask]",
        mask=_random().random(effort.entries) < 0.9,
        positions=_random().random((effort.entries, 3)),
    )


def _random() -> np.random.Generator:
    return np.random.default_rng(1)


def _measure(effort: Effort, ours: str, theirs: str, **names: Any) -> Rounds:
    names |= {"algorithms": algorithms, "numpy": np}
    return measure(effort, statement(ours, **names), statement(theirs, **names))
