"""Signatures of NumPy's functions that NumPy itself does not tell, or not as they are.

Before NumPy 2.4 its functions in C have no signature, `reshape` has had its ``shape`` and `astype` its ``device``
since 2.1, and `arange` takes ``dtype`` by position too, whatever its signature says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SIGNATURES"]

SIGNATURES: dict[str, Callable[..., Any]] = {
    "arange": lambda start, stop=None, step=1, dtype=None, *, device=None, like=None: None,
    "array": lambda object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None: None,
    "asanyarray": lambda a, dtype=None, order=None, *, device=None, copy=None, like=None: None,
    "asarray": lambda a, dtype=None, order=None, *, device=None, copy=None, like=None: None,
    "ascontiguousarray": lambda a, dtype=None, *, like=None: None,
    "asfortranarray": lambda a, dtype=None, *, like=None: None,
    "astype": lambda x, dtype, /, *, copy=True, device=None: None,
    "concat": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    "concatenate": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    "empty": lambda shape, dtype=None, order="C", *, device=None, like=None: None,
    "empty_like": lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: None,
    "frombuffer": lambda buffer, dtype=None, count=-1, offset=0, *, like=None: None,
    "fromfile": lambda file, dtype=None, count=-1, sep="", offset=0, *, like=None: None,
    "fromiter": lambda iter, dtype, count=-1, *, like=None: None,
    "reshape": lambda a, /, shape, order="C", *, copy=None: None,
    "unpackbits": lambda a, /, axis=None, count=None, bitorder="big": None,
    "unravel_index": lambda indices, shape, order="C": None,
    "zeros": lambda shape, dtype=None, order="C", *, device=None, like=None: None,
}
