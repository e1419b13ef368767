"""Constant integer expressions of C++, with the types that decide what they give: `0u - 1 > 0`, and `1 << 31 < 0`."""

from __future__ import annotations

import ctypes
import operator
import re
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.cuda._ctypes_table import BUILTIN_WORDS, builtin_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np


class Integer(NamedTuple):
    """A value of an integer type; bool has one bit."""

    value: int
    bits: int = 32
    signed: bool = True

    def converted(self, bits: int, signed: bool) -> Integer:
        """Return what another type makes of it."""
        if bits == 1:
            return Integer(int(self.value != 0), 1, False)
        value = self.value & ((1 << bits) - 1)
        return Integer(value - (1 << bits) if signed and value >> (bits - 1) else value, bits, signed)

    def promoted(self) -> Integer:
        """Return it as operators take it: as int, if it is of a smaller type."""
        return self if self.bits >= 32 else Integer(self.value)

    def fits(self) -> bool:
        """Tell whether its type can hold the value."""
        return self.converted(self.bits, self.signed).value == self.value


def of_dtype(number: Integer, dtype: np.dtype | None) -> Integer | None:
    """Return a number as the type that a dtype stands for; None if that is no type of integers."""
    if dtype is None or dtype.kind not in "biu" or dtype.shape:
        return None
    return number.converted(1 if dtype.kind == "b" else 8 * dtype.itemsize, dtype.kind == "i")


UNKNOWN = "?unknown"
"""A word for what has no known value."""

_PRECEDENCE = {
    sign: level
    for level, signs in enumerate(["||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"], start=1)
    for sign in signs.split()
}
_NUMBER = re.compile(r"(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|(0[0-7]*)|([1-9]\d*))([uUlLzZ]*)")
_CHARACTER = re.compile(r"'[ -&(-\[\]-~]'")
_NAME = re.compile(r"[^\W\d]")
_ALTERNATIVES = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "compl": "~",
    "not_eq": "!=",
}
_LONG = 8 * ctypes.sizeof(ctypes.c_long)
_LONGEST_NUMBER = 40


def evaluate(
    words: Sequence[str], lookup: Callable[[str], Integer | int | None], *, preprocessor: bool = False
) -> Integer | None:
    """Evaluate a constant integer expression.

    Parameters
    ----------
    words : sequence of str
    lookup : callable
        The value of a name, None if it has none; an int has the first of int, long and unsigned long that holds it.
    preprocessor : bool, default: False
        All numbers have 64 bits, as after ``#if``.

    Returns
    -------
    Integer or None
        None if the value can't be told, or the expression is none.
    """
    try:
        expression = _Expression(words, lookup, preprocessor)
        value = expression.conditional()
        return value if expression.place == len(expression.words) else None
    except (_NoExpressionError, RecursionError):
        return None


class _NoExpressionError(Exception):
    pass


