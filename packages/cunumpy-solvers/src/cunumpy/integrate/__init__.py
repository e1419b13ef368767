"""Batched quadrature and ordinary differential equations, and SciPy's solvers for arrays of either backend."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.integrate._scipy_integrate import odeint, quad, solve_ivp

__all__ = ["odeint", "quad", "solve_ivp"]
