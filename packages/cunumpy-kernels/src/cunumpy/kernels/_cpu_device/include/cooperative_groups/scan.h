// Prefix sums over groups of lanes, by rank.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op>
inline auto inclusive_scan(const Group& group, T value, Op op CUNUMPY_CPU_AND_PLACE) -> decltype(op(value, value)) {
    const unsigned int rank = (unsigned int)group.thread_rank();
    for (unsigned int distance = 1; distance < (unsigned int)group.num_threads(); distance *= 2) {
        const T other = group.shfl_up(value, distance CUNUMPY_CPU_AND_SAME_PLACE);
        if (rank >= distance) value = op(other, value);
    }
    return value;
}
template <class Group, class T>
inline T inclusive_scan(const Group& group, T value CUNUMPY_CPU_AND_PLACE) {
    return inclusive_scan(group, value, plus<T>() CUNUMPY_CPU_AND_SAME_PLACE);
}
// The first thread gets T().
template <class Group, class T, class Op>
inline auto exclusive_scan(const Group& group, T value, Op op CUNUMPY_CPU_AND_PLACE) -> decltype(op(value, value)) {
    const T before = group.shfl_up(inclusive_scan(group, value, op CUNUMPY_CPU_AND_SAME_PLACE), 1 CUNUMPY_CPU_AND_SAME_PLACE);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T>
inline T exclusive_scan(const Group& group, T value CUNUMPY_CPU_AND_PLACE) {
    return exclusive_scan(group, value, plus<T>() CUNUMPY_CPU_AND_SAME_PLACE);
}

}  // namespace cooperative_groups
