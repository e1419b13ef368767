// The loops over consecutive Philox blocks that generator.simd.cpp has for each instruction set.
#pragma once

#include "isa.hpp"

// Write `n` numbers of the blocks from `block` on: loc + scale * x.
#define CUNUMPY_DECLARE_FILL(name, type)                                                                     \
    CUNUMPY_DECLARE_SIMD(void, name,                                                                         \
                         (type * out, long long n, unsigned long long seed, unsigned long long stream, \
                          unsigned long long block, type loc, type scale))
CUNUMPY_DECLARE_FILL(generator_uniform, double)
CUNUMPY_DECLARE_FILL(generator_normal, double)
CUNUMPY_DECLARE_FILL(generator_exponential, double)
CUNUMPY_DECLARE_FILL(generator_uniformf, float)
CUNUMPY_DECLARE_FILL(generator_normalf, float)
CUNUMPY_DECLARE_FILL(generator_exponentialf, float)

// Write `n` integers of `size` bytes each: low + i with i in [0, span).
CUNUMPY_DECLARE_SIMD(void, generator_integers,
                     (void* out, int size, long long n, unsigned long long seed, unsigned long long stream,
                      unsigned long long block, unsigned long long low, unsigned long long span))
// The same with an end and a span for each integer.
CUNUMPY_DECLARE_SIMD(void, generator_integers_between,
                     (void* out, int size, long long n, unsigned long long seed, unsigned long long stream,
                      unsigned long long block, const unsigned long long* low, const unsigned long long* span))
