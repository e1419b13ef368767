"""JSON export, and time lines in the Trace Event Format."""

import asyncio
import json
import threading
import time

import pytest

from cunumpy import _backend
from cunumpy.profiling import (
    TransferBudget,
    TransferCounter,
    TransferEvent,
    count_transfers,
    nvtx_range,
    timed_region,
)
from recorded_transfers import here, transfer


@pytest.fixture(autouse=True)
def numpy_backend(monkeypatch):
    monkeypatch.setattr(_backend, "get_backend", lambda: "numpy")


def read_trace(counter, folder):
    """Write and read a trace, check what the format demands, and give its entries without the metadata."""
    path = folder / "trace.json"
    counter.write_trace(path)
    trace = json.loads(path.read_text(encoding="utf-8"))
    entries = [entry for entry in trace["traceEvents"] if entry["ph"] != "M"]
    for entry in trace["traceEvents"]:
        assert {"name", "ph", "pid", "tid"} <= entry.keys()
        assert isinstance(entry["pid"], int)
        assert 0 <= entry["tid"] < 2**31
    assert [entry["ts"] for entry in entries] == sorted(entry["ts"] for entry in entries)
    for entry in entries:
        assert entry["ts"] >= 0
        assert entry["ph"] in ("X", "i")
        if entry["ph"] == "X":
            assert entry["dur"] >= 0
        else:
            assert entry["s"] == "t"
    for track in {entry["tid"] for entry in entries}:
        assert_nested([entry for entry in entries if entry["tid"] == track and entry["ph"] == "X"])
        assert track in names_of_tracks(trace)
    return trace, entries


def names_of_tracks(trace):
    return {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}


def assert_nested(entries):
    ends = []
    for entry in entries:
        end = entry["ts"] + entry["dur"]
        while ends and ends[-1] <= entry["ts"] + 1e-6:
            ends.pop()
        assert not ends or end <= ends[-1] + 1e-6
        ends.append(end)


def named(entries, name):
    return [entry for entry in entries if entry["name"] == name]


def encloses(outer, inner):
    return (
        outer["tid"] == inner["tid"]
        and outer["ts"] <= inner["ts"]
        and inner["ts"] + inner.get("dur", 0) <= outer["ts"] + outer["dur"] + 1e-6
    )


def test_regions_enclose_their_transfers(tmp_path):
    budget = TransferBudget()
    with count_transfers() as counter:
        with timed_region("outer"), budget.phase("phase"), nvtx_range("inner"):
            transfer(nbytes=24, description="instant")
            transfer("sync", None, "wait", started=time.perf_counter(), implicit=True)
        transfer(description="after")
    trace, entries = read_trace(counter, tmp_path)
    (outer,), (phase,), (inner,) = (named(entries, name) for name in ("outer", "phase", "inner"))
    (instant,), (wait,), (after,) = (named(entries, name) for name in ("instant", "wait [implicit]", "after"))
    assert encloses(outer, phase)
    assert encloses(phase, inner)
    assert encloses(inner, instant)
    assert encloses(inner, wait)
    assert not encloses(outer, after)
    assert [e["cat"] for e in (outer, phase, inner, wait)] == ["timed_region", "phase", "nvtx_range", "sync"]
    assert outer["args"] == {"where": here(-13)}
    assert instant["args"] == {
        "kind": "to_host",
        "where": here(-15),
        "bytes": 24,
        "blocking": True,
        "implicit": False,
        "device": None,
    }
    assert (instant["ph"], wait["ph"], inner["ph"]) == ("i", "X", "X")
    assert trace["displayTimeUnit"] == "ms"
    assert abs(trace["otherData"]["start"] - time.time()) < 60
    assert names_of_tracks(trace)[outer["tid"]] == threading.current_thread().name


def test_each_thread_has_its_track(tmp_path):
    barrier = threading.Barrier(3)

    def work():
        barrier.wait()
        with nvtx_range("work"):
            transfer()
            barrier.wait()

    threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(3)]
    with count_transfers(all_threads=True) as counter:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace, entries = read_trace(counter, tmp_path)
    assert sorted(names_of_tracks(trace).values()) == ["worker 0", "worker 1", "worker 2"]
    assert len({entry["tid"] for entry in named(entries, "work")}) == 3


def test_regions_that_overlap_get_tracks_of_their_own(tmp_path):
    async def work(name, steps):
        with nvtx_range(name):
            for _ in range(steps):
                await asyncio.sleep(0)

    async def main():
        await asyncio.gather(work("a", 2), work("b", 4), work("c", 1))

    with count_transfers() as counter:
        asyncio.run(main())
    trace, entries = read_trace(counter, tmp_path)
    assert len(entries) == 3
    assert named(entries, "a")[0]["tid"] != named(entries, "b")[0]["tid"]
    thread = threading.current_thread().name
    assert set(names_of_tracks(trace).values()) == {thread, f"{thread} (2)"}


def test_decorated_coroutine_is_a_region_per_resume(tmp_path):
    @nvtx_range("work")
    async def work():
        await asyncio.sleep(0)

    async def main():
        await asyncio.gather(work(), work())

    with count_transfers() as counter:
        asyncio.run(main())
    trace, entries = read_trace(counter, tmp_path)
    assert len(entries) == 4
    assert len(names_of_tracks(trace)) == 1


def test_events_made_by_hand_have_no_place(tmp_path):
    counter = TransferCounter()
    counter.events.append(TransferEvent("to_host", "x", "w"))
    _, entries = read_trace(counter, tmp_path)
    assert entries == []


def test_regions_are_for_open_counters_only():
    with count_transfers() as counter:
        pass
    with nvtx_range("r"):
        pass
    sums = TransferCounter(keep_events=False)
    with count_transfers(sums), nvtx_range("r"):
        pass
    assert counter.regions == sums.regions == []


def test_region_times():
    with count_transfers() as counter, timed_region("r") as timing:
        pass
    (region,) = counter.regions
    assert region.duration == timing.elapsed
    assert region.where == here(-4)


def test_json():
    with count_transfers() as counter:
        with nvtx_range("r"):
            transfer(nbytes=24)
        transfer(nbytes=24)
        transfer("sync", None, "wait", blocking=True, implicit=True)
    data = json.loads(counter.to_json(indent=2))
    assert data == json.loads(json.dumps(counter.to_dict()))
    assert [TransferEvent(**event) for event in data["events"]] == counter.events
    assert [event["time"] for event in data["events"]] == [event.time for event in counter.events]
    assert data["regions"][0] == counter.regions[0]._asdict()
    assert data["totals"] == [
        {"kind": "to_host", "where": here(-9), "label": "copy", "count": 1, "nbytes": 24},
        {"kind": "to_host", "where": here(-9), "label": "copy", "count": 1, "nbytes": 24},
        {"kind": "sync", "where": here(-9), "label": "wait [implicit]", "count": 1, "nbytes": 0},
    ]
    assert abs(data["clock_epoch"] + data["events"][0]["time"] - time.time()) < 60
