"""Operators and mathematical functions of numbers, as C++ writes them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel.types import (
    BOOL,
    COMPARISONS,
    FLOAT16,
    FLOAT32,
    INT32,
    UINT32,
    NoLoopError,
    Scalar,
    binary_types,
    c_result,
    float_type,
)
from cunumpy.kernels._rawkernel.values import (
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUALITY,
    PRIMARY,
    PRODUCT,
    RELATION,
    SHIFT,
    SUM,
    UNARY,
    Constant,
    Value,
    cast,
    literal,
)

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
"""How Python writes operators, by the types of nodes."""

_LEVELS = {
    "*": PRODUCT,
    "/": PRODUCT,
    "+": SUM,
    "-": SUM,
    "<<": SHIFT,
    ">>": SHIFT,
    "<": RELATION,
    "<=": RELATION,
    ">": RELATION,
    ">=": RELATION,
    "==": EQUALITY,
    "!=": EQUALITY,
    "&": BIT_AND,
    "^": BIT_XOR,
    "|": BIT_OR,
}

PYTHON: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Operators of Python, for values that are known."""

_WRAPPING = {"+": "add", "-": "subtract", "*": "multiply"}
_WITH_HELPER = {"//": "floor_divide", "%": "remainder", "minimum": "minimum", "maximum": "maximum"}


def _words(text: str) -> list[str]:
    return text.split()


class OutOfRangeError(Exception):
    """A number that is written in the source does not fit the type of the other operand."""


def as_value(operand: Constant | Value, dtype: np.dtype[Any], *, wraps: bool = False) -> Value:
    """Return a number in a dtype, known ones as a literal; with `wraps` as C converts integers.

    Raises
    ------
    OutOfRangeError
        A literal integer that it can't hold.
    """
    if isinstance(operand, Value):
        return cast(operand, dtype)
    value = operand.value
    if dtype.kind in "iu" and isinstance(value, (int, np.integer)):
        info = np.iinfo(dtype)
        if not info.min <= int(value) <= info.max:
            if operand.weak is not None and not wraps:
                raise OutOfRangeError(f"{value} is out of the range of {dtype}")
            value = int(np.array(int(value) & (2**64 - 1), np.uint64).astype(dtype))
    if dtype.kind in "fc" and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = float(value)
    with np.errstate(all="ignore"):
        return literal(value, dtype)


def binary(name: str, left: Constant | Value, right: Constant | Value, mode: str, types: tuple[Any, Any]) -> Value:
    """Return ``left name right``, at least one of which is not known.

    Parameters
    ----------
    name : str
        Of an operator of Python, or ``"minimum"`` and the like.
    left, right : Constant or Value
    mode : str
    types : tuple
        Their dtypes, or types of Python for literals of ``mode="numpy"``.

    Raises
    ------
    NoLoopError, OutOfRangeError
    """
    first, second, result = binary_types(name, *types, mode)
    a, b = _operands(left, right, first, second, wraps=mode == "cuda")
    stable, impure = a.stable and b.stable, a.impure or b.impure

    def made(code: str, level: int = PRIMARY, dtype: np.dtype[Any] = result) -> Value:
        return Value(code, Scalar(dtype), level, stable, impure)

    if name in COMPARISONS and first != second:
        less, equal = "python::less", "python::equal"
        ways = {"<": (less, a, b, ""), ">": (less, b, a, ""), "<=": (less, b, a, "!"), ">=": (less, a, b, "!")}
        ways |= {"==": (equal, a, b, ""), "!=": (equal, a, b, "!")}
        function, one, other, negated = ways[name]
        return made(f"{negated}{function}({one.code}, {other.code})", UNARY if negated else PRIMARY)
    if first == FLOAT16 and name not in COMPARISONS:
        inner = binary(name, cast(a, FLOAT32), cast(b, FLOAT32), mode, (FLOAT32, FLOAT32))
        return replace(cast(inner, FLOAT16), parts=None)
    if name in _WITH_HELPER:
        if name == "//" and first.kind == "u" and isinstance(right, Constant) and right.value:
            return _written("/", a, b, first, result, made)
        if name == "%" and first.kind == "u" and isinstance(right, Constant) and right.value:
            return cast_if(made(f"{a.at(PRODUCT)} % {b.at(UNARY)}", PRODUCT, c_result(first, first)), result)
        floating = "_floating" if first.kind == "f" and name in ("//", "%") else ""
        a, b = cast(a, first), cast(b, first)
        return made(f"python::{_WITH_HELPER[name]}{floating}<{Scalar(first).ctype}>({a.code}, {b.code})")
    if name == "**":
        return _power(a, b, right, first, result, made)
    if first == BOOL and name in ("+", "*"):
        name = {"+": "|", "*": "&"}[name]
    if mode == "numpy" and name in ("<<", ">>"):
        a, b = cast(a, first), cast(b, first)
        return made(f"python::{'left' if name == '<<' else 'right'}_shift<{Scalar(first).ctype}>({a.code}, {b.code})")
    if mode == "numpy" and name in _WRAPPING and first.kind == "i" and first.itemsize >= 4:
        return made(f"python::{_WRAPPING[name]}<{Scalar(first).ctype}>({a.code}, {b.code})")
    if name == "*" and first == np.dtype("u2"):  # the product of the promoted ones could overflow
        a = cast(a, UINT32)
    return _written(name, a, b, first, result, made)


