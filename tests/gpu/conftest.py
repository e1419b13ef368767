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
