"""Functions of matrices, and what tells the kinds of matrices from each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from cunumpy.kernel_testing._fake_cupy.array_base import used
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

from .base import spmatrix
from .construction import formatted, on_host
from .formats import coo_matrix, csc_matrix, csr_matrix, dia_matrix
from .storage import Stored, issparse, on_device, operand


def isspmatrix(x: Any) -> bool:
    """Whether a value is a sparse matrix of this module."""
    return isinstance(x, spmatrix)


def _is_a(kind: type) -> Callable[[Any], bool]:
    """Return a function that says whether a value is of a class."""

    def is_a(x: Any) -> bool:
        return isinstance(x, kind)

    form = kind.__name__.partition("_")[0]
    is_a.__name__ = is_a.__qualname__ = f"isspmatrix_{form}"
    is_a.__doc__ = f"Whether a value is a `{kind.__name__}`."
    return is_a


isspmatrix_csr, isspmatrix_csc = _is_a(csr_matrix), _is_a(csc_matrix)
isspmatrix_coo, isspmatrix_dia = _is_a(coo_matrix), _is_a(dia_matrix)


def _check_sparse(name: str, A: Any) -> None:
    if not issparse(A):
        raise TypeError(f"{name} expected a sparse object")


def matrix_transpose(A: Any) -> Any:
    """Return the transpose."""
    _check_sparse("matrix_transpose", A)
    return A.transpose()


def swapaxes(A: Any, axis1: int, axis2: int) -> Any:
    """Return the matrix with its axes exchanged."""
    _check_sparse("swapaxes", A)
    if not (-2 <= axis1 < 2 and -2 <= axis2 < 2):
        raise ValueError("axis out of range for 2-D sparse object")
    return A.copy() if axis1 % 2 == axis2 % 2 else A.transpose()


def permute_dims(A: Any, axes: Any = None, copy: bool = False) -> Any:
    """Return the matrix with its axes in another order."""
    _check_sparse("permute_dims", A)
    order = (1, 0) if axes is None else tuple(axis + 2 if axis < 0 else axis for axis in axes)
    if sorted(order) != [0, 1]:
        raise ValueError("axes must be a permutation of (0, 1)")
    if order == (0, 1):
        return A.copy() if copy else A
    return A.transpose(copy=copy)


def _check_matrix(A: Any) -> None:
    if not isinstance(A, (ndarray, Stored)):
        raise TypeError("A must be cupy.ndarray or cupyx.scipy.sparse")


def find(A: Any) -> Any:
    """Return rows, columns and values of the elements that are not zero."""
    _check_matrix(A)
    return on_device(scipy.sparse.find(operand(A)))


def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the lower triangle."""
    _check_matrix(A)
    return formatted(scipy.sparse.tril(operand(A), k, "coo"), format)


def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the upper triangle."""
    _check_matrix(A)
    return formatted(scipy.sparse.triu(operand(A), k, "coo"), format)


def get_index_dtype(arrays: Any = (), maxval: Any = None, check_contents: bool = False) -> Any:
    """Return the type that indices need."""
    given = [on_host(array) for array in ((arrays,) if isinstance(arrays, ndarray) else arrays)]
    return scipy.sparse.get_index_dtype(tuple(map(np.asarray, given)), maxval, check_contents)


def safely_cast_index_arrays(A: Any, idx_dtype: Any = np.int32, msg: str = "") -> Any:
    """Return the index arrays with another type."""
    arrays = tuple(getattr(A, name) for name in A._fields if name != "data")
    dtype = np.dtype(idx_dtype)
    for array in arrays:
        if array.size and used(array).max() > np.iinfo(dtype).max:
            raise ValueError(f"indices values too large for {msg or f'dtype {dtype}'}")
    cast = tuple(array.astype(dtype, copy=False) for array in arrays)
    return cast[0] if len(cast) == 1 else cast
