"""Types as C++ writes them: what a parameter or a member is, in the light of a source's declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy._gate import describe
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
    QUALIFIERS,
    Alias,
    Declarations,
    Enumeration,
    KernelHeader,
    Path,
    Range,
    end_of_group,
    skip_attributes,
    split,
)
from cunumpy.cuda._tokens import SourceError, evaluate, is_name
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NoReturn

MAX_VIEW_NDIM = 16

MAX_PARAMETER_BYTES = 32764
"""The most that all parameters of a kernel may take together (CUDA 12.1 and later, sm_70 and later)."""

_VIEW = re.compile(r"(C?)Array([1-9]\d?)D")
_VIEW_NAMESPACES = {(), ("cunumpy",)}
_COMPLEX_NAMESPACES = {(), ("thrust",), ("cuda", "std")}
_STANDARD_NAMESPACES = {("std",), ("cuda", "std")}
_NO_EXTENT = -1
"""Of an array that is written ``x[]``."""

_DEEPEST, _MOST_STEPS = 50, 20_000
"""Types and values that need more levels, or more steps for one parameter, are refused."""


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


# Arguments that the public functions have in common


def check_text(value: object, argument: str, what: str, function: str) -> None:
    if not isinstance(value, str):
        remedy = "; read a file with Path(...).read_text()" if argument == "source" else ""
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be {what} as str, got {describe(value)}{remedy}."
        )


def structs_by_name(structs: Iterable[Any], function: str) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if not hasattr(structs, "__iter__"):
        raise ArgumentTypeError(
            f"{function}: argument 'structs' must be several structs, got {describe(structs)}; pass structs=[struct]."
        )
    for struct in structs:
        name, dtype = getattr(struct, "name", None), getattr(struct, "dtype", None)
        if not isinstance(name, str) or not isinstance(dtype, np.dtype):
            if isinstance(struct, type) and hasattr(struct, "struct"):
                problem = f"the class {struct.__name__}; pass its struct, {struct.__name__}.struct"
            else:
                problem = f"{describe(struct)}; pass CudaStruct objects of cunumpy.arguments"
            raise ArgumentTypeError(f"{function}: argument 'structs' holds {problem}.")
        if known.setdefault(name, struct) is not struct:
            raise ArgumentError(f"{function}: argument 'structs' has two structs of the name {name!r}; keep one.")
    return known


def as_defines(defines: Mapping[str, Any] | None, function: str) -> tuple[tuple[str, str | None], ...] | None:
    if defines is None:
        return None
    if not hasattr(defines, "items"):
        raise ArgumentTypeError(
            f"{function}: argument 'defines' must map names of macros to their values, got {describe(defines)}; for "
            "-DNAME=3 pass {'NAME': 3}."
        )
    return tuple(
        (name, None if value is None else str(int(value)) if isinstance(value, (bool, np.bool_)) else str(value))
        for name, value in defines.items()
    )


def argument_error(error: SourceError, function: str, filename: str) -> ArgumentError:
    return ArgumentError(f"{function}: {filename}:{error.line}:{error.column}: {error.message}.")


# Template parameters


class Argument(NamedTuple):
    """A template argument: words, and how the names in them are looked up."""

    words: Sequence[str]
    offsets: Sequence[int]
    scope: Path
    bindings: Mapping[str, Argument]


class _TemplateParameter(NamedTuple):
    name: str
    default: Range | None
    names: tuple[str, ...]
    """What the parameters are called where the default stands, which may be another declaration."""
    problem: str | None
    offset: int


def template_parameters(declarations: Declarations, header: KernelHeader) -> list[_TemplateParameter]:
    """Return the template parameters of a kernel, with the defaults that any of its declarations gives."""
    if header.template is None:
        return []
    own = read_template(declarations, header.template)
    for other in declarations.kernels:
        if other is header or other.template is None or (other.name, other.scope) != (header.name, header.scope):
            continue
        theirs = read_template(declarations, other.template)
        if len(theirs) == len(own):
            own = [
                mine if mine.default is not None else mine._replace(default=one.default, names=one.names)
                for mine, one in zip(own, theirs, strict=True)
            ]
    return own


def read_template(declarations: Declarations, template: Range) -> list[_TemplateParameter]:
    """Read the parameters between the angle brackets of a template."""
    words, offsets = declarations.tokens.words, declarations.tokens.offsets
    parameters: list[_TemplateParameter] = []
    for first, last in split(words, template.start, template.stop):
        piece = words[first:last]
        equals = piece.index("=") if "=" in piece else len(piece)
        default = Range(first + equals + 1, last, template.scope) if equals < len(piece) else None
        declared = piece[:equals]
        problem = None
        if "..." in declared:
            problem = "a parameter pack, whose length the source does not give; write the parameters out"
        elif declared[:1] == ["template"]:
            problem = "a template of templates; take a type parameter instead"
        name = declared[-1] if len(declared) > 1 and is_name(declared[-1]) else ""
        offset = offsets[min(first, len(offsets) - 1)]
        parameters.append(_TemplateParameter(name, default, (), problem, offset))
    names = tuple(parameter.name for parameter in parameters)
    return [parameter._replace(names=names) for parameter in parameters]


def check_template(declarations: Declarations, parameters: list[_TemplateParameter], what: str) -> None:
    for parameter in parameters:
        if parameter.problem is not None:
            raise declarations.tokens.error(f"{what} has {parameter.problem}", parameter.offset)


def bind_template(
    declarations: Declarations,
    parameters: list[_TemplateParameter],
    arguments: Sequence[Argument],
    what: str,
    offset: int,
) -> dict[str, Argument]:
    """Bind template parameters to arguments, and the rest to their defaults."""
    tokens = declarations.tokens
    check_template(declarations, parameters, what)
    if len(arguments) > len(parameters):
        raise tokens.error(
            f"{what} has {len(parameters)} template parameter(s), and {len(arguments)} are given; leave out the rest",
            offset,
        )
    bound = list(arguments)
    for position, parameter in enumerate(parameters[len(arguments) :], start=len(arguments)):
        if parameter.default is None:
            label = repr(parameter.name) if parameter.name else f"number {position + 1}"
            raise tokens.error(
                f"{what} has {len(parameters)} template parameter(s), and {len(arguments)} are given; give one for "
                f"{label} too, which has no default",
                offset,
            )
        start, stop, scope = parameter.default
        earlier = {name: argument for name, argument in zip(parameter.names, bound, strict=False) if name}
        bound.append(Argument(tokens.words[start:stop], tokens.offsets[start:stop], scope, earlier))
    return {one.name: argument for one, argument in zip(parameters, bound, strict=True) if one.name}


# Types


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
    constants: dict[Path, int | None] = field(default_factory=dict)
    enumerators: dict[int, list[int | None]] = field(default_factory=dict)


class Reader:
    """Reads types in the light of a source's declarations and of template arguments."""

    def __init__(
        self,
        declarations: Declarations,
        known: Mapping[str, Any],
        bindings: Mapping[str, Argument],
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

    def inside(self, scope: Path, bindings: Mapping[str, Argument]) -> Reader:
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
        while cursor.peek() == "[":
            stop = end_of_group(cursor.words, cursor.place, cursor.stop)
            inner = cursor.words[cursor.place + 1 : stop - 1]
            extent = self.value(inner, self.scope, self.bindings) if inner else _NO_EXTENT
            kind = kind._replace(extents=(*kind.extents, extent))
            cursor.place = stop
            cursor.skip_attributes()
        return kind, name

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
        arguments: list[Argument] | None = None
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
            self.struct_type(tuple(path), arguments, offset)
            or self.declared_type(tuple(path), arguments, scope, offset)
            or self.library_type(tuple(path), arguments, offset)
            or self.unknown(tuple(path), arguments, scope, offset, cursor)
        )

    def bound(self, argument: Argument, offset: int) -> Type:
        reader = self.inside(argument.scope, argument.bindings)
        cursor = Cursor(argument.words, argument.offsets)
        if not cursor.more():
            self.fail("a template argument is empty; give a type", offset)
        kind, name = reader.declared(cursor)
        if cursor.more() or name is not None:
            self.fail(f"the template argument {spelled(argument.words)!r} is no type", offset)
        return kind._replace(offset=offset)

    def arguments(self, cursor: Cursor) -> list[Argument]:
        """Read template arguments in angle brackets."""
        stop = end_of_group(cursor.words, cursor.place, cursor.stop)
        if cursor.words[stop - 1] != ">" or stop - 1 == cursor.place:
            self.fail("the '<' has no '>'", cursor.offset())
        found = [
            Argument(cursor.words[first:last], cursor.offsets[first:last], self.scope, self.bindings)
            for first, last in split(cursor.words, cursor.place + 1, stop - 1)
        ]
        cursor.place = stop
        return found

    def argument_text(self, argument: Argument) -> str:
        """Return a template argument as text, with what it stands for in place of names."""
        self.check_depth(argument.offsets[0] if argument.offsets else 0)
        value = self.value(argument.words, argument.scope, argument.bindings)
        if value is not None:
            return str(value)
        if len(argument.words) == 1 and argument.words[0] in argument.bindings:
            return self.argument_text(argument.bindings[argument.words[0]])
        return self.bound(argument, argument.offsets[0] if argument.offsets else 0).text()

    def struct_type(self, path: Path, arguments: list[Argument] | None, offset: int) -> Type | None:
        if path[-1] not in self.known and not (arguments is not None and self.known):
            return None
        name = path[-1]
        if arguments is not None:
            if not any(known.startswith(f"{name}<") for known in self.known):
                return None
            name = f"{name}<{', '.join(map(self.argument_text, arguments))}>"
        struct = self.known.get(name)
        return None if struct is None else Type(name, struct.dtype, offset, struct=struct)

    def declared_type(self, path: Path, arguments: list[Argument] | None, scope: Path, offset: int) -> Type | None:
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

    def alias(self, alias: Alias, arguments: list[Argument] | None, name: str, offset: int) -> Type:
        bindings: Mapping[str, Argument] = {}
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
        name = "::".join(enumeration.name)
        if enumeration.underlying is not None:
            underlying = enumeration.underlying
            cursor = Cursor(self.tokens.words, self.tokens.offsets, underlying.start, underlying.stop)
            kind = self.inside(underlying.scope, {}).specifiers(cursor)
            return Type(name, kind.dtype, offset)
        if enumeration.scoped:
            return Type(name, np.dtype(np.int32), offset)
        body = enumeration.body
        values: list[int] = [0]
        for value in [] if body is None else self.enumerators(body):
            if value is None:
                self.fail(
                    f"the values of the enumeration {name!r} can't be told, and its type neither; write "
                    f"'enum {name} : int'",
                    offset,
                )
            values.append(value)
        low, high = min(values), max(values)
        bits = 32 if (low >= -(2**31) and high < 2**31) or (low >= 0 and high < 2**32) else 64
        return Type(name, np.dtype(f"{'i' if low < 0 else 'u'}{bits // 8}"), offset)

    def library_type(self, path: Path, arguments: list[Argument] | None, offset: int) -> Type | None:
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
        self, path: Path, arguments: list[Argument] | None, scope: Path, offset: int, cursor: Cursor
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
            from cunumpy.cuda._structs import read_struct  # which needs this module

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

    def value(self, words: Sequence[str], scope: Path, bindings: Mapping[str, Argument], depth: int = 0) -> int | None:
        """Evaluate a constant expression; None if it can't be told."""
        self.memory.steps += 1
        if depth > _DEEPEST or self.memory.steps > _MOST_STEPS:
            return None

        def lookup(name: str) -> int | None:
            if name in ("true", "false"):
                return int(name == "true")
            if name in bindings:
                argument = bindings[name]
                return self.value(argument.words, argument.scope, argument.bindings, depth + 1)
            path = tuple(name.split("::"))
            found = self.declarations.find(self.declarations.constants, path, scope)
            if found is not None:
                return self.constant(found[0], found[1], depth + 1)
            for length in range(len(scope), -1, -1):
                enumerator = self.declarations.enumerators.get(scope[:length] + path)
                if enumerator is not None:
                    values = self.enumerators(enumerator[0], depth + 1)
                    return values[enumerator[1]] if enumerator[1] < len(values) else None
            return None

        return evaluate(words, lookup)

    def constant(self, path: Path, definitions: list[Range], depth: int) -> int | None:
        """Evaluate a constant of the source; None if its definitions differ."""
        known = self.memory.constants
        if path not in known:
            known[path] = None  # if it is asked for by itself
            values = {self.value(self.tokens.words[one.start : one.stop], one.scope, {}, depth) for one in definitions}
            known[path] = values.pop() if len(values) == 1 else None
        return known[path]

    def enumerators(self, body: Range, depth: int = 0) -> list[int | None]:
        """Evaluate all enumerators of an enumeration: their own expressions, or one more than the one before."""
        known = self.memory.enumerators
        if body.start not in known:
            values = known[body.start] = []  # later ones may be given by earlier ones
            words = self.tokens.words
            following: int | None = 0
            for first, last in split(words, body.start, body.stop, angles=False):
                if first == last:
                    continue
                if "=" in words[first:last]:
                    start = words.index("=", first, last) + 1
                    following = self.value(words[start:last], body.scope, {}, depth)
                values.append(following)
                following = None if following is None else following + 1
        return known[body.start]

    # Parameters and members

    def kernel_parameters(self, header: KernelHeader) -> tuple[CudaParameter, ...]:
        """Read the parameters of a kernel."""
        words, offsets = self.tokens.words, self.tokens.offsets
        start, stop, _ = header.parameters
        for block in self.tokens.undecided:
            if start < block.start < stop or (block.start <= start < block.stop <= stop):
                self.fail(
                    f"the parameters of {header.name!r} depend on '{block.directive}', which nothing here decides; say "
                    "in defines={...} which macros the compiler is given",
                    block.offset,
                )
        if words[start:stop] in ([], ["void"]):
            return ()
        found: list[CudaParameter] = []
        places: dict[str, int] = {}
        for position, (first, last) in enumerate(self.pieces(start, stop)):
            place = offsets[min(first, len(offsets) - 1)]
            self.memory.steps = 0
            self.label = f"parameter {position + 1} of the kernel {header.name!r}: "
            if first == last:
                self.fail("there is nothing between two commas; write the parameter, or remove the comma", place)
            if words[first] == "...":
                self.fail("a kernel can't have a variable number of arguments; write each out", place)
            cursor = Cursor(words, offsets, first, last)
            kind, name = self.declared(cursor)
            if name is not None:
                self.label = f"parameter {name!r} of the kernel {header.name!r}: "
                if name in places:
                    line, column = self.tokens.position(places[name])
                    self.fail(f"there is another one of this name at {line}:{column}; rename one", place)
                places[name] = place
            if cursor.more() and cursor.peek() != "=":
                if cursor.peek() == "...":
                    self.fail("a kernel can't have a variable number of arguments; write each out", cursor.offset())
                self.fail(f"there is {cursor.peek()!r} after it; write a comma between parameters", cursor.offset())
            found.append(self.as_parameter(kind, name or "", place))
        self.label = ""
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
            self.fail(
                f"the parameters of {header.name!r} take {size} bytes, and a device accepts {MAX_PARAMETER_BYTES}; put "
                "a large struct into device memory and pass a pointer to it",
                offsets[header.name_index],
            )
        return tuple(found)

    def pieces(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Split a parameter list; a default value may compare with '<', so there only brackets count."""
        words = self.tokens.words
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
                if closed and (not in_default or words[end : end + 1] in (["("], ["{"], ["::"], [","], [")"])):
                    place = end
                    continue
                if not in_default:
                    self.fail("the '<' has no '>'", self.tokens.offsets[place])
            elif word == "=":
                in_default = True
            elif word == ",":
                found.append((begin, place))
                begin, in_default = place + 1, False
            place += 1
        return [*found, (begin, stop)]

    def as_parameter(self, kind: Type, name: str, offset: int) -> CudaParameter:
        """Make a parameter of a kernel of its type, or say why a kernel can't have one."""
        shown = name or "x"
        if kind.extents:  # a parameter that is an array is a pointer to its elements
            if len(kind.extents) > 1:
                self.fail(
                    f"it is a pointer to rows of an array; write '{kind.text()}* {shown}' and compute the index, or "
                    f"'Array{min(len(kind.extents), MAX_VIEW_NDIM)}D<{kind.ctype}> {shown}'",
                    offset,
                )
            kind = kind._replace(pointers=(*kind.pointers, False), extents=())
        if kind.reference:
            plain = kind._replace(reference="")
            alternative = "" if kind.view_ndim is not None else f" or '{plain.text()}* {shown}' for an array"
            by_value = plain._replace(const=False) if not plain.pointers else plain
            self.fail(
                f"it is a reference ({kind.text()!r}), and a kernel's arguments are copied to the device; write "
                f"'{by_value.text()} {shown}'{alternative}",
                offset,
            )
        return self.by_value(kind, name, shown, offset)

    def by_value(self, kind: Type, name: str, shown: str, offset: int) -> CudaParameter:
        pointer = bool(kind.pointers)
        if len(kind.pointers) > 1:
            self.fail(
                f"it is a pointer to pointers ({kind.text()!r}); write '{kind.ctype}* {shown}' to one array with "
                f"offsets, or 'unsigned long long* {shown}' to an array of addresses",
                offset,
            )
        if pointer and kind.view_ndim is not None:
            self.fail(f"it is a pointer to a view; write '{kind.ctype} {shown}', which is a small object", offset)
        if not pointer and kind.dtype is None:
            self.fail(f"it has the type void; write 'void* {shown}' for an address", offset)
        if not pointer and kind.struct is None and kind.view_ndim is None and kind.dtype == np.dtype("V2"):
            self.fail(f"NumPy has no {kind.ctype}; write 'float {shown}' and convert it in the kernel", offset)
        const = kind.element_const if kind.view_ndim is not None else kind.const and pointer
        return CudaParameter(name, kind.ctype, kind.dtype, pointer, kind.struct, kind.view_ndim, kind.contiguous, const)

    def as_member(self, kind: Type, name: str, offset: int, *, pointer_for_empty_extent: bool = False) -> CudaParameter:
        """Make a field of a struct of its type, or say why a struct can't have one."""
        if kind.reference:
            self.fail(f"it is a reference; write '{kind._replace(reference='').text()}* {name}'", offset)
        if pointer_for_empty_extent and kind.extents == (_NO_EXTENT,):
            kind = kind._replace(pointers=(*kind.pointers, False), extents=())
        extents, kind = kind.extents, kind._replace(extents=())
        field = self.by_value(kind, name, name, offset)
        if not extents:
            return field
        known = [extent for extent in extents if extent is not None and extent > 0]
        if len(known) != len(extents):
            self.fail(f"its extents can't be told; write numbers, such as '{kind.ctype} {name}[3]'", offset)
        if field.pointer or field.view_ndim is not None or field.dtype is None:
            self.fail("it is an array of pointers or views; write one field for each", offset)
        try:
            dtype = np.dtype((field.dtype, tuple(known)))
        except ValueError:
            self.fail("it is larger than NumPy can hold", offset)
        return field._replace(dtype=dtype)


def field_type(field: CudaParameter) -> str:
    """Return the type of a parameter or field as `CudaStruct` takes it."""
    if field.pointer:
        return f"{'const ' if field.const else ''}{field.ctype}*"
    if field.view_ndim is not None:
        return field.ctype.replace("<", "<const ", 1) if field.const else field.ctype
    return field.ctype + "".join(f"[{extent}]" for extent in (() if field.dtype is None else field.dtype.shape))


_TIGHT = re.compile(r" ?(::|[<>\[\](),]) ?")


def spelled(words: Iterable[str]) -> str:
    """Join words as one writes them."""
    text = _TIGHT.sub(r"\1", " ".join(words))
    return re.sub(r" ([*&])", r"\1", text).replace(",", ", ")
