"""Collectives among neighbours: each process sends to those next to it, and receives from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cunumpy.mpi._serial import buffers, specs
from cunumpy.mpi._serial.checks import items_of
from cunumpy.mpi._serial.collectives import forms
from cunumpy.mpi._serial.constants import PROC_NULL
from cunumpy.mpi._serial.exceptions import error
from cunumpy.mpi._serial.pickling import copied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cunumpy.mpi._serial.buffers import Buffer


class NeighbourCollectives:
    """The collectives of a communicator whose processes have neighbours."""

    _check: Callable[[str], None]

    def _neighbours(self) -> tuple[list[int], list[int]]:
        """Return the ranks that are received from, and those that are sent to."""
        raise NotImplementedError

    def _partner(self, k: int) -> int:
        """Return which block that is sent arrives as block `k`."""
        return k

    def _exchange(self, function: str, sent: list[Buffer], received: list[Buffer]) -> Callable[[], None]:
        """Return the copies from the blocks that are sent to those that are received."""
        sources, destinations = self._neighbours()
        # The k-th message to this process is the k-th from it, or, in a grid, comes from the other side.
        arriving = [k for k, rank in enumerate(destinations) if rank != PROC_NULL]
        pairs = []
        for number, k in enumerate(k for k, rank in enumerate(sources) if rank != PROC_NULL):
            if number >= len(arriving):
                raise _unmatched(function)
            block = self._partner(k) if self._partner(k) != k else arriving[number]
            pairs.append((sent[block], received[k]))
        if len(pairs) < len(arriving):
            raise _unmatched(function)
        for source, target in pairs:
            buffers.check_move(source, target, function)

        def action() -> None:
            contents = [source.load() for source, _ in pairs]
            for content, (_, target) in zip(contents, pairs, strict=True):
                target.store(content, function)

        return action

    def _equal_blocks(self, function: str, sendbuf: Any, recvbuf: Any) -> tuple[list[Buffer], list[Buffer]]:
        sources, destinations = self._neighbours()
        return (
            specs.many(sendbuf, function, "sendbuf", write=False, blocks=len(destinations), typed=False, plain=True),
            specs.many(recvbuf, function, "recvbuf", write=True, blocks=len(sources), typed=False, plain=True),
        )

    def _neighbor_alltoall(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send a block to each neighbour, and receive one of each."""
        return self._exchange(function, *self._equal_blocks(function, sendbuf, recvbuf))

    def _neighbor_alltoallv(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send a block to each neighbour, and receive one of each, of different sizes."""
        return self._uneven(function, sendbuf, recvbuf, typed=False)

    def _neighbor_alltoallw(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send a block to each neighbour, and receive one of each, of different sizes and types."""
        return self._uneven(function, sendbuf, recvbuf, typed=True)

    def _uneven(self, function: str, sendbuf: Any, recvbuf: Any, *, typed: bool) -> Callable[[], None]:
        sources, destinations = self._neighbours()
        sent = specs.many(sendbuf, function, "sendbuf", write=False, blocks=len(destinations), typed=typed)
        received = specs.many(recvbuf, function, "recvbuf", write=True, blocks=len(sources), typed=typed)
        return self._exchange(function, sent, received)

    def _neighbor_allgather(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send one block to all neighbours, and receive one of each."""
        return self._to_all(function, sendbuf, recvbuf, plain=True)

    def _neighbor_allgatherv(self, function: str, sendbuf: Any, recvbuf: Any) -> Callable[[], None]:
        """Send one block to all neighbours, and receive one of each, of different sizes."""
        return self._to_all(function, sendbuf, recvbuf, plain=False)

    def _to_all(self, function: str, sendbuf: Any, recvbuf: Any, *, plain: bool) -> Callable[[], None]:
        sources, destinations = self._neighbours()
        source = specs.simple(sendbuf, function, "sendbuf", write=False)
        received = specs.many(recvbuf, function, "recvbuf", write=True, blocks=len(sources), typed=False, plain=plain)
        return self._exchange(function, [source] * len(destinations), received)

    Neighbor_alltoall: Callable[..., Any]
    Ineighbor_alltoall: Callable[..., Any]
    Neighbor_alltoall_init: Callable[..., Any]
    Neighbor_alltoallv: Callable[..., Any]
    Ineighbor_alltoallv: Callable[..., Any]
    Neighbor_alltoallv_init: Callable[..., Any]
    Neighbor_alltoallw: Callable[..., Any]
    Ineighbor_alltoallw: Callable[..., Any]
    Neighbor_alltoallw_init: Callable[..., Any]
    Neighbor_allgather: Callable[..., Any]
    Ineighbor_allgather: Callable[..., Any]
    Neighbor_allgather_init: Callable[..., Any]
    Neighbor_allgatherv: Callable[..., Any]
    Ineighbor_allgatherv: Callable[..., Any]
    Neighbor_allgatherv_init: Callable[..., Any]
    Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init = forms("Neighbor_alltoall", _neighbor_alltoall)
    Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init = forms("Neighbor_alltoallv", _neighbor_alltoallv)
    Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init = forms("Neighbor_alltoallw", _neighbor_alltoallw)
    Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init = forms("Neighbor_allgather", _neighbor_allgather)
    Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init = forms(
        "Neighbor_allgatherv", _neighbor_allgatherv
    )

    def neighbor_alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Send an object to each neighbour, and receive one of each; None where there is no neighbour."""
        function = "comm.neighbor_alltoall"
        self._check(function)
        sources, destinations = self._neighbours()
        objects = items_of(sendobj, len(destinations), function, "sendobj")
        arriving = iter([each for each, rank in zip(objects, destinations, strict=True) if rank != PROC_NULL])
        received: list[Any] = []
        for k, rank in enumerate(sources):
            if rank == PROC_NULL:
                received.append(None)
            else:
                in_order = next(arriving)
                received.append(copied(objects[self._partner(k)] if self._partner(k) != k else in_order, function))
        return received

    def neighbor_allgather(self, sendobj: Any) -> list[Any]:
        """Send one object to all neighbours, and receive one of each; None where there is no neighbour."""
        function = "comm.neighbor_allgather"
        self._check(function)
        return [None if rank == PROC_NULL else copied(sendobj, function) for rank in self._neighbours()[0]]


def _unmatched(function: str) -> Exception:
    return error(
        "TOPOLOGY",
        f"{function}: the graph has not as many edges from this process to itself as to it from itself, so that MPI "
        "would wait forever.",
    )
