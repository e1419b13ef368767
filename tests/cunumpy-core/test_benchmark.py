"""`benchmark` and its result: what is measured, what is refused, and the numbers and pictures made of it."""

import gc
import json
import pickle
import time

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from cunumpy.profiling import BenchmarkResult, benchmark

TIMES = np.array([4.0, 1.0, 3.0, 2.0, 100.0]) * 1e-6


def test_calls_are_counted_and_their_arguments_passed_on():
    calls = []

    def function(*args, **kwargs):
        calls.append((args, kwargs))
        time.sleep(2e-5)

    result = benchmark(function, (1, 2), {"c": 3}, n_repeat=7, n_warmup=2)
    assert calls == [((1, 2), {"c": 3})] * 9
    assert result.name == "function"
    assert result.number == 1
    assert result.times.shape == (7,)
    assert result.times.min() >= 2e-5
    np.testing.assert_array_equal(result.times, result.cpu_times)
    assert result.gpu_times is None


def test_short_calls_are_measured_together():
    calls = []
    result = benchmark(lambda: calls.append(1), n_repeat=5, n_warmup=3, name="append")
    assert result.name == "append"
    assert result.number > 1
    assert len(calls) == 3 + 5 * result.number


def test_without_warm_up_the_first_call_is_measured():
    calls = []

    def function():
        if not calls:
            time.sleep(0.01)
        calls.append(1)

    result = benchmark(function, n_repeat=3, n_warmup=0)
    assert result.times[0] > 0.01 > result.times[1]


def test_it_ends_after_its_time_but_not_before_one_repeat():
    result = benchmark(time.sleep, (0.02,), n_warmup=0, max_duration=0.05)
    assert 1 <= len(result.times) <= 3
    assert len(benchmark(time.sleep, (0.01,), n_warmup=0, max_duration=1e-9).times) == 1


def test_the_garbage_collector_is_off_meanwhile_and_as_before_afterwards():
    states = []
    benchmark(lambda: states.append(gc.isenabled()), n_repeat=1, n_warmup=0)
    assert states == [False]
    assert gc.isenabled()

    def fails():
        raise RuntimeError("of the function itself")

    with pytest.raises(RuntimeError, match="of the function itself"):
        benchmark(fails, n_warmup=0)
    assert gc.isenabled()
    gc.disable()
    try:
        benchmark(sum, ((),), n_repeat=1)
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        ((xp.ones(3),), {}, ArgumentTypeError, "argument 'function' must be a function.*its arguments go into args"),
        (
            (sum, [1, 2]),
            {},
            ArgumentTypeError,
            r"argument 'args' must be a tuple, as \(x,\) for one, got list \(\[1, 2\]\)",
        ),
        ((sum, np.ones(3)), {}, ArgumentTypeError, r"argument 'args' must be a tuple, .*, got numpy\.ndarray"),
        ((sum, (), 3), {}, ArgumentTypeError, "argument 'kwargs' must map names to arguments, got 3"),
        ((sum, ((),)), {"n_repeat": 0}, ArgumentError, "argument 'n_repeat' must be at least 1, got 0"),
        (
            (sum, ((),)),
            {"n_repeat": 1e4},
            ArgumentTypeError,
            r"argument 'n_repeat' must be an integer, got float \(10000\.0\)",
        ),
        ((sum, ((),)), {"n_warmup": -1}, ArgumentError, "argument 'n_warmup' must be at least 0, got -1"),
        (
            (sum, ((),)),
            {"max_duration": 0},
            ArgumentError,
            "argument 'max_duration' must be a positive number of seconds",
        ),
        ((sum, ((),)), {"max_duration": "2"}, ArgumentTypeError, r"argument 'max_duration' must be a number, got str"),
        (
            (sum, ((),)),
            {"device": "cupy"},
            ArgumentTypeError,
            r"argument 'device' must be True, False or None, got str",
        ),
        ((sum, ((),)), {"name": 3}, ArgumentTypeError, "argument 'name' must be a str or None, got 3"),
    ],
)
def test_what_is_refused(arguments, options, error, text):
    with pytest.raises(error, match=f"benchmark: {text}"):
        benchmark(*arguments, **options)


def test_asking_for_a_device_that_is_not_there():
    if xp.cupy_available():
        pytest.skip("this machine has a GPU; tests/gpu covers it")
    with pytest.raises(MissingPackageError):
        benchmark(sum, ((),), device=True)


def test_percentiles():
    result = BenchmarkResult("f", TIMES, TIMES)
    assert result.median == 3e-6
    assert result.minimum == 1e-6
    assert result.percentile(95) == pytest.approx(np.percentile(TIMES, 95))
    for q in (-1, 101, float("nan")):
        with pytest.raises(ArgumentError, match=r"BenchmarkResult\.percentile: argument 'q' must be from 0 to 100"):
            result.percentile(q)
    with pytest.raises(ArgumentTypeError, match=r"argument 'q' must be a number, got str \('median'\)"):
        result.percentile("median")


