"""What `cunumpy.petsc` checks and says before PETSc has a part in it; with a petsc4py that is none."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
import fake_petsc4py
from array_kinds import KINDS, ArrayKind, as_compared
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    BackendUnavailableError,
    CommunicationError,
    CuNumpyError,
    MissingPackageError,
    MixedBackendError,
)
from cunumpy.petsc import mark_modified, petsc_access, petsc_array, petsc_available, petsc_vec, place_array, write_back
from public_surface import flags


@pytest.fixture
def petsc(monkeypatch):
    return fake_petsc4py.install(monkeypatch)


@pytest.fixture
def without_petsc(monkeypatch):
    monkeypatch.setitem(sys.modules, "petsc4py", None)
    monkeypatch.setattr("cunumpy.petsc._library.petsc_available", lambda: False)


def test_importing_loads_no_petsc() -> None:
    program = """
import sys
import cunumpy as xp
xp.petsc.petsc_vec
assert xp.petsc.petsc_available() in (True, False)
print({"petsc4py", "mpi4py", "cupy"} & set(sys.modules) or "none")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "none\n", done.stderr


def test_whether_petsc4py_is_there(petsc, monkeypatch) -> None:
    assert petsc_available()
    monkeypatch.delitem(sys.modules, "petsc4py")
    monkeypatch.setattr("cunumpy.petsc._library.find_spec", lambda name: None)
    assert not petsc_available()


@pytest.mark.usefixtures("without_petsc")
def test_without_petsc4py_the_error_says_what_to_do() -> None:
    for call in (
        lambda: petsc_vec(np.ones(3)),
        lambda: petsc_array(None),
        lambda: xp.petsc.csr_matrix(np.ones(1), [0], [0, 1]),
        lambda: xp.petsc.shell_matrix(print, 3),
        lambda: xp.petsc.ksp_solve(print, np.ones(3)),
        lambda: xp.petsc.snes_solve(print, np.ones(3)),
        lambda: xp.petsc.shell_preconditioner(print),
    ):
        with pytest.raises(
            MissingPackageError, match=r"\w+: needs petsc4py \(it is not installed\)\. .* uv add petsc4py"
        ):
            call()
    # What is wrong with petsc4py, too, is said first.
    for wrong in ([1.0], None, 3.0, np.ma.masked_array([1.0])):
        with pytest.raises(ArgumentTypeError, match="petsc_vec: argument 'array'"):
            petsc_vec(wrong)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_array_is_shared_or_refused_before_anything_exists(
    kind: ArrayKind, petsc, tmp_path: Path
) -> None:
    array = kind.make(tmp_path)
    before = as_compared(array)
    if kind.name in ("contiguous", "zero-d", "empty", "memory-mapped", "subclass"):
        vec = petsc_vec(array)
        assert np.shares_memory(vec.array, array) or array.size == 0
        assert vec.getAttr("cunumpy_array") is array
    else:
        with pytest.raises(CuNumpyError):
            petsc_vec(array)
        assert petsc.Vec.made == []
    assert as_compared(array) == before


