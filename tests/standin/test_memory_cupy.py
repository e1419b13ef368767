"""Staging and mirrors with device arrays: the copies, the waits, and what is refused."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import cupy
import cupyx
import numpy as np
import pytest

import cunumpy as xp
from array_kinds import ARRAYS, ArrayKind, assert_same_values
from cunumpy.errors import ArgumentError, ArgumentTypeError, StaleResultError, TransferError
from cunumpy.memory import DeviceMirror, HostStaging, _copies


@pytest.fixture(autouse=True)
def on_cupy():
    with xp.use_backend("cupy"):
        yield


class PendingEvent(cupy.cuda.Event):
    """An event that is done once somebody waits for it: the stand-in's own are done at once."""

    waited = False

    @property
    def done(self) -> bool:
        return self.waited

    def synchronize(self) -> None:
        super().synchronize()
        self.waited = True


@pytest.fixture
def pending(monkeypatch) -> None:
    """Copies are under way until somebody waits for them."""
    monkeypatch.setattr(cupy.cuda, "Event", PendingEvent)


def kinds_of(counter) -> list[tuple[str, str]]:
    return [(event.kind, event.description) for event in counter.events]


# --- to_host_async ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_to_host_async_looks_at_the_array(backend, pending) -> None:
    array = cupy.asarray(np.arange(6.0).reshape(2, 3)).T
    with xp.use_backend(backend), xp.profiling.count_transfers() as counter:
        copied = xp.to_host_async(array)
        assert not copied.ready()
        result = copied.result()
        assert copied.result() is result
    np.testing.assert_array_equal(result, array.get())
    assert result.flags.c_contiguous
    assert kinds_of(counter) == [
        ("to_host", "to_host_async(shape=(3, 2), dtype=float64)"),
        ("sync", "to_host_async(...).result()"),
    ]
    assert [event.blocking for event in counter.events] == [False, True]


def test_to_host_async_of_odd_shapes() -> None:
    scalar = xp.to_host_async(cupy.asarray(np.float32(2.5))).result()
    assert isinstance(scalar, np.float32)
    assert scalar == 2.5
    assert xp.to_host_async(cupy.zeros((0, 3))).result().shape == (0, 3)


def test_a_finished_copy_is_not_waited_for() -> None:
    with xp.profiling.count_transfers() as counter:
        copied = xp.to_host_async(cupy.zeros(2))
        cupy.cuda.Device().synchronize()
        copied.result()
    assert counter.syncs == 0


def test_the_source_lives_until_the_copy_is_done(pending) -> None:
    array = cupy.zeros(2)
    alive = weakref.ref(array)
    xp.to_host_async(array)  # the handle is dropped, the copy goes on
    del array
    assert alive() is not None
    [entry[0].synchronize() for entry in _copies._under_way.values()]
    xp.to_host_async(cupy.zeros(1)).result()
    assert alive() is None


# --- HostStaging ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in ARRAYS if kind.values is not None], ids=str)
def test_every_kind_through_staging(kind: ArrayKind, tmp_path) -> None:
    array = xp.to_cupy(kind.make(tmp_path))
    copied = HostStaging(array.shape, array.dtype).copy(array)
    assert_same_values(copied.result(), kind)


def test_a_staged_copy_is_a_snapshot_and_is_recorded(pending) -> None:
    staging, array = HostStaging(3, float), cupy.zeros(3)
    with xp.profiling.count_transfers() as counter:
        copied = staging.copy(array)
        array += 1.0
        assert not copied.ready()
        assert repr(copied) == "StagedCopy(shape=(3,), dtype=float64, state='pending')"
        np.testing.assert_array_equal(copied.result(), [0.0, 0.0, 0.0])
        copied.result()
    assert kinds_of(counter) == [
        ("to_host", "HostStaging.copy((3,) float64)"),
        ("sync", "HostStaging.copy(...).result()"),
    ]
    assert counter.events[0].blocking is False
    assert counter.bytes_to_host == 24


