// Which thread of which block runs: the four variables that CUDA has, and where messages say that it is.
//
// Each worker has its own. Their addresses are never taken, so the compiler keeps them in registers where it inlines
// the kernel, and vectorises the loop over threads as if they were local.
#pragma once

#include "places.hpp"
#include "vector_types.hpp"

#ifdef CUNUMPY_CPU_CHECK
#define CUNUMPY_CPU_WHOLE __attribute__((used))  // clang would make several variables of one, with other names
#else
#define CUNUMPY_CPU_WHOLE
#endif
CUNUMPY_CPU_WHOLE static thread_local uint3 threadIdx, blockIdx;
CUNUMPY_CPU_WHOLE static thread_local dim3 blockDim, gridDim;
#undef CUNUMPY_CPU_WHOLE

static constexpr int warpSize = 32;

namespace cunumpy_cpu {

// Threads of a block along x, where all blocks of a row run as one: blockIdx.x is 0 then, and threadIdx.x goes on
// through the row. Else 0.
static thread_local unsigned int merged_width = 0;
// The first of these blocks, and the threadIdx.x of its first thread.
static thread_local unsigned int merged_block = 0, merged_begin = 0;

CUNUMPY_CPU_PLAIN static inline uint3 true_block() {
    uint3 block = blockIdx;
    if (merged_width != 0) block.x = merged_block + (threadIdx.x - merged_begin) / merged_width;
    return block;
}

CUNUMPY_CPU_PLAIN static inline uint3 true_thread() {
    uint3 thread = threadIdx;
    if (merged_width != 0) thread.x = (threadIdx.x - merged_begin) % merged_width;
    return thread;
}

}  // namespace cunumpy_cpu
