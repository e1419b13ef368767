// The loops over blocks of Philox numbers that philox.simd.cpp has for each instruction set.
#pragma once

#include "isa.hpp"

// Elements that these functions take at most at once; what they need for it fits the smallest caches and stacks.
static const int PHILOX_BLOCK = 512;

// Numbers i = 0 .. n-1 of (seed[i], stream[i], counter[i]); `second` may be null. The arrays do not overlap.
CUNUMPY_DECLARE_SIMD(void, philox_uniform_block,
                     (int n, const unsigned long long* seed, const unsigned long long* stream,
                      const unsigned long long* counter, double* first, double* second))
CUNUMPY_DECLARE_SIMD(void, philox_normal_block,
                     (int n, const unsigned long long* seed, const unsigned long long* stream,
                      const unsigned long long* counter, double* first, double* second))
// The four words of (counter words c0 .. c3, key words k0, k1), side by side; the upper 32 bits of each are ignored.
CUNUMPY_DECLARE_SIMD(void, philox_words_block,
                     (int n, const unsigned long long* const* words, unsigned int* out))
