"""Cooperative groups on the CPU device, against what the CUDA guide defines, in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_runtime import cpu_source

TILES = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
struct Pair { double value; int index; int more; };
template <int N>
__global__ void tiles(const int* x, int argument, int* out, unsigned* votes, double* wide) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<N>(block);
    unsigned i = block.thread_rank(), n = block.size();
    int* o = out + i;
    o[0] = tile.thread_rank(), o[n] = tile.size(), o[2 * n] = tile.meta_group_rank(), o[3 * n] = tile.meta_group_size();
    o[4 * n] = tile.shfl(x[i], argument), o[5 * n] = tile.shfl_up(x[i], 1), o[6 * n] = tile.shfl_down(x[i], 1);
    o[7 * n] = tile.shfl_xor(x[i], argument & (N - 1));
    o[8 * n] = cg::reduce(tile, x[i], cg::plus<int>()), o[9 * n] = cg::reduce(tile, x[i], cg::less<int>());
    o[10 * n] = cg::reduce(tile, x[i], cg::greater<int>()), o[11 * n] = cg::reduce(tile, x[i], cg::bit_xor<int>());
    o[12 * n] = cg::inclusive_scan(tile, x[i]), o[13 * n] = cg::exclusive_scan(tile, x[i], cg::plus<int>());
    int alike;
    votes[i] = tile.ballot(x[i] & 1), votes[i + n] = tile.any(x[i] > 5), votes[i + 2 * n] = tile.all(x[i] > 1);
    votes[i + 3 * n] = tile.match_any(x[i] % 3), votes[i + 4 * n] = tile.match_all(x[i] / 100, alike);
    votes[i + 5 * n] = alike;
    Pair p = {x[i] * 0.5, (int)i, 7};
    Pair q = tile.shfl(p, 0);
    wide[i] = q.value + q.index;
    tile.sync();
}
"""
SIZES = (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("block", [(32,), (96,), (16, 4), (8, 4, 2)])
def test_tiles(size, block):
    n = int(np.prod(block))
    rng = np.random.default_rng(size)
    x = rng.integers(0, 12, n).astype(np.int32)
    out, votes, wide = np.zeros((14, n), np.int32), np.zeros((6, n), np.uint32), np.zeros(n)
    source = cpu_source(TILES, *(f"tiles<{each}>" for each in SIZES))
    source(f"tiles<{size}>", 1, block, x, np.int32(5), out, votes, wide)
    rows = x.reshape(-1, size)
    rank = np.broadcast_to(np.arange(size), rows.shape)
    number = np.broadcast_to(np.arange(n // size)[:, None], rows.shape)
    expected = [rank, np.full_like(rows, size), number, np.full_like(rows, n // size)]
    expected += [
        rows[:, [5 % size] * size],
        np.roll(rows, 1, 1),
        np.roll(rows, -1, 1),
        rows[:, rank[0] ^ (5 & (size - 1))],
    ]
    expected[5] = np.where(rank == 0, rows, expected[5])
    expected[6] = np.where(rank == size - 1, rows, expected[6])
    for op in (np.add, np.minimum, np.maximum, np.bitwise_xor):
        expected.append(np.broadcast_to(op.reduce(rows, 1)[:, None], rows.shape))
    expected += [np.cumsum(rows, 1), np.cumsum(rows, 1) - rows]
    for k, rows_expected in enumerate(expected):
        assert np.array_equal(out[k].reshape(-1, size), rows_expected), k
    weights = 1 << np.arange(size, dtype=np.uint64)

    def masks(flags):
        return np.broadcast_to((flags * weights).sum(1)[:, None], rows.shape)

    assert np.array_equal(votes[0].reshape(-1, size), masks(rows & 1))
    assert np.array_equal(votes[1].reshape(-1, size), np.broadcast_to((rows > 5).any(1)[:, None], rows.shape))
    assert np.array_equal(votes[2].reshape(-1, size), np.broadcast_to((rows > 1).all(1)[:, None], rows.shape))
    same = (rows[:, :, None] % 3 == rows[:, None, :] % 3) * weights
    assert np.array_equal(votes[3].reshape(-1, size), same.sum(2))
    assert (votes[4] == weights.sum()).all()
    assert (votes[5] == 1).all()
    assert np.array_equal(
        wide.reshape(-1, size), np.broadcast_to((rows * 0.5 + np.arange(n).reshape(rows.shape))[:, :1], rows.shape)
    )


GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__device__ int group_sum(cg::thread_group g, int* shared, int value) {
    unsigned rank = g.thread_rank();
    shared[rank] = value;
    g.sync();
    int total = 0;
    for (unsigned i = 0; i < g.size(); ++i) total += shared[i];
    g.sync();
    return total;
}
__global__ void groups(const int* x, int* out) {
    __shared__ int space[256];
    cg::thread_block block = cg::this_thread_block();
    unsigned i = block.thread_rank(), n = block.num_threads();
    out[i] = group_sum(block, space, x[i]);
    cg::thread_group four = cg::tiled_partition(block, 4);
    out[i + n] = group_sum(four, space + i / 4 * 4, x[i]);
    if (x[i] % 3 == 1) {
        cg::coalesced_group active = cg::coalesced_threads();
        out[i + 2 * n] = active.size(), out[i + 3 * n] = active.thread_rank();
        out[i + 4 * n] = active.shfl(x[i], 0), out[i + 5 * n] = active.shfl_down(x[i], 1);
        out[i + 6 * n] = cg::reduce(active, x[i], cg::plus<int>()), out[i + 7 * n] = active.ballot(x[i] > 4);
        out[i + 8 * n] = active.shfl_up(x[i], 2), out[i + 9 * n] = active.match_any(x[i]);
    }
    block.sync();
    auto warp = cg::tiled_partition<32>(block);
    auto odd = cg::binary_partition(warp, x[i] & 1);
    out[i + 10 * n] = odd.size(), out[i + 11 * n] = odd.thread_rank(), out[i + 12 * n] = odd.meta_group_rank();
    auto labels = cg::labeled_partition(warp, x[i] % 4);
    out[i + 13 * n] = labels.size(), out[i + 14 * n] = labels.thread_rank();
    auto nested = cg::tiled_partition<8>(warp);
    out[i + 15 * n] = nested.meta_group_rank(), out[i + 16 * n] = nested.thread_rank();
    auto alone = cg::this_thread();
    alone.sync();
    if (alone.size() != 1 || alone.thread_rank() != 0 || alone.meta_group_rank() != 0 || alone.meta_group_size() != 1 ||
        alone.shfl(x[i], 0) != x[i])
        out[i + 15 * n] = -1;
    out[i + 17 * n] = block.group_index().x * 100 + block.thread_index().x + block.dim_threads().x;
    cg::sync(block);
    // One atomic for all threads of the branch (warp-aggregated).
    if (x[i] > 6) {
        auto g = cg::coalesced_threads();
        int old = 0;
        if (g.thread_rank() == 0) old = atomicAdd(out + 18 * n, (int)g.size());
        out[18 * n + 1 + i] = g.shfl(old, 0) + g.thread_rank();
    }
}
"""


@given(st.lists(st.integers(0, 9), min_size=64, max_size=64))
def test_groups_of_threads_of_a_branch(values):
    n, x = 64, np.array(values, np.int32)
    out = np.full(19 * n + 1, -1, np.int32)
    out[18 * n] = 0
    cpu_source(GROUPS, "groups")("groups", 1, n, x, out)
    table = out[: 18 * n].reshape(18, n)
    assert (table[0] == x.sum()).all()
    assert np.array_equal(table[1], np.repeat(x.reshape(-1, 4).sum(1), 4))
    for i in range(n):
        warp = range(i // 32 * 32, i // 32 * 32 + 32)
        members = [j for j in warp if x[j] % 3 == 1]
        if x[i] % 3 == 1:
            rank, size = members.index(i), len(members)
            mine = [int(x[j]) for j in members]
            expected = [size, rank, mine[0], mine[rank + 1] if rank + 1 < size else mine[rank], sum(mine)]
            expected += [sum(1 << k for k, v in enumerate(mine) if v > 4), mine[rank - 2] if rank >= 2 else mine[rank]]
            expected += [sum(1 << k for k, v in enumerate(mine) if v == x[i])]
            assert list(table[2:10, i].astype(np.uint32)) == expected
        else:
            assert (table[2:10, i] == -1).all()
        same = [j for j in warp if x[j] % 2 == x[i] % 2]
        assert list(table[10:13, i]) == [len(same), same.index(i), x[i] % 2]
        labelled = [j for j in warp if x[j] % 4 == x[i] % 4]
        assert list(table[13:15, i]) == [len(labelled), labelled.index(i)]
        assert list(table[15:18, i]) == [i % 32 // 8, i % 8, i + 64]
    places = sorted(out[18 * n + 1 + i] for i in range(n) if x[i] > 6)
    assert places == list(range((x > 6).sum()))
    assert out[18 * n] == (x > 6).sum()


GRID = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void grid(int* out) {
    cg::grid_group g = cg::this_grid();
    out[g.thread_rank()] = (int)g.size() * 1000 + g.is_valid();
    g.sync();
    if (g.thread_rank() == 0) out[0] = (int)g.num_blocks();
}
"""


def test_a_grid_of_one_block_is_in_step_and_a_larger_one_needs_a_cooperative_launch():
    source, out = cpu_source(GRID, "grid"), np.zeros(40, np.int32)
    source("grid", 1, 40, out)
    assert list(out) == [1, *39 * [40001]]
    assert source.error("grid", 2, 20, out) == (
        "grid.sync() in a launch that is not cooperative (CudaKernel takes cooperative=True, CuPy "
        "enable_cooperative_groups=True), in block (0, 0, 0), "
        "thread (0, 0, 0)"
    )
