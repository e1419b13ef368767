"""Drawing with Matplotlib, which is imported when something is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cunumpy._gate import given
from cunumpy._text import time_text
from cunumpy.errors import ArgumentTypeError, MissingPackageError

if TYPE_CHECKING:
    from cunumpy.profiling._events import Region, TransferEvent
    from cunumpy.profiling._regions import TimingSummary


def axes_of(ax: Any, function: str) -> Any:
    """Give axes to draw in: those given, or the ones of a new figure."""
    if ax is not None:
        if not hasattr(ax, "set_xlabel"):
            raise ArgumentTypeError(
                f"{function}: argument 'ax' must be axes of Matplotlib, as from pyplot.subplots()[1], got {given(ax)}."
            )
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingPackageError(
            f"{function} draws with Matplotlib, which can't be imported ({error}). Run: uv add matplotlib",
            name="matplotlib",
        ) from error
    return pyplot.subplots(layout="constrained")[1]


def draw_time_line(ax: Any, events: Iterable[TransferEvent], regions: Iterable[Region], kinds: Iterable[str]) -> None:
    """Draw regions, and below them the transfers and waits, one row for each kind, over the time."""
    timed = [event for event in events if event.time is not None]
    spans = list(regions)
    origin = min((*(region.time for region in spans), *(event.time or 0.0 for event in timed)), default=0.0)
    rows: dict[str, list[tuple[float, float]]] = {}
    for region in spans:
        rows.setdefault(region.name, []).append((region.time - origin, region.duration))
    named = len(rows)
    for kind in kinds:
        found = [event for event in timed if event.kind == kind]
        if found:
            nbytes = sum(event.nbytes or 0 for event in found)
            size = f", {bytes_text(nbytes)}" if nbytes else ""
            rows[f"{kind} ({len(found)}{size})"] = [((e.time or 0.0) - origin, e.duration or 0.0) for e in found]
    for row, parts in enumerate(rows.values()):
        color = "tab:gray" if row < named else f"C{row - named}"
        ax.broken_barh(parts, (row - 0.3, 0.6), color=color, alpha=0.6)
        # What is too short to be seen as a bar is seen as a line.
        ax.vlines([start for start, _ in parts], row - 0.3, row + 0.3, color=color, linewidth=0.8)
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    ax.set_xlabel("time in s")
    if not rows:
        ax.set_title("nothing was recorded", fontsize="medium")


def draw_timings(ax: Any, timings: Mapping[str, TimingSummary]) -> None:
    """Draw the total time of each region, the longest first, with how often it was passed."""
    shown = sorted(timings.items(), key=lambda item: -item[1].total)
    bars = ax.barh([name for name, _ in shown], [summary.total for _, summary in shown])
    ax.bar_label(bars, [f"{s.count} x {time_text(s.mean)}" for _, s in shown], padding=3, fontsize="small")
    ax.invert_yaxis()
    ax.margins(x=0.25)
    ax.set_xlabel("total time in s")


def bytes_text(number: int) -> str:
    """Give a number of bytes in a unit that fits it."""
    size, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return f"{size:.3g} {unit}"
