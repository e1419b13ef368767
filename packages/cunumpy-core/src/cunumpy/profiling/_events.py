"""What a counter keeps: transfer events and regions of the time line."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Region", "TransferEvent", "make_event"]


@dataclass(frozen=True)
class TransferEvent:
    """One transfer, wait or marker.

    Two events are equal if they say that the same happened at the same line; time, duration, thread and device are not
    compared.

    Parameters
    ----------
    kind : str
        ``to_host`` or ``to_device`` for a copy between host and device, ``device_copy`` for one within the device,
        ``sync`` if the host waited, ``kernel_conversion`` and ``fallback`` as markers of a kernel call that copied its
        arguments, or that ran on the host instead. Not checked.
    description : str
        The call, as ``to_numpy(shape=(3,), dtype=float64)``.
    where : str
        The innermost line of the user's program, as ``file:line``.
    nbytes : int, optional
        Payload in bytes, None if unknown.
    blocking : bool, default: True
        Whether the host waited for it.
    implicit : bool, default: False
        Whether nothing in the program's text says that there is a transfer, as in ``float(array)``.
    time : float, optional
        When it began, in seconds of ``time.perf_counter``.
    duration : float, optional
        How long the host was busy with it, in seconds; None if it was not measured.
    thread : str, optional
        Name of the thread.
    thread_id : int, optional
        Its ``threading.get_ident``.
    device : int, optional
        The CUDA device.

    Examples
    --------
    >>> from cunumpy.profiling import TransferEvent
    >>> event = TransferEvent("to_host", "to_numpy(shape=(3,), dtype=float64)", "run.py:7", nbytes=24)
    >>> print(event)
    run.py:7: to_host: to_numpy(shape=(3,), dtype=float64)
    """

    kind: str
    description: str
    where: str
    nbytes: int | None = None
    blocking: bool = True
    implicit: bool = False
    time: float | None = field(default=None, compare=False, repr=False)
    duration: float | None = field(default=None, compare=False, repr=False)
    thread: str | None = field(default=None, compare=False, repr=False)
    thread_id: int | None = field(default=None, compare=False, repr=False)
    device: int | None = field(default=None, compare=False, repr=False)

    @property
    def label(self) -> str:
        """The description, with ``[async]`` if the host did not wait and ``[implicit]`` if it is."""
        return self.description + ("" if self.blocking else " [async]") + (" [implicit]" if self.implicit else "")

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: {self.label}"


class Region(NamedTuple):
    """A named span of the time line.

    Attributes
    ----------
    name : str
        The name it was given.
    category : str
        ``timed_region``, ``nvtx_range`` or ``phase``.
    where : str
        The line that entered it, as ``file:line``.
    time : float
        When it was entered, in seconds of ``time.perf_counter``.
    duration : float
        How long it took, in seconds.
    thread : str
        Name of the thread that left it.
    thread_id : int
        Its ``threading.get_ident``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.count_transfers() as counter, xp.profiling.timed_region("step"):
    ...     x = xp.zeros(3) + 1
    >>> counter.regions[0].name, counter.regions[0].category
    ('step', 'timed_region')
    """

    name: str
    category: str
    where: str
    time: float
    duration: float
    thread: str
    thread_id: int


def make_event(
    kind: str,
    description: str,
    where: str,
    nbytes: int | None,
    blocking: bool,
    implicit: bool,
    time: float,
    duration: float | None,
    thread_id: int,
    device: int | None,
) -> TransferEvent:
    """Build an event of this thread; the dataclass's own constructor takes three times as long."""
    event = object.__new__(TransferEvent)
    fields = {
        "kind": kind,
        "description": description,
        "where": where,
        "nbytes": nbytes,
        "blocking": blocking,
        "implicit": implicit,
        "time": time,
        "duration": duration,
        "thread": threading.current_thread().name,
        "thread_id": thread_id,
        "device": device,
    }
    object.__setattr__(event, "__dict__", fields)
    return event
