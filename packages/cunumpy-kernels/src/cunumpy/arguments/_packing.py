"""Checking and packing one value for a kernel parameter or a field of a struct: one set of rules for both.

A value is turned into plain Python numbers, which `struct` packs; nothing is copied, and nothing on a device is read.
"""

from __future__ import annotations

import struct
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.cuda._types import field_type
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cunumpy.cuda import CudaParameter

    Numbers: TypeAlias = tuple[Any, ...]
    Check: TypeAlias = Callable[[Any, str], Numbers]


class Packer(NamedTuple):
    """How the values of one parameter are packed.

    Attributes
    ----------
    code : str
        The format for `struct`, without padding, in native byte order and standard sizes (``"="``).
    check : callable
        Takes a value and the words for it in messages; returns what `struct` packs, or raises.
    finish : callable
        Makes of the value and its numbers what a kernel is given: a NumPy scalar, a `numpy.void`, or the array itself.
    """

    code: str
    check: Check
    finish: Callable[[Any, Numbers], Any]


def pack_value(parameter: CudaParameter, value: Any, *, where: str) -> Any:
    """Check a value for a kernel parameter, and turn it into what the kernel is given.

    Parameters
    ----------
    parameter : CudaParameter
        The parameter, or field of a struct.
    value : Any
        For a pointer a C-contiguous device array of exactly its dtype; any dtype for ``void*``. For a view a device
        array of exactly its dtype and dimensions. For a struct a `numpy.void` of its dtype or an object that stands
        for one. For a vector such as ``double2`` a sequence of its components. For an array such as ``double[3]`` a
        host array or nested sequence. Else a number; see the notes.
    where : str
        What messages call the value, such as ``"axpy: argument 'n'"``.

    Returns
    -------
    Any
        The array itself for a pointer, a `numpy.void` for views, structs and vectors, a NumPy array for
        ``double[3]``, else a NumPy scalar of the declared type.

    Raises
    ------
    ArgumentTypeError
        What can't be passed for this type; host arrays for pointers and views are not copied.
    ArgumentRangeError
        A number is outside the range of the type: ``2**31`` for ``int``, ``1e300`` for ``float``.
    ArgumentError
        An integer that the floating-point type does not hold exactly, an array on another device, or a read-only
        array where the parameter is not const.

    Notes
    -----
    Python's numbers are converted where their kind fits: bool to bool and integers, int to all but bool, float to
    floating point and complex, complex to complex. Floats are rounded to the type; integers have to be held exactly,
    so pass ``float(n)`` where rounding is meant. NumPy's integers are converted by value like Python's, except to
    bool and complex; other NumPy scalars only where no value can be lost, so ``numpy.float64`` is refused for
    ``float``. An array, also of no dimensions, is no number.

    Examples
    --------
    >>> import cunumpy as xp
    >>> (n,) = xp.cuda.parse_cuda_signature("__global__ void f(int n);", "f")
    >>> pack_value(n, 3, where="f: argument 'n'").dtype
    dtype('int32')
    """
    found = packer(parameter)
    return found.finish(value, found.check(value, where))


@lru_cache(maxsize=1024)
def _cached_packer(parameter: CudaParameter) -> Packer:
    return _make_packer(parameter)


def packer(parameter: CudaParameter) -> Packer:
    """Return how the values of a parameter are packed; looked up once, it saves time for many values."""
    try:
        return _cached_packer(parameter)
    except TypeError:  # a struct that has no hash
        return _make_packer(parameter)


