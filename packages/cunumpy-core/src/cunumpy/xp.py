"""A backend choice as an object: `ArrayBackend`, and `array_backend`, which is the one of the process.

Code that wants the active namespace as a module calls `cunumpy.get_namespace`; this module is for programs that keep
a choice in an object or want to be told of changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cunumpy import _backend
from cunumpy._conversion import to_numpy as to_numpy  # programs written for older releases import it from here
from cunumpy._namespaces import namespace

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from cunumpy._backend import BackendType

__all__ = ["ArrayBackend", "array_backend"]


class ArrayBackend:
    """A backend choice of its own, beside that of the process.

    Parameters
    ----------
    backend : {"numpy", "cupy"}, default: "numpy"
        Case and blanks around it do not matter. Where CuPy can't be used, NumPy is, with a warning.
    verbose : bool, default: False
        Print one line about the choice as well.

    Raises
    ------
    ArgumentError
        The name is not a backend's.

    Warns
    -----
    BackendFallbackWarning
        CuPy can't be used.

    Examples
    --------
    >>> from cunumpy.xp import ArrayBackend
    >>> host = ArrayBackend("numpy")
    >>> host.xp.arange(3)
    array([0, 1, 2])
    """

    def __init__(self, backend: BackendType = "numpy", verbose: bool = False) -> None:
        self._listeners: list[Callable[[ModuleType], None]] = []
        self._backend: BackendType = "numpy"
        self.set(backend)
        if verbose:
            print(f"CuNumpy uses the {self.backend} backend.")

    @property
    def backend(self) -> BackendType:
        """Name of the chosen backend, ``"numpy"`` or ``"cupy"``."""
        return self._backend

    @property
    def xp(self) -> ModuleType:
        """Namespace of the chosen backend."""
        return namespace(self.backend)

    def set(self, backend: BackendType, *, strict: bool | None = None) -> None:
        """Choose a backend; arguments and errors are those of `cunumpy.set_backend`."""
        chosen = _backend.effective(_backend.check_backend_name(backend, "ArrayBackend"), strict, "ArrayBackend")
        changed = chosen != self._backend
        self._backend = chosen
        if changed:
            self._tell()

    def use_backend(self, backend: BackendType, *, strict: bool | None = None) -> Any:
        """Return a context manager under which another backend is chosen; the choice before it comes back after."""
        return _Chosen(self, _backend.check_backend_name(backend, "ArrayBackend.use_backend"), strict)

    def add_listener(self, listener: Callable[[ModuleType], None]) -> None:
        """Call ``listener(namespace)`` now and after every change of the namespace."""
        self._listeners.append(listener)
        listener(self.xp)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener(self.xp)

    def __repr__(self) -> str:
        return f"ArrayBackend(backend={self.backend!r}, module={self.xp.__name__!r})"


class _Chosen:
    def __init__(self, owner: ArrayBackend, backend: BackendType, strict: bool | None) -> None:
        self._owner, self._backend, self._strict = owner, backend, strict
        self._before: list[BackendType] = []

    def __enter__(self) -> None:
        before = self._owner.backend
        self._owner.set(self._backend, strict=self._strict)
        self._before.append(before)

    def __exit__(self, *details: object) -> None:
        self._owner.set(self._before.pop())


class _ProcessBackend(ArrayBackend):
    """The process's own choice: `cunumpy.set_backend` and `cunumpy.use_backend` as methods."""

    def __init__(self) -> None:
        self._listeners = []
        self._told = _backend.default_backend()
        _backend.on_change(self._hear)

    @property
    def backend(self) -> BackendType:
        return _backend.get_backend()

    def set(self, backend: BackendType, *, strict: bool | None = None) -> None:
        _backend.set_backend(backend, strict=strict)

    def use_backend(self, backend: BackendType, *, strict: bool | None = None) -> _backend.use_backend:
        return _backend.use_backend(backend, strict=strict)

    def _hear(self, default: BackendType, split: bool) -> None:
        if default != self._told:
            self._told = default
            for listener in self._listeners:
                listener(namespace(default))


#: The backend of the process; listeners hear of `cunumpy.set_backend`, not of scopes.
array_backend: ArrayBackend = _ProcessBackend()
