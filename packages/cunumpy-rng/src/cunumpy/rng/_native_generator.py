"""Filling arrays with consecutive Philox numbers by the native library: the same functions as in `_numpy_generator`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from cunumpy import _threads
from cunumpy.cuda._host_library import address
from cunumpy.rng._library import HOST

__all__ = ["fill_exponential", "fill_integers", "fill_integers_between", "fill_normal", "fill_uniform", "order"]

_library: Any = HOST.library
_LONG, _WORD, _POINTER = ctypes.c_longlong, ctypes.c_ulonglong, ctypes.c_void_p
_RANGE = [_POINTER, _LONG, _WORD, _WORD, _WORD]
_FILLS: dict[tuple[str, int], Any] = {}
for _kind in ("uniform", "normal", "exponential"):
    for _size, _suffix, _number in ((8, "", ctypes.c_double), (4, "f", ctypes.c_float)):
        _function = getattr(_library, f"cunumpy_rng_fill_{_kind}{_suffix}")
        _function.argtypes = [*_RANGE, _number, _number, ctypes.c_int]
        _function.restype = None
        _FILLS[_kind, _size] = _function
_fill_integers = _library.cunumpy_rng_fill_integers
_fill_integers.argtypes = [*_RANGE, _WORD, _WORD, ctypes.c_int, ctypes.c_int]
_fill_integers.restype = None
_fill_integers_between = _library.cunumpy_rng_fill_integers_between
_fill_integers_between.argtypes = [*_RANGE, _POINTER, _POINTER, ctypes.c_int, ctypes.c_int]
_fill_integers_between.restype = None
_order = _library.cunumpy_rng_order
_order.argtypes = [_POINTER, _LONG, ctypes.c_int, _POINTER, _POINTER, ctypes.c_int]
_order.restype = ctypes.c_int

_GRAIN = 2**16  # elements that take about as long as starting a thread


def fill_uniform(out: np.ndarray, seed: int, stream: int, position: int, low: Any, width: Any) -> None:
    """Write uniform numbers; see `_numpy_generator.fill_uniform`."""
    _fill("uniform", out, seed, stream, position, low, width)


def fill_normal(out: np.ndarray, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    """Write normal numbers; see `_numpy_generator.fill_normal`."""
    _fill("normal", out, seed, stream, position, loc, scale)


def fill_exponential(out: np.ndarray, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    """Write exponential numbers; see `_numpy_generator.fill_exponential`."""
    _fill("exponential", out, seed, stream, position, loc, scale)


def fill_integers(out: np.ndarray, seed: int, stream: int, position: int, low: int, span: int) -> None:
    """Write integers; see `_numpy_generator.fill_integers`."""
    n = out.size
    threads = _threads.threads_for(n, _GRAIN)
    _fill_integers(address(out), n, seed, stream, position, low, span, out.itemsize, threads)


def fill_integers_between(
    out: np.ndarray, seed: int, stream: int, position: int, low: np.ndarray, span: np.ndarray
) -> None:
    """Write integers; see `_numpy_generator.fill_integers_between`."""
    n = out.size
    threads = _threads.threads_for(n, _GRAIN)
    ends = address(low), address(span)
    _fill_integers_between(address(out), n, seed, stream, position, *ends, out.itemsize, threads)


def order(keys: np.ndarray) -> np.ndarray:
    """Return the stable order of keys; see `_numpy_generator.order`."""
    n = keys.size
    found, work = np.empty(n, np.int64), np.empty(n, np.uint64)
    threads = _threads.threads_for(n, _GRAIN)
    if _order(address(keys), n, keys.dtype.kind == "f", address(found), address(work), threads):
        raise MemoryError("PhiloxGenerator: no memory for sorting the keys.")
    return found


def _fill(kind: str, out: np.ndarray, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    n = out.size
    function = _FILLS[kind, out.itemsize]
    function(address(out), n, seed, stream, position, loc, scale, _threads.threads_for(n, _GRAIN))
