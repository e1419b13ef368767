// Kernels that crash. A fault of a kernel ends the launch, not the process: the handler lets its thread go on in
// cunumpy_cpu_leave, which is the way of all traps. Faults of other code go to the handler that was there before.
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "job.hpp"

namespace {

const int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction former[65];  // by signal: what was there before ours
thread_local int chained = 0;

// Lets a thread go on at cunumpy_cpu_leave(place) when the handler returns.
void go_on(ucontext_t* context, void (*leave)(void*), void* place) {
#if defined(__linux__) && defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)leave;
    context->uc_mcontext.gregs[REG_RDI] = (greg_t)place;
#elif defined(__linux__) && defined(__aarch64__)
    context->uc_mcontext.pc = (unsigned long long)leave;
    context->uc_mcontext.regs[0] = (unsigned long long)place;
#elif defined(__APPLE__) && defined(__x86_64__)
    context->uc_mcontext->__ss.__rip = (__uint64_t)leave;
    context->uc_mcontext->__ss.__rdi = (__uint64_t)place;
#elif defined(__APPLE__) && defined(__aarch64__)
    context->uc_mcontext->__ss.__pc = (__uint64_t)leave;
    context->uc_mcontext->__ss.__x[0] = (__uint64_t)place;
#else
    (void)context;
    leave(place);
#endif
}

struct Registers {
    uintptr_t code, stack;
    int write;  // 1 if a store faulted, 0 if a load did, -1 if that is not known
};

Registers registers(ucontext_t* context) {
#if defined(__linux__) && defined(__x86_64__)
    return {(uintptr_t)context->uc_mcontext.gregs[REG_RIP], (uintptr_t)context->uc_mcontext.gregs[REG_RSP],
            (int)(context->uc_mcontext.gregs[REG_ERR] >> 1 & 1)};
#elif defined(__linux__) && defined(__aarch64__)
    return {(uintptr_t)context->uc_mcontext.pc, (uintptr_t)context->uc_mcontext.sp, -1};
#elif defined(__APPLE__) && defined(__x86_64__)
    return {(uintptr_t)context->uc_mcontext->__ss.__rip, (uintptr_t)context->uc_mcontext->__ss.__rsp, -1};
#elif defined(__APPLE__) && defined(__aarch64__)
    return {(uintptr_t)context->uc_mcontext->__ss.__pc, (uintptr_t)context->uc_mcontext->__ss.__sp, -1};
#else
    (void)context;
    return {0, 0, -1};
#endif
}

// Passes a signal on to the handler that was there before, at most once: that one may hand it back to ours.
void chain(int number, siginfo_t* info, void* context) {
    const struct sigaction& before = former[number];
    const bool function = before.sa_flags & SA_SIGINFO
                              ? before.sa_sigaction != nullptr
                              : before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
    if (number == SIGURG && !function) return;
    if (!function || chained > 0) {
        struct sigaction standard = {};
        standard.sa_handler = SIG_DFL;
        sigaction(number, &standard, nullptr);
        if (info->si_code <= 0 || chained > 0) raise(number);  // else the instruction faults once more
        return;
    }
    ++chained;
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
    --chained;
}

// --- what is told of a fault ------------------------------------------------------------------------------------------

bool in_library(const Job& job, uintptr_t code) {
    return code >= job.function->code && code < job.function->code_end;
}

void append_where(Worker& self, char* text, size_t size) {
    unsigned int where[7] = {};
    self.launch->interrupt(where);
    const size_t used = strnlen(text, size);
    const unsigned int* grid = self.launch->grid;
    const u64 row = grid[0], plane = row * grid[1], last = self.last - 1;
    if (where[6])
        snprintf(text + used, size - used, " in block (%u, %u, %u), thread (%u, %u, %u)", where[0], where[1], where[2],
                 where[3], where[4], where[5]);
    else if (self.first == last)
        snprintf(text + used, size - used, " in block (%llu, %llu, %llu)", last % row, last / row % grid[1],
                 last / plane);
    else
        snprintf(text + used, size - used, " in one of the blocks from (%llu, %llu, %llu) to (%llu, %llu, %llu)",
                 self.first % row, self.first / row % grid[1], self.first / plane, last % row, last / row % grid[1],
                 last / plane);
    self.interrupted = true;
}

// In checked launches, in the form for which checking.py puts file and line.
void append_code(Worker& self, uintptr_t code) {
    const Function& function = *self.job->function;
    if (!function.checked || !in_library(*self.job, code)) return;
    const size_t used = strnlen(self.message, sizeof self.message);
    snprintf(self.message + used, sizeof self.message - used, "@{%llx}", (u64)(code - function.library));
}

// Says which argument an address is next to.
void append_nearest(const Job& job, uintptr_t address, char* text, size_t size) {
    const Parameter* nearest = nullptr;
    long long distance = 0;
    for (size_t i = 0; i < job.function->parameters->size(); ++i) {
        const Parameter& parameter = (*job.function->parameters)[i];
        if (parameter.kind == NUMBER) continue;
        const unsigned int words = parameter.kind == OTHER ? parameter.size / 8 : 1;
        for (unsigned int word = 0; word < words; ++word) {
            uintptr_t start;
            memcpy(&start, (char*)job.arguments[i] + 8 * word, sizeof start);
            const long long apart = (long long)(address - start);
            if (start < 4096 || llabs(apart) > 1ll << 44) continue;
            if (nearest == nullptr || llabs(apart) < llabs(distance)) {
                nearest = &parameter;
                distance = apart;
            }
        }
    }
    const size_t used = strnlen(text, size);
    if (nearest != nullptr)
        snprintf(text + used, size - used, " (%lld bytes %s argument %s begins, the nearest)",
                 llabs(distance), distance < 0 ? "before" : "after", nearest->name.c_str());
}

void report_fault(Worker& self, int number, siginfo_t* info, ucontext_t* context) {
    const Registers at = registers(context);
    const uintptr_t address = (uintptr_t)info->si_addr;
    char* const text = self.message;
    const size_t size = sizeof self.message;
    const char* const access = at.write < 0 ? "access to" : at.write ? "write to" : "read of";
    if (number == SIGFPE) {
        snprintf(text, size,
                 info->si_code == FPE_INTDIV
                     ? "integer division by zero, or of the lowest number by -1 (on a GPU the result is undefined)"
                     : "arithmetic fault");
    } else if (number == SIGILL) {
        snprintf(text, size, "an instruction that the processor does not take, perhaps in code that can't be reached");
    } else if (address + (1 << 20) > at.stack && address < at.stack + (1 << 16)) {
        snprintf(text, size, "stack overrun, perhaps by a recursion without end or by large local arrays,");
    } else if (address < 65536 && info->si_code != 0x80) {
        snprintf(text, size, "%s memory at %#llx, by a null pointer", access, (u64)address);
    } else if (info->si_code == 0x80) {  // SI_KERNEL: the address is not told
        snprintf(text, size, "access to memory by a pointer that can't be one");
    } else {
        snprintf(text, size, "%s memory at %#llx that is not the kernel's", access, (u64)address);
        append_nearest(*self.job, address, text, size);
    }
    append_where(self, text, size);
    append_code(self, at.code);
}

// --- handlers ---------------------------------------------------------------------------------------------------------

void on_fault(int number, siginfo_t* info, void* context) {
    Worker& self = own_worker;
    if (info->si_code > 0 && self.launch != nullptr && self.launch->interrupt != nullptr && chained == 0)
        if (void* place = self.launch->interrupt(nullptr)) {
            report_fault(self, number, info, (ucontext_t*)context);
            go_on((ucontext_t*)context, self.launch->leave, place);
            return;
        }
    chain(number, info, context);
}

void install(int number, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction now = {}, ours = {};
    ours.sa_sigaction = handler;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaction(number, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handler) return;
    former[number] = now;
    sigaction(number, &ours, nullptr);
}

const size_t SIGNAL_STACK = 128 * 1024;

struct SignalStack {
    void* memory = nullptr;

