"""What a caller gives as a buffer, and the bytes that it means.

A buffer is an object with memory (a NumPy or device array, ``bytes``, ``bytearray``, ``memoryview``, ...), alone or in
a list with a count, a displacement and a datatype::

    array                     [array, type]                 [array, count]
    [array, count, type]      [array, (count, displacement), type]
    [array, count, displacement, type]

For the vector forms of collectives, counts and displacements are lists with one item for each rank.
"""

from __future__ import annotations

import ctypes
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._serial.constants import real_mpi
from cunumpy.mpi._serial.datatypes import PREDEFINED, Datatype, as_datatype, of_dtype, signatures_agree
from cunumpy.mpi._serial.exceptions import BufferArgumentError, error

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
        low, high = _bounds(self.type, self.count)
        return self.memory[self.base + low : self.base + high]


def _device_empty(owner: Any, size: int) -> Any:
    with owner.device:
        return _backend.require_cupy("SerialComm").empty(size, np.uint8)


def _bounds(datatype: Datatype, count: int) -> tuple[int, int]:
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


# --- reading what callers give ----------------------------------------------------------------------------------------


def memory_of(value: Any, function: str, name: str, *, write: bool) -> tuple[Any, Datatype | None, bool, Any]:
    """Return the bytes of an object with memory, its datatype (None for an unknown one), where it is, and its owner."""
    _gate.refuse_masked(value, function=function, argument=name)
    if _arrays.is_foreign_device_array(value):
        value = _conversion.wrap_foreign(value, function)
    if _arrays.is_device_array(value):
        if not (value.flags.c_contiguous or value.flags.f_contiguous):
            raise _not_contiguous(function, name, value)
        flat = value.T if value.flags.f_contiguous and not value.flags.c_contiguous else value
        return flat.reshape(-1).view(np.uint8), of_dtype(value.dtype, function), True, value
    if not isinstance(value, np.ndarray):
        try:
            view = memoryview(value)
        except (TypeError, ValueError, BufferError):
            raise ArgumentTypeError(
                f"{function}: argument {name!r} must have memory (an array, bytes, bytearray, ...), or be a list of "
                f"such with a count and a datatype, got {_gate.describe(value)}; for Python objects there are the "
                "methods in lower case, such as comm.send."
            ) from None
        if not view.contiguous:
            raise _not_contiguous(function, name, value)
        is_bytes = isinstance(value, (bytes, bytearray))
        value = np.asarray(view)
        datatype = BYTE if is_bytes else None
    else:
        datatype = None
    if value.dtype.hasobject:
        raise ArgumentTypeError(
            f"{function}: argument {name!r} is of Python objects ({_gate.describe(value)}), which have no bytes to "
            "send; use the methods in lower case, such as comm.send, or a dtype of numbers."
        )
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        raise _not_contiguous(function, name, value)
    if write and not value.flags.writeable:
        raise BufferArgumentError(
            f"{function}: argument {name!r} is written to, but its memory is read-only ({_gate.describe(value)})."
        )
    if datatype is None:
        try:
            datatype = of_dtype(value.dtype, function)
        except ArgumentError:
            datatype = None
    flat = value.T if value.flags.f_contiguous and not value.flags.c_contiguous else value
    return np.asarray(flat).reshape(-1).view(np.uint8), datatype, False, value


def _not_contiguous(function: str, name: str, value: Any) -> BufferArgumentError:
    return BufferArgumentError(
        f"{function}: argument {name!r} is not contiguous ({_gate.describe(value)}); pass a copy such as "
        "xp.ascontiguousarray(a), or the whole array with a datatype made by Create_vector or Create_subarray."
    )


def _no_memory() -> tuple[Any, Datatype | None, bool, Any]:
    return np.empty(0, np.uint8), None, False, None


def _is_buffer(value: Any) -> bool:
    """Tell whether an object has memory itself."""
    if isinstance(value, (np.ndarray, bytes, bytearray, memoryview)) or _arrays.is_device_array(value):
        return True
    if isinstance(value, (list, tuple, str)) or value is None:
        return False
    if _arrays.is_foreign_device_array(value):
        return True
    try:
        memoryview(value)
    except (TypeError, ValueError, BufferError):
        return False
    return True


