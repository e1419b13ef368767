// What every native library of CuNumpy tells about itself.

#include "export.hpp"
#include "isa.hpp"

#ifdef CUNUMPY_X86
#include <cpuid.h>

// Asked of the processor itself, and of the system, which has to save the registers when it switches threads.
// `__builtin_cpu_supports` says no to everything where Zig's run-time library, with which wheels are built, serves it.
static int best_isa() {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    unsigned saved, high;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    const unsigned avx2 = bit_AVX2 | bit_BMI | bit_BMI2;
    if ((b & avx2) != avx2) return 0;
    const unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
#ifdef __APPLE__
    return (b & avx512) == avx512 ? 2 : 1;  // macOS saves the wide registers from their first use on
#else
    return (b & avx512) == avx512 && (saved & 0xe0) == 0xe0 ? 2 : 1;
#endif
}
#else
static int best_isa() { return 0; }
#endif

int cunumpy_isa = best_isa();

extern "C" {

// The headers that the library was built from, and their hash, as "random.cuh:0123456789abcdef".
CUNUMPY_EXPORT const char *cunumpy_headers() { return CUNUMPY_HEADERS; }

CUNUMPY_EXPORT int cunumpy_instruction_set() { return cunumpy_isa; }

// For tests: use a lower instruction set than the best one; returns the one that is used.
CUNUMPY_EXPORT int cunumpy_use_instruction_set(int isa) {
    const int best = best_isa();
    cunumpy_isa = isa < 0 || isa > best ? best : isa;
    return cunumpy_isa;
}
}
