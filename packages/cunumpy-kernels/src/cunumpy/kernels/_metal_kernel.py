"""Kernels in Metal for Apple's GPUs, through MLX."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate, _transfers
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    BackendUnavailableError,
    MissingPackageError,
)
from cunumpy.kernels._launch_shape import extents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

_DTYPES = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "complex64",
)
"""What Metal and MLX can hold, by the names that NumPy and MLX share."""

_INT32 = np.iinfo(np.int32)


def metal_available() -> bool:
    """Tell whether there is a GPU that `MetalKernel` can use: MLX is installed, and finds one.

    Returns
    -------
    bool
        False where MLX is missing or broken; nothing is raised.

    Examples
    --------
    >>> from cunumpy.kernels import metal_available
    >>> isinstance(metal_available(), bool)
    True
    """
    try:
        return _has_metal(_load_mlx())
    except ImportError:
        return False


def _load_mlx() -> ModuleType:
    try:
        import mlx.core
    except (ImportError, OSError) as error:
        raise MissingPackageError(
            f"MetalKernel: MLX can't be imported ({error}). On a Mac with an Apple GPU install it with: "
            "uv add 'cunumpy-kernels[metal]'"
        ) from error
    module: ModuleType = mlx.core
    return module


def _has_metal(mlx: ModuleType) -> bool:
    try:
        return bool(mlx.metal.is_available())
    except AttributeError:  # built without it
        return False


class MetalKernel:
    """A kernel in Metal, called with NumPy arrays.

    The source is the body of a kernel function; MLX writes the declaration around it, from the names and the dtypes of
    the arrays: ``const device T* name`` for an input, ``device T* name`` for an output, ``name_shape``,
    ``name_strides`` and ``name_ndim`` where the body has them, and Metal's thread attributes, such as
    ``thread_position_in_grid``. Compiled kernels are kept by MLX.

    Parameters
    ----------
    source : str
        Body of the kernel function.
    inputs, outputs : sequence of str
        Names of the arrays in the body.
    name : str, optional
        Of the kernel.
    header : str, optional
        Metal code to put before the function: helpers, includes.
    threadgroup : int or sequence of int, optional
        Threads of a group along one to three axes; like a block in CUDA. Missing axes count 1.
    float64 : {"error", "cast"}, optional
        What to do with float64 arrays, which Metal lacks: refuse them, or compute in float32.
    atomic_outputs : bool, optional
        Outputs are ``device atomic<T>*``.
    init_value : float, optional
        What outputs hold when the kernel starts. Default: anything.

    Attributes
    ----------
    source, name, header, float64, atomic_outputs, init_value
        As given.
    inputs, outputs : tuple of str
        As given.
    threadgroup : tuple of int
        Three numbers.

    Raises
    ------
    ArgumentError
        No outputs, names that are no identifiers or not distinct, a threadgroup that is not one to three positive
        integers, or another word for `float64`.

    Notes
    -----
    It is not part of `Kernel`: there is no Metal backend, arrays stay NumPy's and are copied at each call. MLX is
    imported at the first call. The objects pickle.

    Examples
    --------
    >>> from cunumpy.kernels import MetalKernel, metal_available
    >>> import numpy as np
    >>> scale = MetalKernel(
    ...     "uint i = thread_position_in_grid.x; y[i] = factor[0] * x[i];", ["factor", "x"], ["y"], name="scale"
    ... )
    >>> y = np.zeros(4, np.float32)
    >>> if metal_available():
    ...     scale(2.0, np.ones(4, np.float32), out=y)
    """

    def __init__(
        self,
        source: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        name: str = "cunumpy_kernel",
        header: str = "",
        threadgroup: int | Sequence[int] = 256,
        float64: str = "error",
        atomic_outputs: bool = False,
        init_value: float | None = None,
    ) -> None:
        atomic_outputs = _gate.as_truth(atomic_outputs, function="MetalKernel", argument="atomic_outputs")
        for argument, text in (("source", source), ("name", name), ("header", header)):
            if not isinstance(text, str):
                raise ArgumentTypeError(f"MetalKernel: argument {argument!r} must be a str, got {text!r}.")
        self.source: str = source
        self.name: str = name
        self.header: str = header
        self.inputs: tuple[str, ...] = _names("inputs", inputs)
        self.outputs: tuple[str, ...] = _names("outputs", outputs)
        names = (*self.inputs, *self.outputs)
        for one in (name, *names):
            if re.fullmatch(r"[A-Za-z_]\w*", one, re.ASCII) is None:
                raise ArgumentError(f"MetalKernel {name!r}: {one!r} is no name that Metal accepts.")
        if not self.outputs:
            raise ArgumentError(f"MetalKernel {name!r}: argument 'outputs' is empty; name what the kernel writes.")
        if len(set(names)) != len(names):
            twice = next(one for one in names if names.count(one) > 1)
            raise ArgumentError(f"MetalKernel {name!r}: the name {twice!r} is given to two arrays.")
        if float64 not in ("error", "cast"):
            raise ArgumentError(f"MetalKernel {name!r}: argument 'float64' must be 'error' or 'cast', got {float64!r}.")
        self.threadgroup: tuple[int, ...] = _extent(f"MetalKernel {name!r}", "threadgroup", threadgroup)
        self.float64: str = float64
        self.atomic_outputs: bool = atomic_outputs
        self.init_value: float | None = init_value
        self._kernel: Any = None

    def __repr__(self) -> str:
        return f"MetalKernel({self.name!r}, inputs={self.inputs}, outputs={self.outputs})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what MLX made of it."""
        return vars(self) | {"_kernel": None}

    def __call__(
        self,
        *args: Any,
        out: Any,
        n_threads: int | Sequence[int] | None = None,
        template: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    ) -> Any:
        """Run the kernel and wait for it.

        Parameters
        ----------
        *args : array-like
            The inputs, in the order of their names. A Python bool or int becomes an int32 array of one element, a
            float a float32 one, and a 0-d array an array of one element. Arrays that are not contiguous are copied.
        out : numpy.ndarray or sequence of numpy.ndarray
            The outputs, written in place, converted as by ``numpy.copyto(..., casting="same_kind")``.
        n_threads : int or sequence of int, optional
            Threads in all, along one to three axes. Default: the length of the first output, along its first axis.
            Without elements there, nothing is run.
        template : mapping or pairs, optional
            Constants at compile time, by name: bools, ints and dtypes (for a type in the body).

        Returns
        -------
        numpy.ndarray or tuple of numpy.ndarray
            `out`; a tuple for several.

        Raises
        ------
        MissingPackageError
            MLX is not installed.
        BackendUnavailableError
            There is no Metal GPU.
        ArgumentTypeError
            Another number of inputs, outputs that are no NumPy arrays or too many or few, a dtype that Metal lacks.
        ArgumentError
            `n_threads` is not one to three positive integers, an output is read-only, or two share memory.
        ArgumentRangeError
            A number that int32 or float32 can't hold.
        """
        mlx = _load_mlx()
        if not _has_metal(mlx):
            raise BackendUnavailableError(
                f"MetalKernel {self.name!r}: MLX finds no Metal GPU; it needs a Mac with one. Elsewhere use a host "
                "kernel or a CudaKernel."
            )
        function = f"MetalKernel {self.name!r}"
        outs = self._checked_outputs(out, function)
        if len(args) != len(self.inputs):
            raise ArgumentTypeError(
                f"{function}: takes {len(self.inputs)} input(s) ({', '.join(self.inputs) or 'none'}), got {len(args)}."
            )
        inputs = [self._input(name, value, function) for name, value in zip(self.inputs, args, strict=True)]
        constants = _constants(mlx, template, function)
        if n_threads is None:
            n_threads = outs[0].shape[0] if outs[0].ndim else 1
            if n_threads == 0:
                return outs[0] if len(outs) == 1 else outs
        grid = _extent(function, "n_threads", n_threads)
        self._launch(mlx, inputs, outs, grid, constants)
        return outs[0] if len(outs) == 1 else outs

    def _launch(
        self,
        mlx: ModuleType,
        inputs: list[np.ndarray],
        outs: tuple[np.ndarray, ...],
        grid: tuple[int, ...],
        constants: list[tuple[str, Any]],
    ) -> None:
        if self._kernel is None:
            self._kernel = mlx.fast.metal_kernel(
                name=self.name,
                input_names=list(self.inputs),
                output_names=list(self.outputs),
                source=self.source,
                header=self.header,
                atomic_outputs=self.atomic_outputs,
            )
        options: dict[str, Any] = {} if self.init_value is None else {"init_value": self.init_value}
        if constants:
            options["template"] = constants
        device_inputs = []
        for name, array in zip(self.inputs, inputs, strict=True):
            text = f"MetalKernel {self.name!r}: input {name!r}"
            _transfers.announce("to_device", text, array.nbytes)
            started = perf_counter()
            device_inputs.append(mlx.array(array))
            _transfers.record("to_device", text, array.nbytes, started=started)
        results = self._kernel(
            inputs=device_inputs,
            grid=grid,
            threadgroup=self.threadgroup,
            output_shapes=[array.shape or (1,) for array in outs],
            output_dtypes=[getattr(mlx, _metal_dtype(array.dtype)) for array in outs],
            stream=mlx.gpu,
            **options,
        )
        mlx.eval(*results)
        for name, result, array in zip(self.outputs, results, outs, strict=True):
            text = f"MetalKernel {self.name!r}: output {name!r}"
            _transfers.announce("to_host", text, array.nbytes)
            started = perf_counter()
            np.copyto(array, np.array(result).reshape(array.shape), casting="same_kind")
            _transfers.record("to_host", text, array.nbytes, started=started)

    def _checked_outputs(self, out: Any, function: str) -> tuple[np.ndarray, ...]:
        outs = (out,) if isinstance(out, np.ndarray) else tuple(out) if isinstance(out, (list, tuple)) else None
        expected = f"{len(self.outputs)} NumPy array(s) ({', '.join(self.outputs)})"
        if outs is None or len(outs) != len(self.outputs):
            given = _gate.describe(out) if outs is None else f"{len(outs)}"
            raise ArgumentTypeError(f"{function}: argument 'out' must be {expected}, got {given}.")
        for number, (name, array) in enumerate(zip(self.outputs, outs, strict=True)):
            if not isinstance(array, np.ndarray) or _gate.is_masked(array):
                raise ArgumentTypeError(
                    f"{function}: argument 'out' must be {expected}; {name!r} is {_gate.describe(array)}."
                )
            self._check_dtype(array.dtype, f"output {name!r}", function)
            _gate.check_writable(array, function=function, argument=name)
            for other, before in zip(self.outputs, outs[:number], strict=False):
                if _gate.overlap(array, before):
                    raise ArgumentError(f"{function}: outputs {other!r} and {name!r} share memory.")
        return outs

    def _input(self, name: str, value: Any, function: str) -> np.ndarray:
        if type(value) in (bool, int):
            if not _INT32.min <= value <= _INT32.max:
                raise ArgumentRangeError(
                    f"{function}: input {name!r} is {value}, out of the range of int32; pass numpy.int64({value})."
                )
            return np.array([value], np.int32)
        if isinstance(value, float):  # numpy.float64 too
            with np.errstate(over="ignore"):
                number = np.float32(value)
            if np.isinf(number) and not math.isinf(value):
                raise ArgumentRangeError(f"{function}: input {name!r} is {value}, out of the range of float32.")
            return np.array([number])
        array = _gate.as_host_array(value, function=function, argument=name, native=True, contiguous=True)
        self._check_dtype(array.dtype, f"input {name!r}", function)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        return array.reshape(1) if array.ndim == 0 else array

    def _check_dtype(self, dtype: np.dtype[Any], what: str, function: str) -> None:
        if dtype == np.float64:
            if self.float64 == "cast":
                return
            remedy = "pass float32 arrays, or make the kernel with float64='cast' to compute in float32"
        elif dtype.name in _DTYPES:
            return
        else:
            remedy = f"convert it; there are {', '.join(_DTYPES)}"
        raise ArgumentTypeError(f"{function}: {what} has dtype {dtype}, which Metal lacks; {remedy}.")


