"""Values in the course of a translation: those that are known in Python, and C++ expressions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from cunumpy.cuda._ctypes_table import CTYPE_OF
from cunumpy.kernels._rawkernel.types import FLOAT16, FLOAT32, FLOAT64, INT64, Array, Scalar, Shared, Type

PRIMARY, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY, BIT_AND, BIT_XOR, BIT_OR, AND, OR, CONDITIONAL = range(13)
"""How tightly operators of C++ bind, from the tightest on."""


class Memory:
    """What an array variable refers to; it is const as long as nobody writes to it."""

    def __init__(self, number: int) -> None:
        self.mark = f"\0{number}\0"
        self.written = False
        self.same: list[Memory] = []

    def write(self) -> None:
        """Remember that it is written to, as everything that can be the same memory."""
        if not self.written:
            self.written = True
            for other in self.same:
                other.write()

    def join(self, other: Memory) -> None:
        """Let both be one."""
        if other is not self:
            self.same.append(other)
            other.same.append(self)
            if self.written or other.written:
                self.written = other.written = False
                self.write()


@dataclass(frozen=True)
class Constant:
    """A value that is known when the kernel is translated."""

    value: Any

    @property
    def weak(self) -> type | None:
        """The type of a number as Python writes it, which with ``mode="numpy"`` takes the type of the other operand."""
        kind = type(self.value)
        return kind if kind in (int, float, complex) else None


@dataclass(frozen=True)
class Value:
    """An expression of C++.

    Attributes
    ----------
    code : str
    type : Type
    level : int
        How tightly its outermost operator binds.
    stable : bool
        No memory is read, so that it can be evaluated at another time.
    impure : bool
        Evaluating it changes something.
    memory : Memory or None
        Of arrays.
    base, indices
        Of a part of an array: which, and the indices so far.
    parts : tuple or None
        Operator, operands: ``left op= right`` does the same to `left`.
    """

    code: str
    type: Type
    level: int = PRIMARY
    stable: bool = True
    impure: bool = False
    memory: Memory | None = None
    base: Value | None = None
    indices: tuple[str, ...] = ()
    parts: tuple[str, str, str] | None = None

    def at(self, level: int) -> str:
        """Return the code as an operand of an operator that binds so tightly."""
        return self.code if self.level <= level else f"({self.code})"

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a number."""
        assert isinstance(self.type, Scalar)
        return self.type.dtype


@dataclass(frozen=True)
class Several:
    """A tuple."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Method:
    """A method of a value."""

    of: Value
    name: str


Operand: TypeAlias = "Constant | Value | Several | Method"


@dataclass
class Variable:
    """A variable of the function that is translated.

    Attributes
    ----------
    name, cname : str
        In Python and in C++.
    node
        Where it got its type.
    value
        What its name stands for.
    """

    name: str
    cname: str
    node: Any
    value: Operand
    parameter: bool = False
    memory: Memory | None = field(default=None)


def literal(value: Any, dtype: np.dtype[Any]) -> Value:
    """Return a number as C++ writes it, of exactly a dtype."""
    kind = dtype.kind
    code: str
    level = PRIMARY
    if kind == "b":
        code = "true" if value else "false"
    elif kind in "iu":
        number = int(value)
        suffix = {"i": {8: "LL"}, "u": {4: "u", 8: "ULL"}}[kind].get(dtype.itemsize, "")
        if kind == "i" and number == np.iinfo(dtype).min and dtype.itemsize >= 4:
            code, level = f"({number + 1}{suffix} - 1)", PRIMARY
        else:
            code, level = f"{number}{suffix}", UNARY if number < 0 else PRIMARY
        if dtype.itemsize < 4:
            code, level = f"({CTYPE_OF[dtype]}){code}", UNARY
    elif kind == "f":
        code, level = _real(dtype.type(value), dtype)
    else:
        part = np.dtype(f"f{dtype.itemsize // 2}")
        number_of = dtype.type(value)
        code = f"{CTYPE_OF[dtype]}({_real(number_of.real, part)[0]}, {_real(number_of.imag, part)[0]})"
    return Value(code, Scalar(dtype), level)


def _real(value: Any, dtype: np.dtype[Any]) -> tuple[str, int]:
    if dtype == FLOAT16:
        return f"(__half){_real(np.float32(value), FLOAT32)[0]}", UNARY
    bits = {4: ("__int_as_float", np.uint32, ""), 8: ("__longlong_as_double", np.uint64, "LL")}[dtype.itemsize]
    if not np.isfinite(value):
        return f"{bits[0]}({int(np.array(value, dtype).view(bits[1])):#x}{bits[2]})", PRIMARY
    text = np.format_float_scientific(value, unique=True, trim="-")
    plain = np.format_float_positional(value, unique=True, trim="0")
    text = plain if len(plain) <= 12 else text
    if not any(char in text for char in ".e"):
        text += ".0"
    return f"{text}{'f' if dtype == FLOAT32 else ''}", UNARY if text.startswith("-") else PRIMARY


def cast(value: Value, dtype: np.dtype[Any]) -> Value:
    """Return a number converted to a dtype, as C++ does it."""
    given = value.dtype
    if given == dtype:
        return value
    ctype = CTYPE_OF[dtype]
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        inner = value.code if given.kind == "c" else cast(value, part).code
        return replace(value, code=f"{ctype}({inner})", type=Scalar(dtype), level=PRIMARY, parts=None)
    if given == FLOAT16 and dtype != FLOAT32:
        value = cast(value, FLOAT32)
    elif dtype == FLOAT16 and given.kind in "biu":
        value = cast(value, FLOAT64 if given.itemsize == 8 else FLOAT32)
    code = f"({ctype}){value.at(UNARY)}"
    return replace(value, code=code, type=Scalar(dtype), level=UNARY, parts=None)


def is_array(value: Operand) -> bool:
    """Tell whether a value is an array or shared memory."""
    return isinstance(value, Value) and isinstance(value.type, (Array, Shared))


def extent(value: Value, axis: int) -> Value:
    """Return the length of an axis of an array."""
    base, first = (value, 0) if value.base is None else (value.base, len(value.indices))
    return Value(f"{base.code}.shape[{first + axis}]", Scalar(INT64))


def ctype_of(kind: Type, memory: Memory | None = None) -> str:
    """Return a type in C++, of arrays with a mark for ``const``, which `memory` decides in the end."""
    if isinstance(kind, Array):
        assert memory is not None
        ctype = kind.ctype(False)
        return ctype.replace("<", f"<{memory.mark}", 1) if kind.ndim else f"{memory.mark}{ctype}"
    return str(kind.ctype)  # type: ignore[attr-defined]
