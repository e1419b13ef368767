"""The stateless functions of `cunumpy.rng`, on every path that the host has."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import cunumpy as xp
import philox_reference as reference
from array_kinds import KINDS, ArrayKind, ForeignDeviceArray, as_compared
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.rng import _host, _numpy_philox
from cunumpy.rng._library import HOST

LIBRARY = HOST.library
PATHS = ["numpy", *(["baseline", "AVX2", "AVX-512"] if LIBRARY is not None else [])]
FUNCTIONS = [xp.rng.philox_uniform, xp.rng.philox_uniform2, xp.rng.philox_normal, xp.rng.philox_normal2]
IDS = np.arange(-3, 30_000)


@pytest.fixture(params=PATHS, autouse=True)
def path(request, monkeypatch):
    """Let each test run on NumPy, and on the native library with each instruction set that this processor has."""
    if request.param == "numpy":
        monkeypatch.setattr(_host, "philox", _numpy_philox)
        yield request.param
    else:
        LIBRARY.cunumpy_use_instruction_set(PATHS.index(request.param) - 1)
        yield request.param
        LIBRARY.cunumpy_use_instruction_set(-1)


reuse_path = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(("counter", "key", "expected"), reference.KNOWN_ANSWERS)
def test_known_answers_of_random123(counter, key, expected):
    words = xp.rng.philox4x32_10(counter, *key)
    assert words.dtype == np.uint32
    assert words.tolist() == expected


@pytest.mark.parametrize(("where", "uniform", "normal"), reference.TABLE)
def test_known_numbers(where, uniform, normal):
    assert [float(u).hex() for u in xp.rng.philox_uniform2(*where)] == list(uniform)
    assert float(xp.rng.philox_uniform(*where)).hex() == uniform[0]
    np.testing.assert_array_max_ulp(np.array(xp.rng.philox_normal2(*where)), np.array(normal), 8)
    np.testing.assert_array_max_ulp(xp.rng.philox_normal(*where), normal[0], 8)


@reuse_path
@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70))
def test_python_integers_count_modulo_2_64(seed, stream, counter):
    expected = reference.uniforms(seed, stream, counter)
    assert tuple(map(float, xp.rng.philox_uniform2(seed, stream, counter))) == expected
    assert xp.rng.philox_uniform(seed, [stream], counter).tolist() == [expected[0]]
    assert xp.rng.philox_uniform(seed, stream, [[counter]]).tolist() == [[expected[0]]]


@st.composite
def integer_arrays(draw, shape):
    """Integer arrays of any dtype and byte order that are broadcast to a shape, in any layout; or a number."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.integers(-(2**65), 2**65))
    own = tuple(draw(st.sampled_from([extent, 1])) for extent in shape)[draw(st.integers(0, len(shape))) :]
    dtype = draw(st.one_of(hnp.integer_dtypes(endianness="?"), hnp.unsigned_integer_dtypes(endianness="?")))
    steps = [draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in own]
    large = draw(hnp.arrays(dtype, tuple(max(1, extent * abs(step)) for extent, step in zip(own, steps, strict=True))))
    order = draw(st.permutations(range(len(own))))
    large = large.transpose(order).copy().transpose(np.argsort(order))  # in memory in the order of `order`
    view = large[(..., *(slice(None, None, step) for step in steps))]
    return view[(..., *(slice(0, extent) for extent in own))]


@st.composite
def broadcast_operands(draw, count):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    return [draw(integer_arrays(shape)) for _ in range(count)]


def elements(operands):
    """Give the broadcast shape, and the operands' values in C order as Python integers."""
    arrays = [np.array(operand, dtype=object) for operand in operands]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    return shape, [[int(value) for value in np.broadcast_to(array, shape).ravel()] for array in arrays]


@reuse_path
@given(broadcast_operands(3))
def test_any_layout_is_read_where_it_is(operands):
    before = [as_compared(operand) for operand in operands]
    shape, values = elements(operands)
    expected = [reference.uniforms(*where) for where in zip(*values, strict=True)]
    results = xp.rng.philox_uniform2(*operands)
    for k, result in enumerate(results):
        assert result.shape == shape
        assert result.dtype == np.float64
        assert np.asarray(result).flags.c_contiguous
        assert result.ravel().tolist() == [pair[k] for pair in expected]
    np.testing.assert_array_equal(xp.rng.philox_uniform(*operands), results[0])
    assert [as_compared(operand) for operand in operands] == before


