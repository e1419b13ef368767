"""Collectives for arrays, against the arrays of all ranks in one place."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from mpi_under_test import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
DTYPES = ["f8", "f4", "c16", "i4", "i8", "u1", "?", ">f8", "f2", [("id", "i4"), ("x", "f8", 2)]]


def rows_of(rank, dtype, length=None):
    """Return an array of a rank, strided in memory, of `rank + 1` rows: the same on whichever rank it is asked for."""
    length = rank + 1 if length is None else length
    made = np.zeros((2 * length, 3), dtype)[::2]
    numbers = 10 * rank + np.arange(3.0 * length).reshape(length, 3)
    if made.dtype.names:
        made["id"], made["x"] = numbers, numbers[..., None]
    else:
        made[...] = numbers % 2 if made.dtype == bool else numbers
    return made


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_are_put_behind_each_other(dtype):
    expected = np.concatenate([rows_of(rank, dtype) for rank in range(SIZE)])
    np.testing.assert_array_equal(xp.mpi.allgather(WORLD, rows_of(RANK, dtype)), expected)
    root = SIZE - 1
    gathered = xp.mpi.gather(WORLD, rows_of(RANK, dtype), root)
    if root == RANK:
        np.testing.assert_array_equal(gathered, expected)
        assert gathered.dtype == np.dtype(dtype)
    else:
        assert gathered is None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_get_what_one_has(dtype):
    for root in range(SIZE):
        array = rows_of(root, dtype, 4) if root == RANK else np.zeros_like(rows_of(0, dtype, 4).T).T
        assert xp.mpi.bcast(WORLD, array, root) is None
        np.testing.assert_array_equal(array, rows_of(root, dtype, 4))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_gets_a_part(dtype):
    counts = [(RANK + to) % 3 for to in range(SIZE)]
    given = rows_of(RANK, dtype, sum(counts))
    received = xp.mpi.alltoall(WORLD, given, counts)
    expected = []
    for rank in range(SIZE):
        theirs = [(rank + to) % 3 for to in range(SIZE)]
        begin = sum(theirs[:RANK])
        expected.append(rows_of(rank, dtype, sum(theirs))[begin : begin + theirs[RANK]])
    np.testing.assert_array_equal(received, np.concatenate(expected))
    assert xp.mpi.alltoall(WORLD, np.asarray(counts)).tolist() == [(rank + RANK) % 3 for rank in range(SIZE)]


@pytest.mark.parametrize(
    ("op", "function", "dtypes"),
    [
        ("sum", np.sum, ["f8", "f4", "i4", "u2", "c16"]),
        ("prod", np.prod, ["f8", "i8", "c8"]),
        ("min", np.min, ["f8", "i4"]),
        ("max", np.max, ["f4", "u8"]),
        ("any", np.any, ["?"]),
        ("all", np.all, ["?"]),
        (MPI.SUM, np.sum, ["f8"]),
    ],
)
def test_arrays_are_combined(op, function, dtypes):
    for dtype in dtypes:
        everybody = np.stack([rows_of(rank, dtype, 2) for rank in range(SIZE)])
        expected = function(everybody, axis=0).astype(dtype)
        array = rows_of(RANK, dtype, 2)
        before = array.copy()
        result = xp.mpi.allreduce(WORLD, array, op)
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(array, before)
        assert result.dtype == array.dtype
        out = np.zeros((4, 2), dtype)[:3].T
        assert xp.mpi.allreduce(WORLD, array, op, out=out) is out
        np.testing.assert_array_equal(out, result)
        assert xp.mpi.allreduce(WORLD, array, op, out=array) is array
        np.testing.assert_array_equal(array, result)


def test_scalars_and_arrays_without_axes():
    assert xp.mpi.allreduce(WORLD, np.ones(3).sum()) == 3 * SIZE
    assert xp.mpi.allreduce(WORLD, np.array(2.0)).shape == ()
    value = np.array(7.0 if RANK == 0 else 0.0)
    xp.mpi.bcast(WORLD, value)
    assert value == 7


def test_nothing_is_nothing():
    assert xp.mpi.allgather(WORLD, np.zeros((0, 2))).shape == (0, 2)
    assert xp.mpi.alltoall(WORLD, np.zeros(0)).shape == (0,)
    assert xp.mpi.allreduce(WORLD, np.zeros(0)).shape == (0,)
    xp.mpi.bcast(WORLD, np.zeros(0))


READ_ONLY = np.zeros(2)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("call", "exception", "text"),
    [
        (
            lambda comm: xp.mpi.allreduce(comm, [1.0]),
            ArgumentTypeError,
            "'array' must be an array of numbers, got list",
        ),
        (lambda comm: xp.mpi.allreduce(comm, np.zeros(2), "mean"), ArgumentError, "'op' must be one of 'sum', "),
        (lambda comm: xp.mpi.allreduce(comm, np.zeros(2), sum), ArgumentTypeError, "'op' must be one of 'sum', "),
        (lambda comm: xp.mpi.allreduce(comm, np.zeros(2), "any"), ArgumentError, "'any', which is not for arrays of"),
        (lambda comm: xp.mpi.allreduce(comm, np.zeros(2, "c16"), "max"), ArgumentError, "there is 'sum', 'prod'"),
        (lambda comm: xp.mpi.allreduce(comm, np.zeros(2, "f2")), ArgumentTypeError, "of float16, which MPI does not"),
        (lambda comm: xp.mpi.allreduce(comm, np.zeros(2, ">f8")), ArgumentTypeError, "which MPI does not compute with"),
        (
            lambda comm: xp.mpi.allreduce(comm, np.zeros(2), out=np.zeros(3)),
            ArgumentError,
            r"'out' must have the shape and dtype of 'array', \(2,\) and float64",
        ),
        (lambda comm: xp.mpi.allreduce(comm, np.zeros(2), out=READ_ONLY), ArgumentError, "'out' is written to"),
        (
            lambda comm: xp.mpi.allreduce(comm, FOUR[:3], out=FOUR[1:]),
            ArgumentError,
            "'array' and 'out' share memory, and are not the same",
        ),
        (lambda comm: xp.mpi.bcast(comm, np.zeros(2), 99), ArgumentError, "'root' is 99, and the communicator has"),
        (lambda comm: xp.mpi.bcast(comm, np.zeros(2), 0.0), ArgumentTypeError, "'root' must be an integer, got 0.0"),
        (lambda comm: xp.mpi.bcast(comm, np.array([None])), ArgumentTypeError, "must be an array of numbers"),
        (
            lambda comm: xp.mpi.gather(comm, np.array(1.0)),
            ArgumentTypeError,
            r"must have an axis, .* pass array\[None\]",
        ),
        (lambda comm: xp.mpi.gather(comm, np.zeros(2), -1), ArgumentError, "'root' is -1"),
        (lambda comm: xp.mpi.allgather(comm, np.ma.zeros(2)), ArgumentTypeError, "'array' is a masked array"),
        (
            lambda comm: xp.mpi.alltoall(comm, np.zeros(3), [2]),
            ArgumentError,
            "'counts' must be 1 numbers of 0 or more",
        ),
        (lambda comm: xp.mpi.alltoall(comm, np.zeros(3), [3.0]), ArgumentTypeError, "'counts' must be integers"),
        (
            lambda comm: xp.mpi.allgather(None, np.zeros(3)),
            ArgumentTypeError,
            "'comm' must be a communicator, got None",
        ),
    ],
)
def test_arguments_are_checked(comm, call, exception, text):
    with pytest.raises(exception, match=text):
        call(comm)


FOUR = np.zeros(4)
GOOD = np.zeros(2 * SIZE)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("bcast", lambda array, root=0: xp.mpi.bcast(WORLD, array, root, check=True)),
        ("allreduce", lambda array: xp.mpi.allreduce(WORLD, array, check=True)),
        ("gather", lambda array: xp.mpi.gather(WORLD, array)),
        ("allgather", lambda array: xp.mpi.allgather(WORLD, array)),
        ("alltoall", lambda array: xp.mpi.alltoall(WORLD, array)),
    ],
)
def test_all_ranks_raise_where_one_is_at_fault(name, call):
    guilty = SIZE - 1
    if guilty == RANK:
        with pytest.raises(ArgumentTypeError, match=f"{name}: argument 'array' must be"):
            call([1.0])
    else:
        with pytest.raises(CommunicationError, match=f"{name}: the arguments on rank {guilty} are at fault; nothing"):
            call(GOOD)
    if SIZE > 1:
        with pytest.raises(CommunicationError, match=f"{name}: the arguments on rank . have other dtypes or shapes"):
            call(GOOD if RANK else GOOD.astype("f4"))


def test_another_root_or_operation_is_noticed():
    if SIZE > 1:
        for call in (
            lambda: xp.mpi.bcast(WORLD, GOOD, int(RANK > 0), check=True),
            lambda: xp.mpi.gather(WORLD, GOOD, int(RANK > 0)),
            lambda: xp.mpi.allreduce(WORLD, GOOD, "min" if RANK else "max", check=True),
        ):
            with pytest.raises(CommunicationError, match="or another root, operation or width; nothing was sent"):
                call()
    xp.mpi.bcast(WORLD, GOOD, check=True)
    xp.mpi.allreduce(WORLD, GOOD, check=True)
