// How a kernel ends before its time: __trap, a failed assertion, threads that wait for each other.
//
// The launch is left by a jump, from wherever the thread is, out of its fiber too: destructors don't run, arrays keep what
// was written. This also works from the handler of a signal.
//
// Needs cunumpy_cpu::true_block() and true_thread() of the generated code: where the caller is, as uint3.
#pragma once

#include <stdarg.h>
#include <stddef.h>

namespace cunumpy_cpu {

// Shared by the blocks of a cooperative launch, which all run at the same time; zero, but for the number of blocks.
struct GridBarrier {
    unsigned int blocks, arrived, round, ended;
};

struct TrapState {
    void* target[5];  // of __builtin_setjmp
    char* message;
    size_t size;
    bool fibers;        // does the launch run fibers now?
    GridBarrier* grid;  // of a cooperative launch
};

static thread_local TrapState* trap_state = nullptr;

// Ends the launch with a message in the manner of printf.
[[noreturn]] __attribute__((noinline, cold, format(printf, 1, 2))) static void fail(const char* format, ...) {
    TrapState* state = trap_state;
    if (state == nullptr) __builtin_trap();
    if (state->grid != nullptr) __atomic_add_fetch(&state->grid->ended, 1, __ATOMIC_ACQ_REL);
    va_list values;
    va_start(values, format);
    __builtin_vsnprintf(state->message, state->size, format, values);
    va_end(values);
    __builtin_longjmp(state->target, 1);
}

// Ends the launch: "<what> in block (x, y, z), thread (x, y, z) at <file>:<line>"; without a file none is named.
[[noreturn]] __attribute__((noinline, cold)) static void trap(const char* what, const char* file = nullptr,
                                                              int line = 0) {
    char place[300] = "";
    if (file != nullptr) __builtin_snprintf(place, sizeof place, " at %s:%d", file, line);
    const uint3 block = true_block(), thread = true_thread();
    fail("%s in block (%u, %u, %u), thread (%u, %u, %u)%s", what, block.x, block.y, block.z, thread.x, thread.y, thread.z,
         place);
}

template <class F>
__attribute__((noinline)) void call(F& work) {
    work();
}

// Runs work(); false if a trap ended it, whose text is then in the message.
template <class F>
__attribute__((noinline)) bool run_guarded(F&& work, char* message, size_t size) {
    TrapState state, *volatile outer = trap_state;
    state.message = message;
    state.size = size;
    state.fibers = false;
    state.grid = nullptr;
    if (__builtin_setjmp(state.target) != 0) {
        trap_state = outer;
        return false;
    }
    trap_state = &state;
    call(work);
    trap_state = outer;
    return true;
}

}  // namespace cunumpy_cpu
