"""Where C++ code stands: each statement on the line of the Python statement that it comes from."""

from __future__ import annotations

from typing import NamedTuple

_MOST_BLANK = 3
"""Up to so many blank lines are better than a directive."""


class Line(NamedTuple):
    """A line of C++; `number` is that of the Python code, None for what belongs to the line before."""

    text: str
    depth: int
    number: int | None


def laid_out(lines: list[Line], file: str) -> str:
    """Return code whose compiler messages name lines of a Python file.

    Parameters
    ----------
    lines : list of Line
    file : str
    """
    name = file.replace("\\", "\\\\").replace('"', '\\"')
    found: list[str] = []
    current: int | None = None
    last: Line | None = None
    for line in lines:
        if last is not None and line.number is not None and (line.number, line.depth) == (last.number, last.depth):
            found[-1] += f" {line.text}"
            continue
        last = line
        if line.number is not None and line.number != current:
            if current is None:
                found.append(f'#line {line.number} "{name}"')
            elif 0 < line.number - current <= _MOST_BLANK:
                found += [""] * (line.number - current)
            else:
                found.append(f"#line {line.number}")
            current = line.number
        found.append("    " * line.depth + line.text if line.text else "")
        if current is not None:
            current += 1
    return "\n".join(found)
