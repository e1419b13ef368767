"""Grid-stride loops, turned inside out: all threads take their first step, then all their second.

A thread that steps through an array by the size of the grid touches memory far apart, so the kernel

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) body

is 50 times slower than C where threads run one after another. Of such a kernel a second function is made, which does
step number `pass` of the loop. It is called for all threads before the next step, so that neighbours in memory follow
each other. That changes nothing where a step depends on earlier ones of its thread by memory alone: the kernel is
declarations without effects and one loop, which is left only at its end. All that outlives a step is declared const, so
that the compiler refuses the second function where the kernel changes it; then the kernel runs as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.cuda._brackets import end_of_group, split
from cunumpy.cuda._tokens import is_name
from cunumpy.kernels._cpu_device.compiler import GENERATED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PLACE = "<place>"
SIZE = "<size>"
"""What stands for the place of a thread along x, and for the number of threads, in simplified expressions."""

_IDX = r"(?:threadIdx|blockIdx|blockDim|gridDim)"
INTEGER = r"(?:(?:unsigned|signed|long|int|const|auto|size_t|int64_t|uint64_t|int32_t|uint32_t|std|::|uint|ulong) )+"
_PARENTHESES = re.compile(rf"(?<!\w )\( ({_IDX} \. x) \) ")
_CASTS = (
    re.compile(rf"static_cast < {INTEGER}> \( ({_IDX} \. x) \) "),
    re.compile(rf"(?:int|size_t|unsigned|uint|int64_t|uint64_t) \( ({_IDX} \. x) \) "),
    re.compile(rf"\( {INTEGER}\) (?=\(? ?{_IDX} )"),
)
_PRODUCT = r"(?:blockIdx \. x \* blockDim \. x |blockDim \. x \* blockIdx \. x )"
_BEFORE = r"(?<!\S)(?<![*/%.~!-] )"
_OPEN = r"(?<![\w>\])] )\( "  # not of a call
_AFTER = r"(?![*/%.\[(])"
_PLACE = re.compile(
    rf"{_BEFORE}(?:(?:{_PRODUCT}|{_OPEN}{_PRODUCT}\) )\+ threadIdx \. x |"
    rf"threadIdx \. x \+ (?:{_PRODUCT}|\( {_PRODUCT}\) )){_AFTER}"
)
_SIZE = re.compile(r"(?<![/%.~!] )(?:gridDim \. x \* blockDim \. x |blockDim \. x \* gridDim \. x )(?![.\[(])")
_COPY = re.compile(rf"(?<=[;{{}}] ){INTEGER}(\w+) = ({_IDX} \. x) ; ")
_COPIES = re.compile(rf"(?<=[;{{}}] )({INTEGER})((?:\w+ = {_IDX} \. [xyz] , )+\w+ = {_IDX} \. [xyz] ); ")


def simplified(words: Sequence[str]) -> str:
    """Return code, its words apart by blanks, with `PLACE` and `SIZE` for what stands for them.

    Variables that are copies of ``threadIdx.x`` and the like, and are never changed, are replaced by it.
    """
    text = f"; {' '.join(words)} "
    text = _PARENTHESES.sub(r"\1 ", text)
    for cast in _CASTS:
        text = cast.sub(lambda match: f"{match[1]} " if match.re.groups else "", text)
    text = _COPIES.sub(lambda match: "".join(f"{match[1]}{one}; " for one in match[2].split(", ")), text)
    for copy in _COPY.findall(text):
        text = _without_copy(text, *copy)
    return _SIZE.sub(f"{SIZE} ", _PLACE.sub(f"{PLACE} ", text)).removeprefix("; ")


def _without_copy(text: str, name: str, value: str) -> str:
    """Replace a variable by what it is a copy of, unless it is changed or there are several of its name."""
    rest = _COPY.sub(lambda match: "" if match[1] == name else match[0], text)
    changed = (
        rf"\b{name} (?:(?:[-+*/%&|^]|< <|> >) )?= (?!=)|[-+] [-+] {name}\b|\b{name} (?:\+ \+|- -)|[(,=] & {name}\b"
    )
    declared = rf"\b(?!return|else|case|delete|throw)\w+ (?:[*&] )*{name} (?=[=;,)\[{{(:])"
    member = rf"(?:\.|->|::) {name}\b"
    if any(re.search(pattern, rest) for pattern in (changed, declared, member)):
        return text
    return re.sub(rf"\b{name}\b", value, rest)


_WIDTH = rf"(?:(\w+)|{_OPEN}(\w+) \))"
_CONSTANT_PRODUCT = rf"(?:blockIdx \. x \* {_WIDTH} |{_WIDTH} \* blockIdx \. x |{_OPEN}blockIdx \. x << (\d+) \) )"
_CONSTANT_PLACE = re.compile(
    rf"{_BEFORE}(?<!(?:->|::) )(?:(?:{_CONSTANT_PRODUCT}|{_OPEN}{_CONSTANT_PRODUCT}\) )\+ threadIdx \. x |"
    rf"threadIdx \. x \+ (?:{_CONSTANT_PRODUCT}|\( {_CONSTANT_PRODUCT}\) )){_AFTER}"
)


def with_widths(text: str, values: Mapping[str, int]) -> tuple[str, set[int]]:
    """Return simplified code with `PLACE` also for places with a number for ``blockDim.x``, and these numbers.

    Parameters
    ----------
    text : str
    values : mapping of str to int
        Names that stand for numbers.
    """
    widths: set[int] = set()

    def replace(match: re.Match[str]) -> str:
        at, word = next((i, word) for i, word in enumerate(match.groups()) if word is not None)
        width = 1 << min(int(word), 31) if at % 5 == 4 else values.get(word) or number(word)
        if not 0 < width <= 1024:
            return match[0]
        widths.add(width)
        return f"{PLACE} "

    return _CONSTANT_PLACE.sub(replace, text), widths


def number(word: str) -> int:
    """Return the value of an integer's literal; 0 for any other word."""
    digits = word.rstrip("uUlL")
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|[1-9]\d*", digits) is None:
        return 0
    return int(digits, 0)


