"""The asynchronous mode: whoever does not wait sees what was there before, or what should not be there.

NumPy calculates at once, so nothing is really late. Instead, each write to memory is kept with the place in its stream
and with what was there before. A read that no stream, event or wait puts after the write gets the latter: NaN in new
memory, old values in old. Copies between host and device without waiting are made when the host waits for them, at the
latest, or when work after them in their stream needs them.

Work that was given its data at once, but would have run late, may have been too late: where one stream overwrites what
unordered work of another still reads or writes, the results of both are NaN (-1 in integers), as is what was calculated
from them.

What is after what is told by vector clocks: each stream counts its pieces of work, and each stream and the host know
how many of each stream come before what they do next.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .memory import BaseMemory


Clock = dict[int, int]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_on = 0
_lock = threading.RLock()
_of_thread = threading.local()
_known: dict[int, Clock] = {}  # what comes before the next work of each stream
_done: Clock = {}  # what the host has waited for
_told: Clock = {}  # the last work of each stream that others know to be before theirs
_blocking: set[int] = set()  # streams that order themselves with the null stream
unblocked: set[int] = set()  # those that were made not to
_pending: list[_Late] = []
_used: weakref.WeakSet[_Area] = weakref.WeakSet()  # memory with reads or writes that nobody has waited for
_freed: collections.deque[_Area] = collections.deque()  # memory that is gone, perhaps too early: the latest
_free: list[_Area] = []  # and the rest of it
_threads = itertools.count(-1000, -1)
NULL = 0
POISON = 0xFF  # NaN as float, -1 as int
_MOST_WORK: Any = 10_000  # of deciding whether two strided selections meet
_MOST_STREAMS = 64  # that are kept in mind although nobody waits for them
_MOST_WRITES = 64  # to one piece of memory that are told apart
_MOST_FREED = 64  # pieces of memory that are kept in mind when they are gone


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
    wait_for_all()
    with _lock:
        _on -= 1


# ---- streams ----


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


def _current() -> int:
    from .cuda import get_current_stream

    return enter(get_current_stream())


def enter(stream: Any) -> int:
    """Return a stream's number, after making it known."""
    key = key_of(stream)
    if key not in _known:
        _known[key] = {key: _done[key]} if key in _done else {}
        if key != NULL and key not in unblocked:
            _blocking.add(key)
    return key


def _key(stream: Any) -> int:
    return _current() if stream is None else enter(stream)


def _join(clock: Clock, other: Clock) -> None:
    for stream, place in other.items():
        if clock.get(stream, 0) < place:
            clock[stream] = place
            if _told.get(stream, 0) < place:
                _told[stream] = place


def _before(key: int) -> Clock:
    """Return what comes before the next work of a stream."""
    clock = _known[key]
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


def _covers(clock: Clock, one: _Read | _Write | _Late) -> bool:
    return clock.get(one.stream, 0) >= one.place


# ---- memory ----


class _Region:
    """Elements of memory: addresses, and those of an array's elements where they have gaps."""

    __slots__ = ("high", "item", "low", "shape", "start", "strides")

    def __init__(self, buffer: np.ndarray[Any, Any]) -> None:
        self.low, self.high = np.lib.array_utils.byte_bounds(buffer) if buffer.size else (0, 0)
        self.start = buffer.__array_interface__["data"][0]
        self.shape, self.strides, self.item = buffer.shape, buffer.strides, buffer.itemsize

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "data": (self.start, False),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": f"|V{self.item}",
            "version": 3,
        }

    def meets(self, other: _Region) -> bool:
        """Whether they have an element in common; where that is hard to tell, they have not."""
        if self.high <= other.low or other.high <= self.low:
            return False
        try:
            return bool(np.shares_memory(np.asarray(self), np.asarray(other), _MOST_WORK))
        except np.exceptions.TooHardError:
            return False

    def covers(self, other: _Region) -> bool:
        """Whether it is all the bytes between the first and the last of another."""
        dense = int(np.prod(self.shape)) * self.item == self.high - self.low
        return dense and self.low <= other.low and other.high <= self.high


class _Write:
    """A write, with what was there before."""

    __slots__ = ("before", "changed", "order", "place", "raced", "sources", "stream")

    def __init__(self, stream: int, place: int, before: Bytes | None, changed: Mask) -> None:
        self.stream, self.place, self.before = stream, place, before
        self.changed = changed  # which bytes
        self.raced: Mask | None = None  # which bytes an unordered write has written, too
        self.sources: set[_Read] = set()  # from which this was calculated
        self.order = next(_orders)


