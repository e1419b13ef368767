"""Explicit conversion between host and device, every copy recorded.

Nothing here changes its source or the active backend. Each function looks at the array, not at the active backend,
but for `to_cunumpy`, whose purpose is to follow it, and for `as_device_array` where it is given host data.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _containers, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["as_device_array", "synchronize", "to_cunumpy", "to_cupy", "to_numpy"]


def to_numpy(array: Any) -> np.ndarray:
    """Convert to a NumPy array; the one explicit way from the device to the host.

    Parameters
    ----------
    array : array_like
        A device array of any shape, dtype and library (CuPy, Numba, PyTorch, ...; other libraries' arrays are read
        through CuPy), a NumPy array, or what NumPy makes an array of: scalars, (nested) lists, memoryviews.

    Returns
    -------
    numpy.ndarray
        An `numpy.ndarray` is returned itself; its subclasses become a plain view. A device array is copied, and the
        host waits for the copy: Fortran order is kept, every other layout becomes C order, 0-d stays 0-d.

    Raises
    ------
    ArgumentTypeError
        A masked array (its mask would be lost), None, a dict, a set, an iterator, or a list that holds such things,
        Python objects or device arrays.
    ArgumentError
        A ragged list.
    MissingPackageError
        Another library's device array, and CuPy can't be used.
    TransferError
        A device array inside ``xp.profiling.forbid_transfers()``.

    See Also
    --------
    to_cupy : The way to the device.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.to_numpy([1.0, 2.0])
    array([1., 2.])
    """
    return as_numpy(array, "to_numpy")


def as_numpy(array: Any, function: str) -> np.ndarray:
    """Convert as `to_numpy` does, for the function that messages and recorded copies are to name."""
    if type(array) is np.ndarray:
        return array
    if not _arrays.is_device_array(array):
        if not _arrays.is_foreign_device_array(array):
            return _gate.as_host_array(array, function=function, argument="array")
        array = wrap_foreign(array, function)
    return copy_to_host(array, function)


def to_cupy(array: Any) -> Any:
    """Convert to a CuPy array on the current device; the one explicit way from the host to the device.

    Parameters
    ----------
    array : array_like
        A NumPy array, scalar or (nested) list of dtype bool, integer, float, complex or structured; or a device array
        of any library.

    Returns
    -------
    cupy.ndarray
        A CuPy array is returned itself, another library's device array is wrapped without a copy where CuPy can. Host
        data is copied, Fortran order kept and other byte orders converted to the native one, and the host waits for
        the copy: the source may be changed as soon as the function has returned.

    Raises
    ------
    MissingPackageError
        CuPy can't be used, whatever the active backend.
    ArgumentTypeError
        What `to_numpy` refuses, and dtypes that the device does not have: str, bytes, object, dates, long double.
    ArgumentError
        A ragged list.
    TransferError
        Host data inside ``xp.profiling.forbid_transfers()``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> if xp.cupy_available():
    ...     x = xp.to_cupy([1.0, 2.0])
    """
    return _to_cupy(array, "to_cupy", "array")


def to_cunumpy(array: Any) -> Any:
    """Convert to an array of the active backend: `to_cupy` if it is CuPy, else `to_numpy`.

    Parameters
    ----------
    array : array_like
        As in `to_cupy` and `to_numpy`.

    Returns
    -------
    numpy.ndarray or cupy.ndarray
        An array of the active backend is returned itself.

    Raises
    ------
    ArgumentTypeError, ArgumentError, MissingPackageError, TransferError
        As in `to_cupy` and `to_numpy`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.to_cunumpy([1, 2])
    array([1, 2])
    """
    if _backend.get_backend() == "cupy":
        return _to_cupy(array, "to_cunumpy", "array")
    return as_numpy(array, "to_cunumpy")


def as_device_array(
    value: Any, dtype: DTypeLike | None = None, ndim: int | None = None, *, name: str | None = None
) -> Any:
    """Convert to a C-contiguous CuPy array, as CUDA kernels take them.

    Parameters
    ----------
    value : array_like
        A device array of any library, whatever the active backend; or, if that is CuPy, host data as in `to_cupy`.
    dtype : dtype_like, optional
        The wanted dtype; by default the value's.
    ndim : int, optional
        The wanted number of dimensions; 0 for a 0-d array.
    name : str, optional
        What error messages call the value, by default ``"value"``.

    Returns
    -------
    cupy.ndarray
        The value itself if it is a C-contiguous CuPy array of that dtype. Scalars become 0-d arrays.

    Raises
    ------
    BackendUnavailableError
        Host data, and the active backend is not CuPy.
    ArgumentError
        The number of dimensions is another, or host data does not fit `dtype` without changing values (float to
        integer, too large integers). Device data is converted unseen.
    ArgumentTypeError
        What `to_cupy` refuses, and complex values for a real dtype.
    MissingPackageError
        Another library's device array, and CuPy can't be used.

    Examples
    --------
    >>> import cunumpy as xp
    >>> if xp.get_backend() == "cupy":
    ...     x = xp.as_device_array([1, 2, 3], dtype="float64", ndim=1, name="x")
    """
    argument = "value" if name is None else name
    wanted = None if dtype is None else _gate.as_dtype(dtype, function="as_device_array").newbyteorder("=")
    if wanted is not None:
        _gate.check_device_dtype(wanted, function="as_device_array", argument=argument)
    if _arrays.is_foreign_device_array(value):
        value = wrap_foreign(value, "as_device_array")
    on_device = _arrays.is_device_array(value)
    if not on_device:
        if _backend.get_backend() != "cupy":
            raise BackendUnavailableError(
                f"as_device_array: argument {argument!r} is host data ({_gate.describe(value)}) and the active backend "
                f"is {_backend.get_backend()!r}, so it is not copied to a device; choose the CuPy backend with "
                "xp.set_backend('cupy') or xp.use_backend('cupy'), or convert it with xp.to_cupy first."
            )
        value = _gate.as_device_source(value, function="as_device_array", argument=argument)
    if ndim is not None:
        _gate.check_ndim(
            value,
            _gate.as_integer(ndim, function="as_device_array", argument="ndim"),
            function="as_device_array",
            argument=argument,
        )
    if wanted is not None and value.dtype.kind == "c" and wanted.kind != "c":
        raise ArgumentTypeError(
            f"as_device_array: argument {argument!r} is complex ({_gate.describe(value)}) and the wanted dtype is "
            f"{wanted}, which would drop the imaginary part; pass {argument}.real or a complex dtype."
        )
    if not on_device:
        if wanted is not None and value.dtype != wanted:
            value = _cast(value, wanted, argument)
        return copy_to_device(np.asarray(value, order="C"), "as_device_array")
    if wanted is not None and value.dtype != wanted:
        return _copy_on_device(value, wanted, "")
    return value if value.flags.c_contiguous else _copy_on_device(value, value.dtype, " layout")


def synchronize() -> None:
    """Wait until the current device has finished all work; on the NumPy backend there is nothing to wait for.

    Recorded as ``sync`` on the CuPy backend. Errors of earlier device work may appear here, and are not hidden.

    Raises
    ------
    MissingPackageError
        The active backend is CuPy, and CuPy can't be used.
    TransferError
        Inside ``xp.profiling.forbid_transfers()`` where waits are forbidden as well.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.synchronize()
    """
    if _backend.get_backend() == "cupy":
        device = _backend.require_cupy("synchronize").cuda.Device()
        wait(device.synchronize, "synchronize()")


# --- for other modules of the package ---------------------------------------------------------------------------------


def wrap_foreign(array: Any, function: str) -> Any:
    """Return a CuPy array on the memory of another library's device array; a copy that CuPy makes is recorded."""
    cupy = _backend.require_cupy(function)
    started = perf_counter()
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return cupy.from_dlpack(array)
    wrapped = cupy.asarray(array)
    if wrapped.size and wrapped.data.ptr != interface["data"][0] and _transfers.watching():
        _transfers.record("device_copy", _text(function, wrapped), wrapped.nbytes, started=started)
    return wrapped


