// CUDA's integer, bit and video (SIMD within a word) intrinsics: CUDA Math API, "Integer Intrinsics", "Type Casting
// Intrinsics" and "SIMD Intrinsics".
#pragma once

#include "vector_types.hpp"

// --- bits -------------------------------------------------------------------------------------------------------------

inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}
// Each of the four lower hexadecimal digits of s names a byte of y:x; its highest bit asks for copies of that byte's sign.
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int s) {
    const unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned int result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned int byte = (unsigned int)(bytes >> ((s >> 4 * i & 7) * 8)) & 255u;
        if (s >> 4 * i & 8) byte = byte & 128u ? 255u : 0u;
        result |= byte << 8 * i;
    }
    return result;
}
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
inline unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
// The place of the offset-th set bit of the mask from `base` on, upwards, or downwards if offset < 0; else 0xffffffff.
inline unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
    if (offset == 0) return mask >> (base & 31) & 1 ? base : 0xffffffffu;
    const int step = offset < 0 ? -1 : 1;
    int left = offset < 0 ? -offset : offset;
    for (int i = (int)base; i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) && --left == 0) return (unsigned int)i;
    return 0xffffffffu;
}

// --- products, sums and averages ----------------------------------------------------------------------------------------

inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
inline unsigned int __umulhi(unsigned int x, unsigned int y) { return (unsigned int)((unsigned long long)x * y >> 32); }
inline long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
inline int __mul24(int x, int y) {
    return (int)(unsigned int)((long long)((int)((unsigned int)x << 8) >> 8) * ((int)((unsigned int)y << 8) >> 8));
}
inline unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffffu) * (y & 0xffffffu); }
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return z + (x > y ? x - y : y - x); }
inline unsigned int __sad(int x, int y, unsigned int z) {
    return z + (x > y ? (unsigned int)x - (unsigned int)y : (unsigned int)y - (unsigned int)x);
}
inline int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
inline int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
inline unsigned int __uhadd(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x + y) >> 1); }
inline unsigned int __urhadd(unsigned int x, unsigned int y) {
    return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}

namespace cunumpy_cpu {
template <class A, class B>
static inline unsigned int dot4(unsigned int a, unsigned int b, unsigned int c) {
    for (int i = 0; i < 32; i += 8) c += (unsigned int)((int)(A)(a >> i) * (int)(B)(b >> i));
    return c;
}
template <class A, class B>
static inline unsigned int dot2(unsigned int a, unsigned int b, unsigned int c) {
    return c + (unsigned int)((int)(A)a * (int)(B)b) + (unsigned int)((int)(A)(a >> 16) * (int)(B)(b >> 8));
}
template <class T>
static inline unsigned int word_of(T v) {
    unsigned int word;
    static_assert(sizeof(T) == 4, "one word");
    __builtin_memcpy(&word, &v, 4);
    return word;
}
}  // namespace cunumpy_cpu

inline int __dp4a(int a, int b, int c) {
    return (int)cunumpy_cpu::dot4<signed char, signed char>((unsigned int)a, (unsigned int)b, (unsigned int)c);
}
inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c) {
    return cunumpy_cpu::dot4<unsigned char, unsigned char>(a, b, c);
}
inline int __dp4a(char4 a, char4 b, int c) {
    return __dp4a((int)cunumpy_cpu::word_of(a), (int)cunumpy_cpu::word_of(b), c);
}
inline unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
    return __dp4a(cunumpy_cpu::word_of(a), cunumpy_cpu::word_of(b), c);
}
inline int __dp2a_lo(int a, int b, int c) {
    return (int)cunumpy_cpu::dot2<short, signed char>((unsigned int)a, (unsigned int)b, (unsigned int)c);
}
inline unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int c) {
    return cunumpy_cpu::dot2<unsigned short, unsigned char>(a, b, c);
}
inline int __dp2a_hi(int a, int b, int c) {
    return (int)cunumpy_cpu::dot2<short, signed char>((unsigned int)a, (unsigned int)b >> 16, (unsigned int)c);
}
inline unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int c) {
    return cunumpy_cpu::dot2<unsigned short, unsigned char>(a, b >> 16, c);
}
inline int __dp2a_lo(short2 a, char4 b, int c) {
    return __dp2a_lo((int)cunumpy_cpu::word_of(a), (int)cunumpy_cpu::word_of(b), c);
}
inline unsigned int __dp2a_lo(ushort2 a, uchar4 b, unsigned int c) {
    return __dp2a_lo(cunumpy_cpu::word_of(a), cunumpy_cpu::word_of(b), c);
}
inline int __dp2a_hi(short2 a, char4 b, int c) {
    return __dp2a_hi((int)cunumpy_cpu::word_of(a), (int)cunumpy_cpu::word_of(b), c);
}
inline unsigned int __dp2a_hi(ushort2 a, uchar4 b, unsigned int c) {
    return __dp2a_hi(cunumpy_cpu::word_of(a), cunumpy_cpu::word_of(b), c);
}

