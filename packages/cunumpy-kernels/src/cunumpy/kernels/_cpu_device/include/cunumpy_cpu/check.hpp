// What a checked launch knows of memory, and the faults that it finds: what Python, the kernel's unit and the callbacks of
// the instrumentation agree on. `checking.py` has the same structures.
#pragma once

extern "C" {

enum cunumpy_cpu_region_flags : unsigned int { CUNUMPY_CPU_READ_ONLY = 1, CUNUMPY_CPU_OWN = 2 };

// Memory that belongs to an argument or to a variable.
struct cunumpy_cpu_region {
    char* start;  // of shared memory, first, its offset among thread-local variables
    unsigned long long size;
    unsigned char* holes;    // not 0 where a byte belongs to nobody, as between the elements of a strided array; or null
    unsigned char* written;  // not 0 where a byte was written to; null where that does not matter
    unsigned int flags, unused;
};

enum cunumpy_cpu_fault_kind : unsigned int {
    CUNUMPY_CPU_BOUNDS = 1,
    CUNUMPY_CPU_HOLE,
    CUNUMPY_CPU_READ_ONLY_WRITE,
    CUNUMPY_CPU_NULL,
    CUNUMPY_CPU_MISALIGNED,
    CUNUMPY_CPU_UNWRITTEN,
    CUNUMPY_CPU_INDEX,
    CUNUMPY_CPU_TIME,
};

enum cunumpy_cpu_list : unsigned int { CUNUMPY_CPU_ARRAYS, CUNUMPY_CPU_SHARED, CUNUMPY_CPU_GLOBALS, CUNUMPY_CPU_NOWHERE };

struct cunumpy_cpu_fault {
    unsigned int kind, list, region, size;
    unsigned int access;  // 0 a read, 1 a write, 2 an atomic function
    unsigned int block[3], thread[3];
    unsigned int line;  // 0: to be found from the place
    unsigned long long address;
    long long offset;          // from the region's start; of CUNUMPY_CPU_INDEX the index
    unsigned long long place;  // of the code, from the library's start
    char file[200], text[120];
};

struct cunumpy_cpu_check {
    cunumpy_cpu_region* regions[3];  // each list by ascending start
    unsigned int counts[3];
    unsigned int faults, room;
    unsigned int unused;
    unsigned long long arena_start, arena_end;  // arrays, with wide gaps between
    unsigned long long anchor;                  // the offset of threadIdx among thread-local variables
    unsigned long long shared_start, shared_end, globals_start, globals_end;
    double seconds;  // the launch may take; 0: any time
    cunumpy_cpu_fault* found;
};

#define CUNUMPY_CPU_HIDDEN __attribute__((visibility("hidden")))

// In the kernel's unit.
CUNUMPY_CPU_HIDDEN [[noreturn]] void cunumpy_cpu_check_fail(const char* message);
CUNUMPY_CPU_HIDDEN void cunumpy_cpu_check_where(unsigned int* block, unsigned int* thread);

// In check.cpp: around a launch, at the beginning of a block, and for memory that functions of ours go through.
CUNUMPY_CPU_HIDDEN void cunumpy_cpu_check_begin(cunumpy_cpu_check* check, char* anchor);
CUNUMPY_CPU_HIDDEN void cunumpy_cpu_check_end();
CUNUMPY_CPU_HIDDEN void cunumpy_cpu_check_block();
CUNUMPY_CPU_HIDDEN void cunumpy_cpu_check_range(const void* at, unsigned long long size, unsigned int access);
}
