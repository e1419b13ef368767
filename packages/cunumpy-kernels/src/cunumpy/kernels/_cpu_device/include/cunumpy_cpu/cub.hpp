// Of CUB what works within a block: reductions, scans, loads and stores, exchange, histogram (CUB's documentation of CUDA
// 12). Template parameters, names and results are CUB's; all algorithms of a collective are the same one here. Sums of
// floating-point numbers run through the threads in order, so that they may differ from a GPU's in the last bits.
#pragma once

#include "atomics.hpp"
#include "warps.hpp"

namespace cub {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

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

template <class T>
inline T from_lane(unsigned int mask, const T& value, unsigned int lane) {
    unsigned long long words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, (const void*)&value, sizeof(T));
    for (unsigned long long& word : words) word = cunumpy_cpu::warp_operation<cunumpy_cpu::SHUFFLE>(mask, word, lane);
    T result = value;
    __builtin_memcpy((void*)&result, words, sizeof(T));
    return result;
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
        return from_lane(mask, value, (unsigned int)(first + other));
    }
};

}  // namespace detail

// --- reductions -------------------------------------------------------------------------------------------------------

// The result is thread 0's.
template <typename T, int X, BlockReduceAlgorithm algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int legacy = 0>
class BlockReduce {
    static constexpr int threads = X * Y * Z;

public:
    struct TempStorage {
        detail::Storage<T, threads> values;
    };
    BlockReduce() : storage(detail::own_storage<TempStorage>()) {}
    BlockReduce(TempStorage& storage) : storage(storage) {}

    template <typename Op>
    T Reduce(T input, Op op) {
        return Reduce(input, op, threads);
    }
    template <typename Op>
    T Reduce(T input, Op op, int valid) {
        const int rank = detail::block_rank();
        storage.values[rank] = input;
        __syncthreads();
        if (rank == 0)
            for (int i = 1; i < valid && i < threads; ++i) input = op(input, storage.values[i]);
        return input;
    }
    template <int items, typename Op>
    T Reduce(T (&inputs)[items], Op op) {
        T total = inputs[0];
        for (int i = 1; i < items; ++i) total = op(total, inputs[i]);
        return Reduce(total, op);
    }
    T Sum(T input) { return Reduce(input, cub::Sum()); }
    T Sum(T input, int valid) { return Reduce(input, cub::Sum(), valid); }
    template <int items>
    T Sum(T (&inputs)[items]) {
        return Reduce(inputs, cub::Sum());
    }

private:
    TempStorage& storage;
};

// The result is that of the logical warp's first lane, or of the first lane of each segment.
template <typename T, int threads = 32, int legacy = 0>
class WarpReduce {
public:
    struct TempStorage {
        char unused;
    };
    WarpReduce(TempStorage&) {}

