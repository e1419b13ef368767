"""What to say when a name is missing: where it is, or what was probably meant."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from cunumpy import _toplevel
from cunumpy._namespaces import namespace
from cunumpy.errors import MissingNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cunumpy._backend import BackendType

_LIBRARY = {"numpy": "NumPy", "cupy": "CuPy"}
# Names of CuPy that have another one here.
_ELSEWHERE = {"asnumpy": "xp.to_numpy, which works on both backends"}


def explanation(name: str, backend: BackendType, library_says: str, owned: Iterable[str]) -> str:
    """Return the text for a name that the namespace lacks."""
    text = f"module 'cunumpy' has no attribute {name!r} on the {backend} backend"
    # A library that says more than that the name is missing knows best: `np.float_ was removed ...`.
    more = library_says.removeprefix(f"module {backend!r} has no attribute {name!r}").lstrip(" :.;,")
    if more:
        return f"{text}: {more}"
    other: BackendType = "cupy" if backend == "numpy" else "numpy"
    is_loaded = other == "numpy" or other in _toplevel.loaded()  # CuPy is not imported for a message
    if is_loaded and _toplevel.available(name, other):
        return f"{text}; {_LIBRARY[other]} has it, {_LIBRARY[backend]} does not. {_way_to(name, other)}"
    if name in _ELSEWHERE:
        return f"{text}; use {_ELSEWHERE[name]}."
    place = _place_in_a_submodule(name, backend)
    if place is not None:
        return f"{text}; did you mean {place!r}?"
    return text + _alike(name, [*_toplevel.names(backend), *owned])


def raise_missing(module: str, name: str, backend: BackendType, names: Iterable[str]) -> NoReturn:
    """Raise for a name that a submodule of the namespace, ``linalg`` or ``fft``, lacks."""
    text = f"module 'cunumpy.{module}' has no attribute {name!r} on the {backend} backend"
    if backend == "cupy" and not name.startswith("_") and _toplevel.available(f"{module}.{name}", "numpy"):
        text += f"; NumPy has it, CuPy does not. {_way_to(f'{module}.{name}', 'numpy')}"
    else:
        text += _alike(name, names)
    raise MissingNameError(text, name=name)


def _way_to(name: str, other: BackendType) -> str:
    """Say how to use a name that only the other backend has."""
    if other == "cupy":
        return "Use it inside use_backend('cupy')."
    value: object = namespace("numpy")
    for part in name.split("."):
        value = getattr(value, part)
    if callable(value) and not isinstance(value, type):
        return f"Use host_call(numpy.{name}, ...) to run it on the host, which copies its arrays."
    return f"Use numpy.{name} itself; it works on host data."


def _place_in_a_submodule(name: str, backend: BackendType) -> str | None:
    from cunumpy._installation import SUBMODULES
    from cunumpy._scipy_namespace import SUBPACKAGES

    for submodule in ("linalg", "fft"):
        if _toplevel.available(f"{submodule}.{name}", backend):
            return f"xp.{submodule}.{name}"
    for submodule, distribution in SUBMODULES.items():
        is_ours = distribution == "cunumpy-core" or f"cunumpy.{submodule}" in sys.modules
        if is_ours and name in import_module(f"cunumpy.{submodule}").__all__:
            return f"cunumpy.{submodule}.{name}"
    for submodule in SUBPACKAGES:
        if hasattr(sys.modules.get(f"scipy.{submodule}"), name):
            return f"xp.scipy.{submodule}.{name}"
    return None


def _alike(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=3, cutoff=0.75 if len(name) > 4 else 0.65)  # `rgn` is two thirds of `rng`
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
