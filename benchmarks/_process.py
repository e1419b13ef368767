"""Measuring a row in processes of its own, so that none finds what another one has loaded or switched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks._measure import Effort, Rounds
from benchmarks.rows import ROWS, Row


class RowError(Exception):
    """A row could not be measured; the text is what its process had to say."""


def run_row(row: Row, effort: Effort) -> Rounds:
    """Measure a row.

    Parameters
    ----------
    row : Row
    effort : Effort

    Returns
    -------
    list of tuple of float
        The rounds of all its processes, as returned by `benchmarks._measure.measure`.

    Raises
    ------
    RowError
        A process failed.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CUNUMPY_")}
    rounds: Rounds = []
    for _ in range(effort.processes):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks._process", row.name, json.dumps(asdict(effort))],
            cwd=Path(__file__).parents[1],
            env={**inherited, **row.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RowError(done.stderr.strip() or f"exit status {done.returncode}")
        rounds += [(ours, theirs) for ours, theirs in json.loads(done.stdout)]
    return rounds


def main(name: str, effort: str) -> None:
    """Measure a row in this process and print its rounds."""
    row = {row.name: row for row in ROWS}[name]
    json.dump(row.measure(Effort(**json.loads(effort))), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
