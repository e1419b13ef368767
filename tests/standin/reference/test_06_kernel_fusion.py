"""Reference, section 6: fused functions give what they give unfused."""

import cupy as cp
import numpy as np
import pytest


@cp.fuse()
def fused_op(x, y):
    return cp.sqrt((x - y) ** 2 + 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_kernel(dtype):
    rng = np.random.default_rng(6)
    x, y = rng.random((2, 1000)).astype(dtype)
    result = fused_op(cp.asarray(x), cp.asarray(y))
    assert result.dtype == dtype
    np.testing.assert_allclose(result.get(), np.sqrt((x - y) ** 2 + dtype(1)), rtol=4 * np.finfo(dtype).eps)


def test_a_simple_reduction():
    @cp.fuse()
    def norm(x):
        return cp.sum(x * x)

    assert float(norm(cp.arange(5.0))) == 30
