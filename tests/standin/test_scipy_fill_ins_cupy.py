"""Functions of `xp.scipy` that CuPy lacks, on device arrays: SciPy on the host is the truth."""

from __future__ import annotations

import doctest

import cupy
import cupyx.scipy.interpolate
import cupyx.scipy.linalg
import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
from cunumpy import _banded, _tensor_splines
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError, TransferError

NAMES = ["linalg.solve_banded", "linalg.solveh_banded", "interpolate.RectBivariateSpline"]


@pytest.fixture(autouse=True)
def cupy_by_default():
    before = xp.get_backend()
    xp.set_backend("cupy", strict=True)
    yield
    xp.set_backend(before)


@pytest.mark.parametrize("path", NAMES)
def test_they_fill_in_what_cupy_lacks(path):
    subpackage, name = path.split(".")
    namespace = getattr(xp.scipy, subpackage)
    assert not hasattr(getattr(cupyx.scipy, subpackage), name)
    assert getattr(namespace, name).__module__ in ("cunumpy._banded", "cunumpy._tensor_splines")
    assert namespace.available(name)
    assert name in dir(namespace)
    with xp.use_backend("numpy"):
        assert getattr(namespace, name) is getattr(getattr(scipy, subpackage), name)


@pytest.mark.parametrize("module", [_banded, _tensor_splines])
def test_their_examples_run(module):
    with xp.use_backend("numpy"):
        done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed


# --- banded systems ---------------------------------------------------------------------------------------------------


def banded(rng, batch, lower, upper, n, dtype):
    ab = rng.standard_normal((*batch, lower + upper + 1, n))
    if np.dtype(dtype).kind == "c":
        ab = ab + 1j * rng.standard_normal(ab.shape)
    return ab.astype(dtype)


def one_by_one(solve, ab, b):
    """Solve each system of a batch by SciPy; `b` has matrices of sides."""
    batch = np.broadcast_shapes(ab.shape[:-2], b.shape[:-2])
    ab, b = np.broadcast_to(ab, (*batch, *ab.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))
    return np.stack(
        [
            solve(one, sides)
            for one, sides in zip(ab.reshape(-1, *ab.shape[-2:]), b.reshape(-1, *b.shape[-2:]), strict=True)
        ]
    ).reshape(b.shape)


@given(
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 9),
    st.sampled_from([((), ()), ((4,), (4,)), ((2, 3), ()), ((), (3,)), ((2, 1), (1, 3))]),
    st.sampled_from(["f8", "c16", "f4", "c8", "i4"]),
    st.integers(0, 10**6),
)
def test_banded_systems_with_pivoting(lower, upper, n, batches, dtype, seed):
    rng = np.random.default_rng(seed)
    ab = banded(rng, batches[0], lower, upper, n, dtype)
    if dtype == "i4":
        ab = rng.integers(1, 9, ab.shape).astype(dtype)
        ab[..., upper, :] += 40
    b = rng.standard_normal((*batches[1], n, 2)).astype("f4" if dtype in ("f4", "c8") else "f8")
    solved = xp.scipy.linalg.solve_banded((lower, upper), cupy.asarray(ab), cupy.asarray(b))
    wanted = np.result_type("f8" if dtype == "i4" else dtype, b.dtype)
    assert isinstance(solved, cupy.ndarray)
    assert solved.dtype == wanted
    if dtype == "f8":
        expected = one_by_one(lambda one, sides: scipy.linalg.solve_banded((lower, upper), one, sides), ab, b)
        assert solved.shape == expected.shape
    # The residual is small whatever the condition.
    dense = np.zeros((*ab.shape[:-2], n, n), wanted)
    for d in range(-lower, upper + 1):
        for j in range(max(0, d), min(n, n + d)):
            dense[..., j - d, j] = ab[..., upper - d, j]
    x = solved.get()
    scale = np.abs(dense).sum(-1).max() * np.abs(x).max() + np.abs(b).max()
    assert np.abs(dense @ x - b).max() <= 100 * np.finfo(wanted).eps * scale


def test_vectors_and_shapes():
    ab = np.array([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]])
    b = np.array([6.0, 12.0, 14.0])
    device = cupy.asarray(ab), cupy.asarray(b)
    with xp.profiling.count_transfers() as counter:
        x = xp.scipy.linalg.solve_banded((1, 1), *device)
    np.testing.assert_allclose(x.get(), [1.0, 2.0, 3.0], rtol=1e-15)
    assert [(event.kind, event.implicit) for event in counter.events] == [("sync", True)]
    assert "solve_banded: singularity test" in counter.events[0].description
    np.testing.assert_array_equal(device[0].get(), ab)
    np.testing.assert_array_equal(device[1].get(), b)
    many = xp.scipy.linalg.solve_banded((1, 1), cupy.asarray(np.stack([ab] * 5)), device[1])
    assert many.shape == (5, 3)
    assert xp.scipy.linalg.solve_banded((1, 1), cupy.empty((0, 3, 4)), cupy.ones(4)).shape == (0, 4)
    with pytest.raises(TransferError), xp.profiling.forbid_transfers():
        xp.scipy.linalg.solve_banded((1, 1), *device)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_hermitian_systems(lower, dtype):
    rng = np.random.default_rng(2)
    ab = banded(rng, (3,), 0, 2, 6, dtype)
    ab[:, 0 if lower else -1] = 10.0
    b = rng.standard_normal((3, 6, 2))
    solved = xp.scipy.linalg.solveh_banded(cupy.asarray(ab), cupy.asarray(b), lower=lower)
    expected = one_by_one(lambda one, sides: scipy.linalg.solveh_banded(one, sides, lower=lower), ab, b)
    np.testing.assert_allclose(solved.get(), expected, rtol=1e-12, atol=1e-13)


