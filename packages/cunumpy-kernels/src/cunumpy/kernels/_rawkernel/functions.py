"""One function: its parameters, its results, and its text in C++."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from cunumpy.kernels._rawkernel.function_source import FunctionSource
from cunumpy.kernels._rawkernel.layout import Line, laid_out
from cunumpy.kernels._rawkernel.operands import as_number
from cunumpy.kernels._rawkernel.program import Program
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import Array, Dim3, Type
from cunumpy.kernels._rawkernel.values import Constant, Several, Value, Variable, ctype_of, is_array


def translate_function(
    program: Program, source: FunctionSource, cname: str, given: Sequence[Any], *, device: bool
) -> Translation:
    """Translate a function, and add it to the program.

    Parameters
    ----------
    program : Program
    source : FunctionSource
    cname : str
        In C++.
    given : sequence
        What stands for its parameters: types for a kernel, operands for a device function.
    device : bool
        It is a device function.

    Raises
    ------
    TranslationError
        Something in it is no part of kernels.
    """
    t = Translation(program, source, cname, device=device)
    tree = source.tree
    _declare_parameters(t, given)
    t.block(tree.body)
    if device and t.result is not None and not _always_returns(tree.body) and not t.ended:
        raise t.error(tree.body[-1], f"{tree.name!r} returns a value, but can end here without; return one.")
    program.functions.append(_text_of(t))
    return t


def _declare_parameters(t: Translation, given: Sequence[Any]) -> None:
    tree = t.source.tree
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise t.error(tree, "parameters of a kernel have no defaults, and are no *args, **kwargs or keywords.")
    parameters = [*arguments.posonlyargs, *arguments.args]
    if len(parameters) != len(given):
        names = ", ".join(one.arg for one in parameters)
        raise t.error(tree, f"{tree.name!r} takes {len(parameters)} arguments ({names}), got {len(given)}.", TypeError)
    for parameter, one in zip(parameters, given, strict=True):
        if isinstance(one, (Constant, Several)):  # of a device function: known when it is translated
            t.variables[parameter.arg] = Variable(parameter.arg, "", parameter, one, parameter=True)
            t.parameter_memories.append(None)
            continue
        kind: Type = one.type if isinstance(one, Value) else one
        name = t.names.new(parameter.arg)
        memory = t.program.memory() if isinstance(kind, Array) else None
        t.parameter_memories.append(memory)
        t.declared.append(f"{ctype_of(kind, memory)} {name}")
        value = Value(name, kind, memory=memory)
        t.variables[parameter.arg] = Variable(parameter.arg, name, parameter, value, parameter=True, memory=memory)


def return_statement(t: Translation, node: ast.Return) -> None:
    """Return from the function: a device function with a number or a tuple of numbers."""
    value = Constant(None) if node.value is None else t.expression(node.value)
    if isinstance(value, Constant) and isinstance(value.value, tuple):
        value = Several(tuple(map(Constant, value.value)))
    if isinstance(value, Constant) and value.value is None:
        _set_result(t, None, node)
        t.emit("return;", node)
    elif not t.device:
        raise t.error(node, "a kernel returns nothing; write results to an array.", ValueError)
    elif isinstance(value, Several):
        items = [as_number(t, one, node) for one in value.items]
        _set_result(t, tuple(one.type for one in items), node)
        listed = ", ".join(one.code for one in items)
        t.emit(f"return {_result_ctype(t)}{{{listed}}};", node)
    else:
        if is_array(value):
            raise t.error(node, "a device function returns numbers and tuples of them, no arrays; return an index.")
        one = value if isinstance(value, Value) and isinstance(value.type, Dim3) else as_number(t, value, node)
        _set_result(t, one.type, node)
        t.emit(f"return {one.code};", node)
    t.ended = True


def _set_result(t: Translation, kind: Type | tuple[Type, ...] | None, node: ast.AST) -> None:
    if t.result_node is None:
        t.result, t.result_node = kind, node
    elif t.result != kind:

        def shown(one: Any) -> str:
            return f"({', '.join(map(str, one))})" if isinstance(one, tuple) else "nothing" if one is None else str(one)

        raise t.error(
            node,
            f"{t.source.tree.name!r} returns {shown(kind)} here and {shown(t.result)} before; return the "
            "same type everywhere, by a conversion such as numpy.float64(...).",
            TypeError,
            ((t.result_node, "before:"),),
        )


def _result_ctype(t: Translation) -> str:
    if t.result is None:
        return "void"
    return f"{t.cname}_result" if isinstance(t.result, tuple) else ctype_of(t.result)


def _text_of(t: Translation) -> str:
    """Return the function in C++."""
    tree = t.source.tree
    if t.device:
        head, kind = "static __device__", _result_ctype(t)
    else:
        head, kind = 'extern "C" __global__', "void"
    lines = [Line(f"{head} {kind} {t.cname}({', '.join(t.declared)}) {{", 0, tree.lineno)]
    lines += [Line(f"{kind_of} {name};", 1, None) for kind_of, name in t.hoisted]
    lines += [*t.lines, Line("}", 0, None)]
    before = ""
    if t.device and isinstance(t.result, tuple):
        members = " ".join(f"{ctype_of(one)} _{number};" for number, one in enumerate(t.result))
        before = f"struct {kind} {{ {members} }};\n"
    return before + laid_out(lines, t.source.file)


def _always_returns(statements: list[ast.stmt]) -> bool:
    """Tell whether a block can't be left at its end."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.Return):
        return True
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    endless = isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and bool(last.test.value)
    return endless and not any(isinstance(node, ast.Break) for one in last.body for node in ast.walk(one))  # type: ignore[attr-defined]
