"""Time lines in the Trace Event Format, which chrome://tracing and Perfetto open.

Format: N. Duca and D. Sinclair, "Trace Event Format", Google, 2016.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from cunumpy.profiling._events import Region, TransferEvent


def trace(events: Iterable[TransferEvent], regions: Iterable[Region], clock_epoch: float) -> dict[str, Any]:
    """Build the JSON object of a trace; times in it are microseconds since its first entry."""
    spans: list[
        tuple[float, float | None, int, str, dict[str, Any]]
    ] = []  # start, duration, thread, thread name, entry
    for region in regions:
        entry = {"name": region.name, "cat": region.category, "args": {"where": region.where}}
        spans.append((region.time, region.duration, region.thread_id, region.thread, entry))
    for event in events:
        if event.time is None:  # made by hand: there is no place for it on a time line
            continue
        arguments = {
            "kind": event.kind,
            "where": event.where,
            "bytes": None if event.nbytes is None else int(event.nbytes),
            "blocking": event.blocking,
            "implicit": event.implicit,
            "device": event.device,
        }
        entry = {"name": event.label, "cat": event.kind, "args": arguments}
        spans.append((event.time, event.duration, event.thread_id or 0, event.thread or "thread", entry))

    origin = min((start for start, *_ in spans), default=0.0)
    process = os.getpid()
    tracks = _Tracks()
    entries: list[dict[str, Any]] = []
    nanoseconds = sorted(
        ((round((start - origin) * 1e9), _end(start, duration, origin), *rest) for start, duration, *rest in spans),
        # What starts first and ends last comes first, so that the enclosing region gets its track before its contents.
        key=lambda span: (span[0], -(span[0] if span[1] is None else span[1])),
    )
    for start_ns, end_ns, thread_id, thread, entry in nanoseconds:
        entry |= {"pid": process, "ts": start_ns / 1e3}
        if end_ns is None:
            entry |= {"ph": "i", "s": "t", "tid": tracks.first(thread_id, thread)}
        else:
            entry |= {
                "ph": "X",
                "dur": (end_ns - start_ns) / 1e3,
                "tid": tracks.find(thread_id, thread, start_ns, end_ns),
            }
        entries.append(entry)
    metadata = [{"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": "cunumpy"}}]
    metadata += (
        {"name": "thread_name", "ph": "M", "pid": process, "tid": number, "args": {"name": name}}
        for number, name in tracks.names.items()
    )
    return {
        "traceEvents": metadata + entries,
        "displayTimeUnit": "ms",
        "otherData": {"start": clock_epoch + origin, "start_unit": "seconds since 1970-01-01 UTC"},
    }


def _end(start: float, duration: float | None, origin: float) -> int | None:
    return None if duration is None else round((start + duration - origin) * 1e9)


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
