"""Compiling CUDA code without a GPU, with the options that the packages use.

With `CUDA_TABLE=file` in the environment everything is compiled for the architectures of `TABLE`, and what each kernel
takes is appended to that file.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from cunumpy.cuda import CompileReport, check_cuda

#: From the oldest to the newest that NVRTC compiles for and that CuPy 14 supports.
ARCHITECTURES = ("sm_70", "sm_80", "sm_90", "sm_120")
#: Those that the table is about.
TABLE = ("sm_75", "sm_80", "sm_90", "sm_120")

#: The headers that NVRTC does not have built in, of wheels: half precision, cooperative groups, CUB.
HEADERS = tuple(
    Path(folder) / "include"
    for package in ("nvidia.cuda_runtime", "nvidia.cuda_cccl")
    if importlib.util.find_spec("nvidia") is not None and (found := importlib.util.find_spec(package)) is not None
    for folder in found.submodule_search_locations or ()
)


def compile_cuda(
    source: str,
    *,
    architecture: str = "sm_80",
    options: tuple[str, ...] = (),
    instances: tuple[str, ...] = (),
    include_dirs: Iterable[Path] = (),
) -> bytes:
    """Return the machine code for one architecture; `instances` of templates are named as ``"add<double>"``."""
    report = cuda_report(
        source, architecture=architecture, options=options, instances=instances, include_dirs=include_dirs
    )
    return report.cubins[architecture]


def cuda_report(
    source: str,
    *,
    architecture: str = "sm_80",
    options: tuple[str, ...] = (),
    instances: tuple[str, ...] = (),
    include_dirs: Iterable[Path] = (),
    filename: Path | None = None,
    oldest: str = "sm_70",
) -> CompileReport:
    """Return what the kernels take, of one architecture at least; `oldest` is the first that has what they need."""
    table = os.environ.get("CUDA_TABLE")
    newer = tuple(one for one in TABLE if int(one[3:]) >= int(oldest[3:]))
    architectures = (architecture, *(newer if table else ()))
    return _report(
        source, architectures, ("-std=c++14", *options), instances, (*include_dirs, *HEADERS), filename, table
    )


@cache
def _report(
    source: str,
    architectures: tuple[str, ...],
    options: tuple[str, ...],
    instances: tuple[str, ...],
    include_dirs: tuple[Path, ...],
    filename: Path | None,
    table: str | None,
) -> CompileReport:
    report = check_cuda(
        source,
        archs=architectures,
        options=options,
        name_expressions=instances,
        include_dirs=include_dirs,
        filename=filename,
    )
    if table and report.kernels:
        with Path(table).open("a", encoding="utf-8") as file:
            print(f"{report}\n", file=file)
    return report
