// Reductions over groups of lanes. All threads of the group get the result.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T = void>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T = void>
struct less {  // the lesser one
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void>
struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T = void>
struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};
template <class T = void>
struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};

namespace details {

// Pairs of neighbours, pairs of pairs and so on: the same tree for any number of threads.
template <class Group, class T, class Op>
inline T reduce_ranks(const Group& group, T value, Op op CUNUMPY_CPU_AND_PLACE) {
    const unsigned int rank = (unsigned int)group.thread_rank(), mask = group.mask();
    const unsigned int there = (unsigned int)__builtin_popcount(__ballot_sync(mask, 1 CUNUMPY_CPU_AND_SAME_PLACE));
    for (unsigned int distance = 1; distance < there; distance *= 2) {
        const T other = group.shfl_down(value, distance CUNUMPY_CPU_AND_SAME_PLACE);
        if (rank % (2 * distance) == 0 && rank + distance < there) value = op(value, other);
    }
    return group.shfl(value, 0 CUNUMPY_CPU_AND_SAME_PLACE);
}

}  // namespace details

template <class Group, class T, class Op>
inline auto reduce(const Group& group, T value, Op op CUNUMPY_CPU_AND_PLACE) -> decltype(op(value, value)) {
    return details::reduce_ranks(group, value, op CUNUMPY_CPU_AND_SAME_PLACE);
}

}  // namespace cooperative_groups
