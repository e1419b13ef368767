"""``cupyx.scipy.sparse``: matrices of device arrays, computed with by SciPy on the buffers.

Loaded when it is first used, since it imports SciPy. What CuPy refuses is refused: lists and host arrays, element
types other than bool and the four of cuSPARSE, conversions that it lacks.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import scipy.sparse

from .functions import _words
from .ndarray import _index, announced_read, from_host, is_host_array, ndarray, unsupported, used, wrap

_TYPES = "?fdFD"
SparseWarning: Any = scipy.sparse.SparseWarning
SparseEfficiencyWarning: Any = scipy.sparse.SparseEfficiencyWarning


def _is_scalar(value: Any) -> bool:
    return (isinstance(value, ndarray) and value.ndim == 0) or (not isinstance(value, ndarray) and np.isscalar(value))


def _operand(value: Any) -> Any:
    """Return what SciPy computes with; host arrays, lists and host matrices are refused."""
    if isinstance(value, _spbase):
        return value._host()
    if isinstance(value, ndarray):
        return used(value)[()] if value.ndim == 0 else used(value)
    if is_host_array(value) or isinstance(value, (list, tuple)) or scipy.sparse.issparse(value):
        raise unsupported(value)
    return value


def _arrays(value: Any) -> tuple[ndarray, ...]:
    """Return the device arrays of a value."""
    if isinstance(value, _spbase):
        return value._arrays()
    if isinstance(value, (list, tuple)):
        return tuple(array for item in value for array in _arrays(item))
    return (value,) if isinstance(value, ndarray) else ()


def _result(value: Any, *sources: Any) -> Any:
    """Return a result of SciPy with its arrays on the device; what it shares with the sources stays shared."""
    if scipy.sparse.issparse(value):
        if value.format not in _CONTAINERS:
            value = value.tocsr()
        if value.format != "dia":
            _check_type(value.dtype)
        cls = _CONTAINERS[value.format][isinstance(value, scipy.sparse.sparray)]
        return cls._of(value, *_arrays(sources))
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        return wrap(np.asarray(value), *_arrays(sources))
    if isinstance(value, tuple):
        return tuple(_result(item, *sources) for item in value)
    return value


def _shared(buffer: np.ndarray[Any, Any], sources: tuple[ndarray, ...]) -> ndarray:
    """Return the device array of a buffer: a source that it is all of, else a view of one, else a new one."""
    for source in sources:
        if all(getattr(source._buffer, name) == getattr(buffer, name) for name in ("dtype", "shape", "strides")) and (
            source._buffer.__array_interface__["data"] == buffer.__array_interface__["data"]
        ):
            return source
    return wrap(buffer, *sources)


def _check_type(dtype: np.dtype[Any]) -> None:
    if dtype.char not in _TYPES:
        raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")


def _is_shape(value: Any, lengths: tuple[int, ...]) -> bool:
    return (
        isinstance(value, tuple) and len(value) in lengths and all(isinstance(one, (int, np.integer)) for one in value)
    )


def _check_shape(shape: Any, lengths: tuple[int, ...]) -> tuple[int, ...]:
    shape = tuple(shape)
    if not _is_shape(shape, lengths):
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
        if not (_is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            if is_host_array(other) or scipy.sparse.issparse(other):
                raise unsupported(other)
            return NotImplemented
        with np.errstate(all="ignore"):
            found = getattr(self._host(by_rows), name)(_operand(other))
        return found if found is NotImplemented else _result(found, self, other)

    return method


def _product(name: str, order: str = "F") -> Any:
    """Return an operator that multiplies matrices, or a matrix by a scalar; `order` is that of a dense result."""

    def method(self: _spbase, other: Any) -> Any:
        if is_host_array(other) or scipy.sparse.issparse(other):
            raise unsupported(other)
        scalar = _is_scalar(other)
        if scalar and "matmul" in name:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if not (scalar or isinstance(other, (ndarray, _spbase))):
            return NotImplemented
        with np.errstate(all="ignore"):
            found = getattr(self._host(), name)(_operand(other))
        if scipy.sparse.issparse(found) and not scalar:
            found = found.tocsr() if found.ndim == 2 else found
        elif isinstance(found, np.ndarray) and found.ndim == 2:
            found = np.array(found, order=order)  # type: ignore[call-overload]
        return _result(found, self, other)

    return method


def _elementwise(name: str) -> Any:
    def method(self: _spbase) -> Any:
        with np.errstate(all="ignore"):
            return self._with_data(getattr(np, name)(used(self.data)))

    method.__name__ = name
    method.__doc__ = f"Return the {name} of every element."
    return method


class _spbase:
    """What all formats have in common."""

    __array_priority__ = 101
    __hash__ = None  # type: ignore[assignment]
    maxprint = 50
    format: str = ""
    data: ndarray
    _allow_nd: tuple[int, ...] = (2,)
    _fields: tuple[str, ...] = ()
    _shape: tuple[int, ...]
    _canonical: bool | None = None

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None
    ) -> None:
        if maxprint is not None:
            self.maxprint = maxprint
        if shape is not None:
            shape = _check_shape(shape, self._allow_nd)
        if dtype is not None and self.format != "dia":
            _check_type(np.dtype(dtype))
        host = self._read(arg1, shape, None if dtype is None else np.dtype(dtype), copy)
        if self.format != "dia":
            _check_type(host.dtype)
        self._take(host, *(() if copy else _arrays(arg1)))

    def __class_getitem__(cls, args: Any) -> Any:
        return types.GenericAlias(cls, args)

    @classmethod
    def _of(cls, host: Any, *sources: ndarray) -> Any:
        """Return a matrix of this class with the arrays of one of SciPy's."""
        matrix = cls.__new__(cls)
        matrix._take(host, *sources)
        return matrix

    @classmethod
    def _scipy(cls) -> Any:
        """Return SciPy's class."""
        return getattr(scipy.sparse, f"{cls.format}_{'array' if issubclass(cls, sparray) else 'matrix'}")

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

    def _take(self, host: Any, *sources: ndarray) -> None:
        """Make the arrays of a matrix of SciPy's this one's."""
        self._shape = tuple(int(one) for one in host.shape)
        self._canonical = None
        for name in self._fields:
            setattr(self, name, _shared(getattr(host, name), sources))

    def _arrays(self) -> tuple[ndarray, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def _host(self, by_rows: bool = False) -> Any:
        """Return a matrix of SciPy's on the same memory, or one by rows."""
        host = self._scipy()(self._parts(), shape=self._shape, copy=False)
        return host.tocsr() if by_rows else host

    def _parts(self) -> Any:
        return tuple(used(array) for array in self._arrays())

    def _change(self, name: str, *args: Any) -> None:
        """Call a method of SciPy's that changes the matrix."""
        before = self._arrays()
        host = self._host()
        getattr(host, name)(*args)
        self._take(host, *before)

    def _call(self, name: str, *args: Any, by_rows: bool = False, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return _result(getattr(self._host(by_rows), name)(*map(_operand, args), **kwargs), self, *args)

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
        return _result(self._host()._getnnz(axis))

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
        return _result(getattr(self._host(), f"to{format}")(copy=copy), *(() if copy else (self,)))

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
            _check_type(np.dtype(dtype))
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
        return _result(self._host(self.format == "dia").transpose(copy=copy), *(() if copy else (self,)))

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the matrix with another shape, as a list of elements."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        if len(wanted) not in self._allow_nd:
            raise ValueError(f"shape must have length in {self._allow_nd}. Got new_shape={tuple(wanted)}")
        reshaped = self._host().tocoo().reshape(wanted, order=order)
        return self if reshaped.shape == self._shape else _result(reshaped)

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
        if not (_is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            raise NotImplementedError
        return self._call(name, other, by_rows=True)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return NotImplemented

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return NotImplemented

    def __imul__(self, other: Any) -> Any:
        return self._scaled(other, other) if _is_scalar(other) else NotImplemented

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]
        return self._scaled(other, 1.0 / other) if _is_scalar(other) else NotImplemented

    def _scaled(self, other: Any, factor: Any) -> Any:
        dtype = np.result_type(self.dtype, _operand(factor))
        dtype = dtype if dtype.char in _TYPES else np.dtype(np.float64)
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
        if not (_is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            raise TypeError("expected scalar, dense matrix/vector or csr matrix")
        with np.errstate(all="ignore"):
            found = self._host(by_rows=True).multiply(_operand(other))
        return _result(found.tocsr() if scipy.sparse.issparse(found) else found)

    def maximum(self, other: Any) -> Any:
        """Return the larger elements."""
        return self._larger("maximum", other)

    def minimum(self, other: Any) -> Any:
        """Return the smaller elements."""
        return self._larger("minimum", other)

    def _larger(self, name: str, other: Any) -> Any:
        if not (_is_scalar(other) or isinstance(other, (ndarray, _spbase))):
            raise NotImplementedError
        if isinstance(other, ndarray) and other.ndim:
            return wrap(getattr(np, name)(self._host().toarray(), np.atleast_2d(used(other))))
        return self._call(name, other, by_rows=True)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Return powers of the elements."""
        if not _is_scalar(n):
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
        found: tuple[ndarray, ...] = _result(self._host().nonzero())
        return found


for _name in _words(
    "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt tan tanh trunc"
):
    setattr(_spbase, _name, _elementwise(_name))


class sparray:
    """Base of the classes whose ``*`` multiplies elements."""


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
        from .sparse_linalg import raised

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
        return _result(self._host().getrow(i))

    def getcol(self: Any, j: int) -> Any:
        """Return a column as a matrix."""
        return _result(self._host().getcol(j))

    def getformat(self: Any) -> Any:
        """Return the format."""
        return self.format

    def getmaxprint(self) -> Any:
        """Return how many elements are printed."""
        return self.maxprint

    def getnnz(self: Any, axis: Any = None) -> Any:
        """Return the number of stored elements."""
        return self._getnnz(axis)


class _Extrema(_spbase):
    """What only some formats have."""

    @property
    def has_canonical_format(self) -> bool:
        """Whether the elements are sorted and there is one at each place."""
        return bool(self._host().has_canonical_format) if self._canonical is None else self._canonical

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._canonical = value

    def sum_duplicates(self) -> None:
        """Add the elements at the same place."""
        self._change("sum_duplicates")
        self._canonical = True

    def eliminate_zeros(self) -> None:
        """Remove stored zeros."""
        self._change("eliminate_zeros")

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set a diagonal."""
        if self.ndim != 2:
            raise ValueError("setdiag requires two dimensions")
        if not -self.shape[0] < k < self.shape[1]:
            raise ValueError("k exceeds matrix dimensions")
        data = from_host(values, self.dtype)._buffer
        if data.ndim > 1:
            raise ValueError("values must be 0-d or 1-d")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SparseEfficiencyWarning)
            self._change("setdiag", data, k)


class _compressed(_Extrema):
    _fields = ("data", "indices", "indptr")
    indices: ndarray
    indptr: ndarray

    def _read_arrays(self, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Any:
        kind = self._scipy()
        if _is_shape(arg1, self._allow_nd):
            return kind(_check_shape(arg1, self._allow_nd), dtype=dtype or np.float64)
        if isinstance(arg1, tuple) and len(arg1) == 2:
            return kind(_coordinates(arg1, self._allow_nd), shape=shape, dtype=dtype, copy=copy)
        if isinstance(arg1, tuple) and len(arg1) == 3:
            if not all(isinstance(one, ndarray) and one.ndim == 1 for one in arg1):
                raise ValueError("data, indices, and indptr must be 1-D cupy arrays")
            data, indices, indptr = (used(one) for one in arg1)
            if len(data) != len(indices):
                raise ValueError("indices and data should have the same size")
            if indptr.size and indptr[0] != 0:
                raise ValueError(f"index pointer should start with 0 (got {indptr[0]})")
            if indptr.size and indptr[-1] > data.size:
                raise ValueError(f"last index pointer ({indptr[-1]}) exceeds the size of data/indices ({data.size})")
            if shape is not None and len(shape) == 2:
                major = shape[self.format == "csc"]
                if len(indptr) != major + 1:
                    raise ValueError(f"index pointer size ({len(indptr)}) should be ({major + 1})")
            _check_type(data.dtype if dtype is None else dtype)
            return kind((data, indices, indptr), shape=shape, dtype=dtype, copy=copy)
        if isinstance(arg1, ndarray):
            if arg1.ndim > 2:
                raise ValueError("expected dimension <= 2 array or matrix")
            if arg1.ndim == 0 and isinstance(self, sparray):
                raise (TypeError if 1 in self._allow_nd else ValueError)(
                    f"{type(self).__name__} does not support scalar (0-D) input"
                )
            if arg1.ndim == 1 and isinstance(self, sparray) and 1 not in self._allow_nd:
                raise ValueError(
                    f"{type(self).__name__} does not support 1D input; use a 2D shape or coo_array / csr_array"
                )
            _check_type(arg1.dtype if dtype is None else dtype)
            dense = used(arg1) if isinstance(self, sparray) else np.atleast_2d(used(arg1))
            return kind(dense, shape=shape, dtype=dtype)
        raise ValueError("Unsupported initializer format")

    @property
    def has_sorted_indices(self) -> bool:
        """Whether the elements of each row or column are sorted."""
        return bool(self._host().has_sorted_indices)

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        pass

    def sort_indices(self) -> None:
        """Sort the elements of each row or column."""
        self._change("sort_indices")

    def sorted_indices(self) -> Any:
        """Return a copy, with the elements of each row or column sorted."""
        matrix = self.copy()
        matrix.sort_indices()
        return matrix

    def prune(self) -> None:
        """Give back memory that is not used."""
        self._change("prune")

    def __getitem__(self, key: Any) -> Any:
        found = self._host()[_key(key)]
        if scipy.sparse.issparse(found) and found.ndim == 1 and self.ndim == 2:
            found = found.tocoo()
        return _result(found)

    def __setitem__(self, key: Any, x: Any) -> None:
        data = x._host() if isinstance(x, _spbase) else from_host(x, self.dtype)._buffer
        self._change("__setitem__", _key(key), data)

    def max(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the maximum, or those along an axis."""
        return self._extremum("max", axis, out, explicit)

    def min(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the minimum, or those along an axis."""
        return self._extremum("min", axis, out, explicit)

    def argmax(self, axis: Any = None, out: Any = None) -> Any:
        """Return the index of the maximum, or those along an axis."""
        return self._extremum("argmax", axis, out)

    def argmin(self, axis: Any = None, out: Any = None) -> Any:
        """Return the index of the minimum, or those along an axis."""
        return self._extremum("argmin", axis, out)

    def _extremum(self, name: str, axis: Any, out: Any, explicit: bool = False) -> Any:
        if out is not None:
            raise ValueError("Sparse matrices do not support an 'out' parameter.")
        if isinstance(axis, tuple):
            raise TypeError("Tuples are not accepted for the 'axis' parameter.")
        options = {"explicit": True} if explicit else {}
        found = getattr(self._host(), name)(axis=axis, **options)
        return _result(found)


class _csr_base(_compressed):
    format = "csr"


class _csc_base(_compressed):
    format = "csc"


class _coo_base(_Extrema):
    format = "coo"
    _fields = ("data", "row", "col")
    row: ndarray
    col: ndarray

    def _read_arrays(self, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Any:
        kind = self._scipy()
        if _is_shape(arg1, self._allow_nd):
            return kind(_check_shape(arg1, self._allow_nd), dtype=dtype or np.float64)
        if isinstance(arg1, tuple) and len(arg1) == 2:
            return kind(_coordinates(arg1, self._allow_nd), shape=shape, dtype=dtype, copy=copy)
        if isinstance(arg1, ndarray):
            if arg1.ndim > 2:
                raise TypeError("expected dimension <= 2 array or matrix")
            if arg1.ndim == 0 and isinstance(self, sparray):
                raise TypeError(f"{type(self).__name__} does not support scalar (0-D) input")
            dense = used(arg1) if isinstance(self, sparray) else np.atleast_2d(used(arg1))
            return kind(dense, shape=shape, dtype=dtype)
        raise TypeError("invalid input format")

    def _take(self, host: Any, *sources: ndarray) -> None:
        self._shape = tuple(int(one) for one in host.shape)
        self._canonical = bool(host.has_canonical_format)
        self.data, self.col = _shared(host.data, sources), _shared(host.coords[-1], sources)
        self.row = _shared(host.coords[0] if host.ndim == 2 else np.zeros_like(host.coords[0]), sources)

    def _parts(self) -> Any:
        return used(self.data), tuple(used(one) for one in self.coords)

    @property
    def coords(self) -> tuple[ndarray, ...]:
        """The indices of the elements, by axis."""
        return (self.col,) if self.ndim == 1 else (self.row, self.col)

    @coords.setter
    def coords(self, value: Any) -> None:
        if not isinstance(value, tuple) or len(value) != self.ndim:
            raise ValueError(f"coords must be a {self.ndim}-tuple of arrays")
        self.row, self.col = value if self.ndim == 2 else (wrap(np.zeros_like(value[0]._buffer)), value[0])

    def _getnnz(self, axis: Any = None) -> Any:
        if axis is not None:
            raise NotImplementedError("getnnz over an axis is not implemented for COO format")
        return self.data.size

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(self, sparray):
            raise TypeError(f"{type(self).__name__!r} object is not subscriptable")
        found = self._host().tocsr()[_key(key)]
        if isinstance(found, np.ndarray) and found.ndim:
            return type(self)(wrap(found))
        return _result(found.tocoo() if scipy.sparse.issparse(found) else found)


class _dia_base(_spbase):
    format = "dia"
    _fields = ("data", "offsets")
    offsets: ndarray

    def _read(self, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Any:
        if scipy.sparse.issparse(arg1):
            return self._scipy()(arg1, copy=True)
        if not isinstance(arg1, tuple):
            raise ValueError("unrecognized form for dia_matrix constructor")
        data, offsets = arg1
        if shape is None:
            raise ValueError("expected a shape argument")
        parts = [used(one) if isinstance(one, ndarray) else np.asarray(one) for one in (data, offsets)]
        if len(np.unique(parts[1])) != parts[1].size:
            raise ValueError("offset array contains duplicate values")
        return self._scipy()(tuple(parts), shape=shape, dtype=dtype, copy=copy)

    def todia(self, copy: bool = False) -> Any:
        """Return the matrix, or a copy."""
        return self.copy() if copy else self

    def tocoo(self, copy: bool = False) -> Any:
        """Return the matrix as a list of elements."""
        return self.tocsr().tocoo()


class csr_matrix(spmatrix, _csr_base):
    """A matrix by rows."""


class csr_array(_csr_base, sparray):
    """A matrix by rows, or a vector, with the operators of arrays."""

    _allow_nd = (1, 2)


class csc_matrix(spmatrix, _csc_base):
    """A matrix by columns."""


class csc_array(_csc_base, sparray):
    """A matrix by columns, with the operators of arrays."""


class coo_matrix(spmatrix, _coo_base):
    """A matrix as a list of elements."""


class coo_array(_coo_base, sparray):
    """A matrix, or a vector, as a list of elements, with the operators of arrays."""

    _allow_nd = (1, 2)


class dia_matrix(spmatrix, _dia_base):
    """A matrix by diagonals."""


class dia_array(_dia_base, sparray):
    """A matrix by diagonals, with the operators of arrays."""


_CONTAINERS: dict[str, tuple[Any, Any]] = {
    "csr": (csr_matrix, csr_array),
    "csc": (csc_matrix, csc_array),
    "coo": (coo_matrix, coo_array),
    "dia": (dia_matrix, dia_array),
}


def _key(key: Any) -> Any:
    """Return an index for SciPy."""
    items = key if isinstance(key, tuple) else (key,)
    found = tuple(item._host() if isinstance(item, _spbase) else _index(item) for item in items)
    found = tuple(item[()] if isinstance(item, np.ndarray) and item.ndim == 0 else item for item in found)
    return found if isinstance(key, tuple) else found[0]


def _coordinates(arg1: tuple[Any, Any], lengths: tuple[int, ...]) -> Any:
    """Return elements and their indices for SciPy."""
    data, places = arg1
    if isinstance(places, ndarray):
        if places.ndim != 2:
            raise TypeError("invalid input format")
        places = tuple(places)
    try:
        places = tuple(places)
    except TypeError:
        raise TypeError("invalid input format") from None
    if len(places) not in lengths:
        raise ValueError("invalid number of coordinate arrays")
    if not all(isinstance(one, ndarray) and one.ndim == 1 for one in (data, *places)):
        raise ValueError("row, column, and data arrays must be 1-D")
    if any(len(one) != len(data) for one in places):
        raise ValueError("row, column, and data array must all be the same length")
    _check_type(data.dtype)
    return used(data), tuple(used(one) for one in places)


# ---- functions ----


def issparse(x: Any) -> bool:
    """Whether a value is a sparse matrix or array of this module."""
    return isinstance(x, _spbase)


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


def _formatted(host: Any, format: str | None, *sources: Any) -> Any:
    """Return a matrix in a format that CuPy can convert it to."""
    return _result(host, *sources).asformat(format)


def eye(m: int, n: int | None = None, k: int = 0, dtype: Any = "d", format: str | None = None) -> Any:
    """Return a matrix with ones on a diagonal."""
    return _formatted(scipy.sparse.eye(m, n, k, dtype=dtype, format=format or "dia"), format)


def identity(n: int, dtype: Any = "d", format: str | None = None) -> Any:
    """Return the identity."""
    return eye(n, n, dtype=dtype, format=format)


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """Return an array with ones on a diagonal."""
    return _formatted(scipy.sparse.eye_array(m, n, k=k, dtype=dtype, format=format or "dia"), format)


def spdiags(data: Any, diags: Any, m: int, n: int, format: str | None = None) -> Any:
    """Return a matrix of diagonals that lie in the rows of an array."""
    return dia_matrix((data, diags), shape=(m, n)).asformat(format)


def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix of diagonals."""
    return _diagonals(scipy.sparse.diags, diagonals, offsets, shape, format, dtype)


def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None
) -> Any:
    """Return an array of diagonals."""
    return _diagonals(scipy.sparse.diags_array, diagonals, offsets, shape, format, dtype)


def _diagonals(make: Any, diagonals: Any, offsets: Any, shape: Any, format: str | None, dtype: Any) -> Any:
    one = isinstance(offsets, (int, np.integer))
    if one and not (len(diagonals) and np.ndim(_on_host(diagonals[0]))):
        diagonals = [diagonals]
    parts = [np.atleast_1d(_on_host(diagonal)) for diagonal in diagonals]
    dtype = np.common_type(*parts) if dtype is None else dtype
    made = make(parts, offsets=[offsets] if one else _on_host(offsets), shape=shape, format="dia", dtype=dtype)
    return _formatted(made, format)


def _on_host(value: Any) -> Any:
    return used(value) if isinstance(value, ndarray) else value


def random(
    m: int,
    n: int,
    density: float = 0.01,
    format: str = "coo",
    dtype: Any = None,
    random_state: Any = None,
    data_rvs: Any = None,
) -> Any:
    """Return a matrix with random elements at random places."""
    from .random import RandomState, get_random_state

    if not 0 <= density <= 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    dtype = np.dtype(dtype)
    if dtype.char not in "fd":
        raise NotImplementedError(f"type {dtype} not supported")
    if random_state is None:
        random_state = get_random_state()
    elif isinstance(random_state, (int, np.integer)):
        random_state = RandomState(random_state)
    count = int(density * m * n)
    places = random_state.choice(m * n, size=count, replace=False)._buffer
    values = (data_rvs or random_state.rand)(count).astype(dtype)
    row, col = places % m, places // m
    return coo_matrix((values, (wrap(row), wrap(col))), shape=(m, n)).asformat(format)


def rand(
    m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, random_state: Any = None
) -> Any:
    """Return a matrix with elements from [0, 1) at random places."""
    return random(m, n, density, format, dtype, random_state)


def random_array(
    shape: Any,
    *,
    density: float = 0.01,
    format: str = "coo",
    dtype: Any = None,
    rng: Any = None,
    data_sampler: Any = None,
) -> Any:
    """Return an array with random elements at random places."""
    rows, columns = (1, *shape) if len(shape) == 1 else shape
    made = random(rows, columns, density, "coo", dtype, rng, data_sampler)
    if len(shape) == 1:
        return coo_array((made.data, (made.col,)), shape=shape).asformat(format)
    return coo_array(made).asformat(format)


def _blocks(blocks: Any) -> Any:
    return [[None if block is None else _operand(block) for block in row] for row in blocks]


def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix of blocks."""
    return _formatted(scipy.sparse.bmat(_blocks(blocks), dtype=dtype), format)


def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """Return an array of blocks."""
    return _formatted(scipy.sparse.block_array(_blocks(blocks), dtype=dtype), format)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices side by side."""
    return _formatted(scipy.sparse.hstack([_operand(block) for block in blocks], dtype=dtype), format)


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices below each other."""
    return _formatted(scipy.sparse.vstack([_operand(block) for block in blocks], dtype=dtype), format)


def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix with blocks on its diagonal; lists and scalars are blocks, too."""
    parts = [block if isinstance(block, (list, tuple)) else _operand(block) for block in mats]
    return _formatted(scipy.sparse.block_diag(parts, dtype=dtype), format)


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """Return the Kronecker product."""
    return _formatted(scipy.sparse.kron(_operand(A), _operand(B), "coo"), format)


def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """Return the Kronecker sum."""
    return _formatted(scipy.sparse.kronsum(_operand(A), _operand(B), "csr"), format)


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
    if not isinstance(A, (ndarray, _spbase)):
        raise TypeError("A must be cupy.ndarray or cupyx.scipy.sparse")


def find(A: Any) -> Any:
    """Return rows, columns and values of the elements that are not zero."""
    _check_matrix(A)
    return _result(scipy.sparse.find(_operand(A)))


def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the lower triangle."""
    _check_matrix(A)
    return _formatted(scipy.sparse.tril(_operand(A), k, "coo"), format)


def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the upper triangle."""
    _check_matrix(A)
    return _formatted(scipy.sparse.triu(_operand(A), k, "coo"), format)


def get_index_dtype(arrays: Any = (), maxval: Any = None, check_contents: bool = False) -> Any:
    """Return the type that indices need."""
    given = [_on_host(array) for array in ((arrays,) if isinstance(arrays, ndarray) else arrays)]
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


_NAMES = _words(
    """
SparseEfficiencyWarning SparseWarning block_array block_diag bmat coo_array coo_matrix csc_array csc_matrix csr_array
csr_matrix dia_array dia_matrix diags diags_array eye eye_array find get_index_dtype hstack identity issparse isspmatrix
isspmatrix_coo isspmatrix_csc isspmatrix_csr isspmatrix_dia kron kronsum matrix_transpose permute_dims rand random
random_array safely_cast_index_arrays sparray spdiags spmatrix swapaxes tril triu vstack
"""
)
for _name in _NAMES:
    if _name not in ("SparseWarning", "SparseEfficiencyWarning"):
        globals()[_name].__module__ = "cupyx.scipy.sparse"


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.scipy.sparse``."""
    return {name: globals()[name] for name in _NAMES}
