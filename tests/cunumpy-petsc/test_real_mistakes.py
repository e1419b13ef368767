"""Likely mistakes in each argument of the functions for PETSc: taken, or refused in words of ours that help."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from cunumpy import petsc
from cunumpy.errors import ArgumentTypeError, CuNumpyError

pytestmark = pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="what one rank checks, each does")


def _operator(x: Any, out: Any) -> None:
    out[...] = 2 * x


def _circle(x: Any, out: Any) -> None:
    out[...] = x * x - 4


def _vec() -> Any:
    return petsc.petsc_vec(np.ones(3))


def _matrix() -> Any:
    return petsc.csr_matrix(np.array([2.0, 3.0]), np.array([0, 1]), np.array([0, 1, 2]))


CALLS: dict[str, dict[str, Callable[[], Any]]] = {
    "petsc_vec": {"array": lambda: np.ones(3)},
    "petsc_array": {"vec": _vec},
    "petsc_access": {"vec": _vec},
    "mark_modified": {"obj": _vec},
    "write_back": {"vec": lambda: petsc.petsc_vec(np.ones(3), copy=True)},
    "place_array": {"vec": _vec, "array": lambda: np.zeros(3)},
    "csr_matrix": {
        "data": lambda: np.array([2.0, 3.0]),
        "indices": lambda: np.array([0, 1]),
        "indptr": lambda: np.array([0, 1, 2]),
    },
    "update_values": {"matrix": _matrix, "data": lambda: np.array([2.0, 3.0])},
    "shell_matrix": {"apply": lambda: _operator, "shape": lambda: 3},
    "shell_preconditioner": {"apply": lambda: _operator},
    "ksp_solve": {"operator": lambda: petsc.shell_matrix(_operator, 3), "b": lambda: np.ones(3)},
    "snes_solve": {"function": lambda: _circle, "x0": lambda: np.ones(3)},
}
"""The arguments of each function that have no default."""

WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "two",
    "bytes": lambda: b"x",
    "negative": lambda: -1,
    "a fraction": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "a huge integer": lambda: 2**70,
    "complex": lambda: 1j,
    "a list": lambda: [1, 2],
    "a list of text": lambda: ["a", "b"],
    "a mapping": lambda: {"a": 1},
    "an object": object,
    "an array of text": lambda: np.array(["a", "b"]),
    "an array of complex numbers": lambda: np.ones(3, complex),
    "a shorter array": lambda: np.ones(1),
    "an array of two dimensions": lambda: np.ones((2, 3)),
    "an array with gaps": lambda: np.ones(6)[::2],
    "a masked array": lambda: np.ma.masked_array(np.ones(3), [True, False, False]),
    "a vector": _vec,
    "a matrix": _matrix,
}

OTHERS_NAMES = {"options_prefix", "method", "linear_method", "preconditioner"}
"""Parameters that take names, of which PETSc knows what they may be."""


def _call(name: str, given: dict[str, Any]) -> None:
    result = getattr(petsc, name)(**given)
    if isinstance(result, AbstractContextManager):
        with result:
            pass


def _given(name: str) -> dict[str, Any]:
    return {
        key: CALLS[name][key]() if key in CALLS[name] else each.default
        for key, each in inspect.signature(getattr(petsc, name)).parameters.items()
    }


def test_every_function_has_a_call() -> None:
    functions = {name for name in petsc.__all__ if inspect.isfunction(getattr(petsc, name))}
    assert functions - {"petsc_available"} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_mistakes_are_refused_in_words_that_help(name: str) -> None:
    _call(name, _given(name))
    found = []
    for argument in _given(name):
        for label, make in WRONG.items():
            given = _given(name)
            given[argument] = make()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    _call(name, given)
            except CuNumpyError as error:
                text = str(error)
                if f"{name}: " not in text:
                    found.append(f"{argument}={label}: does not name the function: {text}")
                elif isinstance(error, ArgumentTypeError) and not any(
                    f"argument{s} {argument!r}" in text or f"and {argument!r}" in text for s in ("", "s")
                ):
                    found.append(f"{argument}={label}: does not name the argument: {text}")
            except Exception as error:
                if argument not in OTHERS_NAMES or not isinstance(given[argument], str):
                    found.append(f"{argument}={label}: {type(error).__name__}: {error}")
    assert not found, "\n".join(found)
