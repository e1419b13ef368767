"""Inline PTX as C++: the instructions of a small table, everything else is refused with its line.

``asm("...")`` statements of a kernel are replaced, in their lines, by C++ that calls CUDA's own functions, so that
whoever reads the text afterwards sees which of them wait for other threads. Known are, by the PTX manual's names:

================  =====================================================================================================
Special           ``%tid %ntid %ctaid %nctaid %laneid %warpid %nwarpid %smid %nsmid %gridid %clock %clock64``,
registers         ``%globaltimer %lanemask_eq lt le gt ge``, ``WARP_SZ``
Integers          ``mov add sub mul.lo|hi|wide mad.lo|hi|wide div rem min max abs neg and or xor not shl shr``,
                  ``add.cc addc sub.cc subc mad.cc madc``, ``popc clz brev bfind bfe bfi prmt lop3 shf sad cvt``
Floating point    ``add sub mul fma mad div sqrt rcp`` with ``.rn .rz .rm .rp``, ``min max abs neg``,
                  ``ex2 lg2 sin cos rsqrt sqrt rcp tanh .approx``
Predicates        ``setp selp`` and ``@p``, ``@!p``; registers declared by ``.reg``
Memory            ``ld st`` of global and generic addresses with cache operators, ``.v2`` and ``.v4``, ``prefetch``,
                  ``atom red`` (``add min max and or xor exch cas``), ``membar fence``
Threads           ``bar.sync 0``, ``barrier.sync 0``, ``bar.warp.sync``, ``vote.sync``, ``shfl.sync``, ``activemask``,
                  ``match.any.sync``, ``redux.sync``, ``nanosleep``, ``trap``
================  =====================================================================================================
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable

_SKIPPED = re.compile(
    r"""
      //[^\n]* | /\*.*?\*/
    | (?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | \b\d(?:'\w|[\w.])*
    | (?P<asm>\b(?:asm|__asm__|__asm)\b)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|\\\n)+", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|R"([^()\\\s"]{0,16})\((.*?)\)\2"', re.DOTALL)
_TYPES = {
    "pred": "bool",
    "u8": "unsigned char", "s8": "signed char", "b8": "unsigned char",
    "u16": "unsigned short", "s16": "short", "b16": "unsigned short",
    "u32": "unsigned int", "s32": "int", "b32": "unsigned int",
    "u64": "unsigned long long", "s64": "long long", "b64": "unsigned long long",
    "f32": "float", "f64": "double",
}  # fmt: skip
_CONSTRAINTS = {"r": "u32", "l": "u64", "f": "f32", "d": "f64", "h": "u16", "c": "u32"}
_SPECIAL = {
    "%laneid": "cunumpy_cpu::ptx_lane()",
    "%warpid": "(cunumpy_cpu::ptx_thread() / 32u)",
    "%nwarpid": "((blockDim.x * blockDim.y * blockDim.z + 31u) / 32u)",
    "%smid": "0u",
    "%nsmid": "1u",
    "%gridid": "0ull",
    "%clock": "(unsigned int)clock64()",
    "%clock64": "(unsigned long long)clock64()",
    "%globaltimer": "cunumpy_cpu::ptx_time()",
    "%globaltimer_lo": "(unsigned int)cunumpy_cpu::ptx_time()",
    "%lanemask_eq": "(1u << cunumpy_cpu::ptx_lane())",
    "%lanemask_lt": "((1u << cunumpy_cpu::ptx_lane()) - 1u)",
    "%lanemask_le": "(((2u << cunumpy_cpu::ptx_lane()) - 1u))",
    "%lanemask_gt": "(~((2u << cunumpy_cpu::ptx_lane()) - 1u))",
    "%lanemask_ge": "(~((1u << cunumpy_cpu::ptx_lane()) - 1u))",
    "WARP_SZ": "32u",
}
_INDICES = {"%tid": "threadIdx", "%ntid": "blockDim", "%ctaid": "blockIdx", "%nctaid": "gridDim"}
_ROUNDED = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<="}
_SIGNS |= {"hi": ">", "hs": ">="}
_APPROXIMATE = {
    "ex2": "exp2f({})", "lg2": "log2f({})", "sin": "sinf({})", "cos": "cosf({})", "tanh": "tanhf({})",
    "rsqrt": "rsqrtf({})", "sqrt": "sqrtf({})", "rcp": "(1.0f / {})",
}  # fmt: skip
_MODIFIERS = frozenset({"ftz", "sat", "approx", "full", "wrap", "volatile", "relaxed", "acquire", "release", "weak",
                        "cta", "gpu", "sys", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1", "L2"})  # fmt: skip


class _Operand(NamedTuple):
    text: str
    kind: str | None  # of a register or an operand of the statement


class _Unknown(Exception):
    """What of an instruction is not in the table."""


def replace_inline_ptx(source: str, filename: str) -> str:
    """Replace the ``asm`` statements of a kernel's source by C++ of as many lines.

    Parameters
    ----------
    source : str
        Of the kernel.
    filename : str
        Its name in messages.

    Returns
    -------
    str

    Raises
    ------
    CompileError
        An instruction that the CPU device does not know, or a statement that is not as CUDA's compiler takes it.
    """
    if "asm" not in source:
        return source
    parts: list[str] = []
    place = 0
    for found in _SKIPPED.finditer(source):
        if found["asm"] is None or found.start() < place:
            continue
        try:
            statement, end = _statement(source, found.end())
        except _Unknown as error:
            file, line = _file_and_line(source, found.start(), filename)
            raise CompileError(
                f"{file}:{line}: the CPU device can't run this inline PTX: {error}. Write it in CUDA C++, or "
                "keep it to GPUs with #ifndef CUNUMPY_CPU_DEVICE."
            ) from None
        lines = source.count("\n", found.start(), end)
        parts += [source[place : found.start()], statement, "\n" * lines]
        place = end
    return "".join([*parts, source[place:]])


_LINE = re.compile(r'^[^\S\n]*#[^\S\n]*line[^\S\n]+(\d+)(?:[^\S\n]+"([^"\n]*)")?[^\n]*', re.MULTILINE)


def _file_and_line(source: str, place: int, filename: str) -> tuple[str, int]:
    """Return what messages call a place: line directives may say what it is."""
    file, line, start = filename, 1, 0
    for directive in _LINE.finditer(source, 0, place):
        file, line, start = directive[2] or file, int(directive[1]) - 1, directive.end()
    return file, line + source.count("\n", start, place)


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found is not None else place


def _statement(text: str, place: int) -> tuple[str, int]:
    """Return the C++ of a statement whose ``asm`` ends at a place, and where its parenthesis closes."""
    place = _skip(text, place)
    for word in ("volatile", "__volatile__", "__volatile"):
        if re.match(rf"{word}\b", text[place:]):
            place = _skip(text, place + len(word))
    if text[place : place + 1] != "(":
        raise _Unknown("after 'asm' a parenthesis is expected")
    place = _skip(text, place + 1)
    code = ""
    while (found := _STRING.match(text, place)) is not None:
        code += found[3] if found[3] is not None else _unescaped(found[1])
        place = _skip(text, found.end())
    lists: list[list[tuple[str, str]]] = []
    while text[place : place + 1] == ":":
        operands, place = _operands(text, _skip(text, place + 1))
        lists.append(operands)
    if text[place : place + 1] != ")":
        raise _Unknown("the statement does not end with ')'")
    lists += [[], []]
    return _translated(code, lists[0], lists[1]), place + 1


def _unescaped(text: str) -> str:
    simple = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
    return re.sub(r"\\(.)", lambda found: simple.get(found[1], found[1]), text)


def _operands(text: str, place: int) -> tuple[list[tuple[str, str]], int]:
    """Read ``"=r"(x), "r"(y)``: constraints and expressions; clobbers have no expression."""
    found: list[tuple[str, str]] = []
    while (string := _STRING.match(text, place)) is not None:
        place = _skip(text, string.end())
        expression = ""
        if text[place : place + 1] == "(":
            start, depth = place, 0
            while True:
                skipped = _SKIPPED.match(text, place)
                if skipped is not None and skipped["asm"] is None:
                    place = skipped.end()
                    continue
                if place >= len(text):
                    raise _Unknown("a parenthesis is not closed")
                depth += {"(": 1, ")": -1}.get(text[place], 0)
                place += 1
                if depth == 0:
                    break
            expression = text[start:place].replace("\n", " ")
            place = _skip(text, place)
        found.append((string[1], expression))
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
    return found, place


def _translated(code: str, outputs: list[tuple[str, str]], inputs: list[tuple[str, str]]) -> str:
    names: dict[str, _Operand] = {}
    before: list[str] = []
    after: list[str] = []
    for number, (constraint, expression) in enumerate([*outputs, *inputs]):
        name, letter = f"cunumpy_ptx_{number}", constraint.lstrip("=+&")
        written = number < len(outputs)
        if letter == "n":
            names[f"%{number}"] = _Operand(expression, None)
            continue
        if letter not in _CONSTRAINTS:
            raise _Unknown(f"the constraint {constraint!r}; known are r, l, f, d, h and n")
        kind = _CONSTRAINTS[letter]
        names[f"%{number}"] = _Operand(name, kind)
        value = "" if written and "+" not in constraint else f" = cunumpy_cpu::ptx<{_TYPES[kind]}>{expression}"
        before.append(f"{_TYPES[kind]} {name}{value};")
        if written:
            after.append(f"cunumpy_cpu::ptx_set({expression}, {name});")
    body = _Body(names)
    # In a statement without operands a register has one percent sign, else two.
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    if outputs or inputs:
        plain = plain.replace("%%", "%")
    for instruction in " ".join(plain.split()).split(";"):
        body.add(instruction.strip(" ").lstrip("{} "))  # braces of a scope; those of vectors don't begin an instruction
    return "do { " + " ".join([*before, *body.lines, *after]) + " } while (0)"


class _Body:
    """The instructions of one statement, as C++."""

    def __init__(self, names: dict[str, _Operand]) -> None:
        self.names = names
        self.lines: list[str] = []
        self.carry = False

    def add(self, text: str) -> None:
        text = text.strip()
        if not text:
            return
        if text.startswith(".reg"):
            self.declare(text)
            return
        guard = re.match(r"@(!?)([%\w]+)\s+(.*)", text, re.DOTALL)
        condition = ""
        if guard is not None:
            condition = f"if ({guard[1]}{self.operand(guard[2], 'pred')}) "
            text = guard[3]
        word, _, rest = text.partition(" ")
        operation, *parts = re.split(r"\.(?!:)", word.replace("::", "__"))
        arguments = [each.strip() for each in re.split(r",(?![^{]*\})", rest)] if rest.strip() else []
        try:
            line = self.instruction(operation, [part for part in parts if part], arguments, text)
        except (IndexError, KeyError, ValueError):
            raise _Unknown(f"the instruction {text!r}") from None
        self.lines.append(f"{condition}{{ {line} }}")

    def declare(self, text: str) -> None:
        found = re.match(r"\.reg\s+\.(\w+)\s+(.*)", text, re.DOTALL)
        if found is None or found[1] not in _TYPES:
            raise _Unknown(f"the declaration {text!r}")
        for name in found[2].replace(" ", "").split(","):
            several = re.fullmatch(r"([%\w]+)<(\d+)>", name)
            each = [name] if several is None else [f"{several[1]}{i}" for i in range(int(several[2]))]
            for one in each:
                local = f"cunumpy_ptx_{re.sub('[^a-zA-Z0-9_]', '_', one)}"
                self.names[one] = _Operand(local, found[1])
                self.lines.append(f"{_TYPES[found[1]]} {local}{{}}; (void){local};")

    def operand(self, text: str, kind: str) -> str:
        """Return an operand as an expression of a type."""
        if text in self.names:
            known = self.names[text]
            return known.text if kind == known.kind else f"cunumpy_cpu::ptx<{_TYPES[kind]}>({known.text})"
        if text in _SPECIAL:
            return f"cunumpy_cpu::ptx<{_TYPES[kind]}>({_SPECIAL[text]})"
        index = re.fullmatch(r"(%\w+)\.([xyz])", text)
        if index is not None and index[1] in _INDICES:
            return f"cunumpy_cpu::ptx<{_TYPES[kind]}>({_INDICES[index[1]]}.{index[2]})"
        if (number := re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|\d+)U?", text)) is not None:
            return f"({_TYPES[kind]})({number[1]}{int(number[2], 0)}{'ull' if int(number[2], 0) >= 2**31 else ''})"
        if (bits := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", text)) is not None:
            return f"cunumpy_cpu::ptx<{_TYPES[kind]}>(__uint_as_float(0x{bits[1]}u))"
        if (bits := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", text)) is not None:
            return f"cunumpy_cpu::ptx<{_TYPES[kind]}>(__longlong_as_double(0x{bits[1]}ll))"
        if re.fullmatch(r"-?\d+\.\d*(?:[eE][+-]?\d+)?", text):
            return f"({_TYPES[kind]}){text}"
        raise _Unknown(f"the operand {text!r}")

    def set(self, target: str, value: str) -> str:
        if target == "_":
            return f"(void)({value});"
        if target not in self.names or self.names[target].kind is None:
            raise _Unknown(f"the destination {target!r}")
        return f"cunumpy_cpu::ptx_set({self.names[target].text}, {value});"

    def address(self, text: str, kind: str, const: str = "") -> str:
        found = re.fullmatch(r"\[\s*([%\w]+)\s*(?:([+-])\s*(\d+)\s*)?\]", text)
        if found is None:
            raise _Unknown(f"the address {text!r}")
        offset = f" {found[2]} {found[3]}" if found[2] else ""
        return f"(({const}{_TYPES[kind]}*)({self.operand(found[1], 'u64')}{offset}))"

    def instruction(self, operation: str, parts: list[str], a: list[str], text: str) -> str:
        kind = next((part for part in reversed(parts) if part in _TYPES), "")
        handler: Callable[[list[str], str, list[str]], str] | None = getattr(self, f"do_{operation}", None)
        if handler is not None:
            return handler(parts, kind, a)
        if operation in _APPROXIMATE and "approx" in parts and kind == "f32":
            return self.set(a[0], _APPROXIMATE[operation].format(self.operand(a[1], kind)))
        if kind in ("f32", "f64"):
            return self.floating(operation, parts, kind, a)
        return self.integer(operation, parts, kind, a)

    # --- arithmetic

    def floating(self, operation: str, parts: list[str], kind: str, a: list[str]) -> str:
        rounding = _ROUNDED[next((part for part in parts if part in _ROUNDED), "rn")]
        values = [self.operand(each, kind) for each in a[1:]]
        letter = kind == "f32"
        if operation in ("fma", "mad"):
            value = f"{'__fmaf' if letter else '__fma'}_{rounding}({', '.join(values)})"
        elif operation in ("add", "sub", "mul", "div", "sqrt", "rcp"):
            value = f"__{'f' if letter else 'd'}{operation}_{rounding}({', '.join(values)})"
        elif operation in ("min", "max"):
            value = f"f{operation}({', '.join(values)})"
        elif operation in ("abs", "neg"):
            value = f"fabs({values[0]})" if operation == "abs" else f"-{values[0]}"
        else:
            raise KeyError(operation)
        if "sat" in parts:
            value = f"__saturatef({value})"
        return self.set(a[0], value)

    def integer(self, operation: str, parts: list[str], kind: str, a: list[str]) -> str:
        unsigned = "u" + kind[1:] if kind[0] in "sb" else kind
        values = [self.operand(each, kind) for each in a[1:]]
        bare = [self.operand(each, unsigned) for each in a[1:]]
        signs = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
        if operation in ("add", "sub", "addc", "subc") and ("cc" in parts or operation.endswith("c")):
            return self.with_carry(operation, parts, unsigned, a[0], bare)
        if operation in signs:
            if kind == "pred":
                return self.set(a[0], f"(bool)({values[0]} {signs[operation]} {values[1]})")
            return self.set(a[0], f"({_TYPES[unsigned]})({bare[0]} {signs[operation]} {bare[1]})")
        if operation in ("mul", "mad", "mad24", "mul24", "madc"):
            return self.product(operation, parts, kind, a)
        if operation in ("div", "rem"):
            return self.set(a[0], f"({_TYPES[kind]})({values[0]} {'/' if operation == 'div' else '%'} {values[1]})")
        if operation in ("min", "max"):
            return self.set(
                a[0], f"({values[0]} {'<' if operation == 'min' else '>'} {values[1]} ? {values[0]} : {values[1]})"
            )
        if operation == "abs":
            return self.set(a[0], f"({values[0]} < 0 ? ({_TYPES[kind]})(0 - {bare[0]}) : {values[0]})")
        if operation in ("neg", "not"):
            sign = "!" if kind == "pred" else "~" if operation == "not" else "0 - "
            return self.set(a[0], f"({_TYPES[unsigned]})({sign}{bare[0]})")
        if operation in ("shl", "shr"):
            bits, count = int(kind[1:]), self.operand(a[2], "u32")
            if operation == "shl":
                return self.set(
                    a[0], f"({count} >= {bits} ? 0 : ({_TYPES[unsigned]})({bare[0]} << ({count} & {bits - 1})))"
                )
            value = values[0] if kind[0] == "s" else bare[0]
            return self.set(a[0], f"({_TYPES[kind]})({value} >> ({count} >= {bits} ? {bits - 1} : {count})"
                            + (f" >> ({count} >= {bits} ? 1 : 0))" if kind[0] != "s" else ")"))  # fmt: skip
        raise KeyError(operation)

    def with_carry(self, operation: str, parts: list[str], kind: str, target: str, values: list[str]) -> str:
        self.begin_carry()
        wide, bits = "unsigned __int128", int(kind[1:])
        carry = "cunumpy_ptx_carry" if operation.endswith("c") else "0"
        sign = "+" if operation.startswith("add") else "-"
        keep = f"cunumpy_ptx_carry = (bool)((value >> {bits}) & 1);" if "cc" in parts else ""
        return (
            f"{wide} value = ({wide}){values[0]} {sign} ({wide}){values[1]} {sign} ({wide}){carry}; {keep} "
            + self.set(target, f"({_TYPES[kind]})value")
        )

    def begin_carry(self) -> None:
        if not self.carry:
            self.lines.insert(0, "bool cunumpy_ptx_carry = false; (void)cunumpy_ptx_carry;")
            self.carry = True

    def product(self, operation: str, parts: list[str], kind: str, a: list[str]) -> str:
        bits = int(kind[1:])
        wide = ("__int128" if kind[0] == "s" else "unsigned __int128") if bits == 64 else (
            "long long" if kind[0] == "s" else "unsigned long long")  # fmt: skip
        x, y = (self.operand(each, kind) for each in a[1:3])
        value = f"(({wide}){x} * {y})"
        unsigned = f"u{bits}"
        if "wide" in parts:
            result = f"{kind[0]}{2 * bits}"
            plus = f" + {self.operand(a[3], result)}" if operation == "mad" else ""
            return self.set(a[0], f"({_TYPES[result]})({value}{plus})")
        part = f"({_TYPES[unsigned]})({value} >> {bits})" if "hi" in parts else f"({_TYPES[unsigned]}){value}"
        if operation == "mul":
            return self.set(a[0], part)
        addend = self.operand(a[3], unsigned)
        if operation == "madc" or "cc" in parts:
            return self.with_carry("addc" if operation == "madc" else "add", parts, unsigned, a[0], [part, addend])
        return self.set(a[0], f"({_TYPES[unsigned]})({part} + {addend})")

    def do_mov(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.set(a[0], self.operand(a[1], kind))

    def do_cvt(self, parts: list[str], kind: str, a: list[str]) -> str:
        to, source = (part for part in parts if part in _TYPES)
        value = self.operand(a[1], source)
        rounding = next((part for part in parts if part in ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")), "")
        if to[0] == "f" and source[0] == "f":
            if rounding and to == "f32" and source == "f64":
                value = f"__double2float_{_ROUNDED[rounding]}({value})"
            elif rounding.endswith("i"):
                value = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}[rounding] + f"({value})"
            return self.set(a[0], f"({_TYPES[to]}){value}")
        names = {"f32": "float", "f64": "double", "s32": "int", "u32": "uint", "s64": "ll", "u64": "ull"}
        if source[0] == "f":
            return self.set(a[0], f"__{names[source]}2{names[to]}_{_ROUNDED[rounding[:2]]}({value})")
        if to[0] == "f":
            return self.set(a[0], f"__{names[source]}2{names[to]}_{_ROUNDED[rounding]}({value})")
        return self.set(a[0], f"({_TYPES[to]}){value}")

    # --- bits

    def do_popc(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.set(a[0], f"(unsigned int)__popc{'ll' if kind == 'b64' else ''}({self.operand(a[1], kind)})")

    def do_clz(self, parts: list[str], kind: str, a: list[str]) -> str:
        signed = "s" + kind[1:]
        return self.set(a[0], f"(unsigned int)__clz{'ll' if kind == 'b64' else ''}({self.operand(a[1], signed)})")

    def do_brev(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.set(a[0], f"__brev{'ll' if kind == 'b64' else ''}({self.operand(a[1], kind)})")

    def do_bfind(self, parts: list[str], kind: str, a: list[str]) -> str:
        shift = "true" if "shiftamt" in parts else "false"
        return self.set(a[0], f"cunumpy_cpu::ptx_bfind({self.operand(a[1], kind)}, {shift})")

    def do_bfe(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.set(a[0], f"cunumpy_cpu::ptx_bfe({self.operand(a[1], kind)}, {self.operand(a[2], 'u32')}, "
                        f"{self.operand(a[3], 'u32')})")  # fmt: skip

    def do_bfi(self, parts: list[str], kind: str, a: list[str]) -> str:
        x, y = (self.operand(each, kind) for each in a[1:3])
        return self.set(
            a[0], f"cunumpy_cpu::ptx_bfi({x}, {y}, {self.operand(a[3], 'u32')}, {self.operand(a[4], 'u32')})"
        )

    def do_prmt(self, parts: list[str], kind: str, a: list[str]) -> str:
        if parts != ["b32"]:
            raise KeyError("prmt")
        return self.set(a[0], f"__byte_perm({', '.join(self.operand(each, 'u32') for each in a[1:4])})")

    def do_lop3(self, parts: list[str], kind: str, a: list[str]) -> str:
        values = ", ".join(self.operand(each, "u32") for each in a[1:5])
        return self.set(a[0], f"cunumpy_cpu::ptx_lop3({values})")

    def do_shf(self, parts: list[str], kind: str, a: list[str]) -> str:
        clamp = "c" if "clamp" in parts else ""
        return self.set(
            a[0], f"__funnelshift_{parts[0]}{clamp}({', '.join(self.operand(each, 'u32') for each in a[1:4])})"
        )

    def do_sad(self, parts: list[str], kind: str, a: list[str]) -> str:
        values = f"{self.operand(a[1], kind)}, {self.operand(a[2], kind)}, {self.operand(a[3], 'u32')}"
        return self.set(a[0], f"__{'u' if kind == 'u32' else ''}sad({values})")

    # --- predicates

    def do_setp(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.set(a[0], f"({self.operand(a[1], kind)} {_SIGNS[parts[0]]} {self.operand(a[2], kind)})")

    def do_selp(self, parts: list[str], kind: str, a: list[str]) -> str:
        choice = self.operand(a[3], "pred")
        return self.set(a[0], f"({choice} ? {self.operand(a[1], kind)} : {self.operand(a[2], kind)})")

    # --- memory

    def refuse_shared(self, parts: list[str]) -> None:
        if set(parts) & {"shared", "local", "const", "param", "shared__cta", "shared__cluster"}:
            raise KeyError("a state space whose addresses are not the CPU's")

    def do_ld(self, parts: list[str], kind: str, a: list[str]) -> str:
        self.refuse_shared(parts)
        at = self.address(a[1], kind, "const volatile " if "volatile" in parts else "const ")
        targets = a[0].strip("{} ").split(",")
        return " ".join(self.set(target.strip(), f"{at}[{i}]") for i, target in enumerate(targets))

    def do_ldu(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.do_ld(parts, kind, a)

    def do_st(self, parts: list[str], kind: str, a: list[str]) -> str:
        self.refuse_shared(parts)
        at = self.address(a[0], kind, "volatile " if "volatile" in parts else "")
        values = a[1].strip("{} ").split(",")
        return " ".join(f"{at}[{i}] = {self.operand(value.strip(), kind)};" for i, value in enumerate(values))

    def do_prefetch(self, parts: list[str], kind: str, a: list[str]) -> str:
        return f"__builtin_prefetch({self.address(a[0], 'u8', 'const ')});"

    def do_prefetchu(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.do_prefetch(parts, kind, a)

    def atomic(self, parts: list[str], kind: str, a: list[str]) -> str:
        self.refuse_shared(parts)
        name = next(part for part in parts if part in ("add", "min", "max", "and", "or", "xor", "exch", "cas"))
        if kind == "s64" and name == "add":
            kind = "u64"
        if kind[0] == "b":
            kind = "u" + kind[1:]
        function = {"cas": "CAS"}.get(name, name.capitalize())
        values = ", ".join(self.operand(each, kind) for each in a[1:])
        return f"atomic{function}({self.address(a[0], kind)}, {values})"

    def do_atom(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.set(a[0], self.atomic(parts, kind, a[1:]))

    def do_red(self, parts: list[str], kind: str, a: list[str]) -> str:
        return f"{self.atomic(parts, kind, a)};"

    def do_membar(self, parts: list[str], kind: str, a: list[str]) -> str:
        return f"__threadfence{'_block' if 'cta' in parts else ''}();"

    def do_fence(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.do_membar(parts, kind, a)

    # --- threads

    def do_bar(self, parts: list[str], kind: str, a: list[str]) -> str:
        if parts[:2] == ["warp", "sync"]:
            return f"__syncwarp({self.operand(a[0], 'u32')});"
        if parts == ["sync"] and len(a) == 1:
            return "__syncthreads();" if a[0] == "0" else f"__barrier_sync({self.operand(a[0], 'u32')});"
        raise KeyError("bar")

    def do_barrier(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.do_bar([part for part in parts if part not in ("cta", "aligned")], kind, a)

    def do_activemask(self, parts: list[str], kind: str, a: list[str]) -> str:
        return self.set(a[0], "__activemask()")

    def do_vote(self, parts: list[str], kind: str, a: list[str]) -> str:
        if parts[0] != "sync":
            raise KeyError("vote without .sync")
        mode, negated = parts[1], a[1].startswith("!")
        value = f"{'!' if negated else ''}{self.operand(a[1].lstrip('!'), 'pred')}"
        function = {"ballot": "__ballot_sync", "any": "__any_sync", "all": "__all_sync", "uni": "__uni_sync"}[mode]
        call = f"{function}({self.operand(a[2], 'u32')}, {value})"
        return self.set(a[0], call if mode == "ballot" else f"(bool){call}")

    def do_shfl(self, parts: list[str], kind: str, a: list[str]) -> str:
        if parts[0] != "sync":
            raise KeyError("shfl without .sync")
        target, _, flag = a[0].partition("|")
        mode = {"idx": "INDEX", "up": "UP", "down": "DOWN", "bfly": "XOR"}[parts[1]]
        value, lane, limits, mask = (self.operand(each, "u32") for each in a[1:5])
        call = f"cunumpy_cpu::ptx___shfl_sync<cunumpy_cpu::{mode}>({mask}, {value}, {lane}, {limits}, &inside)"
        line = f"bool inside; unsigned int value = {call}; (void)inside; " + self.set(target.strip(), "value")
        return line + (self.set(flag.strip(), "inside") if flag else "")

    def do_match(self, parts: list[str], kind: str, a: list[str]) -> str:
        if parts[:2] != ["any", "sync"]:
            raise KeyError("match")
        return self.set(a[0], f"__match_any_sync({self.operand(a[2], 'u32')}, {self.operand(a[1], kind)})")

    def do_redux(self, parts: list[str], kind: str, a: list[str]) -> str:
        kind = "u32" if kind == "b32" else kind
        return self.set(a[0], f"__reduce_{parts[1]}_sync({self.operand(a[2], 'u32')}, {self.operand(a[1], kind)})")

    def do_nanosleep(self, parts: list[str], kind: str, a: list[str]) -> str:
        return f"__nanosleep({self.operand(a[0], 'u32')});"

    def do_trap(self, parts: list[str], kind: str, a: list[str]) -> str:
        return "__trap();"
