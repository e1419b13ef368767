"""Exchanges, collectives, ghost cells and particles of device arrays, staged and by an MPI that takes device memory.

On one process in ordinary runs. Under ``mpiexec`` with ``CUNUMPY_TEST_MPI=1`` on real ranks: device memory of the
stand-in for CuPy is memory of the host, so that every MPI library is CUDA-aware there.
"""

from __future__ import annotations

import cupy
import landau_damping as landau
import numpy as np
import pytest

import cunumpy as xp
import mpi_programs
from cunumpy.errors import CommunicationError, MixedBackendError
from mpi_under_test import MPI, REAL

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
LEFT, RIGHT = (RANK - 1) % SIZE, (RANK + 1) % SIZE


@pytest.fixture(autouse=True, params=[False, True], ids=["staged", "CUDA-aware"])
def aware(request, monkeypatch):
    if REAL:  # mpi4py asks for DLPack first, which the stand-in refuses to make of memory of the host
        monkeypatch.delattr(cupy.ndarray, "__dlpack__")
    with xp.use_backend("cupy"):
        xp.mpi.set_mpi_cuda_aware(request.param)
        yield request.param
        xp.mpi.set_mpi_cuda_aware(None)


def on_host(array):
    assert isinstance(array, cupy.ndarray)
    return array.get()


def numbers(rank, *shape):
    return cupy.asarray(1000.0 * rank + np.arange(float(np.prod(shape))).reshape(shape))


def kinds(counter):
    return {event.kind for event in counter.events}


def test_the_way_is_the_one_that_was_set(aware):
    with xp.profiling.count_transfers() as counter:
        xp.mpi.bcast(WORLD, numbers(0, 3) if RANK == 0 else cupy.zeros(3))
    expected = {"sync"} if aware else {"sync", "to_host" if RANK == 0 else "to_device"}
    assert kinds(counter) == expected


def test_probe_finds_device_memory():
    comm = WORLD.Dup()  # which keeps the answer
    assert xp.mpi.mpi_is_cuda_aware(comm)
    report = xp.mpi.cuda_aware_report(comm)
    assert (report.arrives, report.failed) == (True, None)
    comm.Free()


def test_messages_with_strides():
    field = cupy.full((3, 4), float(RANK))
    arguments = {
        "sends": [(field[:, 1], LEFT, 0), (field[:, -2], RIGHT, 1)],
        "receives": [(field[:, -1], RIGHT, 0), (field[:, 0], LEFT, 1)],
    }
    xp.mpi.exchange(WORLD, **arguments, check=True)
    expected = np.array([LEFT, RANK, RANK, RIGHT]) * np.ones((3, 1))
    np.testing.assert_array_equal(on_host(field), expected)
    with xp.mpi.PersistentExchange(WORLD, **arguments) as halo:
        for step in range(3):
            field[:, 1:3] = 10.0 * step + RANK
            halo()
            np.testing.assert_array_equal(on_host(field), 10 * step + expected)


def test_mixed_memory_in_one_exchange():
    sent, received = (cupy.full(3, float(RANK)), np.zeros(3)) if RANK % 2 else (np.full(3, float(RANK)), cupy.zeros(3))
    xp.mpi.exchange(WORLD, sends=[(sent, RIGHT, 0)], receives=[(received, LEFT, 0)], check=True)
    assert xp.to_numpy(received).tolist() == 3 * [float(LEFT)]


def test_collectives():
    rows = numbers(RANK, RANK + 1, 4)[:, ::2]
    everybody = np.concatenate([numbers(rank, rank + 1, 4).get()[:, ::2] for rank in range(SIZE)])
    np.testing.assert_array_equal(on_host(xp.mpi.allgather(WORLD, rows)), everybody)
    gathered = xp.mpi.gather(WORLD, rows)
    if RANK == 0:
        np.testing.assert_array_equal(on_host(gathered), everybody)
    else:
        assert gathered is None
    parts = xp.mpi.alltoall(WORLD, numbers(RANK, 2 * SIZE, 3))
    expected = [numbers(rank, 2 * SIZE, 3).get()[2 * RANK : 2 * RANK + 2] for rank in range(SIZE)]
    np.testing.assert_array_equal(on_host(parts), np.concatenate(expected))
    total = sum(numbers(rank, 5).get() for rank in range(SIZE))
    np.testing.assert_array_equal(on_host(xp.mpi.allreduce(WORLD, numbers(RANK, 5))), total)
    field = numbers(RANK, 10)[::2]
    assert xp.mpi.allreduce(WORLD, field, "max", out=field) is field
    np.testing.assert_array_equal(on_host(field), numbers(SIZE - 1, 10).get()[::2])
    scalar = xp.mpi.allreduce(WORLD, cupy.ones(3).sum(), check=True)
    assert on_host(scalar) == 3 * SIZE
    with pytest.raises(MixedBackendError):
        xp.mpi.allreduce(WORLD, field, out=np.zeros(5))


