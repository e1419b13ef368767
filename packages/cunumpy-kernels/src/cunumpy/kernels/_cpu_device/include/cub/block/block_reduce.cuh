// CUB's reductions of a block.
#pragma once

#include <cub/warp/warp_reduce.cuh>

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

// The result is thread 0's.
template <typename T, int X, BlockReduceAlgorithm algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int legacy = 0>
class BlockReduce {
    static constexpr int threads = X * Y * Z;

public:
    struct TempStorage {
        detail::Storage<T, threads> values;
    };
    BlockReduce() : storage(detail::own_storage<TempStorage>()) {}
    BlockReduce(TempStorage& storage) : storage(storage) {}

    template <typename Op>
    T Reduce(T input, Op op) {
        return Reduce(input, op, threads);
    }
    template <typename Op>
    T Reduce(T input, Op op, int valid) {
        const int rank = detail::block_rank();
        storage.values[rank] = input;
        __syncthreads();
        if (rank == 0)
            for (int i = 1; i < valid && i < threads; ++i) input = op(input, storage.values[i]);
        return input;
    }
    template <int items, typename Op>
    T Reduce(T (&inputs)[items], Op op) {
        T total = inputs[0];
        for (int i = 1; i < items; ++i) total = op(total, inputs[i]);
        return Reduce(total, op);
    }
    T Sum(T input) { return Reduce(input, cub::Sum()); }
    T Sum(T input, int valid) { return Reduce(input, cub::Sum(), valid); }
    template <int items>
    T Sum(T (&inputs)[items]) {
        return Reduce(inputs, cub::Sum());
    }

private:
    TempStorage& storage;
};

}  // namespace cub
