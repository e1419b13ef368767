"""Checking and packing one value for a kernel parameter or a field of a struct: one set of rules for both.

Nothing is copied or converted for a value, and nothing on a device is read: what does not fit the type is an error
that says what is expected, what was given, and what to do.

Python's numbers fit where their kind does: bool to bool and integers, int to all but bool, float to floating point and
complex, complex to complex. Floats are rounded to the type and never become infinite; integers have to be held
exactly, so ``float(n)`` says that rounding is meant. NumPy's integers are taken by value like Python's, except for
bool and complex; other NumPy scalars only where no value can be lost. An array, also of no dimensions, is no number.
Pointers and views take device arrays of exactly their dtype, C-contiguous unless the view has strides, on the current
device, and writable unless they are const. For a kernel that runs on the CPU (`host`) they take NumPy arrays, under the
same rules.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.arguments._protocol import members
from cunumpy.cuda._parameters import field_type
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from cunumpy.cuda import CudaParameter

    Numbers: TypeAlias = tuple[Any, ...]
    Device: TypeAlias = int | None
    """The device that arrays have to be on; None where they can't be on another one."""
    Check: TypeAlias = Callable[[Any, Device], Numbers]


class Packer(NamedTuple):
    """How the values of one parameter are checked and packed.

    Attributes
    ----------
    code : str
        The format for `struct`, without padding, in native byte order and standard sizes (``"="``).
    numbers : callable
        Takes a value and the device; returns what `struct` packs.
    argument : callable
        Takes the same; returns what `cupy.RawKernel` is launched with: the device array itself, a NumPy scalar of
        exactly the type, else a NumPy array of one record.
    """

    code: str
    numbers: Check
    argument: Callable[[Any, Device], Any]


def packer(parameter: CudaParameter, label: str, *, host: bool = False) -> Packer:
    """Return how the values of a parameter are checked and packed.

    Parameters
    ----------
    parameter : CudaParameter
        The parameter, or field of a struct.
    label : str
        What messages call it, such as ``"axpy: argument 'n'"``; they add its type.
    host : bool, default: False
        Take NumPy arrays for pointers and views, and for a struct also an object or a mapping with its fields. The
        argument for a pointer is the array's address then.

    Returns
    -------
    Packer

    Examples
    --------
    >>> import cunumpy as xp
    >>> (n,) = xp.cuda.parse_cuda_signature("__global__ void f(int n);", "f")
    >>> packer(n, "f: argument 'n'").argument(3, None).dtype
    dtype('int32')
    """
    where = f"{label} ({field_type(parameter)})"
    if parameter.pointer:
        return _host_pointer(parameter, where) if host else _pointer(parameter, where)
    if parameter.view_ndim is not None:
        return _view(parameter, parameter.view_ndim, where, host)
    dtype = parameter.dtype
    if dtype is None:
        raise ArgumentError(f"{where}: void has no values; declare a pointer, void*.")
    if dtype.shape:
        return _fixed_array(parameter, dtype, label, where)
    if parameter.struct is not None:
        return _host_struct(parameter, dtype, label, where) if host else _struct(parameter, dtype, where)
    if dtype.names is not None:
        return _vector(parameter, dtype, where)
    if dtype.kind == "V":
        raise ArgumentError(f"{where}: NumPy has no such type; declare it float and convert it in the kernel.")
    return _number(dtype, where)


def _record(numbers: Check, code: str, dtype: np.dtype[Any]) -> Packer:
    pack = struct.Struct(f"={code}").pack

    def argument(value: Any, device: Device) -> Any:
        return np.ndarray((1,), dtype, pack(*numbers(value, device)))

    return Packer(code, numbers, argument)


# --- numbers ----------------------------------------------------------------------------------------------------------

_CODES = {"?": "?", "e": "e", "f": "f", "d": "d", "F": "2f", "D": "2d"} | {
    char: {"i": "bhiq", "u": "BHIQ"}[np.dtype(char).kind][np.dtype(char).itemsize.bit_length() - 1]
    for char in "bBhHiIlLqQ"  # which of these are the same is up to the platform
}
"""Of each dtype's character the code for `struct` in standard sizes."""


def _number(dtype: np.dtype[Any], where: str) -> Packer:
    makers = {"b": _bool, "i": _integer, "u": _integer, "f": _floating, "c": _complex}
    return makers[dtype.kind](dtype, where)


