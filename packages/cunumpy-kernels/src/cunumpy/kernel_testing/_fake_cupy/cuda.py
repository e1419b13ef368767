"""``cupy.cuda`` on pretended devices. Everything completes at once; `asynchrony` pretends that it does not."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from . import asynchrony, current_stream, stream_clocks, synchronization
from .current_device import CUDARuntimeError, check_device, current_device
from .current_stream import current_streams, get_current_stream
from .device_memory import TOTAL_MEMORY
from .devices import COMPUTE_CAPABILITY

CUDA_VERSION = 12090


class CUDADriverError(RuntimeError):
    """An error of the CUDA driver."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CompileException(Exception):
    """The compiler refuses a source."""

    def __init__(self, msg: str, source: str, name: str, options: tuple[str, ...], backend: str = "nvrtc") -> None:
        super().__init__(msg)
        self._msg, self.source, self.name, self.options, self.backend = msg, source, name, options, backend

    def __str__(self) -> str:
        return self._msg

    def get_message(self) -> str:
        """Return what the compiler says."""
        return self._msg

    def dump(self, f: Any) -> None:
        """Write the source, with numbers of lines, and what the compiler says."""
        lines = self.source.split("\n")
        width = len(str(len(lines)))
        f.write(f"{self.backend.upper()} compilation error: {self}\n-----\nName: {self.name}\n")
        f.write(f"Options: {' '.join(self.options)}\nCUDA source:\n")
        for number, line in enumerate(lines, 1):
            f.write(f"{number:0{width}d} {line.rstrip()}\n")
        f.write("-----\n")


CUDADriverError.__module__ = "cupy.cuda.driver"
CompileException.__module__ = "cupy.cuda.compiler"


class Event:
    """A point in a stream.

    Parameters
    ----------
    block, disable_timing, interprocess : bool
        As in CUDA; an event without timing can't be used by `get_elapsed_time`.
    """

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr = next(_handles)
        self._timed = not disable_timing
        self._recorded: float | None = None
        self._clock: stream_clocks.Clock = {}
        self._asked = False
        known_events[self.ptr] = self

    @property
    def done(self) -> bool:
        """Whether everything before the event has completed; in the asynchronous mode not when first asked."""
        if asynchrony.is_on() and not stream_clocks.is_waited_for(self._clock):
            if not self._asked:
                self._asked = True
                return False
            asynchrony.wait_for(self._clock)
        return True

    def record(self, stream: Any = None) -> None:
        """Put the event at the end of a stream, the current one by default."""
        self._recorded = time.perf_counter()
        if asynchrony.is_on():
            self._clock, self._asked = stream_clocks.recorded(get_current_stream() if stream is None else stream), False

    def synchronize(self) -> None:
        """Wait for the event."""
        synchronization.declare()
        if asynchrony.is_on():
            asynchrony.wait_for(self._clock)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Return the time between two recorded events in milliseconds."""
    for event in (start_event, end_event):
        if event._recorded is None or not event._timed:
            raise CUDARuntimeError(400, "cudaErrorInvalidResourceHandle: invalid resource handle")
    assert start_event._recorded is not None
    assert end_event._recorded is not None
    return (end_event._recorded - start_event._recorded) * 1e3


_handles = itertools.count(0x5000_0000, 16)
_of_thread = threading.local()
known_streams: weakref.WeakValueDictionary[int, _BaseStream] = weakref.WeakValueDictionary()
known_events: weakref.WeakValueDictionary[int, Event] = weakref.WeakValueDictionary()


class _BaseStream:
    ptr: int
    device_id: int

    @property
    def done(self) -> bool:
        """Whether all work has completed; in the asynchronous mode not when first asked."""
        if asynchrony.is_on():
            clock = stream_clocks.given(self)
            if not stream_clocks.is_waited_for(clock) and not getattr(self, "_asked", False):
                self._asked = True
                return False
            asynchrony.wait_for(clock)
        self._asked = False
        return True

    @property
    def is_non_blocking(self) -> bool:
        """Whether the stream is independent of the null stream."""
        return False

    @property
    def priority(self) -> int:
        """Priority, lower is more urgent."""
        return 0

    def use(self) -> _BaseStream:
        """Make this the thread's current stream of its device."""
        device = current_device()
        if self.device_id not in (-1, device):
            raise RuntimeError(f"The stream was created on device {self.device_id}, and the current device is {device}")
        current_streams()[device] = self
        return self

    def __enter__(self) -> _BaseStream:
        device = current_device()
        before = current_streams().get(device)
        self.use()
        _of_thread.__dict__.setdefault("stack", []).append((device, before))
        return self

    def __exit__(self, *exc: object) -> None:
        device, before = _of_thread.stack.pop()
        current_streams()[device] = before

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BaseStream) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def synchronize(self) -> None:
        """Wait for all work."""
        synchronization.declare()
        if asynchrony.is_on():
            asynchrony.wait_for_stream(self)

    def record(self, event: Event | None = None) -> Event:
        """Put an event at the end of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event."""
        if asynchrony.is_on():
            stream_clocks.wait_in_stream(self, event._clock)

    def launch_host_func(self, callback: Any, arg: Any) -> None:
        """Call a function when all work up to here has completed: in the asynchronous mode when that is waited for."""
        if asynchrony.is_on():
            asynchrony.later(lambda: callback(arg), self)
        else:
            callback(arg)

    def add_callback(self, callback: Any, arg: Any) -> None:
        """Call a function when all work up to here has completed, as `launch_host_func`."""
        if asynchrony.is_on():
            asynchrony.later(lambda: callback(self, 0, arg), self)
        else:
            callback(self, 0, arg)

    def is_capturing(self) -> bool:
        """Whether the stream records a graph."""
        return False

    def begin_capture(self, mode: int | None = None) -> None:
        """Record a graph: refused, since what is recorded is not done, and the stand-in does everything at once."""
        raise NotImplementedError(
            "the CuPy stand-in records no CUDA graphs: its work is done when it is given; test this code on a GPU"
        )

    def end_capture(self) -> Any:
        """Return the graph: there is none."""
        raise CUDARuntimeError(401, "cudaErrorIllegalState: the operation cannot be performed in the present state")


