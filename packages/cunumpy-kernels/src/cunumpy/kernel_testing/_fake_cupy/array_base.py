"""What an array is, a NumPy buffer in a place of device memory, and who may use the buffer.

`wrap` makes arrays of NumPy's results. `used`, `target` and `changed` give the buffers of arrays that are read,
overwritten and changed, which the asynchronous mode has to know.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import asynchrony
from .allocators import placed
from .current_device import current_device
from .dtypes import check_dtype
from .memory import BaseMemory
from .memory_pointer import MemoryPointer

if TYPE_CHECKING:
    from .ndarray import ndarray


array_class: Any = None
"""What `wrap` makes: ``cupy.ndarray``, which enters itself here."""


class Flags:
    """The memory layout of an array: ``c_contiguous``, ``f_contiguous`` and ``owndata``, also by index."""

    def __init__(self, c_contiguous: bool, f_contiguous: bool, owndata: bool) -> None:
        self.c_contiguous = c_contiguous
        self.f_contiguous = f_contiguous
        self.owndata = owndata

    @property
    def fnc(self) -> bool:
        """Whether the array is Fortran- and not C-contiguous."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """Whether the array is contiguous in either order."""
        return self.f_contiguous or self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        names = {"C_CONTIGUOUS": "c_contiguous", "F_CONTIGUOUS": "f_contiguous", "OWNDATA": "owndata"}
        return bool(getattr(self, names[name]))

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA")
        return "\n".join(f"  {name} : {self[name]}" for name in names)


class _ndarray_base:
    """The memory of an array, and how its elements lie in it."""

    __slots__ = ("__weakref__", "_base", "_buffer", "_memory")
    __array_priority__ = 100
    _buffer: np.ndarray[Any, Any]
    _base: ndarray | None
    _memory: BaseMemory

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; setting it reshapes without a copy."""
        shape: tuple[int, ...] = self._buffer.shape
        return shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        try:
            self._buffer = reshaped(self._buffer, shape, copy=False)
        except ValueError as error:
            if "copy" not in str(error):
                raise
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            ) from None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        dtype: np.dtype[Any] = self._buffer.dtype
        return dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in bytes."""
        return self._buffer.strides

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._buffer.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._buffer.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._buffer.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._buffer.nbytes

    @property
    def base(self) -> ndarray | None:
        """The array that this one is a view of."""
        return self._base

    @property
    def flags(self) -> Flags:
        """Memory layout."""
        flags = self._buffer.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self._base is None)

    @property
    def data(self) -> Any:
        """Pointer to the first element."""
        return MemoryPointer(self._memory, self._buffer.__array_interface__["data"][0] - self._memory.ptr)

    @property
    def device(self) -> Any:
        """The device of the memory."""
        return self._memory.device


def _owner(buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(buffer.base, np.ndarray):
        buffer = buffer.base
    return buffer


def wrap(buffer: Any, *sources: Any) -> ndarray:
    """Return the device array of a NumPy result.

    Parameters
    ----------
    buffer : numpy.ndarray or numpy.generic
        The result; it is not copied.
    sources : ndarray
        The arrays it was computed from. A result that is the buffer of one of them is that array itself, and a result
        that shares its memory is a view of it.
    """
    buffer = np.asarray(buffer)
    check_dtype(buffer.dtype)
    array: ndarray = object.__new__(array_class)
    if asynchrony.is_on() and buffer.base is not None:
        behind = asynchrony.behind(buffer)
        if behind is not None:
            buffer, sources = behind[0], (behind[1],)
    if buffer.base is not None or sources:
        owner = _owner(buffer)
        for source in sources:
            if source._buffer is buffer:
                same: ndarray = source
                return same
            if owner is _owner(source._buffer) or (asynchrony.is_on() and _shares_memory(buffer, source)):
                array._buffer, array._memory = buffer, source._memory
                array._base = source if source._base is None else source._base
                return array
    array._buffer, array._memory = placed(buffer)
    array._base = None
    if asynchrony.is_on():
        asynchrony.wrote(array)
    return array


def _shares_memory(buffer: np.ndarray[Any, Any], source: _ndarray_base) -> bool:
    """Whether a buffer, perhaps one by addresses alone, is in the memory of an array."""
    low, size = source._memory._extent()
    address: int = buffer.__array_interface__["data"][0]
    return low <= address < low + size


def check_device(array: _ndarray_base) -> None:
    """Raise if an array is on another device than the current one."""
    device = array._memory.device_id
    if device != current_device():
        raise ValueError(
            f"The device where the array resides ({device}) is different from the current device "
            f"({current_device()}). Peer access is unavailable between these devices."
        )


def used(array: _ndarray_base) -> np.ndarray[Any, Any]:
    """Return the buffer of an array that the current device works with; raise if it is another device's."""
    check_device(array)
    return seen(array)


def seen(array: _ndarray_base) -> np.ndarray[Any, Any]:
    """Return the buffer as the current stream sees it, whatever the device."""
    return asynchrony.seen(array) if asynchrony.is_on() else array._buffer


def target(array: Any) -> np.ndarray[Any, Any]:
    """Return the buffer of a device array that is overwritten as a whole; TypeError for anything else."""
    if not isinstance(array, _ndarray_base):
        raise TypeError(f"expected a cupy.ndarray, got {type(array)}")
    check_device(array)
    if asynchrony.is_on():
        asynchrony.writing(array)
    return array._buffer


@contextlib.contextmanager
def changed(array: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Give the buffer of a device array, some elements of which are changed; TypeError for anything else."""
    if not isinstance(array, _ndarray_base):
        raise TypeError(f"expected a cupy.ndarray, got {type(array)}")
    check_device(array)
    with asynchrony.launching([array]):
        yield array._buffer


def unwrap(array: Any) -> np.ndarray[Any, Any]:
    """Return the buffer of a device array; TypeError for anything else."""
    if not isinstance(array, _ndarray_base):
        raise TypeError(f"expected a cupy.ndarray, got {type(array)}")
    return used(array)


def operand(value: Any) -> Any:
    """Return what NumPy computes with for an operand: a buffer, or a scalar. Host arrays and lists are refused."""
    if isinstance(value, _ndarray_base):
        return used(value)
    if isinstance(value, (bool, int, float, complex, np.bool_, np.number)):
        check_dtype(type(value))
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        check_dtype(value.dtype)
        return value[()]
    raise unsupported(value)


def is_host_array(value: Any) -> bool:
    """Whether a value is host data that CuPy does not convert by itself; a 0-d array counts as a scalar."""
    return isinstance(value, np.ndarray) and value.ndim > 0


def unsupported(value: Any) -> TypeError:
    """Return CuPy's error for an operand that lives on the host."""
    return TypeError(f"Unsupported type {type(value)}")


def reshaped(
    buffer: np.ndarray[Any, Any], shape: Any, order: Any = "C", copy: bool | None = None
) -> np.ndarray[Any, Any]:
    """Return a buffer with another shape; `numpy.reshape` has ``copy`` from NumPy 2.1 on."""
    result: np.ndarray[Any, Any] = np.reshape(buffer.copy("K") if copy else buffer, shape, order)
    if copy is False and result.size and not np.may_share_memory(buffer, result):
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return result
