// Stable order of keys and of cells; see radix_sort.hpp.

#include "radix_sort.hpp"

namespace {

// Call `f` with the keys of a dtype: 0 .. 3 unsigned integers of 1, 2, 4 and 8 bytes, 4 .. 7 signed ones, and 8 .. 10
// floating-point numbers of 2, 4 and 8 bytes.
template <class F>
int with_keys(int type, bool descending, F &&f) {
    const bool is_signed = type >= 4;
    switch (type) {
        case 0:
        case 4: return f(IntegerKeys<uint8_t>::make(is_signed, descending));
        case 1:
        case 5: return f(IntegerKeys<uint16_t>::make(is_signed, descending));
        case 2:
        case 6: return f(IntegerKeys<uint32_t>::make(is_signed, descending));
        case 3:
        case 7: return f(IntegerKeys<uint64_t>::make(is_signed, descending));
        case 8: return f(FloatingKeys<uint16_t>::make(true, descending));
        case 9: return f(FloatingKeys<uint32_t>::make(true, descending));
        default: return f(FloatingKeys<uint64_t>::make(true, descending));
    }
}

}  // namespace

// Write the order of n > 0 contiguous keys, and the sorted keys if `sorted` is not null; `work` has n words. Returns 0, or
// 1 if memory is short.
extern "C" CUNUMPY_EXPORT int cunumpy_algorithms_argsort(const void *input, int type, int descending, long long n,
                                                         int64_t *order, void *sorted, uint64_t *work, int threads) {
    return with_keys(type, descending != 0, [=](auto keys) {
        using Word = typename decltype(keys)::word_type;
        return argsort(keys, static_cast<const Word *>(input), size_t(n), order, static_cast<Word *>(sorted), work, threads)
                   ? 0
                   : 1;
    });
}

// Write the order of n > 0 cells 0 .. n_cells - 1 of an integer type, and where each begins: `offsets` has n_cells + 1
// elements. Returns 0; 1 if memory is short; or 2, and has written nothing, if there is another cell.
extern "C" CUNUMPY_EXPORT int cunumpy_algorithms_sort_cells(const void *input, int type, long long n, long long n_cells,
                                                            int64_t *order, int64_t *offsets, uint64_t *work,
                                                            int threads) {
    return with_keys(type, false, [=](auto keys) {
        using Word = typename decltype(keys)::word_type;
        const auto *cells = static_cast<const Word *>(input);
        const KeySummary summary = summarize(keys, cells, size_t(n), threads);
        const uint64_t first = keys.code(0);
        if (n_cells == 0 || summary.lowest < first || summary.highest - first >= uint64_t(n_cells)) return 2;
        for (long long cell = 0; cell <= n_cells; ++cell) offsets[cell] = -1;
        const SortTask<decltype(keys)> task{keys,  cells, size_t(n), first, first + uint64_t(n_cells - 1),
                                            true,  order, nullptr,   offsets};
        return argsort(task, summary, work, threads) ? 0 : 1;
    });
}
