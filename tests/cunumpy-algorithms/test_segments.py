"""Segment sums, minima, maxima, means, counts and gathers on the host, against plain loops."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from array_kinds import KINDS, ArrayKind, as_compared
from cunumpy.algorithms import (
    SegmentPlan,
    segment_count,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
)
from cunumpy.errors import ArgumentError, ArgumentTypeError

pytestmark = pytest.mark.usefixtures("segments_path")

both_paths = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

FLOATS = ("f2", "f4", "f8", "g")
COMPLEX = ("c8", "c16", "G")
INTEGERS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
KEYS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
TAILS = ((), (1,), (2,), (3,), (4,), (5,), (2, 3), (0,))


def values_of(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype == "?":
        return random.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    real = random.normal(size=shape)
    return (real if np.dtype(dtype).kind == "f" else real + 1j * random.normal(size=shape)).astype(dtype)


def sum_by_loop(values: np.ndarray, keys: Any, n_segments: int) -> np.ndarray:
    """Add row by row in the dtype that is promised, and round once."""
    kind = values.dtype.kind
    wide: Any = {"b": np.int64, "i": np.int64, "u": np.uint64, "f": np.float64, "c": np.complex128}[kind]
    if values.dtype.char in "gG":
        wide = values.dtype
    sums = np.zeros((n_segments, *values.shape[1:]), wide)
    with np.errstate(all="ignore"):
        for row, key in zip(values, keys, strict=True):
            if 0 <= int(key) < n_segments:
                sums[int(key)] += row.astype(wide)
        return sums.astype(wide if kind in "biu" else values.dtype.newbyteorder("="))


# --- sums -------------------------------------------------------------------------------------------------------------


@both_paths
@given(
    keys=st.lists(st.integers(-3, 6), max_size=40),
    dtype=st.sampled_from(FLOATS + COMPLEX + INTEGERS),
    key_dtype=st.sampled_from([dtype for dtype in KEYS if dtype[0] == "i"]),
    tail=st.sampled_from(TAILS),
    planned=st.booleans(),
)
def test_sums_are_those_of_a_loop_in_row_order(keys, dtype, key_dtype, tail, planned) -> None:
    values = values_of(dtype, (len(keys), *tail))
    array = np.array(keys, key_dtype)
    result = SegmentPlan(array, 7).sum(values) if planned else segment_sum(values, array, 7)
    expected = sum_by_loop(values, keys, 7)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("tail", [(), (2,), (3,), (7,)])
@pytest.mark.parametrize("threads", ["1", "2", "7"])
@pytest.mark.parametrize("order", ["random", "sorted", "one run", "dropped"])
def test_many_rows_give_the_bits_of_bincount_whatever_the_threads(order, threads, tail, monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", threads)
    n, n_segments = 300_001, 1000
    random = np.random.default_rng(1)
    keys = random.integers(0 if order != "dropped" else -400, n_segments, n)
    if order == "sorted":
        keys.sort()
    if order == "one run":
        keys[:] = 17
    values = random.normal(size=(n, *tail))
    kept = keys >= 0
    expected = np.empty((n_segments, *tail))
    for column in np.ndindex(tail):
        expected[(..., *column)] = np.bincount(keys[kept], values[(kept, *column)], n_segments)
    np.testing.assert_array_equal(segment_sum(values, keys, n_segments), expected)
    np.testing.assert_array_equal(SegmentPlan(keys, n_segments).sum(values), expected)
    integers = random.integers(-(2**63), 2**63, (n, *tail))
    exact = np.zeros((n_segments, *tail), np.int64)
    with np.errstate(over="ignore"):
        np.add.at(exact, keys[kept], integers[kept])
    np.testing.assert_array_equal(segment_sum(integers, keys, n_segments), exact)
    lowest = np.full((n_segments, *tail), np.inf)
    np.minimum.at(lowest, keys[kept], values[kept])
    np.testing.assert_array_equal(segment_min(values, keys, n_segments), lowest)
    counts = np.bincount(keys[kept], minlength=n_segments)
    np.testing.assert_array_equal(segment_count(keys, n_segments), counts)


def test_integer_sums_are_exact() -> None:
    assert segment_sum(np.array([2**53, 1]), [0, 0], 1).tolist() == [2**53 + 1]
    assert segment_sum(np.array([2**63, 2**62], np.uint64), [0, 0], 1).tolist() == [2**63 + 2**62]
    assert segment_sum(np.array([-(2**63), 2**63 - 1, 5]), [0, 0, 1], 2).tolist() == [-1, 5]
    assert segment_sum(np.array([2**64 - 1, 2], np.uint64), [0, 0], 1).tolist() == [1]  # modulo 2**64
    assert segment_sum(np.full(300, 127, np.int8), np.zeros(300, int), 1).tolist() == [300 * 127]
    result = segment_sum([True, True, False], [0, 0, 0], 1)
    assert result.dtype == np.int64
    assert result.tolist() == [2]


@pytest.mark.parametrize(("dtype", "n"), [(np.float16, 3000), (np.float32, 2**24 + 10)])
def test_narrow_floats_are_added_in_a_wider_type(dtype, n) -> None:
    ones = np.broadcast_to(dtype(1), (n,))
    keys = np.zeros(n, np.int8)
    assert segment_sum(ones, keys, 1)[0] == dtype(n)
    assert segment_mean(ones, keys, 1)[0] == 1


def test_narrow_sums_are_rounded_once_and_overflow_to_infinity() -> None:
    values = np.array([1.0, 2**-11, 2**-11], np.float16)
    assert segment_sum(values, [0, 0, 0], 1)[0] == np.float16(1 + 2**-10)
    assert segment_sum(np.array([6e4, 6e4], np.float16), [0, 0], 1)[0] == np.inf
    out = np.empty(1, np.float32)
    assert segment_sum(np.array([3e38, 3e38], np.float32), [0, 0], 1, out=out) is out
    assert out[0] == np.inf


@both_paths
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(-1e6, 1e6)), max_size=60))
def test_sums_are_near_the_exact_ones(rows) -> None:
    keys, values = [row[0] for row in rows], [row[1] for row in rows]
    result = segment_sum(np.array(values), keys, 3)
    for segment in range(3):
        mine = [value for key, value in rows if key == segment]
        bound = len(mine) * 2.0**-52 * math.fsum(map(abs, mine))
        assert abs(result[segment] - math.fsum(mine)) <= bound


def test_nan_and_infinity_stay_in_their_segment_and_dropped_rows_count_for_nothing() -> None:
    values = np.array([[1.0, np.nan], [np.inf, 2.0], [np.nan, np.nan], [3.0, 4.0]])
    result = segment_sum(values, [0, 1, -1, 2], 3)
    np.testing.assert_array_equal(result, [[1, np.nan], [np.inf, 2], [3, 4]])
    np.testing.assert_array_equal(segment_max(values, [0, 1, -1, 2], 3), [[1, np.nan], [np.inf, 2], [3, 4]])
    np.testing.assert_array_equal(segment_mean(values, [0, 1, -1, 2], 3), [[1, np.nan], [np.inf, 2], [3, 4]])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8", "c16", "i2", "i8", "u4", "?"])
@pytest.mark.parametrize(
    "layout",
    [
        lambda array: np.repeat(array, 2, axis=0)[::2],
        lambda array: array[::-1].copy()[::-1],
        np.asfortranarray,
        lambda array: array.astype(array.dtype.newbyteorder(">")),
        lambda array: np.moveaxis(np.moveaxis(array, 0, 2).copy(), 2, 0),
        lambda array: np.lib.stride_tricks.as_strided(array[:1], array.shape, (0, *array.strides[1:])),
        lambda array: np.frombuffer(b"\0" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape),
    ],
    ids=["strided", "reversed", "fortran", "big-endian", "moved axis", "broadcast", "unaligned"],
)
def test_layouts_of_values(layout, dtype) -> None:
    values = layout(values_of(dtype, (50, 3, 2)))
    keys = np.random.default_rng(2).integers(-1, 4, 50)
    plan = SegmentPlan(keys, 5)
    plain = np.array(values, values.dtype.newbyteorder("="), order="C")
    np.testing.assert_array_equal(plan.sum(values), sum_by_loop(plain, keys, 5))
    np.testing.assert_array_equal(plan.mean(values), plan.mean(plain))
    if values.dtype.kind != "c":
        np.testing.assert_array_equal(plan.max(values), plan.max(plain))
    if values.shape[0] >= 5:
        np.testing.assert_array_equal(plan.gather(values[:5]), plan.gather(plain[:5]))
    column = values[:, 1, 0]
    np.testing.assert_array_equal(plan.sum(column), sum_by_loop(plain[:, 1, 0], keys, 5))


# --- minima, maxima, means, counts ------------------------------------------------------------------------------------


@both_paths
@given(
    keys=st.lists(st.integers(-2, 4), max_size=40),
    dtype=st.sampled_from(FLOATS + INTEGERS),
    tail=st.sampled_from(TAILS),
    with_nan=st.booleans(),
    planned=st.booleans(),
)
def test_minima_and_maxima(keys, dtype, tail, with_nan, planned) -> None:
    values = values_of(dtype, (len(keys), *tail))
    if with_nan and values.dtype.kind == "f":
        values[::3] = np.nan
    plan = SegmentPlan(keys, 6)
    if values.dtype.kind == "f":
        identities = (np.inf, -np.inf)
    elif dtype == "?":
        identities = (True, False)
    else:
        identities = (np.iinfo(dtype).max, np.iinfo(dtype).min)
    lowest = plan.min(values) if planned else segment_min(values, keys, 6)
    highest = plan.max(values) if planned else segment_max(values, keys, 6)
    for result, reduce, identity in ((lowest, np.min, identities[0]), (highest, np.max, identities[1])):
        assert result.dtype == values.dtype
        for segment in range(6):
            mine = values[np.array(keys, int) == segment]
            expected = reduce(mine, axis=0) if len(mine) else np.full(tail, identity, values.dtype)
            np.testing.assert_array_equal(result[segment], expected)


@both_paths
@given(
    keys=st.lists(st.integers(-2, 4), max_size=40),
    dtype=st.sampled_from(FLOATS + COMPLEX + INTEGERS),
    tail=st.sampled_from(TAILS),
    planned=st.booleans(),
)
def test_means_and_counts(keys, dtype, tail, planned) -> None:
    values = values_of(dtype, (len(keys), *tail))
    plan = SegmentPlan(keys, 6)
    mean = plan.mean(values) if planned else segment_mean(values, keys, 6)
    count = plan.count() if planned else segment_count(keys, 6)
    assert mean.dtype == (np.float64 if values.dtype.kind in "biu" else values.dtype)
    assert count.dtype == np.int64
    tolerance = 8 * np.finfo(mean.dtype).eps
    for segment in range(6):
        mine = values[np.array(keys, int) == segment]
        assert count[segment] == len(mine)
        if len(mine) == 0:
            assert np.isnan(mean[segment]).all()
        else:
            wide = mine.astype(np.clongdouble if mine.dtype.kind == "c" else np.longdouble)
            scale = np.abs(wide).sum(axis=0)
            assert np.all(np.abs(mean[segment] - wide.mean(axis=0)) <= tolerance * scale)


def test_means_of_large_integers_do_not_wrap_around() -> None:
    assert segment_mean(np.full(4, 2**62), [0, 0, 0, 0], 1).tolist() == [2.0**62]


# --- gather -----------------------------------------------------------------------------------------------------------


@both_paths
@given(
    keys=st.lists(st.integers(-2, 4), max_size=40),
    dtype=st.sampled_from(FLOATS + COMPLEX + INTEGERS),
    tail=st.sampled_from(TAILS),
)
def test_gather_gives_each_row_its_segment(keys, dtype, tail) -> None:
    values = values_of(dtype, (5, *tail))
    result = SegmentPlan(keys, 5).gather(values)
    assert result.dtype == values.dtype
    assert result.shape == (len(keys), *tail)
    for row, key in zip(result, keys, strict=True):
        np.testing.assert_array_equal(row, values[key] if key >= 0 else np.zeros(tail, dtype))


def test_gather_is_the_transpose_of_sum() -> None:
    random = np.random.default_rng(3)
    keys = random.integers(-1, 6, 100)
    rows, segments = random.integers(-9, 9, (100, 2)), random.integers(-9, 9, (6, 2))
    plan = SegmentPlan(keys, 6)
    assert (plan.sum(rows) * segments).sum() == (rows * plan.gather(segments)).sum()


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [f"{order}{kind}" for order in "<>" for kind in KEYS])
def test_every_integer_dtype_of_keys(dtype) -> None:
    keys = np.array([0, 2, 1, 2], dtype)
    assert segment_sum([1.0, 2.0, 4.0, 8.0], keys, 3).tolist() == [1, 4, 10]
    assert SegmentPlan(keys, 3).sum([1.0, 2.0, 4.0, 8.0]).tolist() == [1, 4, 10]
    assert segment_sum([1.0, 2.0], keys[::2], 3).tolist() == [1, 2, 0]


def test_no_keys_and_no_segments() -> None:
    assert segment_sum([], [], 0).tolist() == []
    assert segment_sum(np.zeros((0, 2)), [], 3).tolist() == [[0, 0]] * 3
    assert segment_sum([1.0], [-1], 0).tolist() == []
    assert segment_mean(np.zeros(0), [], 0).tolist() == []
    assert segment_count([], 2).tolist() == [0, 0]
    assert SegmentPlan([], 3).gather([1.0, 2.0, 3.0]).tolist() == []
    assert SegmentPlan([-1, -1], 0).gather(np.zeros((0, 2))).tolist() == [[0, 0], [0, 0]]
    assert SegmentPlan(np.array([], np.uint8), 2).max([]).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("tail", [(), (0,), (2,)])
@pytest.mark.parametrize("reduce", [SegmentPlan, segment_count, None])
def test_keys_that_are_too_large(reduce, tail) -> None:
    keys = np.array([0, -5, 3, 7])
    if reduce is None:
        reduce = lambda *arguments: segment_sum(np.zeros((4, *tail)), *arguments)  # noqa: E731
    with pytest.raises(ArgumentError, match=r"argument 'keys' holds 3 at position 2, .* smaller than n_segments = 3"):
        reduce(keys, 3)


@pytest.mark.parametrize("keys", [np.array([1, 2**63], np.uint64), np.array([1, 2**64 - 1], np.uint64)])
def test_unsigned_keys_from_2_to_the_63_on_are_too_large_and_not_negative(keys) -> None:
    for function in (SegmentPlan, segment_count):
        with pytest.raises(ArgumentError, match=rf"'keys' holds {keys[1]} at position 1, .* smaller"):
            function(keys, 2)
        with pytest.raises(ArgumentError, match="smaller"):
            function(keys, 2**40 if function is SegmentPlan else 2)
    assert segment_sum([1.0, 2.0], keys, 2, check=False).tolist() == [0, 1]


def test_unchecked_keys_that_are_too_large_drop_their_rows() -> None:
    keys = [0, 9, 1, 2**60]
    values = np.arange(4.0)
    for n in (1, 40_000):
        many = np.tile(keys, n)
        for result in (
            segment_sum(np.tile(values, n), many, 2, check=False),
            SegmentPlan(many, 2, check=False).sum(np.tile(values, n)),
        ):
            assert result.tolist() == [0, 2.0 * n]
    assert SegmentPlan(keys, 2, check=False).gather([5.0, 6.0]).tolist() == [5, 0, 6, 0]
    assert segment_count(keys, 2, check=False).tolist() == [1, 1]
    assert segment_min(values, keys, 2, check=False).tolist() == [0, 2]
    assert segment_max(values, keys, 2, check=False).tolist() == [0, 2]
    assert segment_mean(values, keys, 2, check=False).tolist() == [0, 2]


def test_a_plan_keeps_its_keys() -> None:
    keys = np.array([0, 1, 1], np.int32)
    plan = SegmentPlan(keys, 2)
    keys[:] = 0
    assert plan.sum([1.0, 2.0, 4.0]).tolist() == [1, 6]
    assert plan.n_segments == 2
    with pytest.raises(AttributeError):
        plan.n_segments = 3  # type: ignore[misc]
    copy = pickle.loads(pickle.dumps(plan))
    assert copy.sum([1.0, 2.0, 4.0]).tolist() == [1, 6]
    assert copy.n_segments == 2


def test_deterministic_is_the_order_of_the_host_anyway() -> None:
    assert segment_sum([1.0, 2.0], [1, 1], 2, deterministic=True).tolist() == [0, 3]
    assert segment_mean([1.0, 2.0], [1, 1], 2, deterministic=True).tolist()[1] == 1.5
    assert SegmentPlan([1, 1], 2, deterministic=True).sum([1.0, 2.0]).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("keys", "n_segments", "error", "text"),
    [
        ([0.0], 1, ArgumentTypeError, "argument 'keys' must have an integer dtype"),
        ([True], 2, ArgumentTypeError, "argument 'keys' must have an integer dtype"),
        ([2**70], 2, ArgumentTypeError, "argument 'keys' must have an integer dtype"),
        ([[0]], 1, ArgumentError, r"argument 'keys' must be 1D, got 2 dimension"),
        (0, 1, ArgumentError, r"argument 'keys' must be 1D, got 0 dimension"),
        ([0], -1, ArgumentError, "argument 'n_segments' must be non-negative, got -1"),
        ([0], 2**58 + 1, ArgumentError, r"argument 'n_segments' must be at most 2\*\*58"),
        ([0], 1.0, ArgumentTypeError, r"argument 'n_segments' must be an integer, got float \(1.0\)"),
        ([0], True, ArgumentTypeError, r"argument 'n_segments' must be an integer, got bool \(True\)"),
        ([0], None, ArgumentTypeError, "argument 'n_segments' must be an integer"),
    ],
)
def test_unfit_keys_and_numbers_of_segments(keys, n_segments, error, text) -> None:
    for name, call in (
        ("SegmentPlan", lambda: SegmentPlan(keys, n_segments)),
        ("segment_sum", lambda: segment_sum([1.0], keys, n_segments)),
        ("segment_count", lambda: segment_count(keys, n_segments)),
    ):
        with pytest.raises(error, match=f"^{name}: {text}"):
            call()


def test_a_result_that_no_array_can_hold() -> None:
    with pytest.raises(
        ArgumentError, match=r"^segment_sum: argument 'n_segments' is \d+, which gives a result of shape"
    ):
        segment_sum(np.ones((1, 3), "c16"), [0], 2**57)


# --- values and outputs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [1.0, [1.0], np.zeros((3, 2)), []])
def test_values_need_one_entry_for_each_key(values) -> None:
    with pytest.raises(ArgumentError, match=r"'values' must have one entry for each key along its first axis, 2, got"):
        segment_sum(values, [0, 1], 2)
    with pytest.raises(ArgumentError, match=r"one entry for each segment along its first axis, 4"):
        SegmentPlan([0, 1], 4).gather(values)


@pytest.mark.parametrize("values", [["a"], np.array([object()]), np.array(["2020"], "M8[Y]"), [b"x"]])
def test_values_have_to_be_numbers(values) -> None:
    for call in (segment_sum, segment_mean, segment_min):
        with pytest.raises(ArgumentTypeError, match=f"{call.__name__}: argument 'values'"):
            call(values, [0], 1)


@pytest.mark.parametrize("call", [segment_min, segment_max, SegmentPlan([0], 1).min, SegmentPlan([0], 1).max])
def test_complex_numbers_have_no_order(call) -> None:
    arguments = ([0], 1) if call in (segment_min, segment_max) else ()
    with pytest.raises(ArgumentTypeError, match="complex numbers have no order; pass their absolute values"):
        call([1j], *arguments)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8", "c16", "G", "i2", "u8", "?"])
def test_out_receives_the_result(dtype) -> None:
    keys = [0, 2, 0, -1, 2]
    values = values_of(dtype, (5, 2))
    plan = SegmentPlan(keys, 3)
    reductions = ["sum", "mean", *(["min", "max"] if values.dtype.kind != "c" else [])]
    for name in reductions:
        expected = getattr(plan, name)(values)
        out = np.full_like(expected, 1)
        assert getattr(plan, name)(values, out=out) is out
        np.testing.assert_array_equal(out, expected)
        out = np.full_like(expected, 1)
        assert globals()[f"segment_{name}"](values, keys, 3, out=out) is out
        np.testing.assert_array_equal(out, expected)
    out = np.full((5, 2), 1, dtype)
    assert plan.gather(values[:3], out=out) is out
    np.testing.assert_array_equal(out, plan.gather(values[:3]))
    counts = np.full(3, 7)
    assert plan.count(out=counts) is counts
    assert counts.tolist() == [2, 0, 2]


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        ([0.0, 0.0], ArgumentTypeError, r"'out' must be a numpy.ndarray, to which the result is written, got list"),
        (np.ma.zeros(2), ArgumentTypeError, r"'out' must be a numpy.ndarray, .* got numpy.MaskedArray"),
        (
            np.zeros(3),
            ArgumentError,
            r"'out' must have shape \(2,\) and dtype float64, got numpy.ndarray\(shape=\(3,\)",
        ),
        (np.zeros(2, np.float32), ArgumentError, "'out' must have shape .* got .*float32"),
        (np.zeros(2, ">f8"), ArgumentError, "'out' must have shape"),
        (np.zeros(4)[::2], ArgumentError, "'out' must be C-contiguous"),
        (read_only(np.zeros(2)), ArgumentError, "'out' is written to, but the array is read-only"),
    ],
)
def test_unfit_outputs(out, error, text) -> None:
    before = as_compared(out)
    for call in (
        lambda: segment_sum([1.0, 2.0], [0, 1], 2, out=out),
        lambda: SegmentPlan([0, 1], 2).mean([1.0, 2.0], out=out),
        lambda: SegmentPlan([0, 1], 2).gather([1.0, 2.0], out=out),
    ):
        with pytest.raises(error, match=text):
            call()
    assert as_compared(out) == before


def test_out_may_not_overlap_what_is_read() -> None:
    memory = np.arange(12.0)
    with pytest.raises(ArgumentError, match="argument 'out' shares memory with argument 'values'"):
        segment_sum(memory[:4], [0, 1, 0, 1], 2, out=memory[2:4])
    assert memory.tolist() == list(range(12))
    keys = np.array([0, 1, 0, 1])
    with pytest.raises(ArgumentError, match="argument 'out' shares memory with argument 'keys'"):
        segment_count(keys, 2, out=keys[:2])
    assert keys.tolist() == [0, 1, 0, 1]
    # two columns of one array lie within each other's bounds, and share nothing
    table = np.zeros((2, 2), order="F")
    assert segment_sum(table[:, 0] + 1, [0, 1], 2, out=table[:, 1]) is not None
    pairs = np.zeros((3, 2))
    values, out = pairs[:, 0], pairs.reshape(-1)[5:]
    values[:] = 1
    assert segment_sum(values, [0, 0, 0], 1, out=out).tolist() == [3]


@pytest.mark.parametrize("call", [segment_sum, segment_mean, segment_min, segment_max])
def test_out_is_unchanged_if_a_key_is_wrong(call) -> None:
    out = np.full(2, 7.0)
    with pytest.raises(ArgumentError, match="smaller"):
        call(np.ones(600), np.r_[np.zeros(599, int), 2], 2, out=out)
    assert out.tolist() == [7, 7]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_array_as_values(kind: ArrayKind, tmp_path) -> None:
    values = kind.make(tmp_path)
    before = as_compared(values)
    refused = kind.values is None or kind.values.ndim == 0 or kind.name == "foreign-device-array"
    keys = np.zeros(0 if refused else len(kind.values), int)  # type: ignore[arg-type]
    if refused:
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"segment_sum: .*values"):
            segment_sum(values, keys, 1)
    else:
        result = segment_sum(values, keys, 1)
        np.testing.assert_array_equal(result, sum_by_loop(kind.values, keys, 1))
        assert type(result) is np.ndarray
    assert as_compared(values) == before


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_array_as_keys(kind: ArrayKind, tmp_path) -> None:
    keys = kind.make(tmp_path)
    with (
        pytest.raises((ArgumentError, ArgumentTypeError), match=r"SegmentPlan: .*keys")
        if kind.name != "tuple"
        else (pytest.raises(ArgumentError, match="holds 2 at position 1"))
    ):
        SegmentPlan(keys, 2)
