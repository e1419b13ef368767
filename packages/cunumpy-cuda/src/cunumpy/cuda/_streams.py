"""CUDA streams and events, and what stands in for them on the host.

On the host all work is done when the call returns, so streams order nothing, and events are always complete.
"""

from __future__ import annotations

import itertools
import sys
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from cunumpy import _backend, _conversion
from cunumpy._gate import as_truth, describe, given
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import NoReturn

_handles = itertools.count(1)


def _check_callback(callback: Any, function: str) -> None:
    if not callable(callback):
        raise ArgumentTypeError(f"{function}: argument 'callback' must be a function, got {given(callback)}.")


class HostEvent:
    """An event of the host, with the interface of ``cupy.cuda.Event``; it is always complete.

    Parameters
    ----------
    block : bool, default: False
        Means nothing here.
    disable_timing : bool, default: False
        Whether it takes no time, so that `elapsed` refuses it.
    interprocess : bool, default: False
        Means nothing here.

    Examples
    --------
    >>> import cunumpy as xp
    >>> event = xp.cuda.HostEvent()
    >>> event.record()
    >>> event.done
    True
    """

    __slots__ = ("__weakref__", "_recorded", "_timed", "ptr")

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        block = as_truth(block, function="HostEvent", argument="block")
        disable_timing = as_truth(disable_timing, function="HostEvent", argument="disable_timing")
        interprocess = as_truth(interprocess, function="HostEvent", argument="interprocess")
        self._timed = not disable_timing
        self.ptr: int = next(_handles)
        self._recorded: float | None = None

    def __reduce__(self) -> NoReturn:
        _refuse_pickle(self)

    @property
    def done(self) -> bool:
        """Whether everything before the event has completed: always."""
        return True

    def record(self, stream: HostStream | None = None) -> None:
        """Put the event at the end of a stream of the host."""
        if stream is not None and not isinstance(stream, HostStream):
            raise ArgumentTypeError(
                f"HostEvent.record: argument 'stream' must be a HostStream or None, got {describe(stream)}; make an "
                "event for it with create_event() on the CuPy backend."
            )
        self._recorded = perf_counter()

    def synchronize(self) -> None:
        """Wait for the event; there is nothing to wait for."""


class HostStream:
    """A stream of the host, with the interface of ``cupy.cuda.Stream``: all work on it is done at once.

    It is a context manager that can be entered any number of times. Two are equal if they are the same.

    Examples
    --------
    >>> import cunumpy as xp
    >>> stream = xp.cuda.HostStream()
    >>> with stream:
    ...     x = xp.zeros(3) + 1
    >>> event = stream.record()
    >>> stream.wait_event(event)
    >>> stream.done
    True
    """

    __slots__ = ("__weakref__", "ptr")

    null: ClassVar[HostStream]
    """The default stream, whose `ptr` is 0."""

    def __init__(self) -> None:
        self.ptr: int = next(_handles)

    def __repr__(self) -> str:
        return f"<HostStream {self.ptr}>"

    def __reduce__(self) -> NoReturn:
        _refuse_pickle(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostStream) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __enter__(self) -> HostStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def use(self) -> HostStream:
        """Make this the current stream, which makes no difference on the host."""
        return self

    @property
    def device_id(self) -> int:
        """The device: -1, as of CuPy's default streams."""
        return -1

    @property
    def done(self) -> bool:
        """Whether all work has completed: always."""
        return True

    @property
    def is_non_blocking(self) -> bool:
        """Whether the stream is independent of the default stream: no, all host work is done in order."""
        return False

    @property
    def priority(self) -> int:
        """The default priority."""
        return 0

    def synchronize(self) -> None:
        """Wait for all work; there is nothing to wait for."""

    def record(self, event: HostEvent | None = None) -> HostEvent:
        """Put an event, a new one by default, at the end of the stream, and return it."""
        if event is None:
            event = HostEvent()
        elif not isinstance(event, HostEvent):
            raise ArgumentTypeError(
                f"HostStream.record: argument 'event' must be a HostEvent or None, got {describe(event)}; record an "
                "event of a device on a stream of the device."
            )
        event.record(self)
        return event

    def wait_event(self, event: HostEvent) -> None:
        """Let later work wait for an event of the host, which is complete."""
        if not isinstance(event, HostEvent):
            raise ArgumentTypeError(
                f"HostStream.wait_event: argument 'event' must be a HostEvent, got {describe(event)}; host work waits "
                "for a device by event.synchronize()."
            )

    def launch_host_func(self, callback: Callable[[Any], object], arg: Any) -> None:
        """Call ``callback(arg)`` when all work up to here has completed: now."""
        _check_callback(callback, "HostStream.launch_host_func")
        callback(arg)

    def add_callback(self, callback: Callable[[HostStream, int, Any], object], arg: Any) -> None:
        """Call ``callback(stream, 0, arg)`` when all work up to here has completed: now."""
        _check_callback(callback, "HostStream.add_callback")
        callback(self, 0, arg)

    def is_capturing(self) -> bool:
        """Whether the stream records a graph: never."""
        return False

    def begin_capture(self, mode: Any = None) -> NoReturn:
        """Refuse to record a CUDA graph, which the host has not."""
        raise BackendUnavailableError(
            "HostStream.begin_capture: CUDA graphs need a CUDA stream; on the host run the work itself, as the first "
            "of the launches of the graph."
        )


