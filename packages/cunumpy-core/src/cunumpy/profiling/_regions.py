"""Named regions: for NVIDIA's profilers, for the time line of counters, and timed."""

from __future__ import annotations

import importlib
import sys
import threading
from _thread import get_ident
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Any, Literal, TypeVar

from cunumpy import _backend, _transfers
from cunumpy._call_sites import call_site
from cunumpy._gate import as_integer, as_truth
from cunumpy._scoped_calls import scoped
from cunumpy._text import html_table, time_text
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.profiling._events import Region

__all__ = ["Timing", "TimingSummary", "Timings", "nvtx_range", "timed_region"]

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E")

_nvtx_of: tuple[Any, Any] = (None, None)  # a CuPy module and its NVTX module; a failing import is slow


def _nvtx() -> Any:
    """Give ``cupy.cuda.nvtx``, or None if the NumPy backend is active or CuPy was built without it."""
    global _nvtx_of
    if _backend.get_backend() != "cupy":
        return None
    cupy = sys.modules.get("cupy")
    known, module = _nvtx_of
    if cupy is not known:
        try:
            module = importlib.import_module("cupy.cuda.nvtx")
        except ImportError:
            module = None
        _nvtx_of = (cupy, module)
    return module


def _record(name: str, category: str, where: str, started: float, duration: float) -> None:
    _transfers.record_region(
        Region(name, category, where, started, duration, threading.current_thread().name, get_ident())
    )


def _pop_own(entries: list[tuple[int, E]]) -> E:
    """Take the newest entry of this thread: one object may be entered by several."""
    thread = get_ident()
    for index in range(len(entries) - 1, 0, -1):
        if entries[index][0] == thread:
            return entries.pop(index)[1]
    return entries.pop(0)[1]


