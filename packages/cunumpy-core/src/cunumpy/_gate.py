"""The one input gate: what a caller hands in becomes an array here, or an error that names the argument.

Every function that takes host data converts it with `as_host_array` and checks outputs with `check_writable`, so that
masked arrays, ragged lists, byte order and read-only memory are decided on in one place.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import NoReturn

    from cunumpy._backend import BackendType

DEVICE_KINDS = "biufcV"
"""Kinds of dtype that CUDA memory can hold."""

_KIND_NAMES = {
    "b": "bool",
    "i": "integer",
    "u": "unsigned integer",
    "f": "floating",
    "c": "complex",
    "V": "structured",
    "O": "object",
    "S": "bytes",
    "U": "str",
    "M": "datetime64",
    "m": "timedelta64",
    "T": "string",
}


def describe(value: object) -> str:
    """Describe a value for an error message: its type, and shape and dtype if it has them."""
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return name if shape is None or dtype is None else f"{name}(shape={shape}, dtype={dtype})"


def given(value: object) -> str:
    """Describe a value for an error message, with its text if that is short and needs no device to be read."""
    if _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value):
        return describe(value)
    try:
        text = repr(value)
    except Exception:  # Python has no text for integers of very many digits, and an object may have none
        text = ""
    if not text or len(text) > 100:
        return f"{describe(value)} of {value.bit_length()} bits" if isinstance(value, int) else describe(value)
    return text if type(value) is int else f"{describe(value)} ({text})"


def as_truth(value: object, *, function: str, argument: str) -> bool:
    """Return the truth of a flag: a bool of Python or NumPy, or 0 or 1; text says "no" and would count as true."""
    if value is True or value is False:
        return value is True
    if isinstance(value, (np.bool_, int, np.integer)) and value in (0, 1):
        return bool(value)
    hint = "; convert it with bool(...)" if getattr(value, "shape", None) == () else ""
    raise ArgumentTypeError(f"{function}: argument {argument!r} must be True or False, got {given(value)}{hint}.")


def as_optional_truth(value: object, *, function: str, argument: str) -> bool | None:
    """Return the truth of a flag that may be None."""
    if value is None:
        return None
    try:
        return as_truth(value, function=function, argument=argument)
    except ArgumentTypeError:
        text = f"{function}: argument {argument!r} must be True, False or None, got {given(value)}."
        raise ArgumentTypeError(text) from None


def as_integer(value: Any, *, function: str, argument: str, least: int | None = None, most: int | None = None) -> int:
    """Return an integer, of Python or NumPy; refuse truth values, fractions and what is out of range."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        is_number = hasattr(value, "__int__") and not getattr(value, "shape", ())
        remedy = "; convert it with int(...) if that is meant" if is_number else ""
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be an integer, got {given(value)}{remedy}."
        ) from None
    if (least is not None and number < least) or (most is not None and number > most):
        wanted = f"from {least} to {most}" if most is not None else f"at least {least}"
        raise ArgumentError(f"{function}: argument {argument!r} must be {wanted}, got {given(number)}.")
    return number


def as_real(
    value: Any, *, function: str, argument: str, least: float | None = None, most: float | None = None
) -> float:
    """Return a real number as a float; refuse truth values, text and NaN, and what is out of range."""
    number = None
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
    if number is None:
        raise ArgumentTypeError(f"{function}: argument {argument!r} must be a number, got {given(value)}.")
    if number != number or (least is not None and number < least) or (most is not None and number > most):
        wanted = "a number" if least is None else f"from {least} to {most}" if most is not None else f"at least {least}"
        raise ArgumentError(f"{function}: argument {argument!r} must be {wanted}, got {given(value)}.")
    return number


