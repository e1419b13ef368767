// One marker a thread; push_kernels.py says what it does.
#include <cunumpy/array_view.cuh>
#include <cunumpy/index.cuh>

extern "C" __global__ void push(CArray1D<double> positions, CArray1D<double> velocities, CArray1D<const double> kick) {
    const long long cells = kick.size();
    for (auto i : cunumpy::grid_stride(positions.size())) {
        const double place = positions(i) * cells;
        long long left = (long long)place;
        if (left == cells) left = cells - 1;
        const long long right = left + 1 < cells ? left + 1 : 0;
        velocities(i) += kick(left) + (place - left) * (kick(right) - kick(left));
        const double moved = positions(i) + velocities(i);
        positions(i) = moved - floor(moved);
    }
}
