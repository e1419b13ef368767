"""Adding to chosen entries of an array, each as often as it is named."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.algorithms import _device_segments as _device
from cunumpy.algorithms._arguments import integers
from cunumpy.algorithms._host import segments as _host
from cunumpy.cuda._device_code import check_devices
from cunumpy.errors import ArgumentError, ArgumentTypeError

_FUNCTION = "scatter_add"


def scatter_add(out: Any, index: Any, values: Any, *, check: bool = False) -> None:
    """Add values to the entries of an array that an index names: ``out[index] += values`` where repetitions count.

    The same on both backends as `numpy.add.at` on the host and ``cupyx.scatter_add`` on the device.

    Parameters
    ----------
    out : array, shape (n_1, n_2, ...)
        Integer, floating point or complex; is changed in place.
    index : array_like of int, or tuple of these
        Positions along the first axis, or for a tuple along the first axes; the arrays of a tuple are broadcast.
        Negative ones count from the end.
    values : array_like
        Can be broadcast to ``out[index].shape``, and cast to the dtype of `out` by NumPy's rule ``same_kind``;
        converted to that dtype first.
    check : bool, default: False
        On the device, whether to raise for positions that are out of range, before anything is written: one number is
        read, a recorded ``to_host``. By default their entries are left out. The host always checks.

    Raises
    ------
    ArgumentError
        A position that is out of range, shapes that don't fit, a read-only `out`, or one that overlaps `values` or
        `index` in memory. Nothing has been changed then.
    ArgumentTypeError
        An `out` that is no array of numbers, an index of no integers, values of another kind than `out`, or arrays of
        two backends.

    Notes
    -----
    Additions are done in the dtype of `out`, on the host in the order of the index, on the device atomically in any
    order; integers wrap around. `segment_sum` adds float16 and float32 in a wider type. An `out` that is not
    C-contiguous is copied on the device and back.

    Examples
    --------
    >>> import cunumpy as xp
    >>> density = xp.zeros(3)
    >>> xp.algorithms.scatter_add(density, [0, 2, 0], [1.0, 2.0, 4.0])
    >>> density
    array([5., 0., 2.])
    >>> grid = xp.zeros((2, 2), dtype=int)
    >>> xp.algorithms.scatter_add(grid, ([0, 1, 1], [1, -1, 1]), 1)
    >>> grid
    array([[0, 1],
           [0, 2]])
    """
    check = _gate.as_truth(check, function="scatter_add", argument="check")
    indices = list(index) if isinstance(index, tuple) else [index]
    names = [f"index[{axis}]" for axis in range(len(indices))] if isinstance(index, tuple) else ["index"]
    backend = _gate.common_backend(_FUNCTION, out=out, **dict(zip(names, indices, strict=True)), values=values)
    _check_target(out, len(indices))
    arrays = [integers(one, _FUNCTION, name, ndim=None) for one, name in zip(indices, names, strict=True)]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        raise ArgumentError(
            f"{_FUNCTION}: the arrays of argument 'index' must have shapes that can be broadcast, got "
            f"{', '.join(str(array.shape) for array in arrays)}."
        ) from None
    row = out.shape[len(arrays) :]
    added = _values(values, out, shape + row, backend)
    for argument, value in (*zip(names, arrays, strict=True), ("values", added)):
        if _gate.overlap(out, value):
            raise ArgumentError(
                f"{_FUNCTION}: argument 'out' overlaps argument {argument!r} in memory, which is read while 'out' is "
                f"written; pass a copy, {argument}.copy()."
            )
    if backend == "numpy":
        _on_host(out, arrays, names, added, shape, row)
    else:
        _on_device(out, arrays, names, added, shape, row, check)


def _check_target(out: Any, axes: int) -> None:
    device = _arrays.is_device_array(out)
    if not device and not isinstance(out, np.ndarray):
        raise ArgumentTypeError(
            f"{_FUNCTION}: argument 'out' is changed in place and must be an array, got {_gate.describe(out)}."
        )
    _gate.refuse_masked(out, function=_FUNCTION, argument="out")
    if out.dtype.kind not in "iufc":
        raise ArgumentTypeError(
            f"{_FUNCTION}: argument 'out' has dtype {out.dtype}, expected integer, floating or complex."
        )
    if not 0 < axes <= out.ndim:
        raise ArgumentError(
            f"{_FUNCTION}: argument 'index' is for {axes} axes, argument 'out' has {out.ndim} (shape {out.shape})."
        )
    if not device:
        _gate.check_writable(out, function=_FUNCTION, argument="out")
    if _gate.overlaps_itself(out):
        raise ArgumentError(
            f"{_FUNCTION}: argument 'out' has several entries in one place of memory (shape {out.shape}, strides "
            f"{out.strides}); pass a copy of it."
        )


def _values(values: Any, out: Any, shape: tuple[int, ...], backend: str) -> Any:
    """Take values that can be cast to the dtype of `out` and broadcast to the shape; the rest is for later."""
    dtype = out.dtype
    if backend == "cupy" and _arrays.is_device_array(values):
        array = values
    elif isinstance(values, (int, float, complex)) and not isinstance(values, np.generic):
        kinds = {bool: "b", int: "i", float: "f", complex: "c"}  # a Python number takes the dtype of the array
        kind = next(kind for of, kind in kinds.items() if isinstance(values, of))
        order = "biufc"
        if order.index(kind) > order.index(dtype.kind):
            _refuse_values(np.dtype(type(values)), dtype)
        try:
            with np.errstate(over="ignore"):
                array = np.asarray(dtype.type(values))
            if np.isinf(array) and not (kind in "fc" and cmath.isinf(values)):
                raise OverflowError
        except OverflowError:
            raise ArgumentError(
                f"{_FUNCTION}: argument 'values' is {values}, which dtype {dtype} of argument 'out' can't hold."
            ) from None
    else:
        array = _gate.as_host_array(values, function=_FUNCTION, argument="values", dtype_kinds="biufc")
        if array.size == 0 and isinstance(values, (list, tuple)):
            array = array.astype(dtype)
    if array.dtype.kind not in "biufc" or not np.can_cast(array.dtype, dtype, "same_kind"):
        _refuse_values(array.dtype, dtype)
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ArgumentError(
            f"{_FUNCTION}: argument 'values' has shape {array.shape}, which can't be broadcast to {shape}, the shape "
            "of out[index]."
        )
    return array


def _refuse_values(given: Any, dtype: Any) -> None:
    raise ArgumentTypeError(
        f"{_FUNCTION}: argument 'values' has dtype {given}, which can't be added to argument 'out' of dtype {dtype} "
        "without loss (NumPy's casting rule 'same_kind'); convert it with .astype(...)."
    )


def _on_host(
    out: np.ndarray,
    indices: list[np.ndarray],
    names: list[str],
    values: np.ndarray,
    shape: tuple[int, ...],
    row: tuple[int, ...],
) -> None:
    for axis, (index, name) in enumerate(zip(indices, names, strict=True)):
        first, _ = _host.check_keys(index.reshape(-1), out.shape[axis], wrap=True)
        if first >= 0:
            _refuse_position(index, first, name, axis, out.shape[axis])
    if math.prod(shape + row) == 0:
        return
    indices = [np.broadcast_to(index, shape) for index in indices]
    if len(indices) == 1 or not out.flags.c_contiguous:
        target, position = out, indices[0]
    else:
        extents = out.shape[: len(indices)]
        target = out.reshape(-1, *row)
        position = np.zeros(shape, np.int64)
        for index, extent in zip(indices, extents, strict=True):
            position *= extent
            position += np.where(index < 0, index.astype(np.int64) + extent, index.astype(np.int64))
    if len(indices) > 1 and target is out:
        with np.errstate(all="ignore"):
            np.add.at(out, tuple(indices), values.astype(out.dtype, copy=False))
        return
    n = math.prod(shape)
    if values.ndim <= len(row):  # the same for every index
        rows = np.broadcast_to(np.ascontiguousarray(np.broadcast_to(values, row), out.dtype), (n, *row))
    else:
        rows = np.broadcast_to(values, shape + row).reshape(n, *row)
    _host.scatter_into(target, np.ascontiguousarray(position.reshape(-1)), rows)


def _on_device(
    out: Any,
    indices: list[Any],
    names: list[str],
    values: Any,
    shape: tuple[int, ...],
    row: tuple[int, ...],
    check: bool,
) -> None:
    import cupy

    check_devices(_FUNCTION, out=out, **dict(zip(names, indices, strict=True)))
    if _arrays.is_device_array(values):
        check_devices(_FUNCTION, values=values)
    n, extents = math.prod(shape), out.shape[: len(indices)]
    flat = [cupy.ascontiguousarray(cupy.broadcast_to(index, shape)).reshape(-1) for index in indices]
    flag = _device.new_flag() if check else None
    if len(flat) == 1:
        position = flat[0]
        if flag is not None:
            _device.check_index(position, extents[0], flag)
    else:
        position = _device.linear_index(flat, extents, flag)
    if flag is not None:
        first = _device.flagged_row(flag, n, _FUNCTION)
        if first >= 0:
            for axis, (index, name) in enumerate(zip(flat, names, strict=True)):
                value = int(_conversion.copy_to_host(index[first : first + 1], _FUNCTION)[0])
                if not -extents[axis] <= value < extents[axis]:
                    _refuse_position(np.array([value]), 0, name, axis, extents[axis], shown=first)
    if n == 0 or math.prod(row) == 0:
        return
    if values.ndim <= len(row):
        rows = _filled(values, row, out.dtype)
        stride = 0
    else:
        rows = cupy.ascontiguousarray(cupy.broadcast_to(values, shape + row).astype(out.dtype, copy=False))
        stride = math.prod(row)
    parts = 2 if out.dtype.kind == "c" else 1
    target = cupy.ascontiguousarray(out)
    _device.scatter_into(target, math.prod(extents), position, rows, stride * parts, math.prod(row) * parts)
    if target is not out and not out.flags.c_contiguous:
        out[...] = target


def _filled(values: Any, row: tuple[int, ...], dtype: Any) -> Any:
    """Give one row; a number is filled in by a kernel, without a copy from the host."""
    import cupy

    if not _arrays.is_device_array(values):
        return cupy.full(row, values[()], dtype=dtype)
    return cupy.ascontiguousarray(cupy.broadcast_to(values, row).astype(dtype, copy=False))


def _refuse_position(
    index: np.ndarray, position: int, name: str, axis: int, extent: int, shown: int | None = None
) -> None:
    raise ArgumentError(
        f"{_FUNCTION}: argument {name!r} holds {index.reshape(-1)[position]} at position "
        f"{position if shown is None else shown}, which is out of range for axis {axis} of 'out' with {extent} entries."
    )
