// Morton (Z-order) and Hilbert keys of cells and points in two and three dimensions.
//
// A key numbers the cells of a grid with 2^levels cells on every axis, so that cells with near keys are near in space.
// `key >> ndim * (L - l)` is the key, with l levels, of the cell of the coarser grid around it: a node of the quadtree or
// octree. Keys have 64 bits, for up to 32 levels in 2D and 21 in 3D; the functions ending in _u32 give 32 bits, for up to
// 16 and 10 levels. Higher bits of a cell or a key are ignored, and `levels` is clipped to 0 and that limit.
//
// Morton: bit b of the cell index on axis a is bit ndim * b + a of the key.
// Hilbert: cells with consecutive keys have a face in common. The curve starts in cell 0 and ends at the other end of
// axis 0; with one level it runs (0,0) (0,1) (1,1) (1,0), and (0,0,0) (0,0,1) (0,1,1) (0,1,0) (1,1,0) (1,1,1) (1,0,1)
// (1,0,0) in 3D. The algorithm is J. Skilling's, "Programming the Hilbert curve", AIP Conf. Proc. 707, 381 (2004).
//
// Points: a coordinate x is in cell floor((x - lower) * scale), in double arithmetic, where scale = 2^levels / (upper -
// lower); outside of the box, infinities included, in the nearest cell, and NaN in cell 0. Coordinates in float become
// doubles without loss. A negative scale, where upper < lower, reverses the axis.
//
// Needs no other header. Also plain C++, where __host__, __device__ and __forceinline__ are defined.
#ifndef CUNUMPY_MORTON_CUH
#define CUNUMPY_MORTON_CUH

#define CUNUMPY_MORTON_MAX_LEVELS2 32
#define CUNUMPY_MORTON_MAX_LEVELS3 21
#define CUNUMPY_MORTON_MAX_LEVELS2_U32 16
#define CUNUMPY_MORTON_MAX_LEVELS3_U32 10

