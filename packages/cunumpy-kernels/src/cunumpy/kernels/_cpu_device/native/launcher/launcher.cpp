// Launches of compiled kernels from Python: the type Function, whose methods pack arguments and run the blocks.
//
// Built on first use, against the headers of the Python and NumPy that run.
#include "function.hpp"  // Python.h comes first

#include "arguments.hpp"
#include "launch_blocks.hpp"
#include "typed_calls.hpp"

namespace {

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
