"""Recognising arrays: which backend an object belongs to, judged by the object and never by the active backend."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.errors import ArgumentTypeError, MixedBackendError

if TYPE_CHECKING:
    from types import ModuleType

    from cunumpy._backend import BackendType

__all__ = [
    "Array",
    "assert_same_backend",
    "get_array_backend",
    "get_array_module",
    "is_cpu",
    "is_gpu",
    "same_backend",
]

_DLPACK_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged of the DLPack specification
_PLAIN_TYPES = frozenset({np.ndarray, int, float, bool, complex, str, bytes, list, tuple, dict, type(None)})


def is_device_array(value: object) -> bool:
    """Tell whether the value is a CuPy array; CuPy is not imported for it."""
    if type(value) in _PLAIN_TYPES:
        return False
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, getattr(cupy, "ndarray", ()))


def is_foreign_device_array(value: object) -> bool:
    """Tell whether the value is an array in CUDA memory that is not CuPy's (of Numba or PyTorch, say)."""
    if type(value) in _PLAIN_TYPES or isinstance(value, (np.generic, type)) or is_device_array(value):
        return False
    try:
        if hasattr(value, "__cuda_array_interface__"):
            return True
    except Exception:  # PyTorch refuses it for tensors with gradients, which are device arrays all the same
        pass
    try:
        return int(value.__dlpack_device__()[0]) in _DLPACK_CUDA_DEVICES  # type: ignore[attr-defined]
    except Exception:  # an object that can't say where it is counts as host data
        return False


def get_array_backend(array: Any) -> BackendType:
    """Return the backend that an array belongs to.

    Parameters
    ----------
    array : Any
        An array; anything else counts as host data.

    Returns
    -------
    {"numpy", "cupy"}
        ``"cupy"`` for a CuPy array and for any other array in CUDA memory, known by ``__cuda_array_interface__`` or
        by its DLPack device; ``"numpy"`` for everything else, lists, scalars and containers of device arrays
        included. Never raises.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.get_array_backend([1.0, 2.0])
    'numpy'
    """
    if type(array) in _PLAIN_TYPES:
        return "numpy"
    return "cupy" if is_device_array(array) or is_foreign_device_array(array) else "numpy"


def get_array_module(array: Any) -> ModuleType:
    """Return the namespace of an array's backend, with the call forms of ``xp`` and whatever backend is active.

    Parameters
    ----------
    array : Any
        An array; anything else counts as host data.

    Returns
    -------
    module
        For host data NumPy's names, for device arrays CuPy's.

    Raises
    ------
    MissingPackageError
        A device array of another library, and CuPy can't be used.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def normalised(x):
    ...     module = xp.get_array_module(x)
    ...     return x / module.linalg.norm(x)
    >>> normalised(xp.asarray([3.0, 4.0]))
    array([0.6, 0.8])
    """
    from cunumpy._namespaces import namespace

    return namespace(get_array_backend(array))


def is_gpu(array: Any) -> bool:
    """Tell whether an array is in CUDA memory; see `get_array_backend`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.is_gpu(xp.zeros(3))
    False
    """
    return get_array_backend(array) == "cupy"


def is_cpu(array: Any) -> bool:
    """Tell whether an object is host data; the opposite of `is_gpu`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.is_cpu(xp.zeros(3))
    True
    """
    return get_array_backend(array) == "numpy"


def same_backend(*arrays: Any) -> bool:
    """Tell whether all arrays belong to one backend; true for none or one.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.same_backend(xp.zeros(3), [1.0])
    True
    """
    return len({get_array_backend(array) for array in arrays}) < 2


def assert_same_backend(*arrays: Any) -> None:
    """Raise unless all arrays belong to one backend.

    Raises
    ------
    MixedBackendError
        A `TypeError` that lists the backends in the order of the arguments.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.assert_same_backend(xp.zeros(3), xp.ones(2))
    """
    backends = [get_array_backend(array) for array in arrays]
    if len(set(backends)) > 1:
        raise MixedBackendError(
            f"assert_same_backend: mismatched backends {backends}; convert explicitly with to_numpy or to_cupy."
        )


class _ArrayType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, np.ndarray) or is_device_array(value)


class Array(metaclass=_ArrayType):
    """The type of an array of either backend, for annotations and `isinstance`.

    Type checkers see `numpy.ndarray`, whose methods CuPy's arrays share.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def total(x: xp.Array) -> xp.Array:
    ...     return x.sum()
    >>> isinstance(xp.zeros(3), xp.Array)
    True
    """

    def __new__(cls, *args: object, **kwargs: object) -> Array:
        """Refuse: arrays are made by ``xp.asarray``, ``xp.zeros`` and the like."""
        raise ArgumentTypeError(
            "Array: is a type for annotations and isinstance, not for making arrays; use xp.asarray, xp.zeros, ..."
        )
