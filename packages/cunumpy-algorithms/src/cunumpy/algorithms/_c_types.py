"""What the CUDA kernels of this package call a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy.cuda import ctype_of


def c_type(dtype: np.dtype[Any], *, unsigned: bool = False) -> str:
    """Give the C type of a dtype, or of the parts of a complex one; bool is a byte, float16 the `Half` of half.cuh."""
    if dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    elif dtype.kind == "b" or (unsigned and dtype.kind == "i"):
        dtype = np.dtype(f"u{dtype.itemsize}")
    return "Half" if dtype == np.float16 else ctype_of(dtype)
