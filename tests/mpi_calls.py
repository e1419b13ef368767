"""A call of each method of the serial stand-in for MPI, whose arguments `test_mistakes` spoils one after the other.

Methods of mpi4py share the names of their parameters, so that a table by name has most arguments; what a method needs
otherwise, and what has to be done before it can be called, is said for that method.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import cunumpy as xp

MPI = xp.mpi.get_mpi(False)

CLASSES = (
    "Comm",
    "Cartcomm",
    "Graphcomm",
    "Distgraphcomm",
    "Group",
    "Info",
    "Errhandler",
    "Request",
    "Prequest",
    "Message",
    "Status",
    "Datatype",
    "Op",
    "File",
    "Win",
)
BASES = {"Cartcomm": "Comm", "Graphcomm": "Cartcomm", "Distgraphcomm": "Cartcomm", "Prequest": "Request"}
"""The class whose methods are not tried again."""


def _numbers() -> np.ndarray:
    return np.ones(3)


def _comm() -> Any:
    """Return a communicator with a message of a buffer and one of an object under way to the own rank."""
    made = MPI.COMM_SELF.Dup()
    made.Isend(np.ones(3), 0, 7)
    made.isend([1], 0, 8)
    made.Set_attr(_KEY, "value")
    return made


def _objects() -> Any:
    made = MPI.COMM_SELF.Dup()
    made.isend([1], 0, 7)
    return made


def _silent() -> Any:
    return MPI.COMM_SELF.Dup()


_opened: list[Any] = []


def _file() -> Any:
    made = MPI.File.Open(MPI.COMM_SELF, "numbers.bin", MPI.MODE_CREATE | MPI.MODE_RDWR)
    _opened.append(made)
    made.Write_at(0, np.ones(100))
    return made


def close_files(*more: Any) -> None:
    """Close the files that calls were made on, and others."""
    for each in (*_opened, *more):
        if isinstance(each, MPI.File):
            each.free()
    _opened.clear()


def _begun(name: str) -> Callable[[], Any]:
    def make() -> Any:
        made = _file()
        offset = [0] if "_at_" in name else []
        getattr(made, f"{name}_begin")(*offset, np.ones(3))
        return made

    return make


def _win(epoch: str = "Lock") -> Any:
    made = MPI.Win.Create(np.zeros(8), 8, comm=MPI.COMM_SELF)
    made.Set_attr(_WIN_KEY, "value")
    if epoch == "Lock":
        made.Lock(0)
    elif epoch == "Post":
        made.Post(made.Get_group())
    return made


def _integers() -> Any:
    made = MPI.Win.Create(np.zeros(8, "i8"), 8, comm=MPI.COMM_SELF)
    made.Fence()
    return made


def _dynamic() -> Any:
    made = MPI.Win.Create_dynamic(comm=MPI.COMM_SELF)
    made.Attach(_MEMORY)
    return made


def _type() -> Any:
    made = MPI.DOUBLE.Dup()
    made.Set_attr(_TYPE_KEY, "value")
    return made


def _message(kind: str) -> Callable[[], Any]:
    return lambda: _comm().Mprobe(0, 7) if kind == "buffer" else _comm().Mprobe(0, 8)


_KEY = MPI.Comm.Create_keyval()
_TYPE_KEY = MPI.Datatype.Create_keyval()
_WIN_KEY = MPI.Win.Create_keyval()
_MEMORY = np.zeros(8)

RECEIVERS: dict[str, Callable[[], Any]] = {
    "Comm": _comm,
    "Comm.recv": _objects,
    "Comm.irecv": _objects,
    "Comm.Sendrecv": _silent,
    "Comm.sendrecv": _silent,
    "Comm.Send": _silent,
    "Comm.Isendrecv": _silent,
    "Comm.Sendrecv_replace": _silent,
    "Comm.Isendrecv_replace": _silent,
    "Comm.Ssend": lambda: _receiving(),
    "Comm.Rsend": lambda: _receiving(),
    "Comm.ssend": lambda: _receiving(),
    "Cartcomm": lambda: _silent().Create_cart([1], [True]),
    "Graphcomm": lambda: _silent().Create_graph([1], [0]),
    "Distgraphcomm": lambda: _silent().Create_dist_graph_adjacent([0], [0]),
    "Group": lambda: _silent().Get_group(),
    "Info": lambda: MPI.Info.Create({"key": "value"}),
    "Errhandler": lambda: MPI.Comm.Create_errhandler(print),
    "Request": lambda: _comm().Irecv(np.ones(3), 0, 7),
    "Prequest": lambda: _comm().Send_init(np.ones(3), 0, 7),
    "Message": _message("buffer"),
    "Message.recv": _message("object"),
    "Message.irecv": _message("object"),
    "Status": MPI.Status,
    "Datatype": _type,
    "Op": lambda: MPI.SUM,
    "File": _file,
    **{
        f"File.{name}_end": _begun(name)
        for name in ("Read_all", "Write_all", "Read_at_all", "Write_at_all", "Read_ordered", "Write_ordered")
    },
    "Win": _win,
    "Win.Lock": lambda: _win(""),
    "Win.Lock_all": lambda: _win(""),
    "Win.Fence": lambda: _win(""),
    "Win.Post": lambda: _win(""),
    "Win.Start": lambda: _win("Post"),
    "Win.Compare_and_swap": _integers,
    "Win.Attach": _dynamic,
    "Win.Detach": _dynamic,
    "Win.Shared_query": lambda: MPI.Win.Allocate_shared(64, comm=MPI.COMM_SELF),
}
"""What a method is called on, for ``Class`` or ``Class.method``, anew each time."""


def _receiving() -> Any:
    made = MPI.COMM_SELF.Dup()
    made.Irecv(np.ones(3), 0, 7)
    made.irecv(None, 0, 8)
    return made


ARGUMENTS: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("buf", "sendbuf", "recvbuf", "inbuf", "inoutbuf", "origin", "result", "memory"), _numbers),
    **dict.fromkeys(("outbuf", "location", "mem"), lambda: bytearray(24)),
    **dict.fromkeys(("dest", "source", "root", "rank", "target_rank", "offset", "disp", "target_disp"), lambda: 0),
    **dict.fromkeys(("tag", "sendtag", "recvtag"), lambda: 7),
    **dict.fromkeys(("obj", "value", "attrval"), lambda: "text"),
    "sendobj": lambda: [1],
    "op": lambda: MPI.SUM,
    **dict.fromkeys(("status",), MPI.Status),
    "statuses": lambda: [MPI.Status()],
    "requests": lambda: [_comm().Irecv(np.ones(3), 0, 7)],
    "info": lambda: MPI.Info.Create({"key": "value"}),
    **dict.fromkeys(("group", "group1", "group2"), lambda: MPI.COMM_SELF.Get_group()),
    **dict.fromkeys(("comm1", "comm2"), lambda: MPI.COMM_SELF),
    "comm": _comm,
    "errorcode": lambda: MPI.ERR_RANK,
    "errorclass": lambda: MPI.ERR_RANK,
    "error": lambda: MPI.ERR_RANK,
    "code": lambda: MPI.ERR_RANK,
    **dict.fromkeys(("name", "string", "key"), lambda: "key"),
    **dict.fromkeys(("errhandler_fn", "function"), lambda: lambda *given: None),
    "errhandler": lambda: MPI.ERRORS_RETURN,
    "keyval": lambda: _KEY,
    **dict.fromkeys(("copy_fn", "delete_fn"), lambda: None),
    **dict.fromkeys(("dims", "index", "sources", "destinations", "degrees"), lambda: [1]),
    "edges": lambda: [0],
    **dict.fromkeys(("flag", "reorder"), lambda: False),
    "datatype": lambda: MPI.DOUBLE,
    **dict.fromkeys(("count", "blocklength", "n", "level", "base", "addr1", "addr2"), lambda: 2),
    **dict.fromkeys(("stride", "extent"), lambda: 24),
    "lb": lambda: 0,
    **dict.fromkeys(("blocklengths",), lambda: [1, 2]),
    "displacements": lambda: [0, 8],
    "datatypes": lambda: [MPI.DOUBLE, MPI.INT],
    "position": lambda: 0,
    "size": lambda: 8,
    "target": lambda: 0,
    "ranks": lambda: [0],
    "filename": lambda: "numbers.bin",
}
"""Arguments by the name of the parameter; where there is none, the default is given."""

_FOR_EACH_RANK = {"sendbuf": lambda: [np.ones(3), [3]], "recvbuf": lambda: [np.zeros(3), [3]]}
_WITH_TYPES = {name: (lambda: [np.ones(3), [3], [0], [MPI.DOUBLE]]) for name in ("sendbuf", "recvbuf")}
_TWO_BLOCKS = {
    "sendbuf": lambda: np.ones(4),
    "recvbuf": lambda: np.zeros(4),
}
_TWO_TYPED = {name: (lambda: [np.ones(4), [2, 2], [0, 16], [MPI.DOUBLE] * 2]) for name in ("sendbuf", "recvbuf")}
_INTEGER = {name: (lambda: np.ones(1, "i8")) for name in ("origin", "compare", "result")}
SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    **{f"Comm.{form}": _WITH_TYPES for form in ("Alltoallw", "Ialltoallw", "Alltoallw_init")},
    **{
        f"Comm.{form}": {name: _FOR_EACH_RANK[name]}
        for base, name in (("catterv", "sendbuf"), ("atherv", "recvbuf"))
        for prefix in ({"catterv": ("S", "Is"), "atherv": ("G", "Ig")}[base])
        for form in (f"{prefix}{base}",)
    },
    **{f"Comm.{form}": _FOR_EACH_RANK for form in ("Alltoallv", "Ialltoallv", "Alltoallv_init")},
    **{
        f"Cartcomm.{form}": _TWO_BLOCKS
        for name in ("eighbor_alltoall", "eighbor_alltoallv")
        for form in (f"N{name}", f"In{name}", f"N{name}_init")
    },
    **{
        f"Cartcomm.{form}": {"recvbuf": lambda: np.zeros(6)}
        for name in ("eighbor_allgather", "eighbor_allgatherv")
        for form in (f"N{name}", f"In{name}", f"N{name}_init")
    },
    **{
        f"Cartcomm.{form}": _TWO_TYPED
        for form in ("Neighbor_alltoallw", "Ineighbor_alltoallw", "Neighbor_alltoallw_init")
    },
    "Cartcomm.neighbor_alltoall": {"sendobj": lambda: [1, 2]},
    "Cartcomm.Get_cart_rank": {"coords": lambda: [0]},
    "Cartcomm.Shift": {"direction": lambda: 0, "disp": lambda: 1},
    "Cartcomm.Sub": {"remain_dims": lambda: [True]},
    "Comm.Create_intercomm": {"local_leader": lambda: 0, "peer_comm": _silent, "remote_leader": lambda: 0},
    "Comm.Create_dist_graph_adjacent": {"sources": lambda: [0], "destinations": lambda: [0]},
    "Comm.Create_dist_graph": {"sources": lambda: [0], "destinations": lambda: [0]},
    "Comm.Split": {"color": lambda: 0, "key": lambda: 0},
    "Comm.Spawn": {"command": lambda: "program"},
    "Comm.Split_type": {"split_type": lambda: MPI.COMM_TYPE_SHARED, "key": lambda: 0},
    **{f"Comm.{name}": {"buf": lambda: None} for name in ("recv", "irecv")},
    "Comm.ssend": {"tag": lambda: 8},
    **{f"Comm.{name}": {"recvcounts": lambda: [3]} for name in ("Reduce_scatter", "Ireduce_scatter")},
    "Comm.Reduce_scatter_init": {"recvcounts": lambda: [3]},
    **{f"Comm.{name}": {"recvbuf": lambda: None} for name in ("sendrecv",)},
    "Group.Excl": {"ranks": lambda: [0]},
    **{f"Group.Range_{name}": {"ranks": lambda: [(0, 0, 1)]} for name in ("incl", "excl")},
    "Info.Get_nthkey": {"n": lambda: 0},
    "Info.Create_env": {"args": lambda: ["program"]},
    "Prequest.Startall": {"requests": lambda: [_comm().Send_init(np.ones(3), 0, 7)]},
    "Datatype.Create_darray": {
        "size": lambda: 1,
        "rank": lambda: 0,
        "gsizes": lambda: [4],
        "distribs": lambda: [MPI.DISTRIBUTE_BLOCK],
        "dargs": lambda: [MPI.DISTRIBUTE_DFLT_DARG],
        "psizes": lambda: [1],
    },
    "Datatype.Create_subarray": {"sizes": lambda: [4], "subsizes": lambda: [2], "starts": lambda: [1]},
    "Datatype.Match_size": {"typeclass": lambda: MPI.TYPECLASS_REAL},
    "Datatype.Pack": {"inbuf": _numbers},
    "Datatype.Unpack": {"inbuf": lambda: bytes(24), "outbuf": _numbers},
    "Datatype.fromcode": {"code": lambda: "d"},
    **{f"Datatype.{name}": {"keyval": lambda: _TYPE_KEY} for name in ("Get_attr", "Set_attr", "Delete_attr")},
    **{f"Win.{name}": {"keyval": lambda: _WIN_KEY} for name in ("Get_attr", "Set_attr", "Delete_attr")},
    **{f"{kind}.Free_keyval": {"keyval": MPI.Comm.Create_keyval} for kind in ("Comm", "Datatype", "Win")},
    "Win.Compare_and_swap": _INTEGER,
    "Win.Fetch_and_op": {name: (lambda: np.ones(1)) for name in ("origin", "result")},
    "Win.Detach": {"memory": lambda: _MEMORY},
    "File.Set_size": {"size": lambda: 80},
    "MPI.Compute_dims": {"nnodes": lambda: 4, "dims": lambda: 2},
    "MPI.Free_mem": {"mem": lambda: MPI.Alloc_mem(8)},
    "MPI.Get_address": {"location": _numbers},
    **{f"MPI.Remove_error_{name}": {f"error{name}": MPI.Add_error_class} for name in ("class", "code")},
    "MPI.Remove_error_string": {"errorcode": MPI.Add_error_class},
    "MPI.Add_error_string": {"errorcode": MPI.Add_error_class},
}
"""Arguments of single methods."""

REFUSE_ALL = ("Comm.Abort", "Comm.Create_intercomm", "Comm.Spawn")
"""What raises whatever it is given."""

WRONG: dict[str, Callable[[], Any]] = {
    "array of objects": lambda: np.array([None, 1], object),
    "array of text": lambda: np.array(["a", "b"]),
    "read-only array": lambda: np.frombuffer(bytes(24)),
    "array with gaps": lambda: np.ones(6)[::2],
    "masked array": lambda: np.ma.masked_array(np.ones(3), [True, False, False]),
    "array of other byte order": lambda: np.ones(3, ">f8"),
    "array of another type": lambda: np.ones(3, "f4"),
    "too small array": lambda: np.ones(1),
    "type not committed": lambda: [np.ones(6), 1, MPI.DOUBLE.Create_vector(2, 1, 2)],
    "rank of others": lambda: 1,
    "null communicator": lambda: MPI.COMM_NULL,
    "null type": lambda: MPI.DATATYPE_NULL,
    "null operation": lambda: MPI.OP_NULL,
    "null group": lambda: MPI.GROUP_NULL,
    "null hints": lambda: MPI.INFO_NULL,
    "null request": lambda: [MPI.REQUEST_NULL],
}
"""What an argument is exchanged for besides what any argument is."""


def _methods(kind: type, base: type | None) -> list[str]:
    return [
        name
        for name in dir(kind)
        if not name.startswith("_")
        and callable(getattr(kind, name))
        and (base is None or inspect.getattr_static(kind, name) is not inspect.getattr_static(base, name, None))
    ]


@functools.cache
def methods() -> dict[str, list[inspect.Parameter]]:
    """Give the parameters of every method of the stand-in's classes that has some, and of its functions."""
    found: dict[str, Any] = {}
    for kind in CLASSES:
        here = getattr(MPI, kind)
        base = getattr(MPI, BASES[kind]) if kind in BASES else None
        found |= {f"{kind}.{name}": getattr(here, name) for name in _methods(here, base)}
    found |= {
        f"MPI.{name}": getattr(MPI, name)
        for name in dir(type(MPI))
        if isinstance(inspect.getattr_static(type(MPI), name), staticmethod)
    }
    called = {name: list(inspect.signature(function).parameters.values()) for name, function in found.items()}
    return {name: kept for name, given in called.items() if (kept := [each for each in given if each.name != "self"])}


def row(name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Give a method, bound to what it is called on, and its arguments by name."""
    kind, _, method = name.partition(".")
    receiver = MPI if kind == "MPI" else RECEIVERS.get(name, RECEIVERS[kind])()
    function = getattr(receiver, method)
    given: dict[str, Any] = {}
    for each in methods()[name]:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        make = SPECIAL.get(name, {}).get(each.name) or ARGUMENTS.get(each.name)
        given[each.name] = make() if make is not None else each.default
    return function, given
