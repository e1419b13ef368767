// Cooperative groups: the block, tiles and other sets of lanes of a warp, and small grids (CUDA C++ Programming Guide,
// "Cooperative Groups").
#pragma once

#include "cunumpy_cpu/grid.hpp"
#include "cunumpy_cpu/integers.hpp"
#include "cunumpy_cpu/warps.hpp"

namespace cooperative_groups {

namespace details {

inline unsigned int block_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }
inline unsigned int lane() { return cunumpy_cpu::current_thread().lane; }
inline unsigned int lanes_below(unsigned int lane) { return (1u << lane) - 1u; }

// The lane of the rank-th thread of a mask.
inline unsigned int lane_of(unsigned int mask, unsigned int rank) {
    while (rank-- > 0) mask &= mask - 1;
    return (unsigned int)__builtin_ctz(mask);
}

template <class T>
inline unsigned int lanes_of_equal(unsigned int mask, T value) {
    return (unsigned int)cunumpy_cpu::warp_operation<cunumpy_cpu::MATCH_ANY>(mask, cunumpy_cpu::to_bits(value), 0);
}

}  // namespace details

// Some threads of a block: all of them, or lanes of one warp.
class thread_group {
public:
    void sync(CUNUMPY_CPU_PLACE) const {
        if (mask_ == 0)
            __syncthreads(CUNUMPY_CPU_SAME_PLACE);
        else
            __syncwarp(mask_ CUNUMPY_CPU_AND_SAME_PLACE);
    }
    unsigned long long num_threads() const {
        return mask_ == 0 ? details::block_size() : (unsigned int)__builtin_popcount(mask_);
    }
    unsigned long long size() const { return num_threads(); }
    unsigned long long thread_rank() const {
        return mask_ == 0 ? details::block_rank()
                          : (unsigned int)__builtin_popcount(mask_ & details::lanes_below(details::lane()));
    }
    bool is_valid() const { return true; }
    unsigned int mask() const { return mask_; }  // 0: the block

protected:
    explicit thread_group(unsigned int mask) : mask_(mask) {}
    unsigned int mask_;
    friend class thread_block;
    friend thread_group tiled_partition(const thread_group&, unsigned int);
};

