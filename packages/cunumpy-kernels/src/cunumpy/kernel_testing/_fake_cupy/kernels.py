"""``cupy.ElementwiseKernel`` and ``cupy.ReductionKernel``: those of `cunumpy.kernels`, on buffers of device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy import kernels

from . import asynchrony
from .ndarray import ndarray, wrap


def _buffers(args: tuple[Any, ...]) -> list[Any]:
    for value in args:
        if isinstance(value, np.ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
    return [value._buffer if isinstance(value, ndarray) else value for value in args]


def _launching(args: tuple[Any, ...], stream: Any) -> Any:
    return asynchrony.launching([value for value in args if isinstance(value, ndarray)], stream)


def _results(found: Any, args: tuple[Any, ...]) -> Any:
    """Return device arrays of results; what was given as output is given back."""
    given = [value for value in args if isinstance(value, ndarray)]
    if isinstance(found, tuple):
        return tuple(wrap(one, *given) for one in found)
    return None if found is None else wrap(found, *given)


class ElementwiseKernel(kernels.ElementwiseKernel):
    """``cupy.ElementwiseKernel``."""

    def __call__(self, *args: Any, size: int | None = None, stream: Any = None, block_size: int = 128) -> Any:
        """Run it, and wait."""
        buffers = _buffers(args)
        with _launching(args, stream):
            found = super().__call__(*buffers, size=size, stream=stream, block_size=block_size)
        return _results(found, args[self.nin :])


class ReductionKernel(kernels.ReductionKernel):
    """``cupy.ReductionKernel``."""

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        stream: Any = None,
    ) -> Any:
        """Run it, and wait."""
        given = (*args, out) if out is not None else args
        *buffers, buffer = _buffers((*args, out))
        with _launching((*args, out), stream):
            found = super().__call__(*buffers, out=buffer, axis=axis, keepdims=keepdims, stream=stream)
        return _results(found, given[self.nin :])


for _kind in (ElementwiseKernel, ReductionKernel):
    _kind.__module__ = "cupy"
