"""Checked launches: arguments in memory of their own, and the reports of what ``check.cpp`` found.

Each array is copied to a place with nothing around it, so that every access belongs to the nearest one, however far it
is off. Arrays that share memory share their place.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy.arguments._packing import member_of
from cunumpy.cuda import cuda_include_dir
from cunumpy.cuda._locks import new_lock
from cunumpy.kernels._build_cache import build_hash
from cunumpy.kernels._cpu_device.analysis import own_text
from cunumpy.kernels._cpu_device.compiler import GENERATED, INCLUDE_DIR, Compiler, run_compiler
from cunumpy.kernels._cpu_device.source import MAX_SHARED_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cunumpy.cuda import CudaParameter
    from cunumpy.kernels._build_cache import BuildCache

_SOURCE = INCLUDE_DIR / "cunumpy_cpu" / "check.cpp"

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
"""The text of the trap where a fault ends a launch, as in check.cpp."""

# --- what a library has -----------------------------------------------------------------------------------------------

_ARGUMENT, _VARIABLE, _SHARED = range(3)

_SYMBOL = re.compile(
    r"\s*\d+: (?P<value>[0-9a-f]+)\s+(?P<size>\w+)\s+(?P<kind>TLS|OBJECT)\s+\w+\s+\w+\s+(?P<at>\d+) (?P<name>.+)"
)
_SECTION = re.compile(r"\s*\[\s*(\d+)\] (\S+)")
_OURS = re.compile(
    r"(?:threadIdx|blockIdx|blockDim|gridDim|cunumpy_cpu\w*|(?:cunumpy_cpu\w*|std)::.*|.*::__func__"
    r"|(?:guard variable|TLS|vtable|typeinfo).*"
    r"|completed\.\d+|_DYNAMIC|_GLOBAL_OFFSET_TABLE_|__(?:dso_handle|TMC_END__|(?:EH_)?FRAME\w*|\w+_array_entry))$"
)
"""Symbols that are no variables of a kernel's."""

_SCALAR = 16
"""Variables up to so many bytes may count on CUDA's zero: counters and flags."""

_CONSTANT = re.compile(r"\b__constant__\b(?:\b(?:__align__|alignas)\s*\([^()]*\)|[^;{}()=])*?\b(\w+)\s*(?:\[|=|;|\{)")


def constant_variables(preprocessed: str) -> set[str]:
    """Return the names of the variables that a kernel may not write, though the C++ compiler does not know that."""
    return set(_CONSTANT.findall(own_text(preprocessed, [str(INCLUDE_DIR)])))


def library_memory(library: Path, constant: set[str]) -> list[tuple[int, int, int, str, bool, bool]]:
    """Return the shared memory and the variables of a checked library.

    Returns
    -------
    list of (memory, begin, bytes, name, read_only, unwritten)
        Dynamic shared memory has -1 bytes: a launch says how many.
    """
    listed = subprocess.run(
        ["readelf", "-SsWC", str(library)], capture_output=True, text=True, errors="replace", check=False
    ).stdout
    sections: dict[int, str] = {}
    found: dict[tuple[int, int], tuple[int, int, int, str, bool, bool]] = {}
    dynamic: set[str] = set()
    for line in listed.splitlines():
        if (section := _SECTION.match(line)) is not None:
            sections[int(section[1])] = section[2]
        if (symbol := _SYMBOL.match(line)) is None or _OURS.match(symbol["name"]):
            continue
        name = re.sub(r"\[abi:\w+\]", "", symbol["name"]).rpartition("::")[2].strip()
        begin, size = int(symbol["value"], 16), int(symbol["size"], 0)
        where = sections.get(int(symbol["at"]), "")
        if symbol["kind"] == "TLS":
            if not size:  # they all begin at the same address, each for kernels of its own
                dynamic.add(name)
                name = " or ".join(sorted(dynamic))
            found[_SHARED, begin] = _SHARED, begin, size or -1, name, False, True
        elif size:
            read_only = where.startswith((".rodata", ".data.rel.ro")) or name.partition(".")[0] in constant
            found.setdefault(
                (_VARIABLE, begin),
                (
                    _VARIABLE,
                    begin,
                    size,
                    name,
                    read_only,
                    where.startswith(".bss") and not read_only and size > _SCALAR,
                ),
            )
    return [found[key] for key in sorted(found)]


