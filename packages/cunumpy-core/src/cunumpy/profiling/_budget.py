"""How many transfers each phase of a program may make."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from types import TracebackType
from typing import Any, TypeVar

from cunumpy import _transfers
from cunumpy._call_sites import call_site
from cunumpy._gate import as_truth
from cunumpy._scoped_calls import scoped_per_call
from cunumpy._text import html_table
from cunumpy.errors import ArgumentError, ArgumentTypeError, TransferError
from cunumpy.profiling._blocks import Block, CountScope
from cunumpy.profiling._counter import TransferCounter
from cunumpy.profiling._events import Region, TransferEvent

__all__ = ["TransferBudget"]

F = TypeVar("F", bound=Callable[..., Any])

_SIZES = ("max_nbytes", "max_count", "max_total_bytes")
_FLAGS = ("blocking", "implicit")


class _PhaseScope(CountScope):
    """Gives events to the counter of a phase, while the budget is started."""

    __slots__ = ("budget", "counting", "name", "started", "where")

    def __init__(self, budget: TransferBudget, name: str, counting: bool) -> None:
        # The channel is the budget: an event is charged to its innermost open phase only.
        super().__init__(budget[name], budget)
        self.budget = budget
        self.name = name
        self.counting = counting
        self.where = call_site()
        self.started = perf_counter()

    def receive(self, event: TransferEvent) -> None:
        if self.counting and self.budget.started:
            self.counter._receive(event)

    def receive_region(self, region: Region) -> None:
        if self.counting and self.budget.started:
            self.counter._receive_region(region)


class _Call:
    """One call of a decorated function, which may be resumed many times."""

    __slots__ = ("counted",)

    def __init__(self) -> None:
        self.counted = False


class _Phase(Block[TransferCounter]):
    """Opens a phase; all entries of one object that is given a call belong to that call."""

    def __init__(self, budget: TransferBudget, name: str, call: _Call | None = None) -> None:
        super().__init__()
        self._budget = budget
        self._name = name
        self._call = call

    def __enter__(self) -> TransferCounter:
        budget = self._budget
        scope = _PhaseScope(budget, self._name, budget.started)
        if scope.counting and (self._call is None or not self._call.counted):
            if self._call is not None:
                self._call.counted = True
            if not budget._inside(self._name):  # recursion is one call
                budget._count_call(self._name)
        self._enter(scope)
        return scope.counter

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope = self._leave()
        assert isinstance(scope, _PhaseScope)
        if _transfers.watching():
            thread = threading.current_thread()
            duration = perf_counter() - scope.started
            _transfers.record_region(
                Region(scope.name, "phase", scope.where, scope.started, duration, thread.name, threading.get_ident())
            )


class TransferBudget:
    """Count transfers by phases of a program, and check them against rules.

    Parameters
    ----------
    started : bool, default: True
        Whether phases count from the beginning; else from `start`, as after a warm-up.

    Attributes
    ----------
    phases : dict of str to TransferCounter
        What each phase did.
    calls : dict of str to int
        How often each phase was entered. A phase entered inside itself is one call.
    started : bool
        Whether events are counted.

    Notes
    -----
    Each event is charged to the innermost open phase only. Phases belong to a thread or asynchronous task: two threads
    that run the same phase share its counter, but never see each other's stack.

    Examples
    --------
    >>> import cunumpy as xp
    >>> budget = xp.profiling.TransferBudget()
    >>> budget.require("step", calls=3)
    >>> budget.require("output", {"to_host": {"max_count": 1, "max_nbytes": 80}})
    >>> field = xp.zeros(10)
    >>> for _ in range(3):
    ...     with budget.phase("step"):
    ...         field = field + 1
    >>> with budget.phase("output"):
    ...     saved = xp.to_numpy(field)
    >>> budget.check()
    """

    def __init__(self, *, started: bool = True) -> None:
        started = as_truth(started, function="TransferBudget", argument="started")
        self.phases: dict[str, TransferCounter] = {}
        self.calls: dict[str, int] = {}
        self.started: bool = started
        self._rules: dict[str, _Rule] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> TransferCounter:
        """Give the counter of a phase, a new one if the phase was not entered yet."""
        _check_name("TransferBudget[...]", name)
        with self._lock:
            counter = self.phases.get(name)
            if counter is None:
                counter = self.phases[name] = TransferCounter()
            return counter

    def _count_call(self, name: str) -> None:
        with self._lock:
            self.calls[name] = self.calls.get(name, 0) + 1

    def _inside(self, name: str) -> bool:
        return any(
            isinstance(scope, _PhaseScope) and scope.budget is self and scope.name == name and scope.counting
            for scope in _transfers.scopes()
        )

    def phase(self, name: str) -> Block[TransferCounter]:
        """Enter a phase: a context manager that gives the phase's counter.

        Parameters
        ----------
        name : str
            Of the phase.

        Returns
        -------
        context manager
            Its ``with`` gives the `TransferCounter` of the phase. While the budget is not started, the block neither
            counts as a call nor counts events, nor do the phases around it get them.

        Raises
        ------
        ArgumentTypeError
            If `name` is not a string.
        """
        _check_name("TransferBudget.phase()", name)
        return _Phase(self, name)

    def count(self, name: str) -> Callable[[F], F]:
        """Make a decorator that enters a phase at each call.

        Parameters
        ----------
        name : str
            Of the phase.

        Returns
        -------
        callable
            A decorator for functions, generator functions, coroutine functions and asynchronous generator functions. Of
            generators and coroutines only the body is in the phase, whenever it runs, and each is one call.

        Raises
        ------
        ArgumentTypeError
            If `name` is not a string.
        """
        _check_name("TransferBudget.count()", name)

        def start_call() -> Callable[[], _Phase]:
            phase = _Phase(self, name, _Call())
            return lambda: phase

        return lambda function: scoped_per_call(function, start_call, "TransferBudget.count")

    def start(self) -> None:
        """Count from now on. A block that was entered before stays uncounted."""
        self.started = True

    def stop(self) -> None:
        """Count no more, at once, also in phases that are open."""
        self.started = False

    def require(
        self,
        phase: str,
        allow: Mapping[str, Mapping[str, Any] | None] | None = None,
        *,
        ignore: Iterable[str] = ("device_copy", "sync"),
        calls: int | None = None,
    ) -> None:
        """Set the rule of a phase, in place of an earlier one.

        Parameters
        ----------
        phase : str
            Name of the phase; it need not have been entered yet.
        allow : mapping of str to mapping, optional
            Kinds of event that may occur, each with its limits; None or an empty mapping sets no limit. The limits are
            ``max_nbytes`` (bytes of each event; an unknown size breaks it), ``max_count``, ``max_total_bytes`` (an
            unknown size counts 0), ``blocking`` and ``implicit`` (the value that each event must have). All other
            kinds break the rule, unless ignored.
        ignore : iterable of str, default: ("device_copy", "sync")
            Kinds that may occur without limit, if they are not in `allow`.
        calls : int, optional
            How often the phase has to be entered, exactly; 0 if it must not run.

        Raises
        ------
        ArgumentError
            If a kind or limit is unknown or a number is negative.
        ArgumentTypeError
            If an argument has a wrong type.
        """
        self._rules[phase] = _Rule.checked(phase, allow, ignore, calls)

    def violations(self) -> list[str]:
        """Give the broken rules, one line each, in the order of the rules.

        Returns
        -------
        list of str
        """
        return [
            line
            for name, rule in list(self._rules.items())
            for line in rule.broken(name, self.calls.get(name, 0), self.phases.get(name))
        ]

    def report(self) -> str:
        """Say what each phase did, and which rules are broken.

        Returns
        -------
        str
        """
        lines = []
        for name, counter in list(self.phases.items()):
            lines.append(f"{name} ({self.calls.get(name, 0)} call(s)):")
            lines += ("  " + line for line in counter.report().splitlines())
        violations = self.violations()
        if violations:
            lines.append("broken rules:")
            lines += ("  " + line for line in violations)
        return "\n".join(lines)

    def check(self) -> None:
        """Raise if a rule is broken.

        Raises
        ------
        TransferError
            An ``AssertionError``, with the report.
        """
        if self.violations():
            raise TransferError(f"transfer budget exceeded:\n{self.report()}")

    def __repr__(self) -> str:
        calls = ", ".join(f"{name!r}: {self.calls.get(name, 0)}" for name in list(self.phases))
        return (
            f"TransferBudget(started={self.started}, calls={{{calls}}}, rules={len(self._rules)}, "
            f"violations={len(self.violations())})"
        )

    def _repr_html_(self) -> str:
        head = ["phase", "calls", "kind", "number", "size", "where", "call"]
        rows: list[tuple[object, ...]] = []
        for name, counter in list(self.phases.items()):
            calls = counter._rows()
            rows += [(name, self.calls.get(name, 0), *call) for call in calls]
            if not calls:
                rows.append((name, self.calls.get(name, 0), "nothing", "", "", "", ""))
        violations = self.violations()
        broken = html_table(["broken rules"], [[line] for line in violations]) if violations else ""
        return html_table(head, rows, "transfers by phase") + broken

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())


class _Rule:
    """What one phase may do."""

    def __init__(self, allow: dict[str, dict[str, Any]], ignore: frozenset[str], calls: int | None) -> None:
        self.allow = allow
        self.ignore = ignore
        self.calls = calls

    @classmethod
    def checked(cls, phase: object, allow: object, ignore: object, calls: object) -> _Rule:
        function = "TransferBudget.require()"
        _check_name(function, phase)
        if allow is not None and not isinstance(allow, Mapping):
            raise ArgumentTypeError(
                f"{function}: allow must map kinds to their limits, as {{'to_host': {{'max_count': 1}}}}, got {allow!r}"
            )
        limits = {kind: _limits(function, kind, given) for kind, given in (allow or {}).items()}
        if isinstance(ignore, str) or not isinstance(ignore, Iterable):
            raise ArgumentTypeError(f"{function}: ignore must be a sequence of kinds, as ('sync',), got {ignore!r}")
        ignored = frozenset(_kind(function, "ignore", kind) for kind in ignore)
        return cls(limits, ignored, None if calls is None else _whole(function, "calls", calls))

    def broken(self, name: str, calls: int, counter: TransferCounter | None) -> list[str]:
        lines = []
        if self.calls is not None and calls != self.calls:
            lines.append(f"{name}: {calls} call(s), expected {self.calls}")
        if counter is None:
            return lines
        for event in list(counter.events):
            limits = self.allow.get(event.kind)
            if limits is None:
                if event.kind not in self.ignore:
                    lines.append(f"{name}: not allowed: {event}")
                continue
            largest = limits.get("max_nbytes")
            if largest is not None and (event.nbytes is None or event.nbytes > largest):
                size = "unknown" if event.nbytes is None else event.nbytes
                lines.append(f"{name}: {size} bytes > max_nbytes={largest}: {event}")
            for flag in _FLAGS:
                value = getattr(event, flag)
                if limits.get(flag, value) != value:
                    lines.append(f"{name}: {flag}={value} not allowed: {event}")
        for kind, limits in self.allow.items():
            number, nbytes = counter.count(kind), counter.bytes(kind)
            if number > limits.get("max_count", number):
                lines.append(f"{name}: {number} {kind} > max_count={limits['max_count']}")
            if nbytes > limits.get("max_total_bytes", nbytes):
                lines.append(f"{name}: {nbytes} bytes of {kind} > max_total_bytes={limits['max_total_bytes']}")
        return lines


def _check_name(function: str, name: object) -> None:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{function}: the name of a phase must be a string, got {name!r}")


def _kind(function: str, argument: str, kind: object) -> str:
    if not isinstance(kind, str) or kind not in _transfers.KINDS:
        raise ArgumentError(
            f"{function}: unknown transfer kind {kind!r} in {argument}; the kinds are {', '.join(_transfers.KINDS)}"
        )
    return kind


def _limits(function: str, kind: object, given: object) -> dict[str, Any]:
    _kind(function, "allow", kind)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            f"{function}: the limits of {kind!r} must be a mapping, as {{'max_count': 1}}, or None, got {given!r}"
        )
    unknown = [limit for limit in given if limit not in (*_SIZES, *_FLAGS)]
    if unknown:
        raise ArgumentError(
            f"{function}: unknown limits of {kind!r}: {', '.join(map(repr, unknown))}; "
            f"the limits are {', '.join((*_SIZES, *_FLAGS))}"
        )
    for flag in _FLAGS:
        if flag in given and not isinstance(given[flag], bool):
            raise ArgumentTypeError(f"{function}: {flag} of {kind!r} must be True or False, got {given[flag]!r}")
    return {
        limit: value if limit in _FLAGS else _size(function, f"{limit} of {kind!r}", value)
        for limit, value in given.items()
    }


def _size(function: str, what: str, value: object) -> int | float:
    if isinstance(value, float):  # 1e6 bytes, or infinitely many
        number: int | float = value
    else:
        number = _whole(function, what, value)
    if not number >= 0:
        raise ArgumentError(f"{function}: {what} must not be negative, got {value!r}")
    return number


def _whole(function: str, what: str, value: object) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentTypeError(f"{function}: {what} must be an integer, got {value!r}") from None
    if number < 0:
        raise ArgumentError(f"{function}: {what} must not be negative, got {value!r}")
    return number
