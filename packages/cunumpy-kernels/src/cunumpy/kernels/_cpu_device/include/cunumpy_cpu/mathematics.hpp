// CUDA's mathematics functions: those of C by the compiler's own names for them, so that no header is needed, and those
// that C lacks.
//
// All are templates without need, in a namespace that the global one uses: a function of the same name that a kernel or a
// header of the C library declares is preferred. As in CUDA there are one for double and one for float by the same name,
// and no other, so that an integer as argument is ambiguous.
//
// Errors: those of the C library (glibc: below 1 ulp for most); of the others, 5 ulp in double (I0 and I1: 8), correctly
// rounded but for some 1 in 10^7 arguments in float, which is computed in double.
#pragma once

#include "trap.hpp"

namespace cunumpy_cpu {

constexpr double PI = 3.141592653589793238462643383279502884, SQRT_2 = 1.414213562373095048801688724209698079;
constexpr double INFINITE = __builtin_inf();

// As in C the other one if one is NaN, and +0 above -0; written out, and so that it vectorises, since a call of the C
// library's would be slow.
template <class Bits, class T>
static inline T larger(T x, T y) {
    Bits a, b;
    __builtin_memcpy(&a, &x, sizeof(T));
    __builtin_memcpy(&b, &y, sizeof(T));
    a &= b;  // which only matters for zeros of different sign
    T same, result = x < y ? y : x;
    __builtin_memcpy(&same, &a, sizeof(T));
    result = x != x ? y : result;
    return x == y ? same : result;
}
template <class Bits, class T>
static inline T smaller(T x, T y) {
    return -larger<Bits>(-x, -y);
}

// sin and cos of pi x; |x| < 2^52 is reduced exactly, what is larger is an integer.
static inline void sin_cos_pi(double x, double* sine, double* cosine) {
    const double quarters = __builtin_rint(2 * x);
    const double rest = (x - 0.5 * quarters) * PI;  // in [-pi/4, pi/4]
    const double s = __builtin_sin(rest), c = __builtin_cos(rest);
    const long long quarter = __builtin_fabs(quarters) < 0x1p62 ? (long long)quarters & 3 : 0;
    const double swapped_s = quarter & 1 ? c : s, swapped_c = quarter & 1 ? s : c;
    double value = quarter & 2 ? -swapped_s : swapped_s;
    if (value == 0) value = __builtin_copysign(0.0, x);
    *sine = value;
    value = quarter == 1 || quarter == 2 ? -swapped_c : swapped_c;
    *cosine = value == 0 ? 0.0 : value;
}

// The square root of a sum of squares without overflow; what each term is divided by is a power of two.
static inline double norm_of(const double* values, int count) {
    double most = 0;
    bool infinite = false, nan = false;
    for (int i = 0; i < count; ++i) {
        const double size = __builtin_fabs(values[i]);
        infinite |= size == INFINITE;
        nan |= size != size;
        if (size > most) most = size;
    }
    if (infinite) return INFINITE;
    if (nan) return __builtin_nan("");
    if (most == 0) return 0;
    const int exponent = __builtin_ilogb(most);
    const double scale = __builtin_ldexp(1.0, exponent < -1022 ? 1022 : -exponent);
    double sum = 0;
    for (int i = 0; i < count; ++i) sum = __builtin_fma(values[i] * scale, values[i] * scale, sum);
    return __builtin_sqrt(sum) / scale;
}

// P(X < ...) of the standard normal distribution, inverted. p - 1/2, and the smaller one of p and 1 - p, are given apart,
// since each is exact where the other is not. M. Wichura, Algorithm AS 241, Applied Statistics 37 (1988).
static inline double normal_quantile(double centred, double tail) {
    if (!(tail >= 0)) return __builtin_nan("");
    if (tail == 0) return centred < 0 ? -INFINITE : INFINITE;
    if (__builtin_fabs(centred) <= 0.425) {
        const double r = 0.180625 - centred * centred;
        return centred *
               (((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4) * r +
                    4.5921953931549871457e4) * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r +
                 1.3314166789178437745e2) * r + 3.3871328727963666080e0) /
               (((((((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4) * r +
                    2.1213794301586595867e4) * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r +
                 4.2313330701600911252e1) * r + 1.0);
    }
    double r = __builtin_sqrt(-__builtin_log(tail)), value;
    if (r <= 5) {
        r -= 1.6;
        value = (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r +
                     1.27045825245236838258e0) * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0) * r +
                  4.63033784615654529590e0) * r + 1.42343711074968357734e0) /
                (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r +
                     1.48103976427480074590e-1) * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0) * r +
                  2.05319162663775882187e0) * r + 1.0);
    } else {
        r -= 5;
        value = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r +
                     2.65321895265761230930e-2) * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0) * r +
                  5.46378491116411436990e0) * r + 6.65790464350110377720e0) /
                (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r +
                     7.86869131145613259100e-4) * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r +
                  5.99832206555887937690e-1) * r + 1.0);
    }
    return centred < 0 ? -value : value;
}

