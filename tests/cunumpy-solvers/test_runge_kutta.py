"""Runge-Kutta methods for many systems: closed forms, orders of convergence, and SciPy's RK45 for each system."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given
from hypothesis import strategies as st

from cunumpy.errors import ArgumentError, ArgumentTypeError, ConvergenceWarning
from cunumpy.integrate import rk4, solve_ivp_batched

MU = np.array([0.5, 1.0, 3.0, 5.0])
Y0 = np.array([[2.0, 1.0, 0.5, 2.0], [0.0, 0.0, 1.0, 0.0]])
TIMES = np.linspace(0.0, 10.0, 21)


def van_der_pol(t, y, mu):
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def crossing(t, y, mu):
    return y[0]


def scipys(i, **options):
    return scipy.integrate.solve_ivp(
        lambda t, y: van_der_pol(t, y, MU[i]), options.pop("t_span", (0.0, 10.0)), Y0[:, i], **options
    )


# --- steps of one size ------------------------------------------------------------------------------------------------


def test_rk4_has_order_four():
    errors = []
    for steps in (20, 40, 80):
        y = rk4(lambda t, y: -2.0 * t * y, (0.0, 1.0), np.array([1.0, 3.0]), steps).y
        errors.append(np.abs(y - np.array([1.0, 3.0]) * np.exp(-1.0)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 4.0, atol=0.1)


def test_rk4_is_exact_for_cubic_solutions_and_keeps_what_is_asked_for():
    result = rk4(lambda t, y: 3 * t**2 + 0 * y, (1.0, 3.0), np.ones((2, 3)), 10, save_every=5)
    np.testing.assert_allclose(result.t, [1.0, 2.0, 3.0])
    assert result.y.shape == (2, 3, 3)
    np.testing.assert_allclose(result.y[0, 0], result.t**3, rtol=1e-14)
    assert result.nfev == 40
    backwards = rk4(lambda t, y: -y, (1.0, 0.0), np.array(1.0), 50)
    assert backwards.y == pytest.approx(np.e, rel=1e-6)
    assert rk4(lambda t, y: y, (0, 1), np.ones(2, "f4"), 4).y.dtype == np.float32
    assert rk4(lambda t, y: 1j * y, (0, np.pi), [1.0], 100).y[0] == pytest.approx(-1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rk4(lambda t, y: y, (0, 1), [1.0], 0), "'steps'"),
        (lambda: rk4(lambda t, y: y, (0, 1), [1.0], 2, save_every=0), "'save_every'"),
        (lambda: rk4(lambda t, y: y, 1.0, [1.0], 2), "'t_span' must be a pair"),
        (lambda: rk4(lambda t, y: y, (0, np.inf), [1.0], 2), "'t_span' must be finite"),
        (lambda: rk4(lambda t, y: y[:1], (0, 1), [1.0, 2.0], 2), r"callback 'fun' returned shape \(1,\)"),
    ],
)
def test_wrong_arguments_of_rk4(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()


# --- steps of each system's own ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tolerances", [{}, {"rtol": 1e-6, "atol": 1e-8}, {"rtol": 1e-9, "atol": [1e-10, 1e-9]}])
def test_each_system_goes_scipys_way(tolerances):
    result = solve_ivp_batched(van_der_pol, (0.0, 10.0), Y0, args=(MU,), t_eval=TIMES, **tolerances)
    assert result.y.shape == (2, 4, 21)
    for i in range(4):
        expected = scipys(i, t_eval=TIMES, **tolerances)
        np.testing.assert_allclose(result.y[:, i], expected.y, rtol=1e-9, atol=1e-12)
        assert 2 + 6 * (result.steps[i] + result.rejected[i]) == expected.nfev
    assert result.nfev == 2 + 6 * result.nit
    assert result.nit == (result.steps + result.rejected).max()


def test_the_error_follows_the_tolerance_and_the_order_is_five():
    frequency = np.array([1.0, 2.0])
    start = np.stack([np.ones(2), np.zeros(2)])

    def f(t, y):
        return np.stack([y[1], -(frequency**2) * y[0]])

    errors = []
    for steps in (25, 50, 100):
        y = solve_ivp_batched(f, (0.0, 5.0), start, first_step=5 / steps, max_step=5 / steps, rtol=1.0, atol=1e3).y
        errors.append(np.hypot(y[0] - np.cos(5 * frequency), y[1] / frequency + np.sin(5 * frequency)))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 5.0, atol=0.4)
    for rtol in (1e-4, 1e-7, 1e-10):
        y = solve_ivp_batched(f, (0.0, 5.0), start, rtol=rtol, atol=rtol).y
        assert np.abs(y[0] - np.cos(5 * frequency)).max() < 100 * rtol


def test_dense_output_has_order_four_and_is_that_of_scipy():
    dense = solve_ivp_batched(van_der_pol, (0.0, 10.0), Y0, args=(MU,), dense_output=True, rtol=1e-6).sol
    t = np.linspace(0.0, 10.0, 101)
    for i in range(4):
        np.testing.assert_allclose(
            dense(t)[:, i], scipys(i, dense_output=True, rtol=1e-6).sol(t), rtol=1e-9, atol=1e-11
        )
    assert dense(3.0).shape == (2, 4)
    assert np.isnan(dense([-0.1, 10.1])).all()
    np.testing.assert_array_equal(dense(0.0), Y0)
    np.testing.assert_array_equal(dense(t[::-1]), dense(t)[..., ::-1])
    errors = []
    for step in (0.2, 0.1, 0.05):
        sol = solve_ivp_batched(
            lambda t, y: y, (0.0, 1.0), np.ones((1, 1)), first_step=step, max_step=step, atol=1e3, dense_output=True
        ).sol
        t = np.linspace(0, 1, 333)
        errors.append(np.abs(sol(t)[0, 0] - np.exp(t)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.9).all()


def test_times_asked_for_may_be_many_and_in_any_order():
    t = np.random.default_rng(1).permutation(np.linspace(0.0, 10.0, 5001))
    result = solve_ivp_batched(van_der_pol, (0.0, 10.0), Y0, args=(MU,), t_eval=t, rtol=1e-8)
    dense = solve_ivp_batched(van_der_pol, (0.0, 10.0), Y0, args=(MU,), dense_output=True, rtol=1e-8)
    np.testing.assert_array_equal(result.t, t)
    np.testing.assert_allclose(result.y, dense.sol(t), rtol=1e-13, atol=1e-14)
    both = solve_ivp_batched(van_der_pol, (0.0, 10.0), Y0, args=(MU,), t_eval=t, dense_output=True, rtol=1e-8)
    np.testing.assert_array_equal(both.y, result.y)


def test_systems_may_have_times_of_their_own_and_go_backwards():
    end = np.array([1.0, -2.0, 0.0, 3.0])
    result = solve_ivp_batched(lambda t, y: y, (0.0, end), np.ones((1, 4)), rtol=1e-9, atol=1e-9, dense_output=True)
    np.testing.assert_allclose(result.y[0], np.exp(end), rtol=1e-6)
    np.testing.assert_array_equal(result.t, end)
    inside = result.sol(np.array([-1.5, 0.0, 0.5]))[0]
    np.testing.assert_allclose(inside[1], [np.exp(-1.5), 1.0, np.nan], rtol=1e-6)
    np.testing.assert_allclose(inside[0], [np.nan, 1.0, np.exp(0.5)], rtol=1e-6)


@given(st.lists(st.floats(-20.0, 1.0), min_size=1, max_size=8))
def test_a_system_is_not_touched_by_the_others(rates):
    rates = np.array(rates)
    together = solve_ivp_batched(lambda t, y: rates * y, (0.0, 1.0), np.ones((1, rates.size)))
    for i, rate in enumerate(rates):
        alone = solve_ivp_batched(lambda t, y, rate=rate: rate * y, (0.0, 1.0), np.ones((1, 1)))
        assert alone.y[0, 0] == together.y[0, i]
        assert alone.steps[0] == together.steps[i]


# --- events -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", [0, 1, -1])
def test_events_are_those_of_scipy(direction):
    def event(t, y, *mu):
        return y[0]

    event.direction = direction
    options = {"rtol": 1e-7, "atol": 1e-9}
    result = solve_ivp_batched(van_der_pol, (0.0, 10.0), Y0, args=(MU,), events=event, **options)
    times, states = result.t_events[0], result.y_events[0]
    assert times.shape[1:] == (4,)
    assert states.shape == (times.shape[0], 2, 4)
    for i in range(4):
        expected = scipys(i, events=event, **options)
        found = times[~np.isnan(times[:, i]), i]
        np.testing.assert_allclose(found, expected.t_events[0], rtol=1e-10)
        np.testing.assert_allclose(states[: found.size, :, i], expected.y_events[0].reshape(-1, 2), atol=1e-9)
        assert np.isnan(states[found.size :, :, i]).all()
    assert (result.status == 0).all()


def test_terminal_events_end_a_system():
    def event(t, y, mu):
        return y[0]

    event.terminal = True
    other = lambda t, y, mu: y[1]  # noqa: E731
    result = solve_ivp_batched(
        van_der_pol, (0.0, 10.0), Y0, args=(MU,), events=[other, event], t_eval=TIMES, rtol=1e-8, dense_output=True
    )
    for i in range(4):
        expected = scipys(i, events=[lambda t, y: y[1], _terminal(lambda t, y: y[0])], t_eval=TIMES, rtol=1e-8)
        assert (result.status[i], result.success[i]) == (expected.status, True)
        for k in range(2):
            found = result.t_events[k][:, i]
            np.testing.assert_allclose(found[~np.isnan(found)], expected.t_events[k], rtol=1e-7, atol=1e-10)
        seen = ~np.isnan(result.y[0, i])
        np.testing.assert_array_equal(result.t[seen], expected.t)
        last = result.t_events[1][0, i]
        assert np.isnan(result.sol(last + 1e-6)[:, i]).all()
        np.testing.assert_allclose(result.sol(last - 1e-6)[0, i], 0.0, atol=1e-4)


def _terminal(event, number=True):
    event.terminal = number
    return event


def test_an_event_may_end_what_has_no_end():
    event = _terminal(lambda t, y: y[0] - 1e-3)
    result = solve_ivp_batched(lambda t, y: -y, (0.0, np.inf), [[1.0, 50.0]], events=event, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.t, np.log([1e3, 5e4]), rtol=1e-7)
    assert result.status.tolist() == [1, 1]
    back = solve_ivp_batched(lambda t, y: y, (0.0, -np.inf), [[1.0]], events=event, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(back.t, -np.log(1e3), rtol=1e-7)


def test_the_number_of_an_event_may_be_terminal():
    event = _terminal(lambda t, y: np.sin(t), 3)
    result = solve_ivp_batched(lambda t, y: -y, (0.5, 20.0), np.ones((1, 2)), events=event, max_step=0.5, rtol=1e-9)
    np.testing.assert_allclose(result.t, 3 * np.pi, rtol=1e-12)
    np.testing.assert_allclose(result.t_events[0][:, 0], np.pi * np.array([1, 2, 3]), rtol=1e-12)
    assert result.status.tolist() == [1, 1]
    none = solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), np.ones((1, 2)), events=lambda t, y: y[0] + 1.0)
    assert none.t_events[0].shape == (0, 2)
    assert none.y_events[0].shape == (0, 1, 2)


# --- failures, types, arguments ---------------------------------------------------------------------------------------


def test_failures_have_a_status_and_a_warning():
    result = solve_ivp_batched(lambda t, y: y**2, (0.0, 2.0), np.array([[1.0, 0.1]]), disp=False)
    assert result.status.tolist() == [-6, 0]
    assert result.t[0] == pytest.approx(1.0, rel=1e-3)
    assert result.y[0, 1] == pytest.approx(0.125, rel=1e-3)
    with pytest.warns(ConvergenceWarning, match="1 of 2 systems did not reach the end") as caught:
        solve_ivp_batched(lambda t, y: y**2, (0.0, 2.0), np.array([[1.0, 0.1]]))
    assert caught[0].filename == __file__
    result = solve_ivp_batched(lambda t, y: -y, (0.0, 100.0), np.ones((1, 2)), max_steps=3, disp=False)
    assert result.status.tolist() == [-2, -2]
    result = solve_ivp_batched(lambda t, y: y, (0.0, 1.0), [[1.0, np.nan]], disp=False)
    assert result.status.tolist() == [0, -3]
    with np.errstate(invalid="ignore"):
        result = solve_ivp_batched(
            lambda t, y: np.sqrt(0.5 - t) * np.ones_like(y), (0.0, [0.4, 1.0]), np.ones((1, 2)), disp=False
        )
    assert result.status.tolist() == [0, -3]
    assert np.isfinite(result.y).all()
    # Errors of nothing, relative to nothing: ended at once, not after all steps.
    nothing = solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), [[0.0, 1.0]], atol=0.0, disp=False)
    assert nothing.status.tolist() == [-3, 0]
    assert nothing.rejected[0] < 5
    assert solve_ivp_batched(lambda t, y: y, (np.nan, 1.0), [[1.0]], disp=False).status.tolist() == [-3]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_dtypes_are_kept(dtype):
    result = solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), np.ones((1, 3), dtype), rtol=1e-5, t_eval=[0.5, 1.0])
    assert result.y.dtype == dtype
    np.testing.assert_allclose(result.y[0, 0], np.exp([-0.5, -1.0]), rtol=1e-4)
    if dtype == "f8":
        turned = solve_ivp_batched(lambda t, y: 1j * y, (0.0, np.pi), [[1.0]], rtol=1e-8)
        assert turned.y.dtype == np.complex128
        assert turned.y[0, 0] == pytest.approx(-1.0, abs=1e-6)


def test_shapes():
    for shape in ((1,), (2, 3), (2, 3, 4), (2, 0)):
        start = np.ones(shape)
        result = solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), start, t_eval=[0.0, 0.5, 1.0])
        assert result.y.shape == (*shape, 3)
        assert result.status.shape == shape[1:]
        np.testing.assert_allclose(result.y, np.broadcast_to(np.exp([0, -0.5, -1.0]), (*shape, 3)), rtol=1e-3)
    seen = []
    solve_ivp_batched(lambda t, y: seen.append((np.shape(t), y.shape)) or -y, (0.0, 1.0), np.ones((2, 3)))
    assert set(seen) == {((3,), (2, 3))}


def test_looking_seldom_or_never():
    expected = solve_ivp_batched(van_der_pol, (0.0, 10.0), Y0, args=(MU,), t_eval=TIMES)
    for every in (7, 0):
        result = solve_ivp_batched(
            van_der_pol, (0.0, 10.0), Y0, args=(MU,), t_eval=TIMES, check_every=every, max_steps=100
        )
        np.testing.assert_array_equal(result.y, expected.y)
        assert result.nit == 100 if every == 0 else result.nit % 7 == 0 or result.nit == 100


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"y0": 1.0}, ArgumentError, "'y0' must have its components on the first axis"),
        ({"t_span": 1.0}, ArgumentError, "'t_span' must be a pair"),
        ({"t_span": (0.0, [1.0, 2.0, 3.0])}, ArgumentError, r"'t_span\[1\]' of shape \(3,\) can't be broadcast"),
        ({"rtol": -1.0}, ArgumentError, "'rtol'"),
        ({"atol": [1.0, 2.0, 3.0]}, ArgumentError, "'atol' must be a number or have a value for each of the 1"),
        ({"atol": -1e-6}, ArgumentError, "'atol' must be 0 or positive and finite, got float"),
        ({"atol": [np.nan]}, ArgumentError, "'atol' must be 0 or positive and finite"),
        ({"y0": np.empty((0, 2))}, ArgumentError, r"'y0' must have at least one component, got shape \(0, 2\)"),
        ({"max_step": 0.0}, ArgumentError, "'max_step'"),
        ({"first_step": 0.0}, ArgumentError, "'first_step'"),
        ({"max_steps": 0}, ArgumentError, "'max_steps'"),
        ({"t_eval": [[1.0]]}, ArgumentError, "'t_eval' must have one dimension"),
        ({"events": 3}, ArgumentTypeError, "'events' must be a function or a list"),
        ({"events": lambda t, y: y[0], "check_every": 2}, ArgumentError, "'check_every' must be 1 with events"),
        ({"fun": lambda t, y: y[0]}, ArgumentError, r"callback 'fun' returned shape \(2,\), expected \(1, 2\)"),
        ({"events": lambda t, y: y}, ArgumentError, r"callback 'events\[0\]' returned shape \(1, 2\)"),
    ],
)
def test_wrong_arguments(options, error, text):
    with pytest.raises(error, match=text):
        solve_ivp_batched(**({"fun": lambda t, y: -y, "t_span": (0.0, 1.0), "y0": [[1.0, 2.0]]} | options))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_results_can_be_copied_and_pickled(copied):
    result = solve_ivp_batched(
        van_der_pol, (0.0, 5.0), Y0, args=(MU,), events=crossing, dense_output=True, t_eval=[1.0, 2.0]
    )
    again = copied(result)
    np.testing.assert_array_equal(again.y, result.y)
    np.testing.assert_array_equal(again.t_events[0], result.t_events[0])
    np.testing.assert_array_equal(again.sol([0.5, 4.0]), result.sol([0.5, 4.0]))
    assert str(again) == str(result)
