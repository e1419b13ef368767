"""Kernels with barriers as loops, on the CPU device: programs of CUDA's textbooks, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_device import address, compiled, mode_of, run
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu

SPLIT = "loops between barriers"


def test_tiled_matrix_product():
    source = """
#define TILE 16
extern "C" __global__ void k(const double* a, const double* b, double* c, int n) {
    __shared__ double as[TILE][TILE], bs[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    double sum = 0.0;
    #pragma unroll
    for (int tile = 0; tile < (n + TILE - 1) / TILE; ++tile) {
        int ac = tile * TILE + tx, br = tile * TILE + ty;
        as[ty][tx] = row < n && ac < n ? a[row * n + ac] : 0.0;
        bs[ty][tx] = br < n && col < n ? b[br * n + col] : 0.0;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}"""
    n = 53
    a, b = np.random.default_rng(0).random((2, n, n))
    c = np.zeros((n, n))
    kernel = run(source, a, b, c, n, n_threads=(n, n), block_size=(16, 16))
    np.testing.assert_allclose(c, a @ b, rtol=1e-12)
    assert mode_of(kernel) == SPLIT


def test_exclusive_scan_of_blelloch():
    source = """
extern "C" __global__ void k(const int* in, int* out, int* totals, int n) {
    extern __shared__ int temp[];
    int thid = threadIdx.x, base = blockIdx.x * n;
    int offset = 1;
    temp[2 * thid] = in[base + 2 * thid];
    temp[2 * thid + 1] = in[base + 2 * thid + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (thid == 0) { totals[blockIdx.x] = temp[n - 1]; temp[n - 1] = 0; }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            int t = temp[ai]; temp[ai] = temp[bi]; temp[bi] += t;
        }
    }
    __syncthreads();
    out[base + 2 * thid] = temp[2 * thid];
    out[base + 2 * thid + 1] = temp[2 * thid + 1];
}"""
    n = 256
    x = np.random.default_rng(0).integers(-50, 50, (7, n)).astype(np.int32)
    out, totals = np.zeros_like(x), np.zeros(7, np.int32)
    kernel = run(source, x, out, totals, n, grid=7, block=n // 2, shared_mem=4 * n)
    np.testing.assert_array_equal(out, np.cumsum(x, axis=1) - x)
    np.testing.assert_array_equal(totals, x.sum(axis=1))
    assert mode_of(kernel) == SPLIT


def test_bitonic_sort():
    source = """
template <typename T> __global__ void k(T* values) {
    __shared__ T s[256];
    const unsigned int t = threadIdx.x;
    s[t] = values[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned int size = 2; size <= 256; size <<= 1) {
        for (unsigned int stride = size / 2; stride > 0; stride >>= 1) {
            unsigned int partner = t ^ stride;
            if (partner > t) {
                bool up = (t & size) == 0;
                if ((s[t] > s[partner]) == up) { T swap = s[t]; s[t] = s[partner]; s[partner] = swap; }
            }
            __syncthreads();
        }
    }
    values[blockIdx.x * blockDim.x + t] = s[t];
}"""
    x = np.random.default_rng(0).random((9, 256)).astype(np.float32)
    expected = np.sort(x, axis=1)
    kernel = run(source, x, template_args=["float"], grid=9, block=256)
    np.testing.assert_array_equal(x, expected)
    assert mode_of(kernel) == SPLIT


def test_transpose_and_three_dimensional_blocks():
    source = """
extern "C" __global__ void k(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}"""
    a = np.random.default_rng(0).random((77, 50)).astype(np.float32)
    out = np.zeros((50, 77), np.float32)
    kernel = run(source, a, out, 50, 77, grid=(2, 3), block=(32, 8))
    np.testing.assert_array_equal(out, a.T)
    assert mode_of(kernel) == SPLIT


def test_histogram_with_shared_atomics():
    source = """
extern "C" __global__ void k(const unsigned char* data, unsigned int* bins, int n) {
    __shared__ unsigned int local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}"""
    data = np.random.default_rng(0).integers(0, 256, 20000).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    kernel = run(source, data, bins, data.size, grid=5, block=256)
    np.testing.assert_array_equal(bins, np.bincount(data, minlength=256))
    assert mode_of(kernel) == SPLIT


BODIES = {
    # What a thread keeps over a barrier: numbers, pointers, arrays of its own, values that change.
    "kept": """
        double v = x[i], w; double keep[3]; const double* p = x + i; int count = 0;
        w = v * 2;
        for (int j = 0; j < 3; ++j) keep[j] = v + j;
        s[t] = v; __syncthreads();
        v += s[(t + 1) % 64]; ++count; keep[1] *= 2;
        __syncthreads();
        y[i] = v + w + keep[0] + keep[1] + keep[2] + *p + count;""",
    # Threads that return are left out; the barrier holds for the others.
    "returned": """
        if (t >= 40) { y[i] = -1; return; }
        s[t] = x[i]; __syncthreads();
        if (t == 0) { y[i] = 9; return; }
        double before = s[t - 1];
        __syncthreads();
        y[i] = before; if (t == 5) return; y[i] += s[t];""",
    # Conditions and loops that are the same for all threads.
    "uniform": """
        s[t] = x[i];
        if (n > 3) { __syncthreads(); double o = s[63 - t]; __syncthreads(); s[t] = o; }
        else { y[i] = 7; __syncthreads(); }
        int r = 0;
        for (int k = 0; k < 10; ++k) {
            if (k == 2) continue;
            if (k > n) break;
            __syncthreads(); double o = s[(t + k) % 64]; __syncthreads(); s[t] = o * 0.5; r = r + k;
        }
        y[i] = s[t] + r;""",
    # Names that come again, in scopes of their own.
    "scopes": """
        { double a = x[i]; s[t] = a; __syncthreads(); a += s[63 - t]; __syncthreads(); y[i] = a; }
        { int a = t; s[t] = a; __syncthreads(); a += (int)s[(t + 2) % 64]; y[i] += a; }
        const int m = n;
        { const int n = 3; if (m > 3) __syncthreads(); s[t] = m; __syncthreads(); y[i] += m + 9 * n; }""",
    # What changes though it looks constant.
    "changing": """
        int limit = t; s[t] = limit; __syncthreads();
        limit += (int)s[63 - t]; __syncthreads();
        y[i] = limit; int twice = 2 * limit; __syncthreads(); y[i] += twice;""",
    # A counter in the memory of the device, read before and after it changes.
    "counter": """
        int seen = counter; s[t] = x[i]; __syncthreads();
        if (t == 0) counter = 100; __syncthreads();
        y[i] = seen + counter + s[t]; __syncthreads(); if (t == 0) counter = 3;""",
    # Pointers to variables that have no other use behind the barrier.
    "pointers": """
        double v = x[i], w[3]; double* p = &v; double* q;
        for (int j = 0; j < 3; ++j) w[j] = v + j;
        q = w + 1; s[t] = v; __syncthreads();
        y[i] = *p + q[1] + s[63 - t]; const double u = t; const double* r = &u; __syncthreads();
        y[i] += *r;""",
    # A loop that ends where all threads have returned.
    "endless": """
        s[t] = 1;
        while (true) {
            s[t] += 1; __syncthreads();
            if (s[0] > 3) { y[i] = s[63 - t]; return; }
            __syncthreads();
        }""",
}

# What words don't show: counters that change in the loop, and variables that take the name of others.
HIDDEN = {
    "for (int u = 0; u < 4; ++u) { s[t] = u; __syncthreads(); bump(u); y[t] += s[63 - t]; __syncthreads(); }": 2,
    "for (int u = 0; u < 4; ++u) { s[t] = u; __syncthreads(); (u)++; y[t] += s[63 - t]; __syncthreads(); }": 2,
    "for (int u = 0, w = 0; u < 4; ++u) { s[t] = u; __syncthreads(); (n ? u : w) += 1; y[t] += s[63 - t]; SYNC }": 2,
    "for (int u = 0; u < 2; ++u) { const int k = u; { const int u = 5; __syncthreads(); y[t] += k + 7 * u; } }": 71,
    "{ int n(7); __syncthreads(); y[t] = n; }": 7,
    "Pair p = {2, 7}; { auto [m, n] = p; __syncthreads(); y[t] = m + n; }": 9,
    "typedef float D; __syncthreads(); y[t] = sizeof(D);": 4,
    "int (*n)[2] = nullptr; __syncthreads(); y[t] = sizeof(n[0]);": 8,
}


@pytest.mark.parametrize("name", BODIES)
def test_loops_between_barriers_give_what_threads_give(name, request):
    """The truth is the same kernel on threads with stacks of their own, which a barrier in a condition forces."""
    if name in ("returned", "counter"):  # a barrier that not all reach; blocks that race
        request.getfixturevalue("unchecked")
    head = """
__device__ int counter = 3;
extern "C" __global__ void k(const double* x, double* y, int n) {
    __shared__ double s[64];
    const int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
"""
    split = CudaKernel(f"{head}{BODIES[name]} }}", "k", block_size=64)
    threads = CudaKernel(f"{head} if (x != nullptr && t >= 0) __syncthreads();\n{BODIES[name]} }}", "k", block_size=64)
    x = np.random.default_rng(0).random(64 * 5)
    found = []
    for kernel, mode in ((split, SPLIT), (threads, "fibers")):
        y = np.zeros_like(x)
        run_on_cpu(kernel, (x, y, 5), grid=5)
        assert mode_of(kernel) == mode
        found.append(y)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14)
    assert (found[0] != 0).all()


@pytest.mark.parametrize(
    "body",
    [
        "if (t < 64) __syncthreads();",
        "for (int j = 0; j < t - t + 2; ++j) __syncthreads();",
        "int many = (int)x[0] + 2; for (int j = 0; j < many; ++j) __syncthreads();",
        "wait();",
        "__syncthreads(); __syncwarp();",
        "while (x[t] > 2) __syncthreads(); __syncthreads();",
        "n = 3; __syncthreads(); s[t] = n;",
        "switch (n) { case 5: __syncthreads(); }",
        "auto keep = x[t]; __syncthreads(); s[t] = keep;",
    ],
)
def test_barriers_that_cannot_be_split_run_on_stacks(body):
    source = f"""
__device__ void wait() {{ __syncthreads(); }}
extern "C" __global__ void k(const double* x, double* y, int n) {{
    __shared__ double s[64];
    const int t = threadIdx.x;
    s[t] = x[t];
    {body}
    __syncthreads();
    y[t] = s[63 - t] + n;
}}"""
    x, y = np.zeros(64), np.zeros(64)
    kernel = run(source, x, y, 5, grid=1, block=64)
    assert mode_of(kernel) == "fibers"
    np.testing.assert_array_equal(y, 3 + 3 if "n = 3" in body else 5)


def test_what_words_do_not_show_is_found():
    source = """
#define SYNC __syncthreads();
struct Pair { int a, b; };
typedef double D;
__device__ int n = 1;
__device__ void bump(int& a) { ++a; }
"""
    for number, body in enumerate(HIDDEN):
        source += f"""
extern "C" __global__ void k{number}(double* y) {{ __shared__ double s[64]; const int t = threadIdx.x; {body} }}"""
    kernels = compiled(source, [f"k{number}" for number in range(len(HIDDEN))])
    for kernel, (body, expected) in zip(kernels.values(), HIDDEN.items(), strict=True):
        y = np.zeros(64)
        assert kernel.function.launch([address(y)], (1,), (64,), 0) is None
        np.testing.assert_array_equal(y, expected, err_msg=body)
