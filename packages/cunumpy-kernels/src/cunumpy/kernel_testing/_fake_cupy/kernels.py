"""``cupy.ElementwiseKernel`` and ``cupy.ReductionKernel``: those of `cunumpy.kernels`, on buffers of device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy import kernels

from . import asynchrony, kernel_cache
from .array_base import check_device, wrap
from .ndarray import ndarray


def _buffers(args: tuple[Any, ...]) -> list[Any]:
    for value in args:
        if isinstance(value, np.ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
        if isinstance(value, ndarray):
            check_device(value)
    return [value._buffer if isinstance(value, ndarray) else value for value in args]


def _launching(args: tuple[Any, ...], stream: Any) -> Any:
    return asynchrony.launching([value for value in args if isinstance(value, ndarray)], stream)


def _results(found: Any, args: tuple[Any, ...]) -> Any:
    """Return device arrays of results; what was given as output is given back."""
    given = [value for value in args if isinstance(value, ndarray)]
    if isinstance(found, tuple):
        return tuple(wrap(one, *given) for one in found)
    return None if found is None else wrap(found, *given)


class _Codes:
    """The sources of a kernel by the types of its inputs, as CuPy keeps them."""

    in_params: Any
    out_params: Any

    @property
    def params(self) -> tuple[Any, ...]:
        """The parameters: inputs, then outputs."""
        return (*self.in_params, *self.out_params)

    @property
    def cached_codes(self) -> dict[tuple[Any, ...], str]:
        """The sources that were compiled, by the types of the inputs."""
        return dict(self.__dict__.get("_codes", {}))

    @property
    def cached_code(self) -> str:
        """The source that was compiled first."""
        codes = self.cached_codes
        if not codes:
            raise RuntimeError("The kernel was not compiled yet: its source depends on the types of its arguments")
        return next(iter(codes.values()))

    def _keep(self, source: str, types: dict[str, Any], options: tuple[str, ...]) -> str:
        key = tuple(np.dtype(types.get(one.type_name, one.type_name)).type for one in self.in_params)
        self.__dict__.setdefault("_codes", {}).setdefault(key, source)
        kernel_cache.save_source(source, options)
        return source


class ElementwiseKernel(_Codes, kernels.ElementwiseKernel):
    """``cupy.ElementwiseKernel``."""

    @property
    def kwargs(self) -> dict[str, Any]:
        """The options by keyword."""
        return {"loop_prep": self._loop_prep, "after_loop": self._after_loop, "options": self._options}

    def __call__(self, *args: Any, size: int | None = None, stream: Any = None, block_size: int = 128) -> Any:
        """Run it, and wait."""
        buffers = _buffers(args)
        with _launching(args, stream):
            found = super().__call__(*buffers, size=size, stream=stream, block_size=block_size)
        return _results(found, args[self.nin :])

    def _source(self, types: dict[str, Any], *description: Any) -> str:
        return self._keep(super()._source(types, *description), types, self._options)


class ReductionKernel(_Codes, kernels.ReductionKernel):
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

    def _source(self, types: dict[str, Any], *description: Any) -> str:
        return self._keep(super()._source(types, *description), types, self.options)


for _kind in (ElementwiseKernel, ReductionKernel):
    _kind.__module__ = "cupy"
