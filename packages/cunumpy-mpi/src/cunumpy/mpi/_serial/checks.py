"""Arguments of MPI's functions that are not objects of MPI: integers, lists of them, text, functions, truth values."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._serial.exceptions import error

_LARGEST = 2**63 - 1  # of MPI_Count


def wrong_type(function: str, argument: str, expected: str, value: Any) -> ArgumentTypeError:
    """Make the exception for an argument of a wrong type."""
    return ArgumentTypeError(f"{function}: argument {argument!r} must be {expected}, got {_gate.given(value)}.")


def integer(value: Any, function: str, argument: str, *, least: int | None = None, wrong: str = "ARG") -> int:
    """Return an integer argument as `int`; one below `least` is an error of the class `wrong`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_type(function, argument, "an integer", value) from None
    if abs(number) > _LARGEST:
        raise error("ARG", f"{function}: argument {argument!r} is {_gate.given(number)}; integers of MPI have 64 bits.")
    if least is not None and number < least:
        text = "it can't be negative" if least == 0 else f"the least is {least}"
        raise error(wrong, f"{function}: argument {argument!r} is {number}; {text}.")
    return number


def sequence(values: Any, function: str, argument: str, of: str) -> list[Any]:
    """Return the items of a sequence, which text and mappings are not."""
    if not isinstance(values, (str, bytes, dict)):
        try:
            return list(values)
        except TypeError:
            pass
    raise wrong_type(function, argument, f"a list of {of}", values)


def integers(values: Any, function: str, argument: str) -> list[int]:
    """Return a list of integers."""
    return [integer(each, function, argument) for each in sequence(values, function, argument, "integers")]


def items_of(values: Any, number: int, function: str, argument: str, of: str = "objects") -> list[Any]:
    """Return the items of a sequence with one for each rank or neighbour."""
    items = sequence(values, function, argument, of)
    if len(items) != number:
        noun = "1 item" if number == 1 else f"{number} items"
        raise ArgumentError(f"{function}: argument {argument!r} must have {noun}, one for each rank, got {len(items)}.")
    return items


def flag(value: Any, function: str, argument: str) -> bool:
    """Return the truth of anything, as mpi4py does; but refuse text, which says "no" and would count as true."""
    if isinstance(value, (str, bytes)) or (hasattr(value, "ndim") and not isinstance(value, np.generic)):
        raise wrong_type(function, argument, "True or False", value)
    return bool(value)


def text(value: Any, function: str, argument: str) -> str:
    """Return text."""
    if not isinstance(value, str):
        raise wrong_type(function, argument, "text", value)
    return value


def function_of(value: Any, function: str, argument: str) -> Any:
    """Return a function."""
    if not callable(value):
        raise wrong_type(function, argument, "a function", value)
    return value
