// Barriers, and the functions by which the lanes of a warp exchange values: CUDA C++ Programming Guide, sections
// "Synchronization Functions" and "Warp ... Functions"; lanes of shuffles as in the PTX manual (shfl.sync).
//
// What CUDA leaves undefined: a shuffle from a lane that does not take part gives the caller's own value.
#pragma once

#include "fibers.hpp"

namespace cunumpy_cpu {

enum Reduction : unsigned char { ADD_32, MIN_S32, MAX_S32, MIN_U32, MAX_U32, AND_32, OR_32, XOR_32 };

CUNUMPY_CPU_PLAIN static inline unsigned int reduce_pair(unsigned int reduction, unsigned int a, unsigned int b) {
    switch (reduction) {
        case ADD_32: return a + b;
        case MIN_S32: return (int)a < (int)b ? a : b;
        case MAX_S32: return (int)a > (int)b ? a : b;
        case MIN_U32: return a < b ? a : b;
        case MAX_U32: return a > b ? a : b;
        case AND_32: return a & b;
        case OR_32: return a | b;
        default: return a ^ b;
    }
}

CUNUMPY_CPU_PLAIN static inline unsigned int lanes_true(const Warp& warp, unsigned int lanes) {
    unsigned int found = 0;
    for (unsigned int i = 0; i < WARP; ++i) found |= (unsigned int)(warp.value[i] != 0) << i;
    return found & lanes;
}

CUNUMPY_CPU_PLAIN static inline void give_all(Warp& warp, unsigned int lanes, word result) {
    for (; lanes != 0; lanes &= lanes - 1) warp.result[__builtin_ctz(lanes)] = result;
}

#ifdef CUNUMPY_CPU_CHECK
[[noreturn]] __attribute__((noinline, cold)) static void fail_shuffle(unsigned int lane, unsigned int from,
                                                                      unsigned int mask) {
    Fibers& fibers = current_fibers();
    Message message;
    message.used = 0;
    message.add("a shuffle in block (%u, %u, %u)", blockIdx.x, blockIdx.y, blockIdx.z);
    add_place(message, "__shfl_sync", fibers.current->place);
    message.add(": lane %u reads lane %u, which is not in the mask %#x", lane, from, mask);
    fail("%s", message.text);
}
#endif

template <Operation operation>
CUNUMPY_CPU_PLAIN static void complete_as(Warp& warp, unsigned int lanes) {
    if (operation == SHUFFLE) {
        if (lanes == ~0u) {
            for (unsigned int i = 0; i < WARP; ++i) warp.result[i] = warp.value[warp.source[i]];
        } else {
            for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) {
                const unsigned int i = __builtin_ctz(rest), from = warp.source[i];
#ifdef CUNUMPY_CPU_CHECK
                if (!(lanes >> from & 1)) fail_shuffle(i, from, lanes);
#endif
                warp.result[i] = warp.value[lanes >> from & 1 ? from : i];
            }
        }
    } else if (operation == BALLOT) {
        give_all(warp, lanes, lanes_true(warp, lanes));
    } else if (operation == ANY) {
        give_all(warp, lanes, lanes_true(warp, lanes) != 0);
    } else if (operation == ALL) {
        give_all(warp, lanes, lanes_true(warp, lanes) == lanes);
    } else if (operation == UNI) {
        const unsigned int found = lanes_true(warp, lanes);
        give_all(warp, lanes, found == 0 || found == lanes);
    } else if (operation == MATCH_ANY) {
        for (unsigned int left = lanes; left != 0;) {
            const word value = warp.value[__builtin_ctz(left)];
            unsigned int same = 0;
            for (unsigned int i = 0; i < WARP; ++i) same |= (unsigned int)(warp.value[i] == value) << i;
            same &= left;
            give_all(warp, same, same);
            left &= ~same;
        }
    } else if (operation == MATCH_ALL) {
        const word value = warp.value[__builtin_ctz(lanes)];
        unsigned int same = 0;
        for (unsigned int i = 0; i < WARP; ++i) same |= (unsigned int)(warp.value[i] == value) << i;
        give_all(warp, lanes, (same & lanes) == lanes ? lanes : 0);
    } else if (operation == REDUCE) {
        unsigned int rest = lanes;
        const unsigned int first = __builtin_ctz(rest), reduction = warp.source[first];
        unsigned int total = (unsigned int)warp.value[first];
        for (rest &= rest - 1; rest != 0; rest &= rest - 1)
            total = reduce_pair(reduction, total, (unsigned int)warp.value[__builtin_ctz(rest)]);
        give_all(warp, lanes, total);
    }
}

