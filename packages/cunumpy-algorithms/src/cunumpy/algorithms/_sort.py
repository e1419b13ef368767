"""Sorting by keys, and by cells with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy.algorithms import _host
from cunumpy.algorithms._arguments import count_of
from cunumpy.algorithms._entries import as_outputs, axis_of, backend_of, name_of, plain
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_INT64 = np.dtype(np.int64)


def sort_by_key(
    keys: Any,
    *arrays: Any,
    axis: int = 0,
    order: Any = None,
    descending: bool = False,
    out: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Sort keys stably, and put the entries of arrays in the same order.

    Parameters
    ----------
    keys : array_like, shape (n,)
        Of any dtype that can be sorted. NaN and NaT, and the masked entries of a masked array, come last; -0.0 equals
        0.0.
    *arrays : array_like
        Each with `n` entries along `axis`, of any dtype and layout. All on the backend of the keys.
    axis : int, default: 0
        The axis of the entries in every array; ``-1`` is the last one of each.
    order : array_like of int, shape (n,), optional
        An order that an earlier call returned: it is applied to the keys and arrays, and nothing is sorted. On the host
        an index out of range is refused; that every index occurs once is not checked.
    descending : bool, default: False
        Put the largest key first. Equal keys keep their order, and NaN still comes last.
    out : sequence, optional
        For each result a C-contiguous array of its shape and dtype to be written to, or None. They may not share memory
        with the inputs or each other.

    Returns
    -------
    sorted_keys : array (n,)
        In the dtype of the keys.
    order : array of int64 (n,)
        Where each sorted entry was: ``sorted_keys == keys[order]``.
    *sorted_arrays : array
        New C-contiguous arrays, or those in `out`.

    Raises
    ------
    ArgumentError
        Keys that are not 1D, another number of entries or no such axis, an unfit `order` or `out`.
    ArgumentTypeError
        Keys that can't be compared, or an `order` that is not of integers.
    MixedBackendError
        Host and device arrays in one call.

    Notes
    -----
    Bool, integers and floating point of up to 64 bits are sorted by a radix sort, which is quickest where the keys are
    sorted already or have few values; its working memory is 8 bytes a key. Other dtypes are sorted by NumPy. On the
    device this is CuPy's stable argsort, and one launch for each result.

    Examples
    --------
    >>> import cunumpy as xp
    >>> energy = xp.asarray([3.0, 1.0, 2.0])
    >>> position = xp.asarray([[0, 1], [2, 3], [4, 5]])
    >>> energy, order, position = xp.algorithms.sort_by_key(energy, position)
    >>> order, position
    (array([1, 2, 0]), array([[2, 3],
           [4, 5],
           [0, 1]]))
    """
    function = "sort_by_key"
    if descending is not False and descending is not True:
        if isinstance(descending, (list, tuple)):
            raise ArgumentTypeError(
                f"{function}: argument 'descending' must be True or False, for all keys, got {_gate.given(descending)}."
            )
        descending = _gate.as_truth(descending, function=function, argument="descending")
    quick = type(keys) is np.ndarray and not arrays and order is None and out is None and axis == 0
    if quick and keys.ndim == 1:
        found, sorted_keys = _argsort(keys, descending, None, None)
        return sorted_keys, found
    if backend_of(function, "keys", keys, arrays, order=order, **_numbered("out", out)) == "cupy":
        from cunumpy.algorithms import _device_sort

        return _device_sort.sort_by_key(keys, arrays, axis, order, descending, out)
    if order is not None and descending:
        _refuse_descending()
    source = _as_keys(keys)
    n = source.shape[0]
    payload = _as_payload(arrays, function)
    axes = _axes(payload, axis, n, function, "keys")
    given = None if order is None else _as_order(order, n)
    written: list[Any] = [None] * (2 + len(payload))
    if out is not None:
        inputs = {"keys": source, "order": given} | {name_of(i): array for i, array in enumerate(payload)}
        layouts = [(source.shape, source.dtype), ((n,), _INT64)]
        written = _host_outputs(out, layouts, payload, inputs, function)
    if given is None:
        given, sorted_keys = _argsort(source, descending, written[1], written[0])
    else:
        sorted_keys = _take(source, given, 0, written[0])
        if written[1] is not None:
            written[1][...] = given
            given = written[1]
    return sorted_keys, given, *map(_take, payload, [given] * len(payload), axes, written[2:])


