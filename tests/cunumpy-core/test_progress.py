"""What is shown of long work, with tqdm and without."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr

import pytest

from cunumpy import _progress
from cunumpy._progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(params=[True, False], ids=["terminal", "file"])
def stream(request: pytest.FixtureRequest) -> io.StringIO:
    return Terminal() if request.param else io.StringIO()


@pytest.fixture
def no_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)


def test_what_is_not_wanted_writes_nothing(stream: io.StringIO) -> None:
    with redirect_stderr(stream), Progress(False, "compile", "kernel", 3) as progress:
        progress.step(note="a")
        progress.reach(3, "b")
    assert stream.getvalue() == ""


def test_without_a_wish_it_is_shown_on_a_terminal(stream: io.StringIO) -> None:
    with redirect_stderr(stream), Progress(None, "compile", "kernel", 2) as progress:
        progress.step()
    assert ("compile" in stream.getvalue()) is stream.isatty()


def test_a_process_without_standard_error_output_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    with Progress(None, "compile", "kernel", 2) as progress:
        progress.step()


def test_with_tqdm_it_is_a_bar(stream: io.StringIO) -> None:
    pytest.importorskip("tqdm")
    with redirect_stderr(stream), Progress(True, "newton", "iteration", 10) as progress:
        progress.step(3, "residual 1e-3")
        progress.reach(7, "residual 1e-9")
    last = stream.getvalue().rstrip("\n").rpartition("\r")[2]
    assert "7/10" in last
    assert "residual 1e-9" in last


@pytest.mark.usefixtures("no_tqdm")
def test_without_tqdm_a_line_says_the_end(stream: io.StringIO) -> None:
    with redirect_stderr(stream), Progress(True, "newton", "iteration", 10) as progress:
        progress.step(3, "residual 1e-3")
        progress.reach(7, "residual 1e-9")
    line = stream.getvalue()
    assert line.startswith("\r" if stream.isatty() else "newton")
    assert line.strip("\r\n").startswith("newton: 7 of at most 10 iterations, residual 1e-9, ")
    assert line.count("\n") == 1


@pytest.mark.usefixtures("no_tqdm")
def test_without_tqdm_lines_come_now_and_then(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.1, 0.7, 0.7, 11.0, 11.0, 12.0])
    monkeypatch.setattr(_progress, "monotonic", lambda: next(times))
    with redirect_stderr(stream), Progress(True, "rk4", "step") as progress:
        progress.step(note="a long note")  # at 0.1 s
        progress.step()  # at 0.7 s: shown on a terminal
        if not stream.isatty():
            next(times)
        progress.step(note="b")  # at 11 s
    lines = [line.rstrip() for line in stream.getvalue().replace("\n", "\r").split("\r") if line]
    if stream.isatty():
        assert lines == ["rk4: 2 steps, a long note, 0.7 s", "rk4: 3 steps, b, 11.0 s", "rk4: 3 steps, b, 12.0 s"]
    else:
        assert lines == ["rk4: 3 steps, b, 11.0 s", "rk4: 3 steps, b, 12.0 s"]


@pytest.mark.usefixtures("no_tqdm")
def test_one_is_in_the_singular(stream: io.StringIO) -> None:
    with redirect_stderr(stream), Progress(True, "quad", "evaluation") as progress:
        progress.step()
    assert "quad: 1 evaluation, " in stream.getvalue()
