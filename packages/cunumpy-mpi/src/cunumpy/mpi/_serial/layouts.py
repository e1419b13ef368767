"""Layouts of datatypes: runs of bytes in memory, and the elements that they are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from cunumpy.mpi._serial.constants import INTEGERS
from cunumpy.mpi._serial.exceptions import error

# Kinds: "i" integers, truth values and characters, "f" floats; complex numbers are two floats. "*" fits everything.
Element = tuple[str, int]
Signature = tuple[tuple[Element, int], ...]


def blocks(starts: np.ndarray, length: int, extent: int) -> np.ndarray:
    """Return where items begin that follow each other in blocks of one length."""
    items = np.arange(length, dtype=np.int64) * extent
    return (starts[:, None] + items[None, :]).ravel()


def many_blocks(starts: np.ndarray, lengths: np.ndarray, extent: int) -> np.ndarray:
    """Return where items begin that follow each other in blocks of several lengths."""
    first = np.cumsum(lengths) - lengths
    items = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(first, lengths)
    begins: np.ndarray = np.repeat(starts, lengths) + items * extent
    return begins


def strides(sizes: list[int], order: int, extent: int) -> list[int]:
    strides = [extent] * len(sizes)
    for axis in range(len(sizes) - 2, -1, -1) if order == INTEGERS["ORDER_C"] else range(1, len(sizes)):
        neighbour = axis + 1 if order == INTEGERS["ORDER_C"] else axis - 1
        strides[axis] = strides[neighbour] * sizes[neighbour]
    return strides


def outer(indices: list[np.ndarray], strides: list[int], order: int) -> np.ndarray:
    """Return the first bytes of the items of a block, in the order in which they are in memory."""
    starts = np.zeros(1, np.int64)
    pairs = list(zip(indices, strides, strict=True))
    for index, stride in pairs if order == INTEGERS["ORDER_C"] else reversed(pairs):
        starts = (starts[:, None] + (np.asarray(index, np.int64) * stride)[None, :]).ravel()
    return starts


def distributed(n: int, kind: int, block: int, ranks: int, coordinate: int, function: str) -> np.ndarray:
    """Return the indices along one axis that belong to a rank."""
    default = INTEGERS["DISTRIBUTE_DFLT_DARG"]
    if kind == INTEGERS["DISTRIBUTE_NONE"]:
        if ranks != 1:
            raise error("ARG", f"{function}: an axis with DISTRIBUTE_NONE must have 1 in 'psizes', got {ranks}.")
        return np.arange(n)
    if kind == INTEGERS["DISTRIBUTE_BLOCK"]:
        size = -(-n // ranks) if block == default else block
        if size < 1 or size * ranks < n:
            raise error("ARG", f"{function}: {ranks} blocks of {block} do not hold {n} items.")
        return np.arange(coordinate * size, min((coordinate + 1) * size, n))
    size = 1 if block == default else block
    if kind != INTEGERS["DISTRIBUTE_CYCLIC"] or size < 1:
        raise error("ARG", f"{function}: 'distribs' holds {kind} with {block} in 'dargs'.")
    index = np.arange(n)
    chosen: np.ndarray = index[(index // size) % ranks == coordinate]
    return chosen


def merged(offsets: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join runs that follow each other in memory, and drop empty ones."""
    if len(offsets) and not lengths.all():
        offsets, lengths = offsets[lengths > 0], lengths[lengths > 0]
    if len(offsets) < 2:
        return offsets.astype(np.int64), lengths.astype(np.int64)
    begins = np.concatenate([[True], offsets[1:] != offsets[:-1] + lengths[:-1]])
    first = np.flatnonzero(begins)
    return offsets[first].astype(np.int64), np.add.reduceat(lengths, first).astype(np.int64)


def repeated(signature: Signature, count: int) -> Signature:
    if not count or not signature:
        return ()
    if len(signature) == 1:
        return ((signature[0][0], signature[0][1] * count),)
    return tuple(joined(itertools.chain.from_iterable(itertools.repeat(signature, count))))


def joined(runs: Any) -> list[tuple[Element, int]]:
    joined: list[tuple[Element, int]] = []
    for element, count in runs:
        if joined and joined[-1][0] == element:
            joined[-1] = (element, joined[-1][1] + count)
        else:
            joined.append((element, count))
    return joined


def signatures_agree(sent: Signature, count: int, expected: Signature, size: int) -> bool:
    """Tell whether `count` items that were sent may arrive as items of another signature, up to `size` bytes."""
    if sent == expected or not sent or not expected:
        return True
    if any(element[0] == "*" for element, _ in (*sent, *expected)):
        return True
    if len(sent) == len(expected) == 1:
        return sent[0][0] == expected[0][0]
    total = sum(element[1] * number for element, number in sent) * count
    capacity = sum(element[1] * number for element, number in expected)
    first = _cut(repeated(sent, count), total)
    second = _cut(repeated(expected, -(-total // capacity)), total)
    return first == second


def _cut(signature: Signature, size: int) -> Signature:
    """Return the beginning of a signature that has a number of bytes."""
    left, cut = size, []
    for element, count in signature:
        fitting = min(count, left // element[1])
        if fitting:
            cut.append((element, fitting))
        left -= fitting * element[1]
        if fitting < count:
            break
    return tuple(cut)
