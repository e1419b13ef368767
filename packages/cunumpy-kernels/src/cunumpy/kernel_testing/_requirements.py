"""Packages that only some of the functions need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cunumpy.errors import MissingPackageError


def require_pytest(what: str) -> Any:
    """Return pytest, for `what`."""
    try:
        return import_module("pytest")
    except ImportError as error:
        raise MissingPackageError(f"{what} need pytest; add it with: uv add --dev pytest") from error
