"""Communicators whose processes are arranged in a grid or a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cunumpy.mpi._serial import buffers, specs
from cunumpy.mpi._serial.communicators import SerialComm, forms, items_of
from cunumpy.mpi._serial.constants import INTEGERS, PROC_NULL, integer
from cunumpy.mpi._serial.exceptions import error
from cunumpy.mpi._serial.pickling import copied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cunumpy.mpi._serial.buffers import Buffer


class SerialTopocomm(SerialComm):
    """A communicator whose processes have neighbours, in the place of ``MPI.Topocomm``."""

    def _neighbours(self) -> tuple[list[int], list[int]]:
        """Return the ranks that are received from, and those that are sent to."""
        raise NotImplementedError

    def _partner(self, k: int) -> int:
        """Return which block that is sent arrives as block `k`."""
        return k

    degrees: property = property(lambda self: tuple(len(side) for side in self._neighbours()))
    indegree: property = property(lambda self: len(self._neighbours()[0]))
    outdegree: property = property(lambda self: len(self._neighbours()[1]))
    inedges: property = property(lambda self: self._neighbours()[0])
    outedges: property = property(lambda self: self._neighbours()[1])
    inoutedges: property = property(lambda self: self._neighbours())

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


class SerialCartcomm(SerialTopocomm):
    """A grid of one process, in the place of ``MPI.Cartcomm``."""

    def __init__(self, name: str, periods: list[bool]) -> None:
        super().__init__(name)
        self._periods = periods

    def _same_kind(self, name: str = "") -> SerialComm:
        return SerialCartcomm(name, list(self._periods))

    def Get_topology(self) -> int:
        """Return CART."""
        self._check("comm.Get_topology")
        return INTEGERS["CART"]

    def Get_dim(self) -> int:
        """Return how many axes there are."""
        self._check("cart.Get_dim")
        return len(self._periods)

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Return processes along each axis, whether it is periodic, and the coordinates of this process."""
        self._check("cart.Get_topo")
        number = len(self._periods)
        return [1] * number, [int(each) for each in self._periods], [0] * number

    topo: property = property(Get_topo)
    topology: property = property(Get_topology)
    dim: property = property(Get_dim)
    ndim: property = property(Get_dim)
    dims: property = property(lambda self: self.Get_topo()[0])
    periods: property = property(lambda self: self.Get_topo()[1])
    coords: property = property(lambda self: self.Get_topo()[2])

    def Get_coords(self, rank: int) -> list[int]:
        """Return the coordinates of a rank."""
        self._check("cart.Get_coords")
        if integer(rank, "cart.Get_coords", "rank") != 0:
            raise error("RANK", f"cart.Get_coords: argument 'rank' is {rank}; there is only rank 0.")
        return [0] * len(self._periods)

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Return the rank at coordinates, which may be outside along periodic axes."""
        function = "cart.Get_cart_rank"
        self._check(function)
        values = items_of([coords] if isinstance(coords, int) else coords, len(self._periods), function, "coords")
        for axis, (value, periodic) in enumerate(zip(values, self._periods, strict=True)):
            if integer(value, function, "coords") != 0 and not periodic:
                raise error(
                    "ARG",
                    f"{function}: argument 'coords' is {values}; axis {axis} has only coordinate 0, and is not "
                    "periodic.",
                )
        return 0

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Return the ranks to receive from and to send to, for a shift along an axis."""
        function = "cart.Shift"
        self._check(function)
        axis = integer(direction, function, "direction")
        steps = integer(disp, function, "disp")
        if not 0 <= axis < len(self._periods):
            raise error("DIMS", f"{function}: argument 'direction' is {axis}; the grid has {len(self._periods)} axes.")
        neighbour = 0 if self._periods[axis] or steps == 0 else PROC_NULL
        return neighbour, neighbour

    def Sub(self, remain_dims: Sequence[bool]) -> SerialCartcomm:
        """Return the grid of some of the axes that this process is in."""
        function = "cart.Sub"
        self._check(function)
        keep = [remain_dims] if isinstance(remain_dims, (bool, int)) else remain_dims
        chosen = items_of(keep, len(self._periods), function, "remain_dims")
        return SerialCartcomm("", [p for p, kept in zip(self._periods, chosen, strict=True) if kept])

    def _neighbours(self) -> tuple[list[int], list[int]]:
        """Return the ranks that are received from, and those that are sent to."""
        ranks = [0 if periodic else PROC_NULL for periodic in self._periods for _ in range(2)]
        return ranks, ranks

    def _partner(self, k: int) -> int:
        """Return which block that is sent arrives as block `k`: what goes down arrives from above."""
        return k ^ 1