    template <typename Op>
    T Reduce(T input, Op op) {
        return Reduce(input, op, threads);
    }
    template <typename Op>
    T Reduce(T input, Op op, int valid) {
        const detail::LogicalWarp<threads> warp;
        const int there = warp.there(), last = (valid < there ? valid : there) - 1;
        return up_to(warp, input, op, last);
    }
    T Sum(T input) { return Reduce(input, cub::Sum()); }
    T Sum(T input, int valid) { return Reduce(input, cub::Sum(), valid); }
    template <typename Flag, typename Op = cub::Sum>
    T HeadSegmentedReduce(T input, Flag head, Op op) {
        const detail::LogicalWarp<threads> warp;
        const unsigned int heads = __ballot_sync(warp.mask, head ? 1 : 0) >> warp.first;
        const unsigned int later = warp.rank == 31 ? 0 : heads & (~0u << (warp.rank + 1));
        const int there = warp.there();
        return up_to(warp, input, op, later != 0 ? __builtin_ctz(later) - 1 : there - 1);
    }
    template <typename Flag, typename Op>
    T TailSegmentedReduce(T input, Flag tail, Op op) {
        const detail::LogicalWarp<threads> warp;
        const unsigned int tails = __ballot_sync(warp.mask, tail ? 1 : 0) >> warp.first, later = tails & (~0u << warp.rank);
        const int there = warp.there();
        return up_to(warp, input, op, later != 0 ? __builtin_ctz(later) : there - 1);
    }
    template <typename Flag>
    T HeadSegmentedSum(T input, Flag head) {
        return HeadSegmentedReduce(input, head, cub::Sum());
    }
    template <typename Flag>
    T TailSegmentedSum(T input, Flag tail) {
        return TailSegmentedReduce(input, tail, cub::Sum());
    }

private:
    // The values from the own one to that of `last`.
    template <typename Op>
    static T up_to(const detail::LogicalWarp<threads>& warp, T value, Op op, int last) {
        for (int distance = 1; distance < threads; distance *= 2) {
            const bool inside = warp.rank + distance <= last;
            const T other = warp.from(value, inside ? warp.rank + distance : warp.rank);
            if (inside) value = op(value, other);
        }
        return value;
    }
};

// --- scans ------------------------------------------------------------------------------------------------------------

template <typename T, int X, BlockScanAlgorithm algorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int legacy = 0>
class BlockScan {
    static constexpr int threads = X * Y * Z;

public:
    struct TempStorage {
        detail::Storage<T, threads> values;
        detail::Storage<T, 2> extra;  // the prefix of a callback; the sum of all
    };
    BlockScan() : storage(detail::own_storage<TempStorage>()) {}
    BlockScan(TempStorage& storage) : storage(storage) {}

    // Each with one value a thread. Without a first value the output of thread 0 of an exclusive scan is undefined: its
    // input, here.
    template <typename Op>
    void InclusiveScan(T input, T& output, Op op) {
        inclusive(input, op);
        output = storage.values[detail::block_rank()];
    }
    template <typename Op>
    void InclusiveScan(T input, T& output, Op op, T& total) {
        InclusiveScan(input, output, op);
        total = storage.values[threads - 1];
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, Op op) {
        inclusive(input, op);
        const int rank = detail::block_rank();
        output = rank == 0 ? input : storage.values[rank - 1];
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, Op op, T& total) {
        ExclusiveScan(input, output, op);
        total = storage.values[threads - 1];
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, T first, Op op) {
        inclusive(input, op);
        const int rank = detail::block_rank();
        output = rank == 0 ? first : op(first, storage.values[rank - 1]);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, T first, Op op, T& total) {
        ExclusiveScan(input, output, first, op);
        total = op(first, storage.values[threads - 1]);
    }
    // The callback, which the first warp calls with the sum of the block, returns what comes before the block.
    template <typename Op, typename Callback, typename = decltype((*(Callback*)nullptr)(*(T*)nullptr))>
    void InclusiveScan(T input, T& output, Op op, Callback& callback) {
        inclusive(input, op);
        output = op(prefix(callback), storage.values[detail::block_rank()]);
    }
    template <typename Op, typename Callback, typename = decltype((*(Callback*)nullptr)(*(T*)nullptr))>
    void ExclusiveScan(T input, T& output, Op op, Callback& callback) {
        inclusive(input, op);
        const int rank = detail::block_rank();
        const T before = prefix(callback);
        output = rank == 0 ? before : op(before, storage.values[rank - 1]);
    }

