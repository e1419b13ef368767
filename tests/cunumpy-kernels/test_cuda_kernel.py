"""CUDA kernels without CuPy: what they are, their launch shapes, and the checks of numbers."""

from __future__ import annotations

import copy
import enum
import math
import os
import pickle
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
import gpu_kernels
from array_kinds import KINDS
from cunumpy.cuda import DEBUG_OPTIONS, check_cuda, cuda_debug, cuda_include_dir, include_hash
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    BackendUnavailableError,
    CompileError,
)
from cunumpy.kernels import CudaKernel, CudaKernelVariants
from cunumpy.kernels._builds import Build
from cunumpy.kernels._variants import compile_each

AXPY = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""
SCALE = "template <typename T, int N> __global__ void scale(T* x, T factor) { x[threadIdx.x] *= factor * N; }"


def axpy(**options) -> CudaKernel:
    return CudaKernel(AXPY, "axpy", **options)


def taking(ctype: str) -> CudaKernel:
    return CudaKernel(f'extern "C" __global__ void k({ctype} a) {{ }}', "k")


def first_of(args):
    return len(args[0])


class Shaped:
    """As much of an array as the number of threads is inferred from."""

    dtype = np.dtype("f8")

    def __init__(self, *shape: int) -> None:
        self.shape = shape


# --- what a kernel is -------------------------------------------------------------------------------------------------


def test_properties_say_what_was_given(tmp_path):
    kernel = axpy(
        block_size=(16, 8), options=["-DN=3"], include_dirs=[tmp_path], source_dir=tmp_path, debug=False, check_finite=1
    )
    assert (kernel.name, kernel.expression, kernel.source) == ("axpy", "axpy", AXPY)
    assert kernel.block_size == (16, 8)
    assert kernel.options == ("-DN=3", f"-I{tmp_path}")
    assert kernel.include_dirs == (tmp_path,)
    assert kernel.source_dir == tmp_path
    assert kernel.debug is False
    assert kernel.check_finite is True
    assert kernel.template_args is None
    assert [parameter.name for parameter in kernel.signature] == ["a", "x", "y", "n"]
    assert not kernel.is_compiled
    assert repr(kernel) == "<CudaKernel axpy block_size=(16, 8)>"
    assert axpy().block_size == 128
    assert axpy(check_signature=False).signature is None


@pytest.mark.parametrize("value", [-(2**63), -(2**63) + 1, -3, 2**31, 2**63 - 1, 2**63, 2**64 - 1])
def test_integers_of_templates_are_read_by_compilers_as_they_are(value):
    kind = "unsigned long long" if value >= 2**63 else "long long"
    source = f"template <{kind} N> __global__ void f({kind}* x) {{ *x = N; }}"
    kernel = CudaKernel(source, "f", template_args=[value])
    report = check_cuda(source, name_expressions=[kernel.expression], archs=["sm_80"])
    assert f"{'n' if value < 0 else ''}{abs(value)}E" in report.lowered_names[kernel.expression]
    assert not report.messages


