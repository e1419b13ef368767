// The threads of a block as fibers of one thread of the operating system.
//
// A thread runs until it has to wait, for the block at a barrier or for lanes of its warp, and hands over to the next one
// that can go on: in the same warp by ascending lane, else in the lowest warp that has any. The one that arrives last does
// the work for all who waited, and goes on without a switch.
//
// With CUNUMPY_CPU_CHECK defined, what CUDA leaves undefined is an error: a barrier that some threads do not reach, since
// they have returned, or reach at another call; masks that name lanes that are not there; lanes that wait for each other in
// different functions; a shuffle from a lane outside of the mask. The message says where every thread waits.
//
// Needs threadIdx, blockIdx, blockDim and gridDim, thread_local variables of the generated code.
#pragma once

#include "fiber_state.hpp"
#include "trap.hpp"
#include "waiting_reports.hpp"
#ifdef CUNUMPY_CPU_CHECK
#include "check_hooks.hpp"
#endif

#ifdef __APPLE__
#define CUNUMPY_CPU_MMAP_FLAGS 0x1042  // MAP_PRIVATE | MAP_NORESERVE | MAP_ANON
#else
#define CUNUMPY_CPU_MMAP_FLAGS 0x4022  // MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, on Linux
#endif

namespace cunumpy_cpu {

// --- who runs next ----------------------------------------------------------------------------------------------------

// Lets go on those lanes of a warp that wait in __activemask at the same place as the first of them.
__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void release_parked(Warp& warp) {
    const unsigned int first = __builtin_ctz(warp.parked);
    unsigned int group = 0;
    for (unsigned int lane = first; lane < WARP; ++lane)
        if ((warp.parked >> lane & 1) && warp.value[lane] == warp.value[first]) group |= 1u << lane;
    for (unsigned int lane = first; lane < WARP; ++lane)
        if (group >> lane & 1) warp.result[lane] = group;
    warp.parked &= ~group;
    warp.ready |= group;
}

CUNUMPY_CPU_PLAIN static inline unsigned int random_below(Fibers& fibers, unsigned int limit) {
    fibers.random = fibers.random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned int)((fibers.random >> 33) % limit);
}

// The highest of the bits that are set, or any of them, as the schedule says.
CUNUMPY_CPU_PLAIN static inline unsigned int scheduled_bit(Fibers& fibers, unsigned int bits) {
    if (fibers.schedule == 1) return 31 - __builtin_clz(bits);
    for (unsigned int skip = random_below(fibers, (unsigned int)__builtin_popcount(bits)); skip > 0; --skip) bits &= bits - 1;
    return __builtin_ctz(bits);
}

__attribute__((noinline)) CUNUMPY_CPU_PLAIN static Thread& find_scheduled(Fibers& fibers) {
    for (unsigned int left = fibers.ready_warps; left != 0; left &= left - 1) {
        const unsigned int w = __builtin_ctz(left);
        if (fibers.warps[w].ready == 0 && fibers.warps[w].parked != 0) release_parked(fibers.warps[w]);
        if (fibers.warps[w].ready == 0) fibers.ready_warps &= ~(1u << w);
    }
    if (fibers.ready_warps == 0) fail_stuck(fibers);
    const unsigned int w = scheduled_bit(fibers, fibers.ready_warps);
    return fibers.threads[w * WARP + scheduled_bit(fibers, fibers.warps[w].ready)];
}

__attribute__((noinline)) CUNUMPY_CPU_PLAIN static Thread& find_next(Fibers& fibers, const Warp& warp) {
    if (fibers.schedule != 0) return find_scheduled(fibers);
    unsigned int w = warp_number(fibers, warp);
    if (warp.ready == 0) {
        if (warp.parked != 0) {
            release_parked(fibers.warps[w]);
        } else {
            fibers.ready_warps &= ~(1u << w);
            if (fibers.ready_warps == 0) fail_stuck(fibers);
            w = __builtin_ctz(fibers.ready_warps);
        }
    }
    return fibers.threads[w * WARP + __builtin_ctz(fibers.warps[w].ready)];
}

