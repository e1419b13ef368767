"""Reductions: the operations, and the types that they are for."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mpi_under_test import MPI, fails, serial_only

NUMBERS = {"SUM", "PROD"}
ORDER = {"MAX", "MIN"}
LOGIC = {"LAND", "LOR", "LXOR"}
BITS = {"BAND", "BOR", "BXOR"}
ALLOWED = {
    "?": LOGIC,
    "b": NUMBERS | ORDER | LOGIC | BITS,
    "u1": NUMBERS | ORDER | LOGIC | BITS,
    "i": NUMBERS | ORDER | LOGIC | BITS,
    "L": NUMBERS | ORDER | LOGIC | BITS,
    "f4": NUMBERS | ORDER,
    "f8": NUMBERS | ORDER,
    "c16": NUMBERS,
}
NUMPY = {
    "MAX": np.maximum, "MIN": np.minimum, "SUM": np.add, "PROD": np.multiply,
    "LAND": np.logical_and, "LOR": np.logical_or, "LXOR": np.logical_xor,
    "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ALLOWED)
@pytest.mark.parametrize("name", NUMPY)
def test_which_operation_is_for_which_type(comm, name, dtype):
    op = getattr(MPI, name)
    first, second = np.array([0, 1, 3, 5]).astype(dtype), np.array([1, 1, 6, 0]).astype(dtype)
    if name in ALLOWED[dtype]:
        received = np.zeros(4, dtype)
        comm.Allreduce(first, received, op=op)
        np.testing.assert_array_equal(received, first)
        expected = NUMPY[name](first, second).astype(dtype)
        op.Reduce_local(first, second)
        np.testing.assert_array_equal(second, expected)
    else:
        for call in (comm.Allreduce, comm.Reduce, comm.Scan):
            with fails("OP"):
                call(first, second, op=op)


def test_on_objects():
    assert MPI.SUM(2, 3) == 5
    assert MPI.SUM("a", "b") == "ab"
    assert MPI.PROD(3, 4) == 12
    assert MPI.MAX(2, 3) == 3
    assert MPI.MIN("a", "b") == "a"
    assert MPI.LAND(2, 3) is True
    assert MPI.LOR(0, 0) is False
    assert MPI.LXOR(1, 1) is False
    assert MPI.BAND(6, 3) == 2
    assert MPI.BOR(4, 1) == 5
    assert MPI.BXOR(5, 1) == 4
    assert MPI.MINLOC((2, 1), (2, 0)) == (2, 0)
    assert MPI.MINLOC((1, 7), (2, 0)) == (1, 7)
    assert MPI.MAXLOC((2, 1), (3, 0)) == (3, 0)
    assert MPI.MAXLOC((3, 4), (3, 2)) == (3, 2)
    assert MPI.REPLACE(1, 2) == 2
    assert MPI.NO_OP(1, 2) == 1


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("DOUBLE_INT", "f8"), ("FLOAT_INT", "f4"), ("LONG_INT", "l"), ("SHORT_INT", "h"), ("TWOINT", "i")],
)
def test_places_of_extremes(comm, name, dtype):
    pair = np.dtype([("value", dtype), ("index", "i")], align=True)
    datatype = getattr(MPI, name)
    assert datatype.extent == pair.itemsize
    first = np.array([(1, 5), (2, 3), (7, 1)], pair)
    second = np.array([(2, 4), (2, 1), (7, 9)], pair)
    received = np.zeros(3, pair)
    comm.Allreduce([first, 3, datatype], [received, 3, datatype], op=MPI.MINLOC)
    assert received.tolist() == first.tolist()
    result = second.copy()
    MPI.MINLOC.Reduce_local([first, 3, datatype], [result, 3, datatype])
    assert result.tolist() == [(1, 5), (2, 1), (7, 1)]
    result = second.copy()
    MPI.MAXLOC.Reduce_local([first, 3, datatype], [result, 3, datatype])
    assert result.tolist() == [(2, 4), (2, 1), (7, 1)]
    with fails("OP"):
        comm.Allreduce([first, 3, datatype], [received, 3, datatype], op=MPI.SUM)
    with fails("OP"):
        comm.Allreduce(np.zeros(2), np.zeros(2), op=MPI.MINLOC)


def test_operations_for_windows_are_for_windows(comm):
    for op in (MPI.REPLACE, MPI.NO_OP, MPI.OP_NULL):
        with fails("OP"):
            comm.Allreduce(np.zeros(2), np.zeros(2), op=op)


@pytest.mark.parametrize("op", [None, sum, 3, "SUM"])
def test_what_is_no_operation(comm, op):
    with pytest.raises(TypeError):
        comm.Allreduce(np.zeros(2), np.ones(2), op=op)


def test_derived_types_need_an_operation_of_the_program(comm):
    pairs = MPI.DOUBLE.Create_contiguous(2).Commit()
    with fails("OP", "TYPE"):
        comm.Allreduce([np.zeros(4), 2, pairs], [np.zeros(4), 2, pairs], op=MPI.SUM)
    seen = []

    def function(first, second, datatype):
        x, y = np.frombuffer(first), np.frombuffer(second)
        seen.append((len(x), datatype.Get_size()))
        y[:] = x * y

    op = MPI.Op.Create(function, commute=True)
    received = np.zeros(4)
    comm.Allreduce([np.arange(4.0), 2, pairs], [received, 2, pairs], op=op)
    np.testing.assert_array_equal(received, np.arange(4.0))
    assert seen == []  # there is nothing to combine
    result = np.full(4, 10.0)
    op.Reduce_local([np.arange(4.0), 2, pairs], [result, 2, pairs])
    np.testing.assert_array_equal(result, [0, 10, 20, 30])
    assert seen == [(4, 16)]
    op.Free()
    pairs.Free()


def test_properties():
    assert MPI.SUM
    assert not MPI.OP_NULL
    assert MPI.Op(MPI.SUM) == MPI.SUM
    assert MPI.SUM != MPI.PROD
    assert MPI.Op() == MPI.OP_NULL
    assert MPI.SUM.Is_commutative()
    assert MPI.SUM.is_commutative
    assert MPI.SUM.is_predefined
    assert pickle.loads(pickle.dumps(MPI.MINLOC)) == MPI.MINLOC
    assert not pickle.loads(pickle.dumps(MPI.Op.Create(print))).is_predefined
    made = MPI.Op.Create(lambda x, y, t: None)
    assert not made.Is_commutative()
    assert not made.is_predefined
    assert made != MPI.SUM
    made.Free()
    assert made == MPI.OP_NULL
    with fails("OP"):
        MPI.SUM.Free()
    with pytest.raises(ValueError):
        MPI.OP_NULL(1, 2)


def test_both_sides_of_a_local_reduction():
    with pytest.raises(ValueError):
        MPI.SUM.Reduce_local(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError):
        MPI.SUM.Reduce_local(np.zeros(3), np.zeros(3, "f4"))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(BufferError):
        MPI.SUM.Reduce_local(np.zeros(3), frozen)


@serial_only  # Open MPI adds bytes and characters
def test_bytes_have_bits_only(comm):
    for datatype in (MPI.BYTE, MPI.CHAR):
        with fails("OP"):
            comm.Allreduce([b"abc", datatype], [bytearray(3), datatype], op=MPI.SUM)
    comm.Allreduce([b"abc", MPI.BYTE], [result := bytearray(3), MPI.BYTE], op=MPI.BOR)
    assert result == b"abc"
