"""Functions of numbers: NumPy's, Python's, those of the module ``math``, and conversions."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel.call_conventions import Arguments
from cunumpy.kernels._rawkernel.operands import (
    as_number,
    as_numeric,
    described,
    dtype_of,
    evaluated,
    in_order,
    operation,
    type_in_operation,
)
from cunumpy.kernels._rawkernel.operators import (
    AS_OPERATORS,
    KNOWN,
    OF_MATH,
    cast_if,
    function_of_one,
    function_of_two,
    truth,
)
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, Array, NoLoopError, Shared, native
from cunumpy.kernels._rawkernel.values import Constant, Operand, Several, Value, extent


def numpy_name(known: Any) -> str | None:
    """Return the name of a function in NumPy that kernels have."""
    if isinstance(known, np.ufunc) or (type(known).__name__ == "ufunc" and type(known).__module__.startswith("cupy")):
        name = str(known.__name__)
        name = {"cupy_" + one: one for one in ("sqrt",)}.get(name, name).removeprefix("cupy_")
        return name if name in KNOWN else None
    module, name = getattr(known, "__module__", None), getattr(known, "__name__", "")
    if module == "math" or known is math:
        return OF_MATH.get(name)
    if module == "cupyx" and name == "rsqrt":
        return name
    return None


def is_conversion(known: Any) -> bool:
    """Tell whether what is called is a type of numbers."""
    return isinstance(known, type) and (known in (bool, int, float, complex) or issubclass(known, np.generic))


def conversion(t: Translation, known: Any, operands: list[Operand], node: ast.Call) -> Value:
    """Return a number, converted to a type."""
    dtype = native(known)
    if dtype is None:
        raise t.error(node, f"kernels have no type {known.__name__}.")
    if len(operands) != 1 or node.keywords:
        raise t.error(node, f"the conversion to {known.__name__} takes one number.")
    number = as_number(t, operands[0], node)
    if number.dtype.kind == "c" and dtype.kind not in "cb":
        raise t.error(node, f"a complex number can't be converted to {dtype}; take .real or .imag.")
    if dtype == BOOL:
        number = truth(number)
    return cast_if(number, dtype)


def function_of_numbers(t: Translation, name: str, operands: list[Operand], node: ast.Call) -> Value:
    """Return a function of NumPy of one or two numbers."""
    if node.keywords:
        raise t.error(node, f"numpy.{name} takes no keywords in a kernel.")
    numbers = [as_numeric(t, one, node) for one in operands]
    two = {"minimum", "maximum", "fmin", "fmax", "arctan2", "hypot", "copysign", "nextafter", "fmod"}
    two |= {"logical_and", "logical_or", "logical_xor", *AS_OPERATORS} - {
        "negative",
        "positive",
        "invert",
        "bitwise_invert",
        "logical_not",
    }
    wanted = 2 if name in two else 1
    if len(numbers) != wanted:
        raise t.error(node, f"numpy.{name} takes {wanted} number(s) in a kernel, got {len(numbers)}.")
    try:
        if wanted == 1:
            given = type_in_operation(t, numbers[0])
            return function_of_one(name, as_number(t, numbers[0], node), given, t.mode)
        if name in AS_OPERATORS:
            return operation(t, AS_OPERATORS[name], numbers[0], numbers[1], node)
        types = (type_in_operation(t, numbers[0]), type_in_operation(t, numbers[1]))
        return in_order(t, numbers, lambda both: function_of_two(name, both[0], both[1], t.mode, types))
    except NoLoopError:
        shown = " and ".join(str(dtype_of(t, one)) for one in numbers)
        raise t.error(node, f"there is no numpy.{name} for {shown}.") from None


def _least_or_greatest(name: str) -> Callable[[Translation, ast.Call], Operand]:
    def handler(t: Translation, node: ast.Call) -> Operand:
        operands = [t.expression(one) for one in node.args]
        if len(operands) == 1 and isinstance(operands[0], Several):
            operands = list(operands[0].items)
        if len(operands) < 2 or node.keywords:
            raise t.error(node, f"{name[:3]} takes two or more numbers in a kernel.")
        if all(isinstance(one, Constant) for one in operands):
            function = min if name == "minimum" else max
            return evaluated(t, function, tuple(one.value for one in operands if isinstance(one, Constant)), node)
        found = operands[0]
        for one in operands[1:]:
            found = operation(t, name, found, one, node)
        return found

    return handler


def _len(t: Translation, node: ast.Call) -> Operand:
    of = Arguments(t, node, "len", "x").value("x")
    if isinstance(of, Constant):
        return evaluated(t, len, (of.value,), node)
    if isinstance(of, Several):
        return Constant(len(of.items))
    if isinstance(of, Value) and isinstance(of.type, Array) and of.type.ndim:
        return extent(of, 0)
    if isinstance(of, Value) and isinstance(of.type, Shared) and of.type.size is not None:
        return Constant(of.type.size)
    raise t.error(node, f"len() of {described(of)} is not known.")


def _abs(t: Translation, node: ast.Call) -> Operand:
    of = Arguments(t, node, "abs", "x").value("x")
    if isinstance(of, Constant):
        return evaluated(t, abs, (of.value,), node)
    return function_of_numbers(t, "absolute", [of], ast.copy_location(ast.Call(node.func, node.args, []), node))


def _pow(t: Translation, node: ast.Call) -> Operand:
    arguments = Arguments(t, node, "pow", "base exp")
    one, other = arguments.value("base"), arguments.value("exp")
    if isinstance(one, Constant) and isinstance(other, Constant):
        return evaluated(t, pow, (one.value, other.value), node)
    return operation(t, "**", one, other, node)


def _divmod(t: Translation, node: ast.Call) -> Operand:
    arguments = Arguments(t, node, "divmod", "a b")
    one, other = arguments.value("a"), arguments.value("b")
    if isinstance(one, Constant) and isinstance(other, Constant):
        return evaluated(t, divmod, (one.value, other.value), node)
    for operand in (one, other):
        if isinstance(operand, Value) and operand.impure:
            t.refuse(node, "divmod would call this twice; assign it to a variable first")
    return Several((operation(t, "//", one, other, node), operation(t, "%", one, other, node)))


def _print(t: Translation, node: ast.Call) -> Operand:
    t.refuse(node, "print is not there in kernels; write values to an array, and print this")


OF_PYTHON: dict[Any, Callable[[Translation, ast.Call], Operand]] = {
    min: _least_or_greatest("minimum"),
    max: _least_or_greatest("maximum"),
    len: _len,
    abs: _abs,
    pow: _pow,
    divmod: _divmod,
    print: _print,
}
"""Functions of Python that kernels have."""
