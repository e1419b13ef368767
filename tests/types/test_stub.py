"""What type checkers make of ``import cunumpy as xp``: NumPy's names with NumPy's types, and complete types of our own.

Run on installed wheels, since checkers do not see a namespace that is spread over source folders::

    uv run --isolated --no-editable --group types pytest tests/types
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import _installation

pytestmark = pytest.mark.needs("mypy", "basedpyright")

NUMPYS = sorted(
    name
    for name in np.__all__
    if name[0] != "_" and name not in xp.__all__ and name not in _installation.SUBMODULES and hasattr(xp, name)
)
OWN = sorted(set(xp.__all__) - {"numpy_backend", "cupy_backend", *_installation.SUBMODULES})


def program(expressions: list[str]) -> str:
    """A line for each expression, in its order, behind five others."""
    lines = ["import numpy as np", "import cunumpy as xp", "", "x = xp.ones(3)", "i = xp.arange(3)"]
    return "\n".join([*lines, *(f"reveal_type({expression})" for expression in expressions)]) + "\n"


def mypy(expressions: list[str], folder: Path) -> list[str]:
    (folder / "program.py").write_text(program(expressions))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", "cache", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ": error: " not in done.stdout, done.stdout
    return found(
        [
            (int(line), text)
            for line, text in re.findall(r'^program\.py:(\d+): note: Revealed type is "(.*)"$', done.stdout, re.M)
        ],
        expressions,
    )


def pyright(expressions: list[str], folder: Path) -> list[str]:
    (folder / "program.py").write_text(program(expressions))
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    reports = json.loads(done.stdout)["generalDiagnostics"]
    revealed = [
        (report["range"]["start"]["line"] + 1, report["message"].partition(" is ")[2].strip('"'))
        for report in reports
        if report["message"].startswith("Type of ")
    ]
    missing = [report["message"] for report in reports if report.get("rule") == "reportAttributeAccessIssue"]
    assert missing == []
    return found(revealed, expressions)


def found(revealed: list[tuple[int, str]], expressions: list[str]) -> list[str]:
    by_line = dict(revealed)
    assert sorted(by_line) == list(range(6, 6 + len(expressions)))
    return [by_line[line] for line in sorted(by_line)]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_numpys_names_have_numpys_types(checker, tmp_path: Path) -> None:
    expressions = [f"{module}.{name}" for name in NUMPYS for module in ("np", "xp")]
    assert len(NUMPYS) > 400
    types = checker(expressions, tmp_path)
    assert [
        (name, *pair) for name, *pair in zip(NUMPYS, types[::2], types[1::2], strict=True) if pair[0] != pair[1]
    ] == []


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_calls_have_numpys_types(checker, tmp_path: Path) -> None:
    calls = [
        "{}.zeros((2, 3))",
        "{}.zeros(3, {}.float32)",
        "{}.linspace(0.0, 1.0, 5)",
        "{}.sum(x)",
        "{}.sum(x, axis=0)",
        "{}.where(x > 0, x, 0)",
        "{}.std(x, ddof=1)",
        "{}.linalg.norm(x)",
        "{}.linalg.svd({}.eye(2), compute_uv=False)",
        "{}.fft.rfft(x, 8)",
        "{}.random.default_rng(1).normal(size=3)",
        "{}.concatenate([x, x])",
        "{}.take(x, i)",
        "{}.pi",
    ]
    types = checker([call.replace("{}", module) for call in calls for module in ("np", "xp")], tmp_path)
    assert types[::2] == types[1::2]
    assert not [text for text in types[1::2] if "Unknown" in text]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_our_own_names_are_typed(checker, tmp_path: Path) -> None:
    types = checker([f"xp.{name}" for name in OWN], tmp_path)
    unknown = {name: text for name, text in zip(OWN, types, strict=True) if text in ("Any", "Unknown")}
    assert set(unknown) <= {"scipy"}
    functions = dict(zip(OWN, types, strict=True))
    assert "'cupy'" in functions["get_backend"]
    assert "ndarray" in functions["to_numpy"]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_submodules_are_found_as_attributes(checker, tmp_path: Path) -> None:
    names = {
        "xp.rng.philox_uniform": "ndarray|Any",
        "xp.kernels.CudaKernel": "CudaKernel",
        "xp.profiling.benchmark": "BenchmarkResult",
        "xp.cuda.device_count()": "int",
        "xp.errors.ArgumentError": "ArgumentError",
        "xp.algorithms.segment_sum": "Any",
        "xp.optimize.find_root": "RootResult",
        "xp.mpi.is_serial": "bool",
        "xp.petsc.ksp_solve": "KSPResult",
        "xp.memory.HostStaging": "HostStaging",
        "xp.arguments.CudaStruct": "CudaStruct",
    }
    for (name, expected), text in zip(names.items(), checker(list(names), tmp_path), strict=True):
        assert re.search(expected, text), (name, text)
        assert "Unknown" not in text, (name, text)