def sort_by_cell(
    cells: Any, n_cells: int, *arrays: Any, axis: int = 0, check: bool = True, out: Sequence[Any] | None = None
) -> tuple[Any, ...]:
    """Sort entries by their cell, stably, and tell where each cell begins.

    Parameters
    ----------
    cells : array_like of int, shape (n,)
        The cell of each entry, from 0 to ``n_cells - 1``.
    n_cells : int
        Number of cells.
    *arrays : array_like
        Each with `n` entries along `axis`, of any dtype and layout. All on the backend of the cells.
    axis : int, default: 0
        The axis of the entries in every array; ``-1`` is the last one of each.
    check : bool, default: True
        Whether cells on the device are checked. That takes one recorded copy of two numbers to the host; unchecked
        cells that are wrong give wrong offsets. The host always checks.
    out : sequence, optional
        For each result a C-contiguous array of its shape and dtype to be written to, or None. They may not share memory
        with the inputs or each other.

    Returns
    -------
    offsets : array of int64 (n_cells + 1,)
        Cell ``k`` has the sorted entries ``offsets[k]:offsets[k + 1]``.
    order : array of int64 (n,)
        Where each sorted entry was; `sort_by_key` takes it, for more arrays.
    *sorted_arrays : array
        New C-contiguous arrays, or those in `out`.

    Raises
    ------
    ArgumentError
        A cell out of range, which the message names; another number of entries or no such axis; an unfit `out`.
    ArgumentTypeError
        Cells that are not of an integer dtype, or an `n_cells` that is no integer.
    MixedBackendError
        Host and device arrays in one call.

    Notes
    -----
    The offsets come from the counts of the sort. Besides the results it needs 8 bytes an entry. On the device these are
    CuPy's stable argsort, one launch for the sorted cells, one for the offsets, and one for each array.

    Examples
    --------
    >>> import cunumpy as xp
    >>> weight = xp.asarray([0.1, 0.2, 0.3, 0.4])
    >>> offsets, order, weight = xp.algorithms.sort_by_cell([2, 0, 2, 0], 3, weight)
    >>> offsets, weight
    (array([0, 2, 2, 4]), array([0.2, 0.4, 0.1, 0.3]))
    """
    function = "sort_by_cell"
    check = _gate.as_truth(check, function=function, argument="check")
    backend = backend_of(function, "cells", cells, arrays, **_numbered("out", out))
    count = count_of(n_cells, function, "n_cells")
    if backend == "cupy":
        from cunumpy.algorithms import _device_sort

        return _device_sort.sort_by_cell(cells, count, arrays, axis, check, out)
    source = _gate.as_integer_array(cells, function=function, argument="cells")
    _check_1d(source, function, "cells")
    n = source.size
    payload = _as_payload(arrays, function)
    axes = _axes(payload, axis, n, function, "cells")
    written: list[Any] = [None] * (2 + len(payload))
    if out is not None:
        inputs = {"cells": source} | {name_of(i): array for i, array in enumerate(payload)}
        written = _host_outputs(out, [((count + 1,), _INT64), ((n,), _INT64)], payload, inputs, function)
    offsets, order, *outputs = written
    if offsets is None:
        offsets = np.empty(count + 1, _INT64)
    if order is None:
        order = np.empty(n, _INT64)
    if not _host.sort.sort_cells(np.ascontiguousarray(source), count, order, offsets):
        bad = int(np.flatnonzero((source < 0) | (source >= count))[0])
        refuse_cell(bad, int(source[bad]), count)
    return offsets, order, *map(_take, payload, [order] * len(payload), axes, outputs)


def refuse_cell(index: int, cell: int, n_cells: int) -> NoReturn:
    """Raise the error of a cell out of range."""
    raise ArgumentError(
        f"sort_by_cell: argument 'cells' must lie in [0, {n_cells}), got {cell} at index {index}; give such entries a "
        "cell, or take them out first, for instance by compact_by_mask."
    )


def _numbered(name: str, values: Any) -> dict[str, Any]:
    return {f"{name}[{i}]": value for i, value in enumerate(values)} if isinstance(values, (list, tuple)) else {}


def _refuse_descending() -> NoReturn:
    raise ArgumentError(
        "sort_by_key: arguments 'order' and 'descending' exclude each other: a given order is applied as it is; leave "
        "out 'descending', or pass order[::-1]."
    )


def _check_1d(array: Any, function: str, argument: str) -> None:
    if array.ndim != 1:
        raise ArgumentError(
            f"{function}: argument {argument!r} must be 1D, got shape {array.shape}; pass one number for each entry."
        )


