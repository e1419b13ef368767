"""Names that NumPy 2 has dropped and CuPy keeps: some still work, the others say what to use instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .ndarray import ndarray

_INSTEAD = {
    "disp": "your own print function",
    "find_common_type": "`promote_types` or `result_type`",
    "get_array_wrap": "<no replacement>",
    "safe_eval": "`ast.literal_eval`",
    "set_string_function": "`np.set_printoptions`",
}


def _dropped(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwds: Any) -> Any:
        raise RuntimeError(f"This function has been removed in NumPy v2.\nUse {_INSTEAD[name]} instead.\n")

    return refused


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """Return the scalar type of an array, a dtype or a name."""
    if isinstance(rep, (np.ndarray, ndarray)):
        return rep.dtype.type
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    try:
        return np.dtype(rep).type
    except (TypeError, ValueError):
        return default


def sctype2char(sctype: Any) -> str:
    """Return the character of a scalar type."""
    found = obj2sctype(sctype)
    if found is None:
        raise ValueError("unrecognized type")
    character: str = np.dtype(found).char
    return character


def issctype(rep: Any) -> bool:
    """Whether a type or dtype is that of scalars."""
    return isinstance(rep, (type, np.dtype)) and obj2sctype(rep) not in (None, np.object_)


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """Whether a class is a subclass of another; no class is none."""
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Whether the scalar type of one is a subclass of the other's."""
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def who(vardict: Any = None) -> None:
    """Print the device arrays of a dictionary, with shape, bytes and type."""
    arrays = {name: value for name, value in (vardict or {}).items() if isinstance(value, ndarray)}
    if arrays:
        print(f"{'Name':<20}{'Shape':<20}{'Bytes':<20}Type\n{'=' * 66}\n")
    for name, value in arrays.items():
        print(f"{name:<20}{' x '.join(map(str, value.shape)):<20}{value.nbytes:<20}{value.dtype}")
    print(f"\nUpper bound on total bytes  =       {sum(value.nbytes for value in arrays.values())}")


def fromDlpack(dltensor: Any) -> Any:
    """Return an array of a capsule: the stand-in's arrays give none, as there is no device memory behind them."""
    warnings.warn("This function is deprecated. Use cupy.from_dlpack instead.", stacklevel=4)
    raise ValueError("A DLPack tensor object cannot be consumed multiple times (or object was not a DLPack capsule).")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _dropped(name) for name in _INSTEAD},
    **{one.__name__: one for one in (fromDlpack, issctype, issubclass_, issubsctype, obj2sctype, sctype2char, who)},
}