def test_wrong_systems():
    solve = xp.scipy.linalg.solve_banded
    ab, b = cupy.ones((3, 4)), cupy.ones(4)
    singular = cupy.asarray([[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match="solve_banded: singular matrix"):
        solve((1, 1), singular, cupy.ones(2))
    for l_and_u in ((1,), (-1, 1), (0.5, 1), 3):
        with pytest.raises(ArgumentError, match="'l_and_u' must be a pair of integers"):
            solve(l_and_u, ab, b)
    with pytest.raises(ArgumentError, match=r"'ab' must have shape \(\.\.\., 4, n\)"):
        solve((2, 1), ab, b)
    with pytest.raises(ArgumentError, match=r"'b' must have shape \(4,\) or \(\.\.\., 4, k\)"):
        solve((1, 1), ab, cupy.ones(3))
    with pytest.raises(ArgumentError, match="batch axes"):
        solve((1, 1), cupy.ones((2, 3, 4)), cupy.ones((3, 4, 1)))
    with pytest.raises(MixedBackendError):
        solve((1, 1), ab, np.ones(4))
    with pytest.raises(ArgumentTypeError, match="must hold numbers"):
        solve((1, 1), cupy.zeros((3, 4), dtype=[("a", "f8")]), b)
    with pytest.raises(ArgumentError, match="'ab' must have shape"):
        xp.scipy.linalg.solveh_banded(b, b)
    host = solve((1, 1), np.array([[0.0, 1.0], [2.0, 2.0], [1.0, 0.0]]), np.ones(2))
    np.testing.assert_allclose(host, [1 / 3, 1 / 3])


# --- tensor-product splines -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [(3, 3), (1, 2), (4, 5), (2, 2)])
@pytest.mark.parametrize("bbox", [(None,) * 4, (-0.5, None, None, 3.0)])
def test_splines_are_those_of_fitpack(degrees, bbox):
    rng = np.random.default_rng(sum(degrees))
    x, y = np.sort(rng.random(12)) * 2, np.sort(rng.random(9)) + 1
    z = rng.standard_normal((12, 9))
    expected = scipy.interpolate.RectBivariateSpline(x, y, z, list(bbox), *degrees)
    spline = xp.scipy.interpolate.RectBivariateSpline(*map(cupy.asarray, (x, y, z)), bbox, *degrees)
    for one, other in zip(spline.get_knots(), expected.get_knots(), strict=True):
        np.testing.assert_allclose(one.get(), other, rtol=1e-14)
    scale = np.abs(expected.get_coeffs()).max()
    np.testing.assert_allclose(spline.get_coeffs().get(), expected.get_coeffs(), atol=1e-9 * scale)
    far, wide = np.linspace(-1.0, 3.0, 31), np.linspace(0.0, 4.0, 23)
    values = spline(cupy.asarray(far), cupy.asarray(wide))
    assert isinstance(values, cupy.ndarray)
    np.testing.assert_allclose(values.get(), expected(far, wide), atol=1e-9 * scale)
    points = rng.choice(x, 7), rng.choice(y, 7)
    device = tuple(map(cupy.asarray, points))
    np.testing.assert_allclose(spline.ev(*device).get(), expected.ev(*points), atol=1e-9 * scale)
    np.testing.assert_allclose(spline(*device, grid=False).get(), expected(*points, grid=False), atol=1e-9 * scale)
    if degrees[1] > 1:
        sloped = expected(x, y, dy=1)
        np.testing.assert_allclose(
            spline(cupy.asarray(x), cupy.asarray(y), dy=1).get(), sloped, atol=1e-7 * np.abs(sloped).max()
        )
    area = (0.2, 1.5, 1.1, 5.0)
    assert float(spline.integral(*area).get()) == pytest.approx(expected.integral(*area), rel=1e-7, abs=1e-8 * scale)


def test_wrong_splines():
    make = xp.scipy.interpolate.RectBivariateSpline
    x, z = cupy.arange(5.0), cupy.ones((5, 5))
    for call, text in [
        (lambda: make(x, x, z, s=1.0), "'s' must be 0"),
        (lambda: make(x, x, z[:4]), "'z' must have shape"),
        (lambda: make(x, x, z, kx=6), "'kx' must be 1 to 5"),
        (lambda: make(x, x, z, ky=5), "'y' must have more points than the degree 5"),
        (lambda: make(x, x, z, bbox=[None]), "'bbox' must have four entries"),
        (lambda: make(x, x, z)(z, x), "must be 1-D on a grid"),
    ]:
        with pytest.raises(ArgumentError, match=text):
            call()
    with pytest.raises(MixedBackendError):
        make(x, np.arange(5.0), z)
    with pytest.raises(MixedBackendError):
        make(x, x, z)(np.ones(2), x)
