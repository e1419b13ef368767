"""The operators of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .array_base import _ndarray_base, wrap
from .namespace import FUNCTIONS, UFUNCS

if TYPE_CHECKING:
    from .ndarray import ndarray


def _defers(left: Any, right: Any) -> bool:
    """Whether a binary operator leaves the decision to the right operand (NEP 13, with CuPy's priorities)."""
    try:
        theirs = right.__array_ufunc__
    except AttributeError:
        mine, priority = getattr(left, "__array_priority__", 0), getattr(right, "__array_priority__", 0)
        return bool(mine < priority)
    return theirs is None


def _binary(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        if not isinstance(other, _ndarray_base) and _defers(self, other):
            return NotImplemented
        return UFUNCS[name](self, other)

    return method


def _reflected(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        return UFUNCS[name](other, self)

    return method


def _inplace(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        return UFUNCS[name](self, other, self)

    return method


def _comparison(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        if not isinstance(other, _ndarray_base):
            if _defers(self, other):
                return NotImplemented
            # What compares by identity equals no element: None, Ellipsis, objects of one's own.
            methods = ("__eq__",) if name == "equal" else ("__eq__", "__ne__")
            if name in ("equal", "not_equal") and (
                other is None or all(getattr(type(other), m) is getattr(object, m) for m in methods)
            ):
                return wrap(np.full(self.shape, name == "not_equal"))
        return UFUNCS[name](self, other)

    return method


class Operators(_ndarray_base):
    """The operators of an array."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    __lt__, __le__ = _comparison("less"), _comparison("less_equal")
    __gt__, __ge__ = _comparison("greater"), _comparison("greater_equal")
    __eq__, __ne__ = _comparison("equal"), _comparison("not_equal")
    __add__, __radd__, __iadd__ = _binary("add"), _reflected("add"), _inplace("add")
    __sub__, __rsub__, __isub__ = _binary("subtract"), _reflected("subtract"), _inplace("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply"), _reflected("multiply"), _inplace("multiply")
    __truediv__, __rtruediv__ = _binary("true_divide"), _reflected("true_divide")
    __itruediv__ = _inplace("true_divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __ifloordiv__ = _inplace("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder"), _reflected("remainder"), _inplace("remainder")
    __divmod__, __rdivmod__ = _binary("divmod"), _reflected("divmod")
    __pow__, __rpow__, __ipow__ = _binary("power"), _reflected("power"), _inplace("power")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift"), _reflected("left_shift"), _inplace("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift"), _reflected("right_shift"), _inplace("right_shift")
    __and__, __rand__, __iand__ = _binary("bitwise_and"), _reflected("bitwise_and"), _inplace("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or"), _reflected("bitwise_or"), _inplace("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor"), _reflected("bitwise_xor"), _inplace("bitwise_xor")

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, _ndarray_base) and _defers(self, other):
            return NotImplemented
        return FUNCTIONS["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return FUNCTIONS["matmul"](other, self)

    def __neg__(self) -> ndarray:
        result: ndarray = UFUNCS["negative"](self)
        return result

    def __abs__(self) -> ndarray:
        result: ndarray = UFUNCS["absolute"](self)
        return result

    def __invert__(self) -> ndarray:
        result: ndarray = UFUNCS["invert"](self)
        return result