def test_waits_for_a_busy_buffer_and_of_synchronize_are_counted(pending) -> None:
    staging = HostStaging(2, float, buffers=1)
    with xp.profiling.count_transfers() as counter:
        staging.copy(cupy.zeros(2))
        staging.copy(cupy.ones(2))
        staging.synchronize()
        staging.synchronize()
    assert [description for kind, description in kinds_of(counter) if kind == "sync"] == [
        "HostStaging.copy(...) waits for buffer 0",
        "HostStaging.synchronize()",
    ]


def test_a_forbidden_copy_uses_no_buffer() -> None:
    staging = HostStaging(2, float, buffers=1)
    kept = staging.copy(cupy.ones(2))
    with xp.profiling.forbid_transfers(), pytest.raises(TransferError, match="HostStaging"):
        staging.copy(cupy.zeros(2))
    np.testing.assert_array_equal(kept.result(), [1.0, 1.0])


def test_host_and_device_arrays_take_turns() -> None:
    staging = HostStaging(2, float, buffers=1)
    host = staging.copy(np.full(2, 1.0)).result()
    on_device = staging.copy(cupy.full(2, 2.0)).result()
    again = staging.copy(np.full(2, 3.0)).result()
    assert [result[0] for result in (host, on_device, again)] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("fails", [(cupy, "empty"), (cupy.cuda, "get_current_stream"), (cupyx, "empty_pinned")])
@pytest.mark.parametrize("keep_view", [False, True])
def test_a_copy_that_fails_leaves_the_earlier_one_readable(monkeypatch, fails, keep_view: bool) -> None:
    def fail(*args):
        raise MemoryError

    staging = HostStaging(2, float, buffers=1)
    kept = staging.copy(np.ones(2))
    view = kept.result() if keep_view else None
    with monkeypatch.context() as patch:
        patch.setattr(*fails, fail)
        with pytest.raises(MemoryError):
            staging.copy(cupy.zeros(2))
    np.testing.assert_array_equal(kept.result(), [1.0, 1.0])
    del view
    np.testing.assert_array_equal(staging.copy(cupy.zeros(2)).result(), [0.0, 0.0])


def test_a_copy_that_fails_half_way_makes_the_earlier_one_stale(monkeypatch) -> None:
    def fail(*args):
        raise RuntimeError("half-way")

    staging = HostStaging(2, float, buffers=1)
    kept = staging.copy(cupy.ones(2))
    cupy.cuda.Device().synchronize()
    with monkeypatch.context() as patch:
        patch.setattr(cupy, "copyto", fail)
        with xp.profiling.count_transfers() as counter, pytest.raises(RuntimeError, match="half-way"):
            staging.copy(cupy.zeros(2))
    assert counter.events == []
    with pytest.raises(StaleResultError):
        kept.result()


def test_a_reused_buffer_is_noticed() -> None:
    staging = HostStaging((), float, buffers=1)
    first = staging.copy(cupy.asarray(1.0))
    staging.copy(cupy.asarray(2.0))
    with pytest.raises(StaleResultError, match="was reused"):
        first.result()


def test_streams_and_events() -> None:
    staging, array = HostStaging(2, float), cupy.ones(2)
    stream, event = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event()
    event.record()
    stream.wait_event(event)
    for options in ({"stream": stream}, {"event": event}, {"stream": cupy.cuda.Stream.null}):
        np.testing.assert_array_equal(staging.copy(array, **options).result(), [1.0, 1.0])
    with pytest.raises(ArgumentError, match="only one"):
        staging.copy(array, stream=stream, event=event)
    for options in ({"stream": object()}, {"event": object()}, {"stream": event}, {"event": stream}):
        [name] = options
        with pytest.raises(ArgumentTypeError, match=rf"HostStaging\.copy: argument '{name}' must be a cupy\.cuda\."):
            staging.copy(array, **options)
    elsewhere = cupy.cuda.Stream()
    elsewhere.device_id = 1
    with pytest.raises(ArgumentError, match="'stream' belongs to CUDA device 1 and the current device is 0"):
        staging.copy(array, stream=elsewhere)


