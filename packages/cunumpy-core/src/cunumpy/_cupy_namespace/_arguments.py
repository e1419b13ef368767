"""What becomes of arguments that NumPy's functions have and CuPy's lack.

An argument that is in no table here is refused by name. Those of the reductions are in `_reductions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy

from cunumpy._cupy_namespace._outputs import into
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cunumpy._call_forms import Handler

    Proceed = Callable[..., Any]

__all__ = ["STANDARD_KEYWORDS", "handlers_for"]

# Keywords of the array API standard that neither CuPy nor NumPy's form serves: array-api-compat does.
STANDARD_KEYWORDS = {
    "argsort": ("descending",),
    "sort": ("descending",),
}


def handlers_for(name: str) -> dict[str, Handler]:
    """Return the handlers of the arguments that the function with that dotted name lacks in CuPy."""
    group = "fft" if name.startswith("fft.") and name not in _BY_FUNCTION else name
    return {"like": _like, "device": _device, "subok": _ignored} | _BY_FUNCTION.get(group, {})


def _like(name: str, proceed: Proceed, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
    if value is not None and not isinstance(value, cupy.ndarray):
        raise ArgumentTypeError(
            f"{name}: like must be a CuPy array on the CuPy backend, got {type(value).__name__}; "
            "use get_array_module(reference) to follow another array."
        )
    return proceed(*args, **kwargs)


def _device(name: str, proceed: Proceed, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
    if value is None:
        return proceed(*args, **kwargs)
    if isinstance(value, bool) or not isinstance(value, (int, cupy.cuda.Device)):
        raise ArgumentTypeError(
            f"{name}: device must be None, a device number or a cupy.cuda.Device on the CuPy backend, got {value!r}."
        )
    with cupy.cuda.Device(value):
        return proceed(*args, **kwargs)


def _cast(name: str, proceed: Proceed, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
    """Serve the ``dtype`` of the standard's functions that always compute in float64."""
    result = proceed(*args, **kwargs)
    return result if value is None else result.astype(value, copy=False)


def _ignored(name: str, proceed: Proceed, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
    return proceed(*args, **kwargs)


def _only(keyword: str, *allowed: object) -> Handler:
    def handler(name: str, proceed: Proceed, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
        if not any(value is one or (type(value) is type(one) and value == one) for one in allowed):
            accepted = " or ".join(map(repr, allowed))
            raise ArgumentError(f"{name}: {keyword} must be {accepted} on the CuPy backend, got {value!r}.")
        return proceed(*args, **kwargs)

    return handler


def _out(name: str, proceed: Proceed, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
    if isinstance(value, tuple):  # as NumPy's ufuncs, of which its transforms are some, also take it
        (value,) = value
    return into(name, value, proceed(*args, **kwargs), "safe" if name == "einsum" else "same_kind")


# CuPy's one sorting algorithm is stable, which serves every wish but the order of fields.
_SORT: dict[str, Handler] = {
    "kind": _only("kind", None, "stable", "quicksort", "mergesort", "heapsort"),
    "stable": _only("stable", None, True, False),
    "order": _only("order", None),
}
_PARTITION: dict[str, Handler] = {"kind": _only("kind", "introselect"), "order": _only("order", None)}
_PERCENTILE: dict[str, Handler] = {"weights": _only("weights", None)}

_BY_FUNCTION: dict[str, dict[str, Handler]] = {
    "argpartition": _PARTITION,
    "argsort": _SORT,
    "array": {"ndmax": _only("ndmax", 0)},
    "einsum": {"out": _out},
    "fft": {"out": _out},
    "fft.fftfreq": {"dtype": _cast},
    "fft.rfftfreq": {"dtype": _cast},
    "intersect1d": {"return_indices": _only("return_indices", False)},
    "partition": _PARTITION,
    "percentile": _PERCENTILE,
    "quantile": _PERCENTILE,
    "savez": {"allow_pickle": _ignored},
    "savez_compressed": {"allow_pickle": _ignored},
    "sort": _SORT,
    "trim_zeros": {"axis": _only("axis", None)},
    "unique": {"sorted": _ignored},
    "unpackbits": {"count": _only("count", None)},
}
