"""Comparing kernels where there is a GPU: the host, the GPU, for which the stand-in stands, and the CPU device."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.kernel_testing import _parity, assert_kernels_agree, emulated_launches
from cunumpy.kernels import CudaKernel, Kernel

SOURCE = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


def axpy(a, x, y, n):
    y[:n] += a * x[:n]


@pytest.fixture
def places(monkeypatch):
    """List on what `make_args` is asked for arguments, where a GPU seems to be there."""
    monkeypatch.setattr(_parity, "can_launch", lambda: True)
    return []


@pytest.mark.parametrize(
    ("emulate", "expected", "launched"),
    [("auto", ["numpy", "cupy", "cupy"], 1), (False, ["numpy", "cupy"], 1), (True, ["numpy", "cupy"], 0)],
)
def test_all_three_are_compared(places, raw_modules, emulate, expected, launched):
    def make_args(backend, seed):
        places.append(xp.get_backend())
        return 0.5, xp.asarray(np.arange(5.0)), xp.ones(5), 5

    kernel = Kernel(axpy, CudaKernel(SOURCE, "axpy"))
    assert_kernels_agree(kernel, make_args, emulate=emulate)
    assert places == expected
    assert raw_modules == ["axpy"] * launched


def test_a_difference_names_the_gpu(places, raw_modules):
    def wrong(a, x, y, n):
        y[:n] += 2 * a * x[:n]

    kernel = Kernel(wrong, CudaKernel(SOURCE, "axpy"))
    with pytest.raises(AssertionError, match=r"argument 2 \(y\) differs between the host and the GPU: "):
        assert_kernels_agree(kernel, lambda backend, seed: (0.5, xp.ones(5), xp.ones(5), 5))


def test_emulated_launches_go_past_the_gpu(places, raw_modules):
    kernel = CudaKernel(SOURCE, "axpy")
    with xp.use_backend("cupy"):
        x, y = xp.ones(5), xp.zeros(5)
        with emulated_launches(strict=True):
            kernel(1.0, x, y, 5)
            prepared = kernel.prepare(1.0, x, y, 5)
            prepared()
        assert raw_modules == []
        prepared()
    assert raw_modules == ["axpy"]
    assert y.get().tolist() == [3] * 5
