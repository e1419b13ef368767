// CUDA's vector types, with the sizes and alignments that the CUDA C++ Programming Guide lists, and dim3.
#pragma once

#define CUNUMPY_CPU_VECTORS(name, type, align2, align4)                                                       \
    struct name##1 {                                                                                          \
        type x;                                                                                               \
    };                                                                                                        \
    struct alignas(align2) name##2 {                                                                          \
        type x, y;                                                                                            \
    };                                                                                                        \
    struct name##3 {                                                                                          \
        type x, y, z;                                                                                         \
    };                                                                                                        \
    struct alignas(align4) name##4 {                                                                          \
        type x, y, z, w;                                                                                      \
    };                                                                                                        \
    inline name##1 make_##name##1(type x) { return {x}; }                                                     \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                          \
    inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                               \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

CUNUMPY_CPU_VECTORS(char, signed char, 2, 4)
CUNUMPY_CPU_VECTORS(uchar, unsigned char, 2, 4)
CUNUMPY_CPU_VECTORS(short, short, 4, 8)
CUNUMPY_CPU_VECTORS(ushort, unsigned short, 4, 8)
CUNUMPY_CPU_VECTORS(int, int, 8, 16)
CUNUMPY_CPU_VECTORS(uint, unsigned int, 8, 16)
CUNUMPY_CPU_VECTORS(long, long, 2 * sizeof(long), 16)
CUNUMPY_CPU_VECTORS(ulong, unsigned long, 2 * sizeof(long), 16)
CUNUMPY_CPU_VECTORS(longlong, long long, 16, 16)
CUNUMPY_CPU_VECTORS(ulonglong, unsigned long long, 16, 16)
CUNUMPY_CPU_VECTORS(float, float, 8, 16)
CUNUMPY_CPU_VECTORS(double, double, 16, 16)
#undef CUNUMPY_CPU_VECTORS

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
