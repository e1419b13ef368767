"""Raw kernels and modules, as CuPy's: CUDA C++ of which only source and names are known."""

from __future__ import annotations

import ctypes
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy.cuda import cuda_kernel_names, get_cuda_debug
from cunumpy.cuda._arguments import as_defines
from cunumpy.cuda._declarations import read_declarations
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    KernelError,
)
from cunumpy.kernels._cuda_program import defines_of
from cunumpy.kernels._raw_arguments import (
    CONST_POINTER_KIND,
    POINTER_KIND,
    check_launch,
    on_device,
    pack_argument,
    pointed_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cunumpy.kernels._cpu_device.launch import RawFunction

BACKENDS = ("nvrtc", "nvcc")
DEFAULT_SHARED_BYTES = 49152
"""Dynamic shared memory that a kernel can have unless it asks for more, on every CUDA device."""

ATTRIBUTES = {
    "binary_version": 90,
    "cache_mode_ca": 0,
    "const_size_bytes": 0,
    "local_size_bytes": 0,
    "max_threads_per_block": 1024,
    "num_regs": 0,
    "preferred_shared_memory_carveout": -1,
    "ptx_version": 90,
    "shared_size_bytes": 0,
}
"""What CuPy tells of a kernel: on the CPU, what holds for all."""


class RawKernel:
    """A kernel of CUDA C++ source code, with the interface of `cupy.RawKernel`.

    Launched with NumPy arrays it runs on the CPU's cores, compiled by the machine's C++ compiler; launched with CuPy
    arrays it is CuPy's own. The arguments decide, never the active backend.

    Parameters
    ----------
    code : str or bytes
        Source code.
    name : str or bytes
        The kernel: one that is ``extern "C"``, or with namespaces and template arguments.
    options : tuple of str, optional
        Of CUDA's compiler.
    backend : {"nvrtc", "nvcc"}, default: "nvrtc"
        CUDA's compiler, for device arrays.
    translate_cucomplex : bool, default: False
        As CuPy's; the CPU refuses it.
    enable_cooperative_groups : bool, default: False
        Run all blocks at the same time, so that ``this_grid().sync()`` can be called.
    jitify : bool, default: False
        As CuPy's; the CPU refuses it.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        An unknown backend, options that are no tuple of str, or code and name that are no text.

    Notes
    -----
    Nobody checks the types of arguments, as with CuPy's; only their sizes are on the CPU. Strides of arrays are lost.
    `CudaKernel` checks both.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import RawKernel
    >>> add = RawKernel(
    ...     'extern "C" __global__ void add(const float* x, float* y) {'
    ...     ' int i = blockDim.x * blockIdx.x + threadIdx.x; y[i] += x[i]; }',
    ...     "add",
    ... )
    >>> x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    >>> add((2,), (2,), (x, y))
    >>> y
    array([1., 2., 3., 4.], dtype=float32)
    """

    code: str
    name: str
    file_path: str | None
    options: tuple[str, ...]
    backend: str
    enable_cooperative_groups: bool

    def __init__(
        self,
        code: str | bytes,
        name: str | bytes,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        translate_cucomplex = _gate.as_truth(translate_cucomplex, function="RawKernel", argument="translate_cucomplex")
        enable_cooperative_groups = _gate.as_truth(
            enable_cooperative_groups, function="RawKernel", argument="enable_cooperative_groups"
        )
        jitify = _gate.as_truth(jitify, function="RawKernel", argument="jitify")
        check_settings(options, backend, "RawKernel")
        self.code, self.name = _text(code, "code", "RawKernel"), _text(name, "name", "RawKernel")
        self.options, self.backend = options, backend
        self.file_path = None
        self.enable_cooperative_groups = enable_cooperative_groups
        self._owner = f"RawKernel {self.name!r}"
        self._refused = _refused(backend, translate_cucomplex, jitify)
        self._make: Callable[[], RawFunction] = self._compiled
        self._make_on_device: Callable[[], Any] = self._of_cupy
        self._module: RawModule | None = None
        self._keywords = {"translate_cucomplex": translate_cucomplex, "jitify": jitify}
        self._run: RawFunction | None = None
        self._cupy: Any = None
        self._max_shared = DEFAULT_SHARED_BYTES
        self._lock = new_lock()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def __reduce__(self) -> Any:
        if self._module is not None:
            return self._module.get_function, (self.name,)
        keywords: dict[str, Any] = {
            **self._keywords,
            "enable_cooperative_groups": self.enable_cooperative_groups,
        }
        return partial(type(self), **keywords), (self.code, self.name, self.options, self.backend)

    def __call__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch it.

        Parameters
        ----------
        grid, block : tuple of int
            The numbers of blocks, and of threads in a block, along x, y and z.
        args : sequence
            Arrays and NumPy scalars of the parameters' types. Integers of Python are taken where they fit, other
            numbers of Python have 8 bytes a part.
        shared_mem : int, default: 0
            Bytes of dynamic shared memory.
        stream
            For device arrays, as CuPy's. The CPU needs none: it has ended when this returns.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            A launch that no device takes, or arguments of other sizes than the parameters.
        MixedBackendError
            NumPy arrays beside device arrays.
        CompileError
            The code does not compile.
        KernelError
            The kernel ended itself.
        MissingCompilerError
            There is no C++ compiler.
        """
        if on_device(args, self._owner):
            given = {"shared_mem": shared_mem} | ({} if stream is None else {"stream": stream})
            self._device_kernel()(tuple(grid), tuple(block), tuple(args), **given)
            return
        run = self._run
        if (
            run is not None
            and not self.enable_cooperative_groups
            and type(shared_mem) is int
            and 0 <= shared_mem <= self._max_shared
            and shared_mem <= run.dynamic_limit
            and (trap := run.call(args, grid, block, shared_mem)) is not NotImplemented
        ):
            if trap is not None:
                raise KernelError(
                    f"{self._owner} (grid {tuple(grid)}, block {tuple(block)}): {trap}; what it wrote before stays."
                )
            return
        check_launch(grid, block, shared_mem, self._max_shared, self._owner)
        run = self._function()
        if len(args) != len(run.sizes):
            raise ArgumentTypeError(f"{self._owner}: it has {len(run.sizes)} parameters, got {len(args)} arguments.")
        packed = [
            pack_argument(pointed_to(value, kind, index, self._owner), size, kind, index, self._owner)
            for index, (value, size, kind) in enumerate(zip(args, run.sizes, run.kinds, strict=True))
        ]
        run(
            tuple(grid),
            tuple(block),
            packed,
            shared_mem,
            cooperative=self.enable_cooperative_groups,
            arguments=[
                (index, value)
                for index, (value, kind) in enumerate(zip(args, run.kinds, strict=True))
                if isinstance(value, np.ndarray) and kind in (POINTER_KIND, CONST_POINTER_KIND)
            ],
        )

    def compile(self, log_stream: Any = None) -> None:
        """Compile it for the CPU, unless that was done.

        Parameters
        ----------
        log_stream
            As CuPy's; messages are in the error.
        """
        self._function()

    @property
    def attributes(self) -> dict[str, int]:
        """What CuPy tells of a compiled kernel, as it is on the CPU: limits of every CUDA device, and no registers."""
        return {**ATTRIBUTES, "max_dynamic_shared_size_bytes": self._max_shared}

    def __getattr__(self, name: str) -> int:
        if name in ATTRIBUTES:
            return ATTRIBUTES[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.")

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """The most dynamic shared memory of a launch, in bytes. Can be set."""
        return self._max_shared

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        from cunumpy.kernels._cpu_device.source import MAX_SHARED_BYTES

        if not 0 <= size <= MAX_SHARED_BYTES:
            raise ArgumentError(
                f"{self._owner}: max_dynamic_shared_size_bytes must be from 0 to {MAX_SHARED_BYTES}, got {size}."
            )
        self._max_shared = size
        if self._cupy is not None:
            self._cupy.max_dynamic_shared_size_bytes = size

    def _function(self) -> RawFunction:
        if self._run is None:
            with self._lock:
                if self._run is None:
                    if self._refused is not None:
                        raise ArgumentError(f"{self._owner}: {self._refused}")
                    try:
                        self._run = self._make()
                    except CompileError as error:
                        if not _lacks_kernel(error, self.name):
                            raise
                        found = ", ".join(cuda_kernel_names(self.code)) or "none"
                        raise CompileError(
                            f"{self._owner}: there is no kernel of this name in the source; its kernels are: {found}."
                        ) from None
        return self._run

    def _compiled(self) -> RawFunction:
        from cunumpy.kernels._cpu_device.launch import RawFunction

        return RawFunction(self.code, self.name, self.options, check=get_cuda_debug())

    def _device_kernel(self) -> Any:
        if self._cupy is None:
            kernel = self._make_on_device()
            if self._max_shared != DEFAULT_SHARED_BYTES:
                kernel.max_dynamic_shared_size_bytes = self._max_shared
            self._cupy = kernel
        return self._cupy

    def _of_cupy(self) -> Any:
        import cupy

        return cupy.RawKernel(
            self.code,
            self.name,
            self.options,
            self.backend,
            enable_cooperative_groups=self.enable_cooperative_groups,
            **{word: value for word, value in self._keywords.items() if value},
        )


def _lacks_kernel(error: CompileError, name: str) -> bool:
    """Tell whether the compiler found no function of a kernel's name."""
    text = str(error)
    return f"'::{name}' has not been declared" in text or f"no member named '{name}' in the global namespace" in text


class RawModule:
    """Kernels and global variables of one source, with the interface of `cupy.RawModule`.

    Parameters
    ----------
    code : str or bytes, optional
        Source code.
    path : path-like, optional
        In the place of `code`: a file of source code, ``.cu``, or of machine code for GPUs, ``.cubin`` or ``.ptx``,
        which only takes device arrays.
    options, backend, translate_cucomplex, enable_cooperative_groups, jitify
        As for `RawKernel`.
    name_expressions : sequence of str, optional
        Kernels with namespaces and template arguments, such as ``"scale<float>"``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        Not one of `code` and `path`, an unknown backend, options that are no tuple of str, or code that is no text.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import RawModule
    >>> module = RawModule(
    ...     code="template <class T> __global__ void scale(T* x, T factor) { x[threadIdx.x] *= factor; }",
    ...     name_expressions=["scale<float>", "scale<double>"],
    ... )
    >>> x = np.arange(3.0)
    >>> module.get_function("scale<double>")((1,), (3,), (x, 2.0))
    >>> x
    array([0., 2., 4.])
    """

    code: str | None
    file_path: str | None
    options: tuple[str, ...]
    backend: str
    enable_cooperative_groups: bool
    name_expressions: tuple[str, ...] | None

    def __init__(
        self,
        code: str | bytes | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        translate_cucomplex = _gate.as_truth(translate_cucomplex, function="RawModule", argument="translate_cucomplex")
        enable_cooperative_groups = _gate.as_truth(
            enable_cooperative_groups, function="RawModule", argument="enable_cooperative_groups"
        )
        jitify = _gate.as_truth(jitify, function="RawModule", argument="jitify")
        if (code is None) == (path is None):
            raise ArgumentTypeError("RawModule: exactly one of 'code' and 'path' must be given.")
        check_settings(options, backend, "RawModule")
        self.file_path = None if path is None else os.fspath(path)
        if self.file_path is not None and self.file_path.endswith((".cu", ".cuh", ".cpp")):
            code = Path(self.file_path).read_text(encoding="utf-8")
            options = (f"-I{Path(self.file_path).absolute().parent}", *options)
        self.code = None if code is None else _text(code, "code", "RawModule")
        self.options, self.backend = options, backend
        self.enable_cooperative_groups = enable_cooperative_groups
        if name_expressions is not None:
            name_expressions = _gate.as_strings(name_expressions, function="RawModule", argument="name_expressions")
        self.name_expressions = None if name_expressions is None else tuple(name_expressions)
        self._keywords = {"translate_cucomplex": translate_cucomplex, "jitify": jitify}
        self._kernels: dict[str, RawKernel] = {}
        self._opened: dict[bool, Any] = {}
        self._cupy: Any = None
        self._lock = new_lock()

    def __reduce__(self) -> Any:
        source: dict[str, Any] = {"path": self.file_path} if self.code is None else {"code": self.code}
        keywords: dict[str, Any] = {
            **self._keywords,
            "options": self.options,
            "backend": self.backend,
            "enable_cooperative_groups": self.enable_cooperative_groups,
            "name_expressions": self.name_expressions,
        }
        return partial(type(self), **source, **keywords), ()

    def compile(self, log_stream: Any = None) -> None:
        """Compile all kernels for the CPU, unless that was done.

        Parameters
        ----------
        log_stream
            As CuPy's; messages are in the error.
        """
        for name in self._names():
            self.get_function(name).compile()

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel.

        Parameters
        ----------
        name : str
            Of an ``extern "C"`` kernel, or one of `name_expressions`.

        Returns
        -------
        RawKernel

        Raises
        ------
        ArgumentError
            The source has no such kernel.
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"RawModule.get_function: argument 'name' must be the name of a kernel as str, got {_gate.given(name)}."
            )
        listed = name in (self.name_expressions or ())
        if self.code is not None and not listed and not is_there(self.code, name, self.options):
            raise ArgumentError(
                f"RawModule: there is no kernel {name!r}; kernels are {', '.join(self._names()) or 'none'} "
                '(extern "C", or in name_expressions).'
            )
        with self._lock:
            if name not in self._kernels:
                kernel = RawKernel(
                    self.code or "",
                    name,
                    self.options,
                    self.backend,
                    enable_cooperative_groups=self.enable_cooperative_groups,
                    **self._keywords,
                )
                kernel._module, kernel.file_path = self, self.file_path
                kernel._make = lambda: self._function(name)
                kernel._make_on_device = lambda: self._on_device().get_function(name)
                self._kernels[name] = kernel
            return self._kernels[name]

    def get_global(self, name: str, *, device: bool = False) -> Any:
        """Return the memory of a global variable.

        Parameters
        ----------
        name : str
        device : bool, default: False
            That on the GPU, as a `cupy.cuda.MemoryPointer`. There are no arguments here that could decide.

        Returns
        -------
        numpy.ndarray of uint8, or cupy.cuda.MemoryPointer
            The variable's bytes themselves, which ``.view(dtype)`` reads and writes.

        Raises
        ------
        ArgumentError
            The source has no such variable.
        """
        device = _gate.as_truth(device, function="RawModule.get_global", argument="device")
        if device:
            return self._on_device().get_global(name)
        names = self._names()
        run = self.get_function(names[0])._function() if names and self.code is not None else None
        if self.code is None:
            raise ArgumentError(self._no_source())
        if run is None or name not in run.variables:
            raise ArgumentError(f"RawModule: there is no global variable {name!r}.")
        address, size = run.variable(name)
        memory: Any = (ctypes.c_ubyte * size).from_address(address)
        memory._owner = run  # it lives as long as the library
        return np.frombuffer(memory, np.uint8)

    def _names(self) -> tuple[str, ...]:
        plain = () if self.code is None else kernels_of(self.code, self.options)
        return (*dict.fromkeys((*plain, *(self.name_expressions or ()))),)

    def _no_source(self) -> str:
        return (
            f"RawModule: {self.file_path!r} is machine code of GPUs, which no CPU runs; pass the source by code= or "
            "the path of a .cu file, or launch it with device arrays."
        )

    def _function(self, name: str) -> RawFunction:
        from cunumpy.kernels._cpu_device.launch import RawFunction

        if self.code is None:
            raise ArgumentError(self._no_source())
        names = self._names()
        if name not in names:
            return RawFunction(self.code, name, self.options, check=get_cuda_debug())
        return RawFunction(self.code, name, self.options, names, self._opened, check=get_cuda_debug())

    def _on_device(self) -> Any:
        if self._cupy is None:
            import cupy

            source = {"path": self.file_path} if self.code is None else {"code": self.code}
            self._cupy = cupy.RawModule(
                **source,
                options=self.options,
                backend=self.backend,
                enable_cooperative_groups=self.enable_cooperative_groups,
                name_expressions=self.name_expressions,
                **{word: value for word, value in self._keywords.items() if value},
            )
        return self._cupy


def _text(given: Any, argument: str, owner: str) -> str:
    """Return text, which may be given as bytes, as CuPy takes it."""
    if isinstance(given, bytes):
        return given.decode("utf-8")
    if not isinstance(given, str):
        raise ArgumentTypeError(f"{owner}: argument {argument!r} must be a str, got {_gate.given(given)}.")
    return given


# --- what the stand-in for CuPy shares --------------------------------------------------------------------------------


def check_settings(options: Any, backend: Any, owner: str) -> None:
    """Raise for options that are no tuple of str, and for an unknown backend."""
    if type(options) is not tuple or not all(isinstance(option, str) for option in options):
        raise ArgumentTypeError(f"{owner}: options must be a tuple of str, got {options!r}.")
    if backend not in BACKENDS:
        raise ArgumentError(f"{owner}: unknown backend {backend!r}; it must be 'nvrtc' or 'nvcc'.")


def kernels_of(code: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kernels that compiled code has under their own names: no templates, and ``extern "C"``."""
    found = read_declarations(code, as_defines(defines_of(options), "RawModule")).kernels
    plain = dict.fromkeys(kernel.name for kernel in found if kernel.template is None)
    return tuple(plain) if 'extern "C"' in code else ()


def is_there(code: str, name: str, options: tuple[str, ...]) -> bool:
    """Tell whether compiled code has a kernel of a name; what included files define is not known here, and allowed."""
    plain = "<" not in name and "::" not in name
    return plain and ("#include" in code or name in kernels_of(code, options))


def _refused(backend: str, translate_cucomplex: bool, jitify: bool) -> str | None:
    del backend  # on the CPU there is one compiler
    for what, asked in {"translate_cucomplex": translate_cucomplex, "jitify": jitify}.items():
        if asked:
            return f"{what}=True is for GPUs alone; leave it out to run on NumPy arrays."
    return None
