"""The one converter for nested containers of arguments and results.

Containers are ``tuple`` (named tuples too), ``list``, ``dict`` and their subclasses, and instances of dataclasses.
Everything else is a leaf: sets (arrays can't be in them), arrays of objects, other objects, and the keys of a dict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    Memo: TypeAlias = dict[int, tuple[Any, Any]]

PLAIN_TYPES = frozenset({type(None), bool, int, float, complex, str, bytes, np.float64, np.int64, np.bool})
"""Types that are never containers and never converted."""

# These stand for the result of a container that is being converted, and of one that was met again inside itself.
_OPEN = object()
_CYCLIC = object()


def holds(values: Iterable[Any], wanted: Callable[[Any], bool]) -> bool:
    """Tell whether any leaf in nested containers is wanted; containers that hold themselves are fine.

    Parameters
    ----------
    values : iterable
        Values to look into; those of a call, say.
    wanted : callable
        Asked for every leaf.

    Examples
    --------
    >>> holds([{"a": [1, {2}]}], lambda leaf: isinstance(leaf, set))
    True
    """
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind in PLAIN_TYPES:
            continue
        if kind is list or kind is tuple or isinstance(value, (list, tuple)):
            children: Iterable[Any] = value
        elif isinstance(value, dict):
            children = dict.values(value)
        elif hasattr(kind, "__dataclass_fields__"):
            children = _fields(value).values()
        elif wanted(value):
            return True
        else:
            continue
        if id(value) not in seen:
            seen.add(id(value))
            pending.extend(children)
    return False


def convert(value: Any, leaf: Callable[[Any], Any], memo: Memo, function: str) -> Any:
    """Convert the leaves of nested containers.

    Parameters
    ----------
    value : Any
        A container or a leaf.
    leaf : callable
        Gives the replacement of a leaf, or the leaf itself.
    memo : dict
        What has been converted so far, by ``id``; empty at first. One dict for all arguments of a call keeps an object
        that is passed twice one object, and converts it once.
    function : str
        Name of the caller, for the error messages.

    Returns
    -------
    Any
        The value itself where nothing inside was replaced, else a new container of the same type. Subclasses of list
        and dict and dataclass instances are copied with `copy.copy`, then their items are replaced, without calling
        ``__init__``; subclasses of tuple are made with ``tuple.__new__``.

    Raises
    ------
    ArgumentError
        A container holds itself and a leaf that is replaced.
    ArgumentTypeError
        A container can't be copied.

    Examples
    --------
    >>> convert({"a": (1, "x"), "b": [{2}]}, lambda leaf: sorted(leaf), {}, "f")
    {'a': (1, 'x'), 'b': [[2]]}
    """
    kind = type(value)
    if kind in PLAIN_TYPES:
        return value
    known = memo.get(id(value))
    if known is not None:
        if known[1] is _OPEN or known[1] is _CYCLIC:
            memo[id(value)] = (value, _CYCLIC)  # fine, unless it turns out to hold something to replace
            return value
        return known[1]
    memo[id(value)] = (value, _OPEN)  # holding the value keeps its id from being reused
    try:
        if isinstance(value, (tuple, list)):
            result = _sequence(value, [convert(item, leaf, memo, function) for item in value], function)
        elif isinstance(value, dict):
            changed = _changed(dict.items(value), leaf, memo, function)
            result = _with_items(value, changed, function) if changed else value
        elif hasattr(kind, "__dataclass_fields__"):
            changed = _changed(_fields(value).items(), leaf, memo, function)
            result = _with_attributes(value, changed, function) if changed else value
        else:
            result = leaf(value)
        if result is not value and memo[id(value)][1] is _CYCLIC:
            raise ArgumentError(
                f"{function}: a {kind.__name__} among the arguments or results holds itself, so that the arrays inside "
                "can't be converted; pass the arrays on their own."
            )
    except BaseException:
        del memo[id(value)]
        raise
    memo[id(value)] = (value, result)
    return result


def _changed(items: Iterable[tuple[Any, Any]], leaf: Callable[[Any], Any], memo: Memo, function: str) -> dict[Any, Any]:
    changed = {}
    for key, old in items:
        new = convert(old, leaf, memo, function)
        if new is not old:
            changed[key] = new
    return changed


def _sequence(value: Any, items: list[Any], function: str) -> Any:
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    kind = type(value)
    if kind is list:
        return items
    if kind is tuple:
        return tuple(items)
    if isinstance(value, list):
        result = _copied(value, function)
        list.__setitem__(result, slice(None), items)
        return result
    result = tuple.__new__(kind, items)  # a named tuple's own __new__ takes the items one by one
    if hasattr(value, "__dict__"):
        result.__dict__.update(value.__dict__)
    return result


def _with_items(value: Any, changed: dict[Any, Any], function: str) -> Any:
    if type(value) is dict:
        return {**value, **changed}
    result = _copied(value, function)
    for key, new in changed.items():
        dict.__setitem__(result, key, new)
    return result


def _with_attributes(value: Any, changed: dict[str, Any], function: str) -> Any:
    result = _copied(value, function)
    for name, new in changed.items():
        object.__setattr__(result, name, new)  # also where the dataclass is frozen
    return result


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass instance that have a value."""
    from dataclasses import fields  # imported already by whoever made the class

    missing = object()
    found = {field.name: getattr(value, field.name, missing) for field in fields(value)}
    return {name: field for name, field in found.items() if field is not missing}


def _copied(value: Any, function: str) -> Any:
    from copy import copy

    try:
        result = copy(value)
    except Exception as error:
        raise ArgumentTypeError(
            f"{function}: a {type(value).__name__} holds arrays to convert, but can't be copied: "
            f"{type(error).__name__}: {error}; give the class a __copy__ method, or pass the arrays on their own."
        ) from error
    if type(result) is not type(value) or result is value:
        raise ArgumentTypeError(
            f"{function}: a {type(value).__name__} holds arrays to convert, but its copy.copy() is "
            f"{'the object itself' if result is value else 'a ' + type(result).__name__}; "
            "let its __copy__ method return a new object of its type, or pass the arrays on their own."
        )
    return result
