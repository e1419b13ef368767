"""Faults of memory that checked launches find, each beside a corrected twin that runs clean."""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

from cunumpy.arguments import CudaStruct
from cunumpy.errors import KernelError
from cunumpy.kernel_testing import emulate_cuda_kernel
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device import checking
from cunumpy.kernels._cpu_device.compiler import compiler_is_there, find_compiler

# The last argument tells the planted fault from its corrected twin. The comments mark the lines of the reports.
POINTERS = r"""
extern "C" __global__ void write_behind(double* x, const double* y, int n, int bad) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (bad ? i <= n : i < n) x[i] = y[0];  // here: write_behind
}
extern "C" __global__ void read_before(double* x, const double* y, int n, int bad) {
    int i = threadIdx.x;
    x[i] = bad || i > 0 ? y[i - 1] : 0;  // here: read_before
}
extern "C" __global__ void far_away(double* x, const double* y, int n, int bad) {
    if (threadIdx.x == 5) x[bad == 2 ? 1ll << 45 : bad ? 100000000 : 5] = y[5];  // here: far_away
}
extern "C" __global__ void write_const(double* x, const double* y, int n, int bad) {
    double* p = bad ? const_cast<double*>(y) : x;
    p[threadIdx.x] = 1;  // here: write_const
}
extern "C" __global__ void null_pointer(double* x, const double* y, int n, int bad) {
    double* p = bad && threadIdx.x == 3 ? nullptr : x;
    p[threadIdx.x] = y[threadIdx.x];  // here: null_pointer
}
extern "C" __global__ void misaligned(double* x, const double* y, int n, int bad) {
    char* bytes = (char*)x + (bad ? 4 : 8);
    if (threadIdx.x == 2) *(double*)bytes = y[0];  // here: misaligned
}
struct Pair {
    double first, second;
};
extern "C" __global__ void as_struct(double* x, const double* y, int n, int bad) {
    const Pair* pairs = (const Pair*)y;
    int i = threadIdx.x + (bad ? 10 : 0);
    if (threadIdx.x < 16) x[threadIdx.x] = pairs[i].second;  // here: as_struct
}
extern "C" __global__ void atomically(double* x, const double* y, int n, int bad) {
    atomicAdd(&x[bad ? n : 0], y[threadIdx.x]);  // here: atomically
}
extern "C" __global__ void copied(double* x, const double* y, int n, int bad) {
    if (threadIdx.x == 0) memcpy(x, y + 16, sizeof(double) * (bad ? 17 : 16));  // here: copied
}
"""

