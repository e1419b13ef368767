"""Reductions of the rows of an array by segment: sums, minima, maxima, means, counts, and back to the rows."""

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


class SegmentPlan:
    """What to do with the rows of many arrays that share their keys: row ``i`` belongs to segment ``keys[i]``.

    A plan checks the keys once and keeps a copy of them, with 4 bytes a row where ``n_segments`` is below 2**31 and 8
    bytes otherwise; later changes of the source have no effect on it. Keys that never decrease are noticed, and threads
    can then share the work of floating-point sums as well. Its methods take arrays of the keys' backend. A plan of
    device keys belongs to their device, which has to be current. Its methods read nothing from the device; those that
    need no further memory (with ``out=``, contiguous values, and for sums of float16, float32 and complex64, and for
    means, a deterministic plan) can be captured in a CUDA graph.

    Parameters
    ----------
    keys : array_like, shape (n,)
        Integers of any dtype. A negative key drops its row.
    n_segments : int
        The number of segments.
    check : bool, default: True
        Whether to raise for keys that are too large; otherwise they drop their rows. On the device the check reads one
        number, a recorded ``to_host``.
    deterministic : bool, default: False
        On the device, whether to add the rows of a segment in their order. The plan then sorts the rows by segment,
        once (16 bytes a row), and every sum and mean equals the host's bit for bit. By default atomic operations add
        them in any order. On the host the order is always that of the rows.

    Raises
    ------
    ArgumentError
        Keys that are not 1-D or not smaller than `n_segments`, a negative `n_segments`, or keys on another device.
    ArgumentTypeError
        Keys or an `n_segments` that are no integers.

    Notes
    -----
    ==================  =======================  =====================================  ===================
    values              sum                      added in                               mean
    ==================  =======================  =====================================  ===================
    bool, intN          int64                    int64, modulo 2**64                    float64
    uintN               uint64                   uint64, modulo 2**64                   float64
    float16, float32    float16, float32         float64, then rounded once             as the values
    float64             float64                  float64                                float64
    complex64           complex64                complex128, then rounded once          complex64
    complex128          complex128               complex128                             complex128
    long double         as the values            as the values (host only)              as the values
    ==================  =======================  =====================================  ===================

    Means of integers are added in float64. Minima and maxima have the dtype of the values; NaN wins, as in
    `numpy.minimum`, and the sign of a zero is not specified. Results on the host do not depend on the number of
    threads.

    On the device each method is one launch, and one that clears the result; sums that are rounded at last, and means,
    need one more (two for the counts of a mean) unless the plan is deterministic. Values whose rows are not contiguous
    are copied first.

    Examples
    --------
    >>> import cunumpy as xp
    >>> plan = xp.algorithms.SegmentPlan([0, 1, 0, -1], 3)
    >>> plan.sum([1.0, 2.0, 3.0, 4.0])
    array([4., 2., 0.])
    >>> plan.mean([1.0, 2.0, 3.0, 4.0])
    array([ 2.,  2., nan])
    >>> plan.count()
    array([2, 1, 0])
    """

    def __init__(self, keys: Any, n_segments: int, *, check: bool = True, deterministic: bool = False) -> None:
        self._keys = _planned("SegmentPlan", keys, n_segments, check, deterministic)

    def __repr__(self) -> str:
        return f"SegmentPlan(<{self._keys.array.size} keys>, {self.n_segments})"

    @property
    def n_segments(self) -> int:
        """The number of segments."""
        return self._keys.n_segments

    def sum(self, values: Any, *, out: Any = None) -> Any:
        """Sum the rows of each segment.

        Parameters
        ----------
        values : array_like, shape (n, ...)
            Bool, integer, floating point or complex; any layout, any number of further axes.
        out : array, optional
            Receives the result: same backend, shape and dtype, C-contiguous, not overlapping `values`.

        Returns
        -------
        array, shape (n_segments, ...)
            0 for a segment without rows. NaN and infinity stay within their segment. The class describes the dtypes.

        Raises
        ------
        ArgumentError
            Values without one entry for each key, or an unfit `out`.
        ArgumentTypeError
            Values that are no numbers, or of another backend than the keys.

        Examples
        --------
        >>> import cunumpy as xp
        >>> plan = xp.algorithms.SegmentPlan([1, 0, 1], 2)
        >>> plan.sum([[1, 2], [3, 4], [5, 6]])
        array([[3, 4],
               [6, 8]])
        """
        return _sum("SegmentPlan.sum", values, self._keys, out)

    def min(self, values: Any, *, out: Any = None) -> Any:
        """Take the minimum of the rows of each segment.

        Parameters
        ----------
        values : array_like, shape (n, ...)
            Bool, integer or floating point.
        out : array, optional
            Receives the result, as in `sum`.

        Returns
        -------
        array, shape (n_segments, ...)
            In the dtype of `values`. A segment without rows has the identity: infinity, or the largest integer, or
            True. NaN wins.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            As in `sum`; complex values have no order.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.algorithms.SegmentPlan([1, 0, 1], 3).min([3.0, 2.0, 1.0])
        array([ 2.,  1., inf])
        """
        return _extreme("SegmentPlan.min", values, self._keys, out, maximum=False)

    def max(self, values: Any, *, out: Any = None) -> Any:
        """Take the maximum of the rows of each segment.

        Parameters
        ----------
        values : array_like, shape (n, ...)
            Bool, integer or floating point.
        out : array, optional
            Receives the result, as in `sum`.

        Returns
        -------
        array, shape (n_segments, ...)
            In the dtype of `values`. A segment without rows has the identity: minus infinity, or the smallest
            integer, or False. NaN wins.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            As in `sum`; complex values have no order.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.algorithms.SegmentPlan([1, 0, 1], 2).max([3, 2, 1])
        array([2, 3])
        """
        return _extreme("SegmentPlan.max", values, self._keys, out, maximum=True)

    def mean(self, values: Any, *, out: Any = None) -> Any:
        """Take the mean of the rows of each segment.

        Parameters
        ----------
        values : array_like, shape (n, ...)
            Bool, integer, floating point or complex.
        out : array, optional
            Receives the result, as in `sum`.

        Returns
        -------
        array, shape (n_segments, ...)
            Float64 for integers and bool, else in the dtype of `values`. NaN for a segment without rows.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            As in `sum`.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.algorithms.SegmentPlan([1, 0, 1], 2).mean([3, 2, 2])
        array([2. , 2.5])
        """
        return _mean("SegmentPlan.mean", values, self._keys, out)

    def count(self, *, out: Any = None) -> Any:
        """Count the rows of each segment.

        Parameters
        ----------
        out : array, optional
            Receives the result, as in `sum`.

        Returns
        -------
        array of int64, shape (n_segments,)

        Raises
        ------
        ArgumentError, ArgumentTypeError
            An unfit `out`.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.algorithms.SegmentPlan([1, 0, 1, -1], 3).count()
        array([1, 2, 0])
        """
        return _count("SegmentPlan.count", self._keys, out)

    def gather(self, values: Any, *, out: Any = None) -> Any:
        """Give each row the values of its segment: the transpose of `sum`.

        Parameters
        ----------
        values : array_like, shape (n_segments, ...)
            Bool, integer, floating point or complex.
        out : array, optional
            Receives the result, as in `sum`.

        Returns
        -------
        array, shape (n, ...)
            ``values[keys]`` in the dtype of `values`; 0 for a dropped row.

        Raises
        ------
        ArgumentError
            Values without one entry for each segment, or an unfit `out`.
        ArgumentTypeError
            Values that are no numbers, or of another backend than the keys.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.algorithms.SegmentPlan([1, 0, -1], 2).gather([10.0, 20.0])
        array([20., 10.,  0.])
        """
        return _gather("SegmentPlan.gather", values, self._keys, out)


