"""The benchmark of growth: its figures from made-up measurements, and its operations and command at small sizes."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import growth

ROOT = Path(__file__).parents[2]


def figure(operation, entries, seconds, copy_seconds, peak=16):
    return growth.Figure(operation, entries, seconds, copy_seconds, bytes=16, peak=peak)


def test_growth_is_that_of_the_cost_per_entry_over_that_of_the_copy():
    figures = [
        figure("a", 10, 1.0, 0.5),
        figure("b", 10, 4.0, 1.0),
        figure("a", 100, 12.0, 5.0),  # 1.2 times as much for an entry; the copy costs the same
        figure("b", 100, 80.0, 40.0),  # twice as much; the copy four times
    ]
    assert growth.growth(figures) == pytest.approx([1.0, 1.0, 1.2, 0.5])


@pytest.mark.parametrize(
    ("grown", "peak", "expected"),
    [
        (1.0, 16, ("1.00", "1.00", "met")),
        (1.3, 48, ("1.30", "3.00", "met")),
        (1.4, 16, ("1.40", "1.00", "missed")),
        (1.0, 49, ("1.00", "3.06", "missed")),
    ],
)
def test_cells_say_what_is_missed(grown, peak, expected):
    line = growth.cells(figure("sort", 10**7, 0.02, 0.01, peak), grown)
    assert line == ("sort", "10^7", "2", "1", *expected)


@pytest.mark.parametrize("name", growth.OPERATIONS)
def test_every_operation_runs(name):
    found = growth.measure_one(name, 2000)
    assert (found.operation, found.entries) == (name, 2000)
    assert found.seconds > 0
    assert found.copy_seconds > 0
    assert found.peak >= found.bytes > 0


def test_the_command_measures_each_size_and_draws(tmp_path):
    picture = tmp_path / "growth.png"
    command = [sys.executable, "-m", "benchmarks.growth", "--smallest", "2000", "--largest", "2e4", "--plot", picture]
    done = subprocess.run(
        [*map(str, command), "--markdown", "--operations", "philox_uniform", "cell_offsets"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split("|")[1:3] for line in done.stdout.splitlines() if line.startswith("|")]
    names = [name.strip() for name, _ in lines]
    assert names == ["operation", "---", "philox_uniform", "philox_uniform", "cell_offsets", "cell_offsets"]
    assert "growth at most 1.3, memory at most 3: missed by" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--largest", "1e5"], "expected 1000 <= smallest <= largest, got 1e+06 and 100000"),
        (["--smallest", "10"], "expected 1000 <= smallest"),
        (["--operations", "nothing"], "invalid choice: 'nothing'"),
    ],
)
def test_bad_options_end_before_anything_is_measured(arguments, text, capsys, monkeypatch):
    monkeypatch.setattr(growth, "_in_process", lambda name, entries: pytest.fail("measured"))
    with pytest.raises(SystemExit) as caught:
        growth.main(arguments)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_a_plot_without_matplotlib_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(growth.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        growth.main(["--plot", "growth.png"])
    assert "uv add matplotlib" in capsys.readouterr().err


def test_help_names_the_operations(capsys):
    with pytest.raises(SystemExit) as left:
        growth.main(["--help"])
    assert left.value.code == 0
    assert "compact_by_mask, 90 %" in " ".join(capsys.readouterr().out.split())
