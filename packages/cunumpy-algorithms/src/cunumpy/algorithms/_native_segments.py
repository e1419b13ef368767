"""Segments on the host by the native library. `_numpy_segments` has the same functions, and says what they do."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_longlong, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _threads
from cunumpy.algorithms import _numpy_segments
from cunumpy.algorithms._library import HOST
from cunumpy.cuda._host_library import address

if TYPE_CHECKING:
    from collections.abc import Iterator

_GRAIN = 1 << 17  # entries from which a thread pays
_PIECE = 1 << 16  # entries converted at once
_KEY_KINDS = {np.dtype(kind): code for code, kind in enumerate(("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"))}
_VALUE_KINDS = {
    np.dtype(kind): code for kind, code in (("i4", 4), ("u4", 5), ("i8", 6), ("u8", 7), ("f4", 8), ("f8", 9))
}

_library: Any = HOST.library
_KEYS = (c_void_p, c_int, c_longlong)
_VALUES = (c_int, c_void_p, c_longlong, c_longlong, c_longlong)


def _declare(name: str, *parameters: Any, result: Any = c_longlong) -> Any:
    function = getattr(_library, f"cunumpy_algorithms_{name}")
    function.argtypes = parameters
    function.restype = result
    return function


_sum = _declare("segment_sum", *_VALUES, *_KEYS, c_void_p, c_int, c_int)
_extreme = _declare("segment_extreme", c_int, *_VALUES, *_KEYS, c_void_p, c_int, c_int)
_scatter = _declare("scatter_add", *_VALUES, *_KEYS, c_void_p, c_int)
_plan = _declare("segment_keys", *_KEYS, c_longlong, c_int, c_int, c_void_p, ctypes.POINTER(c_int))
_check = _declare("segment_check", *_KEYS, c_longlong, c_int, c_int, ctypes.POINTER(c_int))
_gather = _declare("segment_gather", c_int, *_KEYS, c_longlong, c_void_p, c_void_p, c_longlong, c_int, result=None)
_boundaries = _declare("segment_boundaries", *_KEYS, c_int, c_void_p, c_void_p, c_void_p, c_void_p)
_offsets = _declare("cell_offsets", *_KEYS, c_longlong, c_int, c_void_p)


def plan_keys(keys: np.ndarray, n_segments: int, out: np.ndarray) -> tuple[int, bool]:
    rising = c_int(1)
    first = _plan(
        address(keys),
        _KEY_KINDS[keys.dtype],
        keys.size,
        n_segments,
        _threads.threads_for(keys.size, _GRAIN),
        out.dtype.itemsize == 8,
        address(out),
        rising,
    )
    return first, bool(rising.value)


def check_keys(keys: np.ndarray, n_segments: int, *, wrap: bool = False) -> tuple[int, bool]:
    rising = c_int(1)
    threads = _threads.threads_for(keys.size, _GRAIN)
    first = _check(address(keys), _KEY_KINDS[keys.dtype], keys.size, n_segments, wrap, threads, rising)
    return first, bool(rising.value)


def sum_into(accumulators: np.ndarray, values: np.ndarray, keys: np.ndarray, *, rising: bool = False) -> int:
    if accumulators.dtype.char in "gG" or values.dtype.char in "gG":
        return _numpy_segments.sum_into(accumulators, values, keys, rising=rising)
    if accumulators.dtype.kind in "fc":
        narrow = values.dtype.kind in "fc" and values.dtype.itemsize <= accumulators.dtype.itemsize // 2
        wanted = np.dtype(np.float32 if narrow else np.float64)
    else:
        wanted = _integer_dtype(values.dtype)
    return _by_rows(_sum, accumulators, values, keys, wanted, (rising,))


def extreme_into(
    accumulators: np.ndarray, values: np.ndarray, keys: np.ndarray, *, maximum: bool, rising: bool = False
) -> int:
    dtype = values.dtype.newbyteorder("=")
    if dtype.char == "g":
        return _numpy_segments.extreme_into(accumulators, values, keys, maximum=maximum, rising=rising)
    wanted = dtype if dtype.kind == "f" and dtype.itemsize >= 4 else np.dtype(np.float32)
    if dtype.kind != "f":
        wanted = _integer_dtype(dtype)

    def extreme(*arguments: Any) -> int:
        first: int = _extreme(maximum, *arguments)
        return first

    if wanted == accumulators.dtype:
        return _by_rows(extreme, accumulators, values, keys, wanted, (rising,))
    widened = accumulators.astype(wanted)
    first = _by_rows(extreme, widened, values, keys, wanted, (rising,))
    accumulators[...] = widened
    return first


def count_into(counts: np.ndarray, keys: np.ndarray, *, rising: bool = False) -> int:
    ones = np.broadcast_to(np.uint64(1), keys.shape)
    return _by_rows(_sum, counts, ones, keys, ones.dtype, (rising,))


def gather_into(out: np.ndarray, values: np.ndarray, keys: np.ndarray) -> None:
    if not values.flags.c_contiguous or values.dtype != out.dtype:
        values = np.ascontiguousarray(values, out.dtype)
    row = out.size // len(out) * out.itemsize
    word = 8 if values.itemsize % 8 == 0 else values.itemsize
    _gather(
        word,
        address(keys),
        _KEY_KINDS[keys.dtype],
        keys.size,
        len(values),
        address(values),
        address(out),
        row // word,
        _threads.threads_for(out.size, _GRAIN),
    )


def scatter_into(out: np.ndarray, index: np.ndarray, values: np.ndarray) -> None:
    if out.dtype not in _SCATTERED or not out.flags.c_contiguous or not out.flags.aligned:
        _numpy_segments.scatter_into(out, index, values)
        return
    wanted = out.dtype if out.dtype.kind != "c" else np.dtype(np.float32 if out.dtype.itemsize == 8 else np.float64)
    _by_rows(_scatter, out, values, index, wanted, ())


_SCATTERED = {*_VALUE_KINDS, np.dtype(np.complex64), np.dtype(np.complex128)}


def find_boundaries(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | int:
    threads = _threads.threads_for(keys.size, _GRAIN)
    counts = np.zeros(256, np.int64)
    kind = _KEY_KINDS[keys.dtype]
    runs = _boundaries(address(keys), kind, keys.size, threads, address(counts), None, None, None)
    if runs < 0:
        return int(-1 - runs)
    unique, starts, stops = np.empty(runs, keys.dtype), np.empty(runs, np.int64), np.empty(runs, np.int64)
    if runs:
        _boundaries(
            address(keys), kind, keys.size, threads, address(counts), address(unique), address(starts), address(stops)
        )
    return unique, starts, stops


def cell_offsets_into(offsets: np.ndarray, cells: np.ndarray) -> int:
    n_cells = offsets.size - 1
    threads = _threads.threads_for(max(cells.size, n_cells), _GRAIN)
    first: int = _offsets(address(cells), _KEY_KINDS[cells.dtype], cells.size, n_cells, threads, address(offsets))
    return first


def _integer_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Give the dtype in which the library takes integers and bools."""
    return np.dtype(f"{'i' if dtype.kind == 'i' else 'u'}{max(dtype.itemsize, 4)}")


