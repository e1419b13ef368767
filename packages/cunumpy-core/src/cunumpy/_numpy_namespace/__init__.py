"""The NumPy backend's namespace: NumPy's own functions, plus the call forms that only the array API standard has.

NumPy 2 follows the standard in most functions, so nearly every name is NumPy's own object. The few wrappers follow
one rule: a call with a keyword that only the standard has goes to array-api-compat, every other call is NumPy's.
"""

from __future__ import annotations

from functools import wraps as _wraps

import numpy as _numpy

from cunumpy._call_forms import named as _named
from cunumpy._call_forms import standard_keywords as _standard_keywords

# The names NumPy holds already. Its lazy submodules come by `__getattr__`: loading them all would double the cost.
# `fft` is ours, also where NumPy's is loaded.
globals().update(
    {_name: _value for _name, _value in vars(_numpy).items() if not _name.startswith("_") and _name != "fft"}
)

for _name in ("sort", "argsort"):
    globals()[_name] = _standard_keywords("numpy", _name, getattr(_numpy, _name), ("descending",))


@_wraps(_numpy.diff)
def diff(
    a: object, n: int = 1, axis: int = -1, prepend: object = _numpy._NoValue, append: object = _numpy._NoValue
) -> object:
    # None is the standard's default, and an object among the numbers to NumPy.
    before, after = (_numpy._NoValue if value is None else value for value in (prepend, append))
    return _numpy.diff(a, n, axis, before, after)  # type: ignore[call-overload]


_named("numpy", "diff", diff)

if _numpy.lib.NumpyVersion(_numpy.__version__) < "2.1.0":
    from cunumpy._numpy_namespace import _older

    globals().update({_name: getattr(_older, _name) for _name in _older.__all__})

if _numpy.lib.NumpyVersion(_numpy.__version__) < "2.3.0":

    @_wraps(_numpy.take_along_axis)
    def take_along_axis(arr: object, indices: object, axis: int | None = -1) -> object:
        return _numpy.take_along_axis(arr, indices, axis)  # type: ignore[arg-type]

    _named("numpy", "take_along_axis", take_along_axis)


def finfo(dtype: object) -> object:
    """Machine limits of a floating-point dtype, or of an array's dtype; see `numpy.finfo`."""
    return _numpy.finfo(dtype.dtype if isinstance(dtype, (_numpy.ndarray, _numpy.generic)) else dtype)


def iinfo(dtype: object) -> object:
    """Machine limits of an integer dtype, or of an array's dtype; see `numpy.iinfo`."""
    return _numpy.iinfo(dtype.dtype if isinstance(dtype, (_numpy.ndarray, _numpy.generic)) else dtype)


del _name


def __getattr__(name: str) -> object:
    if name == "fft":
        from importlib import import_module

        return import_module(f"{__name__}.fft")
    if name in ("__array_api_version__", "__array_namespace_info__"):
        import array_api_compat.numpy as standard

        return getattr(standard, name)
    try:
        value = getattr(_numpy, name)
    except AttributeError as missing:
        if name.startswith("_"):
            raise
        import array_api_compat.numpy as standard  # names of the standard that an older NumPy lacks

        try:
            value = getattr(standard, name)
        except AttributeError:
            raise missing from None
    if not name.startswith("_"):
        globals()[name] = value
    return value
