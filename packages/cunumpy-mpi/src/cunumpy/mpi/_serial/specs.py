"""What a caller gives as a buffer.

A buffer is an object with memory (a NumPy or device array, ``bytes``, ``bytearray``, ``memoryview``, ...), alone or in
a list with a count, a displacement and a datatype::

    array                     [array, type]                 [array, count]
    [array, count, type]      [array, (count, displacement), type]
    [array, count, displacement, type]

For the vector forms of collectives, counts and displacements are lists with one item for each rank.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._serial.buffers import BOTTOM, BYTE, Buffer, bounds
from cunumpy.mpi._serial.checks import integer, sequence
from cunumpy.mpi._serial.constants import real_mpi
from cunumpy.mpi._serial.datatypes import Datatype, as_datatype, of_dtype
from cunumpy.mpi._serial.exceptions import BufferArgumentError, error


def memory_of(value: Any, function: str, name: str, *, write: bool) -> tuple[Any, Datatype | None, bool, Any]:
    """Return the bytes of an object with memory, its datatype (None for an unknown one), where it is, and its owner."""
    _gate.refuse_masked(value, function=function, argument=name)
    if _arrays.is_foreign_device_array(value):
        value = _conversion.wrap_foreign(value, function)
    if _arrays.is_device_array(value):
        if not (value.flags.c_contiguous or value.flags.f_contiguous):
            raise _not_contiguous(function, name, value)
        flat = value.T if value.flags.f_contiguous and not value.flags.c_contiguous else value
        return flat.reshape(-1).view(np.uint8), of_dtype(value.dtype, function, name), True, value
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
            datatype = of_dtype(value.dtype, function, name)
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
            of_dtype(owner.dtype, function, name)  # raises, with the reason
            raise AssertionError
        return found
    datatype = as_datatype(given, function, name)
    if not datatype:
        raise error("TYPE", f"{function}: argument {name!r} has the null datatype; was it freed?")
    if not datatype._committed:
        raise error(
            "TYPE", f"{function}: argument {name!r} has a datatype that is not committed; call its Commit() first."
        )
    return datatype


def _check_inside(memory: Any, base: int, count: int, datatype: Datatype, function: str, name: str) -> None:
    low, high = bounds(datatype, count)
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
    counts = sequence(middle[0] if middle else [1] * blocks, function, name, "counts")
    displacements = sequence(middle[1] if len(middle) > 1 else [0] * blocks, function, name, "displacements")
    types = sequence(types, function, name, "datatypes")
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
        start = integer(displacement, function, name)
        _check_inside(memory, start, number, datatype, function, name)
        made.append(Buffer(memory, start, number, datatype, on_device=on_device, owner=owner, name=name))
    return made


# --- packing ----------------------------------------------------------------------------------------------------------


def pack(datatype: Datatype, inbuf: Any, outbuf: Any, position: int) -> int:
    """Do ``Datatype.Pack``."""
    function = "Datatype.Pack"
    source = simple([inbuf, datatype], function, "inbuf", write=False)
    memory, _, on_device, owner = memory_of(outbuf, function, "outbuf", write=True)
    position = integer(position, function, "position", least=0)
    target = Buffer(memory, position, source.nbytes, BYTE, on_device=on_device, owner=owner, name="outbuf")
    _fits(target, function)
    target.store(source.load(), function)
    return position + source.nbytes


def unpack(datatype: Datatype, inbuf: Any, position: int, outbuf: Any) -> int:
    """Do ``Datatype.Unpack``."""
    function = "Datatype.Unpack"
    target = simple([outbuf, datatype], function, "outbuf", write=True)
    memory, _, on_device, owner = memory_of(inbuf, function, "inbuf", write=False)
    position = integer(position, function, "position", least=0)
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
