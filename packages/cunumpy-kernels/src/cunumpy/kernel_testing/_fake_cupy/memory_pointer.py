"""A place in device memory, and the copies from and to it."""

from __future__ import annotations

from typing import Any

from . import copies
from .current_device import CUDARuntimeError
from .devices import Device
from .memory import BaseMemory


class MemoryPointer:
    """A place in device memory.

    Parameters
    ----------
    mem : BaseMemory
    offset : int
        Bytes from its beginning.
    """

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset

    @property
    def device(self) -> Device:
        """Its device."""
        return self.mem.device

    @property
    def device_id(self) -> int:
        """Number of its device."""
        return self.mem.device_id

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def __iadd__(self, offset: int) -> MemoryPointer:
        self.ptr += offset
        return self

    def __isub__(self, offset: int) -> MemoryPointer:
        self.ptr -= offset
        return self

    def _check(self, size: int) -> None:
        if not self.mem.ptr <= self.ptr <= self.ptr + size <= self.mem.ptr + self.mem._there():
            raise CUDARuntimeError(1, "cudaErrorInvalidValue: invalid argument")

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy bytes to host memory, in the null stream, and wait."""
        self._check(size)
        copies.copy(copies.address_of(mem), self.ptr, size, _NULL_STREAM, waits=True)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes to pinned host memory, in a stream."""
        self._check(size)
        copies.copy(copies.address_of(mem), self.ptr, size, stream, waits=False)

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy bytes from host memory, in the null stream, and wait."""
        self._check(size)
        copies.copy(self.ptr, copies.address_of(mem), size, _NULL_STREAM, waits=True)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes from pinned host memory, in a stream."""
        self._check(size)
        copies.copy(self.ptr, copies.address_of(mem), size, stream, waits=False)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy bytes from device memory, in the null stream."""
        self.copy_from_device_async(src, size, _NULL_STREAM)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """Copy bytes from device memory, in a stream."""
        self._check(size)
        src._check(size)
        copies.copy(self.ptr, src.ptr, size, stream, waits=False)

    def copy_from(self, mem: Any, size: int) -> None:
        """Copy bytes from device or host memory, in the null stream."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device(mem, size)
        else:
            self.copy_from_host(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes from device or pinned host memory, in a stream."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device_async(mem, size, stream)
        else:
            self.copy_from_host_async(mem, size, stream)

    def memset(self, value: int, size: int) -> None:
        """Set bytes, in the null stream."""
        self.memset_async(value, size, _NULL_STREAM)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Set bytes, in a stream."""
        self._check(size)
        copies.fill(self.ptr, value, size, stream)


_NULL_STREAM = 0
