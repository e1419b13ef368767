"""Textures on the CPU device, made by the stand-in for `cupy.cuda.texture`; the reference is SciPy's interpolation."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from cupy.cuda import runtime, texture
from scipy.ndimage import map_coordinates

from cunumpy.kernel_testing import host_buffer
from cunumpy.kernels import CudaKernel

SOURCE = r"""
extern "C" __global__ void sample1(cudaTextureObject_t texture, const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<float>(texture, x[i]);
}

extern "C" __global__ void sample2(cudaTextureObject_t texture, const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tex2D(&out[i], texture, x[i], y[i]);
}

extern "C" __global__ void sample3(cudaTextureObject_t texture, const float* x, const float* y, const float* z,
                                   float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex3D<float>(texture, x[i], y[i], z[i]);
}

extern "C" __global__ void sample_pairs(cudaTextureObject_t texture, const float* x, const float* y, float2* out,
                                        int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float2>(texture, x[i], y[i]);
}

extern "C" __global__ void fetch_floats(cudaTextureObject_t texture, float* out, int n) {
    out[threadIdx.x] = tex1Dfetch<float>(texture, (int)threadIdx.x - 2);
}

extern "C" __global__ void fetch_doubles(cudaTextureObject_t texture, double* out, int n) {
    int2 bits = tex1Dfetch<int2>(texture, threadIdx.x);
    out[threadIdx.x] = __hiloint2double(bits.y, bits.x);
}

