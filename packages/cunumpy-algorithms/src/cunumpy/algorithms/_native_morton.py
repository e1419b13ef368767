"""Morton and Hilbert keys by the native library; the names and results of `_numpy_morton`."""

from __future__ import annotations

from ctypes import c_int, c_longlong, c_void_p
from typing import TYPE_CHECKING

import numpy as np

from cunumpy._threads import threads_for
from cunumpy.algorithms._library import HOST
from cunumpy.cuda._host_library import address

if TYPE_CHECKING:
    from collections.abc import Sequence

_GRAIN = 50_000  # elements from which a thread pays

_TYPES = {
    name: number for number, name in enumerate(("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
}

assert HOST.library is not None
_point_keys = HOST.library.cunumpy_algorithms_point_keys
_point_keys.restype = c_int
_point_keys.argtypes = [
    *(c_void_p, c_longlong, c_longlong, c_int, c_int, c_longlong),
    *(c_int, c_void_p, c_void_p, c_int, c_int, c_int, c_void_p, c_int),
]
_cell_keys = HOST.library.cunumpy_algorithms_cell_keys
_cell_keys.restype = None
_cell_keys.argtypes = [
    *(c_void_p, c_void_p, c_void_p, c_longlong, c_longlong, c_longlong, c_longlong),
    *(c_int, c_int, c_int, c_int, c_void_p, c_longlong, c_int),
]
_key_cells = HOST.library.cunumpy_algorithms_key_cells
_key_cells.restype = None
_key_cells.argtypes = [
    *(c_void_p, c_longlong, c_void_p, c_void_p, c_void_p, c_longlong, c_longlong, c_longlong, c_longlong),
    *(c_int, c_int, c_int, c_int),
]


def point_keys(
    positions: np.ndarray, lower: np.ndarray, scale: np.ndarray, levels: int, hilbert: bool, keys: np.ndarray | None
) -> bool:
    """Write the keys of points (n, ndim), and return whether a coordinate is NaN; without `keys` only that."""
    n, ndim = positions.shape
    nan: int = _point_keys(
        address(positions),
        *positions.strides,
        _TYPES[positions.dtype.str[1:]],
        not positions.dtype.isnative,
        n,
        ndim,
        address(lower),
        address(scale),
        levels,
        hilbert,
        8 if keys is None else keys.itemsize,
        None if keys is None else address(keys),
        threads_for(n, _GRAIN),
    )
    return nan != 0


def cell_keys(cells: Sequence[np.ndarray], levels: int, hilbert: bool, keys: np.ndarray) -> None:
    """Write the keys of cells: uint64 arrays of one dimension, of which the low `levels` bits count."""
    n = len(keys)
    addresses, strides = _places(cells)
    _cell_keys(
        *addresses,
        *strides,
        n,
        len(cells),
        levels,
        hilbert,
        keys.itemsize,
        address(keys),
        keys.strides[0],
        threads_for(n, _GRAIN),
    )


def key_cells(keys: np.ndarray, levels: int, hilbert: bool, cells: Sequence[np.ndarray]) -> None:
    """Write the cells of uint64 keys, of which the low ``ndim * levels`` bits count, to uint64 arrays."""
    n = len(keys)
    addresses, strides = _places(cells)
    _key_cells(
        address(keys),
        keys.strides[0],
        *addresses,
        *strides,
        n,
        len(cells),
        levels,
        hilbert,
        threads_for(n, _GRAIN),
    )


def _places(axes: Sequence[np.ndarray]) -> tuple[list[int | None], list[int]]:
    missing = 3 - len(axes)
    return [*map(address, axes), *[None] * missing], [*(axis.strides[0] for axis in axes), *[0] * missing]