def _operands(
    left: Constant | Value, right: Constant | Value, first: np.dtype[Any], second: np.dtype[Any], *, wraps: bool
) -> tuple[Value, Value]:
    """Return operands that C++ converts to the wanted types by itself, or converted to them."""
    a = left if isinstance(left, Value) else as_value(left, first, wraps=wraps)
    b = right if isinstance(right, Value) else as_value(right, second, wraps=wraps)
    if FLOAT16 in (a.dtype, b.dtype):
        a, b = (cast(one, FLOAT32) if one.dtype == FLOAT16 != want else one for one, want in ((a, first), (b, second)))
    if first.kind == "c":
        part = np.dtype(f"f{first.itemsize // 2}")
        return tuple(  # type: ignore[return-value]
            cast(one, first if one.dtype.kind == "c" else part) if one.dtype not in (first, part) else one
            for one in (a, b)
        )
    if first.itemsize < 4 or first != second or FLOAT16 in (first, second):
        return cast(a, first), cast(b, second)
    if c_result(a.dtype, b.dtype) == first:
        return a, b
    return cast(a, first), cast(b, second)


def _written(
    name: str,
    a: Value,
    b: Value,
    first: np.dtype[Any],
    result: np.dtype[Any],
    made: Callable[..., Value],
) -> Value:
    level = _LEVELS[name]
    if name in COMPARISONS:
        if first == FLOAT16:
            a, b = cast(a, FLOAT32), cast(b, FLOAT32)
        return made(f"{a.at(level)} {name} {b.at(level - 1)}", level, BOOL)
    got = c_result(a.dtype, b.dtype) if name not in ("<<", ">>") else c_result(a.dtype, a.dtype)
    right = b.at(UNARY if name == "*" else level - 1)
    found = made(f"{a.at(level)} {name} {right}", level, got)
    found = replace(found, parts=(name, a.code, b.code))
    return replace(cast_if(found, result), parts=found.parts)


def cast_if(value: Value, dtype: np.dtype[Any]) -> Value:
    """Return a value in a dtype."""
    return value if value.dtype == dtype else cast(value, dtype)


def _power(
    a: Value,
    b: Value,
    right: Constant | Value,
    first: np.dtype[Any],
    result: np.dtype[Any],
    made: Callable[..., Value],
) -> Value:
    if isinstance(right, Constant) and right.value == 2:
        return made(f"python::square<{Scalar(first).ctype}>({cast(a, first).code})")
    a, b = cast(a, first), cast(b, first)
    if first.kind in "iu":
        return made(f"python::power<{Scalar(first).ctype}>({a.code}, {b.code})")
    return made(f"{'powf' if first == FLOAT32 else 'pow'}({a.code}, {b.code})")


