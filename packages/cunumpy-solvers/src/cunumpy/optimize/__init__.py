"""Batched root finding and minimisation, and SciPy's solvers for arrays of either backend."""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-solvers")

from cunumpy.optimize._bracketing import BracketResult, RootResult, bracket_root, find_root
from cunumpy.optimize._levenberg_marquardt import LeastSquaresResult, least_squares_batched
from cunumpy.optimize._newton import NewtonResult, newton
from cunumpy.optimize._scipy_optimize import curve_fit, fsolve, least_squares, minimize, root, root_scalar

__all__ = [
    "BracketResult",
    "LeastSquaresResult",
    "NewtonResult",
    "RootResult",
    "bracket_root",
    "curve_fit",
    "find_root",
    "fsolve",
    "least_squares",
    "least_squares_batched",
    "minimize",
    "newton",
    "root",
    "root_scalar",
]
