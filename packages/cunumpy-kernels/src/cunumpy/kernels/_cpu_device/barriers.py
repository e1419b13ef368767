"""Kernels with barriers as loops: what stands between two barriers is a loop over the threads of the block.

A barrier splits a kernel where all threads come to it by the same way: it stands in no condition and no loop but those
whose expressions are the same for all threads. Of such a kernel a second function is made that runs a whole block. Its
variables are of three kinds: those that are needed between two barriers only are declared there; constants that follow
from the thread's indices are computed anew; all others become arrays with an entry for each thread. A thread that
returns is left out from then on.

What the words do not tell for sure, the compiler does: what has to stay as it is, is declared const. Where it refuses
the second function, and where this module gives up, the threads of the kernel run on stacks of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cunumpy.cuda._brackets import end_of_group, split
from cunumpy.cuda._tokens import is_name
from cunumpy.kernels._cpu_device.compiler import GENERATED
from cunumpy.kernels._cpu_device.strides import Slicer, head_of, in_namespaces, is_pure

BARRIER = ["__syncthreads", "(", ")", ";"]
BLOCK_PREFIX = "cunumpy_cpu_block_"
"""How the names of second functions begin; the kernel's follows."""

_REFUSED = re.compile(r"goto|asm|__asm__|static|co_\w+|try|catch|__sync(?!threads$)\w+|case|default")
_TYPE_WORDS = frozenset(
    [
        "const",
        "volatile",
        "unsigned",
        "signed",
        "long",
        "int",
        "short",
        "char",
        "float",
        "double",
        "bool",
        "auto",
        "size_t",
    ]
)
_NO_VARIABLES = frozenset(["typedef", "using", "struct", "class", "union", "enum"])
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|dim3|u?int\d+_t|__half2?")
_CONTROL = frozenset(["if", "for", "while", "do", "switch", "return"])
_NO_TYPES = frozenset(["return", "delete", "throw", "new", "else", "case", "goto", "using", "typedef", "sizeof"])
_BUILT_IN = frozenset(
    ["min", "max", "blockIdx", "blockDim", "gridDim", "threadIdx", "warpSize", "static_cast", "true", "false"]
)


class SplitKernel(NamedTuple):
    """The second function of a kernel.

    Attributes
    ----------
    text : str
        C++ source of a function that runs all threads of the block that ``blockIdx`` names.
    checked : str
        The same for checked builds, which are told of threads and barriers.
    name : str
        Its name, with namespaces and without template arguments.
    """

    text: str
    checked: str
    name: str


class _CannotSplitError(Exception):
    pass


class _Variable(NamedTuple):
    """A variable that is declared between statements: its type, name, extents and value."""

    ctype: str
    name: str
    extents: str
    value: tuple[int, int] | None


def split_at_barriers(
    words: Sequence[str], slices: Slicer, start: int, stop: int, scope: tuple[str, ...], kernel: str
) -> SplitKernel | None:
    """Return the second function of a kernel, or None if it can't be split; see `strides.grid_stride`."""
    head = head_of(words, slices, (start, stop), scope, kernel)
    if head is None or any(_REFUSED.fullmatch(words[index]) for index in range(head.opening, stop)):
        return None
    first = head.opening + 1
    names = set(head.names)
    try:
        plain, checked = (
            _Splitter(words, slices, first, stop - 1, names, checked=checked).block(first, stop - 1)
            for checked in (False, True)
        )
    except _CannotSplitError:
        return None
    split_name = f"{BLOCK_PREFIX}{kernel}"
    body = words[head.opening : stop]
    ended = "bool cunumpy_cpu_ended[1024] = {};\n" if "return" in body and "__syncthreads" in body else ""
    declared = f"{head.template} static inline void {split_name}({head.parameters[2:]})"
    begin = f"{declared} {{\nCUNUMPY_CPU_BLOCK\n{ended}"
    end = f'}}\n#line 1 "{GENERATED}"\n'
    text, path = in_namespaces(f"{begin}{plain}{end}", scope)
    checked, _ = in_namespaces(f"{begin}{checked}{end}", scope)
    return SplitKernel(text, checked, path + split_name)


