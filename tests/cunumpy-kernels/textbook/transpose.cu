// The transpose of a matrix.

extern "C" __global__ void naive(const float* x, float* y, int rows, int columns) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows && j < columns) y[j * rows + i] = x[i * columns + j];
}

// Rows are read and written by neighbouring threads; the padding puts a column into different banks. 32 x 8 threads.
extern "C" __global__ void tiled(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][32 + 1];
    int j = blockIdx.x * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = blockIdx.y * 32 + r;
        if (i < rows && j < columns) tile[r][threadIdx.x] = x[i * columns + j];
    }
    __syncthreads();
    j = blockIdx.y * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = blockIdx.x * 32 + r;
        if (i < columns && j < rows) y[i * rows + j] = tile[threadIdx.x][r];
    }
}

// 32 x 32 values, in the registers of one warp: lane l has column l, and gets row l. Five exchanges, each of blocks
// that are half as large.
extern "C" __global__ void in_registers(const float* x, float* y) {
    const int lane = threadIdx.x;
    float own[32];
    for (int i = 0; i < 32; ++i) own[i] = x[i * 32 + lane];
#pragma unroll
    for (int half = 16; half > 0; half /= 2)
#pragma unroll
        for (int i = 0; i < 32; ++i)
            if ((i & half) == 0) {
                const bool upper = (lane & half) != 0;
                const float given = upper ? own[i] : own[i + half];
                const float taken = __shfl_xor_sync(0xffffffffu, given, half);
                if (upper)
                    own[i] = taken;
                else
                    own[i + half] = taken;
            }
    for (int i = 0; i < 32; ++i) y[i * 32 + lane] = own[i];
}
