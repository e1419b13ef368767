"""Communicators of one process: plain ones, and those that have it in a grid or a graph."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from cunumpy import _gate
from cunumpy.errors import ArgumentError
from cunumpy.mpi._serial import messages
from cunumpy.mpi._serial.attributes import Attributes
from cunumpy.mpi._serial.checks import flag, integer, integers, items_of, sequence, text, wrong_type
from cunumpy.mpi._serial.collectives import Collectives
from cunumpy.mpi._serial.constants import ANY_SOURCE, INTEGERS, PROC_NULL, UB, UNDEFINED, own
from cunumpy.mpi._serial.error_handlers import Errors
from cunumpy.mpi._serial.exceptions import error, no_pickle
from cunumpy.mpi._serial.groups import Group, members
from cunumpy.mpi._serial.hints import Info, entries_of
from cunumpy.mpi._serial.messages import Mailbox
from cunumpy.mpi._serial.neighbours import NeighbourCollectives
from cunumpy.mpi._serial.point_to_point import PointToPoint
from cunumpy.mpi._serial.requests import SerialRequest

if TYPE_CHECKING:
    from collections.abc import Sequence


class SerialComm(PointToPoint, Collectives, Attributes, Errors):
    """A communicator of one process, in the place of ``MPI.Comm`` and ``MPI.Intracomm``.

    It has the methods of mpi4py, and is as strict: buffers have to be contiguous, writable, large enough and of the
    same type on both sides; ranks, roots, tags, counts and operations are checked; objects that are sent arrive as
    copies. Where a run of MPI would wait for ever, an exception is raised.

    Parameters
    ----------
    name : str, default: "COMM_WORLD"
        Its name.

    Attributes
    ----------
    rank, size : int
        0 and 1.
    group : MPI.Group
        The group of its processes.

    Notes
    -----
    A send to the own rank of more than 1024 bytes is finished when somebody receives it, as with most MPI libraries;
    `messages.EAGER`.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi(False).COMM_WORLD
    >>> total = np.zeros(3)
    >>> comm.Allreduce(np.arange(3.0), total)
    >>> total
    array([0., 1., 2.])
    >>> comm.Allreduce(np.arange(4.0), total)
    Traceback (most recent call last):
    ...
    cunumpy.errors.ArgumentError: comm.Allreduce: arguments 'sendbuf' and 'recvbuf' must have the same count, got 4 \
