"""Segments on device arrays: the kernels' results against the host's, what is read, launched and refused."""

from __future__ import annotations

import pickle

import cupy
import numpy as np
import pytest

import cunumpy as xp
from array_kinds import ForeignDeviceArray
from cunumpy.algorithms import (
    SegmentPlan,
    cell_offsets,
    scatter_add,
    segment_boundaries,
    segment_count,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
)
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError

NUMBERS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
KEYS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
TAILS = ((), (3,), (2, 2), (0,))


@pytest.fixture(autouse=True)
def kernels(raw_modules):
    """Run the kernels themselves."""
    return raw_modules


def random_array(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(1)
    if dtype == "?":
        return random.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if np.dtype(dtype).kind == "c":
        return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)
    return random.normal(size=shape).astype(dtype)


def assert_equal(device, host) -> None:
    assert isinstance(device, cupy.ndarray)
    assert device.dtype == host.dtype
    np.testing.assert_array_equal(device.get(), host)


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_reductions_equal_those_of_the_host(dtype, tail) -> None:
    # the threads of these tests run one after another, so that even sums in any order have the host's order
    keys = np.random.default_rng(2).integers(-1, 5, 60)
    values = random_array(dtype, (60, *tail))
    if values.dtype.kind == "f":
        values[7] = np.nan
    on_host = SegmentPlan(keys, 6)
    on_device, device_values = cupy.asarray(keys), cupy.asarray(values)
    names = ["sum", "mean", *(["min", "max"] if values.dtype.kind != "c" else [])]
    for name in names:
        expected = getattr(on_host, name)(values)
        for deterministic in (False, True):
            plan = SegmentPlan(on_device, 6, deterministic=deterministic)
            assert_equal(getattr(plan, name)(device_values), expected)
            out = cupy.ones(expected.shape, dtype=expected.dtype)
            assert getattr(plan, name)(device_values, out=out) is out
            assert_equal(out, expected)
        assert_equal(globals()[f"segment_{name}"](device_values, on_device, 6), expected)
    gathered = random_array(dtype, (6, *tail))
    assert_equal(SegmentPlan(on_device, 6).gather(cupy.asarray(gathered)), on_host.gather(gathered))


@pytest.mark.parametrize("dtype", KEYS)
def test_every_integer_dtype_of_keys(dtype) -> None:
    keys = np.array([0, 2, 1, 2, 127], dtype)
    on_device = cupy.asarray(keys)
    values = cupy.arange(5.0)
    assert segment_sum(values, on_device, 3, check=False).get().tolist() == [0, 2, 4]
    assert SegmentPlan(on_device, 3, check=False).sum(values).get().tolist() == [0, 2, 4]
    assert SegmentPlan(on_device, 3, check=False, deterministic=True).sum(values).get().tolist() == [0, 2, 4]
    assert segment_count(on_device, 3, check=False).get().tolist() == [1, 1, 2]
    assert SegmentPlan(on_device, 128).gather(cupy.arange(128)).get().tolist() == [0, 2, 1, 2, 127]
    assert_equal(cell_offsets(cupy.sort(on_device), 130), cell_offsets(np.sort(keys), 130))
    for device, host in zip(segment_boundaries(cupy.sort(on_device)), segment_boundaries(np.sort(keys)), strict=True):
        assert_equal(device, host)


