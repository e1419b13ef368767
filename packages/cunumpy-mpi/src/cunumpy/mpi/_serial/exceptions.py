"""The exceptions of the stand-in, with the error classes of MPI."""

from __future__ import annotations

import itertools
import operator
import pickle
from typing import Any

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError

_CLASSES = {
    "BUFFER": "invalid buffer",
    "COUNT": "invalid count",
    "TYPE": "invalid datatype",
    "TAG": "invalid tag",
    "COMM": "invalid communicator",
    "RANK": "invalid rank",
    "REQUEST": "invalid request",
    "ROOT": "invalid root",
    "GROUP": "invalid group",
    "OP": "invalid reduction operation",
    "TOPOLOGY": "invalid topology",
    "DIMS": "invalid dimension",
    "ARG": "invalid argument",
    "UNKNOWN": "unknown error",
    "TRUNCATE": "message truncated",
    "OTHER": "other error",
    "INTERN": "internal error",
    "IN_STATUS": "error in status",
    "PENDING": "request is pending",
    "ACCESS": "permission denied",
    "AMODE": "invalid access mode",
    "ASSERT": "invalid assertion",
    "BAD_FILE": "invalid file name",
    "BASE": "invalid base of a window",
    "CONVERSION": "error in a conversion of data",
    "DISP": "invalid displacement",
    "DUP_DATAREP": "data representation defined twice",
    "FILE_EXISTS": "file exists",
    "FILE_IN_USE": "file is in use",
    "FILE": "invalid file handle",
    "INFO_KEY": "invalid key of an info object",
    "INFO_NOKEY": "key is not in the info object",
    "INFO_VALUE": "invalid value of an info object",
    "INFO": "invalid info object",
    "IO": "error of input or output",
    "KEYVAL": "invalid key of an attribute",
    "LOCKTYPE": "invalid type of lock",
    "NAME": "unknown service name",
    "NO_MEM": "out of memory",
    "NOT_SAME": "arguments differ among ranks",
    "NO_SPACE": "no space on the device",
    "NO_SUCH_FILE": "no such file",
    "PORT": "invalid port",
    "QUOTA": "quota exceeded",
    "READ_ONLY": "read-only file or file system",
    "RMA_CONFLICT": "conflicting accesses to a window",
    "RMA_SYNC": "access outside of an epoch of the window",
    "SERVICE": "unknown service",
    "SIZE": "invalid size",
    "SPAWN": "processes can't be started",
    "UNSUPPORTED_DATAREP": "unsupported data representation",
    "UNSUPPORTED_OPERATION": "unsupported operation",
    "WIN": "invalid window",
    "RMA_RANGE": "access outside of the memory of a window",
    "RMA_ATTACH": "memory can't be attached",
    "RMA_SHARED": "memory can't be shared",
    "RMA_FLAVOR": "window of the wrong kind",
    "ERRHANDLER": "invalid error handler",
    "SESSION": "invalid session",
    "VALUE_TOO_LARGE": "value too large",
}

ERROR_CLASSES: dict[str, int] = {f"ERR_{name}": number for number, name in enumerate(_CLASSES, start=1)}
ERROR_CLASSES["ERR_LASTCODE"] = 1023
_TEXTS = {0: "no error"} | {number: f"ERR_{name}: {text}" for number, (name, text) in enumerate(_CLASSES.items(), 1)}
_added: dict[int, tuple[int, str]] = {}  # code: class, text
_codes = itertools.count(1024)


class MPIException(CommunicationError):
    """An error that an MPI library would report.

    Parameters
    ----------
    ierr : int, default: 0
        Its error class, or a code made by ``Add_error_code``.
    text : str, optional
        What happened, and what to do; by default the text of the class.
    """

    def __init__(self, ierr: int = 0, text: str | None = None) -> None:
        self._code = int(ierr)
        self._text = text
        super().__init__(self._code, text)

    def __str__(self) -> str:
        return self._text if self._text is not None else error_string(self._code)

    def __repr__(self) -> str:
        return f"MPI.Exception({self._code}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MPIException):
            return self._code == other._code
        return self._code == other if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._code)

    def __bool__(self) -> bool:
        return self._code != 0

    def __int__(self) -> int:
        return self._code

    def Get_error_code(self) -> int:
        """Return the error code."""
        return self._code

    def Get_error_class(self) -> int:
        """Return the error class, one of ``MPI.ERR_...``."""
        return error_class(self._code)

    def Get_error_string(self) -> str:
        """Return what the class of the error means."""
        return error_string(self._code)

    error_code: property = property(Get_error_code)
    error_class: property = property(Get_error_class)
    error_string: property = property(Get_error_string)


