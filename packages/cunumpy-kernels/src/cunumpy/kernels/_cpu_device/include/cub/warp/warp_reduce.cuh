// CUB's reductions of a warp, or of a part of it.
#pragma once

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

// The result is that of the logical warp's first lane, or of the first lane of each segment.
template <typename T, int threads = 32, int legacy = 0>
class WarpReduce {
public:
    struct TempStorage {
        char unused;
    };
    WarpReduce(TempStorage&) {}

    template <typename Op>
    T Reduce(T input, Op op) {
        return Reduce(input, op, threads);
    }
    template <typename Op>
    T Reduce(T input, Op op, int valid) {
        const detail::LogicalWarp<threads> warp;
        const int there = warp.there(), last = (valid < there ? valid : there) - 1;
        return up_to(warp, input, op, last);
    }
    T Sum(T input) { return Reduce(input, cub::Sum()); }
    T Sum(T input, int valid) { return Reduce(input, cub::Sum(), valid); }
    template <typename Flag, typename Op = cub::Sum>
    T HeadSegmentedReduce(T input, Flag head, Op op) {
        const detail::LogicalWarp<threads> warp;
        const unsigned int heads = __ballot_sync(warp.mask, head ? 1 : 0) >> warp.first;
        const unsigned int later = warp.rank == 31 ? 0 : heads & (~0u << (warp.rank + 1));
        const int there = warp.there();
        return up_to(warp, input, op, later != 0 ? __builtin_ctz(later) - 1 : there - 1);
    }
    template <typename Flag, typename Op>
    T TailSegmentedReduce(T input, Flag tail, Op op) {
        const detail::LogicalWarp<threads> warp;
        const unsigned int tails = __ballot_sync(warp.mask, tail ? 1 : 0) >> warp.first, later = tails & (~0u << warp.rank);
        const int there = warp.there();
        return up_to(warp, input, op, later != 0 ? __builtin_ctz(later) : there - 1);
    }
    template <typename Flag>
    T HeadSegmentedSum(T input, Flag head) {
        return HeadSegmentedReduce(input, head, cub::Sum());
    }
    template <typename Flag>
    T TailSegmentedSum(T input, Flag tail) {
        return TailSegmentedReduce(input, tail, cub::Sum());
    }

private:
    // The values from the own one to that of `last`.
    template <typename Op>
    static T up_to(const detail::LogicalWarp<threads>& warp, T value, Op op, int last) {
        for (int distance = 1; distance < threads; distance *= 2) {
            const bool inside = warp.rank + distance <= last;
            const T other = warp.from(value, inside ? warp.rank + distance : warp.rank);
            if (inside) value = op(value, other);
        }
        return value;
    }
};

}  // namespace cub
