"""The counter-based generator on device arrays: its CUDA kernels run on the host, and give what the host gives."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError
from cunumpy.rng import PhiloxGenerator, RandomStreams, random_streams

pytestmark = pytest.mark.usefixtures("raw_modules")

FLOATS = [np.float64, np.float32]
INTEGERS = [*(np.dtype(letter) for letter in "bBhHiIqQ"), np.dtype(bool)]


def at(position: int = 0) -> PhiloxGenerator:
    generator = PhiloxGenerator(2**63 + 5, 2**40 + 1)
    generator.position = position
    return generator


def both(call, position: int = 0):
    """Draw on both backends; give the two results, as host arrays."""
    results, positions = [], []
    for backend in ("numpy", "cupy"):
        generator = at(position)
        with xp.use_backend(backend):
            result = call(generator)
        assert isinstance(result, cupy.ndarray) == (backend == "cupy")
        results.append(result.get() if backend == "cupy" else np.asarray(result))
        positions.append(generator.position)
    assert positions[0] == positions[1]
    assert results[0].shape == results[1].shape
    assert results[0].dtype == results[1].dtype
    return results


def assert_close(host: np.ndarray, device: np.ndarray) -> None:
    size = np.maximum(np.abs(host), np.finfo(host.dtype).eps)  # near zero the units of 2^-52 (2^-23) count
    assert (np.abs(host - device) <= 8 * np.spacing(size)).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 1023])
def test_real_numbers(n, dtype, raw_modules) -> None:
    position = 2**56 - 600
    np.testing.assert_array_equal(*both(lambda g: g.random(n, dtype), position))
    np.testing.assert_array_equal(*both(lambda g: g.uniform(-0.3, 1.7, n, dtype=dtype), position))
    assert_close(*both(lambda g: g.standard_normal((n, 1), dtype), position))
    assert_close(*both(lambda g: g.standard_exponential(n, dtype), position))
    normal, device = both(lambda g: g.normal(100.0, 0.5, n, dtype=dtype), position)
    assert (np.abs(normal - device) <= np.spacing(dtype(100))).all()
    assert_close(*both(lambda g: g.exponential(3.0, n, dtype=dtype), position))
    assert len(raw_modules) == (6 if n else 0)  # one launch a call


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers(dtype, raw_modules) -> None:
    first, last = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    intervals = [(first, last), (last, last), (0, 1), (max(first, -3), last // 2), (max(first, -(2**62)), last)]
    for low, high in intervals:
        for n in (0, 1, 777):
            np.testing.assert_array_equal(*both(lambda g, n=n: g.integers(low, high, n, dtype, endpoint=True)))  # noqa: B023
    assert len(raw_modules) == 2 * len(intervals)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8])
def test_integers_between_arrays(dtype) -> None:
    random = np.random.default_rng(1)
    info = np.iinfo(dtype)
    low = random.integers(info.min, info.max, (7, 1), dtype, endpoint=True)
    high = np.maximum(random.integers(info.min, info.max, 5, dtype, endpoint=True), low.max())
    host = at().integers(low, high, dtype=dtype, endpoint=True)
    device = at().integers(cupy.asarray(low), cupy.asarray(high), dtype=dtype, endpoint=True)
    np.testing.assert_array_equal(device.get(), host)
    top = cupy.asarray(high)
    np.testing.assert_array_equal(
        at().integers(int(low.min()), top, (7, 5), dtype, True).get(),
        at().integers(int(low.min()), high, (7, 5), dtype, True),
    )


def test_orders_and_choices() -> None:
    np.testing.assert_array_equal(*both(lambda g: g.permutation(1000)))
    np.testing.assert_array_equal(*both(lambda g: g.choice(17, (20, 3))))
    np.testing.assert_array_equal(*both(lambda g: g.choice(17, 5, replace=False)))
    p = (np.arange(50.0) / np.arange(50.0).sum()).tolist()
    np.testing.assert_array_equal(*both(lambda g: g.choice(50, 1000, p=p)))
    np.testing.assert_array_equal(*both(lambda g: g.choice(50, 40, replace=False, p=p)))
    np.testing.assert_array_equal(*both(lambda g: g.choice([1.5, 2.5, 3.5], 10)))
    np.testing.assert_array_equal(*both(lambda g: g.choice(5)))
    x = np.arange(24.0).reshape(4, 6)
    for axis in (0, -1):
        np.testing.assert_array_equal(at().permutation(cupy.asarray(x), axis).get(), at().permutation(x, axis))
        np.testing.assert_array_equal(at().choice(cupy.asarray(x), 3, axis=axis).get(), at().choice(x, 3, axis=axis))


def test_arrays_decide_which_backend_draws() -> None:
    for backend in ("numpy", "cupy"):
        with xp.use_backend(backend):
            assert isinstance(at().normal(np.zeros(3)), np.ndarray)
            assert isinstance(at().normal(cupy.zeros(3)), cupy.ndarray)
            assert isinstance(at().permutation(np.zeros(3)), np.ndarray)
            assert isinstance(at().permutation(cupy.zeros(3)), cupy.ndarray)
            for empty in (np.empty, cupy.empty):
                out = empty((3, 5))
                assert at().random(out=out) is out
                np.testing.assert_array_equal(xp.to_numpy(out).reshape(-1), at().random(out=np.empty(15)))
            assert isinstance(at().normal(), float if backend == "numpy" else cupy.ndarray)
            assert isinstance(at().normal([0.0, 1.0]), np.ndarray if backend == "numpy" else cupy.ndarray)


def test_mixed_backends_are_refused() -> None:
    generator = at()
    for call, names in (
        (lambda: generator.normal(np.zeros(3), cupy.ones(3)), "'scale' are in device memory and 'loc' on the host"),
        (lambda: generator.uniform(np.zeros(3), 1, out=cupy.zeros(3)), "'out' are in device memory and 'low'"),
        (lambda: generator.integers(cupy.arange(1, 3), out=np.zeros(2, int)), "'low' are in device memory and 'out'"),
        (lambda: generator.choice(cupy.zeros(2), p=np.array([0.5, 0.5])), "'a' are in device memory and 'p'"),
    ):
        with pytest.raises(MixedBackendError, match=rf"^PhiloxGenerator\.\w+: arguments {names}"):
            call()
    assert generator.position == 0


def test_nothing_waits() -> None:
    loc, scale, out = cupy.zeros(8), cupy.ones(8), cupy.empty(8)
    low, high, p = cupy.zeros(8, int), cupy.full(8, 7), cupy.full(8, 0.125)
    with xp.use_backend("cupy"), xp.profiling.forbid_transfers(syncs=True):
        generator = at()
        generator.random()
        generator.normal(out=out)
        generator.integers(10, size=3)
        generator.permutation(10)
        generator.permutation(loc)
        generator.choice(loc, 3)
        generator.normal(loc, scale, check=False)
        generator.exponential(scale, check=False)
        generator.uniform(loc, scale, check=False)
        generator.integers(low, high, check=False)
        generator.choice(8, 3, p=p, check=False)
        generator.choice(8, 3, replace=False, p=p, check=False)


def test_checks_of_device_parameters_are_recorded() -> None:
    loc, scale, p = cupy.zeros(2), cupy.ones(2), cupy.full(2, 0.5)
    for name, call in {
        "normal": lambda g: g.normal(loc, scale),
        "uniform": lambda g: g.uniform(loc, scale),
        "exponential": lambda g: g.exponential(scale),
        "integers": lambda g: g.integers(cupy.arange(2), cupy.full(2, 5)),
        "choice": lambda g: g.choice(2, p=p),
    }.items():
        with xp.profiling.count_transfers() as counter:
            call(at())
        assert {event.kind for event in counter.events} == {"to_host"}
        assert all(event.description.startswith(f"PhiloxGenerator.{name}(") for event in counter.events)
        assert sum(event.nbytes for event in counter.events) <= 24


def test_lists_are_copied_to_the_device_and_counted() -> None:
    with xp.use_backend("cupy"), xp.profiling.count_transfers() as counter:
        assert at().normal([0.0, 10.0], 1.0, check=False).shape == (2,)
        assert at().choice([1, 2, 3]).shape == ()
    assert [event.kind for event in counter.events] == ["to_device", "to_device"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g: g.normal(0.0, cupy.asarray([1.0, -1.0])), ArgumentError, "normal: argument 'scale' must not be neg"),
        (
            lambda g: g.uniform(cupy.asarray([2.0]), 1.0),
            ArgumentError,
            "uniform: arguments 'low' and 'high' must be fin",
        ),
        (lambda g: g.integers(cupy.asarray([2]), 2), ArgumentError, "integers: the interval is empty"),
        (
            lambda g: g.integers(cupy.asarray([-1]), 2, dtype="u1"),
            ArgumentError,
            "integers: .* goes beyond dtype uint8",
        ),
        (lambda g: g.integers(cupy.asarray([1.5])), ArgumentTypeError, "integers: argument 'low' must have an integer"),
        (lambda g: g.normal(cupy.zeros(2, complex)), ArgumentTypeError, "normal: argument 'loc' has dtype complex128"),
        (lambda g: g.choice(2, p=cupy.asarray([0.5, 0.6])), ArgumentError, "choice: argument 'p' has sum 1.1"),
        (lambda g: g.random(out=cupy.zeros(4)[::2]), ArgumentError, "random: argument 'out' must be C-contiguous"),
        (lambda g: g.random(out=cupy.zeros(4, "f4")), ArgumentError, "random: argument 'out' must have shape"),
        (lambda g: g.permutation(cupy.zeros(())), ArgumentError, "permutation: argument 'x' must be an integer or"),
    ],
)
def test_bad_arguments_are_refused(call, error, text) -> None:
    generator = at()
    with pytest.raises(error, match=rf"^PhiloxGenerator\.{text}"):
        call(generator)
    assert generator.position == 0


def test_an_output_that_is_a_parameter_is_refused() -> None:
    out = cupy.ones(4)
    with pytest.raises(ArgumentError, match="argument 'out' shares memory with argument 'loc'"):
        at().normal(out[::-1], out=out)
    assert (out == 1).all()


def test_draws_of_streams_take_the_generator() -> None:
    streams = RandomStreams()
    streams.seed(42, rank=1)
    for name in ("random", "standard_normal", "normal", "uniform"):
        drawn = []
        for backend in ("numpy", "cupy"):
            with xp.use_backend(backend):
                drawn.append(xp.to_numpy(getattr(random_streams, name)(size=9, rng=streams.philox(component=2))))
        assert_close(*drawn)
