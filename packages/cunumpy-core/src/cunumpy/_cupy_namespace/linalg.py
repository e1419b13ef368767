"""`cupy.linalg` with the call forms and named results of `numpy.linalg` and of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import array_api_compat.cupy.linalg as _standard
import cupy.linalg as _linalg
import numpy.linalg as _numpy_linalg

from cunumpy._cupy_namespace._adapt import adapt as _adapt

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


_svd = globals()["svd"]
del _name


def eig(a: Any) -> Any:
    """Eigenvalues and right eigenvectors, with names; see `cupy.linalg.eig`."""
    return EigResult(*_linalg.eig(a))


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix, with names; see `cupy.linalg.eigh`."""
    return EighResult(*_linalg.eigh(a, UPLO))


def qr(a: Any, mode: str = "reduced") -> Any:
    """QR decomposition, with names where there are two results; see `cupy.linalg.qr`."""
    result = _linalg.qr(a, mode)
    return QRResult(*result) if mode in ("reduced", "complete") else result


def slogdet(a: Any) -> Any:
    """Sign and logarithm of a determinant, with names; see `cupy.linalg.slogdet`."""
    return SlogdetResult(*_linalg.slogdet(a))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular value decomposition, with names where there are three results; see `cupy.linalg.svd`."""
    result = _svd(a, full_matrices, compute_uv, hermitian=hermitian)
    return SVDResult(*result) if compute_uv else result