class MPIArgumentException(MPIException, ArgumentError):
    """An error that an MPI library would report, in an argument."""


class BufferArgumentError(ArgumentError, BufferError):
    """A buffer that MPI can't use: not contiguous, read-only where it is written to, or in another byte order."""


class UnpicklableError(ArgumentTypeError, pickle.PicklingError, AttributeError):
    """An object that can't be pickled. Python raises any of the three types, so that a handler of each catches it."""


class TypeCodeError(ArgumentError, KeyError):
    """A character or name that stands for no datatype."""

    __str__ = Exception.__str__


def error(name: str, text: str) -> MPIArgumentException:
    """Make the exception of a class, such as ``"RANK"``, for an argument."""
    return MPIArgumentException(ERROR_CLASSES[f"ERR_{name}"], text)


def would_wait(function: str, what: str) -> CommunicationError:
    """Make the exception for what would never end."""
    return CommunicationError(f"{function}: would wait forever: {what}")


def _number(value: Any, function: str, argument: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        text = f"{function}: argument {argument!r} must be an integer, got {_gate.given(value)}."
        raise ArgumentTypeError(text) from None


def _of_added(value: Any, function: str, argument: str) -> int:
    code = _number(value, function, argument)
    if code not in _added:
        raise error("ARG", f"{function}: argument {argument!r} is {_gate.given(code)}, which was not added.")
    return code


def error_class(code: int) -> int:
    """Return the class of a code."""
    code = _number(code, "MPI.Get_error_class", "code")
    return _added[code][0] if code in _added else int(code)


def error_string(code: int) -> str:
    """Return the text of a class or code."""
    code = _number(code, "MPI.Get_error_string", "code")
    if code in _added:
        return _added[code][1]
    if code not in _TEXTS:
        raise error("ARG", f"MPI.Get_error_string: argument 'code' is {_gate.given(code)}, which is no error code.")
    return _TEXTS[code]


def add_error_class() -> int:
    """Make a new error class."""
    code = next(_codes)
    _added[code] = (code, "")
    return code


def add_error_code(errorclass: int) -> int:
    """Make a new code of a class."""
    errorclass = _number(errorclass, "MPI.Add_error_code", "errorclass")
    code = next(_codes)
    _added[code] = (error_class(errorclass), "")
    return code


def add_error_string(errorcode: int, string: str) -> None:
    """Say what a code means that was added."""
    if not isinstance(string, str):
        raise ArgumentTypeError(f"MPI.Add_error_string: argument 'string' must be text, got {_gate.given(string)}.")
    code = _of_added(errorcode, "MPI.Add_error_string", "errorcode")
    _added[code] = (_added[code][0], string)


def remove_error_class(errorclass: int) -> None:
    """Take an error class back that was added."""
    _remove(errorclass, "class")


def remove_error_code(errorcode: int) -> None:
    """Take an error code back that was added."""
    _remove(errorcode, "code")


def _remove(code: int, what: str) -> None:
    del _added[_of_added(code, f"MPI.Remove_error_{what}", f"error{what}")]


def remove_error_string(errorcode: int) -> None:
    """Take the text of a code back that was added."""
    code = _of_added(errorcode, "MPI.Remove_error_string", "errorcode")
    _added[code] = (_added[code][0], "")


def no_pickle(value: Any) -> Any:
    """Refuse to pickle an object that means something in its process only."""
    kind = type(value).__name__
    article = "an" if kind[0] in "AEIOU" else "a"
    raise ArgumentError(f"{article} {kind} does not pickle: it means nothing in another process.")


class MPIFileException(MPIException, OSError):
    """An error of a file."""

    def __init__(self, ierr: int = 0, text: str | None = None) -> None:
        MPIException.__init__(self, ierr, text)

    def __str__(self) -> str:  # OSError makes its text of its own arguments
        return MPIException.__str__(self)


def file_error(name: str, text: str) -> MPIFileException:
    """Make the exception of a class, such as ``"NO_SUCH_FILE"``, for a file."""
    return MPIFileException(ERROR_CLASSES[f"ERR_{name}"], text)
