"""``xp.scipy``: SciPy's functions for the active backend, from SciPy or from CuPy's ``cupyx.scipy``."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from cunumpy import _backend
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingNameError, MissingPackageError

if TYPE_CHECKING:
    from types import ModuleType

    from cunumpy._backend import BackendType

__all__ = ["ScipyNamespace"]

SUBPACKAGES = (
    "fft",
    "fftpack",
    "interpolate",
    "linalg",
    "ndimage",
    "signal",
    "sparse",
    "sparse.csgraph",
    "sparse.linalg",
    "spatial",
    "special",
    "stats",
)

# Functions of SciPy that CuPy lacks and that are written here: path -> module of ours that has them. They serve the
# CuPy backend only, and only as long as `cupyx.scipy` has no function of the name.
_FILL_INS = {
    "interpolate.RectBivariateSpline": "cunumpy._tensor_splines",
    "linalg.solve_banded": "cunumpy._banded",
    "linalg.solve_circulant": "cunumpy._circulant",
    "linalg.solveh_banded": "cunumpy._banded",
}

_ROOTS: dict[BackendType, str] = {"numpy": "scipy", "cupy": "cupyx.scipy"}

# What follows, and the attributes that the namespaces keep, are changed with the backend's lock held, and nothing is
# imported meanwhile. The lock is re-entrant: `_on_change` may come in the middle, when a backend scope is collected.
_instances: WeakSet[ScipyNamespace] = WeakSet()
_default: BackendType = "numpy"
_split = False


class ScipyNamespace:
    """SciPy, or one of its subpackages, for the active backend.

    An attribute is SciPy's with the NumPy backend and that of ``cupyx.scipy`` with CuPy; a namespace that is kept
    follows every switch. Subpackages are namespaces again: ``fft``, ``fftpack``, ``interpolate``, ``linalg``,
    ``ndimage``, ``signal``, ``sparse`` (with ``csgraph`` and ``linalg``), ``spatial``, ``special``, ``stats``. Those
    that SciPy alone has (``optimize``, ``integrate``, ``io``, ...) are plain modules, with the NumPy backend only.
    Functions that CuPy lacks and that CuNumpy brings itself: ``linalg.solve_circulant``, ``linalg.solve_banded``,
    ``linalg.solveh_banded``, ``interpolate.RectBivariateSpline``.

    Nothing is imported before an attribute is used. What was found is kept, so that a read costs little; a function
    that is replaced in SciPy's own module later on is not seen.

    Parameters
    ----------
    path : str, default: ""
        A subpackage from the list above, such as ``"sparse.linalg"``; empty for SciPy itself.

    Raises
    ------
    ArgumentError
        `path` is not in the list.

    Examples
    --------
    >>> import cunumpy as xp
    >>> float(xp.scipy.special.erf(0.0))
    0.0
    >>> xp.scipy.special.available("erf")
    True
    """

    # The instance's dictionary holds names of the default backend and nothing else, all found there without any call.
    # While contexts differ, the class is swapped for one that does not look there.
    __slots__ = ("__dict__", "__weakref__", "_children", "_found", "_path")

    _children: dict[str, ScipyNamespace]
    _found: dict[BackendType, dict[str, Any]]
    _path: str

    def __init__(self, path: str = "") -> None:
        if not isinstance(path, str):
            raise ArgumentTypeError(
                f"ScipyNamespace: path must be a string, not {path!r} of type {type(path).__name__}"
            )
        if path and path not in SUBPACKAGES:
            raise ArgumentError(
                f"ScipyNamespace: path must be empty or one of {', '.join(SUBPACKAGES)}, not {path!r}. "
                "Import other modules of SciPy from SciPy itself."
            )
        set_slot = object.__setattr__
        set_slot(self, "_path", path)
        set_slot(self, "_found", {"numpy": {}, "cupy": {}})
        prefix = f"{path}." if path else ""
        children = {
            name: ScipyNamespace(prefix + name)
            for subpackage in SUBPACKAGES
            if subpackage.startswith(prefix) and "." not in (name := subpackage[len(prefix) :])
        }
        set_slot(self, "_children", children)
        with _backend.lock:
            _instances.add(self)
            self._follow()

    def __getattr__(self, name: str) -> Any:
        return self._get(name, _backend.get_backend())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{self._title}.{name} can't be set: attributes are those of the active backend's library. "
            f"Set it on the library's module, which {self._title}.resolve() returns, before its first use."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self._title}.{name} can't be deleted: attributes are the active backend's library's")

    def resolve(self) -> ModuleType:
        """Return the module of the active backend that this namespace stands for.

        Returns
        -------
        module

        Raises
        ------
        MissingPackageError
            It can't be imported. It is an ImportError.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.scipy.fft.resolve().__name__
        'scipy.fft'
        """
        return self._module(_backend.get_backend())

    def available(self, name: str) -> bool:
        """Tell whether the active backend has a name here; imports the module.

        Parameters
        ----------
        name : str

        Returns
        -------
        bool
            False also where the library itself is missing.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.scipy.linalg.available("solve_circulant"), xp.scipy.linalg.available("no_such_function")
        (True, False)
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"ScipyNamespace.available: name must be a string, not {name!r} of type {type(name).__name__}"
            )
        backend = _backend.get_backend()
        try:
            if name in self._children:
                self._children[name]._module(backend)
            else:
                self._get(name, backend)
        except (ImportError, AttributeError):
            return False
        return True

    def __dir__(self) -> list[str]:
        backend = _backend.get_backend()
        names = {"available", "resolve", *self._children}
        if backend == "cupy":
            prefix = f"{self._path}." if self._path else ""
            names.update(path[len(prefix) :] for path in _FILL_INS if path.rpartition(".")[0] == self._path)
        with suppress(ImportError):
            names.update(name for name in dir(self._module(backend)) if not name.startswith("_"))
        return sorted(names)

    def __repr__(self) -> str:
        return f"<cunumpy {self._title.removeprefix('xp.').replace('scipy', 'scipy namespace <backend>', 1)}>"

    def __reduce__(self) -> tuple[type[ScipyNamespace], tuple[str]]:
        return ScipyNamespace, (self._path,)

    @property
    def _title(self) -> str:
        return f"xp.scipy.{self._path}" if self._path else "xp.scipy"

    def _module_name(self, backend: BackendType) -> str:
        return f"{_ROOTS[backend]}.{self._path}" if self._path else _ROOTS[backend]

    def _module(self, backend: BackendType) -> ModuleType:
        name = self._module_name(backend)
        try:
            return importlib.import_module(name)
        except ImportError as error:
            raise self._missing_package(name, error) from error

    def _missing_package(self, name: str, error: ImportError) -> MissingPackageError:
        """Return the error for a module or one of its functions that can't be imported, by what was not found."""
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing == "scipy":  # CuPy's modules need it, too
            text = f"{self._title}: SciPy is not installed, so {name} can't be imported. Run: uv add scipy"
        elif missing in ("cupy", "cupyx"):
            text = (
                f"{self._title}: CuPy is not installed, so {name} can't be imported. "
                "Run: uv add cupy-cuda12x (or cupy-cuda13x)"
            )
        else:
            text = f"{self._title}: {name} can't be imported: {error}"
        return MissingPackageError(text, name=name)

    def _get(self, name: str, backend: BackendType) -> Any:
        """Return an attribute for a backend; keep it."""
        found = self._found[backend]
        if name in found:
            return found[name]
        if name in self._children:
            value: Any = self._children[name]
        elif name.startswith("__"):
            # Protocols (copy, pickle, IPython, array conversion) ask for these; the namespace has none of its own.
            raise AttributeError(f"{self._title} has no attribute {name!r}")
        else:
            value = self._look_up(name, backend)
            if name.startswith("_"):
                return value
        with _backend.lock:
            value = found.setdefault(name, value)
            if backend == _default:
                self.__dict__[name] = value
        return value

    def _look_up(self, name: str, backend: BackendType) -> Any:
        path = f"{self._path}.{name}" if self._path else name
        fill_in = _FILL_INS.get(path) if backend == "cupy" else None
        try:
            return getattr(self._module(backend), name)
        except AttributeError:
            if fill_in is None:
                raise MissingNameError(self._missing_text(name, backend), name=name, obj=self) from None
        except MissingPackageError:
            if fill_in is None:
                raise
        except ImportError as error:  # of a module that imports what it needs when it is asked for a name
            if fill_in is None:
                raise self._missing_package(f"{self._module_name(backend)}.{name}", error) from error
        return getattr(importlib.import_module(fill_in), name)

    def _missing_text(self, name: str, backend: BackendType) -> str:
        from difflib import get_close_matches

        text = f"{self._title} has no {name!r} with the {backend} backend: {self._module_name(backend)} lacks it."
        close = get_close_matches(name, dir(self), n=1, cutoff=0.75)
        if close:
            text += f" Did you mean {close[0]!r}?"
        other: BackendType = "cupy" if backend == "numpy" else "numpy"
        module = sys.modules.get(self._module_name(other))
        if backend == "cupy":
            if module is None or hasattr(module, name):
                where = f"{self._module_name(other)}.{name}"
                known = "may exist" if module is None else "exists"
                function = where if self._path else f"{where}.<function>"  # the names of the root are subpackages
                text += f" {where} {known}: xp.host_call({function}, ...) calls it on the host."
            if not self._path and name in ("optimize", "integrate"):
                text += f" See cunumpy.{name} too (uv add cunumpy-solvers)."
        elif module is not None and hasattr(module, name):
            text += f" {self._module_name(other)}.{name} exists, for the cupy backend."
        return text

    def _follow(self) -> None:
        """Bring class and dictionary in line with the state of the backend; called with the lock held."""
        while True:
            default, split = _default, _split
            if split:
                object.__setattr__(self, "__class__", _Following)
            else:
                kept = object.__getattribute__(self, "__dict__")
                kept.clear()
                kept.update(self._found[default])
                object.__setattr__(self, "__class__", ScipyNamespace)
            if (default, split) == (_default, _split):  # else called again meanwhile, by a collected scope
                return


class _Following(ScipyNamespace):
    """The class of the namespaces while contexts differ in their backend: every read asks for it."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name[:1] == "_" or name in ("available", "resolve"):
            return object.__getattribute__(self, name)
        backend = _backend.get_backend()
        found = _found_of(self)[backend]
        return found[name] if name in found else self._get(name, backend)


_found_of = vars(ScipyNamespace)["_found"].__get__  # not by attribute: that would ask __getattribute__ again


def _on_change(default: BackendType, split: bool) -> None:
    global _default, _split
    _default, _split = default, split
    for instance in list(_instances):
        instance._follow()


_backend.on_change(_on_change)

#: The namespace that `cunumpy.scipy` is.
scipy = ScipyNamespace()