def unary(name: str, value: Value, mode: str) -> Value:
    """Return ``-value``, ``+value``, ``~value`` or ``not value``."""
    dtype = value.dtype
    if name == "not":
        return replace(truth(value), code=f"!{truth(value).at(UNARY)}", level=UNARY, type=Scalar(BOOL), parts=None)
    if name == "~":
        if dtype.kind not in "biu":
            raise NoLoopError
        if dtype == BOOL:
            return unary("not", value, mode)
    elif dtype == BOOL:
        raise NoLoopError
    if dtype == FLOAT16:
        return cast(unary(name, cast(value, FLOAT32), mode), FLOAT16)
    if name == "-" and mode == "numpy" and dtype.kind == "i" and dtype.itemsize >= 4:
        return replace(
            value, code=f"python::subtract<{Scalar(dtype).ctype}>(0, {value.code})", level=PRIMARY, parts=None
        )
    got = INT32 if dtype.kind in "iu" and dtype.itemsize < 4 else dtype
    inner = value.at(UNARY)
    code = f"{name}({inner})" if inner.startswith(name) else f"{name}{inner}"
    return cast_if(replace(value, code=code, level=UNARY, type=Scalar(got), parts=None), dtype)


def truth(value: Value) -> Value:
    """Return a value that C++ takes for a condition."""
    if value.dtype == FLOAT16:
        value = cast(value, FLOAT32)
    if value.dtype.kind == "c":
        return replace(value, code=f"{value.at(EQUALITY)} != {value.type.ctype}(0)", level=EQUALITY, type=Scalar(BOOL))  # type: ignore[attr-defined]
    return value


# --- mathematical functions -------------------------------------------------------------------------------------------

_FLOATING = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
    **{
        name: name
        for name in _words("cos cosh exp log log10 sin sinh sqrt tan tanh cbrt exp2 expm1 log1p log2 erf erfc rsqrt")
    },
    "rint": "rint",
    "gamma": "tgamma",
    "lgamma": "lgamma",
}
"""Functions of one floating-point number, and what C calls them."""

_COMPLEX_TOO = frozenset(
    _words("arccos arccosh arcsin arcsinh arctan arctanh cos cosh exp log log10 sin sinh sqrt tan tanh")
)
_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_FACTORS = {
    "deg2rad": math.pi / 180,
    "radians": math.pi / 180,
    "rad2deg": 180 / math.pi,
    "degrees": 180 / math.pi,
}
_TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit"}
_FLOATING_BINARY = {
    "arctan2": "atan2",
    "hypot": "hypot",
    "copysign": "copysign",
    "nextafter": "nextafter",
    "fmin": "fmin",
    "fmax": "fmax",
}
AS_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "true_divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "mod": "%",
    "power": "**",
    "left_shift": "<<",
    "right_shift": ">>",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "minimum": "minimum",
    "maximum": "maximum",
    "negative": "-",
    "positive": "+",
    "invert": "~",
    "bitwise_invert": "~",
    "logical_not": "not",
}
"""NumPy's functions that are operators."""

OF_MATH = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "fabs": "absolute",
    "pow": "power",
    **{
        name: name
        for name in _words(
            "cbrt copysign cos cosh degrees erf erfc exp exp2 expm1 fmod gamma hypot isfinite isinf isnan lgamma "
            "log log10 log1p log2 nextafter radians sin sinh sqrt tan tanh"
        )
    },
}
"""Functions of the module ``math``, and NumPy's that do the same."""

KNOWN = frozenset(
    {
        *_FLOATING,
        *_ROUNDING,
        *_FACTORS,
        *_TESTS,
        *_FLOATING_BINARY,
        *AS_OPERATORS,
        *_words("absolute fabs abs sign square reciprocal conjugate conj fmod logical_and logical_or logical_xor"),
    }
)
"""NumPy's functions that kernels have."""


