"""petsc4py, loaded on first use; communicators; and errors that all ranks agree on."""

from __future__ import annotations

import ctypes
import sys
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _environment, _gate, _launcher
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    BackendUnavailableError,
    CommunicationError,
    CuNumpyError,
    MissingPackageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


def petsc_available() -> bool:
    """Tell whether petsc4py is installed, without loading it.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.petsc.petsc_available() in (True, False)
    True
    """
    if "petsc4py" in sys.modules:
        return True
    try:
        return find_spec("petsc4py") is not None
    except (ImportError, ValueError):
        return False


def require_petsc(function: str) -> Any:
    """Return the module ``petsc4py.PETSc``, which initialises PETSc and MPI when it is first loaded."""
    if not petsc_available():
        raise _missing(function, "it is not installed")
    if "petsc4py" not in sys.modules:
        # Some builds of petsc4py find their MPI library by mpi4py alone; and mpi4py may be there without one.
        with suppress(ImportError, RuntimeError):
            import mpi4py.MPI  # noqa: F401
    try:
        from petsc4py import PETSc
    except ImportError as error:
        raise _missing(function, str(error)) from error
    return PETSc


def _missing(function: str, reason: str) -> MissingPackageError:
    return MissingPackageError(
        f"{function}: needs petsc4py ({reason}). Where a cluster has PETSc, set PETSC_DIR and PETSC_ARCH and run "
        "uv add petsc4py==VERSION with the version of that PETSc; docs/petsc.md has this and the way for laptops."
    )


class Group:
    """The ranks of a communicator: petsc4py's object for it, and mpi4py's where there are several."""

    __slots__ = ("comm", "function", "rank", "ranks", "size")

    def __init__(self, comm: Any, ranks: Any, size: int, rank: int, function: str) -> None:
        self.comm, self.ranks, self.size, self.rank = comm, ranks, size, rank
        self.function = function

    def gather(self, value: Any) -> list[Any]:
        """Give the values of all ranks."""
        return [value] if self.ranks is None else list(self.ranks.allgather(value))

    def agree(self, error: CuNumpyError | None) -> None:
        """Raise on every rank if there is an error on one, so that none waits for the others."""
        if self.ranks is None:
            if error is not None:
                raise error
            return
        errors = self.gather(None if error is None else (type(error), str(error)))
        failed = [rank for rank, found in enumerate(errors) if found is not None]
        if not failed:
            return
        if error is not None:
            raise type(error)(f"{error} (refused on rank {_listed(failed)} of {self.size})") from error
        kind, text = errors[failed[0]]
        raise kind(f"{self.function}: refused on rank {_listed(failed)} of {self.size}, hence on all. There: {text}")

    def agreed(self) -> AbstractContextManager[None]:
        """Context manager whose errors are raised on every rank."""
        return _ALONE if self.ranks is None else self._agreed()

    @contextmanager
    def _agreed(self) -> Iterator[None]:
        error = None
        try:
            yield
        except CuNumpyError as raised:
            error = raised
        try:
            self.agree(error)
        finally:
            error = None  # which would hold this frame


_ALONE: AbstractContextManager[None] = nullcontext()


def _listed(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:8]))
    return shown if len(ranks) <= 8 else f"{shown}, ... ({len(ranks)} ranks)"


