// Launches of compiled kernels from Python: arguments packed, the blocks given to a pool of workers, without the lock
// of the interpreter.
//
// Built on first use, against the headers of the Python and NumPy that run.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <ucontext.h>
#ifdef __linux__
#include <link.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

extern "C" {
struct cunumpy_cpu_launch {  // as in entry.hpp
    unsigned int grid[3], block[3];
    unsigned long long shared_bytes;
    char* message;
    unsigned long long message_size;
    unsigned long long failed_block;
    void** fibers;
    void* grid_barrier;
    unsigned int schedule;
    void* (*interrupt)(unsigned int* where);
    void (*leave)(void* place);
};
struct GridBarrier {  // as in trap.hpp
    unsigned int blocks, arrived, round, ended, failed;
};
typedef int (*Run)(cunumpy_cpu_launch*, void**, unsigned long long, unsigned long long);
}

namespace {

typedef unsigned long long u64;

// ---- workers --------------------------------------------------------------------------------------------------------

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

struct Function;

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

void prepare_signals(long long time);
void report_fault(Worker& self, int number, siginfo_t* info, ucontext_t* context);

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
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG}) sigdelset(&all, number);  // ours, see below
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

// ---- kernels that crash or never end --------------------------------------------------------------------------------
//
// A fault of a kernel ends the launch, not the process: the handler lets its thread go on in cunumpy_cpu_leave, which is
// the way of all traps. Faults of other code go to the handler that was there before.
//
// A thread of its own, which sleeps unless there are launches, looks after launches that take long: it ends those that
// pass the limit of time, and those of Python's main thread after Ctrl-C, by a signal to their threads. They leave only
// where they run code of the kernel's library, never within a function of the system, which may hold a lock.

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

bool in_library(const Job& job, uintptr_t code);
void append_code(Worker& self, uintptr_t code);

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


// ---- launches that take long ----

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

// ---- functions ------------------------------------------------------------------------------------------------------

// Nanoseconds of work from which on other workers are woken up.
const double WORTH_WAKING = 40000;

enum Kind { POINTER, VIEW, NUMBER, OTHER };

// What the fast path has to know of a parameter.
struct Parameter {
    Kind kind;
    int type;  // NumPy's number of the type; -1 for void*
    bool is_const, contiguous;
    int ndim;
    unsigned int size, offset;
    std::string name;
};

struct Function {
    PyObject_HEAD
    Run run;
    double cost;  // nanoseconds of one thread, as measured; 0 if it never ran
    std::vector<Parameter>* parameters;
    unsigned int bytes;
    bool fast, checked;
    uintptr_t code, code_end;  // of the library
    uintptr_t library;         // what places in its tables of lines are counted from
};

bool in_library(const Job& job, uintptr_t code) {
    return code >= job.function->code && code < job.function->code_end;
}

#ifdef __linux__
int find_code(struct dl_phdr_info* info, size_t, void* data) {
    Function* const function = (Function*)data;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        const uintptr_t first = info->dlpi_addr + segment.p_vaddr, last = first + segment.p_memsz;
        if (segment.p_type != PT_LOAD || (uintptr_t)function->run < first || (uintptr_t)function->run >= last) continue;
        function->library = info->dlpi_addr;
        function->code = first;
        function->code_end = last;
        return 1;
    }
    return 0;
}
#endif

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

// In checked launches, in the form for which checking.py puts file and line.
void append_code(Worker& self, uintptr_t code) {
    const Function& function = *self.job->function;
    if (!function.checked || !in_library(*self.job, code)) return;
    const size_t used = strnlen(self.message, sizeof self.message);
    snprintf(self.message + used, sizeof self.message - used, "@{%llx}", (u64)(code - function.library));
}

unsigned long main_thread = 0;  // that of Python

// Runs a launch. Returns None, the text of a trap, or nullptr with an exception set.
PyObject* launch_blocks(Function* self, void** arguments, const unsigned int* grid, const unsigned int* block,
                        u64 shared, bool cooperative = false, unsigned int schedule = 0, bool alone = false) {
    Job job;
    GridBarrier barrier = {};
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

bool sizes_of(PyObject* value, unsigned int* sizes) {
    sizes[0] = sizes[1] = sizes[2] = 1;
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) > 3) {
        PyErr_SetString(PyExc_TypeError, "grid and block must be tuples of 1 to 3 integers");
        return false;
    }
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(value); ++axis) {
        const unsigned long size = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(value, axis));
        if (PyErr_Occurred()) return false;
        if (size == 0 || size > 0x7fffffff) {
            PyErr_SetString(PyExc_ValueError, "grid and block must be from 1 to 2^31 - 1");
            return false;
        }
        sizes[axis] = (unsigned int)size;
    }
    return true;
}

