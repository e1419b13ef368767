"""Likely mistakes in each argument of each public function: taken, or refused in words of ours that help.

The calls are in `plain_calls`, of which each argument is spoiled by each value of `WRONG`. What is taken is the
business of other tests; here an error has to be one of ours, and to name the function and the argument.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
import mpi_calls
from cunumpy.errors import (
    ArgumentTypeError,
    BackendUnavailableError,
    CompileError,
    CuNumpyError,
    MissingPackageError,
)
from plain_calls import ELSEWHERE, NOT_TRIED, OTHER_NAMES, OWN_WORDS, ROWS
from public_surface import flags, parameters, public_callables

WRONG: dict[str, Any] = {
    "None": None,
    "text": "two",
    "a number as text": "3",
    "bytes": b"x",
    "negative": -1,
    "a fraction": 1.5,
    "NaN": float("nan"),
    "a huge integer": 2**70,
    "complex": 1j,
    "a list": [1, 2],
    "a list of text": ["a", "b"],
    "a mapping": {"a": 1},
    "an object": object(),
    "a function": lambda *args, **kwargs: None,
}
"""What an argument is exchanged for; arrays of all kinds are tried in `test_array_arguments`."""

NOT_OF_ARGUMENTS = (BackendUnavailableError, CompileError, MissingPackageError)
IN_KERNELS: dict[str, Any] = {
    "an array": np.zeros(3),
    "a number of the launch": np.float32(1.5),
    "an integer of the launch": np.int64(2),
}
"""What is tried besides in kernels in Python syntax, where it matters what is known when they are translated."""

BUILT_IN = (FileNotFoundError, ModuleNotFoundError, IndexError, KeyError, AssertionError, np.exceptions.AxisError)
"""Errors that say enough by themselves: a file, module, place or key is not there; or a test has failed."""


def spoiled(name: str) -> list[tuple[str, str | int]]:
    """Give the places of a call's arguments: a name, or the name and the index in ``*name``."""
    _, given = ROWS[name]()
    return [
        (key, index) for key, value in given.items() for index in (range(len(value)) if key.startswith("*") else ("",))
    ]


def call(name: str, place: tuple[str, str | int] | None = None, value: Any = None) -> Any:
    """Call a function with its arguments, one of them exchanged, and enter what it returns if that is a block."""
    function, given = ROWS[name]()
    if place is not None:
        key, index = place
        given[key] = value if index == "" else [*given[key][:index], value, *given[key][int(index) + 1 :]]
    star = next((key for key in given if key.startswith("*")), None)
    names = list(given)
    before = names[: names.index(star)] if star else []
    result = function(
        *(given[key] for key in before),
        *(given[star] if star else ()),
        **{key: given[key] for key in names if key not in (*before, star)},
    )
    if isinstance(result, AbstractContextManager):
        with result:
            pass
    return result


def test_every_public_function_has_a_call() -> None:
    found = set(public_callables())
    for name in found:
        assert name in ROWS or any(
            name == row or (row.endswith("*") and name.startswith(row[:-1])) for row in ELSEWHERE
        ), f"{name} has no row in plain_calls.ROWS"
    assert set(ROWS) <= found


@pytest.mark.parametrize("name", ROWS)
def test_every_parameter_is_in_the_call(name: str) -> None:
    _, given = ROWS[name]()
    known = set(parameters(public_callables()[name]))
    assert known - {key.lstrip("*") for key in given} <= {"kwargs", "options", "cuda_options", "overrides", "values"}


