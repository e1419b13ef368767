"""Assignments: which variables a kernel has, of which types, and where C++ declares them."""

from __future__ import annotations

import ast

import numpy as np

from cunumpy.kernels._rawkernel.lookups import refuse_unassigned
from cunumpy.kernels._rawkernel.operands import as_stored, described, fixed, operation
from cunumpy.kernels._rawkernel.operators import SIGNS, as_value
from cunumpy.kernels._rawkernel.scopes import Uses, names_in
from cunumpy.kernels._rawkernel.translation import Translation
from cunumpy.kernels._rawkernel.types import (
    Array,
    CubClass,
    CubStorage,
    Group,
    Scalar,
    Shared,
    can_store,
    dtype_of_number,
)
from cunumpy.kernels._rawkernel.values import (
    Constant,
    Method,
    Operand,
    Several,
    Value,
    Variable,
    cast,
    ctype_of,
    is_array,
)


def annotated_assignment(t: Translation, node: ast.AnnAssign) -> None:
    """Translate ``x: int = 1``, where the annotation says nothing."""
    if node.value is None:
        t.refuse(node, "a variable gets its type from the first value; assign one")
    assign(t, node.target, t.expression(node.value), node)


def assignment(t: Translation, node: ast.Assign) -> None:
    """Translate ``x = 1``, ``x = y = 1`` and ``x, y = y, x``."""
    value = t.expression(node.value)
    if len(node.targets) > 1 and isinstance(value, Value) and not is_array(value):
        value = fixed(t, value, "value", node)
    for target in node.targets:
        assign(t, target, value, node)


def assign(t: Translation, target: ast.expr, value: Operand, node: ast.stmt) -> None:
    """Assign a value to a name, an element of an array, or a tuple of these."""
    if isinstance(target, ast.Name):
        assign_variable(t, target.id, value, node)
    elif isinstance(target, ast.Subscript):
        _assign_element(t, target, value, node)
    elif isinstance(target, ast.Tuple):
        _assign_several(t, target, value, node)
    elif isinstance(target, ast.Attribute):
        t.refuse(target, "attributes can't be assigned in a kernel; assign the elements of an array")
    else:
        t.refuse(target)


def _assign_several(t: Translation, target: ast.Tuple, value: Operand, node: ast.stmt) -> None:
    if isinstance(value, Constant) and isinstance(value.value, tuple):
        value = Several(tuple(map(Constant, value.value)))
    if not isinstance(value, Several):
        raise t.error(node, f"only tuples can be unpacked, got {described(value)}.", ValueError)
    if len(value.items) != len(target.elts):
        raise t.error(node, f"{len(value.items)} values are assigned to {len(target.elts)} targets.", ValueError)
    stored = {one.id for one in target.elts if isinstance(one, ast.Name)}
    fresh = all(isinstance(one, ast.Name) and one.id not in t.variables for one in target.elts)
    items = list(value.items)
    mentioned = bool(stored & names_in(getattr(node, "value", None)))
    if not fresh or mentioned:
        # The right-hand side is evaluated as a whole before anything is assigned.
        for place, one in enumerate(items):
            if isinstance(one, Value) and not is_array(one) and (mentioned or not one.stable or one.impure):
                items[place] = fixed(t, one, f"value_{place}", node)
    for inner, item in zip(target.elts, items, strict=True):
        assign(t, inner, item, node)


def assign_variable(t: Translation, name: str, value: Operand, node: ast.stmt, *, in_place: bool | None = None) -> None:
    """Assign a value to a variable, which is declared if there is none of its name."""
    uses = t.uses[name]
    if isinstance(value, (Constant, Several, Method)) or _is_alias(value):
        bound = _as_binding(t, value, uses, node, name)
        if bound is None:
            return
        value = bound
    assert isinstance(value, Value)
    known = t.variables.get(name)
    if known is None:
        _declare(t, name, value, node, uses, in_place)
        return
    kept = known.value
    if not isinstance(kept, Value) or kept.type != value.type or isinstance(value.type, Shared):
        old, new = described(kept), described(value)
        if isinstance(kept, Value) and isinstance(kept.type, Scalar) and isinstance(value.type, Scalar):
            do = f"convert it, {kept.type}(...), as numpy.{kept.type}(value), or use another variable"
        else:
            do = "use another variable"
        raise t.error(
            node,
            f"the type of variable {name!r} changes: it is {old}, and is assigned {new} here; {do}.",
            TypeError,
            ((known.node, "first:"),),
        )
    if value.memory is not None and known.memory is not None:
        known.memory.join(value.memory)
    t.emit(f"{known.cname} = {value.code};", node)


def _is_alias(value: Value) -> bool:
    return isinstance(value.type, (Group, CubClass, CubStorage)) or (
        isinstance(value.type, Shared) and not value.code.startswith("\1")
    )


def _as_binding(t: Translation, value: Operand, uses: Uses, node: ast.stmt, name: str) -> Value | None:
    """Bind a name to what is no variable of C++, and return None; or return the value for a variable."""
    known = t.variables.get(name)
    once = uses.stores == 1 and not uses.updated and known is None
    if isinstance(value, Constant):
        dtype = dtype_of_number(value.value, t.mode)
        if dtype is not None and not (once and uses.first_path == ()):
            return as_value(value, dtype)
    if isinstance(value, Several) and known is None:
        _bind_several(t, value, node, name)
        return None
    if not once:
        was = "" if known is None else f"it is {described(known.value)}, and "
        raise t.error(
            node,
            f"the type of variable {name!r} changes: {was}it is assigned {described(value)} here, which is known "
            "when the kernel is translated; use another variable.",
            TypeError,
            () if known is None else ((known.node, "first:"),),
        )
    t.variables[name] = Variable(name, "", node, value)
    return None


