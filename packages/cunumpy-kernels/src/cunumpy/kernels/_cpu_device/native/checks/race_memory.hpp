// The memory in which races are looked for: records of granules, kept from launch to launch. What they hold is recognised
// as old.
#pragma once

#include <sys/mman.h>

#include <vector>

#include "race_state.hpp"

namespace cunumpy_cpu_races {

// A map, which is some region's in this launch if it is used.
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

}  // namespace cunumpy_cpu_races
