"""``cupyx`` and ``cupyx.scipy``: SciPy's functions under the names that CuPy has, with device arrays in and out.

A submodule imports SciPy when it is first used. Objects (splines, filters) are served as proxies that convert the
arguments and results of their methods. The matrices of ``cupyx.scipy.sparse`` are written out in `sparse`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import inspect
import itertools
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from . import _api, asynchrony
from .array_base import is_host_array, target, unsupported, unwrap, used
from .creation import is_on_device
from .ndarray import ndarray
from .pinned_memory import alloc_pinned_memory
from .scipy_dropped import DROPPED, ELSEWHERE
from .serving import spread, wrapped
from .signatures import split_parameters, with_signature, words
from .ufunc import ufunc

# Where CuPy takes data as device arrays only, found by calling a real one with lists: modules, and single functions.
_STRICT_MODULES = words("fft fftpack linalg ndimage spatial spatial.distance special stats")
_STRICT = words(
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
_TAKE_LISTS = words(
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
    if callable(value) and not isinstance(value, type):
        return _callback(value)
    return value


def _callback(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of device arrays as one that SciPy can call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return _inward(function(*map(_outward, args), **{name: _outward(value) for name, value in kwargs.items()}))

    return call


def _outward(value: Any, sources: Sequence[ndarray] = ()) -> Any:
    """Return a result of SciPy with its arrays on the device; one that was given to be filled is given back."""
    if isinstance(value, (tuple, list)) and hasattr(value, "_fields"):
        return tuple(_outward(item, sources) for item in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return wrapped(value, sources)
    if isinstance(value, (tuple, list)):
        return type(value)(_outward(item, sources) for item in value)
    if isinstance(value, dict):
        return {key: _outward(item, sources) for key, item in value.items()}
    if type(value).__module__.startswith("scipy.sparse."):
        from .sparse.storage import on_device

        return on_device(value, *sources)
    if type(value).__module__.startswith("scipy."):
        return _proxy(value)
    return value


class _Kind(type):
    """The kind of `Proxy`'s classes: called, and asked for their attributes, they go to SciPy's class."""

    _kind: type
    _strict: bool

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _converting(cls._kind, strict=cls._strict)(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        return _attribute(cls._kind, cls._kind, name)

    def __dir__(cls) -> list[str]:
        return _dir_of(cls._kind)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            type.__instancecheck__(Proxy, instance) and isinstance(instance._wrapped, cls._kind)
        )


def _attribute(kind: type, wrapped: Any, name: str) -> Any:
    """Return an attribute that CuPy's class has, too."""
    names = _names_of(kind)
    if name.startswith("_") or (names is not None and name not in names):
        raise AttributeError(f"{kind.__name__!r} has no attribute {name!r}")
    value = getattr(wrapped, name)
    return _converting(value) if callable(value) and not isinstance(value, type) else _outward(value)


@functools.cache
def _names_of(kind: Any) -> frozenset[str] | None:
    """Return the public attributes of CuPy's class of that name; None where it has none."""
    known = [_api.SCIPY_CLASSES[one.__name__] for one in kind.__mro__ if one.__name__ in _api.SCIPY_CLASSES]
    return frozenset(itertools.chain(*known)) - _OTHERS.get(kind.__name__, frozenset()) if known else None


_OTHERS = {"KDTree": frozenset(["sparse_distance_matrix", "tree"])}
"""Attributes that are something else in SciPy."""


def _dir_of(kind: type) -> list[str]:
    there = {name for name in dir(kind) if not name.startswith("_")}
    names = _names_of(kind)
    return sorted(there if names is None else there & names)


