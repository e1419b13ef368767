// CUB's histogram of the items of a block.
#pragma once

#include <cub/block/block_exchange.cuh>
#include <cub/block/block_scan.cuh>

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <typename T, int X, int items, int bins, BlockHistogramAlgorithm algorithm = BLOCK_HISTO_SORT, int Y = 1,
          int Z = 1, int legacy = 0>
class BlockHistogram {
public:
    struct TempStorage {
        char unused;
    };
    BlockHistogram() {}
    BlockHistogram(TempStorage&) {}
    template <typename Counter>
    void InitHistogram(Counter* histogram) {
        for (int i = detail::block_rank(); i < bins; i += X * Y * Z) histogram[i] = 0;
    }
    template <typename Counter>
    void Histogram(T (&values)[items], Counter* histogram) {
        InitHistogram(histogram);
        __syncthreads();
        Composite(values, histogram);
    }
    template <typename Counter>
    void Composite(T (&values)[items], Counter* histogram) {
        for (int i = 0; i < items; ++i)
            cunumpy_cpu::atomic_change<false>(&histogram[values[i]], [](Counter old) { return (Counter)(old + 1); });
    }
};

}  // namespace cub