    void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
    void InclusiveSum(T input, T& output, T& total) { InclusiveScan(input, output, cub::Sum(), total); }
    template <typename Callback>
    void InclusiveSum(T input, T& output, Callback& callback) {
        InclusiveScan(input, output, cub::Sum(), callback);
    }
    void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(), cub::Sum()); }
    void ExclusiveSum(T input, T& output, T& total) { ExclusiveScan(input, output, T(), cub::Sum(), total); }
    template <typename Callback>
    void ExclusiveSum(T input, T& output, Callback& callback) {
        ExclusiveScan(input, output, cub::Sum(), callback);
    }

    // The same with several values a thread, which follow each other; extra arguments are those from above.
    template <int items, typename Op, typename... Extra>
    void InclusiveScan(T (&input)[items], T (&output)[items], Op op, Extra&... extra) {
        T total = input[0], before;
        for (int i = 1; i < items; ++i) total = op(total, input[i]);
        ExclusiveScan(total, before, op, extra...);
        const bool first = detail::block_rank() == 0 && !calls_back<Extra...>();
        T sum = first ? input[0] : op(before, input[0]);
        output[0] = sum;
        for (int i = 1; i < items; ++i) output[i] = sum = op(sum, input[i]);
    }
    template <int items, typename Op, typename... Extra>
    void ExclusiveScan(T (&input)[items], T (&output)[items], Op op, Extra&... extra) {
        T total = input[0], before;
        for (int i = 1; i < items; ++i) total = op(total, input[i]);
        ExclusiveScan(total, before, op, extra...);
        const bool first = detail::block_rank() == 0 && !calls_back<Extra...>();
        T sum = first ? input[0] : op(before, input[0]);
        output_exclusive(input, output, op, before, sum);
    }
    template <int items, typename Op, typename... Extra>
    void ExclusiveScan(T (&input)[items], T (&output)[items], T first, Op op, Extra&... extra) {
        T total = input[0], before;
        for (int i = 1; i < items; ++i) total = op(total, input[i]);
        ExclusiveScan(total, before, first, op, extra...);
        output_exclusive(input, output, op, before, op(before, input[0]));
    }
    template <int items, typename... Extra>
    void InclusiveSum(T (&input)[items], T (&output)[items], Extra&... extra) {
        InclusiveScan(input, output, cub::Sum(), extra...);
    }
    template <int items, typename... Extra>
    void ExclusiveSum(T (&input)[items], T (&output)[items], Extra&... extra) {
        exclusive_sum(input, output, extra...);
    }

private:
    template <typename Op>
    void inclusive(T input, Op op) {
        const int rank = detail::block_rank();
        storage.values[rank] = input;
        __syncthreads();
        if (rank == 0)
            for (int i = 1; i < threads; ++i) storage.values[i] = op(storage.values[i - 1], storage.values[i]);
        __syncthreads();
    }
    template <typename Callback>
    T prefix(Callback& callback) {
        const int rank = detail::block_rank();
        if (rank < 32) {
            const T before = callback(storage.values[threads - 1]);
            if (rank == 0) storage.extra[0] = before;
        }
        __syncthreads();
        return storage.extra[0];
    }
    template <typename... Extra>
    static constexpr bool calls_back() {
        return sizeof...(Extra) == 1 && !same<T, Extra...>::value;
    }
    template <typename A, typename... B>
    struct same {
        static constexpr bool value = false;
    };
    template <typename A>
    struct same<A, A> {
        static constexpr bool value = true;
    };
    template <int items, typename Op>
    static void output_exclusive(T (&input)[items], T (&output)[items], Op op, T before, T sum) {
        for (int i = 0; i < items; ++i) {  // input and output may be the same
            const T next = i + 1 < items ? op(sum, input[i + 1]) : sum;
            output[i] = before;
            before = sum;
            sum = next;
        }
    }
    template <int items>
    void exclusive_sum(T (&input)[items], T (&output)[items]) {
        ExclusiveScan(input, output, T(), cub::Sum());
    }
    template <int items>
    void exclusive_sum(T (&input)[items], T (&output)[items], T& total) {
        ExclusiveScan(input, output, T(), cub::Sum(), total);
    }
    template <int items, typename Callback>
    void exclusive_sum(T (&input)[items], T (&output)[items], Callback& callback) {
        ExclusiveScan(input, output, cub::Sum(), callback);
    }

    TempStorage& storage;
};