def _by_rows(
    function: Any,
    accumulators: np.ndarray,
    values: np.ndarray,
    keys: np.ndarray,
    wanted: np.dtype[Any],
    options: tuple[bool, ...],
) -> int:
    """Call the library on values as they are, or on converted pieces of them; complex values are pairs."""
    n = keys.size
    if n == 0 or accumulators.size == 0:
        # a check may still find something in the keys
        return check_keys(keys, len(accumulators))[0]
    parts = 2 if accumulators.dtype.kind == "c" else 1
    row = accumulators.size // len(accumulators) * parts
    kind = _VALUE_KINDS[wanted]
    key_kind, key_address, target = _KEY_KINDS[keys.dtype], address(keys), address(accumulators)
    first = -1
    for start, piece, stride in _pieces(values, _dtype_of(wanted, parts)):
        rows = len(piece)
        found = function(
            kind,
            address(piece),
            stride,
            rows,
            row,
            key_address + start * keys.itemsize,
            key_kind,
            len(accumulators),
            target,
            _threads.threads_for(rows * row, _GRAIN),
            *options,
        )
        if found >= 0 and first < 0:
            first = found + start
    return first


def _dtype_of(wanted: np.dtype[Any], parts: int) -> np.dtype[Any]:
    return wanted if parts == 1 else np.dtype(f"c{2 * wanted.itemsize}")


def _pieces(values: np.ndarray, dtype: np.dtype[Any]) -> Iterator[tuple[int, np.ndarray, int]]:
    """Yield the first row, rows that are contiguous in themselves, and their distance in bytes."""
    n = len(values)
    if values.dtype == dtype and values.flags.aligned and (values.ndim == 1 or values[0].flags.c_contiguous):
        yield 0, values, values.strides[0]
        return
    rows = min(n, max(1, _PIECE * n // values.size))
    buffer = np.empty((rows, *values.shape[1:]), dtype)
    for start in range(0, n, rows):
        piece = buffer[: min(rows, n - start)]
        np.copyto(piece, values[start : start + rows], casting="unsafe")
        yield start, piece, buffer.strides[0]
