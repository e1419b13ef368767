"""Pieces of memory of the pretended devices."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .current_device import current_device
from .device_memory import reserve, reserved_bytes
from .devices import Device
from .memory_history import live_memory

UNIT = 512  # bytes, of which pools give multiples


class BaseMemory:
    """Memory on a device.

    Attributes
    ----------
    ptr, size, device_id : int
        Its address, bytes and device.
    """

    ptr: int = 0
    size: int = 0
    device_id: int = 0

    def __int__(self) -> int:
        return self.ptr

    _area: Any = None  # what has been done with it, in the asynchronous mode

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        memory = super().__new__(cls)
        live_memory.add(memory)
        return memory

    @property
    def device(self) -> Device:
        """Its device."""
        return Device(self.device_id)

    def _bytes(self) -> np.ndarray[Any, Any]:
        raise NotImplementedError

    def _as_array(
        self, offset: int, shape: Any, dtype: np.dtype[Any], strides: Any, order: str
    ) -> np.ndarray[Any, Any]:
        return np.ndarray(shape, dtype, self._bytes(), offset, strides, order)  # type: ignore[arg-type]

    def _there(self) -> int:
        """Return how many bytes there really are."""
        return self.size

    def _extent(self) -> tuple[int, int]:
        """Return the first address and the number of bytes that arrays in it may use."""
        return self.ptr, self._there()


class Memory(BaseMemory):
    """New memory of a number of bytes, past all pools."""

    _of_devices = reserved_bytes  # the module's names are gone when a program ends

    def __init__(self, size: int) -> None:
        self.device_id = current_device()
        self._taken = 0
        reserve(size, self.device_id)
        self._taken = size
        self._buffer = np.empty(size, np.uint8)
        self.size = size
        self.ptr = self._buffer.__array_interface__["data"][0] if size else 0

    def __del__(self) -> None:
        self._of_devices[self.device_id] -= self._taken

    def _bytes(self) -> np.ndarray[Any, Any]:
        return self._buffer


class ManagedMemory(Memory):
    """Memory that moves between host and device by itself."""

    def prefetch(self, stream: Any, *, device_id: int | None = None, location: Any = None) -> None:
        """Move it to a device; the stand-in has nothing to move."""

    def advise(self, advise: int, device: Any) -> None:
        """Tell how it will be used; the stand-in does not care."""


class MemoryAsync(Memory):
    """Memory that is given and taken back in the order of a stream."""

    def __init__(self, size: int, stream: Any) -> None:
        super().__init__(size)
        self.stream_ref = lambda: stream


def flat_bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not array.flags.forc:
        raise ValueError("memory of a strided array can't be used anew")
    flat: np.ndarray[Any, Any] = array.reshape(-1, order="A").view(np.uint8)
    return flat


class UnownedMemory(BaseMemory):
    """Memory that something else owns and keeps alive; on the stand-in it has to be host memory."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = ptr, size, owner
        self.device_id = current_device() if device_id < 0 else device_id
        self._buffer: np.ndarray[Any, Any] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(ptr))

    def _bytes(self) -> np.ndarray[Any, Any]:
        return self._buffer