template <typename T, int threads = 32, int legacy = 0>
class WarpScan {
public:
    struct TempStorage {
        char unused;
    };
    WarpScan(TempStorage&) {}

    template <typename Op>
    void InclusiveScan(T input, T& output, Op op) {
        const detail::LogicalWarp<threads> warp;
        T value = input;
        for (int distance = 1; distance < threads; distance *= 2) {
            const bool inside = warp.rank >= distance;
            const T other = warp.from(value, inside ? warp.rank - distance : warp.rank);
            if (inside) value = op(other, value);
        }
        output = value;
    }
    template <typename Op>
    void InclusiveScan(T input, T& output, Op op, T& total) {
        InclusiveScan(input, output, op);
        const detail::LogicalWarp<threads> warp;
        total = warp.from(output, warp.there() - 1);
    }
    template <typename Op>
    void InclusiveScan(T input, T& output, T first, Op op) {
        InclusiveScan(input, output, op);
        output = op(first, output);
    }
    template <typename Op>
    void InclusiveScan(T input, T& output, T first, Op op, T& total) {
        InclusiveScan(input, output, op, total);
        output = op(first, output);
        total = op(first, total);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, Op op) {
        T value;
        Scan(input, value, output, op);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, T first, Op op) {
        T value;
        Scan(input, value, output, first, op);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, Op op, T& total) {
        T value;
        Scan(input, value, output, op);
        const detail::LogicalWarp<threads> warp;
        total = warp.from(value, warp.there() - 1);
    }
    template <typename Op>
    void ExclusiveScan(T input, T& output, T first, Op op, T& total) {
        T value;
        Scan(input, value, output, first, op);
        const detail::LogicalWarp<threads> warp;
        total = warp.from(value, warp.there() - 1);
    }
    template <typename Op>
    void Scan(T input, T& inclusive, T& exclusive, Op op) {
        InclusiveScan(input, inclusive, op);
        const detail::LogicalWarp<threads> warp;
        exclusive = warp.from(inclusive, warp.rank == 0 ? 0 : warp.rank - 1);
    }
    template <typename Op>
    void Scan(T input, T& inclusive, T& exclusive, T first, Op op) {
        InclusiveScan(input, inclusive, first, op);
        const detail::LogicalWarp<threads> warp;
        exclusive = warp.from(inclusive, warp.rank == 0 ? 0 : warp.rank - 1);
        if (warp.rank == 0) exclusive = first;
    }
    void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
    void InclusiveSum(T input, T& output, T& total) { InclusiveScan(input, output, cub::Sum(), total); }
    void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(), cub::Sum()); }
    void ExclusiveSum(T input, T& output, T& total) { ExclusiveScan(input, output, T(), cub::Sum(), total); }
    T Broadcast(T input, unsigned int lane) {
        const detail::LogicalWarp<threads> warp;
        return warp.from(input, (int)lane);
    }
};

// --- loads and stores: item i of thread t is number t * items + i, or i * threads + t where striped ------------------------

