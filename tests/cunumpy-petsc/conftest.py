"""Tests with PETSc itself are collected where petsc4py is installed only; CI makes an environment that has it."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("petsc4py") is None:
    collect_ignore_glob = ["test_real_*.py"]
