"""Elementwise kernels on NumPy arrays, against NumPy."""

from __future__ import annotations

import itertools
import os
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    CompileError,
    KernelError,
    MissingCompilerError,
)
from cunumpy.kernels import ElementwiseKernel, RawKernel, RawModule, ReductionKernel

DIFFERENCE = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "difference")
PLACES = ElementwiseKernel("T x", "int64 a", "a = i * 10 + x", "places")


def layouts(array: np.ndarray) -> list[np.ndarray]:
    """Return arrays of the same shape and other strides, with the same elements."""
    array = np.asarray(array)  # NumPy makes numbers of arrays without axes
    spread = np.zeros([2 * length for length in array.shape], array.dtype)
    every = tuple(slice(None, None, 2) for _ in array.shape)
    spread[every] = array
    back = np.asarray(np.flip(np.flip(array).copy()))
    fields = np.zeros(array.shape, [("a", "i1"), ("x", array.dtype)])
    fields["x"] = array
    return [array, np.asfortranarray(array), spread[(*every, ...)], back, fields["x"]]


def test_layouts_and_broadcasting_give_what_numpy_does() -> None:
    rng = np.random.default_rng(1)
    for shape in [(), (1,), (5,), (0,), (3, 4), (2, 3, 4), (1, 7, 1), (300, 200), (0, 3)]:
        for x, y in itertools.product(layouts(rng.random(shape)), layouts(rng.random(shape))):
            np.testing.assert_array_max_ulp(DIFFERENCE(x, y), (x - y) * (x - y), 1)
    for one, other in [((3, 1), (4,)), ((1,), (70, 300)), ((), (4,)), ((2, 1, 5), (1, 3, 1)), ((1, 1), (0, 3))]:
        for x, y in itertools.product(layouts(rng.random(one)), layouts(rng.random(other))):
            np.testing.assert_array_max_ulp(DIFFERENCE(x, y), (x - y) * (x - y), 1)


def test_outputs_of_any_layout_are_written_and_returned() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for out in layouts(np.zeros((3, 4))):
        assert DIFFERENCE(x, 2.0, out) is out
        np.testing.assert_array_equal(out, (x - 2) ** 2)


def test_i_counts_in_c_order_whatever_the_layout() -> None:
    for x in layouts(np.zeros((4, 5, 3), np.int32)):
        np.testing.assert_array_equal(PLACES(x), 10 * np.arange(60).reshape(4, 5, 3))


@pytest.mark.parametrize("dtype", list("?bBhHiIqQefdFD"))
def test_dtypes(dtype: str) -> None:
    if not hasattr(test_dtypes, "kernel"):
        test_dtypes.kernel = ElementwiseKernel("T x, T y", "T z, bool same", "z = x * y + x; same = x == y", "types")
    x, y = np.array([0, 1, 2, 3], dtype), np.array([1, 1, 2, 2], dtype)
    z, same = test_dtypes.kernel(x, y)
    assert z.dtype == x.dtype
    assert same.dtype == bool
    np.testing.assert_array_equal(z, x * y + x)
    np.testing.assert_array_equal(same, x == y)


def test_complex_functions_and_half_precision() -> None:
    kernel = ElementwiseKernel(
        "complex128 z, float16 h", "complex128 w, float16 g", "w = z * exp(z); g = h * h + float16(1)", "mixed"
    )
    z, h = np.array([1j, 0.5 - 2j, 0]), np.array([0.1, 2, 100], np.float16)
    w, g = kernel(z, h)
    np.testing.assert_allclose(w, z * np.exp(z), rtol=1e-14)
    np.testing.assert_array_equal(g, (h.astype("f4") ** 2 + np.float32(1)).astype(np.float16))


def test_raw_arrays_are_indexed_by_the_operation() -> None:
    stencil = ElementwiseKernel(
        "raw T x",
        "T y",
        "ptrdiff_t n = x.size(); y = (x[i > 0 ? i - 1 : i] + x[i] + x[i + 1 < n ? i + 1 : i]) / 3",
        "stencil",
    )
    x = np.random.default_rng(0).random(50)
    wide = np.pad(x, 1, "edge")
    expected = (wide[:-2] + wide[1:-1] + wide[2:]) / 3
    np.testing.assert_allclose(stencil(x, size=50), expected, rtol=1e-15)
    np.testing.assert_allclose(stencil(np.repeat(x, 2)[::2], np.empty(50)), expected, rtol=1e-15)

    corners = ElementwiseKernel(
        "raw T x",
        "raw T y",
        "int at[2] = {1, (int)i}; y[i] = x[at] + x[0] + 100 * x.shape()[1] + 1000 * x.strides()[0] + 1e6 * x.ndim",
        "corners",
    )
    for array in layouts(np.arange(6.0).reshape(2, 3))[:4]:
        out = corners(array, np.zeros(3), size=3)
        np.testing.assert_array_equal(out, array[1] + array[0, 0] + 300 + 1000 * array.strides[0] + 2e6)
    assert corners(np.zeros((2, 3)), size=0).shape == (0,)