def _bool(dtype: np.dtype[Any], where: str) -> Packer:
    def numbers(value: Any, device: Device) -> Numbers:
        if value is True or value is False or type(value) is np.bool_:
            return (bool(value),)
        _refuse_number(value, where, "True or False", "bool")

    return Packer("?", numbers, lambda value, device: np.bool_(*numbers(value, device)))


def _integer(dtype: np.dtype[Any], where: str) -> Packer:
    make, info = dtype.type, np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    wider = {"i": "long long", "u": "unsigned long long"}[dtype.kind]
    last: tuple[Any, Any] = (make(0), make(0))

    def numbers(value: Any, device: Device) -> tuple[int]:
        if type(value) is not int:
            if not isinstance(value, (int, np.integer, np.bool_)) or isinstance(value, np.timedelta64):
                _refuse_number(value, where, "an integer", "int")
            value = int(value)
        if low <= value <= high:
            return (value,)
        _refuse_range(value, where, low, high, wider)

    def argument(value: Any, device: Device) -> Any:
        # Making the scalar costs more than all the rest, and sizes are the same object from launch to launch.
        nonlocal last
        before, scalar = last
        if value is before:
            return scalar
        scalar = value if type(value) is make else make(*numbers(value, device))
        last = (value, scalar)
        return scalar

    return Packer(_CODES[dtype.char], numbers, argument)


def _floating(dtype: np.dtype[Any], where: str) -> Packer:
    make, real = dtype.type, _real_number(dtype, where, "double")
    exact_type = float if dtype.itemsize == 8 else make  # what needs no check

    def numbers(value: Any, device: Device) -> tuple[float]:
        kind = type(value)
        if kind is float:
            return (value,) if kind is exact_type else (real(value),)
        if kind is int:
            return (real(value),)
        if isinstance(value, np.generic):
            if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
                return (real(int(value)),)
            if value.dtype.kind in "bf" and np.can_cast(value.dtype, dtype):
                return (float(value),)
        elif isinstance(value, (float, int)) and kind is not bool:
            return (real(float(value) if isinstance(value, float) else int(value)),)
        _refuse_number(value, where, "a real number", "float")

    def argument(value: Any, device: Device) -> Any:
        if type(value) is exact_type:
            return make(value)
        return make(*numbers(value, device))

    return Packer(_CODES[dtype.char], numbers, argument)


def _complex(dtype: np.dtype[Any], where: str) -> Packer:
    make, real = dtype.type, _real_number(np.dtype(f"f{dtype.itemsize // 2}"), where, "complex<double>")

    def numbers(value: Any, device: Device) -> tuple[float, float]:
        if isinstance(value, np.generic):
            if value.dtype.kind in "biufc" and np.can_cast(value.dtype, dtype):
                number = complex(value)
                return real(int(value)) if value.dtype.kind in "iu" else number.real, number.imag
        elif isinstance(value, (int, float)) and type(value) is not bool:
            return real(float(value) if isinstance(value, float) else int(value)), 0.0
        elif isinstance(value, complex):
            return real(value.real), real(value.imag)
        _refuse_number(value, where, "a number", "complex")

    return Packer(_CODES[dtype.char], numbers, lambda value, device: make(complex(*numbers(value, device))))


def _real_number(dtype: np.dtype[Any], where: str, wider: str) -> Callable[[int | float], float]:
    """Return what makes floats of Python's numbers that the type rounds, if these are floats, or else holds exactly."""
    info = np.finfo(dtype)
    # IEEE 754: what lies beyond the largest number by half of its last digit, or more, rounds to infinity.
    limit = float(info.max) + 2.0 ** (info.maxexp - info.nmant - 2) if dtype.itemsize < 8 else math.inf
    exact = 2 ** (info.nmant + 1)

    def real(value: int | float) -> float:
        if type(value) is float:
            if -limit < value < limit or value != value or value in (math.inf, -math.inf):
                return value
        elif -exact <= value <= exact:
            return float(value)
        else:
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if -limit < number < limit:
                rounded = float(dtype.type(number))
                if number == value == rounded:
                    return number
                raise ArgumentError(
                    f"{where} can't hold the integer {value} exactly, the next number is {rounded:.0f}; pass "
                    "float(value) where rounding is meant, or declare it an integer type."
                )
        largest = f"{float(info.max):.0f}" if dtype.itemsize == 2 else str(info.max)
        _refuse_range(value, where, f"-{largest}", largest, wider)

    return real


