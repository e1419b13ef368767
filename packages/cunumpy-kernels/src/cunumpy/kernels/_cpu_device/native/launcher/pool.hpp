// The workers: threads of the operating system that wait for launches, how many of them a launch may use, and forks, in
// whose processes there are none.
#pragma once

#include <stdlib.h>

#include "watch.hpp"

namespace {

// Threads that wait for work. One launch has them at a time; another one that comes meanwhile runs on its own thread.
struct Pool {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER, free = PTHREAD_COND_INITIALIZER;
    Job* job = nullptr;
    int threads = 0, wanted = 0, active = 0;
    bool busy = false;
};

Pool* pool = nullptr;

void* worker_loop(void*) {
    prepare_signals(0);
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->wanted == 0) pthread_cond_wait(&pool->wake, &pool->lock);
        --pool->wanted;
        ++pool->active;
        Job* job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        pthread_mutex_lock(&job->lock);
        job->enter();
        pthread_mutex_unlock(&job->lock);
        job->work();
        pthread_mutex_lock(&job->lock);
        job->exit();
        pthread_mutex_unlock(&job->lock);
        pthread_mutex_lock(&pool->lock);
        if (--pool->active == 0) pthread_cond_signal(&pool->done);
    }
}

void add_threads(int count) {
    sigset_t all, before;
    sigfillset(&all);
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG}) sigdelset(&all, number);  // ours, in faults.hpp and watch.hpp
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the interpreter's threads
    while (pool->threads < count) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, worker_loop, nullptr) != 0) break;
        pthread_detach(thread);
        ++pool->threads;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Runs a job on this thread and on others. With `all`, only if each of the workers has a thread.
bool run_job(Job& job, int workers, bool all) {
    bool mine = false;
    if (workers > 1) {
        pthread_mutex_lock(&pool->lock);
        while (all && pool->busy) pthread_cond_wait(&pool->free, &pool->lock);
        if (!pool->busy) {
            add_threads(workers - 1);
            if (all && pool->threads < workers - 1) {
                pthread_mutex_unlock(&pool->lock);
                return false;
            }
            mine = pool->busy = true;
            pool->job = &job;
            pool->wanted = workers - 1 < pool->threads ? workers - 1 : pool->threads;
            pthread_cond_broadcast(&pool->wake);
        }
        pthread_mutex_unlock(&pool->lock);
    }
    job.work();
    if (mine) {
        pthread_mutex_lock(&pool->lock);
        pool->wanted = 0;  // who has not woken up yet comes too late
        while (pool->active != 0) pthread_cond_wait(&pool->done, &pool->lock);
        pool->job = nullptr;
        pool->busy = false;
        pthread_cond_signal(&pool->free);
        pthread_mutex_unlock(&pool->lock);
    }
    return true;
}

std::string known_setting;
int known_workers = 0;
PyObject* thread_count = nullptr;  // the function of Python that reads CUNUMPY_NUM_THREADS

void before_fork() {
    pthread_mutex_lock(&pool->lock);
    pthread_mutex_lock(&watch->lock);
}
void after_fork_in_parent() {
    pthread_mutex_unlock(&watch->lock);
    pthread_mutex_unlock(&pool->lock);
}
void after_fork_in_child() {  // which has none of the threads
    pool = new Pool;
    watch = new Watch;
    known_workers = 0;
}

// How many workers a launch may use; -1 with an exception set.
int worker_count() {
    const char* setting = getenv("CUNUMPY_NUM_THREADS");
    if (setting == nullptr) setting = "";
    if (known_workers == 0 || known_setting != setting) {
        PyObject* found = PyObject_CallNoArgs(thread_count);
        if (found == nullptr) return -1;
        const long count = PyLong_AsLong(found);
        Py_DECREF(found);
        if (count < 1) return -1;
        known_workers = count < 1024 ? (int)count : 1024;
        known_setting = setting;
    }
    return known_workers;
}

}  // namespace
