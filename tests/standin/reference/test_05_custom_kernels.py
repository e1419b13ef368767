"""Reference, section 5: kernels of every kind."""

import cupy as cp
import cupyx
import numpy as np
import pytest

import cunumpy as xp

pytestmark = pytest.mark.usefixtures("rng")

squared_diff = cp.ElementwiseKernel(
    "float32 x, float32 y",
    "float32 z",
    "z = (x - y) * (x - y)",
    "squared_diff",
)
generic_squared_diff = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "generic_squared_diff")
stencil = cp.ElementwiseKernel(
    "raw T x",
    "T y",
    "y = (x[i > 0 ? i-1 : 0] + x[i] + x[i < _ind.size()-1 ? i+1 : _ind.size()-1]) / 3",
    "stencil_1d",
)
l2norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")

kernel_code = r"""
extern "C" __global__
void vector_add(const float* a, const float* b, float* c, int n) {
    int tid = blockDim.x * blockIdx.x + threadIdx.x;
    if (tid < n) {
        c[tid] = a[tid] + b[tid];
    }
}
"""


@pytest.fixture
def rng():
    return np.random.default_rng(5)


class TestElementwise:
    def test_broadcasting_works_automatically(self, rng):
        x, y = rng.random((4, 5), dtype=np.float32), rng.random(5, dtype=np.float32)
        result = squared_diff(cp.asarray(x), cp.asarray(y))
        assert (result.shape, result.dtype) == ((4, 5), np.float32)
        np.testing.assert_allclose(result.get(), (x - y) ** 2, rtol=1e-6)

    def test_other_dtypes_than_declared_are_refused(self):
        with pytest.raises(TypeError, match="float64"):
            squared_diff(cp.zeros(3), cp.zeros(3))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex128])
    def test_a_letter_is_any_type(self, rng, dtype):
        x, y = (10 * rng.random((2, 6))).astype(dtype)
        result = generic_squared_diff(cp.asarray(x), cp.asarray(y))
        assert result.dtype == dtype
        np.testing.assert_allclose(result.get(), (x - y) ** 2, rtol=1e-6)

    def test_one_letter_is_one_type(self):
        with pytest.raises(TypeError, match="mismatch"):
            generic_squared_diff(cp.zeros(3), cp.zeros(3, np.float32))

    def test_neighbours(self, rng):
        x = rng.random(50)
        y = cp.empty(50)
        stencil(cp.asarray(x), y)
        padded = np.pad(x, 1, mode="edge")
        np.testing.assert_allclose(y.get(), (padded[:-2] + x + padded[2:]) / 3, rtol=1e-14)


class TestReduction:
    def test_of_all_and_along_an_axis(self, rng):
        x = rng.random((6, 40))
        norm, norms = l2norm(cp.asarray(x)), l2norm(cp.asarray(x), axis=1)
        assert norm.shape == ()
        assert norms.shape == (6,)
        np.testing.assert_allclose(norm.get(), np.linalg.norm(x), rtol=1e-13)
        np.testing.assert_allclose(norms.get(), np.linalg.norm(x, axis=1), rtol=1e-13)


class TestRaw:
    def test_vector_add(self):
        vector_add = cp.RawKernel(kernel_code, "vector_add")
        n = 1_000_000
        a = cp.random.rand(n, dtype=cp.float32)
        b = cp.random.rand(n, dtype=cp.float32)
        c = cp.zeros(n, dtype=cp.float32)
        threads = 256
        blocks = (n + threads - 1) // threads
        vector_add((blocks,), (threads,), (a, b, c, n))
        np.testing.assert_array_equal(c.get(), a.get() + b.get())

    def test_views_are_read_from_their_first_element_on_without_strides(self):
        first = cp.RawKernel(
            'extern "C" __global__ void first(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }', "first"
        )
        matrix = cp.arange(6, dtype=cp.float32).reshape(2, 3)
        y = cp.zeros(6, cp.float32)
        first((1,), (6,), (matrix.T, y))
        np.testing.assert_array_equal(y.get(), np.arange(6))

    @pytest.mark.parametrize(
        ("dtype", "ctype"),
        [
            ("float16", "half"),
            ("float32", "float"),
            ("float64", "double"),
            ("int32", "int"),
            ("int64", "long long"),
            ("complex64", "complex<float>"),
            ("complex128", "complex<double>"),
        ],
    )
    def test_types(self, dtype, ctype):
        source = f"""
#include <cuda_fp16.h>
#include <cupy/complex.cuh>
extern "C" __global__ void twice(const {ctype}* x, {ctype}* y) {{
    y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x];
}}"""
        x = cp.arange(8).astype(dtype)
        y = cp.zeros_like(x)
        cp.RawKernel(source, "twice")((1,), (8,), (x, y))
        np.testing.assert_array_equal(y.get(), 2 * x.get())


