"""MPI with device arrays: staged on the host or given to a CUDA-aware MPI, and what is recorded."""

from __future__ import annotations

import threading

import cupy
import numpy as np
import pytest

import cunumpy as xp
from array_kinds import ForeignDeviceArray
from cunumpy.cuda import HostEvent, HostStream
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError, CuNumpyWarning, TransferError
from cunumpy.mpi import MPIStaging, _buffers, _cuda_aware, exchange, mpi_buffer
from loopback_mpi import World


@pytest.fixture(autouse=True)
def unknown():
    with xp.use_backend("cupy"):
        xp.mpi.set_mpi_cuda_aware(None)
        yield
        xp.mpi.set_mpi_cuda_aware(None)


def kinds_of(counter) -> list[str]:
    return [event.kind for event in counter.events]


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_one_wait_is_recorded_however_many_arrays() -> None:
    arrays = [xp.zeros(2), np.zeros(2), xp.ones(3), None]
    for producer in ({}, {"stream": cupy.cuda.Stream()}, {"event": cupy.cuda.Event()}):
        with xp.profiling.count_transfers() as counter:
            xp.mpi.synchronize_for_mpi(*arrays, **producer)
        assert kinds_of(counter) == ["sync"]


@pytest.mark.parametrize("producer", [{"stream": HostStream()}, {"event": HostEvent()}, {"stream": cupy.cuda.Event()}])
def test_producers_of_device_arrays_are_cudas(producer) -> None:
    text = "must be of the CUDA producer, a cupy.cuda.(Stream|Event), got "
    xp.mpi.synchronize_for_mpi(np.zeros(2), **producer)
    for call in (
        lambda: xp.mpi.synchronize_for_mpi(xp.zeros(2), **producer),
        lambda: mpi_buffer(xp.zeros(2), cuda_aware=False, **producer).__enter__(),
        lambda: exchange(xp.mpi.get_mpi(False).COMM_SELF, sends=[(xp.zeros(2), 0, 0)], cuda_aware=False, **producer),
    ):
        with pytest.raises(ArgumentTypeError, match=text):
            call()


# --- is MPI CUDA-aware ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3])
def test_device_memory_that_arrives_is_found(size) -> None:
    world = World(size, cuda_aware=True)
    assert world.run(xp.mpi.mpi_is_cuda_aware) == [True] * size
    assert xp.mpi.get_mpi_cuda_aware() is True
    world.run(xp.mpi.require_cuda_aware_mpi)


def test_device_memory_that_does_not_arrive_is_found() -> None:
    world = World(3)
    assert world.run(xp.mpi.mpi_is_cuda_aware) == [False] * 3
    assert xp.mpi.get_mpi_cuda_aware() is False
    with pytest.raises(CommunicationError, match="the MPI library is not CUDA-aware"):
        world.run(xp.mpi.require_cuda_aware_mpi)


def test_a_library_that_takes_short_messages_only_is_found() -> None:
    assert World(2, cuda_aware=True, longest_device_message=1000).run(xp.mpi.mpi_is_cuda_aware) == [False] * 2


def test_messages_without_reductions_are_not_enough(monkeypatch) -> None:
    def fail(comm, send, received) -> None:
        raise RuntimeError("no reduction on the device")

    monkeypatch.setattr("loopback_mpi.Comm.Allreduce", fail)
    assert World(2, cuda_aware=True).run(xp.mpi.mpi_is_cuda_aware) == [False] * 2


def test_wrong_values_are_found(monkeypatch) -> None:
    monkeypatch.setattr("loopback_mpi.Comm.Sendrecv", lambda comm, send, dest, recvbuf, source: None)
    assert World(2, cuda_aware=True).run(xp.mpi.mpi_is_cuda_aware) == [False] * 2


def test_a_rank_without_device_arrays_leaves_nobody_waiting(monkeypatch) -> None:
    monkeypatch.setenv("MAYBEMPI", "1")

    def work(comm) -> bool:
        with xp.use_backend("numpy" if comm.rank == 1 else "cupy"):
            return xp.mpi.mpi_is_cuda_aware(comm)

    world = World(3, cuda_aware=True)
    assert world.run(work) == [False] * 3
    assert all(comm.calls == [] for comm in world.ranks)


