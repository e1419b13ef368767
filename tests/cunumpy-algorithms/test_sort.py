"""Sorting by keys and by cells on the host: by the native library, or by NumPy in a run with CUNUMPY_NO_NATIVE=1."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import array_kinds
from cunumpy.algorithms import _host, _numpy_sort, sort_by_cell, sort_by_key
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyError

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
SIZES = [0, 1, 2, 3, 19, 20, 21, 22, 255, 256, 257, 511, 1000, 1024, 1025, 4095, 4096, 4097, 8191, 8192, 8193, 20_000]


@pytest.fixture(autouse=True, params=[1, 3], ids=["1-thread", "3-threads"])
def threads(request, monkeypatch):
    """Let small arrays be sorted by the native code, and by several threads."""
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", str(request.param))
    if _host.sort is not _numpy_sort:
        monkeypatch.setattr(_host.sort, "_GRAIN", 500)
        monkeypatch.setattr(_host.sort, "_FEW", 0)
        monkeypatch.setattr(_host.sort, "_FEW_BY_SIZE", {})


def definition(keys, descending=False):
    """Give the stable order by comparing keys with each other, NaN last."""
    keys = np.asarray(keys)
    values = keys.astype(keys.dtype.newbyteorder("=")).tolist()
    if keys.dtype.kind == "f":
        numbers = [i for i, value in enumerate(values) if value == value]
        rest = [i for i, value in enumerate(values) if value != value]
    else:
        numbers, rest = list(range(len(values))), []
    return [*sorted(numbers, key=values.__getitem__, reverse=descending), *rest]


def bits_of(array):
    """Give something equal for arrays of equal bits, NaN and -0.0 included."""
    return array.dtype, array.shape, array.tobytes()


@st.composite
def keys_of(draw, dtypes=tuple(INTEGERS + FLOATS + ["?"]), sizes=tuple(SIZES)):
    """Keys of any dtype and size, spread or clustered, in any order, with outliers, ties, both zeros and NaN."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    n = draw(st.sampled_from(sizes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    word = np.dtype(f"u{dtype.itemsize}")
    bits = draw(st.integers(0, 8 * dtype.itemsize))
    words = rng.integers(0, 2**bits - 1, n, dtype=np.uint64, endpoint=True)
    words <<= np.uint64(draw(st.integers(0, 8 * dtype.itemsize - bits)) % 64)
    words += np.uint64(draw(st.integers(0, 2**64 - 1)))
    keys = words.astype(word)
    if dtype.kind == "b":
        keys &= 1
    if n and draw(st.booleans()):  # outliers
        some = rng.integers(0, n, 2)
        keys[some] = rng.integers(0, np.iinfo(word).max if dtype.kind != "b" else 1, 2, dtype=word, endpoint=True)
    keys = keys.view(dtype)
    if dtype.kind == "f":
        for value in draw(st.lists(st.sampled_from([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0]), max_size=3)):
            keys[rng.random(n) < 0.1] = value
    arrangement = draw(st.sampled_from(["any", "ascending", "descending", "nearly"]))
    if arrangement != "any":
        keys = np.sort(keys)
    if arrangement == "descending":
        keys = keys[::-1].copy()
    if arrangement == "nearly" and n:
        keys[rng.integers(0, n)] = keys[rng.integers(0, n)]
    return keys


# ---- order


@settings(max_examples=200)
@given(keys=keys_of(), descending=st.booleans())
def test_the_order_is_the_stable_one(keys, descending):
    before = bits_of(keys)
    sorted_keys, order = sort_by_key(keys, descending=descending)
    assert order.dtype == np.int64
    assert order.tolist() == definition(keys, descending)
    assert bits_of(sorted_keys) == bits_of(keys[order])
    assert bits_of(keys) == before