def _is_type(value: Any) -> bool:
    return isinstance(value, (Datatype, str)) or (real_mpi() is not None and isinstance(value, real_mpi().Datatype))


def _split(value: Any, function: str, name: str, pairs: tuple[type, ...] = (tuple,)) -> tuple[Any, Any, Any, Any]:
    """Return memory, count, displacement and datatype of what was given; None for what was not.

    A count may be a pair of count and displacement: a tuple, and where there is one count also a list.
    """
    if _is_buffer(value):
        return value, None, None, None
    if not isinstance(value, (list, tuple)):
        raise ArgumentTypeError(
            f"{function}: argument {name!r} must be an array, or a list such as [array, count, MPI.DOUBLE], got "
            f"{_gate.describe(value)}."
        )
    if len(value) == 2:
        memory, count = value
        if _is_type(count):
            return memory, None, None, count
        if isinstance(count, pairs):
            return memory, *_pair(count), None
        return memory, count, None, None
    if len(value) == 3:
        memory, count, datatype = value
        if isinstance(count, pairs):
            return memory, *_pair(count), datatype
        return memory, count, None, datatype
    if len(value) == 4:
        memory, count, displacement, datatype = value
        return memory, count, displacement, datatype
    raise ArgumentError(
        f"{function}: argument {name!r} must be an array, or a list of 2 to 4 items such as [array, count, "
        f"MPI.DOUBLE], got a list of {len(value)}."
    )


def _pair(value: Any) -> tuple[Any, Any]:
    if len(value) != 2:
        return value, None
    return value[0], value[1]


def _whole_number(value: Any, function: str, name: str, what: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument {name!r} has the {what} {value!r}, which is no integer."
        ) from None
    if number < 0:
        raise error(
            "COUNT" if what == "count" else "ARG", f"{function}: argument {name!r} has the negative {what} {number}."
        )
    return number


def _usable_type(given: Any, found: Datatype | None, memory: Any, owner: Any, function: str, name: str) -> Datatype:
    if given is None:
        if found is None:
            of_dtype(owner.dtype, function)  # raises, with the reason
            raise AssertionError
        return found
    datatype = as_datatype(given, function)
    if not datatype:
        raise error("TYPE", f"{function}: argument {name!r} has the null datatype; was it freed?")
    if not datatype._committed:
        raise error(
            "TYPE", f"{function}: argument {name!r} has a datatype that is not committed; call its Commit() first."
        )
    return datatype


def _check_inside(memory: Any, base: int, count: int, datatype: Datatype, function: str, name: str) -> None:
    low, high = _bounds(datatype, count)
    if count and datatype._size and not 0 <= base + low <= base + high <= len(memory):
        raise ArgumentError(
            f"{function}: argument {name!r} with {count} items of {datatype!r} from byte {base} on reaches outside of "
            f"its memory: bytes {base + low} to {base + high} of {len(memory)}."
        )