def test_expression_of_a_template():
    kernel = CudaKernel(SCALE, "scale", template_args=[np.float32, True])
    assert kernel.expression == "scale<float, true>"
    assert CudaKernel(SCALE, "scale", template_args=["double", 3]).expression == "scale<double, 3>"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"block_size": 0}, ArgumentError, "'block_size' must be positive, got 0"),
        ({"block_size": (32, 33)}, ArgumentError, "1056 threads; a block has at most 1024"),
        ({"block_size": (1, 1, 1, 1)}, ArgumentError, "1 to 3 integers, got 4"),
        ({"block_size": "64"}, ArgumentTypeError, "'block_size' must be an integer"),
        (
            {"options": "-O3"},
            ArgumentTypeError,
            "'options' must be several strings, got the single one '-O3'; pass options=['-O3'].",
        ),
        ({"options": [3]}, ArgumentTypeError, "'options' must be made of strings, got 3 in it."),
        (
            {"include_dirs": "here"},
            ArgumentTypeError,
            "'include_dirs' must be several paths, got the single one 'here'; pass include_dirs=['here'].",
        ),
        ({"template_args": "double"}, ArgumentTypeError, "'template_args' must be a sequence"),
        ({"template_args": ["double"]}, ArgumentError, "is no template"),
        (
            {"structs": gpu_kernels.INNER},
            ArgumentTypeError,
            "'structs' must be several structs, got",
        ),
        ({"n_threads_from": "all"}, ArgumentTypeError, "'auto', 'first_array', 'last_axis'"),
        ({"options": None}, ArgumentTypeError, "'options' must be a list of strings, got NoneType (None)."),
        ({"include_dirs": [3]}, ArgumentTypeError, "'include_dirs' must be a path, str or Path, got 3."),
        ({"source_dir": 3}, ArgumentTypeError, "'source_dir' must be a path"),
        ({"debug": "off"}, ArgumentTypeError, "'debug' must be True or False, got str ('off')"),
        ({"check_finite": "no"}, ArgumentTypeError, "'check_finite' must be True or False"),
        ({"check_signature": "no"}, ArgumentTypeError, "'check_signature' must be True or False"),
        ({"check_finite": np.zeros(2)}, ArgumentTypeError, "'check_finite' must be True or False, got numpy.ndarray"),
        ({"n_threads_from": 3}, ArgumentTypeError, "'n_threads_from' must be a function"),
    ],
)
def test_wrong_options_are_refused(options, error, text):
    with pytest.raises(error) as caught:
        axpy(**options)
    assert text in str(caught.value)
    assert str(caught.value).startswith("CudaKernel 'axpy': ")


def test_source_without_the_kernel_is_refused():
    with pytest.raises(ArgumentError, match=r"CudaKernel 'axpi': <source>:1:1: there is no kernel 'axpi'"):
        CudaKernel(AXPY, "axpi")
    with pytest.raises(ArgumentTypeError, match="'source' must be a str"):
        CudaKernel(Path("axpy.cu"), "axpy")


def test_files(tmp_path):
    file = tmp_path / "axpy_cuda.cu"
    file.write_text(AXPY + SCALE.replace("template <typename T, int N> ", "").replace("T", "float"), "utf-8-sig")
    kernel = CudaKernel.from_file(file, include_dirs=["more"])
    assert kernel.name == "axpy"
    assert kernel.include_dirs == (tmp_path, Path("more"))
    assert kernel.source_dir == tmp_path
    assert kernel.source.startswith("\nextern")
    assert list(CudaKernel.all_from_file(file, block_size=32)) == ["axpy", "scale"]
    with pytest.raises(FileNotFoundError):
        CudaKernel.from_file(tmp_path / "none_cuda.cu")
    with pytest.raises(ArgumentError, match=r"CudaKernel.from_file: argument 'path' is the folder .*; pass a file"):
        CudaKernel.from_file(tmp_path, "axpy")
    with pytest.raises(ArgumentError, match=r"does not end with '\.cu_'"):
        CudaKernel.from_file(file, suffix=".cu_")
    with pytest.raises(ArgumentError, match=r"axpy_cuda\.cu:1:1: there is no kernel 'other'"):
        CudaKernel.from_file(file, "other")
    empty = tmp_path / "empty.cu"
    empty.write_text("int x;")
    with pytest.raises(ArgumentError, match="no __global__ function"):
        CudaKernel.all_from_file(empty)


def test_macros_of_the_options_decide_the_signature():
    source = (
        '#if WIDE\nextern "C" __global__ void k(long long n) {}\n#else\nextern "C" __global__ void k(int n) {}\n#endif'
    )
    assert CudaKernel(source, "k", options=["-DWIDE"]).signature[0].ctype == "long long"
    assert CudaKernel(source, "k", options=["-D", "WIDE=0"]).signature[0].ctype == "int"
    assert CudaKernel(source, "k", options=["--define-macro=WIDE=1"]).signature[0].ctype == "long long"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))])
def test_kernels_pickle_and_copy(duplicate):
    kernel = axpy(block_size=(8, 4), options=["-DX"], n_threads_from=first_of, debug=True)
    kernel.launch_shape((4, 4))
    again = duplicate(kernel)
    assert again is not kernel
    assert again.signature == kernel.signature
    assert again.compile_options() == kernel.compile_options()
    assert again.launch_shape((9, 9)) == ((2, 3), (8, 4))
    assert again.n_threads_from is first_of
    with pytest.raises(ArgumentRangeError, match="CudaKernel 'k': argument 'a'"):
        duplicate(taking("int")).prepare_args(2**31)


