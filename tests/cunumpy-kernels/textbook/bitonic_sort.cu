// Batcher's bitonic sort (1968), of a power of two of keys.

// Up to 1024 keys of a block, one a thread, in shared memory.
extern "C" __global__ void sort_block(unsigned int* keys) {
    __shared__ unsigned int own[1024];
    const int t = threadIdx.x;
    own[t] = keys[blockIdx.x * blockDim.x + t];
    for (int size = 2; size <= blockDim.x; size *= 2)
        for (int distance = size / 2; distance > 0; distance /= 2) {
            __syncthreads();
            const int other = t ^ distance;
            if (other > t) {
                const bool upwards = (t & size) == 0;
                const unsigned int a = own[t], b = own[other];
                if ((a > b) == upwards) {
                    own[t] = b;
                    own[other] = a;
                }
            }
        }
    __syncthreads();
    keys[blockIdx.x * blockDim.x + t] = own[t];
}

// One step for an array of any number of blocks.
extern "C" __global__ void sort_step(unsigned int* keys, int size, int distance) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other <= i) return;
    const unsigned int a = keys[i], b = keys[other];
    if ((a > b) == ((i & size) == 0)) {
        keys[i] = b;
        keys[other] = a;
    }
}
