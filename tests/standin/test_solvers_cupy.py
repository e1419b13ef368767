"""Solvers on CuPy arrays: the host's results, with the reads and copies promised and no other."""

from __future__ import annotations

import copy
import inspect

import cupy
import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

import cunumpy as xp
from array_kinds import ForeignDeviceArray
from cunumpy import integrate, optimize
from cunumpy.errors import ArgumentError, ConvergenceWarning, MixedBackendError, TransferError


def on_device(values, dtype=float):
    return cupy.asarray(np.asarray(values, dtype))


def square(x):
    return x * x - 2.0


def slope(x):
    return 2.0 * x


# --- newton -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("fprime", [None, slope])
def test_newton_equals_the_host_and_reads_one_flag_an_iteration(fprime, dtype):
    start = np.array([1.0, 2.0, 5.0], dtype)
    expected = optimize.newton(square, start, fprime, tol=1e-5, full_output=True)
    device = cupy.asarray(start)
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        found = optimize.newton(square, device, fprime, tol=1e-5, full_output=True)
    assert isinstance(found.root, cupy.ndarray)
    assert found.root.dtype == dtype
    np.testing.assert_allclose(found.root.get(), expected.root, rtol=1e-6)
    assert found.converged.get().all()
    assert counter.count("sync") == len(counter.events) == found.nit
    assert counter.events[0].description == "newton: flag of the iteration"
    assert counter.events[0].where.startswith(__file__)


def test_newton_reads_seldom_or_never():
    x = on_device([1.0, 2.0])
    with xp.profiling.forbid_transfers(syncs=True), xp.profiling.count_transfers() as counter:
        root = optimize.newton(square, x, slope, maxiter=8, check_every=0)
    assert not counter.events
    np.testing.assert_allclose(root.get(), 2**0.5)
    with xp.profiling.count_transfers() as counter:
        optimize.newton(square, x, slope, check_every=3)
    assert counter.count("sync") == 2
    with pytest.raises(TransferError), xp.profiling.forbid_transfers(syncs=True):
        optimize.newton(square, x, slope)


def test_newton_failures():
    start = np.array([2.5, 0.0, 1.3, np.nan, 1.0])

    def f(x):
        return x * x + 1.0

    host = optimize.newton(f, start, slope, maxiter=10, full_output=True)
    device = optimize.newton(f, cupy.asarray(start), slope, maxiter=10, full_output=True)
    assert device.status.get().tolist() == host.status.tolist() == [-2, -5, -2, -3, -5]
    np.testing.assert_allclose(device.root.get(), host.root, rtol=1e-13)
    with xp.profiling.count_transfers() as counter, pytest.warns(ConvergenceWarning) as caught:
        optimize.newton(f, cupy.asarray(start), slope, maxiter=10)
    assert str(caught[0].message) == (
        "newton: 5 of 5 points did not converge (zero derivatives, values that are not finite)"
    )
    assert counter.count("sync") == len(counter.events) == 11


@pytest.mark.parametrize("options", [{}, {"fprime": slope}, {"fprime": slope, "fprime2": lambda x: 2.0 + 0 * x}])
@pytest.mark.parametrize("more", [{}, {"bounds": (0.5, 3.0)}, {"damping": 0.5, "maxiter": 100}, {"rtol": 1e-6}])
def test_newton_options_equal_the_host(options, more):
    start = np.array([[1.0, 0.0, 2.0**0.5], [3.0, -2.0, 0.6]])
    with np.errstate(all="ignore"):
        host = optimize.newton(square, start, full_output=True, **options, **more)
        device = optimize.newton(square, cupy.asarray(start), full_output=True, **options, **more)
    assert device.status.get().tolist() == host.status.tolist()
    np.testing.assert_allclose(device.root.get(), host.root, rtol=1e-12)
    assert (device.nit, device.nfev) == (host.nit, host.nfev)


