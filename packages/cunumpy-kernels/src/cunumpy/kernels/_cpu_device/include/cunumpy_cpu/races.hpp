// Races: two threads at the same bytes, at least one of which writes, and nothing orders them. For the part of checked
// builds that is not instrumented, once in a library; the kernel's unit calls it by race_hooks.hpp.
//
// What orders an access of one thread before one of another, as in CUDA's memory model:
//   - a barrier of the block between them; grid.sync(); the end of the launch;
//   - __syncwarp, or a barrier of a group, of both lanes. The functions by which lanes exchange values (__shfl_sync,
//     __ballot_sync, ...) order no memory, says CUDA's guide; nor does it that the lanes of a warp ran together in the past;
//   - an atomic function: what the first did before a fence (__threadfence) and then an atomic function on a word is before
//     what the second does after an atomic function on the same word. Volatile reads and writes of global memory, too,
//     hand over like this. In shared memory volatile orders nothing.
// Atomic functions never race with each other. Several threads that store the same value are let pass (*found = 1), and so
// is a read with which a thread begins to try atomicCAS on that word, as CUDA's guide does it: it may be as old as it likes.
//
// Kept for each granule of memory: the last write, the last atomic function and two reads since, chosen so that they are of
// different warps and blocks where that is possible. Each has its thread and the time, a count of what orders in its block;
// what came before a barrier is recognised by comparison with the time of the barrier. What is reported has happened. What
// can be missed: a race with an access that was not kept. Granules are as narrow as the narrowest access so far, so each is
// used as a whole.
//
// Most accesses change nothing of what is kept: those of a thread that reads what many have read since the last barrier. A
// stamp of each granule says so, for the block, for a warp or for all blocks, until something new is there.
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <new>
#include <unordered_map>
#include <vector>