def test_texts_of_errors(petsc) -> None:
    read_only = np.ones(3)
    read_only.flags.writeable = False
    for arguments, options, kind, text in (
        (([1.0],), {}, ArgumentTypeError, r"must be a NumPy or CuPy array, .* got list.*xp.asarray"),
        ((np.float64(1),), {}, ArgumentTypeError, r"must be a NumPy or CuPy array"),
        ((np.ma.masked_array([1.0], [True]),), {}, ArgumentTypeError, "masked array"),
        (
            (np.ones(3, np.float32),),
            {},
            ArgumentTypeError,
            r"scalar type, float64 .* dtype=float32\).*astype\('float64'\)",
        ),
        ((np.ones(3, ">f8"),), {}, ArgumentTypeError, "scalar type, float64 in native byte order, got .*dtype=>f8"),
        ((np.ones(3, int),), {}, ArgumentTypeError, "scalar type"),
        ((np.ones(3, complex),), {"copy": True}, ArgumentTypeError, "can't become float64"),
        ((np.array(["a"]),), {"copy": True}, ArgumentTypeError, "must be of numbers"),
        ((np.ones((2, 3)).T,), {}, ArgumentError, r"C-contiguous.*strides \(8, 24\).*xp.ascontiguousarray"),
        ((read_only,), {}, ArgumentError, "is read-only .* PETSc would write to it all the same.*readonly=True"),
        ((np.ones(3),), {"block_size": 2}, ArgumentError, "divide the number of elements of the array, got 2 for 3"),
        ((np.ones(3), "world"), {}, ArgumentTypeError, "'comm' must be a communicator of mpi4py, of petsc4py or of xp"),
        ((np.ones(3),), {"ghosts": [5]}, ArgumentError, "'ghosts' holds 5, and there are the points 0 to 1"),
        ((np.ones(3),), {"ghosts": [0]}, ArgumentError, "belongs to this rank itself"),
        ((np.ones(3),), {"ghosts": 1}, ArgumentError, "'ghosts' must have 1 dimension"),
        ((np.ones(3),), {"ghosts": [2**40]}, ArgumentRangeError, "counts with int32, up to 2147483647"),
    ):
        with pytest.raises(kind, match=f"petsc_vec: argument .*{text}|petsc_vec: the .*{text}"):
            petsc_vec(*arguments, **options)
    assert petsc.Vec.made == []


def test_arguments_reach_petsc4py(petsc) -> None:
    vec = petsc_vec(np.ones((3, 2)), petsc.COMM_SELF, block_size=2)
    assert vec.comm is petsc.COMM_SELF
    assert vec.block_size == 2
    assert petsc_vec(np.ones(3)).comm is petsc.COMM_WORLD


def test_communicators_that_mean_this_process_alone(petsc, monkeypatch) -> None:
    monkeypatch.setenv("MAYBEMPI", "0")
    assert petsc_vec(np.ones(3)).comm is petsc.COMM_SELF
    assert petsc_vec(np.ones(3), petsc.COMM_WORLD).comm is petsc.COMM_WORLD


@pytest.mark.needs("cunumpy.mpi")
def test_serial_communicators_mean_this_process_alone(petsc, monkeypatch) -> None:
    monkeypatch.setenv("MAYBEMPI", "0")
    serial = object()
    monkeypatch.setattr(xp.mpi, "is_serial", lambda comm: comm is serial, raising=False)
    assert petsc_vec(np.ones(3), serial).comm is petsc.COMM_SELF


def test_a_launcher_of_another_mpi_is_noticed(petsc, monkeypatch) -> None:
    from cunumpy.petsc._library import _launch_of_several

    _launch_of_several.cache_clear()
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "4")
    try:
        with pytest.raises(CommunicationError, match=r"started 4 processes \(PMI_RANK is set\), .* this one alone"):
            petsc_vec(np.ones(3))
        petsc_vec(np.ones(3), petsc.COMM_SELF)
        _launch_of_several.cache_clear()
        monkeypatch.setenv("MAYBEMPI", "0")
        petsc_vec(np.ones(3))
    finally:
        _launch_of_several.cache_clear()


def test_errors_are_raised_on_every_rank(petsc) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    from cunumpy.petsc._library import Group

    class Ranks:
        def __init__(self) -> None:
            self.values: list = [None] * 3
            self.barrier = Barrier(3)

    class Rank:
        def __init__(self, shared: Ranks, number: int) -> None:
            self.shared, self.number = shared, number

        def allgather(self, value):
            self.shared.values[self.number] = value
            self.shared.barrier.wait(20)
            gathered = list(self.shared.values)
            self.shared.barrier.wait(20)
            return gathered

    shared = Ranks()

    def work(number: int) -> CuNumpyError:
        group = Group(None, Rank(shared, number), 3, number, "petsc_vec")
        with group.agreed():
            pass
        with pytest.raises(ArgumentError) as caught:
            group.agree(ArgumentError(f"petsc_vec: argument {number}.") if number else None)
        return caught.value

    with ThreadPoolExecutor(3) as pool:
        texts = [str(error) for error in pool.map(work, range(3))]
    assert texts == [
        "petsc_vec: refused on rank 1, 2 of 3, hence on all. There: petsc_vec: argument 1.",
        "petsc_vec: argument 1. (refused on rank 1, 2 of 3)",
        "petsc_vec: argument 2. (refused on rank 1, 2 of 3)",
    ]


