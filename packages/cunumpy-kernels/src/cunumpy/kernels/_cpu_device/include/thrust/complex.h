// thrust::complex.
#pragma once

namespace thrust {
#include "cunumpy_cpu/complex.inc"
}
