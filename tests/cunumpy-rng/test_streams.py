"""Seeded streams: the vectors of the specification, independence, what seeding touches, state."""

# ruff: noqa: NPY002 - the global state of numpy.random, and generators of the older kind, are meant

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
from array_kinds import KINDS, ArrayKind, ForeignDeviceArray
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from cunumpy.rng import BIT_GENERATORS, PhiloxGenerator, RandomStreams, get_rng, random_streams


@pytest.fixture(autouse=True)
def _restore_the_process():
    state, numpy_state = random_streams.state, np.random.get_state()
    yield
    random_streams.state = state
    np.random.set_state(numpy_state)


def seeded(value=42, rank=0, bit_generator=None) -> RandomStreams:
    streams = RandomStreams()
    streams.seed(value, rank, bit_generator)
    return streams


# --- the specification's vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rank", "bit_generator", "numbers"),
    [
        (0, None, [0.84652896, 0.49200068, 0.7640159]),
        (3, None, [0.24446738, 0.15808912]),
        (0, "Philox", [0.36810123, 0.48154913]),
        (0, "SFC64", [0.37956409, 0.99649676]),
        (0, "PCG64DXSM", [0.29647368, 0.73685937]),
        (1, "MT19937", [0.37339416, 0.12609382]),
    ],
)
def test_vectors(rank, bit_generator, numbers) -> None:
    drawn = seeded(42, rank, bit_generator).random(len(numbers))
    np.testing.assert_allclose(drawn, numbers, rtol=0, atol=5e-9)


def test_uniform_vector() -> None:
    numbers = [0.57002868, 0.9724905, 0.50377011]
    np.testing.assert_allclose(seeded(42, 1).uniform(0, 1, 3), numbers, rtol=0, atol=5e-9)


def test_get_rng_vector() -> None:
    np.testing.assert_allclose(get_rng(7).random(2), [0.62509547, 0.8972138], rtol=0, atol=5e-9)


def test_names_of_bit_generators() -> None:
    assert BIT_GENERATORS == ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
    for name in BIT_GENERATORS:
        assert type(seeded(1, 0, name).generator().bit_generator).__name__ == name


def test_global_seed_vector() -> None:
    random_streams.seed(7)
    drawn = np.random.random(3)
    np.testing.assert_array_equal(drawn, np.random.RandomState(1201125462).random(3))


# --- seeding ----------------------------------------------------------------------------------------------------------


def test_a_private_object_leaves_the_global_state_alone() -> None:
    np.random.seed(1)
    first = np.random.random()
    np.random.seed(1)
    RandomStreams().seed(7)
    copy.deepcopy(random_streams).seed(7)
    random_streams.seed(7, seed_global=False)
    assert np.random.random() == first
    RandomStreams().seed(7, seed_global=True)
    assert np.random.random() == np.random.RandomState(1201125462).random()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((-1,), ArgumentError, r"RandomStreams.seed: argument 'value' must not be negative, got -1"),
        ((1, -1), ArgumentError, "argument 'rank' must not be negative"),
        ((1, 0, "PCG"), ArgumentError, "Unknown bit generator 'PCG'; expected one of MT19937, PCG64"),
        ((1, 0, ["PCG64"]), ArgumentError, "Unknown bit generator"),
        ((1.0,), ArgumentTypeError, r"'value' must be an integer, got float \(1.0\); convert it with int\(...\)"),
        ((np.float64(1),), ArgumentTypeError, "must be an integer"),
        ((True,), ArgumentTypeError, r"got bool \(True\)"),
        (([1],), ArgumentTypeError, r"got list \(\[1\]\)"),
        (("1",), ArgumentTypeError, r"got str \('1'\)"),
        ((1, None), ArgumentTypeError, "'rank' must be an integer, got None"),
    ],
)
def test_a_failed_seed_changes_nothing(arguments, error, text) -> None:
    for streams in (seeded(5, 2, "SFC64"), random_streams):
        generator, numpy_state = streams.generator(), np.random.get_state()[1].tolist()
        before = repr(streams)
        with pytest.raises(error, match=text):
            streams.seed(*arguments)
        assert repr(streams) == before
        assert streams.generator() is generator
        assert np.random.get_state()[1].tolist() == numpy_state


