"""Morton and Hilbert keys: arguments are checked here, and the work is done where the arrays are."""

from __future__ import annotations

import math
import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _gate
from cunumpy.algorithms import _device_morton, _host
from cunumpy.cuda._device_code import check_devices
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, DTypeLike

__all__ = [
    "MAX_MORTON_LEVELS",
    "hilbert_decode",
    "hilbert_encode",
    "hilbert_keys",
    "morton_decode",
    "morton_encode",
    "morton_keys",
    "morton_scales",
]

MAX_MORTON_LEVELS: Mapping[int, int] = MappingProxyType({2: 32, 3: 21})
"""The most bits per axis that fit in a key of 64 bits, by the number of dimensions."""

_UINT32_LEVELS = {2: 16, 3: 10}


def morton_scales(lower: ArrayLike, upper: ArrayLike, levels: int) -> np.ndarray:
    """Return how many cells there are per unit of length, as the functions of ``cunumpy/morton.cuh`` take it.

    Parameters
    ----------
    lower, upper : array_like (ndim,)
        Opposite corners of the box, on the host; 2 or 3 finite numbers that differ on every axis. Where ``upper`` is
        below ``lower`` the scale is negative, which reverses the axis.
    levels : int
        Bits per axis: there are ``2**levels`` cells along each; 1 to 32 in 2D, 1 to 21 in 3D.

    Returns
    -------
    numpy.ndarray (ndim,)
        ``2**levels / (upper - lower)`` in float64.

    Raises
    ------
    ArgumentError
        Corners of unequal or wrong length, equal or not finite on an axis, or so far apart or so close that the scale
        is not a finite number above 0; levels out of range.
    ArgumentTypeError
        Corners that are no real numbers, or levels that are no integer.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.morton_scales([0, 0], [1, 4], 3)
    array([8., 2.])
    """
    return _grid("morton_scales", lower, upper, levels, None, np.dtype(np.uint64))[1]


def morton_keys(
    positions: Any,
    lower: ArrayLike,
    upper: ArrayLike,
    levels: int,
    *,
    dtype: DTypeLike = np.uint64,
    out: Any = None,
    check: bool | None = None,
) -> Any:
    """Return the Morton (Z-order) keys of points: the index of each one's cell, ordered so that near keys are near.

    Bit ``ndim * b + a`` of a key is bit ``b`` of the cell's index on axis ``a``. Sorting particles by their keys keeps
    neighbours together in memory, and ``keys >> ndim * (levels - l)`` are the nodes at level ``l`` of the quadtree or
    octree.

    Parameters
    ----------
    positions : array_like (n, ndim)
        Points in 2 or 3 dimensions, of any strides, on host or device. Every dtype is computed in float64, so that
        float32 points have the keys of the same points in float64; integers beyond 2**53 and long double are rounded
        to it.
    lower, upper : array_like (ndim,)
        Opposite corners of the box, on the host. Where ``upper`` is below ``lower`` the axis is reversed.
    levels : int
        Bits per axis: the box has ``2**levels`` cells along each. 1 to 32 in 2D and 1 to 21 in 3D; for 32-bit keys 1
        to 16 and 1 to 10.
    dtype : {numpy.uint64, numpy.uint32}, default: numpy.uint64
        Of the keys.
    out : array (n,), optional
        Is written to and returned: C-contiguous, of exactly this dtype, on the backend of `positions`.
    check : bool, optional
        Whether NaN is refused; otherwise its cell is 0 on that axis. By default it is on the host, and it is not on
        the device, where looking takes a read of 16 bytes, which is recorded.

    Returns
    -------
    array (n,)
        Keys, on the backend of `positions`.

    Raises
    ------
    ArgumentError
        Wrong shapes, levels out of range, corners that `morton_scales` refuses, NaN, or an unfit `out`; it is not
        written to then.
    ArgumentTypeError
        Positions that are no real numbers, levels that are no integer, or another dtype.
    MixedBackendError
        `positions` and `out` on different backends.

    Notes
    -----
    The cell is ``floor((x - lower) * scale)`` with the scale of `morton_scales`: points on the boundary of two cells
    are in the upper one, those on or outside the box in the nearest cell, infinities included. On the device this is
    one kernel launch, and a second one if both `out` and ``check=True`` are given. No copy of the positions is made,
    and the keys are those of ``cunumpy_morton_key2`` and ``cunumpy_morton_key3`` in ``cunumpy/morton.cuh``.

    See Also
    --------
    hilbert_keys : Consecutive keys are always neighbours there; it takes longer to compute.
    morton_encode : Keys of cells whose indices are known.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.morton_keys([[0.0, 0.0], [0.125, 0.0], [0.999, 0.5], [-5.0, 7.0]], [0, 0], [1, 1], 3)
    array([ 0,  1, 53, 42], dtype=uint64)
    """
    return _point_keys("morton_keys", positions, lower, upper, levels, False, dtype, out, check)


