"""Particles that move from process to process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._collectives import all_or_none, checked_rows, exchange_counts, kind_of, known, send_rows

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

    Notes
    -----
    An error after the counts, such as too little memory for the particles that come, can't be undone: it is printed,
    and ``comm.Abort(1)`` ends all processes.

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
    function = "migrate"
    comm, _ = known(comm, function)

    def prepared() -> tuple[Any, np.ndarray, int]:
        if cuda_aware is not None:
            _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
        if isinstance(arrays, (str, bytes, type)) or not hasattr(arrays, "__iter__"):
            raise ArgumentTypeError(
                f"{function}: argument 'arrays' must be a list of arrays, got {_gate.given(arrays)}."
            )
        given = [checked_rows(array, comm, cuda_aware, function, f"arrays[{k}]") for k, array in enumerate(arrays)]
        order, counts = _sorted(given, destination, comm.size)
        return (given, order), counts, kind_of(given)

    (given, order), sending, receiving = exchange_counts(comm, prepared, function)
    with all_or_none(comm):
        sent = [send_rows(comm, array[order], sending, receiving, cuda_aware, function) for array in given]
    return sent, receiving


def _sorted(arrays: list[Any], destination: Any, size: int) -> tuple[Any, np.ndarray]:
    """Return the particles in the order of their ranks, and how many go to each."""
    _gate.common_backend(
        "migrate", **{f"arrays[{k}]": array for k, array in enumerate(arrays)}, destination=destination
    )
    _gate.refuse_masked(destination, function="migrate", argument="destination")
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
