"""Kernels as shared libraries: built once for each source, headers, compiler and processor, and kept on disk."""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cunumpy import _caches, _environment
from cunumpy.cuda import DEBUG_OPTIONS, cuda_include_dir
from cunumpy.errors import CompileError, KernelError
from cunumpy.kernels._build_cache import BuildCache, build_hash, cpu_features
from cunumpy.kernels._cpu_device.analysis import (
    FIBERS,
    GRID_STRIDE,
    LOOPS,
    MERGED_LOOPS,
    SPLIT_LOOPS,
    Analysis,
    analyse,
)
from cunumpy.kernels._cpu_device.compiler import (
    INCLUDE_DIR,
    PREDEFINED,
    Compiler,
    as_directives,
    find_compiler,
    kernel_flags,
    optimisation_flags,
    run_compiler,
)
from cunumpy.kernels._cpu_device.launcher import describe_parameter, describe_unknown, make_function
from cunumpy.kernels._cpu_device.ptx import replace_inline_ptx
from cunumpy.kernels._cpu_device.source import has_aligned_shared, translation_unit, user_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.cuda import CudaParameter
    from cunumpy.kernels._cuda_kernel import CudaKernel

_LIBRARY, _NOTES, _UNIT = "kernel.so", "kernel.json", "kernel.cpp"


class Program(NamedTuple):
    """What a library is built from.

    Attributes
    ----------
    source : str
    filename : str
        What messages call the source.
    expression : str
        The kernel, with namespaces and template arguments.
    options : tuple of str
        Of CUDA's compiler.
    source_dir : Path or None
        The source's own folder.
    headers : str
        A hash of the headers that it includes.
    owner : str
        For error messages.
    wide : bool
        For grids so large that a place along x needs more than 31 bits.
    debug : bool
        With checks of bounds, and with the indices that each thread has on a GPU.
    """

    source: str
    filename: str
    expression: str
    options: tuple[str, ...]
    source_dir: Path | None
    headers: str
    owner: str
    wide: bool = False
    debug: bool = False

    @property
    def name(self) -> str:
        """The kernel's name, without namespaces and template arguments."""
        return self.expression.partition("<")[0].rpartition("::")[2].strip()

    def flags(self) -> list[str]:
        """Return what the compiler is given, but for what makes code fast."""
        options = [*self.options, *(DEBUG_OPTIONS if self.debug else ())]
        # Ours first: a user's folder may have CUDA's own headers, of the names that ours stand for.
        flags = ["-I", str(INCLUDE_DIR), *kernel_flags(options), "-I", cuda_include_dir()]
        return flags if self.source_dir is None else [*flags, "-iquote", str(self.source_dir)]

    def key(self, compiler: Compiler) -> str:
        """Return the key of the build: a hash over everything that it depends on."""
        parts = [
            *(self.source, self.filename, self.expression, self.flags(), self.headers, self.wide, self.debug),
            *(_own_digest(), compiler.identity, optimisation_flags(compiler), cpu_features()),
        ]
        return f"cpu-{self.name}-{build_hash(parts)}"


class Library:
    """A kernel that was compiled and loaded; it is compiled unless that was done before.

    Parameters
    ----------
    program : Program
    parameters : sequence of CudaParameter or None
        Those of its declaration; None if they are not known.

    Attributes
    ----------
    mode, reason : str
        How it is run, and why; see `Analysis`.
    sizes : tuple of int
        The bytes of each parameter.
    function : Function
        What launches it; see `launcher`.

    Raises
    ------
    CompileError
        The compiler refuses the source.
    MissingPackageError, SettingError
        There is no compiler.
    """

    def __init__(self, program: Program, parameters: Sequence[CudaParameter] | None) -> None:
        compiler, cache = find_compiler(), build_cache()
        key = program.key(compiler)
        folder = cache.get(key, lambda staging: _build(program, compiler, staging))
        try:
            self._library = ctypes.CDLL(str(folder / _LIBRARY))
        except OSError:  # of another system, perhaps
            cache.discard(key)
            folder = cache.get(key, lambda staging: _build(program, compiler, staging))
            try:
                self._library = ctypes.CDLL(str(folder / _LIBRARY))
            except OSError as error:
                raise KernelError(
                    f"{program.owner}: what was compiled for the CPU can't be loaded: {error}."
                ) from error
        self.mode, self.reason = json.loads((folder / _NOTES).read_text(encoding="utf-8"))
        sizes = (ctypes.c_uint * 4096)()
        self.sizes = tuple(sizes[: self._library.cunumpy_cpu_parameters(sizes)])
        if parameters is None:
            described = tuple(map(describe_unknown, self.sizes))
        else:
            described = tuple(map(describe_parameter, parameters))
            read = tuple(parameter.size for parameter in parameters)
            if self.sizes != read:
                raise KernelError(
                    f"{program.owner}: the compiled kernel has parameters of {self.sizes} bytes, its declaration was "
                    f"read as {read}; report it with the kernel's source."
                )
        entry = ctypes.cast(self._library.cunumpy_cpu_run, ctypes.c_void_p).value or 0
        self.function = make_function(entry, described, cache)


