"""Quadrature of many integrals: closed forms, and SciPy's `quad` for each of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given
from hypothesis import strategies as st

from cunumpy.errors import ArgumentError, ArgumentTypeError, ConvergenceWarning
from cunumpy.integrate import fixed_quad, quad_batched


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(0, 40)), min_size=1, max_size=6))
def test_oscillating_integrals(problems):
    a, b, w = np.array(problems).T
    result = quad_batched(lambda x, w: np.exp(1j * w * x), a, b, (w,))
    with np.errstate(all="ignore"):
        exact = np.where(w * np.abs(b - a) > 1e-6, (np.exp(1j * w * b) - np.exp(1j * w * a)) / (1j * w), b - a)
    assert result.success.all()
    np.testing.assert_allclose(result.integral, exact, atol=1e-6, rtol=1e-6)
    assert (np.abs(result.integral - exact) <= np.maximum(result.error, 1e-5)).all()


INTEGRALS = [
    (lambda x: np.exp(-x * x), -np.inf, np.inf, np.sqrt(np.pi)),
    (lambda x: 1 / (1 + x * x), -np.inf, np.inf, np.pi),
    (lambda x: np.exp(-x), 0.0, np.inf, 1.0),
    (lambda x: np.exp(x), -np.inf, 1.0, np.e),
    (lambda x: np.exp(-x), np.inf, 2.0, -np.exp(-2.0)),
    (lambda x: 1 / x**2, 1.0, np.inf, 1.0),
    (np.log, 0.0, 1.0, -1.0),
    (lambda x: 1 / np.sqrt(x), 0.0, 1.0, 2.0),
    (lambda x: np.abs(x - 0.3), -1.0, 2.0, (1.3**2 + 1.7**2) / 2),
    (lambda x: 1 / (1e-4 + x * x), -1.0, 1.0, 2 * np.arctan(100.0) * 100.0),
    (lambda x: np.cos(100 * x) * np.exp(-x), 0.0, 5.0, None),
    (lambda x: x * 0 + 2.0, 1.0, -1.0, -4.0),
    (lambda x: x, 1.0, 1.0, 0.0),
]


@pytest.mark.parametrize("number", range(len(INTEGRALS)))
def test_known_integrals(number):
    f, a, b, exact = INTEGRALS[number]
    result = quad_batched(f, a, b)
    if exact is None:
        exact = scipy.integrate.quad(f, a, b, limit=500)[0]
    assert result.success
    assert abs(result.integral - exact) < 1e-7 * max(1, abs(exact))
    assert abs(result.integral - exact) <= result.error + 1e-13
    assert result.nfev % 21 == 0


def test_a_single_interval_is_that_of_quadpack():
    for f in (np.exp, lambda x: np.cos(3 * x), lambda x: np.sqrt(np.abs(x))):
        value, error, info = scipy.integrate.quad(f, 0.0, 2.0, full_output=True, epsabs=1.0)
        result = quad_batched(f, 0.0, 2.0, epsabs=1.0)
        assert info["neval"] == result.nfev == 21
        assert result.integral == pytest.approx(value, rel=1e-15)
        assert result.error == pytest.approx(error, rel=1e-6)


def test_each_integral_has_subintervals_of_its_own():
    sharp = np.array([1.0, 1e-2, 1e-4])
    result = quad_batched(lambda x, c: c / (c * c + x * x), -1.0, 1.0, (sharp,), epsrel=1e-12, epsabs=0)
    np.testing.assert_allclose(result.integral, 2 * np.arctan(1 / sharp), rtol=1e-12)
    assert result.nfev[0] < result.nfev[1] < result.nfev[2]
    alone = [quad_batched(lambda x, c=c: c / (c * c + x * x), -1.0, 1.0, epsrel=1e-12, epsabs=0) for c in sharp]
    assert [r.nfev for r in alone] == result.nfev.tolist()


def test_shapes_and_parameters():
    a, w = np.zeros((3, 1)), np.array([1.0, 2.0, 3.0, 4.0])
    result = quad_batched(lambda x, w, s: s * np.cos(w * x), a, 1.0, (w, 2.0))
    assert result.integral.shape == result.status.shape == result.nfev.shape == (3, 4)
    np.testing.assert_allclose(result.integral, np.broadcast_to(2 * np.sin(w) / w, (3, 4)), rtol=1e-12)
    assert quad_batched(lambda x: x, 0, 1).integral == pytest.approx(0.5)
    assert quad_batched(lambda x: 3.0, 0, [1, 2]).integral.tolist() == pytest.approx([3.0, 6.0])
    assert quad_batched(lambda x: x, np.empty(0), 1.0).integral.shape == (0,)


def test_dtypes():
    result = quad_batched(lambda x: np.exp(-x), np.zeros(2, "f4"), np.ones(2, "f4"))
    assert result.integral.dtype == result.error.dtype == np.float32
    np.testing.assert_allclose(result.integral, 1 - np.exp(-1), rtol=1e-6)
    assert quad_batched(lambda x: 1j * x, 0, 1).integral.dtype == np.complex128
    assert quad_batched(lambda x: np.exp(1j * x), np.zeros(1, "f4"), 1.0).integral.dtype == np.complex64


def test_failures_have_a_status_and_a_warning():
    with np.errstate(all="ignore"):
        result = quad_batched(
            lambda x, k: np.choose(k.astype(int), [x, 1 / x, x + np.nan, np.exp(x)]),
            [0.0, 0.0, 0.0, np.nan],
            1.0,
            (np.arange(4.0),),
            limit=20,
            disp=False,
        )
    assert result.status.tolist() == [0, -2, -3, -3]
    assert result.success.tolist() == [True, False, False, False]
    assert result.integral[0] == pytest.approx(0.5)
    with pytest.warns(ConvergenceWarning, match="1 of 2 integrals did not reach their tolerance") as caught:
        quad_batched(lambda x, k: 1 / x**k, 0.0, 1.0, ([0.0, 1.0],), limit=10)
    assert caught[0].filename == __file__
    limits = quad_batched(np.exp, [np.nan, np.inf, -np.inf, -np.inf], [1.0, np.inf, -np.inf, 0.0], disp=False)
    assert limits.status.tolist() == [-3, -3, -3, 0]
    np.testing.assert_allclose(limits.integral, [np.nan, np.nan, np.nan, 1.0])
    rounded = quad_batched(lambda x: np.exp(x), 0.0, 1.0, epsabs=0.0, epsrel=1e-18, disp=False)
    assert rounded.status == -6
    assert rounded.integral == pytest.approx(np.e - 1, rel=1e-15)


def test_warnings_of_the_integrand_are_the_users():
    with pytest.raises(FloatingPointError), np.errstate(divide="raise"):
        quad_batched(lambda x: 1 / (x * 0), 0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: quad_batched(lambda x: x, 1j, 1.0), ArgumentTypeError, "'a'"),
        (lambda: quad_batched(lambda x: x[0], 0.0, 1.0), ArgumentError, r"callback 'f' returned shape \(1,\)"),
        (lambda: quad_batched(lambda x: x, [0.0, 1.0], [1.0, 2.0, 3.0]), ArgumentError, "can't be broadcast"),
        (lambda: quad_batched(lambda x: x, 0.0, 1.0, 3.0), ArgumentTypeError, "'args' must be a tuple"),
        (lambda: quad_batched(lambda x: x, 0.0, 1.0, epsabs=-1), ArgumentError, "'epsabs'"),
        (lambda: quad_batched(lambda x: x, 0.0, 1.0, limit=0), ArgumentError, "'limit'"),
        (lambda: quad_batched(3, 0.0, 1.0), ArgumentTypeError, "'f' must be a function"),
        (lambda: fixed_quad(lambda x: x, 0.0, 1.0, n=0), ArgumentError, "'n'"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


@given(st.integers(1, 12), st.lists(st.floats(-2, 2), min_size=1, max_size=24))
def test_fixed_rules_are_exact_for_polynomials(n, coefficients):
    p = np.polynomial.Polynomial(coefficients[: 2 * n])
    b = np.array([0.5, 1.0, -1.5])
    result = fixed_quad(p, -1.0, b, n=n)
    exact = p.integ()(b) - p.integ()(-1.0)
    np.testing.assert_allclose(result, exact, atol=1e-9 * (1 + np.abs(coefficients).sum() * 1.5**24 / 24))
    assert fixed_quad(lambda x: x * 0 + 1j, 0.0, 2.0) == pytest.approx(2j)