def _refuse_range(value: Any, where: str, low: Any, high: Any, wider: str) -> NoReturn:
    # Python has no text for integers of very many digits.
    long = isinstance(value, int) and value.bit_length() > 200
    shown = f"a number of {value.bit_length()} bits" if long else value
    raise ArgumentRangeError(
        f"{where} must be from {low!s} to {high!s}, got {shown}; pass a number in this range, or declare it {wider}."
    )


def _refuse_number(value: Any, where: str, expected: str, conversion: str) -> NoReturn:
    if is_device(value):
        remedy = f"it has to be read from the device, which waits: {conversion}(xp.to_numpy(array))"
    elif isinstance(value, np.ndarray):
        remedy = "pass one of its numbers, array.item() for an array of one element"
    elif isinstance(value, type):
        remedy = "pass a number"
    elif conversion in ("int", "float") and isinstance(value, (complex, np.complexfloating)):
        remedy = (
            "pass value.real where that is meant"
            if conversion == "float"
            else "pass int(value.real) where that is meant"
        )
    elif isinstance(value, (Number, np.bool_)) and not isinstance(value, np.timedelta64):
        remedy = f"pass {conversion}(value) where that is meant"
    else:
        remedy = "pass a number"
    raise ArgumentTypeError(f"{where} must be {expected}, got {_given(value)}; {remedy}.")


def _given(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if not isinstance(value, (bool, int, float, complex, str, np.generic)) or len(repr(value)) > 60:
        return _gate.describe(value)
    return repr(value) if isinstance(value, np.generic) else f"{_gate.describe(value)} {value!r}"


# --- several numbers --------------------------------------------------------------------------------------------------


def _vector(parameter: CudaParameter, dtype: np.dtype[Any], where: str) -> Packer:
    names = dtype.names
    assert names is not None
    components = [_number(dtype[name], f"component {name!r} of {where}") for name in names]

    def numbers(value: Any, device: Device) -> Numbers:
        if isinstance(value, np.void) and value.dtype == dtype:
            value = value.tolist()
        elif not isinstance(value, (tuple, list)) or len(value) != len(names):
            raise ArgumentTypeError(
                f"{where} must be a tuple of {len(names)} numbers or a numpy.void of dtype {dtype}, got "
                f"{_given(value)}{_length_of(value)}."
            )
        found: list[Any] = []
        for component, one in zip(components, value, strict=True):
            found += component.numbers(one, device)
        return tuple(found)

    return _record(numbers, "".join(component.code for component in components), dtype)


def _length_of(value: Any) -> str:
    return f" of length {len(value)}" if isinstance(value, (tuple, list)) else ""


def _fixed_array(parameter: CudaParameter, dtype: np.dtype[Any], label: str, where: str) -> Packer:
    shape, plain = dtype.shape, parameter._replace(dtype=dtype.base)
    element = packer(plain, f"an entry of {label}")
    kind = "vectors or structs" if dtype.base.names is not None else "numbers"

    def rows(value: Any, axis: int, place: str, device: Device) -> Numbers:
        if axis == len(shape):
            try:
                return element.numbers(value, device)
            except (ArgumentError, ArgumentTypeError):  # say which entry
                return packer(plain, f"entry {place} of {label}").numbers(value, device)
        is_row = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == len(shape) - axis)
        if not is_row or _gate.is_masked(value) or len(value) != shape[axis]:
            remedy = "copy it, with xp.to_numpy(array)" if is_device(value) else "pass as many as the type has"
            raise ArgumentTypeError(
                f"{f'entry {place} of ' if place else ''}{where} must be a host array or list of {shape[axis]} "
                f"entries with {kind} in {len(shape) - axis} dimension(s), got {_given(value)}{_length_of(value)}; "
                f"{remedy}."
            )
        found: list[Any] = []
        for index, one in enumerate(value):
            found += rows(one, axis + 1, f"{place}[{index}]", device)
        return tuple(found)

    def numbers(value: Any, device: Device) -> Numbers:
        return rows(value, 0, "", device)

    code = element.code * math.prod(shape)
    return Packer(code, numbers, _record(numbers, code, dtype).argument)


