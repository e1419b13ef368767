"""Particle algorithms on a device give what they give on the host."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import algorithms as alg

N = 20_011
RNG = np.random.default_rng(2)
POINTS = {ndim: RNG.normal(size=(N, ndim)) for ndim in (2, 3)}
VALUES = RNG.normal(size=N)
CELLS = RNG.integers(0, 500, N)


def assert_same(got, expected):
    """Assert that what a device computed is what the host computed, bit for bit."""
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
        return
    assert xp.is_gpu(got)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(xp.to_numpy(got), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("function", [alg.morton_keys, alg.hilbert_keys])
def test_keys_of_points(function, ndim, dtype):
    points = POINTS[ndim].astype(dtype)
    levels = alg.MAX_MORTON_LEVELS[ndim]
    box = [-1.5] * ndim, [1.25] * ndim
    assert_same(function(xp.asarray(points), *box, levels), function(points, *box, levels))
    assert_same(function(xp.asarray(points), *box, 9, dtype=np.uint32), function(points, *box, 9, dtype=np.uint32))


def test_keys_of_cells_and_back():
    cells = tuple(RNG.integers(0, 2**21, (3, N)))
    device = tuple(map(xp.asarray, cells))
    keys = alg.morton_encode(*cells)
    assert_same(alg.morton_encode(*device), keys)
    assert_same(alg.morton_decode(xp.asarray(keys), 3), alg.morton_decode(keys, 3))
    curve = alg.hilbert_encode(*cells, levels=21)
    assert_same(alg.hilbert_encode(*device, levels=21), curve)
    assert_same(alg.hilbert_decode(xp.asarray(curve), 3, 21), alg.hilbert_decode(curve, 3, 21))


def test_points_that_are_no_numbers_are_refused_when_asked():
    points = POINTS[2].copy()
    points[77] = np.nan
    with pytest.raises(xp.errors.ArgumentError, match=r"morton_keys.*NaN"):
        alg.morton_keys(xp.asarray(points), [0, 0], [1, 1], 4, check=True)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_by_key(dtype, descending):
    keys = (VALUES * 50).astype(dtype)
    if keys.dtype.kind == "f":
        keys[:100] = np.nan
        keys[100:300] = 0.0
        keys[200:400:2] = -0.0
    payload = POINTS[3]
    got = alg.sort_by_key(xp.asarray(keys), xp.asarray(payload), xp.asarray(VALUES), descending=descending)
    assert_same(got, alg.sort_by_key(keys, payload, VALUES, descending=descending))


def test_sorting_by_cell():
    got = alg.sort_by_cell(xp.asarray(CELLS), 500, xp.asarray(POINTS[3].T.copy()), axis=-1)
    assert_same(got, alg.sort_by_cell(CELLS, 500, POINTS[3].T.copy(), axis=-1))


def test_compaction_in_place():
    mask = VALUES > -0.5
    points, values, keep = xp.asarray(POINTS[3]), xp.asarray(VALUES), xp.asarray(mask)
    with xp.profiling.count_transfers() as counter:
        kept = alg.compact_by_mask(keep, points, values)
    assert kept == mask.sum()
    assert [event.kind for event in counter.events] == ["sync"]
    assert_same(points[:kept].copy(), POINTS[3][mask])
    assert_same(values[:kept].copy(), VALUES[mask])


def test_grouping():
    cells = np.sort(CELLS)
    assert_same(alg.segment_boundaries(xp.asarray(cells)), alg.segment_boundaries(cells))
    assert_same(alg.cell_offsets(xp.asarray(cells), 510), alg.cell_offsets(cells, 510))


@pytest.mark.parametrize("dtype", ["i8", "u4", "f2", "f4", "f8", "c8", "c16"])
def test_sums_by_segment(dtype):
    values = (POINTS[3] * 10).astype(dtype) if dtype != "u4" else np.abs(POINTS[3] * 10).astype(dtype)
    keys = CELLS - 3
    expected = alg.segment_sum(values, keys, 500)
    got = alg.segment_sum(xp.asarray(values), xp.asarray(keys), 500)
    assert got.dtype == expected.dtype
    rtol = {"f2": 1e-3, "f4": 1e-6, "c8": 1e-6}.get(dtype, 1e-12)
    np.testing.assert_allclose(xp.to_numpy(got), expected, rtol=rtol, atol=rtol * 100)
    plan = alg.SegmentPlan(xp.asarray(keys), 500, deterministic=True)
    assert_same(plan.sum(xp.asarray(values)), expected)
    assert_same(plan.mean(xp.asarray(values)), alg.SegmentPlan(keys, 500).mean(values))


@pytest.mark.parametrize("dtype", ["i8", "u4", "f2", "f4", "f8"])
def test_extremes_and_counts_by_segment(dtype):
    values = np.abs(POINTS[3] * 10).astype(dtype)
    if values.dtype.kind == "f":
        values[::1000] = np.nan
    device = xp.asarray(values), xp.asarray(CELLS), 510
    assert_same(alg.segment_min(*device), alg.segment_min(values, CELLS, 510))
    assert_same(alg.segment_max(*device), alg.segment_max(values, CELLS, 510))
    assert_same(alg.segment_count(xp.asarray(CELLS), 510), alg.segment_count(CELLS, 510))


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8", "c16"])
def test_scattered_additions(dtype):
    out, values = np.zeros((500, 3), dtype), (POINTS[3] * 10).astype(dtype)
    device = xp.asarray(out)
    alg.scatter_add(device, xp.asarray(CELLS), xp.asarray(values))
    alg.scatter_add(out, CELLS, values)
    rtol = 1e-4 if dtype == "f4" else 1e-12
    np.testing.assert_allclose(xp.to_numpy(device), out, rtol=rtol, atol=rtol * 100)


def test_a_sum_is_captured_in_a_graph():
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    plan = alg.SegmentPlan(xp.asarray(CELLS), 500)
    values, out = xp.asarray(VALUES), xp.zeros(500)
    with stream:
        plan.sum(values, out=out)  # compiles the kernel
        stream.synchronize()
        try:
            stream.begin_capture()
        except (NotImplementedError, AttributeError):
            pytest.skip("this CuPy captures no graphs")
        plan.sum(values, out=out)
        graph = stream.end_capture()
        out.fill(-1)
        graph.launch(stream)
        stream.synchronize()
    np.testing.assert_allclose(xp.to_numpy(out), alg.segment_sum(VALUES, CELLS, 500), rtol=1e-12)
