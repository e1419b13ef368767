// printf, assert, __trap, clocks and hints to the compiler.
#pragma once

#include "fibers.hpp"
#include "trap.hpp"

typedef long clock_t;

namespace cunumpy_cpu {

static bool printed = false;  // since the last flush

extern "C" int system_fflush(void* stream) asm(CUNUMPY_CPU_SYMBOL "fflush");

// To be called at the end of a launch: brings out what the kernel printed, as a synchronisation does on a GPU.
CUNUMPY_CPU_PLAIN static inline void flush_output() {
    if (!__atomic_load_n(&printed, __ATOMIC_RELAXED)) return;
    __atomic_store_n(&printed, false, __ATOMIC_RELAXED);
    system_fflush(nullptr);
}

[[noreturn]] __attribute__((noinline, cold)) static void fail_assertion(const char* condition, const char* file, int line) {
    char text[500];
    __builtin_snprintf(text, sizeof text, "assertion `%s` failed", condition);
    trap(text, file, line);
}

// A counter of the processor, at a constant rate.
static inline long long ticks() {
#if defined(__x86_64__)
    return (long long)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    long long count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    struct {
        long seconds, nanoseconds;
    } now;
    extern int clock_gettime_of_system(int, void*) asm(CUNUMPY_CPU_SYMBOL "clock_gettime");
    clock_gettime_of_system(1, &now);
    return now.seconds * 1000000000ll + now.nanoseconds;
#endif
}

}  // namespace cunumpy_cpu

namespace cunumpy_cpu_builtins {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
// As CUDA's: writes to the standard output when the launch ends at the latest, and returns how many arguments there were.
template <class... T>
inline int printf(const char* format, T... values) {
    if (format == nullptr) return -1;
    __atomic_store_n(&cunumpy_cpu::printed, true, __ATOMIC_RELAXED);
    return __builtin_printf(format, values...) < 0 ? -1 : (int)sizeof...(T);
}
#pragma GCC diagnostic pop
template <class = void>
inline clock_t clock() {
    return (clock_t)cunumpy_cpu::ticks();
}
}  // namespace cunumpy_cpu_builtins

inline long long clock64() { return cunumpy_cpu::ticks(); }
inline void __nanosleep(unsigned int) {
    cunumpy_cpu::system_sched_yield();
    cunumpy_cpu::yield();
}
[[noreturn]] inline void __trap(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    cunumpy_cpu::trap("__trap()", file, line);
}
inline void __brkpt() {}
inline void __prof_trigger(int) {}

#ifndef __clang__
#define __builtin_assume(...) ((__VA_ARGS__) ? (void)0 : __builtin_unreachable())
#endif

#include "../assert.h"
