"""Tests of GPU programs on machines without a GPU.

The stand-in for CuPy runs programs that use CuPy on NumPy buffers, as strictly as CuPy would: host arrays are not
converted, results of reductions stay 0-d arrays, names and parameters are CuPy's. Start Python with
``CUNUMPY_FAKE_CUPY=1`` and ``CUNUMPY_BACKEND=cupy`` to run a whole program on it, or call `install_fake_cupy` before
anything asks for CuPy. It is never installed by itself.

Importing this module imports neither CuPy nor pytest.
"""

from __future__ import annotations

from ._stand_in import fake_cupy_active, host_buffer, install_fake_cupy
from ._subprocess import run_in_fake_cupy_subprocess

__all__ = [
    "fake_cupy_active",
    "host_buffer",
    "install_fake_cupy",
    "run_in_fake_cupy_subprocess",
]
