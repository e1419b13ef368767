"""`cunumpy/index.cuh`, `array_view.cuh` and `atomic.cuh`, compiled by the machine's C++ compiler, against NumPy."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpp_compiler import compiler, shared_library
from cpu_runtime import INCLUDE as RUNTIME
from cunumpy.cuda import cuda_include_dir

TESTS = Path(__file__).parents[1]
NATIVE = TESTS.parent / "packages" / "cunumpy-cuda" / "native"
INCLUDE = [f"-I{cuda_include_dir()}", f"-I{NATIVE}", f"-I{TESTS}", f"-isystem{RUNTIME}"]


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.__array_interface__["data"][0])


# ---- Indices

LOOPS = {
    "thread_1d": "CUNUMPY_THREAD_1D(i, n[0]); visit(i)",
    "thread_2d": "CUNUMPY_THREAD_2D(i, j, n[0], n[1]); visit(i * n[1] + j)",
    "thread_3d": "CUNUMPY_THREAD_3D(i, j, k, n[0], n[1], n[2]); visit((i * n[1] + j) * n[2] + k)",
    "macro_1d": "CUNUMPY_GRID_STRIDE_1D(i, n[0]) visit(i)",
    "range_1d": "for (auto i : cunumpy::grid_stride(n[0])) visit(i)",
    "range_2d": "for (auto p : cunumpy::grid_stride(n[0], n[1])) visit(p.i * n[1] + p.j)",
    "range_3d": "for (auto [i, j, k] : cunumpy::grid_stride(n[0], n[1], n[2])) visit((i * n[1] + j) * n[2] + k)",
    "range32_1d": "for (auto i : cunumpy::grid_stride32((int)n[0])) visit(i)",
    "range32_2d": "for (auto [i, j] : cunumpy::grid_stride32((int)n[0], (int)n[1])) visit(i * n[1] + j)",
    "range32_3d": """for (auto p : cunumpy::grid_stride32((int)n[0], (int)n[1], (int)n[2]))
        visit((p.i * n[1] + p.j) * n[2] + p.k)""",
    "no_braces": "if (n[0] > 0) for (auto i : cunumpy::grid_stride(n[0])) visit(i)",
}
LOOP_SOURCE = (
    r"""
#include "cpu_blocks.hpp"
#include <cunumpy/index.cuh>
#include <cunumpy/index.cuh>
"""
    + "".join(
        f"""
extern "C" const char* {name}(const dim3* shape, const long long* n, int* visits, int* owner) {{
    return blocks::launch(shape[0], shape[1], 0, [=] {{
        const long long x = CUNUMPY_GLOBAL_INDEX_X(), y = CUNUMPY_GLOBAL_INDEX_Y(), z = CUNUMPY_GLOBAL_INDEX_Z();
        auto visit = [&](long long element) {{
            visits[element]++;
            owner[element] = (int)((x * cunumpy::global_size_y() + y) * cunumpy::global_size_z() + z);
        }};
        {statement};
    }});
}}
"""
        for name, statement in LOOPS.items()
    )
    + r"""
