"""`cupy.RawModule` for the stand-in: CUDA source compiled by the machine's C++ compiler, threads one after another.

Only what the kernels of our own packages need is here: no barriers, no warps, no shared memory. Each argument is
checked against the size of the kernel's parameter, which a GPU would read wrongly in silence.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SHIM = r"""
#include <math.h>
#include <string.h>
#include <tuple>
#include <utility>
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __CUDACC_RTC__ 1
struct cunumpy_dim3 { unsigned int x, y, z; };
static cunumpy_dim3 gridDim, blockDim, blockIdx, threadIdx;
struct alignas(8) float2 { float x, y; };
struct alignas(16) double2 { double x, y; };
template <class T> static T atomic_replace(T* p, T v) { T old = *p; *p = v; return old; }
template <class T, class U> static T atomicAdd(T* p, U v) { return atomic_replace(p, T(*p + T(v))); }
template <class T, class U> static T atomicMin(T* p, U v) { return atomic_replace(p, T(v) < *p ? T(v) : *p); }
template <class T, class U> static T atomicMax(T* p, U v) { return atomic_replace(p, *p < T(v) ? T(v) : *p); }
template <class T, class U> static T atomicExch(T* p, U v) { return atomic_replace(p, T(v)); }
template <class T, class U> static T atomicOr(T* p, U v) { return atomic_replace(p, T(*p | T(v))); }
template <class T, class U> static T atomicAnd(T* p, U v) { return atomic_replace(p, T(*p & T(v))); }
template <class T, class U, class V> static T atomicCAS(T* p, U expected, V v) {
    T old = *p;
    if (old == T(expected)) *p = T(v);
    return old;
}
static inline void __threadfence() {}
template <class To, class From> static To bits_as(From v) { To to; memcpy(&to, &v, sizeof to); return to; }
static inline long long __double_as_longlong(double v) { return bits_as<long long>(v); }
static inline double __longlong_as_double(long long v) { return bits_as<double>(v); }
static inline int __float_as_int(float v) { return bits_as<int>(v); }
static inline float __int_as_float(int v) { return bits_as<float>(v); }
static inline unsigned int __float_as_uint(float v) { return bits_as<unsigned int>(v); }
static inline float __uint_as_float(unsigned int v) { return bits_as<float>(v); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(v); }
static inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll(v); }
template <class T> static T __ldg(const T* p) { return *p; }

template <class... P> struct Caller {
    typedef void (*Kernel)(P...);
    static int sizes(int* out) { int i = 0; ((out[i++] = sizeof(P)), ...); return i; }
    template <size_t... I> static void one(Kernel k, void** a, std::index_sequence<I...>) { k(*(P*)a[I]...); }
    static void run(Kernel k, void** a) { one(k, a, std::index_sequence_for<P...>()); }
};
template <class... P> static int sizes_of(void (*)(P...), int* out) { return Caller<P...>::sizes(out); }
template <class... P> static void call(void (*k)(P...), void** a) { Caller<P...>::run(k, a); }
"""

ENTRY = r"""
extern "C" int host_sizes(int* out) { return sizes_of(&KERNEL, out); }
extern "C" void host_launch(const unsigned int* g, const unsigned int* b, void** arguments) {
    gridDim = {g[0], g[1], g[2]}; blockDim = {b[0], b[1], b[2]};
    for (unsigned int block = 0; block < g[0] * g[1] * g[2]; ++block)
        for (unsigned int thread = 0; thread < b[0] * b[1] * b[2]; ++thread) {
            blockIdx = {block % g[0], block / g[0] % g[1], block / g[0] / g[1]};
            threadIdx = {thread % b[0], thread / b[0] % b[1], thread / b[0] / b[1]};
            call(&KERNEL, arguments);
        }
}
"""


class RawModule:
    """Some of `cupy.RawModule`; ``launches`` lists what was launched, for all modules."""

    launches: list[str] = []  # noqa: RUF012 - shared on purpose

    def __init__(
        self, *, code: str, options: Sequence[str] = (), name_expressions: Sequence[str] | None = None
    ) -> None:
        assert all(isinstance(option, str) for option in options)
        self.code = code
        self.options = tuple(options)
        self.name_expressions = name_expressions

    def get_function(self, name: str) -> RawKernel:
        assert self.name_expressions is None or name in self.name_expressions, f"{name} is not among the expressions"
        return RawKernel(self.code, name, self.options)

    def compile(self, log_stream: Any = None) -> None:
        pass


class RawKernel:
    """Some of `cupy.RawKernel`."""

    attributes = {  # noqa: RUF012 - the same for all
        "max_threads_per_block": 1024,
        "shared_size_bytes": 0,
        "max_dynamic_shared_size_bytes": 49152,
    }

    def __init__(self, code: str, name: str, options: Sequence[str] = ()) -> None:
        self.name = name
        self.options = tuple(options)
        self.library = _compiled(code, self.options, name)
        sizes = (ctypes.c_int * 64)()
        count = self.library.host_sizes(sizes)
        self.sizes = list(sizes[:count])

    def compile(self, log_stream: Any = None) -> None:
        pass

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        from cunumpy.kernel_testing import host_buffer

        sizes = [(ctypes.c_uint * 3)(*size, *(1,) * (3 - len(size))) for size in (grid, block)]
        assert 0 < min(grid) <= max(grid) < 2**31
        assert 0 < min(block) <= max(block) <= 1024
        assert len(args) == len(self.sizes), f"{self.name} has {len(self.sizes)} parameters, got {len(args)}"
        held: list[Any] = []
        for position, (value, size) in enumerate(zip(args, self.sizes, strict=True)):
            if isinstance(value, np.ndarray):
                assert value.shape == (1,), "the only host arrays that CuPy takes are of one element"
                buffer = value
            elif isinstance(value, np.generic):
                buffer = np.array(value)
            elif value is None:
                buffer = np.zeros(1, np.uint64)
            else:  # a device array: its address
                buffer = np.array([host_buffer(value).__array_interface__["data"][0]], np.uint64)
            assert buffer.nbytes == size, f"{self.name}: argument {position} has {buffer.nbytes} bytes, not {size}"
            held.append(buffer)
        pointers = (ctypes.c_void_p * len(held))(*(buffer.__array_interface__["data"][0] for buffer in held))
        RawModule.launches.append(self.name)
        self.library.host_launch(*sizes, pointers)


@functools.cache
def _compiled(code: str, options: tuple[str, ...], name: str) -> ctypes.CDLL:
    compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++")
    assert compiler, "these tests need a C++ compiler; on Debian and Ubuntu: apt-get install g++"
    source = SHIM + code + ENTRY.replace("KERNEL", name)
    key = hashlib.sha256("\0".join((source, *options)).encode()).hexdigest()[:32]
    folder = Path(tempfile.gettempdir()) / f"cunumpy-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    includes = [option for option in options if option.startswith(("-I", "-D"))]
    headers = "".join(
        path.read_text() for option in includes if option[1] == "I" for path in Path(option[2:]).rglob("*.cuh")
    )
    library = folder / f"{key}-{hashlib.sha256(headers.encode()).hexdigest()[:16]}.so"
    if not library.exists():
        text = folder / f"{key}-{os.getpid()}.cpp"
        text.write_text(source)
        partial = text.with_suffix(".so")
        flags = ["-std=c++17", "-shared", "-fPIC", "-w", "-ffp-contract=off"]
        subprocess.run([compiler, *flags, *includes, str(text), "-o", str(partial)], check=True)
        partial.replace(library)
        text.unlink()
    return ctypes.CDLL(str(library))
