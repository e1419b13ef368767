"""Operands of operations: numbers, known in Python or calculated by the kernel, and what is made of two."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel.function_source import TranslationError, describe
from cunumpy.kernels._rawkernel.operators import OutOfRangeError, as_value, binary
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import COMPARISONS, NoLoopError, Scalar, can_store, dtype_of_number
from cunumpy.kernels._rawkernel.values import (
    PRIMARY,
    Constant,
    Method,
    Operand,
    Several,
    Value,
    cast,
    ctype_of,
    is_array,
)


def as_number(t: Translation, operand: Operand, node: ast.AST, what: str = "") -> Value:
    """Return a number, known ones with the type that they have as variables; `what` is its name in messages."""
    if isinstance(operand, Value) and isinstance(operand.type, Scalar):
        return operand
    if isinstance(operand, Constant):
        dtype = dtype_of_number(operand.value, t.mode)
        if dtype is not None:
            return as_value(operand, dtype)
    raise _unfit(t, operand, node, what, "a number")


def _unfit(t: Translation, operand: Operand, node: ast.AST, what: str, kind: str) -> TranslationError:
    must = f"{what} must be {kind}" if what else f"{kind} is needed here"
    return t.error(node, f"{must}, got {described(operand)}.{_remedy(operand)}")


def _is_number(t: Translation, operand: Operand) -> bool:
    if isinstance(operand, Constant):
        return dtype_of_number(operand.value, t.mode) is not None
    return isinstance(operand, Value) and isinstance(operand.type, Scalar)


def _remedy(operand: Operand) -> str:
    if isinstance(operand, Value) and is_array(operand):
        return " Kernels calculate with elements: give an index for each dimension."
    if isinstance(operand, Constant) and isinstance(operand.value, np.ndarray):
        return " Arrays are arguments: add a parameter for it."
    if isinstance(operand, Constant) and isinstance(operand.value, int):
        return " Kernels have integers of up to 64 bits."
    return ""


def as_numeric(t: Translation, operand: Operand, node: ast.AST, what: str = "") -> Constant | Value:
    """Return an operand that is a number, known ones as they are."""
    if isinstance(operand, Constant) and dtype_of_number(operand.value, t.mode) is not None:
        return operand
    return as_number(t, operand, node, what)


def as_integer(t: Translation, node: ast.expr, what: str = "") -> Constant | Value:
    """Return an integer."""
    operand = t.expression(node)
    if not _is_number(t, operand):
        raise _unfit(t, operand, node, what, "an integer")
    number = as_numeric(t, operand, node)
    if dtype_of(t, number).kind not in "iu":
        must = f"{what} must be an integer" if what else "an integer is needed here"
        raise t.error(node, f"{must}, got {dtype_of(t, number)}; convert it, numpy.int64(...).")
    return number


def dtype_of(t: Translation, operand: Constant | Value) -> np.dtype[Any]:
    """Return the dtype of a number."""
    if isinstance(operand, Value):
        return operand.dtype
    found = dtype_of_number(operand.value, t.mode)
    assert found is not None
    return found


def known_value(t: Translation, node: ast.expr, what: str) -> Any:
    """Return a value that has to be known when the kernel is translated."""
    operand = t.expression(node)
    if isinstance(operand, Several) and all(isinstance(one, Constant) for one in operand.items):
        return tuple(one.value for one in operand.items if isinstance(one, Constant))
    if not isinstance(operand, Constant):
        raise t.error(
            node, f"{what} has to be known when the kernel is translated: a number in the source, or a global name."
        )
    return operand.value


def described(operand: Operand) -> str:
    """Return what messages call an operand."""
    if isinstance(operand, Value):
        return str(operand.type)
    if isinstance(operand, Several):
        return f"a tuple of {len(operand.items)}"
    if isinstance(operand, Method):
        return f"a method, {operand.name}"
    if isinstance(operand.value, np.ndarray):
        return "a NumPy array that is no argument"
    return describe(operand.value)


def evaluated(t: Translation, function: Callable[..., Any], arguments: tuple[Any, ...], node: ast.AST) -> Constant:
    """Return what Python calculates when the kernel is translated."""
    try:
        with np.errstate(all="ignore"):
            return Constant(function(*arguments))
    except Exception as error:
        raise t.error(node, f"evaluating it raises {type(error).__name__}: {error}.", ValueError) from error


def operation(t: Translation, name: str, left: Operand, right: Operand, node: ast.AST) -> Value:
    """Return an operation of two numbers."""
    one, other = as_numeric(t, left, node), as_numeric(t, right, node)
    if isinstance(one, Constant) and isinstance(other, Constant):
        one = as_number(t, one, node)
    types = tuple(type_in_operation(t, operand) for operand in (one, other))
    if (
        t.mode == "numpy"
        and name == "**"
        and isinstance(other, Constant)
        and dtype_of(t, one).kind in "iu"
        and dtype_of(t, other).kind == "i"
        and other.value < 0
    ):
        raise t.error(node, "integers to negative integer powers are not there; make one a float.", ValueError)

    def made(operands: list[Constant | Value]) -> Value:
        return binary(name, operands[0], operands[1], t.mode, (types[0], types[1]))

    try:
        return in_order(t, [one, other], made)
    except NoLoopError:
        shown = f"x {name} y" if not name.isalpha() else f"{name}(x, y)"
        raise t.error(
            node, f"there is no {shown} for x of type {dtype_of(t, one)} and y of type {dtype_of(t, other)}."
        ) from None
    except OutOfRangeError as error:
        if name in COMPARISONS:  # as NumPy, which compares with numbers of any size
            types = (dtype_of(t, one), dtype_of(t, other))
            return in_order(t, [one, other], made)
        raise t.error(node, f"{error}; convert the other operand to a wider type.") from None


def type_in_operation(t: Translation, operand: Constant | Value) -> Any:
    """Return the dtype of an operand, or its type in Python where the other operand decides."""
    if t.mode == "numpy" and isinstance(operand, Constant) and operand.weak is not None:
        return operand.weak
    return dtype_of(t, operand)


def in_order(
    t: Translation, operands: list[Constant | Value], made: Callable[[list[Constant | Value]], Value]
) -> Value:
    """Return a combination of operands, which are evaluated from the left to the right where that matters.

    C++ may evaluate them in any order.
    """
    moving = [one for one in operands if isinstance(one, Value) and not one.stable and isinstance(one.type, Scalar)]
    if len(moving) < 2 or not any(one.impure for one in moving):
        return made(operands)
    names = {id(one): t.names.new("operand") for one in moving}
    declared = "".join(f"const {ctype_of(one.type)} {names[id(one)]} = {one.code}; " for one in moving)
    found = made(
        [Value(names[id(one)], one.type) if id(one) in names else one for one in operands]  # type: ignore[union-attr]
    )
    code = f"[&] {{ {declared}return {found.code}; }}()"
    return replace(found, code=code, level=PRIMARY, stable=False, impure=True, parts=None)


def as_stored(t: Translation, value: Operand, dtype: np.dtype[Any], node: ast.AST, what: str = "") -> Value:
    """Return a number as it is written to memory of a dtype."""
    number = as_number(t, value, node, what)
    before = f"{what}: " if what else ""
    given = number.dtype
    if not can_store(given, dtype):
        raise t.error(
            node,
            f"{before}{given} can't be stored as {dtype}, which would lose a part of it; convert it, "
            f"numpy.{dtype}(...){', or take .real' if given.kind == 'c' else ''}.",
        )
    if isinstance(value, Constant):
        try:
            return as_value(value, dtype)
        except OutOfRangeError as error:
            raise t.error(node, f"{before}{error}.") from None
    if "c" in (given.kind, dtype.kind) or np.float16 in (given, dtype):
        return cast(number, dtype)
    return number


def fixed(t: Translation, value: Value, name: str, node: ast.AST) -> Value:
    """Return a value that does not change in a loop: itself, if it is a literal, or a constant of C++."""
    if re.fullmatch(r"-?\d+\w*", value.code):
        return value
    cname = t.names.new(name)
    t.emit(f"const {value.type.ctype} {cname} = {value.code};", node)  # type: ignore[attr-defined]
    return Value(cname, value.type)
