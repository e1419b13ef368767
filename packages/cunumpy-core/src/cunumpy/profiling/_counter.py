"""What counts: the events of a block, in order and in sums."""

from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from cunumpy import _transfers
from cunumpy._gate import as_integer, as_path, as_truth, given
from cunumpy._text import html_table
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.profiling._events import Region, TransferEvent

__all__ = ["TransferCounter"]

CLOCK_EPOCH = time.time() - time.perf_counter()
"""The Unix time at which the clock of events and regions was zero, in seconds."""


def _noting(name: str) -> Any:
    method: Callable[..., Any] = getattr(list, name)

    @functools.wraps(method)
    def change(self: EventList, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        finally:  # afterwards: a thread that sums up meanwhile must not take the change for seen
            self.changed = True

    return change


class EventList(list[TransferEvent]):
    """A list that knows that somebody else changed it, so that its events have to be summed up once only."""

    changed = True

    append = _noting("append")
    extend = _noting("extend")
    insert = _noting("insert")
    remove = _noting("remove")
    pop = _noting("pop")
    clear = _noting("clear")
    sort = _noting("sort")
    reverse = _noting("reverse")
    __setitem__ = _noting("__setitem__")
    __delitem__ = _noting("__delitem__")
    __iadd__ = _noting("__iadd__")
    __imul__ = _noting("__imul__")


_Key = tuple[str, str, str, bool, bool]  # kind, where, description, blocking, implicit


class TransferCounter:
    """The transfers, waits and markers of one or several `count_transfers` blocks.

    Parameters
    ----------
    keep_events : bool, default: True
        Keep every event and region. With False only the sums per kind, line and label are kept, so that the memory does
        not grow with the length of a run; `events` and `regions` stay empty and no trace can be written.

    Attributes
    ----------
    regions : list of Region
        Timed regions, NVTX ranges and budget phases that ended while the counter was open, in the order of their ends.

    Notes
    -----
    `events` is an ordinary list that may be changed, as by ``counter.events.clear()``; all numbers follow it. Events
    arrive from several threads only if the counter was opened for all threads, or in several of them.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.count_transfers() as counter:
    ...     total = xp.sum(xp.ones(3))
    >>> counter.total
    0
    """

    def __init__(self, *, keep_events: bool = True) -> None:
        keep_events = as_truth(keep_events, function="TransferCounter", argument="keep_events")
        self._keep_events = keep_events
        self._lock = threading.Lock()
        self._events = EventList()
        self.regions: list[Region] = []
        self._reset()

    def _reset(self) -> None:
        self._events.changed = False
        self._summed = 0  # how many events of the list are in the sums
        self._kinds: dict[str, list[int]] = {}  # kind: [number, bytes]
        self._calls: dict[_Key, list[int]] = {}

    def _add(self, event: TransferEvent) -> None:
        nbytes = event.nbytes or 0
        of_kind = self._kinds.setdefault(event.kind, [0, 0])
        of_kind[0] += 1
        of_kind[1] += nbytes
        call = self._calls.setdefault(
            (event.kind, event.where, event.description, event.blocking, event.implicit), [0, 0]
        )
        call[0] += 1
        call[1] += nbytes

    def _receive(self, event: TransferEvent) -> None:
        if self._keep_events:
            list.append(self._events, event)  # summed up when somebody looks
        else:
            with self._lock:
                self._add(event)

    def _receive_region(self, region: Region) -> None:
        if self._keep_events:
            self.regions.append(region)

    def _follow_list(self) -> None:
        """Sum up what is new in the list, or all of it if somebody changed it; the lock is held."""
        if self._events.changed:
            self._reset()
        new = self._events[self._summed :]
        for event in new:
            self._add(event)
        self._summed += len(new)

    def _totals(self) -> dict[str, tuple[int, int]]:
        """Give number and bytes by kind."""
        with self._lock:
            self._follow_list()
            return {kind: (number, nbytes) for kind, (number, nbytes) in self._kinds.items()}

    def _labelled(self) -> dict[str, dict[tuple[str, str], list[int]]]:
        """Give number and bytes by kind, and by line and label in the order in which they were first seen."""
        with self._lock:
            self._follow_list()
            calls = [(key, number, nbytes) for key, (number, nbytes) in self._calls.items()]
        labelled: dict[str, dict[tuple[str, str], list[int]]] = {kind: {} for kind in _transfers.KINDS}
        for (kind, where, description, blocking, implicit), number, nbytes in calls:
            label = TransferEvent(kind, description, where, None, blocking, implicit).label
            entry = labelled.setdefault(kind, {}).setdefault((where, label), [0, 0])
            entry[0] += number
            entry[1] += nbytes
        return labelled

    @property
    def events(self) -> list[TransferEvent]:
        """The events in the order in which they were recorded; always empty with ``keep_events=False``."""
        return self._events if self._keep_events else []

    @events.setter
    def events(self, events: Iterable[TransferEvent]) -> None:
        if not self._keep_events:
            raise ArgumentError("TransferCounter.events can't be set on a counter that was made with keep_events=False")
        new = EventList(events)
        new.changed = True
        with self._lock:
            self._events = new

    def clear(self) -> None:
        """Forget everything that was counted."""
        with self._lock:
            self._events.clear()
            self.regions.clear()
            self._reset()

    def count(self, kind: str) -> int:
        """Give the number of events of a kind.

        Parameters
        ----------
        kind : str
            A kind of `TransferEvent`; a kind that never occurred gives 0.

        Returns
        -------
        int
        """
        return self._totals().get(_kind(kind, "count"), (0, 0))[0]

    def bytes(self, kind: str) -> int:
        """Give the bytes moved by the events of a kind; events of unknown size count 0.

        Parameters
        ----------
        kind : str
            A kind of `TransferEvent`; a kind that never occurred gives 0.

        Returns
        -------
        int
        """
        return self._totals().get(_kind(kind, "bytes"), (0, 0))[1]

    @property
    def to_host(self) -> int:
        """Number of copies from the device to the host."""
        return self.count("to_host")

    @property
    def to_device(self) -> int:
        """Number of copies from the host to the device."""
        return self.count("to_device")

    @property
    def kernel_conversions(self) -> int:
        """Number of host-kernel calls that copied device arrays."""
        return self.count("kernel_conversion")

    @property
    def kernel_conversion_calls(self) -> list[TransferEvent]:
        """The events of host-kernel calls that copied device arrays."""
        return [event for event in self.events if event.kind == "kernel_conversion"]

    @property
    def fallbacks(self) -> int:
        """Number of kernel calls that ran their host version on the CuPy backend."""
        return self.count("fallback")

    @property
    def device_copies(self) -> int:
        """Number of copies within the device."""
        return self.count("device_copy")

    @property
    def syncs(self) -> int:
        """Number of times that the host waited."""
        return self.count("sync")

    @property
    def bytes_to_host(self) -> int:
        """Bytes copied from the device to the host."""
        return self.bytes("to_host")

    @property
    def bytes_to_device(self) -> int:
        """Bytes copied from the host to the device."""
        return self.bytes("to_device")

    @property
    def total(self) -> int:
        """Number of all events but waits."""
        return sum(number for kind, (number, _) in self._totals().items() if kind != "sync")

    def report(self) -> str:
        """Say in a few lines what was counted, and where.

        Returns
        -------
        str
            A line of totals, then for each kind that occurred its lines of the program, each with how often.
        """
        numbers = ", ".join(f"{self.count(kind)} {kind}" for kind in _transfers.KINDS)
        lines = [f"{self.total} transfer(s) through cunumpy ({numbers})"]
        for kind, calls in self._labelled().items():
            if calls:
                lines.append(f"  {kind} ({self.count(kind)}):")
                lines += (
                    f"    {where}: {label}" + (f" (x{number})" if number > 1 else "")
                    for (where, label), (number, _) in calls.items()
                )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"TransferCounter({', '.join(f'{kind}={self.count(kind)}' for kind in _transfers.KINDS)})"

    def to_dict(self) -> dict[str, Any]:
        """Give everything that was counted as plain data.

        Returns
        -------
        dict
            ``clock_epoch`` (the Unix time at which the clock of all times was zero, in seconds), ``totals`` (number and
            bytes per kind, line and label), ``events`` and ``regions`` (their fields, times in seconds).
        """
        return {
            "clock_epoch": CLOCK_EPOCH,
            "totals": [
                {"kind": kind, "where": where, "label": label, "count": number, "nbytes": int(nbytes)}
                for kind, calls in self._labelled().items()
                for (where, label), (number, nbytes) in calls.items()
            ],
            "events": [
                {**vars(event), "nbytes": None if event.nbytes is None else int(event.nbytes)}
                for event in list(self.events)
            ],
            "regions": [region._asdict() for region in list(self.regions)],
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Give `to_dict` as JSON text.

        Parameters
        ----------
        indent : int, optional
            Spaces per level; by default everything is on one line.

        Returns
        -------
        str
        """
        if indent is not None:
            indent = as_integer(indent, function="TransferCounter.to_json", argument="indent", least=0, most=1000)
        return json.dumps(self.to_dict(), indent=indent)

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a time line of regions, transfers and waits that Perfetto and chrome://tracing open.

        Parameters
        ----------
        path : str or path-like
            File to write, usually ``*.json``.

        Raises
        ------
        ArgumentError
            If the counter was made with ``keep_events=False``.
        ArgumentTypeError
            If `path` is no path.

        Notes
        -----
        The file is in the JSON object form of the Trace Event Format [1]_. Regions, and events with a duration, are
        complete events (phase ``X``); events without are instants (``i``). Times are in microseconds since the first
        entry. Regions of one thread that overlap without one containing the other, as those of asynchronous tasks may,
        are put on additional tracks.

        References
        ----------
        .. [1] N. Duca and D. Sinclair, "Trace Event Format", Google, 2016.
        """
        if not self._keep_events:
            raise ArgumentError(
                "TransferCounter.write_trace() needs the events, and this counter was made with keep_events=False; "
                "use TransferCounter() to write a trace"
            )
        file = as_path(path, function="TransferCounter.write_trace", argument="path")
        from cunumpy.profiling._trace import trace

        text = json.dumps(trace(list(self.events), list(self.regions), CLOCK_EPOCH))
        file.write_text(text, encoding="utf-8")

    def plot(self, ax: Any = None) -> Any:
        """Draw regions, transfers and waits over the time.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            A row for each name of a region, and for each kind of event with number and size.

        Raises
        ------
        ArgumentError
            If the counter was made with ``keep_events=False``.
        MissingPackageError
            Matplotlib is not installed.
        """
        if not self._keep_events:
            raise ArgumentError(
                "TransferCounter.plot() needs the events, and this counter was made with keep_events=False; "
                "use TransferCounter() to draw them"
            )
        from cunumpy.profiling._plots import axes_of, draw_time_line

        ax = axes_of(ax, "TransferCounter.plot()")
        draw_time_line(ax, list(self.events), list(self.regions), _transfers.KINDS)
        return ax

    def _rows(self) -> list[tuple[str, int, str, str, str]]:
        """Give kind, number, size, line and label of all calls."""
        from cunumpy.profiling._plots import bytes_text

        return [
            (kind, number, bytes_text(nbytes) if nbytes else "", where, label)
            for kind, calls in self._labelled().items()
            for (where, label), (number, nbytes) in calls.items()
        ]

    def _repr_html_(self) -> str:
        head = ["kind", "number", "size", "where", "call"]
        return html_table(head, self._rows(), f"{self.total} transfers, {self.syncs} waits")

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {
                **vars(self),
                "_lock": None,
                "_events": list(self._events),
                "_kinds": {kind: list(sums) for kind, sums in self._kinds.items()},
                "_calls": {call: list(sums) for call, sums in self._calls.items()},
                "regions": list(self.regions),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _events=EventList(state["_events"]))
        self._events.changed = self._keep_events


def _kind(kind: object, method: str) -> str:
    if not isinstance(kind, str):
        raise ArgumentTypeError(
            f"TransferCounter.{method}: argument 'kind' must be a kind of transfer, as 'to_host', got {given(kind)}."
        )
    return kind
