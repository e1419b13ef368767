"""Datatypes: where the elements of a message are in memory.

A datatype is a list of runs of bytes (offset and length, in the order of the message), the elements that these bytes
are, and an extent, which is the distance from one item of the type to the next.
"""

from __future__ import annotations

import itertools
import math
import struct
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._serial.attributes import Attributes
from cunumpy.mpi._serial.checks import integer, integers, sequence, text
from cunumpy.mpi._serial.constants import INTEGERS, own, real_mpi
from cunumpy.mpi._serial.envelopes import ARGUMENTS, contents
from cunumpy.mpi._serial.exceptions import BufferArgumentError, TypeCodeError, error
from cunumpy.mpi._serial.layouts import (
    Element,
    Signature,
    blocks,
    distributed,
    joined,
    many_blocks,
    merged,
    outer,
    repeated,
    strides,
)
from cunumpy.mpi._serial.predefined import ALIASES, ELEMENTS, NAMES_BY_CODE, PAIRS

if TYPE_CHECKING:
    from collections.abc import Sequence

_EMPTY = np.empty(0, np.int64)
_ORDER = {name: INTEGERS[f"ORDER_{name}"] for name in ("C", "F")}


_STATE = (
    "_align",
    "_attributes",
    "_code",
    "_committed",
    "_how",
    "_lb",
    "_lengths",
    "_name",
    "_offsets",
    "_padded",
    "_predefined",
    "_signature",
    "_size",
    "_ub",
)