@settings(max_examples=60)
@given(keys=keys_of(), descending=st.booleans())
def test_numpy_gives_the_same(keys, descending):
    by_numpy = _numpy_sort.argsort(keys, descending)
    by_host = _host.sort.argsort(keys, descending)
    assert [bits_of(array) for array in by_numpy] == [bits_of(array) for array in by_host]


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("n", [*SIZES, 65_535, 65_536, 65_537, 100_000])
def test_every_size_and_width(dtype, n):
    rng = np.random.default_rng(n)
    keys = rng.integers(0, 255, n * np.dtype(dtype).itemsize, dtype=np.uint8, endpoint=True).view(dtype)
    sorted_keys, order = sort_by_key(keys)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    assert bits_of(sorted_keys) == bits_of(keys[order])


CLUSTERED = {
    "two distant clusters": lambda rng, n: rng.integers(0, 1000, n) + rng.integers(0, 2, n) * 2**62,
    "an outlier": lambda rng, n: np.append(rng.integers(0, 2**20, n - 1), 2**62),
    "an outlier far from few values": lambda rng, n: np.append(rng.integers(0, 3, n - 1), -(2**63)),
    "equal but for one": lambda rng, n: np.append(np.zeros(n - 1, np.int64), -1),
    "each scale": lambda rng, n: rng.integers(0, 2**62, n) >> rng.integers(0, 62, n),
    "full range": lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n),
    "high bits only": lambda rng, n: rng.integers(0, 2**10, n) << 52,
    "ties beyond the leading bits": lambda rng, n: (rng.integers(0, 2**30, n) << 33) + rng.integers(0, 3, n),
}


@pytest.mark.parametrize("n", [5000, 50_000, 600_000])
@pytest.mark.parametrize("name", CLUSTERED)
def test_any_distribution_of_wide_keys(name, n):
    keys = CLUSTERED[name](np.random.default_rng(5), n)
    sorted_keys, order = sort_by_key(keys)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(sorted_keys, keys[order])
    order = sort_by_key(keys.view(np.float64))[1]
    np.testing.assert_array_equal(order, np.argsort(keys.view(np.float64), kind="stable"))


def test_nan_last_and_ties_stable():
    keys = np.array([np.nan, 1.0, np.nan, 0.0, 1.0, -0.0])
    assert sort_by_key(keys)[1].tolist() == [3, 5, 1, 4, 0, 2]
    assert sort_by_key(keys, descending=True)[1].tolist() == [1, 4, 3, 5, 0, 2]
    assert np.signbit(sort_by_key(keys)[0][:2]).tolist() == [False, True]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "keys",
    [
        np.array([2 + 1j, 1 + 5j, 2 - 1j, 1 + 5j]),
        np.array(["pear", "apple", "fig", "apple"]),
        np.array([b"b", b"a", b"c", b"a"]),
        np.array(["2020-01-02", "2019-01-01", "2020-01-02"], "M8[D]"),
        np.array([3, 1, 2, 1], "m8[s]"),
        np.array([3, 1, 2, 1], np.longdouble),
        np.array([3, 1.5, 2, 1], object),
        np.array(["pear", "apple", "fig", "apple"], np.dtypes.StringDType()),
        np.array([(1, 2.0), (0, 5.0), (1, 1.0)], [("a", int), ("b", float)]),
    ],
    ids=lambda keys: str(keys.dtype),
)
def test_other_dtypes(keys, descending):
    values = [(key.real, key.imag) if keys.dtype.kind == "c" else key for key in keys.tolist()]
    expected = sorted(range(len(values)), key=values.__getitem__, reverse=descending)
    sorted_keys, order, moved = sort_by_key(keys, keys, descending=descending)
    assert order.tolist() == expected
    assert sorted_keys.dtype == moved.dtype == keys.dtype
    assert sorted_keys.tolist() == moved.tolist() == keys[expected].tolist()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "keys",
    [np.array(["NaT", "2020-01-01", "NaT", "2019-01-01"], "M8[D]"), np.array([np.nan, 2, np.nan, 1], np.complex64)],
)
def test_missing_values_of_other_dtypes_come_last(keys, descending):
    assert sort_by_key(keys, descending=descending)[1].tolist() == ([1, 3, 0, 2] if descending else [3, 1, 0, 2])


