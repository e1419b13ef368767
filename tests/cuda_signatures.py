"""What a C++ compiler says about the parameters of CUDA kernels: the independent truth for the signature parser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cpp_compiler import compiler
from cunumpy.cuda import CudaParameter

# CUDA's words and types for a C++ compiler, laid out as NVIDIA's headers and cupy/complex.cuh do.
SHIM = r"""
#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <complex>
#include <cstdio>
#include <type_traits>
#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) alignas(n)

typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
struct __half { unsigned short bits; };
typedef __half half;
struct __nv_bfloat16 { unsigned short bits; };
typedef __nv_bfloat16 nv_bfloat16;
struct alignas(4) __half2 { __half x, y; };
typedef __half2 half2;
template <class T> struct alignas(2 * sizeof(T)) complex { T parts[2]; };
struct alignas(8) cuFloatComplex { float x, y; };
typedef cuFloatComplex cuComplex;
struct alignas(16) cuDoubleComplex { double x, y; };
namespace thrust { using ::complex; }
namespace cuda { namespace std {
using ::complex; using ::std::int64_t; using ::std::uint8_t; using ::std::size_t;
} }

#define VECTORS(name, T, two, four) \
    struct name##1 { T x; }; struct alignas(two) name##2 { T x, y; }; \
    struct name##3 { T x, y, z; }; struct alignas(four) name##4 { T x, y, z, w; };
VECTORS(char, signed char, 2, 4)
VECTORS(uchar, unsigned char, 2, 4)
VECTORS(short, short, 4, 8)
VECTORS(ushort, unsigned short, 4, 8)
VECTORS(int, int, 8, 16)
VECTORS(uint, unsigned, 8, 16)
VECTORS(long, long, 16, 16)
VECTORS(ulong, unsigned long, 16, 16)
VECTORS(longlong, long long, 16, 16)
VECTORS(ulonglong, unsigned long long, 16, 16)
VECTORS(float, float, 8, 16)
VECTORS(double, double, 16, 16)
struct dim3 { unsigned x, y, z; };

template <class T, int N> struct strided { T* data; long long shape[N], strides[N]; };
template <class T, int N> struct packed { T* data; long long shape[N]; };
#define VIEWS(N) \
    template <class T> struct Array##N##D : strided<T, N> {}; \
    template <class T> struct CArray##N##D : packed<T, N> {};
VIEWS(1) VIEWS(2) VIEWS(3) VIEWS(4) VIEWS(5) VIEWS(6) VIEWS(7) VIEWS(8)
VIEWS(9) VIEWS(10) VIEWS(11) VIEWS(12) VIEWS(13) VIEWS(14) VIEWS(15) VIEWS(16)
namespace cunumpy { using ::Array2D; }

template <class T> struct element { typedef T type; static constexpr int ndim = 0; };
template <class T> struct element<T*> { typedef T type; static constexpr int ndim = 0; };
#define ELEMENTS(N) \
    template <class T> struct element<Array##N##D<T>> { typedef T type; static constexpr int ndim = N; }; \
    template <class T> struct element<CArray##N##D<T>> { typedef T type; static constexpr int ndim = N; };
ELEMENTS(1) ELEMENTS(2) ELEMENTS(3) ELEMENTS(4) ELEMENTS(5) ELEMENTS(6) ELEMENTS(7) ELEMENTS(8)
ELEMENTS(9) ELEMENTS(10) ELEMENTS(11) ELEMENTS(12) ELEMENTS(13) ELEMENTS(14) ELEMENTS(15) ELEMENTS(16)

template <class T, bool = std::is_enum<T>::value> struct number { typedef T type; };
template <class T> struct number<T, true> { typedef typename std::underlying_type<T>::type type; };
template <class T> constexpr char kind() {
    typedef typename number<T>::type N;
    return std::is_void<N>::value ? '-' : std::is_same<N, bool>::value ? 'b' : std::is_same<N, __half>::value ? 'f'
        : std::is_floating_point<N>::value ? 'f' : std::is_integral<N>::value ? (std::is_signed<N>::value ? 'i' : 'u')
        : std::is_same<N, complex<float>>::value || std::is_same<N, complex<double>>::value ? 'c'
        : std::is_same<N, cuFloatComplex>::value || std::is_same<N, cuDoubleComplex>::value ? 'c' : 'V';
}
template <class T> struct bytes { static constexpr unsigned value = sizeof(T); };
template <> struct bytes<void> { static constexpr unsigned value = 0; };

