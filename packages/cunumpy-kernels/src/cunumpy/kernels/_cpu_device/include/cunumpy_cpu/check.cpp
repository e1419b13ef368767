// What checked builds call at each access to memory: is it within what the kernel was given, and may it be there?
//
// The kernel's unit is compiled with -fsanitize=thread and others, which make the compiler call __tsan_read4(address) and
// the like; these functions are here, and nobody else finds their names. This unit is compiled plainly, once for each
// compiler, and linked into each checked library. checking.py describes the memory, and writes the reports.
//
// Needs ELF and the dynamic linker of glibc or musl, which tells where the shared memory of a kernel is: thread-local
// variables of its library.
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <deque>
#include <type_traits>

#include "races.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define HIDDEN extern "C" __attribute__((visibility("hidden")))

// In the kernel's unit: leaves the launch.
extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void cunumpy_cpu_check_fail(const char* message);

namespace cunumpy_cpu_checks {

using races::ATOMIC;
using races::READ;
using races::VOLATILE_READ;
using races::VOLATILE_WRITE;
using races::WRITE;
typedef unsigned long long u64;

enum FaultKind : u64 { NOTHING, OUT_OF_BOUNDS, READ_ONLY, NULL_ADDRESS, MISALIGNED, UNWRITTEN, INDEX, RACE, VIEW };
enum Memory : unsigned int { ARGUMENT, VARIABLE, SHARED };

// Memory that a kernel may use, as checking.py describes it.
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
    unsigned int number;  // as given
    u64 key;              // in `granules`
    races::Shadow shadow;
};

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

std::vector<Region> regions;  // by address; they don't overlap
// By place, since calls are at least 5 bytes apart. Two places may have the same Range, but not if one reads and the other
// one writes, or if their accesses are of different sizes: such things were decided when it was found.
constexpr unsigned int CLASSES = 11;
Range recent[CLASSES][PLACES];
Range* used[CLASSES * PLACES];
unsigned int used_count;
Fault faults[MAX_FAULTS];
unsigned int fault_count;
bool active;
// Where arguments, variables and shared memory are; between them is nothing of interest.
const char *arguments_begin, *arguments_end, *library_begin, *library_end;
const char* library;
// Of variables and shared memory, by where they are in the library: granules in which they were used, from launch to launch.
std::unordered_map<u64, unsigned int> granules;
// Shared memory is forgotten from block to block.
char* shared_written;
size_t shared_bytes;
// Of variables it is known from launch to launch: an array as long as the library.
char* variables_written;

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

// --- faults -----------------------------------------------------------------------------------------------------------

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

