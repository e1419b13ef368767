"""A launch that is checked and packed once, and launched again and again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cunumpy import _backend
from cunumpy._gate import given
from cunumpy.arguments._current_device import current_device, device_of_arrays
from cunumpy.arguments._packing import member_of
from cunumpy.arguments._protocol import LEAF_TYPES, NUMBER_TYPES, expand, members
from cunumpy.cuda import get_cuda_debug
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels._cuda_program import CudaProgram
from cunumpy.kernels._emulated import EMULATOR
from cunumpy.kernels._launch_shape import arrays_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.cuda import CudaParameter
    from cunumpy.kernels._cuda_kernel import CudaKernel


class PreparedLaunch:
    """A launch whose arguments are checked and packed; calling it costs hardly more than CuPy's raw kernel.

    Made by `CudaKernel.prepare`. It keeps its arrays alive, and launches on what they hold at the time of the call.
    Structs are packed when it is prepared, and anew by a `set` that infers the number of threads anew; else what is
    replaced in them, and in other argument objects, is not noticed. Prepared with NumPy arrays it runs on the CPU.

    Parameters
    ----------
    kernel : CudaKernel
        What is launched.
    args : tuple
        Its arguments.
    n_threads, grid, block, shared_mem
        As for a launch of the kernel.

    Examples
    --------
    >>> import cunumpy as xp
    >>> fill = xp.kernels.CudaKernel('''
    ... extern "C" __global__ void fill(double* x, double value, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) x[i] = value;
    ... }''', "fill")
    >>> def count_up(x):  # a device array
    ...     launch = fill.prepare(x, 0.0, x.size)
    ...     for step in range(1000):
    ...         launch.set(value=float(step))
    ...         launch()
    """

    __slots__ = (
        "_args",
        "_block",
        "_cpu",
        "_device",
        "_generation",
        "_given",
        "_grid",
        "_held",
        "_kernel",
        "_packed",
        "_run",
        "_shared",
    )

    def __init__(
        self,
        kernel: CudaKernel,
        args: tuple[Any, ...],
        *,
        n_threads: int | Sequence[int] | None = None,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        shared_mem: int = 0,
    ) -> None:
        if not isinstance(kernel, CudaProgram):  # which only a CudaKernel is
            raise ArgumentTypeError(
                f"PreparedLaunch: argument 'kernel' must be a CudaKernel, got {given(kernel)}; of a Kernel pass its "
                "cuda_kernel."
            )
        if not isinstance(args, (tuple, list)):
            raise ArgumentTypeError(
                f"PreparedLaunch: argument 'args' must be the tuple of arguments, got {given(args)}; pass (array,) for "
                "one."
            )
        self._kernel = kernel
        self._shared = kernel._shared(shared_mem)
        self._given = {"n_threads": n_threads, "grid": grid, "block": block}
        from cunumpy.kernels._cpu_device.launch import cpu_kernel  # only here: most programs never need it

        on_host = any(isinstance(array, np.ndarray) for value in args for array in arrays_in(value, 0))
        self._cpu = cpu_kernel(kernel) if on_host and _backend.get_backend() != "cupy" else None
        self._device = None if self._cpu is not None else current_device()
        self._run: Any = None
        self._take(args)

    def _take(self, args: tuple[Any, ...]) -> None:
        """Check everything, and only then take it over."""
        kernel = self._kernel
        shape = kernel.launch_shape(**self._given, args=args)
        if self._cpu is not None:
            packed: Any = self._cpu.pack(args)  # a list, as what launches it takes them
            others: Any = None if LEAF_TYPES.issuperset(map(type, args)) else expand(args, kernel._owner, host=True)
            self._run = None
        else:
            packed, others = kernel._pack(args)
        if others is not None and self._device is not None:
            packed = kernel._launchable(packed)
        self._args, self._packed = args, packed
        # An argument object may get other arrays later, and the launch goes on with those that it was given.
        self._held: list[Any] | None = None
        if others is not None:
            parameters = kernel._signature if self._cpu is not None else None
            fields = [] if parameters is None else list(map(_struct_parts, parameters, others))
            self._held = [list(others), [_parts(value) for value in args] if parameters is None else fields]
        self._grid, self._block = shape
        self._generation = -1  # the next launch is compared with the limits of the device

    @property
    def kernel(self) -> CudaKernel:
        """The kernel."""
        return self._kernel

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments as they were given or set."""
        return self._args

    @property
    def grid(self) -> tuple[int, ...]:
        """Blocks of the launch."""
        return self._grid

    @property
    def block(self) -> tuple[int, ...]:
        """Threads of a block."""
        return self._block

    def set(self, **values: Any) -> None:
        """Replace arguments, by the names of the kernel's parameters.

        Each is checked like in a launch, before any is replaced. Where the number of threads was inferred from the
        arguments, it is inferred again.

        Parameters
        ----------
        **values
            New arguments. One that came with others from an argument object is replaced apart from it.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            No parameter of this name, or an argument that does not fit; nothing was replaced.
        """
        kernel = self._kernel
        parameters = kernel._signature
        if parameters is None:
            raise ArgumentTypeError(
                f"{kernel._owner}: the names of the parameters are not known with check_signature=False; prepare the "
                "launch anew."
            )
        names = [parameter.name for parameter in parameters]
        unknown = [name for name in values if name not in names]
        if unknown:
            raise ArgumentTypeError(
                f"{kernel._owner}: has no parameter {', '.join(map(repr, unknown))}; it has {', '.join(names)}."
            )
        if self._set_alone(values, names):
            return
        args = list(self._args)
        if not self._one_each():
            args = []
            for value in self._args:
                parts = expand([value], kernel._owner, host=self._cpu is not None)
                args += [value] if len(parts) == 1 else parts
        for name, value in values.items():
            args[names.index(name)] = value
        self._take(tuple(args))

    def _one_each(self) -> bool:
        """Tell whether each argument stands for one parameter."""
        owner, host = self._kernel._owner, self._cpu is not None
        return self._held is None or all(len(expand([value], owner, host=host)) == 1 for value in self._args)

    def _set_alone(self, values: dict[str, Any], names: list[str]) -> bool:
        """Replace arguments that leave the others and the number of threads as they are; tell whether they do."""
        checks = self._kernel._checks if self._cpu is None else self._cpu.checks
        kinds = set(map(type, values.values()))
        if checks is None or not LEAF_TYPES.issuperset(kinds) or not self._one_each():
            return False
        if self._given["n_threads"] is None and self._given["grid"] is None:
            by_arrays = isinstance(self._kernel._n_threads_from, str)
            if not by_arrays or not NUMBER_TYPES.issuperset(kinds):
                return False
        packed: Any = list(self._packed)
        args = list(self._args)
        device = device_of_arrays() if self._cpu is None else None
        for name, value in values.items():
            position = names.index(name)
            packed[position] = checks[position](value, device)
            args[position] = value
        for kept in self._held or ():
            for name in values:
                kept[names.index(name)] = None
        self._packed, self._args = tuple(packed) if self._cpu is None else packed, tuple(args)
        return True

    def __call__(self, stream: Any = None) -> None:
        """Launch, asynchronously; on the CPU, run the kernel.

        Parameters
        ----------
        stream : cupy.cuda.Stream, optional
            By default the current one; on the CPU there is none.

        Raises
        ------
        ArgumentError
            The current device is not the one it was prepared on.
        KernelError
            In debug mode or with `check_finite`, as in a launch of the kernel.
        """
        kernel = self._kernel
        emulator = EMULATOR.get()
        if emulator is not None:
            shape = {"grid": self._grid, "block": self._block}
            emulator.launch(kernel, self._args, **shape, shared_mem=self._shared, stream=stream)
            return
        debug = get_cuda_debug() if kernel._debug is None else kernel._debug
        if debug or self._generation != kernel._generation or kernel._check_finite:
            self._launch_with_care(debug, stream)
        elif current_device() != self._device:
            self._refuse_device()
        elif stream is None:
            self._run(self._grid, self._block, self._packed, shared_mem=self._shared)
        else:
            kernel._check_stream(stream, self._device)
            self._run(self._grid, self._block, self._packed, shared_mem=self._shared, stream=stream)

    def _launch_with_care(self, debug: bool, stream: Any) -> None:
        kernel = self._kernel
        if 0 in self._grid:
            return
        if self._cpu is not None:
            self._run_on_cpu(debug)
            return
        kernel._require_cupy()
        current = current_device()
        if self._device is None:  # prepared before CuPy was loaded
            self._device = current
            self._take(self._args)
        elif current != self._device:
            self._refuse_device()
        generation = kernel._generation  # before the build, which another thread may replace
        build = None if debug or current is None else kernel._builds.get((current, False))
        if build is None:
            build = kernel._built(debug)
        launch = (self._grid, self._block, self._shared)
        if launch != build.checked:
            build.check(launch)
        if stream is not None:
            kernel._check_stream(stream, current)
        if debug or kernel._check_finite:
            kernel._launch_and_wait(build, launch, self._packed, self._args, stream)
            return
        self._run = build.launch
        self._generation = generation
        options = {} if stream is None else {"stream": stream}
        build.launch(self._grid, self._block, self._packed, shared_mem=self._shared, **options)

    def _run_on_cpu(self, debug: bool) -> None:
        kernel, cpu = self._kernel, self._cpu
        assert cpu is not None
        if debug or "CUNUMPY_CPU_CHECK" in os.environ:
            cpu.launch(self._grid, self._block, self._args, self._shared, self._packed)
        else:
            if self._run is None:
                self._run = cpu.prepared(self._grid, self._block, self._shared)
            trap = self._run(self._packed, self._grid, self._block, self._shared, kernel._cooperative)
            if trap is not None:
                cpu.fail(trap, self._grid, self._block)
        if kernel._check_finite:
            kernel._check_host_arrays(self._args, f"{kernel._owner} (grid {self._grid}, block {self._block})")

    def _refuse_device(self) -> NoReturn:
        raise ArgumentError(
            f"{self._kernel._owner}: the launch was prepared on CUDA device {self._device}, the current device is "
            f"{current_device()}; launch it inside of `with cupy.cuda.Device({self._device}):`, or prepare another."
        )

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            f"{self._kernel._owner}: a prepared launch can't be pickled or copied, it holds device memory; pickle the "
            "kernel, and prepare the launch anew."
        )

    def __repr__(self) -> str:
        place = "" if self._cpu is None else " on the CPU"
        return f"<PreparedLaunch of {self._kernel.expression} grid={self._grid} block={self._block}{place}>"


def _parts(value: Any) -> list[Any]:
    """Return an argument object's parts, and theirs, to keep them."""
    return [(member, _parts(member)) for _, member in members(value)]


def _struct_parts(parameter: CudaParameter, value: Any) -> Any:
    """Return what stands for the fields of a struct now, to keep it."""
    if parameter.struct is None or parameter.pointer or isinstance(value, np.void):
        return None
    return [
        _struct_parts(field, member_of(value, field.name)) or member_of(value, field.name)
        for field in parameter.struct.fields
    ]
