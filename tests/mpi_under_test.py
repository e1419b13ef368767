"""The MPI that the tests in `tests/mpi` are run on.

By default the serial stand-in. With ``CUNUMPY_TEST_MPI=1`` it is mpi4py, under ``mpiexec``: the same tests say that
both behave alike. Tests of one process use a communicator of its own, so that they can run on any number of ranks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import cunumpy as xp

REAL = os.environ.get("CUNUMPY_TEST_MPI") == "1"
MPI = xp.mpi.get_mpi(REAL)

OPEN_MPI = REAL and "Open MPI" in MPI.Get_library_version()
MPICH = REAL and "MPICH" in MPI.Get_library_version()

serial_only = pytest.mark.skipif(REAL, reason="MPI would wait for ever, or do anything")
not_open_mpi = pytest.mark.skipif(OPEN_MPI, reason="Open MPI 5.0 has these functions of MPI 4 not")
not_mpich = pytest.mark.skipif(MPICH, reason="MPICH does not check this")


@contextmanager
def fails(*names: str) -> Iterator[None]:
    """Expect an exception of MPI with one of the error classes, such as ``"RANK"``."""
    with pytest.raises(MPI.Exception) as caught:
        yield
    found = caught.value.Get_error_class()
    assert found in [getattr(MPI, f"ERR_{name}") for name in names], str(caught.value)


def numbers(n: int, dtype: str = "f8") -> np.ndarray:
    """Return 1, 2, 3, ..."""
    return np.arange(1, n + 1).astype(dtype)
