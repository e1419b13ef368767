// What the two halves of the Morton and Hilbert keys share.
#pragma once

#include "isa.hpp"

// Points whose keys are computed together, so that what is between two steps stays in the nearest cache.
static const int CUNUMPY_KEY_BLOCK = 256;

// Numbers of any kind in memory: element [i, axis] is at data + i * stride + axis * axis_stride, in bytes.
struct CunumpyPositions {
    const char *data;
    long long stride, axis_stride;
    int type;  // 0 .. 2 float16/32/64, 3 .. 6 int8/16/32/64, 7 .. 10 uint8/16/32/64
    int swapped;  // not in this machine's byte order
};

struct CunumpyGrid {
    int ndim;
    int levels;
    int hilbert;
    int key_bytes;  // 8 or 4
    int pdep;  // whether the instructions pdep and pext are fast on this processor
    double lower[3], scale[3];
};

// Keys of at most CUNUMPY_KEY_BLOCK points from `begin` on; keys may be null. Returns whether one of them has a NaN.
CUNUMPY_DECLARE_SIMD(int, cunumpy_point_keys,
                     (const CunumpyPositions *positions, const CunumpyGrid *grid, long long begin, int n, char *keys))

// The same of cells: element i of axis a is at cells[a] + i * strides[a], in bytes.
CUNUMPY_DECLARE_SIMD(void, cunumpy_cell_keys,
                     (const char *const *cells, const long long *strides, const CunumpyGrid *grid, int n, char *keys,
                      long long key_stride))

// And back.
CUNUMPY_DECLARE_SIMD(void, cunumpy_key_cells,
                     (const char *keys, long long key_stride, const CunumpyGrid *grid, int n, char *const *cells,
                      const long long *strides))