def _struct(parameter: CudaParameter, dtype: np.dtype[Any], where: str) -> Packer:
    def numbers(value: Any, device: Device) -> Numbers:
        packed = value
        if type(value) is not np.void and callable(getattr(type(value), "__cuda_args__", None)):
            stands_for = value.__cuda_args__()
            packed = stands_for[0] if len(stands_for) == 1 else value
        if isinstance(packed, np.void) and packed.dtype == dtype:
            if device is not None:
                check_devices(value, device, where)
            return (packed.tobytes(),)
        got = f"numpy.void of dtype {packed.dtype}" if isinstance(packed, np.void) else _given(value)
        raise ArgumentTypeError(
            f"{where} must be a struct, got {got}; pass what {parameter.ctype}(...) of its CudaStruct returns, or a "
            f"numpy.void of dtype {dtype}."
        )

    packed_alone = _record(numbers, f"{dtype.itemsize}s", dtype)

    def argument(value: Any, device: Device) -> Any:
        if type(value) is np.void and value.dtype is dtype:
            return value.reshape(1)  # a copy
        return packed_alone.argument(value, device)

    return packed_alone._replace(argument=argument)


def _host_struct(parameter: CudaParameter, dtype: np.dtype[Any], label: str, where: str) -> Packer:
    packed_before = _struct(parameter, dtype, where)
    layout = dtype.fields
    assert layout is not None
    parts = []
    for field in parameter.struct.fields:
        one = packer(field, f"{label}, field {field.name!r}", host=True)
        pack_into = struct.Struct(f"={one.code}").pack_into
        parts.append((field.name, pack_into, int(layout[field.name][1]), one.numbers))

    def numbers(value: Any, device: Device) -> Numbers:
        kind = type(value)
        if kind is np.void or (hasattr(kind, "__cuda_args__") and not _holds_host_arrays(parameter.struct, value)):
            return packed_before.numbers(value, device)
        packed = bytearray(dtype.itemsize)
        for name, pack_into, offset, find in parts:
            try:
                member = member_of(value, name)
            except (AttributeError, LookupError, TypeError):
                raise ArgumentTypeError(
                    f"{where} must be a struct, or an object or a mapping with its fields, got {_given(value)}, which "
                    f"has no {name!r}."
                ) from None
            pack_into(packed, offset, *find(member, device))
        return (bytes(packed),)

    return _record(numbers, f"{dtype.itemsize}s", dtype)


def member_of(value: Any, name: str) -> Any:
    """Return a field of what stands for a struct: a mapping, a packed value, or an object with attributes."""
    return value[name] if hasattr(type(value), "__getitem__") else getattr(value, name)


def _holds_host_arrays(kind: Any, value: Any) -> bool:
    """Tell whether an object that stands for a struct has a NumPy array in the place of a device array."""
    for field in kind.fields:
        is_array, is_struct = field.pointer or field.view_ndim is not None, field.struct is not None
        if is_array or is_struct:
            try:
                member = member_of(value, field.name)
            except (AttributeError, LookupError, TypeError):
                continue
            if isinstance(member, np.ndarray) if is_array else _holds_host_arrays(field.struct, member):
                return True
    return False


def check_devices(value: Any, device: int, where: str) -> None:
    """Raise for an argument object that holds an array of another device."""
    for name, member in members(value):
        place = f"{where}, field {name!r}," if name else where
        if is_device(member):
            _check_device(member, device, place)
        else:
            check_devices(member, device, place)


# --- device arrays ----------------------------------------------------------------------------------------------------

_native: Any = None
"""CuPy's own array class, known when the first array is seen."""

_MOST_KNOWN = 64


def _is_native(value: Any) -> bool:
    global _native
    kind = type(value)
    if kind is _native:
        return True
    if not _arrays.is_device_array(value):
        return False
    if kind.__name__ == "ndarray":  # no subclass, whose attributes could be its own
        _native = kind
    return True


def is_device(value: Any) -> bool:
    """Tell whether a value is an array in device memory, of CuPy or another library."""
    return _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value)


