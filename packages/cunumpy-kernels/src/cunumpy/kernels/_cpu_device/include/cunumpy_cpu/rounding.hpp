// Arithmetic and conversions with the rounding that their names end with (CUDA Math API, "... Precision Intrinsics" and
// "Type Casting Intrinsics"): _rn to nearest, ties to even; _rd down, _ru up, _rz towards zero.
//
// Directed rounding sets the processor's mode for the one operation. Those to nearest are never fused with another
// operation, as CUDA promises: where the compiler may fuse, a product is made a fused operation that adds -0, a sum one
// that multiplies by 1.
#pragma once

// The number 1, of which the compiler knows nothing. (A short: stores of the kernel's numbers can't change it.)
#ifdef __clang__
__attribute__((visibility("default"), used)) inline short cunumpy_cpu_one = 1;
#else
__attribute__((visibility("default"), externally_visible)) inline short cunumpy_cpu_one = 1;
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <fenv.h>
#endif

namespace cunumpy_cpu {

enum Rounding { TO_NEAREST, DOWN_TO, UP_TO, TO_ZERO };

#if defined(__x86_64__)
typedef unsigned int RoundingState;
template <Rounding rounding>
static inline RoundingState set_rounding() {
    unsigned int old, set;
    asm volatile("stmxcsr %0" : "=m"(old));
    set = (old & ~0x6000u) | (rounding == DOWN_TO ? 0x2000u : rounding == UP_TO ? 0x4000u : 0x6000u);
    asm volatile("ldmxcsr %0" : : "m"(set) : "memory");
    return old;
}
static inline void restore_rounding(RoundingState old) { asm volatile("ldmxcsr %0" : : "m"(old) : "memory"); }
#define CUNUMPY_CPU_FLOAT_REGISTER "x"
#elif defined(__aarch64__)
typedef unsigned long long RoundingState;
template <Rounding rounding>
static inline RoundingState set_rounding() {
    unsigned long long old, set;
    asm volatile("mrs %0, fpcr" : "=r"(old));
    set = (old & ~(3ull << 22)) | (rounding == DOWN_TO ? 2ull : rounding == UP_TO ? 1ull : 3ull) << 22;
    asm volatile("msr fpcr, %0" : : "r"(set) : "memory");
    return old;
}
static inline void restore_rounding(RoundingState old) { asm volatile("msr fpcr, %0" : : "r"(old) : "memory"); }
#define CUNUMPY_CPU_FLOAT_REGISTER "w"
#else
typedef int RoundingState;
template <Rounding rounding>
static inline RoundingState set_rounding() {
    const int old = fegetround();
    fesetround(rounding == DOWN_TO ? FE_DOWNWARD : rounding == UP_TO ? FE_UPWARD : FE_TOWARDZERO);
    return old;
}
static inline void restore_rounding(RoundingState old) { fesetround(old); }
#define CUNUMPY_CPU_FLOAT_REGISTER "m"
#endif

// Keeps the compiler from moving what makes or takes a value over the change of the mode.
static inline double pinned(double v) {
    asm volatile("" : "+" CUNUMPY_CPU_FLOAT_REGISTER(v));
    return v;
}
static inline float pinned(float v) {
    asm volatile("" : "+" CUNUMPY_CPU_FLOAT_REGISTER(v));
    return v;
}
template <class T>
static inline T pinned(T v) {
    asm volatile("" : "+r"(v));
    return v;
}

template <Rounding rounding, class F, class... T>
static inline auto rounded(F operation, T... values) {
    const RoundingState old = set_rounding<rounding>();
    const auto result = pinned(operation(pinned(values)...));
    restore_rounding(old);
    return result;
}

#ifdef __FP_FAST_FMA
static inline double sum_to_nearest(double a, double b) { return __builtin_fma(a, (double)cunumpy_cpu_one, b); }
static inline double product_to_nearest(double a, double b) { return __builtin_fma(a, b, -0.0); }
#else
static inline double sum_to_nearest(double a, double b) { return a + b; }
static inline double product_to_nearest(double a, double b) { return a * b; }
#endif
#ifdef __FP_FAST_FMAF
static inline float sum_to_nearest(float a, float b) { return __builtin_fmaf(a, (float)cunumpy_cpu_one, b); }
static inline float product_to_nearest(float a, float b) { return __builtin_fmaf(a, b, -0.0f); }
#else
static inline float sum_to_nearest(float a, float b) { return a + b; }
static inline float product_to_nearest(float a, float b) { return a * b; }
#endif

// A floating-point number that is an integer, as an integer of type T; out of range gives the nearest that there is, NaN
// gives 0, but the least one for double and for 64 bits, and 2^(bits-1) as unsigned (PTX manual, cvt).
template <class T, class F>
static inline T saturated(F x) {
    constexpr bool is_signed = (T)-1 < (T)0;
    constexpr int bits = 8 * sizeof(T);
    constexpr T top = (T)((T)1 << (bits - 1)), most = is_signed ? (T)~top : (T)~(T)0, least = is_signed ? top : (T)0;
    const F limit = (F)(is_signed ? 1ull << (bits - 2) : 1ull << (bits - 1)) * (F)2;
    if (x != x) return sizeof(F) == 8 || sizeof(T) == 8 ? top : (T)0;
    if (x >= limit) return most;
    if (x < (is_signed ? -limit : (F)0)) return least;
    return (T)x;
}

}  // namespace cunumpy_cpu

