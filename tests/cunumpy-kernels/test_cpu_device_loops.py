"""Kernels whose threads wait for nobody, on the CPU device, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_device import mode_of, run
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu

PLACES = {
    "int": "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)",
    "early_return": "int i = threadIdx.x + blockDim.x * blockIdx.x; if (i >= n) return;",
    "size_t": "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < (size_t)n)",
    "long_long": "const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; if (i < n)",
    "copies": "int t = threadIdx.x, b = blockIdx.x; unsigned w = blockDim.x; int i = b * w + t; if (i < n)",
    "changed_copy": "int t = threadIdx.x; t += 0; int i = blockIdx.x * blockDim.x + t; if (i < n)",
    "backwards": "int i = n - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x); if (i >= 0)",
    "product": "int i = __mul(blockIdx.x, blockDim.x) + threadIdx.x; if (i < n)",
    "macro": "CUNUMPY_THREAD_1D(i, n);",
    "range": "for (auto i : cunumpy::grid_stride(n))",
    "range32": "for (int i : cunumpy::grid_stride32(n))",
    "stride": "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)",
    "stride_names": """const int first = blockIdx.x * blockDim.x + threadIdx.x, step = blockDim.x * gridDim.x;
        for (int i = first; i < n; i += step)""",
    "stride_macro": "CUNUMPY_GRID_STRIDE_1D(i, n)",
}
MERGED = {"int", "early_return", "size_t", "long_long", "copies", "backwards", "macro"}
STRIDES = {"range", "range32", "stride", "stride_names", "stride_macro"}


def axpy_source(place: str) -> str:
    return f"""
#include <cunumpy/index.cuh>
__device__ unsigned __mul(unsigned a, unsigned b) {{ return a * b; }}
extern "C" __global__ void k(double a, const double* x, double* y, int n) {{
    {PLACES[place]} y[i] += a * x[i];
}}"""


@pytest.mark.parametrize("place", PLACES)
def test_each_way_to_write_a_threads_place_gives_the_same(place):
    kernel = CudaKernel(axpy_source(place), "k")
    rng = np.random.default_rng(3)
    for n in (1, 2, 127, 128, 129, 1000, 4097):
        for launch in (
            {"n_threads": n},
            {"n_threads": n, "block": 32},
            {"n_threads": n + 300},
            {"n_threads": n, "block": 1},
        ):
            x, y = rng.random(n), rng.random(n)
            expected = y + 1.5 * x
            run_on_cpu(kernel, (1.5, x, y, n), **launch)
            np.testing.assert_allclose(y, expected, rtol=1e-15, err_msg=f"{n} {launch}")
    if place in STRIDES:
        x, y = rng.random(5000), rng.random(5000)
        expected = y + 1.5 * x
        for grid in (1, 3, 64):
            y = expected - 1.5 * x
            run_on_cpu(kernel, (1.5, x, y, 5000), grid=grid)
            np.testing.assert_allclose(y, expected, rtol=1e-14)
    expected_mode = "merged loops" if place in MERGED else "grid-stride loops" if place in STRIDES else "loops"
    assert mode_of(kernel) == expected_mode


@pytest.mark.parametrize("dtype", ["uint32", "int32", "uint64", "float32", "uint8"])
def test_arrays_of_the_types_of_indices_are_no_indices(dtype):
    """The compiler must not take a store to an array for one to threadIdx, nor keep what another thread had."""
    ctype = {
        "uint32": "unsigned",
        "int32": "int",
        "uint64": "unsigned long long",
        "float32": "float",
        "uint8": "unsigned char",
    }
    source = f"""
extern "C" __global__ void k({ctype[dtype]}* out, int n) {{
    unsigned t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (i < n) {{
        out[4 * i] = t; out[4 * i + 1] = blockIdx.x; out[4 * i + 2] = blockDim.x; out[4 * i + 3] = gridDim.x;
    }}
}}"""
    n = 500
    out = np.zeros((n, 4), dtype)
    run(source, out, n, n_threads=n, block=96)
    i = np.arange(n)
    expected = np.stack([i % 96, i // 96, np.full(n, 96), np.full(n, 6)], axis=1).astype(dtype)
    np.testing.assert_array_equal(out, expected)


STENCIL = """
extern "C" __global__ void k(const double* u, double* v, int nx, int ny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
        v[j * nx + i] = 0.25 * (u[j * nx + i - 1] + u[j * nx + i + 1] + u[(j - 1) * nx + i] + u[(j + 1) * nx + i]);
}"""


@pytest.mark.parametrize(
    ("shape", "block"), [((64, 48), (16, 16)), ((37, 53), (32, 4)), ((3, 3), (8, 8)), ((1, 70), (16, 2))]
)
def test_stencil_in_two_dimensions(shape, block):
    ny, nx = shape
    u = np.random.default_rng(1).random(shape)
    v = np.zeros(shape)
    run(STENCIL, u, v, nx, ny, n_threads=(nx, ny), block_size=block)
    expected = np.zeros(shape)
    if min(shape) > 2:
        expected[1:-1, 1:-1] = 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])
    np.testing.assert_allclose(v, expected, rtol=1e-14)


@pytest.mark.parametrize("apart", [False, True])
def test_three_dimensions_reach_each_thread_once(apart):
    use = "(int)threadIdx.x + 0 * (int)blockDim.x" if apart else "0"
    source = f"""
