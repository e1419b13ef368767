"""CuPy functions whose meaning, not just their arguments, has to be brought to NumPy's."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from cunumpy._call_forms import clip_limits, standard_function
from cunumpy._conversion import to_numpy
from cunumpy._cupy_namespace._ufuncs import numpy_ufunc
from cunumpy._numpy_namespace import finfo, iinfo
from cunumpy.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "broadcast_arrays",
    "clip",
    "count_nonzero",
    "finfo",
    "fix",
    "histogram2d",
    "histogramdd",
    "i0",
    "iinfo",
    "indices",
    "isin",
    "lexsort",
    "matmul",
    "meshgrid",
    "repeat",
    "searchsorted",
    "sinc",
    "take",
    "take_along_axis",
    "vecdot",
]

_NOT_GIVEN = np._NoValue


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Broadcast arrays and scalars against each other, as a tuple; see `cupy.broadcast_arrays`."""
    return tuple(cupy.broadcast_arrays(*map(_scalar_to_array, args)))


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate arrays from coordinate vectors, as a tuple; see `cupy.meshgrid`."""
    return tuple(cupy.meshgrid(*xi, copy=copy, sparse=sparse, indexing=indexing))


def clip(
    a: Any,
    a_min: Any = _NOT_GIVEN,
    a_max: Any = _NOT_GIVEN,
    out: Any = None,
    *,
    min: Any = _NOT_GIVEN,
    max: Any = _NOT_GIVEN,
    **kwargs: Any,
) -> Any:
    """Limit values to an interval, whose ends may be None; see `cupy.clip`.

    The keywords of a ufunc (``where``, ``dtype``, ``casting``, ``order``, ``subok``) are served as in `numpy.clip`.
    """
    a_min, a_max = clip_limits(a_min, a_max, min, max)
    if kwargs:
        return _clip_as_ufunc(a, a_min, a_max, out, kwargs)
    if a_min is not None or a_max is not None:
        return cupy.clip(a, a_min, a_max, out)
    if out is None:
        if not isinstance(a, cupy.ndarray):  # a copy would come from the host
            raise ArgumentTypeError(f"clip: a must be a CuPy array, got {type(a).__name__}; use xp.asarray first.")
        return a.copy()
    cupy.copyto(out, a)
    return out


def _clip_as_ufunc(a: Any, a_min: Any, a_max: Any, out: Any, kwargs: dict[str, Any]) -> Any:
    if a_max is None:
        return _positive(a, out=out, **kwargs) if a_min is None else _maximum(a, a_min, out=out, **kwargs)
    if a_min is not None:  # every element, so that where= is of use once, with the elements that out keeps
        a = _maximum(a, a_min, **{name: kwargs[name] for name in ("dtype", "casting") if name in kwargs})
    return _minimum(a, a_max, out=out, **kwargs)


_maximum, _minimum, _positive = (numpy_ufunc(name, getattr(cupy, name)) for name in ("maximum", "minimum", "positive"))


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Count the elements that are not zero; see `cupy.count_nonzero`."""
    return standard_function("cupy", "count_nonzero")(a, axis, keepdims=keepdims)


def fix(x: Any, out: Any = None) -> Any:
    """Round to the nearest integer towards zero; see `cupy.fix`."""
    return cupy.fix(x) if out is None else cupy.fix(x, out)


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Two-dimensional histogram, ``density`` before ``weights`` as in NumPy; see `cupy.histogram2d`."""
    return cupy.histogram2d(x, y, bins=bins, range=range, weights=weights, density=density)


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Multi-dimensional histogram, ``density`` before ``weights`` as in NumPy; see `cupy.histogramdd`."""
    return cupy.histogramdd(sample, bins=bins, range=range, weights=weights, density=bool(density))


def i0(x: Any) -> Any:
    """Modified Bessel function of the first kind, order 0; see `cupy.i0`."""
    return cupy.i0(_bools_to_float(x))


def sinc(x: Any) -> Any:
    """Normalised sinc function; see `cupy.sinc`."""
    return cupy.sinc(_bools_to_float(x))


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Index grid, dense or as one open array per axis; see `cupy.indices`."""
    if not sparse:
        return cupy.indices(dimensions, dtype)
    shape = tuple(dimensions)
    return tuple(
        cupy.arange(n, dtype=dtype).reshape((1,) * axis + (n,) + (1,) * (len(shape) - axis - 1))
        for axis, n in enumerate(shape)
    )


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Tell which elements are among others, scalars included; see `cupy.isin`."""
    if kind not in (None, "sort", "table"):
        raise ArgumentError(f"isin: kind must be None, 'sort' or 'table', got {kind!r}.")
    return cupy.isin(_scalar_to_array(element), _scalar_to_array(test_elements), assume_unique, invert)


