"""Barriers and warps on the CPU device, against what the CUDA guide and the PTX manual define."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_runtime import cpu_source

WARP = 32
ALL = 0xFFFFFFFF

SHUFFLES = """
template <class T>
__global__ void shuffles(const T* x, const unsigned* masks, const int* argument, int width, T* out, unsigned n) {
    unsigned i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned mask = masks[i % 32];
    if (!(mask >> (i % 32) & 1)) return;
    out[i] = __shfl_sync(mask, x[i], argument[i], width);
    out[i + n] = __shfl_up_sync(mask, x[i], (unsigned)argument[i], width);
    out[i + 2 * n] = __shfl_down_sync(mask, x[i], (unsigned)argument[i], width);
    out[i + 3 * n] = __shfl_xor_sync(mask, x[i], argument[i], width);
}
"""

TYPES = {
    "int": np.int32,
    "unsigned int": np.uint32,
    "long": np.int64,
    "unsigned long": np.uint64,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}


def shuffle_source(kind, lane, argument, width):
    """Return the lane that is read (PTX manual, shfl.sync), and whether it is in range."""
    segment, argument = (WARP - width) & 31, argument & 31
    clamp = 0 if kind == "up" else 31
    last = (lane & segment) | (clamp & ~segment & 31)
    first = lane & segment
    if kind == "idx":
        source = first | (argument & ~segment & 31)
        inside = source <= last
    elif kind == "up":
        source = lane - argument
        inside = source >= last
    elif kind == "down":
        source = lane + argument
        inside = source <= last
    else:
        source = lane ^ argument
        inside = source <= last
    return source if inside else lane


@pytest.mark.parametrize("name", TYPES)
def test_shuffles_of_all_types(name):
    source = cpu_source(SHUFFLES, *(f"shuffles<{each}>" for each in TYPES), checked=False)
    rng = np.random.default_rng(len(name))
    for width in (1, 2, 4, 8, 16, 32):
        for threads in ((1,), (31,), (32,), (40, 5), (8, 4, 3)):
            n = int(np.prod(threads))
            x = rng.integers(0, 2**31, n).astype(TYPES[name]) * (2**31 + 1 if "long" in name else 1)
            argument = rng.integers(-40, 80, n).astype(np.int32)
            masks = np.full(32, ALL, np.uint32)
            out = np.zeros(4 * n, TYPES[name])
            source(f"shuffles<{name}>", 1, threads, x, masks, argument, np.int32(width), out, np.uint32(n))
            for number, kind in enumerate(("idx", "up", "down", "xor")):
                for i in range(n):
                    lane = shuffle_source(kind, i % WARP, int(argument[i]), width) + i // WARP * WARP
                    # A lane that the block does not have: undefined in CUDA, the own value here.
                    assert out[i + number * n] == x[lane if lane < n else i]


@given(st.lists(st.integers(0, 3), min_size=32, max_size=32), st.sampled_from([2, 8, 32]), st.integers(0, 31))
def test_groups_of_lanes_shuffle_apart(groups, width, argument):
    source = cpu_source(SHUFFLES, *(f"shuffles<{each}>" for each in TYPES), checked=False)
    masks = np.array([sum(1 << j for j in range(32) if groups[j] == g) if g else 0 for g in groups], np.uint32)
    x = np.arange(64, dtype=np.int32) + 1000
    out = np.full(256, -1, np.int32)
    source("shuffles<int>", 1, 64, x, masks, np.full(64, argument, np.int32), np.int32(width), out, np.uint32(64))
    for number, kind in enumerate(("idx", "up", "down", "xor")):
        for i in range(64):
            lane = shuffle_source(kind, i % WARP, argument, width)
            if groups[i % WARP] == 0:
                assert out[i + 64 * number] == -1
            elif groups[lane] == groups[i % WARP]:
                assert out[i + 64 * number] == x[i // 32 * 32 + lane]
            else:  # undefined in CUDA
                assert out[i + 64 * number] == x[i]


VOTES = """
__global__ void votes(const int* predicate, const unsigned* masks, unsigned* out) {
    unsigned i = threadIdx.x, n = blockDim.x, mask = masks[i % 32];
    if (!(mask >> (i % 32) & 1)) return;
    out[i] = __ballot_sync(mask, predicate[i]);
    out[i + n] = (unsigned)__any_sync(mask, predicate[i]);
    out[i + 2 * n] = (unsigned)__all_sync(mask, predicate[i]);
    out[i + 3 * n] = (unsigned)__uni_sync(mask, predicate[i]);
    __syncwarp(mask);
}
template <class T>
__global__ void matches(const T* x, const unsigned* masks, unsigned* out, int* all) {
    unsigned i = threadIdx.x, n = blockDim.x, mask = masks[i % 32];
    if (!(mask >> (i % 32) & 1)) return;
    out[i] = __match_any_sync(mask, x[i]);
    out[i + n] = __match_all_sync(mask, x[i], &all[i]);
}
__global__ void reductions(const int* x, const unsigned* masks, unsigned* out) {
    unsigned i = threadIdx.x, n = blockDim.x, mask = masks[i % 32];
    if (!(mask >> (i % 32) & 1)) return;
    out[i] = __reduce_add_sync(mask, (unsigned)x[i]);
    out[i + n] = (unsigned)__reduce_add_sync(mask, x[i]);
    out[i + 2 * n] = __reduce_min_sync(mask, (unsigned)x[i]);
    out[i + 3 * n] = (unsigned)__reduce_min_sync(mask, x[i]);
    out[i + 4 * n] = __reduce_max_sync(mask, (unsigned)x[i]);
    out[i + 5 * n] = (unsigned)__reduce_max_sync(mask, x[i]);
    out[i + 6 * n] = __reduce_and_sync(mask, (unsigned)x[i]);
    out[i + 7 * n] = __reduce_or_sync(mask, (unsigned)x[i]);
    out[i + 8 * n] = __reduce_xor_sync(mask, (unsigned)x[i]);
}
"""
MATCHED = ("int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long", "float", "double")


def votes():
    kernels = ("votes", "reductions", *(f"matches<{each}>" for each in MATCHED))
    return cpu_source(VOTES, *kernels, checked=False)  # masks name lanes that are not there


def lanes_of(groups, i, threads):
    """Return the lanes of a group that exist in the warp of thread i, as thread numbers."""
    first = i // WARP * WARP
    return [j for j in range(first, min(first + WARP, threads)) if groups[j % WARP] == groups[i % WARP]]


def masks_of(groups):
    return np.array([sum(1 << j for j in range(32) if groups[j] == g) if g else 0 for g in groups], np.uint32)


@given(
    st.lists(st.integers(0, 3), min_size=32, max_size=32),
    st.integers(1, 70),
    st.integers(0, 2**63),
    st.sampled_from(MATCHED),
)
def test_votes_matches_and_reductions(groups, threads, seed, name):
    rng = np.random.default_rng(seed)
    source, masks = votes(), masks_of(groups)
    predicate = rng.integers(0, 2, threads).astype(np.int32) * rng.integers(-3, 4, threads).astype(np.int32)
    out = np.full((4, threads), 77, np.uint32)
    source("votes", 1, threads, predicate, masks, out)
    x = rng.integers(0, 3, threads).astype(TYPES[name])
    same = np.full((2, threads), 77, np.uint32)
    every = np.full(threads, 77, np.int32)
    source(f"matches<{name}>", 1, threads, x, masks, same, every)
    values = rng.integers(-(2**31), 2**31, threads).astype(np.int32)
    reduced = np.full((9, threads), 77, np.uint32)
    source("reductions", 1, threads, values, masks, reduced)
    for i in range(threads):
        if groups[i % WARP] == 0:
            assert (out[:, i] == 77).all()
            continue
        lanes = lanes_of(groups, i, threads)
        ballot = sum(1 << j % WARP for j in lanes if predicate[j])
        true = [bool(predicate[j]) for j in lanes]
        assert list(out[:, i]) == [ballot, any(true), all(true), len(set(true)) == 1]
        assert same[0, i] == sum(1 << j % WARP for j in lanes if x[j] == x[i])
        alike = len({x[j] for j in lanes}) == 1
        assert (same[1, i], every[i]) == (sum(1 << j % WARP for j in lanes) if alike else 0, int(alike))
        signed = [int(values[j]) for j in lanes]
        unsigned = [v % 2**32 for v in signed]
        expected = [sum(unsigned), sum(signed), min(unsigned), min(signed), max(unsigned), max(signed)]
        expected += [
            int(op.reduce(np.array(unsigned, np.uint32))) for op in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
        ]
        assert [int(v) for v in reduced[:, i]] == [v % 2**32 for v in expected]


BARRIERS = """
__global__ void counted(const int* x, int rounds, int* out) {
    unsigned i = threadIdx.x, n = blockDim.x;
    int* mine = out + blockIdx.x * 3 * n;
    for (int r = 0; r < rounds; ++r) {
        if ((int)i < r) return;  // who has returned is not waited for
        mine[i] = __syncthreads_count(x[i]);
        mine[i + n] = __syncthreads_and(x[i]);
        mine[i + 2 * n] = __syncthreads_or(x[i]);
        __syncthreads();
    }
}
__global__ void block_sum(const double* x, double* out) {
    extern __shared__ double partial[];
    unsigned t = threadIdx.x;
    partial[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 0; d >>= 1) {
        if (t < d) partial[t] += partial[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}
__global__ void indices(unsigned* out) {
    unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned* mine = out + 6 * (t + blockDim.x * blockDim.y * blockDim.z * b);
    for (int round = 0; round < 3; ++round) {
        mine[0] = threadIdx.x, mine[1] = threadIdx.y, mine[2] = threadIdx.z;
        __syncthreads();
        mine[3] = blockIdx.x, mine[4] = blockIdx.y, mine[5] = blockIdx.z;
        __syncwarp();
    }
}
"""


def barriers():
    kernels = ("counted", "block_sum", "indices")
    return cpu_source(BARRIERS, *kernels, checked=False)  # threads return, and warps are not full


@given(st.lists(st.sampled_from([0, 0, 1, -5, 256]), min_size=1, max_size=80), st.integers(1, 4))
def test_barriers_count_those_that_have_not_returned(x, rounds):
    out = np.full((2, 3, len(x)), -1, np.int32)
    barriers()("counted", 2, len(x), np.array(x, np.int32), np.int32(rounds), out)
    for i in range(len(x)):
        last = min(rounds - 1, i)
        there = [value != 0 for value in x[last:]]
        assert (out[:, :, i] == [sum(there), int(all(there)), int(any(there))]).all()


@pytest.mark.parametrize("threads", [1, 2, 64, 256, 1024])
def test_block_sum(threads):
    x = np.random.default_rng(0).integers(0, 1000, (7, threads)).astype(float)
    out = np.zeros(7)
    barriers()("block_sum", 7, threads, x, out)
    assert (out == x.sum(1)).all()


@pytest.mark.parametrize("block", [(1,), (33,), (1024,), (7, 5), (4, 3, 5), (1, 1, 64)])
def test_indices_survive_waiting(block):
    grid = (2, 3, 2)
    x, y, z = (*block, 1, 1)[:3]
    out = np.zeros((12, x * y * z, 6), np.uint32)
    barriers()("indices", grid, block, out)
    for b in range(12):
        for t in (0, x * y * z // 2, x * y * z - 1):
            assert list(out[b, t]) == [t % x, t // x % y, t // x // y, b % 2, b // 2 % 3, b // 6]


STUCK = """
__global__ void half(int* out) { if (threadIdx.x < 3) __syncwarp(); else __syncthreads(); out[0] = 1; }
__global__ void other(int* out) { if (threadIdx.x < 3) __syncthreads(); else __syncthreads_count(1); out[0] = 1; }
__global__ void outside(int* out) { out[0] = __shfl_sync(1u, 1, 0); }
__global__ void differ(int* out) {
    if (threadIdx.x & 1) out[0] = __any_sync(0xffffffffu, 1); else __syncwarp();
}
"""


def stuck():
    return cpu_source(STUCK, "half", "other", "outside", "differ", checked=False)


def test_what_can_never_go_on_is_an_error_that_says_who_waits():
    out = np.zeros(1, np.int32)
    source = stuck()
    assert source.error("half", (2, 1), 8, out) == (
        "threads of block (0, 0, 0) wait for each other for ever: 5 of the 8 that have not returned at __syncthreads; "
        "lanes 0x7 of warp 0 at __syncwarp with mask 0xffffffff, where lanes 0xf8 are missing"
    )
    assert source.error("other", 1, 8, out) == (
        "__syncthreads meets __syncthreads_count, _and or _or, where all threads must call the same in block "
        "(0, 0, 0), thread (3, 0, 0)"
    )
    assert source.error("outside", 1, (1, 2), out) == (
        "__shfl_sync with mask 0x1, which does not name the calling lane, in block (0, 0, 0), thread (0, 1, 0)"
    )
    assert "lanes 0x5 of warp 0 at __syncwarp with mask 0xffffffff, where lanes 0xa are missing" in str(
        source.error("differ", 1, 4, out)
    )
    barriers()("indices", 1, 4, np.zeros((4, 6), np.uint32))  # the next launch runs as ever


ACTIVE = """
__global__ void active(unsigned* out) {
    unsigned t = threadIdx.x, n = blockDim.x;
    out[t] = __activemask();
    if (t % 3 == 0) {
        out[t + n] = __activemask();
    } else if (t % 3 == 1) {
        __syncwarp(t < 32 ? 0x92492492u : 0x24u);
        out[t + n] = __activemask();
    } else if (t > 36) {
        return;
    } else {
        out[t + n] = ~__activemask();
    }
    __syncthreads();
    out[t + 2 * n] = __activemask();
}
"""


def test_active_lanes_are_those_of_the_same_branch():
    out = np.zeros((3, 40), np.uint32)
    cpu_source(ACTIVE, "active", checked=False)("active", 1, 40, out)
    for t in range(40):
        warp = range(t // 32 * 32, min(t // 32 * 32 + 32, 40))
        returned = {37, 38, 39} & {u for u in warp if u % 3 == 2}
        assert out[0, t] == sum(1 << u % 32 for u in warp)
        if t in returned:
            continue
        branch = sum(1 << u % 32 for u in warp if u % 3 == t % 3 and u not in returned)
        assert out[1, t] == (branch if t % 3 < 2 else ALL ^ branch)
        assert out[2, t] == sum(1 << u % 32 for u in warp if u not in returned)
