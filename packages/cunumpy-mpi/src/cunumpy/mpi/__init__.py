"""MPI with arrays of the host and of a device.

Who was launched, and with which rank on the node; whether MPI takes device memory; buffers for arrays that it does not
take; and exchanges of arrays among ranks: messages, ghost cells, particles, collectives. Communicators are mpi4py's, or
any objects with its methods; mpi4py is imported only where no communicator is given.
"""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-mpi")

from cunumpy._launcher import launched_under_mpi, local_rank
from cunumpy.mpi._buffers import MPIStaging, mpi_buffer
from cunumpy.mpi._choice import get_mpi, is_serial
from cunumpy.mpi._collectives import allgather, allreduce, alltoall, bcast, gather
from cunumpy.mpi._cuda_aware import (
    CudaAwareReport,
    cuda_aware_report,
    get_mpi_cuda_aware,
    mpi_is_cuda_aware,
    require_cuda_aware_mpi,
    set_mpi_cuda_aware,
    synchronize_for_mpi,
)
from cunumpy.mpi._exchange import exchange
from cunumpy.mpi._ghosts import exchange_ghosts
from cunumpy.mpi._migration import migrate
from cunumpy.mpi._persistent import PersistentExchange
from cunumpy.mpi._serial.communicators import SerialComm
from cunumpy.mpi._serial.mpi import SerialMPI
from cunumpy.mpi._serial.requests import SerialRequest, SerialStatus

__all__ = [
    "OVERRIDE_VARIABLE",
    "CudaAwareReport",
    "MPIStaging",
    "PersistentExchange",
    "SerialComm",
    "SerialMPI",
    "SerialRequest",
    "SerialStatus",
    "allgather",
    "allreduce",
    "alltoall",
    "bcast",
    "cuda_aware_report",
    "exchange",
    "exchange_ghosts",
    "gather",
    "get_mpi",
    "get_mpi_cuda_aware",
    "is_serial",
    "launched_under_mpi",
    "local_rank",
    "migrate",
    "mpi_buffer",
    "mpi_is_cuda_aware",
    "require_cuda_aware_mpi",
    "set_mpi_cuda_aware",
    "synchronize_for_mpi",
]

OVERRIDE_VARIABLE: str = "MAYBEMPI"
"""The environment variable that says whether this is an MPI run, whatever the launcher says."""
