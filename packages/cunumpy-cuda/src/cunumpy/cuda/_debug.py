"""Debug mode: kernels that check bounds, and launches that wait for their errors."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from cunumpy import _environment, _gate

if TYPE_CHECKING:
    from collections.abc import Iterator

DEBUG_OPTIONS: tuple[str, ...] = ("-lineinfo", "-DCUNUMPY_BOUNDS_CHECK")
"""What debug mode adds to the compiler's options."""

_default = _environment.read("CUNUMPY_CUDA_DEBUG") is True
_chosen: ContextVar[bool | None] = ContextVar("cunumpy_cuda_debug", default=None)


def set_cuda_debug(enabled: bool) -> None:
    """Turn debug mode on or off for the process; inside a `cuda_debug` block for that block.

    Parameters
    ----------
    enabled : bool
        The initial value is that of the environment variable ``CUNUMPY_CUDA_DEBUG``, else off.

    Raises
    ------
    ArgumentTypeError
        A string, whose truth would not be what it says, or an array.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.set_cuda_debug(True)
    >>> xp.cuda.get_cuda_debug()
    True
    >>> xp.cuda.set_cuda_debug(False)
    """
    global _default
    value = _gate.as_truth(enabled, function="set_cuda_debug", argument="enabled")
    if _chosen.get() is None:
        _default = value
    else:
        _chosen.set(value)


def get_cuda_debug() -> bool:
    """Tell whether debug mode is on: in the innermost `cuda_debug` block of this thread or task, else in the process.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.get_cuda_debug()
    False
    """
    chosen = _chosen.get()
    return _default if chosen is None else chosen


@contextmanager
def cuda_debug(enabled: bool = True) -> Iterator[None]:
    """Turn debug mode on or off for a block, or for the calls of a function; blocks may be nested.

    Kernels launched inside that leave it to the mode (``debug=None``) are compiled with `DEBUG_OPTIONS`, and each
    launch waits for the kernel, so that an error is raised where it was made. Only the thread or task that enters sees
    it.

    Parameters
    ----------
    enabled : bool, default: True

    Raises
    ------
    ArgumentTypeError
        A string, whose truth would not be what it says, or an array.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.cuda.cuda_debug():
    ...     xp.cuda.get_cuda_debug()
    True
    """
    value = _gate.as_truth(enabled, function="cuda_debug", argument="enabled")
    before = _chosen.get()
    _chosen.set(value)
    try:
        yield
    finally:
        _chosen.set(before)