# --- options and headers ----------------------------------------------------------------------------------------------


def test_compile_options_end_with_a_hash_of_the_headers(tmp_path):
    (tmp_path / "h.cuh").write_text("#define C 2.0\n")
    source = '#include "h.cuh"\n#include <cunumpy/index.cuh>\n' + AXPY
    kernel = CudaKernel(source, "axpy", include_dirs=[tmp_path], options=["-DA"])
    headers = kernel.included_headers
    assert [header.name for header in headers][:2] == ["h.cuh", "index.cuh"]
    start = ("-DA", f"-I{tmp_path}", f"-I{cuda_include_dir()}")
    assert kernel.compile_options() == (*start, f"-DCUNUMPY_INCLUDE_HASH=0x{include_hash(headers)}")
    before = kernel.compile_options()
    (tmp_path / "h.cuh").write_text("#define C 5.0\n")  # the same size, at nearly the same time
    assert kernel.compile_options() != before


def test_an_old_header_that_changes_and_one_that_comes_before_it_are_noticed(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "h.cuh").write_text("int a;")
    kernel = CudaKernel('#include "h.cuh"\n' + AXPY, "axpy", include_dirs=[first, second])
    for path in (first, second, second / "h.cuh"):
        os.utime(path, (1e9, 1e9))
    found = {kernel.compile_options(), kernel.compile_options()}
    assert len(found) == 1
    (first / "h.cuh").write_text("int b;")
    found.add(kernel.compile_options())
    assert kernel.included_headers == (first / "h.cuh",)
    (first / "h.cuh").unlink()
    (second / "h.cuh").write_text("int c;")
    found.add(kernel.compile_options())
    assert len(found) == 3


def test_debug_mode_adds_its_options():
    kernel = axpy()
    plain = kernel.compile_options()
    with cuda_debug():
        assert kernel.debug_active()
        assert kernel.compile_options() == (*plain, *DEBUG_OPTIONS)
        assert axpy(debug=False).compile_options() == plain
        assert axpy(options=DEBUG_OPTIONS[:1]).compile_options().count(DEBUG_OPTIONS[0]) == 1
    assert not kernel.debug_active()
    assert axpy(debug=True).compile_options() == (*plain, *DEBUG_OPTIONS)


def test_a_source_without_includes_has_no_hash():
    assert axpy().compile_options() == (f"-I{cuda_include_dir()}",)


def test_nvrtc_takes_the_options(tmp_path):
    (tmp_path / "h.cuh").write_text("#define C 2.0\n")
    source = '#include "h.cuh"\n#include <cunumpy/array_view.cuh>\n'
    source += 'extern "C" __global__ void k(Array2D<double> x) { x(0, threadIdx.x) = C; }'
    kernel = CudaKernel(source, "k", include_dirs=[tmp_path], debug=True)
    report = check_cuda(kernel.source, archs=["sm_80"], options=kernel.compile_options())
    assert [usage.name for usage in report.kernels] == ["k"]
    template = CudaKernel(SCALE, "scale", template_args=["double", 3])
    report = check_cuda(SCALE, archs=["sm_80"], name_expressions=[template.expression])
    assert template.expression in report.lowered_names


@pytest.mark.parametrize("kernel", gpu_kernels.all_kernels(), ids=lambda kernel: kernel.expression)
def test_the_kernels_that_are_tested_on_gpus_compile(kernel):
    expressions = [kernel.expression] if kernel.template_args else []
    report = check_cuda(
        kernel.source, archs=["sm_75", "sm_120"], options=kernel.compile_options(), name_expressions=expressions
    )
    assert {usage.arch for usage in report.kernels} == {"sm_75", "sm_120"}


# --- launch shapes ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**9), st.integers(1, 1024))
def test_the_grid_covers_the_threads_and_no_block_is_idle(n, width):
    (blocks,), block = axpy(block_size=width).launch_shape(n)
    assert block == (width,)
    assert blocks * width >= n > (blocks - 1) * width or n == blocks == 0


