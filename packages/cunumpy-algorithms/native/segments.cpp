// Segments, which keys name: sums, minima, maxima, counts, gathers, scatters, and the grouping of sorted keys.

#include <stdint.h>
#include <string.h>

#include "key_runs.hpp"
#include "segment_rows.hpp"

namespace {

template <class W> void gather(const Keys &keys, long long n, const W *SEGMENTS_RESTRICT values,
                               W *SEGMENTS_RESTRICT out, long long m, int threads) {
    parallel(n, threads, [&](long long begin, long long end, int) {
        int64_t buffer[BLOCK], outside;
        for (long long start = begin; start < end; start += BLOCK) {
            const long long count = end - start < BLOCK ? end - start : BLOCK;
            const int64_t *loaded = load(keys, start, count, buffer, outside);
            W *to = out + start * m;
            if (m == 1 && outside >= 0) {
                for (long long i = 0; i < count; ++i) to[i] = values[loaded[i]];
                continue;
            }
            for (long long i = 0; i < count; ++i, to += m) {
                const bool kept = (uint64_t)loaded[i] < (uint64_t)keys.n_segments;
                const W *from = values + (kept ? loaded[i] : 0) * m;
                if (kept)
                    for (long long c = 0; c < m; ++c) to[c] = from[c];
                else
                    memset(to, 0, (size_t)m * sizeof(W));
            }
        }
    });
}

} // namespace

#define SEGMENTS_BY_KIND(kind, call)                                                                                   \
    switch (kind) {                                                                                                    \
    case I8: {                                                                                                         \
        using K = int8_t;                                                                                              \
        return call;                                                                                                   \
    }                                                                                                                  \
    case U8: {                                                                                                         \
        using K = uint8_t;                                                                                             \
        return call;                                                                                                   \
    }                                                                                                                  \
    case I16: {                                                                                                        \
        using K = int16_t;                                                                                             \
        return call;                                                                                                   \
    }                                                                                                                  \
    case U16: {                                                                                                        \
        using K = uint16_t;                                                                                            \
        return call;                                                                                                   \
    }                                                                                                                  \
    case I32: {                                                                                                        \
        using K = int32_t;                                                                                             \
        return call;                                                                                                   \
    }                                                                                                                  \
    case U32: {                                                                                                        \
        using K = uint32_t;                                                                                            \
        return call;                                                                                                   \
    }                                                                                                                  \
    case I64: {                                                                                                        \
        using K = int64_t;                                                                                             \
        return call;                                                                                                   \
    }                                                                                                                  \
    default: {                                                                                                         \
        using K = uint64_t;                                                                                            \
        return call;                                                                                                   \
    }                                                                                                                  \
    }

extern "C" {

// All of these return the first row whose key is not below n_segments (such rows are left out), or -1.

CUNUMPY_EXPORT long long cunumpy_algorithms_segment_sum(int kind, const void *values, long long row_stride, long long n,
                                                        long long m, const void *keys, int key_kind,
                                                        long long n_segments, void *accumulators, int threads,
                                                        int sorted) {
    return wide_sum(kind,
                    make_job(values, row_stride, n, m, keys, key_kind, n_segments, accumulators, threads, sorted));
}

CUNUMPY_EXPORT long long cunumpy_algorithms_segment_extreme(int maximum, int kind, const void *values,
                                                            long long row_stride, long long n, long long m,
                                                            const void *keys, int key_kind, long long n_segments,
                                                            void *accumulators, int threads, int sorted) {
    const Job job = make_job(values, row_stride, n, m, keys, key_kind, n_segments, accumulators, threads, sorted);
    return maximum ? extreme<Max>(kind, job) : extreme<Min>(kind, job);
}

// accumulators[index] += values, negative indices counting from the end, in the dtype of both.
CUNUMPY_EXPORT long long cunumpy_algorithms_scatter_add(int kind, const void *values, long long row_stride, long long n,
                                                        long long m, const void *index, int index_kind,
                                                        long long extent, void *accumulators, int threads) {
    Job job = make_job(values, row_stride, n, m, index, index_kind, extent, accumulators, threads, 0);
    job.keys.wrap = true;
    return narrow_sum(kind, job);
}

// Keys as a plan keeps them: -1 for every row that takes no part.
CUNUMPY_EXPORT long long cunumpy_algorithms_segment_keys(const void *keys, int key_kind, long long n,
                                                         long long n_segments, int threads, int wide, void *out,
                                                         int *sorted) {
    const Keys given{keys, key_kind, false, n_segments};
    bool rising = true;
    const long long first =
        scan(given, n, threads, &rising, [&](long long start, long long count, const int64_t *loaded) {
            if (wide)
                for (long long i = 0; i < count; ++i)
                    ((int64_t *)out)[start + i] = (uint64_t)loaded[i] < (uint64_t)n_segments ? loaded[i] : -1;
            else
                for (long long i = 0; i < count; ++i)
                    ((int32_t *)out)[start + i] = (uint64_t)loaded[i] < (uint64_t)n_segments ? (int32_t)loaded[i] : -1;
        });
    *sorted = rising;
    return first;
}

CUNUMPY_EXPORT long long cunumpy_algorithms_segment_check(const void *keys, int key_kind, long long n,
                                                          long long n_segments, int wrap, int threads, int *sorted) {
    bool rising = true;
    const Keys given{keys, key_kind, wrap != 0, n_segments};
    const long long first = scan(given, n, threads, &rising, [](long long, long long, const int64_t *) {});
    *sorted = rising;
    return first;
}

// Rows of m words of `word` bytes; rows that take no part become zero.
CUNUMPY_EXPORT void cunumpy_algorithms_segment_gather(int word, const void *keys, int key_kind, long long n,
                                                      long long n_segments, const void *values, void *out, long long m,
                                                      int threads) {
    const Keys given{keys, key_kind, false, n_segments};
    switch (word) {
    case 1: gather(given, n, (const uint8_t *)values, (uint8_t *)out, m, threads); break;
    case 2: gather(given, n, (const uint16_t *)values, (uint16_t *)out, m, threads); break;
    case 4: gather(given, n, (const uint32_t *)values, (uint32_t *)out, m, threads); break;
    default: gather(given, n, (const uint64_t *)values, (uint64_t *)out, m, threads);
    }
}

CUNUMPY_EXPORT long long cunumpy_algorithms_segment_boundaries(const void *keys, int kind, long long n, int threads,
                                                               long long *counts, void *unique, int64_t *starts,
                                                               int64_t *stops){
    SEGMENTS_BY_KIND(kind, boundaries((const K *)keys, n, threads, counts, (K *)unique, starts, stops))}

// The first row that is out of order or out of range, or -1.
CUNUMPY_EXPORT long long cunumpy_algorithms_cell_offsets(const void *cells, int kind, long long n, long long n_cells,
                                                         int threads, int64_t *offsets) {
    SEGMENTS_BY_KIND(kind, offsets_of((const K *)cells, n, n_cells, threads, offsets))
}

} // extern "C"
