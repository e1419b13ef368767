"""``cupy.fuse``: the function runs unfused, on proxies that refuse what CuPy can't fuse.

As in CuPy, the function sees no arrays but proxies. They have operators, a few methods, and go into ufuncs and the
functions of `FUSABLE`; anything else finds no array in them. Data can't decide where the function goes, and arrays that
are no arguments can't take part.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .array_base import is_host_array, unsupported
from .elements import host_index, is_basic
from .namespace import FUNCTIONS, UFUNCS
from .ndarray import ndarray

# fmt: off
FUSABLE = frozenset([
    "all", "amax", "amin", "any", "around", "clip", "copy", "copyto", "imag", "max", "min", "nanprod", "nansum",
    "prod", "real", "round", "sum", "where",
])
# fmt: on
_WITHOUT_KEEPDIMS = frozenset(["all", "amax", "amin", "any", "max", "min", "nanprod", "nansum", "prod", "sum"])
_SCALARS = (np.generic, int, float, complex, bool)

_of_thread = threading.local()


def is_fusing() -> bool:
    """Whether this thread is inside a fused function."""
    return bool(getattr(_of_thread, "fusing", False))


def _operator(name: str) -> Any:
    return lambda self, other: UFUNCS[name](self, other)


def _reflected(name: str) -> Any:
    return lambda self, other: UFUNCS[name](other, self)


def _inplace(name: str) -> Any:
    return lambda self, other: UFUNCS[name](self, other, self)


def _refused(self: Any) -> Any:
    raise TypeError("Cannot convert to Python scalar in cupy.fuse")


class _VariableProxy:
    """What a fused function sees of an argument or a result."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, content: Any) -> None:
        self._content = content

    __bool__, __int__, __float__, __complex__ = _refused, _refused, _refused, _refused
    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = map(
        _operator, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    )

    def __neg__(self) -> Any:
        return UFUNCS["negative"](self)

    def __invert__(self) -> Any:
        return UFUNCS["invert"](self)

    def copy(self) -> Any:
        """Return a copy."""
        return applied(lambda content: content.copy() if isinstance(content, ndarray) else content, (self,), {})

    def astype(self, dtype: Any, order: Any = None, casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        """Return the value with another type."""
        for name, value in (("order", order), ("casting", casting), ("subok", subok)):
            if value is not None:
                raise TypeError(f"{name} is not supported yet")
        dtype = np.dtype(dtype)
        return applied(
            lambda content: content.astype(dtype, copy=copy) if isinstance(content, ndarray) else dtype.type(content),
            (self,),
            {},
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return np.result_type(self._content.dtype if isinstance(self._content, ndarray) else self._content)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._content.ndim if isinstance(self._content, ndarray) else 0

    @property
    def shape(self) -> Any:
        """Not there."""
        raise NotImplementedError("`shape` is not supported, currently.")


for _name, _of in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor",
}.items():  # fmt: skip
    setattr(_VariableProxy, f"__{_name}__", _operator(_of))
    setattr(_VariableProxy, f"__r{_name}__", _reflected(_of))


class _ScalarProxy(_VariableProxy):
    """What a fused function sees of a number."""


class _ArrayProxy(_VariableProxy):
    """What a fused function sees of an array."""

    def __getitem__(self, index: Any) -> Any:
        if not is_basic(index):
            raise IndexError("Indices must be integers, slices, ellipsis, None or integer or boolean arrays.")
        return applied(lambda content: content[host_index(index)], (self,), {})

    def __setitem__(self, slices: Any, value: Any) -> None:
        if slices is not Ellipsis and not (isinstance(slices, slice) and slices == slice(None)):
            raise ValueError("The fusion supports `[...]` or `[:]`.")
        applied(lambda content, new: content.__setitem__(slices, new), (self, value), {})


def _reduction(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return FUNCTIONS[name](self, *args, **kwargs)

    return method


for _name in ("all", "any", "max", "min", "prod", "sum"):
    setattr(_ArrayProxy, _name, _reduction(_name))
for _name, _of in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor",
}.items():  # fmt: skip
    setattr(_ArrayProxy, f"__i{_name}__", _inplace(_of))


def _proxy(value: Any) -> Any:
    if isinstance(value, ndarray):
        return _ArrayProxy(value)
    return _ScalarProxy(value) if isinstance(value, _SCALARS) else value


def _content(value: Any) -> Any:
    """Return what a proxy stands for; an array that is no proxy has no place in a fused function."""
    if isinstance(value, _VariableProxy):
        return value._content
    if isinstance(value, (ndarray, np.ndarray)):
        raise TypeError("Concrete ndarray is not supported in fusion.")
    return value


def is_proxy(*values: Any) -> bool:
    """Whether one of the values stands for a value in a fused function."""
    return any(isinstance(value, _VariableProxy) for value in values)


def applied(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with what proxies stand for, and return proxies."""
    given = {id(value._content): value for value in (*args, *kwargs.values()) if isinstance(value, _VariableProxy)}
    numbers = not any(isinstance(value, _ArrayProxy) for value in given.values())
    found = function(*map(_content, args), **{name: _content(value) for name, value in kwargs.items()})
    results = []
    for one in found if isinstance(found, tuple) else (found,):
        if numbers and isinstance(one, ndarray):
            # Of numbers alone comes a number, and one of Python's of those of Python.
            strong = any(isinstance(value._content, np.generic) for value in given.values())
            one = one._buffer[()] if strong else one._buffer.item()
        results.append(given[id(one)] if id(one) in given else _proxy(one))
    return tuple(results) if isinstance(found, tuple) else results[0]


def fusable(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of CuPy's that takes proxies, too."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_proxy(*args, *kwargs.values()):
            return function(*args, **kwargs)
        if kwargs.get("keepdims") and name in _WITHOUT_KEEPDIMS:
            shown = {"max": "amax", "min": "amin"}.get(name, name)
            raise NotImplementedError(f"cupy.{shown} does not support `keepdims` in fusion yet.")
        if name == "where" and len(args) + len(kwargs) == 1:
            raise AttributeError("'_ArrayProxy' object has no attribute 'nonzero'")
        return applied(function, args, kwargs)

    return call


class Fusion:
    """A function that `cupy.fuse` made: it takes device arrays and numbers, and returns what the function does."""

    def __init__(self, function: Callable[..., Any], kernel_name: str | None = None) -> None:
        self.func, self.name = function, kernel_name or function.__name__

    def __call__(self, *args: Any) -> Any:
        if is_fusing() or not any(isinstance(argument, ndarray) for argument in args):
            return self.func(*args)
        for argument in args:
            if is_host_array(argument):
                raise unsupported(argument)
            if not isinstance(argument, (ndarray, *_SCALARS, type(None))):
                raise TypeError(f"Invalid argument type for '{self.name}': ({type(argument)})")
        # One array, given twice, is one array inside, too.
        proxies: dict[int, Any] = {}
        seen = [proxies.setdefault(id(argument), _proxy(argument)) for argument in args]
        _of_thread.fusing = True
        try:
            return _returned(self.func(*seen))
        finally:
            _of_thread.fusing = False


def _returned(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_returned(item) for item in value)
    return value._content if isinstance(value, _VariableProxy) else value


def fuse(*args: Any, **kwargs: Any) -> Any:
    """Return the function, or a decorator; nothing is fused, and what CuPy can't fuse is refused."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return functools.update_wrapper(Fusion(args[0]), args[0])
    return lambda function: functools.update_wrapper(Fusion(function, *args, **kwargs), function)
