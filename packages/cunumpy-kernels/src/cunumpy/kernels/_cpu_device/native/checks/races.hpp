// Races: two threads at the same bytes, at least one of which writes, and nothing orders them.
//
// Atomic functions never race with each other. Several threads that store the same value are let pass, and so is a read with
// which a thread begins to try atomicCAS on that word, as CUDA's guide does it: it may be as old as it likes.
//
// What is reported has happened. What can be missed: a race with an access that was not kept. Granules are as narrow as the
// narrowest access so far, so each is used as a whole.
#pragma once

#include "race_memory.hpp"
#include "race_order.hpp"

namespace cunumpy_cpu_races {

// What is called once for each pair of places. It may leave the launch.
static void (*report)(const Race& race) = nullptr;

// --- reports ----------------------------------------------------------------------------------------------------------

static unsigned long long reported[64];
static unsigned int reports = 0;

static inline bool is_new(unsigned long long pair) {
    for (unsigned int i = 0; i < reports; ++i)
        if (reported[i] == pair) return false;
    return reports < sizeof reported / sizeof reported[0];
}

static void report_new(const Race& race, unsigned long long pair) {
    if (!is_new(pair)) return;
    reported[reports++] = pair;
    if (report != nullptr) report(race);
}

// The thread has not tried atomicCAS on what it read.
__attribute__((noinline, cold)) static void settle_guess(BlockState& now) {
    now.guessing = false;
    report_new(now.guess, now.guess_pair);
}

// A second write is a race if it changes the value. It has been done when this thread comes here again.
__attribute__((noinline, cold)) static void settle(BlockState& now) {
    now.pending = false;
    const Race race = now.pending_race;
    if (__builtin_memcmp(now.before, race.at, race.size) != 0) report_new(race, now.pending_pair);
}

__attribute__((noinline, cold)) static void found(BlockState& now, const Cell& earlier, const Cell& later, const void* at,
                                                  unsigned int size) {
    const unsigned int one = earlier.place < later.place ? earlier.place : later.place;
    const unsigned int other = earlier.place < later.place ? later.place : earlier.place;
    const unsigned long long pair = (unsigned long long)one << 32 | other;
    if (!is_new(pair)) return;
    const Race race = {at,
                       size,
                       {(Kind)(earlier.kind & KIND), earlier.block - base, earlier.thread, place_of(earlier.place)},
                       {(Kind)(later.kind & KIND), later.block - base, later.thread, place_of(later.place)}};
    if ((earlier.kind & KIND) == WRITE && (later.kind & KIND) == WRITE && size <= sizeof now.before) {
        if (now.pending) return;  // another part of the same write
        __builtin_memcpy(now.before, at, size);
        now.pending = true;
        now.pending_race = race;
        now.pending_pair = pair;
        return;
    }
    if ((earlier.kind & KIND) == ATOMIC && (later.kind & KIND) == READ) {
        if (now.guessing) settle_guess(now);
        now.guessing = true;
        now.guess = race;
        now.guess_pair = pair;
        return;
    }
    report_new(race, pair);
}

// --- accesses -------------------------------------------------------------------------------------------------------------

static inline Cell cell_of(const BlockState& now, Kind kind, const void* place) {
    const unsigned int code = (unsigned int)((const char*)place - code_start);
    return Cell{now.block, now.time, code, (unsigned short)now.thread, kind};
}

// As *cell = cell_of(...), in two words.
static inline void put(Cell* cell, const BlockState& now, unsigned int kind, const void* place) {
    const unsigned int code = (unsigned int)((const char*)place - code_start);
    unsigned long long words[2];
    __builtin_memcpy(words, &now.block, 8);
    words[1] = code | (unsigned long long)(now.thread | kind << 16) << 32;
    __builtin_memcpy(cell, words, sizeof words);
}

// Lets reads pass that would change nothing of what is kept: it is two reads that between them race with every write.
static inline void stamp_reads(const Shadow& shadow, const BlockState& now, size_t granule, const Cell& written,
                               const Cell& first, const Cell& other) {
    if (now.block_stamp == NO_STAMP || (first.kind & MORE) == 0) return;
    const bool live = is_live(shadow, now, written);
    if (live && ((written.kind & MORE) != 0 || written.block != now.block || written.time >= now.barrier_time)) return;
    if (first.block != now.block || other.block != now.block) {
        if (!live && now.launch_stamp != NO_STAMP && first.block != other.block && is_live(shadow, now, first) && is_live(shadow, now, other))
            shadow.stamps[granule] = now.launch_stamp;
        return;
    }
    if (first.time < now.barrier_time || other.time < now.barrier_time) return;
    const unsigned int warp = now.thread / LANES;
    if (first.thread / LANES != other.thread / LANES)
        shadow.stamps[granule] = now.block_stamp;
    else if (first.thread / LANES == warp && first.time >= now.warp_time[warp] && other.time >= now.warp_time[warp] &&
             !(now.parts_valid >> warp & 1))
        shadow.stamps[granule] = now.warp_stamp;
}

// Of a read: the first since the last write stays, and another, best of another warp or block.
__attribute__((noinline)) static void keep_read(const Shadow& shadow, const BlockState& now, size_t granule,
                                                const void* place, bool stamps) {
    const Cell& written = shadow.usual[2 * granule];
    Cell& first = shadow.usual[2 * granule + 1];
    Cell& other = shadow.rare[2 * granule + 1];
    const bool mine = first.block == now.block;
    const unsigned int flags = is_live(shadow, now, first) ? first.kind & MORE : 0;
    if (!is_live(shadow, now, first) || (mine && first.thread == now.thread) || is_ordered(now, first)) {
        put(&first, now, READ | flags, place);
        return;
    }
    bool kept = false;
    if (flags != 0 && is_live(shadow, now, other) && (other.block != now.block || other.thread != now.thread) &&
        !is_ordered(now, other)) {
        const bool far = other.block != first.block, far_warp = other.thread / LANES != first.thread / LANES;
        kept = far || (mine && (far_warp || now.thread / LANES == first.thread / LANES));
    }
    if (!kept) {
        put(&other, now, READ, place);
        first.kind |= MORE;
    }
    if (stamps) stamp_reads(shadow, now, granule, written, first, other);
}

// The usual case of a second read since the last barrier, or of the first of another warp. False if it is another.
static inline __attribute__((always_inline)) bool keep_quickly(const Shadow& shadow, Cell* cells, unsigned int* stamp,
                                                               const BlockState& now, const void* place) {
    const Cell& written = cells[0];
    Cell& first = cells[1];
    const unsigned int since = now.barrier_time, warp = now.thread / LANES;
    if (first.block != now.block || first.time < since || first.time < now.warp_time[warp] || first.thread == now.thread ||
        now.block_stamp == NO_STAMP || now.parts_valid != 0)
        return false;
    if (written.block == now.block ? written.time >= since || (written.kind & MORE) != 0
                                   : !shadow.shared && written.block >= base)
        return false;
    Cell& other = shadow.rare[cells - shadow.usual + 1];
    const bool same_warp = first.thread / LANES == warp;
    if ((first.kind & MORE) != 0) {
        if (same_warp || other.block != now.block || other.time < since || other.thread / LANES != first.thread / LANES) return false;
    } else {
        first.kind |= MORE;
    }
    put(&other, now, READ, place);
    *stamp = same_warp ? now.warp_stamp : now.block_stamp;
    return true;
}

template <Kind kind>
__attribute__((noinline)) static void touch_any(const Shadow& shadow, BlockState& now, size_t granule, const Cell& self,
                                                const void* at, unsigned int size) {
    Cell& written = shadow.usual[2 * granule];
    Cell& read = shadow.usual[2 * granule + 1];
    Cell& atomic = shadow.rare[2 * granule];
    Cell& read_too = shadow.rare[2 * granule + 1];
    constexpr bool STRONG = kind == ATOMIC || kind == VOLATILE_READ || kind == VOLATILE_WRITE;
    if (STRONG) synchronise(now, &written, kind);
    if ((written.kind & EMPTY) == 0 && races_with(shadow, now, written, self)) found(now, written, self, at, size);
    const bool live = is_live(shadow, now, written), has_atomic = live && (written.kind & MORE) != 0;
    if (!STRONG && has_atomic && (kind != READ || (atomic.kind & KIND) != VOLATILE_READ) &&
        races_with(shadow, now, atomic, self))
        found(now, atomic, self, at, size);
    if (kind != READ && kind != VOLATILE_READ && is_live(shadow, now, read)) {
        const bool two = (read.kind & MORE) != 0;
        if (races_with(shadow, now, read, self))
            found(now, read, self, at, size);
        else if (two && races_with(shadow, now, read_too, self))
            found(now, read_too, self, at, size);
    }
    if (kind == READ) return keep_read(shadow, now, granule, place_of(self.place), false);
    shadow.stamps[granule] = 0;
    if (kind == WRITE) {
        written = self;
        read.block = 0;
    } else {
        if (!live) written = Cell{self.block, 0, 0, self.thread, EMPTY};  // only to be of this launch
        // A volatile read is the least that can race.
        if (kind == VOLATILE_READ && has_atomic && (atomic.kind & KIND) != VOLATILE_READ &&
            races_with(shadow, now, atomic, self))
            return;
        written.kind |= MORE;
        atomic = self;
    }
}

// The usual case: nobody else was there, or a barrier is between. False if it is another.
template <Kind kind>
static inline __attribute__((always_inline)) bool touch_quickly(const Shadow& shadow, Cell* cells, unsigned int* stamp, bool shared,
                                 const BlockState& now, const void* place) {
    const Cell &written = cells[0], &read = cells[1];
    const bool mine = written.block == now.block;
    if (mine ? (written.time >= now.barrier_time && written.thread != now.thread) || (written.kind & MORE) != 0
             : !shared && written.block >= base)
        return false;
    const bool read_live = shared ? read.block == now.block : read.block >= base;
    if (read_live) {
        if (kind == READ) return read.thread == now.thread && read.time == now.time && read.block == now.block;
        if (!is_harmless(shared, now, read)) return false;
        if ((read.kind & MORE) != 0 && !is_harmless(shared, now, shadow.rare[cells - shadow.usual + 1])) return false;
        cells[1].block = 0;
        *stamp = 0;
    }
    put(cells + (kind == READ), now, kind, place);
    return true;
}

// One granule; `stamps`: whether later reads of it may be let pass.
template <Kind kind>
static inline void touch(const Shadow& shadow, BlockState& now, size_t granule, const void* place, const void* at,
                         unsigned int size, bool stamps) {
    if (kind == READ && is_live(shadow, now, shadow.usual[2 * granule + 1])) {
        const Cell& written = shadow.usual[2 * granule];
        if (is_harmless(shadow.shared, now, written) && (!is_live(shadow, now, written) || (written.kind & MORE) == 0))
            return keep_read(shadow, now, granule, place, stamps);
    }
    touch_any<kind>(shadow, now, granule, cell_of(now, kind, place), at, size);
}

template <Kind kind>
static void access_as(Shadow& shadow, BlockState& now, size_t offset, const void* at, unsigned int size,
                      const void* place, bool stamps) {
    const unsigned int finest = __builtin_ctzll(offset | size | 16);
    if (__builtin_expect(finest < shadow.shift, 0)) {
        narrow(shadow, finest);
        if (shadow.usual == nullptr) return;
    }
    const size_t end = (offset + size) >> shadow.shift;
    for (size_t granule = offset >> shadow.shift; granule < end; ++granule)
        if ((kind != READ && kind != WRITE) ||
            !touch_quickly<kind>(shadow, shadow.usual + 2 * granule, shadow.stamps + granule, shadow.shared, now, place))
            touch<kind>(shadow, now, granule, place, at, size, stamps);
}

// The thread that runs comes to `size` bytes at `at`, which are `offset` into the region.
template <Kind kind>
static inline void access(Shadow& shadow, size_t offset, const void* at, unsigned int size, const void* place,
                          bool stamps) {
    if (__builtin_expect(shadow.usual == nullptr, 0)) return;
    BlockState& now = state();
    if (__builtin_expect(now.pending, 0)) settle(now);
    if ((kind == VOLATILE_READ || kind == VOLATILE_WRITE) && shadow.shared)
        return kind == VOLATILE_READ ? access_as<READ>(shadow, now, offset, at, size, place, stamps)
                                     : access_as<WRITE>(shadow, now, offset, at, size, place, stamps);
    access_as<kind>(shadow, now, offset, at, size, place, stamps);
}

// The thread that runs tries atomicCAS: reads of its own of that word were to guess what is there.
static void forget_guess(Shadow& shadow, size_t offset, const void* at, unsigned int size) {
    if (shadow.usual == nullptr) return;
    BlockState& now = state();
    if (now.guessing && now.guess.at == at) now.guessing = false;
    const size_t end = (offset + size) >> shadow.shift;
    for (size_t granule = offset >> shadow.shift; granule < end; ++granule) {
        Cell &read = shadow.usual[2 * granule + 1], &read_too = shadow.rare[2 * granule + 1];
        const bool mine = read.block == now.block && read.thread == now.thread;
        if ((read.kind & MORE) != 0 && read_too.block == now.block && read_too.thread == now.thread) {
            read.kind &= ~MORE;
        } else if (mine && (read.kind & MORE) != 0) {
            read = read_too;
        } else if (mine) {
            read.block = 0;
        }
        shadow.stamps[granule] = 0;
    }
}

}  // namespace cunumpy_cpu_races
