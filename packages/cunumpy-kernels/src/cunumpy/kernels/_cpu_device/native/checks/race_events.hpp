// What the kernel's unit tells, by check_hooks.hpp: which block and thread run, and barriers and fences, which order accesses;
// and the begin and the end of a launch.
#pragma once

#include <string.h>

#include <new>

#include "races.hpp"

namespace cunumpy_cpu_races {

static inline void settle_pending() {
    BlockState& now = state();
    if (__builtin_expect(now.pending, 0)) settle(now);
    if (__builtin_expect(now.guessing, 0)) settle_guess(now);
}

// Something may be ordered that was not.
static inline void new_stamps(BlockState& now) {
    if (now.fenced || releases.size() != 0) {
        now.block_stamp = now.launch_stamp = NO_STAMP;
    } else {
        if (__builtin_expect(last_stamp >= NO_STAMP - 2 * STAMPS, 0)) forget_stamps();
        now.block_stamp = last_stamp += STAMPS;
    }
    now.warp_stamp = now.block_stamp + 1 + now.thread / LANES;
}

// All threads of the block that runs have arrived.
static inline void on_block_barrier() {
    if (!active) return;
    BlockState& now = state();
    now.barrier_time = ++now.time;
    new_stamps(now);
}

// These lanes have met; `all` are those that the warp has.
__attribute__((noinline)) static void on_warp_barrier(unsigned int warp, unsigned int lanes, unsigned int all) {
    if (!active) return;
    BlockState& now = state();
    ++now.time;
    new_stamps(now);
    if ((lanes & all) == all) {
        now.warp_time[warp] = now.time;
        return;
    }
    auto& parts = now.parts[warp];
    if (!(now.parts_valid >> warp & 1)) {
        __builtin_memset(parts, 0, sizeof parts);
        now.parts_valid |= 1u << warp;
    }
    unsigned int known[LANES] = {};
    for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned int lane = __builtin_ctz(rest);
        for (unsigned int i = 0; i < LANES; ++i)
            if (parts[lane][i] > known[i]) known[i] = parts[lane][i];
    }
    for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) known[__builtin_ctz(rest)] = now.time;
    for (unsigned int rest = lanes; rest != 0; rest &= rest - 1)
        __builtin_memcpy(parts[__builtin_ctz(rest)], known, sizeof known);
}

static inline void on_fence() {
    if (!active) return;
    BlockState& now = state();
    now.fenced = true;
    now.fence_time[now.thread] = ++now.time;
    new_stamps(now);
}

// The block that runs has come to a barrier of the grid.
static inline void on_grid_arrival() {
    if (!active) return;
    BlockState& now = state();
    grid_arrivals[now.block - base] = ++now.time;
}

// All blocks have.
static inline void on_grid_barrier() {
    if (!active) return;
    __builtin_memcpy(grid_times.data(), grid_arrivals.data(), blocks * sizeof(unsigned int));
}

static inline void on_thread(unsigned int thread) {
    settle_pending();
    BlockState& now = state();
    now.thread = thread;
    now.warp_stamp = now.block_stamp + 1 + thread / LANES;
}

static void on_block(unsigned long long number) {
    settle_pending();
    BlockState& now = state();
    now.block = base + (unsigned int)number;
    now.thread = 0;
    now.time = 1;
    now.barrier_time = 0;
    now.parts_valid = 0;
    __builtin_memset(now.warp_time, 0, sizeof now.warp_time);
    if (now.fenced) __builtin_memset(now.fence_time, 0, sizeof now.fence_time);
    now.fenced = false;
    now.acquisitions = acquisitions.size();
    now.launch_stamp = launch_stamp;
    new_stamps(now);
}

// --- the launch -------------------------------------------------------------------------------------------------------

// Before `watch`. Places are within 2 GB of `library`.
static void begin_launch(unsigned long long number_of_blocks, bool cooperative, const void* library) {
    code_start = (const char*)library;
    active = number_of_blocks < 0x7fffffffull;
    if (base > 0xfffffff0u - (unsigned int)number_of_blocks) {
        forget_kept(true);
        base = 1;
    }
    blocks = (unsigned int)number_of_blocks;
    if (last_stamp >= NO_STAMP - 2 * STAMPS) forget_stamps();
    launch_stamp = cooperative ? NO_STAMP : last_stamp += STAMPS;
    reports = 0;
    grid_times.clear();
    grid_arrivals.clear();
    if (cooperative)
        for (unsigned int i = 0; i < blocks; ++i) {
            grid_times.push_back(0);
            grid_arrivals.push_back(0);
        }
}

// In a forked process, whose parent had a launch under way in another thread. What is half done stays where it is.
static void start_anew() {
    new (&kept) std::vector<Kept>();
    new (&releases) std::vector<Release>();
    new (&acquisitions) std::vector<Acquisition>();
    new (&last_releases) Table();
    new (&grid_times) std::vector<unsigned int>();
    new (&grid_arrivals) std::vector<unsigned int>();
    only_state.pending = only_state.guessing = false;
}

// Also after a launch that a trap has ended.
static void end_launch() {
    settle_pending();
    base += blocks;
    active = false;
    only_state.pending = only_state.guessing = false;
    releases.clear();
    acquisitions.clear();
    last_releases.entries.clear();
    forget_kept(false);
}

}  // namespace cunumpy_cpu_races
