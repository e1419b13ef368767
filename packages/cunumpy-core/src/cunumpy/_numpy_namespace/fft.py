"""`numpy.fft` with the standard's ``fftfreq(dtype=)`` and ``rfftfreq(dtype=)``."""

from __future__ import annotations

from typing import NoReturn

import numpy.fft as _fft

from cunumpy._call_forms import standard_keywords as _standard_keywords

globals().update({_name: getattr(_fft, _name) for _name in _fft.__all__})
__all__ = list(_fft.__all__)

for _name in ("fftfreq", "rfftfreq"):
    globals()[_name] = _standard_keywords("numpy", f"fft.{_name}", getattr(_fft, _name), ("dtype",))

del _name


def __getattr__(name: str) -> NoReturn:
    from cunumpy._missing_names import raise_missing

    raise_missing("fft", name, "numpy", __all__)
