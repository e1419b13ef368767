"""What the functions on segments do: take keys and values, give results, on the host and on the device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate, _threads
from cunumpy.algorithms import _device_segments as _device
from cunumpy.algorithms._arguments import check_size, count_of, integers
from cunumpy.algorithms._host import segments as _host
from cunumpy.cuda._device_code import check_devices
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cunumpy._backend import BackendType

_SAMPLES = 64
_WORTH_SAMPLING = 1 << 18  # keys


# --- keys -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Keys:
    """Keys as the reductions take them."""

    array: Any
    n_segments: int
    backend: BackendType
    check: bool  # whether keys that are too large are still to be refused
    rising: bool = False
    by_segment: tuple[Any, Any] | None = None  # rows sorted by segment, and where each segment begins


def planned_keys(function: str, keys: Any, n_segments: Any, check: bool, deterministic: bool) -> _Keys:
    check = _gate.as_truth(check, function=function, argument="check")
    deterministic = _gate.as_truth(deterministic, function=function, argument="deterministic")
    unplanned = _given(function, keys, n_segments, check)
    given, n_segments, backend = unplanned.array, unplanned.n_segments, unplanned.backend
    dtype = np.dtype(np.int32 if n_segments < 2**31 else np.int64)
    if backend == "numpy":
        copy = np.empty(given.size, dtype)
        first, rising = _host.plan_keys(given, n_segments, copy)
        if check:
            _refuse_key(function, first, unplanned)
        return _Keys(copy, n_segments, backend, False, rising)
    import cupy

    copy = cupy.empty(given.size, dtype=dtype)
    flag = _device.new_flag() if check else None
    _device.plan_keys(given, n_segments, copy, flag)
    if flag is not None:
        _refuse_key(function, _device.flagged_row(flag, given.size, function), unplanned)
    by_segment = _device.sorted_rows(copy, n_segments) if deterministic else None
    return _Keys(copy, n_segments, backend, False, by_segment=by_segment)


def _given(function: str, keys: Any, n_segments: Any, check: bool) -> _Keys:
    backend = _gate.common_backend(function, keys=keys)
    array = integers(keys, function, "keys")
    count = count_of(n_segments, function, "n_segments")
    if backend == "cupy":
        check_devices(function, keys=array)
    return _Keys(array, count, backend, check)


def keys_for_one_use(function: str, keys: Any, n_segments: Any, check: bool, deterministic: bool = False) -> _Keys:
    """Take keys for one use: no copy, and no pass over them alone unless that pays."""
    check = _gate.as_truth(check, function=function, argument="check")
    deterministic = _gate.as_truth(deterministic, function=function, argument="deterministic")
    if deterministic and _arrays.is_device_array(keys):
        return planned_keys(function, keys, n_segments, check, deterministic)
    given = _given(function, keys, n_segments, check)
    if given.backend == "numpy" and given.array.size >= _WORTH_SAMPLING and _threads.thread_count() > 1:
        sample = given.array[:: given.array.size // _SAMPLES]
        if (sample[1:] >= sample[:-1]).all():
            return _checked(function, given)
    return given


def _checked(function: str, keys: _Keys) -> _Keys:
    """Refuse keys that are too large, before anything is written."""
    if keys.backend == "numpy":
        first, rising = _host.check_keys(keys.array, keys.n_segments)
    else:
        first, rising = _device.check_keys(keys.array, keys.n_segments, function), False
    if keys.check:
        _refuse_key(function, first, keys)
    return replace(keys, check=False, rising=rising)


def _refuse_key(function: str, row: int, keys: _Keys) -> None:
    if row < 0:
        return
    key = keys.array[row : row + 1]
    value = int((_conversion.copy_to_host(key, function) if keys.backend == "cupy" else key)[0])
    raise ArgumentError(
        f"{function}: argument 'keys' holds {value} at position {row}, but every key must be smaller than n_segments = "
        f"{keys.n_segments}; give more segments, or a negative key to leave the row out."
    )


# --- values and results -----------------------------------------------------------------------------------------------


def _numbers(function: str, values: Any, keys: _Keys, entries: int, of_what: str) -> Any:
    """Take values, a number for each key or segment in any further axes, where they are."""
    backend = _gate.common_backend(function, values=values)
    if backend != keys.backend:
        raise MixedBackendError(
            f"{function}: mismatched backends: argument 'values' belongs to {backend}, the keys to {keys.backend}; "
            "convert one of them explicitly, with xp.to_numpy or xp.to_cupy."
        )
    if keys.backend == "numpy":
        array = _gate.as_host_array(values, function=function, argument="values", dtype_kinds="biufc")
    else:
        array = values
        if array.dtype.kind not in "biufc":
            raise ArgumentTypeError(
                f"{function}: argument 'values' has dtype {array.dtype}, expected bool, integer, floating or complex; "
                "convert it with .astype(...)."
            )
        check_devices(function, keys=keys.array, values=array)
    if array.ndim == 0 or array.shape[0] != entries:
        raise ArgumentError(
            f"{function}: argument 'values' must have one entry for each {of_what} along its first axis, {entries}, "
            f"got shape {array.shape}."
        )
    return array


def _result(
    function: str, keys: _Keys, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], **inputs: Any
) -> tuple[_Keys, Any]:
    """Give the array that receives the result, with any content; check the keys first where it is the caller's."""
    if out is None:
        check_size(shape, function, "n_segments")
        if keys.backend == "numpy":
            return keys, np.empty(shape, dtype)
        import cupy

        check_devices(function, keys=keys.array)
        return keys, cupy.empty(shape, dtype=dtype)
    _gate.check_output(
        out, shape=shape, dtype=dtype, backend=keys.backend, function=function, inputs={"keys": keys.array, **inputs}
    )
    if keys.backend == "cupy":
        check_devices(function, keys=keys.array, out=out)
    elif not out.flags.aligned:
        raise ArgumentError(f"{function}: argument 'out' must be aligned in memory; pass a plain array.")
    return (_checked(function, keys) if keys.check else keys), out


