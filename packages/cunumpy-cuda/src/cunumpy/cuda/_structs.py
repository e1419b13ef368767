"""The members of structs, read from source code, for comparison with the layout that a caller gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cunumpy.cuda._arguments import argument_error, as_defines, check_text, structs_by_name
from cunumpy.cuda._brackets import end_of_group, split
from cunumpy.cuda._declarations import ATTRIBUTES, Declarations, StructHeader, read_declarations, skip_attributes
from cunumpy.cuda._parameters import CudaParameter, as_member
from cunumpy.cuda._tokens import SourceError, Tokens, words_of
from cunumpy.cuda._types import Cursor, Reader
from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NoReturn


class StructDefinition(NamedTuple):
    """How a source defines a struct.

    `problem` says, with the place, why the members can't be compared; there are none then. `alignment` is what
    ``alignas`` or ``__align__`` ask for.
    """

    name: str
    members: tuple[CudaParameter, ...]
    problem: str | None
    alignment: int | None
    line: int
    column: int


def struct_definition(
    source: str,
    name: str,
    *,
    structs: Iterable[Any] = (),
    defines: Mapping[str, Any] | None = None,
    filename: str = "<source>",
    function: str = "check_source",
) -> StructDefinition | None:
    """Read how a source defines a struct.

    Parameters
    ----------
    source : str
        CUDA C++ source code.
    name : str
        The struct, also qualified. ``struct``, ``class`` and ``typedef struct { } name`` are found.
    structs : iterable of CudaStruct
        Struct types of its members.
    defines, filename, function
        As for `parse_cuda_signature`; the function is for the error messages.

    Returns
    -------
    StructDefinition or None
        None if the source has no definition. Member functions, static members and types inside it do not count as
        members; base classes, virtual functions, bit-fields, references, unions, templates, packing, and what depends
        on undecided conditions make a `problem`.

    Raises
    ------
    ArgumentError
        The source can't be read at all: a comment, raw string or ``#if`` does not end.
    """
    check_text(source, "source", "the source code", function)
    known = structs_by_name(structs, function)
    try:
        declarations = read_declarations(source, as_defines(defines, function))
        path = tuple(word for word in words_of(name) if word != "::")
        headers = [
            header
            for place, found in declarations.structs.items()
            for header in found
            if declarations.is_called(place, path)
        ]
        definitions = [read_struct(declarations, name, header, known, filename) for header in headers]
    except SourceError as error:
        raise argument_error(error, function, filename) from None
    if not definitions:
        return None
    first = definitions[0]
    for other in definitions[1:]:
        if other[1:4] != first[1:4]:
            problem = f"{filename}:{other.line}:{other.column}: it is defined another time, differently"
            return first._replace(members=(), problem=problem)
    return first


def member(ctype: str, name: str, *, structs: Iterable[Any] = (), function: str = "CudaStruct") -> CudaParameter:
    """Read the C type of one field of a struct, such as ``"const double*"`` or ``"double[3]"``.

    Raises
    ------
    ArgumentError
        It is no type that a field can have.
    """
    known = structs_by_name(structs, function)
    try:
        declarations = Declarations(Tokens(ctype, None))
        reader = Reader(declarations, known, {}, ())
        cursor = Cursor(declarations.tokens.words, declarations.tokens.offsets)
        if not cursor.words:
            raise SourceError("there is no type", 1, 1)
        kind, found = reader.declared(cursor)
        if found is not None or cursor.more():
            reader.fail(f"{ctype!r} is not a type alone", cursor.offset())
        return as_member(reader, kind, name, 0, pointer_for_empty_extent=True)
    except SourceError as error:
        raise ArgumentError(f"{function}: field {name!r} of type {ctype!r}: {error.message}.") from None


def read_struct(
    declarations: Declarations, name: str, header: StructHeader, known: Mapping[str, Any], filename: str
) -> StructDefinition:
    tokens = declarations.tokens
    line, column = tokens.position(tokens.offsets[header.place])
    try:
        alignment = _struct_alignment(declarations, header)
        members = _StructReader(declarations, header, known).members()
    except SourceError as error:
        problem = f"{filename}:{error.line}:{error.column}: {error.message}"
        return StructDefinition(name, (), problem, None, line, column)
    return StructDefinition(name, members, None, alignment, line, column)


def _struct_alignment(declarations: Declarations, header: StructHeader) -> int | None:
    """Return what alignment the head of a struct asks for; refuse what changes the layout in other ways."""
    tokens, head = declarations.tokens, header.head
    words = tokens.words[head.start : head.stop]
    here = tokens.offsets[header.place]
    if header.keyword == "union":
        raise tokens.error("it is a union, whose members share their place; describe one of them", here)
    if header.is_template:
        raise tokens.error("it is a template; define a struct without parameters", here)
    if ":" in words:
        raise tokens.error("it has base classes; write their members into it", here)
    if sum(1 for place in tokens.packing if place <= header.place) % 2:
        raise tokens.error("#pragma pack changes its layout; remove it", here)
    if any(word.strip("_") == "packed" for word in words):
        raise tokens.error("it is packed; remove the attribute", here)
    reader = Reader(declarations, {}, {}, head.scope)
    alignment: int | None = None
    for index, word in enumerate(words):
        if word.strip("_") in ("align", "alignas", "Alignas", "aligned") and words[index + 1 : index + 2] == ["("]:
            stop = end_of_group(words, index + 1, len(words))
            value = reader.value(words[index + 2 : stop - 1], head.scope, {})
            if value is None:
                raise tokens.error("its alignment can't be told; write a number", here)
            alignment = max(alignment or 0, value)
    for block in tokens.undecided:
        if header.body.start <= block.start < header.body.stop:
            raise tokens.error(
                f"its members depend on '{block.directive}'; say in defines={{...}} which macros the compiler is given",
                block.offset,
            )
    return alignment


_NO_MEMBER = frozenset({"using", "static", "friend", "static_assert", "constexpr", "template", "typedef", "extern"})


class _StructReader:
    """Reads the body of a struct, declaration by declaration."""

    def __init__(self, declarations: Declarations, header: StructHeader, known: Mapping[str, Any]) -> None:
        self.tokens = declarations.tokens
        self.body = header.body
        # Types inside the struct are not collected: a member of such a type makes it a struct that can't be compared.
        self.reader = Reader(declarations, known, {}, header.body.scope)

    def members(self) -> tuple[CudaParameter, ...]:
        words, place = self.tokens.words, self.body.start
        found: list[CudaParameter] = []
        while place < self.body.stop:
            word = words[place]
            if word == ";":
                place += 1
            elif word in ("public", "private", "protected") and words[place + 1 : place + 2] == [":"]:
                place += 2
            else:
                stop, is_member = self.statement(place)
                if is_member:
                    self.declaration(place, stop, found)
                place = stop + (words[stop : stop + 1] == [";"])
        return tuple(found)

    def statement(self, start: int) -> tuple[int, bool]:
        """Return where a declaration ends, and whether it declares members."""
        words, stop = self.tokens.words, self.body.stop
        first = words[start]
        place = start
        if first == "virtual":
            self.refuse("it has virtual functions, which change its layout; remove them", start)
        is_member = first not in _NO_MEMBER
        is_value = False
        nested = first in ("struct", "class", "union", "enum")
        while place < stop and words[place] != ";":
            word = words[place]
            if word in ATTRIBUTES or (word == "[" and words[place + 1 : place + 2] == ["["]):
                if word.strip("_") in ("alignas", "align", "Alignas"):
                    self.refuse("a member has an alignment of its own; give it to the whole struct", place)
                place = skip_attributes(words, place, stop)
                continue
            if word == "<":
                after = end_of_group(words, place, stop)
                place = after if words[after - 1] == ">" and after < stop else place + 1
                continue
            if word in ("=", ",") and words[place - 1] != "operator":
                is_value = word == "="
            if word == "(" and is_member and not is_value:
                name = words[place - 1] if place > start else ""
                if name in self.tokens.function_macros:
                    self.reader.unreadable(name, self.tokens.offsets[place])
                if words[place + 1 : place + 2] != ["*"] or name in ("operator",):
                    return self.end_of_function(place), False
                self.refuse("a member is a pointer to a function; remove it, or make it an integer", place)
            if word in ("{", "(", "["):
                if word == "{" and nested and is_member and "=" not in words[start:place]:
                    end = end_of_group(words, place, stop)
                    if words[end : end + 1] == [";"]:
                        if first in ("struct", "union", "class") and place == start + 1:
                            self.refuse(f"it has a {first} without a name inside; write its members out", start)
                        return end, False
                    self.refuse("a member has a type that is defined inside; define the type before", start)
                if word == "{" and first == "template":
                    end = end_of_group(words, place, stop)
                    return end, False
                place = end_of_group(words, place, stop)
                if words[place - 1] == "}" and first in ("friend", "static", "constexpr") and "(" in words[start:place]:
                    return place, False
                continue
            place += 1
        return place, is_member

    def end_of_function(self, place: int) -> int:
        """Return the place after a member function, from its parameters on."""
        words, stop = self.tokens.words, self.body.stop
        place = end_of_group(words, place, stop)
        while place < stop and words[place] != ";":
            if words[place] == ":":  # initialisers: name(value), name{value}, ... before the body
                place += 1
                while place < stop and words[place] not in ("{", "(", ";"):
                    place += 1
                while place < stop and words[place] in ("(", "{"):
                    place = end_of_group(words, place, stop)
                    if words[place : place + 1] != [","]:
                        break
                    while place < stop and words[place] not in ("{", "(", ";"):
                        place += 1
                continue
            if words[place] == "{":
                return end_of_group(words, place, stop)
            place = end_of_group(words, place, stop) if words[place] in ("(", "[") else place + 1
        return place

    def declaration(self, start: int, stop: int, found: list[CudaParameter]) -> None:
        words, offsets, reader = self.tokens.words, self.tokens.offsets, self.reader
        while start < stop and words[start] == "mutable":
            start += 1
        reader.label = ""
        cursor = Cursor(words, offsets, start, stop)
        base = reader.specifiers(cursor)
        for first, last in split(words, cursor.place, stop):
            piece = Cursor(words, offsets, first, last)
            offset = piece.offset()
            kind, name = reader.declarator(piece, base)
            if piece.peek() == ":":
                self.refuse("it has bit-fields; write whole members", piece.place)
            if name is None:
                self.refuse("a declaration without a name can't be read", first)
            if piece.more() and piece.peek() not in ("=", "{"):
                self.refuse(f"there is {piece.peek()!r} after the member {name!r}", piece.place)
            found.append(as_member(reader, kind, name, offset))

    def refuse(self, message: str, place: int) -> NoReturn:
        offsets = self.tokens.offsets
        raise self.tokens.error(message, offsets[min(place, len(offsets) - 1)])