def function_of_one(name: str, value: Value, given: Any, mode: str) -> Value:
    """Return a function of NumPy of one number; `given` is its dtype, or its type in Python.

    Raises
    ------
    NoLoopError
        It is not there for such numbers.
    """
    dtype = value.dtype

    def called(function: str, of: np.dtype[Any], result: np.dtype[Any] | None = None) -> Value:
        inner = FLOAT32 if of == FLOAT16 else of
        suffix = "f" if inner == FLOAT32 and not function.startswith(("is", "sign", "python")) else ""
        code = f"{function}{suffix}({cast(value, inner).code})"
        got = replace(value, code=code, level=PRIMARY, type=Scalar(result or inner), parts=None)
        return got if result is not None else cast_if(got, of)

    if name in _FLOATING:
        return called(_FLOATING[name], float_type(given, mode, complex_too=name in _COMPLEX_TOO))
    if name in _ROUNDING:
        if dtype.kind in "biu":
            return value
        return called(_ROUNDING[name], float_type(given, mode, complex_too=False))
    if name in _FACTORS:
        of = float_type(given, mode, complex_too=False)
        inner = FLOAT32 if of == FLOAT16 else of
        product = f"{cast(value, inner).at(PRODUCT)} * {literal(_FACTORS[name], inner).code}"
        return cast_if(replace(value, code=product, level=PRODUCT, type=Scalar(inner), parts=None), of)
    if name in _TESTS:
        if dtype.kind in "biu":
            if name == "signbit":
                return binary("<", value, Constant(0), "cuda", (dtype, dtype))
            return replace(value, code="true" if name == "isfinite" else "false", level=PRIMARY, type=Scalar(BOOL))
        if dtype.kind == "c" and name == "signbit":
            raise NoLoopError
        found = called(_TESTS[name], dtype, BOOL)
        return replace(found, code=f"(bool){found.code}", level=UNARY)
    if name in ("absolute", "fabs", "abs"):
        if dtype.kind in "bu":
            return value
        if dtype.kind == "i":
            return called(f"python::absolute<{Scalar(dtype).ctype}>", dtype)
        if dtype.kind == "c":
            return called("abs", dtype, np.dtype(f"f{dtype.itemsize // 2}"))
        return called("fabs", dtype)
    if name == "sign":
        if dtype.kind in "bc":
            raise NoLoopError
        inner = FLOAT32 if dtype == FLOAT16 else dtype
        return cast_if(called(f"python::sign<{Scalar(inner).ctype}>", inner, inner), dtype)
    if name == "square":
        return binary("**", value, Constant(2), mode, (dtype, int if mode == "numpy" else dtype))
    if name == "reciprocal":
        of = float_type(given, mode)
        return binary("/", literal(1, of), value, mode, (of, of))
    if name in ("conjugate", "conj"):
        return called("conj", dtype, dtype) if dtype.kind == "c" else value
    return unary(AS_OPERATORS[name], value, mode)


def function_of_two(
    name: str, left: Constant | Value, right: Constant | Value, mode: str, types: tuple[Any, Any]
) -> Value:
    """Return a function of NumPy of two numbers; see `binary`."""
    if name in AS_OPERATORS:
        return binary(AS_OPERATORS[name], left, right, mode, types)
    if name in ("logical_and", "logical_or", "logical_xor"):
        sign = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}[name]
        truths = [cast_if(truth(as_value(one, BOOL)), BOOL) for one in (left, right)]
        return binary(sign, truths[0], truths[1], mode, (BOOL, BOOL))
    first, _, _ = binary_types("/" if name != "fmod" else "%", *types, mode)
    if first.kind == "c" or (first == FLOAT16 and name == "nextafter"):
        raise NoLoopError
    if name == "fmod" and first.kind in "iu":
        first = np.dtype("f8")
    inner = FLOAT32 if first == FLOAT16 else first
    a, b = as_value(left, inner), as_value(right, inner)
    function = _FLOATING_BINARY.get(name, name) + ("f" if inner == FLOAT32 else "")
    found = replace(
        a,
        code=f"{function}({a.code}, {b.code})",
        level=PRIMARY,
        type=Scalar(inner),
        stable=a.stable and b.stable,
        impure=a.impure or b.impure,
        parts=None,
    )
    return cast_if(found, first)
