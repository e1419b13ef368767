"""Raw kernels and modules on NumPy arrays."""

from __future__ import annotations

import ctypes
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from cunumpy.errors import ArgumentError, ArgumentTypeError, CompileError, KernelError
from cunumpy.kernels import RawKernel, RawModule
from cunumpy.kernels._cpu_device import build

SOURCE = r"""
struct Pair { int first; double second; };
__device__ int counter = 3;
__constant__ double table[2];

extern "C" __global__ void fill(double* x, double value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value + table[1];
}

extern "C" __global__ void reverse(int* x) {
    extern __shared__ int room[];
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void count() { atomicAdd(&counter, 1); }

extern "C" __global__ void take(Pair pair, long long* out) { out[0] = pair.first + (long long)pair.second; }

extern "C" __global__ void numbers(double* out, bool a, signed char b, short c, int d, long long e) {
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = (double)e;
}

extern "C" __global__ void fail(int* x) { if (x[0] == 0) __trap(); }

namespace inner {
template <class T> __global__ void scale(T* x, T factor) { x[threadIdx.x] *= factor; }
}
"""

MODULE = RawModule(code=SOURCE, name_expressions=["inner::scale<float>", "inner::scale<double>"])


def test_kernels_run() -> None:
    x = np.zeros(300)
    fill = MODULE.get_function("fill")
    assert fill is MODULE.get_function("fill")
    assert fill.name == "fill"
    fill((3,), (100,), (x, 2.5, 299))
    assert (x[:299] == 2.5).all()
    assert x[299] == 0
    y = np.arange(10, dtype=np.int32)
    MODULE.get_function("reverse")((1,), (10,), (y,), shared_mem=40)
    np.testing.assert_array_equal(y, np.arange(10)[::-1])
    z = np.arange(4, dtype=np.float32)
    MODULE.get_function("inner::scale<float>")((1,), (4,), (z, np.float32(3)))
    np.testing.assert_array_equal(z, [0, 3, 6, 9])


def test_a_kernel_may_have_the_name_of_a_function_of_cudas() -> None:
    x = np.arange(3.0)
    RawKernel('extern "C" __global__ void norm(double* x) { x[threadIdx.x] += exp(0.0); }', "norm")((1,), (3,), (x,))
    np.testing.assert_array_equal(x, [1, 2, 3])


def test_a_struct_is_an_argument() -> None:
    pair = np.zeros((), [("first", "i4"), ("gap", "i4"), ("second", "f8")])
    pair["first"], pair["second"] = 4, 5.5
    out = np.zeros(1, np.int64)
    MODULE.get_function("take")((1,), (1,), (pair, out))
    assert out[0] == 9


def test_global_variables_are_shared_by_the_kernels_of_a_module() -> None:
    counter = MODULE.get_global("counter").view(np.int32)
    before = int(counter[0])
    MODULE.get_function("count")((2,), (5,), ())
    assert counter[0] == before + 10
    table = MODULE.get_global("table").view(np.float64)
    table[:] = [0, 4]
    x = np.zeros(3)
    MODULE.get_function("fill")((1,), (3,), (x, 1.0, 3))
    table[:] = 0
    np.testing.assert_array_equal(x, 5)
    with pytest.raises(ArgumentError, match="no global variable 'other'"):
        MODULE.get_global("other")


def test_a_file_of_source_code_runs_and_machine_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "value.h").write_text("#define VALUE 7\n")
    (tmp_path / "kernels.cu").write_text(
        '#include "value.h"\nextern "C" __global__ void set(int* x) { x[threadIdx.x] = VALUE; }\n'
    )
    x = np.zeros(2, np.int32)
    RawModule(path=tmp_path / "kernels.cu").get_function("set")((1,), (2,), (x,))
    np.testing.assert_array_equal(x, 7)
    (tmp_path / "kernels.cubin").write_bytes(b"\x7fELF")
    module = RawModule(path=str(tmp_path / "kernels.cubin"))
    for call in (
        lambda: module.get_function("set")((1,), (2,), (x,)),
        lambda: module.get_global("x"),
    ):
        with pytest.raises(ArgumentError, match=r"kernels.cubin' is machine code of GPUs, which no CPU runs; pass the"):
            call()


def test_numbers_of_python_are_taken_where_they_fit() -> None:
    numbers, out = MODULE.get_function("numbers"), np.zeros(5)
    for _ in range(2):  # the first launch is packed in Python, the second one in C
        for given in [(True, -128, 127, -(2**31), 2**63 - 1), (False, 1, -(2**15), 2**31 - 1, -(2**63))]:
            numbers((1,), (1,), (out, *given))
            np.testing.assert_array_equal(out, given)
    for place, number, size in [(1, 128, 1), (1, -129, 1), (2, 2**15, 2), (3, 2**31, 4)]:
        given = [True, 1, 1, 1, 1]
        given[place] = number
        with pytest.raises(ArgumentTypeError, match=f"parameter {place + 1} has {size} bytes, got int of 8"):
            numbers((1,), (1,), (out, *given))


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_sizes_of_launches_may_be_numpys_integers(kind: type[np.integer]) -> None:
    x = np.arange(10, dtype=np.int32)
    for kernel in (RawKernel(SOURCE, "reverse"), MODULE.get_function("reverse")):
        for _ in range(2):
            kernel((kind(1),), (kind(10), kind(1)), (x,), shared_mem=kind(40))
    np.testing.assert_array_equal(x, np.arange(10))


