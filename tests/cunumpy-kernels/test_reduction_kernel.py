"""Reduction kernels on NumPy arrays, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import ReductionKernel

NORM = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
LEAST = ReductionKernel("T x", "T y", "x", "a < b ? a : b", "y = a", None, "least")


def layouts(array: np.ndarray) -> list[np.ndarray]:
    array = np.asarray(array)
    spread = np.zeros([2 * length for length in array.shape])
    every = tuple(slice(None, None, 2) for _ in array.shape)
    spread[every] = array
    return [array, np.asfortranarray(array), spread[(*every, ...)], np.asarray(np.flip(np.flip(array).copy()))]


@pytest.mark.parametrize(
    "shape", [(), (5,), (40,), (7, 33), (200, 3), (3, 200), (4, 5, 6), (1, 5, 1), (30, 9, 80), (20000, 3), (3, 20000)]
)
def test_axes_and_layouts_give_what_numpy_does(shape: tuple[int, ...]) -> None:
    values = np.asarray(np.random.default_rng(0).random(shape))
    for array in layouts(values):
        for count in range(len(shape) + 1):
            for axis in itertools.combinations(range(len(shape)), count):
                for keepdims in (False, True):
                    got = NORM(array, axis=axis, keepdims=keepdims)
                    expected = np.sqrt((array * array).sum(axis=axis, keepdims=keepdims))
                    assert got.shape == np.shape(expected)
                    np.testing.assert_allclose(got, expected, rtol=1e-13)
                    np.testing.assert_array_equal(
                        LEAST(array, axis=axis, keepdims=keepdims), array.min(axis=axis, keepdims=keepdims)
                    )
    np.testing.assert_allclose(NORM(values), np.sqrt((values * values).sum()), rtol=1e-13)
    if shape:
        np.testing.assert_array_equal(LEAST(values, axis=-1), values.min(-1))


def test_every_length_without_an_identity() -> None:
    values = np.random.default_rng(3).random(50)
    for length in range(1, 50):
        assert LEAST(values[:length]) == values[:length].min()


def test_nothing_to_reduce() -> None:
    np.testing.assert_array_equal(NORM(np.zeros((0, 3)), axis=0), np.zeros(3))
    assert NORM(np.zeros((0, 3)), axis=1).shape == (0,)
    assert NORM(np.zeros(0)) == 0
    assert LEAST(np.zeros((3, 0)), axis=0).shape == (0,)
    with pytest.raises(ArgumentError, match="zero-size array to a reduction which has no identity"):
        LEAST(np.zeros((0, 3)), axis=0)


def test_outputs() -> None:
    values = np.arange(12.0).reshape(3, 4)
    out = np.zeros((4, 2))[:, 0]
    assert NORM(values, axis=0, out=out) is out
    np.testing.assert_allclose(out, np.sqrt((values**2).sum(0)))
    given = np.zeros(3)
    assert NORM(values, given, axis=1) is given
    mean = ReductionKernel(
        "T x, T scale", "T total, float64 half", "x * scale", "a + b", "total = a; half = a / 2.0", "0", "two"
    )
    total, half = mean(values.astype(np.int64), 3, axis=1)
    np.testing.assert_array_equal(total, values.sum(1) * 3)
    np.testing.assert_array_equal(half, values.sum(1) * 1.5)
    assert total.dtype == np.int64


def test_an_output_over_an_input_reads_the_input_first() -> None:
    values = np.arange(16.0).reshape(4, 4)
    expected = np.sqrt((values**2).sum(1))
    NORM(values, axis=1, out=values[0])
    np.testing.assert_allclose(values[0], expected)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "e", "f4", "F", "D"])
def test_dtypes_and_the_type_of_the_reduction(dtype: str) -> None:
    if not hasattr(test_dtypes_and_the_type_of_the_reduction, "kernel"):
        test_dtypes_and_the_type_of_the_reduction.kernel = ReductionKernel(
            "T x", "complex128 y", "complex<double>(x)", "a + b", "y = a", "0", "any", reduce_type="complex128"
        )
    values = (np.random.default_rng(0).random((30, 20)) * 5).astype(dtype)
    got = test_dtypes_and_the_type_of_the_reduction.kernel(values, axis=0)
    np.testing.assert_allclose(got, values.astype(complex).sum(0), rtol=1e-13)


@pytest.mark.parametrize(
    ("given", "preamble", "size"),
    [
        ("P", "typedef double P;", 8),  # a letter of no parameter, of which NumPy has a dtype
        ("float", "", 4),
        ("uint", "typedef unsigned char uint;", 1),
        ("int16", "", 2),
        ("S", "", 4),
        ("long double", "", 16),
    ],
)
def test_reduce_type_is_cpps_where_numpy_has_another_of_the_name(given, preamble, size):
    kernel = ReductionKernel(
        "T x, S s", "int64 y", "x + s", "a + b", "y = sizeof(a)", "0", "size", reduce_type=given, preamble=preamble
    )
    assert kernel(np.ones(3, np.int8), np.ones(3, np.float32)) == size


def test_a_type_of_its_own_and_the_place_of_an_element() -> None:
    argmax = ReductionKernel(
        "T x",
        "int64 y",
        "Best(x, _J)",
        "better(a, b)",
        "y = a.place",
        None,
        "argmax",
        reduce_type="Best",
        preamble="""
