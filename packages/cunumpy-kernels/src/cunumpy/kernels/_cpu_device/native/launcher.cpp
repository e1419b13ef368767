// Launches of compiled kernels from Python: arguments packed, the blocks given to a pool of workers, without the lock
// of the interpreter.
//
// Built on first use, against the headers of the Python and NumPy that run.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

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
};
struct GridBarrier {  // as in trap.hpp
    unsigned int blocks, arrived, round, ended;
};
typedef int (*Run)(cunumpy_cpu_launch*, void**, unsigned long long, unsigned long long);
}

namespace {

typedef unsigned long long u64;

// ---- workers --------------------------------------------------------------------------------------------------------

// What a thread of the operating system keeps from launch to launch.
struct Worker {
    void* fibers;
    char message[4096];
};

thread_local Worker own_worker;

struct Job {
    Run run;
    cunumpy_cpu_launch launch;
    void** arguments;
    u64 total, chunk;
    std::atomic<u64> next{0};
    std::atomic<bool> stopped{false};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    u64 failed_block = ~0ull;
    std::string message;

    void failed(const cunumpy_cpu_launch& at) {
        pthread_mutex_lock(&lock);
        if (at.failed_block < failed_block) {  // every earlier block is being run already, so this is the first to fail
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
        while (!stopped) {
            const u64 first = next.fetch_add(chunk);
            if (first >= total) break;
            if (run(&mine, arguments, first, total - first < chunk ? total : first + chunk)) failed(mine);
        }
    }
};

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
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->wanted == 0) pthread_cond_wait(&pool->wake, &pool->lock);
        --pool->wanted;
        ++pool->active;
        Job* job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        job->work();
        pthread_mutex_lock(&pool->lock);
        if (--pool->active == 0) pthread_cond_signal(&pool->done);
    }
}

void add_threads(int count) {
    sigset_t all, before;
    sigfillset(&all);
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

void before_fork() { pthread_mutex_lock(&pool->lock); }
void after_fork_in_parent() { pthread_mutex_unlock(&pool->lock); }
void after_fork_in_child() {  // which has none of the threads
    pool = new Pool;
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
};

struct Function {
    PyObject_HEAD
    Run run;
    double cost;  // nanoseconds of one thread, as measured; 0 if it never ran
    std::vector<Parameter>* parameters;
    unsigned int bytes;
    bool fast;
};

// Runs a launch. Returns None, the text of a trap, or nullptr with an exception set.
PyObject* launch_blocks(Function* self, void** arguments, const unsigned int* grid, const unsigned int* block,
                        u64 shared, bool cooperative = false, unsigned int schedule = 0, bool alone = false) {
    Job job;
    GridBarrier barrier = {};
    job.run = self->run;
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
    if (!small && job.total > 1 && schedule == 0 && !alone) {  // one worker alone has the blocks in order
        workers = worker_count();
        if (workers < 0) return nullptr;
        if ((u64)workers > job.total) workers = (int)job.total;
    }
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
    started = run_job(job, workers, cooperative);
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    const double cost = elapsed.count() * workers / threads;
    self->cost = self->cost == 0 ? cost : 0.5 * (self->cost + cost);
    Py_END_ALLOW_THREADS;
    if (!started) {
        PyErr_Format(PyExc_RuntimeError, "the system does not start the %d threads of a cooperative launch", workers);
        return nullptr;
    }
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
// doubt, else returns NotImplemented. `n_threads` may be None: then `axis`, 0 or -1, is that of the first array.
PyObject* function_call(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Function* self = (Function*)object;
    if (count != 5 || !PyTuple_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "call(args, n_threads, axis, width, shared_mem)");
        return nullptr;
    }
    const std::vector<Parameter>& parameters = *self->parameters;
    if (!self->fast || (size_t)PyTuple_GET_SIZE(args[0]) != parameters.size()) Py_RETURN_NOTIMPLEMENTED;
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

int function_init(PyObject* object, PyObject* args, PyObject*) {
    Function* self = (Function*)object;
    unsigned long long entry;
    PyObject* described;
    if (!PyArg_ParseTuple(args, "KO!", &entry, &PyTuple_Type, &described)) return -1;
    self->run = (Run)(uintptr_t)entry;
    self->cost = 0;
    self->fast = true;
    auto* parameters = new std::vector<Parameter>;
    unsigned int offset = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(described); ++i) {
        Parameter one;
        int kind, is_const, contiguous;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(described, i), "iippiI", &kind, &one.type, &is_const, &contiguous,
                              &one.ndim, &one.size)) {
            delete parameters;
            return -1;
        }
        one.kind = (Kind)kind;
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
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject function_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* set_thread_count(PyObject*, PyObject* function) {
    Py_INCREF(function);
    Py_XSETREF(thread_count, function);
    known_workers = 0;
    Py_RETURN_NONE;
}

PyMethodDef module_methods[] = {
    {"set_thread_count", set_thread_count, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "launcher", nullptr, -1, module_methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_launcher() {
    import_array();
    pool = new Pool;
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
    if (PyModule_AddObject(made, "Function", (PyObject*)&function_type) < 0) return nullptr;
    return made;
}
