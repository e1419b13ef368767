"""Programs for several ranks whose result does not depend on how many there are, and messages of every kind.

Run on one rank they are the reference for what they do on several. Arrays are those of the active backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import cunumpy as xp

# --- a field on a torus -----------------------------------------------------------------------------------------------

ROWS, COLUMNS, STEPS = 8, 16, 6
WAYS = ("exchange", "checked", "persistent", "overlapped", "ghosts")


def smooth(block: xp.Array) -> None:
    """Replace each cell that is not at the edge by a mean of it and its neighbours, added up in the same order."""
    sides = block[:-2, 1:-1] + block[2:, 1:-1] + block[1:-1, :-2] + block[1:-1, 2:]
    corners = block[:-2, :-2] + block[2:, 2:] + block[:-2, 2:] + block[2:, :-2]
    block[1:-1, 1:-1] = 0.25 * block[1:-1, 1:-1] + 0.125 * sides + 0.0625 * corners


def diffusion(comm: Any, package: Any, way: str) -> np.ndarray:
    """Return a field after some steps of diffusion on a torus, whole, on all ranks.

    `way` is how the ranks get the values at their neighbours' edges. Each of them has columns, or a block of the grid.
    """
    whole = np.random.default_rng(0).random((ROWS, COLUMNS))
    dims = package.Compute_dims(comm.size, 2) if way == "ghosts" else [1, comm.size]
    grid = comm.Create_cart(dims, [True, True])
    height, width = ROWS // dims[0], COLUMNS // dims[1]
    row, column = (c * n for c, n in zip(grid.Get_topo()[2], (height, width), strict=True))
    block = xp.zeros((height + 2, width + 2))
    block[1:-1, 1:-1] = xp.asarray(whole[row : row + height, column : column + width])
    for fill in _filling(grid, block, way):
        fill()
        smooth(block)
    parts = comm.allgather((row, column, xp.to_numpy(block)[1:-1, 1:-1].copy()))
    for row, column, part in parts:
        whole[row : row + height, column : column + width] = part
    grid.Free()
    return whole


def _filling(grid: Any, block: xp.Array, way: str) -> Iterator[Callable[[], None]]:
    """Give for each step what fills the ghost cells of the block."""
    if way == "ghosts":
        yield from [lambda: xp.mpi.exchange_ghosts(grid, block)] * STEPS
        return
    left, right = grid.Shift(1, 1)
    messages = {
        "sends": [(block[:, 1], left, 0), (block[:, -2], right, 1)],
        "receives": [(block[:, -1], right, 0), (block[:, 0], left, 1)],
    }

    def rows() -> None:  # all of which are here
        block[0], block[-1] = block[-2].copy(), block[1].copy()

    if way in ("exchange", "checked"):
        yield from [lambda: (rows(), xp.mpi.exchange(grid, **messages, check=way == "checked"))] * STEPS
        return
    with xp.mpi.PersistentExchange(grid, **messages) as halo:

        def overlapped() -> None:
            rows()
            halo.start()
            block.sum()
            halo.wait()

        yield from [overlapped if way == "overlapped" else lambda: (rows(), halo())] * STEPS


# --- particles in a box -----------------------------------------------------------------------------------------------


def flight(comm: Any) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return numbers and places of the particles that are left after some steps, and how many there were in each.

    Each rank has those of a part of the box, which is closed along the first axis, and open along the second.
    """
    particles = 200
    first, stop = (particles * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    ids = xp.arange(first, stop)
    places, speeds = _drawn(ids, 0), 0.2 * (_drawn(ids, 2) - 0.5)
    numbers = []
    for _ in range(8):
        places = places + speeds
        places[:, 0] %= 1.0
        to = (places[:, 0] * comm.size).astype(xp.int64)
        to[(places[:, 1] < 0) | (places[:, 1] >= 1)] = -1
        (ids, places, speeds), _ = xp.mpi.migrate(comm, [ids, places, speeds], to)
        numbers.append(int(xp.mpi.allreduce(comm, np.asarray(len(ids)))))
    found = [xp.to_numpy(xp.mpi.allgather(comm, each)) for each in (ids, places)]
    order = np.argsort(found[0])
    return found[0][order], found[1][order], numbers


def _drawn(ids: xp.Array, draw: int) -> xp.Array:
    """Return two random numbers for each particle, which are its own on whichever rank it is."""
    return xp.stack([xp.rng.philox_uniform(7, ids, draw), xp.rng.philox_uniform(7, ids, draw + 1)], axis=1)


# --- messages of every kind -------------------------------------------------------------------------------------------

# What is made for n elements, and the part of it that has them: whole arrays, columns, every other element, backwards,
# in the order of Fortran, a box in the middle.
LAYOUTS: dict[str, tuple[Callable[[int], tuple[int, ...]], Callable[[Any], Any]]] = {
    "whole": (lambda n: (n,), lambda a: a),
    "rows": (lambda n: (2, n // 2), lambda a: a),
    "turned": (lambda n: (2, n // 2), lambda a: a.T),
    "column": (lambda n: (n, 3), lambda a: a[:, 1]),
    "every other": (lambda n: (2 * n,), lambda a: a[::2]),
    "backwards": (lambda n: (n,), lambda a: a[::-1]),
    "middle": (lambda n: (4, n // 2 + 2), lambda a: a[1:-1, 1:-1]),
}


class Message(NamedTuple):
    """One of those that are exchanged at once: `length` elements into an array with `room` for them."""

    number: int
    source: int
    dest: int
    tag: int
    length: int
    room: int
    dtype: str
    layouts: tuple[str, str]

    def values(self, step: int) -> np.ndarray:
        """What is sent, in the order of the indices."""
        return ((np.arange(self.length) + 7 * self.number + step) % 100).astype(self.dtype)


def messages_among(size: int, seed: int, dtypes: list[str]) -> list[Message]:
    """Return messages that all ranks know."""
    rng = np.random.default_rng([seed, size])
    made = []
    for number in range(int(rng.integers(1, 5 * size))):
        length = 2 * int(rng.choice([0, 1, 5, 600, 40_000], p=[0.1, 0.2, 0.4, 0.2, 0.1]))
        made.append(
            Message(
                number,
                *map(int, rng.integers(0, size, 2)),
                tag=int(rng.integers(0, 3)),
                length=length,
                room=length + 2 * int(rng.choice([0, 0, 3])),
                dtype=str(rng.choice(dtypes)),
                layouts=tuple(map(str, rng.choice(list(LAYOUTS), 2))),
            )
        )
    return made


def check_messages(comm: Any, package: Any, messages: list[Message], way: str, place: Callable[..., Any]) -> None:
    """Exchange messages, and compare with what each has to have become.

    Parameters
    ----------
    comm, package : Any
        Communicator and its module.
    messages : list of Message
        The same on all ranks.
    way : {"exchange", "checked", "persistent"}
        How.
    place : callable
        ``place(array, number)`` puts an array of the host where it is to be.
    """
    outgoing, incoming = [], []
    for message in messages:
        if message.source == comm.rank:
            shape, part = LAYOUTS[message.layouts[0]]
            outgoing.append((message, part(place(np.zeros(shape(message.length), message.dtype), message.number))))
        if message.dest == comm.rank:
            shape, part = LAYOUTS[message.layouts[1]]
            whole = place(np.full(shape(message.room), 99, message.dtype), message.number + 1)
            incoming.append((message, whole, part(whole)))
    nobody = xp.full(3, 99.0)
    arguments = {
        "sends": [(array, message.dest, message.tag) for message, array in outgoing]
        + [(xp.ones(2), package.PROC_NULL, 0)],
        "receives": [(nobody, package.PROC_NULL, 0)]
        + [(array, message.source, message.tag) for message, _, array in incoming],
    }
    halo = xp.mpi.PersistentExchange(comm, **arguments) if way == "persistent" else None
    for step in range(3 if halo else 1):
        for message, array in outgoing:
            values = message.values(step).reshape(array.shape)
            array[...] = values if isinstance(array, np.ndarray) else xp.asarray(values)
        if halo is None:
            xp.mpi.exchange(comm, **arguments, check=way == "checked")
        else:
            halo()
        for message, whole, _ in incoming:
            expected = np.full(whole.shape, 99, message.dtype)
            part = LAYOUTS[message.layouts[1]][1](expected)
            there = np.full(part.size, 99, message.dtype)
            there[: message.length] = message.values(step)
            part[...] = there.reshape(part.shape)
            np.testing.assert_array_equal(xp.to_numpy(whole), expected, err_msg=str(message))
    assert xp.to_numpy(nobody).tolist() == [99.0] * 3
    if halo is not None:
        halo.close()
