// A compiled kernel, and what is known of it: where its code is, its parameters, what a thread costs.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#ifdef __linux__
#include <link.h>
#endif

#include <string>
#include <vector>

#include "../../include/cunumpy_cpu/launch.hpp"

namespace {

typedef unsigned long long u64;
typedef int (*Run)(cunumpy_cpu_launch*, void**, unsigned long long, unsigned long long);

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

// As Python has it.
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

#ifdef __linux__
// Where its code is; for dl_iterate_phdr.
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

}  // namespace