def test_start_values_choose_the_backend():
    root = optimize.newton(square, [1.0, 2.0], slope)  # a list: the active one
    assert isinstance(root, cupy.ndarray)
    assert type(optimize.newton(square, np.ones(2), slope)) is np.ndarray
    with xp.use_backend("numpy"):
        assert type(optimize.newton(square, [1.0], slope)) is np.ndarray
        # Callbacks run with the backend of the start value.
        root = optimize.newton(lambda x: x - xp.full(2, 3.0), on_device([1.0, 1.0]), lambda x: xp.ones(2))
    assert root.get().tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="ForeignDeviceArray"):  # known as a device array; the stand-in reads no other
        optimize.newton(lambda x: x - 1.0, ForeignDeviceArray(np.ones(2)))
    active = []
    optimize.newton(lambda x: active.append(xp.get_backend()) or x, np.ones(1))
    assert set(active) == {"numpy"}


def test_mixed_backends_are_refused():
    x = on_device([1.0, 2.0])
    with pytest.raises(MixedBackendError, match=r"callback 'func' returned numpy.ndarray.*which is on the host"):
        optimize.newton(lambda x: np.ones(2), x)
    with pytest.raises(MixedBackendError, match=r"callback 'fprime' returned cupy.ndarray.*in device memory"):
        optimize.newton(square, np.ones(2), lambda x: on_device([1.0, 1.0]))
    with pytest.raises(MixedBackendError, match="'x0' are in device memory and 'x1' on the host"):
        optimize.newton(square, x, x1=np.ones(2))
    with pytest.raises(MixedBackendError, match=r"'bounds\[0\]' is on the host"):
        optimize.newton(square, x, bounds=(np.zeros(2), 1.0))
    with pytest.raises(ArgumentError, match="callback 'func' returned shape"):
        optimize.newton(lambda x: x[:1], x)


# --- SciPy on the host, callbacks on the device -----------------------------------------------------------------------


def rosenbrock(x):
    assert isinstance(x, cupy.ndarray)
    assert xp.get_backend() == "cupy"
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def gradient(x):
    return xp.stack([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])


def hessian(x):
    return xp.stack(
        [
            xp.stack([1200 * x[0] ** 2 - 400 * x[1] + 2, -400 * x[0]]),
            xp.stack([-400 * x[0], xp.full((), 200.0)]),
        ]
    )


def test_each_evaluation_copies_there_and_back_at_the_users_line():
    evaluations = []

    def f(x):
        evaluations.append(x)
        return x * x - 3.0

    x0 = on_device([1.0, 2.0])
    with xp.profiling.count_transfers() as counter:
        root = optimize.fsolve(f, x0); line = inspect.currentframe().f_lineno  # fmt: skip  # noqa: E702
    assert isinstance(root, cupy.ndarray)
    np.testing.assert_allclose(root.get(), 3**0.5)
    n = len(evaluations)
    assert counter.to_host == n + 1  # the start value
    assert counter.to_device == n + 1  # the result
    assert {event.where for event in counter.events} == {f"{__file__}:{line}"}
    uploads = [event for event in counter.events if "argument of func" in event.description]
    assert len(uploads) == n
    assert not any(event.blocking for event in uploads)
    assert x0.get().tolist() == [1.0, 2.0]


def test_iterates_that_are_kept_do_not_change():
    kept, copies = [], []

    def f(x):
        kept.append(x)
        copies.append(x.copy())
        return x * x - 3.0

    optimize.fsolve(f, on_device([1.0, 2.0]))
    for one, other in zip(kept, copies, strict=True):
        assert one.get().tolist() == other.get().tolist()


def test_results_on_the_host_only_do_not_pile_up_buffers(monkeypatch):
    made = []
    from cunumpy.memory import _copies

    original = _copies.pinned_empty
    monkeypatch.setattr(_copies, "pinned_empty", lambda *a: made.append(a) or original(*a))
    calls = []
    optimize.minimize(
        lambda x: calls.append(1) or float(((x - 1.0) ** 2).sum().get()), on_device(np.zeros(4)), method="Nelder-Mead"
    )
    assert len(calls) > 100
    assert len(made) < 12


