"""The namespace module of each backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from cunumpy._backend import BackendType


def namespace(backend: BackendType) -> ModuleType:
    """Return the module with a backend's names and call forms; CuPy's is loaded when first asked for."""
    if backend == "numpy":
        from cunumpy import _numpy_namespace

        return _numpy_namespace
    from cunumpy._backend import require_cupy

    require_cupy("get_array_module")
    from cunumpy import _cupy_namespace

    return _cupy_namespace


def get_namespace() -> ModuleType:
    """Return the namespace of the active backend as a module.

    It holds the library's names with the call forms of ``xp``, and does not follow later switches, unlike ``xp``.

    Returns
    -------
    module

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.get_namespace().arange(3)
    array([0, 1, 2])
    """
    from cunumpy._backend import get_backend

    return namespace(get_backend())


def default_float_dtype() -> type[Any]:
    """Return the active backend's type of floating-point numbers, ``float64``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.zeros(2, dtype=xp.default_float_dtype()).dtype
    dtype('float64')
    """
    return get_namespace().float64  # type: ignore[no-any-return]