def test_repr() -> None:
    assert repr(RandomStreams()) == "RandomStreams(not seeded)"
    assert repr(seeded(42, 1)) == "RandomStreams(entropy=42, spawn_key=(1,), bit_generator='PCG64')"


def test_seeding_starts_anew() -> None:
    streams = seeded(1, 0, "Philox")
    first, generator = streams.random(), streams.generator()
    streams.seed(1, 0, "Philox")
    assert streams.generator() is not generator
    assert streams.random() == first
    streams.seed(1)  # the default bit generator, not the previous one
    assert type(streams.generator().bit_generator).__name__ == "PCG64"


@pytest.mark.parametrize("value", [0, 2**200, np.int8(3), np.uint64(2**64 - 1), np.array(4)])
def test_integers_of_any_kind_are_seeds(value) -> None:
    assert seeded(value).random() == seeded(int(value)).random()
    assert seeded(value).random() != seeded(int(value) + 1).random()


def test_without_a_seed_streams_differ_and_stay() -> None:
    one, other = RandomStreams(), RandomStreams()
    assert one.random() != other.random()
    assert "not seeded" not in repr(one)
    assert one.make_generator(component=1).random() == one.make_generator(component=1).random()
    one.seed(None)
    other.seed(None)
    assert one.random() != other.random()


# --- generators -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jax", "", None.__class__, 3])
def test_unknown_backends_are_refused(name) -> None:
    for call in (RandomStreams().generator, lambda name: RandomStreams().make_generator(1, name)):
        with pytest.raises(ArgumentError, match=r"^RandomStreams\.\w+: backend must be 'numpy' or 'cupy', got"):
            call(name)


@pytest.mark.skipif(xp.cupy_available(), reason="CuPy is here; the stand-in's tests cover it")
def test_a_missing_cupy_is_an_import_error() -> None:
    for call in (
        lambda: RandomStreams().generator("cupy"),
        lambda: RandomStreams().make_generator(1, "cupy"),
        lambda: RandomStreams().make_generator(backend="cupy", component=1),
    ):
        with pytest.raises(MissingPackageError, match=r"RandomStreams\.\w+: needs CuPy"):
            call()


def test_make_generator_without_a_component() -> None:
    streams = seeded(42, 3)
    assert streams.make_generator() is streams.generator()
    assert streams.make_generator(7).random() == np.random.default_rng(7).random()


def test_components_are_independent() -> None:
    """Each of seed, rank, component and bit generator counts, and a component is not another one's child."""
    drawn = set()
    for seed in (None, 1, 2):
        for rank in (0, 1):
            for component in (0, 1, 2, 2**32, 2**32 + 1, "0", "a", "noise"):
                drawn.add(seeded(42, rank).make_generator(seed, component=component).random())
    drawn.add(seeded(42, 0, "Philox").make_generator(component=0).random())
    for rank in (0, 1):
        streams = seeded(42, rank)
        drawn.add(streams.random())
        drawn |= {child.random() for child in streams.generator().spawn(4)}
    assert len(drawn) == 3 * 2 * 8 + 1 + 2 * 5


def test_a_component_gives_the_same_in_every_process() -> None:
    program = """
from cunumpy.rng import RandomStreams
streams = RandomStreams()
streams.seed(42, rank=1)
print(streams.make_generator(component="noise").random(), streams.make_generator(5, component=3).random())
"""
    here = seeded(42, 1)
    expected = [here.make_generator(component="noise").random(), here.make_generator(5, component=3).random()]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [float(word) for word in done.stdout.split()] == expected


def test_components_of_an_unseeded_object_have_rank_0() -> None:
    assert RandomStreams().make_generator(5, component=1).random() == seeded().make_generator(5, component=1).random()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"component": -1}, ArgumentError, "'component' must not be negative"),
        ({"component": 1.0}, ArgumentTypeError, r"'component' must be an integer, got float \(1.0\)"),
        ({"seed": -1}, ArgumentError, "'seed' must not be negative"),
        ({"seed": 1.5}, ArgumentTypeError, "'seed' must be an integer"),
        ({"seed": [1, 2]}, ArgumentTypeError, "'seed' must be an integer"),
    ],
)
def test_bad_components_are_refused(arguments, error, text) -> None:
    with pytest.raises(error, match=rf"^RandomStreams\.make_generator: argument {text}"):
        seeded().make_generator(**arguments)