SHARED = r"""
__device__ double table[40];
__device__ double filled[40] = {1, 2};
__device__ int counter = 0;
__constant__ double factors[4] = {1, 2, 3, 4};
extern "C" __global__ void shared_unwritten(double* x, const double* y, int n, int bad) {
    __shared__ double memory[32];
    if (!bad || threadIdx.x != 7) memory[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = memory[31 - threadIdx.x];  // here: shared_unwritten
}
extern "C" __global__ void of_another_block(double* x, const double* y, int n, int bad) {
    __shared__ double memory[32];
    if (!bad || blockIdx.x == 0) memory[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    if (blockIdx.x == 1) x[threadIdx.x] = memory[threadIdx.x];  // here: of_another_block
}
extern "C" __global__ void dynamic_behind(double* x, const double* y, int n, int bad) {
    extern __shared__ double dynamic[];
    dynamic[threadIdx.x + bad] = y[threadIdx.x];  // here: dynamic_behind
    __syncthreads();
    x[threadIdx.x] = dynamic[threadIdx.x + bad];
}
extern "C" __global__ void static_behind(double* x, const double* y, int n, int bad) {
    __shared__ float tile[4][8];
    int i = threadIdx.x;
    tile[i / 8][i % 8 + (bad && i == 9 ? n : 0)] = 1;  // here: static_behind
    __syncthreads();
    x[i] = tile[i / 8][i % 8];
}
extern "C" __global__ void local_behind(double* x, const double* y, int n, int bad) {
    double local[4] = {1, 2, 3, 4};
    x[threadIdx.x] = local[threadIdx.x % (bad ? 5 : 4)];  // here: local_behind
}
extern "C" __global__ void variable_unwritten(double* x, const double* y, int n, int bad) {
    x[threadIdx.x] = (bad ? table : filled)[threadIdx.x] + counter;  // here: variable_unwritten
}
extern "C" __global__ void variable_behind(double* x, const double* y, int n, int bad) {
    x[threadIdx.x] = filled[threadIdx.x + (bad ? n : 0)];  // here: variable_behind
}
extern "C" __global__ void shared_counted(double* x, const double* y, int n, int bad) {
    __shared__ double counts[32];
    __shared__ int handed;
    if (!bad || threadIdx.x != 6) counts[threadIdx.x] = 0;
    atomicExch(&handed, 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], y[threadIdx.x] + handed);  // here: shared_counted
}
struct Padded {
    double a;
    int b;
    double c;
};
extern "C" __global__ void partly_written(double* x, const double* y, int n, int bad) {
    __shared__ Padded memory[32], copy[32];
    memory[threadIdx.x].a = memory[threadIdx.x].c = y[threadIdx.x];
    memory[threadIdx.x].b = n;  // what lies between b and c is nobody's
    __syncthreads();
    copy[threadIdx.x] = memory[threadIdx.x ^ 1];
    __syncthreads();
    if (bad && threadIdx.x == 0) copy[31] = *(Padded*)((double*)&memory[31] + 1);  // here: partly_written
    x[threadIdx.x] = copy[threadIdx.x].c;
}
__device__ double sum_of(const double* values, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += values[i];  // here: local_pointer, shared_pointer
    return sum;
}
extern "C" __global__ void local_pointer(double* x, const double* y, int n, int bad) {
    double local[4] = {y[0], y[1], y[2], y[3]};
    x[threadIdx.x] = sum_of(local, 4 + bad);
}
extern "C" __global__ void shared_pointer(double* x, const double* y, int n, int bad) {
    __shared__ double first[32], second[32];
    first[threadIdx.x] = second[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = sum_of(first, 32 + bad) + sum_of(second, 31);
}
namespace standard {
__device__ double _table[40];
}
extern "C" __global__ void underscored(double* x, const double* y, int n, int bad) {
    extern __shared__ double _s[];
    _s[threadIdx.x] = y[threadIdx.x];
    if (!bad) standard::_table[threadIdx.x] = 1;
    x[threadIdx.x] = _s[threadIdx.x] + standard::_table[threadIdx.x];  // here: underscored
}
extern "C" __global__ void underscored_behind(double* x, const double* y, int n, int bad) {
    extern __shared__ double _s[];
    _s[threadIdx.x + bad] = y[threadIdx.x];  // here: underscored_behind
}
extern "C" __global__ void constant_written(double* x, const double* y, int n, int bad) {
    if (bad) factors[threadIdx.x % 4] = 2;  // here: constant_written
    x[threadIdx.x] = factors[threadIdx.x % 4];
}
"""

VIEWS = r"""
#include <cunumpy/array_view.cuh>
struct Particles {
    double* x;
    CArray1D<double> v;
    int n;
};
extern "C" __global__ void between(Array1D<double> a, int step) {
    if (threadIdx.x < 4) a.data[threadIdx.x * step] = 1;  // here: between
}
extern "C" __global__ void two_dimensional(CArray2D<double> a, int columns) {
    a.data[threadIdx.x * columns] = 1;  // here: two_dimensional
}
extern "C" __global__ void of_rows(CArray2D<double> a, int i, int j, int way) {
    auto row = a.sub(1);
    if (way == 0) row(j) = 1;  // here: 0
    if (way == 1) CUNUMPY_AT(row, j) = 1;  // here: 1
    if (way == 2) a.flat(j) = 1;  // here: 2
    if (way == 3) a(i, j) = 1;  // here: 3
}
extern "C" __global__ void in_struct(Particles p, int more) {
    p.x[threadIdx.x] = p.v(threadIdx.x);
    if (threadIdx.x == 3) p.v.data[3 + more] = 3;  // here: in_struct
}
"""