namespace cunumpy_cpu_races {

enum Kind : unsigned char { READ, WRITE, ATOMIC, VOLATILE_READ, VOLATILE_WRITE };

struct Access {
    Kind kind;
    unsigned long long block;  // counted with x fastest, as threads are in a block
    unsigned int thread;
    const void* place;  // the address of the code
};

struct Race {
    const void* at;
    unsigned int size;
    Access first, second;  // the second is that of the thread that runs
};

// Shared memory is a new block's.
static void on_new_block();

// What is called once for each pair of places. It may leave the launch.
static void (*report)(const Race& race) = nullptr;

// One access. Of an earlier launch, and none: block < base.
struct Cell {
    unsigned int block;  // base + number
    unsigned int time;
    unsigned int place;  // of the code, in the library
    unsigned short thread;
    unsigned short kind;  // and MORE if there is more of the granule; EMPTY if there was no access
};
static_assert(sizeof(Cell) == 16, "two of them are half a line of the cache");
constexpr unsigned short MORE = 0x80, EMPTY = 0x40, KIND = 0x0f;

// What is kept of a region of memory. Of each granule in `usual` the last write and a read, in `rare`, if their kinds have
// MORE, the last atomic function and another read.
struct Shadow {
    Cell* usual;
    Cell* rare;
    unsigned int* stamps;  // of each granule: reads by whom change nothing, see BlockState
    size_t bytes;
    unsigned int shift;  // log2 of the bytes of a granule
    bool shared;
};

// --- times and threads ------------------------------------------------------------------------------------------------

constexpr unsigned int LANES = 32, BLOCK_WARPS = 32, BLOCK_THREADS = 1024;

// Of the block that runs, on this thread of the operating system.
struct BlockState {
    unsigned int block;         // base + number
    unsigned int time;          // counts barriers, fences and the like
    unsigned int thread;        // that runs
    unsigned int barrier_time;  // all before is ordered
    // Stamps of granules whose reads by this block, by this warp, and by all blocks, change nothing.
    unsigned int block_stamp, warp_stamp, launch_stamp;
    bool fenced;
    unsigned int acquisitions;  // the first of this block
    unsigned int warp_time[BLOCK_WARPS];     // what the whole warp did before is ordered among its lanes
    unsigned int parts_valid;                // warps with clocks in `parts`
    unsigned int fence_time[BLOCK_THREADS];  // 0: none
    bool pending;               // a second write, whose value is not known yet
    unsigned char before[16];
    Race pending_race;
    unsigned long long pending_pair;
    bool guessing;              // a read beside atomic functions: the thread may go on with atomicCAS
    Race guess;
    unsigned long long guess_pair;
    unsigned int parts[BLOCK_WARPS][LANES][LANES];  // what lane knows of lane, where parts of a warp have synchronised
};

// Blocks of a cooperative launch, each on its own thread of the operating system, take turns: one runs at a time.
static BlockState only_state;

// Stamps are for one block between two of what orders, and the warps follow: each once. NO_STAMP is nowhere.
constexpr unsigned int STAMPS = 64, NO_STAMP = 0xffffff00u;
static unsigned int last_stamp = 0;

// Of the launch.
static unsigned int base = 1, blocks = 0;
static bool active = false;
static const char* code_start = nullptr;  // somewhere in the kernel's library
static unsigned int launch_stamp = 0;

static inline BlockState& state() { return only_state; }

// While there is one, a launch that takes too long is not left: what is noted here stays whole.
struct Busy {
    static inline thread_local volatile bool now = false;
    const bool before;
    Busy() : before(now) { now = true; }
    ~Busy() { now = before; }
};

static inline const void* place_of(unsigned int offset) { return code_start + (int)offset; }

// --- what atomic functions hand over ----------------------------------------------------------------------------------

// A thread that has passed a fence comes to a word.
struct Release {
    const void* word;
    unsigned int block, thread;
    unsigned int fence_time, barrier_time, warp_time;
    unsigned int first_acquisition, last_acquisition;  // what its block had learned
    unsigned int earlier_on_word, earlier_of_block;    // 1 + number, of the same word, and of the same block too
    unsigned int search;                               // the last one that came here
};
// A thread comes to a word, and learns of the releases before number `releases`.
struct Acquisition {
    const void* word;
    unsigned int releases, block, thread, time;
    unsigned int search;
};

// From (word, block) to 1 + the number of the last release there; block 0 stands for all blocks.
struct Table {
    std::unordered_map<unsigned long long, unsigned int> entries;
    static unsigned long long key_of(const void* word, unsigned int block) {
        unsigned long long key = ((unsigned long long)(size_t)word << 8) ^ (block * 0x9e3779b97f4a7c15ull);
        key = (key ^ key >> 31) * 0xbf58476d1ce4e5b9ull;
        return key ^ key >> 29;
    }
    unsigned int& find(unsigned long long key) { return entries[key]; }
    unsigned int get(unsigned long long key) const {
        const auto found = entries.find(key);
        return found == entries.end() ? 0 : found->second;
    }
};

static std::vector<Release> releases;
static std::vector<Acquisition> acquisitions;
static Table last_releases;
// Beyond, all is taken for ordered that atomic functions may order.
constexpr unsigned int MAX_RELEASES = 1u << 22;

// Of the grid: of each block the time of its last grid.sync(), and of the one it waits at.
static std::vector<unsigned int> grid_times, grid_arrivals;

// --- what is ordered --------------------------------------------------------------------------------------------------

static inline bool covers(const Release& release, const Cell& cell) {
    if (release.block != cell.block) return false;
    if (cell.time < release.barrier_time) return true;
    if (release.thread == cell.thread) return cell.time < release.fence_time;
    return release.thread / LANES == cell.thread / LANES && cell.time < release.warp_time;
}

// Is there a chain of releases and acquisitions that ends in one of these acquisitions? Long searches end with true. Where
// a search has been, it need not go again: what was known is known later.
static unsigned int search;
static bool handed_over(const Cell& cell, unsigned int block, unsigned int first, unsigned int last,
                        const BlockState* now, unsigned int depth, unsigned int& budget);

static bool word_hands_over(const Cell& cell, const Acquisition& learned, unsigned int depth, unsigned int& budget) {
    for (unsigned int i = last_releases.get(Table::key_of(learned.word, cell.block)); i != 0;) {
        const Release& release = releases[i - 1];
        if (i - 1 < learned.releases && covers(release, cell)) return true;
        if (budget-- == 0) return true;
        i = release.earlier_of_block;
    }
    if (depth == 0) return false;
    for (unsigned int i = last_releases.get(Table::key_of(learned.word, 0)); i != 0;) {
        Release& release = releases[i - 1];
        if (release.search == search) break;
        if (i - 1 < learned.releases) release.search = search;
        if (i - 1 < learned.releases && release.first_acquisition != release.last_acquisition &&
            handed_over(cell, release.block, release.first_acquisition, release.last_acquisition, nullptr, depth - 1,
                        budget))
            return true;
        if (budget == 0 || budget-- == 0) return true;
        i = release.earlier_on_word;
    }
    return false;
}

static inline bool known_in_warp(const BlockState& now, unsigned int thread, unsigned int time) {
    const unsigned int warp = now.thread / LANES;
    if (thread / LANES != warp) return false;
    if (time < now.warp_time[warp]) return true;
    return now.parts_valid >> warp & 1 && time < now.parts[warp][now.thread % LANES][thread % LANES];
}

static bool handed_over(const Cell& cell, unsigned int block, unsigned int first, unsigned int last,
                        const BlockState* now, unsigned int depth, unsigned int& budget) {
    for (unsigned int i = last; i-- > first;) {
        Acquisition& learned = acquisitions[i];
        if (learned.block != block) continue;  // of a cooperative launch
        if (now != nullptr && learned.thread != now->thread && learned.time >= now->barrier_time &&
            !known_in_warp(*now, learned.thread, learned.time))
            continue;  // by another thread, which has not met this one since
        if (learned.search == search) break;
        learned.search = search;
        if (word_hands_over(cell, learned, depth, budget)) return true;
        if (budget == 0) return true;
    }
    return false;
}

__attribute__((noinline)) static bool ordered_by_atomics(const BlockState& now, const Cell& cell) {
    if (releases.size() >= MAX_RELEASES) return true;
    unsigned int budget = 20000;
    ++search;
    return handed_over(cell, now.block, now.acquisitions, acquisitions.size(), &now, 100, budget);
}

// Of an access in this launch by another thread.
static inline bool is_ordered(const BlockState& now, const Cell& cell) {
    if (cell.block == now.block) {
        if (cell.time < now.barrier_time || known_in_warp(now, cell.thread, cell.time)) return true;
    } else if (grid_times.size() != 0 && cell.time < grid_times[cell.block - base]) {
        return true;
    }
    return releases.size() != 0 && ordered_by_atomics(now, cell);
}

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

// --- accesses ---------------------------------------------------------------------------------------------------------

static inline bool is_live(const Shadow& shadow, const BlockState& now, const Cell& cell) {
    return shadow.shared ? cell.block == now.block : cell.block >= base;
}

static inline bool is_own(const Cell& cell, const Cell& self) {
    return cell.block == self.block && cell.thread == self.thread;
}

// Does the cell hold an access of another thread, in this launch, which nothing orders?
static inline bool races_with(const Shadow& shadow, const BlockState& now, const Cell& cell, const Cell& self) {
    return is_live(shadow, now, cell) && !is_own(cell, self) && !is_ordered(now, cell);
}

// Is there nothing that could race with the thread that runs? Also not if only atomic functions or barriers of a warp order it.
static inline bool is_harmless(bool shared, const BlockState& now, const Cell& cell) {
    if (cell.block == now.block) return cell.time < now.barrier_time || cell.thread == now.thread;
    return shared || cell.block < base;
}

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

static inline void synchronise(BlockState& now, const void* word, Kind kind);

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

static void narrow(Shadow& shadow, unsigned int shift);

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

// --- what orders ------------------------------------------------------------------------------------------------------

__attribute__((noinline)) static void release_at(BlockState& now, const void* word) {
    if (releases.size() >= MAX_RELEASES) return;
    Busy busy;
    const unsigned int warp = now.thread / LANES;
    unsigned int warp_time = now.warp_time[warp];
    if (now.parts_valid >> warp & 1)  // of parts of a warp the last meeting counts, for all its lanes
        for (unsigned int lane = 0; lane < LANES; ++lane)
            if (now.parts[warp][now.thread % LANES][lane] > warp_time) warp_time = now.parts[warp][now.thread % LANES][lane];
    unsigned int& on_word = last_releases.find(Table::key_of(word, 0));
    const unsigned int earlier = on_word;
    if (earlier != 0) {
        const Release& last = releases[earlier - 1];
        if (last.word == word && last.block == now.block && last.thread == now.thread &&
            last.fence_time == now.fence_time[now.thread] && last.barrier_time == now.barrier_time &&
            last.warp_time == warp_time && last.last_acquisition == acquisitions.size())
            return;  // nothing new
    }
    on_word = releases.size() + 1;
    unsigned int& of_block = last_releases.find(Table::key_of(word, now.block));
    releases.push_back(Release{word, now.block, now.thread, now.fence_time[now.thread], now.barrier_time, warp_time,
                         now.acquisitions, (unsigned int)acquisitions.size(), earlier, of_block, 0});
    of_block = releases.size();
}

__attribute__((noinline)) static void acquire_at(BlockState& now, const void* word) {
    if (releases.size() >= MAX_RELEASES || last_releases.get(Table::key_of(word, 0)) == 0) return;
    Busy busy;
    for (unsigned int i = acquisitions.size(); i-- > now.acquisitions && i + 8 > acquisitions.size();) {
        Acquisition& last = acquisitions[i];
        if (last.word != word || last.thread != now.thread || last.block != now.block) continue;
        if (last.releases == releases.size()) return;
        if (last.time < now.barrier_time) break;
        last.releases = releases.size();
        return;
    }
    acquisitions.push_back(Acquisition{word, (unsigned int)releases.size(), now.block, now.thread, now.time, 0});
}

static inline void synchronise(BlockState& now, const void* word, Kind kind) {
    if (__builtin_expect(releases.size() != 0, 0) && kind != VOLATILE_WRITE) acquire_at(now, word);
    if (__builtin_expect(now.fenced, 0) && kind != VOLATILE_READ && now.fence_time[now.thread] != 0) release_at(now, word);
}

static inline void settle_pending() {
    BlockState& now = state();
    if (__builtin_expect(now.pending, 0)) settle(now);
    if (__builtin_expect(now.guessing, 0)) settle_guess(now);
}

static void forget_stamps();

// Something may be ordered that was not.
static inline void new_stamps(BlockState& now) {
    if (now.fenced || releases.size() != 0) {
        now.block_stamp = now.launch_stamp = NO_STAMP;
    } else {
        if (__builtin_expect(last_stamp >= NO_STAMP - 2 * STAMPS, 0)) forget_stamps();
        now.block_stamp = last_stamp += STAMPS;
    }
    now.warp_stamp = now.block_stamp + 1 + now.thread / LANES;
}

// All threads of the block that runs have arrived.
static inline void on_block_barrier() {
    if (!active) return;
    BlockState& now = state();
    now.barrier_time = ++now.time;
    new_stamps(now);
}

// These lanes have met; `all` are those that the warp has.
__attribute__((noinline)) static void on_warp_barrier(unsigned int warp, unsigned int lanes, unsigned int all) {
    if (!active) return;
    BlockState& now = state();
    ++now.time;
    new_stamps(now);
    if ((lanes & all) == all) {
        now.warp_time[warp] = now.time;
        return;
    }
    auto& parts = now.parts[warp];
    if (!(now.parts_valid >> warp & 1)) {
        __builtin_memset(parts, 0, sizeof parts);
        now.parts_valid |= 1u << warp;
    }
    unsigned int known[LANES] = {};
    for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned int lane = __builtin_ctz(rest);
        for (unsigned int i = 0; i < LANES; ++i)
            if (parts[lane][i] > known[i]) known[i] = parts[lane][i];
    }
    for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) known[__builtin_ctz(rest)] = now.time;
    for (unsigned int rest = lanes; rest != 0; rest &= rest - 1)
        __builtin_memcpy(parts[__builtin_ctz(rest)], known, sizeof known);
}

