"""The one converter for nested containers of arguments and results.

Containers are ``tuple`` (named tuples too), ``list``, ``dict`` and their subclasses, instances of dataclasses, and
those of other classes that the caller opens. Everything else is a leaf: sets (arrays can't be in them), arrays of
objects, other objects, and the keys of a dict. Containers may hold themselves.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    Memo: TypeAlias = dict[int, tuple[Any, Any]]

PLAIN_TYPES = frozenset({type(None), bool, int, float, complex, str, bytes, np.float64, np.int64, np.bool})
"""Types that are never containers and never converted."""


def children(value: Any, opened: Callable[[type], bool] | None = None) -> Iterable[Any] | None:
    """Give what a container holds, or None for a leaf; `opened` tells which further classes are containers."""
    kind = type(value)
    if kind is list or kind is tuple or isinstance(value, (list, tuple)):
        sequence: Iterable[Any] = value
        return sequence
    if isinstance(value, dict):
        return dict.values(value)
    if hasattr(kind, "__dataclass_fields__") or (opened is not None and opened(kind)):
        return attributes(value).values()
    return None


def attributes(value: Any) -> dict[str, Any]:
    """Return the attributes that an object itself has, in ``__dict__`` and in slots."""
    found: dict[str, Any] = {}
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if type(member) is MemberDescriptorType and name not in found:
                with suppress(AttributeError):  # a slot may be unset
                    found[name] = member.__get__(value)
    found.update(getattr(value, "__dict__", ()))
    return found


def leaves(values: Iterable[Any], opened: Callable[[type], bool] | None = None) -> Iterator[Any]:
    """Yield the leaves of nested containers in order, those of a container that is met again once.

    Examples
    --------
    >>> list(leaves([{"a": [1.5, {2}]}, "text", {3}]))
    [{2}, {3}]
    """
    seen: set[int] = set()
    pending = list(values)[::-1]
    while pending:
        value = pending.pop()
        if type(value) in PLAIN_TYPES:
            continue
        inside = children(value, opened)
        if inside is None:
            yield value
        elif id(value) not in seen:
            seen.add(id(value))
            pending.extend(list(inside)[::-1])


def holds(values: Iterable[Any], wanted: Callable[[Any], bool]) -> bool:
    """Tell whether any leaf in nested containers is wanted.

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
    return any(map(wanted, leaves(values)))


def convert(
    value: Any,
    leaf: Callable[[Any], Any],
    memo: Memo,
    function: str,
    opened: Callable[[type], bool] | None = None,
) -> Any:
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
    opened : callable, optional
        Tells of a class whether the attributes of its objects are looked into, as those of dataclasses are.

    Returns
    -------
    Any
        The value itself where nothing inside was replaced, else a new container of the same type, which holds itself
        where the old one did. Subclasses of list and dict and objects are copied with `copy.copy`, then their items or
        attributes are replaced, without calling ``__init__``; subclasses of tuple are made with ``tuple.__new__``.

    Raises
    ------
    ArgumentTypeError
        A container can't be copied.
    ArgumentError
        Containers are nested more deeply than Python's limit of recursion.

    Examples
    --------
    >>> convert({"a": (1, "x"), "b": [{2}]}, lambda leaf: sorted(leaf), {}, "f")
    {'a': (1, 'x'), 'b': [[2]]}
    """
    if type(value) in PLAIN_TYPES:
        return value
    known = memo.get(id(value))
    if known is not None:
        return known[1]
    made: Memo = {}
    _convert_leaves(value, leaf, memo, made, opened)
    try:
        result = _rebuilt(value, memo, made, function)
    except RecursionError:
        raise ArgumentError(
            f"{function}: an argument or result is a {type(value).__name__} with arrays to convert, and is nested too "
            f"deeply for that (Python's limit is {sys.getrecursionlimit()} calls); keep the arrays in a flat list."
        ) from None
    memo.update(made)
    return result


def _convert_leaves(
    value: Any, leaf: Callable[[Any], Any], memo: Memo, made: Memo, opened: Callable[[type], bool] | None
) -> None:
    """Enter all leaves, and all containers in which nothing is replaced, into `made`."""
    holders: dict[int, list[int]] = {id(value): []}  # of each container, the ids of those that hold it
    containers: dict[int, Any] = {}
    changed: list[int] = []
    pending = [(value, id(value))]
    while pending:
        item, holder = pending.pop()
        if type(item) in PLAIN_TYPES:
            continue
        key = id(item)
        if key in containers:
            holders[key].append(holder)
            continue
        known = memo.get(key) or made.get(key)
        if known is None:
            inside = children(item, opened)
            if inside is not None:
                containers[key] = item
                holders[key] = [holder]
                pending.extend([(child, key) for child in list(inside)[::-1]])
                continue
            made[key] = known = (item, leaf(item))  # holding the item keeps its id from being reused
        if known[1] is not item:
            changed.append(holder)
    while changed:
        key = changed.pop()
        if containers.pop(key, None) is not None:
            changed.extend(holders[key])
    made.update((key, (item, item)) for key, item in containers.items())


def _rebuilt(value: Any, memo: Memo, made: Memo, function: str) -> Any:
    if type(value) in PLAIN_TYPES:
        return value
    key = id(value)
    known = memo.get(key) or made.get(key)
    if known is not None:
        return known[1]
    if isinstance(value, tuple):
        items = [_rebuilt(item, memo, made, function) for item in value]
        known = made.get(key)
        if known is not None:  # it was met again inside itself, in a list say
            return known[1]
        kind = type(value)
        result: Any = tuple(items) if kind is tuple else tuple.__new__(kind, items)  # a named tuple's takes them apart
        if hasattr(value, "__dict__"):
            result.__dict__.update(value.__dict__)
        made[key] = (value, result)
        return result
    # What can hold itself is there before its items are.
    result = value.copy() if type(value) in (list, dict) else _copied(value, function)
    made[key] = (value, result)
    if isinstance(value, list):
        list.__setitem__(result, slice(None), [_rebuilt(item, memo, made, function) for item in value])
    elif isinstance(value, dict):
        for name, old in dict.items(value):
            new = _rebuilt(old, memo, made, function)
            if new is not old:
                dict.__setitem__(result, name, new)
    else:
        for name, old in attributes(value).items():
            new = _rebuilt(old, memo, made, function)
            if new is not old:
                object.__setattr__(result, name, new)  # also where the dataclass is frozen
    return result


def _copied(value: Any, function: str) -> Any:
    from copy import copy

    try:
        result = copy(value)
    except RecursionError:
        raise  # the containers around it are the reason
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