// launch(packed, grid, block, shared, cooperative=False, schedule=0, alone=False): integers are addresses, everything else gives its bytes.
PyObject* function_launch(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Function* self = (Function*)object;
    unsigned int grid[3], block[3];
    if (count < 4 || count > 7 || !PyList_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "launch(packed, grid, block, shared_mem, cooperative=False, schedule=0, alone=False)");
        return nullptr;
    }
    if (!sizes_of(args[1], grid) || !sizes_of(args[2], block)) return nullptr;
    const u64 shared = PyLong_AsUnsignedLongLong(args[3]);
    const unsigned long schedule = count >= 6 ? PyLong_AsUnsignedLong(args[5]) : 0;
    if (PyErr_Occurred()) return nullptr;
    const std::vector<Parameter>& parameters = *self->parameters;
    if ((size_t)PyList_GET_SIZE(args[0]) != parameters.size()) {
        PyErr_Format(PyExc_TypeError, "%zu arguments expected, got %zd", parameters.size(), PyList_GET_SIZE(args[0]));
        return nullptr;
    }
    std::vector<char> memory(self->bytes + 64);
    char* const base = (char*)(((uintptr_t)memory.data() + 63) & ~(uintptr_t)63);
    std::vector<void*> arguments(parameters.size() + 1);
    for (size_t i = 0; i < parameters.size(); ++i) {
        PyObject* value = PyList_GET_ITEM(args[0], (Py_ssize_t)i);
        char* const place = base + parameters[i].offset;
        arguments[i] = place;
        if (PyLong_Check(value)) {
            void* const address = PyLong_AsVoidPtr(value);
            if (PyErr_Occurred()) return nullptr;
            if (parameters[i].size != sizeof address) {
                PyErr_Format(PyExc_TypeError, "argument %zu has %u bytes, not an address", i, parameters[i].size);
                return nullptr;
            }
            memcpy(place, &address, sizeof address);
            continue;
        }
        Py_buffer bytes;
        if (PyObject_GetBuffer(value, &bytes, PyBUF_SIMPLE) != 0) return nullptr;
        const bool fits = (size_t)bytes.len == parameters[i].size;
        if (fits) memcpy(place, bytes.buf, (size_t)bytes.len);
        const Py_ssize_t length = bytes.len;
        PyBuffer_Release(&bytes);
        if (!fits) {
            PyErr_Format(PyExc_TypeError, "argument %zu has %zd bytes, %u expected", i, length, parameters[i].size);
            return nullptr;
        }
    }
    return launch_blocks(self, arguments.data(), grid, block, shared, count >= 5 && PyObject_IsTrue(args[4]),
                         (unsigned int)schedule, count == 7 && PyObject_IsTrue(args[6]));
}

// ---- the fast path: arguments that leave no question ----------------------------------------------------------------

template <class T>
bool store_integer(PyObject* value, char* place) {
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    if (std::is_unsigned<T>::value ? number < 0 || (u64)number > (u64)std::numeric_limits<T>::max()
                                   : number < (long long)std::numeric_limits<T>::min() ||
                                         number > (long long)std::numeric_limits<T>::max())
        return false;
    const T stored = (T)number;
    memcpy(place, &stored, sizeof stored);
    return true;
}

template <class T>
bool store_real(PyObject* value, char* place) {
    double number;
    if (PyFloat_CheckExact(value)) {
        number = PyFloat_AS_DOUBLE(value);
        if (std::isfinite(number) && !std::isfinite((T)number)) return false;
    } else {
        int overflow;
        const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        const long long exact = 1ll << std::numeric_limits<T>::digits;
        if (overflow != 0 || whole < -exact || whole > exact) return false;
        number = (double)whole;
    }
    const T stored = (T)number;
    memcpy(place, &stored, sizeof stored);
    return true;
}

