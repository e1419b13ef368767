"""Call forms of the array API standard that NumPy has from 2.1 on, with its meaning, for NumPy 2.0."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy._call_forms import clip_limits
from cunumpy.errors import ArgumentError, ArgumentTypeError

__all__ = ["astype", "clip", "from_dlpack", "reshape"]

_NOT_GIVEN = np._NoValue


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Return an array with another element type; see `numpy.astype`."""
    _check_device("astype", device)
    return np.astype(x, dtype, copy=copy)


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
    """Limit values to an interval, whose ends may be None; see `numpy.clip`."""
    a_min, a_max = clip_limits(a_min, a_max, min, max)
    if a_min is None and a_max is None:  # NumPy 2.0 refuses that
        return np.positive(a, out=out, **kwargs)
    return np.clip(a, a_min, a_max, out, **kwargs)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """Return an array of memory that another library exports; see `numpy.from_dlpack`."""
    _check_device("from_dlpack", device)
    result = np.from_dlpack(x)
    return result.copy() if copy else result


def reshape(a: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """Return an array with another shape, a copy or a view where `copy` says so; see `numpy.reshape`."""
    if (shape is None) == (newshape is None):
        raise ArgumentTypeError("reshape: give shape, once (newshape is its older name).")
    shape = newshape if shape is None else shape
    if copy is None:
        return np.reshape(a, shape, order)
    if copy:
        return np.reshape(np.array(a, subok=True), shape, order)
    a = np.asanyarray(a)
    result = np.reshape(a, shape, order)
    if result.size and not np.may_share_memory(a, result):
        raise ArgumentError(
            f"reshape: shape {a.shape} with strides {a.strides} can't become {result.shape} without a copy; "
            "leave copy=False out."
        )
    return result


def _check_device(name: str, device: Any) -> None:
    if device not in (None, "cpu"):
        raise ArgumentError(f"{name}: device must be None or 'cpu' on the NumPy backend, got {device!r}.")
