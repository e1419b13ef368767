"""Copies of bytes between addresses, which know what is device memory, and in the asynchronous mode who waits for them.

As CUDA's, copies without ``async`` in their name run in the null stream, and the host waits for those from and to its
memory. Of the others only copies from and to pinned memory are late: CUDA makes the others before it returns.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import asynchrony
from .memory import BaseMemory
from .memory_history import area_of, memory_at
from .pinned_memory import pinned_at

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def address_of(place: Any) -> int:
    """Return an address: of an int, a pointer of ctypes or a pointer to device memory."""
    if isinstance(place, int):
        return place
    pointer: int | None = place.ptr if hasattr(place, "ptr") else place.value
    return pointer or 0


def bytes_at(address: int, size: int) -> Bytes:
    """Return memory as an array; somebody else has to keep it alive."""
    there: Any = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(there, np.uint8)


def copy(destination: int, source: int, size: int, stream: Any, *, waits: bool) -> None:
    """Copy bytes in a stream, an object or its number; the host waits for it if asked, or where CUDA makes it wait."""
    if size == 0:
        return
    if not asynchrony.is_on():
        ctypes.memmove(destination, source, size)
        return
    asynchrony.begin_operation()
    target = memory_at(destination, size)
    origin = memory_at(source, size)
    if origin is not None:
        area = area_of(origin)
        old = asynchrony.read_region(area, bytes_at(source, size), stream)
        start = source - area.low
        data: Bytes = bytes_at(source, size).copy() if old is None else old[start : start + size]
        if target is not None:
            write(target, destination, data, stream)
        elif not waits and (kept := pinned_at(destination, size)) is not None:
            _to_pinned(kept, destination, data, stream)
        else:
            bytes_at(destination, size)[...] = data
            asynchrony.wait_for_stream(stream)
    elif target is None:
        ctypes.memmove(destination, source, size)
    elif not waits and (kept := pinned_at(source, size)) is not None:
        _from_pinned(kept, target, destination, source, size, stream)
    else:
        write(target, destination, bytes_at(source, size), stream)
        if waits:
            asynchrony.wait_for_stream(stream)


def write(target: BaseMemory, destination: int, data: Bytes, stream: Any) -> None:
    """Write bytes to device memory in a stream."""
    region = bytes_at(destination, data.size)
    if asynchrony.is_on():
        asynchrony.write_region(area_of(target), region, stream=stream)
    region[...] = data


def _to_pinned(kept: Any, destination: int, data: Bytes, stream: Any) -> None:
    def action() -> None:
        assert kept is not None
        bytes_at(destination, data.size)[...] = data

    asynchrony.later(action, stream, result=data)


def _from_pinned(kept: Any, target: BaseMemory, destination: int, source: int, size: int, stream: Any) -> None:
    def action() -> None:
        assert kept is not None
        ctypes.memmove(destination, source, size)

    asynchrony.write_region(area_of(target), bytes_at(destination, size), action, stream)


def fill(destination: int, value: int, size: int, stream: Any) -> None:
    """Set bytes of device memory in a stream."""
    if size == 0:
        return
    target = memory_at(destination, size) if asynchrony.is_on() else None
    if target is None:
        ctypes.memset(destination, value, size)
        return
    asynchrony.begin_operation()
    write(target, destination, np.full(size, value & 0xFF, np.uint8), stream)
