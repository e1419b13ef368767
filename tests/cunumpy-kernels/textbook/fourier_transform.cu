// Cooley and Tukey (1965): transforms of 2 * blockDim.x complex numbers, a power of two, one a block.

extern "C" __global__ void transform(const float2* x, float2* y) {
    extern __shared__ float2 own[];
    const int size = 2 * blockDim.x, bits = __ffs(size) - 1;
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        own[__brev((unsigned int)i) >> (32 - bits)] = x[blockIdx.x * size + i];
    for (int half = 1; half < size; half *= 2) {
        __syncthreads();
        const int k = threadIdx.x & (half - 1), top = 2 * (threadIdx.x - k) + k;
        float sine, cosine;
        sincospif(-(float)k / half, &sine, &cosine);
        const float2 a = own[top], b = own[top + half];
        const float2 turned = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
        own[top] = make_float2(a.x + turned.x, a.y + turned.y);
        own[top + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x) y[blockIdx.x * size + i] = own[i];
}
