"""CuPy's functions, each with CuPy's parameters and served by NumPy.

`_api` has the parameters. A function whose name and meaning are NumPy's needs nothing else: `serve` checks its
arguments by their parameters' names, calls NumPy's function and wraps what comes back. Functions that differ are
written out at the end of this module, under CuPy's names.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat.numpy as standard  # what NumPy has since 2.1
import numpy as np

from . import asynchrony, old_names, polynomials
from .allocators import DEFAULT_POOL
from .devices import current_device
from .fusion import fuse, is_proxy
from .ndarray import (
    announced_copy,
    announced_read,
    changed,
    check_dtype,
    from_host,
    is_host_array,
    ndarray,
    operand,
    reshaped,
    target,
    unsupported,
    unwrap,
    used,
    wrap,
)
from .pinned_memory import DEFAULT_PINNED_POOL


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Parameters that take host values: sizes, axes, options. Everything else is data and has to be on the device.
OPTIONS = _words(
    """
    allow_pickle assume_unique axes axis axis1 axis2 axisa axisb axisc base bias bitorder casting compute_uv
    copy ddof decimals deg density destination dimensions dims discont dtype dx edge_order endpoint equal_nan
    full_matrices include_initial increasing indices_or_sections invert k keepdims kind kth max_work method
    minlength mode n ndim ndmin new_shape newshape norm num offset optimize order ord overwrite_input pad_width
    period range rcond repeats reps requirements retstep return_counts return_indices return_index
    return_inverse returned right rowvar s shape shift side source subok tol trim UPLO wrap d rtol atol M N beta
    """
)
# Parameters that take sequences of arrays, and those that take host data and lists of axes among them.
SEQUENCES = _words("args arrays arys choicelist condlist multi_index operands varargs xi")
NESTED_SEQUENCES = _words("operands varargs xi")
# Data that may come from the host and is copied: indices and what is selected or written by them.
COPIED = frozenset(
    [
        ("compress", "condition"),
        ("delete", "indices"),
        ("diag", "v"),
        ("diagflat", "v"),
        ("put", "ind"),
        ("put", "v"),
        ("put_along_axis", "values"),
        ("take", "indices"),
        ("histogram", "bins"),
        ("average", "weights"),
        ("append", "values"),
        ("extract", "condition"),
        ("place", "mask"),
        ("place", "vals"),
        ("cov", "y"),
        ("percentile", "q"),
        ("quantile", "q"),
    ]
)
# Parameters whose name means something else elsewhere: they take data here.
DATA = frozenset([("matrix_power", "M"), ("matrix_rank", "M"), ("cond", "x"), ("interp", "left"), ("interp", "right")])
# Options whose name means data elsewhere.
OPTION_HERE = frozenset([("tensorinv", "ind"), ("cond", "p"), ("linspace", "step")])
# Functions whose data may all be scalars; every other one needs an array as its first argument.
SCALARS_TOO = _words(
    """
    allclose append arange array_equal array_equiv base_repr binary_repr clip eye full identity interp isclose isin
    linspace logspace
    nan_to_num outer searchsorted tri
    """
)
# Functions that change their first argument.
IN_PLACE = _words("fill_diagonal place put put_along_axis putmask")
# Functions that answer with a Python value, not with an array.
HOST_RESULTS = _words(
    """
    base_repr binary_repr broadcast_shapes common_type isfortran may_share_memory shares_memory size
    """
)
# Defaults that differ from NumPy's: the value is passed on even where the caller left it out.
OTHER_DEFAULTS = frozenset([("put", "mode"), ("ravel_multi_index", "mode"), ("pinv", "rcond")])
ALIASES = {
    "alltrue": "all",
    "sometrue": "any",
    "product": "prod",
    "cumproduct": "cumprod",
    "round_": "round",
    "trapz": "trapezoid",
}
# Names that CuPy has and the stand-in does not serve, or has in `extras`.
LEFT_OUT = _words("byte_bounds clear_memo make_aligned_dtype memoize")


class _Left:
    """Marks an argument that the caller left out."""


def data_argument(function: str, parameter: str, value: Any, *, first: bool) -> Any:
    """Return a data argument for NumPy, or raise what CuPy raises for host data."""
    if value is None:
        return None
    if parameter in SEQUENCES:
        return _sequence(value, nested=parameter in NESTED_SEQUENCES)
    if isinstance(value, ndarray):
        return used(value)
    if (function, parameter) in COPIED:
        return copied_argument(function, value)
    if is_host_array(value) or isinstance(value, (list, tuple)):
        raise unsupported(value)
    if first and function not in SCALARS_TOO:
        raise TypeError(f"{function}() needs a cupy.ndarray as its first argument, got {type(value)}")
    return operand(value)


def copied_argument(function: str, value: Any) -> Any:
    """Return an argument of which CuPy takes host data, too, and copies it."""
    if isinstance(value, ndarray):
        return used(value)
    if is_host_array(value) or isinstance(value, (list, tuple)):
        return announced_copy(value, f"{function}()")._buffer
    return value


def _sequence(value: Any, *, nested: bool = True) -> Any:
    """Return the buffers of a sequence of arrays; an item that is a list itself is refused unless `nested`."""
    if isinstance(value, ndarray):
        return used(value)
    if isinstance(value, (list, tuple)):
        if (
            not nested
            and (inner := next((item for item in value if isinstance(item, (list, tuple))), None)) is not None
        ):
            raise unsupported(inner)
        return type(value)(_sequence(item) for item in value)
    if isinstance(value, (str, int, float, complex, np.generic, slice)) or value is Ellipsis or value is None:
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value
    raise unsupported(value)


def option_argument(function: str, parameter: str, value: Any) -> Any:
    """Return an option for NumPy; a device array is none, since NumPy would have to read it."""
    if isinstance(value, ndarray):
        if parameter == "shift":
            return used(value)
        raise TypeError(f"{function}() takes {parameter} from the host, got a cupy.ndarray; read it first: .item()")
    if parameter == "dtype" and value is not None:
        return check_dtype(value)
    return value


def wrapped(value: Any, sources: Sequence[ndarray]) -> Any:
    """Return a result of NumPy with its arrays on the device; scalars become 0-d arrays."""
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        return wrap(value, *sources)
    if isinstance(value, tuple):
        items = [wrapped(item, sources) for item in value]
        # CuPy has named results for the unique_ functions only.
        return type(value)(*items) if type(value).__name__.startswith("Unique") else tuple(items)
    if isinstance(value, list):
        return [wrapped(item, sources) for item in value]
    return value


def _device_arrays(value: Any) -> list[ndarray]:
    if isinstance(value, ndarray):
        return [value]
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in _device_arrays(item)]
    return []


def serve(name: str, compute: Callable[..., Any], defaults: dict[str, Any], values: dict[str, Any]) -> Any:
    """Call NumPy for one of CuPy's functions.

    Parameters
    ----------
    name : str
        CuPy's name.
    compute : callable
        NumPy's function.
    defaults : dict
        Default of every parameter, `_Left` for one that has none.
    values : dict
        The call's values by CuPy's parameter names, in order; ``*name`` and ``**name`` for the variadic ones.
    """
    asynchrony.begin_operation()
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    out = values.get("out")
    if isinstance(out, tuple):
        (out,) = out
    if out is not None and not isinstance(out, ndarray):
        raise TypeError(f"{name}() needs a cupy.ndarray as out, got {type(out)}")
    first = True
    for parameter, value in values.items():
        bare = parameter.lstrip("*")
        if parameter.startswith("**"):
            keywords.update({key: option_argument(name, key, option) for key, option in value.items()})
        elif parameter.startswith("*"):
            positional.extend(data_argument(name, bare, value, first=False))
        else:
            default = defaults[parameter]
            left = value is default or (type(value) is type(default) and value == default)
            if default is not _Left and left and (name, parameter) not in OTHER_DEFAULTS:
                continue
            key = (name, parameter)
            is_option = (parameter in OPTIONS and key not in DATA) or key in OPTION_HERE
            if parameter == "out":
                converted = target(out) if out is not None else None
            elif is_option:
                converted = option_argument(name, parameter, value)
            else:
                converted = data_argument(name, parameter, value, first=first)
                first = False
            if default is _Left:
                positional.append(converted)
            else:
                keywords[parameter] = converted
    # CuPy neither checks for floating-point errors nor warns of empty slices.
    changes: Any = changed(next(iter(values.values()))) if name in IN_PLACE else contextlib.nullcontext()
    with np.errstate(all="ignore"), changes as buffer:
        if buffer is not None:
            positional[0] = buffer
        if name.startswith(("nan", "mean", "var", "std", "median")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                result = compute(*positional, **keywords)
        else:
            result = compute(*positional, **keywords)
    if out is not None:
        return out
    if name in HOST_RESULTS:
        return result
    device_arrays = _device_arrays(list(values.values()))
    found = wrapped(result, device_arrays)
    if name.startswith("empty") and asynchrony.is_on():
        asynchrony.begins(found)
    return found


def with_signature(name: str, parameters: str, implementation: Callable[..., Any], module: str) -> Callable[..., Any]:
    """Return a function that has CuPy's parameters, and hence its TypeErrors, and hands on the bound values.

    The text comes from `_api`; Python itself then binds the call.
    """
    namespace: dict[str, Any] = {"numpy": np, "inf": np.inf, "_implementation": implementation}
    names = [word.partition("=")[0] for word in _split(parameters)]
    handed = ", ".join(f"{word!r}: {word.lstrip('*')}" for word in names if word not in ("*", "/"))
    exec(f"def {name}({parameters}):\n    return _implementation({{{handed}}})", namespace)
    function: Callable[..., Any] = namespace[name]
    function.__module__ = module
    function.__doc__ = f"Stand-in for ``{module}.{name}``, served by NumPy."
    return function


def _split(parameters: str) -> list[str]:
    """Split a parameter list at its commas, not at those inside defaults."""
    words, depth, word = [], 0, ""
    for character in parameters:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            words.append(word.strip())
            word = ""
        else:
            word += character
    return [*words, word.strip()] if word.strip() else words


def build(parameters: dict[str, str], numpy_module: Any, module: str, special: dict[str, Any]) -> dict[str, Any]:
    """Return the functions of one of CuPy's modules by name."""
    functions: dict[str, Any] = {}
    for name, text in parameters.items():
        if name in LEFT_OUT:
            continue
        if name in special:
            written = special[name]
            functions[name] = with_signature(name, text, _spread(written), module)
            continue
        compute = getattr(numpy_module, ALIASES.get(name, name), None) or getattr(standard, name, None)
        if compute is None:
            continue
        functions[name] = with_signature(name, text, _served(name, compute, text, module), module)
    return functions


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(values: dict[str, Any]) -> Any:
        asynchrony.begin_operation()
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter, value in values.items():
            if parameter.startswith("**"):
                keywords.update(value)
            elif parameter.startswith("*"):  # what stands before it has a position, too
                positional, keywords = [*keywords.values(), *value], {}
            else:
                keywords[parameter] = value
        return function(*positional, **keywords)

    return call


