"""What checks and packs the values of one parameter, and what its messages call a value."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from cunumpy import _arrays, _gate

if TYPE_CHECKING:
    from collections.abc import Callable

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


def record_packer(numbers: Check, code: str, dtype: np.dtype[Any]) -> Packer:
    """Return a packer of records, of which `numbers` gives the numbers that the format `code` packs."""
    pack = struct.Struct(f"={code}").pack

    def argument(value: Any, device: Device) -> Any:
        return np.ndarray((1,), dtype, pack(*numbers(value, device)))

    return Packer(code, numbers, argument)


def is_device(value: Any) -> bool:
    """Tell whether a value is an array in device memory, of CuPy or another library."""
    return _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value)


def given(value: Any) -> str:
    """Describe an argument of a kernel for an error message: numbers and text with their values, arrays without."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if not isinstance(value, (bool, int, float, complex, str, np.generic)) or len(repr(value)) > 60:
        return _gate.describe(value)
    return repr(value) if isinstance(value, np.generic) else f"{_gate.describe(value)} {value!r}"