def test_one_rank_copies_nothing():
    if SIZE == 1:
        with xp.profiling.forbid_transfers():
            xp.mpi.allreduce(WORLD, cupy.ones(3))


@pytest.mark.parametrize("way", mpi_programs.WAYS)
def test_diffusion_as_on_one_rank_of_the_host(way):
    with xp.use_backend("numpy"):
        expected = mpi_programs.diffusion(MPI.COMM_SELF, MPI, "exchange")
    np.testing.assert_allclose(mpi_programs.diffusion(WORLD, MPI, way), expected, rtol=1e-14)


def test_flight_of_particles_as_on_one_rank_of_the_host():
    with xp.use_backend("numpy"):
        expected = mpi_programs.flight(MPI.COMM_SELF)
    ids, places, numbers = mpi_programs.flight(WORLD)
    np.testing.assert_array_equal(ids, expected[0])
    np.testing.assert_allclose(places, expected[1], rtol=1e-14)
    assert numbers == expected[2]


@pytest.mark.parametrize("way", ["exchange", "checked", "persistent"])
def test_messages_of_every_kind(way):
    """Two of three arrays are on the device, and the others on the host."""
    for seed in range(6):
        messages = mpi_programs.messages_among(SIZE, seed, ["f8", "f8", "f4", "i4", "c16", "u1"])
        mpi_programs.check_messages(WORLD, MPI, messages, way, lambda a, number: cupy.asarray(a) if number % 3 else a)


def test_ghost_cells():
    grid = WORLD.Create_cart([SIZE], [True])
    block = cupy.full((5, 5), -1.0)
    block[1:-1, 1:-1] = grid.rank
    xp.mpi.exchange_ghosts(grid, block, 1, axes=[1])
    expected = np.full((5, 5), -1.0)
    expected[1:-1] = [(grid.rank - 1) % SIZE, *3 * [grid.rank], (grid.rank + 1) % SIZE]
    np.testing.assert_array_equal(on_host(block), expected)
    grid.Free()


def test_particles():
    positions, ids = numbers(RANK, 6, 3), cupy.arange(6) + 100 * RANK
    destination = cupy.asarray((RANK + np.arange(6)) % SIZE)
    (positions, ids), counts = xp.mpi.migrate(WORLD, [positions, ids], destination)
    expected = [100 * rank + k for rank in range(SIZE) for k in range(6) if (rank + k) % SIZE == RANK]
    assert on_host(ids).tolist() == expected
    assert counts.sum() == len(expected) == len(positions)
    np.testing.assert_array_equal(on_host(positions)[:, 0], [1000 * (i // 100) + 3 * (i % 100) for i in expected])


def test_it_must_be_known_whether_mpi_takes_device_memory():
    xp.mpi.set_mpi_cuda_aware(None)
    array = cupy.ones(SIZE)
    for call in (
        lambda: xp.mpi.bcast(WORLD, array),
        lambda: xp.mpi.allreduce(WORLD, array),
        lambda: xp.mpi.gather(WORLD, array),
        lambda: xp.mpi.allgather(WORLD, array),
        lambda: xp.mpi.alltoall(WORLD, array),
        lambda: xp.mpi.PersistentExchange(WORLD, sends=[(array, RIGHT, 0)]),
    ):
        with pytest.raises(CommunicationError, match="is a device array, and it is not known whether the MPI library"):
            call()


def test_landau_damping():
    setup = landau.Setup(markers=2003, steps=15, cells=32, loading="random", sort_every=5)
    with xp.use_backend("numpy"):
        expected = landau.simulate(setup)
    history = landau.simulate(setup, None, WORLD)
    np.testing.assert_allclose(history.sine, expected.sine, atol=1e-9 * np.abs(expected.sine).max())
    np.testing.assert_allclose(history.energy, expected.energy, rtol=1e-7)
