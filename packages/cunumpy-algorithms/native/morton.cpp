// Morton and Hilbert keys: the functions that Python calls.

#include "morton.hpp"

#include "export.hpp"
#include "parallel.hpp"

namespace {

// Blocks of a range that is shared by threads.
template <class F>
void in_blocks(long long n, int threads, F &&f) {
    cunumpy_parallel(n, threads, [&](long long begin, long long end, int) {
        for (long long i = begin; i < end; i += CUNUMPY_KEY_BLOCK)
            f(i, (int)(end - i < CUNUMPY_KEY_BLOCK ? end - i : CUNUMPY_KEY_BLOCK));
    });
}

bool has_fast_pdep() {
#ifdef CUNUMPY_X86
    __builtin_cpu_init();
    return !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2");  // microcode there, ten times slower
#else
    return false;
#endif
}

const bool pdep_is_fast = has_fast_pdep();

}  // namespace

extern "C" {

// Returns whether a position has a NaN; with keys == null that is all it does.
CUNUMPY_EXPORT int cunumpy_algorithms_point_keys(const char *data, long long stride, long long axis_stride, int type,
                                                 int swapped, long long n, int ndim, const double *lower,
                                                 const double *scale, int levels, int hilbert, int key_bytes,
                                                 char *keys, int threads) {
    const CunumpyPositions positions = {data, stride, axis_stride, type, swapped};
    CunumpyGrid grid = {ndim, levels, hilbert, key_bytes, pdep_is_fast && cunumpy_isa > 0, {}, {}};
    for (int axis = 0; axis < ndim; ++axis) grid.lower[axis] = lower[axis], grid.scale[axis] = scale[axis];
    int nan = 0;
    in_blocks(n, threads, [&](long long begin, int count) {
        if (CUNUMPY_SELECT(cunumpy_point_keys)(&positions, &grid, begin, count, keys ? keys + begin * key_bytes : keys))
            __atomic_store_n(&nan, 1, __ATOMIC_RELAXED);
    });
    return nan;
}

CUNUMPY_EXPORT void cunumpy_algorithms_cell_keys(const char *x, const char *y, const char *z, long long x_stride,
                                                 long long y_stride, long long z_stride, long long n, int ndim,
                                                 int levels, int hilbert, int key_bytes, char *keys,
                                                 long long key_stride, int threads) {
    const CunumpyGrid grid = {ndim, levels, hilbert, key_bytes, pdep_is_fast && cunumpy_isa > 0, {}, {}};
    const long long strides[3] = {x_stride, y_stride, z_stride};
    in_blocks(n, threads, [&](long long begin, int count) {
        const char *cells[3] = {x + begin * x_stride, y + begin * y_stride, ndim == 3 ? z + begin * z_stride : nullptr};
        CUNUMPY_SELECT(cunumpy_cell_keys)(cells, strides, &grid, count, keys + begin * key_stride, key_stride);
    });
}

CUNUMPY_EXPORT void cunumpy_algorithms_key_cells(const char *keys, long long key_stride, char *x, char *y, char *z,
                                                 long long x_stride, long long y_stride, long long z_stride,
                                                 long long n, int ndim, int levels, int hilbert, int threads) {
    const CunumpyGrid grid = {ndim, levels, hilbert, 8, pdep_is_fast && cunumpy_isa > 0, {}, {}};
    const long long strides[3] = {x_stride, y_stride, z_stride};
    in_blocks(n, threads, [&](long long begin, int count) {
        char *cells[3] = {x + begin * x_stride, y + begin * y_stride, ndim == 3 ? z + begin * z_stride : nullptr};
        CUNUMPY_SELECT(cunumpy_key_cells)(keys + begin * key_stride, key_stride, &grid, count, cells, strides);
    });
}
}
