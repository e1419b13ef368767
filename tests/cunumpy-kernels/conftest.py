"""Leaves out the comparison with a real CuPy where there is none.

Named on the command line it is collected, and without CuPy it fails, so the check can't be skipped unnoticed where it
is meant to run::

    uv run --isolated --with cupy-cuda12x pytest tests/cunumpy-kernels/test_real_cupy.py
"""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("cupy") else ["test_real_cupy.py"]
