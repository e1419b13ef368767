"""The classes of matrices: by rows, by columns, as a list of elements, by diagonals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse

from cunumpy.kernel_testing._fake_cupy.array_base import used, wrap
from cunumpy.kernel_testing._fake_cupy.elements import host_index
from cunumpy.kernel_testing._fake_cupy.host_copies import from_host
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

from .base import _spbase, check_shape, is_shape, spmatrix
from .storage import CONTAINERS, SparseEfficiencyWarning, check_type, on_device, shared, sparray


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
        if is_shape(arg1, self._allow_nd):
            return kind(check_shape(arg1, self._allow_nd), dtype=dtype or np.float64)
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
            check_type(data.dtype if dtype is None else dtype)
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
            check_type(arg1.dtype if dtype is None else dtype)
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
        return on_device(found)

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
        return on_device(found)


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
        if is_shape(arg1, self._allow_nd):
            return kind(check_shape(arg1, self._allow_nd), dtype=dtype or np.float64)
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
        self.data, self.col = shared(host.data, sources), shared(host.coords[-1], sources)
        self.row = shared(host.coords[0] if host.ndim == 2 else np.zeros_like(host.coords[0]), sources)

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
        return on_device(found.tocoo() if scipy.sparse.issparse(found) else found)


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


CONTAINERS.update(
    {
        "csr": (csr_matrix, csr_array),
        "csc": (csc_matrix, csc_array),
        "coo": (coo_matrix, coo_array),
        "dia": (dia_matrix, dia_array),
    }
)


def _key(key: Any) -> Any:
    """Return an index for SciPy."""
    items = key if isinstance(key, tuple) else (key,)
    found = tuple(item._host() if isinstance(item, _spbase) else host_index(item) for item in items)
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
    check_type(data.dtype)
    return used(data), tuple(used(one) for one in places)
