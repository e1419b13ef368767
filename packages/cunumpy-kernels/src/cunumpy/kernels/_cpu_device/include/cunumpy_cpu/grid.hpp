// The barrier of a grid whose blocks all run at the same time, each on its own thread of the operating system.
#pragma once

#include "fibers.hpp"
#include "warps.hpp"

namespace cunumpy_cpu {

static inline bool grid_barrier_is_possible() {
    return trap_state->grid != nullptr || (unsigned long long)gridDim.x * gridDim.y * gridDim.z == 1;
}

CUNUMPY_CPU_PLAIN static void wait_for_grid() {
    GridBarrier* grid = trap_state->grid;
    if (grid == nullptr) return;
    const unsigned int round = __atomic_load_n(&grid->round, __ATOMIC_ACQUIRE);
#ifdef CUNUMPY_CPU_CHECK
    CUNUMPY_CPU_TELL(grid_arrival, );
#endif
    if (__atomic_add_fetch(&grid->arrived, 1, __ATOMIC_ACQ_REL) == grid->blocks) {
#ifdef CUNUMPY_CPU_CHECK
        CUNUMPY_CPU_TELL(grid_barrier, );
#endif
        __atomic_store_n(&grid->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&grid->round, round + 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&grid->round, __ATOMIC_ACQUIRE) == round) {
        const unsigned int ended = __atomic_load_n(&grid->ended, __ATOMIC_ACQUIRE);
        // One that has ended may have come through this barrier since the round was read.
        if (ended != 0 && __atomic_load_n(&grid->round, __ATOMIC_ACQUIRE) != round) return;
        if (ended > __atomic_load_n(&grid->failed, __ATOMIC_ACQUIRE))
            trap("grid.sync(), which a block that has ended does not reach,");
        if (ended != 0) fail("%s", "");  // a block that failed says why
#ifdef CUNUMPY_CPU_CHECK
        CUNUMPY_CPU_TELL(pass_turn, );
#else
        system_sched_yield();
#endif
    }
}

static inline void grid_barrier(CUNUMPY_CPU_PLACE) {
    if (!grid_barrier_is_possible())
        trap("grid.sync() in a launch that is not cooperative (CudaKernel takes cooperative=True, CuPy enable_cooperative_groups=True),");
    __syncthreads(CUNUMPY_CPU_SAME_PLACE);
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) wait_for_grid();
    __syncthreads(CUNUMPY_CPU_SAME_PLACE);
}

}  // namespace cunumpy_cpu
