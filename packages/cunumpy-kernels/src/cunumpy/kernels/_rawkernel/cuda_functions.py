"""CUDA's functions: places in the grid, waiting, shared memory, and exchange within warps."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cunumpy.kernels._rawkernel.call_conventions import VOID, Arguments, hoisted_result, power_of_two, without_result
from cunumpy.kernels._rawkernel.function_source import describe
from cunumpy.kernels._rawkernel.operands import as_number
from cunumpy.kernels._rawkernel.operators import cast_if
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, INT32, UINT32, CubStorage, Scalar, Shared, native
from cunumpy.kernels._rawkernel.values import EQUALITY, PRIMARY, PRODUCT, SUM, Constant, Operand, Several, Value, cast


def _grid(t: Translation, node: ast.Call) -> Operand:
    return _along_axes(t, node, "grid", "blockIdx.{0} * blockDim.{0} + threadIdx.{0}")


def _gridsize(t: Translation, node: ast.Call) -> Operand:
    return _along_axes(t, node, "gridsize", "gridDim.{0} * blockDim.{0}")


def _along_axes(t: Translation, node: ast.Call, name: str, code: str) -> Operand:
    arguments = Arguments(t, node, f"jit.{name}", "ndim")
    ndim = arguments.known("ndim")
    if isinstance(ndim, bool) or not isinstance(ndim, (int, np.integer)):
        raise arguments.error("ndim", f"must be 1, 2 or 3, got {describe(ndim)}.", TypeError)
    if not 1 <= ndim <= 3:
        raise arguments.error("ndim", f"must be 1, 2 or 3, got {ndim}.", ValueError)
    level = SUM if name == "grid" else PRODUCT
    items = tuple(Value(code.format(axis), Scalar(UINT32), level) for axis in "xyz"[:ndim])
    return items[0] if ndim == 1 else Several(items)


def _syncthreads(t: Translation, node: ast.Call) -> Operand:
    Arguments(t, node, "jit.syncthreads")
    return without_result(t, Value("__syncthreads()", VOID), node)


def _syncwarp(t: Translation, node: ast.Call) -> Operand:
    arguments = Arguments(t, node, "jit.syncwarp", "? mask")
    code = _mask(arguments) if "mask" in arguments else ""
    return without_result(t, Value(f"__syncwarp({code})", VOID), node)


def _mask(arguments: Arguments) -> str:
    operand = arguments.integer("mask")
    if isinstance(operand, Constant):
        return f"{int(operand.value) & 0xFFFFFFFF:#x}"
    return operand.code


def _laneid(t: Translation, node: ast.Call) -> Operand:
    Arguments(t, node, "jit.laneid")
    return Value("python::lane_id()", Scalar(UINT32))


def _shared_memory(t: Translation, node: ast.Call) -> Operand:
    arguments = Arguments(t, node, "jit.shared_memory", "dtype size ? alignment")
    wanted = arguments.known("dtype")
    size = arguments.known_integer(
        "size", "a positive integer, or None for that of the launch", lambda number: 0 < number < 2**31
    )
    alignment = arguments.known_integer("alignment", "a power of 2", power_of_two)
    element: Scalar | CubStorage
    if isinstance(wanted, CubStorage):
        element = wanted
    else:
        dtype = native(wanted)
        if dtype is None:
            raise arguments.error(
                "dtype", f"must be a type of numbers, such as numpy.float32; kernels have no type {describe(wanted)}."
            )
        element = Scalar(dtype)
    if not (
        isinstance(t.statement, (ast.Assign, ast.AnnAssign))
        and t.statement.value is node
        and isinstance(getattr(t.statement, "target", None) or t.statement.targets[0], ast.Name)  # type: ignore[union-attr]
    ):
        raise t.error(node, "jit.shared_memory(...) is assigned to a variable: smem = jit.shared_memory(...).")
    align = "" if alignment is None else f"__align__({alignment}) "
    return Value(f"\1{align}", Shared(element, size))


def _shuffle(name: str) -> Callable[[Translation, ast.Call], Operand]:
    def handler(t: Translation, node: ast.Call) -> Operand:
        arguments = Arguments(t, node, f"jit.{name}", "mask var val_id * width")
        mask = _mask(arguments)
        value = arguments.number("var")
        if value.dtype.kind == "c":
            raise arguments.error("var", "must be no complex number; exchange .real and .imag.")
        lane = arguments.int32("val_id")
        rest = ""
        if "width" in arguments:
            width = arguments.int32("width", "1, 2, 4, 8, 16 or 32", {1, 2, 4, 8, 16, 32}.__contains__)
            rest = f", {cast(width, INT32).code}"
        through = INT32 if value.dtype.kind in "biu" and value.dtype.itemsize < 4 else value.dtype
        code = f"__{name}({mask}, {cast(value, through).code}, {lane.code}{rest})"
        return cast_if(Value(code, Scalar(through), PRIMARY, False, True), value.dtype)

    return handler


def _activemask(t: Translation, node: ast.Call) -> Operand:
    Arguments(t, node, "jit.activemask")
    return Value("__activemask()", Scalar(UINT32), PRIMARY, False, True)


def _bits(name: str) -> Callable[[Translation, ast.Call], Operand]:
    def handler(t: Translation, node: ast.Call) -> Operand:
        value = as_number(t, Arguments(t, node, f"jit.{name}", "value").integer("value"), node)
        wide = value.dtype.itemsize == 8
        return replace(
            value, code=f"__{name}{'ll' if wide else ''}({value.code})", level=PRIMARY, type=Scalar(INT32), parts=None
        )

    return handler


def _match(name: str) -> Callable[[Translation, ast.Call], Operand]:
    def handler(t: Translation, node: ast.Call) -> Operand:
        arguments = Arguments(t, node, f"jit.{name}", "mask value")
        mask = _mask(arguments)
        value = arguments.number("value")
        if value.dtype.kind == "c" or value.dtype.itemsize < 4:
            raise arguments.error("value", f"must be a real number of 4 or 8 bytes, got {value.dtype}; convert it.")
        if name == "match_any_sync":
            return Value(f"__match_any_sync({mask}, {value.code})", Scalar(UINT32), PRIMARY, False, True)
        t.effects = True
        code = f"python::match_all_sync({mask}, {value.code})"
        found = hoisted_result(t, "python::MatchAll", "found", code, node, effects=True)
        return Several(
            (
                Value(f"{found}.mask", Scalar(UINT32)),
                Value(f"{found}.all != 0", Scalar(BOOL), EQUALITY),
            )
        )

    return handler


FUNCTIONS: dict[str, Callable[[Translation, ast.Call], Operand]] = {
    "grid": _grid,
    "gridsize": _gridsize,
    "laneid": _laneid,
    "syncthreads": _syncthreads,
    "syncwarp": _syncwarp,
    "shared_memory": _shared_memory,
    **{name: _shuffle(name) for name in ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")},
    "activemask": _activemask,
    "popc": _bits("popc"),
    "ffs": _bits("ffs"),
    **{name: _match(name) for name in ("match_any_sync", "match_all_sync")},
}