def hilbert_keys(
    positions: Any,
    lower: ArrayLike,
    upper: ArrayLike,
    levels: int,
    *,
    dtype: DTypeLike = np.uint64,
    out: Any = None,
    check: bool | None = None,
) -> Any:
    """Return the keys of points along the Hilbert curve: cells with consecutive keys have a face in common.

    Parameters
    ----------
    positions : array_like (n, ndim)
        Points in 2 or 3 dimensions, as for `morton_keys`.
    lower, upper : array_like (ndim,)
        Opposite corners of the box, on the host. Where ``upper`` is below ``lower`` the axis is reversed.
    levels : int
        Bits per axis: the box has ``2**levels`` cells along each. 1 to 32 in 2D and 1 to 21 in 3D; for 32-bit keys 1
        to 16 and 1 to 10.
    dtype : {numpy.uint64, numpy.uint32}, default: numpy.uint64
        Of the keys.
    out : array (n,), optional
        Is written to and returned: C-contiguous, of exactly this dtype, on the backend of `positions`.
    check : bool, optional
        Whether NaN is refused; otherwise its cell is 0 on that axis. By default it is on the host, and it is not on
        the device, where looking takes a read of 16 bytes, which is recorded.

    Returns
    -------
    array (n,)
        Keys, on the backend of `positions`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, MixedBackendError
        As `morton_keys`.

    Notes
    -----
    Cells are found as by `morton_keys`. The curve starts in the cell of the lower corner and ends at the other end of
    axis 0; its order with one level is (0, 0), (0, 1), (1, 1), (1, 0). As for Morton keys,
    ``keys >> ndim * (levels - l)`` are the keys with ``l`` levels. The algorithm is J. Skilling's, "Programming the
    Hilbert curve", AIP Conference Proceedings 707, 381 (2004).

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.hilbert_keys([[0.1, 0.1], [0.1, 0.9], [0.9, 0.9], [0.9, 0.1]], [0, 0], [1, 1], 1)
    array([0, 1, 2, 3], dtype=uint64)
    """
    return _point_keys("hilbert_keys", positions, lower, upper, levels, True, dtype, out, check)


def morton_encode(*cells: Any, dtype: DTypeLike = np.uint64, out: Any = None, check: bool | None = None) -> Any:
    """Return the Morton (Z-order) keys of cells.

    Parameters
    ----------
    *cells : array_like of int
        The cell's index on each of 2 or 3 axes: arrays of any shape that broadcast, in any integer dtype. Each is below
        ``2**32`` in 2D and ``2**21`` in 3D; for 32-bit keys below ``2**16`` and ``2**10``.
    dtype : {numpy.uint64, numpy.uint32}, default: numpy.uint64
        Of the keys.
    out : array, optional
        Is written to and returned: C-contiguous, of exactly the keys' shape and dtype.
    check : bool, optional
        Whether indices out of range are refused; otherwise their low bits alone count. By default they are on the host,
        and they are not on the device, where looking takes a read of 16 bytes, which is recorded.

    Returns
    -------
    array
        Keys of the broadcast shape, on the backend of the cells; 0-d for scalars.

    Raises
    ------
    ArgumentError
        Not 2 or 3 axes, shapes that do not broadcast, an index out of range, or an unfit `out`.
    ArgumentTypeError
        Cells that are no integers, or another dtype.
    MixedBackendError
        Arrays of host and device; scalars go with both.

    Notes
    -----
    On the device this is one kernel launch, and a second one if both `out` and ``check=True`` are given.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.morton_encode([1, 0, 3], [0, 1, 3])
    array([ 1,  2, 15], dtype=uint64)
    """
    return _cell_keys("morton_encode", cells, None, False, dtype, out, check)


