"""Each function and macro of the shipped CUDA headers in a kernel on the CPU device, through the public path.

``headers/*.cu`` has a source for each header, whose kernels call all that it declares. What the functions do with other
types, sizes and masks is tested in `tests/cunumpy-cuda`.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import numpy as np
import pytest

import key_definitions
import philox_reference
from cunumpy.cuda import cuda_debug
from cunumpy.errors import KernelError
from cunumpy.kernels import CudaKernel, Kernel
from header_declarations import HEADERS, declared

FOLDER = Path(__file__).parent / "headers"


@functools.cache
def kernel(header: str, name: str) -> Kernel:
    return Kernel(None, CudaKernel.from_file(FOLDER / f"{header}.cu", name))


def code(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


@pytest.mark.parametrize("header", HEADERS)
def test_a_source_names_all_that_its_header_declares(header):
    names = {re.findall(r"\w+(?=\()|CUNUMPY_\w+", line)[0] for line in declared(HEADERS[header])}
    called = set(re.findall(r"\w+", code((FOLDER / f"{header}.cu").read_text())))
    assert not names - called - {"operator"}


def test_index():
    extents = 40, 7, 5
    visits = np.zeros((10, 1400), np.int32)
    kernel("index", "visits")(visits, 1400, *extents, grid=(3, 4, 3), block=(16, 2, 2))
    y, z = 8, 6  # threads on these axes
    expected = np.zeros_like(visits)
    for row, ndim in enumerate((1, 2, 3, 1, 1, 2, 3, 1, 2, 3)):
        expected[row, : np.prod(extents[:ndim])] = {1: y * z, 2: z, 3: 1}[ndim]
    np.testing.assert_array_equal(visits, expected)
    few = np.zeros_like(visits)  # threads: loops go on
    kernel("index", "visits")(few, 1400, *extents, grid=(2, 1, 2), block=(3, 2, 1))
    expected[3:] = np.where(expected[3:] == y * z, 4, np.where(expected[3:] == z, 2, expected[3:]))
    np.testing.assert_array_equal(few[3:], expected[3:])


def test_places():
    grid, block = (5, 2, 3), (5, 4, 1)
    out, unravelled = np.full((600, 9), -1), np.full((600, 13), -1)
    kernel("index", "places")(out, unravelled, grid=grid, block=block)
    place = np.arange(600)
    z, y, x = np.unravel_index(place, (3, 8, 25))
    ones = np.ones_like(place)
    expected = [x, y, z, 25 * ones, 8 * ones, 3 * ones, x % 5 + 5 * (y % 4), 20 * ones, place]
    np.testing.assert_array_equal(out, np.transpose(expected))
    two, three = np.unravel_index(place, (50, 12)), np.unravel_index(place, (50, 4, 3))
    np.testing.assert_array_equal(unravelled, np.transpose([*two, *two, *three, *three, *three]))


def test_array_view():
    a = np.arange(1.0, 49).reshape(2, 3, 8)[:, ::-1, ::2]
    c = 100 + np.arange(24.0).reshape(2, 3, 4)
    out = np.zeros(53)
    expected = []
    for values in (a, c, a, c):
        last = values[1, 2, 3]
        expected += [24, last, last, last, last, values.flat[23], *[last] * 3, *[last] * 3]
    expected += [1, 1, *[c[1, 2, 3]] * 3]
    kernel("array_view", "views")(a, c, out, grid=1, block=1)
    np.testing.assert_array_equal(out, expected)
    assert (a[0, 0, 0], c[0, 0, 0]) == (-1, -2)


@pytest.mark.parametrize("way", [0, 1, 2])
def test_array_view_checks(way):
    stops = kernel("array_view", "stops")
    with cuda_debug():
        stops(way, 2, grid=1, block=1)
        with pytest.raises(KernelError, match="stops"):
            stops(way, 3, grid=1, block=1)
    if way < 2:
        stops(way, 3, grid=1, block=1)


def test_atomic():
    n = 700
    x, i = np.random.default_rng(1).integers(-9, 10, n).astype(float), np.arange(n)
    total, narrow, plane, space = np.zeros(1), np.zeros(3, np.int16), np.zeros((2, 3)), np.zeros((5, 2, 3))
    view, pair, wide = np.zeros((2, 6), np.float32)[:, ::2], np.zeros((1, 2), np.float32), np.zeros((1, 2))
    kernel("atomic", "sums")(x, n, total, narrow, plane, space, view, pair, wide, grid=6, block=128)
    expected = np.zeros((5, 2, 3))
    np.add.at(expected, (i % 5, i % 2, i % 3), x)
    np.testing.assert_array_equal(space, expected)
    np.testing.assert_array_equal(plane, expected.sum(0))
    np.testing.assert_array_equal(view, expected.sum(0))
    np.testing.assert_array_equal([total[0], pair[0, 0], wide[0, 1]], x.sum())
    np.testing.assert_array_equal([pair[0, 1], wide[0, 0]], n)
    np.testing.assert_array_equal(narrow, [0, x.sum(), 0])

    extrema, narrow, bits = np.zeros(2), np.zeros(2, np.int16), np.zeros(1, np.uint16)
    last, handed = np.full(1, -1, np.float32), np.zeros(n, np.float32)
    count, seen = np.zeros(1, np.uint8), np.zeros(n, np.uint8)
    kernel("atomic", "others")(x, n, extrema, narrow, bits, last, handed, count, seen, grid=6, block=128)
    np.testing.assert_array_equal(extrema, [x.min(), x.max()])
    np.testing.assert_array_equal(narrow, [x.min(), x.max()])
    assert bits[0] == np.bitwise_xor.reduce((i * 257).astype(np.uint16))
    np.testing.assert_array_equal(np.sort([*handed, *last]), np.arange(-1, n))
    assert count[0] == n % 256
    np.testing.assert_array_equal(np.sort(seen), np.sort(i % 256))


MASKS = [0xFFFFFFFF, 0x1, 0x80000000, 0x0FF0A5A5]


def lanes_of(mask: int) -> np.ndarray:
    return np.flatnonzero(mask >> np.arange(32) & 1)


@pytest.mark.parametrize("mask", MASKS)
def test_portability(mask):
    out, shuffled, lanes = np.full((32, 6), -7, np.int32), np.full((32, 3), -7.0), lanes_of(mask)
    kernel("portability", "lanes")(mask, out, shuffled, grid=1, block=32)
    voted = np.uint32(sum(1 << int(lane) for lane in lanes if lane % 3 == 0)).astype(np.int32)
    expected, last = np.full_like(out, -7), lanes[-1]
    expected[lanes] = [voted, lanes[0], last, lanes.size, 32, 1]
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(shuffled[lanes], np.tile([last + 0.5, 2.0 * last, -1.0 * last], (lanes.size, 1)))


@pytest.mark.parametrize("mask", MASKS)
def test_reduce(mask):
    width, n = 96, 288
    x = np.random.default_rng(2).integers(-9, 10, n).astype(float)
    results, lanes, total, whole = np.full((31, n), np.nan), lanes_of(mask), np.zeros(1), np.zeros(1)
    partials, counter = np.zeros(3), np.zeros(1, np.uint32)
    run = kernel("reduce", "reductions")
    for _ in range(2):  # the counter of blocks is back at 0
        run(x, mask, n, results, total, partials, counter, whole, grid=3, block=width)
    assert (total[0], whole[0]) == (2 * x.sum(), x.sum())

    def in_groups(size: int, of: np.ndarray, function) -> np.ndarray:
        groups, places = x.reshape(-1, size)[:, of], np.arange(n).reshape(-1, size)[:, of]
        return np.repeat([function(g, p) for g, p in zip(groups, places, strict=True)], size)

    functions = [
        lambda g, p: g.sum(),
        lambda g, p: 2.0 ** (g > 4).sum(),
        lambda g, p: g.min(),
        lambda g, p: g.max(),
        lambda g, p: g[0],
        lambda g, p: g[:40].sum(),
        lambda g, p: p[g.argmin()],
        lambda g, p: p[g.argmax()],
    ]
    votes = [lambda g, p: (g > 8).any(), lambda g, p: (g > -8).all(), lambda g, p: (g > 0).sum()]
    warp_votes = [lambda g, p: (g > 6).any(), lambda g, p: (g > -6).all(), votes[2]]
    expected = [in_groups(width, np.arange(width), one) for one in functions + votes]
    i, w = np.arange(n), x[::-1]
    expected += [np.full(n, 0xFFFFFFFF), 30000 + i % width // 32 * 100 + i % 32]
    expected += [x + w, x * w, np.minimum(x, w), np.maximum(x, w), np.minimum(x, x[0]), np.maximum(x, x[0])]
    expected += [
        np.where((w < x) | ((w == x) & (i > i[::-1])), i[::-1], i),
        np.where((w > x) | ((w == x) & (i > i[::-1])), i[::-1], i),
    ]
    np.testing.assert_array_equal(results[:21], expected)
    inside = np.isin(i % 32, lanes)
    warp = [in_groups(32, lanes, one) for one in (*functions[:5], *functions[6:], *warp_votes)]
    np.testing.assert_array_equal(results[21:], np.where(inside, warp, np.nan))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("n", [32, 96])
def test_scan(mask, n):
    rng = np.random.default_rng(3)
    x, heads, lanes = rng.integers(-9, 10, n).astype(float), rng.random(n) < 0.2, lanes_of(mask)
    results = np.full((55, n), np.nan)
    kernel("scan", "scans")(x, heads, mask, results, grid=1, block=n)

    def segmented(values: np.ndarray, heads: np.ndarray) -> np.ndarray:
        parts = np.split(values, np.flatnonzero(heads))
        return np.concatenate([part.cumsum() for part in parts])

    total, inclusive, exclusive = np.full(n, x.sum()), x.cumsum(), x.cumsum() - x
    both = [inclusive, inclusive, total, exclusive, exclusive, total]
    expected = [*both, inclusive, exclusive, total, *both, segmented(x, heads), segmented(x, heads) - x]
    items = np.outer(x, [1, 2, 3])
    for way in range(8):
        scanned = items.cumsum().reshape(n, 3) - (items if way > 3 else 0)
        expected += [*scanned.T, 6 * total if way % 2 else 0 * total]
    np.testing.assert_array_equal(results[:49], expected)
    warps = [lanes + first for first in range(0, n, 32)]
    warp = np.full((6, n), np.nan)
    for at in warps:
        sums, parts = x[at].cumsum(), segmented(x[at], heads[at])
        warp[:, at] = [sums, sums - x[at], sums, sums - x[at], parts, parts - x[at]]
    np.testing.assert_array_equal(results[49:], warp)


SEED, STREAM = 0x123456789ABCDEF0, 0xFEDCBA9876543210


def test_random_bits():
    n, bound = 100, 3 << 62
    rows = np.zeros((16, n), np.uint64)
    kernel("random", "bits")(SEED, STREAM, bound, n, rows, grid=2, block=64)
    for i, found in enumerate(rows.T.tolist()):
        counter = 3 << 48 | i
        first, second = philox_reference.bounded(SEED, STREAM, counter, bound)
        words = philox_reference.words(SEED, STREAM, counter)
        product = (SEED * i % 2**64) * (2**64 - 1 - STREAM) >> 64
        constants = [0xD2511F53CD9E8D57, 0x9E3779B9BB67AE85]
        assert found == [counter, *words, *words, first, first, second, second, product, *constants]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_random_numbers(dtype):
    n, wide = 100, dtype == "float64"
    rows = np.zeros((16 if wide else 22, n), dtype)
    kernel("random", "doubles" if wide else "floats")(SEED, STREAM, n, rows, grid=2, block=64)
    if wide:
        u = np.array([philox_reference.uniforms(SEED, STREAM, i) for i in range(n)]).T
    else:
        words = np.array([philox_reference.words(SEED, STREAM, i) for i in range(n)], np.uint32).T
        u = (words >> 8) * 2.0**-24
    pairs = u.reshape(-1, 2, n)
    radius, angle = np.sqrt(-2 * np.log1p(-pairs[:, 0])), 2 * np.pi * pairs[:, 1]
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(u.shape)
    exponential, x = -np.log1p(-u), np.arange(n)
    expected = [u[:1], u, u[-1:], *([normal[:1], normal, normal] if wide else [normal[-2:], normal[:1], normal])]
    expected += [exponential[:1], exponential, [np.sin(0.1 * x), np.cos(0.1 * x), np.cos(0.1 * x), np.log(1.0 + x)]]
    exact = 1 + len(u) + 1
    np.testing.assert_array_equal(rows[:exact], np.concatenate(expected)[:exact])
    np.testing.assert_allclose(
        rows, np.concatenate(expected), rtol=1e-12 if wide else 2e-5, atol=1e-14 if wide else 2e-6
    )


def cells(levels: int, n: int) -> list[np.ndarray]:
    return list(np.random.default_rng(levels).integers(0, 2**levels, (3, n), np.uint64))


def test_morton_keys_of_cells():
    n, levels = 100, 10
    x, y, z = cells(levels, n)
    rows = np.zeros((23, n), np.uint64)
    kernel("morton", "morton")(x, y, z, n, rows, grid=2, block=64)
    two = [key_definitions.morton(cell) for cell in zip(x.tolist(), y.tolist(), strict=True)]
    three = [key_definitions.morton(cell) for cell in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    limits = np.full(n, 32 << 24 | 21 << 16 | 16 << 8 | 10)
    np.testing.assert_array_equal(rows, [two, three] * 4 + [x, y, x, y, z] * 2 + [x] * 4 + [limits])


@pytest.mark.parametrize("levels", [1, 7, 10])
def test_hilbert_keys_of_cells(levels):
    n = 100
    x, y, z = cells(levels, n)
    rows = np.zeros((24, n), np.uint64)
    kernel("morton", "hilbert")(x, y, z, levels, n, rows, grid=2, block=64)
    two = [key_definitions.hilbert(cell, levels) for cell in zip(x.tolist(), y.tolist(), strict=True)]
    three = [key_definitions.hilbert(cell, levels) for cell in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    expected = [two, three, two, three, two, x, y, three, x, y, z, *[x, y, x, y, z] * 2]
    parity = [sum((v >> above).bit_count() % 2 << above - 1 for above in range(1, 33)) for v in x.tolist()]
    inverted = [(b << 32 | (a ^ 31)) if b >> 5 & 1 else ((b & ~31 | a & 31) << 32 | (a & ~31 | b & 31))
                for a, b in zip(x.tolist(), y.tolist(), strict=True)]  # fmt: skip
    clipped = np.clip(levels + np.arange(n) - n // 2, 0, 10)
    np.testing.assert_array_equal(rows, [*expected, parity, inverted, clipped])


def test_keys_of_points():
    n, levels, lower, scale = 100, 9, -1.0, 2**9 / 3
    points = np.random.default_rng(5).uniform(-1.5, 2.5, (3, n))
    points[:, :3] = np.nan, np.inf, -np.inf
    rows, clipped = np.zeros((9, n), np.uint64), np.zeros(n)
    kernel("morton", "points")(*points, lower, scale, levels, n, rows, clipped, grid=2, block=64)
    inside = [[key_definitions.cell(x, lower, scale, levels) for x in axis] for axis in points]
    expected = [inside[0]]
    for key in (lambda cell: key_definitions.morton(cell), lambda cell: key_definitions.hilbert(cell, levels)):
        expected += [[key(cell) for cell in zip(*axes, strict=True)] for axes in (inside[:2], inside) * 2]
    np.testing.assert_array_equal(rows, expected)
    scaled = np.nan_to_num((points[0] - lower) * scale, nan=0, posinf=np.inf, neginf=-np.inf)
    np.testing.assert_array_equal(clipped, np.clip(scaled, 0, 511))
