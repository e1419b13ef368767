// CUDA's qualifiers and the macros by which a source sees that CUDA's compiler reads it: those of NVRTC, since the CPU
// device takes the same sources. Include it after every header of the C++ library: some of them look at these macros.
// __shared__ belongs to the generated code, which knows where a block's memory is.
#pragma once

#define __host__
#define __device__
#ifdef __clang__  // a kernel that is inlined leaves nothing behind, as with gcc's -fwhole-program
#define __global__ __attribute__((internal_linkage))
#else
#define __global__
#endif
#define __managed__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __nv_pure__ __attribute__((pure))

#ifndef __CUDACC__
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define __CUDACC_VER_BUILD__ 86
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_LIST__ 900
#define CUDART_VERSION 12090
#define CUNUMPY_CPU_DEVICE 1
#endif
