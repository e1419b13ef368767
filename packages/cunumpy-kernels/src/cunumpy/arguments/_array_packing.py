"""Checking and packing an array for a pointer or an array view.

They take device arrays of exactly their dtype, C-contiguous unless the view has strides, on the current device, and
writable unless they are const. For a kernel that runs on the CPU (`host`) they take NumPy arrays, under the same rules.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.arguments._packer import Packer, given, is_device
from cunumpy.cuda._parameters import declared_type
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from typing import NoReturn

    from cunumpy.arguments._packer import Device, Numbers
    from cunumpy.cuda import CudaParameter

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


class _Array(NamedTuple):
    """A device array of any library."""

    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In bytes; None for C-contiguous arrays."""
    contiguous: bool
    read_only: bool


def pointer_packer(parameter: CudaParameter, where: str) -> Packer:
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


def host_pointer_packer(parameter: CudaParameter, where: str) -> Packer:
    def numbers(value: Any, device: Device) -> tuple[int]:
        return (_checked_on_host(value, parameter, where).address,)

    return Packer("Q", numbers, lambda value, device: numbers(value, device)[0])


@lru_cache(maxsize=64)
def view_dtype(ndim: int, contiguous: bool) -> np.dtype[Any]:
    """Return the dtype of an array view as a kernel gets it: an address, the shape, and strides in elements."""
    axes = (np.int64, (ndim,))
    parts = [("data", np.uint64), ("shape", *axes)]
    return np.dtype(parts if contiguous else [*parts, ("strides", *axes)], align=True)


def view_packer(parameter: CudaParameter, ndim: int, where: str, host: bool) -> Packer:
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
        check_device(value, device, where)
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
            f"'{declared_type(parameter._replace(const=True))}', or pass a copy."
        )


def check_device(value: Any, device: int, where: str) -> None:
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
    raise ArgumentTypeError(f"{where} {_wanted(parameter)}, got {given(value)}; {remedy}.")


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
    raise ArgumentTypeError(f"{where} {_wanted(parameter, _HOST_ARRAY)}, got {given(value)}; {remedy}.")


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
