"""The protocol ``__cuda_args__``: objects that stand for kernel arguments, and the values that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays
from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

NUMBER_TYPES: frozenset[type] = frozenset(
    {bool, int, float, complex, *(np.dtype(code).type for code in "?bhilqBHILQefdFD")}
)

LEAF_TYPES: set[type] = {*NUMBER_TYPES, np.void, np.ndarray}
"""Types that stand for no other arguments, and that CuPy takes; its arrays are added when the first one is seen."""

_DEEPEST = 32


def expand(values: Iterable[Any], owner: str, *, host: bool = False) -> list[Any]:
    """Replace argument objects by the values that their ``__cuda_args__`` returns, however deep.

    For a kernel that runs on the CPU (`host`), objects that are structs stay: they may hold NumPy arrays.
    """
    found: list[Any] = []
    for value in values:
        _expand(value, owner, found, 0, host)
    return found


def _expand(value: Any, owner: str, found: list[Any], depth: int, host: bool) -> None:
    kind = type(value)
    if kind in LEAF_TYPES:
        found.append(value)
        return
    if isinstance(value, type) and hasattr(value, "__cuda_args__"):
        raise ArgumentTypeError(
            f"{owner}: got the class {value.__name__} for an argument; pass an object of it, {value.__name__}(...)."
        )
    protocol = getattr(kind, "__cuda_args__", None)
    if protocol is None:
        if _arrays.is_device_array(value):
            LEAF_TYPES.add(kind)
        found.append(value)
        return
    if host and getattr(getattr(value, "struct", None), "fields", None) is not None:
        found.append(value)
        return
    if depth == _DEEPEST:
        raise ArgumentError(f"{owner}: the __cuda_args__ of {describe(value)} leads on to other objects without end.")
    values = protocol(value)
    if not isinstance(values, tuple):
        raise ArgumentTypeError(
            f"{owner}: __cuda_args__ of {describe(value)} must return a tuple of arguments, got {describe(values)}."
        )
    for one in values:
        _expand(one, owner, found, depth + 1, host)


def members(value: Any) -> list[tuple[str, Any]]:
    """Return the parts of an argument object by name: the fields of a struct, the values of others."""
    protocol = getattr(type(value), "__cuda_args__", None)
    if protocol is None:
        return []
    fields = getattr(getattr(value, "struct", None), "fields", None)
    if fields is None:
        return [("", one) for one in protocol(value)]
    by_item = hasattr(type(value), "__getitem__")  # a packed value, else an object with attributes
    return [(field.name, value[field.name] if by_item else getattr(value, field.name)) for field in fields]
