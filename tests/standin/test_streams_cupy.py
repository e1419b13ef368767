"""Seeded streams with CuPy's generators, on the stand-in."""

# ruff: noqa: NPY002 - the global state of numpy.random, and generators of the older kind, are meant

from __future__ import annotations

import copy
import pickle
import warnings

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyWarning, MixedBackendError
from cunumpy.rng import RandomStreams, get_rng, random_streams


@pytest.fixture(autouse=True)
def _restore_the_process():
    state, numpy_state, cupy_state = random_streams.state, np.random.get_state(), cupy.random.get_random_state()
    cupy.random.set_random_state(cupy.random.RandomState(0))
    yield
    random_streams.state = state
    np.random.set_state(numpy_state)
    cupy.random.set_random_state(cupy_state)


def seeded(value=42, rank=0, bit_generator=None) -> RandomStreams:
    streams = RandomStreams()
    streams.seed(value, rank, bit_generator)
    return streams


def test_cupy_s_generator_has_a_key_of_its_own() -> None:
    child = np.random.SeedSequence(42, spawn_key=(3, 1))
    expected = cupy.random.default_rng(int(child.generate_state(1, np.uint64)[0])).random(5)
    drawn = seeded(42, 3).generator("cupy").random(5)
    assert (drawn == expected).all()
    streams = seeded(42, 3)
    with xp.use_backend("cupy"):
        assert streams.generator() is streams.generator("cupy")
        assert (streams.random(5) == expected).all()
    with xp.use_backend("numpy"):
        assert isinstance(streams.random(5), np.ndarray)


def test_draws_give_device_arrays_and_transfer_nothing() -> None:
    streams = seeded()
    streams.generator("cupy")
    with xp.use_backend("cupy"), xp.profiling.forbid_transfers(syncs=True):
        for drawn in (
            streams.random(),
            streams.standard_normal(),
            streams.normal(),
            streams.uniform(1.0, 2.0),
            streams.random(rng=cupy.random.RandomState(1)),
            streams.normal(2.0, cupy.ones(())),
        ):
            assert isinstance(drawn, cupy.ndarray)
            assert (drawn.shape, drawn.dtype) == ((), np.float64)
        assert streams.normal(cupy.zeros(3), 1.0).shape == (3,)
        assert streams.uniform(cupy.zeros((3, 1)), cupy.ones(2)).shape == (3, 2)


@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_lists_are_copied_to_the_device_and_counted(name) -> None:
    with xp.use_backend("cupy"), xp.profiling.count_transfers() as counter:
        drawn = getattr(seeded(), name)([0.0, 100.0], [1.0, 101.0], (4, 2))
        single = getattr(seeded(), name)([0.0, 100.0], 200.0)
    assert drawn.shape == (4, 2)
    assert single.shape == (2,)
    assert [event.kind for event in counter.events] == ["to_device"] * 3
    assert counter.events[0].description == f"RandomStreams.{name}(shape=(2,), dtype=float64)"
    if name == "uniform":
        assert (abs(drawn - cupy.asarray([0.5, 100.5])) <= 0.5).all()


def test_values_are_checked_where_they_are_on_the_host() -> None:
    streams = seeded()
    with xp.use_backend("cupy"):
        with pytest.raises(ArgumentError, match=r"RandomStreams\.normal: argument 'scale' must not be negative"):
            streams.normal(0.0, -1.0)
        with pytest.raises(ArgumentError, match=r"RandomStreams\.uniform: arguments 'low' and 'high' must be finite"):
            streams.uniform(1.0, 0.0)


def test_arrays_of_the_other_backend_are_refused() -> None:
    streams = seeded()
    with pytest.raises(
        MixedBackendError, match=r"RandomStreams\.normal: argument 'loc' is numpy.ndarray.*xp.to_cupy\(loc"
    ):
        streams.normal(np.zeros(2), rng=streams.generator("cupy"))
    with pytest.raises(TypeError):  # NumPy's own
        streams.normal(cupy.zeros(2), rng=streams.generator("numpy"))


def test_bit_generators() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(seeded().generator("cupy").bit_generator) is cupy.random.XORWOW
        assert type(seeded(1, 0, "Philox").generator("cupy").bit_generator) is cupy.random.Philox4x3210
        component = seeded(1, 0, "Philox").make_generator(backend="cupy", component="a")
        assert type(component.bit_generator) is cupy.random.Philox4x3210
    for call in (lambda s: s.generator("cupy"), lambda s: s.make_generator(backend="cupy", component=1)):
        with pytest.warns(
            CuNumpyWarning, match="CuPy has no bit generator 'SFC64', so its default draws on the device"
        ):
            assert type(call(seeded(1, 0, "SFC64")).bit_generator) is cupy.random.XORWOW


