// Everything of <cunumpy/index.cuh>: how often an element is visited, and which thread has which place.
#include <cunumpy/index.cuh>

__device__ void one(int* visits, long long ni) {
    CUNUMPY_THREAD_1D(i, ni);
    atomicAdd(visits + i, 1);
}
__device__ void one(int* visits, long long ni, long long nj) {
    CUNUMPY_THREAD_2D(i, j, ni, nj);
    atomicAdd(visits + i * nj + j, 1);
}
__device__ void one(int* visits, long long ni, long long nj, long long nk) {
    CUNUMPY_THREAD_3D(i, j, k, ni, nj, nk);
    atomicAdd(visits + (i * nj + j) * nk + k, 1);
}

// Row after row of `size` counts.
extern "C" __global__ void visits(int* row, int size, int ni, int nj, int nk) {
    one(row, ni);
    one(row += size, ni, nj);
    one(row += size, ni, nj, nk);
    row += size;
    CUNUMPY_GRID_STRIDE_1D(i, ni) atomicAdd(row + i, 1);
    row += size;
    for (auto i : cunumpy::grid_stride(ni)) atomicAdd(row + i, 1);
    row += size;
    for (auto p : cunumpy::grid_stride(ni, nj)) atomicAdd(row + p.i * nj + p.j, 1);
    row += size;
    for (auto p : cunumpy::grid_stride(ni, nj, nk)) atomicAdd(row + (p.i * nj + p.j) * nk + p.k, 1);
    row += size;
    for (auto i : cunumpy::grid_stride32(ni)) atomicAdd(row + i, 1);
    row += size;
    for (auto p : cunumpy::grid_stride32(ni, nj)) atomicAdd(row + p.i * nj + p.j, 1);
    row += size;
    for (auto p : cunumpy::grid_stride32(ni, nj, nk)) atomicAdd(row + (p.i * nj + p.j) * nk + p.k, 1);
}

extern "C" __global__ void places(long long* out, long long* unravelled) {
    const long long x = cunumpy::global_index_x(), y = cunumpy::global_index_y(), z = cunumpy::global_index_z();
    const long long thread = (z * cunumpy::global_size_y() + y) * cunumpy::global_size_x() + x;
    long long* row = out + 9 * thread;
    row[0] = CUNUMPY_GLOBAL_INDEX_X();
    row[1] = CUNUMPY_GLOBAL_INDEX_Y();
    row[2] = CUNUMPY_GLOBAL_INDEX_Z();
    row[3] = cunumpy::global_size_x();
    row[4] = cunumpy::global_size_y();
    row[5] = cunumpy::global_size_z();
    row[6] = cunumpy_block_thread();
    row[7] = cunumpy_block_threads();
    row[8] = thread;

    // The same number by each way to its indices on axes of 50, 4 and 3.
    const cunumpy::Index2<long long> a = cunumpy::unravel_index(thread, 50, 12);
    const cunumpy::Index2<int> b = cunumpy::unravel_index32((int)thread, 50, 12);
    const cunumpy::Index3<long long> c = cunumpy::unravel_index(thread, 50, 4, 3);
    const cunumpy::Index3<int> d = cunumpy::unravel_index32((int)thread, 50, 4, 3);
    const long long shape[3] = {50, 4, 3};
    long long e[3];
    cunumpy::unravel_index(thread, shape, e);
    row = unravelled + 13 * thread;
    row[0] = a.i, row[1] = a.j, row[2] = b.i, row[3] = b.j;
    row[4] = c.i, row[5] = c.j, row[6] = c.k, row[7] = d.i, row[8] = d.j, row[9] = d.k;
    row[10] = e[0], row[11] = e[1], row[12] = e[2];
}
