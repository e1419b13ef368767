// Atomic operations on global and shared memory.
//
//     cunumpy_atomic_add(&histogram[bin], 1);
//     cunumpy_atomic_max(peak, value);
//
// Each function changes the number at an address and returns the old one; relaxed order, for all threads of the device.
// Per thread, may diverge. The type is that of the address, to which the other arguments convert: any integer of 8 to
// 64 bits, float or double; also other types of 1, 2, 4 or 8 bytes that memcpy may copy and which have the operation,
// such as __half where <cuda_fp16.h> is included. Integers wrap around.
//
//                      hardware instruction                         else a loop of compare-and-swap
//     add              32- and 64-bit integers, float, double       8 and 16 bits, other types; double before sm_60
//     min, max         32- and 64-bit integers                      the others
//     exchange, cas    32 and 64 bits                               8 and 16 bits
//
// Complex numbers add as real and imaginary part, each atomically: other threads may see one without the other.
//
// Needs <cunumpy/portability.cuh>. Also plain C++ (GCC, Clang), for threads of the host. C++11.
#ifndef CUNUMPY_ATOMIC_CUH
#define CUNUMPY_ATOMIC_CUH

#include <cunumpy/portability.cuh>

namespace cunumpy_detail {

template <int number>
struct Choice {};

template <class T>
struct Checked {
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                  "an atomic operation is on 1, 2, 4 or 8 bytes");
    typedef T type;
};

// ---- Compare-and-swap and exchange, of 1, 2, 4 or 8 bytes -----------------------------------------------------------

#if defined(__CUDACC__) || defined(CUNUMPY_HIP)
template <int bytes>
struct Bits;
template <>
struct Bits<1> {
    typedef unsigned char type;
};
template <>
struct Bits<2> {
    typedef unsigned short type;
};
template <>
struct Bits<4> {
    typedef unsigned int type;
};
template <>
struct Bits<8> {
    typedef unsigned long long type;
};

__device__ __forceinline__ unsigned int cas_bits(unsigned int* p, unsigned int expected, unsigned int desired) {
    return atomicCAS(p, expected, desired);
}
__device__ __forceinline__ unsigned long long cas_bits(unsigned long long* p, unsigned long long expected,
                                                       unsigned long long desired) {
    return atomicCAS(p, expected, desired);
}
// Within the aligned 32-bit word around 1 or 2 bytes, of which the others stay as they are.
template <class Word>
__device__ __forceinline__ Word cas_bits(Word* p, Word expected, Word desired) {
    const unsigned int place = (unsigned int)((unsigned long long)p & 3);
    unsigned int* word = (unsigned int*)((unsigned char*)p - place);
    const unsigned int shift = 8 * place, mask = (unsigned int)(Word)-1 << shift;
    unsigned int old = *(volatile unsigned int*)word;
    while (true) {
        const Word found = (Word)((old & mask) >> shift);
        if (found != expected) return found;
        const unsigned int assumed = old;
        old = atomicCAS(word, assumed, (assumed & ~mask) | (unsigned int)desired << shift);
        if (old == assumed) return expected;
    }
}

template <class T>
__device__ __forceinline__ typename Bits<sizeof(T)>::type bits_of(const T& v) {
    typename Bits<sizeof(T)>::type bits;
    copy_bytes<sizeof(T)>(&bits, &v);
    return bits;
}
template <class T>
__device__ __forceinline__ T from_bits(typename Bits<sizeof(T)>::type bits) {
    T v;
    copy_bytes<sizeof(T)>((void*)&v, &bits);
    return v;
}

template <class T>
__device__ __forceinline__ typename Checked<T>::type atomic_read(const T* p) {
    typedef typename Bits<sizeof(T)>::type Word;
    return from_bits<T>(*(const volatile Word*)p);
}
// Puts `desired` where `expected` is, and gives what was there, also by its bits: true if that was it.
template <class T>
__device__ __forceinline__ bool atomic_replace(T* p, T* expected, T desired) {
    typedef typename Bits<sizeof(T)>::type Word;
    const Word before = bits_of(*expected), found = cas_bits((Word*)p, before, bits_of(desired));
    *expected = from_bits<T>(found);
    return found == before;
}
template <class T>
__device__ __forceinline__ T atomic_exchange(Choice<4>, T* p, T v) {
    return from_bits<T>(atomicExch((unsigned int*)p, bits_of(v)));
}
template <class T>
__device__ __forceinline__ T atomic_exchange(Choice<8>, T* p, T v) {
    return from_bits<T>(atomicExch((unsigned long long*)p, bits_of(v)));
}
template <class T, int bytes>
__device__ __forceinline__ T atomic_exchange(Choice<bytes>, T* p, T v) {
    T old = atomic_read(p);
    while (!atomic_replace(p, &old, v)) {
    }
    return old;
}
#else
template <class T>
__device__ __forceinline__ typename Checked<T>::type atomic_read(const T* p) {
    T v;
    __atomic_load(p, &v, __ATOMIC_RELAXED);
    return v;
}
template <class T>
__device__ __forceinline__ bool atomic_replace(T* p, T* expected, T desired) {
    return __atomic_compare_exchange(p, expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
template <class T, int bytes>
__device__ __forceinline__ T atomic_exchange(Choice<bytes>, T* p, T v) {
    T old;
    __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED);
    return old;
}
#endif

}  // namespace cunumpy_detail