def checks_object(compiler: Compiler, cache: BuildCache) -> Path:
    """Return the object that all checked libraries are linked with, compiled unless that was done."""
    headers = [path.read_text(encoding="utf-8") for path in (_SOURCE, _SOURCE.parent / "races.hpp")]

    def build(folder: Path) -> None:
        flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-w"]
        run_compiler(
            compiler, [*flags, "-c", str(_SOURCE), "-o", "checks.o"], None, "the CPU device's checking mode", folder
        )

    return cache.get(f"checks-{build_hash([headers, compiler.identity])}", build) / "checks.o"


def call_our_copies(path: Path) -> None:
    """Let an object call ``check.cpp`` for copies of structs, where clang before version 15 calls the C library."""
    names = [f"--redefine-sym={name}=__tsan_{name}" for name in ("memcpy", "memmove", "memset")]
    try:
        subprocess.run(["objcopy", *names, str(path)], capture_output=True, check=False)
    except OSError:  # there are no binutils, so no place is told either
        return


class _Given(ctypes.Structure):  # as in check.cpp
    _fields_ = (
        ("begin", ctypes.c_ulonglong),
        ("bytes", ctypes.c_ulonglong),
        ("room", ctypes.c_ulonglong),
        ("owned", ctypes.c_void_p),
        ("memory", ctypes.c_uint),
        ("shift", ctypes.c_uint),
        ("read_only", ctypes.c_uint),
        ("unwritten", ctypes.c_uint),
    )


class _Part(ctypes.Structure):
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


# --- arguments --------------------------------------------------------------------------------------------------------


class Argument(NamedTuple):
    """An array that a kernel is given.

    Attributes
    ----------
    name : str
        The parameter, or a field of it: ``"x"``, ``"particles.x"``.
    array : ndarray
    const : bool
    """

    name: str
    array: np.ndarray[Any, Any]
    const: bool


def array_arguments(parameters: Sequence[CudaParameter], values: Sequence[Any]) -> Iterator[tuple[int, Argument]]:
    """Yield the arrays of all arguments, with the number of the argument."""
    for number, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
        for argument in _arrays_of(parameter, value, parameter.name):
            yield number, argument


def _arrays_of(parameter: CudaParameter, value: Any, name: str) -> Iterator[Argument]:
    if parameter.pointer or parameter.view_ndim is not None:
        if isinstance(value, np.ndarray):
            yield Argument(name, value, parameter.const)
    elif parameter.struct is not None and type(value) is not np.void:
        for field in parameter.struct.fields:
            try:
                member = member_of(value, field.name)
            except (AttributeError, LookupError, TypeError):
                continue
            yield from _arrays_of(field, member, f"{name}.{field.name}")


class _Place(NamedTuple):
    """Where arrays that share memory are while the kernel runs."""

    low: int  # the first address of the originals
    size: int
    begin: int  # the address of the copy
    copy: np.ndarray[Any, Any]
    original: np.ndarray[Any, Any]
    owned: np.ndarray[Any, Any] | None
    read_only: bool
    arguments: list[Argument]


_GAPS = (1 << 32, 1 << 28, 1 << 24, 1 << 20)
"""Bytes around each place, which take no memory; fewer where the system gives no more."""

_SLOT = 1 << 28
"""Memory that is kept for the next launch has slots of so many bytes, and in all no more is in use."""


