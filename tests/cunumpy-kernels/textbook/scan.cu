// Prefix sums: of a block in three ways, and of an array in three launches.

// Hillis and Steele (1986): log n steps, n log n additions. Inclusive.
extern "C" __global__ void hillis_steele(const int* x, int* sums, int n) {
    __shared__ int memory[2][256];
    const int t = threadIdx.x;
    int now = 0;
    memory[now][t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        memory[1 - now][t] = memory[now][t] + (t >= step ? memory[now][t - step] : 0);
        now = 1 - now;
        __syncthreads();
    }
    if (t < n) sums[t] = memory[now][t];
}

// Blelloch (1990): up and down a tree, two elements a thread, n additions. Exclusive.
extern "C" __global__ void blelloch(const int* x, int* sums, int n) {
    extern __shared__ int tree[];
    const int t = threadIdx.x, size = 2 * blockDim.x;
    tree[2 * t] = 2 * t < n ? x[2 * t] : 0;
    tree[2 * t + 1] = 2 * t + 1 < n ? x[2 * t + 1] : 0;
    int offset = 1;
    for (int d = size / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) tree[size - 1] = 0;
    for (int d = 1; d < size; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            const int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1, value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    if (2 * t < n) sums[2 * t] = tree[2 * t];
    if (2 * t + 1 < n) sums[2 * t + 1] = tree[2 * t + 1];
}

template <class T>
__device__ T scan_of_warp(T value) {
    const int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const T below = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) value += below;
    }
    return value;
}

template <class T>
__device__ T scan_of_block(T value) {
    __shared__ T warps[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = scan_of_warp(value);
    if (lane == 31) warps[warp] = value;
    __syncthreads();
    if (warp == 0) warps[lane] = scan_of_warp(lane < blockDim.x / 32 ? warps[lane] : T(0));
    __syncthreads();
    return warp > 0 ? value + warps[warp - 1] : value;
}

// Of each block, with its total.
template <class T>
__global__ void scan_blocks(const T* x, T* sums, T* totals, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const T value = scan_of_block(i < n ? x[i] : T(0));
    if (i < n) sums[i] = value;
    if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = value;
}

// To each block what stands before it; `totals` have been scanned.
template <class T>
__global__ void add_offsets(T* sums, const T* totals, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n) sums[i] += totals[blockIdx.x - 1];
}
