"""Statuses and requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cunumpy import _gate
from cunumpy.errors import ArgumentTypeError
from cunumpy.mpi._serial import checks
from cunumpy.mpi._serial.checks import integer, sequence, wrong_type
from cunumpy.mpi._serial.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED, real_mpi
from cunumpy.mpi._serial.datatypes import PREDEFINED, as_datatype
from cunumpy.mpi._serial.exceptions import ERROR_CLASSES, MPIException, error, no_pickle, would_wait

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cunumpy.mpi._serial.datatypes import Datatype

_BYTE = PREDEFINED["BYTE"]


class SerialStatus:
    """What is known of a message that was received, in the place of ``MPI.Status``.

    Parameters
    ----------
    status : SerialStatus, optional
        One to copy; by default the status of no message.

    Attributes
    ----------
    source, tag, error, count : int
        Rank of the sender, tag, error class, and size in bytes.
    cancelled : bool
        Whether the communication was cancelled.

    Examples
    --------
    >>> import cunumpy as xp
    >>> MPI = xp.mpi.get_mpi(False)
    >>> status = MPI.Status()
    >>> MPI.COMM_WORLD.isend("hello", dest=0, tag=3).wait()
    >>> MPI.COMM_WORLD.recv(status=status)
    'hello'
    >>> status.tag
    3
    """

    __slots__ = ("_cancelled", "_size", "error", "source", "tag")

    def __init__(self, status: SerialStatus | None = None) -> None:
        self.source: int = ANY_SOURCE if status is None else status.source
        self.tag: int = ANY_TAG if status is None else status.tag
        self.error: int = 0 if status is None else status.error
        self._size: int = 0 if status is None else status._size
        self._cancelled: bool = status is not None and status._cancelled

    def _state(self) -> tuple[Any, ...]:
        return self.source, self.tag, self.error, self._size, self._cancelled

    def __eq__(self, other: object) -> bool:
        return self._state() == other._state() if isinstance(other, SerialStatus) else NotImplemented

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SerialStatus(source={self.source}, tag={self.tag}, error={self.error}, count={self._size})"

    def Get_source(self) -> int:
        """Return the rank of the sender."""
        return self.source

    def Set_source(self, source: int) -> None:
        """Set the rank of the sender."""
        self.source = integer(source, "Status.Set_source", "source")

    def Get_tag(self) -> int:
        """Return the tag."""
        return self.tag

    def Set_tag(self, tag: int) -> None:
        """Set the tag."""
        self.tag = integer(tag, "Status.Set_tag", "tag")

    def Get_error(self) -> int:
        """Return the error class."""
        return self.error

    def Set_error(self, error: int) -> None:
        """Set the error class."""
        self.error = integer(error, "Status.Set_error", "error")

    def Get_count(self, datatype: Datatype | str | None = None) -> int:
        """Return how many items of a type the message has, by default bytes; UNDEFINED unless a whole number."""
        kind = _BYTE if datatype is None else as_datatype(datatype, "Status.Get_count")
        kind._check("Status.Get_count")
        size = kind._size
        if not size:
            return 0 if not self._size else UNDEFINED
        return self._size // size if self._size % size == 0 else UNDEFINED

    def Get_elements(self, datatype: Datatype | str | None = None) -> int:
        """Return how many predefined elements of a type the message has; UNDEFINED unless a whole number."""
        kind = _BYTE if datatype is None else as_datatype(datatype, "Status.Get_elements")
        kind._check("Status.Get_elements")
        elements = [(width, number) for (_, width), number in kind._signature]
        if kind._predefined:
            return self.Get_count(kind)
        if not kind.Get_size():
            return 0 if not self._size else UNDEFINED
        whole, left = divmod(self._size, kind.Get_size())
        count = whole * sum(number for _, number in elements)
        for width, number in elements:
            fitting = min(number, left // width)
            count += fitting
            left -= fitting * width
            if fitting < number:
                break
        return count if left == 0 else UNDEFINED

    def Set_elements(self, datatype: Datatype | str, count: int) -> None:
        """Set the size to a number of items of a type."""
        kind = as_datatype(datatype, "Status.Set_elements")
        kind._check("Status.Set_elements")
        self._size = kind.Get_size() * integer(count, "Status.Set_elements", "count", least=0, wrong="COUNT")

    def Is_cancelled(self) -> bool:
        """Tell whether the communication was cancelled."""
        return self._cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether the communication was cancelled."""
        self._cancelled = checks.flag(flag, "Status.Set_cancelled", "flag")

    @property
    def count(self) -> int:
        """Size in bytes."""
        return self._size

    @count.setter
    def count(self, value: int) -> None:
        self._size = value

    cancelled: property = property(Is_cancelled, Set_cancelled)