def as_path(value: Any, *, function: str, argument: str) -> Path:
    """Return a path of text or a path object."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{function}: argument {argument!r} must be a path, str or Path, got {given(value)}.")
    from pathlib import Path

    return Path(value)


def as_paths(values: Any, *, function: str, argument: str) -> list[Path]:
    """Return several paths; refuse a single one, whose letters would be taken for paths."""
    listed = _as_list(values, "paths", function, argument)
    return [as_path(value, function=function, argument=argument) for value in listed]


def as_strings(values: Any, *, function: str, argument: str) -> list[str]:
    """Return several strings; refuse a single one, whose letters would be taken for strings."""
    listed = _as_list(values, "strings", function, argument)
    for value in listed:
        if not isinstance(value, str):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be made of strings, got {given(value)} in it."
            )
    return listed


def _as_list(values: Any, what: str, function: str, argument: str) -> list[Any]:
    if isinstance(values, (str, bytes, os.PathLike)):
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be several {what}, got the single one {values!r}; "
            f"pass {argument}=[{values!r}]."
        )
    if isinstance(values, (type, Mapping)) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{function}: argument {argument!r} must be a list of {what}, got {given(values)}.")
    return list(values)


def as_host_array(
    value: Any,
    *,
    function: str,
    argument: str,
    dtype_kinds: str | None = None,
    ndim: int | tuple[int, ...] | None = None,
    native: bool = False,
    contiguous: bool = False,
) -> np.ndarray:
    """Turn an array-like into a plain NumPy array, without a copy where none is needed.

    Parameters
    ----------
    value : Any
        An array, a scalar, a (nested) list, or an object that NumPy can convert.
    function, argument : str
        Names for the error messages.
    dtype_kinds : str, optional
        The accepted ``dtype.kind`` letters. By default everything but objects.
    ndim : int or tuple of int, optional
        The accepted numbers of dimensions.
    native : bool, default: False
        Convert other byte orders to the machine's.
    contiguous : bool, default: False
        Convert other layouts to C order; 0-d arrays stay 0-d.

    Returns
    -------
    numpy.ndarray
        The value itself if it is an `numpy.ndarray` that needs no conversion.

    Raises
    ------
    ArgumentTypeError
        Masked arrays, device arrays, objects that are not array-like, or an unwanted dtype.
    ArgumentError
        Ragged lists, or an unwanted number of dimensions.

    Examples
    --------
    >>> as_host_array([1, 2], function="f", argument="x")
    array([1, 2])
    """
    array = value if type(value) is np.ndarray else _converted(value, function, argument)
    kind = array.dtype.kind
    if kind == "O" if dtype_kinds is None else kind not in dtype_kinds:
        _refuse_dtype(value, array, function, argument, dtype_kinds)
    if ndim is not None:
        check_ndim(array, ndim, function=function, argument=argument)
    if native and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="), order="K")
    if contiguous and not array.flags.c_contiguous:
        array = np.array(array, order="C")  # ascontiguousarray would make 0-d arrays 1-d
    return array


def as_integer_array(
    value: Any, *, function: str, argument: str, ndim: int | tuple[int, ...] | None = None
) -> np.ndarray:
    """Turn an array-like of integers into a plain NumPy array of native byte order; an empty list becomes int64.

    A list is taken by its entries: integers from 2**63 on make it uint64 where NumPy may give float64.

    Raises
    ------
    ArgumentTypeError
        What is no integer: floating point, bool (one among the integers of a list, too), objects (integers beyond 64
        bits among them), masked and device arrays.
    ArgumentError
        Ragged lists, or an unwanted number of dimensions.
    """
    array = as_host_array(value, function=function, argument=argument, dtype_kinds="biufcSUTMmVO", ndim=ndim)
    if isinstance(value, (list, tuple)):
        array = integers_of_list(value, array)
    if array.dtype.kind not in "iu":
        refuse_non_integer(value, array.dtype, function=function, argument=argument)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def integers_of_list(value: list[Any] | tuple[Any, ...], array: np.ndarray, *, wrap: bool = False) -> np.ndarray:
    """Read a list anew if NumPy has hidden what is in it: bools among integers, and integers from 2**63 on.

    Integers beyond 64 bits stay objects; with `wrap` those that NumPy has hidden are taken modulo 2**64, as uint64.
    """
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind in "iu":
        return np.array([True]) if holds_bool(value) else array
    if array.dtype.kind in "fO":  # of floating point also if both negative integers and ones from 2**63 on occur
        objects = np.array(value, dtype=object)
        if all(isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in objects.flat):
            if wrap:
                return np.array([int(item) % 2**64 for item in objects.flat], np.uint64).reshape(objects.shape)
            try:
                return objects.astype(np.uint64 if min(objects.flat) >= 0 else np.int64)
            except OverflowError:
                return objects
    return array


def holds_bool(values: Any) -> bool:
    """Tell whether there is a bool in a (nested) list that NumPy makes an integer array of."""
    kinds = set(map(type, values))
    if bool in kinds or np.bool_ in kinds:
        return True
    if kinds <= {int}:
        return False
    return any(
        item.dtype.kind == "b" if isinstance(item, np.ndarray) else isinstance(item, (list, tuple)) and holds_bool(item)
        for item in values
    )


def refuse_non_integer(value: Any, dtype: Any, *, function: str, argument: str) -> NoReturn:
    """Raise the `ArgumentTypeError` of an array that should have had an integer dtype."""
    if dtype.kind == "O":
        remedy = "every entry has to be an integer that fits in 64 bits"
    elif dtype.kind == "f":
        remedy = "if every value is whole, convert it with .astype(numpy.int64)"
    else:
        remedy = "convert it with .astype(numpy.int64) if its values are meant as integers"
    _refuse(
        f"{function}: argument {argument!r} must have an integer dtype, got {describe(value)} of dtype {dtype}; "
        f"{remedy}."
    )


def common_backend(function: str, **arguments: Any) -> BackendType:
    """Return the backend that the array arguments of a call belong to.

    Numbers, NumPy's scalars and None are at home on both; lists and everything else without a device are host data.

    Raises
    ------
    MixedBackendError
        Host arrays and device arrays in one call.
    ArgumentTypeError
        A device array of another library.
    """
    device: list[str] = []
    host: list[str] = []
    for argument, value in arguments.items():
        if value is None or isinstance(value, (int, float, complex, np.generic)):
            continue
        if _arrays.is_device_array(value):
            device.append(argument)
        elif _arrays.is_foreign_device_array(value):
            _refuse(
                f"{function}: argument {argument!r} is a device array of another library ({describe(value)}); wrap it "
                "without a copy by xp.to_cupy(array)."
            )
        else:
            host.append(argument)
    if device and host:
        raise MixedBackendError(
            f"{function}: arguments {_listed(device)} are in device memory and {_listed(host)} on the host; move one "
            "side explicitly, with xp.to_cupy(array) or xp.to_numpy(array)."
        )
    return "cupy" if device else "numpy"


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def overlap(first: Any, second: Any) -> bool:
    """Tell whether two arrays of one backend share memory: exactly, or True where that would take long to find out."""
    first, second = _extent(first), _extent(second)
    if not np.may_share_memory(first, second):
        return False
    work: Any = 10_000  # NumPy's stub knows the two special values alone
    try:
        return bool(np.shares_memory(first, second, max_work=work))
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(array: Any) -> bool:
    """Tell whether elements of an array may lie on each other, as in ``broadcast_to`` and ``sliding_window_view``.

    False for everything that slices, transposed arrays, fields and diagonals can be.
    """
    span = array.dtype.itemsize
    for stride, size in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if size > 1 and stride < span and array.size:
            return True
        span += stride * max(size - 1, 0)
    return False


class _DeviceExtent:
    """Where a device array lies, in the form that NumPy compares; nothing is read there."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = {
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str if array.dtype.kind != "V" else f"|V{array.dtype.itemsize}",
            "data": (int(array.data.ptr), True),
            "version": 3,
        }


