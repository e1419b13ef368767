"""How many devices there are, and which one is the thread's: by number."""

from __future__ import annotations

import threading
from typing import Any


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


CUDARuntimeError.__module__ = "cupy.cuda.runtime"
_of_thread = threading.local()


def device_count() -> int:
    """Return the number of devices."""
    from cunumpy import _environment

    count = _environment.read("CUNUMPY_FAKE_CUPY_DEVICES")
    return count if isinstance(count, int) else 1


def current_device() -> int:
    """Return the number of the thread's current device."""
    device: int = getattr(_of_thread, "device", 0)
    return device


def check_device(device: Any) -> int:
    """Return the number of a device; raise if there is none."""
    number = int(device)
    if not 0 <= number < device_count():
        raise CUDARuntimeError(101, "cudaErrorInvalidDevice: invalid device ordinal")
    return number


def check_reachable(device: int, what: str) -> None:
    """Raise what a kernel ends with that reads another device's memory."""
    if device != current_device():
        raise CUDARuntimeError(
            700,
            f"cudaErrorIllegalAddress: an illegal memory access was encountered: {what} is in memory of device "
            f"{device}, and the kernel runs on device {current_device()}",
        )


def set_device(device: int) -> None:
    """Make a device the thread's current one."""
    _of_thread.device = check_device(device)
