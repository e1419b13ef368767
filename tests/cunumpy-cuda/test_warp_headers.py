"""`cunumpy/reduce.cuh` and `cunumpy/scan.cuh`, on the threads of the CPU device (`cpu_blocks.hpp`), against NumPy."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpp_compiler import shared_library
from cpu_runtime import INCLUDE
from cunumpy.cuda import cuda_include_dir

TYPES = {
    "char": np.dtype(np.int8),
    "unsigned char": np.dtype(np.uint8),
    "short": np.dtype(np.int16),
    "unsigned short": np.dtype(np.uint16),
    "int": np.dtype(np.int32),
    "unsigned int": np.dtype(np.uint32),
    "long long": np.dtype(np.int64),
    "unsigned long long": np.dtype(np.uint64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "std::complex<float>": np.dtype(np.complex64),
    "std::complex<double>": np.dtype(np.complex128),
    "Affine": np.dtype((np.uint32, 2)),
    "Matrix": np.dtype((np.uint64, 4)),
}
NUMBERS = [name for name, dtype in TYPES.items() if dtype.ndim == 0]
REALS = [name for name in NUMBERS if "complex" not in name]
STRUCTS = ["Affine", "Matrix"]  # of 8 and of 32 bytes, with operations that do not commute

#: The statement that each thread, with number t of the grid and l of its block, executes.
ANY = {
    "block_reduce": "y[t] = cunumpy_block_reduce(x[t], Op<T>())",
    "block_inclusive_scan": "y[t] = cunumpy_block_inclusive_scan(x[t], Op<T>(), &z[t])",
    "block_exclusive_scan": "y[t] = cunumpy_block_exclusive_scan(x[t], Op<T>(), x[0], &z[t])",
    "warp_reduce": "y[t] = cunumpy_warp_reduce(x[t], Op<T>(), mask)",
    "warp_inclusive_scan": "y[t] = cunumpy_warp_inclusive_scan(x[t], Op<T>(), mask)",
    "warp_exclusive_scan": "y[t] = cunumpy_warp_exclusive_scan(x[t], Op<T>(), x[0], mask)",
    "segmented_inclusive": "y[t] = cunumpy_block_segmented_inclusive_scan(x[t], flags[t], Op<T>())",
    "segmented_exclusive": "y[t] = cunumpy_block_segmented_exclusive_scan(x[t], flags[t], Op<T>(), x[0])",
    "warp_segmented_inclusive": "y[t] = cunumpy_warp_segmented_inclusive_scan(x[t], flags[t], Op<T>(), mask)",
    "warp_segmented_exclusive": "y[t] = cunumpy_warp_segmented_exclusive_scan(x[t], flags[t], Op<T>(), x[0], mask)",
    "items_inclusive": "items(x, y, t, [&](T(&v)[3]) { cunumpy_block_inclusive_scan_items(v, Op<T>(), &z[t]); })",
    "items_exclusive": "items(x, y, t, [&](T(&v)[3]) { cunumpy_block_exclusive_scan_items(v, Op<T>(), x[0], &z[t]); })",
    "counted": """for (int c = 1; c <= n; ++c) {
        const T r = cunumpy_block_reduce(x[t], Op<T>(), c);
        if (l == 0) y[c - 1] = r;
    }""",
    "grid_reduce": "flags[t] = cunumpy_grid_reduce(x[t], Op<T>(), z, (unsigned int*)z + 25000, y)",
}
SUMS = {
    "block_sum": "y[t] = cunumpy_block_sum(x[t])",
    "block_product": "y[t] = cunumpy_block_product(x[t])",
    "block_inclusive_sum": "y[t] = cunumpy_block_inclusive_sum(x[t], &z[t])",
    "block_exclusive_sum": "y[t] = cunumpy_block_exclusive_sum(x[t], &z[t])",
    "warp_sum": "y[t] = cunumpy_warp_sum(x[t], mask)",
    "warp_product": "y[t] = cunumpy_warp_product(x[t], mask)",
    "warp_inclusive_sum": "y[t] = cunumpy_warp_inclusive_sum(x[t], mask)",
    "warp_exclusive_sum": "y[t] = cunumpy_warp_exclusive_sum(x[t], mask)",
    "items_inclusive_sum": "items(x, y, t, [&](T(&v)[3]) { cunumpy_block_inclusive_sum_items(v, &z[t]); })",
    "items_exclusive_sum": "items(x, y, t, [&](T(&v)[3]) { cunumpy_block_exclusive_sum_items(v, &z[t]); })",
    "sum_to": "cunumpy_block_sum_to(y, x[t])",
}
ORDERED = {
    "block_min": "y[t] = cunumpy_block_min(x[t])",
    "block_max": "y[t] = cunumpy_block_max(x[t])",
    "warp_min": "y[t] = cunumpy_warp_min(x[t], mask)",
    "warp_max": "y[t] = cunumpy_warp_max(x[t], mask)",
    "block_argmin": "place(cunumpy_block_argmin(x[t], l), y[t], flags[t])",
    "block_argmax": "place(cunumpy_block_argmax(x[t], l), y[t], flags[t])",
    "warp_argmin": "place(cunumpy_warp_argmin(x[t], l, mask), y[t], flags[t])",
    "warp_argmax": "place(cunumpy_warp_argmax(x[t], l, mask), y[t], flags[t])",
    "limits": "y[0] = cunumpy_min_op::identity<T>(); y[1] = cunumpy_max_op::identity<T>()",
}
#: Calls that follow each other at once; without the barriers between their phases, results would mix.
MIXED = {
    "mixed": """y[8 * t] = cunumpy_block_sum(x[t]);
        y[8 * t + 1] = cunumpy_block_max(x[t]);
        y[8 * t + 2] = cunumpy_block_inclusive_sum(x[t]);
        y[8 * t + 3] = cunumpy_block_exclusive_sum(x[t]);
        y[8 * t + 4] = (T)cunumpy_block_min((int)x[t]);
        y[8 * t + 5] = cunumpy_block_scan_sum<T, false>(x[t]);
        y[8 * t + 6] = (T)cunumpy_block_argmax(x[t], l).index;
        y[8 * t + 7] = cunumpy_block_sum(x[t])""",
    "votes": """flags[8 * t] = cunumpy_block_any(x[t] > 0);
        flags[8 * t + 1] = cunumpy_block_all(x[t] > 0);
        flags[8 * t + 2] = cunumpy_block_count(x[t] > 0);
        flags[8 * t + 3] = cunumpy_warp_any(x[t] > 0, mask);
        flags[8 * t + 4] = cunumpy_warp_all(x[t] > 0, mask);
        flags[8 * t + 5] = cunumpy_warp_count(x[t] > 0, mask);
        flags[8 * t + 6] = (int)cunumpy_block_warp_mask();
        flags[8 * t + 7] = cunumpy_lane() + 100 * cunumpy_warp() + 10000 * cunumpy_block_warps()""",
    "no_barrier_in_half": "if (l % 2) y[t] = cunumpy_block_sum(x[t])",
    "early_return": "if (l > 0) y[t] = cunumpy_block_sum(x[t])",
    "wrong_mask": "if (l < 4) y[t] = cunumpy_warp_sum(x[t], l < 2 ? 7u : 15u)",
    "foreign_mask": "y[t] = cunumpy_warp_sum(x[t], 1u)",
    "foreign_lane": "if (l < 2) y[t] = cunumpy_shuffle(3u, x[t], 2)",
    "no_second_barrier": """static T slots[32]; const T s = cunumpy_warp_sum(x[t]); slots[l / 32] = s; __syncthreads();
        T r = 0; for (int i = 0; i < n / 32; ++i) r = r + slots[i]; y[t] = r;
        slots[l / 32] = 0; __syncthreads()""",
}
DEFINITIONS = r"""
#include <complex>
#include "cpu_blocks.hpp"
#include <cunumpy/scan.cuh>
#include <cunumpy/scan.cuh>

