"""What a GPU of a compute capability takes of a launch: the CPU device refuses the rest.

Numbers are those of the table "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide.
Those that are the same for all (threads of a block, its and the grid's extents) are checked in `_launch_shape` and
`launch`.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cunumpy import _environment
from cunumpy.cuda import check_cuda
from cunumpy.errors import ArgumentError, CompileError, MissingPackageError
from cunumpy.kernels._build_cache import build_hash
from cunumpy.kernels._cpu_device.barriers import BLOCK_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from cunumpy.cuda import CompileReport
    from cunumpy.kernels._build_cache import BuildCache
    from cunumpy.kernels._cuda_kernel import CudaKernel

DEFAULT_CAPABILITY = "9.0"

SHARED_BYTES = {
    "7.0": 96 * 1024,
    "7.2": 96 * 1024,
    "7.5": 64 * 1024,
    "8.0": 163 * 1024,
    "8.6": 99 * 1024,
    "8.7": 163 * 1024,
    "8.9": 99 * 1024,
    "9.0": 227 * 1024,
    "10.0": 227 * 1024,
    "12.0": 99 * 1024,
}
"""The most shared memory of a block, static and dynamic, by compute capability."""

STATIC_SHARED_BYTES = 48 * 1024
"""The most static shared memory of a kernel, on every compute capability; compilers refuse more."""

REGISTERS = 65536
"""Registers of a block, on each of these compute capabilities."""

UNLIMITED_THREADS = 256
"""Blocks of so many threads have room for the 255 registers that a thread can have at most."""

_WARP, _REGISTER_UNIT, _WARP_UNIT = 32, 256, 4
"""Registers are given to warps in this unit, and warps are counted in this unit (CUDA occupancy calculator)."""


def capability() -> str:
    """Return the compute capability whose limits hold: ``CUNUMPY_CPU_CAPABILITY`` says it."""
    return str(_environment.read("CUNUMPY_CPU_CAPABILITY"))


def dynamic_limit(static: int, owner: str) -> int:
    """Return the most bytes of dynamic shared memory beside these of static; raise if static memory is too much."""
    if static > STATIC_SHARED_BYTES:
        raise ArgumentError(
            f"{owner}: {static} bytes of static shared memory are more than the {STATIC_SHARED_BYTES} that a kernel "
            "can have on every compute capability; declare it as extern __shared__, and launch with shared_mem."
        )
    return SHARED_BYTES[capability()] - static


def refuse_shared(static: int, dynamic: int, owner: str) -> None:
    """Raise the error of a launch with too much shared memory."""
    now = capability()
    beside = f"{static} bytes of static and {dynamic} of" if static else f"{dynamic} bytes of"
    raise ArgumentError(
        f"{owner}: {beside} dynamic shared memory are more than the {SHARED_BYTES[now]} that a block can have on "
        f"compute capability {now} (CUNUMPY_CPU_CAPABILITY)."
    )


def threads_for(registers: int) -> int:
    """Return the most threads of a block whose threads have so many registers.

    Examples
    --------
    >>> threads_for(64), threads_for(65), threads_for(255)
    (1024, 896, 256)
    """
    of_warp = -(-max(registers, 1) * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    return min(1024, REGISTERS // of_warp // _WARP_UNIT * _WARP_UNIT * _WARP)


def check_registers(kernel: CudaKernel, block: tuple[int, ...], cache: BuildCache) -> None:
    """Raise for a block with more threads than there are registers for, where NVIDIA's compiler can tell."""
    if math.prod(block) > UNLIMITED_THREADS:
        parts = (kernel.source, kernel.expression, kernel.options, kernel._headers.digest())
        _check_registers(kernel._owner, block, parts, lambda arch: kernel.check_cuda([arch]), cache)


def check_raw_registers(
    owner: str,
    block: tuple[int, ...],
    kernel: tuple[str, str, Sequence[str], str],
    cache: BuildCache,
) -> None:
    """Do the same for a kernel of which source, expression, options and a hash of its headers are known."""
    if math.prod(block) > UNLIMITED_THREADS:
        source, expression, options, _ = kernel

        def compiled(arch: str) -> CompileReport:
            report = check_cuda(source, archs=[arch], options=options, name_expressions=[expression])
            return replace(report, kernels=tuple(one for one in report.kernels if one.name == expression))

        _check_registers(owner, block, kernel, compiled, cache)