def _make_packer(parameter: CudaParameter) -> Packer:
    if parameter.pointer:
        return Packer("Q", _pointer(parameter), _itself)
    if parameter.view_ndim is not None:
        count = parameter.view_ndim
        code = f"Q{count if parameter.contiguous else 2 * count}q"
        return Packer(code, _view(parameter), _record(view_dtype(count, parameter.contiguous), code))
    dtype = parameter.dtype
    if dtype is None:
        raise ArgumentError(f"pack_value: parameter {parameter.name!r} has the type void, which has no values.")
    if dtype.shape:
        element = _make_packer(parameter._replace(dtype=dtype.base))
        code = element.code * int(np.prod(dtype.shape))
        return Packer(code, _fixed_array(parameter, element), _array(dtype, code))
    if parameter.struct is not None:
        return Packer(f"{dtype.itemsize}s", _struct(parameter), _record(dtype, f"{dtype.itemsize}s"))
    if dtype.names is not None:
        components = [_scalar(dtype[name], parameter) for name in dtype.names]
        code = "".join(_CODES[dtype[name].char] for name in dtype.names)
        return Packer(code, _vector(parameter, components), _record(dtype, code))
    if dtype.kind == "V":
        raise ArgumentError(
            f"pack_value: parameter {parameter.name!r} has the type {parameter.ctype}, which NumPy does not have; "
            "declare it float and convert it in the kernel."
        )
    return Packer(_CODES[dtype.char], _scalar(dtype, parameter), _number(dtype))


# What a kernel is given


def _itself(value: Any, numbers: Numbers) -> Any:
    return value


def _number(dtype: np.dtype[Any]) -> Callable[[Any, Numbers], Any]:
    kind = dtype.type
    if dtype.kind == "c":
        return lambda value, numbers: kind(complex(*numbers))
    return lambda value, numbers: kind(numbers[0])


def _record(dtype: np.dtype[Any], code: str) -> Callable[[Any, Numbers], Any]:
    pack = struct.Struct(f"={code}").pack
    return lambda value, numbers: np.ndarray((), dtype, pack(*numbers))[()]


def _array(dtype: np.dtype[Any], code: str) -> Callable[[Any, Numbers], Any]:
    pack = struct.Struct(f"={code}").pack
    return lambda value, numbers: np.ndarray(dtype.shape, dtype.base, pack(*numbers))


@lru_cache(maxsize=64)
def view_dtype(ndim: int, contiguous: bool) -> np.dtype[Any]:
    """Return the dtype of an array view as a kernel gets it: an address, the shape, and strides in elements."""
    axes = (np.int64, (ndim,))
    members = [("data", np.uint64), ("shape", *axes)]
    return np.dtype(members if contiguous else [*members, ("strides", *axes)], align=True)


# Numbers

_CODES = {"?": "?", "e": "e", "f": "f", "d": "d", "F": "2f", "D": "2d"} | {
    char: {"i": "bhiq", "u": "BHIQ"}[np.dtype(char).kind][np.dtype(char).itemsize.bit_length() - 1]
    for char in "bBhHiIlLqQ"  # which of these are the same is up to the platform
}
"""Of each dtype's character the code for `struct` in standard sizes."""


def _refuse(value: Any, where: str, parameter: CudaParameter) -> ArgumentTypeError:
    shown = field_type(parameter)
    found = f"{value!r} ({_gate.describe(value)})" if _is_short(value) else _gate.describe(value)
    if isinstance(value, np.ndarray) or _is_device(value):
        remedy = (
            "pass a number, array.item() for an array of one element; of a device array that waits for the device"
            if _is_device(value)
            else "pass a number, array.item() for an array of one element"
        )
    elif isinstance(value, (np.number, np.bool_, int, float, complex)):
        remedy = _conversion(value, parameter)
    else:
        remedy = "pass a number"
    return ArgumentTypeError(f"{where} of type '{shown}' can't take {found} without loss of meaning; {remedy}.")


def _conversion(value: Any, parameter: CudaParameter) -> str:
    dtype = parameter.dtype
    kind = "f" if dtype is None else dtype.base.kind
    given = value.dtype.kind if isinstance(value, np.generic) else ""
    if kind == "b":
        return "pass bool(value)"
    if kind in "iu":
        return "convert it by int(value) where that is meant"
    if kind == "f" and (given == "c" or isinstance(value, complex)):
        return "pass its real part, value.real"
    return "pass complex(value), which is rounded" if kind == "c" else "pass float(value), which is rounded"


