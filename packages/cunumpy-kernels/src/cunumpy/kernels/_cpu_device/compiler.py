"""The machine's C++ compiler: which it is, how it is called, and what it says."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.cuda import CompileMessage
from cunumpy.errors import ArgumentError, CompileError, MissingCompilerError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INCLUDE_DIR = Path(__file__).parent / "include"
"""Our own headers, and those that stand for CUDA's."""

GENERATED = "<CPU device>"
"""What the compiler calls the code that we generate after a kernel's source."""

_CANDIDATES = ("c++", "g++", "clang++")


class Compiler(NamedTuple):
    """A C++ compiler.

    Attributes
    ----------
    command : tuple of str
        The program, and words that always follow it.
    identity : str
        Path and version.
    is_clang : bool
    programs : tuple of str
        The files that are run.
    stamps : tuple of int
        What tells each of these files from one that replaces it.
    """

    command: tuple[str, ...]
    identity: str
    is_clang: bool
    programs: tuple[str, ...]
    stamps: tuple[int, ...]


def find_compiler() -> Compiler:
    """Return the C++ compiler: what ``CXX`` says, else the first of c++, g++ and clang++.

    Raises
    ------
    SettingError
        ``CXX`` holds what can't be run.
    MissingCompilerError
        There is no compiler.
    """
    setting, path = os.environ.get("CXX", ""), os.environ.get("PATH", "")
    found = _find_compiler(setting, path)
    if _stamps(found.programs) != found.stamps:  # another one was installed meanwhile
        _find_compiler.cache_clear()
        found = _find_compiler(setting, path)
    return found


def compiler_is_there() -> bool:
    """Tell whether there is a program that `find_compiler` would take; it is not run."""
    return _is_there(os.environ.get("CXX", ""), os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=16)
def _is_there(setting: str, path: str) -> bool:
    try:
        programs = shlex.split(setting)[:1] or _CANDIDATES
    except ValueError:
        return False
    return any(shutil.which(program) is not None for program in programs)


@functools.lru_cache(maxsize=16)
def _find_compiler(setting: str, path: str) -> Compiler:
    try:
        words = shlex.split(setting)
    except ValueError as error:
        raise SettingError(
            f"environment variable CXX={setting!r} can't be split into words ({error}); write it as in a shell, or "
            "unset it for the default."
        ) from None
    if words:
        if shutil.which(words[0]) is None:
            raise SettingError(
                f"environment variable CXX={setting!r} names no program that can be run ({words[0]!r}); give a C++ "
                "compiler with its arguments, or unset it for the default (c++, g++ or clang++)."
            )
        return _compiler(tuple(words), f"environment variable CXX={setting!r}")
    for candidate in _CANDIDATES:
        if shutil.which(candidate) is not None:
            return _compiler((candidate,), candidate)
    remedy = "run: xcode-select --install" if sys.platform == "darwin" else "on Debian and Ubuntu: apt-get install g++"
    raise MissingCompilerError(
        f"CUDA kernels run on the CPU only with a C++ compiler, and none of {', '.join(_CANDIDATES)} is there; install "
        f"one ({remedy}), or name yours in the environment variable CXX."
    )


def named_compiler(command: str, owner: str) -> Compiler:
    """Return the compiler that a text names: a program, perhaps with words that follow it.

    Raises
    ------
    ArgumentError
        It can't be run.
    """
    return _named_compiler(command, owner, os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=16)
def _named_compiler(command: str, owner: str, path: str) -> Compiler:
    what = f"{owner}: argument 'compiler' {command!r}"
    try:
        words = [command] if shutil.which(command) is not None else shlex.split(command)
        if not words or shutil.which(words[0]) is None:
            raise ArgumentError(
                f"{what} names no program that can be run; pass a C++ compiler, or None for the default."
            )
        return _compiler(tuple(words), what)
    except (SettingError, OSError) as error:
        raise ArgumentError(str(error)) from None
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{what} can't be split into words ({error}); write it as in a shell.") from None


def _compiler(command: tuple[str, ...], what: str) -> Compiler:
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, errors="replace", check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingError(f"{what} can't be used, {shlex.join([*command, '--version'])} fails: {error}") from None
    if done.returncode:
        raise SettingError(
            f"{what} can't be used, {shlex.join([*command, '--version'])} fails: {(done.stderr or done.stdout).strip()}"
        )
    version = done.stdout.strip().partition("\n")[0]
    programs = tuple(os.path.realpath(found) for word in command if (found := shutil.which(word)) is not None)
    identity = " ".join([*programs, version])
    return Compiler(command, identity, "clang" in version.lower(), programs, _stamps(programs))