def _served(name: str, compute: Callable[..., Any], text: str, module: str) -> Callable[..., Any]:
    defaults: dict[str, Any] = {}
    for word in _split(text):
        parameter, equals, default = word.partition("=")
        # The text is this package's own table.
        defaults[parameter] = eval(default, {"numpy": np, "inf": np.inf}) if equals else _Left
    return lambda values: serve(name, compute, defaults, values)


# ---- functions that are not NumPy's ----


def array(
    obj: Any,
    dtype: Any = None,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    blocking: bool = False,
) -> ndarray:
    """Return a device array; host data is copied."""
    if subok:
        raise NotImplementedError("subok is not supported")
    if dtype is not None:
        dtype = np.dtype(dtype)
        if dtype.names is None:
            dtype = dtype.newbyteorder("=")
        check_dtype(dtype)
    if isinstance(obj, ndarray):
        wanted = obj.dtype if dtype is None else dtype
        if copy is False and (wanted != obj.dtype or _needs_copy(obj, order)):
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        elsewhere = obj._memory.device_id != current_device()
        result = obj.astype(wanted, order=order or "K", copy=copy is True or elsewhere)
        if ndmin > result.ndim:
            result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
        return result
    if hasattr(obj, "__cuda_array_interface__"):
        raise TypeError(
            f"the CuPy stand-in can't read the device memory of {type(obj)}: it runs on a machine without a GPU"
        )
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return from_host(obj, dtype, order, ndmin)