def _zeros(keys: _Keys, shape: tuple[int, ...], dtype: Any, reuse: Any = None) -> Any:
    """Give zeros, in `reuse` if its dtype is the right one."""
    if reuse is not None and reuse.dtype == dtype:
        reuse.fill(0)
        return reuse
    if keys.backend == "numpy":
        return np.zeros(shape, dtype)
    import cupy

    return cupy.zeros(shape, dtype=dtype)


def _reduce(
    function: str, keys: _Keys, into: Callable[..., Any], accumulators: Any, *values: Any, **options: Any
) -> None:
    """Call a reduction, and refuse keys that it found too large."""
    if keys.backend == "numpy":
        first = into(accumulators, *values, keys.array, rising=keys.rising, **options)
        if keys.check:
            _refuse_key(function, first, keys)
        return
    if keys.check and accumulators.size == 0:  # nothing is launched that could look at the keys
        _checked(function, keys)
        return
    flag = _device.new_flag() if keys.check else None
    into(accumulators, *values, keys.array, flag, **options)
    if flag is not None:
        _refuse_key(function, _device.flagged_row(flag, keys.array.size, function), keys)


def _accumulator(dtype: np.dtype[Any], *, exact: bool) -> np.dtype[Any]:
    """Give the dtype in which values are added; integers as integers if `exact`."""
    if dtype.kind in "biu":
        if exact:
            return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
        return np.dtype(np.float64)
    if dtype.char in "gG":
        return dtype.newbyteorder("=")
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def sum_rows(function: str, values: Any, keys: _Keys, out: Any) -> Any:
    given = _numbers(function, values, keys, keys.array.size, "key")
    wide = _accumulator(given.dtype, exact=True)
    dtype = wide if given.dtype.kind in "biu" else given.dtype.newbyteorder("=")
    shape = (keys.n_segments, *given.shape[1:])
    keys, result = _result(function, keys, out, shape, dtype, values=given)
    if keys.by_segment is not None:
        _device.sum_ordered(result, given, *keys.by_segment)
        return result
    if keys.backend == "numpy":
        sums = _zeros(keys, shape, wide, out)
        _reduce(function, keys, _host.sum_into, sums, given)
        return _rounded(sums, result)
    sums = _zeros(keys, shape, wide, result)
    _reduce(function, keys, _device.sum_into, sums, given)
    if sums is not result:
        _device.round_into(result, sums)
    return result