gcc = pytest.mark.skipif(
    compiler_is_there() and find_compiler().is_clang,
    reason="clang inlines no function before it looks where pointers were made; only g++ finds this",
)


def line_of(source: str, name: str) -> int:
    lines = enumerate(source.splitlines(), 1)
    return next(i for i, line in lines if name in line.partition("// here: ")[2].split(", "))


def run_planted(source: str, name: str, bad: int) -> tuple[np.ndarray, str]:
    x, y = np.zeros(32), np.arange(32.0)
    grid = 2 if name in ("write_behind", "of_another_block") else 1
    try:
        emulate_cuda_kernel(CudaKernel(source, name), x, y, 32, int(bad), grid=grid, block=32, shared_mem=256)
    except KernelError as error:
        return x, str(error)
    return x, ""


@pytest.mark.parametrize(
    ("source", "name", "text"),
    [
        (POINTERS, "write_behind", "out of bounds: write of 8 bytes at x[32] by block (1, 0, 0), thread (0, 0, 0)"),
        (POINTERS, "read_before", "out of bounds: read of 8 bytes at y[-1] by block (0, 0, 0), thread (0, 0, 0)"),
        (POINTERS, "far_away", "out of bounds: write of 8 bytes at x[100000000] by block (0, 0, 0), thread (5, 0, 0)"),
        (POINTERS, "write_const", "write to read-only memory: write of 8 bytes at y[0]"),
        (
            POINTERS,
            "null_pointer",
            " at address 0x18 by block (0, 0, 0), thread (3, 0, 0)",  # clang does not tell how many bytes
        ),
        (POINTERS, "misaligned", "misaligned address: write at x[0] by block (0, 0, 0), thread (2, 0, 0)"),
        (POINTERS, "as_struct", "out of bounds: read of 8 bytes at y[33] by block (0, 0, 0), thread (6, 0, 0)"),
        (POINTERS, "atomically", "out of bounds: atomic of 8 bytes at x[32] by block (0, 0, 0), thread (0, 0, 0)"),
        (POINTERS, "copied", "out of bounds: read of 136 bytes at y[16] by block (0, 0, 0), thread (0, 0, 0)"),
        (SHARED, "shared_unwritten", "memory that nobody has written: read of 8 bytes at byte 56 of memory"),
        (
            SHARED,
            "of_another_block",
            "memory that nobody has written: read of 8 bytes at byte 0 of memory by block (1",
        ),
        (
            SHARED,
            "dynamic_behind",
            "out of bounds: write of 8 bytes at byte 256 of _s or dynamic by block (0, 0, 0), thread (31",
        ),
        (SHARED, "static_behind", "index out of bounds: access at index 33 by block (0, 0, 0), thread (9, 0, 0)"),
        (SHARED, "local_behind", "index out of bounds: access at index 4 by block (0, 0, 0), thread (4, 0, 0)"),
        (SHARED, "variable_unwritten", "memory that nobody has written: read of 8 bytes at byte 0 of table"),
        (SHARED, "variable_behind", "index out of bounds: access at index 40 by block (0, 0, 0), thread (8, 0, 0)"),
        (SHARED, "shared_counted", "memory that nobody has written: atomic of 8 bytes at byte 48 of counts"),
        (SHARED, "partly_written", "out of bounds: read "),
        pytest.param(SHARED, "local_pointer", "out of bounds: read by block (0, 0, 0), thread (0, 0, 0)", marks=gcc),
        pytest.param(SHARED, "shared_pointer", "out of bounds: read at byte 256 of first by block (0,", marks=gcc),
        (SHARED, "underscored", "memory that nobody has written: read of 8 bytes at byte 0 of _table"),
        (SHARED, "underscored_behind", "out of bounds: write of 8 bytes at byte 256 of _s or dynamic by block (0, 0"),
        (SHARED, "constant_written", "write to read-only memory: write of 8 bytes at byte 0 of factors"),
    ],
)
def test_a_planted_fault_is_found_and_its_twin_is_clean(source, name, text):
    _, found = run_planted(source, name, True)
    assert text in found
    if name != "copied" or not find_compiler().is_clang:  # which forgets where memcpy is called
        assert f".cu:{line_of(source, name)}" in found
    assert run_planted(source, name, False)[1] == ""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others tell the address themselves")