class SerialGraphcomm(SerialTopocomm):
    """A graph of one process, in the place of ``MPI.Graphcomm``."""

    def __init__(self, name: str, index: list[int], edges: list[int]) -> None:
        super().__init__(name)
        self._index, self._edges = index, edges

    def _same_kind(self, name: str = "") -> SerialComm:
        return SerialGraphcomm(name, self._index, self._edges)

    def Get_topology(self) -> int:
        """Return GRAPH."""
        self._check("comm.Get_topology")
        return INTEGERS["GRAPH"]

    def Get_dims(self) -> tuple[int, int]:
        """Return how many processes and edges there are."""
        self._check("graph.Get_dims")
        return len(self._index), len(self._edges)

    def Get_topo(self) -> tuple[list[int], list[int]]:
        """Return where the neighbours of each process end in the list of edges, and that list."""
        self._check("graph.Get_topo")
        return list(self._index), list(self._edges)

    def Get_neighbors_count(self, rank: int) -> int:
        """Return how many neighbours a rank has."""
        return len(self.Get_neighbors(rank))

    def Get_neighbors(self, rank: int) -> list[int]:
        """Return the neighbours of a rank."""
        self._check("graph.Get_neighbors")
        if integer(rank, "graph.Get_neighbors", "rank") != 0:
            raise error("RANK", f"graph.Get_neighbors: argument 'rank' is {rank}; there is only rank 0.")
        return list(self._edges)

    topology: property = property(Get_topology)
    dims: property = property(Get_dims)
    nnodes: property = property(lambda self: self.Get_dims()[0])
    nedges: property = property(lambda self: self.Get_dims()[1])
    topo: property = property(Get_topo)
    index: property = property(lambda self: self.Get_topo()[0])
    edges: property = property(lambda self: self.Get_topo()[1])
    nneighbors: property = property(lambda self: self.Get_neighbors_count(0))
    neighbors: property = property(lambda self: self.Get_neighbors(0))

    def _neighbours(self) -> tuple[list[int], list[int]]:
        return list(self._edges), list(self._edges)


class SerialDistgraphcomm(SerialTopocomm):
    """A graph of one process of which each process knows its part, in the place of ``MPI.Distgraphcomm``."""

    def __init__(
        self,
        name: str,
        sources: list[int],
        destinations: list[int],
        source_weights: list[int] | None,
        destination_weights: list[int] | None,
    ) -> None:
        super().__init__(name)
        self._sources, self._destinations = sources, destinations
        self._weights = None if source_weights is None else (source_weights, destination_weights or [])

    def _same_kind(self, name: str = "") -> SerialComm:
        weights = self._weights or (None, None)
        return SerialDistgraphcomm(name, self._sources, self._destinations, *weights)

    def Get_topology(self) -> int:
        """Return DIST_GRAPH."""
        self._check("comm.Get_topology")
        return INTEGERS["DIST_GRAPH"]

    def Get_dist_neighbors_count(self) -> tuple[int, int, bool]:
        """Return how many processes are received from and sent to, and whether there are weights."""
        self._check("graph.Get_dist_neighbors_count")
        return len(self._sources), len(self._destinations), self._weights is not None

    def Get_dist_neighbors(self) -> tuple[list[int], list[int], tuple[list[int], list[int]] | None]:
        """Return the ranks that are received from and sent to, and their weights."""
        self._check("graph.Get_dist_neighbors")
        return list(self._sources), list(self._destinations), self._weights

    topology: property = property(Get_topology)

    def _neighbours(self) -> tuple[list[int], list[int]]:
        return list(self._sources), list(self._destinations)