// --- casts ------------------------------------------------------------------------------------------------------------

namespace cunumpy_cpu {
template <class To, class From>
static inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    __builtin_memcpy((void*)&to, &from, sizeof(to));
    return to;
}
}  // namespace cunumpy_cpu

inline int __float_as_int(float x) { return cunumpy_cpu::bits_as<int>(x); }
inline unsigned int __float_as_uint(float x) { return cunumpy_cpu::bits_as<unsigned int>(x); }
inline float __int_as_float(int x) { return cunumpy_cpu::bits_as<float>(x); }
inline float __uint_as_float(unsigned int x) { return cunumpy_cpu::bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return cunumpy_cpu::bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return cunumpy_cpu::bits_as<double>(x); }
inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}

// --- two halves or four bytes in a word -------------------------------------------------------------------------------

namespace cunumpy_cpu {

// Applies `one` to the parts of two words, each a U of `bits` bits read as T.
template <class T, class U, class F>
static inline unsigned int parts(unsigned int a, unsigned int b, F one) {
    constexpr int bits = 8 * sizeof(T);
    unsigned int result = 0;
    for (int i = 0; i < 32; i += bits)
        result |= (unsigned int)(U)one((int)(T)(U)(a >> i), (int)(T)(U)(b >> i)) << i;
    return result;
}
template <class T, class U, class F>
static inline unsigned int sum_of_parts(unsigned int a, unsigned int b, F one) {
    unsigned int result = 0;
    for (int i = 0; i < 32; i += 8 * sizeof(T)) result += (unsigned int)one((int)(T)(U)(a >> i), (int)(T)(U)(b >> i));
    return result;
}
template <class T>
static inline int clamped(int x) {
    constexpr bool is_signed = (T)-1 < (T)0;
    constexpr int bits = 8 * sizeof(T), least = is_signed ? -(1 << (bits - 1)) : 0;
    constexpr int most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    return x < least ? least : x > most ? most : x;
}

}  // namespace cunumpy_cpu

#define CUNUMPY_CPU_VIDEO(name, n, T, U, expression)                                                     \
    inline unsigned int name##n(unsigned int a, unsigned int b) {                                        \
        return cunumpy_cpu::parts<T, U>(a, b, [](int x, int y) { return (void)x, (void)y, expression; }); \
    }
#define CUNUMPY_CPU_VIDEO_ONE(name, n, T, U, expression)                                     \
    inline unsigned int name##n(unsigned int a) {                                            \
        return cunumpy_cpu::parts<T, U>(a, a, [](int x, int) { return expression; });        \
    }
