"""Segments on CuPy arrays, by the kernels of ``segments.cu``: one launch each, and nothing is read but flags."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy import _conversion
from cunumpy.algorithms._c_types import c_type
from cunumpy.cuda._device_code import DeviceCode

CODE = DeviceCode("cunumpy.algorithms", "segments.cu")


def launch(name: str, types: tuple[str, ...], n: int, *arguments: Any) -> None:
    """Launch an instance of a kernel; integers are passed as 64 bits, None as a null pointer."""
    converted = [
        np.uint64(0) if value is None else np.int64(value) if isinstance(value, int) else value for value in arguments
    ]
    CODE.launch(f"{name}<{', '.join(types)}>", n, converted)


def new_flag() -> Any:
    """Give the word in which a kernel reports a row."""
    import cupy

    return cupy.zeros(1, dtype=np.uint64)


def flagged_row(flag: Any, n: int, function: str) -> int:
    """Read the first row that was reported, or -1: the one read of a checked call, recorded."""
    raised = int(_conversion.copy_to_host(flag, function)[0])
    return n - raised if raised else -1


def as_rows(values: Any) -> tuple[Any, int, int]:
    """Give values whose rows are contiguous, their distance and their extent, counting a complex value as two."""
    import cupy

    expected = values.itemsize
    for extent, stride in zip(values.shape[:0:-1], values.strides[:0:-1], strict=True):
        if stride != expected and extent > 1:
            expected = 0
        expected *= extent
    if values.size and (expected == 0 or values.strides[0] % values.itemsize):
        values = cupy.ascontiguousarray(values)
    parts = 2 if values.dtype.kind == "c" else 1
    row = parts * int(np.prod(values.shape[1:], dtype=np.int64))
    return values, values.strides[0] // values.itemsize * parts, row


def check_keys(keys: Any, n_segments: int, function: str) -> int:
    flag = new_flag()
    launch("segment_check", (c_type(keys.dtype),), keys.size, keys, keys.size, n_segments, flag)
    return flagged_row(flag, keys.size, function)


def plan_keys(keys: Any, n_segments: int, out: Any, flag: Any) -> None:
    types = (c_type(keys.dtype), c_type(out.dtype))
    launch("segment_keys", types, keys.size, keys, keys.size, n_segments, out, flag)


def sorted_rows(keys: Any, n_segments: int) -> tuple[Any, Any]:
    """Give the rows by segment, in their order within one, and where each segment begins."""
    import cupy

    order = cupy.argsort(keys).astype(np.int64, copy=False)  # CuPy sorts stably
    offsets = cupy.empty(n_segments + 1, dtype=np.int64)
    sorted_keys = keys[order]
    launch("segment_offsets", (c_type(keys.dtype),), n_segments + 1, sorted_keys, keys.size, n_segments, offsets)
    return order, offsets


def sum_into(accumulators: Any, values: Any, keys: Any, flag: Any) -> None:
    values, stride, row = as_rows(values)
    n = keys.size
    types = (c_type(values.dtype), c_type(accumulators.dtype, unsigned=True), c_type(keys.dtype))
    launch("segment_sum", types, n * row, values, stride, n, row, keys, len(accumulators), accumulators, flag)


def extreme_into(accumulators: Any, values: Any, keys: Any, flag: Any, *, maximum: bool) -> None:
    values, stride, row = as_rows(values)
    n = keys.size
    types = ("Maximum" if maximum else "Minimum", c_type(values.dtype), c_type(keys.dtype))
    launch("segment_extreme", types, n * row, values, stride, n, row, keys, len(accumulators), accumulators, flag)


def count_into(counts: Any, keys: Any, flag: Any) -> None:
    launch("segment_count", (c_type(keys.dtype),), keys.size, keys, keys.size, counts.size, counts, flag)


def round_into(out: Any, sums: Any) -> None:
    n = out.size * (2 if out.dtype.kind == "c" else 1)
    launch("segment_round", (c_type(sums.dtype), c_type(out.dtype)), n, sums, n, out)


def divide_into(out: Any, sums: Any, counts: Any) -> None:
    n = out.size * (2 if out.dtype.kind == "c" else 1)
    launch("segment_divide", (c_type(out.dtype),), n, sums, counts, n, n // max(counts.size, 1), out)


def sum_ordered(out: Any, values: Any, order: Any, offsets: Any) -> None:
    values, stride, row = as_rows(values)
    accumulator = "double" if out.dtype.kind in "fc" else "unsigned long long"
    types = (c_type(values.dtype), accumulator, c_type(out.dtype, unsigned=True))
    launch("segment_sum_ordered", types, len(out) * row, values, stride, row, order, offsets, len(out), out)


def mean_ordered(out: Any, values: Any, order: Any, offsets: Any) -> None:
    values, stride, row = as_rows(values)
    types = (c_type(values.dtype), c_type(out.dtype))
    launch("segment_mean_ordered", types, len(out) * row, values, stride, row, order, offsets, len(out), out)


def extreme_ordered(out: Any, values: Any, order: Any, offsets: Any, *, maximum: bool) -> None:
    values, stride, row = as_rows(values)
    types = ("Maximum" if maximum else "Minimum", c_type(values.dtype))
    launch("segment_extreme_ordered", types, len(out) * row, values, stride, row, order, offsets, len(out), out)


def gather_into(out: Any, values: Any, keys: Any) -> None:
    import cupy

    values = cupy.ascontiguousarray(values)
    word = min(values.itemsize, 8)
    row = out.size // max(len(out), 1) * (values.itemsize // word)
    types = (c_type(np.dtype(f"u{word}")), c_type(keys.dtype))
    launch("segment_gather", types, len(out) * row, values, len(out), row, keys, len(values), out)


def find_boundaries(keys: Any, function: str) -> tuple[Any, Any, Any] | None:
    """Find the runs of sorted keys; None if they are not sorted."""
    import cupy

    n = keys.size
    if n == 0:
        return cupy.empty(0, keys.dtype), cupy.empty(0, dtype=np.int64), cupy.empty(0, dtype=np.int64)
    heads = cupy.zeros(n + 1, dtype=np.int64)
    launch("boundary_heads", (c_type(keys.dtype),), n, keys, n, heads)
    runs = cupy.cumsum(heads)
    total = int(_conversion.copy_to_host(runs[-1:], function)[0])
    if total >> 62:
        return None
    unique = cupy.empty(total, dtype=keys.dtype)
    starts, stops = cupy.empty(total, dtype=np.int64), cupy.empty(total, dtype=np.int64)
    launch("boundary_fill", (c_type(keys.dtype),), n, keys, n, runs, unique, starts, stops)
    return unique, starts, stops


def cell_offsets_into(offsets: Any, cells: Any, flag: Any) -> None:
    threads = max(cells.size, offsets.size)
    launch("cell_offsets", (c_type(cells.dtype),), threads, cells, cells.size, offsets.size - 1, offsets, flag)


def linear_index(indices: list[Any], extents: tuple[int, ...], flag: Any) -> Any:
    """Join the indices of several axes to one of the joined axis; what is out of range stays out of range."""
    import cupy

    linear = cupy.empty(indices[0].size, dtype=np.int64)
    for axis, (index, extent) in enumerate(zip(indices, extents, strict=True)):
        types = (c_type(index.dtype),)
        launch("scatter_index", types, index.size, index, index.size, extent, np.int32(axis == 0), linear, flag)
    return linear


def check_index(index: Any, extent: int, flag: Any) -> None:
    launch("scatter_check", (c_type(index.dtype),), index.size, index, index.size, extent, flag)


def scatter_into(out: Any, extent: int, index: Any, values: Any, stride: int, row: int) -> None:
    types = (c_type(out.dtype, unsigned=True), c_type(index.dtype))
    launch("scatter_add", types, index.size * row, values, stride, index.size, row, index, extent, out)
