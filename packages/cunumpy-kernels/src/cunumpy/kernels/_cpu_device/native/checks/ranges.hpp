// For each place in the code the region that it accessed last, so that most accesses are checked without a search.
#pragma once

#include "regions.hpp"

namespace cunumpy_cpu_checks {

// What a place in the code used last. Nearly always it goes on there, and what it may do is told by few comparisons.
struct alignas(64) Range {
    const char* begin;
    size_t count;          // of aligned accesses that are within it, and one granule
    unsigned int* stamps;  // of the region, as are these; null: such accesses need nothing but to be there
    races::Cell* cells;
    char* written;
    Region* region;  // null: of no interest
    size_t bytes;    // of what is of no interest
    unsigned int shared;
    unsigned int used;  // it is in `used`
};
constexpr unsigned int PLACES = 1024;

// By place, since calls are at least 5 bytes apart. Two places may have the same Range, but not if one reads and the other
// one writes, or if their accesses are of different sizes: such things were decided when it was found.
constexpr unsigned int CLASSES = 11;
Range recent[CLASSES][PLACES];
Range* used[CLASSES * PLACES];
unsigned int used_count;

// Of accesses of 1, 2, 4, 8 or 16 bytes by check_quickly; 0: of others.
template <races::Kind kind, unsigned int size>
inline Range& range_of(const void* place) {
    constexpr unsigned int number = size == 0 ? CLASSES - 1 : 2 * __builtin_ctz(size) + (kind == WRITE);
    return *(Range*)((char*)recent[number] + ((size_t)place & 4 * (PLACES - 1)) * (sizeof(Range) / 4));
}

void forget_recent() {
    for (; used_count != 0; --used_count) *used[used_count - 1] = Range{};
}

}  // namespace cunumpy_cpu_checks
