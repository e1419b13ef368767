"""Error handlers, which say what MPI does at an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cunumpy.mpi._serial.checks import function_of, integer, wrong_type
from cunumpy.mpi._serial.exceptions import error

if TYPE_CHECKING:
    from collections.abc import Callable


class Errhandler:
    """What happens at an error. In the stand-in, as in mpi4py by default, an exception is raised."""

    def __init__(self, errhandler: Errhandler | None = None) -> None:
        source = errhandler if errhandler is not None else ERRHANDLER_NULL
        self._name, self._function = source._name, source._function

    @classmethod
    def _make(cls, name: str, function: Callable[[Any, int], None] | None = None) -> Errhandler:
        made = cls.__new__(cls)
        made._name, made._function = name, function
        return made

    _name: str
    _function: Callable[[Any, int], None] | None

    def __bool__(self) -> bool:
        return self._name != "ERRHANDLER_NULL"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Errhandler):
            return NotImplemented
        return self._name == other._name and self._function is other._function

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SerialMPI.{self._name or 'Errhandler'}"

    def Free(self) -> None:
        """Give the handler up: it becomes the null one."""
        self._name, self._function = "ERRHANDLER_NULL", None

    def free(self) -> None:
        """Give the handler up, unless it is predefined."""
        if not self._name:
            self.Free()


ERRHANDLER_NULL = Errhandler._make("ERRHANDLER_NULL")
ERRORS_RETURN = Errhandler._make("ERRORS_RETURN")
ERRORS_ABORT = Errhandler._make("ERRORS_ABORT")
ERRORS_ARE_FATAL = Errhandler._make("ERRORS_ARE_FATAL")


class Errors:
    """The error handler of a communicator, a window or a file."""

    _handler: Errhandler = ERRORS_RETURN

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Callable[[Any, int], None]) -> Errhandler:
        """Make a handler of a function that gets the object and the error code."""
        function = f"{_called(cls)}.Create_errhandler"
        return Errhandler._make("", function_of(errhandler_fn, function, "errhandler_fn"))

    def Get_errhandler(self) -> Errhandler:
        """Return the handler."""
        return Errhandler(self._handler)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Set the handler. Errors raise exceptions with every one of them."""
        function = f"{_called(type(self))}.Set_errhandler"
        if not isinstance(errhandler, Errhandler):
            raise wrong_type(function, "errhandler", "an error handler, such as MPI.ERRORS_RETURN", errhandler)
        if not errhandler:
            raise error("ERRHANDLER", f"{function}: argument 'errhandler' is MPI.ERRHANDLER_NULL.")
        self._handler = Errhandler(errhandler)

    def Call_errhandler(self, errorcode: int) -> None:
        """Call the handler, if it was made by the program."""
        code = integer(errorcode, f"{_called(type(self))}.Call_errhandler", "errorcode")
        if self._handler._function is not None:
            self._handler._function(self, code)


def _called(kind: type) -> str:
    """Return what MPI calls a class of the stand-in."""
    return "comm" if kind.__name__.endswith(("omm", "Comm")) else kind.__name__.removeprefix("Serial")