@pytest.mark.parametrize(
    ("block_size", "request_", "shape"),
    [
        (128, {"n_threads": np.int64(1000)}, ((8,), (128,))),
        (128, {"n_threads": [1000]}, ((8,), (128,))),
        (128, {"n_threads": (1000, 3)}, ((8, 3), (128, 1))),
        (128, {"n_threads": (1000, 3, 2)}, ((8, 3, 2), (128, 1, 1))),
        ((16, 8), {"n_threads": (17, 8)}, ((2, 1), (16, 8))),
        ((16, 8), {"n_threads": 100, "block": 64}, ((2,), (64,))),
        (128, {"grid": 5}, ((5,), (128,))),
        (128, {"grid": (5, 2), "block": (4, 4, 4)}, ((5, 2), (4, 4, 4))),
        (128, {"n_threads": 0}, ((0,), (128,))),
        (128, {"n_threads": (4, 0)}, ((1, 0), (128, 1))),
        (128, {"args": (2.0, np.float64(1.0), np.zeros(()), Shaped(300, 7))}, ((3,), (128,))),
        ((16, 8), {"args": (2.0, Shaped(33, 9, 5))}, ((3, 2), (16, 8))),
    ],
)
def test_launch_shapes(block_size, request_, shape):
    assert axpy(block_size=block_size).launch_shape(**request_) == shape


@pytest.mark.parametrize(
    ("request_", "error", "text"),
    [
        ({"n_threads": 2**40}, ArgumentError, "8589934592 blocks along x"),
        ({"n_threads": (4, 10**7), "block": (16, 16)}, ArgumentError, "625000 blocks along y"),
        ({"grid": (1, 70000, 1), "block": (32,)}, ArgumentError, "more than the 65535"),
        ({"n_threads": -1}, ArgumentError, "'n_threads' must be not negative, got -1"),
        ({"n_threads": (3.7,)}, ArgumentTypeError, "'n_threads' must be an integer"),
        ({"n_threads": "12"}, ArgumentTypeError, "'n_threads' must be an integer"),
        ({"n_threads": True}, ArgumentTypeError, "'n_threads' must be an integer"),
        ({"n_threads": 3.0}, ArgumentTypeError, "got float"),
        ({"n_threads": 10**5000}, ArgumentError, "'n_threads' must fit in 64 bits, got int of 16610 bits"),
        ({"n_threads": -(10**5000)}, ArgumentError, "'n_threads' must be not negative, got int of 16610 bits"),
        ({"grid": 10**5000}, ArgumentError, "'grid' must fit in 64 bits"),
        ({"n_threads": 3, "block": 10**5000}, ArgumentError, "'block' must fit in 64 bits"),
        ({"n_threads": bytearray(b"ab")}, ArgumentTypeError, "'n_threads' must be an integer"),
        ({"n_threads": {3: 4}}, ArgumentTypeError, "'n_threads' must be an integer"),
        ({"n_threads": {3, 4}}, ArgumentTypeError, "'n_threads' must be an integer"),
        ({"n_threads": 3, "grid": 1}, ArgumentTypeError, "both n_threads=3 and grid=1"),
        ({}, ArgumentTypeError, "pass n_threads or grid, or args"),
        ({"n_threads": 3, "block": (8, 8)}, ArgumentError, "has 1 dimension"),
        ({"n_threads": 3, "block": 2048}, ArgumentError, "2048 threads"),
        ({"args": (1, 2.0)}, ArgumentTypeError, "no argument is an array"),
        ({"args": (Shaped(3),), "block": (8, 8)}, ArgumentError, "the first array 1"),
    ],
)
def test_shapes_that_no_gpu_takes_are_refused(request_, error, text):
    with pytest.raises(error) as caught:
        axpy().launch_shape(**request_)
    assert text in str(caught.value)
    assert "CudaKernel 'axpy'" in str(caught.value)


def test_launch_bounds_limit_the_block():
    kernel = CudaKernel('extern "C" __global__ void __launch_bounds__(64) k(int n) {}', "k")
    with pytest.raises(ArgumentError, match=r"__launch_bounds__\(64\)"):
        kernel.launch_shape(10)
    assert kernel.launch_shape(100, block=64) == ((2,), (64,))


class Pair:
    """An argument object of two values."""

    def __init__(self, *values):
        self.values = values

    def __cuda_args__(self):
        return self.values


