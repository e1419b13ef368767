// One marker a thread; deposit_kernels.py says what it does. Several may add to one grid point at once, hence atomically,
// and in any order: the last bits of the density differ from run to run.
#include <cunumpy/array_view.cuh>
#include <cunumpy/atomic.cuh>
#include <cunumpy/index.cuh>

extern "C" __global__ void deposit(CArray1D<const double> positions, CArray1D<double> density) {
    const long long cells = density.size();
    for (auto i : cunumpy::grid_stride(positions.size())) {
        const double place = positions(i) * cells;
        long long left = (long long)place;
        if (left == cells) left = cells - 1;
        const long long right = left + 1 < cells ? left + 1 : 0;
        const double fraction = place - left;
        cunumpy_atomic_add(&density(left), 1 - fraction);
        cunumpy_atomic_add(&density(right), fraction);
    }
}
