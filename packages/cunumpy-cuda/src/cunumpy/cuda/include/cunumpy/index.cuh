// Which elements a thread works on: global thread indices, loops over grids, flattened indices.
//
//     __global__ void scale(double* x, double factor, long long n) {
//         for (auto i : cunumpy::grid_stride(n)) x[i] *= factor;
//     }
//
// Axis x is the first index (i), y the second (j), z the third (k), as in `n_threads=(ni, nj, nk)` of a launch. Indices
// are 64-bit unless a name ends in 32; extents below 0 count as 0. All functions are per thread and may diverge.
//
// The macros CUNUMPY_THREAD_* return from the enclosing function, which therefore is a void one, and are several
// statements: put braces around them after an `if`. Threads that they end must be missed by no barrier, block function
// or warp function that follows. The loops have none of these limits: they end where the thread has no element (left).
//
// Needs no other header; in plain C++, declare threadIdx, blockIdx, blockDim and gridDim before it. C++11.
#ifndef CUNUMPY_INDEX_CUH
#define CUNUMPY_INDEX_CUH

// ---- One thread, one element ----------------------------------------------------------------------------------------

// The global index of the thread on an axis, as long long.
#define CUNUMPY_GLOBAL_INDEX_X() (cunumpy::global_index_x())
#define CUNUMPY_GLOBAL_INDEX_Y() (cunumpy::global_index_y())
#define CUNUMPY_GLOBAL_INDEX_Z() (cunumpy::global_index_z())

// Declares `long long i`, the x index, and returns from the enclosing function if it is not below n.
#define CUNUMPY_THREAD_1D(i, n)               \
    long long i = CUNUMPY_GLOBAL_INDEX_X();   \
    if (i >= static_cast<long long>(n)) return

// Declares `long long i, j`, the x and y indices, and returns if either is outside of (ni, nj).
#define CUNUMPY_THREAD_2D(i, j, ni, nj)       \
    long long i = CUNUMPY_GLOBAL_INDEX_X();   \
    long long j = CUNUMPY_GLOBAL_INDEX_Y();   \
    if (i >= static_cast<long long>(ni) || j >= static_cast<long long>(nj)) return

// Declares `long long i, j, k`, the x, y and z indices, and returns if any is outside of (ni, nj, nk).
#define CUNUMPY_THREAD_3D(i, j, k, ni, nj, nk) \
    long long i = CUNUMPY_GLOBAL_INDEX_X();    \
    long long j = CUNUMPY_GLOBAL_INDEX_Y();    \
    long long k = CUNUMPY_GLOBAL_INDEX_Z();    \
    if (i >= static_cast<long long>(ni) || j >= static_cast<long long>(nj) || k >= static_cast<long long>(nk)) return

// The head of a loop: `long long i` from the x index up to n, by the number of threads of the grid on x.
#define CUNUMPY_GRID_STRIDE_1D(i, n) \
    for (long long i = CUNUMPY_GLOBAL_INDEX_X(); i < static_cast<long long>(n); i += cunumpy::global_size_x())

