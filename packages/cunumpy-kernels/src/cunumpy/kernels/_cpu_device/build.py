"""Kernels as shared libraries: built once for each source, headers, compiler and processor, and kept on disk."""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cunumpy import _caches, _environment
from cunumpy.cuda import DEBUG_OPTIONS, cuda_include_dir
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import CacheError, CompileError, KernelError
from cunumpy.kernels._build_cache import BuildCache, build_hash, cpu_features
from cunumpy.kernels._cpu_device.analysis import (
    CHECKED_LOOPS,
    FIBERS,
    GRID_STRIDE,
    LOOPS,
    MERGED_LOOPS,
    SPLIT_LOOPS,
    Analysis,
    analyse,
    own_text,
)
from cunumpy.kernels._cpu_device.checked_library import (
    CHECKS_DIR,
    call_our_copies,
    checks_object,
    constant_variables,
    library_memory,
)
from cunumpy.kernels._cpu_device.checking import Checks
from cunumpy.kernels._cpu_device.compiler import (
    INCLUDE_DIR,
    PREDEFINED,
    Compiler,
    as_directives,
    checking_flags,
    find_compiler,
    kernel_flags,
    optimisation_flags,
    run_compiler,
)
from cunumpy.kernels._cpu_device.launcher import describe_parameter, describe_unknown, make_function
from cunumpy.kernels._cpu_device.limits import dynamic_limit, static_shared
from cunumpy.kernels._cpu_device.ptx import replace_inline_ptx
from cunumpy.kernels._cpu_device.source import has_aligned_shared, translation_unit, user_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.cuda import CudaParameter
    from cunumpy.kernels._cuda_program import CudaProgram

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
    kernels : tuple of str
        All kernels of the library, which share its global variables; none for this kernel alone.
    wide : bool
        For grids so large that a place along x needs more than 31 bits.
    debug : bool
        With checks of bounds, and with the indices that each thread has on a GPU.
    ordered : bool
        Thread after thread, in an order that a launch can choose.
    host_options : tuple of str
        More options, of the C++ compiler; they come last.
    check : bool
        With all accesses to memory checked; see `checking`.
    """

    source: str
    filename: str
    expression: str
    options: tuple[str, ...]
    source_dir: Path | None
    headers: str
    owner: str
    kernels: tuple[str, ...] = ()
    wide: bool = False
    debug: bool = False
    ordered: bool = False
    host_options: tuple[str, ...] = ()
    check: bool = False

    @property
    def built(self) -> tuple[str, ...]:
        """The kernels of the library."""
        return self.kernels or (self.expression,)

    def flags(self) -> list[str]:
        """Return what the compiler is given, but for what makes code fast."""
        options = [*self.options, *(DEBUG_OPTIONS if self.debug else ())]
        # Ours first: a user's folder may have CUDA's own headers, of the names that ours stand for.
        flags = ["-I", str(INCLUDE_DIR), *kernel_flags(options), "-I", cuda_include_dir()]
        if self.source_dir is not None:
            flags += ["-iquote", str(self.source_dir)]
        return [*flags, *self.host_options]

    def key(self, compiler: Compiler) -> str:
        """Return the key of the build: a hash over everything that it depends on."""
        parts = [
            *(self.source, self.filename, self.built, self.flags(), self.headers),
            *(self.wide, self.debug, self.check, self.ordered),
            *(_own_digest(), compiler.identity, optimisation_flags(compiler), checking_flags(compiler), cpu_features()),
        ]
        name = re.sub(r"\W", "_", _plain_name(self.built[0]), flags=re.ASCII)
        return f"cpu-{name}-{build_hash(parts)}"


def _plain_name(expression: str) -> str:
    """Return a kernel's name, without namespaces and template arguments."""
    return expression.partition("<")[0].rpartition("::")[2].strip()


