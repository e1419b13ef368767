"""Atomic functions, memory, output and traps on the CPU device."""

from __future__ import annotations

import struct
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_runtime import CpuSource, cpu_source

TYPES = {"int": np.int32, "unsigned int": np.uint32, "long long": np.int64, "unsigned long long": np.uint64}
TYPES |= {"float": np.float32, "double": np.float64}
#: Function, types, and what it makes of the old value and its argument.
ATOMICS = {
    "Add": (("int", "unsigned int", "unsigned long long", "float", "double"), lambda old, v: old + v),
    "Sub": (("int", "unsigned int"), lambda old, v: old - v),
    "Min": (("int", "unsigned int", "long long", "unsigned long long"), min),
    "Max": (("int", "unsigned int", "long long", "unsigned long long"), max),
    "And": (("int", "unsigned int", "long long", "unsigned long long"), lambda old, v: old & v),
    "Or": (("int", "unsigned int", "long long", "unsigned long long"), lambda old, v: old | v),
    "Xor": (("int", "unsigned int", "long long", "unsigned long long"), lambda old, v: old ^ v),
    "Exch": (("int", "unsigned int", "unsigned long long", "float"), lambda old, v: v),
    "Inc": (("unsigned int",), lambda old, v: 0 if old >= v else old + 1),
    "Dec": (("unsigned int",), lambda old, v: v if old == 0 or old > v else old - 1),
}
CASES = [
    (name, kind, scope) for name, (kinds, _) in ATOMICS.items() for kind in kinds for scope in ("", "_block", "_system")
]


def kernel_name(name, kind, scope):
    return f"{name}_{kind.replace(' ', '_')}{scope}"


SOURCE = "".join(
    f'extern "C" __global__ void {kernel_name(*case)}({case[1]}* at, const {case[1]}* v, {case[1]}* old) '
    f"{{ old[threadIdx.x] = atomic{case[0]}{case[2]}(at, v[threadIdx.x]); }}\n"
    for case in CASES
)


@pytest.fixture(scope="module")
def atomics() -> CpuSource:
    return cpu_source(SOURCE, *(kernel_name(*case) for case in CASES))


@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40))
def test_each_atomic_function_of_each_type_and_scope(atomics, start, values):
    for case in CASES:
        name, kind, _ = case
        dtype = np.dtype(TYPES[kind])
        if dtype.kind == "f":
            v, at = np.array([x % 1000 for x in values], dtype), np.array([start % 1000], dtype)
        else:
            mask = 2 ** (8 * dtype.itemsize) - 1
            v = np.array([x & mask for x in values], np.uint64).astype(dtype)
            at = np.array([start & mask], np.uint64).astype(dtype)
        current, old = at.copy(), np.zeros(len(values), dtype)
        atomics(kernel_name(*case), 1, len(values), at, v, old)
        with np.errstate(over="ignore"):
            for i, x in enumerate(v):  # threads run in order
                assert old[i] == current[0], case
                current[0] = dtype.type(ATOMICS[name][1](current[0], x))
        assert at[0] == current[0], case


SWAPS = """
template <class T>
__global__ void swaps(T* at, const T* expected, const T* v, T* old) {
    unsigned i = threadIdx.x;
    old[i] = atomicCAS(at + i, expected[i], v[i]);
    old[i + blockDim.x] = atomicCAS(at + i, expected[i], v[i]);
}
__global__ void own_add(double* at, const double* v) {  // as before compute capability 6
    unsigned long long* bits = (unsigned long long*)at;
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(v[threadIdx.x] + __longlong_as_double(assumed)));
    } while (assumed != old);
}
__global__ void locked(int* lock, int* count, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        int before = *(volatile int*)count;
        __syncwarp(1u << (threadIdx.x & 31));
        *(volatile int*)count = before + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
__global__ void handed_over(int* turn, int* order) {  // each waits for the one after it
    int next = blockDim.x - 1 - threadIdx.x;
    while (atomicAdd(turn, 0) != next) __nanosleep(10);
    order[next] = threadIdx.x;
    __threadfence();
    atomicAdd(turn, 1);
}
__global__ void add_all(int* total, unsigned long long* wide, double* sum, float* single, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        atomicAdd(total, 1), atomicAdd(wide, 3ull), atomicAdd(sum, 1.0), atomicAdd(single, 1.0f);
        atomicMax(total + 1, (int)threadIdx.x), atomicXor(total + 2, i), atomicInc((unsigned*)total + 3, 9u);
    }
}
"""
SWAPPED = ("int", "unsigned int", "unsigned long long", "unsigned short")


