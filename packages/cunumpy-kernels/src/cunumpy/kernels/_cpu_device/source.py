"""From a kernel's source to the translation unit that is compiled: its text as it is, between our headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cunumpy.kernels._cpu_device.analysis import FIBERS, GRID_STRIDE, LOOPS, MERGED_LOOPS, SPLIT_LOOPS
from cunumpy.kernels._cpu_device.compiler import GENERATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.kernels._cpu_device.analysis import Analysis

_RUNNERS = {
    FIBERS: "FiberBlocks",
    SPLIT_LOOPS: "SplitLoops",
    LOOPS: "Loops",
    MERGED_LOOPS: "MergedLoops",
    GRID_STRIDE: "GridStrideLoops",
}

MAX_SHARED_BYTES = 232448
"""The most shared memory of a block, on compute capability 9.0 (CUDA C++ Programming Guide)."""


_ALIGNED = re.compile(r"(\b__shared__\s+)alignas(\s*\()")


def has_aligned_shared(preprocessed: str) -> bool:
    """Tell whether a header aligns shared memory as C++ does not allow it."""
    return _ALIGNED.search(preprocessed) is not None


def translation_unit(
    source: str, filename: str, expression: str, analysis: Analysis, directives: Sequence[str] = ()
) -> str:
    """Return the C++ source of a kernel's library.

    Parameters
    ----------
    source : str
        Of the kernel.
    filename : str
        What the compiler calls it in messages.
    expression : str
        The kernel, with namespaces and template arguments.
    analysis : Analysis
        How it is run.
    directives : sequence of str
        Of the preprocessor, before the source.

    Returns
    -------
    str
    """
    parts = [
        '#include "cunumpy_cpu/prelude.hpp"',
        '#line 1 "<options>"',
        *directives,
        user_text(source, filename),
        f'#line 1 "{GENERATED}"',
    ]
    if analysis.shared_arrays:
        parts.append(_shared_memory(analysis.shared_arrays))
    functions = f"&{expression}"
    arguments = expression[expression.index("<") :] if "<" in expression else ""
    if analysis.mode == SPLIT_LOOPS and analysis.split is not None:
        parts.append(analysis.split.text)
        functions += f", &{analysis.split.name}{arguments}"
    if analysis.mode == GRID_STRIDE and analysis.grid_stride is not None:
        loop = analysis.grid_stride
        parts.append(loop.text)
        functions += f", &{loop.step}{arguments}, &{loop.active}{arguments}"
    parts.append(f"typedef cunumpy_cpu::{_RUNNERS[analysis.mode]}<{functions}> cunumpy_cpu_runner;")
    parts.append("CUNUMPY_CPU_ENTRY\n")
    return "\n".join(parts)


def user_text(source: str, filename: str) -> str:
    """Return a source with the line marker by which messages name its file."""
    name = filename.replace("\\", "\\\\").replace('"', '\\"')
    # Where CUDA takes alignas, C++ allows no attribute but those of compilers.
    text = _ALIGNED.sub(r"\1__align__\2", source.removeprefix(chr(0xFEFF)))
    return f'#line 1 "{name}"\n{text}\n'


def _shared_memory(names: list[str]) -> str:
    """Return one storage under all names: as on a GPU, the arrays of a block begin at the same address.

    Written for the assembler, since the type of an array may be that of a template's parameter.
    """
    lines = ['.pushsection .tbss,\\"awT\\",%nobits', ".p2align 7"]
    for name in names:
        lines += [f".globl {name}", f".hidden {name}", f".type {name}, %tls_object", f"{name}:"]
    lines += [f".zero {MAX_SHARED_BYTES}", ".popsection"]
    text = "".join(f'"{line}\\n"\n' for line in lines)
    return f"asm({text});"
