"""Arrays whose entries along one axis belong to keys, cells or a mask: the checks that sorting and compaction share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from cunumpy._backend import BackendType

    Layout = tuple[tuple[int, ...], np.dtype[Any]]


def backend_of(function: str, leading: str, value: Any, arrays: tuple[Any, ...], **others: Any) -> BackendType:
    """Return the backend of a call; see `cunumpy._gate.common_backend`."""
    if type(value) is np.ndarray and all(type(a) is np.ndarray or a is None for a in (*arrays, *others.values())):
        return "numpy"  # nearly always
    numbered = {name_of(i): array for i, array in enumerate(arrays)}
    return _gate.common_backend(function, **{leading: value}, **numbered, **others)


def name_of(index: int) -> str:
    """Give the name of one of the arrays in messages."""
    return f"arrays[{index}]"


def axis_of(array: Any, axis: int, n: int, *, function: str, argument: str, leading: str) -> int:
    """Return which axis of an array, from the front, has an entry for each of the `n` of the leading argument."""
    ndim: int = array.ndim
    if not -ndim <= axis < ndim:
        raise ArgumentError(
            f"{function}: argument {argument!r} has no axis {axis} (shape {array.shape}); choose another axis, or "
            "reshape the array."
        )
    if array.shape[axis] != n:
        raise ArgumentError(
            f"{function}: argument {argument!r} must have {n} entries along axis {axis}, as {leading!r} has, got "
            f"{array.shape[axis]} (shape {array.shape})."
        )
    return axis % ndim


def plain(array: np.ndarray) -> np.ndarray:
    """Give a memory-mapped array as an ordinary one; other subclasses may mean something."""
    return np.asarray(array) if isinstance(array, np.memmap) else array


def as_outputs(
    out: Any, layouts: list[Layout], names: list[str], inputs: dict[str, Any], *, function: str, backend: BackendType
) -> list[Any]:
    """Check what results are to be written to: a sequence with an array, or None, for each of them.

    They share memory neither with an input nor with each other. Nothing is written.
    """
    if out is None:
        return [None] * len(layouts)
    expected = f"a sequence of {len(layouts)} arrays or None, for {', '.join(names)}"
    if not isinstance(out, (list, tuple)):
        raise ArgumentTypeError(f"{function}: argument 'out' must be {expected}, got {_gate.describe(out)}.")
    if len(out) != len(layouts):
        raise ArgumentError(f"{function}: argument 'out' must be {expected}, got {len(out)} entries.")
    taken = dict(inputs)
    for index, (array, (shape, dtype)) in enumerate(zip(out, layouts, strict=True)):
        if array is not None:
            argument = f"out[{index}]"
            _gate.check_output(
                array,
                shape=shape,
                dtype=dtype,
                backend=backend,
                function=function,
                argument=argument,
                inputs=taken,
            )
            taken[argument] = array
    return list(out)