class _Array(NamedTuple):
    """A device array of any library."""

    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In bytes; None for C-contiguous arrays."""
    contiguous: bool
    read_only: bool


def _pointer(parameter: CudaParameter, where: str) -> Packer:
    dtype = parameter.dtype
    # Arrays that were found right, by id. Dtype, contiguity and memory of CuPy's own arrays never change; whether it is
    # still the same array tells the weak reference, which keeps no memory alive.
    known: dict[int, tuple[ref[Any], Device]] = {}

    def numbers(value: Any, device: Device) -> tuple[int]:
        if (
            type(value) is _native
            and (dtype is None or value.dtype is dtype or value.dtype == dtype)
            and value.flags.c_contiguous
        ):
            data = value.data
            if device is None or data.device_id == device:
                return (data.ptr,)
        return (_checked(value, device, parameter, where).address,)

    def argument(value: Any, device: Device) -> Any:
        entry = known.get(id(value))
        if entry is not None and entry[0]() is value and entry[1] is device:
            return value
        _checked(value, device, parameter, where)
        if type(value) is _native:
            if len(known) > _MOST_KNOWN:
                known.clear()
            known[id(value)] = (ref(value), device)
        return value

    return Packer("Q", numbers, argument)


def _host_pointer(parameter: CudaParameter, where: str) -> Packer:
    def numbers(value: Any, device: Device) -> tuple[int]:
        return (_checked_on_host(value, parameter, where).address,)

    return Packer("Q", numbers, lambda value, device: numbers(value, device)[0])


@lru_cache(maxsize=64)
def view_dtype(ndim: int, contiguous: bool) -> np.dtype[Any]:
    """Return the dtype of an array view as a kernel gets it: an address, the shape, and strides in elements."""
    axes = (np.int64, (ndim,))
    parts = [("data", np.uint64), ("shape", *axes)]
    return np.dtype(parts if contiguous else [*parts, ("strides", *axes)], align=True)


def _view(parameter: CudaParameter, ndim: int, where: str, host: bool) -> Packer:
    contiguous = parameter.contiguous
    code = f"Q{ndim if contiguous else 2 * ndim}q"
    pack, layout = struct.Struct(f"={code}").pack, view_dtype(ndim, contiguous)
    known: dict[int, tuple[ref[Any], Device, tuple[int, ...], Any]] = {}  # as for pointers; shapes can change

    def numbers(value: Any, device: Device) -> Numbers:
        array = _checked_on_host(value, parameter, where) if host else _checked(value, device, parameter, where)
        if contiguous:
            return (array.address, *array.shape)
        if array.strides is None:
            return (array.address, *array.shape, *_packed_strides(array.shape))
        size = array.dtype.itemsize
        return (array.address, *array.shape, *[stride // size for stride in array.strides])

    def argument(value: Any, device: Device) -> Any:
        entry = known.get(id(value))
        shape = getattr(value, "shape", None)
        if entry is not None and entry[0]() is value and entry[1] is device and entry[2] == shape:
            return entry[3]
        record = np.ndarray((1,), layout, pack(*numbers(value, device)))
        if type(value) is _native:
            if len(known) > _MOST_KNOWN:
                known.clear()
            known[id(value)] = (ref(value), device, value.shape, record)
        return record

    return Packer(code, numbers, argument)


def _packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, size = [], 1
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))


def _checked(value: Any, device: Device, parameter: CudaParameter, where: str) -> _Array:
    """Describe a device array that fits the parameter; refuse everything else."""
    array = _array_of(value, parameter, where)
    _check_layout(array, value, parameter, where, _DEVICE_ARRAY)
    if device is not None:
        _check_device(value, device, where)
    return array


def _checked_on_host(value: Any, parameter: CudaParameter, where: str) -> _Array:
    """Describe a NumPy array that fits the parameter; refuse everything else."""
    if not isinstance(value, np.ndarray):
        _refuse_host_array(value, parameter, where)
    if _gate.is_masked(value):
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter, _HOST_ARRAY)}, got a masked array; pass its data and mask by themselves."
        )
    flags, address = value.flags, value.__array_interface__["data"][0]
    array = _Array(address, value.dtype, value.shape, value.strides, flags.c_contiguous, not flags.writeable)
    _check_layout(array, value, parameter, where, _HOST_ARRAY)
    if not flags.aligned:
        raise ArgumentError(
            f"{where} must be aligned in memory as C++ expects it, got {_shown(value, array)} at address {address:#x}; "
            "copy it."
        )
    return array


_DEVICE_ARRAY, _HOST_ARRAY = "device array", "NumPy array"


def _check_layout(array: _Array, value: Any, parameter: CudaParameter, where: str, kind: str) -> None:
    """Raise unless dtype, dimensions and strides fit the parameter, and the array may be written to if it has to."""
    ndim, empty = parameter.view_ndim, 0 in array.shape
    if parameter.dtype is not None and array.dtype != parameter.dtype and not _has_layout_of(array, parameter):
        remedy = f"convert it once, with array.astype({str(parameter.dtype)!r}), and keep the result"
        if array.dtype.kind == "c" and parameter.dtype.kind in "biuf":
            remedy = "declare complex numbers in the kernel, or pass copies of array.real and array.imag"
        if parameter.struct is not None:
            remedy = "make the array with dtype=struct.dtype"
        elif parameter.dtype.names is not None:
            remedy = f"pass an array of {parameter.dtype[0]} whose last axis has {len(parameter.dtype.names)}"
        raise ArgumentTypeError(f"{where} {_wanted(parameter, kind)}, got {_shown(value, array)}; {remedy}.")
    if parameter.pointer and parameter.dtype is not None and parameter.dtype.names is not None:
        alignment = parameter._replace(pointer=False).alignment
        if array.address % alignment and not empty:
            raise ArgumentError(
                f"{where} points to {parameter.ctype}, which has an address that is a multiple of {alignment}, got "
                f"{_shown(value, array)} at address {array.address:#x}; copy it."
            )
    if ndim is not None and len(array.shape) != ndim:
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter, kind)}, got {_shown(value, array)} with {len(array.shape)}; reshape it, or "
            f"declare it Array{max(len(array.shape), 1)}D<{_element(parameter)}>."
        )
    if (ndim is None or parameter.contiguous) and not array.contiguous and not empty:
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter, kind)}, got {_shown(value, array)} with strides {array.strides}; "
            f"pass xp.ascontiguousarray(array), or declare it Array{max(len(array.shape), 1)}D<{_element(parameter)}>."
        )
    if ndim is not None and array.strides and any(stride % array.dtype.itemsize for stride in array.strides):
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter, kind)} whose strides are multiples of {array.dtype.itemsize} bytes, got "
            f"strides {array.strides}; pass xp.ascontiguousarray(array)."
        )
    if array.read_only and not parameter.const and not empty:
        raise ArgumentError(
            f"{where} is written to, as far as its declaration tells, and the array is read-only; declare it "
            f"'{field_type(parameter._replace(const=True))}', or pass a copy."
        )


def _check_device(value: Any, device: int, where: str) -> None:
    there = getattr(getattr(value, "device", None), "id", None)
    if isinstance(there, int) and there != device:
        raise ArgumentError(
            f"{where} is on CUDA device {there}, the current device is {device}; call it inside of "
            f"`with cupy.cuda.Device({there}):`, or copy the array."
        )


def _array_of(value: Any, parameter: CudaParameter, where: str) -> _Array:
    if _is_native(value):
        data = value.data
        return _Array(data.ptr, value.dtype, value.shape, value.strides, value.flags.c_contiguous, read_only=False)
    found = None if isinstance(value, type) else _interface(value)
    if found is None:
        _refuse_array(value, parameter, where)
    if found.get("mask") is not None:
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter)}, got a masked array; pass its data and mask by themselves."
        )
    # Attributes first: an object may have an incomplete interface, or one that copies.
    dtype, data = getattr(value, "dtype", None), getattr(value, "data", None)
    address = getattr(data, "ptr", None)
    shape, strides = getattr(value, "shape", None), getattr(value, "strides", None)
    try:
        if not isinstance(dtype, np.dtype):  # other libraries have dtypes of their own
            dtype = np.dtype(found["typestr"] if found["typestr"][1] != "V" else found.get("descr", found["typestr"]))
        address = int((found["data"][0] if address is None else address) or 0)
        shape = tuple(map(int, found["shape"] if shape is None else shape))
        strides = found.get("strides") if not isinstance(strides, tuple) else strides
        read_only = bool(found["data"][1]) if "data" in found else False
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{where}: {_gate.describe(value)} has an incomplete CUDA array interface ({error!r}); wrap it by "
            "xp.to_cupy(array)."
        ) from None
    contiguous = getattr(getattr(value, "flags", None), "c_contiguous", None)
    if contiguous is None:
        contiguous = strides is None or _is_packed(shape, strides, dtype.itemsize)
    return _Array(address, dtype, shape, strides, bool(contiguous), read_only)


def _interface(value: Any) -> dict[str, Any] | None:
    """Return the CUDA array interface of an object, None if it has none."""
    try:
        found = getattr(value, "__cuda_array_interface__", None)
    except Exception:  # PyTorch refuses it for tensors with gradients
        return None
    return found if isinstance(found, dict) else None


def _is_packed(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    packed = zip(shape, strides, _packed_strides(shape), strict=True)
    return all(extent == 1 or stride == expected * itemsize for extent, stride, expected in packed)


def _is_opaque(dtype: np.dtype[Any], parameter: CudaParameter) -> bool:
    """Tell whether both are two bytes that NumPy does not look into: bfloat16, as raw bits or as ml_dtypes has it."""
    return (
        parameter.dtype == np.dtype("V2")
        and parameter.struct is None
        and dtype.itemsize == 2
        and dtype.kind in "uV"
        and dtype.names is None
    )


def _has_layout_of(array: _Array, parameter: CudaParameter) -> bool:
    """Tell whether an array of another dtype has in memory what the parameter's type says."""
    vector = parameter.dtype
    if _is_opaque(array.dtype, parameter):
        return True
    if not parameter.pointer or parameter.struct is not None or vector is None or vector.names is None:
        return False
    # Vectors such as float4 along the last axis, or complex numbers for float2.
    component, count = vector[0], len(vector.names)
    if array.dtype.kind == "c" and count == 2 and component.kind == "f":
        return bool(array.dtype.itemsize == vector.itemsize)
    return bool(array.dtype == component and array.shape[-1:] == (count,))