void forget_recent() {
    for (; used_count != 0; --used_count) *used[used_count - 1] = Range{};
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

// --- accesses ---------------------------------------------------------------------------------------------------------

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

extern bool cooperative;
bool pass_turn();

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

// Of accesses of 1, 2, 4, 8 or 16 bytes by check_quickly; 0: of others.
template <races::Kind kind, unsigned int size>
inline Range& range_of(const void* place) {
    constexpr unsigned int number = size == 0 ? CLASSES - 1 : 2 * __builtin_ctz(size) + (kind == WRITE);
    return *(Range*)((char*)recent[number] + ((size_t)place & 4 * (PLACES - 1)) * (sizeof(Range) / 4));
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

using namespace cunumpy_cpu_checks;

// --- regions ----------------------------------------------------------------------------------------------------------

namespace cunumpy_cpu_checks {

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
        if (one.begin + one.bytes > shared_bytes) shared_bytes = one.begin + one.bytes;
    }
}

// --- cooperative launches ---------------------------------------------------------------------------------------------

// Blocks of a cooperative launch have a thread of the system each, a worker. They take turns, from one barrier of the
// grid to the next, so that all that is noted here is that of one block.
struct Worker {
    pthread_cond_t wake;
    // While another one runs: its shared memory, and what `state` says of its block.
    std::vector<Region> shared;
    char* shared_written;
    size_t shared_bytes;
    races::BlockState block;
};

bool cooperative;
const Given* all_given;
unsigned int given_count, launches = 1;
pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;  // for these two
Worker* running;
std::deque<Worker*> waiting;
Worker* seated;  // to whom the shared memory in `regions` belongs
std::vector<Worker*> workers;
thread_local Worker* own_worker;
thread_local unsigned int own_launch;  // of which launch that one is

void copy_block(races::BlockState& to, const races::BlockState& from) {
    memcpy(&to, &from, from.parts_valid != 0 ? sizeof from : offsetof(races::BlockState, parts));
}

void leave_seat() {
    if (seated == nullptr) return;
    races::settle_pending();
    copy_block(seated->block, races::state());
    seated->shared_written = shared_written;
    seated->shared_bytes = shared_bytes;
    size_t left = 0;
    for (const Region& region : regions)
        if (region.memory == SHARED)
            seated->shared.push_back(region);
        else
            regions[left++] = region;
    regions.resize(left);
    seated = nullptr;
    forget_recent();
}

void take_seat(Worker& worker) {
    if (seated == &worker) return;
    leave_seat();
    seated = &worker;
    shared_written = worker.shared_written;
    shared_bytes = worker.shared_bytes;
    copy_block(races::state(), worker.block);
    for (const Region& region : worker.shared) insert_region(region);
    worker.shared.clear();
    if (shared_written != nullptr) return;
    const Found found = own_library();
    shared_written = (char*)malloc(found.local_bytes + 1);
    add_shared(all_given, given_count, found);
}

bool take_turn() {
    races::Busy busy;
    if (own_launch != launches) {
        own_worker = new Worker();
        own_launch = launches;
        pthread_cond_init(&own_worker->wake, nullptr);
        pthread_mutex_lock(&turns);
        workers.push_back(own_worker);
        pthread_mutex_unlock(&turns);
    }
    Worker& self = *own_worker;
    pthread_mutex_lock(&turns);
    if (running == nullptr)
        running = &self;
    else if (running != &self)
        waiting.push_back(&self);
    while (running != &self) pthread_cond_wait(&self.wake, &turns);
    pthread_mutex_unlock(&turns);
    if (active) take_seat(self);
    return active;
}

void end_turn() {
    races::Busy busy;
    pthread_mutex_lock(&turns);
    if (running == own_worker) {
        running = nullptr;
        if (!waiting.empty()) {
            running = waiting.front();
            waiting.pop_front();
            pthread_cond_signal(&running->wake);
        }
    }
    pthread_mutex_unlock(&turns);
}

// Lets others run who wait. A thread that no longer has its turn does not leave the launch.
bool pass_turn() {
    races::Busy busy;
    end_turn();
    return take_turn();
}

void end_cooperative() {
    leave_seat();
    for (Worker* worker : workers) {
        free(worker->shared_written);
        pthread_cond_destroy(&worker->wake);
        delete worker;
    }
    workers.clear();
    waiting.clear();
    running = nullptr;
    shared_written = nullptr;
    shared_bytes = 0;
    cooperative = false;
    ++launches;
}

}  // namespace cunumpy_cpu_checks

HIDDEN int cunumpy_check_take_turn() { return !cooperative || take_turn(); }
HIDDEN void cunumpy_check_end_turn() {
    if (cooperative) end_turn();
}
HIDDEN int cunumpy_check_pass_turn() { return !cooperative || pass_turn(); }

// --- the launch -------------------------------------------------------------------------------------------------------

namespace cunumpy_cpu_checks {

// From its begin to its end. Also at the begin of one in a process that was forked meanwhile, by another thread.
bool under_way;

// Then whoever had a turn or waited for it is not there, and what they changed may be half done: it stays where it is.
void start_anew() {
    new (&regions) std::vector<Region>();
    new (&granules) std::unordered_map<u64, unsigned int>();
    new (&waiting) std::deque<Worker*>();
    new (&workers) std::vector<Worker*>();
    pthread_mutex_init(&turns, nullptr);
    running = seated = nullptr;
    shared_written = nullptr;
    ++launches;
    races::start_anew();
}

}  // namespace cunumpy_cpu_checks