class GridStride(NamedTuple):
    """The second function of a kernel, and what the entry calls.

    Attributes
    ----------
    text : str
        C++ source of two functions: one does a step, the other tells whether a thread has this step.
    step, active : str
        Their names, with namespaces and without template arguments.
    """

    text: str
    step: str
    active: str


_OUTSIDE = re.compile(r"break|return|goto|static|__shared__|extern|co_\w+|asm|__asm__")
"""Words by which a step would depend on others, or end them."""

_PURE_CALLS = frozenset({"min", "max", "static_cast", "global_index_x", "global_size_x", "sizeof"})
_ASSIGNMENT = frozenset({"=", "+=", "-="})


def grid_stride(
    words: Sequence[str], slices: Slicer, start: int, stop: int, scope: tuple[str, ...], kernel: str
) -> GridStride | None:
    """Return the second function of a kernel that is a grid-stride loop, else None.

    Parameters
    ----------
    words : sequence of str
    slices : callable
        Gives the text of words from one place to before another.
    start, stop : int
        The kernel's definition.
    scope : tuple of str
        Its namespaces.
    kernel : str
        Its name.
    """
    heading = head_of(words, slices, (start, stop), scope, kernel)
    if heading is None:
        return None
    template, place = heading.template, heading.opening + 1
    constants: dict[str, str] = {}
    declarations: list[str] = []
    while place < stop and words[place] not in ("for", "}"):
        end = next((i for i in range(place, stop) if words[i] == ";"), stop)
        found = _constants(words, slices, place, end)
        if found is None:
            return None
        declarations.append(found[0])
        constants |= found[1]
        place = end + 1
    if place >= stop or words[place] != "for":
        return None
    head_stop = end_of_group(words, place + 1, stop)
    body_stop = end_of_group(words, head_stop, stop) if words[head_stop] == "{" else _statement_end(words, head_stop)
    if body_stop is None or body_stop != stop - 1:
        return None
    if any(_OUTSIDE.fullmatch(words[i]) for i in range(head_stop, body_stop)):
        return None
    loop = _loop(words, slices, place + 2, head_stop - 1, constants)
    if loop is None:
        return None
    variable, ctype, first, step, condition = loop
    before = "\n".join(declarations)
    step_name, active_name = f"cunumpy_cpu_step_{kernel}", f"cunumpy_cpu_active_{kernel}"
    head = f"(const unsigned long long cunumpy_cpu_pass{heading.parameters})"
    index = f"const {ctype} {variable} = ({ctype})({first}) + ({ctype})(cunumpy_cpu_pass * ({step}));"
    text = (
        f"{template} static inline bool {active_name}{head} {{\n{before}\n{index}\nreturn {condition};\n}}\n"
        f"{template} static inline void {step_name}{head} {{\n{before}\n{index}\n"
        f"for (bool cunumpy_cpu_once = true; cunumpy_cpu_once; cunumpy_cpu_once = false)\n"
        f'{slices.line_of(head_stop)}{slices(head_stop, body_stop)}\n}}\n#line 1 "{GENERATED}"\n'
    )
    text, path = in_namespaces(text, scope)
    return GridStride(text, path + step_name, path + active_name)


_MARKER = re.compile(r'^# (\d+) ("(?:[^"\\]|\\.)*")', re.MULTILINE)
_DIRECTIVES = re.compile(r"(?:\n[^\S\n]*#[^\n]*\s*)+$")
"""Those at the end of a piece of text: they are about what follows."""