def _extent(array: Any) -> np.ndarray:
    if not _arrays.is_device_array(array):
        return np.asarray(array)
    return np.empty(0) if array.size == 0 else np.asarray(_DeviceExtent(array))


def as_device_source(value: Any, *, function: str, argument: str) -> np.ndarray:
    """Turn an array-like into a host array that can be copied to a device: native byte order, a dtype CUDA has."""
    if isinstance(value, np.ndarray):  # first, since more can be converted than a device can hold
        check_device_dtype(value.dtype, function=function, argument=argument)
    array = as_host_array(value, function=function, argument=argument, native=True)
    check_device_dtype(array.dtype, function=function, argument=argument)
    return array


def as_dtype(dtype: Any, *, function: str, argument: str = "dtype") -> np.dtype[Any]:
    """Turn what describes a dtype into one."""
    try:
        converted: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must describe a dtype, got {dtype!r}: {error}"
        ) from None
    return converted


def check_ndim(array: Any, ndim: int | tuple[int, ...], *, function: str, argument: str) -> None:
    """Raise `ArgumentError` unless the array has (one of) the wanted numbers of dimensions."""
    wanted = (ndim,) if isinstance(ndim, int) else ndim
    if array.ndim not in wanted:
        raise ArgumentError(
            f"{function}: argument {argument!r} must have {' or '.join(map(str, wanted))} dimension(s), "
            f"got {array.ndim} (shape {array.shape}); reshape it."
        )


