// One loop over a range of elements, shared by threads.
#pragma once

#include <pthread.h>

#include "export.hpp"

static const int CUNUMPY_MAX_THREADS = 256;

// Calls f(begin, end, thread) on contiguous ranges that cover 0 .. n, each begin a multiple of 64; a thread without
// elements is not called. Threads start and end within the call, so there is no pool that a fork could break; where no
// thread can be had, the caller does its share. `f` must not throw.
template <class F>
void cunumpy_parallel(long long n, int threads, F &&f) {
    struct Part {
        F *function;
        long long begin, end;
        int thread;
        static void *run(void *argument) {
            Part *part = static_cast<Part *>(argument);
            (*part->function)(part->begin, part->end, part->thread);
            return nullptr;
        }
    };
    if (threads > CUNUMPY_MAX_THREADS) threads = CUNUMPY_MAX_THREADS;
    if (threads <= 1 || n <= 64) {
        if (n > 0) f(0LL, n, 0);
        return;
    }
    const long long blocks = (n + 63) / 64;
    Part parts[CUNUMPY_MAX_THREADS];
    pthread_t started[CUNUMPY_MAX_THREADS];
    bool runs[CUNUMPY_MAX_THREADS];
    for (int t = 0; t < threads; ++t) {
        // blocks * t does not overflow: n is a number of elements in memory
        const long long begin = blocks * t / threads * 64, end = blocks * (t + 1) / threads * 64;
        parts[t] = Part{&f, begin, end < n ? end : n, t};
        runs[t] = t > 0 && parts[t].begin < parts[t].end && pthread_create(&started[t], nullptr, Part::run, &parts[t]) == 0;
    }
    for (int t = 0; t < threads; ++t)
        if (!runs[t] && parts[t].begin < parts[t].end) Part::run(&parts[t]);
    for (int t = 0; t < threads; ++t)
        if (runs[t]) pthread_join(started[t], nullptr);
}