def test_float16_is_rounded_once_like_on_the_host() -> None:
    numbers = np.arange(2**15, dtype=np.uint16).view(np.float16)
    numbers = numbers[np.isfinite(numbers)]
    # the mean of two neighbours is just in the middle, that of (a, a, b) and (a, b, b) to either side of it
    triples = np.stack(
        [numbers[:-1], numbers[1:], numbers[1:], numbers[:-1], numbers[1:], numbers[:-1], numbers[:-1]], 1
    )
    keys = np.arange(numbers.size - 1)[:, None] * 3 + [0, 0, 1, 1, 1, 2, 2]
    values, keys, n = np.r_[triples.ravel(), -triples.ravel()], np.tile(keys.ravel(), 2), 3 * numbers.size
    keys[keys.size // 2 :] += n
    assert_equal(segment_mean(cupy.asarray(values), cupy.asarray(keys), 2 * n), segment_mean(values, keys, 2 * n))
    special = np.float16([65504, 16, 65504, 15, np.inf, -np.inf, np.inf, np.nan, -0.0])
    keys = np.array([0, 0, 1, 1, 2, 3, 3, 4, 5])
    with np.errstate(invalid="ignore"):
        assert_equal(segment_sum(cupy.asarray(special), cupy.asarray(keys), 6), segment_sum(special, keys, 6))


def test_a_deterministic_plan_adds_in_row_order() -> None:
    random = np.random.default_rng(4)
    keys, values = random.integers(0, 40, 5000), random.normal(size=5000) * 10.0 ** random.integers(-8, 8, 5000)
    plan = SegmentPlan(cupy.asarray(keys), 40, deterministic=True)
    assert_equal(plan.sum(cupy.asarray(values)), np.bincount(keys, values, 40))
    assert_equal(plan.count(), np.bincount(keys, minlength=40))
    result = segment_sum(cupy.asarray(values), cupy.asarray(keys), 40, deterministic=True)
    assert_equal(result, np.bincount(keys, values, 40))


def test_layouts_of_values() -> None:
    values = np.random.default_rng(5).normal(size=(40, 6, 2))
    keys = np.random.default_rng(6).integers(-1, 4, 40)
    plan, host_plan = SegmentPlan(cupy.asarray(keys), 4), SegmentPlan(keys, 4)
    device = cupy.asarray(values)
    for view in (
        lambda array: array[:, 0, 0],
        lambda array: array[:, ::2],
        lambda array: array[::-1, 1],
        lambda array: array.transpose(0, 2, 1),
        lambda array: array[:1, 0].repeat(40, axis=0),
    ):
        assert_equal(plan.sum(view(device)), host_plan.sum(view(values)))
        assert_equal(plan.max(view(device)), host_plan.max(view(values)))


def test_integer_sums_are_exact() -> None:
    values = cupy.asarray(np.array([2**53, 1, -(2**63), 2**63 - 1]))
    assert segment_sum(values, cupy.asarray([0, 0, 1, 1]), 2).get().tolist() == [2**53 + 1, -1]


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("dtype", NUMBERS[1:])
def test_scattered_additions_equal_those_of_the_host(dtype, tail, axes) -> None:
    random = np.random.default_rng(7)
    out = random_array(dtype, (3, 4)[:axes] + tail)
    index = tuple(random.integers(-n, n, 30) for n in (3, 4)[:axes])
    for values in (random_array(dtype, (30, *tail)), random_array(dtype, tail)):
        device = cupy.asarray(out)
        scatter_add(device, tuple(map(cupy.asarray, index)), cupy.asarray(values), check=True)
        host = out.copy()
        scatter_add(host, index, values)
        assert_equal(device, host)


def test_scattered_additions_into_other_layouts() -> None:
    random = np.random.default_rng(8)
    index = random.integers(-3, 3, (5, 4))
    values = random.normal(size=(5, 4, 2))
    device, host = cupy.zeros((2, 3)).T, np.zeros((3, 2))
    scatter_add(device, cupy.asarray(index), cupy.asarray(values))
    scatter_add(host, index, values)
    assert_equal(device, host)
    numbers = cupy.zeros(3, dtype=np.float16)
    scatter_add(numbers, cupy.asarray([1, 1]), 1.5)
    scatter_add(numbers, cupy.asarray([2]), np.float32(2))
    assert numbers.get().tolist() == [0, 3, 2]


# --- nothing hidden ---------------------------------------------------------------------------------------------------


def counted(call):
    with xp.profiling.count_transfers() as counter:
        call()
    return [event.kind for event in counter.events]


def test_what_is_read_is_recorded_once_and_can_be_left_out() -> None:
    keys, values = cupy.asarray([0, 1, 1]), cupy.arange(3.0)
    out, cells = cupy.zeros(2), cupy.asarray([0, 0, 1])
    for call in (
        lambda check: SegmentPlan(keys, 2, check=check),
        lambda check: segment_sum(values, keys, 2, check=check),
        lambda check: segment_sum(values, keys, 2, check=check, out=out),
        lambda check: segment_mean(values, keys, 2, check=check),
        lambda check: segment_min(values, keys, 2, check=check),
        lambda check: segment_count(keys, 2, check=check),
        lambda check: cell_offsets(cells, 2, check=check),
        lambda check: scatter_add(out, keys, values, check=check),
        lambda check: scatter_add(out, keys, 1.0, check=check),
    ):
        assert counted(lambda call=call: call(True)) == ["to_host"]
        assert counted(lambda call=call: call(False)) == []
    assert counted(lambda: segment_boundaries(cells)) == ["to_host"]
    assert counted(lambda: scatter_add(out, keys, values)) == []
    for deterministic in (False, True):
        plan = SegmentPlan(keys, 2, deterministic=deterministic)
        for name in ("sum", "mean", "min", "max"):
            assert counted(lambda plan=plan, name=name: getattr(plan, name)(values)) == []
        assert counted(plan.count) == []
        assert counted(lambda plan=plan: plan.gather(out)) == []


def test_each_call_is_one_launch(kernels) -> None:
    keys, values = cupy.asarray([0, 1, 1]), cupy.arange(3.0)
    narrow, out = cupy.zeros(3, dtype=np.float32), cupy.zeros(2)
    plan, ordered = SegmentPlan(keys, 2), SegmentPlan(keys, 2, deterministic=True)
    for call, launches in (
        (lambda: segment_sum(values, keys, 2), ["segment_sum<double, double, long long>"]),
        (lambda: plan.sum(values), ["segment_sum<double, double, int>"]),
        (lambda: plan.sum(narrow), ["segment_sum<float, double, int>", "segment_round<double, float>"]),
        (lambda: plan.min(narrow), ["segment_extreme<Minimum, float, int>"]),
        (lambda: plan.count(), ["segment_count<int>"]),
        (lambda: plan.gather(out), ["segment_gather<unsigned long long, int>"]),
        (lambda: ordered.sum(narrow), ["segment_sum_ordered<float, double, float>"]),
        (lambda: ordered.mean(narrow), ["segment_mean_ordered<float, float>"]),
        (lambda: ordered.max(narrow), ["segment_extreme_ordered<Maximum, float>"]),
        (lambda: cell_offsets(keys, 2), ["cell_offsets<long long>"]),
        (lambda: scatter_add(out, keys, values), ["scatter_add<double, long long>"]),
    ):
        kernels.clear()
        call()
        assert kernels == launches


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_keys_that_are_too_large_change_nothing() -> None:
    keys, values = cupy.asarray([0, -1, 7, 9]), cupy.ones(4)
    out = cupy.full(3, 5.0)
    for call in (
        lambda: SegmentPlan(keys, 3),
        lambda: segment_sum(values, keys, 3),
        lambda: segment_sum(values, keys, 3, out=out),
        lambda: segment_sum(values, keys, 3, deterministic=True),
        lambda: segment_mean(values, keys, 3, out=out),
        lambda: segment_max(values, keys, 3, out=out),
        lambda: segment_count(keys, 3),
        lambda: segment_sum(cupy.ones((4, 0)), keys, 3),
    ):
        with pytest.raises(ArgumentError, match=r"'keys' holds 7 at position 2, .* smaller than n_segments = 3"):
            call()
    assert out.get().tolist() == [5, 5, 5]
    big = cupy.asarray(np.array([1, 2**64 - 1], np.uint64))
    with pytest.raises(ArgumentError, match=f"holds {2**64 - 1} at position 1"):
        SegmentPlan(big, 2)
    assert segment_sum(values[:2], big, 2, check=False).get().tolist() == [0, 1]


def test_cells_and_sorted_keys_that_are_wrong() -> None:
    with pytest.raises(ArgumentError, match="'sorted_cells' is not sorted: 0 at position 2 comes after 1"):
        cell_offsets(cupy.asarray([0, 1, 0]), 2)
    with pytest.raises(ArgumentError, match="'sorted_cells' holds 2 at position 1"):
        cell_offsets(cupy.asarray([0, 2]), 2)
    with pytest.raises(ArgumentError, match="'sorted_cells' holds -1 at position 0"):
        cell_offsets(cupy.asarray([-1, 2]), 3)
    with pytest.raises(ArgumentError, match="'sorted_keys' is not sorted; sort it first"):
        segment_boundaries(cupy.asarray([0, 1, 0]))
    assert cell_offsets(cupy.asarray([], dtype=np.int64), 2).get().tolist() == [0, 0, 0]
    assert [array.size for array in segment_boundaries(cupy.asarray([], dtype=np.int32))] == [0, 0, 0]
    with pytest.raises(ArgumentTypeError, match="'sorted_cells' must have an integer dtype"):
        cell_offsets(cupy.zeros(2), 2)


def test_positions_that_are_out_of_range() -> None:
    out = cupy.zeros((2, 3))
    index = cupy.asarray([0, 2, -3, 1])
    with pytest.raises(ArgumentError, match=r"'index' holds 2 at position 1, .* axis 0 of 'out' with 2 entries"):
        scatter_add(out, index, 1.0, check=True)
    with pytest.raises(ArgumentError, match=r"'index\[1\]' holds -4 at position 0, .* axis 1 of 'out' with 3"):
        scatter_add(out, (cupy.asarray([0]), cupy.asarray([-4])), 1.0, check=True)
    assert not out.get().any()
    scatter_add(out, index, 1.0)
    assert out.get().tolist() == [[1, 1, 1], [1, 1, 1]]
    scatter_add(out, (cupy.asarray([0, -3, 1]), cupy.asarray([3, 0, -1])), 1.0)
    assert out.get().tolist() == [[1, 1, 1], [1, 1, 2]]


def test_mixed_backends() -> None:
    keys, values = np.array([0, 1]), np.ones(2)
    device_keys, device_values = cupy.asarray(keys), cupy.asarray(values)
    for call in (
        lambda: segment_sum(values, device_keys, 2),
        lambda: segment_sum(device_values, keys, 2),
        lambda: segment_sum([1.0, 2.0], device_keys, 2),
        lambda: SegmentPlan(device_keys, 2).gather(values),
    ):
        with pytest.raises(MixedBackendError, match="mismatched backends: argument 'values' belongs to"):
            call()
    with pytest.raises(ArgumentTypeError, match=r"'out' must be a cupy.ndarray"):
        segment_sum(device_values, device_keys, 2, out=values)
    with pytest.raises(ArgumentTypeError, match=r"'out' must be a numpy.ndarray"):
        segment_sum(values, keys, 2, out=device_values)
    with pytest.raises(MixedBackendError, match=r"scatter_add: arguments 'out', 'values' are in device .* 'index'"):
        scatter_add(device_values, keys, device_values)
    foreign = ForeignDeviceArray(values)
    with pytest.raises(ArgumentTypeError, match="'values' is a device array of another library"):
        segment_sum(foreign, device_keys, 2)


def test_outputs_that_overlap() -> None:
    memory = cupy.arange(6.0)
    with pytest.raises(ArgumentError, match="'out' shares memory with argument 'values'"):
        segment_sum(memory[:4], cupy.asarray([0, 1, 0, 1]), 2, out=memory[3:5])
    with pytest.raises(ArgumentError, match="'out' overlaps argument 'values'"):
        scatter_add(memory[:3], cupy.asarray([0]), memory[2:3])
    assert memory.get().tolist() == [0, 1, 2, 3, 4, 5]


def test_other_dtypes_and_shapes() -> None:
    keys = cupy.asarray([0, 1])
    with pytest.raises(ArgumentError, match="one entry for each key along its first axis, 2"):
        segment_sum(cupy.ones(3), keys, 2)
    with pytest.raises(ArgumentTypeError, match="complex numbers have no order"):
        segment_min(cupy.ones(2, dtype=complex), keys, 2)
    with pytest.raises(ArgumentTypeError, match="'values' has dtype float64, which can't be added"):
        scatter_add(cupy.zeros(2, dtype=int), keys, cupy.ones(2))
    with pytest.raises(ArgumentTypeError, match="'index' must have an integer dtype"):
        scatter_add(cupy.zeros(2), cupy.ones(2), 1.0)


def test_a_plan_on_the_device_pickles_and_keeps_its_keys() -> None:
    keys = cupy.asarray([0, 1, 1])
    plan = SegmentPlan(keys, 2)
    keys[...] = 0
    for one in (plan, pickle.loads(pickle.dumps(plan))):
        assert one.sum(cupy.ones(3)).get().tolist() == [1, 2]
