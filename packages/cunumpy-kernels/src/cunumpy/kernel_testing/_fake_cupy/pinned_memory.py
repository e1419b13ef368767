"""Host memory that CUDA would page-lock: what is pinned, and a pool of it."""

from __future__ import annotations

import collections
import ctypes
import functools
import threading
import weakref
from typing import Any

import numpy as np

from .memory import UNIT

_pinned: weakref.WeakSet[PinnedMemory] = weakref.WeakSet()
registered: dict[int, int] = {}
"""Sizes of host memory that was pinned where it is, by address."""


def pinned_at(address: int, size: int) -> Any:
    """Return what keeps pinned memory with these addresses alive; None if they are not pinned."""
    for one in list(_pinned):
        if one.ptr <= address and address + size <= one.ptr + one.size:
            return one.buffer
    for low, there in registered.items():
        if low <= address and address + size <= low + there:
            return True
    return None


def is_memory_pinned(data: int) -> bool:
    """Whether an address is one of pinned memory."""
    return pinned_at(data, 1) is not None


class PinnedMemory:
    """Host memory, which CUDA would page-lock."""

    def __init__(self, size: int, flags: int = 0) -> None:
        self.buffer = np.empty(max(size, 1), np.uint8)
        self.size = size
        self.ptr = self.buffer.__array_interface__["data"][0]
        _pinned.add(self)


class _PinnedPointer:
    """A place in pinned memory. As with CuPy, NumPy reads it through the buffer protocol."""

    mem: PinnedMemory
    _pool: PinnedMemoryPool | None = None

    def __del__(self) -> None:
        if self._pool is not None:
            self._pool._returned.append(self.mem)

    @property
    def ptr(self) -> int:
        """Its address."""
        address: int = self.mem.ptr
        return address

    def size(self) -> int:
        """Return the number of bytes from here to the end of the memory."""
        return self.mem.size


class PinnedMemoryPool:
    """A pool of pinned memory.

    Parameters
    ----------
    allocator : callable, optional
        Where it gets its blocks.
    """

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = allocator or _pinned_from_host
        self._free: dict[int, list[PinnedMemory]] = {}
        self._returned: collections.deque[PinnedMemory] = collections.deque()
        self._lock = threading.RLock()

    def malloc(self, size: int) -> Any:
        """Allocate memory."""
        size = max(UNIT, 1 << (size - 1).bit_length()) if size else 0
        with self._lock:
            self._collect()
            free = self._free.get(size)
            memory = free.pop() if free else self._allocator(size).mem
        return _pinned_pointer(memory, self)

    def _collect(self) -> None:
        while self._returned:
            memory = self._returned.popleft()
            self._free.setdefault(memory.size, []).append(memory)

    def n_free_blocks(self) -> int:
        """Return how many blocks the pool keeps for later."""
        with self._lock:
            self._collect()
            return sum(map(len, self._free.values()))

    def free_all_blocks(self) -> None:
        """Give unused memory back."""
        with self._lock:
            self._collect()
            self._free.clear()


@functools.lru_cache(maxsize=256)
def _pinned_kind(size: int) -> Any:
    # Before Python 3.12 only a ctypes type can give the buffer protocol to a Python class.
    return type("PinnedMemoryPointer", (_PinnedPointer, ctypes.c_uint8 * max(size, 1)), {})


def _pinned_pointer(memory: PinnedMemory, pool: PinnedMemoryPool | None) -> Any:
    pointer = _pinned_kind(memory.size).from_address(memory.ptr)
    pointer.mem, pointer._pool = memory, pool
    return pointer


def _pinned_from_host(size: int) -> Any:
    return _pinned_pointer(PinnedMemory(size), None)


DEFAULT_PINNED_POOL = PinnedMemoryPool()
_pinned_allocator: Any = DEFAULT_PINNED_POOL.malloc


def alloc_pinned_memory(size: int) -> Any:
    """Allocate pinned memory; the result supports the buffer protocol."""
    return _pinned_allocator(size)


def set_pinned_memory_allocator(allocator: Any = None) -> None:
    """Make an allocator that of pinned memory; None is memory past all pools."""
    global _pinned_allocator
    _pinned_allocator = _pinned_from_host if allocator is None else allocator
