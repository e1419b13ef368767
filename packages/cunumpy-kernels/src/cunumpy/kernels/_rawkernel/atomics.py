"""Atomic functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from cunumpy.kernels._rawkernel.call_conventions import Arguments
from cunumpy.kernels._rawkernel.elements import as_index, element_of
from cunumpy.kernels._rawkernel.operands import as_stored, described
from cunumpy.kernels._rawkernel.operators import cast_if
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import UINT64, Array, Scalar, Shared
from cunumpy.kernels._rawkernel.values import PRIMARY, UNARY, Constant, Operand, Several, Value, cast

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
        words = ("value", "alt_value") if name == "cas" else ("value",)
        arguments = Arguments(t, node, f"jit.atomic_{name}", f"array index {' '.join(words)}")
        array = arguments.value("array")
        if not isinstance(array, Value) or not isinstance(array.type, (Array, Shared)):
            raise arguments.error("array", f"must be an array or shared memory, got {described(array)}.")
        operand = arguments.value("index")
        items: list[Operand] = [operand]
        if isinstance(operand, Several):
            items = list(operand.items)
        elif isinstance(operand, Constant) and isinstance(operand.value, tuple):
            items = [Constant(one) for one in operand.value]
        ndim = array.type.ndim if isinstance(array.type, Array) else 1
        if len(items) != ndim and ndim:
            raise arguments.error(
                "index", f"must have {ndim} item(s), one for each dimension of the array, got {len(items)}."
            )
        indices = [as_index(t, one, arguments["index"], arguments.what("index")) for one in items]
        element = element_of(t, array, indices, arguments["index"])
        if not isinstance(element.type, Scalar):
            raise arguments.error("array", f"must have numbers, got {described(array)}.")
        dtype = element.dtype
        listed = _DTYPES[name].split()
        if dtype.name not in listed:
            raise arguments.error(
                "array", f"must have one of the types that CUDA has it for, {', '.join(listed)}; got {dtype}."
            )
        if element.memory is not None:
            element.memory.write()
        values = [
            cast(as_stored(t, arguments.value(word), dtype, arguments[word], arguments.what(word)), dtype)
            for word in words
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
