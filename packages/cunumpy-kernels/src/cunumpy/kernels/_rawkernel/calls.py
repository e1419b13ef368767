"""Calls in kernels: CUDA's functions, NumPy's and Python's, conversions, and device functions."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.function_source import describe
from cunumpy.kernels._rawkernel.operators import (
    AS_OPERATORS,
    KNOWN,
    OF_MATH,
    as_value,
    cast_if,
    function_of_one,
    function_of_two,
)
from cunumpy.kernels._rawkernel.types import (
    BOOL,
    INT32,
    UINT32,
    UINT64,
    Array,
    CubClass,
    CubStorage,
    Dim3,
    Group,
    NoLoopError,
    Scalar,
    Shared,
    Type,
    native,
)
from cunumpy.kernels._rawkernel.values import (
    PRIMARY,
    UNARY,
    Constant,
    Method,
    Operand,
    Several,
    Value,
    cast,
    extent,
    is_array,
)

if TYPE_CHECKING:
    from cunumpy.kernels._rawkernel.translation import Translator

_VOID = Scalar(BOOL)
"""The type of what has no value: it is never asked for."""


def call(t: Translator, node: ast.Call) -> Operand:
    """Return the value of a call."""
    function = t.expression(node.func)
    if isinstance(function, Method):
        return _method(t, function, node)
    if not isinstance(function, Constant):
        raise t.error(node, f"{t.named(function)} can't be called.")
    known = function.value
    if isinstance(known, jit.Primitive):
        handler = _PRIMITIVES.get(known.name)
        if handler is None:
            raise t.error(node, f"jit.{known.name} is no function; see its documentation.")
        return handler(t, node)
    if isinstance(known, jit.RefusedNamespace):
        raise t.error(node, f"jit.{known.name}: {known.reason[:-1]}.", NotImplementedError)
    if isinstance(known, CubClass):
        return _cub_object(t, known, node)
    from cunumpy.kernels._rawkernel.python_kernel import PythonKernel

    if isinstance(known, PythonKernel):
        return _device_function(t, known, node)
    if known in (range, jit.range_) if not isinstance(known, np.ndarray) else False:
        raise t.error(node, "range is there in loops only: for i in range(...).")
    python = _PYTHON.get(known) if _hashable(known) else None
    if python is not None:
        return python(t, node)
    name = _numpy_name(known)
    operands = [t.expression(one) for one in node.args if not isinstance(one, ast.Starred)]
    if len(operands) != len(node.args):
        t.refuse(node, "arguments are written out one by one in a kernel")
    unknown = [one for one in operands if not isinstance(one, Constant)]
    if not unknown and all(word.arg for word in node.keywords):
        words = {str(word.arg): t.known(word.value, f"argument {word.arg!r}") for word in node.keywords}
        values = tuple(one.value for one in operands if isinstance(one, Constant))
        return t.evaluated(lambda: known(*values, **words), (), node)
    if _is_conversion(known):
        return _conversion(t, known, operands, node)
    if name is not None:
        return _mathematics(t, name, operands, node)
    raise t.error(node, _why_not(known))


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


def bound(t: Translator, node: ast.Call, name: str, signature: str) -> dict[str, ast.expr | None]:
    """Return the arguments of a call by the names of parameters; those without a default have to be given.

    Parameters
    ----------
    t : Translator
    node : ast.Call
    name : str
    signature : str
        ``"a b ? c * d"``: what follows ``?`` can be left out, what follows ``*`` is a keyword.
    """
    words = signature.split()
    names = [word for word in words if word not in "?*"]
    optional = set(words[words.index("?") + 1 :] if "?" in words else ())
    if "*" in words:
        optional |= set(words[words.index("*") + 1 :])
    positional = [word for word in (words[: words.index("*")] if "*" in words else words) if word != "?"]
    found: dict[str, ast.expr | None] = dict.fromkeys(names)
    if len(node.args) > len(positional):
        raise t.error(
            node, f"{name} takes {len(positional)} arguments ({', '.join(positional)}), got {len(node.args)}."
        )
    found.update(zip(positional, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in found or found[keyword.arg] is not None:
            raise t.error(
                node, f"{name} has no argument {keyword.arg!r}, or it is given twice; it has {', '.join(names)}."
            )
        found[keyword.arg] = keyword.value
    missing = [word for word in names if found[word] is None and word not in optional]
    if missing:
        raise t.error(node, f"{name} needs {', '.join(missing)}.")
    return found


# --- NumPy, Python, math ----------------------------------------------------------------------------------------------


def _numpy_name(known: Any) -> str | None:
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


def _is_conversion(known: Any) -> bool:
    return isinstance(known, type) and (known in (bool, int, float, complex) or issubclass(known, np.generic))


def _conversion(t: Translator, known: Any, operands: list[Operand], node: ast.Call) -> Value:
    dtype = native(known)
    if dtype is None:
        raise t.error(node, f"kernels have no type {known.__name__}.")
    if len(operands) != 1 or node.keywords:
        raise t.error(node, f"the conversion to {known.__name__} takes one number.")
    number = t.number(operands[0], node)
    if number.dtype.kind == "c" and dtype.kind not in "cb":
        raise t.error(node, f"a complex number can't be converted to {dtype}; take .real or .imag.")
    if dtype == BOOL:
        from cunumpy.kernels._rawkernel.operators import truth

        number = truth(number)
    return cast_if(number, dtype)


def _mathematics(t: Translator, name: str, operands: list[Operand], node: ast.Call) -> Value:
    if node.keywords:
        raise t.error(node, f"numpy.{name} takes no keywords in a kernel.")
    numbers = [t.numeric(one, node) for one in operands]
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
            given = t._operand_type(numbers[0])
            return function_of_one(name, t.number(numbers[0], node), given, t.mode)
        if name in AS_OPERATORS:
            return t.operation(AS_OPERATORS[name], numbers[0], numbers[1], node)
        types = (t._operand_type(numbers[0]), t._operand_type(numbers[1]))
        return t.in_order(numbers, lambda both: function_of_two(name, both[0], both[1], t.mode, types))
    except NoLoopError:
        shown = " and ".join(str(t.dtype_of(one)) for one in numbers)
        raise t.error(node, f"there is no numpy.{name} for {shown}.") from None


def _least_or_greatest(name: str) -> Callable[[Translator, ast.Call], Operand]:
    def handler(t: Translator, node: ast.Call) -> Operand:
        operands = [t.expression(one) for one in node.args]
        if len(operands) == 1 and isinstance(operands[0], Several):
            operands = list(operands[0].items)
        if len(operands) < 2 or node.keywords:
            raise t.error(node, f"{name[:3]} takes two or more numbers in a kernel.")
        if all(isinstance(one, Constant) for one in operands):
            function = min if name == "minimum" else max
            return t.evaluated(function, tuple(one.value for one in operands if isinstance(one, Constant)), node)
        found = operands[0]
        for one in operands[1:]:
            found = t.operation(name, found, one, node)
        return found

    return handler


def _len(t: Translator, node: ast.Call) -> Operand:
    of = t.expression(bound(t, node, "len", "x")["x"])  # type: ignore[arg-type]
    if isinstance(of, Constant):
        return t.evaluated(len, (of.value,), node)
    if isinstance(of, Several):
        return Constant(len(of.items))
    if isinstance(of, Value) and isinstance(of.type, Array) and of.type.ndim:
        return extent(of, 0)
    if isinstance(of, Value) and isinstance(of.type, Shared) and of.type.size is not None:
        return Constant(of.type.size)
    raise t.error(node, f"len() of {t.named(of)} is not known.")


def _abs(t: Translator, node: ast.Call) -> Operand:
    of = t.expression(bound(t, node, "abs", "x")["x"])  # type: ignore[arg-type]
    if isinstance(of, Constant):
        return t.evaluated(abs, (of.value,), node)
    return _mathematics(t, "absolute", [of], ast.copy_location(ast.Call(node.func, node.args, []), node))


def _pow(t: Translator, node: ast.Call) -> Operand:
    given = bound(t, node, "pow", "base exp")
    one, other = (t.expression(given[word]) for word in ("base", "exp"))  # type: ignore[arg-type]
    if isinstance(one, Constant) and isinstance(other, Constant):
        return t.evaluated(pow, (one.value, other.value), node)
    return t.operation("**", one, other, node)


def _divmod(t: Translator, node: ast.Call) -> Operand:
    given = bound(t, node, "divmod", "a b")
    one, other = (t.expression(given[word]) for word in ("a", "b"))  # type: ignore[arg-type]
    if isinstance(one, Constant) and isinstance(other, Constant):
        return t.evaluated(divmod, (one.value, other.value), node)
    for operand in (one, other):
        if isinstance(operand, Value) and operand.impure:
            t.refuse(node, "divmod would call this twice; assign it to a variable first")
    return Several((t.operation("//", one, other, node), t.operation("%", one, other, node)))


def _print(t: Translator, node: ast.Call) -> Operand:
    t.refuse(node, "print is not there in kernels; write values to an array, and print this")


_PYTHON: dict[Any, Callable[[Translator, ast.Call], Operand]] = {
    min: _least_or_greatest("minimum"),
    max: _least_or_greatest("maximum"),
    len: _len,
    abs: _abs,
    pow: _pow,
    divmod: _divmod,
    print: _print,
}


# --- device functions -------------------------------------------------------------------------------------------------


def _device_function(t: Translator, function: Any, node: ast.Call) -> Operand:
    if not function._device:
        raise t.error(
            node, f"{function.__name__!r} is a kernel, which kernels can't call; make it @jit.rawkernel(device=True)."
        )
    if node.keywords:
        raise t.error(node, f"{function.__name__!r}: arguments of device functions have no names in calls.")
    operands: list[Operand] = []
    for one in node.args:
        operand = t.expression(one)
        if isinstance(operand, Constant) and isinstance(operand.value, (bool, int, float, complex, np.generic)):
            operand = t.number(operand, one)
        if isinstance(operand, Value) and isinstance(operand.type, (CubClass, CubStorage)):
            raise t.error(one, f"{operand.type} can't be passed to a device function.")
        if isinstance(operand, Several):
            raise t.error(one, "tuples can't be passed to a device function; pass the items.")
        operands.append(operand)
    found = t.program.device_function(function, operands, t, node)
    given = [one for one in operands if isinstance(one, Value)]
    for operand, memory in zip(operands, found.memories, strict=True):
        if memory is not None and memory.written and isinstance(operand, Value) and operand.memory is not None:
            operand.memory.write()
    kind: Type = _VOID if found.result is None or isinstance(found.result, tuple) else found.result

    def made(values: list[Any]) -> Value:
        return Value(f"{found.cname}({', '.join(one.code for one in values)})", kind, PRIMARY, False, found.effects)

    t.effects |= found.effects
    value = t.in_order(list(given), made)
    if found.result is None:
        return _nothing(t, value, node)
    if isinstance(found.result, tuple):
        name = t.hoisted_result(f"{found.cname}_result", "result", value.code, node, effects=found.effects)
        return Several(tuple(Value(f"{name}._{place}", one) for place, one in enumerate(found.result)))
    return value


def _nothing(t: Translator, value: Value, node: ast.Call) -> Operand:
    """Add a call without a result as a statement of its own."""
    if not (isinstance(t.statement, ast.Expr) and t.statement.value is node):
        raise t.error(node, "this call has no result; write it as a statement of its own.")
    t.effects = True
    t.emit(f"{value.code};", node)
    return Constant(None)


# --- CUDA's functions -------------------------------------------------------------------------------------------------


def _expression(given: dict[str, ast.expr | None], word: str) -> ast.expr:
    found = given[word]
    assert found is not None
    return found


def _grid(t: Translator, node: ast.Call) -> Operand:
    return _along_axes(t, node, "grid", "blockIdx.{0} * blockDim.{0} + threadIdx.{0}")


def _gridsize(t: Translator, node: ast.Call) -> Operand:
    return _along_axes(t, node, "gridsize", "gridDim.{0} * blockDim.{0}")


def _along_axes(t: Translator, node: ast.Call, name: str, code: str) -> Operand:
    ndim = t.known(_expression(bound(t, node, f"jit.{name}", "ndim"), "ndim"), "ndim")
    if isinstance(ndim, bool) or not isinstance(ndim, (int, np.integer)):
        raise t.error(node, f"jit.{name}: ndim must be 1, 2 or 3, got {describe(ndim)}.", TypeError)
    if not 1 <= ndim <= 3:
        raise t.error(node, f"jit.{name}: ndim must be 1, 2 or 3, got {ndim}.", ValueError)
    level = 3 if name == "grid" else 2
    items = tuple(Value(code.format(axis), Scalar(UINT32), level) for axis in "xyz"[:ndim])
    return items[0] if ndim == 1 else Several(items)


def _syncthreads(t: Translator, node: ast.Call) -> Operand:
    bound(t, node, "jit.syncthreads", "")
    return _nothing(t, Value("__syncthreads()", _VOID), node)


def _syncwarp(t: Translator, node: ast.Call) -> Operand:
    mask = bound(t, node, "jit.syncwarp", "? mask")["mask"]
    code = "" if mask is None else _mask(t, mask)
    return _nothing(t, Value(f"__syncwarp({code})", _VOID), node)


def _mask(t: Translator, node: ast.expr) -> str:
    operand = t.integer(node)
    if isinstance(operand, Constant):
        return f"{int(operand.value) & 0xFFFFFFFF:#x}"
    return operand.code


def _laneid(t: Translator, node: ast.Call) -> Operand:
    bound(t, node, "jit.laneid", "")
    return Value("python::lane_id()", Scalar(UINT32))


def _shared_memory(t: Translator, node: ast.Call) -> Operand:
    given = bound(t, node, "jit.shared_memory", "dtype size ? alignment")
    wanted = t.known(_expression(given, "dtype"), "dtype")
    size = t.known(_expression(given, "size"), "size")
    alignment = None if given["alignment"] is None else t.known(given["alignment"], "alignment")
    element: Scalar | CubStorage
    if isinstance(wanted, CubStorage):
        element = wanted
    else:
        dtype = native(wanted)
        if dtype is None:
            raise t.error(node, f"jit.shared_memory: kernels have no type {describe(wanted)}.")
        element = Scalar(dtype)
    if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1):
        raise t.error(
            node, f"jit.shared_memory: size must be a positive integer, or None for that of the launch, got {size!r}."
        )
    if alignment is not None and (not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1)):
        raise t.error(node, f"jit.shared_memory: alignment must be a power of 2, got {alignment!r}.", ValueError)
    if not (
        isinstance(t.statement, (ast.Assign, ast.AnnAssign))
        and t.statement.value is node
        and isinstance(getattr(t.statement, "target", None) or t.statement.targets[0], ast.Name)  # type: ignore[union-attr]
    ):
        raise t.error(node, "jit.shared_memory(...) is assigned to a variable: smem = jit.shared_memory(...).")
    align = "" if alignment is None else f"__align__({alignment}) "
    return Value(f"\1{align}", Shared(element, None if size is None else int(size)))


def _shuffle(name: str) -> Callable[[Translator, ast.Call], Operand]:
    def handler(t: Translator, node: ast.Call) -> Operand:
        given = bound(t, node, f"jit.{name}", "mask var val_id * width")
        mask = _mask(t, _expression(given, "mask"))
        value = t.number(t.expression(_expression(given, "var")), node)
        if value.dtype.kind == "c":
            raise t.error(node, f"jit.{name} takes no complex numbers; exchange .real and .imag.")
        operand = t.integer(_expression(given, "val_id"))
        lane = as_value(operand, INT32) if isinstance(operand, Constant) else operand
        width = given["width"]
        rest = "" if width is None else f", {as_value(t.integer(width), INT32).code}"
        through = INT32 if value.dtype.kind in "biu" and value.dtype.itemsize < 4 else value.dtype
        code = f"__{name}({mask}, {cast(value, through).code}, {lane.code}{rest})"
        return cast_if(Value(code, Scalar(through), PRIMARY, False, True), value.dtype)

    return handler


def _activemask(t: Translator, node: ast.Call) -> Operand:
    bound(t, node, "jit.activemask", "")
    return Value("__activemask()", Scalar(UINT32), PRIMARY, False, True)


def _bits(name: str) -> Callable[[Translator, ast.Call], Operand]:
    def handler(t: Translator, node: ast.Call) -> Operand:
        value = t.number(t.integer(_expression(bound(t, node, f"jit.{name}", "value"), "value")), node)
        wide = value.dtype.itemsize == 8
        return replace(
            value, code=f"__{name}{'ll' if wide else ''}({value.code})", level=PRIMARY, type=Scalar(INT32), parts=None
        )

    return handler


def _match(name: str) -> Callable[[Translator, ast.Call], Operand]:
    def handler(t: Translator, node: ast.Call) -> Operand:
        given = bound(t, node, f"jit.{name}", "mask value")
        mask = _mask(t, _expression(given, "mask"))
        value = t.number(t.expression(_expression(given, "value")), node)
        if value.dtype.kind == "c" or value.dtype.itemsize < 4:
            raise t.error(node, f"jit.{name} takes numbers of 4 and 8 bytes, got {value.dtype}.")
        if name == "match_any_sync":
            return Value(f"__match_any_sync({mask}, {value.code})", Scalar(UINT32), PRIMARY, False, True)
        t.effects = True
        code = f"python::match_all_sync({mask}, {value.code})"
        found = t.hoisted_result("python::MatchAll", "found", code, node, effects=True)
        return Several(
            (
                Value(f"{found}.mask", Scalar(UINT32)),
                Value(f"{found}.all != 0", Scalar(BOOL), 6),
            )
        )

    return handler


_ATOMIC_TYPES = {
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


def _atomic(name: str) -> Callable[[Translator, ast.Call], Operand]:
    function = f"atomic{'CAS' if name == 'cas' else name.capitalize()}"

    def handler(t: Translator, node: ast.Call) -> Operand:
        words = "array index value alt_value" if name == "cas" else "array index value ? alt_value"
        given = bound(t, node, f"jit.atomic_{name}", words)
        array = t.expression(_expression(given, "array"))
        if not isinstance(array, Value) or not is_array(array):
            raise t.error(node, f"jit.atomic_{name} takes an array, an index and a value, got {t.named(array)}.")
        place = _expression(given, "index")
        operand = t.expression(place)
        items: list[Operand] = [operand]
        if isinstance(operand, Several):
            items = list(operand.items)
        elif isinstance(operand, Constant) and isinstance(operand.value, tuple):
            items = [Constant(one) for one in operand.value]
        element = t.element(array, [t._index(one, place) for one in items], place)
        if not isinstance(element.type, Scalar):
            raise t.error(node, f"jit.atomic_{name} takes one element; give an index for each dimension.")
        dtype = element.dtype
        if dtype.name not in _ATOMIC_TYPES[name].split():
            raise t.error(
                node,
                f"jit.atomic_{name} is not there for {dtype}; CUDA has it for "
                f"{', '.join(_ATOMIC_TYPES[name].split())}.",
            )
        if element.memory is not None:
            element.memory.write()
        values = [
            cast(t.stored(t.expression(one), dtype, node), dtype)
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


# --- cooperative groups -----------------------------------------------------------------------------------------------


def _this_thread_block(t: Translator, node: ast.Call) -> Operand:
    bound(t, node, "jit.cg.this_thread_block", "")
    t.program.includes["cooperative_groups.h"] = None
    return Value("cooperative_groups::this_thread_block()", Group("thread_block"))


def _this_grid(t: Translator, node: ast.Call) -> Operand:
    bound(t, node, "jit.cg.this_grid", "")
    t.program.includes["cooperative_groups.h"] = None
    t.program.cooperative = True
    return Value("cooperative_groups::this_grid()", Group("grid_group"))


def _group(t: Translator, node: ast.expr) -> Value:
    group = t.expression(node)
    if not isinstance(group, Value) or not isinstance(group.type, Group):
        raise t.error(node, f"a cooperative group is needed here, got {t.named(group)}.")
    return group


def _group_function(name: str) -> Callable[[Translator, ast.Call], Operand]:
    def handler(t: Translator, node: ast.Call) -> Operand:
        given = bound(t, node, f"jit.cg.{name}", "group step" if name == "wait_prior" else "group")
        group = _group(t, _expression(given, "group"))
        if name == "sync":
            return _nothing(t, Value(f"{group.code}.sync()", _VOID), node)
        t.program.includes["cooperative_groups/memcpy_async.h"] = None
        template = ""
        if name == "wait_prior":
            step = t.known(_expression(given, "step"), "step")
            if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step < 0:
                raise t.error(node, f"jit.cg.wait_prior: step must be an integer from 0 on, got {describe(step)}.")
            template = f"<{step}>"
        return _nothing(t, Value(f"cooperative_groups::{name}{template}({group.code})", _VOID), node)

    return handler


def _memcpy_async(t: Translator, node: ast.Call) -> Operand:
    given = bound(t, node, "jit.cg.memcpy_async", "group dst dst_idx src src_idx size * aligned_size")
    group = _group(t, _expression(given, "group"))
    t.program.includes["cooperative_groups/memcpy_async.h"] = None
    places = []
    for word in ("dst", "src"):
        array = t.expression(_expression(given, word))
        if (
            not isinstance(array, Value)
            or not is_array(array)
            or (isinstance(array.type, Array) and not array.type.contiguous)
        ):
            raise t.error(node, f"jit.cg.memcpy_async: {word} must be a C-contiguous array or shared memory.")
        operand = t.integer(_expression(given, f"{word}_idx"))
        index = as_value(operand, INT32) if isinstance(operand, Constant) else operand
        if word == "dst" and array.memory is not None:
            array.memory.write()
        pointer = array.code if isinstance(array.type, Shared) or array.type.ndim == 0 else f"{array.code}.data"  # type: ignore[attr-defined]
        places.append(pointer if index.code == "0" else f"{pointer} + {index.at(2)}")
    operand = t.integer(_expression(given, "size"))
    size = as_value(operand, UINT64 if not isinstance(operand, Constant) else INT32)
    if given["aligned_size"] is not None:
        t.known(given["aligned_size"], "aligned_size")  # a promise to the compiler, which can do without
    code = f"cooperative_groups::memcpy_async({', '.join([group.code, *places, size.code])})"
    return _nothing(t, Value(code, _VOID), node)


_GROUP_METHODS: dict[str, dict[str, Any]] = {
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


def _method(t: Translator, method: Method, node: ast.Call) -> Operand:
    of, name = method.of, method.name
    if isinstance(of.type, Group):
        methods = _GROUP_METHODS[of.type.name]
        if name not in methods:
            raise t.error(node, f"{of.type} has no method {name!r}; it has {', '.join(methods)}.", AttributeError)
        bound(t, node, name, "")
        result = methods[name]
        if result is None:
            return _nothing(t, Value(f"{of.code}.{name}()", _VOID), node)
        kind = result if isinstance(result, Dim3) else Scalar(result)
        value = Value(f"{of.code}.{name}()", kind)
        # Types of the results differ between versions of CUDA.
        return value if isinstance(kind, Dim3) else replace(value, code=f"({kind.ctype}){value.code}", level=UNARY)
    if isinstance(of.type, CubClass):
        return _cub_method(t, of, of.type, name, node)
    if name == "conjugate":
        bound(t, node, name, "")
        return function_of_one("conjugate", of, of.dtype, t.mode)
    raise t.error(node, f"{t.named(method)} can't be called.")


# --- CUB --------------------------------------------------------------------------------------------------------------


def cub_class(t: Translator, primitive: jit.Primitive, node: ast.Subscript) -> CubClass:
    """Return ``cub.WarpReduce[dtype]`` or ``cub.BlockReduce[dtype, threads]``."""
    given = t.known(node.slice, "the type and the threads")
    items = given if isinstance(given, tuple) else (given,)
    name = primitive.name
    dtype = native(items[0])
    if dtype is None:
        raise t.error(node, f"jit.{name}: kernels have no type {describe(items[0])}.")
    sizes = items[1:]
    least, most = (0, 1) if primitive is jit.WarpReduce else (1, 3)
    if not least <= len(sizes) <= most or not all(isinstance(one, (int, np.integer)) and one > 0 for one in sizes):
        form = (
            "[dtype] or [dtype, threads]"
            if primitive is jit.WarpReduce
            else "[dtype, threads], with sizes along x, y, z"
        )
        raise t.error(node, f"jit.{name} is written jit.{name}{form}.")
    file = "cub/warp/warp_reduce.cuh" if primitive is jit.WarpReduce else "cub/block/block_reduce.cuh"
    t.program.includes[file] = None
    return CubClass(primitive.__name__, dtype, tuple(int(one) for one in sizes))


def _cub_object(t: Translator, kind: CubClass, node: ast.Call) -> Operand:
    storage = t.expression(_expression(bound(t, node, str(kind), "temp_storage"), "temp_storage"))
    if isinstance(storage, Value) and isinstance(storage.type, Shared) and storage.type.size is not None:
        storage = Value(f"{storage.code}[0]", storage.type.element)
    if not isinstance(storage, Value) or storage.type != CubStorage(kind):
        raise t.error(
            node,
            f"{kind} takes shared memory of its TempStorage, temp = jit.shared_memory(dtype=Class.TempStorage, "
            f"size=1), as temp[0]; got {t.named(storage)}.",
        )
    return Value(f"{kind.ctype}({storage.code})", kind)


def _cub_method(t: Translator, of: Value, kind: CubClass, name: str, node: ast.Call) -> Operand:
    if name not in ("Sum", "Reduce"):
        raise t.error(node, f"{kind} has the methods Sum and Reduce, not {name!r}.", AttributeError)
    given = bound(t, node, f"{kind}.{name}", "input" if name == "Sum" else "input reduction_op")
    number = t.number(t.expression(_expression(given, "input")), node)
    value = cast_if(number, kind.dtype)
    if number.dtype != kind.dtype and not np.can_cast(number.dtype, kind.dtype, "same_kind"):
        raise t.error(node, f"{kind} takes {kind.dtype}, got {number.dtype}; convert it, numpy.{kind.dtype}(...).")
    rest = ""
    if name == "Reduce":
        rest = f", {_cub_operator(t, _expression(given, 'reduction_op'))}"
    return Value(f"{of.code}.{name}({value.code}{rest})", Scalar(kind.dtype), PRIMARY, False, True)


def _cub_operator(t: Translator, node: ast.expr) -> str:
    operand = t.expression(node)
    known = operand.value if isinstance(operand, Constant) else None
    if known in (jit.Sum, jit.Max, jit.Min) and isinstance(known, jit.Primitive):
        return f"python::{known.__name__}()"
    if isinstance(known, CubOperator):
        return f"python::{known.name}()"
    raise t.error(node, "the operator is one of jit.cub.Sum(), jit.cub.Max() and jit.cub.Min().")


class CubOperator:
    """An operator of ``Reduce``."""

    def __init__(self, name: str) -> None:
        self.name = name


def _cub_operator_made(name: str) -> Callable[[Translator, ast.Call], Operand]:
    def handler(t: Translator, node: ast.Call) -> Operand:
        bound(t, node, f"jit.cub.{name}", "")
        return Constant(CubOperator(name))

    return handler


_PRIMITIVES: dict[str, Callable[[Translator, ast.Call], Operand]] = {
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
    **{f"atomic_{name}": _atomic(name) for name in _ATOMIC_TYPES},
    "cg.this_thread_block": _this_thread_block,
    "cg.this_grid": _this_grid,
    **{f"cg.{name}": _group_function(name) for name in ("sync", "wait", "wait_prior")},
    "cg.memcpy_async": _memcpy_async,
    **{f"cub.{name}": _cub_operator_made(name) for name in ("Sum", "Max", "Min")},
}
