"""``cupyx`` and ``cupyx.scipy``: SciPy's functions under the names that CuPy has, with device arrays in and out.

A submodule imports SciPy when it is first used. Objects (splines, filters) are served as proxies that convert the
arguments and results of their methods. The matrices of ``cupyx.scipy.sparse`` are written out in `sparse`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _api
from .functions import _words, is_on_device, wrapped
from .memory import alloc_pinned_memory
from .ndarray import is_host_array, ndarray, unsupported, unwrap, used

# Where CuPy takes data as device arrays only, found by calling a real one with lists: modules, and single functions.
_STRICT_MODULES = _words("fft fftpack linalg ndimage spatial spatial.distance special stats")
_STRICT = _words(
    """
    interpolate.BarycentricInterpolator interpolate.KroghInterpolator interpolate.barycentric_interpolate
    interpolate.interp1d interpolate.krogh_interpolate signal.choose_conv_method signal.convolve signal.convolve2d
    signal.correlate signal.correlate2d signal.cspline1d_eval signal.cspline2d signal.cwt signal.fftconvolve
    signal.hilbert signal.hilbert2 signal.lfilter signal.lfiltic signal.medfilt signal.medfilt2d signal.minimum_phase
    signal.oaconvolve signal.order_filter signal.qspline1d_eval signal.qspline2d signal.residue signal.residuez
    signal.sepfir2d signal.sos2zpk signal.sosfilt signal.sosfilt_zi signal.spectrogram signal.spline_filter
    signal.symiirorder1 signal.unique_roots signal.upfirdn signal.wiener signal.zpk2ss signal.zpk2tf
    """
)
_TAKE_LISTS = _words(
    """
    fft.fftshift fft.ifftshift linalg.bandwidth linalg.block_diag linalg.lu linalg.lu_factor linalg.lu_solve
    ndimage.histogram ndimage.labeled_comprehension spatial.distance_matrix
    """
)


def _inward(value: Any) -> Any:
    """Return an argument for SciPy. Host arrays are refused; short lists (shapes, sections, options) are not data."""
    if isinstance(value, ndarray):
        return used(value)
    if is_host_array(value):
        raise unsupported(value)
    if isinstance(value, Proxy):
        return value._wrapped
    if isinstance(value, (list, tuple)):
        return type(value)(_inward(item) for item in value) if not hasattr(value, "_fields") else value
    if isinstance(value, dict):
        return {key: _inward(item) for key, item in value.items()}
    return value


def _outward(value: Any) -> Any:
    """Return a result of SciPy with its arrays on the device."""
    if isinstance(value, (tuple, list)) and hasattr(value, "_fields"):
        return tuple(_outward(item) for item in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return wrapped(value, ())
    if isinstance(value, (tuple, list)):
        return type(value)(_outward(item) for item in value)
    if type(value).__module__.startswith("scipy."):
        return Proxy(value)
    return value


class Proxy:
    """An object of SciPy whose methods and attributes take and give device arrays."""

    def __init__(self, wrapped_object: Any) -> None:
        self._wrapped = wrapped_object

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_wrapped":
            raise AttributeError(name)
        value = getattr(self._wrapped, name)
        return _converting(value) if callable(value) else _outward(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _converting(self._wrapped)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<stand-in of {type(self._wrapped).__name__}>"


def _converting(function: Callable[..., Any], *, strict: bool = False) -> Callable[..., Any]:
    """Return a function of SciPy's for device arrays; a strict one takes no list for its data."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in _data(function, args, kwargs) if strict else ():
            if isinstance(value, (list, tuple)):
                raise unsupported(value)
        with np.errstate(all="ignore"):
            return _outward(function(*_inward(args), **_inward(kwargs)))

    return functools.wraps(function)(call) if hasattr(function, "__name__") else call


