"""A kernel in CUDA source: its declaration, the headers and options it is compiled with, and what it is compiled to."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cunumpy import _backend
from cunumpy._gate import as_path, as_paths, as_strings, as_truth, describe
from cunumpy.arguments._current_device import current_device
from cunumpy.cuda import DEBUG_OPTIONS, check_cuda, cuda_include_dir, cuda_kernel_names, get_cuda_debug, is_hip
from cunumpy.cuda._locks import new_lock
from cunumpy.cuda._signatures import kernel_declaration, template_argument
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError
from cunumpy.kernels._builds import Build, HeaderHash, compile_kernel, device_limits, is_plain, no_function
from cunumpy.kernels._emulated import EMULATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from cunumpy.cuda import CompileReport, CudaParameter


class CudaProgram:
    """What of a `CudaKernel` is known before it is launched, and compiled for that; the parameters are described there.

    Who makes one calls `_start` when its own attributes are set.
    """

    _not_pickled: tuple[str, ...] = ("_builds", "_generation", "_lock", "_headers")

    def __init__(
        self,
        source: str,
        name: str,
        *,
        options: Sequence[str],
        include_dirs: Sequence[str | Path],
        source_dir: str | Path | None,
        structs: Iterable[Any],
        template_args: Sequence[Any] | None,
        check_signature: bool,
        debug: bool | None,
        cooperative: bool,
    ) -> None:
        for value, argument in ((source, "source"), (name, "name")):
            if not isinstance(value, str):
                raise ArgumentTypeError(f"CudaKernel: argument {argument!r} must be a str, got {describe(value)}.")
        owner = f"CudaKernel {name!r}"
        self._name, self._source, self._owner = name, source, owner
        self._file: Path | None = None
        self._options = tuple(as_strings(options, function=owner, argument="options"))
        self._include_dirs = tuple(as_paths(include_dirs, function=owner, argument="include_dirs"))
        self._source_dir = None if source_dir is None else as_path(source_dir, function=owner, argument="source_dir")
        if not hasattr(structs, "__iter__"):
            raise ArgumentTypeError(
                f"{owner}: argument 'structs' must be several structs, got {describe(structs)}; pass structs=[struct]."
            )
        self._structs = tuple(structs)
        if isinstance(template_args, str) or not (template_args is None or hasattr(template_args, "__iter__")):
            raise ArgumentTypeError(
                f"{owner}: argument 'template_args' must be a sequence with one entry for each parameter, got "
                f"{describe(template_args)} ({template_args!r}); pass [{template_args!r}]."
            )
        self._template_args = None if template_args is None else tuple(template_args)
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
                defines=defines_of(self._options),
                function=owner,
            )
            self._signature = declaration.parameters
            self._bound = declaration.launch_bounds[0] if declaration.launch_bounds else None
        self._cooperative = as_truth(cooperative, function=owner, argument="cooperative")

    def _start(self) -> None:
        """Make what is not pickled."""
        self._builds: dict[tuple[int, bool], Build] = {}
        self._generation = 0  # counts what is compiled, so that prepared launches see it
        self._lock = new_lock()
        self._headers = HeaderHash(self._source, self._header_folders(), self._source_dir)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._not_pickled}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def _header_folders(self) -> list[Path]:
        given = [Path(option[2:].strip()) for option in self._options if option.startswith("-I") and option[2:]]
        return [*self._include_dirs, *given]

    # From files

    @classmethod
    def from_file(cls, path: str | Path, name: str | None = None, *, suffix: str = "_cuda.cu", **kwargs: Any) -> Self:
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
        file = as_path(path, function="CudaKernel.from_file", argument="path")
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
    def all_from_file(cls, path: str | Path, **kwargs: Any) -> dict[str, Self]:
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
        file = as_path(path, function="CudaKernel.all_from_file", argument="path")
        source = _read(file, "CudaKernel.all_from_file")
        options = as_strings(kwargs.get("options", ()), function="CudaKernel.all_from_file", argument="options")
        names = cuda_kernel_names(source, defines=defines_of(options), filename=str(file))
        if not names:
            raise ArgumentError(
                f"CudaKernel.all_from_file: {str(file)!r} has no __global__ function that returns void."
            )
        return {name: cls._of_file(file, source, name, kwargs) for name in names}

    @classmethod
    def _of_file(cls, file: Path, source: str, name: str, kwargs: dict[str, Any]) -> Self:
        folders = as_paths(kwargs.get("include_dirs", ()), function="CudaKernel.from_file", argument="include_dirs")
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


def _read(file: Path, function: str) -> str:
    if file.is_dir():
        raise ArgumentError(f"{function}: argument 'path' is the folder {str(file)!r}; pass a file.")
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{function}: {str(file)!r} is not encoded in UTF-8: {error}; save it so.") from error


def defines_of(options: Iterable[str]) -> dict[str, str | None] | None:
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
