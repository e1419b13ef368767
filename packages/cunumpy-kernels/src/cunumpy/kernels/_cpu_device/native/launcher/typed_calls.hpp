// Calls of elementwise and reduction kernels whose arguments leave no question: types, shapes and layouts are decided
// here as in _elementwise_kernel.py and _reduction_kernel.py, which do everything else.
#pragma once

#include <algorithm>
#include <atomic>

#include "arguments.hpp"
#include "launch_blocks.hpp"

namespace {

const int MAX_PARAMETERS = 32, MAX_AXES = 32;

// A parameter as it was declared.
struct Typed {
    int letter;  // parameters of one number have one type
    int type;    // NumPy's number of it; -1 for any
    bool raw, output;
};

// What was compiled for some types and layouts, found by a text that tells them. None is ever taken away.
struct Compiled {
    std::string key;
    Function* function;
    long long bytes;  // of a partial result
    Compiled* next;
};

struct TypedCall {
    PyObject_HEAD
    std::vector<Typed>* parameters;
    std::atomic<Compiled*>* compiled;
    int inputs;
    bool in_order, keep_axes, no_return, always_tuple;  // of elementwise kernels
    bool axes_in_order, outputs_in_order;               // of reductions
    long long chunk, rows, tile, few_tiles;
    int indexers;  // of a reduction: 1 for _in_ind, 2 for _out_ind, 3 for both
};

int plain_type(int type) {
    if (sizeof(long) == sizeof(long long)) {
        if (type == NPY_LONGLONG) return NPY_LONG;
        if (type == NPY_ULONGLONG) return NPY_ULONG;
    }
    return type;
}

bool known_type(int type) {
    return (type >= NPY_BOOL && type <= NPY_DOUBLE) || type == NPY_CFLOAT || type == NPY_CDOUBLE || type == NPY_HALF;
}

// The arguments of a call.
struct Arguments {
    int count = 0, types[MAX_PARAMETERS];
    PyArrayObject* arrays[MAX_PARAMETERS];  // null for a number
    alignas(16) char numbers[MAX_PARAMETERS][16];
    npy_intp shape[MAX_AXES];
    int ndim = 0;
    std::string key;
    std::vector<long long> layout, raw;
};

// Reads the arguments; false where there is a question.
bool read_arguments(TypedCall* self, PyObject* args, Arguments& all) {
    const std::vector<Typed>& parameters = *self->parameters;
    const int given = (int)PyTuple_GET_SIZE(args);
    if (given != self->inputs && given != (int)parameters.size()) return false;
    all.count = (int)parameters.size();
    int letters[MAX_PARAMETERS];
    for (int i = 0; i < all.count; ++i) letters[i] = -1;
    for (int i = 0; i < all.count; ++i)
        if (parameters[i].type >= 0) letters[parameters[i].letter] = parameters[i].type;
    bool looped = false;
    for (int i = 0; i < all.count; ++i) {
        all.arrays[i] = nullptr;
        if (i >= given) continue;
        PyObject* const value = PyTuple_GET_ITEM(args, i);
        const Typed& parameter = parameters[i];
        if (!PyArray_CheckExact(value)) {
            if (parameter.raw || parameter.output) return false;
            continue;
        }
        PyArrayObject* const array = (PyArrayObject*)value;
        const int type = plain_type(PyArray_TYPE(array)), needed = NPY_ARRAY_ALIGNED;
        if (!known_type(type) || (PyArray_FLAGS(array) & needed) != needed || !PyArray_ISNOTSWAPPED(array)) return false;
        if (parameter.output && !PyArray_ISWRITEABLE(array)) return false;
        int& letter = letters[parameter.letter];
        if (letter < 0) letter = type;
        if (letter != type || PyArray_NDIM(array) > MAX_AXES) return false;
        const npy_intp item = PyArray_ITEMSIZE(array);
        for (int axis = 0; axis < PyArray_NDIM(array); ++axis)
            if (PyArray_STRIDE(array, axis) % item != 0) return false;
        all.arrays[i] = array;
        if (parameter.raw || parameter.output) continue;
        looped = true;
        const int ndim = PyArray_NDIM(array);
        if (ndim > all.ndim) {
            std::copy_backward(all.shape, all.shape + all.ndim, all.shape + ndim);
            std::fill(all.shape, all.shape + ndim - all.ndim, 1);
            all.ndim = ndim;
        }
        for (int axis = 0; axis < ndim; ++axis) {
            npy_intp& length = all.shape[all.ndim - ndim + axis];
            const npy_intp mine = PyArray_DIM(array, axis);
            if (length == 1) length = mine;
            else if (mine != 1 && mine != length) return false;
        }
    }
    for (int i = 0; i < all.count; ++i) {
        all.types[i] = letters[parameters[i].letter];
        if (all.types[i] < 0) return false;
        const bool number = i < self->inputs && all.arrays[i] == nullptr;
        if (number) {
            Parameter as{};
            as.type = all.types[i];
            if (!store_number(as, PyTuple_GET_ITEM(args, i), all.numbers[i])) return false;
        }
        all.key += (char)all.types[i];
        all.key += (char)number;
    }
    return looped;
}

// Tells whether what is written lies in what is read, but not element over element.
bool meets(PyArrayObject* read, PyArrayObject* written, bool same_is_right) {
    const char *first[2], *last[2];
    PyArrayObject* const both[2] = {read, written};
    for (int i = 0; i < 2; ++i) {
        first[i] = last[i] = (const char*)PyArray_DATA(both[i]);
        for (int axis = 0; axis < PyArray_NDIM(both[i]); ++axis) {
            const npy_intp span = PyArray_STRIDE(both[i], axis) * (PyArray_DIM(both[i], axis) - 1);
            (span < 0 ? first[i] : last[i]) += span;
        }
        last[i] += PyArray_ITEMSIZE(both[i]);
    }
    if (last[0] <= first[1] || last[1] <= first[0]) return false;
    return !(same_is_right && PyArray_DATA(read) == PyArray_DATA(written) && PyArray_SAMESHAPE(read, written) &&
             std::equal(PyArray_STRIDES(read), PyArray_STRIDES(read) + PyArray_NDIM(read), PyArray_STRIDES(written)) &&
             PyArray_ITEMSIZE(read) == PyArray_ITEMSIZE(written));
}

// Axes with the steps of some arrays along each, in elements.
struct Axes {
    int count = 0, arrays = 0;
    long long lengths[MAX_AXES], steps[MAX_PARAMETERS][MAX_AXES];

