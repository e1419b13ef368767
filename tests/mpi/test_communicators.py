"""Communicators, groups, hints, exceptions, and the functions of the module."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mpi_under_test import MPI, REAL, fails, not_open_mpi, numbers, serial_only


def test_queries(comm):
    assert comm.Get_rank() == comm.rank == 0
    assert comm.Get_size() == comm.size == 1
    assert comm.Is_inter() is False
    assert comm.Is_intra() is True
    assert not comm.is_inter
    assert comm.is_intra
    assert not comm.is_topo
    assert comm.Get_topology() == comm.topology == MPI.UNDEFINED
    assert isinstance(comm, MPI.Comm)
    assert isinstance(comm, MPI.Intracomm)
    assert not isinstance(comm, MPI.Cartcomm)
    assert comm
    assert comm == comm
    assert comm != MPI.COMM_SELF
    assert comm != MPI.COMM_NULL
    assert MPI.Intracomm | None  # for annotations


def test_names(comm):
    assert MPI.COMM_WORLD.Get_name() == MPI.COMM_WORLD.name == "MPI_COMM_WORLD"
    assert MPI.COMM_SELF.name == "MPI_COMM_SELF"
    assert MPI.COMM_NULL.name == "MPI_COMM_NULL"
    comm.Set_name("particles")
    assert comm.Get_name() == "particles"
    comm.name = "fields"
    assert comm.name == "fields"
    assert MPI.COMM_SELF.name == "MPI_COMM_SELF"


def test_the_null_communicator():
    null = MPI.COMM_NULL
    assert not null
    assert isinstance(null, MPI.Comm)
    for call in (null.Get_rank, null.Get_size, null.Barrier, null.Free, lambda: null.bcast(1)):
        with fails("COMM"):
            call()


def test_freeing(comm):
    copy = comm.Dup()
    copy.Free()
    assert copy == MPI.COMM_NULL
    assert not copy
    with fails("COMM"):
        copy.Get_rank()
    with fails("COMM"):
        copy.Isend(numbers(1), dest=0)
    with fails("COMM"):
        copy.Free()
    for permanent in (MPI.COMM_WORLD, MPI.COMM_SELF):
        with fails("COMM"):
            permanent.Free()
        assert permanent.Get_rank() >= 0


def test_copies(comm):
    for copy in (comm.Dup(), comm.Clone(), comm.Dup(MPI.INFO_NULL)):
        assert copy.size == 1
        assert copy != comm
        assert type(copy) is type(comm)
        assert MPI.Comm.Compare(comm, copy) == MPI.CONGRUENT
        copy.Free()
    copy, request = comm.Idup()
    request.Wait()
    assert copy.size == 1
    copy.Free()
    assert MPI.Comm.Compare(comm, comm) == MPI.IDENT
    assert MPI.Comm.Compare(comm, MPI.COMM_SELF) == MPI.CONGRUENT


def test_split(comm):
    for made in (comm.Split(), comm.Split(3), comm.Split(color=0, key=-5), comm.Split_type(MPI.COMM_TYPE_SHARED)):
        assert made.size == 1
        assert made != comm
        made.Free()
    assert comm.Split(MPI.UNDEFINED) == MPI.COMM_NULL
    assert comm.Split_type(MPI.UNDEFINED) == MPI.COMM_NULL
    with fails("ARG"):
        comm.Split_type(77)


def test_create(comm):
    group = comm.Get_group()
    for made in (comm.Create(group), comm.Create_group(group), comm.Create_group(group, tag=3)):
        assert made.size == 1
        made.Free()
    assert comm.Create(MPI.GROUP_EMPTY) == MPI.COMM_NULL
    with fails("GROUP"):
        comm.Create(MPI.GROUP_NULL)


def test_attributes(comm):
    copied, gone = [], []
    key = MPI.Comm.Create_keyval(
        copy_fn=lambda comm, key, value: copied.append(value) or value * 2,
        delete_fn=lambda comm, key, value: gone.append(value),
    )
    assert comm.Get_attr(key) is None
    comm.Set_attr(key, 5)
    assert comm.Get_attr(key) == 5
    copy = comm.Dup()
    assert copied == [5]
    assert copy.Get_attr(key) == 10
    copy.Free()
    assert gone == [10]
    comm.Set_attr(key, 6)
    comm.Delete_attr(key)
    assert gone == [10, 5, 6]
    assert comm.Get_attr(key) is None
    plain = MPI.Comm.Create_keyval()
    comm.Set_attr(plain, [1])
    assert comm.Get_attr(plain) == [1]
    copy = comm.Dup()
    assert copy.Get_attr(plain) is None
    copy.Free()
    comm.Delete_attr(plain)
    assert MPI.Comm.Free_keyval(key) == MPI.KEYVAL_INVALID
    with fails("KEYVAL"):
        comm.Get_attr(MPI.KEYVAL_INVALID)


def test_attributes_that_mpi_sets():
    world = MPI.COMM_WORLD
    assert world.Get_attr(MPI.TAG_UB) >= 32767
    assert world.Get_attr(MPI.WTIME_IS_GLOBAL) in (0, 1)
    world.Get_attr(MPI.UNIVERSE_SIZE)
    with fails("KEYVAL", "OTHER"):
        world.Set_attr(MPI.TAG_UB, 3)


def test_pickles(comm):
    for each in (MPI.COMM_WORLD, MPI.COMM_SELF, MPI.COMM_NULL):
        assert pickle.loads(pickle.dumps(each)) == each
    for each in (comm, comm.group):
        with pytest.raises(ValueError):
            pickle.dumps(each)


def test_there_is_no_second_group(comm):
    with fails("RANK", "COMM", "ARG"):
        comm.Create_intercomm(0, comm, 1)
    assert MPI.Comm.Get_parent() == MPI.COMM_NULL


def test_error_handlers(comm):
    assert comm.Get_errhandler() == MPI.ERRORS_RETURN
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    seen = []
    handler = MPI.Comm.Create_errhandler(lambda comm, code: seen.append(code))
    comm.Set_errhandler(handler)
    comm.Call_errhandler(MPI.ERR_TAG)
    assert seen == [MPI.ERR_TAG]
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    handler.Free()
    assert handler == MPI.ERRHANDLER_NULL


@serial_only
def test_abort(comm, capsys):
    with pytest.raises(SystemExit) as caught:
        comm.Abort(3)
    assert caught.value.code == 3
    assert "comm.Abort(3): the program ends" in capsys.readouterr().err


@serial_only
def test_other_processes_can_not_be_started(comm):
    with fails("SPAWN"):
        comm.Spawn("program")


# --- groups


def test_groups(comm):
    group = comm.Get_group()
    empty = MPI.GROUP_EMPTY
    assert (group.Get_size(), group.Get_rank(), group.size, group.rank) == (1, 0, 1, 0)
    assert (empty.size, empty.rank) == (0, MPI.UNDEFINED)
    assert comm.group.size == 1
    assert group.Incl([0]).size == 1
    assert group.Incl([]).size == 0
    assert group.Excl([0]).size == 0
    assert group.Excl([]).size == 1
    assert group.Range_incl([(0, 0, 1)]).size == 1
    assert group.Range_excl([(0, 0, 1)]).size == 0
    assert MPI.Group.Union(group, empty).size == 1
    assert MPI.Group.Intersection(group, empty).size == 0
    assert MPI.Group.Intersection(group, group).size == 1
    assert MPI.Group.Difference(group, group).size == 0
    assert MPI.Group.Difference(group, empty).size == 1
    assert MPI.Group.Compare(group, group.Dup()) == MPI.IDENT
    assert MPI.Group.Compare(group, empty) == MPI.UNEQUAL
    assert MPI.Group.Translate_ranks(group, [0, 0], group) == [0, 0]
    assert group.Translate_ranks([0], MPI.COMM_SELF.group) == [0]
    assert group.Translate_ranks([0], empty) == [MPI.UNDEFINED]
    copy = group.Dup()
    copy.Free()
    assert copy == MPI.GROUP_NULL
    assert not copy
    with fails("RANK"):
        group.Incl([1])
    with fails("GROUP"):
        MPI.GROUP_NULL.Get_size()


# --- hints


def test_hints(comm):
    info = MPI.Info.Create()
    info.Set("a", "1")
    info["b"] = "2"
    assert info.Get("a") == info["a"] == "1"
    assert info.Get("z") is None
    assert info.get("z", "none") == "none"
    assert info.Get_nkeys() == len(info) == 2
    assert sorted(info) == sorted(info.keys()) == ["a", "b"]
    assert info.Get_nthkey(0) in ("a", "b")
    assert sorted(info.values()) == ["1", "2"]
    assert dict(info.items()) == {"a": "1", "b": "2"}
    assert "a" in info
    copy = info.Dup()
    del info["a"]
    assert "a" not in info
    assert "a" in copy
    copy.update({"c": "3"}, d="4")
    assert copy["c"] + copy["d"] == "34"
    with pytest.raises(KeyError):
        info["nothing"]
    with fails("INFO_NOKEY"):
        info.Delete("nothing")
    with fails("INFO_KEY"):
        info.Set("a" * 300, "x")
    info.Free()
    assert info == MPI.INFO_NULL
    assert not info
    assert not len(MPI.INFO_NULL)
    other = comm.Dup(copy)
    other.Set_info(copy)
    other.Get_info().Free()
    other.Free()
    copy.Free()


# --- exceptions


def test_exceptions():
    error = MPI.Exception(MPI.ERR_RANK)
    assert error == MPI.ERR_RANK
    assert error == MPI.Exception(MPI.ERR_RANK)
    assert error != MPI.ERR_TAG
    assert int(error) == error.Get_error_code() == error.error_code == MPI.ERR_RANK
    assert error.Get_error_class() == error.error_class == MPI.ERR_RANK
    assert "rank" in error.Get_error_string().lower()
    assert str(error) == error.error_string
    assert isinstance(error, RuntimeError)
    assert not MPI.Exception(MPI.SUCCESS)
    assert MPI.Get_error_class(MPI.ERR_TAG) == MPI.ERR_TAG
    assert "tag" in MPI.Get_error_string(MPI.ERR_TAG).lower()


def test_error_classes_of_the_program():
    made = MPI.Add_error_class()
    code = MPI.Add_error_code(made)
    MPI.Add_error_string(code, "the field is too strong")
    error = MPI.Exception(code)
    assert error.Get_error_class() == made
    assert error.Get_error_string() == "the field is too strong"


@not_open_mpi
def test_error_classes_that_are_taken_back():
    made = MPI.Add_error_class()
    code = MPI.Add_error_code(made)
    MPI.Add_error_string(code, "gone")
    MPI.Remove_error_string(code)
    assert MPI.Get_error_string(code) != "gone"
    MPI.Remove_error_code(code)
    MPI.Remove_error_class(made)
    with pytest.raises(MPI.Exception):
        MPI.Remove_error_class(made)


# --- the module


def test_memory():
    array = np.arange(3.0)
    memory = MPI.memory.frombuffer(array)
    assert (len(memory), memory.nbytes, memory.readonly) == (24, 24, False)
    memory[8:16] = np.full(1, 5.0).tobytes()
    assert array.tolist() == [0, 5, 2]
    assert memory.tobytes() == array.tobytes() == MPI.buffer(array).tobytes()
    assert MPI.memory.frombuffer(array, readonly=True).readonly
    assert memory.toreadonly().readonly
    there = MPI.memory.fromaddress(array.ctypes.data, 16)
    assert np.frombuffer(there).tolist() == [0, 5]
    assert MPI.memory.fromaddress(array.ctypes.data, 16, readonly=True).readonly
    made = MPI.memory.allocate(8, clear=True)
    assert np.frombuffer(made).tolist() == [0]
    MPI.COMM_SELF.Sendrecv(there, 0, 0, MPI.memory.allocate(16), 0, 0)


def test_names_that_are_missing():
    with pytest.raises(AttributeError, match="no_such_name"):
        MPI.no_such_name  # noqa: B018
    if not REAL:
        with pytest.raises(AttributeError, match=r"'Open_port': the stand-in .* lacks it.*get_mpi\(True\)"):
            MPI.Open_port()
    assert not hasattr(MPI, "nonsense")


def test_the_module():
    assert MPI.Wtime() <= MPI.Wtime()
    assert 0 < MPI.Wtick() < 1
    assert MPI.Get_version() >= (3, 0)
    assert isinstance(MPI.Get_processor_name(), str)
    assert isinstance(MPI.Get_library_version(), str)
    assert MPI.THREAD_SINGLE <= MPI.Query_thread() <= MPI.THREAD_MULTIPLE
    assert MPI.Is_thread_main()
    assert MPI.Is_initialized() is REAL
    assert MPI.Is_finalized() is False
    assert not MPI.Is_finalized()
    assert len(MPI.Alloc_mem(10)) == 10
    with fails("ARG"):
        MPI.Alloc_mem(-1)
    a = numbers(3)
    assert MPI.Get_address(a) == a.ctypes.data
    assert MPI.Aint_diff(MPI.Aint_add(100, 20), 100) == 20
    MPI.Pcontrol(0)
    with pytest.raises(AttributeError):
        getattr(MPI, "No_such_name")  # noqa: B009


@pytest.mark.parametrize(
    ("nodes", "dims", "expected"),
    [
        (1, 2, [1, 1]),
        (1, [0, 1], [1, 1]),
        (12, [0, 0], [4, 3]),
        (12, [0, 3], [4, 3]),
        (24, 3, [4, 3, 2]),
        (7, 2, [7, 1]),
        (1024, 3, [16, 8, 8]),
        (60, 3, [5, 4, 3]),
        (8, [2, 2, 2], [2, 2, 2]),
        (6, 1, [6]),
    ],
)
def test_compute_dims(nodes, dims, expected):
    assert MPI.Compute_dims(nodes, dims) == expected


def test_dims_that_do_not_fit():
    for nodes, dims in (
        ((12, [0, 5]), (12, [-1, 5])) if REAL else ((12, [0, 5]), (12, [-1, 5]), (0, 2), (1, [0] * 2000))
    ):
        with fails("DIMS"):
            MPI.Compute_dims(nodes, dims)


NAMES = """
COMM_WORLD COMM_SELF COMM_NULL DATATYPE_NULL REQUEST_NULL OP_NULL GROUP_NULL INFO_NULL FILE_NULL GROUP_EMPTY INFO_ENV
IN_PLACE BOTTOM Comm Intracomm Cartcomm Group Request Prequest Status Datatype Op File PROC_NULL ANY_SOURCE ANY_TAG ROOT
UNDEFINED SUCCESS IDENT CONGRUENT SIMILAR UNEQUAL CART GRAPH DIST_GRAPH COMM_TYPE_SHARED THREAD_SINGLE THREAD_FUNNELED
THREAD_SERIALIZED THREAD_MULTIPLE ORDER_C ORDER_F ORDER_FORTRAN MODE_CREATE MODE_RDONLY MODE_WRONLY MODE_RDWR
MODE_DELETE_ON_CLOSE MODE_UNIQUE_OPEN MODE_EXCL MODE_APPEND MODE_SEQUENTIAL SEEK_SET SEEK_CUR SEEK_END SUM PROD MAX MIN
LAND LOR LXOR BAND BOR BXOR MAXLOC MINLOC REPLACE BYTE CHAR BOOL C_BOOL INT LONG LONG_LONG UNSIGNED UNSIGNED_LONG INT8_T
INT64_T UINT8_T UINT64_T FLOAT DOUBLE LONG_DOUBLE C_FLOAT_COMPLEX C_DOUBLE_COMPLEX COMPLEX DOUBLE_COMPLEX Win Info
Exception Message Errhandler Graphcomm Distgraphcomm Topocomm Intercomm
"""


def test_names_of_the_contract():
    for name in NAMES.split():
        assert hasattr(MPI, name), name
    assert len({MPI.PROC_NULL, MPI.ANY_SOURCE, MPI.ROOT, MPI.UNDEFINED, 0, 1}) == 6


@serial_only
def test_null_objects_are_false():
    for name in dir(MPI):
        if name.endswith("_NULL") and name not in ("PROC_NULL",):
            assert not getattr(MPI, name), name
    assert np.all([bool(getattr(MPI, name)) for name in ("COMM_WORLD", "GROUP_EMPTY", "INFO_ENV", "SUM", "DOUBLE")])