def hilbert_encode(
    *cells: Any, levels: int, dtype: DTypeLike = np.uint64, out: Any = None, check: bool | None = None
) -> Any:
    """Return the keys of cells along the Hilbert curve; see `hilbert_keys` for its orientation.

    Parameters
    ----------
    *cells : array_like of int
        The cell's index on each of 2 or 3 axes, from 0 to ``2**levels - 1``: arrays of any shape that broadcast, in any
        integer dtype.
    levels : int
        Bits per axis, on which the keys depend: 1 to 32 in 2D and 1 to 21 in 3D; for 32-bit keys 1 to 16 and 1 to 10.
    dtype : {numpy.uint64, numpy.uint32}, default: numpy.uint64
        Of the keys.
    out : array, optional
        Is written to and returned: C-contiguous, of exactly the keys' shape and dtype.
    check : bool, optional
        Whether indices out of range are refused; otherwise their low bits alone count. By default they are on the host,
        and they are not on the device, where looking takes a read of 16 bytes, which is recorded.

    Returns
    -------
    array
        Keys of the broadcast shape, on the backend of the cells; 0-d for scalars.

    Raises
    ------
    ArgumentError, ArgumentTypeError, MixedBackendError
        As `morton_encode`, and for levels out of range.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.hilbert_encode([0, 1, 1, 0], [0, 0, 1, 1], levels=2)
    array([0, 1, 2, 3], dtype=uint64)
    """
    return _cell_keys("hilbert_encode", cells, levels, True, dtype, out, check)


def morton_decode(keys: Any, ndim: int, *, check: bool | None = None) -> tuple[Any, ...]:
    """Return the cells of Morton keys; the inverse of `morton_encode`.

    Parameters
    ----------
    keys : array_like of int
        Any shape. Keys of dtype uint32 are 32-bit keys. In 3D the bits that belong to no axis are ignored: bit 63, and
        bits 30 and 31 of 32-bit keys.
    ndim : {2, 3}
        The number of axes.
    check : bool, optional
        Whether negative keys are refused; otherwise they are taken modulo 2**64. By default they are on the host, and
        they are not on the device, where looking takes a read of 16 bytes, which is recorded.

    Returns
    -------
    tuple of arrays
        The cell's index on each axis, in the shape of `keys`, uint32 for keys of dtype uint32 and else uint64. NumPy
        scalars for a scalar.

    Raises
    ------
    ArgumentError
        Another `ndim`, or a negative key.
    ArgumentTypeError
        Keys or `ndim` that are no integers.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.morton_decode([1, 2, 53], 2)
    (array([1, 0, 7], dtype=uint64), array([0, 1, 4], dtype=uint64))
    """
    return _key_cells("morton_decode", keys, ndim, None, False, check)


def hilbert_decode(keys: Any, ndim: int, levels: int, *, check: bool | None = None) -> tuple[Any, ...]:
    """Return the cells of keys along the Hilbert curve; the inverse of `hilbert_encode`.

    Parameters
    ----------
    keys : array_like of int
        Any shape, from 0 to ``2**(ndim * levels) - 1``.
    ndim : {2, 3}
        The number of axes.
    levels : int
        Bits per axis, the same as for encoding.
    check : bool, optional
        Whether keys out of range are refused; otherwise their low bits alone count. By default they are on the host,
        and they are not on the device, where looking takes a read of 16 bytes, which is recorded.

    Returns
    -------
    tuple of arrays
        The cell's index on each axis, in the shape of `keys`, uint32 for keys of dtype uint32 and else uint64. NumPy
        scalars for a scalar.

    Raises
    ------
    ArgumentError
        Another `ndim`, levels or a key out of range.
    ArgumentTypeError
        Keys, `ndim` or levels that are no integers.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.algorithms.hilbert_decode([0, 1, 2, 3], 2, 2)
    (array([0, 1, 1, 0], dtype=uint64), array([0, 0, 1, 1], dtype=uint64))
    """
    return _key_cells("hilbert_decode", keys, ndim, levels, True, check)