def _needs_copy(array: ndarray, order: Any) -> bool:
    flags = array._buffer.flags
    return (order in ("C", "c") and not flags.c_contiguous) or (order in ("F", "f") and not flags.f_contiguous)


def asarray(a: Any, dtype: Any = None, order: Any = None, copy: Any = None, blocking: bool = False) -> ndarray:
    """Return a device array, the given one if nothing has to change."""
    return array(a, dtype, copy, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """Return a C-contiguous device array of at least one dimension."""
    return array(a, dtype, None, "C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """Return a Fortran-contiguous device array of at least one dimension."""
    return array(a, dtype, None, "F", ndmin=1)


def asfarray(a: Any, dtype: Any = np.float64) -> ndarray:
    """Return a device array of floating-point numbers."""
    return array(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64, None)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> ndarray:
    """Return a device array; ValueError if it has NaN or infinity."""
    result = array(a, dtype, None, order)
    if not np.isfinite(used(result)).all():
        raise ValueError("array must not contain Infs or NaNs")
    return result


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """Return a device array that meets the requirements on its memory."""
    wanted = {
        str(word).upper()[0] for word in ([requirements] if isinstance(requirements, str) else requirements or ())
    }
    order = "F" if "F" in wanted else "C" if "C" in wanted else None
    result = array(a, dtype, None, order)
    return result.copy(order or "K") if "O" in wanted and result.base is not None else result


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
    """Return a copy on the host."""
    if isinstance(a, ndarray):
        return a.get(stream=stream, order=order, out=out, blocking=blocking)
    if _device_arrays(a):
        return array(a).get(stream=stream, order=order, out=out)
    host = np.asarray(a, order=order)  # type: ignore[call-overload]
    if out is None:
        return host
    out[...] = host
    return out


def get_array_module(*args: Any) -> Any:
    """Return the stand-in if an argument is on the device, else NumPy."""
    return sys.modules["cupy"] if any(map(is_on_device, args)) else np


def is_on_device(value: Any) -> bool:
    """Whether a value is a device array, a sparse matrix of them, or an array in a fused function."""
    if isinstance(value, ndarray) or is_proxy(value):
        return True
    storage = sys.modules.get(f"{__package__}.sparse.storage")
    return storage is not None and storage.issparse(value)


def copy(a: Any, order: str = "K") -> ndarray:
    """Return a copy of an array."""
    return a.copy(order) if isinstance(a, ndarray) else from_host(a, None, order)


def astype(x: Any, dtype: Any, copy: bool = True) -> ndarray:
    """Return an array with another element type."""
    if not isinstance(x, ndarray):
        raise TypeError(f"Input should be a CuPy array. It is a {type(x)} instead.")
    return x.astype(dtype, copy=copy)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose between two arrays, or give the indices of the true elements."""
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    chosen = unwrap(condition)
    if x is None:
        return tuple(wrap(indices) for indices in np.nonzero(chosen))
    return wrap(np.where(chosen.astype(bool), operand(x), operand(y)))


def argmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the maximum."""
    return _extremum(np.argmax, a, axis, dtype, out, keepdims)


def argmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the minimum."""
    return _extremum(np.argmin, a, axis, dtype, out, keepdims)


def nanargmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the maximum of the numbers."""
    return _extremum(np.nanargmax, a, axis, dtype, out, keepdims)


def nanargmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the minimum of the numbers."""
    return _extremum(np.nanargmin, a, axis, dtype, out, keepdims)


def _extremum(compute: Any, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool) -> ndarray:
    if isinstance(axis, tuple):
        raise TypeError("the CuPy stand-in searches along one axis; NumPy has no search along several")
    result = np.asarray(compute(unwrap(a), axis=axis, keepdims=keepdims)).astype(dtype or np.int64, copy=False)
    if out is None:
        return wrap(result)
    target(out)[...] = result
    assert isinstance(out, ndarray)
    return out


def corrcoef(
    a: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, dtype: Any = None
) -> ndarray:
    """Return correlation coefficients."""
    if bias is not None or ddof is not None:
        warnings.warn("bias and ddof have no effect and are deprecated", DeprecationWarning, stacklevel=4)
    with np.errstate(all="ignore"):
        other = None if y is None else unwrap(y)
        return wrap(np.corrcoef(unwrap(a), other, rowvar, dtype=dtype))


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    interpolation: Any = None,
) -> ndarray:
    """Return percentiles."""
    return _quantile(np.percentile, "percentile", a, q, axis, out, interpolation or method, keepdims)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    interpolation: Any = None,
) -> ndarray:
    """Return quantiles."""
    return _quantile(np.quantile, "quantile", a, q, axis, out, interpolation or method, keepdims)


