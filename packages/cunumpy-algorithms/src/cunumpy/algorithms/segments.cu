// Segments on the device: one thread for an entry, which goes to its segment by an atomic operation; or, in a fixed
// order, one thread for an entry of the result, which goes through the sorted rows of its segment.
//
// Keys have any integer type K. A negative key, and one that is not below n_segments, drops its row. `flag`, where it
// is given, becomes n - i for the first row i whose key is too large. Values are rows of m entries, `stride` entries
// apart; complex entries count as two.

#include "half.cuh"

typedef long long index_t;
typedef unsigned long long word_t;

// --- conversions -----------------------------------------------------------------------------------------------------

template <class To, class From> struct Convert {
    static __device__ __forceinline__ To from(From value) { return (To)value; }
};
template <class To> struct Convert<To, Half> {
    static __device__ __forceinline__ To from(Half value) { return (To)(double)value; }
};
template <class From> struct Convert<Half, From> {
    static __device__ __forceinline__ Half from(From value) { return to_half((double)value); }
};
template <> struct Convert<Half, Half> {
    static __device__ __forceinline__ Half from(Half value) { return value; }
};

// --- operations ------------------------------------------------------------------------------------------------------

template <class T> struct Number {
    typedef T type;
};
template <> struct Number<Half> {
    typedef double type;
};

template <class T> __device__ __forceinline__ typename Number<T>::type number(T value) {
    return Convert<typename Number<T>::type, T>::from(value);
}

struct Plus {
    template <class A> static __device__ __forceinline__ A apply(A a, A v) {
        return Convert<A, typename Number<A>::type>::from(number(a) + number(v));
    }
};

// NaN wins and stays; of equal values the one that came first stays.
struct Minimum {
    template <class A> static __device__ __forceinline__ A apply(A a, A v) {
        return (number(v) < number(a) || number(v) != number(v)) && number(a) == number(a) ? v : a;
    }
};

struct Maximum {
    template <class A> static __device__ __forceinline__ A apply(A a, A v) {
        return (number(v) > number(a) || number(v) != number(v)) && number(a) == number(a) ? v : a;
    }
};

template <class T> union Bits64 {
    T value;
    word_t word;
};

template <class T> union Bits32 {
    T value;
    unsigned int word;
};

// *place = Operation::apply(*place, value), atomically, for types of any size up to 64 bits.
template <class Operation, class T, int SIZE> struct Atomic { // 8 and 16 bits: within their word
    static __device__ __forceinline__ void apply(T *place, T value) {
        const word_t address = (word_t)place;
        unsigned int *word = (unsigned int *)(address & ~(word_t)3);
        const int shift = (int)(address & 3) * 8;
        const unsigned int mask = (SIZE == 1 ? 0xffu : 0xffffu) << shift;
        unsigned int old = *(volatile unsigned int *)word;
        for (;;) {
            Bits32<T> bits;
            bits.word = (old & mask) >> shift;
            bits.value = Operation::apply(bits.value, value);
            const unsigned int next = (old & ~mask) | ((bits.word << shift) & mask);
            if (next == old) return;
            const unsigned int seen = atomicCAS(word, old, next);
            if (seen == old) return;
            old = seen;
        }
    }
};

template <class Operation, class T> struct Atomic<Operation, T, 4> {
    static __device__ __forceinline__ void apply(T *place, T value) {
        Bits32<T> old, next;
        old.word = *(volatile unsigned int *)place;
        for (;;) {
            next.value = Operation::apply(old.value, value);
            if (next.word == old.word) return;
            const unsigned int seen = atomicCAS((unsigned int *)place, old.word, next.word);
            if (seen == old.word) return;
            old.word = seen;
        }
    }
};

template <class Operation, class T> struct Atomic<Operation, T, 8> {
    static __device__ __forceinline__ void apply(T *place, T value) {
        Bits64<T> old, next;
        old.word = *(volatile word_t *)place;
        for (;;) {
            next.value = Operation::apply(old.value, value);
            if (next.word == old.word) return;
            const word_t seen = atomicCAS((word_t *)place, old.word, next.word);
            if (seen == old.word) return;
            old.word = seen;
        }
    }
};