def test_a_rank_without_memory_leaves_nobody_waiting(monkeypatch) -> None:
    allocate, lock, calls = cupy.zeros, threading.Lock(), []

    def fail_once(size):
        with lock:
            calls.append(1)
            if len(calls) == 2:
                raise MemoryError
        return allocate(size)

    monkeypatch.setattr(cupy, "zeros", fail_once)
    world = World(3, cuda_aware=True)
    assert world.run(xp.mpi.mpi_is_cuda_aware) == [False] * 3
    assert all(comm.calls == [] for comm in world.ranks)


def test_the_report_tells_what_failed(monkeypatch) -> None:
    report = World(2, cuda_aware=True).run(xp.mpi.cuda_aware_report)[0]
    assert (report.arrives, report.failed) == (True, None)
    report = World(2, cuda_aware=True, longest_device_message=1000).run(xp.mpi.cuda_aware_report)[0]
    assert report.arrives is False
    assert report.failed.startswith("65536 bytes from device to device: RuntimeError")
    monkeypatch.setattr("loopback_mpi.Comm.Sendrecv", lambda comm, send, dest, recvbuf, source: None)
    assert World(2).run(xp.mpi.cuda_aware_report)[1].failed == "32 bytes from device to device: other values arrived"
    assert xp.mpi.get_mpi_cuda_aware() is None


def test_memory_of_both_kinds_is_tried(monkeypatch) -> None:
    seen = set()
    sendrecv = World(1).ranks[0].__class__.Sendrecv

    def watch(comm, send, dest, recvbuf, source) -> None:
        seen.add((send.nbytes, type(send) is np.ndarray, type(recvbuf) is np.ndarray))
        sendrecv(comm, send, dest, recvbuf, source)

    monkeypatch.setattr("loopback_mpi.Comm.Sendrecv", watch)
    assert World(1, cuda_aware=True).run(xp.mpi.mpi_is_cuda_aware) == [True]
    kinds = ((False, False), (True, False), (False, True))
    assert seen == {(nbytes, *kind) for nbytes in (32, 2**16, 2**20) for kind in kinds}


@pytest.mark.parametrize("method", ["query", "auto"])
def test_asking_the_library(monkeypatch, method) -> None:
    says = {"value": True}
    monkeypatch.setattr(_cuda_aware, "_library_says", lambda comm: (says["value"], ("evidence",)))

    def ask(comm) -> bool:
        return xp.mpi.mpi_is_cuda_aware(comm, method=method)

    assert World(2, cuda_aware=True).run(ask) == [True] * 2
    says["value"] = False
    world = World(2, cuda_aware=True)
    assert world.run(ask) == [False] * 2
    assert all(comm.calls == [] for comm in world.ranks)
    says["value"] = None
    if method == "auto":
        assert World(2, cuda_aware=True).run(ask) == [True] * 2
        assert World(2).run(ask) == [False] * 2
    else:
        with pytest.raises(CommunicationError, match=r"does not say .*\(evidence\)\. Use method='probe'"):
            World(1).run(ask)


