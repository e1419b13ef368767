// Reductions of a warp, a block and a grid, by sum, product, minimum, maximum or any operation.
//
//     double sum = 0;
//     for (auto i : cunumpy::grid_stride(n)) sum += x[i];
//     cunumpy_block_sum_to(out, sum);  // *out was 0
//
// Warp-wide functions: every lane that the mask names calls, with the same mask, which names the caller. Any mask but 0
// will do, also one with gaps; the default needs a whole warp.
// Block-wide functions: every thread of the block calls, and none has returned before (no CUNUMPY_THREAD_* macro);
// threads without a value pass the operation's identity, or are beyond `count`. Blocks have any size and 1 to 3
// dimensions; the order of threads is linear, x fastest. Each call is also a barrier: what was written before it, the
// block sees after it. At most three barriers a call; calls may follow each other at once.
//
// Types: whatever memcpy may copy, as numbers of any width, complex ones and structs. An operation is an object with
// T operator()(T, T) const that is associative; it need not be commutative, for the order of lanes and threads is kept.
// Results are deterministic and the same in every lane or thread that gets them. Warps shuffle log2(32) times, by
// doubling distance; masks with gaps cost twice that.
//
// Shared memory: one buffer of 33 values of 8 bytes for all types of up to 8 bytes and all operations; wider types have
// one for each multiple of 16 bytes.
//
// Needs <cunumpy/index.cuh>, <cunumpy/portability.cuh> and <cunumpy/atomic.cuh>. C++11.
#ifndef CUNUMPY_REDUCE_CUH
#define CUNUMPY_REDUCE_CUH

#include <cunumpy/index.cuh>
#include <cunumpy/portability.cuh>
#include <cunumpy/atomic.cuh>

#ifndef CUNUMPY_HAS_WARP
#error "<cunumpy/reduce.cuh> needs warps: compile for CUDA or HIP, or for a CPU device (see <cunumpy/portability.cuh>)"
#endif

// ---- Operations -----------------------------------------------------------------------------------------------------

namespace cunumpy_detail {

// The smallest and the largest value, infinities included.
template <class T>
struct Limits {
    static_assert(IsInteger<T>::value, "only integers, float and double have limits here");
    static constexpr bool is_signed = (T)-1 < (T)0;
    static constexpr T half = (T)((T)1 << (8 * sizeof(T) - 2));
    static __device__ __forceinline__ T highest() {
        return is_signed ? (T)(half - 1 + half) : (T)-1;
    }
    static __device__ __forceinline__ T lowest() { return is_signed ? (T)(-(T)(half - 1 + half) - 1) : (T)0; }
};
template <>
struct Limits<float> {
    static __device__ __forceinline__ float highest() {
        const unsigned int bits = 0x7f800000u;
        float infinity;
        copy_bytes<4>(&infinity, &bits);
        return infinity;
    }
    static __device__ __forceinline__ float lowest() { return -highest(); }
};
template <>
struct Limits<double> {
    static __device__ __forceinline__ double highest() {
        const unsigned long long bits = 0x7ff0000000000000ull;
        double infinity;
        copy_bytes<8>(&infinity, &bits);
        return infinity;
    }
    static __device__ __forceinline__ double lowest() { return -highest(); }
};

}  // namespace cunumpy_detail

// identity<T>(): what leaves every other operand as it is. fill(partial): such a value, given one operand.
struct cunumpy_sum_op {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return (T)(a + b);
    }
    template <class T>
    static __device__ __forceinline__ T identity() {
        return (T)0;
    }
    template <class T>
    static __device__ __forceinline__ T fill(const T*) {
        return (T)0;
    }
};

struct cunumpy_product_op {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return (T)(a * b);
    }
    template <class T>
    static __device__ __forceinline__ T identity() {
        return (T)1;
    }
    template <class T>
    static __device__ __forceinline__ T fill(const T*) {
        return (T)1;
    }
};

// NaN if either is one, as numpy.minimum and numpy.maximum.
struct cunumpy_min_op {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return b < a || b != b ? b : a;
    }
    template <class T>
    static __device__ __forceinline__ T identity() {
        return cunumpy_detail::Limits<T>::highest();
    }
    template <class T>
    static __device__ __forceinline__ T fill(const T* partial) {
        return partial[0];
    }
};

struct cunumpy_max_op {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return a < b || b != b ? b : a;
    }
    template <class T>
    static __device__ __forceinline__ T identity() {
        return cunumpy_detail::Limits<T>::lowest();
    }
    template <class T>
    static __device__ __forceinline__ T fill(const T* partial) {
        return partial[0];
    }
};

