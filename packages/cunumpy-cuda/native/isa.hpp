// Functions that are compiled once for each instruction set, and the choice among them at run time.
//
// A file NAME.simd.cpp defines `void CUNUMPY_SIMD(f)(...)`; it is compiled with CUNUMPY_ISA = baseline and, for x86-64,
// avx2 and avx512. It includes no header of the C++ library: an inline function of those, compiled for AVX-512, could be
// the copy that the linker keeps for all. Elsewhere: CUNUMPY_DECLARE_SIMD(void, f, (...)) and CUNUMPY_SELECT(f)(...).
#pragma once

#define CUNUMPY_JOIN_(name, isa) name##_##isa
#define CUNUMPY_JOIN(name, isa) CUNUMPY_JOIN_(name, isa)
#define CUNUMPY_SIMD(name) CUNUMPY_JOIN(name, CUNUMPY_ISA)

#ifdef CUNUMPY_X86
#define CUNUMPY_DECLARE_SIMD(type, name, parameters) \
    type name##_baseline parameters;                 \
    type name##_avx2 parameters;                     \
    type name##_avx512 parameters;
#define CUNUMPY_SELECT(name) \
    (cunumpy_isa >= 2 ? name##_avx512 : cunumpy_isa == 1 ? name##_avx2 : name##_baseline)
#else
#define CUNUMPY_DECLARE_SIMD(type, name, parameters) type name##_baseline parameters;
#define CUNUMPY_SELECT(name) name##_baseline
#endif

// 0 baseline, 1 AVX2, 2 AVX-512: the best that this processor has, unless a test has chosen a lower one.
extern int cunumpy_isa;
