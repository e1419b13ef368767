"""What a CUDA source declares at namespace level: kernels, type aliases, enumerations, structs and constants.

One pass over the words of `Tokens`. The pass does not look into bodies of functions and structs, and it does not need
to know types: `_signatures` reads those where they are asked for.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cunumpy.cuda._brackets import OPENING, end_of_group, partners, split
from cunumpy.cuda._tokens import Tokens, is_name

if TYPE_CHECKING:
    from collections.abc import Sequence

Path = tuple[str, ...]
_Entry = TypeVar("_Entry")

QUALIFIERS = frozenset(
    {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "register", "typedef"}
)
ATTRIBUTES = frozenset({"__attribute__", "__declspec", "alignas", "__align__", "_Alignas"})
"""Words that take an argument in parentheses and change no type."""
_SPECIFIERS = frozenset(
    {
        "static",
        "inline",
        "__inline__",
        "__inline",
        "__forceinline__",
        "__noinline__",
        "constexpr",
        "extern",
        "__global__",
        "__host__",
        "__device__",
        "__extension__",
        "friend",
        "virtual",
    }
)
_LAUNCH_ATTRIBUTES = frozenset({"__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__"})
_INTERESTING = frozenset(
    {
        "{",
        "}",
        ";",
        "namespace",
        "template",
        "__global__",
        "typedef",
        "using",
        "struct",
        "class",
        "union",
        "enum",
        "constexpr",
        "const",
        "requires",
    }
)
_BEFORE_REQUIREMENTS = frozenset({"requires", "&&", "||", "!", "(", ",", "="})
CONSTANT_SPECIFIERS = frozenset({"static", "inline", "constexpr", "const", "__constant__", "__device__", "extern"})
_CLASSES = frozenset({"struct", "class", "union", "enum"})
_BEFORE_CONSTANT = frozenset(
    {
        "static",
        "inline",
        "constexpr",
        "const",
        "__constant__",
        "__device__",
        "unsigned",
        "signed",
    }
)


class Range(NamedTuple):
    """Words of a source, from a first to before a last, with the namespaces that they stand in."""

    start: int
    stop: int
    scope: Path


@dataclass(slots=True)
class KernelHeader:
    """A ``__global__`` function as it is declared: places of its parts among the words."""

    name: str
    scope: Path
    name_index: int
    parameters: Range
    template: Range | None
    launch_bounds: Range | None
    returns: str
    has_body: bool

    @property
    def path(self) -> Path:
        return (*self.scope, self.name)


class Alias(NamedTuple):
    """A typedef, or what ``using`` names: words that start with the type, and go on with the declarator.

    `declarator` stands apart for the second name and later ones of a typedef.
    """

    words: Range
    declarator: Range | None = None
    template: Range | None = None


class Enumeration(NamedTuple):
    """An enumeration; `underlying` is None where it is not given."""

    name: Path
    scoped: bool
    underlying: Range | None
    body: Range | None


class Constant(NamedTuple):
    """A constant: the words of its type, with specifiers, and those of its value."""

    type: Range
    value: Range


class StructHeader(NamedTuple):
    """A struct, class or union with its body (words between the braces)."""

    keyword: str
    place: int
    head: Range
    body: Range
    is_template: bool


@dataclass(slots=True)
class Declarations:
    """What one source declares; names are known by their paths, outermost namespace first.

    An unnamed namespace has the name ``""``, and is looked into as an inline one is.
    """

    tokens: Tokens
    partner: dict[int, int] = field(default_factory=dict)
    kernels: list[KernelHeader] = field(default_factory=list)
    aliases: dict[Path, list[Alias]] = field(default_factory=dict)
    enumerations: dict[Path, list[Enumeration]] = field(default_factory=dict)
    structs: dict[Path, list[StructHeader]] = field(default_factory=dict)
    constants: dict[Path, list[Constant]] = field(default_factory=dict)
    enumerators: dict[Path, list[tuple[Enumeration, int]]] = field(default_factory=dict)
    unclosed: dict[str, int] = field(default_factory=dict)
    """Kernels whose parameters have no end."""
    opened: list[Path] = field(default_factory=list)
    """Namespaces named by ``using namespace``."""
    namespaces: set[Path] = field(default_factory=set)
    inline: dict[Path, dict[Path, None]] = field(default_factory=dict)
    """The inline namespaces directly inside of a namespace."""

    def find(self, table: dict[Path, list[_Entry]], name: Path, scope: Path) -> tuple[Path, list[_Entry]] | None:
        """Look a name up from inside out, then in the namespaces that the source opens."""
        insides = [scope[:depth] for depth in range(len(scope), -1, -1)]
        for inside, path in [*((one, name) for one in insides), *(((), opened + name) for opened in self.opened)]:
            found = [one for one in self.meanings(path, inside) if one in table]
            if found:
                return found[0], [entry for one in found for entry in table[one]]
        return None

    def meanings(self, name: Path, scope: Path) -> list[Path]:
        """Return the paths that a name in a namespace can stand for: it may leave out the inline ones."""
        spaces = self.with_inline(scope)
        for word in name[:-1]:
            spaces = [inner for space in spaces for inner in self.with_inline((*space, word))]
        return [(*space, name[-1]) for space in spaces]

    def with_inline(self, space: Path) -> list[Path]:
        """Return a namespace, and the inline ones inside it, whose names count as its own."""
        return [space, *(inner for one in self.inline.get(space, ()) for inner in self.with_inline(one))]

    def is_called(self, path: Path, name: Path) -> bool:
        """Tell whether a name can mean what has a path, seen from any of the namespaces around it."""
        return bool(name) and any(path in self.meanings(name, path[:depth]) for depth in range(len(path)))

    def kernel_name(self, kernel: KernelHeader) -> str:
        """Return the qualified name of a kernel, without inline namespaces where that means no other one."""
        short: Path = ()
        full: Path = ()
        for word in kernel.scope:
            inner = (*full, word)
            short, full = short if inner in self.inline.get(full, ()) else (*short, word), inner
        meant = {one.path for one in self.kernels}.intersection(self.meanings((*short, kernel.name), ()))
        return "::".join(word for word in (*(short if len(meant) == 1 else full), kernel.name) if word)


@functools.lru_cache(maxsize=32)
def read_declarations(source: str, defines: tuple[tuple[str, str | None], ...] | None = None) -> Declarations:
    """Read a source; the results of the last few are kept, since every kernel of a file asks for its own."""
    declarations = Declarations(Tokens(source, None if defines is None else dict(defines)))
    _Scanner(declarations).run()
    return declarations


class _Scope(NamedTuple):
    names: Path
    depth: int


class _Scanner:
    def __init__(self, declarations: Declarations) -> None:
        self.found = declarations
        self.words = declarations.tokens.words
        declarations.partner.update(partners(declarations.tokens))
        self.partner = declarations.partner
        self.scopes = [_Scope((), 0)]
        self.depth = 0
        self.start = 0  # of the declaration

    def run(self) -> None:
        words, count = self.words, len(self.words)
        branches = iter([*self.found.tokens.branches, None])
        branch = next(branches)
        saved: list[tuple[int, list[_Scope]]] = []
        resume = 0
        for index in [i for i, word in enumerate(words) if word in _INTERESTING]:
            while branch is not None and branch.place <= index:
                if branch.kind == "if":
                    saved.append((self.depth, self.scopes[:]))
                elif branch.kind == "else":
                    self.depth, self.scopes = saved[-1][0], saved[-1][1][:]
                    self.start = branch.place
                else:
                    saved.pop()
                branch = next(branches)
            if index < resume:
                continue
            word = words[index]
            if word == "{":
                self.depth += 1
                self.start = index + 1
            elif word == "}":
                self.depth = max(self.depth - 1, 0)
                while len(self.scopes) > 1 and self.depth < self.scopes[-1].depth:
                    self.scopes.pop()
                self.start = index + 1
            elif word == ";":
                self.start = index + 1
            elif word == "template":
                if words[index + 1 : index + 2] == ["<"]:
                    resume = end_of_group(words, index + 1, count)
            elif word == "__global__":
                resume = max(resume, self.kernel(index))
            elif word == "requires":
                resume = max(resume, self.requirements(index))
            elif self.depth == self.scopes[-1].depth:
                resume = max(resume, self.declaration(index, word))
            if word == "{" and index > 0 and words[index - 1] == '"C"' and words[index - 2 : index - 1] == ["extern"]:
                self.scopes.append(self.scopes[-1]._replace(depth=self.depth))

    def declaration(self, index: int, word: str) -> int:
        """Read what a keyword at namespace level starts; return where to go on."""
        if word == "namespace":
            return self.namespace(index)
        if word == "typedef":
            return self.typedef(index)
        if word == "using":
            return index + 1 if self.words[index - 1 : index] == ["["] else self.using(index)
        if word == "enum":
            return self.enumeration(index, ())
        if word in ("struct", "class", "union"):
            self.struct(index, ())
            return index + 1
        return self.constant(index)

    def requirements(self, index: int) -> int:
        """Pass over what a requires-expression has in braces, which looks like statements."""
        words, place = self.words, index + 1
        if words[index - 1 : index] and words[index - 1] in _BEFORE_REQUIREMENTS:
            if words[place : place + 1] == ["("]:
                place = self.partner.get(place, place) + 1
            if words[place : place + 1] == ["{"]:
                return self.partner.get(place, place) + 1
        return index + 1

    def after_constraint(self, place: int) -> int:
        """Return the place after a constraint: names and brackets, joined by ``&&`` and ``||``."""
        words, count = self.words, len(self.words)
        while place < count:
            if words[place] == "requires":
                place += 1
                if words[place : place + 1] == ["("]:
                    place = end_of_group(words, place, count)
            if words[place : place + 1] in (["("], ["{"]):
                place = end_of_group(words, place, count)
            else:
                while place < count and (words[place] == "::" or is_name(words[place])):
                    place += 1
                    if words[place : place + 1] == ["<"]:
                        place = end_of_group(words, place, count)
                    if words[place - 1] != "::" and words[place : place + 1] != ["::"]:
                        break
            if words[place : place + 1] not in (["&&"], ["||"], ["and"], ["or"]):
                break
            place += 1
        return place

    def range(self, start: int, stop: int) -> Range:
        return Range(start, stop, self.scopes[-1].names)

    def end_of_statement(self, start: int) -> int:
        """Return the place of the semicolon that ends a statement."""
        index, count = start, len(self.words)
        while index < count and self.words[index] != ";":
            if self.words[index] in OPENING:
                if index not in self.partner:
                    return count
                index = self.partner[index]
            elif self.words[index] == "}":
                return index
            index += 1
        return index

    def skip_attributes(self, index: int, stop: int) -> int:
        return skip_attributes(self.words, index, stop)

    def namespace(self, index: int) -> int:
        words, place = self.words, index + 1
        names = self.scopes[-1].names
        inline = words[index - 1 : index] == ["inline"]
        named = False
        while place < len(words):
            word = words[place]
            if word == "{":
                if not named:
                    names = self.opened_namespace(names, "", inline=True)
                self.depth += 1
                self.scopes.append(_Scope(names, self.depth))
                self.start = place + 1
                return place + 1
            if word == "inline":
                inline = True
            elif is_name(word) and word not in ATTRIBUTES:
                names, named = self.opened_namespace(names, word, inline=inline), True
                inline = False
            elif word != "::":
                after = self.skip_attributes(place, len(words))
                if after == place:
                    return place  # an alias of a namespace
                place = after
                continue
            place += 1
        return place

    def opened_namespace(self, outer: Path, word: str, *, inline: bool) -> Path:
        """Return the namespace that a name opens again, perhaps in an inline one, or for the first time."""
        found = self.found
        path = next((one for one in found.meanings((word,), outer) if one in found.namespaces), (*outer, word))
        found.namespaces.add(path)
        if inline:
            found.inline.setdefault(path[:-1], {})[path] = None
        return path

    def template_of(self, index: int) -> Range | None:
        """Return the template parameters of the declaration that `index` belongs to."""
        if self.words[self.start : self.start + 2] == ["template", "<"]:
            stop = end_of_group(self.words, self.start + 1, len(self.words))
            if stop <= index:
                return self.range(self.start + 2, stop - 1)
        return None

    def typedef(self, index: int) -> int:
        words, stop = self.words, self.end_of_statement(index)
        for place in range(index + 1, stop):
            if words[place] in ("struct", "class", "union", "enum"):
                opening = next((i for i in range(place, stop) if words[i] == "{"), None)
                if opening is not None and opening in self.partner:
                    closing = self.partner[opening]
                    pieces = split(words, closing + 1, stop)
                    names = [words[first] for first, last in pieces if last == first + 1 and is_name(words[first])]
                    if words[place] == "enum":
                        self.enumeration(place, names)
                    else:
                        self.struct(place, names)
                    self.tag(self.skip_attributes(place + 1, opening), names)
                    return stop
                break
            if words[place] in ("(", "{", "<"):
                break
        first_piece: Range | None = None
        before = words[self.start : index]  # as in `unsigned typedef Word;`
        start = self.start if not _SPECIFIERS.intersection(before) and all(map(is_name, before)) else index + 1
        for first, last in split(words, start, stop):
            name = _declared(words, first, last)
            if name is not None:
                piece = self.range(first, last)
                alias = Alias(piece) if first_piece is None else Alias(first_piece, piece)
                self.add(self.found.aliases, name, alias)
            first_piece = first_piece or self.range(first, last)
        return stop

    def tag(self, place: int, names: Sequence[str]) -> None:
        """Make the names of ``typedef struct Tag { } Name;`` mean the tag."""
        if is_name(self.words[place]):
            for name in names:
                if name != self.words[place]:
                    self.add(self.found.aliases, name, Alias(self.range(place, place + 1)))

    def using(self, index: int) -> int:
        words, stop = self.words, self.end_of_statement(index)
        if words[index + 1 : index + 2] == ["namespace"]:
            path = tuple(word for word in words[index + 2 : stop] if is_name(word))
            self.found.opened.extend([path, (*self.scopes[-1].names, *path)])
        elif words[index + 2 : index + 3] == ["="] or "=" in words[index + 2 : stop]:
            equals = words.index("=", index, stop)
            if is_name(words[index + 1]):
                alias = Alias(self.range(equals + 1, stop), template=self.template_of(index))
                self.add(self.found.aliases, words[index + 1], alias)
        elif stop - index > 2 and is_name(words[stop - 1]) and words[stop - 2] == "::":
            self.add(self.found.aliases, words[stop - 1], Alias(self.range(index + 1, stop)))
        return stop

    def add(self, table: dict[Path, list[_Entry]], name: str, entry: _Entry) -> None:
        table.setdefault((*self.scopes[-1].names, name), []).append(entry)

    def enumeration(self, index: int, other_names: Sequence[str]) -> int:
        words, place = self.words, index + 1
        scoped = words[place : place + 1] in (["class"], ["struct"])
        place = self.skip_attributes(place + scoped, len(words))
        name = words[place] if place < len(words) and is_name(words[place]) else None
        place += name is not None
        underlying = None
        if words[place : place + 1] == [":"]:
            start = place + 1
            while place < len(words) and words[place] not in ("{", ";"):
                place += 1
            underlying = self.range(start, place)
        body = None
        if words[place : place + 1] == ["{"] and place in self.partner:
            body = self.range(place + 1, self.partner[place])
        if body is None and underlying is None:
            return index + 1
        space = self.scopes[-1].names
        paths = [(*space, each) for each in [name, *other_names] if each is not None]
        for path in paths:
            entry = Enumeration(path, scoped, underlying, body)
            self.found.enumerations.setdefault(path, []).append(entry)
        if body is None:
            return place
        whole = Enumeration((), scoped, underlying, body)
        for number, (first, last) in enumerate(split(words, body.start, body.stop, angles=False)):
            if first < last:
                for within in paths if scoped else [space, *paths]:
                    self.found.enumerators[(*within, words[first])] = [(whole, number)]
        return body.stop + 1

    def struct(self, index: int, other_names: Sequence[str]) -> None:
        words, count = self.words, len(self.words)
        place = self.skip_attributes(index + 1, count)
        if words[place + 1 : place + 2] == ["("] and is_name(words[place]):  # an attribute by a macro
            place = self.partner.get(place + 1, place) + 1
        name = None
        while place < count and is_name(words[place]):
            name = name if words[place] == "final" else words[place]
            place = self.skip_attributes(place + 1, count)
        if words[place : place + 1] == [":"]:
            while place < count and words[place] not in ("{", ";"):
                place += 1
        if words[place : place + 1] != ["{"] or place not in self.partner:
            return
        is_template = words[self.start : self.start + 2] == ["template", "<"]
        body = self.range(place + 1, self.partner[place])
        header = StructHeader(words[index], index, self.range(index + 1, place), body, is_template)
        for each in [name, *other_names]:
            if each is not None:
                self.add(self.found.structs, each, header)

    def constant(self, index: int) -> int:
        words = self.words
        if not _BEFORE_CONSTANT.issuperset(words[self.start : index]):
            return index + 1
        stop = self.end_of_statement(index)
        for place in range(index + 1, min(stop, index + 12)):
            if words[place] in ("=", "{") and is_name(words[place - 1]):
                value = self.range(place + 1, stop)
                if words[place] == "{":
                    if self.partner.get(place) != stop - 1 or not _CLASSES.isdisjoint(words[index:place]):
                        break
                    value = self.range(place + 1, stop - 1)
                constant = Constant(self.range(self.start, place - 1), value)
                self.add(self.found.constants, words[place - 1], constant)
                return stop
            if not is_name(words[place]) and words[place] != "::":
                break
        return index + 1

    def kernel(self, index: int) -> int:
        """Read the declaration around a ``__global__``; return where to go on."""
        words, count = self.words, len(self.words)
        place = max(self.start, 0)
        template = self.template_of(index)
        if template is not None:
            place = template.stop + 1
        instantiation = template is None and words[place : place + 1] == ["template"]
        returns = ""
        bounds: Range | None = None
        path: list[str] = []
        while place < count:
            word = words[place]
            if word == "__launch_bounds__" and words[place + 1 : place + 2] == ["("]:
                stop = end_of_group(words, place + 1, count)
                bounds = self.range(place + 2, stop - 1)
                place = stop
            elif word in _LAUNCH_ATTRIBUTES or word in ATTRIBUTES:
                place += 1
                if words[place : place + 1] == ["("]:
                    place = end_of_group(words, place, count)
            elif word == "[" and words[place + 1 : place + 2] == ["["]:
                place = end_of_group(words, place, count)
            elif word == "void":
                returns = "void"
                place += 1
            elif word in _SPECIFIERS or word in QUALIFIERS or word == "template" or word[0] == '"':
                place += 1
            elif word == "requires" and place < index:
                place = self.after_constraint(place + 1)
            elif is_name(word) or word == "::":
                after = skip_attributes(words, place + 1, count) if is_name(word) else place + 1
                following = words[after] if after < count else ""
                if word == "::" or following == "::":
                    if is_name(word):
                        path.append(word)
                    place += 1
                elif following == "<":
                    instantiation = True  # or a specialisation: the primary template has the signature
                    returns = returns or word
                    place = end_of_group(words, after, count)
                    if words[place : place + 1] == ["("]:
                        return place
                elif following == "(":
                    closing = self.partner.get(after, count)
                    beyond = words[closing + 1] if closing + 1 < count else ""
                    if is_name(beyond) and beyond not in _AFTER_PARAMETERS:
                        place = closing + 1  # an attribute by a macro
                        continue
                    by_macro = word in self.found.tokens.function_macros  # whose result has the name
                    if closing == count:
                        self.found.unclosed.setdefault(word, place)
                    if instantiation or by_macro or closing == count or place < index:
                        return max(after, index + 1)
                    self.add_kernel(place, path, template, bounds, returns, (after + 1, closing))
                    return closing
                else:
                    returns = returns or word
                    path = []
                    place += 1
            elif word in ("*", "&"):
                returns += word
                place += 1
            else:
                break
        return max(place, index + 1)

    def add_kernel(
        self,
        place: int,
        path: list[str],
        template: Range | None,
        bounds: Range | None,
        returns: str,
        between: tuple[int, int],
    ) -> None:
        words = self.words
        after = between[1] + 1
        while after < len(words) and words[after] not in ("{", ";", ",", "}"):
            if words[after] == "->":
                returns = " ".join(words[after + 1 : after + 2])
            if words[after] in OPENING:
                after = end_of_group(words, after, len(words)) - 1
            after += 1
        inner = self.namespace_of((*path, words[place]))
        header = KernelHeader(
            name=words[place],
            scope=inner,
            name_index=place,
            parameters=Range(*between, inner),
            template=template,
            launch_bounds=bounds,
            returns=returns,
            has_body=words[after : after + 1] == ["{"],
        )
        self.found.kernels.append(header)

    def namespace_of(self, name: Path) -> Path:
        """Return the namespace of what is defined under a name, which is qualified where it was declared before."""
        space = self.scopes[-1].names
        if len(name) > 1:
            declared = {one.path for one in self.found.kernels}
            for depth in range(len(space), -1, -1):
                for path in self.found.meanings(name, space[:depth]):
                    if path in declared:
                        return path[:-1]
        return (*space, *name[:-1])


_AFTER_PARAMETERS = frozenset({"noexcept", "requires", "__attribute__", "try", "extern", "static", "template"})


def skip_attributes(words: Sequence[str], index: int, stop: int) -> int:
    """Return the place after attributes in any notation."""
    while index < stop:
        if words[index] == "[" and words[index + 1 : index + 2] == ["["]:
            index = end_of_group(words, index, stop)
        elif words[index] in ATTRIBUTES:
            index += 1
            if index < stop and words[index] == "(":
                index = end_of_group(words, index, stop)
        else:
            break
    return index


def _declared(words: Sequence[str], first: int, last: int) -> str | None:
    """Return the name that one declarator of a typedef declares."""
    while last > first and words[last - 1] == "]":
        depth = 0
        while last > first:
            last -= 1
            depth += {"]": 1, "[": -1}.get(words[last], 0)
            if depth == 0:
                break
    if last > first and words[last - 1] == ")":  # a pointer to a function: void (*name)(int)
        for index in range(first, last - 2):
            if words[index] == "(" and words[index + 1] in ("*", "&") and is_name(words[index + 2]):
                return words[index + 2]
        return None
    return words[last - 1] if last > first and is_name(words[last - 1]) else None
