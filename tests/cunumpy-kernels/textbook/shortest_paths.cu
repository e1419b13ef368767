// Floyd and Warshall in blocks (Katz and Kider, 2008): first the block on the diagonal, then those in its row and column,
// then all others. `n` is a multiple of the block's side.

#define SIDE 16

__device__ void relax(int (&to)[SIDE][SIDE], int (&left)[SIDE][SIDE], int (&right)[SIDE][SIDE], int k) {
    const int way = left[threadIdx.y][k] + right[k][threadIdx.x];
    if (way < to[threadIdx.y][threadIdx.x]) to[threadIdx.y][threadIdx.x] = way;
}

extern "C" __global__ void diagonal(int* distance, int n, int stage) {
    __shared__ int own[SIDE][SIDE];
    const int at = (stage * SIDE + threadIdx.y) * n + stage * SIDE + threadIdx.x;
    own[threadIdx.y][threadIdx.x] = distance[at];
    __syncthreads();
    for (int k = 0; k < SIDE; ++k) {
        const int way = own[threadIdx.y][k] + own[k][threadIdx.x];
        __syncthreads();
        if (way < own[threadIdx.y][threadIdx.x]) own[threadIdx.y][threadIdx.x] = way;
        __syncthreads();
    }
    distance[at] = own[threadIdx.y][threadIdx.x];
}

extern "C" __global__ void cross(int* distance, int n, int stage) {
    if (blockIdx.x == stage) return;
    __shared__ int own[SIDE][SIDE], middle[SIDE][SIDE];
    const bool is_row = blockIdx.y == 0;
    const int row = is_row ? stage : blockIdx.x, column = is_row ? blockIdx.x : stage;
    const int at = (row * SIDE + threadIdx.y) * n + column * SIDE + threadIdx.x;
    own[threadIdx.y][threadIdx.x] = distance[at];
    middle[threadIdx.y][threadIdx.x] = distance[(stage * SIDE + threadIdx.y) * n + stage * SIDE + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < SIDE; ++k) {
        const int way = is_row ? middle[threadIdx.y][k] + own[k][threadIdx.x]
                               : own[threadIdx.y][k] + middle[k][threadIdx.x];
        __syncthreads();
        if (way < own[threadIdx.y][threadIdx.x]) own[threadIdx.y][threadIdx.x] = way;
        __syncthreads();
    }
    distance[at] = own[threadIdx.y][threadIdx.x];
}

extern "C" __global__ void others(int* distance, int n, int stage) {
    if (blockIdx.x == stage || blockIdx.y == stage) return;
    __shared__ int own[SIDE][SIDE], left[SIDE][SIDE], right[SIDE][SIDE];
    const int i = blockIdx.y * SIDE + threadIdx.y, j = blockIdx.x * SIDE + threadIdx.x;
    own[threadIdx.y][threadIdx.x] = distance[i * n + j];
    left[threadIdx.y][threadIdx.x] = distance[i * n + stage * SIDE + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = distance[(stage * SIDE + threadIdx.y) * n + j];
    __syncthreads();
    for (int k = 0; k < SIDE; ++k) relax(own, left, right, k);
    distance[i * n + j] = own[threadIdx.y][threadIdx.x];
}