def _point_keys(
    function: str,
    positions: Any,
    lower: ArrayLike,
    upper: ArrayLike,
    levels: int,
    hilbert: bool,
    dtype: DTypeLike,
    out: Any,
    check: bool | None,
) -> Any:
    if check is not None:
        check = _gate.as_optional_truth(check, function=function, argument="check")
    key_dtype = _key_dtype(function, dtype)
    on_device = _gate.common_backend(function, positions=positions, out=out) == "cupy"
    if on_device and _arrays.is_device_array(positions):
        check_devices(function, positions=positions, out=out)
        if positions.dtype.kind not in "iuf":
            raise ArgumentTypeError(
                f"{function}: argument 'positions' has dtype {positions.dtype}, expected integer or floating; convert "
                "it with .astype(...)."
            )
    else:
        on_device = False
        positions = _gate.as_host_array(positions, function=function, argument="positions", dtype_kinds="iuf")
        if positions.dtype.kind == "f" and positions.dtype.itemsize > 8:
            positions = positions.astype(np.float64)
    if positions.ndim != 2 or positions.shape[1] not in (2, 3):
        raise ArgumentError(
            f"{function}: argument 'positions' must have shape (n, ndim) with ndim 2 or 3, got {positions.shape}; a "
            "single point is positions[None, :], coordinates in rows are positions.T."
        )
    n, ndim = positions.shape
    corner, scale = _grid(function, lower, upper, levels, ndim, key_dtype)
    levels = operator.index(levels)
    if out is not None:
        _gate.check_output(
            out,
            shape=(n,),
            dtype=key_dtype,
            backend="cupy" if on_device else "numpy",
            function=function,
            inputs={"positions": positions},
        )
    if on_device:
        check = bool(check)

        def run(keys: Any, check: bool) -> None:
            count, first = _device_morton.point_keys(
                positions, corner, scale, levels, hilbert, keys, dtype=key_dtype, check=check, function=function
            )
            if count:
                _refuse_nan(function, count, first)

        return _on_device(run, (n,), key_dtype, out, check)
    check = check is None or check
    if check and out is not None and _host.morton.point_keys(positions, corner, scale, levels, hilbert, None):
        _refuse_nan_in(function, positions)
    keys = np.empty(n, key_dtype) if out is None else out
    if _host.morton.point_keys(positions, corner, scale, levels, hilbert, keys) and check:
        _refuse_nan_in(function, positions)
    return keys


def _cell_keys(
    function: str,
    cells: tuple[Any, ...],
    levels: int | None,
    hilbert: bool,
    dtype: DTypeLike,
    out: Any,
    check: bool | None,
) -> Any:
    if check is not None:
        check = _gate.as_optional_truth(check, function=function, argument="check")
    ndim = len(cells)
    if ndim not in (2, 3):
        raise ArgumentError(
            f"{function}: keys have 2 or 3 dimensions, got cells on {ndim} axes; pass one argument for each axis."
        )
    key_dtype = _key_dtype(function, dtype)
    levels = _limit(ndim, key_dtype) if levels is None else _levels(function, levels, ndim, key_dtype)
    names = [f"cells[{axis}]" for axis in range(ndim)]
    given = dict(zip(names, cells, strict=True))
    on_device = _gate.common_backend(function, **given, out=out) == "cupy"
    arrays = {
        name: _as_integers(function, name, value, on_device and _arrays.is_device_array(value))
        for name, value in given.items()
    }
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays.values())
        raise ArgumentError(f"{function}: the cells' shapes {shapes} do not broadcast; give them one shape.") from None
    if out is not None:
        _gate.check_output(
            out,
            shape=shape,
            dtype=key_dtype,
            backend="cupy" if on_device else "numpy",
            function=function,
            inputs=arrays,
        )
    last = 2**levels - 1
    remedy = f"pass check=False if its lowest {levels} bits alone are meant"
    if not on_device:
        if check is None or check:
            for name, array in arrays.items():
                _check_range(function, name, array, last, remedy)
        keys = np.empty(shape, key_dtype) if out is None else out
        for *chunk, key_chunk in _chunks([*arrays.values()], [keys]):
            _host.morton.cell_keys(chunk, levels, hilbert, key_chunk)
        return keys
    check = bool(check)
    check_devices(function, **{name: value for name, value in given.items() if _arrays.is_device_array(value)}, out=out)
    operands: list[Any] = []
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):  # a scalar, for it goes with a device array
            if check:
                _check_range(function, name, array, last, remedy)
            operands.append(int(array))
        else:
            operands.append(array)

    def run(keys: Any, check: bool) -> None:
        count, first = _device_morton.cell_keys(
            operands, shape, levels, hilbert, keys, dtype=key_dtype, check=check, function=function
        )
        if count:
            index = tuple(int(i) for i in np.unravel_index(first, shape))
            raise ArgumentError(
                f"{function}: {count} of the cells are not within 0 to {last}, the first at {index}; {remedy}."
            )

    return _on_device(run, shape, key_dtype, out, check)


