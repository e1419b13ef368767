"""`cupy.linalg` with the call forms and named results of `numpy.linalg` and of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import array_api_compat.cupy.linalg as _standard
import cupy as _cupy
import cupy.linalg as _linalg
import numpy as _numpy
import numpy.linalg as _numpy_linalg

from cunumpy._cupy_namespace._adapt import adapt as _adapt
from cunumpy.errors import ArgumentError

_NOT_GIVEN = _numpy._NoValue

__all__ = [_name for _name in dir(_linalg) if not _name.startswith("_") and _name != "annotations"]

for _name in __all__:
    globals()[_name] = _adapt(f"linalg.{_name}", getattr(_linalg, _name), getattr(_numpy_linalg, _name, None))
for _name in _numpy_linalg.__all__:
    if _name not in globals() and hasattr(_standard, _name):
        globals()[_name] = getattr(_standard, _name)
        __all__.append(_name)

EighResult = _standard.EighResult
QRResult = _standard.QRResult
SlogdetResult = _standard.SlogdetResult
SVDResult = _standard.SVDResult


class EigResult(NamedTuple):
    """Eigenvalues and right eigenvectors of a general matrix."""

    eigenvalues: Any
    eigenvectors: Any


del _name


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Cholesky factor from the lower or the upper triangle; see `cupy.linalg.cholesky`."""
    return _adjoint(_linalg.cholesky(_adjoint(a))) if upper else _linalg.cholesky(a)


def eig(a: Any) -> Any:
    """Eigenvalues and right eigenvectors, with names; see `cupy.linalg.eig`."""
    return EigResult(*_linalg.eig(a))


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix, with names; see `cupy.linalg.eigh`."""
    return EighResult(*_linalg.eigh(a, UPLO))


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Rank by counting singular values above a tolerance, as `numpy.linalg.matrix_rank` defines it."""
    if tol is not None and rtol is not None:
        raise ArgumentError("linalg.matrix_rank: tol and rtol can't both be given.")
    if A.ndim < 2:
        return (~_cupy.all(A == 0)).astype(int)
    values = svd(A, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(A.shape[-2:]) * _cupy.finfo(values.dtype).eps
        tol = values.max(axis=-1, keepdims=True) * _last_axis(rtol)
    else:
        tol = _last_axis(tol)
    return _cupy.count_nonzero(values > tol, axis=-1)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN) -> Any:
    """Pseudo-inverse by the singular value decomposition, as `numpy.linalg.pinv` defines it."""
    if rtol is not _NOT_GIVEN and rcond is not None:
        raise ArgumentError("linalg.pinv: rtol and rcond can't both be given.")
    if rcond is None:
        rcond = 1e-15 if rtol is _NOT_GIVEN else rtol
    if rcond is None:
        rcond = max(a.shape[-2:]) * _cupy.finfo(a.dtype if a.dtype.kind in "fc" else float).eps
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    large = s > _last_axis(rcond) * s.max(axis=-1, keepdims=True)
    inverse = _cupy.where(large, 1 / _cupy.where(large, s, 1), 0).astype(s.dtype)
    return _adjoint(vh) @ (inverse[..., None] * _adjoint(u))


def qr(a: Any, mode: str = "reduced") -> Any:
    """QR decomposition, with names where there are two results; see `cupy.linalg.qr`."""
    result = _linalg.qr(a, mode)
    return QRResult(*result) if mode in ("reduced", "complete") else result


def slogdet(a: Any) -> Any:
    """Sign and logarithm of a determinant, with names; see `cupy.linalg.slogdet`."""
    return SlogdetResult(*_linalg.slogdet(a))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular value decomposition, with names where there are three results; see `cupy.linalg.svd`.

    For a Hermitian matrix it comes from the eigenvalues, as in NumPy.
    """
    if not hermitian:
        result = _linalg.svd(a, full_matrices, compute_uv)
        return SVDResult(*result) if compute_uv else result
    if not compute_uv:
        return _cupy.sort(_cupy.abs(_linalg.eigvalsh(a)), axis=-1)[..., ::-1]
    values, vectors = _linalg.eigh(a)
    order = _cupy.argsort(_cupy.abs(values), axis=-1)[..., ::-1]
    values = _cupy.take_along_axis(values, order, -1)
    u = _cupy.take_along_axis(vectors, order[..., None, :], -1)
    return SVDResult(u, _cupy.abs(values), _adjoint(u * _cupy.sign(values)[..., None, :]))


def _adjoint(a: Any) -> Any:
    return _cupy.conj(_cupy.swapaxes(a, -1, -2))


def _last_axis(value: Any) -> Any:
    """Give an array of one value per matrix an axis for the singular values."""
    return value[..., None] if isinstance(value, _cupy.ndarray) else value


def __getattr__(name: str) -> NoReturn:
    from cunumpy._missing_names import raise_missing

    raise_missing("linalg", name, "cupy", __all__)