static inline void on_fence() {
    if (!active) return;
    BlockState& now = state();
    now.fenced = true;
    now.fence_time[now.thread] = ++now.time;
    new_stamps(now);
}

// The block that runs has come to a barrier of the grid.
static inline void on_grid_arrival() {
    if (!active) return;
    BlockState& now = state();
    grid_arrivals[now.block - base] = ++now.time;
}

// All blocks have.
static inline void on_grid_barrier() {
    if (!active) return;
    __builtin_memcpy(grid_times.data(), grid_arrivals.data(), blocks * sizeof(unsigned int));
}

static inline void on_thread(unsigned int thread) {
    settle_pending();
    BlockState& now = state();
    now.thread = thread;
    now.warp_stamp = now.block_stamp + 1 + thread / LANES;
}

static void on_block(unsigned long long number) {
    settle_pending();
    BlockState& now = state();
    now.block = base + (unsigned int)number;
    now.thread = 0;
    now.time = 1;
    now.barrier_time = 0;
    now.parts_valid = 0;
    __builtin_memset(now.warp_time, 0, sizeof now.warp_time);
    if (now.fenced) __builtin_memset(now.fence_time, 0, sizeof now.fence_time);
    now.fenced = false;
    now.acquisitions = acquisitions.size();
    now.launch_stamp = launch_stamp;
    new_stamps(now);
}

