// Everything of <cunumpy/array_view.cuh>: what the members of views with three dimensions give.
#include <cunumpy/array_view.cuh>

template <class View>
__device__ double* members(View a, double* out) {
    *out++ = a.size();
    *out++ = a(1, 2, 3);
    *out++ = a.at("a", 1, 2, 3);
    *out++ = CUNUMPY_AT(a, 1, 2, 3);
    *out++ = a.load(1, 2, 3);
    *out++ = a.flat(23);
    *out++ = a.sub(1)(2, 3);
    *out++ = a.sub(1, 2)(3);
    *out++ = a.fix(1, 2)(1, 3);
    *out++ = a.slice(2, 1, 4)(1, 2, 2);
    *out++ = a.slice(2, 1, 4, 2)(1, 2, 1);
    *out++ = a.strided()(1, 2, 3);
    return out;
}

// Arrays of shape (2, 3, 4).
extern "C" __global__ void views(Array3D<double> a, CArray3D<double> c, double* out) {
    out = members(a, out);
    out = members(c, out);
    out = members(cunumpy::index32(a), out);
    out = members(cunumpy::index32(c), out);
    *out++ = cunumpy::fits_index32(a);
    *out++ = cunumpy::fits_index32(c);
    *out++ = c.row(1, 2)[3];
    *out++ = cunumpy::index32(c).row(1, 2)[3];
    const Array3D<const double> readable = c;
    *out++ = readable(1, 2, 3);
    a(0, 0, 0) = -1;
    c.row(0, 0)[0] = -2;
}

// Stops if an index is bad; the first two do so with bounds checks only.
extern "C" __global__ void stops(int way, int index) {
    if (way == 0) CUNUMPY_CHECK_INDEX(index, 0, 3);
    if (way == 1) CUNUMPY_CHECK_INDEX_OF("p", index, 0, 3);
    if (way == 2 && index >= 3) CUNUMPY_TRAP();
}