def fits_device(dtype: np.dtype[Any]) -> bool:
    """Tell whether CUDA memory can hold a dtype."""
    return dtype.kind in DEVICE_KINDS and not dtype.hasobject and dtype.char not in "gG"


def check_device_dtype(dtype: np.dtype[Any], *, function: str, argument: str) -> None:
    """Raise `ArgumentTypeError` for a dtype that CUDA memory can't hold."""
    if not fits_device(dtype):
        wide = " (wider than 64 bits per component)" if dtype.char in "gG" else ""
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} has dtype {dtype}{wide}, which a CUDA device can't hold; "
            "convert it to a bool, integer, float or complex dtype with .astype(...), or keep it on the host."
        )


def check_writable(array: np.ndarray, *, function: str, argument: str) -> None:
    """Raise `ArgumentError` for an array that can't be written to."""
    if not array.flags.writeable:
        raise ArgumentError(
            f"{function}: argument {argument!r} is written to, but the array is read-only (shape {array.shape}, dtype "
            f"{array.dtype}); pass a writable array, for instance its copy, {argument}.copy()."
        )


def check_output(
    out: Any,
    *,
    shape: tuple[int, ...],
    dtype: Any,
    backend: BackendType,
    function: str,
    argument: str = "out",
    inputs: Mapping[str, Any] | None = None,
) -> None:
    """Check an array that results are to be written to: its backend, shape, dtype and layout; and that it is apart.

    Parameters
    ----------
    out : Any
        What the caller gave.
    shape, dtype, backend
        What it must have.
    function, argument : str
        Names for the error messages.
    inputs : mapping of str to Any, optional
        The other arguments by name. Arrays among them must not share memory with `out`.

    Raises
    ------
    ArgumentTypeError
        `out` is no array of the backend.
    ArgumentError
        Another shape, dtype or layout, read-only, or overlapping memory.
    """
    if not (_arrays.is_device_array(out) if backend == "cupy" else isinstance(out, np.ndarray) and not is_masked(out)):
        _refuse(
            f"{function}: argument {argument!r} must be a {backend}.ndarray, to which the result is written, got "
            f"{describe(out)}; leave it out to get a new array."
        )
    if out.shape != shape or out.dtype != dtype:
        raise ArgumentError(
            f"{function}: argument {argument!r} must have shape {shape} and dtype {np.dtype(dtype)}, got "
            f"{describe(out)}; pass {backend}.empty({shape}, {str(np.dtype(dtype))!r}), or leave it out."
        )
    if not out.flags.c_contiguous:
        raise ArgumentError(
            f"{function}: argument {argument!r} must be C-contiguous, got {describe(out)} with strides {out.strides}; "
            "pass a contiguous array, and copy from it afterwards."
        )
    if backend == "numpy":
        check_writable(out, function=function, argument=argument)
    for name, value in (inputs or {}).items():
        if (isinstance(value, np.ndarray) or _arrays.is_device_array(value)) and overlap(out, value):
            raise ArgumentError(
                f"{function}: argument {argument!r} shares memory with argument {name!r}, which would be overwritten "
                f"while it is read; pass another array, or {name}.copy()."
            )


