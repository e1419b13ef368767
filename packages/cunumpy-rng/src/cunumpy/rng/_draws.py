"""What a draw of `PhiloxGenerator` is asked for: its arguments, checked, and of which backend they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.rng import _host

if TYPE_CHECKING:
    from typing import NoReturn

    from cunumpy._backend import BackendType

POSITIONS = 2**56
"""Blocks of a stream: the 8 bits above belong to the second tries of bounded integers."""

MOST = 2**59
"""Numbers of 8 bytes: no array can hold twice as many."""

LARGEST = {np.dtype(dtype): float(np.finfo(dtype).max) for dtype in (np.float64, np.float32)}
"""The largest finite number of each dtype that is drawn."""


class Draw:
    """The checked arguments of one draw.

    Parameters
    ----------
    names : dict, optional
        What messages call a parameter, if not by its keyword.
    **parameters
        Of the distribution.

    Attributes
    ----------
    parameters : list
        Numbers, or arrays of the backend.
    """

    def __init__(
        self,
        function: str,
        size: Any,
        dtype: Any,
        out: Any,
        *,
        integer: bool = False,
        names: dict[str, str] | None = None,
        **parameters: Any,
    ) -> None:
        self.function = function
        self.given = parameters
        self.dtype = _dtype(function, dtype, integer)
        self.out = out
        self.names = {name: (names or {}).get(name, name) for name in parameters}
        self.backend = _backend_of(function, out=out, **{self.names[name]: v for name, v in parameters.items()})
        self.module = module_of(self.backend)
        self.parameters = [
            _parameter(function, self.names[name], value, self.backend, self.dtype)
            for name, value in parameters.items()
        ]
        arrays = {name: v for name, v in zip(self.names.values(), self.parameters, strict=True) if not is_number(v)}
        shapes = [array.shape for array in arrays.values()]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            raise ArgumentError(
                f"{function}: arguments {' and '.join(map(repr, arrays))} have shapes "
                f"{' and '.join(map(str, shapes))}, which do not broadcast against each other."
            ) from None
        self.scalar = size is None and out is None and shape == ()
        self.shape = shape if size is None else shape_of_size(function, size)
        if out is not None:
            if size is None:
                self.shape = getattr(out, "shape", shape)
            _gate.check_output(
                out, shape=self.shape, dtype=self.dtype, backend=self.backend, function=function, inputs=arrays
            )
            if self.backend == "numpy" and not out.flags.aligned:
                raise ArgumentError(f"{function}: argument 'out' is not aligned to its dtype; pass another output.")
        for argument, array in arrays.items():
            if not _broadcasts(array.shape, self.shape):
                raise ArgumentError(
                    f"{function}: argument {argument!r} has shape {array.shape}, which does not broadcast to the shape "
                    f"{self.shape} of the result."
                )
        if self.backend == "cupy":
            path_of("cupy").check_devices(function, out=out, **arrays)

    def output(self) -> Any:
        """Return the array to fill."""
        return self.module.empty(self.shape, self.dtype) if self.out is None else self.out

    def result(self, array: Any) -> Any:
        """Return what the caller gets of the filled array."""
        if self.scalar and self.backend == "numpy":
            return float(array) if self.dtype.kind == "f" else array[()]
        return array

    def any(self, condition: Any, value: Any, check: bool) -> bool:
        """Tell whether a condition holds for a number, or for any element of an array; unread where unchecked."""
        if is_number(value):
            return bool(condition(value))
        if self.backend == "cupy":
            return check and _flag(condition(value), self.function)
        return bool(condition(value).any())

    def refuse_negative(self, name: str, value: Any, check: bool) -> None:
        if self.any(lambda value: value < 0, value, check):
            raise ArgumentError(f"{self.function}: argument {name!r} must not be negative, got {self.shown(name)}.")

    def shown(self, name: str) -> str:
        value = self.given[name]
        return repr(value) if isinstance(value, (int, float, np.generic)) else _gate.describe(value)


def path_of(backend: BackendType) -> Any:
    if backend == "cupy":
        from cunumpy.rng import _device_generator

        return _device_generator
    return _host.generator


def module_of(backend: BackendType) -> Any:
    return np if backend == "numpy" else _backend.require_cupy("PhiloxGenerator")


def checked_position(value: Any, function: str) -> int:
    number = _gate.as_integer(value, function=function, argument="position")
    if not 0 <= number <= POSITIONS:
        raise ArgumentError(f"{function}: the position must be in [0, 2^56], got {number}.")
    return number


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or _arrays.get_array_backend(value) == "cupy"


def _backend_of(function: str, **values: Any) -> BackendType:
    """Return the backend of the arrays among the arguments, or the active one."""
    arrays = {argument: value for argument, value in values.items() if _is_array(value)}
    return _gate.common_backend(function, **arrays) if arrays else _backend.get_backend()


def _dtype(function: str, dtype: Any, integer: bool) -> np.dtype[Any]:
    converted = _gate.as_dtype(dtype, function=function)
    known = converted.kind in "iub" and converted.isnative if integer else converted in LARGEST
    if not known:
        expected = "an integer dtype (or bool) of native byte order" if integer else "float64 or float32"
        raise ArgumentTypeError(f"{function}: argument 'dtype' must be {expected}, got {converted}.")
    return converted


def shape_of_size(function: str, size: Any) -> tuple[int, ...]:
    entries = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    shape = tuple(_gate.as_integer(entry, function=function, argument="size") for entry in entries)
    if any(entry < 0 for entry in shape):
        raise ArgumentError(f"{function}: argument 'size' must not be negative, got {size}.")
    if len(shape) > 64 or math.prod(shape) > MOST:
        raise ArgumentError(f"{function}: argument 'size' is more than an array can hold, got {size}; draw in parts.")
    return shape


def _broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


def _parameter(function: str, argument: str, value: Any, backend: BackendType, dtype: np.dtype[Any]) -> Any:
    """Make a parameter of draws of a dtype a Python number, or an array of the backend."""
    integer = dtype.kind != "f"
    if isinstance(value, (int, float, np.generic)):
        if integer:
            return _gate.as_integer(value, function=function, argument=argument)
        if isinstance(value, np.generic) and value.dtype.kind not in "biuf":
            raise ArgumentTypeError(f"{function}: argument {argument!r} must be a real number, got {value!r}.")
        try:
            number = float(value)
        except OverflowError:
            _refuse_overflow(function, argument, dtype)
        if math.isfinite(number) and abs(number) > LARGEST[dtype]:
            _refuse_overflow(function, argument, dtype)
        return number
    if _arrays.is_device_array(value):
        if integer and value.dtype.kind not in "iu":
            _gate.refuse_non_integer(value, value.dtype, function=function, argument=argument)
        if value.dtype.kind not in "biuf":
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} has dtype {value.dtype}, expected a real one; convert it with "
                ".astype(...)."
            )
        return value if integer else value.astype(np.float64, copy=False)
    if integer:
        array = _gate.as_integer_array(value, function=function, argument=argument)
    else:
        array = _gate.as_host_array(value, function=function, argument=argument, dtype_kinds="biuf")
        array = array.astype(np.float64, copy=False)
        if dtype.itemsize < 8 and bool((np.isfinite(array) & (np.abs(array) > LARGEST[dtype])).any()):
            _refuse_overflow(function, argument, dtype)
    return array if backend == "numpy" else _conversion.copy_to_device(np.asarray(array, order="C"), function)


def _refuse_overflow(function: str, argument: str, dtype: np.dtype[Any]) -> NoReturn:
    raise ArgumentError(f"{function}: argument {argument!r} has a value beyond what {dtype} can hold.")


def _flag(flags: Any, function: str) -> bool:
    """Read whether any of a device array's flags is set."""
    return bool(_conversion.copy_to_host(flags.any(), function))


