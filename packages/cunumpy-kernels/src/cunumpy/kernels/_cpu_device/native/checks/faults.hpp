// What was found: at most MAX_FAULTS faults of a launch, which checking.py reads and describes.
#pragma once

#include "ranges.hpp"

// In the kernel's unit: leaves the launch.
extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void cunumpy_cpu_check_fail(const char* message);

namespace cunumpy_cpu_checks {

enum FaultKind : u64 { NOTHING, OUT_OF_BOUNDS, READ_ONLY, NULL_ADDRESS, MISALIGNED, UNWRITTEN, INDEX, RACE, VIEW };

struct Part {
    u64 kind, block, thread, place;  // of the code, in the library
};
struct Fault {
    u64 kind, at, size, region;  // region: its number, or -1
    Part parts[2];               // the second for races alone
    long long index;  // of INDEX and VIEW; else where the region begins
    char text[232];
};

constexpr unsigned int MAX_FAULTS = 10;

Fault faults[MAX_FAULTS];
unsigned int fault_count;
bool active;  // whether accesses are looked at

Part part_of(u64 kind, const void* place) {
    const races::BlockState& now = races::state();
    return Part{kind, now.block - races::base, now.thread, (u64)((const char*)place - library)};
}

// Notes a fault, once for each place. True if that was new.
__attribute__((noinline, cold)) bool note(FaultKind kind, const void* at, size_t size, const Region* region, u64 access,
                                          const void* place) {
    races::Busy busy;
    const Part part = part_of(access, place);
    for (unsigned int i = 0; i < fault_count; ++i)
        if (faults[i].kind == kind && faults[i].parts[0].place == part.place) return false;
    if (fault_count == MAX_FAULTS) return false;
    Fault& fault = faults[fault_count++];
    fault = Fault{};
    fault.kind = kind;
    fault.at = (u64)at;
    fault.size = size;
    fault.region = region == nullptr ? ~0ull : region->number;
    if (region != nullptr) fault.index = (long long)(size_t)region->begin;
    fault.parts[0] = part;
    return true;
}

void stop() {
    active = false;
    forget_recent();
}

// After what `note` has noted.
[[noreturn]] __attribute__((noinline, cold)) void leave() {
    stop();
    cunumpy_cpu_check_fail("a fault that was noted");
}

// The launch can't go on.
[[noreturn]] __attribute__((noinline, cold)) void fatal(FaultKind kind, const void* at, size_t size, const Region* region,
                                                        u64 access, const void* place) {
    if (!note(kind, at, size, region, access, place) && fault_count == MAX_FAULTS) {
        --fault_count;  // what ends the launch is worth more
        note(kind, at, size, region, access, place);
    }
    leave();
}

void on_race(const races::Race& race) {
    if (fault_count == MAX_FAULTS) return;
    races::Busy busy;
    Fault& fault = faults[fault_count++];
    fault = Fault{};
    fault.kind = RACE;
    fault.at = (u64)race.at;
    fault.size = race.size;
    fault.region = ~0ull;
    for (const Region& region : regions)
        if ((const char*)race.at >= region.begin && (const char*)race.at < region.begin + region.bytes) {
            fault.region = region.number;
            fault.index = (long long)(size_t)region.begin;
        }
    const races::Access* accesses[] = {&race.first, &race.second};
    for (int i = 0; i < 2; ++i)
        fault.parts[i] = Part{accesses[i]->kind, accesses[i]->block, accesses[i]->thread,
                              (u64)((const char*)accesses[i]->place - library)};
}

}  // namespace cunumpy_cpu_checks
