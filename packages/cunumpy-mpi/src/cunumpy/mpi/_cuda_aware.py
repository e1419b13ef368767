"""Whether MPI can be given device memory, and waiting for the device before it is."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _environment, _launcher
from cunumpy._gate import as_optional_truth, as_truth, describe
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError, CuNumpyWarning
from cunumpy.mpi._choice import get_mpi, is_of_maybempi
from cunumpy.mpi._serial.communicators import SerialComm
from cunumpy.mpi._serial.mpi import SERIAL_MPI

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_recorded: bool | None = None
_keyvals: dict[Any, int] = {}  # by package: the attribute of communicators that holds what was found out for them
# float64: an eager message, one between, and one of 1 MiB that is handed over by rendezvous
_PROBE_SIZES = (4, 2**13, 2**17)
_PROBE_MEMORY = (("device", "device"), ("host", "device"), ("device", "host"))


def set_mpi_cuda_aware(value: bool | None, comm: Any = None) -> None:
    """Tell whether the MPI library takes device memory.

    Parameters
    ----------
    value : bool or None
        None forgets, so that staging of device arrays raises until it is known.
    comm : communicator, optional
        That it is true for, and for its copies; by default for all that nothing else is known of, in this process.

    Raises
    ------
    ArgumentTypeError
        No bool.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.set_mpi_cuda_aware(False)
    >>> xp.mpi.get_mpi_cuda_aware()
    False
    >>> xp.mpi.set_mpi_cuda_aware(None)
    """
    global _recorded
    truth = as_optional_truth(value, function="set_mpi_cuda_aware", argument="value")
    if comm is None:
        _recorded = truth
    elif not _record(comm, truth):
        raise ArgumentTypeError(
            f"set_mpi_cuda_aware: argument 'comm' must be a communicator with attributes, got {describe(comm)}."
        )


def get_mpi_cuda_aware(comm: Any = None) -> bool | None:
    """Return whether the MPI library takes device memory, as it was set or found out; None where that is unknown.

    Parameters
    ----------
    comm : communicator, optional
        What is known of it, or of the one that it is a copy of, comes first; then what was set or found out last, then
        the environment variable ``CUNUMPY_MPI_CUDA_AWARE``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.get_mpi_cuda_aware() is None
    True
    """
    package = None if comm is None else package_of(comm)
    if package in _keyvals and comm:
        found = comm.Get_attr(_keyvals[package])
        if found is not None:
            return bool(found)
    return _stated() if _recorded is None else _recorded


def _stated() -> bool | None:
    value = _environment.read("CUNUMPY_MPI_CUDA_AWARE")
    return None if value is None else bool(value)


def _record(comm: Any, value: bool | None) -> bool:
    """Keep what is known of a communicator with it; tell whether it can be."""
    package = package_of(comm)
    keeper = getattr(package, "Comm", None)
    if keeper is None or not hasattr(keeper, "Create_keyval"):
        return False
    if package not in _keyvals:
        _keyvals[package] = keeper.Create_keyval(copy_fn=_kept)
    if value is not None:
        comm.Set_attr(_keyvals[package], int(value))
    elif comm.Get_attr(_keyvals[package]) is not None:
        comm.Delete_attr(_keyvals[package])
    return True


def _kept(comm: Any, keyval: int, value: Any) -> Any:
    return value


def mpi_is_cuda_aware(comm: Any = None, *, method: str = "probe") -> bool:
    """Find out whether the MPI library takes device memory, and record the answer.

    All ranks of the communicator have to call it, alike. With the probe they agree first that all use device arrays;
    then each sends to the next: from device to device, from host to device and from device to host, short messages and
    ones of 64 KiB and 1 MiB; and all take part in one ``Allreduce`` of device memory. Where the environment variable
    ``CUNUMPY_MPI_CUDA_AWARE`` states the answer, nothing is tried.

    Parameters
    ----------
    comm : communicator, optional
        By default ``get_mpi().COMM_WORLD``. The answer is kept with it, and for communicators that nothing is known of.
    method : {"probe", "query", "auto"}, default: "probe"
        Try it, ask the library, or ask first and try unless it says no: that spares a library that would end the
        process.

    Returns
    -------
    bool
        False where the active backend is NumPy, on this rank or on another. Outside of an MPI run that is known without
        MPI.

    Raises
    ------
    ArgumentError
        Another method.
    CommunicationError
        The library was asked, and does not say.

    Warns
    -----
    CuNumpyWarning
        Processes of one node use the same device, although there are several.

    Warnings
    --------
    An MPI library that is not CUDA-aware may end the process when it is given device memory. Where that happens, call
    ``set_mpi_cuda_aware(False)`` instead.

    See Also
    --------
    cuda_aware_report : What the library says and what arrived.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.mpi_is_cuda_aware()  # NumPy is active
    False
    >>> xp.mpi.set_mpi_cuda_aware(None)
    """
    if method not in ("probe", "query", "auto"):
        raise ArgumentError(f"mpi_is_cuda_aware: argument 'method' must be 'probe', 'query' or 'auto', got {method!r}.")
    in_use = _backend.get_backend() == "cupy"
    # A rank that left here on its own would leave the others waiting for it.
    if not in_use and not _launcher.launched_under_mpi():
        set_mpi_cuda_aware(False)
        return False
    communicator = get_mpi().COMM_WORLD if comm is None else _checked(comm, "mpi_is_cuda_aware")
    answer = _agree(communicator, in_use)
    if answer:
        _warn_of_shared_devices(communicator)
        answer = _found_out(communicator, method)
    set_mpi_cuda_aware(answer)
    _record(communicator, answer)
    return answer


def _found_out(comm: Any, method: str) -> bool:
    stated = _stated()
    if stated is not None:
        return _agree(comm, stated)
    if method != "probe":
        says, evidence = _library_says(comm)
        if method == "query" and says is None:
            raise CommunicationError(
                f"mpi_is_cuda_aware: the MPI library does not say whether it takes device memory "
                f"({'; '.join(evidence)}). Use method='probe'."
            )
        if method == "query" or not _agree(comm, says is not False):
            return _agree(comm, bool(says))
    return _failed_step(comm) is None


class CudaAwareReport(NamedTuple):
    """What is known of an MPI library and device memory.

    Parameters
    ----------
    library : str
        Its name and version.
    says : bool or None
        Its own answer, None where it gives none.
    evidence : tuple of str
        Where that answer comes from.
    arrives : bool or None
        Whether device memory arrived everywhere; None where that was not tried.
    failed : str or None
        The first message that did not arrive, with the reason on this rank.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.CudaAwareReport("Open MPI 5.0", True, ("MPIX_Query_cuda_support() = 1",), True, None).says
    True
    """

    library: str
    says: bool | None
    evidence: tuple[str, ...]
    arrives: bool | None
    failed: str | None


def cuda_aware_report(comm: Any = None, *, probe: bool = True) -> CudaAwareReport:
    """Tell what the MPI library says of device memory, beside what arrives.

    All ranks of the communicator have to call it. Nothing is recorded.

    Parameters
    ----------
    comm : communicator, optional
        By default ``get_mpi().COMM_WORLD``.
    probe : bool, default: True
        Whether to try it too, as `mpi_is_cuda_aware` does it; a library that is not CUDA-aware may end the process.

    Returns
    -------
    CudaAwareReport

    Examples
    --------
    >>> import cunumpy as xp
    >>> report = xp.mpi.cuda_aware_report(probe=False)
    >>> report.library, report.says, report.arrives
    ("CuNumpy's serial stand-in for MPI", True, None)
    """
    probe = as_truth(probe, function="cuda_aware_report", argument="probe")
    communicator = get_mpi().COMM_WORLD if comm is None else _checked(comm, "cuda_aware_report")
    package = package_of(communicator)
    version = getattr(package, "Get_library_version", lambda: "unknown")()
    says, evidence = _library_says(communicator)
    arrives: bool | None = None
    failed: str | None = None
    if probe:
        if _agree(communicator, _backend.get_backend() == "cupy"):
            failed = _failed_step(communicator)
            arrives = failed is None
        else:
            failed = "not tried: a rank does not use CuPy"
    return CudaAwareReport(version.strip().splitlines()[0], says, evidence, arrives, failed)


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
    if type(comm).__module__ == "mpi4py.MPI":  # as nearly always
        return sys.modules["mpi4py.MPI"]
    for kind in type(comm).__mro__:
        module = sys.modules.get(kind.__module__)
        if module is not None and hasattr(module, "PROC_NULL") and hasattr(module, "Status"):
            return module
    return sys.modules["maybempi"].get_mpi(False) if is_of_maybempi(comm) else None


# --- asking the library -----------------------------------------------------------------------------------------------


def _library_says(comm: Any) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether the library says that it takes device memory, and how it said so."""
    if isinstance(comm, SerialComm):
        return True, ("the stand-in copies device memory by CuPy",)
    package = package_of(comm)
    version = package.Get_library_version() if hasattr(package, "Get_library_version") else ""
    for name, variable in (("CRAY MPICH", "MPICH_GPU_SUPPORT_ENABLED"), ("MVAPICH2", "MV2_USE_CUDA")):
        if name in version.upper():  # what they were built with counts for nothing without the variable
            value = os.environ.get(variable, "").strip()
            return value == "1", (f"{variable}={value or '(unset)'} of {name}",)
    if "Intel" in version:
        return False, ("Intel MPI takes memory of Intel's devices only (I_MPI_OFFLOAD)",)
    loaded = _loaded_library()
    if loaded is None:
        return None, ("the loaded MPI library was not found",)
    library = ctypes.CDLL(loaded)
    if hasattr(library, "MPIX_GPU_query_support"):  # MPICH; 0 is CUDA
        supported = ctypes.c_int(0)
        if library.MPIX_GPU_query_support(0, ctypes.byref(supported)) == 0:
            return bool(supported.value), (f"MPIX_GPU_query_support(CUDA) = {supported.value}",)
    if hasattr(library, "MPIX_Query_cuda_support"):
        answer = int(library.MPIX_Query_cuda_support())
        return bool(answer), (f"MPIX_Query_cuda_support() = {answer}",)
    return None, ("the library has no function to ask",)


