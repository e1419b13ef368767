// What every native library of CuNumpy tells about itself.

#include "export.hpp"
#include "isa.hpp"

static int best_isa() {
#ifdef CUNUMPY_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return 1;
#endif
    return 0;
}

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
