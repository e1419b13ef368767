"""Some eigenvalues or singular values of a matrix, and their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg

from cunumpy.kernel_testing._fake_cupy.array_base import unsupported, used, wrap
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

from .linear_operators import host_operator


def _check_number(A: Any, k: int, most: int, words: str) -> None:
    if np.dtype(A.dtype).char not in "fdFD":
        raise TypeError(f"unsupprted dtype (actual: {A.dtype})")
    if k <= 0:
        raise ValueError(f"k must be greater than 0 (actual: {k})")
    if k >= most:
        raise ValueError(f"k must be smaller than {words} (actual: {k})")


def eigsh(
    a: Any,
    k: int = 6,
    *,
    which: str = "LM",
    v0: Any = None,
    ncv: Any = None,
    maxiter: Any = None,
    tol: float = 0,
    return_eigenvectors: bool = True,
) -> Any:
    """Return some eigenvalues of a Hermitian matrix, in ascending order, and their vectors."""
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected square matrix (shape: {a.shape})")
    _check_number(a, k, a.shape[0], "n")
    if which not in ("LM", "LA", "SA"):
        raise ValueError(f"which must be 'LM','LA'or'SA' (actual: {which})")
    start = None if v0 is None else used(v0)
    values, vectors = scipy.sparse.linalg.eigsh(
        host_operator(a), k, which=which, v0=start, ncv=ncv, maxiter=maxiter, tol=tol
    )
    order = np.argsort(values)
    return (wrap(values[order]), wrap(vectors[:, order])) if return_eigenvectors else wrap(values[order])


def svds(
    a: Any,
    k: int = 6,
    *,
    ncv: Any = None,
    tol: float = 0,
    which: str = "LM",
    maxiter: Any = None,
    return_singular_vectors: bool = True,
) -> Any:
    """Return the largest singular values of a matrix, in ascending order, between their vectors."""
    if len(a.shape) != 2:
        raise ValueError(f"expected 2D (shape: {a.shape})")
    _check_number(a, k, min(a.shape), "min(m, n)")
    u, s, vh = scipy.sparse.linalg.svds(host_operator(a), k, ncv=ncv, tol=tol, which="LM", maxiter=maxiter)
    order = np.argsort(s)
    if not return_singular_vectors:
        return wrap(s[order])
    return wrap(u[:, order]), wrap(s[order]), wrap(vh[order])


def lobpcg(
    A: Any,
    X: Any,
    B: Any = None,
    M: Any = None,
    Y: Any = None,
    tol: Any = None,
    maxiter: Any = None,
    largest: bool = True,
    verbosityLevel: int = 0,
    retLambdaHistory: bool = False,
    retResidualNormsHistory: bool = False,
) -> Any:
    """Return eigenvalues and vectors of a symmetric problem, from approximate vectors."""
    if not isinstance(X, ndarray) or (Y is not None and not isinstance(Y, ndarray)):
        raise unsupported(Y if isinstance(X, ndarray) else X)

    def given(one: Any) -> Any:
        if one is None:
            return None
        if callable(one) and not hasattr(one, "shape"):
            return lambda block: used(one(wrap(np.array(block))))
        return host_operator(one)

    found = scipy.sparse.linalg.lobpcg(
        given(A),
        used(X).copy(),
        given(B),
        given(M),
        None if Y is None else used(Y),
        tol,
        maxiter,
        largest,
        verbosityLevel,
        retLambdaHistory,
        retResidualNormsHistory,
    )
    return tuple([wrap(np.asarray(one)) for one in part] if isinstance(part, list) else wrap(part) for part in found)