def _quantile(compute: Any, name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool) -> ndarray:
    result = compute(unwrap(a), copied_argument(name, q), axis=axis, method=method, keepdims=keepdims)
    if out is None:
        return wrap(result)
    target(out)[...] = result
    assert isinstance(out, ndarray)
    return out


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """Copy values from one array to another."""
    if is_host_array(src) and src.size != 1:
        raise ValueError("non-scalar numpy.ndarray cannot be used for copyto")
    source = src.reshape(()) if isinstance(src, np.ndarray) else src
    mask: Any = True if where is None else operand(where)
    value = operand(source)
    if where is None:
        np.copyto(target(dst), value, casting)  # type: ignore[arg-type]
    else:
        with changed(dst) as buffer:
            np.copyto(buffer, value, casting, where=mask)  # type: ignore[arg-type]


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array; lists and NumPy arrays have one, too."""
    return a.shape if isinstance(a, ndarray) else np.shape(a)


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return a.ndim if isinstance(a, ndarray) else np.ndim(a)


def isscalar(element: Any) -> bool:
    """Whether a value is a scalar."""
    return not isinstance(element, ndarray) and np.isscalar(element)


def iscomplexobj(x: Any) -> bool:
    """Whether a value has a complex type."""
    return bool(x.dtype.kind == "c") if isinstance(x, ndarray) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Whether a value has a real type."""
    return not iscomplexobj(x)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the type that results from combining arrays and types."""
    return np.result_type(*(v._buffer if isinstance(v, ndarray) else v for v in arrays_and_dtypes))


def min_scalar_type(a: Any) -> np.dtype[Any]:
    """Return the smallest type that holds a value."""
    return np.min_scalar_type(a._buffer if isinstance(a, ndarray) else a)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a type can be cast to another."""
    source = from_.dtype if isinstance(from_, ndarray) else from_
    return np.can_cast(source, to, casting)  # type: ignore[arg-type]


