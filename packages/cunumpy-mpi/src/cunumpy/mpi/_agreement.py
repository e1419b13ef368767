"""Whether what all ranks send and receive fits together, found out before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cunumpy import _gate
from cunumpy.errors import ArgumentError, CommunicationError, CuNumpyError

if TYPE_CHECKING:
    from cunumpy.mpi._exchange import Messages

_SHOWN = 10


class Entry(NamedTuple):
    """A message to send or to receive, in a form that means the same on all ranks."""

    name: str  # of the argument
    rank: int | None  # None for any
    tag: int | None
    size: int | None  # bytes; None for a buffer that only MPI can read
    dtype: str | None


def agree_on_messages(function: str, comm: Any, fault: Exception | None, messages: Messages | None) -> None:
    """Raise on all ranks if the arguments of one are at fault, or if their messages do not fit each other."""
    if getattr(comm, "is_inter", False) is True or not hasattr(comm, "allgather"):
        raise fault or ArgumentError(
            f"{function}: argument 'check' needs a communicator of one group, with mpi4py's methods, got "
            f"{_gate.describe(comm)}."
        )
    own = ([], []) if messages is None else _entries(messages)
    everybody = comm.allgather((None if fault is None else _told(fault), *own))
    if fault is not None:
        raise fault
    for rank, (text, _, _) in enumerate(everybody):
        if text is not None:
            raise CommunicationError(f"{function}: nothing was sent, because of rank {rank}: {text}")
    found = mismatches([sends for _, sends, _ in everybody], [receives for _, _, receives in everybody])
    if found:
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        lines = "\n  ".join([*found[:_SHOWN], *more])
        raise CommunicationError(f"{function}: the messages do not fit, and none was sent:\n  {lines}")


def mismatches(sends: list[list[Entry]], receives: list[list[Entry]]) -> list[str]:
    """Return what does not fit, in words.

    Messages between two ranks are matched as MPI does it, in order, among those of the same tag. Receives from any rank
    or of any tag take what is left then, in the order of ranks.
    """
    found: list[str] = []
    waiting = [list(entries) for entries in receives]
    left: list[tuple[int, Entry]] = []
    for wild in (False, True):
        sent = left if wild else [(rank, entry) for rank, entries in enumerate(sends) for entry in entries]
        left = []
        for sender, message in sent:
            assert message.rank is not None
            queue = waiting[message.rank]
            target = next((entry for entry in queue if _takes(entry, sender, message.tag, wild=wild)), None)
            if target is None:
                left.append((sender, message))
                continue
            queue.remove(target)
            found += _differences(sender, message, message.rank, target)
    found += [
        f"rank {sender} sends {message.name!r} to rank {message.rank} with tag {message.tag}, which does not receive it"
        for sender, message in left
    ]
    for rank, queue in enumerate(waiting):
        for entry in queue:
            source = "any rank" if entry.rank is None else f"rank {entry.rank}"
            tag = "any tag" if entry.tag is None else f"tag {entry.tag}"
            found.append(f"rank {rank} receives {entry.name!r} from {source} with {tag}, which does not send it")
    return found


def _told(fault: Exception) -> str:
    return str(fault) if isinstance(fault, CuNumpyError) else f"{type(fault).__name__}: {fault}"


def _entries(messages: Messages) -> tuple[list[Entry], list[Entry]]:
    package = messages.package
    nobody = getattr(package, "PROC_NULL", None)
    any_source, any_tag = getattr(package, "ANY_SOURCE", None), getattr(package, "ANY_TAG", None)
    incoming, outgoing = [], []
    for number, (buffer, (rank, tag)) in enumerate(zip(messages.buffers, messages.places, strict=True)):
        if rank == nobody:
            continue
        size = buffer.array.nbytes if buffer.is_array else None
        dtype = buffer.array.dtype.str if buffer.is_array else None
        if number < len(messages.targets):
            source = None if rank == any_source else rank
            incoming.append(Entry(f"receives[{number}]", source, None if tag == any_tag else tag, size, dtype))
        else:
            outgoing.append(Entry(f"sends[{number - len(messages.targets)}]", rank, tag, size, dtype))
    return outgoing, incoming


def _takes(entry: Entry, sender: int, tag: int | None, *, wild: bool) -> bool:
    """Tell whether a receive is for a message; those with wildcards only where they are asked for."""
    if not wild:
        return entry.rank == sender and entry.tag == tag
    return entry.rank in (None, sender) and entry.tag in (None, tag)


def _differences(sender: int, message: Entry, receiver: int, target: Entry) -> list[str]:
    sent, taken = f"rank {sender}'s {message.name!r}", f"rank {receiver}'s {target.name!r}"
    if message.size is None or target.size is None:
        return []
    if message.size > target.size:
        return [f"{sent} is longer than {taken}: {message.size} bytes, {target.size} bytes"]
    if message.dtype != target.dtype and "|u1" not in (message.dtype, target.dtype):  # bytes are anything
        return [f"{sent} is of another dtype than {taken}: {message.dtype}, {target.dtype}"]
    return []
