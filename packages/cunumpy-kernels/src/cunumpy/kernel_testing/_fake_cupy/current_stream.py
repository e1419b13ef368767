"""Which stream is the thread's current one, of each device."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .current_device import current_device

if TYPE_CHECKING:
    from .cuda import _BaseStream


default_stream: Any = None
"""What is current where no stream was chosen; `cuda` enters it."""

_of_thread = threading.local()


def current_streams() -> dict[int, _BaseStream | None]:
    """Return the thread's current streams, by device."""
    found: dict[int, _BaseStream | None] = _of_thread.__dict__.setdefault("streams", {})
    return found


def get_current_stream(device_id: int = -1) -> _BaseStream:
    """Return the thread's current stream of a device, the current device by default."""
    stream: _BaseStream = current_streams().get(current_device() if device_id < 0 else device_id) or default_stream
    return stream
