"""Runs of sorted keys and offsets of sorted cells on the host."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from array_kinds import KINDS, ArrayKind, as_compared
from cunumpy.algorithms import cell_offsets, segment_boundaries
from cunumpy.errors import ArgumentError, ArgumentTypeError

pytestmark = pytest.mark.usefixtures("segments_path")

both_paths = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

KEYS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


@st.composite
def sorted_keys(draw):
    dtype = np.dtype(draw(st.sampled_from(KEYS)))
    limits = np.iinfo(dtype)
    near = st.integers(-3, 3) if dtype.kind == "i" else st.integers(0, 6)
    ends = st.sampled_from([limits.min, limits.max, limits.max - 1])
    return np.sort(np.array(draw(st.lists(near | ends, max_size=40)), dtype))


# --- segment_boundaries -----------------------------------------------------------------------------------------------


@both_paths
@given(sorted_keys())
def test_boundaries_are_those_of_unique(keys) -> None:
    unique, starts, stops = segment_boundaries(keys)
    expected, first, counts = np.unique(keys, return_index=True, return_counts=True)
    assert unique.dtype == keys.dtype
    assert starts.dtype == stops.dtype == np.int64
    np.testing.assert_array_equal(unique, expected)
    np.testing.assert_array_equal(starts, first)
    np.testing.assert_array_equal(stops, first + counts)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_boundaries_of_many_keys_whatever_the_threads(threads, monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", threads)
    for upper in (3, 10**5, 10**9):
        keys = np.sort(np.random.default_rng(0).integers(-upper, upper, 700_003))
        unique, starts, stops = segment_boundaries(keys)
        expected, first, counts = np.unique(keys, return_index=True, return_counts=True)
        np.testing.assert_array_equal(unique, expected)
        np.testing.assert_array_equal(starts, first)
        np.testing.assert_array_equal(stops, first + counts)
        keys[600_000] = -upper - 1
        with pytest.raises(ArgumentError, match=rf"not sorted: {-upper - 1} at position 600000 comes after"):
            segment_boundaries(keys)


def test_boundaries_of_nothing_are_new_arrays() -> None:
    for keys in ([], np.array([], np.uint8)):
        unique, starts, stops = segment_boundaries(keys)
        assert unique.size == starts.size == stops.size == 0
        assert unique.dtype == (np.int64 if isinstance(keys, list) else np.uint8)
        assert unique is not keys


@pytest.mark.parametrize(
    ("keys", "error", "text"),
    [
        ([[1]], ArgumentError, r"segment_boundaries: argument 'sorted_keys' must be 1D, got 2 dimension"),
        ([2, 1], ArgumentError, r"'sorted_keys' is not sorted: 1 at position 1 comes after 2; sort it first"),
        ([1.0], ArgumentTypeError, r"'sorted_keys' must have an integer dtype"),
        ([True], ArgumentTypeError, r"'sorted_keys' must have an integer dtype"),
    ],
)
def test_unfit_keys(keys, error, text) -> None:
    with pytest.raises(error, match=text):
        segment_boundaries(keys)


# --- cell_offsets -----------------------------------------------------------------------------------------------------


@both_paths
@given(
    cells=st.lists(st.integers(0, 9), max_size=40).map(sorted),
    more=st.integers(0, 30),
    dtype=st.sampled_from(KEYS),
)
def test_offsets_are_those_of_searchsorted(cells, more, dtype) -> None:
    n_cells = max(cells, default=-1) + 1 + more
    offsets = cell_offsets(np.array(cells, dtype), n_cells)
    assert offsets.dtype == np.int64
    np.testing.assert_array_equal(offsets, np.searchsorted(np.array(cells, int), np.arange(n_cells + 1)))


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("n_cells", [1, 7, 1000, 400_000, 3_000_000])
def test_offsets_of_many_cells_whatever_the_threads(threads, n_cells, monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", threads)
    random = np.random.default_rng(1)
    for cells in (
        random.integers(0, n_cells, 400_000),
        (n_cells * random.random(300_000) ** 9).astype(np.int32),
        np.full(300_000, n_cells - 1),
        np.zeros(300_000, np.int64),
    ):
        cells.sort()
        expected = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=n_cells))])
        np.testing.assert_array_equal(cell_offsets(cells, n_cells), expected)


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("position", [0, 1, 199_999, 200_000, 399_998])
def test_one_wrong_cell_among_many_is_found(position, threads, monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", threads)
    good = np.repeat(np.arange(400_000) + 5, 1)
    for wrong in (-1, 0, 500_000, 2**62, -(2**63)):
        cells = good.copy()
        cells[position] = wrong
        if position == 0 and wrong == 0:
            continue
        with pytest.raises(ArgumentError, match="'sorted_cells'"):
            cell_offsets(cells, 400_010)


def test_no_cells() -> None:
    assert cell_offsets([], 0).tolist() == [0]
    assert cell_offsets([], 3).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("cells", "n_cells", "error", "text"),
    [
        ([[1]], 2, ArgumentError, "cell_offsets: argument 'sorted_cells' must be 1D"),
        ([1, 0], 2, ArgumentError, "'sorted_cells' is not sorted: 0 at position 1 comes after 1; sort it first"),
        ([0, 2], 2, ArgumentError, r"'sorted_cells' holds 2 at position 1, .* smaller than n_cells = 2"),
        ([-1, 0], 2, ArgumentError, "'sorted_cells' holds -1 at position 0"),
        ([0], 0, ArgumentError, "'sorted_cells' holds 0 at position 0"),
        (np.array([0, 2**64 - 1], np.uint64), 2, ArgumentError, f"holds {2**64 - 1} at position 1"),
        ([0], -1, ArgumentError, "argument 'n_cells' must be non-negative, got -1"),
        ([0], 1.5, ArgumentTypeError, r"argument 'n_cells' must be an integer, got float \(1.5\)"),
        ([0.5], 1, ArgumentTypeError, "'sorted_cells' must have an integer dtype"),
        ([False], 1, ArgumentTypeError, "'sorted_cells' must have an integer dtype"),
    ],
)
def test_unfit_cells(cells, n_cells, error, text) -> None:
    with pytest.raises(error, match=text):
        cell_offsets(cells, n_cells)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_array(kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.values is not None and kind.values.ndim == 1 and kind.values.dtype.kind in "iu":
        unique, _, _ = segment_boundaries(value)
        np.testing.assert_array_equal(unique, kind.values)
        assert type(unique) is np.ndarray
    else:
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"segment_boundaries: .*sorted_keys"):
            segment_boundaries(value)
    with pytest.raises((ArgumentError, ArgumentTypeError), match=r"cell_offsets: .*sorted_cells"):
        cell_offsets(value, 1)
    assert as_compared(value) == before
