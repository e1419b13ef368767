// CUB's exchange of items between the threads of a block.
#pragma once

#include "cunumpy_cpu/collectives.hpp"

namespace cub {

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

}  // namespace cub
