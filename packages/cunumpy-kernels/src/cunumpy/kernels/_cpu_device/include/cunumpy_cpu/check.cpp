// The callbacks of the compiler's instrumentation, in a unit of their own that is not instrumented itself: gcc and clang
// call them before each load and store (-fsanitize=thread), at indices of arrays whose size they know (bounds), at pointers
// (null, alignment), and in each basic block (-fsanitize-coverage=trace-pc). No library of theirs is linked.
#include "check.hpp"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern "C" CUNUMPY_CPU_HIDDEN const char __ehdr_start;  // where the library begins in memory, by the linker

namespace {

typedef cunumpy_cpu_region Region;
typedef cunumpy_cpu_fault Fault;
typedef unsigned long long u64;

cunumpy_cpu_check* check = nullptr;  // of the launch; one at a time
u64 steps = 0;
double last_second = 0;

constexpr unsigned int READ = 0, WRITE = 1, ATOMIC = 2;

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// The last region that begins at an address or before; -1 if there is none.
long find(const Region* regions, unsigned int count, const char* at) {
    long first = 0, last = (long)count;
    while (first < last) {
        const long middle = (first + last) / 2;
        if (regions[middle].start <= at)
            first = middle + 1;
        else
            last = middle;
    }
    return first - 1;
}

Fault* new_fault(unsigned int kind, const void* place) {
    const u64 offset = (u64)((const char*)place - &__ehdr_start);
    for (unsigned int i = 0; i < check->faults; ++i)
        if (check->found[i].kind == kind && check->found[i].place == offset) return nullptr;
    if (check->faults == check->room) return nullptr;
    Fault* fault = &check->found[check->faults++];
    memset(fault, 0, sizeof *fault);
    fault->kind = kind;
    fault->list = CUNUMPY_CPU_NOWHERE;
    fault->place = offset;
    cunumpy_cpu_check_where(fault->block, fault->thread);
    return fault;
}

__attribute__((noinline, cold)) void report(unsigned int kind, unsigned int list, long region, const void* at, size_t size,
                                            unsigned int access, const void* place) {
    Fault* fault = new_fault(kind, place);
    if (fault != nullptr) {
        fault->list = list;
        fault->region = (unsigned int)region;
        fault->size = (unsigned int)size;
        fault->access = access;
        fault->address = (u64)(size_t)at;
        if (list != CUNUMPY_CPU_NOWHERE) fault->offset = (const char*)at - check->regions[list][region].start;
    }
    if (kind != CUNUMPY_CPU_UNWRITTEN) cunumpy_cpu_check_fail("checked");
}

bool any(const unsigned char* flags, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (flags[i]) return true;
    return false;
}

bool all(const unsigned char* flags, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (!flags[i]) return false;
    return true;
}

// Between two regions the nearer one is meant.
__attribute__((noinline, cold)) void outside(unsigned int list, long region, const char* at, size_t size,
                                             unsigned int access, const void* place) {
    const Region* regions = check->regions[list];
    const long count = (long)check->counts[list];
    long best = -1;
    size_t least = ~(size_t)0;
    for (long i = region < 0 ? 0 : region; i >= 0; --i)
        if (!(regions[i].flags & CUNUMPY_CPU_OWN) && regions[i].start <= at) {
            least = (size_t)(at - (regions[i].start + regions[i].size));
            best = i;
            break;
        }
    for (long i = region + 1; i < count; ++i)
        if (!(regions[i].flags & CUNUMPY_CPU_OWN)) {
            if ((size_t)(regions[i].start - at) < least) best = i;
            break;
        }
    if (best >= 0) report(CUNUMPY_CPU_BOUNDS, list, best, at, size, access, place);
}

inline void look(unsigned int list, const char* at, size_t size, unsigned int access, const void* place) {
    static long last[3] = {0, 0, 0};
    Region* regions = check->regions[list];
    const unsigned int count = check->counts[list];
    long i = last[list];
    if (i < 0 || i >= (long)count || at < regions[i].start || at >= regions[i].start + regions[i].size) {
        i = find(regions, count, at);
        last[list] = i;
    }
    if (i < 0 || at + size > regions[i].start + regions[i].size) return outside(list, i, at, size, access, place);
    Region& region = regions[i];
    if (region.flags != 0) {
        if (region.flags & CUNUMPY_CPU_OWN) return;
        if (access != READ) return report(CUNUMPY_CPU_READ_ONLY_WRITE, list, i, at, size, access, place);
    }
    const size_t offset = (size_t)(at - region.start);
    if (region.holes != nullptr && any(region.holes + offset, size))
        return report(CUNUMPY_CPU_HOLE, list, i, at, size, access, place);
    if (region.written != nullptr) {
        if (access != WRITE && !all(region.written + offset, size))
            report(CUNUMPY_CPU_UNWRITTEN, list, i, at, size, access, place);
        memset(region.written + offset, 1, size);
    }
}

inline void see(const void* address, size_t size, unsigned int access, const void* place) {
    if (check == nullptr) return;
    const char* at = (const char*)address;
    const u64 number = (u64)(size_t)at;
    if (number - check->arena_start < check->arena_end - check->arena_start)
        look(CUNUMPY_CPU_ARRAYS, at, size, access, place);
    else if (number - check->shared_start < check->shared_end - check->shared_start)
        look(CUNUMPY_CPU_SHARED, at, size, access, place);
    else if (number - check->globals_start < check->globals_end - check->globals_start)
        look(CUNUMPY_CPU_GLOBALS, at, size, access, place);
    else if (number < 65536)
        report(CUNUMPY_CPU_NULL, CUNUMPY_CPU_NOWHERE, 0, at, size, access, place);
}

}  // namespace

