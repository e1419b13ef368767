// CUDA's half precision: the types and functions of the CUDA Math API, "Half Precision Intrinsics".
#pragma once

#include "cunumpy_cpu/small_floats.hpp"

#define CUNUMPY_CPU_HALF __half
#define CUNUMPY_CPU_HALF2 __half2
#define CUNUMPY_CPU_RAW __half_raw
#define CUNUMPY_CPU_RAW2 __half2_raw
#define CUNUMPY_CPU_NAME(a, b) a##half##b
#define CUNUMPY_CPU_TWICE __half2half2
#define CUNUMPY_CPU_FORMAT cunumpy_cpu::SmallFloat<5, 10>
#include "cunumpy_cpu/small_float.inc"
#undef CUNUMPY_CPU_HALF
#undef CUNUMPY_CPU_HALF2
#undef CUNUMPY_CPU_RAW
#undef CUNUMPY_CPU_RAW2
#undef CUNUMPY_CPU_NAME
#undef CUNUMPY_CPU_TWICE
#undef CUNUMPY_CPU_FORMAT

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half nv_half;
typedef __half2 __nv_half2;
typedef __half2 nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
