// Launches that take long: a thread of its own, which sleeps unless there are launches, ends those that pass the limit of
// time, and those of Python's main thread after Ctrl-C, by a signal to their threads. They leave only where they run code of
// the kernel's library, never within a function of the system, which may hold a lock.
#pragma once

#include <time.h>

#include "faults.hpp"

namespace {

struct Watch {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
    Job* jobs = nullptr;  // that run now
    bool there = false, sleeps = false;
};

Watch* watch = nullptr;

PyObject* time_limit = nullptr;  // the function of Python that returns the limit of time in seconds
std::atomic<int> control_c{0};
bool wraps_control_c = false;

void on_kick(int number, siginfo_t* info, void* context) {
    Worker& self = own_worker;
    Job* const job = self.job;
    if (job == nullptr || self.launch == nullptr || job->cancelled == NO) return chain(number, info, context);
    if (self.launch->interrupt == nullptr || !in_library(*job, registers((ucontext_t*)context).code)) return;
    void* const place = self.launch->interrupt(nullptr);
    if (place == nullptr) return;
    if (job->cancelled == TIME)
        snprintf(self.message, sizeof self.message,
                 "did not end within %g s, the limit of time (CUNUMPY_CPU_TIME_LIMIT), and was", job->limit);
    else
        snprintf(self.message, sizeof self.message, "was interrupted by Ctrl-C (SIGINT), and was");
    append_where(self, self.message, sizeof self.message);
    append_code(self, registers((ucontext_t*)context).code);
    go_on((ucontext_t*)context, self.launch->leave, place);
}

void on_control_c(int number, siginfo_t* info, void* context) {
    const struct sigaction& before = former[number];
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL)
        before.sa_handler(number);
    else
        chain(number, info, context);
    control_c = 1;  // last: the signal may be another thread's, and the launch that ends asks Python at once
}

// Notices Ctrl-C while a launch of the main thread goes on, and only then.
void wrap_control_c(bool on) {
    if (on == wraps_control_c) return;
    struct sigaction now;
    sigaction(SIGINT, nullptr, &now);
    if (on && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN) return;  // as shells start what runs behind
    wraps_control_c = on;
    if (on) {
        control_c = 0;
        install(SIGINT, on_control_c);
        return;
    }
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_control_c) sigaction(SIGINT, &former[SIGINT], nullptr);
}

const double TICK = 0.02, IDLE = 1.0, WRAPPED = 0.04;

void* watch_loop(void*) {
    typedef std::chrono::steady_clock Clock;
    Watch& mine = *watch;
    Clock::time_point busy = Clock::now();
    pthread_mutex_lock(&mine.lock);
    for (;;) {
        const Clock::time_point now = Clock::now();
        bool main_waits = false, any_cancelled = false, ask = false;
        if (mine.jobs != nullptr) busy = now;
        for (Job* job = mine.jobs; job != nullptr; job = job->next_job) {
            const double age = std::chrono::duration<double>(now - job->started).count();
            main_waits = main_waits || (job->of_main_thread && age > WRAPPED);
            ask = ask || (!job->limit_known && age > 0.5);
            if (job->cancelled == NO) {
                if (job->limit_known && job->limit > 0 && age > job->limit)
                    job->cancelled = TIME;
                else if (job->of_main_thread && wraps_control_c && control_c.exchange(0))
                    job->cancelled = CONTROL_C;  // not the next one, too
                if (job->cancelled != NO) {
                    install(SIGURG, on_kick);
                    job->stopped = true;
                }
            }
            if (job->cancelled != NO) {
                any_cancelled = true;
                pthread_mutex_lock(&job->lock);
                for (Worker* worker = job->workers; worker != nullptr; worker = worker->next)
                    pthread_kill(worker->thread, SIGURG);
                pthread_mutex_unlock(&job->lock);
            }
        }
        wrap_control_c(main_waits);
        if (ask && time_limit != nullptr) {
            pthread_mutex_unlock(&mine.lock);
            double limits[2] = {};
            const PyGILState_STATE state = PyGILState_Ensure();
            for (int checked = 0; checked < 2; ++checked) {
                PyObject* found = PyObject_CallFunction(time_limit, "i", checked);
                if (found != nullptr) limits[checked] = PyFloat_AsDouble(found);
                Py_XDECREF(found);
                if (PyErr_Occurred()) PyErr_WriteUnraisable(time_limit);
            }
            PyGILState_Release(state);
            pthread_mutex_lock(&mine.lock);
            for (Job* job = mine.jobs; job != nullptr; job = job->next_job)
                if (!job->limit_known) {
                    job->limit = limits[job->checked];
                    job->limit_known = true;
                }
            continue;
        }
        if (mine.jobs == nullptr && std::chrono::duration<double>(now - busy).count() > IDLE) {
            mine.sleeps = true;
            while (mine.sleeps) pthread_cond_wait(&mine.wake, &mine.lock);
            continue;
        }
        pthread_mutex_unlock(&mine.lock);
        const double wait = any_cancelled ? 0.001 : TICK;
        const struct timespec pause = {0, (long)(wait * 1e9)};
        nanosleep(&pause, nullptr);
        pthread_mutex_lock(&mine.lock);
    }
}

void begin_watch(Job& job) {
    pthread_mutex_lock(&watch->lock);
    job.next_job = watch->jobs;
    if (watch->jobs != nullptr) watch->jobs->previous = &job;
    watch->jobs = &job;
    if (!watch->there) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        if (pthread_create(&thread, nullptr, watch_loop, nullptr) == 0) {
            pthread_detach(thread);
            watch->there = true;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    } else if (watch->sleeps) {
        watch->sleeps = false;
        pthread_cond_signal(&watch->wake);
    }
    pthread_mutex_unlock(&watch->lock);
}

void end_watch(Job& job) {
    pthread_mutex_lock(&watch->lock);
    (job.previous != nullptr ? job.previous->next_job : watch->jobs) = job.next_job;
    if (job.next_job != nullptr) job.next_job->previous = job.previous;
    pthread_mutex_unlock(&watch->lock);
}

}  // namespace
