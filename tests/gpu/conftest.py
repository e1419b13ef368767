"""Tests of the CuPy backend on a real GPU: ``uv run --with cupy-cuda12x pytest tests/gpu``.

Where the packages are not installed, ``python tests/gpu/run.py`` takes their sources, and prints figures too; Python
needs NumPy, CuPy, array-api-compat and pytest for it.

The stand-in for CuPy runs them too, in `tests/test_standin_suite.py`, so that they stay right. Elsewhere they are not
collected, unless ``CUNUMPY_REQUIRE_CUDA`` says that there has to be a GPU.
"""

from __future__ import annotations

import pytest

import cunumpy as xp
from cunumpy import _environment

if not (xp.cupy_available() or _environment.read("CUNUMPY_REQUIRE_CUDA")):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def on_the_device():
    with xp.use_backend("cupy", strict=True):
        yield


@pytest.fixture(autouse=True)
def compiled_by_the_host(monkeypatch):
    """Where CuPy is the stand-in, which has no kernels, let the C++ compiler make those of our packages."""
    from cunumpy.kernel_testing import fake_cupy_active

    if fake_cupy_active():
        from host_raw_module import RawKernel, RawModule

        monkeypatch.setattr("cupy.RawModule", RawModule, raising=False)
        monkeypatch.setattr("cupy.RawKernel", RawKernel, raising=False)
