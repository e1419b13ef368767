"""What functions of batched solvers may do: return the same array again and again, integers, complex numbers late."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from cunumpy.errors import ArgumentError
from cunumpy.integrate import fixed_quad, quad_batched, rk4, solve_ivp_batched
from cunumpy.optimize import bracket_root, find_root, least_squares_batched, newton

A = np.array([2.0, 3.0, 5.0])
T = np.linspace(0.0, 1.0, 7)[:, None]


def fresh(values):
    return np.array(values)


def reusing(arrays=1):
    """Return a function that copies values into the same few arrays in turn, and returns these."""
    kept = {}

    def keep(values):
        values = np.asarray(values)
        turn = kept.setdefault(
            (values.shape, values.dtype), itertools.cycle([np.empty_like(values) for _ in range(arrays)])
        )
        array = next(turn)
        array[...] = values
        return array

    return keep


def fixed_order(f):
    return lambda t, y: f(-t * y)


def event_of(f):
    return lambda t, y: f(y[0] - 0.5)


SOLVES = {
    "newton": lambda f: newton(lambda x: f(x * x - A), A, lambda x: f(2 * x)),
    "halley": lambda f: newton(lambda x: f(x * x - A), A, lambda x: f(2 * x), fprime2=lambda x: f(2.0 + 0 * x)),
    "secant": lambda f: newton(lambda x: f(x * x - A), A),
    "newton-bounds": lambda f: newton(lambda x: f(x * x - A), A, lambda x: f(2 * x), bounds=(0.0, 9.0)),
    "find-root": lambda f: find_root(lambda x: f(x * x - A), (0.0, A)).x,
    "bracket-root": lambda f: np.stack(bracket_root(lambda x: f(x - 9 * A), np.zeros(3)).bracket),
    "quad": lambda f: quad_batched(lambda x, a: f(np.cos(9 * a * x)), 0.0, 2.0, (A,)).integral,
    "quad-infinite": lambda f: quad_batched(lambda x, a: f(np.exp(-a * x)), 0.0, np.inf, (A,)).integral,
    "fixed-quad": lambda f: fixed_quad(lambda x: f(x**3), 0.0, A),
    "rk4": lambda f: rk4(fixed_order(f), (0.0, 1.0), A, 10).y,
    "rk4-saved": lambda f: rk4(fixed_order(f), (0.0, 1.0), A, 10, save_every=2).y,
    "solve-ivp": lambda f: solve_ivp_batched(fixed_order(f), (0.0, 1.0), A[None], rtol=1e-8).y,
    "solve-ivp-dense": lambda f: solve_ivp_batched(
        fixed_order(f), (0.0, 1.0), A[None], rtol=1e-8, dense_output=True
    ).sol([0.3, 0.9]),
    "solve-ivp-events": lambda f: solve_ivp_batched(
        lambda t, y: -y, (0.0, 4.0), A[None], events=event_of(f), rtol=1e-8
    ).t_events[0],
    "least-squares": lambda f: (
        least_squares_batched(
            lambda p: f(np.exp(-p[0] * T) - np.exp(-A * T)),
            np.ones((1, 3)),
            lambda p: f((-T * np.exp(-p[0] * T))[:, None]),
        ).x
    ),
    "differences": lambda f: (
        least_squares_batched(lambda p: f(p[0] * np.exp(-p[1] * T) - np.exp(-A * T)), np.ones((2, 3))).x
    ),
}


@pytest.mark.parametrize("arrays", [1, 2, 3])
@pytest.mark.parametrize("name", SOLVES)
def test_functions_may_return_the_same_array_again_and_again(name, arrays):
    np.testing.assert_array_equal(SOLVES[name](reusing(arrays)), SOLVES[name](fresh))


@pytest.mark.parametrize("name", SOLVES)
def test_functions_may_return_arrays_of_any_layout(name):
    def strided(values):
        values = np.asarray(values)
        wide = np.empty(tuple(2 * size for size in values.shape), values.dtype, order="F")
        view = wide[tuple(slice(None, None, 2) for _ in values.shape)]
        view[...] = values
        view.flags.writeable = False
        return view

    np.testing.assert_allclose(SOLVES[name](strided), SOLVES[name](fresh), rtol=1e-13)


def test_functions_may_return_their_argument():
    np.testing.assert_array_equal(newton(lambda x: x, A, lambda x: np.ones(3)), 0.0)
    np.testing.assert_allclose(newton(lambda x: x, A), 0.0, atol=1e-12)
    np.testing.assert_allclose(newton(lambda x: x * x / 2 - 1, A, lambda x: x), 2**0.5, rtol=1e-14)
    np.testing.assert_allclose(find_root(lambda x: x, (-A, 1.0)).x, 0.0, atol=1e-300)
    np.testing.assert_allclose(rk4(lambda t, y: y, (0, 1), A, 100).y, A * np.e, rtol=1e-9)
    np.testing.assert_allclose(solve_ivp_batched(lambda t, y: y, (0, 1), A[None], rtol=1e-9).y[0], A * np.e, rtol=1e-6)
    np.testing.assert_allclose(quad_batched(lambda x: x, 0.0, A).integral, A * A / 2, rtol=1e-14)
    np.testing.assert_allclose(least_squares_batched(lambda p: p, A[None]).x, 0.0, atol=1e-7)


@pytest.mark.parametrize("dtype", ["?", "u1", "i8"])
def test_functions_may_return_integers(dtype):
    """Unsigned ones are not to wrap around in differences, nor bools to be refused there."""
    result = newton(lambda x: (x > 0.5).astype(dtype), [1.0, 2.0], x1=[0.0, 3.0], full_output=True, maxiter=5)
    assert (result.root[0], result.status.tolist()) == (0.0, [0, -5])
    np.testing.assert_array_equal(rk4(lambda t, y: np.ones(y.shape, dtype), (0, 1), [0.0, 1.0], 4).y, [1.0, 2.0])
    y = solve_ivp_batched(lambda t, y: np.ones(y.shape, dtype), (0, 1), [[0.0, 1.0]]).y
    np.testing.assert_allclose(y, [[1.0, 2.0]], rtol=1e-15)
    np.testing.assert_allclose(quad_batched(lambda x: (x < 0.25).astype(dtype), 0, 1).integral, 0.25, atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"bounds": (0.1, 9.0)}, {"damping": 0.9}, {"rtol": 1e-3}])
@pytest.mark.parametrize("derivatives", [0, 1, 2])
@pytest.mark.parametrize("start", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("given", ["f2", "f4", "f8", "g"])
def test_newton_stays_in_the_dtype_of_its_start(given, start, derivatives, options):
    """Whatever precision its functions have, in all its ways: the last point is NaN, and one slope is zero."""
    if start[0] == "c" and "bounds" in options:
        return
    a = np.array([2.0, 3.0, 5.0, 1.0, np.nan])

    def real(values):
        return values.real.astype(given) if start[0] == "c" else values.astype(given)

    x0 = np.array([1.5, 1.5, 2.0, 0.0, 1.0], start)
    with np.errstate(all="ignore"):
        result = newton(
            lambda x: real(x * x - a),
            x0,
            (lambda x: real(2 * x)) if derivatives else None,
            fprime2=(lambda x: real(2 + 0 * x)) if derivatives > 1 else None,
            x1=None if derivatives else x0 + 0.25,
            tol=1e-2,
            maxiter=60,
            full_output=True,
            **options,
        )
    assert result.root.dtype == start
    assert result.converged[:3].all()
    np.testing.assert_allclose(result.root[:3], np.sqrt(a[:3]), rtol=2e-2)
    assert result.status[4] == -3


@pytest.mark.parametrize("given", ["f2", "f4", "f8", "g"])
def test_the_others_stay_in_the_dtype_of_their_start_too(given):
    a, ones = A.astype("f4"), np.ones(3, "f4")
    root = find_root(lambda x: (x * x - a).astype(given), (0 * a, a), xrtol=1e-2)
    assert root.x.dtype == root.f_x.dtype == np.float32
    assert bracket_root(lambda x: (x - a).astype(given), ones).f_bracket[0].dtype == np.float32
    assert quad_batched(lambda x: x.astype(given), 0 * a, a, disp=False).integral.dtype == np.float32
    assert fixed_quad(lambda x: x.astype(given), 0 * a, a).dtype == np.float32
    assert rk4(lambda t, y: (-y).astype(given), (0, 1), ones, 5).y.dtype == np.float32
    solution = solve_ivp_batched(lambda t, y: (-y).astype(given), (0, 1), ones[None], dense_output=True, rtol=1e-2)
    assert solution.y.dtype == solution.t.dtype == solution.sol(0.5).dtype == np.float32
    fit = least_squares_batched(lambda p: (p * p - a).astype(given), ones[None], disp=False)
    assert fit.x.dtype == fit.fun.dtype == fit.jac.dtype == np.float32


@pytest.mark.parametrize("fprime", [None, lambda x: 2.0 * x])
@pytest.mark.parametrize("late", [1, 2, 3, 4])
def test_newton_goes_over_to_complex_numbers_whenever_they_come(late, fprime):
    calls = itertools.count(1)

    def f(x):
        return x * x - 2.0 if next(calls) < late else x * x - (2.0 + 0.5j)

    root = newton(f, np.array([1.0, 1.5]), fprime, tol=1e-12)
    np.testing.assert_allclose(root, (2.0 + 0.5j) ** 0.5, rtol=1e-12)


@pytest.mark.parametrize("late", [2, 3, 5])
def test_no_imaginary_part_is_lost(late):
    def f(calls):
        return lambda t, y: -y if next(calls) < late else -1j * y

    for solve in (
        lambda: solve_ivp_batched(f(itertools.count(1)), (0, 1), [[1.0]]),
        lambda: rk4(f(itertools.count(1)), (0, 1), [1.0], 10),
    ):
        with pytest.raises(ArgumentError, match=r"callback 'fun' returned complex values, .* start from complex ones"):
            solve()


@pytest.mark.parametrize("name", SOLVES)
def test_errors_of_functions_come_out_as_they_are(name):
    class OurOwnError(Exception):
        pass

    calls = itertools.count()

    def failing(values):
        if next(calls) == 1:
            raise OurOwnError
        return values

    if name in ("fixed-quad",):  # evaluates once
        next(calls)
    with pytest.raises(OurOwnError):
        SOLVES[name](failing)


@pytest.mark.parametrize("name", SOLVES)
def test_results_that_change_their_shape_are_refused(name):
    calls = itertools.count()

    def shrinking(values):
        return values if next(calls) < 1 and name != "fixed-quad" else np.asarray(values)[..., :2]

    with pytest.raises(ArgumentError, match=r"callback .* returned shape \(.*2,?\), expected"):
        SOLVES[name](shrinking)


@pytest.mark.parametrize("name", SOLVES)
def test_floating_point_errors_of_functions_are_treated_as_the_user_has_them(name):
    """And those of the solvers are nobody's business."""
    silent = SOLVES[name](fresh)
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_array_equal(SOLVES[name](fresh), silent)

    def dividing(values):
        return values + 0.0 / np.zeros(1)[0]

    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        SOLVES[name](dividing)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SOLVES[name](dividing)
    assert any("invalid value" in str(warning.message) for warning in caught)
