"""How results of solvers print: a line for each field; arrays in device memory are described, not read."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from cunumpy import _arrays, _gate


def printed(title: str, values: dict[str, Any]) -> str:
    """Return a text with a line for each value, names aligned."""
    width = max(map(len, values))
    lines = [title]
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            text = np.array2string(value, threshold=20, edgeitems=3)
        elif _arrays.is_device_array(value):
            text = _gate.describe(value)
        else:
            text = str(value)
        lines.append(f"{name:>{width}}: " + text.replace("\n", "\n" + " " * (width + 2)))
    return "\n".join(lines)


class Printed:
    """Base of dataclasses that print as a table."""

    def __repr__(self) -> str:
        assert is_dataclass(self)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return printed(type(self).__name__, {name: value for name, value in values.items() if value is not None})
