// Counter-based random numbers: Philox4x32-10, without state, equal on host and device.
//
// Every function takes (seed, stream, counter), each a 64-bit unsigned integer of which all bits count, and computes one
// block of 128 random bits of them, or two doubles, or four floats. Equal arguments give equal numbers on every
// machine and for every launch shape; any difference in any argument gives independent ones. A usual choice is the
// program's seed, the particle's id as the stream, and a counter that counts the blocks drawn for that particle.
//
// Partition of the counter:
//     bits 0-55    the caller's
//     bits 56-63   0; the bounded integers count their (rare) second tries here
// Who draws no bounded integers may use all 64 bits. A kernel with several uses of random numbers gives each its own
// part of the caller's bits, as in `cunumpy_counter`.
//
// Uniform numbers and integers are the same bit for bit everywhere; normal and exponential ones differ by a few units
// in the last place, because mathematics libraries do.
//
// The header needs no other one, and is plain C++11: with __device__ and __forceinline__ defined away it compiles for
// the host, which is how cunumpy.rng is built from it.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11 (2011),
// doi:10.1145/2063384.2063405; checked with the known answers of its implementation, Random123.

#ifndef CUNUMPY_RANDOM_CUH
#define CUNUMPY_RANDOM_CUH

#if !defined(__CUDACC__) && !defined(__HIPCC__)
#include <math.h>
#endif

#if defined(__CUDACC__) || defined(__clang__)
#define CUNUMPY_UNROLL_ROUNDS _Pragma("unroll")
#elif defined(__GNUC__)
#define CUNUMPY_UNROLL_ROUNDS _Pragma("GCC unroll 10")
#else
#define CUNUMPY_UNROLL_ROUNDS
#endif

#define CUNUMPY_PHILOX_M0 0xD2511F53u
#define CUNUMPY_PHILOX_M1 0xCD9E8D57u
#define CUNUMPY_PHILOX_W0 0x9E3779B9u
#define CUNUMPY_PHILOX_W1 0xBB67AE85u

struct cunumpy_u32x4 {
    unsigned int v[4];
};

// ---- Random bits ----------------------------------------------------------------------------------------------------

// The bijection itself: four counter words and two key words in, four random words out.
__device__ __forceinline__ cunumpy_u32x4 cunumpy_philox4x32_10(cunumpy_u32x4 ctr, unsigned int key0, unsigned int key1) {
    CUNUMPY_UNROLL_ROUNDS
    for (int round = 0; round < 10; ++round) {
        const unsigned long long product0 = (unsigned long long)CUNUMPY_PHILOX_M0 * ctr.v[0];
        const unsigned long long product1 = (unsigned long long)CUNUMPY_PHILOX_M1 * ctr.v[2];
        ctr.v[0] = (unsigned int)(product1 >> 32) ^ ctr.v[1] ^ key0;
        ctr.v[1] = (unsigned int)product1;
        ctr.v[2] = (unsigned int)(product0 >> 32) ^ ctr.v[3] ^ key1;
        ctr.v[3] = (unsigned int)product0;
        key0 += CUNUMPY_PHILOX_W0;
        key1 += CUNUMPY_PHILOX_W1;
    }
    return ctr;
}

// The 128 bits of a block. The counter fills the two low words, the stream the two high ones, the seed is the key.
__device__ __forceinline__ cunumpy_u32x4 cunumpy_random_bits(unsigned long long seed, unsigned long long stream,
                                                             unsigned long long counter) {
    cunumpy_u32x4 ctr;
    ctr.v[0] = (unsigned int)counter;
    ctr.v[1] = (unsigned int)(counter >> 32);
    ctr.v[2] = (unsigned int)stream;
    ctr.v[3] = (unsigned int)(stream >> 32);
    return cunumpy_philox4x32_10(ctr, (unsigned int)seed, (unsigned int)(seed >> 32));
}

// A counter for number `index` (below 2^48) of use `use` (below 256) of one stream. Different pairs give different
// counters, which leave the bits free that bounded integers need.
__device__ __forceinline__ unsigned long long cunumpy_counter(unsigned int use, unsigned long long index) {
    return (unsigned long long)(use & 0xFFu) << 48 | (index & 0xFFFFFFFFFFFFull);
}

// ---- Uniform numbers in [0, 1) --------------------------------------------------------------------------------------

// 53 bits of two words, times 2^-53.
__device__ __forceinline__ double cunumpy_u64_to_uniform(unsigned int hi, unsigned int lo) {
    return (double)(long long)(((unsigned long long)hi << 32 | lo) >> 11) * 1.1102230246251565e-16;
}

// 24 bits of a word, times 2^-24.
__device__ __forceinline__ float cunumpy_u32_to_uniformf(unsigned int w) {
    return (float)(int)(w >> 8) * 5.9604644775390625e-8f;
}

