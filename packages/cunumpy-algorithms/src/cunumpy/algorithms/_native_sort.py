"""Sorting, gathering and compaction by the native library; `_numpy_sort` says what the functions do."""

from __future__ import annotations

from ctypes import c_int, c_longlong, c_void_p
from typing import TYPE_CHECKING

import numpy as np

from cunumpy._threads import threads_for
from cunumpy.algorithms import _numpy_sort
from cunumpy.algorithms._library import HOST
from cunumpy.cuda._host_library import address

if TYPE_CHECKING:
    from typing import Any

_GRAIN = 1 << 15  # entries from which a thread pays
_COMPACT_GRAIN = 1 << 19  # the same for compaction, which is bound by memory, and whose threads wait for each other
_BLOCK = 4096  # entries that the library compacts at once
_FEW = 256  # entries up to which NumPy is done before the library is called
_FEW_BY_SIZE = {1: 8192, 2: 4096}  # NumPy has a radix sort for small integers, too

_TYPES: dict[np.dtype[Any], int] = {
    np.dtype(name): number
    for number, name in enumerate(("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"))
}
_TYPES[np.dtype(np.bool_)] = _TYPES[np.dtype(np.uint8)]

assert HOST.library is not None
_argsort = HOST.library.cunumpy_algorithms_argsort
_argsort.restype = c_int
_argsort.argtypes = [c_void_p, c_int, c_int, c_longlong, c_void_p, c_void_p, c_void_p, c_int]
_sort_cells = HOST.library.cunumpy_algorithms_sort_cells
_sort_cells.restype = c_int
_sort_cells.argtypes = [c_void_p, c_int, c_longlong, c_longlong, c_void_p, c_void_p, c_void_p, c_int]
_gather = HOST.library.cunumpy_algorithms_gather
_gather.restype = None
_gather.argtypes = [
    *(c_void_p, c_longlong, c_longlong, c_void_p, c_longlong, c_longlong),
    *(c_longlong, c_longlong, c_void_p, c_longlong, c_int),
]
_mask_counts = HOST.library.cunumpy_algorithms_mask_counts
_mask_counts.restype = None
_mask_counts.argtypes = [c_void_p, c_longlong, c_void_p, c_int]
_compact = HOST.library.cunumpy_algorithms_compact
_compact.restype = None
_compact.argtypes = [
    *(c_void_p, c_longlong, c_void_p, c_void_p, c_void_p),
    *(c_longlong, c_longlong, c_longlong, c_longlong, c_int),
]


def argsort(
    keys: np.ndarray, descending: bool, order: np.ndarray | None = None, sorted_keys: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    n = keys.size
    if n <= _FEW or (n <= _FEW_BY_SIZE.get(keys.itemsize, 0) and keys.dtype.kind != "f"):
        return _numpy_sort.argsort(keys, descending, order, sorted_keys)
    if order is None:
        order = np.empty(n, np.int64)
    if sorted_keys is None:
        sorted_keys = np.empty(n, keys.dtype)
    work = np.empty(n, np.uint64)
    short = _argsort(
        address(keys),
        _TYPES[keys.dtype],
        descending,
        n,
        address(order),
        address(sorted_keys),
        address(work),
        1 if n < _GRAIN else threads_for(n, _GRAIN),
    )
    if short:
        raise MemoryError("sort_by_key: no memory for the counts of the sort")
    return order, sorted_keys


def sort_cells(cells: np.ndarray, n_cells: int, order: np.ndarray, offsets: np.ndarray) -> bool:
    n = cells.size
    if n == 0:
        offsets[:] = 0
        return True
    work = np.empty(n, np.uint64)
    threads = threads_for(n, _GRAIN)
    arguments = (address(cells), _TYPES[cells.dtype], n, n_cells, address(order), address(offsets), address(work))
    status = _sort_cells(*arguments, threads)
    if status == 1:
        raise MemoryError("sort_by_cell: no memory for the counts of the sort")
    return bool(status == 0)


def take(array: np.ndarray, order: np.ndarray, axis: int, out: np.ndarray) -> None:
    n = order.size
    if n <= _FEW or array.dtype.hasobject or array.dtype.kind == "T":
        _numpy_sort.take(array, order, axis, out)
        return
    if array.size == 0:
        return
    rows = _rows_of_both(array, out, axis)
    if rows is None:
        array = np.array(array, order="C", subok=False)
        rows = _rows_of_both(array, out, axis)
        assert rows is not None
    size, outer, outer_from, outer_to = rows
    _gather(
        address(array),
        array.strides[axis],
        outer_from,
        address(out),
        out.strides[axis],
        outer_to,
        outer,
        size,
        address(order),
        n,
        threads_for(n * outer, _GRAIN),
    )


def compact(mask: np.ndarray, arrays: list[tuple[np.ndarray, int]]) -> int:
    n = mask.size
    places, moved = np.empty(n // _BLOCK + 2, np.int64), np.empty(n // _BLOCK + 1, np.uint8)
    threads = threads_for(n, _COMPACT_GRAIN)
    _mask_counts(address(mask), n, address(places), threads)
    count = int(places[-(-n // _BLOCK)])
    for array, axis in arrays:
        if array.dtype.hasobject or array.dtype.kind == "T":
            _numpy_sort.compact(mask, [(array, axis)])
            continue
        if array.size == 0:
            continue
        size, outer, outer_stride, rest = _rows(array, axis)
        stride, start = array.strides[axis], address(array)
        for index in np.ndindex(*(length for length, _ in rest)):
            offset = sum(i * step for i, (_, step) in zip(index, rest, strict=True))
            where = (start + offset, stride, outer, outer_stride, size)
            _compact(address(mask), n, address(places), address(moved), *where, threads)
    return count


def _rows(array: np.ndarray, axis: int) -> tuple[int, int, int, list[tuple[int, int]]]:
    """Give the bytes of a row, the number of rows of an entry and their distance, and what axes that leaves over."""
    size, outer, outer_stride = array.itemsize, 1, 0
    rest: list[tuple[int, int]] = []
    axes = [
        (length, stride) for d, (length, stride) in enumerate(zip(array.shape, array.strides, strict=True)) if d != axis
    ]
    for length, stride in sorted(axes, key=lambda entry: abs(entry[1])):
        if length == 1:
            continue
        if outer == 1 and stride == size:
            size *= length
        elif outer == 1:
            outer, outer_stride = length, stride
        elif not rest and stride == outer * outer_stride:
            outer *= length
        else:
            rest.append((length, stride))
    return size, outer, outer_stride, rest


def _rows_of_both(array: np.ndarray, out: np.ndarray, axis: int) -> tuple[int, int, int, int] | None:
    """Give the bytes of a row, the number of rows of an entry, and their distances in both; None for more axes."""
    size, outer, outer_from, outer_to = array.itemsize, 1, 0, 0
    for d in range(array.ndim - 1, -1, -1):
        length, stride, stride_to = array.shape[d], array.strides[d], out.strides[d]
        if d == axis or length == 1:
            continue
        if outer == 1 and stride == size == stride_to:
            size *= length
        elif outer == 1:
            outer, outer_from, outer_to = length, stride, stride_to
        elif stride == outer * outer_from and stride_to == outer * outer_to:
            outer *= length
        else:
            return None
    return size, outer, outer_from, outer_to
