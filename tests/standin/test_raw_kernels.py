"""`cupy.RawKernel` and `cupy.RawModule` of the stand-in."""

from __future__ import annotations

import io

import cupy
import numpy as np
import pytest

from cunumpy.kernel_testing import host_buffer

SOURCE = r"""
struct Pair { int first; double second; };

extern "C" __global__ void fill(double* x, double value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

extern "C" __global__ void reverse(int* x) {
    extern __shared__ int room[];
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void take(Pair pair, long long* out) { out[0] = pair.first + (long long)pair.second; }

extern "C" __global__ void fail(int* x) { if (x[0] == 0) __trap(); }

namespace inner {
template <class T> __global__ void scale(T* x, T factor) { x[threadIdx.x] *= factor; }
}
"""


def test_a_kernel_runs():
    x = cupy.zeros(300)
    kernel = cupy.RawKernel(SOURCE, "fill")
    assert (kernel.name, kernel.code, kernel.options, kernel.backend) == ("fill", SOURCE, (), "nvrtc")
    kernel((3,), (100,), (x, 2.5, np.int32(299)))
    assert (host_buffer(x)[:299] == 2.5).all()
    assert host_buffer(x)[299] == 0
    sizes = (np.int64(3),), (np.int32(100),)
    kernel(*sizes, [x.data + 800, 1.0, 1], shared_mem=np.int64(0), stream=cupy.cuda.Stream(non_blocking=True))
    assert list(host_buffer(x)[99:102]) == [2.5, 1.0, 2.5]


@pytest.mark.parametrize("given", ["array", "pointer"])
def test_checked_launches_find_what_is_out_of_bounds(monkeypatch, given):
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "1")
    kernel = cupy.RawKernel(SOURCE, "fill")
    memory = cupy.ones(8)
    x = memory[:4] if given == "array" else memory.data
    kernel((1,), (32,), (x, 2.5, np.int32(4)))
    assert host_buffer(memory).tolist() == [2.5] * 4 + [1.0] * 4
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match=r"out of bounds: write of 8 bytes at .*fill\.cu:\d+"):
        kernel((1,), (32,), (x, 3.5, np.int32(30)))
    assert host_buffer(memory)[:4].tolist() == [3.5] * 4


def test_the_blocks_of_a_cooperative_launch_wait_for_each_other():
    source = """
    #include <cooperative_groups.h>
    extern "C" __global__ void f(const int* x, int* next) {
        next[blockIdx.x] = x[blockIdx.x] + 1;
        cooperative_groups::this_grid().sync();
        const int sum = next[0] + next[1] + next[2];
        cooperative_groups::this_grid().sync();
        next[blockIdx.x] = sum;
    }"""
    x, found = cupy.arange(3, dtype=np.int32), cupy.zeros(3, np.int32)
    cupy.RawKernel(source, "f", enable_cooperative_groups=True)((3,), (1,), (x, found))
    assert list(host_buffer(found)) == [6, 6, 6]
    module = cupy.RawModule(code=source, enable_cooperative_groups=True)
    module.get_function("f")((3,), (1,), (x, found))
    assert list(host_buffer(found)) == [6, 6, 6]
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="not cooperative"):
        cupy.RawKernel(source, "f")((3,), (1,), (x, found))


def test_shared_memory_and_its_limit():
    x = cupy.arange(200, dtype=np.int32)
    kernel = cupy.RawKernel(SOURCE, "reverse")
    kernel((1,), (200,), (x,), shared_mem=800)
    np.testing.assert_array_equal(host_buffer(x), np.arange(200)[::-1])
    assert kernel.max_dynamic_shared_size_bytes == kernel.attributes["max_dynamic_shared_size_bytes"] == 49152
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_VALUE"):
        kernel((1,), (200,), (x,), shared_mem=65536)
    kernel.max_dynamic_shared_size_bytes = 65536
    kernel((1,), (200,), (x,), shared_mem=65536)
    np.testing.assert_array_equal(host_buffer(x), np.arange(200))
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
        kernel.max_dynamic_shared_size_bytes = 2**20
    assert kernel.max_threads_per_block == 1024
    assert kernel.num_regs > 0
    with pytest.raises(AttributeError, match="no attribute 'registers'"):
        kernel.registers  # noqa: B018


def test_kernels_of_a_module():
    module = cupy.RawModule(code=SOURCE, options=("-std=c++17",), name_expressions=("inner::scale<float>",))
    module.compile()
    x = cupy.arange(4, dtype=np.float32)
    scale = module.get_function("inner::scale<float>")
    scale((1,), (4,), (x, np.float32(3)))
    assert list(host_buffer(x)) == [0, 3, 6, 9]
    assert module.get_function("inner::scale<float>") is scale
    module.get_function("fill")((1,), (1,), (y := cupy.zeros(1), 7.0, 1))
    assert float(y[0]) == 7
    for name in ("inner::scale<double>", "scale", "missing"):
        with pytest.raises(RuntimeError, match="CUDA_ERROR_NOT_FOUND: named symbol not found"):
            module.get_function(name)
    cupy.RawModule(code=SOURCE.partition("namespace")[0]).compile()