def test_an_index_beyond_all_memory_is_told():
    found = run_planted(POINTERS, "far_away", 2)[1]
    assert re.search(r"out of bounds: write of 8 bytes at [xy]\[35\d{12}\] by block", found), found


def test_a_report_names_the_arrays_shape_and_what_was_written_before_stays():
    x, found = run_planted(POINTERS, "write_behind", True)
    assert "x has shape (32,) and dtype float64; what it wrote before stays" in found
    assert found.startswith("CudaKernel 'write_behind' (grid (2,), block (32,)): ")
    assert (x[1:] == 0).all()  # y[0] is 0


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        (
            "between",
            (np.zeros(8)[::2], 1),
            r"byte 8 of a by .*; a has shape \(4,\) and dtype float64, with strides \(16,\)",
        ),
        ("two_dimensional", (np.zeros((3, 5)), 6), r"at a\[element 18\] .* a has shape \(3, 5\)"),
    ],
)
def test_the_real_extent_of_views_counts(name, args, text):
    with pytest.raises(KernelError, match=text) as caught:
        emulate_cuda_kernel(CudaKernel(VIEWS, name), *args, grid=1, block=4)
    assert f"{name}.cu:{line_of(VIEWS, name)}" in str(caught.value)
    emulate_cuda_kernel(CudaKernel(VIEWS, name), args[0], 2, grid=1, block=3)


@pytest.mark.parametrize(
    ("way", "i", "j", "text"),
    [
        (0, 0, 5, "index 5 on axis 0 of an array by {who}; it has 5 elements there"),
        (1, 0, -1, "index -1 on axis 0 of row by {who}; it has 5 elements there"),
        (2, 0, 15, "index 15 of the flattened a by {who}; a has shape (3, 5)"),
        (3, 3, 0, "index 3 on axis 0 of a by {who}; a has shape (3, 5)"),
        (3, 2, 5, "index 5 on axis 1 of a by {who}; a has shape (3, 5)"),
    ],
)
def test_indices_of_views_are_told_with_their_array(way, i, j, text, capfd):
    kernel, a = CudaKernel(VIEWS, "of_rows"), np.zeros((3, 5))
    who = f"block (0, 0, 0), thread (0, 0, 0), of_rows.cu:{line_of(VIEWS, str(way))}"
    with pytest.raises(KernelError, match=re.escape("index out of bounds: access at " + text.format(who=who))):
        emulate_cuda_kernel(kernel, a, i, j, way, grid=1, block=1)
    emulate_cuda_kernel(kernel, a, 2, 4, way, grid=1, block=1)
    assert a.sum() == 1
    assert capfd.readouterr() == ("", "")


def test_arrays_without_elements_have_places_of_their_own():
    shift, x = CudaKernel(SUMS, "shift"), np.zeros(4)
    with pytest.raises(KernelError, match=r"read of 8 bytes at from\[0\] .*; from has shape \(0,\)"):
        emulate_cuda_kernel(shift, x, np.zeros(0), 1, grid=1, block=1)
    with pytest.raises(KernelError, match=r"write of 8 bytes at to\[0\] .*; to has shape \(0,\)"):
        emulate_cuda_kernel(shift, np.zeros(0), x, 1, grid=1, block=1)
    emulate_cuda_kernel(shift, x[:0], x, 0, grid=1, block=1)
    emulate_cuda_kernel(shift, x[2:2], x, 1, grid=1, block=1)  # NumPy lets it begin where x does
    assert x.tolist() == [1, 0, 0, 0]


