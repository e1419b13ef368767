// Blocks whose threads wait for each other: each thread has a stack of its own, and they run in turn.
#pragma once

#include "loops.hpp"

namespace cunumpy_cpu {

template <auto kernel, class F = decltype(kernel)>
struct FiberBlocks;
template <auto kernel, class... P>
struct FiberBlocks<kernel, void (*)(P...)> : Parameters<P...> {
    template <unsigned int... I>
    static inline void call(void** arguments, Indices<I...>) {
        kernel(*(P*)arguments[I]...);
    }
    static void thread(void* arguments) {
        call((void**)arguments, typename MakeIndices<sizeof...(P)>::type());
    }
    static void run(const cunumpy_cpu_launch& launch, void** arguments, unsigned long long first,
                    unsigned long long last) {
        for_blocks(launch.schedule, first, last, [&] {
            Block block = {};
            block.index = blockIdx;
            block.shape = blockDim;
            block.grid_shape = gridDim;
            block.dynamic_bytes = launch.shared_bytes;
            block.fibers = launch.fibers;
            block.grid_barrier = launch.grid_barrier;
            block.schedule = launch.schedule;
            run_block_fibers(thread, (void*)arguments, block);
        });
    }
};

}  // namespace cunumpy_cpu