@pytest.mark.parametrize("descending", [False, True])
def test_masked_keys_come_last(descending):
    keys = np.ma.masked_array([5, 9, 1, 9, 3], mask=[0, 0, 1, 0, 1])
    sorted_keys, order = sort_by_key(keys, descending=descending)
    assert order.tolist() == ([1, 3, 0, 2, 4] if descending else [0, 1, 3, 2, 4])
    assert isinstance(sorted_keys, np.ma.MaskedArray)
    assert sorted_keys.mask.tolist() == [False] * 3 + [True] * 2


@pytest.mark.parametrize("dtype", [">i2", ">i8", ">u4", ">f4", ">f8"])
def test_the_other_byte_order(dtype):
    keys = np.random.default_rng(0).integers(0, 100, 1000).astype(dtype)
    sorted_keys, order = sort_by_key(keys)
    assert sorted_keys.dtype == np.dtype(dtype)
    assert order.tolist() == definition(keys)
    assert bits_of(sorted_keys) == bits_of(keys[order])
    out = np.empty_like(keys)
    assert sort_by_key(keys, out=(out, None))[0] is out
    assert bits_of(out) == bits_of(sorted_keys)


@pytest.mark.parametrize("step", [2, -1, -3])
def test_strided_keys(step):
    keys = np.random.default_rng(0).integers(-50, 50, 999)[::step]
    sorted_keys, order = sort_by_key(keys)
    assert order.tolist() == definition(keys)
    assert sorted_keys.flags.c_contiguous


def test_lists_are_arrays():
    sorted_keys, order, moved = sort_by_key([2, 1], [10, 20])
    assert (sorted_keys.tolist(), order.tolist(), moved.tolist()) == ([1, 2], [1, 0], [20, 10])


@pytest.mark.parametrize("keys", [[], np.empty(0, np.int8), np.empty(0, object)])
def test_no_keys(keys):
    sorted_keys, order, moved = sort_by_key(keys, np.empty((3, 0)), axis=-1)
    assert (sorted_keys.shape, order.shape, order.dtype, moved.shape) == ((0,), (0,), np.int64, (3, 0))


# ---- arrays

ITEMS = ["i1", "i2", "f4", "f8", "c16", "S3", "U5", "V24", "V7", "M8[s]", ">f8", "?", "O", "f2", "c8", "g"]


@st.composite
def arrays_with_entries(draw, n):
    """An array with n entries along an axis, of any item size and layout."""
    dtype = np.dtype(draw(st.sampled_from(ITEMS)))
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=3))
    axis = draw(st.integers(0, len(shape)))
    shape.insert(axis, n)
    seed = draw(st.integers(0, 2**32))
    numbers = np.random.default_rng(seed).integers(0, 100, shape)
    array = numbers.astype(dtype) if dtype.kind != "V" else numbers.astype(f"S{dtype.itemsize}").view(dtype)
    layout = draw(st.permutations(range(array.ndim)))  # of the axes in memory
    array = np.ascontiguousarray(array.transpose(layout)).transpose(np.argsort(layout))
    for d in range(array.ndim):
        step = draw(st.sampled_from([1, 1, 2, -1]))
        if step == 2:
            array = np.repeat(array, 2, axis=d)
        index = (slice(None),) * d + (slice(None, None, step),)
        array = array[index]
    return array, axis


@settings(max_examples=150)
@given(data=st.data(), n=st.sampled_from([0, 1, 2, 5, 300, 1500]))
def test_arrays_of_any_layout_are_moved(data, n):
    array, axis = data.draw(arrays_with_entries(n))
    keys = np.random.default_rng(n).integers(0, 7, n)
    _, order, moved = sort_by_key(keys, array, axis=axis)
    assert moved.flags.c_contiguous
    assert moved.dtype == array.dtype
    assert moved.tolist() == np.take(array, order, axis=axis).tolist()
    again = sort_by_key(keys, array, axis=axis - array.ndim)[2]
    assert again.tolist() == moved.tolist()


