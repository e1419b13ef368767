"""The programs of CUDA's textbooks, in ``textbook/*.cu``, on the CPU device; NumPy and SciPy know the results."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.sparse
import scipy.sparse.csgraph

import cunumpy as xp
from cunumpy.kernels import CudaKernel, Kernel

FOLDER = Path(__file__).parent / "textbook"

SIZES = [1, 31, 32, 33, 255, 256, 257, 1000, 4099]


@functools.cache
def kernel(program: str, name: str, *template_args: Any, **settings: Any) -> Kernel:
    """Return a kernel of a program, to be run on NumPy arrays."""
    file = FOLDER / f"{program}.cu"
    return Kernel(None, CudaKernel.from_file(file, name, template_args=template_args or None, **settings))


def blocks(n: int, width: int) -> int:
    return max(1, -(-n // width))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.mark.parametrize("n", SIZES)
class TestReduction:
    @pytest.mark.parametrize("name", ["interleaved", "without_divergence", "sequential", "two_loads", "last_warp"])
    def test_sums_of_blocks(self, rng, name, n):
        x = rng.integers(-1000, 1000, n).astype(float)  # so that the order of the sum does not matter
        each = 512 if name == "two_loads" else 256
        sums = np.full(blocks(n, each), np.nan)
        kernel("reduction", name)(x, sums, n, grid=sums.size, block=256, shared_mem=256 * 8)
        np.testing.assert_array_equal(sums, np.add.reduceat(x, np.arange(0, n, each)))

    @pytest.mark.parametrize("grid", [1, 3])
    def test_sums_of_all(self, rng, n, grid):
        x = rng.integers(-1000, 1000, n).astype(float)
        total, sums, again = np.zeros(1), np.zeros(grid), np.zeros(1)
        kernel("reduction", "grid_stride")(x, total, n, grid=grid, block=128)
        for _ in range(2):  # the counter of blocks is back at 0
            kernel("reduction", "single_pass")(x, sums, again, n, grid=grid, block=128)
            assert total[0] == again[0] == x.sum()


@pytest.mark.parametrize("n", SIZES)
class TestScan:
    def test_of_one_block(self, rng, n):
        x = rng.integers(-100, 100, min(n, 256)).astype(np.int32)
        sums = np.zeros_like(x)
        kernel("scan", "hillis_steele")(x, sums, x.size, grid=1, block=256)
        np.testing.assert_array_equal(sums, np.cumsum(x))
        kernel("scan", "blelloch")(x, sums, x.size, grid=1, block=128, shared_mem=256 * 4)
        np.testing.assert_array_equal(sums, np.cumsum(x) - x)

    @pytest.mark.parametrize("dtype", ["float64", "int32"])
    def test_of_an_array(self, rng, n, dtype):
        x = rng.integers(-100, 100, n).astype(dtype)
        kind = {"float64": "double", "int32": "int"}[dtype]
        sums, totals, none = np.zeros_like(x), np.zeros(blocks(n, 64), dtype), np.zeros(1, dtype)
        scan, add = kernel("scan", "scan_blocks", kind), kernel("scan", "add_offsets", kind)
        scan(x, sums, totals, n, grid=totals.size, block=64)
        scan(totals, totals, none, totals.size, grid=1, block=1024)
        add(sums, totals, n, grid=totals.size, block=64)
        np.testing.assert_array_equal(sums, np.cumsum(x))


@pytest.mark.parametrize("name", ["global_counts", "private_counts"])
@pytest.mark.parametrize("n", SIZES)
def test_histogram(rng, name, n):
    text = rng.integers(0, 256, n).astype(np.uint8)
    counts = np.zeros(256, np.uint32)
    kernel("histogram", name)(text, counts, n, grid=blocks(n, 128), block=128)
    np.testing.assert_array_equal(counts, np.bincount(text, minlength=256))


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 5, 3), (16, 16, 16), (33, 17, 50), (16, 48, 15)])
@pytest.mark.parametrize("kind", [("naive", "double"), ("tiled", "double", "8"), ("tiled", "float", "16")])
def test_matrix_product(rng, shape, kind):
    rows, inner, columns = shape
    name, *template_args = kind
    dtype = {"double": np.float64, "float": np.float32}[template_args[0]]
    a, b = rng.random((rows, inner)).astype(dtype), rng.random((inner, columns)).astype(dtype)
    c = np.full((rows, columns), np.nan, dtype)
    side = int(template_args[1]) if len(template_args) > 1 else 16
    grid = blocks(columns, side), blocks(rows, side)
    kernel("matrix_product", name, *template_args)(a, b, c, rows, inner, columns, grid=grid, block=(side, side))
    np.testing.assert_allclose(c, a @ b, rtol=50 * np.finfo(dtype).eps)


class TestTranspose:
    @pytest.mark.parametrize("name", ["naive", "tiled"])
    @pytest.mark.parametrize("shape", [(1, 1), (32, 32), (31, 65), (100, 7)])
    def test_of_a_matrix(self, rng, name, shape):
        x = rng.random(shape).astype(np.float32)
        y = np.full(shape[::-1], np.nan, np.float32)
        grid = blocks(shape[1], 32), blocks(shape[0], 32) * (4 if name == "naive" else 1)
        kernel("transpose", name)(x, y, *shape, grid=grid, block=(32, 8))
        np.testing.assert_array_equal(y, x.T)

    def test_in_the_registers_of_a_warp(self, rng):
        x = rng.random((32, 32)).astype(np.float32)
        y = np.zeros_like(x)
        kernel("transpose", "in_registers")(x, y, grid=1, block=32)
        np.testing.assert_array_equal(y, x.T)


class TestStencil:
    @pytest.mark.parametrize("n", SIZES)
    def test_of_one_dimension(self, rng, n):
        x, y = rng.integers(0, 100, n).astype(float), np.zeros(n)
        kernel("stencil", "moving_sum")(x, y, n, grid=blocks(n, 128), block=128)
        np.testing.assert_array_equal(y, np.convolve(x, np.ones(7), "full")[3 : 3 + n])

    @pytest.mark.parametrize("shape", [(1, 1), (2, 5), (16, 16), (37, 53)])
    def test_of_two_dimensions(self, rng, shape):
        u, found = rng.random(shape), np.zeros(shape)
        expected = u.copy()
        expected[1:-1, 1:-1] = 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])
        grid = blocks(shape[1], 16), blocks(shape[0], 8)
        kernel("stencil", "jacobi")(u, found, shape[1], shape[0], grid=grid, block=(16, 8))
        np.testing.assert_allclose(found, expected, rtol=1e-15)

    @pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (9, 17, 33)])
    def test_of_three_dimensions(self, rng, shape):
        u, found = rng.integers(0, 9, shape).astype(np.float32), np.zeros(shape, np.float32)
        expected = sum(np.roll(u, step, axis) for axis in range(3) for step in (1, -1)) - 6 * u
        grid = blocks(shape[2], 16), blocks(shape[1], 8)
        kernel("stencil", "laplace")(u, found, *shape[::-1], grid=grid, block=(16, 8))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [1, 2, 64, 512, 4096])
def test_bitonic_sort(rng, size):
    keys = rng.integers(0, 2**32, size, dtype=np.uint32)
    expected, width = np.sort(keys), min(size, 256)
    if size <= 512:
        kernel("bitonic_sort", "sort_block")(keys, grid=1, block=size)
    else:
        length = 2
        while length <= size:
            distance = length // 2
            while distance > 0:
                kernel("bitonic_sort", "sort_step")(keys, length, distance, grid=size // width, block=width)
                distance //= 2
            length *= 2
    np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_n_body(rng, n):
    bodies = rng.random((n, 4), np.float32)
    found = np.zeros((n, 3), np.float32)
    kernel("n_body", "accelerations")(bodies, found, 0.01, n, grid=blocks(n, 64), block=64, shared_mem=64 * 16)
    offsets = (bodies[None, :, :3] - bodies[:, None, :3]).astype(float)
    distance = np.sqrt((offsets**2).sum(axis=2) + 0.01)
    expected = (bodies[None, :, 3:] * offsets / distance[:, :, None] ** 3).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 40, 257])
def test_sparse_product(rng, rows):
    matrix = scipy.sparse.random_array((rows, 90), density=0.3, rng=rng, format="csr")
    x, y = rng.random(90), np.full(rows, np.nan)
    csr = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
    kernel("sparse_product", "csr_scalar")(*csr, x, y, rows, n_threads=rows)
    np.testing.assert_allclose(y, matrix @ x, rtol=1e-13, atol=1e-15)
    y[:] = np.nan
    kernel("sparse_product", "csr_vector")(*csr, x, y, rows, n_threads=32 * rows)
    np.testing.assert_allclose(y, matrix @ x, rtol=1e-13, atol=1e-15)
    lengths = np.diff(matrix.indptr)
    columns = np.full((lengths.max(), rows), -1, np.int32)
    values = np.zeros((lengths.max(), rows))
    for row, length in enumerate(lengths):
        part = slice(matrix.indptr[row], matrix.indptr[row] + length)
        columns[:length, row], values[:length, row] = matrix.indices[part], matrix.data[part]
    y[:] = np.nan
    kernel("sparse_product", "ell")(columns, values, x, y, rows, columns.shape[0], n_threads=rows)
    np.testing.assert_allclose(y, matrix @ x, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["by_warps", "by_groups", "in_order"])
@pytest.mark.parametrize("n", SIZES)
def test_compaction(rng, name, n):
    x = rng.integers(-5, 5, n).astype(np.int32)
    kept, count = np.zeros(n, np.int32), np.zeros(1, np.int32 if name == "in_order" else np.uint32)
    kernel("compaction", name)(x, kept, count, n, grid=1 if name == "in_order" else blocks(n, 96), block=96)
    found = kept[: count[0]] if name == "in_order" else np.sort(kept[: count[0]])
    np.testing.assert_array_equal(found, x[x > 0] if name == "in_order" else np.sort(x[x > 0]))


@pytest.mark.parametrize("name", ["by_atomics", "by_blocks"])
@pytest.mark.parametrize("n", SIZES)
def test_deposition(rng, name, n):
    cells, dx = 20, 0.25
    x, charge, density = rng.random(n) * cells * dx, rng.random(n), np.zeros(cells)
    options = {"grid": 2} if name == "by_blocks" else {"n_threads": n}
    kernel("deposition", name)(x, charge, density, dx, cells, n, block=128, shared_mem=cells * 8, **options)
    left, share = np.floor(x / dx).astype(int), x / dx - np.floor(x / dx)
    expected = np.bincount(left % cells, charge * (1 - share), cells)
    expected += np.bincount((left + 1) % cells, charge * share, cells)
    np.testing.assert_allclose(density, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.needs("cunumpy.rng")
@pytest.mark.parametrize("grid", [1, 7])
def test_monte_carlo(grid):
    n, inside = 20_000, np.zeros(1, np.uint64)
    kernel("monte_carlo", "quarter")(5, inside, n, grid=grid, block=64)
    x, y = xp.rng.philox_uniform2(5, 0, np.arange(n))
    assert inside[0] == np.count_nonzero(x * x + y * y < 1.0)
    assert 4 * inside[0] / n == pytest.approx(np.pi, abs=0.05)


@pytest.mark.parametrize("shape", [(1, 1), (5, 40), (33, 31), (64, 64)])
def test_convolution(rng, shape):
    x = rng.random(shape, np.float32)
    between, found = np.zeros_like(x), np.zeros_like(x)
    grid = blocks(shape[1], 16), blocks(shape[0], 16)
    for name, (source, target) in {"rows": (x, between), "columns": (between, found)}.items():
        kernel("convolution", name)(source, target, *shape, grid=grid, block=(16, 16))
    weights = np.array([1, 4, 6, 4, 1]) / 16
    expected = scipy.signal.convolve2d(x.astype(float), np.outer(weights, weights), "same")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_pixels(rng):
    image = rng.integers(0, 256, (77, 4)).astype(np.uint8)
    found = np.zeros(77, np.uint8)
    kernel("pixels", "grey")(image, found, 77, n_threads=77)
    np.testing.assert_allclose(found, image[:, :3] @ [0.299, 0.587, 0.114], atol=0.5 + 1e-4)

    width, height, most = 60, 40, 100
    steps = np.zeros((height, width), np.int32)
    kernel("pixels", "mandelbrot")(steps, width, height, most, grid=(8, 5), block=(8, 8))
    x, y = np.zeros((height, width)), np.zeros((height, width))
    cx, cy = -2 + 3.0 * np.arange(width) / width, (-1.5 + 3.0 * np.arange(height) / height)[:, None]
    expected = np.zeros((height, width), int)
    for _ in range(most):
        inside = x * x + y * y <= 4.0
        expected += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2.0 * x * y + cy, y)
    assert (steps != expected).mean() < 0.01  # x*x + y*y may be contracted at the very edge
    assert len(np.unique(steps)) > 20


@pytest.mark.parametrize("stages", [1, 2, 5])
def test_shortest_paths(rng, stages):
    n = 16 * stages
    distance = rng.integers(1, 1000, (n, n)).astype(np.int32)
    distance[rng.random((n, n)) < 0.7] = 1_000_000
    np.fill_diagonal(distance, 0)
    expected = scipy.sparse.csgraph.floyd_warshall(np.where(distance == 1_000_000, np.inf, distance))
    for stage in range(stages):
        kernel("shortest_paths", "diagonal")(distance, n, stage, grid=1, block=(16, 16))
        kernel("shortest_paths", "cross")(distance, n, stage, grid=(stages, 2), block=(16, 16))
        kernel("shortest_paths", "others")(distance, n, stage, grid=(stages, stages), block=(16, 16))
    np.testing.assert_array_equal(distance, np.where(np.isinf(expected), 1_000_000, expected))


@pytest.mark.parametrize("size", [2, 8, 64, 512])
def test_fourier_transform(rng, size):
    x = (rng.standard_normal((3, size)) + 1j * rng.standard_normal((3, size))).astype(np.complex64)
    y = np.zeros_like(x)
    kernel("fourier_transform", "transform")(x, y, grid=3, block=size // 2, shared_mem=8 * size)
    np.testing.assert_allclose(y, np.fft.fft(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 100])
def test_tridiagonal_systems(rng, size):
    systems = 9
    a, c, d = rng.random((3, systems, size))
    b = 2.5 + rng.random((systems, size))
    x = np.zeros((systems, size))
    kernel("tridiagonal", "cyclic_reduction")(a, b, c, d, x, grid=systems, block=size, shared_mem=32 * size)
    matrix = np.zeros((systems, size, size))
    at = np.arange(size)
    matrix[:, at, at] = b
    matrix[:, at[1:], at[:-1]] = a[:, 1:]
    matrix[:, at[:-1], at[1:]] = c[:, :-1]
    expected = np.linalg.solve(matrix, d[..., None])[..., 0]
    np.testing.assert_allclose(x, expected, rtol=1e-12)
    by_element = [np.ascontiguousarray(one.T) for one in (a, b, c, d)]
    y = np.zeros((size, systems))
    kernel("tridiagonal", "thomas")(*by_element, y, size, systems, n_threads=systems)
    np.testing.assert_allclose(y.T, expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 100, 256])
def test_radix_sort(rng, n):
    keys = rng.integers(0, 2**32, n, dtype=np.uint32)
    expected = np.sort(keys)
    kernel("radix_sort", "sort_by_bits")(keys, n, grid=1, block=256)
    np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("n", SIZES)
def test_groups(rng, n):
    x = rng.integers(-100, 100, n).astype(np.int32)
    padded = np.zeros(blocks(n, 64) * 64, np.int64)
    padded[:n] = x
    tiles, totals = np.zeros(padded.size // 8, np.int32), np.zeros(padded.size // 64, np.int32)
    kernel("groups", "sums_of_tiles")(x, tiles, totals, n, grid=totals.size, block=64)
    np.testing.assert_array_equal(tiles, padded.reshape(-1, 8).sum(axis=1))
    np.testing.assert_array_equal(totals, padded.reshape(-1, 64).sum(axis=1))
