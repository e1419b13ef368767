"""Vectors of a real PETSc, on one rank and on several: ``mpiexec -n 2 python -m pytest tests/cunumpy-petsc``.

Collected where petsc4py is installed only (`conftest.py`).
"""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI
from petsc4py import PETSc

import cunumpy as xp
from array_kinds import KINDS, ArrayKind, as_compared
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError, CuNumpyError
from cunumpy.petsc import mark_modified, petsc_access, petsc_array, petsc_vec, place_array, write_back

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
several = pytest.mark.skipif(SIZE == 1, reason="needs more than one rank: mpiexec -n 2 python -m pytest")


def own(n: int = 4) -> np.ndarray:
    """Give this rank's part of 0, 1, 2, ..."""
    return np.arange(n, dtype=float) + RANK * n


# --- sharing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("comm", [None, COMM, PETSc.COMM_WORLD, MPI.COMM_SELF], ids=str)
def test_vector_shares_the_memory(comm) -> None:
    array = own().reshape(2, 2)
    vec = petsc_vec(array, comm)
    alone = comm is MPI.COMM_SELF
    assert vec.getSizes() == (4, 4 if alone else 4 * SIZE)
    assert vec.getType() == ("seq" if alone or SIZE == 1 else "mpi")
    assert vec.getAttr("cunumpy_array") is array
    assert vec.norm(PETSc.NormType.NORM_INFINITY) == (array.max() if alone else 4 * SIZE - 1)
    vec.scale(2.0)
    np.testing.assert_array_equal(array, 2 * own().reshape(2, 2))
    array[0, 0] = -1.0
    assert vec.array_r[0] == -1.0


def test_no_number_of_dimensions_matters() -> None:
    for shape in [(), (0,), (0, 3), (1,), (3, 1), (2, 1, 2)]:
        array = np.ones(shape)
        vec = petsc_vec(array)
        assert vec.getLocalSize() == array.size
        vec.set(7.0)
        assert (array == 7).all()
        assert vec.sum() == 7 * array.size * SIZE


def test_ranks_may_have_different_sizes_and_none() -> None:
    array = np.ones(RANK)
    vec = petsc_vec(array)
    assert vec.getSize() == SIZE * (SIZE - 1) // 2 == vec.sum()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_array_is_shared_or_refused(kind: ArrayKind, tmp_path: Path) -> None:
    array = kind.make(tmp_path)
    before = as_compared(array)
    shareable = kind.name in ("contiguous", "zero-d", "empty", "memory-mapped", "subclass")
    if not shareable:
        with pytest.raises(CuNumpyError, match=r"petsc_vec: argument 'array'|no driver|CuPy"):
            petsc_vec(array)
        assert as_compared(array) == before
        return
    vec = petsc_vec(array)
    vec.shift(1.0)
    np.testing.assert_array_equal(np.asarray(array), kind.values + 1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.is_array and kind.values is not None], ids=str)
def test_a_copy_takes_what_can_be_converted_and_can_be_written_back(kind: ArrayKind, tmp_path: Path) -> None:
    array = kind.make(tmp_path)
    if kind.values.dtype.kind == "c":
        with pytest.raises(ArgumentTypeError, match="can't become float64"):
            petsc_vec(array, copy=True)
        return
    vec = petsc_vec(array, copy=True)
    np.testing.assert_array_equal(petsc_array(vec), kind.values.astype(float).reshape(-1))
    vec.scale(2.0)
    np.testing.assert_array_equal(np.asarray(array), kind.values)  # the memory is the vector's own
    if not kind.writable:
        with pytest.raises(ArgumentError, match="read-only"):
            write_back(vec)
    elif array.dtype.kind != "f":
        with pytest.raises(ArgumentTypeError, match="can't hold values of float64"):
            write_back(vec)
    else:
        write_back(vec)
        np.testing.assert_array_equal(np.asarray(array), 2 * kind.values)