def copy_to_host(array: Any, function: str, out: np.ndarray | None = None) -> np.ndarray:
    """Copy a CuPy array to the host, or into a contiguous array there, wait for it, and record ``to_host``."""
    if not _transfers.watching():
        host: np.ndarray = array.get(order="A", out=out)
        return host
    text = _text(function, array)
    _transfers.announce("to_host", text, array.nbytes)
    started = perf_counter()
    with _transfers.own():
        host = array.get(order="A", out=out)
    _transfers.record("to_host", text, host.nbytes, started=started)
    return host


def copy_to_device(host: np.ndarray, function: str, given: Any = None) -> Any:
    """Copy a host array of native byte order to the current device, wait for it, and record ``to_device``."""
    cupy = _backend.require_cupy(function)
    watched = _transfers.watching()
    if watched:
        text = _text(function, host) if given is None else f"{function}({type(given).__name__})"
        _transfers.announce("to_device", text, host.nbytes)
        started = perf_counter()
    # Without blocking=True CuPy returns while the copy may still read page-locked memory of the caller's.
    array = cupy.asarray(host, blocking=True)
    if watched:
        _transfers.record("to_device", text, host.nbytes, started=started)
    return array


def write_to_device(array: Any, host: np.ndarray, function: str) -> None:
    """Copy a host array into a CuPy array of its shape and dtype, wait for it, and record ``to_device``."""
    if not array.flags.forc:  # CuPy copies to one block of memory only
        with array.device:
            array[...] = copy_to_device(host, function)
        return
    watched = _transfers.watching()
    if watched:
        text = _text(function, host)
        _transfers.announce("to_device", text, host.nbytes)
        started = perf_counter()
    with array.device:
        array.set(host)
    if watched:
        _transfers.record("to_device", text, host.nbytes, started=started)