class Stream(_BaseStream):
    """A CUDA stream.

    Parameters
    ----------
    null, ptds, non_blocking : bool
        Which kind of stream: the null stream, the thread's default stream, one independent of the null stream.
    priority : int, optional
        Lower is more urgent.
    """

    null: Stream
    ptds: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self.ptr = 0 if null else 2 if ptds else next(_handles)
        self.device_id = -1 if null or ptds else current_device()
        self._non_blocking = non_blocking
        self._priority = priority or 0
        known_streams[self.ptr] = self
        if non_blocking:
            stream_clocks.unblocked.add(self.ptr)

    @property
    def is_non_blocking(self) -> bool:
        """Whether the stream is independent of the null stream."""
        return self._non_blocking

    @property
    def priority(self) -> int:
        """Priority, lower is more urgent."""
        return self._priority

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)

    @classmethod
    def from_external(cls, obj: Any) -> Stream:
        """Return a stream for another library's stream object."""
        protocol = getattr(obj, "__cuda_stream__", None)
        if protocol is None:
            raise TypeError("The object does not implement __cuda_stream__")
        stream = cls.__new__(cls)
        stream.ptr = protocol()[1]
        stream.device_id = -1
        stream._non_blocking, stream._priority = False, 0
        return stream


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)
_PER_THREAD = int(os.environ.get("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM") or 0)  # read by CuPy when it is imported, too
current_stream.default_stream = Stream.ptds if _PER_THREAD else Stream.null


class ExternalStream(_BaseStream):
    """A stream that was made elsewhere, by its handle."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        warnings.warn(
            "cupy.cuda.ExternalStream is deprecated, use cupy.cuda.Stream.from_external",
            DeprecationWarning,
            stacklevel=2,
        )
        self.ptr = ptr
        self.device_id = device_id


# ---- devices ----


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Return what CUDA tells of a device."""
    check_device(device)
    return {
        "name": b"CuPy stand-in",
        "major": int(COMPUTE_CAPABILITY[0]),
        "minor": int(COMPUTE_CAPABILITY[1]),
        "totalGlobalMem": TOTAL_MEMORY,
        "sharedMemPerBlock": 49152,
        "sharedMemPerBlockOptin": 166912,
        "regsPerBlock": 65536,
        "warpSize": 32,
        "maxThreadsPerBlock": 1024,
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535),
        "maxThreadsPerMultiProcessor": 2048,
        "multiProcessorCount": 108,
        "clockRate": 1410000,
        "memoryClockRate": 1215000,
        "memoryBusWidth": 5120,
        "l2CacheSize": 40 * 2**20,
        "concurrentKernels": 1,
        "unifiedAddressing": 1,
        "canMapHostMemory": 1,
        "ECCEnabled": 1,
        "pciBusID": 0,
        "pciDeviceID": 0,
        "pciDomainID": 0,
    }


def occupancy_max_potential_block_size(func: int, dynamicSMemSize: int, blockSizeLimit: int) -> tuple[int, int]:
    """Return blocks and threads of a block that would keep a device busy, of a kernel that needs few registers."""
    properties = getDeviceProperties(0)
    threads = min(properties["maxThreadsPerBlock"], blockSizeLimit or properties["maxThreadsPerBlock"])
    return properties["multiProcessorCount"], threads


# ---- ranges ----

_ranges: list[str] = []


def RangePush(message: str, id_color: int = -1) -> None:
    """Open a named range."""
    _ranges.append(message)


def RangePop() -> None:
    """Close the innermost range."""
    if _ranges:
        _ranges.pop()


_started = itertools.count(1)


def range_start(message: str, color: int = 0) -> int:
    """Begin a range that may overlap with others, and return its number."""
    return next(_started)


def range_end(range_id: int) -> None:
    """End a range by its number."""


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Let a profiler of CUDA look at a block; there is none here."""
    warnings.warn(
        "cupy.cuda.profile has been deprecated since CuPy v10 and will be removed in the future. "
        "Use cupyx.profiler.profile instead.",
        stacklevel=3,
    )
    yield


def open_ranges() -> tuple[str, ...]:
    """Return the names of the open ranges, outermost first: for tests."""
    return tuple(_ranges)