class _Memory:
    """Memory for the arrays of launches: slots with gaps around.

    Parameters
    ----------
    sizes : list of int
        What the slots have to hold.
    """

    def __init__(self, sizes: list[int]) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (0x4000 if sys.platform == "linux" else 0)  # MAP_NORESERVE
        self.used = [0] * max(len(sizes), 8)
        for self.gap in _GAPS:
            self.slot = max([_SLOT if self.gap == _GAPS[0] else 0, *sizes]) + 8192
            self.slot += -self.slot % 4096
            slots = len(self.used) if self.gap == _GAPS[0] else len(sizes)
            try:
                memory = mmap.mmap(-1, self.gap + slots * (self.slot + self.gap), flags=flags)
            except (OSError, ValueError, OverflowError):
                if self.gap == _GAPS[-1]:
                    raise
                continue
            self.bytes = np.frombuffer(memory, np.uint8)
            return

    def fits(self, sizes: list[int]) -> bool:
        return len(sizes) <= len(self.used) and max(sizes, default=0) + 8192 <= self.slot and self.gap == _GAPS[0]

    def begin(self, number: int) -> int:
        """Return where a slot begins, in `bytes`."""
        return self.gap + number * (self.slot + self.gap)


_kept: list[_Memory] = []
"""Memory of the last launch, which the system need not clear again for the next one; or none."""


def _memory_for(sizes: list[int]) -> _Memory:
    """Return memory of a former launch, or new."""
    try:
        memory = _kept.pop()
    except IndexError:
        return _Memory(sizes)
    return memory if memory.fits(sizes) else _Memory(sizes)


