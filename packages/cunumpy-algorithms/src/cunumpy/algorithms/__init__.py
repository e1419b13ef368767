"""Particle algorithms."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.algorithms._morton import (
    MAX_MORTON_LEVELS,
    hilbert_decode,
    hilbert_encode,
    hilbert_keys,
    morton_decode,
    morton_encode,
    morton_keys,
    morton_scales,
)

__all__ = [
    "MAX_MORTON_LEVELS",
    "hilbert_decode",
    "hilbert_encode",
    "hilbert_keys",
    "morton_decode",
    "morton_encode",
    "morton_keys",
    "morton_scales",
]