def _data(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the data of a call: all operands of a ufunc, else the first argument."""
    if isinstance(function, np.ufunc):
        return args[: function.nin]
    if args:
        return args[:1]
    first = next(iter(inspect.signature(function).parameters), "")
    return (kwargs.get(first),)


class _ScipyModule(types.ModuleType):
    """A module of ``cupyx.scipy``."""

    def __getattr__(self, name: str) -> Any:
        path = self.__name__.removeprefix("cupyx.scipy.")
        names = _api.SCIPY[path]
        if name == "__all__":
            return list(names)
        if name not in names:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        module = importlib.import_module(f"scipy.{path}")
        value = getattr(module, name, None)
        if value is None:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}: CuPy has it, but the installed SciPy, by which "
                "the stand-in serves it, does not",
                name=name,
                obj=self,
            )
        qualified = f"{path}.{name}"
        strict = (path in _STRICT_MODULES or qualified in _STRICT) and qualified not in _TAKE_LISTS
        served = _converting(value, strict=strict) if callable(value) else value
        vars(self)[name] = served
        return served

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *_api.SCIPY[self.__name__.removeprefix("cupyx.scipy.")]})


class _SparseModule(types.ModuleType):
    """``cupyx.scipy.sparse`` or a module in it, filled when a name is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        names = self._fill()
        if name == "__all__":
            return sorted(names)
        if name not in names:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        return names[name]

    def _fill(self) -> dict[str, Any]:
        from . import sparse, sparse_linalg

        made: dict[str, Callable[[], dict[str, Any]]] = {
            "sparse": sparse.contents,
            "sparse.linalg": sparse_linalg.contents,
            "sparse.csgraph": sparse_linalg.graph_contents,
        }
        names = made[self.__name__.removeprefix("cupyx.scipy.")]()
        vars(self).update(names)
        return names

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self._fill()})


_SPARSE = ("sparse", "sparse.csgraph", "sparse.linalg")


def submodules() -> dict[str, types.ModuleType]:
    """Return the modules of ``cupyx.scipy`` by their names below it."""
    modules: dict[str, types.ModuleType] = {}
    for path in (*_api.SCIPY, *_SPARSE):
        name = f"cupyx.scipy.{path}"
        kind = _SparseModule if path in _SPARSE else _ScipyModule
        module = kind(name, "Stand-in for CuPy's module of this name, served by SciPy.")
        is_package = path == "sparse" or any(other.startswith(path + ".") for other in _api.SCIPY)
        spec = importlib.machinery.ModuleSpec(name, None, origin="cunumpy.kernel_testing", is_package=is_package)
        vars(module).update(__spec__=spec, __package__=spec.parent)
        if is_package:
            vars(module)["__path__"] = []
        modules[path] = module
    return modules


def get_array_module(*args: Any) -> Any:
    """Return ``cupyx.scipy`` if an argument is a device array, else SciPy."""
    name = "cupyx.scipy" if any(map(is_on_device, args)) else "scipy"
    return importlib.import_module(name)


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.scipy``."""
    return {"get_array_module": get_array_module}


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray[Any, Any]:
    """Return a NumPy array in pinned memory."""
    return _pinned_like(np.empty(shape, dtype, order=order))  # type: ignore[call-overload]


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray[Any, Any]:
    """Return a NumPy array of zeros in pinned memory."""
    array = empty_pinned(shape, dtype, order)
    array[...] = np.zeros((), array.dtype)
    return array


def empty_like_pinned(
    a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> np.ndarray[Any, Any]:
    """Return a NumPy array in pinned memory, with the shape of another array."""
    source: Any = a._buffer if isinstance(a, ndarray) else a
    return _pinned_like(np.empty_like(source, dtype, order, subok=False, shape=shape))  # type: ignore[call-overload]


def zeros_like_pinned(
    a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> np.ndarray[Any, Any]:
    """Return a NumPy array of zeros in pinned memory, with the shape of another array."""
    array = empty_like_pinned(a, dtype, order, subok, shape)
    array[...] = np.zeros((), array.dtype)
    return array


def _pinned_like(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ndarray(array.shape, array.dtype, alloc_pinned_memory(array.nbytes), 0, array.strides)


def scatter_add(a: ndarray, slices: Any, value: Any) -> None:
    """Add values to the selected elements; an element selected twice is added to twice."""
    a.scatter_add(slices, value)


def scatter_max(a: ndarray, slices: Any, value: Any) -> None:
    """Store the maximum of values and the selected elements."""
    a.scatter_max(slices, value)


def scatter_min(a: ndarray, slices: Any, value: Any) -> None:
    """Store the minimum of values and the selected elements."""
    a.scatter_min(slices, value)


def rsqrt(x: ndarray) -> Any:
    """Return one over the square root."""
    with np.errstate(all="ignore"):
        root = np.sqrt(unwrap(x))
        return wrapped(np.asarray(1 / root).astype(root.dtype), ())


def cupyx_contents() -> dict[str, Any]:
    """Return the contents of ``cupyx``."""
    functions = (empty_pinned, zeros_pinned, empty_like_pinned, zeros_like_pinned)
    return {f.__name__: f for f in (*functions, scatter_add, scatter_max, scatter_min, rsqrt)}