def _is_short(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.number, np.bool_)) and len(repr(value)) < 60


def _out_of_range(value: Any, where: str, parameter: CudaParameter, low: Any, high: Any) -> ArgumentRangeError:
    wider = {"i": "long long", "u": "unsigned long long"}.get(parameter.dtype.base.kind if parameter.dtype else "")
    shown = value if len(repr(value)) < 60 else f"a number of {value.bit_length()} bits"
    return ArgumentRangeError(
        f"{where} of type '{field_type(parameter)}' can't hold {shown}, it takes {low} to {high}; pass a number in "
        f"this range, or declare it {wider or 'double'}."
    )


def _scalar(dtype: np.dtype[Any], parameter: CudaParameter) -> Check:
    if dtype.kind == "b":
        return _bool(parameter)
    if dtype.kind in "iu":
        return _integer(dtype, parameter)
    if dtype.kind == "f":
        return _floating(dtype, parameter)
    return _complex(dtype, parameter)


def _bool(parameter: CudaParameter) -> Check:
    def check(value: Any, where: str) -> Numbers:
        if value is True or value is False:
            return (value,)
        if isinstance(value, np.bool_):
            return (bool(value),)
        raise _refuse(value, where, parameter)

    return check


def _integer(dtype: np.dtype[Any], parameter: CudaParameter) -> Check:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)

    def check(value: Any, where: str) -> Numbers:
        if type(value) is not int:
            if not isinstance(value, (int, np.integer, np.bool_)) or isinstance(value, np.timedelta64):
                raise _refuse(value, where, parameter)
            value = int(value)
        if not low <= value <= high:
            raise _out_of_range(value, where, parameter, low, high)
        return (value,)

    return check


def _rounded(dtype: np.dtype[Any], parameter: CudaParameter) -> Callable[[Any, float, str], float]:
    """Return a function that rounds a float to the dtype, and refuses to make infinity of a finite number."""
    if dtype.itemsize == 8:
        return lambda value, number, where: number
    form = struct.Struct(f"={_CODES[dtype.char]}")
    limits = np.finfo(dtype)

    def convert(value: Any, number: float, where: str) -> float:
        try:
            return float(form.unpack(form.pack(number))[0])
        except OverflowError:
            raise _out_of_range(value, where, parameter, limits.min, limits.max) from None

    return convert


def _exact(dtype: np.dtype[Any], parameter: CudaParameter) -> Callable[[int, str], float]:
    """Return a function that converts an integer that the dtype holds exactly."""
    convert = _rounded(dtype, parameter)
    limits = np.finfo(dtype)

    def check(value: int, where: str) -> float:
        try:
            number = convert(value, float(value), where)
        except ArgumentRangeError:
            raise
        except OverflowError:
            raise _out_of_range(value, where, parameter, limits.min, limits.max) from None
        if number != value:
            raise ArgumentError(
                f"{where} of type '{field_type(parameter)}' can't hold {value} exactly, the next number is "
                f"{number:.0f}; pass float(value) where rounding is meant, or declare it an integer type."
            )
        return number

    return check


def _floating(dtype: np.dtype[Any], parameter: CudaParameter) -> Check:
    rounded, exact = _rounded(dtype, parameter), _exact(dtype, parameter)
    is_double = dtype.itemsize == 8

    def check(value: Any, where: str) -> Numbers:
        kind = type(value)
        if kind is float:
            return (value,) if is_double else (rounded(value, value, where),)
        if kind is bool:
            raise _refuse(value, where, parameter)
        if isinstance(value, np.generic):
            if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
                return (exact(int(value), where),)
            if value.dtype.kind in "bf" and np.can_cast(value.dtype, dtype):
                return (float(value),)
        elif isinstance(value, int):
            return (exact(int(value), where),)
        elif isinstance(value, float):
            return (rounded(value, float(value), where),)
        raise _refuse(value, where, parameter)

    return check


