// What checked builds call at each access to memory: is it within what the kernel was given, may it be there, and does
// another thread come to the same place at the same time?
//
// The kernel's unit is compiled with -fsanitize=thread and others, whose calls end in `compiler_calls.hpp`; they are hidden
// in the library, so that nobody else finds them. This unit is compiled plainly, once for each compiler, and linked into each checked
// library. checking.py tells it of memory, and writes the reports.
#include <stdlib.h>
#include <string.h>

#include <new>

#include "compiler_calls.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

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
    if (!cooperative) {
        free(shared_written);
        shared_written = (char*)calloc(found.local_bytes + 1, 1);
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
