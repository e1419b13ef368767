"""Arrays to test with, equal for NumPy and the stand-in."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

import numpy as np

from .host_values import on_host


def _cupy() -> Any:
    return sys.modules["cupy"]


def shaped_arange(shape: Any, xp: Any = None, dtype: Any = np.float32, order: str = "C") -> Any:
    """Return 1, 2, 3, ...; the real part, for complex types with the negative as imaginary part."""
    numbers: Any = np.arange(1, math.prod(shape) + 1)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        numbers = numbers % 2 == 0
    elif dtype.kind == "c":
        numbers = numbers + numbers * 1j
    made = np.array(numbers.astype(dtype).reshape(shape), order=order)  # type: ignore[call-overload]
    return (xp or _cupy()).array(made, order=order)


def shaped_reverse_arange(shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """Return ..., 3, 2, 1."""
    size = math.prod(shape)
    numbers: Any = np.arange(size, 0, -1)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        numbers = numbers % 2 == 0
    elif dtype.kind == "c":
        numbers = numbers + numbers * 1j
    return (xp or _cupy()).array(numbers.astype(dtype).reshape(shape))


def shaped_random(
    shape: Any, xp: Any = None, dtype: Any = np.float32, scale: float = 10, seed: Any = 0, order: str = "C"
) -> Any:
    """Return random numbers below a scale, equal for NumPy and CuPy."""
    source = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        made: Any = source.randint(2, size=shape)
    elif dtype.kind == "c":
        made = source.rand(*shape) + 1j * source.rand(*shape)
        made = made * scale
    else:
        made = source.rand(*shape) * scale
    return (xp or _cupy()).asarray(made.astype(dtype), order=order)


def shaped_linspace(start: float, stop: float, shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """Return numbers at equal distances."""
    shape = (shape,) if np.isscalar(shape) else shape
    return (xp or _cupy()).array(np.linspace(start, stop, math.prod(shape), dtype=dtype).reshape(shape))


def shaped_sparse_random(
    shape: Any, sp: Any = None, dtype: Any = np.float32, density: float = 0.01, format: str = "coo", seed: Any = 0
) -> Any:
    """Return a random matrix, equal for SciPy and CuPy."""
    import scipy.sparse

    made = scipy.sparse.random(*shape, density, dtype=dtype, random_state=np.random.RandomState(seed))
    sp = sp or importlib.import_module("cupyx.scipy.sparse")
    return sp.coo_matrix(made).asformat(format)


def generate_matrix(shape: Any, xp: Any = None, dtype: Any = np.float32, *, singular_values: Any = None) -> Any:
    """Return a random matrix, or several, with given singular values."""
    if len(shape) <= 1:
        raise ValueError(f"shape {tuple(shape)} is invalid for matrices: too few axes")
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        raise TypeError(f"dtype {dtype} is not supported")
    values = np.asarray(on_host(singular_values))
    source = np.random.RandomState()
    made: Any = source.randn(*shape)
    if dtype.kind == "c":
        made = made + 1j * source.randn(*shape)
    u, _, vh = np.linalg.svd(made, full_matrices=False)
    return (xp or _cupy()).array(((u * values[..., None, :]) @ vh).astype(dtype))
