"""Atomic functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from cunumpy.kernels._rawkernel.call_conventions import argument, bound
from cunumpy.kernels._rawkernel.elements import as_index, element_of
from cunumpy.kernels._rawkernel.operands import as_stored, described
from cunumpy.kernels._rawkernel.operators import cast_if
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import UINT64, Scalar
from cunumpy.kernels._rawkernel.values import PRIMARY, UNARY, Constant, Operand, Several, Value, cast, is_array

_DTYPES = {
    "add": "int32 uint32 int64 uint64 float16 float32 float64",
    "sub": "int32 uint32 int64 uint64 float32 float64",
    "exch": "int32 uint32 int64 uint64 float32",
    "min": "int32 uint32 int64 uint64",
    "max": "int32 uint32 int64 uint64",
    "inc": "uint32",
    "dec": "uint32",
    "cas": "int32 uint32 int64 uint64",
    "and": "int32 uint32 int64 uint64",
    "or": "int32 uint32 int64 uint64",
    "xor": "int32 uint32 int64 uint64",
}
"""On which dtypes CUDA has the atomic functions; int64 is done as the bits of uint64 where it has only these."""


def _atomic(name: str) -> Callable[[Translation, ast.Call], Operand]:
    function = f"atomic{'CAS' if name == 'cas' else name.capitalize()}"

    def handler(t: Translation, node: ast.Call) -> Operand:
        words = "array index value alt_value" if name == "cas" else "array index value ? alt_value"
        given = bound(t, node, f"jit.atomic_{name}", words)
        array = t.expression(argument(given, "array"))
        if not isinstance(array, Value) or not is_array(array):
            raise t.error(node, f"jit.atomic_{name} takes an array, an index and a value, got {described(array)}.")
        place = argument(given, "index")
        operand = t.expression(place)
        items: list[Operand] = [operand]
        if isinstance(operand, Several):
            items = list(operand.items)
        elif isinstance(operand, Constant) and isinstance(operand.value, tuple):
            items = [Constant(one) for one in operand.value]
        element = element_of(t, array, [as_index(t, one, place) for one in items], place)
        if not isinstance(element.type, Scalar):
            raise t.error(node, f"jit.atomic_{name} takes one element; give an index for each dimension.")
        dtype = element.dtype
        if dtype.name not in _DTYPES[name].split():
            raise t.error(
                node,
                f"jit.atomic_{name} is not there for {dtype}; CUDA has it for {', '.join(_DTYPES[name].split())}.",
            )
        if element.memory is not None:
            element.memory.write()
        values = [
            cast(as_stored(t, t.expression(one), dtype, node), dtype)
            for one in (given["value"], given["alt_value"])
            if one is not None
        ]
        called, address = function, f"&{element.code}"
        bits = dtype.name == "int64" and name not in ("min", "max")
        if bits:
            address = f"(unsigned long long*){address}"
            values = [cast(one, UINT64) for one in values]
        if name == "sub" and dtype.name not in ("int32", "uint32"):
            called = "atomicAdd"
            values = [replace(one, code=f"-{one.at(UNARY)}", level=UNARY) for one in values]
        code = f"{called}({', '.join([address, *(one.code for one in values)])})"
        return cast_if(Value(code, Scalar(UINT64) if bits else element.type, PRIMARY, False, True), dtype)

    return handler


FUNCTIONS: dict[str, Callable[[Translation, ast.Call], Operand]] = {f"atomic_{name}": _atomic(name) for name in _DTYPES}