def atleast_1d(*arys: Any) -> Any:
    """Return arrays with at least one axis; host data is copied."""
    return _one_or_all([_atleast(1, value, "atleast_1d()") for value in arys])


def atleast_2d(*arys: Any) -> Any:
    """Return arrays with at least two axes; host data is copied."""
    return _one_or_all([_atleast(2, value, "atleast_2d()") for value in arys])


def atleast_3d(*arys: Any) -> Any:
    """Return arrays with at least three axes; host data is copied."""
    return _one_or_all([_atleast(3, value, "atleast_3d()") for value in arys])


def _one_or_all(arrays: list[ndarray]) -> Any:
    return arrays[0] if len(arrays) == 1 else arrays


def _atleast(ndim: int, value: Any, description: str) -> ndarray:
    """Return a device array with at least so many axes; host data is copied, which is recorded."""
    if not isinstance(value, ndarray):
        value = announced_copy(value, description)
    compute: Any = (np.atleast_1d, np.atleast_2d, np.atleast_3d)[ndim - 1]
    return wrap(compute(used(value)), value)


def broadcast_arrays(*args: Any) -> list[ndarray]:
    """Broadcast arrays against each other."""
    return [wrap(item, source) for item, source in zip(np.broadcast_arrays(*map(unwrap, args)), args, strict=True)]