bool store_number(const Parameter& parameter, PyObject* value, char* place) {
    if (PyArray_CheckScalar(value) && !PyArray_Check(value)) {
        if (Py_TYPE(value) != (PyTypeObject*)PyArray_TypeObjectFromType(parameter.type)) return false;
        PyArray_ScalarAsCtype(value, place);
        return true;
    }
    const bool whole = PyLong_CheckExact(value), real = PyFloat_CheckExact(value);
    if (!whole && !real) return false;
    switch (parameter.type) {
        case NPY_FLOAT: return store_real<float>(value, place);
        case NPY_DOUBLE: return store_real<double>(value, place);
    }
    if (!whole) return false;
    switch (parameter.type) {
        case NPY_BYTE: return store_integer<signed char>(value, place);
        case NPY_UBYTE: return store_integer<unsigned char>(value, place);
        case NPY_SHORT: return store_integer<short>(value, place);
        case NPY_USHORT: return store_integer<unsigned short>(value, place);
        case NPY_INT: return store_integer<int>(value, place);
        case NPY_UINT: return store_integer<unsigned int>(value, place);
        case NPY_LONG: return store_integer<long>(value, place);
        case NPY_ULONG: return store_integer<unsigned long>(value, place);
        case NPY_LONGLONG: return store_integer<long long>(value, place);
        case NPY_ULONGLONG: return store_integer<unsigned long long>(value, place);
    }
    return false;
}

bool store_array(const Parameter& parameter, PyObject* value, char* place) {
    if (!PyArray_CheckExact(value)) return false;
    PyArrayObject* const array = (PyArrayObject*)value;
    const int flags = PyArray_FLAGS(array);
    int needed = NPY_ARRAY_ALIGNED;
    if (parameter.contiguous) needed |= NPY_ARRAY_C_CONTIGUOUS;
    if (!parameter.is_const) needed |= NPY_ARRAY_WRITEABLE;
    if ((flags & needed) != needed || !PyArray_ISNOTSWAPPED(array)) return false;
    if (parameter.type >= 0 && PyArray_TYPE(array) != parameter.type) return false;
    void* const data = PyArray_DATA(array);
    memcpy(place, &data, sizeof data);
    if (parameter.kind == VIEW) {
        if (PyArray_NDIM(array) != parameter.ndim) return false;
        const npy_intp item = PyArray_ITEMSIZE(array);
        long long* words = (long long*)place + 1;
        for (int axis = 0; axis < parameter.ndim; ++axis) *words++ = PyArray_DIM(array, axis);
        if (!parameter.contiguous) {
            for (int axis = 0; axis < parameter.ndim; ++axis) {
                const npy_intp stride = PyArray_STRIDE(array, axis);
                if (item == 0 || stride % item != 0) return false;
                *words++ = stride / item;
            }
        }
    }
    return true;
}

// call(args, n_threads, axis, width, shared): launches with blocks of `width` threads if every argument is beyond
// doubt and nothing is said about checks, else returns NotImplemented. `n_threads` may be None: then `axis`, 0 or -1, is that of the first array.
PyObject* function_call(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Function* self = (Function*)object;
    if (count != 5 || !PyTuple_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "call(args, n_threads, axis, width, shared_mem)");
        return nullptr;
    }
    const std::vector<Parameter>& parameters = *self->parameters;
    if (!self->fast || (size_t)PyTuple_GET_SIZE(args[0]) != parameters.size()) Py_RETURN_NOTIMPLEMENTED;
    if (getenv("CUNUMPY_CPU_CHECK") != nullptr) Py_RETURN_NOTIMPLEMENTED;  // os.environ would cost as much as all this
    alignas(64) char memory[1024];
    void* arguments[65];
    PyArrayObject* first = nullptr;
    for (size_t i = 0; i < parameters.size(); ++i) {
        PyObject* value = PyTuple_GET_ITEM(args[0], (Py_ssize_t)i);
        const Parameter& parameter = parameters[i];
        char* const place = memory + parameter.offset;
        arguments[i] = place;
        if (parameter.kind == NUMBER ? !store_number(parameter, value, place) : !store_array(parameter, value, place)) {
            PyErr_Clear();
            Py_RETURN_NOTIMPLEMENTED;
        }
        if (first == nullptr && parameter.kind != NUMBER && PyArray_NDIM((PyArrayObject*)value) > 0)
            first = (PyArrayObject*)value;
    }
    long long threads;
    if (args[1] == Py_None) {
        if (first == nullptr) Py_RETURN_NOTIMPLEMENTED;
        threads = PyArray_DIM(first, args[2] == Py_None || PyLong_AsLong(args[2]) == 0 ? 0 : PyArray_NDIM(first) - 1);
    } else {
        threads = PyLong_AsLongLong(args[1]);
    }
    const long long width = PyLong_AsLongLong(args[3]);
    const u64 shared = PyLong_AsUnsignedLongLong(args[4]);
    if (PyErr_Occurred()) return nullptr;
    if (threads <= 0 || width <= 0 || width > 1024) Py_RETURN_NOTIMPLEMENTED;
    const long long blocks = (threads + width - 1) / width;
    // Beyond these another library is needed, as launch.py says.
    if (blocks > 0x7fffffff / 1024 || blocks * width > 0x7fffffff - 1024) Py_RETURN_NOTIMPLEMENTED;
    const unsigned int grid[3] = {(unsigned int)blocks, 1, 1}, block[3] = {(unsigned int)width, 1, 1};
    return launch_blocks(self, arguments, grid, block, shared);
}

