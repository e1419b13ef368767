// Moving rows of any size: gathering them in a given order, and closing the gaps that a mask leaves.
//
// The entries of an array along one axis are `outer` rows of `bytes` contiguous bytes each, `outer_stride` bytes apart;
// one entry is `stride` bytes from the next. Strides may be negative.

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "parallel.hpp"

namespace {

constexpr long long block = 4096;  // entries; their indices stay in the first-level cache for all outer rows

template <size_t bytes>
struct Row {
    static constexpr size_t size() { return bytes; }
    void copy(char *to, const char *from) const { memcpy(to, from, bytes); }
};

struct AnyRow {
    size_t bytes;
    size_t size() const { return bytes; }
    void copy(char *to, const char *from) const { memmove(to, from, bytes); }
};

template <class F>
void with_row(long long bytes, F &&f) {
    switch (bytes) {
        case 1: return f(Row<1>{});
        case 2: return f(Row<2>{});
        case 4: return f(Row<4>{});
        case 8: return f(Row<8>{});
        case 12: return f(Row<12>{});
        case 16: return f(Row<16>{});
        case 24: return f(Row<24>{});
        case 32: return f(Row<32>{});
        case 48: return f(Row<48>{});
        case 64: return f(Row<64>{});
        default: return f(AnyRow{size_t(bytes)});
    }
}

}  // namespace

extern "C" CUNUMPY_EXPORT void cunumpy_algorithms_gather(const char *from, long long from_stride, long long from_outer,
                                                         char *to, long long to_stride, long long to_outer,
                                                         long long outer, long long bytes, const int64_t *order,
                                                         long long n, int threads) {
    with_row(bytes, [=](auto row) {
        cunumpy_parallel(n, threads, [=](long long begin, long long end, int) {
            for (long long first = begin; first < end; first += block) {
                const long long last = first + block < end ? first + block : end;
                for (long long k = 0; k < outer; ++k) {
                    const char *source = from + k * from_outer;
                    char *target = to + k * to_outer;
                    for (long long i = first; i < last; ++i) row.copy(target + i * to_stride, source + order[i] * from_stride);
                }
            }
        });
    });
}

