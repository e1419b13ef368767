"""NVTX ranges and timed regions, on the CPU and against a small model of CuPy."""

import asyncio
import pickle
import sys
import threading
import time
import types

import numpy as np
import pytest

from cunumpy import _backend, _conversion, _transfers, errors
from cunumpy.profiling import (
    Timing,
    Timings,
    TimingSummary,
    count_transfers,
    forbid_transfers,
    nvtx_range,
    timed_region,
)
from recorded_transfers import here, library_code, transfer


def make_cupy(log, *, nvtx=True):
    """Make the part of CuPy that regions use; `log` gets every call."""
    cupy = types.ModuleType("cupy")
    cuda = types.ModuleType("cupy.cuda")
    cupy.__path__ = cuda.__path__ = []
    cupy.cuda = cuda
    clock = iter(range(1000))

    class Event:
        def record(self):
            self.at = next(clock)
            log.append(("record", self.at))

        def synchronize(self):
            log.append(("event.synchronize", self.at))

    cuda.Event = Event
    cuda.get_elapsed_time = lambda start, stop: 2.0 * (stop.at - start.at)
    cuda.runtime = types.SimpleNamespace(getDevice=lambda: 1)
    modules = {"cupy": cupy, "cupy.cuda": cuda}
    if nvtx:
        module = types.ModuleType("cupy.cuda.nvtx")
        module.RangePush = lambda message, id_color=-1: log.append(("push", message, id_color))
        module.RangePop = lambda: log.append(("pop",))
        modules["cupy.cuda.nvtx"] = cuda.nvtx = module
    return modules


class Device:
    def __init__(self, monkeypatch):
        self._monkeypatch = monkeypatch
        self.log = []

    def use(self, backend, **options):
        for name in ("cupy", "cupy.cuda", "cupy.cuda.nvtx"):
            self._monkeypatch.delitem(sys.modules, name, raising=False)
        for name, module in make_cupy(self.log, **options).items():
            self._monkeypatch.setitem(sys.modules, name, module)
        self._monkeypatch.setattr(_backend, "get_backend", lambda: backend)


@pytest.fixture
def device(monkeypatch):
    device = Device(monkeypatch)
    (synchronize,) = library_code(
        """
def synchronize():
    if _transfers.watching():
        _transfers.announce("sync", "synchronize()")
    log.append(("synchronize",))
    if _transfers.watching():
        _transfers.record("sync", "synchronize()")
""",
        "synchronize",
        _transfers=_transfers,
        log=device.log,
    )
    monkeypatch.setattr(_conversion, "synchronize", synchronize)
    device.use("cupy")
    return device


class TestNvtxRange:
    def test_attributes_and_repr(self):
        assert repr(nvtx_range("r", 1)) == "nvtx_range(name='r', color=1)"
        assert repr(nvtx_range(3)) == "nvtx_range(name='3', color=None)"
        assert nvtx_range("r", np.int8(2)).color == 2

    @pytest.mark.parametrize("color", ["3", 1.0, [1]])
    def test_color_is_checked_at_construction(self, color):
        with pytest.raises(errors.ArgumentTypeError, match="nvtx_range: argument 'color' must be an integer, got "):
            nvtx_range("r", color)

    @pytest.mark.parametrize("color", [2**31, -(2**31) - 1])
    def test_color_fits(self, color):
        with pytest.raises(errors.ArgumentError, match="argument 'color' must be from -2147483648 to 2147483647, got "):
            nvtx_range("r", color)

    def test_push_and_pop(self, device):
        with nvtx_range("plain"), nvtx_range("colored", np.int64(3)):
            device.log.append("body")
        assert device.log == [("push", "plain", -1), ("push", "colored", 3), "body", ("pop",), ("pop",)]
        assert type(device.log[1][2]) is int

    def test_pops_on_exceptions(self, device):
        with pytest.raises(KeyError), nvtx_range("r"):
            raise KeyError
        assert device.log == [("push", "r", -1), ("pop",)]

    def test_one_object_nests(self, device):
        region = nvtx_range("r")
        with region as first, region as second:
            pass
        assert first is second is region
        assert [entry[0] for entry in device.log] == ["push", "push", "pop", "pop"]

    def test_decorator(self, device):
        @nvtx_range("r")
        def work(n):
            return n and work(n - 1)

        assert work(1) == 0
        assert [entry[0] for entry in device.log] == ["push", "push", "pop", "pop"]

    def test_module_of_the_entry_is_used_at_exit(self, device, monkeypatch):
        region = nvtx_range("r")
        with region:
            monkeypatch.setattr(_backend, "get_backend", lambda: "numpy")
        assert device.log == [("push", "r", -1), ("pop",)]
        with region:
            device.use("cupy")
        assert len(device.log) == 2

    def test_never_waits(self, device):
        with count_transfers() as counter, nvtx_range("r"):
            pass
        assert counter.events == []

    @pytest.mark.parametrize(("backend", "nvtx"), [("numpy", True), ("cupy", False)])
    def test_does_nothing_without_cupy_or_its_nvtx(self, device, backend, nvtx):
        device.use(backend, nvtx=nvtx)
        with nvtx_range("r", 1):
            pass
        assert device.log == []

    def test_pickles(self):
        region = nvtx_range("r", 4)
        with region:
            assert repr(pickle.loads(pickle.dumps(region))) == repr(region)

    def test_one_object_in_several_threads(self, device):
        region = nvtx_range("r")
        inside, leave = threading.Event(), threading.Event()

        def work():
            with region:
                inside.set()
                leave.wait(10)

        thread = threading.Thread(target=work)
        with count_transfers(all_threads=True) as counter:
            thread.start()
            inside.wait(10)
            with region:
                pass
            leave.set()
            thread.join()
        own, other = counter.regions
        assert own.thread_id == threading.get_ident() != other.thread_id
        assert other.time <= own.time
        assert own.duration < other.duration


