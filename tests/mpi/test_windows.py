"""Windows: puts, gets and accumulates, and their epochs."""

from __future__ import annotations

import numpy as np
import pytest

from mpi_under_test import MPI, fails, numbers, serial_only

EPOCHS = ["fence", "lock", "lock_all", "start"]


class Epoch:
    def __init__(self, window, kind):
        self.window, self.kind = window, kind

    def __enter__(self):
        if self.kind == "fence":
            self.window.Fence()
        elif self.kind == "lock":
            self.window.Lock(0)
        elif self.kind == "lock_all":
            self.window.Lock_all()
        else:
            self.window.Post(self.window.Get_group())
            self.window.Start(self.window.Get_group())

    def __exit__(self, *args):
        if self.kind == "fence":
            self.window.Fence()
        elif self.kind == "lock":
            self.window.Unlock(0)
        elif self.kind == "lock_all":
            self.window.Unlock_all()
        else:
            self.window.Complete()
            self.window.Wait()


@pytest.fixture
def memory():
    return np.zeros(8)


@pytest.fixture
def window(comm, memory):
    made = MPI.Win.Create(memory, disp_unit=8, comm=comm)
    yield made
    if made:
        made.Free()


@pytest.mark.parametrize("kind", EPOCHS)
def test_put_get_accumulate(window, memory, kind):
    with Epoch(window, kind):
        window.Put(numbers(3), 0, 2)
    np.testing.assert_array_equal(memory, [0, 0, 1, 2, 3, 0, 0, 0])
    with Epoch(window, kind):
        window.Accumulate(numbers(2), 0, target=2)
    np.testing.assert_array_equal(memory, [0, 0, 2, 4, 3, 0, 0, 0])
    with Epoch(window, kind):
        window.Accumulate(numbers(2), 0, target=2, op=MPI.PROD)
    np.testing.assert_array_equal(memory[2:4], [2, 8])
    received = np.zeros(3)
    with Epoch(window, kind):
        window.Get(received, 0, 2)
    np.testing.assert_array_equal(received, [2, 8, 3])
    before = np.zeros(2)
    with Epoch(window, kind):
        window.Get_accumulate(numbers(2), before, 0, 2, op=MPI.MAX)
    np.testing.assert_array_equal(before, [2, 8])
    with Epoch(window, kind):
        window.Get_accumulate(numbers(2), before, 0, 2, op=MPI.REPLACE)
    np.testing.assert_array_equal(memory[2:4], [1, 2])
    with Epoch(window, kind):
        window.Put(numbers(2), MPI.PROC_NULL, 100)
        window.Get(received, MPI.PROC_NULL, 100)
    np.testing.assert_array_equal(received, [2, 8, 3])


def test_targets(window, memory):
    column = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
    with Epoch(window, "fence"):
        window.Put(numbers(3), 0, (1, 1, column))
    np.testing.assert_array_equal(memory, [0, 1, 0, 2, 0, 3, 0, 0])
    received = np.zeros(3)
    with Epoch(window, "fence"):
        window.Get(received, 0, (1, 1, column))
    np.testing.assert_array_equal(received, [1, 2, 3])
    with Epoch(window, "fence"):
        window.Put([numbers(3), 2, MPI.DOUBLE], 0, [6, 2, MPI.DOUBLE])
    np.testing.assert_array_equal(memory[6:], [1, 2])
    column.Free()


@pytest.mark.parametrize("kind", ["lock", "lock_all"])
def test_single_elements(comm, kind):
    memory = np.array([5, 6, 7], "i8")
    window = MPI.Win.Create(memory, 8, comm=comm)
    before = np.zeros(1, "i8")
    with Epoch(window, kind):
        window.Fetch_and_op(np.array([10], "i8"), before, 0, 1, op=MPI.SUM)
        window.Flush(0)
        assert before[0] == 6
        window.Compare_and_swap(np.array([1], "i8"), np.array([7], "i8"), before, 0, 2)
        window.Flush_all()
        assert before[0] == 7
        window.Compare_and_swap(np.array([9], "i8"), np.array([7], "i8"), before, 0, 2)
        window.Flush_local(0)
        window.Flush_local_all()
        assert before[0] == 1
        window.Fetch_and_op(np.zeros(1, "i8"), before, 0, 0, op=MPI.NO_OP)
        window.Flush(0)
        assert before[0] == 5
    assert memory.tolist() == [5, 16, 1]
    window.Free()


