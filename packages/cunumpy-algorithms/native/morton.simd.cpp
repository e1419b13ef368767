// Morton and Hilbert keys of a block of points or cells, by the functions of the CUDA header, in loops that vectorise.

#include <stdint.h>
#include <string.h>

#include "cuda_qualifiers.hpp"

#include <cunumpy/morton.cuh>

#include "morton.hpp"

namespace {

typedef unsigned int Axis[CUNUMPY_KEY_BLOCK];

// The header's functions, or an instruction that does the same where it is fast.
template <bool PDEP>
inline __attribute__((always_inline)) uint64_t encode2(unsigned int x, unsigned int y) {
#ifdef __BMI2__
    if (PDEP)
        return __builtin_ia32_pdep_di(x, 0x5555555555555555ull) | __builtin_ia32_pdep_di(y, 0xaaaaaaaaaaaaaaaaull);
#endif
    return cunumpy_morton_encode2(x, y);
}

template <bool PDEP>
inline __attribute__((always_inline)) uint64_t encode3(unsigned int x, unsigned int y, unsigned int z) {
#ifdef __BMI2__
    if (PDEP)
        return __builtin_ia32_pdep_di(x, 0x1249249249249249ull) | __builtin_ia32_pdep_di(y, 0x2492492492492492ull) |
               __builtin_ia32_pdep_di(z, 0x4924924924924924ull);
#endif
    return cunumpy_morton_encode3(x, y, z);
}

struct Half {
    uint16_t bits;
    operator double() const {
        const unsigned int magnitude = bits & 0x7fffu;
        double value;
        if (magnitude >= 0x7c00u)
            value = magnitude == 0x7c00u ? __builtin_inf() : __builtin_nan("");
        else if (magnitude < 0x0400u)
            value = magnitude * 0x1p-24;
        else {
            const uint64_t wide = ((uint64_t)magnitude << 42) + ((uint64_t)(1023 - 15) << 52);
            memcpy(&value, &wide, sizeof value);
        }
        return bits & 0x8000u ? -value : value;
    }
};

template <class T, bool SWAPPED>
inline __attribute__((always_inline)) double load(const char *address) {
    char bytes[sizeof(T)];
    memcpy(bytes, address, sizeof(T));
    if (SWAPPED)
        for (unsigned int i = 0; i < sizeof(T) / 2; ++i) {
            const char other = bytes[i];
            bytes[i] = bytes[sizeof(T) - 1 - i];
            bytes[sizeof(T) - 1 - i] = other;
        }
    T value;
    memcpy(&value, bytes, sizeof value);
    return (double)value;
}

// STRIDE: in bytes, or 0 if it is known at run time only.
template <class T, bool SWAPPED, int STRIDE>
int cells_along(const char *data, long long stride, int n, double lower, double scale, int levels,
                unsigned int *__restrict cells) {
    int nan = 0;
    const double last = (double)((1ull << levels) - 1ull);
    double clipped[CUNUMPY_KEY_BLOCK];
    for (int i = 0; i < n; ++i) {
        const double x = load<T, SWAPPED>(data + i * (STRIDE ? STRIDE : stride));
        nan |= x != x;
        clipped[i] = cunumpy_morton_clipped(x, lower, scale, last);
    }
    if (levels < 32)  // AVX2 converts to signed integers only
        for (int i = 0; i < n; ++i) cells[i] = (unsigned int)(int)clipped[i];
    else
        for (int i = 0; i < n; ++i) cells[i] = (unsigned int)clipped[i];
    return nan;
}

// Most points are in these types; with the usual strides known their loops vectorise better.
template <class T>
int cells_of_usual(const char *data, long long stride, int n, double lower, double scale, int levels,
                   unsigned int *cells) {
    const int size = sizeof(T);
    if (stride == size) return cells_along<T, false, size>(data, stride, n, lower, scale, levels, cells);
    if (stride == 2 * size) return cells_along<T, false, 2 * size>(data, stride, n, lower, scale, levels, cells);
    if (stride == 3 * size) return cells_along<T, false, 3 * size>(data, stride, n, lower, scale, levels, cells);
    return cells_along<T, false, 0>(data, stride, n, lower, scale, levels, cells);
}

template <class T>
int cells_of(const char *data, long long stride, int swapped, int n, double lower, double scale, int levels,
             unsigned int *cells) {
    return swapped ? cells_along<T, true, 0>(data, stride, n, lower, scale, levels, cells)
                   : cells_along<T, false, 0>(data, stride, n, lower, scale, levels, cells);
}

int cells_of_axis(const CunumpyPositions &p, const CunumpyGrid &grid, int axis, long long begin, int n,
                  unsigned int *cells) {
    const char *data = p.data + begin * p.stride + axis * p.axis_stride;
    const double lower = grid.lower[axis], scale = grid.scale[axis];
    const int levels = grid.levels;
    if (!p.swapped && p.type == 1) return cells_of_usual<float>(data, p.stride, n, lower, scale, levels, cells);
    if (!p.swapped && p.type == 2) return cells_of_usual<double>(data, p.stride, n, lower, scale, levels, cells);
    switch (p.type) {
        case 0: return cells_of<Half>(data, p.stride, p.swapped, n, lower, scale, levels, cells);
        case 1: return cells_along<float, true, 0>(data, p.stride, n, lower, scale, levels, cells);
        case 2: return cells_along<double, true, 0>(data, p.stride, n, lower, scale, levels, cells);
        case 3: return cells_along<int8_t, false, 0>(data, p.stride, n, lower, scale, levels, cells);
        case 4: return cells_of<int16_t>(data, p.stride, p.swapped, n, lower, scale, levels, cells);
        case 5: return cells_of<int32_t>(data, p.stride, p.swapped, n, lower, scale, levels, cells);
        case 6: return cells_of<int64_t>(data, p.stride, p.swapped, n, lower, scale, levels, cells);
        case 7: return cells_along<uint8_t, false, 0>(data, p.stride, n, lower, scale, levels, cells);
        case 8: return cells_of<uint16_t>(data, p.stride, p.swapped, n, lower, scale, levels, cells);
        case 9: return cells_of<uint32_t>(data, p.stride, p.swapped, n, lower, scale, levels, cells);
        default: return cells_of<uint64_t>(data, p.stride, p.swapped, n, lower, scale, levels, cells);
    }
}

// The bits of one axis.
template <bool PDEP>
inline __attribute__((always_inline)) unsigned int compact(uint64_t key, int ndim, int axis) {
#ifdef __BMI2__
    if (PDEP)
        return (unsigned int)__builtin_ia32_pext_di(
            key, ndim == 2 ? 0x5555555555555555ull << axis : 0x1249249249249249ull << axis);
#endif
    return (unsigned int)(ndim == 2 ? cunumpy_morton_compact2(key >> axis) : cunumpy_morton_compact3(key >> axis));
}

template <bool PDEP>
void separate(const char *keys, long long stride, int ndim, int axis, unsigned int mask, int n,
              unsigned int *__restrict cells) {
    for (int i = 0; i < n; ++i) {
        uint64_t key;
        memcpy(&key, keys + i * stride, 8);
        cells[i] = compact<PDEP>(key, ndim, axis) & mask;
    }
}

// cunumpy_hilbert_transpose2 and 3 with the loop over the points inside.
void transpose(unsigned int *__restrict x, unsigned int *__restrict y, unsigned int *__restrict z, int ndim, int levels,
               int n) {
    for (int bit = levels - 1; bit > 0; --bit) {
        if (ndim == 2)
            for (int i = 0; i < n; ++i) {
                cunumpy_hilbert_step(bit, &x[i], &x[i]);
                cunumpy_hilbert_step(bit, &x[i], &y[i]);
            }
        else
            for (int i = 0; i < n; ++i) {
                cunumpy_hilbert_step(bit, &x[i], &x[i]);
                cunumpy_hilbert_step(bit, &x[i], &y[i]);
                cunumpy_hilbert_step(bit, &x[i], &z[i]);
            }
    }
    // Without a bit to work on, these do the rest.
    if (ndim == 2)
        for (int i = 0; i < n; ++i) cunumpy_hilbert_transpose2(&x[i], &y[i], 0);
    else
        for (int i = 0; i < n; ++i) cunumpy_hilbert_transpose3(&x[i], &y[i], &z[i], 0);
}

void untranspose(unsigned int *__restrict x, unsigned int *__restrict y, unsigned int *__restrict z, int ndim,
                 int levels, int n) {
    if (ndim == 2)
        for (int i = 0; i < n; ++i) cunumpy_hilbert_untranspose2(&x[i], &y[i], 0);
    else
        for (int i = 0; i < n; ++i) cunumpy_hilbert_untranspose3(&x[i], &y[i], &z[i], 0);
    for (int bit = 1; bit < levels; ++bit) {
        if (ndim == 2)
            for (int i = 0; i < n; ++i) {
                cunumpy_hilbert_step(bit, &x[i], &y[i]);
                cunumpy_hilbert_step(bit, &x[i], &x[i]);
            }
        else
            for (int i = 0; i < n; ++i) {
                cunumpy_hilbert_step(bit, &x[i], &z[i]);
                cunumpy_hilbert_step(bit, &x[i], &y[i]);
                cunumpy_hilbert_step(bit, &x[i], &x[i]);
            }
    }
}

// Interleaves the bits of the axes; x has the lowest bit.
template <bool PDEP>
void interleave(const unsigned int *__restrict x, const unsigned int *__restrict y, const unsigned int *__restrict z,
                const CunumpyGrid &grid, int n, char *__restrict keys, long long stride) {
    const int ndim = grid.ndim;
    if (grid.key_bytes == 8)
        for (int i = 0; i < n; ++i) {
            const uint64_t key = ndim == 2 ? encode2<PDEP>(x[i], y[i]) : encode3<PDEP>(x[i], y[i], z[i]);
            memcpy(keys + i * stride, &key, 8);
        }
    else
        for (int i = 0; i < n; ++i) {
            const uint32_t key =
                ndim == 2 ? cunumpy_morton_encode2_u32(x[i], y[i]) : cunumpy_morton_encode3_u32(x[i], y[i], z[i]);
            memcpy(keys + i * stride, &key, 4);
        }
}

void keys_of_cells(Axis (&cells)[3], const CunumpyGrid &grid, int n, char *keys, long long stride) {
    const unsigned int *first = cells[0], *last = cells[grid.ndim - 1];
    if (grid.hilbert) {
        transpose(cells[0], cells[1], cells[2], grid.ndim, grid.levels, n);
        const unsigned int *other = first;
        first = last;
        last = other;
    }
    const unsigned int *middle = grid.ndim == 2 ? last : cells[1];
    if (grid.pdep)
        interleave<true>(first, middle, last, grid, n, keys, stride);
    else
        interleave<false>(first, middle, last, grid, n, keys, stride);
}

}  // namespace