#include <cunumpy/index.cuh>
extern "C" __global__ void k(int* hits, int* parts, int nx, int ny, int nz) {{
    CUNUMPY_THREAD_3D(i, j, k, nx, ny, nz);
    hits[(k * ny + j) * nx + i] += 1;
    int thread = (int)threadIdx.y + 10 * (int)threadIdx.z, block = (int)blockIdx.y + 10 * (int)blockIdx.z;
    parts[(k * ny + j) * nx + i] = thread + 100 * block + {use};
}}"""
    nx, ny, nz = 13, 7, 9
    hits, parts = np.zeros((nz, ny, nx), np.int32), np.zeros((nz, ny, nx), np.int32)
    kernel = run(source, hits, parts, nx, ny, nz, n_threads=(nx, ny, nz), block_size=(4, 2, 3))
    z, y, x = np.indices((nz, ny, nx))
    np.testing.assert_array_equal(hits, 1)
    np.testing.assert_array_equal(
        parts, y % 2 + 10 * (z % 3) + 100 * (y // 2) + 1000 * (z // 3) + (x % 4 if apart else 0)
    )
    assert mode_of(kernel) == ("loops" if apart else "merged loops")


def test_private_arrays_of_threads_stay_private():
    """A solver with pivoting: private memory with indices known only when it runs, in a loop that is vectorised."""
    source = """
extern "C" __global__ void k(const double* a, const double* b, double* x, int n) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= n) return;
    double m[3][4];
    for (int i = 0; i < 3; ++i) { for (int j = 0; j < 3; ++j) m[i][j] = a[9 * s + 3 * i + j]; m[i][3] = b[3 * s + i]; }
    int order[3] = {0, 1, 2};
    for (int c = 0; c < 3; ++c) {
        int best = c;
        for (int r = c + 1; r < 3; ++r) if (fabs_(m[order[r]][c]) > fabs_(m[order[best]][c])) best = r;
        int swap = order[c]; order[c] = order[best]; order[best] = swap;
        for (int r = c + 1; r < 3; ++r) {
            double f = m[order[r]][c] / m[order[c]][c];
            for (int j = c; j < 4; ++j) m[order[r]][j] -= f * m[order[c]][j];
        }
    }
    for (int r = 2; r >= 0; --r) {
        double sum = m[order[r]][3];
        for (int j = r + 1; j < 3; ++j) sum -= m[order[r]][j] * x[3 * s + j];
        x[3 * s + r] = sum / m[order[r]][r];
    }
}"""
    source = "__device__ double fabs_(double v) { return v < 0 ? -v : v; }\n" + source
    rng = np.random.default_rng(5)
    n = 777
    a, b, x = rng.standard_normal((n, 3, 3)), rng.standard_normal((n, 3)), np.zeros((n, 3))
    run(source, a, b, x, n, n_threads=n)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", a, x), b, rtol=0, atol=1e-9)


def test_loops_with_different_counts_and_local_sums():
    source = """
