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
from distributions import MEMBERS, PACKAGES, uv

pytestmark = pytest.mark.needs("mypy", "basedpyright")

#: These take more than NumPy's do.
WIDER = {"argsort", "fft", "finfo", "iinfo", "sort"}
NUMPYS = sorted(
    name
    for name in np.__all__
    if name[0] != "_"
    and name not in xp.__all__
    and name not in _installation.SUBMODULES
    and name not in WIDER
    and hasattr(xp, name)
)
OWN = sorted(set(xp.__all__) - {"numpy_backend", "cupy_backend", *_installation.SUBMODULES})


def program(expressions: list[str]) -> str:
    """A line for each expression, in its order, behind five others."""
    lines = ["import numpy as np", "import cunumpy as xp", "", "x = xp.ones(3)", "i = xp.arange(3)"]
    return "\n".join([*lines, *(f"reveal_type({expression})" for expression in expressions)]) + "\n"


def mypy(expressions: list[str], folder: Path, python: str = sys.executable) -> list[str]:
    (folder / "program.py").write_text(program(expressions))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", "cache"]
    command += ["--python-executable", python, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ": error: " not in done.stdout, done.stdout
    return found(
        [
            (int(line), text)
            for line, text in re.findall(r'^program\.py:(\d+): note: Revealed type is "(.*)"$', done.stdout, re.M)
        ],
        expressions,
    )


def pyright(expressions: list[str], folder: Path, python: str = sys.executable) -> list[str]:
    (folder / "program.py").write_text(program(expressions))
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", python, "program.py"]
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
        "{}.sort(x)",
        "{}.sort([2, 1], kind='stable')",
        "{}.sort(x, 0, stable=True)",
        "{}.argsort(x, axis=None)",
        "{}.finfo({}.float32)",
        "{}.finfo(x.dtype)",
        "{}.finfo('f4')",
        "{}.finfo(float).eps",
        "{}.iinfo({}.int16)",
        "{}.iinfo(i.dtype).max",
        "{}.iinfo(int)",
        "{}.fft.fft",
        "{}.fft.fftfreq(8, 0.5)",
        "{}.fft.rfftfreq(n=8)",
    ]
    types = checker([call.replace("{}", module) for call in calls for module in ("np", "xp")], tmp_path)
    assert types[::2] == types[1::2]
    assert not [text for text in types[1::2] if "Unknown" in text]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_call_forms_of_the_standard_are_typed(checker, tmp_path: Path) -> None:
    calls = {
        "xp.sort(x, descending=True)": "ndarray.*float64",
        "xp.sort([2, 1], 0, descending=True, stable=False)": "ndarray.*Any",
        "xp.argsort(a=x, descending=True)": "ndarray.*int",
        "xp.finfo(x)": "finfo.*float",
        "xp.finfo(x[0])": "finfo",
        "xp.iinfo(i)": "iinfo.*int",
        "xp.fft.fftfreq(8, dtype=xp.float32)": "ndarray.*float",
        "xp.fft.rfftfreq(8, d=0.5, dtype='f4')": "ndarray.*Any",
    }
    for (call, expected), text in zip(calls.items(), checker(list(calls), tmp_path), strict=True):
        assert re.search(expected, text), (call, text)
        assert "Unknown" not in text, (call, text)


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


def test_the_public_surface_is_completely_typed() -> None:
    """Of every distribution: each public module is among those that were looked at, and nothing is unknown."""
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--verifytypes", "cunumpy", "--ignoreexternal"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)["typeCompleteness"]
    assert {each["name"] for each in report["modules"]} >= {"cunumpy", *(f"cunumpy.{name}" for name in SUBMODULES)}
    assert report["completenessScore"] == 1
    counts = report["exportedSymbolCounts"]
    assert counts["withKnownType"] > 800
    assert (counts["withAmbiguousType"], counts["withUnknownType"]) == (0, 0)


SUBMODULES = sorted(_installation.SUBMODULES)


@pytest.mark.parametrize("name", MEMBERS)
def test_types_of_one_package_alone(name: str, tmp_path: Path) -> None:
    """The stub names the modules of all packages; those that are not there are not in the way."""
    environment = tmp_path / "environment"
    uv("venv", "--quiet", "--no-project", "--python", sys.executable, environment)
    packages = [PACKAGES / each for each in (*MEMBERS[name].needs, name)]
    install = ["pip", "install", "--quiet", "--no-config", "--no-sources", "--python", environment]
    uv(*install, f"numpy=={np.__version__}", f"pytest=={pytest.__version__}", *packages)
    (python,) = (path for path in environment.glob("*/python*") if path.stem == "python")
    expressions = ["np.linspace(0.0, 1.0, 5)", "xp.linspace(0.0, 1.0, 5)", "xp.to_numpy(x)"]
    ours = [(f"xp.{module}.{each}") for module in MEMBERS[name].submodules for each in getattr(xp, module).__all__]
    for checker in (mypy, pyright):
        types = checker([*expressions, *ours], tmp_path, str(python))
        assert types[0] == types[1]
        assert "ndarray" in types[2]
        unknown = [call for call, text in zip(ours, types[3:], strict=True) if text in ("Any", "Unknown")]
        assert unknown == []
