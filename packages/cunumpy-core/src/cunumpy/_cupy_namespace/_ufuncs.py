"""CuPy's universal functions with the ``where``, ``order`` and ``subok`` of NumPy's, which CuPy's lack."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from cunumpy._call_forms import named
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["numpy_ufunc"]

_ATTRIBUTES = ("nin", "nout", "nargs", "types", "identity", "reduce", "accumulate", "reduceat", "outer", "at")


def numpy_ufunc(name: str, native: Callable[..., Any]) -> Callable[..., Any]:
    """Return a CuPy ufunc that takes the keywords of NumPy's ufuncs; its methods and attributes stay.

    As in NumPy, elements where ``where`` is false keep the values of ``out``; without ``out`` they are undefined.
    """

    @functools.wraps(native)
    def call(*args: Any, **kwargs: Any) -> Any:
        outs = args[nin:]
        if outs and (len(outs) < nout or any(out is None for out in outs)):  # some are left to the function
            args, kwargs["out"] = args[:nin], outs + (None,) * (nout - len(outs))
        if not kwargs or kwargs.keys() <= {"dtype", "casting"}:
            return native(*args, **kwargs)
        kwargs.pop("subok", None)  # there are no subclasses on the device
        order = kwargs.pop("order", "K")
        where = kwargs.pop("where", True)
        out = kwargs.pop("out", None)
        some_outs = isinstance(out, tuple) and any(one is None for one in out)
        if isinstance(out, tuple) and all(one is None for one in out):
            out = None
        if order not in ("K", "A", "C", "F"):
            raise ArgumentError(f"{name}: order must be 'K', 'A', 'C' or 'F', got {order!r}.")
        if where is True and not some_outs:
            result = native(*args, **kwargs) if out is None else native(*args, out=out, **kwargs)
            return result if out is not None or order in "KA" else _in_order(result, order)
        if not isinstance(where, (bool, np.bool_)) and not (isinstance(where, cupy.ndarray) and where.dtype == bool):
            raise ArgumentTypeError(
                f"{name}: where must be a bool or a CuPy array of bools, got {type(where).__name__}."
            )
        if out is None:
            out = args[nin:] if len(args) > nin else None
            args = args[:nin]
        result = native(*args, **kwargs)
        return _selected(result, out, where, kwargs.get("casting", "same_kind"))

    nin, nout = native.nin, native.nout  # type: ignore[attr-defined]
    for attribute in _ATTRIBUTES:
        if hasattr(native, attribute):
            setattr(call, attribute, getattr(native, attribute))
    return named("cupy", name, call)


def _in_order(result: Any, order: str) -> Any:
    if isinstance(result, tuple):
        return tuple(_in_order(one, order) for one in result)
    if result.ndim < 2:  # one order only, and CuPy's conversions would make 0-d arrays 1-d
        return result
    return cupy.asfortranarray(result) if order == "F" else cupy.ascontiguousarray(result)


def _selected(result: Any, out: Any, where: Any, casting: Any) -> Any:
    """Write results to ``out`` where the mask says so, or return them in the broadcast shape."""
    if isinstance(result, tuple):
        outs = out if isinstance(out, tuple) else (out,)
        outs += (None,) * (len(result) - len(outs))
        return tuple(_selected(one, target, where, casting) for one, target in zip(result, outs, strict=True))
    if isinstance(out, tuple):
        out = out[0] if out else None
    if out is None:
        return result if isinstance(where, (bool, np.bool_)) else cupy.broadcast_arrays(result, where)[0].copy()
    cupy.copyto(out, result, casting=casting, where=where)
    return out
