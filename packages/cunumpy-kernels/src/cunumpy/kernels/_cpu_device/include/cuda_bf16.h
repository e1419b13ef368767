// CUDA's bfloat16: the types and functions of the CUDA Math API, "Bfloat16 Precision Intrinsics".
#pragma once

#include "cunumpy_cpu/small_floats.hpp"

#define CUNUMPY_CPU_HALF __nv_bfloat16
#define CUNUMPY_CPU_HALF2 __nv_bfloat162
#define CUNUMPY_CPU_RAW __nv_bfloat16_raw
#define CUNUMPY_CPU_RAW2 __nv_bfloat162_raw
#define CUNUMPY_CPU_NAME(a, b) a##bfloat16##b
#define CUNUMPY_CPU_TWICE __bfloat162bfloat162
#define CUNUMPY_CPU_FORMAT cunumpy_cpu::SmallFloat<8, 7>
#include "cunumpy_cpu/small_float.inc"
#undef CUNUMPY_CPU_HALF
#undef CUNUMPY_CPU_HALF2
#undef CUNUMPY_CPU_RAW
#undef CUNUMPY_CPU_RAW2
#undef CUNUMPY_CPU_NAME
#undef CUNUMPY_CPU_TWICE
#undef CUNUMPY_CPU_FORMAT

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
