"""Hints to MPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cunumpy.mpi._serial.checks import integer, sequence, text, wrong_type
from cunumpy.mpi._serial.constants import INTEGERS, real_mpi
from cunumpy.mpi._serial.exceptions import error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self


class Info:
    """Hints to MPI: keys with values, both text. The stand-in keeps them, and heeds none."""

    def __init__(self, info: Info | None = None) -> None:
        self._entries: dict[str, str] | None = None if info is None else info._entries

    @classmethod
    def _make(cls, entries: dict[str, str] | None) -> Self:
        made = cls.__new__(cls)
        made._entries = entries
        return made

    @classmethod
    def Create(cls, items: Any = None) -> Self:
        """Make an object with the given items."""
        made = cls._make({})
        if items is not None:
            made._update(items, "Info.Create")
        return made

    @classmethod
    def Create_env(cls, args: Sequence[str] | None = None) -> Self:
        """Make an object with what is known of the run: nothing."""
        return cls._make({})

    def __bool__(self) -> bool:
        return self._entries is not None

    def __eq__(self, other: object) -> bool:
        return self._entries is other._entries if isinstance(other, Info) else NotImplemented

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SerialMPI.Info({self._entries})" if self else "SerialMPI.INFO_NULL"

    def __reduce__(self) -> tuple[Any, ...]:
        return Info._make, (self._entries,)

    def _known(self, method: str) -> dict[str, str]:
        if self._entries is None:
            raise error("INFO", f"Info.{method}: the object is null; was it freed?")
        return self._entries

    def Free(self) -> None:
        """Give the object up: it becomes null."""
        self._known("Free")
        self._entries = None

    def free(self) -> None:
        """Give the object up, unless it is null."""
        self._entries = None

    def Dup(self) -> Self:
        """Return a copy."""
        return self._make(dict(self._known("Dup")))

    copy = Dup

    def Get(self, key: str) -> str | None:
        """Return the value of a key, None where there is none."""
        return self._known("Get").get(self._checked(key, "Get"))

    def Set(self, key: str, value: str) -> None:
        """Set the value of a key."""
        entries = self._known("Set")
        text(value, "Info.Set", "value")
        if len(value) > INTEGERS["MAX_INFO_VAL"]:
            raise error("INFO_VALUE", f"Info.Set: argument 'value' has {len(value)} characters; the most are 1023.")
        entries[self._checked(key, "Set")] = value

    def Delete(self, key: str) -> None:
        """Remove a key."""
        if self._known("Delete").pop(self._checked(key, "Delete"), None) is None:
            raise error("INFO_NOKEY", f"Info.Delete: there is no key {key!r}.")

    def Get_nkeys(self) -> int:
        """Return how many keys there are."""
        return len(self._known("Get_nkeys"))

    def Get_nthkey(self, n: int) -> str:
        """Return a key by its number."""
        keys = list(self._known("Get_nthkey"))
        number = integer(n, "Info.Get_nthkey", "n")
        if not 0 <= number < len(keys):
            raise error("ARG", f"Info.Get_nthkey: argument 'n' is {number}; there are {len(keys)} keys.")
        return keys[number]

    @staticmethod
    def _checked(key: Any, method: str) -> str:
        name = text(key, f"Info.{method}", "key")
        if not 0 < len(name) <= INTEGERS["MAX_INFO_KEY"]:
            raise error("INFO_KEY", f"Info.{method}: argument 'key' has {len(name)} characters; it must have 1 to 254.")
        return name

    # As a dictionary; the null object is an empty one.

    def __len__(self) -> int:
        return len(self._entries or ())

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries or ()))

    def __contains__(self, key: object) -> bool:
        return key in (self._entries or ())

    def __getitem__(self, key: str) -> str:
        return self._known("__getitem__")[key]

    def __setitem__(self, key: str, value: str) -> None:
        self.Set(key, value)

    def __delitem__(self, key: str) -> None:
        del self._known("__delitem__")[key]

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the value of a key, or the default."""
        return (self._entries or {}).get(text(key, "Info.get", "key"), default)

    def keys(self) -> list[str]:
        """Return the keys."""
        return list(self._entries or ())

    def values(self) -> list[str]:
        """Return the values."""
        return list((self._entries or {}).values())

    def items(self) -> list[tuple[str, str]]:
        """Return pairs of keys and values."""
        return list((self._entries or {}).items())

    def update(self, items: Any = (), **more: str) -> None:
        """Set several keys."""
        self._update(items, "Info.update")
        for key, value in more.items():
            self.Set(key, value)

    def _update(self, items: Any, function: str) -> None:
        expected = "a mapping of text to text, or a list of pairs"
        if hasattr(items, "items"):
            items = items.items()
        pairs = sequence(items, function, "items", "pairs of text")
        for pair in pairs:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(each, str) for each in pair):
                raise wrong_type(function, "items", expected, pairs)
        for key, value in pairs:
            self.Set(key, value)

    def pop(self, key: str, *default: Any) -> Any:
        """Remove a key, and return its value."""
        return self._known("pop").pop(text(key, "Info.pop", "key"), *default)

    def popitem(self) -> tuple[str, str]:
        """Remove the last key, and return it with its value."""
        return self._known("popitem").popitem()

    def clear(self) -> None:
        """Remove all keys."""
        self._known("clear").clear()


def entries_of(info: Any, function: str) -> dict[str, str]:
    """Return a copy of the hints that were given as an argument, ours or mpi4py's."""
    real = real_mpi()
    if not isinstance(info, Info) and (real is None or not isinstance(info, real.Info)):
        raise wrong_type(function, "info", "an MPI.Info, such as MPI.Info.Create({'key': 'value'})", info)
    return dict(info.items())


INFO_NULL = Info._make(None)
INFO_ENV = Info._make({})
