"""The stand-in for the module `mpi4py.MPI`."""

from __future__ import annotations

import math
import platform
import threading
import time
from typing import TYPE_CHECKING, Any

from cunumpy import _gate
from cunumpy.mpi._serial import (
    buffers,
    communicators,
    error_handlers,
    exceptions,
    files,
    groups,
    hints,
    messages,
    pickling,
    requests,
    specs,
    windows,
)
from cunumpy.mpi._serial.checks import integer, integers, wrong_type
from cunumpy.mpi._serial.constants import INTEGERS
from cunumpy.mpi._serial.datatypes import DATATYPE_NULL, PREDEFINED, TYPEDICT, Datatype
from cunumpy.mpi._serial.operations import OP_NULL, PREDEFINED_OPS, Op
from cunumpy.mpi._serial.predefined import ALIASES
from cunumpy.mpi._serial.windows import new_memory

if TYPE_CHECKING:
    from collections.abc import Sequence


class SerialIntercomm(communicators.SerialComm):
    """A communicator that connects two groups: there is none with one process."""

    def __init__(self) -> None:
        raise exceptions.error("COMM", "MPI.Intercomm: a run of one process has no second group to connect to.")


class SerialMPI:
    """What stands in the place of the module `mpi4py.MPI` in a run of one process.

    It has the module's names: ``COMM_WORLD``, ``Request``, ``DOUBLE``, ``SUM``, ``IN_PLACE``, ``File``, ``Win``,
    ``Exception``, ... One object of it is used, `get_mpi(False)`. Constants of `mpi4py.MPI` are understood too, as soon
    as that module is loaded. The error for a name that it lacks says so.

    Notes
    -----
    Nothing is initialised: ``Is_initialized()`` is false.

    Examples
    --------
    >>> import cunumpy as xp
    >>> MPI = xp.mpi.get_mpi(False)
    >>> MPI
    <SerialMPI, in the place of mpi4py.MPI for one process>
    >>> MPI.COMM_WORLD.size
    1
    >>> try:
    ...     MPI.COMM_WORLD.bcast(1, root=3)
    ... except MPI.Exception as error:
    ...     assert error.Get_error_class() == MPI.ERR_ROOT
    """

    Comm = Intracomm = communicators.SerialComm
    Intercomm = SerialIntercomm
    Topocomm = communicators.SerialTopocomm
    Cartcomm = communicators.SerialCartcomm
    Graphcomm = communicators.SerialGraphcomm
    Distgraphcomm = communicators.SerialDistgraphcomm
    Group = groups.Group
    Info = hints.Info
    Errhandler = error_handlers.Errhandler
    Request = requests.SerialRequest
    Prequest = requests.SerialPrequest
    Message = messages.Message
    Status = requests.SerialStatus
    Datatype = Datatype
    Op = Op
    File = files.SerialFile
    Win = windows.SerialWin
    Exception = exceptions.MPIException

    COMM_WORLD: communicators.SerialComm = communicators.COMM_WORLD
    COMM_SELF: communicators.SerialComm = communicators.COMM_SELF
    COMM_NULL: communicators.SerialComm = communicators.COMM_NULL
    DATATYPE_NULL: Any = DATATYPE_NULL
    REQUEST_NULL: requests.SerialRequest = requests.REQUEST_NULL
    MESSAGE_NULL: messages.Message = messages.MESSAGE_NULL
    MESSAGE_NO_PROC: messages.Message = messages.MESSAGE_NO_PROC
    OP_NULL: Any = OP_NULL
    GROUP_NULL: groups.Group = groups.GROUP_NULL
    GROUP_EMPTY: groups.Group = groups.GROUP_EMPTY
    INFO_NULL: hints.Info = hints.INFO_NULL
    INFO_ENV: hints.Info = hints.INFO_ENV
    ERRHANDLER_NULL: error_handlers.Errhandler = error_handlers.ERRHANDLER_NULL
    ERRORS_RETURN: error_handlers.Errhandler = error_handlers.ERRORS_RETURN
    ERRORS_ABORT: error_handlers.Errhandler = error_handlers.ERRORS_ABORT
    ERRORS_ARE_FATAL: error_handlers.Errhandler = error_handlers.ERRORS_ARE_FATAL
    FILE_NULL: files.SerialFile = files.FILE_NULL
    WIN_NULL: windows.SerialWin = windows.WIN_NULL
    IN_PLACE: buffers.Placeholder = buffers.IN_PLACE
    BOTTOM: buffers.Placeholder = buffers.BOTTOM
    BUFFER_AUTOMATIC: buffers.Placeholder = buffers.BUFFER_AUTOMATIC
    InPlaceType = BottomType = BufferAutomaticType = buffers.Placeholder
    buffer = memory = buffers.MPIMemory
    Pickle = pickling.Pickle
    pickle: pickling.Pickle = pickling.PICKLE

    _typedict: dict[str, Any] = TYPEDICT

    Get_error_class: staticmethod[[int], int] = staticmethod(exceptions.error_class)
    Get_error_string: staticmethod[[int], str] = staticmethod(exceptions.error_string)
    Add_error_class: staticmethod[[], int] = staticmethod(exceptions.add_error_class)
    Add_error_code: staticmethod[[int], int] = staticmethod(exceptions.add_error_code)
    Add_error_string: staticmethod[[int, str], None] = staticmethod(exceptions.add_error_string)
    Remove_error_class: staticmethod[[int], None] = staticmethod(exceptions.remove_error_class)
    Remove_error_code: staticmethod[[int], None] = staticmethod(exceptions.remove_error_code)
    Remove_error_string: staticmethod[[int], None] = staticmethod(exceptions.remove_error_string)
    Attach_buffer: staticmethod[[Any], None] = staticmethod(communicators.SerialComm.Attach_buffer)
    Detach_buffer: staticmethod[[], Any] = staticmethod(communicators.SerialComm.Detach_buffer)

    if not TYPE_CHECKING:  # for which no name would be unknown then

        def __getattr__(self, name):
            raise AttributeError(
                f"SerialMPI has no attribute {name!r}: the stand-in for MPI in a run of one process lacks it. If "
                "mpi4py has it, run the program with mpiexec, or choose MPI by get_mpi(True).",
                name=name,
                obj=self,
            )

    def __repr__(self) -> str:
        return "<SerialMPI, in the place of mpi4py.MPI for one process>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _the_one, ()

    @staticmethod
    def Init() -> None:
        """Do nothing: there is nothing to initialise."""

    @staticmethod
    def Init_thread(required: int = INTEGERS["THREAD_MULTIPLE"]) -> int:
        """Do nothing; return the support of threads."""
        return INTEGERS["THREAD_SINGLE"]

    @staticmethod
    def Finalize() -> None:
        """Do nothing: there is nothing to finalise."""

    @staticmethod
    def Is_initialized() -> bool:
        """Tell whether MPI is initialised: no."""
        return False

    @staticmethod
    def Is_finalized() -> bool:
        """Tell whether MPI is finalised: no."""
        return False

    @staticmethod
    def Query_thread() -> int:
        """Return the support of threads."""
        return INTEGERS["THREAD_SINGLE"]

    @staticmethod
    def Is_thread_main() -> bool:
        """Tell whether this is the main thread."""
        return threading.current_thread() is threading.main_thread()

    @staticmethod
    def Get_version() -> tuple[int, int]:
        """Return the version of the standard that the names are of."""
        return INTEGERS["VERSION"], INTEGERS["SUBVERSION"]

    @staticmethod
    def Get_library_version() -> str:
        """Return what library this is."""
        return "CuNumpy's serial stand-in for MPI"

    @staticmethod
    def get_vendor() -> tuple[str, tuple[int, int, int]]:
        """Return whose library this is, and its version."""
        return "CuNumpy", (0, 0, 0)

    @staticmethod
    def Flush_buffer() -> None:
        """Wait until buffered sends are under way: they are."""

    @staticmethod
    def Iflush_buffer() -> requests.SerialRequest:
        """Do `Flush_buffer`, without waiting."""
        return requests.SerialRequest()

    @staticmethod
    def Get_processor_name() -> str:
        """Return the name of the machine."""
        return platform.node()

    @staticmethod
    def Wtime() -> float:
        """Return the time in seconds since some moment in the past."""
        return time.perf_counter()

    @staticmethod
    def Wtick() -> float:
        """Return how fine `Wtime` is, in seconds."""
        return time.get_clock_info("perf_counter").resolution

    @staticmethod
    def Pcontrol(level: int) -> None:
        """Do nothing: no profiler is attached."""

    @staticmethod
    def Get_address(location: Any) -> int:
        """Return the address of memory."""
        memory, _, on_device, _ = specs.memory_of(location, "MPI.Get_address", "location", write=False)
        return int(memory.data.ptr if on_device else memory.ctypes.data)

    @staticmethod
    def Aint_add(base: int, disp: int) -> int:
        """Return an address behind another."""
        return integer(base, "MPI.Aint_add", "base") + integer(disp, "MPI.Aint_add", "disp")

    @staticmethod
    def Aint_diff(addr1: int, addr2: int) -> int:
        """Return how far an address is behind another."""
        return integer(addr1, "MPI.Aint_diff", "addr1") - integer(addr2, "MPI.Aint_diff", "addr2")

    @staticmethod
    def Alloc_mem(size: int, info: hints.Info | None = None) -> memoryview:
        """Return new memory, of `size` bytes."""
        return new_memory(size, "MPI.Alloc_mem", wrong="ARG").data

    @staticmethod
    def Free_mem(mem: memoryview) -> None:
        """Give memory back."""
        if not isinstance(mem, memoryview):
            raise wrong_type("MPI.Free_mem", "mem", "memory from MPI.Alloc_mem", mem)
        mem.release()

    @staticmethod
    def Compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
        """Return the sizes of a grid of processes that is as nearly a cube as possible.

        Parameters
        ----------
        nnodes : int
            How many processes.
        dims : int or sequence of int
            How many axes, or the size along each, 0 where it is to be found.
        """
        function = "MPI.Compute_dims"
        number = integer(nnodes, function, "nnodes")
        if not 1 <= number < 2**31:
            raise exceptions.error("DIMS", f"{function}: argument 'nnodes' is {number}; it is from 1 to {2**31 - 1}.")
        if isinstance(dims, int):
            axes = int(dims)
        else:
            sizes = integers(dims, function, "dims")
            axes = len(sizes)
        if not 0 <= axes <= 64:
            raise exceptions.error("DIMS", f"{function}: argument 'dims' has {_gate.given(axes)} axes, not 0 to 64.")
        if isinstance(dims, int):
            sizes = [0] * axes
        fixed = 1
        for size in sizes:
            if size < 0:
                raise exceptions.error("DIMS", f"{function}: argument 'dims' is {sizes}; it can't be negative.")
            fixed *= size or 1
        free = sizes.count(0)
        if number % fixed or (not free and fixed != number):
            raise exceptions.error(
                "DIMS",
                f"{function}: {number} processes do not fill the grid {sizes} of argument 'dims', 0 being free.",
            )
        left = number // fixed
        few = [each for each in range(1, math.isqrt(left) + 1) if left % each == 0]
        divisors = [*few, *(left // each for each in reversed(few) if each * each != left)]
        found = iter(_balanced(left, free, divisors) or [])
        return [size or next(found) for size in sizes]


def _balanced(number: int, factors: int, divisors: list[int]) -> list[int] | None:
    """Return factors of a number, falling, with the smallest first one, then the smallest second one, and so on."""
    if factors == 0:
        return [] if number == 1 else None
    for k, first in enumerate(divisors):
        if number % first == 0 and first**factors >= number:
            rest = _balanced(number // first, factors - 1, divisors[: k + 1])
            if rest is not None:
                return [first, *rest]
    return None


for _name, _value in (
    *INTEGERS.items(),
    *exceptions.ERROR_CLASSES.items(),
    *PREDEFINED.items(),
    *((name, PREDEFINED[of]) for name, of in ALIASES.items()),
    *PREDEFINED_OPS.items(),
):
    setattr(SerialMPI, _name, _value)

SERIAL_MPI = SerialMPI()


def _the_one() -> SerialMPI:
    return SERIAL_MPI
