"""What becomes of NumPy's functions that are no universal functions, called with the stand-ins of a fused function."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.kernels import _fused_code as code
from cunumpy.kernels import _fused_graph as graph
from cunumpy.kernels._fused_graph import CannotFuse, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cunumpy.kernels._fused_arrays import FusedArray, Record

_numpy: Any = np  # where its stubs know less than it has

METHODS: dict[str, Callable[..., Any]] = {
    "astype": lambda array, dtype, copy: array.astype(dtype, copy=copy),
    "copy": lambda array, order: array.copy(order),
}
"""Of arrays and of NumPy's numbers, which one of them a result may be."""


def check_dims(array: Any, number: bool = False) -> None:
    """Leave to NumPy what makes arrays without dimensions; of numbers others make numbers."""
    if not array.shape and not number:
        raise CannotFuse("an array without dimensions")


def copied(array: FusedArray, order: str) -> Any:
    """Do what a copy is asked for."""
    record = array._record
    if record.why_not is None:
        try:
            check_dims(array, array._real is None)
            node = graph.cast(array._node, array.dtype)
            if order == "C":
                node.steps = graph.new_steps(node.shape, ())
            elif order != "K":
                raise CannotFuse("a copy in another order")
            return record.add(node, METHODS["copy"], (array, order), {})
        except CannotFuse as error:
            record.give_up(str(error))
    return array._value().copy(order)


def reduce(record: Record, name: str, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Do what a sum and the like is asked for."""
    if record.why_not is None:
        try:
            operand = record.node_of(args[0])
            if not isinstance(operand, Node) or len(args) > 1:
                raise CannotFuse(f"{name} of a number")
            make = graph.mean if name == "mean" else functools.partial(graph.reduction, name)
            node = make(operand, kwargs.get("axis"), kwargs.get("dtype"), bool(kwargs.get("keepdims", False)))
            return record.add(node, function, args, kwargs)
        except CannotFuse as error:
            record.give_up(str(error))
    return function(*record.real(args), **record.real(kwargs))


REDUCING = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}


def _reducing(name: str) -> Any:
    takes_dtype = name in ("sum", "prod", "mean")

    def with_dtype(record: Record, function: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
                   keepdims: Any = False, **others: Any) -> Any:  # fmt: skip
        if out is not None or any(value is not _numpy._NoValue for value in others.values()):
            raise CannotFuse("results in a given array, or of some elements")
        keepdims = False if keepdims is _numpy._NoValue else keepdims
        kwargs = {"axis": axis, "keepdims": keepdims, **({} if dtype is None else {"dtype": np.dtype(dtype)})}
        return reduce(record, name, function, (a,), kwargs)

    def without(record: Record, function: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
                **others: Any) -> Any:  # fmt: skip
        return with_dtype(record, function, a, axis, None, out, keepdims, **others)

    return with_dtype if takes_dtype else without


def _where(record: Record, function: Any, condition: Any, x: Any, y: Any) -> Any:
    node = graph.where(*(record.node_of(one) for one in (condition, x, y)))
    check_dims(node)
    return record.add(node, function, (condition, x, y), {})


def _clip(record: Record, function: Any, a: Any, a_min: Any = None, a_max: Any = None, out: Any = None,
          **others: Any) -> Any:  # fmt: skip
    missing = _numpy._NoValue
    low = others.pop("min", None) if a_min is None or a_min is missing else a_min
    high = others.pop("max", None) if a_max is None or a_max is missing else a_max
    if others:
        raise CannotFuse("clip with keywords")
    low, high = (None if one is missing else one for one in (low, high))
    if low is None and high is None:
        raise CannotFuse("clip without bounds")
    called: np.ufunc = code.clip
    operands: tuple[Any, ...] = (a, low, high)
    if low is None:
        called, operands = np.minimum, (a, high)
    elif high is None:
        called, operands = np.maximum, (a, low)
    target = None if out is None else record.check_target(out)
    node = graph.call(called, [record.node_of(one) for one in operands], target)
    if out is None:
        return record.add(node, function, (a, low, high), {})
    return record.change(out, node, function, (a, low, high), {"out": out})


def _round(record: Record, function: Any, a: Any, decimals: Any = 0, out: Any = None) -> Any:
    if decimals != 0 or out is not None:
        raise CannotFuse("rounding to decimals")
    operand = record.node_of(a)
    if not isinstance(operand, Node) or operand.dtype.kind not in "fiu":
        raise CannotFuse("rounding of such numbers")
    node = graph.call(np.rint, [operand]) if operand.dtype.kind == "f" else graph.cast(operand, operand.dtype)
    return record.add(node, function, (a,), {})


def _like(value: Any) -> Any:
    def function(record: Record, function: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(("dtype",) if value is not None else ("fill_value", "dtype"), args, strict=False)) | kwargs
        filled = given.pop("fill_value", value)
        dtype = given.pop("dtype", None)
        operand = record.node_of(a)
        number = record.node_of(filled)
        if given or not isinstance(operand, Node) or isinstance(number, Node) or len(args) > 2:
            raise CannotFuse("other forms of arrays")
        check_dims(operand)
        node = graph.fill(number, operand, operand.dtype if dtype is None else np.dtype(dtype))
        return record.add(node, function, (a, *args), kwargs)

    return function


def _known(function: Callable[[Any], Any]) -> Any:
    def answer(record: Record, called: Any, a: Any) -> Any:
        return function(a)

    return answer


def _astype(record: Record, function: Any, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if device is not None or getattr(x, "_record", None) is not record:
        raise CannotFuse("a copy for a device")
    return x.astype(dtype, copy=copy)


def _copy(record: Record, function: Any, a: Any, order: Any = "K", subok: bool = False) -> Any:
    check_dims(a)
    return copied(a, order)


FUNCTIONS: dict[str, Any] = {
    **{name: _reducing(name) for name in ("sum", "prod", "max", "min", "any", "all", "mean")},
    "amax": _reducing("max"),
    "amin": _reducing("min"),
    "where": _where,
    "clip": _clip,
    "round": _round,
    "around": _round,
    "astype": _astype,
    "zeros_like": _like(0),
    "ones_like": _like(1),
    "empty_like": _like(0),
    "full_like": _like(None),
    "copy": _copy,
    "shape": _known(lambda a: a.shape),
    "ndim": _known(lambda a: a.ndim),
    "size": _known(lambda a: a.size),
    "iscomplexobj": _known(lambda a: a.dtype.kind == "c"),
    "isrealobj": _known(lambda a: a.dtype.kind != "c"),
    "real": _known(lambda a: a.real),
    "imag": _known(lambda a: a.imag),
    "result_type": lambda record, function, *args: np.result_type(
        *(one.dtype if isinstance(one, (np.ndarray, np.generic)) else one for one in args)
    ),
    "can_cast": lambda record, function, given, to, casting="safe": np.can_cast(given.dtype, to, casting),
}
