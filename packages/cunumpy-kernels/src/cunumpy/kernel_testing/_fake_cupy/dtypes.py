"""The element types that CuPy has, and conversions between them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

DTYPE_CHARACTERS = "?bhilqBHILQefdFDV"
NATIVE_ORDERS = "=|" + ("<" if sys.byteorder == "little" else ">")


def check_dtype(dtype: Any) -> Any:
    """Return a dtype that CuPy has, or raise CuPy's ValueError."""
    dtype = np.dtype(dtype)
    if dtype.names is not None:
        for name in dtype.names:
            check_dtype(dtype[name].base)
    elif dtype.char not in DTYPE_CHARACTERS:
        raise ValueError(f"Unsupported dtype {dtype}")
    elif dtype.byteorder not in NATIVE_ORDERS:
        # CuPy lets some of these through and then computes with the wrong byte order (its issue 9014).
        raise ValueError(f"Unsupported dtype {dtype.str} with big-endian byte-order")
    return dtype


def is_cuda_cast(values: Any, dtype: np.dtype[Any]) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and dtype.kind in "iu"


def cuda_cast(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return real numbers as integers, by CUDA's conversions: those outside of the limits become the limits.

    NumPy leaves that open. NaN is 0 where single precision becomes at most 32 bits, else the smallest integer (PTX,
    ``cvt``). Types below 32 bits get the low bits of 32.
    """
    if not is_cuda_cast(values, dtype):
        return values
    wide = np.dtype(f"{dtype.kind}{max(dtype.itemsize, 4)}")
    limits = np.iinfo(wide)
    with np.errstate(all="ignore"):
        result: np.ndarray[Any, Any] = np.asarray(values.astype(wide))
        result[values <= limits.min] = limits.min
        result[values >= float(limits.max)] = limits.max
        of_nan = 0 if values.dtype.itemsize < 8 and wide.itemsize < 8 else 1 << (8 * wide.itemsize - 1)
        result[np.isnan(values)] = of_nan - (2 * of_nan if dtype.kind == "i" else 0)
        return result.astype(dtype)