def test_there_is_nothing_to_write_back_where_memory_is_shared() -> None:
    with pytest.raises(ArgumentError, match="it shares the memory of its array"):
        write_back(petsc_vec(own()))
    with pytest.raises(ArgumentError, match="it is no vector of petsc_vec"):
        write_back(PETSc.Vec().createSeq(3))


def test_block_size() -> None:
    vec = petsc_vec(own(6), block_size=3)
    assert vec.getBlockSize() == 3
    for wrong, text in ((4, "got 4 for 6 elements"), (0, "positive"), (1.5, "must be an integer"), (True, "integer")):
        with pytest.raises(CuNumpyError, match=text):
            petsc_vec(own(6), block_size=wrong)


# --- life -------------------------------------------------------------------------------------------------------------


class Noticed(np.ndarray):
    """An array whose end is noticed."""


def noticed() -> tuple[np.ndarray, weakref.ref]:
    array = np.arange(3.0).view(Noticed)
    return array, weakref.ref(array)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda vec: None,
        lambda vec: vec.setAttr("cunumpy_array", None),
        lambda vec: [vec.setAttr(name, None) for name in list(vec.getDict()) if isinstance(name, str)],
    ],
)
def test_memory_lives_as_long_as_petsc_uses_it(spoil) -> None:
    array, alive = noticed()
    vec = petsc_vec(array, MPI.COMM_SELF)
    holder = PETSc.Vec().createNest([vec], comm=MPI.COMM_SELF)
    spoil(vec)
    del vec, array
    gc.collect()
    assert alive() is not None
    assert holder.norm(PETSc.NormType.NORM_INFINITY) == 2.0
    holder.destroy()
    PETSc.garbage_cleanup(PETSc.COMM_SELF)
    gc.collect()
    assert alive() is None


def test_destroying_gives_the_memory_back_on_all_ranks() -> None:
    array, alive = noticed()
    vec = petsc_vec(array)
    del array
    vec.destroy()
    gc.collect()
    assert alive() is None


def test_an_array_of_a_vector_keeps_the_memory() -> None:
    for make in (
        lambda array: petsc_array(petsc_vec(array, MPI.COMM_SELF)),
        lambda array: petsc_array(petsc_vec(array, MPI.COMM_SELF, ghosts=[]), write=False),
    ):
        array, alive = noticed()
        view = make(array)
        del array
        gc.collect()
        assert alive() is not None
        assert view.tolist() == [0.0, 1.0, 2.0]


# --- read-only --------------------------------------------------------------------------------------------------------


def test_read_only_vectors_can_be_read_and_not_be_written() -> None:
    array = own()
    array.flags.writeable = False
    vec = petsc_vec(array, readonly=True)
    other = vec.duplicate()
    assert vec.dot(vec) == sum(k * k for k in range(4 * SIZE))
    other.waxpy(1.0, vec, vec)
    np.testing.assert_array_equal(other.array, 2 * own())
    for write in (
        lambda: vec.set(1.0),
        lambda: vec.scale(2.0),
        lambda: vec.axpy(1.0, other),
        lambda: vec.getArray(),
        lambda: vec.setArray(np.ones(4)),
        lambda: vec.toDLPack("rw"),
    ):
        with pytest.raises(PETSc.Error):
            write()
    with pytest.raises(ArgumentError, match=r"is locked for reading: by readonly=True, .* pass write=False"):
        petsc_array(vec)
    view = petsc_array(vec, write=False)
    assert not view.flags.writeable
    np.testing.assert_array_equal(view, own())
    np.testing.assert_array_equal(array, own())
    vec.destroy()


# --- arrays of vectors ------------------------------------------------------------------------------------------------


def test_arrays_of_any_vector() -> None:
    vec = PETSc.Vec().createMPI((3, None), comm=COMM)
    petsc_array(vec)[:] = RANK
    mark_modified(vec)
    assert vec.sum() == 3 * sum(range(SIZE))
    with pytest.raises(ValueError, match="read-only"):
        petsc_array(vec, write=False)[0] = 1.0
    assert petsc_array(vec).base is not None