// Begins a launch on this thread; `given` are regions, sorted by kind of memory and begin. Returns the library's address.
EXPORT const void* cunumpy_check_begin(u64 blocks, int is_cooperative, const Given* given, unsigned int count,
                                       const void* from, const void* to) {
    if (under_way) start_anew();
    under_way = true;
    const Found found = own_library();
    library = found.base;
    library_begin = found.begin;
    library_end = found.end;
    arguments_begin = (const char*)from;
    arguments_end = (const char*)to;
    if (variables_written == nullptr) variables_written = (char*)calloc((size_t)(library_end - library_begin), 1);
    fault_count = 0;
    cooperative = is_cooperative != 0;
    all_given = given;
    given_count = count;
    races::report = on_race;
    races::begin_launch(blocks, cooperative, library);
    regions.clear();
    regions.reserve(count + 1);
    forget_recent();
    for (unsigned int i = 0; i < count; ++i) {
        const Given& one = given[i];
        if (one.memory == SHARED) continue;
        const char* begin = (const char*)((one.memory == VARIABLE ? (size_t)library : 0) + one.begin);
        add_region(one, i, begin,
                   one.memory == VARIABLE && one.unwritten != 0 ? variables_written + (begin - library_begin) : nullptr);
    }
    shared_bytes = 0;
    if (!cooperative) {
        free(shared_written);
        shared_written = (char*)malloc(found.local_bytes + 1);
        add_shared(given, count, found);
    }
    active = true;
    return library;
}

// Ends it; returns how many faults there are. `kept`: the bytes that stay for what the next launch notes of races.
EXPORT unsigned int cunumpy_check_end(const Fault** found, u64* kept) {
    races::end_launch();  // it may find one more
    stop();
    if (cooperative) end_cooperative();
    *found = faults;
    *kept = races::kept_bytes();
    under_way = false;
    return fault_count;
}

// Gives that memory back; not during a launch.
EXPORT void cunumpy_check_forget() { races::forget_kept(true); }

// The host has access to variables, and may have written them.
EXPORT void cunumpy_check_variable_is_known(const char* at, u64 bytes) {
    Found found = {};
    dl_iterate_phdr(find_library, &found);
    if (variables_written == nullptr) variables_written = (char*)calloc((size_t)(found.end - found.begin), 1);
    if (at >= found.begin && at + bytes <= found.end) memset(variables_written + (at - found.begin), 1, bytes);
}

namespace cunumpy_cpu_races {
static void on_new_block() {
    if (::active && shared_bytes != 0) memset(shared_written, 0, shared_bytes);
}
}  // namespace cunumpy_cpu_races

HIDDEN void cunumpy_check_stop() { stop(); }

HIDDEN u64 cunumpy_check_place(const void* code) { return (u64)((const char*)code - library); }

HIDDEN void cunumpy_check_view(const char* name, const void* data, long long index, int axis, long long extent,
                               const void* place) {
    if (!active) return;
    if (note(VIEW, data, 0, nullptr, races::VOLATILE_WRITE + 1, place)) {
        Fault& fault = faults[fault_count - 1];
        fault.index = index;
        snprintf(fault.text, sizeof fault.text, "%d %lld %s", axis, extent, name);
    }
    leave();
}

// --- what the compiler calls ------------------------------------------------------------------------------------------

#define PLACE __builtin_return_address(0)

