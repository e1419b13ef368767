// Prefix sums, and prefixes by any operation, of a warp and a block.
//
//     int total, place = cunumpy_block_exclusive_sum(keep ? 1 : 0, &total);  // compaction
//
// Inclusive: over the lanes or threads up to the caller's; exclusive: over those before it, and the identity in the
// first. The order is that of lanes and of threads, x fastest. Exclusive values are moved, not subtracted, so that
// nothing cancels.
//
// The rules for callers, types and operations are those of <cunumpy/reduce.cuh>. Block functions have two barriers, and
// use its shared buffer, and a second one of 32 values of 8 bytes or, for each multiple of 16 bytes, wider ones.
// They work within a block; for whole arrays use cupy.cumsum, or the functions of cunumpy.algorithms.
//
// Needs <cunumpy/reduce.cuh>. C++11.
#ifndef CUNUMPY_SCAN_CUH
#define CUNUMPY_SCAN_CUH

#include <cunumpy/reduce.cuh>

// ---- Warps ----------------------------------------------------------------------------------------------------------

namespace cunumpy_detail {

// The lane before the caller's in the mask, or -1.
__device__ __forceinline__ int lane_before(cunumpy_lane_mask mask) {
    const cunumpy_lane_mask below = mask & (((cunumpy_lane_mask)1 << cunumpy_lane()) - 1);
    return below == 0 ? -1 : cunumpy_last_lane(below);
}

// The prefix over the lanes from `first` on, all of which the mask names.
template <class T, class Op>
__device__ __forceinline__ T warp_prefix_scan(T v, Op op, cunumpy_lane_mask mask, int first) {
    const int lane = cunumpy_lane();
    for (int distance = 1; distance < CUNUMPY_WARP_SIZE; distance *= 2) {
        const bool inside = lane - distance >= first;
        const T other = cunumpy_shuffle(mask, v, inside ? lane - distance : lane);
        if (inside) v = op(other, v);
    }
    return v;
}

}  // namespace cunumpy_detail

// The prefix by an operation over the lanes that the mask names. Warp-wide.
template <class T, class Op>
__device__ __forceinline__ T cunumpy_warp_inclusive_scan(T v, Op op, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    if (cunumpy_detail::contiguous(mask))
        return cunumpy_detail::warp_prefix_scan(v, op, mask, cunumpy_first_lane(mask));
    // Each lane knows the lane before what it has scanned, if there is one.
    int next = cunumpy_detail::lane_before(mask);
    for (int lanes = cunumpy_lane_count(mask) - 1; lanes > 0; lanes /= 2) {
        const bool inside = next >= 0;
        const int source = inside ? next : cunumpy_lane();
        const T other = cunumpy_shuffle(mask, v, source);
        const int after = cunumpy_shuffle(mask, next, source);
        if (inside) v = op(other, v);
        if (inside) next = after;
    }
    return v;
}

template <class T, class Op>
__device__ __forceinline__ T cunumpy_warp_exclusive_scan(
    T v, Op op, typename cunumpy_detail::NotDeduced<T>::type identity,
    cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    const int before = cunumpy_detail::lane_before(mask);
    v = cunumpy_shuffle(mask, cunumpy_warp_inclusive_scan(v, op, mask), before < 0 ? cunumpy_lane() : before);
    return before < 0 ? (T)identity : v;
}

// The prefix sum over the lanes that the mask names. Warp-wide.
template <class T>
__device__ __forceinline__ T cunumpy_warp_inclusive_sum(T v, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_inclusive_scan(v, cunumpy_sum_op(), mask);
}
template <class T>
__device__ __forceinline__ T cunumpy_warp_exclusive_sum(T v, cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    return cunumpy_warp_exclusive_scan(v, cunumpy_sum_op(), (T)0, mask);
}

// ---- Blocks ---------------------------------------------------------------------------------------------------------