class TestModule:
    def test_from_source_and_from_a_file(self, tmp_path):
        (tmp_path / "kernels.cu").write_text(kernel_code)
        for module in (cp.RawModule(code=kernel_code), xp.kernels.RawModule(path=tmp_path / "kernels.cu")):
            kernel = module.get_function("vector_add")
            a, c = cp.arange(5, dtype=cp.float32), cp.zeros(5, cp.float32)
            kernel((1,), (32,), (a, a, c, 5))
            np.testing.assert_array_equal(c.get(), [0, 2, 4, 6, 8])

    @pytest.mark.parametrize("name", ["kernels.cubin", "kernels.ptx", "kernels.cu"])
    def test_files_are_machine_code_for_cupy_which_is_refused(self, tmp_path, name):
        # CuPy hands any file to CUDA's loader, which takes no source.
        (tmp_path / name).write_text(kernel_code)
        with pytest.raises(NotImplementedError, match="no machine code of GPUs; pass the source by code="):
            cp.RawModule(path=str(tmp_path / name))


@cupyx.jit.rawkernel()
def my_kernel(x, y, size):
    tid = cupyx.jit.grid(1)
    if tid < size:
        y[tid] = x[tid] * 2.0


@cupyx.jit.rawkernel()
def block_sums(x, sums, size):
    part = cupyx.jit.shared_memory(cp.float64, 128)
    tid = cupyx.jit.threadIdx.x
    i = cupyx.jit.grid(1)
    part[tid] = x[i] if i < size else 0.0
    cupyx.jit.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            part[tid] += part[tid + step]
        cupyx.jit.syncthreads()
        step //= 2
    if tid == 0:
        sums[cupyx.jit.blockIdx.x] = part[0]


@cupyx.jit.rawkernel()
def warp_sum_and_bits(x, total, bits):
    tid = cupyx.jit.threadIdx.x
    value = x[tid]
    for power in range(5):
        value += cupyx.jit.shfl_down_sync(0xFFFFFFFF, value, 16 >> power)
    cupyx.jit.syncwarp()
    if tid == 0:
        total[0] = value
    cupyx.jit.atomic_or(bits, 0, x[tid])
    cupyx.jit.atomic_max(bits, 1, x[tid])
    cupyx.jit.atomic_add(bits, 2, 1)


@cupyx.jit.rawkernel()
def other_primitives(x, found, bits, wide):
    tid = cupyx.jit.threadIdx.x
    value = x[tid]
    found[tid] = cupyx.jit.shfl_sync(0xFFFFFFFF, value, 5)
    found[32 + tid] = cupyx.jit.shfl_up_sync(0xFFFFFFFF, value, 2)
    found[64 + tid] = cupyx.jit.shfl_xor_sync(0xFFFFFFFF, value, 1)
    cupyx.jit.atomic_min(bits, 0, value)
    cupyx.jit.atomic_and(bits, 1, value)
    cupyx.jit.atomic_xor(bits, 2, value)
    if tid == 0:
        wide[0] = cupyx.jit.gridsize(1)
        wide[1] = cupyx.jit.blockDim.x
        wide[2] = cupyx.jit.gridDim.x


class TestJit:
    def test_my_kernel(self):
        n = 1000
        x, y = cp.arange(n, dtype=cp.float64), cp.zeros(n)
        blocks, threads = 8, 128
        my_kernel[blocks, threads](x, y, n)
        np.testing.assert_array_equal(y.get(), 2.0 * np.arange(n))

    def test_shared_memory_and_barriers(self, rng):
        x = rng.integers(0, 100, 1000).astype(float)
        sums = cp.zeros(8)
        block_sums[8, 128](cp.asarray(x), sums, 1000)
        np.testing.assert_array_equal(sums.get(), np.add.reduceat(x, np.arange(0, 1000, 128)))

    def test_shuffles_and_atomics(self):
        x = np.arange(32, dtype=np.int32) * 3
        total, bits = cp.zeros(1, cp.int32), cp.zeros(3, cp.int32)
        warp_sum_and_bits[1, 32](cp.asarray(x), total, bits)
        assert total.get()[0] == x.sum()
        np.testing.assert_array_equal(bits.get(), [np.bitwise_or.reduce(x), x.max(), 32])

    def test_the_other_primitives(self):
        x = (np.arange(32, dtype=np.int32) * 3) | 1
        found, bits, wide = cp.zeros(96, cp.int32), cp.full(3, 127, cp.int32), cp.zeros(3, cp.int32)
        other_primitives[1, 32](cp.asarray(x), found, bits, wide)
        from_before = np.concatenate([x[:2], x[:-2]])
        np.testing.assert_array_equal(found.get(), [*[x[5]] * 32, *from_before, *x.reshape(-1, 2)[:, ::-1].ravel()])
        np.testing.assert_array_equal(
            bits.get(), [x.min(), 127 & np.bitwise_and.reduce(x), 127 ^ np.bitwise_xor.reduce(x)]
        )
        assert wide.get().tolist() == [32, 32, 1]
