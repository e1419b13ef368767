// Arrays as kernel parameters: a pointer with its shape and, where they are not C-contiguous, its strides.
//
//     __global__ void add(Array2D<double> a, CArray2D<const double> b) {
//         for (auto p : cunumpy::grid_stride(a.shape[0], a.shape[1])) a(p.i, p.j) += b(p.i, p.j);
//     }
//
// Types: Array1D<T> ... Array16D<T> with strides, and CArray1D<T> ... CArray16D<T>, C-contiguous, are one template,
//     cunumpy::View<T, N, cunumpy::Strided or cunumpy::Contiguous, long long>
// so that code for any rank and layout can be written once. Passed by value; CuNumpy makes them of device arrays, with
// these members in this order and no padding (checked below):
//     T* data; long long shape[N]; long long strides[N];    strides in elements, may be 0 or negative; 8 + 16 N bytes
//     T* data; long long shape[N];                          C-contiguous; 8 + 8 N bytes
// Array1D32<T> ... and CArray1D32<T> ... have the index type int, for registers and time; see cunumpy::index32.
//
// Like a pointer, a const view gives write access to its elements: a view to read from is one of const T, to which a
// view of T converts. A CArrayND<T> converts to an ArrayND<T>. Neither conversion is found where T has to be deduced:
// take the layout as a template parameter too, or pass `a.strided()`.
//
// Indices don't wrap and are not checked, unless CUNUMPY_BOUNDS_CHECK is defined: then an index below 0 or not below
// the extent prints the index, axis, extent, array, thread and block, once, and ends the kernel with CUNUMPY_TRAP(). An
// array is known by its address, or by its name where it is read as CUNUMPY_AT(a, i, j).
//
// Needs no other header, except <stdio.h> for bounds checks outside of run-time compilation. Also plain C++. C++11.
#ifndef CUNUMPY_ARRAY_VIEW_CUH
#define CUNUMPY_ARRAY_VIEW_CUH

#if defined(CUNUMPY_BOUNDS_CHECK) && !(defined(__CUDACC__) && defined(__CUDACC_RTC__)) && !defined(__HIPCC_RTC__)
#include <stdio.h>
#endif

// ---- Checks ---------------------------------------------------------------------------------------------------------

// Ends the kernel with an error. A CPU device may define its own before.
#ifndef CUNUMPY_TRAP
#if defined(__CUDACC__) && !defined(__HIP__)
#define CUNUMPY_TRAP() __trap()
#else
#define CUNUMPY_TRAP() __builtin_trap()
#endif
#endif

// CUNUMPY_INDEX_ERROR(name, data, index, axis, extent), where a CPU device has defined it, ends the kernel with a message
// of its own.
//
// CUNUMPY_CHECK_INDEX(index, axis, extent) checks an index; CUNUMPY_CHECK_INDEX_OF(name, index, axis, extent) says of
// which array, a string. They are expressions without a value, and nothing without CUNUMPY_BOUNDS_CHECK.
#ifdef CUNUMPY_BOUNDS_CHECK
#define CUNUMPY_CHECK_INDEX(index, axis, extent) \
    cunumpy_detail::check_index("", nullptr, (long long)(index), (axis), (long long)(extent))
#define CUNUMPY_CHECK_INDEX_OF(name, index, axis, extent) \
    cunumpy_detail::check_index((name), nullptr, (long long)(index), (axis), (long long)(extent))
#else
#define CUNUMPY_CHECK_INDEX(index, axis, extent) ((void)0)
#define CUNUMPY_CHECK_INDEX_OF(name, index, axis, extent) ((void)0)
#endif

// The element a(i, ...), as an lvalue, which a bounds check calls by the name of `a`.
#define CUNUMPY_AT(a, ...) ((a).at(#a, __VA_ARGS__))

