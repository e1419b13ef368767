"""Folders with versions that Numba compiles; see `conftest.py`."""

from __future__ import annotations

import pickle

import numba
import numpy as np
import pytest

from cunumpy.kernels import KernelCatalog, use_host_kernel_implementation
from kernel_folders import AXPY, AXPY_CUDA, AXPY_NUMPY, write_package

AXPY_NUMBA = """
import numba

@numba.njit
def axpy(a, x, y, n):
    for i in range(n):
        y[i] += a * x[i]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def catalog_of(folder, numba_version, **files):
    files = {
        "axpy/axpy_kernels.py": AXPY,
        "axpy/axpy_numpy.py": AXPY_NUMPY,
        "axpy/axpy_numba.py": numba_version,
        "axpy/axpy_cuda.cu": AXPY_CUDA,
        **files,
    }
    return KernelCatalog.from_package(write_package(folder, files))


def test_numba_runs_before_numpy(folder):
    kernel = catalog_of(folder, AXPY_NUMBA)["axpy"]
    assert kernel.selected() == "numba"
    x, y = np.arange(5.0), np.ones(5)
    kernel(2.0, x, y, 4)
    assert y.tolist() == [1, 3, 5, 7, 1]
    compiled = kernel.host_kernel.kernel.get("numba")
    assert isinstance(compiled, numba.core.registry.CPUDispatcher)
    assert compiled.signatures  # it was compiled for this call
    with use_host_kernel_implementation("numpy"):
        kernel(2.0, x, y, 4)
    assert y.tolist() == [1, 5, 9, 13, 1]


def test_the_compiled_version_is_compared_with_the_others(folder):
    catalog_of(folder, AXPY_NUMBA).check_signatures()
    swapped = AXPY_NUMBA.replace("axpy(a, x, y, n)", "axpy(a, y, x, n)")
    with pytest.raises(ValueError, match=r"\(a, x, y, n\) on the host, \(a, y, x, n\) in the version with numba"):
        catalog_of(folder, swapped).check_signatures()


def test_what_numba_cannot_compile_is_said_by_numba(folder):
    kernel = catalog_of(folder, AXPY_NUMBA.replace("y[i] += a * x[i]", "y[i] += a * x[i].nonsense"))["axpy"]
    with pytest.raises(numba.TypingError, match="nonsense"):
        kernel(2.0, np.arange(5.0), np.ones(5), 4)


def test_a_folder_with_a_numba_version_alone(folder):
    package = write_package(folder, {"axpy/axpy_numba.py": AXPY_NUMBA})
    kernel = KernelCatalog.from_package(package)["axpy"]
    assert kernel.implementations == ("numba",)
    y = np.zeros(3)
    pickle.loads(pickle.dumps(kernel))(1.0, np.ones(3), y, 3)
    assert y.tolist() == [1, 1, 1]