def test_arrays_in_structs_are_checked_and_changed():
    fields = [("x", "double*"), ("v", "CArray1D<double>"), ("n", "int")]
    kernel = CudaKernel(VIEWS, "in_struct", structs=[CudaStruct("Particles", fields)])
    x, v = np.zeros(4), np.arange(4.0)
    with pytest.raises(KernelError, match=r"write of 8 bytes at p\.v\[5\] .*; p\.v has shape \(4,\)"):
        emulate_cuda_kernel(kernel, {"x": x, "v": v, "n": 4}, 2, grid=1, block=4)
    emulate_cuda_kernel(kernel, {"x": x, "v": v, "n": 4}, 0, grid=1, block=4)
    assert x.tolist() == [0, 1, 2, 3]
    assert v.tolist() == [0, 1, 2, 3]


SUMS = r"""
extern "C" __global__ void sums(double* out, const double* x, int n) {
    __shared__ double part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (int k = i; k < n; k += blockDim.x * gridDim.x) sum += x[k] * x[k] * 0.1;
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
extern "C" __global__ void shift(double* to, const double* from, int n) {
    int i = threadIdx.x;
    if (i < n) to[i] = from[i] + 1;
}
"""


def test_a_clean_kernel_gives_the_same_bits(monkeypatch):
    x = np.random.default_rng(3).normal(size=5000)
    results = []
    for setting in ("0", "1"):
        monkeypatch.setenv("CUNUMPY_CPU_CHECK", setting)
        out = np.zeros(4)
        emulate_cuda_kernel(CudaKernel(SUMS, "sums"), out, x, x.size, grid=4, block=64, options=["-ffp-contract=off"])
        results.append(out.tobytes())
    assert results[0] == results[1]


def test_arguments_may_share_memory():
    x = np.arange(9.0)
    emulate_cuda_kernel(CudaKernel(SUMS, "shift"), x[1:], x[:-1].copy(), 8, grid=1, block=8)
    assert x.tolist() == [0, *range(1, 9)]
    emulate_cuda_kernel(CudaKernel(SUMS, "shift"), x, x, 9, grid=1, block=9)
    assert x.tolist() == [1, *range(2, 10)]
    with pytest.raises(KernelError, match=r"write of 8 bytes at to\[4\]"):  # the next array begins there
        emulate_cuda_kernel(CudaKernel(SUMS, "shift"), x[:4], x[4:], 5, grid=1, block=9)


def test_arrays_keep_what_was_written_before_a_fault():
    x = np.zeros(4)
    with pytest.raises(KernelError, match=r"to\[4\]"):
        emulate_cuda_kernel(CudaKernel(SUMS, "shift"), x, np.arange(9.0), 9, grid=1, block=9)
    assert x.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(("setting", "debug", "checked"), [("", False, False), ("1", False, True), ("", True, True)])
def test_the_switches(monkeypatch, setting, debug, checked):
    from cunumpy.kernels._cpu_device.launch import run_on_cpu

    monkeypatch.setenv("CUNUMPY_CPU_CHECK", setting)
    memory = np.zeros(8)
    kernel = CudaKernel(SUMS, "shift", debug=debug)
    if checked:
        with pytest.raises(KernelError, match=re.escape("write of 8 bytes at to[4]")):
            run_on_cpu(kernel, (memory[:4], np.arange(8.0), 6), grid=1, block=8)
    else:
        run_on_cpu(kernel, (memory[:4], np.arange(8.0), 6), grid=1, block=8)
        assert memory[5] == 6


