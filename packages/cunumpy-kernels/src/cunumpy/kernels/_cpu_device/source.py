"""From a kernel's source to the translation unit that is compiled: its text as it is, between our headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cunumpy.kernels._cpu_device.analysis import (
    CHECKED_LOOPS,
    FIBERS,
    GRID_STRIDE,
    LOOPS,
    MERGED_LOOPS,
    SPLIT_LOOPS,
)
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
    CHECKED_LOOPS: "CheckedLoops",
}

MAX_SHARED_BYTES = 232448
"""The most shared memory of a block, on compute capability 9.0 (CUDA C++ Programming Guide)."""


_ALIGNED = re.compile(r"(\b__shared__\s+)alignas(\s*\()")


def has_aligned_shared(preprocessed: str) -> bool:
    """Tell whether a header aligns shared memory as C++ does not allow it."""
    return _ALIGNED.search(preprocessed) is not None


def translation_unit(
    source: str,
    filename: str,
    kernels: Sequence[tuple[str, Analysis]],
    directives: Sequence[str] = (),
    variables: Sequence[str] = (),
) -> str:
    """Return the C++ source of a library of kernels.

    Parameters
    ----------
    source : str
        Of the kernels.
    filename : str
        What the compiler calls it in messages.
    kernels : sequence of (str, Analysis)
        The kernels, with namespaces and template arguments, and how each is run.
    directives : sequence of str
        Of the preprocessor, before the source.
    variables : sequence of str
        Global variables whose addresses can be asked for.

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
    shared_arrays = dict.fromkeys(name for _, analysis in kernels for name in analysis.shared_arrays)
    if shared_arrays:
        parts.append(_shared_memory(list(shared_arrays)))
    generated: dict[str, None] = {}  # once for all instances of a template
    entries: list[str] = []
    for number, (expression, analysis) in enumerate(kernels):
        # From the global namespace: there its own name comes before those of CUDA's functions, such as norm.
        functions = f"&::{expression.removeprefix('::')}"
        arguments = expression[expression.index("<") :] if "<" in expression else ""
        if analysis.mode == SPLIT_LOOPS and analysis.split is not None:
            generated[analysis.split.text] = None
            functions += f", &{analysis.split.name}{arguments}"
        if analysis.mode == GRID_STRIDE and analysis.grid_stride is not None:
            loop = analysis.grid_stride
            generated[loop.text] = None
            functions += f", &{loop.step}{arguments}, &{loop.active}{arguments}"
        if analysis.mode == MERGED_LOOPS:
            functions += f", {analysis.block_width}"
            if analysis.edges is not None:
                generated[analysis.edges.text] = None
                functions += f", &{analysis.edges.find}{arguments}, &{analysis.edges.between}{arguments}"
        which = number or ""
        runner = _RUNNERS[analysis.mode]
        entries.append(f"typedef cunumpy_cpu::{runner}<{functions}> cunumpy_cpu_runner{which};")
        entries.append(f"CUNUMPY_CPU_ENTRY({which})")
    entries += [f"CUNUMPY_CPU_GLOBAL({name})" for name in variables]
    return "\n".join([*parts, *generated, *entries, ""])


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
    return f"__asm__({text});"  # asm may be a macro of the user