def test_the_environment_states_the_answer(monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_MPI_CUDA_AWARE", "0")
    assert xp.mpi.get_mpi_cuda_aware() is False
    world = World(2, cuda_aware=True)
    assert world.run(xp.mpi.mpi_is_cuda_aware) == [False] * 2
    assert all(comm.calls == [] for comm in world.ranks)
    xp.mpi.set_mpi_cuda_aware(True)
    assert xp.mpi.get_mpi_cuda_aware() is True  # a program knows better


def test_answers_belong_to_communicators() -> None:
    serial = xp.mpi.get_mpi(False).COMM_SELF
    first, second, third = serial.Dup(), serial.Dup(), serial.Dup()
    xp.mpi.set_mpi_cuda_aware(False, first)
    assert xp.mpi.get_mpi_cuda_aware(first) is False
    assert xp.mpi.get_mpi_cuda_aware(first.Dup()) is False
    assert xp.mpi.get_mpi_cuda_aware(second) is xp.mpi.get_mpi_cuda_aware() is None
    assert xp.mpi.mpi_is_cuda_aware(second) is True
    assert xp.mpi.get_mpi_cuda_aware(first) is False
    assert xp.mpi.get_mpi_cuda_aware(third) is True  # what was found out last, where nothing else is known
    with xp.profiling.count_transfers() as counter:
        exchange(first, sends=[(xp.ones(2), 0, 0)], receives=[(xp.zeros(2), 0, 0)])
    assert "to_host" in kinds_of(counter)
    xp.mpi.set_mpi_cuda_aware(None, first)
    assert xp.mpi.get_mpi_cuda_aware(first) is True
    with pytest.raises(ArgumentTypeError, match="must be a communicator with attributes"):
        xp.mpi.set_mpi_cuda_aware(True, World(1).ranks[0])


def test_processes_that_share_a_device_are_told(monkeypatch) -> None:
    class Node:
        rank, size, other = 0, 2, 1

        def allgather(self, value):
            (host, visible, device), count = value
            return [((host, visible, device), count), ((host, visible, self.other), count)]

    node = Node()
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 2)
    _cuda_aware._warn_of_shared_devices(node)
    node.other = 0
    with pytest.warns(CuNumpyWarning, match=r"ranks \[0, 1\] use the same device 0 of .*, which has 2\. Call"):
        _cuda_aware._warn_of_shared_devices(node)
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 1)
    _cuda_aware._warn_of_shared_devices(node)  # there is no other


# --- buffers ----------------------------------------------------------------------------------------------------------


def test_it_has_to_be_known_whether_mpi_takes_device_memory() -> None:
    with pytest.raises(CommunicationError, match=r"mpi_is_cuda_aware.*set_mpi_cuda_aware.*cuda_aware=") as caught:
        mpi_buffer(xp.zeros(2)).__enter__()
    assert isinstance(caught.value, RuntimeError)


def test_cuda_aware_mpi_gets_the_array_itself() -> None:
    xp.mpi.set_mpi_cuda_aware(True)
    array = xp.zeros((2, 3))
    with xp.profiling.count_transfers() as counter, mpi_buffer(array, recv=True) as buffer:
        assert buffer is array
    assert kinds_of(counter) == ["sync"]
    with mpi_buffer(array, cuda_aware=False) as buffer:
        assert isinstance(buffer, np.ndarray)


@pytest.mark.parametrize("aware", [False, True])
def test_strided_arrays_are_packed_and_put_back(aware) -> None:
    array = xp.asarray(np.arange(12.0).reshape(3, 4))
    with xp.profiling.count_transfers() as counter, mpi_buffer(array[:, 1], recv=True, cuda_aware=aware) as buffer:
        assert buffer.flags.c_contiguous
        assert xp.is_gpu(buffer) is aware
        np.testing.assert_array_equal(cupy.asnumpy(buffer), [1.0, 5.0, 9.0])
        buffer[...] = -1.0
    expected = np.arange(12.0).reshape(3, 4)
    expected[:, 1] = -1.0
    np.testing.assert_array_equal(cupy.asnumpy(array), expected)
    waits_and_copies = ["device_copy", "sync", "device_copy", "sync"] if aware else ["to_host", "to_device", "sync"]
    assert kinds_of(counter) == ["sync", *waits_and_copies]


@pytest.mark.parametrize(
    ("send", "recv", "overwrite", "kinds"),
    [
        (True, False, True, ["sync", "to_host"]),
        (True, True, True, ["sync", "to_host", "to_device", "sync"]),
        (False, True, True, ["sync", "to_device", "sync"]),
        (False, True, False, ["sync", "to_host", "to_device", "sync"]),
        (False, False, True, ["sync"]),
    ],
)
def test_staging_copies_what_is_needed_and_records_it(send, recv, overwrite, kinds) -> None:
    array = xp.asarray(np.arange(6.0).reshape(2, 3))
    options = {"send": send, "recv": recv, "overwrite": overwrite, "cuda_aware": False}
    with xp.profiling.count_transfers() as counter, mpi_buffer(array, **options) as buffer:
        assert (type(buffer), buffer.shape, buffer.dtype) == (np.ndarray, (2, 3), np.dtype(float))
        if send or not overwrite:
            np.testing.assert_array_equal(buffer, np.arange(6.0).reshape(2, 3))
        buffer[...] = 7.0
    assert kinds_of(counter) == kinds
    assert {event.nbytes for event in counter.events if event.kind != "sync"} <= {48}
    np.testing.assert_array_equal(cupy.asnumpy(array), 7.0 if recv else np.arange(6.0).reshape(2, 3))


