"""Loops: ``while``, and ``for`` over a range."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.assignments import assign_variable
from cunumpy.kernels._rawkernel.conditions import condition_of
from cunumpy.kernels._rawkernel.function_source import describe
from cunumpy.kernels._rawkernel.operands import as_integer, dtype_of, fixed, known_value
from cunumpy.kernels._rawkernel.operators import as_value
from cunumpy.kernels._rawkernel.scopes import names_in, stored_in
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, INT32, INT64, Scalar
from cunumpy.kernels._rawkernel.values import SHIFT, Constant, Value, Variable, cast, literal


def while_statement(t: Translation, node: ast.While) -> None:
    """Translate a loop with a condition."""
    if node.orelse:
        t.refuse(node.orelse[0], "a loop of a kernel has no else; use a variable that says how it ended")
    t.conditional += 1
    condition = condition_of(t, node.test)
    t.conditional -= 1
    if isinstance(condition, Constant):
        if not condition.value:
            return
        condition = literal(True, BOOL)
    t.emit(f"while ({condition.code}) {{", node)
    t.indented(node.body, id(node))
    t.emit("}")


def for_statement(t: Translation, node: ast.For) -> None:
    """Translate a loop over ``range`` or ``jit.range``."""
    if node.orelse:
        t.refuse(node.orelse[0], "a loop of a kernel has no else; use a variable that says how it ended")
    if not isinstance(node.target, ast.Name):
        t.refuse(node.target, "a loop of a kernel has one variable: for i in range(...)")
    function = t.expression(node.iter.func) if isinstance(node.iter, ast.Call) else None
    known = function.value if isinstance(function, Constant) else None
    if not isinstance(node.iter, ast.Call) or (known is not range and known is not jit.range_):
        t.refuse(node.iter, "loops of a kernel are over range(...), or jit.range(..., unroll=...)")
    _for_range(t, node, node.target.id, node.iter, known is jit.range_)


def _for_range(t: Translation, node: ast.For, name: str, call: ast.Call, unrolls: bool) -> None:
    function = "jit.range" if unrolls else "range"
    unroll: Any = None
    for word in call.keywords:
        if not unrolls or word.arg != "unroll":
            if word.arg is None:
                t.refuse(call, f"{function}: arguments are written out one by one in a kernel")
            raise t.error(call, f"{function} takes no keyword {word.arg!r}; jit.range has unroll=, and no other.")
        unroll = known_value(t, word.value, "jit.range: argument 'unroll'")
        if unroll is not None and (
            not isinstance(unroll, (bool, np.bool_, int, np.integer)) or not 0 <= unroll < 2**31
        ):
            raise t.error(
                word.value,
                f"jit.range: argument 'unroll' must be True, False, or how many times, got {describe(unroll)}.",
            )
    if not 1 <= len(call.args) <= 3:
        raise t.error(call, f"{function} takes 1 to 3 arguments, got {len(call.args)}.")
    parameters = ("stop",) if len(call.args) == 1 else ("start", "stop", "step")
    operands = [
        as_integer(t, one, f"{function}: argument {parameter!r}")
        for parameter, one in zip(parameters, call.args, strict=False)
    ]
    if len(operands) == 1:
        operands = [Constant(0), *operands]
    start, stop = operands[:2]
    step: Constant | Value = operands[2] if len(operands) == 3 else Constant(1)
    if isinstance(step, Constant) and step.value == 0:
        raise t.error(call, f"{function}: argument 'step' must not be 0.", ValueError)
    upward: bool | None = None
    if isinstance(step, Constant):
        upward = step.value > 0
    elif step.dtype.kind == "u":
        upward = True
    dtype = _loop_dtype(t, start, stop, upward)
    kind = Scalar(dtype)
    inside = stored_in(node.body)
    uses = t.uses[name]
    known = t.variables.get(name)
    local = known is None and uses.in_loops_only and name not in inside
    after_start = call.args if len(call.args) == 1 else call.args[1:]
    plain = local and not (names_in(*after_start) & inside)
    plain = plain and all(isinstance(one, Constant) or (one.stable and not one.impure) for one in (stop, step))
    if unroll:
        t.emit("#pragma unroll" + ("" if isinstance(unroll, (bool, np.bool_)) else f" {int(unroll)}"), node)
    first = as_value(start, dtype) if isinstance(start, Constant) else start
    if not plain:
        if first.impure or not first.stable:
            first = fixed(t, cast(first, dtype), f"{name}_start", node)
        stop = fixed(t, as_value(stop, dtype), f"{name}_stop", node)
        if isinstance(step, Value):
            step = fixed(t, cast(step, INT64 if dtype == INT64 else step.dtype), f"{name}_step", node)
    if plain:
        cname = t.names.new(name)
        t.variables[name] = Variable(name, cname, node, Value(cname, kind))
    else:
        cname = t.names.new(f"next_{name}")
    limit = stop if isinstance(stop, Constant) else cast(stop, dtype)
    end = as_value(limit, dtype)
    step_code = as_value(step, INT32).code if isinstance(step, Constant) else step.code
    if upward is None:
        assert isinstance(step, Value)
        sign, limit_code = step.at(SHIFT), end.at(SHIFT)
        test = f"{sign} > 0 ? {cname} < {limit_code} : {sign} < 0 && {cname} > {limit_code}"
    else:
        test = f"{cname} {'<' if upward else '>'} {end.at(SHIFT)}"
    if isinstance(step, Constant) and step.value in (1, -1):
        change = f"{'++' if step.value == 1 else '--'}{cname}"
    elif isinstance(step, Constant) and step.value < 0:
        change = f"{cname} -= {-step.value}"
    else:
        change = f"{cname} += {step_code}"
    number = None if unroll else node
    t.emit(f"for ({kind.ctype} {cname} = {first.code}; {test}; {change}) {{", number)
    if not plain:
        t.depth += 1
        before = t.path
        t.path = (*t.path, id(node))
        assign_variable(t, name, Value(cname, kind), node, in_place=local)
        t.path = before
        t.depth -= 1
    t.indented(node.body, id(node))
    t.emit("}")
    if local:
        t.names.release(t.variables.pop(name).cname)
    if not plain:
        t.names.release(cname)


def _loop_dtype(t: Translation, start: Any, stop: Any, upward: bool | None) -> np.dtype[Any]:
    if t.mode == "numpy":
        return INT64
    found = dtype_of(t, stop)
    if dtype_of(t, start).itemsize > found.itemsize:
        found = dtype_of(t, start)
    if found.itemsize < 4:
        return INT32
    return INT64 if found.kind == "u" and not upward else found
