"""The headers for indices, array views, atomics, reductions and scans: all of them compile for GPUs, by NVRTC and nvcc.

What the functions do is tested on the CPU: indices, views and atomics in `test_index_headers.py`, the others in
`test_warp_headers.py`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cpp_compiler import compiler
from cunumpy.cuda import cuda_include_dir, resolve_includes
from cunumpy.errors import CompileError
from nvrtc import ARCHITECTURES, compile_cuda

HEADERS = {
    name: Path(cuda_include_dir(), "cunumpy", f"{name}.cuh")
    for name in ("portability", "index", "array_view", "atomic", "reduce", "scan")
}
QUALIFIERS = Path(__file__).parents[2] / "packages" / "cunumpy-cuda" / "native"
INTEGERS = [
    f"{sign}{width}"
    for width in ("char", "short", "int", "long", "long long")
    for sign in (("signed ", "unsigned ", "") if width == "char" else ("", "unsigned "))
]
REALS = [*INTEGERS, "float", "double"]
COMPLEX = ["Complex<float>", "Complex<double>"]

#: Every function and template; each kernel has one parameter for the type.
SOURCE = r"""
#include <cunumpy/scan.cuh>
#include <cunumpy/reduce.cuh>
#include <cunumpy/atomic.cuh>
#include <cunumpy/array_view.cuh>
#include <cunumpy/index.cuh>
#include <cunumpy/portability.cuh>

template <class T> struct Complex {
    T re, im;
    __device__ Complex(T re = 0, T im = 0) : re(re), im(im) {}
    __device__ T real() const { return re; }
    __device__ T imag() const { return im; }
};
template <class T> __device__ Complex<T> operator+(Complex<T> a, Complex<T> b) {
    return Complex<T>(a.re + b.re, a.im + b.im);
}
template <class T> __device__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
    return Complex<T>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
template <class T> __device__ bool operator!=(Complex<T> a, Complex<T> b) { return a.re != b.re || a.im != b.im; }
struct Wide { double v[3]; };
struct First {
    template <class T> __device__ T operator()(T a, T) const { return a; }
};
struct Increment {
    template <class T> __device__ T operator()(T a) const { return a; }
};

template <class T> __global__ void sums(T* p, Array2D<T> a) {
    p[0] = cunumpy_atomic_add(p + 1, p[2]);
    p[0] = cunumpy_atomic_add_2d(p, 3, 1, 2, p[2]);
    p[0] = cunumpy_atomic_add_3d(p, 3, 4, 1, 2, 3, p[2]);
    p[0] = cunumpy_atomic_add_at(a, p[2], 1, 2);
    p[0] = cunumpy_warp_sum(p[1]) + cunumpy_warp_sum(p[2], 0x0ff0u) + cunumpy_warp_product(p[3], 0x5u);
    p[0] = cunumpy_block_sum(p[1]) + cunumpy_block_product(p[2]);
    cunumpy_block_sum_to(p, p[1]);
    p[0] = cunumpy_warp_inclusive_sum(p[1]) + cunumpy_warp_exclusive_sum(p[2], 0x5u);
    T total;
    p[0] = cunumpy_block_inclusive_sum(p[1]) + cunumpy_block_inclusive_sum(p[1], &total) + total;
    p[0] = cunumpy_block_exclusive_sum(p[1]) + cunumpy_block_exclusive_sum(p[1], &total) + total;
    p[0] = cunumpy_block_scan_sum<T, true>(p[1]) + cunumpy_block_scan_sum<T, false>(p[1], &total) + total;
    T items[3] = {p[0], p[1], p[2]};
    cunumpy_block_inclusive_sum_items(items);
    cunumpy_block_inclusive_sum_items(items, &total);
    cunumpy_block_exclusive_sum_items(items);
    cunumpy_block_exclusive_sum_items(items, &total);
    p[0] = items[0] + items[2] + total;
}

