// Memory that a launch may use: its arguments, the variables of the library, shared memory.
//
// Needs ELF and the dynamic linker of glibc or musl, which tells where the shared memory of a kernel is: thread-local
// variables of its library.
#pragma once

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "races.hpp"

namespace cunumpy_cpu_checks {

namespace races = cunumpy_cpu_races;
using races::ATOMIC;
using races::READ;
using races::VOLATILE_READ;
using races::VOLATILE_WRITE;
using races::WRITE;
typedef unsigned long long u64;

enum Memory : unsigned int { ARGUMENT, VARIABLE, SHARED };

// Memory that a kernel may use, as checked_library.py has it, too.
struct Given {
    u64 begin, bytes;    // an address; of variables in the library, of shared memory in its thread-local storage
    u64 room;            // how far the memory goes that is for this alone, of which the kernel may use `bytes`
    const char* owned;   // of each byte whether it belongs to somebody; null: all do
    unsigned int memory;
    unsigned int shift;  // log2 of the bytes of what races are looked for in
    unsigned int read_only, unwritten;
};

struct Region {
    const char* begin;
    size_t bytes, room;
    const char* owned;
    char* written;  // of each byte whether somebody has written it; null where that is of no interest
    Memory memory;
    bool read_only;
    bool used;  // in this launch
    unsigned int number;  // as given
    u64 key;              // in `granules`
    races::Shadow shadow;
};

std::vector<Region> regions;  // by address; they don't overlap

// Where arguments, variables and shared memory are; between them is nothing of interest.
const char *arguments_begin, *arguments_end, *library_begin, *library_end;
const char* library;  // what places in the code are counted from
// Of variables and shared memory, by where they are in the library: granules in which they were used, from launch to launch.
std::unordered_map<u64, unsigned int> granules;
// Which shared memory has been written is forgotten when a block begins: an array as long as the thread-local storage.
char* shared_written;
// Of variables it is known from launch to launch: an array as long as the library.
char* variables_written;

// --- finding them -----------------------------------------------------------------------------------------------------

// The region that has the address, else null.
Region* find_region(const char* at) {
    size_t low = 0, high = regions.size();
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (regions[middle].begin + regions[middle].bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < regions.size() && regions[low].begin <= at ? &regions[low] : nullptr;
}

// Of shared memory or variables: what ends at an address, else, if that is nobody's, what ends or begins nearby.
const Region* neighbour(const char* at, Memory memory) {
    const Region* nearest = nullptr;
    size_t least = find_region(at) == nullptr ? 4096 : 1;
    for (const Region& region : regions) {
        if (region.memory != memory) continue;
        const size_t behind = (size_t)(at - (region.begin + region.bytes)), before = (size_t)(region.begin - at);
        const size_t distance = least == 1 ? behind : std::min(behind, before);
        if (distance >= least) continue;
        least = distance;
        nearest = &region;
    }
    return nearest;
}

// Of memory of one kind, where there are gaps between the regions: the nearest.
const Region* nearest_region(const char* at, Memory memory) {
    const Region* nearest = nullptr;
    size_t least = ~(size_t)0;
    for (const Region& region : regions) {
        if (region.memory != memory) continue;
        const size_t distance = at < region.begin ? region.begin - at : at - (region.begin + region.bytes);
        if (distance < least) {
            least = distance;
            nearest = &region;
        }
    }
    return nearest;
}

// --- adding them ------------------------------------------------------------------------------------------------------

void insert_region(const Region& region) {
    size_t place = regions.size();
    while (place > 0 && regions[place - 1].begin > region.begin) --place;
    regions.insert(regions.begin() + place, region);
}

void add_region(const Given& one, unsigned int number, const char* begin, char* written) {
    Region region = {};
    region.begin = begin;
    region.bytes = one.bytes;
    region.room = one.room;
    region.owned = one.owned;
    region.written = written;
    region.memory = (Memory)one.memory;
    region.read_only = one.read_only != 0;
    region.number = number;
    unsigned int shift = one.shift;
    if (region.memory != ARGUMENT) {  // whose granules are as large as can be until they are used in parts
        region.key = (one.begin << 2 | region.memory) + 1;
        const auto known = granules.find(region.key);
        shift = known != granules.end() ? known->second : 4;
    }
    while (((size_t)begin & ((1u << shift) - 1)) != 0) --shift;
    if (!region.read_only) races::watch(region.shadow, region.bytes, shift, region.memory == SHARED);
    insert_region(region);
}

thread_local char local_anchor;

struct Found {
    const char *begin, *end, *base, *local;
    size_t local_bytes;
};
int find_library(dl_phdr_info* info, size_t, void* data) {
    Found& found = *(Found*)data;
    const char* here = (const char*)&find_library;
    const char *begin = nullptr, *end = nullptr;
    bool mine = false;
    size_t local_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        if (part.p_type == PT_TLS) local_bytes = part.p_memsz;
        if (part.p_type != PT_LOAD) continue;
        const char* from = (const char*)info->dlpi_addr + part.p_vaddr;
        if (begin == nullptr || from < begin) begin = from;
        if (from + part.p_memsz > end) end = from + part.p_memsz;
        mine = mine || (here >= from && here < from + part.p_memsz);
    }
    if (mine) found = Found{begin, end, (const char*)info->dlpi_addr, (const char*)info->dlpi_tls_data, local_bytes};
    return mine;
}

// The shared memory of the thread of the system that calls this. The library has it as thread-local storage.
Found own_library() {
    *(volatile char*)&local_anchor = 0;  // so that the thread has it
    Found found = {};
    dl_iterate_phdr(find_library, &found);
    return found;
}

void add_shared(const Given* given, unsigned int count, const Found& found) {
    for (unsigned int i = 0; i < count; ++i) {
        const Given& one = given[i];
        if (one.memory != SHARED) continue;
        add_region(one, i, found.local + one.begin, shared_written + one.begin);
    }
}

// A new block's shared memory has been written by nobody.
void forget_written() {
    for (Region& region : regions)
        if (region.memory == SHARED && region.used) memset(region.written, 0, region.bytes);
}

}  // namespace cunumpy_cpu_checks