def _stamps(programs: tuple[str, ...]) -> tuple[int, ...]:
    stamps = []
    for program in programs:
        try:
            status = os.stat(program)
        except OSError:  # removed: whoever runs it will say so
            continue
        stamps += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(stamps)


# --- options ----------------------------------------------------------------------------------------------------------

_KEPT = re.compile(r"-[DUI]|--define-macro=|--undefine-macro=|--include-path=|-include|--pre-include=")
_LONG = {"--define-macro=": "-D", "--undefine-macro=": "-U", "--include-path=": "-I", "--pre-include=": "-include"}
_STANDARD = re.compile(r"--?std[= ]c\+\+(\d\d)")


def kernel_flags(options: Sequence[str]) -> list[str]:
    """Return what a C++ compiler is given of a kernel's options, which are those of CUDA's compiler.

    Macros, folders of headers, the language's standard, and whether products and sums may become one operation are; the
    others are about NVIDIA's hardware.
    """
    kept: list[str] = []
    standard = 17
    words = iter(options)
    for word in words:
        if word in ("-D", "-U", "-I", "-include"):
            kept += [word, next(words, "")]
            continue
        if (found := _STANDARD.match(word)) is not None:
            standard = max(17, int(found[1]))
        elif word in ("--fmad=false", "-fmad=false"):
            kept.append("-ffp-contract=off")
        elif _KEPT.match(word):
            for long, short in _LONG.items():
                if word.startswith(long):
                    word = short + (" " if short == "-include" else "") + word.removeprefix(long)
            kept += word.split(" ", 1) if word.startswith("-include ") else [word]
    return [f"-std=c++{standard}", *kept]


