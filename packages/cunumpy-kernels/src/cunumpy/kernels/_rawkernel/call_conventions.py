"""How functions are called: arguments by names, and results that are none, one or several."""

from __future__ import annotations

import ast

from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, Scalar
from cunumpy.kernels._rawkernel.values import Constant, Operand, Value

VOID = Scalar(BOOL)
"""The type of what has no value: it is never asked for."""


def bound(t: Translation, node: ast.Call, name: str, signature: str) -> dict[str, ast.expr | None]:
    """Return the arguments of a call by the names of parameters; those without a default have to be given.

    Parameters
    ----------
    t : Translation
    node : ast.Call
    name : str
    signature : str
        ``"a b ? c * d"``: what follows ``?`` can be left out, what follows ``*`` is a keyword.
    """
    words = signature.split()
    names = [word for word in words if word not in "?*"]
    optional = set(words[words.index("?") + 1 :] if "?" in words else ())
    if "*" in words:
        optional |= set(words[words.index("*") + 1 :])
    positional = [word for word in (words[: words.index("*")] if "*" in words else words) if word != "?"]
    found: dict[str, ast.expr | None] = dict.fromkeys(names)
    if len(node.args) > len(positional):
        raise t.error(
            node, f"{name} takes {len(positional)} arguments ({', '.join(positional)}), got {len(node.args)}."
        )
    found.update(zip(positional, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in found or found[keyword.arg] is not None:
            raise t.error(
                node, f"{name} has no argument {keyword.arg!r}, or it is given twice; it has {', '.join(names)}."
            )
        found[keyword.arg] = keyword.value
    missing = [word for word in names if found[word] is None and word not in optional]
    if missing:
        raise t.error(node, f"{name} needs {', '.join(missing)}.")
    return found


def argument(given: dict[str, ast.expr | None], word: str) -> ast.expr:
    """Return an argument that has no default."""
    found = given[word]
    assert found is not None
    return found


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