bool store_unknown(const Parameter& parameter, PyObject* value, char* place) {
    if (parameter.kind == POINTER) {
        if (!PyArray_CheckExact(value)) return false;
        PyArrayObject* const array = (PyArrayObject*)value;
        if (!parameter.is_const && !PyArray_ISWRITEABLE(array)) return false;
        const int type = PyArray_TYPE(array);
        if (!PyArray_ISNUMBER(array) && type != NPY_BOOL) return false;
        if (type == NPY_LONGDOUBLE || type == NPY_CLONGDOUBLE) return false;  // of no GPU
        if (!PyArray_ISNOTSWAPPED(array)) return false;
        void* const data = PyArray_DATA(array);
        memcpy(place, &data, sizeof data);
        return true;
    }
    const bool floating = parameter.contiguous;  // as describe_unknown says it
    if (PyLong_CheckExact(value) && !floating)
        return parameter.size == 8   ? store_integer<long long>(value, place)
               : parameter.size == 4 ? store_integer<int>(value, place)
                                     : false;
    if (PyFloat_CheckExact(value)) {
        if (parameter.size != 8 || !floating) return false;
        const double number = PyFloat_AS_DOUBLE(value);
        memcpy(place, &number, sizeof number);
        return true;
    }
    if (!PyArray_IsScalar(value, Number)) return false;
    if (floating != (PyArray_IsScalar(value, Floating) != 0)) return false;
    Py_buffer bytes;
    if (PyObject_GetBuffer(value, &bytes, PyBUF_SIMPLE) != 0) return false;
    const bool fits = (size_t)bytes.len == parameter.size;
    if (fits) memcpy(place, bytes.buf, (size_t)bytes.len);
    PyBuffer_Release(&bytes);
    return fits;
}

// call_raw(args, grid, block, shared): launches if every argument fits beyond doubt, else returns NotImplemented.
PyObject* function_call_raw(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Function* self = (Function*)object;
    if (count != 4 || !PyTuple_Check(args[0])) Py_RETURN_NOTIMPLEMENTED;
    const std::vector<Parameter>& parameters = *self->parameters;
    if (self->bytes > 1024 || parameters.size() > 64 || (size_t)PyTuple_GET_SIZE(args[0]) != parameters.size())
        Py_RETURN_NOTIMPLEMENTED;
    unsigned int grid[3], block[3];
    if (!sizes_of(args[1], grid) || !sizes_of(args[2], block)) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    const u64 shared = PyLong_AsUnsignedLongLong(args[3]);
    if (PyErr_Occurred()) return nullptr;
    if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 || (u64)block[0] * block[1] * block[2] > 1024 ||
        grid[1] > 65535 || grid[2] > 65535)
        Py_RETURN_NOTIMPLEMENTED;
    if (grid[0] > 0x7fffffff / 1024 || (u64)grid[0] * block[0] > 0x7fffffff - 1024) Py_RETURN_NOTIMPLEMENTED;
    alignas(64) char memory[1024];
    void* arguments[65];
    for (size_t i = 0; i < parameters.size(); ++i) {
        arguments[i] = memory + parameters[i].offset;
        if (!store_unknown(parameters[i], PyTuple_GET_ITEM(args[0], (Py_ssize_t)i), memory + parameters[i].offset)) {
            PyErr_Clear();
            Py_RETURN_NOTIMPLEMENTED;
        }
    }
    return launch_blocks(self, arguments, grid, block, shared);
}

