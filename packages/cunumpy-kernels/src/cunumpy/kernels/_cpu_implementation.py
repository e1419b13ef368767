"""A CUDA kernel as an implementation on the host: on NumPy arrays, by the CPU device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cunumpy.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cunumpy.kernels._cuda_kernel import CudaKernel

_LAUNCH = frozenset({"n_threads", "grid", "block", "shared_mem"})


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

    def __call__(self, *args: Any, **options: Any) -> None:
        """Run the kernel, and return when it has ended.

        Parameters
        ----------
        *args
            One for each parameter, with NumPy arrays in the place of device arrays.
        **options
            ``n_threads``, ``grid``, ``block`` and ``shared_mem`` as for a launch, a ``stream`` without effect, and
            parameters by name.
        """
        options.pop("stream", None)  # it runs at once
        if _LAUNCH.issuperset(options):
            self._run(self.kernel, args, **options)
            return
        launch = {name: value for name, value in options.items() if name in _LAUNCH}
        args = self._bound(args, {name: value for name, value in options.items() if name not in _LAUNCH})
        self._run(self.kernel, args, **launch)

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
