"""Matrices of device arrays, and SciPy's on the same memory: what goes in, what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from cunumpy.kernel_testing._fake_cupy.array_base import is_host_array, unsupported, used, wrap
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

TYPE_CHARACTERS = "?fdFD"
CONTAINERS: dict[str, tuple[Any, Any]] = {}
"""The class of matrices and that of arrays, by format."""

SparseWarning: Any = scipy.sparse.SparseWarning
SparseEfficiencyWarning: Any = scipy.sparse.SparseEfficiencyWarning


def is_scalar(value: Any) -> bool:
    """Whether a value is a number, on the host or the device."""
    return (isinstance(value, ndarray) and value.ndim == 0) or (not isinstance(value, ndarray) and np.isscalar(value))


def operand(value: Any) -> Any:
    """Return what SciPy computes with; host arrays, lists and host matrices are refused."""
    if isinstance(value, Stored):
        return value._host()
    if isinstance(value, ndarray):
        return used(value)[()] if value.ndim == 0 else used(value)
    if is_host_array(value) or isinstance(value, (list, tuple)) or scipy.sparse.issparse(value):
        raise unsupported(value)
    return value


def arrays_of(value: Any) -> tuple[ndarray, ...]:
    """Return the device arrays of a value."""
    if isinstance(value, Stored):
        return value._arrays()
    if isinstance(value, (list, tuple)):
        return tuple(array for item in value for array in arrays_of(item))
    return (value,) if isinstance(value, ndarray) else ()


def on_device(value: Any, *sources: Any) -> Any:
    """Return a result of SciPy with its arrays on the device; what it shares with the sources stays shared."""
    if scipy.sparse.issparse(value):
        if value.format not in CONTAINERS:
            value = value.tocsr()
        if value.format != "dia":
            check_type(value.dtype)
        cls = CONTAINERS[value.format][isinstance(value, scipy.sparse.sparray)]
        return cls._of(value, *arrays_of(sources))
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        return wrap(np.asarray(value), *arrays_of(sources))
    if isinstance(value, tuple):
        return tuple(on_device(item, *sources) for item in value)
    return value


def shared(buffer: np.ndarray[Any, Any], sources: tuple[ndarray, ...]) -> ndarray:
    """Return the device array of a buffer: a source that it is all of, else a view of one, else a new one."""
    for source in sources:
        if all(getattr(source._buffer, name) == getattr(buffer, name) for name in ("dtype", "shape", "strides")) and (
            source._buffer.__array_interface__["data"] == buffer.__array_interface__["data"]
        ):
            return source
    return wrap(buffer, *sources)


def check_type(dtype: np.dtype[Any]) -> None:
    """Raise CuPy's error for element types that its matrices have not."""
    if dtype.char not in TYPE_CHARACTERS:
        raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")


class Stored:
    """A matrix of device arrays, and SciPy's on the same memory."""

    format: str = ""
    data: ndarray
    _fields: tuple[str, ...] = ()
    _shape: tuple[int, ...]
    _canonical: bool | None = None

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

    def _take(self, host: Any, *sources: ndarray) -> None:
        """Make the arrays of a matrix of SciPy's this one's."""
        self._shape = tuple(int(one) for one in host.shape)
        self._canonical = None
        for name in self._fields:
            setattr(self, name, shared(getattr(host, name), sources))

    def _arrays(self) -> tuple[ndarray, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def _host(self, by_rows: bool = False) -> Any:
        """Return a matrix of SciPy's on the same memory, or one by rows."""
        host = self._scipy()(self._parts(), shape=self._shape, copy=False)
        return host.tocsr() if by_rows else host

    def _parts(self) -> Any:
        return tuple(used(array) for array in self._arrays())


class sparray:
    """Base of the classes whose ``*`` multiplies elements."""


def issparse(x: Any) -> bool:
    """Whether a value is a sparse matrix or array of this module."""
    return isinstance(x, Stored)
