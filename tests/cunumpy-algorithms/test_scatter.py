"""Scattered additions on the host, against a plain loop and `numpy.add.at`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from array_kinds import KINDS, ArrayKind, as_compared
from cunumpy.algorithms import scatter_add
from cunumpy.errors import ArgumentError, ArgumentTypeError

pytestmark = pytest.mark.usefixtures("segments_path")

both_paths = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16", "G", ">f8", ">i4")
TAILS = ((), (1,), (2,), (3,), (4,), (5,), (2, 2), (0,))


def random_array(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    return (np.random.default_rng(5).random(shape) * 100).astype(dtype)


@both_paths
@given(
    index=st.lists(st.integers(-4, 3), max_size=30),
    dtype=st.sampled_from(DTYPES),
    index_dtype=st.sampled_from(("i1", "i2", "i4", "i8", ">i4")),
    tail=st.sampled_from(TAILS),
    form=st.sampled_from(("full", "row", "one")),
)
def test_additions_are_those_of_a_loop(index, dtype, index_dtype, tail, form) -> None:
    out = random_array(dtype, (4, *tail))
    expected = out.copy()
    values = random_array(dtype, {"full": (len(index), *tail), "row": tail, "one": ()}[form])
    with np.errstate(over="ignore"):
        for i, row in zip(index, np.broadcast_to(values, (len(index), *tail)), strict=True):
            expected[i] += row
    assert scatter_add(out, np.array(index, index_dtype), values) is None
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("value", [2**70, True, 3, 2.5, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_python_numbers_take_the_dtype_of_the_array(value, dtype) -> None:
    out = np.zeros(3, dtype)
    scatter_add(out, [1, -1], value)
    np.testing.assert_array_equal(out, np.array([0, value, value], dtype))


@both_paths
@given(
    shape=st.sampled_from(((), (1,), (5,), (2, 3), (0,))),
    axes=st.integers(1, 3),
    broadcast=st.booleans(),
    layout=st.sampled_from(("C", "F", "strided")),
)
def test_additions_are_those_of_add_at(shape, axes, broadcast, layout) -> None:
    random = np.random.default_rng(6)
    out = np.asarray(random.random((3, 4, 5)), order="F" if layout == "F" else "C")
    if layout == "strided":
        out = np.repeat(out, 2, axis=1)[:, ::2]
    index = tuple(random.integers(-n, n, shape) for n in out.shape[:axes])
    if broadcast and len(shape) == 2:
        index = (index[0][:1], *index[1:])
    values = random.random(np.broadcast_shapes(*(one.shape for one in index)) + out.shape[axes:])
    expected = out.copy()
    np.add.at(expected, index, values)
    scatter_add(out, index, values)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float32])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_many_additions_whatever_the_threads(threads, dtype, monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", threads)
    random = np.random.default_rng(7)
    index = random.integers(-50, 50, 400_000)
    values = (random.normal(size=400_000) * 1000).astype(dtype)
    out, expected = np.zeros(50, dtype), np.zeros(50, dtype)
    scatter_add(out, index, values)
    np.add.at(expected, index, values)
    np.testing.assert_array_equal(out, expected)


def test_numbers_take_the_dtype_of_the_array() -> None:
    for dtype, value in (("u1", 3), ("u8", 2**63), ("f4", 1.5), ("f4", 2), ("c8", 1j), ("i2", True), ("f8", True)):
        out = np.zeros(3, dtype)
        scatter_add(out, [1, 1], value)
        expected = np.zeros(3, dtype)
        with np.errstate(over="ignore"):
            expected[1] = np.array(value, dtype) + np.array(value, dtype)
        np.testing.assert_array_equal(out, expected)
    out = np.zeros((2, 3))
    scatter_add(out, 1, [1, 2, 3])
    scatter_add(out, -1, 1)
    assert out.tolist() == [[0, 0, 0], [2, 3, 4]]


def test_values_are_cast_to_the_array_as_numpy_allows() -> None:
    out = np.zeros(2, np.float32)
    scatter_add(out, [0, 0], np.array([1, 2], np.int64))
    scatter_add(out, [1], np.array([0.5], np.float64))
    assert out.tolist() == [3, 0.5]
    narrow = np.zeros(1, np.int8)
    scatter_add(narrow, [0, 0], np.array([100, 100], np.int64))
    assert narrow.tolist() == [-56]


@pytest.mark.parametrize(
    ("out", "index", "values", "error", "text"),
    [
        (np.zeros(3), [0, 3], 1.0, ArgumentError, r"'index' holds 3 at position 1, .* axis 0 of 'out' with 3 entries"),
        (np.zeros(3), [[0, 1], [-4, 0]], 1.0, ArgumentError, "'index' holds -4 at position 2"),
        (np.zeros(3), np.array([2**63], np.uint64), 1.0, ArgumentError, f"'index' holds {2**63} at position 0"),
        (np.zeros((2, 3)), ([0], [3]), 1.0, ArgumentError, r"'index\[1\]' holds 3 at position 0, .* axis 1 of 'out'"),
        (np.zeros(0), [0], 1.0, ArgumentError, "out of range for axis 0 of 'out' with 0 entries"),
        (np.zeros(3), [0.0], 1.0, ArgumentTypeError, "'index' must have an integer dtype"),
        (np.zeros(3), [True, False, True], 1.0, ArgumentTypeError, "'index' must have an integer dtype"),
        (np.zeros(3), slice(2), 1.0, ArgumentTypeError, "'index'"),
        (np.zeros(3), ([0], [0]), 1.0, ArgumentError, r"'index' is for 2 axes, argument 'out' has 1"),
        (np.zeros(3), (), 1.0, ArgumentError, "'index' is for 0 axes"),
        (np.array(1.0), [0], 1.0, ArgumentError, r"'index' is for 1 axes, argument 'out' has 0"),
        (
            np.zeros((3, 3)),
            ([0, 1], [0, 1, 2]),
            1.0,
            ArgumentError,
            r"shapes that can be broadcast, got \(2,\), \(3,\)",
        ),
        (np.zeros(3), [0, 1], [1.0, 2.0, 3.0], ArgumentError, r"'values' has shape \(3,\), .* broadcast to \(2,\)"),
        (np.zeros(3), [0], [[1.0], [2.0]], ArgumentError, r"'values' has shape \(2, 1\)"),
        (np.zeros(3, int), [0], 1.5, ArgumentTypeError, "'values' has dtype float64, which can't be added .* int64"),
        (np.zeros(3, int), [0], [1.5], ArgumentTypeError, "which can't be added to argument 'out' of dtype int64"),
        (np.zeros(3), [0], [1j], ArgumentTypeError, "'values' has dtype complex128"),
        (np.zeros(3, np.uint8), [0], [-1], ArgumentTypeError, "'values' has dtype int64"),
        (
            np.zeros(3, np.uint8),
            [0],
            -1,
            ArgumentError,
            "'values' is -1, which dtype uint8 of argument 'out' can't hold",
        ),
        (np.zeros(3, int), [0], 2**70, ArgumentError, "which dtype int64 of argument 'out' can't hold"),
        (np.zeros(3), [0], 10**400, ArgumentError, "which dtype float64 of argument 'out' can't hold"),
        (np.zeros(3, "f2"), [0], 10**6, ArgumentError, "which dtype float16 of argument 'out' can't hold"),
        (np.zeros(3, "f4"), [0], 1e39, ArgumentError, "which dtype float32 of argument 'out' can't hold"),
        (np.zeros(3, "c8"), [0], 1e39, ArgumentError, "which dtype complex64 of argument 'out' can't hold"),
        (np.zeros(3, "c8"), [0], 1e39j, ArgumentError, "which dtype complex64 of argument 'out' can't hold"),
        (np.zeros(3), [0], ["a"], ArgumentTypeError, "'values' has dtype"),
        (
            np.zeros(3, bool),
            [0],
            True,
            ArgumentTypeError,
            "'out' has dtype bool, expected integer, floating or complex",
        ),
        ([0.0, 1.0], [0], 1.0, ArgumentTypeError, "'out' is changed in place and must be an array, got list"),
        (np.ma.zeros(3), [0], 1.0, ArgumentTypeError, "'out' is a masked array"),
        (np.broadcast_to(0.0, 3), [0], 1.0, ArgumentError, "'out' is written to, but the array is read-only"),
    ],
)
def test_what_is_unfit_changes_nothing(out, index, values, error, text) -> None:
    before = as_compared(out)
    with pytest.raises(error, match=text) as raised:
        scatter_add(out, index, values)
    assert str(raised.value).startswith("scatter_add: ")
    assert as_compared(out) == before


def test_shared_memory_is_refused() -> None:
    memory = np.arange(6.0)
    with pytest.raises(ArgumentError, match=r"'out' overlaps argument 'values' in memory, .* values.copy\(\)"):
        scatter_add(memory[:3], [0, 1, 2], memory[2:5])
    counts = np.array([0, 1, 2])
    with pytest.raises(ArgumentError, match="'out' overlaps argument 'index' in memory"):
        scatter_add(counts, counts, 1)
    assert counts.tolist() == [0, 1, 2]
    scatter_add(memory[::2], [0, 0], memory[1:4:2])  # interleaved, nothing shared
    assert memory.tolist() == [4, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_array_as_values(kind: ArrayKind, tmp_path) -> None:
    values = kind.make(tmp_path)
    before = as_compared(values)
    if kind.values is None or kind.name == "foreign-device-array":
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"scatter_add: .*values"):
            scatter_add(np.zeros((2, 3)), [0], values)
    else:
        out = np.zeros((2, *kind.values.shape), complex)
        scatter_add(out, [1, 1], values)
        np.testing.assert_array_equal(out[1], kind.values.astype(complex) + kind.values)
        assert not out[0].any()
    assert as_compared(values) == before


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.is_array], ids=str)
def test_every_kind_of_array_as_output(kind: ArrayKind, tmp_path) -> None:
    out = kind.make(tmp_path)
    before = as_compared(out)
    allowed = kind.values is not None and kind.writable and kind.values.ndim > 0 and kind.values.dtype != bool
    if allowed and len(kind.values):  # type: ignore[arg-type]
        expected = kind.values.copy()  # type: ignore[union-attr]
        with np.errstate(over="ignore"):
            expected[-1] += expected.dtype.type(1)
        scatter_add(out, [-1], 1)
        np.testing.assert_array_equal(out, expected)
    else:
        with pytest.raises((ArgumentError, ArgumentTypeError), match="scatter_add: "):
            scatter_add(out, [-1], 1)
        assert as_compared(out) == before


def test_an_array_with_several_entries_in_one_place_is_refused() -> None:
    memory = np.zeros(3)
    out = np.lib.stride_tricks.as_strided(memory, (2, 3), (0, 8))
    with pytest.raises(ArgumentError, match="scatter_add: argument 'out' has several entries in one place"):
        scatter_add(out, (np.array([0]), np.array([1])), 1.0)
    assert memory.tolist() == [0, 0, 0]