def test_philox_generators() -> None:
    assert repr(seeded(42, 3).philox(1)) == f"PhiloxGenerator(seed=42, stream={2**32 + 3}, position=0)"
    wide = seeded(2**64 + 42).philox()
    assert wide.seed not in (42, seeded(2**65 + 42).philox().seed)
    assert wide.seed == seeded(2**64 + 42, rank=1).philox().seed
    unseeded = RandomStreams()
    assert unseeded.philox().state == unseeded.philox().state
    for component, error in ((-1, ArgumentError), (2**32, ArgumentError), (1.0, ArgumentTypeError)):
        with pytest.raises(error, match="argument 'component' must be"):
            seeded().philox(component)
    with pytest.raises(ArgumentError, match="argument 'rank' must be in"):
        seeded(1, 2**32).philox()


def test_get_rng() -> None:
    generator = np.random.default_rng(1)
    assert get_rng(generator) is generator
    philox = PhiloxGenerator(1)
    assert get_rng(philox) is philox
    for seed in ([1, 2], np.random.SeedSequence(3), np.arange(3), 2**100):
        assert get_rng(seed).random() == np.random.default_rng(seed).random()
    assert get_rng().random() != get_rng().random()
    with pytest.raises(ArgumentError, match=r"get_rng: argument 'seed' must not be negative, got -1"):
        get_rng(-1)
    for seed in (1.5, "a"):
        with pytest.raises(ArgumentTypeError, match=r"get_rng: argument 'seed' must be an integer, a sequence of"):
            get_rng(seed)
    with pytest.raises(ArgumentTypeError, match="get_rng: argument 'seed' is an array in device memory"):
        get_rng(ForeignDeviceArray(np.arange(2)))


# --- draws ------------------------------------------------------------------------------------------------------------


class Bare:
    """A generator with the two basic methods alone."""

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.random, self.standard_normal = generator.random, generator.standard_normal


DRAWS = ["random", "standard_normal", "normal", "uniform"]


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("size", [None, 3, (2, 3), (), 0])
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, Bare, PhiloxGenerator])
def test_draws(name, size, make) -> None:
    drawn = getattr(RandomStreams(), name)(size=size, rng=make(3))
    assert type(drawn) is float if size is None else (drawn.shape, drawn.dtype) == (np.empty(size).shape, float)
    if make in (np.random.default_rng, np.random.RandomState, PhiloxGenerator):
        np.testing.assert_array_equal(drawn, getattr(make(3), name)(size=size))


def test_draws_by_default_are_the_object_s() -> None:
    streams, generator = seeded(), seeded().generator()
    for name in DRAWS:
        assert getattr(streams, name)() == getattr(generator, name)()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("make", [np.random.default_rng, Bare, PhiloxGenerator])
def test_every_kind_as_a_parameter(kind: ArrayKind, make, tmp_path) -> None:
    """Where there are no `normal` and `uniform`, parameters mean what they mean to NumPy."""
    for name, argument in (("normal", "loc"), ("uniform", "low")):
        value = kind.make(tmp_path)
        call = getattr(RandomStreams(), name)
        width = {"high": np.float64(2.0**65)} if name == "uniform" else {}
        real = (
            kind.values is not None and kind.values.dtype.kind in "biuf" and not isinstance(value, ForeignDeviceArray)
        )
        if real:
            drawn = call(**{argument: value}, **width, rng=make(1))
            expected = getattr(make(1), name if make is not Bare else "random")
            if make is Bare:
                z = (
                    make(1).standard_normal(kind.values.shape)
                    if name == "normal"
                    else make(1).random(kind.values.shape)
                )
                loc = kind.values.astype(float)
                np.testing.assert_allclose(drawn, loc + z if name == "normal" else loc + (2.0**65 - loc) * z)
            else:
                np.testing.assert_array_equal(drawn, expected(kind.values, *width.values()))
            assert np.shape(drawn) == kind.values.shape
        elif make is not np.random.default_rng:  # whose errors are NumPy's own
            with pytest.raises((ArgumentError, ArgumentTypeError), match=rf"argument '{argument}'"):
                call(**{argument: value}, **width, rng=make(1))


