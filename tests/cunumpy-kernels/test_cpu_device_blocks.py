"""Kernels whose threads work together, on the CPU device, and how kernels end before their time."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_device import mode_of, run
from cunumpy.errors import CompileError, KernelError
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu


def test_block_sums_with_static_shared_memory():
    source = """
extern "C" __global__ void k(const double* x, double* sums) {
    __shared__ double partial[256];
    int t = threadIdx.x;
    partial[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
        if (t < width) partial[t] += partial[t + width];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = partial[0];
}"""
    x, sums = np.random.default_rng(0).random((50, 256)), np.zeros(50)
    run(source, x, sums, grid=50, block=256)
    np.testing.assert_allclose(sums, x.sum(axis=1), rtol=1e-13)


REVERSE = """
#include "tools.cuh"
struct alignas(16) Aligned { char bytes[24]; };
extern "C" __global__ void first(double* y) {
    extern __shared__ double values[];
    int t = threadIdx.x, n = blockDim.x;
    values[t] = y[t]; __syncthreads(); WAIT y[t] = values[n - 1 - t];
}
extern "C" __global__ void second(float* y) {
    extern __shared__ alignas(16) unsigned char bytes[];
    float* values = reinterpret_cast<float*>(bytes);
    int t = threadIdx.x, n = blockDim.x;
    values[t] = y[t]; __syncthreads(); WAIT y[t] = values[n - 1 - t];
}
template <typename T> __global__ void third(T* y) {
    extern __shared__ T typed[];
    int t = threadIdx.x, n = blockDim.x;
    typed[t] = y[t]; __syncthreads(); WAIT y[t] = typed[n - 1 - t];
}
namespace space { extern "C" __global__ void fourth(double* y) { reverse(y); } }
namespace space { __global__ void fifth(double* y) {
    extern volatile __shared__ double inner[];
    inner[threadIdx.x] = y[threadIdx.x]; __syncthreads(); WAIT y[threadIdx.x] = inner[blockDim.x - 1 - threadIdx.x];
} }
"""

TOOLS = """
__device__ inline void reverse(double* y) {
    extern __shared__ alignas(32) double of_header[];
    int t = threadIdx.x, n = blockDim.x;
    of_header[t] = y[t]; __syncthreads(); y[t] = of_header[n - 1 - t];
}
"""


@pytest.mark.parametrize(
    ("name", "dtype", "options"),
    [
        ("first", "f8", {}),
        ("second", "f4", {}),
        ("third", "i2", {"template_args": ["short"]}),
        ("space::fourth", "f8", {}),
        ("space::fifth", "f8", {}),
    ],
)
@pytest.mark.parametrize("wait", ["", "__syncwarp();"])
@pytest.mark.usefixtures("unchecked")  # the last warp is not full
def test_dynamic_shared_memory_of_several_kernels(tmp_path, name, dtype, options, wait):
    (tmp_path / "tools.cuh").write_text(TOOLS)
    y = np.arange(100).astype(dtype)
    options |= {"include_dirs": [tmp_path], "options": [f"-DWAIT={wait}"]}
    kernel = run(REVERSE, y, name=name, grid=1, block=100, shared_mem=800, **options)
    np.testing.assert_array_equal(y, np.arange(100)[::-1])
    assert mode_of(kernel) == ("fibers" if wait or name == "space::fourth" else "loops between barriers")


def test_shared_memory_belongs_to_a_block(monkeypatch):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", "4")
    source = """
extern "C" __global__ void k(const double* x, double* y, int rounds) {
    __shared__ double box[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    double v = x[i];
    for (int r = 0; r < rounds; ++r) {
        box[t] = v; __syncthreads(); v = box[(t + 1) % 64]; __syncthreads();
    }
    y[i] = v;
}"""
    x = np.random.default_rng(0).random((300, 64))
    kernel = CudaKernel(source, "k", block_size=64)
    for _ in range(5):
        y = np.zeros_like(x)
        run_on_cpu(kernel, (x, y, 10), grid=300)
        np.testing.assert_array_equal(y, np.roll(x, -10, axis=1))


def test_shipped_block_functions_run():
    source = """
#include <cunumpy/reduce.cuh>
extern "C" __global__ void k(const double* x, double* sums, int n) {
    double v = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[blockIdx.x * n + i];
    double s = cunumpy_warp_sum(v);
    if (threadIdx.x % 32 == 0) sums[blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32] = s;
}"""
    x, sums = np.random.default_rng(0).random((5, 1000)), np.zeros((5, 4))
    run(source, x, sums, 1000, grid=5, block=128)
    np.testing.assert_allclose(sums.sum(axis=1), x.sum(axis=1), rtol=1e-13)


MODES = {
    "merged loops": "",
    "loops": "if (threadIdx.x == 5000) x[0] = 3;",
    "loops between barriers": "__syncthreads();",
    "fibers": "__syncwarp();",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", ["__trap();", "assert(x[i] > 0);"])
def test_a_trap_tells_block_and_thread_and_the_first_one_wins(mode, end, monkeypatch):
    """Whatever the number of workers, it is the first block that fails."""
    source = f"""
#include <assert.h>
extern "C" __global__ void k(double* x, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {MODES[mode]}
    if (i < n) {{ if (x[i] < 0) {end} x[i] = 7; }}
}}"""
    kernel = CudaKernel(source, "k")
    for workers in ("1", "2", "5"):
        monkeypatch.setenv("CUNUMPY_NUM_THREADS", workers)
        for _ in range(3):
            x = np.ones(20000)
            x[[5000, 7000, 19000]] = -1
            with pytest.raises(KernelError, match=r"CudaKernel 'k' \(grid \(157,\), block \(128,\)\)") as caught:
                run_on_cpu(kernel, (x, x.size), n_threads=x.size)
            assert f"block ({5000 // 128}, 0, 0)" in str(caught.value)
            assert f"thread ({5000 % 128}, 0, 0)" in str(caught.value)
            assert (x[: 5000 // 128 * 128] == 7).all()  # what was written before stays
    x[:] = 1
    run_on_cpu(kernel, (x, x.size), n_threads=x.size)
    assert (x == 7).all()
    assert mode_of(kernel) == mode


def test_printf_reaches_the_standard_output(capfd):
    source = (
        'extern "C" __global__ void k(int n) { if (threadIdx.x < n) printf("thread %d of %d\\n", threadIdx.x, n); }'
    )
    run(source, 3, grid=1, block=32)
    assert capfd.readouterr().out == "thread 0 of 3\nthread 1 of 3\nthread 2 of 3\n"


def test_types_may_be_aligned_like_other_types():
    source = """
struct alignas(double) Pair { char c[3]; };
struct alignas(float4) Wide { float v; };
extern "C" __global__ void k(int* out) {
    __shared__ alignas(64) float s[3];
    s[0] = 1;
    out[0] = alignof(Pair); out[1] = sizeof(Wide); out[2] = (unsigned long long)s % 64 + (int)s[0];
}"""
    out = np.zeros(3, np.int32)
    run(source, out, n_threads=1)
    np.testing.assert_array_equal(out, [8, 16, 1])


def test_inline_ptx_runs_or_is_refused_with_its_line():
    source = """
extern "C" __global__ void k(int* x) {
    int lane, other, i = threadIdx.x;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(other) : "r"(lane));
    x[i] = 100 * lane + other;
}"""
    x = np.zeros(64, np.int32)
    kernel = run(source, x, grid=1, block=64)
    lane = np.arange(64) % 32
    np.testing.assert_array_equal(x, 100 * lane + (lane ^ 1))
    assert mode_of(kernel) == "fibers"
    with pytest.raises(CompileError, match=r"k\.cu:4: "):
        run(source.replace("mov.u32 %0, %laneid", "tex.1d.v4.f32.s32 %0, 3"), x, grid=1, block=64)
