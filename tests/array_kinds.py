"""The one matrix of array kinds, driven through every function that takes arrays.

Each function gives the right values or a clear error for each kind, and changes nothing before an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


class Subclass(np.ndarray):
    """A subclass of NumPy's array class that adds nothing."""


class ForeignDeviceArray:
    """Another library's device array: known by its interface, and not to be read by the host."""

    def __init__(self, values: np.ndarray) -> None:
        cupy = sys.modules.get("cupy")
        if cupy is None:  # nothing can read it, so any address will do
            self.memory: Any = None
            self.__cuda_array_interface__ = {
                "shape": values.shape,
                "typestr": values.dtype.str,
                "data": (4096, False),
                "version": 3,
            }
        else:
            self.memory = cupy.asarray(values)
            self.__cuda_array_interface__ = self.memory.__cuda_array_interface__

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("implicit conversion to a NumPy array is not allowed")


@dataclass(frozen=True)
class ArrayKind:
    """One kind of argument.

    Attributes
    ----------
    name : str
        What pytest shows.
    make : callable
        Takes an empty folder, returns a new argument.
    values : numpy.ndarray or None
        What the argument means, in native byte order; None if no function may take it for an array.
    is_array : bool
        Whether it is an array of NumPy's, rather than something to make one of.
    writable : bool
        Whether it can be written to in place.
    """

    name: str
    make: Callable[[Path], Any]
    values: np.ndarray | None
    is_array: bool = True
    writable: bool = True

    def __str__(self) -> str:
        return self.name


MATRIX = np.arange(12.0).reshape(3, 4) - 5.5
VECTOR = MATRIX[0]


def _read_only(folder: Path) -> np.ndarray:
    array = MATRIX.copy()
    array.flags.writeable = False
    return array


def _memory_mapped(folder: Path) -> np.ndarray:
    array = np.memmap(folder / "array.bin", dtype=np.float64, mode="w+", shape=MATRIX.shape)
    array[...] = MATRIX
    return array


def _masked(folder: Path) -> np.ndarray:
    return np.ma.masked_array([1.0, 1e20, 3.0], mask=[False, True, False])


def _strided(folder: Path) -> np.ndarray:
    return np.repeat(np.repeat(MATRIX, 2, axis=0), 3, axis=1)[::2, ::3]


def _cyclic(folder: Path) -> list[Any]:
    cycle: list[Any] = [1.0]
    cycle.append(cycle)
    return cycle


KINDS = [
    ArrayKind("contiguous", lambda folder: MATRIX.copy(), MATRIX),
    ArrayKind("strided", _strided, MATRIX),
    ArrayKind("reversed", lambda folder: MATRIX[::-1, ::-1].copy()[::-1, ::-1], MATRIX),
    ArrayKind("fortran-order", lambda folder: np.asfortranarray(MATRIX), MATRIX),
    ArrayKind("transposed", lambda folder: MATRIX.T.copy().T, MATRIX),
    ArrayKind("read-only", _read_only, MATRIX, writable=False),
    ArrayKind("broadcast", lambda folder: np.broadcast_to(VECTOR, (2, 4)), np.array([VECTOR, VECTOR]), writable=False),
    ArrayKind("zero-d", lambda folder: np.array(2.5), np.array(2.5)),
    ArrayKind("empty", lambda folder: np.empty((0, 3)), np.empty((0, 3))),
    ArrayKind("big-endian", lambda folder: MATRIX.astype(">f8"), MATRIX),
    ArrayKind("memory-mapped", _memory_mapped, MATRIX),
    ArrayKind("subclass", lambda folder: MATRIX.copy().view(Subclass), MATRIX),
    ArrayKind("float32", lambda folder: MATRIX.astype(np.float32), MATRIX.astype(np.float32)),
    ArrayKind("integer", lambda folder: np.array([-(2**62) - 1, 3]), np.array([-(2**62) - 1, 3])),
    ArrayKind("unsigned", lambda folder: np.array([2**64 - 1], np.uint64), np.array([2**64 - 1], np.uint64)),
    ArrayKind("bool", lambda folder: np.array([True, False]), np.array([True, False])),
    ArrayKind("complex", lambda folder: MATRIX + 1j, MATRIX + 1j),
    ArrayKind("list", lambda folder: MATRIX.tolist(), MATRIX, is_array=False),
    ArrayKind("list-of-arrays", lambda folder: list(MATRIX), MATRIX, is_array=False),
    ArrayKind("tuple", lambda folder: (1, 2), np.array([1, 2]), is_array=False),
    ArrayKind("scalar", lambda folder: 2.5, np.array(2.5), is_array=False),
    ArrayKind("numpy-scalar", lambda folder: np.float64(2.5), np.array(2.5), is_array=False),
    ArrayKind("foreign-device-array", lambda folder: ForeignDeviceArray(MATRIX), MATRIX, is_array=False),
    ArrayKind("masked", _masked, None, writable=False),
    ArrayKind("list-with-masked", lambda folder: [_masked(folder), _masked(folder)], None, is_array=False),
    ArrayKind("ragged-list", lambda folder: [[1.0, 2.0], [3.0]], None, is_array=False),
    ArrayKind("list-in-itself", _cyclic, None, is_array=False),
    ArrayKind("none", lambda folder: None, None, is_array=False),
    ArrayKind("list-with-none", lambda folder: [1.0, None], None, is_array=False),
    ArrayKind("dict", lambda folder: {"a": 1.0}, None, is_array=False),
    ArrayKind("set", lambda folder: {1.0, 2.0}, None, is_array=False),
    ArrayKind("iterator", lambda folder: iter([1.0, 2.0]), None, is_array=False),
]
"""Kinds made of host data, and another library's device array."""

ARRAYS = [kind for kind in KINDS if kind.is_array]
NOT_ARRAYS = [kind for kind in KINDS if kind.values is None]


def assert_same_values(result: Any, kind: ArrayKind) -> None:
    """Assert that a NumPy array has the kind's values, shape and dtype, whatever its byte order."""
    assert kind.values is not None
    assert isinstance(result, np.ndarray)
    assert result.shape == kind.values.shape
    assert result.dtype.newbyteorder("=") == kind.values.dtype
    np.testing.assert_array_equal(result, kind.values)


def as_compared(value: Any) -> Any:
    """Return something that shows by comparison whether an argument was changed."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.strides, value.tobytes()
    return repr(value)
