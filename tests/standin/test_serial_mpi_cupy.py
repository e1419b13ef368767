"""Device arrays and the serial stand-in for MPI, which takes device memory."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.mpi import exchange, mpi_is_cuda_aware

MPI = xp.mpi.get_mpi(False)


@pytest.fixture
def comm():
    with xp.use_backend("cupy"):
        yield MPI.COMM_SELF.Dup()
        xp.mpi.set_mpi_cuda_aware(None)


def on_host(array) -> list[float]:
    return array.get().tolist() if isinstance(array, cupy.ndarray) else array.tolist()


def copies(counter) -> list[tuple[str, int | None]]:
    return [(event.kind, event.nbytes) for event in counter.events if event.kind != "sync"]


@pytest.mark.parametrize("target", [cupy.zeros, np.zeros], ids=["to device", "to host"])
@pytest.mark.parametrize("source", [cupy.arange, np.arange], ids=["from device", "from host"])
def test_messages_and_collectives(comm, source, target) -> None:
    sent = source(3.0)
    expected = {
        (False, False): [],
        (True, True): [],
        (True, False): [("to_host", 24)],
        (False, True): [("to_device", 24)],
    }[source is cupy.arange, target is cupy.zeros]
    for call in (
        lambda received: comm.Sendrecv(sent, 0, 0, received, 0, 0),
        lambda received: comm.Allreduce(sent, received),
        lambda received: comm.Gatherv(sent, [received, [3]]),
        lambda received: MPI.Request.Waitall([comm.Irecv(received, 0), comm.Isend(sent, 0)]),
    ):
        received = target(3)
        with xp.profiling.count_transfers() as counter:
            call(received)
        assert copies(counter) == expected
        assert on_host(received) == [0, 1, 2]


def test_what_is_sent_is_what_was_there(comm) -> None:
    sent, received = cupy.arange(3.0), cupy.zeros(3)
    request = comm.Irecv(received, source=0)
    comm.Send(sent, dest=0)
    sent += 10
    request.Wait()
    assert on_host(received) == [0, 1, 2]


def test_derived_types_and_fortran_order(comm) -> None:
    matrix = cupy.arange(12.0).reshape(3, 4)
    column = MPI.DOUBLE.Create_vector(3, 1, 4).Create_resized(0, 8).Commit()
    comm.Sendrecv([matrix, 4, column], 0, 0, received := cupy.zeros((4, 3)), 0, 0)
    np.testing.assert_array_equal(received.get(), matrix.get().T)
    comm.Sendrecv(received, 0, 0, [back := cupy.zeros((3, 4)), 4, column], 0, 0)
    np.testing.assert_array_equal(back.get(), matrix.get())
    many = MPI.DOUBLE.Create_resized(0, 16).Commit()
    comm.Sendrecv([cupy.arange(200.0), 100, many], 0, 0, received := cupy.zeros(100), 0, 0)
    np.testing.assert_array_equal(received.get(), np.arange(0, 200.0, 2))
    comm.Sendrecv(cupy.asfortranarray(matrix), 0, 0, received := cupy.zeros(12), 0, 0)
    np.testing.assert_array_equal(received.get(), np.arange(12.0).reshape(3, 4).ravel(order="F"))


def test_the_same_checks_as_on_the_host(comm) -> None:
    a, z = cupy.arange(4.0), cupy.zeros(4)
    with pytest.raises(BufferError, match="is not contiguous"):
        comm.Isend(a[::2], dest=0)
    with pytest.raises(ValueError, match="same count"):
        comm.Allreduce(a, z[:3])
    with pytest.raises(MPI.Exception, match="is too small"):
        comm.Gather(a, z[:3])
    with pytest.raises(MPI.Exception, match="can't be received as"):
        comm.Allgather(a, z.astype(cupy.int64))
    with pytest.raises(MPI.Exception, match="share memory"):
        comm.Allgather(a[:3], a[1:])


def test_local_reductions(comm) -> None:
    first, second = cupy.arange(3.0), cupy.ones(3)
    MPI.SUM.Reduce_local(first, second)
    assert on_host(second) == [1, 2, 3]
    MPI.MAX.Reduce_local(first, second)
    assert on_host(second) == [1, 2, 3]


def test_windows(comm) -> None:
    memory = cupy.zeros(4)
    window = MPI.Win.Create(memory, 8, comm=comm)
    window.Fence()
    window.Put(cupy.ones(2), 0, 1)
    window.Accumulate(cupy.ones(2), 0, 2)
    window.Get(received := cupy.zeros(4), 0)
    window.Fence()
    assert on_host(memory) == on_host(received) == [0, 1, 2, 1]
    window.Free()


def test_files(comm, tmp_path) -> None:
    with MPI.File.Open(comm, tmp_path / "file", MPI.MODE_CREATE | MPI.MODE_RDWR) as file:
        file.Write(cupy.arange(4.0))
        file.Read_at(8, received := cupy.zeros(2))
    assert on_host(received) == [1, 2]


def test_it_is_cuda_aware(comm) -> None:
    assert mpi_is_cuda_aware(comm)
    assert xp.mpi.get_mpi_cuda_aware() is True


@pytest.mark.parametrize("cuda_aware", [True, False])
def test_ghost_cells(comm, cuda_aware) -> None:
    grid = comm.Create_cart([1, 1], [True, True])
    block = cupy.zeros((5, 6))
    block[1:-1, 1:-1] = cupy.arange(12.0).reshape(3, 4)
    xp.mpi.exchange_ghosts(grid, block, cuda_aware=cuda_aware)
    np.testing.assert_array_equal(block.get(), np.pad(np.arange(12.0).reshape(3, 4), 1, mode="wrap"))


@pytest.mark.parametrize("cuda_aware", [True, False])
def test_particles(comm, cuda_aware) -> None:
    positions, ids = cupy.arange(12.0).reshape(4, 3), cupy.arange(4)
    destination = cupy.asarray([0, -1, 0, 0])
    (positions, ids), counts = xp.mpi.migrate(comm, [positions, ids], destination, cuda_aware=cuda_aware)
    assert on_host(ids) == [0, 2, 3]
    np.testing.assert_array_equal(positions.get(), np.arange(12.0).reshape(4, 3)[[0, 2, 3]])
    assert counts.tolist() == [3]
    with pytest.raises(TypeError, match=r"in device memory and .* on the host"):
        xp.mpi.migrate(comm, [np.zeros(4)], destination)
    with pytest.raises(RuntimeError, match=r"'arrays\[0\]' is a device array, and it is not known whether"):
        xp.mpi.migrate(comm, [ids], destination[:3])


@pytest.mark.parametrize("cuda_aware", [True, False])
def test_exchange(comm, cuda_aware) -> None:
    field = cupy.arange(12.0).reshape(3, 4)
    ghost = cupy.zeros((3, 2))
    exchange(
        comm,
        sends=[(field[:, 1], 0, 0), (field[:, 2], 0, 1)],
        receives=[(ghost[:, 0], 0, 0), (ghost[:, 1], 0, 1)],
        cuda_aware=cuda_aware,
    )
    np.testing.assert_array_equal(ghost.get(), field.get()[:, 1:3])
    with pytest.raises(MPI.Exception, match="truncated"):
        exchange(comm, sends=[(field, 0, 0)], receives=[(cupy.zeros(3), 0, 0)], cuda_aware=cuda_aware)
    assert not comm.Iprobe()
