"""CuPy's functions that are not NumPy's, under CuPy's names and with CuPy's parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .allocators import DEFAULT_POOL
from .array_base import changed, is_host_array, operand, reshaped, target, unwrap, used, wrap
from .extras import get_runtime_info
from .ndarray import ndarray
from .pinned_memory import DEFAULT_PINNED_POOL
from .serving import copied_argument, sequence_argument


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose between two arrays, or give the indices of the true elements."""
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    chosen = unwrap(condition)
    if x is None:
        return tuple(wrap(indices) for indices in np.nonzero(chosen))
    return wrap(np.where(chosen.astype(bool), operand(x), operand(y)))


def argmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the maximum."""
    return _extremum(np.argmax, a, axis, dtype, out, keepdims)


def argmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the minimum."""
    return _extremum(np.argmin, a, axis, dtype, out, keepdims)


def nanargmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the maximum of the numbers."""
    return _extremum(np.nanargmax, a, axis, dtype, out, keepdims)


def nanargmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the minimum of the numbers."""
    return _extremum(np.nanargmin, a, axis, dtype, out, keepdims)


def _extremum(compute: Any, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool) -> ndarray:
    if isinstance(axis, tuple):
        raise TypeError("the CuPy stand-in searches along one axis; NumPy has no search along several")
    result = np.asarray(compute(unwrap(a), axis=axis, keepdims=keepdims)).astype(dtype or np.int64, copy=False)
    if out is None:
        return wrap(result)
    target(out)[...] = result
    assert isinstance(out, ndarray)
    return out


def corrcoef(
    a: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, dtype: Any = None
) -> ndarray:
    """Return correlation coefficients."""
    if bias is not None or ddof is not None:
        warnings.warn("bias and ddof have no effect and are deprecated", DeprecationWarning, stacklevel=4)
    with np.errstate(all="ignore"):
        other = None if y is None else unwrap(y)
        return wrap(np.corrcoef(unwrap(a), other, rowvar, dtype=dtype))


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    interpolation: Any = None,
) -> ndarray:
    """Return percentiles."""
    return _quantile(np.percentile, "percentile", a, q, axis, out, interpolation or method, keepdims)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    interpolation: Any = None,
) -> ndarray:
    """Return quantiles."""
    return _quantile(np.quantile, "quantile", a, q, axis, out, interpolation or method, keepdims)


def _quantile(compute: Any, name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool) -> ndarray:
    result = compute(unwrap(a), copied_argument(name, q), axis=axis, method=method, keepdims=keepdims)
    if out is None:
        return wrap(result)
    target(out)[...] = result
    assert isinstance(out, ndarray)
    return out


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """Copy values from one array to another."""
    if is_host_array(src) and src.size != 1:
        raise ValueError("non-scalar numpy.ndarray cannot be used for copyto")
    source = src.reshape(()) if isinstance(src, np.ndarray) else src
    mask: Any = True if where is None else operand(where)
    value = operand(source)
    if where is None:
        np.copyto(target(dst), value, casting)  # type: ignore[arg-type]
    else:
        with changed(dst) as buffer:
            np.copyto(buffer, value, casting, where=mask)  # type: ignore[arg-type]


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array; lists and NumPy arrays have one, too."""
    return a.shape if isinstance(a, ndarray) else np.shape(a)


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return a.ndim if isinstance(a, ndarray) else np.ndim(a)


def isscalar(element: Any) -> bool:
    """Whether a value is a scalar."""
    return not isinstance(element, ndarray) and np.isscalar(element)


def iscomplexobj(x: Any) -> bool:
    """Whether a value has a complex type."""
    return bool(x.dtype.kind == "c") if isinstance(x, ndarray) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Whether a value has a real type."""
    return not iscomplexobj(x)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the type that results from combining arrays and types."""
    return np.result_type(*(v._buffer if isinstance(v, ndarray) else v for v in arrays_and_dtypes))


def min_scalar_type(a: Any) -> np.dtype[Any]:
    """Return the smallest type that holds a value."""
    return np.min_scalar_type(a._buffer if isinstance(a, ndarray) else a)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a type can be cast to another."""
    source = from_.dtype if isinstance(from_, ndarray) else from_
    return np.can_cast(source, to, casting)  # type: ignore[arg-type]


def broadcast_arrays(*args: Any) -> list[ndarray]:
    """Broadcast arrays against each other."""
    return [wrap(item, source) for item, source in zip(np.broadcast_arrays(*map(unwrap, args)), args, strict=True)]


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> ndarray:
    """Apply a function of device arrays to slices along an axis."""

    def on_host(row: Any) -> Any:
        result = func1d(wrap(row.copy()), *args, **kwargs)
        return used(result) if isinstance(result, ndarray) else result

    return wrap(np.apply_along_axis(on_host, axis, unwrap(arr)))


def apply_over_axes(func: Any, a: Any, axes: Any) -> ndarray:
    """Apply a function of a device array and an axis to one axis after the other."""
    value = wrap(unwrap(a), a)
    for axis in np.atleast_1d(axes):
        position = range(value.ndim)[axis]
        reduced: ndarray = func(value, position)
        if reduced.ndim != value.ndim:
            reduced = wrap(np.expand_dims(used(reduced), position))
        if reduced.ndim != value.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = reduced
    return value