// --- arithmetic: __fadd_rn ... and __dadd_rn ... -----------------------------------------------------------------------

#define CUNUMPY_CPU_DIRECTED_2(name, T, expression)                                                              \
    inline T name##_rd(T x, T y) {                                                                               \
        return cunumpy_cpu::rounded<cunumpy_cpu::DOWN_TO>([](T x, T y) { return expression; }, x, y);            \
    }                                                                                                            \
    inline T name##_ru(T x, T y) {                                                                               \
        return cunumpy_cpu::rounded<cunumpy_cpu::UP_TO>([](T x, T y) { return expression; }, x, y);              \
    }                                                                                                            \
    inline T name##_rz(T x, T y) {                                                                               \
        return cunumpy_cpu::rounded<cunumpy_cpu::TO_ZERO>([](T x, T y) { return expression; }, x, y);            \
    }
#define CUNUMPY_CPU_DIRECTED_1(name, From, To, expression)                                                       \
    inline To name##_rd(From x) {                                                                                \
        return cunumpy_cpu::rounded<cunumpy_cpu::DOWN_TO>([](From x) { return (To)(expression); }, x);           \
    }                                                                                                            \
    inline To name##_ru(From x) {                                                                                \
        return cunumpy_cpu::rounded<cunumpy_cpu::UP_TO>([](From x) { return (To)(expression); }, x);             \
    }                                                                                                            \
    inline To name##_rz(From x) {                                                                                \
        return cunumpy_cpu::rounded<cunumpy_cpu::TO_ZERO>([](From x) { return (To)(expression); }, x);           \
    }
