"""The peak of memory that a call takes."""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak(call: Callable[[], Any]) -> tuple[int, Any]:
    """Call a function and return by how many bytes its peak of memory is above what was in use before, and its result.

    On Linux it is the peak of the process's resident memory, which counts whatever NumPy, native code and threads
    touch (the kernel's count is some 0.1 MB off). Call it on a machine without swapping, and first in the process: what
    an earlier call has freed may still be resident, and is then not counted again. Elsewhere it is the peak of what
    Python and NumPy have allocated.

    Parameters
    ----------
    call : callable
        Without arguments. Let it have been called with little data before, so that loaded code does not count.

    Examples
    --------
    >>> above, result = peak(lambda: np.ones(10**7) + 1)
    >>> above > 0.9 * result.nbytes
    True
    """
    if not CLEAR.exists():
        tracemalloc.start()
        result = call()
        above = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return above, result
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)  # gives back what was freed before, so that it counts when it is used again
    CLEAR.write_text("5")  # sets the peak to what is resident now; see proc(5)
    before = _resident("VmRSS")
    result = call()
    return max(0, _resident("VmHWM") - before), result


def _resident(name: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"{STATUS} has no {name}")


def size(arrays: Any) -> int:
    """Return the bytes of an array, or of the arrays in a tuple; other things have none."""
    if isinstance(arrays, tuple):
        return sum(map(size, arrays))
    return arrays.nbytes if isinstance(arrays, np.ndarray) else 0
