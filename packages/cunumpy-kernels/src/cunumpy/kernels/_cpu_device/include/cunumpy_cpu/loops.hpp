// Blocks whose threads wait for nobody: loops over threads, of which the compiler sees the kernel's whole body.
//
// What lets gcc vectorise them, each found by measurement: the kernel is inlined together with what it calls; indices
// are known not to wrap (the hints below); the loop has a signed counter; and the first thread, which conditions such
// as i > 0 single out, runs apart from the others, so that the compiler can split the loop at the condition that is
// left.
#pragma once

#include "fibers.hpp"
#include "launch.hpp"

// Before a loop whose iterations don't depend on each other.
#ifdef __clang__  // which has no such pragma
#define CUNUMPY_CPU_INDEPENDENT
#else
#define CUNUMPY_CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace cunumpy_cpu {

template <unsigned int... I>
struct Indices {};
template <unsigned int N, unsigned int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <unsigned int... I>
struct MakeIndices<0, I...> {
    typedef Indices<I...> type;
};

// The kind of a parameter, above its size: 1 for a pointer, 2 for one to constants, 3 for a floating-point number.
template <class T>
struct KindBits {
    static constexpr unsigned int value = 0;
};
template <class T>
struct KindBits<T*> {
    static constexpr unsigned int value = 1u << 30;
};
template <class T>
struct KindBits<const T*> {
    static constexpr unsigned int value = 2u << 30;
};
template <>
struct KindBits<float> {
    static constexpr unsigned int value = 3u << 30;
};
template <>
struct KindBits<double> {
    static constexpr unsigned int value = 3u << 30;
};

// What every runner has: bytes and kinds of the kernel's parameters.
template <class... P>
struct Parameters {
    CUNUMPY_CPU_PLAIN static unsigned int parameters(unsigned int* sizes) {
        unsigned int count = 0;
        ((sizes[count++] = (unsigned int)sizeof(P) | KindBits<P>::value), ...);
        return count;
    }
};

static inline void expect(bool condition) {
    if (!condition) __builtin_unreachable();
}

// Some blocks of one row of the grid.
struct Row {
    unsigned int first, last, y, z;
};

// Cuts blocks, counted with x fastest, into rows.
template <class F>
static void for_rows(unsigned long long first, unsigned long long last, F work) {
    const unsigned int width = gridDim.x, height = gridDim.y;
    while (first < last) {
        const unsigned long long row = first / width;
        const unsigned int x = (unsigned int)(first - row * width);
        const unsigned long long count = last - first < width - x ? last - first : width - x;
        work(Row{x, (unsigned int)(x + count), (unsigned int)(row % height), (unsigned int)(row / height)});
        first += count;
    }
}

