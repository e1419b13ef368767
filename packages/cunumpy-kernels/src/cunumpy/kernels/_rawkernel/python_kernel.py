"""Kernels in Python syntax: translated for the types of the arguments when they are launched with them."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cunumpy import _arrays
from cunumpy._gate import as_truth, describe, refuse_masked
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError
from cunumpy.kernels._rawkernel.function_source import FunctionSource, TranslationError
from cunumpy.kernels._rawkernel.types import Array, Scalar, Type, dtype_of_number, native

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cunumpy.kernels._cuda_kernel import CudaKernel

_MODES = ("cuda", "numpy")


class PythonKernel:
    """A kernel, or device function, in Python syntax; `rawkernel` makes it of a function.

    Parameters
    ----------
    function : function
    mode : {"cuda", "numpy"}
    device : bool
    """

    __name__: str

    def __init__(self, function: Callable[..., Any], mode: str, device: bool) -> None:
        functools.update_wrapper(self, function)
        self._function, self._mode, self._device = function, mode, device
        self._owner = f"{'device function' if device else 'kernel'} {function.__name__!r}"
        self._source: FunctionSource | TranslationError
        try:
            # Now: a file may be edited before the first launch.
            self._source = FunctionSource(function, self._owner)  # type: ignore[arg-type]
        except TranslationError as error:
            self._source = error
        self._kernels: dict[tuple[Any, ...], tuple[CudaKernel, bool]] = {}
        self._codes: dict[tuple[str, ...], str] = {}
        self._lock = new_lock()

    def __repr__(self) -> str:
        return f"<{self._owner} in Python syntax>"

    def __reduce__(self) -> str:
        return str(self._function.__qualname__)

    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch it.

        Parameters
        ----------
        grid, block : tuple of int
            The numbers of blocks, and of threads in a block, along x, y and z.
        args : sequence
            Arrays of NumPy, for the CPU's cores, or of a GPU, for this; and numbers of Python and NumPy.
        shared_mem : int, default: 0
            Bytes of dynamic shared memory.
        stream : cupy.cuda.Stream, optional
            For device arrays; by default the current one.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            A launch that no device takes, or an argument that no kernel takes.
        CompileError
            The function can't be translated, or its translation does not compile.
        KernelError
            The kernel ended itself, by an assertion for instance.
        MissingCompilerError
            There is no C++ compiler.
        MixedBackendError
            NumPy arrays beside device arrays.
        """
        if self._device:
            raise ArgumentTypeError(f"{self._owner}: device functions are called in kernels; launch one of these.")
        if not isinstance(args, (tuple, list)):
            raise ArgumentTypeError(
                f"{self._owner}: argument 'args' must be a tuple, got {describe(args)}; pass (array,) for one."
            )
        if grid is None or block is None:  # which stand for a shape by the arrays in launches of `CudaKernel`
            which = "grid" if grid is None else "block"
            raise ArgumentTypeError(
                f"{self._owner}: argument {which!r} must be an integer or 1 to 3 of them, got None."
            )
        found = self._kernels.get(tuple(map(_key, args)))
        kernel, on_device = self._kernel_for(args) if found is None else found
        if on_device:
            kernel(*args, grid=_sizes(grid), block=_sizes(block), shared_mem=shared_mem, stream=stream)
            return
        from cunumpy.kernels._cpu_device.launch import run_on_cpu

        run_on_cpu(kernel, tuple(args), grid=_sizes(grid), block=_sizes(block), shared_mem=shared_mem)

    def __getitem__(self, grid_and_block: tuple[Any, Any]) -> Callable[..., None]:
        """Return what launches the kernel with arguments: ``kernel[grid, block](x, y)``.

        Parameters
        ----------
        grid_and_block : tuple
            The two, each an integer or a tuple of them.
        """
        if not isinstance(grid_and_block, tuple) or len(grid_and_block) != 2:
            raise ArgumentTypeError(
                f"{self._owner}: it is launched as kernel[grid, block](...), got kernel[{grid_and_block!r}]."
            )
        grid, block = grid_and_block

        def launch(*args: Any, shared_mem: int = 0, stream: Any = None) -> None:
            self(grid, block, args, shared_mem, stream)

        return launch

    @property
    def cached_codes(self) -> dict[tuple[str, ...], str]:
        """The CUDA C++ that it was translated to, by the types of the arguments."""
        return dict(self._codes)

    @property
    def cached_code(self) -> str:
        """The CUDA C++ of the first launch."""
        if not self._codes:
            raise ArgumentError(f"{self._owner}: nothing was translated yet; launch it, arguments decide the types.")
        return next(iter(self._codes.values()))

    def function_source(self) -> FunctionSource:
        """Return source and syntax tree."""
        if isinstance(self._source, TranslationError):
            error = TranslationError(str(self._source))
            error.kind = self._source.kind
            raise error
        return self._source

    def _on_device(self, args: Sequence[Any]) -> bool:
        host = device = None
        for index, value in enumerate(args):
            if isinstance(value, np.ndarray):
                host = index
            elif _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value):
                device = index
        if host is not None and device is not None:
            raise MixedBackendError(
                f"{self._owner}: argument {host} is a NumPy array and {device} a device array; convert one of them "
                "explicitly, with xp.to_cupy or xp.to_numpy."
            )
        return device is not None

    def _kernel_for(self, args: Sequence[Any]) -> tuple[CudaKernel, bool]:
        """Return the kernel for the types of arguments, translated if need be, and whether they are on a device."""
        on_device = self._on_device(args)
        types = tuple(self._type_of(value, index) for index, value in enumerate(args))
        with self._lock:
            key = tuple(map(_key, args))
            if key not in self._kernels:
                self._kernels[key] = self._translated(types), on_device
            return self._kernels[key]

    def _translated(self, types: tuple[Type, ...]) -> CudaKernel:
        from cunumpy.kernels._cuda_kernel import CudaKernel
        from cunumpy.kernels._rawkernel.to_cuda import translated

        found = translated(self.function_source(), self.__name__, types, mode=self._mode)
        source = found.program.source()
        self._codes[tuple(map(str, types))] = source
        options = ("--fmad=false",) if self._mode == "numpy" else ()
        kernel = CudaKernel(source, found.cname, options=options, cooperative=found.program.cooperative)
        kernel._owner = self._owner
        kernel._start()
        return kernel

    def _type_of(self, value: Any, index: int) -> Type:
        where = f"{self._owner}: argument {index}{self._name_of(index)}"
        if isinstance(value, np.ndarray):
            refuse_masked(value, function=self._owner, argument=str(index))
            return self._array_type(value.dtype, value.ndim, value.flags.c_contiguous, where)
        if _arrays.is_device_array(value):
            return self._array_type(value.dtype, value.ndim, value.flags.c_contiguous, where)
        if _arrays.is_foreign_device_array(value):
            interface = value.__cuda_array_interface__
            dtype, shape = np.dtype(interface["typestr"]), interface["shape"]
            packed = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, interface.get("strides"))
            contiguous = interface.get("strides") is None or packed.flags.c_contiguous
            return self._array_type(dtype, len(shape), contiguous, where)
        found = dtype_of_number(value, self._mode)
        if found is None:
            raise ArgumentTypeError(f"{where} must be an array, or a number of Python or NumPy, got {describe(value)}.")
        return Scalar(found)

    def _name_of(self, index: int) -> str:
        names = list(inspect.signature(self._function).parameters)
        return f" ({names[index]!r})" if index < len(names) else ""

    def _array_type(self, dtype: np.dtype[Any], ndim: int, contiguous: bool, where: str) -> Array:
        found = native(dtype)
        if found is None:
            raise ArgumentTypeError(
                f"{where} has dtype {dtype}, which kernels do not have: they have booleans, integers, real and "
                "complex numbers, of this machine's byte order; convert it, array.astype(...)."
            )
        if ndim > 16:
            raise ArgumentTypeError(f"{where} has {ndim} dimensions; kernels take up to 16.")
        return Array(found, ndim, bool(contiguous))


