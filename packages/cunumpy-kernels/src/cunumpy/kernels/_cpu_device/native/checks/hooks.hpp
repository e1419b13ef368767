// What the kernel's unit calls beside accesses, as check_hooks.hpp declares it.
#pragma once

#include <stdio.h>
#include <string.h>

#include "faults.hpp"
#include "race_events.hpp"
#include "turns.hpp"

#define HIDDEN extern "C" __attribute__((visibility("hidden")))

using namespace cunumpy_cpu_checks;

HIDDEN void cunumpy_check_block(unsigned long long number) {
    if (!races::active) return;
    races::on_block(number);
    if (active) forget_written();
}
HIDDEN void cunumpy_check_thread(unsigned int number) {
    if (races::active) races::on_thread(number);
}
// The next thread of a block whose threads are a loop; index is threadIdx.
HIDDEN void cunumpy_check_thread_at(unsigned int* index, unsigned int x, unsigned int y, unsigned int z, unsigned int number) {
    index[0] = x;
    index[1] = y;
    index[2] = z;
    if (races::active) races::on_thread(number);
}
HIDDEN void cunumpy_check_block_barrier() { races::on_block_barrier(); }
HIDDEN void cunumpy_check_warp_barrier(unsigned int warp, unsigned int lanes, unsigned int all) {
    races::on_warp_barrier(warp, lanes, all);
}
HIDDEN void cunumpy_check_fence() { races::on_fence(); }
HIDDEN void cunumpy_check_grid_arrival() { races::on_grid_arrival(); }
HIDDEN void cunumpy_check_grid_barrier() { races::on_grid_barrier(); }
HIDDEN int cunumpy_check_is_busy() { return races::Busy::now; }

HIDDEN int cunumpy_check_take_turn() { return !cooperative || take_turn(); }
HIDDEN void cunumpy_check_end_turn() {
    if (cooperative) end_turn();
}
HIDDEN int cunumpy_check_pass_turn() { return !cooperative || pass_turn(); }

HIDDEN void cunumpy_check_view(const char* name, const void* data, long long index, int axis, long long extent,
                               const void* place) {
    if (!active) return;
    if (note(VIEW, data, 0, nullptr, races::VOLATILE_WRITE + 1, place)) {
        Fault& fault = faults[fault_count - 1];
        fault.index = index;
        snprintf(fault.text, sizeof fault.text, "%d %lld %s", axis, extent, name);
    }
    leave();
}

HIDDEN void cunumpy_check_stop() { stop(); }

HIDDEN u64 cunumpy_check_place(const void* code) { return (u64)((const char*)code - library); }
