// A launch, once its arguments are packed: its blocks are shared among workers, without the lock of the interpreter.
#pragma once

#include "pool.hpp"

namespace {

// Nanoseconds of work from which on other workers are woken up.
const double WORTH_WAKING = 40000;

unsigned long main_thread = 0;  // that of Python

// Runs a launch. Returns None, the text of a trap, or nullptr with an exception set.
PyObject* launch_blocks(Function* self, void** arguments, const unsigned int* grid, const unsigned int* block,
                        u64 shared, bool cooperative = false, unsigned int schedule = 0, bool alone = false) {
    Job job;
    cunumpy_cpu::GridBarrier barrier = {};
    job.run = self->run;
    job.function = self;
    job.checked = self->checked;
    job.of_main_thread = PyThread_get_thread_ident() == main_thread;
    job.launch = cunumpy_cpu_launch{};
    for (int axis = 0; axis < 3; ++axis) {
        job.launch.grid[axis] = grid[axis];
        job.launch.block[axis] = block[axis];
    }
    job.launch.shared_bytes = shared;
    job.launch.schedule = schedule;
    job.arguments = arguments;
    job.total = (u64)grid[0] * grid[1] * grid[2];
    const double threads = (double)job.total * block[0] * block[1] * block[2];
    const bool small = self->cost == 0 ? threads < 2048 : self->cost * threads < WORTH_WAKING;
    int workers = 1;
    if (!small && job.total > 1 && schedule == 0) {
        workers = worker_count();  // a setting that means nothing is told in any case
        if (workers < 0) return nullptr;
        if ((u64)workers > job.total) workers = (int)job.total;
    }
    if (alone) workers = 1;  // which has the blocks in order
    job.chunk = workers == 1 ? job.total : job.total / (16ull * workers) + 1;
    if (cooperative) {
        workers = (int)job.total;
        job.chunk = 1;
        barrier.blocks = (unsigned int)job.total;
        job.launch.grid_barrier = &barrier;
    }
    bool started = true;
    Py_BEGIN_ALLOW_THREADS;
    const auto start = std::chrono::steady_clock::now();
    job.started = start;
    prepare_signals(std::chrono::duration_cast<std::chrono::nanoseconds>(start.time_since_epoch()).count());
    job.enter();
    begin_watch(job);
    started = run_job(job, workers, cooperative);
    end_watch(job);
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    const double cost = elapsed.count() * workers / threads;
    self->cost = self->cost == 0 ? cost : 0.5 * (self->cost + cost);
    Py_END_ALLOW_THREADS;
    if (!started) {
        PyErr_Format(PyExc_RuntimeError, "the system does not start the %d threads of a cooperative launch", workers);
        return nullptr;
    }
    if (job.cancelled == CONTROL_C && PyErr_CheckSignals() != 0) return nullptr;
    if (job.stopped && job.failed_block == ~0ull && job.cancelled != NO)  // no thread was in the kernel just then
        job.message = job.cancelled == TIME ? "did not end within the limit of time (CUNUMPY_CPU_TIME_LIMIT)"
                                            : "was interrupted by Ctrl-C (SIGINT)";
    if (job.stopped) return PyUnicode_DecodeUTF8(job.message.data(), (Py_ssize_t)job.message.size(), "replace");
    Py_RETURN_NONE;
}

}  // namespace
