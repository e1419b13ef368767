// Rows added to the segment that a key names: sums, minima, maxima, counts, gathers, scatters, and the grouping of
// sorted keys.
//
// Floating-point rows are added in row order within a segment, whatever the number of threads: of them, only sorted
// keys are shared by threads, split between two runs. Integer sums, minima and maxima do not depend on the order, so
// there every thread may fill accumulators of its own.
//
// Tried for keys in random order, and no faster: sorting rows into buckets of segments that fit in the cache (10^7
// segments), and giving each of two threads a half of the segments, whose rows it picks from all.

#include <limits>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <type_traits>

#include "parallel.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define SEGMENTS_RESTRICT __restrict__
#define PREFETCH(address) __builtin_prefetch(address, 1)
#else
#define PREFETCH(address)
#define SEGMENTS_RESTRICT __restrict
#endif

namespace {

constexpr long long BLOCK = 512; // rows whose keys are checked at once: the buffers stay in the L1 cache
constexpr long long AHEAD = 16;  // rows from asking for an accumulator to adding to it

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

template <class K> long long count_heads(const K *keys, long long begin, long long end, long long *unsorted) {
    long long heads = begin == 0 && end > 0;
    bool falls = false;
    for (long long i = begin > 0 ? begin : 1; i < end; ++i) {
        heads += keys[i - 1] != keys[i];
        falls |= keys[i - 1] > keys[i];
    }
    if (falls)
        for (long long i = begin > 0 ? begin : 1; i < end; ++i)
            if (keys[i - 1] > keys[i]) {
                *unsorted = i;
                break;
            }
    return heads;
}

// First pass (unique == nullptr): the number of runs, or -1 - i if key i is smaller than the one before. Second pass:
// fills.
template <class K> long long boundaries(const K *keys, long long n, int threads, long long *counts, K *unique,
                                        int64_t *starts, int64_t *stops) {
    threads = threads < 1 ? 1 : threads > 256 ? 256 : threads;
    if (!unique) {
        long long unsorted[256], first = -1, total = 0;
        for (int t = 0; t < 256; ++t) unsorted[t] = -1, counts[t] = 0;
        parallel(n, threads, [&](long long begin, long long end, int thread) {
            counts[thread] = count_heads(keys, begin, end, &unsorted[thread]);
        });
        for (int t = 0; t < 256; ++t) lower(first, unsorted[t]), total += counts[t];
        return first < 0 ? total : -1 - first;
    }
    long long total = 0;
    for (int t = 0; t < 256; ++t) {
        const long long count = counts[t];
        counts[t] = total;
        total += count;
    }
    parallel(n, threads, [&](long long begin, long long end, int thread) {
        long long run = counts[thread];
        for (long long i = begin; i < end; ++i) {
            if (i > 0 && keys[i - 1] == keys[i]) continue;
            if (run >= total) return; // the keys changed under our hands
            unique[run] = keys[i];
            starts[run] = i;
            if (run > 0) stops[run - 1] = i;
            ++run;
        }
    });
    if (total > 0) stops[total - 1] = n;
    return total;
}

template <class K> long long lower_bound(const K *keys, long long n, uint64_t cell) {
    long long low = 0;
    while (n > 0) {
        const long long half = n / 2;
        const bool below = std::is_signed<K>::value && keys[low + half] < 0 ? true : (uint64_t)keys[low + half] < cell;
        low = below ? low + half + 1 : low;
        n = below ? n - half - 1 : half;
    }
    return low;
}

inline int64_t higher(int64_t a, int64_t b) { return a > b ? a : b; }

// offsets[k]: the number of rows in cells below k. Returns -1, or the first row found to be out of order or out of
// range.
template <class K> long long offsets_of(const K *cells, long long n, long long n_cells, int threads, int64_t *offsets) {
    threads = threads < 1 ? 1 : threads > 256 ? 256 : threads;
    // a thread has a range of cells and their rows; every row is looked at by somebody even if the cells are not sorted
    long long rows[257], borders[257], failed[256], first = -1;
    rows[0] = borders[0] = 0;
    for (int t = 1; t <= threads; ++t) {
        borders[t] = t == threads ? n_cells : n_cells / threads * t;
        rows[t] = t == threads ? n : lower_bound(cells, n, (uint64_t)borders[t]);
        if (rows[t] < rows[t - 1]) rows[t] = rows[t - 1];
    }
    for (int t = 0; t < threads; ++t) failed[t] = -1;
    offsets[0] = 0;
    parallel(threads * 64, threads, [&](long long begin, long long end, int) {
        for (long long t = begin / 64; t < end / 64; ++t) {
            const uint64_t low = (uint64_t)borders[t], width = (uint64_t)(borders[t + 1] - borders[t]);
            int64_t *mine = offsets + low + 1;
            memset(mine, 0, (size_t)width * sizeof(int64_t));
            const long long start = rows[t], stop = rows[t + 1];
            uint64_t before = 0;
            for (long long i = start; i < stop; ++i) {
                const uint64_t cell = (uint64_t)(int64_t)cells[i] - low;
                if ((cell < before) | (cell >= width)) {
                    failed[t] = i;
                    return;
                }
                mine[cell] = i + 1; // a later row of the same cell overwrites: what remains is the end of the cell
                before = cell;
            }
            // empty cells end where those before them do; maxima by pairs and fours shorten the chain of dependences
            int64_t running = start;
            uint64_t k = 0;
            for (; k + 4 <= width; k += 4) {
                const int64_t a = mine[k], b = higher(a, mine[k + 1]), c = higher(b, mine[k + 2]),
                              d = higher(c, mine[k + 3]);
                mine[k] = higher(running, a);
                mine[k + 1] = higher(running, b);
                mine[k + 2] = higher(running, c);
                mine[k + 3] = running = higher(running, d);
            }
            for (; k < width; ++k) mine[k] = running = higher(running, mine[k]);
        }
    });
    for (int t = 0; t < threads; ++t) lower(first, failed[t]);
    return first;
}

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
