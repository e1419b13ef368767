"""`cupy.fft` with the call forms of `numpy.fft` and of the array API standard."""

from __future__ import annotations

from typing import NoReturn

import cupy.fft as _fft
import numpy.fft as _numpy_fft

from cunumpy._cupy_namespace._adapt import adapt as _adapt

__all__ = [_name for _name in dir(_fft) if not _name.startswith("_") and _name != "annotations"]

for _name in __all__:
    globals()[_name] = _adapt(f"fft.{_name}", getattr(_fft, _name), getattr(_numpy_fft, _name, None))

del _name


def __getattr__(name: str) -> NoReturn:
    from cunumpy._missing_names import raise_missing

    raise_missing("fft", name, "cupy", __all__)
