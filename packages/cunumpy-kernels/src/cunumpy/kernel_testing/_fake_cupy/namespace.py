"""CuPy's ufuncs and functions by name, which `_names` enters, for the modules that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UFUNCS: dict[str, Callable[..., Any]] = {}
FUNCTIONS: dict[str, Callable[..., Any]] = {}
