"""Reductions of the rows of an array by segment: sums, minima, maxima, means, counts, and back to the rows."""

from __future__ import annotations

from typing import Any

from cunumpy.algorithms._segment_reductions import (
    count_rows,
    extreme_rows,
    gather_rows,
    keys_for_one_use,
    mean_rows,
    planned_keys,
    sum_rows,
)


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
        self._keys = planned_keys("SegmentPlan", keys, n_segments, check, deterministic)

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
        return sum_rows("SegmentPlan.sum", values, self._keys, out)

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
        return extreme_rows("SegmentPlan.min", values, self._keys, out, maximum=False)

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
        return extreme_rows("SegmentPlan.max", values, self._keys, out, maximum=True)

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
        return mean_rows("SegmentPlan.mean", values, self._keys, out)

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
        return count_rows("SegmentPlan.count", self._keys, out)

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
        return gather_rows("SegmentPlan.gather", values, self._keys, out)


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
    return sum_rows("segment_sum", values, keys_for_one_use("segment_sum", keys, n_segments, check, deterministic), out)


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
    return extreme_rows(
        "segment_min", values, keys_for_one_use("segment_min", keys, n_segments, check), out, maximum=False
    )


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
    return extreme_rows(
        "segment_max", values, keys_for_one_use("segment_max", keys, n_segments, check), out, maximum=True
    )


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
    return mean_rows(
        "segment_mean", values, keys_for_one_use("segment_mean", keys, n_segments, check, deterministic), out
    )


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
    return count_rows("segment_count", keys_for_one_use("segment_count", keys, n_segments, check), out)
