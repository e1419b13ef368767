"""The blocks that count transfers, or that forbid them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, TypeVar

from cunumpy import _transfers
from cunumpy._call_sites import call_site
from cunumpy._gate import as_truth
from cunumpy._scoped_calls import scoped
from cunumpy.errors import ArgumentTypeError, ScopeError, TransferError
from cunumpy.profiling._counter import TransferCounter
from cunumpy.profiling._events import Region, TransferEvent

__all__ = ["allow_transfers", "assert_no_transfers", "count_transfers", "forbid_transfers"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class CountScope(_transfers.Scope):
    """Gives events to a counter."""

    __slots__ = ("counter",)

    def __init__(self, counter: TransferCounter, channel: object = None) -> None:
        super().__init__(counter if channel is None else channel)
        self.counter = counter

    def receive(self, event: TransferEvent) -> None:
        self.counter._receive(event)

    def receive_region(self, region: Region) -> None:
        self.counter._receive_region(region)


class RuleScope(_transfers.Scope):
    """Forbids or allows."""

    __slots__ = ("place", "rule", "syncs")

    def __init__(self, rule: str, syncs: bool) -> None:
        super().__init__(self)
        self.rule = rule
        self.syncs = syncs
        self.place = call_site()

    def verdict(self, kind: str, implicit: bool) -> str | None:
        if self.rule == "allow":
            return ""
        if kind == "device_copy" or (kind == "sync" and not (implicit or self.syncs)):
            return None
        return (
            f"is forbidden by forbid_transfers() at {self.place}; move it out of that block, "
            "or mark it as wanted by allow_transfers()"
        )


class Block(AbstractContextManager[T]):
    """A context manager and decorator that opens one scope per entry."""

    def __init__(self) -> None:
        self._open: list[_transfers.Scope] = []

    def _enter(self, scope: _transfers.Scope, *, everywhere: bool = False) -> None:
        self._open.append(scope)
        _transfers.enter(scope, everywhere=everywhere)

    def _leave(self) -> _transfers.Scope:
        if not self._open:
            raise ScopeError(
                f"{type(self).__name__}: the block was left without having been entered, or a second time; "
                "let a `with` statement enter and leave it."
            )
        # One object may be open in several contexts at a time.
        scope = _transfers.innermost(self._open)
        self._open.remove(scope)
        _transfers.leave(scope)
        return scope

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def __call__(self, function: F) -> F:
        """Decorate a function; the body of a generator or coroutine is inside whenever it runs."""
        return scoped(function, lambda: self, type(self).__name__)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_open": []}


class count_transfers(Block[TransferCounter]):
    """Count the transfers and waits made in a block, or in a decorated function.

    Parameters
    ----------
    into : TransferCounter, optional
        Count into this counter, on top of what it has. By default each block has a new one.
    all_threads : bool, default: False
        Count what every thread and task of the process does, not only the code that runs inside the block.

    Returns
    -------
    TransferCounter
        Given by ``with ... as``.

    Raises
    ------
    ArgumentTypeError
        If `into` is not a counter.

    Notes
    -----
    Blocks may be nested; every open counter gets every event once. Threads and asynchronous tasks do not see each
    other's blocks; a task that is started inside a block belongs to it until the block ends, a thread does not.

    As a decorator it serves functions, generator functions, coroutine functions and asynchronous generator functions;
    of generators and coroutines the body is counted, and not what happens elsewhere while they are suspended.

    On the real CuPy, raw ``cupy`` calls, ``array.get()`` and ``float(array)`` are not seen; see `watch_array_reads`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.count_transfers() as counter:
    ...     field = xp.to_numpy(xp.ones(3))
    >>> print(counter.report())
    0 transfer(s) through cunumpy (0 to_host, 0 to_device, 0 kernel_conversion, 0 fallback, 0 device_copy, 0 sync)
    """

    def __init__(self, into: TransferCounter | None = None, *, all_threads: bool = False) -> None:
        all_threads = as_truth(all_threads, function="count_transfers", argument="all_threads")
        if into is not None and not isinstance(into, TransferCounter):
            raise ArgumentTypeError(
                f"count_transfers(into=...) must be a TransferCounter or None, got {into!r}; "
                "as a decorator, write @count_transfers()"
            )
        super().__init__()
        self._into = into
        self._all_threads = all_threads

    def __enter__(self) -> TransferCounter:
        counter = TransferCounter() if self._into is None else self._into
        self._enter(CountScope(counter), everywhere=self._all_threads)
        return counter


class assert_no_transfers(Block[TransferCounter]):
    """Check at the end of a block, or of a decorated function, that it made no transfers.

    Parameters
    ----------
    syncs : bool, default: False
        Whether waits count as transfers, too. Copies within the device never do.

    Returns
    -------
    TransferCounter
        Given by ``with ... as``.

    Raises
    ------
    TransferError
        An ``AssertionError``, with the counter's report, when the block ends. If the block raises, nothing is checked.

    See Also
    --------
    forbid_transfers : Raises at the transfer itself, and stops implicit reads such as ``float(array)``, which are waits
        here.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.assert_no_transfers():
    ...     energy = xp.sum(xp.ones(8) ** 2)
    """

    def __init__(self, *, syncs: bool = False) -> None:
        syncs = as_truth(syncs, function="assert_no_transfers", argument="syncs")
        super().__init__()
        self._syncs = syncs

    def __enter__(self) -> TransferCounter:
        scope = CountScope(TransferCounter())
        self._enter(scope)
        return scope.counter

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope = self._leave()
        assert isinstance(scope, CountScope)
        counter = scope.counter
        # `total` leaves out the waits only.
        if kind is None and (counter.total > counter.device_copies or (self._syncs and counter.syncs)):
            raise TransferError(f"expected no transfers{' and no waits' if self._syncs else ''}: {counter.report()}")


class forbid_transfers(Block[None]):
    """Refuse transfers in a block, or in a decorated function: each raises before it copies anything.

    Parameters
    ----------
    syncs : bool, default: False
        Refuse waits, too. Implicit reads of the device, such as ``float(array)``, are always refused, because they copy
        a scalar; copies within the device never are.

    Raises
    ------
    TransferError
        An ``AssertionError``, at the transfer, naming it, its line and the block.

    Notes
    -----
    The block holds for the code that runs inside it: other threads and tasks are free. Inside, `allow_transfers` lets
    wanted transfers pass. On the real CuPy, raw ``cupy`` calls and array reads are seen only inside
    `watch_array_reads`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.forbid_transfers():
    ...     energy = xp.sum(xp.ones(8) ** 2)
    """

    def __init__(self, *, syncs: bool = False) -> None:
        syncs = as_truth(syncs, function="forbid_transfers", argument="syncs")
        super().__init__()
        self._syncs = syncs

    def __enter__(self) -> None:
        self._enter(RuleScope("forbid", self._syncs))


class allow_transfers(Block[None]):
    """Let the transfers of a block, or of a decorated function, pass inside `forbid_transfers`.

    Counters and `assert_no_transfers` count them all the same.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.profiling.forbid_transfers():
    ...     density = xp.ones(8)
    ...     with xp.profiling.allow_transfers():  # the output, every hundred steps
    ...         print(float(xp.to_numpy(density).sum()))
    8.0
    """

    def __enter__(self) -> None:
        self._enter(RuleScope("allow", False))
