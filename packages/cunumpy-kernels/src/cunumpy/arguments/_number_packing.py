"""Checking and packing a number: which of Python's and NumPy's fit a type of C's, and without what loss.

Python's numbers fit where their kind does: bool to bool and integers, int to all but bool, float to floating point and
complex, complex to complex. Floats are rounded to the type and never become infinite; integers have to be held
exactly, so ``float(n)`` says that rounding is meant. NumPy's integers are taken by value like Python's, except for
bool and complex; other NumPy scalars only where no value can be lost. An array, also of no dimensions, is no number.
"""

from __future__ import annotations

import math
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.arguments._packer import Packer, given, is_device
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from cunumpy.arguments._packer import Device, Numbers

_CODES = {"?": "?", "e": "e", "f": "f", "d": "d", "F": "2f", "D": "2d"} | {
    char: {"i": "bhiq", "u": "BHIQ"}[np.dtype(char).kind][np.dtype(char).itemsize.bit_length() - 1]
    for char in "bBhHiIlLqQ"  # which of these are the same is up to the platform
}
"""Of each dtype's character the code for `struct` in standard sizes."""


def number_packer(dtype: np.dtype[Any], where: str) -> Packer:
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
    raise ArgumentTypeError(f"{where} must be {expected}, got {given(value)}; {remedy}.")
