// Arguments that leave no question, packed without a call of Python; with all others launch.py deals.
#pragma once

#include <string.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "function.hpp"

namespace {

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

}  // namespace