and 3.
    """

    def __init__(self, name: str = "COMM_WORLD") -> None:
        self._name = name
        self._null = False
        self._permanent = False
        self._box = Mailbox()
        self._attributes: dict[int, Any] = {}
        self._info: dict[str, str] = {}

    @classmethod
    def _permanently(cls, name: str) -> SerialComm:
        made = cls(name)
        made._permanent = True
        return made

    def _check(self, function: str) -> None:
        if self._null:
            raise error("COMM", f"{function}: the communicator is null; was it freed?")

    def __bool__(self) -> bool:
        return not self._null

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SerialComm):
            return NotImplemented
        return self is other or (self._null and other._null)

    def __hash__(self) -> int:
        return 0 if self._null else id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'COMM_NULL' if self._null else self._name.removeprefix('MPI_')})"

    def __reduce__(self) -> Any:
        for comm in (COMM_WORLD, COMM_SELF, COMM_NULL):
            if self is comm:
                return _named, (self._name,)
        return (_named, ("MPI_COMM_NULL",)) if self._null else no_pickle(self)

    # --- queries

    def Get_rank(self) -> int:
        """Return the rank of this process, 0."""
        self._check("comm.Get_rank")
        return 0

    def Get_size(self) -> int:
        """Return how many processes there are, 1."""
        self._check("comm.Get_size")
        return 1

    def Get_remote_size(self) -> int:
        """Return the size of the other group of an intercommunicator; there is none."""
        raise error("COMM", "comm.Get_remote_size: the communicator is no intercommunicator.")

    def Get_group(self) -> Group:
        """Return the group of the processes."""
        self._check("comm.Get_group")
        return Group._make(1)

    def Get_name(self) -> str:
        """Return the name."""
        return self._name

    def Set_name(self, name: str) -> None:
        """Give the communicator a name."""
        self._check("comm.Set_name")
        self._name = text(name, "comm.Set_name", "name")

    def Is_inter(self) -> bool:
        """Tell whether it connects two groups: never."""
        self._check("comm.Is_inter")
        return False

    def Is_intra(self) -> bool:
        """Tell whether it is of one group: always."""
        self._check("comm.Is_intra")
        return True

    def Get_topology(self) -> int:
        """Return CART, GRAPH, DIST_GRAPH, or UNDEFINED for none."""
        self._check("comm.Get_topology")
        return UNDEFINED

    def Get_info(self) -> Info:
        """Return the hints."""
        self._check("comm.Get_info")
        return Info._make(dict(self._info))

    def Set_info(self, info: Info) -> None:
        """Set hints."""
        self._check("comm.Set_info")
        self._info |= entries_of(info, "comm.Set_info")

    @classmethod
    def Compare(cls, comm1: SerialComm, comm2: SerialComm) -> int:
        """Return IDENT for the same communicator, CONGRUENT for one of the same processes."""
        for argument, comm in (("comm1", comm1), ("comm2", comm2)):
            as_comm(comm, "Comm.Compare", argument)
        return INTEGERS["IDENT" if comm1 is comm2 else "CONGRUENT"]

    @classmethod
    def Get_parent(cls) -> SerialComm:
        """Return the communicator with the processes that started this one; there is none."""
        return COMM_NULL

    rank: property = property(Get_rank)
    size: property = property(Get_size)
    group: property = property(Get_group)
    name: property = property(Get_name, Set_name)
    topology: property = property(Get_topology)
    info: property = property(Get_info, Set_info)
    is_inter: property = property(Is_inter)
    is_intra: property = property(Is_intra)
    is_topo: property = property(lambda self: self.Get_topology() != UNDEFINED)

    def _predefined_attribute(self, keyval: int) -> Any:
        values = {
            "TAG_UB": UB,
            "IO": ANY_SOURCE,
            "WTIME_IS_GLOBAL": 1,
            "UNIVERSE_SIZE": 1,
            "APPNUM": 0,
            "LASTUSEDCODE": INTEGERS["MAX_OBJECT_NAME"],
        }
        self._check("comm.Get_attr")
        for name, value in values.items():
            if own(keyval, name) == INTEGERS[name]:
                return value
        return NotImplemented

    # --- making and freeing

    def _same_kind(self, name: str = "") -> SerialComm:
        return SerialComm(name)

    def Dup(self, info: Info | None = None) -> Any:
        """Return a communicator of the same processes, with its own messages."""
        return self._dup("comm.Dup", info)

    def _dup(self, function: str, info: Any) -> Any:
        self._check(function)
        hints = dict(self._info) if info is None else entries_of(info, function)
        made = self._same_kind()
        made._info = hints
        made._handler = self._handler
        made._copy_attributes(self)
        return made

    def Dup_with_info(self, info: Info) -> Any:
        """Return a communicator of the same processes, with the given hints."""
        return self._dup("comm.Dup_with_info", info)

    def Clone(self) -> Any:
        """Return a communicator of the same processes."""
        return self.Dup()

    def Idup(self, info: Info | None = None) -> tuple[Any, SerialRequest]:
        """Return a communicator of the same processes, and a request that has to be waited for before its use."""
        return self._dup("comm.Idup", info), SerialRequest()

    def Idup_with_info(self, info: Info) -> tuple[Any, SerialRequest]:
        """Do `Idup`, with the given hints."""
        return self._dup("comm.Idup_with_info", info), SerialRequest()

    def Create(self, group: Group) -> SerialComm:
        """Return a communicator of the processes in a group; COMM_NULL where this one is not among them."""
        self._check("comm.Create")
        return SerialComm("") if members(group, "comm.Create") else COMM_NULL

    def Create_group(self, group: Group, tag: int = 0) -> SerialComm:
        """Return a communicator of the processes in a group; COMM_NULL where this one is not among them."""
        self._check("comm.Create_group")
        messages.checked_tag(tag, "comm.Create_group")
        return SerialComm("") if members(group, "comm.Create_group") else COMM_NULL

    def Split(self, color: int = 0, key: int = 0) -> SerialComm:
        """Return a communicator of the processes with the same color; COMM_NULL for UNDEFINED."""
        self._check("comm.Split")
        number = integer(color, "comm.Split", "color")
        integer(key, "comm.Split", "key")
        if number == UNDEFINED:
            return COMM_NULL
        if number < 0:
            raise error("ARG", f"comm.Split: argument 'color' is {number}; it can't be negative, except MPI.UNDEFINED.")
        return SerialComm("")

    def Split_type(self, split_type: int, key: int = 0, info: Info | None = None) -> SerialComm:
        """Return a communicator of the processes that share something, such as the memory of a node."""
        self._check("comm.Split_type")
        names = ("COMM_TYPE_SHARED", "COMM_TYPE_HW_UNGUIDED", "COMM_TYPE_HW_GUIDED", "COMM_TYPE_RESOURCE_GUIDED")
        kind = own(integer(split_type, "comm.Split_type", "split_type"), *names)
        integer(key, "comm.Split_type", "key")
        if info is not None:
            entries_of(info, "comm.Split_type")
        if kind == UNDEFINED:
            return COMM_NULL
        if kind not in [INTEGERS[name] for name in names]:
            raise error("ARG", f"comm.Split_type: argument 'split_type' is {split_type}, which is no MPI.COMM_TYPE_...")
        # What differs within one process can't be split; what can't be split further gives no communicator.
        return COMM_NULL if kind == INTEGERS["COMM_TYPE_HW_UNGUIDED"] else SerialComm("")

    def Create_intercomm(self, local_leader: int, peer_comm: SerialComm, remote_leader: int, tag: int = 0) -> Any:
        """Connect two groups of processes: there are not two."""
        self._check("comm.Create_intercomm")
        raise error("RANK", "comm.Create_intercomm: a run of one process has no second group to connect to.")

    def Spawn(self, command: str, *args: Any, **kwargs: Any) -> Any:
        """Start processes: the stand-in can't."""
        raise error(
            "SPAWN",
            f"comm.Spawn: argument 'command', {_gate.given(command)}, can't be started: the serial stand-in has no "
            "other processes. Run the program with mpiexec, or choose MPI by get_mpi(True).",
        )

    def Free(self) -> None:
        """Give the communicator up: it becomes null."""
        self._check("comm.Free")
        if self._permanent:
            raise error("COMM", f"comm.Free: {self!r} can't be freed.")
        self._drop_attributes()
        self._null = True

    Disconnect = Free

    def free(self) -> None:
        """Give the communicator up, unless it is null or predefined."""
        if not self._null and not self._permanent:
            self.Free()

    def Abort(self, errorcode: int = 0) -> None:
        """End the program.

        Raises
        ------
        SystemExit
            With the code, after a line to the standard error output.
        """
        self._check("comm.Abort")
        code = integer(errorcode, "comm.Abort", "errorcode")
        sys.stdout.flush()
        print(f"comm.Abort({code}): the program ends.", file=sys.stderr, flush=True)
        raise SystemExit(code)

    # --- topologies

    def Create_cart(self, dims: Sequence[int], periods: Any = None, reorder: bool = False) -> Any:
        """Return a communicator whose processes are a grid: here of one process.

        Parameters
        ----------
        dims : sequence of int
            Processes along each axis: all 1.
        periods : sequence of bool, optional
            Along which axes the first and the last are neighbours; by default along none. One truth value is for all.
        reorder : bool, default: False
            Whether ranks may change.
        """
        flag(reorder, "comm.Create_cart", "reorder")
        return self._cart("comm.Create_cart", dims, periods)

    def _cart(self, function: str, dims: Any, periods: Any) -> SerialCartcomm:
        self._check(function)
        sizes = integers([dims] if isinstance(dims, int) else dims, function, "dims")
        if any(size < 1 for size in sizes):
            raise error("DIMS", f"{function}: argument 'dims' is {sizes}; each has to be at least 1.")
        if math.prod(sizes) != 1:
            raise error(
                "ARG",
                f"{function}: argument 'dims' is {sizes}, a grid of {math.prod(sizes)} processes; there is only 1.",
            )
        each_axis = [periods] * len(sizes) if periods is None or isinstance(periods, (bool, int)) else periods
        wraps = sequence(each_axis, function, "periods", "truth values")
        if len(wraps) != len(sizes):
            raise ArgumentError(f"{function}: argument 'periods' must have {len(sizes)} items, got {len(wraps)}.")
        return SerialCartcomm("", [flag(each, function, "periods") for each in wraps])

    def Create_graph(self, index: Sequence[int], edges: Sequence[int], reorder: bool = False) -> Any:
        """Return a communicator whose processes are a graph."""
        flag(reorder, "comm.Create_graph", "reorder")
        return self._graph("comm.Create_graph", index, edges)

    def _graph(self, function: str, index: Any, edges: Any) -> SerialComm:
        self._check(function)
        ends, to = integers(index, function, "index"), integers(edges, function, "edges")
        if not ends:
            return COMM_NULL
        if len(ends) != 1 or ends[0] != len(to) or any(each != 0 for each in to):
            raise error("ARG", f"{function}: index={ends} and edges={to} are no graph of one process.")
        return SerialGraphcomm("", ends, to)

    def Create_dist_graph_adjacent(
        self,
        sources: Sequence[int] | None,
        destinations: Sequence[int] | None,
        sourceweights: Sequence[int] | None = None,
        destweights: Sequence[int] | None = None,
        info: Info | None = None,
        reorder: bool = False,
    ) -> Any:
        """Return a communicator in which each process names those that it receives from and sends to."""
        function = "comm.Create_dist_graph_adjacent"
        flag(reorder, function, "reorder")
        names = ("sourceweights", "destweights")
        return self._dist_graph(function, sources, destinations, (sourceweights, destweights), names, info)

    def _dist_graph(
        self, function: str, sources: Any, destinations: Any, weights: Any, names: tuple[str, str], info: Any
    ) -> SerialDistgraphcomm:
        self._check(function)
        received, sent = (
            [
                messages.checked_dest(each, function, name)
                for each in ([] if values is None else integers(values, function, name))
            ]
            for name, values in (("sources", sources), ("destinations", destinations))
        )
        weights_in = _weights(weights[0], len(received), function, names[0])
        weights_out = _weights(weights[1], len(sent), function, names[1])
        if info is not None:
            entries_of(info, function)
        return SerialDistgraphcomm("", received, sent, weights_in, weights_out)

    def Create_dist_graph(
        self,
        sources: Sequence[int],
        degrees: Sequence[int],
        destinations: Sequence[int],
        weights: Sequence[int] | None = None,
        info: Info | None = None,
        reorder: bool = False,
    ) -> Any:
        """Return a communicator of a graph of which each process gives a part."""
        function = "comm.Create_dist_graph"
        flag(reorder, function, "reorder")
        given = integers(sources, function, "sources")
        counts = [
            integer(each, function, "degrees", least=0)
            for each in items_of(degrees, len(given), function, "degrees", "integers")
        ]
        ends = integers(destinations, function, "destinations")
        if len(ends) != sum(counts):
            raise ArgumentError(
                f"{function}: argument 'destinations' must have {sum(counts)} items, as many as 'degrees' says, got "
                f"{len(ends)}."
            )
        begins = [source for source, count in zip(given, counts, strict=True) for _ in range(count)]
        return self._dist_graph(function, begins, ends, (weights, weights), ("weights", "weights"), info)

    def Cart_map(self, dims: Sequence[int], periods: Sequence[bool] | None = None) -> int:
        """Return the rank in a grid."""
        self._cart("comm.Cart_map", dims, periods)
        return 0

    def Graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """Return the rank in a graph."""
        self._graph("comm.Graph_map", index, edges)
        return 0


