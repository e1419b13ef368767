"""``cupy.testing``: comparisons of arrays, and decorators that run a test with NumPy and with the stand-in."""

from __future__ import annotations

from typing import Any

from . import both_libraries, comparisons, conditions, data, parameters


def contents() -> dict[str, Any]:
    """Return the contents of ``cupy.testing``."""
    return {
        name: value
        for module in (comparisons, data, parameters, both_libraries, conditions)
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    }