struct Affine { unsigned int a, b; };
struct Matrix { unsigned long long m[4]; };
template <class T> struct Op { T operator()(T a, T b) const { return T(a + b); } };
template <> struct Op<Affine> {
    Affine operator()(Affine a, Affine b) const { return {a.a * b.a, a.b * b.a + b.b}; }
};
template <> struct Op<Matrix> {
    Matrix operator()(const Matrix& a, const Matrix& b) const {
        const unsigned long long *p = a.m, *q = b.m;
        return {{p[0] * q[0] + p[1] * q[2], p[0] * q[1] + p[1] * q[3],
                 p[2] * q[0] + p[3] * q[2], p[2] * q[1] + p[3] * q[3]}};
    }
};
template <class T, class F> static void items(const T* x, T* y, int t, F f) {
    T v[3] = {x[3 * t], x[3 * t + 1], x[3 * t + 2]};
    f(v);
    for (int i = 0; i < 3; ++i) y[3 * t + i] = v[i];
}
template <class T> static void place(cunumpy_indexed<T> found, T& value, int& index) {
    value = found.value;
    index = (int)found.index;
}
extern "C" int passed_barriers() { return (int)blocks::barriers; }
"""


def entry(name: str, position: int, statement: str) -> str:
    return f"""
extern "C" const char* {name}_{position}(const dim3* shape, unsigned int schedule, const TYPE{position}* x,
                                         TYPE{position}* y, TYPE{position}* z, int* flags, const unsigned int* masks) {{
    typedef TYPE{position} T;
    (void)sizeof(T), (void)x, (void)y, (void)z, (void)flags;
    return blocks::launch(shape[0], shape[1], schedule, [=] {{
        const int l = cunumpy_block_thread(), n = cunumpy_block_threads();
        const int t = n * (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) + l;
        const unsigned int mask = masks[l];
        (void)t, (void)mask;
        {statement};
    }});
}}
"""


class Device:
    """The functions, for each type, by the names above."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def __call__(
        self,
        name: str,
        ctype: str,
        x: np.ndarray,
        *,
        block=(),
        grid=(1, 1, 1),
        schedule=0,
        masks=None,
        flags=None,
        per=1,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        dtype = TYPES[ctype]
        x = np.ascontiguousarray(x, dtype.base)
        threads = int(np.prod(grid) * np.prod(block))
        y, z = np.zeros((per * threads, *dtype.shape), dtype.base), np.zeros((100000, *dtype.shape), dtype.base)
        flags = np.zeros(8 * threads, np.int32) if flags is None else np.array(flags, np.int32)
        if masks is None:
            masks = np.full(1024, 0xFFFFFFFF, np.uint32)
        shape = np.array([*grid, *block], np.uint32)
        function = self.library[f"{name}_{list(TYPES).index(ctype)}"]
        function.restype = ctypes.c_char_p
        pointer = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y, z, flags, np.asarray(masks, np.uint32))]
        error = function(shape.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint(schedule), *pointer)
        if error is not None:
            raise RuntimeError(error.decode())
        return y, z, flags


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Device:
    parts = [DEFINITIONS]
    for position, ctype in enumerate(TYPES):
        parts.append(f"typedef {ctype} TYPE{position};")
        statements = dict(ANY)
        if ctype in NUMBERS:
            statements |= SUMS
        if ctype in REALS:
            statements |= ORDERED
        if ctype == "double":
            statements |= MIXED
        parts += [entry(name, position, statement) for name, statement in statements.items()]
    options = [
        f"-I{cuda_include_dir()}",
        f"-I{Path(__file__).parents[1]}",
        f"-isystem{INCLUDE}",
        "-Og",
        "-Wextra",
        "-Wno-clobbered",
    ]
    library = shared_library(
        "".join(parts), tmp_path_factory.mktemp("warp") / "warp.so", [*options, "-U_FORTIFY_SOURCE"]
    )
    return Device(library)


