"""The asynchronous mode: whoever does not wait sees what was there before.

NumPy calculates at once, so nothing is really late. Instead, each write to memory is kept with the place in its stream
and with what was there before. A read that no stream, event or wait puts after the write gets the latter: NaN in new
memory, old values in old. Copies between host and device without waiting are made when the host waits for them, at the
latest, or when work after them in their stream needs them.

What is after what is told by vector clocks: each stream counts its pieces of work, and each stream and each host thread
knows how many of each stream come before what it does next.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Clock = dict[int, int]

_on = 0
_lock = threading.RLock()
_of_thread = threading.local()
_known: dict[int, Clock] = {}  # what comes before the next work of each stream
_done: Clock = {}  # what has been waited for when the mode was turned off
_blocking: set[int] = set()  # streams that order themselves with the null stream
_pending: list[tuple[int, int, Callable[[], None]]] = []  # what happens when the host waits: stream, place, action
_threads = itertools.count(-1000, -1)
NULL = 0
POISON = 0xFF  # NaN as float, -1 as int


def is_on() -> bool:
    """Whether the mode is on."""
    return bool(_on)


@contextlib.contextmanager
def asynchronous() -> Iterator[None]:
    """Turn the mode on in all threads, within a block; everything is waited for at its end."""
    turn_on()
    try:
        yield
    finally:
        turn_off()


def turn_on() -> None:
    """Turn the mode on."""
    global _on
    with _lock:
        _on += 1


def turn_off() -> None:
    """Turn the mode off, after waiting for everything."""
    global _on
    with _lock:
        wait_for_all()
        _join(_done, _host())
        _on -= 1


def key_of(stream: Any) -> int:
    """Return by which number the clocks know a stream."""
    number: int = stream.ptr
    if number != 2:
        return number
    # Each thread has a default stream of its own.
    if not hasattr(_of_thread, "default"):
        _of_thread.default = next(_threads)
    default: int = _of_thread.default
    return default


def _current() -> int:
    from .cuda import get_current_stream

    return enter(get_current_stream())


def enter(stream: Any) -> int:
    """Return a stream's number, after making it known."""
    key = key_of(stream)
    if key not in _known:
        _known[key] = {}
        if key != NULL and not stream.is_non_blocking:
            _blocking.add(key)
    return key


def _host() -> Clock:
    clock: Clock = _of_thread.__dict__.setdefault("clock", {})
    return clock


def _join(clock: Clock, other: Clock) -> None:
    for stream, place in other.items():
        if clock.get(stream, 0) < place:
            clock[stream] = place


def _before(key: int) -> Clock:
    """Return what comes before the next work of a stream."""
    clock = _known[key]
    _join(clock, _host())
    _join(clock, _done)
    if key == NULL:
        for other in _blocking:
            _join(clock, _known[other])
    elif key in _blocking and NULL in _known:
        _join(clock, _known[NULL])
    return clock


def _step(key: int) -> int:
    """Count a piece of work of a stream, and return its place."""
    clock = _before(key)
    clock[key] = clock.get(key, 0) + 1
    return clock[key]


class _Write:
    """The last write to memory, and what was there before."""

    __slots__ = ("before", "late", "place", "stream")

    def __init__(self, stream: int, place: int, before: bytes | None, late: Callable[[], None] | None = None) -> None:
        self.stream, self.place, self.before, self.late = stream, place, before, late


def wrote(array: Any) -> None:
    """Say that the current stream has made an array."""
    with _lock:
        key = _current()
        array._memory._write = _Write(key, _step(key), None)


def writing(array: Any, late: Callable[[], None] | None = None, stream: Any = None) -> None:
    """Say that a stream, the current one by default, writes to an array now, or by an action later."""
    with _lock:
        key = _current() if stream is None else enter(stream)
        finish(array, key)
        before = _bytes_of(array).tobytes() if array._buffer.size else b""
        array._memory._write = write = _Write(key, _step(key), before, late)
        if late is not None:
            _pending.append((key, write.place, lambda: _complete(write)))


def _complete(write: _Write) -> None:
    late, write.late = write.late, None
    if late is not None:
        late()


def finish(array: Any, key: int) -> None:
    """Make a late copy into an array that comes before the next work of a stream."""
    write = getattr(array._memory, "_write", None)
    if write is not None and write.late is not None and _before(key).get(write.stream, 0) >= write.place:
        _complete(write)


def _bytes_of(array: Any) -> np.ndarray[Any, Any]:
    """Return the bytes of an array's memory."""
    owner = array._buffer
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    low, high = np.lib.array_utils.byte_bounds(owner)
    memory: Any = (ctypes.c_uint8 * int(high - low)).from_address(int(low))
    memory.owner = owner
    return np.frombuffer(memory, np.uint8)


def seen(array: Any) -> np.ndarray[Any, Any]:
    """Return the buffer as the current stream sees it: what it does not wait for is not there yet."""
    buffer: np.ndarray[Any, Any] = array._buffer
    write = getattr(array._memory, "_write", None)
    if write is None or buffer.size == 0:
        return buffer
    with _lock:
        key = _current()
        if _before(key).get(write.stream, 0) >= write.place:
            finish(array, key)
            return buffer
        _step(key)
        memory = _bytes_of(array)
        old = (
            np.full(memory.size, POISON, np.uint8)
            if write.before is None
            else np.frombuffer(bytearray(write.before), np.uint8)
        )
        offset = buffer.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        return np.ndarray(buffer.shape, buffer.dtype, old, offset, buffer.strides)


def later(action: Callable[[], None], stream: Any = None) -> None:
    """Do something when the host waits for what a stream has been given up to now."""
    with _lock:
        key = _current() if stream is None else enter(stream)
        _pending.append((key, _step(key), action))


def recorded(stream: Any) -> Clock:
    """Return what comes before an event that is recorded in a stream now."""
    with _lock:
        key = enter(stream)
        _step(key)
        return dict(_known[key])


def given(stream: Any) -> Clock:
    """Return what a stream has been given up to now, and what comes before."""
    with _lock:
        return dict(_before(enter(stream)))


def is_waited_for(clock: Clock) -> bool:
    """Whether the host has waited for all of it."""
    with _lock:
        return all(max(_host().get(stream, 0), _done.get(stream, 0)) >= place for stream, place in clock.items())


def wait_in_stream(stream: Any, clock: Clock) -> None:
    """Let the later work of a stream come after an event."""
    with _lock:
        _join(_known[enter(stream)], clock)


def wait_for(clock: Clock) -> None:
    """Let the host wait for an event."""
    with _lock:
        _join(_host(), clock)
        due = [one for one in _pending if _host().get(one[0], 0) >= one[1]]
        _pending[:] = [one for one in _pending if one not in due]
    for _, _, action in due:
        action()


def wait_for_stream(stream: Any) -> None:
    """Let the host wait for a stream."""
    wait_for(recorded(stream))


def wait_for_handle(handle: int) -> None:
    """Let the host wait for a stream, by its number."""
    with _lock:
        clock = dict(_known.get(handle, {}))
    wait_for(clock)


def wait_for_all() -> None:
    """Let the host wait for all streams."""
    with _lock:
        everything: Clock = {}
        for clock in _known.values():
            _join(everything, clock)
    wait_for(everything)