extern "C" __global__ void fetch_bytes(cudaTextureObject_t texture, unsigned char* out, int n) {
    uchar4 found;
    tex1Dfetch(&found, texture, threadIdx.x);
    out[threadIdx.x] = found.x + 2 * found.y + 3 * found.z + 4 * found.w;
}
"""

KINDS = {"i": runtime.cudaChannelFormatKindSigned, "u": runtime.cudaChannelFormatKindUnsigned}
MODES = {  # of CUDA, and the same of SciPy
    "grid-wrap": runtime.cudaAddressModeWrap,
    "nearest": runtime.cudaAddressModeClamp,
    "reflect": runtime.cudaAddressModeMirror,
    "grid-constant": runtime.cudaAddressModeBorder,
}


@pytest.fixture(scope="module")
def module():
    return cupy.RawModule(code=SOURCE)


def channels(dtype, number=1):
    bits = [8 * np.dtype(dtype).itemsize] * number + [0] * (4 - number)
    return texture.ChannelFormatDescriptor(*bits, KINDS.get(np.dtype(dtype).kind, runtime.cudaChannelFormatKindFloat))


def of_array(values, number=1, **how):
    shape = values.shape[::-1]
    array = texture.CUDAarray(channels(values.dtype, number), shape[0] // number, *shape[1:])
    array.copy_from(values)
    found = np.empty_like(values)
    array.copy_to(found)
    np.testing.assert_array_equal(found, values)
    where = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    return texture.TextureObject(where, texture.TextureDescriptor(**how))


def launch(kernel, *args, n):
    kernel((-(-n // 64),), (64,), (*args, np.int32(n)))


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("shape", [(7,), (5, 8), (3, 4, 6)])
def test_texels_are_those_of_scipy(module, mode, linear, shape):
    rng = np.random.default_rng(len(shape) + linear)
    values = rng.integers(-50, 50, shape).astype(np.float32)
    normalized = mode in ("grid-wrap", "reflect")  # the others don't exist for them
    size = 8 if normalized else 1  # so that a place can be a fraction exactly
    values = values if not normalized else rng.integers(-50, 50, (size,) * len(shape)).astype(np.float32)
    n = 500
    places = rng.integers(-256 * 20, 256 * 20, (len(shape), n)) / 256  # along z, y, x, in texels
    filtering = runtime.cudaFilterModeLinear if linear else runtime.cudaFilterModePoint
    tex = of_array(
        values,
        addressModes=[MODES[mode]] * 3,
        filterMode=filtering,
        normalizedCoords=normalized,
        borderColors=[2.5] * 4,
    )
    expected = map_coordinates(
        values.astype(float), places - 0.5 if linear else np.floor(places), order=int(linear), mode=mode, cval=2.5
    )
    out = cupy.zeros(n, np.float32)
    axes = [cupy.asarray((one / size).astype(np.float32)) for one in places[::-1]]
    launch(module.get_function(f"sample{len(shape)}"), tex, *axes, out, n=n)
    np.testing.assert_allclose(host_buffer(out), expected, rtol=0, atol=2e-5)


def test_weights_have_eight_bits(module):
    """CUDA C++ Programming Guide, "Linear Filtering"."""
    values = np.array([0.0, 1.0], np.float32)
    x = np.linspace(0.5, 1.5, 5000, dtype=np.float32)
    out = cupy.zeros(x.size, np.float32)
    tex = of_array(values, filterMode=runtime.cudaFilterModeLinear, addressModes=[runtime.cudaAddressModeClamp])
    launch(module.get_function("sample1"), tex, cupy.asarray(x), out, n=x.size)
    found = host_buffer(out)
    assert np.array_equal(found * 256, np.rint(found * 256))
    assert abs(found - (x - 0.5)).max() <= 1 / 512


def test_integers_are_read_as_fractions(module):
    for dtype, most in (("i1", 127), ("u1", 255), ("i2", 32767), ("u2", 65535)):
        values = np.array([np.iinfo(dtype).min, 0, 1, np.iinfo(dtype).max], dtype)
        tex = of_array(values, readMode=runtime.cudaReadModeNormalizedFloat)
        out = cupy.zeros(4, np.float32)
        launch(module.get_function("sample1"), tex, cupy.asarray(np.arange(4, dtype=np.float32)), out, n=4)
        np.testing.assert_allclose(host_buffer(out), np.maximum(values / np.float32(most), -1), rtol=1e-6)


def test_channels_and_half_precision(module):
    values = np.arange(24, dtype=np.float16).reshape(3, 8) / 8  # four texels of two channels in a row
    values[0, :4] = [np.inf, 6e-8, -0.0, -65504]
    x, y = (axis.ravel().astype(np.float32) for axis in np.meshgrid(np.arange(4), np.arange(3)))
    out = cupy.zeros(24, np.float32)
    launch(module.get_function("sample_pairs"), of_array(values, 2), cupy.asarray(x), cupy.asarray(y), out, n=12)
    np.testing.assert_array_equal(host_buffer(out), values.ravel().astype(np.float32))


def of_memory(array, dtype, number=1, **where):
    where = where or {"sizeInBytes": array.nbytes}
    kind = runtime.cudaResourceTypePitch2D if "width" in where else runtime.cudaResourceTypeLinear
    resource = texture.ResourceDescriptor(kind, arr=array, chDesc=channels(dtype, number), **where)
    return texture.TextureObject(resource, texture.TextureDescriptor())


def test_linear_memory(module):
    floats = cupy.arange(10, dtype=np.float32)
    out = cupy.ones(16, np.float32)
    module.get_function("fetch_floats")((1,), (16,), (of_memory(floats, "f4"), out, np.int32(0)))
    assert list(host_buffer(out)) == [0, 0, *range(10), 0, 0, 0, 0]  # 0 beyond the ends
    floats[3] = 30.0  # it is the array's memory
    module.get_function("fetch_floats")((1,), (16,), (of_memory(floats, "f4"), out, np.int32(0)))
    assert host_buffer(out)[5] == 30.0
    doubles, found = cupy.asarray(np.random.default_rng(0).random(20)), cupy.zeros(20)
    module.get_function("fetch_doubles")((1,), (20,), (of_memory(doubles, "i4", 2), found, np.int32(0)))
    np.testing.assert_array_equal(host_buffer(found), host_buffer(doubles))
    numbers, sums = cupy.arange(40, dtype=np.uint8), cupy.zeros(10, np.uint8)
    module.get_function("fetch_bytes")((1,), (10,), (of_memory(numbers, "u1", 4), sums, np.int32(0)))
    np.testing.assert_array_equal(host_buffer(sums), np.arange(40).reshape(10, 4) @ [1, 2, 3, 4] % 256)


def test_rows_with_a_pitch_and_the_checked_kernel():
    values = cupy.asarray(np.arange(40, dtype=np.float32).reshape(5, 8))
    tex = of_memory(values, "f4", width=6, height=5, pitchInBytes=32)
    x, y = (cupy.asarray(np.array(one, np.float32)) for one in ([0.5, 5.9, 7.0], [0.0, 4.5, -3.0]))
    out = cupy.zeros(3, np.float32)
    from cunumpy.kernel_testing import emulated_launches

    with emulated_launches():
        CudaKernel(SOURCE, "sample2")(tex.ptr, x, y, out, 3, n_threads=3)
    assert list(host_buffer(out)) == [0.0, 37.0, 5.0]  # no address mode: wrap, which is clamp for places in texels


def test_what_no_texture_can_be_is_refused():
    values = np.zeros(4, np.int32)
    with pytest.raises(runtime.CUDARuntimeError, match="linear without floats"):
        of_array(values, filterMode=runtime.cudaFilterModeLinear)
    with pytest.raises(runtime.CUDARuntimeError, match="normalized of 32 bits"):
        of_array(values, readMode=runtime.cudaReadModeNormalizedFloat)
    with pytest.raises(runtime.CUDARuntimeError, match="channels"):
        of_array(np.zeros(3, np.float32), 3)
    with pytest.raises(runtime.CUDARuntimeError, match="of an array of 16 bytes"):
        of_memory(cupy.zeros(4, np.float32), "f4", sizeInBytes=17)
    array = texture.CUDAarray(channels("f4"), 4)
    with pytest.raises(ValueError, match="shape mismatch"):
        array.copy_from(np.zeros(5, np.float32))
    with pytest.raises(ValueError, match="dtype mismatch"):
        array.copy_from(np.zeros(4))


@pytest.mark.parametrize(
    ("kernel", "made", "text"),
    [
        ("fetch_floats", lambda: of_memory(cupy.zeros(4, np.int32), "i4"), "which gives 1 signed integers"),
        ("fetch_doubles", lambda: of_memory(cupy.zeros(4, np.int32), "i4"), "tex1Dfetch for 2 numbers"),
        ("fetch_floats", lambda: of_array(np.zeros(4, np.float32)), "tex1Dfetch of a texture that is an array of 1"),
        ("fetch_floats", lambda: 0, "a texture object that is none"),
        ("fetch_floats", lambda: 5, "a texture object that is none"),
    ],
)
def test_what_a_texture_can_not_give_ends_the_launch(module, kernel, made, text):
    with pytest.raises(runtime.CUDARuntimeError, match=text):
        module.get_function(kernel)((1,), (1,), (made(), cupy.zeros(4), np.int32(0)))
