// CUB's scans of a warp, or of a part of it.
#pragma once

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

template <typename T, int threads = 32, int legacy = 0>
class WarpScan {
public:
    struct TempStorage {
        char unused;
    };
    WarpScan(TempStorage&) {}

    template <typename Op>
    void InclusiveScan(T input, T& output, Op op) {
        const detail::LogicalWarp<threads> warp;
        T value = input;
        for (int distance = 1; distance < threads; distance *= 2) {
            const bool inside = warp.rank >= distance;
            const T other = warp.from(value, inside ? warp.rank - distance : warp.rank);
            if (inside) value = op(other, value);
        }
        output = value;
    }
    template <typename Op>
    void InclusiveScan(T input, T& output, Op op, T& total) {
        InclusiveScan(input, output, op);
        const detail::LogicalWarp<threads> warp;
        total = warp.from(output, warp.there() - 1);
    }
    template <typename Op>
    void InclusiveScan(T input, T& output, T first, Op op) {
        InclusiveScan(input, output, op);
        output = op(first, output);
    }
    template <typename Op>
    void InclusiveScan(T input, T& output, T first, Op op, T& total) {
        InclusiveScan(input, output, op, total);
        output = op(first, output);
        total = op(first, total);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, Op op) {
        T value;
        Scan(input, value, output, op);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, T first, Op op) {
        T value;
        Scan(input, value, output, first, op);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, Op op, T& total) {
        T value;
        Scan(input, value, output, op);
        const detail::LogicalWarp<threads> warp;
        total = warp.from(value, warp.there() - 1);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, T first, Op op, T& total) {
        T value;
        Scan(input, value, output, first, op);
        const detail::LogicalWarp<threads> warp;
        total = warp.from(value, warp.there() - 1);
    }
    template <typename Op>
    void Scan(T input, T& inclusive, T& exclusive, Op op) {
        InclusiveScan(input, inclusive, op);
        const detail::LogicalWarp<threads> warp;
        exclusive = warp.from(inclusive, warp.rank == 0 ? 0 : warp.rank - 1);
    }
    template <typename Op>
    void Scan(T input, T& inclusive, T& exclusive, T first, Op op) {
        InclusiveScan(input, inclusive, first, op);
        const detail::LogicalWarp<threads> warp;
        exclusive = warp.from(inclusive, warp.rank == 0 ? 0 : warp.rank - 1);
        if (warp.rank == 0) exclusive = first;
    }
    void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
    void InclusiveSum(T input, T& output, T& total) { InclusiveScan(input, output, cub::Sum(), total); }
    void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(), cub::Sum()); }
    void ExclusiveSum(T input, T& output, T& total) { ExclusiveScan(input, output, T(), cub::Sum(), total); }
    T Broadcast(T input, unsigned int lane) {
        const detail::LogicalWarp<threads> warp;
        return warp.from(input, (int)lane);
    }
};

}  // namespace cub
