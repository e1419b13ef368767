"""``cupyx.scipy.sparse.linalg``: solvers, by SciPy on the buffers."""

from __future__ import annotations

from typing import Any

import scipy.sparse.linalg

from .base import raised
from .direct_solvers import SuperLU, factorized, lsqr, spilu, splu, spsolve, spsolve_triangular
from .eigenvalues import eigsh, lobpcg, svds
from .iterative_solvers import bicgstab, cg, cgs, gmres, lsmr, minres
from .linear_operators import LinearOperator, aslinearoperator
from .storage import issparse, on_device


def matrix_power(A: Any, power: int) -> Any:
    """Return a power of a square matrix."""
    return raised(A, power)


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return a norm of a matrix, or those of its rows or columns."""
    if not issparse(x):
        raise TypeError("input is not sparse. use cupy.linalg.norm")
    return on_device(scipy.sparse.linalg.norm(x._host(), ord, axis))


_CONTENTS: tuple[Any, ...] = (
    LinearOperator,
    SuperLU,
    aslinearoperator,
    bicgstab,
    cg,
    cgs,
    eigsh,
    factorized,
    gmres,
    lobpcg,
    lsmr,
    lsqr,
    matrix_power,
    minres,
    norm,
    spilu,
    splu,
    spsolve,
    spsolve_triangular,
    svds,
)


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.scipy.sparse.linalg``."""
    return {one.__name__: one for one in _CONTENTS}
