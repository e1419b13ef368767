"""Calls: which function it is that is called."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel import atomics, cooperative_groups, cub_reductions, cuda_functions
from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.call_conventions import Arguments
from cunumpy.kernels._rawkernel.cooperative_groups import group_method
from cunumpy.kernels._rawkernel.cub_reductions import cub_method, cub_object
from cunumpy.kernels._rawkernel.device_functions import call_device_function
from cunumpy.kernels._rawkernel.function_source import describe
from cunumpy.kernels._rawkernel.mathematics import OF_PYTHON, conversion, function_of_numbers, is_conversion, numpy_name
from cunumpy.kernels._rawkernel.operands import described, evaluated, known_value
from cunumpy.kernels._rawkernel.operators import KNOWN, function_of_one
from cunumpy.kernels._rawkernel.python_kernel import PythonKernel
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import CubClass, Group
from cunumpy.kernels._rawkernel.values import Constant, Method, Operand, Value

_OF_CUDA = {
    **cuda_functions.FUNCTIONS,
    **atomics.FUNCTIONS,
    **cooperative_groups.FUNCTIONS,
    **cub_reductions.FUNCTIONS,
}


def call(t: Translation, node: ast.Call) -> Operand:
    """Return the value of a call."""
    found = _called(t, node)
    t.effects |= isinstance(found, Value) and found.impure
    return found


def _called(t: Translation, node: ast.Call) -> Operand:
    function = t.expression(node.func)
    if isinstance(function, Method):
        return _method(t, function, node)
    if not isinstance(function, Constant):
        raise t.error(node, f"{described(function)} can't be called.")
    known = function.value
    if isinstance(known, jit.Primitive):
        handler = _OF_CUDA.get(known.name)
        if handler is None:
            raise t.error(node, f"jit.{known.name} is no function; see its documentation.")
        return handler(t, node)
    if isinstance(known, jit.RefusedNamespace):
        raise t.error(node, f"jit.{known.name}: {known.reason[:-1]}.", NotImplementedError)
    if isinstance(known, CubClass):
        return cub_object(t, known, node)
    if isinstance(known, PythonKernel):
        return call_device_function(t, known, node)
    if known in (range, jit.range_) if not isinstance(known, np.ndarray) else False:
        raise t.error(node, "range is there in loops only: for i in range(...).")
    python = OF_PYTHON.get(known) if _hashable(known) else None
    if python is not None:
        return python(t, node)
    name = numpy_name(known)
    operands = [t.expression(one) for one in node.args if not isinstance(one, ast.Starred)]
    if len(operands) != len(node.args):
        t.refuse(node, "arguments are written out one by one in a kernel")
    unknown = [one for one in operands if not isinstance(one, Constant)]
    if not unknown and all(word.arg for word in node.keywords):
        called = name or getattr(known, "__name__", describe(known))
        words = {
            str(word.arg): known_value(t, word.value, f"{called}: argument {word.arg!r}") for word in node.keywords
        }
        values = tuple(one.value for one in operands if isinstance(one, Constant))
        return evaluated(t, lambda: known(*values, **words), (), node)
    if is_conversion(known):
        return conversion(t, known, operands, node)
    if name is not None:
        return function_of_numbers(t, name, operands, node)
    raise t.error(node, _why_not(known))


def _method(t: Translation, method: Method, node: ast.Call) -> Operand:
    of, name = method.of, method.name
    if isinstance(of.type, Group):
        return group_method(t, of, of.type, name, node)
    if isinstance(of.type, CubClass):
        return cub_method(t, of, of.type, name, node)
    if name == "conjugate":
        Arguments(t, node, f"{described(of)}.{name}")
        return function_of_one("conjugate", of, of.dtype, t.mode)
    raise t.error(node, f"{described(method)} can't be called.")


def _why_not(known: Any) -> str:
    module = getattr(known, "__module__", None) or type(known).__module__
    name = getattr(known, "__name__", describe(known))
    if inspect.isfunction(known) and not module.startswith(("numpy", "cupy", "scipy")):
        return (
            f"{name!r} is a function of Python, which is evaluated only for arguments that are known when the kernel "
            "is translated; decorate it with @jit.rawkernel(device=True) to call it in kernels."
        )
    if module.startswith("cupyx.jit"):
        return f"{name!r} is for kernels of cupyx.jit; take that of cunumpy.kernels.jit."
    if module.split(".")[0] in ("numpy", "cupy", "scipy", "math", "cupyx"):
        return (
            f"{module}.{name} is not there in kernels, which calculate with numbers: of NumPy there are conversions, "
            f"and the functions {', '.join(sorted(KNOWN))}."
        )
    return f"{name!r} can't be called in a kernel."


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
