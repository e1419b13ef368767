"""Batched root finding and minimisation, and SciPy's solvers for arrays of either backend."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.optimize._newton import NewtonResult, newton
from cunumpy.optimize._scipy_optimize import curve_fit, fsolve, least_squares, minimize, root, root_scalar

__all__ = ["NewtonResult", "curve_fit", "fsolve", "least_squares", "minimize", "newton", "root", "root_scalar"]