SIZES = [1, 2, 3, 31, 32, 33, 50, 64, 65, 127, 256, 257, 993, 1024]
SHAPES = [(5, 7, 1), (8, 4, 2), (3, 5, 7), (1, 33, 1), (1, 1, 64), (16, 16, 4), (2, 3, 11)]


def values(ctype: str, count: int, seed: int = 0) -> np.ndarray:
    """Values of which sums are exact in every order."""
    random, dtype = np.random.default_rng([seed, count]), TYPES[ctype]
    if ctype in STRUCTS:
        return random.integers(0, 2**32, (count, *dtype.shape)).astype(dtype.base)
    if dtype.kind == "c":
        return (random.integers(-9, 10, count) + 1j * random.integers(-9, 10, count)).astype(dtype)
    return random.integers(-9, 10, count).astype(dtype)


def combine(ctype: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    if ctype == "Affine":
        return lambda a, b: a * b[:1] + b * np.array([0, 1], np.uint32)
    if ctype == "Matrix":
        return lambda a, b: (a.reshape(2, 2) @ b.reshape(2, 2)).ravel()
    return lambda a, b: (a + b).astype(TYPES[ctype])


def prefixes(ctype: str, x: np.ndarray) -> np.ndarray:
    if ctype in NUMBERS:
        return np.cumsum(x, dtype=x.dtype)
    return np.array(list(itertools.accumulate(x, combine(ctype))), x.dtype)


def shifted(x: np.ndarray, first: np.ndarray) -> np.ndarray:
    return np.concatenate([np.asarray(first, x.dtype)[None], x[:-1]])


def equal(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))