def test_the_backend_of_the_start_value_is_active_and_restored():
    with xp.use_backend("numpy"):
        solution = optimize.minimize(rosenbrock, on_device([0.0, 0.0]), jac=gradient)
        assert xp.get_backend() == "numpy"
    assert isinstance(solution.x, cupy.ndarray)
    assert isinstance(solution.jac, cupy.ndarray)
    assert isinstance(solution.fun, float)
    np.testing.assert_allclose(solution.x.get(), 1.0, atol=1e-4)


def test_minimize_callbacks_of_all_kinds():
    seen = []
    x0 = on_device([0.0, 0.0])
    optimize.minimize(rosenbrock, x0, jac=gradient, callback=lambda x: seen.append(type(x)))

    def callback(intermediate_result):
        seen.append(type(intermediate_result.x))

    optimize.minimize(rosenbrock, x0, jac=gradient, callback=callback)
    solution = optimize.minimize(rosenbrock, x0, jac=gradient, hess=hessian, method="Newton-CG")
    np.testing.assert_allclose(solution.x.get(), 1.0, atol=1e-4)
    optimize.minimize(
        rosenbrock, x0, jac=gradient, hessp=lambda x, p: seen.append(type(p)) or hessian(x) @ p, method="trust-krylov"
    )
    pair = optimize.minimize(lambda x: (rosenbrock(x), gradient(x)), x0, jac=True)
    np.testing.assert_allclose(pair.x.get(), 1.0, atol=1e-4)
    states = []
    constraint = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 0.0, 1.0, jac=lambda x: 2 * x[None, :])
    solution = optimize.minimize(
        rosenbrock,
        x0,
        jac=gradient,
        method="trust-constr",
        constraints=[constraint],
        callback=lambda x, state: states.append((type(x), type(state.grad))) and False,
    )
    assert abs(float((solution.x**2).sum().get()) - 1.0) < 1e-5
    assert set(seen) == {cupy.ndarray}
    assert set(states) == {(cupy.ndarray, cupy.ndarray)}
    bound = optimize.minimize(
        rosenbrock,
        x0,
        bounds=[(on_device(-1.0), 0.5), (None, None)],
        constraints={"type": "ineq", "fun": lambda x, a: a.sum() - x.sum(), "args": (on_device([0.3, 0.2]),)},
    )
    assert float(bound.x.sum().get()) < 0.5 + 1e-8


def test_root_least_squares_and_fits():
    x0 = on_device([1.0, 2.0])
    solution = optimize.root(lambda x: (x * x - 3.0, xp.diag(2 * x)), x0, jac=True)
    np.testing.assert_allclose(solution.x.get(), 3**0.5)
    seen = []
    solution = optimize.root(
        lambda x: x * x - 3.0, x0, method="krylov", callback=lambda x, f: seen.append((type(x), type(f)))
    )
    np.testing.assert_allclose(solution.x.get(), 3**0.5, rtol=1e-5)
    assert set(seen) == {(cupy.ndarray, cupy.ndarray)}

    t = xp.linspace(0.0, 1.0, 9)
    y = 2.0 * xp.exp(-t)
    fit = optimize.least_squares(
        lambda p, a, shift: p[0] * xp.exp(-p[1] * t) - a + shift,
        x0,
        lambda p, a, shift: xp.stack([xp.exp(-p[1] * t), -p[0] * t * xp.exp(-p[1] * t)], axis=1),
        (on_device([0.0, 0.0]), [5.0, np.inf]),
        args=(y,),
        kwargs={"shift": xp.zeros(9)},
        loss=lambda z: xp.stack([z, xp.ones_like(z), xp.zeros_like(z)]),
        x_scale=on_device([1.0, 2.0]),
    )
    np.testing.assert_allclose(fit.x.get(), [2.0, 1.0], rtol=1e-6)
    assert isinstance(fit.jac, cupy.ndarray)

    def model(t, a, b):
        assert isinstance(t, cupy.ndarray)
        return a * xp.exp(-b * t)

    with xp.profiling.count_transfers() as counter:
        parameters, covariance = optimize.curve_fit(model, t, y + 1e-3 * xp.cos(20 * t), sigma=xp.ones(9))
    assert isinstance(parameters, cupy.ndarray)
    assert covariance.shape == (2, 2)
    np.testing.assert_allclose(parameters.get(), [2.0, 1.0], rtol=1e-2)
    assert counter.to_device == 2
    both, _ = optimize.curve_fit(lambda x, a, b: a * x[0] + b * x[1], (t, t * t), 3 * t - t * t, on_device([1.0, 1.0]))
    np.testing.assert_allclose(both.get(), [3.0, -1.0], rtol=1e-6)


