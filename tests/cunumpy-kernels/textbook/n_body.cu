// Accelerations by gravity of all on all, softened (after Nyland, Harris, Prins, GPU Gems 3, chapter 31): positions of
// a tile of bodies are read once for a block. x, y, z and the mass are a float4.

__device__ float3 attracted(float4 here, float4 other, float softening, float3 sum) {
    const float dx = other.x - here.x, dy = other.y - here.y, dz = other.z - here.z;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    const float strength = other.w * inverse * inverse * inverse;
    return make_float3(sum.x + strength * dx, sum.y + strength * dy, sum.z + strength * dz);
}

extern "C" __global__ void accelerations(const float4* bodies, float3* result, float softening, int n) {
    extern __shared__ float4 tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 here = i < n ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int first = 0; first < n; first += blockDim.x) {
        const int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k) sum = attracted(here, tile[k], softening, sum);
        __syncthreads();
    }
    if (i < n) result[i] = sum;
}
