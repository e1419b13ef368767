"""What comes after what: each stream counts its pieces of work, and has a vector clock.

Each stream and the host know how many pieces of work of each stream come before what they do next.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any, Protocol

from .current_stream import get_current_stream

Clock = dict[int, int]
lock = threading.RLock()
_of_thread = threading.local()
clocks: dict[int, Clock] = {}  # what comes before the next work of each stream
waited_for: Clock = {}  # what the host has waited for
told: Clock = {}  # the last work of each stream that others know to be before theirs
blocking: set[int] = set()  # streams that order themselves with the null stream
unblocked: set[int] = set()  # those that were made not to
_threads = itertools.count(-1000, -1)
NULL = 0
_MOST_STREAMS = 64  # that are kept in mind although nobody waits for them


class Work(Protocol):
    """A piece of work of a stream, which its place tells from the others."""

    stream: int
    place: int


def key_of(stream: Any) -> int:
    """Return by which number the clocks know a stream, an object or CUDA's number."""
    handle: int = stream if isinstance(stream, int) else stream.ptr
    if handle == 1:  # CUDA's name of the null stream
        return NULL
    if handle != 2:
        return handle
    # Each thread has a default stream of its own.
    if not hasattr(_of_thread, "default"):
        _of_thread.default = next(_threads)
    default: int = _of_thread.default
    return default


def current_key() -> int:
    """Return the number of the current stream."""
    return enter(get_current_stream())


def enter(stream: Any) -> int:
    """Return a stream's number, after making it known."""
    key = key_of(stream)
    if key not in clocks:
        clocks[key] = {key: waited_for[key]} if key in waited_for else {}
        if key != NULL and key not in unblocked:
            blocking.add(key)
    return key


def key_or_current(stream: Any) -> int:
    """Return the number of a stream, of the current one for None."""
    return current_key() if stream is None else enter(stream)


def join(clock: Clock, other: Clock) -> None:
    """Let a clock know what another knows."""
    for stream, place in other.items():
        if clock.get(stream, 0) < place:
            clock[stream] = place
            if told.get(stream, 0) < place:
                told[stream] = place


def clock_before(key: int) -> Clock:
    """Return what comes before the next work of a stream."""
    clock = clocks[key]
    join(clock, waited_for)
    if key == NULL:
        for other in blocking:
            join(clock, clocks[other])
    elif key in blocking and NULL in clocks:
        join(clock, clocks[NULL])
    return clock


def step(key: int) -> int:
    """Count a piece of work of a stream, and return its place."""
    clock = clock_before(key)
    clock[key] = clock.get(key, 0) + 1
    return clock[key]


def covers(clock: Clock, one: Work) -> bool:
    """Whether a piece of work is among what a clock knows."""
    return clock.get(one.stream, 0) >= one.place


def recorded(stream: Any) -> Clock:
    """Return what comes before an event that is recorded in a stream now."""
    with lock:
        key = key_or_current(stream)
        step(key)
        clock: Clock = {}
        join(clock, clocks[key])
        return clock


def given(stream: Any) -> Clock:
    """Return what a stream has been given up to now, and what comes before."""
    with lock:
        return dict(clock_before(enter(stream)))


def is_waited_for(clock: Clock) -> bool:
    """Whether the host has waited for all of it."""
    with lock:
        return all(waited_for.get(stream, 0) >= place for stream, place in clock.items())


def wait_in_stream(stream: Any, clock: Clock) -> None:
    """Let the later work of a stream come after an event."""
    with lock:
        join(clocks[enter(stream)], clock)


def forget_streams() -> None:
    """Forget streams of which all has been waited for, where there are many; most of them are gone."""
    if len(clocks) <= _MOST_STREAMS:
        return
    for key, clock in list(clocks.items()):
        if key != NULL and clock.get(key, 0) <= waited_for.get(key, 0):
            del clocks[key]
    for clock in clocks.values():
        for key in [key for key, place in clock.items() if place <= waited_for.get(key, 0) and key not in clocks]:
            del clock[key]
    blocking.intersection_update(clocks)
