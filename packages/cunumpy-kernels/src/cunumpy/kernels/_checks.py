"""Checks of kernel arguments: one function for each parameter, made once, from what its declaration says.

A check takes a value and the number of the current device (None where CuPy is not loaded), and returns what
`cupy.RawKernel` is launched with: the device array itself, a NumPy scalar of exactly the parameter's type, or for a
view or struct a structured array of one element.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays
from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

    from cunumpy.cuda import CudaParameter

Check = Callable[[Any, "int | None"], Any]

_NUMBERS = "?bhilqBHILQefdFD"

NUMBER_TYPES: frozenset[type] = frozenset({bool, int, float, complex, *(np.dtype(code).type for code in _NUMBERS)})

LEAF_TYPES: set[type] = {*NUMBER_TYPES, np.void, np.ndarray}
"""Types that stand for no other arguments; CuPy's array is added when the first one is seen."""

_native: Any = None
"""CuPy's own array class, known when the first array is seen."""

_DEEPEST = 32


# --- argument objects -------------------------------------------------------------------------------------------------


def expand(values: Iterable[Any], owner: str) -> list[Any]:
    """Replace argument objects by the values that their ``__cuda_args__`` returns, however deep."""
    found: list[Any] = []
    for value in values:
        _expand(value, owner, found, 0)
    return found


def _expand(value: Any, owner: str, found: list[Any], depth: int) -> None:
    if isinstance(value, type) and hasattr(value, "__cuda_args__"):
        raise ArgumentTypeError(
            f"{owner}: got the class {value.__name__} for an argument; pass an object of it, {value.__name__}(...)."
        )
    protocol = getattr(type(value), "__cuda_args__", None)
    if protocol is None or isinstance(value, type):
        found.append(value)
        return
    if depth == _DEEPEST:
        raise ArgumentError(f"{owner}: the __cuda_args__ of {describe(value)} leads on to other objects without end.")
    values = protocol(value)
    if not isinstance(values, tuple):
        raise ArgumentTypeError(
            f"{owner}: __cuda_args__ of {describe(value)} must return a tuple of arguments, got {describe(values)}."
        )
    for one in values:
        _expand(one, owner, found, depth + 1)


def is_array(value: Any) -> bool:
    """Tell whether a value is an array in device memory, of CuPy or another library."""
    return _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value)


# --- making checks ----------------------------------------------------------------------------------------------------


def parameter_check(parameter: CudaParameter, where: str) -> Check:
    """Return the check of one parameter; `where` begins its error messages."""
    if parameter.view_ndim is not None:
        return _view_check(parameter, where)
    if parameter.pointer:
        return _pointer_check(parameter, where)
    dtype = parameter.dtype
    assert dtype is not None
    if dtype.kind == "V":
        return _record_check(parameter, dtype, where)
    makers = {"b": _bool_check, "i": _integer_check, "u": _integer_check, "f": _float_check, "c": _complex_check}
    return makers[dtype.kind](dtype, where)


# --- device arrays ----------------------------------------------------------------------------------------------------


def _pointer_check(parameter: CudaParameter, where: str) -> Check:
    dtype = parameter.dtype

    def check(value: Any, device: int | None) -> Any:
        if (
            type(value) is _native
            and (value.dtype is dtype or dtype is None or value.dtype == dtype)
            and value.flags.c_contiguous
            and (device is None or value.data.device_id == device)
        ):
            return value
        _device_array(parameter, value, device, where, contiguous=True)
        return value

    return check