def _rounded(sums: np.ndarray, result: np.ndarray) -> np.ndarray:
    if sums.dtype == result.dtype:
        return sums
    with np.errstate(over="ignore"):  # a sum beyond the narrower dtype is its infinity
        result[...] = sums
    return result


def mean_rows(function: str, values: Any, keys: _Keys, out: Any) -> Any:
    given = _numbers(function, values, keys, keys.array.size, "key")
    wide = _accumulator(given.dtype, exact=False)
    dtype = wide if given.dtype.kind in "biu" else given.dtype.newbyteorder("=")
    shape = (keys.n_segments, *given.shape[1:])
    keys, result = _result(function, keys, out, shape, dtype, values=given)
    if keys.by_segment is not None:
        _device.mean_ordered(result, given, *keys.by_segment)
        return result
    counts = _zeros(keys, (keys.n_segments,), np.int64)
    if keys.backend == "numpy":
        sums = _zeros(keys, shape, wide, out)
        _reduce(function, keys, _host.sum_into, sums, given)
        _host.count_into(counts, keys.array, rising=keys.rising)
        parts = sums[..., np.newaxis]
        if parts.dtype.kind == "c":
            parts = parts.view(parts.real.dtype)
        with np.errstate(all="ignore"):  # 0 / 0 is the mean of no rows
            parts /= counts.reshape(-1, *[1] * (parts.ndim - 1))
        return _rounded(sums, result)
    sums = _zeros(keys, shape, wide)
    _reduce(function, keys, _device.sum_into, sums, given)
    _device.count_into(counts, keys.array, None)
    _device.divide_into(result, sums, counts)
    return result


def extreme_rows(function: str, values: Any, keys: _Keys, out: Any, *, maximum: bool) -> Any:
    given = _numbers(function, values, keys, keys.array.size, "key")
    if given.dtype.kind == "c":
        raise ArgumentTypeError(
            f"{function}: argument 'values' has dtype {given.dtype}, and complex numbers have no order; pass their "
            "absolute values, or real and imaginary parts one by one."
        )
    dtype = given.dtype.newbyteorder("=")
    keys, result = _result(function, keys, out, (keys.n_segments, *given.shape[1:]), dtype, values=given)
    result.fill(_identity(dtype, maximum=maximum))
    if dtype.kind == "b" and keys.backend == "numpy":
        _reduce(function, keys, _host.extreme_into, result.view(np.uint8), given.view(np.uint8), maximum=maximum)
    elif keys.backend == "numpy":
        _reduce(function, keys, _host.extreme_into, result, given, maximum=maximum)
    elif keys.by_segment is not None:
        _device.extreme_ordered(result, given, *keys.by_segment, maximum=maximum)
    else:
        _reduce(function, keys, _device.extreme_into, result, given, maximum=maximum)
    return result


def _identity(dtype: np.dtype[Any], *, maximum: bool) -> Any:
    if dtype.kind == "b":
        return np.bool_(not maximum)
    if dtype.kind == "f":
        return dtype.type(-np.inf if maximum else np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if maximum else limits.max)


def count_rows(function: str, keys: _Keys, out: Any) -> Any:
    keys, result = _result(function, keys, out, (keys.n_segments,), np.dtype(np.int64))
    if keys.by_segment is not None:
        offsets = keys.by_segment[1]
        result[...] = offsets[1:] - offsets[:-1]
        return result
    result.fill(0)
    into = _host.count_into if keys.backend == "numpy" else _device.count_into
    _reduce(function, keys, into, result)
    return result


def gather_rows(function: str, values: Any, keys: _Keys, out: Any) -> Any:
    given = _numbers(function, values, keys, keys.n_segments, "segment")
    shape, dtype = (keys.array.size, *given.shape[1:]), given.dtype.newbyteorder("=")
    keys, result = _result(function, keys, out, shape, dtype, values=given)
    if keys.backend == "cupy":
        _device.gather_into(result, given, keys.array)
    elif result.size:
        _host.gather_into(result, given, keys.array)
    return result
