"""``cupy.RawKernel`` and ``cupy.RawModule`` on the CPU device.

As for CuPy's, the kinds of arguments are up to the caller. But one whose size is not that of the parameter is refused,
which a GPU would read wrongly in silence, and a kernel that fails does so in its launch. Launches are checked, but for
kernels whose makers set ``_check = False``: those of CuNumpy itself, and with ``debug=False``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.cuda._locks import new_lock
from cunumpy.errors import ArgumentError, CompileError, KernelError
from cunumpy.kernels._raw_arguments import pack_argument
from cunumpy.kernels._raw_kernel import (
    ATTRIBUTES,
    BACKENDS,
    DEFAULT_SHARED_BYTES,
    is_there,
    kernels_of,
)

from . import asynchrony, kernel_cache
from .cuda import CompileException, CUDADriverError, getDeviceProperties
from .current_device import CUDARuntimeError, check_reachable
from .memory import ManagedMemory, UnownedMemory
from .memory_history import WholeMemory, memory_at
from .memory_pointer import MemoryPointer
from .ndarray import ndarray
from .texture import TextureObject

if TYPE_CHECKING:
    from cunumpy.kernels._cpu_device.launch import RawFunction


_ATTRIBUTES = {**ATTRIBUTES, "binary_version": 80, "num_regs": 32, "ptx_version": 80}


class Function:
    """A compiled kernel, as ``cupy.cuda.Function``."""

    def __init__(self, name: str, run: RawFunction) -> None:
        self.name, self._run = name, run
        self.max_dynamic_shared_size_bytes = DEFAULT_SHARED_BYTES

    @property
    def ptr(self) -> int:
        """A number that stands for it, as its handle does on a GPU."""
        return id(self)

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Any,
        shared_mem: int = 0,
        stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:
        """Launch it, and wait."""
        properties = getDeviceProperties(0)
        for what, sizes, most in (("grid", grid, "maxGridSize"), ("block", block, "maxThreadsDim")):
            if type(sizes) is not tuple:
                raise TypeError(f"Argument {what!r} has incorrect type (expected tuple, got {type(sizes).__name__})")
            if not all(0 < size <= limit for size, limit in zip(sizes, properties[most], strict=False)):
                raise _invalid(f"{what} {sizes}")
        if np.prod(block, dtype=np.int64) > properties["maxThreadsPerBlock"]:
            raise _invalid(f"block {block}")
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise _invalid(f"{shared_mem} bytes of shared memory, max_dynamic_shared_size_bytes is less")
        sizes = self._run.sizes
        if len(args) != len(sizes):
            raise TypeError(f"kernel {self.name!r} has {len(sizes)} parameters, got {len(args)} arguments")
        packed = [
            self._packed(index, value, size, kind)
            for index, (value, size, kind) in enumerate(zip(args, sizes, self._run.kinds, strict=True))
        ]
        try:
            with asynchrony.launching(_arrays_among(args), stream):
                self._run(
                    grid,
                    block,
                    packed,
                    shared_mem,
                    cooperative=enable_cooperative_groups,
                    arguments=_memory_of(args) if self._run.check else (),
                )
        except KernelError as error:
            raise CUDARuntimeError(719, f"cudaErrorLaunchFailure: unspecified launch failure: {error}") from error
        except ArgumentError as error:
            raise _invalid(str(error)) from error

    def _packed(self, index: int, value: Any, size: int, kind: int) -> Any:
        """Return an argument as the CPU device takes it: addresses as integers, numbers as bytes."""
        if isinstance(value, (ndarray, MemoryPointer)):
            memory = value._memory if isinstance(value, ndarray) else value.mem
            if not isinstance(memory, ManagedMemory):
                check_reachable(memory.device_id, f"argument {index} of kernel {self.name!r}")
        if isinstance(value, ndarray):
            value = value._buffer.__array_interface__["data"][0]
        elif isinstance(value, (MemoryPointer, TextureObject)):
            value = value.ptr
        return pack_argument(value, size, kind, index, f"kernel {self.name!r}")


def _arrays_among(args: Any) -> list[Any]:
    """Return the arrays among arguments, and the memory of addresses in them, in the asynchronous mode."""
    if not asynchrony.is_on():
        return []
    addresses: list[int] = []
    for value in args:
        if isinstance(value, MemoryPointer):
            addresses.append(value.ptr)
        elif isinstance(value, (np.void, np.ndarray)):  # a struct
            data = value.tobytes()
            addresses += np.frombuffer(data, np.uint64, len(data) // 8).tolist()
    found = dict.fromkeys(memory_at(address, 1) for address in addresses)
    whole = [WholeMemory(one) for one in found if one is not None]
    return whole + [value for value in args if isinstance(value, ndarray)]


def _memory_of(args: Any) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """Return the arrays among arguments, and what pointers point into, with their numbers."""
    from cunumpy.kernels._cpu_device.launch import RawFunction

    found = []
    for number, value in enumerate(args):
        if isinstance(value, ndarray):
            found.append((number, value._buffer))
        elif isinstance(value, MemoryPointer) and value.mem.size:
            if isinstance(getattr(value.mem, "_owner", None), RawFunction):
                continue  # a global variable, which stays where it is
            whole = value.mem._as_array(0, (value.mem._there(),), np.dtype(np.uint8), None, "C")
            found.append((number, whole))
    return found


def _invalid(what: str) -> CUDADriverError:
    return CUDADriverError(1, f"CUDA_ERROR_INVALID_VALUE: invalid argument ({what})")


class RawModule:
    """``cupy.RawModule``: kernels of one source."""

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Any = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if path is not None:
            raise NotImplementedError(
                f"RawModule(path={path!r}): the stand-in of cunumpy.kernel_testing has no machine code of GPUs; pass "
                "the source by code=, or test this on a GPU"
            )
        self.code = _checked(code, options, backend, translate_cucomplex, jitify)
        self.file_path: str | None = None
        self.options, self.backend = options, backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self.name_expressions = None if name_expressions is None else tuple(name_expressions)
        self._functions: dict[str, RawKernel] = {}
        self._opened: dict[bool, Any] = {}
        self._check = True
        self._lock = new_lock()

    def compile(self, log_stream: Any = None) -> None:
        """Compile, unless that was done."""
        for name in self._names():
            self.get_function(name).compile(log_stream)

    def _names(self) -> tuple[str, ...]:
        return (*dict.fromkeys((*kernels_of(self.code, self.options), *(self.name_expressions or ()))),)

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel: by its name, or one of ``name_expressions``."""
        if name not in (self.name_expressions or ()):
            _check_there(self.code, name, self.options)
        with self._lock:
            if name not in self._functions:
                kernel = RawKernel(
                    self.code,
                    name,
                    self.options,
                    self.backend,
                    enable_cooperative_groups=self.enable_cooperative_groups,
                )
                kernel._module, kernel._check = self, self._check
                self._functions[name] = kernel
            return self._functions[name]

    def get_global(self, name: str) -> MemoryPointer:
        """Return the address of a global variable, which lives as long as the module."""
        names = self._names()
        run = self.get_function(names[0]).kernel._run if names else None
        if run is None or name not in run.variables:
            raise _not_found(name)
        address, size = run.variable(name)
        return MemoryPointer(UnownedMemory(address, size, run), 0)


