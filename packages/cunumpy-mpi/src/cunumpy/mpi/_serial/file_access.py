"""Which bytes of a file a view shows, and how they are read and written.

A view begins at the byte `disp`, and consists of items of a datatype, `kind`, one after the other. What lies in the
gaps of the datatype is not seen.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cunumpy.mpi._serial.datatypes import Datatype

_SPAN = 2**24  # bytes of a file that are read at once where its view has many gaps


def place(disp: int, kind: Datatype, byte: int) -> int:
    """Return the place in the file of a byte of those that are seen."""
    item, rest = divmod(byte, kind._size)
    ends = np.cumsum(kind._lengths)
    run = int(np.searchsorted(ends, rest, side="right"))
    return disp + item * (kind._ub - kind._lb) + int(kind._offsets[run] + rest - (ends[run] - kind._lengths[run]))


def runs(disp: int, kind: Datatype, byte: int, size: int) -> list[tuple[int, int]]:
    """Return places and lengths in the file of bytes that are seen, from the `byte`-th on."""
    if not size:
        return []
    if kind._dense:
        return [(disp + int(kind._offsets[0]) + byte, size)]
    first, last = byte // kind._size, (byte + size - 1) // kind._size
    items = np.arange(first, last + 1, dtype=np.int64)
    places = (disp + items[:, None] * (kind._ub - kind._lb) + kind._offsets[None, :]).ravel()
    lengths = np.tile(kind._lengths, len(items))
    seen = first * kind._size + np.cumsum(lengths) - lengths
    ahead = np.maximum(byte - seen, 0)
    places, lengths, seen = places + ahead, lengths - ahead, seen + ahead
    lengths = np.minimum(lengths, byte + size - seen)
    keep = lengths > 0
    return list(zip(places[keep].tolist(), lengths[keep].tolist(), strict=True))


def _grouped(runs: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Put runs that are near each other together, so that one access of the system serves them."""
    groups: list[list[tuple[int, int]]] = []
    for place, length in runs:
        if groups and place + length - groups[-1][0][0] <= _SPAN:
            groups[-1].append((place, length))
        else:
            groups.append([(place, length)])
    return groups


def read(fd: int, runs: list[tuple[int, int]], content: np.ndarray) -> int:
    """Read runs of a file, one behind the other; return how many bytes there were before the end of the file."""
    found = 0
    for group in _grouped(runs):
        begin = group[0][0]
        span = _pread(fd, begin, group[-1][0] + group[-1][1] - begin)
        for place, length in group:
            piece = span[place - begin : place - begin + length]
            content[found : found + len(piece)] = np.frombuffer(piece, np.uint8)
            found += len(piece)
            if len(piece) < length:
                return found
    return found


def write(fd: int, runs: list[tuple[int, int]], content: np.ndarray) -> None:
    """Write runs of a file, one behind the other."""
    done = 0
    for group in _grouped(runs):
        begin, end = group[0][0], group[-1][0] + group[-1][1]
        if len(group) == 1:
            _pwrite(fd, begin, content[done : done + group[0][1]].data)
            done += group[0][1]
            continue
        span = bytearray(end - begin)
        there = _pread(fd, begin, end - begin)
        span[: len(there)] = there
        for place, length in group:
            span[place - begin : place - begin + length] = content[done : done + length].data
            done += length
        _pwrite(fd, begin, memoryview(span))


def _pread(fd: int, place: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.pread(fd, size, place)
        if not piece:
            break
        pieces.append(piece)
        place, size = place + len(piece), size - len(piece)
    return b"".join(pieces)


def _pwrite(fd: int, place: int, content: memoryview) -> None:
    while len(content):
        written = os.pwrite(fd, content, place)
        place, content = place + written, content[written:]