def test_the_last_axis_of_each():
    keys = np.array([3, 1, 2])
    vector, components = np.array([30, 10, 20]), np.array([[3, 1, 2], [6, 2, 4]])
    _, _, a, b = sort_by_key(keys, vector, components, axis=-1)
    assert (a.tolist(), b.tolist()) == ([10, 20, 30], [[1, 2, 3], [2, 4, 6]])


def test_subclasses_keep_their_type():
    keys = np.arange(1000)[::-1].copy()
    masked = np.ma.masked_array(np.arange(1000), mask=np.arange(1000) % 3 == 0)
    matrix = np.arange(1000).reshape(-1, 1).view(array_kinds.Subclass)
    _, order, a, b = sort_by_key(keys, masked, matrix)
    assert isinstance(a, np.ma.MaskedArray)
    assert a.mask.tolist() == masked.mask[order].tolist()
    assert type(b) is array_kinds.Subclass
    sorted_keys, order = sort_by_key(keys.view(array_kinds.Subclass))
    assert type(sorted_keys) is array_kinds.Subclass
    assert sorted_keys.tolist() == list(range(1000))


def test_objects_are_counted():
    class Thing:
        alive = 0

        def __init__(self):
            Thing.alive += 1

        def __del__(self):
            Thing.alive -= 1

    things = np.array([Thing() for _ in range(400)])
    moved = sort_by_key(np.arange(400)[::-1].copy(), things)[2]
    assert moved[0] is things[-1]
    del things
    assert Thing.alive == 400
    del moved
    assert Thing.alive == 0


@pytest.mark.parametrize("kind", array_kinds.KINDS, ids=str)
def test_array_kinds_as_arrays(kind, tmp_path):
    value = kind.make(tmp_path)
    before = copy.deepcopy(array_kinds.as_compared(value))
    if kind.name == "masked":
        assert sort_by_key([3, 2, 1], value)[2].mask.tolist() == [False, True, False]
    elif kind.values is None or kind.values.ndim == 0 or kind.name == "foreign-device-array":
        with pytest.raises(CuNumpyError, match=r"^sort_by_key: argument 'arrays\[0\]'"):
            sort_by_key([2, 1], value)
    else:
        n = len(kind.values)
        moved = sort_by_key(-np.arange(n), value)[2]
        np.testing.assert_array_equal(moved, kind.values[::-1])
        assert moved.dtype.newbyteorder("=") == kind.values.dtype
    assert array_kinds.as_compared(value) == before


@pytest.mark.parametrize("kind", array_kinds.KINDS, ids=str)
def test_array_kinds_as_keys(kind, tmp_path):
    value = kind.make(tmp_path)
    before = copy.deepcopy(array_kinds.as_compared(value))
    if kind.name == "masked":
        assert sort_by_key(value)[1].tolist() == [0, 2, 1]
    elif kind.values is None or kind.values.ndim != 1 or kind.name == "foreign-device-array":
        with pytest.raises(CuNumpyError, match=r"^sort_by_key: argument 'keys'"):
            sort_by_key(value)
    else:
        sorted_keys, order = sort_by_key(value)
        assert order.tolist() == definition(kind.values)
        np.testing.assert_array_equal(sorted_keys, np.sort(kind.values))
    assert array_kinds.as_compared(value) == before


# ---- order=, out=


@given(n=st.sampled_from([0, 1, 7, 700]), seed=st.integers(0, 99))
def test_an_order_is_applied_again(n, seed):
    rng = np.random.default_rng(seed)
    keys, first, second = rng.integers(0, 9, n), rng.random((n, 3)), rng.random(n)
    expected = sort_by_key(keys, first, second)
    order = expected[1]
    found = sort_by_key(keys, first, second, order=order)
    assert found[1] is order
    assert [bits_of(array) for array in found] == [bits_of(array) for array in expected]
    assert sort_by_key(keys, second, order=order.tolist())[2].tolist() == expected[3].tolist()


