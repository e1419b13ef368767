"""Host copies that overlap with device work, and pairs of a host and a device array.

`HostStaging` and ``xp.to_host_async`` look at the array they are given, not at the active backend: with host arrays
they copy at once, so the same program runs without a device. `DeviceMirror` follows the active backend.

Page-locked memory comes from CuPy's pinned memory pool, which keeps freed blocks by size: allocating is slow for the
first copy of a size only.
"""

from __future__ import annotations

import operator
import sys
from contextlib import nullcontext
from importlib import import_module
from threading import Lock, RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError, StaleResultError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, NoReturn

    from numpy.typing import DTypeLike

__all__ = ["DeviceMirror", "HostCopy", "HostStaging", "StagedCopy"]


# --- one copy ---------------------------------------------------------------------------------------------------------


class HostCopy:
    """A host copy that may still be under way; made by ``xp.to_host_async``.

    Parameters
    ----------
    host : numpy.ndarray
        Where the data arrives.
    event : cupy.cuda.Event, optional
        Recorded behind the copy; without it the copy is finished.
    source : Any, optional
        Kept alive until the copy has finished.

    Examples
    --------
    >>> import cunumpy as xp
    >>> copy = xp.to_host_async(xp.arange(3))
    >>> copy.ready(), copy.result()
    (True, array([0, 1, 2]))
    """

    __slots__ = ("__weakref__", "_event", "_host", "_source")

    def __init__(self, host: np.ndarray, event: Any = None, source: Any = None) -> None:
        if not isinstance(host, np.ndarray):
            raise ArgumentTypeError(f"HostCopy: argument 'host' must be a NumPy array, got {_gate.describe(host)}.")
        self._host = host
        self._event = event
        self._source = None if event is None else source

    def __repr__(self) -> str:
        return f"HostCopy(shape={self._host.shape}, dtype={self._host.dtype}, ready={self.ready()})"

    def __reduce__(self) -> NoReturn:
        _refuse_pickle(self, "it stands for a copy under way on this device; pickle its result()")

    def ready(self) -> bool:
        """Tell whether the copy has finished; never waits."""
        event = self._event
        return event is None or bool(event.done)

    def result(self) -> Any:
        """Return the copy, after waiting for it if need be; such a wait is recorded as ``sync``.

        Returns
        -------
        numpy.ndarray or numpy.generic
            A scalar for a 0-d array, else the same writable array at every call.
        """
        event = self._event
        if event is not None:
            _wait_for(event, "to_host_async(...).result()")
            self._event = self._source = None
            _forget_finished()
        return self._host[()] if self._host.ndim == 0 else self._host


def to_host_async(array: Any) -> HostCopy:
    """Start copying an array to the host, without waiting for it.

    Parameters
    ----------
    array : array_like
        A device array of any library, whatever the active backend; or host data as in `to_numpy`.

    Returns
    -------
    HostCopy
        Its ``result()`` is a new array in C order (a scalar for a 0-d array). Host data has been copied when the
        function returns.

    Raises
    ------
    ArgumentTypeError, ArgumentError, MissingPackageError
        As in `to_numpy`.
    TransferError
        A device array inside ``xp.profiling.forbid_transfers()``.

    Notes
    -----
    The copy runs on a stream of its own, behind all work that was submitted to the current stream of the array's
    device. It reads a contiguous array in place: do not overwrite that before `HostCopy.ready`. `HostStaging` takes a
    snapshot instead.

    Examples
    --------
    >>> import cunumpy as xp
    >>> copy = xp.to_host_async(xp.ones(2))
    >>> copy.result()
    array([1., 1.])
    """
    if not _arrays.is_device_array(array):
        if not _arrays.is_foreign_device_array(array):
            if type(array) is not np.ndarray:
                array = _gate.as_host_array(array, function="to_host_async", argument="array")
            return HostCopy(np.array(array, order="C"))
        array = _conversion.wrap_foreign(array, "to_host_async")
    cupy = _backend.require_cupy("to_host_async")
    watched = _transfers.watching()
    if watched:
        text = f"to_host_async(shape={array.shape}, dtype={array.dtype})"
        _transfers.announce("to_host", text, array.nbytes)
        started = perf_counter()
    with array.device:
        source = array if array.flags.c_contiguous else cupy.ascontiguousarray(array)
        host = _pinned(array.shape, array.dtype)
        event = _copy_behind(cupy, source, host, _shared_stream(cupy), cupy.cuda.get_current_stream())
    if event is not None:
        _keep_until(event, (source, host))
    if watched:
        _transfers.record("to_host", text, host.nbytes, blocking=False, started=started)
    return HostCopy(host, event, source)


