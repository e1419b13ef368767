// Morton and Hilbert keys, one thread for each point or cell.
#include <cunumpy/morton.cuh>

#include "half.cuh"

typedef unsigned long long u64;

// Where elements are: axes of the arrays that could not be merged into one.
struct Layout {
    long long shape[8];
    long long strides[3][8];  // in bytes
    u64 constants[3];
    int types[3];  // 0: the constant; 1, 2, 4, 8: signed integers of so many bytes; -1, -2, -4, -8: unsigned ones
    int ndim;
};

__device__ inline u64 load(const char* data, const Layout& layout, int operand, long long index) {
    if (layout.types[operand] == 0) return layout.constants[operand];
    for (int axis = layout.ndim - 1; axis > 0; --axis) {
        const long long above = index / layout.shape[axis];
        data += (index - above * layout.shape[axis]) * layout.strides[operand][axis];
        index = above;
    }
    data += index * layout.strides[operand][0];
    switch (layout.types[operand]) {
        case 1: return (u64)*(const signed char*)data;
        case 2: return (u64)*(const short*)data;
        case 4: return (u64)*(const int*)data;
        case -1: return *(const unsigned char*)data;
        case -2: return *(const unsigned short*)data;
        case -4: return *(const unsigned int*)data;
        default: return *(const u64*)data;
    }
}

// faults, if not null: how many elements are bad, and n - i of the first bad one.
__device__ inline void report(u64* faults, long long i, long long n) {
    atomicAdd(&faults[0], (u64)1);
    atomicMax(&faults[1], (u64)(n - i));
}

template <class Key, int NDIM, bool HILBERT>
__device__ inline Key key_of(const u64* cells, int levels) {
    if (!HILBERT && sizeof(Key) == 4)
        return (Key)(NDIM == 2 ? cunumpy_morton_encode2_u32((unsigned int)cells[0], (unsigned int)cells[1])
                               : cunumpy_morton_encode3_u32((unsigned int)cells[0], (unsigned int)cells[1],
                                                            (unsigned int)cells[NDIM - 1]));
    if (NDIM == 2) return (Key)(HILBERT ? cunumpy_hilbert_encode2(cells[0], cells[1], levels)
                                        : cunumpy_morton_encode2(cells[0], cells[1]));
    return (Key)(HILBERT ? cunumpy_hilbert_encode3(cells[0], cells[1], cells[NDIM - 1], levels)
                         : cunumpy_morton_encode3(cells[0], cells[1], cells[NDIM - 1]));
}

// keys may be null: then it only looks for NaN.
template <class T, class Key, int NDIM, bool HILBERT>
__global__ void point_keys(const char* positions, long long stride, long long axis_stride, double lower_x,
                           double lower_y, double lower_z, double scale_x, double scale_y, double scale_z, int levels,
                           Key* keys, u64* faults, long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double lower[3] = {lower_x, lower_y, lower_z}, scale[3] = {scale_x, scale_y, scale_z};
    u64 cells[NDIM];
    bool nan = false;
    for (int axis = 0; axis < NDIM; ++axis) {
        const double x = (double)*(const T*)(positions + i * stride + axis * axis_stride);
        nan |= x != x;
        cells[axis] = cunumpy_morton_cell(x, lower[axis], scale[axis], levels);
    }
    if (nan && faults) report(faults, i, n);
    if (keys) keys[i] = key_of<Key, NDIM, HILBERT>(cells, levels);
}

template <class Key, int NDIM, bool HILBERT>
__global__ void cell_keys(const char* x, const char* y, const char* z, Layout layout, int levels, Key* keys,
                          u64* faults, long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const char* data[3] = {x, y, z};
    const u64 last = ((u64)1 << levels) - 1;
    u64 cells[NDIM];
    bool outside = false;
    for (int axis = 0; axis < NDIM; ++axis) {
        const u64 cell = load(data[axis], layout, axis, i);
        outside |= cell > last;  // negative ones have become large
        cells[axis] = cell & last;
    }
    if (outside && faults) report(faults, i, n);
    if (keys) keys[i] = key_of<Key, NDIM, HILBERT>(cells, levels);
}

// Keys above `last` are bad.
template <class Cell, int NDIM, bool HILBERT>
__global__ void key_cells(const char* keys, Layout layout, int levels, u64 last, Cell* x, Cell* y, Cell* z, u64* faults,
                          long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u64 key = load(keys, layout, 0, i);
    if (key > last && faults) report(faults, i, n);
    const u64 mask = ((u64)1 << levels) - 1;
    u64 cells[3];
    if (NDIM == 2) {
        if (HILBERT)
            cunumpy_hilbert_decode2(key, &cells[0], &cells[1], levels);
        else
            cunumpy_morton_decode2(key, &cells[0], &cells[1]);
    } else {
        if (HILBERT)
            cunumpy_hilbert_decode3(key, &cells[0], &cells[1], &cells[2], levels);
        else
            cunumpy_morton_decode3(key, &cells[0], &cells[1], &cells[2]);
        z[i] = (Cell)(cells[2] & mask);
    }
    x[i] = (Cell)(cells[0] & mask);
    y[i] = (Cell)(cells[1] & mask);
}
