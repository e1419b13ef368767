"""The progress of a solver: tqdm's bar where that is installed, else lines now and then."""

from __future__ import annotations

import sys
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

_SECONDS_BETWEEN_LINES = 1.0


class Progress:
    """Context manager that shows iterations and residual norms on the standard error output, if that is wanted."""

    def __init__(self, wanted: object, title: str) -> None:
        self.wanted, self.title = bool(wanted), title
        self.bar: Any = None
        self.shown = 0.0
        self.last: tuple[int, float] | None = None
        if self.wanted:
            try:
                tqdm = import_module("tqdm")
            except ImportError:
                return
            self.bar = tqdm.tqdm(desc=title, unit=" iterations")

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.last is not None:
            self._line()

    def show(self, iteration: int, norm: float) -> None:
        """Show how far the solver has come."""
        if self.bar is not None:
            self.bar.set_postfix_str(f"residual {norm:.3e}", refresh=False)
            self.bar.update(iteration - self.bar.n)
        elif self.wanted:
            self.last = (iteration, norm)
            if monotonic() - self.shown > _SECONDS_BETWEEN_LINES:
                self._line()

    def _line(self) -> None:
        assert self.last is not None
        self.shown = monotonic()
        print(f"{self.title}: iteration {self.last[0]}, residual {self.last[1]:.3e}", file=sys.stderr, flush=True)
        self.last = None