// The numbers below n in the order that a schedule asks for: see Block. Random orders go through them by steps that have
// no divisor in common with n.
struct Order {
    unsigned long long n, next, step;
    Order(unsigned long long n, unsigned int schedule, unsigned long long salt) : n(n), next(0), step(1) {
        if (schedule == 0 || n < 2) return;
        next = step = n - 1;
        if (schedule == 1) return;
        unsigned long long random = (schedule + salt * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
        random ^= random >> 29;
        next = random % n;
        step = 1 + random / n % (n - 1);
        while (common_divisor(step, n) != 1) step = step % (n - 1) + 1;
    }
    static unsigned long long common_divisor(unsigned long long a, unsigned long long b) {
        while (b != 0) {
            const unsigned long long rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }
    unsigned long long take() {
        const unsigned long long taken = next;
        next = next >= n - step ? next - (n - step) : next + step;
        return taken;
    }
};

// work() for each of these blocks, blockIdx is set, in the order of the schedule.
template <class F>
CUNUMPY_CPU_PLAIN static void for_blocks(unsigned int schedule, unsigned long long first, unsigned long long last, F work) {
    if (first >= last) return;
    Order order(last - first, schedule, first + 1);
    for (unsigned long long i = first; i < last; ++i) {
        const unsigned long long number = first + order.take(), row = number / gridDim.x;
        blockIdx.x = (unsigned int)(number - row * gridDim.x);
        blockIdx.y = (unsigned int)(row % gridDim.y);
        blockIdx.z = (unsigned int)(row / gridDim.y);
        work();
    }
}

CUNUMPY_CPU_PLAIN static inline void tell_block() {
#ifdef CUNUMPY_CPU_CHECK
    CUNUMPY_CPU_TELL(block, blockIdx.x + (unsigned long long)gridDim.x *
                                (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z));
#endif
}

CUNUMPY_CPU_PLAIN static inline void begin_thread(uint3* index, unsigned int x, unsigned int y, unsigned int z, unsigned int number) {
#ifdef CUNUMPY_CPU_CHECK
    if (cunumpy_check_thread_at != nullptr) return cunumpy_check_thread_at(&index->x, x, y, z, number);
#endif
    (void)number;
    *index = uint3{x, y, z};
}

// In checked builds: block after block, thread after thread.
template <auto kernel, class F = decltype(kernel)>
struct CheckedLoops;
template <auto kernel, class... P>
struct CheckedLoops<kernel, void (*)(P...)> : Parameters<P...> {
    template <unsigned int... I>
    static void run(unsigned int schedule, void** arguments, unsigned long long first, unsigned long long last,
                    Indices<I...>) {
        const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
        for_blocks(schedule, first, last, [=]() CUNUMPY_CPU_PLAIN {
            tell_block();
            if (schedule == 0) {
                const dim3 shape = blockDim;
                uint3* const index = &threadIdx;
                unsigned int number = 0;
                for (unsigned int z = 0; z < shape.z; ++z)
                    for (unsigned int y = 0; y < shape.y; ++y)
                        for (unsigned int x = 0; x < shape.x; ++x, ++number) {
                            begin_thread(index, x, y, z, number);
                            kernel(*(P*)arguments[I]...);
                        }
                return;
            }
            Order order(threads, schedule, blockIdx.x + 31ull * blockIdx.y + 1009ull * blockIdx.z);
            for (unsigned int i = 0; i < threads; ++i) {
                const unsigned int thread = (unsigned int)order.take(), row = thread / blockDim.x;
                begin_thread(&threadIdx, thread - row * blockDim.x, row % blockDim.y, row / blockDim.y, thread);
                kernel(*(P*)arguments[I]...);
            }
        });
    }
    static void run(const cunumpy_cpu_launch& launch, void** arguments, unsigned long long first, unsigned long long last) {
        run(launch.schedule, arguments, first, last, typename MakeIndices<sizeof...(P)>::type());
    }
};

// The threads of each block along x are a loop.
template <auto kernel, class F = decltype(kernel)>
struct Loops;
template <auto kernel, class... P>
struct Loops<kernel, void (*)(P...)> : Parameters<P...> {
    __attribute__((noinline, flatten)) static void row(Row row, P... p) {
        const unsigned int width = blockDim.x, height = blockDim.y, depth = blockDim.z;
        expect(width >= 1 && width <= 1024 && height >= 1 && height <= 1024 && depth >= 1 && depth <= 64);
        blockIdx.y = row.y;
        blockIdx.z = row.z;
        expect(blockIdx.y < 65536 && blockIdx.z < 65536);
        for (unsigned int z = 0; z < depth; ++z) {
            for (unsigned int y = 0; y < height; ++y) {
                for (unsigned int block = row.first; block < row.last; ++block) {
                    unsigned int here = block;
                    asm("" : "+r"(here));  // else the hints are lost where the first block is treated apart
                    blockIdx.x = here;
                    threadIdx.z = z;
                    threadIdx.y = y;
#ifndef CUNUMPY_CPU_WIDE
                    expect(blockIdx.x < 0x7fffffffu / 1024);
                    const unsigned int begin = blockIdx.x * blockDim.x;
                    expect(begin <= 0x7fffffffu - 1024);
#endif
                    CUNUMPY_CPU_INDEPENDENT
                    for (unsigned int x = 0; x < width; ++x) {
                        threadIdx.x = x;
                        kernel(p...);
                    }
                }
            }
        }
    }

    template <unsigned int... I>
    static void run(void** arguments, unsigned long long first, unsigned long long last, Indices<I...>) {
        for_rows(first, last, [=](Row one) { row(one, *(P*)arguments[I]...); });
    }
    static void run(const cunumpy_cpu_launch&, void** arguments, unsigned long long first, unsigned long long last) {
        run(arguments, first, last, typename MakeIndices<sizeof...(P)>::type());
    }
};

// A bound that threads are compared with; below all if it is no integer.
static inline long long edge_of(int bound) { return bound; }
static inline long long edge_of(unsigned int bound) { return bound; }
static inline long long edge_of(long bound) { return bound; }
static inline long long edge_of(unsigned long bound) { return (long long)bound; }
static inline long long edge_of(long long bound) { return bound; }
static inline long long edge_of(unsigned long long bound) { return (long long)bound; }
static inline long long edge_of(float) { return -1; }
static inline long long edge_of(double) { return -1; }

// For kernels that use x only as blockIdx.x * blockDim.x + threadIdx.x and gridDim.x * blockDim.x: the blocks of a row
// are one, with blockIdx.x = 0. With a `block_width` they use blockIdx.x * block_width + threadIdx.x. Between the edges
// that `find` finds, if there are any, `between` tells what the kernel's conditions are.
template <auto kernel, unsigned int block_width = 0, auto find = nullptr, auto between = nullptr,
          class F = decltype(kernel)>
struct MergedLoops;
template <auto kernel, unsigned int block_width, auto find, auto between, class... P>
struct MergedLoops<kernel, block_width, find, between, void (*)(P...)> : Parameters<P...> {
    static constexpr bool has_edges = !__is_same(decltype(find), decltype(nullptr));

    // A thread on an edge.
    __attribute__((noinline, flatten)) static void one(int x, P... p) {
        threadIdx.x = (unsigned int)x;
        kernel(p...);
    }

    // Threads that are not between the edges: a few, as a rule.
    __attribute__((noinline, flatten)) static void some(int x, int end, P... p) {
        expect(x >= 0);
        if (end - x > 64) {
            CUNUMPY_CPU_INDEPENDENT
            for (; x < end; ++x) {
                threadIdx.x = (unsigned int)x;
                kernel(p...);
            }
        }
        for (; x < end; ++x) one(x, p...);
    }

    __attribute__((noinline, flatten)) static void line(unsigned int first, unsigned int last, P... p) {
        blockIdx.x = 0;
        gridDim.x = 1;
        expect(blockDim.x >= 1 && blockDim.x <= 0x7fffffffu);
        expect(blockIdx.y < 65536 && blockIdx.z < 65536 && threadIdx.y < 1024 && threadIdx.z < 64);
        expect(blockDim.y >= 1 && blockDim.y <= 1024 && blockDim.z >= 1 && blockDim.z <= 64);
        expect(first <= 0x7fffffffu && last <= 0x7fffffffu);
        int x = (int)first;
        int end = (int)last;
        if constexpr (has_edges) {
            long long low = 1, high = end;
            find(low, high, p...);
            if (low < x) low = x;
            if (low > end) low = end;
            if (high < low) high = low;
            some(x, (int)low, p...);
            some((int)high, end, p...);
            x = (int)low;
            end = (int)high;
        } else if (x == 0 && x < end) {
            threadIdx.x = 0;
            kernel(p...);
            x = 1;
        }
        expect(x >= 1);
        CUNUMPY_CPU_INDEPENDENT
        for (; x < end; ++x) {
            if constexpr (has_edges) between(x, p...);
            threadIdx.x = (unsigned int)x;
            kernel(p...);
        }
    }

    template <unsigned int... I>
    static void run(void** arguments, unsigned long long first, unsigned long long last, Indices<I...>) {
        const unsigned int width = blockDim.x;
        merged_width = width;
        blockDim.x = width * gridDim.x;
        for_rows(first, last, [=](Row row) {
            blockIdx.y = row.y;
            blockIdx.z = row.z;
            for (unsigned int z = 0; z < blockDim.z; ++z) {
                for (unsigned int y = 0; y < blockDim.y; ++y) {
                    threadIdx.z = z;
                    threadIdx.y = y;
                    if (block_width == 0 || width == block_width) {
                        line(row.first * width, row.last * width, *(P*)arguments[I]...);
                        continue;
                    }
                    for (merged_block = row.first; merged_block < row.last; ++merged_block) {
                        merged_begin = merged_block * block_width;
                        line(merged_begin, merged_begin + width, *(P*)arguments[I]...);
                    }
                    merged_block = merged_begin = 0;
                }
            }
        });
    }
    static void run(const cunumpy_cpu_launch&, void** arguments, unsigned long long first, unsigned long long last) {
        run(arguments, first, last, typename MakeIndices<sizeof...(P)>::type());
    }
};

// For kernels that are a grid-stride loop: its first step for all threads of a row, then the second, and so on.
// `active` tells whether a thread has a step: threads between two that have one have it too.
template <auto kernel, auto step, auto active, class F = decltype(kernel)>
struct GridStrideLoops;
template <auto kernel, auto step, auto active, class... P>
struct GridStrideLoops<kernel, step, active, void (*)(P...)> : Parameters<P...> {
    typedef unsigned long long Pass;

    // All threads of a line, or those of them that have this step.
    template <bool all>
    __attribute__((noinline, flatten)) static void line(Pass pass, unsigned int first, unsigned int last, P... p) {
        blockIdx.x = 0;
        gridDim.x = 1;
        expect(blockDim.x >= 1 && blockDim.x <= 0x7fffffffu);
        expect(first <= 0x7fffffffu && last <= 0x7fffffffu);
        const int end = (int)last;
        CUNUMPY_CPU_INDEPENDENT
        for (int x = (int)first; x < end; ++x) {
            threadIdx.x = (unsigned int)x;
            if (all || active(pass, p...)) step(pass, p...);
        }
    }

    static bool is_active(Pass pass, unsigned int thread, P... p) {
        blockIdx.x = 0;
        gridDim.x = 1;
        threadIdx.x = thread;
        return active(pass, p...);
    }

    template <unsigned int... I>
    static void run(void** arguments, unsigned long long first, unsigned long long last, Indices<I...>) {
        const unsigned int width = blockDim.x;
        merged_width = width;
        blockDim.x = width * gridDim.x;
        for_rows(first, last, [=](Row row) {
            blockIdx.y = row.y;
            blockIdx.z = row.z;
            const unsigned int begin = row.first * width, end = row.last * width;
            for (unsigned int z = 0; z < blockDim.z; ++z) {
                for (unsigned int y = 0; y < blockDim.y; ++y) {
                    threadIdx.z = z;
                    threadIdx.y = y;
                    for (Pass pass = 0;; ++pass) {
                        const bool one = is_active(pass, begin, *(P*)arguments[I]...);
                        const bool other = is_active(pass, end - 1, *(P*)arguments[I]...);
                        if (!one && !other) break;
                        if (one && other)
                            line<true>(pass, begin, end, *(P*)arguments[I]...);
                        else
                            line<false>(pass, begin, end, *(P*)arguments[I]...);
                    }
                }
            }
        });
    }
    static void run(const cunumpy_cpu_launch&, void** arguments, unsigned long long first, unsigned long long last) {
        run(arguments, first, last, typename MakeIndices<sizeof...(P)>::type());
    }
};

// For kernels that all threads of a block go through together from barrier to barrier: `block` is the kernel with a loop
// over threads between two barriers.
template <auto kernel, auto block, class F = decltype(kernel)>
struct SplitLoops;
template <auto kernel, auto block, class... P>
struct SplitLoops<kernel, block, void (*)(P...)> : Parameters<P...> {
    __attribute__((noinline, flatten)) static void one(P... p) {
#ifndef CUNUMPY_CPU_WIDE
        expect(blockIdx.x < 0x7fffffffu / 1024);
        expect(blockIdx.x * blockDim.x <= 0x7fffffffu - 1024);
#endif
        block(p...);
    }

    template <unsigned int... I>
    static void run(void** arguments, unsigned long long first, unsigned long long last, Indices<I...>) {
        for_rows(first, last, [=](Row row) CUNUMPY_CPU_PLAIN {
            for (unsigned int x = row.first; x < row.last; ++x) {
                blockIdx = uint3{x, row.y, row.z};
                tell_block();
                one(*(P*)arguments[I]...);
            }
        });
    }
    static void run(const cunumpy_cpu_launch&, void** arguments, unsigned long long first, unsigned long long last) {
        run(arguments, first, last, typename MakeIndices<sizeof...(P)>::type());
    }
};

}  // namespace cunumpy_cpu

#ifdef CUNUMPY_CPU_CHECK
namespace cunumpy_cpu {

CUNUMPY_CPU_PLAIN __attribute__((noinline, unused)) static unsigned int* place_of_index() { return &threadIdx.x; }

// Threads that have returned can't come to a barrier; on a GPU what the others do then is not defined.
CUNUMPY_CPU_PLAIN __attribute__((noinline, unused)) static void check_barrier(const bool* ended, const char* file, unsigned int line) {
    if (ended != nullptr) {
        const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
        unsigned int count = 0;
        for (unsigned int i = 0; i < threads; ++i) count += ended[i];
        if (count == threads) return;
        if (count != 0) fail_ended(ended, threads, Place{file, line, nullptr, nullptr});
    }
    CUNUMPY_CPU_TELL(block_barrier, );
}

}  // namespace cunumpy_cpu
#define CUNUMPY_CPU_BARRIER(ended, file, line) cunumpy_cpu::check_barrier(ended, file, line);
// At the names that the kernel knows are copies, at which nobody has to look.
#define CUNUMPY_CPU_COPIES                        \
    const uint3 blockIdx = ::blockIdx;            \
    const dim3 blockDim = ::blockDim, gridDim = ::gridDim; \
    unsigned int* const cunumpy_cpu_index = cunumpy_cpu::place_of_index();
#define CUNUMPY_CPU_SET_THREAD                                                                                          \
    const uint3 threadIdx = {(unsigned int)cunumpy_cpu_x, cunumpy_cpu_y, cunumpy_cpu_z};                                \
    if (cunumpy_check_thread_at != nullptr)                                                                             \
        cunumpy_check_thread_at(cunumpy_cpu_index, threadIdx.x, threadIdx.y, threadIdx.z, (unsigned int)cunumpy_cpu_t);
#else
#define CUNUMPY_CPU_COPIES
#define CUNUMPY_CPU_SET_THREAD         \
    threadIdx.z = cunumpy_cpu_z;       \
    threadIdx.y = cunumpy_cpu_y;       \
    threadIdx.x = (unsigned int)cunumpy_cpu_x;
#endif

// What the generated function of SplitLoops is made of: at its beginning, in loops around barriers, before and at the
// beginning of each loop over threads.
#define CUNUMPY_CPU_BLOCK                                                                               \
    CUNUMPY_CPU_COPIES                                                                                  \
    const unsigned int cunumpy_cpu_w = blockDim.x, cunumpy_cpu_h = blockDim.y, cunumpy_cpu_d = blockDim.z; \
    cunumpy_cpu::expect(cunumpy_cpu_w >= 1 && cunumpy_cpu_w <= 1024);                                   \
    cunumpy_cpu::expect(cunumpy_cpu_h >= 1 && cunumpy_cpu_h <= 1024);                                   \
    cunumpy_cpu::expect(cunumpy_cpu_d >= 1 && cunumpy_cpu_d <= 64);

#define CUNUMPY_CPU_LEAVE_IF_ENDED \
    if (!__builtin_memchr(cunumpy_cpu_ended, 0, cunumpy_cpu_w * cunumpy_cpu_h * cunumpy_cpu_d)) return;

#define CUNUMPY_CPU_THREADS                                                                             \
    for (unsigned int cunumpy_cpu_z = 0; cunumpy_cpu_z < cunumpy_cpu_d; ++cunumpy_cpu_z)                \
        for (unsigned int cunumpy_cpu_y = 0; cunumpy_cpu_y < cunumpy_cpu_h; ++cunumpy_cpu_y)            \
            _Pragma("GCC ivdep") for (int cunumpy_cpu_x = 0; cunumpy_cpu_x < (int)cunumpy_cpu_w; ++cunumpy_cpu_x)

#define CUNUMPY_CPU_THREAD                                                                              \
    const int cunumpy_cpu_t = (int)((cunumpy_cpu_z * cunumpy_cpu_h + cunumpy_cpu_y) * cunumpy_cpu_w) + cunumpy_cpu_x; \
    CUNUMPY_CPU_SET_THREAD

// What the functions of edges are made of: the first place behind a low edge, and the last before a high one.
#define CUNUMPY_CPU_LOW_EDGE(offset, bound) \
    if (const long long cunumpy_cpu_edge = cunumpy_cpu::edge_of(bound) - (offset) + 1; cunumpy_cpu_edge > cunumpy_cpu_low) \
        cunumpy_cpu_low = cunumpy_cpu_edge;
#define CUNUMPY_CPU_HIGH_EDGE(offset, bound) \
    if (-(offset) > cunumpy_cpu_low) cunumpy_cpu_low = -(offset); \
    if (const long long cunumpy_cpu_edge = cunumpy_cpu::edge_of(bound) - (offset); cunumpy_cpu_edge < cunumpy_cpu_high) \
        cunumpy_cpu_high = cunumpy_cpu_edge;