@reuse_path
@given(broadcast_operands(6))
def test_words_of_any_layout(operands):
    shape, values = elements(operands[:4])
    counter = np.array([[value % 2**64 for value in row] for row in values], np.uint64).T.reshape(*shape, 4)
    keys = operands[4:]
    shape, values = elements([*(counter[..., k] for k in range(4)), *keys])
    low = [[value % 2**32 for value in row] for row in values]
    expected = [reference.philox(list(row[:4]), list(row[4:])) for row in zip(*low, strict=True)]
    for given_counter in (counter, np.asfortranarray(counter), counter.astype(np.uint32), counter.astype(">i4")):
        words = xp.rng.philox4x32_10(given_counter, *keys)
        assert words.shape == (*shape, 4)
        assert words.dtype == np.uint32
        assert words.reshape(-1, 4).tolist() == expected


def test_paths_agree_bit_for_bit_and_within_8_ulp(monkeypatch):
    uniform = xp.rng.philox_uniform2(3, IDS, -1)
    normal = xp.rng.philox_normal2(3, IDS, -1)
    monkeypatch.setattr(_host, "philox", _numpy_philox)
    for result, expected in zip(uniform, xp.rng.philox_uniform2(3, IDS, -1), strict=True):
        np.testing.assert_array_equal(result, expected)
    for result, expected in zip(normal, xp.rng.philox_normal2(3, IDS, -1), strict=True):
        np.testing.assert_array_max_ulp(result, expected, 8)


def test_normal_numbers_are_right_next_to_zeros_of_cosine_and_sine():
    stream = np.arange(400_000)
    u0, u1 = xp.rng.philox_uniform2(0, stream, 5)
    z0, z1 = xp.rng.philox_normal2(0, stream, 5)
    radius = np.sqrt(-2 * np.log(1 - u0.astype(np.longdouble)))
    angle = (6.283185307179586 * u1).astype(np.longdouble)
    near = np.argsort(np.abs(np.cos(angle)))[:1000]
    np.testing.assert_array_max_ulp(z0[near], (radius * np.cos(angle))[near].astype(np.float64), 8)
    near = np.argsort(np.abs(np.sin(angle)))[:1000]
    np.testing.assert_array_max_ulp(z1[near], (radius * np.sin(angle))[near].astype(np.float64), 8)
    np.testing.assert_array_equal(xp.rng.philox_normal(0, stream, 5), z0)


def test_large_arrays_are_computed_like_small_ones():
    streams = np.arange(1_000_003, dtype=np.uint32)  # several threads and blocks, and a remainder
    drawn = xp.rng.philox_uniform(9, streams, 0)
    for start in (0, 499_990, 999_990):
        part = slice(start, start + 13)
        assert drawn[part].tolist() == [reference.uniforms(9, stream, 0)[0] for stream in range(1_000_003)[part]]
    assert xp.rng.philox_uniform(9, streams[::-1], 0).tolist() == drawn[::-1].tolist()


def test_numbers_are_normal_and_uncorrelated_between_streams_and_counters():
    z = np.stack(
        [
            *xp.rng.philox_normal2(11, np.arange(50_000), 0),
            xp.rng.philox_normal(11, np.arange(50_000), 1),
            xp.rng.philox_normal(12, np.arange(50_000), 0),
            xp.rng.philox_normal(11, 0, np.arange(2, 50_002)),
        ]
    )
    assert min(stats.kstest(row, "norm").pvalue for row in z) > 1e-3
    assert np.abs(np.corrcoef(z) - np.eye(len(z))).max() < 4 / np.sqrt(50_000)
    assert np.abs(np.corrcoef(z[:, 1:], z[:, :-1]) - np.eye(2 * len(z))).max() < 4 / np.sqrt(50_000)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_scalars_give_scalars(function):
    for arguments in [(1, 2, 3), (np.int8(1), np.uint64(2), np.array(3))]:
        result = function(*arguments)
        for one in result if isinstance(result, tuple) else (result,):
            assert type(one) is np.float64


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)])
def test_empty_arrays_give_empty_arrays(function, shape):
    result = function(1, np.zeros(shape, np.int32), 2)
    for one in result if isinstance(result, tuple) else (result,):
        assert one.shape == shape
    np.testing.assert_array_equal(function(1, [], 2), np.array(function(1, np.zeros(0, int), 2)))


