"""`solve_circulant` against SciPy's and against dense linear algebra; it serves CuPy, and is run on NumPy here."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cunumpy._circulant import solve_circulant
from cunumpy.errors import ArgumentError, ArgumentTypeError

linalg = pytest.importorskip("scipy.linalg")

DTYPES = [np.bool_, np.int32, np.uint8, np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128]


def values(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        return st.integers(0, 9)
    if dtype.kind == "c":
        return st.complex_numbers(max_magnitude=9, width=64)
    return st.floats(-9, 9, width=16)


@st.composite
def systems(draw):
    """Well-conditioned systems with batch axes anywhere: the first entry of each column dominates."""
    n = draw(st.integers(1, 7))
    batch_c, batch_b, _ = _broadcastable(draw)
    arrays = []
    for batch in (batch_c, batch_b):
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        array = draw(hnp.arrays(dtype, (*batch, n), elements=values(dtype)))
        axis = draw(st.integers(-array.ndim, array.ndim - 1))
        arrays.append([array, axis])
    c = arrays[0][0]
    if c.dtype.kind != "b":
        c[..., 0] = 100
    else:
        c[...] = np.arange(n) == 0
    ndim = max(arrays[0][0].ndim, arrays[1][0].ndim)
    outaxis = draw(st.integers(-ndim, ndim - 1))
    (c, caxis), (b, baxis) = arrays
    return np.moveaxis(c, -1, caxis), np.moveaxis(b, -1, baxis), caxis, baxis, outaxis


def _broadcastable(draw):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    return *shapes.input_shapes, shapes.result_shape


@given(systems())
def test_the_same_as_scipy(system):
    c, b, caxis, baxis, outaxis = system
    expected = linalg.solve_circulant(c, b, caxis=caxis, baxis=baxis, outaxis=outaxis)
    result = solve_circulant(c, b, caxis=caxis, baxis=baxis, outaxis=outaxis)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    single = np.finfo(result.dtype).eps > 1e-10
    np.testing.assert_allclose(result, expected, rtol=1e-5 if single else 1e-12, atol=1e-5 if single else 1e-12)


@given(
    hnp.arrays(np.int64, st.integers(1, 8), elements=st.integers(-2, 2)),
    st.integers(0, 2**32 - 1),
)
def test_least_squares_for_any_matrix(c, seed):
    """Small integers make singular matrices often; the truth is the pseudo-inverse of the dense matrix."""
    b = np.random.default_rng(seed).standard_normal((len(c), 2))
    expected = np.linalg.pinv(linalg.circulant(c), rcond=1e-10) @ b
    result = solve_circulant(c, b, singular="lstsq", tol=1e-9)
    np.testing.assert_allclose(result, expected.T.T, rtol=1e-7, atol=1e-7)


def test_a_known_solution():
    np.testing.assert_allclose(solve_circulant([4, 1, 0, 1], [6, 6, 6, 6]), np.ones(4))


def test_a_singular_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="solve_circulant: near singular circulant matrix"):
        solve_circulant([1, 1, 0, 0], [1, 2, 3, 4])


def test_a_singular_matrix_in_a_batch_leaves_the_others_alone():
    c = np.array([[1.0, 1, 0, 0], [4, 1, 0, 1]])
    x = solve_circulant(c, np.full(4, 6.0), singular="lstsq", outaxis=-1)
    np.testing.assert_allclose(x, [[3, 3, 3, 3], [1, 1, 1, 1]])


def test_the_tolerance_decides_what_is_singular():
    c = np.array([1.0, 1e-3, 0.0])
    b = np.ones(3)
    np.testing.assert_allclose(linalg.circulant(c) @ solve_circulant(c, b), b)
    with pytest.raises(np.linalg.LinAlgError):
        solve_circulant(c, b, tol=2.0)


def test_nan_gives_nan():
    assert np.isnan(solve_circulant([np.nan, 1, 0], [1, 2, 3])).all()
    assert np.isnan(solve_circulant([2, 1, 0], [1, np.nan, 3])).all()


@pytest.mark.parametrize("shapes", [((0,), (0,)), ((3,), (3, 0)), ((2, 0), (0,))])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex64])
def test_nothing_to_solve_gives_nothing_as_with_scipy(shapes, dtype):
    c, b = (np.ones(shape, dtype) for shape in shapes)
    expected, result = linalg.solve_circulant(c, b), solve_circulant(c, b)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)


def test_scalars_are_systems_of_one_equation():
    assert solve_circulant(2.0, 6.0).tolist() == [3.0]


def test_arguments_stay_as_they_are():
    c, b = np.array([1.0, 1.0, 0.0, 0.0]), np.arange(4.0)
    c.flags.writeable = b.flags.writeable = False
    solve_circulant(c, b, singular="lstsq")


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "text"),
    [
        (
            ([1, 2, 3], [1, 2]),
            {},
            ArgumentError,
            "c of shape (3,) (caxis=-1) and b of shape (2,) (baxis=0) are incompatible",
        ),
        (
            ([1, 2], [1, 2]),
            {"singular": "anything"},
            ArgumentError,
            "singular must be 'raise' or 'lstsq', not 'anything'",
        ),
        (
            ([1, 2], [1, 2]),
            {"caxis": 1},
            ArgumentError,
            "caxis=1 is out of bounds for c of shape (2,): expected -1 to 0",
        ),
        (([1, 2], [1, 2]), {"baxis": -2}, ArgumentError, "baxis=-2 is out of bounds for b of shape (2,)"),
        ((["a", "b"], [1, 2]), {}, ArgumentTypeError, "c must hold numbers, not <U1"),
        (([1, 2], np.ma.array([1, 2])), {}, ArgumentTypeError, "argument 'b' is a masked array"),
    ],
)
def test_arguments_that_can_not_be_used(arguments, options, kind, text):
    with pytest.raises(kind, match=re.escape(f"solve_circulant: {text}")):
        solve_circulant(*arguments, **options)
