"""Parameters of kernels and members of structs: which types they may have, and how they are passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy.cuda._brackets import OPENING, end_of_group
from cunumpy.cuda._ctypes_table import CTYPE_OF, scalar_type
from cunumpy.cuda._declarations import KernelHeader
from cunumpy.cuda._tokens import is_name
from cunumpy.cuda._types import MAX_VIEW_NDIM, NO_EXTENT, Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cunumpy.cuda._types import Reader, Type

MAX_PARAMETER_BYTES = 32764
"""The most that all parameters of a kernel may take together (CUDA 12.1 and later, sm_70 and later)."""


class CudaParameter(NamedTuple):
    """One parameter of a CUDA kernel, or one field of a struct.

    Attributes
    ----------
    name : str
        Parameters without a name are called ``_0``, ``_1``, ... by their position.
    ctype : str
        The type without qualifiers and ``*``: ``"double"``, ``"Array2D<double>"``, or the name of a struct.
    dtype : numpy.dtype or None
        Of the scalar, of an element of the pointer or view, or of the struct. None for ``void*``. A field with
        extents, such as ``double v[3]``, has a dtype with this shape.
    pointer : bool
    struct : CudaStruct, optional
        The struct that is passed, or that the pointer or view leads to.
    view_ndim : int, optional
        The dimensions of an array view.
    contiguous : bool, default: False
        Whether a view has to be C-contiguous.
    const : bool, default: False
        Whether the elements of the pointer or view can't be written to: ``const double*``, ``Array1D<const double>``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> x, n = xp.cuda.parse_cuda_signature("__global__ void f(const double* x, int n);", "f")
    >>> x.pointer, x.const, x.size, n.dtype
    (True, True, 8, dtype('int32'))
    """

    name: str
    ctype: str
    dtype: np.dtype[Any] | None
    pointer: bool
    struct: Any = None
    view_ndim: int | None = None
    contiguous: bool = False
    const: bool = False

    @property
    def size(self) -> int:
        """The bytes that the parameter takes."""
        if self.pointer:
            return 8
        if self.view_ndim is not None:
            return 8 + (8 if self.contiguous else 16) * self.view_ndim
        return 0 if self.dtype is None else self.dtype.itemsize

    @property
    def alignment(self) -> int:
        """The alignment of the parameter on the device, in bytes."""
        if self.pointer or self.view_ndim is not None:
            return 8
        if self.struct is None and (scalar := scalar_type(self.ctype)) is not None:
            return scalar.alignment
        numpy_alignment = 1 if self.dtype is None else self.dtype.base.alignment
        # A CudaStruct knows of members that a device aligns more strictly than NumPy does.
        return int(getattr(self.struct, "alignment", numpy_alignment))


def kernel_parameters(reader: Reader, header: KernelHeader) -> tuple[CudaParameter, ...]:
    """Read the parameters of a kernel."""
    words, offsets = reader.tokens.words, reader.tokens.offsets
    start, stop, _ = header.parameters
    for block in reader.tokens.undecided:
        if start < block.start < stop or (block.start <= start < block.stop <= stop):
            reader.fail(
                f"the parameters of {header.name!r} depend on '{block.directive}', which nothing here decides; say "
                "in defines={...} which macros the compiler is given",
                block.offset,
            )
    if words[start:stop] in ([], ["void"]):
        return ()
    found: list[CudaParameter] = []
    places: dict[str, int] = {}
    for position, (first, last) in enumerate(_pieces(reader, start, stop)):
        place = offsets[min(first, len(offsets) - 1)]
        reader.memory.steps = 0
        reader.label = f"parameter {position + 1} of the kernel {header.name!r}: "
        if first == last:
            reader.fail("there is nothing between two commas; write the parameter, or remove the comma", place)
        if words[first] == "...":
            reader.fail("a kernel can't have a variable number of arguments; write each out", place)
        cursor = Cursor(words, offsets, first, last)
        kind, name = reader.declared(cursor)
        if name is not None:
            reader.label = f"parameter {name!r} of the kernel {header.name!r}: "
            if name in places:
                line, column = reader.tokens.position(places[name])
                reader.fail(f"there is another one of this name at {line}:{column}; rename one", place)
            places[name] = place
        if cursor.more() and cursor.peek() != "=":
            if cursor.peek() == "...":
                reader.fail("a kernel can't have a variable number of arguments; write each out", cursor.offset())
            reader.fail(f"there is {cursor.peek()!r} after it; write a comma between parameters", cursor.offset())
        found.append(_as_parameter(reader, kind, name or "", place))
    reader.label = ""
    for position, parameter in enumerate(found):
        if not parameter.name:
            name = f"_{position}"
            while name in places:
                name = f"_{name}"
            places[name] = 0
            found[position] = parameter._replace(name=name)
    size = 0
    for parameter in found:
        size = -(-size // parameter.alignment) * parameter.alignment + parameter.size
    if size > MAX_PARAMETER_BYTES:
        reader.fail(
            f"the parameters of {header.name!r} take {size} bytes, and a device accepts {MAX_PARAMETER_BYTES}; put "
            "a large struct into device memory and pass a pointer to it",
            offsets[header.name_index],
        )
    return tuple(found)


def _pieces(reader: Reader, start: int, stop: int) -> list[tuple[int, int]]:
    """Split a parameter list; a default value may compare with '<', so there only brackets count."""
    words = reader.tokens.words
    found: list[tuple[int, int]] = []
    begin, place, in_default = start, start, False
    while place < stop:
        word = words[place]
        if word in ("(", "[", "{"):
            place = end_of_group(words, place, stop)
            continue
        if word == "<":
            end = end_of_group(words, place, stop)
            closed = words[end - 1] == ">" and end - 1 > place
            if in_default:  # `a < 1, int b = 2 > (1)` are two parameters: no template argument assigns
                assigns = "=" in _outside_brackets(words, place + 1, end - 1)
                closed = closed and is_name(words[place - 1]) and not assigns
            if closed and (not in_default or words[end : end + 1] in (["("], ["{"], ["::"], [","], [")"])):
                place = end
                continue
            if not in_default:
                reader.fail("the '<' has no '>'", reader.tokens.offsets[place])
        elif word == "=":
            in_default = True
        elif word == ",":
            found.append((begin, place))
            begin, in_default = place + 1, False
        place += 1
    return [*found, (begin, stop)]


def _outside_brackets(words: Sequence[str], start: int, stop: int) -> Iterator[str]:
    """Give the words that stand in no brackets."""
    while start < stop:
        yield words[start]
        start = end_of_group(words, start, stop) if words[start] in OPENING else start + 1


def _as_parameter(reader: Reader, kind: Type, name: str, offset: int) -> CudaParameter:
    """Make a parameter of a kernel of its type, or say why a kernel can't have one."""
    shown = name or "x"
    if kind.extents:  # a parameter that is an array is a pointer to its elements
        if len(kind.extents) > 1:
            reader.fail(
                f"it is a pointer to rows of an array; write '{kind.text()}* {shown}' and compute the index, or "
                f"'Array{min(len(kind.extents), MAX_VIEW_NDIM)}D<{kind.ctype}> {shown}'",
                offset,
            )
        kind = kind._replace(pointers=(*kind.pointers, False), extents=())
    if kind.reference:
        plain = kind._replace(reference="")
        alternative = "" if kind.view_ndim is not None else f" or '{plain.text()}* {shown}' for an array"
        by_value = plain._replace(const=False) if not plain.pointers else plain
        reader.fail(
            f"it is a reference ({kind.text()!r}), and a kernel's arguments are copied to the device; write "
            f"'{by_value.text()} {shown}'{alternative}",
            offset,
        )
    return _by_value(reader, kind, name, shown, offset)


