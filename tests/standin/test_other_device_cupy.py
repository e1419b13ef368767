"""Arrays of a device that is not the current one, in every function of the algorithms and random numbers."""

from __future__ import annotations

import cupy
import pytest

from cunumpy import algorithms, rng
from cunumpy.errors import ArgumentError

PLAN_METHODS = ("sum", "min", "max", "mean", "gather")

CALLS = {
    "sort_by_key": lambda a, v: algorithms.sort_by_key(a),
    "sort_by_cell": lambda a, v: algorithms.sort_by_cell(a, 6),
    "segment_boundaries": lambda a, v: algorithms.segment_boundaries(a),
    "cell_offsets": lambda a, v: algorithms.cell_offsets(a, 6),
    "SegmentPlan": lambda a, v: algorithms.SegmentPlan(a, 6),
    "segment_sum": lambda a, v: algorithms.segment_sum(v, a, 6),
    "segment_count": lambda a, v: algorithms.segment_count(a, 6),
    "scatter_add": lambda a, v: algorithms.scatter_add(v, a, 1.0),
    "compact_by_mask": lambda a, v: algorithms.compact_by_mask(a > 2, v),
    "morton_encode": lambda a, v: algorithms.morton_encode(a, a),
    "morton_decode": lambda a, v: algorithms.morton_decode(a, 2),
    "morton_keys": lambda a, v: algorithms.morton_keys(v.reshape(3, 2), [0, 0], [1, 1], 3),
    "hilbert_keys": lambda a, v: algorithms.hilbert_keys(v.reshape(3, 2), [0, 0], [1, 1], 3),
    "philox_uniform": lambda a, v: rng.philox_uniform(1, 2, a),
    "philox_normal2": lambda a, v: rng.philox_normal2(1, 2, a),
    "philox4x32_10": lambda a, v: rng.philox4x32_10(a[:4], 1, 2),
    "PhiloxGenerator.random": lambda a, v: rng.PhiloxGenerator(1).random(out=v),
    "PhiloxGenerator.normal": lambda a, v: rng.PhiloxGenerator(1).normal(v, 1.0),
    "PhiloxGenerator.integers": lambda a, v: rng.PhiloxGenerator(1).integers(a + 1),
    "PhiloxGenerator.permutation": lambda a, v: rng.PhiloxGenerator(1).permutation(a),
    "PhiloxGenerator.choice": lambda a, v: rng.PhiloxGenerator(1).choice(6, 3, p=v + 1 / 6),
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_another_device_are_refused(name, monkeypatch) -> None:
    keys, values = cupy.arange(6), cupy.zeros(6)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 3)
    with pytest.raises(ArgumentError, match=rf"^{name}: argument '.*' is on device 0, the current device is 3"):
        CALLS[name](keys, values)
    assert (values.get() == 0).all()


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("method", [*PLAN_METHODS, "count"])
def test_a_plan_belongs_to_its_device(method, deterministic, monkeypatch, raw_modules) -> None:
    plan = algorithms.SegmentPlan(cupy.arange(6), 6, deterministic=deterministic)
    values = () if method == "count" else (cupy.zeros(6),)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 3)
    raw_modules.clear()
    with pytest.raises(ArgumentError, match=rf"^SegmentPlan.{method}: argument 'keys' is on device 0"):
        getattr(plan, method)(*values)
    assert not raw_modules
