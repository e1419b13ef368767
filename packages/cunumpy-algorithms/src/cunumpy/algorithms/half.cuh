// IEEE half precision by its bits, so that no header of NVIDIA's is needed: numpy.float16.

#ifndef CUNUMPY_ALGORITHMS_HALF_CUH
#define CUNUMPY_ALGORITHMS_HALF_CUH

struct Half {
    unsigned short bits;
    __device__ operator double() const {
        const unsigned int exponent = (bits >> 10) & 31u, fraction = bits & 1023u;
        double value;
        if (exponent == 0)
            value = fraction * 5.9604644775390625e-08;  // 2^-24
        else {
            const unsigned long long biased = exponent == 31 ? 2047 : exponent + 1008;
            value = __longlong_as_double((long long)(biased << 52 | (unsigned long long)fraction << 42));
        }
        return bits & 0x8000u ? -value : value;
    }
};

// Rounds to nearest, ties to even, directly: by way of float some values would be rounded twice.
__device__ __forceinline__ Half to_half(double value) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    const unsigned long long magnitude = bits & 0x7fffffffffffffffull;
    const unsigned int sign = (unsigned int)(bits >> 48) & 0x8000u;
    unsigned int result;
    if (magnitude > 0x7ff0000000000000ull)
        result = 0x7e00u;
    else if (magnitude >= 0x40effe0000000000ull)
        result = 0x7c00u;  // 65520
    else {
        const int exponent = (int)(magnitude >> 52);
        const bool normal = exponent >= 1009;  // 2^-14
        const int shift = normal ? 42 : 1051 - exponent;
        unsigned long long fraction = magnitude & 0xfffffffffffffull;
        if (!normal) fraction |= 1ull << 52;
        if (shift > 60)
            result = 0;
        else {
            result = (unsigned int)(fraction >> shift) + (normal ? (unsigned int)(exponent - 1008) << 10 : 0u);
            const unsigned long long rest = fraction & ((1ull << shift) - 1), half = 1ull << (shift - 1);
            if (rest > half || (rest == half && (result & 1u))) ++result;
        }
    }
    Half h;
    h.bits = (unsigned short)(sign | result);
    return h;
}

#endif