def _loaded_library() -> str | None:
    """Return the path of the MPI library in this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.rstrip().partition("/")[2]
                name = path.rpartition("/")[2]
                if name.startswith(("libmpi.so", "libmpich", "libmpi_cray", "libmpi_gnu", "libmpi_nvidia")):
                    return f"/{path}"
    except OSError:  # no such file: the system is no Linux
        pass
    return None


# --- trying it --------------------------------------------------------------------------------------------------------


def _checked(comm: Any, function: str) -> Any:
    if isinstance(comm, type) or not (hasattr(comm, "Irecv") and hasattr(comm, "allreduce")):
        raise ArgumentTypeError(f"{function}: argument 'comm' must be a communicator, got {describe(comm)}.")
    return comm


def _agree(comm: Any, ok: bool) -> bool:
    """Tell whether all ranks say yes. The sum needs no operation of the communicator's package."""
    return bool(comm.allreduce(int(ok)) == comm.size)


def _failed_step(comm: Any) -> str | None:
    """Try all messages; return the first that fails anywhere, the same on all ranks but for the reason."""
    for size in _PROBE_SIZES:
        for source, target in _PROBE_MEMORY:
            if reason := _probe(comm, size, source, target):
                return f"{8 * size} bytes from {source} to {target}: {reason}"
    if reason := _probe_reduction(comm):
        return f"Allreduce on the device: {reason}"
    return None