def _names(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    if (
        isinstance(names, (str, type))
        or not hasattr(names, "__iter__")
        or not all(isinstance(name, str) for name in names)
    ):
        raise ArgumentTypeError(f"MetalKernel: argument {argument!r} must be a sequence of names, got {names!r}.")
    return tuple(names)


def _extent(function: str, argument: str, value: Any) -> tuple[int, ...]:
    """Return one to three positive integers as three."""
    return (*extents(value, function, argument, lowest=1), 1, 1)[:3]


def _metal_dtype(dtype: np.dtype[Any]) -> str:
    """Return MLX's name for what is computed with for a dtype that passed the check."""
    return {"float64": "float32", "bool": "bool_"}.get(dtype.name, dtype.name)


def _constants(mlx: ModuleType, template: Any, function: str) -> list[tuple[str, Any]]:
    """Return template arguments as MLX takes them."""
    pairs = template.items() if isinstance(template, Mapping) else template or ()
    found = []
    for name, value in pairs:
        if isinstance(value, (bool, np.bool_)):
            value = bool(value)
        elif hasattr(value, "__index__"):
            value = operator.index(value)
        elif isinstance(value, (np.dtype, type, str)):
            dtype = _gate.as_dtype(value, function=function, argument=f"template[{name!r}]")
            if dtype.name not in _DTYPES:
                raise ArgumentTypeError(
                    f"{function}: template {name!r} is {dtype}, which Metal lacks; there are {', '.join(_DTYPES)}."
                )
            value = getattr(mlx, _metal_dtype(dtype))
        elif not isinstance(value, getattr(mlx, "Dtype", ())):
            raise ArgumentTypeError(
                f"{function}: template {name!r} must be a bool, an int or a dtype, got {_gate.describe(value)}."
            )
        found.append((name, value))
    return found
