"""Random C++: constants, types, kernels and structs, written in all the ways that the language has for them.

What is written is valid by construction but for a few constant expressions; a compiler says which, and what all the
rest means.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = [
    *("char", "signed char", "unsigned char", "short", "unsigned short int", "int", "unsigned", "signed int", "long"),
    *("long unsigned", "long long int", "unsigned long long", "bool", "float", "double"),
]
_PLAIN_WORDS = {"const", "volatile", *" ".join(WORDS).split()}
NAMED = [
    *("std::int64_t", "::uint32_t", "size_t", "int8_t", "uintptr_t", "__half", "float3", "double2", "uchar4", "dim3"),
    *("complex<float>", "thrust::complex<double>", "cuDoubleComplex", "::std::size_t", "longlong3", "half2"),
]
LITERALS = [
    *(
        "0",
        "1",
        "2",
        "3",
        "5",
        "7",
        "1",
        "2",
        "0x1F",
        "0b101",
        "017",
        "1'0",
        "3u",
        "5L",
        "2ull",
        "'a'",
        "true",
        "false",
    ),
    *("0xFFFFFFFF", "2147483647", "0x80000000", "4294967296", "0x7fffffffffffffff", "'\\n'", "'0'", "1uz"),
]
OPERATORS = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "and"]


class Drawn(NamedTuple):
    """A source, and the C++ expression for what is asked about it."""

    source: str
    name: str
    expression: str
    arguments: list[str] | None
    members: list[str]
    structs: dict[str, list[str]] = {}  # noqa: RUF012 - of a kernel's parameters: the C++ for each, and its members


@dataclass
class Space:
    """A namespace that is being written: what has a name in it."""

    path: tuple[tuple[str, bool], ...] = ()
    """Names, "" for one without, and whether each is an inline namespace."""
    types: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)


class Grammar:
    """Writes sources.

    Parameters
    ----------
    seed : str
    number : int
        Part of each name, so that sources can stand in one file.
    """

    def __init__(self, seed: str, number: int) -> None:
        self.rng = random.Random(seed)
        self.number = number
        self.count = 0
        self.spaces = [Space()]
        self.macros: list[str] = []  # that stand for numbers
        self.type_macros: list[str] = []
        self.bound: list[str] = []  # template parameters that are types
        self.odd = True  # members of any kind, rather than such as kernels mostly have
        self.structs: list[str] = []  # that are defined, as they are called from outside of all namespaces

    # --- names

    def new(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.number}_{self.count}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def one(self, *choices: str) -> str:
        return self.rng.choice(choices)

    # --- values

    def expression(self, depth: int = 0) -> str:
        if depth > 2 or self.chance(0.35):
            names = [*self.macros, *(name for space in self.spaces for name in space.constants)]
            return self.rng.choice(names) if names and self.chance(0.4) else self.one(*LITERALS)
        form = self.rng.randrange(12)
        first = self.expression(depth + 1)
        if form == 0:
            return f"{self.one('-', '+', '~', '!', 'not ', 'compl ')}({first})"
        if form == 1:
            condition, other = self.expression(depth + 1), self.expression(depth + 1)
            return f"({condition} ? {first} : {other})"
        if form == 2 and self.chance(0.3):
            return self.one(f"sizeof({self.base()})", f"int({first})", f"(unsigned char)({first})", "sizeof(int[3])")
        if form < 5:
            return f"({first})"
        sign = self.one(*OPERATORS)
        second = self.one("2", "3u", "-2", "7l") if sign in ("/", "%") else self.expression(depth + 1)
        text = f"{first} {sign} {second}"
        return f"({text})" if self.chance(0.6) else text

    def extent(self) -> str:
        """Return a number from 1 to 4, mostly."""
        if self.chance(0.4):
            return self.one("1", "2", "3", "4")
        return f"(({self.expression()}) & 3) + 1" if self.chance(0.8) else self.expression()

    # --- types

    def known_types(self) -> list[str]:
        found = []
        for depth, space in enumerate(self.spaces):
            found += [self.called(space.path, one) if self.chance(0.3) and depth else one for one in space.types]
        return found + self.type_macros + self.bound

    def called(self, path: Sequence[tuple[str, bool]], name: str) -> str:
        """Return a qualified name, perhaps without some of the inline namespaces in it."""
        spaces = [space for space, inline in path if space and not (inline and self.chance(0.5))]
        return "::".join([*spaces, name])

    def space(self) -> str:
        """Begin a namespace inside the last one, sometimes an inline one or one without a name; return its head."""
        inline, name = self.chance(0.4), "" if self.chance(0.08) else self.new("n")
        self.spaces.append(Space((*self.spaces[-1].path, (name, inline or not name))))
        attribute = self.one("", "", "[[maybe_unused]] ")
        word = "inline " if inline else ""
        if inline and name and self.chance(0.25):  # what is inline the first time always is
            return f"inline namespace {name} {{ }} namespace {attribute}{name} {{"
        return f"{word}namespace {attribute}{name} {{"

    def base(self) -> str:
        """Return a type without declarator, its words in any order."""
        types = self.known_types()
        if types and self.chance(0.5):
            words = [self.rng.choice(types)]
        elif self.chance(0.6):
            words = self.one(*WORDS).split()
            self.rng.shuffle(words)
        else:
            words = [self.one(*NAMED)]
        for word, probability in (("const", 0.3), ("volatile", 0.06)):
            if self.chance(probability):
                words.insert(self.rng.randint(0, len(words)), word)
        return " ".join(words)

    def plain(self) -> str:
        """Return a type of the language, as one may write it everywhere."""
        return self.one(*WORDS, "std::int64_t", "size_t")

    def stars(self) -> str:
        text = ""
        while self.chance(0.01 if text else 0.35):
            text += self.one("*", " *", "* ", "*const ", "* __restrict__ ", "*__restrict ", "* const __restrict__ ")
        return text

    def extents(self, most: int) -> str:
        count = self.one("", "", "1", "2")
        return "".join(f"[{self.extent()}]" for _ in range(min(int(count or 0), most)))

    # --- declarations

    def value_declaration(self) -> str:
        space, text = self.spaces[-1], self.expression()
        form = self.rng.randrange(7)
        if form == 0:
            name = self.new("M")
            self.macros.append(name)
            return f"\n#define {name} {text}\n" if self.chance(0.3) else f"\n#define {name} ({text})\n"
        if form == 1:
            first, second = self.new("E"), self.new("E")
            space.constants += [first, second]
            return f"enum {self.one('', ': int ', ': unsigned ', ': long ')}{{ {first} = {text}, {second} }};"
        name = self.new("N")
        space.constants.append(name)
        kind = self.one("int", "unsigned", "long", "size_t", "short", "unsigned char", "auto", "long long", "bool")
        words = [self.one("constexpr", "const", "constexpr"), kind]
        if self.chance(0.3):
            words.insert(0, self.one("static", "inline", "static"))
        form = self.one(f" = {text}", f" = {text}", f" = ({text})", f"{{{text}}}", f"({text})")
        return f"{' '.join(words)} {name}{form};"

    def type_declaration(self) -> str:
        space, name = self.spaces[-1], self.new("A")
        form = self.rng.randrange(10)
        base = self.base()
        if form < 3:
            text = f"typedef {base} {self.stars()}{name}{self.extents(1)}"
            if self.chance(0.3):
                other = self.new("A")
                text += f", {self.one('', '*', '*const ')}{other}{self.one('', '[2]')}"
                space.types.append(other)
        elif form == 3:
            text = f"{self.plain()} typedef {name}"
        elif form < 7:
            attribute = self.one("", "", " [[maybe_unused]]")
            text = f"using {name}{attribute} = {base}{self.one('', self.stars(), f'[{self.extent()}]')}"
        elif form == 7:
            parameter = self.new("X")
            shape = self.one(f"{parameter}", f"{parameter}*", f"const {parameter}*", f"{parameter} const")
            if self.chance(0.3):
                head = f"class {parameter} = {self.plain()}, int L = {self.one('1', '2')}"
                text = f"template <{head}> using {name} = {shape}"
                space.types.append(f"{name}<{self.one('', self.plain(), self.plain() + ', 3')}>")
            else:
                text = f"template <typename {parameter}> using {name} = {shape}"
                space.types.append(f"{name}<{self.one(self.plain(), 'const ' + self.plain())}>")
            return text + ";"
        else:
            return self.enumeration(name)
        space.types.append(name)
        return text + ";"

    def enumeration(self, name: str) -> str:
        space = self.spaces[-1]
        values = [
            f"{self.new('e')}{self.one('', f' = {self.expression()}', ' = -1')}" for _ in range(self.rng.randint(0, 3))
        ]
        body = ", ".join(values) + self.one("", "," if values else "")
        scoped = self.one("", "", " class", " struct")
        under = self.one("", "", f" : {self.plain()}".replace("float", "int").replace("double", "char"))
        space.types.append(name)
        if not scoped:
            space.constants += [re.match(r"\w+", value)[0] for value in values]  # type: ignore[index]
        if self.chance(0.2):
            tag = self.new("A")
            return f"typedef enum {tag}{under} {{ {body} }} {name};"
        return f"enum{scoped} {self.one('', '[[maybe_unused]] ')}{name}{under} {{ {body} }};"

    def noise(self) -> str:
        """Return what has no meaning for a kernel, and much in common with what has."""
        name = self.new("z")
        shadowed = self.rng.choice(["Nothing", *(one for one in self.spaces[-1].types if one.isidentifier())])
        return self.one(
            f'const char {name}[] = R"x(__global__ void {name}(int a) {{ )" )x";',
            f"/* __global__ void {name}(float x); */",
            f"// typedef int {shadowed}; \\\n using {shadowed} = char;\n",
            f"inline int {name}() {{ typedef char {shadowed}; {shadowed} x = '\"'; return x; }}",
            f"inline int {name}() {{ using {shadowed} = char; enum {{ Here = 3 }}; return Here; }}",
            f"struct {name} {{ using {shadowed} = char; enum {{ Inside }}; static void f({shadowed}) {{ }} }};",
            f"\n#if 0\ntypedef char {shadowed}; its ' \n#endif\n",
            f"\n#define {name}(x) x {shadowed}\n",
            f"\n#ifdef {name}\n}} }} )\n#else\n#endif\n",
            f"template <class T> struct {name} {{ typedef T type; }};",
            f"__global__ void {name}(int, const {self.plain()}* x);",
            f"inline auto {name} = [](int a) {{ return a < 2 ? '{{' : '}}'; }};",
            f"static const char* {name} = \"typedef int {shadowed}; // \\\" what??/\";",
            f"__device__ float {name}[] = {{ 1.f, 2.e-1f, 0x1p3f }};",
            f"static_assert(sizeof(int) == 4, \"int {shadowed}\");",
            f"extern int {name}; extern {self.plain()} (*{name}_f)(int);",
            f"namespace {name} {{ typedef char {shadowed}; }}",
            f"namespace {name} = ::std;",
        )  # fmt: skip

    def declaration(self) -> str:
        kind = self.rng.random()
        if kind < 0.35:
            return self.value_declaration()
        if kind < 0.75:
            return self.type_declaration()
        if kind < 0.8 and len(self.type_macros) < 3:
            name = self.new("W")
            text = self.base() + self.one("", "", "*")
            self.type_macros.append(name)
            return f"\n#define {name} {text}\n"
        return self.sibling() if len(self.spaces) < 4 and self.chance(0.3) else self.noise()

    def sibling(self) -> str:
        """Return a namespace, of which there are several ways to reach what is in it."""
        space, outer = self.new("n"), self.spaces[-1]
        form = self.one("", "using namespace", "using", "inline")
        self.spaces.append(Space((*outer.path, (space, form == "inline"))))
        inside, inner = self.declarations(4), self.spaces.pop()
        before, after = f"{space}::", ""
        if form == "using namespace":
            before, after = (
                self.one("", before),
                f"using namespace {self.one(space, self.called(outer.path, space))};",
            )
        elif form == "inline":
            before = self.one("", before)
        elif form == "using":
            simple = [name for name in (*inner.types, *inner.constants) if name.isidentifier()][:2]
            after = " ".join(f"using {space}::{name};" for name in simple)
            outer.types += [name for name in simple if name in inner.types]
            outer.constants += [name for name in simple if name in inner.constants]
        outer.types += [before + name for name in inner.types]
        outer.constants += [before + name for name in inner.constants]
        return f"{'inline ' if form == 'inline' else ''}namespace {space} {{ {inside} }} {after}"

    def declarations(self, most: int) -> str:
        return " ".join(self.declaration() for _ in range(self.rng.randint(0, most)))

    # --- kernels

    def parameter(self, *, default: bool) -> str:
        name = self.one(self.new("x"), self.new("x"), self.new("x"), "")
        attribute = self.one(
            "", "", "", "", "[[maybe_unused]] ", "__attribute__((unused)) ", "[[gnu::unused, maybe_unused]] "
        )
        base = self.base()
        form = self.rng.randrange(4 if default else 0, 24)
        if form == 0:
            view = f"{self.one('Array', 'CArray', 'cunumpy::Array')}{self.rng.randint(1, 2)}D".replace("y1D", "y2D")
            view = view if view.startswith("cunumpy") else view.replace("2", str(self.rng.randint(1, 16)))
            return f"{attribute}{view}<{self.one('', 'const ')}{self.plain()}> {name}"
        if form == 1:
            return f"{attribute}{self.one('void', 'const void', 'void const')}* {name}"
        if form == 2 and self.chance(0.2):
            return self.one(
                f"void (*{name})(int, double)", f"{self.plain()} ({name or 'y'})", f"{self.plain()} (*{name})[3]",
                f"{base}& {name}", f"{self.plain()} {name or 'y'}(int)", f"{base}** {name}",
            )  # fmt: skip
        if form == 3:
            return f"{attribute}struct {self.one('dim3', 'float3')} {name}"
        stars = self.stars()
        extents = ""
        if form >= 20 and not stars:
            extents = self.one("[]", f"[{self.extent()}]", f"[{self.extent()}]", "[][2]" if self.chance(0.1) else "[]")
        after = self.one("", "", "", " [[maybe_unused]]") if name and not extents else ""
        text = f"{attribute}{base} {stars}{name}{after}{extents}"
        return text + (f" = {self.default(stars or extents, base)}" if default else "")

    def default(self, pointer: str, base: str) -> str:
        if pointer:
            return self.one("nullptr", "0", "{}", "NULL")
        if not _PLAIN_WORDS.issuperset(base.split()) and self.chance(0.6):  # perhaps a class
            return "{}"
        return self.one(
            "{}", "0", "1", "(1 < 2)", "1 < 2", "2 > (1)", "3 >> (1)", f"({self.expression()})", "sizeof(int[3])",
            "[] { return 1; }()", "'>'", "(0, 1)", "sizeof(\"a,)\")", f"{self.one(*LITERALS)} < 3", "pick<1, 2>(3)",
            "pick<1, (2 > 1)>(3)",
            *(f"{name} < 3" for space in self.spaces for name in space.constants[-1:]),
        )  # fmt: skip

    def template(self) -> tuple[str, list[str] | None]:
        """Return the template parameters of a kernel, and arguments."""
        if not self.chance(0.35):
            return "", None
        first, second, number = self.new("T"), self.new("U"), self.new("L")
        self.bound = [first]
        self.spaces[-1].constants.append(number)
        parts = [
            f"{self.one('typename', 'class')} {first} = {self.plain()}",
            f"int {number} = {self.one('3', '(3 > 2)', '1 + 1')}",
        ]
        if self.chance(0.4):
            parts.append(f"class {second} = {self.one(first, first + '*', 'const ' + first)}")
            self.bound.append(second)
        arguments = self.one(
            "", "double", "const int", "unsigned char", "long long", "float*", "double, 4", "short, (2 > 1)"
        )
        return f"template <{', '.join(parts)}>", [one.strip() for one in arguments.split(", ") if one]

    def kernel(self, structs: int = 0) -> Drawn:
        """Return a source with a kernel, whose parameters have as many types of structs that the source defines."""
        name, parts = (
            f"kernel_{self.number}",
            ["template <int A, int B> constexpr int pick(int x) { return x + A + B; }"],
        )
        parts.append(self.declarations(4))
        places: dict[str, list[str]] = {}
        for depth in range(most := self.rng.choice([0, 0, 1, 1, 2, 3])):
            parts += self.struct_types(places, structs if depth == 0 else 0)
            parts += [self.space(), self.declarations(4)]
        if not most:
            parts += self.struct_types(places, structs)
        path = self.spaces[-1].path
        if structs and path and self.chance(0.2):  # a nearer type of the name
            parts.append(f"typedef {self.plain()} {self.one(*self.structs).rpartition('::')[2]};")
        named = bool(path) and all(space for space, _ in path)  # without, a bare name means more than a qualified one
        outside = named and self.chance(0.25)  # defined behind its namespaces
        for kind in self.spaces[-1].types[:1]:  # what a block inside says is no matter
            parts.append(f"inline void {self.new('f')}() {{ typedef char {kind.partition('<')[0]}; }}")
        template, arguments = ("", None) if outside else self.template()
        linkage = "" if template or outside or self.chance(0.6) else ' extern "C"'
        listed, with_default = [], False
        for number in range(self.rng.randint(structs > 0, 6)):
            with_default = not outside and (with_default or (number > 1 and self.chance(0.3)))
            parameter = self.parameter if not structs or self.chance(0.4) else self.struct_parameter
            listed.append(parameter(default=with_default))
        parameters = ", ".join(listed) or self.one("", "void")
        twin = named and self.chance(0.12)  # another kernel of the name, in the namespace around or beside
        other = f"__global__ void {name}(int, {self.plain()}) {{ }}" if twin else ""
        if twin and self.chance(0.5):
            other = f"{self.one('', 'inline ')}namespace {self.new('n')} {{ {other} }}"
        closing = "} " * (len(path) - 1) + other + " }" * bool(path)
        if outside:
            parts += [f"__global__ void {name}({parameters});", closing]
            parts.append(self.head("", self.called(path, name), parameters, "", alone=False))
        else:
            before = self.chance(0.2) and not template and " = " not in parameters
            if before:
                parts.append(f"{linkage} void __global__ {name}({parameters});")
            parts += [self.head(template, name, parameters, linkage, alone=not before), closing]
        source = self.disguised("\n".join(parts) + self.one("\n", " ", "\n" + self.later()))
        arguments_text = "" if arguments is None else f"<{', '.join(arguments)}>"
        whole = self.called(path, name)
        end = whole if twin or outside else "::".join(whole.split("::")[self.rng.randint(0, whole.count("::")) :])
        return Drawn(source, end, whole + arguments_text, arguments, [], places)

    def later(self) -> str:
        """Return what comes behind the kernel, and does not change it."""
        return " ".join(f"typedef char {kind}_later;" for kind in self.spaces[0].types[:1] if kind.isidentifier())

    def head(self, template: str, name: str, parameters: str, linkage: str, *, alone: bool) -> str:
        """Return the definition of a kernel, which may be the only declaration."""
        trailing = self.chance(0.15)
        returned = "auto" if trailing else "void"
        words = ["__global__", returned]
        if "::" not in name:
            words += self.rng.sample(
                ["__launch_bounds__(32, 2)", "static", "inline", "[[gnu::unused]]"], self.rng.randint(0, 2)
            )
        if linkage and "static" in words:
            words.remove("static")
        self.rng.shuffle(words)
        words.sort(key=lambda word: not word.startswith("[["))
        if linkage:
            words = [word for word in words if not word.startswith("[[")]
        after = self.one("", "", " noexcept", " noexcept(sizeof(int) > 2)") if alone else ""
        after += " -> void" if trailing else ""
        if template and self.chance(0.3):
            template += f" requires (sizeof({self.bound[0]}) > 0) && true" if self.chance(0.5) else " requires (1 > 0)"
        body = self.one("{ }", "{ int a = 1; { ++a; } }", "{ /* } */ }")
        return f"{template}{linkage} {' '.join(words)} {name}({parameters}){after} {body}"

    # --- structs

    def struct(self) -> Drawn:
        """Return a source with a struct; its members are asked about."""
        name = f"Struct_{self.number}"
        parts = [self.declarations(4)]
        for _ in range(self.rng.choice([0, 0, 0, 1, 2])):
            parts += [self.space(), self.declarations(3)]
        members: list[str] = []
        path = self.spaces[-1].path
        parts += [self.struct_text(name, members), "}" * len(path)]
        whole = self.called(path, name)
        return Drawn(self.disguised("\n".join(parts)), self.one(name, whole), whole, None, members)

    def struct_types(self, places: dict[str, list[str]], count: int) -> list[str]:
        """Return definitions of structs, some in namespaces, for parameters and members of later ones."""
        parts = []
        for _ in range(count):
            kind, members, inside = self.new("Struct"), list[str](), self.chance(0.3)
            self.odd = self.chance(0.2)
            head = self.space() if inside else ""
            parts += [head, self.struct_text(kind, members), "}" * inside]
            self.structs.append(self.called(self.spaces[-1].path, kind))
            places[self.structs[-1]] = members
            if inside:
                self.spaces.pop()
            if self.chance(0.2):
                self.structs.append(alias := self.new("A"))
                parts.append(self.one(f"using {alias} = {self.structs[-2]};", f"typedef {self.structs[-2]} {alias};"))
        return parts

    def struct_parameter(self, *, default: bool) -> str:
        name, kind = self.one(self.new("x"), self.new("x"), ""), self.one(*self.structs)
        const = self.one("", "", "const ", "const ")
        form = self.rng.randrange(8)
        if form < 4:
            word = self.one("", "", "struct ") if "A" not in kind else ""
            return f"{self.one('', '[[maybe_unused]] ')}{const}{word}{kind} {name}{' = {}' if default else ''}"
        if form < 7:
            pointer = self.one("*", " *", "* __restrict__ ", "*const ")
            return f"{const}{kind}{pointer}{name}{' = nullptr' if default else ''}"
        return f"Array{self.rng.randint(1, 3)}D<{const}{kind}> {name}{' = {}' if default else ''}"

    def struct_text(self, name: str, members: list[str]) -> str:
        """Return the definition of a struct."""
        before_it = ""
        body = " ".join(self.member(members) for _ in range(self.rng.randint(1, 7)))
        before = self.one(
            "", "", "", "", "alignas(16) ", "__align__(8) ", "__attribute__((aligned(32))) ", "[[maybe_unused]] "
        )
        if self.odd and self.chance(0.04):
            before += self.one("__attribute__((packed)) ", "alignas(double) ", "alignas(2 << 3) ")
        keyword = self.one("struct", "struct", "class")
        body = ("public: " if keyword == "class" else "") + body
        final = self.one("", "", " final")
        base = ""
        if self.odd and self.chance(0.03):
            before_it = f"struct Base_{name} {{ int base; }};\n"
            base = f" : Base_{name}"
        if self.chance(0.15) and not final and not base:
            text = f"typedef struct {before}{self.one('', name + '_tag ')}{{ {body} }} {name};".replace("public: ", "")
        else:
            text = f"{keyword} {before}{name}{final}{base} {{ {body} }};"
        if self.odd and self.chance(0.03):
            text = f"\n#pragma pack(push, 2)\n{text}\n#pragma pack(pop)\n"
        if self.chance(0.1):
            text = f"struct {name}; {text}" if "typedef" not in text else text
        return before_it + text

    def member(self, members: list[str]) -> str:
        if self.chance(0.3):
            return self.no_member()
        count = self.rng.choice([1, 1, 1, 2, 3])
        base = self.base() if self.odd else self.one(self.plain(), self.one(*NAMED), *self.structs[-2:])
        pieces = []
        for _ in range(count):
            name = self.new("m")
            form = self.rng.randrange(80 if self.odd else 800)
            members.append(name)
            if form == 0:
                pieces.append(f"{name} : 3")
                members[-1] += " bits"
                base = self.one("int", "unsigned")
            elif form == 1:
                pieces.append(f"(*{name})(int)")
            elif form == 2:
                pieces.append(f"*{name}[2]")
            else:
                star = self.one("", "", "", "*", "*", "**" if self.chance(0.1) else "")
                extents = "" if star else self.extents(2) if self.odd else self.one("", "", "[2]", "[3][1 + 1]")
                value = self.one("", "", "{}", " = 0" if not extents and not star else "", " = {}")
                attribute = self.one("", "", "", " [[maybe_unused]]")
                pieces.append(f"{star}{name}{attribute}{extents}{value}")
        before = self.one("", "", "", "", "mutable ", "[[maybe_unused]] ", "alignas(8) " if self.chance(0.05) else "")
        return f"{before}{base} {', '.join(pieces)};"

    def no_member(self) -> str:
        name = self.new("q")
        kind = self.plain()
        return self.one(
            f"static {kind} {name};",
            f"static constexpr int {name} = 3;",
            f"using {name} = {kind}*;",
            f"typedef {kind} {name}[2];",
            f"enum {{ {name} = 2, {name}b }};",
            f"enum class {name} : char {{ a }};",
            f"{kind} {name}({kind} a, int b = (1 < 2)) const {{ return a; }}",
            f"void {name}() const noexcept;",
            f"template <class X> X {name}(X x) {{ return x; }}",
            f"friend void {name}(int) {{ }}",
            f"struct {name} {{ {kind} inner; void f() {{ }} }};",
            "public:",
            ";",
            f"static_assert(sizeof(int) == 4, \"; }} {kind}\");",
            f"bool operator<({kind}) const {{ return true; }}",
            f"operator {kind}() const {{ return {{}}; }}",
            f"{kind}& {name}() {{ static {kind} x[2]; return x[0]; }}",
            f"auto {name}() const -> {kind} {{ return {{}}; }}",
            f"static {kind} {name}({kind} x) {{ struct Local {{ {kind} y; }} z {{ x }}; return z.y; }}",
            f"// {kind} {name};\n",
            f"/* {kind} {name}; */",
            f"\n#if 0\n{kind} {name};\n#endif\n",
            f"{kind} {name}(), {name}b(int);",
            f"[[nodiscard]] constexpr int {name}() const {{ return 1; }}",
            "explicit operator bool() const { return 1 > 0; }" if self.chance(0.3) else ";",
            f"struct {{ {kind} {name}; }};" if self.chance(0.04) else ";",
            f"union {{ {kind} {name}; int {name}b; }};" if self.chance(0.04) else ";",
            f"virtual void {name}() {{ }}" if self.chance(0.04) else ";",
        )  # fmt: skip

    # --- in another way

    def disguised(self, text: str) -> str:
        """Write the same words in another way: comments, continued lines, digraphs, other blanks."""
        style = self.rng.random()
        if style < 0.4:
            return text
        digraphs = self.chance(0.3)
        parts: list[str] = []
        for line in re.split(
            r'(R"x\(.*?\)x"|\n[^\S\n]*#[^\n]*\n|//[^\n]*(?:\\\n[^\n]*)*\n|/\*.*?\*/)', text, flags=re.DOTALL
        ):
            if line.startswith(("R", "//", "/*")) or line.lstrip().startswith("#"):
                parts.append(line.replace("#", "%:", 1) if digraphs and "#" in line[:3] else line)
                continue
            for word in _WORD.findall(line):
                if word.isspace():
                    word = self.one(
                        " ",
                        " ",
                        "\n",
                        "\t",
                        " /* ( */ ",
                        ' // < " \n',
                        " \\\n ",
                        "\r\n",
                        "/**/\n/*'*/",
                        " //??/\n",
                        " // a\\\nb\n",
                    )
                elif digraphs and word in _DIGRAPHS:
                    word = _DIGRAPHS[word]
                elif len(word) > 1 and word[0] not in "\"'" and self.chance(0.02):
                    cut = self.rng.randint(1, len(word) - 1)
                    word = word[:cut] + "\\\n" + word[cut:]
                parts.append(word)
                if self.chance(0.02) and not word.isspace():
                    parts.append(self.one("/* , */", " ", "\n", "\\\n "))
        return "".join(parts)


_DIGRAPHS = {"[": "<:", "]": ":>", "{": "<%", "}": "%>"}
_WORD = re.compile(
    r"""\s+|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\.?\d(?:'\w|[eEpP][+-]|[\w.])*|\w+|::|->|&&|\|\||<<|>>|[=!<>]=|\.\.\.|."""
)