def meshgrid(*xi: Any, **kwargs: Any) -> list[ndarray]:
    """Return coordinate matrices."""
    if not all(isinstance(x, ndarray) for x in xi):
        raise ValueError("input has to be cupy.ndarray")
    return [wrap(grid) for grid in np.meshgrid(*map(unwrap, xi), **kwargs)]


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> ndarray:
    """Apply a function of device arrays to slices along an axis."""

    def on_host(row: Any) -> Any:
        result = func1d(wrap(row.copy()), *args, **kwargs)
        return used(result) if isinstance(result, ndarray) else result

    return wrap(np.apply_along_axis(on_host, axis, unwrap(arr)))


def apply_over_axes(func: Any, a: Any, axes: Any) -> ndarray:
    """Apply a function of a device array and an axis to one axis after the other."""
    value = wrap(unwrap(a), a)
    for axis in np.atleast_1d(axes):
        position = range(value.ndim)[axis]
        reduced: ndarray = func(value, position)
        if reduced.ndim != value.ndim:
            reduced = wrap(np.expand_dims(used(reduced), position))
        if reduced.ndim != value.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = reduced
    return value


def piecewise(x: Any, condlist: Any, funclist: Any) -> ndarray:
    """Choose scalars by conditions."""
    if any(callable(item) for item in funclist):
        raise NotImplementedError("Callable functions are not supported currently")
    return wrap(np.piecewise(unwrap(x), _sequence(condlist), _sequence(list(funclist))))


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> ndarray:
    """Whether each element of a flattened array is in another."""
    return wrap(np.isin(unwrap(ar1).ravel(), unwrap(ar2), assume_unique=assume_unique, invert=invert))


def msort(a: Any) -> ndarray:
    """Return a copy sorted along the first axis."""
    return wrap(np.sort(unwrap(a), axis=0, kind="stable"))


def sort(a: Any, axis: Any = -1, kind: Any = None) -> ndarray:
    """Return a copy, sorted stably."""
    _check_sort_kind(kind)
    return wrap(np.sort(unwrap(a), axis=axis, kind="stable"))


def argsort(a: Any, axis: Any = -1, kind: Any = None) -> ndarray:
    """Return the indices of a stable sort."""
    _check_sort_kind(kind)
    return wrap(np.argsort(unwrap(a), axis=axis, kind="stable"))


def _check_sort_kind(kind: Any) -> None:
    if kind not in (None, "stable"):
        raise ValueError(f"kind can only be None or 'stable', got {kind!r}")


def lexsort(keys: Any) -> ndarray:
    """Return the indices of a sort by several keys, the last one first; the keys are the rows of one array."""
    if not isinstance(keys, ndarray):
        raise TypeError(f"lexsort() needs a cupy.ndarray of keys, got {type(keys)}")
    if keys.ndim == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    return wrap(np.lexsort(used(keys)))


def matmul(
    *args: Any,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    casting: str = "same_kind",
    dtype: Any = None,
    signature: Any = None,
    order: str = "K",
    out: Any = None,
) -> ndarray:
    """Return the matrix product."""
    for name, value in (("axes", axes), ("axis", axis), ("signature", signature)):
        if value is not None:
            raise TypeError(f"the CuPy stand-in's matmul() has no {name}")
    if len(args) not in (2, 3):
        raise TypeError(f"matmul() takes 2 arrays, got {len(args)}")
    result = np.matmul(unwrap(args[0]), unwrap(args[1]), dtype=dtype)
    out = args[2] if len(args) == 3 else out
    if out is None:
        return wrap(result)
    target(out)[...] = result
    assert isinstance(out, ndarray)
    return out


def from_dlpack(array: Any, device: Any = None, copy: Any = None) -> ndarray:
    """Return a device array of memory that another one exports; host memory is refused, as by CuPy without `device`."""
    if isinstance(array, ndarray):
        return array.copy() if copy else array.view()
    kind, _ = array.__dlpack_device__()
    if kind == 1 and device is None:
        raise BufferError("CPU arrays cannot be directly imported to CuPy; use cupy.asarray, or give a device")
    if kind == 1:
        return from_host(np.from_dlpack(array))
    raise BufferError("the CuPy stand-in can't read device memory of another library")