def test_components() -> None:
    drawn = [
        float(seeded(42, rank).make_generator(seed, "cupy", component).random())
        for rank in (0, 1)
        for seed in (None, 1)
        for component in (0, 1, "a", "b")
    ]
    drawn += [float(seeded(42, rank).generator("cupy").random()) for rank in (0, 1)]
    assert len(set(drawn)) == 18
    streams = seeded()
    assert float(streams.make_generator(7, "cupy").random()) == float(cupy.random.default_rng(7).random())


# --- the global state -------------------------------------------------------------------------------------------------

NUMBER = 1201125462  # of seed 7, rank 0


def global_draw() -> float:
    return float(cupy.random.random())


def after_seeding() -> float:
    return float(cupy.random.RandomState(NUMBER).random_sample())


def test_the_global_state_is_seeded_at_once_on_cupy() -> None:
    with xp.use_backend("cupy"):
        random_streams.seed(7)
    assert global_draw() == after_seeding()


def test_the_global_state_is_seeded_when_cupy_is_first_used() -> None:
    with xp.use_backend("numpy"):
        random_streams.seed(7)
    assert global_draw() == float(cupy.random.RandomState(0).random_sample())
    random_streams.generator("cupy")
    assert global_draw() == after_seeding()
    random_streams.generator("cupy")
    assert global_draw() != after_seeding()


def test_a_private_object_leaves_the_global_state_alone() -> None:
    with xp.use_backend("cupy"):
        for streams in (RandomStreams(), copy.deepcopy(random_streams)):
            streams.seed(7)
            streams.random()
        random_streams.seed(7, seed_global=False)
        random_streams.random()
    assert global_draw() == float(cupy.random.RandomState(0).random_sample())
    with xp.use_backend("cupy"):
        RandomStreams().seed(7, seed_global=True)
    assert global_draw() == after_seeding()


def test_a_seed_that_fails_in_cupy_changes_nothing(monkeypatch) -> None:
    streams, before = seeded(3), np.random.get_state()[1].tolist()

    def failing(_: int) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(cupy.random, "seed", failing)
    with xp.use_backend("cupy"), pytest.raises(RuntimeError, match="no memory"):
        streams.seed(7, seed_global=True)
    assert "entropy=3" in repr(streams)
    assert np.random.get_state()[1].tolist() == before


# --- state ------------------------------------------------------------------------------------------------------------


def test_state_restores_the_sequence_of_both_backends() -> None:
    streams = seeded(5, 1, "Philox")
    for backend in ("numpy", "cupy"):
        with xp.use_backend(backend):
            streams.random(7)
    with xp.profiling.count_transfers() as counter:
        state = streams.state
    assert [(event.kind, event.description.partition("(")[0]) for event in counter.events] == [
        ("to_host", "RandomStreams.state")
    ]
    copies = [copy.deepcopy(streams), pickle.loads(pickle.dumps(streams)), RandomStreams()]
    copies[-1].state = state
    with xp.use_backend("cupy"):
        expected = streams.normal(size=5).get()
        for other in copies:
            np.testing.assert_array_equal(other.normal(size=5).get(), expected)
    expected = streams.generator("numpy").random(5)
    for other in copies:
        np.testing.assert_array_equal(other.generator("numpy").random(5), expected)


def test_a_state_of_another_size_changes_nothing() -> None:
    streams = seeded()
    streams.generator("cupy")
    state = streams.state
    state["generators"]["cupy"]["state"] = np.zeros(3, np.int8)
    before = repr(streams), streams.generator("cupy")
    with pytest.raises(
        ArgumentError, match=r"the state of the cupy generator can't be restored: it must be an array of"
    ):
        streams.state = state
    assert (repr(streams), streams.generator("cupy")) == before


def test_get_rng() -> None:
    with xp.use_backend("cupy"):
        assert float(get_rng(7).random()) == float(cupy.random.default_rng(7).random())
        generator = get_rng([1, 2])
        assert get_rng(generator) is generator
        with pytest.raises(ArgumentTypeError, match="argument 'seed' is an array in device memory"):
            get_rng(cupy.arange(2))
        with pytest.raises(ArgumentTypeError, match=r"generator of the active backend \(cupy\), got 1.5"):
            get_rng(1.5)
