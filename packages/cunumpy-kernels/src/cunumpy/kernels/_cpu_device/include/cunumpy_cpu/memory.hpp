// Loads and stores with cache hints, which the CPU has no use for, and the functions on memory that NVRTC has built in.
#pragma once

#include "vector_types.hpp"

#define CUNUMPY_CPU_HINTED(T)                                       \
    inline T __ldg(const T* at) { return *at; }                     \
    inline T __ldca(const T* at) { return *at; }                    \
    inline T __ldcg(const T* at) { return *at; }                    \
    inline T __ldcs(const T* at) { return *at; }                    \
    inline T __ldlu(const T* at) { return *at; }                    \
    inline T __ldcv(const T* at) { return *(const volatile T*)at; } \
    inline void __stwb(T* at, T v) { *at = v; }                     \
    inline void __stcg(T* at, T v) { *at = v; }                     \
    inline void __stcs(T* at, T v) { *at = v; }                     \
    inline void __stwt(T* at, T v) { *(volatile T*)at = v; }
CUNUMPY_CPU_HINTED(char)
CUNUMPY_CPU_HINTED(signed char)
CUNUMPY_CPU_HINTED(unsigned char)
CUNUMPY_CPU_HINTED(short)
CUNUMPY_CPU_HINTED(unsigned short)
CUNUMPY_CPU_HINTED(int)
CUNUMPY_CPU_HINTED(unsigned int)
CUNUMPY_CPU_HINTED(long)
CUNUMPY_CPU_HINTED(unsigned long)
CUNUMPY_CPU_HINTED(long long)
CUNUMPY_CPU_HINTED(unsigned long long)
CUNUMPY_CPU_HINTED(float)
CUNUMPY_CPU_HINTED(double)
#undef CUNUMPY_CPU_HINTED
#define CUNUMPY_CPU_HINTED(T)                    \
    inline T __ldg(const T* at) { return *at; }  \
    inline T __ldca(const T* at) { return *at; } \
    inline T __ldcg(const T* at) { return *at; } \
    inline T __ldcs(const T* at) { return *at; } \
    inline T __ldlu(const T* at) { return *at; } \
    inline T __ldcv(const T* at) {               \
        asm volatile("" ::: "memory");           \
        return *at;                              \
    }                                            \
    inline void __stwb(T* at, T v) { *at = v; }  \
    inline void __stcg(T* at, T v) { *at = v; }  \
    inline void __stcs(T* at, T v) { *at = v; }  \
    inline void __stwt(T* at, T v) {             \
        *at = v;                                 \
        asm volatile("" ::: "memory");           \
    }
CUNUMPY_CPU_HINTED(char2)
CUNUMPY_CPU_HINTED(char4)
CUNUMPY_CPU_HINTED(uchar2)
CUNUMPY_CPU_HINTED(uchar4)
CUNUMPY_CPU_HINTED(short2)
CUNUMPY_CPU_HINTED(short4)
CUNUMPY_CPU_HINTED(ushort2)
CUNUMPY_CPU_HINTED(ushort4)
CUNUMPY_CPU_HINTED(int2)
CUNUMPY_CPU_HINTED(int4)
CUNUMPY_CPU_HINTED(uint2)
CUNUMPY_CPU_HINTED(uint4)
CUNUMPY_CPU_HINTED(longlong2)
CUNUMPY_CPU_HINTED(ulonglong2)
CUNUMPY_CPU_HINTED(float2)
CUNUMPY_CPU_HINTED(float4)
CUNUMPY_CPU_HINTED(double2)
#undef CUNUMPY_CPU_HINTED

// In checked builds native/checks looks at the memory; the compiler would not show it.
#ifdef CUNUMPY_CPU_CHECK
extern "C" __attribute__((weak, visibility("hidden"))) void cunumpy_check_range(void* to, const void* from, size_t size);
#define CUNUMPY_CPU_CHECK_RANGE(to, from, size) \
    if (cunumpy_check_range != nullptr) cunumpy_check_range(to, from, size)
#define CUNUMPY_CPU_RANGE_INLINE inline __attribute__((always_inline))
#else
#define CUNUMPY_CPU_CHECK_RANGE(to, from, size) (void)0
#define CUNUMPY_CPU_RANGE_INLINE inline
#endif

namespace cunumpy_cpu_builtins {
template <class = void>
CUNUMPY_CPU_RANGE_INLINE void* memcpy(void* to, const void* from, size_t size) {
    CUNUMPY_CPU_CHECK_RANGE(to, from, size);
    return __builtin_memcpy(to, from, size);
}
template <class = void>
CUNUMPY_CPU_RANGE_INLINE void* memset(void* to, int byte, size_t size) {
    CUNUMPY_CPU_CHECK_RANGE(to, nullptr, size);
    return __builtin_memset(to, byte, size);
}
template <class = void>
inline void* malloc(size_t size) {
    return __builtin_malloc(size);
}
template <class = void>
inline void free(void* memory) {
    __builtin_free(memory);
}
}  // namespace cunumpy_cpu_builtins
#undef CUNUMPY_CPU_CHECK_RANGE
#undef CUNUMPY_CPU_RANGE_INLINE
