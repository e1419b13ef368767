// y = A x for a sparse matrix (Bell and Garland, SC 2009).

// Compressed rows, a thread a row.
extern "C" __global__ void csr_scalar(const int* starts, const int* columns, const double* values, const double* x,
                                      double* y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0.0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

// Compressed rows, a warp a row: neighbouring threads read neighbouring values.
extern "C" __global__ void csr_vector(const int* starts, const int* columns, const double* values, const double* x,
                                      double* y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;  // whole warps
    double sum = 0.0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0) y[row] = sum;
}

// ELLPACK: all rows as long as the longest, by columns; -1 stands where there is nothing.
extern "C" __global__ void ell(const int* columns, const double* values, const double* x, double* y, int rows,
                               int width) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0.0;
    for (int k = 0; k < width; ++k) {
        const int column = columns[k * rows + row];
        if (column >= 0) sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}
