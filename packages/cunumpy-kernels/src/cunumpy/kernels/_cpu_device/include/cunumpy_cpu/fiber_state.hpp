// What is known of the threads of a block while they run as fibers: in which warp each is, where it waits and for what.
//
// The memory of a worker's fibers is one region, aligned to its size: from its stack pointer a thread finds its own data
// without a thread-local variable.
#pragma once

#include "launch.hpp"
#include "places.hpp"
#include "stack_switch.hpp"
#include "vector_types.hpp"

namespace cunumpy_cpu {

typedef unsigned long long word;

#ifdef CUNUMPY_CPU_CHECK
constexpr bool CHECK = true;
#else
constexpr bool CHECK = false;
#endif
constexpr unsigned int WARP = 32, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / WARP;
constexpr size_t STACK = (size_t)1 << CUNUMPY_CPU_STACK_SHIFT;
// Of the region the first part is for the data, then come the stacks, each with its guard: their distance is no power of
// two, or they would share few sets of the caches and of the TLB.
#ifdef __x86_64__
constexpr size_t GUARD = 4096;
#else
constexpr size_t GUARD = 65536;  // the largest page there is
#endif
constexpr size_t HEADER = (size_t)1 << 20, STRIDE = STACK + GUARD, REGION = 2 * MAX_THREADS * STACK;
static_assert(HEADER + MAX_THREADS * STRIDE <= REGION, "the region is aligned to its size, a power of two");

// One block of a launch, as the generated code hands it over.
struct Block {
    uint3 index;
    dim3 shape, grid_shape;
    void* dynamic_shared;
    size_t dynamic_bytes;
    void** fibers;              // where the worker keeps the memory of its fibers; null: a place of this library's own
    GridBarrier* grid_barrier;  // null unless each block of the launch has its own thread of the operating system
    unsigned int schedule;      // 0: the order above; 1: backwards; else the seed of a random order
};

enum Operation : unsigned char { NOTHING, SYNC, SHUFFLE, BALLOT, ANY, ALL, UNI, MATCH_ANY, MATCH_ALL, REDUCE };
enum BarrierKind : unsigned char { PLAIN, COUNT, AND, OR };

struct Warp;

struct Thread {
    void* stack;  // while it does not run
    Warp* warp;
    uint3 index;
    unsigned int lane;
#ifdef CUNUMPY_CPU_CHECK
    Place place;  // of the last function that may wait
    BarrierKind barrier;
#endif
};

struct alignas(64) Warp {
    unsigned int alive, ready;               // lanes that have not returned; lanes that can run
    unsigned int at_barrier, waiting, parked;  // lanes that wait: for the block, for lanes, in __activemask
    unsigned int mask[WARP];                 // what each lane that waits for lanes passed
    Operation operation[WARP];
    unsigned char source[WARP];  // the lane a shuffle reads; which reduction
    word value[WARP];
    word result[WARP];
};

struct Fibers {
    void (*owner)();  // whose code the stacks were prepared for
    void (*body)(void*);
    void* argument;
    void* scheduler;
    Thread* current;  // the thread that runs
    size_t shift;  // of the stacks, to recognise memory of another layout
    bool running;
    dim3 shape;
    unsigned int schedule;
    unsigned long long random;
    unsigned int threads_prepared, guards, threads_begun, barriers_passed;
    unsigned int alive, arrived, ready_warps, predicates, barrier_result;
    BarrierKind barrier;
    Warp warps[MAX_WARPS];
    Thread threads[MAX_THREADS];
};
static_assert(sizeof(Fibers) <= HEADER, "the data has its place before the stacks");

CUNUMPY_CPU_PLAIN static inline size_t stack_pointer() {
#if defined(__x86_64__) && !defined(_WIN32)
    size_t here;
    asm("movq %%rsp, %0" : "=r"(here));
    return here;
#elif defined(__aarch64__)
    size_t here;
    asm("mov %0, sp" : "=r"(here));
    return here;
#else
    return (size_t)__builtin_frame_address(0);
#endif
}

// In a fiber alone: its worker's data, and its own. (A look-up by the stack pointer is quicker than thread_local.)
CUNUMPY_CPU_PLAIN static inline Fibers& current_fibers() { return *(Fibers*)(stack_pointer() & ~(size_t)(REGION - 1)); }
CUNUMPY_CPU_PLAIN static inline Thread& current_thread() { return *current_fibers().current; }
CUNUMPY_CPU_PLAIN static inline unsigned int warp_number(const Fibers& fibers, const Warp& warp) { return (unsigned int)(&warp - fibers.warps); }

}  // namespace cunumpy_cpu
