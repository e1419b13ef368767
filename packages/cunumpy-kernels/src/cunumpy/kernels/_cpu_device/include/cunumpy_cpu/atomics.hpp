// Atomic functions and fences: CUDA C++ Programming Guide, "Atomic Functions" and "Memory Fence Functions".
//
// Those of scope block need no atomic instruction: the threads of a block share one thread of the operating system, and none
// is interrupted by another. The others are atomic among workers and, on managed memory, the host. In checked builds all
// are atomic instructions, which the compiler tells apart from other accesses.
#pragma once

#include "fibers.hpp"
#include "vector_types.hpp"

// In checked builds the place of an access is where the function is called.
#ifdef CUNUMPY_CPU_CHECK
#define CUNUMPY_CPU_INLINE inline __attribute__((always_inline))
#else
#define CUNUMPY_CPU_INLINE inline
#endif

namespace cunumpy_cpu {

// T `change` (T) on the number at `at`, atomically; the number before.
template <bool alone, class T, class F>
static CUNUMPY_CPU_INLINE T atomic_change(T* at, F change) {
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
static CUNUMPY_CPU_INLINE T atomic_add(T* at, T v) {
    if (alone) return atomic_change<true>(at, [=](T old) { return old + v; });
    return __atomic_fetch_add(at, v, __ATOMIC_RELAXED);
}

// A thread that finds a lock taken, or a number not yet what it waits for, must let others run.
template <bool alone, class T>
static CUNUMPY_CPU_INLINE T atomic_swap_if(T* at, T expected, T v) {
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
static CUNUMPY_CPU_INLINE T atomic_swap(T* at, T v) {
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

#ifdef CUNUMPY_CPU_CHECK
#define CUNUMPY_CPU_ALONE false
#else
#define CUNUMPY_CPU_ALONE true
#endif
#define CUNUMPY_CPU_ATOMIC_SCOPES(define) \
    define(, false)                       \
    define(_block, CUNUMPY_CPU_ALONE)     \
    define(_system, false)

#define CUNUMPY_CPU_ATOMICS(scope, alone)                                                                              \
    CUNUMPY_CPU_INLINE int atomicAdd##scope(int* at, int v) {                                                                      \
        return (int)cunumpy_cpu::atomic_add<alone>((unsigned int*)at, (unsigned int)v);                                \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE unsigned int atomicAdd##scope(unsigned int* at, unsigned int v) {                                           \
        return cunumpy_cpu::atomic_add<alone>(at, v);                                                                  \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE unsigned long long atomicAdd##scope(unsigned long long* at, unsigned long long v) {                         \
        return cunumpy_cpu::atomic_add<alone>(at, v);                                                                  \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE float atomicAdd##scope(float* at, float v) {                                                                \
        return cunumpy_cpu::atomic_change<alone>(at, [=](float old) { return old + v; });                              \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE double atomicAdd##scope(double* at, double v) {                                                             \
        return cunumpy_cpu::atomic_change<alone>(at, [=](double old) { return old + v; });                             \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE float2 atomicAdd##scope(float2* at, float2 v) {                                                             \
        return {atomicAdd##scope(&at->x, v.x), atomicAdd##scope(&at->y, v.y)};                                         \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE float4 atomicAdd##scope(float4* at, float4 v) {                                                             \
        return {atomicAdd##scope(&at->x, v.x), atomicAdd##scope(&at->y, v.y), atomicAdd##scope(&at->z, v.z),           \
                atomicAdd##scope(&at->w, v.w)};                                                                        \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE int atomicSub##scope(int* at, int v) { return atomicAdd##scope(at, (int)(0u - (unsigned int)v)); }          \
    CUNUMPY_CPU_INLINE unsigned int atomicSub##scope(unsigned int* at, unsigned int v) { return atomicAdd##scope(at, 0u - v); }    \
    CUNUMPY_CPU_INLINE unsigned int atomicInc##scope(unsigned int* at, unsigned int last) {                                        \
        return cunumpy_cpu::atomic_change<alone>(at, [=](unsigned int old) { return old >= last ? 0 : old + 1; });     \
    }                                                                                                                  \
    CUNUMPY_CPU_INLINE unsigned int atomicDec##scope(unsigned int* at, unsigned int last) {                                        \
        return cunumpy_cpu::atomic_change<alone>(                                                                      \
            at, [=](unsigned int old) { return old == 0 || old > last ? last : old - 1; });                            \
    }
CUNUMPY_CPU_ATOMIC_SCOPES(CUNUMPY_CPU_ATOMICS)
#undef CUNUMPY_CPU_ATOMICS

#define CUNUMPY_CPU_ATOMICS_OF(T, scope, alone)                                                                          \
    CUNUMPY_CPU_INLINE T atomicMin##scope(T* at, T v) {                                                                              \
        return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return v < old ? v : old; });                          \
    }                                                                                                                    \
    CUNUMPY_CPU_INLINE T atomicMax##scope(T* at, T v) {                                                                              \
        return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return v > old ? v : old; });                          \
    }                                                                                                                    \
    CUNUMPY_CPU_INLINE T atomicAnd##scope(T* at, T v) { return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return old & v; }); } \
    CUNUMPY_CPU_INLINE T atomicOr##scope(T* at, T v) { return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return old | v; }); }  \
    CUNUMPY_CPU_INLINE T atomicXor##scope(T* at, T v) { return cunumpy_cpu::atomic_change<alone>(at, [=](T old) { return old ^ v; }); }