def test_requests(window, memory):
    received = np.zeros(2)
    window.Lock(0, MPI.LOCK_SHARED)
    window.Rput(numbers(2), 0, 1).Wait()
    window.Flush(0)
    window.Raccumulate(numbers(2), 0, 1).Wait()
    window.Flush(0)
    window.Rget(received, 0, 1).Wait()
    np.testing.assert_array_equal(received, [2, 4])
    window.Rget_accumulate(numbers(2), received, 0, 1).Wait()
    window.Unlock(0)
    np.testing.assert_array_equal(memory[1:3], [3, 6])


def test_kinds_of_window(comm):
    window = MPI.Win.Allocate(40, 8, comm=comm)
    memory = np.frombuffer(window.tomemory(), "f8")
    assert memory.size == 5
    assert window.flavor == MPI.WIN_FLAVOR_ALLOCATE
    with Epoch(window, "fence"):
        window.Put(numbers(2), 0, 3)
    np.testing.assert_array_equal(memory[3:], [1, 2])
    window.Free()
    assert window == MPI.WIN_NULL
    assert not window
    window = MPI.Win.Allocate_shared(40, 8, comm=comm)
    part, unit = window.Shared_query(0)
    assert unit == 8
    assert len(part) == 40
    np.frombuffer(part, "f8")[:] = 3
    with Epoch(window, "fence"):
        window.Get(received := np.zeros(5), 0)
    assert (received == 3).all()
    window.Free()
    window = MPI.Win.Create_dynamic(comm=comm)
    memory = np.zeros(4)
    window.Attach(memory)
    with Epoch(window, "lock"):
        window.Put(numbers(2), 0, MPI.Get_address(memory) + 16)
    np.testing.assert_array_equal(memory, [0, 0, 1, 2])
    window.Detach(memory)
    window.Free()
    window = MPI.Win.Create(None, comm=comm)
    assert window.Get_attr(MPI.WIN_SIZE) == 0
    window.Free()


def test_queries(window, memory):
    assert window.Get_group().size == 1
    assert (window.group_size, window.group_rank) == (1, 0)
    assert window.Get_attr(MPI.WIN_SIZE) == memory.nbytes
    assert window.Get_attr(MPI.WIN_DISP_UNIT) == 8
    assert window.Get_attr(MPI.WIN_BASE) == memory.ctypes.data
    assert window.Get_attr(MPI.WIN_CREATE_FLAVOR) == window.flavor == MPI.WIN_FLAVOR_CREATE
    assert window.model in (MPI.WIN_UNIFIED, MPI.WIN_SEPARATE)
    window.Set_name("halo")
    assert window.Get_name() == window.name == "halo"
    key = MPI.Win.Create_keyval()
    window.Set_attr(key, 3)
    assert window.Get_attr(key) == 3
    window.Delete_attr(key)
    window.Get_info().Free()


def test_faults(window):
    with Epoch(window, "fence"):
        with fails("RANK"):
            window.Put(numbers(1), 1, 0)
        with pytest.raises(BufferError):
            window.Put(np.zeros(4)[::2], 0, 0)
    with fails("RANK"):
        window.Lock(3)
    with fails("WIN"):
        MPI.WIN_NULL.Fence()
    with pytest.raises((BufferError, TypeError)):
        MPI.Win.Create(b"abc", comm=MPI.COMM_SELF)


@pytest.mark.parametrize("access", ["Put", "Get", "Accumulate"])
def test_accesses_need_an_epoch(comm, access):
    window = MPI.Win.Create(np.zeros(4), 8, comm=comm)
    with fails("RMA_SYNC"):
        getattr(window, access)(np.zeros(1), 0, 0)
    window.Free()


@serial_only
def test_what_mpi_does_not_check(window, memory):
    for displacement, error in ((7, "RMA_RANGE"), (-1, "DISP")):
        with Epoch(window, "fence"), fails(error):
            window.Put(numbers(2), 0, displacement)
    with Epoch(window, "fence"), fails("TYPE"):
        window.Put(numbers(1), 0, (0, 2, MPI.INT32_T))
    with fails("RMA_SYNC"):
        window.Unlock(0)
    with fails("RMA_SYNC"):
        window.Flush(0)
    with fails("RMA_SYNC"):
        window.Complete()
    window.Lock(0)
    with fails("RMA_SYNC"):
        window.Lock_all()
    with fails("RMA_SYNC"):
        window.Free()
    window.Unlock(0)
    window.Fence(MPI.MODE_NOSUCCEED)
    with fails("RMA_SYNC"):
        window.Put(numbers(1), 0, 0)
    assert not memory.any()
