"""The distributions as the project defines them, and helpers to put chosen ones on a Python's path."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "packages"


@dataclass(frozen=True)
class Distribution:
    """What a distribution gives below ``cunumpy``, and what it may require and load on import."""

    submodules: tuple[str, ...]
    needs: tuple[str, ...]
    third_party: tuple[str, ...] = ()


CORE = "cunumpy-core"
META = "cunumpy"
MEMBERS = {
    "cunumpy-core": Distribution(("errors", "memory", "profiling", "xp"), (), ("array-api-compat", "numpy")),
    "cunumpy-cuda": Distribution(("cuda",), ("cunumpy-core",)),
    "cunumpy-kernels": Distribution(("arguments", "kernel_testing", "kernels"), ("cunumpy-core", "cunumpy-cuda")),
    "cunumpy-rng": Distribution(("rng",), ("cunumpy-core", "cunumpy-cuda")),
    "cunumpy-algorithms": Distribution(("algorithms",), ("cunumpy-core", "cunumpy-cuda")),
    "cunumpy-solvers": Distribution(("integrate", "optimize"), ("cunumpy-core",), ("scipy",)),
    "cunumpy-mpi": Distribution(("mpi",), ("cunumpy-core",)),
    "cunumpy-petsc": Distribution(("petsc",), ("cunumpy-core",)),
}
OPTIONAL = tuple(name for name in MEMBERS if name != CORE)
OWNER = {submodule: name for name, row in MEMBERS.items() for submodule in row.submodules}


def sources(names: Iterable[str] = MEMBERS) -> list[Path]:
    """Give the source folders of distributions, as somebody would put them on `PYTHONPATH`."""
    return [PACKAGES / name / "src" for name in names]


# The distributions with a native library, and the headers of cunumpy-cuda that it is built from.
NATIVE = {"cunumpy-rng": ("random.cuh",), "cunumpy-algorithms": ("morton.cuh",)}


def uv(
    *arguments: str | Path, environment: dict[str, str] | None = None, check: bool = True, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run uv: the one that runs the tests, else the one on the path."""
    program = os.environ.get("UV") or shutil.which("uv")
    assert program, "these tests need uv; run them with: python3 -m uv run pytest"
    inherited = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CXX")}
    inherited = {name: value for name, value in inherited.items() if not name.startswith("CUNUMPY_")}
    done = subprocess.run(
        [program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=inherited | (environment or {}),
        **options,
    )
    assert done.returncode == 0 or not check, f"uv {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}"
    return done


# Third-party packages are served by name from where this Python has them, and nothing else of what is installed here.
_PREFIX = """
import sys
from importlib.machinery import PathFinder
class _ThirdParty:
    folders = {folders!r}
    standard = {{*sys.stdlib_module_names, "cunumpy", "org"}}  # org: the standard library asks whether it is on Java
    refused = []
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if path is None and name in cls.folders:
            return PathFinder.find_spec(name, [cls.folders[name]])
        if path is None and name not in cls.standard:
            cls.refused.append(name)
sys.path += {path!r}
sys.meta_path.append(_ThirdParty)
"""


def run_python(
    code: str,
    path: Iterable[Path],
    *arguments: object,
    third_party: Iterable[str] = ("array-api-compat", "numpy"),
    warnings: str = "error",
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run code in a new Python that sees the given folders and the named third-party packages, nothing else.

    What this environment has installed is not seen. ``_ThirdParty.refused`` lists the other top-level modules that
    were looked for in vain.
    """
    folders = {}
    for name in (name.replace("-", "_") for name in third_party):
        spec = importlib.util.find_spec(name)
        assert spec is not None, f"the tests need {name}"
        folders[name] = str(Path(str(spec.origin)).parents[1])
    prefix = _PREFIX.format(folders=folders, path=[str(folder) for folder in path])
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CUNUMPY_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-I", "-S", "-W", warnings, "-c", prefix + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=clean | (environment or {}),
    )


def evaluate(code: str, path: Iterable[Path], *arguments: object, **options: Any) -> Any:
    """Run code with `run_python` and give what it printed last, read as JSON."""
    done = run_python(code, path, *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])