static int steps;
extern "C" int far(int n, const dim3* shape) {  // loops near the end of int
    steps = 0;
    blocks::launch(shape[0], shape[1], 0, [=] {
        for (auto i : cunumpy::grid_stride32(n)) { steps += i >= 0; if (steps > 10) return; }
    });
    return steps;
}
extern "C" void unravel(long long flat, const long long* n, long long* out) {
    const auto two = cunumpy::unravel_index(flat, n[0], n[1]);
    const auto three = cunumpy::unravel_index(flat, n[0], n[1], n[2]);
    long long shape[5], index[5];
    for (int i = 0; i < 5; ++i) shape[i] = n[i];
    cunumpy::unravel_index(flat, shape, index);
    out[0] = two.i; out[1] = two.j; out[2] = three.i; out[3] = three.j; out[4] = three.k;
    for (int i = 0; i < 5; ++i) out[5 + i] = index[i];
}
extern "C" void unravel32(int flat, const int* n, int* out) {
    const auto two = cunumpy::unravel_index32(flat, n[0], n[1]);
    const auto three = cunumpy::unravel_index32(flat, n[0], n[1], n[2]);
    int shape[5], index[5];
    for (int i = 0; i < 5; ++i) shape[i] = n[i];
    cunumpy::unravel_index(flat, shape, index);
    out[0] = two.i; out[1] = two.j; out[2] = three.i; out[3] = three.j; out[4] = three.k;
    for (int i = 0; i < 5; ++i) out[5 + i] = index[i];
}
"""
)


@pytest.fixture(scope="module")
def indices(tmp_path_factory):
    library = shared_library(LOOP_SOURCE, tmp_path_factory.mktemp("index") / "index.so", ["-Og", "-Wextra", *INCLUDE])
    for name in LOOPS:
        getattr(library, name).restype = ctypes.c_char_p
    return library


def visited(indices, name, extents, grid, block):
    shape, n = np.array([*grid, *block], np.uint32), np.array(extents, np.int64)
    size = max(int(np.prod(np.maximum(extents, 0))), 1)
    visits, owner = np.zeros(size, np.int32), np.full(size, -1, np.int32)
    assert getattr(indices, name)(address(shape), address(n), address(visits), address(owner)) is None
    return visits, owner


@pytest.mark.parametrize("name", [name for name in LOOPS if "thread" not in name])
@pytest.mark.parametrize(
    "launch",
    [
        ((1, 1, 1), (1, 1, 1)),
        ((3, 1, 1), (5, 1, 1)),
        ((2, 3, 1), (3, 2, 2)),
        ((1, 2, 3), (4, 1, 5)),
        ((9, 2, 2), (8, 4, 2)),
    ],
)
@pytest.mark.parametrize("extents", [(1, 1, 1), (13, 7, 5), (2, 30, 3), (40, 1, 2), (5, 0, 3), (0, 3, 3), (-4, 2, 2)])
def test_loops_visit_every_index_once_for_any_launch(indices, name, launch, extents):
    if not name.endswith(("2d", "3d")):
        launch = tuple((shape[0], 1, 1) for shape in launch)
    ndim = int(name[-2]) if name[-1] == "d" else 1
    if ndim == 2:
        launch = tuple((*shape[:2], 1) for shape in launch)
    shape = np.maximum(extents[:ndim], 0)
    visits, owner = visited(indices, name, shape if extents[0] >= 0 else extents[:ndim], *launch)
    if shape.prod() == 0:
        assert not visits.any()
        return
    assert (visits == 1).all()
    size = np.multiply(*launch)
    place = [axis % size[number] for number, axis in enumerate(np.indices(shape))] + [0] * (3 - ndim)
    assert (owner == ((place[0] * size[1] + place[1]) * size[2] + place[2]).ravel()).all()


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_thread_macros_end_threads_beyond_the_extents(indices, ndim):
    launch = ((3, 4, 5)[:ndim] + (1,) * (3 - ndim), (4, 2, 3)[:ndim] + (1,) * (3 - ndim))
    shape = (10, 7, 15)[:ndim]
    visits, owner = visited(indices, f"thread_{ndim}d", shape, *launch)
    assert (visits == 1).all()
    size = np.multiply(*launch)
    place = [*np.indices(shape), *[0] * (3 - ndim)]
    assert (owner == ((place[0] * size[1] + place[1]) * size[2] + place[2]).ravel()).all()


def test_32_bit_loops_do_not_overflow(indices):
    shape = np.array([1024, 1, 1, 1, 1, 1], np.uint32)
    assert indices.far(2**31 - 1, address(shape)) > 10
    shape = np.array([2, 1, 1, 1, 1, 1], np.uint32)
    assert indices.far(3, address(shape)) == 3


@given(shape=st.tuples(*[st.integers(1, 9)] * 5), data=st.data())
def test_flat_indices_are_those_of_numpy(indices, shape, data):
    for name, dtype, integer in (("unravel", np.int64, ctypes.c_longlong), ("unravel32", np.int32, ctypes.c_int)):
        flat = data.draw(st.integers(0, shape[0] * shape[1] - 1))
        n, out = np.array(shape, dtype), np.zeros(10, dtype)
        indices[name](integer(flat), address(n), address(out))
        for part, length in ((out[:2], 2), (out[2:5], 3), (out[5:], 5)):
            assert tuple(part) == np.unravel_index(flat, shape[:length])


# ---- Views

VIEW_SOURCE = r"""
#include "cuda_qualifiers.hpp"
#include <stddef.h>
#include <utility>
#include <cunumpy/array_view.cuh>
#include <cunumpy/array_view.cuh>

