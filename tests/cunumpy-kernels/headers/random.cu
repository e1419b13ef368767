// Everything of <cunumpy/random.cuh>: number i of each row belongs to counter i.
#include <cunumpy/random.cuh>

typedef unsigned long long u64;

extern "C" __global__ void bits(u64 seed, u64 stream, u64 range, int n, u64* rows) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 *out = rows + i, a, b;
    const u64 counter = cunumpy_counter(3, i);
    *out = counter, out += n;
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, counter);
    for (int k = 0; k < 4; ++k) *out = w.v[k], out += n;
    const cunumpy_u32x4 words = {{(unsigned)counter, (unsigned)(counter >> 32), (unsigned)stream,
                                  (unsigned)(stream >> 32)}};
    const cunumpy_u32x4 same = cunumpy_philox4x32_10(words, (unsigned)seed, (unsigned)(seed >> 32));
    for (int k = 0; k < 4; ++k) *out = same.v[k], out += n;
    *out = cunumpy_integer(seed, stream, counter, range), out += n;
    cunumpy_integers2(seed, stream, counter, range, &a, &b);
    *out = a, out += n, *out = b, out += n;
    *out = cunumpy_u64_below(range, 1, w, seed, stream, counter), out += n;
    *out = cunumpy_u64_multiply_high(seed * i, ~stream), out += n;
    *out = (u64)CUNUMPY_PHILOX_M0 << 32 | CUNUMPY_PHILOX_M1, out += n;
    *out = (u64)CUNUMPY_PHILOX_W0 << 32 | CUNUMPY_PHILOX_W1;
}

extern "C" __global__ void doubles(u64 seed, u64 stream, int n, double* rows) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double *out = rows + i, a, b;
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, i);
    *out = cunumpy_uniform(seed, stream, i), out += n;
    cunumpy_uniform2(seed, stream, i, &a, &b);
    *out = a, out += n, *out = b, out += n;
    *out = cunumpy_u64_to_uniform(w.v[2], w.v[3]), out += n;
    *out = cunumpy_normal(seed, stream, i), out += n;
    cunumpy_normal2(seed, stream, i, &a, &b);
    *out = a, out += n, *out = b, out += n;
    cunumpy_box_muller(cunumpy_u64_to_uniform(w.v[0], w.v[1]), cunumpy_u64_to_uniform(w.v[2], w.v[3]), &a, &b);
    *out = a, out += n, *out = b, out += n;
    *out = cunumpy_exponential(seed, stream, i), out += n;
    cunumpy_exponential2(seed, stream, i, &a, &b);
    *out = a, out += n, *out = b, out += n;
    cunumpy_sincos(0.1 * i, &a, &b);
    *out = a, out += n, *out = b, out += n;
    *out = cunumpy_cos(0.1 * i), out += n;
    *out = cunumpy_log(1.0 + i);
}

extern "C" __global__ void floats(u64 seed, u64 stream, int n, float* rows) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float *out = rows + i, a, b, v[4];
    *out = cunumpy_uniformf(seed, stream, i), out += n;
    cunumpy_uniform4f(seed, stream, i, v);
    for (int k = 0; k < 4; ++k) *out = v[k], out += n;
    *out = cunumpy_u32_to_uniformf(cunumpy_random_bits(seed, stream, i).v[3]), out += n;
    cunumpy_box_mullerf(v[2], v[3], &a, &b);
    *out = a, out += n, *out = b, out += n;
    *out = cunumpy_normalf(seed, stream, i), out += n;
    cunumpy_normal4f(seed, stream, i, v);
    for (int k = 0; k < 4; ++k) *out = v[k], out += n;
    *out = cunumpy_exponentialf(seed, stream, i), out += n;
    cunumpy_exponential4f(seed, stream, i, v);
    for (int k = 0; k < 4; ++k) *out = v[k], out += n;
    cunumpy_sincosf(0.1f * i, &a, &b);
    *out = a, out += n, *out = b, out += n;
    *out = cunumpy_cosf(0.1f * i), out += n;
    *out = cunumpy_logf(1.0f + i);
}