    ~SignalStack() {  // the thread ends
        stack_t now = {};
        if (memory == nullptr || sigaltstack(nullptr, &now) != 0 || now.ss_sp != memory) return;
        stack_t none = {};
        none.ss_flags = SS_DISABLE;
        if (sigaltstack(&none, nullptr) == 0) free(memory);
    }
};

thread_local SignalStack own_signal_stack;
thread_local bool has_signal_stack = false;
std::atomic<long long> handlers_seen{0};  // nanoseconds of the clock when ours were last found to be there

// Before a thread runs kernels: handlers, which others may have replaced since, and a stack for them, since that of the
// kernel may be full.
void prepare_signals(long long time) {
    if (__builtin_expect(!has_signal_stack, 0)) {
        has_signal_stack = true;
        stack_t now = {};
        sigaltstack(nullptr, &now);
        if ((now.ss_flags & SS_DISABLE) || now.ss_size < 32 * 1024) {
            stack_t ours = {};
            ours.ss_sp = own_signal_stack.memory = malloc(SIGNAL_STACK);
            ours.ss_size = SIGNAL_STACK;
            sigaltstack(&ours, nullptr);
        }
    }
    if (time - handlers_seen < 1000000) return;  // each look costs a call of the system
    handlers_seen = time;
    struct sigaction now;
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) return;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (int number : FAULTS) install(number, on_fault);
    pthread_mutex_unlock(&lock);
}

}  // namespace
