"""Counting, forbidding and timing on the CuPy backend."""

import asyncio

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.memory import DeviceMirror, HostStaging
from cunumpy.profiling import (
    Timings,
    TransferBudget,
    assert_no_transfers,
    count_transfers,
    forbid_transfers,
    nvtx_range,
    timed_region,
    watch_array_reads,
)
from recorded_transfers import here


@pytest.fixture(autouse=True)
def cupy_backend():
    with xp.use_backend("cupy", strict=True):
        yield


def texts(counter):
    return [str(event) for event in counter.events]


def test_conversions():
    host = np.ones(3)
    with count_transfers() as counter:
        device = xp.to_cupy(host)
        xp.to_numpy(device)
    assert texts(counter) == [
        f"{here(-3)}: to_device: to_cupy(shape=(3,), dtype=float64)",
        f"{here(-3)}: to_host: to_numpy(shape=(3,), dtype=float64)",
    ]
    assert counter.bytes_to_host == counter.bytes_to_device == 24
    assert all(event.duration > 0 and event.device == 0 for event in counter.events)


def test_reference_only_calls_record_nothing():
    device = xp.to_cupy(np.ones(3))
    with count_transfers() as counter:
        xp.to_cupy(device)
        xp.to_numpy(np.ones(3))
    assert counter.events == []


def test_forbidden_transfer_copies_nothing():
    device = xp.zeros(3)
    with count_transfers() as counter, forbid_transfers():
        device += 1
        for transfer in (
            lambda: xp.to_numpy(device),
            lambda: xp.to_cupy(np.ones(3)),
            lambda: xp.asarray([1.0]),
            lambda: float(device[0]),
        ):
            with pytest.raises(AssertionError, match=r"is forbidden by forbid_transfers\(\) at "):
                transfer()
        xp.synchronize()
    assert [event.kind for event in counter.events] == ["sync"]


def test_synchronize_is_a_wait():
    with count_transfers() as counter:
        xp.synchronize()
    assert texts(counter) == [f"{here(-1)}: sync: synchronize()"]
    with forbid_transfers(syncs=True), pytest.raises(AssertionError, match=r"synchronize\(\) \(sync\) is forbidden"):
        xp.synchronize()


def test_timed_region_waits_twice():
    timings = Timings()
    with count_transfers() as counter, timed_region("r", into=timings) as timing:
        xp.ones(3)
    assert texts(counter) == [f"{here(-2)}: sync: synchronize()"] * 2
    assert timing.synced is True
    assert timings["r"].total == timing.elapsed > 0


def test_device_clock():
    with count_transfers() as counter, timed_region("r", clock="device") as timing:
        xp.ones(3)
    assert counter.syncs == 1
    assert (timing.clock, timing.synced) == ("device", True)
    assert timing.elapsed >= 0


def test_nvtx_range():
    with nvtx_range("r", 1), nvtx_range("s"):
        xp.ones(3)


def test_time_line(tmp_path):
    with count_transfers() as counter, timed_region("region", sync=False):
        xp.to_numpy(xp.ones(3))
    counter.write_trace(tmp_path / "trace.json")
    (region,), (event,) = counter.regions, counter.events
    assert region.time <= event.time
    assert event.time + event.duration <= region.time + region.duration


def test_budget_of_tasks():
    budget = TransferBudget()
    budget.require("output", {"to_host": {"max_nbytes": 24, "max_count": 2}}, calls=2)

    @budget.count("step")
    async def step(x):
        await asyncio.sleep(0)
        with budget.phase("output"):
            xp.to_numpy(x)
        await asyncio.sleep(0)

    async def main():
        await asyncio.gather(step(xp.ones(3)), step(xp.ones(3)))

    asyncio.run(main())
    budget.require("step", calls=2)
    budget.check()


def test_watched_reads_are_counted_once():
    array = xp.ones(3)
    with watch_array_reads(), count_transfers() as counter:
        float(array[0])
        array.sum().item()
        array.get()
    assert [(event.kind, event.implicit) for event in counter.events] == [
        ("sync", True),
        ("sync", True),
        ("to_host", False),
    ]
    with assert_no_transfers():
        array.get()


def test_watched_copies_of_the_memory_module_are_counted_once():
    array, strided = xp.ones(3), np.zeros(6)[::2]
    staging, mirror, other = HostStaging(3, float), DeviceMirror(np.zeros(3)), DeviceMirror(strided)
    copies = [
        lambda: xp.to_host_async(array),
        lambda: staging.copy(array),
        lambda: mirror.to_device().to_host(),
        lambda: other.to_device().to_host(),  # by way of a contiguous copy
    ]
    for copy in copies:
        with count_transfers() as unwatched:
            copy()
        with watch_array_reads(), count_transfers() as counter:
            copy()
        assert [event.label for event in counter.events] == [event.label for event in unwatched.events]
        assert counter.to_host == 1


def test_watched_conversions_are_counted_once():
    array = xp.ones(3)
    with watch_array_reads(), count_transfers() as counter:
        xp.to_numpy(array)
        xp.asnumpy(array)
    assert [event.description for event in counter.events] == [
        "to_numpy(shape=(3,), dtype=float64)",
        "asnumpy(shape=(3,), dtype=float64)",
    ]
