"""CuPy's reductions in NumPy's form, with the ``where``, ``initial``, ``mean`` and ``correction`` that CuPy lacks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["REDUCTIONS"]

_NOT_GIVEN = np._NoValue  # NumPy's own mark, so that its defaults may be passed on


def _sum_like(name: str, identity: int, combine: str) -> Callable[..., Any]:
    native = getattr(cupy, name)

    @functools.wraps(native)
    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _NOT_GIVEN,
        where: Any = True,
    ) -> Any:
        if where is not True:
            a = _masked(name, a, where, identity)
        keepdims = keepdims is not _NOT_GIVEN and bool(keepdims)
        if initial is _NOT_GIVEN:
            return native(a, axis, dtype, out, keepdims)
        result = native(a, axis, dtype, None, keepdims)
        return _combined(combine, result, initial, out)

    return reduce


def _extremum(name: str, combine: str) -> Callable[..., Any]:
    native = getattr(cupy, name)

    @functools.wraps(native)
    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _NOT_GIVEN,
        where: Any = True,
    ) -> Any:
        keepdims = keepdims is not _NOT_GIVEN and bool(keepdims)
        if where is not True:
            if initial is _NOT_GIVEN:
                raise ArgumentError(f"{name}: has no identity, so where= needs initial= as well.")
            a = _masked(name, a, where, initial)
        if initial is _NOT_GIVEN:
            return native(a, axis, out, keepdims)
        if a.size == 0:  # CuPy refuses to reduce nothing, also when initial says what that gives
            shape = np.empty(a.shape, np.bool_).any(axis=axis, keepdims=keepdims).shape
            return _combined(combine, cupy.full(shape, initial, a.dtype), initial, out)
        return _combined(combine, native(a, axis, None, keepdims), initial, out)

    return reduce


def _truth(name: str, identity: bool) -> Callable[..., Any]:
    native = getattr(cupy, name)

    @functools.wraps(native)
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        if where is not True:
            a = _masked(name, a != 0, where, identity)
        return native(a, axis, out, keepdims is not _NOT_GIVEN and bool(keepdims))

    return reduce


def _mean(name: str) -> Callable[..., Any]:
    native = getattr(cupy, name)

    @functools.wraps(native)
    def reduce(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        keepdims = keepdims is not _NOT_GIVEN and bool(keepdims)
        if where is True:
            return native(a, axis, dtype, out, keepdims)
        selected = _selection(name, a, where)
        result = _weighted_mean(a, selected, axis, _float_dtype(a, dtype), keepdims)
        return result if out is None else _into(out, result)

    return reduce


def _spread(name: str) -> Callable[..., Any]:
    native = getattr(cupy, name)

    @functools.wraps(native)
    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = _NOT_GIVEN,
        correction: Any = _NOT_GIVEN,
    ) -> Any:
        keepdims = keepdims is not _NOT_GIVEN and bool(keepdims)
        if correction is not _NOT_GIVEN:
            if ddof != 0:
                raise ArgumentError(
                    f"{name}: ddof and correction mean the same, give one; got {ddof} and {correction}."
                )
            ddof = correction
        if where is True and mean is _NOT_GIVEN:
            return native(a, axis, dtype, out, ddof, keepdims)
        selected = _selection(name, a, where)
        kind = _float_dtype(a, dtype)
        if mean is _NOT_GIVEN:
            mean = _weighted_mean(a, selected, axis, kind, True)
        distance = cupy.where(selected, cupy.abs(a - mean), 0) ** 2
        count = cupy.maximum(cupy.sum(selected, axis, keepdims=keepdims) - ddof, 0)
        real = kind.type(0).real.dtype
        result = cupy.sum(distance, axis, real, keepdims=keepdims) / count
        result = (cupy.sqrt(result) if name.endswith("std") else result).astype(real)
        return result if out is None else _into(out, result)

    return reduce


def _masked(name: str, a: Any, where: Any, neutral: Any) -> Any:
    return cupy.where(_check_mask(name, where), a, a.dtype.type(neutral))


def _check_mask(name: str, where: Any) -> Any:
    if isinstance(where, (bool, np.bool_)) or (isinstance(where, cupy.ndarray) and where.dtype == bool):
        return where
    raise ArgumentTypeError(f"{name}: where must be a bool or a CuPy array of bools, got {type(where).__name__}.")


def _selection(name: str, a: Any, where: Any) -> Any:
    """Return the elements that count, as bools of a's shape; the nan-functions leave NaN out."""
    selected = cupy.broadcast_to(cupy.asarray(_check_mask(name, where)), a.shape)
    return selected & ~cupy.isnan(a) if name.startswith("nan") else selected


def _weighted_mean(a: Any, selected: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    total = cupy.sum(cupy.where(selected, a, 0), axis, dtype, keepdims=keepdims)
    return total / cupy.sum(selected, axis, keepdims=keepdims).astype(total.real.dtype)


def _float_dtype(a: Any, dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype if dtype is not None else a.dtype if a.dtype.kind in "fc" else np.float64)


def _combined(combine: str, result: Any, initial: Any, out: Any) -> Any:
    result = getattr(cupy, combine)(result, result.dtype.type(initial))
    return result if out is None else _into(out, result)


def _into(out: Any, result: Any) -> Any:
    out[...] = result
    return out


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum_like("sum", 0, "add"),
    "nansum": _sum_like("nansum", 0, "add"),
    "prod": _sum_like("prod", 1, "multiply"),
    "nanprod": _sum_like("nanprod", 1, "multiply"),
    "max": _extremum("max", "maximum"),
    "amax": _extremum("amax", "maximum"),
    "nanmax": _extremum("nanmax", "fmax"),
    "min": _extremum("min", "minimum"),
    "amin": _extremum("amin", "minimum"),
    "nanmin": _extremum("nanmin", "fmin"),
    "any": _truth("any", False),
    "all": _truth("all", True),
    "mean": _mean("mean"),
    "nanmean": _mean("nanmean"),
    "var": _spread("var"),
    "nanvar": _spread("nanvar"),
    "std": _spread("std"),
    "nanstd": _spread("nanstd"),
}