def test_the_snapshot_is_ordered_behind_the_event_and_before_the_copy(monkeypatch) -> None:
    log: list[tuple[str, int]] = []
    stream_class = cupy.cuda.Stream
    for name in ("record", "wait_event"):
        original = getattr(stream_class, name)

        def logged(self, event=None, name=name, original=original):
            log.append((name, self.ptr))
            return original(self, event)

        monkeypatch.setattr(stream_class, name, logged)
    given = cupy.cuda.Event()
    HostStaging(2, float).copy(cupy.ones(2), event=given)
    current = cupy.cuda.get_current_stream().ptr
    own = log[-1][1]
    assert own != current
    assert log == [("wait_event", current), ("record", current), ("wait_event", own), ("record", own)]


def test_arrays_of_another_device_are_refused(monkeypatch) -> None:
    staging, array = HostStaging(2, float), cupy.ones(2)
    staging.copy(array)

    class Second(cupy.cuda.Device):
        def __init__(self, device=None):
            super().__init__(1 if device is None else device)

    monkeypatch.setattr(cupy.cuda, "Device", Second)
    with pytest.raises(
        ArgumentError, match=r"'array' is on CUDA device 0 and the current device is 1; .*array\.device"
    ):
        staging.copy(array)
    monkeypatch.setattr(cupy.ndarray, "device", Second())
    with pytest.raises(ArgumentError, match="bound to CUDA device 0, where it was used first"):
        staging.copy(array)


def test_threads_share_a_staging_of_device_arrays() -> None:
    staging = HostStaging(1000, float, buffers=8)
    start = threading.Barrier(8)

    def work(thread: int) -> int:
        start.wait()
        held = []
        for step in range(20):
            value = thread * 100.0 + step
            copied = staging.copy(cupy.full(1000, value))
            try:
                held.append((value, copied.result()))
            except StaleResultError:
                continue
        assert all((result == value).all() for value, result in held)
        return len(held)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) > 0


# --- DeviceMirror -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in ARRAYS if kind.writable], ids=str)
def test_every_kind_as_a_mirror(kind: ArrayKind, tmp_path) -> None:
    host = kind.make(tmp_path)
    mirror = DeviceMirror(host)
    array = mirror.device
    assert isinstance(array, cupy.ndarray)
    assert mirror.device is array
    assert_same_values(array.get(), kind)
    mirror.zero()
    assert mirror.device is array
    np.testing.assert_array_equal(np.asarray(host), kind.values)  # zero() touches the device side only
    assert mirror.to_host().host is host
    assert not np.asarray(host).any()
    host[...] = kind.values
    assert mirror.to_device().device is array
    assert_same_values(array.get(), kind)


def test_what_a_mirror_records() -> None:
    mirror = DeviceMirror(np.ones(3))
    with xp.profiling.count_transfers() as counter:
        mirror.to_host()  # nothing to copy yet
        mirror.device  # noqa: B018
        mirror.to_device()
        mirror.to_device(stream=cupy.cuda.Stream())
        mirror.to_host()
    assert kinds_of(counter) == [
        ("to_device", "to_cupy(shape=(3,), dtype=float64)"),
        ("to_device", "DeviceMirror.to_device(shape=(3,), dtype=float64)"),
        ("to_device", "DeviceMirror.to_device(shape=(3,), dtype=float64)"),
        ("to_host", "DeviceMirror.to_host(shape=(3,), dtype=float64)"),
        ("sync", "DeviceMirror.to_host(shape=(3,), dtype=float64)"),
    ]
    assert [event.blocking for event in counter.events] == [True, True, False, True, True]


def test_zero_allocates_without_a_transfer() -> None:
    mirror = DeviceMirror(np.ones((2, 3), order="F"))
    with xp.profiling.forbid_transfers():
        mirror.zero()
    assert mirror.device.flags.f_contiguous
    assert not mirror.device.get().any()
    assert repr(mirror) == "DeviceMirror(shape=(2, 3), dtype=float64, buffer='device')"


