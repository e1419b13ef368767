"""Where the memory of new arrays comes from: the current allocator.

The elements of new arrays were calculated by NumPy, so where the allocator is a pool of plain device memory, the array
stays where NumPy put it. Any other allocator is called, and the array moved into what it returns.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from .current_device import current_device
from .current_stream import get_current_stream
from .memory import BaseMemory, ManagedMemory, Memory, MemoryAsync, flat_bytes
from .memory_pointer import MemoryPointer
from .memory_pools import MemoryPool, _Pool


class _ArrayMemory(BaseMemory):
    """The memory of an array that NumPy made."""

    def __init__(self, buffer: np.ndarray[Any, Any], device: int) -> None:
        self._keep = buffer
        self.device_id = device
        low, high = np.lib.array_utils.byte_bounds(buffer)
        self.ptr, self.size = low, high - low

    def _bytes(self) -> np.ndarray[Any, Any]:
        return flat_bytes(self._keep)


class PythonFunctionAllocator:
    """Memory by two functions of Python's.

    Parameters
    ----------
    malloc_func, free_func : callable
        Called with bytes and the device's number, and with an address and the device's number.
    """

    def __init__(self, malloc_func: Any, free_func: Any) -> None:
        self._malloc, self._free = malloc_func, free_func

    def malloc(self, size: int) -> MemoryPointer:
        """Allocate memory."""
        return MemoryPointer(_FunctionMemory(self, size), 0)


class _FunctionMemory(BaseMemory):
    def __init__(self, allocator: PythonFunctionAllocator, size: int) -> None:
        self._allocator, self.size, self.device_id = allocator, size, current_device()
        self.ptr = allocator._malloc(size, self.device_id)

    def __del__(self) -> None:
        if self.ptr:
            self._allocator._free(self.ptr, self.device_id)

    def _as_array(
        self, offset: int, shape: Any, dtype: np.dtype[Any], strides: Any, order: str
    ) -> np.ndarray[Any, Any]:
        memory: Any = (ctypes.c_uint8 * self.size).from_address(self.ptr)
        memory.owner = self
        return np.ndarray(shape, dtype, memory, offset, strides, order)  # type: ignore[arg-type]


def alloc(size: int) -> MemoryPointer:
    """Allocate memory by the current allocator."""
    pointer: MemoryPointer = get_allocator()(size)
    return pointer


def malloc_from_device(size: int) -> MemoryPointer:
    """Allocate memory past all pools."""
    return MemoryPointer(Memory(size), 0)


def malloc_managed(size: int) -> MemoryPointer:
    """Allocate managed memory."""
    return MemoryPointer(ManagedMemory(size) if size else Memory(0), 0)


def malloc_async(size: int) -> MemoryPointer:
    """Allocate memory in the order of the current stream."""
    return MemoryPointer(MemoryAsync(size, get_current_stream()) if size else Memory(0), 0)


DEFAULT_POOL = MemoryPool()
_allocator: Any = DEFAULT_POOL.malloc
_of_thread = threading.local()


def get_allocator() -> Any:
    """Return the current allocator."""
    return getattr(_of_thread, "allocator", None) or _allocator


def set_allocator(allocator: Any = None) -> None:
    """Make an allocator the one of all threads; None is memory past all pools."""
    global _allocator
    if getattr(_of_thread, "allocator", None) is not None:
        raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
    _allocator = malloc_from_device if allocator is None else allocator


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """Use an allocator in this thread, within a block."""
    before = getattr(_of_thread, "allocator", None)
    _of_thread.allocator = malloc_from_device if allocator is None else allocator
    try:
        yield
    finally:
        _of_thread.allocator = before


def placed(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], BaseMemory]:
    """Return a new array, perhaps moved, and its memory, by the current allocator."""
    if array.nbytes == 0:
        return array, _ArrayMemory(array, current_device())
    allocator = get_allocator()
    pool = getattr(allocator, "__self__", None)
    if isinstance(pool, _Pool) and pool._allocator is None:
        return array, pool._adopt(array)
    pointer = allocator(array.nbytes)
    offset = pointer.ptr - pointer.mem.ptr
    order = "F" if array.flags.fnc else "C"
    moved = pointer.mem._as_array(offset, array.shape, array.dtype, None, order)
    moved[...] = array
    return moved, pointer.mem
