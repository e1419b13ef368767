"""Morton and Hilbert keys of device arrays: the kernels' results are the host's, in one launch."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy import algorithms as alg
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError, TransferError
from key_definitions import MORTON_VECTORS, POINT_VECTORS

pytestmark = pytest.mark.usefixtures("raw_modules")
KEYS = [alg.morton_keys, alg.hilbert_keys]


def same(device, host):
    assert isinstance(device, cupy.ndarray)
    assert device.dtype == host.dtype
    np.testing.assert_array_equal(xp.to_numpy(device), host)


@pytest.mark.parametrize(("cells", "key"), MORTON_VECTORS)
def test_vectors_of_cells(cells, key):
    keys = alg.morton_encode(*(cupy.asarray([cell]) for cell in cells))
    same(keys, np.array([key], np.uint64))
    for axis, cell in zip(alg.morton_decode(keys, len(cells)), cells, strict=True):
        same(axis, np.array([cell], np.uint64))


@pytest.mark.parametrize(("levels", "lower", "upper", "point", "key"), POINT_VECTORS)
def test_vectors_of_points(levels, lower, upper, point, key):
    same(alg.morton_keys(cupy.asarray([point], float), lower, upper, levels), np.array([key], np.uint64))


@pytest.mark.parametrize("function", KEYS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_points_of_every_dtype_and_layout(function, dtype, ndim, raw_modules):
    values = (np.random.default_rng(1).random((300, ndim)) * 120).astype(dtype)
    if values.dtype.kind == "f":
        values[:5] = [[np.inf], [-np.inf], [6e-8], [-0.0], [119]]
    wide = cupy.zeros((600, 2 * ndim), dtype)
    wide[::2, ::2] = cupy.asarray(values)
    box = [1.5] * ndim, [119] * ndim, 10
    for points in (cupy.asarray(values), cupy.asarray(values.T.copy()).T, cupy.asarray(values)[::-1], wide[::2, ::2]):
        for keys in (np.uint64, np.uint32):
            raw_modules.clear()
            found = function(points, *box, dtype=keys)
            assert len(raw_modules) == 1
            same(found, function(xp.to_numpy(points), *box, dtype=keys))


@pytest.mark.parametrize("function", KEYS)
@pytest.mark.parametrize(("ndim", "levels"), [(2, 32), (3, 21)])
def test_float32_points_at_full_depth(function, ndim, levels):
    points = (np.random.default_rng(0).random((4000, ndim)) * 3.7).astype(np.float32)
    box = [0.1] * ndim, [3.7] * ndim, levels
    same(function(cupy.asarray(points), *box), function(points.astype(float), *box))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nan_is_in_cell_0_unless_checked(dtype, raw_modules):
    points = cupy.asarray(np.array([[0.1, 0.6], [np.nan, 0.6], [0.6, np.nan], [np.nan, np.nan]], dtype))
    keys = np.array([2, 2, 1, 0], np.uint64)
    same(alg.morton_keys(points, [0, 0], [1, 1], 1), keys)
    same(alg.morton_keys(points, [0, 0], [1, 1], 1, check=False), keys)
    out = cupy.full(4, 9, np.uint64)
    for options in ({}, {"out": out}):
        raw_modules.clear()
        with pytest.raises(ArgumentError, match=r"NaN in 3 point\(s\), the first at index 1; "):
            alg.morton_keys(points, [0, 0], [1, 1], 1, check=True, **options)
        assert len(raw_modules) == 1
    same(out, np.full(4, 9, np.uint64))
    raw_modules.clear()
    assert alg.morton_keys(points[:1], [0, 0], [1, 1], 1, check=True, out=out[:1]) is not None
    assert len(raw_modules) == 2
    same(out, np.array([2, 9, 9, 9], np.uint64))


def test_a_check_is_one_recorded_read_and_nothing_else_is():
    points = cupy.zeros((5, 2))
    with xp.profiling.forbid_transfers():
        keys = alg.hilbert_keys(points, [-1, -1], [1, 1], 3)
        cells = alg.hilbert_decode(keys, 2, 3)
        alg.hilbert_encode(*cells, levels=3)
        alg.morton_encode(cells[0], 3, out=keys)
        with pytest.raises(TransferError, match="to_host of 16 bytes"):
            alg.morton_keys(points, [-1, -1], [1, 1], 3, check=True)
    for call in (
        lambda: alg.morton_keys(points, [-1, -1], [1, 1], 3, check=True),
        lambda: alg.morton_encode(*cells, check=True),
        lambda: alg.morton_decode(keys, 2, check=True),
        lambda: alg.hilbert_decode(keys, 2, 3, check=True),
    ):
        with xp.profiling.count_transfers() as counter:
            call()
        assert [(event.kind, event.nbytes, event.implicit) for event in counter.events] == [("to_host", 16, False)]


INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("ndim", [2, 3])
def test_cells_of_every_dtype_and_layout(dtype, ndim, raw_modules):
    host = np.random.default_rng(0).integers(0, 127, (ndim, 6, 5, 4)).astype(dtype)
    device = cupy.asarray(host)
    for a, b in ((host, device), (host[:, ::-2, :, 1:3], device[:, ::-2, :, 1:3]), (host.T[1].T, device.T[1].T)):
        for keys in (np.uint64, np.uint32):
            raw_modules.clear()
            found = alg.morton_encode(*b, dtype=keys)
            assert len(raw_modules) == 1
            same(found, alg.morton_encode(*a, dtype=keys))
            same(alg.hilbert_encode(*b, levels=8, dtype=keys), alg.hilbert_encode(*a, levels=8, dtype=keys))
            back = alg.hilbert_decode(found, ndim, 8), alg.hilbert_decode(xp.to_numpy(found), ndim, 8)
            for axis, cells in zip(*back, strict=True):
                same(axis, cells)


def test_cells_broadcast(raw_modules):
    x, y, z = np.arange(5)[:, None, None], np.arange(7, dtype=np.uint8)[:, None], np.arange(3, dtype=np.int16)
    same(alg.morton_encode(*map(cupy.asarray, (x, y, z))), alg.morton_encode(x, y, z))
    same(alg.morton_encode(cupy.asarray(x), 3, np.uint64(9)), alg.morton_encode(x, 3, 9))
    same(alg.morton_encode(cupy.asarray(3), 4), alg.morton_encode(3, 4))
    assert len(raw_modules) == 3
    same(alg.morton_encode(cupy.asarray(x[:0]), cupy.asarray(y)), alg.morton_encode(x[:0], y))
    many = np.arange(2**10).reshape((2,) * 10)[..., ::-1].transpose([0, 9, 1, 8, 2, 7, 3, 6, 4, 5])
    same(alg.morton_encode(cupy.asarray(many), cupy.asarray(many.T)), alg.morton_encode(many, many.T))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_keys_of_every_dtype(dtype):
    keys = np.arange(120).astype(dtype).reshape(8, 15)
    for a, b in ((keys, cupy.asarray(keys)), (keys[::2, ::-1], cupy.asarray(keys)[::2, ::-1])):
        for ndim in (2, 3):
            for host, device in zip(alg.morton_decode(a, ndim), alg.morton_decode(b, ndim), strict=True):
                same(device, host)


def test_low_bits_alone_count_unless_checked():
    x = cupy.asarray([3, -1, 2**32], np.int64)
    same(alg.morton_encode(x, 0), np.array([5, 0x5555555555555555, 0], np.uint64))
    for out in (None, cupy.zeros(3, np.uint64)):
        with pytest.raises(
            ArgumentError, match=r"2 of the cells are not within 0 to 4294967295, the first at \(1,\); "
        ):
            alg.morton_encode(x, 0, check=True, out=out)
    with pytest.raises(ArgumentError, match=r"'cells\[1\]' must be within 0 to 4294967295, got -1"):
        alg.morton_encode(x, -1, check=True)
    with pytest.raises(ArgumentError, match=r"1 of the keys are not within 0 to 15, the first at \(2,\); "):
        alg.hilbert_decode(cupy.asarray([0, 15, 16]), 2, 2, check=True)
    with pytest.raises(ArgumentError, match=r"1 of the keys .* the first at \(0,\); "):
        alg.morton_decode(cupy.asarray([-1]), 2, check=True)
    same(alg.morton_decode(cupy.asarray([-1]), 2)[0], np.array([2**32 - 1], np.uint64))
    same(alg.morton_encode(cupy.asarray([2**64 - 1], np.uint64), 0), np.array([0x5555555555555555], np.uint64))


def test_refused():
    points, keys = cupy.zeros((3, 2)), cupy.zeros(3, np.uint64)
    with pytest.raises(MixedBackendError, match="'positions' are in device memory and 'out' on the host"):
        alg.morton_keys(points, [0, 0], [1, 1], 3, out=np.zeros(3, np.uint64))
    with pytest.raises(MixedBackendError, match=r"cells\[0\]"):
        alg.morton_encode(keys, [1, 2, 3])
    with pytest.raises(ArgumentTypeError, match=r"'lower'.*to_numpy"):
        alg.morton_keys(points, cupy.zeros(2), [1, 1], 3)
    with pytest.raises(ArgumentTypeError, match="'positions' has dtype complex128"):
        alg.morton_keys(points + 1j, [0, 0], [1, 1], 3)
    with pytest.raises(ArgumentError, match=r"shape \(n, ndim\)"):
        alg.morton_keys(points[0], [0, 0], [1, 1], 3)
    with pytest.raises(ArgumentTypeError, match=r"'cells\[0\]' must have an integer dtype"):
        alg.morton_encode(points, points)
    with pytest.raises(ArgumentTypeError, match="'keys' must have an integer dtype"):
        alg.morton_decode(points, 2)
    with pytest.raises(ArgumentError, match="'out' must be C-contiguous"):
        alg.morton_keys(points, [0, 0], [1, 1], 3, out=cupy.zeros(6, np.uint64)[::2])
    with pytest.raises(ArgumentError, match=r"'out' shares memory with argument 'cells\[0\]'"):
        alg.morton_encode(keys, 1, out=keys)


def test_dispatch_follows_the_array(raw_modules):
    with xp.use_backend("cupy"):
        assert isinstance(alg.morton_keys(np.zeros((1, 2)), [0, 0], [1, 1], 3), np.ndarray)
    assert raw_modules == []
    with xp.use_backend("numpy"):
        assert isinstance(alg.morton_keys(cupy.zeros((1, 2)), [0, 0], [1, 1], 3), cupy.ndarray)
