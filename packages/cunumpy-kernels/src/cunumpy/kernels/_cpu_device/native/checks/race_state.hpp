// What is known of accesses and of the block that runs: the records that races are found by, and times.
//
// Kept for each granule of memory: the last write, the last atomic function and two reads since, chosen so that they are of
// different warps and blocks where that is possible. Each has its thread and the time, a count of what orders in its block;
// what came before a barrier is recognised by comparison with the time of the barrier.
//
// Most accesses change nothing of what is kept: those of a thread that reads what many have read since the last barrier. A
// stamp of each granule says so, for the block, for a warp or for all blocks, until something new is there.
#pragma once

#include <stddef.h>

namespace cunumpy_cpu_races {

enum Kind : unsigned char { READ, WRITE, ATOMIC, VOLATILE_READ, VOLATILE_WRITE };

// One access. Of an earlier launch, and none: block < base.
struct Cell {
    unsigned int block;  // base + number
    unsigned int time;
    unsigned int place;  // of the code, in the library
    unsigned short thread;
    unsigned short kind;  // and MORE if there is more of the granule; EMPTY if there was no access
};
static_assert(sizeof(Cell) == 16, "two of them are half a line of the cache");
constexpr unsigned short MORE = 0x80, EMPTY = 0x40, KIND = 0x0f;

// What is kept of a region of memory. Of each granule in `usual` the last write and a read, in `rare`, if their kinds have
// MORE, the last atomic function and another read.
struct Shadow {
    Cell* usual;
    Cell* rare;
    unsigned int* stamps;  // of each granule: reads by whom change nothing, see BlockState
    size_t bytes;
    unsigned int shift;  // log2 of the bytes of a granule
    bool shared;
};

constexpr unsigned int LANES = 32, BLOCK_WARPS = 32, BLOCK_THREADS = 1024;

struct Access {
    Kind kind;
    unsigned long long block;  // counted with x fastest, as threads are in a block
    unsigned int thread;
    const void* place;  // the address of the code
};

struct Race {
    const void* at;
    unsigned int size;
    Access first, second;  // the second is that of the thread that runs
};

// Of the block that runs, on this thread of the operating system.
struct BlockState {
    unsigned int block;         // base + number
    unsigned int time;          // counts barriers, fences and the like
    unsigned int thread;        // that runs
    unsigned int barrier_time;  // all before is ordered
    // Stamps of granules whose reads by this block, by this warp, and by all blocks, change nothing.
    unsigned int block_stamp, warp_stamp, launch_stamp;
    bool fenced;
    unsigned int acquisitions;  // the first of this block
    unsigned int warp_time[BLOCK_WARPS];     // what the whole warp did before is ordered among its lanes
    unsigned int parts_valid;                // warps with clocks in `parts`
    unsigned int fence_time[BLOCK_THREADS];  // 0: none
    bool pending;               // a second write, whose value is not known yet
    unsigned char before[16];
    Race pending_race;
    unsigned long long pending_pair;
    bool guessing;              // a read beside atomic functions: the thread may go on with atomicCAS
    Race guess;
    unsigned long long guess_pair;
    unsigned int parts[BLOCK_WARPS][LANES][LANES];  // what lane knows of lane, where parts of a warp have synchronised
};

// Blocks of a cooperative launch, each on its own thread of the operating system, take turns: one runs at a time.
static BlockState only_state;

// Stamps are for one block between two of what orders, and the warps follow: each once. NO_STAMP is nowhere.
constexpr unsigned int STAMPS = 64, NO_STAMP = 0xffffff00u;
static unsigned int last_stamp = 0;

// Of the launch.
static unsigned int base = 1, blocks = 0;
static bool active = false;
static const char* code_start = nullptr;  // somewhere in the kernel's library
static unsigned int launch_stamp = 0;

static inline BlockState& state() { return only_state; }

// While there is one, a launch that takes too long is not left: what is noted here stays whole.
struct Busy {
    static inline thread_local volatile bool now = false;
    const bool before;
    Busy() : before(now) { now = true; }
    ~Busy() { now = before; }
};

static inline const void* place_of(unsigned int offset) { return code_start + (int)offset; }

static inline bool is_live(const Shadow& shadow, const BlockState& now, const Cell& cell) {
    return shadow.shared ? cell.block == now.block : cell.block >= base;
}

static inline bool is_own(const Cell& cell, const Cell& self) {
    return cell.block == self.block && cell.thread == self.thread;
}

}  // namespace cunumpy_cpu_races