def is_masked(value: object) -> bool:
    """Tell whether a value is a masked array of NumPy's."""
    masked = sys.modules.get("numpy.ma")  # where it was never imported, there is none
    return masked is not None and isinstance(value, masked.MaskedArray)


def refuse_masked(value: object, *, function: str, argument: str) -> None:
    """Raise `ArgumentTypeError` for a masked array: converting it would present masked values as data."""
    if is_masked(value):
        _refuse_special(value, function, f"argument {argument!r} is")


def _converted(value: Any, function: str, argument: str) -> np.ndarray:
    if isinstance(value, (list, tuple)):
        try:
            for element in _array_likes_in(value):
                _refuse_special(element, function, f"argument {argument!r} holds")
        except RecursionError:
            raise ArgumentError(
                f"{function}: argument {argument!r} is a {describe(value)} that holds itself, or more levels of lists "
                "than an array has axes."
            ) from None
    elif type(value) not in _PLAIN:
        _refuse_special(value, function, f"argument {argument!r} is")
    try:
        return np.asarray(value)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ArgumentError(
                f"{function}: argument {argument!r} is a ragged {describe(value)}: its rows differ in length; give "
                "every row the same length, or convert the rows one by one."
            ) from None
        raise ArgumentError(
            f"{function}: argument {argument!r} ({describe(value)}) can't be made an array: {error}"
        ) from error
    except TypeError as error:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} ({describe(value)}) can't be made an array: {error}"
        ) from error


def _array_likes_in(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the elements of nested lists and tuples that are neither plain scalars nor plain arrays."""
    other = {kind for kind in set(map(type, values)) if kind not in _PLAIN and not issubclass(kind, np.generic)}
    if other:
        for element in values:
            if isinstance(element, (list, tuple)):
                yield from _array_likes_in(element)
            elif type(element) in other:
                yield element


_PLAIN = frozenset({int, float, complex, bool, str, bytes, np.ndarray})


def _refuse_special(value: Any, function: str, found: str) -> None:
    """Refuse what NumPy would convert to something else than the caller means."""
    what = "None" if value is None else describe(value)
    if is_masked(value):
        _refuse(
            f"{function}: {found} a masked array ({what}), and converting it would drop the mask; "
            "pass its .filled(value), or its .data if every value counts."
        )
    if _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value):
        _refuse(
            f"{function}: {found} an array in device memory ({what}), which is not copied to the host unasked; "
            "convert it with xp.to_numpy(array) first."
        )
    if value is None:
        remedy = "pass an array"
    elif isinstance(value, dict):
        remedy = "pass its values one by one, or list(d.values())"
    elif isinstance(value, (set, frozenset)):
        remedy = "a set has no order, pass sorted(values)"
    elif hasattr(value, "__next__"):
        remedy = "collect it first, with list(...) or numpy.fromiter(...)"
    else:
        return
    _refuse(f"{function}: {found} {what}, which is not an array; {remedy}.")


def _refuse_dtype(value: Any, array: np.ndarray, function: str, argument: str, dtype_kinds: str | None) -> NoReturn:
    if array.dtype.kind == "O" and not isinstance(value, np.ndarray):
        _refuse(
            f"{function}: argument {argument!r} ({describe(value)}) is not an array of numbers: NumPy would make an "
            "array of Python objects of it; convert its elements to numbers, or pass numpy.array(..., dtype=object) "
            "where objects are meant."
        )
    accepted = ", ".join(dict.fromkeys(_KIND_NAMES.get(kind, kind) for kind in dtype_kinds or "biufcSUMmV"))
    _refuse(
        f"{function}: argument {argument!r} has dtype {array.dtype}, expected {accepted}; convert it with .astype(...)."
    )


def _refuse(message: str) -> NoReturn:
    raise ArgumentTypeError(message)