class thread_block : public thread_group {
public:
    void sync(CUNUMPY_CPU_PLACE) const { __syncthreads(CUNUMPY_CPU_SAME_PLACE); }
    static unsigned int num_threads() { return details::block_size(); }
    static unsigned int size() { return details::block_size(); }
    static unsigned int thread_rank() { return details::block_rank(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }

private:
    thread_block() : thread_group(0) {}
    friend thread_block this_thread_block();
};
inline thread_block this_thread_block() { return thread_block(); }

class grid_group {
public:
    // Needs a launch whose blocks all run at the same time (enable_cooperative_groups=True in CuPy).
    void sync(CUNUMPY_CPU_PLACE) const { cunumpy_cpu::grid_barrier(CUNUMPY_CPU_SAME_PLACE); }
    bool is_valid() const { return cunumpy_cpu::grid_barrier_is_possible(); }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long num_threads() { return num_blocks() * details::block_size(); }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long block_rank() {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    static unsigned long long thread_rank() { return block_rank() * details::block_size() + details::block_rank(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
};
inline grid_group this_grid() { return grid_group(); }

// What tiles and coalesced groups have in common: values travel between ranks.
class coalesced_group : public thread_group {
public:
    void sync(CUNUMPY_CPU_PLACE) const { __syncwarp(mask_ CUNUMPY_CPU_AND_SAME_PLACE); }
    unsigned int num_threads() const { return (unsigned int)__builtin_popcount(mask_); }
    unsigned int size() const { return num_threads(); }
    unsigned int thread_rank() const { return (unsigned int)__builtin_popcount(mask_ & details::lanes_below(details::lane())); }
    unsigned int meta_group_size() const { return groups_; }
    unsigned int meta_group_rank() const { return number_; }

    template <class T>
    T shfl(T value, int rank CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        return cunumpy_cpu::from_lane(mask_, value, details::lane_of(mask_, (unsigned int)rank % num_threads()));
    }
    template <class T>
    T shfl_up(T value, unsigned int delta CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        const unsigned int rank = thread_rank();
        return cunumpy_cpu::from_lane(mask_, value, rank < delta ? details::lane() : details::lane_of(mask_, rank - delta));
    }
    template <class T>
    T shfl_down(T value, unsigned int delta CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        const unsigned int rank = thread_rank() + delta;
        return cunumpy_cpu::from_lane(mask_, value, rank < num_threads() ? details::lane_of(mask_, rank) : details::lane());
    }
    int any(int predicate CUNUMPY_CPU_AND_PLACE) const { return __any_sync(mask_, predicate CUNUMPY_CPU_AND_SAME_PLACE); }
    int all(int predicate CUNUMPY_CPU_AND_PLACE) const { return __all_sync(mask_, predicate CUNUMPY_CPU_AND_SAME_PLACE); }
    unsigned int ballot(int predicate CUNUMPY_CPU_AND_PLACE) const { return ranks_of(__ballot_sync(mask_, predicate CUNUMPY_CPU_AND_SAME_PLACE)); }
    template <class T>
    unsigned int match_any(T value CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        return ranks_of(details::lanes_of_equal(mask_, value));
    }
    template <class T>
    unsigned int match_all(T value, int& predicate CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        const unsigned int same = details::lanes_of_equal(mask_, value);
        predicate = __all_sync(mask_, same == mask_ CUNUMPY_CPU_AND_SAME_PLACE);
        return predicate ? ranks_of(mask_) : 0;
    }

    explicit coalesced_group(unsigned int mask, unsigned int number = 0, unsigned int groups = 1)
        : thread_group(mask), number_(number), groups_(groups) {}

protected:
    unsigned int ranks_of(unsigned int lanes) const {
        unsigned int ranks = 0, place = 0;
        for (unsigned int left = mask_; left != 0; left &= left - 1) ranks |= (lanes >> __builtin_ctz(left) & 1) << place++;
        return ranks;
    }
    unsigned int number_, groups_;
};

// The lanes that are at this call together.
inline coalesced_group coalesced_threads(unsigned int line = __builtin_LINE()) {
    return coalesced_group(cunumpy_cpu::active_lanes(line));
}

template <unsigned int N, class Parent = void>
class thread_block_tile : public thread_group {
    static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0,
                  "the CPU device has tiles of 1, 2, 4, 8, 16 and 32 threads");

public:
    void sync(CUNUMPY_CPU_PLACE) const { __syncwarp(mask_ CUNUMPY_CPU_AND_SAME_PLACE); }
    static constexpr unsigned int num_threads() { return N; }
    static constexpr unsigned int size() { return N; }
    unsigned int thread_rank() const { return details::lane() & (N - 1); }
    unsigned int meta_group_size() const { return groups_; }
    unsigned int meta_group_rank() const { return number_; }

    template <class T>
    T shfl(T value, int rank CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        return cunumpy_cpu::from_lane(mask_, value, first() + ((unsigned int)rank & (N - 1)));
    }
    template <class T>
    T shfl_up(T value, unsigned int delta CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        const unsigned int rank = thread_rank();
        return cunumpy_cpu::from_lane(mask_, value, first() + (rank < delta ? rank : rank - delta));
    }
    template <class T>
    T shfl_down(T value, unsigned int delta CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        const unsigned int rank = thread_rank();
        return cunumpy_cpu::from_lane(mask_, value, first() + (rank + delta < N ? rank + delta : rank));
    }
    template <class T>
    T shfl_xor(T value, unsigned int lane_mask CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        return cunumpy_cpu::from_lane(mask_, value, first() + ((thread_rank() ^ lane_mask) & (N - 1)));
    }
    int any(int predicate CUNUMPY_CPU_AND_PLACE) const { return __any_sync(mask_, predicate CUNUMPY_CPU_AND_SAME_PLACE); }
    int all(int predicate CUNUMPY_CPU_AND_PLACE) const { return __all_sync(mask_, predicate CUNUMPY_CPU_AND_SAME_PLACE); }
    unsigned int ballot(int predicate CUNUMPY_CPU_AND_PLACE) const { return __ballot_sync(mask_, predicate CUNUMPY_CPU_AND_SAME_PLACE) >> first(); }
    template <class T>
    unsigned int match_any(T value CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        return details::lanes_of_equal(mask_, value) >> first();
    }
    template <class T>
    unsigned int match_all(T value, int& predicate CUNUMPY_CPU_AND_PLACE) const {
        CUNUMPY_CPU_NOTE_PLACE;
        const unsigned int same = details::lanes_of_equal(mask_, value);
        const unsigned int there = __ballot_sync(mask_, 1 CUNUMPY_CPU_AND_SAME_PLACE);
        predicate = __all_sync(mask_, same == there CUNUMPY_CPU_AND_SAME_PLACE);
        return predicate ? there >> first() : 0;
    }

    thread_block_tile(unsigned int number, unsigned int groups)
        : thread_group((unsigned int)((1ull << N) - 1) << (details::lane() & ~(N - 1))), number_(number), groups_(groups) {}
    // A tile without its parent's type.
    operator thread_block_tile<N, void>() const { return thread_block_tile<N, void>(number_, groups_); }

private:
    unsigned int first() const { return details::lane() & ~(N - 1); }
    unsigned int number_, groups_;
};

// The calling thread alone.
inline thread_block_tile<1> this_thread() { return thread_block_tile<1>(0, 1); }

template <unsigned int N>
inline thread_block_tile<N, thread_block> tiled_partition(const thread_block&) {
    return thread_block_tile<N, thread_block>(details::block_rank() / N, (details::block_size() + N - 1) / N);
}
template <unsigned int N, unsigned int M, class Parent>
inline thread_block_tile<N, thread_block_tile<M, Parent>> tiled_partition(const thread_block_tile<M, Parent>& parent) {
    static_assert(N <= M, "a tile is not larger than its parent");
    return thread_block_tile<N, thread_block_tile<M, Parent>>(parent.thread_rank() / N, M / N);
}
inline thread_group tiled_partition(const thread_group& parent, unsigned int size) {
    if (size == 0 || size > 32 || (size & (size - 1)) != 0)
        cunumpy_cpu::trap("tiled_partition into tiles that are not of 1, 2, 4, 8, 16 or 32 threads");
    const unsigned int first = details::lane() & ~(size - 1);
    const unsigned int lanes = (unsigned int)((1ull << size) - 1) << first;
    const unsigned int left = details::block_size() - (details::block_rank() & ~31u);
    const unsigned int there = left >= 32 ? ~0u : (1u << left) - 1u;
    return thread_group(parent.mask() == 0 ? lanes & there : lanes & parent.mask());
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size) {
    const unsigned int first = parent.thread_rank() / size * size;
    unsigned int mask = 0;
    for (unsigned int rank = first; rank < first + size && rank < parent.num_threads(); ++rank)
        mask |= 1u << details::lane_of(parent.mask(), rank);
    return coalesced_group(mask, first / size, (parent.num_threads() + size - 1) / size);
}

template <class Group>
inline coalesced_group binary_partition(const Group& group, bool predicate CUNUMPY_CPU_AND_PLACE) {
    const unsigned int lanes = __ballot_sync(group.mask(), predicate CUNUMPY_CPU_AND_SAME_PLACE);
    const unsigned int there = __ballot_sync(group.mask(), 1 CUNUMPY_CPU_AND_SAME_PLACE);
    return predicate ? coalesced_group(lanes, 1, 2) : coalesced_group(there & ~lanes, 0, 2);
}
template <class Group, class Label>
inline coalesced_group labeled_partition(const Group& group, Label label CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    const unsigned int same = details::lanes_of_equal(group.mask(), label);
    // The groups are numbered by their first lanes.
    const bool leads = (unsigned int)__builtin_ctz(same) == details::lane();
    const unsigned int leaders = __ballot_sync(group.mask(), leads CUNUMPY_CPU_AND_SAME_PLACE);
    const unsigned int first = (unsigned int)__builtin_ctz(same);
    return coalesced_group(same, (unsigned int)__builtin_popcount(leaders & details::lanes_below(first)),
                           (unsigned int)__builtin_popcount(leaders));
}

template <class Group>
inline void sync(const Group& group CUNUMPY_CPU_AND_PLACE) {
    group.sync(CUNUMPY_CPU_SAME_PLACE);
}
template <class Group>
inline auto thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group>
inline auto group_size(const Group& group) {
    return group.size();
}

// One thread of the group calls it.
template <class Group, class F, class... T>
inline void invoke_one(const Group& group, F&& function, T&&... values) {
    if (group.thread_rank() == 0) function(static_cast<T&&>(values)...);
}
template <class Group, class F, class... T>
inline auto invoke_one_broadcast(const Group& group, F&& function, T&&... values)
    -> decltype(function(static_cast<T&&>(values)...)) {
    decltype(function(static_cast<T&&>(values)...)) result{};
    if (group.thread_rank() == 0) result = function(static_cast<T&&>(values)...);
    return group.shfl(result, 0);
}

}  // namespace cooperative_groups
