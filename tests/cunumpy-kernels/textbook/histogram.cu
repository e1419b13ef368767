// How often each byte occurs.

extern "C" __global__ void global_counts(const unsigned char* text, unsigned int* counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[text[i]], 1u);
}

// Each block counts in its shared memory first.
extern "C" __global__ void private_counts(const unsigned char* text, unsigned int* counts, int n) {
    __shared__ unsigned int own[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[text[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (own[bin] > 0) atomicAdd(&counts[bin], own[bin]);
}
