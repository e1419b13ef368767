"""The asynchronous mode: whoever does not wait sees what was there before, or what should not be there.

NumPy calculates at once, so nothing is really late. Instead, each write to memory is kept with the place in its stream
and with what was there before. A read that no stream, event or wait puts after the write gets the latter: NaN in new
memory, old values in old. Copies between host and device without waiting are made when the host waits for them, at the
latest, or when work after them in their stream needs them.

Work that was given its data at once, but would have run late, may have been too late: where one stream overwrites what
unordered work of another still reads or writes, the results of both are NaN (-1 in integers), as is what was calculated
from them.

What is after what is told by `stream_clocks`; `memory_history` keeps what has been done with memory.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .memory_history import (
    POISON,
    Area,
    Bytes,
    Late,
    Read,
    Region,
    Write,
    area_of,
    as_seen,
    find_races,
    mask_of,
    orders,
    overwrite,
    overwrite_changed,
    pending,
    settle,
    take_from_freed,
    unsettled,
    whole_elements,
)
from .stream_clocks import (
    Clock,
    clock_before,
    clocks,
    covers,
    current_key,
    forget_streams,
    join,
    key_or_current,
    lock,
    recorded,
    step,
    told,
    waited_for,
)

_on = 0
_of_thread = threading.local()
_MOST_WRITES = 64  # to one piece of memory that are told apart


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
    with lock:
        _on += 1


def turn_off() -> None:
    """Turn the mode off, after waiting for everything."""
    global _on
    wait_for_all()
    with lock:
        _on -= 1


def begins(array: Any) -> None:
    """Say that an array's memory is new, and nothing has been written to it yet."""
    with lock:
        array._memory._area = None
        area = area_of(array._memory)
        memory = area.bytes()
        if memory is not None:
            memory[...] = POISON
        take_from_freed(area, current_key(), dict(clock_before(current_key())))


def wrote(array: Any) -> None:
    """Say that the current stream has made an array in new memory."""
    with lock:
        key = current_key()
        array._memory._area = None
        area = area_of(array._memory)
        clock = dict(clock_before(key))
        write = Write(key, step(key), None, np.ones(area.size, bool))
        if take_from_freed(area, key, clock):
            write.raced = write.changed
        area.writes = [write]
        unsettled.add(area)
        _add_sources(area, write, _sources())


def writing(array: Any, late: Callable[[], None] | None = None, stream: Any = None) -> None:
    """Say that a stream, the current one by default, writes to an array now, or by an action later."""
    write_region(area_of(array._memory), array._buffer, late, stream)


def write_region(
    area: Area, buffer: np.ndarray[Any, Any], late: Callable[[], None] | None = None, stream: Any = None
) -> None:
    """Say that a stream writes to a part of memory now, or by an action later."""
    with lock:
        key = key_or_current(stream)
        region = Region(buffer)
        place, clock = step(key), dict(clock_before(key))
        _finish_before(area, clock)
        overwrite(area, region, clock)
        if late is None:
            _add_write(area, region, key, place, clock)
        else:
            one = Late(key, place, late)
            one.area, one.region, one.clock = area, region, clock
            area.late.append(one)
            pending.append(one)
        unsettled.add(area)


def _add_write(area: Area, region: Region, key: int, place: int, clock: Clock) -> None:
    """Keep what is there before a write; one with the last write, where nobody can see that alone."""
    last = area.writes[-1] if area.writes else None
    sources, changed = _sources(), mask_of(area, region)
    replaces = bool(changed.all())
    if (
        last is not None
        and last.stream == key
        and last.raced is None
        and told.get(key, 0) < last.place
        and (replaces or last.sources == sources or len(area.writes) >= _MOST_WRITES)
    ):
        last.place, last.changed = place, last.changed | changed
        if replaces:
            last.sources, last.order = set(), next(orders)
        write = last
    else:
        write = Write(key, place, area.there().copy(), changed)
        area.writes.append(write)
    find_races(area, changed, write, clock)
    _add_sources(area, write, sources)