    void add(long long length) { lengths[count++] = length; }

    // The axis along which the first of some arrays steps farthest comes first; backwards, the last of them.
    void sort(int some, bool backwards) {
        int order[MAX_AXES];
        for (int axis = 0; axis < count; ++axis) order[axis] = axis;
        auto size = [&](int array, int axis) { return steps[array][axis] < 0 ? -steps[array][axis] : steps[array][axis]; };
        std::stable_sort(order, order + count, [&](int one, int other) {
            for (int array = 0; array < some; ++array) {
                const int which = backwards ? some - 1 - array : array;
                if (size(which, one) != size(which, other)) return size(which, one) > size(which, other);
            }
            return false;
        });
        const Axes before = *this;
        for (int axis = 0; axis < count; ++axis) {
            lengths[axis] = before.lengths[order[axis]];
            for (int array = 0; array < arrays; ++array) steps[array][axis] = before.steps[array][order[axis]];
        }
    }

    // Neighbours that all arrays step through evenly become one, and those of length 1 go.
    void merge() {
        int kept = 0;
        for (int axis = 0; axis < count; ++axis) {
            if (lengths[axis] == 1) continue;
            bool even = kept > 0;
            for (int array = 0; even && array < arrays; ++array)
                even = steps[array][kept - 1] == steps[array][axis] * lengths[axis];
            if (even) {
                lengths[kept - 1] *= lengths[axis];
            } else {
                lengths[kept++] = lengths[axis];
            }
            for (int array = 0; array < arrays; ++array) steps[array][kept - 1] = steps[array][axis];
        }
        count = kept;
        if (count == 0) {
            lengths[count++] = 1;
            for (int array = 0; array < arrays; ++array) steps[array][0] = 0;
        }
    }