def test_scalar_solvers():
    with xp.profiling.count_transfers() as counter:
        value, _ = integrate.quad(lambda x: on_device(x) ** 2, on_device(0.0), 3.0)
    assert (type(value), value) == (float, pytest.approx(9.0))
    assert counter.to_host == 21 + 1
    for shape in ((1,), (1, 1)):
        assert integrate.quad(lambda x, s=shape: xp.full(s, x), 0.0, 1.0)[0] == pytest.approx(0.5)
    active = []
    integrate.quad(lambda x: active.append(xp.get_backend()) or x, 0.0, 1.0)
    with xp.use_backend("numpy"):
        integrate.quad(lambda x: active.append(xp.get_backend()) or x, on_device(0.0), 1.0)
    assert set(active) == {"cupy"}
    result = optimize.root_scalar(
        lambda x: on_device(x) ** 2 - 2.0, bracket=[on_device(1.0), 2.0], fprime=lambda x: on_device([2 * x])
    )
    assert result.root == pytest.approx(2**0.5)
    result = optimize.root_scalar(
        lambda x: xp.full(1, x * x - 2.0), x0=on_device([1.0]), fprime=lambda x: on_device([2 * x]), method="newton"
    )
    assert result.root == pytest.approx(2**0.5)


def test_differential_equations():
    y0 = on_device([1.0, 2.0])
    t = xp.linspace(0.0, 1.0, 4)
    expected = np.exp(-t.get())[:, None] * y0.get()
    for tfirst in (False, True):

        def f(*arguments, first=tfirst):
            time, y = arguments if first else arguments[::-1]
            assert isinstance(time, float)
            assert isinstance(y, cupy.ndarray)
            return -y

        y = integrate.odeint(f, y0, t, tfirst=tfirst)
        assert isinstance(y, cupy.ndarray)
        np.testing.assert_allclose(y.get(), expected, rtol=1e-6)
    y, info = integrate.odeint(lambda y, t: -y, y0, t, Dfun=lambda y, t: -xp.eye(2), full_output=True)
    assert isinstance(info["hu"], cupy.ndarray)
    assert isinstance(info["message"], str)

    def event(t, y, a):
        assert isinstance(y, cupy.ndarray)
        return y[:1] - 0.5 * a

    event.terminal = True
    solution = integrate.solve_ivp(
        lambda t, y, a: -a * y,
        (0.0, on_device(5.0)),
        y0,
        "BDF",
        events=event,
        args=(1.0,),
        dense_output=True,
        jac=lambda t, y, a: -a * xp.eye(2),
        rtol=1e-8,
    )
    assert solution.status == 1
    assert float(solution.t_events[0][0].get()) == pytest.approx(np.log(2.0), rel=1e-5)
    assert isinstance(solution.y, cupy.ndarray)
    inside = solution.sol(on_device([0.1, 0.2]))
    assert isinstance(inside, cupy.ndarray)
    np.testing.assert_allclose(inside.get(), y0.get()[:, None] * np.exp([-0.1, -0.2]), rtol=1e-5)
    assert solution.sol.t_min == 0.0
    again = copy.deepcopy(solution)
    np.testing.assert_array_equal(again.sol(0.3).get(), solution.sol(0.3).get())
    first = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=t, events=[lambda t, y: y - 0.5])
    assert isinstance(first.y, cupy.ndarray)
    assert first.y.shape == (1, 4)


def test_device_results_for_host_start_values_are_refused_by_name():
    with pytest.raises(MixedBackendError, match=r"fsolve: callback 'func' returned an array in device memory"):
        optimize.fsolve(lambda x: on_device([1.0]), np.ones(1))
    with pytest.raises(MixedBackendError, match="'ydata' on the host"):
        optimize.curve_fit(lambda x, a: a * x, on_device([1.0, 2.0]), np.ones(2))