# --- staging ----------------------------------------------------------------------------------------------------------


class HostStaging:
    """Host buffers for arrays of one shape and dtype that are copied again and again, while the device works on.

    Each copy takes a snapshot on the device and goes to one of the buffers in turn; the source may be overwritten by
    the work that follows. Any number of threads may use one object.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the arrays.
    dtype : dtype_like
        Their dtype, any but object; None means float64.
    buffers : int, default: 2
        How many copies can be under way or unread at a time: a `StagedCopy` can be read until `buffers` further
        copies have been made.

    Raises
    ------
    ArgumentError
        A negative size, or fewer than one buffer.
    ArgumentTypeError
        A size that is not an integer, or an object dtype.

    Notes
    -----
    Memory is allocated at the first copy: ordinary host memory for host arrays, page-locked memory for device arrays.
    An array that `StagedCopy.result` has returned is never overwritten: if it is still in use when its buffer's turn
    comes, the buffer is replaced. Pickling and copying gives a new object without memory.

    Examples
    --------
    >>> import cunumpy as xp
    >>> staging = xp.memory.HostStaging(3, "float64")
    >>> x = xp.zeros(3)
    >>> history = []
    >>> for step in range(2):
    ...     copy = staging.copy(x)
    ...     x += 1.0  # the snapshot has been taken
    ...     history.append(copy.result(copy=True))
    >>> history
    [array([0., 0., 0.]), array([1., 1., 1.])]
    """

    def __init__(self, shape: int | Sequence[int], dtype: DTypeLike | None, buffers: int = 2) -> None:
        self._shape = _checked_shape(shape)
        self._dtype = _gate.as_dtype(dtype, function="HostStaging")
        if self._dtype.hasobject:
            raise ArgumentTypeError(
                f"HostStaging: argument 'dtype' is {self._dtype}; Python objects can't be staged, choose a dtype of "
                "numbers."
            )
        count = _index(buffers, "HostStaging", "buffers")
        if count < 1:
            raise ArgumentError(f"HostStaging: argument 'buffers' must be at least 1, got {count}.")
        self._slots = [_Slot() for _ in range(count)]
        self._next = 0
        self._device: int | None = None  # the one CUDA device, once one was used
        self._stream: Any = None
        self._lock = RLock()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the arrays."""
        return self._dtype

    @property
    def buffers(self) -> int:
        """Number of buffers."""
        return len(self._slots)

    def __repr__(self) -> str:
        return f"HostStaging(shape={self._shape}, dtype={self._dtype}, buffers={self.buffers})"

    def __reduce__(self) -> tuple[type[HostStaging], tuple[tuple[int, ...], np.dtype[Any], int]]:
        return type(self), (self._shape, self._dtype, self.buffers)

    def copy(self, array: Any, *, stream: Any = None, event: Any = None) -> StagedCopy:
        """Start a copy into the next buffer.

        If the buffer's last copy is still under way, waits for it; such a wait is recorded as ``sync``.

        Parameters
        ----------
        array : array of the staging's shape and dtype
            A NumPy array of any layout, which is copied at once, or a device array of any library on the current
            device.
        stream : cupy.cuda.Stream, optional
            Stream on which the snapshot is taken, by default the current one; ignored for host arrays.
        event : cupy.cuda.Event, optional
            The current stream waits for it before the snapshot; ignored for host arrays.

        Returns
        -------
        StagedCopy

        Raises
        ------
        ArgumentError
            Another shape, dtype or byte order; another device than the current one or the one used so far; both a
            stream and an event. No buffer has been used then.
        ArgumentTypeError
            Not an array, a masked array, or a stream or event that is not CuPy's.
        TransferError
            A device array inside ``xp.profiling.forbid_transfers()``.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.memory.HostStaging(2, float).copy(xp.ones(2)).result()
        array([1., 1.])
        """
        function = "HostStaging.copy"
        _check_one(stream, event, function)
        if _arrays.is_foreign_device_array(array):
            array = _conversion.wrap_foreign(array, function)
        on_device = _arrays.is_device_array(array)
        if not on_device:
            if not isinstance(array, (np.ndarray, np.generic)):
                raise ArgumentTypeError(
                    f"{function}: argument 'array' must be a NumPy or device array, got {_gate.describe(array)}; "
                    f"convert it with numpy.asarray(array, dtype={str(self._dtype)!r}) first."
                )
            _gate.refuse_masked(array, function=function, argument="array")
        if array.shape != self._shape or array.dtype != self._dtype:
            raise ArgumentError(
                f"{function}: expected shape {self._shape} and dtype {self._dtype.str}, got an array of shape "
                f"{array.shape} and dtype {array.dtype.str}; make a HostStaging for it, or convert it first."
            )
        if on_device:
            return self._copy_from_device(array, stream, event)
        with self._lock:
            slot = self._free_slot()
            buffer, generation = slot.take(self._shape, self._dtype, pinned=False)
            np.copyto(buffer, array)
            self._advance()
        return StagedCopy(self, slot, generation)

    def synchronize(self) -> None:
        """Wait for all copies under way; if there are any, one ``sync`` is recorded.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.memory.HostStaging(2, float).synchronize()
        """
        with self._lock:
            events = [slot.event for slot in self._slots if slot.event is not None and not slot.event.done]
        if events:
            _conversion.wait(lambda: [event.synchronize() for event in events], "HostStaging.synchronize()")
        _forget_finished()

    def _copy_from_device(self, array: Any, stream: Any, event: Any) -> StagedCopy:
        function = "HostStaging.copy"
        cupy = _backend.require_cupy(function)
        current = int(cupy.cuda.Device().id)
        _check_order(cupy, stream, event, current, function)
        if int(array.device.id) != current:
            raise ArgumentError(
                f"{function}: argument 'array' is on CUDA device {array.device.id} and the current device is "
                f"{current}; call it inside `with array.device:`."
            )
        text = f"{function}({self._shape} {self._dtype})"
        with self._lock:
            if self._device not in (None, current):
                raise ArgumentError(
                    f"{function}: the staging is bound to CUDA device {self._device}, where it was used first, and "
                    f"the array is on device {current}; use one HostStaging for each device."
                )
            watched = _transfers.watching()
            if watched:
                _transfers.announce("to_host", text, array.nbytes)
            slot = self._free_slot()
            started = perf_counter()
            if self._stream is None:
                self._stream, self._device = cupy.cuda.Stream(non_blocking=True), current
            if stream is None:
                stream, block = cupy.cuda.get_current_stream(), nullcontext()
            else:
                block = stream
            with block:  # memory comes from the pool of the stream that it is used on
                if slot.snapshot is None:
                    slot.snapshot = cupy.empty(self._shape, self._dtype)
                host, generation = slot.take(self._shape, self._dtype, pinned=True)
                if event is not None:
                    stream.wait_event(event)
                cupy.copyto(slot.snapshot, array)
                slot.event = _copy_behind(cupy, slot.snapshot, host, self._stream, stream)
            if slot.event is not None:
                _keep_until(slot.event, slot)
            self._advance()
            if watched:
                _transfers.record("to_host", text, array.nbytes, blocking=False, started=started)
        return StagedCopy(self, slot, generation)

    def _free_slot(self) -> _Slot:
        slot = self._slots[self._next]
        if slot.event is not None:
            _wait_for(slot.event, f"HostStaging.copy(...) waits for buffer {self._next}")
        return slot

    def _advance(self) -> None:
        self._next = (self._next + 1) % len(self._slots)


class _Slot:
    """One buffer of a staging, with the snapshot on the device that it is copied from."""

    __slots__ = ("_alone", "_buffer", "_pinned", "event", "generation", "snapshot")

    def __init__(self) -> None:
        self._buffer: np.ndarray | None = None
        self._alone = 0
        self._pinned = False
        self.event: Any = None
        self.snapshot: Any = None
        self.generation: int = 0

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any], *, pinned: bool) -> tuple[np.ndarray, int]:
        """Begin a copy; return its buffer and its generation. Earlier copies can't be read any more.

        The buffer is a new one if the old one is of the other kind or in use elsewhere.
        """
        if self._buffer is None or self._references() > self._alone or (pinned and not self._pinned):
            self._buffer = _pinned(shape, dtype) if pinned else np.empty(shape, dtype)
            self._pinned = pinned
            self._alone = self._references()
        self.event = None
        self.generation += 1
        return self._buffer, self.generation

    def _references(self) -> int:
        return sys.getrefcount(self._buffer)  # every view of the buffer refers to it

    def view(self) -> np.ndarray:
        """Return a read-only view, which keeps the buffer from being reused."""
        assert self._buffer is not None
        view = self._buffer.view()
        view.flags.writeable = False
        return view


class StagedCopy:
    """A copy made by `HostStaging.copy`; it can be read until its buffer serves a later copy.

    Examples
    --------
    >>> import cunumpy as xp
    >>> staging = xp.memory.HostStaging(2, float, buffers=1)
    >>> first = staging.copy(xp.ones(2))
    >>> second = staging.copy(xp.zeros(2))
    >>> second.result()
    array([0., 0.])
    >>> first
    StagedCopy(shape=(2,), dtype=float64, state='reused')
    """

    __slots__ = ("__weakref__", "_generation", "_slot", "_staging")

    def __init__(self, staging: HostStaging, slot: _Slot, generation: int) -> None:
        self._staging = staging
        self._slot = slot
        self._generation = generation

    def __repr__(self) -> str:
        with self._staging._lock:
            event = self._slot.event
            if self._slot.generation != self._generation:
                state = "reused"
            else:
                state = "ready" if event is None or event.done else "pending"
        return f"StagedCopy(shape={self._staging.shape}, dtype={self._staging.dtype}, state={state!r})"

    def __reduce__(self) -> NoReturn:
        _refuse_pickle(self, "it stands for a copy into memory of this process; pickle its result()")

    def ready(self) -> bool:
        """Tell whether the copy has finished; never waits for it.

        Raises
        ------
        StaleResultError
            The buffer serves a later copy already.
        """
        with self._staging._lock:
            self._check("ready")
            event = self._slot.event
        return event is None or bool(event.done)

    def result(self, *, copy: bool = False) -> np.ndarray:
        """Return the copied array, after waiting for it if need be; such a wait is recorded as ``sync``.

        Parameters
        ----------
        copy : bool, default: False
            Return a writable array of your own, where the default is a read-only view of the buffer. Either stays as
            it is, also when later copies are made; a view that is kept costs the staging a new buffer.

        Returns
        -------
        numpy.ndarray
            In C order; also for 0-d arrays an array.

        Raises
        ------
        StaleResultError
            The buffer serves a later copy already.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.memory.HostStaging(2, float).copy(xp.ones(2)).result(copy=True)
        array([1., 1.])
        """
        with self._staging._lock:
            self._check("result")
            event, view = self._slot.event, self._slot.view()
        if event is not None:
            _wait_for(event, "HostStaging.copy(...).result()")
            _forget_finished()
        return view.copy() if copy else view

    def _check(self, method: str) -> None:
        if self._slot.generation != self._generation:
            raise StaleResultError(
                f"StagedCopy.{method}: the buffer of this copy was reused by a later copy, because the staging has "
                f"{self._staging.buffers} buffer(s); read results earlier, or make the HostStaging with more buffers."
            )


# --- mirrors ----------------------------------------------------------------------------------------------------------


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
        _refuse_pickle(self, "it holds device memory; call to_host(), pickle its host array, and make a new mirror")

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
            _check_order(cupy, stream, None, int(cupy.cuda.Device().id), function)
            self._check_device(cupy, "to_device")
            host = _gate.as_device_source(self._host, function=function, argument="host")
            watched = _transfers.watching()
            if watched:
                text = f"{function}(shape={self._shape}, dtype={self._dtype})"
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
        _check_one(stream, event, function)
        with self._lock:
            self._check_bound("to_host", writes=True)
            on_numpy = _backend.get_backend() == "numpy"
            if self._device is None or (on_numpy and self._newer != "device"):
                return self
            cupy = _backend.require_cupy(function)
            _check_order(cupy, stream, event, int(cupy.cuda.Device().id), function)
            self._check_device(cupy, "to_host")
            watched = _transfers.watching()
            if watched:
                text = f"{function}(shape={self._shape}, dtype={self._dtype})"
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


# --- shared -----------------------------------------------------------------------------------------------------------

_lock = Lock()
_streams: dict[int, Any] = {}  # for to_host_async, by device
_under_way: dict[int, tuple[Any, Any]] = {}  # events by id, with what must live until they are done


def _shared_stream(cupy: Any) -> Any:
    device = int(cupy.cuda.Device().id)
    with _lock:
        stream = _streams.get(device)
        if stream is None:
            stream = _streams[device] = cupy.cuda.Stream(non_blocking=True)
        return stream


def _copy_behind(cupy: Any, source: Any, host: np.ndarray, copy_stream: Any, stream: Any) -> Any:
    """Copy to the host on `copy_stream`, behind what was submitted to `stream`; return an event behind the copy."""
    if source.size == 0:
        return None
    submitted = cupy.cuda.Event(disable_timing=True)
    stream.record(submitted)
    copy_stream.wait_event(submitted)
    with _transfers.own():
        source.get(stream=copy_stream, out=host, blocking=False)
    copied = cupy.cuda.Event(disable_timing=True)
    copy_stream.record(copied)
    return copied


def _keep_until(event: Any, things: Any) -> None:
    """Keep things alive until the event is done: CuPy's pools give freed memory away while a copy still uses it."""
    _forget_finished()
    _under_way[id(event)] = (event, things)