def test_threads_are_inferred_as_asked():
    args = (1, Pair(2.0, Pair(Shaped(1000, 300))), Shaped(5))
    assert axpy().launch_shape(args=args)[0] == (8,)
    assert axpy(n_threads_from="last_axis").launch_shape(args=args)[0] == (3,)
    assert axpy(n_threads_from="first_array", block_size=10).launch_shape(args=args)[0] == (100,)
    kernel = axpy(n_threads_from=lambda given: 5 * given[0])
    assert kernel.launch_shape(args=(256,))[0] == (10,)
    kernel.n_threads_from = None
    with pytest.raises(ArgumentTypeError, match="pass n_threads or grid"):
        kernel.launch_shape(args=args)
    kernel.n_threads_from = "auto"
    assert kernel.n_threads_from(args) == (1000,)
    kernel.n_threads_from = lambda given: None
    with pytest.raises(ArgumentTypeError, match="n_threads_from returned None"):
        kernel.launch_shape(args=args)


# --- numbers ----------------------------------------------------------------------------------------------------------


@given(st.sampled_from(["signed char", "unsigned short", "int", "unsigned int", "long long", "size_t"]), st.integers())
def test_integers_are_taken_if_the_type_holds_them(ctype, value):
    kernel = taking(ctype)
    dtype = kernel.signature[0].dtype
    if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        (taken,) = kernel.prepare_args(value)
        assert type(taken) is dtype.type
        assert taken == value
    else:
        with pytest.raises(OverflowError, match=f"CudaKernel 'k': argument 'a' .*, got {value};"):
            kernel.prepare_args(value)


@given(st.integers() | st.integers(-(2**26), 2**26) | st.integers(0, 127).map(lambda power: 2**power))
def test_integers_become_floats_exactly_or_not_at_all(value):
    for ctype in ("float", "double"):
        kernel = taking(ctype)
        make = kernel.signature[0].dtype.type
        exact = abs(value) < 2**128 and int(make(float(value))) == value
        if exact:
            assert kernel.prepare_args(value)[0] == value
        else:
            with pytest.raises(ArgumentError, match=r"can't hold the integer|must be from"):
                kernel.prepare_args(value)


@given(st.floats())
def test_floats_are_rounded_and_never_become_infinite(value):
    kernel = taking("float")
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if math.isinf(rounded) and not math.isinf(value):
        with pytest.raises(OverflowError, match=r"\(float\) must be from"):
            kernel.prepare_args(value)
    else:
        (taken,) = kernel.prepare_args(value)
        assert type(taken) is np.float32
        assert taken.tobytes() == rounded.tobytes()


T, F = True, False
VALUES = [True, np.True_, 3, 2.5, 1j, np.int64(3), np.float32(2.5), np.float64(2.5), np.complex64(1)]


@pytest.mark.parametrize(
    ("ctype", "accepted"),
    [
        ("bool", [T, T, F, F, F, F, F, F, F]),
        ("int", [T, T, T, F, F, T, F, F, F]),
        ("float", [F, T, T, T, F, T, T, F, F]),
        ("double", [F, T, T, T, F, T, T, T, F]),
        ("complex<float>", [F, T, T, T, T, F, T, F, T]),
        ("complex<double>", [F, T, T, T, T, T, T, T, T]),
        ("__half", [F, T, T, T, F, T, F, F, F]),
    ],
)
def test_which_numbers_fit_which_type(ctype, accepted):
    kernel = taking(ctype)
    for value, fits in zip(VALUES, accepted, strict=True):
        if fits:
            (taken,) = kernel.prepare_args(value)
            assert taken.dtype == kernel.signature[0].dtype
            assert taken == value
        else:
            with pytest.raises(ArgumentTypeError, match=r"CudaKernel 'k': argument 'a' \("):
                kernel.prepare_args(value)


@pytest.mark.parametrize("ctype", ["bool", "int", "double", "complex<double>"])
@pytest.mark.parametrize("value", ["1", None, np.array(2.5), np.zeros(3), [1], np.timedelta64(1, "s"), int])
def test_what_is_no_number_is_refused(ctype, value):
    with pytest.raises(ArgumentTypeError, match=r"CudaKernel 'k': argument 'a' \("):
        taking(ctype).prepare_args(value)