template <class T> __global__ void extrema(T* p) {
    p[0] = cunumpy_atomic_min(p, p[1]);
    p[0] = cunumpy_atomic_max(p, p[1]);
    p[0] = cunumpy_warp_min(p[1]) + cunumpy_warp_max(p[2], 0x7u);
    p[0] = cunumpy_block_min(p[1]) + cunumpy_block_max(p[2]);
    p[0] = cunumpy_warp_argmin(p[1], 3).value + cunumpy_warp_argmax(p[1], 3, 0x7u).value;
    p[0] = cunumpy_block_argmin(p[1], 3).value + cunumpy_block_argmax(p[1], 3).value;
    p[1] = cunumpy_min_op::identity<T>() + cunumpy_max_op::fill(p) + cunumpy_min_op::fill(p);
    p[2] = cunumpy_max_op::identity<T>() + cunumpy_sum_op::identity<T>() + cunumpy_product_op::identity<T>() +
           cunumpy_sum_op::fill(p) + cunumpy_product_op::fill(p);
}

template <class T> __global__ void swaps(T* p) {
    p[0] = cunumpy_atomic_exchange(p + 1, p[2]);
    p[0] = cunumpy_atomic_cas(p + 1, p[2], p[3]);
    p[0] = cunumpy_atomic_update(p + 1, Increment());
}

template <class T> __global__ void operations(T* p, unsigned int* counter) {
    const bool head = counter[1];
    T total;
    p[0] = cunumpy_shuffle(CUNUMPY_FULL_WARP_MASK, p[1], 3);
    p[0] = cunumpy_warp_reduce(p[1], First());
    p[0] = cunumpy_warp_reduce(p[1], First(), counter[2]);
    p[0] = cunumpy_block_reduce(p[1], First());
    p[0] = cunumpy_block_reduce(p[1], First(), 7);
    if (cunumpy_grid_reduce(p[1], First(), p, counter, p)) return;
    p[0] = cunumpy_warp_inclusive_scan(p[1], First(), counter[2]);
    p[0] = cunumpy_warp_exclusive_scan(p[1], First(), p[2], counter[2]);
    p[0] = cunumpy_block_inclusive_scan(p[1], First());
    p[0] = cunumpy_block_inclusive_scan(p[1], First(), &total);
    p[0] = cunumpy_block_exclusive_scan(p[1], First(), p[2]);
    p[0] = cunumpy_block_exclusive_scan(p[1], First(), p[2], &total);
    p[0] = cunumpy_warp_segmented_inclusive_scan(p[1], head, First());
    p[0] = cunumpy_warp_segmented_exclusive_scan(p[1], head, First(), p[2]);
    p[0] = cunumpy_block_segmented_inclusive_scan(p[1], head, First());
    p[0] = cunumpy_block_segmented_exclusive_scan(p[1], head, First(), p[2]);
    T items[3] = {p[0], p[1], p[2]};
    cunumpy_block_inclusive_scan_items(items, First());
    cunumpy_block_inclusive_scan_items(items, First(), &total);
    cunumpy_block_exclusive_scan_items(items, First(), p[2]);
    cunumpy_block_exclusive_scan_items(items, First(), p[2], &total);
    p[0] = items[2];
    p[1] = total;
}

template <class T> __global__ void wide(T* p, unsigned int* counter) {
    p[0] = cunumpy_block_reduce(p[1], First(), 7);
    if (cunumpy_grid_reduce(p[1], First(), p, counter, p)) return;
    p[0] = cunumpy_block_exclusive_scan(p[1], First(), p[2]);
}

