"""Particles that move from process to process."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from cunumpy.mpi._buffers import mpi_buffer
from cunumpy.mpi._cuda_aware import get_mpi_cuda_aware, package_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def migrate(
    comm: Any, arrays: Sequence[Any], destination: Any, *, cuda_aware: bool | None = None
) -> tuple[list[Any], np.ndarray]:
    """Send each particle to the process that it belongs to.

    The counts are exchanged first, and with them whether the arguments of all processes are in order and of the same
    kind; so either all processes send, or all raise. Then each array is sent by one ``Alltoallv``.

    Parameters
    ----------
    comm : communicator
        Of mpi4py, or the serial stand-in.
    arrays : sequence of array
        What belongs to the particles: positions of shape (n, 3), weights of shape (n,), ... All are on the host, or all
        on one device, and have one entry for each particle along the first axis.
    destination : array of int
        The rank of each particle, of shape (n,); a negative one removes the particle.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.

    Returns
    -------
    arrays : list of array
        New arrays, of the particles that are here now: those of rank 0 first, each process's in the order that they had
        there.
    counts : numpy.ndarray
        How many came from each rank.

    Raises
    ------
    ArgumentError
        A rank that does not exist, or arrays of different lengths; on all processes.
    ArgumentTypeError
        What is no array, Python objects, or destinations that are no integers; on all processes.
    CommunicationError
        The arguments of another process are at fault, or its arrays have other dtypes or shapes; or it is not known
        whether MPI takes device memory. On all processes.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi().COMM_WORLD
    >>> positions, weights = xp.asarray([0.1, 0.7, 1.3]), xp.asarray([1, 2, 3])
    >>> destination = xp.where(positions < 1, 0, -1)  # the last one leaves
    >>> (positions, weights), counts = xp.mpi.migrate(comm, [positions, weights], destination)
    >>> weights, counts
    (array([1, 2]), array([2]))
    """
    package = package_of(comm)
    if package is None:
        raise ArgumentTypeError(f"migrate: argument 'comm' must be a communicator, got {_gate.describe(comm)}.")
    size = comm.size
    fault: Exception | None = None
    sending = np.zeros((size, 2), np.int64)
    known = get_mpi_cuda_aware(comm) if cuda_aware is None else bool(cuda_aware)
    given: list[Any] = []
    order: Any = None
    try:
        given = [_checked(array, f"arrays[{k}]", known) for k, array in enumerate(arrays)]
        order, sending[:, 0] = _sorted(given, destination, size)
        sending[:, 1] = _kind(given)
    except (ArgumentError, ArgumentTypeError, CommunicationError) as error:
        fault = error
        sending[:, 0] = -1
    receiving = np.zeros((size, 2), np.int64)
    comm.Alltoall(sending, receiving)
    if fault is not None:
        raise fault
    for rank in range(size):
        if receiving[rank, 0] < 0:
            raise CommunicationError(f"migrate: the arguments on rank {rank} are at fault; nothing was sent.")
        if receiving[rank, 1] != sending[0, 1]:
            raise CommunicationError(
                f"migrate: the arrays on rank {rank} have other dtypes or shapes than those here "
                f"({', '.join(map(_gate.describe, given))}); nothing was sent."
            )
    counts = receiving[:, 0].copy()
    return [_sent(comm, package, array[order], sending[:, 0], counts, known) for array in given], counts


def _checked(array: Any, argument: str, known: bool | None) -> Any:
    _gate.refuse_masked(array, function="migrate", argument=argument)
    if _arrays.is_foreign_device_array(array):
        array = _conversion.wrap_foreign(array, "migrate")
    on_device = _arrays.is_device_array(array)
    if not (on_device or isinstance(array, np.ndarray)) or array.ndim == 0 or array.dtype.hasobject:
        raise ArgumentTypeError(
            f"migrate: argument {argument!r} must be an array of numbers with an axis of particles, got "
            f"{_gate.describe(array)}."
        )
    if on_device and known is None:
        raise CommunicationError(
            f"migrate: argument {argument!r} is a device array, and it is not known whether the MPI library takes "
            "device memory. Find out by mpi_is_cuda_aware(comm), state it by set_mpi_cuda_aware, or pass cuda_aware=."
        )
    return array


def _sorted(arrays: list[Any], destination: Any, size: int) -> tuple[Any, np.ndarray]:
    """Return the particles in the order of their ranks, and how many go to each."""
    _gate.common_backend(
        "migrate", **{f"arrays[{k}]": array for k, array in enumerate(arrays)}, destination=destination
    )
    if getattr(destination, "ndim", None) != 1 or destination.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"migrate: argument 'destination' must be an array of integers of shape (n,), got "
            f"{_gate.describe(destination)}."
        )
    for k, array in enumerate(arrays):
        if len(array) != len(destination):
            raise ArgumentError(
                f"migrate: argument 'arrays[{k}]' has {len(array)} particles, and 'destination' has {len(destination)}."
            )
    module = _arrays.get_array_module(destination)
    order = module.argsort(destination, kind="stable")
    # Where each rank begins among them tells how many there are, and what is out of range.
    ranks = module.asarray(np.arange(size + 1))
    begins = module.searchsorted(destination[order], ranks)
    host = begins if isinstance(begins, np.ndarray) else _conversion.copy_to_host(begins, "migrate")
    if len(destination) and host[-1] != len(destination):
        raise ArgumentError(
            f"migrate: argument 'destination' holds ranks of {size} or more; the communicator has {size} ranks, from "
            f"0 to {size - 1}."
        )
    return order[int(host[0]) :], np.diff(host)


def _kind(arrays: list[Any]) -> int:
    """Return a number that is the same for arrays of the same dtypes and shapes of one particle."""
    return zlib.crc32(repr([(array.dtype.str, array.dtype.descr, array.shape[1:]) for array in arrays]).encode())


def _sent(comm: Any, package: Any, array: Any, sending: np.ndarray, receiving: np.ndarray, known: bool | None) -> Any:
    """Send the rows of one array, which are in the order of their ranks; return those that came."""
    row = array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    shape = (int(receiving.sum()), *array.shape[1:])
    if isinstance(array, np.ndarray):
        result = np.empty(shape, array.dtype)
    else:
        with array.device:
            result = _arrays.get_array_module(array).empty(shape, array.dtype)
    sizes = [(counts * row).tolist() for counts in (sending, receiving)]
    places = [(np.cumsum(counts) * row - counts * row).tolist() for counts in (sending, receiving)]
    with (
        mpi_buffer(array, cuda_aware=known) as source,
        mpi_buffer(result, send=False, recv=True, cuda_aware=known) as target,
    ):
        comm.Alltoallv([source, sizes[0], places[0], package.BYTE], [target, sizes[1], places[1], package.BYTE])
    return result