def _by_value(reader: Reader, kind: Type, name: str, shown: str, offset: int) -> CudaParameter:
    pointer = bool(kind.pointers)
    if len(kind.pointers) > 1:
        reader.fail(
            f"it is a pointer to pointers ({kind.text()!r}); write '{kind.ctype}* {shown}' to one array with "
            f"offsets, or 'unsigned long long* {shown}' to an array of addresses",
            offset,
        )
    if pointer and kind.view_ndim is not None:
        reader.fail(f"it is a pointer to a view; write '{kind.ctype} {shown}', which is a small object", offset)
    if not pointer and kind.dtype is None:
        reader.fail(f"it has the type void; write 'void* {shown}' for an address", offset)
    if not pointer and kind.struct is None and kind.view_ndim is None and kind.dtype == np.dtype("V2"):
        reader.fail(f"NumPy has no {kind.ctype}; write 'float {shown}' and convert it in the kernel", offset)
    const = kind.element_const if kind.view_ndim is not None else kind.const and pointer
    return CudaParameter(name, kind.ctype, kind.dtype, pointer, kind.struct, kind.view_ndim, kind.contiguous, const)


def as_member(
    reader: Reader, kind: Type, name: str, offset: int, *, pointer_for_empty_extent: bool = False
) -> CudaParameter:
    """Make a field of a struct of its type, or say why a struct can't have one."""
    if kind.reference:
        reader.fail(f"it is a reference; write '{kind._replace(reference='').text()}* {name}'", offset)
    if pointer_for_empty_extent and kind.extents == (NO_EXTENT,):
        kind = kind._replace(pointers=(*kind.pointers, False), extents=())
    extents, kind = kind.extents, kind._replace(extents=())
    field = _by_value(reader, kind, name, name, offset)
    if not extents:
        return field
    known = [extent for extent in extents if extent is not None and extent > 0]
    if len(known) != len(extents):
        reader.fail(f"its extents can't be told; write numbers, such as '{kind.ctype} {name}[3]'", offset)
    if field.pointer or field.view_ndim is not None or field.dtype is None:
        reader.fail("it is an array of pointers or views; write one field for each", offset)
    try:
        dtype = np.dtype((field.dtype, tuple(known)))
    except ValueError:
        reader.fail("it is larger than NumPy can hold", offset)
    return field._replace(dtype=dtype)


def field_type(field: CudaParameter) -> str:
    """Return the type of a parameter or field as `CudaStruct` takes it, which knows no enumerations of a source."""
    return declared_type(field, in_source=False)


def declared_type(field: CudaParameter, *, in_source: bool = True) -> str:
    """Return the type of a parameter or field, with the names of the source or without those of its enumerations."""
    view, bracket, element = field.ctype.partition("<") if field.view_ndim is not None else ("", "", f"{field.ctype}>")
    name = element[:-1]
    if not in_source and field.struct is None and field.dtype is not None and scalar_type(name) is None:
        name = CTYPE_OF[field.dtype.base]
    const = "const " if field.const else ""
    if field.view_ndim is not None:
        return f"{view}{bracket}{const}{name}>"
    if field.pointer:
        return f"{const}{name}*"
    return name + "".join(f"[{extent}]" for extent in (() if field.dtype is None else field.dtype.shape))
