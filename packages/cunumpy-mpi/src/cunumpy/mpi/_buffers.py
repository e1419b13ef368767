"""The buffer that MPI gets for an array, and what has to be copied before and after."""

from __future__ import annotations

import operator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from cunumpy.memory import _copies
from cunumpy.mpi._cuda_aware import (
    check_one_producer,
    check_producer,
    get_mpi_cuda_aware,
    wait_for_producer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType

    from numpy.typing import DTypeLike

#: The dtypes that MPI has types for, in the machine's byte order. Elements of others are sent as their bytes.
OF_MPI = frozenset(map(np.dtype, "?bhilqBHILQfdgFDG"))


@contextmanager
def mpi_buffer(
    array: Any,
    *,
    send: bool = True,
    recv: bool = False,
    cuda_aware: bool | None = None,
    staging: MPIStaging | None = None,
    stream: Any = None,
    event: Any = None,
    overwrite: bool = True,
) -> Iterator[Any]:
    """Give MPI a buffer for an array, and copy back what it received.

    The buffer has the array's values in C order: a host array or, with CUDA-aware MPI, a device array that is
    contiguous already is its own buffer, every other array gets a packed copy. Without CUDA-aware MPI the buffer of a
    device array is in host memory, page-locked where possible.

    Parameters
    ----------
    array : Any
        A NumPy array, or a device array of any library. Anything else, such as ``[buffer, count, MPI.DOUBLE]``, is
        passed on as it is.
    send : bool, default: True
        Whether MPI reads the buffer.
    recv : bool, default: False
        Whether MPI writes to it. It is copied back when the block ends, and not if the block raises.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded by `set_mpi_cuda_aware` or `mpi_is_cuda_aware`.
    staging : MPIStaging, optional
        Buffers to use again, for device arrays. By default new ones.
    stream, event : optional
        The producer of a device array, as in `synchronize_for_mpi`.
    overwrite : bool, default: True
        With ``recv`` and not ``send``: that the message fills the buffer. If false, the buffer begins with the array's
        values, so that a shorter message leaves the rest of the array as it was.

    Yields
    ------
    numpy.ndarray, cupy.ndarray or Any
        The buffer. Wait for non-blocking communication inside the block.

    Raises
    ------
    CommunicationError
        A device array, and it is not known whether MPI takes it; or the staging is in use.
    ArgumentError
        A read-only array with ``recv``; a shape, dtype or device that is not the staging's; a stream and an event.
    ArgumentTypeError
        A masked array, Python objects, or a stream or event that is not CuPy's.
    TransferError
        A copy inside ``xp.profiling.forbid_transfers()``.

    Notes
    -----
    The wait for the device, the copies and the wait after copying back are recorded: ``sync``, ``to_host``,
    ``to_device``, and ``device_copy`` for packing with CUDA-aware MPI.

    Examples
    --------
    >>> import cunumpy as xp
    >>> x = xp.zeros((3, 4))
    >>> with xp.mpi.mpi_buffer(x[:, 0], send=False, recv=True) as buffer:
    ...     buffer[...] = 1.0  # comm.Recv(buffer, source=0)
    >>> x[:, 0]
    array([1., 1., 1.])
    """
    function = "mpi_buffer"
    send = _gate.as_truth(send, function=function, argument="send")
    recv = _gate.as_truth(recv, function=function, argument="recv")
    overwrite = _gate.as_truth(overwrite, function=function, argument="overwrite")
    if cuda_aware is not None:
        cuda_aware = _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
    check_one_producer(stream, event, function)
    buffer = Buffer(
        array, send=send, recv=recv, cuda_aware=cuda_aware, staging=staging, overwrite=overwrite, function=function
    )
    with opened(buffer, stream, event) as content:
        yield content


@contextmanager
def opened(buffer: Buffer, stream: Any = None, event: Any = None) -> Iterator[Any]:
    """Give MPI what is in a buffer, and copy back what it received."""
    function = buffer.function
    if buffer.on_device:
        check_producer(stream, event, function)
    try:
        buffer.lease()
        if buffer.on_device:
            wait_for_producer([buffer.array], stream, event, function)
        buffer.fill()
        yield buffer.content
        buffer.copy_back()
        wait_for_copies([buffer], function)
    finally:
        buffer.release()


class MPIStaging:
    """Host memory for device arrays of one shape and dtype that go through MPI again and again.

    Parameters
    ----------
    shape : int or sequence of int
        Of the arrays.
    dtype : dtype_like
        Theirs; None means float64.

    Raises
    ------
    ArgumentTypeError
        A size that is not an integer, or Python objects.
    ArgumentError
        A negative size.

    Notes
    -----
    Memory is allocated at first use and kept until `close`. One buffer can be open at a time; threads that share a
    staging get an error, not each other's data. Pickling gives a new object without memory.

    Examples
    --------
    >>> import cunumpy as xp
    >>> staging = xp.mpi.MPIStaging(3, float)
    >>> x = xp.ones(3)
    >>> with staging.buffer(x) as buffer:
    ...     total = buffer.sum()  # comm.Send(buffer, dest=1)
    """

    def __init__(self, shape: int | Iterable[int], dtype: DTypeLike | None) -> None:
        self._shape = _checked_shape(shape)
        self._dtype = _gate.as_dtype(dtype, function="MPIStaging")
        if self._dtype.hasobject:
            raise ArgumentTypeError(
                f"MPIStaging: argument 'dtype' is of Python objects ({self._dtype}), which MPI can't send; choose a "
                "dtype of numbers."
            )
        self._lock = Lock()
        self._leased = False
        self._device: int | None = None
        self._host: np.ndarray | None = None
        self._packed: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the arrays."""
        return self._dtype

    def __repr__(self) -> str:
        return f"MPIStaging(shape={self._shape}, dtype={self._dtype}, in_use={self._leased})"

    def __reduce__(self) -> tuple[type[MPIStaging], tuple[tuple[int, ...], np.dtype[Any]]]:
        return type(self), (self._shape, self._dtype)

    def __enter__(self) -> MPIStaging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def buffer(
        self,
        array: Any,
        *,
        send: bool = True,
        recv: bool = False,
        cuda_aware: bool | None = None,
        stream: Any = None,
        event: Any = None,
        overwrite: bool = True,
    ) -> AbstractContextManager[Any]:
        """Return ``mpi_buffer(array, staging=self, ...)``; the parameters are those of `mpi_buffer`."""
        return mpi_buffer(
            array,
            send=send,
            recv=recv,
            cuda_aware=cuda_aware,
            staging=self,
            stream=stream,
            event=event,
            overwrite=overwrite,
        )

    def close(self) -> None:
        """Give the memory back, and let the next array be on any device.

        Raises
        ------
        CommunicationError
            A buffer is open.
        """
        with self._lock:
            if self._leased:
                raise CommunicationError(
                    "MPIStaging.close: the staging is in use; leave the block of its buffer first."
                )
            self._device = self._host = self._packed = None

    def _check(self, array: Any, function: str) -> None:
        if array.shape != self._shape or array.dtype != self._dtype:
            raise ArgumentError(
                f"{function}: argument 'array' must have the shape and dtype of its staging, {self._shape} and "
                f"{self._dtype}, got {_gate.describe(array)}; make an MPIStaging for it."
            )

    def _lease(self, array: Any, function: str) -> np.ndarray:
        """Take the host buffer, for one array at a time."""
        device = int(array.device.id)
        with self._lock:
            if self._leased:
                raise CommunicationError(
                    f"{function}: the staging is already in use; leave the block of its other buffer first, or use one "
                    "MPIStaging for each array."
                )
            self._check(array, function)
            if self._device not in (None, device):
                raise ArgumentError(
                    f"{function}: argument 'array' is on another CUDA device ({device}) than the staging "
                    f"({self._device}); use one MPIStaging for each device, or close() this one first."
                )
            if self._host is None:
                self._host = _host_empty(self._shape, self._dtype)
            self._leased, self._device = True, device
            return self._host

    def _release(self) -> None:
        self._leased = False

    def _packing(self, cupy: Any) -> Any:
        if self._packed is None:
            self._packed = cupy.empty(self._shape, self._dtype)
        return self._packed


def refuse_objects(array: Any, function: str, argument: str) -> None:
    """Raise for an array of Python objects."""
    if array.dtype.hasobject:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} is of Python objects ({_gate.describe(array)}), which have no "
            "buffer; use a dtype of numbers, or the communicator's methods for objects, such as comm.send."
        )


def refuse_shared_places(array: Any, function: str, argument: str) -> None:
    """Raise for an array to be received into that has several elements in one place."""
    if not array.flags.c_contiguous and _gate.overlaps_itself(array):
        raise ArgumentError(
            f"{function}: argument {argument!r} is received into, and has several elements in one place of memory "
            f"(shape {array.shape}, strides {array.strides}); pass a copy of it."
        )


class Buffer:
    """An array on its way through MPI. Making one checks the arguments, and changes nothing."""

    def __init__(
        self,
        array: Any,
        *,
        send: bool,
        recv: bool,
        cuda_aware: bool | None,
        staging: MPIStaging | None,
        overwrite: bool,
        function: str,
        argument: str = "array",
    ) -> None:
        self.function = function
        self.send, self.recv = bool(send), bool(recv)
        self.fills = self.send or (self.recv and not overwrite)
        self.staging = staging
        self.leased = False
        self.content: Any = array
        _gate.refuse_masked(array, function=function, argument=argument)
        if _arrays.is_foreign_device_array(array):
            array = self.content = _conversion.wrap_foreign(array, function)
        self.array = array
        self.on_device = _arrays.is_device_array(array)
        self.is_array = self.on_device or isinstance(array, np.ndarray)
        self.is_aware = False
        self.needs_copy = False
        if not self.is_array:
            return
        refuse_objects(array, function, argument)
        if self.recv and not self.on_device:
            _gate.check_writable(array, function=function, argument=argument)
        if self.recv:
            refuse_shared_places(array, function, argument)
        if self.on_device:
            known = get_mpi_cuda_aware() if cuda_aware is None else bool(cuda_aware)
            if known is None:
                raise CommunicationError(
                    f"{function}: argument {argument!r} is a device array, and it is not known whether the MPI library "
                    "takes device memory. Find out by mpi_is_cuda_aware(comm) on all ranks, state it by "
                    "set_mpi_cuda_aware(True or False), or pass cuda_aware=."
                )
            self.is_aware = known
        if not isinstance(staging, (MPIStaging, type(None))):
            raise ArgumentTypeError(
                f"{function}: argument 'staging' must be an MPIStaging or None, got {_gate.given(staging)}."
            )
        if staging is not None and not self.is_staged:  # the same program must not fail on a GPU first
            staging._check(array, function)
        self.needs_copy = self.is_staged or not array.flags.c_contiguous

    @property
    def is_staged(self) -> bool:
        """Whether device memory goes through the host."""
        return self.on_device and not self.is_aware

    def lease(self) -> None:
        """Get the memory of the buffer."""
        if not self.needs_copy:
            return
        if self.is_staged:
            if self.staging is None:
                self.staging = MPIStaging(self.array.shape, self.array.dtype)
            self.content = self.staging._lease(self.array, self.function)
            self.leased = True
        elif self.on_device:
            with self.array.device:
                self.content = _backend.require_cupy(self.function).empty(self.array.shape, self.array.dtype)
        else:
            self.content = np.empty(self.array.shape, self.array.dtype)

    def fill(self) -> None:
        """Copy the array to the buffer, if MPI reads it, and wait for the copy."""
        if self.needs_copy and self.fills:
            self._copy_to(self.content)

    def _copy_to(self, content: Any) -> None:
        if not self.on_device:
            np.copyto(content, self.array)
        elif self.is_aware:
            cupy = _backend.require_cupy(self.function)
            with self.array.device:
                with self._recorded("device_copy"):
                    cupy.copyto(content, self.array)
                _conversion.wait(cupy.cuda.get_current_stream().synchronize, f"{self.function}(...) packed")
        else:
            with self.array.device, self._recorded("to_host"):
                source = self.array
                if not source.flags.c_contiguous:
                    assert self.staging is not None
                    cupy = _backend.require_cupy(self.function)
                    source = self.staging._packing(cupy)
                    cupy.copyto(source, self.array)
                if source.size:
                    source.get(out=content)

    def copy_back(self, received: int | None = None) -> None:
        """Copy what MPI wrote to the array, without waiting; `received` is its number of bytes, if that is known."""
        if not (self.needs_copy and self.recv):
            return
        if received is not None and received < self.array.nbytes:
            self._keep_rest(received)
        if not self.on_device:
            np.copyto(self.array, self.content)
            return
        cupy = _backend.require_cupy(self.function)
        with self.array.device, self._recorded("device_copy" if self.is_aware else "to_device"):
            target = self.content
            if self.is_staged:
                target = self.array
                if not target.flags.c_contiguous:
                    assert self.staging is not None
                    target = self.staging._packing(cupy)
                if target.size:
                    target.set(self.content)
            if target is not self.array:
                cupy.copyto(self.array, target)

    def _keep_rest(self, received: int) -> None:
        """Put the array's own values behind the bytes that a shorter message left in the buffer."""
        whole = self.content if self.fills else np.empty_like(self.content)
        if self.on_device and self.is_aware:
            with self.array.device:
                whole = _backend.require_cupy(self.function).empty_like(self.content)
        if whole is not self.content:
            self._copy_to(whole)
            bytes_of(self.content)[received:] = bytes_of(whole)[received:]

    def release(self) -> None:
        """Give the staging back."""
        if self.leased:
            assert self.staging is not None
            self.leased = False
            self.staging._release()

    @contextmanager
    def _recorded(self, kind: str) -> Iterator[None]:
        watched = _transfers.watching()
        if watched:
            text = _transfers.call_text(self.function, self.array.shape, self.array.dtype)
            _transfers.announce(kind, text, self.array.nbytes)
            started = perf_counter()
        with _transfers.own():
            yield
        if watched:
            _transfers.record(kind, text, self.array.nbytes, started=started)


def wait_for_copies(buffers: Iterable[Buffer], function: str) -> None:
    """Wait until the copies of `Buffer.copy_back` are done, all by one ``sync``."""
    devices = {
        int(buffer.array.device.id): buffer.array.device
        for buffer in buffers
        if buffer.on_device and buffer.needs_copy and buffer.recv
    }
    if devices:
        cuda = _backend.require_cupy(function).cuda

        def synchronize() -> None:
            for device in devices.values():
                with device:
                    cuda.get_current_stream().synchronize()

        _conversion.wait(synchronize, f"{function}(...) copied back")


def for_mpi(content: Any) -> Any:
    """Return a contiguous array as MPI can be given it: of a dtype that it has no type for, the bytes."""
    return content if content.dtype in OF_MPI else bytes_of(content)


def bytes_of(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


def _host_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    try:
        return _copies.pinned_empty(shape, dtype)
    except Exception as error:  # out of page-locked memory, or a driver that refuses it
        _backend._log("MPI staging uses ordinary host memory: %s: %s", type(error).__name__, error)
        return np.empty(shape, dtype)


def _checked_shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    try:
        checked = tuple(map(operator.index, sizes))
    except TypeError:
        raise ArgumentTypeError(f"MPIStaging: argument 'shape' must be made of integers, got {shape!r}.") from None
    if any(size < 0 for size in checked):
        raise ArgumentError(f"MPIStaging: argument 'shape' must be non-negative, got {shape!r}.")
    return checked