template <class T> void describe() {
    typedef typename element<T>::type E;
    typedef typename std::remove_cv<E>::type plain;
    std::printf(" %u,%u,%d,%d,%d,%c,%u", (unsigned)sizeof(T), (unsigned)alignof(T), (int)std::is_pointer<T>::value,
                (int)std::is_const<E>::value, element<T>::ndim, kind<plain>(), bytes<plain>::value);
}
// Of a member: where it is, and what; of an array, of what, and how many.
template <class T> struct unrestricted { typedef T type; };
template <class T> struct unrestricted<T* __restrict__> { typedef T* type; };
template <class T> void describe_member(std::size_t offset) {
    typedef typename std::remove_cv<typename std::remove_all_extents<T>::type>::type R;
    typedef typename unrestricted<R>::type M;
    typedef typename element<M>::type E;
    std::printf(" %zu,%zu,%d,%d,%d,%c,%u", offset, sizeof(T), (int)std::is_pointer<M>::value,
                (int)(std::is_const<E>::value && (std::is_pointer<M>::value || element<M>::ndim)), element<M>::ndim,
                kind<typename std::remove_cv<E>::type>(), bytes<typename std::remove_cv<E>::type>::value);
    std::printf(",%u,%zu,%zu", (unsigned)std::rank<T>::value, std::extent<T, 0>::value, std::extent<T, 1>::value);
}
template <class... P> void report(void (*)(P...)) { (describe<P>(), ...); std::printf("\n"); }
template <class... P> void report(void (*)(P...) noexcept) { (describe<P>(), ...); std::printf("\n"); }
"""


class Kernel(NamedTuple):
    """One kernel for the compiler: its source, and the C++ expression that names it."""

    source: str
    expression: str | None
    """None where only compiling counts."""


def described(parameter: CudaParameter) -> str:
    """Describe a parameter with the words that the compiled program prints."""
    dtype = parameter.dtype
    return ",".join(
        [
            str(parameter.size),
            str(parameter.alignment),
            str(int(parameter.pointer)),
            str(int(parameter.const)),
            str(parameter.view_ndim or 0),
            "-" if dtype is None else dtype.kind,
            "0" if dtype is None else str(np.dtype(dtype).itemsize),
        ]
    )


def compiled_descriptions(kernels: Iterable[Kernel], folder: Path) -> list[list[str] | None]:
    """Compile all kernels in one program; return what it prints of the parameters of each."""
    kernels = list(kernels)
    lines = [SHIM]
    for number, kernel in enumerate(kernels):
        lines += [f"namespace kernel_{number} {{", f'#line 1 "kernel_{number}"', kernel.source, "}"]
        lines += [
            f"#undef {name}" for name in sorted(set(re.findall(r"\bdefine(?:\s|/\*(?s:.*?)\*/)+(\w+)", kernel.source)))
        ]
    lines.append("int main() {")
    for number, kernel in enumerate(kernels):
        if kernel.expression is not None:
            lines.append(f"    report((decltype(&kernel_{number}::{kernel.expression}))nullptr);")
    lines += ["    return 0;", "}"]
    source, program = folder / "kernels.cpp", folder / "kernels"
    source.write_text("\n".join(lines), encoding="utf-8")
    options = ["-std=c++20", "-O0", "-w", "-fsigned-char"]
    done = subprocess.run(
        [*compiler(), *options, str(source), "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    printed = iter(subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines())
    return [None if kernel.expression is None else next(printed).split() for kernel in kernels]


def accepted_descriptions(
    sources: Iterable[tuple[str, str]], folder: Path, preamble: str = ""
) -> list[list[str] | None]:
    """Compile sources, each in a namespace of its own; return what is printed of each, None where it is not accepted.

    Parameters
    ----------
    sources : iterable of (str, str)
        C++, and statements that print a line of what is asked about it, in which ``HERE`` is the namespace.
    folder : Path
        For what is made.
    preamble : str
        C++ before all of them.
    """
    remaining = dict(enumerate(sources))
    found: list[list[str] | None] = [None] * len(remaining)
    path, program = folder / "sources.cpp", folder / "sources"
    most_errors = "-ferror-limit=0" if "clang" in compiler()[0] else "-fmax-errors=0"
    options = ["-std=c++20", "-O0", "-w", "-fsigned-char", "-fno-diagnostics-show-caret", most_errors]
    while remaining:
        lines = [SHIM, preamble]
        for number, (source, _) in remaining.items():
            lines += [f"namespace source_{number} {{", f'#line 1 "source_{number}"', source, "}"]
        lines.append("int main() {")
        for number, (_, statements) in remaining.items():
            lines += [f'#line 1 "source_{number}"', statements.replace("HERE", f"source_{number}")]
        lines += ["}"]
        path.write_text("\n".join(lines), encoding="utf-8")
        command = [*compiler(), *options, str(path), "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
        if done.returncode == 0:
            printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
            for number, line in zip(remaining, printed, strict=True):
                found[number] = line.split()
            break
        refused = {
            int(number) for number in re.findall(r"^source_(\d+):[\d:]+ (?:fatal )?error:", done.stderr, re.MULTILINE)
        }
        assert refused, done.stderr[:4000]
        for number in refused:
            del remaining[number]
    return found
