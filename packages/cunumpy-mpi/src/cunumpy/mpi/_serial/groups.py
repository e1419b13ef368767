"""Groups of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cunumpy.mpi._serial.checks import integers, sequence, wrong_type
from cunumpy.mpi._serial.constants import INTEGERS, PROC_NULL, UNDEFINED, own
from cunumpy.mpi._serial.exceptions import error, no_pickle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
        there = size if group is None else members(group, "Group.Translate_ranks")
        translated = []
        for value in range(size) if ranks is None else integers(ranks, "Group.Translate_ranks", "ranks"):
            rank = own(value, "PROC_NULL")
            if rank != PROC_NULL and not 0 <= rank < size:
                raise error("RANK", f"Group.Translate_ranks: argument 'ranks' holds {rank}; the group has {size}.")
            translated.append(rank if rank == PROC_NULL or there else UNDEFINED)
        return translated

    @classmethod
    def Compare(cls, group1: Group, group2: Group) -> int:
        """Return IDENT for the same processes, else UNEQUAL."""
        first, second = _two(group1, group2, "Compare")
        return INTEGERS["IDENT" if first == second else "UNEQUAL"]

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """Return the group of processes that are in one of two."""
        return Group._make(max(_two(group1, group2, "Union")))

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """Return the group of processes that are in both of two."""
        return Group._make(min(_two(group1, group2, "Intersection")))

    @classmethod
    def Intersect(cls, group1: Group, group2: Group) -> Group:
        """Do `Intersection`."""
        return Group._make(min(_two(group1, group2, "Intersect")))

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """Return the group of processes that are in the first and not in the second."""
        first, second = _two(group1, group2, "Difference")
        return Group._make(first if not second else 0)

    def _chosen(self, ranks: Iterable[Any], method: str) -> int:
        size = self._ranks(method)
        numbers = integers(ranks, f"Group.{method}", "ranks")
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
        for given in sequence(ranks, f"Group.{method}", "ranks", "ranges (first, last, stride)"):
            if not isinstance(given, (list, tuple)) or len(given) != 3:
                raise wrong_type(f"Group.{method}", "ranks", "a list of ranges (first, last, stride)", ranks)
            first, last, stride = integers(given, f"Group.{method}", "ranks")
            for rank in (first, last):
                if not 0 <= rank < self._ranks(method):
                    raise error("RANK", f"Group.{method}: argument 'ranks' holds {rank}; the group has {self._size}.")
            if not stride:
                raise error("ARG", f"Group.{method}: argument 'ranks' holds the stride 0.")
            spread += range(first, last + (1 if stride > 0 else -1), stride)
        return spread

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Return the group of ranges (first, last, stride) of ranks."""
        return Group._make(self._chosen(self._spread(ranks, "Range_incl"), "Range_incl"))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Return the group of the ranks outside of ranges (first, last, stride)."""
        return Group._make(self._ranks("Range_excl") - self._chosen(self._spread(ranks, "Range_excl"), "Range_excl"))


def members(group: Any, function: str, argument: str = "group") -> int:
    """Return how many processes a group has that was given as an argument."""
    if not isinstance(group, Group):
        raise wrong_type(function, argument, "a group, such as comm.Get_group()", group)
    if group._size is None:
        raise error("GROUP", f"{function}: argument {argument!r} is the null group; was it freed?")
    return group._size


def _two(group1: Any, group2: Any, method: str) -> tuple[int, int]:
    return members(group1, f"Group.{method}", "group1"), members(group2, f"Group.{method}", "group2")


GROUP_NULL = Group._make(None)
GROUP_EMPTY = Group._make(0)
