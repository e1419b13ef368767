// CUB's scans of a block.
#pragma once

#include <cub/warp/warp_scan.cuh>

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

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

}  // namespace cub
