"""What the matrices of all formats have in common: conversions, arithmetic, reductions."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import scipy.sparse

from cunumpy.kernel_testing._fake_cupy.array_base import is_host_array, unsupported, used, wrap
from cunumpy.kernel_testing._fake_cupy.host_copies import announced_read
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray
from cunumpy.kernel_testing._fake_cupy.signatures import words

from .storage import TYPE_CHARACTERS, Stored, arrays_of, check_type, is_scalar, on_device, operand, sparray


def is_shape(value: Any, lengths: tuple[int, ...]) -> bool:
    """Whether a value is a tuple of integers, of one of these lengths."""
    return (
        isinstance(value, tuple) and len(value) in lengths and all(isinstance(one, (int, np.integer)) for one in value)
    )


def check_shape(shape: Any, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape as a tuple of int; raise CuPy's error for what is none."""
    shape = tuple(shape)
    if not is_shape(shape, lengths):
        raise ValueError("invalid shape (must be a 2-tuple of int)")
    if any(one < 0 for one in shape):
        raise ValueError("'shape' elements cannot be negative")
    return tuple(int(one) for one in shape)


def _not_implemented(name: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"CuPy's {type(self).__name__} has no {name}()")

    return method


def _operator(name: str, *, by_rows: bool = False) -> Any:
    """Return a binary operator; those that CuPy has for rows alone convert first."""

    def method(self: _spbase, other: Any) -> Any:
        if not (is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            if is_host_array(other) or scipy.sparse.issparse(other):
                raise unsupported(other)
            return NotImplemented
        with np.errstate(all="ignore"):
            found = getattr(self._host(by_rows), name)(operand(other))
        return found if found is NotImplemented else on_device(found, self, other)

    return method


def _product(name: str, order: str = "F") -> Any:
    """Return an operator that multiplies matrices, or a matrix by a scalar; `order` is that of a dense result."""

    def method(self: _spbase, other: Any) -> Any:
        if is_host_array(other) or scipy.sparse.issparse(other):
            raise unsupported(other)
        scalar = is_scalar(other)
        if scalar and "matmul" in name:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if not (scalar or isinstance(other, (ndarray, _spbase))):
            return NotImplemented
        with np.errstate(all="ignore"):
            found = getattr(self._host(), name)(operand(other))
        if scipy.sparse.issparse(found) and not scalar:
            found = found.tocsr() if found.ndim == 2 else found
        elif isinstance(found, np.ndarray) and found.ndim == 2:
            found = np.array(found, order=order)  # type: ignore[call-overload]
        return on_device(found, self, other)

    return method


def _elementwise(name: str) -> Any:
    def method(self: _spbase) -> Any:
        with np.errstate(all="ignore"):
            return self._with_data(getattr(np, name)(used(self.data)))

    method.__name__ = name
    method.__doc__ = f"Return the {name} of every element."
    return method


class _spbase(Stored):
    """What all formats have in common."""

    __array_priority__ = 101
    __hash__ = None  # type: ignore[assignment]
    maxprint = 50
    _allow_nd: tuple[int, ...] = (2,)

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None
    ) -> None:
        if maxprint is not None:
            self.maxprint = maxprint
        if shape is not None:
            shape = check_shape(shape, self._allow_nd)
        if dtype is not None and self.format != "dia":
            check_type(np.dtype(dtype))
        host = self._read(arg1, shape, None if dtype is None else np.dtype(dtype), copy)
        if self.format != "dia":
            check_type(host.dtype)
        self._take(host, *(() if copy else arrays_of(arg1)))

    def __class_getitem__(cls, args: Any) -> Any:
        return types.GenericAlias(cls, args)

    def _read(self, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Any:
        """Return a matrix of SciPy's for what the class is called with."""
        if isinstance(arg1, _spbase):
            given = arg1._host()
        elif scipy.sparse.issparse(arg1):
            given, copy = arg1, True
        else:
            return self._read_arrays(arg1, shape, dtype, copy)
        if shape is not None and len(shape) != given.ndim:
            raise ValueError(f"cannot use a {len(shape)}-D shape {shape} with a {given.ndim}-D input")
        host = self._scipy()(given, dtype=dtype, copy=copy)
        if shape is not None and shape != host.shape:
            coordinates = host.tocoo()
            host = self._scipy()((coordinates.data, coordinates.coords), shape=shape)
        return host

    def _read_arrays(self, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Any:
        raise NotImplementedError

    def _change(self, name: str, *args: Any) -> None:
        """Call a method of SciPy's that changes the matrix."""
        before = self._arrays()
        host = self._host()
        getattr(host, name)(*args)
        self._take(host, *before)

    def _call(self, name: str, *args: Any, by_rows: bool = False, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return on_device(getattr(self._host(by_rows), name)(*map(operand, args), **kwargs), self, *args)

    def _with_data(self, data: Any, copy: bool = True) -> Any:
        matrix = type(self).__new__(type(self))
        for name in self._fields:
            array = getattr(self, name)
            setattr(matrix, name, array.copy() if copy else array)
        matrix.data = data if isinstance(data, ndarray) else wrap(data)
        matrix._shape = self._shape
        return matrix

    # ---- what it is ----

    @property
    def device(self) -> Any:
        """Not there in CuPy, either."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._shape

    @property
    def nnz(self) -> Any:
        """Number of stored elements."""
        return self._getnnz()

    @property
    def size(self) -> Any:
        """Number of stored elements."""
        return self._getnnz()

    def _getnnz(self, axis: Any = None) -> Any:
        if axis is None:
            return int(self._host().nnz)
        return on_device(self._host()._getnnz(axis))

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The transpose."""
        if self.ndim < 2:
            raise ValueError(f"Array must be at least 2-dimensional, but it is {self.ndim}-D")
        return self.transpose()

    @property
    def real(self) -> Any:
        """Real parts."""
        return self._with_data(self.data.real.copy())

    @property
    def imag(self) -> Any:
        """Imaginary parts."""
        return self._with_data(self.data.imag.copy())

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use shape[0] or .nnz")

    def __bool__(self) -> bool:
        if self.shape == (1, 1):
            return bool(self.nnz != 0)
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all().")

    def __iter__(self) -> Iterator[Any]:
        rows: Any = self
        return (rows[i] if self.ndim == 1 else rows[i, :] for i in range(self.shape[0]))

    def __repr__(self) -> str:
        return repr(self._host())

    def __str__(self) -> str:
        announced_read(self.data, "str()")
        return str(self._host())

    def get(self, stream: Any = None) -> Any:
        """Return a copy on the host, as a matrix of SciPy's."""
        return self._host().copy()

    # ---- conversions ----

    def asformat(self, format: str | None) -> Any:
        """Return the matrix in a format."""
        return self if format in (None, self.format) else getattr(self, f"to{format}")()

    def _converted(self, format: str, copy: bool) -> Any:
        if format == self.format:
            return self.copy() if copy else self
        return on_device(getattr(self._host(), f"to{format}")(copy=copy), *(() if copy else (self,)))

    def tocsr(self, copy: bool = False) -> Any:
        """Return the matrix by rows."""
        return self._converted("csr", copy)

    def tocsc(self, copy: bool = False) -> Any:
        """Return the matrix by columns."""
        return self._converted("csc", copy)

    def tocoo(self, copy: bool = False) -> Any:
        """Return the matrix as a list of elements."""
        return self._converted("coo", copy)

    todia = _not_implemented("todia")
    tobsr, todok, tolil = _not_implemented("tobsr"), _not_implemented("todok"), _not_implemented("tolil")

    def toarray(self, order: str | None = None, out: Any = None) -> ndarray:
        """Return a dense array; `out` is not supported."""
        order = "C" if order is None else order.upper()
        if order not in ("C", "F"):
            raise ValueError("order not understood")
        return wrap(np.array(self._host().toarray(), order=order))  # type: ignore[call-overload]

    def todense(self, order: str | None = None, out: Any = None) -> ndarray:
        """Return a dense array."""
        return self.toarray(order, out)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return the matrix with another element type."""
        if self.dtype == np.dtype(dtype):
            return self.copy() if copy else self
        if self.format != "dia":
            check_type(np.dtype(dtype))
        return self._with_data(self.data.astype(dtype))

    def copy(self) -> Any:
        """Return a copy."""
        return self._with_data(self.data.copy())

    def conj(self, copy: bool = True) -> Any:
        """Return the complex conjugate."""
        if self.dtype.kind == "c":
            return self._with_data(self.data.conj(), copy)
        return self.copy() if copy else self

    def conjugate(self, copy: bool = True) -> Any:
        """Return the complex conjugate."""
        return self.conj(copy)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Return the transpose."""
        if axes is not None:
            raise ValueError(
                "Sparse matrices do not support an 'axes' parameter because swapping dimensions is the only logical "
                "permutation."
            )
        return on_device(self._host(self.format == "dia").transpose(copy=copy), *(() if copy else (self,)))

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the matrix with another shape, as a list of elements."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        if len(wanted) not in self._allow_nd:
            raise ValueError(f"shape must have length in {self._allow_nd}. Got new_shape={tuple(wanted)}")
        reshaped = self._host().tocoo().reshape(wanted, order=order)
        return self if reshaped.shape == self._shape else on_device(reshaped)

    # ---- arithmetic ----

    __add__, __radd__ = _operator("__add__"), _operator("__radd__")
    __sub__, __rsub__ = _operator("__sub__"), _operator("__rsub__")
    __truediv__ = _operator("__truediv__", by_rows=True)
    __lt__, __le__ = _operator("__lt__", by_rows=True), _operator("__le__", by_rows=True)
    __gt__, __ge__ = _operator("__gt__", by_rows=True), _operator("__ge__", by_rows=True)
    __matmul__, __rmatmul__ = _product("__matmul__"), _product("__rmatmul__", "C")

    def __eq__(self, other: object) -> Any:
        return self._equal("__eq__", other)

    def __ne__(self, other: object) -> Any:
        return self._equal("__ne__", other)

    def _equal(self, name: str, other: Any) -> Any:
        if not (is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            raise NotImplementedError
        return self._call(name, other, by_rows=True)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return NotImplemented

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return NotImplemented

    def __imul__(self, other: Any) -> Any:
        return self._scaled(other, other) if is_scalar(other) else NotImplemented

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]
        return self._scaled(other, 1.0 / other) if is_scalar(other) else NotImplemented

    def _scaled(self, other: Any, factor: Any) -> Any:
        dtype = np.result_type(self.dtype, operand(factor))
        dtype = dtype if dtype.char in TYPE_CHARACTERS else np.dtype(np.float64)
        self.data = self.data.astype(dtype, copy=False)
        self.data *= factor
        return self

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        return self.multiply(other)

    def __pow__(self, other: Any) -> Any:
        return self.power(other)

    def __neg__(self) -> Any:
        if self.dtype.kind == "b":
            raise NotImplementedError("negating a boolean sparse array is not supported")
        return self._with_data(-self.data)

    def __abs__(self) -> Any:
        return self._with_data(abs(self.data))

    def __round__(self, ndigits: int = 0) -> Any:
        return self._with_data(np.around(used(self.data), ndigits))

    def multiply(self, other: Any) -> Any:
        """Return the product of elements."""
        if not (is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            raise TypeError("expected scalar, dense matrix/vector or csr matrix")
        with np.errstate(all="ignore"):
            found = self._host(by_rows=True).multiply(operand(other))
        return on_device(found.tocsr() if scipy.sparse.issparse(found) else found)

    def maximum(self, other: Any) -> Any:
        """Return the larger elements."""
        return self._larger("maximum", other)

    def minimum(self, other: Any) -> Any:
        """Return the smaller elements."""
        return self._larger("minimum", other)

    def _larger(self, name: str, other: Any) -> Any:
        if not (is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            raise NotImplementedError
        if isinstance(other, ndarray) and other.ndim:
            return wrap(getattr(np, name)(self._host().toarray(), np.atleast_2d(used(other))))
        return self._call(name, other, by_rows=True)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Return powers of the elements."""
        if not is_scalar(n):
            raise NotImplementedError("input is not scalar")
        if n == 0:
            raise NotImplementedError(
                "zero power is not supported as it would densify the matrix.\n"
                "Use cupy.ones(A.shape, dtype=A.dtype) for this case."
            )
        data = self.data.copy() if dtype is None else self.data.astype(dtype)
        data **= n
        return self._with_data(data)

    def dot(self, other: Any) -> Any:
        """Return the matrix product."""
        return self * other if np.isscalar(other) else self @ other

    # ---- reductions ----

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of the elements, or along an axis."""
        return self._reduced("sum", axis, dtype, out)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the mean of the elements, or along an axis."""
        return self._reduced("mean", axis, dtype, out)

    def _reduced(self, name: str, axis: Any, dtype: Any, out: Any) -> Any:
        found = np.asarray(getattr(self._host(), name)(axis=axis, dtype=dtype))
        if out is None:
            return wrap(found)
        if out.shape != found.shape:
            raise ValueError("dimensions do not match")
        used(out)[...] = found
        return out

    def trace(self, offset: int = 0) -> Any:
        """Return the sum along a diagonal."""
        return wrap(used(self.diagonal(offset)).sum())

    def diagonal(self, k: int = 0) -> ndarray:
        """Return a diagonal."""
        if self.ndim != 2:
            raise ValueError("diagonal requires two dimensions")
        return wrap(self._host().diagonal(k))

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set a diagonal, not there for all formats."""
        raise NotImplementedError

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return the number of elements that are not zero."""
        found = self._host().count_nonzero(axis)
        return int(found) if axis is None else wrap(np.asarray(found))

    def nonzero(self) -> tuple[ndarray, ...]:
        """Return the indices of elements that are not zero."""
        found: tuple[ndarray, ...] = on_device(self._host().nonzero())
        return found


for _name in words(
    "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt tan tanh trunc"
):
    setattr(_spbase, _name, _elementwise(_name))


def raised(A: Any, power: Any) -> Any:
    """Return a power of a square matrix."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise TypeError("matrix is not square")
    if not isinstance(power, (int, np.integer)):
        raise ValueError("exponent must be an integer")
    if power < 0:
        raise ValueError("exponent must be >= 0")
    if power == 0:
        make = scipy.sparse.eye_array if isinstance(A, sparray) else scipy.sparse.eye
        return on_device(make(A.shape[0], dtype=A.dtype, format="csr"))
    result, square = None, A
    while power:
        if power % 2:
            result = square if result is None else result @ square
        power //= 2
        if power:
            square = square @ square
    return result.copy() if result is A else result


class spmatrix:
    """Base of the classes whose ``*`` multiplies matrices."""

    def __init__(self, *args: Any, maxprint: Any = 50, **kwargs: Any) -> None:
        self.maxprint = maxprint
        if type(self) is spmatrix:
            if args or kwargs:
                raise TypeError("cannot instantiate spmatrix directly; use a format subclass such as csr_matrix")
            return
        super().__init__(*args, **kwargs)

    __mul__, __rmul__ = _product("__mul__"), _product("__rmul__", "C")

    def __pow__(self, other: Any) -> Any:
        return raised(self, other)

    @property
    def A(self: Any) -> ndarray:
        """A dense array: the old name of `toarray`."""
        warnings.warn("`spmatrix.A` is deprecated; use `.toarray()` instead.", DeprecationWarning, stacklevel=2)
        dense: ndarray = self.toarray()
        return dense

    @property
    def H(self: Any) -> Any:
        """The conjugate of the transpose."""
        warnings.warn("`spmatrix.H` is deprecated; use `.T.conj()` instead.", DeprecationWarning, stacklevel=2)
        return self.getH()

    def get_shape(self: Any) -> Any:
        """Return the lengths of the axes."""
        return self._shape

    def set_shape(self: Any, shape: Any) -> None:
        """Set the lengths of the axes."""
        self.__dict__ = self.reshape(shape).asformat(self.format).__dict__

    shape = property(get_shape, set_shape)

    def asfptype(self: Any) -> Any:
        """Return the matrix with a floating-point element type."""
        return self if self.dtype.kind == "f" else self.astype(np.promote_types(self.dtype, "f"))

    def getH(self: Any) -> Any:
        """Return the conjugate of the transpose."""
        return self.transpose().conj()

    def getrow(self: Any, i: int) -> Any:
        """Return a row as a matrix."""
        return on_device(self._host().getrow(i))

    def getcol(self: Any, j: int) -> Any:
        """Return a column as a matrix."""
        return on_device(self._host().getcol(j))

    def getformat(self: Any) -> Any:
        """Return the format."""
        return self.format

    def getmaxprint(self) -> Any:
        """Return how many elements are printed."""
        return self.maxprint

    def getnnz(self: Any, axis: Any = None) -> Any:
        """Return the number of stored elements."""
        return self._getnnz(axis)
