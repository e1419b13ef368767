"""Compiling CUDA code with NVRTC, NVIDIA's run-time compiler, which needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import sys
from contextlib import contextmanager
from ctypes.util import find_library
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cunumpy._gate import as_path, as_paths, as_strings, describe
from cunumpy.cuda._sources import cuda_include_dir
from cunumpy.errors import ArgumentError, ArgumentTypeError, CompileError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_ADD = 'Add it with: uv add "cunumpy-cuda[nvrtc]"'


# --- what a compilation tells -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelUsage:
    """What one kernel, or one device function that was not inlined, takes on one architecture.

    Parameters
    ----------
    name : str
        As in the source (``push``, ``field::push``); an instance of a template as it was asked for (``push<double>``).
    arch : str
        Such as ``"sm_90"``.
    registers : int or None
        Registers of a thread; None for a device function, which uses those of its kernel.
    shared : int
        Bytes of statically declared shared memory of a block.
    local : int
        Bytes of local memory of a thread (its stack frame): arrays that don't fit into registers, and spills.
    spill_stores, spill_loads : int
        Bytes that a thread writes to and reads from local memory for want of registers.
    barriers : int
        Hardware barriers of a block.
    constant : int
        Bytes of the ``__constant__`` variables of the source, which all its kernels share.

    Examples
    --------
    >>> import cunumpy as xp
    >>> usage = xp.cuda.KernelUsage("push", "sm_90", 32, 1024, 0, 0, 0, 1, 0)
    >>> usage.shared
    1024
    """

    name: str
    arch: str
    registers: int | None
    shared: int
    local: int
    spill_stores: int
    spill_loads: int
    barriers: int
    constant: int


@dataclass(frozen=True)
class CompileMessage:
    """One error, warning or remark of the compiler.

    Parameters
    ----------
    severity : {"error", "warning", "note"}
    text : str
        What the compiler says, in one line.
    file : str or None
        The source, by the name it was given, or the included header; None where the compiler names no place.
    line : int or None
        Counted from 1.
    context : str
        The lines below it: the source line with a mark, and the instances of templates that led there.
    archs : tuple of str
        The architectures for which it was said.

    Examples
    --------
    >>> import cunumpy as xp
    >>> print(xp.cuda.CompileMessage("error", 'identifier "m" is undefined', "push.cu", 3))
    push.cu:3: error: identifier "m" is undefined
    """

    severity: Literal["error", "warning", "note"]
    text: str
    file: str | None = None
    line: int | None = None
    context: str = ""
    archs: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}: " if self.line is None else f"{self.file}:{self.line}: "
        return f"{place}{self.severity}: {self.text}" + (f"\n{self.context}" if self.context else "")


@dataclass(frozen=True)
class CompileReport:
    """What `check_cuda` found; printed as a table of the kernels, followed by the warnings.

    Parameters
    ----------
    compiler : str
        Such as ``"NVRTC 12.9"``.
    kernels : tuple of KernelUsage
        One for each kernel and architecture.
    functions : tuple of KernelUsage
        The same for device functions that were not inlined.
    messages : tuple of CompileMessage
        Warnings, notes and remarks.
    cubins : mapping of str to bytes
        The machine code of each architecture.
    lowered_names : mapping of str to str
        For each of `name_expressions` the name in the machine code.

    Examples
    --------
    >>> import cunumpy as xp
    >>> print(xp.cuda.CompileReport("NVRTC 12.9", (xp.cuda.KernelUsage("push", "sm_90", 32, 1024, 0, 0, 0, 1, 0),)))
    NVRTC 12.9; memory in bytes
    kernel  arch   registers  shared  local  spill stores  spill loads  barriers  constant
    push    sm_90         32    1024      0             0            0         1         0
    """

    compiler: str
    kernels: tuple[KernelUsage, ...] = ()
    functions: tuple[KernelUsage, ...] = ()
    messages: tuple[CompileMessage, ...] = ()
    cubins: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    lowered_names: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "\n".join([*_table(self), *map(str, self.messages)])


_COLUMNS = ("registers", "shared", "local", "spill_stores", "spill_loads", "barriers", "constant")


def _table(report: CompileReport) -> list[str]:
    if not (report.kernels or report.functions):
        return [f"{report.compiler}: no kernels; templates are compiled for the instances in name_expressions alone"]
    heads = ["kernel", "arch", *(name.replace("_", " ") for name in _COLUMNS)]
    rows = [heads]
    for usage in (*report.kernels, *report.functions):
        values = [getattr(usage, name) for name in _COLUMNS]
        name = usage.name if usage in report.kernels else f"{usage.name} (function)"
        rows.append([name, usage.arch, *("-" if value is None else str(value) for value in values)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            text.ljust(width) if number < 2 else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return [f"{report.compiler}; memory in bytes", *lines]


# --- compiling --------------------------------------------------------------------------------------------------------


def check_cuda(
    source: str,
    *,
    archs: Iterable[str] = ("sm_75", "sm_80", "sm_90", "sm_120"),
    options: Iterable[str] = (),
    include_dirs: Iterable[str | Path] = (),
    name_expressions: Iterable[str] = (),
    filename: str | Path | None = None,
) -> CompileReport:
    """Compile CUDA source to machine code, and tell what each kernel takes; no GPU is needed.

    The compiler is NVRTC, which CuPy uses too: of the extra ``nvrtc`` (``uv add "cunumpy-cuda[nvrtc]"``), else of
    CuPy's wheels, else of a CUDA toolkit (``CUDA_PATH``, ``CUDA_HOME``, or where ``nvcc`` is).

    Parameters
    ----------
    source : str
        The source code; like for CuPy's `RawModule` it is device code alone, in which no header of the host's
        compiler can be included.
    archs : iterable of str, default: ("sm_75", "sm_80", "sm_90", "sm_120")
        Architectures to compile for: Turing, Ampere, Hopper and Blackwell by default.
    options : iterable of str, optional
        More options of the compiler, such as ``"-std=c++14"``, ``"-DN=3"`` or ``"-lineinfo"``.
    include_dirs : iterable of str or Path, optional
        Folders of headers; that of the shipped headers is searched always, and last.
    name_expressions : iterable of str, optional
        Instances of templates to compile, such as ``"push<double, 3>"``.
    filename : str or Path, optional
        The source's name in messages. Its folder is searched for ``#include "name"``.

    Returns
    -------
    CompileReport
        Prints as a table.

    Raises
    ------
    CompileError
        The source does not compile. The text and ``messages`` give file and line, in headers too.
    ArgumentError
        An architecture that the compiler does not know, or an option that belongs into another argument.
    ArgumentTypeError
        `source` is not a string, or a string in the place of several.
    MissingPackageError
        NVRTC is not there.

    Notes
    -----
    A kernel takes about 20 to 100 ms an architecture, heavily unrolled ones seconds. Registers, memory and spills are
    those that NVIDIA's assembler reports (``--ptxas-options=-v``). Any number of threads may compile at a time.

    Examples
    --------
    >>> import cunumpy as xp
    >>> source = 'extern "C" __global__ void halve(double* x) { x[threadIdx.x] *= 0.5; }'
    >>> report = xp.cuda.check_cuda(source, archs=["sm_90"])
    >>> [(kernel.name, kernel.arch, kernel.spill_stores) for kernel in report.kernels]
    [('halve', 'sm_90', 0)]
    """
    if not isinstance(source, str):
        raise ArgumentTypeError(
            f"check_cuda: argument 'source' must be the source code as str, got {describe(source)}; read a file with "
            "Path(...).read_text() and pass its name as filename=."
        )
    function = "check_cuda"
    wanted = list(dict.fromkeys(as_strings(archs, function=function, argument="archs")))
    folders = as_paths(include_dirs, function=function, argument="include_dirs")
    words = [*as_strings(options, function=function, argument="options"), *(f"-I{folder}" for folder in folders)]
    names = list(dict.fromkeys(as_strings(name_expressions, function=function, argument="name_expressions")))
    for word in words:
        if re.match(r"(--gpu-architecture|-arch)\b", word):
            raise ArgumentError(
                f"check_cuda: argument 'options' holds {word!r}; name architectures by archs=[...], as in "
                'archs=["sm_90"].'
            )
        if re.match(r"--?dlto\b|--?dlink-time-opt\b", word):
            raise ArgumentError(
                f"check_cuda: argument 'options' holds {word!r}, with which no machine code is made; leave it out."
            )
    name = "<source>" if filename is None else str(as_path(filename, function=function, argument="filename"))
    texts = {"source": [source], "options": words, "name_expressions": names, "filename": [name]}
    for argument, strings in texts.items():
        for text in strings:
            _check_text(text, argument)
    library = _library()
    _check_archs(wanted, library)
    built = [_compile(library, source.removeprefix("\ufeff"), name, arch, words, names) for arch in wanted]
    messages = _merged(built)
    errors = [message for message in messages if message.severity == "error"]
    failed = [one.arch for one in built if one.cubin is None]
    if failed:
        log = next(one.log for one in built if one.cubin is None)
        listed = "\n".join(map(str, errors)) or log.strip() or "the compiler does not say why"
        error = CompileError(f"check_cuda: {name} does not compile for {', '.join(failed)} ({_version()}):\n{listed}")
        error.messages, error.log = tuple(messages), log
        raise error
    return CompileReport(
        _version(),
        tuple(usage for one in built for usage in one.kernels),
        tuple(usage for one in built for usage in one.functions),
        tuple(messages),
        {one.arch: one.cubin for one in built if one.cubin is not None},
        built[0].lowered if built else {},
    )


def _check_text(text: str, argument: str) -> None:
    if "\0" in text:
        raise ArgumentError(f"check_cuda: argument {argument!r} holds a NUL character, where the compiler would stop.")
    try:
        text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"check_cuda: argument {argument!r} holds {text[error.start]!r}, which is half of a character; no file can "
            "have it."
        ) from None


def _check_archs(archs: list[str], library: ctypes.CDLL) -> None:
    if not archs:
        raise ArgumentError("check_cuda: argument 'archs' names no architecture; leave it out for the usual ones.")
    supported = _supported(library)
    for arch in archs:
        number = re.fullmatch(r"sm_(\d+)[af]?", arch)
        if number is None or int(number[1]) not in supported:
            listed = ", ".join(f"sm_{each}" for each in supported)
            raise ArgumentError(
                f"check_cuda: argument 'archs' holds {arch!r}, which {_version()} does not compile for; choose among "
                f"{listed}."
            )


@dataclass
class _Built:
    """One compilation for one architecture; without a cubin it failed."""

    arch: str
    log: str
    cubin: bytes | None
    messages: list[CompileMessage]
    kernels: list[KernelUsage]
    functions: list[KernelUsage]
    lowered: dict[str, str]


def _compile(
    library: ctypes.CDLL, source: str, filename: str, arch: str, options: list[str], names: list[str]
) -> _Built:
    with _program(library, source, filename, names) as program:
        status, log = _run(library, program, [f"--gpu-architecture={arch}", "--ptxas-options=-v", *options])
        if status != 0:
            ptx = ""
            if any(found["line"] for found in map(_ASSEMBLER.match, log.splitlines()) if found is not None):
                log, ptx = _located(library, source, filename, arch, options, names)
            return _Built(arch, log, None, list(_messages(log, ptx)), [], [], {})
        lowered: dict[str, str] = {}
        for name in names:
            pointer = ctypes.c_char_p()
            _require(
                library.nvrtcGetLoweredName(program, name.encode(errors="surrogateescape"), ctypes.byref(pointer)),
                "nvrtcGetLoweredName",
            )
            lowered[name] = (pointer.value or b"").decode()
        cubin = _bytes(library, program, "CUBIN")
    kernels, functions = _usage(log, arch, {value: key for key, value in lowered.items()}, _constant_bytes(cubin))
    return _Built(arch, log, cubin, list(_messages(log)), kernels, functions, lowered)


@contextmanager
def _program(library: ctypes.CDLL, source: str, filename: str, names: list[str]) -> Iterator[ctypes.c_void_p]:
    program = ctypes.c_void_p()
    text, title = source.encode(errors="surrogateescape"), os.fsencode(filename)
    _require(library.nvrtcCreateProgram(ctypes.byref(program), text, title, 0, None, None), "nvrtcCreateProgram")
    try:
        for name in names:
            _require(
                library.nvrtcAddNameExpression(program, name.encode(errors="surrogateescape")), "nvrtcAddNameExpression"
            )
        yield program
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _run(library: ctypes.CDLL, program: ctypes.c_void_p, options: list[str]) -> tuple[int, str]:
    words = [*options, f"-I{cuda_include_dir()}"]
    array = (ctypes.c_char_p * len(words))(*map(os.fsencode, words))
    status = library.nvrtcCompileProgram(program, len(words), array)
    # The assembler's part of the log may begin with a NUL.
    return status, _bytes(library, program, "ProgramLog").replace(b"\0", b"").decode(errors="replace")


def _located(
    library: ctypes.CDLL, source: str, filename: str, arch: str, options: list[str], names: list[str]
) -> tuple[str, str]:
    """Return the log of a compilation that the assembler refuses, and its PTX code with the lines of the source."""
    options = [*options, *(() if {"-G", "--device-debug"} & set(options) else ("-lineinfo",))]
    with _program(library, source, filename, names) as program:
        _, log = _run(library, program, [f"--gpu-architecture={arch}", *options])
    with _program(library, source, filename, names) as program:
        status, _ = _run(library, program, [f"--gpu-architecture=compute_{arch.removeprefix('sm_')}", *options])
        ptx = "" if status != 0 else _bytes(library, program, "PTX").decode(errors="replace")
    return log, ptx.replace(f'"{os.path.abspath(filename)}"', f'"{filename}"')  # relative names are made absolute


def _bytes(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _require(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), f"nvrtcGet{what}Size")
    content = ctypes.create_string_buffer(size.value)
    _require(getattr(library, f"nvrtcGet{what}")(program, content), f"nvrtcGet{what}")
    return content.raw


def _require(status: int, function: str) -> None:
    if status != 0:
        raise CompileError(f"check_cuda: {function} of {_version()} failed with status {status}.")


# --- reading the compiler's log ---------------------------------------------------------------------------------------

_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>.+?)\((?P<line>\d+)\)|(?P<end>At end of source)|nvrtc): "
    r"(?P<severity>(?:catastrophic |fatal |internal )?error|warning|remark|note)(?: #(?P<number>\d+(?:-\w+)?))?: "
    r"(?P<text>.*)$"
)
_ASSEMBLER = re.compile(r"^ptxas (?:.*, line (?P<line>\d+); )?(?P<severity>error|fatal|warning) *: (?P<text>.*)$")
_NO_CONTEXT = re.compile(f"{_DIAGNOSTIC.pattern}|ptxas ")


def _messages(log: str, ptx: str = "") -> Iterator[CompileMessage]:
    """Yield the messages of a log; the PTX code tells which source lines those of the assembler are about."""
    lines = log.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        found = _DIAGNOSTIC.match(line)
        if found is None:
            if (found := _ASSEMBLER.match(line)) is not None and not found["text"].startswith("Ptx assembly aborted"):
                place = _place(ptx, int(found["line"])) if found["line"] and ptx else (None, None)
                yield CompileMessage("warning" if found["severity"] == "warning" else "error", found["text"], *place)
            continue
        context: list[str] = []
        while number < len(lines) and lines[number].strip() and not _NO_CONTEXT.match(lines[number]):
            context.append(lines[number])
            number += 1
        severity = found["severity"].rpartition(" ")[2]
        text = found["text"] + (f" [#{found['number']}]" if found["number"] else "")
        file, at = found["file"], found["line"]
        if found["end"]:
            text += " at the end of the source"
        elif file == "__nv_name_map":  # the compiler's own file of the expressions
            text, file, at = f"{text} in the name expression", None, None
        yield CompileMessage(
            "error" if severity == "error" else "warning" if severity == "warning" else "note",
            text,
            file,
            None if at is None else int(at),
            "\n".join(context),
        )


def _place(ptx: str, number: int) -> tuple[str | None, int | None]:
    """Return the file and line that a line of PTX code was made of, as its directives .loc and .file say."""
    for line in reversed(ptx.splitlines()[:number]):
        if (found := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line)) is not None:
            file = re.search(rf'^\s*\.file\s+{found[1]}\s+"([^"]*)"', ptx, re.MULTILINE)
            return (file[1], int(found[2])) if file is not None else (None, None)
    return None, None


def _merged(built: list[_Built]) -> list[CompileMessage]:
    """Return each message once, with the architectures that it was said for."""
    archs: dict[CompileMessage, list[str]] = {}
    for one in built:
        for message in one.messages:
            archs.setdefault(message, []).append(one.arch)
    return [
        CompileMessage(each.severity, each.text, each.file, each.line, each.context, tuple(dict.fromkeys(found)))
        for each, found in archs.items()
    ]


def _usage(
    log: str, arch: str, expressions: dict[str, str], constant: int
) -> tuple[list[KernelUsage], list[KernelUsage]]:
    """Return what the assembler says of kernels and of device functions, in the order of the log."""
    numbers: dict[str, dict[str, int]] = {}
    entries: list[str] = []
    current = ""
    for line in log.splitlines():
        if found := re.search(r"Compiling entry function '([^']+)'", line):
            entries.append(found[1])
            numbers.setdefault(found[1], {})
        elif found := re.search(r"Function properties for (\S+)", line):
            current = found[1]
            numbers.setdefault(current, {})
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if current:
                numbers[current].update(local=int(found[1]), spill_stores=int(found[2]), spill_loads=int(found[3]))
        elif entries and (found := re.search(r"Used (\d+) registers", line)):
            entry = numbers[entries[-1]]
            entry["registers"] = int(found[1])
            for key, pattern in (("barriers", r"used (\d+) barriers"), ("shared", r"(\d+) bytes smem")):
                if found := re.search(pattern, line):
                    entry[key] = int(found[1])

    def usage(name: str) -> KernelUsage:
        values = numbers[name]
        return KernelUsage(
            expressions.get(name) or _readable(name),
            arch,
            values.get("registers"),
            values.get("shared", 0),
            values.get("local", 0),
            values.get("spill_stores", 0),
            values.get("spill_loads", 0),
            values.get("barriers", 0),
            constant,
        )

    return [usage(name) for name in entries], [usage(name) for name in numbers if name not in entries]


def _readable(name: str) -> str:
    """Return a name of the Itanium C++ ABI without its argument types: ``_ZN5field4pushEPd`` is ``field::push``."""
    if not name.startswith("_Z"):
        return name
    position = 3 if name.startswith("_ZN") else 2
    parts: list[str] = []
    while length := re.match(r"\d+", name[position:]):
        start = position + length.end()
        position = start + int(length[0])
        part = name[start:position]
        parts.append("(anonymous)" if part.startswith("_GLOBAL__N_") else part)
    return "::".join(parts) + ("<...>" if name[position : position + 1] == "I" else "") if parts else name


def _constant_bytes(cubin: bytes) -> int:
    """Return the size of the section of ``__constant__`` variables (bank 3) of an ELF file of 64 bits."""
    section_table = int.from_bytes(cubin[0x28:0x30], "little")
    size, count, names = (int.from_bytes(cubin[at : at + 2], "little") for at in (0x3A, 0x3C, 0x3E))

    def number(section: int, at: int, length: int) -> int:
        start = section_table + section * size + at
        return int.from_bytes(cubin[start : start + length], "little")

    strings = number(names, 0x18, 8)
    for section in range(count):
        start = strings + number(section, 0, 4)
        if cubin[start : cubin.index(b"\0", start)] == b".nv.constant3":
            return number(section, 0x20, 8)
    return 0


# --- finding the library ----------------------------------------------------------------------------------------------


@cache
def _library() -> ctypes.CDLL:
    """Return NVRTC, loaded."""
    refused: list[str] = []
    for candidate in _candidates():
        if sys.platform == "win32" and os.path.isabs(candidate):
            os.add_dll_directory(os.path.dirname(candidate))  # its built-in headers are a library of their own
        try:
            return ctypes.CDLL(candidate)
        except OSError as error:
            refused.append(f"{candidate} can't be loaded ({error})")
    reason = "; ".join(refused) or "it is in no package of this environment, and no CUDA toolkit was found"
    raise MissingPackageError(f"check_cuda: needs NVRTC, NVIDIA's run-time compiler: {reason}. {_ADD}.")


def _candidates() -> Iterator[str]:
    pattern = "nvrtc64_*.dll" if sys.platform == "win32" else "libnvrtc.so*"
    for folder in _folders():
        yield from sorted((str(path) for path in folder.glob(pattern) if ".alt." not in path.name), reverse=True)
    found = find_library("nvrtc")
    if found is not None:
        yield found


def _folders() -> Iterator[Path]:
    packages = importlib.util.find_spec("nvidia")
    for place in (packages.submodule_search_locations or ()) if packages is not None else ():
        for name in ("cuda_nvrtc", "cu13", "cu12"):  # the wheels of CUDA 12, and of 13 on
            yield from (Path(place) / name / part for part in ("lib", "bin", "bin/x86_64"))
    compiler = shutil.which("nvcc")
    roots = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), compiler and str(Path(compiler).parents[1])]
    for root in roots:
        if root:
            yield from (Path(root) / part for part in ("lib64", "lib", "bin", "bin/x64"))


@cache
def _version() -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def _supported(library: ctypes.CDLL) -> list[int]:
    count = ctypes.c_int()
    _require(library.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "nvrtcGetNumSupportedArchs")
    numbers: Any = (ctypes.c_int * count.value)()
    _require(library.nvrtcGetSupportedArchs(numbers), "nvrtcGetSupportedArchs")
    return list(numbers)