int CUNUMPY_SIMD(cunumpy_point_keys)(const CunumpyPositions *positions, const CunumpyGrid *grid, long long begin, int n,
                                     char *keys) {
    Axis cells[3];
    int nan = 0;
    for (int axis = 0; axis < grid->ndim; ++axis) nan |= cells_of_axis(*positions, *grid, axis, begin, n, cells[axis]);
    if (keys) keys_of_cells(cells, *grid, n, keys, grid->key_bytes);
    return nan;
}

void CUNUMPY_SIMD(cunumpy_cell_keys)(const char *const *data, const long long *strides, const CunumpyGrid *grid, int n,
                                     char *keys, long long key_stride) {
    Axis cells[3];
    const unsigned int mask = (unsigned int)((1ull << grid->levels) - 1ull);
    for (int axis = 0; axis < grid->ndim; ++axis)
        for (int i = 0; i < n; ++i) {
            uint64_t cell;
            memcpy(&cell, data[axis] + i * strides[axis], 8);
            cells[axis][i] = (unsigned int)cell & mask;
        }
    keys_of_cells(cells, *grid, n, keys, key_stride);
}

void CUNUMPY_SIMD(cunumpy_key_cells)(const char *keys, long long key_stride, const CunumpyGrid *grid, int n,
                                     char *const *data, const long long *strides) {
    Axis cells[3];
    const int ndim = grid->ndim;
    const unsigned int mask = (unsigned int)((1ull << grid->levels) - 1ull);
    for (int axis = 0; axis < ndim; ++axis) {
        const int bit = grid->hilbert ? ndim - 1 - axis : axis;
        if (grid->pdep)
            separate<true>(keys, key_stride, ndim, bit, mask, n, cells[axis]);
        else
            separate<false>(keys, key_stride, ndim, bit, mask, n, cells[axis]);
    }
    if (grid->hilbert) untranspose(cells[0], cells[1], cells[2], ndim, grid->levels, n);
    for (int axis = 0; axis < ndim; ++axis)
        for (int i = 0; i < n; ++i) {
            const uint64_t cell = cells[axis][i];
            memcpy(data[axis] + i * strides[axis], &cell, 8);
        }
}
