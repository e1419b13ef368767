"""Many small problems of least squares: known solutions, and SciPy for each problem."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from cunumpy.errors import ArgumentError, ArgumentTypeError, ConvergenceWarning
from cunumpy.optimize import least_squares_batched

T = np.linspace(0.0, 4.0, 40)[:, None]


def decay(p):
    return p[0] * np.exp(-p[1] * T) + p[2]


def decay_jac(p):
    e = np.exp(-p[1] * T)
    return np.stack([e, -p[0] * T * e, np.ones_like(e)], axis=1)


def data(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.stack([1 + 3 * rng.random(n), 0.3 + 2 * rng.random(n), rng.random(n)])
    return truth, decay(truth) + noise * rng.standard_normal((T.size, n))


@pytest.mark.parametrize("jac", [None, decay_jac])
def test_noisy_fits_are_those_of_scipy(jac):
    _, y = data(12, 0.02)
    fit = least_squares_batched(lambda p: decay(p) - y, np.ones((3, 12)), jac)
    assert fit.success.all()
    covariance, absolute = fit.covariance(), fit.covariance(absolute_sigma=True)
    for i in range(12):
        expected = scipy.optimize.least_squares(
            lambda p, i=i: decay(p[:, None])[:, 0] - y[:, i], np.ones(3), method="lm", xtol=1e-12, ftol=1e-12
        )
        np.testing.assert_allclose(fit.x[:, i], expected.x, rtol=1e-5)
        np.testing.assert_allclose(fit.cost[i], expected.cost, rtol=1e-9)
        np.testing.assert_allclose(fit.jac[:, :, i], expected.jac, atol=1e-4)
        parameters, cov = scipy.optimize.curve_fit(
            lambda t, a, b, c: a * np.exp(-b * t) + c, T[:, 0], y[:, i], np.ones(3)
        )
        np.testing.assert_allclose(covariance[:, :, i], cov, rtol=1e-3, atol=1e-9)
        np.testing.assert_allclose(fit.x[:, i], parameters, rtol=1e-5)
        np.testing.assert_allclose(absolute[:, :, i] * 2 * fit.cost[i] / 37, cov, rtol=1e-3, atol=1e-9)


@given(st.integers(0, 1000))
def test_exact_data_gives_the_truth(seed):
    truth, y = data(20, 0.0, seed)
    fit = least_squares_batched(lambda p: decay(p) - y, np.full((3, 20), 1.0), decay_jac, maxiter=300)
    assert fit.success.all()
    np.testing.assert_allclose(fit.x, truth, rtol=1e-5)


def rosenbrock(x):
    return np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def helical(x):
    theta = np.arctan2(x[1], x[0]) / (2 * np.pi)
    return np.stack([10 * (x[2] - 10 * theta), 10 * (np.hypot(x[0], x[1]) - 1), x[2]])


def wood(x):
    return np.stack(
        [
            10 * (x[1] - x[0] ** 2),
            1 - x[0],
            90**0.5 * (x[3] - x[2] ** 2),
            1 - x[2],
            10**0.5 * (x[1] + x[3] - 2),
            (x[1] - x[3]) / 10**0.5,
        ]
    )


@pytest.mark.parametrize(
    ("f", "start", "solution"),
    [
        (rosenbrock, [-1.2, 1.0], [1.0, 1.0]),
        (helical, [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        (wood, [-3.0, -1.0, -3.0, -1.0], [1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_problems_of_the_literature(f, start, solution):
    """J. J. Moré, B. S. Garbow and K. E. Hillstrom, ACM TOMS 7, 17 (1981), from their start and from ten times it."""
    x0 = np.stack([start, 10 * np.array(start)], axis=1)
    fit = least_squares_batched(f, x0, maxiter=500)
    assert fit.success.all()
    np.testing.assert_allclose(fit.x, np.repeat(np.array(solution)[:, None], 2, axis=1), atol=1e-6)


def test_many_unknowns_go_through_linear_algebra():
    rng = np.random.default_rng(3)
    n, problems = 15, 4
    a, b = rng.random((30, n, problems)) + np.eye(30, n)[:, :, None], rng.random((30, problems))
    fit = least_squares_batched(lambda x: (a * x).sum(axis=1) - b, np.zeros((n, problems)), lambda x: a)
    for i in range(problems):
        np.testing.assert_allclose(fit.x[:, i], np.linalg.lstsq(a[:, :, i], b[:, i])[0], atol=1e-6)


def test_bounds():
    start = np.array([[-1.2, 5.0, 0.0], [1.0, -3.0, 0.0]])
    fit = least_squares_batched(rosenbrock, start, bounds=([-2.0, -2.0], [0.5, 3.0]))
    assert fit.success.all()
    np.testing.assert_allclose(fit.x, [[0.5] * 3, [0.25] * 3], rtol=1e-6)
    seen = []

    def f(x):
        seen.append(x.copy())
        return rosenbrock(x)

    least_squares_batched(f, start, bounds=(-1.0, np.array([[0.9, 0.8, 2.0], [5.0, 5.0, 5.0]])))
    assert all((x >= -1.0).all() and (x[0] <= [0.9, 0.8, 2.0]).all() for x in seen)


def test_failures_have_a_status_and_a_warning():
    def f(x):
        return np.stack([x[0] - 1.0, np.where(np.arange(3) == 1, np.nan, x[0])])

    fit = least_squares_batched(f, np.array([[0.0, 2.0, 5.0]]), disp=False)
    assert fit.status.tolist() == [0, -3, 0]
    np.testing.assert_allclose(fit.x[0], [0.5, 2.0, 0.5], rtol=1e-7)
    with pytest.warns(ConvergenceWarning, match="2 of 2 problems did not converge") as caught:
        least_squares_batched(rosenbrock, np.array([[-1.2, 5.0], [1.0, 1.0]]), maxiter=2)
    assert caught[0].filename == __file__
    with np.errstate(invalid="ignore"):
        # Steps into the negative numbers are rejected, not fatal.
        fit = least_squares_batched(lambda x: np.log(x) + 3.0, np.array([[5.0, 100.0]]))
    np.testing.assert_allclose(fit.x, np.exp(-3.0), rtol=1e-7)


def test_converged_problems_stay_as_they_would_alone():
    _, y = data(6, 0.05)
    together = least_squares_batched(lambda p: decay(p) - y, np.ones((3, 6)), decay_jac)
    for i in range(6):
        alone = least_squares_batched(lambda p, i=i: decay(p) - y[:, i : i + 1], np.ones((3, 1)), decay_jac)
        np.testing.assert_allclose(alone.x[:, 0], together.x[:, i], rtol=1e-12)


def test_dtypes_shapes_and_single_problems():
    _, y = data(4, 0.01)
    y = y.astype("f4")
    t = T.astype("f4")
    fit = least_squares_batched(lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y, np.ones((3, 4), "f4"))
    assert fit.x.dtype == fit.cost.dtype == fit.jac.dtype == np.float32
    wide = least_squares_batched(lambda p: decay(p) - y.astype(float), np.ones((3, 4)))
    np.testing.assert_allclose(fit.x, wide.x, rtol=1e-2)
    single = least_squares_batched(rosenbrock, np.array([-1.2, 1.0]))
    assert single.x.shape == (2,)
    assert single.cost.shape == ()
    np.testing.assert_allclose(single.x, 1.0, rtol=1e-6)
    grid = least_squares_batched(rosenbrock, np.zeros((2, 2, 3)))
    assert grid.x.shape == (2, 2, 3)
    assert grid.jac.shape == (2, 2, 2, 3)
    never = least_squares_batched(rosenbrock, np.zeros((2, 3)), check_every=0, maxiter=40)
    assert never.nit == 40
    np.testing.assert_allclose(never.x, 1.0, rtol=1e-6)
    assert "jac" not in str(single)
    assert str(single).startswith("LeastSquaresResult\n")
    assert np.isinf(least_squares_batched(lambda x: x - 1.0, np.zeros((2, 1))).covariance()).all()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"x0": 1.0}, ArgumentError, "'x0' must have its unknowns on the first axis"),
        ({"x0": [[1j]]}, ArgumentTypeError, "x0"),
        ({"fun": lambda x: x[0, 0]}, ArgumentError, r"callback 'fun' returned shape \(\), expected the residuals"),
        ({"fun": lambda x: x[:, :1]}, ArgumentError, r"expected the residuals of each problem on a first axis, \(m, 2"),
        ({"jac": lambda x: x}, ArgumentError, r"callback 'jac' returned shape \(2, 2\), expected \(2, 2, 2\)"),
        ({"bounds": 3}, ArgumentError, "'bounds' must be a pair"),
        ({"bounds": ([1, 2, 3], 4)}, ArgumentError, r"'bounds\[0\]' must be a number, one for each unknown"),
        ({"bounds": (2.0, 0.0)}, ArgumentError, "'bounds' must have lower bounds that are not above"),
        ({"bounds": ([0.0, 3.0], np.full((2, 2), 2.0))}, ArgumentError, "'bounds' must have lower bounds"),
        ({"bounds": ([0.0, np.nan], 1.0)}, ArgumentError, "'bounds' must have lower bounds .* and no NaN"),
        ({"ftol": -1.0}, ArgumentError, "'ftol'"),
        ({"maxiter": 0}, ArgumentError, "'maxiter'"),
    ],
)
def test_wrong_arguments(options, error, text):
    with pytest.raises(error, match=text):
        least_squares_batched(**({"fun": rosenbrock, "x0": np.zeros((2, 2))} | options))
