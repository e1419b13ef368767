"""Names and call signatures of CuPy."""

from __future__ import annotations

from .arrays import CUPY, CUPY_FFT, CUPY_LINALG, VERSION
from .classes import CUPY_RANDOM, GENERATOR, NDARRAY, RANDOM_STATE
from .constants import RUNTIME
from .scipy_calls import SCIPY_CALLS
from .scipy_names import SCIPY, SCIPY_CLASSES

__all__ = [
    "CUPY",
    "CUPY_FFT",
    "CUPY_LINALG",
    "CUPY_RANDOM",
    "GENERATOR",
    "NDARRAY",
    "RANDOM_STATE",
    "RUNTIME",
    "SCIPY",
    "SCIPY_CALLS",
    "SCIPY_CLASSES",
    "VERSION",
]