def complaint(error: Exception, name: str, argument: str) -> str:
    """Say what is wrong with an error, "" if nothing is."""
    translated = name.startswith("kernels.jit.") and isinstance(error, CompileError)
    if (isinstance(error, NOT_OF_ARGUMENTS) and not translated) or type(error) in BUILT_IN:
        return ""
    if not isinstance(error, CuNumpyError):
        return f"{type(error).__name__}: {error}"
    text = str(error).splitlines()[0] if translated else str(error)  # the next lines show the source
    parts = [part for part in name.split(".") if not part.startswith("__")]
    function = "|".join(map(re.escape, parts[-2:] if parts[-2:-1] and parts[-2][0].isupper() else parts[-1:]))
    if not re.search(OTHER_NAMES.get(name, function), text):
        return f"does not name the function: {text}"
    known = OTHER_NAMES.get(f"{name}({argument})", rf"\b{argument}\b")
    if argument and (translated or isinstance(error, ArgumentTypeError)) and not re.search(known, text):
        return f"does not name the argument: {text}"
    return ""


@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith("kernels.jit.")])
def test_calls_in_kernels_are_taken(name: str) -> None:
    call(name)


@pytest.mark.parametrize("name", ROWS)
def test_mistakes_are_refused_in_words_that_help(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for place in spoiled(name):
        argument = place[0].lstrip("*")
        if argument in NOT_TRIED.get(name, ()):
            continue
        for label, value in (WRONG | (IN_KERNELS if name.startswith("kernels.jit.") else {})).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    call(name, place, value)
                except Exception as error:
                    if isinstance(error, CuNumpyError) or name not in OWN_WORDS:
                        problem = complaint(error, name, "" if place[0].startswith("*") else argument)
                        found += [f"{argument}={label}: {problem}"] if problem else []
    assert not found, "\n".join(found)


# --- the serial stand-in for MPI --------------------------------------------------------------------------------------


@pytest.fixture
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    mpi_calls.close_files()


WAITING = ("Comm", "Cartcomm", "File", "Message")
"""The classes whose methods with a name such as ``Isend`` do not wait."""


@pytest.mark.usefixtures("_in_a_folder_of_its_own")
@pytest.mark.parametrize("kind", [*mpi_calls.CLASSES, "MPI"])
def test_mistakes_in_calls_of_the_stand_in_for_mpi(kind: str) -> None:
    plain = {label: lambda value=value: value for label, value in WRONG.items()}
    found = []
    for name in mpi_calls.methods():
        if not name.startswith(f"{kind}.") or name in mpi_calls.REFUSE_ALL:
            continue
        function, given = mpi_calls.row(name)
        # The forms that do not wait, or are persistent, check what the plain one checks.
        wrong = (
            plain
            if (re.match(r"\w+\.I[a-z]+$", name) and kind in WAITING) or name.endswith("_init")
            else plain | mpi_calls.WRONG
        )
        mpi_calls.close_files(function(**given))  # a table whose calls are wrong themselves would show nothing
        for argument in given:
            for label, make in wrong.items():
                function, given = mpi_calls.row(name)
                given[argument] = make()
                try:
                    mpi_calls.close_files(function(**given))
                except Exception as error:
                    problem = _complaint_of_method(error, name, argument)
                    found += [f"{name}({argument}={label}): {problem}"] if problem else []
                finally:
                    mpi_calls.close_files()
    assert not found, "\n".join(found)


def _complaint_of_method(error: Exception, name: str, argument: str) -> str:
    """Say what is wrong with an error of a method, which has to be called as the user called it; "" if nothing is."""
    if not isinstance(error, CuNumpyError):
        return "" if type(error) is KeyError and name == "Info.pop" else f"{type(error).__name__}: {error}"
    text = str(error)
    if f".{name.partition('.')[2]}: " not in text:
        return f"does not name the function: {text}"
    if isinstance(error, ArgumentTypeError) and f"argument {argument!r}" not in text:
        return f"does not name the argument: {text}"
    return ""


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda MPI, comm: comm.allreduce(1.0, op="sum"),
            "comm.allreduce: argument 'op' must be an operation, such as",
        ),
        (
            lambda MPI, comm: comm.Sendrecv_replace(1.0, 0),
            "comm.Sendrecv_replace: argument 'buf' must be an array, or a list such as [array, count, MPI.DOUBLE]",
        ),
        (
            lambda MPI, comm: comm.Dup(info={"key": "value"}),
            "comm.Dup: argument 'info' must be an MPI.Info, such as MPI.Info.Create({'key': 'value'}), got dict",
        ),
        (lambda MPI, comm: comm.Create([0]), "comm.Create: argument 'group' must be a group, such as comm.Get_group()"),
        (
            lambda MPI, comm: MPI.File.Open(comm, "nothing.bin"),
            "File.Open: file 'nothing.bin': No such file or directory. Add MPI.MODE_CREATE to make it.",
        ),
        (
            lambda MPI, comm: MPI.Request.Waitall(comm.Irecv(np.ones(3), 0)),
            "Request.Waitall: argument 'requests' must be a list of requests, got cunumpy.SerialRequest",
        ),
        (
            lambda MPI, comm: comm.Allgather(np.ones(3, "f4"), np.ones(3)),
            "comm.Allgather: 3 items of SerialMPI.FLOAT in argument 'sendbuf' can't be received as SerialMPI.DOUBLE in "
            "argument 'recvbuf'",
        ),
        (
            lambda MPI, comm: comm.Create_cart(1, periods="yes"),
            "comm.Create_cart: argument 'periods' must be a list of truth values, got str ('yes')",
        ),
        (lambda MPI, comm: MPI.Compute_dims(2**70, 2), "MPI.Compute_dims: argument 'nnodes' is"),
    ],
)
@pytest.mark.usefixtures("_in_a_folder_of_its_own")
def test_words_of_errors_of_the_stand_in(call: Any, text: str) -> None:
    with pytest.raises(CuNumpyError) as caught:
        call(mpi_calls.MPI, mpi_calls.MPI.COMM_SELF.Dup())
    assert text in str(caught.value)