def _probe(comm: Any, size: int, source_memory: str, target_memory: str) -> str:
    """Send memory around the ring of all ranks; return why it did not arrive, ``""`` if it did everywhere."""
    rank, ranks = comm.rank, comm.size
    source = (rank - 1) % ranks

    def prepare() -> tuple[Any, Any]:
        cupy = _backend.require_cupy("mpi_is_cuda_aware")
        send = (cupy if source_memory == "device" else np).arange(size, dtype=np.float64) + rank
        received = (cupy if target_memory == "device" else np).zeros(size)
        return send, received

    def run(send: Any, received: Any) -> bool:
        comm.Sendrecv(send, (rank + 1) % ranks, recvbuf=received, source=source)
        if target_memory == "device":
            received = _conversion.copy_to_host(received, "mpi_is_cuda_aware")
        return bool(np.array_equal(received, np.arange(size) + source))

    return _tried(comm, prepare, run)


def _probe_reduction(comm: Any) -> str:
    def prepare() -> tuple[Any, Any]:
        cupy = _backend.require_cupy("mpi_is_cuda_aware")
        send = cupy.full(4, 1.0 + comm.rank)
        return send, cupy.zeros(4)

    def run(send: Any, received: Any) -> bool:
        comm.Allreduce(send, received)
        expected = comm.size * (comm.size + 1) / 2
        return bool((_conversion.copy_to_host(received, "mpi_is_cuda_aware") == expected).all())

    return _tried(comm, prepare, run)


def _tried(comm: Any, prepare: Callable[[], tuple[Any, Any]], run: Callable[[Any, Any], bool]) -> str:
    """Do a step on all ranks; return why it failed, ``""`` if it did nowhere."""
    reason = ""
    try:
        send, received = prepare()
        synchronize_for_mpi(send, received)
    except Exception as error:  # a device fails with anything
        reason = _failed(error)
    if not _agree(comm, not reason):  # before the message: nobody may wait for one that is not sent
        return reason or "not possible on another rank"
    try:
        if not run(send, received):
            reason = "other values arrived"
    except Exception as error:  # MPI and drivers fail with anything
        reason = _failed(error)
    return "" if _agree(comm, not reason) else reason or "it did not arrive on another rank"


def _failed(error: Exception) -> str:
    _backend._log("MPI is not CUDA-aware: %s: %s", type(error).__name__, error)
    return f"{type(error).__name__}: {error}"


def _warn_of_shared_devices(comm: Any) -> None:
    """Warn if processes of one node share a device while others are free."""
    if comm.size == 1 or not hasattr(comm, "allgather"):
        return
    runtime = _backend.require_cupy("mpi_is_cuda_aware").cuda.runtime
    own = (platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES"), int(runtime.getDevice()))
    everybody = comm.allgather((own, int(runtime.getDeviceCount())))
    sharing = [rank for rank, (place, _) in enumerate(everybody) if place == own]
    here = sum(place[:2] == own[:2] for place, _ in everybody)
    if len(sharing) > 1 and len(sharing) > -(-here // everybody[comm.rank][1]):
        warnings.warn(
            f"mpi_is_cuda_aware: ranks {sharing} use the same device {own[2]} of {own[0]}, which has "
            f"{everybody[comm.rank][1]}. Call xp.cuda.bind_local_device() before MPI is initialised.",
            CuNumpyWarning,
            stacklevel=4,
        )


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