class Library:
    """A kernel that was compiled and loaded; it is compiled unless that was done before.

    Parameters
    ----------
    program : Program
    parameters : sequence of CudaParameter or None
        Those of its declaration; None if they are not known.
    opened : dict, optional
        What is loaded for the kernels of one module, which share their global variables, by `Program.wide`.
    compiler : Compiler, optional
        By default what `find_compiler` returns.

    Attributes
    ----------
    mode, reason : str
        How it is run, and why; see `Analysis`.
    sizes : tuple of int
        The bytes of each parameter.
    kinds : tuple of int
        Of each parameter: one of those in `_raw_arguments`.
    variables : list of str
        Global variables, of a module.
    static_shared, dynamic_limit : int
        Bytes of static shared memory, and the most of dynamic shared memory that a launch can have.
    function : Function
        What launches it; see `launcher`.

    Raises
    ------
    CompileError
        The compiler refuses the source.
    MissingPackageError, SettingError
        There is no compiler.
    """

    def __init__(
        self,
        program: Program,
        parameters: Sequence[CudaParameter] | None,
        opened: dict[bool, ctypes.CDLL] | None = None,
        compiler: Compiler | None = None,
    ) -> None:
        compiler, cache = compiler or find_compiler(), build_cache()
        key = program.key(compiler)
        library: ctypes.CDLL | None = None
        for last in (False, True):
            folder = cache.get(key, lambda staging: _build(program, compiler, staging))
            try:
                notes = json.loads((folder / _NOTES).read_text(encoding="utf-8"))
                library = _opened_once(folder / _LIBRARY, opened, program.wide, own=bool(notes[1]))
                break
            except OSError as error:  # of another system, perhaps, or removed meanwhile
                if last:
                    raise KernelError(
                        f"{program.owner}: what was compiled for the CPU can't be loaded: {error}."
                    ) from error
                cache.discard(key)
        assert library is not None
        kernels, self.variables, shared, memory = notes
        number = program.built.index(program.expression)
        self.mode, self.reason = kernels[number]
        self.static_shared = shared[number]
        self.dynamic_limit = dynamic_limit(self.static_shared, program.owner)
        self._library = library
        self.checks = Checks(library, folder / _LIBRARY, memory, program.filename) if program.check else None
        which = number or ""
        parameters_of = self._library[f"cunumpy_cpu_parameters{which}"]
        sizes = (ctypes.c_uint * 4096)()
        words = sizes[: parameters_of(sizes)]
        self.sizes = tuple(word & 0x3FFFFFFF for word in words)
        self.kinds = tuple(word >> 30 for word in words)
        if parameters is None:
            described = tuple(map(describe_unknown, self.sizes, self.kinds))
        else:
            described = tuple(map(describe_parameter, parameters))
            read = tuple(parameter.size for parameter in parameters)
            if self.sizes != read:
                raise KernelError(
                    f"{program.owner}: the compiled kernel has parameters of {self.sizes} bytes, its declaration was "
                    f"read as {read}; report it with the kernel's source."
                )
        entry = ctypes.cast(self._library[f"cunumpy_cpu_run{which}"], ctypes.c_void_p).value or 0
        self.function = make_function(entry, described, cache, checked=program.check)

    def variable(self, name: str) -> tuple[int, int]:
        """Return address and bytes of one of `variables`."""
        find, size = self._library[f"cunumpy_cpu_global_{name}"], ctypes.c_ulonglong()
        find.restype = ctypes.c_void_p
        address: int = find(ctypes.byref(size))
        if self.checks is not None:
            self.checks.variable_is_known(address, size.value)
        return address, size.value


_opening = new_lock()


def _opened_once(path: Path, opened: dict[bool, ctypes.CDLL] | None, wide: bool, *, own: bool) -> ctypes.CDLL:
    """Load a library unless it is in `opened`, also where several threads load kernels of a module at once."""
    if opened is None:
        return ctypes.CDLL(str(path))
    with _opening:
        if wide not in opened:
            opened[wide] = _opened(path, own=own)
        return opened[wide]


def _opened(path: Path, *, own: bool) -> ctypes.CDLL:
    """Load a library; with `own`, once more if it is loaded already, with global variables of its own."""
    if not own:
        return ctypes.CDLL(str(path))
    copy = _copied(path)
    try:
        return ctypes.CDLL(copy)
    finally:
        os.unlink(copy)


def _copied(path: Path) -> str:
    """Copy a library to its folder, else to that for temporary files, from which a system may load no code."""
    for folder in (path.parent, None):
        try:
            handle, copy = tempfile.mkstemp(suffix=".so", dir=folder)
        except OSError:
            if folder is None:
                raise
            continue
        os.close(handle)
        try:
            shutil.copyfile(path, copy)
        except OSError:  # the disk is full
            os.unlink(copy)
            if folder is None:
                raise
            continue
        return copy
    raise AssertionError("unreachable")


def program_of(kernel: CudaProgram, *, wide: bool, debug: bool, check: bool = False) -> Program:
    """Return what the library of a kernel is built from, with the headers as they are now."""
    return Program(
        kernel.source,
        str(kernel._file) if kernel._file is not None else f"{kernel.name}.cu",
        kernel.expression,
        kernel.options,
        kernel.source_dir,
        kernel._headers.digest(),
        kernel._owner,
        wide=wide,
        debug=debug,
        check=check,
    )


