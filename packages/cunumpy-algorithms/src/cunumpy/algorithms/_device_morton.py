"""Morton and Hilbert keys of CuPy arrays: one kernel launch for each call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _conversion
from cunumpy.algorithms._c_types import c_type
from cunumpy.cuda._axes import merged_axes
from cunumpy.cuda._device_code import DeviceCode

if TYPE_CHECKING:
    from collections.abc import Sequence

_CODE = DeviceCode("cunumpy.algorithms", "morton.cu")

_MAX_AXES = 8
_LAYOUT = np.dtype(  # struct Layout of morton.cu
    [
        ("shape", np.int64, _MAX_AXES),
        ("strides", np.int64, (3, _MAX_AXES)),
        ("constants", np.uint64, 3),
        ("types", np.int32, 3),
        ("ndim", np.int32),
    ]
)
_NULL = np.uint64(0)


def point_keys(
    positions: Any,
    lower: np.ndarray,
    scale: np.ndarray,
    levels: int,
    hilbert: bool,
    keys: Any,
    *,
    dtype: np.dtype[Any],
    check: bool,
    function: str,
) -> tuple[int, int]:
    """Write the keys of points (n, ndim); without `keys` only look for NaN.

    Returns
    -------
    count, first : int
        How many points have a NaN, and which is the first; (0, 0) without `check`.
    """
    n, ndim = positions.shape
    faults = _new_faults(check)
    padding = [0.0] * (3 - ndim)
    _CODE.launch(
        f"point_keys<{c_type(positions.dtype)}, {c_type(dtype)}, {ndim}, {_truth(hilbert)}>",
        n,
        (
            positions,
            *map(np.int64, positions.strides),
            *map(np.float64, [*lower, *padding, *scale, *padding]),
            np.int32(levels),
            _NULL if keys is None else keys,
            _NULL if faults is None else faults,
            np.int64(n),
        ),
    )
    return _read_faults(faults, n, function)


def cell_keys(
    cells: Sequence[Any],
    shape: tuple[int, ...],
    levels: int,
    hilbert: bool,
    keys: Any,
    *,
    dtype: np.dtype[Any],
    check: bool,
    function: str,
) -> tuple[int, int]:
    """Write the keys of cells, given as integer arrays that broadcast to `shape` or as Python integers.

    Without `keys` only look for cells above ``2**levels - 1``; the result is that of `point_keys`.
    """
    n = math.prod(shape)
    faults = _new_faults(check)
    operands, layout = _layout(cells, shape)
    _CODE.launch(
        f"cell_keys<{c_type(dtype)}, {len(cells)}, {_truth(hilbert)}>",
        n,
        (
            *operands,
            layout,
            np.int32(levels),
            _NULL if keys is None else keys,
            _NULL if faults is None else faults,
            np.int64(n),
        ),
    )
    return _read_faults(faults, n, function)


def key_cells(
    keys: Any, levels: int, hilbert: bool, cells: Sequence[Any], *, last: int, check: bool, function: str
) -> tuple[int, int]:
    """Write the cells of keys; with `check` count those above `last`, as `point_keys` does."""
    faults = _new_faults(check)
    operands, layout = _layout([keys], keys.shape)
    _CODE.launch(
        f"key_cells<{c_type(cells[0].dtype)}, {len(cells)}, {_truth(hilbert)}>",
        keys.size,
        (
            operands[0],
            layout,
            np.int32(levels),
            np.uint64(last),
            *cells,
            *[_NULL] * (3 - len(cells)),
            _NULL if faults is None else faults,
            np.int64(keys.size),
        ),
    )
    return _read_faults(faults, keys.size, function)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _new_faults(check: bool) -> Any:
    return _backend.require_cupy("cunumpy.algorithms").zeros(2, np.uint64) if check else None


def _read_faults(faults: Any, n: int, function: str) -> tuple[int, int]:
    if faults is None:
        return 0, 0
    count, from_end = _conversion.copy_to_host(faults, function).tolist()
    return count, n - from_end


def _layout(cells: Sequence[Any], shape: tuple[int, ...]) -> tuple[list[Any], np.void]:
    """Return three pointers, and how elements are found from them."""
    cupy = _backend.require_cupy("cunumpy.algorithms")
    arrays = {k: cupy.broadcast_to(cell, shape) for k, cell in enumerate(cells) if not isinstance(cell, int)}
    axes = merged_axes(shape, [array.strides for array in arrays.values()])
    if len(axes) > _MAX_AXES:
        arrays = {k: cupy.ascontiguousarray(array) for k, array in arrays.items()}
        axes = merged_axes(shape, [array.strides for array in arrays.values()])
    layout: Any = np.zeros((), _LAYOUT)
    layout["ndim"] = len(axes)
    for axis, (length, strides) in enumerate(axes):
        layout["shape"][axis] = length
        for k, stride in zip(arrays, strides, strict=True):
            layout["strides"][k, axis] = stride
    for k, cell in enumerate(cells):
        if k in arrays:
            layout["types"][k] = cell.dtype.itemsize if cell.dtype.kind == "i" else -cell.dtype.itemsize
        else:
            layout["constants"][k] = cell % 2**64
    return [arrays.get(k, _NULL) for k in range(3)], layout[()]