def piecewise(x: Any, condlist: Any, funclist: Any) -> ndarray:
    """Choose scalars by conditions."""
    if any(callable(item) for item in funclist):
        raise NotImplementedError("Callable functions are not supported currently")
    return wrap(np.piecewise(unwrap(x), sequence_argument(condlist), sequence_argument(list(funclist))))


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> ndarray:
    """Whether each element of a flattened array is in another."""
    return wrap(np.isin(unwrap(ar1).ravel(), unwrap(ar2), assume_unique=assume_unique, invert=invert))


def msort(a: Any) -> ndarray:
    """Return a copy sorted along the first axis."""
    return wrap(np.sort(unwrap(a), axis=0, kind="stable"))


def sort(a: Any, axis: Any = -1, kind: Any = None) -> ndarray:
    """Return a copy, sorted stably."""
    _check_sort_kind(kind)
    return wrap(np.sort(unwrap(a), axis=axis, kind="stable"))


def argsort(a: Any, axis: Any = -1, kind: Any = None) -> ndarray:
    """Return the indices of a stable sort."""
    _check_sort_kind(kind)
    return wrap(np.argsort(unwrap(a), axis=axis, kind="stable"))


def _check_sort_kind(kind: Any) -> None:
    if kind not in (None, "stable"):
        raise ValueError(f"kind can only be None or 'stable', got {kind!r}")


def lexsort(keys: Any) -> ndarray:
    """Return the indices of a sort by several keys, the last one first; the keys are the rows of one array."""
    if not isinstance(keys, ndarray):
        raise TypeError(f"lexsort() needs a cupy.ndarray of keys, got {type(keys)}")
    if keys.ndim == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    return wrap(np.lexsort(used(keys)))


def matmul(
    *args: Any,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    casting: str = "same_kind",
    dtype: Any = None,
    signature: Any = None,
    order: str = "K",
    out: Any = None,
) -> ndarray:
    """Return the matrix product."""
    for name, value in (("axes", axes), ("axis", axis), ("signature", signature)):
        if value is not None:
            raise TypeError(f"the CuPy stand-in's matmul() has no {name}")
    if len(args) not in (2, 3):
        raise TypeError(f"matmul() takes 2 arrays, got {len(args)}")
    result = np.matmul(unwrap(args[0]), unwrap(args[1]), dtype=dtype)
    out = args[2] if len(args) == 3 else out
    if out is None:
        return wrap(result)
    target(out)[...] = result
    assert isinstance(out, ndarray)
    return out


def reshape(a: Any, newshape: Any, order: Any = "C", copy: Any = None) -> ndarray:
    """Return the array with another shape."""
    return wrap(reshaped(unwrap(a), newshape, order, copy), a)


def delete(arr: Any, indices: Any, axis: Any = None) -> ndarray:
    """Return a copy without some rows."""
    return wrap(np.delete(unwrap(arr), copied_argument("delete", indices), axis))


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> tuple[ndarray, ...]:
    """Count points of the plane in bins."""
    if isinstance(bins, ndarray):
        bins = [bins, bins]
    elif isinstance(bins, (list, tuple, np.ndarray)) and len(bins) != 2:
        raise ValueError("array-like bins not supported in CuPy")
    hist, edges = histogramdd([x, y], bins, range, weights, bool(density))
    return hist, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[ndarray, list[ndarray]]:
    """Count points in bins, whose edges are on the device."""
    points: Any = unwrap(sample) if isinstance(sample, ndarray) else [unwrap(one) for one in sample]
    if isinstance(bins, (list, tuple, np.ndarray)):
        if not all(isinstance(one, ndarray) or np.ndim(one) == 0 for one in bins):
            raise ValueError("array-like bins not supported")
        bins = [operand(one) for one in bins]
    factors = None if weights is None else copied_argument("histogramdd", weights)
    hist, edges = np.histogramdd(points, bins, range, density, factors)
    return wrap(hist), [wrap(one) for one in edges]


def show_config(_full: bool = False) -> None:
    """Print what there is of CUDA and libraries: none."""
    print(get_runtime_info(full=_full), end="")


def get_default_memory_pool() -> Any:
    """Return the pool of device memory."""
    return DEFAULT_POOL


def get_default_pinned_memory_pool() -> Any:
    """Return the pool of pinned memory."""
    return DEFAULT_PINNED_POOL


def is_available() -> bool:
    """Whether there is a device: always."""
    return True


FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        apply_along_axis,
        apply_over_axes,
        argmax,
        argmin,
        argsort,
        broadcast_arrays,
        can_cast,
        copyto,
        corrcoef,
        delete,
        get_default_memory_pool,
        get_default_pinned_memory_pool,
        histogram2d,
        histogramdd,
        in1d,
        is_available,
        iscomplexobj,
        isrealobj,
        isscalar,
        lexsort,
        min_scalar_type,
        msort,
        nanargmax,
        nanargmin,
        ndim,
        percentile,
        piecewise,
        quantile,
        reshape,
        result_type,
        shape,
        show_config,
        sort,
        where,
    )
}
