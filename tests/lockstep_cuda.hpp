// The threads of a CUDA block on one thread of the CPU, for tests of warp and block functions.
//
// Each CUDA thread is a fiber that runs until it has to wait: at a barrier for the block, at a shuffle or ballot for the
// lanes of its mask. Then the first thread, in the order of the schedule, that can go on does so: the first warps run ahead
// of the others as far as the barriers allow, which brings missing ones to light. What CUDA leaves undefined is an error: masks without their caller, shuffles from
// lanes outside of the mask, barriers that not all threads reach. It is for tests, and knows nothing of memory.
//
//     const char* error = lockstep::launch(grid, block, schedule, [&] { kernel(arguments); });  // nullptr: none
//
// schedule: 0 threads and blocks in order, 1 backwards, others are seeds of random orders.
#pragma once

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#define CUNUMPY_CPU_DEVICE
#define __host__
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline  // here the time of the compiler counts

namespace lockstep {

struct Dim3 {
    unsigned int x, y, z;
};

enum Operation { NONE, SHUFFLE, BALLOT, BARRIER, COUNT, AND, OR };

struct Fiber {
    jmp_buf context;
    ucontext_t first;
    Dim3 thread;
    int number, rank;  // place in the block, and in the schedule
    bool started, ended, waits;
    Operation operation;
    unsigned int mask, value, result;
    int source;
};

static const size_t STACK = 64 * 1024;
static std::vector<Fiber> fibers;
static std::vector<char> stacks;
static std::vector<int> order;
static std::function<void()> body;
static Fiber* current;
static jmp_buf scheduler;
static char failure[300];
static int alive, arrived, first_ready;
static int barriers;  // how many the block has passed
static unsigned int masks_arrived[32];

static Dim3 block_index, block_size, grid_size;

[[noreturn]] static void fail(const char* what) {
    snprintf(failure, sizeof failure, "thread %d of block %u: %s", current->number, block_index.x, what);
    _longjmp(scheduler, 2);
}

static void release(Fiber& fiber) {
    fiber.waits = false;
    first_ready = std::min(first_ready, fiber.rank);
}

static __attribute__((noinline)) void wait() {
    current->waits = true;
    if (_setjmp(current->context) == 0) _longjmp(scheduler, 1);
}

static __attribute__((noinline)) unsigned int warp_operation(Operation operation, unsigned int mask, unsigned int value,
                                                             int source) {
    Fiber* self = current;
    const int lane = self->number % 32, warp = self->number / 32;
    Fiber* lanes = self - lane;
    if ((mask >> lane & 1) == 0) fail("a mask without its caller");
    if (operation == SHUFFLE && (source < 0 || source > 31 || (mask >> source & 1) == 0))
        fail("a shuffle from a lane outside of the mask");
    self->operation = operation, self->mask = mask, self->value = value, self->source = source;
    masks_arrived[warp] |= 1u << lane;
    if ((masks_arrived[warp] & mask) != mask) {
        wait();
        return current->result;
    }
    unsigned int ballot = 0;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) {
            if (lanes[i].operation != operation || lanes[i].mask != mask) fail("lanes that do not do the same");
            ballot |= (unsigned int)(lanes[i].value != 0) << i;
        }
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) {
            lanes[i].result = operation == BALLOT ? ballot : lanes[lanes[i].source].value;
            release(lanes[i]);
        }
    masks_arrived[warp] &= ~mask;
    return self->result;
}

static __attribute__((noinline)) int barrier(Operation operation, int predicate) {
    current->operation = operation, current->value = predicate != 0;
    if (++arrived < (int)fibers.size()) {
        wait();
        return (int)current->result;
    }
    unsigned int count = 0;
    for (Fiber& fiber : fibers) {
        if (fiber.operation != operation) fail("threads at different barriers");
        count += fiber.value;
    }
    for (Fiber& fiber : fibers) {
        fiber.result = operation == COUNT ? count : operation == AND ? count == fibers.size() : count > 0;
        release(fiber);
    }
    arrived = 0;
    ++barriers;
    return (int)current->result;
}

