// The function that runs some blocks of a launch.
#pragma once

#include "fiber_blocks.hpp"
#include "loops.hpp"

#if defined(__clang__) || !defined(__GNUC__)
#define CUNUMPY_CPU_EXPORT extern "C" __attribute__((__visibility__("default"), __used__))
#else
#define CUNUMPY_CPU_EXPORT extern "C" __attribute__((__visibility__("default"), __externally_visible__))
#endif

namespace cunumpy_cpu {

// As cunumpy_cpu_launch::interrupt. Where loops run the threads, they keep the place in registers, and nothing that others
// may call must read it: the compiler would write it out for each thread, and use no vectors.
template <bool has_place>
__attribute__((noinline, cold)) CUNUMPY_CPU_PLAIN static void* interrupt_launch(unsigned int* where) {
    TrapState* state = trap_state;
    if (state == nullptr || state->place == nullptr) return nullptr;
#ifdef CUNUMPY_CPU_CHECK
    if (cunumpy_check_is_busy != nullptr && cunumpy_check_is_busy()) return nullptr;
#endif
    void* const place = state->place;
    if (where != nullptr) {
        state->place = nullptr;
#ifdef CUNUMPY_CPU_CHECK
        CUNUMPY_CPU_TELL(stop, );  // other blocks of a cooperative launch don't go on
#endif
        leave_grid(state->grid);
        unsigned int all[7] = {0, 0, 0, 0, 0, 0, 0};
        if constexpr (has_place) {
            const uint3 block = true_block(), thread = true_thread();
            const unsigned int read[] = {block.x, block.y, block.z, thread.x, thread.y, thread.z, 1};
            for (int i = 0; i < 7; ++i) all[i] = read[i];
        }
        for (int i = 0; i < 7; ++i) where[i] = all[i];
    }
    return place;
}

// Whether threads are kept apart, so that their place is in memory.
template <class Runner>
struct HasPlace {
    static constexpr bool value = CHECK;
};
template <auto kernel, class Function>
struct HasPlace<FiberBlocks<kernel, Function>> {
    static constexpr bool value = true;
};

// Runs the blocks from `first` to before `last`, counted with x fastest; 1 if one of them trapped, and the rest did not
// run.
template <class Runner>
CUNUMPY_CPU_PLAIN static int run_blocks(cunumpy_cpu_launch* launch, void** arguments, unsigned long long first, unsigned long long last) {
    const unsigned int *grid = launch->grid, *block = launch->block;
    gridDim = dim3(grid[0], grid[1], grid[2]);
    blockDim = dim3(block[0], block[1], block[2]);
    launch->interrupt = interrupt_launch<HasPlace<Runner>::value>;
    launch->leave = cunumpy_cpu_leave;
    const bool ended =
        run_guarded([=] { Runner::run(*launch, arguments, first, last); }, launch->message, launch->message_size);
    flush_output();
    if (ended) {
        merged_width = 0;
        return 0;
    }
    const uint3 at = true_block();
    launch->failed_block = at.x + (unsigned long long)grid[0] * (at.y + (unsigned long long)grid[1] * at.z);
    merged_width = merged_block = merged_begin = 0;
    return 1;
}

#ifdef CUNUMPY_CPU_CHECK
// The same when it is this worker's turn. Nothing is checked before and after.
template <class Runner>
CUNUMPY_CPU_PLAIN static int run_blocks_in_turn(cunumpy_cpu_launch* launch, void** arguments, unsigned long long first,
                                                unsigned long long last) {
    int failed = 1;
    launch->message[0] = '\0';
    launch->failed_block = first;
    if (cunumpy_check_take_turn == nullptr || cunumpy_check_take_turn())
        failed = run_blocks<Runner>(launch, arguments, first, last);
    CUNUMPY_CPU_TELL(end_turn, );
    return failed;
}
#define CUNUMPY_CPU_RUN_BLOCKS run_blocks_in_turn
// What <cunumpy/array_view.cuh> calls.
#define CUNUMPY_INDEX_ERROR(name, data, index, axis, extent) \
    CUNUMPY_CPU_TELL(view, name, data, index, axis, extent, __builtin_return_address(0))
#else
#define CUNUMPY_CPU_RUN_BLOCKS run_blocks
#endif

}  // namespace cunumpy_cpu

#ifdef CUNUMPY_CPU_CHECK
// Called by native/checks, from anywhere in a kernel.
extern "C" [[noreturn]] __attribute__((visibility("hidden"), used)) void cunumpy_cpu_check_fail(const char* message) {
    cunumpy_cpu::fail("%s", message);
}
#endif

// Stands after a kernel's text, which may have defined any macro, and a definition of the type cunumpy_cpu_runner. The
// number tells the kernels of a source apart; the first has none.
#define CUNUMPY_CPU_ENTRY(number)                                                                                      \
    CUNUMPY_CPU_EXPORT CUNUMPY_CPU_PLAIN int cunumpy_cpu_run##number(                                                 \
        cunumpy_cpu_launch* cunumpy_cpu_1, void** cunumpy_cpu_2, unsigned long long cunumpy_cpu_3,                    \
        unsigned long long cunumpy_cpu_4) {                                                                           \
        return cunumpy_cpu::CUNUMPY_CPU_RUN_BLOCKS<cunumpy_cpu_runner##number>(cunumpy_cpu_1, cunumpy_cpu_2,          \
                                                                               cunumpy_cpu_3, cunumpy_cpu_4);         \
    }                                                                                                                 \
    CUNUMPY_CPU_EXPORT CUNUMPY_CPU_PLAIN unsigned int cunumpy_cpu_parameters##number(unsigned int* cunumpy_cpu_1) {   \
        return cunumpy_cpu_runner##number::parameters(cunumpy_cpu_1);                                                 \
    }

// The address of a variable of the kernel's text, and its bytes.
#define CUNUMPY_CPU_GLOBAL(name)                                                                                       \
    CUNUMPY_CPU_EXPORT CUNUMPY_CPU_PLAIN void* cunumpy_cpu_global_##name(unsigned long long* cunumpy_cpu_1) {         \
        *cunumpy_cpu_1 = sizeof(name);                                                                                \
        return (void*)&name;                                                                                          \
    }