CUNUMPY_CPU_PLAIN static inline void switch_to(Fibers& fibers, Thread& self, Thread& next) {
    fibers.current = &next;
#ifdef CUNUMPY_CPU_CHECK
    CUNUMPY_CPU_TELL(thread, (unsigned int)(&next - fibers.threads));
#endif
    cunumpy_cpu_switch(&self.stack, next.stack);
}

__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void wait_for_others(Fibers& fibers, Thread& self) {
    Thread& next = find_next(fibers, *self.warp);
    if (&next != &self) switch_to(fibers, self, next);
}

// Hands over to the next thread; the caller is no longer marked as ready. Whoever calls this last in a function that is not
// inlined has no stack frame of its own to be saved and read again. The inlined caller of that function calls resumed().
CUNUMPY_CPU_PLAIN static inline void wait(Fibers& fibers, Thread& self) {
    if (__builtin_expect(self.lane != WARP - 1 && (self.warp->ready >> (self.lane + 1) & 1) && fibers.schedule == 0, 1))
        return switch_to(fibers, self, (&self)[1]);
    wait_for_others(fibers, self);
}

// To be called where a thread may have been switched away from: threadIdx is one variable for all.
CUNUMPY_CPU_PLAIN static inline Thread& resumed() {
    Thread& self = current_thread();
    threadIdx = self.index;
    asm volatile("" ::: "memory");
    return self;
}

// --- barriers ---------------------------------------------------------------------------------------------------------

__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void release_barrier(Fibers& fibers) {
#ifdef CUNUMPY_CPU_CHECK
    if (fibers.alive != fibers.threads_begun) fail_waiting(fibers, "a barrier that some threads do not reach");
    for (unsigned int i = 1; i < fibers.threads_begun; ++i)
        if (!(fibers.threads[i].place == fibers.threads[0].place))
            fail_waiting(fibers, "threads come to different calls of a barrier");
    CUNUMPY_CPU_TELL(block_barrier, );
#endif
    const unsigned int count = fibers.predicates;
    fibers.barrier_result = fibers.barrier == COUNT ? count : fibers.barrier == AND ? count == fibers.arrived : count > 0;
    fibers.arrived = fibers.predicates = 0;
    ++fibers.barriers_passed;
    for (unsigned int w = 0; w < MAX_WARPS; ++w) {
        Warp& warp = fibers.warps[w];
        if (warp.at_barrier != 0) {
            warp.ready |= warp.at_barrier;
            warp.at_barrier = 0;
            fibers.ready_warps |= 1u << w;
        }
    }
}

template <BarrierKind kind>
__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void arrive(bool predicate) {
    Fibers& fibers = current_fibers();
    Thread& self = *fibers.current;
    if (fibers.arrived == 0)
        fibers.barrier = kind;
    else if (!CHECK && __builtin_expect(fibers.barrier != kind, 0))
        trap("__syncthreads meets __syncthreads_count, _and or _or, where all threads must call the same");
    if (kind != PLAIN) fibers.predicates += predicate;
    Warp& warp = *self.warp;
    const unsigned int bit = 1u << self.lane;
    warp.at_barrier |= bit;
    warp.ready &= ~bit;
#ifdef CUNUMPY_CPU_CHECK
    self.barrier = kind;
    if (fibers.barrier != kind) fail_waiting(fibers, "threads come to different barriers");
#endif
    if (__builtin_expect(++fibers.arrived == fibers.alive, 0)) return release_barrier(fibers);
    wait(fibers, self);
}

template <BarrierKind kind>
CUNUMPY_CPU_PLAIN static inline unsigned int block_barrier(bool predicate) {
    arrive<kind>(predicate);
    resumed();
    return kind == PLAIN ? 0 : current_fibers().barrier_result;
}

// --- warps ------------------------------------------------------------------------------------------------------------

// Do all these lanes wait for each other with the same mask and operation?
__attribute__((noinline)) CUNUMPY_CPU_PLAIN static bool lanes_agree(const Warp& warp, unsigned int lanes, unsigned int mask,
                                                  Operation operation) {
    if ((warp.waiting & lanes) != lanes) return false;
    bool same = true;
    if (lanes == ~0u)
        for (unsigned int i = 0; i < WARP; ++i) same &= (warp.mask[i] == mask) & (warp.operation[i] == operation);
    else
        for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) {
            const unsigned int i = __builtin_ctz(rest);
            same &= (warp.mask[i] == mask) & (warp.operation[i] == operation);
        }
    return same;
}

