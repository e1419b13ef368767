"""What a fused function does with its arrays, as a graph of elementwise operations and reductions."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.kernels import _fused_code as code
from cunumpy.kernels._generated_code import C_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

DTYPES = frozenset(C_TYPES)

CAST, WHERE, FILL = "cast", "where", "fill"
"""Operations that are no universal functions: another dtype, a choice, and one number everywhere."""

_REDUCE = {
    "sum": ({"b": "a || b", "c": "a + b"}, "a + b"),
    "prod": ({"b": "a && b", "c": "cunumpy_fuse::product(a, b)"}, "a * b"),
    "max": ({"f": "a > b || a != a ? a : b"}, "a > b ? a : b"),
    "min": ({"f": "a < b || a != a ? a : b"}, "a < b ? a : b"),
    "any": ({}, "a || b"),
    "all": ({}, "a && b"),
}


class CannotFuse(Exception):
    """An operation is no part of a compiled loop, or NumPy refuses it; the text says which."""


class Node:
    """An array in the graph, which never changes.

    Attributes
    ----------
    function : numpy.ufunc or str
        The operation, ``"array"`` for a given array, or a reduction by name.
    operands : tuple
        Nodes and NumPy scalars.
    loop : tuple of numpy.dtype
        What operands are converted to, and the result's, of a universal function.
    dtype : numpy.dtype
    shape : tuple of int
    steps : tuple of int
        Strides; of a new array those that NumPy would give it.
    array : numpy.ndarray or None
        A given one.
    axes : tuple of int
        Of a reduction.
    keepdims : bool
        Of a reduction.
    is_reduction : bool
    size : int
        The number of elements.
    """

    __slots__ = (
        *(
            "array",
            "axes",
            "dtype",
            "function",
            "is_reduction",
            "keepdims",
            "loop",
            "operands",
            "shape",
            "size",
            "steps",
        ),
    )

    def __init__(
        self,
        function: Any,
        operands: tuple[Any, ...],
        loop: tuple[np.dtype[Any], ...],
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        steps: tuple[int, ...],
        array: np.ndarray | None = None,
        axes: tuple[int, ...] = (),
        keepdims: bool = False,
    ) -> None:
        self.function, self.operands, self.loop = function, operands, loop
        self.dtype, self.shape, self.steps = dtype, shape, steps
        self.array, self.axes, self.keepdims = array, axes, keepdims
        self.is_reduction = type(function) is str and function in _REDUCE
        self.size = math.prod(shape)


def given_array(array: np.ndarray) -> Node:
    """Return the node of an array that is there."""
    if array.dtype not in DTYPES:
        raise CannotFuse(f"an array of {array.dtype!r}")
    return Node("array", (), (), array.dtype, array.shape, array.strides, array)


# --- operations -------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def resolved(function: np.ufunc, types: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of a universal function's loop, by NumPy's own rules.

    Parameters
    ----------
    function : numpy.ufunc
    types : tuple
        Of the operands: dtypes, and int, float or complex for numbers of Python.

    Raises
    ------
    CannotFuse
        NumPy refuses them, or there is no code for the loop.
    """
    if function.nin != len(types) or function.nout != 1:
        raise CannotFuse(f"{function.__name__} with {len(types)} operands")
    if all(type(one) is type for one in types):
        raise CannotFuse(f"{function.__name__} of numbers")
    try:
        loop: tuple[np.dtype[Any], ...] = function.resolve_dtypes((*types, None))
    except TypeError as error:
        raise CannotFuse(str(error)) from None
    if not code.has(function, loop):
        raise CannotFuse(f"{function.__name__} of {', '.join(getattr(one, 'name', str(one)) for one in types)}")
    return loop


def call(function: np.ufunc, operands: Sequence[Any], out: Node | None = None) -> Node:
    """Return the node of a universal function's result.

    Parameters
    ----------
    function : numpy.ufunc
    operands : sequence
        Nodes, and numbers of Python or NumPy.
    out : Node, optional
        What it is written to: the result has its dtype, shape and strides.

    Raises
    ------
    CannotFuse
        NumPy refuses the operation or warns of it, or it is no part of a compiled loop.
    """
    types = [one.dtype if type(one) is Node else type(one) if type(one) in _WEAK else _type_of(one) for one in operands]
    loop = resolved(function, tuple(types))
    if function is np.power:
        operands = _with_exponent(operands, loop)
        if operands[1] is None:
            function, operands = operands[2], operands[:1]
            loop = (loop[0], loop[2])
    values = tuple([_operand(one, dtype) for one, dtype in zip(operands, loop, strict=False)])
    return _new(function, values, loop, loop[-1], out)


