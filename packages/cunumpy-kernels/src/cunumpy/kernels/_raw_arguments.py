"""What a launch of a raw kernel takes: arguments of the sizes that the compiled kernel tells, and a grid of blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError, MixedBackendError

VALUE_KIND, POINTER_KIND, CONST_POINTER_KIND, FLOATING_KIND = range(4)
"""What a compiled kernel says of its parameters, beside their sizes."""

_MAX_THREADS = 1024
_INTEGERS = frozenset(np.dtype(code).type for code in "?bhilqBHILQ")
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32}
_NUMBERS = frozenset([*_INTEGERS, *(np.dtype(code).type for code in "efdFD")])

_PLAIN = frozenset([bool, int, float, complex, type(None), *_NUMBERS])


def on_device(args: Sequence[Any], owner: str) -> bool:
    """Tell whether arguments are on a device; raise where some are and some are not."""
    if isinstance(args, type) or not hasattr(args, "__iter__"):
        raise ArgumentTypeError(
            f"{owner}: argument 'args' must be the tuple of the kernel's arguments, got {_gate.given(args)}; pass "
            "(array,) for one."
        )
    host = device = None
    for index, value in enumerate(args):
        kind = type(value)
        if kind in _PLAIN:
            continue
        if isinstance(value, np.ndarray):
            host = host if value.size == 1 else index  # one element is passed by value, as CuPy does it
        elif _arrays.is_device_array(value) or hasattr(value, "ptr"):
            device = index  # an array, memory, or a texture
    if host is not None and device is not None:
        raise MixedBackendError(
            f"{owner}: argument {host} is a NumPy array and {device} a device array; convert one of them explicitly, "
            "with xp.to_cupy or xp.to_numpy."
        )
    return device is not None


def check_launch(grid: Any, block: Any, shared_mem: Any, most_shared: int, owner: str) -> None:
    """Raise for a launch that no device takes."""
    for what, sizes, limits in (
        ("grid", grid, (2**31 - 1, 65535, 65535)),
        ("block", block, (1024, 1024, 64)),
    ):
        if not isinstance(sizes, (tuple, list)) or not 1 <= len(sizes) <= 3:
            raise ArgumentTypeError(f"{owner}: argument {what!r} must be a tuple of 1 to 3 integers, got {sizes!r}.")
        for size, limit in zip(sizes, limits, strict=False):
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 0 < size <= limit:
                raise ArgumentError(f"{owner}: argument {what!r} is {tuple(sizes)}: {size!r} is not from 1 to {limit}.")
    if math.prod(block) > _MAX_THREADS:
        raise ArgumentError(
            f"{owner}: argument 'block' is {tuple(block)}, which is {math.prod(block)} threads; a device takes 1024."
        )
    if isinstance(shared_mem, bool) or not isinstance(shared_mem, (int, np.integer)):
        raise ArgumentTypeError(
            f"{owner}: argument 'shared_mem' must be a number of bytes, an integer, got {_gate.given(shared_mem)}."
        )
    if not 0 <= shared_mem <= most_shared:
        raise ArgumentError(
            f"{owner}: {shared_mem} bytes of dynamic shared memory; the most is {most_shared} "
            "(max_dynamic_shared_size_bytes)."
        )


def pointed_to(value: Any, kind: int, index: int, owner: str) -> Any:
    """Return the address of a pointer's array; everything else as it is. Raise where a pointer must be, or none."""
    pointer = kind in (POINTER_KIND, CONST_POINTER_KIND)
    if not isinstance(value, np.ndarray):
        return value
    if not pointer:
        if value.size == 1:
            return value
        raise ArgumentTypeError(
            f"{owner}: parameter {index} is no pointer, got {_gate.given(value)}; arrays of one element alone are "
            "passed by value."
        )
    _gate.refuse_masked(value, function=owner, argument=str(index))
    if not (_gate.fits_device(value.dtype) and value.dtype.isnative):
        raise ArgumentTypeError(
            f"{owner}: parameter {index}: an array of dtype {value.dtype!r}, which kernels can't read; convert it with "
            "astype."
        )
    if kind == POINTER_KIND:
        _gate.check_writable(value, function=owner, argument=str(index))
    return value.ctypes.data


def pack_argument(value: Any, size: int, kind: int, index: int, owner: str) -> Any:
    """Return an argument as the CPU device takes it, integers for addresses; raise if it has not `size` bytes."""
    given = type(value)
    if kind == FLOATING_KIND and (isinstance(value, int) or given in _INTEGERS):
        raise ArgumentTypeError(
            f"{owner}: parameter {index} is a floating-point number of {size} bytes, got {_gate.given(value)}, whose "
            "bits a GPU would read as one; pass a NumPy scalar of the parameter's type."
        )
    by_value = isinstance(value, (bool, float, complex, np.inexact, np.bool_)) or (
        given is np.ndarray and value.size == 1 and value.dtype.kind not in "iu"
    )
    if kind in (POINTER_KIND, CONST_POINTER_KIND) and by_value:
        raise ArgumentTypeError(
            f"{owner}: parameter {index} is a pointer, got {_gate.given(value)}; pass an array, the address of memory "
            "as an int, or None."
        )
    if value is None:
        value = 0
    elif given in _NUMBERS or given is np.void:
        pass
    elif isinstance(value, int):
        # CuPy passes 8 bytes, of which a GPU reads the first ones.
        if not -(2**63) <= value < 2**64:
            raise ArgumentRangeError(f"{owner}: parameter {index}: {value} needs more than 64 bits.")
        whole = np.int64(value) if value < 2**63 else np.uint64(value)
        smaller = _SIGNED.get(size)
        if size == 1 and given is bool:
            value = np.bool_(value)
        else:
            fits = smaller is not None and -(2 ** (8 * size - 1)) <= value < 2 ** (8 * size - 1)
            value = smaller(value) if smaller is not None and fits else whole
    elif isinstance(value, float):
        value = np.float64(value)
    elif isinstance(value, complex):
        value = np.complex128(value)
    elif not (given is np.ndarray and value.size == 1):
        raise ArgumentTypeError(
            f"{owner}: parameter {index}: Unsupported type {given}; pass an array, a number, or None."
        )
    length = 8 if type(value) is int else value.nbytes
    if length != size:
        raise ArgumentTypeError(
            f"{owner}: parameter {index} has {size} bytes, got {given.__name__} of {length}; a GPU would read other "
            "bytes, pass a NumPy scalar of the parameter's type."
        )
    return value