def _is_number(ctype: str) -> bool:
    """Tell whether a type is one of numbers, or one of CUDA's vectors."""
    return all(word in _TYPE_WORDS or _VECTOR.fullmatch(word) for word in ctype.split())


class _Splitter:
    def __init__(
        self,
        words: Sequence[str],
        slices: Slicer,
        start: int,
        stop: int,
        parameters: set[str],
        *,
        checked: bool = False,
    ) -> None:
        self.words, self.slices, self.stop = words, slices, stop
        self.checked = checked
        self.parameters = parameters
        self.uniform: set[str] = set()  # variables of loops that all threads go through together
        self.local: set[str] = set()  # variables that are needed between two barriers only
        self.holders = False  # whether there are variables that may keep the address of another one
        self.returns = "return" in words[start:stop] and self.has_barrier(start, stop)
        # In checked builds, by name what puts a thread's variable back into its array: the compiler can keep a copy in
        # a register while it calls us at each access to memory.
        self.copied: dict[str, str] = {}
        # By name, what stands before every region from here on.
        self.constants: list[tuple[str, str]] = []
        self.arrays: list[tuple[str, str]] = []

    # Statements

    def statements(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        index = start
        while index < stop:
            end = self.statement(index)
            yield index, end
            index = end

    def statement(self, index: int) -> int:
        """Return the place after a statement."""
        words = self.words
        word = words[index]
        if word == "{":
            return end_of_group(words, index, self.stop)
        if word in ("if", "for", "while", "switch"):
            after = index + 1 + (words[index + 1] == "constexpr")
            end = self.statement(end_of_group(words, after, self.stop))
            if word == "if" and words[end] == "else":
                return self.statement(end + 1)
            return end
        if word == "do":
            end = self.statement(index + 1)
            return self.statement(end + 1)
        while index < self.stop and words[index] != ";":
            index = end_of_group(words, index, self.stop) if words[index] in ("(", "[", "{") else index + 1
        return index + 1

    def has_barrier(self, start: int, stop: int) -> bool:
        return "__syncthreads" in self.words[start:stop]

    # Blocks

    def block(self, start: int, stop: int) -> str:
        """Return the statements of one pair of braces, split."""
        kept = len(self.constants), len(self.arrays)
        text: list[str] = []
        region: list[tuple[int, int]] = []

        def flush(scope_from: int) -> None:
            if region:
                text.append(self.region(list(region), scope_from, stop))
                region.clear()

        for first, last in self.statements(start, stop):
            words = self.words[first:last]
            if "__shared__" in words and not self.has_barrier(first, last) and words[0] not in ("{", "for", "if"):
                flush(first)
                self.holders |= "*" in words
                text.append(self.slices(first, last) + "\n")
            elif not self.has_barrier(first, last):
                if self.leaves(first, last):
                    flush(first)
                    text.append(self.uniform_jump(first, last))
                else:
                    region.append((first, last))
            else:
                flush(first)
                text.append(self.split_statement(first, last))
        flush(stop)
        del self.constants[kept[0] :], self.arrays[kept[1] :]
        return "".join(text)

    def split_statement(self, first: int, last: int) -> str:
        words = self.words
        word = words[first]
        if list(words[first:last]) == BARRIER:
            return self.barrier(first) if self.checked else ""
        if word == "{":
            return f"{{\n{self.block(first + 1, last - 1)}}}\n"
        if word not in ("for", "while", "if") or words[first + 1] != "(":
            raise _CannotSplitError
        head_stop = end_of_group(words, first + 1, last)
        if word == "for":
            return self.split_for(first, head_stop, last)
        if not self.is_uniform(first + 2, head_stop - 1):
            raise _CannotSplitError
        if word == "while":
            head = f"while ({self.slices(first + 2, head_stop - 1)})"
            return f"{head} {{\n{self.leave_if_ended(head_stop, last)}{self.braced(head_stop, last)}}}\n"
        then_stop = self.statement(head_stop)
        text = f"if ({self.slices(first + 2, head_stop - 1)}) {self.braced(head_stop, then_stop)}"
        if then_stop < last:
            text += f"else {self.braced(then_stop + 1, last)}"
        return text

    def barrier(self, index: int) -> str:
        """Return what is told of a barrier in checked builds."""
        line, file = self.slices.place(index)
        return f"CUNUMPY_CPU_BARRIER({'cunumpy_cpu_ended' if self.returns else 'nullptr'}, {file}, {line})\n"

    def located(self, start: int, stop: int, text: str = "{}") -> str:
        """Return a part of the source, in a text, with the line where it is."""
        return f"{self.slices.line_of(start)}{text.format(self.slices(start, stop))}"

    def braced(self, first: int, last: int) -> str:
        if self.words[first] == "{" and end_of_group(self.words, first, last) == last:
            first, last = first + 1, last - 1
        return f"{{\n{self.block(first, last)}}}\n"

    def split_for(self, first: int, head_stop: int, last: int) -> str:
        words = self.words
        pieces: list[tuple[int, int]] = []
        begin = first + 2
        for index in range(begin, head_stop - 1):
            if words[index] == ";":
                pieces.append((begin, index))
                begin = index + 1
        pieces.append((begin, head_stop - 1))
        if len(pieces) != 3:
            raise _CannotSplitError
        initial, condition, change = pieces
        declared = self.declared(initial[0], initial[1] + 1)
        if not declared:
            raise _CannotSplitError
        names = {variable.name for variable in declared}
        for variable in declared:
            if variable.value is None or variable.extents or not self.is_uniform(*variable.value):
                raise _CannotSplitError
        outer = set(self.uniform)
        self.uniform |= names
        changes = self.is_uniform(*change, assigned=names)
        if not changes or not self.is_uniform(*condition) or self.changed(names, head_stop, last):
            raise _CannotSplitError
        # In the body the counters are constants, so that nothing changes them in a way that the words don't show.
        copies = "".join(f"const auto cunumpy_cpu_now_{name} = {name};\n" for name in names)
        constants = "".join(f"const auto {name} = cunumpy_cpu_now_{name};\n" for name in names)
        body = f"{copies}{{\n{constants}{self.leave_if_ended(head_stop, last)}{self.braced(head_stop, last)}}}\n"
        self.uniform = outer
        return f"for ({self.slices(first + 2, head_stop - 1)}) {{\n{body}}}\n"

    def leave_if_ended(self, first: int, last: int) -> str:
        """Return what ends the block in a loop that no thread is left in."""
        return "CUNUMPY_CPU_LEAVE_IF_ENDED\n" if "return" in self.words[first:last] else ""

    def leaves(self, first: int, last: int) -> bool:
        """Tell whether a statement has a break or continue of a loop around it."""
        index = first
        while index < last:
            if self.words[index] in ("for", "while", "do", "switch"):
                index = self.statement(index)
                continue
            if self.words[index] in ("break", "continue"):
                return True
            index += 1
        return False

    def uniform_jump(self, first: int, last: int) -> str:
        words = self.words
        jump = words[first:last]
        if list(jump) in (["break", ";"], ["continue", ";"]):
            return " ".join(jump) + "\n"
        if words[first] == "if" and words[first + 1] == "(":
            head_stop = end_of_group(words, first + 1, last)
            inner = [word for word in words[head_stop:last] if word not in ("{", "}")]
            if inner in (["break", ";"], ["continue", ";"]) and self.is_uniform(first + 2, head_stop - 1):
                return self.slices(first, last) + "\n"
        raise _CannotSplitError

    # Expressions

    def is_uniform(self, start: int, stop: int, assigned: frozenset[str] | set[str] = frozenset()) -> bool:
        """Tell whether an expression is the same for all threads, as far as its words tell."""
        words = self.words
        own = self.local.union(name for name, _ in self.arrays)
        own |= {name for name, _ in self.constants if self.is_of_thread(name)}
        for index in range(start, stop):
            word, before = words[index], words[index - 1]
            if word in ("threadIdx", "[", "{", "->") or word[0] in "\"'" or (word in own and before != "."):
                return False
            operand_before = is_name(before) or before[0].isdigit() or before in (")", "]")
            if word in ("*", "&") and (index == start or not operand_before):
                return False
            if word == "(" and index > start and is_name(before) and before not in ("min", "max", "sizeof"):
                return False
            if word == "=" and not assigned:
                return False
        return True

    def is_of_thread(self, constant: str) -> bool:
        """Tell whether a constant follows from the thread's indices."""
        for name, text in reversed(self.constants):
            if name == constant:
                inner = re.findall(r"\w+", text.partition("=")[2])
                others = {other for other, _ in self.constants} - {name}
                return "threadIdx" in inner or any(word in others and self.is_of_thread(word) for word in inner)
        return False

    def changed(self, names: set[str] | frozenset[str], start: int, stop: int) -> bool:
        """Tell whether any of the variables may be assigned to."""
        words = self.words
        for index in range(start, stop):
            if words[index] not in names or words[index - 1] in (".", "->", "::"):
                continue
            after = "".join(words[index + 1 : index + 4])
            before = "".join(words[max(index - 2, 0) : index])
            if re.match(r"(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--", after) or before.endswith(
                ("++", "--", ",&", "(&", "=&")
            ):
                return True
        return False

    # Declarations

    def declared(self, first: int, last: int) -> list[_Variable]:
        """Return the variables that a statement declares; none if it is no declaration."""
        words = self.words
        if words[first] in _NO_VARIABLES:
            raise _CannotSplitError
        if words[first] in _CONTROL:
            return []
        index = first
        while index < last:
            word = words[index]
            following = words[index + 1] if index + 1 < last else ""
            if word in _TYPE_WORDS:
                index += 1
            elif is_name(word) and word not in _NO_TYPES and following == "<":
                index = end_of_group(words, index + 1, last)
            elif not (word == "::" and index > first) and (
                not is_name(word) or word in _NO_TYPES or not (is_name(following) or following in ("*", "::"))
            ):
                break
            else:
                index += 1
        stars = index
        while words[stars] in ("*", "const", "__restrict__", "&"):
            stars += 1
        if index == first or words[index - 1] == "::":
            return []
        if words[index] == "[" or (words[index] == "(" and words[index - 1] in _TYPE_WORDS):
            raise _CannotSplitError  # auto [a, b] = ...; int (*a)[3];
        if not is_name(words[stars]):
            return []
        if words[stars + 1 : stars + 2] == ["("]:
            raise _CannotSplitError  # double a(1);
        pieces = list(split(words, stars, last - 1))
        if stars > index and len(pieces) > 1:
            raise _CannotSplitError
        if "&" in words[index:stars]:
            raise _CannotSplitError
        found = []
        for begin, end in pieces:
            place = begin + 1
            while place < end and words[place] == "[":
                place = end_of_group(words, place, end)
            value = None
            if place < end:
                if words[place] != "=":
                    raise _CannotSplitError
                value = (place + 1, end)
            extents = self.slices(begin + 1, place) if place > begin + 1 else ""
            found.append(_Variable(self.slices(first, stars), words[begin], extents, value))
        return found

    def region(self, statements: list[tuple[int, int]], after: int, stop: int) -> str:
        """Return the loop over threads of the statements between two barriers; `after` is where the scope goes on."""
        words = self.words
        own: list[str] = []
        outer: list[str] = []
        arrays: list[tuple[str, str]] = []
        constants: list[tuple[str, str]] = []
        rest = words[after:stop]
        declared = [self.declared(first, last) if is_name(words[first]) else [] for first, last in statements]
        for variables in declared:
            self.holders |= any(v.name in rest and self.may_hold_address(v) for v in variables)
        for (first, last), variables in zip(statements, declared, strict=True):
            kept = {v.name for v in variables if self.holders and self.may_be_pointed_to(v, last, statements[-1][1])}
            if not kept and not any(variable.name in rest for variable in variables):
                self.local.update(variable.name for variable in variables)
                own.append(self.located(first, last))
                continue
            for variable in variables:
                if variable.name not in kept and self.is_constant(variable, last, stop):
                    text = self.constant(variable)
                    hides = {*self.parameters, *self.uniform, *(name for name, _ in self.constants)}
                    constants.append((variable.name, text))
                    self.constants.append((variable.name, text))
                    own.append(text)
                    if variable.name not in hides and not self.is_of_thread(variable.name):
                        # Conditions around barriers may need it.
                        outer.append(text)
                else:
                    declaration, reference = self.array(variable)
                    if self.checked and not variable.extents and not self.may_be_pointed_to(variable, last, self.stop):
                        array = f"cunumpy_cpu_of_{variable.name}[cunumpy_cpu_t]"
                        reference = f"{reference.partition('&')[0]} {variable.name} = {array};"
                        self.copied[variable.name] = f"{array} = {variable.name};"
                    arrays.append((declaration, reference))
                    self.arrays.append((variable.name, reference))
                    own.append(reference)
                    if variable.value is not None:
                        own.append(self.located(*variable.value, f"{variable.name} = {{}};"))
        used = {word for first, last in statements for word in words[first:last]}
        mine = {reference for _, reference in arrays}
        mine |= {text for _, text in constants}
        before = [text for _, text in self.constants if text not in mine]
        before += [text for name, text in self.arrays if text not in mine and name in used]
        changed = dict.fromkeys(name for name, reference in self.arrays if reference in mine or name in used)
        own += [self.copied[name] for name in changed if name in self.copied]
        body = "\n".join(own)
        if any(words[index] == "return" for first, last in statements for index in range(first, last)):
            body = (
                "bool cunumpy_cpu_goes_on = false;\n"
                f"[&]() __attribute__((always_inline)) {{\n{body}\ncunumpy_cpu_goes_on = true;\n}}();\n"
            )
            if self.returns:
                body += "if (!cunumpy_cpu_goes_on) cunumpy_cpu_ended[cunumpy_cpu_t] = true;"
        declarations = "\n".join([*outer, *(declaration for declaration, _ in arrays)])
        ended = "if (cunumpy_cpu_ended[cunumpy_cpu_t]) continue;\n" if self.returns else ""
        inner = "\n".join(before)
        return f"{declarations}\nCUNUMPY_CPU_THREADS {{\nCUNUMPY_CPU_THREAD\n{ended}{inner}\n{body}\n}}\n"

    def may_hold_address(self, variable: _Variable) -> bool:
        return "*" in variable.ctype or not _is_number(variable.ctype)

    def may_be_pointed_to(self, variable: _Variable, start: int, stop: int) -> bool:
        """Tell whether the address of a variable may be taken, other than to read or write it at once."""
        words = self.words
        for index in range(start, stop):
            if words[index] != variable.name or words[index - 1] in (".", "->", "::"):
                continue
            if words[index - 1] == "&" and not (is_name(words[index - 2]) or words[index - 2] in (")", "]")):
                return True
            if variable.extents and words[index + 1] != "[":
                return True
            if words[index + 1] == "." and not _is_number(variable.ctype):
                return True  # perhaps a method that returns it
        return False

    def is_constant(self, variable: _Variable, after: int, stop: int) -> bool:
        """Tell whether a variable is never changed, and can be computed anew wherever it is needed."""
        if variable.value is None or variable.extents or "*" in variable.ctype:
            return False
        start, end = variable.value
        if not is_pure(self.words, start, end) or self.changed({variable.name}, after, stop):
            return False
        known = _BUILT_IN | _TYPE_WORDS | self.parameters | self.uniform | {name for name, _ in self.constants}
        hidden = self.local.union(name for name, _ in self.arrays)
        for index in range(start, end):
            word = self.words[index]
            if is_name(word) and self.words[index - 1] != "." and (word not in known or word in hidden):
                return False
        return True

    def constant(self, variable: _Variable) -> str:
        """Return the declaration of a variable that is computed anew in each region."""
        assert variable.value is not None
        ctype = variable.ctype if "const" in variable.ctype.split() else f"const {variable.ctype}"
        return f"{ctype} {variable.name} = {self.slices(*variable.value)};"

    def array(self, variable: _Variable) -> tuple[str, str]:
        """Return the declaration of an array with a variable of each thread, and that of one of them."""
        ctype, name, extents = variable.ctype, variable.name, variable.extents
        if "auto" in ctype.split() or (extents and variable.value is not None) or re.search(r"\*\s*const\b", ctype):
            raise _CannotSplitError
        if "*" not in ctype:
            ctype = re.sub(r"\bconst\b", "", ctype).strip()
        array = f"cunumpy_cpu_of_{name}"
        place = f"{array}[cunumpy_cpu_t]"
        reference = f"{ctype} (&{name}){extents} = {place};" if extents else f"{ctype}& {name} = {place};"
        return f"{ctype} {array}[1024]{extents};", reference
