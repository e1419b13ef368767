"""Memory of messages: which bytes they are, and how they get from one place to another."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _conversion, _gate
from cunumpy.mpi._serial.constants import real_mpi
from cunumpy.mpi._serial.datatypes import PREDEFINED, Datatype
from cunumpy.mpi._serial.exceptions import error
from cunumpy.mpi._serial.layouts import signatures_agree

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTE = PREDEFINED["BYTE"]
_FEW = 32  # runs that are copied one by one; more of them go through an index


class Placeholder:
    """A constant that is only compared, such as ``MPI.IN_PLACE``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"SerialMPI.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _placeholder, (self._name,)


IN_PLACE = Placeholder("IN_PLACE")
BOTTOM = Placeholder("BOTTOM")
BUFFER_AUTOMATIC = Placeholder("BUFFER_AUTOMATIC")


def _placeholder(name: str) -> Placeholder:
    return {each._name: each for each in (IN_PLACE, BOTTOM, BUFFER_AUTOMATIC)}[name]


def is_in_place(value: Any) -> bool:
    """Tell whether a buffer is ``MPI.IN_PLACE``, ours or mpi4py's."""
    return value is IN_PLACE or (real_mpi() is not None and value is real_mpi().IN_PLACE)


class MPIMemory:
    """Makes bytes of memory, in the place of ``MPI.buffer`` and ``MPI.memory``: objects of `memoryview`.

    Parameters
    ----------
    buf : buffer, default: b""
        An object with memory, such as an array.
    """

    def __new__(cls, buf: Any = b"") -> memoryview:  # type: ignore[misc]
        return memoryview(buf).cast("B")

    @staticmethod
    def allocate(nbytes: int, clear: bool = False) -> memoryview:
        """Return new memory; it is zero in any case."""
        return memoryview(bytearray(nbytes))

    @staticmethod
    def frombuffer(obj: Any, readonly: bool = False) -> memoryview:
        """Return the memory of an object."""
        memory = memoryview(obj).cast("B")
        return memory.toreadonly() if readonly else memory

    @staticmethod
    def fromaddress(address: int, nbytes: int, readonly: bool = False) -> memoryview:
        """Return the memory at an address, which has to outlive its use."""
        memory = memoryview((ctypes.c_ubyte * nbytes).from_address(address)).cast("B")
        return memory.toreadonly() if readonly else memory


class Buffer:
    """Checked memory of a message: bytes, and which of them."""

    __slots__ = ("base", "count", "memory", "name", "on_device", "owner", "type")
    base: int
    count: int
    memory: Any
    name: str
    on_device: bool
    owner: Any
    type: Datatype

    def __init__(
        self, memory: Any, base: int, count: int, datatype: Datatype, *, on_device: bool, owner: Any, name: str
    ) -> None:
        self.memory = memory  # one-dimensional, of bytes, on the host or on a device
        self.base = base
        self.count = count
        self.type = datatype
        self.on_device = on_device
        self.owner = owner
        self.name = name

    @property
    def nbytes(self) -> int:
        """How many bytes the message has."""
        return self.count * self.type._size

    def part(self, count: int, displacement: int = 0, datatype: Datatype | None = None) -> Buffer:
        """Return a buffer of other items of the same memory; the displacement is in bytes."""
        kind = self.type if datatype is None else datatype
        return Buffer(
            self.memory, displacement, count, kind, on_device=self.on_device, owner=self.owner, name=self.name
        )

    def load(self) -> Any:
        """Return a copy of the message, its items packed, where the memory is."""
        size = self.nbytes
        made = _device_empty(self.owner, size) if self.on_device else np.empty(size, np.uint8)
        for packed, here in _pieces(self, size):
            if isinstance(packed, slice):
                made[packed] = self.memory[here]
            else:
                _take(self.memory, here, made, packed)
        return made

    def store(self, content: Any, function: str) -> None:
        """Write a packed message, which may be shorter, to the memory."""
        content = self._brought(content, function)
        for packed, here in _pieces(self, len(content)):
            if isinstance(packed, slice):
                self.memory[here] = content[packed]
            else:
                _put(content, packed, self.memory, here)
        if self.on_device:
            cupy = _backend.require_cupy(function)
            with self.owner.device:
                _conversion.wait(cupy.cuda.get_current_stream().synchronize, f"{function}(...)")

    def _brought(self, content: Any, function: str) -> Any:
        """Return a message in the memory where this buffer is."""
        if self.on_device and isinstance(content, np.ndarray):
            with self.owner.device:
                return _conversion.copy_to_device(content, function)
        if not self.on_device and not isinstance(content, np.ndarray):
            return _conversion.copy_to_host(content, function)
        return content

    def shares_memory_with(self, other: Buffer) -> bool:
        """Tell whether a byte belongs to both messages."""
        if self.on_device != other.on_device or not self.nbytes or not other.nbytes:
            return False
        if self.on_device:
            return bool(_gate.overlap(self._region(), other._region()))
        return bool(np.may_share_memory(self._region(), other._region()))

    def _region(self) -> Any:
        low, high = bounds(self.type, self.count)
        return self.memory[self.base + low : self.base + high]


