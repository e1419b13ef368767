"""Polynomials by their coefficients, the highest power first: `poly1d`, and the functions of NumPy 1."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .array_base import unwrap, used, wrap
from .host_copies import announced_copy
from .ndarray import ndarray


class poly1d:
    """A polynomial of one variable.

    Parameters
    ----------
    c_or_r : array_like or poly1d
        Coefficients, the highest power first, or roots.
    r : bool, default False
        They are roots.
    variable : str, default 'x'
        How it is called in texts.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        if isinstance(c_or_r, (np.poly1d, poly1d)):
            given = c_or_r.coeffs
            self._coeffs = given if isinstance(given, ndarray) else announced_copy(given, "poly1d()")
            self._variable = c_or_r.variable if variable is None else variable
            return
        if r:
            c_or_r = poly(c_or_r)
        values = c_or_r if isinstance(c_or_r, ndarray) else announced_copy(c_or_r, "poly1d()")
        if values.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self._coeffs = wrap(np.atleast_1d(used(values)), values)
        self._variable = "x" if variable is None else variable

    @property
    def coeffs(self) -> ndarray:
        """Coefficients, the highest power first, without leading zeros."""
        values = used(self._coeffs)
        kept = np.trim_zeros(values, "f")
        if kept.size != values.size:
            self._coeffs = wrap(kept.copy() if kept.size else np.zeros(1, values.dtype))
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = property(lambda self: self.coeffs, doc="The coefficients.")

    @property
    def variable(self) -> str:
        """How the variable is called."""
        return self._variable

    @property
    def order(self) -> int:
        """The degree."""
        return self.coeffs.size - 1

    @property
    def roots(self) -> ndarray:
        """The roots, as far as CuPy finds them."""
        return roots(self._coeffs)

    o = property(lambda self: self.order, doc="The degree.")
    r = property(lambda self: self.roots, doc="The roots.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[ndarray]:
        return iter(self.coeffs)

    def __call__(self, val: Any) -> Any:
        return polyval(self.coeffs, val)

    def __neg__(self) -> poly1d:
        return poly1d(-self.coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> Any:
        return polyadd(self, other)

    def __sub__(self, other: Any) -> Any:
        return polysub(self, other)

    def __mul__(self, other: Any) -> Any:
        return poly1d(self.coeffs * other) if _is_scalar(other) else polymul(self, other)

    def __radd__(self, other: Any) -> Any:
        return polyadd(self._no_numpy_scalar(other, "addition"), self)

    def __rsub__(self, other: Any) -> Any:
        return polysub(self._no_numpy_scalar(other, "subtraction"), self)

    def __rmul__(self, other: Any) -> Any:
        other = self._no_numpy_scalar(other, "multiplication")
        return polymul(self._coeffs.dtype.type(other) if _is_scalar(other) else other, self)

    def _no_numpy_scalar(self, other: Any, what: str) -> Any:
        if isinstance(other, np.generic):
            raise TypeError(f"Numpy scalar and poly1d {what} is not supported currently.")
        return other

    def __truediv__(self, other: Any) -> poly1d:
        if not _is_scalar(other):
            raise NotImplementedError
        return poly1d(self.coeffs / other)

    def __pow__(self, val: Any) -> poly1d:
        if not _is_scalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        if not isinstance(val, numbers.Integral):
            raise TypeError("float object cannot be interpreted as an integer")
        base = used(self.coeffs)
        if base.dtype.kind in "cf" or base.dtype == np.uint64:
            base = base.astype(np.complex128 if base.dtype.kind == "c" else np.float64)
        else:
            base = base.astype(np.promote_types(base.dtype, int))
        result = np.ones(1, base.dtype)
        for _ in range(int(val)):
            result = np.convolve(result, base)
        return poly1d(wrap(result))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, poly1d):
            raise NotImplementedError
        mine, its = self.coeffs, other.coeffs
        return mine.shape == its.shape and bool((mine == its).all().get())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getitem__(self, val: int) -> Any:
        return self._coeffs[-val - 1] if 0 <= val < self._coeffs.size else 0

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Negative powers are not supported.")
        missing = key - (self._coeffs.size - 1)
        if missing > 0:
            self._coeffs = wrap(np.pad(used(self._coeffs), (missing, 0)))
        self._coeffs[-key - 1] = val

    def deriv(self, m: int = 1) -> Any:
        """Return the derivative: CuPy has none yet."""
        raise NotImplementedError

    def integ(self, m: int = 1, k: Any = 0) -> Any:
        """Return the antiderivative: CuPy has none yet."""
        raise NotImplementedError

    def get(self, stream: Any = None) -> np.poly1d:
        """Return the polynomial on the host."""
        return np.poly1d(self.coeffs.get(stream=stream), variable=self.variable)

    def set(self, polyin: Any, stream: Any = None) -> None:
        """Copy a polynomial of the host into this one, which has as many coefficients."""
        if not isinstance(polyin, np.poly1d):
            raise TypeError("Only numpy.poly1d can be set to cupy.poly1d")
        self._variable = polyin.variable
        self.coeffs.set(polyin.coeffs, stream)


poly1d.__module__ = "cupy"


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, (ndarray, poly1d)) and bool(np.isscalar(value))


