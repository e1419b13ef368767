"""What goes from an array to the host and from the host to an array, asked for or implicit."""

from __future__ import annotations

import contextlib
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from . import asynchrony, synchronization
from .array_base import _ndarray_base, seen, wrap
from .dtypes import check_dtype
from .memory_history import POISON

if TYPE_CHECKING:
    from .ndarray import ndarray


def announced_read(array: _ndarray_base, description: str) -> np.ndarray[Any, Any]:
    """Return the buffer for an implicit read by the host, after announcing and recording it."""
    from cunumpy import _transfers

    synchronization.declare()
    buffer = waited(array)
    if _transfers.watching():
        text = f"{description} of a device array, shape={array.shape}, dtype={array.dtype}"
        _transfers.announce("sync", text, array.nbytes, implicit=True)
        _transfers.record("sync", text, array.nbytes, implicit=True)
    return buffer


def announced_walk(array: _ndarray_base) -> None:
    """Record a loop of the host over the elements of an array, which reads none of them yet."""
    from cunumpy import _transfers

    if _transfers.watching():
        text = f"iteration over the elements of a device array, shape={array.shape}, dtype={array.dtype}"
        _transfers.announce("sync", text, 0, implicit=True)
        _transfers.record("sync", text, 0, implicit=True)


def waited(array: _ndarray_base) -> np.ndarray[Any, Any]:
    """Return the buffer for the host, which waits for the current stream."""
    if not asynchrony.is_on():
        return array._buffer
    buffer = asynchrony.seen(array)
    asynchrony.wait_for_stream(None)
    return buffer


def announced_copy(value: Any, description: str, dtype: Any = None) -> ndarray:
    """Return a device array for an implicit copy of host data, after announcing and recording it."""
    from cunumpy import _transfers

    watched = _transfers.watching()
    text = f"{description} of host data of type {type(value).__name__}"
    if watched:
        _transfers.announce("to_device", text, getattr(value, "nbytes", None), implicit=True)
    array = from_host(value, dtype)
    if watched:
        _transfers.record("to_device", text, array.nbytes, implicit=True)
    return array


def from_host(value: Any, dtype: Any = None, order: str | None = "K", ndmin: int = 0) -> ndarray:
    """Return a new device array with a copy of host data.

    Host data of foreign byte order keeps its values, as ``cupy.array`` documents.
    """
    flat_value = without_device_arrays(value)
    order = "K" if order is None else order
    host = np.array(flat_value, dtype=dtype, ndmin=ndmin)
    if order in ("K", "A", "k", "a"):
        order = "F" if isinstance(value, np.ndarray) and value.flags.fnc else "C"
    if host.dtype.names is None:
        host = host.astype(host.dtype.newbyteorder("="), copy=False)
    check_dtype(host.dtype)
    if host.base is not None or not host.flags.owndata or not (host.flags.c_contiguous or host.flags.f_contiguous):
        host = host.copy()
    with asynchrony.aside():
        return wrap(np.array(host, order=order))  # type: ignore[call-overload]


def without_device_arrays(value: Any) -> Any:
    """Return nested sequences with the buffers of the device arrays in them, which CuPy joins on the device."""
    if isinstance(value, _ndarray_base):
        return seen(value)
    if isinstance(value, (list, tuple)):
        return [without_device_arrays(item) for item in value]
    return value


class HostCopies(_ndarray_base):
    """The methods of an array that copy it to the host, or the host's data into it."""

    __slots__ = ()

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """Return a copy in host memory, or fill `out` with it."""
        if blocking:
            synchronization.declare()
        if out is None:
            order = order.upper()
            if order not in ("C", "F", "A"):
                raise ValueError(f"unsupported order: {order}")
            copied: np.ndarray[Any, Any] = np.array(self._buffer, order=order)  # type: ignore[call-overload]
            if asynchrony.is_on():
                copied.reshape(-1, order="A").view(np.uint8)[...] = POISON
                return self._to_host(copied, stream, blocking)
            return copied
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained from cupy.ndarray")
        if out.dtype != self.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
        if out.shape != self.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}")
        if not (out.flags.c_contiguous or out.flags.f_contiguous):
            raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
        return self._to_host(out, stream, blocking)

    def _to_host(self, out: np.ndarray[Any, Any], stream: Any, blocking: bool) -> np.ndarray[Any, Any]:
        if not asynchrony.is_on():
            out[...] = self._buffer
            return out
        with contextlib.nullcontext() if stream is None else stream:
            # Later work of the stream may change the array; the copy comes before it.
            asynchrony.begin_operation()
            copied = seen(self).copy()
            asynchrony.later(lambda: np.copyto(out, copied), result=copied.reshape(-1).view(np.uint8))
            if blocking:
                waited(self)
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        """Copy a host array of the same dtype and shape into this array."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if arr.shape != self.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        if not (self._buffer.flags.c_contiguous or self._buffer.flags.f_contiguous):
            raise RuntimeError("Cannot set to non-contiguous array")
        if asynchrony.is_on():
            buffer = self._buffer
            asynchrony.begin_operation()
            asynchrony.writing(self, None if stream is None else lambda: np.copyto(buffer, arr), stream)
            if stream is not None:
                return
        self._buffer[...] = arr

    def item(self) -> Any:
        """Return the only element as a Python scalar."""
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return announced_read(self, "item()").item()

    def tolist(self) -> Any:
        """Return the elements as nested lists."""
        return announced_read(self, "tolist()").tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """Return the elements as bytes."""
        return announced_read(self, "tobytes()").tobytes(order)

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file."""
        announced_read(self, "tofile()").tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        """Write a pickle of the array to a file."""
        pickle.dump(self, file, -1)

    def dumps(self) -> bytes:
        """Return a pickle of the array."""
        return pickle.dumps(self, -1)

    def __bool__(self) -> bool:
        if self.size == 0:
            raise ValueError("The truth value of an empty array is ambiguous. Use `array.size > 0` to check this.")
        if self.size > 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(announced_read(self, "bool()"))

    def __int__(self) -> int:
        return int(self._scalar("int()"))

    def __float__(self) -> float:
        return float(self._scalar("float()"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def _scalar(self, description: str) -> Any:
        if self.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return announced_read(self, description)[()]

    def __bytes__(self) -> bytes:
        return announced_read(self, "bytes()").tobytes()

    def __str__(self) -> str:
        return str(announced_read(self, "str()"))

    def __format__(self, format_spec: str) -> str:
        read = announced_read(self, "format()")
        return format(read[()] if self.ndim == 0 else read, format_spec)

    def __repr__(self) -> str:
        return repr(announced_read(self, "repr()"))