template <typename T, int items, typename Iterator>
inline void LoadDirectBlocked(int rank, Iterator from, T (&to)[items]) {
    for (int i = 0; i < items; ++i) to[i] = from[rank * items + i];
}
template <typename T, int items, typename Iterator>
inline void LoadDirectBlocked(int rank, Iterator from, T (&to)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (rank * items + i < end) to[i] = from[rank * items + i];
}
template <typename T, typename Default, int items, typename Iterator>
inline void LoadDirectBlocked(int rank, Iterator from, T (&to)[items], int end, Default other) {
    for (int i = 0; i < items; ++i) to[i] = other;
    LoadDirectBlocked(rank, from, to, end);
}
template <int threads, typename T, int items, typename Iterator>
inline void LoadDirectStriped(int rank, Iterator from, T (&to)[items]) {
    for (int i = 0; i < items; ++i) to[i] = from[i * threads + rank];
}
template <int threads, typename T, int items, typename Iterator>
inline void LoadDirectStriped(int rank, Iterator from, T (&to)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (i * threads + rank < end) to[i] = from[i * threads + rank];
}
template <int threads, typename T, typename Default, int items, typename Iterator>
inline void LoadDirectStriped(int rank, Iterator from, T (&to)[items], int end, Default other) {
    for (int i = 0; i < items; ++i) to[i] = other;
    LoadDirectStriped<threads>(rank, from, to, end);
}
template <typename T, int items, typename Iterator>
inline void StoreDirectBlocked(int rank, Iterator to, T (&from)[items]) {
    for (int i = 0; i < items; ++i) to[rank * items + i] = from[i];
}
template <typename T, int items, typename Iterator>
inline void StoreDirectBlocked(int rank, Iterator to, T (&from)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (rank * items + i < end) to[rank * items + i] = from[i];
}
template <int threads, typename T, int items, typename Iterator>
inline void StoreDirectStriped(int rank, Iterator to, T (&from)[items]) {
    for (int i = 0; i < items; ++i) to[i * threads + rank] = from[i];
}
template <int threads, typename T, int items, typename Iterator>
inline void StoreDirectStriped(int rank, Iterator to, T (&from)[items], int end) {
    for (int i = 0; i < items; ++i)
        if (i * threads + rank < end) to[i * threads + rank] = from[i];
}

template <typename T, int X, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1,
          int legacy = 0>
class BlockLoad {
public:
    struct TempStorage {
        char unused;
    };
    BlockLoad() {}
    BlockLoad(TempStorage&) {}
    template <typename Iterator, typename... End>
    void Load(Iterator from, T (&to)[items], End... end) {
        if (algorithm == BLOCK_LOAD_STRIPED)
            LoadDirectStriped<X * Y * Z>(detail::block_rank(), from, to, end...);
        else
            LoadDirectBlocked(detail::block_rank(), from, to, end...);
    }
};

template <typename T, int X, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1,
          int legacy = 0>
class BlockStore {
public:
    struct TempStorage {
        char unused;
    };
    BlockStore() {}
    BlockStore(TempStorage&) {}
    template <typename Iterator, typename... End>
    void Store(Iterator to, T (&from)[items], End... end) {
        if (algorithm == BLOCK_STORE_STRIPED)
            StoreDirectStriped<X * Y * Z>(detail::block_rank(), to, from, end...);
        else
            StoreDirectBlocked(detail::block_rank(), to, from, end...);
    }
};

// --- exchange ---------------------------------------------------------------------------------------------------------

template <typename T, int X, int items, bool slicing = false, int Y = 1, int Z = 1, int legacy = 0>
class BlockExchange {
    static constexpr int threads = X * Y * Z;

public:
    struct TempStorage {
        detail::Storage<T, threads * items> values;
    };
    BlockExchange() : storage(detail::own_storage<TempStorage>()) {}
    BlockExchange(TempStorage& storage) : storage(storage) {}