// exp(x^2) erfc(x). The square keeps what rounding cuts off; from 12 on the asymptotic series (NIST DLMF 7.12.1).
static inline double scaled_erfc(double x) {
    if (x < -26.7) return INFINITE;
    if (x < 12) {
        const double square = x * x, rest = __builtin_fma(x, x, -square), e = __builtin_exp(square);
        if (x < -6) return 2 * (e + e * rest);  // erfc is 2
        return (e + e * rest) * __builtin_erfc(x);
    }
    const double step = 1 / (2 * x * x);
    double sum = 0;
    for (int k = 12; k > 0; --k) sum = -(2 * k - 1) * step * (1 + sum);
    return (1 + sum) * 0.564189583547756286948079451560772586 / x;  // 1 / sqrt(pi)
}

// The distribution function: erfc of x / sqrt(2), with what the rounding of that quotient cuts off.
static inline double normal_cdf(double x) {
    constexpr double factor = 0.7071067811865475244, factor_rest = -4.8336466567264567e-17;
    if (x < -38.5) return 0;
    if (x > 8.5) return 1;
    const double z = -x * factor, rest = __builtin_fma(-x, factor, -z) - x * factor_rest;
    return 0.5 * (__builtin_erfc(z) - rest * 1.128379167095512573896158903 * __builtin_exp(-z * z));
}

// Of the C library, by names that don't meet its own declarations; clang has no names of its own for these.
extern "C" double system_j0(double x) noexcept asm(CUNUMPY_CPU_SYMBOL "j0");
extern "C" double system_j1(double x) noexcept asm(CUNUMPY_CPU_SYMBOL "j1");
extern "C" double system_y0(double x) noexcept asm(CUNUMPY_CPU_SYMBOL "y0");
extern "C" double system_y1(double x) noexcept asm(CUNUMPY_CPU_SYMBOL "y1");
extern "C" double system_jn(int n, double x) noexcept asm(CUNUMPY_CPU_SYMBOL "jn");
extern "C" double system_yn(int n, double x) noexcept asm(CUNUMPY_CPU_SYMBOL "yn");
extern "C" double system_exp10(double x) noexcept asm(CUNUMPY_CPU_SYMBOL "exp10");  // not on macOS

// Modified Bessel functions I0 and I1: their series, of positive terms (DLMF 10.25.2), and from 20 on the asymptotic one
// (10.40.1), scaled so that it does not overflow before the result does.
static inline double bessel_i(int order, double x) {
    const double size = __builtin_fabs(x);
    double value;
    if (size < 20) {
        const double quarter = 0.25 * size * size;
        double term = order == 0 ? 1 : 0.5 * size;
        value = term;
        for (int k = 1; term > 1e-17 * value; ++k) {
            term *= quarter / ((double)k * (k + order));
            value += term;
        }
    } else if (size < 720) {
        double term = 1, sum = 0, terms[25];
        int count = 0;
        for (int k = 1; k < 25; ++k) {  // from the small ones to the large ones
            term *= ((2 * k - 1) * (2 * k - 1) - 4.0 * order) / (8.0 * k * size);
            terms[count++] = term;
            if (__builtin_fabs(term) < 1e-18) break;
        }
        while (count > 0) sum += terms[--count];
        const double factor = (1 + sum) / __builtin_sqrt(2 * PI * size), root = __builtin_exp(0.5 * size);
        value = size < 700 ? __builtin_exp(size) * factor : root * factor * root;
    } else {
        value = size == size ? INFINITE : size;
    }
    return order == 1 && x < 0 ? -value : value;
}

}  // namespace cunumpy_cpu