def program_of(kernel: CudaKernel, *, wide: bool, debug: bool) -> Program:
    """Return what the library of a kernel is built from, with the headers as they are now."""
    return Program(
        kernel.source,
        str(kernel._file) if kernel._file is not None else f"{kernel.name}.cu",
        kernel.expression,
        kernel.options,
        kernel.source_dir,
        kernel._headers.digest(),
        kernel._owner,
        wide,
        debug,
    )


def _build(program: Program, compiler: Compiler, folder: Path) -> None:
    if "asm" in program.source:
        program = program._replace(source=replace_inline_ptx(program.source, program.filename))
    flags = program.flags()
    text = user_text(program.source, program.filename)
    preprocessed = run_compiler(
        compiler, ["-E", "-w", "-x", "c++", *flags, *PREDEFINED, "-"], text, program.owner, folder
    )
    aligned = has_aligned_shared(preprocessed)
    analysis = analyse(preprocessed, program.name, [str(INCLUDE_DIR)])
    if (program.wide or program.debug) and analysis.mode not in (FIBERS, SPLIT_LOOPS):
        analysis.mode = LOOPS
    try:
        _compile(program, compiler, flags, aligned, analysis, folder)
    except CompileError:
        simpler = {GRID_STRIDE: MERGED_LOOPS, SPLIT_LOOPS: FIBERS}.get(analysis.mode)
        if simpler is None:
            raise
        analysis.mode = simpler  # it changes what must not change, or is wrong anyway
        _compile(program, compiler, flags, aligned, analysis, folder)
    (folder / _NOTES).write_text(json.dumps([analysis.mode, analysis.reason]), encoding="utf-8")


def _compile(
    program: Program, compiler: Compiler, flags: list[str], aligned: bool, analysis: Analysis, folder: Path
) -> None:
    flags, directives = as_directives(flags)
    unit = translation_unit(program.source, program.filename, program.expression, analysis, directives)
    (folder / _UNIT).write_text(unit, encoding="utf-8")
    ours = ["-DCUNUMPY_CPU_ALIGNAS"] if aligned else []
    wide = ["-DCUNUMPY_CPU_WIDE"] if program.wide else []
    arguments = [*flags, *ours, *wide, *optimisation_flags(compiler), "-shared", _UNIT, "-o", _LIBRARY]
    run_compiler(compiler, arguments, None, program.owner, folder)


@functools.cache
def _own_digest() -> str:
    """Return a hash of our own headers and of the code that makes translation units."""
    files = [*sorted(INCLUDE_DIR.rglob("*")), *sorted(Path(__file__).parent.glob("*.py"))]
    return build_hash([[str(path), path.read_bytes().hex()] for path in files if path.is_file()])


# --- where builds are kept --------------------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """Return the folder on disk for builds, None if there is to be none: ``CUNUMPY_EMULATION_CACHE`` decides."""
    setting = _environment.read("CUNUMPY_EMULATION_CACHE")
    if isinstance(setting, str):
        return Path(setting).expanduser()
    if setting is not None or "CUNUMPY_EMULATION_CACHE" in os.environ:  # turned off, or empty
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "cunumpy" / "emulation"


def build_cache() -> BuildCache:
    """Return the cache of builds as the environment says now."""
    folder = cache_folder()
    roots = [_temporary_folder()] if folder is None else [folder, _fallback_folder()]
    if folder is not None:
        _register(folder)
    return BuildCache(*roots, remedy="Set CUNUMPY_EMULATION_CACHE to a folder of your own.")


@functools.cache
def _register(folder: Path) -> None:
    """Let ``python -m cunumpy cache`` list and clear it."""
    hexadecimal = "[0-9a-f]" * 20
    patterns = (f"cpu-*-{hexadecimal}/*", f"launcher-{hexadecimal}/*")
    _caches.remember("CPU device", folder, "CUDA kernels compiled for the CPU", patterns)


def _fallback_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"cunumpy-emulation-{user}"


@functools.cache
def _temporary_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="cunumpy-emulation-")
    pid = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == pid else None)
    return Path(folder) / "builds"
