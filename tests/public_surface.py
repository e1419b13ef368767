"""The public names of all distributions, found by looking: what a table of tests has to have a row for."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from typing import Any, ForwardRef

import cunumpy
from distributions import OWNER

_BUILT_IN = (types.FunctionType, classmethod, staticmethod)


def public_modules() -> Iterator[types.ModuleType]:
    """Give ``cunumpy`` and every public module below it."""
    yield cunumpy
    for name in sorted(OWNER):
        if name != "xp":  # the namespace, which is `cunumpy` itself
            yield from _with_submodules(importlib.import_module(f"cunumpy.{name}"))


def _with_submodules(module: types.ModuleType) -> Iterator[types.ModuleType]:
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_"):
            yield from _with_submodules(importlib.import_module(f"{module.__name__}.{found.name}"))


def _is_ours(value: Any) -> bool:
    kind = value if isinstance(value, (type, types.FunctionType)) else type(value)
    return str(getattr(kind, "__module__", "")).partition(".")[0] == "cunumpy"


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name in dir(kind):
        if name.startswith("_") and name not in (
            "__call__",
            "__getitem__",
            "__setitem__",
            "__array__",
            "__array_ufunc__",
        ):
            continue
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        if owner is not None and _is_ours(owner) and isinstance(vars(owner)[name], _BUILT_IN):
            yield name, getattr(kind, name)


def _is_public(kind: type) -> bool:
    """Tell whether a class has a public name, so that its methods are found with it."""
    return any(getattr(module, name) is kind for module in public_modules() for name in module.__all__)


@functools.cache
def public_callables() -> dict[str, Any]:
    """Give every public function, class and method that has parameters, by its name below ``cunumpy``.

    Left out are NumPy's own functions in the namespace, exceptions and warnings, and what is called without arguments.
    """
    found: dict[str, Any] = {}
    for module in public_modules():
        prefix = module.__name__.partition(".")[2]
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType) or not _is_ours(value):
                continue
            if isinstance(value, type) and issubclass(value, BaseException):
                continue
            path = f"{prefix}.{name}" if prefix else name
            if callable(value):
                found[path] = value
            kind = value if isinstance(value, type) else type(value)
            if isinstance(value, types.FunctionType) or (kind is not value and (callable(value) or _is_public(kind))):
                continue
            found |= {f"{path}.{method}": function for method, function in _methods(kind)}
    return {name: value for name, value in found.items() if parameters(value)}


def parameters(function: Any) -> list[str]:
    """Give the names of a callable's parameters, ``self`` not among them."""
    names = list(inspect.signature(function).parameters)
    return names[1:] if names[:1] == ["self"] else names


def flags(function: Any) -> list[str]:
    """Give the names of a callable's parameters that are declared to be true or false, and maybe None."""
    given = inspect.signature(function).parameters.values()
    return [one.name for one in given if one.annotation in ("bool", "bool | None", ForwardRef("bool"))]