def _as_keys(keys: Any) -> np.ndarray:
    if isinstance(keys, np.ndarray):
        array = plain(keys)
    else:
        array = _gate.as_host_array(keys, function="sort_by_key", argument="keys")
    _check_1d(array, "sort_by_key", "keys")
    return array


def _as_payload(arrays: tuple[Any, ...], function: str) -> list[np.ndarray]:
    return [
        plain(array)
        if isinstance(array, np.ndarray)
        else _gate.as_host_array(array, function=function, argument=name_of(i))
        for i, array in enumerate(arrays)
    ]


def _axes(payload: Sequence[Any], axis: Any, n: int, function: str, leading: str) -> list[int]:
    wanted = _gate.as_integer(axis, function=function, argument="axis")
    return [
        axis_of(array, wanted, n, function=function, argument=name_of(i), leading=leading)
        for i, array in enumerate(payload)
    ]


def _as_order(order: Any, n: int) -> np.ndarray:
    array = _gate.as_integer_array(order, function="sort_by_key", argument="order")
    _check_order(array, n)
    if n:
        lowest, highest = int(array.min()), int(array.max())
        if lowest < 0 or highest >= n:
            raise ArgumentError(
                f"sort_by_key: argument 'order' must hold indices in [0, {n}), got "
                f"{lowest if lowest < 0 else highest}; pass an order that sort_by_key returned for as many keys."
            )
    return np.ascontiguousarray(array, _INT64)


def _check_order(array: Any, n: int) -> None:
    if array.shape != (n,):
        raise ArgumentError(
            f"sort_by_key: argument 'order' must have shape ({n},), an index for each key, got {array.shape}."
        )


def _host_outputs(
    out: Any, layouts: list[Any], payload: list[np.ndarray], inputs: dict[str, Any], function: str
) -> list[Any]:
    for i, array in enumerate(payload):
        _gate.refuse_masked(array, function=f"{function} with 'out'", argument=name_of(i))
    names = ["sorted_keys", "order"] if function == "sort_by_key" else ["offsets", "order"]
    names += [f"the sorted {name_of(i)}" for i in range(len(payload))]
    layouts = layouts + [(array.shape, array.dtype) for array in payload]
    return as_outputs(out, layouts, names, inputs, function=function, backend="numpy")


def _argsort(
    keys: np.ndarray, descending: bool, order: np.ndarray | None, sorted_keys: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Give the order and the sorted keys, in the arrays that are given."""
    dtype = keys.dtype
    kind = dtype.kind
    if kind in "biu" or (kind == "f" and dtype.itemsize <= 8):
        values = None if type(keys) is not np.ndarray and _gate.is_masked(keys) else np.asarray(keys)
        if values is keys and dtype.isnative:
            return _host.sort.argsort(np.ascontiguousarray(keys), bool(descending), order, sorted_keys)
        if values is not None:
            native = np.ascontiguousarray(values, dtype.newbyteorder("="))
            order, _ = _host.sort.argsort(native, bool(descending), order)
            return order, _take(keys, order, 0, sorted_keys)
    found = _order_by_numpy(keys, descending)
    if order is None:
        order = found
    else:
        order[:] = found
    return order, _take(keys, order, 0, sorted_keys)


def _order_by_numpy(keys: np.ndarray, descending: bool) -> np.ndarray:
    """Give the order of keys by NumPy's stable sort, with missing values last."""
    missing = None
    values = np.asarray(keys)
    if _gate.is_masked(keys):
        missing = np.ma.getmaskarray(keys)
    elif descending and keys.dtype.kind in "fcmM":
        missing = values != values  # NaN and NaT
    candidates = None if missing is None else np.flatnonzero(~missing)
    if candidates is not None:
        values = values[candidates]
    try:
        if descending:  # the reverse of what is stable for the reversed keys
            order = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
        else:
            order = np.argsort(values, kind="stable")
    except TypeError as error:
        raise ArgumentTypeError(
            f"sort_by_key: argument 'keys' ({_gate.describe(keys)}) has values that can't be compared: {error}"
        ) from None
    if missing is None or candidates is None:
        return order
    return np.concatenate([candidates[order], np.flatnonzero(missing)])


def _take(array: np.ndarray, order: np.ndarray, axis: int, out: np.ndarray | None) -> np.ndarray:
    """Give the entries of an array in an order of valid indices."""
    if out is None and type(array) is not np.ndarray:
        taken: np.ndarray = array.take(order, axis=axis)  # a subclass knows best
        return taken
    if out is None:
        out = np.empty(array.shape, array.dtype)
    _host.sort.take(np.asarray(array), order, axis, out)
    return out