def _build(program: Program, compiler: Compiler, folder: Path) -> None:
    own_asm = any(word.startswith(("-Dasm(", "-Dasm=")) for word in (*program.options, *program.host_options))
    if "asm" in program.source and not own_asm:
        program = program._replace(source=replace_inline_ptx(program.source, program.filename))
    flags = program.flags()
    text = user_text(program.source, program.filename)
    preprocessed = run_compiler(
        compiler, ["-E", "-w", "-x", "c++", *flags, *PREDEFINED, "-"], text, program.owner, folder
    )
    aligned = has_aligned_shared(preprocessed)
    kernels = [(one, analyse(preprocessed, _plain_name(one), [str(INCLUDE_DIR)])) for one in program.built]
    variables = global_variables(preprocessed) if program.kernels else []
    analyses = [analysis for _, analysis in kernels]
    for analysis in analyses:
        if (program.wide or program.debug or program.check) and analysis.mode not in (FIBERS, SPLIT_LOOPS):
            analysis.mode = LOOPS
        if program.check or program.ordered:
            if program.check and analysis.split is not None and not program.ordered:
                analysis.mode, analysis.split = SPLIT_LOOPS, analysis.split._replace(text=analysis.split.checked)
            else:
                analysis.mode = FIBERS if analysis.mode in (FIBERS, SPLIT_LOOPS) else CHECKED_LOOPS
    try:
        local = _compile(program, compiler, (flags, aligned), kernels, variables, folder)
    except CompileError:
        simpler = {GRID_STRIDE: MERGED_LOOPS, SPLIT_LOOPS: FIBERS}
        if not variables and all(one.mode not in simpler and one.edges is None for one in analyses):
            raise
        for analysis in analyses:  # one changes what must not change, or the source is wrong anyway
            analysis.mode, analysis.edges = simpler.get(analysis.mode, analysis.mode), None
        try:
            local = _compile(program, compiler, (flags, aligned), kernels, variables, folder)
        except CompileError:
            if not variables:
                raise
            variables = []  # one of them is not where it was thought to be
            local = _compile(program, compiler, (flags, aligned), kernels, variables, folder)
    split = [analysis for analysis in analyses if analysis.mode == SPLIT_LOOPS]
    if local > MAX_SPLIT_BYTES and split:
        for analysis in split:
            analysis.mode = FIBERS
        split = []
        local = _compile(program, compiler, (flags, aligned), kernels, variables, folder)
    if local > MAX_LOCAL_BYTES and not split:
        plain = local  # where functions are not inlined, and add up
        if program.check:
            plain = _compile(program._replace(check=False), compiler, (flags, aligned), kernels, variables, folder)
        if plain > MAX_LOCAL_BYTES:
            raise KernelError(
                f"{program.owner}: a thread has {plain} bytes of local arrays and variables, more than the "
                f"{MAX_LOCAL_BYTES} that a GPU gives it; put the arrays into global memory."
            )
        if program.check:
            _compile(program, compiler, (flags, aligned), kernels, variables, folder)
    if local > USUAL_LOCAL_BYTES and any(analysis.mode == FIBERS for analysis in analyses):
        flags = [*flags, "-DCUNUMPY_CPU_STACK_SHIFT=20"]
        _compile(program, compiler, (flags, aligned), kernels, variables, folder)
    built = [_plain_name(one) for one in program.built]
    shared = static_shared(folder / _LIBRARY, built, kernel_names(preprocessed) - {*built})
    memory = library_memory(folder / _LIBRARY, constant_variables(preprocessed)) if program.check else []
    notes = [[[analysis.mode, analysis.reason] for analysis in analyses], variables, shared, memory]
    (folder / _NOTES).write_text(json.dumps(notes), encoding="utf-8")


_VARIABLE = re.compile(
    r"\b__(?:device|constant|managed)__\b(?:\b(?:__align__|alignas)\s*\([^()]*\)|[^;{}()=])*?\b(\w+)\s*"
    r"(?:\[[^;{}()=]*\]\s*)*(?:=|;|\{)"
)
_PLACES = re.compile(
    r'(?P<linkage>\bextern\s*"C"\s*)?(?P<open>\{)|(?P<close>\})|\b__(?:device|constant|managed)__\b|"(?:\\.|[^"\\\n])*"'
)


def global_variables(preprocessed: str) -> list[str]:
    """Return the names of the variables in device memory that a source defines outside of namespaces."""
    text = own_text(preprocessed, [str(INCLUDE_DIR)])
    found: dict[str, None] = {}
    scopes: list[bool] = []  # of each open brace, whether it belongs to extern "C"
    for match in _PLACES.finditer(text):
        if match["open"]:
            scopes.append(match["linkage"] is not None)
        elif match["close"]:
            del scopes[-1:]
        elif all(scopes) and (variable := _VARIABLE.match(text, match.start())) is not None:
            found[variable[1]] = None
    return list(found)


_KERNEL = re.compile(r"\b__global__\b([^;{]*)[;{]")
_ATTRIBUTE = re.compile(r"\b__\w+__\s*\((?:[^()]|\([^()]*\))*\)")


