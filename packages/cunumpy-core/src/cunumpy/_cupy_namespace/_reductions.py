"""CuPy's reductions in NumPy's form, with the ``where``, ``initial``, ``mean`` and ``correction`` that CuPy lacks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from cunumpy._call_forms import named
from cunumpy._cupy_namespace._outputs import into
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
        if _selects(where):
            a = _masked(name, a, where, identity)
        keepdims = keepdims is not _NOT_GIVEN and bool(keepdims)
        if initial is _NOT_GIVEN:
            return native(a, axis, dtype, out, keepdims)
        result = native(a, axis, dtype, None, keepdims)
        return _combined(name, combine, result, initial, out)

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
        if _selects(where):
            if initial is _NOT_GIVEN:
                raise ArgumentError(f"{name}: has no identity, so where= needs initial= as well.")
            a = _masked(name, a, where, initial)
        if initial is _NOT_GIVEN:
            return native(a, axis, out, keepdims)
        if a.size == 0:  # CuPy refuses to reduce nothing, also when initial says what that gives
            shape = np.empty(a.shape, np.bool_).any(axis=axis, keepdims=keepdims).shape
            result = cupy.empty(shape, a.dtype)
            result[...] = _scalar(name, initial, a.dtype)
            return into(name, out, result, "unsafe")
        return _combined(name, combine, native(a, axis, None, keepdims), initial, out)

    return reduce


def _truth(name: str, identity: bool) -> Callable[..., Any]:
    native = getattr(cupy, name)

    @functools.wraps(native)
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        if _selects(where):
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
        if not _selects(where):
            return native(a, axis, dtype, out, keepdims)
        kind = _float_dtype(a, dtype)
        result = _weighted_mean(a, _selection(name, a, where), axis, _working_dtype(kind), keepdims)
        return into(name, out, result.astype(kind, copy=False), "same_kind" if name == "nanmean" else "unsafe")

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
        if not _selects(where) and mean is _NOT_GIVEN:
            return native(a, axis, dtype, out, ddof, keepdims)
        selected = _selection(name, a, where if _selects(where) else True)
        kind = _float_dtype(a, dtype)
        work = _working_dtype(kind)
        if mean is _NOT_GIVEN:
            mean = _weighted_mean(a, selected, axis, work, True)
        distance = cupy.where(selected, cupy.abs(a - mean), 0) ** 2
        count = cupy.maximum(cupy.sum(selected, axis, keepdims=keepdims) - ddof, 0)
        result = cupy.sum(distance, axis, work.type(0).real.dtype, keepdims=keepdims) / count
        result = (cupy.sqrt(result) if name.endswith("std") else result).astype(kind.type(0).real.dtype)
        return into(name, out, result, "unsafe" if name == "var" else "same_kind")

    return reduce


def _selects(where: Any) -> bool:
    """Tell whether ``where`` leaves any element out; the marks of "all of them" are many."""
    return not (where is _NOT_GIVEN or (isinstance(where, (bool, np.bool_)) and bool(where)))


def _masked(name: str, a: Any, where: Any, neutral: Any) -> Any:
    return cupy.where(_mask(name, where, a.shape), a, _scalar(name, neutral, a.dtype))


def _mask(name: str, where: Any, shape: tuple[int, ...]) -> Any:
    """Return the mask in the array's shape, to which it may be broadcast, but not the array to the mask's."""
    if isinstance(where, (bool, np.bool_)):
        return cupy.full(shape, bool(where))
    if not isinstance(where, cupy.ndarray) or where.dtype != bool:
        raise ArgumentTypeError(f"{name}: where must be a bool or a CuPy array of bools, got {type(where).__name__}.")
    pairs = zip(where.shape[::-1], shape[::-1], strict=False)
    if where.ndim > len(shape) or any(n not in (1, m) for n, m in pairs):
        raise ArgumentError(f"{name}: where of shape {where.shape} does not broadcast to the array's shape {shape}.")
    return cupy.broadcast_to(where, shape)


def _scalar(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """Return ``initial`` in the dtype of the result; it may be a 0-d device array, the result of another reduction."""
    if not isinstance(value, cupy.ndarray):
        return dtype.type(value)
    if value.ndim:
        raise ArgumentError(f"{name}: initial must be a scalar, got an array of shape {value.shape}.")
    return value.astype(dtype)


def _selection(name: str, a: Any, where: Any) -> Any:
    """Return the elements that count, as bools of a's shape; the nan-functions leave NaN out."""
    selected = _mask(name, where, a.shape)
    return selected & ~cupy.isnan(a) if name.startswith("nan") else selected


def _weighted_mean(a: Any, selected: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    total = cupy.sum(cupy.where(selected, a, 0), axis, dtype, keepdims=keepdims)
    return total / cupy.sum(selected, axis, keepdims=keepdims).astype(total.real.dtype)


def _float_dtype(a: Any, dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype if dtype is not None else a.dtype if a.dtype.kind in "fc" else np.float64)


def _working_dtype(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to add up in: as in NumPy's mean, not float16, which ends at 65504."""
    return np.result_type(kind, np.float32)


def _combined(name: str, combine: str, result: Any, initial: Any, out: Any) -> Any:
    result = getattr(cupy, combine)(result, _scalar(name, initial, result.dtype))
    return into(name, out, result, "unsafe")


_ALL: dict[str, Callable[..., Any]] = {
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

for _function in _ALL.values():
    del _function.__wrapped__  # type: ignore[attr-defined]  # whose signature help() would show, CuPy's

REDUCTIONS = {name: named("cupy", name, function) for name, function in _ALL.items()}