@pytest.mark.parametrize("ctype", TYPES)
def test_block_functions_by_any_operation_of_every_type_and_size(device, ctype):
    for number, size in enumerate(SIZES):
        x = values(ctype, size)
        run = partial(device, ctype=ctype, x=x, block=(size, 1, 1), schedule=number % 5)
        scan = prefixes(ctype, x)
        equal(run("block_reduce")[0], scan[-1])
        for name, expected in (("inclusive", scan), ("exclusive", shifted(scan, x[0]))):
            y, z, _ = run(f"block_{name}_scan")
            equal(y, expected)
            equal(z[:size], scan[-1])


@pytest.mark.parametrize("ctype", NUMBERS)
def test_block_sums_and_products_of_every_type_and_size(device, ctype):
    for number, size in enumerate(SIZES):
        x = values(ctype, size)
        run = partial(device, ctype=ctype, x=x, block=(size, 1, 1), schedule=number % 5)
        scan = prefixes(ctype, x)
        equal(run("block_sum")[0], x.sum(dtype=x.dtype))
        equal(run("sum_to")[0][0], x.sum(dtype=x.dtype))
        for name, expected in (("inclusive", scan), ("exclusive", shifted(scan, x[0] * 0))):
            y, z, _ = run(f"block_{name}_sum")
            equal(y, expected)
            equal(z[:size], scan[-1])
        factors = np.where(np.arange(size) % 101 == 7, 2, np.where(np.arange(size) % 3, 1, -1)).astype(x.dtype)
        equal(device("block_product", ctype, factors, block=(size, 1, 1))[0], factors.prod(dtype=x.dtype))


@pytest.mark.parametrize("ctype", REALS)
def test_block_minima_and_maxima_of_every_type_and_size(device, ctype):
    for number, size in enumerate(SIZES):
        x = values(ctype, size)
        run = partial(device, ctype=ctype, x=x, block=(size, 1, 1), schedule=number % 5)
        for name in ("min", "max"):
            equal(run(f"block_{name}")[0], getattr(x, name)())
            y, _, flags = run(f"block_arg{name}")
            equal(flags[:size], getattr(x, f"arg{name}")())
            equal(y, getattr(x, name)())


@pytest.mark.parametrize("ctype", ["int", "double", "Matrix"])
@pytest.mark.parametrize("block", SHAPES)
def test_blocks_of_three_dimensions_have_the_order_x_y_z(device, ctype, block):
    x = values(ctype, int(np.prod(block)))
    scan = prefixes(ctype, x)
    equal(device("block_inclusive_scan", ctype, x, block=block, schedule=3)[0], scan)
    equal(device("block_reduce", ctype, x, block=block, schedule=3)[0], scan[-1])


