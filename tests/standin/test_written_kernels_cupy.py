"""Elementwise, reduction and raw kernels: device arrays go to CuPy's own."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

from cunumpy.errors import MixedBackendError
from cunumpy.kernel_testing import host_buffer
from cunumpy.kernels import ElementwiseKernel, RawKernel, RawModule, ReductionKernel

ADD = ("T x, T y", "T z", "z = x + 2 * y", "add")
NORM = ("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
SHIFT = 'extern "C" __global__ void shift(double* x, double by) { x[threadIdx.x] += by; }'


@pytest.mark.parametrize("kind", [ElementwiseKernel, cupy.ElementwiseKernel])
def test_elementwise_kernels(kind):
    kernel = kind(*ADD)
    x, y = cupy.arange(3.0), cupy.ones((2, 1))
    z = kernel(x, y)
    assert type(z) is cupy.ndarray
    np.testing.assert_array_equal(host_buffer(z), [[2, 3, 4]] * 2)
    out = cupy.empty(3)
    assert kernel(x, 1, out) is out
    np.testing.assert_array_equal(host_buffer(out), [2, 3, 4])
    first = kind("raw T x", "T y", "y = x[0] + i", "first")
    np.testing.assert_array_equal(host_buffer(first(x, size=4)), np.arange(4))


@pytest.mark.parametrize("kind", [ReductionKernel, cupy.ReductionKernel])
def test_reduction_kernels(kind):
    kernel = kind(*NORM)
    x = cupy.arange(12.0).reshape(3, 4)
    whole = kernel(x)
    assert type(whole) is cupy.ndarray
    assert whole.shape == ()
    out = cupy.empty(3)
    assert kernel(x, axis=1, out=out) is out
    np.testing.assert_allclose(host_buffer(out), np.linalg.norm(host_buffer(x), axis=1))


def test_raw_kernels_and_modules():
    x = cupy.arange(3.0)
    RawKernel(SHIFT, "shift")((1,), (3,), (x, 1.0))
    RawModule(code=SHIFT).get_function("shift")((1,), (3,), (x, 1.0))
    np.testing.assert_array_equal(host_buffer(x), [2, 3, 4])


def test_arrays_of_both_kinds_are_refused():
    x, y = np.zeros(3), cupy.zeros(3)
    with pytest.raises(MixedBackendError, match="'x' is a NumPy array and 'y' a device array"):
        ElementwiseKernel(*ADD)(x, y)
    with pytest.raises(MixedBackendError, match="'x' is a NumPy array and 'y' a device array"):
        ReductionKernel(*NORM)(x, out=y)
    with pytest.raises(MixedBackendError, match="argument 0 is a NumPy array and 1 a device array"):
        RawKernel(SHIFT, "shift")((1,), (3,), (x, y))


def test_cupys_own_refuse_host_arrays():
    with pytest.raises(TypeError, match="Unsupported type"):
        cupy.ElementwiseKernel(*ADD)(np.zeros(3), np.zeros(3))


def test_raw_kernels_take_what_cupy_takes_by_value():
    kernel = RawKernel(
        "struct Pair { float first, second; };"
        'extern "C" __global__ void shift(double* x, Pair pair, double by) { x[threadIdx.x] += pair.second * by; }',
        "shift",
    )
    x = cupy.arange(3.0)
    pair = np.array([(1, 2)], [("first", "f4"), ("second", "f4")])
    kernel((1,), (3,), (x, pair, np.array([3.0])))
    np.testing.assert_array_equal(host_buffer(x), [6, 7, 8])
    kernel((1,), (3,), (x.data, pair, np.float64(1)))  # memory on the device
    np.testing.assert_array_equal(host_buffer(x), [8, 9, 10])
    with pytest.raises(MixedBackendError, match="argument 1 is a NumPy array and 0 a device array"):
        kernel((1,), (3,), (x.data, np.zeros(2, pair.dtype), 1.0))
