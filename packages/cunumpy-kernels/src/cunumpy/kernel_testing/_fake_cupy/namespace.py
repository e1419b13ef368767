"""CuPy's ufuncs and functions by name, which `_names` enters, for modules that `_names` itself imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UFUNCS: dict[str, Callable[..., Any]] = {}
FUNCTIONS: dict[str, Callable[..., Any]] = {}