def _key_cells(
    function: str, keys: Any, ndim: int, levels: int | None, hilbert: bool, check: bool | None
) -> tuple[Any, ...]:
    if check is not None:
        check = _gate.as_optional_truth(check, function=function, argument="check")
    on_device = _gate.common_backend(function, keys=keys) == "cupy"
    ndim = _gate.as_integer(ndim, function=function, argument="ndim")
    if ndim not in (2, 3):
        raise ArgumentError(f"{function}: argument 'ndim' must be 2 or 3, got {ndim}.")
    keys = _as_integers(function, "keys", keys, on_device)
    dtype = np.dtype(np.uint32 if keys.dtype == np.uint32 else np.uint64)
    if levels is None:
        levels = _limit(ndim, dtype)
        last = 2**63 - 1 if keys.dtype.kind == "i" else 2**64 - 1
        remedy = "pass check=False if it is meant modulo 2**64"
    else:
        levels = _levels(function, levels, ndim, dtype)
        last = 2 ** (ndim * levels) - 1
        remedy = (
            f"give the levels that it was encoded with, or check=False if its lowest {ndim * levels} bits are meant"
        )
    if not on_device:
        if check is None or check:
            _check_range(function, "keys", keys, last, remedy)
        cells = [np.empty(keys.shape, dtype) for _ in range(ndim)]
        for key_chunk, *chunk in _chunks([keys], cells):
            _host.morton.key_cells(key_chunk, levels, hilbert, chunk)
        return tuple(axis[()] for axis in cells)
    check_devices(function, keys=keys)
    cells = [_backend.require_cupy(function).empty(keys.shape, dtype) for _ in range(ndim)]
    count, first = _device_morton.key_cells(
        keys, levels, hilbert, cells, last=last, check=bool(check), function=function
    )
    if count:
        index = tuple(int(i) for i in np.unravel_index(first, keys.shape))
        raise ArgumentError(
            f"{function}: {count} of the keys are not within 0 to {last}, the first at {index}; {remedy}."
        )
    return tuple(cells)


def _on_device(run: Any, shape: tuple[int, ...], dtype: np.dtype[Any], out: Any, check: bool) -> Any:
    """Call ``run(keys, check)``; the caller's array is written to only after a check."""
    if out is None:
        keys = _backend.require_cupy("cunumpy.algorithms").empty(shape, dtype)
        run(keys, check)
        return keys
    if check:
        run(None, True)
    run(out, False)
    return out


def _chunks(inputs: list[np.ndarray], outputs: list[np.ndarray]) -> Any:
    """Give one-dimensional parts of arrays that broadcast: integers as uint64, and what is written to."""
    if outputs[0].size == 0:
        return
    # a view, where the iterator would make copies chunk by chunk
    views = [array.view(np.uint64) if array.dtype == np.int64 else array for array in inputs]
    key_dtypes = [output.dtype if len(outputs) == 1 else np.dtype(np.uint64) for output in outputs]
    uses: list[Any] = [["readonly"]] * len(views) + [["writeonly", "no_broadcast"]] * len(outputs)
    iterator = np.nditer(
        [*views, *outputs],
        flags=["external_loop", "buffered", "growinner"],
        op_flags=uses,
        op_dtypes=[np.dtype(np.uint64)] * len(views) + key_dtypes,
        casting="unsafe",  # checked, or meant modulo 2**64
        buffersize=2**16,
    )
    with iterator:
        yield from iterator


