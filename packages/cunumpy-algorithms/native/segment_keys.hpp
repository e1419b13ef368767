// Keys of any integer dtype, which name the segments of rows: read in blocks as 64-bit integers, and checked.

#pragma once

#include <stdint.h>
#include <type_traits>

#include "parallel.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define SEGMENTS_RESTRICT __restrict__
#else
#define SEGMENTS_RESTRICT __restrict
#endif

namespace {

constexpr long long BLOCK = 512; // rows whose keys are checked at once: the buffers stay in the L1 cache

enum KeyKind { I8, U8, I16, U16, I32, U32, I64, U64 };

// Keys of any integer dtype. A key that is negative drops its row; with `wrap` it counts from the end instead.
struct Keys {
    const void *data;
    int kind;
    bool wrap;
    long long n_segments;
};

template <class K> inline int64_t widened(K key) { return (int64_t)key; }

template <class K>
int64_t widen(const K *SEGMENTS_RESTRICT keys, long long count, long long n, int64_t *SEGMENTS_RESTRICT out) {
    int64_t outside = 0; // the sign bit collects what is negative or not below n
    for (long long i = 0; i < count; ++i) {
        const int64_t key = widened(keys[i]);
        outside |= key | (int64_t)((uint64_t)(n - 1) - (uint64_t)key);
        out[i] = key;
    }
    return outside;
}

// cunumpy_parallel for every function: its code is compiled once.
using Body = void (*)(void *context, long long begin, long long end, int thread);

void run_parallel(long long n, int threads, Body body, void *context) {
    cunumpy_parallel(n, threads,
                     [=](long long begin, long long end, int thread) { body(context, begin, end, thread); });
}

template <class F> void parallel(long long n, int threads, F &&f) {
    using Function = typename std::remove_reference<F>::type;
    run_parallel(
        n, threads,
        [](void *context, long long begin, long long end, int thread) { (*(Function *)context)(begin, end, thread); },
        &f);
}

// The keys of `count` rows from row `begin` on, as 64-bit integers; `outside` < 0 if one of them is no segment.
// Unsigned keys from 2^63 on come out negative.
const int64_t *load(const Keys &keys, long long begin, long long count, int64_t *buffer, int64_t &outside) {
    const long long n = keys.n_segments;
    const int64_t *result = buffer;
    switch (keys.kind) {
    case I8: outside = widen((const int8_t *)keys.data + begin, count, n, buffer); break;
    case U8: outside = widen((const uint8_t *)keys.data + begin, count, n, buffer); break;
    case I16: outside = widen((const int16_t *)keys.data + begin, count, n, buffer); break;
    case U16: outside = widen((const uint16_t *)keys.data + begin, count, n, buffer); break;
    case I32: outside = widen((const int32_t *)keys.data + begin, count, n, buffer); break;
    case U32: outside = widen((const uint32_t *)keys.data + begin, count, n, buffer); break;
    default: {
        result = (const int64_t *)keys.data + begin;
        const int64_t *own = result;
        int64_t any = 0;
        for (long long i = 0; i < count; ++i) any |= own[i] | (int64_t)((uint64_t)(n - 1) - (uint64_t)own[i]);
        outside = any;
    }
    }
    if (outside < 0 && keys.wrap) {
        for (long long i = 0; i < count; ++i) {
            const int64_t key = result[i];
            buffer[i] = key < 0 && keys.kind != U64 ? key + n : key;
        }
        result = buffer;
    }
    return result;
}

inline int64_t key_at(const Keys &keys, long long i) {
    int64_t buffer[1], outside;
    return load(keys, i, 1, buffer, outside)[0];
}

// Whether a key outside [0, n) is an error rather than a row to drop.
inline bool too_large(const Keys &keys, int64_t key) {
    return key >= keys.n_segments || (key < 0 && (keys.kind == U64 || keys.wrap));
}

// The row of the first such key among keys[begin..end), which are those of the rows from `start` on; -1 without one.
inline long long first_too_large(const Keys &keys, const int64_t *loaded, long long start, long long begin,
                                 long long end) {
    for (long long i = begin; i < end; ++i)
        if (too_large(keys, loaded[i])) return start + i;
    return -1;
}

inline void lower(long long &first, long long candidate) {
    if (candidate >= 0 && (first < 0 || candidate < first)) first = candidate;
}

// The first row whose key is too large, or -1, and whether the keys never decrease.
template <class Visit> long long scan(const Keys &keys, long long n, int threads, bool *sorted, Visit &&visit) {
    threads = threads < 1 ? 1 : threads > 256 ? 256 : threads;
    long long first = -1, firsts[256];
    bool ordered[256];
    for (int t = 0; t < 256; ++t) firsts[t] = -1, ordered[t] = true;
    parallel(n, threads, [&](long long begin, long long end, int thread) {
        int64_t buffer[BLOCK], outside;
        int64_t before = begin > 0 ? key_at(keys, begin - 1) : INT64_MIN;
        bool rising = true;
        for (long long start = begin; start < end; start += BLOCK) {
            const long long count = end - start < BLOCK ? end - start : BLOCK;
            const int64_t *loaded = load(keys, start, count, buffer, outside);
            if (outside < 0 && firsts[thread] < 0) firsts[thread] = first_too_large(keys, loaded, start, 0, count);
            if (rising) { // one look at 512 keys costs little once it has failed
                bool falls = before > loaded[0];
                for (long long i = 1; i < count; ++i) falls |= loaded[i - 1] > loaded[i];
                rising = !falls;
                before = loaded[count - 1];
            }
            visit(start, count, loaded);
        }
        ordered[thread] = rising;
    });
    bool all = true;
    for (int t = 0; t < 256; ++t) lower(first, firsts[t]), all = all && ordered[t];
    if (sorted) *sorted = all;
    return first;
}

} // namespace