#define ACCESSES(n)                                                                                          \
    HIDDEN void __tsan_read##n(void* at) { check_quickly<READ, n>(at, PLACE, range_of<READ, n>(PLACE)); }    \
    HIDDEN void __tsan_write##n(void* at) { check_quickly<WRITE, n>(at, PLACE, range_of<WRITE, n>(PLACE)); } \
    HIDDEN void __tsan_volatile_read##n(void* at) { check_aligned<VOLATILE_READ, n>(at, PLACE); }            \
    HIDDEN void __tsan_volatile_write##n(void* at) { check_aligned<VOLATILE_WRITE, n>(at, PLACE); }          \
    HIDDEN void __tsan_unaligned_read##n(void* at) { check<READ>(at, n, PLACE); }                            \
    HIDDEN void __tsan_unaligned_write##n(void* at) { check<WRITE>(at, n, PLACE); }                          \
    HIDDEN void __tsan_unaligned_volatile_read##n(void* at) { check<VOLATILE_READ>(at, n, PLACE); }          \
    HIDDEN void __tsan_unaligned_volatile_write##n(void* at) { check<VOLATILE_WRITE>(at, n, PLACE); }        \
    HIDDEN void __tsan_read_write##n(void* at) {                                                             \
        check_quickly<READ, n>(at, PLACE, range_of<READ, n>(PLACE));                                         \
        check_quickly<WRITE, n>(at, PLACE, range_of<WRITE, n>(PLACE));                                       \
    }                                                                                                        \
    HIDDEN void __tsan_unaligned_read_write##n(void* at) {                                                   \
        check<READ>(at, n, PLACE);                                                                           \
        check<WRITE>(at, n, PLACE);                                                                          \
    }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

HIDDEN void __tsan_read_range(void* at, size_t size) {
    if (size != 0) check<READ>(at, size, PLACE);
}
HIDDEN void __tsan_write_range(void* at, size_t size) {
    if (size != 0) check<WRITE>(at, size, PLACE);
}
// memcpy and memset of a kernel's text; `from` is null for memset.
HIDDEN void cunumpy_check_range(void* to, const void* from, size_t size) {
    if (size == 0) return;
    if (from != nullptr) check<READ>(from, size, PLACE);
    check<WRITE>(to, size, PLACE);
}
HIDDEN void* __tsan_memcpy(void* to, const void* from, size_t size) {
    if (size != 0) {
        check<READ>(from, size, PLACE);
        check<WRITE>(to, size, PLACE);
    }
    return memcpy(to, from, size);
}
HIDDEN void* __tsan_memmove(void* to, const void* from, size_t size) {
    if (size != 0) {
        check<READ>(from, size, PLACE);
        check<WRITE>(to, size, PLACE);
    }
    return memmove(to, from, size);
}
HIDDEN void* __tsan_memset(void* to, int byte, size_t size) {
    if (size != 0) check<WRITE>(to, size, PLACE);
    return memset(to, byte, size);
}
HIDDEN void __tsan_init() {}
HIDDEN void __tsan_func_entry(void*) {}
HIDDEN void __tsan_func_exit() {}
HIDDEN void __tsan_vptr_update(void**, void*) {}
HIDDEN void __tsan_vptr_read(void**) {}
HIDDEN void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HIDDEN void __tsan_atomic_signal_fence(int) {}

#define CHANGE(n, T, name)                                             \
    HIDDEN T __tsan_atomic##n##_##name(volatile T* at, T value, int) { \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);          \
        return __atomic_##name(at, value, __ATOMIC_SEQ_CST);           \
    }
