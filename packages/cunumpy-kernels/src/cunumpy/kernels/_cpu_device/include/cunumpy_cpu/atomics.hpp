// Atomic functions and fences: CUDA C++ Programming Guide, "Atomic Functions" and "Memory Fence Functions".
//
// Those of scope block need no atomic instruction: the threads of a block share one thread of the operating system, and none
// is interrupted by another. The others are atomic among workers and, on managed memory, the host.
#pragma once

#include "fibers.hpp"
#include "vector_types.hpp"

namespace cunumpy_cpu {

// T `change` (T) on the number at `at`, atomically; the number before.
template <bool alone, class T, class F>
static inline T atomic_change(T* at, F change) {
    if (alone) {
        const T old = *at;
        *at = change(old);
        return old;
    }
    T old, next;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    do next = change(old);
    while (!__atomic_compare_exchange(at, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

template <bool alone, class T>
static inline T atomic_add(T* at, T v) {
    if (alone) return atomic_change<true>(at, [=](T old) { return old + v; });
    return __atomic_fetch_add(at, v, __ATOMIC_RELAXED);
}

// A thread that finds a lock taken, or a number not yet what it waits for, must let others run.
template <bool alone, class T>
static inline T atomic_swap_if(T* at, T expected, T v) {
    T old = expected;
    bool swapped;
    if (alone) {
        old = *at;
        swapped = old == expected;
        if (swapped) *at = v;
    } else {
        swapped = __atomic_compare_exchange(at, &old, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    if (__builtin_expect(!swapped, 0)) yield();
    return old;
}

template <bool alone, class T>
static inline T atomic_swap(T* at, T v) {
    T old;
    if (alone) {
        old = *at;
        *at = v;
    } else {
        __atomic_exchange(at, &v, &old, __ATOMIC_RELAXED);
    }
    if (__builtin_expect(__builtin_memcmp(&old, &v, sizeof(T)) == 0, 0)) yield();
    return old;
}

}  // namespace cunumpy_cpu

#define CUNUMPY_CPU_ATOMIC_SCOPES(define) \
    define(, false)                       \
    define(_block, true)                  \
    define(_system, false)

#define CUNUMPY_CPU_ATOMICS(scope, alone)                                                                              \
    inline int atomicAdd##scope(int* at, int v) {                                                                      \
        return (int)cunumpy_cpu::atomic_add<alone>((unsigned int*)at, (unsigned int)v);                                \
    }                                                                                                                  \
    inline unsigned int atomicAdd##scope(unsigned int* at, unsigned int v) {                                           \
        return cunumpy_cpu::atomic_add<alone>(at, v);                                                                  \
    }                                                                                                                  \
    inline unsigned long long atomicAdd##scope(unsigned long long* at, unsigned long long v) {                         \
        return cunumpy_cpu::atomic_add<alone>(at, v);                                                                  \
    }                                                                                                                  \
    inline float atomicAdd##scope(float* at, float v) {                                                                \
        return cunumpy_cpu::atomic_change<alone>(at, [=](float old) { return old + v; });                              \
    }                                                                                                                  \
    inline double atomicAdd##scope(double* at, double v) {                                                             \
        return cunumpy_cpu::atomic_change<alone>(at, [=](double old) { return old + v; });                             \
    }                                                                                                                  \
    inline float2 atomicAdd##scope(float2* at, float2 v) {                                                             \
        return {atomicAdd##scope(&at->x, v.x), atomicAdd##scope(&at->y, v.y)};                                         \
    }                                                                                                                  \
    inline float4 atomicAdd##scope(float4* at, float4 v) {                                                             \
        return {atomicAdd##scope(&at->x, v.x), atomicAdd##scope(&at->y, v.y), atomicAdd##scope(&at->z, v.z),           \
                atomicAdd##scope(&at->w, v.w)};                                                                        \
    }                                                                                                                  \
    inline int atomicSub##scope(int* at, int v) { return atomicAdd##scope(at, (int)(0u - (unsigned int)v)); }          \
    inline unsigned int atomicSub##scope(unsigned int* at, unsigned int v) { return atomicAdd##scope(at, 0u - v); }    \
    inline unsigned int atomicInc##scope(unsigned int* at, unsigned int last) {                                        \
        return cunumpy_cpu::atomic_change<alone>(at, [=](unsigned int old) { return old >= last ? 0 : old + 1; });     \
    }                                                                                                                  \
    inline unsigned int atomicDec##scope(unsigned int* at, unsigned int last) {                                        \
        return cunumpy_cpu::atomic_change<alone>(                                                                      \
            at, [=](unsigned int old) { return old == 0 || old > last ? last : old - 1; });                            \
    }