def test_block_sizes_with_one_call_right_after_another(device):
    for size in (*range(1, 100), *(32 * warps + more for warps in range(4, 32) for more in (-1, 0, 1)), 1023, 1024):
        x = values("double", size)
        y = device("mixed", "double", x, block=(size, 1, 1), schedule=size, per=8)[0].reshape(size, 8)
        scan = x.cumsum()
        expected = [scan[-1], x.max(), scan, shifted(scan, 0), x.min(), scan, x.argmax(), scan[-1]]
        equal(y, np.stack([np.broadcast_to(column, size) for column in expected], axis=1))
        assert device.library.passed_barriers() <= 3 * 8


@pytest.mark.parametrize("name", [*(f"block_{name}_scan" for name in ("inclusive", "exclusive")), "block_reduce"])
def test_at_most_three_barriers_a_call(device, name):
    device(name, "double", values("double", 200), block=(200, 1, 1))
    assert 1 <= device.library.passed_barriers() <= 3


def masks_of(mask: int, lanes: int = 32) -> np.ndarray:
    """Two groups: the lanes of the mask, and the others."""
    whole = (1 << lanes) - 1
    return np.array([mask if mask >> (lane % 32) & 1 else whole & ~mask for lane in range(1024)], np.uint32)


def groups(mask: int, lanes: int = 32) -> list[np.ndarray]:
    inside = (mask >> np.arange(lanes) & 1).astype(bool)
    return [np.flatnonzero(group) for group in (inside, ~inside) if group.any()]


MASKS = [
    *((1 << lanes) - 1 for lanes in range(1, 33)),
    *(1 << lane for lane in (0, 1, 15, 31)),
    *(0x0000FF00, 0xFFFF0000, 0x7FFFFFFE, 0x55555555, 0x80000001, 0x80000003, 0x11111111, 0x3, 0x7FFF7FFF, 0xDEADBEEF),
]


@pytest.mark.parametrize("ctype", TYPES)
def test_warp_functions_over_lanes_of_any_mask(device, ctype):
    x = values(ctype, 32)
    for number, mask in enumerate(MASKS):
        run = partial(device, ctype=ctype, x=x, block=(32, 1, 1), schedule=number % 5, masks=masks_of(mask))
        names = ["reduce", "inclusive_scan", "exclusive_scan"]
        found = {name: run(f"warp_{name}")[0] for name in names}
        if ctype in NUMBERS:
            found |= {name: run(f"warp_{name}")[0] for name in ("sum", "inclusive_sum", "exclusive_sum")}
        for group in groups(mask):
            scan = prefixes(ctype, x[group])
            equal(found["reduce"][group], scan[-1])
            equal(found["inclusive_scan"][group], scan)
            equal(found["exclusive_scan"][group], shifted(scan, x[0]))
            if ctype in NUMBERS:
                equal(found["sum"][group], scan[-1])
                equal(found["inclusive_sum"][group], scan)
                equal(found["exclusive_sum"][group], shifted(scan, x[0] * 0))


@pytest.mark.parametrize("ctype", REALS)
def test_warp_minima_and_maxima_over_lanes_of_any_mask(device, ctype):
    x = values(ctype, 32)
    for number, mask in enumerate(MASKS):
        run = partial(device, ctype=ctype, x=x, block=(32, 1, 1), schedule=number % 5, masks=masks_of(mask))
        product = run("warp_product")[0]
        for name in ("min", "max"):
            best, (y, _, flags) = run(f"warp_{name}")[0], run(f"warp_arg{name}")
            for group in groups(mask):
                equal(best[group], getattr(x[group], name)())
                equal(y[group], getattr(x[group], name)())
                equal(flags[:32][group], group[getattr(x[group], f"arg{name}")()])
                equal(product[group], x[group].prod(dtype=x.dtype))


