"""Arrays whose entries along one axis belong to keys, cells or a mask: the checks that sorting and compaction share."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from cunumpy._backend import BackendType

    Layout = tuple[tuple[int, ...], np.dtype[Any]]


def backend_of(function: str, leading: str, value: Any, arrays: tuple[Any, ...], **others: Any) -> BackendType:
    """Return the backend of a call; see `cunumpy._gate.common_backend`."""
    if type(value) is np.ndarray and all(type(array) is np.ndarray for array in arrays):  # nearly always
        if all(other is None or type(other) is np.ndarray for other in others.values()):
            return "numpy"
    numbered = {name_of(i): array for i, array in enumerate(arrays)}
    return _gate.common_backend(function, **{leading: value}, **numbered, **others)


def name_of(index: int) -> str:
    """Give the name of one of the arrays in messages."""
    return f"arrays[{index}]"


def as_axis(axis: Any, function: str) -> int:
    """Return an axis as an int."""
    try:
        return operator.index(axis)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument 'axis' must be an integer, got {_gate.describe(axis)}."
        ) from None


def axis_of(array: Any, axis: int, n: int, *, function: str, argument: str, leading: str) -> int:
    """Return which axis of an array has an entry for each of the `n` of the leading argument, counted from the front."""
    ndim = array.ndim
    if not -ndim <= axis < ndim:
        raise ArgumentError(
            f"{function}: argument {argument!r} has no axis {axis} (shape {array.shape}); choose another axis, or reshape "
            "the array."
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
    out: Any, layouts: list[Layout], names: list[str], inputs: dict[str, Any], *, function: str, on_device: bool
) -> list[Any]:
    """Check what results are to be written to: a sequence with an array, or None, for each of them.

    Every array has exactly the shape and dtype of its result, is C-contiguous and writable, and shares no memory with an
    input or another output. Nothing is written.
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
        if array is None:
            continue
        argument = f"out[{index}]"
        if not on_device:
            _gate.refuse_masked(array, function=function, argument=argument)
        if not (_arrays.is_device_array(array) if on_device else isinstance(array, np.ndarray)):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be {'a CuPy' if on_device else 'a NumPy'} array or None, got "
                f"{_gate.describe(array)}."
            )
        if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
            strided = "" if array.flags.c_contiguous else ", strided"
            raise ArgumentError(
                f"{function}: argument {argument!r} must be a C-contiguous array of shape {shape} and dtype {dtype} for "
                f"{names[index]}, got {_gate.describe(array)}{strided}."
            )
        if not on_device:
            _gate.check_writable(array, function=function, argument=argument)
        for other, value in taken.items():
            if value is not None and _gate.overlap(array, value):
                raise ArgumentError(
                    f"{function}: arguments {argument!r} and {other!r} share memory; results need memory of their own."
                )
        taken[argument] = array
    return list(out)
