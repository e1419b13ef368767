"""Expressions of operators, numbers and tuples."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import Any

from cunumpy.kernels._rawkernel.conditions import boolean, condition_of
from cunumpy.kernels._rawkernel.operands import as_number, as_numeric, dtype_of, evaluated, operation, type_in_operation
from cunumpy.kernels._rawkernel.operators import PYTHON, SIGNS, OutOfRangeError, as_value, unary
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, NoLoopError, Scalar, binary_types
from cunumpy.kernels._rawkernel.values import AND, CONDITIONAL, OR, Constant, Operand, Several, Value

_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}


def unary_operation(t: Translation, node: ast.UnaryOp) -> Operand:
    """Return ``-a``, ``+a``, ``~a`` or ``not a``."""
    name = _UNARY[type(node.op)]
    if name == "not":
        return boolean(t, node)
    operand = t.expression(node.operand)
    if isinstance(operand, Constant):
        return evaluated(t, {"-": lambda a: -a, "+": lambda a: +a, "~": lambda a: ~a}[name], (operand.value,), node)
    value = as_number(t, operand, node)
    try:
        return unary(name, value, t.mode)
    except NoLoopError:
        raise t.error(node, f"there is no {name}x for x of type {value.type}.") from None


def binary_operation(t: Translation, node: ast.BinOp) -> Operand:
    """Return ``a + b`` and the like."""
    if type(node.op) not in SIGNS:
        t.refuse(node, "matrices can't be multiplied in a kernel; write the loops over their elements")
    left, right = t.expression(node.left), t.expression(node.right)
    name = SIGNS[type(node.op)]
    if isinstance(left, Constant) and isinstance(right, Constant):
        return evaluated(t, PYTHON[name], (left.value, right.value), node)
    return operation(t, name, left, right, node)


def comparison(t: Translation, node: ast.Compare) -> Operand:
    """Return ``a < b``, or a chain, ``a < b <= c``."""
    operands = [t.expression(one) for one in (node.left, *node.comparators)]
    parts: list[Operand] = []
    for sign, (left, right) in zip(node.ops, itertools.pairwise(operands), strict=True):
        if isinstance(left, Constant) and isinstance(right, Constant):
            ways: dict[type, Callable[..., Any]] = {
                ast.Is: lambda a, b: a is b,
                ast.IsNot: lambda a, b: a is not b,
                ast.In: lambda a, b: a in b,
                ast.NotIn: lambda a, b: a not in b,
            }
            function = ways.get(type(sign)) or PYTHON[SIGNS[type(sign)]]
            parts.append(evaluated(t, function, (left.value, right.value), node))
            continue
        if type(sign) not in SIGNS:
            t.refuse(node, "`is` and `in` are not there for numbers of a kernel; use == and comparisons")
        parts.append(operation(t, SIGNS[type(sign)], left, right, node))
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(one, Value) and one.impure for one in operands[1:-1]):
        t.refuse(node, "the middle of a chained comparison would be called twice; assign it to a variable first")
    found: list[Value] = []
    for part in parts:
        if isinstance(part, Constant):
            if not part.value:
                return Constant(False)
            continue
        assert isinstance(part, Value)
        found.append(part)
    if not found:
        return Constant(True)
    if len(found) == 1:
        return found[0]
    stable, impure = all(one.stable for one in found), any(one.impure for one in found)
    return Value(" && ".join(one.at(AND) for one in found), Scalar(BOOL), AND, stable, impure)


def conditional_expression(t: Translation, node: ast.IfExp) -> Operand:
    """Return ``a if condition else b``."""
    condition = condition_of(t, node.test)
    if isinstance(condition, Constant):
        return t.expression(node.body if condition.value else node.orelse)
    t.conditional += 1
    one, other = (as_numeric(t, t.expression(part), part) for part in (node.body, node.orelse))
    t.conditional -= 1
    types = [type_in_operation(t, operand) for operand in (one, other)]
    if all(isinstance(kind, type) for kind in types):
        types = [dtype_of(t, operand) for operand in (one, other)]
    try:
        first, _, _ = binary_types("maximum", types[0], types[1], t.mode)
        a, b = (as_value(operand, first, wraps=t.mode == "cuda") for operand in (one, other))
    except (NoLoopError, OutOfRangeError):
        raise t.error(node, f"{types[0]} and {types[1]} have no common type; convert one of them.") from None
    return Value(
        f"{condition.at(OR)} ? {a.at(CONDITIONAL)} : {b.at(CONDITIONAL)}",
        Scalar(first),
        CONDITIONAL,
        condition.stable and a.stable and b.stable,
        condition.impure or a.impure or b.impure,
    )


def constant(t: Translation, node: ast.Constant) -> Operand:
    """Return what is written in the source."""
    return Constant(node.value)


def tuple_display(t: Translation, node: ast.Tuple) -> Operand:
    """Return ``a, b``."""
    items = tuple(t.expression(one) for one in node.elts)
    if all(isinstance(one, Constant) for one in items):
        return Constant(tuple(one.value for one in items if isinstance(one, Constant)))
    return Several(items)