@settings(deadline=None, max_examples=60)
@given(
    lanes=st.integers(1, 32),
    mask=st.integers(0, 2**32 - 1),
    schedule=st.integers(0, 100),
    ctype=st.sampled_from(["double", "Affine", "short"]),
)
def test_random_masks_in_partial_warps(device, lanes, mask, schedule, ctype):
    mask &= (1 << lanes) - 1
    x = values(ctype, lanes, schedule)
    run = partial(device, ctype=ctype, x=x, block=(lanes, 1, 1), schedule=schedule, masks=masks_of(mask, lanes))
    reduced, scanned = run("warp_reduce")[0], run("warp_inclusive_scan")[0]
    for group in groups(mask, lanes):
        scan = prefixes(ctype, x[group])
        equal(reduced[group], scan[-1])
        equal(scanned[group], scan)


@pytest.mark.parametrize("size", [1, 31, 64, 77, 256, 1000])
def test_votes(device, size):
    lanes = min(size % 32 or 32, size)
    for x in (values("double", size), np.ones(size), np.zeros(size)):
        last = np.full(1024, 0xFFFFFFFF, np.uint32)
        last[size - lanes :] = (1 << lanes) - 1
        flags = device("votes", "double", x, block=(size, 1, 1), masks=last)[2].reshape(size, 8)
        true = x > 0
        equal(flags[:, 0], true.any())
        equal(flags[:, 1], true.all())
        equal(flags[:, 2], true.sum())
        warps = [np.arange(size)[i : i + 32] for i in range(0, size, 32)]
        for warp in warps:
            equal(flags[warp, 3], true[warp].any())
            equal(flags[warp, 4], true[warp].all())
            equal(flags[warp, 5], true[warp].sum())
            equal(flags[warp, 6].view(np.uint32), (1 << len(warp)) - 1)
        equal(flags[:, 7], np.arange(size) % 32 + 100 * (np.arange(size) // 32) + 10000 * len(warps))


@pytest.mark.parametrize("ctype", ["float", "double"])
@pytest.mark.parametrize("places", [[0], [17], [40], [99], [3, 70], list(range(100))])
def test_nan_is_the_minimum_and_the_maximum_wherever_it_is(device, ctype, places):
    x = values(ctype, 100)
    x[places] = np.nan
    for schedule, name in itertools.product((0, 1, 2), ("min", "max")):
        run = partial(device, ctype=ctype, x=x, block=(100, 1, 1), schedule=schedule)
        equal(run(f"block_{name}")[0], np.nan)
        _, _, flags = run(f"block_arg{name}")
        equal(flags[:100], places[0])


@pytest.mark.parametrize("ctype", REALS)
def test_identities(device, ctype):
    dtype = TYPES[ctype]
    expected = [-np.inf, np.inf] if dtype.kind == "f" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    equal(device("limits", ctype, np.zeros(2), block=(2, 1, 1))[0], np.array(expected[::-1], dtype))


@pytest.mark.parametrize("ctype", ["int", "unsigned char", "double", "Affine", "Matrix"])
@pytest.mark.parametrize("size", [1, 20, 32, 100, 1000])
def test_segments(device, ctype, size):
    x = values(ctype, size)
    heads = np.random.default_rng(size).random(size) < 0.1
    run = partial(device, ctype=ctype, x=x, block=(size, 1, 1), schedule=2, flags=heads)
    parts = np.split(np.arange(size), np.flatnonzero(heads))
    scans = {part[0]: prefixes(ctype, x[part]) for part in parts if part.size}
    inclusive, exclusive = run("segmented_inclusive")[0], run("segmented_exclusive")[0]
    equal(inclusive, np.concatenate(list(scans.values())))
    equal(exclusive, np.concatenate([shifted(scan, x[0]) for scan in scans.values()]))
    if size <= 32:
        masks = np.full(1024, (1 << size) - 1, np.uint32)
        equal(run("warp_segmented_inclusive", masks=masks)[0], inclusive)
        equal(run("warp_segmented_exclusive", masks=masks)[0], exclusive)


@pytest.mark.parametrize("ctype", ["int", "unsigned char", "double", "std::complex<float>", "Affine", "Matrix"])
@pytest.mark.parametrize("size", [1, 20, 32, 100, 1000])
def test_several_items_a_thread(device, ctype, size):
    x = values(ctype, 3 * size)
    run = partial(device, ctype=ctype, x=x, block=(size, 1, 1), schedule=4, per=3)
    scan = prefixes(ctype, x)
    expected = {"items_inclusive": scan, "items_exclusive": shifted(scan, x[0])}
    if ctype in NUMBERS:
        expected |= {"items_inclusive_sum": scan, "items_exclusive_sum": shifted(scan, x[0] * 0)}
    for name, items in expected.items():
        y, z, _ = run(name)
        equal(y, items)
        equal(z[:size], scan[-1])


@pytest.mark.parametrize("ctype", ["short", "double", "Affine", "Matrix"])
@pytest.mark.parametrize("size", [1, 33, 100])
def test_only_the_first_threads_count(device, ctype, size):
    x = values(ctype, size)
    equal(device("counted", ctype, x, block=(size, 1, 1), schedule=3)[0], prefixes(ctype, x))


@pytest.mark.parametrize("ctype", ["short", "float", "double", "std::complex<double>", "Affine", "Matrix"])
@pytest.mark.parametrize(
    "shape", [((1, 1, 1), (1, 1, 1)), ((7, 1, 1), (4, 1, 1)), ((3, 5, 2), (32, 2, 1)), ((40, 1, 1), (33, 1, 1))]
)
def test_grid_reduction_in_every_order_of_blocks(device, ctype, shape):
    grid, block = shape
    blocks, threads = int(np.prod(grid)), int(np.prod(block))
    x = values(ctype, blocks * threads)
    expected = prefixes(ctype, x)[-1]
    for schedule in range(6):
        y, z, flags = device("grid_reduce", ctype, x, grid=grid, block=block, schedule=schedule)
        equal(y[0], expected)
        assert z.ravel().view(np.uint32)[25000] == 0
        last = flags[: blocks * threads].reshape(blocks, threads)
        assert last.sum() == threads
        assert last.all(axis=1).sum() == 1


def test_grid_reduction_gives_the_same_bits_in_every_order_of_blocks(device):
    x = np.random.default_rng(0).standard_normal(50 * 64)
    found = {
        device("grid_reduce", "double", x, grid=(50, 1, 1), block=(64, 1, 1), schedule=schedule)[0][0].tobytes()
        for schedule in range(8)
    }
    assert len(found) == 1
    np.testing.assert_allclose(np.frombuffer(found.pop()), x.sum(), rtol=1e-13)


def test_every_thread_gets_the_same_bits(device):
    x = np.random.default_rng(1).standard_normal(500)
    assert len(set(device("block_sum", "double", x, block=(500, 1, 1))[0].tolist())) == 1
    for mask in (0xFFFFFFFF, 0x0FFFFFF0, 0x5A5A5A5A):
        y = device("warp_sum", "double", x[:32], block=(32, 1, 1), masks=masks_of(mask))[0]
        for group in groups(mask):
            assert len(set(y[group].tolist())) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_barrier_in_half", "a mask names lanes that are not there .* names lanes 0x1 "),
        ("early_return", "a mask names lanes that are not there .* thread 0 has returned"),
        ("wrong_mask", "lanes of a warp wait for each other with different masks .* mask 0x7; .* mask 0xf"),
        ("foreign_mask", "does not name the calling lane"),
        ("foreign_lane", "lane 0 reads lane 2, which is not in the mask 0x3"),
    ],
)
def test_the_checking_mode_refuses_what_a_gpu_leaves_undefined(device, name, message):
    with pytest.raises(RuntimeError, match=message):
        device(name, "double", values("double", 64), block=(64, 1, 1))


def test_the_schedules_show_missing_barriers(device):
    x = np.ones(128)
    found = [device("no_second_barrier", "double", x, block=(128, 1, 1), schedule=schedule)[0] for schedule in range(5)]
    assert any((y != 128).any() for y in found)
