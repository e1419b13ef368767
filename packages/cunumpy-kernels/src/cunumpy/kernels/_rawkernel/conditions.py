"""Conditions: what is true, and ``and``, ``or`` and ``not``."""

from __future__ import annotations

import ast

import numpy as np

from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.operands import as_number, described
from cunumpy.kernels._rawkernel.operators import truth, unary
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, Scalar
from cunumpy.kernels._rawkernel.values import AND, OR, Constant, Operand, Several, Value, literal


def condition_of(t: Translation, node: ast.expr) -> Constant | Value:
    """Return a condition: a bool of C++, or True or False where it is known."""
    operand = boolean(t, node) if isinstance(node, (ast.BoolOp, ast.UnaryOp)) else t.expression(node)
    return _as_condition(t, operand, node)


def _as_condition(t: Translation, operand: Operand, node: ast.expr) -> Constant | Value:
    if isinstance(operand, Constant):
        if isinstance(operand.value, (np.ndarray, jit.Primitive)):
            raise t.error(node, f"a condition is needed here, got {described(operand)}.")
        return Constant(bool(operand.value))
    if isinstance(operand, Several):
        return Constant(bool(operand.items))
    return truth(as_number(t, operand, node))


def boolean(t: Translation, node: ast.expr) -> Operand:
    """Return ``and``, ``or`` and ``not`` of conditions."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = condition_of(t, node.operand)
        return Constant(not inner.value) if isinstance(inner, Constant) else unary("not", inner, t.mode)
    if not isinstance(node, ast.BoolOp):
        return t.expression(node)
    both = isinstance(node.op, ast.And)
    parts: list[Value] = []
    for place, one in enumerate(node.values):
        t.conditional += place > 0
        part = condition_of(t, one)
        t.conditional -= place > 0
        if isinstance(part, Constant):
            if part.value is both:
                continue
            if not parts:
                return Constant(not both)
            parts.append(literal(not both, BOOL))
            break
        parts.append(part)
    if not parts:
        return Constant(both)
    if len(parts) == 1:
        return parts[0]
    level, sign = (AND, "&&") if both else (OR, "||")
    return Value(
        f" {sign} ".join(
            one.at(level) if both else (f"({one.code})" if one.level == AND else one.at(level)) for one in parts
        ),
        Scalar(BOOL),
        level,
        all(one.stable for one in parts),
        any(one.impure for one in parts),
    )


def and_or(t: Translation, node: ast.BoolOp) -> Operand:
    """Return ``a and b`` or ``a or b``, of conditions only."""
    for place, one in enumerate(node.values):
        t.conditional += place > 0
        operand = t.expression(one)
        t.conditional -= place > 0
        if isinstance(operand, Constant):
            if not isinstance(operand.value, (bool, np.bool_)):
                break
        elif not isinstance(operand, Value) or operand.type != Scalar(BOOL):
            break
    else:
        return boolean(t, node)
    word = "and" if isinstance(node.op, ast.And) else "or"
    raise t.error(
        node,
        f"`{word}` of numbers gives one of them in Python, and True or False in CUDA; compare them with 0 for a "
        "bool, or write `a if a != 0 else b`.",
    )
