// Stable argsort of fixed-width keys by radix partitioning.
//
// Keys become order-preserving unsigned codes. A word of 64 bits holds as many leading bits of (code - smallest code) as
// fit, above the key's index; words are distinct, so sorting them is stable. One partition by the leading digit, shared
// by the threads, leaves parts that stay in a core's cache until they are sorted and written out. Where the code has
// more bits than fit beside the index, words with equal leading bits are sorted again by the bits left out.
//
// Memory: one word per key, besides the results, which serve as buffers; less than half a word more for wide keys.
//
// Everything has internal linkage, so that files compiled for different instruction sets do not share it.

#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "parallel.hpp"

namespace {

// --- keys --------------------------------------------------------------------------------------------------------------

template <class Word>
constexpr Word sign_bit = Word(Word(1) << (8 * sizeof(Word) - 1));

// Integers: `flip` is the sign bit for signed keys, and its complement for descending order.
template <class Word>
struct IntegerKeys {
    using word_type = Word;
    Word flip;
    static IntegerKeys make(bool is_signed, bool descending) {
        const Word flip = is_signed ? sign_bit<Word> : Word(0);
        return {descending ? Word(~flip) : flip};
    }
    Word code(Word key) const { return Word(key ^ flip); }
    Word key(Word code) const { return Word(code ^ flip); }
};

// IEEE floating-point numbers by their bits: -0.0 has the code of 0.0, and every NaN the largest code, in both orders.
template <class Word>
struct FloatingKeys {
    using word_type = Word;
    Word flip;
    static constexpr Word infinity = sizeof(Word) == 8   ? Word(0x7FF0000000000000ULL)
                                     : sizeof(Word) == 4 ? Word(0x7F800000U)
                                                         : Word(0x7C00U);
    static FloatingKeys make(bool, bool descending) { return {descending ? Word(~Word(0)) : Word(0)}; }
    static bool is_nan(Word key) { return Word(key & Word(~sign_bit<Word>)) > infinity; }
    Word code(Word key) const {
        key = key == sign_bit<Word> ? Word(0) : key;
        const Word ordered = Word(key ^ (key & sign_bit<Word> ? Word(~Word(0)) : sign_bit<Word>));
        return is_nan(key) ? Word(~Word(0)) : Word(ordered ^ flip);
    }
    Word key(Word code) const {  // of codes of neither NaN nor -0.0
        code = Word(code ^ flip);
        return Word(code ^ (code & sign_bit<Word> ? sign_bit<Word> : Word(~Word(0))));
    }
};

// What one look at all the keys tells.
struct KeySummary {
    uint64_t lowest, highest;  // codes, not counting NaN
    bool nan, negative_zero;   // whether there is one
    bool ascending;            // no key is smaller than the one before
    bool descending;           // every key is smaller than the one before
};

template <class Keys>
bool is_nan(const Keys&, typename Keys::word_type) {
    return false;
}
template <class Word>
bool is_nan(const FloatingKeys<Word>&, Word key) {
    return FloatingKeys<Word>::is_nan(key);
}
template <class Keys>
bool is_negative_zero(const Keys&, typename Keys::word_type) {
    return false;
}
template <class Word>
bool is_negative_zero(const FloatingKeys<Word>&, Word key) {
    return key == sign_bit<Word>;
}

// Summarize keys [begin, end); the order of the first one and the one before counts.
template <class Keys>
KeySummary summarize(const Keys& keys, const typename Keys::word_type* input, size_t begin, size_t end) {
    using Word = typename Keys::word_type;
    Word lowest = Word(~Word(0)), highest = 0;
    bool rises = false, falls = false, nan = false, negative_zero = false;
    constexpr size_t piece = 2048;  // stays in the first-level cache for the second loop
    for (size_t from = begin; from < end; from += piece) {
        const size_t to = from + piece < end ? from + piece : end;
        bool some_nan = false, some_zero = false;
        for (size_t i = from; i < to; ++i) {
            const bool skipped = is_nan(keys, input[i]);
            const Word code = keys.code(input[i]);
            lowest = code < lowest ? code : lowest;
            highest = code > highest && !skipped ? code : highest;
            some_nan |= skipped;
            some_zero |= is_negative_zero(keys, input[i]);
        }
        nan |= some_nan;
        negative_zero |= some_zero;
        if (rises && falls) continue;
        bool some_rise = false, some_fall = false;
        for (size_t i = from ? from : 1; i < to; ++i) {
            const Word before = keys.code(input[i - 1]), code = keys.code(input[i]);
            some_fall |= code < before;
            some_rise |= code >= before;
        }
        falls |= some_fall;
        rises |= some_rise;
    }
    return {lowest, highest, nan, negative_zero, !falls, !rises};
}

// Summarize all n keys, n > 0.
template <class Keys>
KeySummary summarize(const Keys& keys, const typename Keys::word_type* input, size_t n, int threads) {
    threads = threads < 1 ? 1 : threads > CUNUMPY_MAX_THREADS ? CUNUMPY_MAX_THREADS : threads;
    const KeySummary none{~uint64_t(0), 0, false, false, true, true};  // a thread may have no keys
    KeySummary parts[CUNUMPY_MAX_THREADS];
    parts[0] = none;
    for (int thread = 1; thread < threads; ++thread) parts[thread] = none;
    cunumpy_parallel((long long)n, threads, [&](long long from, long long to, int thread) {
        parts[thread] = summarize(keys, input, size_t(from), size_t(to));
    });
    KeySummary all = parts[0];
    for (int thread = 1; thread < threads; ++thread) {
        const KeySummary& part = parts[thread];
        all.lowest = part.lowest < all.lowest ? part.lowest : all.lowest;
        all.highest = part.highest > all.highest ? part.highest : all.highest;
        all.nan |= part.nan;
        all.negative_zero |= part.negative_zero;
        all.ascending &= part.ascending;
        all.descending &= part.descending;
    }
    if (all.lowest > all.highest) all.highest = all.lowest;  // nothing but NaN
    return all;
}

// --- words -------------------------------------------------------------------------------------------------------------

int bit_width(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

void insertion_sort(uint64_t* words, size_t n) {
    for (size_t i = 1; i < n; ++i) {
        const uint64_t word = words[i];
        size_t j = i;
        for (; j > 0 && words[j - 1] > word; --j) words[j] = words[j - 1];
        words[j] = word;
    }
}

constexpr int max_digit = 10;            // with 1024 open places, a core's caches and page tables keep up
constexpr size_t insertion_cutoff = 20;  // up to here insertion beats another partition

// Sort `words` by their bits from `low` on; `spare` is as large. Returns which of the two holds the result.
uint64_t* sort_words(uint64_t* words, uint64_t* spare, size_t n, int low) {
    if (n <= insertion_cutoff) {
        insertion_sort(words, n);
        return words;
    }
    uint64_t differing = 0;
    for (size_t i = 1; i < n; ++i) differing |= words[i] ^ words[0];
    const int bits = bit_width(differing >> low);
    if (bits == 0) return words;  // equal keys, in order
    int digit = bit_width(n - 1);  // parts of about one word, in two steps if need be
    if (digit > max_digit) digit = (digit + 1) / 2 < max_digit ? (digit + 1) / 2 : max_digit;
    if (digit > bits) digit = bits;
    const int shift = low + bits - digit;
    const uint64_t mask = (uint64_t(1) << digit) - 1;
    uint32_t next[size_t(1) << max_digit];
    memset(next, 0, sizeof(uint32_t) << digit);
    for (size_t i = 0; i < n; ++i) ++next[(words[i] >> shift) & mask];
    uint32_t sum = 0, largest = 0;
    for (size_t k = 0; k <= mask; ++k) {
        const uint32_t count = next[k];
        next[k] = sum;
        sum += count;
        largest = count > largest ? count : largest;
    }
    for (size_t i = 0; i < n; ++i) spare[next[(words[i] >> shift) & mask]++] = words[i];
    if (shift == low) return spare;
    if (largest <= insertion_cutoff) {
        insertion_sort(spare, n);
        return spare;
    }
    size_t begin = 0;
    for (size_t k = 0; k <= mask; ++k) {
        const size_t end = next[k];
        uint64_t* sorted = sort_words(spare + begin, words + begin, end - begin, low);
        if (sorted != spare + begin) memcpy(spare + begin, sorted, (end - begin) * sizeof(uint64_t));
        begin = end;
    }
    return spare;
}

// --- argsort -----------------------------------------------------------------------------------------------------------

// What is to be sorted, and where the results go. The last two may be null: the sorted keys, and for keys that are cells
// 0 .. n_cells - 1 the n_cells + 1 positions where each begins, which hold -1 before.
template <class Keys>
struct SortTask {
    using Word = typename Keys::word_type;
    Keys keys;
    const Word* input;
    size_t n;
    uint64_t lowest, highest;  // codes; that of NaN is `highest` where there is one
    bool decodable;            // a key can be told from its code
    int64_t* order;
    Word* sorted;
    int64_t* offsets;

    uint64_t relative_code(size_t i) const {
        const uint64_t code = keys.code(input[i]);
        return (code < highest ? code : highest) - lowest;
    }
};

// Keys of few distinct codes: count them, and the place of each is known. Returns whether there was memory.
template <class Keys>
bool counting_argsort(const SortTask<Keys>& task, int threads) {
    using Word = typename Keys::word_type;
    const size_t parts = size_t(task.highest - task.lowest) + 1;
    const bool fill = task.sorted && task.decodable && task.n / 2 >= parts;  // sorted keys are runs of some length
    auto* counts = static_cast<int64_t*>(calloc(size_t(threads) * parts, sizeof(int64_t)));
    if (!counts) return false;
    cunumpy_parallel((long long)task.n, threads, [=](long long from, long long to, int thread) {
        int64_t* count = counts + size_t(thread) * parts;
        for (long long i = from; i < to; ++i) ++count[task.relative_code(size_t(i))];
    });
    int64_t sum = 0;
    for (size_t k = 0; k < parts; ++k) {
        const int64_t begin = sum;
        for (int thread = 0; thread < threads; ++thread) {
            int64_t& count = counts[size_t(thread) * parts + k];
            const int64_t start = sum;
            sum += count;
            count = start;
        }
        if (task.offsets) task.offsets[k] = begin;
        if (fill) {
            const Word key = task.keys.key(Word(task.lowest + k));
            for (int64_t i = begin; i < sum; ++i) task.sorted[i] = key;
        }
    }
    if (task.offsets) task.offsets[parts] = sum;
    cunumpy_parallel((long long)task.n, threads, [=](long long from, long long to, int thread) {
        int64_t* next = counts + size_t(thread) * parts;
        if (task.sorted && !fill)
            for (long long i = from; i < to; ++i) {
                const int64_t place = next[task.relative_code(size_t(i))]++;
                task.order[place] = i;
                task.sorted[place] = task.input[i];
            }
        else
            for (long long i = from; i < to; ++i) task.order[next[task.relative_code(size_t(i))]++] = i;
    });
    free(counts);
    return true;
}

template <class Keys>
struct RadixSort {
    using Word = typename Keys::word_type;
    const SortTask<Keys> task;
    const int index_bits;
    const bool whole;  // words hold all bits of the codes
    const int threads;

    uint64_t index_mask() const { return (uint64_t(1) << index_bits) - 1; }

    // The bits of a code that `mask` leaves, without the last `left` of them, above the index.
    uint64_t word(size_t i, uint64_t mask, int left) const {
        return ((task.relative_code(i) & mask) >> left) << index_bits | i;
    }

    // How many of `bits` bits of a code do not fit beside the index.
    int left_of(int bits) const { return bits > 64 - index_bits ? bits - (64 - index_bits) : 0; }

    // Write out sorted words that lack `left` bits of the codes, as positions `begin` and following. The words may lie
    // where the order goes.
    void emit(uint64_t* words, uint64_t* spare, size_t begin, size_t n, int left, bool first_of_key = true) const {
        if (left > 0) refine(words, spare, n, left);
        const uint64_t mask = index_mask();
        int64_t* order = task.order + begin;
        Word* sorted = task.sorted ? task.sorted + begin : nullptr;
        if (task.offsets)  // of cells, whose words are always whole
            for (size_t i = 0; i < n; ++i)
                if (i == 0 ? first_of_key : words[i] >> index_bits != words[i - 1] >> index_bits)
                    task.offsets[words[i] >> index_bits] = int64_t(begin + i);
        if (sorted && task.decodable && whole) {
            for (size_t i = 0; i < n; ++i) {
                const uint64_t word = words[i];
                order[i] = int64_t(word & mask);
                sorted[i] = task.keys.key(Word((word >> index_bits) + task.lowest));
            }
            return;
        }
        for (size_t i = 0; i < n; ++i) order[i] = int64_t(words[i] & mask);
        if (sorted)
            for (size_t i = 0; i < n; ++i) sorted[i] = task.input[order[i]];
    }

    // Sort runs of words with equal leading bits by the `left` bits of the codes that the words lack.
    void refine(uint64_t* words, uint64_t* spare, size_t n, int left) const {
        for (size_t begin = 0, end; begin < n; begin = end) {
            const uint64_t leading = words[begin] >> index_bits;
            for (end = begin + 1; end < n && words[end] >> index_bits == leading;) ++end;
            const size_t length = end - begin;
            if (length == 1) continue;
            uint64_t *run = words + begin, *other = spare + begin;
            const int rest = lengthen(run, 0, length, left);
            const uint64_t* result = sort_words(run, other, length, index_bits);
            if (result != run) memcpy(run, result, length * sizeof(uint64_t));
            if (rest > 0) refine(run, other, length, rest);
        }
    }

    // Put the next bits of the codes into words [from, to), which lack `left` bits; returns how many they lack then.
    int lengthen(uint64_t* words, size_t from, size_t to, int left) const {
        const int rest = left_of(left);
        const uint64_t code_mask = (uint64_t(1) << left) - 1, mask = index_mask();
        for (size_t i = from; i < to; ++i) words[i] = word(size_t(words[i] & mask), code_mask, rest);
        return rest;
    }

    // Count in which part each of n elements is; write where each part begins, and where in it each thread's share.
    template <class PartOf>
    void count_parts(const PartOf& part_of, size_t n, size_t parts, int64_t* counts, int64_t* starts) const {
        cunumpy_parallel((long long)n, threads, [&](long long from, long long to, int thread) {
            int64_t* count = counts + size_t(thread) * parts;
            for (long long i = from; i < to; ++i) ++count[part_of(size_t(i))];
        });
        int64_t sum = 0;
        for (size_t k = 0; k < parts; ++k) {
            starts[k] = sum;
            for (int thread = 0; thread < threads; ++thread) {
                int64_t& count = counts[size_t(thread) * parts + k];
                const int64_t start = sum;
                sum += count;
                count = start;
            }
        }
        starts[parts] = sum;
    }

    // Partition the n words that `source` gives by the first of the `width` bits in which they differ, into `out`; sort
    // every part and write it out. They lack `left` bits of the codes. Returns whether there was memory.
    template <class Source>
    bool partition(const Source& source, uint64_t* out, uint64_t* spare, size_t begin, size_t n, int width, int left) const {
        int digit = bit_width(n - 1) - 9;  // parts of about 512 words
        digit = digit < 4 ? 4 : digit > max_digit ? max_digit : digit;
        digit = digit > width ? width : digit;
        const int shift = index_bits + width - digit;
        const size_t parts = size_t(1) << digit;
        const uint64_t mask = parts - 1;
        auto* counts = static_cast<int64_t*>(calloc(size_t(threads + 1) * parts + 1, sizeof(int64_t)));
        if (!counts) return false;
        int64_t* starts = counts + size_t(threads) * parts;
        count_parts([&](size_t i) { return source(i) >> shift & mask; }, n, parts, counts, starts);
        cunumpy_parallel((long long)n, threads, [&](long long from, long long to, int thread) {
            int64_t* next = counts + size_t(thread) * parts;
            for (long long i = from; i < to; ++i) {
                const uint64_t word = source(size_t(i));
                out[next[word >> shift & mask]++] = word;
            }
        });
        const auto length = [starts](size_t k) { return size_t(starts[k + 1] - starts[k]); };
        // All threads work on one large part after the other, then each on small ones.
        const size_t large = threads > 1 ? size_t(1) << 18 : size_t(1) << 30;
        bool done = true;
        for (size_t k = 0; done && k < parts; ++k)
            if (length(k) > large)
                done = sort_large(out + starts[k], spare + starts[k], begin + size_t(starts[k]), length(k), left);
        std::atomic<size_t> claimed{0};
        const size_t step = parts / (size_t(threads) * 16) + 1;
        if (done) cunumpy_parallel(64LL * threads, threads, [&](long long, long long, int) {
            for (;;) {
                const size_t first = claimed.fetch_add(step, std::memory_order_relaxed);
                if (first >= parts) return;
                const size_t last = first + step < parts ? first + step : parts;
                for (size_t k = first; k < last; ++k) {
                    if (length(k) == 0 || length(k) > large) continue;
                    uint64_t *words = out + starts[k], *other = spare + starts[k];
                    if (digit < width && sort_words(words, other, length(k), index_bits) == other) {
                        uint64_t* const sorted = other;
                        other = words;
                        words = sorted;
                    }
                    emit(words, other, begin + size_t(starts[k]), length(k), left);
                }
            }
        });
        free(counts);
        return done;
    }

    bool sort_large(uint64_t* words, uint64_t* spare, size_t begin, size_t n, int left) const {
        std::atomic<uint64_t> differing{0};
        cunumpy_parallel((long long)n, threads, [&](long long from, long long to, int) {
            uint64_t bits = 0;
            for (long long i = from; i < to; ++i) bits |= words[i] ^ words[0];
            differing.fetch_or(bits);
        });
        const int width = bit_width(differing.load() >> index_bits);
        if (width > 0) return partition([words](size_t i) { return words[i]; }, spare, words, begin, n, width, left);
        if (left > 0) {
            cunumpy_parallel((long long)n, threads, [&](long long from, long long to, int) {
                lengthen(words, size_t(from), size_t(to), left);
            });
            return sort_large(words, spare, begin, n, left_of(left));
        }
        cunumpy_parallel((long long)n, threads, [&](long long from, long long to, int) {
            emit(words + from, spare + from, begin + size_t(from), size_t(to - from), 0, from == 0);
        });
        return true;
    }

    // Up to 65536 keys with codes of up to 16 bits: by one byte after the other.
    void sort_short(uint64_t* work) const {
        const size_t n = task.n;
        auto* words = reinterpret_cast<uint32_t*>(work);
        auto* half_sorted = words + n;
        uint32_t low[256] = {}, high[256] = {};
        for (size_t i = 0; i < n; ++i) {
            const auto code = uint32_t(task.relative_code(i));
            words[i] = code << 16 | uint32_t(i);
            ++low[code & 255];
            ++high[code >> 8];
        }
        uint32_t low_sum = 0, high_sum = 0;
        for (int k = 0; k < 256; ++k) {
            const uint32_t low_count = low[k], high_count = high[k];
            low[k] = low_sum;
            high[k] = high_sum;
            low_sum += low_count;
            high_sum += high_count;
        }
        for (size_t i = 0; i < n; ++i) half_sorted[low[words[i] >> 16 & 255]++] = words[i];
        for (size_t i = 0; i < n; ++i) {
            const uint32_t word = half_sorted[i], place = high[word >> 24]++;
            task.order[place] = word & 0xFFFF;
            if (task.sorted) task.sorted[place] = task.input[word & 0xFFFF];
            if (task.offsets) words[place] = word >> 16;
        }
        if (task.offsets)
            for (size_t i = 0; i < n; ++i)
                if (i == 0 || words[i] != words[i - 1]) task.offsets[words[i]] = int64_t(i);
    }

    // Keys whose codes do not fit beside the index are partitioned together with their indices, into where the results
    // go. That leaves words of a part room for more bits, beside a position within it, and spares looking the keys up all
    // over the memory.
    bool sort_wide(uint64_t* work, int code_bits) const {
        const size_t n = task.n, parts = size_t(1) << max_digit;
        const int rest = code_bits - max_digit;
        auto* counts = static_cast<int64_t*>(calloc(size_t(threads + 1) * parts + 1, sizeof(int64_t)));
        if (!counts) return false;
        int64_t* starts = counts + size_t(threads) * parts;
        const auto part_of = [this, rest](size_t i) { return task.relative_code(i) >> rest; };
        count_parts(part_of, n, parts, counts, starts);
        const auto length = [starts](size_t k) { return size_t(starts[k + 1] - starts[k]); };
        size_t longest = 0;
        for (size_t k = 0; k < parts; ++k) longest = length(k) > longest ? length(k) : longest;
        if (longest > n / (8 * size_t(threads)) && longest > size_t(1) << 18) {  // too much for one thread, or its cache
            free(counts);
            return sort_narrow(work, code_bits);
        }
        auto* scratch = static_cast<uint64_t*>(malloc(size_t(threads) * 3 * longest * sizeof(uint64_t)));
        if (!scratch) {
            free(counts);
            return false;
        }
        cunumpy_parallel((long long)n, threads, [&](long long from, long long to, int thread) {
            int64_t* next = counts + size_t(thread) * parts;
            for (long long i = from; i < to; ++i) {
                const int64_t place = next[part_of(size_t(i))]++;
                task.order[place] = i;
                task.sorted[place] = task.input[i];
            }
        });
        std::atomic<size_t> claimed{0};
        cunumpy_parallel(64LL * threads, threads, [&](long long, long long, int thread) {
            uint64_t* own = scratch + size_t(thread) * 3 * longest;
            for (size_t k; (k = claimed.fetch_add(1, std::memory_order_relaxed)) < parts;)
                if (length(k) > 1) sort_part(size_t(starts[k]), length(k), rest, work + starts[k], own);
        });
        free(scratch);
        free(counts);
        return true;
    }

    // Sort n indices and keys, whose codes differ in the last `rest` bits, in place; `scratch` has 3 n words.
    void sort_part(size_t begin, size_t n, int rest, uint64_t* words, uint64_t* scratch) const {
        int64_t *order = task.order + begin, *indices = reinterpret_cast<int64_t*>(scratch + n);
        Word *sorted = task.sorted + begin, *input = reinterpret_cast<Word*>(scratch + 2 * n);
        memcpy(indices, order, n * sizeof(int64_t));
        memcpy(input, sorted, n * sizeof(Word));
        const RadixSort part{{task.keys, input, n, task.lowest, task.highest, false, order, sorted, nullptr},
                             bit_width(n - 1),
                             false,
                             1};
        const int left = part.left_of(rest);
        const uint64_t rest_mask = (uint64_t(1) << rest) - 1;
        for (size_t i = 0; i < n; ++i) words[i] = part.word(i, rest_mask, left);
        uint64_t *other = scratch, *result = sort_words(words, other, n, part.index_bits);
        if (result == other) other = words;
        if (left > 0) part.refine(result, other, n, left);
        const uint64_t mask = part.index_mask();
        for (size_t i = 0; i < n; ++i) {
            const size_t index = size_t(result[i] & mask);
            order[i] = indices[index];
            sorted[i] = input[index];
        }
    }

    // Keys whose codes fit, or are not spread evenly: sort words of their leading bits.
    bool sort_narrow(uint64_t* work, int code_bits) const {
        const int left = left_of(code_bits);
        auto* other = reinterpret_cast<uint64_t*>(task.order);
        const auto source = [this, left](size_t i) { return word(i, ~uint64_t(0), left); };
        if (task.n > 8192) return partition(source, work, other, 0, task.n, code_bits - left, left);
        for (size_t i = 0; i < task.n; ++i) work[i] = source(i);
        uint64_t* words = sort_words(work, other, task.n, index_bits);
        emit(words, words == work ? other : work, 0, task.n, left);
        return true;
    }

    bool sort(uint64_t* work, int code_bits) const {
        if (index_bits <= 16 && code_bits <= 16) {
            sort_short(work);
            return true;
        }
        if (task.n > size_t(1) << 17 && task.sorted && left_of(code_bits) > 0) return sort_wide(work, code_bits);
        return sort_narrow(work, code_bits);
    }
};

// Keys that ascend, or descend strictly, need no sort.
template <class Keys>
void argsort_monotonic(const SortTask<Keys>& task, bool ascending, int threads) {
    using Word = typename Keys::word_type;
    cunumpy_parallel((long long)task.n, threads, [&](long long from, long long to, int) {
        for (long long i = from; i < to; ++i) task.order[i] = ascending ? i : (long long)(task.n - 1) - i;
        if (task.sorted && ascending)
            memcpy(task.sorted + from, task.input + from, size_t(to - from) * sizeof(Word));
        else if (task.sorted)
            for (long long i = from; i < to; ++i) task.sorted[i] = task.input[task.n - 1 - size_t(i)];
        if (task.offsets)
            for (long long i = from; i < to; ++i) {
                const uint64_t cell = task.relative_code(size_t(task.order[i]));
                if (i == 0 || cell != task.relative_code(size_t(task.order[i] + (ascending ? -1 : 1))))
                    task.offsets[cell] = i;
            }
    });
}

// Sort n > 0 keys stably. `work` has n words; nothing overlaps. Returns whether there was memory.
template <class Keys>
bool argsort(const SortTask<Keys>& task, const KeySummary& summary, uint64_t* work, int threads) {
    threads = threads < 1 ? 1 : threads > CUNUMPY_MAX_THREADS ? CUNUMPY_MAX_THREADS : threads;
    const uint64_t range = task.highest - task.lowest;
    bool done = true;
    if (summary.ascending || summary.descending) {
        argsort_monotonic(task, summary.ascending, threads);
    } else if (range < 4096 && range <= task.n) {
        if (task.n / 4 < range * size_t(threads)) threads = 1;
        return counting_argsort(task, threads);
    } else {
        const int index_bits = bit_width(task.n - 1), code_bits = bit_width(range);
        const RadixSort<Keys> sort{task, index_bits, code_bits + index_bits <= 64, threads};
        done = sort.sort(work, code_bits);
    }
    if (task.offsets && done) {  // cells without keys begin where the next one does
        int64_t next = int64_t(task.n);
        for (uint64_t cell = range + 2; cell-- > 0;) {
            int64_t& offset = task.offsets[cell];
            next = offset = offset < 0 ? next : offset;
        }
    }
    return done;
}

// Sort n > 0 keys of any values; `sorted` may be null.
template <class Keys>
bool argsort(const Keys& keys, const typename Keys::word_type* input, size_t n, int64_t* order,
             typename Keys::word_type* sorted, uint64_t* work, int threads) {
    const KeySummary summary = summarize(keys, input, n, threads);
    const bool decodable = !summary.nan && !summary.negative_zero;
    const SortTask<Keys> task{keys,      input, n,      summary.lowest, summary.highest + summary.nan,
                              decodable, order, sorted, nullptr};
    return argsort(task, summary, work, threads);
}

}  // namespace