CUNUMPY_CPU_PLAIN static void complete(Warp& warp, unsigned int lanes, Operation operation) {
    switch (operation) {
        case SHUFFLE: return complete_as<SHUFFLE>(warp, lanes);
        case BALLOT: return complete_as<BALLOT>(warp, lanes);
        case ANY: return complete_as<ANY>(warp, lanes);
        case ALL: return complete_as<ALL>(warp, lanes);
        case UNI: return complete_as<UNI>(warp, lanes);
        case MATCH_ANY: return complete_as<MATCH_ANY>(warp, lanes);
        case MATCH_ALL: return complete_as<MATCH_ALL>(warp, lanes);
        case REDUCE: return complete_as<REDUCE>(warp, lanes);
        default: return;
    }
}

// Bits of any value of at most 8 bytes, and back.
template <class T>
static inline word to_bits(T value) {
    static_assert(sizeof(T) <= 8, "lanes exchange at most 8 bytes at a time");
    word bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T>
static inline T from_bits(word bits) {
    T value;
    __builtin_memcpy((void*)&value, &bits, sizeof(T));
    return value;
}

enum ShuffleKind { INDEX, UP, DOWN, XOR };

// The four shuffles; `argument` is the lane, the distance or the mask. Only its last five bits count.
template <ShuffleKind kind, class T>
CUNUMPY_CPU_PLAIN static inline T shuffle(unsigned int mask, T value, unsigned int argument, int width) {
    const unsigned int lane = current_thread().lane, segment = (WARP - (unsigned int)width) & 31u;
    const unsigned int first = lane & segment, last = first | (31u & ~segment);
    argument &= 31u;
    unsigned int from;
    if (kind == INDEX) {
        from = first | (argument & ~segment);
    } else if (kind == UP) {
        from = lane - argument;
        if ((int)from < (int)first) from = lane;
    } else {
        from = kind == DOWN ? lane + argument : lane ^ argument;
        if (from > last) from = lane;
    }
    return from_bits<T>(warp_operation<SHUFFLE>(mask, to_bits(value), from));
}

// A value of any size from another lane.
template <class T>
static inline T from_lane(unsigned int mask, const T& value, unsigned int lane) {
    word words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, (const void*)&value, sizeof(T));
    for (word& each : words) each = warp_operation<SHUFFLE>(mask, each, lane);
    T result = value;
    __builtin_memcpy((void*)&result, words, sizeof(T));
    return result;
}

}  // namespace cunumpy_cpu

inline void __syncthreads(CUNUMPY_CPU_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    cunumpy_cpu::block_barrier<cunumpy_cpu::PLAIN>(false);
}
inline int __syncthreads_count(int predicate CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    return (int)cunumpy_cpu::block_barrier<cunumpy_cpu::COUNT>(predicate != 0);
}
inline int __syncthreads_and(int predicate CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    return (int)cunumpy_cpu::block_barrier<cunumpy_cpu::AND>(predicate != 0);
}
inline int __syncthreads_or(int predicate CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    return (int)cunumpy_cpu::block_barrier<cunumpy_cpu::OR>(predicate != 0);
}
inline void __barrier_sync(unsigned int id CUNUMPY_CPU_AND_PLACE) {
    if (id != 0) cunumpy_cpu::trap("a named barrier (__barrier_sync), of which the CPU device has barrier 0 alone,");
    __syncthreads(CUNUMPY_CPU_SAME_PLACE);
}
inline void __syncwarp(unsigned int mask = 0xffffffffu CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    cunumpy_cpu::warp_operation<cunumpy_cpu::SYNC>(mask, 0, 0);
}
inline unsigned int __activemask(unsigned int line = __builtin_LINE()) { return cunumpy_cpu::active_lanes(line); }

inline unsigned int __ballot_sync(unsigned int mask, int predicate CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    return (unsigned int)cunumpy_cpu::warp_operation<cunumpy_cpu::BALLOT>(mask, predicate != 0, 0);
}
inline int __any_sync(unsigned int mask, int predicate CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    return (int)cunumpy_cpu::warp_operation<cunumpy_cpu::ANY>(mask, predicate != 0, 0);
}
inline int __all_sync(unsigned int mask, int predicate CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    return (int)cunumpy_cpu::warp_operation<cunumpy_cpu::ALL>(mask, predicate != 0, 0);
}
inline int __uni_sync(unsigned int mask, int predicate CUNUMPY_CPU_AND_PLACE) {
    CUNUMPY_CPU_NOTE_PLACE;
    return (int)cunumpy_cpu::warp_operation<cunumpy_cpu::UNI>(mask, predicate != 0, 0);
}

