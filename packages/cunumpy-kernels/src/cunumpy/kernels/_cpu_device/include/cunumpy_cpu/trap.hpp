// How a kernel ends before its time: __trap, a failed assertion, threads that wait for each other.
//
// The launch is left by a jump, from wherever the thread is, out of its fiber too: destructors don't run, arrays keep what
// was written. This also works from the handler of a signal.
//
// Needs cunumpy_cpu::true_block() and true_thread() of the generated code: where the caller is, as uint3.
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "launch.hpp"
#include "places.hpp"

// What the system puts before the names of C.
#ifdef __APPLE__
#define CUNUMPY_CPU_SYMBOL "_"
#else
#define CUNUMPY_CPU_SYMBOL ""
#endif

// cunumpy_cpu_guard(place, work, argument) calls work(argument) and returns 0; cunumpy_cpu_leave(*place), from within it
// and from any stack, makes the guard return 1.
#if defined(__x86_64__) && !defined(_WIN32) && !defined(CUNUMPY_CPU_UCONTEXT)
#define CUNUMPY_CPU_ASSEMBLY
asm(R"(
.text
.p2align 4
cunumpy_cpu_guard:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    movq %rsp, (%rdi)
    movq %rdx, %rdi
    call *%rsi
    xorl %eax, %eax
    jmp cunumpy_cpu_guard_end
cunumpy_cpu_leave:
    movq %rdi, %rsp
    movl $1, %eax
cunumpy_cpu_guard_end:
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
#elif defined(__aarch64__) && !defined(CUNUMPY_CPU_UCONTEXT)
#define CUNUMPY_CPU_ASSEMBLY
asm(R"(
.text
.p2align 4
cunumpy_cpu_guard:
    stp x29, x30, [sp, #-160]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov x0, x2
    blr x1
    mov w0, #0
    b cunumpy_cpu_guard_end
cunumpy_cpu_leave:
    mov sp, x0
    mov w0, #1
cunumpy_cpu_guard_end:
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #160
    ret
)");
#else
#include <setjmp.h>
#endif

namespace cunumpy_cpu {

#ifdef CUNUMPY_CPU_ASSEMBLY
extern "C" __attribute__((visibility("hidden"))) int cunumpy_cpu_guard(void** place, void (*work)(void*),
                                                                       void* argument) asm("cunumpy_cpu_guard");
extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void cunumpy_cpu_leave(void* place) asm("cunumpy_cpu_leave");
#else
static int cunumpy_cpu_guard(void** place, void (*work)(void*), void* argument) {
    jmp_buf here;
    *place = &here;
    if (_setjmp(here) != 0) return 1;
    work(argument);
    return 0;
}
[[noreturn]] static void cunumpy_cpu_leave(void* place) { _longjmp(*(jmp_buf*)place, 1); }
#endif

struct TrapState {
    void* place;  // where cunumpy_cpu_leave goes; null when the kernel has ended, or is being left
    char* message;
    size_t size;
    bool fibers;        // does the launch run fibers now?
    GridBarrier* grid;  // of a cooperative launch
};

static thread_local TrapState* trap_state = nullptr;

// A grid's other blocks no longer wait for this one.
CUNUMPY_CPU_PLAIN static void leave_grid(GridBarrier* grid) {
    if (grid == nullptr) return;
    __atomic_add_fetch(&grid->failed, 1, __ATOMIC_ACQ_REL);  // before it counts as ended
    __atomic_add_fetch(&grid->ended, 1, __ATOMIC_ACQ_REL);
}

// Ends the launch with a message in the manner of printf.
[[noreturn]] __attribute__((noinline, cold, format(printf, 1, 2))) CUNUMPY_CPU_PLAIN static void fail(const char* format, ...) {
    TrapState* state = trap_state;
    if (state == nullptr) __builtin_trap();
    void* const place = state->place;
    state->place = nullptr;  // no signal leaves once more
    leave_grid(state->grid);
    va_list values;
    va_start(values, format);
    __builtin_vsnprintf(state->message, state->size, format, values);
    va_end(values);
    cunumpy_cpu_leave(place);
}

// Ends the launch: "<what> in block (x, y, z), thread (x, y, z) at <file>:<line>"; without a file none is named.
[[noreturn]] __attribute__((noinline, cold)) CUNUMPY_CPU_PLAIN static void trap(const char* what, const char* file = nullptr,
                                                                                int line = 0) {
    char place[300] = "";
    if (file != nullptr) __builtin_snprintf(place, sizeof place, " at %s:%d", file, line);
    const uint3 block = true_block(), thread = true_thread();
    fail("%s in block (%u, %u, %u), thread (%u, %u, %u)%s", what, block.x, block.y, block.z, thread.x, thread.y, thread.z,
         place);
}

template <class F>
struct Bare {
    typedef F type;
};
template <class F>
struct Bare<F&> {
    typedef F type;
};

template <class F>
CUNUMPY_CPU_PLAIN static void run_and_close(void* work) {
    (*(F*)work)();
    trap_state->place = nullptr;  // the way back will be gone
}

// Runs work(); false if a trap ended it, whose text is then in the message.
template <class F>
CUNUMPY_CPU_PLAIN inline bool run_guarded(F&& work, char* message, size_t size) {
    TrapState state{nullptr, message, size, false, nullptr}, *const outer = trap_state;
    trap_state = &state;
    const int trapped = cunumpy_cpu_guard(&state.place, run_and_close<typename cunumpy_cpu::Bare<F>::type>, (void*)&work);
    trap_state = outer;
    return trapped == 0;
}

}  // namespace cunumpy_cpu
