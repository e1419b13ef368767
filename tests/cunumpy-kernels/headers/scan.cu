// Everything of <cunumpy/scan.cuh>, in one block: `results` has a row of blockDim.x values for each function.
#include <cunumpy/scan.cuh>

struct Add {
    __device__ double operator()(double a, double b) const { return a + b; }
};

extern "C" __global__ void scans(const double* x, const bool* heads, unsigned int mask, double* results) {
    const int i = threadIdx.x, n = blockDim.x;
    const double v = x[i];
    const bool head = heads[i];
    double *out = results + i, total;

    *out = cunumpy_block_inclusive_sum(v), out += n;
    *out = cunumpy_block_inclusive_sum(v, &total), out += n, *out = total, out += n;
    *out = cunumpy_block_exclusive_sum(v), out += n;
    *out = cunumpy_block_exclusive_sum(v, &total), out += n, *out = total, out += n;
    *out = cunumpy_block_scan_sum<double, false>(v), out += n;
    *out = cunumpy_block_scan_sum<double, true>(v, &total), out += n, *out = total, out += n;
    *out = cunumpy_block_inclusive_scan(v, Add()), out += n;
    *out = cunumpy_block_inclusive_scan(v, Add(), &total), out += n, *out = total, out += n;
    *out = cunumpy_block_exclusive_scan(v, Add(), 0), out += n;
    *out = cunumpy_block_exclusive_scan(v, Add(), 0, &total), out += n, *out = total, out += n;
    *out = cunumpy_block_segmented_inclusive_scan(v, head, Add()), out += n;
    *out = cunumpy_block_segmented_exclusive_scan(v, head, Add(), 0), out += n;

    // Three values a thread: those of the block's threads one after another.
    for (int way = 0; way < 8; ++way) {
        double items[3] = {v, 2 * v, 3 * v};
        total = 0;
        switch (way) {
            case 0: cunumpy_block_inclusive_sum_items(items); break;
            case 1: cunumpy_block_inclusive_sum_items(items, &total); break;
            case 2: cunumpy_block_inclusive_scan_items(items, Add()); break;
            case 3: cunumpy_block_inclusive_scan_items(items, Add(), &total); break;
            case 4: cunumpy_block_exclusive_sum_items(items); break;
            case 5: cunumpy_block_exclusive_sum_items(items, &total); break;
            case 6: cunumpy_block_exclusive_scan_items(items, Add(), 0); break;
            case 7: cunumpy_block_exclusive_scan_items(items, Add(), 0, &total); break;
        }
        for (int k = 0; k < 3; ++k) *out = items[k], out += n;
        *out = total, out += n;
    }

    // The lanes of the mask.
    if (!(mask >> i % 32 & 1)) return;
    *out = cunumpy_warp_inclusive_sum(v, mask), out += n;
    *out = cunumpy_warp_exclusive_sum(v, mask), out += n;
    *out = cunumpy_warp_inclusive_scan(v, Add(), mask), out += n;
    *out = cunumpy_warp_exclusive_scan(v, Add(), 0, mask), out += n;
    *out = cunumpy_warp_segmented_inclusive_scan(v, head, Add(), mask), out += n;
    *out = cunumpy_warp_segmented_exclusive_scan(v, head, Add(), 0, mask);
}
