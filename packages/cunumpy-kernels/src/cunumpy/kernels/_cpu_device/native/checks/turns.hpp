// Cooperative launches: their blocks have a thread of the system each, a worker. They take turns, from one barrier of the
// grid to the next, so that all that is noted here is that of one block.
#pragma once

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <deque>
#include <vector>

#include "faults.hpp"
#include "race_events.hpp"

namespace cunumpy_cpu_checks {

// A worker: what is noted of its block while another one runs.
struct Worker {
    pthread_cond_t wake;
    // Its shared memory, and what `state` says of its block.
    std::vector<Region> shared;
    char* shared_written;
    races::BlockState block;
};

bool cooperative;
const Given* all_given;
unsigned int given_count, launches = 1;
pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;  // for these two
Worker* running;
std::deque<Worker*> waiting;
Worker* seated;  // to whom the shared memory in `regions` belongs
std::vector<Worker*> workers;
thread_local Worker* own_worker;
thread_local unsigned int own_launch;  // of which launch that one is

void copy_block(races::BlockState& to, const races::BlockState& from) {
    memcpy(&to, &from, from.parts_valid != 0 ? sizeof from : offsetof(races::BlockState, parts));
}

void leave_seat() {
    if (seated == nullptr) return;
    races::settle_pending();
    copy_block(seated->block, races::state());
    seated->shared_written = shared_written;
    size_t left = 0;
    for (const Region& region : regions)
        if (region.memory == SHARED)
            seated->shared.push_back(region);
        else
            regions[left++] = region;
    regions.resize(left);
    seated = nullptr;
    forget_recent();
}

void take_seat(Worker& worker) {
    if (seated == &worker) return;
    leave_seat();
    seated = &worker;
    shared_written = worker.shared_written;
    copy_block(races::state(), worker.block);
    for (const Region& region : worker.shared) insert_region(region);
    worker.shared.clear();
    if (shared_written != nullptr) return;
    const Found found = own_library();
    shared_written = (char*)calloc(found.local_bytes + 1, 1);
    add_shared(all_given, given_count, found);
}

bool take_turn() {
    races::Busy busy;
    if (own_launch != launches) {
        own_worker = new Worker();
        own_launch = launches;
        pthread_cond_init(&own_worker->wake, nullptr);
        pthread_mutex_lock(&turns);
        workers.push_back(own_worker);
        pthread_mutex_unlock(&turns);
    }
    Worker& self = *own_worker;
    pthread_mutex_lock(&turns);
    if (running == nullptr)
        running = &self;
    else if (running != &self)
        waiting.push_back(&self);
    while (running != &self) pthread_cond_wait(&self.wake, &turns);
    pthread_mutex_unlock(&turns);
    if (active) take_seat(self);
    return active;
}

void end_turn() {
    races::Busy busy;
    pthread_mutex_lock(&turns);
    if (running == own_worker) {
        running = nullptr;
        if (!waiting.empty()) {
            running = waiting.front();
            waiting.pop_front();
            pthread_cond_signal(&running->wake);
        }
    }
    pthread_mutex_unlock(&turns);
}

// Lets others run who wait. A thread that no longer has its turn does not leave the launch.
bool pass_turn() {
    races::Busy busy;
    end_turn();
    return take_turn();
}

void end_cooperative() {
    leave_seat();
    for (Worker* worker : workers) {
        free(worker->shared_written);
        pthread_cond_destroy(&worker->wake);
        delete worker;
    }
    workers.clear();
    waiting.clear();
    running = nullptr;
    shared_written = nullptr;
    cooperative = false;
    ++launches;
}

}  // namespace cunumpy_cpu_checks
