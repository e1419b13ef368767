"""The arguments that a user's ``make_args`` has made, and the arrays among them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cunumpy import to_numpy
from cunumpy._gate import given
from cunumpy.arguments._packer import is_device
from cunumpy.errors import ArgumentTypeError

_LEVELS = 2


def arrays_among(args: tuple[Any, ...]) -> dict[str, np.ndarray[Any, Any]]:
    """Return host copies of the arrays among arguments, by name."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    for index, value in enumerate(args):
        for name, array in found_arrays(value, f"argument {index}"):
            found[name] = np.array(to_numpy(array) if is_device(array) else array)
    return found


def found_arrays(value: Any, name: str, level: int = 0) -> Iterable[tuple[str, Any]]:
    """Give the arrays that a value is or has, with their names."""
    if isinstance(value, np.ndarray) or is_device(value):
        yield name, value
        return
    if level > _LEVELS:
        return
    for part, member in _members(value):
        yield from found_arrays(member, f"{name}{part}", level + 1)


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    kind = type(value)
    fields = getattr(getattr(value, "struct", None), "fields", None)
    if fields is not None and hasattr(kind, "__cuda_args__"):
        by_item = hasattr(kind, "__getitem__")
        for field in fields:
            yield f".{field.name}", value[field.name] if by_item else getattr(value, field.name)
        return
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", member) for key, member in value.items())
    elif isinstance(value, (tuple, list)):
        yield from ((f"[{number}]", member) for number, member in enumerate(value))
    elif isinstance(value, type) or callable(value) or inspect.ismodule(value):
        return
    elif hasattr(value, "__dict__"):
        yield from ((f".{key}", member) for key, member in vars(value).items())
    else:
        names = [name for one in kind.__mro__ for name in _slots(one)]
        yield from ((f".{key}", getattr(value, key)) for key in names if hasattr(value, key))


def _slots(kind: type) -> Sequence[str]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def checked_args(made: Any, function: str) -> tuple[Any, ...]:
    """Return what `make_args` has made; raise if that is no tuple."""
    if isinstance(made, (tuple, list)):
        return tuple(made)
    missing = "; a return is missing" if made is None else "; return (value,) for one argument"
    raise ArgumentTypeError(
        f"{function}: argument 'make_args' must return the tuple of the kernel's arguments, it returned "
        f"{given(made)}{missing}."
    )
