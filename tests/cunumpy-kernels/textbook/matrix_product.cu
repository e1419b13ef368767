// c = a b, for matrices in row-major order.

template <class T>
__global__ void naive(const T* a, const T* b, T* c, int rows, int inner, int columns) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= columns) return;
    T sum = 0;
    for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
    c[i * columns + j] = sum;
}

// Squares of both matrices go through shared memory: each element is read from global memory once in TILE times.
template <class T, int TILE>
__global__ void tiled(const T* a, const T* b, T* c, int rows, int inner, int columns) {
    __shared__ T left[TILE][TILE], right[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    T sum = 0;
    for (int tile = 0; tile < (inner + TILE - 1) / TILE; ++tile) {
        const int k = tile * TILE;
        left[ty][tx] = i < rows && k + tx < inner ? a[i * inner + k + tx] : T(0);
        right[ty][tx] = k + ty < inner && j < columns ? b[(k + ty) * columns + j] : T(0);
        __syncthreads();
#pragma unroll
        for (int m = 0; m < TILE; ++m) sum += left[ty][m] * right[m][tx];
        __syncthreads();
    }
    if (i < rows && j < columns) c[i * columns + j] = sum;
}
