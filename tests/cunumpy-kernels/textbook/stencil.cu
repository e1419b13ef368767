// Sums over neighbours.

#define RADIUS 3

// A block reads its part of the array, and the halo on both sides, into shared memory.
extern "C" __global__ void moving_sum(const double* x, double* y, int n) {
    __shared__ double part[128 + 2 * RADIUS];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + RADIUS;
    part[t] = i < n ? x[i] : 0.0;
    if (threadIdx.x < RADIUS) {
        part[t - RADIUS] = i >= RADIUS && i - RADIUS < n ? x[i - RADIUS] : 0.0;
        part[t + blockDim.x] = i + (int)blockDim.x < n ? x[i + blockDim.x] : 0.0;
    }
    __syncthreads();
    if (i >= n) return;
    double sum = 0.0;
    for (int offset = -RADIUS; offset <= RADIUS; ++offset) sum += part[t + offset];
    y[i] = sum;
}

// One step of Jacobi's iteration for Laplace's equation; the boundary stays.
extern "C" __global__ void jacobi(const double* u, double* next, int nx, int ny) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    const int at = j * nx + i;
    const bool inside = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    next[at] = inside ? 0.25 * (u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx]) : u[at];
}

// The seven-point Laplace operator on a periodic grid: planes are walked through along z.
extern "C" __global__ void laplace(const float* u, float* y, int nx, int ny, int nz) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    const int west = j * nx + (i + nx - 1) % nx, east = j * nx + (i + 1) % nx;
    const int south = (j + ny - 1) % ny * nx + i, north = (j + 1) % ny * nx + i, here = j * nx + i, plane = nx * ny;
    float below = u[(nz - 1) * plane + here], now = u[here];
    for (int k = 0; k < nz; ++k) {
        const float* level = u + k * plane;
        const float above = u[(k + 1) % nz * plane + here];
        y[k * plane + here] =
            below + above + level[west] + level[east] + level[south] + level[north] - 6.0f * now;
        below = now;
        now = above;
    }
}
