// Philox numbers of integer operands of any type and strides, one element a thread.

#include <cunumpy/random.cuh>

typedef unsigned long long u64;

// What `_layout.py` packs. The type code is log2 of the size, plus 4 for a signed type; 16 if `data` is the value.
template <int room, int count>
struct Operands {
    long long ndim;
    long long shape[room];
    struct {
        u64 data;
        long long code;
        long long strides[room];  // in bytes
    } operand[count];
};

__device__ __forceinline__ u64 read(u64 data, long long code, long long offset) {
    const u64 address = data + (u64)offset;
    switch (code) {  // negative numbers: modulo 2^64
        case 0: return *(const unsigned char*)address;
        case 1: return *(const unsigned short*)address;
        case 2: return *(const unsigned int*)address;
        case 3: return *(const u64*)address;
        case 4: return (u64)(long long)*(const signed char*)address;
        case 5: return (u64)(long long)*(const short*)address;
        case 6: return (u64)(long long)*(const int*)address;
        case 7: return (u64)*(const long long*)address;
        default: return data;
    }
}

// The operands' values for element i of the result.
template <int room, int count>
__device__ __forceinline__ void read_all(const Operands<room, count>& operands, u64 i, u64* values) {
    long long offsets[count];
    for (int k = 0; k < count; ++k) offsets[k] = 0;
    for (long long d = operands.ndim - 1; d >= 0; --d) {
        u64 index = i;
        if (d > 0) {
            const u64 extent = (u64)operands.shape[d];
            index = i % extent;
            i /= extent;
        }
        for (int k = 0; k < count; ++k) offsets[k] += (long long)index * operands.operand[k].strides[d];
    }
    for (int k = 0; k < count; ++k) values[k] = read(operands.operand[k].data, operands.operand[k].code, offsets[k]);
}

// Operands: seed, stream, counter. `second` may be null.
template <int room>
__global__ void philox_uniform(Operands<room, 3> operands, long long n, double* first, double* second) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 v[3];
    read_all(operands, i, v);
    if (second) {
        cunumpy_uniform2(v[0], v[1], v[2], &first[i], &second[i]);
    } else {
        first[i] = cunumpy_uniform(v[0], v[1], v[2]);
    }
}

template <int room>
__global__ void philox_normal(Operands<room, 3> operands, long long n, double* first, double* second) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 v[3];
    read_all(operands, i, v);
    if (second) {
        cunumpy_normal2(v[0], v[1], v[2], &first[i], &second[i]);
    } else {
        first[i] = cunumpy_normal(v[0], v[1], v[2]);
    }
}

// Operands: four counter words, two key words, of which the low 32 bits count.
template <int room>
__global__ void philox_words(Operands<room, 6> operands, long long n, unsigned int* out) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 v[6];
    read_all(operands, i, v);
    cunumpy_u32x4 ctr;
    for (int k = 0; k < 4; ++k) ctr.v[k] = (unsigned int)v[k];
    const cunumpy_u32x4 w = cunumpy_philox4x32_10(ctr, (unsigned int)v[4], (unsigned int)v[5]);
    for (int k = 0; k < 4; ++k) out[4 * i + k] = w.v[k];
}
