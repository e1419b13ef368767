"""Calls of `cunumpy.algorithms`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import key_definitions
from array_calls.call import CALLS, FLOATS, OPTIONAL, OUTS, ROWS, Call, integers, into, numbers, require
from cunumpy import algorithms

KEYS = np.array([2, 0, 1, 2, 0, 4])


def _sum_dtype(values: Any) -> Any:
    if values.dtype.kind in "bi":
        return np.int64
    return np.uint64 if values.dtype.kind == "u" else values.dtype


def _keys_fit(keys: Any, n: int = 5) -> None:
    integers(keys)
    require(keys.ndim == 1 and (keys.size == 0 or (keys.min() >= 0 and keys.max() < n)))


def _groups(values: Any, keys: Any, n: int = 5) -> list[Any]:
    _keys_fit(keys, n)
    numbers(values)
    require(values.ndim >= 1 and len(values) == len(keys))
    return [values[keys == k] for k in range(n)]


def _segment_sum(values: Any, keys: Any, out: Any = None) -> Any:
    dtype = _sum_dtype(values)
    sums = [g.astype(dtype).sum(axis=0, dtype=dtype) for g in _groups(values, keys)]
    return into(np.array(sums, dtype).reshape(5, *values.shape[1:]), out)


def _segment_mean(values: Any, keys: Any, out: Any = None) -> Any:
    dtype = values.dtype if values.dtype.kind in "fc" else np.float64
    groups = _groups(values, keys)
    zero = np.full(values.shape[1:], np.nan)
    means = [g.astype(dtype).sum(axis=0) / len(g) if len(g) else zero for g in groups]
    return into(np.array(means, dtype).reshape(5, *values.shape[1:]), out)


def _segment_extreme(which: str) -> Callable[..., Any]:
    def extreme(values: Any, keys: Any, out: Any = None) -> Any:
        groups = _groups(values, keys)
        numbers(values, kinds="biuf")
        dtype = values.dtype
        if dtype.kind == "f":
            nothing: Any = np.inf if which == "min" else -np.inf
        elif dtype.kind == "b":
            nothing = which == "min"
        else:
            nothing = np.iinfo(dtype).max if which == "min" else np.iinfo(dtype).min
        empty = np.full(values.shape[1:], nothing, dtype)
        found = [getattr(g, which)(axis=0) if len(g) else empty for g in groups]
        return into(np.array(found, dtype).reshape(5, *values.shape[1:]), out)

    return extreme


for _name, _definition in {
    "sum": _segment_sum,
    "mean": _segment_mean,
    "min": _segment_extreme("min"),
    "max": _segment_extreme("max"),
}.items():
    _function = getattr(algorithms, f"segment_{_name}")
    CALLS[f"algorithms.segment_{_name}"] = Call(
        lambda values, keys, out, f=_function: f(values, keys, 5, out=out),
        {"values": ROWS, "keys": KEYS, "out": np.zeros((5, 2))},
        _definition,
        ("n_segments", "check", *(("deterministic",) if _name in ("sum", "mean") else ())),
        written=("out",),
        takes={"out": OPTIONAL},
        rtol=1e-15,
    )
    CALLS[f"algorithms.SegmentPlan.{_name}"] = Call(
        lambda values, out, f=_name: getattr(algorithms.SegmentPlan(KEYS, 5), f)(values, out=out),
        {"values": ROWS, "out": np.zeros((5, 2))},
        lambda values, out, f=_definition: f(values, KEYS, out),
        written=("out",),
        takes={"out": OPTIONAL},
        rtol=1e-15,
    )


def _count(keys: Any, out: Any = None) -> Any:
    _keys_fit(keys)
    return into(np.array([np.count_nonzero(keys == k) for k in range(5)]), out)


def _gather(values: Any, out: Any) -> Any:
    numbers(values)
    require(values.ndim >= 1 and len(values) == 5)
    return into(values[KEYS], out)


CALLS |= {
    "algorithms.segment_count": Call(
        lambda keys, out: algorithms.segment_count(keys, 5, out=out),
        {"keys": KEYS, "out": np.zeros(5, np.int64)},
        _count,
        ("n_segments", "check"),
        written=("out",),
        takes={"out": OPTIONAL},
    ),
    "algorithms.SegmentPlan.count": Call(
        lambda out: algorithms.SegmentPlan(KEYS, 5).count(out=out),
        {"out": np.zeros(5, np.int64)},
        lambda out: _count(KEYS, out),
        written=("out",),
        takes={"out": OPTIONAL},
    ),
    "algorithms.SegmentPlan": Call(
        lambda keys: algorithms.SegmentPlan(keys, 5).count(),
        {"keys": KEYS},
        _count,
        ("n_segments", "check", "deterministic"),
    ),
    "algorithms.SegmentPlan.gather": Call(
        lambda values, out: algorithms.SegmentPlan(KEYS, 5).gather(values, out=out),
        {"values": ROWS[:5], "out": np.zeros((6, 2))},
        _gather,
        written=("out",),
        takes={"out": OPTIONAL},
    ),
}

SORTED = np.array([0, 0, 1, 2, 2, 4])


def _cell_offsets(sorted_cells: Any) -> Any:
    _keys_fit(sorted_cells)
    require((sorted_cells[1:] >= sorted_cells[:-1]).all())
    return np.array([np.count_nonzero(sorted_cells < c) for c in range(6)])


def _boundaries(sorted_keys: Any) -> Any:
    integers(sorted_keys)
    require(sorted_keys.ndim == 1)
    starts = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]][: len(sorted_keys)])
    return sorted_keys[starts], starts, np.r_[starts, len(sorted_keys)][1:]


def _sortable(keys: Any) -> None:
    require(keys.ndim == 1 and keys.dtype.kind in "biufc")


def _along(keys: Any, array: Any, axis: int = 0) -> None:
    require(array.ndim > axis and array.shape[axis] == len(keys))


def _sort_by_key(keys: Any, **others: Any) -> Any:
    _sortable(keys)
    array = others["arrays[0]"]
    _along(keys, array)
    order = others["order"]
    if order is None:
        order = np.array(sorted(range(len(keys)), key=lambda i: (keys[i].real, keys[i].imag)), int)
    else:
        integers(order)
        require(order.shape == keys.shape and (len(order) == 0 or (order.min() >= 0 and order.max() < len(keys))))
    results = keys[order], order.astype(int), array[order]
    return tuple(into(result, others[f"out[{i}]"]) for i, result in enumerate(results))


def _sort_by_cell(cells: Any, **others: Any) -> Any:
    _keys_fit(cells)
    array = others["arrays[0]"]
    _along(cells, array)
    order = np.argsort(cells, kind="stable")
    offsets = np.array([np.count_nonzero(cells < c) for c in range(6)])
    return into(offsets, others["out[0]"]), into(order, others["out[1]"]), into(array[order], others["out[2]"])


def _compact(mask: Any, **others: Any) -> Any:
    require(mask.dtype == bool and mask.ndim == 1)
    array = others["arrays[0]"]
    _along(mask, array)
    return int(mask.sum()), array[mask]


def _run_compact(mask: Any, **others: Any) -> Any:
    n = algorithms.compact_by_mask(mask, others["arrays[0]"])
    return n, np.array(others["arrays[0]"][:n])


def _scatter_add(out: Any, index: Any, values: Any) -> Any:
    integers(index)
    numbers(out, kinds="iufc")
    numbers(values)
    require(index.size == 0 or (index.min() >= -len(out) and index.max() < len(out)))
    require(np.can_cast(values.dtype, out.dtype, "same_kind"))
    after = out.copy()
    np.add.at(after, index, values.astype(out.dtype))
    return after


def _run_scatter_add(out: Any, index: Any, values: Any) -> Any:
    algorithms.scatter_add(out, index, values, check=True)
    return out


SORTABLE = ("objects", "text", "text that is no number", "bytes", "dates", "time spans", "records", "masked", "string")
PERMUTATION = np.array([3, 0, 5, 1, 4, 2])

CALLS |= {
    "algorithms.cell_offsets": Call(
        lambda sorted_cells: algorithms.cell_offsets(sorted_cells, 5),
        {"sorted_cells": SORTED},
        _cell_offsets,
        ("n_cells", "check"),
    ),
    "algorithms.segment_boundaries": Call(
        algorithms.segment_boundaries, {"sorted_keys": SORTED}, _boundaries, dtypes=False
    ),
    "algorithms.sort_by_key": Call(
        lambda keys, order, **others: algorithms.sort_by_key(
            keys, others["arrays[0]"], order=order, out=[others[f"out[{i}]"] for i in range(3)]
        ),
        {
            "keys": FLOATS,
            "arrays[0]": ROWS,
            "order": PERMUTATION,
            "out[0]": np.zeros(6),
            "out[1]": np.zeros(6, int),
            "out[2]": np.zeros((6, 2)),
        },
        _sort_by_key,
        ("axis", "descending"),
        written=OUTS,
        takes={"order": OPTIONAL, **dict.fromkeys(OUTS, OPTIONAL), "keys": SORTABLE},
        any_dtype=("arrays[0]",),
    ),
    "algorithms.sort_by_cell": Call(
        lambda cells, **others: algorithms.sort_by_cell(
            cells, 5, others["arrays[0]"], out=[others[f"out[{i}]"] for i in range(3)]
        ),
        {
            "cells": KEYS,
            "arrays[0]": ROWS,
            "out[0]": np.zeros(6, int),
            "out[1]": np.zeros(6, int),
            "out[2]": np.zeros((6, 2)),
        },
        _sort_by_cell,
        ("n_cells", "axis", "check"),
        written=OUTS,
        takes=dict.fromkeys(OUTS, OPTIONAL),
        any_dtype=("arrays[0]",),
    ),
    "algorithms.compact_by_mask": Call(
        _run_compact,
        {"mask": np.array([True, False, True, True, False, True]), "arrays[0]": ROWS},
        _compact,
        ("axis",),
        written=("arrays[0]",),
        any_dtype=("arrays[0]",),
    ),
    "algorithms.scatter_add": Call(
        _run_scatter_add,
        {"out": np.arange(5.0), "index": KEYS, "values": FLOATS},
        _scatter_add,
        ("check",),
        written=("out",),
        rtol=1e-15,
    ),
}


def _encode(curve: Callable[..., int]) -> Callable[..., Any]:
    def encode(out: Any, **cells: Any) -> Any:
        a, b = cells["cells[0]"], cells["cells[1]"]
        integers(a, b)
        a, b = np.broadcast_arrays(a, b)
        require(a.size == 0 or min(a.min(), b.min()) >= 0)
        require(a.size == 0 or max(a.max(), b.max()) < 16)
        keys = [curve((int(i), int(j)), 4) for i, j in zip(a.reshape(-1), b.reshape(-1), strict=True)]
        return into(np.array(keys, np.uint64).reshape(a.shape), out)

    return encode


def _decode(curve: Callable[..., int]) -> Callable[..., Any]:
    inverse = {curve((i, j), 4): (i, j) for i in range(16) for j in range(16)}

    def decode(keys: Any) -> Any:
        integers(keys)
        pairs = np.array([inverse[int(k)] for k in keys.reshape(-1)]).reshape(-1, 2)
        return tuple(pairs[:, i].reshape(keys.shape) for i in range(2))

    return decode


def _point_keys(curve: Callable[..., int]) -> Callable[..., Any]:
    def keys(positions: Any, lower: Any, upper: Any, out: Any) -> Any:
        numbers(positions, lower, upper, kinds="iuf")
        require(positions.ndim == 2 and positions.shape[1] == 2 and lower.shape == upper.shape == (2,))
        require((lower != upper).all() and np.isfinite([lower, upper]).all())
        scale = 16 / (upper.astype(float) - lower.astype(float))
        cell = key_definitions.cell
        found = [
            curve([cell(float(x[i]), float(lower[i]), float(scale[i]), 4) for i in range(2)], 4) for x in positions
        ]
        return into(np.array(found, np.uint64), out)

    return keys


POINTS = np.array([[0.1, 0.9], [2.5, 1.0], [-1.0, 3.0], [0.5, 0.5], [3.9, 0.01], [1.0, 2.0]])
LOWER, UPPER = np.array([0.0, -1.0]), np.array([4.0, 3.0])
CELLS = {"cells[0]": np.array([1, 15, 3, 0]), "cells[1]": np.array([2, 7, 15, 0]), "out": np.zeros(4, np.uint64)}

for _name, _curve in {"morton": key_definitions.morton, "hilbert": key_definitions.hilbert}.items():
    _levels: dict[str, Any] = {"levels": 4} if _name == "hilbert" else {}
    _function = getattr(algorithms, f"{_name}_encode")
    CALLS[f"algorithms.{_name}_encode"] = Call(
        lambda out, f=_function, options=_levels, **cells: f(
            cells["cells[0]"], cells["cells[1]"], out=out, check=True, **options
        ),
        CELLS,
        _encode(_curve),
        ("dtype", "check", *_levels),
        written=("out",),
        takes={"out": OPTIONAL},
        names=dict.fromkeys(["cells[0]", "cells[1]"], r"\bcells\b"),
    )
    _function = getattr(algorithms, f"{_name}_decode")
    CALLS[f"algorithms.{_name}_decode"] = Call(
        lambda keys, f=_function, options=_levels: f(keys, 2, check=True, **options),
        {"keys": np.array([0, 7, 200, 255])},
        _decode(_curve),
        ("ndim", "check", *_levels),
        dtypes=False,
    )
    _function = getattr(algorithms, f"{_name}_keys")
    CALLS[f"algorithms.{_name}_keys"] = Call(
        lambda positions, lower, upper, out, f=_function: f(positions, lower, upper, 4, out=out),
        {"positions": POINTS, "lower": LOWER, "upper": UPPER, "out": np.zeros(6, np.uint64)},
        _point_keys(_curve),
        ("levels", "dtype", "check"),
        written=("out",),
        takes={"out": OPTIONAL},
    )


def _scales(lower: Any, upper: Any) -> Any:
    numbers(lower, upper, kinds="iuf")
    require(lower.shape == upper.shape and lower.ndim == 1 and lower.size in (2, 3) and (lower != upper).all())
    return 16 / (upper.astype(float) - lower.astype(float))


CALLS["algorithms.morton_scales"] = Call(
    lambda lower, upper: algorithms.morton_scales(lower, upper, 4),
    {"lower": LOWER, "upper": UPPER},
    _scales,
    ("levels",),
)
