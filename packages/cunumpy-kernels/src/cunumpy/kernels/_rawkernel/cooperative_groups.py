"""Cooperative groups: the block, the grid, and asynchronous copies."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel.call_conventions import VOID, Arguments, power_of_two, without_result
from cunumpy.kernels._rawkernel.function_source import describe
from cunumpy.kernels._rawkernel.operands import described
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import BOOL, UINT32, UINT64, Array, Dim3, Group, Scalar, Shared
from cunumpy.kernels._rawkernel.values import PRODUCT, UNARY, Operand, Value, cast, is_array


def _this_thread_block(t: Translation, node: ast.Call) -> Operand:
    Arguments(t, node, "jit.cg.this_thread_block")
    t.program.includes["cooperative_groups.h"] = None
    return Value("cooperative_groups::this_thread_block()", Group("thread_block"))


def _this_grid(t: Translation, node: ast.Call) -> Operand:
    Arguments(t, node, "jit.cg.this_grid")
    t.program.includes["cooperative_groups.h"] = None
    t.program.cooperative = True
    return Value("cooperative_groups::this_grid()", Group("grid_group"))


def _group(arguments: Arguments) -> Value:
    group = arguments.value("group")
    if not isinstance(group, Value) or not isinstance(group.type, Group):
        raise arguments.error(
            "group",
            f"must be a cooperative group, got {described(group)}; take jit.cg.this_thread_block() or "
            "jit.cg.this_grid().",
        )
    return group


def _group_function(name: str) -> Callable[[Translation, ast.Call], Operand]:
    def handler(t: Translation, node: ast.Call) -> Operand:
        arguments = Arguments(t, node, f"jit.cg.{name}", "group step" if name == "wait_prior" else "group")
        group = _group(arguments)
        if name == "sync":
            return without_result(t, Value(f"{group.code}.sync()", VOID), node)
        t.program.includes["cooperative_groups/memcpy_async.h"] = None
        template = ""
        if name == "wait_prior":
            step = arguments.known("step")
            if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or not 0 <= step < 2**31:
                raise arguments.error("step", f"must be an integer from 0 on, got {describe(step)}.")
            template = f"<{step}>"
        return without_result(t, Value(f"cooperative_groups::{name}{template}({group.code})", VOID), node)

    return handler


def _from_0(arguments: Arguments, name: str) -> Value:
    return arguments.int32(name, "an integer from 0 on", lambda number: number >= 0)


def _memcpy_async(t: Translation, node: ast.Call) -> Operand:
    arguments = Arguments(t, node, "jit.cg.memcpy_async", "group dst dst_idx src src_idx size * aligned_size")
    group = _group(arguments)
    t.program.includes["cooperative_groups/memcpy_async.h"] = None
    places = []
    for word in ("dst", "src"):
        array = arguments.value(word)
        if (
            not isinstance(array, Value)
            or not is_array(array)
            or (isinstance(array.type, Array) and not array.type.contiguous)
        ):
            raise arguments.error(word, f"must be a C-contiguous array or shared memory, got {described(array)}.")
        index = _from_0(arguments, f"{word}_idx")
        if word == "dst" and array.memory is not None:
            array.memory.write()
        pointer = array.code if isinstance(array.type, Shared) or array.type.ndim == 0 else f"{array.code}.data"  # type: ignore[attr-defined]
        places.append(pointer if index.code == "0" else f"{pointer} + {index.at(PRODUCT)}")
    size = _from_0(arguments, "size")
    if not size.code.isdigit():  # a literal is shown as it is
        size = cast(size, UINT64)
    # A promise to the compiler, which can do without.
    arguments.known_integer("aligned_size", "a power of 2", power_of_two)
    code = f"cooperative_groups::memcpy_async({', '.join([group.code, *places, size.code])})"
    return without_result(t, Value(code, VOID), node)


_METHODS: dict[str, dict[str, Any]] = {
    "thread_block": {
        "sync": None,
        "thread_rank": UINT32,
        "group_index": Dim3(),
        "thread_index": Dim3(),
        "group_dim": Dim3(),
        "dim_threads": Dim3(),
        "size": UINT32,
        "num_threads": UINT32,
    },
    "grid_group": {
        "sync": None,
        "is_valid": BOOL,
        "thread_rank": UINT64,
        "block_rank": UINT64,
        "num_threads": UINT64,
        "num_blocks": UINT64,
        "size": UINT64,
        "dim_blocks": Dim3(),
        "block_index": Dim3(),
        "group_dim": Dim3(),
    },
}


def group_method(t: Translation, of: Value, group: Group, name: str, node: ast.Call) -> Operand:
    """Return what the method of a group gives."""
    methods = _METHODS[group.name]
    if name not in methods:
        raise t.error(node, f"{group} has no method {name!r}; it has {', '.join(methods)}.", AttributeError)
    Arguments(t, node, name)
    result = methods[name]
    if result is None:
        return without_result(t, Value(f"{of.code}.{name}()", VOID), node)
    kind = result if isinstance(result, Dim3) else Scalar(result)
    value = Value(f"{of.code}.{name}()", kind)
    # Types of the results differ between versions of CUDA.
    return value if isinstance(kind, Dim3) else replace(value, code=f"({kind.ctype}){value.code}", level=UNARY)


FUNCTIONS: dict[str, Callable[[Translation, ast.Call], Operand]] = {
    "cg.this_thread_block": _this_thread_block,
    "cg.this_grid": _this_grid,
    **{f"cg.{name}": _group_function(name) for name in ("sync", "wait", "wait_prior")},
    "cg.memcpy_async": _memcpy_async,
}