#define CUNUMPY_CPU_VIDEO_COMPARE(what, n, S, U, sign)                                          \
    CUNUMPY_CPU_VIDEO(__vcmp##what##s, n, S, U, x sign y ? -1 : 0)                              \
    CUNUMPY_CPU_VIDEO(__vcmp##what##u, n, U, U, x sign y ? -1 : 0)                              \
    CUNUMPY_CPU_VIDEO(__vset##what##s, n, S, U, x sign y ? 1 : 0)                               \
    CUNUMPY_CPU_VIDEO(__vset##what##u, n, U, U, x sign y ? 1 : 0)
#define CUNUMPY_CPU_VIDEOS(n, S, U)                                                             \
    CUNUMPY_CPU_VIDEO(__vadd, n, U, U, x + y)                                                   \
    CUNUMPY_CPU_VIDEO(__vsub, n, U, U, x - y)                                                   \
    CUNUMPY_CPU_VIDEO(__vaddss, n, S, U, cunumpy_cpu::clamped<S>(x + y))                        \
    CUNUMPY_CPU_VIDEO(__vaddus, n, U, U, cunumpy_cpu::clamped<U>(x + y))                        \
    CUNUMPY_CPU_VIDEO(__vsubss, n, S, U, cunumpy_cpu::clamped<S>(x - y))                        \
    CUNUMPY_CPU_VIDEO(__vsubus, n, U, U, cunumpy_cpu::clamped<U>(x - y))                        \
    CUNUMPY_CPU_VIDEO(__vavgs, n, S, U, (x + y + (x + y >= 0)) >> 1)                            \
    CUNUMPY_CPU_VIDEO(__vavgu, n, U, U, (x + y + 1) >> 1)                                       \
    CUNUMPY_CPU_VIDEO(__vhaddu, n, U, U, (x + y) >> 1)                                          \
    CUNUMPY_CPU_VIDEO(__vmaxs, n, S, U, x > y ? x : y)                                          \
    CUNUMPY_CPU_VIDEO(__vmaxu, n, U, U, x > y ? x : y)                                          \
    CUNUMPY_CPU_VIDEO(__vmins, n, S, U, x < y ? x : y)                                          \
    CUNUMPY_CPU_VIDEO(__vminu, n, U, U, x < y ? x : y)                                          \
    CUNUMPY_CPU_VIDEO(__vabsdiffs, n, S, U, x > y ? x - y : y - x)                              \
    CUNUMPY_CPU_VIDEO(__vabsdiffu, n, U, U, x > y ? x - y : y - x)                              \
    CUNUMPY_CPU_VIDEO(__vcmpeq, n, U, U, x == y ? -1 : 0)                                       \
    CUNUMPY_CPU_VIDEO(__vcmpne, n, U, U, x != y ? -1 : 0)                                       \
    CUNUMPY_CPU_VIDEO(__vseteq, n, U, U, x == y ? 1 : 0)                                        \
    CUNUMPY_CPU_VIDEO(__vsetne, n, U, U, x != y ? 1 : 0)                                        \
    CUNUMPY_CPU_VIDEO_COMPARE(ge, n, S, U, >=)                                                  \
    CUNUMPY_CPU_VIDEO_COMPARE(gt, n, S, U, >)                                                   \
    CUNUMPY_CPU_VIDEO_COMPARE(le, n, S, U, <=)                                                  \
    CUNUMPY_CPU_VIDEO_COMPARE(lt, n, S, U, <)                                                   \
    CUNUMPY_CPU_VIDEO_ONE(__vabs, n, S, U, x < 0 ? -x : x)                                      \
    CUNUMPY_CPU_VIDEO_ONE(__vabsss, n, S, U, cunumpy_cpu::clamped<S>(x < 0 ? -x : x))           \
    CUNUMPY_CPU_VIDEO_ONE(__vneg, n, S, U, -x)                                                  \
    CUNUMPY_CPU_VIDEO_ONE(__vnegss, n, S, U, cunumpy_cpu::clamped<S>(-x))                       \
    inline unsigned int __vsads##n(unsigned int a, unsigned int b) {                            \
        return cunumpy_cpu::sum_of_parts<S, U>(a, b, [](int x, int y) { return x > y ? x - y : y - x; }); \
    }                                                                                           \
    inline unsigned int __vsadu##n(unsigned int a, unsigned int b) {                            \
        return cunumpy_cpu::sum_of_parts<U, U>(a, b, [](int x, int y) { return x > y ? x - y : y - x; }); \
    }
CUNUMPY_CPU_VIDEOS(2, short, unsigned short)
CUNUMPY_CPU_VIDEOS(4, signed char, unsigned char)
#undef CUNUMPY_CPU_VIDEO
#undef CUNUMPY_CPU_VIDEO_ONE
#undef CUNUMPY_CPU_VIDEO_COMPARE
#undef CUNUMPY_CPU_VIDEOS