class _Read:
    """A read, and what was calculated from it."""

    __slots__ = ("area", "clock", "in_part", "place", "region", "results", "stream")

    def __init__(self, stream: int, place: int, area: _Area, region: _Region, in_part: bool, clock: Clock) -> None:
        self.stream, self.place, self.area, self.region, self.in_part = stream, place, area, region, in_part
        self.clock = clock
        self.results: dict[int, Callable[[bool], bool]] = {}  # how to spoil each; whether it is still there

    def is_like(self, other: _Read) -> bool:
        """Whether another read is of the same stream and of the same elements."""
        mine, its = self.region, other.region
        return (
            self.stream == other.stream
            and self.in_part == other.in_part
            and (mine.start, mine.shape, mine.strides) == (its.start, its.shape, its.strides)
        )

    def sources(self) -> set[_Read]:
        """Return it, and the reads from which what it has read was calculated."""
        found = {self}
        for write in self.area.writes:
            if _covers(self.clock, write):
                write.sources = {read for read in write.sources if read.matters()}
                found |= write.sources
        return found

    def matters(self) -> bool:
        """Whether what it has read can still be overwritten too early."""
        return self.area.is_there() and not _covers(_done, self)


class _Late:
    """What happens when the host waits."""

    __slots__ = ("action", "area", "clock", "place", "region", "stream")

    def __init__(self, stream: int, place: int, action: Callable[[], None]) -> None:
        self.stream, self.place, self.action = stream, place, action
        self.area: _Area | None = None  # memory that it writes to
        self.region: _Region | None = None
        self.clock: Clock = {}


_orders = itertools.count()


class _Area:
    """What has been done with a piece of memory since it was waited for."""

    __slots__ = ("__weakref__", "_memory", "late", "low", "reads", "size", "stream", "sweep", "writes")

    def __init__(self, memory: BaseMemory) -> None:
        self._memory = weakref.ref(memory, self._is_gone)
        self.stream: int | None = None  # which it was allocated in
        self.low, self.size = memory._extent()
        self.writes: list[_Write] = []
        self.reads: list[_Read] = []
        self.late: list[_Late] = []
        self.sweep = 32  # so many reads are looked through

    def _is_gone(self, _: Any) -> None:
        """Note that the memory may be given away again, to work of the stream that it was allocated in."""
        if self.stream is not None and (self.reads or self.writes):
            _freed.append(self)  # no more here: memory dies anywhere

    def is_there(self) -> bool:
        """Whether there still is such memory."""
        return self._memory() is not None

    def bytes(self) -> Bytes | None:
        """Return the memory, unless it is gone."""
        memory = self._memory()
        if memory is None:
            return None
        there: Any = (ctypes.c_uint8 * self.size).from_address(self.low)
        there.owner = memory
        return np.frombuffer(there, np.uint8)

    def there(self) -> Bytes:
        """Return the memory, which somebody keeps alive."""
        found = self.bytes()
        assert found is not None
        return found


def _whole(changed: Mask, item: int) -> Mask:
    """Let bytes of an element count as changed together."""
    if item > 1:
        end = changed.size // item * item
        changed[:end].reshape(-1, item)[...] = changed[:end].reshape(-1, item).any(1, keepdims=True)
    return changed


def area_of(memory: BaseMemory) -> _Area:
    """Return what is kept about memory; memory within other memory has the other's."""
    found: _Area | None = memory._area
    if found is None:
        found = memory._area = _containing(memory) or _Area(memory)
    return found


def _containing(memory: BaseMemory) -> _Area | None:
    if not hasattr(memory, "_owner"):
        return None
    low, size = memory._extent()
    other = memory_at(low, size, but=memory)
    return None if other is None else area_of(other)


def memory_at(address: int, size: int, but: BaseMemory | None = None) -> BaseMemory | None:
    """Return the device memory that has these addresses, if any has."""
    from .memory import live_memory

    for one in live_memory():
        if one is not but and not hasattr(one, "_owner"):
            low, there = one._extent()
            if there and low <= address and address + size <= low + there:
                return one
    return None


class WholeMemory:
    """All of a piece of memory, as an argument of a kernel."""

    def __init__(self, memory: BaseMemory) -> None:
        low, size = memory._extent()
        self._memory = memory
        there: Any = (ctypes.c_uint8 * size).from_address(low)
        self._buffer = np.frombuffer(there, np.uint8)
        self.itemsize: int = getattr(getattr(memory, "_array", None), "itemsize", 1)


