"""One copy to the host that does not make the host wait."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentTypeError
from cunumpy.memory._copies import (
    copy_behind,
    forget_finished,
    keep_until,
    pinned_empty,
    refuse_pickle,
    shared_stream,
    wait_for,
)

if TYPE_CHECKING:
    from typing import NoReturn


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
        refuse_pickle(self, "it stands for a copy under way on this device; pickle its result()")

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
            wait_for(event, "to_host_async(...).result()")
            self._event = self._source = None
            forget_finished()
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
        text = _transfers.call_text("to_host_async", array.shape, array.dtype)
        _transfers.announce("to_host", text, array.nbytes)
        started = perf_counter()
    with array.device:
        source = array if array.flags.c_contiguous else cupy.ascontiguousarray(array)
        host = pinned_empty(array.shape, array.dtype)
        event = copy_behind(cupy, source, host, shared_stream(cupy), cupy.cuda.get_current_stream())
    if event is not None:
        keep_until(event, (source, host))
    if watched:
        _transfers.record("to_host", text, host.nbytes, blocking=False, started=started)
    return HostCopy(host, event, source)