    long long total() const {
        long long product = 1;
        for (int axis = 0; axis < count; ++axis) product *= lengths[axis];
        return product;
    }
};

// The step of an array along an axis of a broadcast shape, in elements.
long long step(PyArrayObject* array, int axis, int ndim) {
    const int own = axis - (ndim - PyArray_NDIM(array));
    if (own < 0 || PyArray_DIM(array, own) == 1) return 0;
    return PyArray_STRIDE(array, own) / PyArray_ITEMSIZE(array);
}

void describe_raw(const TypedCall* self, Arguments& all) {
    for (int i = 0; i < all.count; ++i) {
        if (!(*self->parameters)[i].raw) continue;
        PyArrayObject* const array = all.arrays[i];
        all.key += (char)PyArray_NDIM(array);
        all.key += (char)(PyArray_IS_C_CONTIGUOUS(array) != 0);
        for (int axis = 0; axis < PyArray_NDIM(array); ++axis) all.raw.push_back(PyArray_DIM(array, axis));
        for (int axis = 0; axis < PyArray_NDIM(array); ++axis) all.raw.push_back(PyArray_STRIDE(array, axis));
    }
}

const Compiled* find_compiled(const TypedCall* self, const std::string& key) {
    const Compiled* one = *self->compiled;
    while (one != nullptr && one->key != key) one = one->next;
    return one;
}

// New outputs, or those that were given; false with an exception set or none.
struct Outputs {
    PyArrayObject* arrays[MAX_PARAMETERS] = {};
    int count = 0;
    ~Outputs() {
        for (int i = 0; i < count; ++i) Py_XDECREF(arrays[i]);
    }
    bool add(PyArrayObject* given, int ndim, npy_intp* shape, int type) {
        if (given != nullptr) Py_INCREF(given);
        arrays[count++] = given != nullptr ? given : (PyArrayObject*)PyArray_SimpleNew(ndim, shape, type);
        return arrays[count - 1] != nullptr;
    }
    PyObject* result(bool always_tuple) {
        if (count == 1 && !always_tuple) {
            Py_INCREF(arrays[0]);
            return (PyObject*)arrays[0];
        }
        PyObject* tuple = PyTuple_New(count);
        for (int i = 0; tuple != nullptr && i < count; ++i) {
            Py_INCREF(arrays[i]);
            PyTuple_SET_ITEM(tuple, i, (PyObject*)arrays[i]);
        }
        return tuple;
    }
};

// call(args, size): runs an elementwise kernel. NotImplemented where there is a question, a str for a trap's text.
PyObject* typed_call(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    TypedCall* self = (TypedCall*)object;
    if (count != 2 || !PyTuple_CheckExact(args[0])) Py_RETURN_NOTIMPLEMENTED;
    const std::vector<Typed>& parameters = *self->parameters;
    Arguments all;
    const bool looped = read_arguments(self, args[0], all);
    if (PyErr_Occurred()) PyErr_Clear();
    if (all.key.size() != 2 * parameters.size()) Py_RETURN_NOTIMPLEMENTED;
    const bool sized = args[1] != Py_None;
    if (looped == sized) Py_RETURN_NOTIMPLEMENTED;
    if (sized) {
        if (!PyLong_CheckExact(args[1])) Py_RETURN_NOTIMPLEMENTED;
        for (int i = self->inputs; i < all.count; ++i)
            if (!parameters[i].raw && all.arrays[i] != nullptr) Py_RETURN_NOTIMPLEMENTED;
        all.ndim = 1;
        all.shape[0] = PyLong_AsSsize_t(args[1]);
        if (all.shape[0] < 0) {
            PyErr_Clear();
            Py_RETURN_NOTIMPLEMENTED;
        }
    }
    Outputs outputs;
    for (int i = self->inputs; i < all.count; ++i) {
        PyArrayObject* const given = all.arrays[i];
        if (given == nullptr && parameters[i].raw && !sized) Py_RETURN_NOTIMPLEMENTED;
        if (given != nullptr && !parameters[i].raw &&
            (PyArray_NDIM(given) != all.ndim || !std::equal(all.shape, all.shape + all.ndim, PyArray_DIMS(given))))
            Py_RETURN_NOTIMPLEMENTED;
        if (given != nullptr)
            for (int input = 0; input < self->inputs; ++input)
                if (all.arrays[input] != nullptr && !parameters[input].raw && meets(all.arrays[input], given, true))
                    Py_RETURN_NOTIMPLEMENTED;
        if (!outputs.add(given, all.ndim, all.shape, all.types[i])) return nullptr;
        all.arrays[i] = outputs.arrays[i - self->inputs];
    }
    Axes axes;
    int looped_arrays[MAX_PARAMETERS];
    for (int i = 0; i < all.count; ++i)
        if (!parameters[i].raw && all.arrays[i] != nullptr) looped_arrays[axes.arrays++] = i;
    for (int axis = 0; axis < all.ndim; ++axis) {
        axes.add(all.shape[axis]);
        for (int k = 0; k < axes.arrays; ++k) axes.steps[k][axis] = step(all.arrays[looped_arrays[k]], axis, all.ndim);
    }
    const long long total = axes.total();
    if (total > 0) {
        if (!self->in_order) axes.sort(axes.arrays, true);
        axes.merge();
        if (self->in_order && !self->keep_axes) {
            const bool one = axes.count == 1 && axes.lengths[0] == 1;
            all.layout.push_back(one ? 0 : axes.count);
            if (!one) all.layout.insert(all.layout.end(), axes.lengths, axes.lengths + axes.count);
        } else {
            all.layout.push_back(all.ndim);
            all.layout.insert(all.layout.end(), all.shape, all.shape + all.ndim);
        }
        bool plain = axes.count == 1;
        for (int k = 0; k < axes.arrays; ++k) plain = plain && axes.steps[k][0] == 1;
        plain = plain || total == 1;
        describe_raw(self, all);
        all.key += (char)plain;
        const Compiled* const found = find_compiled(self, all.key);
        if (found == nullptr) Py_RETURN_NOTIMPLEMENTED;
        all.layout.push_back(axes.count);
        all.layout.insert(all.layout.end(), axes.lengths, axes.lengths + axes.count);
        for (int k = 0; k < axes.arrays; ++k)
            all.layout.insert(all.layout.end(), axes.steps[k], axes.steps[k] + axes.count);
        all.layout.insert(all.layout.end(), all.raw.begin(), all.raw.end());
        void *pointers[MAX_PARAMETERS + 1], *arguments[MAX_PARAMETERS + 2];
        for (int i = 0; i < all.count; ++i) {
            pointers[i] = all.arrays[i] == nullptr ? nullptr : PyArray_DATA(all.arrays[i]);
            arguments[i] = all.arrays[i] == nullptr ? (void*)all.numbers[i] : (void*)&pointers[i];
        }
        pointers[all.count] = all.layout.data();
        arguments[all.count] = &pointers[all.count];
        arguments[all.count + 1] = (void*)&total;
        const long long blocks = (total + self->chunk - 1) / self->chunk;
        if (blocks > 0x7fffffff) Py_RETURN_NOTIMPLEMENTED;
        const unsigned int grid[3] = {(unsigned int)blocks, 1, 1}, block[3] = {1, 1, 1};
        PyObject* const trap = launch_blocks(found->function, arguments, grid, block, 0);
        if (trap != Py_None) return trap;
        Py_DECREF(trap);
    }
    if (self->no_return) Py_RETURN_NONE;
    return outputs.result(self->always_tuple);
}

// Reads the axes to reduce into flags; false where there is a question.
bool read_axes(PyObject* given, int ndim, bool* reduced) {
    std::fill(reduced, reduced + ndim, given == Py_None);
    if (given == Py_None) return true;
    const bool several = PyTuple_CheckExact(given);
    for (Py_ssize_t i = 0; i < (several ? PyTuple_GET_SIZE(given) : 1); ++i) {
        PyObject* const one = several ? PyTuple_GET_ITEM(given, i) : given;
        if (!PyLong_CheckExact(one)) return false;
        int overflow;
        long long axis = PyLong_AsLongLongAndOverflow(one, &overflow);
        if (overflow != 0 || axis < -ndim || axis >= ndim) return false;
        if (axis < 0) axis += ndim;
        if (reduced[axis]) return false;
        reduced[axis] = true;
    }
    return true;
}

// reduce(args, axis, keepdims): runs a reduction kernel, with the answers of `typed_call`.
PyObject* typed_reduce(PyObject* object, PyObject* const* args, Py_ssize_t count_of_args) {
    TypedCall* self = (TypedCall*)object;
    if (count_of_args != 3 || !PyTuple_CheckExact(args[0]) || !PyBool_Check(args[2])) Py_RETURN_NOTIMPLEMENTED;
    const std::vector<Typed>& parameters = *self->parameters;
    Arguments all;
    const bool looped = read_arguments(self, args[0], all);
    if (PyErr_Occurred()) PyErr_Clear();
    bool reduced[MAX_AXES];
    if (!looped || all.key.size() != 2 * parameters.size() || !read_axes(args[1], all.ndim, reduced))
        Py_RETURN_NOTIMPLEMENTED;
    npy_intp result[MAX_AXES];
    int result_axes = 0;
    bool empty = false;
    for (int axis = 0; axis < all.ndim; ++axis) {
        if (reduced[axis] && all.shape[axis] == 0) Py_RETURN_NOTIMPLEMENTED;
        if (!reduced[axis] && all.shape[axis] == 0) empty = true;
        if (!reduced[axis] || args[2] == Py_True) result[result_axes++] = reduced[axis] ? 1 : all.shape[axis];
    }
    Outputs outputs;
    for (int i = self->inputs; i < all.count; ++i) {
        PyArrayObject* const given = all.arrays[i];
        if (given != nullptr) {
            if (PyArray_NDIM(given) != result_axes || !std::equal(result, result + result_axes, PyArray_DIMS(given)))
                Py_RETURN_NOTIMPLEMENTED;
            for (int input = 0; input < self->inputs; ++input)
                if (all.arrays[input] != nullptr && meets(all.arrays[input], given, false)) Py_RETURN_NOTIMPLEMENTED;
        }
        if (!outputs.add(given, result_axes, result, all.types[i])) return nullptr;
        all.arrays[i] = outputs.arrays[i - self->inputs];
    }
    if (empty) return outputs.result(false);
    int reads = 0, looped_arrays[MAX_PARAMETERS];
    for (int i = 0; i < self->inputs; ++i)
        if (!parameters[i].raw && all.arrays[i] != nullptr) looped_arrays[reads++] = i;
    Axes out, red;
    out.arrays = reads + outputs.count;
    red.arrays = reads;
    std::vector<long long> indexed[2];
    for (int axis = 0; axis < all.ndim; ++axis) {
        Axes& into = reduced[axis] ? red : out;
        for (int k = 0; k < reads; ++k)
            into.steps[k][into.count] = step(all.arrays[looped_arrays[k]], axis, all.ndim);
        if (!reduced[axis]) {
            const int own = args[2] == Py_True ? axis : out.count;
            for (int k = 0; k < outputs.count; ++k)
                out.steps[reads + k][out.count] =
                    PyArray_STRIDE(outputs.arrays[k], own) / PyArray_ITEMSIZE(outputs.arrays[k]);
        }
        into.add(all.shape[axis]);
    }
    describe_raw(self, all);
    for (int which = 0; which < 2; ++which) {
        if (!(self->indexers >> which & 1)) continue;
        all.raw.push_back(which == 0 ? all.ndim : out.count);
        if (which == 0) all.raw.insert(all.raw.end(), red.lengths, red.lengths + red.count);
        all.raw.insert(all.raw.end(), out.lengths, out.lengths + out.count);
    }
    if (!self->axes_in_order) red.sort(reads, false);
    if (!self->outputs_in_order) out.sort(reads, false);
    out.merge();
    red.merge();
    const long long count = out.total(), length = red.total(), width = out.lengths[out.count - 1];
    auto size = [](long long value) { return value < 0 ? -value : value; };
    const bool side_by_side =
        count > 1 && (length == 1 || size(out.steps[0][out.count - 1]) < size(red.steps[0][red.count - 1]));
    const Axes& last = side_by_side ? out : red;
    bool plain = true;
    for (int k = 0; k < reads; ++k) plain = plain && last.steps[k][last.count - 1] == 1;
    plain = plain || last.lengths[last.count - 1] == 1;
    all.key += (char)side_by_side;
    all.key += (char)plain;
    const Compiled* const found = find_compiled(self, all.key);
    if (found == nullptr) Py_RETURN_NOTIMPLEMENTED;
    const long long tiles = side_by_side ? count / width * ((width + self->tile - 1) / self->tile) : count;
    const long long chunk = !side_by_side ? self->chunk : tiles < self->few_tiles ? self->rows : length;
    const long long chunks = (length + chunk - 1) / chunk;
    long long each = chunks == 1 && !side_by_side && length < self->chunk ? self->chunk / length : 1;
    all.layout = {out.count, red.count};
    all.layout.insert(all.layout.end(), out.lengths, out.lengths + out.count);
    all.layout.insert(all.layout.end(), red.lengths, red.lengths + red.count);
    for (int k = 0; k < out.arrays; ++k) all.layout.insert(all.layout.end(), out.steps[k], out.steps[k] + out.count);
    for (int k = 0; k < red.arrays; ++k) all.layout.insert(all.layout.end(), red.steps[k], red.steps[k] + red.count);
    all.layout.insert(all.layout.end(), all.raw.begin(), all.raw.end());
    std::vector<char> partial(chunks > 1 ? (size_t)(found->bytes * chunks * count + 64) : 64);
    void *pointers[MAX_PARAMETERS + 2], *arguments[MAX_PARAMETERS + 8];
    for (int i = 0; i < all.count; ++i) {
        pointers[i] = all.arrays[i] == nullptr ? nullptr : PyArray_DATA(all.arrays[i]);
        arguments[i] = all.arrays[i] == nullptr ? (void*)all.numbers[i] : (void*)&pointers[i];
    }
    pointers[all.count] = all.layout.data();
    pointers[all.count + 1] = (void*)(((uintptr_t)partial.data() + 63) & ~(uintptr_t)63);
    int pass = 0;
    void** next = arguments + all.count;
    *next++ = &pointers[all.count];
    for (const long long* number : {&count, &length, &chunk, &chunks}) *next++ = (void*)number;
    *next++ = &pointers[all.count + 1];
    *next++ = &each;
    *next++ = &pass;
    const unsigned int block[3] = {1, 1, 1};
    for (; pass < (chunks > 1 ? 2 : 1); ++pass) {
        if (pass == 1) each = 256;
        const long long blocks = ((pass == 0 ? tiles * chunks : count) + each - 1) / each;
        if (blocks > 0x7fffffff) Py_RETURN_NOTIMPLEMENTED;
        const unsigned int grid[3] = {(unsigned int)blocks, 1, 1};
        PyObject* const trap = launch_blocks(found->function, arguments, grid, block, 0);
        if (trap != Py_None) return trap;
        Py_DECREF(trap);
    }
    return outputs.result(false);
}

// add(key, function, bytes=0): what `typed_call` and `typed_reduce` run for arguments of this key.
PyObject* typed_add(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    char* key;
    Py_ssize_t length;
    if (count < 2 || PyBytes_AsStringAndSize(args[0], &key, &length) < 0) return nullptr;
    const long long bytes = count > 2 ? PyLong_AsLongLong(args[2]) : 0;
    if (PyErr_Occurred()) return nullptr;
    Py_INCREF(args[1]);
    std::atomic<Compiled*>& first = *((TypedCall*)object)->compiled;
    Compiled* const made = new Compiled{std::string(key, (size_t)length), (Function*)args[1], bytes, first};
    while (!first.compare_exchange_weak(made->next, made)) {
    }
    Py_RETURN_NONE;
}

// TypedCall(parameters, inputs, settings): of each parameter (letter, type, raw, output).
int typed_init(PyObject* object, PyObject* args, PyObject*) {
    TypedCall* self = (TypedCall*)object;
    PyObject* described;
    int in_order, keep_axes, no_return, always_tuple, axes_in_order, outputs_in_order;
    if (!PyArg_ParseTuple(args, "O!i(ppppppLLLLi)", &PyTuple_Type, &described, &self->inputs, &in_order, &keep_axes,
                          &no_return, &always_tuple, &axes_in_order, &outputs_in_order, &self->chunk, &self->rows,
                          &self->tile, &self->few_tiles, &self->indexers))
        return -1;
    self->in_order = in_order;
    self->keep_axes = keep_axes;
    self->no_return = no_return;
    self->always_tuple = always_tuple;
    self->axes_in_order = axes_in_order;
    self->outputs_in_order = outputs_in_order;
    if (PyTuple_GET_SIZE(described) > MAX_PARAMETERS) {
        PyErr_SetString(PyExc_ValueError, "too many parameters");
        return -1;
    }
    if (self->parameters != nullptr) {
        PyErr_SetString(PyExc_TypeError, "a TypedCall is made once");
        return -1;
    }
    self->parameters = new std::vector<Typed>;
    self->compiled = new std::atomic<Compiled*>(nullptr);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(described); ++i) {
        Typed one;
        int raw, output;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(described, i), "iipp", &one.letter, &one.type, &raw, &output)) return -1;
        one.type = plain_type(one.type);
        one.raw = raw;
        one.output = output;
        self->parameters->push_back(one);
    }
    return 0;
}

