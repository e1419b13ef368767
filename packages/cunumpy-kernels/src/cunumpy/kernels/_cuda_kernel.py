"""CUDA kernels from source: their arguments checked, compiled when first launched, and launched."""

from __future__ import annotations

import operator
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cunumpy import _backend, _transfers
from cunumpy._arrays import is_foreign_device_array
from cunumpy._gate import as_truth, describe, given
from cunumpy.arguments._current_device import current_device, device_of_arrays
from cunumpy.arguments._packer import is_device
from cunumpy.arguments._packing import check_devices, member_of, packer
from cunumpy.arguments._protocol import LEAF_TYPES, NUMBER_TYPES, expand, members
from cunumpy.cuda import (
    DEBUG_OPTIONS,
    HostStream,
    check_cuda,
    cuda_include_dir,
    cuda_kernel_names,
    get_cuda_debug,
    is_hip,
)
from cunumpy.cuda._locks import new_lock
from cunumpy.cuda._signatures import kernel_declaration, template_argument
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError, KernelError
from cunumpy.kernels._builds import Build, HeaderHash, compile_kernel, device_limits, is_plain, no_function
from cunumpy.kernels._emulated import EMULATOR
from cunumpy.kernels._launch_shape import INFERENCES, Inference, arrays_in, block_of, check_grid, extents, grid_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cunumpy.cuda import CompileReport, CudaParameter
    from cunumpy.kernels._cpu_device.launch import CpuKernel

    Shape = tuple[tuple[int, ...], tuple[int, ...]]