def test_what_is_no_vector_is_refused() -> None:
    gone = petsc_vec(own())
    gone.destroy()
    for wrong, text in (
        (np.ones(3), r"must be a PETSc.Vec, got numpy.ndarray\(shape=\(3,\), dtype=float64\)"),
        (None, r"got NoneType \(None\); make one by petsc_vec"),
        (gone, "without content: created empty or destroyed"),
    ):
        for function in (petsc_array, write_back, lambda vec: petsc_access(vec).__enter__()):
            with pytest.raises(CuNumpyError, match=text):
                function(wrong)
    with pytest.raises(ArgumentTypeError, match=r"must be a PETSc.Vec or PETSc.Mat, got 3"):
        mark_modified(3)
    nested = PETSc.Vec().createNest([petsc_vec(own())])
    with pytest.raises(ArgumentError, match="is of type 'nest', which has no array of its own"):
        petsc_array(nested)


def test_norms_are_computed_anew_after_writes() -> None:
    array = np.ones(4)
    vec = petsc_vec(array)
    assert vec.norm() == pytest.approx(2 * SIZE**0.5)
    array *= 3
    mark_modified(vec)
    assert vec.norm() == pytest.approx(6 * SIZE**0.5)
    with petsc_access(vec) as values:
        values[:] = 0.5
    assert vec.norm() == pytest.approx(SIZE**0.5)
    state = vec.stateGet()
    with petsc_access(vec, write=False) as values:
        assert values.sum() == 2.0
    assert vec.stateGet() == state


# --- placement --------------------------------------------------------------------------------------------------------


def test_placed_arrays_serve_for_a_block() -> None:
    first = np.zeros(3)
    vec = petsc_vec(first)
    for step in range(1, 4):
        field = np.full((1, 3), float(step))
        with place_array(vec, field) as placed:
            assert placed is vec
            assert vec.norm(PETSc.NormType.NORM_INFINITY) == step
            vec.scale(2.0)
        assert (field == 2 * step).all()
        assert vec.norm(PETSc.NormType.NORM_INFINITY) == 0
    assert (first == 0).all()


def test_the_own_memory_comes_back_after_an_error() -> None:
    vec = petsc_vec(own())
    with pytest.raises(KeyError), place_array(vec, np.zeros(4)):
        raise KeyError
    np.testing.assert_array_equal(petsc_array(vec), own())


@pytest.mark.parametrize("block", [petsc_access, lambda vec: place_array(vec, np.zeros(4))], ids=["access", "place"])
def test_a_vector_may_be_destroyed_within_a_block(block) -> None:
    """PETSc would crash on what is left of it."""
    vec = petsc_vec(own())
    with block(vec):
        vec.destroy()
    assert not vec


@pytest.mark.parametrize("kind", [PETSc.Vec, PETSc.Mat])
def test_what_is_there_no_more_is_not_modified(kind) -> None:
    with pytest.raises(ArgumentError, match=r"'obj' is a (vector|matrix) without content: created empty or destroyed"):
        mark_modified(kind())


def test_flags_of_arrays_are_left_as_they_are() -> None:
    array = own()
    vec = petsc_vec(array, MPI.COMM_SELF, ghosts=[])
    assert not petsc_array(vec, write=False).flags.writeable
    assert array.flags.writeable


