"""Running host-only functions on device data: arguments to the host, NumPy active, results back."""

from __future__ import annotations

import sys
from functools import wraps
from types import AsyncGeneratorType, CoroutineType, GeneratorType, SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from cunumpy import _arrays, _backend, _containers, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["evaluate_on_host", "host_call", "host_call_inplace", "setup_on_host"]

_modules = sys.modules
_get_backend = _backend.get_backend
_HOST_TYPES = _containers.PLAIN_TYPES | {np.ndarray}
_UNFINISHED = (GeneratorType, CoroutineType, AsyncGeneratorType)


def host_call(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that only works with NumPy, on arrays of either backend.

    Device arrays among the arguments are copied to the host, ``fun`` runs with the NumPy backend active, and arrays
    among its results are copied to the device. With host arguments and the NumPy backend ``fun`` is just called.

    Parameters
    ----------
    fun : callable
        The function.
    *args, **kwargs : Any
        Its arguments. Device arrays are found in tuples, named tuples, lists, dicts and dataclass instances, at any
        depth, and replaced by NumPy arrays with `to_numpy`; a container around them is replaced by one of the same
        type. An array that is passed twice is copied once and arrives as one array. All other objects arrive as they
        are: sets, objects with array attributes, and, as long as CuPy has not been imported, other libraries' device
        arrays.

    Returns
    -------
    Any
        What ``fun`` returns. If an argument was converted, NumPy arrays in the result (in the same kinds of container)
        go to the device with `to_cupy`. Scalars stay on the host, NumPy's scalars such as the result of ``x.sum()``
        included; so do masked arrays, arrays that a device can't hold (of strings, dates, objects, long doubles), and
        all other objects. If only the active backend is CuPy, no result is converted.

    Raises
    ------
    ArgumentTypeError
        A container with device arrays can't be copied; or ``fun``, called with NumPy in the place of CuPy, returned a
        generator or coroutine, whose body would run after the call, without the NumPy backend.
    TransferError
        Inside ``xp.profiling.forbid_transfers()``, before ``fun`` is called.

    Notes
    -----
    What ``fun`` writes into its arguments does not reach the device arrays; `host_call_inplace` copies it back.
    Recorded are one ``to_host`` for each array converted and one ``to_device`` for each array of the result.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> xp.host_call(np.interp, xp.asarray([0.5]), xp.asarray([0.0, 1.0]), xp.asarray([10.0, 20.0]))
    array([15.])
    """
    if not callable(fun):
        raise _not_callable(fun, "host_call")
    if "cupy" not in _modules:  # then there are no device arrays, and the backend is NumPy
        return fun(*args, **kwargs)
    for value in args:
        if type(value) not in _HOST_TYPES:
            return _call(fun, (), args, kwargs, False, "host_call")
    for value in kwargs.values():
        if type(value) not in _HOST_TYPES:
            return _call(fun, (), args, kwargs, False, "host_call")
    if _get_backend() == "numpy":
        return fun(*args, **kwargs)
    return _call(fun, (), args, kwargs, False, "host_call")


def host_call_inplace(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function as `host_call` does, and copy what it wrote into its array arguments back to the device.

    Parameters
    ----------
    fun : callable
        The function.
    *args, **kwargs : Any
        Its arguments, as in `host_call`.

    Returns
    -------
    Any
        What ``fun`` returns, as in `host_call`; where that is one of the converted arguments, the device array itself.

    Raises
    ------
    ArgumentError
        Two different device arrays among the arguments share memory, so that their copies can't; nothing was called.
    ArgumentTypeError, TransferError
        As in `host_call`.

    Notes
    -----
    Every device array found in the arguments is copied back, after ``fun`` has returned; recorded is one ``to_device``
    for each. If ``fun`` raises, the device arrays are as they were.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> x = xp.asarray([3.0, 1.0, 2.0])
    >>> xp.host_call_inplace(np.ndarray.sort, x)
    >>> x
    array([1., 2., 3.])
    """
    return _call(fun, (), args, kwargs, True, "host_call_inplace")


@overload
def evaluate_on_host(method: Callable[P, R], *, inplace: bool = False) -> Callable[P, R]: ...
@overload
def evaluate_on_host(method: None = None, *, inplace: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def evaluate_on_host(method: Any = None, *, inplace: bool = False) -> Any:
    """Decorate a method that only works with NumPy, so that it takes arrays of either backend.

    Parameters
    ----------
    method : callable
        The method. Its arguments and result are treated as by `host_call`; the object it belongs to is passed as it
        is, whatever its type.
    inplace : bool, default: False
        Copy what the method writes into its array arguments back to the device, as `host_call_inplace` does.

    Returns
    -------
    callable
        The method with the same name and documentation; or, called without a method, the decorator.

    Raises
    ------
    ArgumentTypeError
        The method is not callable.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> class Profile:
    ...     @xp.evaluate_on_host
    ...     def __call__(self, x):
    ...         return np.interp(x, [0.0, 1.0], [10.0, 20.0])
    >>> Profile()(xp.asarray([0.5]))
    array([15.])
    """
    inplace = _gate.as_truth(inplace, function="evaluate_on_host", argument="inplace")
    if method is None:
        return lambda method: evaluate_on_host(method, inplace=inplace)
    _check_callable(method, "evaluate_on_host")

    @wraps(method)
    def wrapper(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return _call(method, (self,), args, kwargs, inplace, "evaluate_on_host")

    return wrapper


@overload
def setup_on_host(init: Callable[P, Any], *, convert: bool = False) -> Callable[P, None]: ...
@overload
def setup_on_host(init: None = None, *, convert: bool = False) -> Callable[[Callable[P, Any]], Callable[P, None]]: ...
def setup_on_host(init: Any = None, *, convert: bool = False) -> Any:
    """Decorate an ``__init__`` that only works with NumPy, so that it runs with the NumPy backend active.

    Parameters
    ----------
    init : callable
        The method, usually ``__init__``; what it returns is dropped.
    convert : bool, default: False
        Copy device arrays among the arguments to the host, as `host_call` does. By default arguments are passed as
        they are.

    Returns
    -------
    callable
        The method with the same name and documentation; or, called without a method, the decorator.

    Raises
    ------
    ArgumentTypeError
        The method is not callable.

    Examples
    --------
    >>> import cunumpy as xp
    >>> class Grid:
    ...     @xp.setup_on_host
    ...     def __init__(self, n):
    ...         self.points = xp.linspace(0.0, 1.0, n)
    >>> Grid(3).points
    array([0. , 0.5, 1. ])
    """
    convert = _gate.as_truth(convert, function="setup_on_host", argument="convert")
    if init is None:
        return lambda init: setup_on_host(init, convert=convert)
    _check_callable(init, "setup_on_host")

    @wraps(init)
    def wrapper(self: Any, /, *args: Any, **kwargs: Any) -> None:
        if convert:
            args, kwargs, _ = _to_host(args, kwargs, "setup_on_host")
        with _backend.use_backend("numpy"):
            init(self, *args, **kwargs)

    return wrapper


def _call(
    fun: Callable[..., Any],
    bound: tuple[Any, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inplace: bool,
    function: str,
) -> Any:
    """Call ``fun(*bound, *args, **kwargs)`` on the host; ``bound`` is passed as it is."""
    if not callable(fun):
        raise _not_callable(fun, function)
    if "cupy" not in _modules:
        return fun(*bound, *args, **kwargs)
    converted: list[tuple[Any, np.ndarray]] = []
    if _containers.holds((*args, *kwargs.values()), _on_device):
        args, kwargs, converted = _to_host(args, kwargs, function, separate=inplace)
    elif _get_backend() == "numpy":
        return fun(*bound, *args, **kwargs)
    with _backend.use_backend("numpy"):
        result = fun(*bound, *args, **kwargs)
    refuse_unfinished(result, getattr(fun, "__name__", fun), function)
    if not converted:
        return result
    memo: _containers.Memo = {}
    if inplace:
        for device, host in converted:
            _conversion.write_to_device(device, host, function)
        memo = {id(host): (host, device) for device, host in converted}
    return _containers.convert(result, _result_to_device, memo, function)


def _to_host(
    args: tuple[Any, ...], kwargs: dict[str, Any], function: str, *, separate: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any], list[tuple[Any, np.ndarray]]]:
    """Convert arguments; return them and the pairs of CuPy array and host copy."""
    converted: list[tuple[Any, np.ndarray]] = []

    def leaf(value: Any) -> Any:
        if not _on_device(value):
            return value
        array = value if _arrays.is_device_array(value) else _conversion.wrap_foreign(value, function)
        if separate:
            for other, _ in converted:
                _refuse_overlap(array, other, function)
        host = _conversion.to_numpy(array)
        converted.append((array, host))
        return host

    memo: _containers.Memo = {}
    args = tuple([_containers.convert(value, leaf, memo, function) for value in args])
    kwargs = {name: _containers.convert(value, leaf, memo, function) for name, value in kwargs.items()}
    return args, kwargs, converted


def refuse_unfinished(result: Any, name: Any, function: str) -> None:
    """Raise for what a generator or asynchronous function returns: its body has not run yet."""
    if isinstance(result, _UNFINISHED):
        if not isinstance(result, AsyncGeneratorType):
            result.close()  # else Python warns of a coroutine that nobody awaited
        raise ArgumentTypeError(
            f"{function}: {name!r} returned a {type(result).__name__}, whose body would run after the call, without "
            "the NumPy backend and when its arrays have been copied back; let it return a finished result, a list for "
            "instance."
        )


def _not_callable(fun: Any, function: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"{function}: the first argument must be the function to call, got {fun!r}.")


def _on_device(value: Any) -> bool:
    return _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value)


def _result_to_device(value: Any) -> Any:
    if isinstance(value, np.ndarray) and _gate.fits_device(value.dtype) and not _gate.is_masked(value):
        return _conversion.to_cupy(value)
    return value


def _refuse_overlap(array: Any, other: Any, function: str) -> None:
    """Raise where two device arrays share memory: their host copies do not, so writes would be lost."""
    if np.shares_memory(_addresses(array), _addresses(other)):
        raise ArgumentError(
            f"{function}: two device arrays among the arguments share memory (shapes {other.shape} and {array.shape}), "
            "but their host copies would not, so that writes could be lost; pass one and slice it in the function."
        )


def _addresses(array: Any) -> np.ndarray:
    """Return an array at the device array's addresses, good for comparing them only."""
    interface = {
        "version": 3,
        "data": (array.data.ptr, True),
        "shape": array.shape,
        "strides": array.strides,
        "typestr": f"|V{array.dtype.itemsize}",
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))


def _check_callable(function: Any, decorator: str) -> None:
    if not callable(function):
        raise ArgumentTypeError(f"{decorator}: must decorate a method, got {function!r}.")
