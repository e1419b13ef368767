"""How far something long has come: tqdm's bar where it is installed, else lines on the standard error output."""

from __future__ import annotations

import sys
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

_SECONDS_ON_A_TERMINAL = 0.5
_SECONDS_IN_A_FILE = 10.0


class Progress:
    """A context manager that shows how far something has come; does nothing unless it is wanted.

    Parameters
    ----------
    wanted : bool or None
        None where the user has not said: then on a terminal and in a notebook.
    title : str
    unit : str
        What is counted, in the singular.
    total : int, optional
        How many there are at most.
    """

    def __init__(self, wanted: object, title: str, unit: str, total: int | None = None) -> None:
        self.bar: Any = None
        if wanted is None:
            wanted = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
        if wanted:
            try:
                tqdm = import_module("tqdm")
            except ImportError:
                self.bar = _Lines(title, unit, total)
            else:
                self.bar = tqdm.tqdm(desc=title, unit=f" {unit}", total=total)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()

    def step(self, number: int = 1, note: str = "") -> None:
        """Count on; `note` says something of the step, and is shown behind the count."""
        if self.bar is not None:
            if note:
                self.bar.set_postfix_str(note, refresh=False)
            self.bar.update(number)

    def reach(self, count: int, note: str = "") -> None:
        """Count up to here."""
        if self.bar is not None:
            self.step(count - self.bar.n, note)


class _Lines:
    """What is used of tqdm: on a terminal one line that is written again and again, in a file a line now and then."""

    def __init__(self, title: str, unit: str, total: int | None) -> None:
        self.title, self.unit, self.total = title, unit, total
        self.n, self.note, self.width = 0, "", 0
        self.terminal = sys.stderr.isatty()
        self.started = self.shown = monotonic()

    def set_postfix_str(self, note: str, refresh: bool) -> None:
        self.note = f", {note}"

    def update(self, number: int) -> None:
        self.n += number
        if monotonic() - self.shown > (_SECONDS_ON_A_TERMINAL if self.terminal else _SECONDS_IN_A_FILE):
            self.show("" if self.terminal else "\n")

    def show(self, end: str) -> None:
        self.shown = monotonic()
        of = "" if self.total is None else f" of at most {self.total}"
        units = self.unit if self.n == 1 and not of else f"{self.unit}s"
        text = f"{self.title}: {self.n}{of} {units}{self.note}, {self.shown - self.started:.1f} s"
        self.width = max(self.width, len(text))
        print(f"\r{text:<{self.width}}" if self.terminal else text, end=end, file=sys.stderr, flush=True)

    def close(self) -> None:
        self.show("\n")
