"""The array class of the stand-in, the conversions between it and NumPy, and the checks of what may be an array."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import asynchrony, synchronization
from .allocators import placed
from .devices import current_device
from .memory import BaseMemory
from .memory_history import POISON, area_of
from .memory_pointer import MemoryPointer

DTYPE_CHARACTERS = "?bhilqBHILQefdFDV"
NATIVE_ORDERS = "=|" + ("<" if sys.byteorder == "little" else ">")


def check_dtype(dtype: Any) -> Any:
    """Return a dtype that CuPy has, or raise CuPy's ValueError."""
    dtype = np.dtype(dtype)
    if dtype.names is not None:
        for name in dtype.names:
            check_dtype(dtype[name].base)
    elif dtype.char not in DTYPE_CHARACTERS:
        raise ValueError(f"Unsupported dtype {dtype}")
    elif dtype.byteorder not in NATIVE_ORDERS:
        # CuPy lets some of these through and then computes with the wrong byte order (its issue 9014).
        raise ValueError(f"Unsupported dtype {dtype.str} with big-endian byte-order")
    return dtype


def is_host_array(value: Any) -> bool:
    """Whether a value is host data that CuPy does not convert by itself; a 0-d array counts as a scalar."""
    return isinstance(value, np.ndarray) and value.ndim > 0


def unsupported(value: Any) -> TypeError:
    """Return CuPy's error for an operand that lives on the host."""
    return TypeError(f"Unsupported type {type(value)}")


def announced_read(array: ndarray, description: str) -> np.ndarray[Any, Any]:
    """Return the buffer for an implicit read by the host, after announcing and recording it."""
    from cunumpy import _transfers

    synchronization.declare()
    buffer = waited(array)
    if _transfers.watching():
        text = f"{description} of a device array, shape={array.shape}, dtype={array.dtype}"
        _transfers.announce("sync", text, array.nbytes, implicit=True)
        _transfers.record("sync", text, array.nbytes, implicit=True)
    return buffer


def announced_walk(array: ndarray) -> None:
    """Record a loop of the host over the elements of an array, which reads none of them yet."""
    from cunumpy import _transfers

    if _transfers.watching():
        text = f"iteration over the elements of a device array, shape={array.shape}, dtype={array.dtype}"
        _transfers.announce("sync", text, 0, implicit=True)
        _transfers.record("sync", text, 0, implicit=True)


def waited(array: ndarray) -> np.ndarray[Any, Any]:
    """Return the buffer for the host, which waits for the current stream."""
    if not asynchrony.is_on():
        return array._buffer
    from .cuda import get_current_stream

    buffer = asynchrony.seen(array)
    asynchrony.wait_for_stream(get_current_stream())
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