// Fills warp.result of these lanes from warp.value; defined in warps.hpp.
static void complete(Warp& warp, unsigned int lanes, Operation operation);
template <Operation operation>
static void complete_as(Warp& warp, unsigned int lanes);

#ifdef CUNUMPY_CPU_CHECK
// A lane that waits now can't go on if its mask names lanes that have returned or never were, or lanes that wait for it
// in another function.
CUNUMPY_CPU_PLAIN static void check_lanes(Fibers& fibers, const Warp& warp, unsigned int lane) {
    const unsigned int mask = warp.mask[lane];
    if (mask & ~warp.alive) fail_waiting(fibers, "a mask names lanes that are not there");
    for (unsigned int rest = mask & warp.waiting; rest != 0; rest &= rest - 1) {
        const unsigned int other = __builtin_ctz(rest);
        if (!(warp.mask[other] >> lane & 1)) continue;
        if (warp.operation[other] != warp.operation[lane])
            fail_waiting(fibers, "lanes of a warp wait for each other in different functions");
        if (warp.mask[other] != mask) fail_waiting(fibers, "lanes of a warp wait for each other with different masks");
    }
}
#endif

template <Operation operation>
__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void meet(unsigned int mask, word value, unsigned int source) {
    Fibers& fibers = current_fibers();
    Thread& self = *fibers.current;
    Warp& warp = *self.warp;
    const unsigned int lane = self.lane, bit = 1u << lane;
    if (__builtin_expect((mask & bit) == 0, 0)) fail_mask(operation, mask, self);
    warp.mask[lane] = mask;
    warp.operation[lane] = operation;
    warp.value[lane] = value;
    warp.source[lane] = (unsigned char)source;
    warp.waiting |= bit;
    const unsigned int lanes = CHECK ? mask : mask & warp.alive;  // lanes that have returned are not waited for
#ifdef CUNUMPY_CPU_CHECK
    check_lanes(fibers, warp, lane);
#endif
    if (__builtin_expect((warp.waiting & lanes) == lanes && lanes_agree(warp, lanes, mask, operation), 0)) {
        complete_as<operation>(warp, lanes);
#ifdef CUNUMPY_CPU_CHECK
        if (operation == SYNC) CUNUMPY_CPU_TELL(warp_barrier, warp_number(fibers, warp), lanes, lanes_begun(fibers, warp_number(fibers, warp)));
#endif
        warp.waiting &= ~lanes;
        warp.ready |= lanes;
        return;
    }
    warp.ready &= ~bit;
    wait(fibers, self);
}

template <Operation operation>
CUNUMPY_CPU_PLAIN static inline word warp_operation(unsigned int mask, word value, unsigned int source) {
    meet<operation>(mask, value, source);
    Thread& self = resumed();
    return self.warp->result[self.lane];
}

__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void park(word place) {
    Fibers& fibers = current_fibers();
    Thread& self = *fibers.current;
    Warp& warp = *self.warp;
    const unsigned int bit = 1u << self.lane;
    warp.value[self.lane] = place;
    warp.parked |= bit;
    warp.ready &= ~bit;
    wait(fibers, self);
}

// The lanes that are at the same call now. All lanes of the warp that are not there run on first until they wait or
// return, so that the whole branch comes together, as on a GPU. The line tells calls apart that the compiler has merged.
__attribute__((noinline)) CUNUMPY_CPU_PLAIN static unsigned int active_lanes(unsigned int line) {
    park((word)(size_t)__builtin_return_address(0) ^ (word)line << 48);
    Thread& self = resumed();
    return (unsigned int)self.warp->result[self.lane];
}

// --- the end of a thread, and waiting without a barrier ---------------------------------------------------------------