def _bytes_at(address: int, size: int) -> np.ndarray[Any, Any]:
    return (
        np.frombuffer(memoryview((ctypes.c_ubyte * size).from_address(address)), np.uint8)
        if size
        else np.empty(0, np.uint8)
    )


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _extent(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the first address, and that behind the last byte."""
    low = high = _address(array)
    if array.size == 0:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, (size - 1) * stride), high + max(0, (size - 1) * stride)
    return low, high + array.itemsize


class Arguments:
    """The arrays of a launch, copied to places of their own; `write_back` copies what was changed.

    Parameters
    ----------
    arguments : list of Argument
    """

    def __init__(self, arguments: Sequence[Argument]) -> None:
        groups: list[tuple[int, int, list[Argument]]] = []
        for low, high, argument in sorted(((*_extent(one.array), one) for one in arguments), key=lambda one: one[:2]):
            # An empty view may begin where the next array does.
            if groups and (low < groups[-1][1] or low == groups[-1][0]):
                first, last, members = groups[-1]
                groups[-1] = first, max(last, high), [*members, argument]
            else:
                groups.append((low, high, [argument]))
        self._memory = _memory_for([high - low for low, high, _ in groups])
        memory = self._memory.bytes
        base = _address(memory)
        self.begin, self.end = base, base + memory.size
        self.places: list[_Place] = []
        for number, (low, high, members) in enumerate(groups):
            size = high - low
            at = self._memory.begin(number)
            at += (low - base - at) % 4096  # aligned as before
            self._memory.used[number] = max(self._memory.used[number], size)
            copy, original = memory[at : at + size], _bytes_at(low, size)
            copy[:] = original
            read_only = all(one.const or not one.array.flags.writeable for one in members)
            owned = _owned(low, size, members)
            self.places.append(_Place(low, size, base + at, copy, original, owned, read_only, members))

    def moved(self, address: int) -> int:
        """Return where what was at an address is now."""
        for place in self.places:
            if place.low <= address < place.low + place.size or address == place.low:
                return address - place.low + place.begin
        return address

    def repacked(self, packed: Sequence[Any], numbers: set[int]) -> list[Any]:
        """Return packed arguments with the addresses of the copies, also in structs and views.

        Those of `numbers` are made from arrays.
        """
        result = list(packed)
        starts = {_address(one.array) for place in self.places for one in place.arguments} - {0}
        for number, value in enumerate(packed):
            if type(value) is int or (number in numbers and isinstance(value, np.integer)):
                result[number] = self.moved(int(value))
            elif value.nbytes >= 8:
                record = np.array(value)
                words = record.reshape(-1).view(np.uint8)
                words = words[: words.size // 8 * 8].view(np.uint64)
                for index, word in enumerate(words.tolist()):
                    if word in starts:  # no number is one by accident
                        words[index] = self.moved(word)
                result[number] = record
        return result

    def write_back(self) -> None:
        """Copy what the kernel may have changed to the arrays, once."""
        for place in self.places:
            if not place.read_only:
                np.copyto(place.original, place.copy, where=True if place.owned is None else place.owned)
        if self._memory.gap == _GAPS[0] and sum(self._memory.used) <= _SLOT:
            _kept[:] = [self._memory]

    def regions(self) -> Iterator[tuple[_Given, _Place]]:
        """Yield what ``check.cpp`` has to know of each place."""
        for place in self.places:
            items = {one.array.itemsize for one in place.arguments}
            shift = min(3 if item % 8 == 0 else 2 if item % 4 == 0 else 1 if item % 2 == 0 else 0 for item in items)
            owned = None if place.owned is None else _address(place.owned)
            yield _Given(place.begin, place.size, place.size, owned, _ARGUMENT, shift, place.read_only, 0), place

    def __len__(self) -> int:
        return len(self.places)


def _owned(low: int, size: int, arguments: list[Argument]) -> np.ndarray[Any, Any] | None:
    """Return of each byte whether it belongs to an array; None if all do."""
    if any(one.array.flags.forc and one.array.nbytes == size for one in arguments) or size > 1 << 30:
        return None
    owned = np.zeros(size, bool)
    for _, array, _ in arguments:
        if array.size:
            view = np.ndarray((*array.shape, array.itemsize), bool, owned, _address(array) - low, (*array.strides, 1))
            view[...] = True
    return None if owned.all() else owned


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
    """What a checked library has beside its kernels: it tells ``check.cpp`` of memory, and says what that has found.

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
        given: list[_Given] = []
        self._names = []
        for region, place in arguments.regions():
            given.append(region)
            self._names.append((_ARGUMENT, place))
        for memory, begin, size, name, read_only, unwritten in self._memory:
            bytes_ = shared_mem if size < 0 else size
            room = MAX_SHARED_BYTES if size < 0 else size
            shift = 2 if memory == _SHARED or size % 8 else 3
            given.append(_Given(begin, bytes_, room, None, memory, shift, read_only, unwritten))
            self._names.append((memory, (name, bytes_, size < 0)))
        self._given = (_Given * len(given))(*given)  # in use until the end of the launch
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
                if memory == _ARGUMENT
                for one in place.arguments
                if _address(one.array) == fault.at - place.begin + place.low
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
        if memory == _ARGUMENT:
            argument = min(what.arguments, key=lambda one: _distance(fault.at - what.begin + what.low, one))
            name, array = argument.name, argument.array
            index = _index(fault.at - what.begin + what.low, array)
            remark = _described(argument)
            if fault.kind == _READ_ONLY:
                remark += ", and is const" if argument.const else ", and is read-only"
            elif index is None:
                remark += f", with strides {array.strides}"
            if index is None:
                return f"byte {fault.at - what.begin + what.low - _address(array)} of {name}", remark
            return f"{name}[{index}]", remark
        name, size, dynamic = what
        offset = fault.at - fault.index
        kind = (
            "dynamic shared memory" if dynamic else "shared memory" if memory == _SHARED else "a variable of the module"
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
    low, high = _extent(argument.array)
    return 0 if low <= address < high else low - address if address < low else address - high + 1


def _index(address: int, array: np.ndarray[Any, Any]) -> str | None:
    """Return the index of an element, perhaps of one that is not there; None if no element can begin there."""
    offset = address - _address(array)
    if array.ndim == 1 and array.strides[0]:
        index, rest = divmod(offset, array.strides[0])
        return str(index) if 0 <= rest < array.itemsize else None
    if not array.flags.c_contiguous or array.itemsize == 0:
        return None
    number = offset // array.itemsize
    if not 0 <= number < array.size:
        return str(number) if array.ndim == 1 else f"element {number}"
    return ", ".join(map(str, np.unravel_index(number, array.shape)))
