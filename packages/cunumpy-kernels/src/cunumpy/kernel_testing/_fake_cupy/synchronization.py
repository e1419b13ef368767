"""Where the host waits for a device: what `cupyx.allow_synchronize` forbids."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

_of_thread = threading.local()


class DeviceSynchronized(RuntimeError):
    """The host waits for a device although that is forbidden."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or "Device synchronization was detected while disallowed.")


@contextlib.contextmanager
def allow_synchronize(allow: Any) -> Iterator[None]:
    """Allow or forbid waiting for the device in this thread, within a block."""
    warnings.warn(
        "cupyx.allow_synchronize will be removed in future releases as it is not possible to reliably detect "
        "synchronizations.",
        stacklevel=3,
    )
    before = getattr(_of_thread, "allowed", True)
    _of_thread.allowed = bool(allow)
    try:
        yield
    finally:
        _of_thread.allowed = before


def declare() -> None:
    """Say that the host waits now; raise where that is forbidden."""
    if not getattr(_of_thread, "allowed", True):
        raise DeviceSynchronized
