"""Functions in pickles: they are found by name, so those that can't be are refused with the reason."""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import Any

from cunumpy.errors import ArgumentTypeError


def attribute(module: str, name: str) -> Any:
    """Return what a (dotted) name in a module stands for, None where it can't be found."""
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def refuse_unimportable(owner: str, functions: dict[str, Any]) -> None:
    """Raise `ArgumentTypeError` for a function that can't be imported by its name where the pickle is read."""
    if "cloudpickle" in sys.modules:  # which takes functions with their code
        return
    for what, function in functions.items():
        if not isinstance(function, FunctionType):
            continue
        module, name = function.__module__, function.__qualname__
        if attribute(module, name) is not function:
            raise ArgumentTypeError(
                f"{owner}: can't be pickled, since its {what}, {module}.{name}, can't be imported by that name; define "
                "it with def at the top of a module."
            )
