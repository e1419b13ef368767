// What checked builds tell the part of them that looks at accesses to memory, native/checks: which thread runs, and what
// orders accesses. That part is an object of its own, which is not instrumented; a unit without it tells nobody.
#pragma once

#define CUNUMPY_CPU_HOOK extern "C" __attribute__((weak, visibility("hidden")))

CUNUMPY_CPU_HOOK void cunumpy_check_block(unsigned long long number);  // with x fastest, as threads in their block
CUNUMPY_CPU_HOOK void cunumpy_check_thread(unsigned int number);
CUNUMPY_CPU_HOOK void cunumpy_check_thread_at(unsigned int* index, unsigned int x, unsigned int y, unsigned int z, unsigned int number);
CUNUMPY_CPU_HOOK void cunumpy_check_block_barrier();
CUNUMPY_CPU_HOOK void cunumpy_check_warp_barrier(unsigned int warp, unsigned int lanes, unsigned int all);
CUNUMPY_CPU_HOOK void cunumpy_check_fence();
CUNUMPY_CPU_HOOK void cunumpy_check_grid_arrival();  // the block that runs has come to the barrier
CUNUMPY_CPU_HOOK void cunumpy_check_grid_barrier();  // all blocks have
// Of a cooperative launch one block runs at a time: a worker waits for its turn, and gives it away. There are
// no more turns, and 0 is returned, after a fault.
CUNUMPY_CPU_HOOK int cunumpy_check_take_turn();
CUNUMPY_CPU_HOOK void cunumpy_check_end_turn();
CUNUMPY_CPU_HOOK int cunumpy_check_pass_turn();  // ends it, and takes the next
// A view of <cunumpy/array_view.cuh> was given an index that it does not have. Ends the launch.
CUNUMPY_CPU_HOOK void cunumpy_check_view(const char* name, const void* data, long long index, int axis, long long extent,
                                         const void* place);
CUNUMPY_CPU_HOOK void cunumpy_check_stop();  // from now on nothing is looked at, and there are no more turns
// Where in the library some code is.
CUNUMPY_CPU_HOOK unsigned long long cunumpy_check_place(const void* code);
// Whether the thread of the system can't leave the launch just now.
CUNUMPY_CPU_HOOK int cunumpy_check_is_busy();

#undef CUNUMPY_CPU_HOOK

// Calls one of these functions.
#define CUNUMPY_CPU_TELL(function, ...)                                                 \
    do {                                                                                \
        if (cunumpy_check_##function != nullptr) cunumpy_check_##function(__VA_ARGS__); \
    } while (false)
