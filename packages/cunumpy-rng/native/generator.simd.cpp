// Consecutive Philox numbers, batch by batch: the functions of <cunumpy/random.cuh> in loops that compilers vectorise.
//
// Each step has a loop of its own, and keeps the numbers of a block in separate arrays until they are written: a step
// that an instruction set can't do in vectors does not keep the others from it.

#include "generator.hpp"
#include "vector_math.hpp"

#include <cunumpy/random.cuh>

typedef unsigned long long u64;
typedef long long i64;

static const int BATCH = 256;  // blocks; their numbers take a few KiB

static __forceinline__ void batch_words(int n, u64 seed, u64 stream, u64 block, unsigned int (*__restrict w)[BATCH]) {
    for (int i = 0; i < n; ++i) {
        const cunumpy_u32x4 found = cunumpy_random_bits(seed, stream, block + (u64)i);
        w[0][i] = found.v[0];
        w[1][i] = found.v[1];
        w[2][i] = found.v[2];
        w[3][i] = found.v[3];
    }
}

// ---- Real numbers: uniform numbers side by side in rows, then what is made of them ------------------------------------

static __forceinline__ void batch_uniform(int n, u64 seed, u64 stream, u64 block, double (*__restrict x)[BATCH]) {
    unsigned int w[4][BATCH];
    batch_words(n, seed, stream, block, w);
    for (int i = 0; i < n; ++i) x[0][i] = cunumpy_u64_to_uniform(w[0][i], w[1][i]);
    for (int i = 0; i < n; ++i) x[1][i] = cunumpy_u64_to_uniform(w[2][i], w[3][i]);
}

static __forceinline__ void batch_uniform(int n, u64 seed, u64 stream, u64 block, float (*__restrict x)[BATCH]) {
    unsigned int w[4][BATCH];
    batch_words(n, seed, stream, block, w);
    for (int k = 0; k < 4; ++k)
        for (int i = 0; i < n; ++i) x[k][i] = cunumpy_u32_to_uniformf(w[k][i]);
}

struct Uniform {
    template <class T>
    static __forceinline__ void make(int, int, T (*)[BATCH]) {}
};

struct Normal {
    static __forceinline__ void make(int n, int, double (*__restrict x)[BATCH]) {
        for (int i = 0; i < n; ++i) cunumpy_box_muller(x[0][i], x[1][i], &x[0][i], &x[1][i]);
    }
    static __forceinline__ void make(int n, int numbers, float (*__restrict x)[BATCH]) {
        for (int k = 0; k < numbers; k += 2)
            for (int i = 0; i < n; ++i) cunumpy_box_mullerf(x[k][i], x[k + 1][i], &x[k][i], &x[k + 1][i]);
    }
};

struct Exponential {
    static __forceinline__ void make(int n, int numbers, double (*__restrict x)[BATCH]) {
        for (int k = 0; k < numbers; ++k)
            for (int i = 0; i < n; ++i) x[k][i] = 0.0 - cunumpy_log(1.0 - x[k][i]);
    }
    static __forceinline__ void make(int n, int numbers, float (*__restrict x)[BATCH]) {
        for (int k = 0; k < numbers; ++k)
            for (int i = 0; i < n; ++i) x[k][i] = 0.0f - cunumpy_logf(1.0f - x[k][i]);
    }
};

static __forceinline__ void interleave(int blocks, double* __restrict out, const double (*__restrict x)[BATCH],
                                       double loc, double scale) {
    for (int i = 0; i < blocks; ++i) {
        out[2 * i] = loc + scale * x[0][i];
        out[2 * i + 1] = loc + scale * x[1][i];
    }
}

static __forceinline__ void interleave(int blocks, float* __restrict out, const float (*__restrict x)[BATCH], float loc,
                                       float scale) {
    for (int i = 0; i < blocks; ++i) {
        out[4 * i] = loc + scale * x[0][i];
        out[4 * i + 1] = loc + scale * x[1][i];
        out[4 * i + 2] = loc + scale * x[2][i];
        out[4 * i + 3] = loc + scale * x[3][i];
    }
}

template <class Kind, class T>
static __forceinline__ void fill(T* out, i64 n, u64 seed, u64 stream, u64 block, T loc, T scale) {
    const int numbers = 16 / sizeof(T);
    T x[numbers][BATCH];
    while (n > 0) {
        const i64 count = n < numbers * BATCH ? n : numbers * BATCH;
        const int blocks = (int)((count + numbers - 1) / numbers), whole = (int)(count / numbers);
        batch_uniform(blocks, seed, stream, block, x);
        Kind::make(blocks, numbers, x);
        interleave(whole, out, x, loc, scale);
        for (i64 j = (i64)whole * numbers; j < count; ++j)  // the last block is used in part
            out[j] = loc + scale * x[j - (i64)whole * numbers][whole];
        out += count;
        n -= count;
        block += (u64)blocks;
    }
}

