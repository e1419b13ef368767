"""Philox numbers of integer operands by the native library: the same functions as in `_numpy_philox`."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from cunumpy import _threads
from cunumpy.cuda._host_library import address
from cunumpy.rng import _layout
from cunumpy.rng._library import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from cunumpy.rng._layout import Operand

__all__ = ["philox_normal", "philox_uniform", "philox_words"]

_library: Any = HOST.library
_library.cunumpy_rng_philox_uniform.argtypes = [
    ctypes.c_void_p,
    ctypes.c_longlong,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int,
]
_library.cunumpy_rng_philox_normal.argtypes = _library.cunumpy_rng_philox_uniform.argtypes
_library.cunumpy_rng_philox_words.argtypes = [ctypes.c_void_p, ctypes.c_longlong, ctypes.c_void_p, ctypes.c_int]
for _function in ("uniform", "normal", "words"):
    getattr(_library, f"cunumpy_rng_philox_{_function}").restype = None

_GRAIN = 50_000  # elements that take about as long as starting a thread


def philox_uniform(operands: Sequence[Operand], first: np.ndarray, second: np.ndarray | None) -> None:
    """Write uniform numbers; see `_numpy_philox.philox_uniform`."""
    _pairs(_library.cunumpy_rng_philox_uniform, operands, first, second)


def philox_normal(operands: Sequence[Operand], first: np.ndarray, second: np.ndarray | None) -> None:
    """Write normal numbers; see `_numpy_philox.philox_normal`."""
    _pairs(_library.cunumpy_rng_philox_normal, operands, first, second)


def philox_words(operands: Sequence[Operand], out: np.ndarray) -> None:
    """Write random words; see `_numpy_philox.philox_words`."""
    n = out.size // 4
    if n:
        layout = _packed(operands, out.shape[:-1])
        _library.cunumpy_rng_philox_words(address(layout), n, address(out), _threads.threads_for(n, _GRAIN))


def _pairs(function: Any, operands: Sequence[Operand], first: np.ndarray, second: np.ndarray | None) -> None:
    n = first.size
    if n:
        layout = _packed(operands, first.shape)
        other = None if second is None else address(second)
        function(address(layout), n, address(first), other, _threads.threads_for(n, _GRAIN))


def _packed(operands: Sequence[Operand], shape: tuple[int, ...]) -> np.ndarray:
    extents, strides = _layout.merged(shape, operands)
    addresses = [operand if isinstance(operand, int) else address(operand) for operand in operands]
    return _layout.packed(extents, strides, operands, addresses, len(extents))
