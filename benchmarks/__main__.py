"""The command: measure the rows, print the table, say which targets are missed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import _report
from benchmarks._measure import FULL, QUICK
from benchmarks._process import RowError, run_row
from benchmarks.rows import ROWS, Row


def main(arguments: Sequence[str] | None = None, rows: Sequence[Row] = ROWS) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.
    rows : sequence of Row, optional
        The table.

    Returns
    -------
    int
        The exit status: 1 if a row could not be measured or, with ``--strict``, a target is missed; else 0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure CuNumpy beside the libraries it stands on, and compare with the targets.",
        allow_abbrev=False,
    )
    names = [row.name for row in rows]
    parser.add_argument("--rows", nargs="+", metavar="NAME", choices=names, help="only these: " + ", ".join(names))
    parser.add_argument("--quick", action="store_true", help="try every row once; the figures mean little")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a target is missed")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--json", metavar="FILE", type=_writable, help="write the figures as JSON")
    parser.add_argument("--compare", metavar="FILE", type=_figures, help="say what changed since another run's --json")
    options = parser.parse_args(arguments)

    results = []
    for row in rows:
        if options.rows and row.name not in options.rows:
            continue
        print(f"measuring {row.name}", file=sys.stderr)
        try:
            rounds = run_row(row, QUICK if options.quick else FULL)
        except RowError as error:
            print(f"{row.name} failed:\n{error}", file=sys.stderr)
            rounds = None
        results.append(_report.Result(row, rounds))

    print(_report.machine_text(), end="\n\n")
    print((_report.markdown_table if options.markdown else _report.text_table)(results), end="\n\n")
    print(_report.summary(results))
    if options.compare:
        print(_report.comparison(results, options.compare))
    if options.json:
        options.json.write_text(json.dumps(_report.as_data(results), indent=1) + "\n")
    failed = any(result.rounds is None for result in results)
    missed = any(result.met is False for result in results)
    return int(failed or (options.strict and missed))


def _figures(text: str) -> dict[str, Any]:
    """Read what an earlier run has written."""
    try:
        data: dict[str, Any] = json.loads(Path(text).read_text())
        return {"rows": data["rows"], "machine": data["machine"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no file that --json has written: {error}") from None


def _writable(text: str) -> Path:
    """Return a path that can be written, tried before the measurement and not changed by it."""
    try:
        with open(text, "a"):
            return Path(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r} can't be written: {error.strerror}") from None


if __name__ == "__main__":
    sys.exit(main())
