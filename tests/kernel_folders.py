"""Packages of kernel folders, written for one test and importable in it."""

from __future__ import annotations

import importlib
import itertools
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from cpp_compiler import compiler

_numbers = itertools.count()

AXPY = """
def axpy(a: float, x: 'Final[float[:]]', y: 'float[:]', n: int):
    for i in range(n):
        y[i] += a * x[i]
"""
AXPY_NUMPY = """
def axpy(a, x, y, n):
    y[:n] += a * x[:n]
"""
AXPY_CUDA = """
extern "C" __global__ void helper(double* y) { y[0] = 0; }
extern "C" __global__ void axpy(double a, const double* x, double* y, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""

EXTENSION = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static PyObject* halve(PyObject*, PyObject* array) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS)) return nullptr;
    for (Py_ssize_t i = 0; i < view.len / 8; ++i) ((double*)view.buf)[i] *= 0.5;
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"halve", halve, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "halve_kernels", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_halve_kernels() { return PyModule_Create(&module); }
"""
"""A module ``halve_kernels`` with a function, as Pyccel would make it."""


def write_package(folder: Path, files: Mapping[str, str], *, init: bool = True) -> str:
    """Write files into a new package in a folder on ``sys.path``, and return its name.

    Parameters
    ----------
    folder : Path
        Where the package goes.
    files : mapping of str to str
        Their texts by path, as ``"axpy/axpy_kernels.py"``.
    init : bool
        Whether the package and its folders have an ``__init__.py``.
    """
    name = f"kernel_package_{next(_numbers)}"
    root = folder / name
    root.mkdir()
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if init:
        for inner in (root, *(path for path in root.rglob("*") if path.is_dir())):
            (inner / "__init__.py").touch()
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return name


def forget_packages(folder: Path) -> None:
    """Undo `write_package`."""
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.startswith("kernel_package_")]:
        del sys.modules[name]


def compile_extension(folder: Path) -> Path:
    """Compile `EXTENSION` into a folder."""
    source = folder / "extension.cpp"
    source.write_text(EXTENSION)
    library = folder / f"halve_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    command = [*compiler(), "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    source.unlink()
    importlib.invalidate_caches()
    return library
