// CUB's stores: item i of thread t is number t * items + i, or i * threads + t where striped.
#pragma once

#include <cub/block/block_exchange.cuh>

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <typename T, int items, typename Iterator>
inline void StoreDirectBlocked(int rank, Iterator to, T (&from)[items]) {
    for (int i = 0; i < items; ++i) to[rank * items + i] = from[i];
}
template <typename T, int items, typename Iterator>
inline void StoreDirectBlocked(int rank, Iterator to, T (&from)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (rank * items + i < end) to[rank * items + i] = from[i];
}
template <int threads, typename T, int items, typename Iterator>
inline void StoreDirectStriped(int rank, Iterator to, T (&from)[items]) {
    for (int i = 0; i < items; ++i) to[i * threads + rank] = from[i];
}
template <int threads, typename T, int items, typename Iterator>
inline void StoreDirectStriped(int rank, Iterator to, T (&from)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (i * threads + rank < end) to[i * threads + rank] = from[i];
}

template <typename T, int X, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1,
          int legacy = 0>
class BlockStore {
public:
    struct TempStorage {
        char unused;
    };
    BlockStore() {}
    BlockStore(TempStorage&) {}
    template <typename Iterator, typename... End>
    void Store(Iterator to, T (&from)[items], End... end) {
        if (algorithm == BLOCK_STORE_STRIPED)
            StoreDirectStriped<X * Y * Z>(detail::block_rank(), to, from, end...);
        else
            StoreDirectBlocked(detail::block_rank(), to, from, end...);
    }
};

}  // namespace cub