_WEAK = frozenset([int, float, complex])
"""Types of numbers that take the dtype of what they meet."""


def _type_of(value: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = code.BOOL if type(value) is bool else value.dtype
    return dtype


def _operand(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand of a loop: numbers in its dtype."""
    if type(value) is Node:
        if value.dtype is not dtype and value.dtype != dtype and code.converted("x", value.dtype, dtype) is None:
            raise CannotFuse(f"a conversion of {value.dtype} to {dtype}")
        return value
    return number(value, dtype)


_DOUBLE = np.dtype("float64")


def number(value: Any, dtype: np.dtype[Any]) -> np.generic:
    """Return a number in a dtype that can hold it.

    Raises
    ------
    CannotFuse
        It can't: NumPy refuses that, or warns of it, or compares all the same.
    """
    if type(value) is float and dtype is _DOUBLE:
        return np.float64(value)
    if type(value) is int and dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise CannotFuse(f"{value!r} as {dtype}")
    kind = np.asarray(value).dtype.kind if dtype.kind in "iuf" else ""
    if (kind == "c" and dtype.kind in "iuf") or (
        kind == "f" and dtype.kind in "iu" and not np.iinfo(dtype).min <= value < float(np.iinfo(dtype).max)
    ):
        raise CannotFuse(f"{value!r} as {dtype}")
    try:
        with np.errstate(all="ignore"):
            result: Any = np.asarray(value).astype(dtype)[()]
            if isinstance(value, int) and dtype.kind in "fc":
                result = dtype.type(value)
    except (OverflowError, TypeError) as error:
        raise CannotFuse(str(error)) from None
    if dtype.kind in "fc" and not np.isfinite(result) and np.isfinite(value):
        raise CannotFuse(f"{value!r} as {dtype}")
    return result  # type: ignore[no-any-return]


def _with_exponent(operands: Sequence[Any], loop: tuple[np.dtype[Any], ...]) -> Sequence[Any]:
    """Look at the exponents that NumPy treats apart; None instead of one is followed by the function for it."""
    base, exponent = operands
    single = exponent if not isinstance(exponent, Node) else None
    if loop[0].kind == "i" and (single is None or single < 0):
        raise CannotFuse("integers to powers that may be negative")
    if loop[0].kind == "f" and isinstance(base, Node) and single is not None:
        if single == 2:
            return base, None, np.square
        if single in (0.5, -1) and _takes_roots(loop[0]):
            return base, None, np.sqrt if single == 0.5 else np.reciprocal
    return operands


@functools.cache
def _takes_roots(dtype: np.dtype[Any]) -> bool:
    """Tell whether NumPy takes the square root for one exponent of 1/2, as it does from 2.4 on."""
    with np.errstate(all="ignore"):
        return bool(np.isnan(np.power(np.full(2, -np.inf, dtype), dtype.type(0.5))).all())


def where(condition: Any, chosen: Any, other: Any) -> Node:
    """Return the node of `numpy.where`."""
    samples = [np.empty(0, one.dtype) if isinstance(one, Node) else one for one in (chosen, other)]
    try:
        dtype = np.where(np.empty(0, bool), *samples).dtype
    except (TypeError, OverflowError) as error:
        raise CannotFuse(str(error)) from None
    values = (_operand(condition, code.BOOL), _operand(chosen, dtype), _operand(other, dtype))
    return _new(WHERE, values, (code.BOOL, dtype, dtype, dtype), dtype, None)


def cast(operand: Any, dtype: np.dtype[Any], out: Node | None = None) -> Node:
    """Return the node of a copy in a dtype, perhaps the same."""
    if dtype not in DTYPES:
        raise CannotFuse(f"a conversion to {dtype!r}")
    return _new(CAST, (_operand(operand, dtype),), (dtype, dtype), dtype, out)


def fill(value: Any, like: Node, dtype: np.dtype[Any]) -> Node:
    """Return the node of one number in the form of another array."""
    if dtype not in DTYPES:
        raise CannotFuse(f"an array of {dtype!r}")
    return Node(FILL, (number(value, dtype),), (dtype, dtype), dtype, like.shape, new_steps(like.shape, (like.steps,)))


def _new(
    function: Any, operands: tuple[Any, ...], loop: tuple[np.dtype[Any], ...], dtype: np.dtype[Any], out: Node | None
) -> Node:
    nodes = [one for one in operands if type(one) is Node]
    first = nodes[0] if nodes else out
    assert first is not None
    shape, steps = first.shape, first.steps
    shapes = {one.shape for one in nodes}
    if out is not None:
        shapes.add(out.shape)
    if len(shapes) > 1:
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError as error:
            raise CannotFuse(str(error)) from None
    if out is None:
        if len(shapes) == 1 and all(one.steps == steps for one in nodes):
            return Node(function, operands, loop, dtype, shape, new_steps(shape, (steps,)))
        return Node(function, operands, loop, dtype, shape, new_steps(shape, _placed(nodes, shape)))
    if shape != out.shape or not np.can_cast(dtype, out.dtype, "same_kind"):
        raise CannotFuse("a result that its array can't hold")
    result = Node(function, operands, loop, dtype, shape, out.steps)
    if dtype == out.dtype:
        return result
    if code.converted("x", dtype, out.dtype) is None:
        raise CannotFuse(f"a conversion of {dtype} to {out.dtype}")
    return Node(CAST, (result,), (out.dtype, out.dtype), out.dtype, shape, out.steps)


def _placed(nodes: Sequence[Node], shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the strides of arrays along the axes of what they are broadcast to."""
    ndim = len(shape)
    return tuple(
        (0,) * (ndim - len(one.shape))
        + tuple(0 if length == 1 else step for length, step in zip(one.shape, one.steps, strict=True))
        for one in nodes
    )


@functools.lru_cache(maxsize=4096)
def new_steps(shape: tuple[int, ...], operands: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of the array that NumPy allocates for a result.

    Its axes are ordered as NumPy's iterator orders them: by insertion, from the last, as the operands' strides say, in
    doubt in C order (numpy/_core/src/multiarray/nditer_constr.c, npyiter_find_best_axis_ordering).
    """
    ndim = len(shape)
    order = list(range(ndim - 1, -1, -1))  # from the innermost axis on
    for position in range(1, ndim):
        axis, place = order[position], position
        for other in range(position - 1, -1, -1):
            if shape[axis] == 1 or shape[order[other]] == 1:
                continue
            pairs = [(abs(one[axis]), abs(one[order[other]])) for one in operands]
            compared = [inner <= outer for outer, inner in pairs if outer and inner]
            if not compared:
                continue
            if any(compared):
                break
            place = other
        order.insert(place, order.pop(position))
    steps, step = [0] * ndim, 1
    for axis in order:
        steps[axis] = step
        step *= shape[axis]
    return tuple(steps)


# --- reductions -------------------------------------------------------------------------------------------------------


def reduction(name: str, operand: Node, axis: Any, dtype: Any, keepdims: bool) -> Node:
    """Return the node of a sum, product, least or greatest element, any or all.

    Raises
    ------
    CannotFuse
        NumPy refuses it, or there is no code for it.
    """
    ndim = len(operand.shape)
    try:
        axes = tuple(range(ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, ndim)
    except (TypeError, ValueError) as error:
        raise CannotFuse(str(error)) from None
    if not axes:
        raise CannotFuse("a reduction along no axis")
    result = _result_type(name, operand.dtype, dtype)
    if result.kind == "c" and name in ("min", "max"):
        raise CannotFuse(f"{name} of complex numbers")
    axes = tuple(sorted(axes))
    if name in ("sum", "prod") and operand.dtype != result:
        if not np.can_cast(operand.dtype, result, "same_kind"):
            raise CannotFuse(f"a sum of {operand.dtype} as {result}")
        operand = cast(operand, result)
    elif name in ("any", "all") and operand.dtype != code.BOOL:
        operand = cast(operand, code.BOOL)
    shape = tuple(1 if one in axes else length for one, length in enumerate(operand.shape))
    steps = new_steps(shape, (tuple(0 if one in axes else step for one, step in enumerate(operand.steps)),))
    if not keepdims:
        steps = tuple(step for one, step in enumerate(steps) if one not in axes)
        shape = tuple(length for one, length in enumerate(shape) if one not in axes)
    return Node(name, (operand,), (result,), result, shape, steps, None, axes, keepdims)


@functools.lru_cache(maxsize=1024)
def _result_type(name: str, given: np.dtype[Any], dtype: Any) -> np.dtype[Any]:
    with np.errstate(all="ignore"):
        try:
            result: np.dtype[Any] = getattr(np, name)(
                np.ones(1, given), **({} if dtype is None else {"dtype": dtype})
            ).dtype
        except TypeError as error:
            raise CannotFuse(str(error)) from None
    if result not in DTYPES:
        raise CannotFuse(f"an array of {result!r}")
    return result


def mean(operand: Node, axis: Any, dtype: Any, keepdims: bool) -> Node:
    """Return the node of a mean, calculated as NumPy does."""
    given = operand.dtype
    wanted = dtype
    if dtype is None and given.kind in "biu":
        wanted = np.dtype("float64")
    elif dtype is None and given == code.HALF:
        wanted = np.dtype("float32")
    total = reduction("sum", operand, axis, wanted, keepdims)
    if total.dtype.kind not in "fc":
        raise CannotFuse(f"a mean as {total.dtype}")
    count = operand.size // max(total.size, 1)
    wide = np.result_type(total.dtype, np.intp)
    quotient = call(np.true_divide, (total if total.dtype == wide else cast(total, wide), np.float64(count)))
    result = np.dtype(dtype) if dtype is not None else given if given.kind in "fc" else total.dtype
    return quotient if quotient.dtype == result else cast(quotient, result)


def reduce_code(node: Node) -> tuple[str, str]:
    """Return the C++ expression of a reduction of ``a`` and ``b``, and the type that it is calculated in."""
    special, usual = _REDUCE[node.function]
    dtype = node.dtype
    wide = code.value_type(dtype)
    if node.function in ("sum", "prod"):
        if dtype.kind == "f":
            wide = "double"
        elif dtype.kind == "c":
            wide = "complex<double>"
        elif dtype.kind in "iu":
            wide = "unsigned long long"
    return special.get(dtype.kind, usual), wide


# --- evaluation by NumPy ----------------------------------------------------------------------------------------------


def allocated(node: Node) -> np.ndarray:
    """Return new memory for a node's array, in the order of its axes."""
    order = sorted(range(len(node.shape)), key=lambda axis: -node.steps[axis])
    array = np.empty([node.shape[axis] for axis in order], node.dtype)
    return array.transpose(np.argsort(order))


def evaluated(node: Node, values: Sequence[Any]) -> Any:
    """Return what NumPy makes of a node's operands."""
    function = node.function
    if not node.shape:
        return _evaluated_number(node, values)
    result = allocated(node)
    if function in (CAST, FILL):
        np.copyto(result, values[0], casting="unsafe")
    elif function == WHERE:
        result[...] = np.where(*values)
    elif node.is_reduction:
        kwargs = {"dtype": node.dtype} if function in ("sum", "prod") else {}
        getattr(np, function)(values[0], axis=node.axes, keepdims=node.keepdims, out=result, **kwargs)
    else:
        function(*values, out=result, signature=node.loop, casting="unsafe")
    return result


def _evaluated_number(node: Node, values: Sequence[Any]) -> Any:
    function = node.function
    if function in (CAST, FILL):
        return np.asarray(values[0]).astype(node.dtype)[()]
    if function == WHERE:
        return np.where(*values)[()]
    if node.is_reduction:
        kwargs = {"dtype": node.dtype} if function in ("sum", "prod") else {}
        return getattr(np, function)(values[0], axis=node.axes, **kwargs)
    return function(*values, signature=node.loop, casting="unsafe")
