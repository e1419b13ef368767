"""Recording what CuPy's own functions copy between host and device.

`recorded` wraps the functions that make a device array from host data, or host data from a device array, so that
``xp.asarray(host)`` is counted, and can be forbidden, like `cunumpy.to_cupy`.
"""

from __future__ import annotations

import functools
from time import perf_counter
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from cunumpy import _arrays, _transfers

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["recorded"]

FROM_HOST = ("array", "asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "require")
FROM_FILES = ("frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "genfromtxt", "load", "loadtxt")
# These make device arrays of whatever they are given, singly or in a sequence.
FROM_HOST_ITEMS = ("atleast_1d", "atleast_2d", "atleast_3d", "dstack", "hstack", "row_stack", "vstack")
TO_HOST = ("array2string", "array_repr", "array_str", "asnumpy", "save", "savetxt", "savez", "savez_compressed")


def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its transfer announced and recorded while somebody watches."""
    if name in FROM_HOST:
        return _from_host(name, function)
    if name in FROM_HOST_ITEMS:
        return _from_host_items(name, function)
    if name in FROM_FILES:
        return _from_file(name, function)
    return _to_host(name, function) if name in TO_HOST else function


def _from_host(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def create(*args: Any, **kwargs: Any) -> Any:
        source = args[0] if args else kwargs.get("a", kwargs.get("object", kwargs.get("obj")))
        if isinstance(source, cupy.ndarray) or not _transfers.watching() or _is_on_device(source):
            return function(*args, **kwargs)
        text = _described(name, source)
        _transfers.announce("to_device", text, getattr(source, "nbytes", None))
        started = perf_counter()
        result = function(*args, **kwargs)
        _transfers.record("to_device", text, result.nbytes, started=started)
        return result

    return create


def _from_host_items(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def create(*args: Any, **kwargs: Any) -> Any:
        if not _transfers.watching():
            return function(*args, **kwargs)
        given = [*args, *kwargs.values()]
        items = [one for value in given for one in (value if isinstance(value, (list, tuple)) else [value])]
        copied = [one for one in items if isinstance(one, (np.ndarray, list, tuple))]
        for one in copied:
            _transfers.announce("to_device", _described(name, one), getattr(one, "nbytes", None))
        started = perf_counter()
        with _transfers.own():
            result = function(*args, **kwargs)
        for one in copied:
            _transfers.record("to_device", _described(name, one), getattr(one, "nbytes", None), started=started)
        return result

    return create


def _from_file(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def create(*args: Any, **kwargs: Any) -> Any:
        if not _transfers.watching():
            return function(*args, **kwargs)
        _transfers.announce("to_device", name)
        started = perf_counter()
        result = function(*args, **kwargs)
        _transfers.record("to_device", name, getattr(result, "nbytes", None), started=started)
        return result

    return create


def _to_host(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def copy(*args: Any, **kwargs: Any) -> Any:
        arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, cupy.ndarray)]
        if not arrays or not _transfers.watching():
            return function(*args, **kwargs)
        for array in arrays:
            _transfers.announce("to_host", _described(name, array), array.nbytes)
        started = perf_counter()
        with _transfers.own():
            result = function(*args, **kwargs)
        for array in arrays:
            _transfers.record("to_host", _described(name, array), array.nbytes, started=started)
        return result

    return copy


def _is_on_device(source: Any) -> bool:
    """Tell whether the source, or the first item of nested lists, is an array on a device."""
    while isinstance(source, (list, tuple)) and source:
        source = source[0]
    return _arrays.get_array_backend(source) == "cupy"


def _described(name: str, source: Any) -> str:
    if hasattr(source, "dtype"):
        return _transfers.call_text(name, source.shape, source.dtype)
    return f"{name}({type(source).__name__})"
