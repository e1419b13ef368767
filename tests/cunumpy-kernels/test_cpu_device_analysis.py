"""Which kernels the CPU device runs as loops: never one that waits for other threads."""

from __future__ import annotations

import pytest

from cunumpy.kernels._cpu_device.analysis import FIBERS, GRID_STRIDE, LOOPS, MERGED_LOOPS, SPLIT_LOOPS, analyse
from cunumpy.kernels._cpu_device.build import global_variables

KERNEL = 'extern "C" __global__ void k(double* x, int n) {{ {} }}'


def mode(source: str, kernel: str = "k") -> str:
    return analyse(source, kernel, []).mode


@pytest.mark.parametrize(
    "body",
    [
        "x[0] = __shfl_sync(~0u, x[0], 0);",
        "if (__any_sync(~0u, n)) x[0] = 1;",
        "x[0] = __reduce_add_sync(~0u, n);",
        "__syncwarp();",
        "unsigned m = __activemask();",
        "n = __syncthreads_count(n);",
        'asm volatile("bar.sync 0;" ::: "memory");',
        'asm("vote.sync.any.pred p, q, 0xffffffff;");',
        "cooperative_groups::this_thread_block().sync();",
        "typedef cub::BlockReduce<double, 128> Reduce;",
    ],
)
def test_waiting_functions_are_seen(body):
    assert mode(KERNEL.format(body)) == FIBERS


@pytest.mark.parametrize(
    "source",
    [
        "__device__ void wait() { __syncthreads(); } " + KERNEL.format("wait();"),
        "__device__ void a(); __device__ void b() { a(); } "
        + KERNEL.format("b();")
        + " __device__ void a() { __syncwarp(); }",
        "struct S { double v; __device__ S(double v) : v(v) { __syncthreads(); } }; " + KERNEL.format("S s(x[0]);"),
        "struct S { double v; __device__ ~S() { __syncthreads(); } }; " + KERNEL.format("S s{x[0]};"),
        "struct S { __device__ double operator()(int i) { __syncthreads(); return i; } }; "
        + KERNEL.format("S s; x[0] = s(3);"),
        "struct S { double v; }; __device__ S operator+(S a, S b) { __syncthreads(); return a; } "
        + KERNEL.format("S s; s = s + s;"),
        "template <class T> struct Tool { static __device__ void run() { __syncwarp(); } }; using Short = Tool<int>; "
        + KERNEL.format("Short::run();"),
        "namespace a { namespace { __device__ void wait() { __syncthreads(); } } } " + KERNEL.format("a::wait();"),
        "namespace cg = cooperative_groups; " + KERNEL.format("cg::sync(cg::this_thread_block());"),
        "using namespace cooperative_groups; " + KERNEL.format("auto b = this_thread_block(); b.sync();"),
        "__device__ auto wait = [] { __syncthreads(); }; " + KERNEL.format("wait();"),
        "struct S { double v; S(double); }; __device__ S::S(double v) : v{v} { __syncthreads(); } "
        + KERNEL.format("S s(1);"),
        "__device__ void one(int) {} __device__ void one(double) { __syncthreads(); } " + KERNEL.format("one(n);"),
        "__device__ void f(int n) { if (n) f(n - 1); else __syncwarp(); } " + KERNEL.format("f(n);"),
        "typedef struct { void (*call)(); } Tab; __device__ void w() { __syncthreads(); } __device__ Tab tab = {w}; "
        + KERNEL.format("tab.call();"),
    ],
)
def test_waiting_is_found_through_what_a_kernel_reaches(source):
    assert mode(source) == FIBERS


def test_what_is_not_reached_does_not_count():
    source = """
#include_is_gone
__device__ void wait() { __syncthreads(); }
__device__ const char* text = "__syncthreads() wait";
extern "C" __global__ void other(double* x) { wait(); }
""" + KERNEL.format("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; /* wait */")
    assert mode(source) == MERGED_LOOPS
    assert mode(source, "other") == FIBERS


def test_headers_of_others_are_not_looked_at():
    text = """# 1 "user.cu"
# 1 "/system/thing.h" 1 3 4
void thing() { __syncthreads(); }
# 2 "user.cu" 2
# 1 "/ours/cunumpy_cpu/x.hpp" 1
void ours() { __syncthreads(); }
# 3 "user.cu" 2
# 1 "mine.cuh" 1
void mine() { __syncthreads(); }
# 4 "user.cu" 2
""" + KERNEL.format("{}();")
    for name, expected in (("thing", MERGED_LOOPS), ("ours", MERGED_LOOPS), ("mine", FIBERS)):
        assert analyse(text.replace("{}", name), "k", ["/ours"]).mode == expected