extern "C" __global__ void k(const double* x, const int* first, double* sums, int* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    int count = 0;
    for (int j = first[i]; j < first[i + 1]; ++j) {
        if (x[j] < 0.1) continue;
        if (x[j] > 0.9) break;
        sum += x[j]; ++count;
    }
    sums[i] = sum; counts[i] = count;
}"""
    rng = np.random.default_rng(8)
    n = 400
    first = np.concatenate([[0], np.cumsum(rng.integers(0, 9, n))]).astype(np.int32)
    x, sums, counts = rng.random(first[-1]), np.zeros(n), np.zeros(n, np.int32)
    run(source, x, first, sums, counts, n, n_threads=n)
    for i in range(n):
        part = x[first[i] : first[i + 1]]
        stop = np.argmax(part > 0.9) if (part > 0.9).any() else len(part)
        taken = part[:stop][part[:stop] >= 0.1]
        assert counts[i] == len(taken)
        assert sums[i] == pytest.approx(taken.sum(), rel=1e-14)


@pytest.mark.parametrize(
    ("body", "mode"),
    [
        # A sum of the thread outlives a step.
        ("double s = 0; for (int i = P; i < n; i += S) s += x[i]; y[P] = s;", "merged loops"),
        # The loop is left early.
        ("for (int i = P; i < n; i += S) { if (x[i] > 0.99) break; y[P % 96] += x[i]; }", "merged loops"),
        # A parameter changes from step to step.
        ("for (int i = P; i < n; i += S) { y[P] += x[i] * n; if (i > 300) n = n - 1; }", "merged loops"),
        # Steps depend on each other by the memory of their thread, in their order.
        ("for (int i = P; i < n; i += S) y[P] = 0.5 * y[P] + x[i];", "grid-stride loops"),
        ("for (int i = P; i < n; i += S) { if (x[i] < 0.3) continue; y[P] = 0.5 * y[P] + x[i]; }", "grid-stride loops"),
        ("for (int i = P; i <= n - 1; i = i + S) { double t = x[i]; t *= t; y[P] += t; }", "grid-stride loops"),
    ],
)
def test_strides_with_state(body, mode):
    body = body.replace("P", "(int)(blockIdx.x * blockDim.x + threadIdx.x)").replace(
        "S", "(int)(gridDim.x * blockDim.x)"
    )
    source = f'extern "C" __global__ void k(const double* x, double* y, int n) {{ {body} }}'
    n, threads = 1000, 96
    x, y = np.random.default_rng(2).random(n), np.zeros(threads)
    kernel = run(source, x, y, n, grid=3, block=32)
    expected = np.zeros(threads)
    for thread in range(threads):
        length = n
        i = thread
        while i < length:
            if "s +=" in body:
                expected[thread] += x[i]
            elif "break" in body:
                if x[i] > 0.99:
                    break
                expected[thread] += x[i]
            elif "n - 1;" in body and "* n" in body:
                expected[thread] += x[i] * length
                length -= i > 300
            elif "t *= t" in body:
                expected[thread] += x[i] * x[i]
            elif not ("continue" in body and x[i] < 0.3):
                expected[thread] = 0.5 * expected[thread] + x[i]
            i += threads
    np.testing.assert_allclose(y, expected, rtol=1e-13)
    assert mode_of(kernel) == mode


def test_grids_beyond_31_bits_of_threads_along_x():
    source = """
extern "C" __global__ void k(unsigned char* hits, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 1000003 == 0) hits[i / 1000003] += 1;
}"""
    grid = 2**22
    hits = np.zeros(grid * 2 // 1000003 + 1, np.uint8)
    run(source, hits, grid * 2, grid=grid, block=2)
    np.testing.assert_array_equal(hits, 1)


def test_templates_namespaces_and_defines():
    source = """
namespace outer { namespace { __device__ double half(double v) { return v / 2; } }
template <typename T, int N> __global__ void k(T* y, const T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = half(x[i]) + N + OFFSET;
}
template <typename T> __global__ void strided(T* y, const T* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = 3 * x[i];
} }"""
    x = np.arange(100.0)
    y = np.zeros(100)
    run(source, y, x, 100, name="outer::k", template_args=["double", 7], options=["-DOFFSET=0.25"], n_threads=100)
    np.testing.assert_array_equal(y, x / 2 + 7.25)
    kernel = run(
        source, y, x, 100, name="outer::strided", template_args=["double"], options=["-D", "OFFSET=1"], grid=2, block=8
    )
    np.testing.assert_array_equal(y, 3 * x)
    assert mode_of(kernel) == "grid-stride loops"


def test_results_do_not_depend_on_the_number_of_workers(monkeypatch):
    source = """
extern "C" __global__ void k(const double* x, double* y, int* where, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    for (int s = 0; s < 50; ++s) v = 3.9 * v * (1 - v);
    y[i] = v; where[i] = blockIdx.x;
}"""
    n = 100_000
    x = np.random.default_rng(1).random(n)
    kernel = CudaKernel(source, "k", block_size=64)
    found = []
    for workers in ("1", "2", "3", "7"):
        monkeypatch.setenv("CUNUMPY_NUM_THREADS", workers)
        y, where = np.zeros(n), np.zeros(n, np.int32)
        for _ in range(3):
            run_on_cpu(kernel, (x, y, where, n), n_threads=n)
        np.testing.assert_array_equal(where, np.arange(n) // 64)
        found.append(y)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_nothing_to_do_runs_nothing():
    y = np.ones(3)
    run('extern "C" __global__ void k(double* y) { y[0] = 5; }', y, n_threads=0)
    np.testing.assert_array_equal(y, 1)


def test_names_and_macros_of_the_source_meet_none_of_ours():
    source = """
#define block 3
#define row 4
#define run 5
#define kernel 6
#define P 7
#define I 8
#define N 9
struct Row { int first; };
struct Block { int last; };
extern "C" __global__ void launch(int* out) { Row r = {block + row}; Block b = {run}; *out = r.first + b.last + N; }
extern "C" __global__ void first(int* arguments, int last) { arguments[0] = last; }
namespace step { __global__ void active(int* line) { *line = 3; } }
"""
    out = np.zeros(1, np.int32)
    for name, args, expected in (("launch", (), 21), ("first", (8,), 8), ("step::active", (), 3)):
        run(source, out, *args, name=name, n_threads=1)
        assert out[0] == expected
