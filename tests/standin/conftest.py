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
    collect_ignore_glob = ["test_*.py"]
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
    """Give the stand-in `cupy.RawModule` and `cupy.RawKernel`, so that kernels run, and list what is launched."""
    from host_raw_module import RawKernel, RawModule

    monkeypatch.setattr("cupy.RawModule", RawModule, raising=False)
    monkeypatch.setattr("cupy.RawKernel", RawKernel, raising=False)
    monkeypatch.setattr(RawModule, "launches", [])
    return RawModule.launches
