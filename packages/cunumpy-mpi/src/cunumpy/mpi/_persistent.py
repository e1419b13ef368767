"""Exchanges that are the same in each step of a time loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cunumpy import _gate
from cunumpy.errors import ArgumentTypeError, CommunicationError
from cunumpy.mpi._collectives import known
from cunumpy.mpi._cuda_aware import check_one_producer, check_producer
from cunumpy.mpi._exchange import Messages, end_run, refuse_unreceived

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType


# Their memory is MPI's until they are waited for, also where a program has forgotten them, after an exception say.
_under_way: set[PersistentExchange] = set()


class PersistentExchange:
    """An `exchange` of the same arrays with the same ranks, again and again.

    Arguments are checked once, memory for copies is taken once, and MPI learns of the messages once. Call it to
    exchange, or call `start`, compute what does not need the messages, and then `wait`.

    Parameters
    ----------
    comm : communicator
        Of mpi4py, or the serial stand-in.
    sends : iterable of (array, dest, tag)
        As of `exchange`. The values that the arrays have at `start` are sent.
    receives : iterable of (array, source, tag)
        As of `exchange`.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.
    check : bool, default: True
        Let all ranks compare what they send and receive, once, here. They all have to make theirs then.

    Raises
    ------
    ArgumentError, ArgumentTypeError, CommunicationError
        As from `exchange`.

    Notes
    -----
    Between `start` and `wait` the arrays that are received may not be used, and those that are sent not be written to.
    The exchange keeps its arrays alive until it is closed, and as long as it is under way.

    Examples
    --------
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi().COMM_WORLD
    >>> left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    >>> field = xp.zeros(4)
    >>> with xp.mpi.PersistentExchange(
    ...     comm,
    ...     sends=[(field[1:2], left, 0), (field[-2:-1], right, 1)],
    ...     receives=[(field[-1:], right, 0), (field[:1], left, 1)],
    ... ) as halo:
    ...     for step in range(3):
    ...         field[1:-1] += 1.0
    ...         halo()
    >>> field
    array([3., 3., 3., 3.])
    """

    def __init__(
        self,
        comm: Any,
        *,
        sends: Iterable[tuple[Any, int, int]] = (),
        receives: Iterable[tuple[Any, int, int]] = (),
        cuda_aware: bool | None = None,
        check: bool = True,
    ) -> None:
        if cuda_aware is not None:
            cuda_aware = _gate.as_optional_truth(cuda_aware, function="PersistentExchange", argument="cuda_aware")
        check = _gate.as_truth(check, function="PersistentExchange", argument="check")
        comm, self._package = known(comm, "PersistentExchange")
        self._comm = comm
        self._under_way = self._closed = False
        self._requests: list[Any] = []
        messages = Messages.ready("PersistentExchange", comm, sends, receives, cuda_aware, check=check)
        self._messages = messages
        try:
            for target, source, tag in messages.posted(messages.targets):
                self._requests.append(comm.Recv_init(target, source=source, tag=tag))
            for array, dest, tag in messages.posted(messages.sources):
                self._requests.append(comm.Send_init(array, dest=dest, tag=tag))
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        state = "closed" if self._closed else "under way" if self._under_way else "ready"
        messages = self._messages
        return f"PersistentExchange({len(messages.sources)} sends, {len(messages.targets)} receives, {state})"

    def __reduce__(self) -> Any:
        raise ArgumentTypeError(
            "a PersistentExchange does not pickle: it belongs to its communicator and to arrays of this process; make "
            "another in the other process."
        )

    def __enter__(self) -> PersistentExchange:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or not self._under_way:
            self.close()

    def __call__(self, *, stream: Any = None, event: Any = None, return_status: bool = False) -> list[Any] | None:
        """Exchange: `start`, and `wait`."""
        if return_status is not False and return_status is not True:
            return_status = _gate.as_truth(return_status, function="PersistentExchange", argument="return_status")
        self.start(stream=stream, event=event)
        return self.wait(return_status=return_status)

    def start(self, *, stream: Any = None, event: Any = None) -> None:
        """Send the values that the arrays have now.

        Parameters
        ----------
        stream, event : optional
            The producer of all device arrays, as in `synchronize_for_mpi`.

        Raises
        ------
        CommunicationError
            It was started already, or closed.
        """
        function = "PersistentExchange.start"
        if self._under_way or self._closed:
            raise CommunicationError(
                f"{function}: the exchange is {'closed' if self._closed else 'under way; call wait() first'}."
            )
        check_one_producer(stream, event, function)
        messages = self._messages
        if messages.on_device:
            check_producer(stream, event, function)
        messages.fill(stream, event)
        try:
            if self._requests:
                self._package.Prequest.Startall(self._requests)
                refuse_unreceived(self._comm, self._requests[len(messages.targets) :], function)
        except BaseException:
            end_run(self._comm, self._requests)
            raise
        self._under_way = True
        _under_way.add(self)

    def wait(self, *, return_status: bool = False) -> list[Any] | None:
        """Wait until all has arrived.

        Parameters
        ----------
        return_status : bool, default: False
            Return the ``MPI.Status`` of each receive.

        Returns
        -------
        list or None
            The statuses in the order of the receives, if they were asked for.

        Raises
        ------
        CommunicationError
            It was not started.
        """
        if return_status is not False and return_status is not True:
            return_status = _gate.as_truth(return_status, function="PersistentExchange.wait", argument="return_status")
        if not self._under_way:
            raise CommunicationError("PersistentExchange.wait: the exchange is not under way; call start() first.")
        messages = self._messages
        statuses = [self._package.Status() for _ in self._requests] if return_status or messages.copied_back else None
        try:
            self._package.Request.Waitall(self._requests, statuses)
        except BaseException:
            end_run(self._comm, self._requests)
            raise
        finally:
            self._under_way = False
            _under_way.discard(self)
        messages.copy_back(statuses)
        return statuses[: len(messages.targets)] if return_status and statuses is not None else None

    def close(self) -> None:
        """Give back what MPI and the copies hold; twice is harmless.

        Raises
        ------
        CommunicationError
            It is under way.
        """
        if self._under_way:
            raise CommunicationError("PersistentExchange.close: the exchange is under way; call wait() first.")
        if self._closed:
            return
        self._closed = True
        for request in self._requests:
            request.Free()
        self._requests = []
        self._messages.release()