class nvtx_range(AbstractContextManager["nvtx_range"]):
    """Name a part of the program for NVIDIA's profilers (Nsight Systems), and for `TransferCounter.write_trace`.

    On the CuPy backend the range is pushed and popped by ``cupy.cuda.nvtx``; it never waits for the device. On the
    NumPy backend only counters see it.

    Parameters
    ----------
    name : str
        Of the range; anything else is turned into a string.
    color : int, optional
        Index of a colour, as ``id_color`` of ``cupy.cuda.nvtx.RangePush``. By default the profiler chooses.

    Attributes
    ----------
    name : str
        The name.
    color : int or None
        As given.

    Raises
    ------
    ArgumentTypeError
        If `color` is neither an integer nor None.
    ArgumentError
        If `color` does not fit into 32 bits.

    Notes
    -----
    One object may be entered any number of times, also inside itself. As a decorator it serves all kinds of function;
    of generators and coroutines each resume is a range.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.nvtx_range("push", color=1):
    ...     x = xp.zeros(3) + 1
    """

    def __init__(self, name: str, color: int | None = None) -> None:
        if color is not None:
            color = as_integer(color, function="nvtx_range", argument="color", least=-(2**31), most=2**31 - 1)
        self.name: str = str(name)
        self.color = color
        self._entries: list[tuple[int, tuple[Any, float, str | None]]] = []

    def __enter__(self) -> nvtx_range:
        nvtx = _nvtx()
        if nvtx is not None:
            if self.color is None:
                nvtx.RangePush(self.name)
            else:
                nvtx.RangePush(self.name, id_color=int(self.color))
        where = call_site() if _transfers.watching() else None
        self._entries.append((get_ident(), (nvtx, perf_counter(), where)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        nvtx, started, where = _pop_own(self._entries)
        if where is not None and _transfers.watching():
            _record(self.name, "nvtx_range", where, started, perf_counter() - started)
        if nvtx is not None:  # the module of the entry, whatever the backend is now
            nvtx.RangePop()

    def __call__(self, function: F) -> F:
        """Decorate a function of any kind."""
        return scoped(function, lambda: self, type(self).__name__)

    def __repr__(self) -> str:
        return f"nvtx_range(name={self.name!r}, color={self.color!r})"

    def __reduce__(self) -> tuple[type[nvtx_range], tuple[str, int | None]]:
        return nvtx_range, (self.name, self.color)


@dataclass
class Timing:
    """The time that one pass through a region took.

    Parameters
    ----------
    name : str
        Of the region.
    elapsed : float, optional
        Seconds; None while the region is running.
    synced : bool, default: False
        Whether the clock was started and stopped with the device idle, so that `elapsed` has the device's work in it.
    clock : {"host", "device"}, default: "host"
        What measured: ``time.perf_counter``, or CUDA events on the current stream.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.timed_region("sum") as timing:
    ...     total = xp.sum(xp.ones(100))
    >>> timing.elapsed > 0
    True
    """

    name: str
    elapsed: float | None = None
    synced: bool = False
    clock: Literal["host", "device"] = "host"


@dataclass(frozen=True)
class TimingSummary:
    """All passes through the regions of one name.

    Parameters
    ----------
    count : int
        Number of passes.
    total, minimum, maximum : float
        Seconds.

    Examples
    --------
    >>> from cunumpy.profiling import TimingSummary
    >>> TimingSummary(count=4, total=2.0, minimum=0.25, maximum=1.0).mean
    0.5
    """

    count: int
    total: float
    minimum: float
    maximum: float

    @property
    def mean(self) -> float:
        """Mean of the passes in seconds."""
        return self.total / self.count


class Timings(Mapping[str, TimingSummary]):
    """Collects the timings of regions by name: ``timed_region(name, into=timings)``.

    A mapping from the names, in the order in which they were first left, to a `TimingSummary`. Threads may share it.

    Examples
    --------
    >>> import cunumpy as xp
    >>> timings = xp.profiling.Timings()
    >>> for _ in range(3):
    ...     with xp.profiling.timed_region("step", into=timings):
    ...         x = xp.zeros(3) + 1
    >>> timings["step"].count
    3
    """

    def __init__(self) -> None:
        self._summaries: dict[str, TimingSummary] = {}
        self._lock = threading.Lock()

    def add(self, timing: Timing) -> None:
        """Add one pass.

        Parameters
        ----------
        timing : Timing
            Of a region that was left.

        Raises
        ------
        ArgumentError
            If the region is still running.
        ArgumentTypeError
            If `timing` is no `Timing`.
        """
        if not isinstance(timing, Timing):
            raise ArgumentTypeError(f"Timings.add(): timing must be a Timing, got {timing!r}")
        seconds = timing.elapsed
        if seconds is None:
            raise ArgumentError(f"Timings.add(): the region {timing.name!r} is still running, elapsed is None")
        with self._lock:
            old = self._summaries.get(timing.name)
            self._summaries[timing.name] = (
                TimingSummary(1, seconds, seconds, seconds)
                if old is None
                else TimingSummary(
                    old.count + 1, old.total + seconds, min(old.minimum, seconds), max(old.maximum, seconds)
                )
            )

    def report(self) -> str:
        """Give a table of all names, in seconds.

        Returns
        -------
        str
        """
        width = max([len("region"), *map(len, self._summaries)])
        lines = [f"{'region':<{width}}  {'count':>8}  {'total':>11}  {'mean':>11}  {'min':>11}  {'max':>11}"]
        lines += (
            f"{name:<{width}}  {summary.count:>8}  "
            + "  ".join(f"{s:>11.3e}" for s in (summary.total, summary.mean, summary.minimum, summary.maximum))
            for name, summary in list(self._summaries.items())
        )
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the total time of each region, the longest first.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingPackageError
            Matplotlib is not installed.
        """
        from cunumpy.profiling._plots import axes_of, draw_timings

        ax = axes_of(ax, "Timings.plot()")
        draw_timings(ax, self)
        return ax

    def _repr_html_(self) -> str:
        head = ["region", "count", "total", "mean", "min", "max"]
        rows = [
            (name, s.count, *map(time_text, (s.total, s.mean, s.minimum, s.maximum)))
            for name, s in list(self._summaries.items())
        ]
        return html_table(head, rows)

    def __getitem__(self, name: str) -> TimingSummary:
        try:
            return self._summaries[name]
        except (KeyError, TypeError):
            regions = ", ".join(map(repr, self._summaries)) or "none so far"
            raise KeyError(f"no region {name!r} was timed; there are: {regions}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._summaries))

    def __len__(self) -> int:
        return len(self._summaries)

    def __repr__(self) -> str:
        return f"Timings({self._summaries!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"_summaries": dict(self._summaries), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())


class timed_region(AbstractContextManager[Timing]):
    """Time a part of the program; also an `nvtx_range` of that name.

    Parameters
    ----------
    name : str
        Of the region; anything else is turned into a string.
    sync : bool, default: True
        On the CuPy backend, wait for the device before the clock starts and before it stops (two ``sync`` events). With
        False, the time is that of submitting the work.
    into : Timings, optional
        Collects number, total, minimum and maximum of all passes.
    clock : {"host", "device"}, default: "host"
        With ``"device"`` on the CuPy backend, CUDA events on the current stream measure, and the host waits for the
        second of them only (one ``sync`` event). The NumPy backend always has the host's clock.

    Returns
    -------
    Timing
        Given by ``with ... as``; its `elapsed` is set when the block ends, also if it raises.

    Raises
    ------
    ArgumentError
        If `clock` is unknown, or if it is ``"device"`` together with ``sync=False``: the events can't be read without
        waiting.
    ArgumentTypeError
        If `into` is no `Timings`.

    Notes
    -----
    The backend at entry counts. As a decorator it serves all kinds of function; of generators and coroutines each
    resume is a pass, without the time in which they are suspended.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.timed_region("deposit") as timing:
    ...     density = xp.bincount(xp.asarray([0, 1, 1]))
    >>> timing.synced
    False
    """

    def __init__(
        self, name: str, *, sync: bool = True, into: Timings | None = None, clock: Literal["host", "device"] = "host"
    ) -> None:
        if sync is not True and sync is not False:
            sync = as_truth(sync, function="timed_region", argument="sync")
        if not isinstance(clock, str) or clock not in ("host", "device"):
            raise ArgumentError(f"timed_region(): clock must be 'host' or 'device', got {clock!r}")
        if clock == "device" and not sync:
            raise ArgumentError("timed_region(): clock='device' has to wait for its last event; use it with sync=True")
        if into is not None and not isinstance(into, Timings):
            raise ArgumentTypeError(f"timed_region(): into must be a Timings or None, got {into!r}")
        self.name: str = str(name)
        self._sync = sync
        self._into = into
        self._clock = clock
        self._entries: list[tuple[int, _Pass]] = []

    def __enter__(self) -> Timing:
        on_device = _backend.get_backend() == "cupy"
        synced = on_device and self._sync
        timing = Timing(self.name, synced=synced, clock=self._clock if on_device else "host")
        if synced and timing.clock == "host":
            _synchronize()
        event = _cuda_event() if timing.clock == "device" else None  # first: if it fails, no range is left open
        nvtx = _nvtx()
        if nvtx is not None:
            nvtx.RangePush(self.name)
        where = call_site() if _transfers.watching() else None
        self._entries.append((get_ident(), _Pass(timing, nvtx, where, event, perf_counter())))
        return timing

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        entry = _pop_own(self._entries)
        timing = entry.timing
        try:
            if entry.event is not None:
                timing.elapsed = _seconds_since(entry.event, self.name)
            elif timing.synced:
                _synchronize()
        finally:
            duration = perf_counter() - entry.started
            if timing.elapsed is None:
                timing.elapsed = duration
            if entry.nvtx is not None:
                entry.nvtx.RangePop()
            if entry.where is not None and _transfers.watching():
                _record(self.name, "timed_region", entry.where, entry.started, duration)
            if self._into is not None:
                self._into.add(timing)

    def __call__(self, function: F) -> F:
        """Decorate a function of any kind."""
        return scoped(function, lambda: self, type(self).__name__)

    def __repr__(self) -> str:
        return f"timed_region(name={self.name!r}, sync={self._sync}, clock={self._clock!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_entries": []}


@dataclass(slots=True)
class _Pass:
    timing: Timing
    nvtx: Any
    where: str | None
    event: Any
    started: float


def _synchronize() -> None:
    from cunumpy import _conversion

    _conversion.synchronize()


def _cuda_event() -> Any:
    event = sys.modules["cupy"].cuda.Event()
    event.record()
    return event


def _seconds_since(start: Any, name: str) -> float:
    description = f"timed_region({name!r}, clock='device')"
    cuda = sys.modules["cupy"].cuda
    stop = cuda.Event()
    stop.record()
    if _transfers.watching():
        _transfers.announce("sync", description)
    waited = perf_counter()
    stop.synchronize()
    if _transfers.watching():
        _transfers.record("sync", description, started=waited)
    return float(cuda.get_elapsed_time(start, stop)) / 1000.0  # CUDA gives milliseconds
