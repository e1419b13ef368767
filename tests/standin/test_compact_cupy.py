"""Compaction of CuPy arrays: equal to the host's results, with one wait that is recorded."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
from cunumpy.algorithms import compact_by_mask
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError, TransferError


@given(n=st.sampled_from([0, 1, 5, 300]), share=st.sampled_from([0, 0.5, 1]), seed=st.integers(0, 99))
def test_compaction_equals_the_host(n, share, seed):
    rng = np.random.default_rng(seed)
    mask, rows, components = rng.random(n) < share, rng.random((n, 3)), rng.random((2, n))
    on_device = cupy.asarray(rows), cupy.asfortranarray(cupy.asarray(rows)), cupy.asarray(rows)[::-1]
    expected = [array.get()[mask].tolist() for array in on_device]
    count = compact_by_mask(cupy.asarray(mask), *on_device)
    assert type(count) is int
    assert count == np.count_nonzero(mask)
    assert [array[:count].get().tolist() for array in on_device] == expected
    last = cupy.asarray(components)
    assert compact_by_mask(cupy.asarray(mask), last, axis=-1) == count
    assert last[:, :count].get().tolist() == components[:, mask].tolist()


def test_the_wait_is_recorded():
    mask, array = cupy.asarray([True, False, True]), cupy.arange(3)
    with xp.profiling.count_transfers() as counter:
        compact_by_mask(mask, array, array.astype(np.float32))
    assert [(event.kind, event.description) for event in counter.events] == [("sync", "compact_by_mask(shape=(3,))")]


def test_a_forbidden_wait_changes_nothing():
    mask, array = cupy.asarray([False, False, True]), cupy.arange(3)
    with xp.profiling.forbid_transfers(syncs=True), pytest.raises(TransferError):
        compact_by_mask(mask, array)
    assert array.get().tolist() == [0, 1, 2]


def test_the_same_array_twice_and_the_mask_itself():
    mask = cupy.asarray([False, True, True])
    array = cupy.arange(3)
    assert compact_by_mask(mask, array, mask, array) == 2
    assert array[:2].get().tolist() == [1, 2]
    assert mask[:2].get().tolist() == [True, True]


@pytest.mark.parametrize(
    ("late", "error", "text"),
    [
        (lambda first: np.arange(4), MixedBackendError, "'arrays[1]' on the host"),
        (lambda first: 1.0, ArgumentTypeError, "argument 'arrays[1]' must be an array"),
        (
            lambda first: cupy.arange(3),
            ArgumentError,
            "argument 'arrays[1]' must have 4 entries along axis 0, as 'mask'",
        ),
        (lambda first: first[::-1], ArgumentError, "arguments 'arrays[0]' and 'arrays[1]' share memory without being"),
        (lambda first: cupy.broadcast_to(cupy.arange(2), (4, 2)), ArgumentError, "has several entries in one place"),
    ],
)
def test_nothing_is_moved_before_an_error(late, error, text):
    first = cupy.arange(4.0)
    with pytest.raises(error) as caught:
        compact_by_mask(cupy.asarray([False, True, False, True]), first, late(first))
    assert text in str(caught.value)
    assert first.get().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("mask", "error", "text"),
    [
        (cupy.asarray([1, 0]), ArgumentTypeError, "argument 'mask' must be boolean"),
        (cupy.zeros((2, 2), dtype=bool), ArgumentError, "argument 'mask' must be 1D"),
        (np.array([True, False]), MixedBackendError, "'arrays[0]' are in device memory and 'mask' on the host"),
        (True, ArgumentTypeError, "argument 'mask' must be a CuPy array"),
        (None, ArgumentTypeError, "argument 'mask' must be a CuPy array"),
    ],
)
def test_other_masks_are_refused(mask, error, text):
    with pytest.raises(error) as caught:
        compact_by_mask(mask, cupy.arange(2))
    assert text in str(caught.value)