def _device_empty(owner: Any, size: int) -> Any:
    with owner.device:
        return _backend.require_cupy("SerialComm").empty(size, np.uint8)


def bounds(datatype: Datatype, count: int) -> tuple[int, int]:
    """Return the first byte of a message and the one behind the last, from its beginning."""
    if not count or not datatype._size:
        return 0, 0
    low, high = datatype._true_bounds()
    reach = (count - 1) * (datatype._ub - datatype._lb)
    return low + min(reach, 0), high + max(reach, 0)


def _pieces(buffer: Buffer, size: int) -> Iterator[tuple[Any, Any]]:
    """Give the pieces of a message: places in the packed bytes, and places in memory, as slices or as index arrays."""
    kind, base = buffer.type, buffer.base
    if not size:
        return
    if kind._dense or (buffer.count == 1 and len(kind._offsets) == 1):
        first = base + int(kind._offsets[0])
        yield slice(0, size), slice(first, first + size)
        return
    items = -(-size // kind._size)
    starts = (np.arange(items, dtype=np.int64) * (kind._ub - kind._lb))[:, None] + kind._offsets[None, :]
    here = starts.ravel() + base
    lengths = np.tile(kind._lengths, items)
    packed = np.cumsum(lengths) - lengths
    if size < items * kind._size:  # the last item is not complete
        keep = packed < size
        here, packed, lengths = here[keep], packed[keep], lengths[keep].copy()
        lengths[-1] = size - packed[-1]
    if len(here) <= _FEW:
        for target, source, length in zip(packed.tolist(), here.tolist(), lengths.tolist(), strict=True):
            yield slice(target, target + length), slice(source, source + length)
        return
    for length in np.unique(lengths).tolist():
        same = lengths == length
        yield (packed[same], length), (here[same], length)


def _words(memory: Any, places: tuple[np.ndarray, int], unit: int) -> tuple[Any, np.ndarray]:
    """Return memory as words of a size that divides all places, and the index of those words."""
    starts, length = places
    shift = int(starts[0]) % unit
    usable = (len(memory) - shift) // unit * unit
    words = memory[shift : shift + usable].view(f"u{unit}")
    index = ((starts - shift) // unit)[:, None] + np.arange(length // unit, dtype=np.int64)[None, :]
    return words, index.ravel()


def _unit(*places: tuple[np.ndarray, int], addresses: tuple[int, ...] = ()) -> int:
    unit = 8
    for starts, length in places:
        gaps = np.gcd.reduce(np.abs(starts - starts[0])) if len(starts) > 1 else 0
        unit = math.gcd(unit, length, int(gaps))
    for address in addresses:
        unit = math.gcd(unit, address)
    return unit


def _pointer(memory: Any) -> int:
    if isinstance(memory, np.ndarray):
        return 0  # NumPy reads words at any address
    return int(memory.data.ptr)


def _index(memory: Any, index: np.ndarray) -> Any:
    if isinstance(memory, np.ndarray):
        return index
    return _backend.require_cupy("SerialComm").asarray(index)


def _take(memory: Any, here: tuple[np.ndarray, int], made: Any, packed: tuple[np.ndarray, int]) -> None:
    unit = _unit(here, packed, addresses=(_pointer(memory) + int(here[0][0]), _pointer(made) + int(packed[0][0])))
    source, source_index = _words(memory, here, unit)
    target, target_index = _words(made, packed, unit)
    target[_index(made, target_index)] = source[_index(memory, source_index)]


def _put(content: Any, packed: tuple[np.ndarray, int], memory: Any, here: tuple[np.ndarray, int]) -> None:
    _take(content, packed, memory, here)


# --- moving -----------------------------------------------------------------------------------------------------------


def check_types(source: Buffer, target: Buffer, function: str) -> None:
    """Refuse to read bytes as elements of another kind: MPI does not convert."""
    if not signatures_agree(source.type._signature, source.count, target.type._signature, target.nbytes):
        raise error(
            "TYPE",
            f"{function}: {source.count} items of {source.type!r} in argument {source.name!r} can't be received as "
            f"{target.type!r} in argument {target.name!r}: MPI copies bytes and converts nothing. Use arrays of the "
            "same dtype on both sides.",
        )


def check_move(source: Buffer, target: Buffer, function: str) -> None:
    """Check that one message can be copied from a buffer to another."""
    if source.nbytes > target.nbytes:
        raise error(
            "TRUNCATE",
            f"{function}: argument {target.name!r} is too small: the message of {source.nbytes} bytes would be "
            f"truncated to {target.nbytes}.",
        )
    check_types(source, target, function)
    if source.shares_memory_with(target):
        raise error(
            "BUFFER",
            f"{function}: arguments {source.name!r} and {target.name!r} share memory; pass MPI.IN_PLACE to use one "
            "buffer for both, or separate arrays.",
        )
