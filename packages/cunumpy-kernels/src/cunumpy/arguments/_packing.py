"""Checking and packing one value for a kernel parameter or a field of a struct: one set of rules for both.

Nothing is copied or converted for a value, and nothing on a device is read: what does not fit the type is an error
that says what is expected, what was given, and what to do. The rules of numbers and of arrays have modules of their
own; here are those of what is made of them: vectors, arrays of fixed size, structs.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy.arguments._array_packing import check_device, host_pointer_packer, pointer_packer, view_packer
from cunumpy.arguments._number_packing import number_packer
from cunumpy.arguments._packer import Packer, given, is_device, record_packer
from cunumpy.arguments._protocol import members
from cunumpy.cuda._parameters import declared_type
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from cunumpy.arguments._packer import Device, Numbers
    from cunumpy.cuda import CudaParameter


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
    where = f"{label} ({declared_type(parameter)})"
    if parameter.pointer:
        return host_pointer_packer(parameter, where) if host else pointer_packer(parameter, where)
    if parameter.view_ndim is not None:
        return view_packer(parameter, parameter.view_ndim, where, host)
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
    return number_packer(dtype, where)


def _vector(parameter: CudaParameter, dtype: np.dtype[Any], where: str) -> Packer:
    names = dtype.names
    assert names is not None
    components = [number_packer(dtype[name], f"component {name!r} of {where}") for name in names]

    def numbers(value: Any, device: Device) -> Numbers:
        if isinstance(value, np.void) and value.dtype == dtype:
            value = value.tolist()
        elif not isinstance(value, (tuple, list)) or len(value) != len(names):
            raise ArgumentTypeError(
                f"{where} must be a tuple of {len(names)} numbers or a numpy.void of dtype {dtype}, got "
                f"{given(value)}{_length_of(value)}."
            )
        found: list[Any] = []
        for component, one in zip(components, value, strict=True):
            found += component.numbers(one, device)
        return tuple(found)

    return record_packer(numbers, "".join(component.code for component in components), dtype)


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
                f"entries with {kind} in {len(shape) - axis} dimension(s), got {given(value)}{_length_of(value)}; "
                f"{remedy}."
            )
        found: list[Any] = []
        for index, one in enumerate(value):
            found += rows(one, axis + 1, f"{place}[{index}]", device)
        return tuple(found)

    def numbers(value: Any, device: Device) -> Numbers:
        return rows(value, 0, "", device)

    code = element.code * math.prod(shape)
    return Packer(code, numbers, record_packer(numbers, code, dtype).argument)


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
        got = f"numpy.void of dtype {packed.dtype}" if isinstance(packed, np.void) else given(value)
        raise ArgumentTypeError(
            f"{where} must be a struct, got {got}; pass what {parameter.ctype}(...) of its CudaStruct returns, or a "
            f"numpy.void of dtype {dtype}."
        )

    packed_alone = record_packer(numbers, f"{dtype.itemsize}s", dtype)

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
                    f"{where} must be a struct, or an object or a mapping with its fields, got {given(value)}, which "
                    f"has no {name!r}."
                ) from None
            pack_into(packed, offset, *find(member, device))
        return (bytes(packed),)

    return record_packer(numbers, f"{dtype.itemsize}s", dtype)


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
            check_device(member, device, place)
        else:
            check_devices(member, device, place)
