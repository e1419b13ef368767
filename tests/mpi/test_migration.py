"""Particles that move between ranks, against all of them in one place."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from mpi_under_test import MPI

WORLD = MPI.COMM_WORLD


def particles(rank, n):
    """Return what the particles of a rank are, and where they go: the same on whichever rank it is asked for."""
    rng = np.random.default_rng(rank)
    positions = rng.random((n, 3))
    ids = 1000 * rank + np.arange(n)
    return positions, ids, rng.integers(-1, WORLD.size, n)


@pytest.mark.parametrize("n", [0, 1, 50])
def test_every_particle_arrives_once(n):
    numbers = [n * (rank % 2 + 1) for rank in range(WORLD.size)]
    positions, ids, destination = particles(WORLD.rank, numbers[WORLD.rank])
    (positions, ids), counts = xp.mpi.migrate(WORLD, [positions, ids], destination)
    everybody = [particles(rank, number) for rank, number in enumerate(numbers)]
    mine = [to == WORLD.rank for _, _, to in everybody]
    np.testing.assert_array_equal(
        positions, np.concatenate([p[m] for (p, _, _), m in zip(everybody, mine, strict=True)])
    )
    np.testing.assert_array_equal(ids, np.concatenate([i[m] for (_, i, _), m in zip(everybody, mine, strict=True)]))
    assert counts.tolist() == [int(m.sum()) for m in mine]
    assert positions.shape[1:] == (3,)


def test_nothing_changes_where_all_stay():
    positions = np.arange(6.0)[::2]
    (result,), counts = xp.mpi.migrate(WORLD, [positions], np.full(3, WORLD.rank))
    np.testing.assert_array_equal(result, positions)
    assert result is not positions
    assert counts[WORLD.rank] == counts.sum() == 3


def test_records():
    records = np.zeros(4, [("id", "i4"), ("x", "f8", 2)])
    records["id"] = WORLD.rank
    (result,), _ = xp.mpi.migrate(WORLD, [records], np.full(4, (WORLD.rank + 1) % WORLD.size))
    assert (result["id"] == (WORLD.rank - 1) % WORLD.size).all()


@pytest.mark.parametrize(
    ("arrays", "destination", "exception", "text"),
    [
        ([np.zeros(2)], np.array([0, 99]), ArgumentError, "'destination' holds ranks of"),
        ([np.zeros(3)], np.array([0, 0]), ArgumentError, "'arrays\\[0\\]' has 3 particles, and 'destination' has 2"),
        (
            [np.zeros(2), np.zeros(2, object)],
            np.array([0, 0]),
            ArgumentTypeError,
            "'arrays\\[1\\]' must be an array of numbers",
        ),
        ([np.zeros(2)], np.array([0.0, 0.0]), ArgumentTypeError, "'destination' must be an array of integers"),
        ([[1, 2]], np.array([0, 0]), ArgumentTypeError, "'arrays\\[0\\]' must be an array"),
    ],
)
def test_all_ranks_raise_where_one_is_at_fault(arrays, destination, exception, text):
    guilty = WORLD.size - 1
    if WORLD.rank == guilty:
        with pytest.raises(exception, match=text):
            xp.mpi.migrate(WORLD, arrays, destination)
    else:
        with pytest.raises(CommunicationError, match=f"the arguments on rank {guilty} are at fault; nothing was sent"):
            xp.mpi.migrate(WORLD, [np.zeros(2)], np.zeros(2, int))


def test_arrays_of_another_kind_are_noticed():
    arrays = [np.zeros(2, "f4" if WORLD.rank == 0 else "f8")]
    if WORLD.size == 1:
        xp.mpi.migrate(WORLD, arrays, np.zeros(2, int))
    else:
        with pytest.raises(CommunicationError, match="have other dtypes or shapes than those here"):
            xp.mpi.migrate(WORLD, arrays, np.zeros(2, int))