def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with given roots, or of a symmetric matrix's eigenvalues."""
    zeros = unwrap(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros = _eigenvalues(zeros)
    elif zeros.ndim != 1:
        raise ValueError("Input must be 1d or non-empty square 2d array.")
    if zeros.size == 0:
        return 1.0
    zeros = zeros.astype(np.mintypecode(zeros.dtype.char))
    # NumPy drops imaginary parts where the roots are conjugate pairs, CuPy does not.
    return wrap(np.asarray(np.poly(zeros)).astype(zeros.dtype))


def roots(p: Any) -> ndarray:
    """Return the roots of a polynomial, as far as CuPy finds them."""
    coefficients = unwrap(p.coeffs if isinstance(p, poly1d) else p)
    if coefficients.dtype.kind == "b":
        raise NotImplementedError("boolean inputs are not supported")
    if coefficients.ndim != 1:
        raise (
            ValueError("Coefficient array is not 1-d")
            if coefficients.ndim
            else TypeError("0-dimensional input is not allowed")
        )
    # As NumPy's `polynomial` does: leading zeros do not count, the others stay.
    coefficients = np.trim_zeros(coefficients, "f")
    if coefficients.size < 2:
        return wrap(np.zeros(0))
    coefficients = coefficients.astype(np.common_type(coefficients))
    if coefficients.size == 2:
        found = -coefficients[1:] / coefficients[0]
        return wrap(found.real if coefficients[1] == 0 else found)
    found = _eigenvalues(np.polynomial.polynomial.polycompanion(coefficients[::-1]))
    return wrap(found.astype(coefficients.dtype))


def _eigenvalues(matrix: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not np.array_equal(matrix, matrix.conj().T):
        raise NotImplementedError("Only complex Hermitian and real symmetric 2d arrays are supported currently")
    values: np.ndarray[Any, Any] = np.linalg.eigvalsh(matrix)
    return values


def _coefficients(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, poly1d):
        return used(value._coeffs)
    if not isinstance(value, ndarray):
        if _is_scalar(value):
            return np.atleast_1d(value)
        raise TypeError("Unsupported type")
    if value.ndim > 1:
        raise ValueError("Multidimensional inputs are not supported")
    return np.atleast_1d(used(value))


def _combined(compute: Callable[..., Any], a1: Any, a2: Any) -> Any:
    result = wrap(compute(_coefficients(a1), _coefficients(a2)))
    return poly1d(result) if isinstance(a1, poly1d) or isinstance(a2, poly1d) else result


def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials."""
    return _combined(np.polyadd, a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials."""
    return _combined(np.polysub, a1, a2)


def polymul(a1: Any, a2: Any) -> Any:
    """Return the product of two polynomials."""
    return _combined(np.polymul, a1, a2)


def polyval(p: Any, x: Any) -> Any:
    """Return the values of a polynomial; those of the variable may come from the host, or be a polynomial."""
    if isinstance(p, poly1d):
        p = p.coeffs
    if not isinstance(p, ndarray) or p.ndim == 0:
        raise TypeError("p must be 1d ndarray or poly1d object")
    if p.ndim > 1:
        raise ValueError("p must be 1d array")
    if isinstance(x, poly1d):
        composed: Any = np.polyval(np.poly1d(used(p)), np.poly1d(used(x.coeffs)))
        return poly1d(wrap(np.atleast_1d(composed.coeffs)))
    values = used(p)
    where = used(x if isinstance(x, ndarray) else announced_copy(x, "polyval()"))
    dtype = np.result_type(p.dtype.type(0), where)
    if dtype == np.bool_ and p.size:
        return wrap(values.any() * where + values[-1])
    return wrap(np.asarray(np.polyval(values.astype(dtype), where.astype(dtype))).astype(dtype))


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """Fit a polynomial."""
    if unwrap(y).dtype == np.float16:
        raise TypeError("float16 y are not supported")
    compute: Any = np.polyfit
    weights = None if w is None else _double(unwrap(w))
    found = compute(_double(unwrap(x)), _double(unwrap(y)), int(deg), rcond, full, weights, cov)
    return _on_device(found)


def _on_device(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_on_device, value))
    return wrap(value) if isinstance(value, (np.ndarray, np.generic, int, float)) else value


def _double(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (poly, polyadd, polyfit, polymul, polysub, polyval, roots)
}
