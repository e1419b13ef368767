"""Writing into ``out`` what had to be computed before it was known where it goes."""

from __future__ import annotations

from typing import Any

import cupy

from cunumpy.errors import ArgumentError, ArgumentTypeError

__all__ = ["into"]


def into(name: str, out: Any, result: Any, casting: str = "same_kind") -> Any:
    """Write a result to ``out`` and return ``out``; return the result itself where ``out`` is None.

    An assignment would broadcast into a larger array and cast to any dtype, both in silence; NumPy does neither.
    """
    if out is None:
        return result
    if not isinstance(out, cupy.ndarray):
        raise ArgumentTypeError(f"{name}: out must be a CuPy array, got {type(out).__name__}.")
    if out.shape != result.shape:
        raise ArgumentError(f"{name}: out must have the result's shape {result.shape}, got {out.shape}.")
    cupy.copyto(out, result, casting=casting)
    return out
