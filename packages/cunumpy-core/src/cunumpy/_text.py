"""How times and tables are written, in text and in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def time_text(seconds: float) -> str:
    """Give a time with three digits, in a unit that fits it.

    Examples
    --------
    >>> time_text(1.2345e-5), time_text(0.99996), time_text(75.0)
    ('12.3 us', '1 s', '75 s')
    """
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if abs(seconds) * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s" if abs(seconds) < 999.5 else f"{seconds:.0f} s"


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Give a table as HTML for notebooks; everything in it is text."""
    lines = ["<table>"]
    if caption:
        lines.append(f'<caption style="text-align: left">{escape(caption)}</caption>')
    lines.append("<tr>" + "".join(f"<th>{escape(title)}</th>" for title in head) + "</tr>")
    for row in rows:
        cells = (f'<td style="text-align: left">{escape(str(cell))}</td>' for cell in row)
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table>"])