template <class T> __device__ __forceinline__ void add_atomically(T *place, T value) {
    Atomic<Plus, T, sizeof(T)>::apply(place, value);
}
__device__ __forceinline__ void add_atomically(float *place, float value) { atomicAdd(place, value); }
__device__ __forceinline__ void add_atomically(unsigned int *place, unsigned int value) { atomicAdd(place, value); }
__device__ __forceinline__ void add_atomically(word_t *place, word_t value) { atomicAdd(place, value); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
__device__ __forceinline__ void add_atomically(double *place, double value) { atomicAdd(place, value); }
#endif

__device__ __forceinline__ index_t thread_index() { return blockIdx.x * (index_t)blockDim.x + threadIdx.x; }

template <class K> __device__ __forceinline__ bool negative(K key) { return key < (K)0; }

template <class K> __device__ __forceinline__ bool too_large(K key, index_t n_segments) {
    return !negative(key) && (word_t)key >= (word_t)n_segments;
}

// The segment of a row, or -1 if the row takes no part.
template <class K> __device__ __forceinline__ index_t segment_of(const K *keys, index_t row, index_t n,
                                                                 index_t n_segments, word_t *flag, bool says) {
    const K key = keys[row];
    if (negative(key)) return -1;
    if ((word_t)key >= (word_t)n_segments) {
        if (flag && says) atomicMax(flag, (word_t)(n - row));
        return -1;
    }
    return (index_t)key;
}

// --- keys ------------------------------------------------------------------------------------------------------------

// Keys as a plan keeps them: -1 for every row that takes no part.
template <class K, class P>
__global__ void segment_keys(const K *keys, index_t n, index_t n_segments, P *out, word_t *flag) {
    const index_t i = thread_index();
    if (i < n) out[i] = (P)segment_of(keys, i, n, n_segments, flag, true);
}

template <class K> __global__ void segment_check(const K *keys, index_t n, index_t n_segments, word_t *flag) {
    const index_t i = thread_index();
    if (i < n) segment_of(keys, i, n, n_segments, flag, true);
}

// Where each segment begins among sorted keys of a plan.
template <class P> __global__ void segment_offsets(const P *sorted, index_t n, index_t n_segments, index_t *offsets) {
    const index_t segment = thread_index();
    if (segment > n_segments) return;
    index_t low = 0, count = n;
    while (count > 0) {
        const index_t half = count / 2;
        if ((index_t)sorted[low + half] < segment) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    offsets[segment] = low;
}

// --- any order -------------------------------------------------------------------------------------------------------

template <class V, class A, class K> __global__ void segment_sum(const V *values, index_t stride, index_t n, index_t m,
                                                                 const K *keys, index_t n_segments, A *out,
                                                                 word_t *flag) {
    const index_t i = thread_index();
    if (i >= n * m) return;
    const index_t row = m == 1 ? i : i / m, column = m == 1 ? 0 : i - row * m;
    const index_t segment = segment_of(keys, row, n, n_segments, flag, column == 0);
    if (segment >= 0) add_atomically(out + segment * m + column, Convert<A, V>::from(values[row * stride + column]));
}

template <class Operation, class V, class K> __global__ void segment_extreme(const V *values, index_t stride, index_t n,
                                                                             index_t m, const K *keys,
                                                                             index_t n_segments, V *out, word_t *flag) {
    const index_t i = thread_index();
    if (i >= n * m) return;
    const index_t row = m == 1 ? i : i / m, column = m == 1 ? 0 : i - row * m;
    const index_t segment = segment_of(keys, row, n, n_segments, flag, column == 0);
    if (segment >= 0) Atomic<Operation, V, sizeof(V)>::apply(out + segment * m + column, values[row * stride + column]);
}

template <class K>
__global__ void segment_count(const K *keys, index_t n, index_t n_segments, word_t *counts, word_t *flag) {
    const index_t i = thread_index();
    if (i >= n) return;
    const index_t segment = segment_of(keys, i, n, n_segments, flag, true);
    if (segment >= 0) atomicAdd(counts + segment, 1ull);
}

// Sums to the dtype of the result.
template <class A, class R> __global__ void segment_round(const A *sums, index_t n, R *out) {
    const index_t i = thread_index();
    if (i < n) out[i] = Convert<R, A>::from(sums[i]);
}

// Sums of m entries a segment to means.
template <class R>
__global__ void segment_divide(const double *sums, const word_t *counts, index_t n, index_t m, R *out) {
    const index_t i = thread_index();
    if (i < n) out[i] = Convert<R, double>::from(sums[i] / (double)counts[i / m]);
}

// --- row order -------------------------------------------------------------------------------------------------------

template <class V, class A, class R> __global__ void segment_sum_ordered(const V *values, index_t stride, index_t m,
                                                                         const index_t *order, const index_t *offsets,
                                                                         index_t n_segments, R *out) {
    const index_t i = thread_index();
    if (i >= n_segments * m) return;
    const index_t segment = i / m, column = i - segment * m;
    A sum = 0;
    for (index_t j = offsets[segment]; j < offsets[segment + 1]; ++j)
        sum += Convert<A, V>::from(values[order[j] * stride + column]);
    out[i] = Convert<R, A>::from(sum);
}

template <class V, class R> __global__ void segment_mean_ordered(const V *values, index_t stride, index_t m,
                                                                 const index_t *order, const index_t *offsets,
                                                                 index_t n_segments, R *out) {
    const index_t i = thread_index();
    if (i >= n_segments * m) return;
    const index_t segment = i / m, column = i - segment * m;
    double sum = 0;
    for (index_t j = offsets[segment]; j < offsets[segment + 1]; ++j)
        sum += Convert<double, V>::from(values[order[j] * stride + column]);
    out[i] = Convert<R, double>::from(sum / (double)(offsets[segment + 1] - offsets[segment]));
}

// `out` holds the identity.
template <class Operation, class V>
__global__ void segment_extreme_ordered(const V *values, index_t stride, index_t m, const index_t *order,
                                        const index_t *offsets, index_t n_segments, V *out) {
    const index_t i = thread_index();
    if (i >= n_segments * m) return;
    const index_t segment = i / m, column = i - segment * m;
    V extreme = out[i];
    for (index_t j = offsets[segment]; j < offsets[segment + 1]; ++j)
        extreme = Operation::apply(extreme, values[order[j] * stride + column]);
    out[i] = extreme;
}

// --- back to the rows ------------------------------------------------------------------------------------------------

// Rows of m words; rows that take no part become zero.
template <class W, class K>
__global__ void segment_gather(const W *values, index_t n, index_t m, const K *keys, index_t n_segments, W *out) {
    const index_t i = thread_index();
    if (i >= n * m) return;
    const index_t row = i / m, segment = segment_of(keys, row, n, n_segments, (word_t *)0, false);
    out[i] = segment < 0 ? (W)0 : values[segment * m + (i - row * m)];
}

// --- sorted keys -----------------------------------------------------------------------------------------------------

// heads[0] has its bit 62 set if the keys are not sorted; heads[i + 1] is 1 where a run begins.
template <class K> __global__ void boundary_heads(const K *keys, index_t n, word_t *heads) {
    const index_t i = thread_index();
    if (i >= n) return;
    heads[i + 1] = i == 0 || keys[i - 1] != keys[i];
    if (i > 0 && keys[i - 1] > keys[i]) atomicMax(heads, 1ull << 62);
}

// `runs` has the running sums of the heads.
template <class K> __global__ void boundary_fill(const K *keys, index_t n, const index_t *runs, K *unique,
                                                 index_t *starts, index_t *stops) {
    const index_t i = thread_index();
    if (i >= n) return;
    const index_t run = runs[i + 1] - 1;
    if (runs[i] <= run) {
        unique[run] = keys[i];
        starts[run] = i;
        if (run > 0) stops[run - 1] = i;
    }
    if (i == n - 1) stops[run] = n;
}

// `flag`, where it is given, becomes n - i for the first row i that is out of order or out of range.
template <class K>
__global__ void cell_offsets(const K *cells, index_t n, index_t n_cells, index_t *offsets, word_t *flag) {
    const index_t i = thread_index();
    if (flag && i < n && (negative(cells[i]) || too_large(cells[i], n_cells) || (i > 0 && cells[i - 1] > cells[i])))
        atomicMax(flag, (word_t)(n - i));
    if (i > n_cells) return;
    index_t low = 0, count = n;
    while (count > 0) {
        const index_t half = count / 2;
        const K cell = cells[low + half];
        if (negative(cell) || (word_t)cell < (word_t)i) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    offsets[i] = low;
}

// --- scatter ---------------------------------------------------------------------------------------------------------

const index_t NOWHERE = -9223372036854775807ll - 1; // beyond any axis, counted from either end

// The position along an axis, counted from the end if negative; -1 if there is none.
template <class K> __device__ __forceinline__ index_t position_of(K index, index_t extent) {
    if (!negative(index)) return (word_t)index < (word_t)extent ? (index_t)index : -1;
    const index_t position = (index_t)index + extent;
    return position < 0 ? -1 : position;
}

// linear = linear * extent + index, or NOWHERE once an axis has no such position.
template <class K> __global__ void scatter_index(const K *index, index_t n, index_t extent, int first_axis,
                                                 index_t *linear, word_t *flag) {
    const index_t i = thread_index();
    if (i >= n) return;
    const index_t position = position_of(index[i], extent), before = first_axis ? 0 : linear[i];
    if (position < 0 && flag) atomicMax(flag, (word_t)(n - i));
    linear[i] = position < 0 || before < 0 ? NOWHERE : before * extent + position;
}

template <class K> __global__ void scatter_check(const K *index, index_t n, index_t extent, word_t *flag) {
    const index_t i = thread_index();
    if (i < n && position_of(index[i], extent) < 0) atomicMax(flag, (word_t)(n - i));
}

template <class V, class K> __global__ void scatter_add(const V *values, index_t stride, index_t n, index_t m,
                                                        const K *index, index_t extent, V *out) {
    const index_t i = thread_index();
    if (i >= n * m) return;
    const index_t row = m == 1 ? i : i / m, column = m == 1 ? 0 : i - row * m;
    index_t position = position_of(index[row], extent);
    if (position >= 0) add_atomically(out + position * m + column, values[row * stride + column]);
}