def reshape(a: Any, newshape: Any, order: Any = "C", copy: Any = None) -> ndarray:
    """Return the array with another shape."""
    return wrap(reshaped(unwrap(a), newshape, order, copy), a)


def delete(arr: Any, indices: Any, axis: Any = None) -> ndarray:
    """Return a copy without some rows."""
    return wrap(np.delete(unwrap(arr), copied_argument("delete", indices), axis))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> ndarray:
    """Return evenly spaced values; bounds on the device are read by the host."""
    bounds = [
        announced_read(one, "arange()").item() if isinstance(one, ndarray) else one for one in (start, stop, step)
    ]
    return wrap(np.arange(*bounds, dtype=None if dtype is None else check_dtype(dtype)))


def ix_(*args: Any) -> tuple[ndarray, ...]:
    """Return an open mesh of indices."""
    return tuple(wrap(one) for one in np.ix_(*(copied_argument("ix_", one) for one in args)))


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> tuple[ndarray, ...]:
    """Count points of the plane in bins."""
    if isinstance(bins, ndarray):
        bins = [bins, bins]
    elif isinstance(bins, (list, tuple, np.ndarray)) and len(bins) != 2:
        raise ValueError("array-like bins not supported in CuPy")
    hist, edges = histogramdd([x, y], bins, range, weights, bool(density))
    return hist, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[ndarray, list[ndarray]]:
    """Count points in bins, whose edges are on the device."""
    points: Any = unwrap(sample) if isinstance(sample, ndarray) else [unwrap(one) for one in sample]
    if isinstance(bins, (list, tuple, np.ndarray)):
        if not all(isinstance(one, ndarray) or np.ndim(one) == 0 for one in bins):
            raise ValueError("array-like bins not supported")
        bins = [operand(one) for one in bins]
    factors = None if weights is None else copied_argument("histogramdd", weights)
    hist, edges = np.histogramdd(points, bins, range, density, factors)
    return wrap(hist), [wrap(one) for one in edges]