def test_the_indexer_has_the_loops_shape() -> None:
    kernel = ElementwiseKernel(
        "T x", "int64 a, int64 b, int64 n", "a = _ind.get()[0]; b = _ind.get()[1]; n = _ind.size()", reduce_dims=False
    )
    a, b, n = kernel(np.zeros((3, 4)).T)
    np.testing.assert_array_equal([a, b], np.indices((4, 3)))
    assert (n == 12).all()


def test_code_around_the_loop_and_options() -> None:
    kernel = ElementwiseKernel(
        "T x",
        "T y",
        "y = scaled(x) + offset",
        "around",
        preamble="__device__ T scaled(T x) { return x * FACTOR; }",
        loop_prep="const T offset = 5",
        after_loop="(void)offset",
        options=("-DFACTOR=3",),
        return_tuple=True,
    )
    (y,) = kernel(np.arange(4.0))
    np.testing.assert_array_equal(y, np.arange(4.0) * 3 + 5)


def test_macros_of_options_meet_none_of_our_names() -> None:
    letters = tuple(f"-D{letter}={place}" for place, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    kernel = ElementwiseKernel(
        "raw float32 x, float32 y", "float64 z", "z = x[i] + y + Z - A", "letters", options=letters
    )
    np.testing.assert_array_equal(kernel(np.ones((2, 3), np.float32), np.ones(6, np.float32)[::-1]), 27)


def test_overlapping_inputs_are_read_before_they_are_written() -> None:
    copy = ElementwiseKernel("T x", "T y", "y += x", "added", no_return=True)
    for first, second in [(slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))]:
        array = np.arange(100.0)
        expected = array.copy()
        expected[second] += expected[first].copy()
        assert copy(array[first], array[second]) is None
        np.testing.assert_array_equal(array, expected)
    array = np.arange(5.0)
    DIFFERENCE(array, 1.0, array)
    np.testing.assert_array_equal(array, (np.arange(5.0) - 1) ** 2)


def test_numbers_take_their_parameters_type() -> None:
    x = np.arange(3, dtype=np.float32)
    assert DIFFERENCE(x, 2).dtype == np.float32
    assert DIFFERENCE(x, np.float64(2)).dtype == np.float32
    with pytest.raises(ArgumentTypeError, match=r"'y' is of type int64, got .*1.5"):
        DIFFERENCE(np.arange(3), 1.5)
    with pytest.raises(ArgumentRangeError, match="'y': 300 is out of the range of int8"):
        DIFFERENCE(np.zeros(2, np.int8), 300)
    with pytest.raises(ArgumentRangeError, match="out of the range of int64"):
        DIFFERENCE(np.arange(3), 10**30)
    with pytest.raises(ArgumentError, match="loop's size is undecided"):
        ElementwiseKernel("float64 x", "float64 y", "y = x")(1.0)


@pytest.mark.parametrize(
    ("args", "keywords", "error", "text"),
    [
        ((np.zeros(3),), {}, ArgumentTypeError, "takes 2, or 3 with the outputs, got 1"),
        ((np.zeros(3), np.zeros(3, "f4")), {}, ArgumentTypeError, "'y' has dtype float32, expected float64"),
        ((np.zeros(3), np.zeros(4)), {}, ArgumentError, r"shapes \(3,\) of 'x', \(4,\) of 'y' do not broadcast"),
        ((np.zeros(3), 1.0, np.zeros(1)), {}, ArgumentError, "'z': out shape is mismatched"),
        ((np.zeros(3), [1.0]), {}, ArgumentTypeError, "'y' must be an array or a number, got list"),
        ((np.zeros(3), 1.0, 2.0), {}, ArgumentTypeError, "'z' must be an array, got float"),
        ((np.zeros(3, ">f8"), 1.0), {}, ArgumentTypeError, "'x' has dtype .*>f8.*native byte order"),
        ((np.zeros(3, object), 1.0), {}, ArgumentTypeError, "'x' has dtype"),
        ((np.ma.zeros(3), 1.0), {}, ArgumentTypeError, "masked"),
        ((np.zeros(3), 1.0, np.broadcast_to(0.0, (3,))), {}, ArgumentError, "'z' is written to, but .* read-only"),
        ((np.zeros(3), 1.0), {"block_size": 0}, ArgumentError, "'block_size' must be an integer from 1 to 1024, got 0"),
        ((np.zeros(3), 1.0), {"size": 3}, ArgumentError, "'size' can be given only if all arrays are raw"),
    ],
)
def test_bad_calls_say_what_is_wrong(args, keywords, error, text) -> None:
    with pytest.raises(error, match=text):
        DIFFERENCE(*args, **keywords)


