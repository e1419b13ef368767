"""Statements that are no assignments and no loops."""

from __future__ import annotations

import ast

from cunumpy.kernels._rawkernel.conditions import condition_of
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.values import Constant, Value


def pass_statement(t: Translation, node: ast.Pass) -> None:
    """Add nothing."""


def expression_statement(t: Translation, node: ast.Expr) -> None:
    """Add a call, for what it does."""
    if isinstance(node.value, ast.Constant):  # a docstring
        return
    value = t.expression(node.value)
    if isinstance(value, Value):
        if value.code == "":  # a call without a result that left nothing to do
            return
        t.emit(f"{value.code};", node)


def assert_statement(t: Translation, node: ast.Assert) -> None:
    """Add an assertion, which ends the kernel."""
    condition = condition_of(t, node.test)
    if isinstance(condition, Constant):
        if not condition.value:
            t.emit("assert(false);", node)
        return
    t.emit(f"assert({condition.code});", node)


def break_statement(t: Translation, node: ast.Break) -> None:
    """End the loop."""
    t.emit("break;", node)
    t.ended = True


def continue_statement(t: Translation, node: ast.Continue) -> None:
    """Go on with the next round of the loop."""
    t.emit("continue;", node)
    t.ended = True


def if_statement(t: Translation, node: ast.If) -> None:
    """Add branches, of conditions that are known only the one that is taken."""
    word = "if"
    path = id(node)
    current: ast.If = node
    while True:
        t.conditional += word != "if"
        condition = condition_of(t, current.test)
        t.conditional -= word != "if"
        if isinstance(condition, Constant):
            taken = current.body if condition.value else current.orelse
            if word == "if":
                _inlined(t, taken)
                return
            if taken:
                t.emit("} else {")
                t.indented(taken, path)
            t.emit("}")
            return
        if word == "if":
            t.emit(f"if ({condition.code}) {{", current)
        else:
            t.emit(f"}} else if ({condition.code}) {{", current)
        t.indented(current.body, path)
        following = current.orelse
        if not following:
            t.emit("}")
            return
        if len(following) == 1 and isinstance(following[0], ast.If):
            current, word = following[0], "} else if"
            continue
        t.emit("} else {")
        t.indented(following, path)
        t.emit("}")
        return


def _inlined(t: Translation, statements: list[ast.stmt]) -> None:
    """Add the statements of a branch that is always taken."""
    before = t.path
    t.path = (*t.path, -1)  # variables that are first assigned here are declared at the start
    t.block(statements)
    t.path = before