def _as_integers(function: str, argument: str, value: Any, on_device: bool) -> Any:
    if not on_device:
        return _gate.as_integer_array(value, function=function, argument=argument)
    if value.dtype.kind not in "iu":
        _gate.refuse_non_integer(value, value.dtype, function=function, argument=argument)
    return value


def _check_range(function: str, argument: str, array: np.ndarray, last: int, remedy: str) -> None:
    """Raise unless every integer is within 0 .. last."""
    if array.size == 0 or (int(array.max()) <= last and (array.dtype.kind == "u" or int(array.min()) >= 0)):
        return
    bad = (array < 0) | (array > last)
    index = tuple(int(i) for i in np.unravel_index(int(bad.argmax()), array.shape))
    where = f", the first at {index}" if array.ndim else ""
    raise ArgumentError(
        f"{function}: argument {argument!r} must be within 0 to {last}, got {int(array[index])} "
        f"({np.count_nonzero(bad)} of {array.size} are not{where}); {remedy}."
    )


def _refuse_nan_in(function: str, positions: np.ndarray) -> None:
    bad = np.isnan(positions).any(axis=1)
    _refuse_nan(function, int(np.count_nonzero(bad)), int(bad.argmax()))


def _refuse_nan(function: str, count: int, first: int) -> None:
    raise ArgumentError(
        f"{function}: argument 'positions' has NaN in {count} point(s), the first at index {first}; remove these "
        "points, or pass check=False to put them in cell 0 of the axis."
    )


def _key_dtype(function: str, dtype: DTypeLike) -> np.dtype[Any]:
    wanted = _gate.as_dtype(dtype, function=function)
    if wanted not in (np.dtype(np.uint64), np.dtype(np.uint32)):
        raise ArgumentTypeError(f"{function}: argument 'dtype' must be numpy.uint64 or numpy.uint32, got {wanted}.")
    return wanted


def _limit(ndim: int, dtype: np.dtype[Any]) -> int:
    return (MAX_MORTON_LEVELS if dtype.itemsize == 8 else _UINT32_LEVELS)[ndim]


def _levels(function: str, levels: Any, ndim: int, dtype: np.dtype[Any]) -> int:
    number = _gate.as_integer(levels, function=function, argument="levels")
    most = _limit(ndim, dtype)
    if not 1 <= number <= most:
        raise ArgumentError(
            f"{function}: argument 'levels' must be 1 to {most} for {ndim}-D keys of dtype {dtype}, got {number}."
        )
    return number


def _grid(
    function: str, lower: ArrayLike, upper: ArrayLike, levels: int, ndim: int | None, dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower corner and the scales."""
    corners = []
    for argument, value in (("lower", lower), ("upper", upper)):
        array = _gate.as_host_array(value, function=function, argument=argument, dtype_kinds="iuf", ndim=1)
        if ndim is not None and len(array) != ndim:
            raise ArgumentError(
                f"{function}: argument {argument!r} has {len(array)} values; positions in {ndim} dimensions need "
                f"{ndim} values."
            )
        corner: list[float] = array.astype(np.float64).tolist()
        if not all(map(math.isfinite, corner)):
            raise ArgumentError(f"{function}: argument {argument!r} must be finite, got {corner}.")
        corners.append(corner)
    low, high = corners
    if len(low) != len(high) or len(low) not in (2, 3):
        raise ArgumentError(
            f"{function}: arguments 'lower' and 'upper' must both have 2 or 3 values, got {len(low)} and {len(high)}."
        )
    number = _levels(function, levels, len(low), dtype)
    for axis, (first, second) in enumerate(zip(low, high, strict=True)):
        if first == second:
            raise ArgumentError(
                f"{function}: arguments 'lower' and 'upper' must differ on every axis, got {first} twice on axis "
                f"{axis}."
            )
    scale = [2**number / (second - first) for first, second in zip(low, high, strict=True)]
    if not all(math.isfinite(one) and one != 0 for one in scale):
        raise ArgumentError(
            f"{function}: arguments 'lower' = {low} and 'upper' = {high} are too close together or too far apart: "
            f"2**{number} / (upper - lower) is {scale} in float64; choose other units."
        )
    return np.array(low), np.array(scale)