@pytest.mark.parametrize("n", [3, 700])
def test_results_are_written_to_out(n):
    keys, values = np.random.default_rng(1).integers(0, 9, n), np.random.default_rng(2).random((n, 3))
    expected = sort_by_key(keys, values)
    out = [np.empty_like(array) for array in expected]
    found = sort_by_key(keys, values, out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    assert [bits_of(array) for array in found] == [bits_of(array) for array in expected]
    some = sort_by_key(keys, values, out=(None, None, out[2]))
    assert some[2] is out[2]
    order = np.empty(n, np.int64)
    assert sort_by_key(keys, values, order=expected[1], out=(None, order, None))[1] is order
    assert order.tolist() == expected[1].tolist()


BAD_SORTS = {
    "2-D keys": (lambda: sort_by_key(np.zeros((2, 2))), ArgumentError, "argument 'keys' must be 1D, got shape (2, 2)"),
    "a scalar": (lambda: sort_by_key(2.5), ArgumentError, "argument 'keys' must be 1D"),
    "incomparable keys": (
        lambda: sort_by_key(np.array([1, "a"], object)),
        ArgumentTypeError,
        "argument 'keys' (numpy.ndarray(shape=(2,), dtype=object)) has values that can't be compared",
    ),
    "wrong length": (
        lambda: sort_by_key([1, 2, 3], [1, 2, 3], np.zeros((3, 4)), axis=-1),
        ArgumentError,
        "argument 'arrays[1]' must have 3 entries along axis -1, as 'keys' has, got 4 (shape (3, 4))",
    ),
    "no axis": (
        lambda: sort_by_key([1, 2], [1, 2], axis=1),
        ArgumentError,
        "argument 'arrays[0]' has no axis 1 (shape (2,))",
    ),
    "axis of another type": (
        lambda: sort_by_key([1, 2], [1, 2], axis=0.0),
        ArgumentTypeError,
        "argument 'axis' must be an integer",
    ),
    "short order": (
        lambda: sort_by_key([1, 2], order=[0]),
        ArgumentError,
        "argument 'order' must have shape (2,), an index for each key, got (1,)",
    ),
    "order out of range": (
        lambda: sort_by_key([1, 2], order=[0, 2]),
        ArgumentError,
        "argument 'order' must hold indices in [0, 2), got 2",
    ),
    "negative order": (lambda: sort_by_key([1, 2], order=[0, -1]), ArgumentError, "in [0, 2), got -1"),
    "float order": (lambda: sort_by_key([1, 2], order=[0.0, 1.0]), ArgumentTypeError, "'order' must have an integer"),
    "order and descending": (
        lambda: sort_by_key([1, 2], order=[0, 1], descending=True),
        ArgumentError,
        "arguments 'order' and 'descending' exclude each other",
    ),
    "out is an array": (
        lambda: sort_by_key([1, 2], out=np.zeros(2)),
        ArgumentTypeError,
        "argument 'out' must be a sequence of 2 arrays or None, for sorted_keys, order",
    ),
    "out is too short": (
        lambda: sort_by_key([1, 2], [3, 4], out=(None, None)),
        ArgumentError,
        "a sequence of 3 arrays or None, for sorted_keys, order, the sorted arrays[0], got 2 entries",
    ),
    "out of another dtype": (
        lambda: sort_by_key([1, 2], out=(None, np.empty(2, np.int32))),
        ArgumentError,
        "argument 'out[1]' must have shape (2,) and dtype int64",
    ),
    "out is no array": (lambda: sort_by_key([1, 2], out=([0, 0], None)), ArgumentTypeError, "argument 'out[0]'"),
    "masked with out": (
        lambda: sort_by_key([1, 2], np.ma.masked_array([1, 2]), out=(None, None, np.empty(2, np.int64))),
        ArgumentTypeError,
        "argument 'arrays[0]' is a masked array",
    ),
}


@pytest.mark.parametrize("name", BAD_SORTS)
def test_bad_arguments_of_sort_by_key(name):
    call, error, text = BAD_SORTS[name]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith("sort_by_key")
    assert text in str(caught.value)


@pytest.mark.parametrize("late", ["length", "read-only", "strided", "overlap", "outputs overlap", "dtype"])
def test_nothing_is_written_before_an_error(late):
    keys, first, second = np.array([3, 1, 2]), np.arange(3.0), np.arange(3.0)
    out = [np.full(3, -1), np.full(3, -1), np.full(3, -1.0), np.full(3, -1.0)]
    if late == "length":
        second = np.arange(4.0)
    elif late == "read-only":
        out[3].flags.writeable = False
    elif late == "strided":
        out[3] = np.full(6, -1.0)[::2]
    elif late == "overlap":
        out[3] = first
    elif late == "outputs overlap":
        out[3] = out[2]
    else:
        out[3] = out[3].astype(np.float32)
    before = [array.tolist() for array in (keys, first, second, *out)]
    with pytest.raises(ArgumentError):
        sort_by_key(keys, first, second, out=out)
    assert [array.tolist() for array in (keys, first, second, *out)] == before


# ---- cells


def cells_defined(cells, n_cells):
    order = sorted(range(len(cells)), key=cells.__getitem__)
    return [sum(cell < k for cell in cells) for k in range(n_cells + 1)], order


@settings(max_examples=80)
@given(data=st.data(), n_cells=st.sampled_from([1, 2, 3, 7, 40, 127]), dtype=st.sampled_from(INTEGERS))
def test_cells_by_their_definition(data, n_cells, dtype):
    cells = data.draw(st.lists(st.integers(0, n_cells - 1), max_size=60))
    offsets, order, moved = sort_by_cell(np.array(cells, dtype), n_cells, np.arange(len(cells)))
    assert (offsets.dtype, order.dtype) == (np.int64, np.int64)
    expected = cells_defined(cells, n_cells)
    assert (offsets.tolist(), order.tolist()) == expected
    assert moved.tolist() == expected[1]


@pytest.mark.parametrize("dtype", ["i4", "u8"])
@pytest.mark.parametrize("arrangement", ["any", "sorted", "reversed", "nearly", "one cell", "few cells"])
@pytest.mark.parametrize(
    ("n", "n_cells"),
    [*itertools.product([100, 5000, 30_000, 300_000], [5, 4000, 4096, 4097, 70_000]), (300_000, 10_000_000)],
)
def test_cells_of_any_number(n, n_cells, arrangement, dtype):
    rng = np.random.default_rng(n)
    cells = rng.integers(0, n_cells, n).astype(dtype)
    if arrangement == "one cell":
        cells[:] = n_cells // 2
    elif arrangement == "few cells":
        cells = np.append(cells[: n - 1] % 3 + n_cells // 2, 0).astype(dtype)
    elif arrangement == "reversed":
        cells = np.sort(cells)[::-1]
    elif arrangement != "any":
        cells.sort()
        if arrangement == "nearly":
            cells[n // 2] = 0
    offsets, order = sort_by_cell(cells, n_cells)
    np.testing.assert_array_equal(order, np.argsort(cells, kind="stable"))
    np.testing.assert_array_equal(offsets, np.searchsorted(cells[order], np.arange(n_cells + 1)))


def test_distinct_descending_cells():
    offsets, order = sort_by_cell(np.arange(1000)[::-1] * 7, 7000)
    np.testing.assert_array_equal(order, np.arange(1000)[::-1])
    np.testing.assert_array_equal(offsets, -(-np.arange(7001) // 7))


@pytest.mark.parametrize("n_cells", [0, 1, 5])
def test_no_entries(n_cells):
    offsets, order = sort_by_cell([], n_cells)
    assert (offsets.tolist(), order.tolist()) == ([0] * (n_cells + 1), [])


def test_the_order_serves_sort_by_key():
    cells, weights = [2, 0, 2, 0], np.array([0.1, 0.2, 0.3, 0.4])
    _, order, moved = sort_by_cell(cells, 3, weights)
    assert sort_by_key(cells, weights, order=order)[2].tolist() == moved.tolist() == [0.2, 0.4, 0.1, 0.3]


def test_cells_write_to_out():
    cells = np.array([2, 0, 2, 0], ">i2")
    out = (np.empty(4, np.int64), np.empty(4, np.int64), np.empty((4, 2)))
    found = sort_by_cell(cells, 3, np.arange(8.0).reshape(4, 2), out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    assert out[0].tolist() == [0, 2, 2, 4]
    assert out[2].tolist() == [[2, 3], [6, 7], [0, 1], [4, 5]]


@pytest.mark.parametrize("n", [3, 5000])
@pytest.mark.parametrize(("dtype", "bad"), [("i4", -1), ("i8", 7), ("u8", 2**64 - 1), ("i1", -128), ("i8", -(2**63))])
def test_a_cell_out_of_range_is_named(dtype, bad, n):
    cells = np.zeros(n, dtype)
    cells[1], cells[2] = bad, -3 if dtype[0] == "i" else 99
    out = (np.full(8, -1), np.full(n, -1))
    with pytest.raises(ArgumentError) as caught:
        sort_by_cell(cells, 7, out=out)
    assert f"sort_by_cell: argument 'cells' must lie in [0, 7), got {bad} at index 1" in str(caught.value)
    assert all((array == -1).all() for array in out)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (([0.0, 1.0], 2), ArgumentTypeError, "argument 'cells' must have an integer dtype"),
        (([True], 2), ArgumentTypeError, "argument 'cells' must have an integer dtype"),
        (([[0]], 2), ArgumentError, "argument 'cells' must be 1D"),
        (([0], -1), ArgumentError, "argument 'n_cells' must be non-negative, got -1"),
        (([0], 1.0), ArgumentTypeError, "argument 'n_cells' must be an integer"),
        (([0], True), ArgumentTypeError, "argument 'n_cells' must be an integer"),
        (([0], 2**58 + 1), ArgumentError, "argument 'n_cells' must be at most 2**58"),
        (([0], 0), ArgumentError, "argument 'cells' must lie in [0, 0), got 0 at index 0"),
        (
            ([0, 1], 2, [1, 2, 3]),
            ArgumentError,
            "argument 'arrays[0]' must have 2 entries along axis 0, as 'cells' has",
        ),
    ],
)
def test_bad_arguments_of_sort_by_cell(arguments, error, text):
    with pytest.raises(error) as caught:
        sort_by_cell(*arguments)
    assert str(caught.value).startswith("sort_by_cell: ")
    assert text in str(caught.value)


@settings(max_examples=40)
@given(n=st.sampled_from([0, 1, 300, 3000]), n_cells=st.sampled_from([1, 50, 5000]), seed=st.integers(0, 99))
def test_numpy_sorts_cells_alike(n, n_cells, seed):
    cells = np.random.default_rng(seed).integers(0, n_cells, n).astype(np.int32)
    results = []
    for module in (_numpy_sort, _host.sort):
        offsets, order = np.empty(n_cells + 1, np.int64), np.empty(n, np.int64)
        assert module.sort_cells(cells, n_cells, order, offsets)
        results.append((offsets.tolist(), order.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("keys", [np.arange(3), [0, 1, 2]], ids=["array", "list"])
def test_an_axis_that_is_none_is_refused_without_arrays_too(keys):
    with pytest.raises(ArgumentTypeError, match=r"sort_by_key: argument 'axis' must be an integer"):
        sort_by_key(keys, axis="x")


@pytest.mark.parametrize("descending", [np.array([True, False]), "no", None, 1.0])
def test_descending_is_one_truth_value(descending) -> None:
    for arguments in (([2, 1],), ([2, 1], [0, 1]), (np.array([2, 1]),)):
        with pytest.raises(ArgumentTypeError, match="argument 'descending' must be True or False, got"):
            sort_by_key(*arguments, descending=descending)