@pytest.mark.parametrize(
    ("declared", "error", "text"),
    [
        ("T i", ArgumentError, "'i' can't be the name of a parameter"),
        ("T", ArgumentError, "a parameter has a type and a name"),
        ("const T x", ArgumentError, "unknown word 'const'"),
        ("foo x", ArgumentTypeError, "'foo' in 'foo x' is no letter"),
        ("object x", ArgumentTypeError, "'object' in"),
        ("float x", ArgumentTypeError, "'float' in 'float x' is float64 for NumPy, perhaps something else in C"),
        ("int x", ArgumentTypeError, "'int' in 'int x' is int64 for NumPy"),
        ("T y", ArgumentError, "two parameters have the name 'y'"),
        (3, ArgumentTypeError, "'in_params' must be a str"),
    ],
)
def test_bad_declarations_say_what_is_wrong(declared, error, text) -> None:
    with pytest.raises(error, match=text):
        ElementwiseKernel(declared, "T y", "y = x")


def test_code_that_does_not_compile_and_code_that_fails() -> None:
    with pytest.raises(CompileError, match="nowhere"):
        ElementwiseKernel("T x", "T y", "y = nowhere(x)", "wrong")(np.zeros(2))
    with pytest.raises(KernelError, match=r"ElementwiseKernel 'failing'.*what it wrote before stays"):
        ElementwiseKernel("T x", "T y", "assert(x < 1); y = x", "failing")(np.arange(3.0))


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MissingCompilerError, match="apt-get install"):
            ElementwiseKernel("T x", "T y", "y = erfinv(x)", "no_compiler")(np.zeros(2))


def test_kernels_are_pickled_by_what_they_were_made_of() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "y = scaled(x)", "kept", preamble="__device__ double scaled(double x) { return F * x; }",
        return_tuple=True, options=("-DF=3",),
    )  # fmt: skip
    kernel(np.arange(3.0))
    (y,) = pickle.loads(pickle.dumps(kernel))(np.arange(3.0))
    np.testing.assert_array_equal(y, 3 * np.arange(3.0))
    norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm", reduce_type="float64")
    assert pickle.loads(pickle.dumps(norm))(np.array([3.0, 4.0])) == 5
    module = RawModule(
        code="template <int N> __global__ void add(double* x) { x[threadIdx.x] += N; }", name_expressions=("add<2>",)
    )
    add = RawKernel('extern "C" __global__ void add(double* x) { x[threadIdx.x] += F; }', "add", ("-DF=2",))
    for one in (module.get_function("add<2>"), add):
        x = np.arange(3.0)
        pickle.loads(pickle.dumps(one))((1,), (3,), (x,))
        np.testing.assert_array_equal(x, np.arange(3.0) + 2)


def test_threads_call_a_kernel_at_the_same_time() -> None:
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x * y + 1", "at_once")
    inputs = [np.arange(200000, dtype=dtype) % 7 for dtype in ("f8", "f4", "i4") for _ in range(4)]

    def work(x: np.ndarray) -> bool:
        return all(np.array_equal(kernel(x, x), x * x + 1) for _ in range(5))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, inputs))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_after_a_fork_the_child_has_workers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", "2")
    x = np.arange(300000.0)
    expected = (x - 1) ** 2
    for _ in range(3):
        np.testing.assert_array_equal(DIFFERENCE(x, 1.0), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of a fork beside threads
        child = os.fork()
    if child == 0:
        good = all(np.array_equal(DIFFERENCE(x, 1.0), expected) for _ in range(3))
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
