// What stands before a kernel's text: everything that CUDA has built in, and what runs the kernel.
#pragma once

#include "context.hpp"
//
#include "runtime.hpp"
//
#include "entry.hpp"

// Static shared memory is storage of the worker that runs the block. Arrays `extern __shared__ T name[]` get theirs
// after the kernel's text, where all their names are known.
#define __shared__ thread_local

// CUDA takes alignas where C++ allows no attribute: `extern __shared__ alignas(16) char memory[]`. Sources are changed
// there; this is for headers, and takes no types.
#ifdef CUNUMPY_CPU_ALIGNAS
#define alignas(...) __attribute__((aligned(__VA_ARGS__)))
#endif
