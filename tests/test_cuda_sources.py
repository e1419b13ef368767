"""Every CUDA source of the packages, examples, tests and benchmarks is code for real devices; NVRTC compiles it.

Templates are compiled where their own tests name the instances. Constants that are not code by themselves are listed in
`NOT_ALONE`, with the reason.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from nvrtc import cuda_report

ROOT = Path(__file__).parents[1]
FOLDERS = ("packages", "docs", "tests", "benchmarks")

NOT_ALONE = {
    "tests/cunumpy-cuda/signatures/kernels.cu": "reads signatures that no kernel can have, too",
    "tests/cunumpy-kernels/test_cpu_device_blocks.py": "includes a header that the test writes",
    "tests/cunumpy-kernels/test_catalog.py": "needs a macro that the test gives",
    "tests/cunumpy-kernels/test_compiler_faults.py": "needs a macro that the test gives",
    "tests/cunumpy-kernels/test_cpu_runtime_complex.py": "includes a header that the test writes",
    "tests/cunumpy-kernels/test_pytest_plugin.py": "holds a program in Python that has kernels",
    "tests/cuda_signatures.py": "is for a C++ compiler",
    "tests/test_security.py": "holds a program in Python that has kernels",
    "tests/standin/test_device_code.py": "includes headers that the test writes",
}

NEED_SM_80 = {
    "tests/cunumpy-kernels/test_cpu_runtime_ptx.py": "reduces over warps by an instruction of its own",
    "tests/cunumpy-kernels/test_cpu_runtime_warps.py": "calls __reduce_add_sync and its like",
}


def sources() -> dict[str, tuple[str, Path]]:
    """Give the text of every .cu file, and of the constants of Python files that hold kernels."""
    found = {}
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.cu")):
            found[str(file.relative_to(ROOT))] = file.read_text(encoding="utf-8"), file
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            for statement in ast.parse(text).body if "__global__" in text else ():
                match statement:
                    case ast.Assign(value=ast.Constant(value=str(source))) if "__global__" in source:
                        found[f"{file.relative_to(ROOT)}:{statement.lineno}"] = source, file
    return found


SOURCES = sources()


def test_the_sources_are_found():
    files = {name.partition(":")[0] for name in SOURCES}
    assert {"packages/cunumpy-rng/src/cunumpy/rng/philox.cu", "tests/cunumpy-kernels/test_cuda_kernel.py"} <= files
    assert {*NOT_ALONE, *NEED_SM_80} <= files


@pytest.mark.parametrize("name", [name for name in SOURCES if name.partition(":")[0] not in NOT_ALONE])
def test_it_compiles(name):
    text, file = SOURCES[name]
    oldest = "sm_80" if name.partition(":")[0] in NEED_SM_80 else "sm_70"
    assert cuda_report(text, filename=file, oldest=oldest).cubins
