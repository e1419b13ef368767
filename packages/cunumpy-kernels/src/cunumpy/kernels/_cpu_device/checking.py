"""Checked launches, and the reports of what ``native/checks`` found."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.cuda import cuda_include_dir
from cunumpy.cuda._locks import new_lock
from cunumpy.kernels._cpu_device.checked_arguments import Argument, Arguments, address_of, extent_of
from cunumpy.kernels._cpu_device.checked_library import ARGUMENT, SHARED, Given
from cunumpy.kernels._cpu_device.compiler import GENERATED, INCLUDE_DIR
from cunumpy.kernels._cpu_device.source import MAX_SHARED_BYTES

if TYPE_CHECKING:
    from pathlib import Path

# --- reports ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    """What a thread did.

    Attributes
    ----------
    what : str
        ``"read"``, ``"write"``, ``"atomic"``, ``"volatile read"``, ``"volatile write"``, or ``"access"`` if it is not
        known which.
    block, thread : tuple of int
    place : str
        ``"file.cu:12"``; empty if it is not known.
    """

    what: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    place: str


@dataclass(frozen=True)
class Fault:
    """One thing that a checked launch found.

    Attributes
    ----------
    kind : str
        Such as ``"out of bounds"``.
    size : int
        The bytes of the access; 0 if they are not known.
    target : str
        What was accessed, such as ``"x[105]"``; empty if that is not known.
    remark : str
        More about it, such as ``"x has shape (100,) and dtype float64"``.
    accesses : tuple of Access
        One; for races two.
    """

    kind: str
    size: int
    target: str
    remark: str
    accesses: tuple[Access, ...]

    def __str__(self) -> str:
        texts = []
        for access in self.accesses:
            size = f" of {self.size} byte{'s' * (self.size != 1)}" if self.size else ""
            target = f" at {self.target}" if self.target and access is self.accesses[0] else ""
            place = f", {access.place}" if access.place else ""
            texts.append(f"{access.what}{size}{target} by block {access.block}, thread {access.thread}{place}")
        return f"{self.kind}: {' and '.join(texts)}" + (f"; {self.remark}" if self.remark else "")


_KINDS = (
    "",
    "out of bounds",
    "write to read-only memory",
    "null pointer",
    "misaligned address",
    "memory that nobody has written",
    "index out of bounds",
    "race",
    "index out of bounds",
)
_OUT_OF_BOUNDS, _READ_ONLY, _NULL, _MISALIGNED, _UNWRITTEN, _INDEX, _RACE, _VIEW = range(1, 9)
_ACCESSES = ("read", "write", "atomic", "volatile read", "volatile write", "access")
_NO_REGION = 2**64 - 1

FAULT = "a fault that was noted"
"""The text of the trap where a fault ends a launch, as in ``faults.hpp``."""


class _Part(ctypes.Structure):  # as in faults.hpp
    _fields_ = tuple((name, ctypes.c_ulonglong) for name in ("kind", "block", "thread", "place"))


class _Fault(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_ulonglong),
        ("at", ctypes.c_ulonglong),
        ("size", ctypes.c_ulonglong),
        ("region", ctypes.c_ulonglong),
        ("parts", _Part * 2),
        ("index", ctypes.c_longlong),
        ("text", ctypes.c_char * 232),
    )


# --- launches ---------------------------------------------------------------------------------------------------------


_ADDRESSES = re.compile(r"@\{([0-9a-f,]+)\}")


LOCK = new_lock()
"""Checked launches run one after another: what looks at accesses is one for each library, and what a launch writes to
copies of its arrays would be lost where another one has copies of the same arrays."""


_MAX_KEPT = 1 << 28
"""So many bytes all libraries together may keep to note who used their memory, but for the one that was used last."""


class _Kept:
    """What checked libraries keep from launch to launch, each to note who used its memory."""

    def __init__(self) -> None:
        self._bytes: dict[int, tuple[ctypes.CDLL, int]] = {}  # the library that was used last is last
        self.total = 0

    def used(self, library: ctypes.CDLL, size: int) -> None:
        """Note what a library keeps now; those that were not used for the longest time give theirs back."""
        handle: int = library._handle
        self.total += size - self._bytes.pop(handle, (library, 0))[1]
        self._bytes[handle] = library, size
        while self.total > _MAX_KEPT and len(self._bytes) > 1:
            oldest, freed = self._bytes.pop(next(iter(self._bytes)))
            oldest.cunumpy_check_forget()
            self.total -= freed


_kept_for_races = _Kept()


class Checks:
    """What a checked library has beside its kernels: it tells ``native/checks`` of memory, and says what that found.

    Parameters
    ----------
    library : ctypes.CDLL
    path : Path
        Its file.
    memory : list
        What `library_memory` returned.
    filename : str
        What messages call the kernel's source.
    """

    def __init__(self, library: ctypes.CDLL, path: Path, memory: list[list[Any]], filename: str) -> None:
        self._library, self._path, self._memory, self._filename = library, path, memory, filename
        library.cunumpy_check_begin.restype = ctypes.c_void_p
        library.cunumpy_check_end.restype = ctypes.c_uint
        self._names: list[tuple[int, Any]] = []
        self._given: Any = None

    def variable_is_known(self, address: int, size: int) -> None:
        """Note that the host may write to a variable."""
        with LOCK:
            self._library.cunumpy_check_variable_is_known(ctypes.c_void_p(address), ctypes.c_ulonglong(size))

    def begin(self, arguments: Arguments, blocks: int, shared_mem: int, *, cooperative: bool) -> None:
        """Begin a launch; `end` has to follow, on the same thread."""
        given: list[Given] = []
        self._names = []
        for region, place in arguments.regions():
            given.append(region)
            self._names.append((ARGUMENT, place))
        for memory, begin, size, name, read_only, unwritten in self._memory:
            bytes_ = shared_mem if size < 0 else size
            room = MAX_SHARED_BYTES if size < 0 else size
            shift = 2 if memory == SHARED or size % 8 else 3
            given.append(Given(begin, bytes_, room, None, memory, shift, read_only, unwritten))
            self._names.append((memory, (name, bytes_, size < 0)))
        self._given = (Given * len(given))(*given)  # in use until the end of the launch
        self._library.cunumpy_check_begin(
            ctypes.c_ulonglong(blocks),
            ctypes.c_int(cooperative),
            self._given,
            ctypes.c_uint(len(given)),
            ctypes.c_void_p(arguments.begin),
            ctypes.c_void_p(arguments.end),
        )

    def end(self, grid: tuple[int, ...], block: tuple[int, ...]) -> list[Fault]:
        """End the launch, and return what was found."""
        found, kept = ctypes.POINTER(_Fault)(), ctypes.c_ulonglong()
        count = self._library.cunumpy_check_end(ctypes.byref(found), ctypes.byref(kept))
        _kept_for_races.used(self._library, kept.value)
        faults = [found[i] for i in range(count)]
        places = self._places({part.place for fault in faults for part in fault.parts if part.place})
        return [self._fault(fault, places, grid, block) for fault in faults]

    def _fault(self, fault: _Fault, places: dict[int, str], grid: tuple[int, ...], block: tuple[int, ...]) -> Fault:
        parts = fault.parts if fault.kind == _RACE else fault.parts[:1]
        accesses = tuple(
            Access(
                _ACCESSES[part.kind],
                _position(part.block, grid),
                _position(part.thread, block),
                places.get(part.place, ""),
            )
            for part in parts
        )
        target, remark = "", ""
        if fault.kind == _VIEW:
            target, remark = self._index_of_view(fault)
            return Fault(_KINDS[fault.kind], 0, target, remark, accesses)
        text, _, place = fault.text.decode(errors="replace").partition("\n")
        text = text.strip("'")
        if place:
            accesses = (replace(accesses[0], place=self._short(place)),)
        if fault.kind == _INDEX:
            target, remark = f"index {fault.index}", f"the array is a {text}"
        elif fault.kind == _NULL:
            target = f"address {fault.at:#x}"
        elif fault.region != _NO_REGION:
            memory, what = self._names[fault.region]
            target, remark = self._target(fault, memory, what)
            if fault.kind == _MISALIGNED:
                remark = f"the address is {fault.at:#x}" + (f", for a {text}" if text else "") + f"; {remark}"
        elif fault.kind == _OUT_OF_BOUNDS and text:
            remark = f"it is of type {text}, beyond the variable that the pointer belongs to"
        return Fault(_KINDS[fault.kind], fault.size, target, remark, accesses)

    def _index_of_view(self, fault: _Fault) -> tuple[str, str]:
        """Return what an index was given to, and the array that the view is of."""
        number, extent, name = fault.text.decode(errors="replace").split(" ", 2)
        axis = int(number)
        argument = next(
            (
                one
                for memory, place in self._names
                if memory == ARGUMENT
                for one in place.arguments
                if address_of(one.array) == fault.at - place.begin + place.low
                and (one.array.shape[axis : axis + 1] == (int(extent),) or (axis < 0 and one.array.size == int(extent)))
            ),
            None,
        )
        what = name or ("an array" if argument is None else argument.name)
        target = f"index {fault.index}" + (f" on axis {axis} of {what}" if axis >= 0 else f" of the flattened {what}")
        if argument is None:
            return target, f"it has {extent} elements" + (" there" if axis >= 0 else "")
        return target, _described(argument)

    def _target(self, fault: _Fault, memory: int, what: Any) -> tuple[str, str]:
        if memory == ARGUMENT:
            argument = min(what.arguments, key=lambda one: _distance(fault.at - what.begin + what.low, one))
            name, array = argument.name, argument.array
            index = _index(fault.at - what.begin + what.low, array)
            remark = _described(argument)
            if fault.kind == _READ_ONLY:
                remark += ", and is const" if argument.const else ", and is read-only"
            elif index is None:
                remark += f", with strides {array.strides}"
            if index is None:
                return f"byte {fault.at - what.begin + what.low - address_of(array)} of {name}", remark
            return f"{name}[{index}]", remark
        name, size, dynamic = what
        offset = fault.at - fault.index
        kind = (
            "dynamic shared memory" if dynamic else "shared memory" if memory == SHARED else "a variable of the module"
        )
        remark = f"{name} is {kind} of {size} bytes"
        if fault.kind == _READ_ONLY:
            remark += ", and can't be written by kernels"
        return f"byte {offset} of {name}", remark

    def _places(self, addresses: set[int]) -> dict[int, str]:
        """Return file and line of places in the library, by the tables that the compiler left.

        Of a place in one of CuNumpy's headers that is where the kernel called it, if that is known.
        """
        if not addresses:
            return {}
        ordered = sorted(addresses)
        try:
            listed = subprocess.run(
                ["addr2line", "-aie", str(self._path), *(hex(address - 1) for address in ordered)],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            ).stdout
        except OSError:  # there are no binutils
            return {}
        found: dict[int, str] = {}
        in_header: dict[int, str] = {}
        address = 0
        for line in listed.splitlines():
            if line.startswith("0x"):
                address = int(line, 16) + 1
                continue
            file, _, number = line.partition(" ")[0].rpartition(":")
            if address in found or not number.isdigit() or str(INCLUDE_DIR) in file or GENERATED in file:
                continue
            known = in_header if file.startswith(cuda_include_dir()) else found
            known.setdefault(address, self._short(f"{file}:{number}"))
        return in_header | found

    def with_places(self, text: str) -> str:
        """Replace ``@{address,address}``, addresses in the library, by file and line of the first with known ones."""
        places = self._places({int(one, 16) + 1 for found in _ADDRESSES.findall(text) for one in found.split(",")})

        def first_place(found: re.Match[str]) -> str:
            known = (places.get(int(one, 16) + 1) for one in found[1].split(","))
            return next((f", {place}" for place in known if place is not None), "")

        return _ADDRESSES.sub(first_place, text)

    def _short(self, place: str) -> str:
        """Name the kernel's source as the kernel does: the tables have it in the folder of the build."""
        file, _, line = place.rpartition(":")
        return f"{self._filename}:{line}" if file.endswith(f"/{self._filename}") else place


def _described(argument: Argument) -> str:
    return f"{argument.name} has shape {argument.array.shape} and dtype {argument.array.dtype}"


def _position(number: int, sizes: tuple[int, ...]) -> tuple[int, int, int]:
    x, y = (*sizes, 1, 1)[:2]
    return number % x, number // x % y, number // (x * y)


def _distance(address: int, argument: Argument) -> int:
    low, high = extent_of(argument.array)
    return 0 if low <= address < high else low - address if address < low else address - high + 1


def _index(address: int, array: np.ndarray[Any, Any]) -> str | None:
    """Return the index of an element, perhaps of one that is not there; None if no element can begin there."""
    offset = address - address_of(array)
    if array.ndim == 1 and array.strides[0]:
        index, rest = divmod(offset, array.strides[0])
        return str(index) if 0 <= rest < array.itemsize else None
    if not array.flags.c_contiguous or array.itemsize == 0:
        return None
    number = offset // array.itemsize
    if not 0 <= number < array.size:
        return str(number) if array.ndim == 1 else f"element {number}"
    return ", ".join(map(str, np.unravel_index(number, array.shape)))
