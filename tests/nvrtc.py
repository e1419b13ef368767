"""Compiling CUDA code without a GPU, with the options that the packages use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cunumpy.cuda import check_cuda

#: From the oldest to the newest that NVRTC compiles for and that CuPy 14 supports.
ARCHITECTURES = ("sm_70", "sm_80", "sm_90", "sm_120")


def compile_cuda(
    source: str,
    *,
    architecture: str = "sm_80",
    options: tuple[str, ...] = (),
    instances: tuple[str, ...] = (),
    include_dirs: Iterable[Path] = (),
) -> bytes:
    """Return the machine code for one architecture; `instances` of templates are named as ``"add<double>"``."""
    options = ("-std=c++14", *options)
    report = check_cuda(
        source, archs=[architecture], options=options, name_expressions=instances, include_dirs=include_dirs
    )
    return report.cubins[architecture]
