// Textures, read through texture objects: CUDA C++ Programming Guide, "Texture Functions" and "Texture Fetching".
#pragma once

#include "trap.hpp"
#include "vector_types.hpp"

typedef unsigned long long cudaTextureObject_t;

namespace cunumpy_cpu {

// What a texture object is the address of; texture.py of the stand-in for CuPy makes them.
struct Texture {
    unsigned long long mark;
    const char* data;
    long long row, slice;  // bytes
    int size[3];           // along x, y, z; 1 where there is none
    int dimensions;        // 0: linear memory
    int channels, bits, kind;
    int address[3], filter, read, normalized;
    float border[4];
};
enum { SIGNED_TEXELS, UNSIGNED_TEXELS, FLOAT_TEXELS };
enum { WRAP, CLAMP, MIRROR, BORDER };

template <class T>
struct Texel;
#define CUNUMPY_CPU_TEXEL(T, part, n) \
    template <>                       \
    struct Texel<T> {                 \
        typedef part Part;            \
        enum { parts = n };           \
    };
#define CUNUMPY_CPU_TEXELS(name, part) \
    CUNUMPY_CPU_TEXEL(part, part, 1)   \
    CUNUMPY_CPU_TEXEL(name##1, part, 1) \
    CUNUMPY_CPU_TEXEL(name##2, part, 2) \
    CUNUMPY_CPU_TEXEL(name##4, part, 4)
CUNUMPY_CPU_TEXEL(char, char, 1)
CUNUMPY_CPU_TEXELS(char, signed char)
CUNUMPY_CPU_TEXELS(uchar, unsigned char)
CUNUMPY_CPU_TEXELS(short, short)
CUNUMPY_CPU_TEXELS(ushort, unsigned short)
CUNUMPY_CPU_TEXELS(int, int)
CUNUMPY_CPU_TEXELS(uint, unsigned int)
CUNUMPY_CPU_TEXELS(float, float)
#undef CUNUMPY_CPU_TEXELS
#undef CUNUMPY_CPU_TEXEL

template <class N>
static inline N part_at(const char* at) {
    N value;
    __builtin_memcpy(&value, at, sizeof(N));
    return value;
}

static inline float half_at(const char* at) {
    const unsigned int bits = part_at<unsigned short>(at), exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31 ? fraction ? __builtin_nanf("") : __builtin_inff()
                       : exponent     ? __builtin_ldexpf((float)(1024 + fraction), (int)exponent - 25)
                                      : __builtin_ldexpf((float)fraction, -24);
    return bits >> 15 ? -size : size;
}

static inline long long integer_at(const Texture& texture, const char* at) {
    const bool sign = texture.kind == SIGNED_TEXELS;
    if (texture.bits == 8) return sign ? (long long)part_at<signed char>(at) : part_at<unsigned char>(at);
    if (texture.bits == 16) return sign ? (long long)part_at<short>(at) : part_at<unsigned short>(at);
    return sign ? (long long)part_at<int>(at) : part_at<unsigned int>(at);
}

static inline const char* texel_at(const Texture& texture, const int* index) {
    return texture.data + index[2] * texture.slice + index[1] * texture.row +
           (long long)index[0] * (texture.channels * texture.bits / 8);
}

// A channel of a texel as a number of type N; an index below 0 is outside.
template <class N>
static inline N channel_of(const Texture& texture, const int* index, int channel) {
    if (index[0] < 0 || index[1] < 0 || index[2] < 0) return (N)texture.border[channel];
    const char* at = texel_at(texture, index) + channel * (texture.bits / 8);
    if (texture.kind == FLOAT_TEXELS) return (N)(texture.bits == 16 ? half_at(at) : part_at<float>(at));
    const long long value = integer_at(texture, at);
    if (!texture.read) return (N)value;
    const long long most = (1ll << (texture.bits - (texture.kind == SIGNED_TEXELS))) - 1;
    return (N)(value <= -most ? -1.0f : (float)value / (float)most);
}

// The index of the texel i, which may be beyond the ends; below 0 for outside.
static inline int addressed(const Texture& texture, int axis, long long i) {
    const long long n = texture.size[axis];
    if (i >= 0 && i < n) return (int)i;
    const int mode = texture.address[axis];
    if (mode == BORDER) return -1;
    if (texture.normalized && mode == WRAP) return (int)(((i % n) + n) % n);
    if (texture.normalized && mode == MIRROR) {
        const long long place = ((i % (2 * n)) + 2 * n) % (2 * n);
        return (int)(place < n ? place : 2 * n - 1 - place);
    }
    return i < 0 ? 0 : (int)n - 1;
}

static inline long long whole(float x) {
    return x > -1e9f && x < 1e9f ? (long long)x : x > 0 ? 1000000000 : x < 0 ? -1000000000 : 0;
}

static inline bool is_texture(const Texture* texture) {
    return (size_t)texture >= 4096 && (size_t)texture % alignof(Texture) == 0 && texture->mark == 0x5458455459504d55ull;
}

template <class T>
[[noreturn]] __attribute__((noinline, cold)) static void refuse_texture(const Texture* texture, const char* function, int dimensions) {
    char text[200];
    if (!is_texture(texture)) {
        trap("a texture object that is none");
    } else if (texture->dimensions != dimensions) {
        __builtin_snprintf(text, sizeof text, "%s of a texture that is %s", function,
                           texture->dimensions == 0   ? "linear memory, for tex1Dfetch"
                           : texture->dimensions == 1 ? "an array of 1 dimension"
                           : texture->dimensions == 2 ? "of 2 dimensions"
                                                      : "of 3 dimensions");
    } else {
        __builtin_snprintf(text, sizeof text, "%s for %d numbers of another type than the texture's, which gives %d %s", function,
                           (int)Texel<T>::parts, texture->channels,
                           texture->kind == FLOAT_TEXELS || texture->read ? "floats"
                           : texture->kind == SIGNED_TEXELS               ? "signed integers"
                                                                          : "unsigned integers");
    }
    trap(text);
}

template <class T>
static inline const Texture& texture_of(cudaTextureObject_t object, const char* function, int dimensions) {
    typedef typename Texel<T>::Part Part;
    const Texture* texture = (const Texture*)object;
    const bool floats = (Part)0.5f != 0, is_signed = (Part)-1 < (Part)0;
    if (!is_texture(texture) || texture->dimensions != dimensions ||
        texture->channels < Texel<T>::parts || floats != (texture->kind == FLOAT_TEXELS || texture->read != 0) ||
        (!floats && is_signed != (texture->kind == SIGNED_TEXELS)))
        refuse_texture<T>(texture, function, dimensions);
    return *texture;
}

template <class T, class F>
static inline T texel_of(F channel) {
    typename Texel<T>::Part parts[Texel<T>::parts];
    for (int c = 0; c < Texel<T>::parts; ++c) parts[c] = channel(c);
    T result;
    __builtin_memcpy(&result, parts, sizeof(T));
    return result;
}

// The texel at a place, or a mean of its neighbours.
template <class T>
static T sampled(cudaTextureObject_t object, const char* function, int dimensions, float x, float y, float z) {
    typedef typename Texel<T>::Part Part;
    const Texture& texture = texture_of<T>(object, function, dimensions);
    const float place[3] = {x, y, z};
    int index[3][2] = {};
    float weight[3] = {};
    const bool linear = texture.filter != 0;
    for (int axis = 0; axis < dimensions; ++axis) {
        float at = place[axis];
        if (texture.normalized) {
            if (texture.address[axis] == WRAP) at -= __builtin_floorf(at);
            at *= (float)texture.size[axis];
        }
        if (linear) at -= 0.5f;
        const float below = __builtin_floorf(at);
        const long long first = whole(below);
        index[axis][0] = addressed(texture, axis, first);
        if (!linear) continue;
        index[axis][1] = addressed(texture, axis, first + 1);
        weight[axis] = __builtin_floorf((at - below) * 256.0f + 0.5f) / 256.0f;  // 8 bits, as in the hardware
    }
    if (!linear) {
        const int nearest[3] = {index[0][0], index[1][0], index[2][0]};
        return texel_of<T>([&](int channel) { return channel_of<Part>(texture, nearest, channel); });
    }
    return texel_of<T>([&](int channel) {
        float sum = 0;
        for (int corner = 0; corner < 1 << dimensions; ++corner) {
            float share = 1;
            int near[3] = {};
            for (int axis = 0; axis < dimensions; ++axis) {
                const int upper = corner >> axis & 1;
                near[axis] = index[axis][upper];
                share *= upper ? weight[axis] : 1 - weight[axis];
            }
            if (share != 0) sum += share * channel_of<float>(texture, near, channel);
        }
        return (Part)sum;
    });
}

template <class T>
static inline T fetched(cudaTextureObject_t object, int x) {
    typedef typename Texel<T>::Part Part;
    const Texture& texture = texture_of<T>(object, "tex1Dfetch", 0);
    const int index[3] = {x, 0, 0};
    if (x < 0 || x >= texture.size[0]) return texel_of<T>([](int) { return (Part)0; });
    return texel_of<T>([&](int channel) { return channel_of<Part>(texture, index, channel); });
}

}  // namespace cunumpy_cpu

template <class T>
inline T tex1Dfetch(cudaTextureObject_t object, int x) {
    return cunumpy_cpu::fetched<T>(object, x);
}
template <class T>
inline T tex1D(cudaTextureObject_t object, float x) {
    return cunumpy_cpu::sampled<T>(object, "tex1D", 1, x, 0, 0);
}
template <class T>
inline T tex2D(cudaTextureObject_t object, float x, float y) {
    return cunumpy_cpu::sampled<T>(object, "tex2D", 2, x, y, 0);
}
template <class T>
inline T tex3D(cudaTextureObject_t object, float x, float y, float z) {
    return cunumpy_cpu::sampled<T>(object, "tex3D", 3, x, y, z);
}
template <class T>
inline void tex1Dfetch(T* to, cudaTextureObject_t object, int x) {
    *to = tex1Dfetch<T>(object, x);
}
template <class T>
inline void tex1D(T* to, cudaTextureObject_t object, float x) {
    *to = tex1D<T>(object, x);
}
template <class T>
inline void tex2D(T* to, cudaTextureObject_t object, float x, float y) {
    *to = tex2D<T>(object, x, y);
}
template <class T>
inline void tex3D(T* to, cudaTextureObject_t object, float x, float y, float z) {
    *to = tex3D<T>(object, x, y, z);
}
