"""Host buffers for copies that are made again and again."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError, StaleResultError
from cunumpy.memory._copies import (
    check_one,
    check_order,
    copy_behind,
    forget_finished,
    keep_until,
    pinned_empty,
    refuse_pickle,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from numpy.typing import DTypeLike


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
        count = _gate.as_integer(buffers, function="HostStaging", argument="buffers", least=1, most=1_000_000)
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
        check_one(stream, event, function)
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
            same_shape = array.shape == self._shape
            remedy = (
                f"convert it first, with .astype({str(self._dtype)!r})" if same_shape else "make a HostStaging for it"
            )
            raise ArgumentError(
                f"{function}: argument 'array' must have shape {self._shape} and dtype {self._dtype}, got an array of "
                f"shape {array.shape} and dtype {array.dtype}; {remedy}."
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
        forget_finished()

    def _copy_from_device(self, array: Any, stream: Any, event: Any) -> StagedCopy:
        function = "HostStaging.copy"
        cupy = _backend.require_cupy(function)
        current = int(cupy.cuda.Device().id)
        check_order(cupy, stream, event, current, function)
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
                slot.event = copy_behind(cupy, slot.snapshot, host, self._stream, stream)
            if slot.event is not None:
                keep_until(slot.event, slot)
            self._advance()
            if watched:
                _transfers.record("to_host", text, array.nbytes, blocking=False, started=started)
        return StagedCopy(self, slot, generation)

    def _free_slot(self) -> _Slot:
        slot = self._slots[self._next]
        if slot.event is not None:
            wait_for(slot.event, f"HostStaging.copy(...) waits for buffer {self._next}")
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
            self._buffer = pinned_empty(shape, dtype) if pinned else np.empty(shape, dtype)
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
        refuse_pickle(self, "it stands for a copy into memory of this process; pickle its result()")

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
        if copy is not True and copy is not False:
            copy = _gate.as_truth(copy, function="StagedCopy.result", argument="copy")
        with self._staging._lock:
            self._check("result")
            event, view = self._slot.event, self._slot.view()
        if event is not None:
            wait_for(event, "HostStaging.copy(...).result()")
            forget_finished()
        return view.copy() if copy else view

    def _check(self, method: str) -> None:
        if self._slot.generation != self._generation:
            raise StaleResultError(
                f"StagedCopy.{method}: the buffer of this copy was reused by a later copy, because the staging has "
                f"{self._staging.buffers} buffer(s); read results earlier, or make the HostStaging with more buffers."
            )


def _checked_shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if hasattr(type(shape), "__iter__") else (shape,)
    checked = tuple(_gate.as_integer(size, function="HostStaging", argument="shape") for size in sizes)
    if any(size < 0 for size in checked):
        raise ArgumentError(f"HostStaging: argument 'shape' must not be negative, got {shape!r}.")
    return checked
