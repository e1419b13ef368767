"""Compaction on the host: by the native library, or by NumPy in a run with CUNUMPY_NO_NATIVE=1."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import array_kinds
from cunumpy.algorithms import _host, _numpy_sort, compact_by_mask
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyError

ITEMS = ["i1", "i2", "f4", "f8", "c16", "S3", "U5", "V24", "V7", "M8[s]", ">f8", "?", "O", "f2", "c8", "g"]


@pytest.fixture(autouse=True, params=[1, 3], ids=["1-thread", "3-threads"])
def threads(request, monkeypatch):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", str(request.param))
    if _host.sort is not _numpy_sort:
        monkeypatch.setattr(_host.sort, "_COMPACT_GRAIN", 500)


@st.composite
def targets(draw, n):
    """A writable array with n entries along an axis, of any item size and layout, inside of a larger one."""
    dtype = np.dtype(draw(st.sampled_from(ITEMS)))
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=3))
    axis = draw(st.integers(0, len(shape)))
    shape.insert(axis, n)
    layout = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in shape]
    outer = [length * abs(step) + 2 for length, step in zip(shape, steps, strict=True)]
    numbers = np.random.default_rng(draw(st.integers(0, 2**32))).integers(0, 100, outer)
    storage = numbers.astype(dtype) if dtype.kind != "V" else numbers.astype(f"S{dtype.itemsize}").view(dtype)
    storage = np.ascontiguousarray(storage.transpose(layout)).transpose(np.argsort(layout))
    inside = tuple(slice(1, 1 + length * abs(step)) for length, step in zip(shape, steps, strict=True))
    every = tuple(slice(None, None, step) for step in steps)
    within = np.zeros(outer, bool)
    within[inside][every] = True
    return storage, storage[inside][every], within, axis


def masks(n, seed, share):
    rng = np.random.default_rng(seed)
    mask = rng.random(n) < share
    if n and seed % 3 == 0:
        mask[: rng.integers(0, n)] = True  # nothing to move at the front
    if n and seed % 5 == 0:
        mask[rng.integers(0, n) :] = False
    return mask


@settings(max_examples=200)
@given(
    data=st.data(),
    n=st.sampled_from([0, 1, 2, 63, 64, 65, 300, 4096, 4097, 9000]),
    seed=st.integers(0, 1000),
    share=st.sampled_from([0.0, 0.02, 0.5, 0.9, 1.0]),
)
def test_what_is_kept_moves_to_the_front(data, n, seed, share):
    storage, array, within, axis = data.draw(targets(n))
    mask = masks(n, seed, share)
    expected = np.compress(mask, array, axis=axis).tolist()
    before = storage[~within].tolist()
    count = compact_by_mask(mask, array, axis=axis)
    assert type(count) is int
    assert count == np.count_nonzero(mask)
    assert np.take(array, range(count), axis=axis).tolist() == expected
    assert storage[~within].tolist() == before
    again = np.take(array, range(count), axis=axis)
    assert compact_by_mask(np.ones(count, bool), again, axis=axis - again.ndim) == count
    assert again.tolist() == expected


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("shape", [(), (3,), (4,), (5, 2), (40,)])
def test_many_entries(shape, share):
    n = 200_000 if len(shape) < 2 else 50_000
    rng = np.random.default_rng(1)
    mask, array = rng.random(n) < share, rng.random((n, *shape))
    expected, by_numpy = array[mask], array.copy()
    count = compact_by_mask(mask, array)
    np.testing.assert_array_equal(array[:count], expected)
    assert _numpy_sort.compact(mask, [(by_numpy, 0)]) == count
    np.testing.assert_array_equal(by_numpy[:count], expected)


def test_several_arrays_and_axes():
    mask = [True, False, True]
    vector, components = np.array([1, 2, 3]), np.array([[1, 2, 3], [4, 5, 6]])
    assert compact_by_mask(mask, vector, components, axis=-1) == 2
    assert vector[:2].tolist() == [1, 3]
    assert components[:, :2].tolist() == [[1, 3], [4, 6]]


@pytest.mark.parametrize("mask", [[], [True, False, True], np.array([True] * 3)[::-1], (False, False)])
def test_no_arrays(mask):
    assert compact_by_mask(mask) == sum(mask)


@pytest.mark.parametrize("n", [6, 10_000])
def test_the_same_array_twice_is_compacted_once(n):
    array, mask = np.arange(float(n)), np.arange(n) % 3 != 1
    expected = array[mask]
    count = compact_by_mask(mask, array, array, array[:])
    np.testing.assert_array_equal(array[:count], expected)


@pytest.mark.parametrize("n", [6, 20_000])
def test_the_mask_may_be_among_the_arrays(n):
    alive, weight = np.arange(n) % 3 != 0, np.arange(n)
    expected = weight[alive]
    count = compact_by_mask(alive, alive, weight)
    assert alive[:count].all()
    assert weight[:count].tolist() == expected.tolist()


def test_bytes_of_other_programs_are_true():
    mask, array = np.tile(np.array([0, 2, 255, 1, 0, 128], np.uint8), 20_000).view(bool), np.arange(120_000)
    assert compact_by_mask(mask, array) == 80_000
    assert (array[:80_000] % 6).reshape(-1, 4).tolist() == [[1, 2, 3, 5]] * 20_000


def test_interleaved_views_are_apart():
    storage = np.arange(12.0)
    assert compact_by_mask([False, True] * 3, storage[::2], storage[1::2]) == 3
    assert storage[:6].tolist() == [2, 3, 6, 7, 10, 11]


def test_objects_are_counted():
    class Thing:
        alive = 0

        def __init__(self):
            Thing.alive += 1

        def __del__(self):
            Thing.alive -= 1

    things = np.array([Thing() for _ in range(6)])
    kept = [things[i] for i in (1, 4)]
    assert compact_by_mask([False, True, False, False, True, False], things) == 2
    assert things[:2].tolist() == kept
    del things
    assert Thing.alive == 2
    kept.clear()
    assert Thing.alive == 0


@pytest.mark.parametrize("kind", array_kinds.KINDS, ids=str)
def test_array_kinds_as_arrays(kind, tmp_path):
    value = kind.make(tmp_path)
    before = copy.deepcopy(array_kinds.as_compared(value))
    n = len(kind.values) if kind.values is not None and kind.values.ndim else 3 if kind.name == "masked" else 2
    mask = np.arange(n) % 2 == n % 2
    if kind.is_array and kind.writable and kind.values.ndim:
        count = compact_by_mask(mask, value)
        np.testing.assert_array_equal(value[:count], kind.values[mask])
    else:
        with pytest.raises(CuNumpyError, match=r"^compact_by_mask: argument 'arrays\[0\]'"):
            compact_by_mask(mask, value)
        assert array_kinds.as_compared(value) == before


@pytest.mark.parametrize("kind", array_kinds.KINDS, ids=str)
def test_array_kinds_as_the_mask(kind, tmp_path):
    value, array = kind.make(tmp_path), np.array([1, 2])
    before = copy.deepcopy(array_kinds.as_compared(value))
    if kind.name == "bool":
        assert compact_by_mask(value, array) == 1
    else:
        with pytest.raises(CuNumpyError, match=r"^compact_by_mask: argument 'mask'"):
            compact_by_mask(value, array)
    assert array.tolist() == [1, 2]
    assert array_kinds.as_compared(value) == before


def _read_only():
    array = np.arange(4.0)
    array.flags.writeable = False
    return array


STORAGE = np.arange(8.0)
LATE_ERRORS = {
    "read-only": (_read_only(), 0, ArgumentError, "argument 'arrays[1]' is written to, but the array is read-only"),
    "length": (np.arange(3.0), 0, ArgumentError, "'arrays[1]' must have 4 entries along axis 0, as 'mask' has, got 3"),
    "no axis": (np.array(1.0), 0, ArgumentError, "argument 'arrays[1]' has no axis 0 (shape ())"),
    "list": ([1, 2, 3, 4], 0, ArgumentTypeError, "argument 'arrays[1]' must be an array, because it is changed in"),
    "masked": (np.ma.arange(4), 0, ArgumentTypeError, "pass its .data and its .mask as two arrays"),
    "None": (None, 0, ArgumentTypeError, "argument 'arrays[1]' must be an array"),
    "axis": (np.arange(4.0), "x", ArgumentTypeError, "argument 'axis' must be an integer"),
    "overlapping itself": (
        np.lib.stride_tricks.as_strided(np.zeros(8), (4, 2), (8, 8)),
        0,
        ArgumentError,
        "argument 'arrays[1]' has several entries in one place of memory",
    ),
}


@pytest.mark.parametrize("name", LATE_ERRORS)
def test_nothing_is_moved_before_an_error(name):
    late, axis, error, text = LATE_ERRORS[name]
    first = np.arange(4.0)
    with pytest.raises(error) as caught:
        compact_by_mask([False, True, False, True], first, late, axis=axis)
    assert str(caught.value).startswith("compact_by_mask: ")
    assert text in str(caught.value)
    assert first.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("second", [STORAGE[1:5], STORAGE[3::-1], STORAGE[:4].view(np.int64), STORAGE[:8:2]])
def test_overlapping_arrays_are_refused(second):
    with pytest.raises(
        ArgumentError, match=r"arguments 'arrays\[0\]' and 'arrays\[1\]' share memory without being the"
    ):
        compact_by_mask([False, True, False, True], STORAGE[:4], second)
    assert STORAGE.tolist() == list(range(8))


@pytest.mark.parametrize(
    ("mask", "error", "text"),
    [
        (np.array([1, 0, 1, 1]), ArgumentTypeError, "argument 'mask' must be boolean, got numpy.ndarray(shape=(4,)"),
        ([1.0, 0.0], ArgumentTypeError, "argument 'mask' must be boolean"),
        (["a"], ArgumentTypeError, "argument 'mask' must be boolean"),
        (np.zeros((2, 2), bool), ArgumentError, "argument 'mask' must be 1D, got shape (2, 2)"),
        (True, ArgumentError, "argument 'mask' must be 1D, got shape ()"),
    ],
)
def test_other_masks_are_refused(mask, error, text):
    with pytest.raises(error) as caught:
        compact_by_mask(mask, np.arange(4))
    assert str(caught.value).startswith("compact_by_mask: ")
    assert text in str(caught.value)
