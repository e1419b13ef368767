// Rows added to the segment that a key names: sums, minima, maxima.
//
// Floating-point rows are added in row order within a segment, whatever the number of threads: of them, only sorted
// keys are shared by threads, split between two runs. Integer sums, minima and maxima do not depend on the order, so
// there every thread may fill accumulators of its own.
//
// Tried for keys in random order, and no faster: sorting rows into buckets of segments that fit in the cache (10^7
// segments), and giving each of two threads a half of the segments, whose rows it picks from all.

#pragma once

#include <limits>
#include <stdint.h>
#include <stdlib.h>
#include <type_traits>

#include "segment_keys.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address, 1)
#else
#define PREFETCH(address)
#endif

namespace {

constexpr long long AHEAD = 16;  // rows from asking for an accumulator to adding to it

// --- what is done with a row -----------------------------------------------------------------------------------------

struct Add {
    static constexpr bool ORDERED = true; // for floating point
    template <class A, class T> static A apply(A a, T v) { return (A)(a + (A)v); }
    template <class A> static A identity() { return A(0); }
};

template <class A> inline bool is_nan(A a) { return a != a; }

// NaN wins and stays; of equal values the first stays.
struct Min {
    static constexpr bool ORDERED = false;
    template <class A, class T> static A apply(A a, T v) {
        const A given = (A)v;
        if (is_nan(given)) return is_nan(a) ? a : given; // foreseen by the processor, unlike the comparison
        return given < a ? given : a;
    }
    template <class A> static A identity() {
        return std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity()
                                                    : std::numeric_limits<A>::max();
    }
};

struct Max {
    static constexpr bool ORDERED = false;
    template <class A, class T> static A apply(A a, T v) {
        const A given = (A)v;
        if (is_nan(given)) return is_nan(a) ? a : given; // foreseen by the processor, unlike the comparison
        return given > a ? given : a;
    }
    template <class A> static A identity() {
        return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity()
                                                    : std::numeric_limits<A>::lowest();
    }
};

// --- rows and accumulators -------------------------------------------------------------------------------------------

struct Job {
    const char *values;
    long long row_stride; // bytes
    long long n, m;
    Keys keys;
    void *accumulators;
    int threads;
    bool sorted;
};

// Rows of M values of type T, or of job.m values if M is 0, into accumulators of type A.
template <class T, class A, class Op, int M> struct Rows {
    static inline void update(A *SEGMENTS_RESTRICT a, const T *SEGMENTS_RESTRICT v, long long m) {
        if (M) {
            A next[M ? M : 1]; // all are read before one is written: the compiler then takes pairs
            for (int c = 0; c < M; ++c) next[c] = Op::apply(a[c], v[c]);
            for (int c = 0; c < M; ++c) a[c] = next[c];
        } else {
            for (long long c = 0; c < m; ++c) a[c] = Op::apply(a[c], v[c]);
        }
    }

    static inline const T *row(const char *values, long long stride, long long i) {
        return (const T *)(values + i * stride);
    }

    // Rows up to the first one whose key is no segment; returns their number.
    template <class K> static long long block(A *SEGMENTS_RESTRICT accumulators, const char *SEGMENTS_RESTRICT values,
                                              long long stride, const K *SEGMENTS_RESTRICT keys, long long count,
                                              long long m, uint64_t n_segments) {
        const bool packed = M != 0 && stride == (long long)(sizeof(T) * M);
        long long i = 0;
        if (M == 1 && stride == 0) { // counts
            const T one = *(const T *)values;
            for (; i < count && (uint64_t)(int64_t)keys[i] < n_segments; ++i) {
                A *place = accumulators + (int64_t)keys[i];
                *place = Op::apply(*place, one);
            }
            return i;
        }
        if (!packed) {
            for (; i < count && (uint64_t)(int64_t)keys[i] < n_segments; ++i)
                update(accumulators + (int64_t)keys[i] * (M ? M : m), row(values, stride, i), m);
            return i;
        }
        const T *packed_values = (const T *)values;
        int repeats = 0;
        for (long long j = 0; j + 1 < count; j += BLOCK / 16) repeats += keys[j] == keys[j + 1];
        if (repeats < 12) {
            if (M > 1) // rows of one entry need no help to be on time
                for (; i < count - AHEAD && (uint64_t)(int64_t)keys[i] < n_segments; ++i) {
                    PREFETCH(accumulators + (int64_t)keys[i + AHEAD] * M);
                    update(accumulators + (int64_t)keys[i] * M, packed_values + i * M, M);
                }
            for (; i < count && (uint64_t)(int64_t)keys[i] < n_segments; ++i)
                update(accumulators + (int64_t)keys[i] * M, packed_values + i * M, M);
            return i;
        }
        while (i < count &&
               (uint64_t)(int64_t)keys[i] <
                   n_segments) { // a run is added in registers: through memory each addition would wait for the last
            const K key = keys[i];
            A *place = accumulators + (int64_t)key * M, held[M ? M : 1];
            for (int c = 0; c < M; ++c) held[c] = place[c];
            do {
                update(held, packed_values + i * M, M);
                ++i;
            } while (i < count && keys[i] == key);
            for (int c = 0; c < M; ++c) place[c] = held[c];
        }
        return i;
    }

    // Rows [begin, end); returns the first one whose key is too large, or -1.
    static long long range(const Job &job, A *accumulators, long long begin, long long end) {
        long long first = -1;
        const long long m = M ? M : job.m;
        const uint64_t n_segments = (uint64_t)job.keys.n_segments;
        int64_t buffer[BLOCK], kept_keys[BLOCK];
        int32_t kept[BLOCK];
        for (long long start = begin; start < end; start += BLOCK) {
            const long long count = end - start < BLOCK ? end - start : BLOCK;
            const char *values = job.values + start * job.row_stride;
            const int64_t *keys;
            long long done;
            if (job.keys.kind == I32 && !job.keys.wrap) {
                done = block(accumulators, values, job.row_stride, (const int32_t *)job.keys.data + start, count, m,
                             n_segments);
                if (done == count) continue;
                int64_t outside;
                keys = load(job.keys, start, count, buffer, outside);
            } else {
                if ((job.keys.kind == I64 || job.keys.kind == U64) && !job.keys.wrap) {
                    keys = (const int64_t *)job.keys.data + start;
                } else {
                    int64_t outside;
                    keys = load(job.keys, start, count, buffer, outside);
                }
                done = block(accumulators, values, job.row_stride, keys, count, m, n_segments);
                if (done == count) continue;
            }
            long long n_kept = 0;
            for (long long i = done; i < count; ++i) { // without branches: dropped rows may come in any pattern
                kept[n_kept] = (int32_t)i;
                kept_keys[n_kept] = keys[i];
                n_kept += (uint64_t)keys[i] < n_segments;
            }
            if (first < 0) first = first_too_large(job.keys, keys, start, done, count);
            for (long long i = 0; i < n_kept; ++i)
                update(accumulators + kept_keys[i] * m, row(values, job.row_stride, kept[i]), m);
        }
        return first;
    }

    static long long sorted_rows(const Job &job) {
        long long first = -1;
        long long firsts[256];
        for (int t = 0; t < 256; ++t) firsts[t] = -1;
        parallel(job.n, job.threads, [&](long long begin, long long end, int thread) {
            // whoever has the first row of a segment does all of it
            if (begin > 0) {
                const int64_t before = key_at(job.keys, begin - 1);
                while (begin < end && key_at(job.keys, begin) == before) ++begin;
                if (begin == end) return;
            }
            const int64_t last = key_at(job.keys, end - 1);
            while (end < job.n && key_at(job.keys, end) == last) ++end;
            firsts[thread] = range(job, (A *)job.accumulators, begin, end);
        });
        for (int t = 0; t < 256; ++t) lower(first, firsts[t]);
        return first;
    }

    // Every thread with accumulators of its own, merged in the order of the rows; false if there is no memory.
    static bool private_rows(const Job &job, long long &first) {
        const long long size = job.keys.n_segments * job.m;
        A *copies = (A *)malloc((size_t)((job.threads - 1) * size) * sizeof(A));
        if (!copies) return false;
        long long firsts[256];
        for (int t = 0; t < 256; ++t) firsts[t] = -1;
        bool used[256] = {};
        parallel(job.n, job.threads, [&](long long begin, long long end, int thread) {
            A *mine = thread ? copies + (thread - 1) * size : (A *)job.accumulators;
            if (thread)
                for (long long i = 0; i < size; ++i) mine[i] = Op::template identity<A>();
            used[thread] = true;
            firsts[thread] = range(job, mine, begin, end);
        });
        for (int t = 0; t < 256; ++t) lower(first, firsts[t]);
        A *total = (A *)job.accumulators;
        for (int t = 1; t < job.threads; ++t)
            if (used[t]) update_all(total, copies + (t - 1) * size, size);
        free(copies);
        return true;
    }

    static void update_all(A *SEGMENTS_RESTRICT total, const A *SEGMENTS_RESTRICT part, long long size) {
        for (long long i = 0; i < size; ++i) total[i] = Op::apply(total[i], part[i]);
    }

    static long long run(const Job &job) {
        const long long size = job.keys.n_segments * job.m;
        const bool free_order = !Op::ORDERED || !std::is_floating_point<A>::value;
        long long first = -1;
        if (job.sorted && job.threads > 1) return sorted_rows(job);
        if (!job.sorted && free_order && job.threads > 1 && size <= job.n / job.threads && private_rows(job, first))
            return first;
        return range(job, (A *)job.accumulators, 0, job.n);
    }
};

template <class T, class A, class Op> long long unrolled(const Job &job) {
    switch (job.m) {
    case 1: return Rows<T, A, Op, 1>::run(job);
    case 2: return Rows<T, A, Op, 2>::run(job);
    case 3: return Rows<T, A, Op, 3>::run(job);
    case 4: return Rows<T, A, Op, 4>::run(job);
    default: return Rows<T, A, Op, 0>::run(job);
    }
}

template <class T, class A, class Op> long long plain(const Job &job) {
    return job.m == 1 ? Rows<T, A, Op, 1>::run(job) : Rows<T, A, Op, 0>::run(job);
}

// Values of 8 and 16 bits come as 32 bits, bool as unsigned, complex as pairs.
enum ValueKind { F32 = 8, F64 = 9 }; // after the integers of KeyKind

template <class Op> long long extreme(int kind, const Job &job) {
    switch (kind) {
    case I32: return plain<int32_t, int32_t, Op>(job);
    case U32: return plain<uint32_t, uint32_t, Op>(job);
    case I64: return plain<int64_t, int64_t, Op>(job);
    case U64: return plain<uint64_t, uint64_t, Op>(job);
    case F32: return plain<float, float, Op>(job);
    default: return plain<double, double, Op>(job);
    }
}

// Sums of integers are modulo 2^64: the same bits for signed and unsigned.
long long wide_sum(int kind, const Job &job) {
    switch (kind) {
    case I32: return plain<int32_t, uint64_t, Add>(job);
    case U32: return plain<uint32_t, uint64_t, Add>(job);
    case I64:
    case U64: return plain<uint64_t, uint64_t, Add>(job);
    case F32: return unrolled<float, double, Add>(job);
    default: return unrolled<double, double, Add>(job);
    }
}

// Sums in the dtype of the values.
long long narrow_sum(int kind, const Job &job) {
    switch (kind) {
    case I32:
    case U32: return plain<uint32_t, uint32_t, Add>(job);
    case I64:
    case U64: return plain<uint64_t, uint64_t, Add>(job);
    case F32: return unrolled<float, float, Add>(job);
    default: return unrolled<double, double, Add>(job);
    }
}

Job make_job(const void *values, long long row_stride, long long n, long long m, const void *keys, int key_kind,
             long long n_segments, void *accumulators, int threads, int sorted) {
    return Job{(const char *)values,
               row_stride,
               n,
               m,
               Keys{keys, key_kind, false, n_segments},
               accumulators,
               threads < 1     ? 1
               : threads > 256 ? 256
                               : threads,
               sorted != 0};
}

} // namespace