extern "C" {

// --- the launch -------------------------------------------------------------------------------------------------------

void cunumpy_cpu_check_begin(cunumpy_cpu_check* given, char* anchor) {
    if (given == nullptr) return;
    char* base = anchor - given->anchor;
    for (unsigned int i = 0; i < given->counts[CUNUMPY_CPU_SHARED]; ++i) {
        Region& region = given->regions[CUNUMPY_CPU_SHARED][i];
        region.start = base + (size_t)region.start;
    }
    for (unsigned int i = 0; i < given->counts[CUNUMPY_CPU_GLOBALS]; ++i) {
        Region& region = given->regions[CUNUMPY_CPU_GLOBALS][i];
        region.start = (char*)&__ehdr_start + (size_t)region.start;
    }
    given->shared_start += (u64)(size_t)base;
    given->shared_end += (u64)(size_t)base;
    given->globals_start += (u64)(size_t)&__ehdr_start;
    given->globals_end += (u64)(size_t)&__ehdr_start;
    last_second = given->seconds > 0 ? now() + given->seconds : 0;
    steps = 0;
    check = given;
}

void cunumpy_cpu_check_end() { check = nullptr; }

// The shared memory of a block holds nothing that means anything.
void cunumpy_cpu_check_block() {
    if (check == nullptr) return;
    for (unsigned int i = 0; i < check->counts[CUNUMPY_CPU_SHARED]; ++i) {
        Region& region = check->regions[CUNUMPY_CPU_SHARED][i];
        if (region.written == nullptr) continue;
        memset(region.written, 0, region.size);
        memset(region.start, 0xcd, region.size);
    }
}

void cunumpy_cpu_check_range(const void* at, unsigned long long size, unsigned int access) {
    if (size > 0) see(at, size, access, __builtin_return_address(0));
}

// --- loads and stores -------------------------------------------------------------------------------------------------

#define CUNUMPY_CPU_SEES(name, size, access) \
    CUNUMPY_CPU_HIDDEN void __tsan_##name(void* at) { see(at, size, access, __builtin_return_address(0)); }
#define CUNUMPY_CPU_SEES_SIZES(name, access) \
    CUNUMPY_CPU_SEES(name##1, 1, access)     \
    CUNUMPY_CPU_SEES(name##2, 2, access)     \
    CUNUMPY_CPU_SEES(name##4, 4, access)     \
    CUNUMPY_CPU_SEES(name##8, 8, access)     \
    CUNUMPY_CPU_SEES(name##16, 16, access)
CUNUMPY_CPU_SEES_SIZES(read, READ)
CUNUMPY_CPU_SEES_SIZES(write, WRITE)
CUNUMPY_CPU_SEES_SIZES(unaligned_read, READ)
CUNUMPY_CPU_SEES_SIZES(unaligned_write, WRITE)
CUNUMPY_CPU_SEES_SIZES(volatile_read, READ)
CUNUMPY_CPU_SEES_SIZES(volatile_write, WRITE)
CUNUMPY_CPU_SEES_SIZES(unaligned_volatile_read, READ)
CUNUMPY_CPU_SEES_SIZES(unaligned_volatile_write, WRITE)

CUNUMPY_CPU_HIDDEN void __tsan_read_range(void* at, unsigned long size) {
    see(at, size, READ, __builtin_return_address(0));
}
CUNUMPY_CPU_HIDDEN void __tsan_write_range(void* at, unsigned long size) {
    see(at, size, WRITE, __builtin_return_address(0));
}

// clang makes one call of a read and a write of the same word.
#define CUNUMPY_CPU_SEES_BOTH(size)                                                                      \
    CUNUMPY_CPU_HIDDEN void __tsan_read_write##size(void* at) {                                          \
        see(at, size, READ, __builtin_return_address(0));                                                \
        see(at, size, WRITE, __builtin_return_address(0));                                               \
    }                                                                                                    \
    CUNUMPY_CPU_HIDDEN void __tsan_unaligned_read_write##size(void* at) {                                \
        see(at, size, READ, __builtin_return_address(0));                                                \
        see(at, size, WRITE, __builtin_return_address(0));                                               \
    }
CUNUMPY_CPU_SEES_BOTH(1)
CUNUMPY_CPU_SEES_BOTH(2)
CUNUMPY_CPU_SEES_BOTH(4)
CUNUMPY_CPU_SEES_BOTH(8)
CUNUMPY_CPU_SEES_BOTH(16)

CUNUMPY_CPU_HIDDEN void __tsan_init() {}
CUNUMPY_CPU_HIDDEN void __tsan_func_entry(void*) {}
CUNUMPY_CPU_HIDDEN void __tsan_func_exit() {}
CUNUMPY_CPU_HIDDEN void __tsan_vptr_update(void**, void*) {}
CUNUMPY_CPU_HIDDEN void __tsan_vptr_read(void**) {}
CUNUMPY_CPU_HIDDEN void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
CUNUMPY_CPU_HIDDEN void __tsan_atomic_signal_fence(int) {}
CUNUMPY_CPU_HIDDEN void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
    cunumpy_cpu_check_range(from, size, READ);
    cunumpy_cpu_check_range(to, size, WRITE);
    return memcpy(to, from, size);
}
CUNUMPY_CPU_HIDDEN void* __tsan_memmove(void* to, const void* from, unsigned long size) {
    cunumpy_cpu_check_range(from, size, READ);
    cunumpy_cpu_check_range(to, size, WRITE);
    return memmove(to, from, size);
}
CUNUMPY_CPU_HIDDEN void* __tsan_memset(void* to, int byte, unsigned long size) {
    cunumpy_cpu_check_range(to, size, WRITE);
    return memset(to, byte, size);
}

#define CUNUMPY_CPU_SEES_CHANGE(T, bits, name)                                                            \
    CUNUMPY_CPU_HIDDEN T __tsan_atomic##bits##_##name(volatile T* at, T value, int) {                     \
        see((const void*)at, sizeof(T), ATOMIC, __builtin_return_address(0));                             \
        return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                                              \
    }
#define CUNUMPY_CPU_SEES_ATOMICS(T, bits)                                                                 \
    CUNUMPY_CPU_HIDDEN T __tsan_atomic##bits##_load(const volatile T* at, int) {                          \
        see((const void*)at, sizeof(T), READ, __builtin_return_address(0));                               \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                     \
    }                                                                                                     \
    CUNUMPY_CPU_HIDDEN void __tsan_atomic##bits##_store(volatile T* at, T value, int) {                   \
        see((const void*)at, sizeof(T), WRITE, __builtin_return_address(0));                              \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                    \
    }                                                                                                     \
    CUNUMPY_CPU_HIDDEN T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {                   \
        see((const void*)at, sizeof(T), ATOMIC, __builtin_return_address(0));                             \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                          \
    }                                                                                                     \
    CUNUMPY_CPU_SEES_CHANGE(T, bits, fetch_add)                                                           \
    CUNUMPY_CPU_SEES_CHANGE(T, bits, fetch_sub)                                                           \
    CUNUMPY_CPU_SEES_CHANGE(T, bits, fetch_and)                                                           \
    CUNUMPY_CPU_SEES_CHANGE(T, bits, fetch_or)                                                            \
    CUNUMPY_CPU_SEES_CHANGE(T, bits, fetch_xor)                                                           \
    CUNUMPY_CPU_SEES_CHANGE(T, bits, fetch_nand)                                                          \
    CUNUMPY_CPU_HIDDEN int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T value, int, int) { \
        see((const void*)at, sizeof(T), ATOMIC, __builtin_return_address(0));                             \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                     \
    CUNUMPY_CPU_HIDDEN int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T value, int, int) { \
        see((const void*)at, sizeof(T), ATOMIC, __builtin_return_address(0));                             \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                     \
    CUNUMPY_CPU_HIDDEN T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int, int) { \
        see((const void*)at, sizeof(T), ATOMIC, __builtin_return_address(0));                             \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
        return expected;                                                                                  \
    }
