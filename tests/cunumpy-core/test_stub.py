"""The stub that editors and type checkers read agrees with the namespace at run time."""

import ast
import importlib.util
from pathlib import Path

import numpy as np

import cunumpy as xp
from cunumpy import _installation

STUB = Path(importlib.util.find_spec("cunumpy").origin).with_suffix(".pyi")


def declared():
    """Give the public names that the stub declares, each with the module it comes from."""
    found = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname: node.module for alias in node.names if alias.asname and alias.asname[0] != "_"}
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


def test_every_name_of_numpy_is_declared():
    removed = {"in1d", "trapz"}  # by NumPy 2.4; deprecated before
    assert {name for name in np.__all__ if name[0] != "_"} - removed <= declared().keys()


def test_every_declared_name_is_there():
    newest = np.lib.NumpyVersion(np.__version__) >= "2.4.0"  # older ones lack some of NumPy's names
    missing = {name for name in _installation.SUBMODULES if not _installation.has_submodule(name)}
    for name, module in declared().items():
        if name in missing:  # the stub is that of all packages
            continue
        assert hasattr(xp, name) or (module == "numpy" and not newest), name


def test_own_names_are_declared():
    assert set(xp.__all__) <= declared().keys()
    numpys = {name for name, module in declared().items() if module is not None and module.startswith("numpy")}
    assert not numpys & set(xp.__all__)


def test_names_of_fft_are_declared():
    stub = STUB.parent / "_numpy_namespace" / "fft.pyi"
    names = {name for node in ast.parse(stub.read_text()).body for name in [getattr(node, "name", None)]}
    names |= {
        alias.asname
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.module == "numpy.fft"
        for alias in node.names
    }
    assert names - {None} == set(np.fft.__all__)