def test_lists_follow_the_active_backend():
    assert isinstance(optimize.fsolve(lambda x: x - xp.ones(2), [0.0, 0.0]), cupy.ndarray)
    with xp.use_backend("numpy"):
        assert type(optimize.fsolve(lambda x: x - xp.ones(2), [0.0, 0.0])) is np.ndarray


def test_copies_can_be_forbidden():
    with pytest.raises(TransferError), xp.profiling.forbid_transfers():
        optimize.fsolve(lambda x: x, on_device([1.0]))


# --- brackets, integrals, differential equations, fits ----------------------------------------------------------------


def host(value):
    """Copy the arrays of a result, so that it can be compared."""
    if isinstance(value, cupy.ndarray):
        return value.get()
    if isinstance(value, (tuple, list)):
        return [host(each) for each in value]
    return value


def assert_same_result(device, expected, names, rtol=1e-11):
    for name in names:
        one, other = host(getattr(device, name)), getattr(expected, name)
        for a, b in zip(one, other, strict=True) if isinstance(one, list) else [(one, other)]:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


def test_brackets():
    a = np.array([2.0, 3.0, 5.0, -1.0, np.nan])
    d = cupy.asarray(a)
    expected = optimize.find_root(lambda x: x * x - a, (0.0, np.abs(a) + 1))
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        found = optimize.find_root(lambda x: x * x - d, (0.0, cupy.abs(d) + 1))
    assert counter.count("sync") == len(counter.events) == found.nit
    assert_same_result(found, expected, ["x", "f_x", "status", "success", "bracket", "f_bracket", "nit", "nfev"])
    with xp.profiling.forbid_transfers(syncs=True):
        optimize.find_root(lambda x: x * x - d, (0.0, cupy.abs(d) + 1), check_every=0)
    far = np.array([5.0, -30.0, 0.5])
    expected = optimize.bracket_root(lambda x: x - far, np.zeros(3), xmax=10.0)
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        found = optimize.bracket_root(lambda x: x - cupy.asarray(far), cupy.zeros(3), xmax=10.0)
    assert counter.count("sync") == found.nit
    assert_same_result(found, expected, ["bracket", "f_bracket", "status", "success", "nit", "nfev"])
    assert "cupy.ndarray(shape=(3,), dtype=int8)" in str(found)
    float32 = optimize.find_root(lambda x: x - 0.5, (cupy.zeros(2, "f4"), 1.0))
    assert float32.x.dtype == np.float32
    with pytest.raises(MixedBackendError, match=r"'bracket\[1\]' are in device memory and 'bracket\[0\]' on the host"):
        optimize.find_root(lambda x: x, (np.zeros(2), cupy.ones(2)))


def test_integrals():
    w = np.linspace(1.0, 60.0, 7)
    upper = np.array([3.0, np.inf, 1.0, -np.inf, 2.0, 0.5, np.nan])

    def f(x, w):
        return xp.get_array_module(x).exp(-xp.get_array_module(x).abs(x)) * xp.get_array_module(x).cos(w * x)

    expected = integrate.quad_batched(f, 0.0, upper, (w,), disp=False)
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        found = integrate.quad_batched(f, 0.0, cupy.asarray(upper), (cupy.asarray(w),), disp=False)
    assert counter.count("sync") == len(counter.events) == found.nit
    assert_same_result(found, expected, ["integral", "error", "status", "success", "nfev", "nit"], rtol=1e-9)
    with xp.profiling.forbid_transfers(syncs=True):
        fixed = integrate.fixed_quad(f, 0.0, cupy.ones(7), (cupy.asarray(w),), n=40)
    np.testing.assert_allclose(fixed.get(), integrate.fixed_quad(f, 0.0, np.ones(7), (w,), n=40), rtol=1e-12)
    with pytest.warns(ConvergenceWarning, match="1 of 7 integrals"):
        integrate.quad_batched(f, 0.0, cupy.asarray(upper), (cupy.asarray(w),))
    complex64 = integrate.quad_batched(lambda x: x * xp.full((), 1j, "c8"), cupy.zeros(2, "f4"), 1.0)
    assert complex64.integral.dtype == np.complex64


