"""CUB's collectives of a block on the CPU device, against NumPy; NVRTC compiles the same kernels with NVIDIA's CUB."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_runtime import cpu_source

REDUCE = """
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
struct Larger { __device__ double operator()(double a, double b) const { return a > b ? a : b; } };
struct Running {
    double total;
    __device__ Running(double total) : total(total) {}
    __device__ double operator()(double sum) { double before = total; total += sum; return before; }
};
template <int X, int Y, cub::BlockReduceAlgorithm A, cub::BlockScanAlgorithm S>
__global__ void collect(const double* x, int valid, double* out, double* scans) {
    typedef cub::BlockReduce<double, X, A, Y> Reduce;
    typedef cub::BlockScan<double, X, S, Y> Scan;
    __shared__ union { typename Reduce::TempStorage reduce; typename Scan::TempStorage scan; } temp;
    int i = threadIdx.x + X * threadIdx.y, n = X * Y;
    double v = x[2 * i], two[2] = {x[2 * i], x[2 * i + 1]}, to[2], total, value;
    double r[5];
    r[0] = Reduce(temp.reduce).Sum(v); __syncthreads();
    r[1] = Reduce(temp.reduce).Reduce(v, Larger()); __syncthreads();
    r[2] = Reduce(temp.reduce).Sum(v, valid); __syncthreads();
    r[3] = Reduce(temp.reduce).Sum(two); __syncthreads();
    r[4] = Reduce(temp.reduce).Reduce(two, Larger()); __syncthreads();
    if (i == 0) for (int k = 0; k < 5; ++k) out[k] = r[k];
    double* o = scans + i;
    Scan(temp.scan).InclusiveSum(v, value); o[0] = value; __syncthreads();
    Scan(temp.scan).ExclusiveSum(v, value); o[n] = value; __syncthreads();
    Scan(temp.scan).InclusiveSum(v, value, total); o[2 * n] = value + total; __syncthreads();
    Scan(temp.scan).ExclusiveSum(v, value, total); o[3 * n] = value + total; __syncthreads();
    Scan(temp.scan).InclusiveScan(v, value, Larger()); o[4 * n] = value; __syncthreads();
    Scan(temp.scan).ExclusiveScan(v, value, 5.0, Larger()); o[5 * n] = value; __syncthreads();
    Scan(temp.scan).ExclusiveScan(v, value, 5.0, Larger(), total); o[6 * n] = value + total; __syncthreads();
    Running running(100);
    Scan(temp.scan).ExclusiveSum(v, value, running); o[7 * n] = value; __syncthreads();
    Scan(temp.scan).InclusiveSum(two, to); o[8 * n] = to[0], o[9 * n] = to[1]; __syncthreads();
    Scan(temp.scan).ExclusiveSum(two, to); o[10 * n] = to[0], o[11 * n] = to[1]; __syncthreads();
    Scan(temp.scan).ExclusiveSum(two, two, total); o[12 * n] = two[0], o[13 * n] = two[1] + total; __syncthreads();
    Scan(temp.scan).InclusiveScan(v, value, Larger(), total); o[14 * n] = value + total; __syncthreads();
    two[0] = v, two[1] = 1;
    Scan(temp.scan).InclusiveSum(two, to, running); o[15 * n] = to[0], o[16 * n] = to[1]; __syncthreads();
    if (i < 32) o[17 * n] = running.total;
    Scan(temp.scan).ExclusiveScan(two, to, 2.5, Larger()); o[18 * n] = to[0], o[19 * n] = to[1];
}
"""
SHAPES = [
    "collect<64, 1, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::BLOCK_SCAN_RAKING>",
    "collect<96, 1, cub::BLOCK_REDUCE_RAKING, cub::BLOCK_SCAN_RAKING_MEMOIZE>",
    "collect<16, 8, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, cub::BLOCK_SCAN_WARP_SCANS>",
]


@pytest.mark.parametrize(("name", "shape"), list(zip(SHAPES, [(64, 1), (96, 1), (16, 8)], strict=True)))
def test_reductions_and_scans_of_a_block(name, shape):
    n, rng = int(np.prod(shape)), np.random.default_rng(2)
    x = rng.integers(0, 50, 2 * n).astype(float)
    out, scans = np.zeros(5), np.zeros((20, n))
    cpu_source(REDUCE, *SHAPES, options=("-Wno-comment",))(name, 1, shape, x, np.int32(20), out, scans)
    v = x[::2]
    assert list(out) == [v.sum(), v.max(), v[:20].sum(), x.sum(), x.max()]
    before, running = np.concatenate([[0], np.cumsum(v)[:-1]]), np.cumsum(x)
    largest, exclusive = np.maximum.accumulate(v), np.maximum.accumulate(np.concatenate([[5.0], v[:-1]]))
    all_before = np.concatenate([[0], running[:-1]])
    expected = [np.cumsum(v), before, np.cumsum(v) + v.sum(), before + v.sum(), largest, exclusive]
    expected += [
        exclusive + max(v.max(), 5),
        before + 100,
        running[::2],
        running[1::2],
        all_before[::2],
        all_before[1::2],
    ]
    expected += [all_before[::2], all_before[1::2] + x.sum(), largest + v.max()]
    pairs = np.cumsum(np.stack([v, np.ones(n)], 1).ravel()) + 100 + v.sum()
    expected += [pairs[::2], pairs[1::2]]
    for k, row in enumerate(expected):
        assert np.array_equal(scans[k], row), k
    assert (scans[17, :32] == 100 + 2 * v.sum() + n).all()
    steps = np.maximum.accumulate(np.concatenate([[2.5], np.stack([v, np.ones(n)], 1).ravel()[:-1]]))
    assert np.array_equal(scans[18:].T.ravel(), steps)


WARPS = """
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
struct Larger { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };
template <int W>
__global__ void warps(const int* x, const int* flags, int valid, int* out) {
    typedef cub::WarpReduce<int, W> Reduce;
    typedef cub::WarpScan<int, W> Scan;
    __shared__ typename Reduce::TempStorage reduce[128 / W];
    __shared__ typename Scan::TempStorage scan[128 / W];
    int i = threadIdx.x, n = blockDim.x, w = i / W, v = x[i], a, b;
    int* o = out + i;
    o[0] = Reduce(reduce[w]).Sum(v), o[n] = Reduce(reduce[w]).Reduce(v, Larger());
    o[2 * n] = Reduce(reduce[w]).Sum(v, valid);
    o[3 * n] = Reduce(reduce[w]).HeadSegmentedSum(v, flags[i]);
    o[4 * n] = Reduce(reduce[w]).TailSegmentedSum(v, flags[i]);
    Scan(scan[w]).InclusiveSum(v, a), o[5 * n] = a;
    Scan(scan[w]).ExclusiveSum(v, a, b), o[6 * n] = a + b;
    Scan(scan[w]).InclusiveScan(v, a, Larger()), o[7 * n] = a;
    Scan(scan[w]).ExclusiveScan(v, a, 3, Larger()), o[8 * n] = a;
    o[9 * n] = Scan(scan[w]).Broadcast(v, W - 1);
}
"""
WIDTHS = (4, 8, 32)


@pytest.mark.parametrize("width", WIDTHS)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=64, max_size=64), st.integers(1, 4))
def test_logical_warps(width, rows, valid):
    x, flags = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    out = np.zeros((10, 64), np.int32)
    cpu_source(WARPS, *(f"warps<{w}>" for w in WIDTHS), options=("-Wno-comment",))(
        f"warps<{width}>", 1, 64, x, flags, np.int32(valid), out
    )
    for first in range(0, 64, width):
        v, f, o = x[first : first + width], flags[first : first + width], out[:, first : first + width]
        assert list(o[:3, 0]) == [v.sum(), v.max(), v[:valid].sum()]
        starts = [0, *(k for k in range(1, width) if f[k])]
        for start, end in zip(starts, [*starts[1:], width], strict=True):
            assert o[3, start] == v[start:end].sum()
        starts = [0, *(k + 1 for k in range(width - 1) if f[k])]
        for start, end in zip(starts, [*starts[1:], width], strict=True):
            assert o[4, start] == v[start:end].sum()
        before = np.cumsum(v) - v
        exclusive = np.maximum.accumulate(np.concatenate([[3], v[:-1]]))
        expected = [np.cumsum(v), before + v.sum(), np.maximum.accumulate(v), exclusive, np.full(width, v[-1])]
        assert np.array_equal(o[5:], expected)


MOVES = """
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__global__ void moves(const int* x, int end, int* out) {
    typedef cub::BlockLoad<int, 64, 4, L> Load;
    typedef cub::BlockStore<int, 64, 4, S> Store;
    typedef cub::BlockExchange<int, 64, 4> Exchange;
    __shared__ union {
        typename Load::TempStorage load; typename Store::TempStorage store; typename Exchange::TempStorage exchange;
    } temp;
    int items[4] = {-7, -7, -7, -7}, other[4], i = threadIdx.x;
    Load(temp.load).Load(x, items); __syncthreads();
    for (int k = 0; k < 4; ++k) out[4 * i + k] = items[k];
    Load(temp.load).Load(x, items, end, -1); __syncthreads();
    for (int k = 0; k < 4; ++k) out[256 + 4 * i + k] = items[k];
    Store(temp.store).Store(out + 512, items); __syncthreads();
    Store(temp.store).Store(out + 768, items, end); __syncthreads();
    for (int k = 0; k < 4; ++k) items[k] = 4 * i + k;
    Exchange(temp.exchange).BlockedToStriped(items, other); __syncthreads();
    for (int k = 0; k < 4; ++k) out[1024 + 4 * i + k] = other[k];
    Exchange(temp.exchange).StripedToBlocked(other); __syncthreads();
    for (int k = 0; k < 4; ++k) out[1280 + 4 * i + k] = other[k];
    Exchange(temp.exchange).BlockedToWarpStriped(items, other); __syncthreads();
    for (int k = 0; k < 4; ++k) out[1536 + 4 * i + k] = other[k];
    int ranks[4];
    for (int k = 0; k < 4; ++k) ranks[k] = 255 - (4 * i + k);
    Exchange(temp.exchange).ScatterToBlocked(items, ranks); __syncthreads();
    for (int k = 0; k < 4; ++k) out[1792 + 4 * i + k] = items[k];
}
template <cub::BlockHistogramAlgorithm A>
__global__ void counts(const unsigned char* x, unsigned* out) {
    typedef cub::BlockHistogram<unsigned char, 64, 4, 16, A> Histogram;
    __shared__ typename Histogram::TempStorage temp;
    __shared__ unsigned histogram[16];
    unsigned char items[4];
    for (int k = 0; k < 4; ++k) items[k] = x[4 * threadIdx.x + k];
    Histogram(temp).Histogram(items, histogram);
    __syncthreads();
    Histogram(temp).Composite(items, histogram);
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = histogram[threadIdx.x];
}
"""
LOADS = ("DIRECT", "STRIPED", "VECTORIZE", "TRANSPOSE", "WARP_TRANSPOSE", "WARP_TRANSPOSE_TIMESLICED")
MOVED = [f"moves<cub::BLOCK_LOAD_{a}, cub::BLOCK_STORE_{a}>" for a in LOADS]
COUNTED = [f"counts<cub::BLOCK_HISTO_{a}>" for a in ("SORT", "ATOMIC")]


@pytest.fixture(scope="module")
def moving():
    return cpu_source(MOVES, *MOVED, *COUNTED, options=("-Wno-comment",))


@pytest.mark.parametrize("algorithm", LOADS)
def test_loads_stores_and_exchanges(moving, algorithm):
    x = np.random.default_rng(1).integers(0, 1000, 256).astype(np.int32)
    out = np.full(2048, -9, np.int32)
    moving(f"moves<cub::BLOCK_LOAD_{algorithm}, cub::BLOCK_STORE_{algorithm}>", 1, 64, x, np.int32(101), out)
    table = out.reshape(8, 256)
    guarded = np.where(np.arange(256) < 101, x, -1)
    kept = np.where(np.arange(256) < 101, x, -9)
    striped = np.arange(256).reshape(4, 64).T.ravel()
    expected = [x, guarded] if algorithm != "STRIPED" else [x[striped], guarded[striped]]
    expected += [guarded, kept, striped, np.arange(256)]
    expected += [np.arange(256).reshape(2, 4, 32).transpose(0, 2, 1).ravel(), np.arange(256)[::-1]]
    for k, row in enumerate(expected):
        assert np.array_equal(table[k], row), k


@pytest.mark.parametrize("name", COUNTED)
def test_histograms(moving, name):
    x = np.random.default_rng(1).integers(0, 16, 256).astype(np.uint8)
    out = np.zeros(16, np.uint32)
    moving(name, 1, 64, x, out)
    assert np.array_equal(out, 2 * np.bincount(x, minlength=16))
