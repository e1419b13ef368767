// Consecutive Philox numbers: thread i draws block `position + i`, and writes the two or four numbers that it has.

#include <cunumpy/random.cuh>

typedef unsigned long long u64;

// Rounded twice, as on the host, not fused to one operation.
__device__ __forceinline__ double shifted(double loc, double scale, double x) {
#if defined(__CUDA_ARCH__)
    return __dadd_rn(loc, __dmul_rn(scale, x));
#else
    return loc + scale * x;
#endif
}

__device__ __forceinline__ float shifted(float loc, float scale, float x) {
#if defined(__CUDA_ARCH__)
    return __fadd_rn(loc, __fmul_rn(scale, x));
#else
    return loc + scale * x;
#endif
}

template <class T>
struct Numbers;

template <>
struct Numbers<double> {
    static const int count = 2;
    static __device__ __forceinline__ void uniform(u64 seed, u64 stream, u64 block, double* x) {
        cunumpy_uniform2(seed, stream, block, &x[0], &x[1]);
    }
    static __device__ __forceinline__ void normal(u64 seed, u64 stream, u64 block, double* x) {
        cunumpy_normal2(seed, stream, block, &x[0], &x[1]);
    }
    static __device__ __forceinline__ void exponential(u64 seed, u64 stream, u64 block, double* x) {
        cunumpy_exponential2(seed, stream, block, &x[0], &x[1]);
    }
};

template <>
struct Numbers<float> {
    static const int count = 4;
    static __device__ __forceinline__ void uniform(u64 seed, u64 stream, u64 block, float* x) {
        cunumpy_uniform4f(seed, stream, block, x);
    }
    static __device__ __forceinline__ void normal(u64 seed, u64 stream, u64 block, float* x) {
        cunumpy_normal4f(seed, stream, block, x);
    }
    static __device__ __forceinline__ void exponential(u64 seed, u64 stream, u64 block, float* x) {
        cunumpy_exponential4f(seed, stream, block, x);
    }
};

template <class T>
__device__ __forceinline__ void write(T* out, long long n, long long i, T loc, T scale, const T* x) {
    const int count = Numbers<T>::count;
    for (int k = 0; k < count; ++k)
        if (count * i + k < n) out[count * i + k] = shifted(loc, scale, x[k]);
}

template <class T>
__global__ void fill_uniform(T* out, long long n, u64 seed, u64 stream, u64 position, T low, T width) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (Numbers<T>::count * i >= n) return;
    T x[Numbers<T>::count];
    Numbers<T>::uniform(seed, stream, position + (u64)i, x);
    write(out, n, i, low, width, x);
}

template <class T>
__global__ void fill_normal(T* out, long long n, u64 seed, u64 stream, u64 position, T loc, T scale) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (Numbers<T>::count * i >= n) return;
    T x[Numbers<T>::count];
    Numbers<T>::normal(seed, stream, position + (u64)i, x);
    write(out, n, i, loc, scale, x);
}

template <class T>
__global__ void fill_exponential(T* out, long long n, u64 seed, u64 stream, u64 position, T loc, T scale) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (Numbers<T>::count * i >= n) return;
    T x[Numbers<T>::count];
    Numbers<T>::exponential(seed, stream, position + (u64)i, x);
    write(out, n, i, loc, scale, x);
}

// Modulo 2^64, then modulo the range of the output's type, which has its size: signed types need no kernel of their own.
template <class T>
__global__ void fill_integers(T* out, long long n, u64 seed, u64 stream, u64 position, u64 low, u64 span) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (2 * i >= n) return;
    u64 first, second;
    cunumpy_integers2(seed, stream, position + (u64)i, span, &first, &second);
    out[2 * i] = (T)(low + first);
    if (2 * i + 1 < n) out[2 * i + 1] = (T)(low + second);
}

template <class T>
__global__ void fill_integers_between(T* out, long long n, u64 seed, u64 stream, u64 position, const u64* low,
                                      const u64* span) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (2 * i >= n) return;
    const u64 block = position + (u64)i;
    const cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, block);
    for (int k = 0; k < 2; ++k)
        if (2 * i + k < n)
            out[2 * i + k] = (T)(low[2 * i + k] + cunumpy_u64_below(span[2 * i + k], k, w, seed, stream, block));
}