template <class T, class Layout, class Index>
__device__ void read(T* p, cunumpy::View<T, 3, Layout, Index> a, cunumpy::View<const T, 3, Layout, Index> b) {
    p[0] = a(1, 2, 3);
    p[1] = CUNUMPY_AT(a, 1, 2, 3);
    p[2] = b.load(1, 2, 3);
    a.sub(1)(2, 3) = b.sub(1, 2)(3);
    a.fix(1, 2)(1, 3) = a.slice(0, 1, 5, 2)(1, 2, 3);
    a.flat(b.size()) = a.strided()(1, 2, 3);
    Index index[3];
    cunumpy::unravel_index(5, a.shape, index);
    p[3] = b(index[0], index[1], index[2]);
}
template <class T> __global__ void views(T* p, Array3D<T> a, CArray3D<T> c, Array5D<T> e, CArray16D<T> f) {
    const Array3D<const T> b = a;
    const CArray3D<const T> d = c;
    read(p, a, b);
    read(p, c, d);
    read(p, cunumpy::index32(a), cunumpy::index32(b));
    read(p, cunumpy::index32(c), cunumpy::index32(d));
    p[0] = *c.row(1, 2);
    p[1] = e(0, 1, 0, 1, 0);
    p[2] = f(0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0);
    p[3] = (T)(cunumpy::fits_index32(a) + cunumpy::fits_index32(c));
    const Array3D<const T> converted = c;
    p[4] = converted(1, 2, 3);
    CUNUMPY_CHECK_INDEX(p[0], 0, 3);
    CUNUMPY_CHECK_INDEX_OF("p", 2, 0, 3);
    if (a.size() == 7) CUNUMPY_TRAP();
}

