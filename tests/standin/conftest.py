"""Tests of the CuPy backend, on the stand-in for CuPy.

They are collected in a process of their own only, with ``CUNUMPY_FAKE_CUPY=1``: `tests/test_standin_suite.py` starts
it in every ordinary run. By hand: ``CUNUMPY_FAKE_CUPY=1 CUNUMPY_BACKEND=cupy uv run pytest tests/standin``.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

if os.environ.get("CUNUMPY_FAKE_CUPY", "").strip() in ("", "0"):
    collect_ignore_glob = ["test_*.py", "reference/*"]
else:
    from cunumpy.kernel_testing import install_fake_cupy

    install_fake_cupy()


@pytest.fixture(autouse=True)
def _builds_of_tests(monkeypatch):
    """Keep what is compiled for the CPU from run to run, apart from the user's."""
    folder = Path(tempfile.gettempdir()) / f"cunumpy-tests-{os.getuid()}"
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(folder))
    monkeypatch.setattr("cunumpy.kernels._cpu_device.build._register", lambda folder: None)


@pytest.fixture
def raw_modules(monkeypatch):
    """List the kernels that are launched."""
    from cunumpy.kernel_testing._fake_cupy.raw import Function

    launches, launch = [], Function.__call__

    def listed(self, *args, **kwargs):
        launches.append(self.name)
        launch(self, *args, **kwargs)

    monkeypatch.setattr(Function, "__call__", listed)
    return launches
