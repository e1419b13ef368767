"""Checks of arguments that the functions on segments share."""

from __future__ import annotations

import math
from typing import Any

from cunumpy import _arrays, _gate
from cunumpy.errors import ArgumentError

_MOST = 2**58
"""Entries of up to 16 bytes that NumPy can count the bytes of."""


def count_of(value: Any, function: str, argument: str) -> int:
    """Turn a number of segments or cells into an int."""
    count = _gate.as_integer(value, function=function, argument=argument)
    if count < 0:
        raise ArgumentError(f"{function}: argument {argument!r} must be non-negative, got {count}.")
    if count > _MOST:
        raise ArgumentError(
            f"{function}: argument {argument!r} must be at most 2**58, got {count}, which no array can have."
        )
    return count


def check_size(shape: tuple[int, ...], function: str, argument: str) -> None:
    """Refuse a number of segments with which the result, or a sum on the way to it, could be no array."""
    if math.prod(shape) > _MOST:
        raise ArgumentError(
            f"{function}: argument {argument!r} is {shape[0]}, which gives a result of shape {shape}; it must have at "
            "most 2**58 entries."
        )


def integers(value: Any, function: str, argument: str, *, ndim: int | None = 1) -> Any:
    """Turn keys into a contiguous, aligned integer array of native byte order, where they are."""
    if _arrays.is_device_array(value):
        array = value
        if array.dtype.kind not in "iu":
            _gate.refuse_non_integer(value, array.dtype, function=function, argument=argument)
    else:
        array = _gate.as_integer_array(value, function=function, argument=argument)
    if ndim is not None and array.ndim != ndim:
        raise ArgumentError(
            f"{function}: argument {argument!r} must be {ndim}D, got {array.ndim} dimension(s) (shape {array.shape})."
        )
    if array.flags.c_contiguous and (_arrays.is_device_array(array) or array.flags.aligned):
        return array
    return array.copy(order="C")