def begins(array: Any) -> None:
    """Say that an array's memory is new, and nothing has been written to it yet."""
    with _lock:
        array._memory._area = None
        area = area_of(array._memory)
        memory = area.bytes()
        if memory is not None:
            memory[...] = POISON
        _take_from_freed(area, _current(), dict(_before(_current())))


def wrote(array: Any) -> None:
    """Say that the current stream has made an array in new memory."""
    with _lock:
        key = _current()
        array._memory._area = None
        area = area_of(array._memory)
        clock = dict(_before(key))
        write = _Write(key, _step(key), None, np.ones(area.size, bool))
        if _take_from_freed(area, key, clock):
            write.raced = write.changed
        area.writes = [write]
        _used.add(area)
        _add_sources(area, write, _sources())


def _take_from_freed(area: _Area, key: int, clock: Clock) -> bool:
    """Let new memory be what a pool would give: memory of this stream that is free, though others may still use it.

    What they were to read from it is spoiled. Returns whether they may still write to it.
    """
    area.stream = key
    while _freed:
        _free.append(_freed.popleft())
    del _free[:-_MOST_FREED]
    for other in _free:
        if other.stream == key and area.size <= other.size:
            _free.remove(other)
            for read in other.reads:
                if not _covers(clock, read):
                    _spoil(read)
            return any(not _covers(clock, write) for write in other.writes)
    return False


def writing(array: Any, late: Callable[[], None] | None = None, stream: Any = None) -> None:
    """Say that a stream, the current one by default, writes to an array now, or by an action later."""
    write_region(area_of(array._memory), array._buffer, late, stream)


def write_region(
    area: _Area, buffer: np.ndarray[Any, Any], late: Callable[[], None] | None = None, stream: Any = None
) -> None:
    """Say that a stream writes to a part of memory now, or by an action later."""
    with _lock:
        key = _key(stream)
        region = _Region(buffer)
        place, clock = _step(key), dict(_before(key))
        _finish_before(area, clock)
        _overwrite(area, region, key, clock)
        if late is None:
            _add_write(area, region, key, place, clock)
        else:
            one = _Late(key, place, late)
            one.area, one.region, one.clock = area, region, clock
            area.late.append(one)
            _pending.append(one)
        _used.add(area)


def _add_write(area: _Area, region: _Region, key: int, place: int, clock: Clock) -> None:
    """Keep what is there before a write; one with the last write, where nobody can see that alone."""
    last = area.writes[-1] if area.writes else None
    sources, changed = _sources(), _mask(area, region)
    replaces = bool(changed.all())
    if (
        last is not None
        and last.stream == key
        and last.raced is None
        and _told.get(key, 0) < last.place
        and (replaces or last.sources == sources or len(area.writes) >= _MOST_WRITES)
    ):
        last.place, last.changed = place, last.changed | changed
        if replaces:
            last.sources, last.order = set(), next(_orders)
        write = last
    else:
        write = _Write(key, place, area.there().copy(), changed)
        area.writes.append(write)
    _find_races(area, changed, write, clock)
    _add_sources(area, write, sources)


def _find_races(area: _Area, changed: Mask, write: _Write, clock: Clock) -> None:
    """Mark which bytes of a write have been written by unordered writes, too."""
    for other in area.writes:
        if other is not write and not _covers(clock, other):
            both = changed & other.changed
            if both.any():
                write.raced = both if write.raced is None else write.raced | both


def _mask(area: _Area, region: _Region) -> Mask:
    """Return which bytes of memory are a region's."""
    mask = np.zeros(area.size, bool)
    if region.high > region.low:
        shape, strides = (*region.shape, region.item), (*region.strides, 1)
        np.ndarray(shape, bool, mask, region.start - area.low, strides)[...] = True
    return mask


# ---- reads ----


class _Shadow:
    """An array of old contents, and whose it is."""

    __slots__ = ("area", "array", "old")

    def __init__(self, area: _Area, array: Any, old: Bytes) -> None:
        self.area, self.array, self.old = area, array, old


class _Operation:
    """What the current operation of a thread has read."""

    def __init__(self) -> None:
        self.reads: list[_Read] = []
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


def _sources() -> set[_Read]:
    """Return the reads, direct and indirect, from which the current operation calculates."""
    return {source for read in _operation().reads for source in read.sources()}


def _add_sources(area: _Area, write: _Write, sources: set[_Read]) -> None:
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
    with _lock:
        area = area_of(array._memory)
        old = read_region(area, buffer)
        if old is None:
            return buffer
        _operation().shadows.append(_Shadow(area, array, old))
        offset = buffer.__array_interface__["data"][0] - area.low
        return np.ndarray(buffer.shape, buffer.dtype, old, offset, buffer.strides)