def _view_check(parameter: CudaParameter, where: str) -> Check:
    ndim, contiguous, dtype = parameter.view_ndim, parameter.contiguous, parameter.dtype
    assert ndim is not None
    assert dtype is not None
    item = dtype.itemsize
    pack = struct.Struct(f"=Q{ndim if contiguous else 2 * ndim}q").pack
    layout = view_dtype(ndim, contiguous)

    def check(value: Any, device: int | None) -> Any:
        if (
            type(value) is _native
            and (value.dtype is dtype or value.dtype == dtype)
            and (device is None or value.data.device_id == device)
            and value.ndim == ndim
            and (not contiguous or value.flags.c_contiguous)
        ):
            address, shape, strides = value.data.ptr, value.shape, value.strides
        else:
            address, shape, strides = _device_array(parameter, value, device, where, contiguous=contiguous)
            if len(shape) != ndim:
                raise ArgumentTypeError(
                    f"{where} must have {ndim} dimension(s), got {describe(value)} with {len(shape)}; reshape it."
                )
        if contiguous:
            return np.frombuffer(bytearray(pack(address, *shape)), layout)
        for stride in strides:
            if stride % item:
                raise ArgumentTypeError(
                    f"{where} must have strides that are multiples of its item size {item}, got strides {strides} "
                    "bytes; copy it."
                )
        return np.frombuffer(bytearray(pack(address, *shape, *[stride // item for stride in strides])), layout)

    return check


def view_dtype(ndim: int, contiguous: bool) -> np.dtype[Any]:
    """Return how ``ArrayND`` or ``CArrayND`` lies in memory; strides count elements."""
    fields: list[Any] = [("data", np.uint64), ("shape", np.int64, (ndim,)), ("strides", np.int64, (ndim,))]
    return np.dtype(fields[:2] if contiguous else fields)


def _device_array(
    parameter: CudaParameter, value: Any, device: int | None, where: str, *, contiguous: bool
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Check a device array of any library; return its address, shape and strides in bytes."""
    global _native
    cls = type(value)
    if cls is not _native and cls.__name__ == "ndarray" and _arrays.is_device_array(value):
        _native = cls
        LEAF_TYPES.add(cls)
    interface = None if isinstance(value, type) else getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        _refuse_host(parameter, value, where)
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):  # other libraries have dtypes of their own
        dtype = np.dtype(interface["typestr"])
    if parameter.dtype is not None and dtype != parameter.dtype:
        raise ArgumentTypeError(
            f"{where} must be a device array of dtype {parameter.dtype}, got {_shown(value, interface, dtype)}; "
            "convert it with .astype(...), which copies, or change the kernel's type."
        )
    shape = tuple(interface["shape"])
    packed = _packed_strides(shape, dtype.itemsize)
    strides = tuple(interface.get("strides") or packed)
    if contiguous and not (
        0 in shape or all(size == 1 or s == p for size, s, p in zip(shape, strides, packed, strict=True))
    ):
        remedy = (
            "a plain pointer tells nothing of strides"
            if parameter.pointer
            else f"declare the parameter Array{parameter.view_ndim}D to take it as it is"
        )
        raise ArgumentTypeError(
            f"{where} must be C-contiguous, got {_shown(value, interface, dtype)} with strides {strides} bytes; copy "
            f"it with cupy.ascontiguousarray, or pass its base: {remedy}."
        )
    address, read_only = interface["data"]
    if read_only and not parameter.const and 0 not in shape:
        raise ArgumentError(
            f"{where} is written to, as far as its declaration tells, and the array is read-only "
            f"({_shown(value, interface, dtype)}); declare it 'const {parameter.ctype}' or pass a copy."
        )
    theirs = getattr(getattr(value, "device", None), "id", None)
    if device is not None and isinstance(theirs, int) and theirs != device:
        raise ArgumentError(
            f"{where} is on CUDA device {theirs}, the current device is {device}; call it inside of "
            f"`with cupy.cuda.Device({theirs}):`, or copy the array."
        )
    return int(address or 0), shape, strides


def _packed_strides(shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    strides = []
    for size in reversed(shape):
        strides.append(item)
        item *= size
    return tuple(reversed(strides))


def _shown(value: Any, interface: dict[str, Any], dtype: np.dtype[Any]) -> str:
    if hasattr(value, "shape"):
        return describe(value)
    return f"{describe(value)} of shape {tuple(interface['shape'])} and dtype {dtype}"


def _refuse_host(parameter: CudaParameter, value: Any, where: str) -> NoReturn:
    kind = "any dtype" if parameter.dtype is None else f"dtype {parameter.dtype}"
    if isinstance(value, np.ndarray):
        remedy = "host memory can't be read there: move it with xp.to_cupy(array)"
    elif value is None:
        remedy = "for a pointer that is not used pass an empty array"
    elif isinstance(value, type):
        remedy = "pass an object, not its class"
    else:
        remedy = "make one with xp.to_cupy(...)"
    raise ArgumentTypeError(f"{where} must be a device array of {kind}, got {_given(value)}; {remedy}.")


# --- structs and vectors ----------------------------------------------------------------------------------------------


def _record_check(parameter: CudaParameter, dtype: np.dtype[Any], where: str) -> Check:
    remedy = "pack it with the struct, as struct(...)" if parameter.struct is not None else "pass numpy.void of it"

    def check(value: Any, device: int | None) -> Any:
        if type(value) is not np.void or value.dtype != dtype:
            got = f"numpy.void of dtype {value.dtype}" if type(value) is np.void else _given(value)
            raise ArgumentTypeError(f"{where} must be numpy.void of dtype {dtype}, got {got}; {remedy}.")
        return np.array(value, dtype).reshape(1)

    return check


# --- numbers ----------------------------------------------------------------------------------------------------------


def _bool_check(dtype: np.dtype[Any], where: str) -> Check:
    def check(value: Any, device: int | None) -> Any:
        if value is True or value is False or type(value) is np.bool_:
            return np.bool_(value)
        raise ArgumentTypeError(f"{where} must be True or False, got {_given(value)}; pass bool(...).")

    return check


def _integer_check(dtype: np.dtype[Any], where: str) -> Check:
    make, info = dtype.type, np.iinfo(dtype)
    lowest, highest = int(info.min), int(info.max)

    def check(value: Any, device: int | None) -> Any:
        kind = type(value)
        if kind is make:
            return value
        if kind is not int:
            if not isinstance(value, (int, np.integer, np.bool_)) or isinstance(value, np.timedelta64):
                _refuse_number(value, where, f"an integer ({dtype})", "int(...)")
            value = int(value)
        if lowest <= value <= highest:
            return make(value)
        raise ArgumentRangeError(
            f"{where} must be from {lowest} to {highest} ({dtype}), got {value}; declare a wider type in the kernel."
        )

    return check


def _float_check(dtype: np.dtype[Any], where: str) -> Check:
    make, real = dtype.type, _real_number(dtype, where)

    def check(value: Any, device: int | None) -> Any:
        kind = type(value)
        if kind is make:
            return value
        if kind is float or kind is int:
            return real(value)
        if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
            return real(int(value))
        if isinstance(value, np.generic):
            return _safely_cast(value, dtype, where, "float(...)")
        if isinstance(value, (float, int)) and kind is not bool:
            return real(float(value) if isinstance(value, float) else int(value))
        _refuse_number(value, where, f"a real number ({dtype})", "float(...)")

    return check


def _complex_check(dtype: np.dtype[Any], where: str) -> Check:
    make = dtype.type
    real = _real_number(np.dtype(f"f{dtype.itemsize // 2}"), where)

    def check(value: Any, device: int | None) -> Any:
        kind = type(value)
        if kind is make:
            return value
        if isinstance(value, np.generic):
            cast = _safely_cast(value, dtype, where, "complex(...)")
            return cast if not isinstance(value, np.integer) else make(real(int(value)))
        if isinstance(value, (int, float)) and kind is not bool:
            return make(real(float(value) if isinstance(value, float) else int(value)))
        if isinstance(value, complex):
            return make(complex(real(value.real), real(value.imag)))
        _refuse_number(value, where, f"a number ({dtype})", "complex(...)")

    return check


def _real_number(dtype: np.dtype[Any], where: str) -> Callable[[int | float], Any]:
    """Return what turns Python's numbers into a type: floats by rounding, integers exactly, neither into infinity."""
    make, info = dtype.type, np.finfo(dtype)
    # IEEE 754: what lies beyond the largest number by half of its last digit, or more, rounds to infinity.
    limit = float(info.max) + 2.0 ** (info.maxexp - info.nmant - 2) if dtype.itemsize < 8 else math.inf
    exact = 2 ** (info.nmant + 1)

    def real(value: int | float) -> Any:
        if type(value) is float:
            if -limit < value < limit or value != value or value in (math.inf, -math.inf):
                return make(value)
        elif -exact <= value <= exact:
            return make(value)
        else:
            try:
                as_float = float(value)
            except OverflowError:
                as_float = math.inf
            if -limit < as_float < limit and math.isfinite(as_float):
                if as_float == value and float(make(as_float)) == value:
                    return make(as_float)
                raise ArgumentError(
                    f"{where} must be exact in {dtype}, got the integer {value}, which would be rounded to "
                    f"{int(make(as_float))}; declare an integer type or a wider one in the kernel, or pass "
                    f"float({value}) if rounding is meant."
                )
        raise ArgumentRangeError(
            f"{where} must be from {-info.max!s} to {info.max!s} ({dtype}), got {value}, which would be infinite; "
            "declare a wider type in the kernel."
        )

    return real


def _safely_cast(value: np.generic, dtype: np.dtype[Any], where: str, remedy: str) -> Any:
    if value.dtype.kind not in "biufc":
        _refuse_number(value, where, f"a number ({dtype})", remedy)
    if not np.can_cast(value.dtype, dtype, "safe"):
        raise ArgumentTypeError(
            f"{where} must be {dtype}, got {describe(value)} ({value!r}), which it can't hold exactly; pass "
            f"numpy.{dtype}(value), or {remedy}, if rounding is meant."
        )
    return dtype.type(value)


def _refuse_number(value: Any, where: str, expected: str, remedy: str) -> NoReturn:
    if is_array(value):
        remedy = f"reading it from the device would wait: copy it once, with {remedy.replace('...', 'xp.to_numpy(x)')}"
    elif isinstance(value, np.ndarray):
        remedy = "pass array.item()" if value.size == 1 else "pass one of its numbers"
    else:
        remedy = f"pass {remedy}"
    raise ArgumentTypeError(f"{where} must be {expected}, got {_given(value)}; {remedy}.")


def _given(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shown = describe(value)
    return f"{shown} {value!r}" if isinstance(value, (bool, int, float, complex, str, np.generic)) else shown