namespace {

// 1 in each of 8 bytes that is not 0: a bool of another program need not be 1.
uint64_t ones_of(const uint8_t *mask) {
    uint64_t bytes;
    memcpy(&bytes, mask, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return (((bytes & 0x7F7F7F7F7F7F7F7FULL) + 0x7F7F7F7F7F7F7F7FULL) | bytes) >> 7 & 0x0101010101010101ULL;
}

// Bit i tells whether byte i of 64 is not 0; beyond `n` none is.
uint64_t bits_of(const uint8_t *mask, long long n) {
    uint64_t bits = 0;
    if (n >= 64)
        for (int k = 0; k < 8; ++k) bits |= (ones_of(mask + 8 * k) * 0x0102040810204080ULL >> 56) << 8 * k;
    else
        for (long long i = 0; i < n; ++i) bits |= uint64_t(mask[i] != 0) << i;
    return bits;
}

// Move the runs of set entries in [first, last) to `place` and following, which is not behind them.
template <class R>
void close_gaps(const R &row, const uint8_t *mask, long long first, long long last, char *base, long long stride,
                long long outer, long long outer_stride, long long place) {
    const bool contiguous = stride == (long long)row.size();
    // A run may continue from one group of 64 to the next: [begin, end) is the one that is open.
    long long begin = first, end = first;
    const auto move = [&] {
        if (begin == end) return;
        if (place != begin)
            for (long long k = 0; k < outer; ++k) {
                char *rows = base + k * outer_stride;
                if (contiguous)
                    memmove(rows + place * stride, rows + begin * stride, size_t(end - begin) * row.size());
                else
                    for (long long i = 0; i < end - begin; ++i) row.copy(rows + (place + i) * stride, rows + (begin + i) * stride);
            }
        place += end - begin;
    };
    for (long long group = first; group < last; group += 64) {
        uint64_t bits = bits_of(mask + group, last - group);
        while (bits) {
            const int skip = __builtin_ctzll(bits);
            const uint64_t rest = ~(bits >> skip);
            const int length = rest ? __builtin_ctzll(rest) : 64;
            if (group + skip != end) {
                move();
                begin = end = group + skip;
            }
            end += length;
            bits = skip + length < 64 ? bits & ~uint64_t(0) << (skip + length) : 0;
        }
    }
    move();
}

// The same for small rows, of which it is quicker to copy too many than to look for runs.
template <class R>
void close_gaps_by_row(const R &row, const uint8_t *mask, long long first, long long last, char *base, long long stride,
                       long long outer, long long outer_stride, long long place) {
    while (last > first && !mask[last - 1]) --last;  // so that nothing is written behind the last place
    for (long long k = 0; k < outer; ++k) {
        const char *from = base + k * outer_stride + first * stride;
        char *to = base + k * outer_stride + place * stride;
        long long i = first;
        for (; i + 8 <= last; i += 8, from += 8 * stride) {
            const uint64_t counts = ones_of(mask + i) * 0x0101010101010101ULL;  // byte k: how many of 0 .. k
            for (int k = 0; k < 8; ++k) row.copy(to + (long long)(counts << 8 >> 8 * k & 255) * stride, from + k * stride);
            to += (long long)(counts >> 56) * stride;
        }
        for (; i < last; ++i, from += stride) {
            row.copy(to, from);
            to += mask[i] ? stride : 0;
        }
    }
}

}  // namespace

// Write how many entries are set before each block of 4096, and at the end their number.
extern "C" CUNUMPY_EXPORT void cunumpy_algorithms_mask_counts(const uint8_t *mask, long long n, int64_t *places,
                                                              int threads) {
    const long long blocks = (n + block - 1) / block;
    cunumpy_parallel(blocks * 64, threads, [=](long long begin, long long end, int) {
        for (long long k = begin / 64; k < end / 64; ++k) {
            const long long last = (k + 1) * block < n ? (k + 1) * block : n;
            int64_t count = 0;
            for (long long i = k * block; i < last; ++i) count += mask[i] != 0;
            places[k + 1] = count;
        }
    });
    places[0] = 0;
    for (long long k = 0; k < blocks; ++k) places[k + 1] += places[k];
}

// Move the entries whose mask byte is not 0 to the front, in order. `places` is what mask_counts wrote. Threads take
// one block after the other; each waits until those that it writes to have been moved: `moved` has a byte for each.
extern "C" CUNUMPY_EXPORT void cunumpy_algorithms_compact(const uint8_t *mask, long long n, const int64_t *places,
                                                          uint8_t *moved, char *base, long long stride, long long outer,
                                                          long long outer_stride, long long bytes, int threads) {
    const long long blocks = (n + block - 1) / block;
    memset(moved, 0, size_t(blocks));
    std::atomic<long long> claimed{0};
    with_row(bytes, [&](auto row) {
        cunumpy_parallel(64LL * threads, threads, [&](long long, long long, int) {
            for (;;) {
                const long long k = claimed.fetch_add(1, std::memory_order_relaxed);
                if (k >= blocks) return;
                if (places[k] < places[k + 1]) {
                    const long long last = (places[k + 1] - 1) / block;
                    for (long long other = places[k] / block; other <= last && other < k; ++other)
                        while (!__atomic_load_n(moved + other, __ATOMIC_ACQUIRE)) sched_yield();
                    const long long end = (k + 1) * block < n ? (k + 1) * block : n;
                    const bool all = places[k + 1] - places[k] == end - k * block;
                    if (row.size() <= 16 && !all)
                        close_gaps_by_row(row, mask, k * block, end, base, stride, outer, outer_stride, places[k]);
                    else
                        close_gaps(row, mask, k * block, end, base, stride, outer, outer_stride, places[k]);
                }
                __atomic_store_n(moved + k, uint8_t(1), __ATOMIC_RELEASE);
            }
        });
    });
}