class Datatype(Attributes):
    """What a message consists of: a predefined type, or one derived from others."""

    __slots__ = (*_STATE, "__weakref__")
    _align: int
    _attributes: dict[int, Any]
    _code: str
    _committed: bool
    _how: tuple[str, tuple[Any, ...]] | Any
    _lb: int
    _lengths: np.ndarray
    _name: str
    _offsets: np.ndarray
    _padded: bool
    _predefined: bool
    _signature: Signature
    _size: int
    _ub: int

    def __init__(self, datatype: Datatype | None = None) -> None:
        # As in mpi4py: a new reference to the same type, by default to the null type.
        source = datatype if datatype is not None else globals().get("DATATYPE_NULL")
        for name in _STATE:
            setattr(self, name, getattr(source, name, None))

    @classmethod
    def _make(
        cls,
        offsets: np.ndarray,
        lengths: np.ndarray,
        signature: Signature,
        lb: int,
        ub: int,
        *,
        how: tuple[str, tuple[Any, ...]],
        align: int = 1,
        padded: bool = True,
        name: str = "",
        code: str = "",
    ) -> Datatype:
        made = cls.__new__(cls)
        made._offsets, made._lengths = merged(offsets, lengths)
        made._signature = signature
        made._size = int(made._lengths.sum())
        made._lb, made._ub = lb, ub
        made._align, made._padded = align, padded
        made._name, made._code = name, code
        made._how = how
        made._predefined = how[0] == "NAMED"
        made._committed = made._predefined
        made._attributes = {}
        return made

    def __bool__(self) -> bool:
        return self._how is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Datatype):
            return NotImplemented
        if not self or not other:
            return bool(self) == bool(other)
        return self._how is other._how

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        if not self:
            return "SerialMPI.DATATYPE_NULL"
        if self._predefined:
            return f"SerialMPI.{self._name.removeprefix('MPI_')}"
        return f"SerialMPI.Datatype({self._how[0].lower()}, size={self._size}, extent={self._ub - self._lb})"

    def __reduce__(self) -> tuple[Any, ...]:
        if not self:
            return _named, ("DATATYPE_NULL",)
        if self._predefined:
            return _named, (self._name.removeprefix("MPI_"),)
        combiner, arguments = self._how
        return _again, (combiner, arguments, self._committed)

    def _check(self, function: str) -> None:
        if not self:
            raise error("TYPE", f"{function}: the datatype is null; was it freed?")

    @property
    def _dense(self) -> bool:
        """Whether items follow each other without gaps, in the order of memory."""
        return len(self._offsets) == 1 and int(self._offsets[0]) == self._lb and self._size == self._ub - self._lb

    @property
    def _extent(self) -> int:
        return self._ub - self._lb

    # --- queries

    def Get_size(self) -> int:
        """Return how many bytes an item has."""
        self._check("Datatype.Get_size")
        return self._size

    def Get_extent(self) -> tuple[int, int]:
        """Return the lower bound and the extent."""
        self._check("Datatype.Get_extent")
        return self._lb, self._ub - self._lb

    def Get_true_extent(self) -> tuple[int, int]:
        """Return where the first byte is, and how far it is from there to behind the last."""
        self._check("Datatype.Get_true_extent")
        low, high = self._true_bounds()
        return low, high - low

    def _true_bounds(self) -> tuple[int, int]:
        if not len(self._offsets):
            return 0, 0
        return int(self._offsets.min()), int((self._offsets + self._lengths).max())

    def Get_name(self) -> str:
        """Return the name."""
        return self._name if self else "MPI_DATATYPE_NULL"

    def Set_name(self, name: str) -> None:
        """Give the type a name."""
        self._check("Datatype.Set_name")
        self._name = text(name, "Datatype.Set_name", "name")

    def tocode(self) -> str:
        """Return the character or name that stands for the type in buffer specifications."""
        if not self._code:
            raise ArgumentError(f"Datatype.tocode: no character stands for {self!r}.")
        return self._code

    @classmethod
    def fromcode(cls, code: str) -> Datatype:
        """Return the type that a character or name stands for, such as ``"d"`` or ``"i4"``."""
        return by_code(code, "Datatype.fromcode", "code")

    def Get_envelope(self) -> tuple[int, int, int, int, int]:
        """Return how many integers, addresses, counts and types `Get_contents` gives, and how the type was made."""
        self._check("Datatype.Get_envelope")
        integers, addresses, counts, types = contents(*self._how) if not self._predefined else ([], [], [], [])
        combiner = INTEGERS[f"COMBINER_{self._how[0]}"]
        return len(integers), len(addresses), len(counts), len(types), combiner

    def Get_contents(self) -> tuple[list[int], list[int], list[int], list[Datatype]]:
        """Return the arguments with which the type was made."""
        self._check("Datatype.Get_contents")
        if self._predefined:
            raise error("TYPE", f"Datatype.Get_contents: {self!r} is predefined.")
        return contents(*self._how)

    def decode(self) -> tuple[Datatype, str, dict[str, Any]]:
        """Return the type that this one was made from, the way, and the arguments by name."""
        self._check("Datatype.decode")
        combiner, arguments = self._how
        if combiner == "NAMED":
            return self, combiner, {}
        if combiner == "STRUCT":
            names: tuple[str, ...] = ("blocklengths", "displacements", "datatypes")
            return DATATYPE_NULL, combiner, dict(zip(names, map(list, arguments), strict=True))
        names = ARGUMENTS[combiner]
        values = [list(value) if isinstance(value, tuple) else value for value in arguments[1:]]
        return arguments[0], combiner, dict(zip(names, values, strict=True))

    size: property = property(Get_size)
    lb: property = property(lambda self: self.Get_extent()[0])
    extent: property = property(lambda self: self.Get_extent()[1])
    ub: property = property(lambda self: sum(self.Get_extent()))
    true_lb: property = property(lambda self: self.Get_true_extent()[0])
    true_extent: property = property(lambda self: self.Get_true_extent()[1])
    true_ub: property = property(lambda self: sum(self.Get_true_extent()))
    name: property = property(Get_name, Set_name)
    envelope: property = property(Get_envelope)
    contents: property = property(Get_contents)
    combiner: property = property(lambda self: self.Get_envelope()[4])
    is_named: property = property(lambda self: bool(self) and self._how[0] == "NAMED")
    is_predefined: property = property(lambda self: not self or self._predefined)

    @property
    def typechar(self) -> str:
        """The character of the type in the `struct` module and in NumPy, ``"V"`` where there is none."""
        return self._code if self and len(self._code) == 1 else "V"

    @property
    def typestr(self) -> str:
        """The type as NumPy writes it, such as ``"f8"``."""
        if (self and len(self._code) == 1 and self._code not in "SB") or self is BOOL:
            dtype = np.dtype(self._code)
            return f"{dtype.kind}{dtype.itemsize}"
        return f"V{self._size}" if self else "V0"

    # --- making and freeing

    def Commit(self) -> Datatype:
        """Make the type ready for communication."""
        self._check("Datatype.Commit")
        self._committed = True
        return self

    def Free(self) -> None:
        """Give the type up: it becomes the null type. Types that were made from it stay."""
        self._check("Datatype.Free")
        if self._predefined:
            raise error("TYPE", f"Datatype.Free: {self!r} is predefined, and can't be freed.")
        self._drop_attributes()
        self._how = None
        self._committed = False

    def free(self) -> None:
        """Give the type up, unless it is null or predefined."""
        if self and not self._predefined:
            self.Free()

    def _derived(
        self,
        combiner: str,
        arguments: tuple[Any, ...],
        starts: np.ndarray,
        lb: int | None = None,
        ub: int | None = None,
    ) -> Datatype:
        """Make the type of items of this one that begin at the given bytes."""
        extent = self._extent
        offsets = (starts[:, None] + self._offsets[None, :]).ravel()
        lengths = np.tile(self._lengths, len(starts))
        if lb is None or ub is None:
            lb = int(starts.min()) + self._lb if len(starts) else 0
            ub = int(starts.max()) + self._lb + extent if len(starts) else 0
        return Datatype._make(
            offsets,
            lengths,
            repeated(self._signature, len(starts)),
            lb,
            ub,
            how=(combiner, (self, *arguments)),
            align=self._align,
            padded=self._padded,
        )

    def Dup(self) -> Datatype:
        """Return a copy, with the attributes that say so."""
        self._check("Datatype.Dup")
        made = self._derived("DUP", (), np.zeros(1, np.int64), self._lb, self._ub)
        made._committed = self._committed
        made._copy_attributes(self)
        return made

    def Create_contiguous(self, count: int) -> Datatype:
        """Return a type of `count` items one behind the other."""
        count = self._count("Create_contiguous", "count", count)
        return self._derived("CONTIGUOUS", (count,), np.arange(count, dtype=np.int64) * self._extent)

    def Create_vector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Return a type of `count` blocks, which begin `stride` items apart."""
        count = self._count("Create_vector", "count", count)
        blocklength = self._count("Create_vector", "blocklength", blocklength)
        stride = integer(stride, "Datatype.Create_vector", "stride")
        begins = np.arange(count, dtype=np.int64) * stride * self._extent
        return self._derived("VECTOR", (count, blocklength, stride), blocks(begins, blocklength, self._extent))

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Return a type of `count` blocks, which begin `stride` bytes apart."""
        count = self._count("Create_hvector", "count", count)
        blocklength = self._count("Create_hvector", "blocklength", blocklength)
        stride = integer(stride, "Datatype.Create_hvector", "stride")
        begins = np.arange(count, dtype=np.int64) * stride
        return self._derived("HVECTOR", (count, blocklength, stride), blocks(begins, blocklength, self._extent))

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Return a type of blocks of several lengths, at displacements in items."""
        lengths, at = self._lengths_and_displacements("Create_indexed", blocklengths, displacements)
        starts = many_blocks(at * self._extent, lengths, self._extent)
        return self._derived("INDEXED", (tuple(lengths.tolist()), tuple(at.tolist())), starts)

    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Return a type of blocks of several lengths, at displacements in bytes."""
        lengths, at = self._lengths_and_displacements("Create_hindexed", blocklengths, displacements)
        return self._derived(
            "HINDEXED", (tuple(lengths.tolist()), tuple(at.tolist())), many_blocks(at, lengths, self._extent)
        )

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Return a type of blocks of one length, at displacements in items."""
        blocklength = self._count("Create_indexed_block", "blocklength", blocklength)
        at = _integers(displacements, "Datatype.Create_indexed_block", "displacements")
        starts = blocks(at * self._extent, blocklength, self._extent)
        return self._derived("INDEXED_BLOCK", (blocklength, tuple(at.tolist())), starts)

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Return a type of blocks of one length, at displacements in bytes."""
        blocklength = self._count("Create_hindexed_block", "blocklength", blocklength)
        at = _integers(displacements, "Datatype.Create_hindexed_block", "displacements")
        return self._derived("HINDEXED_BLOCK", (blocklength, tuple(at.tolist())), blocks(at, blocklength, self._extent))

    @classmethod
    def Create_struct(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], datatypes: Sequence[Datatype]
    ) -> Datatype:
        """Return a type of blocks of several types, at displacements in bytes.

        Its extent is rounded up as the C compiler does it for a struct, unless one of the types was resized.
        """
        function = "Datatype.Create_struct"
        types = [
            as_datatype(each, function, "datatypes") for each in sequence(datatypes, function, "datatypes", "datatypes")
        ]
        lengths = _integers(blocklengths, function, "blocklengths")
        at = _integers(displacements, function, "displacements")
        if not len(types) == len(lengths) == len(at):
            raise ArgumentError(
                f"{function}: arguments 'blocklengths', 'displacements' and 'datatypes' must have the same length, got "
                f"{len(lengths)}, {len(at)} and {len(types)}."
            )
        _check_counts(lengths, function, "blocklengths")
        offsets, runs, parts, bounds = [_EMPTY], [_EMPTY], [], []
        align, padded = 1, True
        for length, displacement, each in zip(lengths.tolist(), at.tolist(), types, strict=True):
            each._check(function)
            if not length:
                continue
            starts = displacement + np.arange(length, dtype=np.int64) * (each._ub - each._lb)
            offsets.append((starts[:, None] + each._offsets[None, :]).ravel())
            runs.append(np.tile(each._lengths, length))
            parts.append(repeated(each._signature, length))
            bounds += [displacement + each._lb, int(starts[-1]) + each._ub]
            align, padded = max(align, each._align), padded and each._padded
        lb, ub = (min(bounds), max(bounds)) if bounds else (0, 0)
        if padded:
            ub = lb + -(-(ub - lb) // align) * align
        return cls._make(
            np.concatenate(offsets),
            np.concatenate(runs),
            tuple(joined(itertools.chain.from_iterable(parts))),
            lb,
            ub,
            how=("STRUCT", (tuple(lengths.tolist()), tuple(at.tolist()), tuple(types))),
            align=align,
            padded=padded,
        )

    def Create_subarray(
        self,
        sizes: Sequence[int],
        subsizes: Sequence[int],
        starts: Sequence[int],
        order: int = _ORDER["C"],
    ) -> Datatype:
        """Return the type of a block of an array, whose extent is that of the whole array."""
        function = "Datatype.Create_subarray"
        whole = _integers(sizes, function, "sizes")
        part = _integers(subsizes, function, "subsizes")
        first = _integers(starts, function, "starts")
        if not len(whole) == len(part) == len(first) or not len(whole):
            raise ArgumentError(
                f"{function}: arguments 'sizes', 'subsizes' and 'starts' must have the same length, at least 1, got "
                f"{len(whole)}, {len(part)} and {len(first)}."
            )
        if (whole < 1).any() or (part < 1).any() or (first < 0).any() or (first + part > whole).any():
            raise error(
                "ARG",
                f"{function}: the block subsizes={part.tolist()} at starts={first.tolist()} is not inside an array of "
                f"sizes={whole.tolist()}, or is empty.",
            )
        order = _checked_order(order, function)
        extent = self._extent
        steps = strides(whole.tolist(), order, extent)
        indices = [start + np.arange(size) for start, size in zip(first.tolist(), part.tolist(), strict=True)]
        return self._derived(
            "SUBARRAY",
            (tuple(whole.tolist()), tuple(part.tolist()), tuple(first.tolist()), order),
            outer(indices, steps, order),
            self._lb,
            self._lb + int(whole.prod()) * extent,
        )

    def Create_darray(
        self,
        size: int,
        rank: int,
        gsizes: Sequence[int],
        distribs: Sequence[int],
        dargs: Sequence[int],
        psizes: Sequence[int],
        order: int = _ORDER["C"],
    ) -> Datatype:
        """Return the type of the part of one rank of an array that is distributed in blocks or cyclically."""
        function = "Datatype.Create_darray"
        size, rank = integer(size, function, "size"), integer(rank, function, "rank")
        whole = _integers(gsizes, function, "gsizes").tolist()
        kinds = [own(each, *_DISTRIBUTIONS) for each in _integers(distribs, function, "distribs").tolist()]
        arguments = [own(each, "DISTRIBUTE_DFLT_DARG") for each in _integers(dargs, function, "dargs").tolist()]
        ranks = _integers(psizes, function, "psizes").tolist()
        if not len(whole) == len(kinds) == len(arguments) == len(ranks) or not whole:
            raise ArgumentError(
                f"{function}: arguments 'gsizes', 'distribs', 'dargs' and 'psizes' must have the same length, at least "
                f"1, got {len(whole)}, {len(kinds)}, {len(arguments)} and {len(ranks)}."
            )
        if math.prod(ranks) != size or not 0 <= rank < size or min(whole) < 1:
            raise error(
                "ARG",
                f"{function}: rank {rank} of {size} with psizes={ranks} and gsizes={whole}: the product of 'psizes' "
                "must be 'size', and 'rank' below it.",
            )
        order = _checked_order(order, function)
        extent = self._extent
        coordinates = np.unravel_index(rank, ranks)  # in C order, whatever the order of the array
        indices = [
            distributed(n, kind, block, p, int(c), function)
            for n, kind, block, p, c in zip(whole, kinds, arguments, ranks, coordinates, strict=True)
        ]
        return self._derived(
            "DARRAY",
            (size, rank, tuple(whole), tuple(kinds), tuple(arguments), tuple(ranks), order),
            outer(indices, strides(whole, order, extent), order),
            self._lb,
            self._lb + math.prod(whole) * extent,
        )

    def Create_resized(self, lb: int, extent: int) -> Datatype:
        """Return the type with another lower bound and extent: items then begin `extent` bytes apart."""
        return self._resized("Datatype.Create_resized", lb, extent)

    def Resized(self, lb: int, extent: int) -> Datatype:
        """Do `Create_resized`."""
        return self._resized("Datatype.Resized", lb, extent)

    def _resized(self, function: str, lb: int, extent: int) -> Datatype:
        self._check(function)
        lb, extent = integer(lb, function, "lb"), integer(extent, function, "extent")
        made = self._derived("RESIZED", (lb, extent), np.zeros(1, np.int64), lb, lb + extent)
        made._padded = False
        return made

    Create_dup = Dup

    def _count(self, method: str, argument: str, value: int) -> int:
        function = f"Datatype.{method}"
        self._check(function)
        number = integer(value, function, argument)
        if number < 0:
            raise error(
                "ARG" if argument != "count" else "COUNT",
                f"{function}: argument {argument!r} is {number}; it can't be negative.",
            )
        return number

    def _lengths_and_displacements(
        self, method: str, blocklengths: Sequence[int], displacements: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        function = f"Datatype.{method}"
        self._check(function)
        lengths = _integers(blocklengths, function, "blocklengths")
        at = _integers(displacements, function, "displacements")
        if len(lengths) != len(at):
            raise ArgumentError(
                f"{function}: arguments 'blocklengths' and 'displacements' must have the same length, got "
                f"{len(lengths)} and {len(at)}."
            )
        _check_counts(lengths, function, "blocklengths")
        return lengths, at

    # --- packing

    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: Any) -> int:
        """Pack items of the type into a buffer, from the byte `position` on; return the byte behind them."""
        from cunumpy.mpi._serial import specs

        return specs.pack(self, inbuf, outbuf, position)

    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: Any) -> int:
        """Take items of the type out of a buffer that they were packed into; return the byte behind them."""
        from cunumpy.mpi._serial import specs

        return specs.unpack(self, inbuf, position, outbuf)

    def Pack_size(self, count: int, comm: Any) -> int:
        """Return how many bytes items take when they are packed."""
        return self._count("Pack_size", "count", count) * self._size

    @classmethod
    def Match_size(cls, typeclass: int, size: int) -> Datatype:
        """Return the predefined type of a class and a size in bytes."""
        function = "Datatype.Match_size"
        kinds = {INTEGERS[f"TYPECLASS_{name}"]: kind for name, kind in _TYPECLASSES.items()}
        number, width = integer(typeclass, function, "typeclass"), integer(size, function, "size")
        if number not in kinds:
            raise error("ARG", f"{function}: argument 'typeclass' is {number}, which is no MPI.TYPECLASS_...")
        found = TYPEDICT.get(f"{kinds[number]}{width}")
        if found is None:
            raise error("ARG", f"{function}: argument 'size' is {width}; no type of the class has so many bytes.")
        return found


