"""How a datatype was made: by which function, its combiner, and with which arguments."""

from __future__ import annotations

from typing import Any

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "DUP": (),
    "CONTIGUOUS": ("count",),
    "VECTOR": ("count", "blocklength", "stride"),
    "HVECTOR": ("count", "blocklength", "stride"),
    "INDEXED": ("blocklengths", "displacements"),
    "HINDEXED": ("blocklengths", "displacements"),
    "INDEXED_BLOCK": ("blocklength", "displacements"),
    "HINDEXED_BLOCK": ("blocklength", "displacements"),
    "SUBARRAY": ("sizes", "subsizes", "starts", "order"),
    "DARRAY": ("size", "rank", "gsizes", "distribs", "dargs", "psizes", "order"),
    "RESIZED": ("lb", "extent"),
}
"""Names of the arguments after the datatype that another one was made from."""


def contents(combiner: str, arguments: tuple[Any, ...]) -> tuple[list[int], list[int], list[int], list[Any]]:
    """Return the integers, addresses, counts and datatypes among the arguments, in the order of the standard."""
    base, *rest = arguments
    if combiner == "STRUCT":
        lengths, displacements, types = arguments
        return [len(lengths), *lengths], list(displacements), [], list(types)
    if combiner == "DUP":
        return [], [], [], [base]
    if combiner == "RESIZED":
        return [], list(rest), [], [base]
    if combiner == "HVECTOR":
        return list(rest[:2]), [rest[2]], [], [base]
    if combiner == "HINDEXED":
        return [len(rest[0]), *rest[0]], list(rest[1]), [], [base]
    if combiner == "INDEXED":
        return [len(rest[0]), *rest[0], *rest[1]], [], [], [base]
    if combiner == "INDEXED_BLOCK":
        return [len(rest[1]), rest[0], *rest[1]], [], [], [base]
    if combiner == "HINDEXED_BLOCK":
        return [len(rest[1]), rest[0]], list(rest[1]), [], [base]
    if combiner == "SUBARRAY":
        sizes, subsizes, starts, order = rest
        return [len(sizes), *sizes, *subsizes, *starts, order], [], [], [base]
    if combiner == "DARRAY":
        size, rank, gsizes, distribs, dargs, psizes, order = rest
        return [size, rank, len(gsizes), *gsizes, *distribs, *dargs, *psizes, order], [], [], [base]
    return list(rest), [], [], [base]