def _key(value: Any) -> Any:
    """Return what decides how an argument is translated."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.ndim, value.flags.c_contiguous
    if kind is int:
        return kind, -(2**31) <= value < 2**31, value >= 2**63, -(2**63) <= value < 2**64
    if isinstance(value, np.generic) or kind in (bool, float, complex):
        return kind
    if hasattr(value, "dtype") and hasattr(value, "ndim") and hasattr(value, "flags"):
        return kind, value.dtype, value.ndim, bool(value.flags.c_contiguous)
    if hasattr(value, "__cuda_array_interface__"):
        interface = value.__cuda_array_interface__
        return kind, interface["typestr"], len(interface["shape"]), interface["shape"], interface.get("strides")
    if isinstance(value, int):  # of a class of its own, such as an enumeration's
        return kind, _key(int(value))
    return kind


def _sizes(sizes: Any) -> Any:
    return tuple(sizes) if isinstance(sizes, list) else sizes


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Callable[[Callable[..., Any]], PythonKernel]:
    """Make a CUDA kernel of a function in Python syntax, as `cupyx.jit.rawkernel` does.

    Launched with NumPy arrays it runs on the CPU's cores, compiled by the machine's C++ compiler; launched with CuPy
    arrays it runs on the GPU. Both run the same translation to CUDA C++. The arguments decide, never the active
    backend.

    Parameters
    ----------
    mode : {"cuda", "numpy"}, default: "cuda"
        Which type an operation has: the wider one of its operands, where numbers in the source are int32 and float32,
        as CUDA C++ and CuPy have it; or that of NumPy's scalars, where they are int64 and float64 and take the type of
        the other operand.
    device : bool, default: False
        Make a device function, which kernels call. It may return a number, or a tuple of them.

    Returns
    -------
    callable
        The decorator. What it makes is launched as ``kernel[grid, block](x, y)``, or
        ``kernel(grid, block, (x, y), shared_mem=0, stream=None)``; ``cached_code`` is the translation.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        An unknown mode, or no function.

    Notes
    -----
    For arguments of other types than before it is translated and compiled (some tenths of a second); builds are kept
    on disk. Global names and those of enclosing functions stand for what they are then.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import jit
    >>> @jit.rawkernel()
    ... def scale(x, factor):
    ...     i = jit.grid(1)
    ...     if i < x.size:
    ...         x[i] *= factor
    >>> x = np.arange(4.0)
    >>> scale[1, 128](x, 3.0)
    >>> x
    array([0., 3., 6., 9.])
    """
    device = as_truth(device, function="rawkernel", argument="device")
    if not isinstance(mode, str) or mode not in _MODES:
        raise ArgumentError(f"rawkernel: unknown mode {mode!r}; argument 'mode' must be 'cuda' or 'numpy'.")

    def decorator(function: Callable[..., Any]) -> PythonKernel:
        if not inspect.isfunction(function):
            _refuse_function(function)
        return PythonKernel(function, mode, device)

    return decorator


def _refuse_function(function: Any) -> NoReturn:
    raise ArgumentTypeError(f"rawkernel: it decorates a function, got {describe(function)}; write @rawkernel().")