def lexsort(keys: Any, axis: int = -1) -> Any:
    """Sort indirectly by several keys, the last one first; see `cupy.lexsort`."""
    if not isinstance(keys, cupy.ndarray):
        keys = tuple(keys)
        if len({getattr(key, "dtype", None) for key in keys}) > 1:
            return _lexsort_in_turn(keys, axis)
        keys = cupy.stack(keys)
    if keys.ndim == 1:  # one key per element of a single 0-d sort
        return cupy.lexsort(keys)
    if keys.ndim == 2 and axis in (-1, 0):
        return cupy.lexsort(keys)
    raise ArgumentError(
        f"lexsort: CuPy sorts along the only axis of 1-D keys; got keys of shape {keys.shape[1:]} and axis={axis}. "
        "Call it once per row."
    )


def _lexsort_in_turn(keys: tuple[Any, ...], axis: int) -> Any:
    """Sort by one key after the other: in one array the keys would have one dtype, and large integers lose digits."""
    if any(key.ndim != 1 for key in keys) or axis not in (-1, 0):
        raise ArgumentError(f"lexsort: keys of several dtypes must be 1-D, got {[key.shape for key in keys]}, {axis=}.")
    order = cupy.argsort(keys[0])
    for key in keys[1:]:
        order = order[cupy.argsort(key[order])]  # stable, so equal elements keep the order so far
    return order


def matmul(x1: Any, x2: Any, /, out: Any = None, *, subok: bool = True, **kwargs: Any) -> Any:
    """Matrix product; see `cupy.matmul`."""
    if isinstance(out, tuple):
        (out,) = out
    return cupy.matmul(x1, x2, **kwargs) if out is None else cupy.matmul(x1, x2, out=out, **kwargs)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Repeat elements along an axis; see `cupy.repeat`, which takes the counts from the host alone.

    Counts on the device stay there, but for a read of their sum, which is the length of the result.
    """
    if not isinstance(repeats, cupy.ndarray):
        return cupy.repeat(a, repeats, axis)
    if repeats.dtype.kind not in "biu" or repeats.ndim > 1:
        raise ArgumentTypeError(
            f"repeat: repeats must be an integer or a 1-D array of integers, got shape {repeats.shape} and dtype "
            f"{repeats.dtype}."
        )
    if axis is None:
        a, axis = a.ravel(), 0
    n = a.shape[axis]
    if repeats.size not in (1, n):
        raise ArgumentError(f"repeat: repeats must have 1 or {n} elements along axis {axis}, got {repeats.size}.")
    if n == 0:
        return a.copy()
    ends = cupy.cumsum(cupy.broadcast_to(repeats.ravel(), (n,)), dtype=np.int64)
    smallest, total = to_numpy(cupy.stack([repeats.min().astype(np.int64), ends[-1]]))
    if smallest < 0:
        raise ArgumentError(f"repeat: repeats must not be negative, got {smallest}.")
    return cupy.take(a, cupy.searchsorted(ends, cupy.arange(int(total)), side="right"), axis)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Find where elements, or one scalar, would be inserted; see `cupy.searchsorted`."""
    return cupy.searchsorted(a, _scalar_to_array(v), side, sorter)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str | None = None) -> Any:
    """Take elements along an axis; see `cupy.take`.

    CuPy's indices wrap around. ``mode="clip"`` is served by limiting them first; ``mode="raise"`` would need a read of
    the indices and is refused.
    """
    n = a.size if axis is None else a.shape[axis]
    library = cupy if isinstance(indices, cupy.ndarray) else np
    if mode == "clip":
        indices = library.clip(indices, 0, n - 1)
    elif mode == "wrap" and n > 0:
        indices = library.remainder(indices, n)
    elif mode not in (None, "wrap"):
        raise ArgumentError(
            f"take: mode must be 'wrap' or 'clip' on the CuPy backend, which checks no bounds; got {mode!r}."
        )
    return cupy.take(a, indices, axis, out)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Take elements by index along an axis, the last by default; see `cupy.take_along_axis`."""
    return cupy.take_along_axis(arr, indices, axis)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axis: int = -1,
    keepdims: bool = False,
    dtype: Any = None,
    casting: Any = "same_kind",
    order: str = "K",
    subok: bool = True,
) -> Any:
    """Vector dot product along an axis, the first conjugated, as `numpy.vecdot` defines it; CuPy has none."""
    if dtype is not None:
        for x in (x1, x2):
            if not np.can_cast(x.dtype, dtype, casting):
                raise ArgumentTypeError(f"vecdot: can't cast {x.dtype} to {np.dtype(dtype)} with casting={casting!r}.")
        x1, x2 = x1.astype(dtype), x2.astype(dtype)
    result = standard_function("cupy", "vecdot")(x1, x2, axis=axis)
    if keepdims:
        result = cupy.expand_dims(result, axis)
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return result
    cupy.copyto(out, result, casting=casting)  # may be broadcast, as by every ufunc
    return out


def _bools_to_float(x: Any) -> Any:
    """Return bools as float64, which NumPy computes with; CuPy takes float16."""
    return x.astype(np.float64) if isinstance(x, cupy.ndarray) and x.dtype == bool else x


def _scalar_to_array(value: Any) -> Any:
    """Return a Python or NumPy scalar as a 0-d device array, anything else as it is.

    It is filled in by a kernel: `cupy.asarray` would be a copy from the host.
    """
    return cupy.full((), value) if isinstance(value, (bool, int, float, complex, np.generic)) else value