def check_status(status: Any, function: str, argument: str = "status") -> None:
    """Refuse what is no status, ours or mpi4py's, before anything is done."""
    if status is None or isinstance(status, SerialStatus):
        return
    real = real_mpi()
    if real is None or not isinstance(status, real.Status):
        raise wrong_type(function, argument, "an MPI.Status", status)


def fill(status: Any, found: SerialStatus | None, function: str) -> None:
    """Write to the caller's status, ours or mpi4py's; None stands for no message."""
    check_status(status, function)
    if status is None:
        return
    found = SerialStatus() if found is None else found
    if isinstance(status, SerialStatus):
        status.source, status.tag, status.error = found.source, found.tag, found.error
        status._size, status._cancelled = found._size, found._cancelled
        return
    real = real_mpi()
    assert real is not None
    special = {ANY_SOURCE: real.ANY_SOURCE, PROC_NULL: real.PROC_NULL, ANY_TAG: real.ANY_TAG}
    status.Set_source(special.get(found.source, found.source))
    status.Set_tag(special.get(found.tag, found.tag))
    status.Set_error(found.error)
    status.Set_elements(real.BYTE, found._size)
    status.Set_cancelled(found._cancelled)


class SerialRequest:
    """A communication under way, or a finished one, in the place of ``MPI.Request``.

    Parameters
    ----------
    result : Any, optional
        What `wait` returns.
    complete : bool, default: True
        Whether it is finished.
    waiting_for : str, default: ""
        What finishes it, for the message of the error where nothing can.

    Examples
    --------
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi(False).COMM_WORLD
    >>> request = comm.irecv(source=0)
    >>> request.test()
    (False, None)
    >>> comm.isend([1, 2], dest=0).wait()
    >>> request.wait()
    [1, 2]
    """

    def __init__(self, result: Any = None, *, complete: bool = True, waiting_for: str = "") -> None:
        self._result = result
        self._complete = bool(complete)
        self._waiting_for = waiting_for
        self._null = False
        self._status: SerialStatus | None = None
        self._error: Exception | None = None
        self._withdraw: Callable[[], bool] | None = None  # takes a posted receive or an unsent message back
        self._message: Any = None  # that it sends

    def __bool__(self) -> bool:
        return not self._null

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SerialRequest):
            return self is other or (self._null and other._null)
        real = real_mpi()
        if real is not None and isinstance(other, real.Request):
            return self._null and not other
        return NotImplemented

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        state = "null" if self._null else "complete" if self._complete else f"waiting for {self._waiting_for}"
        return f"{type(self).__name__}({state})"

    __reduce__ = no_pickle

    # --- what the engine does

    def _finish(self, status: SerialStatus | None = None, error: Exception | None = None, result: Any = None) -> None:
        self._complete, self._status, self._error, self._withdraw = True, status, error, None
        if result is not None:
            self._result = result

    def _done(self) -> bool:
        return self._null or self._complete

    def _is_active(self) -> bool:
        return not self._null

    def _collect(self, status: Any, function: str) -> Any:
        """Take the result of a finished request, which becomes null."""
        if self._null:
            fill(status, None, function)
            return None
        failure, result = self._error, self._result
        found = SerialStatus(self._status)
        if isinstance(failure, MPIException):
            found.error = failure.Get_error_class()
        fill(status, found, function)
        self._retire()
        if failure is not None:
            raise failure
        return result

    def _retire(self) -> None:
        self._null, self._result, self._error = True, None, None

    def _never(self, function: str) -> Exception:
        return would_wait(function, f"nothing can finish the request; it waits for {self._waiting_for or 'a message'}.")

    # --- one request

    def Wait(self, status: SerialStatus | None = None) -> bool:
        """Wait until the communication is finished."""
        self._finished(status, "Request.Wait")
        return True

    def _finished(self, status: Any, function: str) -> Any:
        check_status(status, function)
        if not self._done():
            raise self._never(function)
        return self._collect(status, function)

    def Test(self, status: SerialStatus | None = None) -> bool:
        """Tell whether the communication is finished."""
        if not self._done():
            return False
        self._collect(status, "Request.Test")
        return True

    def wait(self, status: SerialStatus | None = None) -> Any:
        """Wait until the communication is finished, and return the object that was received."""
        return self._finished(status, "Request.wait")

    def test(self, status: SerialStatus | None = None) -> tuple[bool, Any]:
        """Tell whether the communication is finished, with the object that was received."""
        if not self._done():
            return False, None
        return True, self._collect(status, "Request.test")

    def Get_status(self, status: SerialStatus | None = None) -> bool:
        """Tell whether the communication is finished; the request stays as it is."""
        return self._look(status, "Request.Get_status")

    def _look(self, status: Any, function: str) -> bool:
        if self._done():
            fill(status, self._status if not self._null else None, function)
        return self._done()

    def get_status(self, status: SerialStatus | None = None) -> bool:
        """Tell whether the communication is finished; the request stays as it is."""
        return self._look(status, "Request.get_status")

    def Free(self) -> None:
        """Give the request up; a communication under way goes on."""
        if self._null:
            raise error("REQUEST", "Request.Free: the request is null.")
        self._retire()

    def free(self) -> None:
        """Give the request up, unless it is null."""
        if not self._null:
            self.Free()

    def Cancel(self) -> None:
        """Take back a receive that no message has come for; it is then finished, and its status says so."""
        if self._null:
            raise error("REQUEST", "Request.Cancel: the request is null.")
        self._cancel()

    def cancel(self) -> None:
        """Do `Cancel`."""
        self.Cancel()

    def _cancel(self) -> None:
        if not self._complete and self._withdraw is not None and self._withdraw():
            status = SerialStatus()
            status._cancelled = True
            self._finish(status)

    # --- several

    @classmethod
    def Get_status_all(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> bool:
        """Tell whether all are finished; they stay as they are."""
        return _look_at_all(requests, statuses, "Request.Get_status_all")

    @classmethod
    def Get_status_any(cls, requests: Sequence[SerialRequest], status: SerialStatus | None = None) -> tuple[int, bool]:
        """Look for a finished one; return its index, and whether there is one or none is active. All stay."""
        return _look_for_any(requests, status, "Request.Get_status_any")

    @classmethod
    def Get_status_some(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> list[int] | None:
        """Return the indices of those that are finished; None where none is active. All stay as they are."""
        return _look_for_some(requests, statuses, "Request.Get_status_some")

    @classmethod
    def get_status_all(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> bool:
        """Do `Get_status_all`."""
        return _look_at_all(requests, statuses, "Request.get_status_all")

    @classmethod
    def get_status_any(cls, requests: Sequence[SerialRequest], status: SerialStatus | None = None) -> tuple[int, bool]:
        """Do `Get_status_any`."""
        return _look_for_any(requests, status, "Request.get_status_any")

    @classmethod
    def get_status_some(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> list[int] | None:
        """Do `Get_status_some`."""
        return _look_for_some(requests, statuses, "Request.get_status_some")

    @classmethod
    def Waitall(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> bool:
        """Wait for all."""
        _wait_for_all(requests, statuses, "Request.Waitall")
        return True

    @classmethod
    def waitall(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> list[Any]:
        """Wait for all, and return the objects that were received."""
        return _wait_for_all(requests, statuses, "Request.waitall")

    @classmethod
    def Testall(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> bool:
        """Tell whether all are finished; if not, none is touched."""
        return _test_all(requests, statuses, "Request.Testall") is not None

    @classmethod
    def testall(
        cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None
    ) -> tuple[bool, list[Any] | None]:
        """Tell whether all are finished, with the objects that were received."""
        results = _test_all(requests, statuses, "Request.testall")
        return results is not None, results

    @classmethod
    def Waitany(cls, requests: Sequence[SerialRequest], status: SerialStatus | None = None) -> int:
        """Wait for one, and return its index; UNDEFINED where none is active."""
        return _any(requests, status, "Request.Waitany", wait=True)[0]

    @classmethod
    def waitany(cls, requests: Sequence[SerialRequest], status: SerialStatus | None = None) -> tuple[int, Any]:
        """Wait for one, and return its index and the object that was received."""
        index, _, result = _any(requests, status, "Request.waitany", wait=True)
        return index, result

    @classmethod
    def Testany(cls, requests: Sequence[SerialRequest], status: SerialStatus | None = None) -> tuple[int, bool]:
        """Look for a finished one; return its index, and whether there is one or none is active."""
        return _any(requests, status, "Request.Testany", wait=False)[:2]

    @classmethod
    def testany(cls, requests: Sequence[SerialRequest], status: SerialStatus | None = None) -> tuple[int, bool, Any]:
        """Look for a finished one; return its index, whether there is one, and the object that was received."""
        return _any(requests, status, "Request.testany", wait=False)

    @classmethod
    def Waitsome(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> list[int] | None:
        """Wait for one or more, and return their indices; None where none is active."""
        return _some(requests, statuses, "Request.Waitsome", wait=True)[0]

    @classmethod
    def waitsome(
        cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Wait for one or more, and return their indices and the objects that were received."""
        return _some(requests, statuses, "Request.waitsome", wait=True)

    @classmethod
    def Testsome(cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None) -> list[int] | None:
        """Return the indices of those that are finished; None where none is active."""
        return _some(requests, statuses, "Request.Testsome", wait=False)[0]

    @classmethod
    def testsome(
        cls, requests: Sequence[SerialRequest], statuses: list[Any] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Return the indices of those that are finished, and the objects that were received."""
        return _some(requests, statuses, "Request.testsome", wait=False)


def _checked(requests: Any, function: str) -> list[SerialRequest]:
    found = sequence(requests, function, "requests", "requests")
    for request in found:
        if not isinstance(request, SerialRequest):
            raise ArgumentTypeError(
                f"{function}: argument 'requests' must hold requests of the stand-in, got {_gate.given(request)}."
            )
    return found


def _active(requests: list[SerialRequest]) -> list[int]:
    return [k for k, request in enumerate(requests) if request._is_active()]


def _checked_statuses(statuses: Any, function: str) -> list[Any] | None:
    if statuses is None:
        return None
    if not isinstance(statuses, list):
        raise wrong_type(function, "statuses", "a list, which is filled with an MPI.Status for each request", statuses)
    for status in statuses:
        if status is None:
            raise wrong_type(function, "statuses", "a list of MPI.Status", statuses)
        check_status(status, function, "statuses")
    return statuses


def _room(statuses: list[Any] | None, number: int) -> list[Any]:
    """Return one status for each request; the caller's list grows where it is too short."""
    if statuses is None:
        return [None] * number
    statuses += [SerialStatus() for _ in range(number - len(statuses))]
    return statuses


def _look_at_all(requests: Any, statuses: Any, function: str) -> bool:
    found, room = _checked(requests, function), _checked_statuses(statuses, function)
    if not all(request._done() for request in found):
        return False
    for request, status in zip(found, _room(room, len(found)), strict=False):
        request._look(status, function)
    return True


def _look_for_any(requests: Any, status: Any, function: str) -> tuple[int, bool]:
    found = _checked(requests, function)
    check_status(status, function)
    active = _active(found)
    if not active:
        fill(status, None, function)
        return UNDEFINED, True
    return next(((k, True) for k in active if found[k]._look(status, function)), (UNDEFINED, False))


def _look_for_some(requests: Any, statuses: Any, function: str) -> list[int] | None:
    found, room = _checked(requests, function), _checked_statuses(statuses, function)
    active = _active(found)
    if not active:
        return None
    done = [k for k in active if found[k]._done()]
    for k, status in zip(done, _room(room, len(done)), strict=False):
        found[k]._look(status, function)
    return done


def _wait_for_all(requests: Any, statuses: Any, function: str) -> list[Any]:
    found, room = _checked(requests, function), _checked_statuses(statuses, function)
    for request in found:
        if not request._done():
            raise request._never(function)
    return _collect_all(found, room, function)


def _test_all(requests: Any, statuses: Any, function: str) -> list[Any] | None:
    found, room = _checked(requests, function), _checked_statuses(statuses, function)
    if not all(request._done() for request in found):
        return None
    return _collect_all(found, room, function)


def _collect_all(requests: list[SerialRequest], statuses: list[Any] | None, function: str) -> list[Any]:
    results, failed = [], False
    for request, status in zip(requests, _room(statuses, len(requests)), strict=False):
        try:
            results.append(request._collect(status, function))
        except MPIException:
            failed = True
    if failed:
        raise MPIException(
            ERROR_CLASSES["ERR_IN_STATUS"],
            f"{function}: a request failed; the attribute 'error' of its status, in the argument 'statuses', says why.",
        )
    return results


def _any(requests: Any, status: Any, function: str, *, wait: bool) -> tuple[int, bool, Any]:
    """Take a finished one; return its index, whether there is one or none is active, and its result."""
    found = _checked(requests, function)
    check_status(status, function)
    active = _active(found)
    if not active:
        fill(status, None, function)
        return UNDEFINED, True, None
    for k in active:
        if found[k]._done():
            return k, True, found[k]._collect(status, function)
    if wait:
        raise found[active[0]]._never(function)
    return UNDEFINED, False, None


def _some(requests: Any, statuses: Any, function: str, *, wait: bool) -> tuple[list[int] | None, list[Any] | None]:
    found, room = _checked(requests, function), _checked_statuses(statuses, function)
    active = _active(found)
    if not active:
        return None, None
    done = [k for k in active if found[k]._done()]
    if not done and wait:
        raise found[active[0]]._never(function)
    return done, _collect_all([found[k] for k in done], room, function)


class SerialPrequest(SerialRequest):
    """A communication that can be started again and again, in the place of ``MPI.Prequest``."""

    def __init__(self, begin: Callable[[], SerialRequest], name: str) -> None:
        super().__init__()
        self._begin = begin
        self._name = name
        self._under_way: SerialRequest | None = None

    def __repr__(self) -> str:
        state = "null" if self._null else "inactive" if self._under_way is None else repr(self._under_way)
        return f"SerialPrequest({self._name}, {state})"

    def Start(self) -> None:
        """Start the communication."""
        self._check_idle("Prequest.Start")
        self._under_way = self._begin()

    def _check_idle(self, function: str) -> None:
        if self._null:
            raise error("REQUEST", f"{function}: the request is null.")
        if self._under_way is not None:
            raise error(
                "REQUEST", f"{function}: the {self._name} was started already; wait for it before the next start."
            )

    @classmethod
    def Startall(cls, requests: Sequence[SerialPrequest]) -> None:
        """Start all."""
        function = "Prequest.Startall"
        found = sequence(requests, function, "requests", "persistent requests")
        for request in found:
            if not isinstance(request, SerialPrequest):
                raise wrong_type(function, "requests", "a list of persistent requests", requests)
            request._check_idle(function)
        for request in found:
            request.Start()

    def _done(self) -> bool:
        return self._under_way is None or self._under_way._done()

    def _is_active(self) -> bool:
        return not self._null and self._under_way is not None

    def _collect(self, status: Any, function: str) -> Any:
        under_way, self._under_way = self._under_way, None
        if under_way is None:
            fill(status, None, function)
            return None
        return under_way._collect(status, function)

    def _never(self, function: str) -> Exception:
        assert self._under_way is not None
        return self._under_way._never(function)

    def _cancel(self) -> None:
        if self._under_way is not None:
            self._under_way._cancel()

    def _look(self, status: Any, function: str) -> bool:
        if self._under_way is not None:
            return self._under_way._look(status, function)
        fill(status, None, function)
        return True


REQUEST_NULL = SerialRequest()
REQUEST_NULL._null = True