def test_arrays_of_vectors(petsc) -> None:
    array = np.zeros((2, 2))
    vec = petsc_vec(array)
    view = petsc_array(vec)
    assert np.shares_memory(view, array)
    assert not petsc_array(vec, write=False).flags.writeable
    state = vec.state
    with petsc_access(vec) as values:
        values[:] = 3.0
    with petsc_access(vec, write=False):
        pass
    mark_modified(vec)
    assert vec.state == state + 2
    assert (array == 3).all()
    with place_array(vec, np.ones(4)):
        assert petsc_array(vec)[0] == 1.0
    assert petsc_array(vec)[0] == 3.0


def test_what_else_is_refused(petsc) -> None:
    vec = petsc_vec(np.ones(3))
    for call, kind, text in (
        (lambda: petsc_array(3), ArgumentTypeError, "must be a PETSc.Vec, got 3; make one by petsc_vec"),
        (lambda: petsc_array(petsc.Vec()), ArgumentError, "without content"),
        (lambda: mark_modified("x"), ArgumentTypeError, "must be a PETSc.Vec or PETSc.Mat"),
        (lambda: write_back(vec), ArgumentError, "shares the memory of its array"),
        (lambda: place_array(vec, np.ones(2)).__enter__(), ArgumentError, "on this rank, 3, got 2"),
        (lambda: petsc_vec(np.ones(3), readonly=True), BackendUnavailableError, "needs PETSc's VecLockReadPush"),
        (lambda: xp.petsc.update_values(3, np.ones(3)), CuNumpyError, "made by csr_matrix"),
    ):
        with pytest.raises(kind, match=text):
            call()
    vec.kind = "seqcuda"
    with pytest.raises(MixedBackendError, match=r"'vec' is on the device \(type 'seqcuda'\), .* xp.to_cupy\(array\)"):
        place_array(vec, np.ones(3)).__enter__()
    vec.kind = "nest"
    with pytest.raises(ArgumentError, match="of type 'nest', which has no array of its own"):
        petsc_array(vec)


@pytest.mark.parametrize(
    ("kind", "on_device"),
    [(f"{part}{name}", True) for part in ("seq", "mpi", "") for name in ("cuda", "hip", "kokkos")]
    + [("seq", False), ("mpi", False), ("standard", False), ("seqviennacl", False), ("mycudavec", False)],
)
def test_types_of_devices_are_told_by_the_whole_name(kind: str, on_device: bool) -> None:
    from cunumpy.petsc._memory import is_device_type

    assert is_device_type(kind) is on_device


def _flags() -> dict[str, Callable[..., Any]]:
    one = np.ones(1)
    return {
        "csr_matrix": lambda petsc, **flag: xp.petsc.csr_matrix(one, [0], [0, 1], **flag),
        "ksp_solve": lambda petsc, **flag: xp.petsc.ksp_solve(print, one, **flag),
        "petsc_access": lambda petsc, **flag: petsc_access(petsc.Vec(), **flag).__enter__(),
        "petsc_array": lambda petsc, **flag: petsc_array(petsc.Vec(), **flag),
        "petsc_vec": lambda petsc, **flag: petsc_vec(one, **flag),
        "shell_matrix": lambda petsc, **flag: xp.petsc.shell_matrix(print, 1, **flag),
        "snes_solve": lambda petsc, **flag: xp.petsc.snes_solve(print, one, **flag),
    }


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        (name, flag)
        for name, function in vars(xp.petsc).items()
        if isinstance(function, FunctionType)
        for flag in flags(function)
    ],
)
def test_flags_are_not_texts(petsc, name: str, flag: str) -> None:
    call = functools.partial(_flags()[name], petsc, **{flag: "no"})
    with pytest.raises(ArgumentTypeError, match=rf"{name}: argument '{flag}' must be True or False, got str \('no'\)"):
        call()
