"""Counter-based random numbers."""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-rng")

from cunumpy.rng._generator import PhiloxGenerator, stream_number
from cunumpy.rng._philox import philox4x32_10, philox_normal, philox_normal2, philox_uniform, philox_uniform2
from cunumpy.rng._streams import BIT_GENERATORS, RandomStreams, get_rng, random_streams

__all__ = [
    "BIT_GENERATORS",
    "PhiloxGenerator",
    "RandomStreams",
    "get_rng",
    "philox4x32_10",
    "philox_normal",
    "philox_normal2",
    "philox_uniform",
    "philox_uniform2",
    "random_streams",
    "stream_number",
]
