// Each access to memory: is it within what the kernel was given, may it be there, was that written, and is it a race?
#pragma once

#include <string.h>

#include <algorithm>
#include <type_traits>

#include "turns.hpp"

namespace cunumpy_cpu_checks {

inline bool changes(races::Kind kind) { return kind == WRITE || kind == ATOMIC || kind == VOLATILE_WRITE; }

// Finds what an address belongs to; in no region are a thread's own variables and memory of the C library.
template <races::Kind kind>
Region* find_range(Range& range, const char* at, size_t size, const void* place) {
    Region* region = find_region(at);
    if (range.used == 0) {
        used[used_count] = &range;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);  // a launch that takes too long is left anywhere
        ++used_count;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    range = Range{};
    range.used = 1;
    if (region != nullptr) {
        region->used = true;
        range.begin = region->begin;
        range.region = region;
        if (region->owned != nullptr || size > region->bytes) return region;
        if (kind != READ && region->read_only) return region;
        if ((size & (size - 1)) != 0 || (size_t)region->begin % size != 0) return region;
        if (region->shadow.usual == nullptr) {
            if (region->written == nullptr) range.count = region->bytes / size;
        } else if (size == (size_t)1 << region->shadow.shift) {
            range.count = region->bytes / size;
            range.stamps = region->shadow.stamps;
            range.cells = region->shadow.usual;
            range.written = region->written;
            range.shared = region->shadow.shared;
        }
        return region;
    }
    if (at >= arguments_begin && at < arguments_end)
        fatal(OUT_OF_BOUNDS, at, size, nearest_region(at, ARGUMENT), kind, place);
    if ((size_t)at < 65536) fatal(NULL_ADDRESS, at, size, nullptr, kind, place);
#ifdef __x86_64__  // no program has memory there, and the processor does not tell the address
    if ((size_t)at >> 47 != 0) fatal(OUT_OF_BOUNDS, at, size, nearest_region(at, ARGUMENT), kind, place);
#endif
    const char *low = (const char*)65536, *high = (const char*)~(size_t)0;
    if (at < arguments_begin)
        high = arguments_begin;
    else
        low = arguments_end;
    for (const Region& one : regions) {
        if (one.memory == ARGUMENT) continue;
        const char* end = one.begin + one.room;
        if (at >= one.begin && at < end) fatal(OUT_OF_BOUNDS, at, size, &one, kind, place);
        if (end <= at && end > low) low = end;
        if (one.begin > at && one.begin < high) high = one.begin;
    }
    low = (const char*)(((size_t)low + 15) & ~(size_t)15);
    if (at < low || at >= high) return nullptr;
    range.begin = low;
    range.bytes = (size_t)(high - low);
    if ((size & (size - 1)) == 0) range.count = range.bytes / size;
    return nullptr;
}

// Blocks may wait for each other by such accesses.
void wait_politely() {
    static unsigned int accesses;
    if (++accesses % 16 != 0) return;
    if (!pass_turn()) cunumpy_cpu_check_fail("");  // another block's fault is told
}

// Kernels that change 1 or 2 bytes atomically do so with the word around them, which on a GPU is there, since memory is
// given out in larger pieces. Leaves of an aligned word what belongs to the array.
void narrow_word(const char*& at, size_t& size) {
    const char *from = at, *end = at + size;
    while (from < end && find_region(from) == nullptr) ++from;
    if (from == end) return;
    const Region& region = *find_region(from);
    if (region.memory != ARGUMENT) return;
    at = from;
    size = std::min((size_t)(end - from), (size_t)(region.begin + region.bytes - from));
}

// Has of each word of 16 bytes a part been written? The rest may lie between the members of a struct that is copied.
bool some_written(const char* written, const char* at, size_t size) {
    for (size_t i = 0; i < size;) {
        const size_t end = std::min(size, i + 16 - ((size_t)(at + i) & 15));
        bool some = false;
        for (; i < end; ++i) some = some || written[i] != 0;
        if (!some) return false;
    }
    return true;
}

// Of any access; `reads`: of atomic functions, whether the result depends on what was there.
template <races::Kind kind, bool reads = true>
__attribute__((noinline)) void check_any(const void* address, size_t size, const void* place, Range& range) {
    if (!active) return;
    if (kind != READ && kind != WRITE && __builtin_expect(cooperative, 0)) wait_politely();
    const char* at = (const char*)address;
    if (kind != READ && kind != WRITE && (size == 4 || size == 8) && ((size_t)at & (size - 1)) == 0) narrow_word(at, size);
    Region* region = range.region;
    if (region == nullptr && (size_t)(at - range.begin) < range.bytes) return;
    if (region == nullptr || (size_t)(at - region->begin) >= region->bytes) region = find_range<kind>(range, at, size, place);
    if (region == nullptr) return;
    const size_t offset = (size_t)(at - region->begin);
    if (size <= 8 && (size & (size - 1)) == 0 && ((size_t)at & (size - 1)) != 0 && at == (const char*)address)
        fatal(MISALIGNED, at, size, region, kind, place);
    if (__builtin_expect(size > region->bytes - offset, 0)) fatal(OUT_OF_BOUNDS, at, size, region, kind, place);
    if (changes(kind) && __builtin_expect(region->read_only, 0)) fatal(READ_ONLY, at, size, region, kind, place);
    if (__builtin_expect(region->owned != nullptr, 0))
        for (size_t i = 0; i < size; ++i)
            if (!region->owned[offset + i]) fatal(OUT_OF_BOUNDS, at, size, region, kind, place);
    bool known = true;
    if (region->written != nullptr) {
        const bool asks = !changes(kind) || (kind == ATOMIC && reads && region->memory == SHARED);
        known = !asks || some_written(region->written + offset, at, size);
        if (__builtin_expect(!known, 0)) note(UNWRITTEN, at, size, region, kind, place);
        if (changes(kind)) memset(region->written + offset, 1, size);
    }
    const unsigned int shift = region->shadow.shift;
    races::access<kind>(region->shadow, offset, at, (unsigned int)size, place, known);
    if (__builtin_expect(region->shadow.shift != shift, 0)) {  // all that is remembered is of the former granules
        races::Busy busy;
        forget_recent();
        if (region->key != 0) granules[region->key] = region->shadow.shift;
    }
}

// Have these bytes all been written?
template <unsigned int size>
inline bool all_written(const char* written) {
    if constexpr (size == 16) return all_written<8>(written) && all_written<8>(written + 8);
    typedef std::conditional_t<size == 1, unsigned char, std::conditional_t<size == 2, unsigned short, std::conditional_t<size == 4, unsigned int, u64>>> Word;
    Word word;
    memcpy(&word, written, sizeof word);
    return word == (Word)0x0101010101010101ull;
}

template <races::Kind kind>
__attribute__((noinline)) void touch(Range& range, size_t granule, const char* at, unsigned int size, const void* place) {
    races::BlockState& now = races::only_state;
    const races::Shadow& shadow = range.region->shadow;
    if (kind == READ && races::keep_quickly(shadow, range.cells + 2 * granule, range.stamps + granule, now, place)) return;
    races::touch<kind>(range.region->shadow, now, granule, place, at, size, true);
}

// The usual accesses: READ and WRITE of 1, 2, 4, 8 or 16 bytes.
template <races::Kind kind, unsigned int size>
inline __attribute__((always_inline)) void check_quickly(const void* address, const void* place, Range& range) {
    const char* at = (const char*)address;
    // The number of the granule; far too large if the address is not aligned.
    constexpr unsigned int shift = __builtin_ctz(size);
    size_t granule = (size_t)(at - range.begin);
    if (shift != 0) granule = granule >> shift | granule << (64 - shift);
    if (__builtin_expect(granule >= range.count, 0)) return check_any<kind>(at, size, place, range);
    if (range.stamps == nullptr) return;
    races::BlockState& now = races::only_state;
    if (kind == READ) {
        const unsigned int stamp = range.stamps[granule];
        if (__builtin_expect(stamp == now.block_stamp || stamp == now.warp_stamp, 1)) return;
        if (stamp == now.launch_stamp) return;
    }
    const size_t offset = granule * size;
    if (__builtin_expect(now.pending, 0)) return check_any<kind>(at, size, place, range);
    if (range.written != nullptr) {
        if (kind == WRITE)
            memset(range.written + offset, 1, size);
        else if (__builtin_expect(!all_written<size>(range.written + offset), 0))
            return check_any<kind>(at, size, place, range);
    }
    if (!races::touch_quickly<kind>(range.region->shadow, range.cells + 2 * granule, range.stamps + granule, range.shared != 0, now, place))
        touch<kind>(range, granule, at, size, place);
}

template <races::Kind kind>
inline void check(const void* address, size_t size, const void* place) {
    Range& range = range_of<kind, 0>(place);
    if (range.region == nullptr && (size_t)((const char*)address - range.begin) < range.bytes) return;
    check_any<kind>(address, size, place, range);
}

template <races::Kind kind, unsigned int size, bool reads = true>
inline void check_aligned(const void* address, const void* place) {
    check_any<kind, reads>(address, size, place, range_of<kind, 0>(place));
}

// Of atomicCAS, before it is checked as the atomic function that it is.
__attribute__((noinline)) void check_swap(const void* address, size_t size) {
    if (!active) return;
    Region* region = find_region((const char*)address);
    if (region == nullptr || size > region->bytes - (size_t)((const char*)address - region->begin)) return;
    races::forget_guess(region->shadow, (size_t)((const char*)address - region->begin), address, (unsigned int)size);
}

}  // namespace cunumpy_cpu_checks
