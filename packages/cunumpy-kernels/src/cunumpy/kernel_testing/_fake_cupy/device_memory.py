"""How much memory each device has, and how much of it is given away."""

from __future__ import annotations

import collections
import threading

from .current_device import CUDARuntimeError, current_device

TOTAL_MEMORY = 16 * 2**30
reserved_bytes: collections.Counter[int] = collections.Counter()
"""Bytes that each device has given away."""

_reserving = threading.Lock()


def reserve(size: int, device: int) -> None:
    """Take bytes of a device's memory; raise if it has not so many left."""
    with _reserving:
        if reserved_bytes[device] + size > TOTAL_MEMORY:
            raise CUDARuntimeError(2, "cudaErrorMemoryAllocation: out of memory")
        reserved_bytes[device] += size


def mem_info() -> tuple[int, int]:
    """Return free and total memory of the current device in bytes."""
    return TOTAL_MEMORY - reserved_bytes[current_device()], TOTAL_MEMORY
