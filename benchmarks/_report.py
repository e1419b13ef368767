"""The table with the measured column, for people and for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Rounds, figures, quartiles
from benchmarks.rows import Row

HEADER = ("what", "against", "target", "measured", "quartiles", "")


@dataclass(frozen=True)
class Result:
    """A row and its rounds; None if it could not be measured."""

    row: Row
    rounds: Rounds | None

    @property
    def quartiles(self) -> tuple[float, float, float] | None:
        """The lower quartile of the figure, the figure, and the upper quartile."""
        return None if self.rounds is None else quartiles(figures(self.rounds, self.row.unit))

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target or without a figure."""
        found = self.quartiles
        return None if found is None or self.row.target is None else found[1] <= self.row.target


def figure_text(row: Row, value: float) -> str:
    """Return a figure of a row with its unit.

    Ratios have three decimals from 0.01 to 10, because targets close to 1 need them; the rest has three digits.
    """
    if not row.unit:
        return f"{value:.3f}" if 0.01 <= value < 10 else f"{value:.3g}"
    sign = "+ " if row.against and value >= 0 else ""
    return f"{sign}{value:.3g} {row.unit}"


def target_text(row: Row) -> str:
    """Return the target of a row, as ``<= 1.25`` or ``<= + 0.7 us``."""
    if row.target is None:
        return ""
    return "<= " + (figure_text(row, row.target) if row.unit else f"{row.target:g}")


def cells(result: Result) -> tuple[str, ...]:
    """Return one line of the table."""
    row, found = result.row, result.quartiles
    start = (row.what, row.against, target_text(row))
    if found is None:
        return (*start, "", "", "failed")
    lower, figure, upper = (figure_text(row, value) for value in found)
    return (*start, figure, f"{lower} to {upper}", {True: "met", False: "missed", None: ""}[result.met])


def text_table(results: Sequence[Result]) -> str:
    """Return the table for a terminal."""
    return aligned(HEADER, [tuple(cell.replace("`", "") for cell in cells(result)) for result in results])


def markdown_table(results: Sequence[Result]) -> str:
    """Return the table for a document."""
    return markdown(HEADER, [cells(result) for result in results])


def aligned(header: Sequence[str], table: Sequence[Sequence[str]]) -> str:
    """Return lines whose cells are below each other."""
    widths = [max(map(len, column)) for column in zip(header, *table, strict=True)]
    lines = [
        "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)) for line in (header, *table)
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def markdown(header: Sequence[str], table: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = (header, ("---",) * len(header), *table)
    return "\n".join("|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines)


def summary(results: Sequence[Result]) -> str:
    """Return the lines that say what failed and which targets are missed."""
    lines = [f"failed: {result.row.name}" for result in results if result.rounds is None]
    missed = [result for result in results if result.met is False]
    for result in missed:
        measured = cells(result)[3]
        lines.append(f"target missed: {result.row.name}: {measured}, target {target_text(result.row)}")
    met = sum(result.met is True for result in results)
    lines.append(f"{met} of {met + len(missed)} measured targets met")
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """Return what the figures depend on beside CuNumpy."""
    import cunumpy

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "cunumpy": cunumpy.__version__,
    }


def processor() -> str:
    """Return the name of the processor, as well as the system knows it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def machine_text() -> str:
    """Return `machine` as one line."""
    found = machine()
    return (
        f"{found['processor']}, {found['cores']} cores, {found['system']}, {found['python']}, NumPy {found['numpy']}, "
        f"CuNumpy {found['cunumpy']}"
    )


def as_data(results: Sequence[Result]) -> dict[str, Any]:
    """Return everything that was measured, for ``--json``."""
    rows = []
    for result in results:
        found = result.quartiles
        rows.append(
            {
                "name": result.row.name,
                "what": result.row.what,
                "against": result.row.against,
                "unit": result.row.unit,
                "target": result.row.target,
                "figure": None if found is None else found[1],
                "quartiles": None if found is None else [found[0], found[2]],
                "met": result.met,
                "rounds": result.rounds,
            }
        )
    return {"machine": machine(), "rows": rows}


def comparison(results: Sequence[Result], before: dict[str, Any]) -> str:
    """Return which figures changed since an earlier run, by more than the rounds of both runs scatter.

    Parameters
    ----------
    results : sequence of Result
    before : dict
        What `as_data` returned then.
    """
    earlier = {row["name"]: row for row in before["rows"]}
    lines, compared = [], 0
    for result in results:
        now, then = result.quartiles, earlier.get(result.row.name)
        if now is None or then is None or then["figure"] is None or then["unit"] != result.row.unit:
            continue
        compared += 1
        lower, upper = then["quartiles"]
        if now[0] > upper or now[2] < lower:
            texts = [figure_text(result.row, value) for value in (then["figure"], now[1])]
            lines.append(
                f"{'slower' if now[1] > then['figure'] else 'faster'}: {result.row.name}: {' -> '.join(texts)}"
            )
    other = (
        "" if before["machine"] == machine() else f", on another machine or with other versions: {before['machine']}"
    )
    return "\n".join([*lines, f"{len(lines)} of {compared} figures changed since then{other}"])
