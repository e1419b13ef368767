"""Sorting and compaction on CuPy arrays: CuPy's stable argsort, a launch a result, and no unrecorded copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _conversion, _gate
from cunumpy.algorithms import _device_segments, _sort
from cunumpy.algorithms._entries import as_outputs, name_of
from cunumpy.cuda._device_code import check_devices
from cunumpy.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

_INT64 = np.dtype(np.int64)


def sort_by_key(
    keys: Any, arrays: tuple[Any, ...], axis: Any, order: Any, descending: bool, out: Any
) -> tuple[Any, ...]:
    """Do `cunumpy.algorithms.sort_by_key` for device arrays."""
    import cupy

    function = "sort_by_key"
    if order is not None and descending:
        _sort._refuse_descending()
    _require_arrays(function, keys=keys, order=order, **{name_of(i): array for i, array in enumerate(arrays)})
    _sort._check_1d(keys, function, "keys")
    n = keys.shape[0]
    axes = _sort._axes(arrays, axis, n, function, "keys")
    if order is not None:
        if order.dtype.kind not in "iu":
            _gate.refuse_non_integer(order, order.dtype, function=function, argument="order")
        _sort._check_order(order, n)
    inputs = {"keys": keys, "order": order} | {name_of(i): array for i, array in enumerate(arrays)}
    names = ["sorted_keys", "order"]
    new_keys, new_order, *outputs = _outputs(out, [((n,), keys.dtype), ((n,), _INT64)], names, arrays, inputs, function)
    if order is None:
        order = cupy.argsort(_descending_keys(keys) if descending else keys)
    if order.dtype != _INT64:
        order = order.astype(_INT64)
    if new_order is not None:
        new_order[...] = order
        order = new_order
    pieces = zip((keys, *arrays), (0, *axes), (new_keys, *outputs), strict=True)
    sorted_keys, *sorted_arrays = [cupy.take(array, order, axis=where, out=target) for array, where, target in pieces]
    return sorted_keys, order, *sorted_arrays


def sort_by_cell(
    cells: Any, n_cells: int, arrays: tuple[Any, ...], axis: Any, check: bool, out: Any
) -> tuple[Any, ...]:
    """Do `cunumpy.algorithms.sort_by_cell` for device arrays."""
    import cupy

    function = "sort_by_cell"
    _require_arrays(function, cells=cells, **{name_of(i): array for i, array in enumerate(arrays)})
    if cells.dtype.kind not in "iu":
        _gate.refuse_non_integer(cells, cells.dtype, function=function, argument="cells")
    _sort._check_1d(cells, function, "cells")
    n = cells.shape[0]
    axes = _sort._axes(arrays, axis, n, function, "cells")
    inputs = {"cells": cells} | {name_of(i): array for i, array in enumerate(arrays)}
    layouts = [((n_cells + 1,), _INT64), ((n,), _INT64)]
    offsets, new_order, *outputs = _outputs(out, layouts, ["offsets", "order"], arrays, inputs, function)
    order = cupy.argsort(cells)
    sorted_cells = cupy.take(cells, order)
    if check and n:
        ends = _conversion.copy_to_host(sorted_cells[:: max(n - 1, 1)], function)  # the first and the last
        if int(ends[0]) < 0 or int(ends[-1]) >= n_cells:
            wrong = cupy.argmax((cells < 0) | (cells >= n_cells))
            numbers = cupy.stack([wrong.astype(np.uint64), cells[wrong].astype(np.uint64)])  # of 64 bits, whatever sign
            index, cell = _conversion.copy_to_host(numbers, function)
            _sort.refuse_cell(int(index), int(cell.astype(cells.dtype)), n_cells)
    if offsets is None:
        offsets = cupy.empty(n_cells + 1, dtype=_INT64)
    _device_segments.cell_offsets_into(offsets, sorted_cells, None)
    if new_order is not None:
        new_order[...] = order
        order = new_order
    pieces = zip(arrays, axes, outputs, strict=True)
    return offsets, order, *[cupy.take(array, order, axis=where, out=target) for array, where, target in pieces]


def compact(mask: Any, targets: list[tuple[Any, int]]) -> int:
    """Do `cunumpy.algorithms.compact_by_mask` for device arrays that have been checked."""
    import cupy

    check_devices("compact_by_mask", mask=mask, **{name_of(i): array for i, (array, _) in enumerate(targets)})
    found: list[Any] = []
    _conversion.wait(lambda: found.append(cupy.flatnonzero(mask)), f"compact_by_mask(shape={mask.shape})")
    kept = found[0]
    count = int(kept.size)
    if count < mask.shape[0]:  # else everything is in place
        for array, axis in targets:
            front = (slice(None),) * axis + (slice(count),)
            array[front] = cupy.take(array, kept, axis=axis)
    return count


def _require_arrays(function: str, **values: Any) -> None:
    """Refuse the scalars that the check of backends lets pass, and arrays of other devices."""
    from cunumpy import _arrays

    for argument, value in values.items():
        if value is not None and not _arrays.is_device_array(value):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be a CuPy array like the others, got {_gate.describe(value)}."
            )
    for argument in ("keys", "cells"):
        if argument in values and values[argument] is None:
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be a CuPy array like the others, got None."
            )
    check_devices(function, **values)


def _descending_keys(keys: Any) -> Any:
    """Give keys whose ascending stable order is the descending one of these; NaN stays NaN, and so the last."""
    return ~keys if keys.dtype.kind in "biu" else -keys


def _outputs(
    out: Any, layouts: list[Any], names: list[str], arrays: Sequence[Any], inputs: dict[str, Any], function: str
) -> list[Any]:
    names = names + [f"the sorted {name_of(i)}" for i in range(len(arrays))]
    layouts = layouts + [(array.shape, array.dtype) for array in arrays]
    outputs = as_outputs(out, layouts, names, inputs, function=function, backend="cupy")
    check_devices(function, **{f"out[{i}]": array for i, array in enumerate(outputs)})
    return outputs