class Slicer:
    """The text of a source, by places of its words.

    Parameters
    ----------
    text : str
    offsets : sequence of int
        Where each word starts.
    """

    def __init__(self, text: str, offsets: Sequence[int]) -> None:
        self._text, self._offsets = text, offsets

    def place(self, index: int) -> tuple[int, str]:
        """Return line and file of a word, as the line markers have them: the file quoted."""
        offset = self._offsets[index]
        marker = None
        for marker in _MARKER.finditer(self._text, 0, offset):  # noqa: B007
            pass
        if marker is None:
            return 1 + self._text.count("\n", 0, offset), '""'
        return int(marker[1]) + self._text.count("\n", marker.end(), offset) - 1, marker[2]

    def line_of(self, index: int) -> str:
        """Return what says to the compiler where the next line is from: that of a word."""
        line, file = self.place(index)
        return f"#line {line} {file}\n"

    def __call__(self, start: int, stop: int) -> str:
        end = self._offsets[stop] if stop < len(self._offsets) else len(self._text)
        return _DIRECTIVES.sub("", self._text[self._offsets[start] : end]).strip()


def _statement_end(words: Sequence[str], start: int) -> int | None:
    """Return the place after a statement that is no block; None for one with control flow."""
    if words[start] in ("for", "while", "if", "do", "switch", "else", "try"):
        return None
    index = start
    while index < len(words) and words[index] != ";":
        index = end_of_group(words, index, len(words)) if words[index] in ("(", "[", "{") else index + 1
    return index + 1


def _constants(words: Sequence[str], slices: Slicer, start: int, stop: int) -> tuple[str, dict[str, str]] | None:
    """Return the declaration of integers as one of constants, and what each is; None for any other statement."""
    first = start
    while first < stop and re.fullmatch(INTEGER, words[first] + " "):
        first += 1
    if first == start:
        return None
    ctype = " ".join(word for word in words[start:first] if word != "const")
    values: dict[str, str] = {}
    texts = []
    for begin, end in split(words, first, stop, angles=False):
        if end - begin < 3 or not is_name(words[begin]) or words[begin + 1] != "=":
            return None
        if not is_pure(words, begin + 2, end):
            return None
        values[words[begin]] = simplified(words[begin + 2 : end])
        texts.append(f"const {ctype} {words[begin]} = {slices(begin + 2, end)};")
    return " ".join(texts), values


def is_pure(words: Sequence[str], start: int, stop: int) -> bool:
    """Tell whether an expression only computes, and reads no memory."""
    for index in range(start, stop):
        word = words[index]
        before = words[index - 1]
        if word in ("[", "{", "->", "?") or word[0] in "\"'":
            return False
        if word == "=" or (word in "+-" and words[index + 1 : index + 2] == [word]):
            return False
        operand_before = is_name(before) or before[0].isdigit() or before in (")", "]")
        if word in ("*", "&") and (index == start or not operand_before):
            return False
        if word == "(" and is_name(before) and index > start and before not in _PURE_CALLS:
            is_cast = re.fullmatch(INTEGER, before + " ") is not None
            if not is_cast:
                return False
    return True


def _loop(
    words: Sequence[str], slices: Slicer, start: int, stop: int, constants: dict[str, str]
) -> tuple[str, str, str, str, str] | None:
    """Return variable, type, start, step and condition of a loop's head, if it strides through the grid."""
    pieces: list[tuple[int, int]] = []
    begin = start
    for index in range(start, stop):
        if words[index] == ";":
            pieces.append((begin, index))
            begin = index + 1
    pieces.append((begin, stop))
    if len(pieces) == 1:
        return _range_loop(words, slices, start, stop)
    if len(pieces) != 3:
        return None
    (first, first_stop), (test, test_stop), (change, change_stop) = pieces
    place = first
    while place < first_stop and re.fullmatch(INTEGER, words[place] + " "):
        place += 1
    if place == first or words[place + 1 : place + 2] != ["="]:
        return None
    variable, ctype = words[place], " ".join(word for word in words[first:place] if word != "const")
    if ctype == "auto":
        ctype = f"decltype({slices(place + 2, first_stop)})"
    if not is_pure(words, place + 2, first_stop) or not _is(words[place + 2 : first_stop], PLACE, constants):
        return None
    comparison = words[test : test + 2]
    bound = test + 3 if words[test + 2 : test + 3] == ["="] else test + 2
    if comparison not in ([variable, "<"], [variable, "<="]) or not _is_bound(words, bound, test_stop, variable):
        return None
    if words[change : change + 3] == [variable, "+", "="]:
        step = change + 3
    elif words[change : change + 4] == [variable, "=", variable, "+"]:
        step = change + 4
    else:
        return None
    if not _is(words[step:change_stop], SIZE, constants):
        return None
    return variable, ctype, slices(place + 2, first_stop), slices(step, change_stop), slices(test, test_stop)