def test_words_of_nothing():
    assert xp.rng.philox4x32_10(np.zeros((0, 4), np.int64), 1, 2).shape == (0, 4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_kind_gives_the_right_result_or_an_error(function, kind: ArrayKind, tmp_path):
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.values is not None and kind.values.dtype.kind in "iu":
        expected = np.array(function(1, kind.values.astype(np.uint64), 0))
        np.testing.assert_array_equal(np.array(function(1, value, 0)), expected)
    else:
        for position, argument in enumerate(("seed", "stream", "counter")):
            arguments = [0, 0, 0]
            arguments[position] = value if kind.name != "iterator" else kind.make(tmp_path)
            with pytest.raises(
                (ArgumentError, ArgumentTypeError), match=rf"^{function.__name__}: argument '{argument}'"
            ):
                function(*arguments)
    assert as_compared(value) == before


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.is_array and kind.values is not None], ids=str)
def test_integer_arrays_of_every_layout(kind: ArrayKind, tmp_path):
    value = kind.make(tmp_path)
    if value.dtype.kind not in "fiu":
        value, expected = value.view(np.uint8), kind.values.view(np.uint8)
    else:  # the bits of floating point numbers are integers of the same layout
        value = value.view(f"{value.dtype.byteorder}i{value.itemsize}")
        expected = kind.values.view(f"i{value.itemsize}")
    before = as_compared(value)
    np.testing.assert_array_equal(xp.rng.philox_uniform(1, value, 0), xp.rng.philox_uniform(1, expected.copy(), 0))
    assert as_compared(value) == before


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.5, ["integer", "got float 1.5", "int("]),
        (float("nan"), ["got float nan"]),
        (True, ["got bool True"]),
        (np.bool_(True), ["bool"]),
        (None, ["got None"]),
        ("7", ["got str '7'"]),
        (b"7", ["bytes"]),
        (1j, ["complex"]),
        (np.float32(2), ["float32"]),
        (np.array([0.5, 0.7]), ["integer dtype", "dtype float64", ".astype(numpy.int64)"]),
        (np.array([np.nan]), ["integer dtype"]),
        (np.array([True]), ["dtype bool"]),
        ([0.5, 1], ["dtype float64"]),
        ([1.0, 2.0], ["dtype float64"]),
        ([True, 2], ["dtype bool"]),
        ([[1], [np.bool_(False)]], ["dtype bool"]),
        ([np.array([True, False]), np.array([1, 2])], ["dtype bool"]),
        ([2**70, 0.5], ["integer"]),
        (["1"], ["integer dtype"]),
        (np.array([2**70], dtype=object), ["object", "integer"]),
        (np.array(["2020"], "M8[Y]"), ["datetime64"]),
    ],
)
def test_what_is_no_integer_is_refused(value, words):
    with pytest.raises(ArgumentTypeError) as caught:
        xp.rng.philox_uniform(1, value, 0)
    for word in ["philox_uniform: argument 'stream'", *words]:
        assert word in str(caught.value)
    with pytest.raises(ArgumentTypeError, match="philox4x32_10: argument 'key1'"):
        xp.rng.philox4x32_10([0] * 4, 0, value)


@pytest.mark.parametrize(
    "value", [[2**70 + 5, -1], [[2**63], [-1]], (np.uint64(2**63), -7), [np.uint64(2**64 - 1), np.int64(-1)], [2**63]]
)
def test_lists_of_large_integers_count_modulo_2_64(value):
    [*flat] = np.array(value, dtype=object).ravel()
    expected = [reference.uniforms(1, int(item), 0)[0] for item in flat]
    assert xp.rng.philox_uniform(1, value, 0).ravel().tolist() == expected


def test_words_above_32_bits_count_modulo_2_32():
    expected = xp.rng.philox4x32_10([1, 0, 0, 0], 2, 3).tolist()
    assert xp.rng.philox4x32_10(np.array([2**32 + 1, 0, 2**40, -(2**33)]), 2**32 + 2, 3 - 2**32).tolist() == expected
    assert xp.rng.philox4x32_10([2**80 + 1, -(2**90), 0, 0], 2, 2**77 + 3).tolist() == expected
    full = reference.KNOWN_ANSWERS[1][2]
    assert xp.rng.philox4x32_10(np.full(4, -1, np.int32), -1, np.int8(-1)).tolist() == full


@pytest.mark.parametrize("counter", [5, [1, 2, 3], [1, 2, 3, 4, 5], np.zeros((4, 3), int), np.array(3), [], [[]]])
def test_the_last_axis_has_four_words(counter):
    with pytest.raises(ArgumentError, match=r"philox4x32_10: argument 'counter' .*four counter words.* got ") as caught:
        xp.rng.philox4x32_10(counter, 0, 0)
    assert isinstance(caught.value, IndexError)


