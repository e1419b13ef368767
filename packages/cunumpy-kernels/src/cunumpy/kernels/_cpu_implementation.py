"""A CUDA kernel as an implementation on the host: on NumPy arrays, by the CPU device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._call_sites import warn
from cunumpy.errors import ArgumentTypeError, CuNumpyWarning
from cunumpy.kernels._host_types import parameters_of, wider

if TYPE_CHECKING:
    from collections.abc import Callable

    from cunumpy.kernels._cuda_kernel import CudaKernel
    from cunumpy.kernels._host_types import Wider

_LAUNCH = frozenset({"n_threads", "grid", "block", "shared_mem"})
_NUMBERS = {complex: np.dtype(np.complex128), float: np.dtype(np.float64)}


class CpuImplementation:
    """Runs a CUDA kernel on NumPy arrays; made by `CpuLoader`.

    Parameters
    ----------
    kernel : CudaKernel
    run : callable
        `run_on_cpu`.
    """

    def __init__(self, kernel: CudaKernel, run: Callable[..., None]) -> None:
        self.kernel, self._run = kernel, run
        self.__name__ = kernel.name
        # A function in plain Python, and which dtypes of which parameters are for it.
        self._python: Callable[..., Any] | None = None
        self._for_python: list[Wider] = []
        self._warned = False

    def beside(self, python: Callable[..., Any]) -> CpuImplementation:
        """Return an implementation that leaves to a function in Python what the CUDA kernel can't take.

        That is arguments of dtypes which the function's annotations allow beside that of the CUDA kernel, as of a type
        variable for real and complex numbers. The first of such calls is warned of.
        """
        made = CpuImplementation(self.kernel, self._run)
        made._python = python
        made._for_python = wider(parameters_of(python) or [], self.kernel.signature or ())
        return made

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run the kernel, and return when it has ended.

        Parameters
        ----------
        *args
            One for each parameter, with NumPy arrays in the place of device arrays.
        **options
            ``n_threads``, ``grid``, ``block`` and ``shared_mem`` as for a launch, a ``stream`` without effect, and
            parameters by name.
        """
        if self._for_python and self._python is not None:
            refused = self._refused(args, options)
            if refused is not None:
                self._warn(*refused)
                named = {name: value for name, value in options.items() if name not in _LAUNCH and name != "stream"}
                return self._python(*args, **named)
        options.pop("stream", None)  # it runs at once
        if _LAUNCH.issuperset(options):
            self._run(self.kernel, args, **options)
            return None
        launch = {name: value for name, value in options.items() if name in _LAUNCH}
        args = self._bound(args, {name: value for name, value in options.items() if name not in _LAUNCH})
        self._run(self.kernel, args, **launch)
        return None

    def _refused(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, Any] | None:
        """Return the first argument that Python alone takes, and its dtype; None where neither takes all of them."""
        found = None
        for one in self._for_python:
            value = args[one.position] if one.position < len(args) else named.get(one.name)
            dtype = getattr(value, "dtype", None)
            if dtype is None:
                dtype = _NUMBERS.get(type(value))
            if dtype is not None and dtype in one.more:
                found = found or (one.name, dtype)
            elif isinstance(value, np.ndarray) and dtype not in one.all:
                return None
        return found

    def _warn(self, name: str, dtype: Any) -> None:
        if self._warned:
            return
        self._warned = True
        declared = next(one for one in self.kernel.signature or () if one.name == name)
        warn(
            f"kernel {self.__name__!r}: runs as plain Python, which is slow, because argument {name!r} is of {dtype}: "
            f"its CUDA kernel, which runs on the CPU else, takes {declared.dtype}. Pass compile_host= to compile the "
            "host kernel, or add a version with Numba or NumPy; where plain Python is meant, ask for it by "
            "xp.kernels.set_host_kernel_implementation('python').",
            CuNumpyWarning,
        )

    def build(self) -> None:
        """Compile, unless that was done."""
        from cunumpy.kernels._cpu_device.launch import checks_launches, cpu_kernel

        debug = self.kernel.debug_active()
        cpu_kernel(self.kernel).library(debug=debug, check=checks_launches(debug))

    def _bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position."""
        from cunumpy.arguments._protocol import expand

        args = tuple(expand(args, f"kernel {self.__name__!r}", host=True))
        return bound([one.name for one in self.kernel.signature or ()], args, named, f"kernel {self.__name__!r}")

    def __repr__(self) -> str:
        return f"<{self.kernel.expression} on the CPU>"


@dataclass(frozen=True)
class CpuLoader:
    """Loads the implementation ``"cpu"`` of a kernel: looks for a compiler, and compiles nothing.

    So that what is wrong with the source is an error of the call, as on a GPU, and no reason to run another
    implementation.
    """

    kernel: CudaKernel

    def __call__(self) -> CpuImplementation:
        from cunumpy.kernels._cpu_device.compiler import find_compiler
        from cunumpy.kernels._cpu_device.launch import run_on_cpu

        find_compiler()
        return CpuImplementation(self.kernel, run_on_cpu)


def bound(names: list[str], args: tuple[Any, ...], named: dict[str, Any], owner: str) -> tuple[Any, ...]:
    """Return all arguments of a kernel by position.

    Parameters
    ----------
    names : list of str
        Its parameters.
    args, named
        The arguments of a call.
    owner : str
        For error messages.
    """
    unknown = [name for name in named if name not in names]
    if unknown:
        raise ArgumentTypeError(
            f"{owner}: has no parameter {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(names) or 'none that are known'}."
        )
    twice = [name for name in names[: len(args)] if name in named]
    if twice:
        raise ArgumentTypeError(f"{owner}: got {', '.join(map(repr, twice))} twice.")
    missing = [name for name in names[len(args) :] if name not in named]
    if missing:
        raise ArgumentTypeError(f"{owner}: got no {', '.join(map(repr, missing))}.")
    return (*args, *(named[name] for name in names[len(args) :]))
