"""The kernels that `tests/gpu` launches; where there is no GPU, they are compiled for several."""

from __future__ import annotations

import numpy as np

from cunumpy.arguments import CudaStruct
from cunumpy.kernels import CudaKernel

ONE_FILE = r"""
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void fill2d(long long* out, int n0, int n1) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n0 && j < n1) out[i * n1 + j] = 1000 * i + j;
}

extern "C" __global__ void fill3d(int* out, int n0, int n1, int n2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < n0 && j < n1 && k < n2) out[(i * n1 + j) * n2 + k] = (i * 100 + j) * 100 + k;
}

extern "C" __global__ void count(unsigned int* counter) { atomicAdd(counter, 1u); }
"""

SCALARS = r"""
struct __half { unsigned short bits; };
extern "C" __global__ void scalars(
    bool b, signed char c, unsigned short s, int i, unsigned long long u, float f, double d, __half h, double2 v,
    double* out
) {
    out[0] = b; out[1] = c; out[2] = s; out[3] = i; out[4] = (double)u; out[5] = f; out[6] = d; out[7] = h.bits;
    out[8] = v.x; out[9] = v.y;
}
"""

TEMPLATE = r"""
namespace tests {
template <typename T, int N> __global__ void scale(T* x, T factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor * T(N);
}
}
"""

VIEWS = r"""
#include <cunumpy/array_view.cuh>
extern "C" __global__ void transpose(Array2D<const double> x, CArray2D<double> y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < x.shape[0] && j < x.shape[1]) y(j, i) = x(i, j);
}
extern "C" __global__ void outside(Array1D<double> x) { x(x.shape[0] + threadIdx.x) = 1.0; }
"""

INNER = CudaStruct("Inner", [("scale", "double"), ("shift", "float2")])
MARKERS = CudaStruct(
    "Markers",
    [("n", "int"), ("v", "Array2D<const double>"), ("x", "double*"), ("inner", "Inner"), ("weights", "double[2]")],
    structs=[INNER],
    alignment=32,
)
PUSH = f"""
#include <cunumpy/array_view.cuh>
{INNER.declaration}
{MARKERS.declaration}
extern "C" __global__ void push(Markers m, double dt) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m.n) m.x[i] += dt * (m.inner.scale * m.v(i, 1) + m.inner.shift.y) * m.weights[1];
}}
"""

SHARED = r"""
extern "C" __global__ void reverse(double* x, int n) {
    extern __shared__ double buffer[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = buffer[n - 1 - i];
}
extern "C" __global__ void __launch_bounds__(256) bounded(int* x) { x[threadIdx.x] = blockDim.x; }
extern "C" __global__ void trap(int* x) { if (threadIdx.x == 3) __trap(); x[threadIdx.x] = 1; }
"""


def kernel(source: str, name: str, **options: object) -> CudaKernel:
    return CudaKernel(source, name, **options)  # type: ignore[arg-type]


def scale(dtype: object, n: int) -> CudaKernel:
    return CudaKernel(TEMPLATE, "tests::scale", template_args=[dtype, n])


def all_kernels() -> list[CudaKernel]:
    names = {
        ONE_FILE: ("axpy", "fill2d", "fill3d", "count"),
        SCALARS: ("scalars",),
        VIEWS: ("transpose", "outside"),
        SHARED: ("reverse", "bounded", "trap"),
    }
    found = [CudaKernel(source, name) for source, several in names.items() for name in several]
    templates = [scale(dtype, 3) for dtype in (np.float32, np.float64, np.int64, "unsigned int")]
    return [*found, *templates, CudaKernel(PUSH, "push", structs=[INNER, MARKERS])]
