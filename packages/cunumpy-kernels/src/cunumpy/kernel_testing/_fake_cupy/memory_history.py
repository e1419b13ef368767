"""What has been done with memory, in which streams, since the host has waited for it.

A write is kept with what was there before, and with the reads from which it was calculated; a read with what was
calculated from it, so that this can be spoiled where the read came too late.
"""

from __future__ import annotations

import collections
import ctypes
import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .stream_clocks import Clock, covers, waited_for

if TYPE_CHECKING:
    from .memory import BaseMemory


Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
live_memory: weakref.WeakSet[BaseMemory] = weakref.WeakSet()  # all device memory that there is
pending: list[Late] = []
unsettled: weakref.WeakSet[Area] = weakref.WeakSet()  # memory with reads or writes that nobody has waited for
freed: collections.deque[Area] = collections.deque()  # memory that is gone, perhaps too early: the latest
free_areas: list[Area] = []  # and the rest of it
POISON = 0xFF  # NaN as float, -1 as int
_MOST_WORK: Any = 10_000  # of deciding whether two strided selections meet
_MOST_FREED = 64  # pieces of memory that are kept in mind when they are gone


class Region:
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

    def meets(self, other: Region) -> bool:
        """Whether they have an element in common; where that is hard to tell, they have not."""
        if self.high <= other.low or other.high <= self.low:
            return False
        try:
            return bool(np.shares_memory(np.asarray(self), np.asarray(other), _MOST_WORK))
        except np.exceptions.TooHardError:
            return False

    def covers(self, other: Region) -> bool:
        """Whether it is all the bytes between the first and the last of another."""
        dense = int(np.prod(self.shape)) * self.item == self.high - self.low
        return dense and self.low <= other.low and other.high <= self.high


class Write:
    """A write, with what was there before."""

    __slots__ = ("before", "changed", "order", "place", "raced", "sources", "stream")

    def __init__(self, stream: int, place: int, before: Bytes | None, changed: Mask) -> None:
        self.stream, self.place, self.before = stream, place, before
        self.changed = changed  # which bytes
        self.raced: Mask | None = None  # which bytes an unordered write has written, too
        self.sources: set[Read] = set()  # from which this was calculated
        self.order = next(orders)


class Read:
    """A read, and what was calculated from it."""

    __slots__ = ("area", "clock", "in_part", "place", "region", "results", "stream")

    def __init__(self, stream: int, place: int, area: Area, region: Region, in_part: bool, clock: Clock) -> None:
        self.stream, self.place, self.area, self.region, self.in_part = stream, place, area, region, in_part
        self.clock = clock
        self.results: dict[int, Callable[[bool], bool]] = {}  # how to spoil each; whether it is still there

    def is_like(self, other: Read) -> bool:
        """Whether another read is of the same stream and of the same elements."""
        mine, its = self.region, other.region
        return (
            self.stream == other.stream
            and self.in_part == other.in_part
            and (mine.start, mine.shape, mine.strides) == (its.start, its.shape, its.strides)
        )

    def sources(self) -> set[Read]:
        """Return it, and the reads from which what it has read was calculated."""
        found = {self}
        for write in self.area.writes:
            if covers(self.clock, write):
                write.sources = {read for read in write.sources if read.matters()}
                found |= write.sources
        return found

    def matters(self) -> bool:
        """Whether what it has read can still be overwritten too early."""
        return self.area.is_there() and not covers(waited_for, self)


class Late:
    """What happens when the host waits."""

    __slots__ = ("action", "area", "clock", "place", "region", "stream")

    def __init__(self, stream: int, place: int, action: Callable[[], None]) -> None:
        self.stream, self.place, self.action = stream, place, action
        self.area: Area | None = None  # memory that it writes to
        self.region: Region | None = None
        self.clock: Clock = {}


orders = itertools.count()


class Area:
    """What has been done with a piece of memory since it was waited for."""

    __slots__ = ("__weakref__", "_memory", "late", "low", "reads", "size", "stream", "sweep", "writes")

    def __init__(self, memory: BaseMemory) -> None:
        self._memory = weakref.ref(memory, self._is_gone)
        self.stream: int | None = None  # which it was allocated in
        self.low, self.size = memory._extent()
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.late: list[Late] = []
        self.sweep = 32  # so many reads are looked through

    def _is_gone(self, _: Any) -> None:
        """Note that the memory may be given away again, to work of the stream that it was allocated in."""
        if self.stream is not None and (self.reads or self.writes):
            freed.append(self)  # no more here: memory dies anywhere

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