namespace cunumpy_detail {

// A slot for each warp, for the second phase; see block_slots.
template <int bytes>
__device__ __forceinline__ unsigned char* block_prefix_slots() {
    __shared__ __attribute__((aligned(16))) unsigned char slots[1024 / CUNUMPY_WARP_SIZE * bytes];
    return slots;
}

// The inclusive prefix of the caller is returned; *before gets that of the thread before, but in thread 0, where there
// is none, v; *total the block's reduction.
template <class T, class Op>
__device__ __forceinline__ T block_scan(T v, Op op, T* before, T* total) {
    unsigned char* sums = block_slots<Slot<T>::bytes>();
    unsigned char* prefixes = block_prefix_slots<Slot<T>::bytes>();
    const int warp = cunumpy_warp(), lane = cunumpy_lane(), warps = cunumpy_block_warps();
    const cunumpy_lane_mask mask = cunumpy_block_warp_mask();
    T inclusive = warp_prefix_scan(v, op, mask, 0);
    T exclusive = cunumpy_shuffle(mask, inclusive, lane > 0 ? lane - 1 : 0);
    if (lane == cunumpy_last_lane(mask)) slot<T>(sums, warp) = inclusive;
    __syncthreads();
    if (warp == 0) {
        const T sum = warp_prefix_scan(slot<T>(sums, lane < warps ? lane : 0), op, mask, 0);
        if (lane < warps) slot<T>(prefixes, lane) = sum;
    }
    __syncthreads();
    *total = slot<T>(prefixes, warps - 1);
    if (warp > 0) {
        const T prefix = slot<T>(prefixes, warp - 1);
        inclusive = op(prefix, inclusive);
        exclusive = lane > 0 ? op(prefix, exclusive) : prefix;
    }
    *before = warp > 0 || lane > 0 ? exclusive : v;
    return inclusive;
}

}  // namespace cunumpy_detail

// The prefix by an operation over the threads of the block; *total gets the reduction of them all. Block-wide.
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_inclusive_scan(T v, Op op, T* total) {
    T before;
    return cunumpy_detail::block_scan(v, op, &before, total);
}
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_inclusive_scan(T v, Op op) {
    T total;
    return cunumpy_block_inclusive_scan(v, op, &total);
}
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_exclusive_scan(T v, Op op,
                                                          typename cunumpy_detail::NotDeduced<T>::type identity,
                                                          T* total) {
    T before;
    cunumpy_detail::block_scan(v, op, &before, total);
    return cunumpy_block_thread() == 0 ? (T)identity : before;
}
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_exclusive_scan(T v, Op op,
                                                          typename cunumpy_detail::NotDeduced<T>::type identity) {
    T total;
    return cunumpy_block_exclusive_scan(v, op, identity, &total);
}

// The prefix sum over the threads of the block; *total gets the sum of them all. Block-wide.
template <class T, bool Exclusive>
__device__ __forceinline__ T cunumpy_block_scan_sum(T v, T* total) {
    return Exclusive ? cunumpy_block_exclusive_scan(v, cunumpy_sum_op(), (T)0, total)
                     : cunumpy_block_inclusive_scan(v, cunumpy_sum_op(), total);
}
template <class T, bool Exclusive>
__device__ __forceinline__ T cunumpy_block_scan_sum(T v) {
    T total;
    return cunumpy_block_scan_sum<T, Exclusive>(v, &total);
}
template <class T>
__device__ __forceinline__ T cunumpy_block_inclusive_sum(T v, T* total) {
    return cunumpy_block_scan_sum<T, false>(v, total);
}
template <class T>
__device__ __forceinline__ T cunumpy_block_inclusive_sum(T v) {
    return cunumpy_block_scan_sum<T, false>(v);
}
template <class T>
__device__ __forceinline__ T cunumpy_block_exclusive_sum(T v, T* total) {
    return cunumpy_block_scan_sum<T, true>(v, total);
}
template <class T>
__device__ __forceinline__ T cunumpy_block_exclusive_sum(T v) {
    return cunumpy_block_scan_sum<T, true>(v);
}

// ---- Several items a thread -----------------------------------------------------------------------------------------