_DISTRIBUTIONS = ("DISTRIBUTE_NONE", "DISTRIBUTE_BLOCK", "DISTRIBUTE_CYCLIC")
_TYPECLASSES = {"INTEGER": "i", "REAL": "f", "COMPLEX": "c", "LOGICAL": "b"}


def _integers(values: Any, function: str, argument: str) -> np.ndarray:
    return np.array(integers(values, function, argument), np.int64).reshape(-1)


def _check_counts(lengths: np.ndarray, function: str, argument: str) -> None:
    if (lengths < 0).any():
        raise error("ARG", f"{function}: argument {argument!r} holds {int(lengths.min())}; it can't be negative.")


def _checked_order(order: Any, function: str) -> int:
    number = own(integer(order, function, "order"), "ORDER_C", "ORDER_F")
    if number not in (_ORDER["C"], _ORDER["F"]):
        raise error("ARG", f"{function}: argument 'order' must be MPI.ORDER_C or MPI.ORDER_F, got {order!r}.")
    return number


# --- predefined types -------------------------------------------------------------------------------------------------

DATATYPE_NULL = Datatype.__new__(Datatype)
for _slot in _STATE:
    setattr(DATATYPE_NULL, _slot, None)

PREDEFINED: dict[str, Datatype] = {}


def _predefine(name: str, code: str, kind: str | None = None, size: int | None = None) -> None:
    """Make a type of one element; `code` is NumPy's character, or ``""``."""
    dtype = np.dtype(code) if code else None
    size = size if size is not None else dtype.itemsize if dtype is not None else 1
    align = dtype.alignment if dtype is not None else size
    element: Element = (kind or "i", size)
    number = 1
    if kind is None and dtype is not None and dtype.kind in "fc":
        number = 2 if dtype.kind == "c" else 1
        element = ("f", size // number)
    PREDEFINED[name] = Datatype._make(
        np.zeros(1, np.int64),
        np.array([size], np.int64),
        ((element, number),),
        0,
        size,
        how=("NAMED", (name,)),
        align=align,
        name=f"MPI_{name}",
        code=code,
    )


for _name, _code in ELEMENTS.items():
    _predefine(_name, _code, kind="*" if _name in ("BYTE", "PACKED") else None)
_predefine("WCHAR", "", "i", struct.calcsize("i"))

for _name, _pair in PAIRS.items():
    _value, _index = _pair.fields["value"], _pair.fields["index"]  # type: ignore[index]
    _kind = "f" if _value[0].kind == "f" else "i"
    PREDEFINED[_name] = Datatype._make(
        np.array([_value[1], _index[1]], np.int64),
        np.array([_value[0].itemsize, _index[0].itemsize], np.int64),
        tuple(joined([((_kind, _value[0].itemsize), 1), (("i", _index[0].itemsize), 1)])),
        0,
        _pair.itemsize,
        how=("NAMED", (_name,)),
        align=_pair.alignment,
        name=f"MPI_{_name}" if _name != "INT_INT" else "MPI_2INT",
    )
BOOL = PREDEFINED["C_BOOL"]

TYPEDICT: dict[str, Datatype] = {code: PREDEFINED[name] for code, name in NAMES_BY_CODE.items()}


def by_code(code: Any, function: str, argument: str) -> Datatype:
    """Return the datatype of a character or name."""
    text(code, function, argument)
    found = TYPEDICT.get(code[1:] if code[:1] in "@=<" else code)
    if found is None:
        raise TypeCodeError(
            f"{function}: argument {argument!r}: {code!r} stands for no MPI datatype; expected a code such as 'd' or "
            "'f8'."
        )
    return found


def of_dtype(dtype: np.dtype[Any], function: str, argument: str) -> Datatype:
    """Return the datatype of a NumPy dtype."""
    if dtype.isnative and dtype.kind in "biufc":
        found = TYPEDICT.get(dtype.char)
        if found is not None:
            return found
    if dtype.kind in "SV" and dtype.itemsize == 1:
        return PREDEFINED["CHAR" if dtype.kind == "S" else "BYTE"]
    if not dtype.isnative:
        raise BufferArgumentError(
            f"{function}: argument {argument!r}: no MPI datatype is for the dtype {dtype}, which has another byte "
            "order than this machine; convert it by a.astype(a.dtype.newbyteorder('=')), or give a datatype, as in "
            "[array, MPI.BYTE]."
        )
    raise TypeCodeError(
        f"{function}: argument {argument!r}: no MPI datatype is for the dtype {dtype}; give one, as in [array, "
        "MPI.BYTE], or convert the array."
    )


def dtype_of(datatype: Datatype) -> np.dtype[Any] | None:
    """Return NumPy's dtype of the packed elements of a predefined type, None where it has none."""
    name = datatype._how[1][0] if datatype and datatype._predefined else None
    if name in PAIRS:
        pair = PAIRS[name]
        return np.dtype([(field, pair[field]) for field in pair.names or ()])
    return np.dtype(datatype._code) if name is not None and datatype._code else None


def as_datatype(value: Any, function: str, argument: str = "datatype") -> Datatype:
    """Return a datatype that was given as one of ours, as one of mpi4py's, or by its code."""
    if isinstance(value, Datatype):
        return value
    if isinstance(value, str):
        return by_code(value, function, argument)
    real = real_mpi()
    if real is not None and isinstance(value, real.Datatype):
        return _from_real(value, real, function)
    raise ArgumentTypeError(
        f"{function}: argument {argument!r}: expected a datatype, such as MPI.DOUBLE, got {_gate.given(value)}."
    )


def _from_real(value: Any, real: Any, function: str) -> Datatype:
    """Build a datatype of mpi4py again."""
    if value == real.DATATYPE_NULL:
        return DATATYPE_NULL
    base, combiner, arguments = value.decode()
    if combiner in ("NAMED", "F90_INTEGER", "F90_REAL", "F90_COMPLEX"):
        for name in (*PREDEFINED, *ALIASES):
            if value == getattr(real, name, None):
                return PREDEFINED[ALIASES.get(name, name)]
        raise error("TYPE", f"{function}: mpi4py's {value.Get_name()} has no counterpart in the stand-in.")
    if combiner == "STRUCT":
        types = [_from_real(each, real, function) for each in arguments["datatypes"]]
        made = Datatype.Create_struct(arguments["blocklengths"], arguments["displacements"], types)
    elif combiner == "DUP":
        made = _from_real(base, real, function).Dup()
    else:
        made = getattr(_from_real(base, real, function), f"Create_{combiner.lower()}")(**arguments)
    return made.Commit()


def _named(name: str) -> Datatype:
    return DATATYPE_NULL if name == "DATATYPE_NULL" else PREDEFINED["INT_INT" if name == "2INT" else name]


def _again(combiner: str, arguments: tuple[Any, ...], committed: bool) -> Datatype:
    """Make a derived type with the arguments of another one, in another process."""
    if combiner == "STRUCT":
        made = Datatype.Create_struct(*arguments)
    else:
        base, *rest = arguments
        made = base.Dup() if combiner == "DUP" else getattr(base, f"Create_{combiner.lower()}")(*rest)
    return made.Commit() if committed else made