def swaps():
    kernels = [f"swaps<{kind}>" for kind in SWAPPED]
    return cpu_source(SWAPS, *kernels, "own_add", "locked", "handed_over", "add_all")


@pytest.mark.parametrize("kind", SWAPPED)
def test_compare_and_swap(kind):
    dtype = {**TYPES, "unsigned short": np.uint16}[kind]
    at, expected, v = (np.array(x, dtype) for x in ([1, 2, 3, 4], [1, 0, 3, 0], [9, 9, 1, 9]))
    old = np.zeros(8, dtype)
    swaps()(f"swaps<{kind}>", 1, 4, at, expected, v, old)
    assert list(at) == [9, 2, 1, 4]
    assert list(old) == [1, 2, 3, 4, 9, 2, 1, 4]


def test_sums_by_compare_and_swap_and_locks_within_a_block():
    source = swaps()
    sums, v = np.array([1.5]), np.arange(100.0)
    source("own_add", 1, 100, sums, v)
    assert sums[0] == 1.5 + v.sum()
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    source("locked", 2, 64, lock, count, np.int32(5))
    assert (lock[0], count[0]) == (0, 640)


def test_a_thread_that_waits_for_another_one_lets_it_run():
    turn, order = np.zeros(1, np.int32), np.zeros(100, np.int32)
    swaps()("handed_over", 1, 100, turn, order)
    assert list(order) == list(range(99, -1, -1))


def test_workers_do_not_lose_updates_of_each_other():
    source, rounds, blocks = swaps(), 50, 20
    total, wide = np.zeros(4, np.int32), np.zeros(1, np.uint64)
    sums, single = np.zeros(1), np.zeros(1, np.float32)

    def work():
        source("add_all", blocks, 32, total, wide, sums, single, np.int32(rounds))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = 4 * blocks * 32 * rounds
    assert list(total) == [expected, 31, 0, expected % 10]
    assert (wide[0], sums[0], single[0]) == (3 * expected, expected, expected)


# --- vectors and memory -----------------------------------------------------------------------------------------------

VECTORS = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q"}
VECTORS |= {"longlong": "q", "ulonglong": "Q", "float": "f", "double": "d"}
ALIGN = {1: (1, 2, 1, 4), 2: (2, 4, 2, 8), 4: (4, 8, 4, 16), 8: (8, 16, 8, 16)}
MEMORY = (
    "__global__ void layout(int* out) {\n"
    + "".join(
        f"    out[{8 * k + 2 * n}] = sizeof({name}{n + 1}), out[{8 * k + 2 * n + 1}] = alignof({name}{n + 1});\n"
        for k, name in enumerate(VECTORS)
        for n in range(4)
    )
    + """}
__global__ void values(const float4* x, const int2* y, const double* z, float4* out, int* ints, double* doubles) {
    float4 v = __ldg(x), w = make_float4(v.w, v.z, v.y, v.x);
    __stcs(out, w), __stwt(out + 1, x[1]), out[2] = {1, 2, 3, 4};
    int2 p = __ldcg(y);
    uchar4 c = make_uchar4(1, 2, 3, 255);
    char2 signed_pair = make_char2(-1, 1);
    dim3 d(3), e = make_uint3(1, 2, 3), f = dim3(4, 5);
    ints[0] = p.x + p.y, ints[1] = c.w, ints[2] = signed_pair.x, ints[3] = d.x * 100 + d.y * 10 + d.z;
    ints[4] = e.x * 100 + e.y * 10 + e.z, ints[5] = f.z, ints[6] = __ldca((const signed char*)y), ints[7] = warpSize;
    double* copy = (double*)malloc(4 * sizeof(double));
    memset(copy, 0, 4 * sizeof(double));
    memcpy(copy, z, 2 * sizeof(double));
    doubles[0] = copy[0] + copy[1] + copy[3];
    free(copy);
    ulonglong2 wide = make_ulonglong2(1ull << 40, 2);
    doubles[1] = (double)wide.x + __ldcv(z) + __ldlu(z + 1);
    double2* pair = new double2[2];
    pair[1] = make_double2(5, 6);
    doubles[2] = pair[1].y;
    delete[] pair;
}
__constant__ double factor = 2.5;
__device__ int hits[2];
__managed__ int shared_with_host;
struct Point { double x, y; int tag; };
template <class T> __device__ __forceinline__ T twice(T v) { return v + v; }
static __device__ __noinline__ double scaled(Point p) { return factor * (p.x + p.y) + p.tag; }
__launch_bounds__(64, 2) __global__ void globals(Point p, double* __restrict__ out, const int n) {
    if (threadIdx.x < n) atomicAdd(&hits[threadIdx.x & 1], 1);
    __syncthreads();
    if (threadIdx.x == 0) out[0] = twice(scaled(p)), out[1] = hits[0] * 100 + hits[1], shared_with_host = 3;
    __builtin_assume(n > 0);
    if (threadIdx.x == 1) out[2] = __builtin_expect(n, 3) + (sizeof(Point) == 24);
}
"""
)


