"""CuPy's functions that make arrays, of host data or of other arrays, and that copy them to the host."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .array_base import unwrap, used, wrap
from .current_device import current_device
from .dtypes import check_dtype
from .fusion import is_proxy
from .host_copies import announced_copy, announced_read, from_host
from .ndarray import ndarray
from .serving import copied_argument, device_arrays_among


def array(
    obj: Any,
    dtype: Any = None,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    blocking: bool = False,
) -> ndarray:
    """Return a device array; host data is copied."""
    if subok:
        raise NotImplementedError("subok is not supported")
    if dtype is not None:
        dtype = np.dtype(dtype)
        if dtype.names is None:
            dtype = dtype.newbyteorder("=")
        check_dtype(dtype)
    if isinstance(obj, ndarray):
        wanted = obj.dtype if dtype is None else dtype
        if copy is False and (wanted != obj.dtype or _needs_copy(obj, order)):
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        elsewhere = obj._memory.device_id != current_device()
        result = obj.astype(wanted, order=order or "K", copy=copy is True or elsewhere)
        if ndmin > result.ndim:
            result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
        return result
    if hasattr(obj, "__cuda_array_interface__"):
        raise TypeError(
            f"the CuPy stand-in can't read the device memory of {type(obj)}: it runs on a machine without a GPU"
        )
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return from_host(obj, dtype, order, ndmin)


def _needs_copy(array: ndarray, order: Any) -> bool:
    flags = array._buffer.flags
    return (order in ("C", "c") and not flags.c_contiguous) or (order in ("F", "f") and not flags.f_contiguous)


def asarray(a: Any, dtype: Any = None, order: Any = None, copy: Any = None, blocking: bool = False) -> ndarray:
    """Return a device array, the given one if nothing has to change."""
    return array(a, dtype, copy, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """Return a C-contiguous device array of at least one dimension."""
    return array(a, dtype, None, "C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """Return a Fortran-contiguous device array of at least one dimension."""
    return array(a, dtype, None, "F", ndmin=1)


def asfarray(a: Any, dtype: Any = np.float64) -> ndarray:
    """Return a device array of floating-point numbers."""
    return array(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64, None)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> ndarray:
    """Return a device array; ValueError if it has NaN or infinity."""
    result = array(a, dtype, None, order)
    if not np.isfinite(used(result)).all():
        raise ValueError("array must not contain Infs or NaNs")
    return result


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """Return a device array that meets the requirements on its memory."""
    wanted = {
        str(word).upper()[0] for word in ([requirements] if isinstance(requirements, str) else requirements or ())
    }
    order = "F" if "F" in wanted else "C" if "C" in wanted else None
    result = array(a, dtype, None, order)
    return result.copy(order or "K") if "O" in wanted and result.base is not None else result


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
    """Return a copy on the host."""
    if isinstance(a, ndarray):
        return a.get(stream=stream, order=order, out=out, blocking=blocking)
    if device_arrays_among(a):
        return array(a).get(stream=stream, order=order, out=out)
    host = np.asarray(a, order=order)  # type: ignore[call-overload]
    if out is None:
        return host
    out[...] = host
    return out


def get_array_module(*args: Any) -> Any:
    """Return the stand-in if an argument is on the device, else NumPy."""
    return sys.modules["cupy"] if any(map(is_on_device, args)) else np


def is_on_device(value: Any) -> bool:
    """Whether a value is a device array, a sparse matrix of them, or an array in a fused function."""
    if isinstance(value, ndarray) or is_proxy(value):
        return True
    storage = sys.modules.get(f"{__package__}.sparse.storage")
    return storage is not None and storage.issparse(value)


def copy(a: Any, order: str = "K") -> ndarray:
    """Return a copy of an array."""
    return a.copy(order) if isinstance(a, ndarray) else from_host(a, None, order)


def astype(x: Any, dtype: Any, copy: bool = True) -> ndarray:
    """Return an array with another element type."""
    if not isinstance(x, ndarray):
        raise TypeError(f"Input should be a CuPy array. It is a {type(x)} instead.")
    return x.astype(dtype, copy=copy)


def atleast_1d(*arys: Any) -> Any:
    """Return arrays with at least one axis; host data is copied."""
    return _one_or_all([with_axes(1, value, "atleast_1d()") for value in arys])


def atleast_2d(*arys: Any) -> Any:
    """Return arrays with at least two axes; host data is copied."""
    return _one_or_all([with_axes(2, value, "atleast_2d()") for value in arys])


def atleast_3d(*arys: Any) -> Any:
    """Return arrays with at least three axes; host data is copied."""
    return _one_or_all([with_axes(3, value, "atleast_3d()") for value in arys])


def _one_or_all(arrays: list[ndarray]) -> Any:
    return arrays[0] if len(arrays) == 1 else arrays


def with_axes(ndim: int, value: Any, description: str) -> ndarray:
    """Return a device array with at least so many axes; host data is copied, which is recorded."""
    if not isinstance(value, ndarray):
        value = announced_copy(value, description)
    compute: Any = (np.atleast_1d, np.atleast_2d, np.atleast_3d)[ndim - 1]
    return wrap(compute(used(value)), value)


def meshgrid(*xi: Any, **kwargs: Any) -> list[ndarray]:
    """Return coordinate matrices."""
    if not all(isinstance(x, ndarray) for x in xi):
        raise ValueError("input has to be cupy.ndarray")
    return [wrap(grid) for grid in np.meshgrid(*map(unwrap, xi), **kwargs)]


def from_dlpack(array: Any, device: Any = None, copy: Any = None) -> ndarray:
    """Return a device array of memory that another one exports; host memory is refused, as by CuPy without `device`."""
    if isinstance(array, ndarray):
        return array.copy() if copy else array.view()
    kind, _ = array.__dlpack_device__()
    if kind == 1 and device is None:
        raise BufferError("CPU arrays cannot be directly imported to CuPy; use cupy.asarray, or give a device")
    if kind == 1:
        return from_host(np.from_dlpack(array))
    raise BufferError("the CuPy stand-in can't read device memory of another library")


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> ndarray:
    """Return evenly spaced values; bounds on the device are read by the host."""
    bounds = [
        announced_read(one, "arange()").item() if isinstance(one, ndarray) else one for one in (start, stop, step)
    ]
    return wrap(np.arange(*bounds, dtype=None if dtype is None else check_dtype(dtype)))


def ix_(*args: Any) -> tuple[ndarray, ...]:
    """Return an open mesh of indices."""
    return tuple(wrap(one) for one in np.ix_(*(copied_argument("ix_", one) for one in args)))


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """Return the indices at which a function of a matrix of ones is not zero."""
    chosen: tuple[ndarray, ...] = mask_func(wrap(np.ones((n, n), np.int8)), k).nonzero()
    return chosen


FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        arange,
        array,
        asarray,
        asarray_chkfinite,
        ascontiguousarray,
        asfarray,
        asfortranarray,
        asnumpy,
        astype,
        atleast_1d,
        atleast_2d,
        atleast_3d,
        copy,
        from_dlpack,
        get_array_module,
        ix_,
        mask_indices,
        meshgrid,
        require,
    )
}
FUNCTIONS["asanyarray"] = asarray