# --- intervals of integers --------------------------------------------------------------------------------------------


def empty_interval_text(draw: Draw, endpoint: bool) -> str:
    relation = "above" if endpoint else "at or above"
    return (
        f"{draw.function}: the interval is empty, its lower end {draw.shown('low')} is {relation} its upper end "
        f"{draw.shown('high')} somewhere; give low, then high."
    )


def beyond_dtype_text(draw: Draw, first: int, last: int, endpoint: bool) -> str:
    return (
        f"{draw.function}: the interval from {draw.shown('low')} to {draw.shown('high')} "
        f"({'with' if endpoint else 'without'} its end) goes beyond dtype {draw.dtype}, which holds {first} to {last}; "
        "ask for a wider dtype, or another interval."
    )


def interval_ends(
    draw: Draw, low: Any, high: Any, first: int, last: int, endpoint: bool, check: bool
) -> tuple[Any, Any]:
    """Return lower ends and lengths, modulo 2^64 as uint64 arrays (or numbers), of checked intervals."""
    step = 0 if endpoint else 1
    if draw.any(lambda ends: _outside(ends, first, last), low, check) or draw.any(
        lambda ends: _outside(ends, first + step, last + step), high, check
    ):
        # An upper end at the very beginning makes the interval empty, but lies beyond the dtype as well.
        raise ArgumentError(beyond_dtype_text(draw, first, last, endpoint))
    wide = np.int64 if draw.dtype.kind == "i" else np.uint64
    bottom = _widened(low, 0, wide, draw)
    top = _widened(high, step, wide, draw)
    if draw.any(lambda flags: flags, bottom > top, check):
        raise ArgumentError(empty_interval_text(draw, endpoint))
    bottom, top = bottom.astype(np.uint64), top.astype(np.uint64)
    return bottom, top - bottom + np.uint64(1)