@pytest.mark.parametrize("make", [Bare, PhiloxGenerator])
def test_parameters_are_checked(make) -> None:
    streams = RandomStreams()
    for scale in (-1.0, [1.0, -1.0]):
        with pytest.raises(ArgumentError, match=r"\.normal: argument 'scale' must not be negative"):
            streams.normal(0.0, scale, rng=make(1))
    for low, high in ((1.0, 0.0), (0.0, np.inf), (-1.7e308, 1.7e308), (0.0, np.nan), ([0.0, 2.0], 1.0)):
        with pytest.raises(ArgumentError, match=r"\.uniform: arguments 'low' and 'high' must be finite.*in order"):
            streams.uniform(low, high, rng=make(1))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_errors_of_numpy_s_generators_are_its_own(make) -> None:
    with pytest.raises(ValueError, match="scale < 0"):
        RandomStreams().normal(0.0, -1.0, rng=make(1))
    with pytest.raises(OverflowError):
        RandomStreams().uniform(0.0, np.inf, rng=make(1))


# --- state ------------------------------------------------------------------------------------------------------------


@given(st.sampled_from(BIT_GENERATORS), st.integers(0, 2**130), st.integers(0, 9), st.integers(0, 5), st.integers(1, 9))
def test_state_restores_the_sequence(name, value, rank, before, after) -> None:
    streams = seeded(value, rank, name)
    if before:
        streams.random(before)
        streams.generator().spawn(before - 1)
    state = streams.state
    copies = [copy.deepcopy(streams), copy.copy(streams), pickle.loads(pickle.dumps(streams)), RandomStreams()]
    copies[-1].state = pickle.loads(pickle.dumps(state))
    expected, child = streams.random(after), streams.generator().spawn(1)[0].random()
    streams.state = state
    for other in (*copies, streams):
        assert repr(other) == repr(streams)
        np.testing.assert_array_equal(other.random(after), expected)
        assert other.generator().spawn(1)[0].random() == child


def test_an_unseeded_state() -> None:
    streams = RandomStreams()
    state = streams.state
    assert json.loads(json.dumps(state)) == state
    streams.random()
    streams.state = state
    assert repr(streams) == "RandomStreams(not seeded)"


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"extra": 1}, ArgumentTypeError, "must be a dict with the keys entropy, rank, bit_generator"),
        ({"entropy": 1.5}, ArgumentTypeError, "argument 'entropy' must be an integer"),
        ({"rank": -1}, ArgumentError, "argument 'rank' must not be negative"),
        ({"bit_generator": "XORWOW"}, ArgumentError, "Unknown bit generator 'XORWOW'"),
        ({"bit_generator": "SFC64"}, ArgumentError, "the state of the numpy generator can't be restored"),
        ({"generators": []}, ArgumentTypeError, "has generators of type list, not dict"),
        ({"generators": {"jax": {}}}, ArgumentError, "backend must be"),
        ({"generators": {"numpy": {}}}, ArgumentError, "can't be restored: 'state'; assign what the property gave"),
        ({"generators": {"numpy": None}}, ArgumentError, "can't be restored"),
    ],
)
def test_bad_states_change_nothing(change, error, text) -> None:
    streams = seeded()
    streams.random()
    before = streams.state
    with pytest.raises(error, match=rf"^RandomStreams\.state: .*{text}"):
        streams.state = {**before, **change}
    assert streams.state == before
    with pytest.raises(ArgumentTypeError, match="got int"):
        streams.state = 3


def test_threads_get_one_generator() -> None:
    for _ in range(20):
        streams, start = RandomStreams(), threading.Barrier(8)

        def first_use(_: int, streams=streams, start=start) -> object:
            start.wait()
            return streams.generator()

        with ThreadPoolExecutor(8) as pool:
            assert len(set(map(id, pool.map(first_use, range(8))))) == 1


def test_threads_draw_each_number_once() -> None:
    streams = seeded()
    with ThreadPoolExecutor(8) as pool:
        drawn = np.concatenate(list(pool.map(lambda _: streams.random(1000), range(160))))
    assert set(drawn) == set(seeded().random(160_000))
