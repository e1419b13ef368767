"""What a call of a public function is, and what the modules of calls share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cunumpy.errors import CuNumpyError


@dataclass(frozen=True)
class Call:
    """A call of a public function.

    Attributes
    ----------
    run : callable
        Takes the arrays by name, and returns the results, those written in place among them.
    arrays : dict of str to numpy.ndarray
        The arguments, by the names that errors have for them.
    expected : callable
        Takes the same, and returns what the results have to be.
    plain : tuple of str
        The parameters that take no arrays.
    own : tuple of str
        Names in `arrays` and `plain` that are no parameters (those of a kernel of the test).
    written : tuple of str
        The arguments that are written to.
    takes : dict
        By argument, the kinds that count as no array and are taken all the same; "anything" for all.
    any_dtype : tuple of str
        The arguments whose elements are moved and not looked at.
    skip : dict
        By argument, the kinds whose meaning is not a matter of arrays.
    function : str
        What errors call the function, if not its name; a regular expression.
    names : dict of str to str
        What errors call an argument, if not its name; regular expressions.
    errors : tuple of type
        The errors that may be raised.
    own_words : bool
        Whether numbers of an unfit shape or dtype are refused by the library that does the work, in its words.
    rtol : float
        How far results may be from the definition.
    dtypes : bool
        Whether the definition gives dtypes, too.
    """

    run: Callable[..., Any]
    arrays: dict[str, np.ndarray]
    expected: Callable[..., Any]
    plain: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    takes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skip: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    any_dtype: tuple[str, ...] = ()
    function: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[type[Exception], ...] = (CuNumpyError,)
    own_words: bool = False
    rtol: float = 0
    dtypes: bool = True


CALLS: dict[str, Call] = {}
OPTIONAL = ("None",)
ROWS = np.arange(12.0).reshape(6, 2) - 5.5
FLOATS = np.array([2.5, -1.0, 0.25, 7.0, -3.5, 0.0])
OUTS = ("out[0]", "out[1]", "out[2]")
ANYTHING = ("anything",)
ONE_NUMBER = ("0-d", "scalar", "NumPy scalar")


def require(condition: Any) -> None:
    """Raise where arguments make no sense together."""
    if not condition:
        raise ValueError


def integers(*arrays: Any) -> None:
    for array in arrays:
        require(array.dtype.kind in "iu")


def numbers(*arrays: Any, kinds: str = "biufc") -> None:
    for array in arrays:
        require(array.dtype.kind in kinds)


def into(result: Any, out: Any) -> Any:
    if out is not None:
        require(out.shape == result.shape and out.dtype == result.dtype)
    return result


def itself(array: Any) -> Any:
    return array
