"""Devices, memory, streams and events of `cunumpy.cuda` on the CuPy backend."""

from __future__ import annotations

import sys
import types

import cupy
import cupyx
import numpy as np
import pytest

import cunumpy as xp
from array_kinds import KINDS, ArrayKind, assert_same_values
from cunumpy.cuda import HostEvent, HostStream
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyError, CuNumpyWarning


@pytest.fixture(autouse=True)
def on_cupy():
    with xp.use_backend("cupy"):
        yield


# --- devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_numbers_of_devices_are_checked_on_both_backends(backend) -> None:
    with xp.use_backend(backend):
        assert xp.cuda.device_count() == 1
        xp.cuda.set_device(0)
        text = "'device_id' names CUDA device 99, and this process sees 1; .*CUDA_VISIBLE_DEVICES"
        with pytest.raises(ArgumentError, match=text):
            xp.cuda.set_device(99)
        with pytest.raises(ArgumentError, match="'device' names CUDA device 1"):
            xp.cuda.device_properties(1)
        with pytest.raises(ArgumentError, match="'device' names CUDA device 1"):
            xp.cuda.max_shared_memory_per_block(1)


def test_ranks_choose_among_the_devices(monkeypatch) -> None:
    assert xp.cuda.set_device_for_rank(3) == 0
    with pytest.raises(ArgumentError, match="'devices_per_node' is 4, and this process sees 1"):
        xp.cuda.set_device_for_rank(0, devices_per_node=4)  # fails on every rank alike
    used: list[int] = []
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 4)
    monkeypatch.setattr(cupy.cuda.Device, "use", lambda device: used.append(device.id))
    assert xp.cuda.set_device_for_rank(6) == 2
    assert xp.cuda.set_device_for_rank(6, devices_per_node=3) == 0
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "9")
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", "5")
    assert xp.cuda.bind_local_device() == 1
    with xp.use_backend("numpy"):
        assert xp.cuda.set_device_for_rank(6) == 2
        assert xp.cuda.bind_local_device() is None
    assert used == [2, 0, 1]


def test_a_device_that_is_bound_after_mpi_warns(monkeypatch) -> None:
    mpi = types.ModuleType("mpi4py.MPI")
    mpi.Is_initialized = lambda: True
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi)
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 4)
    monkeypatch.setattr(cupy.cuda.Device, "use", lambda device: None)
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert xp.cuda.bind_local_device() == 0  # MPI has taken this one too
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.warns(CuNumpyWarning, match=r"MPI was initialised before .* took device 2;.*before mpi4py\.MPI is"):
        assert xp.cuda.bind_local_device() == 2


def test_a_driver_that_does_not_answer_counts_no_devices(monkeypatch) -> None:
    def fail() -> int:
        raise RuntimeError("no driver")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", fail)
    assert xp.cuda.device_count() == 0
    assert xp.cuda.bind_local_device() is None
    assert xp.cuda.device_properties() is None
    with pytest.raises(ArgumentError, match="this process sees 0"):
        xp.cuda.set_device(0)


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_properties_are_the_drivers(backend) -> None:
    values = cupy.cuda.runtime.getDeviceProperties(0)
    with xp.use_backend(backend):
        found = xp.cuda.device_properties()
        assert found == xp.cuda.device_properties(0)
        assert found.name == values["name"].decode()
        assert found.compute_capability == (values["major"], values["minor"])
        assert found.multiprocessors == values["multiProcessorCount"]
        assert found.total_memory == values["totalGlobalMem"]
        assert xp.cuda.max_shared_memory_per_block() == values["sharedMemPerBlock"]
        assert xp.cuda.max_shared_memory_per_block(opt_in=True) == values["sharedMemPerBlockOptin"]
    assert not xp.cuda.is_hip()


def test_a_device_without_the_property_has_the_least(monkeypatch) -> None:
    values = {**cupy.cuda.runtime.getDeviceProperties(0), "sharedMemPerBlock": 0}
    del values["sharedMemPerBlockOptin"]
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceProperties", lambda device: values)
    assert xp.cuda.max_shared_memory_per_block(opt_in=True) == xp.cuda.DEFAULT_SHARED_MEMORY_PER_BLOCK


# --- memory -----------------------------------------------------------------------------------------------------------


def test_memory_of_the_device(monkeypatch) -> None:
    free, total = xp.cuda.memory_info()
    assert 0 < free <= total
    calls: list[str] = []
    monkeypatch.setattr(type(cupy.get_default_memory_pool()), "free_all_blocks", lambda pool: calls.append("device"))
    pinned = type(cupy.get_default_pinned_memory_pool())
    monkeypatch.setattr(pinned, "free_all_blocks", lambda pool: calls.append("pinned"))
    xp.cuda.free_memory()
    assert calls == ["device", "pinned"]


