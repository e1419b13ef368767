"""Sorting, gathering and compaction by NumPy, in pieces and in place where that is possible."""

from __future__ import annotations

import numpy as np

_FEW = 1024  # keys up to which NumPy's stable sort is as fast as anything
_PIECE = 1 << 16  # entries that are moved at once


def argsort(
    keys: np.ndarray, descending: bool, order: np.ndarray | None = None, sorted_keys: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Give the stable order of contiguous keys of a bool, integer or float dtype, and the sorted keys.

    -0.0 equals 0.0; NaN are last, whether the order descends or not. Results are written to the arrays that are given.
    """
    n = keys.size
    if n <= _FEW or keys.itemsize == 1 or (keys.itemsize == 2 and keys.dtype.kind != "f"):  # NumPy has a radix sort
        simple: np.ndarray = keys if not descending else -keys if keys.dtype.kind == "f" else ~keys
        found = simple.argsort(kind="stable")
    else:
        codes = _codes(keys, descending)
        if codes.itemsize == 2:
            found = codes.argsort(kind="stable")
        elif np.all(codes[1:] >= codes[:-1]):
            found = np.arange(n)
        else:
            found = _argsort_words(codes)
    if order is None:
        order = found
    else:
        order[:] = found
    if sorted_keys is None:
        sorted_keys = keys[order]
    else:
        keys.take(order, out=sorted_keys, mode="clip")
    return order, sorted_keys


def _codes(keys: np.ndarray, descending: bool) -> np.ndarray:
    """Give integers in whose order integers or floating-point numbers are to be sorted."""
    if keys.dtype.kind != "f":
        return ~keys if descending else keys
    bits = 8 * keys.itemsize
    word = np.dtype(f"u{keys.itemsize}").type
    codes: np.ndarray = keys.view(word).copy()
    codes[codes == word(1 << (bits - 1))] = 0  # -0.0
    negative = np.right_shift(codes, word(bits - 1)).astype(bool)
    np.bitwise_xor(codes, np.where(negative, ~word(0), word(1 << (bits - 1))), out=codes)
    if descending:
        np.invert(codes, out=codes)
    codes[np.isnan(keys)] = ~word(0)
    return codes


def _argsort_words(codes: np.ndarray) -> np.ndarray:
    """Sort words of leading bits of the codes above their indices, and what these bits do not decide once more.

    The words differ, so NumPy's vectorized sort, which is not stable, gives the stable order.
    """
    n = codes.size
    index_bits = (n - 1).bit_length()
    lowest, highest = int(codes.min()), int(codes.max())
    left = max(0, (highest - lowest).bit_length() + index_bits - 64)
    words = codes.astype(np.uint64)  # modulo 2^64
    words -= np.uint64(lowest % 2**64)
    words >>= np.uint64(left)
    words <<= np.uint64(index_bits)
    words |= np.arange(n, dtype=np.uint64)
    words.sort()
    order = (words & np.uint64((1 << index_bits) - 1)).view(np.int64)
    if left == 0:
        return order
    words >>= np.uint64(index_bits)
    equal = words[1:] == words[:-1]
    if not equal.any():
        return order
    undecided = np.zeros(n, bool)
    undecided[1:] = equal
    undecided[:-1] |= equal
    part = order[undecided]
    order[undecided] = part[np.argsort(codes[part], kind="stable")]
    return order


def sort_cells(cells: np.ndarray, n_cells: int, order: np.ndarray, offsets: np.ndarray) -> bool:
    """Write the stable order of contiguous integers, and where each of 0 .. n_cells - 1 begins.

    Returns whether all are in that range; nothing is written if not.
    """
    if cells.size and not (int(cells.min()) >= 0 and int(cells.max()) < n_cells):
        return False
    argsort(cells, False, order)
    offsets[:1] = 0
    np.cumsum(np.bincount(cells.astype(np.int64, copy=False), minlength=n_cells), out=offsets[1:])
    return True


def take(array: np.ndarray, order: np.ndarray, axis: int, out: np.ndarray) -> None:
    """Write the entries of an array along an axis in an order of valid indices to a C-contiguous array."""
    np.take(array, order, axis=axis, out=out, mode="clip")  # another mode would go through a buffer


def compact(mask: np.ndarray, arrays: list[tuple[np.ndarray, int]]) -> int:
    """Move the entries along its axis that a contiguous mask keeps to the front of each array, and count them."""
    for array, axis in arrays:
        entries = np.moveaxis(array, axis, 0)
        place = 0
        for start in range(0, len(entries), _PIECE):
            kept = entries[start : start + _PIECE][mask[start : start + _PIECE]]
            entries[place : place + len(kept)] = kept
            place += len(kept)
    return int(np.count_nonzero(mask))