def read_region(area: _Area, buffer: np.ndarray[Any, Any], stream: Any = None) -> Bytes | None:
    """Say that a stream reads a part of memory; return the memory as it sees it, or None if that is the true one."""
    with _lock:
        key = _key(stream)
        clock = dict(_before(key))
        _finish_before(area, clock)
        region = _Region(buffer)
        _keep_read(area, _Read(key, _step(key), area, region, False, clock))
        return _old(area, region, clock)


def _keep_read(area: _Area, read: _Read) -> None:
    """Keep a read, so that what overwrites it too early is found."""
    _used.add(area)
    last = area.reads[-1] if area.reads else None
    if last is not None and last.is_like(read) and _told.get(read.stream, 0) < last.place:
        last.place, last.clock = read.place, read.clock  # nobody can come after the one and before the other
        read = last
    else:
        area.reads.append(read)
    _operation().reads.append(read)
    if len(area.reads) > area.sweep:
        for one in area.reads:
            one.results = {order: spoil for order, spoil in one.results.items() if spoil(False)}
        area.reads = [one for one in area.reads if one is read or (one.results and not _covers(_done, one))]
        area.sweep = 2 * len(area.reads) + 32


def _old(area: _Area, region: _Region, clock: Clock) -> Bytes | None:
    """Return memory as it was without the writes that a clock does not know; None if there is no such write."""
    hidden = [write for write in area.writes if not _covers(clock, write)]
    if not hidden and all(write.raced is None for write in area.writes):
        return None
    state = area.there().copy()
    open_bytes = np.ones(area.size, bool)
    for write in reversed(area.writes):
        if _covers(clock, write):
            if write.raced is not None:
                state[write.raced & open_bytes] = POISON
            open_bytes &= ~write.changed
        else:
            back = write.changed & open_bytes
            state[back] = POISON if write.before is None else write.before[back]
    part = slice(region.low - area.low, region.high - area.low)
    return None if np.array_equal(state[part], area.there()[part]) else state


# ---- what comes too early ----


def _overwrite(area: _Area, region: _Region, key: int, clock: Clock) -> None:
    """Spoil what was calculated by unordered reads of what is overwritten now."""
    for read in list(area.reads):
        if not _covers(clock, read) and (region.covers(read.region) if read.in_part else region.meets(read.region)):
            _spoil(read)


def _spoil(read: _Read) -> None:
    for spoil in read.results.values():
        spoil(True)


# ---- kernels ----


@contextlib.contextmanager
def launching(arrays: Iterable[Any], stream: Any = None) -> Iterator[None]:
    """Run a kernel on the true memory of arrays, with what its stream sees in it. What it changes it has written."""
    if not _on:
        yield
        return
    with _lock:
        begin_operation()
        key = _key(stream)
        clock = dict(_before(key))
        areas: dict[int, tuple[_Area, Any]] = {}
        for array in arrays:
            if array._buffer.size:
                area = area_of(array._memory)
                areas[id(area)] = (area, array)
        shown: list[tuple[_Area, Any, Bytes, Bytes]] = []
        for area, array in areas.values():
            _finish_before(area, clock)
            memory = area.there()
            true = memory.copy()
            old = _old(area, _Region(memory), clock)
            if old is not None:
                memory[...] = old
            shown.append((area, array, true, true if old is None else old))
    try:
        yield
    finally:
        with _lock:
            _launched(key, clock, shown)


def _launched(key: int, clock: Clock, shown: list[tuple[_Area, Any, Bytes, Bytes]]) -> None:
    place = _step(key)
    item = {id(area): array.itemsize for area, array, _, _ in shown}
    changes = [(area, array, true, _whole(area.there() != old, item[id(area)])) for area, array, true, old in shown]
    for area, array, _, changed in changes:
        if not changed.any():
            _keep_read(area, _Read(key, place, area, _Region(array._buffer), True, clock))
    sources = _sources()
    for area, _, true, changed in changes:
        memory = area.there()
        if changed.any():
            after = memory[changed]
            memory[...] = true
            _overwrite_changed(area, changed, clock)
            write = _Write(key, place, true, changed)
            area.writes.append(write)
            _find_races(area, changed, write, clock)
            _used.add(area)
            _add_sources(area, write, sources)
            memory[changed] = after
        else:
            memory[...] = true