static void enter() {
    body();
    current->ended = true;
    --alive;
    _longjmp(scheduler, 1);
}

static __attribute__((noinline)) void resume(Fiber* fiber) {
    current = fiber;
    if (fiber->started) _longjmp(fiber->context, 1);
    fiber->started = true;
    setcontext(&fiber->first);
}

static __attribute__((noinline)) int step(Fiber* fiber) {
    const int result = _setjmp(scheduler);
    if (result == 0) resume(fiber);
    return result;
}

static bool run_block() {
    alive = (int)fibers.size(), arrived = barriers = first_ready = 0;
    memset(masks_arrived, 0, sizeof masks_arrived);
    for (size_t i = 0; i < fibers.size(); ++i) {
        Fiber& fiber = fibers[i];
        fiber.number = (int)i;
        fiber.thread.x = i % block_size.x;
        fiber.thread.y = i / block_size.x % block_size.y;
        fiber.thread.z = i / block_size.x / block_size.y;
        fiber.started = fiber.ended = fiber.waits = false;
        getcontext(&fiber.first);
        fiber.first.uc_stack.ss_sp = &stacks[i * STACK];
        fiber.first.uc_stack.ss_size = STACK;
        makecontext(&fiber.first, enter, 0);
    }
    for (size_t i = 0; i < fibers.size(); ++i) fibers[order[i]].rank = (int)i;
    while (alive > 0) {
        while (first_ready < (int)order.size() && (fibers[order[first_ready]].ended || fibers[order[first_ready]].waits))
            ++first_ready;
        if (first_ready < (int)order.size()) {
            if (step(&fibers[order[first_ready]]) == 2) return false;
        } else {
            for (Fiber& fiber : fibers)
                if (fiber.waits) current = &fiber;
            if (current->operation >= BARRIER)
                snprintf(failure, sizeof failure, "a barrier that %d of %d threads reach", arrived, (int)fibers.size());
            else
                snprintf(failure, sizeof failure, "thread %d waits for other lanes of the mask %#x", current->number,
                         current->mask);
            return false;
        }
    }
    return true;
}

static const char* launch(Dim3 grid, Dim3 block, unsigned int schedule, std::function<void()> kernel) {
    const size_t threads = (size_t)block.x * block.y * block.z, blocks = (size_t)grid.x * grid.y * grid.z;
    if (threads < 1 || threads > 1024) return "a block has 1 to 1024 threads";
    if (stacks.empty()) stacks.resize(1024 * STACK);
    body = kernel;
    grid_size = grid, block_size = block;
    fibers.assign(threads, Fiber());
    order.resize(threads);
    std::vector<int> block_order(blocks);
    std::mt19937 random(schedule);
    for (std::vector<int>* numbers : {&order, &block_order}) {
        for (size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] = (int)i;
        if (schedule == 1) std::reverse(numbers->begin(), numbers->end());
        if (schedule > 1) std::shuffle(numbers->begin(), numbers->end(), random);
    }
    for (int i : block_order) {
        block_index.x = i % grid.x;
        block_index.y = i / grid.x % grid.y;
        block_index.z = i / grid.x / grid.y;
        if (!run_block()) return failure;
    }
    return nullptr;
}

}  // namespace lockstep

#define threadIdx (lockstep::current->thread)
#define blockIdx lockstep::block_index
#define blockDim lockstep::block_size
#define gridDim lockstep::grid_size

static inline unsigned int __shfl_sync(unsigned int mask, unsigned int value, int lane) {
    return lockstep::warp_operation(lockstep::SHUFFLE, mask, value, lane);
}
static inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
    return lockstep::warp_operation(lockstep::BALLOT, mask, predicate != 0, 0);
}
static inline void __syncthreads() { lockstep::barrier(lockstep::BARRIER, 0); }
static inline int __syncthreads_count(int predicate) { return lockstep::barrier(lockstep::COUNT, predicate); }
static inline int __syncthreads_and(int predicate) { return lockstep::barrier(lockstep::AND, predicate); }
static inline int __syncthreads_or(int predicate) { return lockstep::barrier(lockstep::OR, predicate); }
static inline void __threadfence() {}