def wait(synchronize: Any, text: str) -> None:
    """Wait for the device by calling ``synchronize()``, and record ``sync``."""
    if not _transfers.watching():
        synchronize()
        return
    _transfers.announce("sync", text)
    started = perf_counter()
    synchronize()
    _transfers.record("sync", text, started=started)


def _to_cupy(array: Any, function: str, argument: str) -> Any:
    cupy = _backend.require_cupy(function)
    if _arrays.is_device_array(array):
        return array
    if _arrays.is_foreign_device_array(array):
        return wrap_foreign(array, function)
    if isinstance(array, (list, tuple)) and _containers.holds(array, _arrays.is_device_array):
        return _stack(cupy, array, function)
    host = _gate.as_device_source(array, function=function, argument=argument)
    return copy_to_device(host, function, None if isinstance(array, (np.ndarray, np.generic)) else array)


def _copy_on_device(array: Any, dtype: np.dtype[Any], suffix: str) -> Any:
    started = perf_counter()
    with array.device:
        copied = array.astype(dtype, order="C")
    if _transfers.watching():
        _transfers.record("device_copy", _text("as_device_array", copied) + suffix, copied.nbytes, started=started)
    return copied


def _stack(cupy: Any, arrays: Any, function: str) -> Any:
    """Let CuPy join a list of device arrays on the device."""
    started = perf_counter()
    array = cupy.asarray(arrays)
    if _transfers.watching():
        _transfers.record("device_copy", f"{function}({type(arrays).__name__})", array.nbytes, started=started)
    return array


def _cast(host: np.ndarray, dtype: np.dtype[Any], argument: str) -> np.ndarray:
    """Cast host data; where the cast could lose more than precision, check that it did not."""
    # Between integers "same_kind" includes narrower ones, which wrap around.
    if np.can_cast(host.dtype, dtype, "same_kind" if dtype.kind in "fc" else "safe"):
        return host.astype(dtype)
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            cast = host.astype(dtype)
        kept = np.array_equal(cast, host)
    except TypeError as error:  # fields that do not match
        raise ArgumentTypeError(
            f"as_device_array: argument {argument!r} ({_gate.describe(host)}) can't be made dtype {dtype}: {error}; "
            "ask for the dtype of the data, or pass its fields one by one."
        ) from None
    if not kept:
        raise ArgumentError(
            f"as_device_array: argument {argument!r} ({_gate.describe(host)}) has values that dtype {dtype} can't "
            f"represent; round or scale them, cast them with .astype({str(dtype)!r}), or ask for another dtype."
        )
    return cast


def _text(function: str, array: Any) -> str:
    return _transfers.call_text(function, array.shape, array.dtype)