def memory():
    return cpu_source(MEMORY, "layout", "values", "globals")


def test_vector_types_have_the_sizes_and_alignments_of_the_guide():
    out = np.zeros(8 * len(VECTORS), np.int32)
    memory()("layout", 1, 1, out)
    for k, code in enumerate(VECTORS.values()):
        size = struct.calcsize(code)
        expected = [v for n in range(4) for v in ((n + 1) * size, ALIGN[size][n])]
        assert list(out[8 * k : 8 * k + 8]) == expected


def test_vectors_memory_and_globals():
    source = memory()
    x = np.zeros(20, np.float32)
    x = x[(-x.ctypes.data // 4) % 4 :][:12].copy() if x.ctypes.data % 16 else x[:12]
    x[:] = range(12)
    space = np.zeros(16, np.float32)
    out = space[(-space.ctypes.data % 16) // 4 :][:12]
    y, ints, doubles = np.array([7, -3], np.int32), np.zeros(8, np.int32), np.zeros(3)
    inputs = np.zeros(16, np.float32)
    aligned = inputs[(-inputs.ctypes.data % 16) // 4 :][:12]
    aligned[:] = x
    source("values", 1, 1, aligned, y, np.array([0.5, 0.25]), out, ints, doubles)
    assert list(out) == [3, 2, 1, 0, 4, 5, 6, 7, 1, 2, 3, 4]
    assert list(ints) == [4, 255, -1, 311, 123, 1, 7, 32]
    assert list(doubles) == [0.75, 2.0**40 + 0.75, 6]
    point = np.array((1.0, 2.0, 4), np.dtype([("x", float), ("y", float), ("tag", np.int32)], align=True))
    result = np.zeros(3)
    source("globals", 1, 8, point, result, np.int32(5))
    assert list(result) == [23, 302, 6]


# --- output and traps -------------------------------------------------------------------------------------------------

PRINTING = r"""
extern "C" __global__ void prints(int n, double x, int* out) {
    out[0] = printf("thread %d of %s: %5.2f %lld %u %c %x %%\n", threadIdx.x, "warp", x, 1ll << 40, 7u, 'c', 255);
    out[1] = printf("no arguments\n");
    out[2] = printf(nullptr);
}
extern "C" __global__ void asserts(int n) {
    assert(n < 10 &&
           n > 0);
    __syncthreads();
}
extern "C" __global__ void traps(int* out) {
    out[threadIdx.x] = 1;
    if (blockIdx.y == 1 && threadIdx.x == 2) __trap();
    __syncthreads();
    out[threadIdx.x] = 2;
}
extern "C" __global__ void clocks(long long* out) {
    out[0] = clock64(), out[1] = clock64();
    clock_t now = clock();
    out[2] = now - out[0];
}
"""


def printing(**settings):
    return cpu_source(PRINTING, "prints", "asserts", "traps", "clocks", **settings)


def test_printf_counts_its_arguments_and_is_flushed(capfd):
    out = np.zeros(3, np.int32)
    printing()("prints", 1, 1, np.int32(3), np.float64(2.5), out)
    assert capfd.readouterr().out == "thread 0 of warp:  2.50 1099511627776 7 c ff %\nno arguments\n"
    assert list(out) == [7, 0, -1]


def test_failed_assertions_and_traps_end_the_launch_and_say_where():
    source = printing(checked=False)  # blocks write to the same elements
    assert source.error("asserts", 1, 4, np.int32(5)) is None
    failed = "assertion `n < 10 && n > 0` failed in block (0, 0, 0), thread (0, 0, 0) at kernel.cu"
    assert source.error("asserts", 1, 4, np.int32(11)) in (f"{failed}:8", f"{failed}:9")  # it is on two lines
    out = np.zeros(4, np.int32)
    assert source.error("traps", (1, 3), 4, out) == "__trap() in block (0, 1, 0), thread (2, 0, 0) at kernel.cu:14"
    assert list(out) == [1, 1, 1, 2]  # the first block had passed; what the second one wrote is kept
    assert source.error("traps", 1, 4, out) is None
    assert printing(options=("-DNDEBUG",)).error("asserts", 1, 4, np.int32(11)) is None


def test_clocks_go_on():
    out = np.zeros(3, np.int64)
    printing()("clocks", 1, 1, out)
    assert out[1] >= out[0]
    assert out[2] >= 0


NAMES = """
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
typedef unsigned int uint;
#define M_PI 3.0
struct Block { int x; };
struct Thread { int x; };
struct Warp { int x; };
struct FILE { int x; };
template <class T> struct complex { T re, im; };
__device__ int wait(int x) { return x + 1; }
__device__ double remove(double x) { return -x; }
__device__ int call(int x) { return x; }
__device__ double clamp(double x, double low, double high) { return fmin(fmax(x, low), high); }
__global__ void names(double* out) {
    uint64_t wide = 1ull << 40;
    Block block = {2};
    Warp warp = {3};
    Thread thread = {4};
    FILE file = {5};
    complex<double> z = {1, 2};
    out[0] = wait(block.x) + warp.x + thread.x + file.x + remove(z.re) + call(1) + clamp(7, 0, 1) + (wide >> 40) + M_PI;
}
"""


def test_names_of_the_system_are_free_for_kernels():
    out = np.zeros(1)
    cpu_source(NAMES, "names")("names", 1, 1, out)
    assert out[0] == 3 + 3 + 4 + 5 - 1 + 1 + 1 + 1 + 3


#: Headers that NVRTC does not have, but that sources written for nvcc include.
HEADERS = ("cmath", "math.h", "cstdint", "cstdio", "algorithm", "cassert", "limits", "complex", "vector", "memory")
HEADERS += ("cuda_runtime.h", "math_constants.h", "cuda_fp16.h", "cooperative_groups.h", "cub/cub.cuh")
HEADERS += tuple(
    f"cuda/std/{name}" for name in ("cmath", "limits", "array", "tuple", "cstdint", "type_traits", "utility")
)
INCLUDING = "".join(f"#include <{name}>\n" for name in HEADERS) + (
    """
    using namespace std;
    __global__ void including(double* x, float* f, int* i) {
        x[0] = std::sin(x[1]) + sin(x[1]) + max(x[0], x[1]) + std::max(x[0], x[1]) + fmax(x[0], x[1]) + CUDART_PI;
        f[0] = sinf(f[1]) + sin(f[1]) + std::sqrt(f[1]) + __expf(f[1]) + rsqrt(f[1]) + pow(f[1], 2) + fabs(f[1]);
        i[0] = abs(i[1]) + min(i[1], 3) + std::min(i[1], 3) + isnan(x[1]) + std::isnan(f[1]);
        i[0] += (int)__half2float(half(2));
        cuda::std::array<uint32_t, 2> a{1, 2};
        std::swap(i[0], i[1]);
        int64_t moved = std::move(a[1]);
        i[2] = (int)moved + (cuda::std::numeric_limits<int>::max() == INT32_MAX);
        assert(i[2] == 3);
    }
    """
)


def test_headers_of_the_system_meet_no_names_of_ours():
    x, f, i = np.array([0.0, 0.5]), np.array([0, 0.25], np.float32), np.array([0, -4, 0], np.int32)
    cpu_source(INCLUDING, "including", nvrtc=False)("including", 1, 1, x, f, i)
    assert x[0] == pytest.approx(2 * np.sin(0.5) + 1.5 + np.pi)
    assert f[0] == pytest.approx(2 * np.sin(0.25) + 0.5 + np.exp(0.25) + 2 + 0.0625 + 0.25)
    assert list(i) == [-4, 4 - 8 + 2, 3]
