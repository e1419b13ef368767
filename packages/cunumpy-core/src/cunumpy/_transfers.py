"""Where every transfer and wait of CuNumpy is announced and recorded.

Each place of ours that copies between host and device, or waits for the device, does::

    if _transfers.watching():
        _transfers.announce("to_host", text, nbytes)
    ...  # the copy itself
    if _transfers.watching():
        _transfers.record("to_host", text, nbytes)

The blocks of `cunumpy.profiling` open a `Scope` here. Scopes belong to a context (`contextvars`), so threads and
asynchronous tasks do not see each other's; only scopes opened for all threads are process-wide. This module is loaded
by ``import cunumpy`` and therefore imports next to nothing.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident
from contextvars import ContextVar
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING

from cunumpy._call_sites import call_site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any

    from cunumpy.profiling._events import Region, TransferEvent

KINDS = ("to_host", "to_device", "kernel_conversion", "fallback", "device_copy", "sync")
"""Kinds of event, in the order in which reports name them."""


class Scope:
    """One open block that receives events, or that has a say in whether transfers are allowed.

    Parameters
    ----------
    channel : object
        Of the open scopes with the same channel, only the innermost one receives an event: a counter that was entered
        twice counts an event once, and a budget charges it to one phase.
    """

    __slots__ = ("channel", "closed")

    def __init__(self, channel: object) -> None:
        self.channel = channel
        self.closed = False

    def receive(self, event: TransferEvent) -> None:
        """Take an event."""

    def receive_region(self, region: Region) -> None:
        """Take a region of the time line."""

    def verdict(self, kind: str, implicit: bool) -> str | None:
        """Give the reason why such an event is forbidden, ``""`` if it is allowed, None to leave it to outer scopes."""


# The open scopes of this context, outermost first; None inside `own`. A context copied while a scope was open keeps it
# after it was left, hence `Scope.closed`.
_scopes: ContextVar[tuple[Scope, ...] | None] = ContextVar("cunumpy_transfer_scopes", default=())
_everywhere: tuple[Scope, ...] = ()
_everywhere_lock = allocate_lock()


def watching() -> bool:
    """Whether anything in this context wants to hear of transfers."""
    scopes = _scopes.get()
    if scopes:
        for scope in scopes:
            if not scope.closed:
                return True
    return scopes is not None and bool(_everywhere)


def announce(kind: str, description: str, nbytes: int | None = None, *, implicit: bool = False) -> None:
    """Say that a transfer is about to happen.

    Raises
    ------
    TransferError
        If the innermost block of this context that has a say forbids it.
    """
    for scope in reversed(_scopes.get() or ()):
        if scope.closed:
            continue
        reason = scope.verdict(kind, implicit)
        if reason is None:
            continue
        if reason:
            from cunumpy.errors import TransferError

            size = "" if nbytes is None else f" of {nbytes} bytes"
            hidden = ", implicit" if implicit else ""
            raise TransferError(f"{call_site()}: {description} ({kind}{size}{hidden}) {reason}")
        return


def record(
    kind: str,
    description: str,
    nbytes: int | None = None,
    *,
    blocking: bool = True,
    implicit: bool = False,
    started: float | None = None,
    device: int | None = None,
) -> None:
    """Give an event to every open counter of this context, and to those that are open for all threads.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    description : str
        The call, as ``to_numpy(shape=(3,), dtype=float64)``.
    nbytes : int, optional
        Payload in bytes.
    blocking : bool, default: True
        Whether the host waited.
    implicit : bool, default: False
        Whether nothing in the caller's text says that there is a transfer, as in ``float(array)``.
    started : float, optional
        ``time.perf_counter()`` when it began; gives the event a duration.
    device : int, optional
        The CUDA device, by default the current one.
    """
    scopes = _scopes.get()
    if scopes is None or not (scopes or _everywhere):
        return
    now = perf_counter()
    event = (_make_event or _load_make_event())(
        kind,
        description,
        call_site(),
        nbytes,
        blocking,
        implicit,
        now if started is None else started,
        None if started is None else now - started,
        get_ident(),
        _current_device() if device is None else device,
    )
    if len(scopes) == 1 and not _everywhere:
        if not scopes[0].closed:
            scopes[0].receive(event)
        return
    for scope in _receivers(scopes):
        scope.receive(event)


_make_event: Callable[..., TransferEvent] | None = None


def _load_make_event() -> Callable[..., TransferEvent]:
    global _make_event
    from cunumpy.profiling._events import make_event

    _make_event = make_event
    return make_event


def call_text(function: str, shape: tuple[int, ...], dtype: Any) -> str:
    """Give the description of a call with one array, as ``to_numpy(shape=(3,), dtype=float64)``."""
    return f"{function}(shape={tuple(shape)}, dtype={_dtype_text(dtype)})"


@lru_cache(256)
def _dtype_text(dtype: Any) -> str:
    return str(dtype)  # slower than the rest of recording an event


def record_region(region: Region) -> None:
    """Give a finished region of the time line to the same counters as events."""
    for scope in _receivers(_scopes.get()):
        scope.receive_region(region)


def _receivers(scopes: tuple[Scope, ...] | None) -> list[Scope]:
    if scopes is None:
        return []
    receivers: list[Scope] = []
    channels: set[int] = set()
    for scope in (*_everywhere, *scopes)[::-1]:
        if not scope.closed and id(scope.channel) not in channels:
            channels.add(id(scope.channel))
            receivers.append(scope)
    return receivers


def enter(scope: Scope, *, everywhere: bool = False) -> None:
    """Open `scope` in this context, or for all threads."""
    global _everywhere
    if everywhere:
        with _everywhere_lock:
            _everywhere = (*_everywhere, scope)
    else:
        _scopes.set((*(other for other in _scopes.get() or () if not other.closed), scope))


def leave(scope: Scope) -> None:
    """Close `scope`, and only it, wherever it was opened."""
    global _everywhere
    scope.closed = True
    if scope in _everywhere:
        with _everywhere_lock:
            _everywhere = tuple(other for other in _everywhere if other is not scope)
    scopes = _scopes.get()
    if scopes and scope in scopes:
        _scopes.set(tuple(other for other in scopes if other is not scope))


def scopes() -> tuple[Scope, ...]:
    """Give the open scopes of this context, outermost first."""
    return tuple(scope for scope in _scopes.get() or () if not scope.closed)


def innermost(candidates: Sequence[Scope]) -> Scope:
    """Give the innermost of `candidates` in this context, or the last one if it was opened elsewhere."""
    if len(candidates) > 1:
        for scope in reversed(_scopes.get() or ()):
            if scope in candidates:
                return scope
    return candidates[-1]


class own:
    """Context manager: what happens inside belongs to a transfer that the caller announces and records itself."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _scopes.set(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _scopes.reset(self._token)


def _current_device() -> int | None:
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    try:
        return int(cupy.cuda.runtime.getDevice())
    except Exception:  # no driver, or CuPy is still being imported
        return None
