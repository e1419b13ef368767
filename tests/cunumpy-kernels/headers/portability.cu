// Everything of <cunumpy/portability.cuh>: one warp, of which the lanes in a mask take part.
#include <cunumpy/portability.cuh>

#if !defined(CUNUMPY_HAS_WARP) || defined(CUNUMPY_HIP)
#error "a device with CUDA's warps"
#endif

struct Wide {
    double v[3];
};

extern "C" __global__ void lanes(unsigned int mask, int* out, double* shuffled) {
    const int lane = threadIdx.x;
    if (!(mask >> lane & 1)) return;
    int* row = out + 6 * lane;
    row[0] = cunumpy_ballot(mask, lane % 3 == 0);
    row[1] = cunumpy_first_lane(mask);
    row[2] = cunumpy_last_lane(mask);
    row[3] = cunumpy_lane_count(mask);
    row[4] = CUNUMPY_WARP_SIZE;
    row[5] = CUNUMPY_FULL_WARP_MASK == 0xffffffffu;
    const Wide wide = {{lane + 0.5, 2.0 * lane, -1.0 * lane}};
    const Wide other = cunumpy_shuffle(mask, wide, cunumpy_last_lane(mask));
    for (int k = 0; k < 3; ++k) shuffled[3 * lane + k] = other.v[k];
}
