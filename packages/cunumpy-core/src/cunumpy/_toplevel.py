"""The active backend's names as plain attributes of the module `cunumpy`.

The module's globals hold the names of the process's default backend, so ``xp.sum`` is an ordinary attribute read.
While contexts read different backends (`cunumpy._backend` calls that split), the module's class is one with a property
per name that asks for the context's backend. Scopes therefore never write to the module.

Once CuPy is loaded, only the names that both backends have are kept in the globals; the others (``xp.insert``,
``xp.asnumpy``) go through the module's ``__getattr__``, so that a switch only overwrites values.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy

from cunumpy import _backend
from cunumpy._namespaces import namespace
from cunumpy.errors import ArgumentTypeError, MissingNameError

if TYPE_CHECKING:
    from cunumpy._backend import BackendType

_FLAGS: dict[str, dict[str, Any]] = {
    "numpy": {"numpy_backend": True, "cupy_backend": False},
    "cupy": {"numpy_backend": False, "cupy_backend": True},
}
_STANDARD_DUNDERS = ("__array_api_version__", "__array_namespace_info__")

_module: ModuleType = ModuleType("cunumpy")
_owned: frozenset[str] = frozenset()
_written: BackendType | None = None
_names: dict[BackendType, dict[str, Any]] = {}
_different: dict[BackendType, dict[str, Any]] = {}  # of the names that both have: those with another value
_split_class: type[ModuleType] | None = None


def install(module: ModuleType, owned: frozenset[str]) -> None:
    """Fill the module and keep it in step with the backend; names in ``owned`` are the module's own."""
    global _module, _owned, _written
    _module, _owned = module, owned
    vars(_module).update(_different.get("numpy") or names("numpy"))  # the former if the package is being reloaded
    _written = "numpy"
    _backend.on_change(_apply)


def _apply(default: BackendType, split: bool) -> None:
    global _written
    if split or default == "cupy":
        _module.__class__ = _split_class or _prepare_for_switches()
    if default != _written:
        vars(_module).update(_different.get(default, ()))
        _written = default
    if not split:
        _module.__class__ = ModuleType


def names(backend: BackendType) -> dict[str, Any]:
    """Return the public names of a backend that do not belong to the package itself."""
    if backend not in _names:
        public = {
            name: value
            for name, value in vars(namespace(backend)).items()
            if not name.startswith("_") and name not in _owned
        }
        _names[backend] = public | _FLAGS[backend]
    return _names[backend]


def listed(backend: BackendType) -> set[str]:
    """Return the public names of a backend for `dir`, with the submodules that NumPy loads when first used."""
    found = set(names(backend))
    if backend == "numpy":
        found.update(name for name in dir(numpy) if not name.startswith("_"))
    return found


def _prepare_for_switches() -> type[ModuleType]:
    """Sort out what differs between the backends and return the class for split times."""
    global _split_class
    for name in ("fft", "polynomial", "random"):  # what NumPy loads lazily and CuPy has
        names("numpy")[name] = getattr(namespace("numpy"), name)
    host, device = names("numpy"), names("cupy")
    both = [name for name in host if name in device and host[name] is not device[name]]
    _different["numpy"] = {name: host[name] for name in both}
    _different["cupy"] = {name: device[name] for name in both}
    _split_class = type("module", (ModuleType,), {name: _following_context(name) for name in both})
    vars(_module).update(_different["numpy"])
    for name in host.keys() ^ device.keys():
        vars(_module).pop(name, None)
    return _split_class


def _following_context(name: str) -> property:
    """Return a property that reads the context's backend, and writes to it, for monkeypatching."""

    def read(module: ModuleType) -> Any:
        return _different[_backend.get_backend()][name]

    def write(module: ModuleType, value: Any) -> None:
        with _backend.lock:
            backend = _backend.get_backend()
            _different[backend][name] = value
            if backend == _written:
                vars(module)[name] = value

    return property(read, write)


def loaded() -> list[BackendType]:
    """Return the backends whose names are loaded."""
    return list(_names)


def find(name: str) -> Any:
    """Return a name of the active backend that is not in the module: a lazy submodule, say.

    Raises
    ------
    MissingNameError
        The backend has no such name; the message says which one has, or what is spelt alike.
    """
    backend = _backend.get_backend()
    if name.startswith("_") and name not in _STANDARD_DUNDERS:  # the import system asks for modules it then imports
        raise MissingNameError(f"module 'cunumpy' has no attribute {name!r}.", name=name, obj=_module)
    try:
        value = getattr(namespace(backend), name)
    except AttributeError as error:
        from cunumpy._missing_names import explanation

        raise MissingNameError(explanation(name, backend, str(error), _owned), name=name, obj=_module) from None
    with _backend.lock:
        if _split_class is None and not name.startswith("_"):
            names(backend)[name] = vars(_module)[name] = value  # the next read is an ordinary one
    return value


def available(name: str, backend: BackendType | None = None) -> bool:
    """Tell whether a backend has a name, dotted for names in ``linalg``, ``fft`` and other submodules.

    Parameters
    ----------
    name : str
        For example ``"vecdot"`` or ``"linalg.eigvals"``.
    backend : {"numpy", "cupy"}, optional
        The active backend by default.

    Returns
    -------
    bool
        False for the CuPy backend where CuPy can't be used.

    Raises
    ------
    ArgumentError
        The backend's name is unknown.
    ArgumentTypeError
        The name is not a string.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.available("linalg.svd"), xp.available("linalg.sdv")
    (True, False)
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"available: name must be a string, got {name!r} of type {type(name).__name__}.")
    which = _backend.get_backend() if backend is None else _backend.check_backend_name(backend, "available")
    if which == "cupy" and not (_backend.cupy_available() and _backend.namespace_loads()):
        return False
    value: Any = namespace(which)
    for part in name.split("."):
        if part.startswith("_") or not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True
