// What the C++ of inline PTX (ptx.py) calls.
#pragma once

#include "integers.hpp"
#include "output.hpp"
#include "warps.hpp"

namespace cunumpy_cpu {

// A register of one type read as another: the same bits, or the number where sizes differ.
template <class T, class F>
static inline T ptx(F value) {
    if constexpr (sizeof(T) == sizeof(F) && sizeof(T) > 1)
        return bits_as<T>(value);
    else
        return (T)value;
}
template <class T, class F>
static inline void ptx_set(T& register_, F value) {
    register_ = ptx<T>(value);
}

static inline unsigned int ptx_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
static inline unsigned int ptx_lane() { return ptx_thread() % 32; }

extern "C" int system_clock_gettime(int clock, void* time) noexcept asm(CUNUMPY_CPU_SYMBOL "clock_gettime");
static inline unsigned long long ptx_time() {
    struct {
        long seconds, nanoseconds;
    } now;
    system_clock_gettime(0, &now);
    return (unsigned long long)now.seconds * 1000000000ull + (unsigned long long)now.nanoseconds;
}

template <class T>
static inline unsigned int ptx_bfind(T value, bool shift) {
    constexpr int bits = 8 * sizeof(T);
    const unsigned long long v = (value < 0 ? ~(unsigned long long)value : (unsigned long long)value) << (64 - bits) >> (64 - bits);
    if (v == 0) return ~0u;
    const unsigned int place = 63u - (unsigned int)__builtin_clzll(v);
    return shift ? bits - 1 - place : place;
}
template <class T>
static inline T ptx_bfe(T value, unsigned int first, unsigned int count) {
    constexpr unsigned int bits = 8 * sizeof(T);
    first &= 255;
    count &= 255;
    if (count == 0) return 0;
    const bool is_signed = (T)-1 < (T)0;
    const unsigned int last = first + count - 1 < bits - 1 ? first + count - 1 : bits - 1;
    const unsigned long long v = (unsigned long long)value;
    unsigned long long result = 0;
    for (unsigned int i = 0; i < bits; ++i) {
        const bool inside = i < count && first + i < bits;
        const unsigned long long bit = inside ? v >> (first + i) & 1 : is_signed ? v >> last & 1 : 0;
        result |= bit << i;
    }
    return (T)result;
}
template <class T>
static inline T ptx_bfi(T from, T into, unsigned int first, unsigned int count) {
    constexpr unsigned int bits = 8 * sizeof(T);
    first &= 255;
    count &= 255;
    for (unsigned int i = 0; i < count && first + i < bits; ++i)
        into = (T)((into & ~((T)1 << (first + i))) | ((from >> i & 1) << (first + i)));
    return into;
}
static inline unsigned int ptx_lop3(unsigned int a, unsigned int b, unsigned int c, unsigned int table) {
    unsigned int result = 0;
    for (unsigned int i = 0; i < 8; ++i)
        if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}
// Lanes as shfl.sync gives them; `limits` holds the last lane and the mask of segments.
template <ShuffleKind kind>
static inline unsigned int ptx___shfl_sync(unsigned int mask, unsigned int value, unsigned int argument,
                                           unsigned int limits, bool* inside) {
    const unsigned int lane = ptx_lane(), segment = limits >> 8 & 31, clamp = limits & 31;
    const unsigned int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    argument &= 31;
    const int from = (int)(kind == UP ? lane - argument : kind == DOWN ? lane + argument : kind == XOR ? lane ^ argument
                                                                      : first | (argument & ~segment));
    *inside = kind == UP ? from >= (int)last : from <= (int)last;
    return (unsigned int)warp_operation<SHUFFLE>(mask, value, *inside ? (unsigned int)from : lane);
}

}  // namespace cunumpy_cpu
