"""Morton and Hilbert keys by NumPy, chunk by chunk; the same keys as the native library's."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CHUNK = 8192  # its temporaries stay in the cache

# How bits are spread, by the number of axes: move them up by so much, keep these; see cunumpy/morton.cuh.
_SPREAD: dict[int, tuple[tuple[int, int], ...]] = {
    2: (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ),
    3: (
        (32, 0x001F00000000FFFF),
        (16, 0x001F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ),
}
_ALL_BITS = {2: 0xFFFFFFFF, 3: 0x1FFFFF}


def point_keys(
    positions: np.ndarray, lower: np.ndarray, scale: np.ndarray, levels: int, hilbert: bool, keys: np.ndarray | None
) -> bool:
    """Write the keys of points (n, ndim), and return whether a coordinate is NaN; without `keys` only that."""
    n, ndim = positions.shape
    last = float(2**levels - 1)
    nan = False
    work = np.empty(min(n, _CHUNK))
    with np.errstate(all="ignore"):
        for begin, end in _chunks(n):
            cells = []
            for axis in range(ndim):
                x = work[: end - begin]
                np.subtract(positions[begin:end, axis], lower[axis], out=x, dtype=np.float64, casting="same_kind")
                x *= scale[axis]
                nan = nan or bool(np.isnan(x).any())
                if keys is not None:
                    np.fmax(x, 0.0, out=x)  # NaN becomes 0
                    np.fmin(x, last, out=x)
                    cells.append(x.astype(np.uint64))
            if keys is not None:
                keys[begin:end] = _keys(cells, levels, hilbert)
    return nan


def cell_keys(cells: Sequence[np.ndarray], levels: int, hilbert: bool, keys: np.ndarray) -> None:
    """Write the keys of cells: uint64 arrays of one dimension, of which the low `levels` bits count."""
    mask = np.uint64(2**levels - 1)
    for begin, end in _chunks(len(keys)):
        keys[begin:end] = _keys([axis[begin:end] & mask for axis in cells], levels, hilbert)


def key_cells(keys: np.ndarray, levels: int, hilbert: bool, cells: Sequence[np.ndarray]) -> None:
    """Write the cells of uint64 keys, of which the low ``ndim * levels`` bits count, to uint64 arrays."""
    ndim = len(cells)
    mask = np.uint64(2**levels - 1)
    for begin, end in _chunks(len(keys)):
        chunk = keys[begin:end]
        found = [_compacted(chunk >> np.uint64(axis), ndim) & mask for axis in range(ndim)]
        if hilbert:
            found.reverse()
            _untranspose(found, levels)
        for axis, values in zip(cells, found, strict=True):
            axis[begin:end] = values


def _chunks(n: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, n, _CHUNK):
        yield begin, min(begin + _CHUNK, n)


def _keys(cells: list[np.ndarray], levels: int, hilbert: bool) -> np.ndarray:
    """Return the keys of cells below ``2**levels``, which are overwritten."""
    if hilbert:
        _transpose(cells, levels)
        cells.reverse()
    ndim = len(cells)
    work = np.empty_like(cells[0])
    for axis, values in enumerate(cells):
        for shift, mask in _SPREAD[ndim]:
            np.left_shift(values, np.uint64(shift), out=work)
            values |= work
            values &= np.uint64(mask)
        if axis:
            values <<= np.uint64(axis)
            cells[0] |= values
    return cells[0]


def _compacted(values: np.ndarray, ndim: int) -> np.ndarray:
    """Return every ndim-th bit, from the lowest on, next to each other; `values` is overwritten."""
    steps = _SPREAD[ndim]
    kept = (*(mask for _, mask in reversed(steps[:-1])), _ALL_BITS[ndim])
    values &= np.uint64(steps[-1][1])
    work = np.empty_like(values)
    for (shift, _), mask in zip(reversed(steps), kept, strict=True):
        np.right_shift(values, np.uint64(shift), out=work)
        values |= work
        values &= np.uint64(mask)
    return values


# J. Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707, 381 (2004); see cunumpy/morton.cuh.


def _step(bit: int, first: np.ndarray, axis: np.ndarray) -> None:
    """If the bit of `axis` is set, invert the lower bits of `first`, else exchange them with those of `axis`."""
    below: Any = np.uint64(2**bit - 1)
    inverted = (axis >> np.uint64(bit)) & np.uint64(1)
    inverted *= below
    if axis is first:
        first ^= inverted
        return
    change = first ^ axis
    change &= below
    change |= inverted
    first ^= change
    change &= ~inverted
    axis ^= change


def _transpose(cells: Sequence[np.ndarray], levels: int) -> None:
    for bit in range(levels - 1, 0, -1):
        for axis in cells:
            _step(bit, cells[0], axis)
    for before, axis in pairwise(cells):
        axis ^= before
    odd = cells[-1] >> np.uint64(1)  # for every bit, whether an odd number of those above it is set
    for shift in (1, 2, 4, 8, 16):
        odd ^= odd >> np.uint64(shift)
    for axis in cells:
        axis ^= odd


def _untranspose(cells: Sequence[np.ndarray], levels: int) -> None:
    half = cells[-1] >> np.uint64(1)
    for axis in range(len(cells) - 1, 0, -1):
        cells[axis].__ixor__(cells[axis - 1])
    cells[0].__ixor__(half)
    for bit in range(1, levels):
        for other in reversed(cells):
            _step(bit, cells[0], other)