CUNUMPY_CPU_SEES_ATOMICS(unsigned char, 8)
CUNUMPY_CPU_SEES_ATOMICS(unsigned short, 16)
CUNUMPY_CPU_SEES_ATOMICS(unsigned int, 32)
CUNUMPY_CPU_SEES_ATOMICS(unsigned long long, 64)

// --- indices and pointers ---------------------------------------------------------------------------------------------

// As compilers pass them (clang's documentation of UndefinedBehaviorSanitizer).
struct Location {
    const char* file;
    unsigned int line, column;
};
struct Type {
    unsigned short kind, info;
    char name[1];
};

static void tell_where(Fault* fault, const Location& location, const char* text) {
    snprintf(fault->file, sizeof fault->file, "%s", location.file != nullptr ? location.file : "");
    snprintf(fault->text, sizeof fault->text, "%s", text);
    fault->line = location.line;
}

struct OutOfBounds {
    Location location;
    const Type *array, *index;
};
CUNUMPY_CPU_HIDDEN void __ubsan_handle_out_of_bounds(OutOfBounds* data, size_t index) {
    if (check == nullptr) return;
    const unsigned int bits = 1u << (data->index->info >> 1);
    const bool is_signed = data->index->info & 1;
    long long value = (long long)index;
    if (bits > 64)
        value = *(long long*)index;
    else if (is_signed && bits < 64)
        value = (long long)(index << (64 - bits)) >> (64 - bits);
    Fault* fault = new_fault(CUNUMPY_CPU_INDEX, __builtin_return_address(0));
    if (fault != nullptr) {
        tell_where(fault, data->location, data->array->name);
        fault->offset = value;
    }
    cunumpy_cpu_check_fail("checked");
}