@pytest.mark.parametrize("ctype", ["bool", "int", "unsigned long long", "float", "double", "complex<float>"])
@pytest.mark.parametrize("kind", [int, np.float32, np.float64, np.int32, np.complex128, Decimal, enum.IntEnum])
def test_classes_are_no_numbers(ctype, kind):
    with pytest.raises(ArgumentTypeError, match=f"got the class {kind.__name__}; pass a number"):
        taking(ctype).prepare_args(kind)


@pytest.mark.parametrize("ctype", ["int", "unsigned long long", "float", "double", "complex<double>"])
@pytest.mark.parametrize("value", [10**5000, -(10**5000)], ids=["large", "small"])
def test_integers_of_any_length_are_out_of_range(ctype, value):
    """Python has no text for integers of more than some thousand digits."""
    with pytest.raises(ArgumentRangeError, match="got a number of 16610 bits; pass a number in this range"):
        taking(ctype).prepare_args(value)


@pytest.mark.parametrize(
    ("ctype", "value", "remedy"),
    [
        ("int", Decimal("1.5"), "pass int(value) where"),
        ("double", Fraction(1, 3), "pass float(value) where"),
        ("complex<float>", Decimal(1), "pass complex(value) where"),
        ("int", 2j, "pass int(value.real) where"),
        ("float", np.complex64(1), "pass value.real where"),
        ("double", np.timedelta64(3, "s"), "pass a number"),
        ("double", np.datetime64(3, "s"), "pass a number"),
        ("double", np.str_("3"), "pass a number"),
    ],
)
def test_the_remedy_works_for_what_was_given(ctype, value, remedy):
    with pytest.raises(ArgumentTypeError) as caught:
        taking(ctype).prepare_args(value)
    assert f"; {remedy}" in str(caught.value)


def test_the_largest_number_is_said_exactly():
    with pytest.raises(ArgumentRangeError, match="must be from -65504 to 65504, got 65520"):
        taking("__half").prepare_args(65520.0)
    assert taking("__half").prepare_args(65519.9)[0] == 65504


@pytest.mark.parametrize("method", [CudaKernel.from_file, CudaKernel.all_from_file])
def test_what_is_no_path_is_refused(method):
    with pytest.raises(ArgumentTypeError, match=f"CudaKernel.{method.__name__}: argument 'path' must be a path"):
        method(3)


def test_an_array_without_dimensions_is_no_number():
    with pytest.raises(ArgumentTypeError, match=r"array\.item\(\)"):
        taking("double").prepare_args(np.array(2.5))


def test_vectors_are_taken_as_records_and_tuples():
    kernel = taking("double2")
    dtype = kernel.signature[0].dtype
    value = np.array([(1.0, 2.0)], dtype)[0]
    assert kernel.prepare_args(value)[0] == value
    assert kernel.prepare_args((1.0, 2.0))[0] == value
    with pytest.raises(ArgumentTypeError, match=r"must be a tuple of 2 numbers or a numpy\.void of dtype"):
        kernel.prepare_args(np.zeros(1, [("x", "f4"), ("y", "f4")])[0])


# --- arrays and argument objects, as far as they go without CuPy ------------------------------------------------------


class DeviceArray:
    """Another library's device array."""

    def __init__(self, shape=(3,), typestr="<f8", strides=None, read_only=False):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (4096, read_only),
            "strides": strides,
            "version": 3,
        }


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_host_data_is_refused_for_a_pointer(kind, tmp_path):
    value = kind.make(tmp_path)
    if kind.name == "foreign-device-array":
        assert taking("const double*").prepare_args(value) == (value,)
        return
    with pytest.raises(
        ArgumentTypeError, match=r"'a' \(double\*\) must be a C-contiguous device array of dtype float64"
    ):
        taking("double*").prepare_args(value)