def _complex(dtype: np.dtype[Any], parameter: CudaParameter) -> Check:
    component = np.dtype(f"f{dtype.itemsize // 2}")
    rounded, exact = _rounded(component, parameter), _exact(component, parameter)

    def check(value: Any, where: str) -> Numbers:
        if isinstance(value, np.generic):
            if value.dtype.kind in "biufc" and np.can_cast(value.dtype, dtype):
                if value.dtype.kind in "iu":
                    return exact(int(value), where), 0.0
                number = complex(value)
                return number.real, number.imag
        elif isinstance(value, bool):
            pass
        elif isinstance(value, int):
            return exact(int(value), where), 0.0
        elif isinstance(value, (float, complex)):
            number = complex(value)
            return rounded(value, number.real, where), rounded(value, number.imag, where)
        raise _refuse(value, where, parameter)

    return check


# Several numbers


def _vector(parameter: CudaParameter, components: list[Check]) -> Check:
    dtype = parameter.dtype
    names = dtype.names if dtype is not None and dtype.names is not None else ()

    def check(value: Any, where: str) -> Numbers:
        if isinstance(value, np.void) and value.dtype == dtype:
            value = value.tolist()
        elif not isinstance(value, (tuple, list)) or len(value) != len(names):
            raise ArgumentTypeError(
                f"{where} of type '{parameter.ctype}' must be a tuple of {len(names)} numbers or a numpy.void of dtype "
                f"{dtype}, got {_gate.describe(value)}{_length_of(value)}."
            )
        found: list[Any] = []
        for name, component, one in zip(names, components, value, strict=True):
            found += component(one, f"component {name!r} of {where}")
        return tuple(found)

    return check


def _length_of(value: Any) -> str:
    return f" of length {len(value)}" if isinstance(value, (tuple, list)) else ""


def _fixed_array(parameter: CudaParameter, element: Packer) -> Check:
    dtype = parameter.dtype
    shape = () if dtype is None else dtype.shape
    shown = field_type(parameter)
    single = parameter.struct is not None or (dtype is not None and dtype.base.names is not None)

    def rows(value: Any, axis: int, place: str, where: str) -> Numbers:
        if axis == len(shape):
            return element.check(value, f"entry {place} of {where}")
        is_row = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == len(shape) - axis)
        if not is_row or _gate.is_masked(value) or len(value) != shape[axis]:
            wanted = "vectors or structs" if single else "numbers"
            remedy = "; copy it explicitly, with xp.to_numpy(array)" if _is_device(value) else ""
            called = f"entry {place} of {where}" if place else where
            raise ArgumentTypeError(
                f"{called} of type '{shown}' must be a host array or list of {shape[axis]} entries with {wanted} in "
                f"{len(shape) - axis} dimension(s), got {_gate.describe(value)}{_length_of(value)}{remedy}."
            )
        found: list[Any] = []
        for index, one in enumerate(value):
            found += rows(one, axis + 1, f"{place}[{index}]", where)
        return tuple(found)

    return lambda value, where: rows(value, 0, "", where)


def _struct(parameter: CudaParameter) -> Check:
    dtype = parameter.dtype

    def check(value: Any, where: str) -> Numbers:
        packed = value
        if callable(getattr(type(value), "__cuda_args__", None)):
            stands_for = value.__cuda_args__()
            packed = stands_for[0] if len(stands_for) == 1 else value
        if not isinstance(packed, np.void) or packed.dtype != dtype:
            raise ArgumentTypeError(
                f"{where} must be a struct {parameter.ctype}, got {_gate.describe(value)}; pass what "
                f"{parameter.ctype}(...) of its CudaStruct returns, or a numpy.void of dtype {dtype}."
            )
        return (packed.tobytes(),)

    return check


# Device arrays


class _DeviceArray(NamedTuple):
    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In bytes; None for C-contiguous arrays."""
    contiguous: bool
    read_only: bool


_CUPY_TYPES: set[type] = set()
"""Types that were found to be CuPy's arrays, so that the next one is known at once."""


