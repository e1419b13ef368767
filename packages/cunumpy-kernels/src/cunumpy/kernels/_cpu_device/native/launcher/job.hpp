// One launch, and the threads of the operating system that run its blocks.
#pragma once

#include <pthread.h>
#include <string.h>

#include <atomic>
#include <chrono>
#include <string>

#include "function.hpp"

namespace {

struct Job;

// What a thread of the operating system keeps from launch to launch. What the handlers of signals need is set while a
// kernel runs.
struct Worker {
    void* fibers;
    char message[4096];
    Job* job;
    cunumpy_cpu_launch* launch;
    u64 first, last;  // the blocks that are run now
    bool interrupted;
    pthread_t thread;
    Worker* next;  // in the list of the job
};

thread_local Worker own_worker;

enum Cancelled { NO, TIME, CONTROL_C };

struct Job {
    Run run;
    const Function* function;
    cunumpy_cpu_launch launch;
    void** arguments;
    u64 total, chunk;
    std::atomic<u64> next{0};
    std::atomic<bool> stopped{false};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    u64 failed_block = ~0ull;
    std::string message;
    Worker* workers = nullptr;  // those that run blocks of it
    std::atomic<int> cancelled{NO};
    std::chrono::steady_clock::time_point started;
    bool of_main_thread = false, checked = false, limit_known = false;
    double limit = 0;  // seconds
    Job *previous = nullptr, *next_job = nullptr;  // in the list of all

    void failed(const cunumpy_cpu_launch& at) {
        pthread_mutex_lock(&lock);
        const bool says_why = at.message[0] != '\0';  // else it has waited for another block, which has failed
        if (says_why && at.failed_block < failed_block) {  // every earlier block is being run already, so this is the first to fail
            failed_block = at.failed_block;
            message.assign(at.message, strnlen(at.message, at.message_size));
        }
        stopped = true;
        pthread_mutex_unlock(&lock);
    }

    void work() {
        cunumpy_cpu_launch mine = launch;
        mine.message = own_worker.message;
        mine.message_size = sizeof own_worker.message;
        mine.fibers = &own_worker.fibers;
        Worker& self = own_worker;
        self.interrupted = false;
        self.job = this;
        self.launch = &mine;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        while (!stopped) {
            const u64 first = next.fetch_add(chunk);
            if (first >= total) break;
            self.first = first;
            self.last = total - first < chunk ? total : first + chunk;
            if (run(&mine, arguments, self.first, self.last)) {
                if (self.interrupted) mine.failed_block = first;
                failed(mine);
            }
        }
        self.launch = nullptr;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        self.job = nullptr;
    }

    // A thread has to be in the list while it works, to be interrupted.
    void enter() {
        own_worker.thread = pthread_self();
        own_worker.next = workers;
        workers = &own_worker;
    }

    void exit() {
        Worker** link = &workers;
        while (*link != &own_worker) link = &(*link)->next;
        *link = own_worker.next;
    }
};

}  // namespace