#define CUNUMPY_CPU_ARITHMETIC(letter, T, fma_name, fused, root)                                                     \
    inline T __##letter##add_rn(T x, T y) { return cunumpy_cpu::sum_to_nearest(x, y); }                            \
    inline T __##letter##sub_rn(T x, T y) { return cunumpy_cpu::sum_to_nearest(x, -y); }                           \
    inline T __##letter##mul_rn(T x, T y) { return cunumpy_cpu::product_to_nearest(x, y); }                        \
    inline T __##letter##div_rn(T x, T y) { return x / y; }                                                        \
    inline T __##letter##rcp_rn(T x) { return 1 / x; }                                                             \
    inline T __##letter##sqrt_rn(T x) { return root(x); }                                                          \
    inline T fma_name##_rn(T x, T y, T z) { return fused(x, y, z); }                                                 \
    CUNUMPY_CPU_DIRECTED_2(__##letter##add, T, x + y)                                                              \
    CUNUMPY_CPU_DIRECTED_2(__##letter##sub, T, x - y)                                                              \
    CUNUMPY_CPU_DIRECTED_2(__##letter##mul, T, x* y)                                                               \
    CUNUMPY_CPU_DIRECTED_2(__##letter##div, T, x / y)                                                              \
    CUNUMPY_CPU_DIRECTED_1(__##letter##rcp, T, T, 1 / x)                                                           \
    CUNUMPY_CPU_DIRECTED_1(__##letter##sqrt, T, T, root(x))                                                        \
    inline T fma_name##_rd(T x, T y, T z) {                                                                        \
        return cunumpy_cpu::rounded<cunumpy_cpu::DOWN_TO>([](T x, T y, T z) { return fused(x, y, z); }, x, y, z);    \
    }                                                                                                              \
    inline T fma_name##_ru(T x, T y, T z) {                                                                        \
        return cunumpy_cpu::rounded<cunumpy_cpu::UP_TO>([](T x, T y, T z) { return fused(x, y, z); }, x, y, z);      \
    }                                                                                                              \
    inline T fma_name##_rz(T x, T y, T z) {                                                                        \
        return cunumpy_cpu::rounded<cunumpy_cpu::TO_ZERO>([](T x, T y, T z) { return fused(x, y, z); }, x, y, z);    \
    }
CUNUMPY_CPU_ARITHMETIC(f, float, __fmaf, __builtin_fmaf, __builtin_sqrtf)
CUNUMPY_CPU_ARITHMETIC(d, double, __fma, __builtin_fma, __builtin_sqrt)
inline float __frsqrt_rn(float x) { return (float)(1 / __builtin_sqrt((double)x)); }

// --- conversions ------------------------------------------------------------------------------------------------------

#define CUNUMPY_CPU_TO_INTEGER(from, From, to, To, suffix)                                                   \
    inline To __##from##2##to##_rn(From x) { return cunumpy_cpu::saturated<To>(__builtin_rint##suffix(x)); }  \
    inline To __##from##2##to##_rd(From x) { return cunumpy_cpu::saturated<To>(__builtin_floor##suffix(x)); } \
    inline To __##from##2##to##_ru(From x) { return cunumpy_cpu::saturated<To>(__builtin_ceil##suffix(x)); }  \
    inline To __##from##2##to##_rz(From x) { return cunumpy_cpu::saturated<To>(__builtin_trunc##suffix(x)); }
CUNUMPY_CPU_TO_INTEGER(float, float, int, int, f)
CUNUMPY_CPU_TO_INTEGER(float, float, uint, unsigned int, f)
CUNUMPY_CPU_TO_INTEGER(float, float, ll, long long, f)
CUNUMPY_CPU_TO_INTEGER(float, float, ull, unsigned long long, f)
CUNUMPY_CPU_TO_INTEGER(double, double, int, int, )
CUNUMPY_CPU_TO_INTEGER(double, double, uint, unsigned int, )
CUNUMPY_CPU_TO_INTEGER(double, double, ll, long long, )
CUNUMPY_CPU_TO_INTEGER(double, double, ull, unsigned long long, )

#define CUNUMPY_CPU_FROM_INTEGER(from, From, to, To)        \
    inline To __##from##2##to##_rn(From x) { return (To)x; } \
    CUNUMPY_CPU_DIRECTED_1(__##from##2##to, From, To, x)
CUNUMPY_CPU_FROM_INTEGER(int, int, float, float)
CUNUMPY_CPU_FROM_INTEGER(uint, unsigned int, float, float)
CUNUMPY_CPU_FROM_INTEGER(ll, long long, float, float)
CUNUMPY_CPU_FROM_INTEGER(ull, unsigned long long, float, float)
CUNUMPY_CPU_FROM_INTEGER(ll, long long, double, double)
CUNUMPY_CPU_FROM_INTEGER(ull, unsigned long long, double, double)
CUNUMPY_CPU_FROM_INTEGER(double, double, float, float)
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned int x) { return x; }

#undef CUNUMPY_CPU_DIRECTED_2
#undef CUNUMPY_CPU_DIRECTED_1
#undef CUNUMPY_CPU_ARITHMETIC
#undef CUNUMPY_CPU_TO_INTEGER
#undef CUNUMPY_CPU_FROM_INTEGER
#undef CUNUMPY_CPU_FLOAT_REGISTER
