"""Systems solved by decompositions into triangular matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from cunumpy.kernel_testing._fake_cupy.array_base import used, wrap
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

from .formats import csr_matrix
from .storage import SparseEfficiencyWarning, issparse


def lsqr(A: Any, b: ndarray) -> tuple[Any, ...]:
    """Solve a system by QR decomposition: the answer and nine times None."""
    if not (issparse(A) and A.format == "csr"):
        A = csr_matrix(A)
    if A.shape[0] != A.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if not isinstance(b, ndarray):
        raise np.linalg.LinAlgError(f"cupy.linalg only supports cupy.ndarray, got {type(b)}")
    if b.ndim != 1 or len(b) != A.shape[0]:
        raise ValueError("b must be 1-d array whose size is same as A")
    x = scipy.sparse.linalg.spsolve(A._host().tocsc(), used(b))
    return (wrap(np.asarray(x, np.float64)), *(None,) * 9)


def _check_system(A: Any, b: Any) -> None:
    if not issparse(A):
        raise TypeError("A must be cupyx.scipy.sparse.spmatrix")
    if not isinstance(b, ndarray):
        raise TypeError("b must be cupy.ndarray")
    _check_square(A)
    if b.ndim not in (1, 2):
        raise ValueError(f"Invalid b.shape (b.shape: {b.shape})")
    if A.shape[0] != b.shape[0]:
        raise ValueError(f"matrix dimension mismatch (A.shape: {A.shape}, b.shape: {b.shape})")


def _check_square(A: Any) -> None:
    if not issparse(A):
        raise TypeError("A must be cupyx.scipy.sparse.spmatrix")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix (A.shape: {A.shape})")


def _by_rows(A: Any, formats: tuple[str, ...]) -> Any:
    if A.format in formats:
        return A
    warnings.warn("CSR format is required. Converting to CSR format.", SparseEfficiencyWarning, stacklevel=3)
    return A.tocsr()


def spsolve(A: Any, b: ndarray) -> ndarray:
    """Solve a system by QR decomposition."""
    _check_system(A, b)
    A = _by_rows(A, ("csr",))
    x = scipy.sparse.linalg.spsolve(A._host().tocsc(), used(b).astype(A.dtype))
    return wrap(np.array(np.reshape(x, b.shape), A.dtype, order="F"))


def spsolve_triangular(
    A: Any,
    b: ndarray,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> ndarray:
    """Solve a system with a triangular matrix."""
    _check_system(A, b)
    if A.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {A.dtype})")
    A = _by_rows(A, ("csr", "csc", "coo"))
    triangle = (scipy.sparse.tril if lower else scipy.sparse.triu)(A._host(), format="csr")
    right = used(b).astype(A.dtype)
    x = scipy.sparse.linalg.spsolve_triangular(triangle, right, lower=lower, unit_diagonal=unit_diagonal)
    return wrap(np.array(x, np.promote_types(A.dtype, np.float64), order="F"))


class SuperLU:
    """A decomposition into triangular matrices, made on the host.

    Parameters
    ----------
    obj : scipy.sparse.linalg.SuperLU
    """

    def __init__(self, obj: Any) -> None:
        if not isinstance(obj, scipy.sparse.linalg.SuperLU):
            raise TypeError("obj must be scipy.sparse.linalg.SuperLU")
        self._decomposed = obj
        self.shape, self.nnz = obj.shape, obj.nnz
        self.perm_r, self.perm_c = wrap(obj.perm_r.copy()), wrap(obj.perm_c.copy())
        self.L, self.U = csr_matrix(obj.L), csr_matrix(obj.U)

    def solve(self, rhs: Any, trans: str = "N") -> ndarray:
        """Solve a system with one or more right-hand sides."""
        if not isinstance(rhs, ndarray):
            raise TypeError("ojb must be cupy.ndarray")
        if rhs.ndim not in (1, 2):
            raise ValueError(f"rhs.ndim must be 1 or 2 (actual: {rhs.ndim})")
        if rhs.shape[0] != self.shape[0]:
            raise ValueError(f"shape mismatch (self.shape: {self.shape}, rhs.shape: {rhs.shape})")
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be 'N', 'T', or 'H'")
        x = self._decomposed.solve(used(rhs).astype(self.L.dtype), trans)
        return wrap(np.asfortranarray(x))


SuperLU.__module__ = "cupyx.scipy.sparse.linalg"


def _decomposable(A: Any) -> Any:
    _check_square(A)
    if A.dtype.char not in "fdFD":
        raise TypeError(f"Invalid dtype (actual: {A.dtype})")
    return A._host().tocsc()


def splu(
    A: Any,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = {},  # noqa: B006 - CuPy's signature
) -> SuperLU:
    """Decompose a matrix into triangular ones."""
    return SuperLU(
        scipy.sparse.linalg.splu(_decomposable(A), permc_spec, diag_pivot_thresh, relax, panel_size, dict(options))
    )


def spilu(
    A: Any,
    drop_tol: Any = None,
    fill_factor: Any = None,
    drop_rule: Any = None,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = {},  # noqa: B006 - CuPy's signature
) -> SuperLU:
    """Decompose a matrix into triangular ones, approximately."""
    given = (drop_tol, fill_factor, drop_rule, permc_spec, diag_pivot_thresh, relax, panel_size, dict(options))
    return SuperLU(scipy.sparse.linalg.spilu(_decomposable(A), *given))


def factorized(A: Any) -> Callable[..., ndarray]:
    """Return a function that solves systems with a matrix."""
    return splu(A).solve
