// Philox numbers, block by block: the functions of <cunumpy/random.cuh> in loops that compilers vectorise.
//
// Each step has a loop of its own: a step that an instruction set can't do in vectors (AVX2 has no conversion of 64-bit
// integers) does not keep the others from it.

#include "philox.hpp"
#include "vector_math.hpp"

#include <cunumpy/random.cuh>

typedef unsigned long long u64;

static __forceinline__ void two_words(int n, const u64* __restrict seed, const u64* __restrict stream,
                                      const u64* __restrict counter, unsigned int* __restrict w0,
                                      unsigned int* __restrict w1) {
    for (int i = 0; i < n; ++i) {
        const cunumpy_u32x4 w = cunumpy_random_bits(seed[i], stream[i], counter[i]);
        w0[i] = w.v[0];
        w1[i] = w.v[1];
    }
}

static __forceinline__ void four_words(int n, const u64* __restrict seed, const u64* __restrict stream,
                                       const u64* __restrict counter, unsigned int* __restrict w0,
                                       unsigned int* __restrict w1, unsigned int* __restrict w2,
                                       unsigned int* __restrict w3) {
    for (int i = 0; i < n; ++i) {
        const cunumpy_u32x4 w = cunumpy_random_bits(seed[i], stream[i], counter[i]);
        w0[i] = w.v[0];
        w1[i] = w.v[1];
        w2[i] = w.v[2];
        w3[i] = w.v[3];
    }
}

static __forceinline__ void to_uniform(int n, const unsigned int* __restrict high, const unsigned int* __restrict low,
                                       double* __restrict u) {
    for (int i = 0; i < n; ++i) u[i] = cunumpy_u64_to_uniform(high[i], low[i]);
}

void CUNUMPY_SIMD(philox_uniform_block)(int n, const u64* seed, const u64* stream, const u64* counter, double* first,
                                        double* second) {
    unsigned int w[4][PHILOX_BLOCK];
    if (second == nullptr) {
        two_words(n, seed, stream, counter, w[0], w[1]);
    } else {
        four_words(n, seed, stream, counter, w[0], w[1], w[2], w[3]);
        to_uniform(n, w[2], w[3], second);
    }
    to_uniform(n, w[0], w[1], first);
}

void CUNUMPY_SIMD(philox_normal_block)(int n, const u64* seed, const u64* stream, const u64* counter,
                                       double* __restrict first, double* __restrict second) {
    double u0[PHILOX_BLOCK], u1[PHILOX_BLOCK];
    CUNUMPY_SIMD(philox_uniform_block)(n, seed, stream, counter, u0, u1);
    if (second == nullptr) {
        for (int i = 0; i < n; ++i) {
            double dropped;
            cunumpy_box_muller(u0[i], u1[i], &first[i], &dropped);
        }
    } else {
        for (int i = 0; i < n; ++i) cunumpy_box_muller(u0[i], u1[i], &first[i], &second[i]);
    }
}

void CUNUMPY_SIMD(philox_words_block)(int n, const u64* const* words, unsigned int* __restrict out) {
    const u64 *c0 = words[0], *c1 = words[1], *c2 = words[2], *c3 = words[3], *k0 = words[4], *k1 = words[5];
    for (int i = 0; i < n; ++i) {
        cunumpy_u32x4 counter;
        counter.v[0] = (unsigned int)c0[i];
        counter.v[1] = (unsigned int)c1[i];
        counter.v[2] = (unsigned int)c2[i];
        counter.v[3] = (unsigned int)c3[i];
        const cunumpy_u32x4 w = cunumpy_philox4x32_10(counter, (unsigned int)k0[i], (unsigned int)k1[i]);
        out[4 * i] = w.v[0];
        out[4 * i + 1] = w.v[1];
        out[4 * i + 2] = w.v[2];
        out[4 * i + 3] = w.v[3];
    }
}
