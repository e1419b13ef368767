"""Calls of device functions, which are translated for the arguments of each call."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel.call_conventions import VOID, hoisted_result, without_result
from cunumpy.kernels._rawkernel.function_source import TranslationError
from cunumpy.kernels._rawkernel.functions import translate_function
from cunumpy.kernels._rawkernel.operands import as_number, in_order
from cunumpy.kernels._rawkernel.python_kernel import PythonKernel
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import CubClass, CubStorage, Type
from cunumpy.kernels._rawkernel.values import PRIMARY, Constant, Operand, Several, Value


def call_device_function(t: Translation, function: PythonKernel, node: ast.Call) -> Operand:
    """Return the result of a device function, which is translated for the arguments."""
    if not function._device:
        raise t.error(
            node, f"{function.__name__!r} is a kernel, which kernels can't call; make it @jit.rawkernel(device=True)."
        )
    if node.keywords:
        raise t.error(node, f"{function.__name__!r}: arguments of device functions have no names in calls.")
    operands: list[Operand] = []
    for one in node.args:
        operand = t.expression(one)
        if isinstance(operand, Constant) and isinstance(operand.value, (bool, int, float, complex, np.generic)):
            operand = as_number(t, operand, one)
        if isinstance(operand, Value) and isinstance(operand.type, (CubClass, CubStorage)):
            raise t.error(one, f"{operand.type} can't be passed to a device function.")
        if isinstance(operand, Several):
            raise t.error(one, "tuples can't be passed to a device function; pass the items.")
        operands.append(operand)
    found = _translated(t, function, operands, node)
    given = [one for one in operands if isinstance(one, Value)]
    for operand, memory in zip(operands, found.parameter_memories, strict=True):
        if memory is not None and memory.written and isinstance(operand, Value) and operand.memory is not None:
            operand.memory.write()
    kind: Type = VOID if found.result is None or isinstance(found.result, tuple) else found.result

    def made(values: list[Any]) -> Value:
        return Value(f"{found.cname}({', '.join(one.code for one in values)})", kind, PRIMARY, False, found.effects)

    t.effects |= found.effects
    value = in_order(t, list(given), made)
    if found.result is None:
        return without_result(t, value, node)
    if isinstance(found.result, tuple):
        name = hoisted_result(t, f"{found.cname}_result", "result", value.code, node, effects=found.effects)
        return Several(tuple(Value(f"{name}._{place}", one) for place, one in enumerate(found.result)))
    return value


def _translated(t: Translation, function: PythonKernel, operands: list[Operand], node: ast.AST) -> Translation:
    """Return the translation of a device function for certain arguments."""
    program = t.program
    key = (function, *map(_key_of, operands))  # not its id: it may die
    if key in program.open:
        raise t.error(
            node,
            f"device function {function.__name__!r} calls itself, and kernels have no recursion; write a loop.",
            ValueError,
        )
    if key not in program.device_functions:
        program.open.append(key)
        cname = program.names.new(function.__name__)
        try:
            found = translate_function(program, function.function_source(), cname, operands, device=True)
        except TranslationError as error:
            raise error.called_at(t.source, node) from None
        program.open.pop()
        program.device_functions[key] = found
    return program.device_functions[key]


def _key_of(operand: Operand) -> Any:
    if isinstance(operand, Value):
        return operand.type
    if isinstance(operand, Several):
        return tuple(map(_key_of, operand.items))
    if isinstance(operand, Constant):
        return (
            _Same(operand.value) if type(operand.value) not in _NUMBERS else (type(operand.value), repr(operand.value))
        )
    return operand


_NUMBERS = (bool, int, float, complex)  # equal ones may differ: 1 and True, 0.0 and -0.0


class _Same:
    """A key that equals only keys of the same object, which it keeps alive."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
