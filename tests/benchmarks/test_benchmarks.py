"""The benchmarks' timing, table and command. No time is judged here: the clocks are made up."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import __main__ as command
from benchmarks import _measure, _memory, _process, _report, kernel_kinds, rows

Effort, measure = _measure.Effort, _measure.measure
Result = _report.Result
ROWS, Row = rows.ROWS, rows.Row

ROOT = Path(__file__).parents[2]
ONCE = Effort(processes=1, rounds=1, tries=1, seconds=0.0)


def row(name="r", *, target=None, unit="", against="`theirs`"):
    return Row(name, f"`{name}`", against, target, lambda effort: [], unit)


class Side:
    """A timer on a made-up clock: a fixed cost of each call, and delays of some calls."""

    def __init__(self, name, seconds, log, delays=()):
        self.name, self.seconds, self.log, self.delays = name, seconds, log, list(delays)

    def __call__(self, number):
        self.log.append((self.name, number))
        return number * self.seconds + (self.delays.pop(0) if self.delays else 0.0)


# --- timing -----------------------------------------------------------------------------------------------------------


@given(ours=st.floats(1e-9, 1.0), theirs=st.floats(1e-9, 1.0), rounds=st.integers(1, 4), tries=st.integers(1, 4))
def test_each_side_gets_its_own_cost(ours, theirs, rounds, tries):
    effort = Effort(processes=1, rounds=rounds, tries=tries, seconds=0.01)
    measured = measure(effort, Side("ours", ours, []), Side("theirs", theirs, []))
    assert len(measured) == rounds
    for round_ in measured:
        assert round_ == pytest.approx((ours, theirs), rel=1e-12)


def test_sides_take_turns_and_each_comes_first_equally_often():
    log = []
    measure(Effort(1, rounds=2, tries=2, seconds=0.0), Side("ours", 1.0, log), Side("theirs", 1.0, log))
    warm_up, timed = log[:4], log[4:]
    assert [name for name, _ in warm_up] == ["ours", "ours", "theirs", "theirs"]
    assert [name for name, _ in timed] == ["ours", "theirs", "theirs", "ours"] * 2


def test_a_round_keeps_the_fastest_try_of_each_side():
    warm_up = [0.0, 0.0]
    ours = Side("ours", 1.0, [], [*warm_up, 5.0, 0.25, 3.0])
    theirs = Side("theirs", 2.0, [], [*warm_up, 0.5, 7.0, 9.0])
    assert measure(Effort(1, rounds=1, tries=3, seconds=0.0), ours, theirs) == [(1.25, 2.5)]


def test_alone_a_side_is_compared_with_nothing():
    assert measure(ONCE, Side("ours", 3.0, [])) == [(3.0, 0.0)]


@given(cost=st.floats(1e-9, 10.0), seconds=st.floats(1e-4, 1.0))
def test_tries_last_long_enough_and_not_much_longer(cost, seconds):
    log = []
    measure(Effort(1, rounds=1, tries=1, seconds=seconds), Side("ours", cost, log))
    _, number = log[-1]
    assert number * cost >= seconds
    assert number == 1 or number // 2 * cost < seconds


def test_a_slow_first_use_does_not_shorten_the_tries():
    log = []
    measure(Effort(1, rounds=1, tries=1, seconds=1.0), Side("ours", 0.125, log, [60.0]))
    assert log[-1] == ("ours", 8)


def test_statement_runs_as_often_as_told():
    found = []
    assert _measure.statement("found.append(1)", found=found)(7) > 0
    assert len(found) == 7


# --- figures ----------------------------------------------------------------------------------------------------------


def test_figures_are_ratios_or_differences_in_the_unit():
    rounds = [(3e-6, 2e-6), (5e-6, 2e-6)]
    assert _measure.figures(rounds, "") == pytest.approx([1.5, 2.5])
    assert _measure.figures(rounds, "us") == pytest.approx([1.0, 3.0])
    assert _measure.figures(rounds, "ns") == pytest.approx([1000.0, 3000.0])
    assert _measure.figures([(0.002, 0.0)], "ms") == pytest.approx([2.0])
    assert _measure.figures([(5_000_000, 0.0)], "MB") == pytest.approx([5.0])


@given(st.lists(st.floats(0.0, 1e3), min_size=2, max_size=30))
def test_quartiles(values):
    assert _measure.quartiles(values) == pytest.approx(
        statistics.quantiles(values, n=4, method="inclusive"), rel=1e-9, abs=1e-9
    )


def test_the_figure_of_a_row_is_the_median_of_its_rounds():
    result = Result(row(target=1.2), [(1.0, 1.0), (9.0, 1.0), (1.25, 1.0)])
    assert result.quartiles == pytest.approx((1.125, 1.25, 5.125))
    assert result.met is False
    assert Result(row(target=1.25), result.rounds).met is True
    assert Result(row(), result.rounds).met is None
    assert Result(row(target=1.25), None).met is None


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("everywhere", [False, True], ids=["resident", "allocated"])
def test_peak_counts_what_was_freed_again(everywhere, monkeypatch, tmp_path):
    if everywhere:  # what a system without /proc has
        monkeypatch.setattr(_memory, "CLEAR", tmp_path / "none")
    megabytes = 64

    def take_twice_and_give_back_half():
        first = np.ones(megabytes << 20, np.int8)
        return first + 1

    above, result = _memory.peak(take_twice_and_give_back_half)
    assert result.nbytes == megabytes << 20
    assert above / (1 << 20) == pytest.approx(2 * megabytes, abs=16)
    above, _ = _memory.peak(lambda: None)
    assert above < 16 << 20


def test_size_counts_the_arrays():
    assert _memory.size((np.zeros(3), 7, (np.zeros(2, np.int8),))) == 26
    assert _memory.size(5) == 0


# --- the table --------------------------------------------------------------------------------------------------------

RESULTS = [
    Result(row("fast", target=1.02), [(1.0, 1.0)] * 3),
    Result(row("slow", target=1.02), [(1.0204, 1.0)] * 3),
    Result(row("added", target=0.7, unit="us"), [(1.5e-6, 1e-6)] * 3),
    Result(row("alone", target=6, unit="us", against=""), [(7.126e-6, 0.0)] * 3),
    Result(row("free"), [(123.4, 1.0)] * 3),
    Result(row("broken", target=3), None),
]


def test_cells():
    assert [_report.cells(result) for result in RESULTS] == [
        ("`fast`", "`theirs`", "<= 1.02", "1.000", "1.000 to 1.000", "met"),
        ("`slow`", "`theirs`", "<= 1.02", "1.020", "1.020 to 1.020", "missed"),
        ("`added`", "`theirs`", "<= + 0.7 us", "+ 0.5 us", "+ 0.5 us to + 0.5 us", "met"),
        ("`alone`", "", "<= 6 us", "7.13 us", "7.13 us to 7.13 us", "missed"),
        ("`free`", "`theirs`", "", "123", "123 to 123", ""),
        ("`broken`", "`theirs`", "<= 3", "", "", "failed"),
    ]


def test_a_difference_below_zero_has_one_sign():
    assert _report.figure_text(row(unit="us"), -0.25e0) == "-0.25 us"


def test_text_table_is_aligned():
    lines = _report.text_table(RESULTS).splitlines()
    assert len(lines) == 2 + len(RESULTS)
    assert "`" not in "".join(lines)
    starts = [line.index(text) for line, text in zip(lines, ("measured", None, "1.000", "1.020"), strict=False) if text]
    assert len(set(starts)) == 1


def test_markdown_table_has_a_line_a_row():
    lines = _report.markdown_table(RESULTS).splitlines()
    assert len(lines) == 2 + len(RESULTS)
    assert {line.count("|") for line in lines} == {7}
    assert lines[2] == "| `fast` | `theirs` | <= 1.02 | 1.000 | 1.000 to 1.000 | met |"
    assert lines[6] == "| `free` | `theirs` | | 123 | 123 to 123 | |"


def test_summary_names_what_failed_and_what_is_missed():
    assert _report.summary(RESULTS).splitlines() == [
        "failed: broken",
        "target missed: slow: 1.020, target <= 1.02",
        "target missed: alone: 7.13 us, target <= 6 us",
        "2 of 4 measured targets met",
    ]


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def measured(monkeypatch):
    """Make the command measure rows by looking them up; returns what to look them up in."""
    rounds = {}

    def run_row(row, effort):
        if row.name not in rounds:
            raise _process.RowError("it broke")
        return rounds[row.name]

    monkeypatch.setattr(command, "run_row", run_row)
    return rounds


def test_the_exit_status_says_what_failed_and_strictly_what_is_missed(measured, capsys):
    table = [row("a", target=1.5), row("b", target=1.5)]
    measured.update(a=[(1.0, 1.0)], b=[(1.0, 1.0)])
    assert command.main([], table) == command.main(["--strict"], table) == 0
    measured["b"] = [(2.0, 1.0)]
    assert command.main([], table) == 0
    assert "target missed: b: 2.000, target <= 1.5" in capsys.readouterr().out
    assert command.main(["--strict"], table) == 1
    assert command.main(["--strict", "--rows", "a"], table) == 0
    del measured["a"]
    capsys.readouterr()
    assert command.main([], table) == 1
    output = capsys.readouterr()
    assert "failed: a" in output.out
    assert "target missed: b" in output.out
    assert "a failed:\nit broke" in output.err


def test_json_has_the_figures_and_the_machine(measured, tmp_path):
    measured.update(a=[(1.0, 1.0), (3.0, 1.0)])
    path = tmp_path / "figures.json"
    assert command.main(["--json", str(path)], [row("a", target=1.5), row("b")]) == 1
    data = json.loads(path.read_text())
    assert data["machine"]["python"].endswith(".".join(map(str, sys.version_info[:3])))
    first, second = data["rows"]
    assert (first["name"], first["figure"], first["quartiles"], first["met"]) == ("a", 2.0, [1.5, 2.5], False)
    assert first["rounds"] == [[1.0, 1.0], [3.0, 1.0]]
    assert (second["name"], second["figure"], second["met"]) == ("b", None, None)


def test_what_changed_since_another_run(measured, tmp_path, capsys):
    table = [row(name) for name in ("same", "slower", "faster", "new")]
    measured.update({name: [(1.0, 1.0), (1.1, 1.0), (1.2, 1.0)] for name in ("same", "slower", "faster")})
    path = tmp_path / "before.json"
    assert command.main(["--json", str(path)], table) == 1
    measured["same"] = [(1.15, 1.0), (1.1, 1.0), (1.3, 1.0)]
    measured["slower"] = [(2.0, 1.0), (2.1, 1.0), (2.2, 1.0)]
    measured["faster"] = [(0.5, 1.0), (0.6, 1.0), (0.7, 1.0)]
    measured["new"] = [(1.0, 1.0)]
    capsys.readouterr()
    assert command.main(["--compare", str(path)], table) == 0
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert lines == [
        "slower: slower: 1.100 -> 2.100",
        "faster: faster: 1.100 -> 0.600",
        "2 of 3 figures changed since then",
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--compare", __file__], "is no file that --json has written"),
        (["--rows", "nothing"], "invalid choice: 'nothing'"),
        (["--json", "{tmp}/no/figures.json"], "can't be written: No such file or directory"),
    ],
)
def test_bad_options_end_before_anything_is_measured(arguments, text, measured, capsys, tmp_path):
    with pytest.raises(SystemExit) as caught:
        command.main([argument.format(tmp=tmp_path) for argument in arguments], [row("a")])
    assert caught.value.code == 2
    output = capsys.readouterr()
    assert text in output.err
    assert "measuring" not in output.err


def test_a_row_that_fails_says_why():
    with pytest.raises(_process.RowError, match="KeyError: 'no-such-row'"):
        _process.run_row(row("no-such-row"), ONCE)


def test_settings_of_the_user_do_not_reach_the_rows(monkeypatch):
    monkeypatch.setenv("CUNUMPY_BACKEND", "nonsense")
    (known,) = [known for known in ROWS if known.name == "use-same-backend"]
    assert len(_process.run_row(known, ONCE)) == 1


@pytest.mark.long
def test_every_row_runs_and_is_printed(tmp_path):
    path = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--markdown", "--json", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(path.read_text())
    assert [found["name"] for found in data["rows"]] == [row.name for row in ROWS]
    for found in data["rows"]:
        assert len(found["rounds"]) == _measure.QUICK.rounds
        assert all(ours > 0 or found["unit"] == "MB" for ours, _ in found["rounds"])
        assert all((theirs > 0) == bool(found["against"]) for _, theirs in found["rounds"])
    for known in ROWS:
        assert f"| {known.what} |" in done.stdout


def test_names_of_rows_are_unique():
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_the_document_has_every_row_with_its_target():
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for known in ROWS:
        line = _report.markdown_table([Result(known, None)]).splitlines()[2]
        assert line.removesuffix(" | | failed |") in text


def test_each_kind_of_kernel_is_in_the_table(capsys):
    kernel_kinds.main(["--quick"])
    text = capsys.readouterr().out
    for name in ("NumPy", "`ElementwiseKernel`", "`ReductionKernel`", "`RawKernel`", "`Kernel` of a `CudaKernel`"):
        assert f"\n| {name} | " in text


def test_all_kinds_compute_the_same():
    x, y = np.arange(1000.0), np.arange(1000.0)[::-1].copy()
    for kinds, arrays in ((kernel_kinds.combined(), (x, y)), (kernel_kinds.norm(), (x,))):
        (_, numpy), *others = kinds
        for _, call in others:
            np.testing.assert_allclose(call(*arrays), numpy(*arrays), rtol=1e-14)