def test_memory_limit() -> None:
    xp.cuda.set_memory_limit(2**20)
    assert xp.cuda.get_memory_limit() == 2**20 == cupy.get_default_memory_pool().get_limit()
    with xp.use_backend("numpy"):
        xp.cuda.set_memory_limit(5)
        assert xp.cuda.get_memory_limit() is None
    xp.cuda.set_memory_limit(None)
    assert xp.cuda.get_memory_limit() is None
    assert cupy.get_default_memory_pool().get_limit() == 0


@pytest.fixture
def is_pinned(monkeypatch):
    """Tell whether an array is in memory that CuPy gave as page-locked."""
    given: list[np.ndarray] = []
    allocate = cupyx.empty_pinned
    monkeypatch.setattr(cupyx, "empty_pinned", lambda *arguments: given.append(allocate(*arguments)) or given[-1])
    return lambda array: any(np.shares_memory(array, memory) for memory in given)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_pinned_copy_of_every_kind_of_array(kind: ArrayKind, backend, is_pinned, tmp_path) -> None:
    value = kind.make(tmp_path)
    with xp.use_backend(backend), xp.profiling.count_transfers() as counter:
        if kind.values is None or kind.name == "foreign-device-array":
            with pytest.raises(CuNumpyError, match="pin_memory: argument 'array'"):
                xp.cuda.pin_memory(value)
        else:
            pinned = xp.cuda.pin_memory(value)
            assert_same_values(pinned, kind)
            assert pinned.strides == np.array(value, order="K", subok=False).strides
            assert pinned.size == 0 or is_pinned(pinned)
    assert counter.total == 0


def test_dates_are_pinned(is_pinned) -> None:
    dates = np.array(["2020-01-01", "NaT"], "M8[D]")
    pinned = xp.cuda.pin_memory(dates)
    np.testing.assert_array_equal(pinned, dates)
    assert is_pinned(pinned)


def test_device_arrays_are_not_pinned() -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"pin_memory: argument 'array' is an array in device memory .*to_numpy"
    ):
        xp.cuda.pin_memory(xp.zeros(3))


def test_empty_pinned(is_pinned) -> None:
    array = xp.cuda.empty_pinned((2, 3), "int16", "F")
    assert (array.shape, array.dtype, array.flags.f_contiguous) == ((2, 3), np.dtype("int16"), True)
    assert is_pinned(array)
    array[...] = 7
    assert array.sum() == 42
    assert xp.cuda.empty_pinned(0).shape == (0,)


# --- streams and events -----------------------------------------------------------------------------------------------


def test_the_cupy_backend_makes_those_of_the_device() -> None:
    stream = xp.cuda.create_stream(priority=-1)
    assert isinstance(stream, cupy.cuda.Stream)
    assert stream.is_non_blocking
    assert stream.priority == -1
    assert not xp.cuda.create_stream(non_blocking=False).is_non_blocking
    assert isinstance(xp.cuda.create_event(), cupy.cuda.Event)
    assert isinstance(xp.cuda.record_event(), cupy.cuda.Event)


def test_a_new_stream_is_the_current_one_of_the_block() -> None:
    before = cupy.cuda.get_current_stream()
    with xp.cuda.stream() as stream:
        assert stream.is_non_blocking
        assert cupy.cuda.get_current_stream() == stream != before
    assert cupy.cuda.get_current_stream() == before


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_an_existing_stream_is_entered_on_either_backend(backend) -> None:
    with xp.use_backend(backend):
        stream = cupy.cuda.Stream()
        with xp.cuda.stream(stream) as entered:
            assert entered is stream
            assert cupy.cuda.get_current_stream() == stream
        with xp.cuda.stream(HostStream()) as entered:
            assert isinstance(entered, HostStream)


