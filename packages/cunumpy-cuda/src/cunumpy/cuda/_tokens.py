"""The words of CUDA C++ source code, after the preprocessor: what a compiler's grammar would be given.

Comments, string and character literals, raw strings and continued lines are recognised; literals become one word that
starts with its quotation mark. Object-like macros are expanded, function-like ones are not (`Tokens.function_macros`).

Conditions of ``#if`` are decided where they follow from the source and the given definitions; blocks that are left out
give no words. Both branches of an undecided condition are kept, and `Tokens.undecided` says where. A name that the
source does not define is taken as undefined if all definitions were given and no file was included before; else a
header could define it, so it is undecided. ``#ifndef X`` directly before ``#define X`` is an include guard or a default
value: X counts as undefined. ``__CUDACC__`` and ``__cplusplus`` are defined.
"""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.cuda._integers import UNKNOWN, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATTERN = re.compile(
    r"""
      (?P<directive>^(?>[^\S\n]|/\*.*?\*/)*(?P<hash>\#|%:)(?>[^\n/"']+|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'
                                                         |//[^\n]*|/\*.*?\*/|[/"'])*)
    | (?:u8|[uUL])?(?P<text>R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<word>[^\W\d][\w$]*)
    | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<mark_>::|\.\.\.|&&|\|\||==|!=|<=|>=|<<|->|<:(?!:(?:[^:>]|\Z))|:>|<%|%>|%:|\S)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# Raw strings keep their line ends, everything else is joined at a backslash; comments are matched to skip their quotes.
_JOINING = re.compile(
    r"""
      (?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)")
    | //(?:[^\\\n]|\\\r?\n|\\.)*
    | /\*.*?\*/
    | "(?:[^"\\\n]|\\\r\n|\\.)*"
    | \b\d(?:'\w|[\w.])*
    | '(?:[^'\\\n]|\\\r\n|\\.)*'
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTINUATION = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"""("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_DEFINE = re.compile(r"([^\W\d][\w$]*)(\()?(.*)", re.DOTALL)
_NEXT_DEFINE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*(?:\#|%:)[^\S\n]*define[^\S\n]+([\w$]+)", re.DOTALL)
_GUARD = re.compile(r"!\s*defined\s*\(?\s*([^\W\d][\w$]*)\s*\)?")

_DEEPEST, _LONGEST = 100, 10_000
"""Macros that expand further than this, in levels or words, are left as they are."""

_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#"}
_RAW_PREFIXES = frozenset({"R", "LR", "uR", "UR", "u8R"})

PREDEFINED = frozenset({"__CUDACC__", "__cplusplus"})


class SourceError(Exception):
    """What is wrong with a source, and at which place; the public functions make an `ArgumentError` of it."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Undecided(NamedTuple):
    """A block whose condition can't be decided: its words, and its directive."""

    start: int
    stop: int
    offset: int
    directive: str


class Branch(NamedTuple):
    """Where alternatives meet: before which word an undecided ``if`` starts, goes on (``else``) or ends (``endif``)."""

    place: int
    kind: str


class _Macro(NamedTuple):
    words: tuple[str, ...]
    offset: int
    certain: bool
    function_like: bool


