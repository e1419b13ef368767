"""Groups of processes, hints, and error handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cunumpy.errors import ArgumentTypeError
from cunumpy.mpi._serial.constants import INTEGERS, PROC_NULL, UNDEFINED, integer, own
from cunumpy.mpi._serial.exceptions import error, no_pickle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Self


class Group:
    """A group of processes: this one, or none."""

    def __init__(self, group: Group | None = None) -> None:
        self._size: int | None = None if group is None else group._size  # None: the null group

    @classmethod
    def _make(cls, size: int | None) -> Group:
        made = cls.__new__(cls)
        made._size = size
        return made

    def __bool__(self) -> bool:
        return self._size is not None

    def __eq__(self, other: object) -> bool:
        return self._size == other._size if isinstance(other, Group) else NotImplemented

    __hash__: ClassVar[None]  # type: ignore[assignment]
    __reduce__ = no_pickle

    def __repr__(self) -> str:
        return "SerialMPI.GROUP_NULL" if self._size is None else f"SerialMPI.Group(size={self._size})"

    def _ranks(self, function: str) -> int:
        if self._size is None:
            raise error("GROUP", f"Group.{function}: the group is null; was it freed?")
        return self._size

    def Get_size(self) -> int:
        """Return how many processes it has."""
        return self._ranks("Get_size")

    def Get_rank(self) -> int:
        """Return the rank of this process, UNDEFINED if it is not in the group."""
        return 0 if self._ranks("Get_rank") else UNDEFINED

    size: property = property(Get_size)
    rank: property = property(Get_rank)

    def Dup(self) -> Group:
        """Return a copy."""
        return Group._make(self._ranks("Dup"))

    def Free(self) -> None:
        """Give the group up: it becomes the null group."""
        self._ranks("Free")
        self._size = None

    def free(self) -> None:
        """Give the group up, unless it is null."""
        self._size = None

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Group | None = None) -> list[int]:
        """Return the ranks that processes of this group have in another one."""
        size = self._ranks("Translate_ranks")
        other = self if group is None else group
        there = other._ranks("Translate_ranks")
        translated = []
        for value in range(size) if ranks is None else ranks:
            rank = own(integer(value, "Group.Translate_ranks", "ranks"), "PROC_NULL")
            if rank != PROC_NULL and not 0 <= rank < size:
                raise error("RANK", f"Group.Translate_ranks: argument 'ranks' holds {rank}; the group has {size}.")
            translated.append(rank if rank == PROC_NULL or there else UNDEFINED)
        return translated

    @classmethod
    def Compare(cls, group1: Group, group2: Group) -> int:
        """Return IDENT for the same processes, else UNEQUAL."""
        same = group1._ranks("Compare") == group2._ranks("Compare")
        return INTEGERS["IDENT" if same else "UNEQUAL"]

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """Return the group of processes that are in one of two."""
        return Group._make(max(group1._ranks("Union"), group2._ranks("Union")))

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """Return the group of processes that are in both of two."""
        return Group._make(min(group1._ranks("Intersection"), group2._ranks("Intersection")))

    Intersect = Intersection

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """Return the group of processes that are in the first and not in the second."""
        first, second = group1._ranks("Difference"), group2._ranks("Difference")
        return Group._make(first if not second else 0)

    def _chosen(self, ranks: Iterable[Any], method: str) -> int:
        size = self._ranks(method)
        numbers = [integer(value, f"Group.{method}", "ranks") for value in ranks]
        for number in numbers:
            if not 0 <= number < size:
                raise error("RANK", f"Group.{method}: argument 'ranks' holds {number}; the group has {size}.")
        if len(set(numbers)) < len(numbers):
            raise error("RANK", f"Group.{method}: argument 'ranks' holds a rank twice: {numbers}.")
        return len(numbers)

    def Incl(self, ranks: Sequence[int]) -> Group:
        """Return the group of the given ranks."""
        return Group._make(self._chosen(ranks, "Incl"))

    def Excl(self, ranks: Sequence[int]) -> Group:
        """Return the group of all other ranks."""
        return Group._make(self._ranks("Excl") - self._chosen(ranks, "Excl"))

    def _spread(self, ranks: Sequence[tuple[int, int, int]], method: str) -> list[int]:
        spread: list[int] = []
        for first, last, stride in ranks:
            if not stride:
                raise error("ARG", f"Group.{method}: argument 'ranks' holds the stride 0.")
            spread += range(first, last + (1 if stride > 0 else -1), stride)
        return spread

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Return the group of ranges (first, last, stride) of ranks."""
        return self.Incl(self._spread(ranks, "Range_incl"))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Return the group of the ranks outside of ranges (first, last, stride)."""
        return self.Excl(self._spread(ranks, "Range_excl"))


GROUP_NULL = Group._make(None)
GROUP_EMPTY = Group._make(0)


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
            made.update(items)
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
        if not isinstance(value, str):
            raise ArgumentTypeError(f"Info.Set: argument 'value' must be text, got {value!r}.")
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
        if not 0 <= n < len(keys):
            raise error("ARG", f"Info.Get_nthkey: argument 'n' is {n}; there are {len(keys)} keys.")
        return keys[n]

    @staticmethod
    def _checked(key: Any, method: str) -> str:
        if not isinstance(key, str):
            raise ArgumentTypeError(f"Info.{method}: argument 'key' must be text, got {key!r}.")
        if not 0 < len(key) <= INTEGERS["MAX_INFO_KEY"]:
            raise error("INFO_KEY", f"Info.{method}: argument 'key' has {len(key)} characters; it must have 1 to 254.")
        return key

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
        return (self._entries or {}).get(key, default)

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
        pairs = items.items() if hasattr(items, "items") else items
        for key, value in [*pairs, *more.items()]:
            self.Set(key, value)

    def pop(self, key: str, *default: Any) -> Any:
        """Remove a key, and return its value."""
        return self._known("pop").pop(key, *default)

    def popitem(self) -> tuple[str, str]:
        """Remove the last key, and return it with its value."""
        return self._known("popitem").popitem()

    def clear(self) -> None:
        """Remove all keys."""
        self._known("clear").clear()


INFO_NULL = Info._make(None)
INFO_ENV = Info._make({})


class Errhandler:
    """What happens at an error. In the stand-in, as in mpi4py by default, an exception is raised."""

    def __init__(self, errhandler: Errhandler | None = None) -> None:
        source = errhandler if errhandler is not None else ERRHANDLER_NULL
        self._name, self._function = source._name, source._function

    @classmethod
    def _make(cls, name: str, function: Callable[[Any, int], None] | None = None) -> Errhandler:
        made = cls.__new__(cls)
        made._name, made._function = name, function
        return made

    _name: str
    _function: Callable[[Any, int], None] | None

    def __bool__(self) -> bool:
        return self._name != "ERRHANDLER_NULL"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Errhandler):
            return NotImplemented
        return self._name == other._name and self._function is other._function

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SerialMPI.{self._name or 'Errhandler'}"

    def Free(self) -> None:
        """Give the handler up: it becomes the null one."""
        self._name, self._function = "ERRHANDLER_NULL", None

    def free(self) -> None:
        """Give the handler up, unless it is predefined."""
        if not self._name:
            self.Free()


ERRHANDLER_NULL = Errhandler._make("ERRHANDLER_NULL")
ERRORS_RETURN = Errhandler._make("ERRORS_RETURN")
ERRORS_ABORT = Errhandler._make("ERRORS_ABORT")
ERRORS_ARE_FATAL = Errhandler._make("ERRORS_ARE_FATAL")


class Errors:
    """The error handler of a communicator, a window or a file."""

    _handler: Errhandler = ERRORS_RETURN

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Callable[[Any, int], None]) -> Errhandler:
        """Make a handler of a function that gets the object and the error code."""
        return Errhandler._make("", errhandler_fn)

    def Get_errhandler(self) -> Errhandler:
        """Return the handler."""
        return Errhandler(self._handler)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Set the handler. Errors raise exceptions with every one of them."""
        if not isinstance(errhandler, Errhandler) or not errhandler:
            raise error("ERRHANDLER", f"Set_errhandler: {errhandler!r} is no error handler.")
        self._handler = Errhandler(errhandler)

    def Call_errhandler(self, errorcode: int) -> None:
        """Call the handler, if it was made by the program."""
        if self._handler._function is not None:
            self._handler._function(self, errorcode)
