"""`fuse` on a GPU: one kernel, NumPy's results."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.kernels import fuse


@fuse
def damped(x, rate):
    return x * xp.exp(-rate * x)


@fuse
def distance(x, y, rate=2.0):
    return xp.sqrt((x - y) ** 2 + damped(x, rate))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_fused_functions_give_numpys_results(dtype, backend):
    x, y = np.linspace(0.0, 1.0, 1001, dtype=dtype), np.linspace(1.0, 2.0, 1001, dtype=dtype)
    with xp.use_backend(backend):
        arrays = distance(cupy.asarray(x), cupy.asarray(y))
        numbers = distance(cupy.asarray(x), y=0.5, rate=1)
    for result, other, rate in ((arrays, y, 2.0), (numbers, 0.5, 1.0)):
        expected = np.sqrt((x - other) ** 2 + x * np.exp(-rate * x))
        assert result.dtype == dtype
        np.testing.assert_allclose(result.get(), expected, rtol=8 * np.finfo(dtype).eps)
