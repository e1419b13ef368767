// The charge of particles on a periodic grid, in clouds as wide as a cell (Birdsall and Langdon, chapter 2): each goes to
// the two grid points that it lies between.

__device__ void place(double x, double dx, int cells, int& left, int& right, double& share) {
    const double at = x / dx, floor_of = floor(at);
    left = (int)floor_of % cells;
    right = (left + 1) % cells;
    share = at - floor_of;
}

extern "C" __global__ void by_atomics(const double* x, const double* charge, double* density, double dx, int cells,
                                      int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int left, right;
    double share;
    place(x[i], dx, cells, left, right, share);
    atomicAdd(&density[left], charge[i] * (1.0 - share));
    atomicAdd(&density[right], charge[i] * share);
}

// Each block has a grid of its own in shared memory.
extern "C" __global__ void by_blocks(const double* x, const double* charge, double* density, double dx, int cells,
                                     int n) {
    extern __shared__ double own[];
    for (int cell = threadIdx.x; cell < cells; cell += blockDim.x) own[cell] = 0.0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int left, right;
        double share;
        place(x[i], dx, cells, left, right, share);
        atomicAdd_block(&own[left], charge[i] * (1.0 - share));
        atomicAdd_block(&own[right], charge[i] * share);
    }
    __syncthreads();
    for (int cell = threadIdx.x; cell < cells; cell += blockDim.x) atomicAdd(&density[cell], own[cell]);
}
