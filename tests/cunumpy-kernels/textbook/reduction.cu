// The sum of an array, step by step to the form that is used today (after the reductions of CUDA's samples).
// All but the last two write one sum for each block.

extern "C" __global__ void interleaved(const double* x, double* sums, int n) {
    __shared__ double part[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0.0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (t % (2 * step) == 0) part[t] += part[t + step];  // neighbours in a warp do different things
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void without_divergence(const double* x, double* sums, int n) {
    __shared__ double part[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0.0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        const int place = 2 * step * t;  // the first threads work, but on the same banks of shared memory
        if (place < blockDim.x) part[place] += part[place + step];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void sequential(const double* x, double* sums, int n) {
    extern __shared__ double memory[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    memory[t] = i < n ? x[i] : 0.0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) memory[t] += memory[t + half];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = memory[0];
}

extern "C" __global__ void two_loads(const double* x, double* sums, int n) {
    __shared__ double part[256];
    const int t = threadIdx.x, i = blockIdx.x * 2 * blockDim.x + t;
    part[t] = (i < n ? x[i] : 0.0) + (i + blockDim.x < n ? x[i + blockDim.x] : 0.0);
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// The last steps are those of one warp, which needs no barrier of the block.
extern "C" __global__ void last_warp(const double* x, double* sums, int n) {
    __shared__ double part[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0.0;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= 32; half >>= 1) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t >= 32) return;
    double sum = part[t];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (t == 0) sums[blockIdx.x] = sum;
}

__device__ double sum_of_warp(double value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__device__ double sum_of_block(double value) {
    __shared__ double warps[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = sum_of_warp(value);
    if (lane == 0) warps[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? warps[lane] : 0.0;
    return warp == 0 ? sum_of_warp(value) : 0.0;
}

// Any number of blocks, one atomic addition each.
extern "C" __global__ void grid_stride(const double* x, double* total, int n) {
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) atomicAdd(total, sum);
}

// One launch, and always the same order of summation: the block that is done last adds up what the others wrote.
__device__ unsigned int blocks_done = 0;

extern "C" __global__ void single_pass(const double* x, volatile double* sums, double* total, int n) {
    __shared__ bool is_last;
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    sum = 0.0;
    for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) sum += sums[block];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) *total = sum;
}