def _is_cupy(value: Any) -> bool:
    kind = type(value)
    if kind in _CUPY_TYPES:
        return True
    if not _arrays.is_device_array(value):
        return False
    _CUPY_TYPES.add(kind)
    return True


def _is_device(value: Any) -> bool:
    return _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value)


def _interface(value: Any) -> dict[str, Any] | None:
    """Return the CUDA array interface of an object, None if it has none."""
    try:
        found = getattr(value, "__cuda_array_interface__", None)
    except Exception:  # PyTorch refuses it for tensors with gradients
        return None
    return found if isinstance(found, dict) else None


def _array_of(value: Any, where: str, parameter: CudaParameter) -> _DeviceArray:
    """Describe a device array of any library; refuse everything else."""
    if _is_cupy(value):
        return _DeviceArray(
            value.data.ptr, value.dtype, value.shape, value.strides, value.flags.c_contiguous, read_only=False
        )
    found = None if isinstance(value, type) else _interface(value)
    if found is None:
        if isinstance(value, np.ndarray):
            remedy = "it is a host array, which is not copied unasked: pass xp.to_cupy(array), and keep that one"
        elif isinstance(value, (np.generic, int, float, complex)):
            remedy = "pass an array of one element"
        elif value is None:
            remedy = "there is no null pointer; pass an empty array, xp.empty(0, dtype), and its length"
        elif isinstance(value, type):
            remedy = "it is a class; pass an instance"
        elif _arrays.is_foreign_device_array(value):
            remedy = "it has no CUDA array interface; wrap it by xp.to_cupy(array), without a copy"
        else:
            remedy = "pass an array in device memory"
        raise ArgumentTypeError(f"{where} {_wanted(parameter)}, got {_gate.describe(value)}; {remedy}.")
    if found.get("mask") is not None:
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter)}, got a masked array; pass its data and mask by themselves."
        )
    # Attributes first: an object may have an incomplete interface, or one that copies.
    dtype, data = getattr(value, "dtype", None), getattr(value, "data", None)
    address = getattr(data, "ptr", None)
    shape, strides = getattr(value, "shape", None), getattr(value, "strides", None)
    try:
        if not isinstance(dtype, np.dtype):
            dtype = np.dtype(found["typestr"] if found["typestr"][1] != "V" else found.get("descr", found["typestr"]))
        address = int(found["data"][0] if address is None else address)
        shape = tuple(map(int, found["shape"] if shape is None else shape))
        strides = found.get("strides") if not isinstance(strides, tuple) else strides
        read_only = bool(found["data"][1]) if "data" in found else False
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{where}: {_gate.describe(value)} has an incomplete CUDA array interface ({error!r}); wrap it by "
            "xp.to_cupy(array)."
        ) from None
    flags = getattr(value, "flags", None)
    contiguous = getattr(flags, "c_contiguous", None)
    if contiguous is None:
        contiguous = strides is None or _is_packed(shape, strides, dtype.itemsize)
    return _DeviceArray(address, dtype, shape, strides, bool(contiguous), read_only)


def _is_packed(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    expected = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 0:
            return True
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _wanted(parameter: CudaParameter) -> str:
    element = "any dtype" if parameter.dtype is None else f"dtype {parameter.dtype}"
    if parameter.struct is not None:
        element = f"the dtype of struct {parameter.ctype.split('<')[-1].rstrip('>')}"
    kind = field_type(parameter)
    if parameter.view_ndim is None:
        return f"of type '{kind}' must be a C-contiguous device array of {element}"
    layout = "C-contiguous " if parameter.contiguous else ""
    return f"of type '{kind}' must be a {layout}device array of {element} with {parameter.view_ndim} dimension(s)"


def _check_array(array: _DeviceArray, value: Any, where: str, parameter: CudaParameter) -> None:
    if parameter.dtype is not None and array.dtype != parameter.dtype and not _is_opaque(array.dtype, parameter):
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter)}, got {_gate.describe(value)} of dtype {array.dtype}; convert it once, with "
            f"array.astype({str(parameter.dtype)!r}), and keep the result."
            if parameter.struct is None
            else f"{where} {_wanted(parameter)}, got {_gate.describe(value)}; make the array with dtype=struct.dtype."
        )
    if (parameter.view_ndim is None or parameter.contiguous) and not array.contiguous:
        raise ArgumentTypeError(
            f"{where} {_wanted(parameter)}, got {_gate.describe(value)} with strides {array.strides}; pass "
            f"xp.ascontiguousarray(array), or declare it Array{max(len(array.shape), 1)}D<{_element(parameter)}>."
        )
    if array.read_only and not parameter.const:
        raise ArgumentError(
            f"{where} of type '{field_type(parameter)}' is written to, and the array is read-only; declare the "
            "parameter const, or pass a copy."
        )
    if "cupy" in sys.modules:
        _check_device(value, where)