namespace cunumpy_cpu_builtins {

#define CUNUMPY_CPU_ANY template <class = void> inline

// --- of C -------------------------------------------------------------------------------------------------------------

#define CUNUMPY_CPU_ONE(name)                                              \
    CUNUMPY_CPU_ANY double name(double x) { return __builtin_##name(x); }  \
    CUNUMPY_CPU_ANY float name(float x) { return __builtin_##name##f(x); } \
    CUNUMPY_CPU_ANY float name##f(float x) { return __builtin_##name##f(x); }
CUNUMPY_CPU_ONE(acos)
CUNUMPY_CPU_ONE(acosh)
CUNUMPY_CPU_ONE(asin)
CUNUMPY_CPU_ONE(asinh)
CUNUMPY_CPU_ONE(atan)
CUNUMPY_CPU_ONE(atanh)
CUNUMPY_CPU_ONE(cbrt)
CUNUMPY_CPU_ONE(ceil)
CUNUMPY_CPU_ONE(cos)
CUNUMPY_CPU_ONE(cosh)
CUNUMPY_CPU_ONE(erf)
CUNUMPY_CPU_ONE(erfc)
CUNUMPY_CPU_ONE(exp)
CUNUMPY_CPU_ONE(exp2)
CUNUMPY_CPU_ONE(expm1)
CUNUMPY_CPU_ONE(fabs)
CUNUMPY_CPU_ONE(floor)
CUNUMPY_CPU_ONE(lgamma)
CUNUMPY_CPU_ONE(log)
CUNUMPY_CPU_ONE(log10)
CUNUMPY_CPU_ONE(log1p)
CUNUMPY_CPU_ONE(log2)
CUNUMPY_CPU_ONE(logb)
CUNUMPY_CPU_ONE(nearbyint)
CUNUMPY_CPU_ONE(rint)
CUNUMPY_CPU_ONE(round)
CUNUMPY_CPU_ONE(sin)
CUNUMPY_CPU_ONE(sinh)
CUNUMPY_CPU_ONE(sqrt)
CUNUMPY_CPU_ONE(tan)
CUNUMPY_CPU_ONE(tanh)
CUNUMPY_CPU_ONE(tgamma)
CUNUMPY_CPU_ONE(trunc)
#undef CUNUMPY_CPU_ONE

#define CUNUMPY_CPU_TWO(name)                                                                \
    CUNUMPY_CPU_ANY double name(double x, double y) { return __builtin_##name(x, y); }       \
    CUNUMPY_CPU_ANY float name(float x, float y) { return __builtin_##name##f(x, y); }       \
    CUNUMPY_CPU_ANY float name##f(float x, float y) { return __builtin_##name##f(x, y); }
CUNUMPY_CPU_TWO(atan2)
CUNUMPY_CPU_TWO(copysign)
CUNUMPY_CPU_TWO(fdim)
CUNUMPY_CPU_TWO(fmod)
CUNUMPY_CPU_TWO(hypot)
CUNUMPY_CPU_TWO(nextafter)
CUNUMPY_CPU_TWO(pow)
CUNUMPY_CPU_TWO(remainder)
#undef CUNUMPY_CPU_TWO
CUNUMPY_CPU_ANY double pow(double x, int n) { return __builtin_pow(x, n); }
CUNUMPY_CPU_ANY float pow(float x, int n) { return __builtin_powf(x, (float)n); }

#define CUNUMPY_CPU_EXTREMES(T, Bits, suffix)                                                         \
    CUNUMPY_CPU_ANY T fmax##suffix(T x, T y) { return cunumpy_cpu::larger<Bits>(x, y); }              \
    CUNUMPY_CPU_ANY T fmin##suffix(T x, T y) { return cunumpy_cpu::smaller<Bits>(x, y); }
CUNUMPY_CPU_EXTREMES(double, unsigned long long, )
CUNUMPY_CPU_EXTREMES(float, unsigned int, )
CUNUMPY_CPU_EXTREMES(float, unsigned int, f)
#undef CUNUMPY_CPU_EXTREMES

CUNUMPY_CPU_ANY double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
CUNUMPY_CPU_ANY float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
CUNUMPY_CPU_ANY float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
CUNUMPY_CPU_ANY double frexp(double x, int* exponent) { return __builtin_frexp(x, exponent); }
CUNUMPY_CPU_ANY float frexp(float x, int* exponent) { return __builtin_frexpf(x, exponent); }
CUNUMPY_CPU_ANY float frexpf(float x, int* exponent) { return __builtin_frexpf(x, exponent); }
CUNUMPY_CPU_ANY double ldexp(double x, int exponent) { return __builtin_ldexp(x, exponent); }
CUNUMPY_CPU_ANY float ldexp(float x, int exponent) { return __builtin_ldexpf(x, exponent); }
CUNUMPY_CPU_ANY float ldexpf(float x, int exponent) { return __builtin_ldexpf(x, exponent); }
CUNUMPY_CPU_ANY double scalbn(double x, int exponent) { return __builtin_scalbn(x, exponent); }
CUNUMPY_CPU_ANY float scalbn(float x, int exponent) { return __builtin_scalbnf(x, exponent); }
CUNUMPY_CPU_ANY float scalbnf(float x, int exponent) { return __builtin_scalbnf(x, exponent); }
CUNUMPY_CPU_ANY double scalbln(double x, long exponent) { return __builtin_scalbln(x, exponent); }
CUNUMPY_CPU_ANY float scalbln(float x, long exponent) { return __builtin_scalblnf(x, exponent); }
CUNUMPY_CPU_ANY float scalblnf(float x, long exponent) { return __builtin_scalblnf(x, exponent); }
CUNUMPY_CPU_ANY double modf(double x, double* whole) { return __builtin_modf(x, whole); }
CUNUMPY_CPU_ANY float modf(float x, float* whole) { return __builtin_modff(x, whole); }
CUNUMPY_CPU_ANY float modff(float x, float* whole) { return __builtin_modff(x, whole); }
CUNUMPY_CPU_ANY double remquo(double x, double y, int* quotient) { return __builtin_remquo(x, y, quotient); }
CUNUMPY_CPU_ANY float remquo(float x, float y, int* quotient) { return __builtin_remquof(x, y, quotient); }
CUNUMPY_CPU_ANY float remquof(float x, float y, int* quotient) { return __builtin_remquof(x, y, quotient); }
CUNUMPY_CPU_ANY double nan(const char* tag) { return __builtin_nan(tag); }
CUNUMPY_CPU_ANY float nanf(const char* tag) { return __builtin_nanf(tag); }

#define CUNUMPY_CPU_TO_INTEGER(name, Result)                                 \
    CUNUMPY_CPU_ANY Result name(double x) { return __builtin_##name(x); }    \
    CUNUMPY_CPU_ANY Result name(float x) { return __builtin_##name##f(x); }  \
    CUNUMPY_CPU_ANY Result name##f(float x) { return __builtin_##name##f(x); }
CUNUMPY_CPU_TO_INTEGER(ilogb, int)
CUNUMPY_CPU_TO_INTEGER(lrint, long)
CUNUMPY_CPU_TO_INTEGER(lround, long)
CUNUMPY_CPU_TO_INTEGER(llrint, long long)
CUNUMPY_CPU_TO_INTEGER(llround, long long)
#undef CUNUMPY_CPU_TO_INTEGER

#define CUNUMPY_CPU_IS(name)                                                      \
    CUNUMPY_CPU_ANY bool name(double x) { return __builtin_##name(x) != 0; }      \
    CUNUMPY_CPU_ANY bool name(float x) { return __builtin_##name(x) != 0; }       \
    CUNUMPY_CPU_ANY bool name(long double x) { return __builtin_##name(x) != 0; }
CUNUMPY_CPU_IS(isfinite)
CUNUMPY_CPU_IS(isinf)
CUNUMPY_CPU_IS(isnan)
CUNUMPY_CPU_IS(signbit)
#undef CUNUMPY_CPU_IS

CUNUMPY_CPU_ANY int abs(int x) { return x < 0 ? (int)(0u - (unsigned int)x) : x; }
CUNUMPY_CPU_ANY long abs(long x) { return x < 0 ? (long)(0ul - (unsigned long)x) : x; }
CUNUMPY_CPU_ANY long long abs(long long x) { return x < 0 ? (long long)(0ull - (unsigned long long)x) : x; }
CUNUMPY_CPU_ANY double abs(double x) { return __builtin_fabs(x); }
CUNUMPY_CPU_ANY float abs(float x) { return __builtin_fabsf(x); }
CUNUMPY_CPU_ANY long labs(long x) { return abs(x); }
CUNUMPY_CPU_ANY long long llabs(long long x) { return abs(x); }

// --- what C lacks -----------------------------------------------------------------------------------------------------

#define CUNUMPY_CPU_OWN(name, expression)                                   \
    CUNUMPY_CPU_ANY double name(double x) { return expression; }            \
    CUNUMPY_CPU_ANY float name##f(float y) {                                \
        const double x = y;                                                 \
        return (float)(expression);                                         \
    }                                                                       \
    CUNUMPY_CPU_ANY float name(float y) { return name##f(y); }
CUNUMPY_CPU_OWN(rsqrt, 1 / __builtin_sqrt(x))
CUNUMPY_CPU_OWN(rcbrt, 1 / __builtin_cbrt(x))
#ifdef __APPLE__
CUNUMPY_CPU_OWN(exp10, __builtin_pow(10.0, x))
#else
CUNUMPY_CPU_OWN(exp10, cunumpy_cpu::system_exp10(x))
#endif
CUNUMPY_CPU_OWN(normcdf, cunumpy_cpu::normal_cdf(x))
CUNUMPY_CPU_OWN(normcdfinv, cunumpy_cpu::normal_quantile(x - 0.5, x < 0.5 ? x : 1 - x))
CUNUMPY_CPU_OWN(erfinv, cunumpy_cpu::normal_quantile(0.5 * x, 0.5 - 0.5 * __builtin_fabs(x)) / cunumpy_cpu::SQRT_2)
CUNUMPY_CPU_OWN(erfcinv, cunumpy_cpu::normal_quantile(0.5 - 0.5 * x, x < 1 ? 0.5 * x : 1 - 0.5 * x) / cunumpy_cpu::SQRT_2)
CUNUMPY_CPU_OWN(erfcx, cunumpy_cpu::scaled_erfc(x))
CUNUMPY_CPU_OWN(j0, cunumpy_cpu::system_j0(x))
CUNUMPY_CPU_OWN(j1, cunumpy_cpu::system_j1(x))
CUNUMPY_CPU_OWN(y0, cunumpy_cpu::system_y0(x))
CUNUMPY_CPU_OWN(y1, cunumpy_cpu::system_y1(x))
CUNUMPY_CPU_OWN(cyl_bessel_i0, cunumpy_cpu::bessel_i(0, x))
CUNUMPY_CPU_OWN(cyl_bessel_i1, cunumpy_cpu::bessel_i(1, x))
#undef CUNUMPY_CPU_OWN

CUNUMPY_CPU_ANY double jn(int n, double x) { return cunumpy_cpu::system_jn(n, x); }
CUNUMPY_CPU_ANY float jnf(int n, float x) { return (float)cunumpy_cpu::system_jn(n, (double)x); }
CUNUMPY_CPU_ANY float jn(int n, float x) { return jnf(n, x); }
CUNUMPY_CPU_ANY double yn(int n, double x) { return cunumpy_cpu::system_yn(n, x); }
CUNUMPY_CPU_ANY float ynf(int n, float x) { return (float)cunumpy_cpu::system_yn(n, (double)x); }
CUNUMPY_CPU_ANY float yn(int n, float x) { return ynf(n, x); }

CUNUMPY_CPU_ANY void sincospi(double x, double* sine, double* cosine) { cunumpy_cpu::sin_cos_pi(x, sine, cosine); }
CUNUMPY_CPU_ANY void sincospif(float x, float* sine, float* cosine) {
    double s, c;
    cunumpy_cpu::sin_cos_pi(x, &s, &c);
    *sine = (float)s, *cosine = (float)c;
}
CUNUMPY_CPU_ANY void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
CUNUMPY_CPU_ANY double sinpi(double x) {
    double s, c;
    cunumpy_cpu::sin_cos_pi(x, &s, &c);
    return s;
}
CUNUMPY_CPU_ANY double cospi(double x) {
    double s, c;
    cunumpy_cpu::sin_cos_pi(x, &s, &c);
    return c;
}
CUNUMPY_CPU_ANY float sinpif(float x) { return (float)sinpi((double)x); }
CUNUMPY_CPU_ANY float sinpi(float x) { return (float)sinpi((double)x); }
CUNUMPY_CPU_ANY float cospif(float x) { return (float)cospi((double)x); }
CUNUMPY_CPU_ANY float cospi(float x) { return (float)cospi((double)x); }
CUNUMPY_CPU_ANY void sincos(double x, double* sine, double* cosine) {
    *sine = __builtin_sin(x);
    *cosine = __builtin_cos(x);
}
CUNUMPY_CPU_ANY void sincosf(float x, float* sine, float* cosine) {
    *sine = __builtin_sinf(x);
    *cosine = __builtin_cosf(x);
}
CUNUMPY_CPU_ANY void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }

CUNUMPY_CPU_ANY double rhypot(double x, double y) { return 1 / __builtin_hypot(x, y); }
CUNUMPY_CPU_ANY float rhypotf(float x, float y) { return (float)(1 / __builtin_hypot((double)x, (double)y)); }
CUNUMPY_CPU_ANY float rhypot(float x, float y) { return rhypotf(x, y); }
CUNUMPY_CPU_ANY double norm3d(double x, double y, double z) {
    const double v[] = {x, y, z};
    return cunumpy_cpu::norm_of(v, 3);
}
CUNUMPY_CPU_ANY double norm4d(double x, double y, double z, double w) {
    const double v[] = {x, y, z, w};
    return cunumpy_cpu::norm_of(v, 4);
}
CUNUMPY_CPU_ANY double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
CUNUMPY_CPU_ANY double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
CUNUMPY_CPU_ANY float norm3df(float x, float y, float z) { return (float)norm3d((double)x, (double)y, (double)z); }
CUNUMPY_CPU_ANY float norm3d(float x, float y, float z) { return norm3df(x, y, z); }
CUNUMPY_CPU_ANY float norm4df(float x, float y, float z, float w) {
    return (float)norm4d((double)x, (double)y, (double)z, (double)w);
}
CUNUMPY_CPU_ANY float norm4d(float x, float y, float z, float w) { return norm4df(x, y, z, w); }
CUNUMPY_CPU_ANY float rnorm3df(float x, float y, float z) { return (float)rnorm3d((double)x, (double)y, (double)z); }
CUNUMPY_CPU_ANY float rnorm3d(float x, float y, float z) { return rnorm3df(x, y, z); }
CUNUMPY_CPU_ANY float rnorm4df(float x, float y, float z, float w) {
    return (float)rnorm4d((double)x, (double)y, (double)z, (double)w);
}
CUNUMPY_CPU_ANY float rnorm4d(float x, float y, float z, float w) { return rnorm4df(x, y, z, w); }
CUNUMPY_CPU_ANY double norm(int count, const double* v) { return cunumpy_cpu::norm_of(v, count); }
CUNUMPY_CPU_ANY double rnorm(int count, const double* v) { return 1 / cunumpy_cpu::norm_of(v, count); }
CUNUMPY_CPU_ANY float normf(int count, const float* v) {
    double sum = 0;  // of squares of floats, which neither overflow nor round in double
    for (int i = 0; i < count; ++i) {
        if (__builtin_isinf(v[i])) return __builtin_inff();
        sum += (double)v[i] * v[i];
    }
    return (float)__builtin_sqrt(sum);
}
CUNUMPY_CPU_ANY float rnormf(int count, const float* v) { return 1 / normf(count, v); }

// --- minimum and maximum: CUDA's mixed types ---------------------------------------------------------------------------

#define CUNUMPY_CPU_MIN_MAX(A, B, Result)                                                          \
    CUNUMPY_CPU_ANY Result min(A x, B y) { return (Result)x < (Result)y ? (Result)x : (Result)y; } \
    CUNUMPY_CPU_ANY Result max(A x, B y) { return (Result)x > (Result)y ? (Result)x : (Result)y; }
CUNUMPY_CPU_MIN_MAX(int, int, int)
CUNUMPY_CPU_MIN_MAX(unsigned int, unsigned int, unsigned int)
CUNUMPY_CPU_MIN_MAX(int, unsigned int, unsigned int)
CUNUMPY_CPU_MIN_MAX(unsigned int, int, unsigned int)
CUNUMPY_CPU_MIN_MAX(long, long, long)
CUNUMPY_CPU_MIN_MAX(unsigned long, unsigned long, unsigned long)
CUNUMPY_CPU_MIN_MAX(long, unsigned long, unsigned long)
CUNUMPY_CPU_MIN_MAX(unsigned long, long, unsigned long)
CUNUMPY_CPU_MIN_MAX(long long, long long, long long)
CUNUMPY_CPU_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
CUNUMPY_CPU_MIN_MAX(long long, unsigned long long, unsigned long long)
CUNUMPY_CPU_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef CUNUMPY_CPU_MIN_MAX
#define CUNUMPY_CPU_MIN_MAX(A, B, Result)                                                        \
    CUNUMPY_CPU_ANY Result min(A x, B y) { return fmin((Result)x, (Result)y); }                  \
    CUNUMPY_CPU_ANY Result max(A x, B y) { return fmax((Result)x, (Result)y); }
CUNUMPY_CPU_MIN_MAX(float, float, float)
CUNUMPY_CPU_MIN_MAX(double, double, double)
CUNUMPY_CPU_MIN_MAX(float, double, double)
CUNUMPY_CPU_MIN_MAX(double, float, double)
#undef CUNUMPY_CPU_MIN_MAX
#define CUNUMPY_CPU_MIN_MAX(prefix, T)                                         \
    CUNUMPY_CPU_ANY T prefix##min(T x, T y) { return x < y ? x : y; }          \
    CUNUMPY_CPU_ANY T prefix##max(T x, T y) { return x > y ? x : y; }
CUNUMPY_CPU_MIN_MAX(u, unsigned int)
CUNUMPY_CPU_MIN_MAX(ll, long long)
CUNUMPY_CPU_MIN_MAX(ull, unsigned long long)
#undef CUNUMPY_CPU_MIN_MAX

CUNUMPY_CPU_ANY float fdividef(float x, float y) { return x / y; }

}  // namespace cunumpy_cpu_builtins

// --- the fast ones: as exact as the others here ------------------------------------------------------------------------

inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline float __tanhf(float x) { return __builtin_tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { cunumpy_cpu_builtins::sincosf(x, sine, cosine); }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __exp10f(float x) { return cunumpy_cpu_builtins::exp10f(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __log10f(float x) { return __builtin_log10f(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 1 ? 1 : x > 0 ? x : 0; }

using namespace cunumpy_cpu_builtins;