class TestTiming:
    def test_defaults(self):
        timing = Timing("r")
        assert (timing.name, timing.elapsed, timing.synced) == ("r", None, False)
        assert Timing("r", 1.0, True) == Timing(name="r", elapsed=1.0, synced=True)
        timing.elapsed = 2.0
        assert timing.elapsed == 2.0


class TestTimedRegion:
    def test_measures_on_numpy(self, monkeypatch):
        monkeypatch.setattr(_backend, "get_backend", lambda: "numpy")
        with count_transfers() as counter:
            before = time.perf_counter()
            with timed_region("sleep") as timing:
                assert timing == Timing("sleep", None, False)
                time.sleep(0.002)
            after = time.perf_counter()
        assert 0.002 <= timing.elapsed <= after - before
        assert timing.synced is False
        assert counter.events == []

    def test_set_on_exceptions(self):
        region = timed_region("r")
        timing = region.__enter__()
        region.__exit__(KeyError, KeyError(), None)
        assert timing.elapsed >= 0

    def test_waits_before_the_clock_starts_and_before_it_stops(self, device):
        with count_transfers() as counter, timed_region("r") as timing:
            device.log.append("body")
        assert timing.synced is True
        assert device.log == [("synchronize",), ("push", "r", -1), "body", ("synchronize",), ("pop",)]
        assert [str(event) for event in counter.events] == [f"{here(-4)}: sync: synchronize()"] * 2

    def test_without_waiting(self, device):
        with count_transfers() as counter, timed_region("r", sync=False) as timing:
            pass
        assert timing.synced is False
        assert timing.elapsed >= 0
        assert device.log == [("push", "r", -1), ("pop",)]
        assert counter.events == []

    def test_backend_at_entry_counts(self, device, monkeypatch):
        with timed_region("r") as timing:
            monkeypatch.setattr(_backend, "get_backend", lambda: "numpy")
        assert timing.synced is True
        with timed_region("r") as timing:
            monkeypatch.setattr(_backend, "get_backend", lambda: "cupy")
        assert timing.synced is False

    def test_failing_wait_still_pops_and_sets_the_time(self, device, monkeypatch):
        region = timed_region("r")
        timing = region.__enter__()

        def fail():
            raise RuntimeError("device error")

        monkeypatch.setattr(_conversion, "synchronize", fail)
        with pytest.raises(RuntimeError, match="device error"):
            region.__exit__(None, None, None)
        assert timing.elapsed >= 0
        assert device.log[-1] == ("pop",)

    def test_failing_start_leaves_no_range_open(self, device, monkeypatch):
        def fail():
            raise RuntimeError("device error")

        monkeypatch.setattr(sys.modules["cupy"].cuda, "Event", fail)
        with pytest.raises(RuntimeError, match="device error"), timed_region("r", clock="device"):
            pass
        assert [entry[0] for entry in device.log].count("push") == [entry[0] for entry in device.log].count("pop")

    def test_forbidden_waits(self, device):
        with forbid_transfers(syncs=True):
            with pytest.raises(AssertionError, match="synchronize"), timed_region("r"):
                pass
            with timed_region("r", sync=False):
                pass

    def test_device_clock(self, device):
        with count_transfers() as counter, timed_region("r", clock="device") as timing:
            device.log.append("body")
        assert timing == Timing("r", 0.002, True, "device")
        assert device.log == [
            ("record", 0),
            ("push", "r", -1),
            "body",
            ("record", 1),
            ("event.synchronize", 1),
            ("pop",),
        ]
        assert [str(event) for event in counter.events] == [
            f"{here(-12)}: sync: timed_region('r', clock='device')",
        ]
        assert counter.events[0].device == 1

    def test_device_clock_on_numpy_is_the_hosts(self, device):
        device.use("numpy")
        with timed_region("r", clock="device") as timing:
            pass
        assert (timing.clock, timing.synced) == ("host", False)
        assert timing.elapsed >= 0
        assert device.log == []

    @pytest.mark.parametrize(
        ("options", "kind", "text"),
        [
            ({"clock": "gpu"}, errors.ArgumentError, "clock must be 'host' or 'device', got 'gpu'"),
            ({"clock": "device", "sync": False}, errors.ArgumentError, "use it with sync=True"),
            ({"into": {}}, errors.ArgumentTypeError, "into must be a Timings or None, got {}"),
        ],
    )
    def test_arguments_are_checked(self, options, kind, text):
        with pytest.raises(kind, match=r"^timed_region\(\): .*" + text):
            timed_region("r", **options)

    def test_decorator(self):
        timings = Timings()

        @timed_region("work", into=timings)
        def work(n):
            return n and work(n - 1)

        assert work(3) == 0
        assert timings["work"].count == 4

    def test_suspended_time_is_not_measured(self):
        timings = Timings()

        @timed_region("work", into=timings)
        async def work():
            await asyncio.sleep(0.02)

        asyncio.run(work())
        assert timings["work"].count == 2
        assert timings["work"].total < 0.02

    def test_pickles(self):
        region = timed_region("r", into=Timings())
        with region:
            copied = pickle.loads(pickle.dumps(region))
        assert repr(copied) == repr(region) == "timed_region(name='r', sync=True, clock='host')"
        with copied:
            pass