# --- flags ------------------------------------------------------------------------------------------------------------

RECORDS = ("cuda.CudaParameter", "petsc.KSPResult", "petsc.SNESResult", "profiling.Timing", "profiling.TransferEvent")
"""What keeps the values that it is made of, unchecked."""

OF_MPI4PY = ("mpi.SerialComm.", "mpi.SerialRequest", "mpi.SerialStatus.")
"""Has the parameters of mpi4py, which takes the truth of anything."""


WITHOUT_ROW: dict[str, Callable[[], Any]] = {
    "kernels.jit.rawkernel": lambda: xp.kernels.jit.rawkernel,
    "memory.StagedCopy.result": lambda: xp.memory.HostStaging(3, float).copy(np.ones(3)).result,
    "mpi.MPIStaging.buffer": lambda: lambda **flag: xp.mpi.MPIStaging(3, float).buffer(np.ones(3), **flag).__enter__(),
    "mpi.PersistentExchange.__call__": lambda: xp.mpi.PersistentExchange(xp.mpi.get_mpi(False).COMM_WORLD),
    "mpi.PersistentExchange.wait": lambda: xp.mpi.PersistentExchange(xp.mpi.get_mpi(False).COMM_WORLD).wait,
}
"""What takes a flag and is not in `plain_calls`, to be called with the flag alone."""


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        pytest.param(name, flag, id=f"{name}-{flag}")
        for name, function in public_callables().items()
        if name not in RECORDS and not name.startswith((*OF_MPI4PY, "petsc."))
        for flag in flags(function)
    ],
)
def test_flags_are_not_texts(name: str, flag: str) -> None:
    spoil = functools.partial(WITHOUT_ROW[name](), **{flag: "no"}) if name not in ROWS else None
    with pytest.raises(ArgumentTypeError, match=rf"argument '{flag}' must be True") as caught:
        spoil() if spoil is not None else call(name, (flag, ""), "no")
    assert re.fullmatch(
        r"\S+( '\w+')?: .* must be True(, False)? or (False|None), got str \('no'\)\.", str(caught.value)
    )