def test_a_failing_block_copies_nothing_back_and_frees_the_staging() -> None:
    staging, array = MPIStaging(2, float), xp.zeros(2)

    def fail() -> None:
        with staging.buffer(array, recv=True, cuda_aware=False) as used:
            used[...] = 1.0
            buffers.append(used)
            raise ZeroDivisionError

    buffers: list[np.ndarray] = []
    with pytest.raises(ZeroDivisionError):
        fail()
    assert not cupy.asnumpy(array).any()
    with staging.buffer(array, cuda_aware=False) as again:
        assert again is buffers[0]


def test_forbidden_copies_free_the_staging_too() -> None:
    staging = MPIStaging(2, float)
    with xp.profiling.forbid_transfers(), pytest.raises(TransferError):
        staging.buffer(xp.zeros(2), cuda_aware=False).__enter__()
    with staging.buffer(xp.zeros(2), cuda_aware=False):
        pass


def test_staging_serves_one_array_at_a_time(monkeypatch) -> None:
    staging = MPIStaging(2, float)
    with staging.buffer(xp.zeros(2), cuda_aware=False):
        assert "in_use=True" in repr(staging)
        for call in (staging.buffer(xp.zeros(2), cuda_aware=False).__enter__, staging.close):
            with pytest.raises(CommunicationError, match="in use"):
                call()
    for array in (xp.zeros(3), xp.zeros(2, dtype="float32")):
        for aware in (False, True):
            with pytest.raises(ArgumentError, match="shape and dtype"):
                staging.buffer(array, cuda_aware=aware).__enter__()
    monkeypatch.setattr(staging, "_device", 1)
    with pytest.raises(ArgumentError, match="another CUDA device"):
        staging.buffer(xp.zeros(2), cuda_aware=False).__enter__()
    staging.close()
    with staging.buffer(xp.zeros(2), cuda_aware=False):
        pass


def test_eight_threads_share_a_staging_by_turns() -> None:
    staging, together = MPIStaging(100, float), threading.Barrier(8)
    results: list[bool] = []

    def work(number: int) -> None:
        array = cupy.full(100, float(number))
        together.wait()
        done = 0
        while done < 20:
            try:
                with staging.buffer(array, cuda_aware=False) as buffer:
                    results.append(bool((buffer == number).all()))
                    done += 1
            except CommunicationError:
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [True] * 160


def test_without_page_locked_memory_ordinary_memory_serves(monkeypatch, caplog) -> None:
    def fail(shape, dtype):
        raise MemoryError("no page-locked memory")

    monkeypatch.setattr(_buffers._copies, "pinned_empty", fail)
    with caplog.at_level("INFO", "cunumpy"), mpi_buffer(xp.ones(2), cuda_aware=False) as buffer:
        np.testing.assert_array_equal(buffer, 1.0)
    assert "ordinary host memory" in caplog.text


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_odd_shapes(shape) -> None:
    array = xp.zeros(shape)
    with mpi_buffer(array, recv=True, cuda_aware=False) as buffer:
        assert buffer.shape == shape
        buffer[...] = 3.0
    np.testing.assert_array_equal(cupy.asnumpy(array), 3.0)


@pytest.mark.parametrize("aware", [False, True])
def test_device_arrays_of_other_libraries(aware, monkeypatch) -> None:
    array, original = ForeignDeviceArray(np.arange(3.0)), cupy.asarray
    # The stand-in can't read foreign memory; on a GPU CuPy wraps it without a copy.
    monkeypatch.setattr(
        cupy, "asarray", lambda a, *args, **kw: array.memory if a is array else original(a, *args, **kw)
    )
    with mpi_buffer(array, recv=True, cuda_aware=aware) as buffer:
        assert xp.is_gpu(buffer) is aware
        buffer[...] = 5.0
    np.testing.assert_array_equal(cupy.asnumpy(array.memory), 5.0)