// --- the launch -------------------------------------------------------------------------------------------------------

// Memory that launches have used is kept for the next: what it holds is recognised as old.
struct Kept {
    Cell* cells;
    size_t granules;
    bool used;
};
static std::vector<Kept> kept;
constexpr size_t MAX_KEPT_BYTES = (size_t)256 << 20;
constexpr unsigned int MAX_KEPT = 256;  // a process has some ten thousand maps in all

constexpr size_t GRANULE_BYTES = 4 * sizeof(Cell) + sizeof(unsigned int);
// Where one region would need more, nobody looks for races.
constexpr size_t MAX_REGION_BYTES = (size_t)16 << 30;

static unsigned int* stamps_of(const Kept& one) { return (unsigned int*)(one.cells + 4 * one.granules); }

static Kept* cells_for(size_t granules) {
    unsigned int best = ~0u;
    for (unsigned int i = 0; i < kept.size(); ++i)
        if (!kept[i].used && kept[i].granules >= granules &&
            (best == ~0u || kept[i].granules < kept[best].granules))
            best = i;
    const size_t room = (granules + 63) & ~(size_t)63;
    if (best != ~0u && kept[best].granules / 4 <= room) {
        kept[best].used = true;
        return &kept[best];
    }
    if (room > MAX_REGION_BYTES / GRANULE_BYTES) return nullptr;
    void* cells = mmap(nullptr, room * GRANULE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells == MAP_FAILED) return nullptr;
    madvise(cells, room * 2 * sizeof(Cell), MADV_HUGEPAGE);
    kept.push_back(Kept{(Cell*)cells, room, true});
    return &kept.back();
}