def kernel_names(preprocessed: str) -> set[str]:
    """Return the names of all kernels of a source, without namespaces."""
    heads = (_ATTRIBUTE.sub("", head) for head in _KERNEL.findall(own_text(preprocessed, [str(INCLUDE_DIR)])))
    return {match[1] for head in heads if (match := re.search(r"(\w+)\s*\(", head)) is not None}


def _compile(
    program: Program,
    compiler: Compiler,
    flags_and_aligned: tuple[list[str], bool],
    kernels: list[tuple[str, Analysis]],
    variables: list[str],
    folder: Path,
) -> int:
    """Compile, and return the bytes that it has on the stack."""
    given, aligned = flags_and_aligned
    fast = checking_flags(compiler) if program.check else optimisation_flags(compiler)
    flags, directives = as_directives([*given, *fast, *program.host_options])
    unit = translation_unit(program.source, program.filename, kernels, directives, variables)
    (folder / _UNIT).write_text(unit, encoding="utf-8")
    ours = ["-DCUNUMPY_CPU_ALIGNAS"] if aligned else []
    wide = ["-DCUNUMPY_CPU_WIDE"] if program.wide else []
    arguments = [*flags, *ours, *wide, "-fstack-usage", _UNIT]
    if program.check:  # the second object has what the first one calls, and is not instrumented
        run_compiler(compiler, [*arguments, "-c", "-o", "kernel.o"], None, program.owner, folder)
        if compiler.is_clang:
            call_our_copies(folder / "kernel.o")
        checks = str(checks_object(compiler, build_cache()))
        run_compiler(compiler, ["-shared", "kernel.o", checks, "-o", _LIBRARY], None, program.owner, folder)
    else:
        run_compiler(compiler, [*arguments, "-shared", "-o", _LIBRARY], None, program.owner, folder)
    library = folder / _LIBRARY
    if not library.is_file() or (sys.platform == "linux" and library.read_bytes()[:4] != b"\x7fELF"):
        raise CompileError(
            f"{program.owner}: does not compile for the CPU with {shlex.join(compiler.command)}: it reports no error "
            "and made no library; try it by itself, or set CXX to another compiler."
        )
    return _local_memory(folder)


MAX_LOCAL_BYTES = 512 * 1024
"""Local memory of a thread, on every CUDA device (CUDA C++ Programming Guide, technical specifications)."""

MAX_SPLIT_BYTES = 1024 * 1024
"""Up to so much, the variables of all threads of a block can be on one stack, that of a thread of the system."""

USUAL_LOCAL_BYTES = 192 * 1024
"""What the usual stack of a thread has room for, of its 256 KiB; the rest is for the functions of the C library."""


def _local_memory(folder: Path) -> int:
    """Return the bytes that the functions of a compiled kernel have on the stack, as if each called the next."""
    total = 0
    for report in folder.glob("*.su"):
        for line in report.read_text(encoding="utf-8", errors="replace").splitlines():
            size = line.split("\t")[1:2]
            total += int(size[0]) if size and size[0].isdigit() else 0
        report.unlink()
    return total


@functools.cache
def _own_digest() -> str:
    """Return a hash of our own headers, of what checks accesses and of the code that makes translation units."""
    own = Path(__file__).parent
    files = [*sorted(INCLUDE_DIR.rglob("*")), *sorted(CHECKS_DIR.iterdir()), *sorted(own.glob("*.py"))]
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
    roots = [_temporary_folder()] if folder is None else [folder, *_fallback_folders()]
    if folder is not None:
        _register(folder)
    return BuildCache(*roots, remedy="Set CUNUMPY_EMULATION_CACHE to a folder of your own.")


@functools.cache
def _register(folder: Path) -> None:
    """Let ``python -m cunumpy cache`` list and clear it."""
    hexadecimal = "[0-9a-f]" * 20
    patterns = (f"cpu-*-{hexadecimal}/*", f"launcher-{hexadecimal}/*", f"checks-{hexadecimal}/*")
    _caches.remember("CPU device", folder, "CUDA kernels compiled for the CPU", patterns)


def _fallback_folders() -> list[Path]:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        return [Path(tempfile.gettempdir()) / f"cunumpy-emulation-{user}"]
    except FileNotFoundError:  # none for temporary files, or a full disk
        return []


@functools.cache
def _temporary_folder() -> Path:
    try:
        folder = tempfile.mkdtemp(prefix="cunumpy-emulation-")
    except FileNotFoundError as error:
        raise CacheError(f"CUNUMPY_EMULATION_CACHE keeps no builds, and there is nowhere else: {error}") from error
    pid = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == pid else None)
    return Path(folder) / "builds"
