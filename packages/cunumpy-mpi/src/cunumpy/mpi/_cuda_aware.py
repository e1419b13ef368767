"""Whether MPI can be given device memory, and waiting for the device before it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _launcher
from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from cunumpy.mpi._choice import get_mpi
from cunumpy.mpi._serial.communicators import SerialComm
from cunumpy.mpi._serial.mpi import SERIAL_MPI

if TYPE_CHECKING:
    from collections.abc import Sequence

_recorded: bool | None = None
_PROBE_SIZES = (4, 2**17)  # float64: an eager message, and one of 1 MiB that is handed over by rendezvous


def set_mpi_cuda_aware(value: bool | None) -> None:
    """Tell whether the MPI library takes device memory, for the whole process.

    Parameters
    ----------
    value : bool or None
        None forgets, so that staging of device arrays raises until it is known.

    Raises
    ------
    ArgumentTypeError
        A string, whose truth would not be what it says.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.set_mpi_cuda_aware(False)
    >>> xp.mpi.get_mpi_cuda_aware()
    False
    >>> xp.mpi.set_mpi_cuda_aware(None)
    """
    global _recorded
    if isinstance(value, str):
        raise ArgumentTypeError(
            f"set_mpi_cuda_aware: argument 'value' must be True, False or None, got the string {value!r}."
        )
    _recorded = None if value is None else bool(value)


def get_mpi_cuda_aware() -> bool | None:
    """Return whether the MPI library takes device memory, as it was set or found out; None where that is unknown.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.get_mpi_cuda_aware() is None
    True
    """
    return _recorded


def mpi_is_cuda_aware(comm: Any = None, *, method: str = "probe") -> bool:
    """Find out whether the MPI library takes device memory, and record the answer.

    All ranks of the communicator have to call it. They agree first that all use device arrays; then each sends device
    memory to the next, a short message and one of 1 MiB, and all take part in one ``Allreduce`` of device memory.

    Parameters
    ----------
    comm : communicator, optional
        By default ``get_mpi().COMM_WORLD``.
    method : {"probe"}
        How to find out.

    Returns
    -------
    bool
        False where the active backend is NumPy, on this rank or on another. Outside of an MPI run that is known without
        MPI.

    Raises
    ------
    ArgumentError
        Another method.

    Warnings
    --------
    An MPI library that is not CUDA-aware may end the process when it is given device memory. Where that happens, call
    ``set_mpi_cuda_aware(False)`` instead.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.mpi_is_cuda_aware()  # NumPy is active
    False
    >>> xp.mpi.set_mpi_cuda_aware(None)
    """
    if method != "probe":
        raise ArgumentError(f"mpi_is_cuda_aware: argument 'method' must be 'probe', got {method!r}.")
    in_use = _backend.get_backend() == "cupy"
    answer = False
    # A rank that left here on its own would leave the others waiting for it.
    if in_use or _launcher.launched_under_mpi():
        communicator = get_mpi().COMM_WORLD if comm is None else comm
        answer = _agree(communicator, in_use) and all(_probe(communicator, size) for size in _PROBE_SIZES)
        answer = answer and _probe_reduction(communicator)
    set_mpi_cuda_aware(answer)
    return answer


def require_cuda_aware_mpi(comm: Any = None) -> None:
    """Raise if CuPy is active and the MPI library does not take device memory, by `mpi_is_cuda_aware`.

    Parameters
    ----------
    comm : communicator, optional
        By default ``get_mpi().COMM_WORLD``. All its ranks have to call this.

    Raises
    ------
    CommunicationError
        CuPy is active, and device memory does not arrive.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.require_cuda_aware_mpi()  # NumPy is active
    >>> xp.mpi.set_mpi_cuda_aware(None)
    """
    if not mpi_is_cuda_aware(comm) and _backend.get_backend() == "cupy":
        raise CommunicationError(
            "require_cuda_aware_mpi: the MPI library is not CUDA-aware: device memory that was sent did not arrive, or "
            "another rank does not use CuPy. Load a CUDA-aware MPI (Open MPI with UCX built for CUDA, MVAPICH-GDR, "
            "Cray MPICH with MPICH_GPU_SUPPORT_ENABLED=1) and mpi4py built with it, or let the arrays be staged on the "
            "host by set_mpi_cuda_aware(False)."
        )


def package_of(comm: Any) -> Any:
    """Return the module with the constants of a communicator, or the stand-in for it; None where there is none."""
    if isinstance(comm, SerialComm):
        return SERIAL_MPI
    for kind in type(comm).__mro__:
        module = sys.modules.get(kind.__module__)
        if module is not None and hasattr(module, "PROC_NULL") and hasattr(module, "Status"):
            return module
    return None


def _agree(comm: Any, ok: bool) -> bool:
    """Tell whether all ranks say yes. The sum needs no operation of the communicator's package."""
    return bool(comm.allreduce(int(ok)) == comm.size)


