"""Attributes of communicators, datatypes and windows, and the keys that they have."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from cunumpy.mpi._serial.checks import function_of, integer
from cunumpy.mpi._serial.constants import INTEGERS
from cunumpy.mpi._serial.exceptions import error

if TYPE_CHECKING:
    from collections.abc import Callable


class _Keyval:
    """A key of attributes, with what happens to them when their object is copied or freed."""

    def __init__(self, copy_fn: Any, delete_fn: Any) -> None:
        self.copy_fn, self.delete_fn = copy_fn, delete_fn
        self.freed = False


_keyvals: dict[int, _Keyval] = {}
_numbers = itertools.count(5000)


class Attributes:
    """What a program keeps with an object of MPI, under keys that it has made."""

    __slots__ = ()
    _attributes: dict[int, Any]

    @classmethod
    def Create_keyval(
        cls,
        copy_fn: Callable[..., Any] | None = None,
        delete_fn: Callable[..., Any] | None = None,
        nopython: bool = False,
    ) -> int:
        """Make a key for attributes.

        ``copy_fn(object, keyval, value)`` gives the attribute of a copy, or NotImplemented for none; without it copies
        have none. ``delete_fn(object, keyval, value)`` is called when the attribute goes.
        """
        for argument, given in (("copy_fn", copy_fn), ("delete_fn", delete_fn)):
            if given is not None and not isinstance(given, bool):
                function_of(given, f"{cls.__name__}.Create_keyval", argument)
        number = next(_numbers)
        _keyvals[number] = _Keyval(copy_fn, delete_fn)
        return number

    @classmethod
    def Free_keyval(cls, keyval: int) -> int:
        """Give a key up; attributes that have it stay until their objects go."""
        cls._key(keyval, "Free_keyval").freed = True
        return INTEGERS["KEYVAL_INVALID"]

    def Get_attr(self, keyval: int) -> Any:
        """Return the attribute of a key, None where there is none."""
        integer(keyval, f"{type(self).__name__}.Get_attr", "keyval")
        found = self._predefined_attribute(keyval)
        if found is not NotImplemented:
            return found
        self._key(keyval, "Get_attr")
        return self._attributes.get(keyval)

    def Set_attr(self, keyval: int, attrval: Any) -> None:
        """Set the attribute of a key; one that is there already goes."""
        self._key(keyval, "Set_attr")
        if keyval in self._attributes:
            self.Delete_attr(keyval)
        self._attributes[keyval] = attrval

    def Delete_attr(self, keyval: int) -> None:
        """Remove the attribute of a key, if there is one."""
        key = self._key(keyval, "Delete_attr")
        if keyval in self._attributes:
            value = self._attributes.pop(keyval)
            if key.delete_fn is not None:
                key.delete_fn(self, keyval, value)

    def _predefined_attribute(self, keyval: int) -> Any:
        """Return an attribute that MPI sets; NotImplemented for others."""
        return NotImplemented

    @classmethod
    def _key(cls, keyval: int, method: str) -> _Keyval:
        key = _keyvals.get(integer(keyval, f"{cls.__name__}.{method}", "keyval"))
        if key is None or key.freed:
            raise error(
                "KEYVAL", f"{cls.__name__}.{method}: argument 'keyval' is {keyval!r}, which is no key of attributes."
            )
        return key

    def _copy_attributes(self, source: Attributes) -> None:
        for keyval, value in source._attributes.items():
            copy = _keyvals[keyval].copy_fn
            if copy is None or copy is False:
                continue
            copied = value if copy is True else copy(source, keyval, value)
            if copied is not NotImplemented:
                self._attributes[keyval] = copied

    def _drop_attributes(self) -> None:
        for keyval in reversed(list(self._attributes)):
            key, value = _keyvals[keyval], self._attributes.pop(keyval)
            if key.delete_fn is not None:
                key.delete_fn(self, keyval, value)
