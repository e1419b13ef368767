"""Leaves out what needs CuPy, Pyccel or Numba where there is none.

Named on the command line it is collected, and without the package it fails, so the check can't be skipped unnoticed
where it is meant to run::

    uv run --isolated --with cupy-cuda12x pytest tests/cunumpy-kernels/test_real_cupy.py
    uv run --isolated --with pyccel pytest tests/cunumpy-kernels/test_real_pyccel.py
    uv run --isolated --with numba pytest tests/cunumpy-kernels/test_real_numba.py

Pyccel has no wheels; it is built when installed, which takes a C compiler.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

collect_ignore_glob = [
    f"test_real_{name}*.py" for name in ("cupy", "pyccel", "numba") if importlib.util.find_spec(name) is None
]


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("builds")


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launch without checks, also where ``CUNUMPY_CPU_CHECK=1``: for kernels that are wrong on a GPU."""
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "0")


@pytest.fixture(autouse=True)
def _builds_of_this_run(build_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is compiled for the CPU out of the user's cache."""
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(build_folder))
    monkeypatch.setattr("cunumpy.kernels._cpu_device.build._register", lambda folder: None)