def test_checks_can_be_turned_off_for_a_kernel_or_all(monkeypatch):
    memory = np.zeros(8)
    emulate_cuda_kernel(CudaKernel(SUMS, "shift", debug=False), memory[:4], np.arange(8.0), 6, grid=1, block=8)
    assert memory[5] == 6
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "off")
    emulate_cuda_kernel(CudaKernel(SUMS, "shift"), memory[:4], np.arange(8.0), 7, grid=1, block=8)
    assert memory[6] == 7


def test_places_of_large_kernels_are_told_from_each_other():
    # Many more accesses than are remembered by their place: reads and writes, of 4 and 8 bytes.
    statements = "\n".join(
        f"    if (which == {i}) ((double*)y)[{i % 5}] = 1;  // here: {i}\n"
        f"    words[{i % 7}] = which + {i}; pairs[{i % 3}] += y[(which + {i}) % 32]; x[which & 31] = words[which % 7];"
        for i in range(60)
    )
    source = f"""
extern "C" __global__ void large(double* x, const double* y, int which) {{
    __shared__ double pairs[3];
    __shared__ int words[7];
    for (int i = 0; i < 7; ++i) words[i] = i;
    for (int i = 0; i < 3; ++i) pairs[i] = i;
{statements}
    x[31] = pairs[0];
}}
"""
    large = CudaKernel(source, "large")
    emulate_cuda_kernel(large, np.zeros(32), np.ones(32), 1000, grid=1, block=1)
    for which in range(0, 60, 7):
        with pytest.raises(KernelError, match=rf"write to read-only memory: write of 8 bytes at y\[{which % 5}\]"):
            emulate_cuda_kernel(large, np.zeros(32), np.ones(32), which, grid=1, block=1)


def test_what_is_kept_for_the_next_launches_is_bounded_for_all_kernels(monkeypatch):
    monkeypatch.setattr(checking, "_MAX_KEPT", 3 << 20)
    monkeypatch.setattr(checking, "_kept_for_races", checking._Kept())
    source = 'extern "C" __global__ void add(double* x) { x[threadIdx.x] += VALUE; }'
    x = np.zeros(20000)  # 68 bytes are kept for each
    for value in range(4):
        kernel = CudaKernel(source, "add", options=(f"-DVALUE={value}",))
        for _ in range(3):
            emulate_cuda_kernel(kernel, x, grid=1, block=32)
            assert 20000 * 68 <= checking._kept_for_races.total <= 3 << 20
    assert x[:32].tolist() == [3.0 * (0 + 1 + 2 + 3)] * 32


def test_arrays_keep_what_was_written_if_a_report_is_interrupted(monkeypatch):
    def interrupted(self, addresses):
        raise KeyboardInterrupt

    monkeypatch.setattr(checking.Checks, "_places", interrupted)
    x, y = np.zeros(32), np.arange(32.0)
    with pytest.raises(KeyboardInterrupt):
        emulate_cuda_kernel(CudaKernel(POINTERS, "write_behind"), x, y + 1, 32, 1, grid=2, block=32)
    assert (x == 1).all()


ASYNCHRONOUS = """
#include <cooperative_groups/memcpy_async.h>
extern "C" __global__ void fetched(const int* x, int* y, int bytes) {
    __shared__ int part[32];
    auto group = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(group, part, x, bytes);  // here: beyond x
    cooperative_groups::wait_prior<0>(group);
    y[threadIdx.x] = part[31 - threadIdx.x];  // here: unwritten
}
"""


def test_copies_by_a_group_write_what_is_read_later():
    kernel = CudaKernel(ASYNCHRONOUS, "fetched")
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    emulate_cuda_kernel(kernel, x, y, 128, grid=1, block=32)
    np.testing.assert_array_equal(y, x[::-1])
    with pytest.raises(KernelError, match="memory that nobody has written: read of 4 bytes at byte 124 of part"):
        emulate_cuda_kernel(kernel, x, y, 124, grid=1, block=32)
    with pytest.raises(KernelError, match=r"out of bounds: read of 4 bytes at x\[20\] by .*fetched\.cu:6"):
        emulate_cuda_kernel(kernel, x[:20], y, 128, grid=1, block=32)
