"""Types as C++ writes them, read in the light of a source's declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy.cuda._brackets import end_of_group, split
from cunumpy.cuda._ctypes_table import (
    BUILTIN_WORDS,
    COMPLEX,
    NAMED_TYPES,
    STANDARD_NAMES,
    ScalarType,
    builtin_type,
    scalar_type,
)
from cunumpy.cuda._declarations import (
    ATTRIBUTES,
    CONSTANT_SPECIFIERS,
    QUALIFIERS,
    Alias,
    Constant,
    Declarations,
    Enumeration,
    Path,
    skip_attributes,
)
from cunumpy.cuda._integers import Integer, evaluate, of_dtype
from cunumpy.cuda._templates import TemplateArgument, bind_template, read_template
from cunumpy.cuda._tokens import SourceError, is_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NoReturn

MAX_VIEW_NDIM = 16

_VIEW = re.compile(r"(C?)Array([1-9]\d?)D")
_VIEW_NAMESPACES = {(), ("cunumpy",)}
_COMPLEX_NAMESPACES = {(), ("thrust",), ("cuda", "std")}
_STANDARD_NAMESPACES = {("std",), ("cuda", "std")}
NO_EXTENT = -1
"""Of an array that is written ``x[]``."""

_DEEPEST, _MOST_STEPS = 50, 20_000
"""Types and values that need more levels, or more steps for one parameter, are refused."""


class Cursor:
    """A place among words."""

    __slots__ = ("offsets", "place", "stop", "words")

    def __init__(self, words: Sequence[str], offsets: Sequence[int], start: int = 0, stop: int | None = None) -> None:
        self.words, self.offsets, self.place = words, offsets, start
        self.stop = len(words) if stop is None else stop

    def peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.words[place] if place < self.stop else ""

    def take(self) -> str:
        self.place += 1
        return self.words[self.place - 1]

    def more(self) -> bool:
        return self.place < self.stop

    def offset(self) -> int:
        if not self.offsets:
            return 0
        return self.offsets[min(self.place, self.stop - 1, len(self.offsets) - 1)]

    def skip_attributes(self) -> None:
        self.place = skip_attributes(self.words, self.place, self.stop)


class Type(NamedTuple):
    """A type while it is read. `pointers` and `extents` go from the base type outwards."""

    ctype: str
    dtype: np.dtype[Any] | None
    offset: int
    struct: Any = None
    view_ndim: int | None = None
    contiguous: bool = False
    const: bool = False
    element_const: bool = False
    pointers: tuple[bool, ...] = ()
    """Whether each pointer itself is const."""
    reference: str = ""
    extents: tuple[int | None, ...] = ()

    def qualified(self) -> Type:
        """Return the const type."""
        if self.pointers:
            return self._replace(pointers=(*self.pointers[:-1], True))
        return self._replace(const=True)

    def text(self) -> str:
        """Return the type as C++ text, for messages."""
        const = "const " if self.const else ""
        stars = "".join("* const" if one else "*" for one in self.pointers)
        return f"{const}{self.ctype}{stars}{self.reference}"


@dataclass(slots=True)
class _Memory:
    """What the readers of one declaration share: values found, and how much work it was."""

    steps: int = 0
    constants: dict[Path, Integer | None] = field(default_factory=dict)
    enumerators: dict[int, list[Integer | None]] = field(default_factory=dict)
    followed: set[int] = field(default_factory=set)
    """Aliases of which it is asked now whether they mean a class."""


class Reader:
    """Reads types in the light of a source's declarations and of template arguments."""

    def __init__(
        self,
        declarations: Declarations,
        known: Mapping[str, Any],
        bindings: Mapping[str, TemplateArgument],
        scope: Path,
    ) -> None:
        self.declarations = declarations
        self.tokens = declarations.tokens
        self.known = known
        self.bindings = bindings
        self.scope = scope
        self.depth = 0
        self.memory = _Memory()
        self.label = ""

    def fail(self, message: str, offset: int) -> NoReturn:
        raise self.tokens.error(f"{self.label}{message}", offset)

    def inside(self, scope: Path, bindings: Mapping[str, TemplateArgument]) -> Reader:
        """Return a reader of names as they are seen elsewhere."""
        reader = Reader(self.declarations, self.known, bindings, scope)
        reader.depth, reader.label, reader.memory = self.depth + 1, self.label, self.memory
        return reader

    def check_depth(self, offset: int) -> None:
        self.memory.steps += 1
        if self.depth > _DEEPEST or self.memory.steps > _MOST_STEPS:
            self.fail("the type is nested too deeply, or defined by itself; write it out", offset)

    # One declaration

    def declared(self, cursor: Cursor) -> tuple[Type, str | None]:
        """Read a type with its declarator; return the name that is declared, None if there is none."""
        base = self.specifiers(cursor)
        return self.declarator(cursor, base)

    def specifiers(self, cursor: Cursor) -> Type:
        """Read a type up to its declarator."""
        words: list[str] = []
        base: Type | None = None
        const = False
        start = cursor.offset()
        while cursor.more():
            word = cursor.peek()
            if word in QUALIFIERS:
                const = const or word == "const"
                cursor.place += 1
            elif word in ATTRIBUTES or (word == "[" and cursor.peek(1) == "["):
                cursor.skip_attributes()
            elif word in BUILTIN_WORDS:
                if base is not None:
                    break
                words.append(cursor.take())
            elif word in ("struct", "class", "enum", "union", "typename") and base is None and not words:
                cursor.place += 1
            elif (is_name(word) or word == "::") and base is None and not words:
                base = self.named(cursor)
            else:
                break
        if base is None:
            if not words:
                found = cursor.peek()
                self.fail(f"there is {found!r} where a type should be" if found else "there is no type", start)
            base = self.builtin(words, start)
        return base.qualified() if const else base

    def builtin(self, words: Sequence[str], offset: int) -> Type:
        name = " ".join(words)
        scalar = builtin_type(words)
        if scalar is None:
            remedy = "CUDA has no wider type than double, so write 'double'" if "long" in words else "name one type"
            self.fail(f"{name!r} is no type of CUDA; {remedy}", offset)
        return Type(name, scalar.dtype, offset)

    def declarator(self, cursor: Cursor, kind: Type) -> tuple[Type, str | None]:
        """Read pointers, the name and extents."""
        while cursor.more():
            word = cursor.peek()
            if word == "*":
                kind = kind._replace(pointers=(*kind.pointers, False))
            elif word == "const":
                kind = kind.qualified()
            elif word in QUALIFIERS:
                pass
            elif word in ("&", "&&"):
                kind = kind._replace(reference=word)
            elif word in ATTRIBUTES or (word == "[" and cursor.peek(1) == "["):
                cursor.skip_attributes()
                continue
            else:
                break
            cursor.place += 1
        word = cursor.peek()
        if word == "(":
            self.fail(
                "it is a pointer to a function or an array, or a name in parentheses; functions have no address that "
                "is valid on the device, so choose them by a template parameter or a number; pass an array as a "
                "pointer to its elements, without parentheses",
                cursor.offset(),
            )
        if word == "...":
            self.fail("it is a parameter pack, whose length the source does not give; write it out", cursor.offset())
        name = None
        if is_name(word):
            if cursor.peek(1) == "::":
                self.fail("it is a pointer to a member; pass a number that says which one", cursor.offset())
            if cursor.peek(1) == "(" or (cursor.peek(1) == "<" and cursor.peek(2)):
                self.unreadable(word, cursor.offset())
            name = cursor.take()
        cursor.skip_attributes()
        extents: list[int | None] = []
        while cursor.peek() == "[":
            stop = end_of_group(cursor.words, cursor.place, cursor.stop)
            inner = cursor.words[cursor.place + 1 : stop - 1]
            extents.append(self.value(inner, self.scope, self.bindings) if inner else NO_EXTENT)
            cursor.place = stop
            cursor.skip_attributes()
        return kind._replace(extents=(*extents, *kind.extents)), name  # of an array of arrays its own come first

    # Names of types

    def named(self, cursor: Cursor) -> Type:
        """Read a type with a name of its own."""
        offset = cursor.offset()
        self.check_depth(offset)
        start = cursor.place
        is_global = cursor.peek() == "::"
        if is_global:
            cursor.place += 1
        path: list[str] = []
        arguments: list[TemplateArgument] | None = None
        while True:
            if not is_name(cursor.peek()):
                self.fail(f"there is {cursor.peek()!r} where a type should be", offset)
            path.append(cursor.take())
            if cursor.peek() == "<":
                arguments = self.arguments(cursor)
            if cursor.peek() != "::" or not is_name(cursor.peek(1)):
                break
            if arguments is not None:
                while cursor.peek() == "::" and is_name(cursor.peek(1)):
                    cursor.place += 2
                text = spelled(cursor.words[start : cursor.place])
                self.fail(f"{text!r} depends on a class that is not read; write the type that it stands for", offset)
            cursor.place += 1
        if not is_global and len(path) == 1 and arguments is None:
            if path[0] in self.bindings:
                return self.bound(self.bindings[path[0]], offset)
            if path[0] in ("auto", "decltype"):
                self.fail(f"{path[0]!r} leaves the type open; write it out, or a template parameter", offset)
        scope = () if is_global else self.scope
        return (
            self.struct_type(tuple(path), arguments, scope, offset)
            or self.declared_type(tuple(path), arguments, scope, offset)
            or self.library_type(tuple(path), arguments, offset)
            or self.unknown(tuple(path), arguments, scope, offset, cursor)
        )

    def bound(self, argument: TemplateArgument, offset: int) -> Type:
        reader = self.inside(argument.scope, argument.bindings)
        cursor = Cursor(argument.words, argument.offsets)
        if not cursor.more():
            self.fail("a template argument is empty; give a type", offset)
        kind, name = reader.declared(cursor)
        if cursor.more() or name is not None:
            self.fail(f"the template argument {spelled(argument.words)!r} is no type", offset)
        return kind._replace(offset=offset)

    def arguments(self, cursor: Cursor) -> list[TemplateArgument]:
        """Read template arguments in angle brackets."""
        stop = end_of_group(cursor.words, cursor.place, cursor.stop)
        if cursor.words[stop - 1] != ">" or stop - 1 == cursor.place:
            self.fail("the '<' has no '>'", cursor.offset())
        found = [
            TemplateArgument(cursor.words[first:last], cursor.offsets[first:last], self.scope, self.bindings)
            for first, last in split(cursor.words, cursor.place + 1, stop - 1)
        ]
        cursor.place = stop
        return found

    def argument_text(self, argument: TemplateArgument) -> str:
        """Return a template argument as text, with what it stands for in place of names."""
        self.check_depth(argument.offsets[0] if argument.offsets else 0)
        value = self.value(argument.words, argument.scope, argument.bindings)
        if value is not None:
            return str(value)
        if len(argument.words) == 1 and argument.words[0] in argument.bindings:
            return self.argument_text(argument.bindings[argument.words[0]])
        return self.bound(argument, argument.offsets[0] if argument.offsets else 0).text()

    def struct_type(
        self, path: Path, arguments: list[TemplateArgument] | None, scope: Path, offset: int
    ) -> Type | None:
        """Return a struct that is given, unless the source has a nearer type of this name that is none."""
        if path[-1] not in self.known and not (arguments is not None and self.known):
            return None
        name = path[-1]
        if arguments is not None:
            if not any(known.startswith(f"{name}<") for known in self.known):
                return None
            name = f"{name}<{', '.join(map(self.argument_text, arguments))}>"
        struct = self.known.get(name)
        if struct is None or (arguments is None and self.is_other_type(path, scope, offset)):
            return None
        return Type(name, struct.dtype, offset, struct=struct)

    def is_other_type(self, path: Path, scope: Path, offset: int) -> bool:
        """Tell whether the nearest type of a name is a number, a pointer or the like, rather than a class."""
        declarations = self.declarations
        for depth in range(len(scope), -1, -1):
            meanings = declarations.meanings(path, scope[:depth])
            if any(one in declarations.structs for one in meanings):
                return False
            aliases = {alias.words.start for one in meanings for alias in declarations.aliases.get(one, ())}
            if aliases:
                if aliases & self.memory.followed:  # typedef struct Name Name; using space::Name;
                    return False
                self.memory.followed |= aliases
                try:
                    found = self.declared_type(path, None, scope[:depth], offset)
                except SourceError:  # of a class that is not given
                    return False
                finally:
                    self.memory.followed -= aliases
                return found is not None and found.struct is None
            if any(one in declarations.enumerations for one in meanings):
                return True
        return False

    def declared_type(
        self, path: Path, arguments: list[TemplateArgument] | None, scope: Path, offset: int
    ) -> Type | None:
        """Return the type that the source gives a name."""
        found = self.declarations.find(self.declarations.aliases, path, scope)
        if found is not None:
            kinds = [self.alias(one, arguments, path[-1], offset) for one in found[1]]
            self.check_same(kinds, path[-1], [one.words.start for one in found[1]], offset)
            kind = kinds[0]
            table = NAMED_TYPES.get(path[-1])
            plain = not kind.pointers and not kind.extents and kind.struct is None and kind.view_ndim is None
            if table is not None and plain and table.dtype == kind.dtype:
                return kind._replace(ctype=path[-1], offset=offset)  # int64_t, defined for NVRTC
            return kind._replace(offset=offset)
        listed = self.declarations.find(self.declarations.enumerations, path, scope)
        if listed is not None and arguments is None:
            kinds = [self.enumeration(one, offset) for one in listed[1] if one.body or one.underlying]
            self.check_same(kinds, path[-1], [(one.body or one.underlying or (0,))[0] for one in listed[1]], offset)
            return kinds[0]
        return None

    def check_same(self, kinds: list[Type], name: str, places: list[int], offset: int) -> None:
        for kind, place in zip(kinds, places, strict=True):
            if kind._replace(offset=0) != kinds[0]._replace(offset=0):
                lines = " and ".join(str(self.tokens.position(self.tokens.offsets[one])[0]) for one in places)
                blocks = [block for block in self.tokens.undecided if block.start <= place < block.stop]
                why = f", depending on '{blocks[-1].directive}'" if blocks else ""
                self.fail(
                    f"{name!r} means several types (lines {lines}){why}; say in defines={{...}} which macros the "
                    "compiler is given",
                    offset,
                )

    def alias(self, alias: Alias, arguments: list[TemplateArgument] | None, name: str, offset: int) -> Type:
        bindings: Mapping[str, TemplateArgument] = {}
        if alias.template is not None:
            parameters = read_template(self.declarations, alias.template)
            bindings = bind_template(self.declarations, parameters, arguments or (), f"{self.label}{name!r}", offset)
        elif arguments is not None:
            self.fail(f"{name!r} is no template; leave out what stands in '<>'", offset)
        reader = self.inside(alias.words.scope, bindings)
        reader.check_depth(offset)
        words, offsets = self.tokens.words, self.tokens.offsets
        cursor = Cursor(words, offsets, alias.words.start, alias.words.stop)
        base = reader.specifiers(cursor)
        if alias.declarator is not None:
            cursor = Cursor(words, offsets, alias.declarator.start, alias.declarator.stop)
        kind, _ = reader.declarator(cursor, base)
        if cursor.more():
            self.fail(f"{name!r} is {spelled(words[alias.words.start : alias.words.stop])!r}, no plain type", offset)
        return kind

    def enumeration(self, enumeration: Enumeration, offset: int) -> Type:
        """Return an enumeration's type; without an underlying type it is the compilers' choice for its values."""
        name = "::".join(filter(None, enumeration.name))
        if enumeration.underlying is not None:
            underlying = enumeration.underlying
            cursor = Cursor(self.tokens.words, self.tokens.offsets, underlying.start, underlying.stop)
            kind = self.inside(underlying.scope, {}).specifiers(cursor)
            return Type(name, kind.dtype, offset)
        if enumeration.scoped:
            return Type(name, np.dtype(np.int32), offset)
        values: list[int] = [0]
        for value in self.enumerators(enumeration):
            if value is None:
                self.fail(
                    f"the values of the enumeration {name!r} can't be told, and its type neither; write "
                    f"'enum {name} : int'",
                    offset,
                )
            values.append(value.value)
        low, high = min(values), max(values)
        bits = 32 if (low >= -(2**31) and high < 2**31) or (low >= 0 and high < 2**32) else 64
        return Type(name, np.dtype(f"{'i' if low < 0 else 'u'}{bits // 8}"), offset)

    def library_type(self, path: Path, arguments: list[TemplateArgument] | None, offset: int) -> Type | None:
        """Return a type of CUDA's, the C++ library's or CuNumpy's."""
        space, name = path[:-1], path[-1]
        if arguments is None:
            scalar: ScalarType | None = None
            if not space or (name in STANDARD_NAMES and space in _STANDARD_NAMESPACES):
                scalar = NAMED_TYPES.get(name)
            if scalar is None:
                return None
            ctype = f"std::{name}" if space == ("std",) else name
            return Type(ctype, scalar.dtype, offset)
        if name == "complex" and space in _COMPLEX_NAMESPACES and len(arguments) == 1:
            component = self.bound(arguments[0], offset)
            scalar = COMPLEX.get(f"complex<{component.ctype}>")
            if scalar is None or component.pointers:
                self.fail(f"there is no complex<{component.text()}>; write complex<float> or complex<double>", offset)
            return Type(f"complex<{component.ctype}>", scalar.dtype, offset)
        view = _VIEW.fullmatch(name)
        if view is not None and space in _VIEW_NAMESPACES and int(view[2]) <= MAX_VIEW_NDIM:
            if len(arguments) != 1:
                self.fail(f"{name} takes one template argument, the type of its elements", offset)
            element = self.bound(arguments[0], offset)
            if element.dtype is None or element.pointers or element.view_ndim is not None or element.extents:
                self.fail(
                    f"a view can't have elements of type {element.text()!r}; they are numbers, vectors or structs",
                    offset,
                )
            return Type(
                f"{name}<{element.ctype}>",
                element.dtype,
                offset,
                struct=element.struct,
                view_ndim=int(view[2]),
                contiguous=bool(view[1]),
                element_const=element.const,
            )
        return None

    def unknown(
        self, path: Path, arguments: list[TemplateArgument] | None, scope: Path, offset: int, cursor: Cursor
    ) -> NoReturn:
        name = path[-1]
        if arguments is None and cursor.peek() == "(":
            self.unreadable(name, offset)
        text = "::".join(path)
        if arguments is not None:
            text += f"<{', '.join(spelled(one.words) for one in arguments)}>"
        if name in self.tokens.ambiguous_macros:
            lines = " and ".join(str(self.tokens.position(one)[0]) for one in self.tokens.ambiguous_macros[name])
            self.fail(
                f"the macro {name} has several definitions (lines {lines}); say in defines={{...}} which macros the "
                "compiler is given",
                offset,
            )
        headers = self.declarations.find(self.declarations.structs, path, scope)
        if headers is not None and arguments is None:
            line = self.tokens.position(self.tokens.offsets[headers[1][0].place])[0]
            from cunumpy.cuda._parameters import field_type  # which need this module
            from cunumpy.cuda._structs import read_struct

            fields = read_struct(self.declarations, name, headers[1][0], self.known, "").members
            listed = ", ".join(f'("{one.name}", "{field_type(one)}")' for one in fields) or "..."
            self.fail(
                f"{name!r} is a struct (line {line}) whose layout is not given; pass "
                f'structs=[CudaStruct("{name}", [{listed}])]',
                offset,
            )
        if name in ("__int128", "__int128_t", "__uint128_t"):
            self.fail(f"NumPy has no type like {name!r}; pass two 64-bit integers", offset)
        known = scalar_type(name) if arguments is None else None
        remedy = (
            f"write {name!r} without a namespace"
            if known is not None
            else "write a type of C++ or CUDA, define it in the source with typedef, using or #define, pass a struct "
            "of this name in structs=[...], or take void* and cast it"
        )
        self.fail(f"the type {text!r} is not known; {remedy}", offset)

    def unreadable(self, name: str, offset: int) -> NoReturn:
        """Refuse what looks like a macro with parameters."""
        if name in self.tokens.function_macros:
            line = self.tokens.position(self.tokens.function_macros[name])[0]
            self.fail(
                f"{name}(...) is a macro with parameters (line {line}), which is not expanded here; write out what it "
                "stands for",
                offset,
            )
        self.fail(f"{name!r} is followed by what belongs to no parameter; write '<type> {name}'", offset)

    # Values

    def value(
        self, words: Sequence[str], scope: Path, bindings: Mapping[str, TemplateArgument], depth: int = 0
    ) -> int | None:
        """Evaluate a constant expression; None if it can't be told."""
        found = self.integer(words, scope, bindings, depth)
        return None if found is None else found.value

    def integer(
        self, words: Sequence[str], scope: Path, bindings: Mapping[str, TemplateArgument], depth: int = 0
    ) -> Integer | None:
        """Evaluate a constant expression; None if it can't be told."""
        self.memory.steps += 1
        if depth > _DEEPEST or self.memory.steps > _MOST_STEPS:
            return None

        def lookup(name: str) -> Integer | int | None:
            if name in ("true", "false"):
                return name == "true"
            if name in bindings:
                argument = bindings[name]
                return self.integer(argument.words, argument.scope, argument.bindings, depth + 1)
            path = tuple(name.split("::"))
            found = self.declarations.find(self.declarations.constants, path, scope)
            if found is not None:
                return self.constant(found[0], found[1], depth + 1)
            enumerator = self.declarations.find(self.declarations.enumerators, path, scope)
            if enumerator is not None:
                enumeration, number = enumerator[1][-1]
                values = self.enumerators(enumeration, depth + 1)
                return values[number] if number < len(values) else None
            return None

        return evaluate(words, lookup)

    def constant(self, path: Path, definitions: list[Constant], depth: int) -> Integer | None:
        """Evaluate a constant of the source; None if its definitions differ."""
        known = self.memory.constants
        if path not in known:
            known[path] = None  # if it is asked for by itself
            values = {self.defined(one, depth) for one in definitions}
            known[path] = values.pop() if len(values) == 1 else None
        return known[path]

    def defined(self, constant: Constant, depth: int) -> Integer | None:
        """Evaluate one definition of a constant, whose type may change the value."""
        start, stop, scope = constant.value
        value = self.integer(self.tokens.words[start:stop], scope, {}, depth)
        start, stop, scope = constant.type
        places = [place for place in range(start, stop) if self.tokens.words[place] not in CONSTANT_SPECIFIERS]
        words = [self.tokens.words[place] for place in places]
        if value is None or words == ["auto"]:
            return value
        return of_dtype(value, self.number_type(words, [self.tokens.offsets[place] for place in places], scope))

    def number_type(self, words: Sequence[str], offsets: Sequence[int], scope: Path) -> np.dtype[Any] | None:
        """Return the dtype of a type; None if it is none of numbers, or can't be told."""
        try:
            cursor = Cursor(words, offsets)
            kind = self.inside(scope, {}).specifiers(cursor)
        except SourceError:
            return None
        plain = not (cursor.more() or kind.pointers or kind.extents or kind.reference or kind.view_ndim)
        return kind.dtype if plain else None

    def enumerators(self, enumeration: Enumeration, depth: int = 0) -> list[Integer | None]:
        """Evaluate all enumerators of an enumeration: their own expressions, or one more than the one before."""
        body, underlying = enumeration.body, enumeration.underlying
        if body is None:
            return []
        known = self.memory.enumerators
        if body.start in known:
            return known[body.start]
        values = known[body.start] = []  # later ones may be given by earlier ones
        words, offsets = self.tokens.words, self.tokens.offsets
        dtype = np.dtype(np.int32) if enumeration.scoped else None
        if underlying is not None:
            start, stop, scope = underlying
            dtype = self.number_type(words[start:stop], offsets[start:stop], scope)
        following: Integer | None = Integer(0)
        for first, last in split(words, body.start, body.stop, angles=False):
            if first == last:
                continue
            if "=" in words[first:last]:
                start = words.index("=", first, last) + 1
                following = self.integer(words[start:last], body.scope, {}, depth)
            if following is not None and (underlying is not None or enumeration.scoped):
                following = of_dtype(following, dtype)
            values.append(following)
            following = None if following is None else _one_more(following)
        if underlying is None and not enumeration.scoped:
            # Behind the enumeration each is of the first type that holds all.
            numbers = [one.value for one in values if one is not None]
            if numbers:
                low, high = min(numbers), max(numbers)
                if low < 0 and high >= 2**63:  # compilers take 128 bits
                    values[:] = [None] * len(values)
                    return values
                bits = 32 if low >= -(2**31) and high < 2 ** (31 if low < 0 else 32) else 64
                signed = low < 0 or high < 2 ** (bits - 1)
                values[:] = [None if one is None else Integer(one.value, bits, signed) for one in values]
        return values


def _one_more(number: Integer) -> Integer:
    """Return the value of the next enumerator: of a wider type, if its own can't hold it."""
    wider = [number._replace(value=number.value + 1), Integer(number.value + 1), Integer(number.value + 1, 64)]
    return next((one for one in wider if one.fits()), Integer(number.value + 1, 64, False))


_TIGHT = re.compile(r" ?(::|[<>\[\](),]) ?")


def spelled(words: Iterable[str]) -> str:
    """Join words as one writes them."""
    text = _TIGHT.sub(r"\1", " ".join(words))
    return re.sub(r" ([*&])", r"\1", text).replace(",", ", ")