def _element(parameter: CudaParameter) -> str:
    return parameter.ctype if parameter.view_ndim is None else parameter.ctype.partition("<")[2][:-1]


def _is_opaque(dtype: np.dtype[Any], parameter: CudaParameter) -> bool:
    """Tell whether both are two bytes that NumPy does not look into: bfloat16, as raw bits or as ml_dtypes has it."""
    return (
        parameter.dtype == np.dtype("V2")
        and parameter.struct is None
        and dtype.itemsize == 2
        and dtype.kind in "uV"
        and dtype.names is None
    )


def _check_device(value: Any, where: str) -> None:
    there = getattr(getattr(value, "device", None), "id", None)
    if not isinstance(there, int):
        return
    try:
        here = sys.modules["cupy"].cuda.runtime.getDevice()
    except Exception:  # no driver: then no array of CuPy's exists either
        return
    if there != here:
        raise ArgumentError(
            f"{where} is an array on device {there}, and the current device is {here}; launch under "
            f"'with cupy.cuda.Device({there}):', or copy the array."
        )


def _pointer(parameter: CudaParameter) -> Check:
    dtype = parameter.dtype

    def check(value: Any, where: str) -> Numbers:
        if type(value) in _CUPY_TYPES and (dtype is None or value.dtype == dtype) and value.flags.c_contiguous:
            _check_device(value, where)
            return (value.data.ptr,)
        array = _array_of(value, where, parameter)
        _check_array(array, value, where, parameter)
        return (array.address,)

    return check


def _view(parameter: CudaParameter) -> Check:
    ndim, contiguous, dtype = parameter.view_ndim, parameter.contiguous, parameter.dtype
    itemsize = 1 if dtype is None else dtype.itemsize

    def check(value: Any, where: str) -> Numbers:
        if type(value) in _CUPY_TYPES and value.dtype == dtype and value.flags.c_contiguous:
            shape = value.shape
            if len(shape) == ndim:
                _check_device(value, where)
                if contiguous:
                    return (value.data.ptr, *shape)
                return (value.data.ptr, *shape, *[stride // itemsize for stride in value.strides])
        array = _array_of(value, where, parameter)
        if len(array.shape) != ndim:
            raise ArgumentTypeError(
                f"{where} {_wanted(parameter)}, got {_gate.describe(value)} with {len(array.shape)}; reshape it, or "
                f"declare it Array{max(len(array.shape), 1)}D<{_element(parameter)}>."
            )
        _check_array(array, value, where, parameter)
        if contiguous:
            return (array.address, *array.shape)
        size = array.dtype.itemsize
        if array.strides is None:
            return (array.address, *array.shape, *_packed_strides(array.shape))
        if any(stride % size for stride in array.strides):
            raise ArgumentTypeError(
                f"{where} {_wanted(parameter)} whose strides are multiples of {size} bytes, got strides "
                f"{array.strides}; pass xp.ascontiguousarray(array)."
            )
        return (array.address, *array.shape, *(stride // size for stride in array.strides))

    return check


def _packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, size = [], 1
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))