@pytest.mark.parametrize(
    "source",
    [
        "void f( {",  # can't be followed
        KERNEL.format("x[0] = 1;").replace("void k", "void other"),  # is not there
    ],
)
def test_what_cannot_be_followed_waits(source):
    assert mode(source) == FIBERS


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = 1;", MERGED_LOOPS),
        ("x[threadIdx.x + blockIdx.x * blockDim.x] = gridDim.x * blockDim.x;", MERGED_LOOPS),
        ("x[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.y + threadIdx.z;", MERGED_LOOPS),
        ("int t = threadIdx.x; x[blockIdx.x * blockDim.x + t] = 1;", MERGED_LOOPS),
        ("int t = threadIdx.x; x[blockIdx.x * blockDim.x + t] = t;", LOOPS),
        ("int t = threadIdx.x; for (; t < n; ++t) x[blockIdx.x * blockDim.x + t] = 1;", LOOPS),
        ("int t = threadIdx.x; { int t = 3; x[t] = 1; }", LOOPS),
        ("x[blockIdx.x * blockDim.x + threadIdx.x * 2] = 1;", LOOPS),
        ("x[2 * blockIdx.x * blockDim.x + threadIdx.x] = 1;", LOOPS),
        ("x[n - blockIdx.x * blockDim.x + threadIdx.x] = 1;", LOOPS),
        ("x[blockIdx.x * blockDim.y + threadIdx.x] = 1;", LOOPS),
        ("x[blockIdx.x * 128 + threadIdx.x] = 1;", MERGED_LOOPS),
        ("const int w = 64; x[w * blockIdx.x + threadIdx.x] = 1;", MERGED_LOOPS),
        ("int x16 = n; x[x16 * blockIdx.x + threadIdx.x] = 1;", LOOPS),
        ("x[f(blockIdx.x * blockDim.x) + threadIdx.x] = 1;", LOOPS),
        ("x[f(blockIdx.x * 128) + threadIdx.x] = 1;", LOOPS),
        ("x[f(blockIdx.x << 7) + threadIdx.x] = 1;", LOOPS),
        ("x[(f)(16) * blockIdx.x + threadIdx.x] = 1;", LOOPS),
        ("x[blockIdx.x * 1.5 + threadIdx.x] = 1;", LOOPS),
        ("x[blockIdx.x * 128 + threadIdx.x + 128 * gridDim.x] = 1;", LOOPS),
        ("x[blockIdx.x] = 1;", LOOPS),
        ("x[n / gridDim.x * blockDim.x] = 1;", LOOPS),
        ("uint3 t = threadIdx; x[t.x] = 1;", LOOPS),
        (
            "int s = blockDim.x * gridDim.x; for (int i = PLACE; i < n; i += s) x[i] = 1;",
            GRID_STRIDE,
        ),
        ("for (int i = PLACE; i < n; i += 2) x[i] = 1;", MERGED_LOOPS),
        (
            "for (int i = PLACE; i < n; i += blockDim.x * gridDim.x) if (x[i] > 3) return;",
            MERGED_LOOPS,
        ),
        (
            "for (int i = PLACE; i < n; i += blockDim.x * gridDim.x) x[i] = 1; x[0] = 2;",
            MERGED_LOOPS,
        ),
        ("__syncthreads(); x[threadIdx.x] = 1;", SPLIT_LOOPS),
        ("if (threadIdx.x < 3) __syncthreads();", FIBERS),
    ],
)
def test_the_mode_follows_from_how_indices_are_used(body, expected):
    body = body.replace("PLACE", "blockIdx.x * blockDim.x + threadIdx.x")
    assert mode(KERNEL.format(body)) == expected


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__device__ int a; __constant__ double t[3]; __managed__ float m = 1;", ["a", "t", "m"]),
        ("__device__ float w[2][2] = {{1, 2}, {3, 4}}; __device__ unsigned int x{3}, *y;", ["w", "x"]),
        ("__device__ __align__(16) float v[2]; alignas(8) __device__ char c;", ["v", "c"]),
        ('extern "C" { __device__ int inside; void f() { int x; } } __device__ int after;', ["inside", "after"]),
        ("namespace n { __device__ int hidden; } struct S { int q; };", []),
        ('__device__ int f(int x) { return "{"[x]; } __device__ void g(); __device__ S shown;', ["shown"]),
        ("__global__ void k() { __shared__ int s[3]; }", []),
    ],
)
def test_global_variables(source, names):
    assert global_variables(f'# 1 "k.cu"\n{source}\n') == names
