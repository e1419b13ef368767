"""Counter-based random numbers."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.rng._philox import philox4x32_10, philox_normal, philox_normal2, philox_uniform, philox_uniform2

__all__ = ["philox4x32_10", "philox_normal", "philox_normal2", "philox_uniform", "philox_uniform2"]
