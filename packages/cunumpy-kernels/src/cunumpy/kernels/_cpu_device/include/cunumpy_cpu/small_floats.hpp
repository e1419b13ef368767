// Floating-point numbers of 16 bits, as bits: rounded from double once, by any rounding, and exact as float.
#pragma once

#include "atomics.hpp"
#include "integers.hpp"
#include "mathematics.hpp"
#include "memory.hpp"
#include "rounding.hpp"
#include "warps.hpp"

namespace cunumpy_cpu {

// half: 5 bits of exponent, 10 of fraction; bfloat16: 8 and 7.
template <int exponent_bits, int fraction_bits>
struct SmallFloat {
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr unsigned short infinity = ((1 << exponent_bits) - 1) << fraction_bits, nan = 0x7fff;

    template <Rounding rounding>
    static inline unsigned short of(double x) {
        const unsigned long long bits = bits_as<unsigned long long>(x);
        const unsigned int sign = (unsigned int)(bits >> 63);
        if (x != x) return nan;
        const bool away = rounding == UP_TO ? sign == 0 : rounding == DOWN_TO ? sign == 1 : false;
        int exponent = (int)(bits >> 52 & 2047) - 1023;
        unsigned long long fraction = (bits & 0xfffffffffffffull) | 1ull << 52;
        if (exponent == 1024) return (unsigned short)(sign << 15 | infinity);
        if (exponent == -1023) {  // zero, or so small that only its being there counts
            if ((bits << 1) == 0) return (unsigned short)(sign << 15);
            return (unsigned short)(sign << 15 | (away ? 1 : 0));
        }
        int cut = 52 - fraction_bits;
        if (exponent < 1 - bias) cut += 1 - bias - exponent;  // becomes subnormal
        if (cut > 54) cut = 54, fraction = 1;                 // below a quarter of the least number
        unsigned int result = (unsigned int)(fraction >> cut);
        const unsigned long long rest = fraction & ((1ull << cut) - 1), half = 1ull << (cut - 1);
        if (rounding == TO_NEAREST ? rest > half || (rest == half && (result & 1)) : rest != 0 && away) ++result;
        // The leading bit of a normal number adds 1 to the exponent, as does a carry.
        if (exponent >= 1 - bias) result += (unsigned int)(exponent + bias - 1) << fraction_bits;
        if (result >= infinity) result = rounding == TO_NEAREST || away ? infinity : infinity - 1;
        return (unsigned short)(sign << 15 | result);
    }

    static inline float to_float(unsigned short x) {
        if (exponent_bits == 8) return bits_as<float>((unsigned int)x << 16);
#ifdef __FLT16_MAX__
        return (float)bits_as<_Float16>(x);
#else
        const unsigned int sign = (unsigned int)(x & 0x8000) << 16, rest = x & 0x7fff;
        if (rest >= infinity) return bits_as<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
        const float size = rest < 0x400 ? (float)rest * 0x1p-24f : bits_as<float>((rest << 13) + (112u << 23));
        return bits_as<float>(bits_as<unsigned int>(size) | sign);
#endif
    }

    static inline unsigned short nearest(float x) {
        if (exponent_bits == 8) {
            const unsigned int bits = bits_as<unsigned int>(x);
            return x != x ? nan : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        }
#ifdef __FLT16_MAX__
        return x != x ? nan : bits_as<unsigned short>((_Float16)x);
#else
        return of<TO_NEAREST>(x);
#endif
    }
};

// An integer as double; of one too large for that the lower bits become one that tells that they were not 0.
static inline double double_of(long long x) {
    if (x > -(1ll << 53) && x < 1ll << 53) return (double)x;
    return (double)((x & ~4095ll) | ((x & 4095) != 0 ? 2048 : 0));
}
static inline double double_of(unsigned long long x) {
    if (x < 1ull << 53) return (double)x;
    return (double)((x & ~4095ull) | ((x & 4095) != 0 ? 2048 : 0));
}

// x y + z, the last bit of which tells whether more follow: safe to be rounded again.
static inline double fused_sticky(double x, double y, double z) {
    const double product = x * y, sum = sum_to_nearest(product, z);  // products of 16-bit numbers are exact
    const double part = sum_to_nearest(sum, -z), error = (product - part) + (z - sum_to_nearest(sum, -part));
    if (error == 0 || error != error || sum != sum) return sum;
    const unsigned long long bits = bits_as<unsigned long long>(sum);
    if (bits & 1) return sum;
    return bits_as<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

template <class T>
static inline T saturated_or_zero(float x) {  // NaN gives 0
    return x != x ? (T)0 : saturated<T>(x);
}

}  // namespace cunumpy_cpu
