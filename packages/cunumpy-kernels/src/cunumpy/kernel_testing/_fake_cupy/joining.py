"""CuPy's functions that join arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .array_base import target, unsupported, used, wrap
from .creation import with_axes
from .ndarray import ndarray


def concatenate(tup: Any, axis: Any = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along an axis."""
    arrays = list(tup)
    for item in arrays:
        if not isinstance(item, ndarray):
            raise TypeError("Only cupy arrays can be concatenated") if np.isscalar(item) else unsupported(item)
    return _joined(arrays, axis, out, dtype, casting)


def stack(tup: Any, axis: int = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along a new axis."""
    arrays = list(tup)
    for item in arrays:
        if not isinstance(item, ndarray):
            kind = f"{'numpy.' if type(item).__module__ == 'numpy' else ''}{type(item).__name__}"
            raise TypeError(f"Argument 'a' has incorrect type (expected cupy._core.core._ndarray_base, got {kind})")
    return _joined([wrap(np.expand_dims(used(item), axis)) for item in arrays], axis, out, dtype, casting)


def column_stack(tup: Any) -> ndarray:
    """Join vectors as the columns of a matrix."""
    arrays = list(tup)
    if not all(isinstance(item, ndarray) for item in arrays):
        raise TypeError("Only cupy arrays can be column stacked")
    if not all(item.ndim in (1, 2) for item in arrays):
        raise ValueError("Only 1 or 2 dimensional arrays can be column stacked")
    return _joined([item[:, None] if item.ndim == 1 else item for item in arrays], 1)


# These three copy host data to the device, as CuPy's do.


def vstack(tup: Any, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along the first axis, vectors as rows."""
    return _joined([with_axes(2, item, "vstack()") for item in tup], 0, None, dtype, casting)


def hstack(tup: Any, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along the second axis, vectors along their only one."""
    arrays = [with_axes(1, item, "hstack()") for item in tup]
    return _joined(arrays, 0 if arrays[0].ndim == 1 else 1, None, dtype, casting)


def dstack(tup: Any) -> ndarray:
    """Join arrays along the third axis."""
    return _joined([with_axes(3, item, "dstack()") for item in tup], 2)


def _joined(
    arrays: list[ndarray], axis: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind"
) -> ndarray:
    if not arrays:
        raise ValueError("Cannot concatenate from empty tuple")
    into = None if out is None else target(out)
    result = np.concatenate([used(array) for array in arrays], axis, into, dtype=dtype, casting=casting)  # type: ignore[call-overload]
    if out is None:
        return wrap(result)
    assert isinstance(out, ndarray)
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        column_stack,
        concatenate,
        dstack,
        hstack,
        stack,
        vstack,
    )
}
FUNCTIONS.update(concat=concatenate, row_stack=vstack)