def _weights(given: Any, number: int, function: str, argument: str) -> list[Any] | None:
    """Return one weight for each edge, or None for none."""
    if isinstance(given, int):
        constant = own(given, "UNWEIGHTED", "WEIGHTS_EMPTY")
        given = {INTEGERS["UNWEIGHTED"]: None, INTEGERS["WEIGHTS_EMPTY"]: []}.get(constant, given)
    return None if given is None else items_of(given, number, function, argument, "integers")


class SerialTopocomm(NeighbourCollectives, SerialComm):
    """A communicator whose processes have neighbours, in the place of ``MPI.Topocomm``."""

    degrees: property = property(lambda self: tuple(len(side) for side in self._neighbours()))
    indegree: property = property(lambda self: len(self._neighbours()[0]))
    outdegree: property = property(lambda self: len(self._neighbours()[1]))
    inedges: property = property(lambda self: self._neighbours()[0])
    outedges: property = property(lambda self: self._neighbours()[1])
    inoutedges: property = property(lambda self: self._neighbours())


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
        values = items_of(
            [coords] if isinstance(coords, int) else coords, len(self._periods), function, "coords", "integers"
        )
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
        chosen = items_of(keep, len(self._periods), function, "remain_dims", "truth values")
        kept = [flag(each, function, "remain_dims") for each in chosen]
        return SerialCartcomm("", [p for p, keeps in zip(self._periods, kept, strict=True) if keeps])

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
        return len(self._neighbours_of(rank, "graph.Get_neighbors_count"))

    def Get_neighbors(self, rank: int) -> list[int]:
        """Return the neighbours of a rank."""
        return self._neighbours_of(rank, "graph.Get_neighbors")

    def _neighbours_of(self, rank: Any, function: str) -> list[int]:
        self._check(function)
        if integer(rank, function, "rank") != 0:
            raise error("RANK", f"{function}: argument 'rank' is {rank}; there is only rank 0.")
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


COMM_WORLD = SerialComm._permanently("MPI_COMM_WORLD")
COMM_SELF = SerialComm._permanently("MPI_COMM_SELF")
COMM_NULL = SerialComm._permanently("MPI_COMM_NULL")
COMM_NULL._null = True


def as_comm(value: Any, function: str, argument: str = "comm") -> SerialComm:
    """Return a communicator that was given as an argument, and is not null."""
    if not isinstance(value, SerialComm):
        raise wrong_type(function, argument, "a communicator of the stand-in, such as MPI.COMM_WORLD", value)
    if not value:
        raise error("COMM", f"{function}: argument {argument!r} is a null communicator; was it freed?")
    return value


def _named(name: str) -> SerialComm:
    return next(comm for comm in (COMM_WORLD, COMM_SELF, COMM_NULL) if comm._name == name)