def _overwrite_changed(area: _Area, changed: np.ndarray[Any, Any], clock: Clock) -> None:
    """Spoil what was calculated by unordered reads of what a kernel has overwritten."""
    for read in list(area.reads):
        if _covers(clock, read):
            continue
        part = np.flatnonzero(changed[read.region.low - area.low : read.region.high - area.low])
        if read.in_part:  # all of it, most likely
            hit = part.size > 0 and part[-1] - part[0] >= 0.9 * (read.region.high - read.region.low)
        else:
            hit = part.size > 0 and bool((changed & _mask(area, read.region)).any())
        if hit:
            _spoil(read)


# ---- the host ----


def later(action: Callable[[], None], stream: Any = None, result: Bytes | None = None) -> None:
    """Do something when the host waits for what a stream has been given up to now; perhaps with a result."""
    with _lock:
        key = _key(stream)
        _pending.append(_Late(key, _step(key), action))
        if result is not None:
            _add_host_result(result)


def _add_host_result(result: Bytes) -> None:
    def spoil(do_it: bool) -> bool:
        if do_it:
            result[...] = POISON
        return True

    order = next(_orders)
    for read in _sources():
        read.results[order] = spoil


def _finish_before(area: _Area, clock: Clock) -> None:
    """Make the late copies into memory that a clock knows."""
    for one in list(area.late):
        if _covers(clock, one):
            _complete(one)


def _complete(one: _Late) -> None:
    """Do what is due; a copy becomes the newest write to its memory."""
    with _lock:
        if one not in _pending:
            return
        _pending.remove(one)
        area = one.area
        if area is not None:
            area.late.remove(one)
            if area.is_there():
                assert one.region is not None
                write = _Write(one.stream, one.place, area.there().copy(), _mask(area, one.region))
                _find_races(area, write.changed, write, one.clock)
                area.writes.append(write)
                one.action()
            return
    one.action()  # somebody's function, which may wait for other threads


def recorded(stream: Any) -> Clock:
    """Return what comes before an event that is recorded in a stream now."""
    with _lock:
        key = _key(stream)
        _step(key)
        clock: Clock = {}
        _join(clock, _known[key])
        return clock


def given(stream: Any) -> Clock:
    """Return what a stream has been given up to now, and what comes before."""
    with _lock:
        return dict(_before(enter(stream)))


def is_waited_for(clock: Clock) -> bool:
    """Whether the host has waited for all of it."""
    with _lock:
        return all(_done.get(stream, 0) >= place for stream, place in clock.items())


def wait_in_stream(stream: Any, clock: Clock) -> None:
    """Let the later work of a stream come after an event."""
    with _lock:
        _join(_known[enter(stream)], clock)


def wait_for(clock: Clock) -> None:
    """Let the host wait for an event."""
    with _lock:
        _join(_done, clock)
        due = [one for one in _pending if _covers(_done, one)]
    for one in due:  # in the order in which they were given: a callback may read what a copy brings
        _complete(one)
    with _lock:
        for area in list(_used):
            _settle(area)
        if len(_known) > _MOST_STREAMS:
            _forget_streams()


def _forget_streams() -> None:
    """Forget streams of which all has been waited for; most of them are gone."""
    for key, clock in list(_known.items()):
        if key != NULL and clock.get(key, 0) <= _done.get(key, 0):
            del _known[key]
    for clock in _known.values():
        for key in [key for key, place in clock.items() if place <= _done.get(key, 0) and key not in _known]:
            del clock[key]
    _blocking.intersection_update(_known)


def _settle(area: _Area) -> None:
    """Forget what the host has waited for."""
    memory = area.bytes()
    if memory is None:
        area.writes = [write for write in area.writes if not _covers(_done, write)]
        area.reads = [read for read in area.reads if not _covers(_done, read)]
        if not (area.writes or area.reads):
            _used.discard(area)
            if area in _free:
                _free.remove(area)
        return
    area.reads = [read for read in area.reads if not _covers(_done, read)]
    kept: list[_Write] = []
    for number, write in enumerate(area.writes):
        if not _covers(_done, write):
            kept.append(write)
            continue
        if write.raced is not None:  # nobody can know what is there
            left = write.raced.copy()
            for newer in area.writes[number + 1 :]:
                if newer.before is not None:
                    newer.before[left] = POISON
                left &= ~newer.changed
            memory[left] = POISON
        for older in kept:  # what is under it does not come back
            older.changed = older.changed & ~write.changed
    area.writes = kept
    if not (area.writes or area.reads or area.late):
        _used.discard(area)


def wait_for_stream(stream: Any) -> None:
    """Let the host wait for a stream, the current one if it is None."""
    wait_for(recorded(stream))


def wait_for_all() -> None:
    """Let the host wait for all streams."""
    with _lock:
        everything: Clock = {}
        for clock in _known.values():
            _join(everything, clock)
    wait_for(everything)