#define CUNUMPY_CPU_ATOMICS(scope, alone)                       \
    CUNUMPY_CPU_ATOMICS_OF(int, scope, alone)                   \
    CUNUMPY_CPU_ATOMICS_OF(unsigned int, scope, alone)          \
    CUNUMPY_CPU_ATOMICS_OF(long long, scope, alone)             \
    CUNUMPY_CPU_ATOMICS_OF(unsigned long long, scope, alone)
CUNUMPY_CPU_ATOMIC_SCOPES(CUNUMPY_CPU_ATOMICS)
#undef CUNUMPY_CPU_ATOMICS_OF
#undef CUNUMPY_CPU_ATOMICS

#define CUNUMPY_CPU_ATOMICS_OF(T, scope, alone)                                                            \
    CUNUMPY_CPU_INLINE T atomicCAS##scope(T* at, T expected, T v) {                                                    \
        return cunumpy_cpu::atomic_swap_if<alone>(at, expected, v);                                        \
    }                                                                                                      \
    CUNUMPY_CPU_INLINE T atomicExch##scope(T* at, T v) { return cunumpy_cpu::atomic_swap<alone>(at, v); }
#define CUNUMPY_CPU_ATOMICS(scope, alone)                                                                  \
    CUNUMPY_CPU_ATOMICS_OF(int, scope, alone)                                                              \
    CUNUMPY_CPU_ATOMICS_OF(unsigned int, scope, alone)                                                     \
    CUNUMPY_CPU_ATOMICS_OF(unsigned long long, scope, alone)                                               \
    CUNUMPY_CPU_INLINE float atomicExch##scope(float* at, float v) { return cunumpy_cpu::atomic_swap<alone>(at, v); }
CUNUMPY_CPU_ATOMIC_SCOPES(CUNUMPY_CPU_ATOMICS)
#undef CUNUMPY_CPU_ATOMICS_OF
#undef CUNUMPY_CPU_ATOMICS

// Of 16 bits there is this one alone.
CUNUMPY_CPU_INLINE unsigned short atomicCAS(unsigned short* at, unsigned short expected, unsigned short v) {
    return cunumpy_cpu::atomic_swap_if<false>(at, expected, v);
}

#ifdef CUNUMPY_CPU_CHECK
#define CUNUMPY_CPU_ON_FENCE CUNUMPY_CPU_TELL(fence, )
#else
#define CUNUMPY_CPU_ON_FENCE (void)0
#endif
inline void __threadfence_block() {
    asm volatile("" ::: "memory");
    CUNUMPY_CPU_ON_FENCE;
    cunumpy_cpu::yield();
}
inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    CUNUMPY_CPU_ON_FENCE;
    cunumpy_cpu::yield();
}
inline void __threadfence_system() { __threadfence(); }