# ---- reads ----


class _Shadow:
    """An array of old contents, and whose it is."""

    __slots__ = ("area", "array", "old")

    def __init__(self, area: Area, array: Any, old: Bytes) -> None:
        self.area, self.array, self.old = area, array, old


class _Operation:
    """What the current operation of a thread has read."""

    def __init__(self) -> None:
        self.reads: list[Read] = []
        self.shadows: list[_Shadow] = []


def _operation() -> _Operation:
    found: _Operation | None = getattr(_of_thread, "operation", None)
    if found is None:
        found = _of_thread.operation = _Operation()
    return found


def begin_operation() -> None:
    """Say that what is read from now on has nothing to do with what was read before."""
    if _on:
        _of_thread.operation = _Operation()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Do something within an operation that has nothing to do with what that has read."""
    if not _on:
        yield
        return
    operation = _operation()
    _of_thread.operation = _Operation()
    try:
        yield
    finally:
        _of_thread.operation = operation


def _sources() -> set[Read]:
    """Return the reads, direct and indirect, from which the current operation calculates."""
    return {source for read in _operation().reads for source in read.sources()}


def _add_sources(area: Area, write: Write, sources: set[Read]) -> None:
    """Say from which reads a write was calculated."""
    write.sources |= sources
    order = write.order

    def spoil(do_it: bool) -> bool:
        memory = area.bytes()
        if memory is None or write.order != order or write not in area.writes:
            return False
        if do_it:
            left = write.changed.copy()
            for newer in area.writes[area.writes.index(write) + 1 :]:
                if newer.before is not None:
                    newer.before[left] = POISON
                left &= ~newer.changed
            memory[left] = POISON
        return True

    for read in sources:
        read.results[order] = spoil


def behind(buffer: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], Any] | None:
    """Return the true view behind a view of old contents, and the array it is of."""
    owner: Any = buffer
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    for shadow in _operation().shadows:
        if owner is shadow.old:
            offset = buffer.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
            true = np.ndarray(buffer.shape, buffer.dtype, shadow.area.there(), offset, buffer.strides)
            return true, shadow.array
    return None


def seen(array: Any) -> np.ndarray[Any, Any]:
    """Return the buffer as the current stream sees it: what it does not wait for is not there."""
    buffer: np.ndarray[Any, Any] = array._buffer
    if buffer.size == 0:
        return buffer
    with lock:
        area = area_of(array._memory)
        old = read_region(area, buffer)
        if old is None:
            return buffer
        _operation().shadows.append(_Shadow(area, array, old))
        offset = buffer.__array_interface__["data"][0] - area.low
        return np.ndarray(buffer.shape, buffer.dtype, old, offset, buffer.strides)


def read_region(area: Area, buffer: np.ndarray[Any, Any], stream: Any = None) -> Bytes | None:
    """Say that a stream reads a part of memory; return the memory as it sees it, or None if that is the true one."""
    with lock:
        key = key_or_current(stream)
        clock = dict(clock_before(key))
        _finish_before(area, clock)
        region = Region(buffer)
        _keep_read(area, Read(key, step(key), area, region, False, clock))
        return as_seen(area, region, clock)


def _keep_read(area: Area, read: Read) -> None:
    """Keep a read, so that what overwrites it too early is found."""
    unsettled.add(area)
    last = area.reads[-1] if area.reads else None
    if last is not None and last.is_like(read) and told.get(read.stream, 0) < last.place:
        last.place, last.clock = read.place, read.clock  # nobody can come after the one and before the other
        read = last
    else:
        area.reads.append(read)
    _operation().reads.append(read)
    if len(area.reads) > area.sweep:
        for one in area.reads:
            one.results = {order: spoil for order, spoil in one.results.items() if spoil(False)}
        area.reads = [one for one in area.reads if one is read or (one.results and not covers(waited_for, one))]
        area.sweep = 2 * len(area.reads) + 32


# ---- kernels ----


@contextlib.contextmanager
def launching(arrays: Iterable[Any], stream: Any = None) -> Iterator[None]:
    """Run a kernel on the true memory of arrays, with what its stream sees in it. What it changes it has written."""
    if not _on:
        yield
        return
    with lock:
        begin_operation()
        key = key_or_current(stream)
        clock = dict(clock_before(key))
        areas: dict[int, tuple[Area, Any]] = {}
        for array in arrays:
            if array._buffer.size:
                area = area_of(array._memory)
                areas[id(area)] = (area, array)
        shown: list[tuple[Area, Any, Bytes, Bytes]] = []
        for area, array in areas.values():
            _finish_before(area, clock)
            memory = area.there()
            true = memory.copy()
            old = as_seen(area, Region(memory), clock)
            if old is not None:
                memory[...] = old
            shown.append((area, array, true, true if old is None else old))
    try:
        yield
    finally:
        with lock:
            _launched(key, clock, shown)


def _launched(key: int, clock: Clock, shown: list[tuple[Area, Any, Bytes, Bytes]]) -> None:
    place = step(key)
    item = {id(area): array.itemsize for area, array, _, _ in shown}
    changes = [
        (area, array, true, whole_elements(area.there() != old, item[id(area)])) for area, array, true, old in shown
    ]
    for area, array, _, changed in changes:
        if not changed.any():
            _keep_read(area, Read(key, place, area, Region(array._buffer), True, clock))
    sources = _sources()
    for area, _, true, changed in changes:
        memory = area.there()
        if changed.any():
            after = memory[changed]
            memory[...] = true
            overwrite_changed(area, changed, clock)
            write = Write(key, place, true, changed)
            area.writes.append(write)
            find_races(area, changed, write, clock)
            unsettled.add(area)
            _add_sources(area, write, sources)
            memory[changed] = after
        else:
            memory[...] = true


# ---- the host ----


def later(action: Callable[[], None], stream: Any = None, result: Bytes | None = None) -> None:
    """Do something when the host waits for what a stream has been given up to now; perhaps with a result."""
    with lock:
        key = key_or_current(stream)
        pending.append(Late(key, step(key), action))
        if result is not None:
            _add_host_result(result)


def _add_host_result(result: Bytes) -> None:
    def spoil(do_it: bool) -> bool:
        if do_it:
            result[...] = POISON
        return True

    order = next(orders)
    for read in _sources():
        read.results[order] = spoil


def _finish_before(area: Area, clock: Clock) -> None:
    """Make the late copies into memory that a clock knows."""
    for one in list(area.late):
        if covers(clock, one):
            _complete(one)


def _complete(one: Late) -> None:
    """Do what is due; a copy becomes the newest write to its memory."""
    with lock:
        if one not in pending:
            return
        pending.remove(one)
        area = one.area
        if area is not None:
            area.late.remove(one)
            if area.is_there():
                assert one.region is not None
                write = Write(one.stream, one.place, area.there().copy(), mask_of(area, one.region))
                find_races(area, write.changed, write, one.clock)
                area.writes.append(write)
                one.action()
            return
    one.action()  # somebody's function, which may wait for other threads


def wait_for(clock: Clock) -> None:
    """Let the host wait for an event."""
    with lock:
        join(waited_for, clock)
        due = [one for one in pending if covers(waited_for, one)]
    for one in due:  # in the order in which they were given: a callback may read what a copy brings
        _complete(one)
    with lock:
        for area in list(unsettled):
            settle(area)
        forget_streams()


def wait_for_stream(stream: Any) -> None:
    """Let the host wait for a stream, the current one if it is None."""
    wait_for(recorded(stream))


def wait_for_all() -> None:
    """Let the host wait for all streams."""
    with lock:
        everything: Clock = {}
        for clock in clocks.values():
            join(everything, clock)
    wait_for(everything)
