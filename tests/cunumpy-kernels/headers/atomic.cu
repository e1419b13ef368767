// Everything of <cunumpy/atomic.cuh>: each of n threads changes the same elements.
#include <cunumpy/atomic.cuh>
#include <cunumpy/array_view.cuh>

struct Xor {
    unsigned short v;
    __device__ unsigned short operator()(unsigned short old) const { return old ^ v; }
};

extern "C" __global__ void sums(const double* x, int n, double* sum, short* narrow, double* plane, double* space,
                                Array2D<float> view, float2* pair, double2* wide) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cunumpy_atomic_add(sum, x[i]);
    cunumpy_atomic_add(narrow + 1, x[i]);
    cunumpy_atomic_add_2d(plane, 3, i % 2, i % 3, x[i]);
    cunumpy_atomic_add_3d(space, 2, 3, i % 5, i % 2, i % 3, x[i]);
    cunumpy_atomic_add_at(view, (float)x[i], i % 2, i % 3);
    cunumpy_atomic_add(pair, make_float2(x[i], 1));
    cunumpy_atomic_add(wide, make_double2(1, x[i]));
}

extern "C" __global__ void others(const double* x, int n, double* extrema, short* narrow, unsigned short* bits,
                                  float* last, float* handed, unsigned char* count, unsigned char* seen) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cunumpy_atomic_min(extrema, x[i]);
    cunumpy_atomic_max(extrema + 1, x[i]);
    cunumpy_atomic_min(narrow, (short)x[i]);
    cunumpy_atomic_max(narrow + 1, (short)x[i]);
    cunumpy_atomic_update(bits, Xor{(unsigned short)(i * 257)});
    handed[i] = cunumpy_atomic_exchange(last, (float)i);
    unsigned char old = 0, found;  // counts, modulo 256
    while ((found = cunumpy_atomic_cas(count, old, (unsigned char)(old + 1))) != old) old = found;
    seen[i] = old;
}
