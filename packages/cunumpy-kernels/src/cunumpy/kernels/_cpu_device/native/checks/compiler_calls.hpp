// What the compiler calls: at each access because of -fsanitize=thread, __tsan_read4(address) and the like, and where it
// has found a fault itself because of -fsanitize=bounds,null,alignment.
#pragma once

#include <stdio.h>
#include <string.h>

#include "accesses.hpp"
#include "hooks.hpp"

#define PLACE __builtin_return_address(0)

#define ACCESSES(n)                                                                                          \
    HIDDEN void __tsan_read##n(void* at) { check_quickly<READ, n>(at, PLACE, range_of<READ, n>(PLACE)); }    \
    HIDDEN void __tsan_write##n(void* at) { check_quickly<WRITE, n>(at, PLACE, range_of<WRITE, n>(PLACE)); } \
    HIDDEN void __tsan_volatile_read##n(void* at) { check_aligned<VOLATILE_READ, n>(at, PLACE); }            \
    HIDDEN void __tsan_volatile_write##n(void* at) { check_aligned<VOLATILE_WRITE, n>(at, PLACE); }          \
    HIDDEN void __tsan_unaligned_read##n(void* at) { check<READ>(at, n, PLACE); }                            \
    HIDDEN void __tsan_unaligned_write##n(void* at) { check<WRITE>(at, n, PLACE); }                          \
    HIDDEN void __tsan_unaligned_volatile_read##n(void* at) { check<VOLATILE_READ>(at, n, PLACE); }          \
    HIDDEN void __tsan_unaligned_volatile_write##n(void* at) { check<VOLATILE_WRITE>(at, n, PLACE); }        \
    HIDDEN void __tsan_read_write##n(void* at) {                                                             \
        check_quickly<READ, n>(at, PLACE, range_of<READ, n>(PLACE));                                         \
        check_quickly<WRITE, n>(at, PLACE, range_of<WRITE, n>(PLACE));                                       \
    }                                                                                                        \
    HIDDEN void __tsan_unaligned_read_write##n(void* at) {                                                   \
        check<READ>(at, n, PLACE);                                                                           \
        check<WRITE>(at, n, PLACE);                                                                          \
    }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

HIDDEN void __tsan_read_range(void* at, size_t size) {
    if (size != 0) check<READ>(at, size, PLACE);
}
HIDDEN void __tsan_write_range(void* at, size_t size) {
    if (size != 0) check<WRITE>(at, size, PLACE);
}
// memcpy and memset of a kernel's text; `from` is null for memset.
HIDDEN void cunumpy_check_range(void* to, const void* from, size_t size) {
    if (size == 0) return;
    if (from != nullptr) check<READ>(from, size, PLACE);
    check<WRITE>(to, size, PLACE);
}
HIDDEN void* __tsan_memcpy(void* to, const void* from, size_t size) {
    if (size != 0) {
        check<READ>(from, size, PLACE);
        check<WRITE>(to, size, PLACE);
    }
    return memcpy(to, from, size);
}
HIDDEN void* __tsan_memmove(void* to, const void* from, size_t size) {
    if (size != 0) {
        check<READ>(from, size, PLACE);
        check<WRITE>(to, size, PLACE);
    }
    return memmove(to, from, size);
}
HIDDEN void* __tsan_memset(void* to, int byte, size_t size) {
    if (size != 0) check<WRITE>(to, size, PLACE);
    return memset(to, byte, size);
}
HIDDEN void __tsan_init() {}
HIDDEN void __tsan_func_entry(void*) {}
HIDDEN void __tsan_func_exit() {}
HIDDEN void __tsan_vptr_update(void**, void*) {}
HIDDEN void __tsan_vptr_read(void**) {}
HIDDEN void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HIDDEN void __tsan_atomic_signal_fence(int) {}

#define CHANGE(n, T, name)                                             \
    HIDDEN T __tsan_atomic##n##_##name(volatile T* at, T value, int) { \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);          \
        return __atomic_##name(at, value, __ATOMIC_SEQ_CST);           \
    }