def _items_in(memory: Any, datatype: Datatype, function: str, name: str) -> int:
    """Return how many items fill the memory."""
    extent = datatype._ub - datatype._lb
    if extent <= 0:
        raise ArgumentError(
            f"{function}: argument {name!r} needs a count: the extent of {datatype!r} is {extent} bytes."
        )
    if len(memory) % extent:
        raise ArgumentError(
            f"{function}: argument {name!r} needs a count: its {len(memory)} bytes are no multiple of the extent of "
            f"{datatype!r}, {extent} bytes."
        )
    return int(len(memory) // extent)


def simple(value: Any, function: str, name: str, *, write: bool) -> Buffer:
    """Read the buffer of one message."""
    given, count, displacement, kind = _split(value, function, name, (tuple, list))
    if given is None or given is BOTTOM:
        memory, found, on_device, owner = _no_memory()
        datatype = BYTE if kind is None else _usable_type(kind, found, memory, owner, function, name)
        if count is not None and _whole_number(count, function, name, "count"):
            raise ArgumentError(f"{function}: argument {name!r} has no memory, but the count {count}.")
        return Buffer(memory, 0, 0, datatype, on_device=False, owner=owner, name=name)
    memory, found, on_device, owner = memory_of(given, function, name, write=write)
    datatype = _usable_type(kind, found, memory, owner, function, name)
    base = 0
    if displacement is not None:
        if count is None:
            raise ArgumentError(f"{function}: argument {name!r} has a displacement, and needs a count with it.")
        base = _whole_number(displacement, function, name, "displacement") * (datatype._ub - datatype._lb)
    if count is not None:
        number = _whole_number(count, function, name, "count")
    else:
        number = _items_in(memory, datatype, function, name) if len(memory) else 0
    _check_inside(memory, base, number, datatype, function, name)
    return Buffer(memory, base, number, datatype, on_device=on_device, owner=owner, name=name)


def _one(values: Any, function: str, name: str, what: str) -> int:
    """Return the number that is given for the only rank."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = values.item()
    if isinstance(values, (list, tuple, np.ndarray)):
        if len(values) != 1:
            raise ArgumentError(
                f"{function}: argument {name!r} must have one {what} for each rank, 1, got {len(values)}."
            )
        return int(operator.index(values[0]))
    try:
        return operator.index(values)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument {name!r} has the {what} {values!r}, which is no integer."
        ) from None


def vector(value: Any, function: str, name: str, *, write: bool) -> Buffer:
    """Read the buffer of the vector form of a collective: one count and displacement for each rank, that is, one."""
    given, count, displacement, kind = _split(value, function, name)
    if given is None or given is BOTTOM:
        return simple(
            [None, 0 if count is None else _one(count, function, name, "count"), kind or BYTE],
            function,
            name,
            write=write,
        )
    memory, found, on_device, owner = memory_of(given, function, name, write=write)
    datatype = _usable_type(kind, found, memory, owner, function, name)
    extent = datatype._ub - datatype._lb
    # One number for all displacements is the distance of the blocks: the first one begins at 0.
    one_by_one = isinstance(displacement, (list, tuple, np.ndarray)) and np.ndim(displacement) > 0
    base = _one(displacement, function, name, "displacement") * extent if one_by_one else 0
    if count is not None:
        number = _one(count, function, name, "count")
    else:
        number = _items_in(memory, datatype, function, name) if len(memory) else 0
    if number < 0 or base < 0:
        raise error(
            "COUNT" if number < 0 else "ARG",
            f"{function}: argument {name!r} has the count {number} and the displacement {base}; neither can be "
            "negative.",
        )
    _check_inside(memory, base, number, datatype, function, name)
    return Buffer(memory, base, number, datatype, on_device=on_device, owner=owner, name=name)


def many(
    value: Any, function: str, name: str, *, write: bool, blocks: int, typed: bool, plain: bool = False
) -> list[Buffer]:
    """Read a buffer with one block for each neighbour: equal ones, or with counts, displacements and types.

    Parameters
    ----------
    value : Any
        What was given.
    function, name : str
        For messages.
    write : bool
        Whether it is written to.
    blocks : int
        How many there are.
    typed : bool
        Whether there is one datatype for each block, with displacements in bytes.
    plain : bool, default: False
        Whether the blocks are equal.
    """
    if typed:
        return _typed_blocks(value, function, name, write=write, blocks=blocks)
    given, count, displacement, kind = _split(value, function, name)
    if given is None:
        return [simple([None, 0, kind or BYTE], function, name, write=write) for _ in range(blocks)]
    memory, found, on_device, owner = memory_of(given, function, name, write=write)
    datatype = _usable_type(kind, found, memory, owner, function, name)
    extent = datatype._ub - datatype._lb
    if count is None:
        total = _items_in(memory, datatype, function, name) if len(memory) else 0
        if plain and blocks and total % blocks:
            raise ArgumentError(
                f"{function}: argument {name!r} has {total} items, which do not fall into {blocks} equal blocks."
            )
        # Without counts, the vector form deals the items out as evenly as possible.
        counts = [total // blocks + (k < total % blocks) for k in range(blocks)] if blocks else []
    elif isinstance(count, (list, tuple, np.ndarray)):
        counts = [_whole_number(each, function, name, "count") for each in count]
    else:
        counts = [_whole_number(count, function, name, "count")] * blocks
    if displacement is None:
        starts = [sum(counts[:k]) for k in range(len(counts))]
    else:
        values = displacement if isinstance(displacement, (list, tuple, np.ndarray)) else [displacement] * blocks
        starts = [_whole_number(each, function, name, "displacement") for each in values]
    if not len(counts) == len(starts) == blocks:
        raise ArgumentError(
            f"{function}: argument {name!r} must have {blocks} counts and displacements, one for each neighbour, got "
            f"{len(counts)} and {len(starts)}."
        )
    for number, start in zip(counts, starts, strict=True):
        _check_inside(memory, start * extent, number, datatype, function, name)
    return [
        Buffer(memory, start * extent, number, datatype, on_device=on_device, owner=owner, name=name)
        for number, start in zip(counts, starts, strict=True)
    ]


def _typed_blocks(value: Any, function: str, name: str, *, write: bool, blocks: int) -> list[Buffer]:
    """Read ``[array, counts, displacements, types]`` or ``[array, types]``, with displacements in bytes."""
    if not isinstance(value, (list, tuple)) or not 2 <= len(value) <= 4:
        raise ArgumentTypeError(
            f"{function}: argument {name!r} must be [array, counts, displacements, types], got {_gate.describe(value)}."
        )
    given, types = value[0], value[-1]
    middle = list(value[1:-1])
    if (
        len(middle) == 1
        and isinstance(middle[0], (list, tuple))
        and len(middle[0]) == 2
        and isinstance(middle[0][0], (list, tuple))
    ):
        middle = list(middle[0])
    counts = middle[0] if middle else [1] * blocks
    displacements = middle[1] if len(middle) > 1 else [0] * blocks
    if not len(counts) == len(displacements) == len(types) == blocks:
        raise ArgumentError(
            f"{function}: argument {name!r} must have {blocks} counts, displacements and types, one for each rank, got "
            f"{len(counts)}, {len(displacements)} and {len(types)}."
        )
    memory, found, on_device, owner = _no_memory() if given is None else memory_of(given, function, name, write=write)
    made = []
    for count, displacement, kind in zip(counts, displacements, types, strict=True):
        datatype = _usable_type(kind, found, memory, owner, function, name)
        number = _whole_number(count, function, name, "count")
        start = operator.index(displacement)
        _check_inside(memory, start, number, datatype, function, name)
        made.append(Buffer(memory, start, number, datatype, on_device=on_device, owner=owner, name=name))
    return made


# --- moving -----------------------------------------------------------------------------------------------------------


def check_types(source: Buffer, target: Buffer, function: str) -> None:
    """Refuse to read bytes as elements of another kind: MPI does not convert."""
    if not signatures_agree(source.type._signature, source.count, target.type._signature, target.nbytes):
        raise error(
            "TYPE",
            f"{function}: {source.count} items of {source.type!r} can't be received as {target.type!r} in argument "
            f"{target.name!r}: MPI copies bytes and converts nothing. Use arrays of the same dtype on both sides.",
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


def pack(datatype: Datatype, inbuf: Any, outbuf: Any, position: int) -> int:
    """Do ``Datatype.Pack``."""
    function = "Datatype.Pack"
    source = simple([inbuf, datatype], function, "inbuf", write=False)
    memory, _, on_device, owner = memory_of(outbuf, function, "outbuf", write=True)
    target = Buffer(memory, position, source.nbytes, BYTE, on_device=on_device, owner=owner, name="outbuf")
    _fits(target, function)
    target.store(source.load(), function)
    return position + source.nbytes


def unpack(datatype: Datatype, inbuf: Any, position: int, outbuf: Any) -> int:
    """Do ``Datatype.Unpack``."""
    function = "Datatype.Unpack"
    target = simple([outbuf, datatype], function, "outbuf", write=True)
    memory, _, on_device, owner = memory_of(inbuf, function, "inbuf", write=False)
    source = Buffer(memory, position, target.nbytes, BYTE, on_device=on_device, owner=owner, name="inbuf")
    _fits(source, function)
    target.store(source.load(), function)
    return position + source.nbytes


def _fits(buffer: Buffer, function: str) -> None:
    if not 0 <= buffer.base <= buffer.base + buffer.count <= len(buffer.memory):
        raise error(
            "TRUNCATE",
            f"{function}: argument {buffer.name!r} is too small: bytes {buffer.base} to {buffer.base + buffer.count} "
            f"of {len(buffer.memory)}.",
        )