void typed_dealloc(PyObject* object) {
    TypedCall* self = (TypedCall*)object;
    Compiled* one = self->compiled == nullptr ? nullptr : self->compiled->load();
    while (one != nullptr) {
        Compiled* const next = one->next;
        Py_DECREF(one->function);
        delete one;
        one = next;
    }
    delete self->compiled;
    delete self->parameters;
    Py_TYPE(object)->tp_free(object);
}

PyMethodDef typed_methods[] = {
    {"call", (PyCFunction)(void (*)(void))typed_call, METH_FASTCALL, nullptr},
    {"reduce", (PyCFunction)(void (*)(void))typed_reduce, METH_FASTCALL, nullptr},
    {"add", (PyCFunction)(void (*)(void))typed_add, METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject typed_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

bool add_typed_call(PyObject* module) {
    typed_type.tp_name = "cunumpy.kernels._cpu_device.launcher.TypedCall";
    typed_type.tp_basicsize = sizeof(TypedCall);
    typed_type.tp_flags = Py_TPFLAGS_DEFAULT;
    typed_type.tp_new = PyType_GenericNew;
    typed_type.tp_init = typed_init;
    typed_type.tp_dealloc = typed_dealloc;
    typed_type.tp_methods = typed_methods;
    if (PyType_Ready(&typed_type) < 0) return false;
    Py_INCREF(&typed_type);
    return PyModule_AddObject(module, "TypedCall", (PyObject*)&typed_type) == 0;
}

}  // namespace
