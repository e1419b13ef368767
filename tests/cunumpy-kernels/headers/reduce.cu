// Everything of <cunumpy/reduce.cuh>: `results` has a row of n values for each function, n the threads of the grid.
#include <cunumpy/reduce.cuh>

struct First {  // does not commute
    __device__ double operator()(double a, double) const { return a; }
};

extern "C" __global__ void reductions(const double* x, unsigned int mask, long long n, double* results, double* sum,
                                      double* partials, unsigned int* counter, double* whole) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    double *out = results + i, v = x[i];
    const bool positive = v > 0;

    *out = cunumpy_block_sum(v), out += n;
    *out = cunumpy_block_product(v > 4 ? 2.0 : 1.0), out += n;
    *out = cunumpy_block_min(v), out += n;
    *out = cunumpy_block_max(v), out += n;
    *out = cunumpy_block_reduce(v, First()), out += n;
    *out = cunumpy_block_reduce(v, cunumpy_sum_op(), 40), out += n;
    *out = cunumpy_block_argmin(v, i).index, out += n;
    *out = cunumpy_block_argmax(v, i).index, out += n;
    *out = cunumpy_block_any(v > 8), out += n;
    *out = cunumpy_block_all(v > -8), out += n;
    *out = cunumpy_block_count(positive), out += n;
    *out = cunumpy_block_warp_mask(), out += n;
    *out = cunumpy_block_warps() * 10000 + cunumpy_warp() * 100 + cunumpy_lane(), out += n;
    cunumpy_block_sum_to(sum, v);

    // Of one operation on two values.
    const double w = x[n - 1 - i];
    *out = cunumpy_sum_op()(v, w) + cunumpy_sum_op::fill(x) + cunumpy_sum_op::identity<double>(), out += n;
    *out = cunumpy_product_op()(v, w) * cunumpy_product_op::fill(x) * cunumpy_product_op::identity<double>(), out += n;
    *out = cunumpy_min_op()(v, cunumpy_min_op()(w, cunumpy_min_op::identity<double>())), out += n;
    *out = cunumpy_max_op()(v, cunumpy_max_op()(w, cunumpy_max_op::identity<double>())), out += n;
    *out = cunumpy_min_op()(v, cunumpy_min_op::fill(x)), out += n;
    *out = cunumpy_max_op()(v, cunumpy_max_op::fill(x)), out += n;
    const cunumpy_indexed<double> a = {v, i}, b = {w, n - 1 - i};
    *out = cunumpy_argmin_op()(a, b).index, out += n;
    *out = cunumpy_argmax_op()(a, b).index, out += n;

    cunumpy_grid_reduce(v, cunumpy_sum_op(), partials, counter, whole);

    // The lanes of the mask.
    if (!(mask >> cunumpy_lane() & 1)) return;
    *out = cunumpy_warp_sum(v, mask), out += n;
    *out = cunumpy_warp_product(v > 4 ? 2.0 : 1.0, mask), out += n;
    *out = cunumpy_warp_min(v, mask), out += n;
    *out = cunumpy_warp_max(v, mask), out += n;
    *out = cunumpy_warp_reduce(v, First(), mask), out += n;
    *out = cunumpy_warp_argmin(v, i, mask).index, out += n;
    *out = cunumpy_warp_argmax(v, i, mask).index, out += n;
    *out = cunumpy_warp_any(v > 6, mask), out += n;
    *out = cunumpy_warp_all(v > -6, mask), out += n;
    *out = cunumpy_warp_count(positive, mask);
}