__device__ __forceinline__ void cunumpy_uniform2(unsigned long long seed, unsigned long long stream,
                                                 unsigned long long counter, double* u0, double* u1) {
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, counter);
    *u0 = cunumpy_u64_to_uniform(w.v[0], w.v[1]);
    *u1 = cunumpy_u64_to_uniform(w.v[2], w.v[3]);
}

__device__ __forceinline__ double cunumpy_uniform(unsigned long long seed, unsigned long long stream,
                                                  unsigned long long counter) {
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, counter);
    return cunumpy_u64_to_uniform(w.v[0], w.v[1]);
}

__device__ __forceinline__ void cunumpy_uniform4f(unsigned long long seed, unsigned long long stream,
                                                  unsigned long long counter, float* u) {
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, counter);
    u[0] = cunumpy_u32_to_uniformf(w.v[0]);
    u[1] = cunumpy_u32_to_uniformf(w.v[1]);
    u[2] = cunumpy_u32_to_uniformf(w.v[2]);
    u[3] = cunumpy_u32_to_uniformf(w.v[3]);
}

__device__ __forceinline__ float cunumpy_uniformf(unsigned long long seed, unsigned long long stream,
                                                  unsigned long long counter) {
    return cunumpy_u32_to_uniformf(cunumpy_random_bits(seed, stream, counter).v[0]);
}

// ---- Mathematics ----------------------------------------------------------------------------------------------------

// A host build that brings functions which its compiler can vectorise defines CUNUMPY_RANDOM_MATH, and them, first.
#ifndef CUNUMPY_RANDOM_MATH
__device__ __forceinline__ double cunumpy_log(double x) { return log(x); }
__device__ __forceinline__ float cunumpy_logf(float x) { return logf(x); }
__device__ __forceinline__ double cunumpy_cos(double x) { return cos(x); }
__device__ __forceinline__ float cunumpy_cosf(float x) { return cosf(x); }
__device__ __forceinline__ void cunumpy_sincos(double x, double* sine, double* cosine) {
#if defined(__CUDACC__) || defined(__HIPCC__)
    sincos(x, sine, cosine);
#else
    *sine = sin(x);
    *cosine = cos(x);
#endif
}
__device__ __forceinline__ void cunumpy_sincosf(float x, float* sine, float* cosine) {
#if defined(__CUDACC__) || defined(__HIPCC__)
    sincosf(x, sine, cosine);
#else
    *sine = sinf(x);
    *cosine = cosf(x);
#endif
}
#endif

// ---- Normal numbers of mean 0 and variance 1 ------------------------------------------------------------------------

// Box and Muller, of two uniform numbers. The logarithm's argument is in (0, 1], so that the result is finite: at most
// 8.57 (53 bits), or 5.77 (24 bits) in float, which is where the tails end.
__device__ __forceinline__ void cunumpy_box_muller(double u0, double u1, double* z0, double* z1) {
    const double r = sqrt(-2.0 * cunumpy_log(1.0 - u0));
    double sine, cosine;
    cunumpy_sincos(6.283185307179586 * u1, &sine, &cosine);
    *z0 = r * cosine;
    *z1 = r * sine;
}

__device__ __forceinline__ void cunumpy_box_mullerf(float u0, float u1, float* z0, float* z1) {
    const float r = sqrtf(-2.0f * cunumpy_logf(1.0f - u0));
    float sine, cosine;
    cunumpy_sincosf(6.2831855f * u1, &sine, &cosine);
    *z0 = r * cosine;
    *z1 = r * sine;
}

__device__ __forceinline__ void cunumpy_normal2(unsigned long long seed, unsigned long long stream,
                                                unsigned long long counter, double* z0, double* z1) {
    double u0, u1;
    cunumpy_uniform2(seed, stream, counter, &u0, &u1);
    cunumpy_box_muller(u0, u1, z0, z1);
}

__device__ __forceinline__ double cunumpy_normal(unsigned long long seed, unsigned long long stream,
                                                 unsigned long long counter) {
    double u0, u1;
    cunumpy_uniform2(seed, stream, counter, &u0, &u1);
    return sqrt(-2.0 * cunumpy_log(1.0 - u0)) * cunumpy_cos(6.283185307179586 * u1);
}

// Words 0 and 1 give the first two numbers, words 2 and 3 the others.
__device__ __forceinline__ void cunumpy_normal4f(unsigned long long seed, unsigned long long stream,
                                                 unsigned long long counter, float* z) {
    float u[4];
    cunumpy_uniform4f(seed, stream, counter, u);
    cunumpy_box_mullerf(u[0], u[1], &z[0], &z[1]);
    cunumpy_box_mullerf(u[2], u[3], &z[2], &z[3]);
}