class Tokens:
    """A source as words.

    Attributes
    ----------
    words : list of str
    offsets : list of int
        Where each word starts; `position` makes line and column of it. What comes from a macro has the place of its
        use.
    branches, undecided : list
        The undecided conditions.
    left_out : list of tuple of (int, int)
        From where to where blocks were left out, as offsets.
    function_macros : dict
        The offset of the definition of each function-like macro.
    ambiguous_macros : dict
        The offsets of the definitions that a macro may have.
    packing : list of int
        Before which words ``#pragma pack`` changes the layout of structs (at odd entries, changes it back).
    """

    def __init__(self, source: str, defines: Mapping[str, str | None] | None) -> None:
        self.source = source.removeprefix("\ufeff")
        self.text, self._joints = _joined(self.source)
        self.words: list[str] = []
        self.offsets: list[int] = []
        self.branches: list[Branch] = []
        self.undecided: list[Undecided] = []
        self.left_out: list[tuple[int, int]] = []
        self.function_macros: dict[str, int] = {}
        self.ambiguous_macros: dict[str, list[int]] = {}
        self.packing: list[int] = []
        _Preprocessor(self, defines).run()

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, of an offset."""
        place = bisect.bisect_right(self._joints, (offset, len(self.source))) - 1
        if place >= 0:
            offset += self._joints[place][1]
        return self.source.count("\n", 0, offset) + 1, offset - self.source.rfind("\n", 0, offset)

    def error(self, message: str, offset: int) -> SourceError:
        """Return the error of a place."""
        return SourceError(message, *self.position(offset))


def _joined(source: str) -> tuple[str, list[tuple[int, int]]]:
    """Join continued lines; return the text, and from which of its offsets on how much has been taken out."""
    if _CONTINUATION.search(source) is None:
        return source, []
    pieces: list[str] = []
    joints: list[tuple[int, int]] = []
    length, done = 0, 0

    def keep(stop: int) -> None:
        nonlocal length, done
        pieces.append(source[done:stop])
        length += stop - done
        done = stop

    def join(stop: int) -> None:
        nonlocal done
        for match in _CONTINUATION.finditer(source, done, stop):
            keep(match.start())
            done = match.end()
            joints.append((length, done - length))
        keep(stop)

    for match in _JOINING.finditer(source):
        if match["raw"]:
            join(match.start())
            keep(match.end())
    join(len(source))
    return "".join(pieces), joints


def _words(text: str) -> Iterator[str]:
    """Give the words of a text without directives."""
    for match in _PATTERN.finditer(text):
        kind = match.lastgroup
        if kind == "text":
            yield match["text"].removeprefix("R")
        elif kind != "comment":
            word = match.group().strip()
            yield _DIGRAPHS.get(word, word)


def words_of(text: str) -> list[str]:
    """Return the words of a text without directives, such as one type."""
    return list(_words(text))


def is_name(word: str) -> bool:
    """Tell whether a word is an identifier or a keyword."""
    return word[:1].isalpha() or word[:1] == "_"


class _Conditional:
    """One ``#if`` up to its ``#endif``; states are True (compiled), False (left out) and None (undecided)."""

    __slots__ = ("decided", "directive", "has_else", "offset", "outer", "start", "state", "undecided")

    def __init__(self, outer: bool | None, offset: int) -> None:
        self.outer = outer
        self.decided: bool | None = False  # an earlier branch was taken
        self.state: bool | None = False
        self.offset = offset
        self.directive = ""
        self.start = 0
        self.undecided = False
        self.has_else = False