template <class V, size_t... I> static auto& at(V v, const long long* index, std::index_sequence<I...>) {
    return CUNUMPY_AT(v, index[I]...);
}
// All elements in C order: by all indices, by number, and by nested sub-views.
template <class V> static void by_index(V v, double* out) {
    long long index[V::ndim] = {};
    for (long long n = 0; n < v.size(); ++n) {
        out[n] = at(v, index, std::make_index_sequence<V::ndim>());
        for (int axis = V::ndim - 1; axis >= 0 && ++index[axis] == v.shape[axis]; --axis) index[axis] = 0;
    }
}
template <class V> static void by_number(V v, double* out) {
    for (long long n = 0; n < v.size(); ++n) out[n] = v.flat(n);
}
template <class V> static void by_sub_view(V v, double*& out) {
    for (int i = 0; i < (int)v.shape[0]; ++i) {
        if constexpr (V::ndim == 1) *out++ = v.load(i);
        else by_sub_view(v.sub(i), out);
    }
}
template <class V> static void all(V v, double* out) {
    by_index(v, out);
    by_number(v, out + v.size());
    out += 2 * v.size();
    by_sub_view(v, out);
}
#define RANK(N) \
    extern "C" void layout_##N(long long* out) { \
        typedef Array##N##D<double> A; typedef CArray##N##D<char> C; \
        long long values[] = {sizeof(A), alignof(A), offsetof(A, data), offsetof(A, shape), offsetof(A, strides), \
                              sizeof(C), alignof(C), offsetof(C, data), offsetof(C, shape)}; \
        for (long long value : values) *out++ = value; \
        static_assert(A::ndim == N && C::ndim == N, ""); \
        static_assert(sizeof(Array##N##D32<char>) == (8 + 8 * N + 7) / 8 * 8, ""); \
        static_assert(std::is_trivially_copyable<A>::value && std::is_standard_layout<A>::value, ""); \
        static_assert(std::is_same<Array##N##D<int>, cunumpy_detail::ArrayView<int, N>>::value, ""); \
        static_assert(std::is_same<CArray##N##D<int>, cunumpy_detail::CArrayView<int, N>>::value, ""); \
    } \
    extern "C" void strided_##N(const Array##N##D<double>* a, double* out) { all(*a, out); } \
    extern "C" void strided32_##N(const Array##N##D<double>* a, double* out) { all(cunumpy::index32(*a), out); } \
    extern "C" void contiguous_##N(const CArray##N##D<double>* a, double* out) { all(*a, out); } \
    extern "C" void contiguous32_##N(const CArray##N##D<double>* a, double* out) { all(cunumpy::index32(*a), out); } \
    extern "C" void converted_##N(const CArray##N##D<double>* a, double* out) { \
        const Array##N##D<double> b = *a; const Array##N##D<const double> c = b; all(c, out); \
    }
RANK(1) RANK(2) RANK(3) RANK(4) RANK(5) RANK(6) RANK(7) RANK(8) RANK(9) RANK(10) RANK(11) RANK(12) RANK(13) RANK(14)
RANK(15) RANK(16)

extern "C" void slice_3(const Array3D<double>* a, int axis, long long b, long long e, long long s,
                        Array3D<double>* out) {
    *out = a->slice(axis, b, e, s);
}
extern "C" void fix_3(const Array3D<double>* a, int axis, long long i, Array2D<double>* out) { *out = a->fix(axis, i); }
extern "C" void fix_c(const CArray3D<double>* a, int axis, long long i, Array2D<double>* out) {
    *out = a->fix(axis, i);
}
extern "C" void slice_c(const CArray3D<double>* a, int axis, long long b, long long e, long long s,
                        Array3D<double>* out) {
    *out = a->slice(axis, b, e, s);
}
extern "C" double* row_3(const CArray3D<double>* a, int i, int j) { return a->row(i, j); }
extern "C" void write_2(const Array2D<double>* a) { (*a)(1, 2) = -7.0; a->sub(0)(1) = -8.0; a->flat(0) = -9.0; }
extern "C" bool fits_3(const Array3D<char>* a) { return cunumpy::fits_index32(*a); }
"""


def strided_dtype(ndim: int) -> np.dtype:
    return np.dtype([("data", np.uintp), ("shape", np.int64, ndim), ("strides", np.int64, ndim)], align=True)


def contiguous_dtype(ndim: int) -> np.dtype:
    return np.dtype([("data", np.uintp), ("shape", np.int64, ndim)], align=True)


def strided_view(array: np.ndarray) -> np.ndarray:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return np.array((address(array).value, array.shape, strides), strided_dtype(array.ndim))


def contiguous_view(array: np.ndarray) -> np.ndarray:
    assert array.flags.c_contiguous
    return np.array((address(array).value, array.shape), contiguous_dtype(array.ndim))


def seen(view: np.ndarray) -> np.ndarray:
    """Make the array that a strided view describes."""
    shape, strides = view["shape"].reshape(-1), view["strides"].reshape(-1)
    below = -sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0 and n > 0)
    above = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0 and n > 0)
    if 0 in shape:
        return np.zeros(shape)
    memory = (ctypes.c_double * int(below + above + 1)).from_address(int(view["data"]) - 8 * int(below))
    return np.lib.stride_tricks.as_strided(np.frombuffer(memory)[int(below) :], shape, [8 * int(s) for s in strides])


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    options = ["-Og", "-Wextra", *INCLUDE]
    return shared_library("#include <type_traits>\n" + VIEW_SOURCE, tmp_path_factory.mktemp("views") / "v.so", options)


@pytest.mark.parametrize("ndim", range(1, 17))
def test_sizes_alignments_and_offsets_are_those_that_numpy_packs(views, ndim):
    out = np.zeros(9, np.int64)
    views[f"layout_{ndim}"](address(out))
    strided, contiguous = strided_dtype(ndim), contiguous_dtype(ndim)
    assert out[:5].tolist() == [
        strided.itemsize,
        strided.alignment,
        *(strided.fields[name][1] for name in strided.names),
    ]
    assert out[:5].tolist() == [8 + 16 * ndim, 8, 0, 8, 8 + 8 * ndim]
    assert out[5:].tolist() == [contiguous.itemsize, contiguous.alignment, 0, contiguous.fields["shape"][1]]
    assert out[5:].tolist() == [8 + 8 * ndim, 8, 0, 8]


@pytest.mark.parametrize("ndim", range(1, 17))
def test_elements_by_all_indices_by_number_and_by_sub_views(views, ndim):
    random = np.random.default_rng(ndim)
    shape = tuple(random.integers(1, 5, ndim)) if ndim < 5 else tuple(random.permutation([2, 3, 2, *[1] * (ndim - 3)]))
    array = random.random(shape)
    kinds = [array, array.T, array[::-1], array[..., ::-1], np.broadcast_to(array[:1], shape)]
    for number, one in enumerate(kinds):
        for name in (
            ("strided", "strided32") if number else ("strided", "strided32", "contiguous", "contiguous32", "converted")
        ):
            out = np.zeros(3 * one.size)
            view = strided_view(one) if name.startswith("strided") else contiguous_view(one)
            views[f"{name}_{ndim}"](address(view), address(out))
            np.testing.assert_array_equal(out.reshape(3, -1), np.broadcast_to(one.ravel(), (3, one.size)))


@given(axis=st.integers(0, 2), data=st.data(), reverse=st.booleans())
def test_slices_are_those_of_numpy(views, axis, data, reverse):
    array = np.arange(4.0 * 5 * 6).reshape(4, 5, 6)
    limits = st.none() | st.integers(-7, 7)
    piece = data.draw(st.builds(slice, limits, limits, st.sampled_from([None, 1, 2, 3, -1, -2, -4])))
    begin, end, step = piece.indices(array.shape[axis])
    source = array[:, ::-1] if reverse else array
    view, out = strided_view(source), np.zeros((), strided_dtype(3))
    arguments = (axis, *(ctypes.c_longlong(value) for value in (begin, end, step)), address(out))
    views.slice_3(address(view), *arguments)
    expected = source[(slice(None),) * axis + (piece,)]
    np.testing.assert_array_equal(seen(out), expected)
    views.slice_c(address(contiguous_view(array)), *arguments)
    np.testing.assert_array_equal(seen(out), array[(slice(None),) * axis + (piece,)])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_axis_fixed(views, axis):
    array = np.arange(4.0 * 5 * 6).reshape(4, 5, 6)
    out = np.zeros((), strided_dtype(2))
    for index in range(array.shape[axis]):
        backwards = strided_view(array[::-1, :, ::-1])
        views.fix_3(address(backwards), axis, ctypes.c_longlong(index), address(out))
        np.testing.assert_array_equal(seen(out), array[::-1, :, ::-1].take(index, axis))
        views.fix_c(address(contiguous_view(array)), axis, ctypes.c_longlong(index), address(out))
        np.testing.assert_array_equal(seen(out), array.take(index, axis))


def test_row_pointers_and_writing(views):
    array = np.arange(4.0 * 5 * 6).reshape(4, 5, 6)
    views.row_3.restype = ctypes.c_void_p
    assert views.row_3(address(contiguous_view(array)), 2, 3) == address(array[2, 3]).value
    matrix = np.zeros((3, 4))
    expected = matrix[::-1].copy()
    views.write_2(address(strided_view(matrix[::-1])))
    expected[1, 2], expected[0, 1], expected[0, 0] = -7, -8, -9
    np.testing.assert_array_equal(matrix[::-1], expected)


EXTENTS = st.one_of(st.integers(0, 9), st.integers(2**31 - 2, 2**31 + 1), st.integers(0, 2**33))
STRIDES = st.one_of(st.integers(-9, 9), st.integers(-(2**31) - 1, 2**31 + 1))


@settings(max_examples=300)
@given(shape=st.tuples(EXTENTS, EXTENTS, EXTENTS), strides=st.tuples(STRIDES, STRIDES, STRIDES))
def test_what_fits_32_bit_indices(views, shape, strides):
    views.fits_3.restype = ctypes.c_bool
    view = np.array((0, shape, strides), strided_dtype(3))
    used = [(n - 1, s) for n, s in zip(shape, strides, strict=True) if n > 1]
    expected = max(shape) < 2**31 and shape[0] * shape[1] * shape[2] < 2**31 and all(abs(s) < 2**31 for _, s in used)
    expected = expected and all(sum(max(sign * n * s, 0) for n, s in used) < 2**31 for sign in (1, -1))
    assert views.fits_3(address(view)) == expected


# ---- Bounds checks

CHECKED = r"""
#include HEADER
#include <stdlib.h>
#include <cunumpy/array_view.cuh>
static double memory[60];
template <class A> static void bad(A a, int which, long long i) {
    switch (which) {
        case 0: a(1, i) = 1; break;
        case 1: CUNUMPY_AT(a, i, 2) = 1; break;
        case 2: a.flat(i) = 1; break;
        case 3: a.sub(i)(0) = 1; break;
        case 4: a.fix(1, i)(0) = 1; break;
        case 5: a.slice(0, 0, i)(0, 0) = 1; break;
        case 6: CUNUMPY_CHECK_INDEX(i, 0, 5); break;
        case 7: CUNUMPY_CHECK_INDEX_OF("points", i, 3, 5); break;
        case 8: cunumpy::index32(a)(0, i) = a.load(0, 0); break;
    }
}
int main(int, char** arguments) {
    const int which = atoi(arguments[1]);
    const long long i = atoll(arguments[2]);
    const Array2D<double> a = {memory, {5, 4}, {4, 1}};
    LAUNCH
    puts("done");
    return 0;
}
"""
VARIANTS = {
    "host": ('"cuda_qualifiers.hpp"', "bad(a, which, i); bad(CArray2D<double>{memory, {5, 4}}, which, i);"),
    "threads": (
        '"cpu_blocks.hpp"',
        "if (const char* error = blocks::launch({3, 1, 1}, {4, 2, 1}, 0, [=] { if (blockIdx.x == 1 && threadIdx.x > 1) "
        "bad(a, which, i); })) return puts(error), 1;",
    ),
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    for name, (header, launch) in VARIANTS.items():
        source = "#include <stdio.h>\n" + CHECKED.replace("HEADER", header).replace("LAUNCH", launch)
        (folder / f"{name}.cpp").write_text(source)
        for option in ("-DCUNUMPY_BOUNDS_CHECK", "-DNDEBUG", "-DCUNUMPY_BOUNDS_CHECK -DCUNUMPY_TRAP()=(void)0"):
            words = option.split(" ", 1) if "TRAP" in option else [option]
            target = folder / f"{name}{len(option)}"
            command = [
                *compiler(),
                "-std=c++17",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-unused-function",
                *words,
                *INCLUDE,
            ]
            subprocess.run([*command, str(folder / f"{name}.cpp"), "-o", str(target)], check=True)

    def run(name: str, option: str, which: int, index: int):
        done = subprocess.run(
            [folder / f"{name}{len(option)}", str(which), str(index)], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    return run


CHECK = "-DCUNUMPY_BOUNDS_CHECK"


@pytest.mark.parametrize("index", [-1, 7, 20, 2**40])
@pytest.mark.parametrize("which", range(9))
def test_a_bad_index_is_reported_and_ends_the_program(checked, which, index):
    if (which, index) == (2, 7):  # the flattened array has element 7
        index = 21
    if (which, index) == (5, -1):  # an empty slice: its element (0, 0) is bad
        expected = "index 0 is out of range for axis 0 with extent 0 of an array at 0x"
    else:
        axis, extent, name = {
            0: (1, 4, "an array"),
            1: (0, 5, "array a"),
            2: (-1, 20, "an array"),
            3: (0, 5, "an array"),
            4: (1, 4, "an array"),
            5: (0, 5, "an array"),
            6: (0, 5, "an array"),
            7: (3, 5, "array points"),
            8: (1, 4, "an array"),
        }[which]
        shown = index - 1 if which == 5 else index
        expected = f"index {shown} is out of range for axis {axis} with extent {extent} of {name} at "
    status, text = checked("host", CHECK, which, index)
    assert status < 0
    assert text.startswith(f"cunumpy: {expected}")
    assert text.count("\n") == 1


@pytest.mark.parametrize("which", range(9))
@pytest.mark.parametrize("variant", VARIANTS)
def test_good_indices_pass(checked, which, variant):
    assert checked(variant, CHECK, which, 3) == (0, "done\n")


def test_the_report_tells_thread_and_block(checked):
    status, text = checked("threads", CHECK, 1, 9)
    assert status == 1
    assert text.startswith("cunumpy: index 9 is out of range for axis 0 with extent 5 of array a at 0x")
    report, trap = text.splitlines()
    assert report.endswith(", in thread (2, 0, 0) of block (1, 0, 0)")
    assert trap.startswith("__trap() in block (1, 0, 0), thread (2, 0, 0) at ")


def test_only_one_thread_reports(checked):
    status, text = checked("threads", "-DCUNUMPY_BOUNDS_CHECK -DCUNUMPY_TRAP()=(void)0", 7, 9)
    assert status == 0
    assert text.count("cunumpy:") == 1
    assert text.endswith("done\n")


def test_without_the_option_nothing_is_checked(checked):
    assert checked("host", "-DNDEBUG", 1, 6) == (0, "done\n")


# ---- Atomics

NUMBERS = {
    "char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "unsigned int": np.uint32,
    "long": ctypes.c_long,
    "unsigned long": ctypes.c_ulong,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
#: What CUDA offers, for the code that uses it: the bytes within a word, and the choice of instructions.
CUDA_ATOMICS = r"""
#include <complex>
#include <string.h>
#include <thread>
#define __CUDACC__
static inline unsigned int __shfl_sync(unsigned int, unsigned int v, int) { return v; }
static inline unsigned int __ballot_sync(unsigned int, int) { return 0; }
#define __popc __builtin_popcount
#define __ffs __builtin_ffs
#define __clz __builtin_clz
struct float2 { float x, y; };
struct double2 { double x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
template <class T> static T atomicCAS(T* p, T expected, T desired) {
    static_assert(sizeof(T) >= 4, "");
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
template <class T, class F> static T atomic_loop(T* p, F f) {
    T old, next;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do next = f(old); while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
#define INSTRUCTION(T) \
    static inline T atomicMin(T* p, T v) { return atomic_loop(p, [v](T old) { return v < old ? v : old; }); } \
    static inline T atomicMax(T* p, T v) { return atomic_loop(p, [v](T old) { return v > old ? v : old; }); }
INSTRUCTION(int) INSTRUCTION(unsigned int) INSTRUCTION(long long) INSTRUCTION(unsigned long long)
#define ADDITION(T) static inline T atomicAdd(T* p, T v) { return atomic_loop(p, [v](T old) { return old + v; }); }
ADDITION(int) ADDITION(unsigned int) ADDITION(unsigned long long) ADDITION(float) ADDITION(double)
#define EXCHANGE(T) static inline T atomicExch(T* p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }
EXCHANGE(unsigned int) EXCHANGE(unsigned long long)
"""
ATOMIC_SOURCE = r"""
#include <complex>
#include <thread>
#include "cuda_qualifiers.hpp"
#include <cunumpy/array_view.cuh>
#include <cunumpy/atomic.cuh>
#include <cunumpy/atomic.cuh>
template <class F> static void threads(F f) {
    std::thread all[4];
    for (std::thread& one : all) one = std::thread([f] { for (int i = 0; i < 20000; ++i) f(i); });
    for (std::thread& one : all) one.join();
}
template <class T> struct Twice { T operator()(T v) const { return (T)(v + v); } };
#define SUMS(T, N) \
    extern "C" void add_##N(T* p, const T* v, T* old) { *old = cunumpy_atomic_add(p, *v); } \
    extern "C" void add2_##N(T* p, const T* v, T* old) { *old = cunumpy_atomic_add_2d(p, 3, 1, 1, *v); } \
    extern "C" void add3_##N(T* p, const T* v, T* old) { *old = cunumpy_atomic_add_3d(p, 2, 3, 0, 1, 1, *v); } \
    extern "C" void addv_##N(T* p, const T* v, T* old) { \
        const Array2D<T> a = {p, {2, 3}, {3, 1}}; *old = cunumpy_atomic_add_at(a, *v, 1, 1); \
    } \
    extern "C" void many_##N(T* p) { threads([p](int i) { cunumpy_atomic_add(p + i % 3, 1); }); }
#define ORDERED(T, N) \
    SUMS(T, N) \
    extern "C" void exchange_##N(T* p, const T* v, T* old) { *old = cunumpy_atomic_exchange(p, *v); } \
    extern "C" void cas_##N(T* p, const T* v, T* old) { *old = cunumpy_atomic_cas(p, v[0], v[1]); } \
    extern "C" void update_##N(T* p, const T*, T* old) { *old = cunumpy_atomic_update(p, Twice<T>()); } \
    extern "C" void min_##N(T* p, const T* v, T* old) { *old = cunumpy_atomic_min(p, *v); } \
    extern "C" void max_##N(T* p, const T* v, T* old) { *old = cunumpy_atomic_max(p, *v); } \
    extern "C" void most_##N(T* p) { threads([p](int i) { cunumpy_atomic_max(p + i % 3, (T)(i % 120)); }); }
SUMS(std::complex<float>, cf) SUMS(std::complex<double>, cd)
"""


@pytest.fixture(scope="module", params=["host", "device"])
def atomics(request, tmp_path_factory):
    types = "".join(f"ORDERED({ctype}, {ctype.replace(' ', '_')})\n" for ctype in NUMBERS)
    source = (CUDA_ATOMICS if request.param == "device" else "") + ATOMIC_SOURCE + types
    options = ["-Og", "-Wextra", "-fno-strict-aliasing", "-pthread", *INCLUDE]
    return shared_library(source, tmp_path_factory.mktemp("atomic") / f"{request.param}.so", options)


def call(atomics, name, ctype, p, v, place=0):
    old = np.zeros(1, p.dtype)
    atomics[f"{name}_{ctype.replace(' ', '_')}"](
        address(p[place:]), address(np.array(v, p.dtype).reshape(-1)), address(old)
    )
    return old[0]


@pytest.mark.parametrize("ctype", NUMBERS)
@settings(max_examples=25)
@given(data=st.data(), place=st.integers(0, 7))
def test_atomics_change_one_element_and_return_the_old_value(atomics, ctype, data, place):
    dtype = np.dtype(NUMBERS[ctype])
    if dtype.kind == "f":
        elements = st.floats(
            width=8 * dtype.itemsize, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100
        )
    else:
        elements = st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max)
    before = np.array(data.draw(st.lists(elements, min_size=16, max_size=16)), dtype)
    v = np.array([data.draw(elements)], dtype)
    one = before[place : place + 1]
    results = {
        "add": one + v,
        "exchange": v,
        "update": one + one,
        "min": np.minimum(one, v),
        "max": np.maximum(one, v),
    }
    for name, result in results.items():
        p, expected = before.copy(), before.copy()
        expected[place] = result[0]
        assert call(atomics, name, ctype, p, v, place) == before[place]
        np.testing.assert_array_equal(p, expected)
    for name, element in (("add2", 4), ("add3", 4), ("addv", 4)):
        p, expected = before.copy(), before.copy()
        expected[place + element : place + element + 1] += v
        assert call(atomics, name, ctype, p, v, place) == before[place + element]
        np.testing.assert_array_equal(p, expected)
    for given_value in (before[place], v[0]):
        p, expected = before.copy(), before.copy()
        if given_value.tobytes() == before[place].tobytes():
            expected[place] = v[0]
        assert call(atomics, "cas", ctype, p, [given_value, v[0]], place) == before[place]
        np.testing.assert_array_equal(p, expected)


@pytest.mark.parametrize("ctype", NUMBERS)
def test_many_threads_lose_nothing(atomics, ctype):
    dtype = np.dtype(NUMBERS[ctype])
    suffix = ctype.replace(" ", "_")
    p = np.zeros(8, dtype)
    atomics[f"many_{suffix}"](address(p))
    counts = 4 * np.bincount(np.arange(20000) % 3, minlength=8)
    np.testing.assert_array_equal(p, counts.astype(np.int64).astype(dtype))
    p = np.zeros(8, dtype)
    atomics[f"most_{suffix}"](address(p))
    np.testing.assert_array_equal(p, np.array([117, 118, 119, 0, 0, 0, 0, 0], dtype))


@pytest.mark.parametrize("ctype", ["cf", "cd"])
def test_complex_numbers(atomics, ctype):
    dtype = np.dtype(np.complex64 if ctype == "cf" else np.complex128)
    p = np.array([1 + 2j, 3 - 4j, 5, 6, 7, 8], dtype)
    assert call(atomics, "add", ctype, p, 0.5 - 1j, 1) == 3 - 4j
    assert call(atomics, "add2", ctype, p, 1j) == 7
    np.testing.assert_array_equal(p, np.array([1 + 2j, 3.5 - 5j, 5, 6, 7 + 1j, 8], dtype))
    p = np.zeros(3, dtype)
    atomics[f"many_{ctype}"](address(p))
    np.testing.assert_array_equal(p, 4 * np.bincount(np.arange(20000) % 3).astype(dtype))


@pytest.mark.parametrize("ctype", ["float", "double"])
def test_nan_and_signed_zero(atomics, ctype):
    dtype = np.dtype(NUMBERS[ctype])
    for name in ("min", "max"):
        for values in ((np.nan, 1), (1, np.nan), (np.nan, np.nan)):
            p = np.array([values[0]], dtype)
            call(atomics, name, ctype, p, values[1])
            assert np.isnan(p[0])
    p = np.array([0.0], dtype)
    call(atomics, "cas", ctype, p, [-0.0, 1])
    assert p[0] == 0
    p = np.array([np.nan], dtype)
    call(atomics, "cas", ctype, p, [np.nan, 1])
    assert p[0] == 1