def test_texts():
    result = BenchmarkResult("f", TIMES, TIMES, number=8)
    assert str(result) == "f: 3 us (1.2 us to 80.8 us, 5 repeats of 8 calls)"
    assert repr(result) == str(result)
    lines = result.report().splitlines()
    assert lines[0] == "f: 5 repeats of 8 calls"
    assert lines[1].split() == ["median", "min", "5", "%", "25", "%", "75", "%", "95", "%", "max"]
    assert lines[2].split()[:6] == ["a", "call", "3", "us", "1", "us"]
    on_device = BenchmarkResult("f", TIMES, TIMES / 2, TIMES / 4)
    assert str(on_device).endswith("; of this the device works 750 ns, the host submits in 1.5 us")
    assert [line.split("  ")[0].strip() for line in on_device.report().splitlines()[2:]] == [
        "a call",
        "the host's part",
        "the device's work",
    ]


def test_tables_in_notebooks_hold_text_alone():
    html = BenchmarkResult("<b>f</b>", TIMES, TIMES)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;f&lt;/b&gt;: 5 repeats" in html
    assert html.count("<tr>") == 2


def test_plain_data():
    result = BenchmarkResult("f", TIMES, TIMES, TIMES / 2)
    data = json.loads(json.dumps(result.to_dict()))
    assert data["times"] == TIMES.tolist()
    assert data["gpu_times"] == (TIMES / 2).tolist()
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def ax():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def test_picture_of_a_benchmark(ax):
    result = BenchmarkResult("f", TIMES, TIMES / 2, TIMES / 4)
    assert result.plot(ax) is ax
    assert ax.get_xlabel() == "time in us"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(legend) == ["5 %: 1.2 us", "95 %: 80.8 us", "a call", "median: 3 us", "the device's work"]
    drawn = [patch.get_path().get_extents() for patch in ax.patches]
    assert max(extent.y1 for extent in drawn) >= 1  # repeats


def test_picture_of_timings(ax):
    timings = xp.profiling.Timings()
    for name, seconds in (("short", 1.0), ("long", 3.0), ("short", 0.5)):
        timings.add(xp.profiling.Timing(name, seconds))
    timings.plot(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["long", "short"]
    assert [bar.get_width() for bar in ax.patches] == [3.0, 1.5]
    assert [text.get_text() for text in ax.texts] == ["1 x 3 s", "2 x 750 ms"]


def test_picture_of_transfers(ax):
    counter = xp.profiling.TransferCounter()
    Event, Region = xp.profiling.TransferEvent, xp.profiling.Region
    counter.regions.append(Region("step", "timed_region", "a.py:1", 10.0, 2.0, "main", 1))
    counter.events.append(Event("to_host", "copy", "a.py:2", 2_000_000, time=10.5, duration=0.25))
    counter.events.append(Event("sync", "wait", "a.py:3", time=11.0, duration=0.5))
    counter.events.append(Event("to_host", "made by hand", "a.py:4"))  # has no place in time
    counter.plot(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["step", "to_host (1, 2 MB)", "sync (1)"]
    spans = [bars.get_paths()[0].get_extents() for bars in ax.collections if bars.get_facecolor().size]
    assert [(span.x0, span.width) for span in spans[:3]] == [(0.0, 2.0), (0.5, 0.25), (1.0, 0.5)]


def test_picture_of_nothing(ax):
    xp.profiling.TransferCounter().plot(ax)
    assert ax.get_title() == "nothing was recorded"


def test_counters_without_events_can_not_be_drawn():
    with pytest.raises(ArgumentError, match=r"plot\(\) needs the events, and this counter was made with keep_events="):
        xp.profiling.TransferCounter(keep_events=False).plot()


def test_without_matplotlib_the_error_says_what_to_do(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for thing in (BenchmarkResult("f", TIMES, TIMES), xp.profiling.Timings(), xp.profiling.TransferCounter()):
        with pytest.raises(MissingPackageError, match=rf"{type(thing).__name__}\.plot\(\) .* Run: uv add matplotlib"):
            thing.plot()


# --- tables -----------------------------------------------------------------------------------------------------------


def test_tables_of_counters_budgets_and_timings():
    budget = xp.profiling.TransferBudget()
    budget.require("step", calls=2)
    with budget.phase("step"), budget.phase("<output>"):
        pass
    event = xp.profiling.TransferEvent("to_host", "to_numpy(<shape>)", "run.py:7", 24)
    budget["<output>"].events.append(event)
    html = budget._repr_html_()
    assert "&lt;output&gt;" in html
    assert '<td style="text-align: left">to_host</td>' in html
    assert "to_numpy(&lt;shape&gt;)" in html
    assert "<th>broken rules</th>" in html
    assert "step: 1 call(s), expected 2" in html
    counter = budget["<output>"]
    assert "1 transfers, 0 waits" in counter._repr_html_()
    assert "24 B" in counter._repr_html_()
    timings = xp.profiling.Timings()
    timings.add(xp.profiling.Timing("push", 0.25))
    assert "250 ms" in timings._repr_html_()
