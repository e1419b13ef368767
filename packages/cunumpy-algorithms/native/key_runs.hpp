// Runs of equal keys among sorted ones: where each begins and ends.

#pragma once

#include <stdint.h>
#include <string.h>
#include <type_traits>

#include "segment_keys.hpp"

namespace {

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

} // namespace