// A value and where it is.
template <class T>
struct cunumpy_indexed {
    T value;
    long long index;
};

// The smaller (larger) value, of equal ones that with the lower index; the first NaN before numbers. As numpy.argmin.
struct cunumpy_argmin_op {
    template <class T>
    __device__ __forceinline__ cunumpy_indexed<T> operator()(cunumpy_indexed<T> a, cunumpy_indexed<T> b) const {
        const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
        const bool tie = (nan_a && nan_b) || a.value == b.value;
        return (tie ? b.index < a.index : !nan_a && (nan_b || b.value < a.value)) ? b : a;
    }
};

struct cunumpy_argmax_op {
    template <class T>
    __device__ __forceinline__ cunumpy_indexed<T> operator()(cunumpy_indexed<T> a, cunumpy_indexed<T> b) const {
        const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
        const bool tie = (nan_a && nan_b) || a.value == b.value;
        return (tie ? b.index < a.index : !nan_a && (nan_b || a.value < b.value)) ? b : a;
    }
};

// ---- The caller's place ---------------------------------------------------------------------------------------------

// The caller's lane and warp in its block, and how many warps the block has.
__device__ __forceinline__ int cunumpy_lane() { return cunumpy_block_thread() % CUNUMPY_WARP_SIZE; }
__device__ __forceinline__ int cunumpy_warp() { return cunumpy_block_thread() / CUNUMPY_WARP_SIZE; }
__device__ __forceinline__ int cunumpy_block_warps() {
    return (cunumpy_block_threads() + CUNUMPY_WARP_SIZE - 1) / CUNUMPY_WARP_SIZE;
}

// The lanes that exist in the caller's warp: all of them, except in the last warp of some blocks. The block's threads
// must all get here.
__device__ __forceinline__ cunumpy_lane_mask cunumpy_block_warp_mask() {
    const int lanes = cunumpy_block_threads() - cunumpy_warp() * CUNUMPY_WARP_SIZE;
    return lanes >= CUNUMPY_WARP_SIZE ? CUNUMPY_FULL_WARP_MASK : ((cunumpy_lane_mask)1 << lanes) - 1;
}

// ---- Warps ----------------------------------------------------------------------------------------------------------

namespace cunumpy_detail {

__device__ __forceinline__ bool contiguous(cunumpy_lane_mask mask) {
    const cunumpy_lane_mask lanes = mask >> cunumpy_first_lane(mask);
    return (lanes & (lanes + 1)) == 0;
}

// The reduction over the lanes from the caller's to those before `end`, in the caller; the mask names them, and may
// name more.
template <class T, class Op>
__device__ __forceinline__ T warp_suffix_reduce(T v, Op op, cunumpy_lane_mask mask, int end) {
    const int lane = cunumpy_lane();
    if (end > CUNUMPY_WARP_SIZE) end = CUNUMPY_WARP_SIZE;
    for (int distance = 1; distance < CUNUMPY_WARP_SIZE; distance *= 2) {
        const bool inside = lane + distance < end;
        const T other = cunumpy_shuffle(mask, v, inside ? lane + distance : lane);
        if (inside) v = op(v, other);
    }
    return v;
}

}  // namespace cunumpy_detail

// The reduction over the lanes that the mask names, in each of them. Warp-wide.
template <class T, class Op>
__device__ __forceinline__ T cunumpy_warp_reduce(T v, Op op, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    const int lane = cunumpy_lane();
    if (mask == CUNUMPY_FULL_WARP_MASK) {
        for (int distance = 1; distance < CUNUMPY_WARP_SIZE; distance *= 2) {
            const T other = cunumpy_shuffle(mask, v, lane ^ distance);
            v = lane & distance ? op(other, v) : op(v, other);
        }
        return v;
    }
    if (cunumpy_detail::contiguous(mask)) {
        v = cunumpy_detail::warp_suffix_reduce(v, op, mask, cunumpy_last_lane(mask) + 1);
    } else {
        // Each lane knows the lane that follows what it has reduced, if there is one.
        const cunumpy_lane_mask above = lane == CUNUMPY_WARP_SIZE - 1 ? 0 : mask >> (lane + 1);
        int next = above == 0 ? CUNUMPY_WARP_SIZE : lane + 1 + cunumpy_first_lane(above);
        for (int lanes = cunumpy_lane_count(mask) - 1; lanes > 0; lanes /= 2) {
            const bool inside = next < CUNUMPY_WARP_SIZE;
            const T other = cunumpy_shuffle(mask, v, inside ? next : lane);
            const int after = cunumpy_shuffle(mask, next, inside ? next : lane);
            if (inside) v = op(v, other);
            if (inside) next = after;
        }
    }
    return cunumpy_shuffle(mask, v, cunumpy_first_lane(mask));
}