// Keeps accesses to a region from now to the end of the launch; not if there is no memory for it.
static void watch(Shadow& shadow, size_t bytes, unsigned int shift, bool shared) {
    shadow = Shadow{nullptr, nullptr, nullptr, bytes, shift, shared};
    const Kept* memory = cells_for((bytes >> shift) + 1);
    if (memory == nullptr) return;
    shadow.usual = memory->cells;
    shadow.rare = memory->cells + 2 * memory->granules;
    shadow.stamps = stamps_of(*memory);
}

// Makes the granules of a region smaller.
__attribute__((noinline, cold)) static void narrow(Shadow& shadow, unsigned int shift) {
    Busy busy;
    const Shadow old = shadow;
    watch(shadow, old.bytes, shift, old.shared);
    if (shadow.usual != nullptr) {
        const unsigned int parts = 1u << (old.shift - shift);
        for (size_t granule = 0; granule < old.bytes >> old.shift; ++granule) {
            const Cell* usual = old.usual + 2 * granule;
            if (usual[0].block < base && usual[1].block < base) continue;
            for (size_t part = granule * parts; part < (granule + 1) * parts; ++part) {
                __builtin_memcpy(shadow.usual + 2 * part, usual, 2 * sizeof(Cell));
                __builtin_memcpy(shadow.rare + 2 * part, old.rare + 2 * granule, 2 * sizeof(Cell));
            }
        }
    }
    // What was kept there until now is of this launch, in which nobody else may have the memory.
}

__attribute__((noinline, cold)) static void forget_stamps() {
    for (const Kept& one : kept) __builtin_memset(stamps_of(one), 0, one.granules * sizeof(unsigned int));
    last_stamp = 0;
    if (launch_stamp != NO_STAMP) launch_stamp = only_state.launch_stamp = last_stamp += STAMPS;
}

