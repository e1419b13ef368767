"""The current CUDA device, asked for as seldom as possible: every launch needs it."""

from __future__ import annotations

import sys

_device_count: int | None = None
"""How many devices this process has, once CuPy is there to be asked: CUDA never changes it."""


def current_device() -> int | None:
    """Return the current device; None where CuPy is not loaded or has no device."""
    global _device_count
    if _device_count == 1:
        return 0
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    try:
        if _device_count is None:
            _device_count = int(cupy.cuda.runtime.getDeviceCount())
        device: int = cupy.cuda.runtime.getDevice()
    except Exception:  # no driver, or CuPy is still being imported
        return None
    return device


def device_of_arrays() -> int | None:
    """Return the device that arrays have to be on; None where they can't be on another one."""
    if _device_count == 1:
        return None
    device = current_device()
    return None if _device_count == 1 else device