// The sum, product, minimum or maximum of the lanes that the mask names, in each of them. Warp-wide.
template <class T>
__device__ __forceinline__ T cunumpy_warp_sum(T v, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_reduce(v, cunumpy_sum_op(), mask);
}
template <class T>
__device__ __forceinline__ T cunumpy_warp_product(T v, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_reduce(v, cunumpy_product_op(), mask);
}
template <class T>
__device__ __forceinline__ T cunumpy_warp_min(T v, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_reduce(v, cunumpy_min_op(), mask);
}
template <class T>
__device__ __forceinline__ T cunumpy_warp_max(T v, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_reduce(v, cunumpy_max_op(), mask);
}

// The least (greatest) value and its index, of those that the lanes pass, in each of them. Warp-wide.
template <class T>
__device__ __forceinline__ cunumpy_indexed<T> cunumpy_warp_argmin(T v, long long index,
                                                                  cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_reduce(cunumpy_indexed<T>{v, index}, cunumpy_argmin_op(), mask);
}
template <class T>
__device__ __forceinline__ cunumpy_indexed<T> cunumpy_warp_argmax(T v, long long index,
                                                                  cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_reduce(cunumpy_indexed<T>{v, index}, cunumpy_argmax_op(), mask);
}

// Whether the predicate is true in any or all of the lanes, or in how many. Warp-wide, one ballot.
__device__ __forceinline__ bool cunumpy_warp_any(bool predicate, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_ballot(mask, predicate) != 0;
}
__device__ __forceinline__ bool cunumpy_warp_all(bool predicate, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_ballot(mask, predicate) == mask;
}
__device__ __forceinline__ int cunumpy_warp_count(bool predicate, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_lane_count(cunumpy_ballot(mask, predicate));
}

// ---- Blocks ---------------------------------------------------------------------------------------------------------

namespace cunumpy_detail {

template <class T>
struct Slot {
    static constexpr int bytes = sizeof(T) <= 8 ? 8 : (int)(sizeof(T) + 15) / 16 * 16;
};

// Two phases a call, each written on one side of a barrier and read on the other: first the warps' values, then the
// first warp's result. As the first phase of a call is separated by the barrier between them from the second phase of
// the call before, no third barrier is needed.
//
// `first` is a slot for each warp; the one after them is for the result.
template <int bytes>
__device__ __forceinline__ unsigned char* block_slots() {
    __shared__ __attribute__((aligned(16))) unsigned char slots[(1024 / CUNUMPY_WARP_SIZE + 1) * bytes];
    return slots;
}

// In any memory that is aligned as T.
template <class T>
__device__ __forceinline__ T& slot(unsigned char* slots, int number) {
    return *(T*)(void*)(slots + number * Slot<T>::bytes);
}

}  // namespace cunumpy_detail

// The reduction over the first `count` threads of the block, at least one, in every thread. Block-wide.
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_reduce(T v, Op op, int count) {
    unsigned char* slots = cunumpy_detail::block_slots<cunumpy_detail::Slot<T>::bytes>();
    const int warp = cunumpy_warp(), lane = cunumpy_lane();
    const int warps = (count + CUNUMPY_WARP_SIZE - 1) / CUNUMPY_WARP_SIZE, result = 1024 / CUNUMPY_WARP_SIZE;
    const cunumpy_lane_mask mask = cunumpy_block_warp_mask();
    v = cunumpy_detail::warp_suffix_reduce(v, op, mask, count - warp * CUNUMPY_WARP_SIZE);
    if (lane == 0 && warp < warps) cunumpy_detail::slot<T>(slots, warp) = v;
    __syncthreads();
    if (warp == 0) {
        // There are as many lanes as warps: were this warp not full, it would be the only one.
        v = cunumpy_detail::slot<T>(slots, lane < warps ? lane : 0);
        v = cunumpy_detail::warp_suffix_reduce(v, op, mask, warps);
        if (lane == 0) cunumpy_detail::slot<T>(slots, result) = v;
    }
    __syncthreads();
    return cunumpy_detail::slot<T>(slots, result);
}

// The reduction over the block, in every thread. Block-wide.
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_reduce(T v, Op op) {
    return cunumpy_block_reduce(v, op, cunumpy_block_threads());
}