def test_code_and_name_may_be_bytes_as_cupys(tmp_path: Path) -> None:
    x = np.zeros(3)
    kernel = RawKernel(SOURCE.encode(), b"fill")
    kernel((1,), (3,), (x, 2.0, 3))
    np.testing.assert_array_equal(x, 2)
    assert (kernel.code, kernel.name, kernel.file_path) == (SOURCE, "fill", None)
    assert kernel.max_threads_per_block == kernel.attributes["max_threads_per_block"] == 1024
    assert not hasattr(kernel, "kernels")
    (tmp_path / "kernels.cu").write_bytes(SOURCE.encode())
    assert RawModule(path=tmp_path / "kernels.cu").get_function("fill").file_path == str(tmp_path / "kernels.cu")
    assert RawModule(code=SOURCE.encode()).get_function("fill").code == SOURCE
    for make in (lambda: RawKernel(3, "k"), lambda: RawModule(code=3)):
        with pytest.raises(ArgumentTypeError, match=r"argument 'code' must be a str, got 3"):
            make()


def test_bad_launches_say_what_is_wrong() -> None:
    fill, x = MODULE.get_function("fill"), np.zeros(3)
    for grid, block, args, error, text in [
        ((1,), (3,), (x, 1.0), ArgumentTypeError, "it has 3 parameters, got 2 arguments"),
        ((1,), (3,), (x, np.float32(1), 3), ArgumentTypeError, "parameter 1 has 8 bytes, got float32 of 4"),
        ((1,), (3,), (x, 1.0, "3"), ArgumentTypeError, "parameter 2: Unsupported type"),
        ((0,), (3,), (x, 1.0, 3), ArgumentError, r"argument 'grid' is \(0,\): 0 is not from 1"),
        ((1,), (1025,), (x, 1.0, 3), ArgumentError, r"argument 'block' is \(1025,\): 1025 is not"),
        ((1,), (64, 32), (x, 1.0, 3), ArgumentError, "which is 2048 threads"),
        (1, (3,), (x, 1.0, 3), ArgumentTypeError, "argument 'grid' must be a tuple"),
    ]:
        with pytest.raises(error, match=text):
            fill(grid, block, args)
    with pytest.raises(ArgumentError, match="50000 bytes of dynamic shared memory; the most is 49152"):
        fill((1,), (3,), (x, 1.0, 3), shared_mem=50000)
    with pytest.raises(KernelError, match="what it wrote before stays"):
        MODULE.get_function("fail")((1,), (1,), (np.zeros(1, np.int32),))
    with pytest.raises(ArgumentError, match="no kernel 'nothing'; kernels are fill, reverse"):
        MODULE.get_function("nothing")


def test_bad_sources_and_settings_say_what_is_wrong() -> None:
    with pytest.raises(CompileError, match="nowhere"):
        RawKernel('extern "C" __global__ void k(int* x) { nowhere(x); }', "k")((1,), (1,), (np.zeros(1, "i4"),))
    with pytest.raises(ArgumentTypeError, match="exactly one of 'code' and 'path'"):
        RawModule()
    with pytest.raises(ArgumentTypeError, match="options must be a tuple of str"):
        RawKernel("", "k", options=["-DX"])
    with pytest.raises(ArgumentError, match="unknown backend 'gcc'"):
        RawKernel("", "k", backend="gcc")
    with pytest.raises(ArgumentError, match="jitify=True is for GPUs alone"):
        RawKernel(SOURCE, "fill", jitify=True)((1,), (1,), (np.zeros(1), 1.0, 1))


def test_a_name_that_is_not_in_the_source() -> None:
    with pytest.raises(
        CompileError, match="RawKernel 'nothing': there is no kernel of this name in the source; its kern"
    ):
        RawKernel(SOURCE, "nothing")((1,), (1,), (np.zeros(1),))


@pytest.mark.parametrize("dtype", ["U1", "S8", "M8[s]", "m8[s]", "O", ">f8", "g", "G"])
def test_memory_that_no_kernel_reads_is_refused_each_time(dtype) -> None:
    kernel = RawKernel('extern "C" __global__ void read(const double* x, double* y) { y[0] = x[0]; }', "read")
    y = np.zeros(1)
    kernel((1,), (1,), (np.ones(3), y))
    for _ in range(2):
        with pytest.raises(ArgumentTypeError, match=r"RawKernel 'read': parameter 0: an array of dtype"):
            kernel((1,), (1,), (np.zeros(3, dtype), y))
    assert y.tolist() == [1]


VARIABLE = """
__device__ int count;
extern "C" __global__ void raise_it() { atomicAdd(&count, 1); }
extern "C" __global__ void lower_it() { atomicSub(&count, 1); }
"""


def test_kernels_that_threads_load_at_once_share_the_variables_of_their_module(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = build._opened

    def slowly(path: Path, *, own: bool) -> ctypes.CDLL:
        time.sleep(0.1)
        return opened(path, own=own)

    monkeypatch.setattr(build, "_opened", slowly)
    module = RawModule(code=VARIABLE)
    names = ["raise_it", "raise_it", "lower_it", "raise_it"]
    threads = [threading.Thread(target=module.get_function(name), args=((1,), (1,), ())) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert module.get_global("count").view(np.int32) == 2
