"""What CuPy's documentation shows of its kernels, on NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import ElementwiseKernel, RawKernel, RawModule, ReductionKernel

SUM_AND_PRODUCT = r"""
extern "C"{

__global__ void test_sum(const float* x1, const float* x2, float* y, \
                         unsigned int N)
{
    unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
    if (tid < N)
    {
        y[tid] = x1[tid] + x2[tid];
    }
}

__global__ void test_multiply(const float* x1, const float* x2, float* y, \
                              unsigned int N)
{
    unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
    if (tid < N)
    {
        y[tid] = x1[tid] * x2[tid];
    }
}

}"""

TIMES_THREE = r"""
template<typename T>
__global__ void fx3(T* arr, int N) {
    unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < N) {
        arr[tid] = arr[tid] * 3;
    }
}
"""

KINDS_OF_ARGUMENTS = r"""
struct float3s { float x, y, z; };
struct float5x5 { float of[5][5]; };
extern "C" __global__ void arguments(double* out, float3s a, float5x5 m, float f, double d, int n, long long l,
                                     bool b, signed char c) {
    out[0] = a.x + 10 * a.y + 100 * a.z;
    out[1] = m.of[1][2];
    out[2] = f + d;
    out[3] = n + l;
    out[4] = b;
    out[5] = c;
}
"""


def test_squared_difference() -> None:
    squared_diff = ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff")
    x, y = np.arange(10, dtype=np.float32).reshape(2, 5), np.arange(5, dtype=np.float32)
    expected = [[0, 0, 0, 0, 0], [25, 25, 25, 25, 25]]
    np.testing.assert_array_equal(squared_diff(x, y), expected)
    np.testing.assert_array_equal(squared_diff(x, 5), [[25, 16, 9, 4, 1], [0, 1, 4, 9, 16]])
    z = np.empty((2, 5), dtype=np.float32)
    assert squared_diff(x, y, z) is z
    np.testing.assert_array_equal(z, expected)


def test_placeholders() -> None:
    generic = ElementwiseKernel("T x, T y", "T z", "T diff = x - y;\n z = diff * diff;", "squared_diff_generic")
    assert generic(np.arange(5), np.arange(5)[::-1]).tolist() == [16, 4, 0, 4, 16]
    most_generic = ElementwiseKernel("X x, Y y", "Z z", "z = (x - y) * (x - y)", "squared_diff_super_generic")
    x, y = np.arange(4, dtype=np.int16), np.full(4, 0.5)
    np.testing.assert_array_equal(most_generic(x, y, np.empty(4, np.float32)), (x - y) ** 2)
    with pytest.raises(ArgumentTypeError, match="no array decides the type 'Z' of 'z'; pass an array"):
        most_generic(x, y)


def test_a_raw_argument() -> None:
    add_reverse = ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) * 10
    np.testing.assert_array_equal(add_reverse(x, y), x + y.ravel()[::-1].reshape(2, 3))
    np.testing.assert_array_equal(add_reverse(x, np.asfortranarray(y)), x + y.ravel()[::-1].reshape(2, 3))
    with pytest.raises(ArgumentError, match="size"):
        ElementwiseKernel("raw T x", "raw T y", "y[i] = x[i]", "all_raw")(x)


def test_the_norm_and_other_reductions() -> None:
    l2norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_allclose(l2norm(x, axis=1), [5.477226, 15.9687195], rtol=1e-6)
    mean = ReductionKernel("T x", "T y", "x", "a + b", "y = a / (_in_ind.size() / _out_ind.size())", "0", "mean")
    np.testing.assert_array_equal(mean(x, axis=0), x.mean(0))
    np.testing.assert_array_equal(mean(x, axis=1, keepdims=True), x.mean(1, keepdims=True))


def test_raw_kernels() -> None:
    add = RawKernel(
        r"""
        extern "C" __global__
        void my_add(const float* x1, const float* x2, float* y) {
            int tid = blockDim.x * blockIdx.x + threadIdx.x;
            y[tid] = x1[tid] + x2[tid];
        }
        """,
        "my_add",
    )
    x1 = x2 = np.arange(25, dtype=np.float32).reshape(5, 5)
    y = np.zeros((5, 5), dtype=np.float32)
    add((5,), (5,), (x1, x2, y))
    np.testing.assert_array_equal(y, x1 + x2)
    attributes = add.attributes
    assert attributes["max_threads_per_block"] == 1024
    assert attributes["max_dynamic_shared_size_bytes"] == add.max_dynamic_shared_size_bytes == 49152
    add.max_dynamic_shared_size_bytes = 50000
    assert add.attributes["max_dynamic_shared_size_bytes"] == 50000


def test_complex_raw_kernels() -> None:
    kernel = RawKernel(
        r"""
        #include <cupy/complex.cuh>
        extern "C" __global__
        void my_func(const complex<float>* x1, const complex<float>* x2,
                     complex<float>* y, float a) {
            int tid = blockDim.x * blockIdx.x + threadIdx.x;
            y[tid] = x1[tid] + a * x2[tid];
        }
        """,
        "my_func",
    )
    x1 = np.arange(25, dtype=np.complex64).reshape(5, 5)
    x2 = np.complex64(1j) * x1
    y = np.zeros((5, 5), dtype=np.complex64)
    kernel((5,), (5,), (x1, x2, y, np.float32(2.0)))
    np.testing.assert_array_equal(y, x1 + 2 * x2)


def test_raw_modules() -> None:
    module = RawModule(code=SUM_AND_PRODUCT)
    n = 10
    x1 = np.arange(n**2, dtype=np.float32).reshape(n, n)
    x2, y = np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
    module.get_function("test_sum")((n,), (n,), (x1, x2, y, n**2))
    np.testing.assert_array_equal(y, x1 + x2)
    module.get_function("test_multiply")((n,), (n,), (x1, x2, y, n**2))
    np.testing.assert_array_equal(y, x1 * x2)

    names = ["fx3<float>", "fx3<double>"]
    templates = RawModule(code=TIMES_THREE, options=("-std=c++11",), name_expressions=names)
    for name, dtype in zip(names, (np.float32, np.float64), strict=True):
        a = np.arange(n, dtype=dtype)
        templates.get_function(name)((1,), (n,), (a, n))
        np.testing.assert_array_equal(a, 3 * np.arange(n))


def test_kinds_of_arguments() -> None:
    kernel = RawKernel(KINDS_OF_ARGUMENTS, "arguments")
    float3 = np.dtype({"names": ["x", "y", "z"], "formats": [np.float32] * 3})
    float5x5 = np.dtype({"names": ["dummy"], "formats": [(np.float32, (5, 5))]})
    a, m = np.arange(3, dtype=np.float32).view(float3), np.arange(25, dtype=np.float32).view(float5x5)
    out = np.zeros(6)
    numbers = (np.float32(1.5), 2.0, 3, 4, np.bool_(True), np.int8(-5))
    kernel((1,), (1,), (out, a, m, *numbers))
    np.testing.assert_array_equal(out, [210, 7, 3.5, 7, 1, -5])
    kernel((1,), (1,), (out.ctypes.data, a[0], m, np.array(1.5, np.float32), np.array([1.0]), *numbers[2:]))
    assert out[2] == 2.5


def test_arguments_that_a_gpu_would_misread_are_refused() -> None:
    kernel = RawKernel(KINDS_OF_ARGUMENTS, "arguments")
    a = np.zeros(1, "f4, f4, f4")
    good = [np.zeros(6), a, np.zeros(25, "f4").view([("m", "f4", (5, 5))]), np.float32(1), 2.0, 3, 4, np.bool_(True)]
    good.append(np.int8(1))
    read_only = np.zeros(6)
    read_only.flags.writeable = False
    for place, value, error, text in [
        (0, 1.0, ArgumentTypeError, "parameter 0 is a pointer, got float"),
        (0, read_only, ArgumentError, "'0' is written to, but the array is read-only"),
        (0, np.zeros(6, ">f8"), ArgumentTypeError, "parameter 0: an array of dtype .*>f8"),
        (0, np.zeros(6, object), ArgumentTypeError, "parameter 0: an array of dtype .*O"),
        (0, np.ma.zeros(6), ArgumentTypeError, "masked"),
        (1, np.zeros(2, "f4, f4, f4"), ArgumentTypeError, "parameter 1 is no pointer, got "),
        (3, 1.0, ArgumentTypeError, "parameter 3 has 4 bytes, got float of 8"),
        (4, 1, ArgumentTypeError, "parameter 4 is a floating-point number of 8 bytes, got .*1"),
        (4, np.int64(1), ArgumentTypeError, "parameter 4 is a floating-point number"),
        (5, np.int64(1), ArgumentTypeError, "parameter 5 has 4 bytes, got int64 of 8"),
    ]:
        args = [*good]
        args[place] = value
        for _ in range(2):  # compiled or not
            with pytest.raises(error, match=text):
                kernel((1,), (1,), tuple(args))
        kernel((1,), (1,), tuple(good))
