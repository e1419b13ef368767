"""The CuPy backend's namespace: CuPy's functions with NumPy's call forms and the array API standard's.

A name is CuPy's own object where CuPy's signature is NumPy's. Elsewhere it is the same function behind an adapter:
positions and names are NumPy's, and what CuPy lacks is served (`_reductions`, `_functions`, `_arguments`), passed to
array-api-compat if only the standard has it, or refused by name. Copies between host and device are recorded
(`_creation`).
"""

from __future__ import annotations

from importlib import import_module as _import_module

import array_api_compat.cupy as _standard
import cupy as _cupy
import numpy as _numpy

from cunumpy._cupy_namespace import _functions
from cunumpy._cupy_namespace._adapt import adapt as _adapt
from cunumpy._cupy_namespace._reductions import REDUCTIONS as _REDUCTIONS

for _name, _value in vars(_cupy).items():
    if not _name.startswith("_") and _name not in ("annotations", "fft", "linalg"):
        globals()[_name] = _adapt(_name, _value, vars(_numpy).get(_name))
for _name in _standard.__all__:
    if not _name.startswith("_") and _name not in ("annotations", *globals()) and hasattr(_standard, _name):
        globals()[_name] = getattr(_standard, _name)
globals().update(_REDUCTIONS)
globals().update({_name: getattr(_functions, _name) for _name in _functions.__all__})

fft = _import_module(f"{__name__}.fft")
linalg = _import_module(f"{__name__}.linalg")

del _name, _value


def __getattr__(name: str) -> object:
    if name in ("__array_api_version__", "__array_namespace_info__"):
        return getattr(_standard, name)
    return getattr(_cupy, name)