class RawKernel:
    """``cupy.RawKernel``: a kernel of a source, compiled when it is first needed."""

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        self.code = _checked(code, options, backend, translate_cucomplex, jitify)
        self.name = name.decode("utf-8") if isinstance(name, bytes) else name
        self.file_path: str | None = None
        self.options, self.backend = options, backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self._module: RawModule | None = None
        self._check = True
        self._function: Function | None = None
        self._lock = new_lock()

    def compile(self, log_stream: Any = None) -> None:
        """Compile, unless that was done."""
        self.kernel  # noqa: B018 - it compiles

    @property
    def kernel(self) -> Function:
        """The compiled kernel."""
        if self._function is None:
            with self._lock:
                if self._function is None:
                    module = self._module
                    if module is None:
                        _check_there(self.code, self.name, self.options)
                    kernels = () if module is None or self.name not in module._names() else module._names()
                    opened = module._opened if module is not None and kernels else {}
                    run = _compiled(self.code, self.name, self.options, kernels, opened, self._check)
                    self._function = Function(self.name, run)
        return self._function

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: Any, **kwargs: Any) -> None:
        """Launch it."""
        self.kernel(grid, block, args, **{"enable_cooperative_groups": self.enable_cooperative_groups} | kwargs)

    @property
    def attributes(self) -> dict[str, int]:
        """What the compiler says; on the stand-in that of some small kernel."""
        return {**_ATTRIBUTES, "max_dynamic_shared_size_bytes": self.max_dynamic_shared_size_bytes}

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """The most dynamic shared memory of a launch. Can be set."""
        return self.kernel.max_dynamic_shared_size_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        if not 0 <= size <= getDeviceProperties(0)["sharedMemPerBlockOptin"]:
            raise _invalid(f"{size} bytes of dynamic shared memory")
        self.kernel.max_dynamic_shared_size_bytes = size


