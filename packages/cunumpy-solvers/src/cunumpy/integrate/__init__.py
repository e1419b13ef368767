"""Batched quadrature and ordinary differential equations, and SciPy's solvers for arrays of either backend."""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-solvers")

from cunumpy.integrate._dense_output import BatchedDenseOutput
from cunumpy.integrate._quadrature import QuadResult, fixed_quad, quad_batched
from cunumpy.integrate._rk4 import FixedStepResult, rk4
from cunumpy.integrate._scipy_integrate import odeint, quad, solve_ivp
from cunumpy.integrate._solve_ivp_batched import BatchedOdeResult, solve_ivp_batched

__all__ = [
    "BatchedDenseOutput",
    "BatchedOdeResult",
    "FixedStepResult",
    "QuadResult",
    "fixed_quad",
    "odeint",
    "quad",
    "quad_batched",
    "rk4",
    "solve_ivp",
    "solve_ivp_batched",
]