def test_shapes_that_do_not_go_together_are_named():
    with pytest.raises(ArgumentError, match=r"philox_normal: .*broadcast.*stream \(2,\), counter \(3,\)"):
        xp.rng.philox_normal(1, [1, 2], [1, 2, 3])
    with pytest.raises(ArgumentError, match=r"philox4x32_10: .*key0 \(2,\)"):
        xp.rng.philox4x32_10(np.zeros((3, 4), int), [1, 2], 0)


def test_device_arrays_of_other_libraries_are_refused():
    with pytest.raises(ArgumentTypeError, match=r"philox_uniform: argument 'stream' .*xp\.to_cupy"):
        xp.rng.philox_uniform(1, ForeignDeviceArray(np.arange(3)), 0)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_out_gets_the_result(function):
    pair = function.__name__.endswith("2")
    for stream in (np.arange(6).reshape(2, 3), 4, np.array(3), np.zeros((2, 0), int)):
        expected = function(1, stream, 2)
        outs = np.full((2, *np.shape(stream)), np.nan)
        result = function(1, stream, 2, out=(outs[0, ...], outs[1, ...]) if pair else outs[0, ...])
        for k, one in enumerate(result if pair else (result,)):
            assert np.shares_memory(one, outs) or one.size == 0
            np.testing.assert_array_equal(one, expected[k] if pair else expected)
            np.testing.assert_array_equal(outs[k], one)


def test_out_of_words():
    out = np.zeros((2, 4), np.uint32)
    assert xp.rng.philox4x32_10(np.zeros((2, 4), int), 1, 2, out=out) is out
    assert out.tolist() == [reference.philox([0] * 4, [1, 2])] * 2


IDS_OR_OUT = np.arange(8)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros(3), ArgumentError, ["shape (8,)", "float64", "got numpy.ndarray(shape=(3,)"]),
        (np.zeros(8, np.float32), ArgumentError, ["dtype float64", "float32"]),
        (np.zeros(8, ">f8"), ArgumentError, ["dtype float64", ">f8"]),
        (np.zeros(16)[::2], ArgumentError, ["C-contiguous"]),
        (np.broadcast_to(np.zeros(8), (8,)), ArgumentError, ["read-only"]),
        (IDS_OR_OUT.view(np.float64), ArgumentError, ["shares memory with argument 'stream'"]),
        ([0.0] * 8, ArgumentTypeError, ["numpy.ndarray", "got list"]),
        (np.ma.zeros(8), ArgumentTypeError, ["MaskedArray"]),
    ],
)
def test_unsuitable_outputs_are_refused_and_nothing_is_changed(out, error, words):
    before = as_compared(out), IDS_OR_OUT.tolist()
    with pytest.raises(error) as caught:
        xp.rng.philox_normal(1, IDS_OR_OUT, 0, out=out)
    for word in ["philox_normal: argument 'out'", *words]:
        assert word in str(caught.value)
    good = np.zeros(8)
    with pytest.raises(error, match=r"philox_uniform2: argument 'out\[1\]'"):
        xp.rng.philox_uniform2(1, IDS_OR_OUT, 0, out=(good, out))
    assert not good.any()
    assert (as_compared(out), IDS_OR_OUT.tolist()) == before


def test_outputs_of_a_pair_are_two():
    out = np.zeros(8)
    with pytest.raises(ArgumentError, match=r"'out\[1\]' shares memory with argument 'out\[0\]'"):
        xp.rng.philox_normal2(1, IDS_OR_OUT, 0, out=(out, out))
    for wrong in (out, (out,), (out, out, out), (out, None)):
        with pytest.raises(ArgumentTypeError, match="philox_normal2: argument 'out' must be a pair of arrays"):
            xp.rng.philox_normal2(1, IDS_OR_OUT, 0, out=wrong)


@pytest.mark.parametrize(
    "ids",
    [np.arange(1_000_000), np.arange(2_000_000, dtype=">i4")[::2], np.arange(1000, dtype=np.int16)[:, None]],
    ids=["contiguous", "strided", "broadcast"],
)
@pytest.mark.parametrize("function", [xp.rng.philox_uniform, xp.rng.philox_normal])
def test_little_memory_is_needed_besides_the_result(function, ids):
    counter = np.arange(1000) if ids.ndim == 2 else 3
    function(1, ids[:1], counter)
    tracemalloc.start()
    try:
        result = function(1, ids, counter)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - result.nbytes < 8e6
