// Where each cell begins among sorted cells.

// offsets[k] is the number of the n sorted cells that are smaller than k, found by bisection: the work of a thread does not
// depend on how full the cells are. Instances: all integer types of 8 to 64 bits.
template <class Cell>
__global__ void cell_offsets(const Cell* cells, long long n, long long* offsets, long long n_offsets) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n_offsets) return;
    long long low = 0, high = n;
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        if ((long long)cells[middle] < k)
            low = middle + 1;
        else
            high = middle;
    }
    offsets[k] = low;
}
