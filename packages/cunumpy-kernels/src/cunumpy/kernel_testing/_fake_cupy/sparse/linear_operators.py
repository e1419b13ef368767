"""Matrices that are known by their products alone, and what SciPy's solvers take for them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from cunumpy.kernel_testing._fake_cupy.array_base import unsupported, used, wrap
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

from .storage import is_scalar, issparse


class LinearOperator:
    """A matrix that is known by its products alone.

    Parameters
    ----------
    shape : tuple of int
    matvec, rmatvec, matmat, rmatmat : callable
        Products of the matrix, or of its adjoint, with a vector or a matrix, all on the device.
    dtype : dtype, optional
        By default that of a product.
    """

    ndim = 2
    dtype: Any
    shape: tuple[int, int]

    def __new__(cls, *args: Any, **kwargs: Any) -> LinearOperator:
        """Return an operator of functions, or one of a subclass."""
        if cls is LinearOperator:
            return super().__new__(_Custom)
        if cls._matvec is LinearOperator._matvec and cls._matmat is LinearOperator._matmat:
            warnings.warn(
                "LinearOperator subclass should implement at least one of _matvec and _matmat.",
                RuntimeWarning,
                stacklevel=2,
            )
        return super().__new__(cls)

    def __init__(self, dtype: Any, shape: Any) -> None:
        shape = tuple(shape)
        if len(shape) != 2 or not all(isinstance(one, (int, np.integer)) for one in shape):
            raise ValueError(f"invalid shape {shape!r} (must be 2-d)")
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.shape = shape

    def _matvec(self, x: ndarray) -> Any:
        return self.matmat(x.reshape(-1, 1))

    def _matmat(self, X: ndarray) -> Any:
        return _columns(self.matvec, X)

    def _rmatvec(self, x: ndarray) -> Any:
        if type(self)._adjoint is LinearOperator._adjoint:
            raise NotImplementedError
        return self.H.matvec(x)

    def _rmatmat(self, X: ndarray) -> Any:
        if type(self)._adjoint is LinearOperator._adjoint:
            return _columns(self.rmatvec, X)
        return self.H.matmat(X)

    def matvec(self, x: ndarray) -> Any:
        """Return the product with a vector."""
        return self._with_vector(self._matvec, x, *self.shape)

    def rmatvec(self, x: ndarray) -> Any:
        """Return the product of the adjoint with a vector."""
        return self._with_vector(self._rmatvec, x, *self.shape[::-1])

    def _with_vector(self, product: Callable[[ndarray], Any], x: Any, rows: int, columns: int) -> Any:
        if not isinstance(x, ndarray):
            raise unsupported(x)
        if x.shape not in ((columns,), (columns, 1)):
            raise ValueError("dimension mismatch")
        return product(x).reshape(rows, *((1,) if x.ndim == 2 else ()))

    def matmat(self, X: ndarray) -> Any:
        """Return the product with a matrix."""
        return self._with_matrix(self._matmat, X, self.shape[1])

    def rmatmat(self, X: ndarray) -> Any:
        """Return the product of the adjoint with a matrix."""
        return self._with_matrix(self._rmatmat, X, self.shape[0])

    def _with_matrix(self, product: Callable[[ndarray], Any], X: Any, rows: int) -> Any:
        if not isinstance(X, ndarray):
            raise unsupported(X)
        if X.ndim != 2:
            raise ValueError(f"expected 2-d ndarray or matrix, not {X.ndim}-d")
        if X.shape[0] != rows:
            raise ValueError(f"dimension mismatch: {self.shape!r}, {X.shape!r}")
        return product(X)

    def __call__(self, x: Any) -> Any:
        return self * x

    def __mul__(self, x: Any) -> Any:
        return self.dot(x)

    def dot(self, x: Any) -> Any:
        """Return the product with a vector, a matrix, another operator or a number."""
        if isinstance(x, LinearOperator):
            if self.shape[1] != x.shape[0]:
                raise ValueError(f"cannot multiply {self!r} and {x!r}: shape mismatch")
            return _combined(
                (self.shape[0], x.shape[1]),
                (self, x),
                lambda v: self.matvec(x.matvec(v)),
                lambda v: x.rmatvec(self.rmatvec(v)),
            )
        if is_scalar(x):
            return _combined(
                self.shape, (self,), lambda v: x * self.matvec(v), lambda v: np.conj(x) * self.rmatvec(v), x
            )
        if not isinstance(x, ndarray):
            raise unsupported(x)
        if x.ndim == 1 or (x.ndim == 2 and x.shape[1] == 1):
            return self.matvec(x)
        if x.ndim == 2:
            return self.matmat(x)
        raise ValueError(f"expected 1-d or 2-d array, got {x!r}")

    def __matmul__(self, other: Any) -> Any:
        if np.isscalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self * other

    def __rmul__(self, x: Any) -> Any:
        return self.dot(x) if np.isscalar(x) else NotImplemented

    def __pow__(self, p: Any) -> Any:
        if not isinstance(p, int):
            return NotImplemented
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"square LinearOperator expected, got {self!r}")
        if p < 0:
            raise ValueError("non-negative integer expected as p")
        return _combined(self.shape, (self,), lambda v: _times(self.matvec, p, v), lambda v: _times(self.rmatvec, p, v))

    def __add__(self, x: Any) -> Any:
        if not isinstance(x, LinearOperator):
            return NotImplemented
        if self.shape != x.shape:
            raise ValueError(f"cannot add {self!r} and {x!r}: shape mismatch")
        return _combined(
            self.shape, (self, x), lambda v: self.matvec(v) + x.matvec(v), lambda v: self.rmatvec(v) + x.rmatvec(v)
        )

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, x: Any) -> Any:
        return self + (-x)

    def __repr__(self) -> str:
        kind = "unspecified dtype" if self.dtype is None else f"dtype={self.dtype}"
        return f"<{self.shape[0]}x{self.shape[1]} {type(self).__name__} with {kind}>"

    def adjoint(self) -> Any:
        """Return the conjugate of the transpose."""
        return self._adjoint()

    H = property(adjoint)

    def transpose(self) -> Any:
        """Return the transpose."""
        return self._transpose()

    T = property(transpose)

    def _adjoint(self) -> Any:
        return _combined(self.shape[::-1], (self,), self.rmatvec, self.matvec)

    def _transpose(self) -> Any:
        return _combined(
            self.shape[::-1],
            (self,),
            lambda v: self.rmatvec(v.conj()).conj(),
            lambda v: self.matvec(v.conj()).conj(),
        )


LinearOperator.__module__ = "cupyx.scipy.sparse.linalg"


class _Custom(LinearOperator):
    """An operator of functions."""

    def __init__(
        self,
        shape: Any,
        matvec: Callable[[ndarray], Any],
        rmatvec: Any = None,
        matmat: Any = None,
        dtype: Any = None,
        rmatmat: Any = None,
    ) -> None:
        super().__init__(dtype, shape)
        self._functions = matvec, rmatvec, matmat, rmatmat
        if self.dtype is None:
            self.dtype = self.matvec(wrap(np.zeros(self.shape[1]))).dtype

    def _matvec(self, x: ndarray) -> Any:
        return self._functions[0](x)

    def _rmatvec(self, x: ndarray) -> Any:
        if self._functions[1] is None:
            raise NotImplementedError("rmatvec is not defined")
        return self._functions[1](x)

    def _matmat(self, X: ndarray) -> Any:
        return super()._matmat(X) if self._functions[2] is None else self._functions[2](X)

    def _rmatmat(self, X: ndarray) -> Any:
        return _columns(self.rmatvec, X) if self._functions[3] is None else self._functions[3](X)


def _columns(product: Callable[[ndarray], Any], X: ndarray) -> ndarray:
    return wrap(np.stack([used(product(X[:, j])).reshape(-1) for j in range(X.shape[1])], axis=1))


def _times(product: Callable[[ndarray], Any], count: int, v: ndarray) -> ndarray:
    for _ in range(count):
        v = product(v)
    return v.copy() if count == 0 else v


def _combined(shape: Any, parts: tuple[Any, ...], matvec: Any, rmatvec: Any, *others: Any) -> LinearOperator:
    dtype = np.result_type(*(part.dtype for part in parts), *others)
    operator: LinearOperator = _Custom(shape, matvec, rmatvec, None, dtype)
    return operator


def aslinearoperator(A: Any) -> LinearOperator:
    """Return an operator for an array, a sparse matrix, or anything with ``shape`` and ``matvec``."""
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, ndarray):
        if A.ndim > 2:
            raise ValueError("array must have ndim <= 2")
        A = wrap(np.atleast_2d(used(A)), A)
    elif not issparse(A):
        if not (hasattr(A, "shape") and hasattr(A, "matvec")):
            raise TypeError("type not understood")
        given = {name: getattr(A, name, None) for name in ("rmatvec", "rmatmat", "dtype")}
        operator: LinearOperator = _Custom(A.shape, A.matvec, **given)
        return operator
    adjoint = A.T.conj()
    return _Custom(A.shape, A.dot, adjoint.dot, A.dot, A.dtype, adjoint.dot)


def host_operator(A: Any) -> Any:
    """Return what SciPy's solvers take for a matrix or an operator on the device."""
    if issparse(A):
        return A._host()
    if isinstance(A, ndarray):
        return used(A)
    operator = aslinearoperator(A)

    def on_host(product: Callable[[ndarray], Any]) -> Callable[[Any], Any]:
        return lambda x: used(product(wrap(np.array(x))))

    return scipy.sparse.linalg.LinearOperator(
        operator.shape, on_host(operator.matvec), on_host(operator.rmatvec), dtype=operator.dtype
    )
