"""Tests of the CuPy backend, on the stand-in for CuPy.

They are collected in a process of their own only, with ``CUNUMPY_FAKE_CUPY=1``: `tests/test_standin_suite.py` starts
it in every ordinary run. By hand: ``CUNUMPY_FAKE_CUPY=1 CUNUMPY_BACKEND=cupy uv run pytest tests/standin``.
"""

from __future__ import annotations

import os

if os.environ.get("CUNUMPY_FAKE_CUPY", "").strip() in ("", "0"):
    collect_ignore_glob = ["test_*.py"]
else:
    from cunumpy.kernel_testing import install_fake_cupy

    install_fake_cupy()