// The place of the thread in its block, in linear order (x fastest), and how many threads the block has.
__device__ __forceinline__ int cunumpy_block_thread() {
    return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

__device__ __forceinline__ int cunumpy_block_threads() { return (int)(blockDim.x * blockDim.y * blockDim.z); }

namespace cunumpy {

// The global index of the thread on an axis.
__device__ __forceinline__ long long global_index_x() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ long long global_index_y() { return (long long)blockIdx.y * blockDim.y + threadIdx.y; }
__device__ __forceinline__ long long global_index_z() { return (long long)blockIdx.z * blockDim.z + threadIdx.z; }

// The number of threads of the grid on an axis.
__device__ __forceinline__ long long global_size_x() { return (long long)gridDim.x * blockDim.x; }
__device__ __forceinline__ long long global_size_y() { return (long long)gridDim.y * blockDim.y; }
__device__ __forceinline__ long long global_size_z() { return (long long)gridDim.z * blockDim.z; }

// ---- Loops over a grid, for any launch size -------------------------------------------------------------------------

// What the loops in two and three dimensions give: `index.i`, or from C++17 on `for (auto [i, j] : ...)`.
template <class Index>
struct Index2 {
    Index i, j;
};

template <class Index>
struct Index3 {
    Index i, j, k;
};

}  // namespace cunumpy

namespace cunumpy_detail {

// Positions are kept unsigned: one step beyond the end then never overflows.
template <class Index>
struct UnsignedIndex;
template <>
struct UnsignedIndex<long long> {
    typedef unsigned long long type;
};
template <>
struct UnsignedIndex<int> {
    typedef unsigned int type;
};

template <class Index, int Rank>
struct GridItem;
template <class Index>
struct GridItem<Index, 1> {
    typedef Index type;
    template <class Other>
    static __device__ __forceinline__ type make(const Other* p) {
        return (Index)p[0];
    }
};
template <class Index>
struct GridItem<Index, 2> {
    typedef cunumpy::Index2<Index> type;
    template <class Other>
    static __device__ __forceinline__ type make(const Other* p) {
        return type{(Index)p[0], (Index)p[1]};
    }
};
template <class Index>
struct GridItem<Index, 3> {
    typedef cunumpy::Index3<Index> type;
    template <class Other>
    static __device__ __forceinline__ type make(const Other* p) {
        return type{(Index)p[0], (Index)p[1], (Index)p[2]};
    }
};

// The indices that a thread visits, the last axis fastest; both the range and its iterator.
template <class Index, int Rank>
struct GridRange {
    typedef typename UnsignedIndex<Index>::type Unsigned;
    Unsigned position[Rank], first[Rank], limit[Rank], step[Rank];

    __device__ __forceinline__ void axis(int a, Index extent, long long index, long long size) {
        const long long largest = (long long)((Unsigned)-1 >> 1);
        limit[a] = extent > 0 ? (Unsigned)extent : 0;
        first[a] = index < (long long)limit[a] ? (Unsigned)index : limit[a];
        step[a] = (Unsigned)(size < largest ? size : largest);
    }
    __device__ __forceinline__ GridRange begin() const {
        GridRange it = *this;
        bool empty = false;
        for (int a = 0; a < Rank; ++a) {
            it.position[a] = first[a];
            empty = empty || first[a] >= limit[a];
        }
        if (empty) it.position[0] = limit[0];
        return it;
    }
    __device__ __forceinline__ GridRange end() const { return *this; }
    __device__ __forceinline__ typename GridItem<Index, Rank>::type operator*() const {
        return GridItem<Index, Rank>::make(position);
    }
    __device__ __forceinline__ GridRange& operator++() {
        for (int a = Rank - 1; a >= 0; --a) {
            position[a] += step[a];
            if (a == 0 || position[a] < limit[a]) break;
            position[a] = first[a];
        }
        return *this;
    }
    // Compared with the end only, which is where the first axis has been passed.
    __device__ __forceinline__ bool operator!=(const GridRange& end) const { return position[0] < end.limit[0]; }
};

template <class Index>
__device__ __forceinline__ GridRange<Index, 1> grid_range(Index n) {
    GridRange<Index, 1> range = {};
    range.axis(0, n, cunumpy::global_index_x(), cunumpy::global_size_x());
    return range;
}

template <class Index>
__device__ __forceinline__ GridRange<Index, 2> grid_range(Index ni, Index nj) {
    GridRange<Index, 2> range = {};
    range.axis(0, ni, cunumpy::global_index_x(), cunumpy::global_size_x());
    range.axis(1, nj, cunumpy::global_index_y(), cunumpy::global_size_y());
    return range;
}

template <class Index>
__device__ __forceinline__ GridRange<Index, 3> grid_range(Index ni, Index nj, Index nk) {
    GridRange<Index, 3> range = {};
    range.axis(0, ni, cunumpy::global_index_x(), cunumpy::global_size_x());
    range.axis(1, nj, cunumpy::global_index_y(), cunumpy::global_size_y());
    range.axis(2, nk, cunumpy::global_index_z(), cunumpy::global_size_z());
    return range;
}

}  // namespace cunumpy_detail

namespace cunumpy {

// `for (auto i : cunumpy::grid_stride(n))`: all threads of the grid together visit every i in [0, n) once.
__device__ __forceinline__ cunumpy_detail::GridRange<long long, 1> grid_stride(long long n) {
    return cunumpy_detail::grid_range<long long>(n);
}

// `for (auto p : cunumpy::grid_stride(ni, nj))`: every (p.i, p.j) once, over x and y.
__device__ __forceinline__ cunumpy_detail::GridRange<long long, 2> grid_stride(long long ni, long long nj) {
    return cunumpy_detail::grid_range<long long>(ni, nj);
}

// `for (auto p : cunumpy::grid_stride(ni, nj, nk))`: every (p.i, p.j, p.k) once, over x, y and z.
__device__ __forceinline__ cunumpy_detail::GridRange<long long, 3> grid_stride(long long ni, long long nj,
                                                                               long long nk) {
    return cunumpy_detail::grid_range<long long>(ni, nj, nk);
}

// The same with indices of type int, which need half the registers. Nothing overflows up to extents of 2^31 - 1.
__device__ __forceinline__ cunumpy_detail::GridRange<int, 1> grid_stride32(int n) {
    return cunumpy_detail::grid_range<int>(n);
}

__device__ __forceinline__ cunumpy_detail::GridRange<int, 2> grid_stride32(int ni, int nj) {
    return cunumpy_detail::grid_range<int>(ni, nj);
}

__device__ __forceinline__ cunumpy_detail::GridRange<int, 3> grid_stride32(int ni, int nj, int nk) {
    return cunumpy_detail::grid_range<int>(ni, nj, nk);
}

// ---- Flattened indices, in C order: what numpy.unravel_index gives --------------------------------------------------

// The index of element number `flat` of an array of shape (ni, nj). 0 <= flat < ni nj.
__host__ __device__ __forceinline__ Index2<long long> unravel_index(long long flat, long long /* ni */, long long nj) {
    const unsigned long long n = (unsigned long long)flat, row = n / (unsigned long long)nj;
    return Index2<long long>{(long long)row, (long long)(n - row * (unsigned long long)nj)};
}

// The index of element number `flat` of an array of shape (ni, nj, nk). 0 <= flat < ni nj nk.
__host__ __device__ __forceinline__ Index3<long long> unravel_index(long long flat, long long ni, long long nj,
                                                                    long long nk) {
    const Index2<long long> rows = unravel_index(flat, ni * nj, nk);
    const Index2<long long> first = unravel_index(rows.i, ni, nj);
    return Index3<long long>{first.i, first.j, rows.j};
}

// The same with 32-bit division, which is several times faster.
__host__ __device__ __forceinline__ Index2<int> unravel_index32(int flat, int /* ni */, int nj) {
    const unsigned int n = (unsigned int)flat, row = n / (unsigned int)nj;
    return Index2<int>{(int)row, (int)(n - row * (unsigned int)nj)};
}

__host__ __device__ __forceinline__ Index3<int> unravel_index32(int flat, int ni, int nj, int nk) {
    const Index2<int> rows = unravel_index32(flat, ni * nj, nk);
    const Index2<int> first = unravel_index32(rows.i, ni, nj);
    return Index3<int>{first.i, first.j, rows.j};
}

// In any number of dimensions: fills `index`; `shape` may be that of an array view. Index is long long or int.
template <class Index, int Rank>
__host__ __device__ __forceinline__ void unravel_index(long long flat, const Index (&shape)[Rank],
                                                       Index (&index)[Rank]) {
    typedef typename cunumpy_detail::UnsignedIndex<Index>::type Unsigned;
    Unsigned n = (Unsigned)flat;
    for (int axis = Rank - 1; axis > 0; --axis) {
        const Unsigned extent = (Unsigned)shape[axis], next = n / extent;
        index[axis] = (Index)(n - next * extent);
        n = next;
    }
    index[0] = (Index)n;
}

}  // namespace cunumpy

#endif