def _attribute(name: str) -> property:
    return property(lambda kernel: kernel.attributes[name], doc=f"The attribute ``{name}`` of the compiled kernel.")


for _name in _ATTRIBUTES:
    if _name not in vars(RawKernel):
        setattr(RawKernel, _name, _attribute(_name))
for _kind in (RawKernel, RawModule):
    _kind.__module__ = "cupy"


def _checked(code: Any, options: Any, backend: Any, translate_cucomplex: Any, jitify: Any) -> str:
    """Return the source; raise for what CuPy refuses, and for what the stand-in can't do."""
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise TypeError(f"options must be a tuple of str, got {options!r}")
    if type(options) is not tuple:  # CuPy's table of compiled modules needs to hash them
        raise TypeError(f"unhashable type: {type(options).__name__!r}")
    if backend not in BACKENDS:
        raise ValueError(f'Unknown backend {backend}. Must be either "nvrtc" or "nvcc".')
    refused = {"backend='nvcc'": backend == "nvcc", "translate_cucomplex": translate_cucomplex, "jitify": jitify}
    for what, asked in refused.items():
        if asked:
            raise NotImplementedError(
                f"{what}: the stand-in of cunumpy.kernel_testing compiles like NVRTC, by the C++ compiler of this "
                "machine; leave it out, or test this on a GPU"
            )
    return code.decode("utf-8") if isinstance(code, bytes) else str(code)


def _compiled(
    code: str,
    name: str,
    options: tuple[str, ...],
    kernels: tuple[str, ...],
    opened: dict[bool, Any],
    check: bool,
) -> RawFunction:
    from cunumpy.kernels._cpu_device.launch import RawFunction

    try:
        function = RawFunction(code, name, options, kernels, opened, check=check)
    except CompileError as error:
        # As NVRTC writes it, with what the C++ compiler says.
        log = "\n".join(
            f"{one.file}({one.line}): {one.severity}: {one.text}\n{one.context}\n" for one in error.messages
        )
        raise CompileException(log or str(error), code, name, options) from error
    kernel_cache.save_source(code, options)
    return function


def _check_there(code: str, name: str, options: tuple[str, ...]) -> None:
    """Raise where compiled code has nothing of a name."""
    if not is_there(code, name, options):
        raise _not_found(name)


def _not_found(name: str) -> CUDADriverError:
    return CUDADriverError(500, f"CUDA_ERROR_NOT_FOUND: named symbol not found ({name!r})")
