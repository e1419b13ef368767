// What Python calls to fill arrays with consecutive Philox numbers; threads share the blocks.

#include "generator.hpp"

#include "export.hpp"
#include "parallel.hpp"
#include "radix_sort.hpp"

typedef unsigned long long u64;
typedef long long i64;

// Calls f(first, n, block) on ranges of whole blocks, which have `numbers` elements each.
template <class F>
static void for_blocks(i64 n, i64 numbers, u64 position, int threads, F&& f) {
    cunumpy_parallel((n + numbers - 1) / numbers, threads, [&](i64 begin, i64 end, int) {
        const i64 first = begin * numbers, last = end * numbers < n ? end * numbers : n;
        f(first, last - first, position + (u64)begin);
    });
}

extern "C" {

#define FILL(kind, type, numbers)                                                                               \
    CUNUMPY_EXPORT void cunumpy_rng_fill_##kind(type* out, i64 n, u64 seed, u64 stream, u64 position, type loc, \
                                                type scale, int threads) {                                      \
        for_blocks(n, numbers, position, threads, [=](i64 first, i64 count, u64 block) {                        \
            CUNUMPY_SELECT(generator_##kind)(out + first, count, seed, stream, block, loc, scale);              \
        });                                                                                                     \
    }

FILL(uniform, double, 2)
FILL(normal, double, 2)
FILL(exponential, double, 2)
FILL(uniformf, float, 4)
FILL(normalf, float, 4)
FILL(exponentialf, float, 4)

CUNUMPY_EXPORT void cunumpy_rng_fill_integers(char* out, i64 n, u64 seed, u64 stream, u64 position, u64 low, u64 span,
                                              int size, int threads) {
    for_blocks(n, 2, position, threads, [=](i64 first, i64 count, u64 block) {
        CUNUMPY_SELECT(generator_integers)(out + first * size, size, count, seed, stream, block, low, span);
    });
}

CUNUMPY_EXPORT void cunumpy_rng_fill_integers_between(char* out, i64 n, u64 seed, u64 stream, u64 position,
                                                      const u64* low, const u64* span, int size, int threads) {
    for_blocks(n, 2, position, threads, [=](i64 first, i64 count, u64 block) {
        CUNUMPY_SELECT(generator_integers_between)
        (out + first * size, size, count, seed, stream, block, low + first, span + first);
    });
}

// The stable order of n keys, which are doubles or unsigned integers. `work` has n words. Returns 1 without memory.
CUNUMPY_EXPORT int cunumpy_rng_order(const uint64_t* keys, i64 n, int floating, int64_t* order, uint64_t* work,
                                     int threads) {
    if (n <= 0) return 0;
    if (floating)
        return !argsort(FloatingKeys<uint64_t>::make(true, false), keys, (size_t)n, order, nullptr, work, threads);
    return !argsort(IntegerKeys<uint64_t>::make(false, false), keys, (size_t)n, order, nullptr, work, threads);
}
}