def test_what_can_not_be_placed_is_refused() -> None:
    vec = petsc_vec(own())
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    for wrong, text in (
        (np.zeros(3), "as many elements as the vector on this rank, 4, got 3"),
        (np.zeros(4, np.float32), "must have PETSc's scalar type"),
        (np.zeros(8)[::2], "C-contiguous"),
        (read_only, "is read-only"),
        ([0.0] * 4, "must be a NumPy or CuPy array"),
    ):
        with pytest.raises(CuNumpyError, match=text), place_array(vec, wrong):
            pass
    with place_array(vec, np.zeros(4)), pytest.raises(ArgumentError, match="already"), place_array(vec, np.ones(4)):
        pass
    if SIZE > 1:
        ghosted = petsc_vec(np.zeros(5), ghosts=[(RANK * 4 + 4) % (4 * SIZE)])
        with pytest.raises(ArgumentError, match="has ghosts"), place_array(ghosted, own()):
            pass
    locked = petsc_vec(own(), readonly=True)
    with place_array(locked, read_only):
        assert locked.norm() == 0


# --- ghosts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block_size", [1, 2])
def test_ghosts_are_filled_from_other_ranks(block_size: int) -> None:
    points = 3
    neighbours = [] if SIZE == 1 else [(RANK * points + points) % (points * SIZE)]
    array = np.zeros((points + len(neighbours), block_size))
    array[:points] = RANK + 1
    vec = petsc_vec(array, block_size=block_size, ghosts=neighbours)
    assert vec.getSize() == points * block_size * SIZE
    vec.ghostUpdate(addv=PETSc.InsertMode.INSERT, mode=PETSc.ScatterMode.FORWARD)
    assert (array[points:] == (RANK + 1) % SIZE + 1).all()
    view = petsc_array(vec)
    assert view.size == array.size
    view[-1] = -5.0
    assert array[-1, -1] == -5.0
    vec.destroy()


def test_ghosts_that_can_not_be_are_refused_on_all_ranks() -> None:
    for wrong, text in (
        ([SIZE * 4], "and there are the points 0 to"),
        ([-1], "and there are the points 0 to"),
        ([RANK * 3], "belongs to this rank itself"),
        ([0.5], "must have an integer dtype"),
        (list(range(9)), "fewer than 9 ghosts of 1"),
    ):
        with pytest.raises(CuNumpyError, match=text):
            petsc_vec(own(), ghosts=wrong)


# --- communicators and agreement --------------------------------------------------------------------------------------


def test_what_is_no_communicator_is_refused() -> None:
    for wrong in (3, "world", object(), MPI.COMM_NULL):
        with pytest.raises(ArgumentTypeError, match="argument 'comm' must be a communicator of mpi4py, of petsc4py"):
            petsc_vec(own(), wrong)


def test_without_mpi_each_process_is_alone(monkeypatch) -> None:
    monkeypatch.setenv("MAYBEMPI", "0")
    assert petsc_vec(own()).getSizes() == (4, 4)


def test_the_stand_in_communicator_is_this_process_alone(monkeypatch) -> None:
    class Standin:
        pass

    import cunumpy.mpi

    monkeypatch.setattr(cunumpy.mpi, "is_serial", lambda comm: isinstance(comm, Standin), raising=False)
    assert petsc_vec(own(), Standin()).getSizes() == (4, 4)


@several
def test_an_error_of_one_rank_is_raised_on_all() -> None:
    array = own() if RANK != 1 else own().astype(np.float32)
    with pytest.raises(ArgumentTypeError, match=f"refused on rank 1 of {SIZE}") as caught:
        petsc_vec(array)
    assert "must have PETSc's scalar type, float64" in str(caught.value)
    assert COMM.allreduce(1) == SIZE  # all are here
    with pytest.raises(ArgumentError, match=r"on rank 0.* of"):
        petsc_vec(own() if RANK else own()[::2], COMM)


def test_more_elements_than_petsc_counts_are_refused() -> None:
    if np.iinfo(PETSc.IntType).bits > 32:
        return
    from cunumpy.petsc._library import check_count

    with pytest.raises(ArgumentRangeError, match="up to 2147483647; use more ranks"):
        check_count(PETSc, 2**31, "petsc_vec", "the elements of the array")


def test_nothing_is_recorded_for_host_arrays() -> None:
    with xp.profiling.count_transfers() as counter:
        vec = petsc_vec(own())
        with petsc_access(vec):
            pass
    assert not counter.events