def oscillator(t, y, k):
    return xp.get_array_module(y).stack([y[1], -k * y[0]])


def test_systems_of_differential_equations():
    k = np.array([0.5, 1.0, 4.0])
    start = np.stack([np.ones(3), np.zeros(3)])
    times = np.linspace(0.0, 6.0, 50)

    def event(t, y, k):
        return y[0]

    event.terminal = 2
    options = {"rtol": 1e-7, "atol": 1e-9}
    expected = integrate.solve_ivp_batched(oscillator, (0.0, 6.0), start, args=(k,), t_eval=times, **options)
    d, y0 = cupy.asarray(k), cupy.asarray(start)
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        found = integrate.solve_ivp_batched(
            oscillator, (0.0, 6.0), y0, args=(d,), t_eval=cupy.asarray(times), **options
        )
    assert_same_result(found, expected, ["t", "y", "status", "success", "steps", "rejected", "nfev", "nit"])
    flags = [e for e in counter.events if "flag of the iteration" in e.description]
    assert len(flags) == found.nit
    assert len(counter.events) <= found.nit + found.nit // 32 + 4
    with xp.profiling.forbid_transfers(syncs=True):
        never = integrate.solve_ivp_batched(
            oscillator, (0.0, 6.0), y0, args=(d,), t_eval=cupy.asarray(times), check_every=0, max_steps=120, **options
        )
        fixed = integrate.rk4(oscillator, (0.0, 6.0), y0, 100, (d,), save_every=50)
    np.testing.assert_allclose(never.y.get(), expected.y, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        fixed.y.get(), integrate.rk4(oscillator, (0.0, 6.0), start, 100, (k,), save_every=50).y, rtol=1e-12
    )
    expected = integrate.solve_ivp_batched(
        oscillator, (0.0, 6.0), start, args=(k,), events=[event], dense_output=True, **options
    )
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        found = integrate.solve_ivp_batched(
            oscillator, (0.0, 6.0), y0, args=(d,), events=[event], dense_output=True, **options
        )
        inside = found.sol(cupy.asarray([0.5, 1.0]))
    assert_same_result(found, expected, ["t", "y", "status", "steps", "nit", "t_events", "y_events"], rtol=1e-9)
    np.testing.assert_allclose(inside.get(), expected.sol([0.5, 1.0]), rtol=1e-11)
    np.testing.assert_array_equal(copy.deepcopy(found).sol(0.5).get(), found.sol(0.5).get())
    assert integrate.solve_ivp_batched(oscillator, (0, 1), y0.astype("f4"), args=(d,)).y.dtype == np.float32


def test_many_fits():
    t = np.linspace(0.0, 4.0, 30)[:, None]
    rates = np.array([0.5, 1.0, 2.0])
    y = 3.0 * np.exp(-rates * t) + 0.01 * np.cos(9 * t)
    dt, dy = cupy.asarray(t), cupy.asarray(y)

    def model(p, t):
        return p[0] * xp.get_array_module(p).exp(-p[1] * t)

    options = {"bounds": (0.0, 10.0)}
    expected = optimize.least_squares_batched(lambda p: model(p, t) - y, np.ones((2, 3)), **options)
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        found = optimize.least_squares_batched(lambda p: model(p, dt) - dy, cupy.ones((2, 3)), **options)
    assert counter.count("sync") == len(counter.events) == found.nit + 1  # the last one for the warning
    assert_same_result(found, expected, ["x", "cost", "jac", "status", "success", "nit", "nfev"], rtol=1e-6)
    np.testing.assert_allclose(found.covariance().get(), expected.covariance(), rtol=1e-6)
    with xp.profiling.forbid_transfers(syncs=True):
        never = optimize.least_squares_batched(
            lambda p: model(p, dt) - dy, cupy.ones((2, 3)), check_every=0, maxiter=30
        )
    np.testing.assert_allclose(never.x.get(), expected.x, rtol=1e-6)
