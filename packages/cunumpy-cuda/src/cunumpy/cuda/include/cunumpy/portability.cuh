// The warp, as CUDA and HIP have it: its size, its masks of lanes, and values that move between lanes.
//
// Three back ends: CUDA (nvcc, NVRTC), HIP on AMD hardware, and a CPU device that runs the threads of a block itself.
// The latter defines CUNUMPY_CPU_DEVICE and has, before it includes the first of these headers, declared what CUDA
// declares:
//     threadIdx, blockIdx, blockDim, gridDim        and defined the qualifiers __device__, __shared__, ...
//     unsigned int __shfl_sync(unsigned int mask, unsigned int value, int lane)
//     unsigned int __ballot_sync(unsigned int mask, int predicate)
//     void __syncthreads(), int __syncthreads_count(int), int __syncthreads_and(int), int __syncthreads_or(int)
//     void __threadfence()
// Elsewhere (plain C++) there are no warps, and CUNUMPY_HAS_WARP is not defined; the rest of the header is.
//
// Warp-wide: every lane that is named in the mask calls the function with the same mask.
//
// Needs no other header. C++11.
#ifndef CUNUMPY_PORTABILITY_CUH
#define CUNUMPY_PORTABILITY_CUH

#if defined(__HIP__) || defined(__HIP_PLATFORM_AMD__)
#define CUNUMPY_HIP
#endif

#if defined(CUNUMPY_HIP) || defined(__CUDACC__) || defined(CUNUMPY_CPU_DEVICE)
#define CUNUMPY_HAS_WARP
#endif

// The lanes of a warp: 32, or 64 on AMD's GCN and CDNA. A mask has bit l set for lane l.
#if defined(CUNUMPY_HIP)
typedef unsigned long long cunumpy_lane_mask;
#if defined(__GFX8__) || defined(__GFX9__) || !defined(__HIP_DEVICE_COMPILE__)
#define CUNUMPY_WARP_SIZE 64
#define CUNUMPY_FULL_WARP_MASK 0xffffffffffffffffull
#else
#define CUNUMPY_WARP_SIZE 32
#define CUNUMPY_FULL_WARP_MASK 0xffffffffull
#endif
#else
typedef unsigned int cunumpy_lane_mask;
#define CUNUMPY_WARP_SIZE 32
#define CUNUMPY_FULL_WARP_MASK 0xffffffffu
#endif

namespace cunumpy_detail {

// Makes a parameter's type depend on T without taking part in its deduction, so that the argument converts.
template <class T>
struct NotDeduced {
    typedef T type;
};

template <class T>
struct IsInteger {
    static constexpr bool value = false;
};
#define CUNUMPY_INTEGER(T)                   \
    template <>                              \
    struct IsInteger<T> {                    \
        static constexpr bool value = true;  \
    };
CUNUMPY_INTEGER(char)
CUNUMPY_INTEGER(signed char)
CUNUMPY_INTEGER(unsigned char)
CUNUMPY_INTEGER(short)
CUNUMPY_INTEGER(unsigned short)
CUNUMPY_INTEGER(int)
CUNUMPY_INTEGER(unsigned int)
CUNUMPY_INTEGER(long)
CUNUMPY_INTEGER(unsigned long)
CUNUMPY_INTEGER(long long)
CUNUMPY_INTEGER(unsigned long long)
#undef CUNUMPY_INTEGER

// memcpy, of a size that is known when compiling: no call remains.
template <int bytes>
__device__ __forceinline__ void copy_bytes(void* to, const void* from) {
#if defined(__CUDACC__) && !defined(CUNUMPY_HIP)
    memcpy(to, from, bytes);
#else
    __builtin_memcpy(to, from, bytes);
#endif
}

}  // namespace cunumpy_detail

// How many lanes a mask names.
__device__ __forceinline__ int cunumpy_lane_count(cunumpy_lane_mask mask) {
#if defined(__CUDACC__) && !defined(CUNUMPY_HIP)
    return __popc(mask);
#else
    return __builtin_popcountll(mask);
#endif
}

// The lowest lane that a mask, which is not 0, names.
__device__ __forceinline__ int cunumpy_first_lane(cunumpy_lane_mask mask) {
#if defined(__CUDACC__) && !defined(CUNUMPY_HIP)
    return __ffs((int)mask) - 1;
#else
    return __builtin_ctzll(mask);
#endif
}

// The highest lane that a mask, which is not 0, names.
__device__ __forceinline__ int cunumpy_last_lane(cunumpy_lane_mask mask) {
#if defined(__CUDACC__) && !defined(CUNUMPY_HIP)
    return 31 - __clz((int)mask);
#else
    return 63 - __builtin_clzll(mask);
#endif
}

#ifdef CUNUMPY_HAS_WARP

// The value that lane `lane`, which the mask names, passes as `v`. Warp-wide; T is any type that memcpy may copy, and
// each four bytes of it cost a shuffle.
template <class T>
__device__ __forceinline__ T cunumpy_shuffle(cunumpy_lane_mask mask, T v, int lane) {
    unsigned int words[(sizeof(T) + 3) / 4];
    words[sizeof(words) / 4 - 1] = 0;
    cunumpy_detail::copy_bytes<sizeof(T)>(words, &v);
    for (unsigned int i = 0; i < sizeof(words) / 4; ++i) {
#if defined(CUNUMPY_HIP)
        words[i] = (unsigned int)__shfl((int)words[i], lane);
#else
        words[i] = __shfl_sync(mask, words[i], lane);
#endif
    }
    cunumpy_detail::copy_bytes<sizeof(T)>((void*)&v, words);
#if defined(CUNUMPY_HIP)
    (void)mask;
#endif
    return v;
}

// The lanes of the mask whose predicate is true. Warp-wide.
__device__ __forceinline__ cunumpy_lane_mask cunumpy_ballot(cunumpy_lane_mask mask, bool predicate) {
#if defined(CUNUMPY_HIP)
    return __ballot(predicate) & mask;
#else
    return __ballot_sync(mask, predicate);
#endif
}

#endif

#endif
