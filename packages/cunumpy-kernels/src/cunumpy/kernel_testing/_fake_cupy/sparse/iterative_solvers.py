"""Systems and least-squares problems, solved iteratively."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from cunumpy.kernel_testing._fake_cupy.array_base import unsupported, used, wrap
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

from .linear_operators import aslinearoperator, host_operator
from .storage import Stored


def _system(A: Any, b: Any, x0: Any, M: Any) -> dict[str, Any]:
    """Return the arguments of an iterative solver for SciPy, after CuPy's checks."""
    A = A if isinstance(A, (ndarray, Stored)) else aslinearoperator(A)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"expected square matrix (shape: {A.shape})")
    if np.dtype(A.dtype).char not in "fdFD":
        raise TypeError(f"unsupprted dtype (actual: {A.dtype})")
    n = A.shape[0]
    for name, value in (("b", b), ("x0", x0)):
        if value is not None and not isinstance(value, ndarray):
            raise unsupported(value)
        if value is not None and value.shape not in ((n,), (n, 1)):
            raise ValueError(f"{name} has incompatible dimensions")
    if M is not None and M.shape != A.shape:
        raise ValueError("matrix and preconditioner have different shapes")
    return {
        "A": host_operator(A),
        "b": used(b).reshape(-1).astype(A.dtype),
        "x0": None if x0 is None else used(x0).reshape(-1).astype(A.dtype),
        "M": None if M is None else host_operator(M),
    }


def _called_with_device_arrays(callback: Any) -> Any:
    if callback is None:
        return None
    return lambda value: callback(wrap(value.copy()) if isinstance(value, np.ndarray) else value)


def _iterate(solve: Any, system: dict[str, Any], callback: Any, **options: Any) -> tuple[ndarray, int]:
    dtype = system["b"].dtype
    x, info = solve(**system, callback=_called_with_device_arrays(callback), **options)
    return wrap(np.asarray(x).astype(dtype, copy=False)), int(info)


def _solver(name: str, summary: str) -> Callable[..., tuple[ndarray, int]]:
    """Return an iterative solver with the parameters that most of CuPy's have."""
    solve = getattr(scipy.sparse.linalg, name)

    def solver(
        A: Any,
        b: ndarray,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: Any = None,
        M: Any = None,
        callback: Any = None,
    ) -> tuple[ndarray, int]:
        return _iterate(solve, _system(A, b, x0, M), callback, rtol=rtol, atol=atol, maxiter=maxiter)

    solver.__name__ = solver.__qualname__ = name
    solver.__doc__ = summary
    return solver


cg = _solver("cg", "Solve a system with a Hermitian positive definite matrix by conjugate gradients.")
cgs = _solver("cgs", "Solve a system by conjugate gradients squared.")
bicgstab = _solver("bicgstab", "Solve a system by stabilised biconjugate gradients.")


def gmres(
    A: Any,
    b: ndarray,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: Any = None,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
    callback_type: Any = None,
) -> tuple[ndarray, int]:
    """Solve a system by generalised minimal residuals."""
    if callback_type not in (None, "x", "pr_norm"):
        raise ValueError(f"Unknown callback_type: {callback_type}")
    options = {"rtol": rtol, "atol": atol, "restart": restart, "maxiter": maxiter}
    options["callback_type"] = callback_type or "pr_norm"
    return _iterate(scipy.sparse.linalg.gmres, _system(A, b, x0, M), callback, **options)


def minres(
    A: Any,
    b: ndarray,
    x0: Any = None,
    shift: float = 0.0,
    tol: float = 1e-5,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
    check: bool = False,
) -> tuple[ndarray, int]:
    """Solve a system with a symmetric matrix by minimal residuals."""
    options = {"shift": shift, "rtol": tol, "maxiter": maxiter, "check": check}
    return _iterate(scipy.sparse.linalg.minres, _system(A, b, x0, M), callback, **options)


def lsmr(
    A: Any,
    b: ndarray,
    x0: Any = None,
    damp: float = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    maxiter: Any = None,
) -> tuple[Any, ...]:
    """Solve a least-squares problem iteratively."""
    if not isinstance(b, ndarray):
        raise unsupported(b)
    if maxiter is None:
        maxiter = 5 * min(A.shape)
    start = None if x0 is None else used(x0).reshape(-1)
    found = scipy.sparse.linalg.lsmr(host_operator(A), used(b).squeeze(), damp, atol, btol, conlim, maxiter, x0=start)
    return wrap(found[0].astype(np.float64, copy=False)), *found[1:]