def _probe(comm: Any, size: int) -> bool:
    """Send device memory around the ring of all ranks; tell whether it arrived everywhere."""
    rank, ranks = comm.rank, comm.size
    ok = True
    try:
        cupy = _backend.require_cupy("mpi_is_cuda_aware")
        send = cupy.arange(size, dtype=cupy.float64) + rank
        received = cupy.empty_like(send)
        synchronize_for_mpi(send, received)
    except Exception as error:  # a device fails with anything
        ok = _failed(error)
    if not _agree(comm, ok):  # before the message: nobody may wait for one that is not sent
        return False
    source = (rank - 1) % ranks
    try:
        comm.Sendrecv(send, (rank + 1) % ranks, recvbuf=received, source=source)
        ok = bool(np.array_equal(_conversion.copy_to_host(received, "mpi_is_cuda_aware"), np.arange(size) + source))
    except Exception as error:  # MPI and drivers fail with anything
        ok = _failed(error)
    return _agree(comm, ok)


def _probe_reduction(comm: Any) -> bool:
    ok = True
    try:
        cupy = _backend.require_cupy("mpi_is_cuda_aware")
        send = cupy.full(4, 1.0 + comm.rank)
        received = cupy.empty_like(send)
        synchronize_for_mpi(send, received)
    except Exception as error:  # a device fails with anything
        ok = _failed(error)
    if not _agree(comm, ok):
        return False
    try:
        comm.Allreduce(send, received)
        expected = comm.size * (comm.size + 1) / 2
        ok = bool((_conversion.copy_to_host(received, "mpi_is_cuda_aware") == expected).all())
    except Exception as error:  # MPI and drivers fail with anything
        ok = _failed(error)
    return _agree(comm, ok)


def _failed(error: Exception) -> bool:
    _backend._log("MPI is not CUDA-aware: %s: %s", type(error).__name__, error)
    return False


# --- waiting for the device -------------------------------------------------------------------------------------------


def synchronize_for_mpi(*arrays: Any, stream: Any = None, event: Any = None) -> None:
    """Wait until device arrays hold what was computed into them: MPI knows nothing of CUDA streams.

    Parameters
    ----------
    *arrays : Any
        Host arrays and anything else are passed over; without device arrays nothing happens.
    stream : cupy.cuda.Stream, optional
        The producer of the arrays, if all were computed on one stream.
    event : cupy.cuda.Event, optional
        Recorded behind the producer. By default all devices that own an array are waited for.

    Raises
    ------
    ArgumentError
        Both a stream and an event.
    ArgumentTypeError
        A stream or event that is not CuPy's, with a device array.

    Notes
    -----
    Recorded as one ``sync``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> x = 2 * xp.ones(3)
    >>> xp.mpi.synchronize_for_mpi(x)
    """
    check_one_producer(stream, event, "synchronize_for_mpi")
    owned = [array for array in arrays if _arrays.is_device_array(array)]
    if owned:
        check_producer(stream, event, "synchronize_for_mpi")
        wait_for_producer(owned, stream, event, "synchronize_for_mpi")


def check_one_producer(stream: Any, event: Any, function: str) -> None:
    """Raise `ArgumentError` if both a stream and an event are given."""
    if stream is not None and event is not None:
        raise ArgumentError(f"{function}: only one of the arguments 'stream' and 'event' can be given, got both.")


def check_producer(stream: Any, event: Any, function: str) -> None:
    """Raise `ArgumentTypeError` unless the stream and the event are CuPy's, for device arrays."""
    cuda = _backend.require_cupy(function).cuda
    streams = tuple(kind for kind in (cuda.Stream, getattr(cuda, "ExternalStream", None)) if kind is not None)
    for argument, value, kinds in (("stream", stream, streams), ("event", event, (cuda.Event,))):
        if value is not None and not isinstance(value, kinds):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be of the CUDA producer, a cupy.cuda.{argument.title()}, got "
                f"{describe(value)}; leave it out to wait for the whole device."
            )


def wait_for_producer(arrays: Sequence[Any], stream: Any, event: Any, function: str) -> None:
    """Wait for the event, the stream, or the devices of the arrays."""
    if event is not None:
        _conversion.wait(event.synchronize, f"{function}(event=...)")
    elif stream is not None:
        _conversion.wait(stream.synchronize, f"{function}(stream=...)")
    else:
        devices = {int(array.device.id): array.device for array in arrays}

        def synchronize() -> None:
            for device in devices.values():
                with device:
                    device.synchronize()

        _conversion.wait(synchronize, f"{function}(...)")