// ---- Spreading bits: bit b goes to bit 2 b or 3 b, and back. Other bits are ignored.

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_spread2(unsigned long long v) {
    v &= 0x00000000ffffffffull;
    v = (v | v << 16) & 0x0000ffff0000ffffull;
    v = (v | v << 8) & 0x00ff00ff00ff00ffull;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0full;
    v = (v | v << 2) & 0x3333333333333333ull;
    return (v | v << 1) & 0x5555555555555555ull;
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_compact2(unsigned long long v) {
    v &= 0x5555555555555555ull;
    v = (v | v >> 1) & 0x3333333333333333ull;
    v = (v | v >> 2) & 0x0f0f0f0f0f0f0f0full;
    v = (v | v >> 4) & 0x00ff00ff00ff00ffull;
    v = (v | v >> 8) & 0x0000ffff0000ffffull;
    return (v | v >> 16) & 0x00000000ffffffffull;
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_spread3(unsigned long long v) {
    v &= 0x00000000001fffffull;
    v = (v | v << 32) & 0x001f00000000ffffull;
    v = (v | v << 16) & 0x001f0000ff0000ffull;
    v = (v | v << 8) & 0x100f00f00f00f00full;
    v = (v | v << 4) & 0x10c30c30c30c30c3ull;
    return (v | v << 2) & 0x1249249249249249ull;
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_compact3(unsigned long long v) {
    v &= 0x1249249249249249ull;
    v = (v | v >> 2) & 0x10c30c30c30c30c3ull;
    v = (v | v >> 4) & 0x100f00f00f00f00full;
    v = (v | v >> 8) & 0x001f0000ff0000ffull;
    v = (v | v >> 16) & 0x001f00000000ffffull;
    return (v | v >> 32) & 0x00000000001fffffull;
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_spread2_u32(unsigned int v) {
    v &= 0x0000ffffu;
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    v = (v | v << 2) & 0x33333333u;
    return (v | v << 1) & 0x55555555u;
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_compact2_u32(unsigned int v) {
    v &= 0x55555555u;
    v = (v | v >> 1) & 0x33333333u;
    v = (v | v >> 2) & 0x0f0f0f0fu;
    v = (v | v >> 4) & 0x00ff00ffu;
    return (v | v >> 8) & 0x0000ffffu;
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_spread3_u32(unsigned int v) {
    v &= 0x000003ffu;
    v = (v | v << 16) & 0x030000ffu;
    v = (v | v << 8) & 0x0300f00fu;
    v = (v | v << 4) & 0x030c30c3u;
    return (v | v << 2) & 0x09249249u;
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_compact3_u32(unsigned int v) {
    v &= 0x09249249u;
    v = (v | v >> 2) & 0x030c30c3u;
    v = (v | v >> 4) & 0x0300f00fu;
    v = (v | v >> 8) & 0x030000ffu;
    return (v | v >> 16) & 0x000003ffu;
}

// ---- Cells to Morton keys, and back.

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_encode2(unsigned long long ix,
                                                                              unsigned long long iy) {
    return cunumpy_morton_spread2(ix) | cunumpy_morton_spread2(iy) << 1;
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_encode3(unsigned long long ix,
                                                                              unsigned long long iy,
                                                                              unsigned long long iz) {
    return cunumpy_morton_spread3(ix) | cunumpy_morton_spread3(iy) << 1 | cunumpy_morton_spread3(iz) << 2;
}

__host__ __device__ __forceinline__ void cunumpy_morton_decode2(unsigned long long key, unsigned long long* ix,
                                                                unsigned long long* iy) {
    *ix = cunumpy_morton_compact2(key);
    *iy = cunumpy_morton_compact2(key >> 1);
}

__host__ __device__ __forceinline__ void cunumpy_morton_decode3(unsigned long long key, unsigned long long* ix,
                                                                unsigned long long* iy, unsigned long long* iz) {
    *ix = cunumpy_morton_compact3(key);
    *iy = cunumpy_morton_compact3(key >> 1);
    *iz = cunumpy_morton_compact3(key >> 2);
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_encode2_u32(unsigned int ix, unsigned int iy) {
    return cunumpy_morton_spread2_u32(ix) | cunumpy_morton_spread2_u32(iy) << 1;
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_encode3_u32(unsigned int ix, unsigned int iy,
                                                                            unsigned int iz) {
    return cunumpy_morton_spread3_u32(ix) | cunumpy_morton_spread3_u32(iy) << 1 | cunumpy_morton_spread3_u32(iz) << 2;
}

__host__ __device__ __forceinline__ void cunumpy_morton_decode2_u32(unsigned int key, unsigned int* ix,
                                                                    unsigned int* iy) {
    *ix = cunumpy_morton_compact2_u32(key);
    *iy = cunumpy_morton_compact2_u32(key >> 1);
}

__host__ __device__ __forceinline__ void cunumpy_morton_decode3_u32(unsigned int key, unsigned int* ix,
                                                                    unsigned int* iy, unsigned int* iz) {
    *ix = cunumpy_morton_compact3_u32(key);
    *iy = cunumpy_morton_compact3_u32(key >> 1);
    *iz = cunumpy_morton_compact3_u32(key >> 2);
}

// ---- Points to cells and Morton keys.

__host__ __device__ __forceinline__ int cunumpy_morton_clip_levels(int levels, int most) {
    return levels < 0 ? 0 : levels > most ? most : levels;
}

// A cell index between 0 and `last`, with a fraction. NaN compares false and becomes 0.
__host__ __device__ __forceinline__ double cunumpy_morton_clipped(double x, double lower, double scale, double last) {
    double cell = (x - lower) * scale;
    cell = cell > 0.0 ? cell : 0.0;
    return cell < last ? cell : last;
}

// The cell of a coordinate, with at most 32 levels. Nothing is negative: cutting off the fraction is floor.
__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_cell(double x, double lower, double scale,
                                                                           int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS2);
    return (unsigned int)cunumpy_morton_clipped(x, lower, scale, (double)((1ull << levels) - 1ull));
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_key2(double x, double y, double lower_x,
                                                                           double lower_y, double scale_x,
                                                                           double scale_y, int levels) {
    return cunumpy_morton_encode2(cunumpy_morton_cell(x, lower_x, scale_x, levels),
                                  cunumpy_morton_cell(y, lower_y, scale_y, levels));
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_morton_key3(double x, double y, double z,
                                                                           double lower_x, double lower_y,
                                                                           double lower_z, double scale_x,
                                                                           double scale_y, double scale_z,
                                                                           int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3);
    return cunumpy_morton_encode3(cunumpy_morton_cell(x, lower_x, scale_x, levels),
                                  cunumpy_morton_cell(y, lower_y, scale_y, levels),
                                  cunumpy_morton_cell(z, lower_z, scale_z, levels));
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_key2_u32(double x, double y, double lower_x,
                                                                         double lower_y, double scale_x,
                                                                         double scale_y, int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS2_U32);
    return cunumpy_morton_encode2_u32((unsigned int)cunumpy_morton_cell(x, lower_x, scale_x, levels),
                                      (unsigned int)cunumpy_morton_cell(y, lower_y, scale_y, levels));
}

__host__ __device__ __forceinline__ unsigned int cunumpy_morton_key3_u32(double x, double y, double z, double lower_x,
                                                                         double lower_y, double lower_z,
                                                                         double scale_x, double scale_y,
                                                                         double scale_z, int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3_U32);
    return cunumpy_morton_encode3_u32((unsigned int)cunumpy_morton_cell(x, lower_x, scale_x, levels),
                                      (unsigned int)cunumpy_morton_cell(y, lower_y, scale_y, levels),
                                      (unsigned int)cunumpy_morton_cell(z, lower_z, scale_z, levels));
}

// ---- Hilbert keys. The curve is oriented at the root, so a key depends on the number of levels.

// The step of Skilling's algorithm for one bit of one axis; it is its own inverse. If the bit is set, the lower bits of
// the first axis are inverted, else they are exchanged with those of `axis`.
__host__ __device__ __forceinline__ void cunumpy_hilbert_step(int bit, unsigned int* first, unsigned int* axis) {
    unsigned int inverted = 0u - (*axis >> bit & 1u);  // all ones if the bit is set
    unsigned int change = (inverted | (*first ^ *axis)) & ((1u << bit) - 1u);
    *first ^= change;
    *axis ^= change & ~inverted;
}

// For every bit, whether an odd number of the bits above it is set.
__host__ __device__ __forceinline__ unsigned int cunumpy_hilbert_parity_above(unsigned int v) {
    v >>= 1;
    v ^= v >> 1;
    v ^= v >> 2;
    v ^= v >> 4;
    v ^= v >> 8;
    return v ^ v >> 16;
}

// Cells to the "transposed" key, whose bits only have to be interleaved, the first axis highest; and back.
__host__ __device__ __forceinline__ void cunumpy_hilbert_transpose2(unsigned int* x, unsigned int* y, int levels) {
    for (int bit = levels - 1; bit > 0; --bit) {
        cunumpy_hilbert_step(bit, x, x);
        cunumpy_hilbert_step(bit, x, y);
    }
    *y ^= *x;
    unsigned int odd = cunumpy_hilbert_parity_above(*y);
    *x ^= odd;
    *y ^= odd;
}

__host__ __device__ __forceinline__ void cunumpy_hilbert_transpose3(unsigned int* x, unsigned int* y, unsigned int* z,
                                                                    int levels) {
    for (int bit = levels - 1; bit > 0; --bit) {
        cunumpy_hilbert_step(bit, x, x);
        cunumpy_hilbert_step(bit, x, y);
        cunumpy_hilbert_step(bit, x, z);
    }
    *y ^= *x;
    *z ^= *y;
    unsigned int odd = cunumpy_hilbert_parity_above(*z);
    *x ^= odd;
    *y ^= odd;
    *z ^= odd;
}

__host__ __device__ __forceinline__ void cunumpy_hilbert_untranspose2(unsigned int* x, unsigned int* y, int levels) {
    unsigned int half = *y >> 1;
    *y ^= *x;
    *x ^= half;
    for (int bit = 1; bit < levels; ++bit) {
        cunumpy_hilbert_step(bit, x, y);
        cunumpy_hilbert_step(bit, x, x);
    }
}

__host__ __device__ __forceinline__ void cunumpy_hilbert_untranspose3(unsigned int* x, unsigned int* y,
                                                                      unsigned int* z, int levels) {
    unsigned int half = *z >> 1;
    *z ^= *y;
    *y ^= *x;
    *x ^= half;
    for (int bit = 1; bit < levels; ++bit) {
        cunumpy_hilbert_step(bit, x, z);
        cunumpy_hilbert_step(bit, x, y);
        cunumpy_hilbert_step(bit, x, x);
    }
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_hilbert_encode2(unsigned long long ix,
                                                                               unsigned long long iy, int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS2);
    unsigned int mask = (unsigned int)((1ull << levels) - 1ull);
    unsigned int x = (unsigned int)ix & mask, y = (unsigned int)iy & mask;
    cunumpy_hilbert_transpose2(&x, &y, levels);
    return cunumpy_morton_encode2(y, x);
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_hilbert_encode3(unsigned long long ix,
                                                                               unsigned long long iy,
                                                                               unsigned long long iz, int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3);
    unsigned int mask = (1u << levels) - 1u;
    unsigned int x = (unsigned int)ix & mask, y = (unsigned int)iy & mask, z = (unsigned int)iz & mask;
    cunumpy_hilbert_transpose3(&x, &y, &z, levels);
    return cunumpy_morton_encode3(z, y, x);
}

__host__ __device__ __forceinline__ void cunumpy_hilbert_decode2(unsigned long long key, unsigned long long* ix,
                                                                 unsigned long long* iy, int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS2);
    unsigned int mask = (unsigned int)((1ull << levels) - 1ull);
    unsigned int x = (unsigned int)cunumpy_morton_compact2(key >> 1) & mask;
    unsigned int y = (unsigned int)cunumpy_morton_compact2(key) & mask;
    cunumpy_hilbert_untranspose2(&x, &y, levels);
    *ix = x;
    *iy = y;
}

__host__ __device__ __forceinline__ void cunumpy_hilbert_decode3(unsigned long long key, unsigned long long* ix,
                                                                 unsigned long long* iy, unsigned long long* iz,
                                                                 int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3);
    unsigned int mask = (1u << levels) - 1u;
    unsigned int x = (unsigned int)cunumpy_morton_compact3(key >> 2) & mask;
    unsigned int y = (unsigned int)cunumpy_morton_compact3(key >> 1) & mask;
    unsigned int z = (unsigned int)cunumpy_morton_compact3(key) & mask;
    cunumpy_hilbert_untranspose3(&x, &y, &z, levels);
    *ix = x;
    *iy = y;
    *iz = z;
}

__host__ __device__ __forceinline__ unsigned int cunumpy_hilbert_encode2_u32(unsigned int ix, unsigned int iy,
                                                                             int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS2_U32);
    return (unsigned int)cunumpy_hilbert_encode2(ix, iy, levels);
}

__host__ __device__ __forceinline__ unsigned int cunumpy_hilbert_encode3_u32(unsigned int ix, unsigned int iy,
                                                                             unsigned int iz, int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3_U32);
    return (unsigned int)cunumpy_hilbert_encode3(ix, iy, iz, levels);
}

__host__ __device__ __forceinline__ void cunumpy_hilbert_decode2_u32(unsigned int key, unsigned int* ix,
                                                                     unsigned int* iy, int levels) {
    unsigned long long x, y;
    cunumpy_hilbert_decode2(key, &x, &y, cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS2_U32));
    *ix = (unsigned int)x;
    *iy = (unsigned int)y;
}

__host__ __device__ __forceinline__ void cunumpy_hilbert_decode3_u32(unsigned int key, unsigned int* ix,
                                                                     unsigned int* iy, unsigned int* iz, int levels) {
    unsigned long long x, y, z;
    cunumpy_hilbert_decode3(key, &x, &y, &z, cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3_U32));
    *ix = (unsigned int)x;
    *iy = (unsigned int)y;
    *iz = (unsigned int)z;
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_hilbert_key2(double x, double y, double lower_x,
                                                                            double lower_y, double scale_x,
                                                                            double scale_y, int levels) {
    return cunumpy_hilbert_encode2(cunumpy_morton_cell(x, lower_x, scale_x, levels),
                                   cunumpy_morton_cell(y, lower_y, scale_y, levels), levels);
}

__host__ __device__ __forceinline__ unsigned long long cunumpy_hilbert_key3(double x, double y, double z,
                                                                            double lower_x, double lower_y,
                                                                            double lower_z, double scale_x,
                                                                            double scale_y, double scale_z,
                                                                            int levels) {
    levels = cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3);
    return cunumpy_hilbert_encode3(cunumpy_morton_cell(x, lower_x, scale_x, levels),
                                   cunumpy_morton_cell(y, lower_y, scale_y, levels),
                                   cunumpy_morton_cell(z, lower_z, scale_z, levels), levels);
}

__host__ __device__ __forceinline__ unsigned int cunumpy_hilbert_key2_u32(double x, double y, double lower_x,
                                                                          double lower_y, double scale_x,
                                                                          double scale_y, int levels) {
    return (unsigned int)cunumpy_hilbert_key2(x, y, lower_x, lower_y, scale_x, scale_y,
                                              cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS2_U32));
}

__host__ __device__ __forceinline__ unsigned int cunumpy_hilbert_key3_u32(double x, double y, double z,
                                                                          double lower_x, double lower_y,
                                                                          double lower_z, double scale_x,
                                                                          double scale_y, double scale_z,
                                                                          int levels) {
    return (unsigned int)cunumpy_hilbert_key3(x, y, z, lower_x, lower_y, lower_z, scale_x, scale_y, scale_z,
                                              cunumpy_morton_clip_levels(levels, CUNUMPY_MORTON_MAX_LEVELS3_U32));
}

#endif  // CUNUMPY_MORTON_CUH