def group(PETSc: Any, comm: Any, function: str) -> Group:
    """Find the ranks that a communicator means.

    None is PETSc's default communicator, and this process alone where ``MAYBEMPI`` says that there is no MPI run; the
    stand-in communicator of `cunumpy.mpi` is this process alone.
    """
    nobody_named = comm is None
    if comm is None:
        alone = _environment.read("MAYBEMPI") is False
        comm = PETSc.COMM_SELF if alone else PETSc.Sys.getDefaultComm()
    else:
        is_serial = getattr(sys.modules.get("cunumpy.mpi"), "is_serial", None)
        if is_serial is not None and is_serial(comm):
            comm = PETSc.COMM_SELF
    try:
        known = comm if isinstance(comm, PETSc.Comm) else PETSc.Comm(comm)
        size, rank = int(known.size), int(known.rank)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{function}: argument 'comm' must be a communicator of mpi4py, of petsc4py or of xp.mpi, got "
            f"{_gate.describe(comm)}: {error}."
        ) from None
    if size == 1 and nobody_named and (launch := _launch_of_several()) is not None:
        raise CommunicationError(
            f"{function}: {launch.launcher} started {launch.size} processes ({launch.variable} is set), and PETSc sees "
            "this one alone: mpiexec belongs to another MPI library than PETSc. Start the program by the mpiexec of "
            "PETSc's own MPI; or, if every process is meant to work alone, set MAYBEMPI=0 or pass comm=MPI.COMM_SELF."
        )
    ranks = None
    if size > 1:
        try:
            ranks = known.tompi4py() if known is comm else comm
        except ImportError as error:
            raise MissingPackageError(
                f"{function}: needs mpi4py on several ranks, which have to agree on errors ({error}); run: "
                "uv add mpi4py"
            ) from None
        _keep(known)
    return Group(known, ranks, size, rank, function)


_kept: dict[int, Any] = {}


def _keep(comm: Any) -> None:
    """Keep what PETSc has made of a communicator for as long as the process runs.

    PETSc works on a duplicate, which it gives up with the last object, and makes anew for the next. Where one rank
    still has an object (an array that is plotted there, or the frames of an error), it would go on with the old
    duplicate while the others wait for it to make the new one.
    """
    key = int(comm.fortran)
    if key not in _kept:
        _kept[key] = comm.duplicate()


@cache
def _launch_of_several() -> _launcher.Launch | None:
    """Return how this process was started, if that was beside others."""
    launch = None if _environment.read("MAYBEMPI") is False else _launcher.find_launch()
    return launch if launch is not None and (launch.size or 1) > 1 else None


@cache
def _c_library(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path)


def call_c(PETSc: Any, name: str, *arguments: int, function: str) -> None:
    """Call a function of PETSc that petsc4py does not have; handles and addresses are its arguments."""
    try:
        called = getattr(_c_library(PETSc.__file__), name)
    except (OSError, AttributeError) as error:
        raise BackendUnavailableError(
            f"{function}: needs PETSc's {name}, which the library of this petsc4py does not give ({error}); use a "
            "PETSc that is built as a shared library and has the type of vector in question."
        ) from None
    called.argtypes = [ctypes.c_void_p] * len(arguments)
    called.restype = ctypes.c_int
    code = called(*arguments)
    if code:
        raise PETSc.Error(code)


def check_living(obj: Any, function: str, argument: str) -> None:
    """Refuse an object of PETSc's that is there no more, which PETSc itself would crash on."""
    if not obj:
        kind = {"Vec": "vector", "Mat": "matrix", "KSP": "solver", "PC": "preconditioner"}[type(obj).__name__]
        raise ArgumentError(
            f"{function}: argument {argument!r} is a {kind} without content: created empty or destroyed."
        )


def scalar_dtype(PETSc: Any) -> np.dtype[Any]:
    """Return the dtype of PETSc's scalars: float64 in most builds."""
    dtype: np.dtype[Any] = np.dtype(PETSc.ScalarType)
    return dtype


@cache
def _largest(dtype: Any) -> int:
    return int(np.iinfo(dtype).max)


def check_count(PETSc: Any, count: int, function: str, what: str) -> None:
    """Refuse numbers that this build's integers can't hold."""
    largest = _largest(PETSc.IntType)
    if count > largest:
        raise ArgumentRangeError(
            f"{function}: {what} go up to {count}, and this PETSc counts with {np.dtype(PETSc.IntType)}, up to "
            f"{largest}; use more ranks, or a PETSc configured with --with-64-bit-indices."
        )