#define ATOMICS(n, T)                                                                                  \
    HIDDEN T __tsan_atomic##n##_load(const volatile T* at, int) {                                      \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                                  \
    HIDDEN void __tsan_atomic##n##_store(volatile T* at, T value, int) {                               \
        check_aligned<ATOMIC, n / 8, false>((const void*)at, PLACE);                                   \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                 \
    }                                                                                                  \
    HIDDEN T __tsan_atomic##n##_exchange(volatile T* at, T value, int) {                               \
        check_aligned<ATOMIC, n / 8, false>((const void*)at, PLACE);                                   \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                       \
    }                                                                                                  \
    HIDDEN int __tsan_atomic##n##_compare_exchange_strong(volatile T* at, T* old, T value, int, int) { \
        check_swap((const void*)at, n / 8);                                                            \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        return __atomic_compare_exchange_n(at, old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                  \
    HIDDEN int __tsan_atomic##n##_compare_exchange_weak(volatile T* at, T* old, T value, int, int) {   \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        return __atomic_compare_exchange_n(at, old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                  \
    HIDDEN T __tsan_atomic##n##_compare_exchange_val(volatile T* at, T old, T value, int, int) {       \
        check_swap((const void*)at, n / 8);                                                            \
        check_aligned<ATOMIC, n / 8>((const void*)at, PLACE);                                          \
        __atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
        return old;                                                                                    \
    }                                                                                                  \
    CHANGE(n, T, fetch_add)                                                                            \
    CHANGE(n, T, fetch_sub)                                                                            \
    CHANGE(n, T, fetch_and)                                                                            \
    CHANGE(n, T, fetch_or)                                                                             \
    CHANGE(n, T, fetch_xor)                                                                            \
    CHANGE(n, T, fetch_nand)
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned int)
ATOMICS(64, unsigned long long)

// --- -fsanitize=bounds,null,alignment ---------------------------------------------------------------------------------

namespace cunumpy_cpu_checks {
struct Location {
    const char* file;
    unsigned int line, column;
};
struct Type {
    unsigned short kind, info;
    char name[1];  // in quotes
};
struct BoundsData {
    Location location;
    const Type *array, *index;
};
struct PointerData {
    Location location;
    const Type* type;
    unsigned char alignment, what;  // log2; 0 for a read, 1 for a write, else neither
};
}  // namespace cunumpy_cpu_checks

HIDDEN void __ubsan_handle_out_of_bounds(const BoundsData* data, size_t index) {
    if (!active) return;
    const Type& type = *data->index;
    const unsigned int bits = type.kind == 0 ? 1u << (type.info >> 1) : 64;
    long long value = (long long)index;
    if (bits < 64) value = type.info & 1 ? (long long)(index << (64 - bits)) >> (64 - bits) : (long long)(index & ((1ull << bits) - 1));
    if (note(INDEX, nullptr, 0, nullptr, races::VOLATILE_WRITE + 1, PLACE)) {
        Fault& fault = faults[fault_count - 1];
        fault.index = value;
        snprintf(fault.text, sizeof fault.text, "%s\n%s:%u", data->array->name, data->location.file, data->location.line);
    }
    leave();
}
HIDDEN void __ubsan_handle_out_of_bounds_abort(const BoundsData* data, size_t index) {
    __ubsan_handle_out_of_bounds(data, index);
}
HIDDEN void __ubsan_handle_type_mismatch_v1(const PointerData* data, size_t pointer) {
    if (!active) return;
    if (pointer < 65536) fatal(NULL_ADDRESS, (const void*)pointer, 0, nullptr, data->what == 1 ? WRITE : READ, PLACE);
    const Region* region = find_region((const char*)pointer);
    const bool misaligned = pointer % (1ull << data->alignment) != 0;
    if (region == nullptr && misaligned) return;
    // Else the compiler knows where the variable ends, which the access leaves.
    const Memory memory = (const char*)pointer >= library_begin && (const char*)pointer < library_end ? VARIABLE : SHARED;
    if (!misaligned) region = neighbour((const char*)pointer, memory);
    if (note(misaligned ? MISALIGNED : OUT_OF_BOUNDS, (const void*)pointer, 0, region, data->what == 1 ? WRITE : READ, PLACE))
        strncpy(faults[fault_count - 1].text, data->type->name, sizeof faults[0].text - 1);
    leave();
}
HIDDEN void __ubsan_handle_type_mismatch_v1_abort(const PointerData* data, size_t pointer) {
    __ubsan_handle_type_mismatch_v1(data, pointer);
}
