"""Elementwise functions of arrays as one CUDA kernel."""

from __future__ import annotations

import functools
import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from cunumpy import _arrays, _backend
from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError, MixedBackendError
from cunumpy.kernels._host_types import POSITIONAL, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])

_modules = sys.modules

_host_types: set[type] = {np.ndarray, int, float, complex, bool, str, tuple, list, dict, type(None)}
"""Types whose objects are no CuPy arrays; those that are met are added."""


@overload
def fuse(function: F, *, kernel_name: str | None = None) -> F: ...
@overload
def fuse(function: None = None, *, kernel_name: str | None = None) -> Callable[[F], F]: ...
def fuse(function: Any = None, *, kernel_name: str | None = None) -> Any:
    """Make one kernel launch of an elementwise function of device arrays.

    Calls without a device array run `function` as it is, at the cost of a look at the arguments' types. With one,
    `cupy.fuse` follows what `function` does with them, once for each combination of dtypes and numbers of dimensions,
    and compiles one kernel for all of it, with no arrays in between. While it follows, and only then, the CuPy backend
    is active in this context (thread, task), so that ``xp.exp`` is CuPy's.

    Fused functions may call each other: the inner one becomes part of the outer one's kernel.

    Parameters
    ----------
    function : callable, optional
        Of arrays and numbers; it may use operators, universal functions such as ``xp.exp``, and CuPy allows a simple
        reduction at its end. Left out, a decorator is returned.
    kernel_name : str, optional
        Of the kernel, in profilers. Default: that of the function.

    Returns
    -------
    callable
        With the name, documentation and ``__wrapped__`` of `function`. In calls with a device array, positional
        parameters may be given by keyword. Python numbers there take the dtype that NumPy gives them beside the
        arrays: the arrays' own, or a wider one where the kind of number needs it.

    Raises
    ------
    ArgumentTypeError
        `function` can't be called; in a call: a keyword that is no positional parameter.
    ArgumentError
        The name of the kernel is no identifier.
    MixedBackendError
        In a call: NumPy arrays among device arrays.
    ArgumentRangeError
        In a call: a number that the arrays' dtype can't hold.

    Notes
    -----
    What `function` can't be fused for, CuPy's exception says at the first call with device arrays.

    Examples
    --------
    >>> import cunumpy as xp
    >>> @xp.kernels.fuse
    ... def damped(x, rate):
    ...     return x * xp.exp(-rate * x)
    >>> damped(xp.zeros(2), 0.5)
    array([0., 0.])
    """
    if function is None:
        return functools.partial(fuse, kernel_name=kernel_name)
    if not callable(function):
        raise ArgumentTypeError(f"fuse: argument 'function' must be callable, got {describe(function)}.")
    if kernel_name is not None and not (isinstance(kernel_name, str) and re.fullmatch(r"[A-Za-z_]\w*", kernel_name)):
        raise ArgumentError(f"fuse: argument 'kernel_name' must be a name of a C function, got {kernel_name!r}.")

    on_device = _OnDevice(function, kernel_name)

    @functools.wraps(function)
    def fused(*args: Any, **kwargs: Any) -> Any:
        if "cupy" not in _modules:
            return function(*args, **kwargs)
        for value in args:
            if type(value) not in _host_types and _is_device_array(value):
                return on_device(args, kwargs)
        if kwargs:
            for value in kwargs.values():
                if type(value) not in _host_types and _is_device_array(value):
                    return on_device(args, kwargs)
        return function(*args, **kwargs)

    fused.__name__ = on_device.name
    return fused


def _is_device_array(value: Any) -> bool:
    if _arrays.is_device_array(value):
        return True
    if len(_host_types) < 256:
        _host_types.add(type(value))
    return False


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


class _OnDevice:
    """The calls with device arrays."""

    def __init__(self, function: Callable[..., Any], kernel_name: str | None) -> None:
        self.name = _name_of(function)
        self._function = function
        self._kernel_name = kernel_name or re.sub(r"\W", "_", self.name, flags=re.ASCII)
        self._fused: Callable[..., Any] | None = None

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs:
            args = self._positional(args, kwargs)
        dtypes = []
        for number, value in enumerate(args):
            if isinstance(value, np.ndarray):
                raise MixedBackendError(
                    f"{self.name}: argument {number} is a NumPy array ({describe(value)}) in a fused call with device "
                    "arrays; convert it explicitly, with xp.to_cupy."
                )
            if _arrays.is_device_array(value):
                dtypes.append(value.dtype)
        args = tuple(self._number(value, dtypes) if type(value) in (int, float, complex) else value for value in args)
        if self._fused is None:
            self._fused = _modules["cupy"].fuse(kernel_name=self._kernel_name)(self._follow)
        return self._fused(*args)

    def _follow(self, *args: Any) -> Any:
        with _backend.use_backend("cupy", strict=True):
            return self._function(*args)

    def _number(self, value: complex, dtypes: list[Any]) -> np.generic:
        dtype = np.result_type(*dtypes)
        try:
            dtype = np.result_type(dtype, value)
            with np.errstate(over="ignore"):
                number: np.generic = dtype.type(value)
        except OverflowError:
            number = np.float64(np.inf)
        if np.isinf(number) and (isinstance(value, int) or not np.isinf(value)):
            raise ArgumentRangeError(
                f"{self.name}: the number {value!r} is out of the range of {dtype}, which the arrays of the call have; "
                "convert the arrays to a wider dtype."
            )
        return number

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position: CuPy takes no keywords."""
        try:
            signature = signature_of(self._function)
        except ValueError:  # a builtin that doesn't say
            others = list(kwargs)
        else:
            given = signature.bind(*args, **kwargs).arguments
            places = [one for one in signature.parameters.values() if one.kind in POSITIONAL]
            others = [name for name in kwargs if name not in {one.name for one in places}]
            if not others:
                last = max(number for number, one in enumerate(places) if one.name in given)
                values = [given.get(one.name, one.default) for one in places[: last + 1]]
                return (*values, *args[len(values) :])
        raise ArgumentTypeError(
            f"{self.name}: keyword(s) {', '.join(map(repr, others))} can't be passed in a fused call with device "
            "arrays; make them positional parameters."
        )
