// What the collectives of CUB share that work within a block, in the headers cub/: operators, lanes and storage (CUB's
// documentation of CUDA 12). Template parameters, names and results are CUB's; all algorithms of a collective are the same
// one here. Sums of floating-point numbers run through the threads in order, so that they may differ from a GPU's in the last
// bits.
#pragma once

#include "atomics.hpp"
#include "warps.hpp"

namespace cub {

struct Sum {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return a + b;
    }
};
struct Max {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return a < b ? b : a;
    }
};
struct Min {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return b < a ? b : a;
    }
};
template <class Key, class Value>
struct KeyValuePair {
    typedef Key Key_;
    typedef Value Value_;
    Key key;
    Value value;
};
struct ArgMax {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

inline unsigned int LaneId() { return cunumpy_cpu::current_thread().lane; }
inline unsigned int WarpId() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32; }
inline unsigned int RowMajorTid(int x, int y, int z) {
    return threadIdx.x + (unsigned int)x * (threadIdx.y + (unsigned int)(z == 1 ? 1 : y) * threadIdx.z);
}

namespace detail {

inline int block_rank() { return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)); }

// Memory for values of any type; not constructed, as shared memory is not.
template <class T, int count>
struct Storage {
    __attribute__((aligned(__alignof__(T)))) char bytes[sizeof(T) * count];
    T& operator[](int i) { return ((T*)bytes)[i]; }
};
// Where a collective was given no storage.
template <class TempStorage>
inline TempStorage& own_storage() {
    static thread_local TempStorage storage;
    return storage;
}

template <int threads>
struct LogicalWarp {
    static_assert(threads >= 1 && threads <= 32, "a logical warp has 1 to 32 threads");
    int rank, first;
    unsigned int mask;
    LogicalWarp() {
        const int lane = (int)LaneId();
        first = lane / threads * threads;
        rank = lane - first;
        mask = (unsigned int)((1ull << threads) - 1) << first;
    }
    int there() const { return __builtin_popcount(__ballot_sync(mask, 1)); }  // fewer in the last warp of some blocks
    template <class T>
    T from(const T& value, int other) const {
        return cunumpy_cpu::from_lane(mask, value, (unsigned int)(first + other));
    }
};

}  // namespace detail

}  // namespace cub
