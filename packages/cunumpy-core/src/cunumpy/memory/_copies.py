"""What asynchronous copies to the host share: streams, events, page-locked memory, checks of arguments.

Page-locked memory comes from CuPy's pinned memory pool, which keeps freed blocks by size: allocating is slow for the
first copy of a size only.
"""

from __future__ import annotations

from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from typing import NoReturn


_lock = Lock()
_streams: dict[int, Any] = {}  # for to_host_async, by device
_under_way: dict[int, tuple[Any, Any]] = {}  # events by id, with what must live until they are done


def shared_stream(cupy: Any) -> Any:
    device = int(cupy.cuda.Device().id)
    with _lock:
        stream = _streams.get(device)
        if stream is None:
            stream = _streams[device] = cupy.cuda.Stream(non_blocking=True)
        return stream


def copy_behind(cupy: Any, source: Any, host: np.ndarray, copy_stream: Any, stream: Any) -> Any:
    """Copy to the host on `copy_stream`, behind what was submitted to `stream`; return an event behind the copy."""
    if source.size == 0:
        return None
    submitted = cupy.cuda.Event(disable_timing=True)
    stream.record(submitted)
    copy_stream.wait_event(submitted)
    with _transfers.own():
        source.get(stream=copy_stream, out=host, blocking=False)
    copied = cupy.cuda.Event(disable_timing=True)
    copy_stream.record(copied)
    return copied


def keep_until(event: Any, things: Any) -> None:
    """Keep things alive until the event is done: CuPy's pools give freed memory away while a copy still uses it."""
    forget_finished()
    _under_way[id(event)] = (event, things)


def forget_finished() -> None:
    for key, (event, _) in list(_under_way.items()):
        if event.done:
            _under_way.pop(key, None)


def wait_for(event: Any, text: str) -> None:
    if not event.done:
        _conversion.wait(event.synchronize, text)


def pinned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    if 0 in shape:
        return np.empty(shape, dtype)
    array: np.ndarray = import_module("cupyx").empty_pinned(shape, dtype)
    return array


def check_one(stream: Any, event: Any, function: str) -> None:
    if stream is not None and event is not None:
        raise ArgumentError(f"{function}: only one of the arguments 'stream' and 'event' can be given, got both.")


def check_order(cupy: Any, stream: Any, event: Any, device: int, function: str) -> None:
    """Check that a stream and an event are CuPy's, and the stream of this device."""
    if stream is not None:
        kinds = [getattr(cupy.cuda, name, None) for name in ("Stream", "ExternalStream")]
        if not isinstance(stream, tuple(kind for kind in kinds if kind is not None)):
            raise ArgumentTypeError(
                f"{function}: argument 'stream' must be a cupy.cuda.Stream, got {_gate.describe(stream)}."
            )
        of = getattr(stream, "device_id", -1)  # -1: the default streams, which belong to every device
        if of not in (-1, device):
            raise ArgumentError(
                f"{function}: argument 'stream' belongs to CUDA device {of} and the current device is {device}; pass "
                "a stream of the current device."
            )
    if event is not None and not isinstance(event, cupy.cuda.Event):
        raise ArgumentTypeError(f"{function}: argument 'event' must be a cupy.cuda.Event, got {_gate.describe(event)}.")


def refuse_pickle(value: object, reason: str) -> NoReturn:
    raise ArgumentTypeError(f"a {type(value).__name__} does not pickle: {reason}.")
