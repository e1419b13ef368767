// Messages of what ends a launch where threads wait: which of them wait where, and for what.
#pragma once

#include "fiber_state.hpp"
#include "trap.hpp"
#ifdef CUNUMPY_CPU_CHECK
#include "check_hooks.hpp"
#endif

namespace cunumpy_cpu {

static const char* operation_name(Operation operation) {
    static const char* const names[] = {"",           "__syncwarp",       "__shfl_sync",      "__ballot_sync", "__any_sync",
                                        "__all_sync", "__uni_sync",       "__match_any_sync", "__match_all_sync",
                                        "__reduce_sync"};
    return names[operation];
}

// A message that grows; what has no room is left out.
struct Message {
    char text[2000];
    size_t used;
    __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
        va_list values;
        va_start(values, format);
        if (used < sizeof text) {
            const int length = __builtin_vsnprintf(text + used, sizeof text - used, format, values);
            used += length > 0 ? (size_t)length : 0;
        }
        va_end(values);
    }
};

#ifdef CUNUMPY_CPU_CHECK
static const char* barrier_name(BarrierKind kind) {
    static const char* const names[] = {"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or"};
    return names[kind];
}

__attribute__((noinline)) CUNUMPY_CPU_PLAIN static void note_place(const char* file, unsigned int line) {
    if (!trap_state->fibers) return;
    const void* const* const frame = (const void* const*)__builtin_frame_address(0);
    current_thread().place = Place{file, line, __builtin_return_address(0), (const void* const*)frame[0]};
}

// The lanes that a warp has, also those that have returned.
CUNUMPY_CPU_PLAIN static inline unsigned int lanes_begun(const Fibers& fibers, unsigned int warp) {
    const unsigned int first = warp * WARP;
    if (first >= fibers.threads_begun) return 0;
    return fibers.threads_begun - first >= WARP ? ~0u : (1u << (fibers.threads_begun - first)) - 1u;
}

// If a place is in one of our own headers: " (in <header>)", and in the form that checking.py reads where that was called.
static bool add_header(Message& message, const Place& place) {
    const char* name = nullptr;
    for (const char* rest = place.file; (rest = __builtin_strstr(rest, "/_cpu_device/include/")) != nullptr; ++rest)
        name = rest + 21;
    if (name == nullptr) return false;
    message.add(" (in <%s>", name);
    if (cunumpy_check_place != nullptr && place.code != nullptr) {
        message.add("@{%llx", cunumpy_check_place(place.code) - 1);
        const void* const* frame = place.frame;
        for (int i = 0; i < 6 && frame != nullptr && frame[1] != nullptr; ++i, frame = (const void* const*)frame[0])
            message.add(",%llx", cunumpy_check_place(frame[1]) - 1);
        message.add("}");
    }
    message.add(")");
    return true;
}

// " at <function> (<file>:<line>)".
static void add_place(Message& message, const char* function, const Place& place) {
    message.add(" at %s", function);
    if (place.file != nullptr && !add_header(message, place)) message.add(" (%s:%u)", place.file, place.line);
}

// "thread 5 waits", "threads 0-31, 64 wait" or " have returned"; counted in the block with x fastest.
static void add_threads(Message& message, const unsigned int* lanes, const char* one, const char* many) {
    unsigned int count = 0;
    for (unsigned int w = 0; w < MAX_WARPS; ++w) count += (unsigned int)__builtin_popcount(lanes[w]);
    message.add(count == 1 ? "thread" : "threads");
    const char* separator = " ";
    unsigned int ranges = 0;
    for (unsigned int i = 0; i < MAX_THREADS; ++i) {
        if (!(lanes[i / WARP] >> i % WARP & 1)) continue;
        unsigned int last = i;
        while (last + 1 < MAX_THREADS && (lanes[(last + 1) / WARP] >> (last + 1) % WARP & 1)) ++last;
        if (++ranges > 8) {
            message.add(" and more, %u in all,", count);
            break;
        }
        if (last == i)
            message.add("%s%u", separator, i);
        else
            message.add("%s%u-%u", separator, i, last);
        separator = ", ";
        i = last;
    }
    message.add(" %s", count == 1 ? one : many);
}