def _forget_finished() -> None:
    for key, (event, _) in list(_under_way.items()):
        if event.done:
            _under_way.pop(key, None)


def _wait_for(event: Any, text: str) -> None:
    if not event.done:
        _conversion.wait(event.synchronize, text)


def _pinned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    if 0 in shape:
        return np.empty(shape, dtype)
    array: np.ndarray = import_module("cupyx").empty_pinned(shape, dtype)
    return array


def _same_layout(device: Any, host: np.ndarray) -> bool:
    """Tell whether bytes can be copied as they are."""
    if device.dtype != host.dtype:
        return False
    return (device.flags.c_contiguous and host.flags.c_contiguous) or (
        device.flags.f_contiguous and host.flags.f_contiguous
    )


def _check_one(stream: Any, event: Any, function: str) -> None:
    if stream is not None and event is not None:
        raise ArgumentError(f"{function}: only one of the arguments 'stream' and 'event' can be given, got both.")


def _check_order(cupy: Any, stream: Any, event: Any, device: int, function: str) -> None:
    """Check that a stream and an event are CuPy's, and the stream of this device."""
    if stream is not None:
        kinds = [getattr(cupy.cuda, name, None) for name in ("Stream", "ExternalStream")]
        if not isinstance(stream, tuple(kind for kind in kinds if kind is not None)):
            raise ArgumentTypeError(
                f"{function}: argument 'stream' must be a cupy.cuda.Stream, got {_gate.describe(stream)}."
            )
        of = getattr(stream, "device_id", -1)  # -1: the default streams, which belong to every device
        if of not in (-1, device):
            raise ArgumentError(
                f"{function}: argument 'stream' belongs to CUDA device {of} and the current device is {device}; pass "
                "a stream of the current device."
            )
    if event is not None and not isinstance(event, cupy.cuda.Event):
        raise ArgumentTypeError(f"{function}: argument 'event' must be a cupy.cuda.Event, got {_gate.describe(event)}.")


def _checked_host(host: Any, function: str) -> np.ndarray:
    if not isinstance(host, np.ndarray):
        raise ArgumentTypeError(
            f"{function}: argument 'host' must be a NumPy array, got {_gate.describe(host)}; pass numpy.asarray(host)."
        )
    _gate.refuse_masked(host, function=function, argument="host")
    _gate.check_device_dtype(host.dtype, function=function, argument="host")
    _gate.check_writable(host, function=function, argument="host")
    return host


def _checked_shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) or hasattr(shape, "__iter__") else (shape,)
    checked = tuple(_index(size, "HostStaging", "shape") for size in sizes)
    if any(size < 0 for size in checked):
        raise ArgumentError(f"HostStaging: argument 'shape' must not be negative, got {shape!r}.")
    return checked


def _index(value: Any, function: str, argument: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be made of integers, got {value!r}."
            if argument == "shape"
            else f"{function}: argument {argument!r} must be an integer, got {value!r}."
        ) from None


def _refuse_pickle(value: object, reason: str) -> NoReturn:
    raise ArgumentTypeError(f"a {type(value).__name__} does not pickle: {reason}.")
