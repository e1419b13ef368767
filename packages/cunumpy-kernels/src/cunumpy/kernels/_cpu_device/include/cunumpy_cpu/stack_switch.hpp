// The stack of a thread, and the switch from one to another, which saves what a function must preserve.
#pragma once

#include <stddef.h>

// The stack of a thread has 2^CUNUMPY_CPU_STACK_SHIFT bytes, 256 KiB, and a guard below.
#ifndef CUNUMPY_CPU_STACK_SHIFT
#define CUNUMPY_CPU_STACK_SHIFT 18
#endif

#if defined(__x86_64__) && !defined(_WIN32) && !defined(CUNUMPY_CPU_UCONTEXT)
#define CUNUMPY_CPU_SAVED_WORDS 7
asm(R"(
.text
.p2align 4
cunumpy_cpu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
#elif defined(__aarch64__) && !defined(CUNUMPY_CPU_UCONTEXT)
#define CUNUMPY_CPU_SAVED_WORDS 20
asm(R"(
.text
.p2align 4
cunumpy_cpu_switch:
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
    mov sp, x1
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
#include <ucontext.h>
#endif

namespace cunumpy_cpu {

#ifdef CUNUMPY_CPU_SAVED_WORDS
extern "C" __attribute__((visibility("hidden"))) void cunumpy_cpu_switch(void** from, void* to) asm("cunumpy_cpu_switch");

// Prepares a stack, so that the switch to what is returned calls `start`, which does not return.
static inline void* prepare_stack(char* top, void (*start)()) {
    void** frame = (void**)top - 2 - CUNUMPY_CPU_SAVED_WORDS;
#ifdef __x86_64__
    frame += 1;  // a called function finds its stack 8 bytes off the alignment of 16
#endif
    for (int i = 0; i < CUNUMPY_CPU_SAVED_WORDS; ++i) frame[i] = nullptr;
#ifdef __x86_64__
    frame[6] = (void*)start;
    frame[7] = nullptr;
#else
    frame[1] = (void*)start;
#endif
    return frame;
}
#else
static void cunumpy_cpu_switch(void** from, void* to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, (ucontext_t*)to);
}

static inline void* prepare_stack(char* top, void (*start)()) {
    ucontext_t* context = (ucontext_t*)(((size_t)top - sizeof(ucontext_t)) & ~(size_t)63);
    getcontext(context);
    context->uc_link = nullptr;
    context->uc_stack.ss_sp = (char*)context - ((1 << CUNUMPY_CPU_STACK_SHIFT) - 16384);
    context->uc_stack.ss_size = (1 << CUNUMPY_CPU_STACK_SHIFT) - 16384;
    makecontext(context, start, 0);
    return context;
}
#endif

}  // namespace cunumpy_cpu
