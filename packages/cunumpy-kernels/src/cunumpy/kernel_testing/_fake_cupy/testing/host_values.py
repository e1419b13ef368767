"""The values of the stand-in's arrays, as NumPy compares them."""

from __future__ import annotations

from typing import Any

from cunumpy.kernel_testing._fake_cupy.host_copies import waited
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray


def on_host(value: Any) -> Any:
    """Return values with arrays of the host in the place of the stand-in's, after waiting for these."""
    if isinstance(value, ndarray):
        return waited(value)
    if isinstance(value, (list, tuple)):
        return type(value)(on_host(item) for item in value)
    return value