__device__ __forceinline__ float cunumpy_normalf(unsigned long long seed, unsigned long long stream,
                                                 unsigned long long counter) {
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, counter);
    return sqrtf(-2.0f * cunumpy_logf(1.0f - cunumpy_u32_to_uniformf(w.v[0]))) *
           cunumpy_cosf(6.2831855f * cunumpy_u32_to_uniformf(w.v[1]));
}

// ---- Exponential numbers of mean 1 ----------------------------------------------------------------------------------

// -log(1 - u) is at least 0, at most 36.7 (53 bits), or 16.6 (24 bits) in float. The subtraction gives 0 where a
// negation would give -0.
__device__ __forceinline__ void cunumpy_exponential2(unsigned long long seed, unsigned long long stream,
                                                     unsigned long long counter, double* e0, double* e1) {
    double u0, u1;
    cunumpy_uniform2(seed, stream, counter, &u0, &u1);
    *e0 = 0.0 - cunumpy_log(1.0 - u0);
    *e1 = 0.0 - cunumpy_log(1.0 - u1);
}

__device__ __forceinline__ double cunumpy_exponential(unsigned long long seed, unsigned long long stream,
                                                      unsigned long long counter) {
    return 0.0 - cunumpy_log(1.0 - cunumpy_uniform(seed, stream, counter));
}

__device__ __forceinline__ void cunumpy_exponential4f(unsigned long long seed, unsigned long long stream,
                                                      unsigned long long counter, float* e) {
    cunumpy_uniform4f(seed, stream, counter, e);
    e[0] = 0.0f - cunumpy_logf(1.0f - e[0]);
    e[1] = 0.0f - cunumpy_logf(1.0f - e[1]);
    e[2] = 0.0f - cunumpy_logf(1.0f - e[2]);
    e[3] = 0.0f - cunumpy_logf(1.0f - e[3]);
}

__device__ __forceinline__ float cunumpy_exponentialf(unsigned long long seed, unsigned long long stream,
                                                      unsigned long long counter) {
    return 0.0f - cunumpy_logf(1.0f - cunumpy_uniformf(seed, stream, counter));
}

// ---- Integers in [0, range), each as probable as any other -----------------------------------------------------------

// The high 64 bits of a product.
__device__ __forceinline__ unsigned long long cunumpy_u64_multiply_high(unsigned long long a, unsigned long long b) {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    const unsigned long long mask = 0xFFFFFFFFull;
    const unsigned long long a0 = a & mask, a1 = a >> 32, b0 = b & mask, b1 = b >> 32;
    const unsigned long long p01 = a0 * b1, p10 = a1 * b0;
    const unsigned long long middle = (a0 * b0 >> 32) + (p01 & mask) + (p10 & mask);
    return a1 * b1 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
#endif
}

// Integer number `pair` (0 or 1) of a block, of which `w` are the words; range 0 stands for 2^64.
//
// Lemire, "Fast random integer generation in an interval", ACM Transactions on Modeling and Computer Simulation 29
// (2019), doi:10.1145/3230636: the high half of bits * range, and another try where the low half says that this
// value would be drawn too often. Try a uses the same word pair of the block with counter + a * 2^56, modulo 2^64. At
// most 255 times: the last try is taken as it is, which has a probability below 2^-255.
__device__ __forceinline__ unsigned long long cunumpy_u64_below(unsigned long long range, int pair, cunumpy_u32x4 w,
                                                                unsigned long long seed, unsigned long long stream,
                                                                unsigned long long counter) {
    unsigned long long bits = (unsigned long long)w.v[2 * pair] << 32 | w.v[2 * pair + 1];
    if (range == 0) return bits;
    if (bits * range < range) {  // only then can the low half be below the threshold, which costs a division
        const unsigned long long threshold = (0ull - range) % range;  // 2^64 modulo range
        for (unsigned long long a = 1; a < 256 && bits * range < threshold; ++a) {
            w = cunumpy_random_bits(seed, stream, counter + (a << 56));
            bits = (unsigned long long)w.v[2 * pair] << 32 | w.v[2 * pair + 1];
        }
    }
    return cunumpy_u64_multiply_high(bits, range);
}

__device__ __forceinline__ void cunumpy_integers2(unsigned long long seed, unsigned long long stream,
                                                  unsigned long long counter, unsigned long long range,
                                                  unsigned long long* i0, unsigned long long* i1) {
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, counter);
    *i0 = cunumpy_u64_below(range, 0, w, seed, stream, counter);
    *i1 = cunumpy_u64_below(range, 1, w, seed, stream, counter);
}

__device__ __forceinline__ unsigned long long cunumpy_integer(unsigned long long seed, unsigned long long stream,
                                                              unsigned long long counter, unsigned long long range) {
    return cunumpy_u64_below(range, 0, cunumpy_random_bits(seed, stream, counter), seed, stream, counter);
}

#endif
