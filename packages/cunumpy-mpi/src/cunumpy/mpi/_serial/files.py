"""Files that all processes of a communicator open together, here one."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cunumpy import _conversion
from cunumpy.mpi._serial import checks, file_access, specs
from cunumpy.mpi._serial.checks import integer
from cunumpy.mpi._serial.communicators import SerialComm, as_comm
from cunumpy.mpi._serial.constants import INTEGERS, own
from cunumpy.mpi._serial.datatypes import PREDEFINED, Datatype, as_datatype
from cunumpy.mpi._serial.error_handlers import Errors
from cunumpy.mpi._serial.exceptions import error, file_error, no_pickle
from cunumpy.mpi._serial.groups import Group
from cunumpy.mpi._serial.hints import Info, entries_of
from cunumpy.mpi._serial.requests import SerialRequest, SerialStatus, check_status, fill

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from cunumpy.mpi._serial.buffers import Buffer

_MODE = {
    name: INTEGERS[f"MODE_{name}"]
    for name in ["CREATE", "RDONLY", "WRONLY", "RDWR", "DELETE_ON_CLOSE", "EXCL", "APPEND", "SEQUENTIAL"]
}
_ERRORS = {
    errno.ENOENT: "NO_SUCH_FILE",
    errno.EEXIST: "FILE_EXISTS",
    errno.EACCES: "ACCESS",
    errno.EPERM: "ACCESS",
    errno.EROFS: "READ_ONLY",
    errno.ENOSPC: "NO_SPACE",
    errno.EDQUOT: "QUOTA",
    errno.ENAMETOOLONG: "BAD_FILE",
    errno.ENOTDIR: "NO_SUCH_FILE",
    errno.EISDIR: "BAD_FILE",
}
_BYTE = PREDEFINED["BYTE"]


class SerialFile(Errors):
    """A file, in the place of ``MPI.File``.

    A view says which bytes of the file are seen: items of the type `filetype`, one after the other from the byte `disp`
    on. Offsets count items of the type `etype` that are seen.
    """

    def __init__(self, file: SerialFile | None = None) -> None:
        self._fd: int | None = None
        if file is not None:
            self.__dict__.update(file.__dict__)

    _path: str
    _amode: int
    _disp: int
    _etype: Datatype
    _filetype: Datatype
    _position: int
    _shared: int
    _split: str
    _split_status: SerialStatus | None
    _info: dict[str, str]
    _datarep: str
    _atomic: bool

    @classmethod
    def Open(
        cls, comm: SerialComm, filename: Any, amode: int = _MODE["RDONLY"], info: Info | None = None
    ) -> SerialFile:
        """Open a file, in a mode such as ``MPI.MODE_CREATE | MPI.MODE_RDWR``."""
        function = "File.Open"
        as_comm(comm, function)
        mode = integer(amode, function, "amode")
        flags = _flags(mode, function)
        path = _path(filename, function)
        hints = {} if info is None else entries_of(info, function)
        try:
            fd = os.open(path, flags, 0o666)
        except OSError as caught:
            raise _of_system(caught, function, path, opens=True) from None
        made = cls()
        made._fd, made._path, made._amode = fd, path, mode
        made._disp, made._etype, made._filetype, made._datarep = 0, _BYTE, _BYTE, "native"
        made._info = hints
        made._atomic, made._split = False, ""
        made._position = made._shared = os.fstat(fd).st_size if mode & _MODE["APPEND"] else 0
        return made

    @classmethod
    def Delete(cls, filename: Any, info: Info | None = None) -> None:
        """Delete a file."""
        path = _path(filename, "File.Delete")
        if info is not None:
            entries_of(info, "File.Delete")
        try:
            os.unlink(path)
        except OSError as caught:
            raise _of_system(caught, "File.Delete", path) from None

    def Close(self) -> None:
        """Close the file."""
        fd = self._open("File.Close")
        os.close(fd)
        self._fd = None
        if self._amode & _MODE["DELETE_ON_CLOSE"]:
            os.unlink(self._path)

    def free(self) -> None:
        """Close the file, unless it is null."""
        if self:
            self.Close()

    def _open(self, function: str) -> int:
        if self._fd is None:
            raise error("FILE", f"{function}: the file is null; was it closed?")
        return self._fd

    def __bool__(self) -> bool:
        return self._fd is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SerialFile):
            return NotImplemented
        return self is other or (not self and not other)

    __hash__: ClassVar[None]  # type: ignore[assignment]
    __reduce__ = no_pickle

    def __repr__(self) -> str:
        return f"SerialMPI.File({self._path!r})" if self else "SerialMPI.FILE_NULL"

    def __enter__(self) -> SerialFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self:
            self.Close()

    # --- queries and settings

    def Get_amode(self) -> int:
        """Return the mode."""
        self._open("File.Get_amode")
        return self._amode

    def Get_group(self) -> Group:
        """Return the group of the processes."""
        self._open("File.Get_group")
        return Group._make(1)

    def Get_info(self) -> Info:
        """Return the hints."""
        self._open("File.Get_info")
        return Info._make(dict(self._info))

    def Set_info(self, info: Info) -> None:
        """Set hints."""
        self._open("File.Set_info")
        self._info |= entries_of(info, "File.Set_info")

    def Get_size(self) -> int:
        """Return the size of the file in bytes."""
        return os.fstat(self._open("File.Get_size")).st_size

    def Set_size(self, size: int) -> None:
        """Set the size of the file in bytes."""
        self._resize("File.Set_size", size)

    def _resize(self, function: str, size: int) -> None:
        fd = self._writable(function)
        number = integer(size, function, "size", least=0)
        try:
            os.ftruncate(fd, number)
        except OSError as caught:
            raise _of_system(caught, function, self._path) from None

    def Preallocate(self, size: int) -> None:
        """Make the file at least as large as a number of bytes."""
        if integer(size, "File.Preallocate", "size", least=0) > self.Get_size():
            self._resize("File.Preallocate", size)

    def Sync(self) -> None:
        """Write what the system keeps in memory to the disk."""
        os.fsync(self._writable("File.Sync"))

    def Get_atomicity(self) -> bool:
        """Tell whether accesses are atomic."""
        self._open("File.Get_atomicity")
        return self._atomic

    def Set_atomicity(self, flag: bool) -> None:
        """Set whether accesses are atomic; with one process they are."""
        self._open("File.Set_atomicity")
        self._atomic = checks.flag(flag, "File.Set_atomicity", "flag")

    def Get_type_extent(self, datatype: Datatype) -> int:
        """Return the extent of a type in the file."""
        self._open("File.Get_type_extent")
        kind = as_datatype(datatype, "File.Get_type_extent")
        kind._check("File.Get_type_extent")
        return kind._ub - kind._lb

    amode: property = property(Get_amode)
    group: property = property(Get_group)
    group_size: property = property(lambda self: self.Get_group().size)
    group_rank: property = property(lambda self: self.Get_group().rank)
    info: property = property(Get_info, Set_info)
    size: property = property(Get_size)
    atomicity: property = property(Get_atomicity, Set_atomicity)

    # --- the view

    def Set_view(
        self,
        disp: int = 0,
        etype: Datatype | str = _BYTE,
        filetype: Datatype | str | None = None,
        datarep: str = "native",
        info: Info | None = None,
    ) -> None:
        """Say which bytes of the file are seen, and count offsets from the first of them."""
        function = "File.Set_view"
        self._open(function)
        begin = integer(disp, function, "disp")
        unit = as_datatype(etype, function, "etype")
        kind = unit if filetype is None else as_datatype(filetype, function, "filetype")
        for each, argument in ((unit, "etype"), (kind, "filetype")):
            if not each or not each._committed:
                raise error("TYPE", f"{function}: argument {argument!r} is null or not committed.")
        if not unit._size or kind._size % unit._size:
            raise error(
                "ARG", f"{function}: argument 'filetype' ({kind!r}) does not consist of whole items of {unit!r}."
            )
        if (np.diff(kind._offsets) < 0).any() or (len(kind._offsets) and kind._offsets[0] < 0):
            raise error("ARG", f"{function}: argument 'filetype' ({kind!r}) must go through the file forwards.")
        if info is not None:
            entries_of(info, function)
        if checks.text(datarep, function, "datarep") not in ("native", "internal"):
            raise error(
                "UNSUPPORTED_DATAREP",
                f"{function}: argument 'datarep' is {datarep!r}; supported are native and internal.",
            )
        if begin == own(INTEGERS["DISPLACEMENT_CURRENT"], "DISPLACEMENT_CURRENT") and self._amode & _MODE["SEQUENTIAL"]:
            begin = file_access.place(self._disp, self._filetype, self._shared * self._etype._size)
        if begin < 0:
            raise error("ARG", f"{function}: argument 'disp' is {begin}; it can't be negative.")
        self._disp, self._etype, self._filetype, self._datarep = begin, unit, kind, datarep
        self._position = self._shared = 0

    def Get_view(self) -> tuple[int, Datatype, Datatype, str]:
        """Return `disp`, `etype`, `filetype` and `datarep` of the view."""
        self._open("File.Get_view")
        return self._disp, self._etype, self._filetype, self._datarep

    def Get_byte_offset(self, offset: int) -> int:
        """Return the byte of the file of an offset in the view."""
        self._open("File.Get_byte_offset")
        byte = self._offset(offset, "File.Get_byte_offset") * self._etype._size
        return file_access.place(self._disp, self._filetype, byte)

    # --- positions

    def _offset(self, offset: Any, function: str) -> int:
        return integer(offset, function, "offset", least=0)

    def Seek(self, offset: int, whence: int = INTEGERS["SEEK_SET"]) -> None:
        """Move the position, by offsets in the view."""
        self._position = self._sought("File.Seek", offset, whence, self._position)

    def Seek_shared(self, offset: int, whence: int = INTEGERS["SEEK_SET"]) -> None:
        """Move the position that all processes share."""
        self._shared = self._sought("File.Seek_shared", offset, whence, self._shared)

    def _sought(self, function: str, offset: int, whence: int, position: int) -> int:
        self._not_sequential(function, shared="shared" in function)
        number = integer(offset, function, "offset")
        kind = own(integer(whence, function, "whence"), "SEEK_SET", "SEEK_CUR", "SEEK_END")
        if kind == INTEGERS["SEEK_END"]:
            number += self._end()
        elif kind == INTEGERS["SEEK_CUR"]:
            number += position
        elif kind != INTEGERS["SEEK_SET"]:
            raise error("ARG", f"{function}: argument 'whence' is {whence}, which is no MPI.SEEK_...")
        if number < 0:
            raise error(
                "ARG",
                f"{function}: argument 'offset' leads to the position {number}, before the beginning of the view.",
            )
        return number

    def _end(self) -> int:
        """Return the offset behind the last item of the view that the file has."""
        size, kind = self.Get_size(), self._filetype
        item, rest = divmod(max(size - self._disp, 0), kind._ub - kind._lb)
        seen = item * kind._size + int(np.clip(rest - kind._offsets, 0, kind._lengths).sum())
        return -(-seen // self._etype._size)

    def Get_position(self) -> int:
        """Return the position, as an offset in the view."""
        self._not_sequential("File.Get_position")
        return self._position

    def Get_position_shared(self) -> int:
        """Return the position that all processes share."""
        self._open("File.Get_position_shared")
        return self._shared

    def _not_sequential(self, function: str, *, shared: bool = False) -> int:
        fd = self._open(function)
        if self._amode & _MODE["SEQUENTIAL"] and not shared:
            raise error("UNSUPPORTED_OPERATION", f"{function}: the file was opened with MODE_SEQUENTIAL.")
        return fd

    # --- reading and writing

    def _writable(self, function: str) -> int:
        fd = self._open(function)
        if self._amode & _MODE["RDONLY"]:
            raise file_error("READ_ONLY", f"{function}: {self._path!r} was opened with MODE_RDONLY.")
        return fd

    def _read(self, function: str, buf: Any, at: int) -> SerialStatus:
        fd = self._open(function)
        if self._amode & _MODE["WRONLY"]:
            raise file_error("ACCESS", f"{function}: {self._path!r} was opened with MODE_WRONLY.")
        target = specs.simple(buf, function, "buf", write=True)
        self._whole(target, function)
        content = np.empty(target.nbytes, np.uint8)
        found = file_access.read(fd, self._runs(at, target.nbytes), content)
        target.store(content[:found], function)
        return self._status(found)

    def _write(self, function: str, buf: Any, at: int) -> SerialStatus:
        fd = self._writable(function)
        source = specs.simple(buf, function, "buf", write=False)
        self._whole(source, function)
        content = source.load()
        if not isinstance(content, np.ndarray):
            content = _conversion.copy_to_host(content, function)
        try:
            file_access.write(fd, self._runs(at, source.nbytes), content)
        except OSError as caught:
            raise _of_system(caught, function, self._path) from None
        return self._status(source.nbytes)

    def _runs(self, offset: int, size: int) -> list[tuple[int, int]]:
        return file_access.runs(self._disp, self._filetype, offset * self._etype._size, size)

    def _whole(self, buffer: Buffer, function: str) -> None:
        if buffer.nbytes % self._etype._size:
            raise error(
                "IO",
                f"{function}: argument 'buf' has {buffer.nbytes} bytes, which are no whole items of the view's etype "
                f"{self._etype!r}.",
            )

    def _status(self, nbytes: int) -> SerialStatus:
        status = SerialStatus()
        status.count = nbytes
        return status

    def _moved(self, function: str, access: Any, buf: Any, status: Any, *, shared: bool = False) -> None:
        """Read or write at a position, and move it behind what was read or written."""
        self._not_sequential(function, shared=shared)
        check_status(status, function)
        found = access(function, buf, self._shared if shared else self._position)
        items = found.count // self._etype._size
        if shared:
            self._shared += items
        else:
            self._position += items
        fill(status, found, function)

    def _placed(self, function: str, access: Any, offset: Any, buf: Any, status: Any) -> None:
        """Read or write at an offset."""
        self._not_sequential(function)
        check_status(status, function)
        fill(status, access(function, buf, self._offset(offset, function)), function)

    def Read(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Read from the position on."""
        self._moved("File.Read", self._read, buf, status)

    def Write(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Write from the position on."""
        self._moved("File.Write", self._write, buf, status)

    def Read_at(self, offset: int, buf: Any, status: SerialStatus | None = None) -> None:
        """Read at an offset."""
        self._placed("File.Read_at", self._read, offset, buf, status)

    def Write_at(self, offset: int, buf: Any, status: SerialStatus | None = None) -> None:
        """Write at an offset."""
        self._placed("File.Write_at", self._write, offset, buf, status)

    def Read_shared(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Read from the position on that all processes share."""
        self._moved("File.Read_shared", self._read, buf, status, shared=True)

    def Write_shared(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Write from the position on that all processes share."""
        self._moved("File.Write_shared", self._write, buf, status, shared=True)

    def Read_all(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Read from the position on, all processes together."""
        self._moved("File.Read_all", self._read, buf, status)

    def Write_all(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Write from the position on, all processes together."""
        self._moved("File.Write_all", self._write, buf, status)

    def Read_at_all(self, offset: int, buf: Any, status: SerialStatus | None = None) -> None:
        """Read at an offset, all processes together."""
        self._placed("File.Read_at_all", self._read, offset, buf, status)

    def Write_at_all(self, offset: int, buf: Any, status: SerialStatus | None = None) -> None:
        """Write at an offset, all processes together."""
        self._placed("File.Write_at_all", self._write, offset, buf, status)

    def Read_ordered(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Read in the order of the ranks, from the position on that all processes share."""
        self._moved("File.Read_ordered", self._read, buf, status, shared=True)

    def Write_ordered(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Write in the order of the ranks, from the position on that all processes share."""
        self._moved("File.Write_ordered", self._write, buf, status, shared=True)

    def _later(self, action: Callable[[SerialStatus], None]) -> SerialRequest:
        """Read or write now, and return the request of what would have gone on."""
        request = SerialRequest()
        request._status = SerialStatus()
        action(request._status)
        return request

    def Iread(self, buf: Any) -> SerialRequest:
        """Read from the position on, without waiting."""
        return self._later(lambda status: self._moved("File.Iread", self._read, buf, status))

    def Iwrite(self, buf: Any) -> SerialRequest:
        """Write from the position on, without waiting."""
        return self._later(lambda status: self._moved("File.Iwrite", self._write, buf, status))

    def Iread_at(self, offset: int, buf: Any) -> SerialRequest:
        """Read at an offset, without waiting."""
        return self._later(lambda status: self._placed("File.Iread_at", self._read, offset, buf, status))

    def Iwrite_at(self, offset: int, buf: Any) -> SerialRequest:
        """Write at an offset, without waiting."""
        return self._later(lambda status: self._placed("File.Iwrite_at", self._write, offset, buf, status))

    def Iread_shared(self, buf: Any) -> SerialRequest:
        """Read from the position on that all processes share, without waiting."""
        return self._later(lambda status: self._moved("File.Iread_shared", self._read, buf, status, shared=True))

    def Iwrite_shared(self, buf: Any) -> SerialRequest:
        """Write from the position on that all processes share, without waiting."""
        return self._later(lambda status: self._moved("File.Iwrite_shared", self._write, buf, status, shared=True))

    def Iread_all(self, buf: Any) -> SerialRequest:
        """Read from the position on, all processes together, without waiting."""
        return self._later(lambda status: self._moved("File.Iread_all", self._read, buf, status))

    def Iwrite_all(self, buf: Any) -> SerialRequest:
        """Write from the position on, all processes together, without waiting."""
        return self._later(lambda status: self._moved("File.Iwrite_all", self._write, buf, status))

    def Iread_at_all(self, offset: int, buf: Any) -> SerialRequest:
        """Read at an offset, all processes together, without waiting."""
        return self._later(lambda status: self._placed("File.Iread_at_all", self._read, offset, buf, status))

    def Iwrite_at_all(self, offset: int, buf: Any) -> SerialRequest:
        """Write at an offset, all processes together, without waiting."""
        return self._later(lambda status: self._placed("File.Iwrite_at_all", self._write, offset, buf, status))

    def _begin(self, name: str, action: Callable[[SerialStatus], None]) -> None:
        if self._split:
            raise error("OTHER", f"File.{name}_begin: File.{self._split}_end has to come first.")
        self._split_status = self._later(action)._status
        self._split = name

    def _end_split(self, name: str, status: Any) -> None:
        check_status(status, f"File.{name}_end")
        if self._split != name:
            raise error("OTHER", f"File.{name}_end: there was no File.{name}_begin.")
        self._split = ""
        fill(status, self._split_status, f"File.{name}_end")

    def Read_all_begin(self, buf: Any) -> None:
        """Begin a `Read_all`."""
        function = "File.Read_all_begin"
        self._begin("Read_all", lambda status: self._moved(function, self._read, buf, status))

    def Read_all_end(self, buf: Any, status: SerialStatus | None = None) -> None:
        """End a `Read_all`."""
        self._end_split("Read_all", status)

    def Write_all_begin(self, buf: Any) -> None:
        """Begin a `Write_all`."""
        function = "File.Write_all_begin"
        self._begin("Write_all", lambda status: self._moved(function, self._write, buf, status))

    def Write_all_end(self, buf: Any, status: SerialStatus | None = None) -> None:
        """End a `Write_all`."""
        self._end_split("Write_all", status)

    def Read_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin a `Read_at_all`."""
        function = "File.Read_at_all_begin"
        self._begin("Read_at_all", lambda status: self._placed(function, self._read, offset, buf, status))

    def Read_at_all_end(self, buf: Any, status: SerialStatus | None = None) -> None:
        """End a `Read_at_all`."""
        self._end_split("Read_at_all", status)

    def Write_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin a `Write_at_all`."""
        function = "File.Write_at_all_begin"
        self._begin("Write_at_all", lambda status: self._placed(function, self._write, offset, buf, status))

    def Write_at_all_end(self, buf: Any, status: SerialStatus | None = None) -> None:
        """End a `Write_at_all`."""
        self._end_split("Write_at_all", status)

    def Read_ordered_begin(self, buf: Any) -> None:
        """Begin a `Read_ordered`."""
        function = "File.Read_ordered_begin"
        self._begin("Read_ordered", lambda status: self._moved(function, self._read, buf, status, shared=True))

    def Read_ordered_end(self, buf: Any, status: SerialStatus | None = None) -> None:
        """End a `Read_ordered`."""
        self._end_split("Read_ordered", status)

    def Write_ordered_begin(self, buf: Any) -> None:
        """Begin a `Write_ordered`."""
        function = "File.Write_ordered_begin"
        self._begin("Write_ordered", lambda status: self._moved(function, self._write, buf, status, shared=True))

    def Write_ordered_end(self, buf: Any, status: SerialStatus | None = None) -> None:
        """End a `Write_ordered`."""
        self._end_split("Write_ordered", status)


def _path(filename: Any, function: str) -> Any:
    try:
        path = os.fspath(filename)
    except TypeError:
        raise checks.wrong_type(function, "filename", "a path", filename) from None
    if not path or ("\0" if isinstance(path, str) else b"\0") in path:
        raise file_error("BAD_FILE", f"{function}: argument 'filename' is {path!r}, which names no file.")
    return path


def _flags(mode: int, function: str) -> int:
    """Return the flags of the operating system for a mode."""
    access = [name for name in ("RDONLY", "WRONLY", "RDWR") if mode & _MODE[name]]
    if len(access) != 1:
        raise error(
            "AMODE", f"{function}: argument 'amode' is {mode}; it needs one of MODE_RDONLY, MODE_WRONLY, MODE_RDWR."
        )
    if access == ["RDONLY"] and mode & (_MODE["CREATE"] | _MODE["EXCL"]):
        raise error("AMODE", f"{function}: argument 'amode' has MODE_RDONLY with MODE_CREATE or MODE_EXCL.")
    if access == ["RDWR"] and mode & _MODE["SEQUENTIAL"]:
        raise error("AMODE", f"{function}: argument 'amode' has MODE_RDWR with MODE_SEQUENTIAL.")
    # Writing to a part of an item means reading the rest of it, so the system has to allow both.
    flags = os.O_RDONLY if access == ["RDONLY"] else os.O_RDWR
    if mode & _MODE["CREATE"]:
        flags |= os.O_CREAT
    if mode & _MODE["EXCL"]:
        flags |= os.O_EXCL
    return flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def _of_system(caught: OSError, function: str, path: Any, *, opens: bool = False) -> Exception:
    name = _ERRORS.get(caught.errno or 0, "IO")
    remedy = " Add MPI.MODE_CREATE to make it." if opens and caught.errno == errno.ENOENT else ""
    return file_error(name, f"{function}: file {os.fsdecode(path)!r}: {caught.strerror}.{remedy}")


FILE_NULL = SerialFile()