#define ATOMICS(n, T)                                                                                  \
    HIDDEN T __tsan_atomic##n##_load(const volatile T* at, int) {                                      \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                                  \
    HIDDEN void __tsan_atomic##n##_store(volatile T* at, T value, int) {                               \
        check_aligned<ATOMIC, n / 8, false>((const void*)at, PLACE);                                   \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                 \
    }                                                                                                  \
    HIDDEN T __tsan_atomic##n##_exchange(volatile T* at, T value, int) {                               \
        check_aligned<ATOMIC, n / 8, false>((const void*)at, PLACE);                                   \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                       \
    }                                                                                                  \
    HIDDEN int __tsan_atomic##n##_compare_exchange_strong(volatile T* at, T* old, T value, int, int) { \
        check_swap((const void*)at, n / 8);                                                            \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        return __atomic_compare_exchange_n(at, old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                  \
    HIDDEN int __tsan_atomic##n##_compare_exchange_weak(volatile T* at, T* old, T value, int, int) {   \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        return __atomic_compare_exchange_n(at, old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                  \
    HIDDEN T __tsan_atomic##n##_compare_exchange_val(volatile T* at, T old, T value, int, int) {       \
        check_swap((const void*)at, n / 8);                                                            \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        __atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
        return old;                                                                                    \
    }                                                                                                  \
    CHANGE(n, T, fetch_add)                                                                            \
    CHANGE(n, T, fetch_sub)                                                                            \
    CHANGE(n, T, fetch_and)                                                                            \
    CHANGE(n, T, fetch_or)                                                                             \
    CHANGE(n, T, fetch_xor)                                                                            \
    CHANGE(n, T, fetch_nand)
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned int)
ATOMICS(64, unsigned long long)

// --- -fsanitize=bounds,null,alignment ---------------------------------------------------------------------------------

namespace cunumpy_cpu_checks {
struct Location {
    const char* file;
    unsigned int line, column;
};
struct Type {
    unsigned short kind, info;
    char name[1];  // in quotes
};
struct BoundsData {
    Location location;
    const Type *array, *index;
};
struct PointerData {
    Location location;
    const Type* type;
    unsigned char alignment, what;  // log2; 0 for a read, 1 for a write, else neither
};
}  // namespace cunumpy_cpu_checks

HIDDEN void __ubsan_handle_out_of_bounds(const BoundsData* data, size_t index) {
    if (!active) return;
    const Type& type = *data->index;
    const unsigned int bits = type.kind == 0 ? 1u << (type.info >> 1) : 64;
    long long value = (long long)index;
    if (bits < 64) value = type.info & 1 ? (long long)(index << (64 - bits)) >> (64 - bits) : (long long)(index & ((1ull << bits) - 1));
    if (note(INDEX, nullptr, 0, nullptr, races::VOLATILE_WRITE + 1, PLACE)) {
        Fault& fault = faults[fault_count - 1];
        fault.index = value;
        snprintf(fault.text, sizeof fault.text, "%s\n%s:%u", data->array->name, data->location.file, data->location.line);
    }
    leave();
}
HIDDEN void __ubsan_handle_out_of_bounds_abort(const BoundsData* data, size_t index) {
    __ubsan_handle_out_of_bounds(data, index);
}
HIDDEN void __ubsan_handle_type_mismatch_v1(const PointerData* data, size_t pointer) {
    if (!active) return;
    if (pointer < 65536) fatal(NULL_ADDRESS, (const void*)pointer, 0, nullptr, data->what == 1 ? WRITE : READ, PLACE);
    const Region* region = find_region((const char*)pointer);
    const bool misaligned = pointer % (1ull << data->alignment) != 0;
    if (region == nullptr && misaligned) return;
    // Else the compiler knows where the variable ends, which the access leaves.
    const Memory memory = (const char*)pointer >= library_begin && (const char*)pointer < library_end ? VARIABLE : SHARED;
    if (!misaligned) region = neighbour((const char*)pointer, memory);
    if (note(misaligned ? MISALIGNED : OUT_OF_BOUNDS, (const void*)pointer, 0, region, data->what == 1 ? WRITE : READ, PLACE))
        strncpy(faults[fault_count - 1].text, data->type->name, sizeof faults[0].text - 1);
    leave();
}
HIDDEN void __ubsan_handle_type_mismatch_v1_abort(const PointerData* data, size_t pointer) {
    __ubsan_handle_type_mismatch_v1(data, pointer);
}