def _outside(ends: Any, first: int, last: int) -> Any:
    if is_number(ends):
        return not first <= ends <= last
    own = np.iinfo(ends.dtype)
    outside = ends != ends
    if first > own.min:
        outside |= ends < ends.dtype.type(first) if first <= own.max else True
    if last < own.max:
        outside |= ends > ends.dtype.type(last) if last >= own.min else True
    return outside


def _widened(ends: Any, step: int, wide: type, draw: Draw) -> Any:
    """Return the ends lowered by a step, in 64 bits."""
    if is_number(ends):
        return draw.module.asarray(ends - step, wide)
    own = ends.astype(np.int64 if ends.dtype.kind == "i" else np.uint64)  # before the step, which may leave 8 bits
    return (own - own.dtype.type(step)).astype(wide)


# --- populations ------------------------------------------------------------------------------------------------------


def population_of(function: str, argument: str, value: Any, axis: int, p: Any = None) -> tuple[BackendType, Any, int]:
    """Return the backend, the array (None for a number of elements), and how many entries there are."""
    if isinstance(value, (int, np.integer)):
        count = _gate.as_integer(value, function=function, argument=argument)
        if count < 0:
            raise ArgumentError(f"{function}: argument {argument!r} must not be negative, got {count}.")
        if count > 2**63:
            raise ArgumentError(
                f"{function}: argument {argument!r} must be at most 2^63, because results are int64, got {count}."
            )
        return _backend_of(function, p=p), None, count
    backend = _backend_of(function, **{argument: value}, p=p)
    array = value
    if not _arrays.is_device_array(value):
        if backend == "cupy":
            array = _gate.as_device_source(value, function=function, argument=argument)
        else:
            array = _gate.as_host_array(value, function=function, argument=argument, dtype_kinds="biufcSUMmVOT")
    if array.ndim == 0:
        raise ArgumentError(
            f"{function}: argument {argument!r} must be an integer or have at least one dimension, got "
            f"{_gate.describe(value)}."
        )
    number = _gate.as_integer(axis, function=function, argument="axis")
    if not -array.ndim <= number < array.ndim:
        raise ArgumentError(
            f"{function}: argument 'axis' is {number}, but argument {argument!r} has {array.ndim} dimension(s)."
        )
    if backend == "cupy":
        if not _arrays.is_device_array(array):
            array = _conversion.copy_to_device(np.asarray(array, order="C"), function)
        path_of("cupy").check_devices(function, **{argument: array})
    return backend, array, array.shape[number]


def checked_probabilities(function: str, backend: BackendType, p: Any, count: int, needed: int, check: bool) -> Any:
    """Return checked probabilities in float64."""
    weights = _parameter(function, "p", p, backend, np.dtype(np.float64))
    if is_number(weights) or weights.shape != (count,):
        raise ArgumentError(
            f"{function}: argument 'p' must have shape ({count},), one probability for each entry, got "
            f"{_gate.describe(p)} of shape {getattr(weights, 'shape', ())}."
        )
    if backend == "cupy":
        path_of("cupy").check_devices(function, p=weights)
        if not check:
            return weights
    xp = module_of(backend)
    facts = xp.stack(
        [(~(weights >= 0)).any().astype(np.float64), weights.sum(), (weights > 0).sum().astype(np.float64)]
    )
    bad, total, positive = (_conversion.copy_to_host(facts, function) if backend == "cupy" else facts).tolist()
    if bad:
        raise ArgumentError(f"{function}: argument 'p' has probabilities that are negative or NaN.")
    given = np.dtype(getattr(p, "dtype", np.float64))
    precision = np.finfo(given if given.kind == "f" else np.float64).eps
    if not abs(total - 1) <= max(math.sqrt(precision), math.sqrt(np.finfo(np.float64).eps)):
        raise ArgumentError(f"{function}: argument 'p' has sum {total}, expected 1; divide it by its sum.")
    if positive < needed:
        raise ArgumentError(
            f"{function}: {needed} entries can't be chosen without replacement, because only {int(positive)} have "
            "a probability above 0."
        )
    return weights