def segment_sum(
    values: Any,
    keys: Any,
    n_segments: int,
    *,
    out: Any = None,
    check: bool = True,
    deterministic: bool = False,
) -> Any:
    """Sum the rows of each segment; `SegmentPlan.sum` for keys that are used once, and not copied.

    Parameters
    ----------
    values : array_like, shape (n, ...)
        Bool, integer, floating point or complex; any layout, any number of further axes.
    keys : array_like, shape (n,)
        Integers of any dtype. A negative key drops its row.
    n_segments : int
        The number of segments.
    out : array, optional
        Receives the result: same backend, shape and dtype, C-contiguous, not overlapping `values` or `keys`.
    check : bool, default: True
        Whether to raise for keys that are too large; otherwise they drop their rows. On the device the check reads one
        number, a recorded ``to_host``.
    deterministic : bool, default: False
        On the device, whether to sort the rows by segment and add them in their order, as the host always does; see
        `SegmentPlan`.

    Returns
    -------
    array, shape (n_segments, ...)
        Exact int64 or uint64 sums (modulo 2**64) of bool and integers, else in the dtype of `values`; float16 and
        float32 are added in float64. 0 for a segment without rows.

    Raises
    ------
    ArgumentError
        Keys that are not 1-D or not smaller than `n_segments`, values without one entry for each key, an unfit `out`.
    ArgumentTypeError
        Values that are no numbers, keys that are no integers, or arrays of two backends.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.segment_sum([1.0, 2.0, 3.0, 4.0], [0, 1, 0, -1], 2)
    array([4., 2.])
    """
    return _sum("segment_sum", values, _once("segment_sum", keys, n_segments, check, deterministic), out)