__global__ void threads1(double* p, long long n) {
    CUNUMPY_THREAD_1D(i, n);
    p[i] = 0;
}
__global__ void threads2(double* p, int n, int m) {
    CUNUMPY_THREAD_2D(i, j, n, m);
    p[i * m + j] = 0;
}
template <class T> __global__ void indices(T* p) {
    CUNUMPY_THREAD_3D(i, j, k, 3, 4, 5);
    p[i + j + k] = CUNUMPY_GLOBAL_INDEX_X() + CUNUMPY_GLOBAL_INDEX_Y() + CUNUMPY_GLOBAL_INDEX_Z();
    CUNUMPY_GRID_STRIDE_1D(l, 100) p[l] = 0;
    p[0] = cunumpy::global_index_x() + cunumpy::global_index_y() + cunumpy::global_index_z();
    p[1] = cunumpy::global_size_x() + cunumpy::global_size_y() + cunumpy::global_size_z();
    for (auto l : cunumpy::grid_stride(100)) p[l] += 1;
    for (auto l : cunumpy::grid_stride(100, 20)) p[l.i] += l.j;
    for (auto l : cunumpy::grid_stride(100, 20, 30)) p[l.i] += l.j * l.k;
    for (auto l : cunumpy::grid_stride32(100)) p[l] += 1;
    for (auto l : cunumpy::grid_stride32(100, 20)) p[l.i] += l.j;
    for (auto l : cunumpy::grid_stride32(100, 20, 30)) p[l.i] += l.j * l.k;
    p[2] = cunumpy::unravel_index(7, 3, 4).i + cunumpy::unravel_index(7, 3, 4, 5).k;
    p[3] = cunumpy::unravel_index32(7, 3, 4).j + cunumpy::unravel_index32(7, 3, 4, 5).k;
    p[4] = cunumpy_block_thread() + cunumpy_block_threads() + cunumpy_block_warps() + cunumpy_warp() + cunumpy_lane();
    const cunumpy_lane_mask mask = cunumpy_block_warp_mask();
    p[5] = cunumpy_lane_count(mask) + cunumpy_first_lane(mask) + cunumpy_last_lane(mask);
    p[6] = cunumpy_warp_any(p[0] > 0) + cunumpy_warp_all(p[0] > 0, 7u) + cunumpy_warp_count(p[0] > 0);
    p[7] = cunumpy_block_any(p[0] > 0) + cunumpy_block_all(p[0] > 0) + cunumpy_block_count(p[0] > 0);
    p[8] = cunumpy_ballot(mask, p[0] > 0);
}
__global__ void vectors(float2* p, double2* q) {
    p[0] = cunumpy_atomic_add(p + 1, p[2]);
    q[0] = cunumpy_atomic_add_2d(q, 3, 1, 2, q[2]);
}
"""
#: The kernels for these types, each instance once; those of operations are long.
TYPED = {
    "sums": [*REALS, *COMPLEX],
    "extrema": REALS,
    "swaps": [*REALS, "Complex<float>"],
    "views": [*REALS, *COMPLEX],
    "operations": ["double", "short", "Complex<float>", "cunumpy_indexed<float>"],
    "wide": ["Wide"],
    "indices": ["double"],
}
INSTANCES = [f"{kernel}<{ctype}>" for kernel, ctypes in TYPED.items() for ctype in ctypes]
OF_DOUBLE = [name for name in INSTANCES if name.endswith("<double>")]


def test_every_function_and_macro_is_compiled():
    for path in HEADERS.values():
        text = re.sub(r"//.*", "", path.read_text())
        public = re.sub(
            r"namespace cunumpy_detail \{.*?\}  ?// namespace cunumpy_detail", "", path.read_text(), flags=re.S
        )
        names = set(re.findall(r"^__(?:host|device)__ .*?\b(\w+)\(", re.sub(r"//.*", "", public), flags=re.M))
        names |= {
            name for name in re.findall(r"#define (CUNUMPY_\w+)\(", text) if not name.endswith(("_INTEGER", "_NAMES"))
        }
        assert names or path == HEADERS["portability"], path.name
        missing = {name for name in names if not re.search(rf"\b{name}\b", SOURCE)}
        assert not missing, f"{path.name}: {missing}"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_function_and_type(architecture):
    # All functions on every architecture, and the types, which do not differ between them, in turn.
    turn = ARCHITECTURES.index(architecture)
    instances = {*OF_DOUBLE, *INSTANCES[turn :: len(ARCHITECTURES)]}
    assert compile_cuda(SOURCE, architecture=architecture, instances=tuple(instances))


@pytest.mark.parametrize("option", ["-DCUNUMPY_BOUNDS_CHECK", "-std=c++11", "-std=c++20"])
def test_nvrtc_compiles_with_other_options(option):
    assert compile_cuda(SOURCE, instances=tuple(OF_DOUBLE), options=(option,))


@pytest.mark.parametrize("name", HEADERS)
def test_each_header_stands_alone(name):
    assert compile_cuda(f"#include <cunumpy/{name}.cuh>\n#include <cunumpy/{name}.cuh>\n__global__ void none() {{}}\n")


@pytest.mark.parametrize("bounds_check", [(), ("-DCUNUMPY_BOUNDS_CHECK",)], ids=["", "bounds check"])
def test_macros_of_one_letter_do_not_reach_in(bounds_check):
    letters = "ABCDEFGHIJKLMNOPQRSUVWXYZ"  # T is a name in NVRTC's own headers
    includes = "".join(f"#include <cunumpy/{name}.cuh>\n" for name in HEADERS)
    kept = "".join(f'static_assert({letter} == {number}, "kept");\n' for number, letter in enumerate(letters))
    source = f"""{includes}{kept}
    extern "C" __global__ void use(Array2D<const double> x, Array2D<double> y, CArray1D<int> z) {{
        y(1, 2) = x(1, 2) + x.sub(1)(N - N) + z(0);
        cunumpy_atomic_add(&y(0, 0), cunumpy_block_sum(1.0));
    }}"""
    options = tuple(f"-D{letter}={number}" for number, letter in enumerate(letters))
    assert compile_cuda(source, options=(*options, *bounds_check))


def test_atomics_of_double_before_compute_capability_6():
    source = """#include <cunumpy/atomic.cuh>
    __global__ void add(double* p) { p[0] = cunumpy_atomic_add(p, 2); }"""
    assert compile_cuda(source, architecture="sm_52")


@pytest.fixture
def nvcc() -> str:
    found = shutil.which("nvcc") or shutil.which("nvcc", path=os.path.join(os.environ.get("CUDA_HOME", ""), "bin"))
    if found is None:
        pytest.skip("the CUDA toolkit's nvcc is not on this machine; NVRTC has compiled the headers")
    return found


@pytest.mark.parametrize("option", ["-DNDEBUG", "-DCUNUMPY_BOUNDS_CHECK"])
def test_nvcc_compiles_host_and_device_code(nvcc, tmp_path, option):
    few = OF_DOUBLE if "CHECK" in option else [*OF_DOUBLE, "sums<short>", "views<short>", "sums<Complex<float>>"]
    half = """
    #include <cuda_fp16.h>
    __global__ void halves(__half* p) { p[0] = cunumpy_atomic_add(p + 1, p[2]); }
    """
    taken = "".join(f"void* taken{i} = (void*)&{name};\n" for i, name in enumerate(few))
    (tmp_path / "all.cu").write_text(SOURCE + half + taken)
    command = [nvcc, "-arch=sm_80", "-std=c++17", option, "-Werror", "all-warnings", "-Xcompiler", "-Wall"]
    command += ["-Xptxas", "-O1", f"-I{cuda_include_dir()}", "-c", "all.cu", "-o", "all.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("option", ["-DNDEBUG", "-DCUNUMPY_BOUNDS_CHECK"])
@pytest.mark.parametrize("name", ["portability", "array_view", "atomic"])
def test_a_cpp_compiler_reads_what_has_no_warps(tmp_path, name, option):
    (tmp_path / "all.cpp").write_text(f'#include "cuda_qualifiers.hpp"\n#include <cunumpy/{name}.cuh>\n')
    command = [*compiler(), "-std=c++11", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", option]
    command += [f"-I{cuda_include_dir()}", f"-I{QUALIFIERS}", "all.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_warps_the_reductions_say_what_they_need(tmp_path):
    (tmp_path / "all.cpp").write_text(
        '#include "cuda_qualifiers.hpp"\nstatic struct { unsigned x, y, z; } threadIdx, blockIdx, blockDim, gridDim;\n'
        "#include <cunumpy/scan.cuh>\n"
    )
    command = [*compiler(), "-std=c++11", "-fsyntax-only", f"-I{cuda_include_dir()}", f"-I{QUALIFIERS}", "all.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "needs warps: compile for CUDA or HIP, or for a CPU device" in done.stderr


def test_includes_are_resolved():
    found = resolve_includes("#include <cunumpy/scan.cuh>", angle_dirs=[cuda_include_dir()])
    assert {path.name for path in found} == {"scan.cuh", "reduce.cuh", "atomic.cuh", "index.cuh", "portability.cuh"}
    for name in ("index", "array_view", "portability"):  # these need no other
        assert len(resolve_includes(f"#include <cunumpy/{name}.cuh>", angle_dirs=[cuda_include_dir()])) == 1


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("a(1)", "as many indices as it has dimensions"),
        ("a(1, 2, 3)", "as many indices as it has dimensions"),
        ("e(0, 0, 0, 0, 1.5)", "the indices of an array view are integers"),
        ("a.sub(1, 2)", "fewer than the view has dimensions"),
        ("e.row(1)", "no member"),
        ("v(0, 0) = 1", "must be a modifiable lvalue"),
        ("Array2D<double> w = v", "no suitable"),
        ("CArray2D<double> w = a", "no suitable"),
        ("deduced(c)", "no instance of function template"),
        ("deduced(v)", ""),
        ("deduced(c.strided())", ""),
        ("generic(c), generic(a), generic(v)", ""),
        ("Array2D<const double> w = c; w(0, 0)", ""),
        ("cunumpy_atomic_add(v.data, 1)", ""),
    ],
)
def test_what_views_accept_and_refuse(statement, message):
    source = f"""#include <cunumpy/array_view.cuh>
    template <class T> __device__ void deduced(Array2D<T>) {{}}
    template <class T, class Layout> __device__ void generic(cunumpy::View<T, 2, Layout>) {{}}
    template <class T> __device__ void cunumpy_atomic_add(const T*, int) {{}}
    __global__ void k(Array2D<double> a, Array2D<const double> v, CArray2D<double> c, Array5D<double> e) {{
        {statement};
    }}"""
    if not message:
        assert compile_cuda(source)
        return
    with pytest.raises(CompileError, match=message):
        compile_cuda(source)