CUNUMPY_CPU_ATOMIC_SCOPES(CUNUMPY_CPU_ATOMICS)
#undef CUNUMPY_CPU_ATOMICS

#define CUNUMPY_CPU_ATOMICS_OF(T, scope, alone)                                                                          \
    inline T atomicMin##scope(T* at, T v) {                                                                              \
        return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return v < old ? v : old; });                          \
    }                                                                                                                    \
    inline T atomicMax##scope(T* at, T v) {                                                                              \
        return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return v > old ? v : old; });                          \
    }                                                                                                                    \
    inline T atomicAnd##scope(T* at, T v) { return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return old & v; }); } \
    inline T atomicOr##scope(T* at, T v) { return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return old | v; }); }  \
    inline T atomicXor##scope(T* at, T v) { return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return old ^ v; }); }
#define CUNUMPY_CPU_ATOMICS(scope, alone)                       \
    CUNUMPY_CPU_ATOMICS_OF(int, scope, alone)                   \
    CUNUMPY_CPU_ATOMICS_OF(unsigned int, scope, alone)          \
    CUNUMPY_CPU_ATOMICS_OF(long long, scope, alone)             \
    CUNUMPY_CPU_ATOMICS_OF(unsigned long long, scope, alone)
CUNUMPY_CPU_ATOMIC_SCOPES(CUNUMPY_CPU_ATOMICS)
#undef CUNUMPY_CPU_ATOMICS_OF
#undef CUNUMPY_CPU_ATOMICS

#define CUNUMPY_CPU_ATOMICS_OF(T, scope, alone)                                                            \
    inline T atomicCAS##scope(T* at, T expected, T v) {                                                    \
        return cunumpy_cpu::atomic_swap_if<alone>(at, expected, v);                                        \
    }                                                                                                      \
    inline T atomicExch##scope(T* at, T v) { return cunumpy_cpu::atomic_swap<alone>(at, v); }
#define CUNUMPY_CPU_ATOMICS(scope, alone)                                                                  \
    CUNUMPY_CPU_ATOMICS_OF(int, scope, alone)                                                              \
    CUNUMPY_CPU_ATOMICS_OF(unsigned int, scope, alone)                                                     \
    CUNUMPY_CPU_ATOMICS_OF(unsigned long long, scope, alone)                                               \
    inline float atomicExch##scope(float* at, float v) { return cunumpy_cpu::atomic_swap<alone>(at, v); }
CUNUMPY_CPU_ATOMIC_SCOPES(CUNUMPY_CPU_ATOMICS)
#undef CUNUMPY_CPU_ATOMICS_OF
#undef CUNUMPY_CPU_ATOMICS

// Of 16 bits there is this one alone.
inline unsigned short atomicCAS(unsigned short* at, unsigned short expected, unsigned short v) {
    return cunumpy_cpu::atomic_swap_if<false>(at, expected, v);
}

inline void __threadfence_block() {
    asm volatile("" ::: "memory");
    cunumpy_cpu::yield();
}
inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    cunumpy_cpu::yield();
}
inline void __threadfence_system() { __threadfence(); }
