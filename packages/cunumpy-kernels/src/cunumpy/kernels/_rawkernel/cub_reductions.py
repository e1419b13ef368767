"""CUB's reductions over warps and blocks."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.call_conventions import Arguments
from cunumpy.kernels._rawkernel.function_source import describe
from cunumpy.kernels._rawkernel.operands import described, known_value
from cunumpy.kernels._rawkernel.operators import cast_if
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import CubClass, CubStorage, Scalar, Shared, native
from cunumpy.kernels._rawkernel.values import PRIMARY, Constant, Operand, Value


def cub_class(t: Translation, primitive: jit.Primitive, node: ast.Subscript) -> CubClass:
    """Return ``cub.WarpReduce[dtype]`` or ``cub.BlockReduce[dtype, threads]``."""
    given = known_value(t, node.slice, f"jit.{primitive.name}[...]: what stands in the brackets")
    items = given if isinstance(given, tuple) else (given,)
    name = primitive.name
    dtype = native(items[0])
    if dtype is None:
        raise t.error(
            node,
            f"jit.{name}[dtype]: argument 'dtype' must be a type of numbers, such as numpy.float32; kernels have no "
            f"type {describe(items[0])}.",
        )
    sizes = items[1:]
    least, most = (0, 1) if primitive is jit.WarpReduce else (1, 3)
    if not least <= len(sizes) <= most or not all(isinstance(one, (int, np.integer)) and one > 0 for one in sizes):
        form = (
            "[dtype] or [dtype, threads]"
            if primitive is jit.WarpReduce
            else "[dtype, threads], with sizes along x, y, z"
        )
        raise t.error(node, f"jit.{name} is written jit.{name}{form}; got {describe(given)}.")
    file = "cub/warp/warp_reduce.cuh" if primitive is jit.WarpReduce else "cub/block/block_reduce.cuh"
    t.program.includes[file] = None
    return CubClass(primitive.__name__, dtype, tuple(int(one) for one in sizes))


def cub_object(t: Translation, kind: CubClass, node: ast.Call) -> Operand:
    """Return the object of a class, which is made of shared memory."""
    arguments = Arguments(t, node, f"jit.{kind}", "temp_storage")
    storage = arguments.value("temp_storage")
    if isinstance(storage, Value) and isinstance(storage.type, Shared) and storage.type.size is not None:
        storage = Value(f"{storage.code}[0]", storage.type.element)
    if not isinstance(storage, Value) or storage.type != CubStorage(kind):
        raise arguments.error(
            "temp_storage",
            "must be shared memory of its TempStorage, temp = jit.shared_memory(dtype=Class.TempStorage, size=1), as "
            f"temp[0]; got {described(storage)}.",
        )
    return Value(f"{kind.ctype}({storage.code})", kind)


def cub_method(t: Translation, of: Value, kind: CubClass, name: str, node: ast.Call) -> Operand:
    """Return what the method of an object gives."""
    if name not in ("Sum", "Reduce"):
        raise t.error(node, f"{kind} has the methods Sum and Reduce, not {name!r}.", AttributeError)
    arguments = Arguments(t, node, f"jit.{kind}.{name}", "input" if name == "Sum" else "input reduction_op")
    number = arguments.number("input")
    value = cast_if(number, kind.dtype)
    if number.dtype != kind.dtype and not np.can_cast(number.dtype, kind.dtype, "same_kind"):
        raise arguments.error(
            "input", f"must be a number of type {kind.dtype}, got {number.dtype}; convert it, numpy.{kind.dtype}(...)."
        )
    rest = ""
    if name == "Reduce":
        rest = f", {_operator(arguments)}"
    return Value(f"{of.code}.{name}({value.code}{rest})", Scalar(kind.dtype), PRIMARY, False, True)


def _operator(arguments: Arguments) -> str:
    operand = arguments.value("reduction_op")
    known = operand.value if isinstance(operand, Constant) else None
    if known in (jit.Sum, jit.Max, jit.Min) and isinstance(known, jit.Primitive):
        return f"python::{known.__name__}()"
    if isinstance(known, CubOperator):
        return f"python::{known.name}()"
    raise arguments.error(
        "reduction_op", f"must be jit.cub.Sum(), jit.cub.Max() or jit.cub.Min(), got {described(operand)}."
    )


class CubOperator:
    """An operator of ``Reduce``."""

    def __init__(self, name: str) -> None:
        self.name = name


def _operator_made(name: str) -> Callable[[Translation, ast.Call], Operand]:
    def handler(t: Translation, node: ast.Call) -> Operand:
        Arguments(t, node, f"jit.cub.{name}")
        return Constant(CubOperator(name))

    return handler


FUNCTIONS: dict[str, Callable[[Translation, ast.Call], Operand]] = {
    f"cub.{name}": _operator_made(name) for name in ("Sum", "Max", "Min")
}
