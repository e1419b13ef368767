"""Collectives: what all processes of a communicator do together, here one alone.

A collective of buffers is a plan: it checks its arguments, and returns what is to be done. `forms` makes of each plan
the method that does it, the one that gives a request for it, and the one that gives a persistent request.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._serial import buffers, operations, specs
from cunumpy.mpi._serial.buffers import is_in_place
from cunumpy.mpi._serial.checks import integer, items_of, wrong_type
from cunumpy.mpi._serial.constants import ROOT, own
from cunumpy.mpi._serial.exceptions import error
from cunumpy.mpi._serial.operations import PREDEFINED_OPS, Op, as_op
from cunumpy.mpi._serial.pickling import copied
from cunumpy.mpi._serial.requests import SerialPrequest, SerialRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cunumpy.mpi._serial.buffers import Buffer
    from cunumpy.mpi._serial.hints import Info

_SUM = PREDEFINED_OPS["SUM"]


def _root(value: Any, function: str) -> None:
    root = integer(value, function, "root")
    if root != 0:
        text = "MPI.ROOT is for intercommunicators" if own(root, "ROOT") == ROOT else "there is only rank 0"
        raise error("ROOT", f"{function}: argument 'root' is {root}; {text}.")


def _stays(value: Any) -> bool:
    """Tell whether one buffer serves for both sides."""
    return value is None or is_in_place(value)


def _copying(function: str, source: Buffer | None, target: Buffer, *, exact: bool = False) -> Callable[[], None]:
    """Return the copy of a block from one buffer to the other, after all checks."""
    if source is None:
        return lambda: None
    if exact and source.nbytes < target.nbytes:
        raise error(
            "TRUNCATE",
            f"{function}: arguments 'sendbuf' and 'recvbuf' must agree in size for each pair of ranks, got "
            f"{source.nbytes} and {target.nbytes} bytes.",
        )
    buffers.check_move(source, target, function)
    return lambda: target.store(source.load(), function)


def forms(name: str, plan: Callable[..., Callable[[], None]]) -> tuple[Callable[..., Any], ...]:
    """Make the blocking, the non-blocking and the persistent method of a collective.

    ``plan(comm, function, *arguments)`` checks the arguments, and returns what is to be done.
    """
    signature = inspect.signature(plan)
    parameters = [each for key, each in signature.parameters.items() if key != "function"]

    def blocking(self: Any, *args: Any, **kwargs: Any) -> None:
        function = f"comm.{name}"
        self._check(function)
        plan(self, function, *args, **kwargs)()

    def started(self: Any, *args: Any, **kwargs: Any) -> SerialRequest:
        function = f"comm.I{name.lower()}"
        self._check(function)
        plan(self, function, *args, **kwargs)()
        return SerialRequest()

    def persistent(self: Any, *args: Any, info: Info | None = None, **kwargs: Any) -> SerialPrequest:
        function = f"comm.{name}_init"
        self._check(function)
        action = plan(self, function, *args, **kwargs)

        def begin() -> SerialRequest:
            action()
            return SerialRequest()

        return SerialPrequest(begin, name)

    made = []
    for method, full, end in (
        (blocking, name, ""),
        (started, f"I{name.lower()}", "\n\nReturns a request; the buffers belong to MPI until it is finished."),
        (persistent, f"{name}_init", "\n\nReturns a persistent request, which each ``Start()`` does this for."),
    ):
        functools.update_wrapper(method, plan)
        method.__name__, method.__qualname__ = full, f"SerialComm.{full}"
        method.__doc__ = (plan.__doc__ or "") + end
        setattr(method, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
        made.append(method)
    return tuple(made)


class Collectives:
    """The collectives of a communicator of one process."""

    _check: Callable[[str], None]

    # --- collectives of buffers

    def _barrier(self, function: str) -> Callable[[], None]:
        """Wait for all processes."""
        return lambda: None

    def _bcast(self, function: str, buf: Any, root: int = 0) -> Callable[[], None]:
        """Send a buffer from the root to all."""
        _root(root, function)
        specs.simple(buf, function, "buf", write=False)
        return lambda: None

    def _gather(self, function: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> Callable[[], None]:
        """Collect one block of each process at the root."""
        _root(root, function)
        return self._one_block(function, sendbuf, recvbuf)

    def _one_block(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        target = specs.simple(recvbuf, function, "recvbuf", write=True)
        return _copying(
            function,
            None if _stays(sendbuf) else specs.simple(sendbuf, function, "sendbuf", write=False),
            target,
        )

    def _allgather(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Collect one block of each process at all."""
        return self._one_block(function, sendbuf, recvbuf)

    def _alltoall(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send one block to each process, and receive one of each."""
        target = specs.simple(recvbuf, function, "recvbuf", write=True)
        source = None if _stays(sendbuf) else specs.simple(sendbuf, function, "sendbuf", write=False)
        return _copying(function, source, target, exact=True)

    def _gatherv(self, function: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> Callable[[], None]:
        """Collect blocks of different sizes at the root: ``[array, counts, displacements, type]``."""
        _root(root, function)
        return self._allgatherv(function, sendbuf, recvbuf)

    def _allgatherv(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Collect blocks of different sizes at all: ``[array, counts, displacements, type]``."""
        target = specs.vector(recvbuf, function, "recvbuf", write=True)
        return _copying(
            function,
            None if _stays(sendbuf) else specs.simple(sendbuf, function, "sendbuf", write=False),
            target,
        )

    def _scatter(self, function: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> Callable[[], None]:
        """Send one block of the root to each process."""
        _root(root, function)
        source = specs.simple(sendbuf, function, "sendbuf", write=False)
        if _stays(recvbuf):
            return lambda: None
        return _copying(function, source, specs.simple(recvbuf, function, "recvbuf", write=True))

    def _scatterv(self, function: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> Callable[[], None]:
        """Send blocks of different sizes of the root to the processes: ``[array, counts, displacements, type]``."""
        _root(root, function)
        source = specs.vector(sendbuf, function, "sendbuf", write=False)
        if _stays(recvbuf):
            return lambda: None
        return _copying(function, source, specs.simple(recvbuf, function, "recvbuf", write=True))

    def _alltoallv(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send a block to each process, and receive one of each, of different sizes."""
        target = specs.vector(recvbuf, function, "recvbuf", write=True)
        source = None if _stays(sendbuf) else specs.vector(sendbuf, function, "sendbuf", write=False)
        return _copying(function, source, target, exact=True)

    def _alltoallw(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send a block to each process, and receive one of each, of different sizes and types."""
        (target,) = specs.many(recvbuf, function, "recvbuf", write=True, blocks=1, typed=True)
        if _stays(sendbuf):
            return lambda: None
        (source,) = specs.many(sendbuf, function, "sendbuf", write=False, blocks=1, typed=True)
        return _copying(function, source, target, exact=True)

    def _reduce(self, function: str, sendbuf: Any, recvbuf: Any, op: Op = _SUM, root: int = 0) -> Callable[[], None]:
        """Combine the buffers of all processes at the root."""
        _root(root, function)
        return self._allreduce(function, sendbuf, recvbuf, op)

    def _allreduce(self, function: str, sendbuf: Any, recvbuf: Any, op: Op = _SUM) -> Callable[[], None]:
        """Combine the buffers of all processes, for all."""
        operation = as_op(op, function)
        target = specs.simple(recvbuf, function, "recvbuf", write=True)
        source = None if _stays(sendbuf) else specs.simple(sendbuf, function, "sendbuf", write=False)
        if source is not None:
            operations.same(source, target, function)
        operation._check(target.type, function)
        return _copying(function, source, target)

    def _scan(self, function: str, sendbuf: Any, recvbuf: Any, op: Op = _SUM) -> Callable[[], None]:
        """Combine the buffers of the processes up to each."""
        return self._allreduce(function, sendbuf, recvbuf, op)

    def _exscan(self, function: str, sendbuf: Any, recvbuf: Any, op: Op = _SUM) -> Callable[[], None]:
        """Combine the buffers of the processes before each; that of rank 0 stays as it was."""
        self._allreduce(function, sendbuf, recvbuf, op)
        return lambda: None

    def _reduce_scatter_block(self, function: str, sendbuf: Any, recvbuf: Any, op: Op = _SUM) -> Callable[[], None]:
        """Combine the buffers of all processes, and give each an equal block."""
        return self._allreduce(function, sendbuf, recvbuf, op)

    def _reduce_scatter(
        self, function: str, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = _SUM
    ) -> Callable[[], None]:
        """Combine the buffers of all processes, and give each a block of `recvcounts` items."""
        if recvcounts is None and _stays(sendbuf):
            raise ArgumentTypeError(f"{function}: argument 'recvcounts' is needed with MPI.IN_PLACE.")
        if recvcounts is not None:
            given = [recvcounts] if isinstance(recvcounts, int) else recvcounts
            (count,) = (integer(each, function, "recvcounts") for each in items_of(given, 1, function, "recvcounts"))
            for name, value in (("sendbuf", sendbuf), ("recvbuf", recvbuf)):
                found = count if _stays(value) else specs.simple(value, function, name, write=False).count
                if found < count or (name == "sendbuf" and found != count):
                    raise ArgumentError(
                        f"{function}: argument 'recvcounts' is {[count]}, and argument {name!r} has {found} items."
                    )
        return self._allreduce(function, sendbuf, recvbuf, op)

    Barrier: Callable[..., Any]
    Ibarrier: Callable[..., Any]
    Barrier_init: Callable[..., Any]
    Bcast: Callable[..., Any]
    Ibcast: Callable[..., Any]
    Bcast_init: Callable[..., Any]
    Gather: Callable[..., Any]
    Igather: Callable[..., Any]
    Gather_init: Callable[..., Any]
    Gatherv: Callable[..., Any]
    Igatherv: Callable[..., Any]
    Gatherv_init: Callable[..., Any]
    Scatter: Callable[..., Any]
    Iscatter: Callable[..., Any]
    Scatter_init: Callable[..., Any]
    Scatterv: Callable[..., Any]
    Iscatterv: Callable[..., Any]
    Scatterv_init: Callable[..., Any]
    Allgather: Callable[..., Any]
    Iallgather: Callable[..., Any]
    Allgather_init: Callable[..., Any]
    Allgatherv: Callable[..., Any]
    Iallgatherv: Callable[..., Any]
    Allgatherv_init: Callable[..., Any]
    Alltoall: Callable[..., Any]
    Ialltoall: Callable[..., Any]
    Alltoall_init: Callable[..., Any]
    Alltoallv: Callable[..., Any]
    Ialltoallv: Callable[..., Any]
    Alltoallv_init: Callable[..., Any]
    Alltoallw: Callable[..., Any]
    Ialltoallw: Callable[..., Any]
    Alltoallw_init: Callable[..., Any]
    Reduce: Callable[..., Any]
    Ireduce: Callable[..., Any]
    Reduce_init: Callable[..., Any]
    Allreduce: Callable[..., Any]
    Iallreduce: Callable[..., Any]
    Allreduce_init: Callable[..., Any]
    Reduce_scatter: Callable[..., Any]
    Ireduce_scatter: Callable[..., Any]
    Reduce_scatter_init: Callable[..., Any]
    Reduce_scatter_block: Callable[..., Any]
    Ireduce_scatter_block: Callable[..., Any]
    Reduce_scatter_block_init: Callable[..., Any]
    Scan: Callable[..., Any]
    Iscan: Callable[..., Any]
    Scan_init: Callable[..., Any]
    Exscan: Callable[..., Any]
    Iexscan: Callable[..., Any]
    Exscan_init: Callable[..., Any]
    Barrier, Ibarrier, Barrier_init = forms("Barrier", _barrier)
    Bcast, Ibcast, Bcast_init = forms("Bcast", _bcast)
    Gather, Igather, Gather_init = forms("Gather", _gather)
    Gatherv, Igatherv, Gatherv_init = forms("Gatherv", _gatherv)
    Scatter, Iscatter, Scatter_init = forms("Scatter", _scatter)
    Scatterv, Iscatterv, Scatterv_init = forms("Scatterv", _scatterv)
    Allgather, Iallgather, Allgather_init = forms("Allgather", _allgather)
    Allgatherv, Iallgatherv, Allgatherv_init = forms("Allgatherv", _allgatherv)
    Alltoall, Ialltoall, Alltoall_init = forms("Alltoall", _alltoall)
    Alltoallv, Ialltoallv, Alltoallv_init = forms("Alltoallv", _alltoallv)
    Alltoallw, Ialltoallw, Alltoallw_init = forms("Alltoallw", _alltoallw)
    Reduce, Ireduce, Reduce_init = forms("Reduce", _reduce)
    Allreduce, Iallreduce, Allreduce_init = forms("Allreduce", _allreduce)
    Reduce_scatter, Ireduce_scatter, Reduce_scatter_init = forms("Reduce_scatter", _reduce_scatter)
    Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init = forms(
        "Reduce_scatter_block", _reduce_scatter_block
    )
    Scan, Iscan, Scan_init = forms("Scan", _scan)
    Exscan, Iexscan, Exscan_init = forms("Exscan", _exscan)

    # --- collectives of objects

    def barrier(self) -> None:
        """Wait for all processes."""
        self.Barrier()

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Send an object of the root to all; every process gets a copy."""
        return self._bcast_object("comm.bcast", obj, root)

    def _bcast_object(self, function: str, obj: Any, root: int) -> Any:
        self._check(function)
        _root(root, function)
        return copied(obj, function, "obj")

    def gather(self, sendobj: Any, root: int = 0) -> list[Any]:
        """Collect one object of each process at the root, in a list."""
        self._check("comm.gather")
        _root(root, "comm.gather")
        return [copied(sendobj, "comm.gather")]

    def allgather(self, sendobj: Any) -> list[Any]:
        """Collect one object of each process at all, in a list."""
        self._check("comm.allgather")
        return [copied(sendobj, "comm.allgather")]

    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Send one object of a sequence of the root to each process."""
        self._check("comm.scatter")
        _root(root, "comm.scatter")
        if sendobj is None:
            return None
        return copied(items_of(sendobj, 1, "comm.scatter", "sendobj")[0], "comm.scatter")

    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Send one object of a sequence to each process, and receive one of each."""
        self._check("comm.alltoall")
        return [copied(each, "comm.alltoall") for each in items_of(sendobj, 1, "comm.alltoall", "sendobj")]

    def reduce(self, sendobj: Any, op: Any = _SUM, root: int = 0) -> Any:
        """Combine objects of all processes at the root."""
        _root(root, "comm.reduce")
        return self._reduced("comm.reduce", sendobj, op)

    def _reduced(self, function: str, sendobj: Any, op: Any) -> Any:
        self._check(function)
        if not callable(op):
            raise wrong_type(function, "op", "an operation, such as MPI.SUM, or a function of two objects", op)
        if isinstance(op, Op) and not op:
            raise error("OP", f"{function}: argument 'op' is MPI.OP_NULL.")
        return copied(sendobj, function)

    def allreduce(self, sendobj: Any, op: Any = _SUM) -> Any:
        """Combine objects of all processes, for all."""
        return self._reduced("comm.allreduce", sendobj, op)

    def scan(self, sendobj: Any, op: Any = _SUM) -> Any:
        """Combine objects of the processes up to each."""
        return self._reduced("comm.scan", sendobj, op)

    def exscan(self, sendobj: Any, op: Any = _SUM) -> None:
        """Combine objects of the processes before each; None for rank 0."""
        self._reduced("comm.exscan", sendobj, op)

    def ibcast(self, obj: Any, root: int = 0) -> SerialRequest:
        """Do `bcast`; the request's `wait` returns the copy. mpi4py has no such method."""
        return SerialRequest(self._bcast_object("comm.ibcast", obj, root))

    def iallreduce(self, sendobj: Any, op: Any = _SUM) -> SerialRequest:
        """Do `allreduce`; the request's `wait` returns the result. mpi4py has no such method."""
        return SerialRequest(self._reduced("comm.iallreduce", sendobj, op))