def test_structs_and_none():
    out, dtype = cupy.zeros(1, dtype=np.int64), np.dtype([("first", "i4"), ("second", "f8")], align=True)
    kernel, pair = cupy.RawKernel(SOURCE, "take"), np.array([(3, 4.0)], dtype)
    for given in (pair, pair[0]):
        out[...] = 0
        kernel((1,), (1,), (given, out))
        assert int(out[0]) == 7
    source = 'extern "C" __global__ void look(const int* x, bool* out) { *out = x == nullptr; }'
    found = cupy.zeros(1, dtype=bool)
    cupy.RawKernel(source, "look")((1,), (1,), (None, found))
    assert bool(found[0])


def test_a_kernel_that_fails():
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="cudaErrorLaunchFailure"):
        cupy.RawKernel(SOURCE, "fail")((1,), (1,), (cupy.zeros(1, dtype=np.int32),))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda k, x: k((1,), (1,), (x, 1.0)), TypeError, "has 3 parameters, got 2"),
        (lambda k, x: k((1,), (1,), (x, np.float32(1), 1)), TypeError, "parameter 1 has 8 bytes, got float32 of 4"),
        (lambda k, x: k((1,), (1,), (x, 1.0, 2**40)), TypeError, "parameter 2 has 4 bytes, got int of 8"),
        (lambda k, x: k((1,), (1,), (x, 1.0, 1.0)), TypeError, "parameter 2 has 4 bytes, got float of 8"),
        (lambda k, x: k((1,), (1,), (np.zeros(3), 1.0, 1)), TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (lambda k, x: k((1,), (1,), ("x", 1.0, 1)), TypeError, "Unsupported type <class 'str'>"),
        (lambda k, x: k(1, (1,), (x, 1.0, 1)), TypeError, "'grid' has incorrect type"),
        (lambda k, x: k((0,), (1,), (x, 1.0, 1)), RuntimeError, "CUDA_ERROR_INVALID_VALUE"),
        (lambda k, x: k((1,), (2048,), (x, 1.0, 1)), RuntimeError, "CUDA_ERROR_INVALID_VALUE"),
        (lambda k, x: k((1,), (64, 64), (x, 1.0, 1)), RuntimeError, "CUDA_ERROR_INVALID_VALUE"),
        (lambda k, x: k((1, 70000), (1,), (x, 1.0, 1)), RuntimeError, "CUDA_ERROR_INVALID_VALUE"),
    ],
)
def test_launches_that_are_refused(call, error, text):
    x = cupy.zeros(3)
    with pytest.raises(error, match=text):
        call(cupy.RawKernel(SOURCE, "fill"), x)
    assert not host_buffer(x).any()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: cupy.RawModule(), TypeError, "Exactly one of"),
        (lambda: cupy.RawModule(code=SOURCE, path="a.cubin"), TypeError, "Exactly one of"),
        (lambda: cupy.RawModule(path="a.cubin"), NotImplementedError, "no machine code of GPUs"),
        (lambda: cupy.RawKernel(SOURCE, "fill", ("-DN", 3)), TypeError, "options must be a tuple of str"),
        (lambda: cupy.RawKernel(SOURCE, "fill", "-DN"), TypeError, "options must be a tuple of str"),
        (lambda: cupy.RawKernel(SOURCE, "fill", ["-DN"]), TypeError, "unhashable type: 'list'"),
        (lambda: cupy.RawKernel(SOURCE, "fill", backend="gcc"), ValueError, "Unknown backend gcc"),
        (lambda: cupy.RawKernel(SOURCE, "fill", backend="nvcc"), NotImplementedError, "backend='nvcc': the stand-in"),
        (lambda: cupy.RawKernel(SOURCE, "fill", jitify=True), NotImplementedError, "jitify: the stand-in"),
        (lambda: cupy.RawModule(code=SOURCE, translate_cucomplex=True), NotImplementedError, "translate_cucomplex: "),
        (lambda: cupy.RawKernel("__global__ void k() {}", "k").compile(), RuntimeError, "CUDA_ERROR_NOT_FOUND"),
        (lambda: cupy.RawKernel(SOURCE, "missing").compile(), RuntimeError, "CUDA_ERROR_NOT_FOUND"),
    ],
)
def test_what_can_not_be_made(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_source_that_does_not_compile():
    kernel = cupy.RawKernel('extern "C" __global__ void k(int* x) {\n  x[0] = unknown;\n}', "k", ("-DA=1",))
    with pytest.raises(cupy.cuda.compiler.CompileException, match=r"k\.cu\(2\): error: .*unknown") as caught:
        kernel.compile()
    text = io.StringIO()
    caught.value.dump(text)
    assert "2   x[0] = unknown;" in text.getvalue()
    assert "Options: -DA=1" in text.getvalue()
    assert caught.value.get_message() == str(caught.value)


# --- global variables -------------------------------------------------------------------------------------------------

COUNTERS = r"""
struct Setup { double scale; int shift; };
__constant__ Setup setup = {2.0, 1};
__constant__ double table[3];
__device__ unsigned long long counter;
__device__ __align__(16) float weights[2][2] = {{1, 2}, {3, 4}};
__device__ double helper(double x) { return setup.scale * x + setup.shift; }
namespace hidden { __device__ int inner = 5; }

extern "C" __global__ void count(int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counter, 1ull);
}
extern "C" __global__ void read(unsigned long long* out) { *out = counter; }
extern "C" __global__ void apply(double* x) {
    x[threadIdx.x] = helper(x[threadIdx.x]) + table[threadIdx.x] + weights[1][0] + hidden::inner;
}
template <class T> __global__ void add(T amount) { counter += amount; }
"""


def device(array):
    return cupy.asarray(np.asarray(array))


def test_kernels_of_a_module_share_their_global_variables():
    module = cupy.RawModule(code=COUNTERS, name_expressions=["add<int>", "add<short>"])
    out = cupy.zeros(1, dtype=np.uint64)
    module.get_function("count")((4,), (128,), (500,))
    module.get_function("add<int>")((1,), (1,), (np.int32(3),))
    module.get_function("add<short>")((1,), (1,), (np.int16(4),))
    module.get_function("read")((1,), (1,), (out,))
    assert int(out[0]) == 507
    # Another module, and a kernel alone, have their own.
    for other in (cupy.RawModule(code=COUNTERS).get_function("read"), cupy.RawKernel(COUNTERS, "read")):
        other((1,), (1,), (out,))
        assert int(out[0]) == 0


def test_addresses_of_global_variables():
    module = cupy.RawModule(code=COUNTERS)
    table = cupy.ndarray((3,), np.float64, module.get_global("table"))
    table[...] = device([10.0, 20.0, 30.0])
    setup = module.get_global("setup")
    setup.copy_from_host(np.array([3.0]).ctypes.data, 8)
    x = device([0.0, 1.0, 2.0])
    module.get_function("apply")((1,), (3,), (x,))
    np.testing.assert_array_equal(host_buffer(x), [1 + 10 + 8, 4 + 20 + 8, 7 + 30 + 8])
    counter = cupy.ndarray((1,), np.uint64, module.get_global("counter"))
    counter[...] = 41
    module.get_function("count")((1,), (1,), (1,))
    assert int(counter[0]) == 42
    assert module.get_global("weights").mem.size == 16
    with pytest.raises(RuntimeError, match="CUDA_ERROR_NOT_FOUND"):
        module.get_global("missing")
    with pytest.raises(RuntimeError, match="CUDA_ERROR_NOT_FOUND"):
        cupy.RawModule(code="int x;").get_global("x")


STRAYS = """
struct Pair {
    double* x;
    long long n;
};
extern "C" __global__ void shift(double* x, int n) { x[threadIdx.x + n] = 1.0; }
extern "C" __global__ void both(double* x, Pair pair) {
    x[threadIdx.x] += 1.0;
    __syncthreads();
    if (threadIdx.x == 0) pair.x[pair.n] += 1.0;  // the same array
}
"""


def test_launches_are_checked_unless_that_is_turned_off(monkeypatch):
    x = cupy.zeros(64)
    for setting in ("", "1"):
        monkeypatch.setenv("CUNUMPY_CPU_CHECK", setting)
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match=r"write of 8 bytes at argument 0\[64\] by block"):
            cupy.RawKernel(STRAYS, "shift")((1,), (32,), (x, np.int32(33)))
    assert host_buffer(x)[33:].all()
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "0")
    cupy.RawKernel(STRAYS, "shift")((1,), (32,), (x[:48], np.int32(17)))


def test_arrays_that_structs_point_to_are_those_of_the_arguments(monkeypatch):
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", "1")
    x = cupy.zeros(32)
    pair = np.array((x.data.ptr, 3), dtype=[("x", "u8"), ("n", "i8")])[()]
    cupy.RawKernel(STRAYS, "both")((1,), (32,), (x, pair))
    assert host_buffer(x).tolist() == [1.0 + (i == 3) for i in range(32)]
