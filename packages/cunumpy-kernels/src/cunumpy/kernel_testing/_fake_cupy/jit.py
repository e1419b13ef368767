"""``cupyx.jit``: kernels in Python syntax, by the code of `cunumpy.kernels.jit`, on buffers of device arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cunumpy.errors import ArgumentError, ArgumentTypeError, KernelError
from cunumpy.kernels import jit
from cunumpy.kernels._rawkernel.function_source import TranslationError
from cunumpy.kernels._rawkernel.python_kernel import PythonKernel

from . import asynchrony, kernel_cache
from .array_base import unsupported
from .cuda import CUDADriverError
from .current_device import CUDARuntimeError, check_reachable
from .memory import ManagedMemory
from .ndarray import ndarray


class _JitRawKernel(PythonKernel):
    """A kernel, launched with device arrays alone."""

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Any,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch it, and wait."""
        for value in args:
            if isinstance(value, np.ndarray):
                raise unsupported(value)
        arrays = [value for value in args if isinstance(value, ndarray)]
        for array in arrays:
            if not isinstance(array._memory, ManagedMemory):
                check_reachable(array._memory.device_id, "an argument")
        buffers = tuple(value._buffer if isinstance(value, ndarray) else value for value in args)
        sizes = [tuple(one) if isinstance(one, (tuple, list)) else (one,) for one in (grid, block)]
        if any(size < 1 for one in sizes for size in one):
            raise CUDADriverError(1, f"CUDA_ERROR_INVALID_VALUE: invalid argument (grid {grid}, block {block})")
        try:
            with asynchrony.launching(arrays, stream):
                super().__call__(sizes[0], sizes[1], buffers, shared_mem)
        except TranslationError as error:
            raise error.kind(str(error)) from error
        except ArgumentTypeError as error:
            raise TypeError(str(error)) from error
        except ArgumentError as error:
            raise CUDADriverError(1, f"CUDA_ERROR_INVALID_VALUE: invalid argument ({error})") from error
        except KernelError as error:
            raise CUDARuntimeError(719, f"cudaErrorLaunchFailure: unspecified launch failure: {error}") from error

    def _translated(self, types: Any) -> Any:
        kernel = super()._translated(types)
        kernel_cache.save_source(self._codes[tuple(map(str, types))])
        return kernel


_JitRawKernel.__module__ = "cupyx.jit._interface"
# What `cunumpy.kernels.jit` has and CuPy lacks.
_OURS = ("activemask", "ffs", "match_all_sync", "match_any_sync", "popc")


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Callable[[Callable[..., Any]], PythonKernel]:
    """Make a kernel, or a device function, of a function in Python syntax."""
    if mode not in ("cuda", "numpy"):
        raise ValueError(f"mode must be 'cuda' or 'numpy', got {mode!r}")

    def decorator(function: Callable[..., Any]) -> PythonKernel:
        return _JitRawKernel(function, mode, device)

    return decorator


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.jit``, without the modules in it."""
    names = {name: getattr(jit, name) for name in jit.__all__ if name not in ("cg", "cub", *_OURS)}
    return {**names, "rawkernel": rawkernel}


def submodules() -> dict[str, dict[str, Any]]:
    """Return the contents of its modules, by name."""
    modules = {"cg": jit.cg, "cub": jit.cub}
    return {name: {one: getattr(module, one) for one in module.__all__} for name, module in modules.items()}