def test_arrays_of_other_libraries_are_checked_by_their_interface():
    good = DeviceArray()
    assert taking("double*").prepare_args(good)[0] is good
    assert taking("void*").prepare_args(DeviceArray(typestr="<i4"))
    assert taking("double*").prepare_args(DeviceArray((1, 3), strides=(8, 8)))
    assert taking("double*").prepare_args(DeviceArray((0, 3), strides=(1, 1)))
    assert taking("const double*").prepare_args(DeviceArray(read_only=True))
    for value, error, text in [
        (DeviceArray(typestr="<f4"), ArgumentTypeError, "DeviceArray of shape (3,) and dtype float32"),
        (DeviceArray(typestr=">f8"), ArgumentTypeError, "of dtype float64"),
        (DeviceArray(strides=(16,)), ArgumentTypeError, "with strides (16,)"),
        (DeviceArray(read_only=True), ArgumentError, "the array is read-only"),
        (DeviceArray, ArgumentTypeError, "got the class DeviceArray"),
    ]:
        with pytest.raises(error) as caught:
            taking("double*").prepare_args(value)
        assert text in str(caught.value)
        assert "CudaKernel 'k': argument 'a' (double*)" in str(caught.value)


def test_views_hold_address_shape_and_strides_in_elements():
    (view,) = taking("Array2D<double>").prepare_args(DeviceArray((3, 4), strides=(-64, 0)))
    assert type(view) is np.void
    assert view["data"] == 4096
    assert view["shape"].tolist() == [3, 4]
    assert view["strides"].tolist() == [-8, 0]
    (packed,) = taking("CArray2D<double>").prepare_args(DeviceArray((3, 4)))
    assert packed.dtype.names == ("data", "shape")
    for ctype, value, text in [
        ("Array2D<double>", DeviceArray((3,)), "with 2 dimension(s), got"),
        ("Array1D<double>", DeviceArray((3,), strides=(12,)), "strides are multiples of 8 bytes"),
        ("CArray1D<double>", DeviceArray((3,), strides=(16,)), "declare it Array1D<double>"),
        ("Array1D<double>", np.zeros(3), "must be a device array"),
    ]:
        with pytest.raises(ArgumentTypeError) as caught:
            taking(ctype).prepare_args(value)
        assert text in str(caught.value)


def test_argument_objects_are_spread_to_any_depth():
    kernel = CudaKernel('extern "C" __global__ void k(int a, double b, int c) {}', "k")
    assert kernel.prepare_args(1, Pair(2.5, Pair(3))) == (1, 2.5, 3)
    with pytest.raises(ArgumentTypeError, match=r"takes 3 arguments \(a, b, c\), got 2 \(from 1 arguments\)"):
        kernel.prepare_args(Pair(1, 2.0))
    with pytest.raises(ArgumentTypeError, match="got the class Pair for an argument"):
        kernel.prepare_args(1, Pair)
    endless = Pair()
    endless.values = (endless,)
    with pytest.raises(ArgumentError, match="without end"):
        kernel.prepare_args(endless)
    broken = Pair()
    broken.values = [1, 2.0, 3]
    with pytest.raises(ArgumentTypeError, match="must return a tuple of arguments, got list"):
        kernel.prepare_args(broken)


def test_unchecked_kernels_take_anything():
    assert axpy(check_signature=False).prepare_args(1, "a", Pair(None)) == (1, "a", None)


# --- launches without a GPU -------------------------------------------------------------------------------------------


def test_a_launch_without_threads_does_nothing_but_its_checks():
    kernel = CudaKernel('extern "C" __global__ void k(double a, int n) {}', "k")
    assert kernel(1.0, 0, n_threads=0) is None
    assert kernel(1.0, 0, grid=(4, 0)) is None
    kernel.prepare(1.0, 0, n_threads=0)()
    with pytest.raises(ArgumentTypeError, match="argument 'n'"):
        kernel(1.0, 0.5, n_threads=0)
    with pytest.raises(ArgumentError, match="'shared_mem' must not be negative, got -1"):
        kernel(1.0, 1, n_threads=0, shared_mem=-1)
    with pytest.raises(ArgumentError, match="'shared_mem' must be less than 2 GiB, got int of 16610 bits"):
        kernel(1.0, 1, n_threads=0, shared_mem=10**5000)
    with pytest.raises(ArgumentTypeError, match="'shared_mem' must be a number of bytes"):
        kernel(1.0, 1, n_threads=0, shared_mem=1.5)


def test_launching_without_cupy_says_what_to_add():
    kernel = taking("int")
    for call in (lambda: kernel(1, n_threads=1), kernel.compile, kernel.recompile, kernel.prepare(1, n_threads=1)):
        with pytest.raises(BackendUnavailableError, match=r"CudaKernel 'k': .*uv add cupy-cuda13x"):
            call()
    assert not kernel.is_compiled