def segment_min(values: Any, keys: Any, n_segments: int, *, out: Any = None, check: bool = True) -> Any:
    """Take the minimum of the rows of each segment; `SegmentPlan.min` for keys that are used once.

    Parameters
    ----------
    values : array_like, shape (n, ...)
        Bool, integer or floating point.
    keys, n_segments, out, check
        As in `segment_sum`.

    Returns
    -------
    array, shape (n_segments, ...)
        In the dtype of `values`. A segment without rows has infinity, or the largest integer, or True. NaN wins.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        As in `segment_sum`; complex values have no order.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.segment_min([3.0, 2.0, 1.0], [1, 0, 1], 3)
    array([ 2.,  1., inf])
    """
    return _extreme("segment_min", values, _once("segment_min", keys, n_segments, check), out, maximum=False)


def segment_max(values: Any, keys: Any, n_segments: int, *, out: Any = None, check: bool = True) -> Any:
    """Take the maximum of the rows of each segment; `SegmentPlan.max` for keys that are used once.

    Parameters
    ----------
    values : array_like, shape (n, ...)
        Bool, integer or floating point.
    keys, n_segments, out, check
        As in `segment_sum`.

    Returns
    -------
    array, shape (n_segments, ...)
        In the dtype of `values`. A segment without rows has minus infinity, or the smallest integer, or False. NaN
        wins.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        As in `segment_sum`; complex values have no order.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.segment_max([3, 2, 1], [1, 0, 1], 2)
    array([2, 3])
    """
    return _extreme("segment_max", values, _once("segment_max", keys, n_segments, check), out, maximum=True)


def segment_mean(
    values: Any,
    keys: Any,
    n_segments: int,
    *,
    out: Any = None,
    check: bool = True,
    deterministic: bool = False,
) -> Any:
    """Take the mean of the rows of each segment; `SegmentPlan.mean` for keys that are used once.

    Parameters
    ----------
    values : array_like, shape (n, ...)
        Bool, integer, floating point or complex.
    keys, n_segments, out, check, deterministic
        As in `segment_sum`.

    Returns
    -------
    array, shape (n_segments, ...)
        Float64 for integers and bool, else in the dtype of `values`. NaN for a segment without rows.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        As in `segment_sum`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.segment_mean([3, 2, 2], [1, 0, 1], 2)
    array([2. , 2.5])
    """
    return _mean("segment_mean", values, _once("segment_mean", keys, n_segments, check, deterministic), out)


def segment_count(keys: Any, n_segments: int, *, out: Any = None, check: bool = True) -> Any:
    """Count the rows of each segment; `SegmentPlan.count` for keys that are used once.

    Parameters
    ----------
    keys, n_segments, out, check
        As in `segment_sum`.

    Returns
    -------
    array of int64, shape (n_segments,)

    Raises
    ------
    ArgumentError, ArgumentTypeError
        As in `segment_sum`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.segment_count([1, 0, 1, -1], 3)
    array([1, 2, 0])
    """
    return _count("segment_count", _once("segment_count", keys, n_segments, check), out)


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


def _planned(function: str, keys: Any, n_segments: Any, check: bool, deterministic: bool) -> _Keys:
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


def _once(function: str, keys: Any, n_segments: Any, check: bool, deterministic: bool = False) -> _Keys:
    """Take keys for one use: no copy, and no pass over them alone unless that pays."""
    if deterministic and _arrays.is_device_array(keys):
        return _planned(function, keys, n_segments, check, deterministic)
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


def _sum(function: str, values: Any, keys: _Keys, out: Any) -> Any:
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


def _mean(function: str, values: Any, keys: _Keys, out: Any) -> Any:
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


def _extreme(function: str, values: Any, keys: _Keys, out: Any, *, maximum: bool) -> Any:
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


def _count(function: str, keys: _Keys, out: Any) -> Any:
    keys, result = _result(function, keys, out, (keys.n_segments,), np.dtype(np.int64))
    if keys.by_segment is not None:
        offsets = keys.by_segment[1]
        result[...] = offsets[1:] - offsets[:-1]
        return result
    result.fill(0)
    into = _host.count_into if keys.backend == "numpy" else _device.count_into
    _reduce(function, keys, into, result)
    return result


def _gather(function: str, values: Any, keys: _Keys, out: Any) -> Any:
    given = _numbers(function, values, keys, keys.n_segments, "segment")
    shape, dtype = (keys.array.size, *given.shape[1:]), given.dtype.newbyteorder("=")
    keys, result = _result(function, keys, out, shape, dtype, values=given)
    if keys.backend == "cupy":
        _device.gather_into(result, given, keys.array)
    elif result.size:
        _host.gather_into(result, given, keys.array)
    return result
