// Keys of one block, sorted bit by bit: zeros before ones, each in its order (Satish, Harris, Garland, 2009).

extern "C" __global__ void sort_by_bits(unsigned int* keys, int n) {
    __shared__ unsigned int own[256];
    __shared__ int before[256];
    const int t = threadIdx.x;
    own[t] = t < n ? keys[t] : 0xffffffffu;
    for (int bit = 0; bit < 32; ++bit) {
        __syncthreads();
        const unsigned int key = own[t];
        const int is_zero = (key >> bit & 1) == 0;
        before[t] = is_zero;
        __syncthreads();
        for (int step = 1; step < 256; step *= 2) {
            const int sum = before[t] + (t >= step ? before[t - step] : 0);
            __syncthreads();
            before[t] = sum;
            __syncthreads();
        }
        const int zeros = before[255];
        own[is_zero ? before[t] - 1 : zeros + t - before[t]] = key;
    }
    __syncthreads();
    if (t < n) keys[t] = own[t];
}
