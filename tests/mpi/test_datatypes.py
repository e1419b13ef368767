"""Predefined and derived datatypes, against NumPy's indexing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpi_under_test import MPI, fails, not_mpich, numbers, serial_only

SELF = MPI.COMM_SELF
BLOCK = MPI.DISTRIBUTE_BLOCK


def packed(memory, datatype, count=1):
    """Return the bytes that `count` items of a datatype are, by sending them."""
    datatype.Commit()
    size = datatype.Get_size() * count
    result = np.zeros(size, "u1")
    SELF.Sendrecv([memory, count, datatype], 0, 0, [result, MPI.BYTE], 0, 0)
    return result


def unpacked(content, memory, datatype, count=1):
    datatype.Commit()
    SELF.Sendrecv([content, content.nbytes, MPI.BYTE], 0, 0, [memory, count, datatype], 0, 0)


def layout(datatype):
    return datatype.Get_size(), *datatype.Get_extent(), *datatype.Get_true_extent()


PREDEFINED = {
    "BYTE": 1, "CHAR": 1, "SIGNED_CHAR": 1, "UNSIGNED_CHAR": 1, "SHORT": 2, "UNSIGNED_SHORT": 2, "INT": 4,
    "UNSIGNED": 4, "LONG": np.dtype("l").itemsize, "UNSIGNED_LONG": np.dtype("l").itemsize, "LONG_LONG": 8,
    "UNSIGNED_LONG_LONG": 8, "FLOAT": 4, "DOUBLE": 8, "LONG_DOUBLE": np.dtype("g").itemsize, "C_BOOL": 1, "BOOL": 1,
    "INT8_T": 1, "INT16_T": 2, "INT32_T": 4, "INT64_T": 8, "UINT8_T": 1, "UINT16_T": 2, "UINT32_T": 4, "UINT64_T": 8,
    "C_FLOAT_COMPLEX": 8, "C_DOUBLE_COMPLEX": 16, "C_COMPLEX": 8, "AINT": 8, "OFFSET": 8, "COUNT": 8,
    "UNSIGNED_INT": 4, "SIGNED_INT": 4, "SINT64_T": 8,
}  # fmt: skip


@pytest.mark.parametrize("name", PREDEFINED)
def test_predefined(name):
    datatype = getattr(MPI, name)
    assert layout(datatype) == (PREDEFINED[name], 0, PREDEFINED[name], 0, PREDEFINED[name])
    assert (datatype.size, datatype.lb, datatype.extent, datatype.ub) == (PREDEFINED[name], 0, *[PREDEFINED[name]] * 2)
    assert datatype
    assert datatype.is_named
    assert datatype.is_predefined
    assert datatype.Get_envelope()[-1] == datatype.combiner == MPI.COMBINER_NAMED
    assert pickle.loads(pickle.dumps(datatype)) == datatype
    with fails("TYPE"):
        datatype.Free()


@pytest.mark.parametrize(
    ("name", "size", "extent"),
    [("DOUBLE_INT", 12, 16), ("FLOAT_INT", 8, 8), ("SHORT_INT", 6, 8), ("LONG_INT", 12, 16), ("TWOINT", 8, 8)],
)
def test_pairs(name, size, extent):
    assert (getattr(MPI, name).size, getattr(MPI, name).extent) == (size, extent)


def test_names():
    assert MPI.DOUBLE.Get_name() == MPI.DOUBLE.name == "MPI_DOUBLE"
    assert MPI.DATATYPE_NULL.Get_name() == "MPI_DATATYPE_NULL"
    made = MPI.DOUBLE.Create_contiguous(2)
    assert made.name == ""
    made.name = "pair"
    assert made.Get_name() == "pair"
    made.Free()


def test_codes():
    assert MPI.Datatype.fromcode("d") == MPI.DOUBLE
    assert MPI.Datatype.fromcode("i4") == MPI.INT32_T
    assert MPI.DOUBLE.tocode() == "d"
    assert MPI.DOUBLE.typechar == "d"
    assert MPI.DOUBLE.typestr == "f8"
    assert MPI._typedict["d"] == MPI.DOUBLE
    assert MPI._typedict["?"] == MPI.C_BOOL
    for name in "bhilqBHILQfdg?FD":
        assert MPI._typedict[name].Get_size() == np.dtype(name).itemsize


def test_the_null_type():
    null = MPI.DATATYPE_NULL
    assert not null
    assert null == MPI.Datatype()
    assert null != MPI.DOUBLE
    for call in (null.Commit, null.Free, null.Dup, null.Get_size, null.Get_extent, lambda: null.Create_contiguous(2)):
        with fails("TYPE"):
            call()


def test_freeing():
    made = MPI.DOUBLE.Create_contiguous(2).Commit()
    other = made.Create_contiguous(2)
    made.Free()
    assert made == MPI.DATATYPE_NULL
    assert not made
    assert other.Get_size() == 32
    with fails("TYPE"):
        made.Free()
    other.free()
    other.free()
    assert other == MPI.DATATYPE_NULL


def test_types_have_to_be_committed():
    made = MPI.DOUBLE.Create_contiguous(2)
    with fails("TYPE"):
        SELF.Isend([numbers(2), 1, made], dest=0)
    made.Commit()
    assert packed(numbers(2), made).view("f8").tolist() == [1, 2]
    made.Free()


# --- derived types: layout and content


def cases():
    a = numbers(48)
    double, integer = MPI.DOUBLE, MPI.INT
    matrix = a.reshape(6, 8)
    cube = a.reshape(2, 4, 6)
    fortran = a.reshape(6, 8, order="F")
    return {
        "contiguous": (double.Create_contiguous(5), a[:5], (40, 0, 40, 0, 40)),
        "contiguous 0": (double.Create_contiguous(0), a[:0], None),
        "vector": (double.Create_vector(3, 2, 4), a[:12].reshape(3, 4)[:, :2], (48, 0, 80, 0, 80)),
        "vector of one block": (double.Create_vector(1, 3, 100), a[:3], (24, 0, 24, 0, 24)),
        "column": (double.Create_vector(6, 1, 8), matrix[:, 0], (48, 0, 328, 0, 328)),
        "hvector": (double.Create_hvector(3, 1, 16), a[:6:2], (24, 0, 40, 0, 40)),
        "indexed": (double.Create_indexed([2, 0, 1], [4, 9, 1]), a[[4, 5, 1]], (24, 8, 40, 8, 40)),
        "hindexed": (double.Create_hindexed([1, 2], [24, 8]), a[[3, 1, 2]], (24, 8, 24, 8, 24)),
        "indexed block": (double.Create_indexed_block(2, [6, 0]), a[[6, 7, 0, 1]], (32, 0, 64, 0, 64)),
        "hindexed block": (double.Create_hindexed_block(1, [16, 40]), a[[2, 5]], (16, 16, 32, 16, 32)),
        "subarray": (double.Create_subarray([6, 8], [2, 3], [1, 4]), matrix[1:3, 4:7], (48, 0, 384, 96, 88)),
        "subarray 3-D": (double.Create_subarray([2, 4, 6], [2, 2, 3], [0, 1, 2]), cube[:, 1:3, 2:5], None),
        "subarray F": (
            double.Create_subarray([6, 8], [2, 3], [1, 4], order=MPI.ORDER_F),
            fortran[1:3, 4:7].T,
            (48, 0, 384, 200, 112),
        ),
        "subarray 1-D": (double.Create_subarray([10], [4], [3]), a[3:7], (32, 0, 80, 24, 32)),
        "resized": (double.Create_resized(0, 24), a[:1], (8, 0, 24, 0, 8)),
        "resized lb": (double.Create_resized(-8, 24), a[:1], (8, -8, 24, 0, 8)),
        "dup": (double.Create_vector(2, 1, 2).Dup(), a[[0, 2]], (16, 0, 24, 0, 24)),
        "nested": (
            double.Create_vector(2, 1, 3).Create_contiguous(2),
            a[[0, 3, 4, 7]],
            (32, 0, 64, 0, 64),
        ),
        "vector of vectors": (
            double.Create_vector(2, 1, 2).Create_resized(0, 64).Create_vector(2, 1, 2),
            a[[0, 2, 16, 18]],
            None,
        ),
        "darray": (
            double.Create_darray(2, 1, [6, 8], [BLOCK, MPI.DISTRIBUTE_NONE], [MPI.DISTRIBUTE_DFLT_DARG] * 2, [2, 1]),
            matrix[3:],
            None,
        ),
        "darray cyclic": (
            double.Create_darray(2, 0, [48], [MPI.DISTRIBUTE_CYCLIC], [5], [2]),
            a[(np.arange(48) // 5) % 2 == 0],
            None,
        ),
        "struct": (
            MPI.Datatype.Create_struct([1, 2], [8, 32], [double, double]),
            a[[1, 4, 5]],
            (24, 8, 40, 8, 40),
        ),
        "of int": (integer.Create_vector(4, 1, 2), a.view("i4")[:8:2], (16, 0, 28, 0, 28)),
    }  # fmt: skip


CASES = sorted(cases())


@pytest.mark.parametrize("name", CASES)
def test_layout_and_content(name):
    datatype, expected, bounds = cases()[name]
    memory = numbers(48)
    if bounds is not None:
        assert layout(datatype) == bounds
    assert datatype.Get_size() == expected.nbytes
    content = packed(memory, datatype)
    assert content.tobytes() == expected.tobytes()
    # Back into other memory: only those bytes are written.
    target = np.full(48, -1.0)
    unpacked(content, target, datatype)
    written = target != -1
    if expected.dtype == np.float64:
        np.testing.assert_array_equal(np.sort(target[written]), np.sort(np.ravel(expected)))
        np.testing.assert_array_equal(target[written], memory[written])
    datatype.Free()


@pytest.mark.parametrize("name", CASES)
def test_contents_make_the_type_again(name):
    datatype, _, _ = cases()[name]
    base, combiner, arguments = datatype.decode()
    if combiner == "STRUCT":
        again = MPI.Datatype.Create_struct(**arguments)
    elif combiner == "DUP":
        again = base.Dup()
    else:
        again = getattr(base, f"Create_{combiner.lower()}")(**arguments)
    assert layout(again) == layout(datatype)
    assert datatype.combiner == getattr(MPI, f"COMBINER_{combiner}")
    assert not datatype.is_named
    integers, addresses, counts, types = datatype.Get_contents()
    assert datatype.Get_envelope()[:-1] == (len(integers), len(addresses), len(counts), len(types))
    copy = pickle.loads(pickle.dumps(datatype))
    assert layout(copy) == layout(datatype)


@pytest.mark.parametrize(
    ("datatype", "contents"),
    [
        (lambda d: d.Create_contiguous(3), ([3], [])),
        (lambda d: d.Create_vector(3, 2, 4), ([3, 2, 4], [])),
        (lambda d: d.Create_hvector(3, 2, 40), ([3, 2], [40])),
        (lambda d: d.Create_indexed([1, 2], [3, 4]), ([2, 1, 2, 3, 4], [])),
        (lambda d: d.Create_hindexed([1, 2], [24, 32]), ([2, 1, 2], [24, 32])),
        (lambda d: d.Create_indexed_block(2, [3, 6]), ([2, 2, 3, 6], [])),
        (lambda d: d.Create_subarray([4, 5], [2, 2], [1, 1]), ([2, 4, 5, 2, 2, 1, 1, MPI.ORDER_C], [])),
        (lambda d: d.Create_resized(0, 16), ([], [0, 16])),
        (lambda d: MPI.Datatype.Create_struct([1, 2], [0, 8], [d, d]), ([2, 1, 2], [0, 8])),
    ],
)  # fmt: skip
def test_contents(datatype, contents):
    integers, addresses, counts, types = datatype(MPI.DOUBLE).Get_contents()
    # Real MPI may count in "large counts", where mpi4py asked for those.
    assert sorted([*integers, *addresses, *counts]) == sorted([*contents[0], *contents[1]])
    assert all(each == MPI.DOUBLE for each in types)


def test_structs_of_c():
    """The extent is that of the C struct; records of NumPy arrive whole."""
    record = np.dtype([("id", "i4"), ("x", "f8"), ("flag", "i1")], align=True)
    fields = [record.fields[name] for name in record.names]
    made = MPI.Datatype.Create_struct(
        [1, 1, 1], [offset for _, offset in fields], [MPI.INT, MPI.DOUBLE, MPI.SIGNED_CHAR]
    )
    assert made.Get_extent() == (0, record.itemsize)
    assert made.Get_size() == 13
    made.Commit()
    sent = np.zeros(5, record)
    sent["id"], sent["x"], sent["flag"] = np.arange(5), np.linspace(0, 1, 5), 7
    received = np.zeros(5, record)
    SELF.Sendrecv([sent, 5, made], 0, 0, [received, 5, made], 0, 0)
    np.testing.assert_array_equal(received, sent)
    SELF.Sendrecv([sent, made], 0, 0, [received, made], 0, 0)
    x_only = MPI.DOUBLE.Create_resized(0, record.itemsize).Commit()
    values = np.zeros(5)
    memory = sent.view("u1")[record.fields["x"][1] :]
    SELF.Sendrecv([memory, 5, x_only], 0, 0, values, 0, 0)
    np.testing.assert_array_equal(values, sent["x"])
    made.Free()


@serial_only  # MPI libraries disagree
def test_a_resized_struct_keeps_its_extent():
    inner = MPI.INT.Create_resized(0, 5)
    assert MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.DOUBLE, inner]).Get_extent() == (0, 13)


def test_many_items_and_counts_that_are_inferred():
    every_other = MPI.DOUBLE.Create_resized(0, 16).Commit()
    np.testing.assert_array_equal(packed(numbers(2000), every_other, 1000).view("f8"), numbers(2000)[::2])
    result = np.zeros(10)
    SELF.Sendrecv([numbers(20), every_other], 0, 0, result, 0, 0)
    np.testing.assert_array_equal(result, numbers(20)[::2])
    every_other.Free()


def test_transposing_while_sending():
    a = numbers(12).reshape(3, 4)
    column = MPI.DOUBLE.Create_vector(3, 1, 4).Create_resized(0, 8).Commit()
    received = np.zeros((4, 3))
    SELF.Sendrecv([a, 4, column], 0, 0, received, 0, 0)
    np.testing.assert_array_equal(received, a.T)
    SELF.Sendrecv(np.ascontiguousarray(a.T), 0, 0, [received := np.zeros((3, 4)), 4, column], 0, 0)
    np.testing.assert_array_equal(received, a)


def test_a_part_of_an_item_is_received():
    block = MPI.DOUBLE.Create_vector(3, 2, 4).Commit()
    target = np.full(12, -1.0)
    status = MPI.Status()
    SELF.Sendrecv(numbers(3), 0, 0, [target, 1, block], 0, 0, status)
    np.testing.assert_array_equal(target[:8], [1, 2, -1, -1, 3, -1, -1, -1])
    assert status.Get_count(block) == MPI.UNDEFINED
    assert status.Get_elements(block) == 3


@st.composite
def subarrays(draw):
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    starts = [draw(st.integers(0, n - 1)) for n in sizes]
    subsizes = [draw(st.integers(1, n - start)) for n, start in zip(sizes, starts, strict=True)]
    return sizes, subsizes, starts, draw(st.sampled_from("CF")), draw(st.sampled_from(["i1", "i4", "f8", "c16"]))


@given(subarrays())
@settings(max_examples=40)
def test_subarrays_are_slices(case):
    sizes, subsizes, starts, order, dtype = case
    whole = np.arange(np.prod(sizes)).astype(dtype).reshape(sizes, order=order)
    where = tuple(slice(start, start + size) for start, size in zip(starts, subsizes, strict=True))
    datatype = MPI.Datatype.fromcode(dtype).Create_subarray(sizes, subsizes, starts, getattr(MPI, f"ORDER_{order}"))
    assert packed(whole, datatype).tobytes() == whole[where].tobytes(order=order)
    target = np.zeros_like(whole, order=order)
    unpacked(packed(whole, datatype), target, datatype)
    expected = np.zeros_like(whole)
    expected[where] = whole[where]
    np.testing.assert_array_equal(target, expected)
    datatype.Free()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=8),
    st.integers(1, 3),
    st.sampled_from(["i1", "i2", "f8"]),
)
@settings(max_examples=40)
def test_indexed_types_are_indices(blocks, count, dtype):
    lengths, displacements = [n for n, _ in blocks], [at for _, at in blocks]
    datatype = MPI.Datatype.fromcode(dtype).Create_indexed(lengths, displacements)
    extent = datatype.Get_extent()[1] // np.dtype(dtype).itemsize
    index = [at + k for n, at in blocks for k in range(n)]
    memory = np.arange(200).astype(dtype)
    expected = [memory[i + item * extent] for item in range(count) for i in index]
    assert packed(memory, datatype, count).view(dtype).tolist() == expected
    if index:
        assert datatype.Get_true_extent()[0] == min(index) * np.dtype(dtype).itemsize
    datatype.Free()


# --- packing


def test_pack_and_unpack():
    buffer = bytearray(64)
    assert MPI.DOUBLE.Pack_size(3, SELF) >= 24
    position = MPI.INT.Pack(np.array([7], "i4"), buffer, 0, SELF)
    assert position == 4
    position = MPI.DOUBLE.Pack(numbers(2), buffer, position, SELF)
    assert position == 20
    first, rest = np.zeros(1, "i4"), np.zeros(2)
    position = MPI.INT.Unpack(buffer, 0, first, SELF)
    assert position == 4
    assert MPI.DOUBLE.Unpack(buffer, position, rest, SELF) == 20
    assert first[0] == 7
    np.testing.assert_array_equal(rest, [1, 2])


@not_mpich
def test_pack_needs_room():
    with fails("TRUNCATE"):
        MPI.DOUBLE.Pack(numbers(3), bytearray(10), 0, SELF)


# --- attributes


def test_attributes():
    gone = []
    key = MPI.Datatype.Create_keyval(lambda t, k, v: v + 1, lambda t, k, v: gone.append(v))
    made = MPI.DOUBLE.Create_contiguous(2)
    assert made.Get_attr(key) is None
    made.Set_attr(key, 5)
    assert made.Get_attr(key) == 5
    copy = made.Dup()
    assert copy.Get_attr(key) == 6
    copy.Delete_attr(key)
    assert copy.Get_attr(key) is None
    assert gone == [6]
    copy.Free()
    made.Free()
    assert gone == [6, 5]
    MPI.Datatype.Free_keyval(key)


# --- errors


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.Create_subarray([4], [5], [0]),
        lambda d: d.Create_subarray([4], [2], [3]),
        lambda d: d.Create_subarray([4], [0], [0]),
        lambda d: d.Create_subarray([4], [2], [-1]),
        lambda d: d.Create_subarray([0], [1], [0]),
    ],
)
@not_mpich
def test_subarrays_are_inside_of_the_array(make):
    with fails("ARG"):
        make(MPI.DOUBLE)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.Create_contiguous(-1),
        lambda d: d.Create_vector(-1, 1, 1),
        lambda d: d.Create_vector(1, -1, 1),
        lambda d: d.Create_indexed([-1], [0]),
        lambda d: d.Create_indexed_block(-1, [0]),
        lambda d: MPI.Datatype.Create_struct([-1], [0], [d]),
        lambda d: d.Create_subarray([4], [2], [0], order=77),
    ],
)
def test_faulty_arguments(make):
    with fails("ARG", "COUNT"):
        make(MPI.DOUBLE)


@pytest.mark.parametrize(
    ("make", "exception"),
    [
        (lambda d: d.Create_indexed([1, 2], [0]), ValueError),
        (lambda d: d.Create_subarray([4, 4], [2], [0]), ValueError),
        (lambda d: MPI.Datatype.Create_struct([1], [0, 8], [d]), ValueError),
        (lambda d: d.Create_indexed([1.5], [0]), TypeError),
    ],
)
def test_arguments_of_the_wrong_kind(make, exception):
    with pytest.raises(exception):
        make(MPI.DOUBLE)


@serial_only
def test_signatures_are_compared():
    """Runs of elements have to agree, however they are laid out."""
    pair = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.DOUBLE, MPI.INT]).Commit()
    records = np.zeros(4, "f8,i4,V4")
    with fails("TYPE"):
        SELF.Sendrecv([records, 4, pair], 0, 0, np.zeros(6), 0, 0)
    other = MPI.Datatype.Create_struct([1, 1], [0, 12], [MPI.DOUBLE, MPI.INT]).Commit()
    SELF.Sendrecv([records, 3, pair], 0, 0, [np.zeros(64, "u1"), 3, other], 0, 0)
    SELF.Sendrecv([records, 3, pair], 0, 0, [np.zeros(64, "u1"), MPI.BYTE], 0, 0)


@serial_only
def test_codes_that_mean_nothing():
    with pytest.raises(KeyError, match="'nonsense' stands for no MPI datatype; expected a code such as 'd' or 'f8'"):
        MPI.Datatype.fromcode("nonsense")
