"""Bracketed root finding of many equations: SciPy's elementwise and scalar functions are the truth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import elementwise

from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.optimize import bracket_root, find_root

# Functions of the literature on bracketing, each with a bracket: G. Alefeld et al., ACM TOMS 21, 327 (1995).
PROBLEMS = [
    (lambda x: np.sin(x) - x / 2, np.pi / 2, np.pi),
    (lambda x: x * np.exp(-1) + 1 - 2 * np.exp(-x), 0.0, 1.0),
    (lambda x: x**2 - (1 - x) ** 5, 0.0, 1.0),
    (lambda x: (20 * x - 1) / (19 * x + 1e-300), 0.01, 1.0),
    (lambda x: np.exp(-5 * x) * (x - 1) + x**5, 0.0, 1.0),
    (lambda x: np.cbrt(x) ** 9, -1.0, 4.0),
    (lambda x: np.where(x >= 0, 1.0, -1.0), -2.0, 1.5),
    (lambda x: x**3 - 1e-12, -1.0, 10.0),
]


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_problems_of_the_literature(number):
    f, lower, upper = PROBLEMS[number]
    result = find_root(f, (lower, np.array([upper, upper])))
    expected = scipy.optimize.brentq(f, lower, upper, xtol=1e-300, rtol=8.9e-16, maxiter=1000)
    assert result.success.all()
    np.testing.assert_allclose(result.x, expected, rtol=1e-14, atol=1e-14 if number == 5 else 1e-300)
    low, high = result.bracket
    assert (low <= result.x).all()
    assert (result.x <= high).all()
    f_low, f_high = result.f_bracket
    assert (np.sign(f_low) * np.sign(f_high) <= 0).all()


def test_steps_are_those_of_scipy():
    a = np.linspace(0.1, 50.0, 500)
    ours = find_root(lambda x: x**3 - a, (0.0, a + 1.0))
    theirs = elementwise.find_root(lambda x, a: x**3 - a, (np.zeros_like(a), a + 1.0), args=(a,))
    np.testing.assert_array_equal(ours.x, theirs.x)
    np.testing.assert_array_equal(ours.f_x, theirs.f_x)
    assert ours.nit == theirs.nit.max()
    assert ours.nfev == theirs.nfev.max()


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)), min_size=1, max_size=5))
def test_a_root_is_in_its_bracket_whatever_the_others_do(problems):
    root, below, above = np.array(problems).T
    result = find_root(lambda x: np.arctan(x - root), (root - below, root + above))
    assert result.success.all()
    np.testing.assert_allclose(result.x, root, rtol=1e-14, atol=1e-12)
    assert (np.abs(result.bracket[0] - result.bracket[1]) <= 1e-12 + 1e-12 * np.abs(root)).all() or (
        result.f_x == 0
    ).any()


def test_status_of_each_point():
    result = find_root(lambda x: x - 1.0, (np.array([0.0, 2.0, np.nan, 1.0, -5.0, np.inf]), 3.0))
    assert result.status.tolist() == [0, -1, -3, 0, 0, -3]
    np.testing.assert_array_equal(result.x, [1.0, np.nan, np.nan, 1.0, 1.0, np.nan])
    with np.errstate(invalid="ignore"):
        result = find_root(lambda x: np.where(np.abs(x) < 0.5, np.nan, x), (np.array([-1.0, 0.6]), 2.0))
    assert result.status.tolist() == [-3, -1]
    result = find_root(lambda x: x**3 - 2.0, (0.0, np.array([2.0])), maxiter=3)
    assert result.status.tolist() == [-2]
    assert result.bracket[0] < 2 ** (1 / 3) < result.bracket[1]
    assert not result.success.any()


def test_infinite_values_count_by_their_sign():
    with np.errstate(divide="ignore"):
        assert find_root(lambda x: np.log(x), (0.0, np.array([5.0]))).x == pytest.approx(1.0)


def test_tolerances():
    exact = find_root(lambda x: np.exp(x) - 2.0, (0.0, np.array([3.0])))
    for options in ({"xatol": 1e-3}, {"xrtol": 1e-3}, {"fatol": 1e-3}):
        coarse = find_root(lambda x: np.exp(x) - 2.0, (0.0, np.array([3.0])), **options)
        assert coarse.nit < exact.nit
        assert abs(coarse.x[0] - np.log(2.0)) < 2e-3
    assert abs(exact.x[0] - np.log(2.0)) < 2e-16
    bisected = find_root(lambda x: np.where(x > 1e-200, 1.0, -1.0), (0.0, np.array([1.0])), xrtol=1e-6)
    assert bisected.x[0] == pytest.approx(1e-200, rel=1e-5) or not bisected.success[0]


@pytest.mark.parametrize("dtype", ["f4", "f8", "g"])
def test_dtypes_are_kept(dtype):
    result = find_root(lambda x: x * x - x.dtype.type(2), (0.0, np.array([2.0, 3.0], dtype)))
    assert result.x.dtype == result.f_x.dtype == dtype
    np.testing.assert_allclose(result.x, np.sqrt(np.array(2.0, dtype)), rtol=4 * float(np.finfo(dtype).eps))


def test_shapes():
    result = find_root(lambda x: x - 0.5, (np.zeros((3, 1)), np.ones(4)))
    assert result.x.shape == result.status.shape == (3, 4)
    assert find_root(lambda x: x - 0.5, (0, 1)).x == 0.5
    assert find_root(lambda x: x - 0.5, (np.empty((0, 2)), 1)).x.shape == (0, 2)
    with pytest.raises(ArgumentError, match=r"'bracket\[0\]' \(2,\), 'bracket\[1\]' \(3,\) can't be broadcast"):
        find_root(lambda x: x, (np.zeros(2), np.ones(3)))
    with pytest.raises(ArgumentError, match="'bracket' must be a pair"):
        find_root(lambda x: x, 1.0)
    with pytest.raises(ArgumentTypeError, match="result of callback f' must hold real numbers"):
        find_root(lambda x: 1j * x, (0.0, 1.0))
    with pytest.raises(ArgumentTypeError, match="bracket"):
        find_root(lambda x: x, (0.0, 1j))


def test_looking_seldom_or_never():
    a = np.array([2.0, 3.0])
    for every in (0, 4):
        result = find_root(lambda x: x * x - a, (0.0, a), check_every=every, maxiter=40)
        np.testing.assert_allclose(result.x, np.sqrt(a), rtol=1e-15)
        assert result.success.all()
        assert result.nit == 40 if every == 0 else result.nit % 4 == 0


def test_brackets_are_found_on_either_side():
    a = np.array([5.0, -5.0, 0.5, 1e6, -1e6])
    found = bracket_root(lambda x: x - a, np.zeros(5))
    assert found.success.all()
    assert (found.bracket[0] <= a).all()
    assert (a <= found.bracket[1]).all()
    np.testing.assert_array_equal(found.f_bracket[0], found.bracket[0] - a)
    np.testing.assert_array_equal(find_root(lambda x: x - a, found.bracket).x, a)


def test_limits_of_the_search():
    seen = []

    def f(x):
        seen.append(x)
        return np.log(x) + 50.0

    found = bracket_root(f, np.array([1.0]), xmin=0.0, xmax=2.0)
    assert found.success.all()
    assert all((x > 0).all() and (x <= 2).all() for x in seen)
    assert find_root(f, found.bracket).x == pytest.approx(np.exp(-50.0), rel=1e-12)
    none = bracket_root(lambda x: x * x + 1.0, np.array([1.0]), xmin=0.5, xmax=2.0)
    assert none.status.tolist() in ([-1], [-2])
    assert bracket_root(lambda x: x * x + 1.0, [1.0, 2.0], maxiter=5).status.tolist() == [-2, -2]
    assert bracket_root(lambda x: x + np.nan, [1.0]).status.tolist() == [-3]
    # Ends that are not finite, and those outside of the limits, are not searched from.
    found = bracket_root(
        lambda x: x - 5.0,
        np.array([np.inf, -np.inf, np.nan, 1.0, 3.5, 3.0, 1.0]),
        np.array([4.0, 4.0, 4.0, 4.0, 9.0, 4.0, np.nan]),
        xmin=np.array([0.0, 0.0, 0.0, 2.0, 3.0, np.nan, 0.0]),
        xmax=8.0,
    )
    assert found.status.tolist() == [-3, -3, -3, -4, -4, -4, -3]
    assert bracket_root(lambda x: x - 5.0, 1.0, xmin=3.0, xmax=-3.0).status == -4
    with pytest.raises(ArgumentError, match="'factor' must be above 1"):
        bracket_root(f, [1.0], factor=1.0)


def test_results_print():
    text = str(find_root(lambda x: x - 0.5, (np.zeros(2), 1.0)))
    assert text.splitlines()[:3] == ["RootResult", "        x: [0.5 0.5]", "      f_x: [0. 0.]"]
    assert str(bracket_root(lambda x: x - 0.5, np.zeros(2))).startswith("BracketResult\n  bracket: (array([0., 0.])")


def test_one_number_is_no_bracket():
    with pytest.raises(ArgumentError, match=r"argument 'bracket' must be a pair .*, got 0; write \(lower, upper\)"):
        find_root(lambda x: x, 0)
