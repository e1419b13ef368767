"""Functions with CuPy's parameters, made of the texts in `_api`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def words(text: str) -> frozenset[str]:
    """Return the words of a text, such as a list of names."""
    return frozenset(text.split())


def with_signature(name: str, parameters: str, implementation: Callable[..., Any], module: str) -> Callable[..., Any]:
    """Return a function that has CuPy's parameters, and hence its TypeErrors, and hands on the bound values.

    The text comes from `_api`; Python itself then binds the call.
    """
    namespace: dict[str, Any] = {"numpy": np, "inf": np.inf, "_implementation": implementation}
    names = [word.partition("=")[0] for word in split_parameters(parameters)]
    handed = ", ".join(f"{word!r}: {word.lstrip('*')}" for word in names if word not in ("*", "/"))
    exec(f"def {name}({parameters}):\n    return _implementation({{{handed}}})", namespace)
    function: Callable[..., Any] = namespace[name]
    function.__module__ = module
    function.__doc__ = f"Stand-in for ``{module}.{name}``, served by NumPy."
    return function


def split_parameters(parameters: str) -> list[str]:
    """Split a parameter list at its commas, not at those inside defaults."""
    found, depth, word = [], 0, ""
    for character in parameters:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            found.append(word.strip())
            word = ""
        else:
            word += character
    return [*found, word.strip()] if word.strip() else found
