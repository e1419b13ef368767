"""CuPy's functions that read and write files and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .host_copies import announced_read, from_host
from .ndarray import ndarray
from .signatures import words


def _to_file(value: Any, description: str) -> np.ndarray[Any, Any]:
    """Return what a function that writes files or text reads; host data is taken as it is, as by CuPy."""
    return announced_read(value, description) if isinstance(value, ndarray) else np.asarray(value)


def save(file: Any, arr: Any, allow_pickle: Any = None) -> None:
    """Write an array to a file."""
    np.save(file, _to_file(arr, "save()"), allow_pickle=True if allow_pickle is None else allow_pickle)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to one file."""
    _save_several(np.savez, "savez()", file, args, kwds)


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to one compressed file."""
    _save_several(np.savez_compressed, "savez_compressed()", file, args, kwds)


def _save_several(write: Any, description: str, file: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
    positional = [_to_file(value, description) for value in args]
    write(file, *positional, **{key: _to_file(value, description) for key, value in kwds.items()})


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    """Write an array as text."""
    np.savetxt(fname, _to_file(X, "savetxt()"), *args, **kwargs)


def _formatter(name: str) -> Callable[..., str]:
    def text(*args: Any, **kwargs: Any) -> str:
        value, *others = args or (kwargs.pop(next(iter(kwargs))),)
        written: str = getattr(np, name)(_to_file(value, f"{name}()"), *others, **kwargs)
        return written

    return text


def load(file: Any, mmap_mode: Any = None, allow_pickle: Any = None) -> Any:
    """Read an array, or a mapping of arrays, from a file."""
    loaded = np.load(file, mmap_mode, allow_pickle=bool(allow_pickle))
    if isinstance(loaded, np.ndarray):
        return from_host(loaded)
    return {name: from_host(loaded[name]) for name in loaded.files}


def _reader(name: str) -> Callable[..., ndarray]:
    def read(*args: Any, **kwargs: Any) -> ndarray:
        return from_host(getattr(np, name)(*args, **kwargs))

    return read


FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        load,
        save,
        savetxt,
        savez,
        savez_compressed,
    )
}
FUNCTIONS.update(
    {name: _reader(name) for name in words("frombuffer fromfile fromfunction fromiter fromstring genfromtxt loadtxt")}
)
FUNCTIONS.update(
    {
        name: _formatter(name)
        for name in words("array2string array_repr array_str format_float_positional format_float_scientific")
    }
)