HostStream.null = HostStream()
HostStream.null.ptr = 0


def _refuse_pickle(value: object) -> NoReturn:
    raise ArgumentTypeError(
        f"a {type(value).__name__} does not pickle, as CUDA's do not: it belongs to its process; make a new one."
    )


# --- for both backends ------------------------------------------------------------------------------------------------


@contextmanager
def stream(existing: Any = None, *, join: bool = False) -> Iterator[Any]:
    """Make a stream the current one for a block.

    Parameters
    ----------
    existing : cupy.cuda.Stream or HostStream, optional
        Used on either backend. By default a new stream that is independent of the default stream; on the NumPy
        backend there is none.
    join : bool, default: False
        Let the block's work begin after what was submitted before it, and what is submitted after it wait for the
        block's work. Without it only the caller can order the two: leaving the block waits for nothing, and results
        that are read on another stream too early are wrong. The CPU does not wait in either case.

    Yields
    ------
    cupy.cuda.Stream, HostStream or None
        The stream; None for a new one on the NumPy backend.

    Raises
    ------
    ArgumentTypeError
        `existing` is no stream of either kind.

    Examples
    --------
    >>> import cunumpy as xp
    >>> x = xp.ones(3)
    >>> with xp.cuda.stream(join=True):
    ...     y = 2 * x
    >>> y + 1
    array([3., 3., 3.])
    """
    join = as_truth(join, function="stream", argument="join")
    if existing is None:
        if _backend.get_backend() != "cupy":
            yield None
            return
        existing = _backend.require_cupy("stream").cuda.Stream(non_blocking=True)
    elif not (isinstance(existing, HostStream) or _is_device_stream(existing)):
        _refuse("stream", "existing", existing, "a cupy.cuda.Stream or a HostStream")
    if isinstance(existing, HostStream) or not join:
        with existing:
            yield existing
        return
    outer = _backend.require_cupy("stream").cuda.get_current_stream()
    existing.wait_event(record_event(stream=outer))
    try:
        with existing:
            yield existing
    finally:  # the work was submitted, whatever happened then
        outer.wait_event(record_event(stream=existing))


def create_stream(*, non_blocking: bool = True, priority: int | None = None) -> Any:
    """Return a new stream of the active backend.

    Parameters
    ----------
    non_blocking : bool, default: True
        Whether it is independent of the default stream, for which it would wait otherwise.
    priority : int, optional
        Lower is more urgent; CUDA takes what it does not have as the nearest it has.

    Returns
    -------
    cupy.cuda.Stream or HostStream
        The former on the current device.

    Raises
    ------
    ArgumentTypeError
        A priority that is no integer.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.cuda.create_stream() as stream:
    ...     x = xp.zeros(3)
    >>> stream.synchronize()
    """
    non_blocking = as_truth(non_blocking, function="create_stream", argument="non_blocking")
    if priority is not None and (isinstance(priority, bool) or not hasattr(priority, "__index__")):
        raise ArgumentTypeError(
            f"create_stream: argument 'priority' must be an integer or None, got {given(priority)}; lower is more "
            "urgent."
        )
    if _backend.get_backend() != "cupy":
        return HostStream()
    return _backend.require_cupy("create_stream").cuda.Stream(non_blocking=non_blocking, priority=priority)


def create_event(*, timing: bool = False) -> Any:
    """Return a new event of the active backend.

    Parameters
    ----------
    timing : bool, default: False
        Whether `elapsed` can use it; events without are quicker.

    Returns
    -------
    cupy.cuda.Event or HostEvent

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.create_event().done
    True
    """
    timing = as_truth(timing, function="create_event", argument="timing")
    if _backend.get_backend() != "cupy":
        return HostEvent(disable_timing=not timing)
    return _backend.require_cupy("create_event").cuda.Event(disable_timing=not timing)


def record_event(event: Any = None, *, stream: Any = None) -> Any:
    """Put an event at the end of a stream.

    Parameters
    ----------
    event : cupy.cuda.Event or HostEvent, optional
        One that was recorded before is moved. By default a new one of the stream's kind.
    stream : cupy.cuda.Stream or HostStream, optional
        By default the current one of the event's kind; without an event, that of the active backend.

    Returns
    -------
    cupy.cuda.Event or HostEvent
        The event.

    Raises
    ------
    ArgumentTypeError
        No event or no stream, or one of the host with one of a device.

    Examples
    --------
    >>> import cunumpy as xp
    >>> event = xp.cuda.record_event()
    >>> event.synchronize()
    """
    kind = _common_kind("record_event", event, stream)
    if event is None:
        if kind is None:
            event = create_event()
        elif kind == "host":
            event = HostEvent(disable_timing=True)
        else:
            event = _backend.require_cupy("record_event").cuda.Event(disable_timing=True)
    if stream is None:
        event.record()
    else:
        event.record(stream)
    return event


