"""The arrays of a checked launch, in memory of their own.

Each array is copied to a place with nothing around it, so that every access belongs to the nearest one, however far it
is off. Arrays that share memory share their place.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy.arguments._packing import member_of
from cunumpy.kernels._cpu_device.checked_library import ARGUMENT, Given

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cunumpy.cuda import CudaParameter


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


class Place(NamedTuple):
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


def address_of(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def extent_of(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the first address, and that behind the last byte."""
    low = high = address_of(array)
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
        for low, high, argument in sorted(((*extent_of(one.array), one) for one in arguments), key=lambda one: one[:2]):
            # An empty view may begin where the next array does.
            if groups and (low < groups[-1][1] or low == groups[-1][0]):
                first, last, members = groups[-1]
                groups[-1] = first, max(last, high), [*members, argument]
            else:
                groups.append((low, high, [argument]))
        self._memory = _memory_for([high - low for low, high, _ in groups])
        memory = self._memory.bytes
        base = address_of(memory)
        self.begin, self.end = base, base + memory.size
        self.places: list[Place] = []
        for number, (low, high, members) in enumerate(groups):
            size = high - low
            at = self._memory.begin(number)
            at += (low - base - at) % 4096  # aligned as before
            self._memory.used[number] = max(self._memory.used[number], size)
            copy, original = memory[at : at + size], _bytes_at(low, size)
            copy[:] = original
            read_only = all(one.const or not one.array.flags.writeable for one in members)
            owned = _owned(low, size, members)
            self.places.append(Place(low, size, base + at, copy, original, owned, read_only, members))

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
        starts = {address_of(one.array) for place in self.places for one in place.arguments} - {0}
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

    def regions(self) -> Iterator[tuple[Given, Place]]:
        """Yield what ``native/checks`` has to know of each place."""
        for place in self.places:
            items = {one.array.itemsize for one in place.arguments}
            shift = min(3 if item % 8 == 0 else 2 if item % 4 == 0 else 1 if item % 2 == 0 else 0 for item in items)
            owned = None if place.owned is None else address_of(place.owned)
            yield Given(place.begin, place.size, place.size, owned, ARGUMENT, shift, place.read_only, 0), place

    def __len__(self) -> int:
        return len(self.places)


def _owned(low: int, size: int, arguments: list[Argument]) -> np.ndarray[Any, Any] | None:
    """Return of each byte whether it belongs to an array; None if all do."""
    if any(one.array.flags.forc and one.array.nbytes == size for one in arguments) or size > 1 << 30:
        return None
    owned = np.zeros(size, bool)
    for _, array, _ in arguments:
        if array.size:
            view = np.ndarray((*array.shape, array.itemsize), bool, owned, address_of(array) - low, (*array.strides, 1))
            view[...] = True
    return None if owned.all() else owned