struct Mismatch {
    Location location;
    const Type* type;
    unsigned char log_alignment, kind;
};
CUNUMPY_CPU_HIDDEN void __ubsan_handle_type_mismatch_v1(Mismatch* data, size_t pointer) {
    if (check == nullptr) return;
    Fault* fault = new_fault(pointer < 65536 ? CUNUMPY_CPU_NULL : CUNUMPY_CPU_MISALIGNED, __builtin_return_address(0));
    if (fault != nullptr) {
        tell_where(fault, data->location, data->type->name);
        fault->address = pointer;
        fault->access = data->kind == 1 ? WRITE : READ;
        fault->size = 1u << data->log_alignment;
        const char* at = (const char*)pointer;
        const u64 number = (u64)pointer;
        if (number - check->arena_start < check->arena_end - check->arena_start) {
            const long region = find(check->regions[CUNUMPY_CPU_ARRAYS], check->counts[CUNUMPY_CPU_ARRAYS], at);
            if (region >= 0) {
                fault->list = CUNUMPY_CPU_ARRAYS;
                fault->region = (unsigned int)region;
                fault->offset = at - check->regions[CUNUMPY_CPU_ARRAYS][region].start;
            }
        }
    }
    cunumpy_cpu_check_fail("checked");
}

// --- time -------------------------------------------------------------------------------------------------------------

CUNUMPY_CPU_HIDDEN void __sanitizer_cov_trace_pc() {
    if (__builtin_expect((++steps & 0xfffff) != 0, 1) || check == nullptr || last_second == 0 || now() < last_second) return;
    new_fault(CUNUMPY_CPU_TIME, __builtin_return_address(0));
    cunumpy_cpu_check_fail("checked");
}
}