def wait_event(event: Any, *, stream: Any = None) -> None:
    """Let what is submitted to a stream later wait for an event; the CPU does not wait.

    Parameters
    ----------
    event : cupy.cuda.Event or HostEvent
        One of the host is complete, so there is nothing to wait for.
    stream : cupy.cuda.Stream or HostStream, optional
        By default the current one of the event's kind.

    Raises
    ------
    ArgumentTypeError
        No event or no stream, or one of the host with one of a device.

    Examples
    --------
    >>> import cunumpy as xp
    >>> event = xp.cuda.record_event()
    >>> xp.cuda.wait_event(event)
    """
    if event is None:
        _refuse("wait_event", "event", event, "an event, as record_event() returns it")
    if _common_kind("wait_event", event, stream) == "device":
        if stream is None:
            stream = _backend.require_cupy("wait_event").cuda.get_current_stream()
        stream.wait_event(event)


def elapsed(start: Any, stop: Any) -> float:
    """Return the time between two recorded events in seconds, on both backends.

    Waits for `stop` if that is not complete, which is recorded as ``sync``.

    Parameters
    ----------
    start, stop : cupy.cuda.Event or HostEvent
        Made by ``create_event(timing=True)``, both on one device or on the host, and recorded.

    Returns
    -------
    float
        Seconds. Device events measure when the device got there, with a resolution of about 0.5 us; those of the host
        when the CPU did.

    Raises
    ------
    ArgumentTypeError
        No events, or one of the host with one of a device.
    ArgumentError
        An event that was not recorded, or was made without timing.

    Examples
    --------
    >>> import cunumpy as xp
    >>> start, stop = xp.cuda.create_event(timing=True), xp.cuda.create_event(timing=True)
    >>> _ = xp.cuda.record_event(start)
    >>> x = xp.ones(1000).sum()
    >>> _ = xp.cuda.record_event(stop)
    >>> xp.cuda.elapsed(start, stop) > 0
    True
    """
    kinds = {}
    for argument, event in (("start", start), ("stop", stop)):
        kinds[argument] = _event_kind(event)
        if kinds[argument] is None:
            _refuse("elapsed", argument, event, "a cupy.cuda.Event or a HostEvent")
    if kinds["start"] != kinds["stop"]:
        raise ArgumentTypeError(
            f"elapsed: argument 'start' is an event of the {kinds['start']} and 'stop' one of the {kinds['stop']}; "
            "both have to be of one kind."
        )
    if kinds["start"] == "host":
        for argument, event in (("start", start), ("stop", stop)):
            if event._recorded is None or not event._timed:
                raise ArgumentError(
                    f"elapsed: argument {argument!r} "
                    + ("was not recorded" if event._recorded is None else "was made without timing")
                    + "; make both events with create_event(timing=True), and record both."
                )
        return float(stop._recorded - start._recorded)
    cuda = _backend.require_cupy("elapsed").cuda
    if not stop.done:
        _conversion.wait(stop.synchronize, "elapsed(...)")
    try:
        return float(cuda.get_elapsed_time(start, stop)) * 1e-3
    except cuda.runtime.CUDARuntimeError as error:
        raise ArgumentError(
            f"elapsed: CUDA refuses the events ({error}); make both with create_event(timing=True) on one device, and "
            "record both."
        ) from None


# --- which kind -------------------------------------------------------------------------------------------------------


def _is_device_stream(value: object) -> bool:
    cuda = getattr(sys.modules.get("cupy"), "cuda", None)
    kinds = [getattr(cuda, name, None) for name in ("Stream", "ExternalStream")]
    return isinstance(value, tuple(kind for kind in kinds if kind is not None))


def _event_kind(value: object) -> str | None:
    if isinstance(value, HostEvent):
        return "host"
    cuda = getattr(sys.modules.get("cupy"), "cuda", None)
    return "device" if cuda is not None and isinstance(value, cuda.Event) else None


def _common_kind(function: str, event: object, stream: object) -> str | None:
    """Return where the event and the stream belong, "host" or "device"; None if both are None."""
    event_kind = stream_kind = None
    if event is not None:
        event_kind = _event_kind(event)
        if event_kind is None:
            _refuse(function, "event", event, "a cupy.cuda.Event or a HostEvent")
    if stream is not None:
        stream_kind = "host" if isinstance(stream, HostStream) else "device" if _is_device_stream(stream) else None
        if stream_kind is None:
            _refuse(function, "stream", stream, "a cupy.cuda.Stream or a HostStream")
    if event_kind and stream_kind and event_kind != stream_kind:
        raise ArgumentTypeError(
            f"{function}: argument 'event' is of the {event_kind} ({describe(event)}) and 'stream' of the "
            f"{stream_kind} ({describe(stream)}); both have to be of one kind: make them on the same "
            "backend, and let host work wait for a device by event.synchronize()."
        )
    return event_kind or stream_kind


def _refuse(function: str, argument: str, value: object, expected: str) -> NoReturn:
    given = "None" if value is None else describe(value)
    raise ArgumentTypeError(f"{function}: argument {argument!r} must be {expected}, got {given}.")