class Proxy(metaclass=_Kind):
    """An object of SciPy whose methods and attributes take and give device arrays."""

    _wrapped: Any
    _kind: ClassVar[type] = object
    _strict: ClassVar[bool] = False

    def __getattr__(self, name: str) -> Any:
        if name == "_wrapped":
            raise AttributeError(name)
        return _attribute(type(self._wrapped), self._wrapped, name)

    def __dir__(self) -> list[str]:
        kind: Any = type(self._wrapped)
        names = _names_of(kind)
        return [name for name in dir(self._wrapped) if name[0] != "_" and (names is None or name in names)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _converting(self._wrapped)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<stand-in of {type(self._wrapped).__name__}>"


@functools.cache
def _proxy_class(kind: Any) -> Any:
    """Return the class of proxies of a class of SciPy's."""
    made = _Kind(kind.__name__, (Proxy,), {"_kind": kind, "__doc__": Proxy.__doc__})
    made.__module__ = f"cupyx.{kind.__module__.partition('._')[0]}"
    return made


def _proxy(wrapped: Any) -> Proxy:
    """Return the proxy of an object."""
    kind: Any = type(wrapped)
    made: Proxy = object.__new__(_proxy_class(kind))
    made._wrapped = wrapped
    return made


def _converting(function: Callable[..., Any], *, strict: bool = False) -> Callable[..., Any]:
    """Return a function of SciPy's for device arrays; a strict one takes no list for its data."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in _data(function, args, kwargs) if strict else ():
            if isinstance(value, (list, tuple)):
                raise unsupported(value)
        asynchrony.begin_operation()
        given = [value for value in (*args, *kwargs.values()) if isinstance(value, ndarray)]
        outputs = {name: value for name, value in kwargs.items() if name in _OUTPUTS and isinstance(value, ndarray)}
        positional, named = _inward(args), _inward({name: kwargs[name] for name in kwargs if name not in outputs})
        named.update({name: target(value) for name, value in outputs.items()})
        with np.errstate(all="ignore"):
            return _outward(function(*positional, **named), given)

    return functools.wraps(function)(call) if hasattr(function, "__name__") else call


def _silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does not warn, of integers given as real numbers for instance; CuPy's do not."""

    def call(*values: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*values)

    return call


def _exprel(x: Any) -> Any:
    """Return (exp(x) - 1) / x, which SciPy has for real numbers alone."""
    if np.asarray(x).dtype.kind != "c":
        return importlib.import_module("scipy.special").exprel(x)
    return np.where(x == 0, np.ones_like(x), np.expm1(x) / np.where(x == 0, 1, x))


_OUTPUTS = ("out", "output", "distances", "indices")


def _called_as_by_cupy(path: str, name: str, function: Callable[..., Any], strict: bool) -> Callable[..., Any]:
    """Return a function of SciPy's with CuPy's parameters and defaults."""
    text = _api.SCIPY_CALLS[path]["functions"][name]
    defaults = {
        word.partition("=")[0]: word.partition("=")[2]
        for word in split_parameters(text)
        if word.lstrip("*") and word != "/"
    }
    known = {"numpy": np, "inf": np.inf}
    values_of = {one: eval(default, known) for one, default in defaults.items() if default}
    try:
        theirs: Any = inspect.signature(function).parameters
    except ValueError:  # compiled: all by position
        theirs = {}
    takes_any = any(one.kind is one.VAR_KEYWORD for one in theirs.values())
    convert = _converting(function, strict=strict)

    def call(values: dict[str, Any]) -> Any:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter, value in values.items():
            if parameter.startswith("**"):
                keywords.update(value)
            elif parameter.startswith("*"):
                positional.extend(value)
            elif parameter not in values_of:
                positional.append(value)
            elif parameter in theirs:
                if not _is_same(value, theirs[parameter].default):
                    keywords[parameter] = value
            elif not _is_same(value, values_of[parameter]):
                if not takes_any:
                    raise NotImplementedError(
                        f"cupyx.scipy.{path}.{name}(): the installed SciPy, by which the stand-in serves it, has no "
                        f"{parameter}; test this code on a GPU"
                    )
                keywords[parameter] = value
        return convert(*positional, **keywords)

    return with_signature(name, text, call, f"cupyx.scipy.{path}")


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


class _SpecialFunction(ufunc):
    """A universal function of ``cupyx.scipy.special``, with the types that CuPy's loops take and give."""

    def __init__(self, name: str, function: Any) -> None:
        nin, nout, types = _api.SCIPY_CALLS["special"]["ufuncs"][name]
        super().__init__(name, nin, nout, types.split(), _silent(_exprel if name == "exprel" else function))

    def _operands(self, values: list[Any], types: Any) -> list[Any]:
        """Return operands as precise as the result: CuPy computes some functions of half precision in double."""
        wanted = np.dtype(types[0])
        return [
            value.astype(wanted)
            if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc" and value.dtype < wanted
            else value
            for value in values
        ]


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
        if (path, name) in ELSEWHERE:
            owner, there = ELSEWHERE[path, name]
            vars(self)[name] = found = getattr(importlib.import_module(owner), there)
            return found
        module = importlib.import_module(f"scipy.{path}")
        value = DROPPED.get(path, {}).get(name) or getattr(module, name, None)
        if value is None:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}: CuPy has it, but the installed SciPy, by which "
                "the stand-in serves it, does not",
                name=name,
                obj=self,
            )
        qualified = f"{path}.{name}"
        strict = (path in _STRICT_MODULES or qualified in _STRICT) and qualified not in _TAKE_LISTS
        calls = _api.SCIPY_CALLS[path]
        served: Any = value
        if name in DROPPED.get(path, {}):
            served = with_signature(name, calls["functions"][name], spread(value), self.__name__)
        elif name in calls["ufuncs"]:
            served = _SpecialFunction(name, value)
        elif name in calls["functions"]:
            served = _called_as_by_cupy(path, name, value, strict)
        elif isinstance(value, type) and not issubclass(value, BaseException):
            kind: Any = value
            served = _proxy_class(kind)
            served._strict = strict
        elif callable(value) and not isinstance(value, type):
            served = _converting(value, strict=strict)
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
        from . import sparse
        from .sparse import csgraph, linalg

        made: dict[str, Callable[[], dict[str, Any]]] = {
            "sparse": sparse.contents,
            "sparse.linalg": linalg.contents,
            "sparse.csgraph": csgraph.contents,
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
