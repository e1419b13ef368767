// The mathematics of cunumpy/random.cuh, in a form that compilers vectorise: no calls, no branches, no tables.
//
// Include this before <cunumpy/random.cuh>, in *.simd.cpp files. Only the arguments that the header gives are handled:
// logarithms of numbers in [2^-53, 1], sines and cosines of angles in [0, 2 pi]. All errors are below 1.5 units in
// the last place, also next to the zeros of sine and cosine. Results are the same for every instruction set.
//
// Polynomials and the arrangement of the logarithm: fdlibm, of Sun Microsystems (e_log.c, k_sin.c, k_cos.c).

#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cuda_qualifiers.hpp"

#define CUNUMPY_RANDOM_MATH

static __forceinline__ uint64_t cunumpy_bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static __forceinline__ double cunumpy_double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// log(x) = k log(2) + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f), log(1 + f) is an odd
// polynomial in s.
static __forceinline__ double cunumpy_log(double x) {
    const uint64_t sqrt_half = UINT64_C(0x3FE6A09E00000000), one = UINT64_C(0x3FF0000000000000);
    const uint64_t bits = cunumpy_bits_of(x) + (one - sqrt_half);
    // The exponent made a double without a conversion, which AVX2 lacks for 64-bit integers: 2^52 + k + 1023.
    const double k = cunumpy_double_of(UINT64_C(0x4330000000000000) | bits >> 52) - (4503599627370496.0 + 1023.0);
    const double f = cunumpy_double_of((bits & UINT64_C(0x000FFFFFFFFFFFFF)) + sqrt_half) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s, w = z * z;
    const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double odd = z * (6.666666666666735130e-01 +
                            w * (2.857142874366239149e-01 +
                                 w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double half_square = 0.5 * f * f;
    const double rest = s * (half_square + (odd + even)) + k * 1.90821492927058770002e-10;  // low part of log(2)
    return k * 6.93147180369123816490e-01 - ((half_square - rest) - f);
}

static __forceinline__ void cunumpy_sincos(double x, double* sine, double* cosine) {
    // The nearest multiple of pi/2, rounded by adding 1.5 * 2^52; its low bits tell the quadrant.
    const double shifted = x * 6.36619772367581343e-01 + 6755399441055744.0;
    const uint64_t quadrant = cunumpy_bits_of(shifted);
    const double j = shifted - 6755399441055744.0;
    // pi/2 in three parts of which the first two have 50 bits, so that the products are exact.
    const double r = ((x - j * 1.5707963267948966) - j * 6.123233995736757e-17) - j * 8.4784276603689e-32;
    const double z = r * r;
    const double half_square = 0.5 * z;
    const double w = 1.0 - half_square;
    const double s =
        r + z * r *
                (-1.66666666666666324348e-01 +
                 z * (8.33333333332248946124e-03 +
                      z * (-1.98412698298579493134e-04 +
                           z * (2.75573137070700676789e-06 +
                                z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    const double c =
        w + (((1.0 - w) - half_square) +
             z * z *
                 (4.16666666666666019037e-02 +
                  z * (-1.38888888888741095749e-03 +
                       z * (2.48015872894767294178e-05 +
                            z * (-2.75573143513906633035e-07 +
                                 z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))));
    const uint64_t odd = UINT64_C(0) - (quadrant & 1);  // all bits where sine and cosine change places
    const uint64_t s_bits = cunumpy_bits_of(s), c_bits = cunumpy_bits_of(c);
    *sine = cunumpy_double_of(((s_bits & ~odd) | (c_bits & odd)) ^ (quadrant & 2) << 62);
    *cosine = cunumpy_double_of(((c_bits & ~odd) | (s_bits & odd)) ^ ((quadrant + 1) & 2) << 62);
}

static __forceinline__ double cunumpy_cos(double x) {
    double sine, cosine;
    cunumpy_sincos(x, &sine, &cosine);
    return cosine;
}

// In single precision the same with more digits than asked for, rounded once.
static __forceinline__ float cunumpy_logf(float x) { return (float)cunumpy_log((double)x); }

static __forceinline__ float cunumpy_cosf(float x) { return (float)cunumpy_cos((double)x); }

static __forceinline__ void cunumpy_sincosf(float x, float* sine, float* cosine) {
    double s, c;
    cunumpy_sincos((double)x, &s, &c);
    *sine = (float)s;
    *cosine = (float)c;
}