// Thread t has the items t N ... t N + N - 1 of N times as many as there are threads; each becomes its prefix.
// Block-wide.
template <class T, int Items, class Op>
__device__ __forceinline__ void cunumpy_block_inclusive_scan_items(T (&items)[Items], Op op, T* total) {
    for (int i = 1; i < Items; ++i) items[i] = op(items[i - 1], items[i]);
    T before;
    cunumpy_detail::block_scan(items[Items - 1], op, &before, total);
    if (cunumpy_block_thread() > 0)
        for (int i = 0; i < Items; ++i) items[i] = op(before, items[i]);
}
template <class T, int Items, class Op>
__device__ __forceinline__ void cunumpy_block_inclusive_scan_items(T (&items)[Items], Op op) {
    T total;
    cunumpy_block_inclusive_scan_items(items, op, &total);
}
template <class T, int Items, class Op>
__device__ __forceinline__ void cunumpy_block_exclusive_scan_items(
    T (&items)[Items], Op op, typename cunumpy_detail::NotDeduced<T>::type identity, T* total) {
    T sum = items[0];
    for (int i = 1; i < Items; ++i) sum = op(sum, items[i]);
    T before;
    cunumpy_detail::block_scan(sum, op, &before, total);
    const bool first = cunumpy_block_thread() == 0;
    T item = items[0];
    items[0] = first ? (T)identity : before;
    for (int i = 1; i < Items; ++i) {
        const T next = items[i];
        items[i] = first && i == 1 ? item : op(items[i - 1], item);
        item = next;
    }
}
template <class T, int Items, class Op>
__device__ __forceinline__ void cunumpy_block_exclusive_scan_items(
    T (&items)[Items], Op op, typename cunumpy_detail::NotDeduced<T>::type identity) {
    T total;
    cunumpy_block_exclusive_scan_items(items, op, identity, &total);
}

// The same for sums.
template <class T, int Items>
__device__ __forceinline__ void cunumpy_block_inclusive_sum_items(T (&items)[Items], T* total) {
    cunumpy_block_inclusive_scan_items(items, cunumpy_sum_op(), total);
}
template <class T, int Items>
__device__ __forceinline__ void cunumpy_block_inclusive_sum_items(T (&items)[Items]) {
    cunumpy_block_inclusive_scan_items(items, cunumpy_sum_op());
}
template <class T, int Items>
__device__ __forceinline__ void cunumpy_block_exclusive_sum_items(T (&items)[Items], T* total) {
    cunumpy_block_exclusive_scan_items(items, cunumpy_sum_op(), (T)0, total);
}
template <class T, int Items>
__device__ __forceinline__ void cunumpy_block_exclusive_sum_items(T (&items)[Items]) {
    cunumpy_block_exclusive_scan_items(items, cunumpy_sum_op(), (T)0);
}

// ---- Segments -------------------------------------------------------------------------------------------------------

namespace cunumpy_detail {

template <class T>
struct Segmented {
    T value;
    int head;
};

template <class T, class Op>
struct SegmentedOp {
    Op op;
    __device__ __forceinline__ Segmented<T> operator()(Segmented<T> a, Segmented<T> b) const {
        return Segmented<T>{b.head ? b.value : op(a.value, b.value), a.head | b.head};
    }
};

}  // namespace cunumpy_detail

// Prefixes that begin anew in each lane or thread whose `head` is true: that of one segment after another.
// Warp-wide, and block-wide.
template <class T, class Op>
__device__ __forceinline__ T cunumpy_warp_segmented_inclusive_scan(T v, bool head, Op op,
                                                                   cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    const cunumpy_detail::Segmented<T> item = {v, head};
    return cunumpy_warp_inclusive_scan(item, cunumpy_detail::SegmentedOp<T, Op>{op}, mask).value;
}
template <class T, class Op>
__device__ __forceinline__ T cunumpy_warp_segmented_exclusive_scan(
    T v, bool head, Op op, typename cunumpy_detail::NotDeduced<T>::type identity,
    cunumpy_lane_mask mask = CUNUMPY_FULL_WARP_MASK) {
    const cunumpy_detail::Segmented<T> item = {v, head}, none = {identity, 0};
    v = cunumpy_warp_exclusive_scan(item, cunumpy_detail::SegmentedOp<T, Op>{op}, none, mask).value;
    return head ? (T)identity : v;
}
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_segmented_inclusive_scan(T v, bool head, Op op) {
    const cunumpy_detail::Segmented<T> item = {v, head};
    return cunumpy_block_inclusive_scan(item, cunumpy_detail::SegmentedOp<T, Op>{op}).value;
}
template <class T, class Op>
__device__ __forceinline__ T cunumpy_block_segmented_exclusive_scan(
    T v, bool head, Op op, typename cunumpy_detail::NotDeduced<T>::type identity) {
    const cunumpy_detail::Segmented<T> item = {v, head}, none = {identity, 0};
    v = cunumpy_block_exclusive_scan(item, cunumpy_detail::SegmentedOp<T, Op>{op}, none).value;
    return head ? (T)identity : v;
}

#endif