struct Best {
    T value; long long place;
    __device__ Best() {}
    __device__ Best(T v, long long p) : value(v), place(p) {}
};
__device__ Best better(Best a, Best b) {
    return a.value > b.value || (a.value == b.value && a.place < b.place) ? a : b;
}""",
    )
    values = np.random.default_rng(0).integers(0, 50, (40, 50000)).astype(float)
    for array in (values, np.asfortranarray(values)):
        assert argmax(array) == values.argmax()
        np.testing.assert_array_equal(argmax(array, axis=1), values.argmax(1))
        np.testing.assert_array_equal(argmax(array, axis=0), values.argmax(0))


def test_broadcast_and_raw_inputs() -> None:
    dot = ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot")
    x, y = np.random.default_rng(0).random((5, 1, 30)), np.random.default_rng(1).random((4, 30))
    np.testing.assert_allclose(dot(x, y, axis=2), (x * y).sum(2))
    np.testing.assert_allclose(dot(x, y, axis=(0, 2)), (x * y).sum((0, 2)))
    weighted = ReductionKernel("T x, raw T w", "T z", "x * w[_J]", "a + b", "z = a", "0", "weighted")
    np.testing.assert_allclose(weighted(y, np.repeat(y[0], 2)[::2], axis=1), y @ y[0])


def test_the_number_of_workers_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random((3, 200000)).astype(np.float32)
    results = []
    for workers in ("1", "2", "3"):
        monkeypatch.setenv("CUNUMPY_NUM_THREADS", workers)
        results.append([NORM(one, axis=axis).tobytes() for one in (values, values.T) for axis in (None, 0, 1)])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("args", "keywords", "error", "text"),
    [
        ((), {}, ArgumentTypeError, "takes 1, or 2 with the outputs, got 0"),
        ((np.zeros(3), np.zeros(())), {"out": np.zeros(())}, ArgumentTypeError, "'out' can be given once"),
        ((np.zeros(3),), {"out": np.zeros(3)}, ArgumentError, r"'y': out shape is mismatched.*\(3,\).*\(\)"),
        ((np.zeros(3),), {"out": np.zeros((), "f4")}, ArgumentTypeError, "'y' has dtype float32, expected float64"),
        ((np.zeros(3),), {"axis": 1}, np.exceptions.AxisError, "axis 1 is out of bounds"),
        ((np.zeros((3, 3)),), {"axis": (0, -2)}, ArgumentError, "an axis twice"),
        ((np.zeros(3),), {"axis": 0.5}, ArgumentTypeError, "'axis' must be an integer"),
        ((3.0,), {}, ArgumentTypeError, "no array decides the type 'T' of 'x'"),
    ],
)
def test_bad_calls_say_what_is_wrong(args, keywords, error, text) -> None:
    with pytest.raises(error, match=text):
        NORM(*args, **keywords)