def _owner(buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(buffer.base, np.ndarray):
        buffer = buffer.base
    return buffer


def wrap(buffer: Any, *sources: ndarray) -> ndarray:
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
    array = ndarray.__new__(ndarray)
    if asynchrony.is_on() and buffer.base is not None:
        behind = asynchrony.behind(buffer)
        if behind is not None:
            buffer, sources = behind[0], (behind[1],)
    if buffer.base is not None or sources:
        owner = _owner(buffer)
        for source in sources:
            if source._buffer is buffer:
                return source
            if owner is _owner(source._buffer) or (asynchrony.is_on() and _shares_memory(buffer, source)):
                array._buffer, array._memory = buffer, source._memory
                array._base = source if source._base is None else source._base
                return array
    array._buffer, array._memory = placed(buffer)
    array._base = None
    if asynchrony.is_on():
        asynchrony.wrote(array)
    return array


def _shares_memory(buffer: np.ndarray[Any, Any], source: ndarray) -> bool:
    """Whether a buffer, perhaps one by addresses alone, is in the memory of an array."""
    low, size = source._memory._extent()
    address: int = buffer.__array_interface__["data"][0]
    return low <= address < low + size


def check_device(array: ndarray) -> None:
    """Raise if an array is on another device than the current one."""
    device = array._memory.device_id
    if device != current_device():
        raise ValueError(
            f"The device where the array resides ({device}) is different from the current device "
            f"({current_device()}). Peer access is unavailable between these devices."
        )


def used(array: ndarray) -> np.ndarray[Any, Any]:
    """Return the buffer of an array that the current device works with; raise if it is another device's."""
    check_device(array)
    return _seen(array)


def _seen(array: ndarray) -> np.ndarray[Any, Any]:
    """Return the buffer as the current stream sees it, whatever the device."""
    return asynchrony.seen(array) if asynchrony.is_on() else array._buffer


def target(array: Any) -> np.ndarray[Any, Any]:
    """Return the buffer of a device array that is overwritten as a whole; TypeError for anything else."""
    if not isinstance(array, ndarray):
        raise TypeError(f"expected a cupy.ndarray, got {type(array)}")
    check_device(array)
    if asynchrony.is_on():
        asynchrony.writing(array)
    return array._buffer


@contextlib.contextmanager
def changed(array: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Give the buffer of a device array, some elements of which are changed; TypeError for anything else."""
    if not isinstance(array, ndarray):
        raise TypeError(f"expected a cupy.ndarray, got {type(array)}")
    check_device(array)
    with asynchrony.launching([array]):
        yield array._buffer


def unwrap(array: Any) -> np.ndarray[Any, Any]:
    """Return the buffer of a device array; TypeError for anything else."""
    if not isinstance(array, ndarray):
        raise TypeError(f"expected a cupy.ndarray, got {type(array)}")
    return used(array)


def operand(value: Any) -> Any:
    """Return what NumPy computes with for an operand: a buffer, or a scalar. Host arrays and lists are refused."""
    if isinstance(value, ndarray):
        return used(value)
    if isinstance(value, (bool, int, float, complex, np.bool_, np.number)):
        check_dtype(type(value))
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        check_dtype(value.dtype)
        return value[()]
    raise unsupported(value)


def _is_cuda_cast(values: Any, dtype: np.dtype[Any]) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and dtype.kind in "iu"


def cuda_cast(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return real numbers as integers, by CUDA's conversions: those outside of the limits become the limits.

    NumPy leaves that open. NaN is 0 where single precision becomes at most 32 bits, else the smallest integer (PTX,
    ``cvt``). Types below 32 bits get the low bits of 32.
    """
    if not _is_cuda_cast(values, dtype):
        return values
    wide = np.dtype(f"{dtype.kind}{max(dtype.itemsize, 4)}")
    limits = np.iinfo(wide)
    with np.errstate(all="ignore"):
        result: np.ndarray[Any, Any] = np.asarray(values.astype(wide))
        result[values <= limits.min] = limits.min
        result[values >= float(limits.max)] = limits.max
        of_nan = 0 if values.dtype.itemsize < 8 and wide.itemsize < 8 else 1 << (8 * wide.itemsize - 1)
        result[np.isnan(values)] = of_nan - (2 * of_nan if dtype.kind == "i" else 0)
        return result.astype(dtype)


def _assign(buffer: np.ndarray[Any, Any], index: Any, data: Any) -> None:
    """Assign to selected elements. Of several values for one element the first is kept: CuPy keeps any of them."""
    if np.size(data) > 1:
        places = np.arange(buffer.size).reshape(buffer.shape)[index]
        if np.unique(places).size < places.size:
            values = np.broadcast_to(data, places.shape).ravel()
            buffer.flat[places.ravel()[::-1]] = values[::-1]
            return
    buffer[index] = data


def reshaped(
    buffer: np.ndarray[Any, Any], shape: Any, order: Any = "C", copy: bool | None = None
) -> np.ndarray[Any, Any]:
    """Return a buffer with another shape; `numpy.reshape` has ``copy`` from NumPy 2.1 on."""
    result: np.ndarray[Any, Any] = np.reshape(buffer.copy("K") if copy else buffer, shape, order)
    if copy is False and result.size and not np.may_share_memory(buffer, result):
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return result


def from_host(value: Any, dtype: Any = None, order: str | None = "K", ndmin: int = 0) -> ndarray:
    """Return a new device array with a copy of host data.

    Host data of foreign byte order keeps its values, as ``cupy.array`` documents.
    """
    flat_value = _without_device_arrays(value)
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


def _without_device_arrays(value: Any) -> Any:
    """Return nested sequences with the buffers of the device arrays in them, which CuPy joins on the device."""
    if isinstance(value, ndarray):
        return _seen(value)
    if isinstance(value, (list, tuple)):
        return [_without_device_arrays(item) for item in value]
    return value


def _rebuild(host: np.ndarray[Any, Any]) -> ndarray:
    """Return the device array of a pickle."""
    return wrap(np.array(host, order="K"))


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


def _index(key: Any) -> Any:
    """Return an index with which NumPy selects what CuPy would select.

    Lists and NumPy arrays are copied to the device, as by CuPy. An index out of bounds is an error, where CuPy wraps it
    around silently: code that does so is wrong on the other backend.
    """
    if isinstance(key, tuple):
        return tuple(_index_item(item) for item in key)
    return _index_item(key)


def _index_item(item: Any) -> Any:
    if isinstance(item, ndarray):
        if item.dtype.kind not in "biu":
            raise IndexError(f"arrays used as indices must be of integer or boolean type. (actual: {item.dtype.type})")
        return _seen(item)
    if isinstance(item, (list, tuple, np.ndarray)):
        try:
            return _index_item(_copied_index(item))
        except ValueError:  # of the dtype, or of lists of different lengths
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays "
                "are valid indices"
            ) from None
    return item


def _copied_index(item: Any) -> ndarray:
    """Return the device array of an index from the host."""
    if isinstance(item, (list, tuple)) and np.size(_without_device_arrays(item)) == 0:
        return from_host(item, np.intp)  # as NumPy takes an empty list
    return announced_copy(item, "an index")


def _is_basic(key: Any) -> bool:
    """Whether an index selects by scalars and slices only, so that the selection is a view."""
    items = key if isinstance(key, tuple) else (key,)
    return all(
        item is None or item is Ellipsis or isinstance(item, slice) or (np.isscalar(item) and not _is_bool(item))
        for item in items
    )


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _ufunc(name: str) -> Callable[..., Any]:
    from ._names import UFUNCS

    served: Callable[..., Any] = UFUNCS[name]
    return served


def _function(name: str) -> Callable[..., Any]:
    from ._names import FUNCTIONS

    served: Callable[..., Any] = FUNCTIONS[name]
    return served


def _defers(left: Any, right: Any) -> bool:
    """Whether a binary operator leaves the decision to the right operand (NEP 13, with CuPy's priorities)."""
    try:
        theirs = right.__array_ufunc__
    except AttributeError:
        mine, priority = getattr(left, "__array_priority__", 0), getattr(right, "__array_priority__", 0)
        return bool(mine < priority)
    return theirs is None


def _binary(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        if not isinstance(other, ndarray) and _defers(self, other):
            return NotImplemented
        return _ufunc(name)(self, other)

    return method


def _reflected(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        return _ufunc(name)(other, self)

    return method


def _inplace(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        return _ufunc(name)(self, other, self)

    return method


def _comparison(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        if not isinstance(other, ndarray):
            if _defers(self, other):
                return NotImplemented
            # What compares by identity equals no element: None, Ellipsis, objects of one's own.
            methods = ("__eq__",) if name == "equal" else ("__eq__", "__ne__")
            if name in ("equal", "not_equal") and (
                other is None or all(getattr(type(other), m) is getattr(object, m) for m in methods)
            ):
                return wrap(np.full(self.shape, name == "not_equal"))
        return _ufunc(name)(self, other)

    return method


class ndarray:
    """Array on the stand-in's device, with CuPy's attributes and methods.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype, default float
        Type of the elements; numeric, bool, complex, or a structure of these.
    memptr : cupy.cuda.MemoryPointer, optional
        Memory to use instead of new memory.
    strides : tuple of int, optional
        Strides in bytes; needs `memptr`.
    order : {'C', 'F'}
        Memory order.
    """

    __slots__ = ("__weakref__", "_base", "_buffer", "_memory")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    _buffer: np.ndarray[Any, Any]
    _base: ndarray | None
    _memory: BaseMemory

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        dtype = check_dtype(dtype)
        if strides is not None and memptr is None:
            raise ValueError("memptr is required if strides is given.")
        if memptr is None:
            self._buffer, self._memory = placed(np.empty(shape, dtype, order=order))  # type: ignore[call-overload]
        else:
            self._memory = memptr.mem
            self._buffer = memptr.mem._as_array(memptr.ptr - memptr.mem.ptr, shape, dtype, strides, order)
        self._base = None

    # ---- memory ----

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

    @property
    def T(self) -> ndarray:
        """View with the axes reversed."""
        return self if self.ndim < 2 else wrap(self._buffer.T, self)

    @property
    def mT(self) -> ndarray:
        """View with the last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return wrap(self._buffer.mT, self)

    @property
    def real(self) -> ndarray:
        """Real part: a view."""
        return wrap(self._buffer.real, self) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """Imaginary part: a view of a complex array, else zeros."""
        return wrap(self._buffer.imag, self) if self.dtype.kind == "c" else wrap(np.zeros_like(self._buffer))

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("cupy.ndarray does not have imaginary part to set")
        self.imag[...] = value

    @property
    def flat(self) -> flatiter:
        """Iterator over the elements in C order."""
        return flatiter(self)

    # ---- protocols ----

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # Stream 1 is the legacy default stream: version 3 of the interface forbids 0.
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": 1,
            "version": 3,
            "strides": None if self._buffer.flags.c_contiguous else self.strides,
            "data": (self._buffer.__array_interface__["data"][0] if self.size else 0, False),
        }

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self._memory.device_id)  # kDLCUDA

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if dl_device is not None and dl_device[0] == 1:  # kDLCPU: asked for, so the copy is explicit
            if copy is False:
                raise ValueError("GPU memory cannot be exported to CPU without copy")
            asked = {} if max_version is None else {"max_version": max_version}  # NumPy 2.0 neither asks nor answers
            return self.get().__dlpack__(**asked)
        # A capsule of host memory that claims to be on a CUDA device would make a consumer read wild pointers.
        raise BufferError("the CuPy stand-in has no device memory that another library could read")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        served = sys.modules["cupy"].__dict__.get(ufunc.__name__)
        if served is None or not hasattr(served, "nin"):
            return NotImplemented
        if "out" in kwargs:
            out = kwargs["out"]
            if len(out) != 1:
                raise ValueError("The 'out' parameter must have exactly one array value")
            kwargs["out"] = out[0]
        if method == "__call__":
            return served(*inputs, **kwargs)
        return getattr(served, method)(*inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        names = func.__module__.split(".")[1:]
        module: Any = sys.modules["cupy"]
        for name in names:
            module = getattr(module, name, None)
        served = getattr(module, "__dict__", {}).get(func.__name__)
        if served is None or served is func or not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
            return NotImplemented
        return served(*args, **kwargs)

    # ---- reads by the host ----

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
            copied = _seen(self).copy()
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

    def toDlpack(self) -> Any:
        """Return a capsule: refused as by `__dlpack__`, since there is no device memory."""
        return self.__dlpack__()

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

    # CuPy has no __index__: a device array is no index or range bound.

    def __bytes__(self) -> bytes:
        return announced_read(self, "bytes()").tobytes()

    def __str__(self) -> str:
        return str(announced_read(self, "str()"))

    def __format__(self, format_spec: str) -> str:
        read = announced_read(self, "format()")
        return format(read[()] if self.ndim == 0 else read, format_spec)

    def __repr__(self) -> str:
        return repr(announced_read(self, "repr()"))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (np.array(announced_read(self, "pickling"), order="A"),)

    # ---- copies, views ----

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def copy(self, order: str = "C") -> ndarray:
        """Return a copy."""
        asynchrony.begin_operation()
        return wrap(_seen(self).copy(order))  # type: ignore[arg-type]

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        """Return the array with another element type."""
        if casting is not None:
            raise TypeError("casting is not supported yet")
        if subok is not None:
            raise TypeError("subok is not supported yet")
        dtype = check_dtype(dtype)
        asynchrony.begin_operation()
        with np.errstate(all="ignore"):
            buffer = _seen(self)
            if _is_cuda_cast(buffer, dtype):
                return wrap(np.array(cuda_cast(buffer, dtype), order=order or "K"))  # type: ignore[call-overload]
            return wrap(buffer.astype(dtype, order=order or "K", copy=copy), self)  # type: ignore[call-overload]

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        """Return a view, with the memory read as another type if asked."""
        if dtype is ndarray:
            dtype = None
        return wrap(self._buffer.view() if dtype is None else self._buffer.view(check_dtype(dtype)), self)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray:
        """Return the array with another shape."""
        if len(shape) == 1 and not isinstance(shape[0], int):
            (shape,) = shape
        return self._view_or_copy(lambda buffer: reshaped(buffer, shape, order, copy))

    def transpose(self, *axes: Any) -> ndarray:
        """Return a view with the axes permuted."""
        return wrap(self._buffer.transpose(*axes), self)

    def ravel(self, order: str = "C") -> ndarray:
        """Return the array in one dimension, without a copy if possible."""
        return self._view_or_copy(lambda buffer: buffer.ravel(order))  # type: ignore[arg-type]

    def _view_or_copy(self, compute: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> ndarray:
        found = compute(self._buffer)
        if asynchrony.is_on() and not np.may_share_memory(found, self._buffer):
            asynchrony.begin_operation()
            found = compute(_seen(self))
        return wrap(found, self)

    def flatten(self, order: str = "C") -> ndarray:
        """Return a copy in one dimension."""
        asynchrony.begin_operation()
        return wrap(_seen(self).flatten(order))  # type: ignore[arg-type]

    def reduced_view(self, dtype: Any = None) -> ndarray:
        """Return a view with as few axes as possible."""
        if self.ndim > 1 and self._buffer.flags.c_contiguous:
            return self.reshape(self.size)
        return self

    def byteswap(self, inplace: bool = False) -> ndarray:
        """Return the array with the bytes of every element reversed."""
        asynchrony.begin_operation()
        if not inplace:
            return wrap(_seen(self).byteswap())
        with changed(self) as buffer:
            buffer.byteswap(True)
        return self

    def conj(self) -> ndarray:
        """Return the complex conjugate; a real array is returned itself."""
        if self.dtype.kind != "c":
            return self
        asynchrony.begin_operation()
        return wrap(_seen(self).conj())

    def conjugate(self) -> ndarray:
        """Return the complex conjugate; a real array is returned itself."""
        return self.conj()

    def dot(self, b: Any, out: Any = None) -> ndarray:
        """Return the dot product with another array."""
        result: ndarray = _function("dot")(self, b, out)
        return result

    # ---- elements ----

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return len(self._buffer)

    def __iter__(self) -> Iterator[ndarray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        if self.ndim == 1:
            announced_walk(self)
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> ndarray:
        if _is_basic(key):
            selection = self._buffer[key]
        else:
            index = _index(key)
            asynchrony.begin_operation()
            selection = _seen(self)[index]
        if not isinstance(selection, np.ndarray):
            # NumPy gives a scalar; the element stays on the device, and stays a view if it was one.
            if _is_basic(key):
                items = key if isinstance(key, tuple) else (key,)
                selection = self._buffer[(*items, Ellipsis)] if Ellipsis not in items else np.asarray(selection)
            else:
                selection = np.asarray(selection)
        result = wrap(selection, *((self,) if _is_basic(key) else ()))
        return wrap(selection.view(), self) if result is self else result

    def __setitem__(self, key: Any, value: Any) -> None:
        asynchrony.begin_operation()
        if isinstance(value, ndarray):
            data: Any = used(value)
        elif _is_basic(key):
            # CuPy fills a selection by slices with a scalar, and refuses host arrays and lists (`fill` below);
            # a selection by index arrays or masks takes host data and copies it (its `_scatter_op`).
            data = self._fill_value(value)
        else:
            data = self._copied_value(value)
        with np.errstate(all="ignore"):
            if not _is_basic(key):
                index = _index(key)
                with changed(self) as buffer:
                    _assign(buffer, index, cuda_cast(data, self.dtype))
            elif asynchrony.is_on():
                check_device(self)
                place = self._buffer[(*key, ...) if isinstance(key, tuple) and Ellipsis not in key else key]
                part = place if isinstance(place, np.ndarray) else self._buffer[key, ...]
                asynchrony.write_region(area_of(self._memory), part)
                part[...] = cuda_cast(data, self.dtype)
            else:
                target(self)[key] = cuda_cast(data, self.dtype)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("'cupy.ndarray' object does not support item deletion")

    def __contains__(self, value: Any) -> bool:
        raise TypeError("argument of type 'cupy.ndarray' is not a container; use (a == value).any()")

    def _copied_value(self, value: Any) -> np.ndarray[Any, Any]:
        """Return what is written to a selection by index arrays, from the host."""
        if is_host_array(value) or isinstance(value, (list, tuple)):
            return announced_copy(value, "assigned values", self.dtype)._buffer
        return from_host(value, self.dtype)._buffer

    def _fill_value(self, value: Any) -> Any:
        if isinstance(value, ndarray):
            if value.ndim:
                raise ValueError("non-scalar cupy.ndarray cannot be used for fill")
            return value._buffer
        if isinstance(value, (np.ndarray, list, tuple)):
            if np.ndim(value):
                raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
            return np.asarray(value)[()]
        return operand(value) if not isinstance(value, np.void) else value

    def fill(self, value: Any) -> None:
        """Set every element to a scalar."""
        asynchrony.begin_operation()
        with np.errstate(all="ignore"):
            data = self._fill_value(value)
            target(self)[...] = data

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sort in place, stably."""
        if kind not in (None, "stable"):
            raise ValueError(f"kind can only be None or 'stable', got {kind!r}")
        with changed(self) as buffer:
            buffer.sort(axis, kind="stable")

    def partition(self, kth: Any, axis: int = -1) -> None:
        """Partition in place."""
        with changed(self) as buffer:
            buffer.partition(kth, axis)

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Add values to the selected elements; an element selected twice is added to twice."""
        self._scatter(np.add, slices, value)

    def scatter_max(self, slices: Any, value: Any) -> None:
        """Store the maximum of values and the selected elements."""
        self._scatter(np.maximum, slices, value)

    def scatter_min(self, slices: Any, value: Any) -> None:
        """Store the minimum of values and the selected elements."""
        self._scatter(np.minimum, slices, value)

    def _scatter(self, ufunc: np.ufunc, slices: Any, value: Any) -> None:
        if isinstance(value, ndarray):
            data: Any = used(value)
        else:
            data = self._fill_value(value) if _is_basic(slices) else self._copied_value(value)
        if not _is_basic(slices) and (self.dtype.char in "?bBhH" or self.dtype.kind == "c" or self.dtype == np.int64):
            # No atomic operation of CUDA for these.
            raise TypeError(
                f"scatter_{ufunc.__name__} only supports int32, float16, float32, float64, uint32, uint64, as data type"
            )
        index = _index(slices)
        with changed(self) as buffer:
            ufunc.at(buffer, index, np.asarray(data).astype(self.dtype))

    # ---- operators ----

    __lt__, __le__ = _comparison("less"), _comparison("less_equal")
    __gt__, __ge__ = _comparison("greater"), _comparison("greater_equal")
    __eq__, __ne__ = _comparison("equal"), _comparison("not_equal")

    __add__, __radd__, __iadd__ = _binary("add"), _reflected("add"), _inplace("add")
    __sub__, __rsub__, __isub__ = _binary("subtract"), _reflected("subtract"), _inplace("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply"), _reflected("multiply"), _inplace("multiply")
    __truediv__, __rtruediv__ = _binary("true_divide"), _reflected("true_divide")
    __itruediv__ = _inplace("true_divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __ifloordiv__ = _inplace("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder"), _reflected("remainder"), _inplace("remainder")
    __divmod__, __rdivmod__ = _binary("divmod"), _reflected("divmod")
    __pow__, __rpow__, __ipow__ = _binary("power"), _reflected("power"), _inplace("power")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift"), _reflected("left_shift"), _inplace("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift"), _reflected("right_shift"), _inplace("right_shift")
    __and__, __rand__, __iand__ = _binary("bitwise_and"), _reflected("bitwise_and"), _inplace("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or"), _reflected("bitwise_or"), _inplace("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor"), _reflected("bitwise_xor"), _inplace("bitwise_xor")

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, ndarray) and _defers(self, other):
            return NotImplemented
        return _function("matmul")(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _function("matmul")(other, self)

    def __neg__(self) -> ndarray:
        result: ndarray = _ufunc("negative")(self)
        return result

    def __pos__(self) -> ndarray:
        return self.copy()

    def __abs__(self) -> ndarray:
        result: ndarray = _ufunc("absolute")(self)
        return result

    def __invert__(self) -> ndarray:
        result: ndarray = _ufunc("invert")(self)
        return result


class flatiter:
    """The elements of an array in C order."""

    def __init__(self, a: ndarray) -> None:
        self._array = a
        self._next = 0

    @property
    def base(self) -> ndarray:
        """The array."""
        return self._array

    def __len__(self) -> int:
        return self._array.size

    def _place(self, key: Any) -> Any:
        if key is Ellipsis:
            return slice(None)
        if isinstance(key, slice) or (np.isscalar(key) and not _is_bool(key)):
            return key
        raise IndexError("unsupported iterator index")

    def __getitem__(self, key: Any) -> ndarray:
        place = self._place(key)
        asynchrony.begin_operation()
        return wrap(_seen(self._array).flat[place])

    def __setitem__(self, key: Any, value: Any) -> None:
        place = self._place(key)
        if isinstance(value, ndarray):
            data: Any = used(value)
        elif isinstance(place, slice):
            data = self._array._copied_value(value)
        else:
            data = self._array._fill_value(value)
        with np.errstate(all="ignore"), changed(self._array) as buffer:
            buffer.flat[place] = data

    def __iter__(self) -> Iterator[ndarray]:
        announced_walk(self._array)
        return self

    def __next__(self) -> ndarray:
        if self._next == len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def copy(self) -> ndarray:
        """Return the elements in a new array."""
        return self._array.flatten()