// The sum, product, minimum or maximum of the block, in every thread. Block-wide.
template <class T>
__device__ __forceinline__ T cunumpy_block_sum(T v) {
    return cunumpy_block_reduce(v, cunumpy_sum_op());
}
template <class T>
__device__ __forceinline__ T cunumpy_block_product(T v) {
    return cunumpy_block_reduce(v, cunumpy_product_op());
}
template <class T>
__device__ __forceinline__ T cunumpy_block_min(T v) {
    return cunumpy_block_reduce(v, cunumpy_min_op());
}
template <class T>
__device__ __forceinline__ T cunumpy_block_max(T v) {
    return cunumpy_block_reduce(v, cunumpy_max_op());
}

// The least (greatest) value and its index, of those that the threads pass, in every thread. Block-wide.
template <class T>
__device__ __forceinline__ cunumpy_indexed<T> cunumpy_block_argmin(T v, long long index) {
    return cunumpy_block_reduce(cunumpy_indexed<T>{v, index}, cunumpy_argmin_op());
}
template <class T>
__device__ __forceinline__ cunumpy_indexed<T> cunumpy_block_argmax(T v, long long index) {
    return cunumpy_block_reduce(cunumpy_indexed<T>{v, index}, cunumpy_argmax_op());
}

// Whether the predicate is true in any or all of the threads, or in how many. Block-wide, one barrier, no memory.
__device__ __forceinline__ bool cunumpy_block_any(bool predicate) { return __syncthreads_or(predicate) != 0; }
__device__ __forceinline__ bool cunumpy_block_all(bool predicate) { return __syncthreads_and(predicate) != 0; }
__device__ __forceinline__ int cunumpy_block_count(bool predicate) { return __syncthreads_count(predicate); }

// ---- Grids ----------------------------------------------------------------------------------------------------------

// Adds the block's sum to *out, which the caller has set to 0 for the total of the grid: one atomic, by thread 0, and
// none where the sum is 0. Block-wide. The order of blocks is not defined, nor are the last bits of floating sums.
template <class T>
__device__ __forceinline__ void cunumpy_block_sum_to(T* out, typename cunumpy_detail::NotDeduced<T>::type v) {
    const T sum = cunumpy_block_sum((T)v);
    if (cunumpy_block_thread() == 0 && sum != (T)0) cunumpy_atomic_add(out, sum);
}

namespace cunumpy_detail {

// What other blocks have written, not what a cache may have kept.
template <class T>
__device__ __forceinline__ T read_volatile(const T* p) {
    typedef unsigned int __attribute__((__may_alias__)) Word;
    T v = *p;
    if (sizeof(T) % 4 == 0) {
        unsigned int words[(sizeof(T) + 3) / 4];
        for (int i = 0; i < (int)(sizeof(T) / 4); ++i) words[i] = ((const volatile Word*)p)[i];
        copy_bytes<sizeof(T) / 4 * 4>((void*)&v, words);
    } else {
        unsigned char bytes[sizeof(T)];
        for (int i = 0; i < (int)sizeof(T); ++i) bytes[i] = ((const volatile unsigned char*)p)[i];
        copy_bytes<sizeof(T)>((void*)&v, bytes);
    }
    return v;
}

}  // namespace cunumpy_detail

// The reduction over the grid into *out, in the order of blocks and threads: every launch of the same shape gives the
// same bits. Block-wide, in all blocks; true in the threads of the block that came last, which see *out.
//
// partials: as many elements as the grid has blocks. counter: 0 before the kernel, which leaves it 0. Neither may be
// used by another reduction of the same kernel.
template <class T, class Op>
__device__ __forceinline__ bool cunumpy_grid_reduce(T v, Op op, T* partials, unsigned int* counter, T* out) {
    const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
    const unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned int thread = (unsigned int)cunumpy_block_thread(), threads = (unsigned int)cunumpy_block_threads();
    v = cunumpy_block_reduce(v, op);
    bool last = false;
    if (thread == 0) {
        partials[block] = v;
        __threadfence();
        last = cunumpy_atomic_add(counter, 1u) == blocks - 1;
        __threadfence();
    }
    if (!cunumpy_block_any(last)) return false;
    // Each thread takes as many neighbours as the others, the last one fewer, and those after it none.
    const unsigned int each = (blocks - 1) / threads + 1, active = (blocks - 1) / each + 1;
    if (thread < active) {
        v = cunumpy_detail::read_volatile(partials + thread * each);
        for (unsigned int i = 1; i < each && thread * each + i < blocks; ++i)
            v = op(v, cunumpy_detail::read_volatile(partials + thread * each + i));
    }
    v = cunumpy_block_reduce(v, op, (int)active);
    if (thread == 0) {
        *out = v;
        *counter = 0;
    }
    __syncthreads();
    return true;
}

#endif