def test_the_numpy_backend_does_not_show_old_data() -> None:
    mirror = DeviceMirror(np.zeros(2))
    array = mirror.device
    array += 1.0
    with xp.use_backend("numpy"):
        with pytest.raises(StaleResultError, match=r"device array may have been written to.*call to_host\(\) first"):
            mirror.device  # noqa: B018
        np.testing.assert_array_equal(mirror.to_host().device, [1.0, 1.0])
        with xp.profiling.forbid_transfers():
            mirror.to_host()  # nothing newer on the device: what was written to the host array stays
        mirror.zero()
    with pytest.raises(StaleResultError, match=r"host array has been set .*call to_device\(\) first"):
        mirror.device  # noqa: B018
    np.testing.assert_array_equal(mirror.to_device().device.get(), [0.0, 0.0])


def test_to_device_on_numpy_declares_the_host_array_right() -> None:
    mirror = DeviceMirror(np.zeros(2))
    mirror.zero()
    with xp.use_backend("numpy"):
        mirror.host[...] = 3.0
        assert mirror.to_device().device is mirror.host
    with pytest.raises(StaleResultError, match="to_device"):
        mirror.device  # noqa: B018
    np.testing.assert_array_equal(mirror.to_device().device.get(), [3.0, 3.0])


def test_rebind_keeps_or_drops_the_device_array() -> None:
    mirror = DeviceMirror(np.zeros(2))
    array = mirror.device
    array += 1.0
    other = np.full(2, 7.0)
    assert mirror.rebind(other).device is array
    np.testing.assert_array_equal(array.get(), [1.0, 1.0])
    mirror.to_host()
    np.testing.assert_array_equal(other, [1.0, 1.0])
    assert repr(mirror.rebind(np.zeros(3))).endswith("buffer='host')")
    assert mirror.device.shape == (3,)


def test_a_resized_host_array_is_noticed_before_any_copy() -> None:
    host = np.zeros(3)
    mirror = DeviceMirror(host).zero()
    host.resize(5, refcheck=False)
    with xp.profiling.forbid_transfers():
        for act in (mirror.to_device, mirror.to_host, mirror.zero, lambda: mirror.device):
            with pytest.raises(ArgumentError, match=r"\(5,\).*\(3,\).*rebind"):
                act()


def test_streams_and_events_of_a_mirror() -> None:
    mirror = DeviceMirror(np.zeros(2)).to_device()
    stream, event = cupy.cuda.Stream(), cupy.cuda.Event()
    mirror.to_host(stream=stream).to_host(event=event)
    with pytest.raises(ArgumentError, match=r"DeviceMirror\.to_host: only one"):
        mirror.to_host(stream=stream, event=event)
    for act in (mirror.to_host, mirror.to_device):
        with pytest.raises(ArgumentTypeError, match=r"'stream' must be a cupy\.cuda\.Stream, got object"):
            act(stream=object())
        elsewhere = cupy.cuda.Stream()
        elsewhere.device_id = 1
        with pytest.raises(ArgumentError, match="'stream' belongs to CUDA device 1"):
            act(stream=elsewhere)
    with pytest.raises(ArgumentTypeError, match=r"'event' must be a cupy\.cuda\.Event"):
        mirror.to_host(event=object())


def test_another_current_device_is_refused_before_any_copy(monkeypatch) -> None:
    mirror = DeviceMirror(np.zeros(2)).to_device()

    class Second(cupy.cuda.Device):
        def __init__(self, device=None):
            super().__init__(1 if device is None else device)

    monkeypatch.setattr(cupy.cuda, "Device", Second)
    with xp.profiling.forbid_transfers():
        for act in (mirror.to_device, mirror.to_host, mirror.zero, lambda: mirror.device):
            with pytest.raises(ArgumentError, match=r"bound to CUDA device 0.*current device is 1"):
                act()


def test_threads_get_one_device_array() -> None:
    mirror = DeviceMirror(np.zeros(1000))
    start = threading.Barrier(8)

    def work(thread: int) -> int:
        start.wait()
        with xp.use_backend("cupy"):
            for _ in range(20):
                array = mirror.device
                mirror.to_host()
        return id(array)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(8)))) == 1