CUNUMPY_CPU_PLAIN static void finish(Fibers& fibers, Thread& self) {
    Warp& warp = *self.warp;
    warp.alive &= ~(1u << self.lane);
    warp.ready &= ~(1u << self.lane);
    if (--fibers.alive == 0) return cunumpy_cpu_switch(&self.stack, fibers.scheduler);
    if (fibers.arrived != 0 && fibers.arrived == fibers.alive) release_barrier(fibers);
    for (unsigned int left = CHECK ? 0 : warp.waiting; left != 0;) {  // did they wait for this lane?
        const unsigned int lane = __builtin_ctz(left), mask = warp.mask[lane];
        if (lanes_agree(warp, mask & warp.alive, mask, warp.operation[lane])) {
            complete(warp, mask & warp.alive, warp.operation[lane]);
            warp.waiting &= ~mask;
            warp.ready |= mask & warp.alive;
        }
        left &= ~mask;
    }
    wait(fibers, self);
}

// For loops that wait for what another thread of the block writes: lets others run.
__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void yield() {
    if (!trap_state->fibers) return;
    Fibers& fibers = current_fibers();
    Thread& self = *fibers.current;
    Warp& warp = *self.warp;
    if (warp.parked != 0) release_parked(warp);
    const unsigned int others = warp.ready & ~(1u << self.lane), later = others & (~0u << self.lane);
    unsigned int w = warp_number(fibers, warp);
    Thread* next = &self;
    if (later != 0) {
        next = &fibers.threads[w * WARP + __builtin_ctz(later)];
    } else {
        const unsigned int warps = fibers.ready_warps & ~(1u << w), rest = warps & (~0u << w);
        if (warps != 0) w = __builtin_ctz(rest != 0 ? rest : warps);
        if (fibers.warps[w].ready != 0) next = &fibers.threads[w * WARP + __builtin_ctz(fibers.warps[w].ready)];
    }
    if (next != &self) switch_to(fibers, self, *next);
    resumed();
}

// --- running a block --------------------------------------------------------------------------------------------------

CUNUMPY_CPU_PLAIN static void run_fiber() {
    Fibers& fibers = current_fibers();
    Thread& self = *fibers.current;
    for (;;) {
        threadIdx = self.index;
        fibers.body(fibers.argument);
        finish(fibers, self);  // returns when the next block begins
    }
}

// Of the system's headers none is included, since a kernel may have names of its own that are theirs.
extern "C" int system_sched_yield() noexcept asm(CUNUMPY_CPU_SYMBOL "sched_yield");
extern "C" void* system_mmap(void* at, size_t size, int access, int flags, int file, long offset) noexcept asm(
    CUNUMPY_CPU_SYMBOL "mmap");
extern "C" int system_munmap(void* at, size_t size) noexcept asm(CUNUMPY_CPU_SYMBOL "munmap");
extern "C" int system_mprotect(void* at, size_t size, int access) noexcept asm(CUNUMPY_CPU_SYMBOL "mprotect");
extern "C" int system_madvise(void* at, size_t size, int advice) noexcept asm(CUNUMPY_CPU_SYMBOL "madvise");

static Fibers* reserve_fibers() {
    const int read_write = 3, private_anonymous = CUNUMPY_CPU_MMAP_FLAGS;
    char* memory = (char*)system_mmap(nullptr, 2 * REGION, read_write, private_anonymous, -1, 0);
    if (memory == (char*)-1)
        fail("no address space for the stacks of %u threads of %zu bytes; raise the limit (ulimit -v)", MAX_THREADS, STACK);
    char* region = (char*)(((size_t)memory + REGION - 1) & ~(size_t)(REGION - 1));
    if (region > memory) system_munmap(memory, region - memory);
    system_munmap(region + REGION, memory + REGION - region);
#ifdef __linux__
    system_madvise(region, REGION, 15);  // MADV_NOHUGEPAGE: of a stack only the upper pages are used
#endif
    Fibers* fibers = (Fibers*)region;
    fibers->shift = CUNUMPY_CPU_STACK_SHIFT;
    return fibers;
}