# --- variants ---------------------------------------------------------------------------------------------------------


def scaling(dtype, n=1):
    return CudaKernel(SCALE, "scale", template_args=[dtype, n])


def test_variants_make_each_kernel_once():
    variants = CudaKernelVariants(scaling)
    kernel = variants.get("float", 3)
    assert variants.get("float", 3) is kernel
    assert variants.get("double").expression == "scale<double, 1>"
    assert variants.keys() == list(variants) == [("float", 3), ("double",)]
    assert len(variants) == 2
    again = pickle.loads(pickle.dumps(variants))
    assert again.get("float", 3).expression == "scale<float, 3>"
    made = []
    slow = CudaKernelVariants(lambda key: made.append(key) or scaling("float", key))
    threads = [threading.Thread(target=slow.get, args=(1,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_wrong_factories_and_keys_are_refused():
    variants = CudaKernelVariants(lambda key: key)
    with pytest.raises(ArgumentTypeError, match="must return a CudaKernel, it returned int for"):
        variants.get(1)
    assert len(variants) == 0
    with pytest.raises(ArgumentTypeError, match="hashable"):
        variants.get([1])
    with pytest.raises(ArgumentTypeError, match="'factory' must be a function"):
        CudaKernelVariants(3)
    with pytest.raises(ArgumentError, match="'jobs' must be at least 1, got 0"):
        variants.compile_all(jobs=0)
    with pytest.raises(ArgumentTypeError, match="'jobs' must be an integer"):
        variants.compile_all(jobs="2")


class Compiling:
    name = "k"

    def __init__(self, error=None):
        self.error, self.debug = error, None

    def compile(self):
        self.debug = xp.cuda.get_cuda_debug()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("jobs", [1, 3])
def test_all_kernels_are_tried_before_the_first_error_is_raised(jobs):
    kernels = [Compiling(), Compiling(CompileError("first")), Compiling(CompileError("second")), Compiling()]
    with cuda_debug(), pytest.raises(CompileError, match="first"):
        compile_each(kernels, jobs, "compile_all")
    assert [kernel.debug for kernel in kernels] == [True] * 4


def test_a_build_has_the_limits_of_its_device():
    class Raw:
        attributes = {"shared_size_bytes": 1000, "max_threads_per_block": 512, "max_dynamic_shared_size_bytes": 47000}  # noqa: RUF012

    class Limits:
        device, name, threads, shared = 3, "a GPU", 1024, 50000
        block, grid = (1024, 1024, 64), (2**31 - 1, 65535, 65535)

    raw = Raw()
    build = Build(raw, (), Limits, "CudaKernel 'k'")
    build.check(((1,), (512,), 0))
    assert not hasattr(raw, "max_dynamic_shared_size_bytes")
    build.check(((1,), (512,), 48000))
    assert raw.max_dynamic_shared_size_bytes == 48000
    for launch, text in [
        (((1,), (1, 1, 65), 0), "has 65 along z, the device takes 64"),
        (((1, 65536), (1,), 0), "has 65536 along y"),
        (((1,), (513,), 0), "513 threads, and its registers allow(s) 512"),
        (((1,), (1,), 49001), "1000 bytes of static and 49001 of dynamic shared memory are more than the 50000"),
    ]:
        with pytest.raises(ArgumentError) as caught:
            build.check(launch)
        assert text in str(caught.value)
        assert "CudaKernel 'k': " in str(caught.value)
        assert "(device 3, a GPU); nothing was launched" in str(caught.value)
    assert raw.max_dynamic_shared_size_bytes == 48000


def test_clients_find_how_scalars_are_converted():
    # feectools 0.10.0 keeps launches of its own, and asks for these two names to convert their scalars.
    kernel = CudaKernel('extern "C" __global__ void f(float a, long long n) {}', "f")
    assert kernel._signature == kernel.signature
    assert [type(check(1)) for check in kernel._checkers] == [np.float32, np.int64]
    with pytest.raises(OverflowError, match="argument 'a'"):
        kernel._checkers[0](1e300)
    assert CudaKernel("", "f", check_signature=False)._checkers is None