class TestTimings:
    def test_accumulates(self):
        timings = Timings()
        for seconds in (3.0, 1.0, 2.0):
            timings.add(Timing("a", seconds))
        timings.add(Timing("b", 5.0))
        assert timings["a"] == TimingSummary(count=3, total=6.0, minimum=1.0, maximum=3.0)
        assert timings["a"].mean == 2.0
        assert list(timings) == ["a", "b"]
        assert len(timings) == 2
        assert dict(timings)["b"].count == 1

    def test_report(self):
        timings = Timings()
        timings.add(Timing("a long name", 0.25))
        timings.add(Timing("a long name", 0.75))
        head, line = timings.report().splitlines()
        assert head.split() == ["region", "count", "total", "mean", "min", "max"]
        assert line.split() == ["a", "long", "name", "2", "1.000e+00", "5.000e-01", "2.500e-01", "7.500e-01"]
        assert len(head) == len(line)

    def test_running_region_is_refused(self):
        timings = Timings()
        with pytest.raises(errors.ArgumentError, match="the region 'a' is still running"):
            timings.add(Timing("a"))
        assert len(timings) == 0
        with pytest.raises(errors.ArgumentTypeError, match="timing must be a Timing, got 'a'"):
            timings.add("a")

    def test_threads(self):
        timings = Timings()

        def work():
            for _ in range(200):
                timings.add(Timing("a", 1.0))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert timings["a"] == TimingSummary(1600, 1600.0, 1.0, 1.0)

    def test_pickles(self):
        timings = Timings()
        timings.add(Timing("a", 1.0))
        copied = pickle.loads(pickle.dumps(timings))
        copied.add(Timing("a", 1.0))
        assert (timings["a"].count, copied["a"].count) == (1, 2)


def test_transfers_know_their_device(device):
    with count_transfers() as counter:
        transfer()
        transfer(device=0)
    assert [event.device for event in counter.events] == [1, 0]
    device.use("numpy")
    sys.modules["cupy"].cuda.runtime = None  # as without a driver
    with count_transfers() as counter:
        transfer()
    assert counter.events[0].device is None
