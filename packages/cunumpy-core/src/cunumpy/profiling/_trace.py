"""Time lines in the Trace Event Format, which chrome://tracing and Perfetto open.

Format: N. Duca and D. Sinclair, "Trace Event Format", Google, 2016.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from cunumpy.profiling._events import Region, TransferEvent


class _Span(NamedTuple):
    start: float
    duration: float | None
    thread_id: int
    thread: str
    entry: dict[str, Any]

    def nanoseconds(self, origin: float) -> tuple[int, int | None]:
        """Give start and end; whole numbers, so that what is nested stays nested."""
        end = None if self.duration is None else round((self.start + self.duration - origin) * 1e9)
        return round((self.start - origin) * 1e9), end


def trace(events: Iterable[TransferEvent], regions: Iterable[Region], clock_epoch: float) -> dict[str, Any]:
    """Build the JSON object of a trace; times in it are microseconds since its first entry."""
    spans = [_region_span(region) for region in regions]
    spans += (_event_span(event) for event in events if event.time is not None)  # one made by hand has no place here
    origin = min((span.start for span in spans), default=0.0)
    # What starts first and ends last comes first: an enclosing region gets its track before its contents.
    spans.sort(key=lambda span: (span.nanoseconds(origin)[0], -(span.duration or 0.0)))

    process = os.getpid()
    tracks = _Tracks()
    entries = []
    for span in spans:
        start, end = span.nanoseconds(origin)
        entry = {**span.entry, "pid": process, "ts": start / 1e3}
        if end is None:
            entry.update(ph="i", s="t", tid=tracks.first(span.thread_id, span.thread))
        else:
            entry.update(ph="X", dur=(end - start) / 1e3, tid=tracks.find(span.thread_id, span.thread, start, end))
        entries.append(entry)
    metadata = [_metadata("process_name", process, 0, "cunumpy")]
    metadata += (_metadata("thread_name", process, number, name) for number, name in tracks.names.items())
    return {
        "traceEvents": metadata + entries,
        "displayTimeUnit": "ms",
        "otherData": {"start": clock_epoch + origin, "start_unit": "seconds since 1970-01-01 UTC"},
    }


def _region_span(region: Region) -> _Span:
    entry = {"name": region.name, "cat": region.category, "args": {"where": region.where}}
    return _Span(region.time, region.duration, region.thread_id, region.thread, entry)


def _event_span(event: TransferEvent) -> _Span:
    arguments = {
        "kind": event.kind,
        "where": event.where,
        "bytes": None if event.nbytes is None else int(event.nbytes),
        "blocking": event.blocking,
        "implicit": event.implicit,
        "device": event.device,
    }
    entry = {"name": event.label, "cat": event.kind, "args": arguments}
    return _Span(event.time or 0.0, event.duration, event.thread_id or 0, event.thread or "thread", entry)


def _metadata(kind: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": track, "args": {"name": name}}


class _Tracks:
    """Number tracks so that the spans on each are nested; viewers draw others wrongly."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self._numbers: dict[int, list[int]] = {}  # by thread; viewers take 32 bits, thread identifiers have 64
        self._open_ends: dict[int, list[int]] = {}  # by track: ends of the spans that are still open, outermost first

    def first(self, thread_id: int, thread: str) -> int:
        return (self._numbers.get(thread_id) or [self._add(thread_id, thread)])[0]

    def find(self, thread_id: int, thread: str, start: int, end: int) -> int:
        self.first(thread_id, thread)
        for number in self._numbers[thread_id]:
            ends = self._open_ends[number]
            while ends and ends[-1] <= start:
                ends.pop()
            if not ends or end <= ends[-1]:
                break
        else:
            number = self._add(thread_id, thread)
        self._open_ends[number].append(end)
        return number

    def _add(self, thread_id: int, thread: str) -> int:
        number = len(self.names) + 1
        numbers = self._numbers.setdefault(thread_id, [])
        numbers.append(number)
        self.names[number] = thread if len(numbers) == 1 else f"{thread} ({len(numbers)})"
        self._open_ends[number] = []
        return number