// CUDA's types alone: smaller ones convert to int, as there.
#define CUNUMPY_CPU_SHUFFLES(T)                                                                     \
    inline T __shfl_sync(unsigned int mask, T value, int lane, int width = 32 CUNUMPY_CPU_AND_PLACE) { \
        CUNUMPY_CPU_NOTE_PLACE; \
        return cunumpy_cpu::shuffle<cunumpy_cpu::INDEX>(mask, value, (unsigned int)lane, width);    \
    }                                                                                               \
    inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32 CUNUMPY_CPU_AND_PLACE) { \
        CUNUMPY_CPU_NOTE_PLACE; \
        return cunumpy_cpu::shuffle<cunumpy_cpu::UP>(mask, value, delta, width);                    \
    }                                                                                               \
    inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32 CUNUMPY_CPU_AND_PLACE) { \
        CUNUMPY_CPU_NOTE_PLACE; \
        return cunumpy_cpu::shuffle<cunumpy_cpu::DOWN>(mask, value, delta, width);                  \
    }                                                                                               \
    inline T __shfl_xor_sync(unsigned int mask, T value, int lane_mask, int width = 32 CUNUMPY_CPU_AND_PLACE) { \
        CUNUMPY_CPU_NOTE_PLACE; \
        return cunumpy_cpu::shuffle<cunumpy_cpu::XOR>(mask, value, (unsigned int)lane_mask, width); \
    }
CUNUMPY_CPU_SHUFFLES(int)
CUNUMPY_CPU_SHUFFLES(unsigned int)
CUNUMPY_CPU_SHUFFLES(long)
CUNUMPY_CPU_SHUFFLES(unsigned long)
CUNUMPY_CPU_SHUFFLES(long long)
CUNUMPY_CPU_SHUFFLES(unsigned long long)
CUNUMPY_CPU_SHUFFLES(float)
CUNUMPY_CPU_SHUFFLES(double)

#define CUNUMPY_CPU_MATCHES(T)                                                                                        \
    inline unsigned int __match_any_sync(unsigned int mask, T value CUNUMPY_CPU_AND_PLACE) { \
        CUNUMPY_CPU_NOTE_PLACE; \
        return (unsigned int)cunumpy_cpu::warp_operation<cunumpy_cpu::MATCH_ANY>(mask, cunumpy_cpu::to_bits(value), 0); \
    }                                                                                                                 \
    inline unsigned int __match_all_sync(unsigned int mask, T value, int* predicate CUNUMPY_CPU_AND_PLACE) { \
        CUNUMPY_CPU_NOTE_PLACE; \
        const unsigned int same =                                                                                     \
            (unsigned int)cunumpy_cpu::warp_operation<cunumpy_cpu::MATCH_ALL>(mask, cunumpy_cpu::to_bits(value), 0);  \
        *predicate = same != 0;                                                                                       \
        return same;                                                                                                  \
    }
CUNUMPY_CPU_MATCHES(int)
CUNUMPY_CPU_MATCHES(unsigned int)
CUNUMPY_CPU_MATCHES(long)
CUNUMPY_CPU_MATCHES(unsigned long)
CUNUMPY_CPU_MATCHES(long long)
CUNUMPY_CPU_MATCHES(unsigned long long)
CUNUMPY_CPU_MATCHES(float)
CUNUMPY_CPU_MATCHES(double)

#define CUNUMPY_CPU_REDUCTION(T, name, reduction)                                                                \
    inline T __reduce_##name##_sync(unsigned int mask, T value CUNUMPY_CPU_AND_PLACE) { \
        CUNUMPY_CPU_NOTE_PLACE; \
        return (T)(unsigned int)cunumpy_cpu::warp_operation<cunumpy_cpu::REDUCE>(mask, (unsigned int)value, reduction);  \
    }
CUNUMPY_CPU_REDUCTION(unsigned int, add, cunumpy_cpu::ADD_32)
CUNUMPY_CPU_REDUCTION(int, add, cunumpy_cpu::ADD_32)
CUNUMPY_CPU_REDUCTION(unsigned int, min, cunumpy_cpu::MIN_U32)
CUNUMPY_CPU_REDUCTION(int, min, cunumpy_cpu::MIN_S32)
CUNUMPY_CPU_REDUCTION(unsigned int, max, cunumpy_cpu::MAX_U32)
CUNUMPY_CPU_REDUCTION(int, max, cunumpy_cpu::MAX_S32)
CUNUMPY_CPU_REDUCTION(unsigned int, and, cunumpy_cpu::AND_32)
CUNUMPY_CPU_REDUCTION(unsigned int, or, cunumpy_cpu::OR_32)
CUNUMPY_CPU_REDUCTION(unsigned int, xor, cunumpy_cpu::XOR_32)

#undef CUNUMPY_CPU_SHUFFLES
#undef CUNUMPY_CPU_MATCHES
#undef CUNUMPY_CPU_REDUCTION
