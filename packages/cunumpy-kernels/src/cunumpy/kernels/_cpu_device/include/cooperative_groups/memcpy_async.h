// Copies by a group, which here are done when memcpy_async returns; wait is a barrier.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class To, class From>
inline void memcpy_async(const Group& group, To* to, const From* from, unsigned long bytes) {
    const unsigned long threads = (unsigned long)group.size(), rank = (unsigned long)group.thread_rank();
    const unsigned long part = (bytes + threads - 1) / threads, first = rank * part;
    if (first >= bytes) return;
    const unsigned long here = part < bytes - first ? part : bytes - first;
    cunumpy_cpu_builtins::memcpy<>((char*)to + first, (const char*)from + first, here);
}
template <class Group>
inline void wait(const Group& group) {
    group.sync();
}
template <unsigned int stages, class Group>
inline void wait_prior(const Group& group) {
    group.sync();
}

}  // namespace cooperative_groups