class _Preprocessor:
    def __init__(self, tokens: Tokens, defines: Mapping[str, str | None] | None) -> None:
        self.tokens = tokens
        self.given = defines
        self.open_names = defines is None  # a name that is not defined here may be defined elsewhere
        self.macros: dict[str, _Macro | None] = {}
        self.expansions: dict[str, list[str] | None] = {}
        self.conditionals: list[_Conditional] = []
        self.state: bool | None = True
        self.left_out_from = 0
        for name, value in (defines or {}).items():
            self.macros[name] = None if value is None else _Macro(tuple(_words(value)), 0, True, False)

    def run(self) -> None:
        tokens, text = self.tokens, self.tokens.text
        words, offsets, macros = tokens.words, tokens.offsets, self.macros
        for match in _PATTERN.finditer(text):
            kind = match.lastgroup
            if kind == "directive":
                self.directive(match)
            elif self.state is False:
                if text.startswith("/*", match.start()) and kind != "comment":
                    raise tokens.error("the comment that starts here has no end; write */ after it", match.start())
            elif kind == "word":
                word = match.group()
                if word in macros and self.expand(word, match.start()):
                    continue
                words.append(word)
                offsets.append(match.start())
            elif kind == "text":
                self.check_raw(match.start())
                words.append(match["text"].removeprefix("R"))
                offsets.append(match.start())
            elif kind != "comment":
                word = match.group()
                self.check_ends(word, match.start())
                words.append(_DIGRAPHS.get(word, word))
                offsets.append(match.start())
        if self.conditionals:
            raise tokens.error("this condition has no end; write #endif after its block", self.conditionals[-1].offset)

    def check_ends(self, word: str, offset: int) -> None:
        if word == "/" and self.tokens.text.startswith("/*", offset):
            raise self.tokens.error("the comment that starts here has no end; write */ after it", offset)
        if word == '"':
            self.check_raw(offset)

    def check_raw(self, offset: int) -> None:
        """Raise for a quotation mark directly after R, which the pattern of raw strings has not taken."""
        word = self.tokens.words[-1] if self.tokens.words else ""
        if word in _RAW_PREFIXES and self.tokens.offsets[-1] + len(word) == offset:
            raise self.tokens.error(
                'the raw string that starts here has no end; write )" after it, with the delimiter between the two',
                offset - len(word),
            )

    # Macros

    def expand(self, name: str, offset: int) -> bool:
        """Append the words that a macro stands for; False if it stands for itself."""
        expansion = self.expansion(name)
        if expansion is None:
            return False
        self.tokens.words.extend(expansion)
        self.tokens.offsets.extend([offset] * len(expansion))
        return True

    def expansion(self, name: str) -> list[str] | None:
        if name not in self.expansions:
            macro = self.macros.get(name)
            if macro is None or macro.function_like or name in self.tokens.ambiguous_macros:
                self.expansions[name] = None
            else:
                words: list[str] = []
                complete = self._append(words, name, macro, (name,))
                self.expansions[name] = words if complete else None
        return self.expansions[name]

    def _append(self, words: list[str], name: str, macro: _Macro, within: tuple[str, ...]) -> bool:
        for word in macro.words:
            inner = self.macros.get(word) if word not in within else None
            if inner is None or inner.function_like or word in self.tokens.ambiguous_macros:
                words.append(word)
            elif len(within) == _DEEPEST or not self._append(words, word, inner, (*within, word)):
                return False
            if len(words) > _LONGEST:
                return False
        return True

    def define(self, text: str, offset: int) -> None:
        match = _DEFINE.match(text)
        if match is None:
            return
        name, function_like, body = match[1], match[2] is not None, match[3]
        macro = _Macro(() if function_like else tuple(_words(body)), offset, self.state is True, function_like)
        earlier = self.macros.get(name)
        self.expansions.clear()
        if function_like:
            self.tokens.function_macros[name] = offset
        if macro.certain:
            self.tokens.ambiguous_macros.pop(name, None)
        elif earlier is not None and (function_like or earlier[0] != macro[0] or earlier.function_like):
            self.tokens.ambiguous_macros.setdefault(name, [earlier.offset]).append(offset)
        self.macros[name] = macro

    def undefine(self, name: str) -> None:
        earlier = self.macros.get(name)
        self.expansions.clear()
        if self.state is True:
            self.macros[name] = None
            self.tokens.ambiguous_macros.pop(name, None)
        elif earlier is not None:
            self.macros[name] = earlier._replace(certain=False)

    def is_defined(self, name: str) -> bool | None:
        if name in self.macros:
            macro = self.macros[name]
            return False if macro is None else True if macro.certain else None
        if name in PREDEFINED:
            return True
        return None if self.open_names or name.startswith("_") else False

    # Directives

    def directive(self, match: re.Match[str]) -> None:
        kind, rest = _name_and_rest(match)
        offset = match.start("hash")
        if kind in ("if", "ifdef", "ifndef"):
            conditional = _Conditional(self.state, offset)
            self.conditionals.append(conditional)
            condition = False if self.state is False else self.condition(kind, rest, match.end())
            self.enter(conditional, condition, f"#{kind} {rest}")
        elif kind in ("elif", "elifdef", "elifndef", "else", "endif"):
            if not self.conditionals:
                raise self.tokens.error(f"#{kind} without #if before it; remove it, or add the #if", offset)
            conditional = self.conditionals[-1]
            if conditional.has_else and kind != "endif":
                raise self.tokens.error(f"#{kind} after #else; write #endif, or the branches in order", offset)
            self.leave(conditional, offset)
            if kind == "endif":
                self.conditionals.pop()
                if conditional.undecided:
                    self.tokens.branches.append(Branch(len(self.tokens.words), "endif"))
                self.state = conditional.outer
            elif kind == "else":
                conditional.has_else = True
                self.enter(conditional, True, conditional.directive or "#else", offset)
            else:
                needed = conditional.outer is not False and conditional.decided is not True
                condition = self.condition(kind.removeprefix("el"), rest, match.end()) if needed else False
                self.enter(conditional, condition, f"#{kind} {rest}", offset)
        elif self.state is not False:
            if kind == "define":
                self.define(rest, offset)
            elif kind == "undef":
                self.undefine(rest)
            elif kind in ("include", "include_next", "import"):
                self.open_names = True
            elif kind == "pragma" and re.match(r"pack\b", rest):
                restores = re.fullmatch(r"pack\s*\(\s*(pop\b.*)?\)", rest) is not None
                if restores == (len(self.tokens.packing) % 2 == 1):
                    self.tokens.packing.append(len(self.tokens.words))

    def enter(self, conditional: _Conditional, condition: bool | None, directive: str, offset: int = -1) -> None:
        """Begin a branch."""
        if conditional.decided is True or condition is False or conditional.outer is False:
            state: bool | None = False
        elif conditional.decided is None or condition is None:
            state = None
        else:
            state = True
        if state is not False:
            conditional.decided = True if condition is True or conditional.decided is True else None
        count = len(self.tokens.words)
        if state is None:
            kind = "else" if conditional.undecided else "if"
            self.tokens.branches.append(Branch(count, kind))
            conditional.undecided = True
        conditional.state = state
        conditional.start = count
        conditional.directive = conditional.directive or directive
        self.state = False if state is False else None if state is None or conditional.outer is None else True
        if state is False:
            self.left_out_from = conditional.offset if offset < 0 else offset

    def leave(self, conditional: _Conditional, offset: int) -> None:
        """End a branch."""
        if conditional.state is None:
            count = len(self.tokens.words)
            self.tokens.undecided.append(Undecided(conditional.start, count, conditional.offset, conditional.directive))
        elif conditional.state is False and conditional.outer is not False:
            self.tokens.left_out.append((self.left_out_from, offset))

    def condition(self, kind: str, rest: str, end: int) -> bool | None:
        guard = _GUARD.fullmatch(rest) if kind == "if" else None
        if kind in ("ifdef", "ifndef") or guard is not None:
            name = guard[1] if guard is not None else rest.split()[0] if rest else ""
            defined = self.is_defined(name)
            if kind == "ifdef":
                return defined
            if defined is None and name not in self.macros:
                default = _NEXT_DEFINE.match(self.tokens.text, end)
                if default is not None and default[1] == name:
                    return True
            return None if defined is None else not defined
        value = evaluate(self.condition_words(rest), self.number, preprocessor=True)
        return None if value is None else value.value != 0

    def condition_words(self, text: str) -> list[str]:
        given = list(_words(text))
        words: list[str] = []
        place = 0
        while place < len(given):
            word = given[place]
            place += 1
            if word == "defined":
                closing = given[place : place + 1] == ["("]
                name = given[place + closing] if place + closing < len(given) else ""
                place += 1 + 2 * closing
                defined = self.is_defined(name)
                words.append(UNKNOWN if defined is None else str(int(defined)))
                continue
            macro = self.macros.get(word)
            expansion = self.expansion(word) if macro is not None and macro.certain else None
            words.extend([word] if expansion is None else expansion)
        return words

    def number(self, name: str) -> int | None:
        if name in ("true", "false"):
            return int(name == "true")
        return 0 if self.is_defined(name) is False else None


def directives(source: str) -> Iterator[tuple[str, str]]:
    """Give every directive of a source as its name and the text after it, whatever the conditions around it."""
    text, _ = _joined(source.removeprefix("\ufeff"))
    for match in _PATTERN.finditer(text):
        if match.lastgroup == "directive":
            yield _name_and_rest(match)


def _name_and_rest(directive: re.Match[str]) -> tuple[str, str]:
    line = directive.string[directive.end("hash") : directive.end()]
    text = _COMMENT.sub(lambda comment: comment[1] or " ", line).strip()
    name = re.match(r"\w*", text)
    length = 0 if name is None else name.end()
    return text[:length], text[length:].strip()
