"""Sorting by keys and by cells on CuPy arrays: equal to the host's results, with the launches and reads promised."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cunumpy as xp
from array_kinds import ForeignDeviceArray
from cunumpy.algorithms import sort_by_cell, sort_by_key
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError, TransferError

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"]


def on_host(results):
    return [(array.get().dtype, array.get().tobytes()) for array in results]


@given(
    dtype=st.sampled_from(DTYPES),
    n=st.sampled_from([0, 1, 2, 50, 700]),
    seed=st.integers(0, 999),
    descending=st.booleans(),
)
def test_sorting_equals_the_host(dtype, n, seed, descending):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 9, n).astype(dtype)
    if keys.dtype.kind == "f":
        keys[rng.random(n) < 0.2] = np.nan
        keys[keys == 3] = -0.0
    rows, components = rng.random((n, 3)), rng.random((2, n))
    expected = sort_by_key(keys, rows, descending=descending)
    found = sort_by_key(cupy.asarray(keys), cupy.asarray(rows), descending=descending)
    assert all(isinstance(array, cupy.ndarray) and array.flags.c_contiguous for array in found)
    assert on_host(found) == [(array.dtype, array.tobytes()) for array in expected]
    moved = sort_by_key(cupy.asarray(keys), cupy.asarray(components), axis=-1, descending=descending)[2]
    np.testing.assert_array_equal(moved.get(), components[:, expected[1]])


def test_complex_keys():
    keys = np.array([2 + 1j, 1 + 5j, 2 - 1j, 1 + 5j])
    assert sort_by_key(cupy.asarray(keys))[1].get().tolist() == [1, 3, 2, 0]
    assert sort_by_key(cupy.asarray(keys), descending=True)[1].get().tolist() == [0, 2, 1, 3]


def test_nothing_is_copied_to_the_host():
    keys, rows = cupy.asarray([3, 1, 2]), cupy.zeros((3, 2))
    with xp.profiling.count_transfers() as counter:
        _, order, _ = sort_by_key(keys, rows)
        sort_by_key(keys, rows, order=order, out=(None, cupy.empty(3, dtype=np.int64), cupy.empty((3, 2))))
    assert not counter.events


def test_order_and_out():
    keys, rows = cupy.asarray([3.0, 1.0, 2.0]), cupy.asarray([[0, 1], [2, 3], [4, 5]])
    expected = sort_by_key(keys, rows)
    out = [cupy.empty_like(array) for array in expected]
    found = sort_by_key(keys, rows, out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    assert on_host(out) == on_host(expected)
    again = sort_by_key(keys, rows, order=expected[1].astype(np.int32))
    assert on_host(again) == on_host(expected)
    assert sort_by_key(keys, order=expected[1])[1] is expected[1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: sort_by_key(cupy.zeros(2), [1, 2]), MixedBackendError, "arguments 'keys' are in device memory and"),
        (lambda: sort_by_key([1, 2], cupy.zeros(2)), MixedBackendError, "'arrays[0]' are in device memory and 'keys'"),
        (lambda: sort_by_key([1, 2], out=(cupy.zeros(2), None)), MixedBackendError, "'out[0]' are in device memory"),
        (lambda: sort_by_key(cupy.zeros(2), order=[0, 1]), MixedBackendError, "'order' on the host"),
        (lambda: sort_by_key(cupy.zeros(2), 1.0), ArgumentTypeError, "argument 'arrays[0]' must be a CuPy array"),
        (lambda: sort_by_key(1.0, cupy.zeros(2)), ArgumentTypeError, "argument 'keys' must be a CuPy array"),
        (lambda: sort_by_key(None, cupy.zeros(2)), ArgumentTypeError, "argument 'keys' must be a CuPy array"),
        (
            lambda: sort_by_key(ForeignDeviceArray(np.zeros(2))),
            ArgumentTypeError,
            "wrap it without a copy by xp.to_cupy",
        ),
        (lambda: sort_by_key(cupy.zeros((2, 2))), ArgumentError, "argument 'keys' must be 1D"),
        (lambda: sort_by_key(cupy.zeros(2), cupy.zeros(3)), ArgumentError, "must have 2 entries along axis 0"),
        (lambda: sort_by_key(cupy.zeros(2), order=cupy.zeros(2)), ArgumentTypeError, "'order' must have an integer"),
        (lambda: sort_by_key(cupy.zeros(2), order=cupy.zeros(3, dtype=int)), ArgumentError, "'order' must have shape"),
        (lambda: sort_by_cell(cupy.zeros(2), 2), ArgumentTypeError, "argument 'cells' must have an integer dtype"),
        (lambda: sort_by_cell(cupy.zeros((2, 2), dtype=int), 2), ArgumentError, "argument 'cells' must be 1D"),
        (lambda: sort_by_cell(cupy.zeros(2, dtype=int), -1), ArgumentError, "'n_cells' must be non-negative"),
    ],
)
def test_bad_arguments(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("late", ["dtype", "overlap", "outputs overlap", "cell"])
def test_nothing_is_written_before_an_error(late, raw_modules):
    cells, rows = cupy.asarray([1, 0, 1]), cupy.zeros(3)
    out = [cupy.full(3, -1), cupy.full(3, -1), cupy.full(3, -1.0)]
    if late == "dtype":
        out[2] = out[2].astype(np.float32)
    elif late == "overlap":
        out[2] = rows
    elif late == "outputs overlap":
        out[1] = out[0]
    else:
        cells[2] = 2
    before = [array.get().tolist() for array in (cells, rows, *out)]
    with pytest.raises(ArgumentError):
        sort_by_cell(cells, 2, rows, out=out)
    assert [array.get().tolist() for array in (cells, rows, *out)] == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dtype=st.sampled_from(DTYPES[:8]),
    n=st.sampled_from([0, 1, 2, 50, 700]),
    n_cells=st.sampled_from([1, 5, 100]),
    seed=st.integers(0, 999),
)
def test_cells_equal_the_host(raw_modules, dtype, n, n_cells, seed):
    rng = np.random.default_rng(seed)
    cells, rows = rng.integers(0, n_cells, n).astype(dtype), rng.random((n, 3))
    expected = sort_by_cell(cells, n_cells, rows)
    found = sort_by_cell(cupy.asarray(cells), n_cells, cupy.asarray(rows))
    assert on_host(found) == [(array.dtype, array.tobytes()) for array in expected]


@pytest.mark.parametrize("n", [1, 5])
def test_cells_are_checked_with_one_read(raw_modules, n):
    cells = cupy.arange(n)[::-1]
    with xp.profiling.count_transfers() as counter:
        sort_by_cell(cells, n)
    assert [(event.kind, event.implicit, event.nbytes) for event in counter.events] == [
        ("to_host", False, 8 * min(n, 2))
    ]
    with xp.profiling.count_transfers() as counter:
        offsets, _ = sort_by_cell(cells, n, check=False)
    assert not counter.events
    assert offsets.get().tolist() == list(range(n + 1))
    with xp.profiling.forbid_transfers(), pytest.raises(TransferError):
        sort_by_cell(cells, n)


@pytest.mark.parametrize(("dtype", "bad"), [("i4", -1), ("i8", 7), ("u8", 2**63)])
def test_a_cell_out_of_range_is_named(raw_modules, dtype, bad):
    cells = cupy.asarray(np.array([0, 1, bad, 3], dtype))
    with pytest.raises(ArgumentError) as caught:
        sort_by_cell(cells, 7)
    assert f"argument 'cells' must lie in [0, 7), got {bad} at index 2" in str(caught.value)
    assert sort_by_cell(cells, 7, check=False)[0].shape == (8,)


def test_one_kernel_for_the_offsets(raw_modules):
    out = (cupy.empty(4, dtype=np.int64), cupy.empty(3, dtype=np.int64))
    found = sort_by_cell(cupy.asarray([2, 0, 2], dtype=np.int16), 3, out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    assert out[0].get().tolist() == [0, 1, 1, 3]
    assert raw_modules == ["cell_offsets<short>"]