class Log:
    """Which event is recorded on which stream, and who waits for it."""

    def __init__(self, monkeypatch) -> None:
        self.entries: list[tuple[str, object, int]] = []
        record = cupy.cuda.Event.record

        def log_record(event, stream=None) -> None:
            stream = cupy.cuda.get_current_stream() if stream is None else stream
            self.entries.append(("record", stream.ptr, id(event)))
            self.keep = [*getattr(self, "keep", ()), event]
            record(event, stream)

        monkeypatch.setattr(cupy.cuda.Event, "record", log_record)
        monkeypatch.setattr(
            cupy.cuda.Stream, "wait_event", lambda s, e: self.entries.append(("wait", s.ptr, id(e))), raising=False
        )


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("fails", [False, True])
def test_join_orders_the_block_with_what_is_around_it(backend, fails, monkeypatch) -> None:
    outer, inner = cupy.cuda.Stream(), cupy.cuda.Stream()
    with xp.use_backend(backend), outer:
        log = Log(monkeypatch)
        try:
            with xp.cuda.stream(inner, join=True):
                log.entries.append(("work", inner.ptr, 0))
                if fails:
                    raise ValueError
        except ValueError:
            pass
    assert [entry[:2] for entry in log.entries] == [
        ("record", outer.ptr),
        ("wait", inner.ptr),
        ("work", inner.ptr),
        ("record", inner.ptr),
        ("wait", outer.ptr),
    ]
    assert log.entries[0][2] == log.entries[1][2]
    assert log.entries[3][2] == log.entries[4][2] != log.entries[0][2]


def test_without_join_nothing_is_ordered(monkeypatch) -> None:
    log = Log(monkeypatch)
    with xp.cuda.stream():
        pass
    assert log.entries == []


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_events_follow_the_stream_and_not_the_backend(backend, monkeypatch) -> None:
    stream, event = cupy.cuda.Stream(), cupy.cuda.Event()
    with xp.use_backend(backend):
        log = Log(monkeypatch)
        found = xp.cuda.record_event(stream=stream)
        assert isinstance(found, cupy.cuda.Event)
        assert xp.cuda.record_event(event, stream=stream) is event
        xp.cuda.wait_event(event, stream=stream)
        assert isinstance(xp.cuda.record_event(stream=HostStream()), HostEvent)
        with stream:
            xp.cuda.record_event(event)
            xp.cuda.wait_event(event)
        xp.cuda.wait_event(HostEvent())
    names = [entry[0] for entry in log.entries]
    assert names == ["record", "record", "wait", "record", "wait"]
    assert {entry[1] for entry in log.entries} == {stream.ptr}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: xp.cuda.record_event(HostEvent(), stream=cupy.cuda.Stream()),
            "record_event: argument 'event' is of the host .* and 'stream' of the device",
        ),
        (
            lambda: xp.cuda.wait_event(cupy.cuda.Event(), stream=HostStream()),
            r"wait_event: argument 'event' is of the device .* event.synchronize\(\)",
        ),
        (
            lambda: xp.cuda.wait_event(HostEvent(), stream=cupy.cuda.Stream()),
            "wait_event: argument 'event' is of the host",
        ),
        (
            lambda: HostStream().wait_event(cupy.cuda.Event()),
            "HostStream.wait_event: .* must be a HostEvent, got .*Event",
        ),
        (
            lambda: HostStream().record(cupy.cuda.Event()),
            "HostStream.record: .* must be a HostEvent or None, got .*Event",
        ),
        (
            lambda: HostEvent().record(cupy.cuda.Stream()),
            "HostEvent.record: .* must be a HostStream or None, got .*Stream",
        ),
        (
            lambda: xp.cuda.elapsed(HostEvent(), cupy.cuda.Event()),
            "elapsed: .* of the host and 'stop' one of the device",
        ),
        (lambda: xp.cuda.stream(cupy.cuda.Event()).__enter__(), "stream: argument 'existing' must be"),
    ],
)
def test_host_and_device_do_not_mix(call, text) -> None:
    with pytest.raises(ArgumentTypeError, match=text):
        call()


class SlowEvent(cupy.cuda.Event):
    """An event that is done once somebody waits for it."""

    waited = False

    @property
    def done(self) -> bool:
        return self.waited

    def synchronize(self) -> None:
        self.waited = True


def test_elapsed_waits_if_need_be_and_says_so() -> None:
    start, stop = cupy.cuda.Event(), SlowEvent()
    start.record()
    stop.record()
    with xp.profiling.count_transfers() as counter:
        seconds = xp.cuda.elapsed(start, stop)
        assert xp.cuda.elapsed(start, stop) == seconds
    assert [(event.kind, event.description) for event in counter.events] == [("sync", "elapsed(...)")]
    assert seconds == pytest.approx(cupy.cuda.get_elapsed_time(start, stop) * 1e-3)


def test_elapsed_explains_what_cuda_refuses() -> None:
    with pytest.raises(ArgumentError, match=r"elapsed: CUDA refuses the events .*create_event\(timing=True\)"):
        xp.cuda.elapsed(xp.cuda.record_event(), xp.cuda.record_event())
