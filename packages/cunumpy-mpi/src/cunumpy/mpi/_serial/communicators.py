"""Communicators of one process."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from typing import TYPE_CHECKING, Any

from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._serial import buffers, messages, operations, specs
from cunumpy.mpi._serial.attributes import Attributes
from cunumpy.mpi._serial.buffers import is_in_place
from cunumpy.mpi._serial.constants import ANY_SOURCE, ANY_TAG, INTEGERS, PROC_NULL, ROOT, UB, UNDEFINED, integer, own
from cunumpy.mpi._serial.exceptions import error, no_pickle, would_wait
from cunumpy.mpi._serial.groups import Errors, Group, Info
from cunumpy.mpi._serial.messages import MESSAGE_NO_PROC, Mailbox, Message, Posted
from cunumpy.mpi._serial.operations import PREDEFINED_OPS, Op, as_op
from cunumpy.mpi._serial.pickling import copied, pickled
from cunumpy.mpi._serial.requests import SerialPrequest, SerialRequest, SerialStatus, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cunumpy.mpi._serial.buffers import Buffer

_SUM = PREDEFINED_OPS["SUM"]


def items_of(values: Any, number: int, function: str, argument: str) -> list[Any]:
    """Return the items of a sequence with one for each rank or neighbour."""
    try:
        items = list(values)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be a sequence of {number} items, got {values!r}."
        ) from None
    if len(items) != number:
        noun = "1 item" if number == 1 else f"{number} items"
        raise ArgumentError(f"{function}: argument {argument!r} must have {noun}, one for each rank, got {len(items)}.")
    return items


def _weights(given: Any, number: int, function: str, argument: str) -> list[Any] | None:
    """Return one weight for each edge, or None for none."""
    if isinstance(given, int):
        constant = own(given, "UNWEIGHTED", "WEIGHTS_EMPTY")
        given = {INTEGERS["UNWEIGHTED"]: None, INTEGERS["WEIGHTS_EMPTY"]: []}.get(constant, given)
    return None if given is None else items_of(given, number, function, argument)


def _root(value: Any, function: str) -> None:
    root = integer(value, function, "root")
    if root != 0:
        text = "MPI.ROOT is for intercommunicators" if own(root, "ROOT") == ROOT else "there is only rank 0"
        raise error("ROOT", f"{function}: argument 'root' is {root}; {text}.")


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


class SerialComm(Attributes, Errors):
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
        self._name = str(name)

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
        self._info |= dict(info.items())

    @classmethod
    def Compare(cls, comm1: SerialComm, comm2: SerialComm) -> int:
        """Return IDENT for the same communicator, CONGRUENT for one of the same processes."""
        for comm in (comm1, comm2):
            comm._check("Comm.Compare")
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
        self._check("comm.Dup")
        made = self._same_kind()
        made._info = dict(self._info) if info is None else dict(info.items())
        made._handler = self._handler
        made._copy_attributes(self)
        return made

    def Dup_with_info(self, info: Info) -> Any:
        """Return a communicator of the same processes, with the given hints."""
        return self.Dup(info)

    def Clone(self) -> Any:
        """Return a communicator of the same processes."""
        return self.Dup()

    def Idup(self, info: Info | None = None) -> tuple[Any, SerialRequest]:
        """Return a communicator of the same processes, and a request that has to be waited for before its use."""
        return self.Dup(info), SerialRequest()

    Idup_with_info = Idup

    def Create(self, group: Group) -> SerialComm:
        """Return a communicator of the processes in a group; COMM_NULL where this one is not among them."""
        self._check("comm.Create")
        return SerialComm("") if group._ranks("Create") else COMM_NULL

    def Create_group(self, group: Group, tag: int = 0) -> SerialComm:
        """Return a communicator of the processes in a group; COMM_NULL where this one is not among them."""
        messages.checked_tag(tag, "comm.Create_group")
        return self.Create(group)

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
            f"comm.Spawn: {command!r} can't be started: the serial stand-in has no other processes. Run the program "
            "with mpiexec, or choose MPI by get_mpi(True).",
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
        sys.stdout.flush()
        print(f"comm.Abort({errorcode}): the program ends.", file=sys.stderr, flush=True)
        raise SystemExit(errorcode)

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
        from cunumpy.mpi._serial.topologies import SerialCartcomm

        function = "comm.Create_cart"
        self._check(function)
        sizes = [integer(each, function, "dims") for each in ([dims] if isinstance(dims, int) else dims)]
        if any(size < 1 for size in sizes):
            raise error("DIMS", f"{function}: argument 'dims' is {sizes}; each has to be at least 1.")
        if math.prod(sizes) != 1:
            raise error(
                "ARG",
                f"{function}: argument 'dims' is {sizes}, a grid of {math.prod(sizes)} processes; there is only 1.",
            )
        wraps = [periods] * len(sizes) if periods is None or isinstance(periods, (bool, int)) else list(periods)
        if len(wraps) != len(sizes):
            raise ArgumentError(f"{function}: argument 'periods' must have {len(sizes)} items, got {len(wraps)}.")
        return SerialCartcomm("", [bool(each) for each in wraps])

    def Create_graph(self, index: Sequence[int], edges: Sequence[int], reorder: bool = False) -> Any:
        """Return a communicator whose processes are a graph."""
        from cunumpy.mpi._serial.topologies import SerialGraphcomm

        function = "comm.Create_graph"
        self._check(function)
        ends = [integer(each, function, "index") for each in index]
        to = [integer(each, function, "edges") for each in edges]
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
        from cunumpy.mpi._serial.topologies import SerialDistgraphcomm

        function = "comm.Create_dist_graph_adjacent"
        self._check(function)
        ranks = [
            [messages.checked_dest(each, function, name) for each in values or ()]
            for name, values in (("sources", sources), ("destinations", destinations))
        ]
        weights = [
            _weights(given, len(side), function, name)
            for given, side, name in (
                (sourceweights, ranks[0], "sourceweights"),
                (destweights, ranks[1], "destweights"),
            )
        ]
        return SerialDistgraphcomm("", ranks[0], ranks[1], weights[0], weights[1])

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
        counts = items_of(degrees, len(list(sources)), function, "degrees")
        total = sum(counts)
        ends = items_of(destinations, total, function, "destinations")
        begins = [source for source, count in zip(sources, counts, strict=True) for _ in range(count)]
        return self.Create_dist_graph_adjacent(begins, ends, weights, weights)

    def Cart_map(self, dims: Sequence[int], periods: Sequence[bool] | None = None) -> int:
        """Return the rank in a grid."""
        self.Create_cart(dims, periods)
        return 0

    def Graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """Return the rank in a graph."""
        self.Create_graph(index, edges)
        return 0

    # --- messages of buffers

    def _isend(self, function: str, buf: Any, dest: int, tag: int, mode: str) -> SerialRequest:
        self._check(function)
        rank = messages.checked_dest(dest, function)
        tag = messages.checked_tag(tag, function)
        if rank == PROC_NULL:
            return SerialRequest()
        source = specs.simple(buf, function, "buf", write=False)
        return self._box.send(Message(tag, source.load(), source), mode)

    def _send(self, function: str, buf: Any, dest: int, tag: int, mode: str) -> None:
        request = self._isend(function, buf, dest, tag, mode)
        messages.check_finished(request, function, _UNSENT)
        request._collect(None, function)

    def _irecv(self, function: str, buf: Any, source: int, tag: int) -> SerialRequest:
        self._check(function)
        rank = messages.checked_source(source, function)
        tag = messages.checked_tag(tag, function, receives=True)
        if rank == PROC_NULL:
            request = SerialRequest()
            request._status = messages.no_process()
            return request
        return self._box.receive(Posted(tag, specs.simple(buf, function, "buf", write=True), function))

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer."""
        self._send("comm.Send", buf, dest, tag, "standard")

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; the message is copied."""
        self._send("comm.Bsend", buf, dest, tag, "buffered")

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, and wait until it is received."""
        self._send("comm.Ssend", buf, dest, tag, "synchronous")

    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, for which a receive was posted."""
        self._send("comm.Rsend", buf, dest, tag, "ready")

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting."""
        return self._isend("comm.Isend", buf, dest, tag, "standard")

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting; the message is copied."""
        return self._isend("comm.Ibsend", buf, dest, tag, "buffered")

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting; the request is finished when it is received."""
        return self._isend("comm.Issend", buf, dest, tag, "synchronous")

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting, for which a receive was posted."""
        return self._isend("comm.Irsend", buf, dest, tag, "ready")

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> None:
        """Receive into a buffer."""
        request = self._irecv("comm.Recv", buf, source, tag)
        messages.check_finished(request, "comm.Recv", _UNRECEIVED)
        request._collect(status, "comm.Recv")

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> SerialRequest:
        """Receive into a buffer, without waiting."""
        return self._irecv("comm.Irecv", buf, source, tag)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> None:
        """Send one buffer and receive into another, in one step that can't block itself."""
        self._pair("comm.Sendrecv", sendbuf, dest, sendtag, recvbuf, source, recvtag).Wait(status)

    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> SerialRequest:
        """Send one buffer and receive into another, without waiting."""
        return self._pair("comm.Isendrecv", sendbuf, dest, sendtag, recvbuf, source, recvtag)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> None:
        """Send a buffer, and receive into the same one."""
        function = "comm.Sendrecv_replace"
        self._pair(function, buf, dest, sendtag, buf, source, recvtag).Wait(status)

    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> SerialRequest:
        """Send a buffer, and receive into the same one, without waiting."""
        return self._pair("comm.Isendrecv_replace", buf, dest, sendtag, buf, source, recvtag)

    def _pair(
        self, function: str, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int
    ) -> SerialRequest:
        self._check(function)
        to, sendtag = messages.checked_dest(dest, function), messages.checked_tag(sendtag, function, "sendtag")
        of, recvtag = (
            messages.checked_source(source, function),
            messages.checked_tag(recvtag, function, "recvtag", receives=True),
        )
        message = target = None
        if to != PROC_NULL:
            sent = specs.simple(sendbuf, function, "sendbuf", write=False)
            message = Message(sendtag, sent.load(), sent)
        if of != PROC_NULL:
            target = specs.simple(recvbuf, function, "recvbuf", write=True)
        receive = SerialRequest()
        if target is None:
            receive._status = messages.no_process()
        else:
            receive = self._box.receive(Posted(recvtag, target, function))
        send = self._box.send(message, "standard") if message is not None else SerialRequest()
        return _Pair(receive, send, self._box, message)

    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> bool:
        """Wait for a message; it can be received afterwards."""
        self._found("comm.Probe", source, tag, status, take=False)
        return True

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> bool:
        """Tell whether there is a message."""
        return self._look("comm.Iprobe", source, tag, status, take=False) is not None

    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> Message:
        """Wait for a message, and take it out for a receive of its own."""
        return self._found("comm.Mprobe", source, tag, status, take=True)

    def Improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None
    ) -> Message | None:
        """Take a message out for a receive of its own, if there is one."""
        return self._look("comm.Improbe", source, tag, status, take=True)

    probe = Probe
    iprobe = Iprobe
    mprobe = Mprobe
    improbe = Improbe

    def _look(self, function: str, source: int, tag: int, status: Any, *, take: bool) -> Message | None:
        self._check(function)
        tag = messages.checked_tag(tag, function, receives=True)
        if messages.checked_source(source, function) == PROC_NULL:
            message: Message | None = MESSAGE_NO_PROC
        else:
            message = self._box.match(tag) if take else self._box.find(tag)
        if message is not None:
            fill(status, message.status, function)
        return message

    def _found(self, function: str, source: int, tag: int, status: Any, *, take: bool) -> Message:
        message = self._look(function, source, tag, status, take=take)
        if message is None:
            raise would_wait(function, _UNRECEIVED)
        return message

    # --- messages of objects

    def _send_object(self, function: str, obj: Any, dest: int, tag: int, mode: str) -> SerialRequest:
        self._check(function)
        rank = messages.checked_dest(dest, function)
        tag = messages.checked_tag(tag, function)
        if rank == PROC_NULL:
            return SerialRequest()
        return self._box.send(Message(tag, pickled(obj, function, "obj"), None), mode)

    def _blocking_object(self, function: str, obj: Any, dest: int, tag: int, mode: str) -> None:
        request = self._send_object(function, obj, dest, tag, mode)
        messages.check_finished(request, function, _UNSENT)

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object."""
        self._blocking_object("comm.send", obj, dest, tag, "standard")

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object; the message is copied."""
        self._blocking_object("comm.bsend", obj, dest, tag, "buffered")

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and wait until it is received."""
        self._blocking_object("comm.ssend", obj, dest, tag, "synchronous")

    def isend(self, obj: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send an object, without waiting."""
        return self._send_object("comm.isend", obj, dest, tag, "standard")

    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send an object, without waiting; the message is copied."""
        return self._send_object("comm.ibsend", obj, dest, tag, "buffered")

    def issend(self, obj: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send an object, without waiting; the request is finished when it is received."""
        return self._send_object("comm.issend", obj, dest, tag, "synchronous")

    def recv(
        self,
        buf: Any = None,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> Any:
        """Receive an object, and return it."""
        request = self._recv_object("comm.recv", source, tag, None)
        messages.check_finished(request, "comm.recv", _UNRECEIVED)
        return request._collect(status, "comm.recv")

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> SerialRequest:
        """Receive an object, without waiting; the request's `wait` returns it.

        Parameters
        ----------
        buf : int or writable buffer, optional
            Room for the pickled object, as bytes or their number; by default for 32768, and a larger one is an error.
        source, tag : int, optional
            Of the message.
        """
        if buf is None:
            room = messages.OBJECT_BYTES
        elif isinstance(buf, int):
            room = buf
        else:
            room = len(specs.memory_of(buf, "comm.irecv", "buf", write=True)[0])
        return self._recv_object("comm.irecv", source, tag, room)

    def _recv_object(self, function: str, source: int, tag: int, limit: int | None) -> SerialRequest:
        self._check(function)
        rank = messages.checked_source(source, function)
        tag = messages.checked_tag(tag, function, receives=True)
        if rank == PROC_NULL:
            request = SerialRequest()
            request._status = messages.no_process()
            return request
        return self._box.receive(Posted(tag, None, function, limit))

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> Any:
        """Send one object and receive another, in one step that can't block itself."""
        function = "comm.sendrecv"
        self._check(function)
        to, sendtag = messages.checked_dest(dest, function), messages.checked_tag(sendtag, function, "sendtag")
        message = None if to == PROC_NULL else Message(sendtag, pickled(sendobj, function, "sendobj"), None)
        receive = self._recv_object(function, source, recvtag, None)
        send = SerialRequest() if message is None else self._box.send(message, "standard")
        return _Pair(receive, send, self._box, message).wait(status)

    def _withdraw(self, requests: Sequence[SerialRequest]) -> None:
        """Take back receives and messages that nothing has answered."""
        for given in requests:
            request = given
            if isinstance(given, SerialPrequest):
                if given._under_way is None:
                    continue
                request, given._under_way = given._under_way, None
            if not request._done():
                request._cancel()
            if request._message is not None:
                self._box.take_back(request._message)
            if request:
                request._retire()

    def _unreceived(self, requests: Sequence[SerialRequest]) -> list[int]:
        """Return which of the sends nobody has received."""
        under_way = [each._under_way if isinstance(each, SerialPrequest) else each for each in requests]
        return [
            number
            for number, request in enumerate(under_way)
            if request is not None and any(request._message is message for message in self._box.messages)
        ]

    # --- persistent messages

    def _send_init(self, name: str, buf: Any, dest: int, tag: int, mode: str) -> SerialPrequest:
        function = f"comm.{name}"
        self._check(function)
        rank, tag = messages.checked_dest(dest, function), messages.checked_tag(tag, function)
        if rank == PROC_NULL:
            return SerialPrequest(SerialRequest, name)
        source = specs.simple(buf, function, "buf", write=False)
        return SerialPrequest(lambda: self._box.send(Message(tag, source.load(), source), mode), name)

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send."""
        return self._send_init("Send_init", buf, dest, tag, "standard")

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send that is copied."""
        return self._send_init("Bsend_init", buf, dest, tag, "buffered")

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send that is finished when it is received."""
        return self._send_init("Ssend_init", buf, dest, tag, "synchronous")

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send for which a receive was posted."""
        return self._send_init("Rsend_init", buf, dest, tag, "ready")

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> SerialPrequest:
        """Return a persistent request for a receive."""
        function = "comm.Recv_init"
        self._check(function)
        rank = messages.checked_source(source, function)
        tag = messages.checked_tag(tag, function, receives=True)
        if rank == PROC_NULL:
            return SerialPrequest(lambda: self._irecv(function, buf, PROC_NULL, tag), "Recv_init")
        target = specs.simple(buf, function, "buf", write=True)
        return SerialPrequest(lambda: self._box.receive(Posted(tag, target, function)), "Recv_init")

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
            (count,) = items_of(recvcounts, 1, function, "recvcounts")
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
        self._check("comm.bcast")
        _root(root, "comm.bcast")
        return copied(obj, "comm.bcast", "obj")

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
        self._check("comm.reduce")
        _root(root, "comm.reduce")
        return copied(sendobj, "comm.reduce")

    def allreduce(self, sendobj: Any, op: Any = _SUM) -> Any:
        """Combine objects of all processes, for all."""
        self._check("comm.allreduce")
        return copied(sendobj, "comm.allreduce")

    def scan(self, sendobj: Any, op: Any = _SUM) -> Any:
        """Combine objects of the processes up to each."""
        self._check("comm.scan")
        return copied(sendobj, "comm.scan")

    def exscan(self, sendobj: Any, op: Any = _SUM) -> None:
        """Combine objects of the processes before each; None for rank 0."""
        self._check("comm.exscan")
        copied(sendobj, "comm.exscan")

    def ibcast(self, obj: Any, root: int = 0) -> SerialRequest:
        """Do `bcast`; the request's `wait` returns the copy. mpi4py has no such method."""
        return SerialRequest(self.bcast(obj, root))

    def iallreduce(self, sendobj: Any, op: Any = _SUM) -> SerialRequest:
        """Do `allreduce`; the request's `wait` returns the result. mpi4py has no such method."""
        return SerialRequest(self.allreduce(sendobj, op))

    # --- buffered sends: the stand-in copies every one

    @classmethod
    def Attach_buffer(cls, buf: Any) -> None:
        """Give memory for buffered sends; the stand-in has its own."""
        _attached.append(buf)

    @classmethod
    def Detach_buffer(cls) -> Any:
        """Take the memory for buffered sends back."""
        return _attached.pop() if _attached else None

    def Flush_buffer(self) -> None:
        """Wait until buffered sends are under way: they are."""
        self._check("comm.Flush_buffer")

    def Iflush_buffer(self) -> SerialRequest:
        """Do `Flush_buffer`, without waiting."""
        self._check("comm.Iflush_buffer")
        return SerialRequest()


_attached: list[Any] = []
_UNSENT = (
    "no receive was posted for the message, and MPI buffers only short ones. Post the receive first (Irecv), use "
    "Sendrecv, or send without waiting (Isend, isend)."
)
_UNRECEIVED = "no such message was sent to the own rank. Send it first (Isend, isend), or use Sendrecv."


class _Pair(SerialRequest):
    """A send and a receive in one request."""

    def __init__(self, receive: SerialRequest, send: SerialRequest, box: Mailbox, message: Message | None) -> None:
        super().__init__()
        self._receive, self._send, self._box, self._message = receive, send, box, message

    def _done(self) -> bool:
        return self._null or (self._receive._done() and self._send._done())

    def _collect(self, status: Any, function: str) -> Any:
        if self._null:
            fill(status, None, function)
            return None
        self._null = True
        return self._receive._collect(status, function)

    def _never(self, function: str) -> Exception:
        reason = _UNSENT if self._receive._done() else _UNRECEIVED
        self._cancel()
        return would_wait(function, reason)

    def _cancel(self) -> None:
        self._receive._cancel()
        self._send._cancel()
        if self._message is not None:
            self._box.take_back(self._message)


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


COMM_WORLD = SerialComm._permanently("MPI_COMM_WORLD")
COMM_SELF = SerialComm._permanently("MPI_COMM_SELF")
COMM_NULL = SerialComm._permanently("MPI_COMM_NULL")
COMM_NULL._null = True


def _named(name: str) -> SerialComm:
    return next(comm for comm in (COMM_WORLD, COMM_SELF, COMM_NULL) if comm._name == name)
