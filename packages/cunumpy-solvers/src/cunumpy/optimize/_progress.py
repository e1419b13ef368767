"""Bars of progress for long solves: tqdm's where it is installed, else a line on the standard error output."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

_SECONDS_BETWEEN_LINES = 0.5


class Progress:
    """A context manager that shows how far a solve has come; does nothing unless it is wanted.

    Parameters
    ----------
    wanted : bool
    title : str
    unit : str
        What is counted.
    total : int, optional
        How many there are at most.
    """

    def __init__(self, wanted: object, title: str, unit: str, total: int | None = None) -> None:
        self.bar: Any = None
        if wanted:
            try:
                from tqdm import tqdm
            except ImportError:
                self.bar = _Line(title, unit, total)
            else:
                self.bar = tqdm(desc=title, unit=f" {unit}", total=total, leave=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()

    def step(self, number: int = 1) -> None:
        """Count on."""
        if self.bar is not None:
            self.bar.update(number)


class _Line:
    """One line that is written again and again, as tqdm does."""

    def __init__(self, title: str, unit: str, total: int | None) -> None:
        self.title, self.unit, self.total = title, unit, total
        self.count = 0
        self.started = self.shown = monotonic()

    def update(self, number: int) -> None:
        self.count += number
        if monotonic() - self.shown > _SECONDS_BETWEEN_LINES:
            self.show("")

    def show(self, end: str) -> None:
        self.shown = monotonic()
        of = "" if self.total is None else f" of at most {self.total}"
        text = f"\r{self.title}: {self.count}{of} {self.unit}s, {self.shown - self.started:.1f} s"
        print(text, end=end, file=sys.stderr, flush=True)

    def close(self) -> None:
        self.show("\n")
