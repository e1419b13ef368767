"""The counter-based generator on the host: the definition, the partition of counters, distributions, refusals.

Every test with the fixture `path` runs on the native library, for each instruction set, and on NumPy.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
import philox_reference as reference
from array_kinds import KINDS, ArrayKind, ForeignDeviceArray, as_compared
from cunumpy.errors import ArgumentError, ArgumentTypeError, SettingError
from cunumpy.rng import PhiloxGenerator, _host, _numpy_generator, stream_number
from cunumpy.rng._library import HOST
from nvrtc import ARCHITECTURES, compile_cuda

FLOATS = [np.float64, np.float32]
INTEGERS = [np.dtype(letter) for letter in "bBhHiIqQ"]
U64 = st.integers(0, 2**64 - 1)


LIBRARY = HOST.library
PATHS = ["numpy", *(["baseline", "AVX2", "AVX-512"] if LIBRARY is not None else [])]


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    """Let a test run on NumPy, and on the native library with each instruction set that this processor has."""
    if request.param == "numpy":
        monkeypatch.setattr(_host, "generator", _numpy_generator)
        yield
    else:
        LIBRARY.cunumpy_use_instruction_set(PATHS.index(request.param) - 1)
        yield
        LIBRARY.cunumpy_use_instruction_set(-1)


def at(seed: int, stream: int = 0, position: int = 0) -> PhiloxGenerator:
    generator = PhiloxGenerator(seed, stream)
    generator.position = position
    return generator


def ulps(found: np.ndarray, exact: np.ndarray, dtype: type) -> float:
    """Give the largest error in units in the last place of the type; what is below 2^-52 (2^-23) counts as that."""
    size = np.maximum(np.abs(exact), np.finfo(dtype).eps).astype(dtype)
    return float(np.max(np.abs(found.astype(np.float64) - exact) / np.spacing(size), initial=0))


# --- the definition ---------------------------------------------------------------------------------------------------


def expected_uniforms(seed: int, stream: int, position: int, n: int, dtype: type = np.float64) -> np.ndarray:
    """Give the n uniform numbers from a position on."""
    found: list[float] = []
    while len(found) < n:
        if dtype is np.float64:
            found += reference.uniforms(seed, stream, position)
        else:
            found += [(word >> 8) * 2.0**-24 for word in reference.words(seed, stream, position)]
        position += 1
    return np.array(found[:n], dtype)


def expected_normals(seed: int, stream: int, position: int, n: int, dtype: type = np.float64) -> np.ndarray:
    """Give the n normal numbers from a position on, computed in float64."""
    u = expected_uniforms(seed, stream, position, n + n % 2, dtype).astype(np.float64).reshape(-1, 2)
    angle = u[:, 1] * float(dtype(2 * math.pi))
    if dtype is np.float32:  # the angle is rounded before its sine is taken
        angle = angle.astype(np.float32).astype(np.float64)
    radius = np.sqrt(-2 * np.log1p(-u[:, 0]))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:n]


def expected_exponentials(seed: int, stream: int, position: int, n: int, dtype: type = np.float64) -> np.ndarray:
    """Give the n exponential numbers from a position on, computed in float64."""
    return -np.log1p(-expected_uniforms(seed, stream, position, n, dtype).astype(np.float64))


def expected_integers(seed: int, stream: int, position: int, n: int, span: int) -> list[int]:
    """Give the n integers in [0, span) from a position on."""
    blocks = range(position, position + -(-n // 2))
    return [number for block in blocks for number in reference.bounded(seed, stream, block, span)][:n]


@pytest.mark.parametrize(("where", "uniform", "normal"), [row for row in reference.TABLE if row[0][2] < 2**56])
def test_vectors(path, where, uniform, normal) -> None:
    assert [number.hex() for number in at(*where).random(2).tolist()] == list(uniform)
    np.testing.assert_array_max_ulp(at(*where).standard_normal(2), np.array(normal), 8)


@pytest.mark.parametrize("seed", [3, 2**64 - 1])
def test_pairs_are_those_of_the_stateless_functions(path, seed) -> None:
    counters = np.arange(500)
    pairs = np.stack(xp.rng.philox_uniform2(seed, 7, counters), axis=1)
    np.testing.assert_array_equal(PhiloxGenerator(seed, 7).random(1000), pairs.reshape(-1))
    pairs = np.stack(xp.rng.philox_normal2(seed, 7, counters), axis=1)
    np.testing.assert_array_max_ulp(PhiloxGenerator(seed, 7).standard_normal(1000), pairs.reshape(-1), 8)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 64, 511, 513, 2050])
def test_real_numbers_are_those_of_the_definition(path, n, dtype) -> None:
    where = 2**63 + 12345, 2**40 + 7, 2**56 - 3000
    np.testing.assert_array_equal(at(*where).random(n, dtype), expected_uniforms(*where, n, dtype))
    for name, expected in (("normal", expected_normals), ("exponential", expected_exponentials)):
        drawn = getattr(at(*where), f"standard_{name}")(n, dtype)
        assert drawn.dtype == dtype
        assert ulps(drawn, expected(*where, n, dtype), dtype) <= 8


@pytest.mark.parametrize("span", [1, 2, 3, 7, 100, 2**32 - 1, 2**32, 2**32 + 1, 2**63, 2**63 + 1, 3 * 2**62, 2**64 - 1])
@pytest.mark.parametrize("n", [1, 2, 701])
def test_integers_are_those_of_the_definition(path, span, n) -> None:
    """Spans a little above 2^63 reject every second try."""
    where = 5, 6, 2**56 - 400
    drawn = at(*where).integers(0, span, n, np.uint64)
    assert drawn.tolist() == expected_integers(*where, n, span)
    assert at(*where).integers([0], [span - 1], n, np.uint64, endpoint=True).tolist() == drawn.tolist()


def span_that_rejects(bits: int) -> int | None:
    """Find a span below 2^32 for which these bits are drawn again: a denominator of a good approximation of them."""
    top, rest, before, span = bits, 2**64, 1, 0
    while rest:
        digit, top, rest = top // rest, rest, top % rest
        before, span = span, digit * span + before
        if span >= 2**32:
            break
        if bits * span % 2**64 < 2**64 % span:
            return span
    return None


def test_small_spans_are_drawn_again_too(path) -> None:
    """Chance would show it in 2^32 draws at the earliest, so the spans are made for the bits."""
    found = 0
    for position in range(100):
        for bits in reference.bits64(7, 0, position):
            span = span_that_rejects(bits)
            if span is not None:
                found += 1
                expected = expected_integers(7, 0, position, 2, span)
                assert at(7, 0, position).integers(span, size=2).tolist() == expected
                assert at(7, 0, position).integers([span], size=2).tolist() == expected
    assert found > 20


def test_the_whole_64_bits(path) -> None:
    bits = [word for block in range(3) for word in reference.bits64(9, 1, block)]
    assert at(9, 1).integers(0, 2**64, 5, np.uint64).tolist() == bits[:5]
    assert at(9, 1).integers(0, 2**64 - 1, 5, np.uint64, endpoint=True).tolist() == bits[:5]
    signed = at(9, 1).integers(-(2**63), 2**63, 5)
    assert [(number + 2**63) for number in signed.tolist()] == bits[:5]
    ends = np.array([-(2**63)]), np.array([2**63 - 1])
    np.testing.assert_array_equal(at(9, 1).integers(*ends, 5, endpoint=True), signed)


@pytest.mark.parametrize("dtype", [*INTEGERS, np.dtype(bool)], ids=str)
def test_every_integer_dtype(path, dtype) -> None:
    first, last = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for low, high in ((first, last), (last, last), (first, first), (0, 1), (max(first, -3), last // 2)):
        drawn = at(3).integers(low, high, 333, dtype, endpoint=True)
        assert drawn.dtype == dtype
        span = high - low + 1
        expected = expected_integers(3, 0, 0, 333, span) if span < 2**64 else drawn.astype(object) - low
        assert [int(number) - low for number in drawn] == list(expected)
        np.testing.assert_array_equal(at(3).integers(low, high + 1, 333, dtype), drawn)
        ends = (
            np.full(333, low, np.uint8 if dtype.kind == "b" else dtype),
            np.full((), high, int if dtype.kind == "b" else dtype),
        )
        np.testing.assert_array_equal(at(3).integers(*ends, dtype=dtype, endpoint=True), drawn)


# --- the partition of the counters ------------------------------------------------------------------------------------


@given(seed=U64, stream=U64, position=st.integers(0, 2**56 - 100), n=st.integers(0, 40))
def test_blocks_are_used_as_documented(seed, stream, position, n) -> None:
    calls = {
        "random": (lambda g: g.random(n), -(-n // 2)),
        "uniform": (lambda g: g.uniform(1.0, 2.0, n), -(-n // 2)),
        "standard_normal": (lambda g: g.standard_normal(n), -(-n // 2)),
        "normal": (lambda g: g.normal(np.zeros(n), 2.0), -(-n // 2)),
        "standard_exponential": (lambda g: g.standard_exponential((n,)), -(-n // 2)),
        "exponential": (lambda g: g.exponential(2.0, n), -(-n // 2)),
        "float32": (lambda g: g.random(n, np.float32), -(-n // 4)),
        "normal32": (lambda g: g.normal(size=n, dtype="float32"), -(-n // 4)),
        "integers": (lambda g: g.integers(5, size=n, dtype=np.int8), -(-n // 2)),
        "permutation": (lambda g: g.permutation(n), -(-n // 2)),
        "choice": (lambda g: g.choice(7, n), -(-n // 2)),
        "weighted": (lambda g: g.choice(2, n, p=[0.5, 0.5]), -(-n // 2)),
        "without replacement": (lambda g: g.choice(n, n // 3, replace=False), -(-n // 2)),
        "single": (lambda g: g.random(), 1),
        "single integer": (lambda g: g.integers(1), 1),
    }
    for name, (call, blocks) in calls.items():
        generator = at(seed, stream, position)
        call(generator)
        assert generator.position == position + blocks, name


@given(half=st.integers(0, 50), rest=st.integers(0, 50), name=st.sampled_from(["random", "normal", "exponential"]))
def test_a_draw_split_at_a_block_gives_the_same(half, rest, name) -> None:
    for dtype, numbers in ((np.float64, 2), (np.float32, 4)):
        whole, parts = PhiloxGenerator(3, 1), PhiloxGenerator(3, 1)
        expected = getattr(whole, name)(size=numbers * half + rest, dtype=dtype)
        drawn = [getattr(parts, name)(size=n, dtype=dtype) for n in (numbers * half, rest)]
        np.testing.assert_array_equal(np.concatenate(drawn), expected)
        assert whole.position == parts.position


def test_threads_of_the_native_library_change_nothing(path, monkeypatch) -> None:
    drawn = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("CUNUMPY_NUM_THREADS", threads)
        g = PhiloxGenerator(1)
        drawn.append(
            [
                g.random(300_001),
                g.random(600_003, np.float32),
                g.standard_normal(300_001),
                g.integers(10, size=300_001, dtype=np.int16),
                g.integers(np.arange(300_001) % 5, 7),
            ]
        )
    for other in drawn[1:]:
        for one, same in zip(drawn[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_position() -> None:
    generator = PhiloxGenerator(1)
    third = generator.random(6)[4:]
    generator.position = 2
    np.testing.assert_array_equal(generator.random(2), third)
    generator.advance(-1)
    np.testing.assert_array_equal(generator.random(2), third)
    generator.advance(2**56 - 3)
    assert generator.position == 2**56
    for change, error, text in (
        (lambda: generator.advance(1), ArgumentError, r"advance: the position must be in \[0, 2\^56\], got 2?\d+"),
        (lambda: generator.advance(-(2**57)), ArgumentError, "must be in"),
        (lambda: generator.advance(1.0), ArgumentTypeError, r"argument 'blocks' must be an integer, got float \(1.0\)"),
        (lambda: setattr(generator, "position", -1), ArgumentError, "got -1"),
        (lambda: setattr(generator, "position", None), ArgumentTypeError, "must be an integer, got None"),
    ):
        with pytest.raises(error, match=text):
            change()
        assert generator.position == 2**56


def test_the_last_blocks_of_a_stream() -> None:
    generator = at(1, 2, 2**56 - 1)
    for call in (lambda: generator.random(3), lambda: generator.integers(5, size=3), lambda: generator.permutation(3)):
        with pytest.raises(
            ArgumentError, match=r"needs 2 block\(s\), but of the 2\^56 blocks of a stream only 1 are left"
        ):
            call()
    np.testing.assert_array_equal(generator.random(2), expected_uniforms(1, 2, 2**56 - 1, 2))
    assert generator.random(0).shape == (0,)
    with pytest.raises(ArgumentError, match=r"PhiloxGenerator\.normal: .*only 0 are left; go on with another stream"):
        generator.normal()


# --- making, state ----------------------------------------------------------------------------------------------------


def test_seeds_and_streams_are_taken_modulo_2_to_the_64() -> None:
    assert PhiloxGenerator(-1, -2).state == {"seed": 2**64 - 1, "stream": 2**64 - 2, "position": 0}
    assert PhiloxGenerator(2**64 + 3, np.int8(-1)).state == {"seed": 3, "stream": 2**64 - 1, "position": 0}
    assert repr(PhiloxGenerator(np.uint64(2**63))) == f"PhiloxGenerator(seed={2**63}, stream=0, position=0)"


@pytest.mark.parametrize("value", [1.0, True, np.True_, None, "1", [1], np.float32(2), np.arange(2)])
def test_other_seeds_are_refused(value) -> None:
    for arguments, name in (((value,), "seed"), ((1, value), "stream")):
        with pytest.raises(ArgumentTypeError, match=rf"PhiloxGenerator: argument '{name}' must be an integer, got"):
            PhiloxGenerator(*arguments)


def test_stream_numbers() -> None:
    assert stream_number() == 0
    assert stream_number(3, 1) == stream_number(rank=3, component=1) == 2**32 + 3
    assert stream_number(2**32 - 1, 2**32 - 1) == 2**64 - 1
    for arguments, error, text in (
        ((-1,), ArgumentError, r"argument 'rank' must be in \[0, 2\^32\), got -1"),
        ((0, 2**32), ArgumentError, "argument 'component'"),
        ((0.0,), ArgumentTypeError, "'rank' must be an integer"),
        ((0, True), ArgumentTypeError, "'component' must be an integer"),
    ):
        with pytest.raises(error, match=rf"^stream_number: .*{text}|^stream_number: {text}"):
            stream_number(*arguments)


@given(seed=U64, stream=U64, position=st.integers(0, 2**56 - 10), n=st.integers(0, 9))
def test_state_restores_the_sequence(seed, stream, position, n) -> None:
    generator = at(seed, stream, position)
    state = json.loads(json.dumps(generator.state))
    copies = [copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)), PhiloxGenerator(0)]
    copies[-1].state = state
    expected = generator.random(n)
    generator.state = state
    for other in (*copies, generator):
        np.testing.assert_array_equal(other.random(n), expected)
        assert (other.seed, other.stream) == (seed, stream)


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        (None, ArgumentTypeError, "must be a dict with the keys seed, stream, position, got None"),
        ({"seed": 1}, ArgumentTypeError, "must be a dict"),
        ({"seed": 1, "stream": 2, "position": 2**57}, ArgumentError, "the position must be in"),
        ({"seed": 1.5, "stream": 2, "position": 0}, ArgumentTypeError, "argument 'seed' must be an integer"),
    ],
)
def test_bad_states_change_nothing(state, error, text) -> None:
    generator = at(1, 2, 3)
    with pytest.raises(error, match=rf"^PhiloxGenerator\.state: {text}"):
        generator.state = state
    assert generator.state == {"seed": 1, "stream": 2, "position": 3}


def test_threads_draw_each_number_once() -> None:
    generator = PhiloxGenerator(1)
    with ThreadPoolExecutor(8) as pool:
        drawn = np.concatenate(list(pool.map(lambda _: generator.random(1000), range(160))))
    assert set(drawn) == set(PhiloxGenerator(1).random(160_000))


# --- sizes, dtypes, outputs -------------------------------------------------------------------------------------------

DRAWS = {
    "random": {},
    "uniform": {"low": 1.0, "high": 3.0},
    "standard_normal": {},
    "normal": {"loc": 1.0, "scale": 2.0},
    "standard_exponential": {},
    "exponential": {"scale": 2.0},
    "integers": {"low": 100},
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("size", [None, 3, (2, 3), (), 0, (2, 0), [4], np.int64(3)])
def test_sizes(path, name, size) -> None:
    drawn = getattr(PhiloxGenerator(1), name)(**DRAWS[name], size=size)
    like = getattr(np.random.default_rng(1), name)(**DRAWS[name], size=size)
    assert type(drawn) is type(like)
    assert np.shape(drawn) == np.shape(like)
    assert np.asarray(drawn).dtype == np.asarray(like).dtype


def test_single_numbers_of_other_dtypes() -> None:
    assert type(PhiloxGenerator(1).random(dtype=np.float32)) is float
    assert type(PhiloxGenerator(1).integers(3, dtype=np.int8)) is np.int8
    assert type(PhiloxGenerator(1).integers(2, dtype=bool)) is np.bool_


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("size", [-1, (2, -1)])
def test_negative_sizes_are_refused(name, size) -> None:
    with pytest.raises(ArgumentError, match=rf"PhiloxGenerator\.{name}: argument 'size' must not be negative, got"):
        getattr(PhiloxGenerator(1), name)(**DRAWS[name], size=size)


@pytest.mark.parametrize("size", [1.0, "3", (1, None), True])
def test_sizes_are_integers(size) -> None:
    with pytest.raises(ArgumentTypeError, match=r"PhiloxGenerator\.random: argument 'size' must be an integer"):
        PhiloxGenerator(1).random(size)


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", [np.float16, np.complex128, ">f8", "U3", object, ">i4", None, "nonsense"])
def test_other_dtypes_are_refused(name, dtype) -> None:
    if dtype is None:  # NumPy's way to say float64
        dtype = np.int64 if name != "integers" else np.float64
    expected = "be an integer dtype" if name == "integers" else "be float64 or float32"
    if isinstance(dtype, str) and dtype == "nonsense":
        expected = "describe a dtype, got 'nonsense'"
    with pytest.raises(ArgumentTypeError, match=rf"PhiloxGenerator\.{name}: argument 'dtype' must {expected}"):
        getattr(PhiloxGenerator(1), name)(**DRAWS[name], dtype=dtype)


@pytest.mark.parametrize("name", DRAWS)
def test_outputs(path, name) -> None:
    for dtype in [np.float64, np.float32] if name != "integers" else [np.int64, np.uint8]:
        memory = np.zeros(50, dtype)
        out = memory[3:33].reshape(5, 6)
        assert getattr(PhiloxGenerator(1), name)(**DRAWS[name], dtype=dtype, out=out) is out
        expected = getattr(PhiloxGenerator(1), name)(**DRAWS[name], dtype=dtype, size=(5, 6))
        np.testing.assert_array_equal(out, expected)
        assert not memory[:3].any()
        assert not memory[33:].any()
        assert getattr(PhiloxGenerator(1), name)(**DRAWS[name], dtype=dtype, size=(5, 6), out=out) is out


def unaligned(dtype) -> np.ndarray:
    return np.zeros(8 * 12 + 1, np.uint8)[1:].view(dtype)


@pytest.mark.parametrize("name", DRAWS)
def test_bad_outputs_are_refused_and_left(name) -> None:
    dtype = np.dtype(np.int64 if name == "integers" else np.float64)
    read_only = np.zeros(12, dtype)
    read_only.flags.writeable = False
    cases = [
        ([0.0], ArgumentTypeError, "'out' must be a numpy.ndarray, to which the result is written, got list"),
        (np.zeros(12, np.float16), ArgumentError, rf"'out' must have shape \(12,\) and dtype {dtype}, got .*float16"),
        (np.zeros(12, dtype.newbyteorder("S")), ArgumentError, "'out' must have shape"),
        (read_only, ArgumentError, r"'out' is written to, but the array is read-only"),
        (np.zeros(24, dtype)[::2], ArgumentError, r"'out' must be C-contiguous, .*strides \(16,\)"),
        (np.zeros((4, 3), dtype).T, ArgumentError, "'out' must be C-contiguous"),
        (unaligned(dtype), ArgumentError, "'out' is not aligned to its dtype; pass another"),
        (np.ma.zeros(12, dtype), ArgumentTypeError, r"'out' must be a numpy.ndarray, .* got numpy.*Masked"),
        (np.zeros(12, dtype), ArgumentError, r"'out' must have shape \(11,\) and dtype"),
        (ForeignDeviceArray(np.zeros(12, dtype)), ArgumentTypeError, "'out' is a device array of another library"),
    ]
    for out, error, text in cases:
        generator = PhiloxGenerator(1)
        with pytest.raises(error, match=rf"^PhiloxGenerator\.{name}: argument {text}"):
            getattr(generator, name)(**DRAWS[name], size=11 if "11" in text else None, out=out)
        assert generator.position == 0
        if isinstance(out, np.ndarray):
            assert not np.asarray(out).any()


# --- parameters -------------------------------------------------------------------------------------------------------


@given(
    shapes=st.sampled_from([((3,), ()), ((2, 1), (3,)), ((), (4,)), ((0,), (1,)), ((1,), (1, 1))]), size=st.booleans()
)
def test_array_parameters_broadcast(shapes, size) -> None:
    shape = np.broadcast_shapes(*shapes)
    full = (2, *shape) if size else None
    first = np.linspace(-1.0, 1.0, int(np.prod(shapes[0]))).reshape(shapes[0])
    second = np.linspace(1.5, 2.0, int(np.prod(shapes[1]))).reshape(shapes[1])
    unit = PhiloxGenerator(5).random((2, *shape) if size else shape)
    np.testing.assert_array_equal(PhiloxGenerator(5).uniform(first, second, full), first + (second - first) * unit)
    normal = PhiloxGenerator(5).standard_normal((2, *shape) if size else shape)
    np.testing.assert_array_equal(PhiloxGenerator(5).normal(first, second, full), first + second * normal)
    np.testing.assert_array_equal(PhiloxGenerator(5).normal(first.tolist(), 2, full or shape), first + 2 * normal)
    exponential = PhiloxGenerator(5).standard_exponential((2, *shape) if size else shape)
    np.testing.assert_array_equal(PhiloxGenerator(5).exponential(second, full or shape), second * exponential)
    low, high = (10 * first).astype(int), (100 * second).astype(int)
    drawn = PhiloxGenerator(5).integers(low, high, full)
    assert drawn.shape == ((2, *shape) if size else shape)
    assert (drawn >= low).all()
    assert (drawn < high).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_as_parameters(path, dtype) -> None:
    unit, normal = PhiloxGenerator(5).random(99, dtype), PhiloxGenerator(5).standard_normal(99, dtype)
    three, seven = dtype(0.3), dtype(0.7)
    np.testing.assert_array_equal(
        PhiloxGenerator(5).uniform(0.3, 1.3, 99, dtype=dtype), three + dtype(1.3 - 0.3) * unit
    )
    np.testing.assert_array_equal(PhiloxGenerator(5).normal(0.3, 0.7, 99, dtype=dtype), three + seven * normal)


@pytest.mark.parametrize("scale", [1.7e308, [1.7e308], math.inf, [math.inf]])
def test_what_overflows_is_infinite_without_a_warning(path, scale) -> None:
    drawn = PhiloxGenerator(1).exponential(scale, 1000)
    assert np.isinf(drawn).any()
    assert (drawn > 0).all()


def test_parameters_of_other_shapes_are_refused() -> None:
    generator = PhiloxGenerator(1)
    with pytest.raises(ArgumentError, match=r"arguments 'loc' and 'scale' have shapes \(2,\) and \(3,\), which do not"):
        generator.normal([0, 0], [1, 1, 1])
    with pytest.raises(
        ArgumentError, match=r"argument 'scale' has shape \(2,\), which does not broadcast to the shape"
    ):
        generator.exponential([1, 2], size=3)
    with pytest.raises(ArgumentError, match=r"argument 'low' has shape \(2, 3\), .* shape \(3,\) of the result"):
        generator.integers(np.zeros((2, 3), int), 5, out=np.zeros(3, int))
    out = np.ones(4)
    with pytest.raises(ArgumentError, match="argument 'out' shares memory with argument 'scale'"):
        generator.normal(0.0, out, out=out)
    assert generator.position == 0
    np.testing.assert_array_equal(out, 1.0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g: g.normal(0.0, -1.0), r"normal: argument 'scale' must not be negative, got -1.0"),
        (lambda g: g.normal(0.0, [1, -1]), r"normal: argument 'scale' must not be negative, got list"),
        (lambda g: g.exponential(-2), r"exponential: argument 'scale' must not be negative, got -2"),
        (lambda g: g.normal(10**400), "normal: argument 'loc' has a value beyond what float64 can hold"),
        (lambda g: g.normal(0, 1e39, dtype="f4"), "normal: argument 'scale' has a value beyond what float32 can hold"),
        (lambda g: g.normal([0, -1e39], dtype="f4"), "normal: argument 'loc' has a value beyond what float32 can hold"),
        (lambda g: g.uniform(-2e38, 2e38, dtype="f4"), "must be finite in float32, as their difference"),
        (lambda g: g.uniform(1, 0), r"uniform: arguments 'low' and 'high' must be finite.* got 1 and 0"),
        (lambda g: g.uniform(0, math.inf), "must be finite"),
        (lambda g: g.uniform(-1.7e308, 1.7e308), "must be finite"),
        (lambda g: g.uniform([0.0, math.nan], 1), "must be finite"),
        (lambda g: g.integers(0), "integers: the interval is empty, its lower end 0 is at or above its upper end 0"),
        (lambda g: g.integers(3, 2, endpoint=True), "its lower end 3 is above its upper end 2"),
        (lambda g: g.integers([0, 3], [1, 3]), "the interval is empty"),
        (lambda g: g.integers(-1, 5, dtype=np.uint8), r"from -1 to 5 \(without its end\) goes beyond dtype uint8"),
        (lambda g: g.integers(0, 257, dtype=np.uint8), "goes beyond dtype uint8, which holds 0 to 255"),
        (lambda g: g.integers(0, 256, dtype=np.uint8, endpoint=True), r"\(with its end\) goes beyond"),
        (lambda g: g.integers([0], 2**64 + 1, dtype=np.uint64), "goes beyond dtype uint64"),
        (lambda g: g.integers([-1], 5, dtype=np.uint64), "goes beyond"),
        (lambda g: g.integers(np.uint64([2**63]), 2**63, endpoint=True), "goes beyond dtype int64"),
        (lambda g: g.random(2**62), "random: argument 'size' is more than an array can hold"),
        (lambda g: g.normal(size=(2**40, 2**40)), "normal: argument 'size' is more than an array can hold"),
        (lambda g: g.integers(3, size=(1,) * 70), "integers: argument 'size' is more than an array can hold"),
        (lambda g: g.permutation(2**62), f"permutation: an order of {2**62} entries is more than an array can hold"),
        (lambda g: g.choice(2**62, 2, replace=False), "choice: an order of .* entries is more than an array can hold"),
        (lambda g: g.integers(3, dtype=bool), "goes beyond dtype bool, which holds 0 to 1"),
    ],
)
def test_bad_values_are_refused(call, text) -> None:
    generator = PhiloxGenerator(1)
    with pytest.raises(ArgumentError, match=rf"^PhiloxGenerator\..*{text}"):
        call(generator)
    assert generator.position == 0


@pytest.mark.parametrize("bound", [1.5, 2.0, True, "a", None, [1.0], [True], [[1], [2, 3]], [2**64], 1j])
def test_bounds_of_integers_are_integers(bound) -> None:
    for arguments in ((bound, 5), (0, bound)):
        if arguments[1] is None:
            continue  # as if not given
        with pytest.raises(
            (ArgumentTypeError, ArgumentError), match=r"PhiloxGenerator\.integers: argument '(low|high)'"
        ):
            PhiloxGenerator(1).integers(*arguments)


def test_one_bound_is_the_upper_one_but_called_low() -> None:
    with pytest.raises(ArgumentTypeError, match=r"argument 'low' must be an integer, got float \(1\.5\)"):
        PhiloxGenerator(1).integers(1.5)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_as_a_parameter(path, kind: ArrayKind, tmp_path: Path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    real = kind.values is not None and kind.values.dtype.kind in "biuf" and not isinstance(value, ForeignDeviceArray)
    if real:
        loc = kind.values.astype(float)
        expected = loc + PhiloxGenerator(1).standard_normal(loc.shape)
        np.testing.assert_array_equal(PhiloxGenerator(1).normal(value), expected)
    else:
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"PhiloxGenerator\.normal: argument 'loc'"):
            PhiloxGenerator(1).normal(value)
    if kind.values is not None and kind.values.dtype.kind in "iu":
        assert PhiloxGenerator(1).integers(value, value, dtype=kind.values.dtype, endpoint=True).tolist() == (
            kind.values.tolist()
        )
    elif kind.name != "none":
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"PhiloxGenerator\.integers: argument 'high'"):
            PhiloxGenerator(1).integers(0, value)
    if real and kind.values.ndim:
        moved = PhiloxGenerator(1).permutation(value)
        np.testing.assert_array_equal(moved, kind.values[PhiloxGenerator(1).permutation(len(kind.values))])
    assert repr(before) == repr(as_compared(value))


def test_host_draws_transfer_nothing() -> None:
    with xp.profiling.forbid_transfers():
        PhiloxGenerator(1).normal([1.0], 2.0, out=np.zeros(3))
        PhiloxGenerator(1).choice([1, 2], 3, p=[0.5, 0.5])


# --- permutations and choices -----------------------------------------------------------------------------------------


def test_a_permutation_is_the_order_of_its_keys(path) -> None:
    for n in (0, 1, 2, 1001):
        keys = [reference.bits64(8, 2, j // 2)[j % 2] for j in range(n)]
        order = PhiloxGenerator(8, 2).permutation(n)
        assert order.dtype == np.int64
        assert order.tolist() == sorted(range(n), key=keys.__getitem__)


@pytest.mark.parametrize("dtype", [np.uint64, np.float64])
@pytest.mark.parametrize("n", [0, 1, 3, 1000, 20_000])
def test_ties_keep_their_order(path, n, dtype) -> None:
    """Equal keys are too rare to be met in a permutation."""
    keys = (np.random.default_rng(n).integers(0, 2**53, n) // 2**40).astype(dtype)
    np.testing.assert_array_equal(_host.generator.order(keys), np.argsort(keys, kind="stable"))


def test_permutations_of_arrays() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    before = x.copy()
    for axis in range(-3, 3):
        order = PhiloxGenerator(4).permutation(x.shape[axis])
        np.testing.assert_array_equal(PhiloxGenerator(4).permutation(x, axis), np.take(x, order, axis))
    np.testing.assert_array_equal(x, before)
    assert sorted(PhiloxGenerator(4).permutation(["b", "a"]).tolist()) == ["a", "b"]
    np.testing.assert_array_equal(PhiloxGenerator(1).permutation(np.int32(7)), PhiloxGenerator(1).permutation(7))


@pytest.mark.parametrize("name", ["permutation", "choice"])
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((-1,), ArgumentError, "must not be negative, got -1"),
        ((2**63 + 1,), ArgumentError, r"must be at most 2\^63, because results are int64"),
        ((2**70,), ArgumentError, r"must be at most 2\^63, because results are int64"),
        ((1.5,), ArgumentError, "must be an integer or have at least one dimension, got float"),
        ((True,), ArgumentTypeError, r"must be an integer, got bool \(True\)"),
        ((None,), ArgumentTypeError, "is None, which is not an array"),
        ((np.array(3),), ArgumentError, "must be an integer or have at least one dimension"),
    ],
)
def test_bad_populations_are_refused(name, arguments, error, text) -> None:
    generator, argument = PhiloxGenerator(1), "x" if name == "permutation" else "a"
    with pytest.raises(error, match=rf"^PhiloxGenerator\.{name}: argument '{argument}' {text}"):
        getattr(generator, name)(*arguments)
    with pytest.raises(ArgumentError, match=r"argument 'axis' is 1, but argument '.' has 1 dimension"):
        getattr(generator, name)([1, 2], axis=1)
    assert generator.position == 0


def test_the_largest_population(path) -> None:
    drawn = PhiloxGenerator(5).choice(2**63, 1000)
    np.testing.assert_array_equal(drawn, PhiloxGenerator(5).integers(0, 2**63, 1000))
    assert drawn.min() >= 0


def test_choices_with_replacement(path) -> None:
    assert PhiloxGenerator(3).choice(10, 99).tolist() == expected_integers(3, 0, 0, 99, 10)
    a = np.arange(12).reshape(3, 4)
    index = PhiloxGenerator(3).choice(4, (2, 5))
    np.testing.assert_array_equal(PhiloxGenerator(3).choice(a, (2, 5), axis=1), a[:, index])
    assert PhiloxGenerator(3).choice(10, (2, 0)).shape == (2, 0)
    assert PhiloxGenerator(3).choice(0, 0).shape == PhiloxGenerator(3).choice([], 0).shape == (0,)


def test_single_choices() -> None:
    for a in (3, [1.5, 2.5, 3.5], np.arange(6).reshape(3, 2), ["a", "b", "c"]):
        for options in ({}, {"replace": False}, {"p": [0.2, 0.5, 0.3]}, {"p": [0.2, 0.5, 0.3], "replace": False}):
            drawn, like = PhiloxGenerator(1).choice(a, **options), np.random.default_rng(1).choice(a, **options)
            # NumPy draws a number below an int as int64, or as Python's int.
            assert type(drawn) is (np.int64 if isinstance(a, int) else type(like))
            assert np.shape(drawn) == np.shape(like)


@given(n=st.integers(1, 60), data=st.data(), weighted=st.booleans())
def test_choices_without_replacement_do_not_repeat(n, data, weighted) -> None:
    k = data.draw(st.integers(0, n))
    p = None
    if weighted:
        weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) + (np.arange(n) < k)
        if not weights.any():
            return
        p = weights / weights.sum()
    chosen = PhiloxGenerator(n).choice(n, k, replace=False, p=p)
    assert len(set(chosen.tolist())) == k
    if p is not None:
        assert (p[chosen] > 0).all()
    else:
        np.testing.assert_array_equal(chosen, PhiloxGenerator(n).permutation(n)[:k])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g: g.choice(0), ArgumentError, "argument 'a' has no entries to choose 1 from"),
        (lambda g: g.choice([], 2), ArgumentError, "argument 'a' has no entries to choose 2 from"),
        (
            lambda g: g.choice(3, 4, replace=False),
            ArgumentError,
            "4 entries can't be chosen from 3 without replacement",
        ),
        (lambda g: g.choice(3, p=[0.5, 0.5]), ArgumentError, r"argument 'p' must have shape \(3,\)"),
        (lambda g: g.choice(3, p=0.5), ArgumentError, r"argument 'p' must have shape \(3,\), .* got float"),
        (lambda g: g.choice(2, p=[0.5, 0.6]), ArgumentError, "argument 'p' has sum 1.1, expected 1; divide it"),
        (
            lambda g: g.choice(2, p=[1.5, -0.5]),
            ArgumentError,
            "argument 'p' has probabilities that are negative or NaN",
        ),
        (lambda g: g.choice(2, p=[math.nan, 1]), ArgumentError, "argument 'p' has probabilities that are"),
        (lambda g: g.choice(2, p=["a", "b"]), ArgumentTypeError, "argument 'p' has dtype"),
        (
            lambda g: g.choice(3, 2, replace=False, p=[1, 0, 0]),
            ArgumentError,
            "2 entries can't be chosen without replacement, because only 1 have a probability above 0",
        ),
        (lambda g: g.choice(3, -1), ArgumentError, "argument 'size' must not be negative"),
    ],
)
def test_bad_choices_are_refused(call, error, text) -> None:
    generator = PhiloxGenerator(1)
    with pytest.raises(error, match=rf"^PhiloxGenerator\.choice: {text}"):
        call(generator)
    assert generator.position == 0


# --- statistics: fixed seeds, so that nothing is left to chance -------------------------------------------------------

N = 200_000
P_MIN = 1e-3  # of one test with a fixed seed


@pytest.mark.parametrize("dtype", FLOATS)
def test_distributions(path, dtype) -> None:
    g = PhiloxGenerator(20, 3)
    for drawn, truth in (
        (g.random(N, dtype), scipy.stats.uniform()),
        (g.uniform(-2.0, 5.0, N, dtype=dtype), scipy.stats.uniform(-2, 7)),
        (g.normal(1.0, 3.0, N, dtype=dtype), scipy.stats.norm(1, 3)),
        (g.exponential(2.5, N, dtype=dtype), scipy.stats.expon(scale=2.5)),
    ):
        assert scipy.stats.kstest(drawn.astype(float), truth.cdf).pvalue > P_MIN
        for order in range(1, 5):
            exact = truth.moment(order)
            spread = math.sqrt((truth.moment(2 * order) - exact**2) / N)
            assert abs(np.mean(drawn.astype(float) ** order) - exact) < 4 * spread
        pairs = np.corrcoef(drawn[:-1], drawn[1:])[0, 1]
        assert abs(pairs) < 4 / math.sqrt(N)


def test_streams_ranks_and_seeds_do_not_correlate() -> None:
    generators = [PhiloxGenerator(1, stream_number(rank, component)) for rank in range(4) for component in range(3)]
    generators += [PhiloxGenerator(seed) for seed in (2, 3, 2**32 + 1, 2**63)]
    correlations = np.corrcoef([g.standard_normal(20_000) for g in generators])
    off = correlations[~np.eye(len(generators), dtype=bool)]
    assert np.abs(off).max() < 4.5 / math.sqrt(20_000)


@pytest.mark.parametrize("span", [2, 3, 5, 7, 17, 33, 129, 255, 257])
def test_bounded_integers_are_uniform(path, span) -> None:
    drawn = PhiloxGenerator(4, span).integers(span, size=N)
    assert scipy.stats.chisquare(np.bincount(drawn, minlength=span)).pvalue > P_MIN


@pytest.mark.parametrize("span", [2**32 + 1, 2**62 + 1, 3 * 2**62, 2**63 + 1, 2**63 + 2**61])
def test_wide_integers_are_uniform(path, span) -> None:
    """Without the second tries, half of the range would be met twice as often."""
    drawn = PhiloxGenerator(4, 1).integers(span, size=N, dtype=np.uint64)
    sixteenths = np.floor(drawn / (span / 16)).astype(int)
    assert scipy.stats.chisquare(np.bincount(sixteenths, minlength=16)).pvalue > P_MIN
    thirds = (drawn % np.uint64(3)).astype(int)
    assert scipy.stats.chisquare(np.bincount(thirds)).pvalue > P_MIN


def test_permutations_are_uniform() -> None:
    g = PhiloxGenerator(6)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(12_000):
        order = tuple(g.permutation(4).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert scipy.stats.chisquare(list(counts.values())).pvalue > P_MIN


def test_weighted_choices_have_their_probabilities(path) -> None:
    p = np.array([0.5, 0.0, 0.25, 0.2, 0.05])
    counts = np.bincount(PhiloxGenerator(7).choice(5, N, p=p), minlength=5)
    assert counts[1] == 0
    assert scipy.stats.chisquare(counts[p > 0], N * p[p > 0]).pvalue > P_MIN
    single = np.float32([0.1] * 10)  # whose sum is not quite 1
    counts = np.bincount(PhiloxGenerator(7).choice(10, N, p=single), minlength=10)
    assert scipy.stats.chisquare(counts).pvalue > P_MIN


def test_weighted_choices_without_replacement_are_those_of_drawing_one_by_one() -> None:
    p = np.array([0.5, 0.3, 0.15, 0.05])
    g, draws = PhiloxGenerator(8), 12_000
    counts = np.zeros((4, 4))
    for _ in range(draws):
        first, second = g.choice(4, 2, replace=False, p=p)
        counts[first, second] += 1
    exact = p[:, None] * p / (1 - p[:, None])
    other = ~np.eye(4, dtype=bool)
    assert counts[~other].sum() == 0
    assert scipy.stats.chisquare(counts[other], draws * exact[other]).pvalue > P_MIN


# --- CUDA -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", [ARCHITECTURES[0], ARCHITECTURES[-1]])
def test_the_kernels_compile_for_gpus(architecture) -> None:
    from cunumpy.rng import _device_generator

    instances = [
        *(f"fill_{kind}<{real}>" for kind in ("uniform", "normal", "exponential") for real in ("double", "float")),
        *(
            f"fill_{kind}<{word}>"
            for kind in ("integers", "integers_between")
            for word in _device_generator._WORDS.values()
        ),
    ]
    text = _device_generator._CODE.text()
    assert compile_cuda(text, architecture=architecture, instances=tuple(instances))[:4] == b"\x7fELF"


def test_a_setting_that_cannot_be_used_is_noticed_before_the_generator_has_moved(monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", "many")
    generator = PhiloxGenerator(1)
    for call in (
        lambda: generator.random(2**17, np.float32),
        lambda: generator.integers(10, size=2**17),
        lambda: generator.permutation(2**17),
    ):
        with pytest.raises(SettingError, match="CUNUMPY_NUM_THREADS"):
            call()
    assert generator.position == 0
