// Everything of <cunumpy/morton.cuh>: rows of n numbers, for n cells and n points.
#include <cunumpy/morton.cuh>

typedef unsigned long long u64;

extern "C" __global__ void morton(const u64* ix, const u64* iy, const u64* iz, int n, u64* rows) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 *out = rows + i, x = ix[i], y = iy[i], z = iz[i], a, b, c;
    unsigned int u, v, w;
    const u64 key2 = cunumpy_morton_encode2(x, y), key3 = cunumpy_morton_encode3(x, y, z);
    const unsigned int key2_u32 = cunumpy_morton_encode2_u32(x, y), key3_u32 = cunumpy_morton_encode3_u32(x, y, z);
    *out = key2, out += n, *out = key3, out += n;
    *out = key2_u32, out += n, *out = key3_u32, out += n;
    *out = cunumpy_morton_spread2(x) | cunumpy_morton_spread2(y) << 1, out += n;
    *out = cunumpy_morton_spread3(x) | cunumpy_morton_spread3(y) << 1 | cunumpy_morton_spread3(z) << 2, out += n;
    *out = cunumpy_morton_spread2_u32(x) | cunumpy_morton_spread2_u32(y) << 1, out += n;
    *out = cunumpy_morton_spread3_u32(x) | cunumpy_morton_spread3_u32(y) << 1 | cunumpy_morton_spread3_u32(z) << 2;
    out += n;
    cunumpy_morton_decode2(key2, &a, &b);
    *out = a, out += n, *out = b, out += n;
    cunumpy_morton_decode3(key3, &a, &b, &c);
    *out = a, out += n, *out = b, out += n, *out = c, out += n;
    cunumpy_morton_decode2_u32(key2_u32, &u, &v);
    *out = u, out += n, *out = v, out += n;
    cunumpy_morton_decode3_u32(key3_u32, &u, &v, &w);
    *out = u, out += n, *out = v, out += n, *out = w, out += n;
    *out = cunumpy_morton_compact2(key2), out += n, *out = cunumpy_morton_compact3(key3), out += n;
    *out = cunumpy_morton_compact2_u32(key2_u32), out += n, *out = cunumpy_morton_compact3_u32(key3_u32), out += n;
    *out = (u64)CUNUMPY_MORTON_MAX_LEVELS2 << 24 | CUNUMPY_MORTON_MAX_LEVELS3 << 16 |
           CUNUMPY_MORTON_MAX_LEVELS2_U32 << 8 | CUNUMPY_MORTON_MAX_LEVELS3_U32;
}

extern "C" __global__ void hilbert(const u64* ix, const u64* iy, const u64* iz, int levels, int n, u64* rows) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 *out = rows + i, x = ix[i], y = iy[i], z = iz[i], a, b, c;
    unsigned int u, v, w;
    const u64 key2 = cunumpy_hilbert_encode2(x, y, levels), key3 = cunumpy_hilbert_encode3(x, y, z, levels);
    *out = key2, out += n, *out = key3, out += n;
    *out = cunumpy_hilbert_encode2_u32(x, y, levels), out += n;
    *out = cunumpy_hilbert_encode3_u32(x, y, z, levels), out += n;
    u = x, v = y, cunumpy_hilbert_transpose2(&u, &v, levels);
    *out = cunumpy_morton_encode2(v, u), out += n;
    cunumpy_hilbert_untranspose2(&u, &v, levels);
    *out = u, out += n, *out = v, out += n;
    u = x, v = y, w = z, cunumpy_hilbert_transpose3(&u, &v, &w, levels);
    *out = cunumpy_morton_encode3(w, v, u), out += n;
    cunumpy_hilbert_untranspose3(&u, &v, &w, levels);
    *out = u, out += n, *out = v, out += n, *out = w, out += n;
    cunumpy_hilbert_decode2(key2, &a, &b, levels);
    *out = a, out += n, *out = b, out += n;
    cunumpy_hilbert_decode3(key3, &a, &b, &c, levels);
    *out = a, out += n, *out = b, out += n, *out = c, out += n;
    cunumpy_hilbert_decode2_u32(key2, &u, &v, levels);
    *out = u, out += n, *out = v, out += n;
    cunumpy_hilbert_decode3_u32(key3, &u, &v, &w, levels);
    *out = u, out += n, *out = v, out += n, *out = w, out += n;
    *out = cunumpy_hilbert_parity_above(x), out += n;
    u = x, v = y, cunumpy_hilbert_step(5, &u, &v);
    *out = (u64)v << 32 | u, out += n;
    *out = cunumpy_morton_clip_levels(levels + i - n / 2, 10);
}

extern "C" __global__ void points(const double* px, const double* py, const double* pz, double lower, double scale,
                                  int levels, int n, u64* rows, double* clipped) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64* out = rows + i;
    const double x = px[i], y = py[i], z = pz[i], l = lower, s = scale;
    *out = cunumpy_morton_cell(x, l, s, levels), out += n;
    *out = cunumpy_morton_key2(x, y, l, l, s, s, levels), out += n;
    *out = cunumpy_morton_key3(x, y, z, l, l, l, s, s, s, levels), out += n;
    *out = cunumpy_morton_key2_u32(x, y, l, l, s, s, levels), out += n;
    *out = cunumpy_morton_key3_u32(x, y, z, l, l, l, s, s, s, levels), out += n;
    *out = cunumpy_hilbert_key2(x, y, l, l, s, s, levels), out += n;
    *out = cunumpy_hilbert_key3(x, y, z, l, l, l, s, s, s, levels), out += n;
    *out = cunumpy_hilbert_key2_u32(x, y, l, l, s, s, levels), out += n;
    *out = cunumpy_hilbert_key3_u32(x, y, z, l, l, l, s, s, s, levels);
    clipped[i] = cunumpy_morton_clipped(x, l, s, (double)((1 << levels) - 1));
}