// Replaces *p by f(*p), for a function f(T) -> T without side effects; it may be called several times.
template <class T, class Update>
__device__ __forceinline__ T cunumpy_atomic_update(T* p, Update f) {
    T old = cunumpy_detail::atomic_read(p);
    while (!cunumpy_detail::atomic_replace(p, &old, (T)f(old))) {
    }
    return old;
}

// *p = v.
template <class T>
__device__ __forceinline__ typename cunumpy_detail::Checked<T>::type cunumpy_atomic_exchange(
    T* p, typename cunumpy_detail::NotDeduced<T>::type v) {
    return cunumpy_detail::atomic_exchange(cunumpy_detail::Choice<(int)sizeof(T)>(), p, v);
}

// If *p is `expected`, *p = desired; the result tells. Compares bits: -0.0 is not 0.0, and a NaN can be itself.
template <class T>
__device__ __forceinline__ typename cunumpy_detail::Checked<T>::type cunumpy_atomic_cas(
    T* p, typename cunumpy_detail::NotDeduced<T>::type expected, typename cunumpy_detail::NotDeduced<T>::type desired) {
    T found = expected;
    cunumpy_detail::atomic_replace(p, &found, (T)desired);
    return found;
}

namespace cunumpy_detail {

// ---- Sums -----------------------------------------------------------------------------------------------------------

template <class T>
struct Plus {
    T v;
    __device__ __forceinline__ T operator()(T old) const { return (T)(old + v); }
};

// Choices for adding: 0 a loop, 1 two parts, 4 and 8 an integer of so many bytes, 5 float, 9 double.
template <class T>
__device__ char complex_test(decltype(((const T*)nullptr)->real() + ((const T*)nullptr)->imag())*);
template <class T>
__device__ long complex_test(...);
template <class T>
struct AddChoice {
    static constexpr int value = IsInteger<T>::value          ? (sizeof(T) >= 4 ? (int)sizeof(T) : 0)
                                 : sizeof(complex_test<T>(nullptr)) == 1 ? 1
                                                              : 0;
};
template <>
struct AddChoice<float> {
    static constexpr int value = 5;
};
template <>
struct AddChoice<double> {
    static constexpr int value = 9;
};

template <class T>
__device__ __forceinline__ T atomic_add(Choice<0>, T* p, T v) {
    return cunumpy_atomic_update(p, Plus<T>{v});
}
#if defined(__CUDACC__) || defined(CUNUMPY_HIP)
template <class T>
__device__ __forceinline__ T atomic_add(Choice<4>, T* p, T v) {
    return (T)atomicAdd((unsigned int*)p, (unsigned int)v);
}
template <class T>
__device__ __forceinline__ T atomic_add(Choice<8>, T* p, T v) {
    return (T)atomicAdd((unsigned long long*)p, (unsigned long long)v);
}
__device__ __forceinline__ float atomic_add(Choice<5>, float* p, float v) { return atomicAdd(p, v); }
__device__ __forceinline__ double atomic_add(Choice<9>, double* p, double v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
    return atomic_add(Choice<0>(), p, v);
#else
    return atomicAdd(p, v);
#endif
}
#else
template <class T>
__device__ __forceinline__ T atomic_add(Choice<4>, T* p, T v) {
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
template <class T>
__device__ __forceinline__ T atomic_add(Choice<8>, T* p, T v) {
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
__device__ __forceinline__ float atomic_add(Choice<5>, float* p, float v) { return atomic_add(Choice<0>(), p, v); }
__device__ __forceinline__ double atomic_add(Choice<9>, double* p, double v) { return atomic_add(Choice<0>(), p, v); }
#endif
template <class T>
__device__ __forceinline__ T atomic_add(Choice<1>, T* p, T v) {
    auto real = v.real();
    auto imag = v.imag();
    static_assert(sizeof(T) == 2 * sizeof(real), "a complex number is its real part and its imaginary part");
    decltype(real)* parts = (decltype(real)*)p;
    real = atomic_add(Choice<AddChoice<decltype(real)>::value>(), parts, real);
    imag = atomic_add(Choice<AddChoice<decltype(imag)>::value>(), parts + 1, imag);
    return T(real, imag);
}

}  // namespace cunumpy_detail

// *p += v.
template <class T>
__device__ __forceinline__ T cunumpy_atomic_add(T* p, typename cunumpy_detail::NotDeduced<T>::type v) {
    return cunumpy_detail::atomic_add(cunumpy_detail::Choice<cunumpy_detail::AddChoice<T>::value>(), p, (T)v);
}

#if defined(__CUDACC__) && !defined(CUNUMPY_HIP)
// The complex numbers of cuComplex.h are these.
__device__ __forceinline__ float2 cunumpy_atomic_add(float2* p, float2 v) {
    return make_float2(atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y));
}
__device__ __forceinline__ double2 cunumpy_atomic_add(double2* p, double2 v) {
    return make_double2(cunumpy_atomic_add(&p->x, v.x), cunumpy_atomic_add(&p->y, v.y));
}
#endif

// Adds to element [i, j] of a C-contiguous array with n1 columns.
template <class T>
__device__ __forceinline__ T cunumpy_atomic_add_2d(T* data, long long n1, long long i, long long j,
                                                   typename cunumpy_detail::NotDeduced<T>::type v) {
    return cunumpy_atomic_add(data + (i * n1 + j), v);
}

// Adds to element [i, j, k] of a C-contiguous array with trailing extents n1 and n2.
template <class T>
__device__ __forceinline__ T cunumpy_atomic_add_3d(T* data, long long n1, long long n2, long long i, long long j,
                                                   long long k, typename cunumpy_detail::NotDeduced<T>::type v) {
    return cunumpy_atomic_add(data + ((i * n1 + j) * n2 + k), v);
}

// Adds to the element a(i, ...) of an array view, with the bounds check that this has; the value comes first.
template <class View, class... Is>
__device__ __forceinline__ typename View::value_type cunumpy_atomic_add_at(const View& a, typename View::value_type v,
                                                                           Is... i) {
    return cunumpy_atomic_add(&a(i...), v);
}

namespace cunumpy_detail {

// ---- Minima and maxima ----------------------------------------------------------------------------------------------

// Whether v takes the place of `old`: a NaN does, and keeps it.
template <bool maximum, class T>
__device__ __forceinline__ bool takes_place(T v, T old) {
    return (maximum ? old < v : v < old) || (v != v && old == old);
}
template <bool maximum, class T>
__device__ __forceinline__ T atomic_extremum(Choice<0>, T* p, T v) {
    T old = atomic_read(p);
    while (takes_place<maximum>(v, old) && !atomic_replace(p, &old, v)) {
    }
    return old;
}

// 4 and 8: an integer of so many bytes; 5 and 9: a signed one.
template <class T, bool integer = IsInteger<T>::value>
struct ExtremumChoice {
    static constexpr int value = 0;
};
#if defined(__CUDACC__) || defined(CUNUMPY_HIP)
template <class T>
struct ExtremumChoice<T, true> {
    static constexpr int value = sizeof(T) < 4 ? 0 : (int)sizeof(T) + ((T)-1 < (T)0);
};
template <bool maximum, class T>
__device__ __forceinline__ T atomic_extremum(Choice<4>, T* p, T v) {
    unsigned int* q = (unsigned int*)p;
    return (T)(maximum ? atomicMax(q, (unsigned int)v) : atomicMin(q, (unsigned int)v));
}
template <bool maximum, class T>
__device__ __forceinline__ T atomic_extremum(Choice<5>, T* p, T v) {
    return (T)(maximum ? atomicMax((int*)p, (int)v) : atomicMin((int*)p, (int)v));
}
template <bool maximum, class T>
__device__ __forceinline__ T atomic_extremum(Choice<8>, T* p, T v) {
    unsigned long long* q = (unsigned long long*)p;
    return (T)(maximum ? atomicMax(q, (unsigned long long)v) : atomicMin(q, (unsigned long long)v));
}
template <bool maximum, class T>
__device__ __forceinline__ T atomic_extremum(Choice<9>, T* p, T v) {
    long long* q = (long long*)p;
    return (T)(maximum ? atomicMax(q, (long long)v) : atomicMin(q, (long long)v));
}
#endif

}  // namespace cunumpy_detail

// *p = min(*p, v), and NaN if either is.
template <class T>
__device__ __forceinline__ T cunumpy_atomic_min(T* p, typename cunumpy_detail::NotDeduced<T>::type v) {
    return cunumpy_detail::atomic_extremum<false>(cunumpy_detail::Choice<cunumpy_detail::ExtremumChoice<T>::value>(), p,
                                                  (T)v);
}

// *p = max(*p, v), and NaN if either is.
template <class T>
__device__ __forceinline__ T cunumpy_atomic_max(T* p, typename cunumpy_detail::NotDeduced<T>::type v) {
    return cunumpy_detail::atomic_extremum<true>(cunumpy_detail::Choice<cunumpy_detail::ExtremumChoice<T>::value>(), p,
                                                 (T)v);
}

#endif
