"""Solvers and the functions of `xp.scipy` that CuPy lacks, on a GPU: the host's results, and few waits."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy import integrate, optimize

linalg = pytest.importorskip("scipy.linalg", reason="these solvers are SciPy's, or are compared with SciPy's")

N = 2000


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("slope", [True, False])
def test_newton(dtype, slope):
    a = np.linspace(1.0, 50.0, N).astype(dtype)
    d = cupy.asarray(a)
    with xp.profiling.forbid_transfers(), xp.profiling.count_transfers() as counter:
        result = optimize.newton(
            lambda x: x * x * x - d,
            cupy.ones(N, dtype) * 3,
            (lambda x: 3 * x * x) if slope else None,
            tol=1e-5,
            full_output=True,
        )
    assert counter.count("sync") == result.nit
    assert bool(result.converged.all().get())
    assert result.root.dtype == dtype
    np.testing.assert_allclose(result.root.get(), np.asarray(a).real ** (1 / 3), rtol=1e-5)


def test_brackets_and_integrals():
    a = np.linspace(0.1, 90.0, N)
    d = cupy.asarray(a)
    found = optimize.bracket_root(lambda x: x - d, cupy.zeros(N))
    root = optimize.find_root(lambda x: cupy.arctan(x - d), found.bracket)
    np.testing.assert_allclose(root.x.get(), a, rtol=1e-12)
    result = integrate.quad_batched(lambda x, w: cupy.cos(w * x) * cupy.exp(-x), 0.0, cupy.inf, (d / 10,))
    np.testing.assert_allclose(result.integral.get(), 1 / (1 + a * a / 100), atol=1e-7)
    fixed = integrate.fixed_quad(lambda x: x**3, 0.0, d, n=2)
    np.testing.assert_allclose(fixed.get(), a**4 / 4, rtol=1e-12)


def test_differential_equations_and_fits():
    k = cupy.linspace(0.5, 5.0, N)
    start = cupy.stack([cupy.ones(N), cupy.zeros(N)])
    times = cupy.linspace(0.0, 6.0, 40)

    def f(t, y):
        return cupy.stack([y[1], -k * y[0]])

    def event(t, y):
        return y[0]

    event.terminal = True
    result = integrate.solve_ivp_batched(f, (0.0, 6.0), start, t_eval=times, rtol=1e-8, atol=1e-8)
    exact = np.cos(np.sqrt(k.get())[:, None] * times.get())
    np.testing.assert_allclose(result.y[0].get(), exact, atol=1e-5)
    result = integrate.solve_ivp_batched(f, (0.0, 6.0), start, events=event, dense_output=True, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(result.t.get(), np.pi / 2 / np.sqrt(k.get()), atol=1e-6)
    np.testing.assert_allclose(result.sol(0.25)[0].get(), np.cos(0.25 * np.sqrt(k.get())), atol=1e-6)
    np.testing.assert_allclose(integrate.rk4(f, (0.0, 1.0), start, 200).y[0].get(), np.cos(np.sqrt(k.get())), atol=1e-7)
    t = cupy.linspace(0.0, 4.0, 30)[:, None]
    data = 3.0 * cupy.exp(-k * t)
    fit = optimize.least_squares_batched(lambda p: p[0] * cupy.exp(-p[1] * t) - data, cupy.ones((2, N)))
    np.testing.assert_allclose(fit.x[1].get(), k.get(), rtol=1e-5)


def test_callbacks_of_scipy():
    kept = []

    def f(x):
        kept.append((x, x.copy()))
        return x * x - cupy.asarray([2.0, 3.0])

    root = optimize.fsolve(f, cupy.ones(2))
    np.testing.assert_allclose(root.get(), np.sqrt([2.0, 3.0]))
    assert all(bool((one == other).all().get()) for one, other in kept)
    solution = optimize.minimize(lambda x: ((x - 1.0) ** 2).sum(), cupy.zeros(500), jac=lambda x: 2 * (x - 1.0))
    np.testing.assert_allclose(solution.x.get(), 1.0, atol=1e-5)
    result = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), cupy.ones(3), rtol=1e-8)
    np.testing.assert_allclose(result.y[:, -1].get(), np.exp(-1.0), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_banded_systems(dtype):
    rng = np.random.default_rng(0)
    ab, b = rng.standard_normal((300, 4, 20)), rng.standard_normal((300, 20, 2))
    if dtype[0] == "c":
        ab = ab + 1j * rng.standard_normal(ab.shape)
    ab[:, 1] += 5.0
    ab, b = ab.astype(dtype), b.astype(dtype)
    solved = xp.scipy.linalg.solve_banded((2, 1), cupy.asarray(ab), cupy.asarray(b)).get()
    expected = np.stack([linalg.solve_banded((2, 1), *system) for system in zip(ab, b, strict=True)])
    np.testing.assert_allclose(solved, expected, rtol=1e-3, atol=1e-3 if dtype in ("f4", "c8") else 1e-10)


def test_splines():
    x, y = cupy.linspace(0.0, 2.0, 9), cupy.linspace(0.0, 1.0, 7)
    spline = xp.scipy.interpolate.RectBivariateSpline(x, y, x[:, None] ** 3 * y)
    points = cupy.asarray([0.3, 1.7]), cupy.asarray([0.2, 0.9])
    np.testing.assert_allclose(spline.ev(*points).get(), (points[0] ** 3 * points[1]).get(), rtol=1e-10)
    np.testing.assert_allclose(spline.integral(0.0, 2.0, 0.0, 1.0).get(), 2.0, rtol=1e-10)
