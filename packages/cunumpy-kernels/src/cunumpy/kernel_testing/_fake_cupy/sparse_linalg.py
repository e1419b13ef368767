"""``cupyx.scipy.sparse.linalg`` and ``cupyx.scipy.sparse.csgraph``: solvers, by SciPy on the buffers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.csgraph
import scipy.sparse.linalg

from . import sparse
from .functions import _words
from .ndarray import ndarray, unsupported, used, wrap


def raised(A: Any, power: Any) -> Any:
    """Return a power of a square matrix."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise TypeError("matrix is not square")
    if not isinstance(power, (int, np.integer)):
        raise ValueError("exponent must be an integer")
    if power < 0:
        raise ValueError("exponent must be >= 0")
    make = sparse.eye_array if isinstance(A, sparse.sparray) else sparse.eye
    result, square = make(A.shape[0], dtype=A.dtype, format="csr"), A
    if power == 0:
        return result
    result = None
    while power:
        if power % 2:
            result = square if result is None else result @ square
        power //= 2
        if power:
            square = square @ square
    return result.copy() if result is A else result


def matrix_power(A: Any, power: int) -> Any:
    """Return a power of a square matrix."""
    return raised(A, power)


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return a norm of a matrix, or those of its rows or columns."""
    if not sparse.issparse(x):
        raise TypeError("input is not sparse. use cupy.linalg.norm")
    return sparse._result(scipy.sparse.linalg.norm(x._host(), ord, axis))


# ---- operators ----


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
        if sparse._is_scalar(x):
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
    elif not sparse.issparse(A):
        if not (hasattr(A, "shape") and hasattr(A, "matvec")):
            raise TypeError("type not understood")
        given = {name: getattr(A, name, None) for name in ("rmatvec", "rmatmat", "dtype")}
        operator: LinearOperator = _Custom(A.shape, A.matvec, **given)
        return operator
    adjoint = A.T.conj()
    return _Custom(A.shape, A.dot, adjoint.dot, A.dot, A.dtype, adjoint.dot)


def _host_operator(A: Any) -> Any:
    """Return what SciPy's solvers take for a matrix or an operator on the device."""
    if sparse.issparse(A):
        return A._host()
    if isinstance(A, ndarray):
        return used(A)
    operator = aslinearoperator(A)

    def on_host(product: Callable[[ndarray], Any]) -> Callable[[Any], Any]:
        return lambda x: used(product(wrap(np.array(x))))

    return scipy.sparse.linalg.LinearOperator(
        operator.shape, on_host(operator.matvec), on_host(operator.rmatvec), dtype=operator.dtype
    )


# ---- solvers ----


def _system(A: Any, b: Any, x0: Any, M: Any) -> dict[str, Any]:
    """Return the arguments of an iterative solver for SciPy, after CuPy's checks."""
    A = A if isinstance(A, (ndarray, sparse._spbase)) else aslinearoperator(A)
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
        "A": _host_operator(A),
        "b": used(b).reshape(-1).astype(A.dtype),
        "x0": None if x0 is None else used(x0).reshape(-1).astype(A.dtype),
        "M": None if M is None else _host_operator(M),
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
    found = scipy.sparse.linalg.lsmr(_host_operator(A), used(b).squeeze(), damp, atol, btol, conlim, maxiter, x0=start)
    return wrap(found[0].astype(np.float64, copy=False)), *found[1:]


def lsqr(A: Any, b: ndarray) -> tuple[Any, ...]:
    """Solve a system by QR decomposition: the answer and nine times None."""
    if not (sparse.issparse(A) and A.format == "csr"):
        A = sparse.csr_matrix(A)
    if A.shape[0] != A.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if not isinstance(b, ndarray):
        raise np.linalg.LinAlgError(f"cupy.linalg only supports cupy.ndarray, got {type(b)}")
    if b.ndim != 1 or len(b) != A.shape[0]:
        raise ValueError("b must be 1-d array whose size is same as A")
    x = scipy.sparse.linalg.spsolve(A._host().tocsc(), used(b))
    return (wrap(np.asarray(x, np.float64)), *(None,) * 9)


def _check_system(A: Any, b: Any) -> None:
    if not sparse.issparse(A):
        raise TypeError("A must be cupyx.scipy.sparse.spmatrix")
    if not isinstance(b, ndarray):
        raise TypeError("b must be cupy.ndarray")
    _check_square(A)
    if b.ndim not in (1, 2):
        raise ValueError(f"Invalid b.shape (b.shape: {b.shape})")
    if A.shape[0] != b.shape[0]:
        raise ValueError(f"matrix dimension mismatch (A.shape: {A.shape}, b.shape: {b.shape})")


def _check_square(A: Any) -> None:
    if not sparse.issparse(A):
        raise TypeError("A must be cupyx.scipy.sparse.spmatrix")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix (A.shape: {A.shape})")


def _by_rows(A: Any, formats: tuple[str, ...]) -> Any:
    if A.format in formats:
        return A
    warnings.warn("CSR format is required. Converting to CSR format.", sparse.SparseEfficiencyWarning, stacklevel=3)
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
        self.L, self.U = sparse.csr_matrix(obj.L), sparse.csr_matrix(obj.U)

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
        _host_operator(a), k, which=which, v0=start, ncv=ncv, maxiter=maxiter, tol=tol
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
    u, s, vh = scipy.sparse.linalg.svds(_host_operator(a), k, ncv=ncv, tol=tol, which="LM", maxiter=maxiter)
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
        return _host_operator(one)

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


_NAMES = _words(
    """
LinearOperator SuperLU aslinearoperator bicgstab cg cgs eigsh factorized gmres lobpcg lsmr lsqr matrix_power minres norm
spilu splu spsolve spsolve_triangular svds
"""
)


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.scipy.sparse.linalg``."""
    return {name: globals()[name] for name in _NAMES}


# ---- graphs ----


def connected_components(
    csgraph: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> Any:
    """Return the number of connected parts of a graph, and the part of each node; CuPy needs pylibcugraph for it."""
    graph = csgraph if sparse.issparse(csgraph) else sparse.csr_matrix(csgraph)
    if graph.shape[0] != graph.shape[1]:
        raise ValueError("graph should be a square array")
    count, labels = scipy.sparse.csgraph.connected_components(graph._host(), directed, connection)
    return (int(count), wrap(labels)) if return_labels else int(count)


def graph_contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.scipy.sparse.csgraph``."""
    return {"connected_components": connected_components}
