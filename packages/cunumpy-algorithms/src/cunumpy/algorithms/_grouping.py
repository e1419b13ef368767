"""Grouping of sorted keys: where the runs are, where each cell begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.algorithms import _device_segments as _device
from cunumpy.algorithms._arguments import count_of, integers
from cunumpy.algorithms._host import segments as _host
from cunumpy.cuda._device_code import check_devices
from cunumpy.errors import ArgumentError


def segment_boundaries(sorted_keys: Any) -> tuple[Any, Any, Any]:
    """Find the runs of equal keys in sorted keys.

    Parameters
    ----------
    sorted_keys : array_like, shape (n,)
        Integers of any dtype that never decrease.

    Returns
    -------
    unique_keys : array, shape (runs,)
        The key of each run, in the dtype of the keys.
    starts, stops : array of int64, shape (runs,)
        Run ``i`` are the entries ``starts[i]:stops[i]``.

    Raises
    ------
    ArgumentError
        Keys that are not 1-D, or not sorted.
    ArgumentTypeError
        Keys that are no integers.

    Notes
    -----
    On the device the number of runs is read, and with the same recorded ``to_host`` whether the keys are sorted. There
    are two launches with a running sum between them, which need 16 bytes a key.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.segment_boundaries([2, 2, 5, 7, 7])
    (array([2, 5, 7]), array([0, 2, 3]), array([2, 3, 5]))
    """
    function = "segment_boundaries"
    backend = _gate.common_backend(function, sorted_keys=sorted_keys)
    keys = integers(sorted_keys, function, "sorted_keys")
    if backend == "cupy":
        check_devices(function, sorted_keys=keys)
        device = _device.find_boundaries(keys, function)
        if device is not None:
            return device
        raise ArgumentError(
            f"{function}: argument 'sorted_keys' is not sorted; sort it first, for instance by sort_by_key."
        )
    found = _host.find_boundaries(keys)
    if isinstance(found, tuple):
        return found
    raise ArgumentError(
        f"{function}: argument 'sorted_keys' is not sorted: {keys[found]} at position {found} comes after "
        f"{keys[found - 1]}; sort it first, for instance by sort_by_key."
    )


def cell_offsets(sorted_cells: Any, n_cells: int, *, check: bool = True) -> Any:
    """Find where each cell begins among sorted cell numbers.

    Parameters
    ----------
    sorted_cells : array_like, shape (n,)
        Integers of any dtype that never decrease, from 0 to ``n_cells - 1``.
    n_cells : int
        The number of cells.
    check : bool, default: True
        On the device, whether to check that the cells are sorted and in range: one number is read, a recorded
        ``to_host``. Unchecked cells that are wrong give wrong offsets. The host always checks, in the same pass.

    Returns
    -------
    array of int64, shape (n_cells + 1,)
        Cell ``k`` are the entries ``offsets[k]:offsets[k + 1]``, none if it is empty.

    Raises
    ------
    ArgumentError
        Cells that are not 1-D, not sorted or out of range, or a negative `n_cells`.
    ArgumentTypeError
        Cells or an `n_cells` that are no integers.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.cell_offsets([0, 0, 2, 2, 2], 4)
    array([0, 2, 2, 5, 5])
    """
    function = "cell_offsets"
    check = _gate.as_truth(check, function=function, argument="check")
    backend = _gate.common_backend(function, sorted_cells=sorted_cells)
    cells = integers(sorted_cells, function, "sorted_cells")
    count = count_of(n_cells, function, "n_cells")
    if backend == "numpy":
        offsets = np.empty(count + 1, np.int64)
        _refuse_cell(function, _host.cell_offsets_into(offsets, cells), cells, count)
        return offsets
    import cupy

    check_devices(function, sorted_cells=cells)
    result = cupy.empty(count + 1, dtype=np.int64)
    flag = _device.new_flag() if check else None
    _device.cell_offsets_into(result, cells, flag)
    if flag is not None:
        _refuse_cell(function, _device.flagged_row(flag, cells.size, function), cells, count)
    return result


def _refuse_cell(function: str, row: int, cells: Any, n_cells: int) -> None:
    if row < 0:
        return
    pair = cells[max(row - 1, 0) : row + 1]
    pair = [int(cell) for cell in (_conversion.copy_to_host(pair, function) if _arrays.is_device_array(pair) else pair)]
    if 0 <= pair[-1] < n_cells:
        raise ArgumentError(
            f"{function}: argument 'sorted_cells' is not sorted: {pair[-1]} at position {row} comes after {pair[0]}; "
            "sort it first, for instance by sort_by_key."
        )
    raise ArgumentError(
        f"{function}: argument 'sorted_cells' holds {pair[-1]} at position {row}, but every cell must be at least 0 "
        f"and smaller than n_cells = {n_cells}."
    )