class _Expression:
    def __init__(self, words: Sequence[str], lookup: Callable[[str], Integer | int | None], preprocessor: bool) -> None:
        self.words: list[str] = []
        for word in words:  # the tokenizer keeps >> apart, for the ends of template arguments
            if word == ">" and self.words[-1:] == [">"]:
                self.words[-1] = ">>"
            else:
                self.words.append(_ALTERNATIVES.get(word, word))
        self.lookup = lookup
        self.preprocessor = preprocessor
        self.place = 0

    def take(self, word: str | None = None) -> str:
        if self.place >= len(self.words) or (word is not None and self.words[self.place] != word):
            raise _NoExpressionError
        self.place += 1
        return self.words[self.place - 1]

    def peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.words[place] if place < len(self.words) else ""

    def conditional(self) -> Integer | None:
        condition = self.binary(1)
        if self.peek() != "?":
            return condition
        self.take()
        chosen = self.conditional()
        self.take(":")
        other = self.conditional()
        if condition is None:
            return None
        if not condition.value:
            chosen, other = other, chosen
        if other is None and self.preprocessor and chosen is not None and chosen.value >= 0:
            return chosen
        return None if chosen is None or other is None else chosen.converted(*_common(chosen, other))

    def binary(self, lowest: int) -> Integer | None:
        left = self.unary()
        while (level := _PRECEDENCE.get(self.peek(), 0)) >= lowest:
            sign = self.take()
            right = self.binary(level + 1)
            found = _apply(sign, left, right)
            left = None if found is None else self.as_here(found)
        return left

    def unary(self) -> Integer | None:
        word = self.take()
        if word in ("!", "-", "+", "~"):
            value = self.unary()
            if value is None:
                return None
            if word == "!":
                return self.as_here(_truth(not value.value))
            value = value.promoted()
            changed = value._replace(value={"-": -value.value, "+": value.value, "~": ~value.value}[word])
            return _result(changed)
        if word == "(":
            if self.peek() in BUILTIN_WORDS:
                dtype = self.type_until(")")
                return self.cast(self.unary(), dtype)
            value = self.conditional()
            self.take(")")
            return value
        if word == "static_cast" and self.peek() == "<":
            self.take()
            dtype = self.type_until(">")
            return self.cast(self.in_parentheses(), dtype)
        if word == "sizeof" and self.peek() == "(" and self.peek(1) in BUILTIN_WORDS:
            self.take()
            dtype = self.type_until(")")
            return None if dtype is None else Integer(dtype.itemsize, 64, False)
        if word in BUILTIN_WORDS:
            scalar = builtin_type([word])
            return self.cast(self.in_parentheses(), None if scalar is None else scalar.dtype)
        if word[0].isdigit():
            return self.literal(word)
        if _CHARACTER.fullmatch(word) is not None:
            return self.as_here(Integer(ord(word[1]), 8))
        if word == UNKNOWN or word[0] in "\"'":
            return None
        if _NAME.match(word) is None:
            raise _NoExpressionError
        while self.peek() == "::":
            self.take()
            word += "::" + self.take()
        if self.peek() == "(":  # a function-like macro, or a function
            self.group()
            return None
        found = self.lookup(word)
        if not isinstance(found, int):
            return found
        if isinstance(found, bool):
            return self.as_here(Integer(int(found), 1, False))
        typed = _first([Integer(found), Integer(found, 64), Integer(found, 64, False)])
        return None if typed is None else self.as_here(typed)

    def group(self) -> None:
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(self.take(), 0)
            if depth == 0:
                return

    def in_parentheses(self) -> Integer | None:
        self.take("(")
        value = self.conditional()
        self.take(")")
        return value

    def type_until(self, end: str) -> np.dtype | None:
        """Take the words of a type of the language, and what ends it."""
        words = []
        while (word := self.take()) != end:
            words.append(word)
        scalar = builtin_type(words)
        return None if scalar is None else scalar.dtype

    def cast(self, value: Integer | None, dtype: np.dtype | None) -> Integer | None:
        return None if value is None else of_dtype(value, dtype)

    def as_here(self, number: Integer) -> Integer:
        """Return a number with the type that it has where the expression stands."""
        if self.preprocessor:
            return Integer(number.value, 64, number.signed or number.bits < 64)
        return number

    def literal(self, word: str) -> Integer | None:
        found = _NUMBER.fullmatch(word.replace("'", ""))
        if found is None or len(word) > _LONGEST_NUMBER:
            return None
        hexadecimal, binary, octal, decimal, suffix = found.groups()
        if hexadecimal:
            value = int(hexadecimal, 16)
        elif binary:
            value = int(binary, 2)
        else:
            value = int(octal, 8) if octal else int(decimal)
        suffix = suffix.lower()
        least = 32 if not suffix.strip("u") else _LONG if suffix.strip("u") == "l" else 64
        if self.preprocessor:
            least = 64
        signs = (False,) if "u" in suffix else (True,) if decimal else (True, False)
        return _first([Integer(value, bits, signed) for bits in (32, 64) if bits >= least for signed in signs])


def _first(candidates: list[Integer]) -> Integer | None:
    """Return the first whose type can hold the value."""
    return next((one for one in candidates if one.fits()), None)


def _truth(value: object) -> Integer:
    return Integer(int(bool(value)), 1, False)


def _common(one: Integer, other: Integer) -> tuple[int, bool]:
    """Return bits and sign of the type that two operands are converted to."""
    one, other = one.promoted(), other.promoted()
    if one.bits == other.bits:
        return one.bits, one.signed and other.signed
    wider = max(one, other, key=lambda number: number.bits)
    return wider.bits, wider.signed


def _result(number: Integer) -> Integer | None:
    """Return what an operation gives: unsigned numbers wrap, others must not."""
    return number if number.fits() else None if number.signed else number.converted(number.bits, False)


def _apply(sign: str, left: Integer | None, right: Integer | None) -> Integer | None:
    if sign in ("&&", "||"):
        values = [None if one is None else bool(one.value) for one in (left, right)]
        decides = sign == "||"
        return _truth(decides) if decides in values else None if None in values else _truth(not decides)
    if left is None or right is None:
        return None
    if sign in ("<<", ">>"):
        left = left.promoted()
        if not 0 <= right.value < left.bits or (sign == "<<" and left.value < 0):
            return None
        shifted = left.value << right.value if sign == "<<" else left.value >> right.value
        return left._replace(value=shifted).converted(left.bits, left.signed)
    bits, signed = _common(left, right)
    a, b = left.converted(bits, signed).value, right.converted(bits, signed).value
    if sign in _COMPARISONS:
        return _truth(_COMPARISONS[sign](a, b))
    if sign in ("/", "%"):
        if b == 0:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        value = quotient if sign == "/" else a - b * quotient
        return None if not Integer(quotient, bits, signed).fits() else Integer(value, bits, signed)
    return _result(Integer(_ARITHMETIC[sign](a, b), bits, signed))


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
