"""Fields of C structs: read from pairs of a name and a type, laid out in memory, compared with a definition in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import as_integer, describe, given
from cunumpy.arguments._array_packing import view_dtype
from cunumpy.arguments._identifiers import check_identifier
from cunumpy.cuda._parameters import CudaParameter, field_type
from cunumpy.cuda._structs import member
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cunumpy.arguments._struct import CudaStruct


def read_fields(fields: object, structs: list[CudaStruct], function: str) -> Iterable[CudaParameter]:
    """Yield the members that pairs of a name and a C type describe."""
    if isinstance(fields, str) or not hasattr(fields, "__iter__"):
        raise ArgumentTypeError(
            f"{function}: argument 'fields' must be pairs of a name and a C type, such as [('n', 'int')], got "
            f"{describe(fields)}."
        )
    names: set[str] = set()
    for pair in fields:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], str):
            raise ArgumentTypeError(
                f"{function}: argument 'fields' must be pairs of a name and a C type, such as [('n', 'int')]; it holds "
                f"{pair!r}."
            )
        name = check_identifier(pair[0], "the field name", function)
        if name in names:
            raise ArgumentError(f"{function}: there are two fields {name!r}; rename one.")
        names.add(name)
        yield member(pair[1], name, structs=structs, function=function)
    if not names:
        raise ArgumentError(f"{function}: it has no fields, and an empty struct has one byte in C++; leave it out.")


def alignment_of(fields: Iterable[CudaParameter], asked: int | None, function: str) -> int:
    """Return the alignment of a struct in bytes: what is asked for, or what its fields need."""
    natural = max(field.alignment for field in fields)
    if asked is None:
        return natural
    wanted = as_integer(asked, function=function, argument="alignment")
    if wanted > 2**20:
        raise ArgumentError(
            f"{function}: argument 'alignment' is {given(wanted)}, and a kernel's parameters are never that large."
        )
    if wanted < natural or wanted & (wanted - 1):
        raise ArgumentError(
            f"{function}: argument 'alignment' must be a power of two of {natural} or more, which its fields need, got "
            f"{wanted}."
        )
    return wanted


def layout_of(fields: Sequence[CudaParameter], alignment: int) -> tuple[np.dtype[Any], list[int]]:
    """Return the dtype, and the offset of each field."""
    offsets, end = [], 0
    for field in fields:
        offset = -(-end // field.alignment) * field.alignment
        offsets.append(offset)
        end = offset + field.size
    size = -(-end // alignment) * alignment
    layout = {
        "names": [field.name for field in fields],
        "formats": [_format(field) for field in fields],
        "offsets": offsets,
        "itemsize": size,
    }
    return np.dtype(layout, align=True), offsets  # type: ignore[call-overload]


def _format(field: CudaParameter) -> np.dtype[Any]:
    if field.pointer:
        return np.dtype(np.uint64)
    if field.view_ndim is not None:
        return view_dtype(field.view_ndim, field.contiguous)
    assert field.dtype is not None  # void has no values
    return field.dtype


def signature_of(field: CudaParameter) -> tuple[Any, ...]:
    """Return what a member of the source and a field have to have in common."""
    struct_name = None if field.struct is None else field.struct.name
    return field.name, field.dtype, field.pointer, struct_name, field.view_ndim, field.contiguous, field.alignment


def difference(theirs: Sequence[CudaParameter], ours: Sequence[CudaParameter]) -> str:
    """Say where a definition in C first differs from the fields, which it does."""
    for number, (other, field) in enumerate(zip(theirs, ours, strict=False), start=1):
        if signature_of(other) != signature_of(field):
            return f"member {number} is '{declaration_of(other)}', and the field '{declaration_of(field)}'"
    return f"it has {len(theirs)} members, and the CudaStruct {len(ours)} fields"


def declarations_of(fields: Iterable[CudaParameter]) -> str:
    """Return the declarations of members on one line."""
    return " ".join(f"{declaration_of(field)};" for field in fields)


def declaration_of(field: CudaParameter) -> str:
    """Return the declaration of a member: the extents of an array come after its name."""
    base, bracket, extents = field_type(field).partition("[")
    return f"{base} {field.name}{bracket}{extents}"
