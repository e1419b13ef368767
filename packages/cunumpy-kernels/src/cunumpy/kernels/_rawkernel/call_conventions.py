"""How functions are called: arguments by names, and results that are none, one or several."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel.function_source import TranslationError, describe
from cunumpy.kernels._rawkernel.operands import as_integer, as_number, known_value
from cunumpy.kernels._rawkernel.operators import as_value
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, INT32, Scalar
from cunumpy.kernels._rawkernel.values import Constant, Operand, Value

VOID = Scalar(BOOL)
"""The type of what has no value: it is never asked for."""


class Arguments:
    """The arguments of a call by the names of parameters; those without a default have to be given.

    Parameters
    ----------
    t : Translation
    node : ast.Call
    function : str
        For messages.
    signature : str, optional
        ``"a b ? c * d"``: what follows ``?`` can be left out, what follows ``*`` is a keyword.

    Raises
    ------
    TranslationError
        There are too many, or too few, or one is given twice or unknown.
    """

    def __init__(self, t: Translation, node: ast.Call, function: str, signature: str = "") -> None:
        self._t, self._function = t, function
        before, _, keywords = signature.partition("*")
        needed, _, optional = before.partition("?")
        positional = [*needed.split(), *optional.split()]
        names = [*positional, *keywords.split()]
        if len(node.args) > len(positional):
            listed = f" ({', '.join(positional)})" if positional else ""
            number = "1 argument" if len(positional) == 1 else f"{len(positional)} arguments"
            raise t.error(node, f"{function} takes {number}{listed}, got {len(node.args)}; leave the others out.")
        self._nodes: dict[str, ast.expr] = dict(zip(positional, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None:
                t.refuse(node, f"{function}: arguments are written out one by one in a kernel")
            if keyword.arg not in names or keyword.arg in self._nodes:
                has = f"it has {', '.join(names)}" if names else "it has none"
                raise t.error(node, f"{function} has no argument {keyword.arg!r}, or it is given twice; {has}.")
            self._nodes[keyword.arg] = keyword.value
        missing = [name for name in needed.split() if name not in self._nodes]
        if missing:
            raise t.error(node, f"{function} needs {', '.join(missing)}; it has {', '.join(names)}.")

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def __getitem__(self, name: str) -> ast.expr:
        return self._nodes[name]

    def what(self, name: str) -> str:
        """Return what messages call an argument."""
        return f"{self._function}: argument {name!r}"

    def error(self, name: str, text: str, kind: type[Exception] = TypeError) -> TranslationError:
        """Return an error that names an argument, which `text` goes on about, and points to it."""
        return self._t.error(self._nodes[name], f"{self.what(name)} {text}", kind)

    def value(self, name: str) -> Operand:
        """Return an argument."""
        return self._t.expression(self._nodes[name])

    def known(self, name: str) -> Any:
        """Return an argument that has to be known when the kernel is translated."""
        return known_value(self._t, self._nodes[name], self.what(name))

    def number(self, name: str) -> Value:
        """Return a number."""
        return as_number(self._t, self.value(name), self._nodes[name], self.what(name))

    def integer(self, name: str) -> Constant | Value:
        """Return an integer."""
        return as_integer(self._t, self._nodes[name], self.what(name))

    def int32(self, name: str, wanted: str = "", allowed: Callable[[int], bool] = lambda number: True) -> Value:
        """Return an integer, as a literal of int32 if it is known; then it has to be one that is allowed."""
        found = self.integer(name)
        if isinstance(found, Value):
            return found
        if not allowed(found.value):
            raise self.error(name, f"must be {wanted}, got {found.value}.")
        if not -(2**31) <= found.value < 2**31:
            raise self.error(name, f"must be an integer of 32 bits, got {found.value}.")
        return as_value(found, INT32)

    def known_integer(self, name: str, wanted: str, allowed: Callable[[int], bool]) -> int | None:
        """Return an integer that has to be known when the kernel is translated, or None."""
        found = self.known(name) if name in self else None
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, (int, np.integer)) or not allowed(int(found)):
            raise self.error(name, f"must be {wanted}, got {describe(found)}.", ValueError)
        return int(found)


def power_of_two(number: int) -> bool:
    """Tell whether a number is 1, 2, 4, and so on."""
    return number > 0 and number & (number - 1) == 0


def without_result(t: Translation, value: Value, node: ast.Call) -> Operand:
    """Add a call without a result as a statement of its own."""
    if not (isinstance(t.statement, ast.Expr) and t.statement.value is node):
        raise t.error(node, "this call has no result; write it as a statement of its own.")
    t.effects = True
    t.emit(f"{value.code};", node)
    return Constant(None)


def hoisted_result(t: Translation, ctype: str, wanted: str, code: str, node: ast.AST, *, effects: bool) -> str:
    """Keep the result of a call in a constant of C++ before the statement; return its name."""
    alone = getattr(t.statement, "value", None) is node
    if t.conditional or (effects and not alone):
        raise t.error(
            node,
            "this call has several results, and has to be evaluated before the rest of the statement: assign it to "
            "variables first, a, b = f(...).",
            NotImplementedError,
        )
    name = t.names.new(wanted)
    t.emit(f"const {ctype} {name} = {code};", node)
    return name