class CudaKernel:
    """A CUDA kernel from C++ source, launched with checked arguments.

    Making one needs neither CuPy nor a GPU: the source is parsed, and compiled when the kernel is first launched, for
    each device and for debug mode. A launch is asynchronous, on the current stream or on `stream`, and nothing is ever
    copied or converted for it: an argument that does not fit the declaration is an error that names the kernel, the
    parameter and what was given.

    Parameters
    ----------
    source : str
        CUDA C++ source code. Kernels that are no templates and in no namespace have to be ``extern "C"``.
    name : str
        The kernel in it, in a namespace as ``"space::kernel"``.
    block_size : int or sequence of int, default: 128
        Threads of a block, along 1 to 3 dimensions.
    options : sequence of str, optional
        For the compiler, such as ``"-DN=3"``.
    include_dirs : sequence of str or Path, optional
        Folders of headers. The shipped headers (``<cunumpy/...>``) are always found.
    source_dir : str or Path, optional
        The source's own folder; headers there count when it is decided whether to compile anew.
    structs : iterable of CudaStruct, optional
        Types of parameters that are structs.
    template_args : sequence, optional
        For a template, as text, dtype, bool or int.
    check_signature : bool, default: True
        Parse the parameters and check the arguments of each launch; without it they go to CuPy as they are.
    debug : bool, optional
        Compile with `cunumpy.cuda.DEBUG_OPTIONS` and wait after each launch, so that its error is raised there. By
        default as `cunumpy.cuda.cuda_debug` says at each launch.
    n_threads_from : callable or str, optional
        How launches without `n_threads` and `grid` find the number of threads: ``"auto"``, the leading axes of the
        first array argument, one for each dimension of the block; ``"first_array"``, its first axis; ``"last_axis"``,
        its last; or a function of the tuple of arguments. With None they have to be told.
    check_finite : bool, default: False
        Wait after each launch and raise if an array argument holds NaN or infinity: with the first place.
    cooperative : bool, default: False
        Launch so that all blocks run at the same time, and can wait for each other by
        ``cooperative_groups::this_grid().sync()``. A device takes as many blocks as it has room for; on the CPU 256.

    Raises
    ------
    ArgumentError
        A block with no or too many threads, a source that can't be parsed, or no such kernel in it.
    ArgumentTypeError
        An argument of a wrong type.

    Notes
    -----
    Kernels pickle and copy, without what was compiled. All methods can be called from several threads.

    The checks of a launch with four arguments cost some microseconds. For loops that launch the same again and again
    see `prepare`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> axpy = xp.kernels.CudaKernel('''
    ... extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) y[i] += a * x[i];
    ... }''', "axpy")
    >>> [parameter.name for parameter in axpy.signature]
    ['a', 'x', 'y', 'n']
    >>> axpy.launch_shape(1000)
    ((8,), (128,))
    """

    def __init__(
        self,
        source: str,
        name: str,
        *,
        block_size: int | Sequence[int] = 128,
        options: Sequence[str] = (),
        include_dirs: Sequence[str | Path] = (),
        source_dir: str | Path | None = None,
        structs: Iterable[Any] = (),
        template_args: Sequence[Any] | None = None,
        check_signature: bool = True,
        debug: bool | None = None,
        n_threads_from: Callable[[tuple[Any, ...]], Any] | str | None = "auto",
        check_finite: bool = False,
        cooperative: bool = False,
    ) -> None:
        for value, argument in ((source, "source"), (name, "name")):
            if not isinstance(value, str):
                raise ArgumentTypeError(f"CudaKernel: argument {argument!r} must be a str, got {describe(value)}.")
        owner = f"CudaKernel {name!r}"
        self._name, self._source, self._owner = name, source, owner
        self._file: Path | None = None
        self._options = _texts(options, owner, "options")
        self._include_dirs = tuple(
            _path(folder, owner, "include_dirs") for folder in _paths(include_dirs, owner, "include_dirs")
        )
        self._source_dir = None if source_dir is None else _path(source_dir, owner, "source_dir")
        if not hasattr(structs, "__iter__"):
            raise ArgumentTypeError(
                f"{owner}: argument 'structs' must be several structs, got {describe(structs)}; pass structs=[struct]."
            )
        self._structs = tuple(structs)
        self._template_args = None if template_args is None else _template_args(template_args, owner)
        self._debug = None if debug is None else as_truth(debug, function=owner, argument="debug")
        check_signature = as_truth(check_signature, function=owner, argument="check_signature")
        self._signature: tuple[CudaParameter, ...] | None = None
        self._bound: int | None = None
        if check_signature:
            declaration = kernel_declaration(
                source,
                name,
                structs=self._structs,
                template_args=self._template_args,
                defines=_defines(self._options),
                function=owner,
            )
            self._signature = declaration.parameters
            self._bound = declaration.launch_bounds[0] if declaration.launch_bounds else None
        # The bound of the declaration is checked when a launch takes this block: one may be given there.
        self._block = block_of(block_size, owner, "block_size", None)
        self._n_threads_from: Callable[[tuple[Any, ...]], Any] | str | None = None
        self.n_threads_from = n_threads_from
        self._check_finite = as_truth(check_finite, function=owner, argument="check_finite")
        self._cooperative = as_truth(cooperative, function=owner, argument="cooperative")
        self._start()

    def _start(self) -> None:
        """Make what is not pickled."""
        self._builds: dict[tuple[int, bool], Build] = {}
        self._generation = 0  # counts what is compiled, so that prepared launches see it
        self._lock = new_lock()
        self._cpu: CpuKernel | None = None  # what runs it on the CPU, made when it first does
        self._headers = HeaderHash(self._source, self._header_folders(), self._source_dir)
        self._plain_block = len(self._block) == 1 and (self._bound is None or self._block[0] <= self._bound)
        self._has_records = any(
            not one.pointer and (one.view_ndim is not None or one.dtype is None or one.dtype.kind == "V")
            for one in self._signature or ()
        )
        self._checks: list[Callable[[Any, int | None], Any]] | None = None
        self._check_all: Callable[..., tuple[Any, ...]] | None = None
        self._count = len(self._signature or ())
        if self._signature is not None:
            self._checks = [packer(one, f"{self._owner}: argument {one.name!r}").argument for one in self._signature]
            self._check_all = _together(self._checks)

    def _header_folders(self) -> list[Path]:
        given = [Path(option[2:].strip()) for option in self._options if option.startswith("-I") and option[2:]]
        return [*self._include_dirs, *given]

    @classmethod
    def from_file(
        cls, path: str | Path, name: str | None = None, *, suffix: str = "_cuda.cu", **kwargs: Any
    ) -> CudaKernel:
        """Make a kernel of a source file; its folder is the first of `include_dirs`, and `source_dir`.

        Parameters
        ----------
        path : str or Path
            The file, in UTF-8.
        name : str, optional
            The kernel; by default the file's name without `suffix`.
        suffix : str, default: "_cuda.cu"
            The end of the file's name.
        **kwargs
            As for `CudaKernel`.

        Returns
        -------
        CudaKernel

        Raises
        ------
        FileNotFoundError
            There is no such file.
        ArgumentError
            Without `name`, a file name that does not end with `suffix`.
        """
        file = _path(path, "CudaKernel.from_file", "path")
        source = _read(file, "CudaKernel.from_file")
        if name is None:
            if not suffix or not file.name.endswith(suffix) or file.name == suffix:
                raise ArgumentError(
                    f"CudaKernel.from_file: the name of {str(file)!r} does not end with {suffix!r}, so it does not "
                    "tell the kernel's; pass name=, or suffix=."
                )
            name = file.name.removesuffix(suffix)
        return cls._of_file(file, source, name, kwargs)

    @classmethod
    def all_from_file(cls, path: str | Path, **kwargs: Any) -> dict[str, CudaKernel]:
        """Make all kernels of a source file, by name and in their order there; see `from_file`.

        Parameters
        ----------
        path : str or Path
            The file, in UTF-8.
        **kwargs
            As for `CudaKernel`, for all of them.

        Returns
        -------
        dict of str to CudaKernel

        Raises
        ------
        FileNotFoundError
            There is no such file.
        ArgumentError
            It has no kernel.
        """
        file = _path(path, "CudaKernel.all_from_file", "path")
        source = _read(file, "CudaKernel.all_from_file")
        defines = _defines(_texts(kwargs.get("options", ()), "CudaKernel.all_from_file", "options"))
        names = cuda_kernel_names(source, defines=defines, filename=str(file))
        if not names:
            raise ArgumentError(
                f"CudaKernel.all_from_file: {str(file)!r} has no __global__ function that returns void."
            )
        return {name: cls._of_file(file, source, name, kwargs) for name in names}

    @classmethod
    def _of_file(cls, file: Path, source: str, name: str, kwargs: dict[str, Any]) -> CudaKernel:
        folders = _paths(kwargs.get("include_dirs", ()), "CudaKernel.from_file", "include_dirs")
        given = {"source_dir": file.parent} | kwargs | {"include_dirs": (file.parent, *folders)}
        try:
            kernel = cls(source, name, **given)
            kernel._file = file
            return kernel
        except ArgumentError as error:
            if "<source>:" not in str(error):
                raise
            raise type(error)(str(error).replace("<source>:", f"{file}:", 1)) from None

    # What it is

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._name

    @property
    def expression(self) -> str:
        """The name, with template arguments as C++ writes them."""
        if self._template_args is None:
            return self._name
        arguments = [template_argument(one, self._owner) for one in self._template_args]
        return f"{self._name}<{', '.join(arguments)}>"

    @property
    def source(self) -> str:
        """The source code."""
        return self._source

    @property
    def block_size(self) -> int | tuple[int, ...]:
        """Threads of a block: an integer for one dimension."""
        return self._block[0] if len(self._block) == 1 else self._block

    @property
    def options(self) -> tuple[str, ...]:
        """The compiler options that were given, and one for each of `include_dirs`."""
        return (*self._options, *(f"-I{folder}" for folder in self._include_dirs))

    @property
    def debug(self) -> bool | None:
        """Whether the kernel is always, never, or (None) in debug mode as `cunumpy.cuda.cuda_debug` says."""
        return self._debug

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """The folders of headers."""
        return self._include_dirs

    @property
    def source_dir(self) -> Path | None:
        """The folder of the source."""
        return self._source_dir

    @property
    def included_headers(self) -> tuple[Path, ...]:
        """The headers that the source includes, as they are found now; see `cunumpy.cuda.resolve_includes`."""
        return self._headers.headers()

    @property
    def structs(self) -> tuple[Any, ...]:
        """The struct types."""
        return self._structs

    @property
    def n_threads_from(self) -> Callable[[tuple[Any, ...]], Any] | None:
        """How the number of threads is inferred: a function of the tuple of arguments, or None. Can be set."""
        source = self._n_threads_from
        return Inference(source, len(self._block), self._owner) if isinstance(source, str) else source

    @n_threads_from.setter
    def n_threads_from(self, value: Callable[[tuple[Any, ...]], Any] | str | None) -> None:
        if isinstance(value, Inference):
            value = value.name
        if not (value is None or callable(value) or (isinstance(value, str) and value in INFERENCES)):
            raise ArgumentTypeError(
                f"{self._owner}: argument 'n_threads_from' must be a function of the arguments, None, or one of "
                f"{', '.join(map(repr, INFERENCES))}, got {value!r}."
            )
        self._n_threads_from = value

    @property
    def check_finite(self) -> bool:
        """Whether launches look for NaN and infinity in array arguments. Can be set."""
        return self._check_finite

    @check_finite.setter
    def check_finite(self, value: bool) -> None:
        self._check_finite = as_truth(value, function=self._owner, argument="check_finite")

    @property
    def cooperative(self) -> bool:
        """Whether all blocks of a launch run at the same time."""
        return self._cooperative

    @property
    def template_args(self) -> tuple[Any, ...] | None:
        """The template arguments."""
        return self._template_args

    @property
    def signature(self) -> tuple[CudaParameter, ...] | None:
        """The parameters; None without `check_signature`."""
        return self._signature

    def __repr__(self) -> str:
        return f"<CudaKernel {self.expression} block_size={self.block_size}>"

    # Compiling

    def debug_active(self) -> bool:
        """Tell whether a launch now would be in debug mode."""
        return get_cuda_debug() if self._debug is None else self._debug

    def compile_options(self) -> tuple[str, ...]:
        """Return all compiler options of a launch now.

        CuPy's cache on disk knows a kernel by source and options, so a hash of the headers is among them. Headers that
        did not change are not read again.

        Returns
        -------
        tuple of str
        """
        return self._all_options(self.debug_active())

    def _all_options(self, debug: bool) -> tuple[str, ...]:
        options = list(self.options)
        shipped = f"-I{cuda_include_dir()}"
        if shipped not in options:
            options.append(shipped)
        if debug:
            hip = is_hip()
            options += [one for one in DEBUG_OPTIONS if one not in options and not (hip and one == "-lineinfo")]
        digest = self._headers.digest()
        if digest:
            options.append(f"-DCUNUMPY_INCLUDE_HASH=0x{digest}")
        return tuple(options)

    def suggested_block_size(self, *, shared_mem: int = 0) -> int:
        """Return the threads of a block with which the current device can keep the most threads busy (its occupancy).

        The kernel is compiled for it, because registers and shared memory decide. Most threads is not always fastest:
        kernels that are limited by memory reach its bandwidth with far fewer.

        Parameters
        ----------
        shared_mem : int, default: 0
            Bytes of dynamic shared memory of a block.

        Returns
        -------
        int
            As the CUDA driver calculates it, at most what ``__launch_bounds__`` allow; for `block_size` or `block`.

        Raises
        ------
        BackendUnavailableError, CompileError
            As for `compile`.

        Examples
        --------
        >>> import cunumpy as xp
        >>> def launch(kernel: xp.kernels.CudaKernel, x):  # a device array
        ...     kernel(x, x.size, n_threads=x.size, block=kernel.suggested_block_size())
        """
        shared = self._shared(shared_mem)
        build = self._built(self.debug_active())
        driver = sys.modules["cupy"].cuda.driver
        _, threads = driver.occupancyMaxPotentialBlockSize(build.launch.ptr, shared, self._bound or 0)
        return int(threads)

    @property
    def is_compiled(self) -> bool:
        """Whether a launch on the current device would find the kernel compiled from the headers as they are now."""
        emulator = EMULATOR.get()
        if emulator is not None:
            return emulator.is_compiled(self)
        if not self._builds:
            return False
        debug = self.debug_active()
        device = current_device()
        build = None if device is None else self._builds.get((device, debug))
        return build is not None and build.options == self._all_options(debug)

    def compile(self, *, log_stream: Any = None) -> Any:
        """Compile for the current device, unless that was done with the same headers and options.

        Launches do it by themselves. Once compiled, they do not look at the headers again, except in debug mode: after
        a change call this, or `recompile`.

        Parameters
        ----------
        log_stream : file object, optional
            For what the compiler says.

        Returns
        -------
        cupy.RawKernel
            None within `cunumpy.kernel_testing.emulated_launches`, where it is compiled for the CPU.

        Raises
        ------
        BackendUnavailableError
            A `RuntimeError`: CuPy or a GPU is missing.
        CompileError
            The compiler refuses the source; the next call tries again.
        NotImplementedError
            On ROCm, for headers and views that are not there.
        """
        emulator = EMULATOR.get()
        if emulator is not None:
            return emulator.compile(self)
        return self._built(self.debug_active(), log_stream).kernel

    def recompile(self, *, log_stream: Any = None) -> Any:
        """Compile anew for the current device, with the headers as they are now; other devices keep what they have.

        Parameters
        ----------
        log_stream : file object, optional
            For what the compiler says.

        Returns
        -------
        cupy.RawKernel
        """
        emulator = EMULATOR.get()
        if emulator is not None:
            return emulator.compile(self)
        self._require_cupy()
        device = current_device()
        with self._lock:
            for key in [key for key in self._builds if key[0] == device]:
                del self._builds[key]
            self._generation += 1  # prepared launches forget it too, if it does not compile now
            return self.compile(log_stream=log_stream)

    def check_cuda(self, archs: Iterable[str] = ("sm_75", "sm_80", "sm_90", "sm_120")) -> CompileReport:
        """Compile to machine code without a GPU, and tell registers, shared memory and spills.

        Parameters
        ----------
        archs : iterable of str, default: ("sm_75", "sm_80", "sm_90", "sm_120")
            Architectures to compile for.

        Returns
        -------
        CompileReport
            Of this kernel; prints as a table. See `cunumpy.cuda.check_cuda`.

        Raises
        ------
        CompileError
            The source does not compile; the text gives file and line. Or it compiles to another name, because the
            kernel is not ``extern "C"``.
        MissingPackageError
            NVRTC is not there.
        """
        expression = self.expression
        report = check_cuda(
            self._source,
            archs=archs,
            options=self._options,
            include_dirs=self._include_dirs,
            name_expressions=[expression],
            filename=self._file,
        )
        if is_plain(expression) and report.lowered_names.get(expression) != expression:
            raise no_function(expression, self._owner)
        return replace(report, kernels=tuple(one for one in report.kernels if one.name == expression))

    def _built(self, debug: bool, log_stream: Any = None) -> Build:
        """Return what is compiled for the current device with the options of now, and compile it if need be."""
        cupy = self._require_cupy()
        device = current_device()
        assert device is not None
        with self._lock:
            options = self._all_options(debug)
            build = self._builds.get((device, debug))
            if build is None or build.options != options:
                if is_hip():
                    self._refuse_on_hip(options)
                kernel = compile_kernel(
                    cupy,
                    self._source,
                    self.expression,
                    options,
                    log_stream,
                    self._owner,
                    check=self._debug is not False,
                )
                limits = device_limits(cupy, device)
                build = Build(kernel, options, limits, self._owner, cooperative=self._cooperative)
                self._builds[device, debug] = build
                self._generation += 1
        return build

    def _require_cupy(self) -> Any:
        if not _backend.cupy_available():
            raise BackendUnavailableError(
                f"{self._owner}: compiling and launching it needs CuPy and a GPU: "
                f"{_backend.cupy_unavailable_reason()}. Add CuPy with: uv add cupy-cuda13x (or cupy-cuda12x)."
            )
        return sys.modules["cupy"]

    def _refuse_on_hip(self, options: Sequence[str]) -> None:
        headers = {path.name for path in self._headers.headers()}
        missing = headers & {"reduce.cuh", "scan.cuh"}
        if missing:
            raise NotImplementedError(f"{self._owner}: {', '.join(sorted(missing))} can't be used on ROCm.")
        if "array_view.cuh" in headers and any(one.startswith("-DCUNUMPY_BOUNDS_CHECK") for one in options):
            raise NotImplementedError(f"{self._owner}: array views can't check bounds on ROCm; pass debug=False.")
        for parameter in self._signature or ():
            fields = getattr(parameter.struct, "fields", ())
            if any((one.view_ndim or 0) >= 5 for one in (parameter, *fields)):
                raise NotImplementedError(f"{self._owner}: views of 5 and more dimensions can't be used on ROCm.")

    # Launching

    def prepare_args(self, *args: Any) -> tuple[Any, ...]:
        """Check arguments and return them as the raw kernel takes them.

        Parameters
        ----------
        *args
            As for a launch: device arrays of exactly the declared dtype for pointers and views, C-contiguous unless
            a view has strides; numbers that the parameter's type holds, or objects with ``__cuda_args__``, which
            stand for the values that it returns.

        Returns
        -------
        tuple
            Device arrays as they are, NumPy scalars of the declared types, and `numpy.void` for views and structs.
            Without a signature the values unchecked.

        Raises
        ------
        ArgumentTypeError
            A wrong number of arguments, a host array, a wrong dtype or layout, or no number.
        ArgumentRangeError
            A number beyond the parameter's type.
        ArgumentError
            An integer that a floating point type would round, an array of another device, or a read-only one for
            what the kernel may write.
        """
        packed, _ = self._pack(args)
        if self._has_records:
            return tuple([one[0] if type(one) is np.ndarray else one for one in packed])
        return packed

    def _pack(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Sequence[Any] | None]:
        """Return the checked arguments as they are launched.

        Where any of them could need CuPy to take it, return what they stand for too, else None: an argument object may
        make its arrays when it is asked, and a packed view or struct does not keep them alive.
        """
        values: Sequence[Any] = args
        device = device_of_arrays()
        others = not LEAF_TYPES.issuperset(map(type, args))
        if others:
            values = expand(args, self._owner)
            if device is not None:
                for value in args:
                    check_devices(value, device, f"{self._owner}: argument {describe(value)}")
        check_all = self._check_all
        if check_all is None:
            return tuple(values), values
        if len(values) != self._count:
            self._refuse_count(args, values)
        return check_all(device, *values), values if others else None

    def _refuse_count(self, args: tuple[Any, ...], values: Sequence[Any]) -> NoReturn:
        assert self._signature is not None
        names = ", ".join(parameter.name for parameter in self._signature)
        spread = f" (from {len(args)} arguments)" if len(args) != len(values) else ""
        raise ArgumentTypeError(
            f"{self._owner}: takes {len(self._signature)} arguments ({names}), got {len(values)}{spread}."
        )

    def _launchable(self, packed: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return arguments as CuPy takes them: arrays of other libraries as its own, records as arrays."""
        found = []
        for value in packed:
            if isinstance(value, np.void):
                value = np.array(value, value.dtype).reshape(1)
            elif is_foreign_device_array(value):
                value = self._require_cupy().asarray(value)
            found.append(value)
        return tuple(found)

    def launch_shape(
        self,
        n_threads: int | Sequence[int] | None = None,
        *,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        args: tuple[Any, ...] | None = None,
    ) -> Shape:
        """Return grid and block of a launch.

        Parameters
        ----------
        n_threads : int or sequence of int, optional
            Threads that are needed, along 1 to 3 dimensions.
        grid : int or sequence of int, optional
            Blocks, instead of `n_threads`.
        block : int or sequence of int, optional
            Threads of a block, by default `block_size`.
        args : tuple, optional
            Arguments to infer the threads from, where neither is given; see `n_threads_from`.

        Returns
        -------
        grid, block : tuple of int
            The grid covers `n_threads`; a dimension of 0 means that there is nothing to do. With a block of one
            dimension it gets as many as `n_threads`.

        Raises
        ------
        ArgumentError
            Negative numbers, dimensions that do not go together, or more blocks or threads than any GPU takes.
        ArgumentTypeError
            Both or neither of `n_threads` and `grid`, or what is no integer.
        """
        if grid is None and block is None and self._plain_block:
            if n_threads is None:
                n_threads = self._inferred(args, 1)
                if type(n_threads) is tuple and len(n_threads) == 1:
                    (n_threads,) = n_threads
            if type(n_threads) is int and n_threads >= 0:
                blocks = -(-n_threads // self._block[0])
                if blocks < 2**31:
                    return (blocks,), self._block
        owner = self._owner
        if block is not None:
            threads = block_of(block, owner, "block", self._bound)
        elif self._plain_block:
            threads = self._block
        else:
            threads = block_of(self._block, owner, "block_size", self._bound)
        if n_threads is None and grid is None:
            n_threads = self._inferred(args, len(threads))
        elif n_threads is not None and grid is not None:
            raise ArgumentTypeError(
                f"{owner}: got both n_threads={n_threads!r} and grid={grid!r}; pass one of them, the number of threads "
                "or that of blocks."
            )
        if n_threads is None:
            blocks_of_grid = extents(grid, owner, "grid", lowest=0)
        else:
            blocks_of_grid, threads = grid_for(extents(n_threads, owner, "n_threads", lowest=0), threads, owner)
        check_grid(blocks_of_grid, threads, owner)
        return blocks_of_grid, threads

    def _inferred(self, args: tuple[Any, ...] | None, ndim: int) -> Any:
        source = self._n_threads_from
        if args is not None and not isinstance(args, (tuple, list)):
            raise ArgumentTypeError(
                f"{self._owner}: argument 'args' must be the tuple of arguments, got {describe(args)}; pass (array,) "
                "for one."
            )
        if args is None or source is None:
            raise ArgumentTypeError(
                f"{self._owner}: the number of threads is not known; pass n_threads or grid"
                + (", or args to infer it from." if source is not None else ".")
            )
        found = INFERENCES[source](args, ndim, self._owner) if isinstance(source, str) else source(args)
        if found is None:
            raise ArgumentTypeError(
                f"{self._owner}: n_threads_from returned None; it must return the number of threads."
            )
        return found

    def __call__(
        self,
        *args: Any,
        n_threads: int | Sequence[int] | None = None,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch the kernel on the current device, asynchronously.

        On NumPy arrays it runs as the implementation ``"cpu"`` of a `Kernel`, ``Kernel(None, kernel)``, or prepared.

        Parameters
        ----------
        *args
            One for each parameter; see `prepare_args`.
        n_threads, grid, block
            See `launch_shape`. Without threads nothing is launched.
        shared_mem : int, default: 0
            Bytes of dynamic shared memory of a block.
        stream : cupy.cuda.Stream, optional
            By default the current one.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            An argument does not fit, or the device does not take such a launch; nothing was launched.
        BackendUnavailableError
            CuPy or a GPU is missing.
        CompileError
            The source does not compile.
        KernelError
            In debug mode or with `check_finite`: the kernel failed, or there is NaN or infinity in an array.
        """
        emulator = EMULATOR.get()
        if emulator is not None:
            emulator.launch(
                self, args, n_threads=n_threads, grid=grid, block=block, shared_mem=shared_mem, stream=stream
            )
            return
        shape = self.launch_shape(n_threads, grid=grid, block=block, args=args)
        if type(shared_mem) is not int or not 0 <= shared_mem < 2**31:
            shared_mem = self._shared(shared_mem)
        device = current_device()
        packed, others = self._pack(args)
        blocks, threads = shape
        if 0 in blocks:
            return
        debug = get_cuda_debug() if self._debug is None else self._debug
        build = None if debug or device is None else self._builds.get((device, False))
        if build is None:
            build = self._built(debug)
        launch = (blocks, threads, shared_mem)
        if launch != build.checked:
            build.check(launch)
        if stream is not None:
            self._check_stream(stream, device)
        if others is not None:
            packed = self._launchable(packed)
        if debug or self._check_finite:
            self._launch_and_wait(build, launch, packed, args, stream)
        elif stream is None:
            build.launch(blocks, threads, packed, shared_mem=shared_mem)
        else:
            build.launch(blocks, threads, packed, shared_mem=shared_mem, stream=stream)

    def prepare(
        self,
        *args: Any,
        n_threads: int | Sequence[int] | None = None,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        shared_mem: int = 0,
    ) -> PreparedLaunch:
        """Check and pack a launch once, to launch it again and again at the cost of the raw kernel.

        Parameters
        ----------
        *args, n_threads, grid, block, shared_mem
            As for a launch.

        Returns
        -------
        PreparedLaunch
            Call it to launch; the kernel is compiled then at the latest.

        Notes
        -----
        With NumPy arrays in the place of device arrays, and unless the CuPy backend is active, the launch is one on the
        CPU, as by the implementation ``"cpu"`` of a `Kernel`: compiled by the machine's C++ compiler, and ended when
        the call returns.
        """
        return PreparedLaunch(self, args, n_threads=n_threads, grid=grid, block=block, shared_mem=shared_mem)

    def _shared(self, shared_mem: Any) -> int:
        try:
            if isinstance(shared_mem, (bool, np.bool_)):
                raise TypeError
            size = operator.index(shared_mem)
        except TypeError:
            raise ArgumentTypeError(
                f"{self._owner}: argument 'shared_mem' must be a number of bytes, got {given(shared_mem)}."
            ) from None
        if not 0 <= size < 2**31:
            raise ArgumentError(
                f"{self._owner}: argument 'shared_mem' must "
                + ("not be negative" if size < 0 else "be less than 2 GiB")
                + f", got {given(size)}."
            )
        return size

    def _check_stream(self, stream: Any, current: int | None) -> None:
        device = getattr(stream, "device_id", None)
        if not isinstance(device, int) or not hasattr(stream, "ptr") or isinstance(stream, HostStream):
            raise ArgumentTypeError(
                f"{self._owner}: argument 'stream' must be a stream of CuPy, got {describe(stream)}; make one with "
                "xp.cuda.create_stream() on the CuPy backend."
            )
        if device not in (current, -1):
            raise ArgumentError(
                f"{self._owner}: argument 'stream' is of CUDA device {device}, the current device is {current}; "
                "nothing was launched."
            )

    def _launch_and_wait(self, build: Build, launch: Any, packed: tuple[Any, ...], args: Any, stream: Any) -> None:
        grid, block, shared = launch
        cupy = sys.modules["cupy"]
        used = cupy.cuda.get_current_stream() if stream is None else stream
        text = f"{self._owner} (grid {grid}, block {block})"
        capturing = getattr(used, "is_capturing", None)
        waits = capturing is None or not capturing()
        watched = waits and _transfers.watching()
        if watched:
            _transfers.announce("sync", text)
        try:
            build.launch(grid, block, packed, shared_mem=shared, **({} if stream is None else {"stream": stream}))
            if waits:
                used.synchronize()
        except Exception as error:
            if not type(error).__name__.startswith("CUDA"):
                raise
            raise KernelError(f"{text}: failed on device {build.limits.device}: {error}") from error
        if watched:
            _transfers.record("sync", text)
        if waits and self._check_finite:
            with _transfers.own():
                for name, array in self._floating_arrays(args):
                    _check_finite(cupy, name, cupy.asarray(array), f"{text}: argument {name!r} ({describe(array)})")

    def _check_host_arrays(self, args: Iterable[Any], text: str) -> None:
        for name, array in self._floating_arrays(args, host=True):
            _check_finite(np, name, array, f"{text}: argument {name!r} ({describe(array)})")

    def _floating_arrays(self, args: Iterable[Any], *, host: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield the floating point and complex arrays among the arguments, those of objects too, by name."""
        names = [parameter.name for parameter in self._signature or ()]
        position = 0

        def visit(value: Any, name: str) -> Iterable[tuple[str, Any]]:
            parts = members(value)
            for part, member in parts:
                yield from visit(member, f"{name}.{part}" if part else name)
            dtype = getattr(value, "dtype", None)
            if (
                not parts
                and isinstance(dtype, np.dtype)
                and dtype.kind in ("fcV" if host else "fc")
                and (isinstance(value, np.ndarray) if host else is_device(value))
            ):
                yield from _fields(name, value)

        for value in args:
            parts = members(value)
            spread = [member for part, member in parts if not part] if parts and not parts[0][0] else [value]
            for one in spread:
                yield from visit(one, names[position] if position < len(names) else str(position))
                position += 1

    @property
    def _checkers(self) -> list[Callable[[Any], Any]] | None:
        # With `_signature` read by feectools 0.10.0, whose kept launches would else pass Python floats for `float`.
        if self._checks is None:
            return None
        return [partial(_converted, check) for check in self._checks]

    # Copies

    def __getstate__(self) -> dict[str, Any]:
        made = {"_builds", "_generation", "_lock", "_headers", "_checks", "_check_all", "_count", "_has_records"}
        made |= {"_plain_block", "_cpu"}
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()


def _fields(name: str, array: Any) -> Iterable[tuple[str, Any]]:
    """Yield the floating point and complex fields of an array of structs, by name; another array as it is."""
    if array.dtype.kind in "fc":
        yield name, array
    for field in array.dtype.names or ():
        yield from _fields(f"{name}.{field}", array[field])


def _check_finite(xp: Any, name: str, array: Any, text: str) -> None:
    """Raise with the first place of NaN or infinity, in C order; `xp` is NumPy or CuPy."""
    finite = xp.isfinite(array)
    if not bool(finite.all()):
        place = tuple(map(int, np.unravel_index(int(finite.argmin()), finite.shape)))
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise KernelError(f"{text} holds NaN or infinity, first {where} = {array[place].item()!r}.")


def _converted(check: Callable[[Any, int | None], Any], value: Any) -> Any:
    packed = check(value, None)
    return packed[0] if type(packed) is np.ndarray else packed


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
        if not isinstance(kernel, CudaKernel):
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


# --- small helpers ----------------------------------------------------------------------------------------------------


def _read(file: Path, function: str) -> str:
    if file.is_dir():
        raise ArgumentError(f"{function}: argument 'path' is the folder {str(file)!r}; pass a file.")
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{function}: {str(file)!r} is not encoded in UTF-8: {error}; save it so.") from error


def _texts(values: Any, owner: str, argument: str) -> tuple[str, ...]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(
            f"{owner}: argument {argument!r} must be a sequence of str, got {given(values)}"
            + (f"; pass [{values!r}]." if isinstance(values, str) else ".")
        )
    texts = tuple(values)
    for one in texts:
        if not isinstance(one, str):
            raise ArgumentTypeError(f"{owner}: argument {argument!r} must hold str, got {describe(one)} ({one!r}).")
    return texts


def _paths(values: Any, owner: str, argument: str) -> tuple[str | Path, ...]:
    if isinstance(values, (str, Path)) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(
            f"{owner}: argument {argument!r} must be a sequence of folders, got {given(values)}"
            + (f"; pass [{values!r}]." if isinstance(values, (str, Path)) else ".")
        )
    return tuple(values)


def _path(value: Any, owner: str, argument: str) -> Path:
    try:
        return Path(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{owner}: argument {argument!r} must be a path, a str or Path, got {given(value)}."
        ) from None


def _template_args(values: Any, owner: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(
            f"{owner}: argument 'template_args' must be a sequence with one entry for each parameter, got "
            f"{describe(values)} ({values!r}); pass [{values!r}]."
        )
    return tuple(values)


def _together(checks: Sequence[Callable[[Any, int | None], Any]]) -> Callable[..., tuple[Any, ...]]:
    """Return a function of the device and the values that calls each check: written out, in half of a loop's time."""
    numbers = range(len(checks))
    values = "".join(f", v{number}" for number in numbers)
    calls = "".join(f"c{number}(v{number}, device), " for number in numbers)
    together: Callable[..., tuple[Any, ...]] = eval(
        f"lambda device{values}: ({calls})", {f"c{number}": checks[number] for number in numbers}
    )
    return together


def _defines(options: Iterable[str]) -> dict[str, str | None] | None:
    """Return the macros that compiler options define (``-DNAME=VALUE``) and undefine (``-UNAME``)."""
    defines: dict[str, str | None] = {}
    pending = ""
    for option in options:
        if pending:
            option, pending = pending + option, ""
        elif option in ("-D", "-U"):
            pending = option
            continue
        for long, short in (("--define-macro=", "-D"), ("--undefine-macro=", "-U")):
            if option.startswith(long):
                option = short + option.removeprefix(long)
        if option.startswith("-D"):
            name, equals, value = option[2:].strip().partition("=")
            defines[name] = value if equals else "1"
        elif option.startswith("-U"):
            defines[option[2:].strip()] = None
    return defines or None
