"""Compaction: the entries that a mask keeps move to the front."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.algorithms import _host
from cunumpy.algorithms._entries import axis_of, backend_of, name_of
from cunumpy.errors import ArgumentError, ArgumentTypeError

_FUNCTION = "compact_by_mask"


def compact_by_mask(mask: Any, *arrays: Any, axis: int = 0) -> int:
    """Move the entries that a mask keeps to the front of arrays, in place and in order.

    Parameters
    ----------
    mask : array_like of bool, shape (n,)
        True for the entries to keep. It may itself be among the arrays.
    *arrays : array
        Writable arrays, each with `n` entries along `axis`, of any dtype and layout. All on the backend of the mask. An
        array that is given twice is compacted once.
    axis : int, default: 0
        The axis of the entries in every array; ``-1`` is the last one of each.

    Returns
    -------
    int
        The number of entries kept. What lies behind them in the arrays is unspecified.

    Raises
    ------
    ArgumentError
        A mask that is not 1D; another number of entries or no such axis; a read-only array; arrays that share memory
        without being the same. Nothing has been changed then.
    ArgumentTypeError
        A mask that is not boolean, or what is no array and could not be changed in place.
    MixedBackendError
        Host and device arrays in one call.

    Notes
    -----
    On the host nothing is allocated but a few bytes for each 4096 entries. On the device the call waits once, for the
    number of entries, which is recorded as ``sync``; then each array takes a gather and a copy, with temporary memory
    for what is kept of it.

    Examples
    --------
    >>> import cunumpy as xp
    >>> position = xp.asarray([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]])
    >>> weight = xp.asarray([1.0, 2.0, 3.0])
    >>> n = xp.algorithms.compact_by_mask([True, False, True], position, weight)
    >>> weight[:n]
    array([1., 3.])
    """
    on_device = backend_of(_FUNCTION, "mask", mask, arrays) == "cupy"
    if not on_device:
        mask = _as_mask(mask)
    elif not _arrays.is_device_array(mask):
        raise ArgumentTypeError(
            f"{_FUNCTION}: argument 'mask' must be a CuPy array like the others, got {_gate.describe(mask)}."
        )
    if mask.dtype.kind != "b":
        raise ArgumentTypeError(
            f"{_FUNCTION}: argument 'mask' must be boolean, got {_gate.describe(mask)}; make it one by a "
            "comparison, such as index >= 0."
        )
    if mask.ndim != 1:
        raise ArgumentError(f"{_FUNCTION}: argument 'mask' must be 1D, got shape {mask.shape}.")
    wanted = _gate.as_integer(axis, function=_FUNCTION, argument="axis")
    targets: list[tuple[Any, int]] = []
    for i, given in enumerate(arrays):
        array = _as_target(given, name_of(i), on_device)
        where = axis_of(array, wanted, mask.shape[0], function=_FUNCTION, argument=name_of(i), leading="mask")
        if not on_device:
            _gate.check_writable(array, function=_FUNCTION, argument=name_of(i))
        targets.append((array, where))
    targets = _different(targets)
    if on_device:
        from cunumpy.algorithms import _device_sort

        return _device_sort.compact(mask, targets)
    if any(_gate.overlap(mask, array) for array, _ in targets):
        mask = mask.copy()  # it is read while its memory changes
    return _host.sort.compact(np.ascontiguousarray(mask), targets)


def _as_mask(mask: Any) -> np.ndarray:
    array = _gate.as_host_array(mask, function=_FUNCTION, argument="mask", dtype_kinds="biufcSUTMmVO")
    return array.astype(bool) if array.size == 0 and isinstance(mask, (list, tuple)) else array


def _as_target(array: Any, argument: str, on_device: bool) -> Any:
    """Check that an array can be changed in place; host arrays come back without their subclass."""
    if on_device and _arrays.is_device_array(array):
        return array
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(
            f"{_FUNCTION}: argument {argument!r} must be an array, because it is changed in place, got "
            f"{_gate.describe(array)}."
        )
    if _gate.is_masked(array):
        raise ArgumentTypeError(
            f"{_FUNCTION}: argument {argument!r} is a masked array ({_gate.describe(array)}); pass its .data and "
            "its .mask as two arrays."
        )
    return np.asarray(array)


def _different(targets: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Leave out arrays that are given again; refuse those that share memory otherwise."""
    seen: dict[Any, int] = {}
    kept: list[tuple[Any, int]] = []
    for i, (array, axis) in enumerate(targets):
        if _overlaps_itself(array):
            raise ArgumentError(
                f"{_FUNCTION}: argument {name_of(i)!r} has several entries in one place of memory (shape "
                f"{array.shape}, strides {array.strides}); pass a copy of it."
            )
        pointer = array.data.ptr if _arrays.is_device_array(array) else array.__array_interface__["data"][0]
        identity = (pointer, array.shape, array.strides, array.dtype)
        if identity in seen:
            continue
        for other in seen.values():
            if _gate.overlap(array, targets[other][0]):
                raise ArgumentError(
                    f"{_FUNCTION}: arguments {name_of(other)!r} and {name_of(i)!r} share memory without being the same "
                    "array; pass only one of them, or a copy."
                )
        seen[identity] = i
        kept.append((array, axis))
    return kept


def _overlaps_itself(array: Any) -> bool:
    """Tell whether entries of an array share memory, as those of broadcast or sliding views do."""
    extent = array.itemsize
    if array.flags.c_contiguous or array.size == 0:
        return False
    for length, stride in sorted(zip(array.shape, map(abs, array.strides), strict=True), key=lambda axis: axis[1]):
        if length > 1:
            if stride < extent:
                return True
            extent += (length - 1) * stride
    return False
