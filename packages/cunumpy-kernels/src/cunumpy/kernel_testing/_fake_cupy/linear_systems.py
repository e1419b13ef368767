"""``cupyx.lapack``, ``cupyx.linalg`` and ``cupyx.linalg.sparse``: solvers beside those of ``cupy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array_base import changed, unwrap, wrap
from .ndarray import ndarray

_LAPACK_TYPES = "fdFD"


def _assert_arrays(*arrays: Any) -> None:
    """Raise CuPy's error for what is no device array."""
    for array in arrays:
        if not isinstance(array, ndarray):
            raise np.linalg.LinAlgError(f"cupy.linalg only supports cupy.ndarray, got {type(array)}")


def _assert_square(array: ndarray) -> None:
    if array.ndim < 2:
        raise np.linalg.LinAlgError(f"{array.ndim}-dimensional array given. Array must be at least two-dimensional")
    if array.shape[-1] != array.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def _solve_triangles(factor: Any, lower: bool, right: Any, is_vector: bool) -> ndarray:
    """Solve systems by a Cholesky factor, of which one triangle is read."""
    triangle = np.tril(factor) if lower else np.triu(factor)
    other = triangle.conj().swapaxes(-1, -2)
    columns = right[..., None] if is_vector else right
    first, second = (triangle, other) if lower else (other, triangle)
    found = np.linalg.solve(second, np.linalg.solve(first, columns))
    return wrap(np.ascontiguousarray(found[..., 0] if is_vector else found))


# ---- cupyx.linalg ----


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> ndarray:
    """Solve a linear system, or a batch of them, by a Cholesky factor."""
    factor, lower = c_and_lower
    matrix, right = unwrap(factor), unwrap(b)
    if check_finite:
        below = np.tril_indices(matrix.shape[-1], -1) if lower else np.triu_indices(matrix.shape[-1], 1)
        if not (np.isfinite(matrix[..., below[0], below[1]]).all() and np.isfinite(right).all()):
            raise ValueError("Input array contains NaN or infinity.")
    return _solve_triangles(matrix, bool(lower), right, right.ndim == matrix.ndim - 1)


def invh(a: Any) -> ndarray:
    """Return the inverse of a Hermitian positive definite matrix."""
    matrix = unwrap(a)
    if matrix.ndim != 2:
        raise np.linalg.LinAlgError(f"{matrix.ndim}-dimensional array given. Array must be two-dimensional")
    _assert_square(a)
    factor = np.linalg.cholesky(matrix)  # as CuPy's: an error where the matrix is not positive definite
    inverse = np.linalg.inv(factor)
    return wrap(inverse.conj().T @ inverse)


def lschol(A: Any, b: Any) -> ndarray:
    """Solve a system with a sparse symmetric positive definite matrix."""
    from .sparse.formats import csr_matrix
    from .sparse.storage import issparse

    if not (issparse(A) and A.format == "csr"):
        A = csr_matrix(A)
    if A.shape[0] != A.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    _assert_arrays(b)
    if b.ndim != 1 or len(b) != A.shape[0]:
        raise ValueError("b must be 1-d array whose size is same as A")
    lower = np.linalg.cholesky(A._host().toarray())
    return _solve_triangles(lower, True, unwrap(b), True).astype(np.float64)


# ---- cupyx.lapack ----


def _check_matrix(a: ndarray, b: ndarray, kind: type[Exception]) -> None:
    """Raise what `gesv` and `gels` raise of shapes and dtypes; the latter's errors are of a kind."""
    if a.ndim != 2:
        raise ValueError(f"a.ndim must be 2 (actual: {a.ndim})")
    if b.ndim not in (1, 2):
        raise ValueError(f"b.ndim must be 1 or 2 (actual: {b.ndim})")
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"shape mismatch (a: {a.shape}, b: {b.shape}).")
    if a.dtype != b.dtype:
        raise kind(f"dtype mismatch (a: {a.dtype}, b: {b.dtype})")
    if a.dtype.char not in _LAPACK_TYPES:
        raise kind(f"unsupported dtype (actual: {a.dtype})")


def gesv(a: ndarray, b: ndarray) -> None:
    """Solve a linear system by its LU decomposition: the answer is in ``b`` afterwards, and the factors in ``a``."""
    import scipy.linalg

    if a.ndim == 2 and a.shape[0] != a.shape[1]:
        raise ValueError("a must be a square matrix.")
    _check_matrix(a, b, TypeError)
    if not (a.flags.c_contiguous or a.flags.f_contiguous):
        raise ValueError("a must be F-contiguous or C-contiguous.")
    if not b.flags.f_contiguous:
        raise ValueError("b must be F-contiguous.")
    by_columns = a.flags.f_contiguous
    with changed(a) as matrix, changed(b) as right:
        # CUDA's library reads an array in C order as the transpose, and leaves the factors of that.
        read = matrix if by_columns else matrix.T
        factors, pivots = scipy.linalg.lu_factor(read, check_finite=False)
        right[...] = scipy.linalg.lu_solve((factors, pivots), right, trans=0 if by_columns else 1, check_finite=False)
        read[...] = factors


def gels(a: ndarray, b: ndarray) -> ndarray:
    """Solve a system in the sense of least squares, or with the smallest answer, by QR decomposition."""
    _check_matrix(a, b, ValueError)
    matrix, right = unwrap(a), unwrap(b)
    rows, columns = matrix.shape
    if rows >= columns:
        q, r = np.linalg.qr(matrix)
        return wrap(np.linalg.solve(r, q.conj().T @ right))
    q, r = np.linalg.qr(matrix.conj().T)
    return wrap(np.asfortranarray(q @ np.linalg.solve(r.conj().T, right)))


def posv(a: ndarray, b: ndarray) -> ndarray:
    """Solve systems with Hermitian positive definite matrices by Cholesky decompositions."""
    _assert_arrays(a, b)
    _assert_square(a)
    dtype = np.result_type(a.dtype, b.dtype, "f")
    if dtype.char not in _LAPACK_TYPES:
        raise ValueError(f"dtype must be float32, float64, complex64 or complex128 (actual: {a.dtype})")
    lower = np.linalg.cholesky(unwrap(a).astype(dtype))
    return _solve_triangles(lower, True, unwrap(b).astype(dtype), b.ndim == a.ndim - 1)


def potrs(L: ndarray, b: ndarray, lower: bool) -> ndarray:
    """Solve systems by Cholesky factors."""
    _assert_arrays(L, b)
    _assert_square(L)
    dtype = np.result_type(L.dtype, b.dtype, "f")
    return _solve_triangles(unwrap(L).astype(dtype), lower, unwrap(b).astype(dtype), b.ndim == L.ndim - 1)


def modules() -> dict[str, dict[str, Any]]:
    """Return the contents of the modules, a package first."""
    return {
        "cupyx.linalg": {f.__name__: f for f in (cho_solve, invh)},
        "cupyx.linalg.sparse": {"lschol": lschol},
        "cupyx.lapack": {f.__name__: f for f in (gels, gesv, posv, potrs)},
    }