def concatenate(tup: Any, axis: Any = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along an axis."""
    arrays = list(tup)
    for item in arrays:
        if not isinstance(item, ndarray):
            raise TypeError("Only cupy arrays can be concatenated") if np.isscalar(item) else unsupported(item)
    return _joined(arrays, axis, out, dtype, casting)


def stack(tup: Any, axis: int = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along a new axis."""
    arrays = list(tup)
    for item in arrays:
        if not isinstance(item, ndarray):
            kind = f"{'numpy.' if type(item).__module__ == 'numpy' else ''}{type(item).__name__}"
            raise TypeError(f"Argument 'a' has incorrect type (expected cupy._core.core._ndarray_base, got {kind})")
    return _joined([wrap(np.expand_dims(used(item), axis)) for item in arrays], axis, out, dtype, casting)


def column_stack(tup: Any) -> ndarray:
    """Join vectors as the columns of a matrix."""
    arrays = list(tup)
    if not all(isinstance(item, ndarray) for item in arrays):
        raise TypeError("Only cupy arrays can be column stacked")
    if not all(item.ndim in (1, 2) for item in arrays):
        raise ValueError("Only 1 or 2 dimensional arrays can be column stacked")
    return _joined([item[:, None] if item.ndim == 1 else item for item in arrays], 1)


# These three copy host data to the device, as CuPy's do.


def vstack(tup: Any, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along the first axis, vectors as rows."""
    return _joined([_atleast(2, item, "vstack()") for item in tup], 0, None, dtype, casting)


def hstack(tup: Any, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along the second axis, vectors along their only one."""
    arrays = [_atleast(1, item, "hstack()") for item in tup]
    return _joined(arrays, 0 if arrays[0].ndim == 1 else 1, None, dtype, casting)


def dstack(tup: Any) -> ndarray:
    """Join arrays along the third axis."""
    return _joined([_atleast(3, item, "dstack()") for item in tup], 2)


def _joined(
    arrays: list[ndarray], axis: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind"
) -> ndarray:
    if not arrays:
        raise ValueError("Cannot concatenate from empty tuple")
    into = None if out is None else target(out)
    result = np.concatenate([used(array) for array in arrays], axis, into, dtype=dtype, casting=casting)  # type: ignore[call-overload]
    if out is None:
        return wrap(result)
    assert isinstance(out, ndarray)
    return out


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """Return the indices at which a function of a matrix of ones is not zero."""
    chosen: tuple[ndarray, ...] = mask_func(wrap(np.ones((n, n), np.int8)), k).nonzero()
    return chosen


def _to_file(value: Any, description: str) -> np.ndarray[Any, Any]:
    """Return what a function that writes files or text reads; host data is taken as it is, as by CuPy."""
    return announced_read(value, description) if isinstance(value, ndarray) else np.asarray(value)


def save(file: Any, arr: Any, allow_pickle: Any = None) -> None:
    """Write an array to a file."""
    np.save(file, _to_file(arr, "save()"), allow_pickle=True if allow_pickle is None else allow_pickle)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to one file."""
    _save_several(np.savez, "savez()", file, args, kwds)


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to one compressed file."""
    _save_several(np.savez_compressed, "savez_compressed()", file, args, kwds)


def _save_several(write: Any, description: str, file: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
    positional = [_to_file(value, description) for value in args]
    write(file, *positional, **{key: _to_file(value, description) for key, value in kwds.items()})


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    """Write an array as text."""
    np.savetxt(fname, _to_file(X, "savetxt()"), *args, **kwargs)


def _formatter(name: str) -> Callable[..., str]:
    def text(*args: Any, **kwargs: Any) -> str:
        value, *others = args or (kwargs.pop(next(iter(kwargs))),)
        written: str = getattr(np, name)(_to_file(value, f"{name}()"), *others, **kwargs)
        return written

    return text


def load(file: Any, mmap_mode: Any = None, allow_pickle: Any = None) -> Any:
    """Read an array, or a mapping of arrays, from a file."""
    loaded = np.load(file, mmap_mode, allow_pickle=bool(allow_pickle))
    if isinstance(loaded, np.ndarray):
        return from_host(loaded)
    return {name: from_host(loaded[name]) for name in loaded.files}


def _reader(name: str) -> Callable[..., ndarray]:
    def read(*args: Any, **kwargs: Any) -> ndarray:
        return from_host(getattr(np, name)(*args, **kwargs))

    return read


def show_config(_full: bool = False) -> None:
    """Print what there is of CUDA and libraries: none."""
    from .extras import get_runtime_info

    print(get_runtime_info(full=_full), end="")


def get_default_memory_pool() -> Any:
    """Return the pool of device memory."""
    return DEFAULT_POOL


def get_default_pinned_memory_pool() -> Any:
    """Return the pool of pinned memory."""
    return DEFAULT_PINNED_POOL


def is_available() -> bool:
    """Whether there is a device: always."""
    return True


SPECIAL: dict[str, Callable[..., Any]] = {
    name: globals()[name]
    for name in _words(
        """
    apply_along_axis apply_over_axes arange argmax argmin argsort array asarray asarray_chkfinite ascontiguousarray
    asfarray asfortranarray asnumpy astype atleast_1d atleast_2d atleast_3d broadcast_arrays can_cast column_stack
    concatenate copy copyto corrcoef delete dstack from_dlpack get_array_module get_default_memory_pool
    get_default_pinned_memory_pool histogram2d histogramdd hstack in1d is_available iscomplexobj isrealobj isscalar ix_
    lexsort load mask_indices meshgrid min_scalar_type msort nanargmax nanargmin ndim percentile piecewise
    quantile require reshape result_type save savetxt savez savez_compressed shape show_config sort stack vstack where
    """
    )
}
SPECIAL.update({**polynomials.FUNCTIONS, **old_names.FUNCTIONS})
SPECIAL.update(fuse=fuse, asanyarray=asarray, concat=concatenate, row_stack=vstack)
SPECIAL.update(
    {name: _reader(name) for name in _words("frombuffer fromfile fromfunction fromiter fromstring genfromtxt loadtxt")}
)
SPECIAL.update(
    {
        name: _formatter(name)
        for name in _words("array2string array_repr array_str format_float_positional format_float_scientific")
    }
)
