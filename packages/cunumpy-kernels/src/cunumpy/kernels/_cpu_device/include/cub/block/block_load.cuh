// CUB's loads: item i of thread t is number t * items + i, or i * threads + t where striped.
#pragma once

#include <cub/block/block_exchange.cuh>

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};

template <typename T, int items, typename Iterator>
inline void LoadDirectBlocked(int rank, Iterator from, T (&to)[items]) {
    for (int i = 0; i < items; ++i) to[i] = from[rank * items + i];
}
template <typename T, int items, typename Iterator>
inline void LoadDirectBlocked(int rank, Iterator from, T (&to)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (rank * items + i < end) to[i] = from[rank * items + i];
}
template <typename T, typename Default, int items, typename Iterator>
inline void LoadDirectBlocked(int rank, Iterator from, T (&to)[items], int end, Default other) {
    for (int i = 0; i < items; ++i) to[i] = other;
    LoadDirectBlocked(rank, from, to, end);
}
template <int threads, typename T, int items, typename Iterator>
inline void LoadDirectStriped(int rank, Iterator from, T (&to)[items]) {
    for (int i = 0; i < items; ++i) to[i] = from[i * threads + rank];
}
template <int threads, typename T, int items, typename Iterator>
inline void LoadDirectStriped(int rank, Iterator from, T (&to)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (i * threads + rank < end) to[i] = from[i * threads + rank];
}
template <int threads, typename T, typename Default, int items, typename Iterator>
inline void LoadDirectStriped(int rank, Iterator from, T (&to)[items], int end, Default other) {
    for (int i = 0; i < items; ++i) to[i] = other;
    LoadDirectStriped<threads>(rank, from, to, end);
}

template <typename T, int X, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1,
          int legacy = 0>
class BlockLoad {
public:
    struct TempStorage {
        char unused;
    };
    BlockLoad() {}
    BlockLoad(TempStorage&) {}
    template <typename Iterator, typename... End>
    void Load(Iterator from, T (&to)[items], End... end) {
        if (algorithm == BLOCK_LOAD_STRIPED)
            LoadDirectStriped<X * Y * Z>(detail::block_rank(), from, to, end...);
        else
            LoadDirectBlocked(detail::block_rank(), from, to, end...);
    }
};

}  // namespace cub