def _bind_several(t: Translation, value: Several, node: ast.stmt, name: str) -> None:
    """Keep a tuple: its items in constants of C++."""
    if t.uses[name].stores > 1:
        raise t.error(
            node,
            f"variable {name!r} is a tuple, and can't be assigned again; use a variable for each item.",
            TypeError,
        )
    items = tuple(
        one if not isinstance(one, Value) or is_array(one) else fixed(t, one, f"{name}_{place}", node)
        for place, one in enumerate(value.items)
    )
    t.variables[name] = Variable(name, "", node, Several(items))


def _declare(t: Translation, name: str, value: Value, node: ast.stmt, uses: Uses, in_place: bool | None) -> None:
    if isinstance(value.type, Shared):
        if uses.stores > 1:
            raise t.error(node, f"shared memory {name!r} can't be assigned again; use another variable.")
        _declare_shared(t, name, value, node)
        return
    cname = t.names.new(name)
    if in_place is None:
        in_place = uses.first is node and uses.common == uses.first_path and -1 not in t.path
    memory = None
    if isinstance(value.type, Array):
        memory = t.program.memory()
        if value.memory is not None:
            memory.join(value.memory)
    kind = ctype_of(value.type, memory)
    if in_place:
        t.emit(f"{kind} {cname} = {value.code};", node)
    else:
        t.hoisted.append((kind, cname))
        t.emit(f"{cname} = {value.code};", node)
    kept = Value(cname, value.type, memory=memory)
    t.variables[name] = Variable(name, cname, node, kept, memory=memory)


def _declare_shared(t: Translation, name: str, value: Value, node: ast.stmt) -> None:
    kind = value.type
    assert isinstance(kind, Shared)
    align = value.code.removeprefix("\1")
    if kind.size is None:
        cname = t.program.names.new(name)  # of the linker, too
        t.emit(f"extern __shared__ {align}{kind.element.ctype} {cname}[];", node)
    else:
        cname = t.names.new(name)
        t.emit(f"__shared__ {align}{kind.element.ctype} {cname}[{kind.size}];", node)
    t.variables[name] = Variable(name, cname, node, Value(cname, kind))


def _assign_element(t: Translation, target: ast.Subscript, value: Operand, node: ast.stmt) -> None:
    element = t.expression(target)
    if not isinstance(element, Value) or (element.memory is None and not element.code.endswith("]")):
        raise t.error(target, "only elements of arrays can be assigned.")
    if not isinstance(element.type, Scalar):
        raise t.error(target, f"{described(element)} can't be assigned; give an index for each dimension.")
    t.effects = True
    if element.memory is not None:
        element.memory.write()
    stored = as_stored(t, value, element.dtype, node)
    t.emit(f"{element.code} = {stored.code};", node)


def augmented_assignment(t: Translation, node: ast.AugAssign) -> None:
    """Translate ``x += 1``."""
    if type(node.op) not in SIGNS:
        t.refuse(node)
    name = SIGNS[type(node.op)]
    target = node.target
    if isinstance(target, ast.Name):
        known = t.variables.get(target.id)
        if known is None:
            refuse_unassigned(t, target)
        left = known.value
        if not isinstance(left, Value) or not isinstance(left.type, Scalar):
            raise t.error(node, f"{name}= takes numbers, got {described(left)}.")
    elif isinstance(target, ast.Subscript):
        left = t.expression(ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target))
        if not isinstance(left, Value) or not isinstance(left.type, Scalar):
            raise t.error(target, "only elements of arrays can be changed; give an index for each dimension.")
        t.effects = True
        if left.memory is not None:
            left.memory.write()
    else:
        t.refuse(target, "attributes can't be assigned in a kernel; assign the elements of an array")
    right = t.expression(node.value)
    index_impure = left.impure
    changed = not isinstance(right, Constant) and isinstance(right, Value) and right.impure
    if isinstance(target, ast.Subscript) and (index_impure or changed):
        _change_once(t, name, left, right, node)
        return
    new = operation(t, name, left, right, node)
    _check_kind(t, new, left, node)
    if new.parts is not None and new.parts[1] == left.code:
        t.emit(f"{left.code} {name}= {new.parts[2]};", node)
    else:
        t.emit(f"{left.code} = {_back(new, left).code};", node)


def _change_once(t: Translation, name: str, left: Value, right: Operand, node: ast.AugAssign) -> None:
    """Change an element whose index, or the change, does something itself."""
    t.emit("{", node)
    t.depth += 1
    place, before = t.names.new("element"), t.names.new("before")
    kind = ctype_of(left.type)
    t.emit(f"{kind}& {place} = {left.code};", node)
    t.emit(f"const {kind} {before} = {place};", node)
    new = operation(t, name, Value(before, left.type), right, node)
    _check_kind(t, new, left, node)
    t.emit(f"{place} = {_back(new, left).code};", node)
    t.depth -= 1
    t.emit("}")


def _check_kind(t: Translation, new: Value, left: Value, node: ast.AugAssign) -> None:
    if not can_store(new.dtype, left.dtype):
        raise t.error(
            node,
            f"the result is {new.dtype}, which can't be kept as {left.dtype} without losing a part of it; "
            f"convert it, numpy.{left.dtype}(...).",
        )


def _back(new: Value, left: Value) -> Value:
    """Return the new value of `left` in its dtype, where C++ does not convert it by itself."""
    by_itself = "c" not in (new.dtype.kind, left.dtype.kind) and np.float16 not in (new.dtype, left.dtype)
    return new if by_itself else cast(new, left.dtype)
