"""Elements of arrays, of shared memory, and of tuples."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.cub_reductions import cub_class
from cunumpy.kernels._rawkernel.function_source import describe
from cunumpy.kernels._rawkernel.operands import as_numeric, described, dtype_of, evaluated, known_value
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import INT32, INT64, Array, Scalar, Shared, Type
from cunumpy.kernels._rawkernel.values import PRIMARY, Constant, Operand, Several, Value, is_array, literal


def subscription(t: Translation, node: ast.Subscript) -> Operand:
    """Return ``a[i]``."""
    of = t.expression(node.value)
    if isinstance(of, Constant):
        return _item_of_known(t, of.value, node)
    if isinstance(of, Several):
        index = known_value(t, node.slice, "the index of a tuple")
        return _item_of_tuple(t, of, index, node)
    if not isinstance(of, Value) or not is_array(of):
        raise t.error(node, f"{described(of)} can't be indexed; arrays, shared memory and tuples can.")
    written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for one in written:
        if isinstance(one, ast.Constant) and one.value in (None, ...):
            t.refuse(one, "arrays are indexed by integers in a kernel, without ... and None")
    indices = []
    for one in written:
        operand = t.expression(one)
        if isinstance(operand, Several):
            indices += [as_index(t, item, one) for item in operand.items]
        elif isinstance(operand, Constant) and isinstance(operand.value, tuple):
            indices += [as_index(t, Constant(item), one) for item in operand.value]
        else:
            indices.append(as_index(t, operand, one))
    return element_of(t, of, indices, node)


def _item_of_tuple(t: Translation, of: Several, index: Any, node: ast.AST) -> Operand:
    """Return an item of a tuple."""
    try:
        found: Operand = of.items[index]
        return found
    except (IndexError, TypeError) as error:
        raise t.error(node, f"{error}.", IndexError) from None


def as_index(t: Translation, operand: Operand, node: ast.AST, what: str = "an index") -> Value:
    """Return an index of an array."""
    number = as_numeric(t, operand, node, what)
    dtype = dtype_of(t, number)
    if dtype.kind not in "iu":
        raise t.error(node, f"{what} must be an integer, got {dtype}; convert it, numpy.int64(...).", IndexError)
    if isinstance(number, Constant):
        if number.value < 0:
            raise t.error(
                node,
                f"{what} is {number.value}, and kernels don't count from the end; write x[len(x) - 1].",
                IndexError,
            )
        return literal(int(number.value), INT32 if number.value < 2**31 else INT64)
    return number


def element_of(t: Translation, of: Value, indices: list[Value], node: ast.AST) -> Value:
    """Return an element of an array, or a part of it with fewer dimensions."""
    stable = of.stable and all(one.stable for one in indices)
    impure = of.impure or any(one.impure for one in indices)
    if isinstance(of.type, Shared):
        if len(indices) != 1:
            raise t.error(node, f"shared memory has one dimension, got {len(indices)} indices.", IndexError)
        kind: Type = of.type.element
        size = of.type.size
        if size is not None and indices[0].code.isdigit() and int(indices[0].code) >= size:
            raise t.error(node, f"index {indices[0].code} is out of range for size {size}.", IndexError)
        return Value(f"{of.code}[{indices[0].code}]", kind, PRIMARY, False, impure)
    assert isinstance(of.type, Array)
    if of.type.ndim < len(indices):
        raise t.error(node, f"the array has {of.type.ndim} dimension(s), got {len(indices)} indices.", IndexError)
    if of.type.ndim == 0:
        return Value(f"{of.code}[0]", Scalar(of.type.dtype), PRIMARY, False, impure, memory=of.memory)
    if not indices:
        return of
    base = of if of.base is None else of.base
    codes = (*of.indices, *(one.code for one in indices))
    rest = of.type.ndim - len(indices)
    if rest == 0:
        code = f"{base.code}({', '.join(codes)})"
        return Value(code, Scalar(of.type.dtype), PRIMARY, False, impure, memory=of.memory)
    part = Array(of.type.dtype, rest, of.type.contiguous)
    code = f"{base.code}.sub({', '.join(codes)})"
    return Value(code, part, PRIMARY, stable, impure, memory=of.memory, base=base, indices=codes)


def _item_of_known(t: Translation, value: Any, node: ast.Subscript) -> Operand:
    if value in (jit.WarpReduce, jit.BlockReduce) if isinstance(value, jit.Primitive) else False:
        return Constant(cub_class(t, value, node))
    if isinstance(value, np.ndarray):
        raise t.error(node.value, "a global array is not known on the device; pass it as an argument of the kernel.")
    if isinstance(value, (tuple, list, dict, str)):
        return evaluated(t, lambda a, b: a[b], (value, known_value(t, node.slice, "the index of a tuple")), node)
    raise t.error(node, f"{describe(value)} can't be indexed.")