def _refuse_array(value: Any, parameter: CudaParameter, where: str) -> NoReturn:
    if isinstance(value, np.ndarray):
        remedy = "it is a host array, which is not copied unasked: pass xp.to_cupy(array), and keep that one"
    elif isinstance(value, (np.generic, int, float, complex)):
        remedy = "pass an array of one element"
    elif value is None:
        remedy = "there is no null pointer; pass an empty array, xp.empty(0, dtype), and its length"
    elif isinstance(value, type):
        remedy = "pass an object, not its class"
    elif _arrays.is_foreign_device_array(value):
        remedy = "it has no CUDA array interface; wrap it by xp.to_cupy(array), without a copy"
    else:
        remedy = "make one with xp.to_cupy(...)"
    raise ArgumentTypeError(f"{where} {_wanted(parameter)}, got {_given(value)}; {remedy}.")


def _refuse_host_array(value: Any, parameter: CudaParameter, where: str) -> NoReturn:
    if is_device(value):
        remedy = "the CPU can't read it there: copy it, with xp.to_numpy(array)"
    elif isinstance(value, (np.generic, int, float, complex)):
        remedy = "pass an array of one element"
    elif value is None:
        remedy = "there is no null pointer; pass an empty array, numpy.empty(0, dtype), and its length"
    elif isinstance(value, type):
        remedy = "pass an object, not its class"
    else:
        remedy = "make one with numpy.array(...)"
    raise ArgumentTypeError(f"{where} {_wanted(parameter, _HOST_ARRAY)}, got {_given(value)}; {remedy}.")


def _wanted(parameter: CudaParameter, kind: str = _DEVICE_ARRAY) -> str:
    element = "any dtype" if parameter.dtype is None else f"dtype {parameter.dtype}"
    if parameter.struct is not None:
        element = f"the dtype of struct {parameter.struct.name}"
    if parameter.view_ndim is None:
        return f"must be a C-contiguous {kind} of {element}"
    layout = "C-contiguous " if parameter.contiguous else ""
    return f"must be a {layout}{kind} of {element} with {parameter.view_ndim} dimension(s)"


def _shown(value: Any, array: _Array) -> str:
    if hasattr(value, "shape"):
        return _gate.describe(value)
    return f"{_gate.describe(value)} of shape {array.shape} and dtype {array.dtype}"


def _element(parameter: CudaParameter) -> str:
    return parameter.ctype if parameter.view_ndim is None else parameter.ctype.partition("<")[2][:-1]