int function_init(PyObject* object, PyObject* args, PyObject*) {
    Function* self = (Function*)object;
    unsigned long long entry;
    PyObject* described;
    int checked;
    if (!PyArg_ParseTuple(args, "KO!p", &entry, &PyTuple_Type, &described, &checked)) return -1;
    self->checked = checked;
    self->run = (Run)(uintptr_t)entry;
    self->cost = 0;
    self->fast = true;
    self->library = self->code = 0;
    self->code_end = ~(uintptr_t)0;
#ifdef __linux__
    dl_iterate_phdr(find_code, self);
#endif
    auto* parameters = new std::vector<Parameter>;
    unsigned int offset = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(described); ++i) {
        Parameter one;
        int kind, is_const, contiguous;
        const char* name;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(described, i), "iippiIs", &kind, &one.type, &is_const, &contiguous,
                              &one.ndim, &one.size, &name)) {
            delete parameters;
            return -1;
        }
        one.kind = (Kind)kind;
        one.name = name[0] != 0 ? std::string("'") + name + "'" : std::to_string(i);
        one.is_const = is_const;
        one.contiguous = contiguous;
        offset = (offset + 15) & ~15u;
        if (one.size >= 32) offset = (offset + 63) & ~63u;
        one.offset = offset;
        offset += one.size;
        self->fast = self->fast && one.kind != OTHER;
        parameters->push_back(one);
    }
    self->bytes = offset;
    self->fast = self->fast && offset <= 1024 && parameters->size() <= 64;
    delete self->parameters;
    self->parameters = parameters;
    return 0;
}

void function_dealloc(PyObject* object) {
    delete ((Function*)object)->parameters;
    Py_TYPE(object)->tp_free(object);
}

PyMethodDef function_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))function_launch, METH_FASTCALL, nullptr},
    {"call", (PyCFunction)(void (*)(void))function_call, METH_FASTCALL, nullptr},
    {"call_raw", (PyCFunction)(void (*)(void))function_call_raw, METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject function_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* set_thread_count(PyObject*, PyObject* function) {
    Py_INCREF(function);
    Py_XSETREF(thread_count, function);
    known_workers = 0;
    Py_RETURN_NONE;
}

PyObject* set_time_limit(PyObject*, PyObject* function) {
    Py_INCREF(function);
    Py_XSETREF(time_limit, function);
    Py_RETURN_NONE;
}

PyMethodDef module_methods[] = {
    {"set_time_limit", set_time_limit, METH_O, nullptr},
    {"set_thread_count", set_thread_count, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "launcher", nullptr, -1, module_methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

#include "typed_calls.hpp"

PyMODINIT_FUNC PyInit_launcher() {
    import_array();
    pool = new Pool;
    watch = new Watch;
    PyObject* threading = PyImport_ImportModule("threading");
    PyObject* of_main = threading == nullptr ? nullptr : PyObject_CallMethod(threading, "main_thread", nullptr);
    PyObject* ident = of_main == nullptr ? nullptr : PyObject_GetAttrString(of_main, "ident");
    if (ident != nullptr) main_thread = PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    Py_XDECREF(of_main);
    Py_XDECREF(threading);
    if (PyErr_Occurred()) return nullptr;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    function_type.tp_name = "cunumpy.kernels._cpu_device.launcher.Function";
    function_type.tp_basicsize = sizeof(Function);
    function_type.tp_flags = Py_TPFLAGS_DEFAULT;
    function_type.tp_new = PyType_GenericNew;
    function_type.tp_init = function_init;
    function_type.tp_dealloc = function_dealloc;
    function_type.tp_methods = function_methods;
    if (PyType_Ready(&function_type) < 0) return nullptr;
    PyObject* made = PyModule_Create(&module);
    if (made == nullptr) return nullptr;
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(made, Py_MOD_GIL_NOT_USED);
#endif
    Py_INCREF(&function_type);
    if (PyModule_AddObject(made, "Function", (PyObject*)&function_type) < 0 || !add_typed_call(made)) return nullptr;
    return made;
}
