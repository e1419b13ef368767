"""Morton and Hilbert keys on the host: by the native library, or by NumPy in a run with CUNUMPY_NO_NATIVE=1."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import array_kinds
import key_definitions as definitions
from cunumpy import algorithms as alg
from cunumpy.algorithms import _host, _numpy_morton
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyError, MixedBackendError

MAX = {(2, 8): 32, (3, 8): 21, (2, 4): 16, (3, 4): 10}
ENCODERS = {"morton": alg.morton_encode, "hilbert": alg.hilbert_encode}
KEYS = {"morton": alg.morton_keys, "hilbert": alg.hilbert_keys}


def encode(curve, *cells, levels, **options):
    return (
        alg.morton_encode(*cells, **options)
        if curve == "morton"
        else alg.hilbert_encode(*cells, levels=levels, **options)
    )


def decode(curve, keys, ndim, levels, **options):
    if curve == "morton":
        return alg.morton_decode(keys, ndim, **options)
    return alg.hilbert_decode(keys, ndim, levels, **options)


def defined(curve, cells, levels):
    return definitions.morton(cells, levels) if curve == "morton" else definitions.hilbert(cells, levels)


def all_cells(ndim, levels):
    return [axis.ravel() for axis in np.meshgrid(*[np.arange(2**levels)] * ndim, indexing="ij")]


# ---- vectors


def test_the_most_levels():
    assert alg.MAX_MORTON_LEVELS == {2: 32, 3: 21}


@pytest.mark.parametrize(("cells", "key"), definitions.MORTON_VECTORS)
def test_vectors_of_cells(cells, key):
    assert definitions.morton(cells) == key
    assert alg.morton_encode(*cells) == key
    assert alg.morton_encode(*([one] for one in cells)).tolist() == [key]
    assert alg.morton_decode(key, len(cells)) == cells
    limit = MAX[len(cells), 4]
    if max(cells) < 2**limit:
        assert alg.morton_encode(*cells, dtype=np.uint32) == key


@pytest.mark.parametrize(("levels", "lower", "upper", "point", "key"), definitions.POINT_VECTORS)
def test_vectors_of_points(levels, lower, upper, point, key):
    assert alg.morton_keys([point], lower, upper, levels).tolist() == [key]
    assert alg.morton_keys(np.array([point] * 1000), lower, upper, levels).tolist() == [key] * 1000
    if levels <= MAX[len(point), 4]:
        keys = alg.morton_keys([point], lower, upper, levels, dtype=np.uint32)
        assert keys.dtype == np.uint32
        assert keys.tolist() == [key]


def test_scales():
    scales = alg.morton_scales([0, 1.0, -2], (1, 5, -6), 3)
    assert scales.dtype == np.float64
    assert scales.tolist() == [8, 2, -2]


# ---- against the definitions


@st.composite
def cells_and_levels(draw):
    ndim, itemsize = draw(st.sampled_from(sorted(MAX)))
    levels = draw(st.integers(1, MAX[ndim, itemsize]))
    n = draw(st.integers(0, 20))
    axis = st.lists(st.integers(0, 2**levels - 1), min_size=n, max_size=n)
    return [draw(axis) for _ in range(ndim)], levels, np.dtype(f"u{itemsize}")


@pytest.mark.parametrize("curve", ENCODERS)
@given(case=cells_and_levels())
def test_encoding_is_as_defined_and_decoding_its_inverse(curve, case):
    cells, levels, dtype = case
    keys = encode(curve, *cells, levels=levels, dtype=dtype)
    assert keys.dtype == dtype
    assert keys.tolist() == [defined(curve, one, levels) for one in zip(*cells, strict=True)]
    back = decode(curve, keys, len(cells), levels)
    assert [axis.tolist() for axis in back] == cells
    assert {axis.dtype for axis in back} == {dtype}


@given(
    positions=arrays(
        st.sampled_from(["f8", ">f8", "f4", ">f4", "f2", "i8", "i4", "i1", "u8", ">u2"]),
        st.tuples(st.integers(0, 9), st.integers(2, 3)),
        elements=None,
    ),
    levels=st.integers(1, 21),
    lower=st.floats(-1e3, 1e3),
    width=st.sampled_from([1.0, -1.0, 3.7, 1e-3, -1e5, 1e300]),
    curve=st.sampled_from(list(KEYS)),
)
def test_points_are_as_defined(positions, levels, lower, width, curve):
    ndim = positions.shape[1]
    low, high = [lower] * ndim, [lower + width] * ndim
    scale = alg.morton_scales(low, high, levels)
    keys = KEYS[curve](positions, low, high, levels, check=False)
    expected = []
    with np.errstate(all="ignore"):  # signalling NaN
        values = positions.astype(np.float64)
    for point in values.tolist():
        cells = [definitions.cell(x, lower, s, levels) for x, s in zip(point, scale.tolist(), strict=True)]
        expected.append(defined(curve, cells, levels))
    assert keys.tolist() == expected


@pytest.mark.parametrize("name", ["point_keys", "cell_keys", "key_cells"])
@pytest.mark.parametrize(("ndim", "itemsize"), MAX)
@pytest.mark.parametrize("hilbert", [False, True])
@pytest.mark.parametrize("n", [0, 1, 255, 20_001])
def test_native_code_and_numpy_give_the_same(name, ndim, itemsize, hilbert, n, every_instruction_set):
    for levels in (1, 2, MAX[ndim, itemsize] - 1, MAX[ndim, itemsize]):
        results = []
        for module in (_host.morton, _numpy_morton):
            if name == "point_keys":
                p = np.random.default_rng(1).normal(size=(n, ndim)).astype("f4")
                p[n // 2 : n // 2 + 1] = np.inf, *[np.nan] * (ndim - 1)
                keys = np.empty(n, f"u{itemsize}")
                nan = module.point_keys(p, np.zeros(ndim), np.full(ndim, 2.0 ** (levels - 1)), levels, hilbert, keys)
                assert nan == (n > 0)
                results.append(keys)
            elif name == "cell_keys":
                cells = [np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15 + 2 * a) for a in range(ndim)]
                keys = np.empty(n, f"u{itemsize}")
                module.cell_keys(cells, levels, hilbert, keys)
                results.append(keys)
            else:
                keys = np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
                cells = [np.empty(n, np.uint64) for _ in range(ndim)]
                module.key_cells(keys, levels, hilbert, cells)
                results.append(np.array(cells))
        np.testing.assert_array_equal(*results)


@pytest.fixture(params=[0, 1, 2])
def every_instruction_set(request):
    from cunumpy.algorithms._library import HOST

    if HOST.library is None:
        yield
        return
    HOST.library.cunumpy_use_instruction_set(request.param)
    yield
    HOST.library.cunumpy_use_instruction_set(-1)


def test_many_points_on_several_threads(monkeypatch):
    points = np.random.default_rng(0).random((300_000, 3))
    keys = {}
    for threads in ("1", "5"):
        monkeypatch.setenv("CUNUMPY_NUM_THREADS", threads)
        keys[threads] = alg.morton_keys(points, [0] * 3, [1] * 3, 21)
        cells = alg.morton_decode(keys[threads], 3)
        np.testing.assert_array_equal(alg.morton_encode(*cells), keys[threads])
        np.testing.assert_array_equal(cells, (points.T * 2**21).astype(np.uint64))
    np.testing.assert_array_equal(keys["1"], keys["5"])
    points[250_000] = np.nan
    with pytest.raises(ArgumentError, match=r"1 point.* index 250000"):
        alg.morton_keys(points, [0] * 3, [1] * 3, 21)


# ---- Hilbert curve


@pytest.mark.parametrize(("ndim", "levels"), [(2, 1), (2, 2), (2, 5), (2, 6), (3, 1), (3, 2), (3, 3), (3, 4)])
def test_hilbert_curve_goes_through_every_cell_to_neighbours(ndim, levels):
    cells = np.array(alg.hilbert_decode(np.arange(2 ** (ndim * levels)), ndim, levels)).astype(np.int64)
    assert len({tuple(cell) for cell in cells.T.tolist()}) == cells.shape[1]
    assert cells.min() == 0
    assert cells.max() == 2**levels - 1
    assert (np.abs(np.diff(cells, axis=1)).sum(axis=0) == 1).all()
    np.testing.assert_array_equal(alg.hilbert_encode(*cells, levels=levels), np.arange(cells.shape[1]))


@pytest.mark.parametrize(("ndim", "levels"), [(2, 32), (3, 21)])
def test_hilbert_curve_is_continuous_at_full_depth(ndim, levels):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2 ** (ndim * levels) - 1, 1000, dtype=np.uint64)
    first[:20] = (np.uint64(1) << np.arange(40, 60, dtype=np.uint64)) - np.uint64(1)
    here, there = (np.array(alg.hilbert_decode(k, ndim, levels)).astype(float) for k in (first, first + np.uint64(1)))
    assert (np.abs(here - there).sum(axis=0) == 1).all()


@pytest.mark.parametrize("ndim", [2, 3])
def test_hilbert_orientation(ndim):
    assert list(zip(*alg.hilbert_decode(range(2**ndim), ndim, 1), strict=True)) == definitions.HILBERT_ORDER[ndim]
    for levels in (2, 7, MAX[ndim, 8]):
        assert alg.hilbert_decode(0, ndim, levels) == (0,) * ndim
        assert alg.hilbert_decode(2 ** (ndim * levels) - 1, ndim, levels) == (2**levels - 1,) + (0,) * (ndim - 1)


@pytest.mark.parametrize("curve", ENCODERS)
@pytest.mark.parametrize(("ndim", "levels"), [(2, 5), (3, 3), (2, 32), (3, 21)])
def test_a_key_begins_with_the_key_of_the_coarser_cell(curve, ndim, levels):
    cells = all_cells(ndim, levels) if levels < 10 else np.random.default_rng(0).integers(0, 2**levels, (ndim, 500))
    keys = encode(curve, *cells, levels=levels)
    for coarse in range(1, levels):
        parents = encode(curve, *(np.asarray(axis) >> (levels - coarse) for axis in cells), levels=coarse)
        np.testing.assert_array_equal(keys >> np.uint64(ndim * (levels - coarse)), parents)


# ---- points


@pytest.mark.parametrize("curve", KEYS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(("ndim", "levels"), [(2, 20), (2, 25), (2, 32), (3, 21)])
def test_narrow_floats_have_the_keys_of_the_same_points_in_float64(curve, dtype, ndim, levels):
    points = (np.random.default_rng(0).random((4000, ndim)) * 3.7).astype(dtype)
    points[:4] = [[np.inf], [-np.inf], [3.7], [0.1]]
    low, high = [0.1] * ndim, [3.7] * ndim
    np.testing.assert_array_equal(
        KEYS[curve](points, low, high, levels), KEYS[curve](points.astype(float), low, high, levels)
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize(("ndim", "levels"), [(2, 16), (2, 25), (2, 31), (2, 32), (3, 21)])
def test_upper_face_and_beyond_is_the_last_cell(dtype, ndim, levels):
    points = np.full((3, ndim), [[1.0], [2.0], [np.inf]], dtype)
    assert alg.morton_keys(points, [0] * ndim, [1] * ndim, levels).tolist() == [2 ** (ndim * levels) - 1] * 3
    assert alg.morton_keys(-points, [0] * ndim, [1] * ndim, levels).tolist() == [0] * 3
    assert alg.morton_keys(points, [1] * ndim, [0] * ndim, levels).tolist() == [0] * 3
    assert alg.morton_keys(-points, [1] * ndim, [0] * ndim, levels).tolist() == [2 ** (ndim * levels) - 1] * 3


@pytest.mark.parametrize("levels", [1, 4, 21])
def test_a_boundary_belongs_to_the_upper_cell(levels):
    edges = np.arange(min(2**levels, 5000)) / 2**levels
    for x, expected in ((edges, np.arange(len(edges))), (np.nextafter(edges[1:], 0), np.arange(len(edges) - 1))):
        cells = alg.morton_decode(alg.morton_keys(np.stack([x, x], 1), [0, 0], [1, 1], levels), 2)
        np.testing.assert_array_equal(cells[0], expected)


def test_integers_are_rounded_to_float64():
    points = np.array([[2**53 + 1, 2**63 - 1]])
    box = [2**53, 0], [2**53 + 4, 2**63]
    assert alg.morton_keys(points, *box, 2).tolist() == alg.morton_keys(points.astype(float), *box, 2).tolist()


@pytest.mark.parametrize("curve", KEYS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i1", "<u4", ">i8"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_layouts(curve, dtype, ndim):
    values = np.random.default_rng(5).integers(0, 100, (7, ndim)).astype(dtype)
    box = [-1] * ndim, [99.5] * ndim
    expected = KEYS[curve](values.astype(float), *box, 9)
    wide = np.zeros((14, 2 * ndim), dtype)
    wide[::2, ::2] = values
    record = np.zeros(7, [("skip", "u1"), ("x", dtype, ndim)])  # not aligned
    record["x"] = values
    layouts = [
        values,
        np.asfortranarray(values),
        values[::-1].copy()[::-1],
        np.ascontiguousarray(values[:, ::-1])[:, ::-1],
        wide[::2, ::2],
        record["x"],
    ]
    for layout in layouts:
        before = layout.copy()
        np.testing.assert_array_equal(KEYS[curve](layout, *box, 9), expected)
        np.testing.assert_array_equal(layout, before)
    np.testing.assert_array_equal(
        KEYS[curve](np.broadcast_to(values[0], (7, ndim)), *box, 9), np.repeat(expected[:1], 7)
    )


def test_nan_is_refused_and_nothing_written():
    points = np.zeros((70, 2))
    points[40, 1] = points[50] = np.nan
    out = np.full(70, 5, np.uint64)
    for options in ({}, {"out": out}, {"check": True}):
        with pytest.raises(
            ArgumentError,
            match=r"morton_keys: argument 'positions' has NaN in 2 point\(s\), the first at index 40; .*check",
        ):
            alg.morton_keys(points, [0, 0], [1, 1], 3, **options)
    assert (out == 5).all()


def test_nan_without_check_is_in_cell_0():
    points = [[np.nan, 0.6], [0.6, np.nan], [np.nan, np.nan]]
    for dtype in (np.float16, np.float32, np.float64):
        assert alg.morton_keys(np.array(points, dtype), [0, 0], [1, 1], 1, check=False).tolist() == [2, 1, 0]


def test_large_numbers_do_not_warn():
    points = np.array([[1e308, -1e308], [-1e308, 1e308]])
    assert alg.morton_keys(points, [-1e308, 1e300], [-9e307, -1e300], 1).tolist() == [3, 0]


@pytest.mark.parametrize("curve", KEYS)
def test_no_points(curve):
    for ndim in (2, 3):
        keys = KEYS[curve](np.empty((0, ndim)), [0] * ndim, [1] * ndim, 5)
        assert keys.shape == (0,)
        assert keys.dtype == np.uint64


# ---- cells and keys


@pytest.mark.parametrize("curve", ENCODERS)
def test_cells_broadcast(curve):
    x, y = np.arange(5)[:, None], np.arange(7, dtype=np.uint8)
    keys = encode(curve, x, y, levels=4)
    assert keys.shape == (5, 7)
    assert keys.tolist() == [[defined(curve, (i, j), 4) for j in range(7)] for i in range(5)]
    assert encode(curve, 3, y, levels=4).tolist() == keys[3].tolist()
    assert encode(curve, x[:0], y, 3, levels=4).shape == (0, 7)


def test_scalars():
    key = alg.morton_encode(1, np.uint8(2))
    assert isinstance(key, np.ndarray)
    assert key.shape == ()
    for value in (9, np.int64(9), np.array(9)):
        cells = alg.morton_decode(value, 2)
        assert cells == (1, 2)
        assert all(isinstance(cell, np.uint64) for cell in cells)
    assert all(isinstance(cell, np.uint32) for cell in alg.hilbert_decode(np.uint32(9), 2, 4))


@pytest.mark.parametrize("curve", ENCODERS)
@pytest.mark.parametrize("dtype", ["i1", "u1", ">i2", "u4", "i8", ">u8"])
def test_layouts_and_dtypes_of_cells(curve, dtype):
    cells = np.random.default_rng(0).integers(0, 127, (3, 40, 6)).astype(dtype)
    expected = encode(curve, *cells.astype(np.int64), levels=7)
    np.testing.assert_array_equal(encode(curve, *map(np.asfortranarray, cells), levels=7), expected)
    np.testing.assert_array_equal(encode(curve, *cells[:, ::-2], levels=7), expected[::-2])
    np.testing.assert_array_equal(encode(curve, cells[0].T, cells[1].T, cells[2].T, levels=7), expected.T)
    for keys in (expected, np.asfortranarray(expected), expected[::2, ::-1], expected.astype(">i8")):
        wanted = encode(curve, *decode(curve, keys, 3, 7), levels=7)
        np.testing.assert_array_equal(wanted, keys)


@pytest.mark.parametrize("curve", ENCODERS)
def test_low_bits_alone_count_without_check(curve):
    assert alg.morton_encode(-1, 0, check=False) == 0x5555555555555555
    assert alg.morton_encode([2**21 + 1], [0], [0], check=False).tolist() == [1]
    assert alg.morton_encode([2**16 + 1], [0], dtype=np.uint32, check=False).tolist() == [1]
    assert alg.morton_decode([-1], 2, check=False) == (2**32 - 1, 2**32 - 1)
    assert alg.hilbert_encode(4, 5, levels=2, check=False) == alg.hilbert_encode(0, 1, levels=2)
    assert alg.hilbert_decode(16 + 2, 2, 2, check=False) == alg.hilbert_decode(2, 2, 2)


def test_bits_of_no_axis_are_ignored():
    assert alg.morton_decode(2**63, 3) == (0, 0, 0)
    assert alg.morton_decode(np.uint32(2**30 + 2**31), 3) == (0, 0, 0)
    assert alg.morton_decode(2**30, 3) == (2**10, 0, 0)


# ---- out


@pytest.mark.parametrize("dtype", [np.uint64, np.uint32])
def test_out_is_written_and_returned(dtype):
    points, out = np.random.default_rng(0).random((50, 3)), np.zeros(50, dtype)
    assert alg.morton_keys(points, [0] * 3, [1] * 3, 9, dtype=dtype, out=out) is out
    assert (out == alg.morton_keys(points, [0] * 3, [1] * 3, 9)).all()
    cells = alg.morton_decode(out, 3)
    for curve in ENCODERS:
        out = np.zeros(50, dtype)
        assert encode(curve, *cells, levels=9, dtype=dtype, out=out) is out
        assert (out == encode(curve, *cells, levels=9)).all()


def test_unfit_out_is_refused():
    points = np.zeros((4, 2))
    frozen = np.zeros(4, np.uint64)
    frozen.flags.writeable = False
    memory = np.zeros(8, np.uint64)
    for out, words in [
        (np.zeros(3, np.uint64), r"shape \(4,\).*shape=\(3,\)"),
        (np.zeros(4, np.int64), "dtype uint64.*int64"),
        (np.zeros(4, ">u8"), "dtype uint64"),
        (memory[::2], "C-contiguous.*strides"),
        (frozen, "read-only"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            alg.morton_keys(points, [0, 0], [1, 1], 3, out=out)
    for out, words in [([0] * 4, "'out' must be a numpy.ndarray.*list"), (np.ma.zeros(4, np.uint64), "MaskedArray")]:
        with pytest.raises(ArgumentTypeError, match=words):
            alg.morton_keys(points, [0, 0], [1, 1], 3, out=out)
    with pytest.raises(ArgumentError, match="'out' shares memory with argument 'positions'"):
        alg.morton_keys(memory.view(float).reshape(4, 2), [0, 0], [1, 1], 3, out=memory[:4])
    with pytest.raises(ArgumentError, match=r"'out' shares memory with argument 'cells\[1\]'"):
        alg.morton_encode(np.arange(8), memory, out=memory)
    with pytest.raises(ArgumentError, match=r"shape \(2, 3\)"):
        alg.hilbert_encode(np.zeros((2, 1), int), np.zeros(3, int), levels=3, out=np.zeros(3, np.uint64))


# ---- refused arguments


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (([-1], [0]), r"morton_encode: argument 'cells\[0\]' must be within 0 to 4294967295, got -1 .*first at \(0,\)"),
        (
            ([0, 1], [0, 2**32]),
            r"'cells\[1\]' .* got 4294967296 \(1 of 2 are not, the first at \(1,\)\); .*check=False",
        ),
        (([0], [2**21], [0]), r"'cells\[1\]' must be within 0 to 2097151"),
        ((-5, 0), r"got -5 \(1 of 1 are not\)"),
        ((1,), "2 or 3 dimensions, got cells on 1 axes"),
        ((), "2 or 3 dimensions"),
        ((1, 2, 3, 4), "2 or 3 dimensions"),
        (([1, 2], [1, 2, 3]), r"shapes \(2,\) and \(3,\) do not broadcast"),
    ],
)
def test_refused_cells(cells, words):
    with pytest.raises(ArgumentError, match=words):
        alg.morton_encode(*cells)


@pytest.mark.parametrize("bad", [[1.7], [1.0], [True], ["1"], [None], [2**64], [1j], None, {1: 2}])
def test_cells_and_keys_are_integers(bad):
    with pytest.raises(ArgumentTypeError, match=r"morton_encode: argument 'cells\[1\]'"):
        alg.morton_encode([0], bad)
    with pytest.raises(ArgumentTypeError, match="hilbert_decode: argument 'keys'"):
        alg.hilbert_decode(bad, 2, 3)


def test_refused_for_32_bit_keys():
    with pytest.raises(ArgumentError, match="within 0 to 65535"):
        alg.morton_encode(65536, 0, dtype=np.uint32)
    with pytest.raises(ArgumentError, match="within 0 to 1023"):
        alg.morton_encode(1024, 0, 0, dtype=np.uint32)
    with pytest.raises(ArgumentError, match="levels' must be 1 to 10 for 3-D keys of dtype uint32, got 11"):
        alg.morton_keys(np.zeros((1, 3)), [0] * 3, [1] * 3, 11, dtype=np.uint32)
    with pytest.raises(ArgumentError, match="levels' must be 1 to 16"):
        alg.hilbert_encode(0, 0, levels=17, dtype="u4")
    for dtype in (np.int64, float, ">u8", "u2"):
        with pytest.raises(ArgumentTypeError, match=r"'dtype' must be numpy.uint64 or numpy.uint32"):
            alg.morton_encode(0, 0, dtype=dtype)


@pytest.mark.parametrize("function", [alg.morton_keys, alg.hilbert_keys])
def test_levels_are_limited(function):
    for ndim, levels in itertools.product((2, 3), (-1, 0, 22, 33, 64)):
        if (ndim, levels) != (2, 22):
            with pytest.raises(ArgumentError, match=rf"'levels' must be 1 to {MAX[ndim, 8]} .*got {levels}"):
                function(np.zeros((1, ndim)), [0] * ndim, [1] * ndim, levels)
    for levels in (2.5, 3.0, "3", None, True, np.nan):
        with pytest.raises(ArgumentTypeError, match="'levels' must be an integer"):
            function(np.zeros((1, 2)), [0, 0], [1, 1], levels)
    assert function(np.ones((1, 2)), [0, 0], [1, 1], np.int16(2)).shape == (1,)


@pytest.mark.parametrize(
    ("lower", "upper", "levels", "words"),
    [
        ([0, 0], [1, 1, 1], 3, "'lower' and 'upper' must both have 2 or 3 values, got 2 and 3"),
        ([0], [1], 3, "got 1 and 1"),
        ([0] * 4, [1] * 4, 3, "got 4 and 4"),
        ([[0, 0]], [1, 1], 3, "'lower' must have 1 dimension"),
        (0.0, 1.0, 3, "'lower' must have 1 dimension"),
        ([0, 1], [1, 1], 3, "must differ on every axis, got 1.0 twice on axis 1"),
        ([0, np.nan], [1, 1], 3, "'lower' must be finite"),
        ([0, 0], [1, np.inf], 3, "'upper' must be finite"),
        ([0, 0], [1e-320, 1], 20, "too close together or too far apart"),
        ([-1e308, 0], [1e308, 1], 20, "too close together or too far apart"),
        ([0, 0], [1, 1], 0, "'levels' must be 1 to 32"),
        ([0, 0, 0], [1, 1, 1], 22, "'levels' must be 1 to 21"),
    ],
)
def test_refused_boxes(lower, upper, levels, words):
    with pytest.raises(ArgumentError, match=f"morton_scales: .*{words}"):
        alg.morton_scales(lower, upper, levels)


def test_refused_types_of_boxes():
    for bad in ([1j, 0], [True, False], ["0", "1"], None):
        with pytest.raises(ArgumentTypeError, match="'upper'"):
            alg.morton_keys(np.zeros((1, 2)), [0, 0], bad, 3)
    with pytest.raises(ArgumentTypeError, match=r"'levels' must be an integer, got float \(2\.5\)"):
        alg.morton_scales([0, 0], [1, 1], 2.5)


@pytest.mark.parametrize("shape", [(4,), (), (4, 1), (4, 4), (2, 2, 2)])
def test_refused_shapes_of_positions(shape):
    with pytest.raises(ArgumentError, match=r"hilbert_keys: argument 'positions' must have shape \(n, ndim\)"):
        alg.hilbert_keys(np.zeros(shape), [0, 0], [1, 1], 3)


def test_corners_have_the_dimensions_of_the_positions():
    with pytest.raises(ArgumentError, match="'lower' has 3 values; positions in 2 dimensions need 2 values"):
        alg.morton_keys(np.zeros((1, 2)), [0] * 3, [1] * 3, 3)


@pytest.mark.parametrize("dtype", [complex, bool, object, "U3", "M8[s]"])
def test_positions_are_real_numbers(dtype):
    with pytest.raises(ArgumentTypeError, match=r"'positions' has dtype .* expected integer"):
        alg.morton_keys(np.zeros((1, 2)).astype(dtype), [0, 0], [1, 1], 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: alg.morton_decode(1, 4), ArgumentError, "morton_decode: argument 'ndim' must be 2 or 3, got 4"),
        (lambda: alg.morton_decode(1, 2.0), ArgumentTypeError, "'ndim' must be an integer"),
        (lambda: alg.morton_decode([1, -2], 2), ArgumentError, r"'keys' must be within 0 to .*, got -2 .*\(1,\)"),
        (lambda: alg.hilbert_decode([16], 2, 2), ArgumentError, r"'keys' must be within 0 to 15, got 16.*levels"),
        (lambda: alg.hilbert_decode([1], 3, 22), ArgumentError, "'levels' must be 1 to 21"),
        (lambda: alg.hilbert_decode(np.uint32([1]), 3, 11), ArgumentError, "'levels' must be 1 to 10"),
        (lambda: alg.hilbert_encode(4, 0, levels=2), ArgumentError, r"hilbert_encode: argument 'cells\[0\]'.*0 to 3"),
        (lambda: alg.hilbert_encode(4, 0, levels=2.0), ArgumentTypeError, "'levels' must be an integer"),
    ],
)
def test_refused_decoding(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_device_arrays_of_other_libraries_are_refused():
    foreign = array_kinds.ForeignDeviceArray(np.zeros((3, 2)))
    with pytest.raises(ArgumentTypeError, match=r"'positions' is a device array of another library.*to_cupy"):
        alg.morton_keys(foreign, [0, 0], [1, 1], 3)
    assert issubclass(MixedBackendError, ArgumentTypeError)


# ---- every kind of array


@pytest.mark.parametrize("kind", array_kinds.KINDS, ids=str)
def test_array_kinds(kind, tmp_path):
    """Each kind gives the keys of its values or a clear error, and stays as it was."""
    values = kind.values
    calls = [
        (lambda a: alg.morton_keys(a, [-9] * 3, [9] * 3, 8), _is_points(values)),
        (lambda a: alg.morton_encode(a, a, check=False), values is not None and values.dtype.kind in "iu"),
        (lambda a: alg.hilbert_encode(a, a, levels=4, check=False), values is not None and values.dtype.kind in "iu"),
        (lambda a: alg.morton_decode(a, 2, check=False), values is not None and values.dtype.kind in "iu"),
    ]
    for call, works in calls:
        argument = kind.make(tmp_path)
        before = array_kinds.as_compared(argument)
        if works and kind.name != "foreign-device-array":
            np.testing.assert_array_equal(call(argument), call(values))
        else:
            with pytest.raises(CuNumpyError, match=r"argument '(positions|lower|cells|keys)"):
                call(argument)
        assert array_kinds.as_compared(argument) == before


def _is_points(values):
    return values is not None and values.dtype.kind in "iuf" and values.ndim == 2 and values.shape[1] == 3


@pytest.mark.parametrize(
    "kind", [k for k in array_kinds.ARRAYS if k.values is not None and k.values.shape[1:] == (4,)], ids=str
)
def test_matrix_kinds_as_points(kind, tmp_path):
    """The kinds with four columns, by their first three."""
    argument = kind.make(tmp_path)
    points = argument[:, :3]
    if argument.dtype.kind == "c":
        with pytest.raises(ArgumentTypeError, match="'positions' has dtype complex128"):
            alg.morton_keys(points, [-9] * 3, [9] * 3, 8)
        return
    keys = alg.morton_keys(points, [-9] * 3, [9] * 3, 8)
    np.testing.assert_array_equal(keys, alg.morton_keys(kind.values[:, :3].copy(), [-9] * 3, [9] * 3, 8))
    assert type(keys) is np.ndarray
