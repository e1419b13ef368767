// What orders an access of one thread before one of another, as in CUDA's memory model:
//   - a barrier of the block between them; grid.sync(); the end of the launch;
//   - __syncwarp, or a barrier of a group, of both lanes. The functions by which lanes exchange values (__shfl_sync,
//     __ballot_sync, ...) order no memory, says CUDA's guide; nor does it that the lanes of a warp ran together in the past;
//   - an atomic function: what the first did before a fence (__threadfence) and then an atomic function on a word is before
//     what the second does after an atomic function on the same word. Volatile reads and writes of global memory, too,
//     hand over like this. In shared memory volatile orders nothing.
#pragma once

#include <unordered_map>
#include <vector>

#include "race_state.hpp"

namespace cunumpy_cpu_races {

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

// Does the cell hold an access of another thread, in this launch, which nothing orders?
static inline bool races_with(const Shadow& shadow, const BlockState& now, const Cell& cell, const Cell& self) {
    return is_live(shadow, now, cell) && !is_own(cell, self) && !is_ordered(now, cell);
}

// Is there nothing that could race with the thread that runs? Also not if only atomic functions or barriers of a warp order it.
static inline bool is_harmless(bool shared, const BlockState& now, const Cell& cell) {
    if (cell.block == now.block) return cell.time < now.barrier_time || cell.thread == now.thread;
    return shared || cell.block < base;
}

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

}  // namespace cunumpy_cpu_races
