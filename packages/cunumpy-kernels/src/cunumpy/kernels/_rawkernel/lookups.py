"""Names and attributes: variables, global names, and what values tell of themselves."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from typing import NoReturn

import numpy as np

from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import INT64, UINT32, Array, CubClass, CubStorage, Dim3, Group, Scalar, Shared
from cunumpy.kernels._rawkernel.values import PRIMARY, PRODUCT, Constant, Method, Operand, Several, Value, extent


def name_value(t: Translation, node: ast.Name) -> Operand:
    """Return what a name stands for: a variable, or what Python has of this name when the kernel is translated."""
    known = t.variables.get(node.id)
    if known is not None:
        return known.value
    uses = t.uses.get(node.id)
    if uses is not None and uses.stores:
        refuse_unassigned(t, node)
    function = t.source.function
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name == node.id:
            try:
                return Constant(cell.cell_contents)
            except ValueError:
                break
    if node.id in function.__globals__:
        return Constant(function.__globals__[node.id])
    if hasattr(builtins, node.id):
        return Constant(getattr(builtins, node.id))
    raise t.error(node, f"name {node.id!r} is not defined: it is no variable, parameter, or global name.", NameError)


def refuse_unassigned(t: Translation, node: ast.Name) -> NoReturn:
    """Raise for a variable that is used before it is assigned."""
    raise t.error(
        node,
        f"variable {node.id!r} has no value here: the first assignment, which gives it its type, comes before.",
        NameError,
    )


def attribute_value(t: Translation, node: ast.Attribute) -> Operand:
    """Return ``a.name``."""
    of = t.expression(node.value)
    name = node.attr
    if isinstance(of, Value):
        found = _attribute_of_value(t, of, name, node)
        if found is None:
            raise t.error(node, f"{of.type} has no attribute {name!r} in a kernel.", AttributeError)
        return found
    if isinstance(of, Several):
        raise t.error(node, f"a tuple has no attribute {name!r} in a kernel.", AttributeError)
    if isinstance(of, Method):
        raise t.error(node, f"a method has no attribute {name!r} in a kernel.", AttributeError)
    value = of.value
    if isinstance(value, jit.Primitive) and value.name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
        if name not in ("x", "y", "z"):
            raise t.error(node, f"jit.{value.name} has the members x, y and z, not {name!r}.", AttributeError)
        return Value(f"{value.name}.{name}", Scalar(UINT32))
    if isinstance(value, CubClass) and name == "TempStorage":
        return Constant(CubStorage(value))
    try:
        inner = getattr(value, name)
    except AttributeError as error:
        raise t.error(node, f"{error}.", AttributeError) from None
    return Constant(32) if inner is jit.warpsize else Constant(inner)


def _attribute_of_value(t: Translation, of: Value, name: str, node: ast.AST) -> Operand | None:
    kind = of.type
    if isinstance(kind, Dim3) and name in ("x", "y", "z"):
        return Value(f"{of.code}.{name}", Scalar(UINT32), stable=of.stable)
    if isinstance(kind, (Group, CubClass)):
        return Method(of, name)
    if isinstance(kind, Array):
        return _attribute_of_array(t, of, kind, name, node)
    if isinstance(kind, Shared) and isinstance(kind.element, Scalar):
        sizes = {"ndim": 1, "dtype": kind.element.dtype, "size": kind.size, "shape": (kind.size,)}
        if name in sizes and (kind.size is not None or name in ("ndim", "dtype")):
            return Constant(sizes[name])
    if isinstance(kind, Scalar):
        if name == "dtype":
            return Constant(kind.dtype)
        if name in ("conj", "conjugate"):
            return Method(of, "conjugate")
        if name in ("real", "imag"):
            part = np.dtype(f"f{kind.dtype.itemsize // 2}")
            if kind.kind == "c":
                return replace(of, code=f"{of.at(PRIMARY)}.{name}()", level=PRIMARY, type=Scalar(part), parts=None)
            return of if name == "real" else Constant(kind.dtype.type(0))
    return None


def _attribute_of_array(t: Translation, of: Value, kind: Array, name: str, node: ast.AST) -> Operand | None:
    if name == "ndim":
        return Constant(kind.ndim)
    if name == "dtype":
        return Constant(kind.dtype)
    if name == "itemsize":
        return Constant(kind.dtype.itemsize)
    lengths = tuple(extent(of, axis) for axis in range(kind.ndim))
    if name == "shape":
        return Several(lengths) if lengths else Constant(())
    if name == "size":
        if not lengths:
            return Constant(1)
        if of.base is None:
            return Value(f"{of.code}.size()", Scalar(INT64))
        return Value(" * ".join(one.code for one in lengths), Scalar(INT64), PRODUCT)
    if name == "strides":
        items: list[Operand] = []
        for axis in range(kind.ndim):
            if not kind.contiguous:
                base, first = (of, 0) if of.base is None else (of.base, len(of.indices))
                items.append(
                    Value(f"{base.code}.strides[{first + axis}] * {kind.dtype.itemsize}", Scalar(INT64), PRODUCT)
                )
            elif axis == kind.ndim - 1:
                items.append(Value(f"{kind.dtype.itemsize}LL", Scalar(INT64)))
            else:
                factors = [one.code for one in lengths[axis + 1 :]]
                items.append(Value(" * ".join([*factors, str(kind.dtype.itemsize)]), Scalar(INT64), PRODUCT))
        return Several(tuple(items)) if items else Constant(())
    if name in ("begin", "end"):
        t.refuse(node, "iterators are not there in kernels, which have no algorithms of Thrust; use indices")
    return None