    template <typename Out>
    void StripedToBlocked(const T (&from)[items], Out (&to)[items]) {
        exchange(from, to, striped, blocked);
    }
    template <typename Out>
    void BlockedToStriped(const T (&from)[items], Out (&to)[items]) {
        exchange(from, to, blocked, striped);
    }
    template <typename Out>
    void WarpStripedToBlocked(const T (&from)[items], Out (&to)[items]) {
        exchange(from, to, warp_striped, blocked);
    }
    template <typename Out>
    void BlockedToWarpStriped(const T (&from)[items], Out (&to)[items]) {
        exchange(from, to, blocked, warp_striped);
    }
    template <typename Out, typename Rank>
    void ScatterToBlocked(const T (&from)[items], Out (&to)[items], Rank (&ranks)[items]) {
        exchange(from, to, [&](int i) { return (int)ranks[i]; }, blocked);
    }
    template <typename Out, typename Rank>
    void ScatterToStriped(const T (&from)[items], Out (&to)[items], Rank (&ranks)[items]) {
        exchange(from, to, [&](int i) { return (int)ranks[i]; }, striped);
    }
    // Items of rank -1 are left out.
    template <typename Out, typename Rank>
    void ScatterToStripedGuarded(const T (&from)[items], Out (&to)[items], Rank (&ranks)[items]) {
        exchange(from, to, [&](int i) { return (int)ranks[i]; }, striped);
    }
    template <typename Out, typename Rank, typename Flag>
    void ScatterToStripedFlagged(const T (&from)[items], Out (&to)[items], Rank (&ranks)[items], Flag (&valid)[items]) {
        exchange(from, to, [&](int i) { return valid[i] ? (int)ranks[i] : -1; }, striped);
    }
    void StripedToBlocked(T (&values)[items]) { StripedToBlocked(values, values); }
    void BlockedToStriped(T (&values)[items]) { BlockedToStriped(values, values); }
    void WarpStripedToBlocked(T (&values)[items]) { WarpStripedToBlocked(values, values); }
    void BlockedToWarpStriped(T (&values)[items]) { BlockedToWarpStriped(values, values); }
    template <typename Rank>
    void ScatterToBlocked(T (&values)[items], Rank (&ranks)[items]) {
        ScatterToBlocked(values, values, ranks);
    }
    template <typename Rank>
    void ScatterToStriped(T (&values)[items], Rank (&ranks)[items]) {
        ScatterToStriped(values, values, ranks);
    }
    template <typename Rank>
    void ScatterToStripedGuarded(T (&values)[items], Rank (&ranks)[items]) {
        ScatterToStripedGuarded(values, values, ranks);
    }
    template <typename Rank, typename Flag>
    void ScatterToStripedFlagged(T (&values)[items], Rank (&ranks)[items], Flag (&valid)[items]) {
        ScatterToStripedFlagged(values, values, ranks, valid);
    }

private:
    static int blocked(int i) { return detail::block_rank() * items + i; }
    static int striped(int i) { return i * threads + detail::block_rank(); }
    static int warp_striped(int i) {
        const int rank = detail::block_rank(), width = threads < 32 ? threads : 32;
        return rank / width * width * items + i * width + rank % width;
    }
    template <typename Out, typename Put, typename Get>
    void exchange(const T (&from)[items], Out (&to)[items], Put put, Get get) {
        for (int i = 0; i < items; ++i)
            if (put(i) >= 0) storage.values[put(i)] = from[i];
        __syncthreads();
        for (int i = 0; i < items; ++i) to[i] = storage.values[get(i)];
    }

    TempStorage& storage;
};

// --- histogram --------------------------------------------------------------------------------------------------------

template <typename T, int X, int items, int bins, BlockHistogramAlgorithm algorithm = BLOCK_HISTO_SORT, int Y = 1,
          int Z = 1, int legacy = 0>
class BlockHistogram {
public:
    struct TempStorage {
        char unused;
    };
    BlockHistogram() {}
    BlockHistogram(TempStorage&) {}
    template <typename Counter>
    void InitHistogram(Counter* histogram) {
        for (int i = detail::block_rank(); i < bins; i += X * Y * Z) histogram[i] = 0;
    }
    template <typename Counter>
    void Histogram(T (&values)[items], Counter* histogram) {
        InitHistogram(histogram);
        __syncthreads();
        Composite(values, histogram);
    }
    template <typename Counter>
    void Composite(T (&values)[items], Counter* histogram) {
        for (int i = 0; i < items; ++i)
            cunumpy_cpu::atomic_change<false>(&histogram[values[i]], [](Counter old) { return (Counter)(old + 1); });
    }
};

}  // namespace cub