def as_directives(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return flags without macros and headers of the user's, and these as directives of the preprocessor.

    They are for the user's text alone: our own headers, which come before it, have names such as N, too.
    """
    rest: list[str] = []
    lines: list[str] = []
    words = iter(flags)
    for word in words:
        option = next((one for one in ("-D", "-U", "-include") if word.startswith(one)), None)
        if option is None or word.startswith("-DCUNUMPY_CPU_"):  # a setting of our own headers
            rest.append(word)
            continue
        value = word.removeprefix(option).strip() or next(words, "")
        if option == "-D":
            name, equals, text = value.partition("=")
            lines.append(f"#define {name} {text if equals else 1}")
        else:
            lines.append(f"#undef {value}" if option == "-U" else f'#include "{value}"')
    if any(line.startswith(("#define NDEBUG ", "#undef NDEBUG")) for line in lines):
        lines.append("#include <assert.h>")  # our headers have defined assert without it
    return rest, lines


def optimisation_flags(compiler: Compiler) -> list[str]:
    """Return the flags by which kernels become as fast as C, with IEEE's results for each operation."""
    flags = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-fvisibility=hidden", "-w"]
    if sys.platform != "darwin":  # no array on a stack is so large that the guard below it is jumped over
        flags.append("-fstack-clash-protection")
    if compiler.is_clang:
        return flags
    # Conditions stay apart, so that loops can be split at them; thread-local arrays of other units are none here.
    return [*flags, "-fwhole-program", "-fno-extern-tls-init", "--param", "logical-op-non-short-circuit=0"]


def checking_flags(compiler: Compiler) -> list[str]:
    """Return the flags by which a kernel calls us at each access to memory; see ``native/checks``."""
    flags = [
        "-O1" if compiler.is_clang else "-O3",  # clang forgets lines
        "-g1",
        "-march=native",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fPIC",
        "-fvisibility=hidden",
        "-w",
    ]
    # What a function calls us for last is told by the address that we return to, which is to be in that function.
    flags += ["-fno-optimize-sibling-calls"]
    flags += ["-fno-omit-frame-pointer", "-fsanitize=thread,null,alignment,object-size", "-DCUNUMPY_CPU_CHECK"]
    if compiler.is_clang:
        volatile = ["-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-func-entry-exit=0"]
        return [*flags, "-fsanitize=array-bounds", *volatile]
    volatile = ["--param", "tsan-distinguish-volatile=1", "--param", "tsan-instrument-func-entry-exit=0"]
    # Variables with an initialiser are told from those without, which nobody has written.
    return [*flags, "-fsanitize=bounds-strict", *volatile, "-fno-extern-tls-init", "-fno-zero-initialized-in-bss"]


PREDEFINED = (
    "-D__CUDACC__=1",
    "-D__CUDACC_RTC__=1",
    "-D__CUDACC_VER_MAJOR__=12",
    "-D__CUDACC_VER_MINOR__=9",
    "-D__CUDA_ARCH__=900",
    "-DCUNUMPY_CPU_DEVICE=1",
)
"""What the runtime's headers define, for the preprocessor alone."""


# --- running it -------------------------------------------------------------------------------------------------------


def run_compiler(compiler: Compiler, arguments: Sequence[str], text: str | None, what: str, folder: Path | None) -> str:
    """Run the compiler; return what it writes to its standard output.

    Raises
    ------
    CompileError
        It refuses the source.
    """
    process = subprocess.Popen(
        [*compiler.command, *arguments],
        stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        encoding="utf-8",
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
    )
    try:
        output, said = process.communicate(text)
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        log = _users_part(said)
        if not log.strip():
            log = f"it said nothing ({_ending(process.returncode)})"
        error = CompileError(
            f"{what}: does not compile for the CPU with {shlex.join(compiler.command)}:\n{log}{_hint(log)}"
        )
        error.log, error.messages = log, tuple(compiler_messages(log))
        raise error
    return output


def _end(process: subprocess.Popen[str]) -> None:
    """End a compiler, which is given the time to remove its temporary files."""
    try:
        process.terminate()
        process.communicate(timeout=5)
    except BaseException:
        process.kill()
        process.communicate()


def _ending(status: int) -> str:
    try:
        return f"exit status {status}" if status > 0 else f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


_MISSING_HEADER = re.compile(r"fatal error: '?([\w./+-]+)'?(?::| file) (?:No such file|not found)")
_CUDAS_HEADER = re.compile(
    r"(cuda|cu[A-Z]|cu\w*\.h|cub/|thrust/|mma\.h|nv/|device_|sm_|texture_|surface_|vector_|math_)"
)
_TEXTURES = re.compile(
    r"'(?:cudaSurfaceObject_t|texture|surface|(?:tex|surf)(?:1D|2D|3D|Cubemap)\w*)' (?:was not|has not been) declared"
    r"|(?:unknown type name|undeclared identifier) '(?:cudaSurfaceObject_t|texture|surface|(?:tex|surf)[1-3C]\w+)'"
)
_LAUNCH = re.compile(
    r"expected (?:primary-)?expression before '<' token.*expected (?:primary-)?expression before '>' token"
    r"|expected expression\n[^\n]*<<<",
    re.DOTALL,
)


def _hint(log: str) -> str:
    """Return what a log does not say: that the CPU device lacks something of CUDA's."""
    if (header := _MISSING_HEADER.search(log)) is not None and _CUDAS_HEADER.match(header[1]):
        known = [
            path.name + ("/..." if path.is_dir() else "")
            for path in sorted(INCLUDE_DIR.iterdir())
            if path.name not in ("cunumpy_cpu", "cassert", "cmath", "memory")  # no headers of CUDA's
        ]
        return (
            f"\nOf CUDA's headers the CPU device has no <{header[1]}>; it has {', '.join(known)}. Where only a GPU "
            "needs it, include it within #ifndef CUNUMPY_CPU_DEVICE.\n"
        )
    if _TEXTURES.search(log) is not None:
        return (
            "\nOf textures the CPU device has texture objects, with tex1Dfetch, tex1D, tex2D and tex3D; no surfaces. "
            "Read arrays, or run this kernel on a GPU.\n"
        )
    if _LAUNCH.search(log) is not None:
        return "\nOn the CPU device kernels can't launch kernels.\n"
    return ""


def _users_part(log: str) -> str:
    """Leave out what follows, in the code that we generate, from the mistakes in the user's."""
    lines = log.splitlines(keepends=True)
    ours = next((i for i, line in enumerate(lines) if GENERATED in line), len(lines))
    before = "".join(lines[:ours])
    return before if "error:" in before else log


_DIAGNOSTIC = re.compile(
    r"(?:(?P<file>[^:\n]+):(?:(?P<line>\d+):)?(?:\d+:)? )?(?P<severity>fatal error|error|warning|note): (?P<text>.*)$"
)


def compiler_messages(log: str) -> Iterator[CompileMessage]:
    """Yield the messages of a compiler's log; lines that belong to one are its context."""
    lines = log.splitlines()
    number = 0
    while number < len(lines):
        found = _DIAGNOSTIC.match(lines[number])
        number += 1
        if found is None:
            continue
        context: list[str] = []
        while number < len(lines) and lines[number].startswith(" "):
            context.append(lines[number])
            number += 1
        severity = found["severity"].rpartition(" ")[2]
        line = None if found["line"] is None else int(found["line"])
        yield CompileMessage(
            "error" if severity == "error" else "warning" if severity == "warning" else "note",
            found["text"],
            found["file"],
            line,
            "\n".join(context),
        )