def _range_loop(words: Sequence[str], slices: Slicer, start: int, stop: int) -> tuple[str, str, str, str, str] | None:
    """Return the same of ``for (auto i : cunumpy::grid_stride(n))``."""
    place = start
    while place < stop and re.fullmatch(INTEGER, words[place] + " "):
        place += 1
    head = words[place + 1 : place + 6]
    if place == start or len(head) < 5 or [head[0], head[1], head[2], head[4]] != [":", "cunumpy", "::", "("]:
        return None
    ctype = {"grid_stride": "long long", "grid_stride32": "int"}.get(head[3])
    pieces = list(split(words, place + 6, stop - 1))
    if ctype is None or len(pieces) != 1 or not _is_bound(words, place + 6, stop - 1, words[place]):
        return None
    condition = f"{words[place]} < ({ctype})({slices(place + 6, stop - 1)})"
    return words[place], ctype, "cunumpy::global_index_x()", "cunumpy::global_size_x()", condition


_GLOBAL = {"cunumpy :: global_index_x ( )": PLACE, "cunumpy :: global_size_x ( )": SIZE}


def _is(words: Sequence[str], wanted: str, constants: dict[str, str]) -> bool:
    """Tell whether an expression is the place of the thread, or the size of the grid."""
    text = simplified(words).strip()
    for _ in range(8):
        text = constants.get(text, text).strip()
        text = re.sub(rf"^\( {INTEGER}\) ", "", text)
        if text.startswith("( ") and text.endswith(" )") and text.count("(") - text.count("( )") == 1:
            text = text[2:-2].strip()
    return _GLOBAL.get(text, text) == wanted


def _is_bound(words: Sequence[str], start: int, stop: int, variable: str) -> bool:
    """Tell whether an expression is the same for all threads and steps, as far as its words tell."""
    if start >= stop:
        return False
    for index in range(start, stop):
        word = words[index]
        if word in ("threadIdx", "blockIdx", variable, "->", "=", "?", "&&", "||", "<", ">") and not (
            word in ("<", ">") and "static_cast" in words[start:stop]
        ):
            return False
        if word == "[" and words[index - 2 : index] not in ([".", "shape"],):
            return False
        if word == "*" and (index == start or words[index - 1] in ("(", ",", "+", "-", "*")):
            return False
        if word == "(" and index > start and is_name(words[index - 1]) and words[index - 1] not in _PURE_CALLS:
            return False
    return True


class Head(NamedTuple):
    """What stands before the body of a kernel.

    Attributes
    ----------
    template : str
        ``template <...>``, or nothing.
    parameters : str
        Each const, with a comma before each.
    names : list of str
        Those of the parameters.
    closing, opening : int
        The place behind the parameters, and that of the body's brace.
    """

    template: str
    parameters: str
    names: list[str]
    closing: int
    opening: int


def head_of(
    words: Sequence[str], slices: Slicer, definition: tuple[int, int], scope: tuple[str, ...], kernel: str
) -> Head | None:
    """Return what stands before a kernel's body, or None where no second function can be made; see `grid_stride`."""
    start, stop = definition
    name = next((i for i in range(start, stop - 1) if words[i] == kernel and words[i + 1] == "("), None)
    if name is None or words[stop - 1] != "}" or "" in scope:
        return None
    parameters = _const_parameters(words, slices, name + 1)
    if parameters is None:
        return None
    opening = closing = end_of_group(words, name + 1, stop)
    while opening < stop and words[opening] != "{":
        opening += 1
    template = slices(start, end_of_group(words, start + 1, stop)) if words[start] == "template" else ""
    names = [words[end - 1] for _, end in split(words, name + 2, closing - 1)]
    return Head(template, parameters, names, closing, opening)


def in_namespaces(text: str, scope: tuple[str, ...]) -> tuple[str, str]:
    """Return source text in the namespaces of a kernel, and what stands before its names outside of them."""
    for space in reversed(scope):
        text = f"namespace {space} {{\n{text}}}\n"
    return text, "".join(f"{space}::" for space in scope)


def _const_parameters(words: Sequence[str], slices: Slicer, opening: int) -> str | None:
    """Return the parameters, each const, with a comma before each."""
    closing = end_of_group(words, opening, len(words)) - 1
    found = []
    for begin, end in split(words, opening + 1, closing):
        if words[begin:end] == ["void"]:
            continue
        if not is_name(words[end - 1]) or end - begin < 2 or "=" in words[begin:end]:
            return None
        found.append(f", {slices(begin, end - 1)} const {words[end - 1]}")
    return "".join(found)