#define FILL(name, Kind, type)                                                                       \
    void CUNUMPY_SIMD(name)(type* out, i64 n, u64 seed, u64 stream, u64 block, type loc, type scale) { \
        fill<Kind, type>(out, n, seed, stream, block, loc, scale);                                   \
    }

FILL(generator_uniform, Uniform, double)
FILL(generator_normal, Normal, double)
FILL(generator_exponential, Exponential, double)
FILL(generator_uniformf, Uniform, float)
FILL(generator_normalf, Normal, float)
FILL(generator_exponentialf, Exponential, float)

// ---- Integers -------------------------------------------------------------------------------------------------------

// The integers of whole blocks for a span of 32 bits, which needs products of 32 bits only. Tells whether none has to
// be drawn again; else the results mean nothing.
template <class T>
static __forceinline__ bool short_integers(int blocks, T* __restrict out, const unsigned int (*__restrict w)[BATCH],
                                           u64 low, unsigned int span) {
    unsigned int again = 0;
    for (int i = 0; i < blocks; ++i) {
        for (int k = 0; k < 2; ++k) {
            const u64 part = (u64)w[2 * k + 1][i] * span, product = (u64)w[2 * k][i] * span + (part >> 32);
            // Only where the high one of these two words is 0 can the low half of the product be below the span.
            again |= (unsigned int)product == 0;
            out[2 * i + k] = (T)(low + (product >> 32));
        }
    }
    return again == 0;
}

// The words of a block, as the header has them.
static __forceinline__ cunumpy_u32x4 known_words(const unsigned int (*w)[BATCH], int i) {
    cunumpy_u32x4 found;
    for (int k = 0; k < 4; ++k) found.v[k] = w[k][i];
    return found;
}

template <class T>
static __forceinline__ void integers(T* __restrict out, i64 n, u64 seed, u64 stream, u64 block, u64 low, u64 span) {
    unsigned int w[4][BATCH];
    while (n > 0) {
        const int count = (int)(n < 2 * BATCH ? n : 2 * BATCH), blocks = (count + 1) / 2;
        batch_words(blocks, seed, stream, block, w);
        int j = 0;
        if (span - 1 < UINT64_C(0xFFFFFFFF) && short_integers(count / 2, out, w, low, (unsigned int)span))
            j = count / 2 * 2;
        for (; j < count; ++j) {
            const u64 number = block + (u64)(j / 2);
            out[j] = (T)(low + cunumpy_u64_below(span, j % 2, known_words(w, j / 2), seed, stream, number));
        }
        out += count;
        n -= count;
        block += (u64)blocks;
    }
}

template <class T>
static __forceinline__ void integers_between(T* __restrict out, i64 n, u64 seed, u64 stream, u64 block,
                                             const u64* __restrict low, const u64* __restrict span) {
    unsigned int w[4][BATCH];
    while (n > 0) {
        const int count = (int)(n < 2 * BATCH ? n : 2 * BATCH), blocks = (count + 1) / 2;
        batch_words(blocks, seed, stream, block, w);
        for (int j = 0; j < count; ++j) {
            const u64 number = block + (u64)(j / 2);
            out[j] = (T)(low[j] + cunumpy_u64_below(span[j], j % 2, known_words(w, j / 2), seed, stream, number));
        }
        out += count;
        low += count;
        span += count;
        n -= count;
        block += (u64)blocks;
    }
}

// Signed types take the same bits.
void CUNUMPY_SIMD(generator_integers)(void* out, int size, i64 n, u64 seed, u64 stream, u64 block, u64 low, u64 span) {
    if (size == 1)
        integers((unsigned char*)out, n, seed, stream, block, low, span);
    else if (size == 2)
        integers((unsigned short*)out, n, seed, stream, block, low, span);
    else if (size == 4)
        integers((unsigned int*)out, n, seed, stream, block, low, span);
    else
        integers((u64*)out, n, seed, stream, block, low, span);
}

void CUNUMPY_SIMD(generator_integers_between)(void* out, int size, i64 n, u64 seed, u64 stream, u64 block,
                                              const u64* low, const u64* span) {
    if (size == 1)
        integers_between((unsigned char*)out, n, seed, stream, block, low, span);
    else if (size == 2)
        integers_between((unsigned short*)out, n, seed, stream, block, low, span);
    else if (size == 4)
        integers_between((unsigned int*)out, n, seed, stream, block, low, span);
    else
        integers_between((u64*)out, n, seed, stream, block, low, span);
}