static void forget_kept(bool all) {
    size_t bytes = 0;
    unsigned int left = 0;
    for (unsigned int i = 0; i < kept.size(); ++i) {
        const Kept one = kept[i];
        const size_t size = one.granules * GRANULE_BYTES;
        if (all || left == MAX_KEPT || bytes + size > MAX_KEPT_BYTES) {
            munmap(one.cells, size);
        } else {
            bytes += size;
            kept[left++] = Kept{one.cells, one.granules, false};
        }
    }
    kept.resize(left);
}

// Bytes of `kept`. Of a small map so many that their number is bounded, too.
static size_t kept_bytes() {
    size_t bytes = 0;
    for (const Kept& one : kept) bytes += one.granules * GRANULE_BYTES < 65536 ? 65536 : one.granules * GRANULE_BYTES;
    return bytes;
}

// Before `watch`. Places are within 2 GB of `library`.
static void begin_launch(unsigned long long number_of_blocks, bool cooperative, const void* library) {
    code_start = (const char*)library;
    active = number_of_blocks < 0x7fffffffull;
    if (base > 0xfffffff0u - (unsigned int)number_of_blocks) {
        forget_kept(true);
        base = 1;
    }
    blocks = (unsigned int)number_of_blocks;
    if (last_stamp >= NO_STAMP - 2 * STAMPS) forget_stamps();
    launch_stamp = cooperative ? NO_STAMP : last_stamp += STAMPS;
    reports = 0;
    grid_times.clear();
    grid_arrivals.clear();
    if (cooperative)
        for (unsigned int i = 0; i < blocks; ++i) {
            grid_times.push_back(0);
            grid_arrivals.push_back(0);
        }
}

// In a forked process, whose parent had a launch under way in another thread. What is half done stays where it is.
static void start_anew() {
    new (&kept) std::vector<Kept>();
    new (&releases) std::vector<Release>();
    new (&acquisitions) std::vector<Acquisition>();
    new (&last_releases) Table();
    new (&grid_times) std::vector<unsigned int>();
    new (&grid_arrivals) std::vector<unsigned int>();
    only_state.pending = only_state.guessing = false;
}

// Also after a launch that a trap has ended.
static void end_launch() {
    settle_pending();
    base += blocks;
    active = false;
    only_state.pending = only_state.guessing = false;
    releases.clear();
    acquisitions.clear();
    last_releases.entries.clear();
    forget_kept(false);
}

}  // namespace cunumpy_cpu_races
namespace races = cunumpy_cpu_races;

#define CUNUMPY_CPU_HOOK extern "C" __attribute__((visibility("hidden"), used))
CUNUMPY_CPU_HOOK void cunumpy_check_block(unsigned long long number) {
    if (!races::active) return;
    races::on_block(number);
    races::on_new_block();
}
CUNUMPY_CPU_HOOK void cunumpy_check_thread(unsigned int number) {
    if (races::active) races::on_thread(number);
}
// The next thread of a block whose threads are a loop; index is threadIdx.
CUNUMPY_CPU_HOOK void cunumpy_check_thread_at(unsigned int* index, unsigned int x, unsigned int y, unsigned int z, unsigned int number) {
    index[0] = x;
    index[1] = y;
    index[2] = z;
    if (races::active) races::on_thread(number);
}
CUNUMPY_CPU_HOOK void cunumpy_check_block_barrier() { races::on_block_barrier(); }
CUNUMPY_CPU_HOOK void cunumpy_check_warp_barrier(unsigned int warp, unsigned int lanes, unsigned int all) {
    races::on_warp_barrier(warp, lanes, all);
}
CUNUMPY_CPU_HOOK void cunumpy_check_fence() { races::on_fence(); }
CUNUMPY_CPU_HOOK void cunumpy_check_grid_arrival() { races::on_grid_arrival(); }
CUNUMPY_CPU_HOOK void cunumpy_check_grid_barrier() { races::on_grid_barrier(); }
CUNUMPY_CPU_HOOK int cunumpy_check_is_busy() { return races::Busy::now; }
#undef CUNUMPY_CPU_HOOK
