"""What checked libraries are linked with, ``native/checks``, and the memory that they have themselves."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from cunumpy.kernels._build_cache import build_hash
from cunumpy.kernels._cpu_device.analysis import own_text
from cunumpy.kernels._cpu_device.compiler import INCLUDE_DIR, Compiler, run_compiler

if TYPE_CHECKING:
    from cunumpy.kernels._build_cache import BuildCache

CHECKS_DIR = Path(__file__).parent / "native" / "checks"
"""The sources of what checks accesses to memory."""

ARGUMENT, VARIABLE, SHARED = range(3)
"""Kinds of memory, as in ``regions.hpp``."""


class Given(ctypes.Structure):
    """Memory that a kernel may use, as ``regions.hpp`` takes it."""

    _fields_ = (
        ("begin", ctypes.c_ulonglong),
        ("bytes", ctypes.c_ulonglong),
        ("room", ctypes.c_ulonglong),
        ("owned", ctypes.c_void_p),
        ("memory", ctypes.c_uint),
        ("shift", ctypes.c_uint),
        ("read_only", ctypes.c_uint),
        ("unwritten", ctypes.c_uint),
    )


_SYMBOL = re.compile(
    r"\s*\d+: (?P<value>[0-9a-f]+)\s+(?P<size>\w+)\s+(?P<kind>TLS|OBJECT)\s+\w+\s+\w+\s+(?P<at>\d+) (?P<name>.+)"
)
_SECTION = re.compile(r"\s*\[\s*(\d+)\] (\S+)")
_OURS = re.compile(
    r"(?:threadIdx|blockIdx|blockDim|gridDim|cunumpy_cpu\w*|(?:cunumpy_cpu\w*|std)::.*|.*::__func__"
    r"|(?:guard variable|TLS|vtable|typeinfo).*"
    r"|completed\.\d+|_DYNAMIC|_GLOBAL_OFFSET_TABLE_|__(?:dso_handle|TMC_END__|(?:EH_)?FRAME\w*|\w+_array_entry))$"
)
"""Symbols that are no variables of a kernel's."""

_SCALAR = 16
"""Variables up to so many bytes may count on CUDA's zero: counters and flags."""

_CONSTANT = re.compile(r"\b__constant__\b(?:\b(?:__align__|alignas)\s*\([^()]*\)|[^;{}()=])*?\b(\w+)\s*(?:\[|=|;|\{)")


def constant_variables(preprocessed: str) -> set[str]:
    """Return the names of the variables that a kernel may not write, though the C++ compiler does not know that."""
    return set(_CONSTANT.findall(own_text(preprocessed, [str(INCLUDE_DIR)])))


def library_memory(library: Path, constant: set[str]) -> list[tuple[int, int, int, str, bool, bool]]:
    """Return the shared memory and the variables of a checked library.

    Returns
    -------
    list of (memory, begin, bytes, name, read_only, unwritten)
        Dynamic shared memory has -1 bytes: a launch says how many.
    """
    listed = subprocess.run(
        ["readelf", "-SsWC", str(library)], capture_output=True, text=True, errors="replace", check=False
    ).stdout
    sections: dict[int, str] = {}
    found: dict[tuple[int, int], tuple[int, int, int, str, bool, bool]] = {}
    dynamic: set[str] = set()
    for line in listed.splitlines():
        if (section := _SECTION.match(line)) is not None:
            sections[int(section[1])] = section[2]
        if (symbol := _SYMBOL.match(line)) is None or _OURS.match(symbol["name"]):
            continue
        name = re.sub(r"\[abi:\w+\]", "", symbol["name"]).rpartition("::")[2].strip()
        begin, size = int(symbol["value"], 16), int(symbol["size"], 0)
        where = sections.get(int(symbol["at"]), "")
        if symbol["kind"] == "TLS":
            if not size:  # they all begin at the same address, each for kernels of its own
                dynamic.add(name)
                name = " or ".join(sorted(dynamic))
            found[SHARED, begin] = SHARED, begin, size or -1, name, False, True
        elif size:
            read_only = where.startswith((".rodata", ".data.rel.ro")) or name.partition(".")[0] in constant
            found.setdefault(
                (VARIABLE, begin),
                (
                    VARIABLE,
                    begin,
                    size,
                    name,
                    read_only,
                    where.startswith(".bss") and not read_only and size > _SCALAR,
                ),
            )
    return [found[key] for key in sorted(found)]


def checks_object(compiler: Compiler, cache: BuildCache) -> Path:
    """Return the object that all checked libraries are linked with, compiled unless that was done."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(CHECKS_DIR.iterdir()) if path.is_file()]

    def build(folder: Path) -> None:
        flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-w"]
        source = str(CHECKS_DIR / "check.cpp")
        run_compiler(compiler, [*flags, "-c", source, "-o", "checks.o"], None, "the CPU device's checking mode", folder)

    return cache.get(f"checks-{build_hash([sources, compiler.identity])}", build) / "checks.o"


def call_our_copies(path: Path) -> None:
    """Let an object call ``native/checks`` for copies of structs, where clang before version 15 calls the C library."""
    names = [f"--redefine-sym={name}=__tsan_{name}" for name in ("memcpy", "memmove", "memset")]
    try:
        subprocess.run(["objcopy", *names, str(path)], capture_output=True, check=False)
    except OSError:  # there are no binutils, so no place is told either
        return