def _check_registers(
    owner: str,
    block: tuple[int, ...],
    parts: tuple[Any, ...],
    compiled: Callable[[str], CompileReport],
    cache: BuildCache,
) -> None:
    threads, now = math.prod(block), capability()
    registers = _registers(parts, compiled, now, cache)
    if registers is not None and threads > threads_for(registers):
        raise ArgumentError(
            f"{owner}: block {block} has {threads} threads of {registers} registers, and the {REGISTERS} "
            f"registers of a block are enough for {threads_for(registers)} threads on compute capability {now} "
            f"(CUNUMPY_CPU_CAPABILITY); take smaller blocks, or declare the kernel with __launch_bounds__({threads})."
        )


def _registers(
    parts: tuple[Any, ...], compiled: Callable[[str], CompileReport], now: str, cache: BuildCache
) -> int | None:
    """Return the registers of a thread; None if NVRTC is not there or does not compile for this capability."""
    arch = f"sm_{now.replace('.', '')}"

    def build(folder: Path) -> None:
        found = [one.registers for one in compiled(arch).kernels]
        (folder / "registers.json").write_text(json.dumps(found[0] if found else None), encoding="utf-8")

    try:
        folder = cache.get(f"cpu-registers-{build_hash([*parts, arch])}", build)
        found: int | None = json.loads((folder / "registers.json").read_text(encoding="utf-8"))
    except (CompileError, MissingPackageError):
        return None
    return found


# --- static shared memory ---------------------------------------------------------------------------------------------

_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_THREAD_LOCAL = 6
_OURS = ("_ZL9threadIdx", "_ZL8blockIdx", "_ZL8blockDim", "_ZL7gridDim")
"""How names begin that are no kernel's, nor have ``cunumpy_cpu`` in them."""


def static_shared(library: Path, names: list[str], others: Collection[str] = ()) -> list[int]:
    """Return the bytes of static shared memory of each kernel of a library; `others` are the source's other kernels.

    Shared memory is thread-local storage of the library, so the symbols have its sizes. With one kernel all belongs to
    it, also what is declared in functions that it calls; with several, to each what it declares itself.
    """
    kernels: list[tuple[str, int]] = []
    blocks: list[tuple[str, int]] = []  # of what was made of kernels, see `barriers`; they may be there as well
    for symbol, size in _thread_local_symbols(library.read_bytes()):
        own = re.sub(rf"L?(\d+){BLOCK_PREFIX}", lambda match: str(int(match[1]) - len(BLOCK_PREFIX)), symbol)
        if "cunumpy_cpu" not in own and not own.startswith(_OURS):
            (kernels if own == symbol else blocks).append((own, size))
    counts = Counter(names)

    def declared_by(name: str, symbols: list[tuple[str, int]]) -> int:
        mine = [one for one in symbols if _names(one[0], name)]
        if counts[name] == 1:
            return sum(size for _, size in mine)
        instances: Counter[str] = Counter()  # of a template
        for symbol, size in mine:
            instances[_function_of(symbol)] += size
        return max(instances.values(), default=0)

    own_bytes = [max(declared_by(name, kernels), declared_by(name, blocks)) for name in names]
    if len(names) == 1:
        called = [size for symbol, size in kernels if not any(_names(symbol, one) for one in (*names, *others))]
        return [own_bytes[0] + sum(called)]
    return own_bytes


def _names(symbol: str, function: str) -> bool:
    return re.search(rf"(?<!\d){len(function.encode())}{function}", symbol) is not None


def _function_of(symbol: str) -> str:
    """Return the part of a variable's symbol that names its function."""
    for match in re.finditer(r"E(\d+)", symbol):
        if re.fullmatch(r"(?:_\d+|__\d+_)?", symbol[match.end() + int(match[1]) :]):
            return symbol[: match.start()]
    return symbol


def _thread_local_symbols(elf: bytes) -> list[tuple[str, int]]:
    """Return names and sizes of the thread-local symbols of a 64-bit little-endian ELF file; none of another file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        return []
    (offset,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    sections = [_SECTION.unpack_from(elf, offset + size * number) for number in range(count)]
    found = []
    for section in sections:
        if section[1] != 2:  # the table of symbols
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, info, _, _, _, symbol_size = _SYMBOL.unpack_from(elf, at)
            if info & 15 == _THREAD_LOCAL and symbol_size:
                end = elf.index(b"\0", names + name)
                found.append((elf[names + name : end].decode("utf-8", "replace"), symbol_size))
    return found
