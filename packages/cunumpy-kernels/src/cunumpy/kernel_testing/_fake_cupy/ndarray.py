"""``cupy.ndarray``: how it is made, copies and views, protocols."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import array_base, asynchrony
from .allocators import placed
from .array_base import changed, reshaped, seen, wrap
from .dtypes import check_dtype, cuda_cast, is_cuda_cast
from .elements import Elements
from .host_copies import HostCopies, announced_read
from .namespace import FUNCTIONS
from .operators import Operators


def _rebuild(host: np.ndarray[Any, Any]) -> ndarray:
    """Return the device array of a pickle."""
    return wrap(np.array(host, order="K"))


class ndarray(Operators, Elements, HostCopies):
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

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

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

    def toDlpack(self) -> Any:
        """Return a capsule: refused as by `__dlpack__`, since there is no device memory."""
        return self.__dlpack__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (np.array(announced_read(self, "pickling"), order="A"),)

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def __pos__(self) -> ndarray:
        return self.copy()

    def copy(self, order: str = "C") -> ndarray:
        """Return a copy."""
        asynchrony.begin_operation()
        return wrap(seen(self).copy(order))  # type: ignore[arg-type]

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
            buffer = seen(self)
            if is_cuda_cast(buffer, dtype):
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
            found = compute(seen(self))
        return wrap(found, self)

    def flatten(self, order: str = "C") -> ndarray:
        """Return a copy in one dimension."""
        asynchrony.begin_operation()
        return wrap(seen(self).flatten(order))  # type: ignore[arg-type]

    def reduced_view(self, dtype: Any = None) -> ndarray:
        """Return a view with as few axes as possible."""
        if self.ndim > 1 and self._buffer.flags.c_contiguous:
            return self.reshape(self.size)
        return self

    def byteswap(self, inplace: bool = False) -> ndarray:
        """Return the array with the bytes of every element reversed."""
        asynchrony.begin_operation()
        if not inplace:
            return wrap(seen(self).byteswap())
        with changed(self) as buffer:
            buffer.byteswap(True)
        return self

    def conj(self) -> ndarray:
        """Return the complex conjugate; a real array is returned itself."""
        if self.dtype.kind != "c":
            return self
        asynchrony.begin_operation()
        return wrap(seen(self).conj())

    def conjugate(self) -> ndarray:
        """Return the complex conjugate; a real array is returned itself."""
        return self.conj()

    def dot(self, b: Any, out: Any = None) -> ndarray:
        """Return the dot product with another array."""
        result: ndarray = FUNCTIONS["dot"](self, b, out)
        return result


array_base.array_class = ndarray
