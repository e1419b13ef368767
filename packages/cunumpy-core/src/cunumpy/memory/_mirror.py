"""A host and a device array that hold the same data."""

from __future__ import annotations

from contextlib import nullcontext
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError, StaleResultError
from cunumpy.memory._copies import check_one, check_order, refuse_pickle

if TYPE_CHECKING:
    from typing import Literal, NoReturn


class DeviceMirror:
    """A host array with a device array beside it, copied to each other on command.

    On the CuPy backend the device array is the one to work on; on the NumPy backend the host array is, and copying is
    nothing. Any number of threads may use one object.

    Parameters
    ----------
    host : numpy.ndarray
        A writable array of a dtype that a device can hold. It is kept, and written to in place.

    Raises
    ------
    ArgumentTypeError
        Not a NumPy array, a masked array, or a dtype that a device can't hold.
    ArgumentError
        A read-only array.

    Notes
    -----
    The mirror knows what it did itself: it counts the device side as newer once `device` was handed out on the CuPy
    backend or `zero` was called there, until `to_host` or `to_device`. On the NumPy backend `device` then raises
    `StaleResultError` rather than show old data, and `to_host` copies. What is written to the host array has to be
    sent with `to_device`, as ever.

    A mirror does not pickle; pickle its host array.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> mirror = xp.memory.DeviceMirror(np.zeros(3))
    >>> x = mirror.to_device().device
    >>> x += 1.0
    >>> mirror.to_host().host
    array([1., 1., 1.])
    """

    def __init__(self, host: np.ndarray) -> None:
        self._host = _checked_host(host, "DeviceMirror")
        self._shape = host.shape
        self._dtype = host.dtype
        self._device: Any = None
        self._device_id = 0
        self._newer: Literal["host", "device"] | None = None  # which side is, or may be, newer than the other
        self._lock = RLock()

    @property
    def host(self) -> np.ndarray:
        """The host array, the very object that was given."""
        return self._host

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of both arrays, as they were bound."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the host array, as it was bound; the device array's has native byte order."""
        return self._dtype

    @property
    def device(self) -> Any:
        """The array to work on: the host array on the NumPy backend, the device array on the CuPy backend.

        The device array is made at the first use, as a copy of the host array, and stays the same.

        Raises
        ------
        StaleResultError
            This side is, or may be, older than the other.
        ArgumentError
            The host array was resized, or the current CUDA device is another.
        """
        with self._lock:
            self._check_bound("device")
            if _backend.get_backend() == "numpy":
                if self._newer == "device":
                    raise StaleResultError(
                        "DeviceMirror.device: the active backend is 'numpy', so this is the host array, but the "
                        "device array may have been written to since the last copy; call to_host() first, or "
                        "to_device() if the host array is the one that counts."
                    )
                return self._host
            if self._newer == "host":
                raise StaleResultError(
                    "DeviceMirror.device: the host array has been set since the last copy to the device; call "
                    "to_device() first, or to_host() if the device array is the one that counts."
                )
            array = self._device_array("device")
            self._newer = "device"
            return array

    def __repr__(self) -> str:
        buffer = "host" if self._device is None else "device"
        return f"DeviceMirror(shape={self._shape}, dtype={self._dtype}, buffer={buffer!r})"

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self, "it holds device memory; call to_host(), pickle its host array, and make a new mirror")

    def to_device(self, *, stream: Any = None) -> DeviceMirror:
        """Copy the host array to the device array; on the NumPy backend nothing is copied.

        Parameters
        ----------
        stream : cupy.cuda.Stream, optional
            Copy on this stream and return without waiting for it. By default the copy runs on the current stream, and
            the host waits.

        Returns
        -------
        DeviceMirror
            The mirror itself.

        Raises
        ------
        ArgumentError
            The host array was resized, or the current CUDA device is another than the device array's or the stream's.
        ArgumentTypeError
            The stream is not CuPy's.
        TransferError
            Inside ``xp.profiling.forbid_transfers()``.

        Notes
        -----
        Page-locked host memory must not be written to before work on `stream` has finished; for other memory it does
        not matter.
        """
        function = "DeviceMirror.to_device"
        with self._lock:
            self._check_bound("to_device")
            if _backend.get_backend() == "numpy":
                self._newer = None if self._device is None else "host"
                return self
            cupy = _backend.require_cupy(function)
            check_order(cupy, stream, None, int(cupy.cuda.Device().id), function)
            self._check_device(cupy, "to_device")
            host = _gate.as_device_source(self._host, function=function, argument="host")
            watched = _transfers.watching()
            if watched:
                text = _transfers.call_text(function, self._shape, self._dtype)
                _transfers.announce("to_device", text, host.nbytes)
            started = perf_counter()
            with nullcontext() if stream is None else stream:
                array = cupy.asarray(host, blocking=stream is None)
                if self._device is None:
                    self._bind(cupy, array)
                else:
                    cupy.copyto(self._device, array)
            self._newer = None
            if watched:
                _transfers.record("to_device", text, host.nbytes, blocking=stream is None, started=started)
            return self

    def to_host(self, *, stream: Any = None, event: Any = None) -> DeviceMirror:
        """Copy the device array to the host array and wait for it.

        Nothing is copied as long as there is no device array, and on the NumPy backend unless the device array may be
        newer. Recorded are a ``to_host`` and a ``sync``.

        Parameters
        ----------
        stream : cupy.cuda.Stream, optional
            Stream to copy on, by default the current one.
        event : cupy.cuda.Event, optional
            The current stream waits for it before the copy.

        Returns
        -------
        DeviceMirror
            The mirror itself.

        Raises
        ------
        ArgumentError
            The host array was resized or made read-only; the current CUDA device is another than the device array's
            or the stream's; both a stream and an event.
        ArgumentTypeError
            The stream or event is not CuPy's.
        TransferError
            Inside ``xp.profiling.forbid_transfers()``.
        """
        function = "DeviceMirror.to_host"
        check_one(stream, event, function)
        with self._lock:
            self._check_bound("to_host", writes=True)
            on_numpy = _backend.get_backend() == "numpy"
            if self._device is None or (on_numpy and self._newer != "device"):
                return self
            cupy = _backend.require_cupy(function)
            check_order(cupy, stream, event, int(cupy.cuda.Device().id), function)
            self._check_device(cupy, "to_host")
            watched = _transfers.watching()
            if watched:
                text = _transfers.call_text(function, self._shape, self._dtype)
                _transfers.announce("to_host", text, self._device.nbytes)
                _transfers.announce("sync", text)
            started = perf_counter()
            with nullcontext() if stream is None else stream:
                if event is not None:
                    cupy.cuda.get_current_stream().wait_event(event)
                with _transfers.own():
                    if _same_layout(self._device, self._host):
                        self._device.get(out=self._host)
                    else:
                        self._host[...] = self._device.get(order="A")
            self._newer = None
            if watched:
                _transfers.record("to_host", text, self._device.nbytes, started=started)
                _transfers.record("sync", text, started=started)
            return self

    def zero(self) -> DeviceMirror:
        """Fill the array to work on with zeros: the host array on the NumPy backend, else the device array.

        The other side is not touched, and nothing is copied.

        Returns
        -------
        DeviceMirror
            The mirror itself.

        Raises
        ------
        ArgumentError
            The host array was resized or made read-only, or the current CUDA device is another.

        Examples
        --------
        >>> import numpy as np
        >>> import cunumpy as xp
        >>> xp.memory.DeviceMirror(np.ones(2)).zero().device
        array([0., 0.])
        """
        with self._lock:
            on_numpy = _backend.get_backend() == "numpy"
            self._check_bound("zero", writes=on_numpy)
            if on_numpy:
                self._host[...] = np.zeros((), self._dtype)
                self._newer = None if self._device is None else "host"
                return self
            cupy = _backend.require_cupy("DeviceMirror.zero")
            self._check_device(cupy, "zero")
            if self._device is None:
                order = "F" if self._host.flags.f_contiguous and not self._host.flags.c_contiguous else "C"
                self._bind(cupy, cupy.zeros(self._shape, self._dtype.newbyteorder("="), order=order))
            else:
                self._device.fill(0)
            self._newer = "device"
            return self

    def rebind(self, host: np.ndarray) -> DeviceMirror:
        """Take another host array.

        A device array of the same shape and dtype is kept as it is; it counts as newer than the host array. Any other
        is dropped.

        Parameters
        ----------
        host : numpy.ndarray
            As in the constructor.

        Returns
        -------
        DeviceMirror
            The mirror itself.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            As in the constructor; nothing has changed.

        Examples
        --------
        >>> import numpy as np
        >>> import cunumpy as xp
        >>> xp.memory.DeviceMirror(np.ones(2)).rebind(np.ones(3)).shape
        (3,)
        """
        host = _checked_host(host, "DeviceMirror.rebind")
        with self._lock:
            if self._device is not None and (host.shape, host.dtype) == (self._shape, self._dtype):
                self._newer = "device"
            else:
                self._device, self._newer = None, None
            self._host, self._shape, self._dtype = host, host.shape, host.dtype
            return self

    def _device_array(self, method: str) -> Any:
        cupy = _backend.require_cupy(f"DeviceMirror.{method}")
        self._check_device(cupy, method)
        if self._device is None:
            self._bind(cupy, _conversion.to_cupy(self._host))
        return self._device

    def _bind(self, cupy: Any, array: Any) -> None:
        self._device, self._device_id = array, int(cupy.cuda.Device().id)

    def _check_bound(self, method: str, *, writes: bool = False) -> None:
        host = self._host
        if host.shape != self._shape or host.dtype != self._dtype:
            raise ArgumentError(
                f"DeviceMirror.{method}: the host array now has shape {host.shape} and dtype {host.dtype}, but it was "
                f"bound with shape {self._shape} and dtype {self._dtype}; call rebind(host) after changing it."
            )
        if writes:
            _gate.check_writable(host, function=f"DeviceMirror.{method}", argument="host")

    def _check_device(self, cupy: Any, method: str) -> None:
        if self._device is not None and int(cupy.cuda.Device().id) != self._device_id:
            raise ArgumentError(
                f"DeviceMirror.{method}: the mirror is bound to CUDA device {self._device_id}, where its device array "
                f"is, and the current device is {cupy.cuda.Device().id}; call it inside `with "
                f"cupy.cuda.Device({self._device_id}):`."
            )


def _same_layout(device: Any, host: np.ndarray) -> bool:
    """Tell whether bytes can be copied as they are."""
    if device.dtype != host.dtype:
        return False
    return (device.flags.c_contiguous and host.flags.c_contiguous) or (
        device.flags.f_contiguous and host.flags.f_contiguous
    )


def _checked_host(host: Any, function: str) -> np.ndarray:
    if not isinstance(host, np.ndarray):
        raise ArgumentTypeError(
            f"{function}: argument 'host' must be a NumPy array, got {_gate.describe(host)}; pass numpy.asarray(host)."
        )
    _gate.refuse_masked(host, function=function, argument="host")
    _gate.check_device_dtype(host.dtype, function=function, argument="host")
    _gate.check_writable(host, function=function, argument="host")
    return host