def whole_elements(changed: Mask, item: int) -> Mask:
    """Let bytes of an element count as changed together."""
    if item > 1:
        end = changed.size // item * item
        changed[:end].reshape(-1, item)[...] = changed[:end].reshape(-1, item).any(1, keepdims=True)
    return changed


def area_of(memory: BaseMemory) -> Area:
    """Return what is kept about memory; memory within other memory has the other's."""
    found: Area | None = memory._area
    if found is None:
        found = memory._area = _containing(memory) or Area(memory)
    return found


def _containing(memory: BaseMemory) -> Area | None:
    if not hasattr(memory, "_owner"):
        return None
    low, size = memory._extent()
    other = memory_at(low, size, but=memory)
    return None if other is None else area_of(other)


def memory_at(address: int, size: int, but: BaseMemory | None = None) -> BaseMemory | None:
    """Return the device memory that has these addresses, if any has."""
    for one in list(live_memory):
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


def take_from_freed(area: Area, key: int, clock: Clock) -> bool:
    """Let new memory be what a pool would give: memory of this stream that is free, though others may still use it.

    What they were to read from it is spoiled. Returns whether they may still write to it.
    """
    area.stream = key
    while freed:
        free_areas.append(freed.popleft())
    del free_areas[:-_MOST_FREED]
    for other in free_areas:
        if other.stream == key and area.size <= other.size:
            free_areas.remove(other)
            for read in other.reads:
                if not covers(clock, read):
                    spoil_results(read)
            return any(not covers(clock, write) for write in other.writes)
    return False


def find_races(area: Area, changed: Mask, write: Write, clock: Clock) -> None:
    """Mark which bytes of a write have been written by unordered writes, too."""
    for other in area.writes:
        if other is not write and not covers(clock, other):
            both = changed & other.changed
            if both.any():
                write.raced = both if write.raced is None else write.raced | both


def mask_of(area: Area, region: Region) -> Mask:
    """Return which bytes of memory are a region's."""
    mask = np.zeros(area.size, bool)
    if region.high > region.low:
        shape, strides = (*region.shape, region.item), (*region.strides, 1)
        np.ndarray(shape, bool, mask, region.start - area.low, strides)[...] = True
    return mask


def as_seen(area: Area, region: Region, clock: Clock) -> Bytes | None:
    """Return memory as it was without the writes that a clock does not know; None if there is no such write."""
    hidden = [write for write in area.writes if not covers(clock, write)]
    if not hidden and all(write.raced is None for write in area.writes):
        return None
    state = area.there().copy()
    open_bytes = np.ones(area.size, bool)
    for write in reversed(area.writes):
        if covers(clock, write):
            if write.raced is not None:
                state[write.raced & open_bytes] = POISON
            open_bytes &= ~write.changed
        else:
            back = write.changed & open_bytes
            state[back] = POISON if write.before is None else write.before[back]
    part = slice(region.low - area.low, region.high - area.low)
    return None if np.array_equal(state[part], area.there()[part]) else state


def overwrite(area: Area, region: Region, clock: Clock) -> None:
    """Spoil what was calculated by unordered reads of what is overwritten now."""
    for read in list(area.reads):
        if not covers(clock, read) and (region.covers(read.region) if read.in_part else region.meets(read.region)):
            spoil_results(read)


def spoil_results(read: Read) -> None:
    """Spoil what was calculated from a read, all of it."""
    for spoil in read.results.values():
        spoil(True)


def overwrite_changed(area: Area, changed: np.ndarray[Any, Any], clock: Clock) -> None:
    """Spoil what was calculated by unordered reads of what a kernel has overwritten."""
    for read in list(area.reads):
        if covers(clock, read):
            continue
        part = np.flatnonzero(changed[read.region.low - area.low : read.region.high - area.low])
        if read.in_part:  # all of it, most likely
            hit = part.size > 0 and part[-1] - part[0] >= 0.9 * (read.region.high - read.region.low)
        else:
            hit = part.size > 0 and bool((changed & mask_of(area, read.region)).any())
        if hit:
            spoil_results(read)


def settle(area: Area) -> None:
    """Forget what the host has waited for."""
    memory = area.bytes()
    if memory is None:
        area.writes = [write for write in area.writes if not covers(waited_for, write)]
        area.reads = [read for read in area.reads if not covers(waited_for, read)]
        if not (area.writes or area.reads):
            unsettled.discard(area)
            if area in free_areas:
                free_areas.remove(area)
        return
    area.reads = [read for read in area.reads if not covers(waited_for, read)]
    kept: list[Write] = []
    for number, write in enumerate(area.writes):
        if not covers(waited_for, write):
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
        unsettled.discard(area)
