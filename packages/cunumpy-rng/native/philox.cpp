// What Python calls for philox_uniform, philox_normal and philox4x32_10.
//
// Operands are integers of any type, byte order and strides; their values are brought to 64 bits block by block, so
// that no temporary of the arrays' size is needed.

#include "philox.hpp"

#include <string.h>

#include "export.hpp"
#include "parallel.hpp"

typedef unsigned long long u64;
typedef long long i64;

// ---- Reading operands -----------------------------------------------------------------------------------------------

typedef void (*Reader)(const char* from, i64 stride, i64 n, u64* to);

template <class T, bool swap>
static void read_run(const char* from, i64 stride, i64 n, u64* to) {
    for (i64 i = 0; i < n; ++i) {
        T value;  // copied by bytes: fields of structures need not be aligned
        memcpy(&value, from + i * stride, sizeof value);
        if (swap) {
            unsigned char bytes[sizeof value];
            memcpy(bytes, &value, sizeof value);
            for (unsigned b = 0; b < sizeof value / 2; ++b) {
                const unsigned char byte = bytes[b];
                bytes[b] = bytes[sizeof value - 1 - b];
                bytes[sizeof value - 1 - b] = byte;
            }
            memcpy(&value, bytes, sizeof value);
        }
        to[i] = (u64)value;  // of a negative number: modulo 2^64
    }
}

template <class T, bool swap>
static void read_any(const char* from, i64 stride, i64 n, u64* to) {
    if (stride == (i64)sizeof(T))
        read_run<T, swap>(from, sizeof(T), n, to);  // a version for the compiler to vectorise
    else
        read_run<T, swap>(from, stride, n, to);
}

// The code of a type: log2 of its size, plus 4 if it is signed, plus 8 for the other byte order; 16 for a number that
// stands in the place of the address. `_layout.py` and `philox.cu` know these codes too.
static const i64 NUMBER = 16;
static const Reader READERS[16] = {
    read_any<unsigned char, false>, read_any<unsigned short, false>, read_any<unsigned int, false>,
    read_any<u64, false>,           read_any<signed char, false>,    read_any<short, false>,
    read_any<int, false>,           read_any<i64, false>,            read_any<unsigned char, true>,
    read_any<unsigned short, true>, read_any<unsigned int, true>,    read_any<u64, true>,
    read_any<signed char, true>,    read_any<short, true>,           read_any<int, true>,
    read_any<i64, true>,
};

// A view of what Python packs: the number of dimensions, the shape, and for each operand address, type code, strides.
struct Layout {
    const i64* packed;
    i64 ndim() const { return packed[0]; }
    const i64* shape() const { return packed + 1; }
    const i64* operand(int k) const { return packed + 1 + ndim() + k * (2 + ndim()); }
};

// Gives elements first .. first+n of operand k as 64-bit integers: where they lie if they are such, else in `buffer`.
static const u64* read_operand(const Layout& layout, int k, i64 first, i64 n, u64* buffer, bool* filled) {
    const i64 ndim = layout.ndim(), *shape = layout.shape(), *operand = layout.operand(k);
    const i64 data = operand[0], code = operand[1], *strides = operand + 2;
    if (code == NUMBER || ndim == 0) {
        if (!*filled) {
            u64 value = (u64)data;
            if (code != NUMBER) READERS[code]((const char*)data, 0, 1, &value);
            for (i64 i = 0; i < n; ++i) buffer[i] = value;  // no later block of this thread is longer
            *filled = true;
        }
        return buffer;
    }
    const i64 inner = shape[ndim - 1], inner_stride = strides[ndim - 1];
    if (ndim == 1 && inner_stride == 8 && (code == 3 || code == 7) && data % 8 == 0)
        return (const u64*)(data + 8 * first);
    u64* to = buffer;
    while (n > 0) {  // runs along the last dimension
        i64 rest = first / inner, column = first % inner;
        const char* from = (const char*)data + column * inner_stride;
        for (i64 d = ndim - 2; d >= 0; --d) {
            from += rest % shape[d] * strides[d];
            rest /= shape[d];
        }
        const i64 run = n < inner - column ? n : inner - column;
        READERS[code](from, inner_stride, run, to);
        to += run;
        first += run;
        n -= run;
    }
    return buffer;
}

// Calls f(first, n, values) on blocks of the range, with the values of `count` operands.
template <int count, class F>
static void for_blocks(const i64* packed, i64 n, int threads, F&& f) {
    const Layout layout = {packed};
    cunumpy_parallel(n, threads, [&](i64 begin, i64 end, int) {
        u64 buffers[count][PHILOX_BLOCK];
        bool filled[count] = {};
        const u64* values[count];
        for (i64 first = begin; first < end; first += PHILOX_BLOCK) {
            const int block = (int)(end - first < PHILOX_BLOCK ? end - first : PHILOX_BLOCK);
            for (int k = 0; k < count; ++k) values[k] = read_operand(layout, k, first, block, buffers[k], &filled[k]);
            f(first, block, values);
        }
    });
}

// ---- What Python calls ----------------------------------------------------------------------------------------------

extern "C" {

// Operands: seed, stream, counter. `second` may be null.
CUNUMPY_EXPORT void cunumpy_rng_philox_uniform(const i64* packed, i64 n, double* first, double* second, int threads) {
    for_blocks<3>(packed, n, threads, [=](i64 at, int block, const u64* const* v) {
        CUNUMPY_SELECT(philox_uniform_block)(block, v[0], v[1], v[2], first + at, second ? second + at : nullptr);
    });
}

CUNUMPY_EXPORT void cunumpy_rng_philox_normal(const i64* packed, i64 n, double* first, double* second, int threads) {
    for_blocks<3>(packed, n, threads, [=](i64 at, int block, const u64* const* v) {
        CUNUMPY_SELECT(philox_normal_block)(block, v[0], v[1], v[2], first + at, second ? second + at : nullptr);
    });
}

// Operands: four counter words, two key words. Four words of `out` for each element.
CUNUMPY_EXPORT void cunumpy_rng_philox_words(const i64* packed, i64 n, unsigned int* out, int threads) {
    for_blocks<6>(packed, n, threads, [=](i64 at, int block, const u64* const* v) {
        CUNUMPY_SELECT(philox_words_block)(block, v, out + 4 * at);
    });
}
}
