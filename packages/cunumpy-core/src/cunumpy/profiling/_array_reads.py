"""See the reads that go straight to CuPy's arrays."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import perf_counter
from types import TracebackType
from typing import Any, TypeVar

from cunumpy import _transfers
from cunumpy._scoped_calls import scoped

__all__ = ["watch_array_reads"]

F = TypeVar("F", bound=Callable[..., Any])

# What each method is called in reports; the kind is `sync` for scalars and lists, as NumPy code has them by accident.
_READS = {
    "__bool__": "bool(device array)",
    "__int__": "int(device array)",
    "__float__": "float(device array)",
    "__complex__": "complex(device array)",
    "__index__": "index(device array)",
    "item": "device array.item()",
    "tolist": "device array.tolist()",
}

_lock = threading.Lock()
_open = 0
_patched: tuple[type, dict[str, tuple[Any, Any]]] | None = None  # class; by name: our method, what its own dict had
_ABSENT = object()


def _read(original: Callable[..., Any], description: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(array: Any, *args: Any, **kwargs: Any) -> Any:
        if not _transfers.watching():
            return original(array, *args, **kwargs)
        _transfers.announce("sync", description, array.nbytes, implicit=True)
        started = perf_counter()
        with _transfers.own():
            result = original(array, *args, **kwargs)
        _transfers.record("sync", description, array.nbytes, implicit=True, started=started)
        return result

    return read


def _get(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get(array: Any, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        if not _transfers.watching():
            return original(array, stream, order, out, blocking)
        description = _transfers.call_text("device array.get", array.shape, array.dtype)
        _transfers.announce("to_host", description, array.nbytes)
        started = perf_counter()
        with _transfers.own():
            result = original(array, stream, order, out, blocking)
        _transfers.record("to_host", description, array.nbytes, blocking=bool(blocking), started=started)
        return result

    return get


def _patch() -> None:
    global _patched
    cls = getattr(sys.modules.get("cupy"), "ndarray", None)
    if _patched is not None or cls is None:
        return
    methods: dict[str, tuple[Any, Any]] = {}
    _patched = (cls, methods)
    for name in (*_READS, "get"):
        original = getattr(cls, name, None)
        if original is None:
            continue
        ours = _get(original) if name == "get" else _read(original, _READS[name])
        before = vars(cls).get(name, _ABSENT)
        setattr(cls, name, ours)
        methods[name] = (ours, before)


def _restore() -> None:
    global _patched
    if _patched is None:
        return
    cls, methods = _patched
    _patched = None
    for name, (ours, before) in methods.items():
        if vars(cls).get(name) is not ours:  # somebody else's by now
            continue
        if before is _ABSENT:
            delattr(cls, name)
        else:
            setattr(cls, name, before)


class watch_array_reads(AbstractContextManager[None]):
    """Let counters and rules see reads that go straight to CuPy's arrays.

    While such a block is open, ``bool``, ``int``, ``float``, ``complex``, use as an index, ``.item()`` and
    ``.tolist()`` of a CuPy array are implicit ``sync`` events, and ``.get()`` and ``cupy.asnumpy`` are ``to_host``
    events, for every open `count_transfers`, `assert_no_transfers`, `forbid_transfers` and `TransferBudget` of the
    context that reads. What is counted already is not counted twice.

    Notes
    -----
    CuPy offers no hook, so methods of ``cupy.ndarray`` are replaced while any block is open in any thread, and put back
    when the last one is left. This costs each read about a microsecond. CuPy has to be loaded when the block is
    entered.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.watch_array_reads(), xp.profiling.count_transfers() as counter:
    ...     energy = float(xp.sum(xp.ones(4)))  # an event on the CuPy backend
    """

    def __enter__(self) -> None:
        global _open
        with _lock:
            _open += 1
            _patch()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _open
        with _lock:
            _open -= 1
            if _open == 0:
                _restore()

    def __call__(self, function: F) -> F:
        """Decorate a function of any kind."""
        return scoped(function, watch_array_reads, "watch_array_reads")
