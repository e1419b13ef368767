"""How NumPy serves CuPy's functions: arguments checked by the names of their parameters, results wrapped.

`_api` has the parameters. A function whose name and meaning are NumPy's needs nothing else: `serve` checks its
arguments, calls NumPy's function and wraps what comes back.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat.numpy as standard  # what NumPy has since 2.1
import numpy as np

from . import asynchrony
from .array_base import changed, is_host_array, operand, target, unsupported, used, wrap
from .dtypes import check_dtype
from .host_copies import announced_copy
from .ndarray import ndarray
from .signatures import split_parameters, with_signature, words

# Parameters that take host values: sizes, axes, options. Everything else is data and has to be on the device.
OPTIONS = words(
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
SEQUENCES = words("args arrays arys choicelist condlist multi_index operands varargs xi")
NESTED_SEQUENCES = words("operands varargs xi")
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
SCALARS_TOO = words(
    """
    allclose append arange array_equal array_equiv base_repr binary_repr clip eye full identity interp isclose isin
    linspace logspace
    nan_to_num outer searchsorted tri
    """
)
# Functions that change their first argument.
IN_PLACE = words("fill_diagonal place put put_along_axis putmask")
# Functions that answer with a Python value, not with an array.
HOST_RESULTS = words(
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
LEFT_OUT = words("byte_bounds clear_memo make_aligned_dtype memoize")


class _Left:
    """Marks an argument that the caller left out."""


def data_argument(function: str, parameter: str, value: Any, *, first: bool) -> Any:
    """Return a data argument for NumPy, or raise what CuPy raises for host data."""
    if value is None:
        return None
    if parameter in SEQUENCES:
        return sequence_argument(value, nested=parameter in NESTED_SEQUENCES)
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


def sequence_argument(value: Any, *, nested: bool = True) -> Any:
    """Return the buffers of a sequence of arrays; an item that is a list itself is refused unless `nested`."""
    if isinstance(value, ndarray):
        return used(value)
    if isinstance(value, (list, tuple)):
        if (
            not nested
            and (inner := next((item for item in value if isinstance(item, (list, tuple))), None)) is not None
        ):
            raise unsupported(inner)
        return type(value)(sequence_argument(item) for item in value)
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


def device_arrays_among(value: Any) -> list[ndarray]:
    if isinstance(value, ndarray):
        return [value]
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in device_arrays_among(item)]
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
    device_arrays = device_arrays_among(list(values.values()))
    found = wrapped(result, device_arrays)
    if name.startswith("empty") and asynchrony.is_on():
        asynchrony.begins(found)
    return found


def build(parameters: dict[str, str], numpy_module: Any, module: str, special: dict[str, Any]) -> dict[str, Any]:
    """Return the functions of one of CuPy's modules by name."""
    functions: dict[str, Any] = {}
    for name, text in parameters.items():
        if name in LEFT_OUT:
            continue
        if name in special:
            written = special[name]
            functions[name] = with_signature(name, text, spread(written), module)
            continue
        compute = getattr(numpy_module, ALIASES.get(name, name), None) or getattr(standard, name, None)
        if compute is None:
            continue
        functions[name] = with_signature(name, text, _served(name, compute, text, module), module)
    return functions


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
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
    for word in split_parameters(text):
        parameter, equals, default = word.partition("=")
        # The text is this package's own table.
        defaults[parameter] = eval(default, {"numpy": np, "inf": np.inf}) if equals else _Left
    return lambda values: serve(name, compute, defaults, values)