namespace cunumpy_detail {

#ifdef CUNUMPY_BOUNDS_CHECK
// 0 as long as no index was bad, 1 while a thread prints, 2 then.
static __device__ volatile unsigned int index_report;

// A template, as the compiler then neither wants it used nor inlines all of it into every access.
template <class Pointer>
__device__ __attribute__((noinline)) void index_error(const char* name, Pointer data, long long index, int axis,
                                                      long long extent) {
#ifdef CUNUMPY_INDEX_ERROR
    CUNUMPY_INDEX_ERROR(name, data, index, axis, extent);
#endif
    unsigned int* report = const_cast<unsigned int*>(&index_report);
#if defined(__CUDACC__) || defined(__HIP__)
    const bool first = atomicCAS(report, 0u, 1u) == 0;
#else
    unsigned int none = 0;
    const bool first = __atomic_compare_exchange_n(report, &none, 1u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
    if (first) {
        // An axis of -1 is that of the flattened array.
#if defined(__CUDACC__) || defined(__HIP__) || defined(CUNUMPY_CPU_DEVICE)
        printf(
            "cunumpy: index %lld is out of range for axis %d with extent %lld of %s%s at %p, in thread (%d, %d, %d) "
            "of block (%d, %d, %d)\n",
            index, axis, extent, name[0] ? "array " : "an array", name, (const void*)data, (int)threadIdx.x,
            (int)threadIdx.y, (int)threadIdx.z, (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z);
#else
        printf("cunumpy: index %lld is out of range for axis %d with extent %lld of %s%s at %p\n", index, axis, extent,
               name[0] ? "array " : "an array", name, (const void*)data);
#endif
#if !defined(__CUDACC__) && !defined(__HIP__)
        fflush(stdout);
#endif
        index_report = 2;
    } else {
        // A trap ends all threads, so let the first one print; not for ever, as it may wait for this one.
        for (int tries = 0; tries < 1000000 && index_report != 2; ++tries) {
        }
    }
    CUNUMPY_TRAP();
}

__device__ __forceinline__ void check_index(const char* name, const void* data, long long index, int axis,
                                            long long extent) {
    if (index < 0 || index >= extent) index_error(name, data, index, axis, extent);
}
#else
__device__ __forceinline__ void check_index(const char*, const void*, long long, int, long long) {}
#endif

// Checks the indices of the axes from `axis` on.
template <class Index>
__device__ __forceinline__ void check_indices(const char*, const void*, const Index*, int) {}
template <class Index, class First, class... Rest>
__device__ __forceinline__ void check_indices(const char* name, const void* data, const Index* shape, int axis, First i,
                                              Rest... rest) {
    check_index(name, data, (long long)i, axis, (long long)shape[axis]);
    check_indices(name, data, shape, axis + 1, rest...);
}

// ---- Offsets --------------------------------------------------------------------------------------------------------

template <class Index>
__device__ __forceinline__ Index strided_offset(const Index*) {
    return 0;
}
template <class Index, class First, class... Rest>
__device__ __forceinline__ Index strided_offset(const Index* strides, First i, Rest... rest) {
    return (Index)i * strides[0] + strided_offset(strides + 1, rest...);
}

template <class Index>
__device__ __forceinline__ Index row_major_offset(const Index*, Index before) {
    return before;
}
template <class Index, class First, class... Rest>
__device__ __forceinline__ Index row_major_offset(const Index* shape, Index before, First i, Rest... rest) {
    return row_major_offset(shape + 1, (Index)(before * shape[0] + (Index)i), rest...);
}

// ---- Types ----------------------------------------------------------------------------------------------------------

template <bool condition>
struct When {};
template <>
struct When<true> {
    typedef int type;
};

template <class T, class Other>
struct Same {
    static constexpr bool value = false;
};
template <class T>
struct Same<T, T> {
    static constexpr bool value = true;
};

template <class T>
struct WithoutConst {
    typedef T type;
};
template <class T>
struct WithoutConst<const T> {
    typedef T type;
};

// Whether no index has a floating type, which would lose its fraction.
template <class... Is>
struct Integers {
    static constexpr bool value = true;
};
template <class First, class... Rest>
struct Integers<First, Rest...> {
    static constexpr bool value = !Same<First, float>::value && !Same<First, double>::value &&
                                  !Same<First, long double>::value && Integers<Rest...>::value;
};

// Reads memory that no thread writes during the kernel, through the read-only cache where that has the type.
template <class T>
__device__ __forceinline__ T load_constant(const T* p) {
    return *p;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
__device__ __forceinline__ signed char load_constant(const signed char* p) { return __ldg(p); }
__device__ __forceinline__ unsigned char load_constant(const unsigned char* p) { return __ldg(p); }
__device__ __forceinline__ short load_constant(const short* p) { return __ldg(p); }
__device__ __forceinline__ unsigned short load_constant(const unsigned short* p) { return __ldg(p); }
__device__ __forceinline__ int load_constant(const int* p) { return __ldg(p); }
__device__ __forceinline__ unsigned int load_constant(const unsigned int* p) { return __ldg(p); }
__device__ __forceinline__ long load_constant(const long* p) { return __ldg(p); }
__device__ __forceinline__ unsigned long load_constant(const unsigned long* p) { return __ldg(p); }
__device__ __forceinline__ long long load_constant(const long long* p) { return __ldg(p); }
__device__ __forceinline__ unsigned long long load_constant(const unsigned long long* p) { return __ldg(p); }
__device__ __forceinline__ float load_constant(const float* p) { return __ldg(p); }
__device__ __forceinline__ double load_constant(const double* p) { return __ldg(p); }
#endif

}  // namespace cunumpy_detail

namespace cunumpy {

// Layouts.
struct Strided {};
struct Contiguous {};

// Views of N >= 1 dimensions; Index, long long or int, is the type of the shape and of the arithmetic with indices.
template <class T, int Rank, class Layout = Strided, class Index = long long>
struct View;

template <class T, int Rank, class Index>
struct View<T, Rank, Strided, Index> {
    T* data;
    Index shape[Rank];
    Index strides[Rank];

    typedef T element_type;
    typedef typename cunumpy_detail::WithoutConst<T>::type value_type;
    static constexpr int ndim = Rank;

    // a(i, j, ...): the element at N indices.
    template <class... Is>
    __device__ __forceinline__ T& operator()(Is... i) const {
        return at("", i...);
    }

    // The same, with the name that a bounds check tells; see CUNUMPY_AT.
    template <class... Is>
    __device__ __forceinline__ T& at(const char* name, Is... i) const {
        static_assert(sizeof...(Is) == Rank, "an array view takes as many indices as it has dimensions");
        static_assert(Rank <= 4 || cunumpy_detail::Integers<Is...>::value, "the indices of an array view are integers");
        cunumpy_detail::check_indices(name, data, shape, 0, i...);
        return data[cunumpy_detail::strided_offset(strides, i...)];
    }

    // The value of an element that no thread writes during the kernel, through the read-only cache.
    template <class... Is>
    __device__ __forceinline__ value_type load(Is... i) const {
        return cunumpy_detail::load_constant(const_cast<const value_type*>(&at("", i...)));
    }

    // Element number n in C order.
    __device__ __forceinline__ T& flat(long long n) const {
        cunumpy_detail::check_index("", data, n, -1, size());
        Index rest = (Index)n, offset = 0;
        for (int axis = Rank - 1; axis > 0; --axis) {
            const Index next = rest / shape[axis];
            offset += (rest - next * shape[axis]) * strides[axis];
            rest = next;
        }
        return data[offset + rest * strides[0]];
    }

    // The number of elements.
    __host__ __device__ __forceinline__ long long size() const {
        long long product = shape[0];
        for (int axis = 1; axis < Rank; ++axis) product *= shape[axis];
        return product;
    }

    // a.sub(i, ...): the view of the remaining dimensions at fewer than N leading indices.
    template <class... Is>
    __device__ __forceinline__ View<T, Rank - (int)sizeof...(Is), Strided, Index> sub(Is... i) const {
        constexpr int fixed = sizeof...(Is);
        static_assert(fixed >= 1 && fixed < Rank,
                      "sub takes at least one index, and fewer than the view has dimensions");
        cunumpy_detail::check_indices("", data, shape, 0, i...);
        View<T, Rank - fixed, Strided, Index> result;
        result.data = data + cunumpy_detail::strided_offset(strides, i...);
        for (int axis = fixed; axis < Rank; ++axis) {
            result.shape[axis - fixed] = shape[axis];
            result.strides[axis - fixed] = strides[axis];
        }
        return result;
    }

    // The view without one axis, at an index on it; N >= 2. `a.fix(1, j)` is column j of a matrix.
    __device__ __forceinline__ View<T, (Rank > 1 ? Rank - 1 : 1), Strided, Index> fix(int axis, Index i) const {
        static_assert(Rank > 1, "a view of one dimension has no axis to spare");
        cunumpy_detail::check_index("", data, i, axis, shape[axis]);
        View<T, (Rank > 1 ? Rank - 1 : 1), Strided, Index> result;
        result.data = data + i * strides[axis];
        for (int a = 0; a < Rank - 1; ++a) {
            result.shape[a] = shape[a + (a >= axis)];
            result.strides[a] = strides[a + (a >= axis)];
        }
        return result;
    }

    // The elements begin, begin + step, ... before `end` of an axis. Like a[begin:end:step], but negative numbers count
    // from nowhere: with a negative step, end may be -1.
    __device__ __forceinline__ View slice(int axis, Index begin, Index end, Index step = 1) const {
        View result = *this;
        const Index span = step > 0 ? end - begin : begin - end, stride = step > 0 ? step : -step;
        const Index count = span > 0 ? (span - 1) / stride + 1 : 0;
        if (count > 0) {
            cunumpy_detail::check_index("", data, begin, axis, shape[axis]);
            cunumpy_detail::check_index("", data, begin + (count - 1) * step, axis, shape[axis]);
            result.data = data + begin * strides[axis];
        }
        result.shape[axis] = count;
        result.strides[axis] = strides[axis] * step;
        return result;
    }

    // The view itself, for code that takes either layout.
    __host__ __device__ __forceinline__ View strided() const { return *this; }

    // To a view of const T.
    template <class Other, typename cunumpy_detail::When<cunumpy_detail::Same<Other, const T>::value>::type = 0>
    __host__ __device__ __forceinline__ operator View<Other, Rank, Strided, Index>() const {
        View<Other, Rank, Strided, Index> result;
        result.data = data;
        for (int axis = 0; axis < Rank; ++axis) {
            result.shape[axis] = shape[axis];
            result.strides[axis] = strides[axis];
        }
        return result;
    }
};

// The same for C-contiguous arrays; the functions that are not explained are those above.
template <class T, int Rank, class Index>
struct View<T, Rank, Contiguous, Index> {
    T* data;
    Index shape[Rank];

    typedef T element_type;
    typedef typename cunumpy_detail::WithoutConst<T>::type value_type;
    static constexpr int ndim = Rank;

    template <class... Is>
    __device__ __forceinline__ T& operator()(Is... i) const {
        return at("", i...);
    }

    template <class... Is>
    __device__ __forceinline__ T& at(const char* name, Is... i) const {
        static_assert(sizeof...(Is) == Rank, "an array view takes as many indices as it has dimensions");
        static_assert(Rank <= 4 || cunumpy_detail::Integers<Is...>::value, "the indices of an array view are integers");
        cunumpy_detail::check_indices(name, data, shape, 0, i...);
        return data[cunumpy_detail::row_major_offset(shape, (Index)0, i...)];
    }

    template <class... Is>
    __device__ __forceinline__ value_type load(Is... i) const {
        return cunumpy_detail::load_constant(const_cast<const value_type*>(&at("", i...)));
    }

    __device__ __forceinline__ T& flat(long long n) const {
        cunumpy_detail::check_index("", data, n, -1, size());
        return data[n];
    }

    __host__ __device__ __forceinline__ long long size() const {
        long long product = shape[0];
        for (int axis = 1; axis < Rank; ++axis) product *= shape[axis];
        return product;
    }

    template <class... Is>
    __device__ __forceinline__ View<T, Rank - (int)sizeof...(Is), Contiguous, Index> sub(Is... i) const {
        constexpr int fixed = sizeof...(Is);
        static_assert(fixed >= 1 && fixed < Rank,
                      "sub takes at least one index, and fewer than the view has dimensions");
        cunumpy_detail::check_indices("", data, shape, 0, i...);
        View<T, Rank - fixed, Contiguous, Index> result;
        Index offset = cunumpy_detail::row_major_offset(shape, (Index)0, i...);
        for (int axis = fixed; axis < Rank; ++axis) {
            result.shape[axis - fixed] = shape[axis];
            offset *= shape[axis];
        }
        result.data = data + offset;
        return result;
    }

    // a.row(i, ...): a pointer to the elements of the last axis at the N - 1 indices before it.
    template <class... Is>
    __device__ __forceinline__ T* row(Is... i) const {
        static_assert(sizeof...(Is) == Rank - 1, "row takes one index less than the view has dimensions");
        cunumpy_detail::check_indices("", data, shape, 0, i...);
        return data + cunumpy_detail::row_major_offset(shape, (Index)0, i...) * shape[Rank - 1];
    }

    __device__ __forceinline__ View<T, (Rank > 1 ? Rank - 1 : 1), Strided, Index> fix(int axis, Index i) const {
        return strided().fix(axis, i);
    }

    __device__ __forceinline__ View<T, Rank, Strided, Index> slice(int axis, Index begin, Index end,
                                                                         Index step = 1) const {
        return strided().slice(axis, begin, end, step);
    }

    // The same elements as a strided view.
    __host__ __device__ __forceinline__ View<T, Rank, Strided, Index> strided() const {
        View<T, Rank, Strided, Index> result;
        result.data = data;
        Index stride = 1;
        for (int axis = Rank - 1; axis >= 0; --axis) {
            result.shape[axis] = shape[axis];
            result.strides[axis] = stride;
            stride *= shape[axis];
        }
        return result;
    }

    // To a strided view of T or const T.
    template <class Other, typename cunumpy_detail::When<cunumpy_detail::Same<Other, T>::value ||
                                                     cunumpy_detail::Same<Other, const T>::value>::type = 0>
    __host__ __device__ __forceinline__ operator View<Other, Rank, Strided, Index>() const {
        return strided();
    }

    // To a view of const T.
    template <class Other, typename cunumpy_detail::When<cunumpy_detail::Same<Other, const T>::value>::type = 0>
    __host__ __device__ __forceinline__ operator View<Other, Rank, Contiguous, Index>() const {
        View<Other, Rank, Contiguous, Index> result;
        result.data = data;
        for (int axis = 0; axis < Rank; ++axis) result.shape[axis] = shape[axis];
        return result;
    }
};

// ---- 32-bit indices -------------------------------------------------------------------------------------------------

// Whether the size, and every offset between elements, is below 2^31, so that index32 may be used.
template <class T, int Rank>
__host__ __device__ __forceinline__ bool fits_index32(const View<T, Rank, Strided, long long>& a) {
    const long long limit = 0x7fffffff;
    long long size = 1, above = 0, below = 0;
    for (int axis = 0; axis < Rank; ++axis) {
        const long long extent = a.shape[axis], stride = a.strides[axis];
        if (extent > limit) return false;
        size = size * extent > limit ? limit + 1 : size * extent;
        if (extent < 2) continue;  // the stride is not used
        if (stride > limit || stride < -limit) return false;
        if (stride > 0) above += (extent - 1) * stride;
        if (stride < 0) below -= (extent - 1) * stride;
        if (above > limit || below > limit) return false;
    }
    return size <= limit;
}

template <class T, int Rank>
__host__ __device__ __forceinline__ bool fits_index32(const View<T, Rank, Contiguous, long long>& a) {
    return fits_index32(a.strided());
}

// The view with indices of type int. Only where fits_index32(a), which a bounds check ensures.
template <class T, int Rank>
__device__ __forceinline__ View<T, Rank, Strided, int> index32(const View<T, Rank, Strided, long long>& a) {
#ifdef CUNUMPY_BOUNDS_CHECK
    if (!fits_index32(a)) cunumpy_detail::index_error("index32", a.data, a.size(), -1, 0x80000000ll);
#endif
    View<T, Rank, Strided, int> result;
    result.data = a.data;
    for (int axis = 0; axis < Rank; ++axis) {
        result.shape[axis] = (int)a.shape[axis];
        result.strides[axis] = (int)a.strides[axis];
    }
    return result;
}

template <class T, int Rank>
__device__ __forceinline__ View<T, Rank, Contiguous, int> index32(const View<T, Rank, Contiguous, long long>& a) {
#ifdef CUNUMPY_BOUNDS_CHECK
    if (!fits_index32(a)) cunumpy_detail::index_error("index32", a.data, a.size(), -1, 0x80000000ll);
#endif
    View<T, Rank, Contiguous, int> result;
    result.data = a.data;
    for (int axis = 0; axis < Rank; ++axis) result.shape[axis] = (int)a.shape[axis];
    return result;
}

}  // namespace cunumpy

// ---- Names ----------------------------------------------------------------------------------------------------------

namespace cunumpy_detail {
template <class T, int Rank>
using ArrayView = cunumpy::View<T, Rank, cunumpy::Strided, long long>;
template <class T, int Rank>
using CArrayView = cunumpy::View<T, Rank, cunumpy::Contiguous, long long>;
}  // namespace cunumpy_detail

#define CUNUMPY_ARRAY_VIEW_NAMES(N)                                                             \
    template <typename T>                                                                       \
    using Array##N##D = cunumpy::View<T, N, cunumpy::Strided, long long>;                       \
    template <typename T>                                                                       \
    using CArray##N##D = cunumpy::View<T, N, cunumpy::Contiguous, long long>;                   \
    template <typename T>                                                                       \
    using Array##N##D32 = cunumpy::View<T, N, cunumpy::Strided, int>;                           \
    template <typename T>                                                                       \
    using CArray##N##D32 = cunumpy::View<T, N, cunumpy::Contiguous, int>;                       \
    static_assert(sizeof(Array##N##D<char>) == 8 + 16 * N && alignof(Array##N##D<char>) == 8,   \
                  "Array" #N "D has 8 + 16 N bytes, as CuNumpy passes it");                     \
    static_assert(sizeof(CArray##N##D<char>) == 8 + 8 * N && alignof(CArray##N##D<char>) == 8,  \
                  "CArray" #N "D has 8 + 8 N bytes, as CuNumpy passes it");

CUNUMPY_ARRAY_VIEW_NAMES(1)
CUNUMPY_ARRAY_VIEW_NAMES(2)
CUNUMPY_ARRAY_VIEW_NAMES(3)
CUNUMPY_ARRAY_VIEW_NAMES(4)
CUNUMPY_ARRAY_VIEW_NAMES(5)
CUNUMPY_ARRAY_VIEW_NAMES(6)
CUNUMPY_ARRAY_VIEW_NAMES(7)
CUNUMPY_ARRAY_VIEW_NAMES(8)
CUNUMPY_ARRAY_VIEW_NAMES(9)
CUNUMPY_ARRAY_VIEW_NAMES(10)
CUNUMPY_ARRAY_VIEW_NAMES(11)
CUNUMPY_ARRAY_VIEW_NAMES(12)
CUNUMPY_ARRAY_VIEW_NAMES(13)
CUNUMPY_ARRAY_VIEW_NAMES(14)
CUNUMPY_ARRAY_VIEW_NAMES(15)
CUNUMPY_ARRAY_VIEW_NAMES(16)
#undef CUNUMPY_ARRAY_VIEW_NAMES

#endif
