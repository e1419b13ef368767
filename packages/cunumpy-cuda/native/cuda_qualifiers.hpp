// Lets a host compiler read the CUDA headers: the qualifiers mean nothing there.
#pragma once

#include <math.h>

#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
