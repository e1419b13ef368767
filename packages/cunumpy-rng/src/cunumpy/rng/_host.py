"""What runs on the host: the native library, or NumPy where there is none."""

from __future__ import annotations

from typing import Any

from cunumpy.cuda._host_library import HostLibrary
from cunumpy.rng import _numpy_generator, _numpy_philox

__all__ = ["generator", "library", "philox"]

library: HostLibrary = HostLibrary("cunumpy.rng")
philox: Any = _numpy_philox
generator: Any = _numpy_generator

if library.library is not None:
    from cunumpy.rng import _native_generator, _native_philox

    philox, generator = _native_philox, _native_generator
