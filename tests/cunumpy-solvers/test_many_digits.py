"""Batched solvers against mpmath, whose functions and roots are known to as many digits as are asked for."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special

from cunumpy.integrate import fixed_quad, quad_batched, rk4, solve_ivp_batched
from cunumpy.optimize import bracket_root, find_root, least_squares_batched, newton

EPS = float(np.finfo(float).eps)


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(40):
        yield


def exactly(value):
    """Return a number with all its digits: of long double, too."""
    value = np.asarray(value)[()]
    if isinstance(value, np.longdouble):
        high = float(value)
        return mpmath.mpf(high) + mpmath.mpf(float(value - np.longdouble(high)))
    return mpmath.mpmathify(value.item())


def relative_errors(values, truth):
    """Return relative errors, which are calculated with all digits."""
    return np.array([float(abs(exactly(v) - t) / abs(t)) for v, t in zip(np.ravel(values), truth, strict=True)])


# --- roots ------------------------------------------------------------------------------------------------------------


def kepler_roots(eccentricity, anomaly):
    pairs = zip(eccentricity, anomaly, strict=True)
    return [mpmath.findroot(lambda x, e=e, m=m: x - e * mpmath.sin(x) - m, m) for e, m in pairs]


@pytest.mark.parametrize("method", ["secant", "newton", "halley", "find_root"])
def test_keplers_equation_to_the_last_digits(method):
    rng = np.random.default_rng(7)
    e, m = 0.9 * rng.random(12), 0.3 + 2.5 * rng.random(12)

    def f(x):
        return x - e * np.sin(x) - m

    def slope(x):
        return 1.0 - e * np.cos(x)

    roots = {
        "secant": lambda: newton(f, m, tol=1e-13, maxiter=100),
        "newton": lambda: newton(f, m, slope),
        "halley": lambda: newton(f, m, slope, fprime2=lambda x: e * np.sin(x)),
        "find_root": lambda: find_root(f, (m - 1.0, m + 1.0)).x,
    }[method]()
    # A root is known as well as its function is: that has errors of the spacing of numbers, over its slope.
    bound = 4 * EPS * (1 + np.abs(roots)) / slope(roots) / roots
    assert (relative_errors(roots, kepler_roots(e, m)) <= bound).all()


@pytest.mark.parametrize("branch", [0, 1, -1, 5])
def test_branches_of_lamberts_function(branch):
    """Complex roots of ``w exp(w) = z``, by Newton and Halley, from the asymptotic start value."""
    z = np.array([1.0 + 2.0j, -3.0 + 0.5j, 10.0j, 40.0 - 7.0j])
    start = np.log(z) + 2j * np.pi * branch
    start = start - np.log(start)
    truth = [mpmath.lambertw(complex(value), branch) for value in z]

    def f(w):
        return w * np.exp(w) - z

    def slope(w):
        return (1 + w) * np.exp(w)

    for second in (None, lambda w: (2 + w) * np.exp(w)):
        found = newton(f, start, slope, fprime2=second, full_output=True)
        assert found.converged.all()
        assert (relative_errors(found.root, truth) < 1e-14).all()


def test_zeros_of_bessel_functions_and_their_brackets():
    numbers = np.arange(1, 15)
    truth = [mpmath.besseljzero(0, int(k)) for k in numbers]
    guess = (numbers - 0.25) * np.pi
    found = bracket_root(scipy.special.j0, guess - 0.05, guess + 0.01)
    roots = find_root(scipy.special.j0, found.bracket)
    assert roots.success.all()
    assert (relative_errors(roots.x, truth) < 8 * EPS).all()
    low, high = found.bracket
    assert all(exactly(a) <= t <= exactly(b) for a, t, b in zip(low, truth, high, strict=True))


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-17, reason="long double has no more digits than double here")
def test_roots_in_long_double_have_its_digits():
    a = np.array([2, 3, 10], np.longdouble)
    truth = [mpmath.cbrt(int(v)) for v in a]
    found = newton(lambda x: x * x * x - a, a, lambda x: 3 * x * x, tol=1e-15)
    assert (relative_errors(found, truth) < 1e-18).all()
    found = find_root(lambda x: x * x * x - a, (np.longdouble(0), a))
    assert (relative_errors(found.x, truth) < 1e-18).all()


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-17, reason="long double has no more digits than double here")
@pytest.mark.parametrize(
    ("derivatives", "order", "multiplicity"),
    [(0, (1 + 5**0.5) / 2, 1), (1, 2, 1), (2, 3, 1), (1, 1, 2)],
    ids=["secant", "newton", "halley", "newton-double-root"],
)
def test_orders_of_convergence(derivatives, order, multiplicity):
    """The errors of the iterates, to all digits, shrink with the order of the method."""
    root = mpmath.findroot(lambda x: mpmath.cos(x) - x, 0.7)
    seen = []

    def g(x):
        return np.cos(x) - x

    def f(x):
        seen.append(x[()].copy())
        return g(x) ** multiplicity

    fprime = (lambda x: multiplicity * g(x) ** (multiplicity - 1) * (-np.sin(x) - 1)) if derivatives else None
    fprime2 = (lambda x: -np.cos(x)) if derivatives > 1 else None
    newton(f, np.longdouble(2.2) if order < 3 else np.longdouble(3.0), fprime, fprime2=fprime2, tol=1e-10)
    errors = [abs(exactly(x) - root) for x in seen]
    errors = [float(e) for e in errors if 1e-18 < e < 0.4]
    if order == 1:
        ratios = np.array(errors[1:]) / errors[:-1]
        np.testing.assert_allclose(ratios[3:], 0.5, rtol=0.02)
    else:
        assert len(errors) >= 3
        z, a, b = errors[-3:]
        assert np.log(b / a) / np.log(a / z) == pytest.approx(order, rel=0.12)


# --- integrals --------------------------------------------------------------------------------------------------------

PARAMETERS = np.array([0.1, 0.5, 0.9, 0.99])

INTEGRALS = {
    "elliptic": (lambda x, m: 1 / np.sqrt(1 - m * np.sin(x) ** 2), 0.0, np.pi / 2, mpmath.ellipk),
    "gamma": (lambda x, s: x ** (s + 1) * np.exp(-x), 0.0, np.inf, lambda s: mpmath.gamma(s + 2)),
    "gauss": (lambda x, a: np.exp(-a * x * x), -np.inf, np.inf, lambda a: mpmath.sqrt(mpmath.pi / a)),
    "bessel": (lambda x, z: np.cos(20 * z * np.sin(x)) / np.pi, 0.0, np.pi, lambda z: mpmath.besselj(0, 20 * z)),
    "dilogarithm": (lambda x, z: -np.log1p(-z * x) / x, 0.0, 1.0, lambda z: mpmath.polylog(2, z)),
    "fourier": (lambda x, w: np.exp(1j * w * x - x), 0.0, np.inf, lambda w: 1 / (1 - 1j * mpmath.mpf(w))),
    "beta": (lambda x, p: x**p * (1 - x) ** p, 0.0, 1.0, lambda p: mpmath.beta(p + 1, p + 1)),
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals_have_the_digits_that_are_asked_for(name):
    f, a, b, truth = INTEGRALS[name]
    exact = [truth(mpmath.mpf(float(p))) for p in PARAMETERS]
    for epsrel in (1e-4, 1e-8, 1e-11):
        result = quad_batched(f, a, b, (PARAMETERS,), epsabs=0.0, epsrel=epsrel, limit=500)
        assert result.success.all()
        errors = relative_errors(result.integral, exact)
        assert (errors <= epsrel).all()
        # The estimate is one of the error, too.
        assert (errors <= result.error / np.abs(result.integral) + 4 * EPS).all()


def test_the_rules_are_exact_for_the_polynomials_that_they_promise():
    """Degree 31 for the 21 points of Kronrod's rule; of the Gauss rules of n points 2 n - 1."""
    for degree in range(32):
        whole = quad_batched(lambda x, d=degree: x**d, 0.0, 1.0, epsabs=1.0)
        assert whole.nfev == 21
        assert whole.integral == pytest.approx(float(mpmath.mpf(1) / (degree + 1)), rel=8 * EPS)
    high = quad_batched(lambda x: x**40, -1.0, 1.0, epsabs=1.0).integral
    assert abs(high - float(mpmath.mpf(2) / 41)) > 1e-12
    for n in (1, 2, 7, 33):
        for degree in range(0, 2 * n, max(1, n // 4)):
            assert fixed_quad(lambda x, d=degree: x**d, 0.0, 1.0, n=n) == pytest.approx(1 / (degree + 1), rel=1e-13)


def test_errors_of_gauss_rules_are_those_of_the_theory():
    """The error of n points is ``f^(2n) (b - a)^(2n+1) n!^4 / ((2n+1) (2n)!^3)`` with a derivative in between."""
    for n in range(1, 6):
        value = fixed_quad(np.exp, 0.0, 1.0, n=n)
        error = abs(exactly(value) - (mpmath.e - 1))
        factor = mpmath.factorial(n) ** 4 / ((2 * n + 1) * mpmath.factorial(2 * n) ** 3)
        assert factor - 1e-15 <= error <= factor * mpmath.e + 1e-15


# --- differential equations -------------------------------------------------------------------------------------------


def airy(t, y):
    return np.stack([y[1], t * y[0]])


AIRY = np.array([[float(mpmath.airyai(0))], [float(mpmath.airyai(0, derivative=1))]])


@pytest.mark.parametrize("method", ["rk4", "dormand-prince"])
def test_orders_of_runge_kutta_methods(method):
    """Airy's equation backwards, where the solution oscillates."""
    truth = float(mpmath.airyai(-5))
    errors = []
    for steps in (64, 128, 256):
        if method == "rk4":
            y = rk4(airy, (0.0, -5.0), AIRY, 4 * steps).y
        else:
            h = 5.0 / steps
            y = solve_ivp_batched(airy, (0.0, -5.0), AIRY, first_step=h, max_step=h, rtol=1.0, atol=1e3).y
        errors.append(abs(y[0, 0] - truth))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 4 if method == "rk4" else 5, atol=0.3)


def test_zeros_of_airys_function_are_events():
    def zero(t, y):
        return y[0]

    result = solve_ivp_batched(airy, (0.0, -8.0), AIRY, events=zero, rtol=1e-12, atol=1e-13)
    times = result.t_events[0][:, 0]
    truth = [mpmath.airyaizero(k + 1) for k in range(times.size)]
    assert times.size == 5
    assert (relative_errors(times, truth) < 1e-10).all()


def test_elliptic_functions_at_all_times():
    """The motion of a free top: ``sn``, ``cn`` and ``dn`` of several moduli at once."""
    m = PARAMETERS
    times = np.linspace(0.0, 6.0, 7)
    start = np.stack([np.zeros(4), np.ones(4), np.ones(4)])
    result = solve_ivp_batched(
        lambda t, y: np.stack([y[1] * y[2], -y[0] * y[2], -m * y[0] * y[1]]),
        (0.0, 6.0),
        start,
        t_eval=times,
        rtol=1e-11,
        atol=1e-12,
    )
    for k, name in enumerate(("sn", "cn", "dn")):
        truth = [[float(mpmath.ellipfun(name, t, m=p)) for t in times] for p in m]
        np.testing.assert_allclose(result.y[k], truth, atol=3e-9)


# --- fits -------------------------------------------------------------------------------------------------------------

# Misra1a of NIST's Statistical Reference Datasets: dental research, monomolecular adsorption.
ADSORBED = (10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78)
PRESSURE = (77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0)


def test_a_reference_problem_of_least_squares():
    """From NIST's two starts, with and without derivatives, to the stationary point that is known to all digits."""
    xs, ys = [mpmath.mpf(str(v)) for v in PRESSURE], [mpmath.mpf(str(v)) for v in ADSORBED]

    def gradient(p, q):
        residuals = [p * (1 - mpmath.exp(-q * x)) - y for x, y in zip(xs, ys, strict=True)]
        by_p = [1 - mpmath.exp(-q * x) for x in xs]
        by_q = [p * x * mpmath.exp(-q * x) for x in xs]
        return [mpmath.fdot(residuals, by_p), mpmath.fdot(residuals, by_q)]

    truth = mpmath.findroot(gradient, (238.9, 5.5e-4))
    assert [mpmath.nstr(v, 11) for v in truth] == ["238.94212918", "0.00055015643181"]  # as NIST certifies
    x, y = np.array(PRESSURE)[:, None], np.array(ADSORBED)[:, None]
    start = np.array([[500.0, 250.0], [1e-4, 5e-4]])
    for jac in (None, lambda p: np.stack([1 - np.exp(-p[1] * x), p[0] * x * np.exp(-p[1] * x)], axis=1)):
        fit = least_squares_batched(
            lambda p: p[0] * (1 - np.exp(-p[1] * x)) - y, start, jac, ftol=0, gtol=0, xtol=1e-13
        )
        for i in range(2):
            assert (relative_errors(fit.x[:, i], truth) < (1e-6 if jac is None else 1e-9)).all()
        np.testing.assert_allclose(2 * fit.cost, 1.2455138894e-01, rtol=1e-9)
        np.testing.assert_allclose(fit.covariance()[0, 0] ** 0.5, 2.7070075241, rtol=1e-4)