// Where every thread of the block waits, in groups of those that wait for the same.
static void add_waiting(Message& message, Fibers& fibers) {
    unsigned int left[MAX_WARPS], returned[MAX_WARPS];
    unsigned int gone = 0;
    for (unsigned int w = 0; w < MAX_WARPS; ++w) {
        const Warp& warp = fibers.warps[w];
        left[w] = warp.at_barrier | warp.waiting;
        returned[w] = lanes_begun(fibers, w) & ~warp.alive;
        gone += (unsigned int)__builtin_popcount(returned[w]);
    }
    const char* separator = "";
    for (unsigned int i = 0; i < fibers.threads_begun; ++i) {
        const unsigned int w = i / WARP, lane = i % WARP;
        if (!(left[w] >> lane & 1)) continue;
        const Thread& one = fibers.threads[i];
        const bool barrier = fibers.warps[w].at_barrier >> lane & 1;
        unsigned int same[MAX_WARPS] = {};
        for (unsigned int k = i; k < fibers.threads_begun; ++k) {
            const Thread& other = fibers.threads[k];
            const Warp& warp = fibers.warps[k / WARP];
            const unsigned int bit = 1u << k % WARP;
            if (!(left[k / WARP] & bit) || !(other.place == one.place)) continue;
            if (barrier ? !(warp.at_barrier & bit) || other.barrier != one.barrier
                        : !(warp.waiting & bit) || k / WARP != w || warp.operation[k % WARP] != warp.operation[lane] ||
                              warp.mask[k % WARP] != warp.mask[lane])
                continue;
            same[k / WARP] |= bit;
            left[k / WARP] &= ~bit;
        }
        message.add("%s", separator);
        separator = "; ";
        add_threads(message, same, "waits", "wait");
        if (barrier) {
            add_place(message, barrier_name(one.barrier), one.place);
        } else {
            const Warp& warp = fibers.warps[w];
            add_place(message, operation_name(warp.operation[lane]), one.place);
            message.add(" with mask %#x", warp.mask[lane]);
            const unsigned int missing[MAX_WARPS] = {warp.mask[lane] & ~warp.alive};
            if (missing[0] != 0) message.add(", which names lanes %#x that are not there", missing[0]);
        }
    }
    if (gone != 0) {
        message.add("%s", separator);
        add_threads(message, returned, "has returned", "have returned");
    }
}

[[noreturn]] __attribute__((noinline, cold)) static void fail_waiting(Fibers& fibers, const char* what) {
    Message message;
    message.used = 0;
    message.add("%s in block (%u, %u, %u): ", what, blockIdx.x, blockIdx.y, blockIdx.z);
    add_waiting(message, fibers);
    fail("%s", message.text);
}

// The same where the threads of a block are a loop, and some of them have ended before __syncthreads.
[[noreturn]] __attribute__((noinline, cold)) static void fail_ended(const bool* ended, unsigned int threads, Place place) {
    unsigned int waiting[MAX_WARPS] = {}, returned[MAX_WARPS] = {};
    for (unsigned int i = 0; i < threads; ++i) (ended[i] ? returned : waiting)[i / WARP] |= 1u << i % WARP;
    Message message;
    message.used = 0;
    message.add("a barrier that some threads do not reach in block (%u, %u, %u): ", blockIdx.x, blockIdx.y, blockIdx.z);
    add_threads(message, waiting, "waits", "wait");
    add_place(message, barrier_name(PLAIN), place);
    message.add("; ");
    add_threads(message, returned, "has returned", "have returned");
    fail("%s", message.text);
}

[[noreturn]] __attribute__((noinline, cold)) static void fail_stuck(Fibers& fibers) {
    fail_waiting(fibers, "threads wait for each other for ever");
}
#else
[[noreturn]] __attribute__((noinline, cold)) static void fail_stuck(Fibers& fibers) {
    Message message;
    message.used = 0;
    message.add("threads of block (%u, %u, %u) wait for each other for ever:", blockIdx.x, blockIdx.y, blockIdx.z);
    const char* separator = " ";
    if (fibers.arrived > 0) {
        message.add(" %u of the %u that have not returned at %s", fibers.arrived, fibers.alive,
                    fibers.barrier == PLAIN ? "__syncthreads" : "__syncthreads_count, _and or _or");
        separator = "; ";
    }
    for (unsigned int w = 0; w < MAX_WARPS; ++w) {
        Warp& warp = fibers.warps[w];
        unsigned int left = warp.waiting;
        while (left != 0 && message.used < 700) {  // one entry for the lanes that do the same
            const unsigned int first = __builtin_ctz(left);
            unsigned int same = 0;
            for (unsigned int lane = 0; lane < WARP; ++lane)
                if ((left >> lane & 1) && warp.mask[lane] == warp.mask[first] &&
                    warp.operation[lane] == warp.operation[first])
                    same |= 1u << lane;
            message.add("%slanes %#x of warp %u at %s with mask %#x, where lanes %#x are missing", separator, same, w,
                        operation_name(warp.operation[first]), warp.mask[first],
                        warp.mask[first] & warp.alive & ~same);
            separator = "; ";
            left &= ~same;
        }
    }
    fail("%s", message.text);
}
#endif

[[noreturn]] __attribute__((noinline, cold)) static void fail_mask(Operation operation, unsigned int mask,
                                                                   const Thread& self) {
    const char* const text = "%s with mask %#x, which does not name the calling lane,";
#ifdef CUNUMPY_CPU_CHECK
    Message message;
    message.used = 0;
    message.add(text, operation_name(operation), mask);
    const bool ours = self.place.file != nullptr && add_header(message, self.place);
    trap(message.text, ours ? nullptr : self.place.file, (int)self.place.line);
#else
    (void)self;
    char filled[100];  // stacks are counted
    __builtin_snprintf(filled, sizeof filled, text, operation_name(operation), mask);
    trap(filled);
#endif
}

}  // namespace cunumpy_cpu