# --- exchange ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aware", [False, True])
def test_halo_of_a_ring(aware) -> None:
    def work(comm) -> np.ndarray:
        field = cupy.full((3, 4), float(comm.rank))
        left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        exchange(
            comm,
            sends=[(field[:, 1], left, 0), (field[:, -2], right, 1)],
            receives=[(field[:, -1], right, 0), (field[:, 0], left, 1)],
            cuda_aware=aware,
        )
        return field.get()

    for rank, field in enumerate(World(3, cuda_aware=aware).run(work)):
        np.testing.assert_array_equal(field[:, 0], (rank - 1) % 3)
        np.testing.assert_array_equal(field[:, 1:3], rank)
        np.testing.assert_array_equal(field[:, 3], (rank + 1) % 3)


def test_staging_memory_serves_the_next_exchange() -> None:
    pool = cupy.get_default_pinned_memory_pool()
    pool.free_all_blocks()
    comm = World(1).ranks[0]
    sent, received = cupy.arange(3000.0), cupy.zeros((3000, 2))
    for step in range(4):
        sent += 1
        exchange(comm, sends=[(sent, 0, 0)], receives=[(received[:, 1], 0, 0)], cuda_aware=False)
        np.testing.assert_array_equal(cupy.asnumpy(received[:, 1]), np.arange(3000.0) + step + 1)
        assert pool.n_free_blocks() == 2
    pool.free_all_blocks()


def test_a_staged_exchange_waits_once_before_and_once_after() -> None:
    comm, array, targets = World(1).ranks[0], xp.ones(3), [xp.zeros(3), xp.zeros(3)]
    with xp.profiling.count_transfers() as counter:
        exchange(
            comm,
            sends=[(array, 0, 0), (array, 0, 1)],
            receives=[(targets[0], 0, 0), (targets[1], 0, 1)],
            cuda_aware=False,
            stream=cupy.cuda.Stream(),
        )
    assert kinds_of(counter) == ["sync", "to_host", "to_host", "to_device", "to_device", "sync"]
    assert all((target.get() == 1.0).all() for target in targets)


@pytest.mark.parametrize("aware", [False, True])
@pytest.mark.parametrize("strided", [False, True])
def test_a_shorter_message_leaves_the_rest_as_it_was(aware, strided) -> None:
    target = cupy.full((5, 2), 9.0)[:, 0] if strided else cupy.full(5, 9.0)
    exchange(
        World(1, cuda_aware=aware).ranks[0],
        sends=[(np.arange(2.0), 0, 0)],
        receives=[(target, 0, 0)],
        cuda_aware=aware,
    )
    np.testing.assert_array_equal(cupy.asnumpy(target), [0, 1, 9, 9, 9])


def test_nothing_is_posted_or_copied_before_an_error() -> None:
    comm, field = World(1).ranks[0], xp.zeros((4, 3))
    with xp.profiling.count_transfers() as counter:
        with pytest.raises(ArgumentError, match=r"'receives\[0\]' and 'sends\[0\]' share memory"):
            exchange(comm, sends=[(field[1:], 0, 0)], receives=[(field[:2], 0, 0)], cuda_aware=False)
        with pytest.raises(CommunicationError, match=r"exchange: argument 'sends\[0\]' is a device array"):
            exchange(comm, sends=[(field, 0, 0)])
    assert comm.calls == []
    assert counter.events == []


def test_an_error_under_way_copies_nothing_back(capfd) -> None:
    comm, target = World(1).ranks[0], xp.zeros(2)
    with pytest.raises(RuntimeError, match="truncated"):
        exchange(comm, sends=[(xp.ones(3), 0, 0)], receives=[(target, 0, 0)], cuda_aware=False)
    assert comm.aborted == 1
    assert "truncated" in capfd.readouterr().err
    assert not target.get().any()
