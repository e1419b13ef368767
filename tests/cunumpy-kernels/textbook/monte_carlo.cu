// The area of a quarter of a circle, by points at random. A point's numbers are those of its index, whatever thread asks
// for them, so that the count is the same for every shape of the launch.
#include <cunumpy/random.cuh>

extern "C" __global__ void quarter(unsigned long long seed, unsigned long long* inside, int n) {
    unsigned int count = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double x, y;
        cunumpy_uniform2(seed, 0, i, &x, &y);
        count += x * x + y * y < 1.0;
    }
    for (int offset = 16; offset > 0; offset /= 2) count += __shfl_down_sync(0xffffffffu, count, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(inside, (unsigned long long)count);
}