CUNUMPY_CPU_PLAIN static Fibers& worker_fibers(Block& block) {
    static thread_local void* own = nullptr;
    void** slot = block.fibers != nullptr ? block.fibers : &own;
    Fibers* fibers = (Fibers*)*slot;
    if (fibers != nullptr && fibers->shift != CUNUMPY_CPU_STACK_SHIFT) {
        system_munmap(fibers, (size_t)2 * MAX_THREADS << fibers->shift);
        fibers = nullptr;
    }
    if (fibers == nullptr) *slot = fibers = reserve_fibers();
    return *fibers;
}

__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void prepare_fibers(Fibers& fibers, unsigned int threads) {
    char* stacks = (char*)&fibers + HEADER;
    for (; fibers.guards < threads; ++fibers.guards)  // where the system allows no more of them, they are left out
        system_mprotect(stacks + fibers.guards * STRIDE, GUARD, 0);
    for (unsigned int i = fibers.threads_prepared; i < threads; ++i) {
        char* top = stacks + (i + 1) * STRIDE - i % 12 * 256;  // nor may they begin at the same place of a page
        fibers.threads[i].stack = prepare_stack(top, run_fiber);
        fibers.threads[i].lane = i % WARP;
        fibers.threads[i].warp = &fibers.warps[i / WARP];
    }
    if (fibers.threads_prepared < threads) fibers.threads_prepared = threads;
}

CUNUMPY_CPU_PLAIN static void set_shape(Fibers& fibers, dim3 shape) {
    unsigned int i = 0;
    for (unsigned int z = 0; z < shape.z; ++z)
        for (unsigned int y = 0; y < shape.y; ++y)
            for (unsigned int x = 0; x < shape.x; ++x) fibers.threads[i++].index = uint3{x, y, z};
    fibers.shape = shape;
}

// Runs body(argument) once for each thread of a block of 1 to 1024 threads. Within run_guarded.
CUNUMPY_CPU_PLAIN static inline void run_block_fibers(void (*body)(void*), void* argument, Block& block) {
    const dim3 shape = block.shape;
    const unsigned int threads = shape.x * shape.y * shape.z;
    Fibers& fibers = worker_fibers(block);
    if (fibers.running || fibers.owner != run_fiber) {  // left by a trap, or prepared for another library's code
        fibers.threads_prepared = 0;
        fibers.owner = run_fiber;
        fibers.shape = dim3(0, 0, 0);
    }
    if (fibers.threads_prepared < threads) prepare_fibers(fibers, threads);
    if (shape.x != fibers.shape.x || shape.y != fibers.shape.y || shape.z != fibers.shape.z) set_shape(fibers, shape);
    fibers.body = body;
    fibers.argument = argument;
    fibers.alive = fibers.threads_begun = threads;
    fibers.schedule = block.schedule;
    fibers.random = block.schedule + 0x9e3779b97f4a7c15ull * (block.index.x + 31ull * block.index.y + 1009ull * block.index.z);
    fibers.arrived = fibers.predicates = fibers.barriers_passed = 0;
    const unsigned int warps = (threads + WARP - 1) / WARP;
    for (unsigned int w = 0; w < MAX_WARPS; ++w) {
        Warp& warp = fibers.warps[w];
        warp.alive = warp.ready = w + 1 < warps ? ~0u : w < warps ? ~0u >> (warps * WARP - threads) : 0u;
        warp.at_barrier = warp.waiting = warp.parked = 0;
    }
    fibers.ready_warps = ~0u >> (MAX_WARPS - warps);
    fibers.running = true;
    trap_state->grid = block.grid_barrier;
    trap_state->fibers = true;
    fibers.current = &find_next(fibers, fibers.warps[0]);
#ifdef CUNUMPY_CPU_CHECK
    CUNUMPY_CPU_TELL(block, block.index.x + (unsigned long long)block.grid_shape.x *
                                (block.index.y + (unsigned long long)block.grid_shape.y * block.index.z));
    CUNUMPY_CPU_TELL(thread, (unsigned int)(fibers.current - fibers.threads));
#endif
    cunumpy_cpu_switch(&fibers.scheduler, fibers.current->stack);
    trap_state->fibers = false;
    if (block.grid_barrier != nullptr) __atomic_add_fetch(&block.grid_barrier->ended, 1, __ATOMIC_ACQ_REL);
    fibers.running = false;
}

}  // namespace cunumpy_cpu
