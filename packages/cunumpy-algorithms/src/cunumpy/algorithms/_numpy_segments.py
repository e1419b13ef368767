"""Segments on the host by NumPy alone, in the same order of additions as the native library.

Keys and indices are contiguous and of native byte order; values may have any layout and byte order. A key that is
negative or not below the number of segments drops its row. Functions with an ``int`` result return the first row whose
key is not below the number of segments, or -1.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 16  # rows


def plan_keys(keys: np.ndarray, n_segments: int, out: np.ndarray) -> tuple[int, bool]:
    """Write keys as a plan keeps them, with -1 for every dropped row; tell whether they never decrease, too."""
    rising = True
    for start in range(0, keys.size, _PIECE):
        piece = keys[start : start + _PIECE]
        out[start : start + _PIECE] = np.where(_kept(piece, n_segments), piece, piece.dtype.type(0)).astype(out.dtype)
        out[start : start + _PIECE][~_kept(piece, n_segments)] = -1
        rising = rising and _rises(keys[max(start - 1, 0) : start + _PIECE])
    return _first_too_large(keys, n_segments), rising


def check_keys(keys: np.ndarray, n_segments: int, *, wrap: bool = False) -> tuple[int, bool]:
    """Look for the first key that is too large, with `wrap` also for the first below ``-n_segments``."""
    first = _first_too_large(keys, n_segments, wrap=wrap)
    rising = all(_rises(keys[max(start - 1, 0) : start + _PIECE]) for start in range(0, keys.size, _PIECE))
    return first, rising


def sum_into(accumulators: np.ndarray, values: np.ndarray, keys: np.ndarray, *, rising: bool = False) -> int:
    """Add the rows of `values` to accumulators that hold zeros: float64, complex128, their wider kin, or 64 bits."""
    rows, places, first = _taking_part(keys, len(accumulators))
    if places.size == 0 or accumulators.size == 0:
        return first
    kind, wide = accumulators.dtype.kind, accumulators.dtype.char in "gG"
    with np.errstate(all="ignore"):
        if accumulators.size > len(accumulators) * places.size:  # more columns than rows
            for row, place in zip(range(len(values)) if rows is None else rows, places, strict=True):
                accumulators[place] += values[row].astype(accumulators.dtype, copy=False)
            return first
        for column, total in _columns(values, accumulators):
            taken = column if rows is None else column[rows]
            if kind in "iu" or wide:
                np.add.at(total, places, taken.astype(accumulators.dtype, copy=False))
            elif kind == "c":
                total.real = np.bincount(places, taken.real, len(accumulators))
                total.imag = np.bincount(places, taken.imag, len(accumulators))
            else:
                total[...] = np.bincount(places, taken, len(accumulators))
    return first


def extreme_into(
    accumulators: np.ndarray, values: np.ndarray, keys: np.ndarray, *, maximum: bool, rising: bool = False
) -> int:
    """Take the minimum or maximum with accumulators that hold its identity; NaN wins."""
    rows, places, first = _taking_part(keys, len(accumulators))
    if places.size and accumulators.size:
        update = (np.maximum if maximum else np.minimum).at
        for column, extreme in _columns(values, accumulators):
            taken = column if rows is None else column[rows]
            update(extreme, places, taken.astype(accumulators.dtype, copy=False))
    return first


def count_into(counts: np.ndarray, keys: np.ndarray, *, rising: bool = False) -> int:
    """Count the rows of each segment."""
    _, places, first = _taking_part(keys, counts.size)
    counts[...] = np.bincount(places, minlength=counts.size)
    return first


def gather_into(out: np.ndarray, values: np.ndarray, keys: np.ndarray) -> None:
    """Write to each row of `out` the values of its segment, zero where the row is dropped."""
    for start in range(0, keys.size, _PIECE):
        piece = keys[start : start + _PIECE]
        kept = _kept(piece, len(values))
        target = out[start : start + _PIECE]
        if kept.all():
            target[...] = values[piece]
        else:
            target[...] = 0
            target[kept] = values[piece[kept]]


def scatter_into(out: np.ndarray, index: np.ndarray, values: np.ndarray) -> None:
    """Add the rows of `values` to the rows of `out` that a checked index names, in the dtype of `out`."""
    with np.errstate(all="ignore"):
        np.add.at(out, index, values)


def find_boundaries(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | int:
    """Find the runs of sorted keys, or the first key that is smaller than the one before."""
    starts = np.flatnonzero(keys[1:] != keys[:-1]).astype(np.int64, copy=False)
    starts = np.concatenate([np.zeros(min(1, keys.size), np.int64), starts + 1])
    unique = keys[starts]
    falls = np.flatnonzero(unique[1:] < unique[:-1])
    if falls.size:
        return int(starts[falls[0] + 1])
    return unique, starts, np.append(starts[1:], np.full(min(1, keys.size), keys.size, np.int64))


def cell_offsets_into(offsets: np.ndarray, cells: np.ndarray) -> int:
    """Write where each cell begins, or return the first row that is out of order or out of range."""
    n_cells = offsets.size - 1
    for start in range(0, cells.size, _PIECE):
        piece = cells[max(start - 1, 0) : start + _PIECE]
        wrong = ~_kept(piece, n_cells)
        wrong[1:] |= piece[1:] < piece[:-1]
        if wrong.any():
            return max(start - 1, 0) + int(wrong.argmax())
    offsets[0] = 0
    if cells.size:
        np.cumsum(np.bincount(cells.astype(np.int64, copy=False), minlength=n_cells), out=offsets[1:])
    else:
        offsets[1:] = 0
    return -1


def _kept(keys: np.ndarray, n_segments: int) -> np.ndarray:
    # A Python integer beyond the dtype's range is compared exactly
    kept: np.ndarray = keys < n_segments
    return kept if keys.dtype.kind == "u" else kept & (keys >= 0)


def _rises(keys: np.ndarray) -> bool:
    return bool((keys[1:] >= keys[:-1]).all())


def _first_too_large(keys: np.ndarray, n_segments: int, *, wrap: bool = False) -> int:
    for start in range(0, keys.size, _PIECE):
        piece = keys[start : start + _PIECE]
        wrong = piece >= n_segments
        if wrap and keys.dtype.kind == "i":
            wrong |= piece < -n_segments
        if wrong.any():
            return start + int(wrong.argmax())
    return -1


def _taking_part(keys: np.ndarray, n_segments: int) -> tuple[np.ndarray | None, np.ndarray, int]:
    """Give the rows that take part (None: all), their segments, and the first row whose key is too large."""
    if keys.size == 0:
        return None, np.zeros(0, np.intp), -1
    low, high = keys.min(), keys.max()
    if operator.index(low) >= 0 and operator.index(high) < n_segments:
        return None, keys.astype(np.intp, copy=False), -1
    rows = np.flatnonzero(_kept(keys, n_segments))
    return rows, keys[rows].astype(np.intp, copy=False), _first_too_large(keys, n_segments)


def _columns(values: np.ndarray, accumulators: np.ndarray) -> Iterator[tuple[Any, Any]]:
    for column in np.ndindex(values.shape[1:]):
        yield values[(slice(None), *column)], accumulators[(slice(None), *column)]
